"""Bonferroni limits against those made at the level of the family."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, Setting
from salstats.stats.adjust import adjust

# limits go through a quantile and back
QUANTILE = 1e-12


def table_with_limits(interval="t", df=10.0):
    estimate, std_error = np.array([1.0, 2.0, -0.5]), np.array([0.2, 0.5, 0.3])
    quantile = stats.t.ppf(0.975, df) if np.isfinite(df) else stats.norm.ppf(0.975)
    return pd.DataFrame(
        {
            "term": ["(Intercept)", "size", "shape"],
            "estimate": estimate,
            "std_error": std_error,
            "df": df,
            "p_value": [0.001, 0.01, 0.2],
            "conf_low": estimate - quantile * std_error,
            "conf_high": estimate + quantile * std_error,
            "conf_level": 0.95,
            "interval": interval,
        }
    )


@pytest.mark.parametrize(("interval", "df"), [("t", 10.0), ("wald", np.nan), ("delta", np.nan)])
def test_bonferroni_limits_are_those_of_the_level_divided_by_the_family(interval, df):
    table = table_with_limits(interval, df)
    result = adjust(table, procedure="holm", intervals=True)
    # two tests beside the intercept: 97.5 % limits, so the 98.75 % quantile
    quantile = stats.t.ppf(0.9875, df) if np.isfinite(df) else stats.norm.ppf(0.9875)
    for row in (1, 2):
        half = quantile * table["std_error"][row]
        np.testing.assert_allclose(result["conf_low"][row], table["estimate"][row] - half, rtol=QUANTILE)
        np.testing.assert_allclose(result["conf_high"][row], table["estimate"][row] + half, rtol=QUANTILE)
    np.testing.assert_allclose(result["conf_level"], [0.95, 0.975, 0.975])
    assert result.loc[0, ["conf_low", "conf_high"]].equals(table.loc[0, ["conf_low", "conf_high"]])


def test_sidaks_limits_have_the_root_of_the_level():
    table = table_with_limits()
    result = adjust(table, procedure="sidak", intervals=True)
    level = np.sqrt(0.95)
    half = stats.t.ppf((1 + level) / 2, 10) * table["std_error"]
    np.testing.assert_allclose(result["conf_high"][1:], (table["estimate"] + half)[1:], rtol=QUANTILE)
    np.testing.assert_allclose(result["conf_level"], [0.95, level, level])


def test_limits_of_a_single_test_and_missing_ones_stay_as_they_are():
    limits = ["conf_low", "conf_high", "conf_level"]
    single = table_with_limits("percentile").iloc[:2]
    pd.testing.assert_frame_equal(adjust(single, intervals=True)[limits], single[limits])
    table = table_with_limits()
    table.loc[1, ["conf_low", "conf_high"]] = np.nan
    result = adjust(table, intervals=True)
    assert result.loc[1, ["conf_low", "conf_high"]].isna().all()
    assert result.loc[2, "conf_low"] < table.loc[2, "conf_low"]


@pytest.mark.parametrize("interval", ["percentile", "bca", "profile"])
def test_limits_that_cannot_be_widened_are_refused_by_name(interval):
    with raises(
        SalstatsError,
        option="intervals",
        value=True,
        column="interval",
        rows=(1,),
        hint=Setting("level", 0.975),
    ):
        adjust(table_with_limits(interval), intervals=True)


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    ("function", "given"),
    [
        *((ss.summarize, {"interval": one}) for one in ("wilson_t", "cr2", "t", "wilson", "exact", "normal")),
        (ss.difference, {"interval": "cr2", "reference": "human"}),
        (ss.percent_decrease, {"interval": "delta", "reference": "human"}),
        *((ss.correlate, {"interval": one}) for one in ("fisher", "bonett-wright")),
        *((ss.auroc, {"interval": one}) for one in ("logit", "delong", "obuchowski")),
    ],
)  # fmt: skip
def test_limits_are_those_that_the_function_makes_at_the_level_of_the_family(function, given):
    """Hits, where Wilson's and Clopper and Pearson's know too; a family of 40 tests."""
    scores = ss.datasets.load_simulated().query("metric == 'hit'")
    columns = {ss.correlate: ["hit", "prob"], ss.auroc: ["prob", "label"]}.get(function, [])
    single = function(scores, *columns, **given)
    widened = adjust(single.assign(p_value=0.01), intervals=True, n_tests=40)
    want = function(scores, *columns, level=1 - 0.05 / 40, **given)
    assert (widened["interval"] == given["interval"]).all()
    for column in ("conf_low", "conf_high", "conf_level"):
        np.testing.assert_allclose(widened[column], want[column], rtol=QUANTILE, atol=QUANTILE)


def test_limits_of_pooled_rates_are_widened_on_the_scale_of_log_odds():
    rng = np.random.default_rng(3)
    counts = {c: rng.integers(1, 50, 40) for c in ("tp", "fp", "fn", "tn")}
    scores = pd.DataFrame({"case": np.arange(40), "method": "m", "metric": "iou", "score": 0.5, **counts})
    single = ss.pooled_rates(scores, interval="delta").assign(p_value=0.01)
    want = ss.pooled_rates(scores, interval="delta", level=1 - 0.05 / 3)
    for column in ("conf_low", "conf_high"):
        np.testing.assert_allclose(adjust(single, intervals=True)[column], want[column], rtol=QUANTILE)


@pytest.mark.parametrize(
    ("interval", "n_replicates", "more"),
    [
        # 2 / 0.00125 for limits on two sides, half as many for flips that lie on both
        ("percentile", 999, " and n_replicates=1600 or more"),
        ("percentile", 1600, ""),
        ("wild", 499, " and n_replicates=800 or more"),
        ("wild", 800, ""),
        ("fieller", 40, ""),
    ],
)
def test_a_refusal_says_which_level_and_how_many_replicates_would_do(interval, n_replicates, more):
    table = table_with_limits(interval).assign(n_replicates=n_replicates, term="percent_decrease")
    hint = f"pass level=0.99875 (0.95 for all 40 together){more} to the function that made them"
    with raises(SalstatsError, option="intervals", hint=hint):
        adjust(table, intervals=True, n_tests=40)


def test_limits_that_only_call_themselves_symmetric_are_refused():
    table = table_with_limits()
    table["conf_high"] += 0.1
    with raises(SalstatsError, option="intervals", column="std_error", rows=(1,)):
        adjust(table, intervals=True)


@pytest.mark.parametrize("column", ["estimate", "conf_low", "conf_level", "std_error"])
def test_a_column_the_limits_need_is_named(column):
    with raises(ColumnError, column=column):
        adjust(table_with_limits().drop(columns=column), intervals=True)
