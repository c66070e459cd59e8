"""Covariances of readers' figures over the cases, as records: jackknife, bootstrap, DeLong, unbiased.

The covariance of cells without a common case is 0. Where cells have different cases, a covariance comes from
the cases that both have, with the factor that makes the covariance of two means unbiased.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salstats.stats.engine.draws import weight_blocks
from salstats.stats.mrmc.figures_of_merit import (
    FigureOfMerit,
    ReaderReadings,
    blocks_of_positive_negative_comparisons,
)


@dataclass(frozen=True)
class BootstrapOptions:
    """Options of a bootstrap of units."""

    n_replicates: int
    rng: np.random.Generator


@dataclass(frozen=True)
class CovarianceEstimator:
    """Record of an estimator of the covariances of figures."""

    #: Value of the option `covariance`.
    name: str
    #: Name in print.
    label: str
    #: Function that returns the covariances (n_cells, n_cells) of the figures of readings.
    kernel: Callable[[ReaderReadings, FigureOfMerit, BootstrapOptions], np.ndarray]
    #: Names of the figures of merit that it supports.
    figures: tuple[str, ...]
    #: True if a unit may have several cases.
    clustered: bool = True


def unbiasing_factors_of_cell_pairs(present: np.ndarray) -> np.ndarray:
    """Factor that makes sums of products of deviations unbiased, shape (n_cells, n_cells).

    `present` (n_units, n_cells) is true where a cell has a reading of a unit. Cells c and d of n_c and n_d
    units, m of them shared, have the factor 1 / (1 - 1/n_c - 1/n_d + m/(n_c n_d)), with which the covariance
    of two means is unbiased. It is n / (n - 1) where both have the same n units, and 0 where they share none.
    """
    is_present = present.astype(np.float64)
    n = is_present.sum(axis=0)
    n_shared = is_present.T @ is_present
    products = np.outer(n, n)
    inverse = (products - n[:, None] - n + n_shared) / products
    is_defined = (n_shared > 0) & (inverse > 0)
    return np.asarray(np.divide(1.0, inverse, out=np.zeros_like(inverse), where=is_defined))


def _jackknife_covariance(readings: ReaderReadings, figure: FigureOfMerit, _: BootstrapOptions) -> np.ndarray:
    """Jackknife covariances, from the figures without each unit in turn."""
    left_out = figure.jackknifed_figures(readings).without_unit
    present = readings.unit_by_cell_sums(readings.is_read.astype(np.float64)) > 0
    n = present.sum(axis=0)
    left_out = np.where(present, left_out, 0.0)
    mean = left_out.sum(axis=0) / n
    # Leaving out a unit moves a mean by 1 / (n - 1) of the unit's deviation from it.
    deviations = np.where(present, left_out - mean, 0.0) * (n - 1) / n
    return np.asarray(unbiasing_factors_of_cell_pairs(present) * (deviations.T @ deviations))


def _bootstrap_covariance(
    readings: ReaderReadings, figure: FigureOfMerit, bootstrap: BootstrapOptions
) -> np.ndarray:
    """Covariances of the figures of bootstrap replicates, without those in which a figure is undefined."""
    n_units = int(readings.units.max()) + 1
    blocks = []
    with np.errstate(invalid="ignore", divide="ignore"):
        for _, weights in weight_blocks(n_units, bootstrap.n_replicates, bootstrap.rng):
            blocks.append(figure.weighted_figures(readings, weights))
    replicates = np.concatenate(blocks)
    defined = ~np.isnan(replicates).any(axis=1)
    return np.atleast_2d(np.cov(replicates[defined], rowvar=False))


def _delong_covariance(readings: ReaderReadings, _: FigureOfMerit, __: BootstrapOptions) -> np.ndarray:
    """Covariances of areas from the placement values of positives and negatives (DeLong), summed by unit.

    DeLong ER, DeLong DM, Clarke-Pearson DL. Biometrics 1988;44:837-845. doi:10.2307/2531595. For several
    cases of a unit: Obuchowski NA. Biometrics 1997;53:567-578. doi:10.2307/2533958
    """
    positive_sums, has_positive = _area_influences_by_unit(readings, readings.positive)
    negative_sums, has_negative = _area_influences_by_unit(readings, ~readings.positive)
    of_positives = unbiasing_factors_of_cell_pairs(has_positive) * (positive_sums.T @ positive_sums)
    of_negatives = unbiasing_factors_of_cell_pairs(has_negative) * (negative_sums.T @ negative_sums)
    # Positives and negatives covary within the units that have both.
    products = positive_sums.T @ negative_sums
    of_both = unbiasing_factors_of_cell_pairs(has_positive | has_negative) * (products + products.T)
    return np.asarray(of_positives + of_negatives + of_both)


class _UnitDeviations(NamedTuple):
    """Sums of deviations by unit, and a mask of the units with readings; both (n_units, n_cells)."""

    sums: np.ndarray
    has_reading: NDArray[np.bool_]


def _area_influences_by_unit(readings: ReaderReadings, in_class: NDArray[np.bool_]) -> _UnitDeviations:
    """Deviations of placement values from the area, divided by n and summed by unit.

    `in_class` (n_cases,) is the mask of the positives or of the negatives, of which n are read.
    """
    class_read = readings.is_read & in_class[:, None]
    n = class_read.sum(axis=0)
    placement_values = readings.shares_of_opposite_class_ordered_correctly
    area = (placement_values * class_read).sum(axis=0) / n
    deviations = np.where(class_read, (placement_values - area) / n, 0.0)
    has_reading = readings.unit_by_cell_sums(class_read.astype(np.float64)) > 0
    return _UnitDeviations(readings.unit_by_cell_sums(deviations), has_reading)


def _unbiased_area_covariance(
    readings: ReaderReadings, figure: FigureOfMerit, bootstrap: BootstrapOptions
) -> np.ndarray:
    """Product of two areas less the mean product of comparisons that have no case in common.

    A comparison pairs a positive with a negative. Its product with another is summed over all pairs of
    comparisons; pairs with the same positive and pairs with the same negative are subtracted, and those with
    both the same, which are subtracted twice, are added. These are the U-statistics of Gallas BD, Bandos A,
    Samuelson FW, Wagner RF. Commun Stat Theory Methods 2009;38:2586-2603. doi:10.1080/03610920802610084
    """
    read = readings.is_read.astype(np.float64)
    n_cells = read.shape[1]
    same_comparison = np.zeros((n_cells, n_cells))
    # Comparisons won by each positive, and over each negative: (n_positives or n_negatives, n_cells)
    won_by_positive_blocks = []
    won_over_negative = np.zeros((np.count_nonzero(~readings.positive), n_cells))
    for _, won in blocks_of_positive_negative_comparisons(readings):
        # Axes of `won`: positives, negatives, cells
        won_pairs = won.reshape(-1, n_cells)
        same_comparison += won_pairs.T @ won_pairs
        won_by_positive_blocks.append(won.sum(axis=1))
        won_over_negative += won.sum(axis=0)
    won_by_positive = np.concatenate(won_by_positive_blocks)
    n_won = won_by_positive.sum(axis=0)
    same_positive = won_by_positive.T @ won_by_positive
    same_negative = won_over_negative.T @ won_over_negative
    disjoint = np.outer(n_won, n_won) - same_positive - same_negative + same_comparison
    positives_read = read[readings.positive]
    negatives_read = read[~readings.positive]
    n_positive = positives_read.sum(axis=0)
    n_negative = negatives_read.sum(axis=0)
    n_different_positives = np.outer(n_positive, n_positive) - positives_read.T @ positives_read
    n_different_negatives = np.outer(n_negative, n_negative) - negatives_read.T @ negatives_read
    n_disjoint = n_different_positives * n_different_negatives
    areas = n_won / (n_positive * n_negative)
    return np.asarray(np.outer(areas, areas) - disjoint / n_disjoint)


RECORDS = (
    CovarianceEstimator("jackknife", "jackknife", _jackknife_covariance, ("mean", "auc")),
    CovarianceEstimator("bootstrap", "bootstrap", _bootstrap_covariance, ("mean", "auc")),
    CovarianceEstimator("delong", "DeLong", _delong_covariance, ("auc",)),
    CovarianceEstimator(
        "unbiased", "unbiased (U-statistics)", _unbiased_area_covariance, ("auc",), clustered=False
    ),
)
BY_NAME = {record.name: record for record in RECORDS}
