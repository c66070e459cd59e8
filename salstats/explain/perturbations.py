"""Occlusion and RISE: methods that compare the outputs for an image of which parts are hidden.

Occlusion explains the network's output as it is (a logit, as a rule), RISE the probability. One set of
forward passes serves all targets of an image. `mixed_precision` applies to these passes. `baseline` is the
value of a hidden pixel: "zero", "mean" (of each channel of the image), "blur" (as in `insertion`), a number,
or an array of shape (channels,) or (channels, height, width).
"""

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import torch

from salstats.checks import check_choice, check_count, check_number
from salstats.errors import Setting, ValueRangeError
from salstats.explain.forward_passes import (
    PROBABILITIES,
    function_if_softmax_outputs_or_logarithms,
    to_probabilities,
)
from salstats.explain.request import RawAttributions, Request


def run_occlusion(request: Request) -> RawAttributions:
    """Return the mean fall of the target's output over windows that hide a pixel; (b, 1, height, width).

    Windows start at the first row and column and move by the stride until the image is covered; the last may
    be cut off (Zeiler & Fergus 2014). captum's definition and, to rounding, its numbers. captum computes each
    target by itself and builds full-size masks: its Occlusion takes 12 times as long for ten targets of an
    image of 64 x 64 pixels, and most of the time of one of 224 x 224 pixels.
    Options: `window`, side in pixels of the network's input, or (height, width); `stride`, pixels, or (rows,
    columns), no larger than the window; `baseline` ("zero").
    """
    shape = (int(request.images.shape[2]), int(request.images.shape[3]))
    windows = _windows(shape, request.options["window"], request.options["stride"])

    def fall_maps(
        image: torch.Tensor, baseline: torch.Tensor, targets: torch.Tensor, _: np.random.Generator
    ) -> torch.Tensor:
        """Return the mean fall of each target's output for each pixel, (targets, height, width)."""
        image_outputs = request.outputs(image)[0, targets]
        # sums over the windows that hide each pixel, of the falls of outputs (targets, height, width)
        sum_of_falls = torch.zeros((len(targets), *shape), dtype=torch.float64)
        n_windows = torch.zeros(shape, dtype=torch.float64)
        for start in range(0, len(windows), request.batch_size):
            batch = windows[start : start + request.batch_size]
            occluded = image.repeat(len(batch), 1, 1, 1)
            for occluded_image, (rows, columns) in zip(occluded, batch, strict=True):
                occluded_image[:, rows, columns] = baseline[0, :, rows, columns]
            # (windows, targets)
            falls = image_outputs - request.outputs(occluded)[:, targets]
            for window_falls, (rows, columns) in zip(falls, batch, strict=True):
                sum_of_falls[:, rows, columns] += window_falls[:, None, None]
                n_windows[rows, columns] += 1
        return sum_of_falls / n_windows

    return request.maps_of_all_images(fall_maps)


def _windows(shape: tuple[int, int], window: Any, stride: Any) -> list[tuple[slice, slice]]:
    """Return the rows and columns of each window on an image of a shape, row by row."""
    window_sides = _rows_and_columns(window, "window")
    strides = _rows_and_columns(stride, "stride")
    if window_sides[0] > shape[0] or window_sides[1] > shape[1]:
        raise ValueRangeError(
            Setting("window", window_sides),
            f" is larger than the image, {shape} pixels",
            hint=f"a window of {max(1, min(shape) // 8)} is usual",
        )
    if strides[0] > window_sides[0] or strides[1] > window_sides[1]:
        raise ValueRangeError(
            Setting("stride", strides),
            " is larger than ",
            Setting("window", window_sides),
            ": pixels would be left unseen",
        )
    rows = _window_spans(shape[0], window_sides[0], strides[0])
    columns = _window_spans(shape[1], window_sides[1], strides[1])
    return list(product(rows, columns))


def _window_spans(length: int, side: int, step: int) -> list[slice]:
    """Return the spans of windows along a side of the image, the last cut off at its end."""
    n_steps = math.ceil((length - side) / step)
    return [slice(step * i, min(step * i + side, length)) for i in range(n_steps + 1)]


def _rows_and_columns(value: Any, option: str) -> tuple[int, int]:
    """Return the numbers of rows and of columns that an option gives, which may be one number for both."""
    values = tuple(value) if isinstance(value, list | tuple) else (value, value)
    if len(values) != 2:
        raise ValueRangeError(
            Setting(option), f" must be a number of pixels or (rows, columns), not {value!r}", value=value
        )
    return check_count(values[0], option), check_count(values[1], option)


