"""Matrices of linear mixed models written out in full, against which elimination by blocks is tested."""

import numpy as np

from salstats.stats.models.mixed.terms import RandomTerm

#: Theta of `four_terms`, at which all covariances are regular.
THETA = np.array([0.5, 0.2, 0.3, 0.4, -0.1, 0.6, 0.3, 0.2, 0.35])


def four_terms():
    """Model matrix, response and terms: crossed and nested, correlated and not, in blocks and dense.

    Cases within patients are blocks; readers and groups are crossed with them.
    """
    rng = np.random.default_rng(3)
    n = 300
    reader = rng.integers(0, 12, n)
    case = rng.integers(0, 40, n)
    method = rng.integers(0, 2, n)
    matrix = np.column_stack([np.ones(n), method, rng.normal(size=n)])
    terms = [
        RandomTerm("reader", ("a", "b"), reader, 12, matrix[:, :2]),
        RandomTerm("case", ("a", "b"), case, 40, matrix[:, :2]),
        RandomTerm("patient", ("a", "b"), case // 4, 10, matrix[:, [0, 2]], correlated=False),
        RandomTerm("group", ("a",), method * 3 + reader // 4, 6, matrix[:, :1]),
    ]
    return matrix, rng.normal(size=n), terms


def differences(function, at):
    """Derivatives by each element: five-point differences, exact for polynomials of degree four."""
    steps = 1e-3 * np.eye(len(at))
    near = [8 * (function(at + h) - function(at - h)) for h in steps]
    far = [function(at + 2 * h) - function(at - 2 * h) for h in steps]
    return (np.array(near) - np.array(far)) / 12e-3


def random_effects_matrix(term):
    """Z of one term, (n_rows, n_levels * n_effects): levels in order, the effects of a level together."""
    n_rows, n_effects = term.matrix.shape
    z = np.zeros((n_rows, term.n_levels, n_effects))
    z[np.arange(n_rows), term.codes] = term.matrix
    return z.reshape(n_rows, -1)


def relative_covariance(terms, term_covariances):
    """V = I + the sum of Z Sigma Z' over terms, where Sigma has a term's covariance for each level."""
    v = np.eye(len(terms[0].codes))
    for term, covariance in zip(terms, term_covariances, strict=True):
        z = random_effects_matrix(term)
        v += z @ np.kron(np.eye(term.n_levels), covariance) @ z.T
    return v


def generalized_least_squares(x, y, v):
    """Coefficients, (X'V^-1 X)^-1 and the residual sum of squares weighted by V^-1."""
    v_inverse = np.linalg.inv(v)
    inverse = np.linalg.inv(x.T @ v_inverse @ x)
    coefficients = inverse @ x.T @ v_inverse @ y
    residual = y - x @ coefficients
    return coefficients, inverse, float(residual @ v_inverse @ residual)


def deviance(x, y, v, *, reml, sigma=None):
    """-2 log likelihood of a normal response with covariance sigma^2 V, at the best coefficients.

    Without `sigma` it is that of the best sigma. The restricted likelihood is the one of lme4: the integral
    of the likelihood over the coefficients.
    """
    n, p = x.shape
    _, inverse, rss = generalized_least_squares(x, y, v)
    df = n - p if reml else n
    variance = rss / df if sigma is None else sigma**2
    value = np.linalg.slogdet(v)[1] + df * np.log(2 * np.pi * variance) + rss / variance
    if reml:
        value -= np.linalg.slogdet(inverse)[1]
    return value
