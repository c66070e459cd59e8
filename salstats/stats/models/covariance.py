"""Covariance matrices of regression coefficients, on arrays."""

from collections.abc import Iterator, Sequence

import numpy as np

#: What rows leave free of a direction (1 - leverage), below which they determine it by themselves.
_SATURATED = 1e-10
#: Clusters up to which the degrees of freedom come from the matrix written out, which cancels nothing.
_DIRECT = 100
#: Numbers of a block of clusters.
_BLOCK = 1 << 18
#: Rows of a cluster up to which the root of a matrix of its rows is taken.
_ROOTED = 500
#: Share of the largest eigenvalue of such a matrix that is zero but for rounding.
_NULL = 1e-13
#: Share of a coefficient's classical variance in such directions that is more than rounding.
_LOADING = 1e-12
#: Variance over the classical one, below which it is zero but for rounding.
_ZERO = 1e-20
#: The same over the mean square of the fit, to which residuals are rounded.
_ROUNDING = 1e-30
#: Smallest over largest eigenvalue of a covariance (in units of the classical one) that is not singular.
_SINGULAR = 1e-10


def unidentified(matrix: np.ndarray, bread: np.ndarray, clusters: np.ndarray | None) -> np.ndarray:
    """Which coefficients depend on errors that residuals cannot show: no sandwich is defined for them.

    `matrix` is that of a linear model, or rows times the root of their weights; `clusters` are codes 0
    ... G - 1, None for independent rows. A coefficient is w'y with w = X M c, and a sandwich adds up
    (w_g'e_g)^2 over clusters. If a unit vector u that is zero outside cluster g lies in the span of X,
    then u'e = 0 whatever the data, and the part of w_g along u, whose errors move the coefficient, is not
    seen: with a covariate that is 1 in one cluster only, CR1 is far too small. These u are the left
    singular vectors of Q_g, for X = QR, with singular value 1; for a single row, leverage 1. A
    coefficient without such a part is untouched, which is how fixed effects of the clusters work.
    """
    basis = np.linalg.qr(matrix)[0]
    influence = matrix @ bread
    leverage = (basis**2).sum(axis=1)
    if clusters is None:
        unseen = (influence[leverage > 1 - _SATURATED] ** 2).sum(axis=0)
        return np.asarray(unseen > _LOADING * np.diag(bread))
    unseen = np.zeros(len(bread))
    groups = cluster_rows(clusters)
    # the singular values' squares sum to the leverages' sum
    for g in np.flatnonzero(np.bincount(clusters, leverage) > 1 - _SATURATED):
        left, singular, _ = np.linalg.svd(basis[groups[g]], full_matrices=False)
        own = left[:, 1 - singular**2 <= _SATURATED]
        unseen += ((own.T @ influence[groups[g]]) ** 2).sum(axis=0)
    return np.asarray(unseen > _LOADING * np.diag(bread))


def zero_variances(
    variances: np.ndarray, bread: np.ndarray, dispersion: float, mean_square: float
) -> np.ndarray:
    """Which variances are zero but for rounding, on the scale of the classical ones; NaN is not zero.

    `mean_square` is that of the fitted means, to which residuals are rounded.
    """
    floor = max(_ZERO * dispersion, _ROUNDING * mean_square)
    return np.asarray(variances <= floor * np.diag(bread))


def cluster_rows(clusters: np.ndarray) -> list[np.ndarray]:
    """The positions of each cluster's rows."""
    ends = np.cumsum(np.bincount(clusters))
    return np.split(np.argsort(clusters, kind="stable"), ends[:-1])


def heteroscedastic(
    scores: np.ndarray, bread: np.ndarray, leverage: np.ndarray, df_residual: float, kind: str
) -> np.ndarray:
    """A covariance that holds when errors differ in variance, hc0 ... hc3 of MacKinnon and White (1985).

    `scores` (n, k) are what each row adds to the equations that the coefficients solve. Squared residuals
    count once (hc0), times n / (n - k) (hc1), over 1 - h (hc2) or (1 - h)^2 (hc3).

    A row of leverage 1 has residual 0, and h_ij = 0 with every other row j. For the coefficients that it
    moves (`unidentified`) no kind is defined. The others have the estimate and the sum over the other rows
    that they would have without it, so that its term in hc2 and hc3, 0 / 0, is left out.

    MacKinnon JG, White H. Some heteroskedasticity-consistent covariance matrix estimators with improved
    finite sample properties. J Econometrics 1985;29:305-325. https://doi.org/10.1016/0304-4076(85)90158-7
    """
    own = 1 - leverage <= _SATURATED
    squared = np.where(own, 0.0, 1.0)
    if kind in ("hc2", "hc3"):
        squared = squared / (1 - np.where(own, 0.0, leverage)) ** (1 if kind == "hc2" else 2)
    covariance = bread @ (scores.T * squared) @ scores @ bread
    return np.asarray(covariance * (len(scores) / df_residual) if kind == "hc1" else covariance)


