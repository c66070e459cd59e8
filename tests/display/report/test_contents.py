"""The tables and figures that a report may show."""

from dataclasses import replace

import pandas as pd
import pytest
from report_text import analyses_of, settings_of

import salstats as ss
from salstats.display.report.composition import report_labels
from salstats.display.report.contents import SECTION_PLANS, Contents
from salstats.display.report.settings import Settings, resolve_scores_and_settings
from salstats.display.report.wording import Wording


def contents_of(scores, **options):
    """The material of a report on scores."""
    rows, settings = resolve_scores_and_settings(scores, Settings(n_replicates=199, **options))
    analyses = analyses_of(scores, **options)
    return Contents(rows, analyses, Wording(settings, report_labels(rows, settings)))


@pytest.fixture(scope="module")
def contents(small):
    return contents_of(small)


@pytest.fixture(scope="module")
def unreferenced(small):
    """The material of a report without a reference."""
    return contents_of(small[small["method"] != "human"])


def plan_of(key):
    """The only table or figure with a key."""
    (plan,) = [plan for part in SECTION_PLANS for plan in part.items if plan.key == key]
    return plan


def frame_of(key, contents):
    """The frame of a table or figure, None where there is none."""
    made = plan_of(key).frame(contents)
    return None if made is None else made.frame


def test_keys_are_the_stems_of_different_files():
    keys = [(type(plan).__name__, plan.key) for part in SECTION_PLANS for plan in part.items]
    assert len(set(keys)) == len(keys)


def test_contrasts_over_tasks_and_by_task_divide_the_frame(contents):
    averages = frame_of("contrasts", contents)
    by_task = frame_of("contrasts_by_task", contents)
    assert set(averages["task"]) == {"Average"}
    assert set(by_task["task"]) == {"Edema", "Atelectasis"}
    assert len(averages) + len(by_task) == len(contents.analyses.frames["decrease"])
    assert plan_of("contrasts").frame(contents).call.endswith("decrease[decrease['task'] == 'Average']")
    assert plan_of("contrasts_by_task").frame(contents).call.endswith("['task'] != 'Average']")


def test_the_table_of_slopes_has_the_adjusted_p_values_that_sentences_speak_of(some):
    contents = contents_of(some, covariates=["elongation"])
    slopes = contents.analyses.frames["regression"]
    note = " ".join(plan_of("regression").drawing_call(slopes, contents)().record.notes)
    assert f"adjusted (Holm, {slopes['n_tests'].max()} tests)" in note


def test_contrasts_of_a_single_task_stand_once(small):
    single = contents_of(small[small["task"] == "Edema"])
    assert len(frame_of("contrasts", single)) == 2
    assert frame_of("contrasts_by_task", single) is None
    ranking = plan_of("ranking").frame(single)
    assert ranking.call.endswith("means[means['metric'] == 'iou'].drop(columns='task')")
    assert len(ranking.frame) == 3


def test_decreases_are_shown_only_without_a_margin_and_for_every_metric(small, contents):
    assert contents.decrease_or_difference_key == "decrease"
    assert contents_of(small, margin=0.1).decrease_or_difference_key == "difference"
    assert contents_of(small.assign(metric="ncc")).decrease_or_difference_key == "difference"


def test_method_means_on_first_metric_are_those_over_tasks(contents):
    ranked = contents.method_means_on_first_metric
    assert len(ranked) == 3
    assert "task" not in ranked.columns
    means = contents.analyses.frames["means"]
    expected = means.loc[means["task"] == "Average", "estimate"]
    assert ranked["estimate"].tolist() == expected.tolist()
    condition = "(means['metric'] == 'iou') & (means['task'] == 'Average')"
    assert f"means[{condition}].drop(columns='task')" in plan_of("ranking").frame(contents).call


def test_without_a_reference_there_are_no_contrasts(unreferenced):
    assert unreferenced.decrease_or_difference_key == "difference"
    assert frame_of("contrasts", unreferenced) is None
    assert frame_of("contrasts_by_task", unreferenced) is None
    assert unreferenced.scores_without_reference is unreferenced.scores


def test_compared_scores_are_those_of_every_other_method(contents):
    assert set(contents.scores_without_reference["method"]) == {"gradcam", "occlusion"}
    assert contents.first_compared_method == "gradcam"
    assert contents.first_metric == "iou"


def test_descriptions_are_of_the_default_groups_and_the_unit_of_the_report(small, contents):
    made = plan_of("scores").frame(contents)
    pd.testing.assert_frame_equal(made.frame, ss.describe(small, unit="patient"))
    assert made.call == "ss.describe(scores, unit='patient')"


def drawing_call_of(key, contents, frame=None):
    """The call that draws a table or figure, which is not made."""
    if frame is None:
        frame = frame_of(key, contents)
    return plan_of(key).drawing_call(frame, contents)


