"""Distances and the Penalised Dice through score(): against other libraries and the kernels, and by hand."""

import cv2
import numpy as np
import pandas as pd
import pytest
from mask_pairs import mask_pairs
from tests_support import raises
from tiff_files import CASES, SHAPE, explanation, truth, write_masks, write_study

import salstats as ss
from salstats.errors import SalstatsError, ShapeError, ValueRangeError
from salstats.images import masks
from salstats.metrics import distance
from salstats.metrics.penalised_dice import pdc
from salstats.metrics.registry import METRICS
from salstats.scoring.distances import distance_rule, pixel_widths_mm
from salstats.study import Case, Content, Prediction, Series, Study, Truth

DISTANCES = ("hausdorff", "hd95", "assd")
#: medpy works in double precision as we do; sums may be taken in another order.
DOUBLE = 1e-12
#: MONAI's distances are of single precision.
SINGLE = 1e-5


@pytest.fixture(scope="module")
def pairs():
    return mask_pairs()


@pytest.fixture(scope="module")
def library_pairs(shared):
    """The oracle's pairs of truth and mask."""
    with np.load(shared / "oracles" / "masks" / "masks.npz") as held:
        names = sorted({name.rpartition("__")[0] for name in held.files})
        return {name: (held[f"{name}__truth"], held[f"{name}__pred"]) for name in names}


@pytest.fixture(scope="module")
def oracle(shared):
    """What other libraries make of them; text where one raised."""
    return pd.read_csv(shared / "oracles" / "masks" / "results.csv", index_col="pair")


def people(pairs):
    """A study whose people drew the pairs' masks."""
    return ss.study_from_arrays(
        {(name, "t"): reference for name, (reference, _) in pairs.items()},
        {},
        human={(name, "t"): mask for name, (_, mask) in pairs.items()},
    )


def maps(pairs):
    """A study whose maps are 1 on the pairs' masks and 0 elsewhere; one value alone marks nothing."""
    return ss.study_from_arrays(
        {(name, "t"): reference for name, (reference, _) in pairs.items()},
        {(name, "t", "cam"): mask * 1.0 for name, (_, mask) in pairs.items()},
    )


def by_metric(scores, column="score"):
    """Scores as a frame: cases by metrics."""
    return scores.pivot(index="case", columns="metric", values=column)


def both_mark(pairs):
    """The pairs in which truth and mask mark something, of which the metrics are defined."""
    return {name: pair for name, pair in pairs.items() if pair[0].any() and pair[1].any()}


class TestAgainstOthers:
    def test_scores_are_the_kernels(self, pairs):
        some = both_mark(pairs)
        found = by_metric(ss.score(people(some), metrics=[*DISTANCES, "pdc"], spacing=(0.5, 2)))
        for name, (reference, mask) in some.items():
            for metric in DISTANCES:
                assert found.loc[name, metric] == getattr(distance, metric)(mask, reference, spacing=(0.5, 2))
            assert found.loc[name, "pdc"] == pdc(mask, reference)

    @pytest.mark.parametrize(
        ("options", "columns"),
        [
            (
                {"hd95_rule": "pooled"},
                {
                    "hausdorff": "hd__medpy_conn1",
                    "hd95": "hd95__medpy_conn1_pooled",
                    "assd": "assd__medpy_conn1_pooled",
                },
            ),
            (
                {"points": "boundary8", "hd95_rule": "pooled"},
                {
                    "hausdorff": "hd__medpy_conn2",
                    "hd95": "hd95__medpy_conn2_pooled",
                    "assd": "assd__medpy_conn2_pooled",
                },
            ),
            (
                {},
                {
                    "dice": "dice__medpy_dc",
                    "hausdorff": "hd__monai_border4",
                    "hd95": "hd95__monai_max_directed",
                    "assd": "assd__monai_pooled",
                },
            ),
            ({"points": "foreground"}, {"hausdorff": "hd__sitk_fg"}),
        ],
        ids=["medpy", "medpy, connectivity 2", "MONAI", "SimpleITK"],
    )
    @pytest.mark.parametrize("study_of", [people, maps])
    def test_every_library_s_numbers_can_be_had_and_say_how(
        self, library_pairs, oracle, options, columns, study_of
    ):
        some = {n: p for n, p in both_mark(library_pairs).items() if study_of is people or not p[1].all()}
        assert len(some) == (28 if study_of is people else len(some))
        scores = ss.score(study_of(some), metrics=[*{**columns, "dice": ""}], threshold=0.5, **options)
        found = by_metric(scores)
        for metric, column in columns.items():
            theirs = oracle.loc[found.index, column].astype(float)
            tolerance = SINGLE if "monai" in column else DOUBLE
            np.testing.assert_allclose(found[metric], theirs, rtol=tolerance, atol=tolerance, err_msg=metric)
        said = scores.groupby("metric")["distance_options"].unique().map(list).to_dict()
        what = {"boundary8": "boundary pixels (8 neighbours)", "foreground": "all pixels of both masks"}
        between = f"between {what.get(options.get('points'), 'boundary pixels (4 neighbours)')}"
        rule = "together" if "hd95_rule" in options else "larger"
        assert pd.isna(said.pop("dice")).all()
        for metric, (text,) in said.items():
            assert text.startswith(between)
            assert (rule in text) == (metric == "hd95")


