"""Agreement of categories beyond chance: Cohen's, Fleiss's, Conger's and Light's kappa, Gwet's AC1.

Categories are whole numbers. All but Cohen's kappa allow missing readings: the agreement of a case is that of
the readings that it has, two or more, as in Gwet (Handbook of inter-rater reliability, 2014). Without missing
readings this is the original definition.

`weights` are those of rows, (n_sets, n_rows): each coefficient is computed n_sets times, once for each set of
weights, such as those that leave out one unit.
"""

from itertools import combinations

import numpy as np
from scipy import special

from salstats.stats.agreement.readings import (
    Coefficients,
    RaterReadings,
    RowWeightSets,
    coefficients_with_normal_limits,
    equal_row_weights,
)
from salstats.stats.engine.estimands import quiet_ratio

#: Disagreement of a pair of readings as a function of their distance on the scale of the categories.
WEIGHTINGS = {
    "unweighted": lambda distance: (distance > 0).astype(np.float64),
    "linear": lambda distance: distance,
    "quadratic": lambda distance: distance**2,
}


def _categories_and_row_rater_category_indicators(readings: RaterReadings) -> tuple[np.ndarray, np.ndarray]:
    """Return the categories that occur, sorted, and 0/1 indicators (n_rows, n_raters, n_categories).

    An indicator is 1 if the rater gave the row this category; all are 0 for a missing reading.
    """
    values = readings.values
    categories = np.unique(values[~np.isnan(values)])
    return categories, (values[:, :, None] == categories).astype(np.float64)


def _disagreement_matrix(categories: np.ndarray, weighting: str) -> np.ndarray:
    """Disagreement of every two categories, shape (n_categories, n_categories).

    Distances are differences of the numbers, so that a category between them counts even if nobody gave it.
    """
    distances = np.abs(categories[:, None] - categories)
    return np.asarray(WEIGHTINGS[weighting](distances))


def _kappa_of_two_raters(
    first_indicators: np.ndarray,
    second_indicators: np.ndarray,
    weights: RowWeightSets,
    disagreement: np.ndarray,
) -> np.ndarray:
    """Cohen's kappa (n_sets,) from the indicators (n_rows, n_categories) of two raters.

    It is 1 - observed / expected disagreement, over the rows that both raters read. In einsum i are rows, a
    and b categories, s sets of weights.
    """
    # 1 for rows that both raters read, else 0
    read_by_both = first_indicators.sum(axis=1) * second_indicators.sum(axis=1)
    n = weights @ read_by_both
    observed = weights @ np.einsum("ia,ab,ib->i", first_indicators, disagreement, second_indicators)
    # Numbers of readings in each category, (n_sets, n_categories)
    first_totals = weights @ (read_by_both[:, None] * first_indicators)
    second_totals = weights @ (read_by_both[:, None] * second_indicators)
    n_times_expected = np.einsum("sa,ab,sb->s", first_totals, disagreement, second_totals)
    return 1 - quiet_ratio(observed, quiet_ratio(n_times_expected, n))


def cohen_kappa(readings: RaterReadings, weights: RowWeightSets, weighting: str = "unweighted") -> np.ndarray:
    """Cohen's kappa of two raters, shape (n_sets, 1): 1 - disagreement / disagreement by chance.

    Cohen J. Educ Psychol Meas 1960;20:37-46. doi:10.1177/001316446002000104. With weights: Psychol Bull
    1968;70:213-220. doi:10.1037/h0026256
    """
    categories, indicators = _categories_and_row_rater_category_indicators(readings)
    disagreement = _disagreement_matrix(categories, weighting)
    return _kappa_of_two_raters(indicators[:, 0], indicators[:, 1], weights, disagreement)[:, None]


def light_kappa(readings: RaterReadings, weights: RowWeightSets) -> np.ndarray:
    """Light's kappa, shape (n_sets, 1): the mean of Cohen's kappas of all pairs of raters.

    Light RJ. Psychol Bull 1971;76:365-377. doi:10.1037/h0031643
    """
    categories, indicators = _categories_and_row_rater_category_indicators(readings)
    disagreement = _disagreement_matrix(categories, "unweighted")
    kappas = []
    for first, second in combinations(range(readings.n_raters), 2):
        kappas.append(
            _kappa_of_two_raters(indicators[:, first], indicators[:, second], weights, disagreement)
        )
    return np.asarray(np.mean(kappas, axis=0)[:, None])


def _agreement_and_category_shares_of_all_raters(
    indicators: np.ndarray, weights: RowWeightSets
) -> tuple[np.ndarray, np.ndarray]:
    """Share of agreeing pairs of readings (n_sets,), and shares of categories (n_sets, n_categories).

    Both are means over rows of the shares within a row.
    """
    # Readings of each row in each category (n_rows, n_categories), and of each row
    counts = indicators.sum(axis=1)
    m = counts.sum(axis=1)
    # Ordered pairs: c (c - 1) for c readings in one category
    agreeing_pairs = (counts**2).sum(axis=1) - m
    agreement = quiet_ratio(agreeing_pairs, m * (m - 1))
    n = weights @ np.ones(len(m))
    category_shares = quiet_ratio(counts, m[:, None])
    return quiet_ratio(weights @ agreement, n), quiet_ratio(weights @ category_shares, n[:, None])