def test_means_are_drawn_best_first_with_the_reference_that_they_hold(contents):
    call = drawing_call_of("ranking", contents)
    assert call.func is ss.plot_intervals
    shared = {"labels": contents.wording.labels, "style": contents.wording.settings.style}
    assert call.keywords == {"sort": "estimate", "reference": "human", **shared}
    ranked = contents.method_means_on_first_metric
    others = drawing_call_of("ranking", contents, ranked[ranked["method"] != "human"])
    assert "reference" not in others.keywords


def test_intervals_are_drawn_with_decreases_and_with_the_auroc_of_tasks(contents):
    frames = contents.analyses.frames
    call = drawing_call_of("intervals", contents, frames["means"])
    assert call.func is ss.plot_intervals
    assert call.keywords["decrease"] is frames["decrease"]
    assert "auroc" not in call.keywords
    for areas, is_drawn in ((pd.DataFrame({"task": ["Edema"]}), True), (pd.DataFrame(), False)):
        further = replace(contents.analyses, frames={"auroc": areas})
        options = drawing_call_of("intervals", replace(contents, analyses=further), frames["means"]).keywords
        assert ("auroc" in options) == is_drawn
        assert "decrease" not in options


def test_contrasts_and_slopes_have_a_column_of_p_values_where_there_are_any(contents):
    contrasts = frame_of("contrasts", contents)
    for key, function in (("contrasts", ss.plot_forest), ("regression", ss.table_regression)):
        for frame, is_tested in (
            (contrasts, True),
            (contrasts.assign(p_value=float("nan")), False),
            (contrasts.drop(columns="p_value"), False),
        ):
            call = drawing_call_of(key, contents, frame)
            assert call.func is function
            assert call.keywords["p_values"] is is_tested


@pytest.mark.parametrize(("metrics", "n_columns"), [(["iou"], 1), (["iou", "hit"], 2), (["a", "b", "c"], 2)])
def test_decreases_are_drawn_in_two_columns_at_most(contents, metrics, n_columns):
    call = drawing_call_of("contrasts_by_task", contents, pd.DataFrame({"metric": metrics}))
    assert call.func is ss.plot_decrease
    assert call.keywords["n_columns"] == n_columns


def test_the_table_of_means_marks_differences_and_its_best_is_no_reference(contents, unreferenced):
    means = contents.analyses.frames["means"]
    call = drawing_call_of("means", contents, means)
    assert call.func is ss.table_estimates
    assert call.keywords["differences"] is contents.analyses.frames["difference"]
    assert call.keywords["exclude"] == ["human"]
    assert "exclude" not in drawing_call_of("means", unreferenced, means).keywords


def test_scores_are_drawn_as_boxes_and_against_the_confidence(contents):
    boxes = drawing_call_of("scores", contents)
    assert (boxes.func, boxes.args) == (ss.plot_box, (contents.scores,))
    assert boxes.keywords == {"reference": "human", "labels": contents.wording.labels}
    lines = pd.DataFrame()
    scatter = drawing_call_of("confidence", contents, lines)
    assert (scatter.func, scatter.args[1:]) == (ss.plot_scatter, ("prob", "iou"))
    assert scatter.args[0] is contents.scores_without_reference
    assert scatter.keywords["fit"] is lines


def test_calibration_curves_are_drawn_with_their_numbers_where_there_are_some(contents):
    assert drawing_call_of("calibration_curve", contents, pd.DataFrame()).keywords["calibration"] is None
    numbers = pd.DataFrame()
    further = replace(contents, analyses=replace(contents.analyses, frames={"calibration": numbers}))
    assert drawing_call_of("calibration_curve", further, pd.DataFrame()).keywords["calibration"] is numbers


def test_without_maps_no_example_is_shown(contents):
    assert frame_of("examples", contents) is None


def test_slots_name_what_titles_need(small, contents):
    slots = contents.slots
    assert slots["reference"] == "the human benchmark"
    assert slots["metric"] == "IoU"
    assert slots["metrics"] == "IoU"
    assert slots["method"] == "Grad-CAM"
    assert slots["units"] == "patients"
    assert slots["contrast"] == "Percentage decrease"
    assert slots["best"] == contents.wording.method(contents.analyses.frames["best"]["reference"].iloc[0])
    assert "prob" not in slots
    assert (slots["and_task"], slots["by_task"], slots["over_tasks"]) == (
        " and task", " by task", ", averaged over tasks",
    )  # fmt: skip
    single = contents_of(small[small["task"] == "Edema"])
    assert single.slots["and_task"] == single.slots["by_task"] == single.slots["over_tasks"] == ""
    differences = replace(contents.analyses, frames={"difference": contents.analyses.frames["difference"]})
    assert replace(contents, analyses=differences).decrease_or_difference_key == "difference"
    with_confidence = replace(contents, scores=small.assign(prob=0.5)).slots
    assert with_confidence["prob"] == "model confidence"
    assert with_confidence["confidence"] == "Model confidence"
    assert settings_of(small).unit == slots["unit"] == "patient"