class TestNothingMarked:
    def test_undefined_says_why_on_each_slice(self, pairs):
        empty = {n: pairs[n] for n in ("both empty", "truth empty", "without mask")}
        metrics = [*DISTANCES, "pdc"]
        positive, full = (
            ss.score(people(empty), metrics=metrics, slice=s) for s in ("true-positive", "full")
        )
        for scores, reasons in (
            (positive, ["finding absent", "finding absent", "empty mask"]),
            (full, ["true negative", "finding absent", "empty mask"]),
        ):
            assert scores["score"].isna().all()
            for metric in metrics:
                assert by_metric(scores, "reason")[metric].tolist() == reasons

    @pytest.mark.parametrize("slice_", ["true-positive", "full"])
    def test_worst_is_the_diagonal_and_no_overlap(self, pairs, slice_):
        empty = {n: pairs[n] for n in ("both empty", "truth empty", "without mask")}
        metrics = ["iou", "dice", "precision", "recall", *DISTANCES, "pdc"]
        found = by_metric(ss.score(people(empty), metrics=metrics, slice=slice_, undefined="worst"))
        height, width = pairs["without mask"][0].shape
        missed = found.loc["without mask"]
        assert (missed[[*DISTANCES]] == np.hypot(height, width)).all()
        assert (missed[["iou", "dice", "precision", "recall", "pdc"]] == 0).all()
        # nothing to find is no miss
        assert found.loc["both empty", [*DISTANCES, "pdc"]].isna().all()
        assert found.loc["truth empty", [*DISTANCES, "pdc"]].isna().all()

    def test_worst_is_no_better_than_any_mask(self, pairs):
        some = both_mark(pairs)
        none = {name: (reference, np.zeros_like(mask)) for name, (reference, mask) in some.items()}
        bounded = ["dice", "pdc", "mcc", "nsd", "boundary_iou"]
        metrics = [*bounded, *DISTANCES]
        marked, missed = (
            by_metric(ss.score(people(p), metrics=metrics, undefined="worst")) for p in (some, none)
        )
        assert (missed[[*DISTANCES]] > marked[[*DISTANCES]]).all(axis=None)
        # a truth of the whole image leaves mcc undefined, whatever the mask
        assert not (missed[bounded] > marked[bounded]).any(axis=None)
        assert (missed["pdc"] < marked["pdc"]).all()

    def test_a_mask_of_the_whole_image_has_no_correlation_and_at_worst_the_lowest(self, pairs):
        truth = pairs["without mask"][0]
        study = people({"a": (truth, np.ones_like(truth))})
        plain, worst = (ss.score(study, metrics="mcc", undefined=u).iloc[0] for u in ("nan", "worst"))
        assert np.isnan(plain["score"])
        assert plain["reason"] == "no background"
        assert worst["score"] == -1
        assert "n_absent" not in ss.summarize(ss.score(study, metrics="mcc"), interval="t")

    def test_worst_leaves_what_is_defined_alone(self, pairs):
        some = both_mark(pairs)
        metrics = ["iou", "specificity", *DISTANCES, "pdc"]
        plain, worst = (ss.score(people(some), metrics=metrics, undefined=u) for u in ("nan", "worst"))
        pd.testing.assert_frame_equal(plain, worst.drop(columns="undefined"))

    def test_specificity_of_an_empty_mask_is_what_its_pixels_say(self, pairs):
        study = people({"a": pairs["without mask"]})
        assert ss.score(study, metrics="specificity", undefined="worst")["score"].tolist() == [1.0]

    def test_the_diagonal_is_in_mm_with_spacing(self, pairs):
        study = people({"a": pairs["without mask"]})
        height, width = pairs["without mask"][0].shape
        scores = ss.score(study, metrics="hausdorff", undefined="worst", spacing=(0.5, 3))
        assert scores["score"].tolist() == [np.hypot(height * 0.5, width * 3)]

    def test_below_the_cutoff_a_mask_counts_as_empty(self):
        square = np.zeros((8, 8), bool)
        square[2:5, 2:5] = True
        study = ss.study_from_arrays(
            {("a", "t"): square}, {("a", "t", "cam"): square * 1.0}, prob={("a", "t"): 0.3}
        )
        kept = ss.score(study, metrics=["hausdorff", "pdc"], cutoff=0.3, threshold=0.5)
        assert kept["score"].tolist() == [0, 1]
        assert kept["empty_mask"].tolist() == [False, False]
        cut = ss.score(study, metrics=["hausdorff", "pdc"], cutoff=0.4, threshold=0.5)
        assert cut["reason"].tolist() == ["empty mask"] * 2
        assert cut["empty_mask"].tolist() == [True, True]
        worst = ss.score(study, metrics=["hausdorff", "pdc"], cutoff=0.4, undefined="worst")
        assert worst["score"].tolist() == [np.hypot(8, 8), 0]

    def test_a_constant_map_and_a_map_of_nan(self):
        square = np.zeros((8, 8), bool)
        square[2:5, 2:5] = True
        saliency = {("a", "t", "flat"): np.ones((4, 4)), ("a", "t", "nan"): np.full((4, 4), np.nan)}
        scores = ss.score(ss.study_from_arrays({("a", "t"): square}, saliency), metrics=["assd", "pdc"])
        assert scores["reason"].tolist() == ["empty mask"] * 2 + ["map is not finite"] * 2
        assert scores["empty_mask"].tolist() == [True, True, pd.NA, pd.NA]
        worst = ss.score(
            ss.study_from_arrays({("a", "t"): square}, saliency), metrics=["assd", "pdc"], undefined="worst"
        )
        assert worst["score"].tolist()[:2] == [np.hypot(8, 8), 0]
        assert worst["score"].isna().tolist()[2:] == [True, True]

    def test_points_alone_are_no_mask(self):
        study = ss.study_from_arrays({("a", "t"): np.eye(4, dtype=bool)}, {}, points={("a", "t"): [[1, 1]]})
        scores = ss.score(study, metrics=["hausdorff", "hit"], undefined="worst")
        assert scores["reason"].fillna("").tolist() == ["no mask", ""]

    def test_a_probability_alone_is_no_map(self):
        held = Case(
            "a",
            (4, 4),
            {"t": Truth(lambda: masks.encode(np.eye(4, dtype=bool)))},
            (
                Prediction(
                    "t", Series("lime"), lambda: Content(prob=0.7, shape=(4, 4)), "lime", has_saliency=False
                ),
            ),
        )
        scores = ss.score(Study((held,), ("t",), (Series("lime"),)), metrics=["iou", "assd", "hit"])
        assert set(scores["reason"]) == {"no map"}
        assert set(scores["prob"]) == {0.7}


