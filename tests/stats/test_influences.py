"""Influence functions of correlations: derivatives by the weight of a pair."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from salstats.stats.influences import influences

COEFFICIENTS = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}


@pytest.mark.parametrize("test", list(COEFFICIENTS))
@pytest.mark.parametrize("kind", ["continuous", "ties", "hits"])
def test_influence_is_the_change_by_one_more_pair(test: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    n, times = 24, 60
    x = rng.normal(size=n)
    y = 0.6 * x + rng.normal(size=n)
    if kind == "ties":
        x, y = np.round(x), np.round(y)
    elif kind == "hits":
        y = (y > 0.8).astype(np.float64)
    found = influences(x, y, test)

    def correlation(rows: np.ndarray) -> float:
        return float(COEFFICIENTS[test](x[rows], y[rows]).statistic)

    # a pair more and a pair less among many copies: the error falls with the square of their number
    every = np.tile(np.arange(n), times)
    moved = [
        (correlation(np.append(every, i)) - correlation(np.delete(every, i))) / 2 * len(every)
        for i in range(n)
    ]
    assert_allclose(found, moved, atol=2e-3)
    assert_allclose(found.sum(), 0, atol=1e-9)