def run_rise(request: Request) -> RawAttributions:
    """Return the mean of random masks weighted by the target's probability; (b, 1, height, width).

    Each mask is a grid of cells that are kept or hidden at random, enlarged bilinearly to one cell more than
    the image and shifted at random by less than a cell (Petsiuk et al. 2018). Masks are made a batch at a
    time. With masks M_i and probabilities p_i of the N images behind them, S = sum p_i M_i / (keep N), as in
    the paper: the sum is divided by the expected number of masks that show a pixel, not by the number that
    did. Where a pixel plays no part S is the mean probability of all masks, and not 0.
    Options: `n_masks` (4000); `cells` (7), along each side; `keep` (0.5), probability that a cell is kept;
    `probability` ("softmax", "sigmoid" or "none": outputs as they are); `baseline` ("zero").
    """
    # how many masks show a pixel on average
    expected_count = request.options["keep"] * request.options["n_masks"]
    probability = check_choice(request.options["probability"], PROBABILITIES, "probability")

    def masks_mean_weighted_by_target_probability(
        image: torch.Tensor, baseline: torch.Tensor, targets: torch.Tensor, generator: np.random.Generator
    ) -> torch.Tensor:
        """Return the masks' mean weighted by the probability of each target, (targets, height, width)."""
        height = int(image.shape[2])
        width = int(image.shape[3])
        # in half precision probabilities and sums would be rounded too much; MPS has no double
        number_type = torch.promote_types(torch.float32, image.dtype)
        if image.device.type != "mps":
            number_type = torch.float64
        # (targets, pixels): sum p_i M_i
        total = torch.zeros((len(targets), height * width), dtype=number_type, device=image.device)
        for masks, outputs in masks_and_outputs(request, image, baseline, generator):
            probs = outputs
            # outputs that are probabilities already stay as they are
            if function_if_softmax_outputs_or_logarithms(outputs) != "none":
                probs = to_probabilities(outputs, probability)
            total += probs[:, targets].T.to(masks) @ masks.flatten(1)
        maps = total.cpu().double() / expected_count
        return maps.reshape(-1, height, width)

    return request.maps_of_all_images(masks_mean_weighted_by_target_probability)


def masks_and_outputs(
    request: Request, image: torch.Tensor, baseline: torch.Tensor, generator: np.random.Generator
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield random masks (n, height, width) and the outputs for an image behind each, a batch at a time.

    `baseline`, in the image's shape, has the values of hidden pixels.
    """
    n_masks = check_count(request.options["n_masks"], "n_masks")
    cells = check_count(request.options["cells"], "cells", low=2)
    keep = check_number(request.options["keep"], "keep", high=1, exclude_zero=True, exclude_high=True)
    shape = (int(image.shape[2]), int(image.shape[3]))
    if cells > min(shape):
        raise ValueRangeError(
            Setting("cells", cells), f" along a side of {min(shape)} pixels", hint="take fewer"
        )
    contrast = image - baseline
    grids, shifts = draw_grids_and_shifts(generator, n_masks, cells, keep, shape)
    number_type = torch.promote_types(torch.float32, image.dtype)
    for start in range(0, n_masks, request.batch_size):
        batch = slice(start, start + request.batch_size)
        masks = make_masks(grids[batch], shifts[batch], shape, device=image.device).to(number_type)
        masked_images = baseline + masks[:, None].to(image) * contrast
        yield masks, request.outputs(masked_images)


def draw_grids_and_shifts(
    generator: np.random.Generator, n_masks: int, cells: int, keep: float, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the cells that each mask keeps, (n, cells, cells), and its shift by less than a cell, (n, 2)."""
    grids = generator.random((n_masks, cells, cells)) < keep
    cell_shape = [_cell_side(side, cells) for side in shape]
    shifts = generator.integers(cell_shape, size=(n_masks, 2))
    return grids, shifts


def make_masks(
    grids: np.ndarray, shifts: np.ndarray, shape: tuple[int, int], *, device: torch.device | None = None
) -> torch.Tensor:
    """Make masks for an image of a shape, from 0, hidden, to 1, kept: float32 (n, height, width).

    Each grid is enlarged bilinearly, with half-pixel centres, to the size of one cell more than it has, as in
    the authors' code (eclique/RISE, `explanations.py`, commit ac419cd). In the outermost half cell the cell's
    value is repeated, where that code mirrors. A cell's side is that of the image divided by the number of
    cells, rounded up. The expectation of each pixel is exactly the probability that a cell is kept.
    """
    cells = torch.as_tensor(grids, dtype=torch.float32, device=device)
    n_cells = cells.shape[1]
    row_weights = _shifted_weights(shape[0], n_cells, shifts[:, 0], device)
    column_weights = _shifted_weights(shape[1], n_cells, shifts[:, 1], device)
    return row_weights @ cells @ column_weights.transpose(1, 2)


def _shifted_weights(
    side: int, n_cells: int, shifts: np.ndarray, device: torch.device | None
) -> torch.Tensor:
    """Return the weight of each cell for each pixel along a side, for each shift: (n, pixels, cells)."""
    pixels = shifts[:, None] + np.arange(side)
    weights = _cell_weights_before_cropping(side, n_cells)[pixels]
    return torch.as_tensor(weights, dtype=torch.float32, device=device)


def _cell_side(side: int, cells: int) -> int:
    """Return a cell's side in pixels: the image's side divided by the number of cells, rounded up."""
    return math.ceil(side / cells)


def _cell_weights_before_cropping(side: int, n_cells: int) -> np.ndarray:
    """Return the weight of each cell of a row for each pixel of the enlarged row, shape (pixels, cells).

    The enlarged row has the pixels of `n_cells + 1` cells, more than the side of the image.
    """
    n_pixels = (n_cells + 1) * _cell_side(side, n_cells)
    # centres of the pixels in units of cells, whose own centres are at 0, 1, ..., n_cells - 1
    pixel = np.arange(n_pixels)
    centres = np.clip((pixel + 0.5) * n_cells / n_pixels - 0.5, 0, n_cells - 1)
    distances = np.abs(centres[:, None] - np.arange(n_cells))
    return np.asarray(np.maximum(1 - distances, 0))
