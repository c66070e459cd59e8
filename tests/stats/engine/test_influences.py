"""Influence functions of correlations: derivatives by the weight of a pair."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from salstats.stats.engine.influences import (
    influences_of_centred_pairs,
    pair_influences,
    partial_correlation_influences,
    row_influences_by_leaving_out_units,
)
from salstats.stats.engine.partial_correlation import residuals_on_covariates
from salstats.stats.engine.repeated_measures import deviations_from_unit_means
from salstats.stats.engine.robust_correlation import robust_correlation_coefficient

COEFFICIENTS = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}


@pytest.mark.parametrize("test", list(COEFFICIENTS))
@pytest.mark.parametrize("kind", ["continuous", "ties", "hits"])
def test_influence_is_the_change_by_one_more_pair(test: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    n = 24
    x = rng.normal(size=n)
    y = 0.6 * x + rng.normal(size=n)
    if kind == "ties":
        x, y = np.round(x), np.round(y)
    elif kind == "hits":
        y = (y > 0.8).astype(np.float64)
    found = pair_influences(x, y, test)

    def correlation(rows: np.ndarray) -> float:
        return float(COEFFICIENTS[test](x[rows], y[rows]).statistic)

    assert_allclose(found, change_by_weight(correlation, n), atol=2e-3)
    assert_allclose(found.sum(), 0, atol=1e-9)


def change_by_weight(correlation, n: int, times: int = 60) -> np.ndarray:
    """Derivative of a correlation of rows by the weight of each, shape (n,).

    A pair more and a pair less among many copies: the error falls with the square of their number.
    """
    every = np.tile(np.arange(n), times)
    moved = [
        (correlation(np.append(every, i)) - correlation(np.delete(every, i))) / 2 * len(every)
        for i in range(n)
    ]
    return np.array(moved)


@pytest.mark.parametrize("ranks", [True, False])
@pytest.mark.parametrize("covariates_of", ["both", "x", "y"])
@pytest.mark.parametrize("ties", [True, False])
def test_influence_on_a_partial_correlation_is_the_change_by_one_more_row(ranks, covariates_of, ties) -> None:
    rng = np.random.default_rng(9)
    variables = rng.normal(size=(20, 4)) @ rng.normal(size=(4, 4))
    if ties:
        variables = np.round(variables)

    def correlation(rows: np.ndarray) -> float:
        values = variables[rows]
        if ranks:
            values = stats.rankdata(values, axis=0)
        both, covariates = values[:, :2], np.column_stack([np.ones(len(rows)), values[:, 2:]])
        left = both - covariates @ np.linalg.lstsq(covariates, both, rcond=None)[0]
        x = left[:, 0] if covariates_of != "y" else both[:, 0]
        y = left[:, 1] if covariates_of != "x" else both[:, 1]
        return float(stats.pearsonr(x, y).statistic)

    found = partial_correlation_influences(
        residuals_on_covariates(variables, ranks=ranks, covariates_of=covariates_of)
    )
    assert_allclose(found, change_by_weight(correlation, len(variables)), atol=2e-3)
    assert_allclose(found.sum(), 0, atol=1e-9)


def test_influence_within_units_is_the_change_by_one_more_unit() -> None:
    rng = np.random.default_rng(10)
    units = np.repeat(np.arange(6), [2, 3, 5, 2, 4, 4])
    x = rng.normal(size=len(units)) + 3 * units
    y = 0.5 * x + rng.normal(size=len(units)) - 4 * units
    copies = 400

    def correlation(extra: int, times: int) -> float:
        # every unit is copied under a new name
        weights = np.full(6, copies)
        weights[extra] += times
        deviations = [
            np.column_stack([values[units == unit] - values[units == unit].mean() for values in (x, y)])
            for unit in range(6)
        ]
        products = sum(w * part.T @ part for w, part in zip(weights, deviations, strict=True))
        return products[0, 1] / np.sqrt(products[0, 0] * products[1, 1])

    found = influences_of_centred_pairs(
        deviations_from_unit_means(x, units), deviations_from_unit_means(y, units)
    )
    n = copies * len(units)
    moved = [(correlation(unit, 1) - correlation(unit, -1)) / 2 * n for unit in range(6)]
    assert_allclose(np.bincount(units, found), moved, atol=1e-3)


@pytest.mark.parametrize("test", ["percbend", "bicor"])
def test_influences_of_robust_correlations_vary_as_resampled_units_do(test: str) -> None:
    rng = np.random.default_rng(11)
    n_units, n_draws = 80, 800
    units = np.sort(rng.integers(0, n_units, 320))
    level = rng.normal(size=(2, n_units))[:, units]
    x = level[0] + rng.standard_t(3, 320)
    y = x + 2 * level[1] + rng.standard_t(3, 320)
    found = row_influences_by_leaving_out_units(x, y, units, test)
    assert_allclose(found.sum(), 0, atol=1e-9)
    rows_of = [np.flatnonzero(units == unit) for unit in np.unique(units)]
    resampled = []
    for drawn in rng.integers(0, len(rows_of), (n_draws, len(rows_of))):
        rows = np.concatenate([rows_of[i] for i in drawn])
        resampled.append(robust_correlation_coefficient(x[rows], y[rows], test))
    std_error = np.sqrt((np.bincount(units, found) ** 2).sum()) / len(x)
    # the bootstrap's own error is 2.5 %, the rest is of the order 1 / units
    assert_allclose(std_error, np.std(resampled), rtol=0.1)
    # rows taken for independent would say much less
    assert std_error > 1.3 * np.sqrt(
        (row_influences_by_leaving_out_units(x, y, np.arange(320), test) ** 2).sum()
    ) / len(x)
