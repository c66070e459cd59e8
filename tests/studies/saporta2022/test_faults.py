"""The faults (B) and choices (S) of the CheXlocalize scripts (README of the oracle): none is the default.

B2, B6 and S5 (rows joined by position), B4 and S4 (undefined replicates; the estimate), S3 (patients) and S7
are also what tests of the statistics show on the R oracle. Numbers that its README gives are of the oracle's
files; the others are of studies that are drawn here.
"""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from saporta_frames import METHOD, read_oracle
from study_files import CASES, SHAPE, write_map, write_study
from tests_support import raises, warns

import salstats as ss
from salstats.errors import InputFileError
from salstats.images.maps import SaliencyOnImage
from salstats.readers.pickle_machine import UnsafePickleError

# the study is small and its rows share patients, which is said; the tests of the statistics look at that
pytestmark = pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")

BLOCK = np.zeros((12, 12), bool)
BLOCK[3:8, 3:8] = True


@pytest.fixture(scope="module")
def oracle(made_up):
    """The frames of the scripts' files; tests/scoring/test_scores.py shows that `score` gives the same."""
    return read_oracle(made_up / "expected")


@pytest.fixture(scope="module")
def scores(oracle):
    return oracle.scores.replace({"method": {METHOD: "saliency"}})


@pytest.fixture(scope="module")
def drawn_rows(drawn_tables):
    """Scores that are drawn here, for what compares with no number of the oracle."""
    return drawn_tables.scores.replace({"method": {METHOD: "saliency"}})


@pytest.fixture(scope="module")
def full(oracle):
    """Scores of the maps, on all images."""
    return of_maps(oracle.uncut)


def of_maps(rows):
    return rows[rows["method"] == METHOD].reset_index(drop=True).assign(method="saliency")


def drawn(truths, **given):
    """A study of one task whose maps are its truths, unless said."""
    maps = given.pop("maps", truths)
    return ss.study_from_arrays(
        {(case, "Edema"): mask for case, mask in truths.items()},
        {(case, "Edema", "cam"): np.asarray(values, float) for case, values in maps.items()},
        **given,
    )


def test_b1_smoothing_keeps_the_background_in_the_background(shared):
    folder = shared / "data" / "chexlocalize_sample"
    study = ss.read_chexlocalize(folder)
    plain, smoothed, jet = (
        ss.score(study, metrics="iou", slice="full", **options)
        for options in ({}, {"smooth": 50}, {"smooth": 50, "colormap": "jet"})
    )
    share = [
        f["tp"].add(f["fp"]).div(f[["tp", "fp", "fn", "tn"]].sum(axis=1)).median()
        for f in (plain, smoothed, jet)
    ]
    # the scripts mark a median of 87 % of the image, and 15 % without smoothing
    assert share[0] == pytest.approx(0.15, abs=0.01)
    assert share[2] == pytest.approx(0.87, abs=0.01)
    assert abs(share[1] - share[0]) < 0.02


def test_b2_hits_belong_to_the_case_that_made_them(tmp_path):
    # as text "case10_..." stands before "case1_..." among files, and behind it among ids
    hitting = np.where(BLOCK, 1.0, 0.0)
    study = drawn({"case10": BLOCK, "case1": BLOCK}, maps={"case10": 1 - hitting, "case1": hitting})
    hits = ss.score(study, metrics="hit").set_index("case")["score"]
    assert hits.to_dict() == {"case1": 1, "case10": 0}


def test_b4_undefined_replicates_are_counted_and_move_no_limit(drawn_rows):
    rows = drawn_rows.query("metric == 'iou' and method == 'saliency' and task == 'Atelectasis'")
    rows = rows.dropna(subset="score").head(6)
    rows = rows.assign(score=[0.1, 0.4, 0.7, *[np.nan] * 3], reason=[*[None] * 3, *["empty mask"] * 3])
    few = ss.summarize(rows, by="task", unit="case", interval="percentile", n_replicates=1000).iloc[0]
    assert few["n_undefined"] > 0
    replicates = ss.bootstrap(rows, by="task", unit="case", n_replicates=1000)["estimate"].dropna()
    assert few["conf_high"] == pytest.approx(np.quantile(replicates, 0.975), rel=1e-12)


