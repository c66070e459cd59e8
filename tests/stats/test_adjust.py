"""adjust() against R's p.adjust, and its family, limits and messages."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises, warns

from salstats.errors import ColumnError, SalstatsError, ValueRangeError
from salstats.stats.adjust import (
    adjust,
    adjust_p_values,
    adjust_unless_none,
    adjusted_frame,
    checked_procedure,
    find_procedure,
)
from salstats.stats.engine.joint_adjustment import (
    NullDraws,
    single_step_min_p,
    step_down_max_t,
    step_down_min_p,
)

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


def test_a_missing_p_value_of_any_type_is_not_part_of_the_family():
    for p_values in ([0.01, None, 0.02], pd.array([0.01, None, 0.02], "Float64")):
        np.testing.assert_array_equal(adjust_p_values(p_values, "bonferroni"), [0.02, np.nan, 0.04])


def test_fdr_is_a_name_of_BH_as_in_R():
    p_values = np.array([0.01, 0.02, 0.02, 0.2])
    np.testing.assert_array_equal(adjust_p_values(p_values, "fdr"), adjust_p_values(p_values, "BH"))


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


def test_a_family_of_one_needs_no_wider_limits():
    table = table_with_limits("percentile")[:2]
    result = adjust(table, intervals=True)
    assert result["n_tests"].tolist() == [1, 1]
    pd.testing.assert_frame_equal(
        result[["conf_low", "conf_high"]], table[["conf_low", "conf_high"]], check_exact=True
    )
    np.testing.assert_allclose(result["conf_level"], 0.95, rtol=QUANTILE)


def test_sidaks_limits_hold_together_and_agree_with_its_p_values():
    table = table_with_limits()
    result = adjust(table, procedure="sidak", intervals=True)
    # two tests: 1 - (1 - p)^2, and limits at the level sqrt(0.95)
    np.testing.assert_allclose(result["p_adjusted"], [np.nan, 0.0199, 0.36], rtol=QUANTILE)
    np.testing.assert_allclose(result["conf_level"][1:], np.sqrt(0.95), rtol=QUANTILE)
    half_width = stats.t.ppf((1 + np.sqrt(0.95)) / 2, 10) * table["std_error"]
    np.testing.assert_allclose(result["conf_low"][1:], (table["estimate"] - half_width)[1:], rtol=QUANTILE)
    # small P values keep their digits, and a P value of 1 stays 1
    np.testing.assert_allclose(adjust_p_values(np.array([1e-20, 1]), "sidak"), [2e-20, 1], rtol=QUANTILE)


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
    with raises(ValueRangeError, option="n_tests", value=1, message="2"):
        adjust(table, n_tests=1)


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


def test_limits_without_a_procedure_or_their_columns_are_an_error():
    table = table_with_limits()
    with raises(SalstatsError, option="procedure", value="none"):
        adjust(table, procedure="none", intervals=True)
    with raises(ColumnError, column="conf_low"):
        adjust(table.drop(columns="conf_low"), intervals=True)


def test_procedure_none_leaves_a_result_as_it_is():
    table = table_with_limits()
    assert adjust_unless_none(table, "None") is table
    pd.testing.assert_frame_equal(adjust_unless_none(table, "holm"), adjust(table, procedure="holm"))


def test_a_procedure_is_found_in_any_case_and_needs_what_its_record_says():
    assert find_procedure("bh").name == checked_procedure("bh") == "BH"
    assert find_procedure(None) is None
    assert find_procedure("magic") is None
    assert checked_procedure("Max-T", has_draws=True) == "max-t"
    assert checked_procedure("Tukey", of_contrasts=True) == "tukey"
    with raises(SalstatsError, option="adjust", value="max-t"):
        checked_procedure("max-t", "adjust", of_contrasts=True)
    for options, more in (
        ({}, []),
        ({"has_draws": True}, ["max-t", "min-p", "single-step"]),
        ({"of_contrasts": True}, ["tukey", "mvt"]),
    ):
        plain = ["bonferroni", "sidak", "holm", "hochberg", "hommel", "BH", "BY", "fdr", "none"]
        with raises(ValueRangeError, option="adjust", value="magic") as raised:
            checked_procedure("magic", "adjust", **options)
        assert sorted(raised.value.choices) == sorted(plain + more)
    with raises(ValueRangeError, value="tukey"):
        checked_procedure("tukey", has_draws=True)


@pytest.fixture
def null_draws():
    """Draws of four rows, of which the second is far from the null hypothesis."""
    drawn = np.abs(np.random.default_rng(0).normal(size=(499, 4)))
    return NullDraws(np.array([2.2, 4.5, 1.0, 2.4]), drawn)


def test_joint_procedures_adjust_each_family_by_its_draws(null_draws):
    terms = ["(Intercept)", "a", "b", "c"]
    table = pd.DataFrame({"term": terms, "p_value": null_draws.p_values()})
    family = null_draws.select_rows(np.array([1, 2, 3]))
    p_values = table["p_value"].to_numpy()[1:]
    by_procedure = {
        "max-t": np.maximum(step_down_max_t(family), p_values),
        "min-p": np.clip(step_down_min_p(family), p_values, adjust_p_values(p_values, "holm")),
        "single-step": single_step_min_p(family, p_values),
    }
    for procedure, expected in by_procedure.items():
        result = adjusted_frame(table, procedure, null_draws=null_draws)
        np.testing.assert_allclose(result["p_adjusted"], [np.nan, *expected])
        assert result["n_tests"].eq(3).all()
        assert result["procedure"].eq(procedure).all()


def test_a_row_whose_own_p_value_is_larger_keeps_it_under_max_t(null_draws):
    p_values = np.array([0.9, 0.5, 0.95, 0.9])
    result = adjusted_frame(pd.DataFrame({"p_value": p_values}), "max-t", null_draws=null_draws)
    expected = np.maximum(step_down_max_t(null_draws), p_values)
    np.testing.assert_allclose(result["p_adjusted"], expected)


def test_adjusted_p_values_that_a_floor_bounds_are_marked(null_draws):
    """Bonferroni of four tests: 0.002 at its floor gives a bound of 0.008; 0.003 lies above its floor."""
    table = pd.DataFrame({"p_value": [0.002, 0.003, 0.4, 0.5], "p_floor": [0.002, 0.002, np.nan, 0.002]})
    result = adjust(table)
    np.testing.assert_allclose(result["p_adjusted"], [0.008, 0.012, 1, 1])
    np.testing.assert_allclose(result["p_adjusted_floor"], [0.008, np.nan, np.nan, np.nan])
    # of draws: no draw lies as far as the second row
    drawn = pd.DataFrame({"p_value": null_draws.p_values(), "p_floor": null_draws.p_floor})
    for procedure in ("max-t", "min-p", "single-step"):
        bounds = adjusted_frame(drawn, procedure, null_draws=null_draws)["p_adjusted_floor"]
        assert bounds.notna().tolist() == [False, True, False, False]
    no_floors = adjust(table.drop(columns="p_floor"))
    assert "p_adjusted_floor" not in no_floors.columns


def test_p_values_against_the_margin_are_a_family_and_decide_on_equivalence():
    claim = "equivalent"
    table = pd.DataFrame(
        {"p_value": [0.9, 0.8], "p_margin": [0.01, 0.03], "conf_level": 0.95, "verdict": claim}
    )
    result = adjust(table)
    assert result.columns.tolist()[:4] == ["p_value", "p_adjusted", "p_margin", "p_margin_adjusted"]
    np.testing.assert_allclose(result["p_margin_adjusted"], [0.02, 0.06])
    assert result["verdict"].tolist() == [claim, "inconclusive"]


def test_p_values_from_few_replicates_are_told():
    # the smallest P value of 99 replicates is 2 / 100
    table = pd.DataFrame({"p_value": [0.02, 0.5], "n_replicates": 99, "test": "bootstrap"})
    with warns(column="n_replicates", value=pytest.approx(0.02), rows=(0, 1)):
        few = adjust(table, n_tests=5)
    np.testing.assert_allclose(few["p_adjusted"], [0.1, 1])
    with warns(column="p_adjusted_floor", value=pytest.approx(0.04), rows=(0,)):
        bounds = adjust(table)
    np.testing.assert_allclose(bounds["p_adjusted_floor"], [0.04, np.nan])
    # within two Monte-Carlo errors of 0.05, and not at the floor
    with warns(option="n_replicates", column=None, rows=(1,)):
        near = adjust(table.iloc[::-1].assign(p_value=[0.5, 0.024]))
    assert near["p_adjusted_floor"].isna().all()


def test_draws_decide_on_the_precision_of_joint_p_values(null_draws):
    n_draws = len(null_draws.draws)
    table = pd.DataFrame({"p_value": null_draws.p_values(), "n_replicates": n_draws, "test": "bootstrap"})
    adjusted = step_down_max_t(null_draws)
    is_near = np.abs(adjusted - 0.05) < 2 * np.sqrt(0.05 * 0.95 / n_draws)
    assert is_near.tolist() == [True, False, False, True]
    with warns(option="n_replicates", column=None, rows=(0, 3)):
        found = adjusted_frame(table, "max-t", null_draws=null_draws)
    assert found["p_adjusted"].tolist() == adjusted.tolist()
