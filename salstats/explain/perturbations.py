"""Occlusion and RISE, which look at the outputs for an image of which parts are hidden.

Occlusion explains the network's output as it is (a logit, as a rule), RISE the probability. One set of
forward passes serves all targets of an image. `mixed_precision` reaches these passes. `baseline` is what a
hidden pixel shows: "zero", "mean" (of each channel of the image), "blur" (as in `insertion`), a number, or an
array of shape (channels,) or (channels, height, width).
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import torch

from salstats.checks import check_choice, check_count, check_number
from salstats.errors import ValueRangeError
from salstats.explain.forward_passes import PROBABILITIES, recognised_probability, to_probabilities
from salstats.explain.request import Request


def run_occlusion(request: Request) -> torch.Tensor:
    """Fall of the target's output when a window hides a pixel, mean over windows; (b, 1, height, width).

    Windows start at the first row and column and move by the stride until the image is covered; the last may
    be cut off (Zeiler & Fergus 2014). captum's definition and, to rounding, its numbers. captum computes each
    target by itself and builds full-size masks: its Occlusion takes 12 times as long for ten targets of an
    image of 64 x 64 pixels, and most of the time of one of 224 x 224 pixels.
    Options: `window`, side in pixels of the network's input, or (height, width); `stride`, pixels, or (rows,
    columns), no larger than the window; `baseline` ("zero").
    """
    shape = (int(request.images.shape[2]), int(request.images.shape[3]))
    window = _pair(request.options["window"], "window")
    stride = _pair(request.options["stride"], "stride")
    for side, length in zip(window, shape, strict=True):
        if side > length:
            raise ValueRangeError(
                f"window={window} is larger than the image, {shape} pixels; a window of "
                f"{max(1, min(shape) // 8)} is usual"
            )
    if any(step > side for step, side in zip(stride, window, strict=True)):
        raise ValueRangeError(f"stride={stride} is larger than window={window}: pixels would be left unseen")
    boxes = list(product(*(_spans(*sides) for sides in zip(shape, window, stride, strict=True))))

    def of_image(image: torch.Tensor, baseline: torch.Tensor, targets: torch.Tensor, _: Any) -> torch.Tensor:
        whole = request.outputs(image)[0, targets]
        falls = torch.zeros((len(targets), *shape), dtype=torch.float64)
        n_windows = torch.zeros(shape, dtype=torch.float64)
        for start in range(0, len(boxes), request.batch_size):
            part = boxes[start : start + request.batch_size]
            hidden = image.repeat(len(part), 1, 1, 1)
            for copy, (rows, columns) in zip(hidden, part, strict=True):
                copy[:, rows, columns] = baseline[0, :, rows, columns]
            lost = whole - request.outputs(hidden)[:, targets]
            for fall, (rows, columns) in zip(lost, part, strict=True):
                falls[:, rows, columns] += fall[:, None, None]
                n_windows[rows, columns] += 1
        return falls / n_windows

    return request.by_image(of_image)


def _spans(length: int, side: int, step: int) -> list[slice]:
    """Where windows lie along a side, the last cut off at the end."""
    n_steps = -(-(length - side) // step)
    return [slice(step * i, min(step * i + side, length)) for i in range(n_steps + 1)]


def _pair(value: Any, option: str) -> tuple[int, int]:
    """A number of pixels for rows and one for columns."""
    values = tuple(value) if isinstance(value, list | tuple) else (value, value)
    if len(values) != 2:
        raise ValueRangeError(f"{option} must be a number of pixels or (rows, columns), not {value!r}")
    return check_count(values[0], option), check_count(values[1], option)


def run_rise(request: Request) -> torch.Tensor:
    """Mean of random masks, weighted by the target's probability behind each; (b, 1, height, width).

    Each mask is a grid of cells that are kept or hidden at random, enlarged bilinearly by one cell more than
    the image has and shifted at random by less than a cell (Petsiuk et al. 2018). Masks are made a batch at a
    time. Divided by `keep * n_masks`, as in the paper: by the expected number of masks that show a pixel, not
    by the number that did. Where a pixel plays no part it is the mean weight of all masks, and not 0.
    Options: `n_masks` (4000); `cells` (7), along each side; `keep` (0.5), probability that a cell is kept;
    `probability` ("softmax", "sigmoid" or "none": outputs as they are); `baseline` ("zero").
    """
    n_shown = request.options["keep"] * request.options["n_masks"]
    probability = check_choice(request.options["probability"], PROBABILITIES, "probability")

    def of_image(
        image: torch.Tensor, hidden: torch.Tensor, targets: torch.Tensor, generator: np.random.Generator
    ) -> torch.Tensor:
        height, width = (int(side) for side in image.shape[2:])
        # in half precision weights and sums would be rounded too much; MPS has no double
        number = torch.promote_types(torch.float32, image.dtype)
        exact = number if image.device.type == "mps" else torch.float64
        total = torch.zeros((len(targets), height * width), dtype=exact, device=image.device)
        for masks, outputs in outputs_behind_masks(request, image, hidden, generator):
            # of outputs that are probabilities already a sigmoid would make others
            kind = "none" if recognised_probability(outputs) == "none" else probability
            weights = to_probabilities(outputs, kind)[:, targets]
            total += weights.T.to(masks) @ masks.flatten(1)
        return (total.cpu().double() / n_shown).reshape(-1, height, width)

    return request.by_image(of_image)


def outputs_behind_masks(
    request: Request, image: torch.Tensor, hidden: torch.Tensor, generator: np.random.Generator
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Random masks (n, height, width) and the outputs for an image behind each, a batch at a time.

    `hidden`, in the image's shape, is what a hidden pixel shows.
    """
    n_masks = check_count(request.options["n_masks"], "n_masks")
    cells = check_count(request.options["cells"], "cells", 2)
    keep = check_number(request.options["keep"], "keep", 1, exclude_low=True, exclude_high=True)
    shape = (int(image.shape[2]), int(image.shape[3]))
    if cells > min(shape):
        raise ValueRangeError(f"cells={cells} along a side of {min(shape)} pixels; take fewer")
    contrast = image - hidden
    grids, shifts = draw_masks(generator, n_masks, cells, keep, shape)
    number = torch.promote_types(torch.float32, image.dtype)
    for start in range(0, n_masks, request.batch_size):
        part = slice(start, start + request.batch_size)
        masks = make_masks(grids[part], shifts[part], shape, device=image.device).to(number)
        yield masks, request.outputs(hidden + masks[:, None].to(image) * contrast)


