"""Distribution of the largest absolute statistic of a family whose statistics are multivariate t."""

from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from scipy import linalg, optimize, special
from scipy.stats import qmc

#: Eigenvalues of a correlation matrix below this share of the largest one are rounding errors of zero.
_SMALLEST_EIGENVALUE = 1e-10
#: Two statistics are the same one, or its negative, if 1 - abs(correlation) is below this.
_SAME = 1e-12
#: Number of angles at which the integrand is evaluated.
_N_ANGLES = 64
#: Number of points of Sobol's sequence for all statistics together, and the fewest for one of them.
_N_POINTS = 2**19
_FEWEST_POINTS = 2**9
#: Number of points of a circle for each statistic; equally spaced ones are far more precise than Sobol's.
_N_CIRCLE_POINTS = 2**14
#: Seed that scrambles Sobol's sequence, so that results are always the same.
_SEED = 0


class LargestStatistic:
    """The largest absolute value of statistics that follow a multivariate t distribution.

    Each statistic is Z_i / S: the Z_i are normal with a correlation matrix, which may be singular, and the
    square of S is independent of them and chi-squared, divided by its degrees of freedom df. If r is the rank
    of the matrix, then Z_i = a_i'Z for unit vectors a_i and r independent normal variables Z. The direction
    of Z is independent of its length, and the squared length divided by r S^2 has an F distribution with r
    and df degrees of freedom. Where phi is the angle between Z and the nearest of the lines along the a_i,
    the largest statistic exceeds c if F exceeds c^2 / (r cos(phi)^2).

    The directions to which a_i is nearest are integrated in polar coordinates. Around a_i they extend, in a
    direction w perpendicular to it, up to the angle at which another line is as near. The integral over phi
    is by a quadrature, that over w an average over points: exact for r = 2, over equally spaced points for r
    = 3, and over scrambled points of Sobol's sequence for a larger rank. In the tail small angles alone
    count, and the integral becomes Bonferroni's bound, so that small P values have small relative errors.

    Genz A, Bretz F. Computation of Multivariate Normal and t Probabilities. Springer 2009.
    doi:10.1007/978-3-642-01689-9
    """

    def __init__(self, correlation: np.ndarray) -> None:
        """Prepare the integral for a correlation matrix (n, n)."""
        self._vectors = _unit_vectors_distinct_up_to_sign(correlation)
        n_statistics, rank = self._vectors.shape
        if n_statistics > 1:
            borders = _borders_where_largest_changes(self._vectors)
            self._quadrature = _chebyshev_quadrature(borders, n_statistics, rank)

    def tail(self, bound: np.ndarray, df: np.ndarray) -> np.ndarray:
        """Return the probabilities (m,) that the largest statistic exceeds bounds (m,).

        `df` (m,) are degrees of freedom, infinite ones for the normal distribution. Probabilities lie between
        the probability for a single statistic and Bonferroni's bound.
        """
        n_statistics, rank = self._vectors.shape
        single = np.asarray(2 * special.stdtr(df, -bound))
        if n_statistics == 1:
            return single
        angles, weights = self._quadrature
        ratio = bound[:, None] ** 2 / (rank * np.cos(angles) ** 2)
        probability = _f_tail(ratio, rank, df[:, None]) @ weights
        return np.asarray(np.clip(probability, single, np.minimum(n_statistics * single, 1)))

    def quantile(self, level: float, df: float) -> float:
        """Return the bound that the largest statistic exceeds with probability 1 - level."""
        alpha = 1 - level
        single = -float(special.stdtrit(df, alpha / 2))
        if len(self._vectors) == 1:
            return single
        bonferroni = -float(special.stdtrit(df, alpha / 2 / len(self._vectors)))

        def excess(bound: float) -> float:
            """Return the difference of a tail's probability from alpha."""
            return float(self.tail(np.array([bound]), np.array([df]))[0]) - alpha

        # the bracket is a little wider, as the quantile may be one of its ends
        return float(optimize.brentq(excess, single * (1 - 1e-6), bonferroni * (1 + 1e-6), xtol=1e-12))


class _Quadrature(NamedTuple):
    """Angles and the weights of the probabilities there, (_N_ANGLES,) each."""

    angles: np.ndarray
    weights: np.ndarray


class _Borders(NamedTuple):
    """Borders between the directions to which one statistic and another are nearest, shape (n_points,) each.

    There are equally many for each statistic.
    """

    #: Angle between the border and the statistic to which the directions on this side are nearest.
    angle: np.ndarray
    #: Weight of the border, 1 on average or nearly so.
    weight: np.ndarray


def _unit_vectors_distinct_up_to_sign(correlation: np.ndarray) -> np.ndarray:
    """Return unit vectors (n, rank) whose products are the correlations; equal statistics have one.

    The vectors are written in the basis of Gram and Schmidt, so that the points of the integral, and with
    them its error, are the same with every linear algebra library.
    """
    eigenvalues, eigenvectors = linalg.eigh(correlation)
    is_positive = eigenvalues > _SMALLEST_EIGENVALUE * eigenvalues.max()
    vectors = eigenvectors[:, is_positive] * np.sqrt(eigenvalues[is_positive])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    is_same = 1 - np.abs(vectors @ vectors.T) < _SAME
    is_repeated = np.tril(is_same, -1).any(axis=1)
    vectors = vectors[~is_repeated]
    return np.asarray(vectors @ _gram_schmidt_basis(vectors).T)