class TestColumns:
    def test_the_unit_stands_beside_distances_only(self, pairs):
        study = people({"a": pairs["touching squares"]})
        metrics = ["iou", *DISTANCES, "pdc", "hit"]
        for spacing, unit in ((None, "px"), (2, "mm")):
            scores = ss.score(study, metrics=metrics, spacing=spacing)
            said = scores.set_index("metric")["distance_unit"].dropna().to_dict()
            assert said == dict.fromkeys(DISTANCES, unit)

    def test_empty_masks_are_told_beside_every_score_of_a_mask(self, pairs):
        some = {n: pairs[n] for n in ("both empty", "truth empty", "without mask", "single pixels")}
        scores = ss.score(people(some), metrics=["iou", "hd95", "pdc", "hit"], slice="full")
        told = by_metric(scores, "empty_mask")
        expected = [not pairs[n][1].any() for n in told.index]
        assert expected.count(True) == 2
        for metric in ("iou", "hd95", "pdc"):
            assert told[metric].tolist() == expected
        assert told["hit"].isna().all()

    @pytest.mark.parametrize("threshold", ["otsu", 0.3])
    def test_the_mask_is_the_one_that_overlap_sees(self, threshold):
        rng = np.random.default_rng(3)
        saliency = cv2.GaussianBlur(rng.random((20, 30)), (0, 0), 3)
        reference = np.zeros((50, 60), bool)
        reference[10:30, 20:45] = True
        study = ss.study_from_arrays({("a", "t"): reference}, {("a", "t", "cam"): saliency})
        (made,) = ss.segment(study, threshold=threshold)["a"].values()
        scores = ss.score(study, metrics=["iou", *DISTANCES, "pdc"], threshold=threshold).set_index("metric")
        alone = ss.score(study, metrics="iou", threshold=threshold)
        columns = ["score", "tp", "fp", "fn", "tn"]
        assert scores.loc["iou", columns].tolist() == alone.iloc[0][columns].tolist()
        for metric in DISTANCES:
            assert scores.loc[metric, "score"] == getattr(distance, metric)(made, reference)
        assert scores.loc["pdc", "score"] == pdc(made, reference)


