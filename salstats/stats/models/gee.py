"""Generalised estimating equations with an exchangeable working correlation, for any family."""

from dataclasses import replace

import numpy as np

from salstats.stats.models.errors import CLUSTERED
from salstats.stats.models.family import Family, NotEstimableError, Solution

#: What `correlation=` takes.
CORRELATIONS = ("exchangeable",)
_RECOMMENDED = "mancl-derouen"
_CONVERGED = 1e-12
_MAX_ITERATIONS = 200
#: Pearson's dispersion of a perfect fit, but for rounding.
_PERFECT = 1e-20


def correlated_family(family: Family) -> Family:
    """A family whose rows may be correlated: its errors, the recommended first."""
    errors = (_RECOMMENDED, *(kind for kind in CLUSTERED if kind != _RECOMMENDED))
    return replace(family, label=f"{family.label} (GEE)", errors=errors, normal=False)


def exchangeable(
    matrix: np.ndarray, response: np.ndarray, intercept: bool, *, family: Family, clusters: np.ndarray
) -> Solution:
    """A model of correlated rows, any two of a cluster (codes 0 ... G - 1) with the correlation alpha.

    Solves sum D'V^-1 (y - mu) = 0 with V = phi A^(1/2) R(alpha) A^(1/2), A the family's variances, and
    moments as in R's geepack: with Pearson residuals e, phi = sum e^2 / n and alpha the mean product of two
    residuals of a cluster over phi, neither less the number of coefficients (as R's gee and statsmodels
    have it). Any order of rows does; geepack takes runs of equal ids.

    `step` holds rows and errors times the root of R^-1 A^-1, which are uncorrelated by the model, so that
    what is known of least squares holds of them.

    Liang KY, Zeger SL. Longitudinal data analysis using generalized linear models. Biometrika
    1986;73:13-22. https://doi.org/10.1093/biomet/73.1.13

    Højsgaard S, Halekoh U, Yan J. The R package geepack for generalized estimating equations. J Stat Softw
    2006;15(2):1-11. https://doi.org/10.18637/jss.v015.i02
    """
    sizes = np.bincount(clusters)
    if len(sizes) < 2:
        raise NotEstimableError("rows are of one unit, which says nothing of how others differ")
    if sizes.max() < 2:
        raise NotEstimableError(
            "each unit has a single row, so that nothing is correlated; leave correlation= out"
        )
    independent = family.solve(matrix, response, intercept)
    coefficients = independent.coefficients
    for _ in range(_MAX_ITERATIONS):
        fitted = family.link.mean(matrix @ coefficients)
        root = np.sqrt(family.variance(fitted))
        pearson = (response - fitted) / root
        alpha, scale = _moments(pearson, clusters, sizes)
        if scale <= _PERFECT:
            return replace(independent, dispersion=float("nan"))
        if not -1 / (sizes.max() - 1) < alpha < 1:
            raise NotEstimableError(
                f"rows of a unit are correlated by {alpha:.3g}, which units of {sizes.max()} "
                "rows cannot be; leave correlation= out"
            )
        derivative = matrix * (family.link.slope(matrix @ coefficients) / root)[:, None]
        rows = _whitened(derivative, alpha, clusters, sizes)
        errors = _whitened(pearson[:, None], alpha, clusters, sizes)[:, 0]
        bread = np.linalg.inv(rows.T @ rows)
        moved = bread @ (rows.T @ errors)
        if np.abs(moved).max() <= _CONVERGED * max(1.0, np.abs(coefficients).max()):
            break
        coefficients = coefficients + moved
    else:
        raise NotEstimableError(f"the estimating equations did not converge in {_MAX_ITERATIONS} iterations")
    unknown = float("nan")
    return replace(
        independent,
        coefficients=coefficients,
        fitted=fitted,
        weights=root**2 if not family.linear else np.ones_like(root),
        bread=bread,
        scores=rows * errors[:, None],
        leverage=np.full(len(response), unknown),
        dispersion=scale,
        deviance=unknown,
        null_deviance=unknown,
        log_likelihood=unknown,
        parameters={"alpha": alpha, "scale": scale},
        step=(rows, errors),
    )


def _moments(pearson: np.ndarray, clusters: np.ndarray, sizes: np.ndarray) -> tuple[float, float]:
    """The correlation of two residuals of a cluster, and the mean of their squares."""
    scale = float((pearson**2).mean())
    products = np.bincount(clusters, pearson) ** 2 - np.bincount(clusters, pearson**2)
    with np.errstate(invalid="ignore"):
        return float(products.sum() / (sizes * (sizes - 1.0)).sum() / scale), scale


def _whitened(rows: np.ndarray, alpha: float, clusters: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """R^(-1/2) times rows, the symmetric root, which acts on means of clusters and deviations apart."""
    sums = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(sums, clusters, rows)
    means = (sums / sizes[:, None])[clusters]
    of_means = 1 / np.sqrt(1 + (sizes[clusters] - 1) * alpha)
    return np.asarray((rows - means) / np.sqrt(1 - alpha) + means * of_means[:, None])
