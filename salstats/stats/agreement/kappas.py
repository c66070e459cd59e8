"""Agreement of categories beyond chance: Cohen's, Fleiss's, Conger's and Light's kappa, Gwet's AC1.

Categories are whole numbers. All but Cohen's take missing readings: the agreement of a case is that of the
readings that it has (two or more), as in Gwet (2014), which without gaps is the original definition.
"""

from itertools import combinations

import numpy as np
from scipy import special

from salstats.stats.agreement.readings import Found, Readings, Weights, by_normal, once
from salstats.stats.engine.estimands import ratio

#: How much a pair of readings disagrees, by their distance on the scale of the categories.
WEIGHTINGS = {
    "unweighted": lambda distance: (distance > 0).astype(np.float64),
    "linear": lambda distance: distance,
    "quadratic": lambda distance: distance**2,
}


def _codes(readings: Readings) -> tuple[np.ndarray, np.ndarray]:
    """Categories that occur, sorted, and who gave which: 0/1 of shape (n_rows, n_raters, n_categories)."""
    values = readings.values
    categories = np.unique(values[~np.isnan(values)])
    return categories, (values[:, :, None] == categories).astype(np.float64)


def _disagreement(categories: np.ndarray, weighting: str) -> np.ndarray:
    """Disagreement of each two categories, by their numbers: one that nobody gave still counts."""
    return np.asarray(WEIGHTINGS[weighting](np.abs(categories[:, None] - categories)))


def _kappa(first: np.ndarray, second: np.ndarray, weights: Weights, cost: np.ndarray) -> np.ndarray:
    """Cohen's kappa of 0/1 codes of two raters (n_rows, n_categories), of rows that both read."""
    both = first.sum(axis=1) * second.sum(axis=1)
    n = weights @ both
    seen = weights @ np.einsum("ia,ab,ib->i", first, cost, second)
    of_first, of_second = (weights @ (both[:, None] * codes) for codes in (first, second))
    expected = np.einsum("sa,ab,sb->s", of_first, cost, of_second)
    return 1 - ratio(seen, ratio(expected, n))


def cohen(readings: Readings, weights: Weights, weighting: str = "unweighted") -> np.ndarray:
    """Cohen's kappa of two raters, 1 - disagreement / disagreement by chance (Cohen 1960, 1968)."""
    categories, codes = _codes(readings)
    cost = _disagreement(categories, weighting)
    return _kappa(codes[:, 0], codes[:, 1], weights, cost)[:, None]


def light(readings: Readings, weights: Weights) -> np.ndarray:
    """Mean of Cohen's kappas of all pairs of raters (Light 1971)."""
    categories, codes = _codes(readings)
    cost = _disagreement(categories, "unweighted")
    pairs = combinations(range(readings.n_raters), 2)
    return np.mean([_kappa(codes[:, a], codes[:, b], weights, cost) for a, b in pairs], axis=0)[:, None]


def _seen(codes: np.ndarray, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Share of agreeing pairs of readings, mean over cases; and the mean shares of categories."""
    counts = codes.sum(axis=1)
    m = counts.sum(axis=1)
    agreeing = ratio((counts**2).sum(axis=1) - m, m * (m - 1))
    n = weights @ np.ones(len(m))
    return ratio(weights @ agreeing, n), ratio(weights @ ratio(counts, m[:, None]), n[:, None])


def _beyond(seen: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Agreement beyond chance, NaN where chance makes all agree."""
    room = 1 - chance
    return ratio(seen - chance, np.where(room > 1e-12, room, 0.0))[:, None]


def fleiss(readings: Readings, weights: Weights) -> np.ndarray:
    """Fleiss's kappa: chance is that of the categories' mean shares (Fleiss 1971)."""
    seen, shares = _seen(_codes(readings)[1], weights)
    return _beyond(seen, (shares**2).sum(axis=1))


def conger(readings: Readings, weights: Weights) -> np.ndarray:
    """Conger's kappa: chance is that of each pair of raters' own shares (Conger 1980)."""
    codes = _codes(readings)[1]
    seen, _ = _seen(codes, weights)
    own = (weights @ codes.reshape(len(codes), -1)).reshape(-1, *codes.shape[1:])
    own = ratio(own, own.sum(axis=2, keepdims=True))
    k = readings.n_raters
    chance = ((own.sum(axis=1) ** 2) - (own**2).sum(axis=1)).sum(axis=1) / (k * (k - 1))
    return _beyond(seen, chance)


def ac1(readings: Readings, weights: Weights) -> np.ndarray:
    """Gwet's AC1: chance is sum of p (1 - p) / (categories - 1), steady where one is rare (Gwet 2008)."""
    seen, shares = _seen(_codes(readings)[1], weights)
    room = max(shares.shape[1] - 1, 1)
    return _beyond(seen, (shares * (1 - shares)).sum(axis=1) / room)


def cohen_by_normal(readings: Readings, level: float, weighting: str = "unweighted") -> Found:
    """Cohen's kappa with the large-sample limits of Fleiss, Cohen and Everitt (1969), from statsmodels.

    The test of no agreement has the standard error under that hypothesis.
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    categories, codes = _codes(readings)
    table = np.einsum("ia,ib->ab", codes[:, 0], codes[:, 1])
    cost = _disagreement(categories, weighting)
    # the variance is of weights up to 1
    found = cohens_kappa(table, weights=cost / max(cost.max(), 1.0))
    estimate = cohen(readings, once(readings), weighting)[0]
    made = by_normal(estimate, np.array([found.std_kappa]), level)
    statistic = ratio(estimate, np.array([found.std_kappa0]))
    return made._replace(statistic=statistic, p_value=2 * special.ndtr(-np.abs(statistic)))


def fleiss_by_normal(readings: Readings, level: float) -> Found:
    """Fleiss's kappa with the standard error that it has where nobody agrees but by chance (Fleiss 1971)."""
    n, k = readings.values.shape
    _, shares = _seen(_codes(readings)[1], once(readings))
    p, q = shares[0], 1 - shares[0]
    room = (p * q).sum()
    error = np.sqrt(2 / (room**2 * n * k * (k - 1)) * (room**2 - (p * q * (q - p)).sum()))
    return by_normal(fleiss(readings, once(readings))[0], np.array([error]), level)
