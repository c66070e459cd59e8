"""Options of inference: levels that replicates reach, the agreeing test, and scores that must be 0 or 1."""

import numpy as np
import pytest
from tests_support import limits, raises

import salstats as ss
from salstats.errors import Setting, ValueRangeError
from salstats.stats.engine.inference_options import check_binary, checked_options


@pytest.mark.parametrize(
    ("interval", "level", "enough"),
    [("order", 0.95, 40), ("percentile", 0.95, 40), ("bca", 0.99, 200), ("percentile", 0.9999, 20_000)],
)
def test_a_level_that_replicates_do_not_reach_is_refused(sixty, interval, level, enough):
    """One replicate has to lie beyond each limit: 2 / (1 - level)."""
    with raises(
        ValueRangeError,
        option="n_replicates",
        value=enough - 1,
        hint=Setting("n_replicates", enough),
    ) as error:
        ss.summarize(sixty, interval=interval, level=level, n_replicates=enough - 1)
    assert Setting("interval", interval) in error.value.message.settings()
    if enough < 1000:
        limits(ss.summarize(sixty, interval=interval, level=level, n_replicates=enough))


def test_a_level_that_flips_do_not_reach_is_refused():
    """Flips lie on both sides at once: 1 / (1 - level); the normal interval takes no quantile."""
    scores = ss.datasets.load_simulated().query("metric == 'iou' and task == 'Edema'")
    with raises(ValueRangeError, option="n_replicates", value=99, hint="give n_replicates=100 or more"):
        ss.difference(scores, reference="human", level=0.99, n_replicates=99)
    found = ss.difference(scores, reference="human", level=0.99, n_replicates=100)
    assert np.isfinite(found[["conf_low", "conf_high"]]).all(axis=None)
    assert ss.summarize(scores, interval="normal", level=0.99, n_replicates=20)["conf_low"].notna().all()


@pytest.mark.parametrize(
    ("term", "interval", "test"),
    [
        ("difference", "percentile", "bootstrap"),
        ("difference", "wild", "wild"),
        ("difference", "tango", "score"),
        ("difference", "cr2", "cr2"),
        ("difference", "t", "t"),
    ],
)
def test_each_interval_has_the_test_that_agrees_with_it(term, interval, test):
    assert checked_options(term, interval, 0.95, 10_000, 0, None).agreeing_test_name == test


def test_options_take_the_number_of_replicates_from_the_draws():
    options = checked_options("mean", None, 0.95, 10_000, 0, np.zeros((70, 4), dtype=int))
    assert options.n_replicates == 70
    assert options.interval.name == "percentile"
    assert options.n_replicates_column_if_any() == {"n_replicates": 70}
    assert checked_options("mean", "t", 0.95, 10_000, 0, None).n_replicates_column_if_any() == {}


def test_options_can_have_the_same_interval_for_hits_as_for_other_scores():
    options = checked_options("difference", None, 0.95, 10_000, 0, None)
    assert options.interval.binary_defaults == ("tango",)
    assert options.without_binary_defaults().interval.binary_defaults == ()
    assert options.without_binary_defaults().interval.name == options.interval.name == "wild"


def test_scores_that_are_not_0_or_1_are_named():
    check_binary(np.array([0, 1, np.nan]), "test", "mcnemar")
    with raises(ValueRangeError, option="test", value="mcnemar", column="score", match="0.25"):
        check_binary(np.array([0, 1, 0.25]), "test", "mcnemar")
