"""Scores between 0 and 1 with both ends, and derivatives of means of outcomes, compared with small steps."""

import numpy as np


def assert_derivatives_are_slopes(mean_function, predictors, step=1e-5):
    """Compare the first and second derivatives of a mean function with the slopes of small steps.

    `predictors` has the shape (n, k).
    """
    _, gradient, hessian = mean_function(predictors)
    for column in range(predictors.shape[1]):
        move = np.zeros(predictors.shape)
        move[:, column] = step
        above = mean_function(predictors + move)
        below = mean_function(predictors - move)
        np.testing.assert_allclose(
            gradient[:, column], (above.mean - below.mean) / (2 * step), rtol=1e-6, atol=1e-9
        )
        np.testing.assert_allclose(
            hessian[:, column], (above.gradient - below.gradient) / (2 * step), rtol=1e-6, atol=1e-9
        )


def scores_with_ends(*, zeros=True, ones=True):
    """The design (80, 2) and the response (80,) of scores of which some are 0 and 1."""
    rng = np.random.default_rng(4)
    matrix = np.column_stack([np.ones(80), rng.normal(size=80)])
    response = rng.beta(3, 2, 80)
    if zeros:
        response[:15] = 0.0
    if ones:
        response[15:40] = 1.0
    return matrix, response
