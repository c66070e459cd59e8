"""Agreement of categories beyond chance: Cohen's, Fleiss's, Conger's and Light's kappa, Gwet's AC1.

Categories are whole numbers. All but Cohen's take missing readings: the agreement of a case is that of the
readings that it has (two or more), as in Gwet (2014), which without gaps is the original definition.
"""

from itertools import combinations

import numpy as np
from scipy import special

from salstats.stats.agreement.readings import (
    Coefficients,
    Readings,
    Weights,
    equal_weights,
    normal_coefficients,
)
from salstats.stats.engine.estimands import ratio

#: Disagreement of a pair of readings as a function of their distance on the scale of the categories.
WEIGHTINGS = {
    "unweighted": lambda distance: (distance > 0).astype(np.float64),
    "linear": lambda distance: distance,
    "quadratic": lambda distance: distance**2,
}


def _indicators(readings: Readings) -> tuple[np.ndarray, np.ndarray]:
    """Categories that occur, sorted, and 0/1 indicators of the readings in each.

    The indicators have shape (n_rows, n_raters, n_categories).
    """
    values = readings.values
    categories = np.unique(values[~np.isnan(values)])
    return categories, (values[:, :, None] == categories).astype(np.float64)


def _disagreement(categories: np.ndarray, weighting: str) -> np.ndarray:
    """Disagreement of each two categories, shape (n_categories, n_categories).

    Distances are those of the numbers, so that a category between them counts even if nobody gave it.
    """
    return np.asarray(WEIGHTINGS[weighting](np.abs(categories[:, None] - categories)))


def _kappa(first: np.ndarray, second: np.ndarray, weights: Weights, disagreement: np.ndarray) -> np.ndarray:
    """Cohen's kappa (n_sets,) from the indicators (n_rows, n_categories) of two raters.

    Only rows that both raters read count.
    """
    read_by_both = first.sum(axis=1) * second.sum(axis=1)
    n = weights @ read_by_both
    observed = weights @ np.einsum("ia,ab,ib->i", first, disagreement, second)
    first_totals = weights @ (read_by_both[:, None] * first)
    second_totals = weights @ (read_by_both[:, None] * second)
    expected = np.einsum("sa,ab,sb->s", first_totals, disagreement, second_totals)
    return 1 - ratio(observed, ratio(expected, n))


def cohen(readings: Readings, weights: Weights, weighting: str = "unweighted") -> np.ndarray:
    """Cohen's kappa of two raters, 1 - disagreement / disagreement by chance (Cohen 1960, 1968)."""
    categories, indicators = _indicators(readings)
    disagreement = _disagreement(categories, weighting)
    return _kappa(indicators[:, 0], indicators[:, 1], weights, disagreement)[:, None]


def light(readings: Readings, weights: Weights) -> np.ndarray:
    """Mean of Cohen's kappas of all pairs of raters (Light 1971)."""
    categories, indicators = _indicators(readings)
    disagreement = _disagreement(categories, "unweighted")
    kappas = []
    for first, second in combinations(range(readings.n_raters), 2):
        kappas.append(_kappa(indicators[:, first], indicators[:, second], weights, disagreement))
    return np.asarray(np.mean(kappas, axis=0)[:, None])


def _observed_agreement(indicators: np.ndarray, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Share of agreeing pairs of readings (n_sets,), and shares of categories (n_sets, n_categories).

    Both are means over cases of the shares within a case.
    """
    counts = indicators.sum(axis=1)
    m = counts.sum(axis=1)
    agreeing_pairs = (counts**2).sum(axis=1) - m
    agreement = ratio(agreeing_pairs, m * (m - 1))
    n = weights @ np.ones(len(m))
    category_shares = ratio(counts, m[:, None])
    return ratio(weights @ agreement, n), ratio(weights @ category_shares, n[:, None])


def _chance_corrected(observed: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Agreement beyond chance (n_sets, 1), NaN where all agree by chance."""
    most_beyond_chance = 1 - chance
    most_beyond_chance = np.where(most_beyond_chance > 1e-12, most_beyond_chance, 0.0)
    return ratio(observed - chance, most_beyond_chance)[:, None]


def fleiss(readings: Readings, weights: Weights) -> np.ndarray:
    """Fleiss's kappa: chance is that of the categories' mean shares (Fleiss 1971)."""
    _, indicators = _indicators(readings)
    observed, shares = _observed_agreement(indicators, weights)
    return _chance_corrected(observed, chance=(shares**2).sum(axis=1))


def conger(readings: Readings, weights: Weights) -> np.ndarray:
    """Conger's kappa: chance is that of each pair of raters' own shares (Conger 1980)."""
    _, indicators = _indicators(readings)
    observed, _ = _observed_agreement(indicators, weights)
    n_rows, n_raters, n_categories = indicators.shape
    counts = weights @ indicators.reshape(n_rows, -1)
    counts = counts.reshape(-1, n_raters, n_categories)
    rater_shares = ratio(counts, counts.sum(axis=2, keepdims=True))
    # The square of a sum less the sum of squares is the sum over ordered pairs of different raters.
    pair_products = (rater_shares.sum(axis=1) ** 2) - (rater_shares**2).sum(axis=1)
    chance = pair_products.sum(axis=1) / (n_raters * (n_raters - 1))
    return _chance_corrected(observed, chance)


def ac1(readings: Readings, weights: Weights) -> np.ndarray:
    """Gwet's AC1: chance is sum of p (1 - p) / (categories - 1), steady where one is rare (Gwet 2008)."""
    _, indicators = _indicators(readings)
    observed, shares = _observed_agreement(indicators, weights)
    n_categories = shares.shape[1]
    chance = (shares * (1 - shares)).sum(axis=1) / max(n_categories - 1, 1)
    return _chance_corrected(observed, chance)


def cohen_by_normal(readings: Readings, level: float, weighting: str = "unweighted") -> Coefficients:
    """Return Cohen's kappa with the limits of Fleiss, Cohen and Everitt (1969), from statsmodels.

    The test of no agreement has the standard error under that hypothesis.
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    categories, indicators = _indicators(readings)
    table = np.einsum("ia,ib->ab", indicators[:, 0], indicators[:, 1])
    disagreement = _disagreement(categories, weighting)
    # statsmodels' variance is right for weights from 0 to 1 only
    result = cohens_kappa(table, weights=disagreement / max(disagreement.max(), 1.0))
    estimate = cohen(readings, equal_weights(readings), weighting)[0]
    coefficients = normal_coefficients(estimate, np.array([result.std_kappa]), level)
    statistic = ratio(estimate, np.array([result.std_kappa0]))
    return coefficients._replace(statistic=statistic, p_value=2 * special.ndtr(-np.abs(statistic)))


def fleiss_by_normal(readings: Readings, level: float) -> Coefficients:
    """Return Fleiss's kappa with its standard error if raters agree by chance only (Fleiss 1971).

    The variance is 2 / (s² n k (k - 1)) (s² - sum p q (q - p)) with q = 1 - p and s = sum p q, of n cases, k
    raters and the categories' shares p.
    """
    n, k = readings.values.shape
    _, indicators = _indicators(readings)
    _, shares = _observed_agreement(indicators, equal_weights(readings))
    p = shares[0]
    q = 1 - p
    s = (p * q).sum()
    std_error = np.sqrt(2 / (s**2 * n * k * (k - 1)) * (s**2 - (p * q * (q - p)).sum()))
    return normal_coefficients(fleiss(readings, equal_weights(readings))[0], np.array([std_error]), level)