def _gram_schmidt_basis(vectors: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (rank, rank) of the space that vectors (n, rank) span.

    It is made of the vectors in their order; one that depends on earlier ones, up to rounding, adds nothing.
    """
    rank = vectors.shape[1]
    basis = np.empty((0, rank))
    for vector in vectors:
        residual = vector - basis.T @ (basis @ vector)
        length = np.linalg.norm(residual)
        if length > np.sqrt(_SMALLEST_EIGENVALUE):
            basis = np.vstack([basis, residual / length])
    return basis


def _perpendicular_basis(vector: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (rank, rank - 1) of the directions perpendicular to a unit vector (rank,).

    It is made of the columns of Householder's reflection that takes the first axis to the vector's line.
    """
    # Of the reflections to the vector and to its negative this is the one that does not cancel digits. The
    # bound is not 0, where rounding would choose between the two.
    sign = 1.0 if vector[0] > -0.5 else -1.0
    normal = vector.copy()
    normal[0] += sign
    reflection = np.eye(len(vector)) - 2 * np.outer(normal, normal) / (normal @ normal)
    return np.asarray(reflection[:, 1:])


def _borders_where_largest_changes(vectors: np.ndarray) -> _Borders:
    """Return the borders around each of the unit vectors (n, rank)."""
    n_statistics, rank = vectors.shape
    n_points = max(_N_POINTS // n_statistics, _FEWEST_POINTS)
    # Sobol's sequence is even over powers of 2
    n_points = 2 ** int(np.log2(n_points))
    if rank == 3:
        n_points = _N_CIRCLE_POINTS
    sequence = qmc.Sobol(rank - 1, rng=_SEED)
    angles = []
    for position, vector in enumerate(vectors):
        others = np.delete(vectors, position, axis=0)
        perpendicular = _perpendicular_basis(vector)
        directions = _points_on_sphere(sequence, n_points)
        cosines = others @ vector
        slopes = directions @ (others @ perpendicular).T
        for sign in (1, -1):
            # the vector cos(phi) a + sin(phi) w is as near to b as to a where tan(phi) b'w = 1 - b'a, and as
            # near to -b where -tan(phi) b'w = 1 + b'a
            cotangents = np.maximum(sign * slopes / (1 - cosines), -sign * slopes / (1 + cosines))
            # the nearest border has the largest cotangent
            angles.append(np.arctan2(1, cotangents.max(axis=1)))
    angle = np.concatenate(angles)
    weight = np.ones(len(angle))
    if rank > 3:
        # Weights for which the probabilities of all directions add up to 1, by regression on the probability
        # of angles below the border.
        probability = special.betainc((rank - 1) / 2, 0.5, np.sin(angle) ** 2)
        deviation = probability - probability.mean()
        weight += (1 / n_statistics - probability.mean()) * deviation / np.mean(deviation**2)
    return _Borders(angle, weight)


def _points_on_sphere(sequence: qmc.Sobol, n_points: int) -> np.ndarray:
    """Return the next points on a sphere, (n_points, dimension); their negatives are not among them."""
    dimension = sequence.d
    if dimension == 1:
        return np.ones((1, 1))
    if dimension == 2:
        angle = np.pi * (np.arange(n_points) + 0.5) / n_points
        return np.column_stack([np.cos(angle), np.sin(angle)])
    normal = special.ndtri(sequence.random(n_points))
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


def _chebyshev_quadrature(borders: _Borders, n_statistics: int, rank: int) -> _Quadrature:
    """Return angles and weights for the sum of the statistics' integrals, each an average over its borders.

    The integrand is approximated by the polynomial that interpolates it at Chebyshev's nodes.
    """
    end = borders.angle.max()
    nodes = np.cos((np.arange(_N_ANGLES) + 0.5) * np.pi / _N_ANGLES)
    # the interpolating polynomial has the coefficients transform @ values at the nodes
    transform = 2 / _N_ANGLES * chebyshev.chebvander(nodes, _N_ANGLES - 1).T
    # the coefficient of the constant polynomial is the mean of the values, not twice the mean
    transform[0] /= 2
    weights = _chebyshev_integrals_averaged_over_ends(2 * borders.angle / end - 1, borders.weight) @ transform
    angles = end * (nodes + 1) / 2
    density = 2 * np.sin(angles) ** (rank - 2) / special.beta((rank - 1) / 2, 0.5)
    return _Quadrature(angles, n_statistics * density * weights * end / 2)


def _chebyshev_integrals_averaged_over_ends(ends: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return integrals (_N_ANGLES,) of Chebyshev's polynomials from -1 to the ends, averaged over these."""
    # means of the polynomials themselves at the ends, by their recurrence
    means = [weights.mean(), (weights * ends).mean()]
    previous = np.ones_like(ends)
    polynomial = ends
    for _ in range(_N_ANGLES - 1):
        following = 2 * ends * polynomial - previous
        previous = polynomial
        polynomial = following
        means.append((weights * polynomial).mean())
    # column k has the coefficients of the integral of polynomial k
    integrals = chebyshev.chebint(np.eye(_N_ANGLES), lbnd=-1)
    return np.asarray(means @ integrals)


def _f_tail(ratio: np.ndarray, numerator_df: int, df: np.ndarray) -> np.ndarray:
    """Return the probabilities of larger F ratios; with infinite `df`, of chi-squared / `numerator_df`."""
    is_normal = np.isinf(df)
    chi_squared_tail = special.chdtrc(numerator_df, ratio * numerator_df)
    f_tail = special.fdtrc(numerator_df, np.where(is_normal, 1, df), ratio)
    return np.where(is_normal, chi_squared_tail, f_tail)