class TestSpacing:
    @pytest.fixture
    def study(self, pairs):
        names = ("touching squares", "wide boxes")
        return people({name: pairs[name] for name in names})

    def test_by_case_from_a_mapping_and_a_table(self, study, pairs, tmp_path):
        sizes = {
            "touching squares": (0.5, 2.0),
            "wide boxes": (3.0, 3.0),
            "other": (1.0, 1.0),
        }
        table = pd.DataFrame([(c, *s) for c, s in sizes.items()], columns=["case", "row_mm", "col_mm"])
        table.to_csv(tmp_path / "s.csv", index=False)
        given = ss.score(study, metrics=DISTANCES, spacing={**sizes, "wide boxes": 3})
        pd.testing.assert_frame_equal(given, ss.score(study, metrics=DISTANCES, spacing=tmp_path / "s.csv"))
        found = by_metric(given)
        for name in found.index:
            reference, mask = pairs[name]
            assert found.loc[name, "assd"] == distance.assd(mask, reference, spacing=sizes[name])

    def test_a_case_without_is_named_before_anything_is_read(self, study):
        with raises(SalstatsError, option="spacing", column="case", value=["wide boxes"]):
            ss.score(study, metrics="assd", spacing={"touching squares": 1})
        cases = ["touching squares", "wide boxes"]
        with raises(SalstatsError, option="spacing", column="case", value=cases):
            ss.score(study, metrics="assd", spacing={})

    @pytest.mark.parametrize(
        ("spacing", "value"),
        [
            (0, 0),
            ((1, -1), (1, -1)),
            (np.nan, np.nan),
            ((1, 2, 3), (1, 2, 3)),
            ({"touching squares": "a", "wide boxes": 1}, "a"),
        ],
    )
    def test_what_is_no_spacing(self, study, spacing, value):
        with raises(ValueRangeError, option="spacing", value=value):
            ss.score(study, metrics="assd", spacing=spacing)

    def test_the_width_of_a_pixel_is_its_size_along_columns(self, tmp_path):
        assert pixel_widths_mm(None) is None
        assert pixel_widths_mm(0.5) == 0.5
        assert pixel_widths_mm((0.5, 2)) == 2
        assert pixel_widths_mm({"a": (0.5, 2), "b": 3}) == {"a": 2, "b": 3}
        pd.DataFrame({"case": ["a"], "row_mm": 0.5, "col_mm": 2.0}).to_csv(tmp_path / "s.csv", index=False)
        assert pixel_widths_mm(tmp_path / "s.csv") == {"a": 2}
        with raises(ValueRangeError, option="spacing", value=-1, match="case 'b'"):
            pixel_widths_mm({"a": 1, "b": -1})


