"""adjust() against R's p.adjust, and its family, limits and messages."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, SalstatsWarning, ValueRangeError
from salstats.stats.adjust import adjust, adjust_p_values

# R wrote 15 to 17 digits; products and running extremes of doubles lose at most a few units in the last
R_DIGITS = 1e-12
# limits go through a quantile and back
QUANTILE = 1e-12

P_ADJUST_SETS = ("lm_multi", "small5", "ties", "with_na", "one", "big", "tiny", "zero_one")


@pytest.fixture(scope="module")
def oracle(r_expected):
    table = r_expected("p_adjust")
    assert set(table["set"]) == set(P_ADJUST_SETS)
    return table


@pytest.mark.parametrize("name", P_ADJUST_SETS)
@pytest.mark.parametrize("procedure", ["bonferroni", "holm", "hochberg", "hommel", "BH", "BY", "none"])
def test_every_procedure_of_p_adjust_is_matched(oracle, name, procedure):
    family = oracle[oracle["set"] == name]
    result = adjust_p_values(family["p"].to_numpy(), procedure)
    np.testing.assert_allclose(result, family[procedure], rtol=R_DIGITS, atol=0)


@pytest.mark.parametrize("name", P_ADJUST_SETS)
def test_a_family_larger_than_shown_is_matched(oracle, name):
    family = oracle[oracle["set"] == name]
    size = max(20, int(family["p"].notna().sum()))
    result = adjust_p_values(family["p"].to_numpy(), "BH", size)
    np.testing.assert_allclose(result, family["BH_n20"], rtol=R_DIGITS, atol=0)


def test_case_of_the_procedure_does_not_matter():
    table = pd.DataFrame({"p_value": [0.01, 0.04]})
    for spelled in ("Bonferroni", "HOLM", "bh", "By", "FDR"):
        assert adjust(table, procedure=spelled)["p_adjusted"].notna().all()


def test_intercepts_are_not_part_of_the_family():
    table = pd.DataFrame(
        {"term": ["(Intercept)", "size", "(Intercept)", "shape"], "p_value": [0.5, 0.01, 0.2, 0.02]}
    )
    result = adjust(table)
    np.testing.assert_allclose(result["p_adjusted"], [np.nan, 0.02, np.nan, 0.04])
    assert result["n_tests"].tolist() == [2, 2, 2, 2]


def test_p_adjusted_stands_after_p_value_and_replaces_an_old_one():
    table = pd.DataFrame({"p_adjusted": [9.0], "n_tests": [9], "p_value": [0.01], "n": [5]})
    result = adjust(table, n_tests=3)
    assert result.columns.tolist() == ["p_value", "p_adjusted", "n", "n_tests", "procedure"]
    assert result["p_adjusted"].tolist() == [0.03]
    assert result["n_tests"].tolist() == [3]
    assert table.columns.tolist() == ["p_adjusted", "n_tests", "p_value", "n"]


def test_each_group_of_within_is_a_family():
    table = pd.DataFrame({"metric": ["iou", "hit", "iou"], "p_value": [0.01, 0.02, 0.03]})
    result = adjust(table, within="metric")
    np.testing.assert_allclose(result["p_adjusted"], [0.02, 0.02, 0.06])
    assert result["n_tests"].tolist() == [2, 1, 2]


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


@pytest.mark.parametrize("interval", ["percentile", "bca", "profile"])
def test_limits_that_cannot_be_widened_are_refused_by_name(interval):
    with raises(SalstatsError, option="intervals", value=True, match=rf"'{interval}'.*level=0\.975"):
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
    hint = f"pass level=0.99875 (1 - 0.05 / 40 tests){more} to the function that made them"
    with raises(SalstatsError, option="intervals", hint=hint):
        adjust(table, intervals=True, n_tests=40)


def test_an_exact_p_value_has_no_floor_and_no_monte_carlo_error():
    """Seven units, 64 patterns of signs that are all listed: 0.5 / 64 is a P value and no bound."""
    frame = pd.DataFrame(
        {"p_value": [0.5 / 64, 0.2], "p_floor": np.nan, "test": "wild", "n_replicates": 10_000}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for near in (0.5 / 64, 0.0249):
            adjusted = adjust(frame.assign(p_value=[near, 0.2]))
            assert "p_adjusted_floor" not in adjusted.columns


def test_a_family_of_one_needs_no_wider_limits():
    table = table_with_limits("percentile")[:2]
    result = adjust(table, intervals=True)
    assert result["n_tests"].tolist() == [1, 1]
    pd.testing.assert_frame_equal(
        result[["conf_low", "conf_high"]], table[["conf_low", "conf_high"]], check_exact=True
    )
    np.testing.assert_allclose(result["conf_level"], 0.95, rtol=QUANTILE)


def test_limits_that_only_call_themselves_symmetric_are_refused():
    table = table_with_limits()
    table["conf_high"] += 0.1
    with raises(SalstatsError, option="intervals", rows=(0,), match="std_error"):
        adjust(table, intervals=True)


@pytest.mark.parametrize("column", ["estimate", "conf_low", "conf_level", "std_error"])
def test_a_column_the_limits_need_is_named(column):
    with raises(ColumnError, column=column):
        adjust(table_with_limits().drop(columns=column), intervals=True)


@pytest.mark.parametrize(("procedure", "enough"), [("bonferroni", 400), ("BH", 400), ("BY", 1171)])
def test_too_few_replicates_for_the_family_warn_with_how_many_would_do(procedure, enough):
    """10 tests: 10 * 2 / (B + 1) < 0.05 from B = 400; BY takes 1 + ... + 1/10 = 2.929 times as many."""
    table = pd.DataFrame({"p_value": np.full(10, 0.1), "n_replicates": 299})
    with pytest.warns(
        SalstatsWarning, match=f"possible is 0.00667, .* {enough:,} replicates or more would do"
    ):
        adjust(table, procedure=procedure)
    with pytest.warns(SalstatsWarning, match=f"below 0.05 after (?i:{procedure}).*; {enough:,} replicates"):
        adjust(table.assign(n_replicates=enough - 1), procedure=procedure)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjust(table.assign(n_replicates=enough), procedure=procedure)
        adjust(table, procedure="none")


@pytest.mark.parametrize(
    ("columns", "enough"),
    [
        # 10 / (B + 1) < 0.05
        ({"test": "signflip"}, 200),
        # 10 * 0.5 / (B + 1) < 0.05
        ({"test": "wild"}, 100),
        # 10 * 2 / (B + 1) < 0.1
        ({"test": "bootstrap", "conf_level": 0.9}, 200),
        # 10 * 2 / (B + 1) < 0.01
        ({"conf_level": 0.99}, 2000),
        # 10 / (B + 1) < 0.1
        ({"test": "signflip", "conf_level": 0.9}, 100),
    ],
)
def test_how_many_replicates_would_do_depends_on_the_test_and_the_level(columns, enough):
    table = pd.DataFrame({"p_value": np.full(10, 0.1), "n_replicates": enough - 1, **columns})
    with pytest.warns(SalstatsWarning, match=f"; {enough:,} replicates or more would do"):
        adjust(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjust(table.assign(n_replicates=enough))
        # no replicates behind the p-value, whatever the column says
        adjust(table.assign(test="t", n_replicates=9))


def test_an_adjusted_p_value_near_the_level_says_that_the_seed_decides():
    # counts of 1 and 30 of 1000 replicates: 10 tests, level .05
    p = np.array([2 * 2 / 1001, 2 * 31 / 1001] + [0.9] * 8)
    frame = pd.DataFrame({"p_value": p, "test": "bootstrap", "n_replicates": 1000})
    with pytest.warns(
        SalstatsWarning, match=r"1 adjusted p-values lie within Monte-Carlo error.*10,000 would"
    ):
        adjust(frame)
    # the smallest p-value possible is on the safe side already, and one far off is decided
    settled = frame.assign(p_value=[2 / 1001, *p[1:]])
    with pytest.warns(SalstatsWarning, match="1 adjusted p-values are at the floor"):
        adjusted = adjust(settled)
    assert adjusted["p_adjusted"].iloc[0] < 0.05
    # the same share of many more replicates is decided too
    more = frame.assign(p_value=[4e-3, *p[1:]], n_replicates=100_000)
    assert adjust(more)["p_adjusted"].iloc[0] < 0.05


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    ("procedure", "bounds"),
    [
        # 4 tests of 1000 replicates: two at the floor, one above it, one large
        ("bonferroni", [True, True, False, False]),
        # the running maximum gives the third the bound of the others: 4 * 2 / 1001 against 2 * 3 / 1001
        ("holm", [True, True, True, False]),
        # p(2) * 4 / 2 of the two at the floor, p(3) * 4 / 3 of the third
        ("BH", [True, True, False, False]),
    ],
)
def test_an_adjusted_p_value_that_hangs_on_a_floor_is_a_bound(procedure, bounds):
    p = np.array([2, 2, 3, 800]) / 1001
    frame = pd.DataFrame({"p_value": p, "p_floor": 2 / 1001, "test": "bootstrap", "n_replicates": 1000})
    result = adjust(frame, procedure=procedure)
    assert result["p_adjusted_floor"].notna().tolist() == bounds
    assert result["p_adjusted"][bounds].eq(result["p_adjusted_floor"][bounds]).all()
    # of a test without replicates nothing is a bound, and a second adjustment starts anew
    assert "p_adjusted_floor" not in adjust(frame.drop(columns="p_floor").assign(test="t")).columns
    again = adjust(result, procedure=procedure)
    pd.testing.assert_frame_equal(again, result)


def with_verdicts(p_values, **columns):
    verdicts = ["lower", "higher", "lower", "inconclusive"]
    return pd.DataFrame({"p_value": p_values, "conf_level": 0.95, "verdict": verdicts, **columns})


def test_a_verdict_does_not_contradict_the_adjusted_p_value():
    """Four tests: 0.04, 0.06, NaN and 0.004 after Bonferroni; at 90 % the second stands too."""
    table = with_verdicts([0.01, 0.015, np.nan, 0.001])
    before = table.copy()
    result = adjust(table, n_tests=4)
    assert result["verdict"].tolist() == ["lower", *["inconclusive"] * 3]
    pd.testing.assert_frame_equal(table, before)
    at_90 = adjust(table.assign(conf_level=0.9), n_tests=4)
    assert at_90["verdict"].tolist() == ["lower", "higher", "inconclusive", "inconclusive"]
    without = adjust(table.drop(columns="conf_level"), n_tests=4)
    assert without["verdict"].tolist() == result["verdict"].tolist()
    other = adjust(table.assign(verdict="guilty"), n_tests=4)
    assert other["verdict"].tolist() == ["guilty"] * 4


def test_a_verdict_does_not_contradict_the_widened_limits():
    """A t interval beside p-values of another test: 1 ± 2 * 0.45 widened for two tests holds 0."""
    estimate, std_error = np.array([1.0, 3.0]), np.array([0.45, 0.45])
    half = stats.norm.ppf(0.975) * std_error
    table = pd.DataFrame(
        {
            "estimate": estimate,
            "std_error": std_error,
            "p_value": 0.001,
            "conf_low": estimate - half,
            "conf_high": estimate + half,
            "conf_level": 0.95,
            "interval": "normal",
            "verdict": "higher",
        }
    )
    assert stats.norm.ppf(1 - 0.025 / 2) * 0.45 > 1 > half[0]
    assert adjust(table, intervals=True)["verdict"].tolist() == ["inconclusive", "higher"]
    assert adjust(table)["verdict"].tolist() == ["higher", "higher"]


def test_bad_input_is_named():
    table = pd.DataFrame({"term": ["a", "b"], "p_value": [0.01, 0.5]})
    with raises(ValueRangeError, column="p_value", rows=(1,)):
        adjust(table.assign(p_value=[0.5, 1.5]))
    with raises(ValueRangeError, option="n_tests", value=1, match="family of 2"):
        adjust(table, n_tests=1)


def test_a_bound_says_what_would_lower_it():
    """300 tests at the floor of 10,000 flips: 300 * 0.5 / 10,001 = 0.015; 15 times as many would do."""
    least = 0.5 / 10_001
    frame = pd.DataFrame({"p_value": np.full(300, least), "p_floor": least, "n_replicates": 10_000})
    with pytest.warns(
        SalstatsWarning, match="P < 0.015, .* about 150,000 replicates or a joint adjustment .*max-t.* would"
    ):
        adjust(frame.assign(test="wild"))
    with pytest.warns(SalstatsWarning, match="about 150,000 replicates would take it below 0.001"):
        adjust(frame)


@pytest.mark.parametrize("pooled", ["Average", "Overall"])
@pytest.mark.parametrize("procedure", ["bonferroni", "holm", "BH"])
def test_rows_over_others_are_a_family_of_their_own(procedure, pooled):
    """An average asks once more what its members ask, and makes none of them less certain."""
    tasks = pd.DataFrame(
        {"metric": "iou", "task": ["a", "b", "c"], "method": "cam", "p_value": [0.01, 0.02, 0.3]}
    )
    over = pd.DataFrame({"metric": ["iou"], "task": pooled, "method": "cam", "p_value": [0.02]})
    both = adjust(pd.concat([tasks, over], ignore_index=True), procedure=procedure)
    assert both["n_tests"].tolist() == [3, 3, 3, 1]
    alone = adjust(tasks, procedure=procedure)["p_adjusted"]
    np.testing.assert_allclose(both["p_adjusted"], [*alone, 0.02])
    # of averages alone all are one family, and a method of that name is none
    assert adjust(over, procedure=procedure)["n_tests"].tolist() == [1]
    named = adjust(tasks.assign(method=[pooled, "x", "y"], task="a"), procedure=procedure)
    assert named["n_tests"].tolist() == [3, 3, 3]
