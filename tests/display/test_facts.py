"""Facts of estimates, in full and briefly."""

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.facts import (
    clustering_sentence,
    count_sentence,
    interval_caption,
    interval_name,
    interval_note,
    p_value_sentence,
    p_value_text,
    pooled_tasks_sentence,
)
from salstats.display.plots.decrease import significance_rule
from salstats.display.tables import notes
from salstats.display.text.vocabulary import INFERENCE
from salstats.stats.engine.fixed_factors import THESE_READERS


def read(frame):
    """Estimates of a frame that may say nothing but counts or tests."""
    return read_estimates(frame, needed=())


def test_one_score_of_one_case_is_singular():
    frame = pd.DataFrame({"n": [1], "n_units": [1], "unit": ["case"], "n_missing": [0]})
    assert count_sentence(read(frame)) == "n, 1 score of 1 case; none undefined."
    assert count_sentence(read(frame), "case") == "n, 1 case; none undefined."


def test_averages_are_counted_apart():
    frame = pd.DataFrame({"task": ["a", "b", "Average"], "n": [10, 12, 22], "n_missing": [0, 3, 3]})
    assert count_sentence(read(frame)) == "n, 10 to 12 scores each (Average, 22); 0 to 3 undefined."


def test_a_mean_of_no_score_does_not_count_in_the_range_of_n():
    frame = pd.DataFrame({"method": ["a", "b", "human"], "n": [18, 17, 0], "n_missing": [0, 1, 18]})
    assert count_sentence(read(frame)) == "n, 17 to 18 scores each, where any is defined; 0 to 18 undefined."


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
    assert interval_note(read(interval(kind, **columns))) == f"95% CI: {said}."


def test_several_kinds_of_intervals_are_all_named():
    frame = pd.concat([interval("delong"), interval("obuchowski")])
    assert interval_note(read(frame)) == "95% CI: DeLong or Obuchowski."


def test_levels_that_differ_are_said_and_adjusted_ones_are_short():
    frame = interval("t").assign(conf_level=[0.95, 0.99])
    assert interval_name(read(frame)) == "CI"
    assert interval_note(read(frame)).startswith("CI levels: 95% and 99%.")
    assert interval_name(read(interval("t", conf_level=1 - 0.05 / 24))) == "99.79% CI"
    assert interval_name(read(interval("t", conf_level=0.999))) == "99.9% CI"


def test_readers_who_are_fixed_are_said_once():
    assert INFERENCE[THESE_READERS] not in interval_note(read(interval("t")))
    of_some = interval("t").assign(inference_to=["these readers", None])
    assert interval_note(read(of_some)).count(INFERENCE[THESE_READERS]) == 1
    of_all = interval("t").assign(inference_to="readers and cases")
    assert interval_note(read(of_all)).endswith("Intervals speak of readers and cases in general.")


def test_limits_of_a_family_hold_together_and_its_level_is_that_of_the_test():
    family = {"family_level": 0.95, "p_value": 0.001, "p_adjusted": 0.002, "procedure": "max-t", "n_tests": 9}
    frame = interval("wild", **family, test="wild", term="difference").assign(conf_level=0.9931)
    assert interval_name(read(frame)) == "simultaneous 95% CI"
    assert interval_note(read(frame)) == (
        "Simultaneous 95% CI: wild cluster bootstrap. All of them hold together at 95%, singly at 99.31%."
    )
    assert p_value_sentence(read(frame)).endswith("; adjusted (step-down max-t, 9 tests).")
    assert notes.significance(read(frame)).endswith("significant at the 5% level")
    assert significance_rule(read(frame), "nature") == "interval excludes 0 and adjusted P < 0.05"


def test_every_test_of_the_rows_is_named():
    frame = pd.DataFrame({"p_value": [0.2, 0.01, 0.3, None], "test": ["score", "wild", "wild", "cr2"]})
    said = p_value_text(read(frame.assign(n_replicates=4000)))
    assert said.count("McNemar's score test") == 1
    assert said.endswith("or wild cluster bootstrap test, 4,000 replicates")


def test_a_caption_and_a_note_count_and_warn_alike():
    frame = interval(
        "percentile", unit="patient", n=20, n_units=9, n_missing=[0, 3], inference_to="these readers"
    )
    for text in (interval_caption(read(frame)), interval_note(read(frame))):
        assert INFERENCE[THESE_READERS] in text
    alone = frame.assign(conf_low=None, conf_high=None)
    assert interval_caption(read(alone)) == interval_note(read(alone)) == "No confidence intervals."


def test_it_is_said_whether_a_correlation_knows_its_patients():
    frame = interval("cr2", unit="patient", n=20, n_units=9)
    assert clustering_sentence(read(frame)) == "Limits and P values are clustered by patient."
    of_pairs = clustering_sentence(read(frame.assign(interval="bonett-wright")))
    assert of_pairs == "Pairs of one patient are taken as independent."
    assert clustering_sentence(read(frame.assign(n_units=20))) == ""


@given(
    n=st.lists(st.integers(0, 3000), min_size=1, max_size=6),
    average=st.none() | st.integers(1, 9000),
    missing=st.integers(0, 40),
)
def test_every_number_of_a_count_is_one_of_its_frame(n, average, missing):
    tasks = [f"task {letter}" for letter in "abcdef"[: len(n)]]
    rows = pd.DataFrame({"task": tasks, "n": n, "n_missing": missing})
    if average is not None:
        rows.loc[len(rows)] = {"task": "Average", "n": average, "n_missing": missing}
    said = [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", count_sentence(read(rows)))]
    counted = [number for number in n if number] or n
    expected = sorted({min(counted), max(counted)})
    if average is not None:
        expected.append(average)
    if missing:
        expected.append(missing)
    assert said == expected


def test_ranks_and_pairwise_tests_that_pool_tasks_say_so():
    scores = ss.datasets.load_simulated()
    by_task = ["metric", "task"]
    pooled = "All tasks of the scores are taken together."
    ranks = ss.rank_stability(scores, n_replicates=40)
    significance = ss.significance_map(scores, test="t")
    for frame in (ranks, significance, ss.rank_limits(significance)):
        assert pooled_tasks_sentence(read_estimates(frame)) == pooled
    ranks_by_task = ss.rank_stability(scores, by=by_task, n_replicates=40)
    significance_by_task = ss.significance_map(scores, test="t", by=by_task)
    means = ss.summarize(scores, n_replicates=40)
    for frame in (ranks_by_task, significance_by_task, means, means.drop(columns="task")):
        assert pooled_tasks_sentence(read_estimates(frame)) == ""
    # figures and tables say it
    assert pooled in " ".join(ss.plot_ranks(ranks).labels.caption.split())
    assert pooled in " ".join(ss.plot_significance(significance).labels.caption.split())
    assert pooled in " ".join(ss.table_estimates(ranks).as_raw_html().split())
    assert pooled not in " ".join(ss.plot_ranks(ranks_by_task).labels.caption.split())
