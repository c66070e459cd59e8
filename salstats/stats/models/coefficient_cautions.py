"""Cautions about coefficients that few units determine, by their outcomes or their covariates."""

import numpy as np
from numpy.typing import NDArray

from salstats.stats.engine.cautions import FEW_LEVERS, OUTLYING_UNITS, Caution
from salstats.stats.engine.outlying_units import variance_depends_on_few_outlying_units
from salstats.stats.models.covariance import cluster_sums
from salstats.stats.models.family import Solution
from salstats.stats.models.fitted_models import Model

#: Satterthwaite's degrees of freedom are few below this share of the number of units. With covariates spread
#: evenly over units they are a third of it or more.
_MIN_DF_SHARE = 0.2
#: Degrees of freedom that are enough, however many units there are.
_SUFFICIENT_DF = 10


def coefficient_cautions(model: Model, df: np.ndarray) -> dict[Caution, NDArray[np.bool_]]:
    """Masks (r,) of the coefficients that each caution concerns; `df` (r,) are their degrees of freedom."""
    solution = model.solution
    assert solution is not None
    if solution.inference is not None or not np.isfinite(solution.dispersion):
        # Random effects describe how units differ, and a perfect fit has no variance.
        return {}
    clusters = model.clusters
    if clusters is None:
        clusters = np.arange(solution.n_rows)
    n_units = int(clusters.max()) + 1
    cautions = {}
    if model.errors == "cr2":
        cautions[FEW_LEVERS] = df < min(_MIN_DF_SHARE * n_units, _SUFFICIENT_DF)
    # Binary outcomes have no outlying values.
    if not np.isin(solution.response, (0, 1)).all():
        influence = cluster_sums(solution.scores, clusters) @ solution.bread
        residuals = _unit_residuals_projected_on_directions(solution, clusters)
        cautions[OUTLYING_UNITS] = variance_depends_on_few_outlying_units(
            influence[:, : solution.rank], residuals
        )
    return cautions


def _unit_residuals_projected_on_directions(solution: Solution, clusters: NDArray[np.integer]) -> np.ndarray:
    """Residual (n_units, r) of each unit, projected on the direction in which it moves each coefficient.

    For a unit of one row it is the row's residual, for a difference within units the difference of residuals,
    for any covariates. It is NaN for a unit that does not move a coefficient. In a model with several linear
    predictors it is the sum of the unit's residuals over the root of their number.
    """
    residual = (solution.response - solution.fitted)[:, None]
    if len(solution.predictor_names) == 1:
        # A coefficient is linear in the outcomes; these are its derivatives by them, (n, r).
        bread = solution.bread[: solution.rank, : solution.rank]
        directions = (solution.matrix * solution.weights[:, None]) @ bread
    else:
        directions = np.ones((solution.n_rows, solution.rank))
    projections = cluster_sums(directions * residual, clusters)
    lengths = np.sqrt(cluster_sums(directions**2, clusters))
    # 0 / 0 is the NaN of a unit that does not move the coefficient
    with np.errstate(invalid="ignore"):
        return np.asarray(projections / lengths)