def _chance_corrected(agreement: np.ndarray, chance_agreement: np.ndarray) -> np.ndarray:
    """Chance-corrected agreement (agreement - chance_agreement) / (1 - chance_agreement), shape (n_sets, 1).

    NaN if chance agreement is 1, as where all readings are in one category.
    """
    largest_difference = 1 - chance_agreement
    # What is left of 1 - 1 after rounding counts as 0.
    largest_difference = np.where(largest_difference > 1e-12, largest_difference, 0.0)
    return quiet_ratio(agreement - chance_agreement, largest_difference)[:, None]


def fleiss_kappa(readings: RaterReadings, weights: RowWeightSets) -> np.ndarray:
    """Fleiss's kappa, shape (n_sets, 1): chance agreement is the sum of the squared shares of categories.

    Fleiss JL. Psychol Bull 1971;76:378-382. doi:10.1037/h0031619
    """
    _, indicators = _categories_and_row_rater_category_indicators(readings)
    observed, shares = _agreement_and_category_shares_of_all_raters(indicators, weights)
    return _chance_corrected(observed, chance_agreement=(shares**2).sum(axis=1))


def conger_kappa(readings: RaterReadings, weights: RowWeightSets) -> np.ndarray:
    """Conger's kappa, shape (n_sets, 1): chance agreement is that of two raters, averaged over all pairs.

    Two raters agree by chance as often as the sum over categories of the product of their shares.

    Conger AJ. Psychol Bull 1980;88:322-328. doi:10.1037/0033-2909.88.2.322
    """
    _, indicators = _categories_and_row_rater_category_indicators(readings)
    observed, _ = _agreement_and_category_shares_of_all_raters(indicators, weights)
    n_rows, n_raters, n_categories = indicators.shape
    counts = weights @ indicators.reshape(n_rows, n_raters * n_categories)
    counts = counts.reshape(-1, n_raters, n_categories)
    rater_shares = quiet_ratio(counts, counts.sum(axis=2, keepdims=True))
    # The square of a sum minus the sum of squares is the sum of products over ordered pairs of raters.
    pair_products = (rater_shares.sum(axis=1) ** 2) - (rater_shares**2).sum(axis=1)
    chance = pair_products.sum(axis=1) / (n_raters * (n_raters - 1))
    return _chance_corrected(observed, chance)


def ac1(readings: RaterReadings, weights: RowWeightSets) -> np.ndarray:
    """Gwet's AC1, shape (n_sets, 1).

    Chance agreement is sum p (1 - p) / (q - 1) over the shares p of q categories. AC1 depends less than kappa
    on how frequent a category is.

    Gwet KL. Br J Math Stat Psychol 2008;61:29-48. doi:10.1348/000711006X126600
    """
    _, indicators = _categories_and_row_rater_category_indicators(readings)
    observed, shares = _agreement_and_category_shares_of_all_raters(indicators, weights)
    n_categories = shares.shape[1]
    chance = (shares * (1 - shares)).sum(axis=1) / max(n_categories - 1, 1)
    return _chance_corrected(observed, chance)


def cohen_kappa_with_normal_limits(
    readings: RaterReadings, level: float, weighting: str = "unweighted"
) -> Coefficients:
    """Return Cohen's kappa with the limits of Fleiss, Cohen and Everitt, from statsmodels.

    The test of no agreement uses the standard error under that hypothesis.

    Fleiss JL, Cohen J, Everitt BS. Psychol Bull 1969;72:323-327. doi:10.1037/h0028106
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    categories, indicators = _categories_and_row_rater_category_indicators(readings)
    # Cross table of both raters' categories
    table = indicators[:, 0].T @ indicators[:, 1]
    disagreement = _disagreement_matrix(categories, weighting)
    # statsmodels' variance is right only for weights in 0 ... 1.
    scaled_disagreement = disagreement / max(disagreement.max(), 1.0)
    # With a single category kappa is 0 / 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        result = cohens_kappa(table, weights=scaled_disagreement)
    estimate = cohen_kappa(readings, equal_row_weights(readings), weighting)[0]
    coefficients = coefficients_with_normal_limits(estimate, np.array([result.std_kappa]), level)
    statistic = quiet_ratio(estimate, np.array([result.std_kappa0]))
    return coefficients._replace(statistic=statistic, p_value=2 * special.ndtr(-np.abs(statistic)))


def fleiss_kappa_with_normal_limits(readings: RaterReadings, level: float) -> Coefficients:
    """Return Fleiss's kappa with the standard error for raters who agree by chance only (Fleiss 1971).

    The variance is 2 / (s² n k (k - 1)) (s² - sum p q (q - p)) for n cases, k raters and shares p of the
    categories, with q = 1 - p and s = sum p q.
    """
    n, k = readings.values.shape
    _, indicators = _categories_and_row_rater_category_indicators(readings)
    _, shares = _agreement_and_category_shares_of_all_raters(indicators, equal_row_weights(readings))
    p = shares[0]
    q = 1 - p
    s = (p * q).sum()
    variance = quiet_ratio(2 * (s**2 - (p * q * (q - p)).sum()), s**2 * n * k * (k - 1))
    estimate = fleiss_kappa(readings, equal_row_weights(readings))[0]
    return coefficients_with_normal_limits(estimate, np.array([np.sqrt(variance)]), level)