def draw_masks(
    generator: np.random.Generator, n_masks: int, cells: int, keep: float, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Cells that each mask keeps, (n, cells, cells), and its shift by less than a cell, (n, 2)."""
    grids = generator.random((n_masks, cells, cells)) < keep
    shifts = generator.integers([_cell(side, cells) for side in shape], size=(n_masks, 2))
    return grids, shifts


def make_masks(
    grids: np.ndarray, shifts: np.ndarray, shape: tuple[int, int], *, device: torch.device | None = None
) -> torch.Tensor:
    """Masks for an image of a shape, from 0, hidden, to 1, kept: float32 (n, height, width).

    Bilinear with half-pixel centres, from `cells` to `cells + 1` cells' sides, as in the authors' code
    (eclique/RISE, `explanations.py`, commit ac419cd), which mirrors the outermost half cell where here its
    value is kept. A cell's side is that of the image divided by the number of cells, rounded up. The
    expectation of each pixel is exactly the probability that a cell is kept.
    """
    kept = torch.as_tensor(grids, dtype=torch.float32, device=device)
    rows, columns = (
        torch.as_tensor(
            _weights(side, kept.shape[1])[at[:, None] + np.arange(side)], dtype=torch.float32, device=device
        )
        for side, at in zip(shape, shifts.T, strict=True)
    )
    return rows @ kept @ columns.transpose(1, 2)


def _cell(side: int, cells: int) -> int:
    """A cell's side in pixels."""
    return -(-side // cells)


def _weights(side: int, cells: int) -> np.ndarray:
    """What each cell of a row gives to each pixel of the enlarged row, shape (pixels, cells)."""
    n_pixels = (cells + 1) * _cell(side, cells)
    centres = np.clip((np.arange(n_pixels) + 0.5) * cells / n_pixels - 0.5, 0, cells - 1)
    return np.asarray(np.maximum(1 - np.abs(centres[:, None] - np.arange(cells)), 0))
