"""Superpixels: the parts of an image that LIME and KernelSHAP hide and show."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from salstats.checks import ShapeError, ValueRangeError, check_choice, check_count

#: Between nearness in place and in value, of images scaled to 0 to 1: scikit-image's advice for gray images.
_COMPACTNESS = 0.1


def superpixels_of(
    image: torch.Tensor,
    segments: str | np.ndarray | Callable[[np.ndarray], np.ndarray] = "grid",
    n_segments: int = 49,
) -> np.ndarray:
    """Return which superpixel each pixel of an image belongs to.

    Parameters
    ----------
    image : Tensor, shape (channels, height, width)
        In the network's numbers.
    segments : "grid", "slic", ndarray of int, shape (height, width), or callable
        "grid": nearly square cells, the same for all images; sides that do not divide give cells that differ
        by a pixel. "slic": scikit-image's SLIC, by place and value. An array gives them for all images;
        a callable takes an image (channels, height, width) and returns them.
    n_segments : int
        About how many, for "grid" and "slic".

    Returns
    -------
    ndarray of int64, shape (height, width)
        Counted from 0 without gaps.

    Raises
    ------
    ShapeError
        An array has another shape than the image.
    ValueRangeError
        An array does not hold whole numbers, or the name is not known.
    """
    shape = (int(image.shape[1]), int(image.shape[2]))
    if isinstance(segments, str):
        check_choice(segments, ("grid", "slic"), "segments")
        n = check_count(n_segments, "n_segments")
        found = grid(shape, n) if segments == "grid" else _slic(image, n)
    else:
        found = segments(image.cpu().numpy()) if callable(segments) else _array(segments)
        found = _array(found)
        if found.shape != shape:
            raise ShapeError(f"segments have shape {found.shape}; the images have {shape}, height and width")
        if found.dtype.kind not in "iu":
            raise ValueRangeError(
                f"segments must be whole numbers, one for each superpixel, not {found.dtype}"
            )
    return np.unique(found, return_inverse=True)[1].reshape(shape)


def grid(shape: tuple[int, int], n_segments: int) -> np.ndarray:
    """Return cells, nearly square and about so many, counted row by row."""
    height, width = shape
    n_rows = min(max(round((n_segments * height / width) ** 0.5), 1), height)
    n_columns = min(max(round(n_segments / n_rows), 1), width)
    rows = np.arange(height) * n_rows // height
    columns = np.arange(width) * n_columns // width
    return np.asarray(rows[:, None] * n_columns + columns)


def _slic(image: torch.Tensor, n_segments: int) -> np.ndarray:
    """Return SLIC superpixels."""
    from skimage.segmentation import slic

    values = image.detach().cpu().double().numpy()
    return np.asarray(
        slic(
            values,
            n_segments=n_segments,
            compactness=_COMPACTNESS,
            channel_axis=0,
            convert2lab=False,
            start_label=0,
        )
    )


def _array(segments: Any) -> np.ndarray:
    """Return an array, wherever it lies."""
    return segments.cpu().numpy() if isinstance(segments, torch.Tensor) else np.asarray(segments)
