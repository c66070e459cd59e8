"""The frames of saporta2022: what is missing, hit rates, the scale of features."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from saporta_frames import METHOD, long
from scipy import stats
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, SalstatsWarning, ValueRangeError
from salstats.stats.engine.result_warnings import RepeatedUnitsWarning
from salstats.studies.item_warnings import ItemNotMade
from salstats.studies.saporta2022.study_frames import (
    FULL_SLICE,
    HITS,
    POINTS,
    SCALED_OVER_ALL_TASKS,
    SCALED_PER_TASK,
    TASK_EFFECTS,
    StudyFrames,
    StudyInference,
    case_counts_of_each_task,
    concat_or_raise_if_none,
    decreases,
    drop_absent_findings,
    feature_slopes,
    full_slice_scores_of_main_and_people,
    has_finding,
    image_or_patient_max_rows_for_auroc,
    main_method_scores_to_regress_on_confidence,
    means,
    min_max_features,
    regression_coefficients,
    rows_of_first_training_of_each_method,
    rows_of_first_trainings,
    task_and_pooled_slopes_and_correlations_on_prob,
    warn_of_left_out_tasks,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(rest on|replicates have no correlation):salstats.errors.SalstatsWarning"
)
BOTH = pytest.mark.parametrize("published", [True, False])


def test_leaving_a_task_out_does_not_change_which_cases_people_saw(whole):
    some = whole.with_tasks(["Edema", "Atelectasis"])
    rows = full_slice_scores_of_main_and_people(some, StudyInference(True))
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
    per_task = min_max_features(findings, SCALED_PER_TASK)
    over_all = min_max_features(findings, SCALED_OVER_ALL_TASKS)
    np.testing.assert_array_equal(per_task["n_instances"], [np.nan, np.nan, 0, 1])
    np.testing.assert_allclose(over_all["n_instances"], [0, 0, 1 / 3, 1])
    np.testing.assert_array_equal(per_task["elongation"], [np.nan, np.nan, 0, 1])
    assert over_all["irrectangularity"].isna().all()


def test_models_have_tasks_where_their_effects_are_asked_for_and_there_are_several(drawn_frames):
    for frames, has_tasks in ((drawn_frames, True), (drawn_frames.with_tasks(["Atelectasis"]), False)):
        slopes = feature_slopes(frames, StudyInference(True), (SCALED_OVER_ALL_TASKS,))
        is_with_tasks = slopes["formula"].str.contains(" + task", regex=False)
        expected = slopes["pool"].eq(TASK_EFFECTS) & has_tasks
        assert (is_with_tasks == expected).all()
        assert slopes["pool"].nunique() == 2
        # four features of each outcome
        np.testing.assert_allclose(slopes["p_adjusted"], np.minimum(1, 4 * slopes["p_value"]))
        assert slopes["outcome"].nunique() == 4


def test_an_outcome_needs_its_scores(drawn_frames):
    frames = drawn_frames.with_tasks(["Atelectasis"])
    frames = replace(frames, available=drawn_frames.available - {HITS, POINTS})
    slopes = feature_slopes(frames, StudyInference(True), (SCALED_OVER_ALL_TASKS,), (TASK_EFFECTS,))
    assert set(slopes["outcome"]) == {"IoU", "Human minus saliency, IoU"}


@BOTH
def test_missing_scores_of_table_1_are_misses_and_not_findings_that_are_absent(drawn_frames, published):
    found = means(drawn_frames.scores, StudyInference(published, 40))
    found = found[found["task"] != "Average"].set_index(["metric", "method", "task"])
    features = drawn_frames.features
    positive = features[features["area_ratio"] > 0].groupby("task").size()
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


def test_true_negatives_of_the_full_slice_are_not_missing(drawn_frames):
    found = means(drawn_frames.full, StudyInference(False, 40))
    assert set(found["n_missing"]) == {0}


def test_hit_rates_of_a_task_have_wilsons_interval(drawn_frames):
    # one case of each patient: the effective number of patients is their number
    scores = drawn_frames.scores[drawn_frames.scores["case"].str.contains("_study1_")]
    found = means(scores, StudyInference(False, 40)).set_index(["metric", "method", "task"])
    row = found.loc[("hit", "human", "Atelectasis")]
    assert row["interval"] == "wilson"
    hits = scores.query("metric == 'hit' and method == 'human' and task == 'Atelectasis'")["score"].dropna()
    z2, n, p = 1.959963984540054**2, len(hits), hits.mean()
    assert 0 < p < 1
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    reach = np.sqrt(z2 * (p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    np.testing.assert_allclose([row["conf_low"], row["conf_high"]], [centre - reach, centre + reach])
    # an average is no proportion, and IoU none either
    assert found.loc[("hit", "human", "Average"), "interval"] == "percentile"
    assert set(found.loc["iou", "interval"]) == {"percentile"}


def test_a_task_that_people_always_hit_has_an_interval_with_width(drawn_frames):
    scores = drawn_frames.scores.assign(
        score=drawn_frames.scores["score"].mask(
            (drawn_frames.scores["metric"] == "hit") & drawn_frames.scores["score"].notna(), 1.0
        )
    )
    with warnings.catch_warnings():
        # the replicates of the average
        warnings.filterwarnings("ignore", message=".*width 0", category=SalstatsWarning)
        found = means(scores, StudyInference(False, 40)).query("metric == 'hit' and task == 'Atelectasis'")
    assert (found["conf_high"] == 1).all()
    assert (found["conf_low"] < 0.9).all()


def test_only_the_repeated_patients_of_published_regressions_are_silent(drawn_frames):
    rows = drawn_frames.scores.query("method == @METHOD and metric == 'iou'").merge(
        drawn_frames.positives[["case", "task", "area_ratio"]], on=["case", "task"]
    )
    formula = "iou ~ area_ratio + task"
    with pytest.warns(RepeatedUnitsWarning):
        classical = ss.regress(rows, formula, errors="classical")
    pd.testing.assert_frame_equal(regression_coefficients(rows, formula, StudyInference(True)), classical)
    # a variable of one level is still warned of
    with pytest.warns(SalstatsWarning) as caught:
        regression_coefficients(rows, f"{formula} + metric", StudyInference(True))
    assert RepeatedUnitsWarning not in {warning.category for warning in caught}


def series(rows):
    """Scores of methods, models and trainings."""
    return pd.DataFrame(rows, columns=["method", "model", "seed"]).assign(task="Edema")


TRAININGS = series(
    [
        ("cam", "dense", "1"),
        ("cam", "dense", "2"),
        ("cam", "res", "1"),
        ("ig", None, None),
        ("ig", None, "1"),
        ("ig", "dense", None),
    ]
)


def test_of_each_method_the_first_model_and_training_is_kept():
    kept = rows_of_first_training_of_each_method(TRAININGS.assign(score=range(6)))
    # a missing model, or training, is one of its own
    assert kept["score"].tolist() == [0, 3]
    assert list(kept) == ["method", "task", "score"]
    kept = rows_of_first_trainings(TRAININGS.assign(score=range(6)))
    assert kept[["method", "model"]].fillna("").to_numpy().tolist() == [
        ["cam", "dense"], ["cam", "res"], ["ig", ""], ["ig", "dense"]
    ]  # fmt: skip
    assert kept["score"].tolist() == [0, 2, 3, 5]
    without = TRAININGS[["method", "task"]]
    pd.testing.assert_frame_equal(rows_of_first_training_of_each_method(without), without)
    pd.testing.assert_frame_equal(rows_of_first_trainings(without), without)


def hand_made(**fields):
    """Three cases of two patients: two with Edema, one of them with a mass as well."""
    scores = pd.DataFrame({"case": list("abc"), "patient": ["p", "p", "q"], "task": "Edema"})
    scores = scores.assign(method="human", metric="iou", score=0.5)
    scores = pd.concat([scores, scores.assign(method="cam")], ignore_index=True)
    features = pd.DataFrame(
        {"case": ["a", "b", "c", "a"], "task": ["Edema"] * 3 + ["Lesion"], "area_ratio": [0.1, 0.2, 0.0, 0.3]}
    )
    full = scores.assign(score=np.nan)
    # people marked a case of which the truth has nothing
    full.loc[0, ["case", "score"]] = ["d", 0.0]
    uncut = full.assign(case="e")
    return StudyFrames(scores, full, uncut, features, **fields)


def test_cases_findings_and_patients_of_each_task_are_counted():
    counts = case_counts_of_each_task(hand_made(), min_positives=2).set_index("task")
    # a, b and c of the features, e of the full slice
    assert counts["n_cases"].to_dict() == {"Edema": 4, "Lesion": 4}
    assert counts["n_positive"].to_dict() == {"Edema": 2, "Lesion": 1}
    assert counts["n_patients"].to_dict() == {"Edema": 1, "Lesion": 1}
    assert counts["left_out"].to_dict() == {"Edema": False, "Lesion": True}
    assert counts["reason"].isna().to_dict() == {"Edema": True, "Lesion": False}
    frames = hand_made()
    unnamed = replace(frames, scores=frames.scores.drop(columns="patient"))
    assert "n_patients" not in case_counts_of_each_task(unnamed, min_positives=2)


def test_tasks_with_fewer_findings_are_left_out_and_kept_beside():
    whole = hand_made()
    frames = whole.with_enough_positives(2)
    assert frames.features["task"].unique().tolist() == ["Edema"]
    assert frames.all_tasks is whole
    assert frames.counts["task"].tolist() == ["Edema", "Lesion"]
    with pytest.warns(ItemNotMade) as caught:
        warn_of_left_out_tasks(frames, 2)
    assert [warning.message.item.partition(",")[0] for warning in caught] == ["Lesion"]
    with raises(ValueRangeError, option="min_positives", value=3):
        whole.with_enough_positives(3)


def test_findings_are_told_by_their_label_or_else_by_their_area():
    features = hand_made().features
    assert has_finding(features).tolist() == [True, True, False, True]
    assert has_finding(features.assign(label=[0, 1, 1, np.nan])).tolist() == [False, True, True, False]
    assert hand_made().positives["case"].tolist() == ["a", "b", "a"]


def test_the_main_method_is_the_first_that_is_not_people():
    frames = hand_made()
    assert frames.main_method == "cam"
    people = frames.scores[frames.scores["method"] == "human"]
    assert replace(frames, scores=people).main_method is None


def test_marked_cases_are_those_of_the_truth_and_of_peoples_marks():
    assert hand_made().marked_cases == {"a", "b", "c", "d"}
    assert hand_made(marked_cases=frozenset("z")).marked_cases == {"z"}


def test_scores_of_absent_findings_are_left_out():
    reasons = [None, "finding absent", "empty mask", "true negative"]
    kept = drop_absent_findings(pd.DataFrame({"reason": reasons, "score": range(4)}))
    assert kept["score"].tolist() == [0, 2]


def test_probabilities_of_an_auroc_are_of_images_or_the_largest_of_each_patient():
    rows = pd.DataFrame({"task": "x", "case": list("abc"), "patient": ["p", "p", "q"], "label": [0, 1, 0]})
    rows = rows.assign(prob=[0.7, 0.2, 0.4])
    assert image_or_patient_max_rows_for_auroc(rows, StudyInference(False)) is rows
    patients = StudyInference(False, by_patient=True)
    largest = image_or_patient_max_rows_for_auroc(rows, patients).set_index("patient")
    assert largest["prob"].to_dict() == {"p": 0.7, "q": 0.4}
    assert largest["label"].to_dict() == {"p": 1, "q": 0}
    for lacking in (rows.drop(columns="patient"), rows.assign(patient=["p", None, "q"])):
        with raises(ColumnError, option="views", value="max", column="patient"):
            image_or_patient_max_rows_for_auroc(lacking, patients)


def test_confidence_is_of_the_full_slice_where_that_is_known_and_hits_never_are():
    cam = {"task": "Edema", "method": "cam", "metric": ["iou", "hit"]}
    people = pd.DataFrame({"case": ["s"], "task": "Edema", "method": "human", "metric": "iou", "score": 0.1})
    scores = pd.concat([pd.DataFrame({"case": "s", **cam, "score": 0.5}), people], ignore_index=True)
    full = scores.assign(case="f")
    frames = StudyFrames(scores, full, full, hand_made().features)
    known = replace(frames, available=frozenset({FULL_SLICE}))
    for given, metric, case in ((frames, "iou", "s"), (known, "iou", "f"), (known, "hit", "s")):
        rows = main_method_scores_to_regress_on_confidence(given, metric)
        assert rows[["case", "method", "metric"]].to_numpy().tolist() == [[case, "cam", metric]]


@BOTH
def test_confidence_has_slopes_and_correlations_of_tasks_over_all_and_within(published):
    rng = np.random.default_rng(3)
    n = 12
    rows = pd.DataFrame({"case": [f"c{i}" for i in range(2 * n)], "task": np.repeat(["x", "y"], n)})
    rows["prob"] = rng.uniform(size=2 * n)
    rows["score"] = 0.3 * rows["prob"] + rng.uniform(0, 0.3, 2 * n) + 0.2 * (rows["task"] == "y")
    rows = rows.assign(metric="iou", method="cam", reason=None)
    other_metric = rows.assign(metric="hit", score=0.0)
    scores = pd.concat([rows, other_metric], ignore_index=True)
    found = task_and_pooled_slopes_and_correlations_on_prob(scores, "iou", StudyInference(published, 40))
    assert set(found["metric"]) == {"iou"}
    estimates = found.set_index(["term", "task"])["estimate"]
    assert len(estimates) == 8
    for task, own in (("x", rows[:n]), ("y", rows[n:]), ("Overall", rows)):
        slope = np.polyfit(own["prob"], own["score"], 1)[0]
        assert estimates["slope", task] == pytest.approx(slope, rel=1e-9)
        rank_correlation = stats.spearmanr(own["prob"], own["score"]).statistic
        assert estimates["spearman", task] == pytest.approx(rank_correlation, rel=1e-9)
    # with task effects: the slope of what is left of each task's means
    centred = rows[["prob", "score"]] - rows.groupby("task")[["prob", "score"]].transform("mean")
    within = np.polyfit(centred["prob"], centred["score"], 1)[0]
    assert estimates["slope", "Within tasks"] == pytest.approx(within, rel=1e-9)
    one = task_and_pooled_slopes_and_correlations_on_prob(
        scores[scores["task"] == "x"], "iou", StudyInference(published, 40)
    )
    assert "Within tasks" not in set(one["task"])


def test_frames_that_could_be_made_are_stacked_and_none_is_an_error():
    one = pd.DataFrame({"x": [1]}, index=[5])
    assert concat_or_raise_if_none([one, one]).index.tolist() == [0, 1]
    with raises(SalstatsError):
        concat_or_raise_if_none([])
