"""The run lengths of a mask: read from COCO's compressed counts, checked, merged, and written again."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pycocotools import mask as coco

from salstats.errors import ValueRangeError
from salstats.memory_limit import PIXEL, too_large

#: pycocotools keeps positions in 32 bits.
MAX_PIXELS = 2**31 - 1
#: OpenCV crashes on images of 2**28 pixels a side; 32-bit floats count whole numbers up to here.
LONGEST_SIDE = 2**24
#: Largest number of characters of a number in compressed counts, at 5 bits each.
_MAX_CHARACTERS = 7


def check_shape(shape: Any, name: str = "shape") -> tuple[int, int]:
    """Return (height, width) as two positive whole numbers, of an image that is not too large."""
    if not isinstance(shape, Sequence) or len(shape) != 2 or not all(map(_is_whole, shape)) or min(shape) < 1:
        raise ValueRangeError(
            f"{name} must be two positive whole numbers (height, width), not {shortened(shape)}"
        )
    height, width = (int(n) for n in shape)
    # the sides first: a file can hold numbers that no memory size, as a float, holds
    if max(height, width) > LONGEST_SIDE:
        problem = f"is too large; a side has {LONGEST_SIDE} pixels at most"
    elif height * width > MAX_PIXELS:
        problem = f"is too large; a mask holds {MAX_PIXELS} pixels at most"
    else:
        problem = too_large(height * width * PIXEL)
    if problem:
        raise ValueRangeError(f"{name} {shortened(height)} x {shortened(width)} {problem}")
    return height, width


def _is_whole(value: object) -> bool:
    """Return True if a value is a whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def unpack(counts: bytes) -> tuple[np.ndarray, bool]:
    """Return the run lengths of compressed counts, and True if every number has its shortest form."""
    if not counts:
        raise ValueRangeError("counts are empty")
    codes = np.frombuffer(counts, np.uint8).astype(np.int64) - 48
    if codes.min() < 0 or codes.max() > 63:
        position = int(np.flatnonzero((codes < 0) | (codes > 63))[0])
        raise ValueRangeError(
            f"counts hold {chr(counts[position])!r} as character {position}, which compressed counts never "
            "have"
        )
    # a character has five bits of a number, the lowest first; a sixth bit is set if more characters follow;
    # the fifth bit of the last character is the sign
    last = np.flatnonzero(codes < 32)
    if not len(last) or last[-1] != len(codes) - 1:
        raise ValueRangeError("counts break off within a number")
    n_codes = np.diff(last, prepend=-1)
    if n_codes.max() > _MAX_CHARACTERS:
        position = int(last[n_codes > _MAX_CHARACTERS][0])
        raise ValueRangeError(
            f"counts hold a number of more than {_MAX_CHARACTERS} characters before character {position}"
        )
    lengths = (codes[last] ^ 16) - 16
    longer = np.flatnonzero(n_codes > 1)
    # a last character is redundant if it only repeats the sign of the one before it
    last_values = lengths[longer]
    previous_signs = -(codes[last[longer] - 1] >> 4 & 1)
    has_redundant = bool((last_values == previous_signs).any())
    for offset in range(1, _MAX_CHARACTERS):
        if not len(longer):
            break
        lengths[longer] = lengths[longer] * 32 + (codes[last[longer] - offset] & 31)
        longer = longer[n_codes[longer] > offset + 1]
    # from the fourth on, a number is the difference to the last but one
    np.cumsum(lengths[1::2], out=lengths[1::2])
    np.cumsum(lengths[2::2], out=lengths[2::2])
    return lengths, not has_redundant


def pack(lengths: np.ndarray, shape: tuple[int, int]) -> bytes:
    """Return run lengths that fill an image as compressed counts."""
    return bytes(coco.frPyObjects({"size": shape, "counts": lengths}, *shape)["counts"])


def uncompressed_lengths(counts: list[Any]) -> np.ndarray:
    """Return uncompressed counts as an array of whole numbers."""
    for n in counts:
        if not _is_whole(n):
            raise ValueRangeError(f"counts must be whole numbers, not {shortened(n)}")
        if abs(int(n)) > MAX_PIXELS:
            raise ValueRangeError("counts hold a run that is longer than any image")
    return np.array(counts, np.int64)


def check_fill(lengths: np.ndarray, shape: tuple[int, int]) -> None:
    """Raise ValueRangeError unless the runs fill the image exactly."""
    negative = np.flatnonzero(lengths < 0)
    if negative.size:
        raise ValueRangeError(
            f"counts hold a run of {lengths[negative[0]]} pixels (run {negative[0] + 1} of {len(lengths)})"
        )
    height, width = shape
    if lengths.sum() != height * width:
        raise ValueRangeError(
            f"counts add up to {lengths.sum()} pixels, the image has {height * width} ({height} x {width})"
        )


def merge_runs(lengths: np.ndarray) -> np.ndarray:
    """Return run lengths without runs of no pixels, except the first, which may be one."""
    bounds = np.cumsum(lengths)
    starts = bounds[:-1:2]
    ends = bounds[1::2]
    has_pixels = ends > starts
    return from_runs(starts[has_pixels], ends[has_pixels], int(bounds[-1]))


def from_runs(starts: np.ndarray, ends: np.ndarray, n_pixels: int) -> np.ndarray:
    """Return run lengths, background first, of ordered foreground runs that may touch."""
    if len(starts):
        has_gap = starts[1:] != ends[:-1]
        starts = starts[np.r_[True, has_gap]]
        ends = ends[np.r_[has_gap, True]]
    bounds = np.stack((starts, ends), axis=1).ravel()
    if not len(bounds) or bounds[-1] < n_pixels:
        bounds = np.append(bounds, n_pixels)
    return np.diff(bounds, prepend=0)


def shortened(value: object) -> str:
    """Return a value for a message, cut if it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        # Python writes no whole number of more than 4,300 digits, and nothing that is nested too deeply
        return f"a value of type {type(value).__name__} that is too long to show"
    if len(text) > 60:
        return f"{text[:57]}..."
    return text
