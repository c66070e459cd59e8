"""The run lengths inside a mask: read from COCO's compressed counts, checked, joined, and written again."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pycocotools import mask as coco

from salstats.errors import ValueRangeError
from salstats.memory_limit import PIXEL, too_large

#: pycocotools keeps positions in 32 bits.
MOST_PIXELS = 2**31 - 1
#: OpenCV crashes on images of 2**28 pixels a side; 32-bit floats count whole numbers up to here.
LONGEST_SIDE = 2**24
#: Characters one number of compressed counts can need, at 5 bits each.
_LONGEST = 7


def check_shape(shape: Any, name: str = "shape") -> tuple[int, int]:
    """(height, width) as two positive whole numbers, of an image that is not too large."""
    if not isinstance(shape, Sequence) or len(shape) != 2 or not all(map(_is_whole, shape)) or min(shape) < 1:
        raise ValueRangeError(
            f"{name} must be two positive whole numbers (height, width), not {shortened(shape)}"
        )
    height, width = (int(n) for n in shape)
    # the sides first: a file can hold numbers that no memory size, as a float, holds
    if max(height, width) > LONGEST_SIDE:
        wrong = f"is too large; a side has {LONGEST_SIDE} pixels at most"
    elif height * width > MOST_PIXELS:
        wrong = f"is too large; a mask holds {MOST_PIXELS} pixels at most"
    else:
        wrong = too_large(height * width * PIXEL)
    if wrong:
        raise ValueRangeError(f"{name} {shortened(height)} x {shortened(width)} {wrong}")
    return height, width


def _is_whole(value: object) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def unpack(counts: bytes) -> tuple[np.ndarray, bool]:
    """Run lengths of compressed counts, and whether no number is longer than it need be."""
    if not counts:
        raise ValueRangeError("counts are empty")
    codes = np.frombuffer(counts, np.uint8).astype(np.int64) - 48
    if codes.min() < 0 or codes.max() > 63:
        at = int(np.flatnonzero((codes < 0) | (codes > 63))[0])
        raise ValueRangeError(
            f"counts hold {chr(counts[at])!r} as character {at}, which compressed counts never have"
        )
    # five bits a character, the lowest first; a sixth says that more follow; the last one's fifth is the sign
    last = np.flatnonzero(codes < 32)
    if not len(last) or last[-1] != len(codes) - 1:
        raise ValueRangeError("counts break off within a number")
    n_codes = np.diff(last, prepend=-1)
    if n_codes.max() > _LONGEST:
        at = int(last[n_codes > _LONGEST][0])
        raise ValueRangeError(
            f"counts hold a number of more than {_LONGEST} characters before character {at}"
        )
    lengths = (codes[last] ^ 16) - 16
    longer = np.flatnonzero(n_codes > 1)
    # a last character that only repeats the sign of the one before it
    top = lengths[longer]
    before = -(codes[last[longer] - 1] >> 4 & 1)
    spare = bool((top == before).any())
    for place in range(1, _LONGEST):
        if not len(longer):
            break
        lengths[longer] = lengths[longer] * 32 + (codes[last[longer] - place] & 31)
        longer = longer[n_codes[longer] > place + 1]
    # from the fourth on, a number is the difference to the last but one
    np.cumsum(lengths[1::2], out=lengths[1::2])
    np.cumsum(lengths[2::2], out=lengths[2::2])
    return lengths, not spare


def pack(lengths: np.ndarray, shape: tuple[int, int]) -> bytes:
    """Run lengths that fill an image as compressed counts."""
    return bytes(coco.frPyObjects({"size": shape, "counts": lengths}, *shape)["counts"])


def listed(counts: list[Any]) -> np.ndarray:
    """Uncompressed counts as an array of whole numbers."""
    for n in counts:
        if not _is_whole(n):
            raise ValueRangeError(f"counts must be whole numbers, not {shortened(n)}")
        if abs(int(n)) > MOST_PIXELS:
            raise ValueRangeError("counts hold a run that is longer than any image")
    return np.array(counts, np.int64)


def check_fill(lengths: np.ndarray, shape: tuple[int, int]) -> None:
    """Raise unless the runs fill the image exactly."""
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


def joined(lengths: np.ndarray) -> np.ndarray:
    """Run lengths without runs of no pixels (the first may be one)."""
    ends = np.cumsum(lengths)
    starts, stops = ends[:-1:2], ends[1::2]
    return from_runs(starts[stops > starts], stops[stops > starts], int(ends[-1]))


def from_runs(starts: np.ndarray, ends: np.ndarray, n_pixels: int) -> np.ndarray:
    """Run lengths, background first, of ordered foreground runs that may touch."""
    if len(starts):
        apart = starts[1:] != ends[:-1]
        starts, ends = starts[np.r_[True, apart]], ends[np.r_[apart, True]]
    bounds = np.stack((starts, ends), axis=1).ravel()
    if not len(bounds) or bounds[-1] < n_pixels:
        bounds = np.append(bounds, n_pixels)
    return np.diff(bounds, prepend=0)


def shortened(value: object) -> str:
    """A value for a message, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        # Python writes no whole number of more than 4,300 digits, and nothing that is nested too deeply
        return f"a value of type {type(value).__name__} that is too long to show"
    return text if len(text) <= 60 else f"{text[:57]}..."
