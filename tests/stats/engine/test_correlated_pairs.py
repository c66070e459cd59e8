"""Pairs of two variables: what every coefficient needs, and when it is undefined."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import raises, warns

from salstats.errors import ColumnError, SalstatsWarning, ValueRangeError
from salstats.stats.correlation import correlate
from salstats.stats.engine.correlated_pairs import CorrelatedPairs, check_rm_has_repeats, checked_covariates
from salstats.stats.engine.resampling_units import Units

RELATED = Path(__file__).parents[2] / "reference" / "correlation"


@pytest.fixture(scope="module")
def related() -> pd.DataFrame:
    """The pairs of tests/reference/correlation, with two covariates and units."""
    return pd.read_csv(RELATED / "pairs.csv")


@pytest.mark.parametrize(
    "options",
    [
        {"test": "rm"},
        {"test": "percbend"},
        {"test": "bicor"},
        {"test": "pearson", "covariates": "age"},
        {"test": "spearman", "covariates": ["age", "size"], "covariates_of": "x"},
    ],
)
def test_a_unit_that_stands_twice_says_nothing_new(related, options):
    """Clustered limits of 40 units are those of the same with every row twice; Fisher's shrink."""
    once = related[related["set"] == "large"].drop(columns="set")
    twice = pd.concat([once, once], ignore_index=True)
    rows = [correlate(table, "x", "y", unit="unit", **options).loc[0] for table in (once, twice)]
    # medians and quantiles of twice as many values lie between others, and a partial floor of n is lower
    np.testing.assert_allclose(rows[1]["estimate"], rows[0]["estimate"], atol=0.01)
    np.testing.assert_allclose(rows[1]["conf_low"], rows[0]["conf_low"], atol=0.03)
    np.testing.assert_allclose(rows[1]["conf_high"], rows[0]["conf_high"], atol=0.03)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        alone = [
            correlate(table, "x", "y", unit="unit", interval="fisher", **options).loc[0]
            for table in (once, twice)
        ]
    width = [row["conf_high"] - row["conf_low"] for row in alone]
    assert width[1] < 0.75 * width[0]


@pytest.mark.parametrize(
    ("change", "options", "column_at_fault"),
    [
        ({"x": lambda t: t["unit"] * 0.1}, {"test": "rm"}, "x"),
        # four fifths of the values are equal
        ({"x": lambda t: (np.arange(len(t)) == 3) * 1.0}, {"test": "percbend"}, "x"),
        # half of the values are equal
        ({"y": lambda t: (np.arange(len(t)) % 3 == 0) * 1.0}, {"test": "bicor"}, "y"),
        # neither of two collinear covariates is the one at fault
        ({"size": lambda t: 2 * t["age"] - 1}, {"covariates": ["age", "size"], "test": "pearson"}, None),
        ({"size": lambda t: 4.0}, {"covariates": "size"}, "size"),
        ({"x": lambda t: 1e-9 * t["age"]}, {"covariates": "age", "test": "pearson"}, "x"),
    ],
)
def test_what_pingouin_gives_a_meaningless_number_for_is_undefined(related, change, options, column_at_fault):
    rows = related[related["set"] == "medium"].drop(columns="set").assign(**change)
    with warns(column="estimate", rows=(0,), value=[column_at_fault]):
        row = correlate(rows, "x", "y", unit="unit", **options).loc[0]
    assert row[["estimate", "p_value", "conf_low", "conf_high"]].isna().all()


@pytest.mark.parametrize("options", [{}, {"test": "rm"}, {"covariates": "age"}])
def test_too_few_pairs_are_counted_and_no_column_is_at_fault(related, options):
    rows = related[related["set"] == "medium"].drop(columns="set").iloc[:2].assign(unit="one")
    with warns(column="estimate", rows=(0,), value=[None], match=r"\b2\b"):
        row = correlate(rows, "x", "y", unit="unit", **options).loc[0]
    assert np.isnan(row["estimate"])
    assert row["n"] == 2


def test_what_new_coefficients_need_is_said(related):
    table = related.drop(columns="set")
    with raises(ColumnError, option="test", value="rm", hint="name unit"):
        correlate(table.drop(columns="unit"), "x", "y", test="rm")
    with raises(ValueRangeError, option="test", value="rm", column="case"):
        correlate(table.assign(case=range(len(table))), "x", "y", test="rm", unit="case")
    with raises(ValueRangeError, option="test", value="rm", choices=("spearman", "pearson")):
        correlate(table, "x", "y", test="rm", unit="unit", covariates="age")
    with raises(ColumnError, option="covariates", column="x"):
        correlate(table, "x", "y", covariates=["age", "x"])
    with raises(ValueRangeError, option="covariates_of", value="x"):
        correlate(table, "x", "y", covariates_of="x")
    with raises(ColumnError, column="agee"):
        correlate(table, "x", "y", covariates="agee")
    with raises(
        ValueRangeError,
        option="interval",
        value="bonett-wright",
        choices=("recommended", "fisher", "cr2"),
    ):
        correlate(table, "x", "y", test="bicor", interval="bonett-wright")


