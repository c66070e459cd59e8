"""Sections of a report: numbers, calls and captions of what they show."""

import numpy as np
import pytest
from report_frames import contrast_row, frame
from report_text import composed

import salstats as ss
from salstats.display.report.analyses import ReportFrames
from salstats.display.report.sections import _metrics_with_all_decreases_defined


@pytest.fixture(scope="module")
def report(small):
    """A report on two tasks with a reference, without confidence and covariates."""
    return composed(small)


@pytest.fixture(scope="module")
def means():
    return ss.summarize(ss.datasets.load_simulated(), n_replicates=40)


def test_sections_without_frames_are_left_out(report):
    assert [section.key for section in report.sections] == ["summary", "contrasts", "means", "cases"]


def test_tables_and_figures_are_numbered_apart_as_they_stand(report):
    numbers = [item.number for section in report.sections for item in section.items]
    for kind in ("Table", "Figure"):
        of_kind = [number for number in numbers if number.startswith(kind)]
        assert of_kind == [f"{kind} {i}" for i in range(1, len(of_kind) + 1)]
    assert {number.split()[0] for number in numbers} == {"Table", "Figure"}


def test_no_slot_of_a_title_or_caption_is_left_open(report):
    for section in report.sections:
        for item in section.items:
            assert "{" not in f"{section.title}{item.title}{item.caption}{item.alt}"


def test_no_sentence_stands_twice_in_a_section(report):
    for section in report.sections:
        assert len(set(section.sentences)) == len(section.sentences)


def test_a_call_loads_the_scores_makes_its_frames_and_draws_them(report):
    items = {item.key: item for section in report.sections for item in section.items}
    lines = items["means"].call.splitlines()
    assert lines[0] == "import salstats as ss"
    assert [line.split(" = ")[0] for line in lines if " = " in line] == [
        "scores", "labels", "difference", "means",
    ]  # fmt: skip
    assert lines[-1].startswith("ss.table_estimates(means, differences=difference, ")


def test_a_call_has_every_argument_of_its_function(some):
    composed_report = composed(some, covariates=["elongation"])
    items = {item.key: item for section in composed_report.sections for item in section.items}
    last_line = items["confidence"].call.splitlines()[-1]
    assert "'prob', 'iou', fit=" in last_line


def test_the_alternative_text_of_a_figure_ends_with_the_first_results_of_its_section(report):
    checked = 0
    for section in report.sections:
        for item in section.items:
            if item.number.startswith("Figure"):
                assert item.alt.endswith(" ".join(section.sentences[:2]))
                checked += len(section.sentences) > 2
    assert checked


def test_the_default_style_is_not_in_a_call(small, report):
    calls = " ".join(item.call for section in report.sections for item in section.items)
    assert "style=" not in calls
    other = composed(small, style="ama")
    assert "style='ama'" in " ".join(item.call for section in other.sections for item in section.items)


def test_the_caption_of_a_figure_says_what_its_bars_are_and_the_drawing_has_none(report):
    items = {item.key: item for section in report.sections for item in section.items}
    ranking = items["ranking"]
    assert ranking.caption.startswith("Bars: 95%")
    assert all(page.labels.caption is None for page in ranking.drawing)


def test_metrics_of_which_a_decrease_is_undefined_keep_their_sentences_on_differences():
    undefined = {"estimate": np.nan, "conf_low": np.nan, "conf_high": np.nan}
    rows = [
        contrast_row(method, 20.0, 10.0, 30.0, "lower", metric=metric)
        for metric in ("iou", "hit", "dice")
        for method in ("gradcam", "lime")
    ]
    differences = frame(*rows).assign(term="difference")
    # of hit one decrease is undefined, of dice both the decrease and the difference of one method
    decreases = frame(*rows[:2], rows[2] | undefined, rows[3], rows[4] | undefined, rows[5])
    differences.loc[4, list(undefined)] = np.nan
    results = ReportFrames({"decrease": decreases, "difference": differences})
    assert sorted(_metrics_with_all_decreases_defined(results)) == ["dice", "iou"]
