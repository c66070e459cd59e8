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
#: Axes of the pixels in arrays of shape (b, channels, m, k).
_PIXELS = (2, 3)


def gradcam_weights(activations: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Return the mean gradient of each channel (Selvaraju et al. 2017, doi:10.1109/ICCV.2017.74)."""
    return gradients.mean(axis=_PIXELS, keepdims=True)


def gradcamplusplus_weights(activations: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Return the sum over each channel of alpha max(G, 0), with a weight alpha for each pixel.

    alpha = G^2 / (2 G^2 + (sum A) G^3) for the activations A of a channel and their gradients G
    (Chattopadhay et al. 2018, doi:10.1109/WACV.2018.00097, equation 19).
    """
    squares = gradients**2
    sums = activations.sum(axis=_PIXELS, keepdims=True)
    alphas = squares / (2 * squares + sums * squares * gradients + 1e-6)
    return (alphas * np.maximum(gradients, 0)).sum(axis=_PIXELS, keepdims=True)


def xgradcam_weights(activations: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Return the mean gradient of each channel, weighted by its activations: sum(G A) / sum(A).

    A are the activations, G their gradients (Fu et al. 2020, doi:10.48550/arXiv.2008.02312).
    """
    sums = activations.sum(axis=_PIXELS, keepdims=True)
    return (gradients * activations / (sums + 1e-7)).sum(axis=_PIXELS, keepdims=True)


def hirescam_weights(activations: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Return the gradient of each pixel (Draelos & Carin 2020, doi:10.48550/arXiv.2011.08891)."""
    return gradients


def layercam_weights(activations: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Return the positive gradient of each pixel (Jiang et al. 2021, doi:10.1109/TIP.2021.3089943)."""
    return np.maximum(gradients, 0)


def weighted_channel_sum(weights: np.ndarray, activations: np.ndarray) -> np.ndarray:
    """Return the sum over channels of the weighted activations, shape (b, m, k)."""
    if weights.shape != activations.shape:
        n_maps, n_channels, height, width = activations.shape
        # a product of matrices, which needs no room for the weighted channels
        channel_weights = weights.reshape(n_maps, 1, n_channels)
        sums = channel_weights @ activations.reshape(n_maps, n_channels, height * width)
        return sums.reshape(n_maps, height, width)
    return (weights * activations).sum(axis=1)


def first_principal_component_maps(activations: np.ndarray) -> np.ndarray:
    """Return the projection of each pixel on the first principal component of the channels, shape (b, m, k).

    By pytorch-grad-cam, whose component has an arbitrary sign.
    """
    from pytorch_grad_cam.utils.svd_on_activations import get_2d_projection

    return np.asarray(get_2d_projection(activations))
