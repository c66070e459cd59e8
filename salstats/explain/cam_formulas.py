"""Formulas of class activation maps, on arrays: how a layer's channels are weighted and joined.

A formula takes what a layer gave and its gradients, each of shape (b, channels, m, k), and returns weights
that multiply the activations: one for each channel, shape (b, channels, 1, 1), or one for each pixel of a
channel. The numbers are those of pytorch-grad-cam, its small constants in denominators included. Importing
that library takes longer than the maps of some hundred images, so it is imported for principal components
alone.
"""

from collections.abc import Callable

import numpy as np

#: Takes activations and gradients, and returns weights of the activations.
Formula = Callable[[np.ndarray, np.ndarray], np.ndarray]
_PIXELS = (2, 3)


def gradcam_weights(activations: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Mean gradient of each channel: Selvaraju et al. (2017)."""
    return gradients.mean(axis=_PIXELS, keepdims=True)


def gradcamplusplus_weights(activations: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Sum of the positive gradients, with the weights of Chattopadhay et al. (2017)."""
    squares = gradients**2
    sums = activations.sum(axis=_PIXELS, keepdims=True)
    alphas = squares / (2 * squares + sums * squares * gradients + 1e-6)
    alphas[gradients == 0] = 0
    return (alphas * np.maximum(gradients, 0)).sum(axis=_PIXELS, keepdims=True)


def xgradcam_weights(activations: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Mean gradient of each channel, weighted by its activations: Fu et al. (2020)."""
    sums = activations.sum(axis=_PIXELS, keepdims=True)
    return (gradients * activations / (sums + 1e-7)).sum(axis=_PIXELS, keepdims=True)


def hirescam_weights(activations: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Gradient of each pixel: Draelos & Carin (2020)."""
    return gradients


def layercam_weights(activations: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Positive gradient of each pixel: Jiang et al. (2021)."""
    return np.maximum(gradients, 0)


def weighted_sum(weights: np.ndarray, activations: np.ndarray) -> np.ndarray:
    """Sum of the weighted channels, shape (b, m, k)."""
    if weights.shape != activations.shape:
        n_maps, n_channels, height, width = activations.shape
        # a product of matrices, which needs no room for the weighted channels
        by_channel = weights.reshape(n_maps, 1, n_channels)
        sums = by_channel @ activations.reshape(n_maps, n_channels, height * width)
        return sums.reshape(n_maps, height, width)
    return (weights * activations).sum(axis=1)


def first_component(activations: np.ndarray) -> np.ndarray:
    """First principal component of the channels, as pytorch-grad-cam has it; shape (b, m, k)."""
    from pytorch_grad_cam.utils.svd_on_activations import get_2d_projection

    return np.asarray(get_2d_projection(activations))
