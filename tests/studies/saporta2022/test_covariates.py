"""Tables 2 and 3 and Extended Data 8 to 10: printed as the scripts print them, and what is said beside."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from salstats.studies.saporta2022.covariates import (
    effect_of_feature_scale_on_slopes_note,
    overall_slope_relative_to_tasks_note,
)
from salstats.studies.saporta2022.labels_and_notes import feature_name
from salstats.studies.saporta2022.study_frames import FEATURES, SCALED_OVER_ALL_TASKS, SCALED_PER_TASK

# statsmodels' pseudo-inverse there, QR here; p-values are as small as 1e-46
REGRESSION = 1e-9
OUTCOMES = {
    "pred_iou": "IoU",
    "pred_hitmiss": "Hit rate",
    "iou_diff": "Human minus saliency, IoU",
    "hitmiss_diff": "Human minus saliency, hit rate",
}
OVER_ALL = SCALED_OVER_ALL_TASKS


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_table_2_is_printed_as_the_scripts_print_it(published, expected, outcome):
    want = pd.read_csv(expected / "regression_hb" / f"regression_features_{outcome}.csv")
    got = published["table_2"].frame.query("scale == @OVER_ALL and pool == 'all tasks pooled'")
    got = got[got["outcome"] == OUTCOMES[outcome]]
    assert got["script_text"].tolist() == want["Linear regression coefficients"].tolist()


def test_table_2_equals_the_unrounded_regressions(published, expected):
    want = pd.read_csv(expected / "regression_full_precision.csv").query("script == 'pathology_features'")
    want = want.assign(
        outcome=want["y"].map(OUTCOMES), term=want["feature"].replace("n_instance", "n_instances")
    )
    got = published["table_2"].frame.query("scale == @OVER_ALL and pool == 'all tasks pooled'")
    both = got.merge(want, on=["outcome", "term"], suffixes=("", "_want"), validate="1:1")
    assert len(both) == 16
    for ours, theirs in (("estimate", "mean"), ("conf_low", "lower"), ("conf_high", "upper")):
        np.testing.assert_allclose(both[ours], both[theirs], rtol=REGRESSION)
    np.testing.assert_allclose(both["p_value"], both["coef_pval"], rtol=REGRESSION)
    np.testing.assert_array_equal(both["n"], both["n_want"])


@pytest.mark.parametrize(("key", "outcome"), [("table_3", "iou"), ("extended_data_9", "hitmiss")])
def test_confidence_tables_are_printed_as_the_scripts_print_them(published, expected, key, outcome):
    want = pd.read_csv(expected / "assurance" / f"regression_modelprob_{outcome}.csv").set_index("task")
    got = published[key].frame
    for term, column in (
        ("slope", "Linear regression coefficients"),
        ("spearman", "Spearman correlations"),
    ):
        own = got[got["term"] == term].set_index("task").loc[want.index]
        assert own["script_text"].tolist() == want[column].tolist()
        np.testing.assert_array_equal(own["n"], want["n"])


def with_six_findings(frames, task):
    """Keep the first six findings of a task."""
    features = frames.features
    surplus = features[(features["task"] == task) & (features["area_ratio"] > 0)].index[6:]
    return replace(frames, features=features.drop(surplus).reset_index(drop=True))


def test_a_task_with_few_positives_is_left_out_and_listed_with_n_and_reason(drawn_frames, make):
    frames = with_six_findings(drawn_frames, "Airspace Opacity").with_enough_positives(10)
    made = make(frames, "extended_data_10", "table_1", "extended_data_2", "table_3")
    counts = made["extended_data_10"].frame.set_index("task")
    out = counts[counts["left_out"]]
    assert out.index.tolist() == ["Airspace Opacity"]
    assert out[["n_positive", "reason"]].to_numpy().tolist() == [[6, "fewer than 10 positive cases"]]
    said = made["extended_data_10"].note
    assert "Airspace Opacity (n = 6: fewer than 10 positive cases)" in said
    for key in ("table_1", "extended_data_2", "table_3"):
        assert "Airspace Opacity" not in made[key].frame.to_string()


def test_summary_counts_are_those_of_the_design(made, made_up):
    design = json.loads((made_up / "inputs" / "study.json").read_text())
    counts = made["extended_data_10"].frame.set_index("task")
    assert counts["n_positive"].to_dict() == design["n_positive"]
    # all images of the study, of which the truth holds fewer
    assert set(counts["n_cases"]) == {design["n"]}
    assert design["n"] > design["n_images_with_gt"]


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("varying", [["area_ratio"], ["area_ratio", "elongation"], list(FEATURES)])
def test_the_table_of_slopes_names_the_features_where_there_are_several(drawn_frames, make, varying):
    elongation = drawn_frames.features["elongation"]
    constant = {name: elongation.where(elongation.isna(), 1.0) for name in set(FEATURES) - set(varying)}
    frames = replace(drawn_frames, features=drawn_frames.features.assign(**constant))
    item = make(frames, "table_2")["table_2"]
    assert set(item.frame["term"]) == set(varying)
    html = item.table.as_raw_html()
    # a row of each feature in each block: two scales, without and with task effects
    n_rows = 4 if len(varying) > 1 else 0
    assert {name: html.count(f">{feature_name(name)}<") for name in varying} == dict.fromkeys(varying, n_rows)


def test_both_scales_of_features_are_shown_and_they_matter(made):
    slopes = made["table_2"].frame.query("outcome == 'IoU' and pool == 'all tasks pooled'")
    slopes = slopes.set_index(["scale", "term"])["estimate"]
    # the largest and smallest findings of all tasks lie further apart than those of one task
    assert slopes[OVER_ALL, "area_ratio"] == pytest.approx(0.584, abs=0.001)
    assert slopes[SCALED_PER_TASK, "area_ratio"] < 0.6 * slopes[OVER_ALL, "area_ratio"]
    assert slopes[SCALED_PER_TASK, "irrectangularity"] > 0 > slopes[OVER_ALL, "irrectangularity"]


def test_the_scale_of_features_is_said_to_matter_in_numbers(made):
    slopes = made["table_2"].frame
    said = effect_of_feature_scale_on_slopes_note(slopes)
    assert said in made["table_2"].note
    rows = slopes[(slopes["pool"] == "all tasks pooled") & (slopes["outcome"] == "IoU")]
    rows = rows.set_index(["scale", "term"])
    one, all_ = (rows.loc[(s, "area_ratio"), "estimate"] for s in (SCALED_PER_TASK, SCALED_OVER_ALL_TASKS))
    assert f"is {one:.3f} scaled per task and {all_:.3f} over all tasks" in said
    # 0.080 (0.003, 0.157) and -0.195 (-0.288, -0.103)
    assert said.endswith("where both intervals exclude 0 the sign turns for irrectangularity (IoU)")


@pytest.mark.parametrize(
    ("overall", "place"), [(0.109, "below all"), (0.5, "within those"), (2.0, "above all")]
)
def test_an_overall_slope_outside_those_of_the_tasks_is_said(overall, place):
    # the study's printed Table 3: 0.109 overall, 0.211 to 1.974 in the tasks
    found = pd.DataFrame(
        {"term": "slope", "task": ["a", "b", "Overall"], "estimate": [0.211, 1.974, overall]}
    )
    said = overall_slope_relative_to_tasks_note(found)
    assert said == f"the overall slope, {overall:.3f}, lies {place} of the tasks, 0.211 to 1.974"


def test_counts_are_drawn_for_every_task_with_patients(drawn_frames, make):
    few = with_six_findings(drawn_frames, "Airspace Opacity")
    item = make(few.with_enough_positives(10), "extended_data_10")["extended_data_10"]
    drawn = item.figure.data.pivot(index="task", columns="method", values="estimate")
    findings = few.positives[few.positives["task"] == "Airspace Opacity"]
    n_patients = findings["case"].str.partition("_")[0].nunique()
    assert n_patients < 6
    assert sorted(drawn.loc["Airspace Opacity"]) == [n_patients, 6]
    assert len(drawn) == 2
    assert (
        "Left out of all that follows: Airspace Opacity (n = 6: fewer than 10" in item.figure.labels.caption
    )


def test_true_negatives_are_not_drawn_nor_counted_as_missing(drawn_frames, make):
    item = make(drawn_frames, "table_3")["table_3"]
    assert "Not drawn" not in str(item.figure.labels.caption)
    assert (item.frame["n_missing"] == 0).all()


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_confidence_of_two_cases_a_task_is_drawn_without_lines(drawn_frames, make):
    known = drawn_frames.full[
        (drawn_frames.full["method"] == drawn_frames.main_method) & drawn_frames.full["score"].notna()
    ]
    few = known.groupby("task").head(2).reset_index(drop=True)
    item = make(replace(drawn_frames, full=few), "table_3")["table_3"]
    of_tasks = item.frame[item.frame["task"].isin(set(few["task"]))]
    assert of_tasks["estimate"].isna().all()
    assert len(item.figure.data) == len(few)
    item.figure.draw()


def test_a_single_task_has_no_overall_slope_beside_it():
    found = pd.DataFrame({"term": "slope", "task": ["a", "Overall"], "estimate": [0.2, 0.3]})
    assert overall_slope_relative_to_tasks_note(found) == "there is one task"
    two = pd.concat([found, found.head(1).assign(task="b")], ignore_index=True)
    assert overall_slope_relative_to_tasks_note(two[two["task"] != "Overall"]) == "there is one task"
    # correlations are no slopes
    correlations = two.assign(term="spearman", estimate=9.0)
    assert overall_slope_relative_to_tasks_note(pd.concat([correlations, two])).endswith("0.200 to 0.200")


def test_signs_turn_only_where_both_intervals_exclude_0():
    scales = [SCALED_PER_TASK, SCALED_OVER_ALL_TASKS]
    rows = pd.DataFrame({"scale": scales, "conf_low": [0.1, -0.3], "conf_high": [0.2, -0.1]})
    rows = rows.assign(outcome="IoU", term="elongation", pool="all tasks pooled", estimate=[0.15, -0.2])
    assert "elongation (IoU)" in effect_of_feature_scale_on_slopes_note(rows)
    for other in (
        rows.assign(conf_high=[0.2, 0.1]),
        rows.assign(conf_low=[0.1, 0.05], conf_high=0.2),
        rows.assign(conf_low=[-0.1, -0.3]),
    ):
        assert "elongation" not in effect_of_feature_scale_on_slopes_note(other)
    with_effects = rows.assign(pool="with task effects")
    assert "elongation" not in effect_of_feature_scale_on_slopes_note(with_effects)


def test_summary_statistics_have_the_quartiles_of_each_tasks_findings(drawn_frames, make):
    item = make(drawn_frames.with_enough_positives(1), "extended_data_10")["extended_data_10"]
    findings = drawn_frames.positives.query("task == 'Atelectasis'")
    row = item.frame.set_index("task").loc["Atelectasis"]
    html = item.table.as_raw_html()
    for feature in FEATURES:
        names = [f"{feature}_{name}" for name in ("median", "q1", "q3")]
        median, q1, q3 = findings[feature].quantile([0.5, 0.25, 0.75])
        np.testing.assert_allclose(row[names].astype(float), [median, q1, q3])
        digits = 1 if feature == "n_instances" else 3
        assert f"{median:.{digits}f} [{q1:.{digits}f}, {q3:.{digits}f}]" in html


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_features_that_no_finding_has_are_not_shown(drawn_frames, make):
    unknown = drawn_frames.features.assign(elongation=np.nan)
    items = make(replace(drawn_frames, features=unknown), "extended_data_8")
    values = items["extended_data_8"].frame
    assert set(values["covariate"]) == set(FEATURES) - {"elongation"}
    assert set(values["task"]) == set(drawn_frames.positives["task"])


def test_the_figure_of_table_2_is_of_scores_without_task_effects(drawn_frames, make):
    item = make(drawn_frames, "table_2")["table_2"]
    drawn = item.figure.data
    shown = item.frame[
        (item.frame["pool"] == "all tasks pooled") & item.frame["outcome"].isin(["IoU", "Hit rate"])
    ]
    assert sorted(drawn["estimate"]) == sorted(shown["estimate"])
    html = item.table.as_raw_html()
    for block in ("Scaled per task", "Scaled over all tasks"):
        assert html.count(f">{block}, with task effects<") == 1


def test_table_3_is_of_the_full_slice_and_extended_data_9_of_the_findings(drawn_frames, make):
    made = make(drawn_frames, "table_3", "extended_data_9")
    assert made["table_3"].slice == "full, tuned probability cut-offs"
    assert made["extended_data_9"].slice == "true-positive"
    assert set(made["table_3"].frame["metric"]) == {"iou"}
    assert set(made["extended_data_9"].frame["metric"]) == {"hit"}
