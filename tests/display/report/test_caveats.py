"""Sentences on estimates that rest on little."""

import numpy as np
import pytest
from report_frames import SETTINGS, frame, mean_row

from salstats.display.estimates import read_estimates
from salstats.display.report.caveats import caveat_sentences
from salstats.display.report.wording import Wording
from salstats.display.text.labels import Labels
from salstats.stats.engine.cautions import BASELINE_SHOWS_MUCH, add_caution


def caveats_of(*rows):
    """The caveats of some rows as one text."""
    return " ".join(caveat_sentences(read_estimates(frame(*rows)), Wording(SETTINGS, Labels())))


def test_estimates_of_many_units_have_no_caveat():
    assert caveats_of(mean_row("gradcam", 0.3, 0.2, 0.4)) == ""


@pytest.mark.parametrize(("n_units", "few"), [(19, True), (20, False)])
def test_bootstrap_intervals_need_twenty_units(n_units, few):
    text = caveats_of(mean_row("gradcam", 0.3, 0.2, 0.4, n_units=n_units))
    assert (f"rest on only {n_units} patients" in text) == few


@pytest.mark.parametrize(
    ("interval", "df", "few"),
    [("cr2", 3.9, True), ("cr2", 4.0, False), ("cr2", np.nan, False), ("wilson_t", 3.9, False)],
)
def test_t_intervals_need_four_degrees_of_freedom(interval, df, few):
    text = caveats_of(mean_row("gradcam", 0.3, 0.2, 0.4, interval=interval, n_units=6, df=df))
    assert ("rest on only 6 patients" in text) == few


@pytest.mark.parametrize(
    ("interval", "n_units", "few"),
    [("t", 4, True), ("t", 5, False), ("of another program", 4, True), ("wild", 4, False)],
)
def test_without_degrees_of_freedom_they_are_those_of_the_units(interval, n_units, few):
    text = caveats_of(mean_row("gradcam", 0.3, 0.2, 0.4, interval=interval, n_units=n_units))
    assert (f"rest on only {n_units} patients" in text) == few


def test_p_values_are_doubtful_only_where_there_are_some():
    few = {"n_units": 5}
    assert "P values likely too small" in caveats_of(mean_row("gradcam", 0.3, 0.2, 0.4, p_value=0.1, **few))
    assert "P values" not in caveats_of(mean_row("gradcam", 0.3, 0.2, 0.4, **few))


def test_an_average_over_a_task_of_few_units_is_named():
    text = caveats_of(
        mean_row("gradcam", 0.3, 0.2, 0.4, task="Edema", n_units=5),
        mean_row("gradcam", 0.3, 0.2, 0.4, task="Average", n_units=50),
    )
    assert "Intervals of 1 estimate rest on only 5 patients" in text
    assert "also of averages that include them" in text
    # another task is no average
    text = caveats_of(
        mean_row("gradcam", 0.3, 0.2, 0.4, task="Edema", n_units=5),
        mean_row("gradcam", 0.3, 0.2, 0.4, task="Atelectasis", n_units=50),
    )
    assert "rest on only 5 patients" in text
    assert "averages" not in text


def test_estimates_without_limits_are_counted_with_their_reason():
    assert "for 1 estimate." in caveats_of(mean_row("gradcam", 0.3, n_units=30))
    assert "for 1 estimate on a single patient." in caveats_of(mean_row("gradcam", 0.3, n_units=1))
    assert caveats_of(mean_row("gradcam", np.nan)) == ""


@pytest.mark.parametrize(("n_undefined", "many"), [(10, False), (11, True)])
def test_more_than_a_hundredth_of_undefined_replicates_is_told(n_undefined, many):
    text = caveats_of(mean_row("gradcam", 0.3, 0.2, 0.4, n_undefined=n_undefined))
    assert ("up to 11 of 1,000" in text) == many
    assert "verdict" not in text
    judged = caveats_of(mean_row("gradcam", 0.3, 0.2, 0.4, n_undefined=n_undefined, verdict="lower"))
    assert ("no verdict is given there" in judged) == many


def test_cautions_of_estimates_are_counted():
    rows = frame(mean_row("gradcam", 0.3, 0.2, 0.4), mean_row("lime", 0.3, 0.2, 0.4))
    cautioned = add_caution(rows, BASELINE_SHOWS_MUCH, np.array([True, False]))
    sentences = list(caveat_sentences(read_estimates(cautioned), Wording(SETTINGS, Labels())))
    assert sentences == [f"1 estimate: {BASELINE_SHOWS_MUCH.note}"]


def test_intervals_of_no_width_and_of_impossible_values_are_told():
    assert "have width 0" in caveats_of(mean_row("gradcam", 1.0, 1.0, 1.0))
    assert "hold impossible values" in caveats_of(mean_row("gradcam", 0.9, 0.7, 1.1))