def cluster_robust(
    scores: np.ndarray, bread: np.ndarray, clusters: np.ndarray, df_residual: float, *, corrected: bool = True
) -> np.ndarray:
    """The covariance when rows of one cluster depend on each other; NaN for a single cluster.

    The sandwich of cluster sums (CR0), times Stata's G / (G - 1) * (n - 1) / (n - k) if `corrected` (CR1).

    Cameron AC, Miller DL. A practitioner's guide to cluster-robust inference. J Hum Resour
    2015;50:317-372. https://doi.org/10.3368/jhr.50.2.317
    """
    n_clusters = int(clusters.max()) + 1
    if n_clusters < 2:
        return np.full_like(bread, np.nan)
    half = bread @ cluster_sums(scores, clusters).T
    factor = n_clusters / (n_clusters - 1) * (len(scores) - 1) / df_residual if corrected else 1.0
    return np.asarray(factor * (half @ half.T))


def cluster_sums(rows: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """The sum of the rows of each cluster, shape (G, k)."""
    sums = np.zeros((int(clusters.max()) + 1, rows.shape[1]))
    np.add.at(sums, clusters, rows)
    return sums


def bias_reduced(
    matrix: np.ndarray,
    residual: np.ndarray,
    bread: np.ndarray,
    clusters: np.ndarray,
    spread: np.ndarray | None = None,
    sampling: np.ndarray | None = None,
    *,
    contrasts: np.ndarray | None = None,
    power: float = -0.5,
) -> tuple[np.ndarray, np.ndarray]:
    """CR2 of least squares, and Satterthwaite degrees of freedom of combinations.

    `contrasts` are the combinations, by default the coefficients; NaN for a single cluster. Of other
    models `matrix` and `residual` are rows of X and of y - mu over their standard deviation, that is times
    and over the root of their weights, so that bread is (X'X)^-1 of them too.

    Residuals of cluster g are multiplied by A = (I - H_gg)^(-1/2), the symmetric root, with the
    pseudo-inverse where a cluster determines a direction by itself (`unidentified` coefficients have no
    CR2). From the singular values s and left vectors U of Q_g, X = QR, this is
    I + U diag((1 - s^2)^(-1/2) - 1) U', so that only k x k work is done however large a cluster is. Where
    the `spread` V (n,), variances by the model, differs within a cluster, A is the other root
    V (V (I - H_gg) V)^(-1/2), which R's clubSandwich takes; either is unbiased under the model, and clusters
    of more than 500 rows have the first. With p_g = A X_g M c for a combination c, the variance is a
    quadratic form in independent errors with B_gh = p_g'(I - H)_gh p_h, and df = tr(B)^2 / tr(B^2).

    With weights of `sampling` W (n,) M is (X'WX)^-1 and a cluster's residuals, of errors with variance 1 as
    before, have the covariance V_g = I - X_g M X_g'W_g - W_g X_g M X_g' + X_g S X_g', S = M X'W^2 X M, where
    I - H_gg stands without; scores are X_g'W_g A e_g with A = V_g^(-1/2). This is clubSandwich's CR2 of
    lm(weights=), whose weights say how many cases a row stands for, not how precise it is.

    With the `power` -1 instead of -1/2 this is the covariance of Mancl and DeRouen (CR3 without the factor
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
    groups = cluster_rows(clusters)
    if len(groups) < 2:
        return np.full((k, k), np.nan), np.full(q, np.nan)
    scores = np.empty((len(groups), k))
    shown, between = _between(matrix, bread, sampling)
    # sums over the rows of a cluster: p'p and X'p, for every combination
    own = np.empty((len(groups), q))
    crossed = np.empty((len(groups), len(between), q))
    for which, rows, adjusted in _adjusted(matrix, groups, spread, power, sampling):
        scores[which] = np.einsum("gik,gi->gk", adjusted, residual[rows])
        weights = adjusted @ directions
        own[which] = (weights**2).sum(axis=1)
        crossed[which] = shown[rows].transpose(0, 2, 1) @ weights
    half = bread @ scores.T
    with np.errstate(invalid="ignore"):
        # 0 / 0 where single clusters determine all of a combination
        df = np.array([_satterthwaite(own[:, j], crossed[:, :, j], between) for j in range(q)])
    return np.asarray(half @ half.T), df


def _between(
    matrix: np.ndarray, bread: np.ndarray, sampling: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows Z and a matrix K with Z_g K Z_h' = H_gh, or what of the residuals' covariance stands for it."""
    if sampling is None:
        return matrix, bread
    weighted = matrix * sampling[:, None]
    both = bread @ (weighted.T @ weighted) @ bread
    return np.hstack([matrix, weighted]), np.block([[-both, bread], [bread, np.zeros_like(bread)]])


def _satterthwaite(own: np.ndarray, sums: np.ndarray, between: np.ndarray) -> float:
    """tr(B)^2 / tr(B^2) of B = diag(own) - sums K sums', `own` (G,) and `sums` (G, k)."""
    if len(own) <= _DIRECT:
        form = np.diag(own) - sums @ between @ sums.T
        return float(np.trace(form) ** 2 / (form**2).sum())
    # the same without a matrix of clusters by clusters: |Z K Z'|^2 = tr(K Z'Z K Z'Z)
    product = sums @ between
    diagonal, gram = (product * sums).sum(axis=1), sums.T @ product
    left = own - diagonal
    return float(left.sum() ** 2 / ((left**2).sum() + (gram * gram.T).sum() - (diagonal**2).sum()))


def _adjusted(
    matrix: np.ndarray,
    groups: Sequence[np.ndarray],
    spread: np.ndarray | None,
    power: float,
    sampling: np.ndarray | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """A X_g, or A W_g X_g, of clusters of one size: their numbers, rows and values (g, i, k)."""
    if sampling is not None:
        yield from _adjusted_by_weights(matrix, groups, spread, sampling)
        return
    basis = np.linalg.qr(matrix)[0]
    sizes = np.array([len(rows) for rows in groups])
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        # a power of -1 has one meaning, whatever the root
        rooted = spread is not None and size <= _ROOTED and power == -0.5
        numbers = len(alike) * size * max(matrix.shape[1], size if rooted else 1)
        # some thousand numbers at a time stay in the processor's cache
        for which in np.array_split(alike, min(len(alike), -(-numbers // _BLOCK))):
            rows = np.array([groups[g] for g in which])
            part, own = matrix[rows], basis[rows]
            if size == 1:
                free = 1 - (own**2).sum(axis=2, keepdims=True)
                yield which, rows, part * _inverse(free, _SATURATED, power)
            elif not rooted or spread is None or (np.ptp(spread[rows], axis=1) == 0).all():
                left, singular, _ = np.linalg.svd(own, full_matrices=False)
                factor = _inverse(1 - singular**2, _SATURATED, power) - 1
                yield which, rows, part + left @ (factor[:, :, None] * (left.transpose(0, 2, 1) @ part))
            else:
                relative = (spread[rows] / spread[rows].max(axis=1, keepdims=True))[:, :, None]
                form = relative * (np.eye(size) - own @ own.transpose(0, 2, 1)) * relative.transpose(0, 2, 1)
                values, vectors = np.linalg.eigh(form)
                turned = _inverse(values, _NULL, power)[:, :, None] * (vectors.transpose(0, 2, 1) @ part)
                yield which, rows, relative * (vectors @ turned)


def _adjusted_by_weights(
    matrix: np.ndarray, groups: Sequence[np.ndarray], spread: np.ndarray | None, sampling: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """A W_g X_g of each cluster: its number, rows and values (1, i, k)."""
    weighted = matrix * sampling[:, None]
    shown, between = _between(matrix, np.linalg.inv(matrix.T @ weighted), sampling)
    for g, rows in enumerate(groups):
        if spread is not None and 1 < len(rows) <= _ROOTED and np.ptp(spread[rows]) > 0:
            relative = (spread[rows] / spread[rows].max())[:, None]
            free = np.eye(len(rows)) - shown[rows] @ between @ shown[rows].T
            values, vectors = np.linalg.eigh(relative * free * relative.T)
            turned = _inverse(values, _NULL, -0.5)[:, None] * (vectors.T @ weighted[rows])
            yield np.array([g]), rows[None], (relative * (vectors @ turned))[None]
            continue
        # but for I the covariance acts on the columns of X_g and W_g X_g alone
        basis = np.linalg.qr(shown[rows])[0]
        inside = basis.T @ shown[rows]
        values, vectors = np.linalg.eigh(np.eye(len(inside)) - inside @ between @ inside.T)
        vectors = basis @ vectors
        turned = (_inverse(values, _SATURATED, -0.5) - 1)[:, None] * (vectors.T @ weighted[rows])
        yield np.array([g]), rows[None], (weighted[rows] + vectors @ turned)[None]


def _inverse(values: np.ndarray, floor: float, power: float) -> np.ndarray:
    """A negative power of values, 0 up to a floor."""
    return np.where(values > floor, np.maximum(values, floor) ** power, 0.0)


def hotelling_df(
    matrix: np.ndarray,
    bread: np.ndarray,
    clusters: np.ndarray,
    contrasts: np.ndarray,
    spread: np.ndarray | None = None,
    power: float = -0.5,
    sampling: np.ndarray | None = None,
) -> float:
    """The degrees of freedom eta of the Wishart distribution closest to CR2's of combinations (q, k).

    Q = b' V^-1 b is then taken for Hotelling's T^2, (eta - q + 1) / (eta q) Q for F(q, eta - q + 1); NaN
    for a single cluster. With Omega = C M C' of the `contrasts` C (their covariance but for sigma^2, if
    errors are independent), D = Omega^(-1/2) V Omega^(-1/2) has mean I, and eta is such that its entries
    vary as much in sum as those of a Wishart matrix over eta: eta = q (q + 1) / sum_st Var(D_st), "HTZ"
    in R's clubSandwich. With N_gh = P_g'(I - H)_gh P_h, P_g = A X_g M C' Omega^(-1/2), the sum is that of
    tr(N_gh)^2 + tr(N_gh^2) over pairs of clusters. For q = 1 this is Satterthwaite's df of
    `bias_reduced`. Any root of Omega gives the same eta; it is Cholesky's here. With another `power` Omega
    is the sum of P_g'(I - H)_gg P_g, which V has on average under the model. With weights of `sampling` Omega
    is S of `bias_reduced`.
    """
    q, k = contrasts.shape
    groups = cluster_rows(clusters)
    if len(groups) < 2:
        return float("nan")
    shown, between = _between(matrix, bread, sampling)
    by_model = bread if sampling is None else -between[:k, :k]
    omega = contrasts @ by_model @ contrasts.T
    directions = contrasts @ bread
    if power != -0.5:
        omega = np.zeros_like(omega)
        for _, rows, adjusted in _adjusted(matrix, groups, spread, power):
            weights = adjusted @ directions.T
            shared = matrix[rows].transpose(0, 2, 1) @ weights
            omega += np.einsum("gis,git->st", weights, weights)
            omega -= np.einsum("gks,kl,glt->st", shared, bread, shared)
    root = np.linalg.cholesky(omega)
    standard = np.linalg.solve(root, directions).T
    own = np.empty((len(groups), q, q))
    crossed = np.empty((len(groups), len(between), q))
    for which, rows, adjusted in _adjusted(matrix, groups, spread, power, sampling):
        weights = adjusted @ standard
        own[which] = weights.transpose(0, 2, 1) @ weights
        crossed[which] = shown[rows].transpose(0, 2, 1) @ weights
    if len(groups) > _DIRECT:
        # N_gh = -C_g'K C_h but for g = h: sums over pairs are products of sums over clusters
        product = crossed.transpose(0, 2, 1) @ between @ crossed
        gram = np.einsum("gks,gjt->ksjt", crossed, crossed, optimize=True)
        left = np.einsum("lk,ksjt->lsjt", between, gram, optimize=True)
        pairs = np.einsum("lsjt,jtls->", left, left) + np.einsum("lsjt,jslt->", left, left)
        return float(q * (q + 1) / (pairs - _squares(product) + _squares(own - product)))
    variance = 0.0
    for g in range(len(groups)):
        # a row of blocks at a time: all of them may not fit into memory
        blocks = -np.einsum("ks,hkt->hst", between @ crossed[g], crossed)
        blocks[g] += own[g]
        variance += _squares(blocks)
    return float(q * (q + 1) / variance)


def _squares(blocks: np.ndarray) -> float:
    """The sum of tr(N)^2 + tr(N^2) over matrices N."""
    return float((np.trace(blocks, axis1=1, axis2=2) ** 2).sum() + np.einsum("hst,hts->", blocks, blocks))


def wald_statistic(coefficients: np.ndarray, covariance: np.ndarray, classical: np.ndarray) -> float:
    """B' V^-1 b / q; NaN where V is undefined, or singular in units of `classical`."""
    q = len(coefficients)
    if q == 0 or not np.isfinite(covariance).all():
        return float("nan")
    root = np.linalg.cholesky(classical)
    whitened = np.linalg.solve(root, np.linalg.solve(root, covariance).T)
    values, vectors = np.linalg.eigh((whitened + whitened.T) / 2)
    if values[0] <= max(_SINGULAR * values[-1], _ZERO):
        return float("nan")
    projected = vectors.T @ np.linalg.solve(root, coefficients)
    return float((projected**2 / values).sum() / q)