def test_b5_a_line_has_no_shape_and_stops_nothing():
    line = np.zeros((12, 12), bool)
    line[4, 2:9] = True
    row = ss.features(drawn({"a": line}, maps={})).iloc[0]
    assert row["area_px"] == 7
    assert np.isnan(row["elongation"])


def test_b6_features_are_joined_by_case_and_task_whatever_the_order(drawn_study):
    scores = ss.score(drawn_study)
    features = ss.features(drawn_study)
    shuffled = features.sample(frac=1, random_state=1).reset_index(drop=True)
    pd.testing.assert_frame_equal(ss.join_features(scores, features), ss.join_features(scores, shuffled))


def test_b7_a_duplicate_map_is_named(tmp_path):
    write_study(tmp_path / "study")
    (tmp_path / "study" / "more").mkdir()
    again = write_map(tmp_path / "study" / "more", CASES[0], "Edema")
    with raises(InputFileError, option="maps") as caught:
        ss.read_chexlocalize(tmp_path / "study")
    assert str(caught.value).count(again.name) == 2


def test_b8_limits_of_a_percentage_decrease_are_not_rounded(nine_tasks):
    rows = ss.percent_decrease(
        nine_tasks.scores, reference="human", average="task", n_replicates=200, interval="percentile"
    )
    limits = rows[["conf_low", "conf_high"]].stack().dropna()
    assert len(limits) > 30
    assert (limits.round(1) != limits).mean() > 0.95


def test_b9_a_probability_at_the_cutoff_is_kept_when_tuned_and_when_applied():
    study = drawn({"a": BLOCK}, prob={("a", "Edema"): 0.3})
    tuned = ss.tune(study, what="cutoff", grid=(0.3, 0.4)).set_index("cutoff")["estimate"]
    assert tuned.to_dict() == {0.3: 1, 0.4: 0}
    applied = ss.score(study, metrics="iou", slice="full", cutoff=0.3)
    assert applied["score"].tolist() == [1]


def test_b10_an_undefined_mean_never_wins():
    # at 0.2 the mask is there; of a constant map it never is
    frame = ss.tune(
        drawn({"a": BLOCK, "b": BLOCK}, maps={"a": np.ones((3, 3)), "b": BLOCK * 1.0}), grid=(0.2, 1.0)
    )
    assert frame["n"].tolist() == [1, 0]
    assert frame["chosen"].tolist() == [True, False]
    nothing = ss.tune(drawn({"a": BLOCK}, maps={"a": np.ones((3, 3))}), grid=(0.2, 0.5))
    assert not nothing["chosen"].any()


@pytest.mark.parametrize("point", [(-9, 4), (4, -9), (12, 4), (4, 99)])
def test_b11_a_point_outside_the_image_hits_nothing(point):
    # -9 counted from the end would be inside
    study = drawn({"a": BLOCK}, maps={}, points={("a", "Edema"): [point]})
    assert ss.score(study, metrics="hit")["score"].tolist() == [0]


def test_b12_a_probability_may_be_an_array_without_dimensions(tmp_path):
    write_study(tmp_path / "study")
    write_map(tmp_path / "study" / "maps", CASES[0], "Edema", prob=np.array(0.25))
    scored = ss.score(tmp_path / "study", metrics="hit")
    rows = scored[scored["case"].eq(CASES[0]) & scored["task"].eq("Edema") & scored["method"].eq("saliency")]
    assert rows["prob"].tolist() == [0.25]


def test_b12_code_in_a_map_is_refused(tmp_path):
    class Malicious:
        def __reduce__(self):
            return exec, (f"open({str(tmp_path / 'ran')!r}, 'w')",)

    write_study(tmp_path / "study")
    path = tmp_path / "study" / "maps" / f"{CASES[0]}_Edema_map.pkl"
    path.write_bytes(pickle.dumps({"map": np.zeros((2, 2)), "prob": Malicious()}))
    with raises(UnsafePickleError, value="builtins.exec", path=path):
        ss.score(tmp_path / "study")
    assert not (tmp_path / "ran").exists()


