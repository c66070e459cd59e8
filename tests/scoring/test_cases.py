"""Scores of one case, by hand on drawn masks."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn_studies import BLOCK, drawn, only, square
from tests_support import raises

import salstats as ss
from salstats.errors import InputFileError
from salstats.images import masks
from salstats.scoring.cases import _truth_or_empty_mask_of_shape, agreed_shape
from salstats.study import Case, Content, Prediction, Series, Study, Truth


class TestByHand:
    def test_a_shifted_block(self):
        shifted = square(*[(r, c + 1) for r, c in BLOCK]) * 1.0
        scores = ss.score(
            drawn(shifted), metrics=["iou", "dice", "precision", "recall", "specificity"], threshold=0.5
        )
        assert [only(scores, "iou")[n] for n in ("tp", "fp", "fn", "tn")] == [6, 3, 3, 52]
        assert only(scores, "iou")["score"] == 6 / 12
        assert only(scores, "dice")["score"] == 12 / 18
        assert only(scores, "precision")["score"] == 6 / 9
        assert only(scores, "specificity")["score"] == 52 / 55

    def test_a_constant_map_points_at_nothing(self):
        scores = ss.score(drawn(np.full((8, 8), 0.7)))
        assert only(scores, "hit")["score"] == 0
        assert np.isnan(only(scores)["score"])
        assert only(scores)["reason"] == "empty mask"

    def test_misses_can_count_as_zero(self):
        scores = ss.score(drawn(np.full((8, 8), 0.7)), misses="zero", metrics=["iou", "recall", "precision"])
        assert only(scores)["score"] == only(scores, "recall")["score"] == 0
        # nothing was marked, so nothing marked can be right
        assert np.isnan(only(scores, "precision")["score"])

    def test_a_map_of_nan_is_a_counted_row(self):
        saliency = square(*BLOCK) * 1.0
        saliency[0, 0] = np.nan
        scores = ss.score(drawn(saliency))
        assert scores["score"].isna().all()
        assert set(scores["reason"]) == {"map is not finite"}

    def test_an_absent_finding(self):
        study = drawn(square(*BLOCK) * 1.0, truth=square())
        positive, full = ss.score(study), ss.score(study, slice="full", threshold=0.5)
        assert set(positive["reason"]) == {"finding absent"}
        assert only(full)["score"] == 0
        assert only(full, "hit")["reason"] == "finding absent"

    def test_neither_mask_nor_finding_is_a_true_negative(self):
        scores = ss.score(
            drawn(np.zeros((8, 8)), truth=square()), slice="full", metrics=["iou", "specificity"]
        )
        assert only(scores)["reason"] == "true negative"
        # specificity has something to divide by: all 64 pixels were rightly left out
        assert only(scores, "specificity")["score"] == 1

    def test_below_the_cutoff_the_mask_is_empty_and_the_hit_stays(self):
        study = drawn(square(*BLOCK) * 1.0, prob={("a", "Edema"): 0.3})
        scores = ss.score(study, slice="full", cutoff={"Edema": 0.4})
        assert only(scores)["score"] == 0
        assert [only(scores)[n] for n in ("tp", "fp", "fn", "tn")] == [0, 0, 9, 55]
        assert only(scores, "hit")["score"] == 1
        at_it = ss.score(study, slice="full", cutoff=0.3, threshold=0.5)
        assert only(at_it)["score"] == 1

    def test_a_cutoff_without_a_probability_is_said(self):
        scores = ss.score(drawn(square(*BLOCK) * 1.0), slice="full", cutoff=0.4)
        assert only(scores)["reason"] == "no probability"

    def test_predicted_positive_by_probability(self):
        study = drawn(square(*BLOCK) * 1.0, prob={("a", "Edema"): 0.3}, human={})
        out = ss.score(study, slice="predicted-positive", cutoff=0.4)
        assert set(out["reason"]) == {"predicted negative"}
        inside = ss.score(study, slice="predicted-positive", cutoff=0.2, threshold=0.5)
        assert only(inside)["score"] == 1
        # the person is asked where the method is, and marked nothing
        assert only(inside, method="human")["score"] == 0

    def test_people_who_mark_nothing_miss(self):
        scores = ss.score(drawn(human={}, points={}))
        assert only(scores, method="human")["reason"] == "empty mask"
        assert only(scores, "hit", method="human")["score"] == 0

    @pytest.mark.parametrize(
        ("points", "hit"), [([(0, 0)], 0), ([(0, 0), (2.9, 4.2)], 1), ([(-1, 3)], 0), ([(3, 99)], 0)]
    )
    def test_any_point_of_a_person_may_hit(self, points, hit):
        scores = ss.score(drawn(points={("a", "Edema"): points}), metrics="hit")
        assert only(scores, "hit", "human")["score"] == hit

    def test_any_maximum_may_hit(self):
        saliency = square((0, 0), (3, 3)) * 1.0
        scores = ss.score(drawn(saliency), metrics=["hit", "hit_any"])
        assert only(scores, "hit")["score"] == 0
        assert only(scores, "hit_any")["score"] == 1

    def test_a_missing_map_is_a_row(self):
        study = ss.study_from_arrays(
            {("a", "Edema"): square(*BLOCK), ("b", "Edema"): square(*BLOCK)},
            {("a", "Edema", "cam"): square(*BLOCK) * 1.0},
        )
        scores = ss.score(study)
        assert scores.query("case == 'b'")["reason"].tolist() == ["no map", "no map"]

    def test_the_peak_is_taken_before_smoothing(self):
        saliency = np.zeros((8, 8))
        saliency[3, 3], saliency[6:, 6:] = 1.0, 0.9
        assert only(ss.score(drawn(saliency), smooth=3), "hit")["score"] == 1

    @pytest.mark.parametrize(("name", "value"), [("smooth", 5), ("threshold", 0.6), ("cutoff", 0.5)])
    def test_a_method_has_masks_of_its_own_and_the_others_are_as_they_were(self, name, value):
        saliency = np.random.default_rng(0).random((8, 8))
        maps = {("a", "Edema", method): saliency for method in ("cam", "ig")}
        study = ss.study_from_arrays({("a", "Edema"): square(*BLOCK)}, maps, prob={("a", "Edema"): 0.3})
        plain, everywhere = ss.score(study, metrics="iou"), ss.score(study, metrics="iou", **{name: value})
        own = ss.score(study, metrics="iou", **{name: {(None, "ig"): value}})
        want = [only(plain)["score"], only(everywhere, method="ig")["score"]]
        assert [only(own, method=m)["score"] for m in ("cam", "ig")] == pytest.approx(
            want, abs=0, nan_ok=True
        )
        assert str(want[0]) != str(want[1])


class TestUndefined:
    """A mask or truth without a pixel has no distance, and as the slice says no score."""

    FULL_MASK = np.ones((8, 8), bool)

    def masked(self, mask, truth=None):
        """A study with a stored mask."""
        truth = square(*BLOCK) if truth is None else truth
        stored = Prediction("Edema", Series("cam"), lambda: Content(mask=masks.encode(mask)), "x.json")
        case = Case("a", (8, 8), {"Edema": Truth(lambda: masks.encode(truth))}, (stored,))
        return Study((case,), ("Edema",), (Series("cam"),))

    def test_a_stored_mask_is_compared_as_it_is_and_points_at_nothing(self):
        scores = ss.score(self.masked(square((2, 2), (0, 0))), metrics=["iou", "hit", "energy"])
        assert only(scores)["score"] == 1 / 10
        assert only(scores, "hit")["reason"] == "no point"
        assert only(scores, "energy")["reason"] == "no map"
        assert "threshold" not in scores or pd.isna(only(scores)["threshold"])

    def test_points_alone_are_no_mask(self):
        scores = ss.score(drawn(points={("a", "Edema"): [(3, 3)]}), metrics=["iou", "hit"])
        assert only(scores, method="human")["reason"] == "no mask"
        assert only(scores, "hit", method="human")["score"] == 1

    @pytest.mark.parametrize(
        ("mask", "truth", "options", "reason"),
        [
            (square(), square(*BLOCK), {}, "empty mask"),
            (square(), square(*BLOCK), {"slice": "full"}, "empty mask"),
            (square(*BLOCK), square(), {}, "finding absent"),
            (square(*BLOCK), square(), {"slice": "full"}, "finding absent"),
            (square(), square(), {"slice": "full"}, "true negative"),
        ],
    )
    def test_a_distance_needs_a_pixel_in_both_masks(self, mask, truth, options, reason):
        scores = ss.score(self.masked(mask, truth), metrics="hausdorff", **options)
        assert only(scores, "hausdorff")["reason"] == reason
        assert np.isnan(only(scores, "hausdorff")["score"])

    def test_a_correlation_needs_background(self):
        study = self.masked(self.FULL_MASK)
        assert only(ss.score(study, metrics="mcc"), "mcc")["reason"] == "no background"
        assert only(ss.score(study, metrics="mcc", undefined="worst"), "mcc")["score"] == -1

    def test_the_worst_distance_is_the_diagonal_and_the_worst_rate_0(self):
        scores = ss.score(
            self.masked(square()),
            metrics=["hausdorff", "nsd", "iou"],
            undefined="worst",
            options={"nsd": {"tolerance": 1}},
            spacing=(3, 4),
        )
        assert only(scores, "hausdorff")["score"] == pytest.approx(np.hypot(8 * 3, 8 * 4))
        assert only(scores, "nsd")["score"] == 0
        assert only(scores)["score"] == 0
        assert scores["reason"].isna().all()
        absent = ss.score(self.masked(square(*BLOCK), square()), metrics="hausdorff", undefined="worst")
        assert only(absent, "hausdorff")["reason"] == "finding absent"

    def test_a_map_without_a_positive_value_has_no_energy(self):
        saliency = -1.0 - np.eye(8)
        scores = ss.score(drawn(saliency), metrics="energy")
        assert only(scores, "energy")["reason"] == "nothing positive"
        worst = ss.score(drawn(saliency), metrics="energy", undefined="worst")
        assert only(worst, "energy")["score"] == 0

    def test_whether_a_mask_is_empty_stands_beside_distances(self):
        for mask, is_empty in [(square(), True), (square((1, 1)), False)]:
            row = only(ss.score(self.masked(mask), metrics="hausdorff"), "hausdorff")
            assert bool(row["empty_mask"]) is is_empty
        assert "empty_mask" not in ss.score(self.masked(square()), metrics="iou")


class TestPredictedPositive:
    def slice_reason(self, **options):
        study_options = {key: options.pop(key) for key in ("prob", "labels") if key in options}
        study = drawn(square(*BLOCK) * 1.0, **study_options)
        return only(ss.score(study, slice="predicted-positive", threshold=0.5, **options))["reason"]

    def test_a_case_at_the_cutoff_is_inside(self):
        prob = {("a", "Edema"): 0.3}
        assert pd.isna(self.slice_reason(prob=prob, cutoff=0.3))
        assert self.slice_reason(prob=prob, cutoff=0.31) == "predicted negative"
        assert self.slice_reason(cutoff=0.3) == "no probability"

    @pytest.mark.parametrize(
        ("label", "reasons"), [(1, []), (0, ["predicted negative"]), (np.nan, ["no label"])]
    )
    def test_without_a_cutoff_the_label_decides(self, label, reasons):
        study = drawn(square(*BLOCK) * 1.0)
        case = replace(study.cases[0], labels={"Edema": label})
        scores = ss.score(replace(study, cases=(case,)), slice="predicted-positive", metrics="iou")
        assert scores["reason"].dropna().tolist() == reasons


def test_the_size_of_an_image_is_that_of_the_study_or_of_the_prediction():
    case = Case("a", None, {}, ())
    prediction = Prediction("Edema", Series("cam"), lambda: Content(), "x.pkl")
    sized = Content(saliency=np.eye(4), shape=(9, 8))
    assert agreed_shape((9, 8), Content(), case, prediction) == (9, 8)
    assert agreed_shape(None, sized, case, prediction) == (9, 8)
    assert agreed_shape((9, 8), sized, case, prediction) == (9, 8)
    assert agreed_shape(None, Content(), case, prediction) is None
    # both sizes
    with raises(InputFileError, path="x.pkl", column="case", value="a", match="9 x 8 .* 8 x 9"):
        agreed_shape((8, 9), sized, case, prediction)
    with raises(InputFileError, path="x.pkl", hint="the map needs cxr_dims, or the truth this case"):
        agreed_shape(None, Content(saliency=np.eye(4)), case, prediction)


def test_a_task_without_truth_has_an_empty_one_where_the_size_of_the_image_is_known():
    truth = masks.encode(square(*BLOCK))
    case = Case("a", None, {"Edema": Truth(lambda: truth)}, ())
    for shape in ((8, 8), None):
        assert _truth_or_empty_mask_of_shape(case, "Edema", shape) == truth
    empty = _truth_or_empty_mask_of_shape(case, "Mass", (8, 6))
    assert (empty.shape, masks.area(empty)) == ((8, 6), 0)
    assert _truth_or_empty_mask_of_shape(case, "Mass", None) is None
