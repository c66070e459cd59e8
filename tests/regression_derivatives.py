"""Derivatives of means of outcomes by small steps, which those of a model's solution are compared with."""

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