def test_s1_misses_are_counted_and_both_methods_are_compared_on_the_same_cases(drawn_rows):
    rows = drawn_rows.query("metric == 'iou'")
    assert rows["reason"].eq("empty mask").sum() > 0
    pairs = ss.difference(rows, reference="human", n_replicates=50)
    wide = rows.pivot(index=["case", "task"], columns="method", values="score").dropna()
    assert pairs.set_index("task")["n_pairs"].to_dict() == wide.groupby("task").size().to_dict()


def test_s1_misses_can_count_as_zero(made_up_study, scores):
    some = made_up_study.select(tasks=["Cardiomegaly"])
    zero = ss.score(some, metrics="iou", misses="zero").query("label == 1")
    undefined = scores.query("metric == 'iou' and task == 'Cardiomegaly' and label == 1")
    # 57 findings; the person's masks of two are empty, the maps' of one
    assert zero.groupby("method")["score"].count().to_dict() == {"human": 57, "saliency": 57}
    assert undefined.groupby("method")["score"].count().to_dict() == {"human": 55, "saliency": 56}


def test_s2_a_slope_on_the_probability_needs_no_cutoff(oracle, full):
    slopes = []
    for rows in (full, of_maps(oracle.full)):
        positive = rows.query("label == 1")
        slopes.append(ss.regress(positive, "score ~ prob", by=()).set_index("term").loc["prob", "estimate"])
    # the README of the oracle
    assert np.round(slopes, 3).tolist() == [0.348, 0.515]


def test_s4_the_estimate_is_the_mean_of_the_scores(drawn_rows):
    rows = drawn_rows.query("metric == 'iou' and method == 'saliency'")
    estimates = ss.summarize(rows, by="task", n_replicates=20).set_index("task")["estimate"]
    assert np.allclose(estimates, rows.groupby("task")["score"].mean()[estimates.index], rtol=1e-12)


def test_s5_a_person_with_fewer_cases_is_paired_by_case(drawn_rows):
    rows = drawn_rows.query("metric == 'hit'")
    gone = rows["method"].eq("human") & rows["case"].isin(sorted(rows["case"].unique())[:20])
    one, two = (
        ss.difference(f, reference="human", pairs="complete", n_replicates=20).set_index("task")
        for f in (rows[~gone], rows[~rows["case"].isin(rows["case"][gone])])
    )
    pd.testing.assert_series_equal(one["estimate"], two["estimate"])


def test_s6_the_same_level_gives_another_mask_by_otsu_only_in_holes_and_specks():
    saliency = np.where(BLOCK, 1.0, 0.0)
    saliency[5, 5], saliency[10, 10] = 0.0, 1.0
    on_image = SaliencyOnImage(saliency, (12, 12))
    assert np.array_equal(on_image.mask("otsu"), BLOCK)
    assert np.array_equal(on_image.mask(0.5), saliency > 0.5)


def test_s9_rescaling_uses_the_rows_that_are_there_to_regress(drawn_study):
    scores = ss.score(drawn_study, metrics="iou").query("method == 'saliency'")
    sizes = ss.features(drawn_study).assign(size=lambda table: np.arange(len(table)) ** 2)
    rows = ss.join_features(scores, sizes[["case", "task", "size"]])
    # the first and the last row, which have the extremes, are not there
    kept = ss.normalize(rows.iloc[1:-1].reset_index(drop=True), ["size"])
    assert (kept["size"].min(), kept["size"].max()) == (0, 1)


def test_s10_specificity_of_all_images_has_an_interval(drawn_tables):
    full = of_maps(drawn_tables.full)
    with_finding = full.loc[full["label"] == 1, "case"]
    positive = full[full["case"].isin(with_finding)]
    rates = [
        ss.pooled_rates(f, rates="specificity", by="method", n_replicates=100).set_index("method")
        for f in (full, positive)
    ]
    assert rates[0].loc["saliency", "n"] > rates[1].loc["saliency", "n"]
    assert rates[0].loc["saliency", "conf_low"] < rates[0].loc["saliency", "estimate"]
    assert rates[0].loc["saliency", "estimate"] != rates[1].loc["saliency", "estimate"]


