"""Partial and semi-partial correlations against R's ppcor and residuals by least squares."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import warns

from salstats.stats.correlation import correlate
from salstats.stats.engine.partial_correlation import partial_coefficient, residuals_on_covariates

# R's manifest promises 1e-9; sums over up to 1400 pairs are done in another order than in R
R_AGREES = 1e-9


RELATED = Path(__file__).parents[2] / "reference" / "correlation"


@pytest.fixture(scope="module")
def related() -> pd.DataFrame:
    """The pairs of tests/reference/correlation, with two covariates and units."""
    return pd.read_csv(RELATED / "pairs.csv")


def assert_rows_match(result, expected, columns=("estimate", "statistic", "df", "p_value")):
    for column in [c for c in (*columns, "conf_low", "conf_high") if c in expected]:
        np.testing.assert_allclose(result[column], expected[column], rtol=R_AGREES, err_msg=column)


@pytest.mark.parametrize("test", ["pearson", "spearman"])
@pytest.mark.parametrize("covariates", ["age", "age size"])
@pytest.mark.parametrize("of", ["both", "x", "y"])
def test_partial_and_semi_partial_correlations_are_those_of_ppcor(related, test, covariates, of):
    expected = pd.read_csv(RELATED / "partial.csv").query("test == @test and covariates == @covariates")
    expected = expected[expected["of"] == of].set_index("set").sort_index()
    result = correlate(
        related, "x", "y", by="set", test=test, covariates=covariates.split(), covariates_of=of,
        interval="fisher", unit=None,
    ).set_index("set")  # fmt: skip
    assert result.index.tolist() == expected.index.tolist()
    assert_rows_match(result, expected)
    assert set(result["covariates"]) == {covariates.replace(" ", ", ")}
    assert set(result["covariates_of"]) == {of}


def test_small_numbers_are_not_taken_for_equal_ones(related):
    rows = related[related["set"] == "medium"]
    small = rows.assign(x=rows["x"] * 1e-10, age=rows["age"] * 1e-10)
    found = [correlate(t, "x", "y", by=(), test="pearson", covariates="age").loc[0] for t in (rows, small)]
    np.testing.assert_allclose(found[1]["estimate"], found[0]["estimate"], rtol=R_AGREES)


@pytest.mark.parametrize(("covariates_of", "taken"), [("x", 0), ("y", 1)])
def test_a_semipartial_correlation_of_variables_that_add_up_is_that_of_residuals(covariates_of, taken):
    inside, outside = np.random.default_rng(1).integers(5, 60, (2, 60)).astype(float)
    table = pd.DataFrame({"inside": inside, "size": inside + outside, "outside": outside})
    design = np.column_stack([np.ones(60), outside])
    variables = [inside, inside + outside]
    variables[taken] = variables[taken] - design @ np.linalg.lstsq(design, variables[taken])[0]
    found = correlate(
        table, "inside", "size", test="pearson", covariates="outside", covariates_of=covariates_of
    )
    assert found["estimate"].item() == pytest.approx(np.corrcoef(variables)[0, 1], abs=1e-12)


def test_a_variable_that_the_covariate_determines_has_no_semipartial_correlation():
    c, y = np.random.default_rng(2).normal(size=(2, 40))
    table = pd.DataFrame({"x": 2 * c + 1, "y": y, "c": c})
    with warns(column="estimate", rows=(0,), value=["x"]):
        found = correlate(table, "x", "y", test="pearson", covariates="c", covariates_of="y")
    assert found["estimate"].isna().all()


@pytest.mark.parametrize(("covariates_of", "taken"), [("both", (0, 1)), ("x", (0,)), ("y", (1,))])
@pytest.mark.parametrize("ranks", [False, True])
def test_the_variables_named_are_replaced_by_their_residuals(covariates_of, taken, ranks):
    variables = np.random.default_rng(4).normal(size=(30, 4))
    regression = residuals_on_covariates(variables, ranks=ranks, covariates_of=covariates_of)
    values = stats.rankdata(variables, axis=0) if ranks else variables
    design = np.column_stack([np.ones(30), values[:, 2:]])
    correlated = values[:, :2].copy()
    for side in taken:
        correlated[:, side] -= design @ np.linalg.lstsq(design, correlated[:, side])[0]
    expected = stats.pearsonr(*correlated.T).statistic
    result = partial_coefficient(regression, df=26)
    assert result.estimate == pytest.approx(expected, rel=1e-10)
    assert result.df == 26
    assert regression.undefined_reason_and_column(("x", "y")) == ("", None)
    # residuals do not depend on the covariates
    assert np.abs(regression.residuals.T @ regression.standardized[:, 2:]).max() < 1e-9


def test_collinear_and_determining_covariates_are_reasons():
    rng = np.random.default_rng(5)
    x, y, age = rng.normal(size=(3, 20))
    collinear = residuals_on_covariates(
        np.column_stack([x, y, age, 2 * age]), ranks=False, covariates_of="both"
    )
    reason, column_at_fault = collinear.undefined_reason_and_column(("x", "y"))
    assert reason
    assert column_at_fault is None
    determined = residuals_on_covariates(
        np.column_stack([x, age + 1, age]), ranks=False, covariates_of="both"
    )
    assert determined.undefined_reason_and_column(("x", "y"))[1] == "y"
