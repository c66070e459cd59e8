"""The frames of saporta2022: what is missing, hit rates, the scale of features."""

import warnings

import numpy as np
import pandas as pd
import pytest
from saporta_frames import METHOD, long

import salstats as ss
from salstats.errors import SalstatsWarning
from salstats.stats.engine.result_warnings import RepeatedUnitsWarning
from salstats.studies.saporta2022.study_frames import (
    PER_TASK,
    POOLED,
    TASK_EFFECTS,
    StudyInference,
    decreases,
    feature_slopes,
    full_slice_of_main_and_people,
    means,
    min_max_features,
    regression_coefficients,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(rest on|replicates have no correlation):salstats.errors.SalstatsWarning"
)
BOTH = pytest.mark.parametrize("published", [True, False])


def test_leaving_a_task_out_does_not_change_which_cases_people_saw(whole):
    some = whole.with_tasks(["Edema", "Atelectasis"])
    rows = full_slice_of_main_and_people(some, StudyInference(True))
    # the rows of the second reader's file, over which the scripts resample
    assert rows.groupby("method")["case"].nunique().to_dict() == {METHOD: 200, "human": 179}


def test_a_feature_that_does_not_vary_in_a_task_has_no_scale_there():
    findings = pd.DataFrame(
        {
            "case": list("abcd"),
            "task": ["x", "x", "y", "y"],
            "n_instances": [1, 1, 2, 4],
            "area_ratio": [0.1, 0.3, 0.2, 0.4],
            "elongation": [2.0, np.nan, 1.0, 3.0],
            "irrectangularity": 0.5,
        }
    )
    per_task, over_all = (min_max_features(findings, scale) for scale in (PER_TASK, POOLED))
    np.testing.assert_array_equal(per_task["n_instances"], [np.nan, np.nan, 0, 1])
    np.testing.assert_allclose(over_all["n_instances"], [0, 0, 1 / 3, 1])
    np.testing.assert_array_equal(per_task["elongation"], [np.nan, np.nan, 0, 1])
    assert over_all["irrectangularity"].isna().all()


def test_models_have_tasks_where_their_effects_are_asked_for_and_there_are_several(whole):
    for frames, has_tasks in ((whole, True), (whole.with_tasks(["Edema"]), False)):
        slopes = feature_slopes(frames, StudyInference(True), (POOLED,))
        is_with_tasks = slopes["formula"].str.contains(" + task", regex=False)
        expected = slopes["pool"].eq(TASK_EFFECTS) & has_tasks
        assert (is_with_tasks == expected).all()
        assert slopes["pool"].nunique() == 2


@BOTH
def test_missing_scores_of_table_1_are_misses_and_not_findings_that_are_absent(frames, expected, published):
    found = means(frames.scores, StudyInference(published, 40))
    found = found[found["task"] != "Average"].set_index(["metric", "method", "task"])
    features = long(expected / "features" / "area_ratio.csv", "area")
    positive = features[features["area"] > 0].groupby("task").size()
    for (metric, _, task), row in found.iterrows():
        assert row["n"] + row["n_missing"] == positive[task]
        assert metric == "iou" or row["n_missing"] == 0


@BOTH
def test_missing_pairs_of_a_decrease_are_those_where_one_of_both_missed(frames, expected, published):
    found = decreases(frames.scores, StudyInference(published, 40)).query("metric == 'iou'").set_index("task")
    tp = expected / "eval_tp"
    own, human = (long(tp / f"iou{i}_results_per_cxr.csv", "score") for i in ("", "_humanbenchmark"))
    both = own.merge(human, on=["case", "task"], suffixes=("", "_human"))
    features = long(expected / "features" / "area_ratio.csv", "area")
    both = both.merge(features[features["area"] > 0], on=["case", "task"])
    want = both.groupby("task")[["score", "score_human"]].apply(lambda f: int(f.isna().any(axis=1).sum()))
    tasks = [t for t in found.index if t != "Average"]
    assert found.loc[tasks, "n_missing"].to_dict() == want.loc[tasks].to_dict()
    assert found.loc["Average", "n_missing"] == want.loc[tasks].sum()


def test_true_negatives_of_the_full_slice_are_not_missing(frames):
    found = means(frames.full, StudyInference(False, 40))
    assert set(found["n_missing"]) == {0}


def test_hit_rates_of_a_task_have_wilsons_interval(frames):
    found = means(frames.scores, StudyInference(False, 40)).set_index(["metric", "method", "task"])
    row = found.loc[("hit", "human", "Edema")]
    assert row["interval"] == "wilson"
    # 18 of 19 patients, one case each: Wilson's limits of 18/19 by hand, 19 x (t 18 / t 18)^2 = 19
    z2, n, p = 1.959963984540054**2, 19, 18 / 19
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    reach = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    np.testing.assert_allclose([row["conf_low"], row["conf_high"]], [centre - reach, centre + reach])
    # an average is no proportion, and IoU none either
    assert found.loc[("hit", "human", "Average"), "interval"] == "percentile"
    assert set(found.loc["iou", "interval"]) == {"percentile"}


def test_a_task_that_people_always_hit_has_an_interval_with_width(frames):
    scores = frames.scores.assign(
        score=frames.scores["score"].mask(
            (frames.scores["metric"] == "hit") & frames.scores["score"].notna(), 1.0
        )
    )
    with warnings.catch_warnings():
        # the replicates of the average
        warnings.filterwarnings("ignore", message=".*width 0", category=SalstatsWarning)
        found = means(scores, StudyInference(False, 40)).query("metric == 'hit' and task == 'Edema'")
    assert (found["conf_high"] == 1).all()
    assert (found["conf_low"] < 0.9).all()


def test_only_the_repeated_patients_of_published_regressions_are_silent(frames):
    rows = frames.scores.query("method == @METHOD and metric == 'iou'").merge(
        frames.positives[["case", "task", "area_ratio"]], on=["case", "task"]
    )
    formula = "iou ~ area_ratio + task"
    with pytest.warns(RepeatedUnitsWarning):
        classical = ss.regress(rows, formula, errors="classical")
    pd.testing.assert_frame_equal(regression_coefficients(rows, formula, StudyInference(True)), classical)
    # a variable of one level is still warned of
    with pytest.warns(SalstatsWarning) as caught:
        regression_coefficients(rows, f"{formula} + metric", StudyInference(True))
    assert RepeatedUnitsWarning not in {warning.category for warning in caught}