def test_s11_a_map_of_one_value_has_no_peak_in_the_corner():
    corner = np.zeros((12, 12), bool)
    corner[:4, :4] = True
    scored = ss.score(drawn({"a": corner}, maps={"a": np.full((3, 3), 0.2)}))
    assert scored.set_index("metric")["score"]["hit"] == 0
    assert scored.set_index("metric")["reason"]["iou"] == "empty mask"


def test_s12_every_task_is_tried_at_the_same_cutoffs(drawn_study):
    tried = ss.tune(drawn_study, what="cutoff").groupby("task")["cutoff"].agg(tuple)
    assert len(tried) == 2
    assert tried.nunique() == 1


class TestDamagedFiles:
    """Inputs that the issue names: a named error, or a counted row."""

    @pytest.fixture
    def study(self, tmp_path):
        return write_study(tmp_path / "study")

    def change(self, study, name, edit):
        """Rewrite one of the JSON files."""
        file = study / name
        content = json.loads(file.read_text())
        edit(content)
        file.write_text(json.dumps(content))

    def test_a_map_of_nan(self, study):
        write_map(study / "maps", CASES[0], "Edema", map=np.full((1, 1, 4, 4), np.nan))
        scored = ss.score(study)
        assert scored["reason"].eq("map is not finite").sum() == 2

    def test_a_missing_map(self, study):
        (study / "maps" / f"{CASES[0]}_Edema_map.pkl").unlink()
        assert ss.score(study)["reason"].eq("no map").sum() == 2

    def test_json_cut_short(self, study):
        file = study / "gt_segmentations_test.json"
        file.write_text(file.read_text()[:-30])
        with raises(InputFileError, path=file):
            ss.score(study)

    def test_a_mask_of_another_size(self, study):
        def edit(content):
            content[CASES[1]]["Edema"] = {"size": [4, 5], "counts": [20]}

        self.change(study, "gt_segmentations_test.json", edit)
        # the next task of the case has another size
        cardiomegaly = (CASES[1], "Cardiomegaly")
        with raises(InputFileError, value=cardiomegaly, path=study / "gt_segmentations_test.json"):
            ss.score(study)

    def test_runs_that_do_not_fill_the_image(self, study):
        def edit(content):
            content[CASES[1]]["Edema"] = {"size": list(SHAPE), "counts": [20]}

        self.change(study, "gt_segmentations_test.json", edit)
        edema = (CASES[1], "Edema")
        with raises(InputFileError, column="counts", value=edema, path=study / "gt_segmentations_test.json"):
            ss.score(study)

    def test_an_unknown_task(self, study):
        write_map(study / "maps", CASES[0], "Edemma")
        path = study / "maps" / f"{CASES[0]}_Edemma_map.pkl"
        with raises(InputFileError, option="tasks", value="Edemma", path=path, match=r"'Edema'\?"):
            ss.score(study)

    def test_a_map_without_the_size_of_its_image_takes_the_truth_s(self, study):
        before = ss.score(study)
        for case in CASES:
            write_map(study / "maps", case, "Edema", cxr_dims=None)
        pd.testing.assert_frame_equal(ss.score(study), before)

    def test_a_polygon_beyond_the_image_is_cut_and_said(self, study):
        (study / "gt_segmentations_test.json").unlink()

        def edit(content):
            content[CASES[0]]["Edema"] = [[[40, 30], [400, 30], [400, 300], [40, 300]]]

        self.change(study, "gt_annotations_test.json", edit)
        with warns(value=[(CASES[0], "Edema")], path=study / "gt_annotations_test.json"):
            features = ss.features(study)
        assert features["area_px"][features["case"].eq(CASES[0]) & features["task"].eq("Edema")].tolist() == [
            100
        ]
