"""CR2 variances of cell means: those of clubSandwich."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from salstats.errors import SalstatsWarning
from salstats.stats.contrasts import difference
from salstats.stats.engine.cr2 import cr2, unadjusted_unit_influences

REFERENCE = Path(__file__).parents[2] / "reference"


def _cells(frame: pd.DataFrame, cell: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    groups = frame.assign(cell=cell).groupby(["patient", "cell"], observed=False)["score"]
    return (
        groups.sum().unstack(fill_value=0.0).to_numpy(),
        groups.count().unstack(fill_value=0).to_numpy(float),
    )


@pytest.mark.parametrize("name", ["mean", "cells", "average", "difference"])
def test_variance_and_df_equal_clubsandwich(name: str) -> None:
    scores = pd.read_csv(REFERENCE / "emmeans" / "scores.csv")
    expected = pd.read_csv(REFERENCE / "clubsandwich" / "cr2_means.csv").query("name == @name")
    cell = "all" if name == "mean" else scores["site"] + "." + scores["method"]
    sums, counts = _cells(scores, pd.Series(cell, index=scores.index))
    k = sums.shape[1]
    slopes = {
        "mean": np.ones((1, 1)),
        "cells": np.eye(k),
        "average": np.full((1, k), 1 / k),
        "difference": np.array([[1.0, -1.0, *[0.0] * (k - 2)]]),
    }[name]
    found = cr2(sums, counts, slopes)
    np.testing.assert_allclose(np.sqrt(found.variance), expected["std_error"], rtol=1e-10)
    np.testing.assert_allclose(found.df, expected["df"], rtol=1e-8)
    np.testing.assert_allclose(found.units.influence.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(found.units.leverage.sum(axis=0), 1, rtol=1e-12)


def test_spread_df_is_that_of_the_variance_of_normal_scores_and_small_where_few_units_vary() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(20_000, 1))
    normal = cr2(values, np.ones_like(values), np.ones((1, 1)))
    assert normal.kurtosis_df[0] == pytest.approx(20_000, rel=0.05)
    squares = (values[:30, 0] - values[:30].mean()) ** 2
    some = cr2(values[:30], np.ones((30, 1)), np.ones((1, 1)))
    assert some.kurtosis_df[0] == pytest.approx(2 * squares.sum() ** 2 / (30 * squares.var()), rel=1e-12)
    one_of_thirty = cr2(np.eye(30)[:, :1], np.ones((30, 1)), np.ones((1, 1)))
    assert 1 < one_of_thirty.kurtosis_df[0] < 2.5


def test_units_without_scores_change_nothing() -> None:
    rng = np.random.default_rng(4)
    sums = rng.normal(size=(12, 2))
    slopes = np.array([[1.0, -1.0]])
    without = cr2(sums, np.ones((12, 2)), slopes)
    empty = np.zeros((8, 2))
    beside_empty = cr2(np.vstack([sums, empty]), np.vstack([np.ones((12, 2)), empty]), slopes)
    for name in ("variance", "df", "kurtosis_df"):
        np.testing.assert_allclose(getattr(beside_empty, name), getattr(without, name), rtol=1e-12)


@pytest.mark.parametrize("interval", [None, "cr2"])
def test_two_units_have_a_p_value_beside_their_limits(interval: str | None) -> None:
    # Satterthwaite's degrees of freedom are 1 here, or a rounding error below
    rng = np.random.default_rng(0)
    for sizes in ((4, 2), (3, 1), (4, 3), (1, 4)):
        units = np.repeat(["p1", "p2"], sizes)
        frame = pd.DataFrame({"case": [f"c{i}" for i in range(len(units))], "patient": units, "metric": "x"})
        parts = [frame.assign(method=m, score=rng.normal(size=len(units))) for m in ("a", "b")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SalstatsWarning)
            row = difference(pd.concat(parts), reference="a", interval=interval).iloc[0]
        assert np.isfinite(row[["conf_low", "conf_high", "p_value"]].astype(float)).all(), sizes


def test_influences_are_those_of_leaving_a_little_of_a_unit_out() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, (12, 3)).astype(float)
    sums = counts * rng.random((12, 3))
    slopes = np.array([[1.0, 0.0, 0.0], [1.0, -1.0, 0.5]])
    found = unadjusted_unit_influences(sums, counts, slopes)
    step = 1e-6
    for unit in range(12):
        weights = np.ones(12)
        weights[unit] += step
        moved = (weights @ sums) / (weights @ counts) - sums.sum(axis=0) / counts.sum(axis=0)
        np.testing.assert_allclose(found.influence[unit], slopes @ moved / step, rtol=1e-4, atol=1e-8)


def test_a_cell_of_one_unit_has_the_variance_per_score_of_the_others() -> None:
    # four units with a score of the first cell, of which one has two scores of the second cell as well
    scores = np.array([0.2, 0.5, 0.9, 0.8])
    sums = np.column_stack([scores, [0.0, 0.0, 0.0, 3.0]])
    counts = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    slopes = np.array([[1.0, 0.0], [1.0, -1.0], [0.5, 0.5], [0.0, 1.0]])
    found = cr2(sums, counts, slopes)
    # the mean of m scores has the variance s^2 / m, with the variance s^2 of the scores of the first cell
    variance = scores.var(ddof=1)
    first, second = variance / 4, variance / 2
    np.testing.assert_allclose(found.variance[:3], [first, first + second, (first + second) / 4], rtol=1e-12)
    # nothing is known of the second cell alone
    assert np.isnan(found.variance[3])
