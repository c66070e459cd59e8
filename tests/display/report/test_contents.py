"""The tables and figures that a report may show."""

import pytest
from report_text import analyses_of, settings_of

from salstats.display.report.composition import labels_of
from salstats.display.report.contents import SECTION_PLANS, Contents
from salstats.display.report.settings import Settings, resolve_scores_and_settings
from salstats.display.report.wording import Wording


def contents_of(scores, **options):
    """The material of a report on scores."""
    rows, settings = resolve_scores_and_settings(scores, Settings(n_replicates=199, **options))
    analyses = analyses_of(scores, **options)
    return Contents(rows, analyses, Wording(settings, labels_of(rows, settings)))


@pytest.fixture(scope="module")
def contents(small):
    return contents_of(small)


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


def test_the_table_of_slopes_has_the_adjusted_p_values_that_sentences_speak_of(some):
    contents = contents_of(some, covariates=["elongation"])
    slopes = contents.analyses.frames["regression"]
    note = " ".join(plan_of("regression").drawing_call(slopes, contents)().record.notes)
    assert f"adjusted (Holm, {slopes['n_tests'].max()} tests)" in note


def test_contrasts_of_a_single_task_stand_once(small):
    single = contents_of(small[small["task"] == "Edema"])
    assert len(frame_of("contrasts", single)) == 2
    assert frame_of("contrasts_by_task", single) is None


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


def test_without_maps_no_example_is_shown(contents):
    assert frame_of("examples", contents) is None


def test_slots_name_what_titles_need(small, contents):
    slots = contents.slots
    assert slots["reference"] == "the human benchmark"
    assert slots["metric"] == "IoU"
    assert (slots["and_task"], slots["over_tasks"]) == (" and task", ", averaged over tasks")
    single = contents_of(small[small["task"] == "Edema"])
    assert single.slots["and_task"] == single.slots["over_tasks"] == ""
    assert settings_of(small).unit == slots["unit"] == "patient"
