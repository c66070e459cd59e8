"""What is said of results that stand on little: few cases, limits at impossible values."""

import warnings

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.checks import SalstatsWarning
from salstats.display.plots import captions
from salstats.display.tables import notes
from salstats.stats.advice import beyond_range


@pytest.fixture
def six():
    """Hits of six images by two methods, the first with a rate of 5/6, the second with one of 1/3."""
    one = pd.DataFrame({"case": list("abcdef"), "method": "human", "metric": "hit"})
    parts = [one.assign(score=[1, 1, 1, 1, 0, 1]), one.assign(method="cam", score=[0, 0, 1, 0, 0, 1])]
    return pd.concat(parts, ignore_index=True)


def test_few_hits_are_sent_to_intervals_of_proportions_which_stay_inside(six):
    with pytest.warns(SalstatsWarning, match="interval='wilson' or 'exact' of 0/1 scores"):
        ss.summarize(six, interval="percentile", n_replicates=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for interval in ("wilson", "exact"):
            found = ss.summarize(six, interval=interval)
            assert found["conf_low"].ge(0).all()
            assert found["conf_high"].le(1).all()


@pytest.mark.parametrize(
    ("estimate", "advised"),
    [
        (lambda s: ss.difference(s, reference="human", interval="percentile", n_replicates=40), "t"),
        (
            lambda s: ss.percent_decrease(s, reference="human", interval="percentile", n_replicates=40),
            "fieller",
        ),
    ],
)
def test_few_pairs_are_sent_to_intervals_that_the_comparison_has(six, estimate, advised):
    with pytest.warns(SalstatsWarning, match="rest on 6 units") as said:
        estimate(six)
    texts = " ".join(str(w.message) for w in said)
    assert f"interval='{advised}'" in texts
    assert "wilson" not in texts


@pytest.mark.parametrize(
    ("estimate", "limit"),
    [
        (lambda s: ss.summarize(s, interval="t"), 1.262),
        (lambda s: ss.percent_decrease(s, reference="human", interval="fieller"), 131.9),
    ],
)
def test_limits_at_impossible_values_are_said_in_the_call_the_table_and_the_figure(six, estimate, limit):
    with pytest.warns(SalstatsWarning, match="impossible"):
        found = estimate(six)
    assert found["conf_high"].max() == pytest.approx(limit, rel=1e-3)
    assert "impossible" in notes.interval_note(found)
    assert "impossible" in captions.interval_note(found)


@pytest.mark.parametrize(
    ("metric", "term", "limits", "beyond"),
    [
        ("iou", "mean", (0.0, 1.0), False),
        ("iou", "mean", (-0.01, 0.5), True),
        ("hd95", "mean", (0.5, 1e6), False),
        ("own", "mean", (-5.0, 5.0), False),
        ("ncc", "difference", (-1.9, 0.5), False),
        ("iou", "difference", (-1.1, 0.5), True),
        ("iou", "percent_decrease", (-250.0, 100.0), False),
        ("ncc", "percent_decrease", (-250.0, 150.0), False),
        ("iou", "percent_decrease", (-float("inf"), float("inf")), False),
        ("iou", "rank", (1.0, 6.0), False),
    ],
)
def test_what_is_impossible_depends_on_the_metric_and_on_what_is_estimated(metric, term, limits, beyond):
    low, high = limits
    frame = pd.DataFrame({"metric": [metric], "term": term, "conf_low": low, "conf_high": high})
    assert beyond_range(frame).tolist() == [beyond]


@pytest.mark.parametrize("shift", [-0.5, -2.0])
def test_what_is_not_above_0_is_said_to_have_no_logarithm(shift):
    scores = pd.DataFrame({"case": range(30), "method": "cam", "metric": "ncc"})
    scores["score"] = np.linspace(-1, 1, 30) + shift
    with pytest.warns(SalstatsWarning, match="no logarithm") as said:
        found = ss.summarize(scores, interval="bootstrap_t_log", n_replicates=40)
    assert found["conf_low"].isna().all()
    assert not any("one unit" in str(w.message) for w in said)
