"""Covariance matrices of regression coefficients, on arrays."""

import numpy as np

#: What `errors=` may be; `hc0` ... `hc3` after MacKinnon and White, `cluster` is CR1.
ERRORS = ("classical", "hc0", "hc1", "hc2", "hc3", "cluster", "cr2")
CLUSTERED = ("cluster", "cr2")
_SATURATED = 1e-10


def heteroscedastic(
    matrix: np.ndarray, residual: np.ndarray, bread: np.ndarray, leverage: np.ndarray, kind: str
) -> np.ndarray:
    """Return a covariance that holds when errors differ in variance.

    Parameters
    ----------
    matrix : ndarray of float, shape (n, k)
        Model matrix.
    residual : ndarray of float, shape (n,)
        Outcome minus fitted mean, so that `matrix * residual` are the score contributions (also of a
        logit model).
    bread : ndarray of float, shape (k, k)
        Inverse of X'WX.
    leverage : ndarray of float, shape (n,)
        Diagonal of the (weighted) hat matrix.
    kind : str
        `hc0` no correction, `hc1` n / (n - k), `hc2` 1 / (1 - h), `hc3` 1 / (1 - h)^2.

    Returns
    -------
    ndarray of float, shape (k, k)
        NaN for `hc2` and `hc3` where a row has leverage 1.

    References
    ----------
    MacKinnon JG, White H. Some heteroskedasticity-consistent covariance matrix estimators with improved
    finite sample properties. J Econometrics 1985;29:305-325. https://doi.org/10.1016/0304-4076(85)90158-7
    """
    n, k = matrix.shape
    squared = residual**2
    if kind in ("hc2", "hc3"):
        free = np.where(1 - leverage > _SATURATED, 1 - leverage, np.nan)
        squared = squared / free ** (1 if kind == "hc2" else 2)
    covariance = bread @ (matrix.T * squared) @ matrix @ bread
    return np.asarray(covariance * (n / (n - k)) if kind == "hc1" else covariance)


def cluster_robust(
    matrix: np.ndarray, residual: np.ndarray, bread: np.ndarray, clusters: np.ndarray
) -> np.ndarray:
    """Return CR1: the covariance when rows of one cluster depend on each other, with Stata's correction.

    Parameters
    ----------
    matrix, residual, bread : ndarray
        As in `heteroscedastic`.
    clusters : ndarray of int, shape (n,)
        Codes 0 ... G - 1.

    Returns
    -------
    ndarray of float, shape (k, k)
        G / (G - 1) * (n - 1) / (n - k) times the sandwich of cluster sums; NaN for a single cluster.

    References
    ----------
    Cameron AC, Miller DL. A practitioner's guide to cluster-robust inference. J Hum Resour
    2015;50:317-372. https://doi.org/10.3368/jhr.50.2.317
    """
    n, k = matrix.shape
    n_clusters = int(clusters.max()) + 1
    if n_clusters < 2:
        return np.full((k, k), np.nan)
    half = bread @ cluster_sums(matrix * residual[:, None], clusters).T
    return np.asarray(n_clusters / (n_clusters - 1) * (n - 1) / (n - k) * (half @ half.T))


def cluster_sums(rows: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Return the sum of the rows of each cluster, shape (G, k)."""
    sums = np.zeros((int(clusters.max()) + 1, rows.shape[1]))
    np.add.at(sums, clusters, rows)
    return sums


def bias_reduced(
    matrix: np.ndarray, residual: np.ndarray, bread: np.ndarray, clusters: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return CR2 of a linear model and the Satterthwaite degrees of freedom of each coefficient.

    Parameters
    ----------
    matrix, residual, bread : ndarray
        As in `heteroscedastic`, of a linear model without weights.
    clusters : ndarray of int, shape (n,)
        Codes 0 ... G - 1.

    Returns
    -------
    covariance : ndarray of float, shape (k, k)
        NaN for a single cluster.
    df : ndarray of float, shape (k,)
        Degrees of freedom for Student's t.

    Notes
    -----
    Residuals of cluster g are multiplied by A = (I - H_gg)^(-1/2), the symmetric root, with the
    pseudo-inverse where a cluster determines a coefficient by itself. From the singular values s and left
    vectors U of X_g M^(1/2) this is I + U diag((1 - s^2)^(-1/2) - 1) U', so that only k x k work is
    done however large a cluster is. With p_g = A X_g M c for a coefficient's unit vector c, the variance is
    a quadratic form in independent errors with B_gh = p_g'(I - H)_gh p_h, and df = tr(B)^2 / tr(B^2).

    References
    ----------
    Bell RM, McCaffrey DF. Bias reduction in standard errors for linear regression with multi-stage samples.
    Survey Methodology 2002;28:169-181.

    Pustejovsky JE, Tipton E. Small-sample methods for cluster-robust variance estimation and hypothesis
    testing in fixed effects models. J Bus Econ Stat 2018;36:672-683.
    https://doi.org/10.1080/07350015.2016.1247004
    """
    k = matrix.shape[1]
    n_clusters = int(clusters.max()) + 1
    if n_clusters < 2:
        return np.full((k, k), np.nan), np.full(k, np.nan)
    root = np.linalg.cholesky(bread)
    order = np.argsort(clusters, kind="stable")
    ends = np.cumsum(np.bincount(clusters, minlength=n_clusters))
    scores = np.empty((n_clusters, k))
    # sums over the rows of a cluster: p'p and X'p, for every coefficient
    own = np.empty((n_clusters, k))
    crossed = np.empty((n_clusters, k, k))
    for g, rows in enumerate(np.split(order, ends[:-1])):
        part = matrix[rows]
        left, singular, _ = np.linalg.svd(part @ root, full_matrices=False)
        free = 1 - singular**2
        factor = np.where(free > _SATURATED, 1 / np.sqrt(np.maximum(free, _SATURATED)), 0.0) - 1
        adjusted = part + left @ (factor[:, None] * (left.T @ part))
        scores[g] = adjusted.T @ residual[rows]
        weights = adjusted @ bread
        own[g] = (weights**2).sum(axis=0)
        crossed[g] = part.T @ weights
    half = bread @ scores.T
    df = np.empty(k)
    for j in range(k):
        sums = crossed[:, :, j]
        form = np.diag(own[:, j]) - sums @ bread @ sums.T
        df[j] = np.trace(form) ** 2 / (form**2).sum()
    return np.asarray(half @ half.T), df


def wald_statistic(coefficients: np.ndarray, covariance: np.ndarray) -> float:
    """Return b' V^-1 b / q for q coefficients, NaN where V is singular or undefined."""
    q = len(coefficients)
    if q == 0 or not np.isfinite(covariance).all():
        return float("nan")
    scale = np.sqrt(np.diag(covariance))
    if (scale <= 0).any():
        return float("nan")
    correlation = covariance / np.outer(scale, scale)
    if np.linalg.matrix_rank(correlation, hermitian=True) < q:
        return float("nan")
    standardised = coefficients / scale
    return float(standardised @ np.linalg.solve(correlation, standardised) / q)
