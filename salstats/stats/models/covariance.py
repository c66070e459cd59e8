"""Robust covariance matrices of regression coefficients, on arrays.

Symbols: X is the model matrix (n, k), M the bread (X'X)^-1, H = X M X' the hat matrix, e the residuals; X_g,
e_g and H_gg belong to the rows of cluster g, of G clusters.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: 1 - leverage, or 1 - squared singular value, up to which rows determine a direction by themselves.
_SATURATED = 1e-10
#: Largest number of clusters for which degrees of freedom come from the G x G matrix, where nothing cancels.
_MAX_DIRECT_CLUSTERS = 100
#: Numbers in a batch of clusters that are computed together; this many fit into the processor's cache.
_BATCH_NUMBERS = 1 << 18
#: Largest number of rows of a cluster for which the root of a matrix (n_rows, n_rows) is computed.
_MAX_ROOT_ROWS = 500
#: Eigenvalues up to this share of the largest one are rounding errors.
_NULL_EIGENVALUE = 1e-13
#: A coefficient has no sandwich variance if more than this share of its classical variance lies in saturated
#: directions.
_UNSEEN_SHARE = 1e-12
#: Variances up to this share of the classical one are rounding errors.
_ZERO_VARIANCE = 1e-20
#: Variances up to this share of bread times the mean square of the fitted values are rounding errors.
_ROUNDING = 1e-30
#: A covariance relative to the classical one is singular if its smallest eigenvalue is at most this share of
#: the largest.
_SINGULAR = 1e-10


class CovarianceAndDf(NamedTuple):
    """Covariance of coefficients, and degrees of freedom of each, or of combinations of them."""

    covariance: np.ndarray  # (k, k)
    df: np.ndarray  # (q,)


def has_no_sandwich_variance(
    matrix: np.ndarray, bread: np.ndarray, clusters: NDArray[np.integer] | None
) -> NDArray[np.bool_]:
    """Mask (k,) of the coefficients without a sandwich: they depend on errors that no residual shows.

    `matrix` is that of a linear model, or rows times the root of their weights; `clusters` are codes 0
    ... G - 1, None for independent rows. A coefficient is w'y with w = X M c, c its unit vector, and a
    sandwich sums (w_g'e_g)^2 over clusters. If a unit vector u that is zero outside cluster g lies in the
    span of X, then u'e = 0 for any data, and the component of w_g along u, whose errors move the coefficient,
    adds nothing: with a covariate that is 1 in one cluster only, CR1 is far too small. These u are the left
    singular vectors of Q_g, for X = QR, with singular value 1 (for a single row: leverage 1). A coefficient
    without such a component has a sandwich, also in a model with fixed effects of the clusters.
    """
    basis = np.linalg.qr(matrix)[0]
    influence = matrix @ bread
    leverage = (basis**2).sum(axis=1)
    classical = np.diag(bread)
    if clusters is None:
        unseen = (influence[leverage > 1 - _SATURATED] ** 2).sum(axis=0)
        return np.asarray(unseen > _UNSEEN_SHARE * classical)
    unseen = np.zeros(len(bread))
    groups = rows_by_cluster(clusters)
    # The leverages of a cluster sum to the sum of its squared singular values, so that one of these can be 1
    # only if the sum is at least 1.
    for g in np.flatnonzero(np.bincount(clusters, leverage) > 1 - _SATURATED):
        left, singular, _ = np.linalg.svd(basis[groups[g]], full_matrices=False)
        saturated = left[:, 1 - singular**2 <= _SATURATED]
        unseen += ((saturated.T @ influence[groups[g]]) ** 2).sum(axis=0)
    return np.asarray(unseen > _UNSEEN_SHARE * classical)


def are_zero_variances(
    variances: np.ndarray, bread: np.ndarray, dispersion: float, mean_square: float
) -> NDArray[np.bool_]:
    """Mask (k,) of the variances that are only rounding errors; false for NaN.

    `mean_square` is that of the fitted means, whose size determines the rounding errors of residuals.
    """
    floor = max(_ZERO_VARIANCE * dispersion, _ROUNDING * mean_square)
    return np.asarray(variances <= floor * np.diag(bread))


def rows_by_cluster(clusters: NDArray[np.integer]) -> list[NDArray[np.integer]]:
    """Positions of the rows of each cluster, in order of their codes."""
    ends = np.cumsum(np.bincount(clusters))
    return np.split(np.argsort(clusters, kind="stable"), ends[:-1])


def heteroscedastic_covariance(
    scores: np.ndarray, bread: np.ndarray, leverage: np.ndarray, df_residual: float, kind: str
) -> np.ndarray:
    """Covariance (k, k) of coefficients if errors differ in variance: hc0 ... hc3 of MacKinnon and White.

    `scores` (n, k) are the contributions of the rows to the estimating equations (`Solution.scores`).
    Squared residuals count as they are (hc0), times n / (n - k) (hc1), over 1 - h (hc2) or (1 - h)^2 (hc3), h
    the leverage.

    A row of leverage 1 has residual 0, and h_ij = 0 with every other row j. For the coefficients that it
    moves (`has_no_sandwich_variance`) no kind is defined. The others are the same without the row, so that
    its term in hc2 and hc3, 0 / 0, is left out.

    MacKinnon JG, White H. Some heteroskedasticity-consistent covariance matrix estimators with improved
    finite sample properties. J Econometrics 1985;29:305-325. https://doi.org/10.1016/0304-4076(85)90158-7
    """
    saturated = 1 - leverage <= _SATURATED
    factors = np.where(saturated, 0.0, 1.0)
    if kind in ("hc2", "hc3"):
        exponent = 1 if kind == "hc2" else 2
        factors = factors / (1 - np.where(saturated, 0.0, leverage)) ** exponent
    covariance = bread @ (scores.T * factors) @ scores @ bread
    if kind == "hc1":
        covariance = covariance * (len(scores) / df_residual)
    return np.asarray(covariance)


def cluster_robust_covariance(
    scores: np.ndarray,
    bread: np.ndarray,
    clusters: NDArray[np.integer],
    df_residual: float,
    *,
    corrected: bool = True,
) -> np.ndarray:
    """Covariance (k, k) of coefficients if rows of a cluster are dependent; NaN for a single cluster.

    The sandwich of cluster sums (CR0), times Stata's G / (G - 1) * (n - 1) / (n - k) if `corrected` (CR1).

    Cameron AC, Miller DL. A practitioner's guide to cluster-robust inference. J Hum Resour
    2015;50:317-372. https://doi.org/10.3368/jhr.50.2.317
    """
    n_clusters = int(clusters.max()) + 1
    if n_clusters < 2:
        return np.full_like(bread, np.nan)
    factor = 1.0
    if corrected:
        factor = n_clusters / (n_clusters - 1) * (len(scores) - 1) / df_residual
    influence = bread @ cluster_sums(scores, clusters).T
    return np.asarray(factor * (influence @ influence.T))


def cluster_sums(rows: np.ndarray, clusters: NDArray[np.integer]) -> np.ndarray:
    """Sums (G, k) of the rows of each cluster."""
    sums = np.zeros((int(clusters.max()) + 1, rows.shape[1]))
    np.add.at(sums, clusters, rows)
    return sums


def bias_reduced_covariance(
    matrix: np.ndarray,
    residual: np.ndarray,
    bread: np.ndarray,
    clusters: NDArray[np.integer],
    variances: np.ndarray | None = None,
    sampling: np.ndarray | None = None,
    *,
    contrasts: np.ndarray | None = None,
    exponent: float = -0.5,
) -> CovarianceAndDf:
    """CR2 covariance (k, k) of least squares, and Satterthwaite degrees of freedom (q,) of combinations.

    The combinations are the rows of `contrasts` (q, k), by default each coefficient. Both results are NaN
    for a single cluster. For models other than linear ones, `matrix` and `residual` are sqrt(W) X and
    (y - mu) / sqrt(W) with the weights W of the fit, so that bread is (X'X)^-1 of these rows as well.

    Residuals of cluster g are multiplied by A = (I - H_gg)^(-1/2), the symmetric root, with the
    pseudo-inverse where a cluster determines a direction by itself (`has_no_sandwich_variance`: these have no
    CR2). From the singular values s and left vectors U of Q_g, X = QR, this is
    I + U diag((1 - s^2)^(-1/2) - 1) U', so that only k x k work is done however large a cluster is. Where
    the model's `variances` V (n,) differ within a cluster, A is the other root
    V (V (I - H_gg) V)^(-1/2), which R's clubSandwich takes; either is unbiased under the model, and clusters
    of more than 500 rows have the first. With p_g = A X_g M c for a combination c and M the bread, the
    variance is a quadratic form in independent errors with B_gh = p_g'(I - H)_gh p_h, and df =
    tr(B)^2 / tr(B^2).

    With weights of `sampling` W (n,) M is (X'WX)^-1. The residuals of a cluster, of errors with variance 1 as
    before, then have the covariance V_g = I - X_g M X_g'W_g - W_g X_g M X_g' + X_g S X_g', S = M X'W^2 X M,
    in place of I - H_gg; scores are X_g'W_g A e_g with A = V_g^(-1/2). This is clubSandwich's CR2 of
    lm(weights=), whose weights say how many cases a row stands for, not how precise it is.

    With the `exponent` -1 instead of -1/2 this is the covariance of Mancl and DeRouen (CR3 without the factor
    (G - 1) / G), which is too large rather than too small where clusters are few.

    Mancl LA, DeRouen TA. A covariance estimator for GEE with improved small-sample properties. Biometrics
    2001;57:126-134. https://doi.org/10.1111/j.0006-341X.2001.00126.x

    Bell RM, McCaffrey DF. Bias reduction in standard errors for linear regression with multi-stage samples.
    Survey Methodology 2002;28:169-181.

    Pustejovsky JE, Tipton E. Small-sample methods for cluster-robust variance estimation and hypothesis
    testing in fixed effects models. J Bus Econ Stat 2018;36:672-683.
    https://doi.org/10.1080/07350015.2016.1247004
    """
    k = matrix.shape[1]
    directions = bread if contrasts is None else bread @ contrasts.T
    q = directions.shape[1]
    groups = rows_by_cluster(clusters)
    if len(groups) < 2:
        return CovarianceAndDf(np.full((k, k), np.nan), np.full(q, np.nan))
    hat_rows, hat_core = _factors_of_residual_covariance(matrix, bread, sampling)
    scores = np.empty((len(groups), k))
    # p_g'p_g and Z_g'p_g of each cluster and combination
    squares = np.empty((len(groups), q))
    projections = np.empty((len(groups), len(hat_core), q))
    for batch, rows, adjusted in _cr2_adjusted_design_batches(matrix, groups, variances, exponent, sampling):
        # X_g'A e_g, with `adjusted` A X_g
        scores[batch] = np.einsum("gik,gi->gk", adjusted, residual[rows])
        p = adjusted @ directions
        squares[batch] = (p**2).sum(axis=1)
        projections[batch] = hat_rows[rows].transpose(0, 2, 1) @ p
    influence = bread @ scores.T
    df = np.empty(q)
    # the traces are 0 / 0 where saturated clusters determine all of a combination
    with np.errstate(invalid="ignore"):
        for j in range(q):
            df[j] = _satterthwaite_df(squares[:, j], projections[:, :, j], hat_core)
    return CovarianceAndDf(np.asarray(influence @ influence.T), df)


class _ResidualCovarianceFactors(NamedTuple):
    """Factors of Z K Z', where residuals of independent errors have the covariance I - Z K Z'."""

    rows: np.ndarray  # Z, (n, m)
    core: np.ndarray  # K, (m, m)


def _factors_of_residual_covariance(
    matrix: np.ndarray, bread: np.ndarray, sampling: np.ndarray | None
) -> _ResidualCovarianceFactors:
    """Return Z (n, m) and K (m, m) of the covariance I - Z K Z' that residuals of independent errors have.

    Without `sampling` Z K Z' is the hat matrix, Z = X and K = M. With it Z = (X, WX), and K has the blocks
    -S, M, M and 0 in the notation of `bias_reduced_covariance`.
    """
    if sampling is None:
        return _ResidualCovarianceFactors(matrix, bread)
    weighted = matrix * sampling[:, None]
    s = bread @ (weighted.T @ weighted) @ bread
    core = np.block([[-s, bread], [bread, np.zeros_like(bread)]])
    return _ResidualCovarianceFactors(np.hstack([matrix, weighted]), core)


def _satterthwaite_df(squares: np.ndarray, projections: np.ndarray, hat_core: np.ndarray) -> float:
    """Satterthwaite's tr(B)^2 / tr(B^2) for B = diag(d) - C K C' (G, G).

    d are the `squares` (G,), C the `projections` (G, m) and K the `hat_core` (m, m).
    """
    if len(squares) <= _MAX_DIRECT_CLUSTERS:
        form = np.diag(squares) - projections @ hat_core @ projections.T
        return float(np.trace(form) ** 2 / (form**2).sum())
    # With many clusters the matrix (G, G) is avoided. Outside of the diagonal its elements are those of
    # -C K C', whose squares sum to tr(K C'C K C'C).
    product = projections @ hat_core
    hat_diagonal = (product * projections).sum(axis=1)
    gram = projections.T @ product
    diagonal = squares - hat_diagonal
    sum_of_squares = (diagonal**2).sum() + (gram * gram.T).sum() - (hat_diagonal**2).sum()
    return float(diagonal.sum() ** 2 / sum_of_squares)


class _AdjustedBatch(NamedTuple):
    """Adjusted rows of g clusters that have i rows each."""

    clusters: NDArray[np.integer]  # (g,), codes
    positions: NDArray[np.integer]  # (g, i), of the clusters' rows
    adjusted: np.ndarray  # (g, i, k)


def _cr2_adjusted_design_batches(
    matrix: np.ndarray,
    rows_of_clusters: Sequence[NDArray[np.integer]],
    variances: np.ndarray | None,
    exponent: float,
    sampling: np.ndarray | None = None,
) -> Iterator[_AdjustedBatch]:
    """Yield the adjusted rows A X_g, or A W_g X_g with `sampling`, of batches of clusters of equal size.

    With `sampling`, A is V_g^(-1/2) whatever the `exponent`.
    """
    if sampling is not None:
        yield from _cr2_adjusted_weighted_design_batches(matrix, rows_of_clusters, variances, sampling)
        return
    basis = np.linalg.qr(matrix)[0]
    sizes = np.array([len(rows) for rows in rows_of_clusters])
    for size in np.unique(sizes):
        # With the exponent -1 both roots give the same matrix.
        has_model_root = variances is not None and size <= _MAX_ROOT_ROWS and exponent == -0.5
        width = matrix.shape[1]
        if has_model_root:
            width = max(width, size)
        for batch in _split_into_batches(np.flatnonzero(sizes == size), size * width):
            rows = np.array([rows_of_clusters[g] for g in batch])
            if size == 1:
                one_minus_leverage = 1 - (basis[rows] ** 2).sum(axis=2, keepdims=True)
                adjusted = matrix[rows] * _pseudo_inverse_power(one_minus_leverage, _SATURATED, exponent)
            elif variances is None or not has_model_root or (np.ptp(variances[rows], axis=1) == 0).all():
                adjusted = _residual_covariance_power_times_designs(matrix[rows], basis[rows], exponent)
            else:
                covariance = np.eye(size) - basis[rows] @ basis[rows].transpose(0, 2, 1)
                adjusted = _cr2_adjusted_designs_by_model_root(matrix[rows], covariance, variances[rows])
            yield _AdjustedBatch(batch, rows, adjusted)


def _split_into_batches(clusters: NDArray[np.integer], numbers_per_cluster: int) -> list[np.ndarray]:
    """Split cluster codes into batches whose rows have about `_BATCH_NUMBERS` numbers in all."""
    n_batches = math.ceil(len(clusters) * numbers_per_cluster / _BATCH_NUMBERS)
    return np.array_split(clusters, min(len(clusters), n_batches))


def _residual_covariance_power_times_designs(
    cluster_designs: np.ndarray, cluster_bases: np.ndarray, exponent: float
) -> np.ndarray:
    """Return (I - H_gg)^exponent X_g of clusters, from X_g (`cluster_designs`) and Q_g (`cluster_bases`).

    Both have the shape (clusters, rows of a cluster, columns). H_gg = Q_g Q_g' is the cluster's block of the
    hat matrix. Directions in which I - H_gg is 0, but for rounding, stay 0.
    """
    left, singular, _ = np.linalg.svd(cluster_bases, full_matrices=False)
    factors = _pseudo_inverse_power(1 - singular**2, _SATURATED, exponent) - 1
    changes = left @ (factors[:, :, None] * (left.transpose(0, 2, 1) @ cluster_designs))
    return np.asarray(cluster_designs + changes)


def _cr2_adjusted_designs_by_model_root(
    cluster_designs: np.ndarray, residual_covariances: np.ndarray, cluster_variances: np.ndarray
) -> np.ndarray:
    """Return V (V C V)^(-1/2) X of each cluster, (g, i, k).

    X are the `cluster_designs` (g, i, k), C the `residual_covariances` (g, i, i) and V the
    `cluster_variances` (g, i).
    """
    # A constant factor of V cancels.
    relative = (cluster_variances / cluster_variances.max(axis=1, keepdims=True))[:, :, None]
    values, vectors = np.linalg.eigh(relative * residual_covariances * relative.transpose(0, 2, 1))
    factors = _pseudo_inverse_power(values, _NULL_EIGENVALUE, -0.5)[:, :, None]
    return np.asarray(relative * (vectors @ (factors * (vectors.transpose(0, 2, 1) @ cluster_designs))))


def _cr2_adjusted_weighted_design_batches(
    matrix: np.ndarray,
    rows_of_clusters: Sequence[NDArray[np.integer]],
    variances: np.ndarray | None,
    sampling: np.ndarray,
) -> Iterator[_AdjustedBatch]:
    """Yield A W_g X_g of each cluster as `_cr2_adjusted_design_batches` does; a batch is one cluster."""
    weighted = matrix * sampling[:, None]
    bread = np.linalg.inv(matrix.T @ weighted)
    hat_rows, hat_core = _factors_of_residual_covariance(matrix, bread, sampling)
    for g, rows in enumerate(rows_of_clusters):
        z = hat_rows[rows]
        design = weighted[rows]
        if variances is not None and 1 < len(rows) <= _MAX_ROOT_ROWS and np.ptp(variances[rows]) > 0:
            covariance = np.eye(len(rows)) - z @ hat_core @ z.T
            adjusted = _cr2_adjusted_designs_by_model_root(
                design[None], covariance[None], variances[None, rows]
            )[0]
        else:
            # V_g differs from I in the span of Z_g only, and its root is computed there.
            basis = np.linalg.qr(z)[0]
            coordinates = basis.T @ z
            covariance = np.eye(len(coordinates)) - coordinates @ hat_core @ coordinates.T
            values, vectors = np.linalg.eigh(covariance)
            vectors = basis @ vectors
            factors = _pseudo_inverse_power(values, _SATURATED, -0.5) - 1
            adjusted = design + vectors @ (factors[:, None] * (vectors.T @ design))
        yield _AdjustedBatch(np.array([g]), rows[None], adjusted[None])


def _pseudo_inverse_power(values: np.ndarray, floor: float, exponent: float) -> np.ndarray:
    """Return a negative power of values as in a pseudo-inverse: 0 for values up to `floor`."""
    return np.where(values > floor, np.maximum(values, floor) ** exponent, 0.0)


def closest_wishart_df(
    matrix: np.ndarray,
    bread: np.ndarray,
    clusters: NDArray[np.integer],
    contrasts: np.ndarray,
    variances: np.ndarray | None = None,
    exponent: float = -0.5,
    sampling: np.ndarray | None = None,
) -> float:
    """Degrees of freedom eta of the Wishart distribution closest to CR2's of combinations (q, k).

    Q = b' V^-1 b is then taken for Hotelling's T^2, (eta - q + 1) / (eta q) Q for F(q, eta - q + 1); NaN
    for a single cluster. With Omega = C M C' of the `contrasts` C (their covariance but for sigma^2, if
    errors are independent), D = Omega^(-1/2) V Omega^(-1/2) has mean I, and eta is such that its entries
    vary as much in sum as those of a Wishart matrix over eta: eta = q (q + 1) / sum_st Var(D_st), "HTZ"
    in R's clubSandwich. With N_gh = P_g'(I - H)_gh P_h, P_g = A X_g M C' Omega^(-1/2), the sum is that of
    tr(N_gh)^2 + tr(N_gh^2) over pairs of clusters. For q = 1 this is Satterthwaite's df of
    `bias_reduced_covariance`. Any root of Omega gives the same eta; it is Cholesky's here. With another
    `exponent` Omega is the sum of P_g'(I - H)_gg P_g, which V has on average under the model. With weights of
    `sampling` Omega is C S C', S of `bias_reduced_covariance`.
    """
    q, k = contrasts.shape
    groups = rows_by_cluster(clusters)
    if len(groups) < 2:
        return float("nan")
    hat_rows, hat_core = _factors_of_residual_covariance(matrix, bread, sampling)
    directions = contrasts @ bread
    if exponent != -0.5:
        omega = _expected_cr2_covariance(matrix, bread, groups, directions, variances, exponent)
    elif sampling is not None:
        s = -hat_core[:k, :k]
        omega = contrasts @ s @ contrasts.T
    else:
        omega = contrasts @ bread @ contrasts.T
    standardised = np.linalg.solve(np.linalg.cholesky(omega), directions).T
    # P_g'P_g and Z_g'P_g of each cluster
    squares = np.empty((len(groups), q, q))
    projections = np.empty((len(groups), len(hat_core), q))
    for batch, rows, adjusted in _cr2_adjusted_design_batches(matrix, groups, variances, exponent, sampling):
        p = adjusted @ standardised
        squares[batch] = p.transpose(0, 2, 1) @ p
        projections[batch] = hat_rows[rows].transpose(0, 2, 1) @ p
    if len(groups) > _MAX_DIRECT_CLUSTERS:
        total_variance = _total_entry_variance_from_cluster_sums(squares, projections, hat_core)
    else:
        total_variance = _total_entry_variance_from_cluster_pairs(squares, projections, hat_core)
    return float(q * (q + 1) / total_variance)


def _expected_cr2_covariance(
    matrix: np.ndarray,
    bread: np.ndarray,
    rows_of_clusters: Sequence[NDArray[np.integer]],
    directions: np.ndarray,
    variances: np.ndarray | None,
    exponent: float,
) -> np.ndarray:
    """Expected adjusted covariance (q, q) of combinations C under the model; `directions` are C M (q, k).

    It is the sum over clusters of P_g'(I - H)_gg P_g with P_g = A X_g M C'.
    """
    q = len(directions)
    mean = np.zeros((q, q))
    for _, rows, adjusted in _cr2_adjusted_design_batches(matrix, rows_of_clusters, variances, exponent):
        p = adjusted @ directions.T
        projection = matrix[rows].transpose(0, 2, 1) @ p
        mean += np.einsum("gis,git->st", p, p)
        mean -= np.einsum("gks,kl,glt->st", projection, bread, projection)
    return mean


def _total_entry_variance_from_cluster_sums(
    squares: np.ndarray, projections: np.ndarray, hat_core: np.ndarray
) -> float:
    """Variance of the entries of D, added up: tr(N_gh)^2 + tr(N_gh^2) over all pairs of clusters g and h.

    D and N_gh are those of `closest_wishart_df`. The sum is computed from sums over clusters.
    N_gh is -C_g'K C_h with C the `projections` (G, m, q), plus the `squares` (G, q, q) where g = h. The sum
    over pairs of -C_g'K C_h is a product of sums over clusters, in which the terms of g = h are replaced.
    """
    hat_blocks = projections.transpose(0, 2, 1) @ hat_core @ projections
    # Elements C_g[k, s] C_g[j, t], summed over clusters: both traces of a pair (g, h) are sums of products of
    # one such element of g and one of h.
    gram = np.einsum("gks,gjt->ksjt", projections, projections, optimize=True)
    core_gram = np.einsum("lk,ksjt->lsjt", hat_core, gram, optimize=True)
    squared_traces = np.einsum("lsjt,jtls->", core_gram, core_gram)
    traces_of_squares = np.einsum("lsjt,jslt->", core_gram, core_gram)
    all_pairs = squared_traces + traces_of_squares
    return float(
        all_pairs
        - _squared_traces_plus_traces_of_squares(hat_blocks)
        + _squared_traces_plus_traces_of_squares(squares - hat_blocks)
    )


def _total_entry_variance_from_cluster_pairs(
    squares: np.ndarray, projections: np.ndarray, hat_core: np.ndarray
) -> float:
    """Return what `_total_entry_variance_from_cluster_sums` does, without subtraction of large numbers."""
    total = 0.0
    # One cluster with all others at a time, as all pairs may not fit into memory
    for g in range(len(squares)):
        blocks = -np.einsum("ks,hkt->hst", hat_core @ projections[g], projections)
        blocks[g] += squares[g]
        total += _squared_traces_plus_traces_of_squares(blocks)
    return total


def _squared_traces_plus_traces_of_squares(blocks: np.ndarray) -> float:
    """Sum of tr(N)^2 + tr(N^2) over the matrices N in `blocks` (G, q, q)."""
    squared_traces = (np.trace(blocks, axis1=1, axis2=2) ** 2).sum()
    traces_of_squares = np.einsum("hst,hts->", blocks, blocks)
    return float(squared_traces + traces_of_squares)


def wald_f_statistic(
    coefficients: np.ndarray, covariance: np.ndarray, whitening_covariance: np.ndarray
) -> float:
    """Return the Wald statistic b' V^-1 b / q of q coefficients b with covariance V.

    It is NaN if V is undefined, or singular relative to the classical covariance, `whitening_covariance`.
    """
    q = len(coefficients)
    if q == 0 or not np.isfinite(covariance).all():
        return float("nan")
    # With L L' the classical covariance, V is expressed by L^-1 V L^-1'.
    root = np.linalg.cholesky(whitening_covariance)
    half_whitened = np.linalg.solve(root, covariance)
    whitened = np.linalg.solve(root, half_whitened.T)
    values, vectors = np.linalg.eigh((whitened + whitened.T) / 2)
    if values[0] <= max(_SINGULAR * values[-1], _ZERO_VARIANCE):
        return float("nan")
    projected = vectors.T @ np.linalg.solve(root, coefficients)
    return float((projected**2 / values).sum() / q)
