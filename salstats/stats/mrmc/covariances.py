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
    """How a bootstrap draws its units."""

    n_replicates: int
    rng: np.random.Generator


@dataclass(frozen=True)
class Covariance:
    """A way to estimate covariances of figures."""

    #: What `covariance=` takes, and its name in print.
    name: str
    label: str
    #: Takes readings, a figure and how to draw; gives (n_cells, n_cells).
    kernel: Callable[[Readings, Figure, Drawing], np.ndarray]
    #: Figures that it is for.
    of: tuple[str, ...]
    #: Whether a unit may have several cases.
    clustered: bool = True


def sharing_factor(present: np.ndarray) -> np.ndarray:
    """What sums of products of deviations from means are multiplied by, for cells of different units.

    `present` (n_units, n_cells) says which units are in which cell. Of n units in both it is n / (n - 1); in
    general 1 / (1 - 1/n_c - 1/n_d + m/(n_c n_d)) with m units in both, which makes the covariance of two
    means unbiased; 0 where none is in both.
    """
    weights = present.astype(np.float64)
    n, shared = weights.sum(axis=0), weights.T @ weights
    n_both = np.outer(n, n)
    left = (n_both - n[:, None] - n + shared) / n_both
    return np.divide(1.0, left, out=np.zeros_like(left), where=(shared > 0) & (left > 0))


def _jackknife(r: Readings, figure: Figure, _: Drawing) -> np.ndarray:
    """Sums of products of what each unit's absence changes."""
    left_out = figure.without(r)[1]
    present = r.by_unit(r.read.astype(np.float64)) > 0
    n = present.sum(axis=0)
    changed = np.where(present, left_out, 0.0)
    changed = np.where(present, changed - changed.sum(axis=0) / n, 0.0) * (n - 1) / n
    return np.asarray(sharing_factor(present) * (changed.T @ changed))


def _bootstrap(r: Readings, figure: Figure, drawing: Drawing) -> np.ndarray:
    """Covariance of replicates of units, without those that left a cell without its figure."""
    n_units = int(r.units.max()) + 1
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = [
            figure.weighted(r, weights)
            for _, weights in weight_blocks(n_units, drawing.n_replicates, drawing.rng)
        ]
    replicates = np.concatenate(parts)
    return np.atleast_2d(np.cov(replicates[~np.isnan(replicates).any(axis=1)], rowvar=False))


def _delong(r: Readings, _: Figure, __: Drawing) -> np.ndarray:
    """Covariances of the means of what positives win and of what negatives win, summed over units."""
    won, read = r.won, r.read
    total, sides = np.zeros((won.shape[1],) * 2), []
    for which in (r.positive[:, None], ~r.positive[:, None]):
        own = read & which
        n = own.sum(axis=0)
        area = (won * own).sum(axis=0) / n
        sides.append((r.by_unit(np.where(own, (won - area) / n, 0.0)), r.by_unit(own.astype(np.float64)) > 0))
        sums, present = sides[-1]
        total += sharing_factor(present) * (sums.T @ sums)
    (positive, have), (negative, lack) = sides
    both = positive.T @ negative
    # only units with positives and negatives hang the two together
    return np.asarray(total + sharing_factor(have | lack) * (both + both.T))


def _unbiased(r: Readings, figure: Figure, drawing: Drawing) -> np.ndarray:
    """Product of two areas less the mean product of comparisons that have no case in common."""
    read = r.read.astype(np.float64)
    products = np.zeros((read.shape[1],) * 2)
    of_positives, of_negatives = [], np.zeros((np.count_nonzero(~r.positive), read.shape[1]))
    for _, won in comparisons(r):
        flat = won.reshape(-1, won.shape[2])
        products += flat.T @ flat
        of_positives.append(won.sum(axis=1))
        of_negatives += won.sum(axis=0)
    positives = np.concatenate(of_positives)
    sums = positives.sum(axis=0)
    own, other = read[r.positive], read[~r.positive]
    shared, others = own.T @ own, other.T @ other
    n_own, n_other = own.sum(axis=0), other.sum(axis=0)
    disjoint = np.outer(sums, sums) - positives.T @ positives - of_negatives.T @ of_negatives + products
    n_disjoint = (np.outer(n_own, n_own) - shared) * (np.outer(n_other, n_other) - others)
    n_pairs = n_own * n_other
    return np.asarray(np.outer(sums / n_pairs, sums / n_pairs) - disjoint / n_disjoint)


RECORDS = (
    Covariance("jackknife", "jackknife", _jackknife, ("mean", "auc")),
    Covariance("bootstrap", "bootstrap", _bootstrap, ("mean", "auc")),
    Covariance("delong", "DeLong", _delong, ("auc",)),
    Covariance("unbiased", "unbiased (U-statistics)", _unbiased, ("auc",), clustered=False),
)
BY_NAME = {record.name: record for record in RECORDS}
