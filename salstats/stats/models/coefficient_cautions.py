"""Cautions of a model's coefficients: units that decide alone by their outcomes, or by their covariates."""

import numpy as np

from salstats.stats.engine.cautions import FEW_LEVERS, OUTLYING_UNITS, Caution
from salstats.stats.engine.outlying_units import few_units_decide
from salstats.stats.models.covariance import cluster_sums
from salstats.stats.models.family import Solution
from salstats.stats.models.models import Model

#: Satterthwaite's degrees of freedom are a third of the units or more where covariates are spread evenly.
_LEAST_DF_SHARE = 0.2
#: Degrees of freedom that are enough, however many units there are.
_ENOUGH_DF = 10


def coefficient_cautions(model: Model, df: np.ndarray) -> dict[Caution, np.ndarray]:
    """Find the coefficients (r,) of a model that each caution concerns; `df` (r,) are theirs."""
    solution = model.solution
    assert solution is not None
    if solution.inference is not None or not np.isfinite(solution.dispersion):
        # mixed models have random effects for units that differ; a perfect fit has no variance
        return {}
    clusters = np.arange(solution.n) if model.clusters is None else model.clusters
    n_units = int(clusters.max()) + 1
    cautions = {}
    if model.errors == "cr2":
        cautions[FEW_LEVERS] = df < min(_LEAST_DF_SHARE * n_units, _ENOUGH_DF)
    if not np.isin(solution.response, (0, 1)).all():
        influence = (cluster_sums(solution.scores, clusters) @ solution.bread)[:, : solution.rank]
        cautions[OUTLYING_UNITS] = few_units_decide(influence, _positions(solution, clusters))
    return cautions


def _positions(solution: Solution, clusters: np.ndarray) -> np.ndarray:
    """Residual of each unit (n_units, r) in the direction in which it moves each coefficient.

    Of a unit with one row it is its residual, of a difference within units the difference of residuals,
    whatever the covariates; NaN of a unit that does not move a coefficient. Of a model with several linear
    predictors it is the mean residual.
    """
    residual = (solution.response - solution.fitted)[:, None]
    directions = np.ones((solution.n, solution.rank))
    if len(solution.parts) == 1:
        bread = solution.bread[: solution.rank, : solution.rank]
        directions = (solution.matrix * solution.weights[:, None]) @ bread
    moved = cluster_sums(directions * residual, clusters)
    lengths = cluster_sums(directions**2, clusters)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(lengths > 0, moved / np.sqrt(lengths), np.nan)