class TestRule:
    def test_the_diagonal_is_that_of_the_case(self):
        rule = distance_rule(["assd"], ["a", "b"], spacing={"a": (0.5, 2), "b": 1})
        assert rule.pixel_size_mm("a") == (0.5, 2)
        assert rule.diagonal((6, 2), "a") == 5
        assert rule.diagonal((3, 4), "b") == 5
        in_pixels = distance_rule(["assd"], ["a"])
        assert in_pixels.pixel_size_mm("a") is None
        assert in_pixels.diagonal((3, 4), "a") == 5
        assert distance_rule(["assd"], ["a"], spacing=2).diagonal((3, 4), "a") == 10

    @pytest.mark.parametrize(
        ("metrics", "options", "kind", "fields"),
        [
            (["iou"], {"spacing": 1}, SalstatsError, {"option": "spacing"}),
            (["iou"], {"points": "boundary8"}, SalstatsError, {"option": "points", "value": "boundary8"}),
            (["assd"], {"points": "edge"}, ValueRangeError, {"option": "points", "value": "edge"}),
            (["assd"], {"undefined": "zero"}, ValueRangeError, {"option": "undefined", "value": "zero"}),
            (
                ["iou"],
                {"options": {"pdc": {"alpha": 0}}},
                SalstatsError,
                {"option": "options", "value": "pdc"},
            ),
            (
                ["iou"],
                {"options": {"iou": {"alpha": 0}}},
                ValueRangeError,
                {"option": "options", "value": "iou"},
            ),
            (["iou"], {"options": {"iuo": {}}}, ValueRangeError, {"option": "options", "value": "iuo"}),
            (
                ["hd95"],
                {"options": {"hd95": {"rule": "both"}}},
                ValueRangeError,
                {"option": "options", "value": "both"},
            ),
        ],
    )
    def test_options_that_nothing_takes_are_errors(self, metrics, options, kind, fields):
        with raises(kind, **fields):
            distance_rule(metrics, ["a"], **options)

    def test_columns_say_what_a_metric_has(self):
        rule = distance_rule(["assd", "iou", "hit"], ["a"], spacing=1, undefined="worst", points="foreground")
        assert rule.columns(METRICS["assd"]) == {
            METRICS["assd"].column: "between all pixels of both masks",
            "distance_unit": "mm",
            "undefined": "worst",
        }
        assert set(rule.columns(METRICS["iou"]).values()) == {None, "worst"}
        in_pixels = distance_rule(["assd"], ["a"])
        assert in_pixels.columns(METRICS["assd"])["distance_unit"] == "px"
        assert in_pixels.columns(METRICS["assd"])["undefined"] is None


class TestPdcOptions:
    @pytest.mark.parametrize(
        "options",
        [{"alpha": 0, "beta": 0}, {"form": "mean"}, {"components": "whole", "beta": 2.5}],
    )
    def test_they_reach_the_kernel(self, pairs, options):
        reference, mask = pairs["two areas each"]
        (found,) = ss.score(people({"a": (reference, mask)}), metrics="pdc", pdc=options)["score"]
        assert found == pdc(mask, reference, **options)
        assert found != pdc(mask, reference)

    @pytest.mark.parametrize(
        ("options", "fields"),
        [
            ({"gamma": 1}, {"value": "gamma", "choices": ("alpha", "beta", "form", "components")}),
            ({"undefined": "worst"}, {"value": "undefined"}),
            ({"alpha": -1}, {"value": -1, "match": "^pdc: alpha"}),
            ({"form": "sum"}, {"value": "sum", "choices": ("product", "mean")}),
            (3, {"value": 3, "match": "pdc .*mapping"}),
        ],
    )
    def test_wrong_options_are_errors_before_any_case_is_read(self, options, fields):
        def fail():
            raise AssertionError("read although the options are wrong")

        held = Case("a", (4, 4), {"t": Truth(fail)}, ())
        study = Study((held,), ("t",), (Series("cam"),))
        with raises(ValueRangeError, option="options", **fields):
            ss.score(study, metrics="pdc", pdc=options)

    def test_its_options_stand_beside_its_scores(self, pairs):
        scores = ss.score(people({"a": pairs["touching squares"]}), metrics=["pdc", "dice"], pdc={"alpha": 0})
        said = "product form, penalties 0 (too small) and 1 (too large)"
        beside = scores.set_index("metric")["pdc_options"]
        assert beside["pdc"] == said
        assert pd.isna(beside["dice"])

    @pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")  # all cases are one pair
    def test_the_worst_of_empty_masks_is_said_beside_scores_and_under_tables(self, pairs):
        study = people({c: pairs["touching squares"] for c in "abcdef"})
        plain, worst = (ss.score(study, metrics=["dice", "hausdorff"], undefined=u) for u in ("nan", "worst"))
        assert "undefined" not in plain.columns
        assert set(worst["undefined"]) == {"worst"}
        table = ss.table_estimates(ss.summarize(worst, interval="t")).as_raw_html()
        assert "an empty mask has the worst score, 0 or the image&#39;s diagonal" in table.replace(
            "&#x27;", "&#39;"
        )