def pairs_of(test, n=12, covariate_names=(), covariates_of="both"):
    """Pairs of random numbers, of units with 1, 2 and 3 rows by turns; the first x is missing."""
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2, n))
    x[0] = np.nan
    return CorrelatedPairs(
        test=test,
        x_name="x",
        y_name="y",
        covariate_names=covariate_names,
        covariates_of=covariates_of,
        x=x,
        y=y,
        covariates=rng.normal(size=(n, len(covariate_names))),
        units=np.repeat(np.arange(6), [1, 2, 3, 1, 2, 3]),
    )


def test_rows_with_a_missing_value_are_not_complete():
    assert pairs_of("pearson").is_complete_row.tolist() == [False] + [True] * 11
    with_covariate = pairs_of("pearson", covariate_names=("age",))
    with_covariate.covariates[4] = np.nan
    assert np.flatnonzero(~with_covariate.is_complete_row).tolist() == [0, 4]


def test_only_units_with_several_rows_speak_of_a_correlation_within():
    rows = np.arange(12)
    assert pairs_of("pearson").rows_of_repeated_units_if_repeated_measures(rows).tolist() == rows.tolist()
    repeated_rows = pairs_of("rm").rows_of_repeated_units_if_repeated_measures(rows)
    assert repeated_rows.tolist() == [1, 2, 3, 4, 5, 7, 8, 9, 10, 11]


def test_covariates_and_units_take_degrees_of_freedom():
    rows = np.arange(1, 12)
    assert pairs_of("spearman").n_simple_pairs_of_equal_degrees_of_freedom(rows) == 11
    assert (
        pairs_of("spearman", covariate_names=("age", "size")).n_simple_pairs_of_equal_degrees_of_freedom(rows)
        == 9
    )
    # 10 rows of 4 units
    repeated_rows = pairs_of("rm").rows_of_repeated_units_if_repeated_measures(rows)
    assert pairs_of("rm").n_simple_pairs_of_equal_degrees_of_freedom(repeated_rows) == 7


@pytest.mark.parametrize("test", ["spearman", "pearson", "kendall", "rm", "percbend", "bicor"])
def test_every_coefficient_has_influences_that_sum_to_0(test):
    pairs = pairs_of(test)
    rows = pairs.rows_of_repeated_units_if_repeated_measures(np.flatnonzero(pairs.is_complete_row))
    assert abs(pairs.coefficient(rows).estimate) < 1
    influences = pairs.row_influences(rows)
    assert influences.shape == (len(rows),)
    assert abs(influences.sum()) < 1e-9
    assert np.abs(influences).max() > 0.1


def test_a_partial_correlation_is_that_of_residuals():
    pairs = pairs_of("pearson", covariate_names=("age",))
    rows = np.arange(1, 12)
    design = np.column_stack([np.ones(11), pairs.covariates[rows]])
    residuals = [v - design @ np.linalg.lstsq(design, v)[0] for v in (pairs.x[rows], pairs.y[rows])]
    result = pairs.coefficient(rows)
    assert result.estimate == pytest.approx(stats.pearsonr(*residuals).statistic, rel=1e-10)
    assert result.df == 8
    assert pairs.row_influences(rows).sum() == pytest.approx(0, abs=1e-10)


def test_too_few_pairs_have_a_reason_and_no_correlation():
    pairs = pairs_of("pearson", covariate_names=("age",))
    assert pairs.undefined_reason_and_column(np.array([1, 2, 3])) == (
        "3 complete pairs and 1 covariates",
        None,
    )
    assert np.isnan(pairs.coefficient(np.array([1, 2, 3]))).all()


def test_covariates_are_a_tuple_of_other_columns():
    assert checked_covariates("pearson", "x", "y", None, "both") == ()
    assert checked_covariates("pearson", "x", "y", "age", "x") == ("age",)
    with raises(ColumnError, option="covariates", column="age"):
        checked_covariates("pearson", "x", "y", ["age", "age"], "both")


def test_a_correlation_within_needs_two_pairs_of_a_unit():
    units = Units("patient", np.array([0, 0, 1]), 2)
    check_rm_has_repeats("rm", units, np.array([True, True, True]))
    with raises(ValueRangeError, option="test", value="rm", column="patient"):
        check_rm_has_repeats("rm", units, np.array([True, False, True]))


def test_a_partial_correlation_is_that_of_the_residuals_with_fewer_degrees_of_freedom():
    rng = np.random.default_rng(2)
    x, y, age = rng.normal(size=(3, 30)) + rng.normal(size=30)
    options = {"test": "pearson", "interval": "fisher"}
    table = pd.DataFrame({"x": x, "y": y, "age": age})
    got = correlate(table, "x", "y", covariates="age", **options).iloc[0]
    residuals = [values - np.polyval(np.polyfit(age, values, 1), age) for values in (x, y)]
    r = np.corrcoef(*residuals)[0, 1]
    assert got["estimate"] == pytest.approx(r)
    statistic = r * np.sqrt(27 / (1 - r**2))
    assert got["p_value"] == pytest.approx(2 * stats.t.sf(abs(statistic), 27))
    plain = correlate(table, "x", "y", **options).iloc[0]
    assert plain["estimate"] == pytest.approx(np.corrcoef(x, y)[0, 1])
