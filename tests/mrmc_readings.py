"""Readings for tests of this folder."""

import warnings

import numpy as np
import pandas as pd

import salstats as ss
from salstats.errors import SalstatsWarning
from salstats.stats.mrmc.figures_of_merit import ReaderReadings


def readings(scores, positive=None, units=None):
    """Cells of 2 methods and half as many readers as columns, method by method."""
    n_cases, n_cells = scores.shape
    cells = np.arange(n_cells)
    return ReaderReadings(
        np.asarray(scores, float),
        cells // (n_cells // 2),
        cells % (n_cells // 2),
        np.arange(n_cases) if units is None else np.asarray(units),
        np.ones(n_cases, bool) if positive is None else np.asarray(positive, bool),
    )


def some_ratings(n=14, missing=0, seed=0):
    """Ratings with ties of n cases by two readers with two methods, and which cases are positive."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 2 == 0
    ratings = np.round(rng.normal(positive[:, None] * 1.0, 1, (n, 4)) + rng.normal(0, 1, (n, 1)), 0)
    ratings.ravel()[rng.choice(ratings.size, missing, replace=False)] = np.nan
    return ratings, positive


def area(scores, positive):
    """Area by its definition, over pairs; NaN readings left out."""
    pairs = [
        (a > b) + (a == b) / 2
        for a in scores[positive]
        for b in scores[~positive]
        if not np.isnan(a) and not np.isnan(b)
    ]
    return np.mean(pairs)


def mrmc_frame(table, score="score", metric="rating"):
    """A scores frame of a table of the R oracle, or of one that is drawn here."""
    names = {"modality": "method", "case_id": "case", "treatment": "method"}
    found = table.assign(score=table[score]).rename(columns=names)[["case", "method", "reader", "score"]]
    return pd.DataFrame(found.assign(metric=metric))


def quietly(*args, **options):
    """Result of mrmc() on sets where an estimate is known to be below 0, or methods have their own cases."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the covariance of readers' figures", SalstatsWarning)
        warnings.filterwarnings("ignore", "methods have different cases", SalstatsWarning)
        return ss.mrmc(*args, **options)
