"""Sentences below a table, made from its frame."""

import pandas as pd
import pytest

from salstats.display.plots.decrease import significance_rule
from salstats.display.tables import notes
from salstats.display.text.labels import Labels
from salstats.display.text.vocabulary import INFERENCE
from salstats.stats.fixed_factors import THESE_READERS


def test_one_score_of_one_case_is_singular():
    frame = pd.DataFrame({"n": [1], "n_units": [1], "unit": ["case"], "n_missing": [0]})
    assert notes.count_note(frame) == "n, 1 score of 1 case; none undefined."


def test_averages_do_not_count_in_the_range_of_n():
    frame = pd.DataFrame({"task": ["a", "b", "Average"], "n": [10, 12, 22], "n_missing": [0, 3, 3]})
    assert notes.count_note(frame) == "n, 10 to 12 scores each; 0 to 3 undefined."


def test_a_mean_of_no_score_does_not_count_in_the_range_of_n():
    frame = pd.DataFrame({"method": ["a", "b", "human"], "n": [18, 17, 0], "n_missing": [0, 1, 18]})
    assert notes.count_note(frame) == "n, 17 to 18 scores each, where any is defined; 0 to 1 undefined."


def interval(kind, **columns):
    """Two rows with an interval of a kind."""
    values = {"estimate": 0.5, "conf_low": 0.4, "conf_high": 0.6, "conf_level": 0.95, "interval": kind}
    return pd.DataFrame([values, values]).assign(**columns)


@pytest.mark.parametrize(
    ("kind", "columns", "said"),
    [
        ("percentile", {"unit": "case"}, "percentile bootstrap of cases"),
        ("order", {}, "bootstrap, order statistics of the replicates"),
        ("t", {"unit": "patient", "n": 5, "n_units": 5}, "Student's t"),
        ("wilson", {"unit": "patient", "n": 5, "n_units": 3}, "Wilson score, clustered by patient"),
        ("exact", {}, "Clopper-Pearson"),
        ("delta", {}, "delta method"),
        ("delong", {}, "DeLong"),
        ("fisher", {"unit": "patient", "n": 5, "n_units": 3}, "Fisher z transformation"),
        ("fieller", {"term": "kendall"}, "Fisher z transformation, Fieller standard error"),
        ("my own", {}, "my own"),
    ],
)
def test_each_kind_of_interval_has_a_name(kind, columns, said):
    assert notes.interval_note(interval(kind, **columns)) == f"95% CI: {said}."


def test_several_kinds_of_intervals_are_all_named():
    frame = pd.concat([interval("delong"), interval("obuchowski")])
    assert notes.interval_note(frame) == "95% CI: DeLong or Obuchowski."


def test_levels_that_differ_are_said_and_adjusted_ones_are_short():
    frame = interval("t").assign(conf_level=[0.95, 0.99])
    assert notes.ci_text(frame) == "CI"
    assert notes.interval_note(frame).startswith("CI levels: 95% and 99%.")
    assert notes.ci_text(interval("t", conf_level=1 - 0.05 / 24)) == "99.79% CI"
    assert notes.ci_text(interval("t", conf_level=0.999)) == "99.9% CI"


def test_abbreviations_are_whole_words_only():
    assert notes.abbreviation_note(["SDX, IoUs"]) == ""
    assert notes.abbreviation_note(["Insertion AUC"]) == "Insertion AUC, area under the insertion curve."
    assert (
        notes.abbreviation_note(["IoU (95% CI)"]) == "CI, confidence interval; IoU, intersection over union."
    )


def test_a_constant_column_without_values_is_not_said():
    frame = pd.DataFrame({"reader": [None, None], "dataset": ["d", "d"]})
    assert notes.constant_note(frame, ["reader", "dataset"], Labels()) == "Dataset: d."


def test_readers_who_are_fixed_are_said_once():
    assert INFERENCE[THESE_READERS] not in notes.interval_note(interval("t"))
    of_some = interval("t").assign(inference_to=["these readers", None])
    assert notes.interval_note(of_some).count(INFERENCE[THESE_READERS]) == 1
    of_all = interval("t").assign(inference_to="readers and cases")
    assert notes.interval_note(of_all).endswith("Intervals speak of readers and cases in general.")


def test_limits_of_a_family_hold_together_and_its_level_is_that_of_the_test():
    family = {"family_level": 0.95, "p_value": 0.001, "p_adjusted": 0.002, "procedure": "max-t", "n_tests": 9}
    frame = interval("wild", **family, test="wild", term="difference").assign(conf_level=0.9931)
    assert notes.ci_text(frame) == "simultaneous 95% CI"
    assert notes.interval_note(frame) == (
        "Simultaneous 95% CI: wild cluster bootstrap. All of them hold together at 95%, singly at 99.31%."
    )
    assert notes.tested_note(frame, None).endswith("; adjusted (step-down max-t, 9 tests).")
    assert notes.significance(frame).endswith("significant at the 5% level")
    assert significance_rule(frame, "nature") == "interval excludes 0 and adjusted P < 0.05"


def test_every_test_of_the_rows_is_named():
    frame = pd.DataFrame({"p_value": [0.2, 0.01, 0.3, None], "test": ["score", "wild", "wild", "cr2"]})
    said = notes.source_of_p(frame.assign(n_replicates=4000))
    assert said.count("McNemar's score test") == 1
    assert said.endswith("or wild cluster bootstrap test, 4,000 replicates")
