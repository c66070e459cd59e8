"""Covariances of readers' figures over the cases, as records: jackknife, bootstrap, DeLong, unbiased.

Cells that share no case have none. Where cells are of different cases, each covariance is of the cases that
both have read, with the factor that makes that of two means unbiased.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from salstats.stats.engine.draws import weight_blocks
from salstats.stats.mrmc.figures import Figure, Readings, comparisons


@dataclass(frozen=True)
class Drawing:
    """Options of a bootstrap of units."""

    n_replicates: int
    rng: np.random.Generator


@dataclass(frozen=True)
class Covariance:
    """Record of an estimator of the covariances of figures."""

    #: Value of the option `covariance`.
    name: str
    #: Name in print.
    label: str
    #: Function of readings, a figure and a drawing that returns covariances (n_cells, n_cells).
    kernel: Callable[[Readings, Figure, Drawing], np.ndarray]
    #: Names of the figures that it is for.
    of: tuple[str, ...]
    #: True if a unit may have several cases.
    clustered: bool = True


def sharing_factor(present: np.ndarray) -> np.ndarray:
    """Factor of sums of products of deviations from means, for cells of different units.

    `present` (n_units, n_cells) says which units are in which cell. Of n units in both it is n / (n - 1); in
    general 1 / (1 - 1/n_c - 1/n_d + m/(n_c n_d)) with m units in both, which makes the covariance of two
    means unbiased; 0 where no unit is in both. Shape (n_cells, n_cells).
    """
    weights = present.astype(np.float64)
    n = weights.sum(axis=0)
    n_shared = weights.T @ weights
    products = np.outer(n, n)
    inverse = (products - n[:, None] - n + n_shared) / products
    is_defined = (n_shared > 0) & (inverse > 0)
    return np.asarray(np.divide(1.0, inverse, out=np.zeros_like(inverse), where=is_defined))


def _jackknife(readings: Readings, figure: Figure, _: Drawing) -> np.ndarray:
    """Covariances from the figures without each unit."""
    left_out = figure.without(readings)[1]
    present = readings.by_unit(readings.read.astype(np.float64)) > 0
    n = present.sum(axis=0)
    left_out = np.where(present, left_out, 0.0)
    mean = left_out.sum(axis=0) / n
    deviations = np.where(present, left_out - mean, 0.0) * (n - 1) / n
    return np.asarray(sharing_factor(present) * (deviations.T @ deviations))


def _bootstrap(readings: Readings, figure: Figure, drawing: Drawing) -> np.ndarray:
    """Covariances of replicates of units, without replicates in which a figure is undefined."""
    n_units = int(readings.units.max()) + 1
    blocks = []
    with np.errstate(invalid="ignore", divide="ignore"):
        for _, weights in weight_blocks(n_units, drawing.n_replicates, drawing.rng):
            blocks.append(figure.weighted(readings, weights))
    replicates = np.concatenate(blocks)
    defined = ~np.isnan(replicates).any(axis=1)
    return np.atleast_2d(np.cov(replicates[defined], rowvar=False))


def _delong(readings: Readings, _: Figure, __: Drawing) -> np.ndarray:
    """Covariances of the areas' placement values, of positives and of negatives, summed over units."""
    positive_sums, has_positive = _placement_deviations(readings, readings.positive)
    negative_sums, has_negative = _placement_deviations(readings, ~readings.positive)
    total = np.zeros((readings.read.shape[1],) * 2)
    total += sharing_factor(has_positive) * (positive_sums.T @ positive_sums)
    total += sharing_factor(has_negative) * (negative_sums.T @ negative_sums)
    # Positives and negatives covary within the units that have both.
    products = positive_sums.T @ negative_sums
    return np.asarray(total + sharing_factor(has_positive | has_negative) * (products + products.T))


def _placement_deviations(readings: Readings, in_class: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Deviations of placement values from the area over n, summed by unit, and units with readings.

    `in_class` (n_cases,) are the positives or the negatives. Both results have shape (n_units, n_cells).
    """
    class_read = readings.read & in_class[:, None]
    n = class_read.sum(axis=0)
    area = (readings.won * class_read).sum(axis=0) / n
    deviations = np.where(class_read, (readings.won - area) / n, 0.0)
    return readings.by_unit(deviations), readings.by_unit(class_read.astype(np.float64)) > 0


def _unbiased(readings: Readings, figure: Figure, drawing: Drawing) -> np.ndarray:
    """Product of two areas less the mean product of comparisons that have no case in common.

    Of all pairs of comparisons those with the same positive and those with the same negative are taken off,
    and those with the same positive and negative, which are taken off twice, are added.
    """
    read = readings.read.astype(np.float64)
    n_cells = read.shape[1]
    products = np.zeros((n_cells, n_cells))
    positive_blocks = []
    negative_sums = np.zeros((np.count_nonzero(~readings.positive), n_cells))
    for _, won in comparisons(readings):
        won_pairs = won.reshape(-1, n_cells)
        products += won_pairs.T @ won_pairs
        positive_blocks.append(won.sum(axis=1))
        negative_sums += won.sum(axis=0)
    positive_sums = np.concatenate(positive_blocks)
    sums = positive_sums.sum(axis=0)
    disjoint = (
        np.outer(sums, sums) - positive_sums.T @ positive_sums - negative_sums.T @ negative_sums + products
    )
    positives_read = read[readings.positive]
    negatives_read = read[~readings.positive]
    n_positive = positives_read.sum(axis=0)
    n_negative = negatives_read.sum(axis=0)
    n_different_positives = np.outer(n_positive, n_positive) - positives_read.T @ positives_read
    n_different_negatives = np.outer(n_negative, n_negative) - negatives_read.T @ negatives_read
    n_disjoint = n_different_positives * n_different_negatives
    areas = sums / (n_positive * n_negative)
    return np.asarray(np.outer(areas, areas) - disjoint / n_disjoint)


RECORDS = (
    Covariance("jackknife", "jackknife", _jackknife, ("mean", "auc")),
    Covariance("bootstrap", "bootstrap", _bootstrap, ("mean", "auc")),
    Covariance("delong", "DeLong", _delong, ("auc",)),
    Covariance("unbiased", "unbiased (U-statistics)", _unbiased, ("auc",), clustered=False),
)
BY_NAME = {record.name: record for record in RECORDS}