class TestBadArguments:
    @pytest.mark.parametrize("metric", ["dice", "assd"])
    def test_a_mask_of_another_size_than_the_truth(self, metric):
        held = Case(
            "a",
            None,
            {"t": Truth(lambda: masks.encode(np.eye(4, dtype=bool)))},
            (
                Prediction(
                    "t", Series("x"), lambda: Content(mask=masks.encode(np.eye(5, dtype=bool))), "x", False
                ),
            ),
        )
        with raises(ShapeError, option="truth", value=(4, 4)):
            ss.score(Study((held,), ("t",), (Series("x"),)), metrics=metric)


class TestRuns:
    @pytest.mark.slow
    def test_two_jobs_give_the_same_rows(self, pairs):
        metrics = ["dice", *DISTANCES, "pdc"]
        spacing = {name: (0.5, 1.5) for name in pairs}
        one, two = (ss.score(people(pairs), metrics=metrics, spacing=spacing, jobs=j) for j in (None, 2))
        pd.testing.assert_frame_equal(one, two)

    def test_kept_cases_are_told_apart_by_the_options(self, pairs, tmp_path):
        study = people({"a": pairs["without mask"], "b": pairs["two areas and one"]})
        runs = [
            {"metrics": ["assd", "pdc"]},
            {"metrics": ["assd", "pdc"], "undefined": "worst"},
            {"metrics": ["assd", "pdc"], "spacing": 2},
            {"metrics": ["assd", "pdc"], "spacing": {"a": 2, "b": 3}},
            {"metrics": ["assd", "pdc"], "pdc": {"alpha": 0}},
        ]
        for n_runs, options in enumerate(runs, 1):
            kept = ss.score(study, resume=tmp_path / "kept", **options)
            assert len(list((tmp_path / "kept").iterdir())) == 2 * n_runs
            again = ss.score(study, resume=tmp_path / "kept", **options)
            fresh = ss.score(study, **options)
            pd.testing.assert_frame_equal(kept, fresh)
            pd.testing.assert_frame_equal(again, fresh)

    def test_the_truth_is_decoded_once_for_all_methods(self, monkeypatch):
        square = np.zeros((8, 8), bool)
        square[2:5, 2:5] = True
        names = ("a", "b", "c")
        study = ss.study_from_arrays(
            {("x", "t"): square}, {("x", "t", n): np.roll(square, i, 1) * 1.0 for i, n in enumerate(names)}
        )
        decoded = []
        real = masks.decode
        monkeypatch.setattr(masks, "decode", lambda rle: decoded.append(rle) or real(rle))
        scores = ss.score(study, metrics=[*DISTANCES, "pdc"], threshold=0.5)
        assert scores.query("metric == 'hausdorff'")["score"].tolist() == [0, 1, 2]
        assert len(decoded) == 1

    def test_a_study_on_disk_end_to_end(self, tmp_path):
        folder = write_study(tmp_path / "lgg")
        study = ss.read_study(
            folder, masks={f"shift{n}": write_masks(tmp_path / f"shift{n}", shift=n) for n in (0, 3)}
        )
        scores = ss.score(study, metrics=["dice", "hausdorff", "pdc"])
        found = scores.set_index(["method", "case", "metric"])["score"].sort_index()
        for case in CASES:
            reference = truth(case)
            for shift in (0, 3):
                mine = found.loc[(f"shift{shift}", case)]
                if not reference.any():
                    assert mine.isna().all()
                    continue
                # a rectangle moved to the right within its image, of 10 rows and 14 columns
                assert mine["dice"] == (14 - shift) / 14
                assert mine["hausdorff"] == shift
                assert mine["pdc"] == pdc(explanation(case, shift), reference)
        assert SHAPE == truth(CASES[0]).shape
