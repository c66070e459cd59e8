"""The run lengths of a mask: read from COCO's compressed counts, checked, merged, and written again."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from pycocotools import mask as coco

from salstats.errors import ValueRangeError
from salstats.memory_limit import BYTES_PER_PIXEL, problem_text_if_too_large

#: pycocotools keeps positions in 32 bits.
MAX_PIXELS = 2**31 - 1
#: OpenCV crashes on images of 2**28 pixels a side; 32-bit floats count whole numbers up to here.
LONGEST_SIDE = 2**24
#: A character of compressed counts is "0" plus a code of six bits (cocodataset/cocoapi, common/maskApi.c,
#: `rleToString`): five bits are a digit of the number, and the sixth is set if more digits follow.
_FIRST_CHARACTER = ord("0")
_DIGIT_BITS = 5
_DIGIT_MASK = 0b011111
_MORE_FOLLOW = 0b100000
_LARGEST_CODE = 0b111111
#: Bit of the last digit that is set if the number is negative.
_SIGN_BIT = 0b010000
#: Largest number of characters of a number: their 35 bits hold every difference of two 32-bit lengths.
_MAX_CHARACTERS = 7


class LengthsAndIsShortest(NamedTuple):
    """Run lengths from compressed counts."""

    #: Lengths of the runs, background first.
    lengths: np.ndarray
    #: True if no number is written in more characters than it needs.
    is_shortest: bool


def check_shape(shape: Any, name: str = "shape") -> tuple[int, int]:
    """Return (height, width) as two positive whole numbers, of an image that is not too large."""
    is_pair = isinstance(shape, Sequence) and len(shape) == 2 and all(map(_is_whole, shape))
    if not is_pair or min(shape) < 1:
        raise ValueRangeError(
            f"{name} must be two positive whole numbers (height, width), not {shortened_repr(shape)}",
            option=name,
            value=shape,
        )
    height, width = (int(n) for n in shape)
    # the sides come first: a file may hold numbers that are too large for the float of a memory size
    if max(height, width) > LONGEST_SIDE:
        problem = f"is too large; a side has {LONGEST_SIDE} pixels at most"
    elif height * width > MAX_PIXELS:
        problem = f"is too large; a mask holds {MAX_PIXELS} pixels at most"
    else:
        problem = problem_text_if_too_large(height * width * BYTES_PER_PIXEL)
    if problem:
        raise ValueRangeError(
            f"{name} {shortened_repr(height)} x {shortened_repr(width)} {problem}",
            option=name,
            value=(height, width),
        )
    return height, width


def _is_whole(value: object) -> bool:
    """Return True if a value is a whole number, and not a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def unpack(counts: bytes) -> LengthsAndIsShortest:
    """Return the run lengths of compressed counts; they are not checked to fill an image.

    ValueRangeError for characters that compressed counts never have, and for a number that breaks off or is
    too long.

    A number is written in digits of five bits, the lowest first, a character for each. The first three
    numbers are run lengths; each number after them is the difference of a run length to the last but one.
    """
    if not counts:
        raise ValueRangeError("counts are empty", option="counts", value=b"")
    codes = np.frombuffer(counts, np.uint8).astype(np.int64) - _FIRST_CHARACTER
    if codes.min() < 0 or codes.max() > _LARGEST_CODE:
        position = int(np.flatnonzero((codes < 0) | (codes > _LARGEST_CODE))[0])
        raise ValueRangeError(
            f"counts hold {chr(counts[position])!r} as character {position}, which compressed counts never "
            "have",
            option="counts",
            value=chr(counts[position]),
        )
    # position of the last character of each number
    last = np.flatnonzero(codes < _MORE_FOLLOW)
    if not len(last) or last[-1] != len(codes) - 1:
        raise ValueRangeError("counts break off within a number", option="counts", value=counts)
    n_characters = np.diff(last, prepend=-1)
    if n_characters.max() > _MAX_CHARACTERS:
        position = int(last[n_characters > _MAX_CHARACTERS][0])
        raise ValueRangeError(
            f"counts hold a number of more than {_MAX_CHARACTERS} characters before character {position}",
            option="counts",
            value=position,
        )
    # the last digit of each number, from -16 to 15
    numbers = (codes[last] ^ _SIGN_BIT) - _SIGN_BIT
    # indices of the numbers that have more digits than were added so far
    unfinished = np.flatnonzero(n_characters > 1)
    # a last digit of 0 or -1 is redundant if the digit before it has that sign already
    last_digits = numbers[unfinished]
    is_negative_before = (codes[last[unfinished] - 1] & _SIGN_BIT) > 0
    has_redundant = bool((last_digits == np.where(is_negative_before, -1, 0)).any())
    for offset in range(1, _MAX_CHARACTERS):
        if not len(unfinished):
            break
        digits = codes[last[unfinished] - offset] & _DIGIT_MASK
        numbers[unfinished] = (numbers[unfinished] << _DIGIT_BITS) + digits
        unfinished = unfinished[n_characters[unfinished] > offset + 1]
    # differences to the last but one add up over every second number, apart from the first
    lengths = numbers
    np.cumsum(lengths[1::2], out=lengths[1::2])
    np.cumsum(lengths[2::2], out=lengths[2::2])
    return LengthsAndIsShortest(lengths, is_shortest=not has_redundant)


def pack(lengths: np.ndarray, shape: tuple[int, int]) -> bytes:
    """Return run lengths that fill an image as compressed counts."""
    return bytes(coco.frPyObjects({"size": shape, "counts": lengths}, *shape)["counts"])


def checked_run_lengths(counts: list[Any]) -> np.ndarray:
    """Return uncompressed counts as an array; ValueRangeError for one that is not whole, or too large."""
    for n in counts:
        if not _is_whole(n):
            raise ValueRangeError(
                f"counts must be whole numbers, not {shortened_repr(n)}", option="counts", value=n
            )
        if abs(int(n)) > MAX_PIXELS:
            raise ValueRangeError(
                "counts hold a run that is longer than any image", option="counts", value=int(n)
            )
    return np.array(counts, np.int64)


def check_runs_fill_image(lengths: np.ndarray, shape: tuple[int, int]) -> None:
    """Raise ValueRangeError unless the runs fill the image exactly."""
    negative = np.flatnonzero(lengths < 0)
    if negative.size:
        raise ValueRangeError(
            f"counts hold a run of {lengths[negative[0]]} pixels (run {negative[0] + 1} of {len(lengths)})",
            option="counts",
            value=int(lengths[negative[0]]),
        )
    height, width = shape
    if lengths.sum() != height * width:
        raise ValueRangeError(
            f"counts add up to {lengths.sum()} pixels, the image has {height * width} ({height} x {width})",
            option="counts",
            value=int(lengths.sum()),
        )


def without_empty_runs(lengths: np.ndarray) -> np.ndarray:
    """Return run lengths without runs of no pixels, except the first, which may be one."""
    # background and foreground take turns, so that every second run ends where a foreground run starts
    run_ends = np.cumsum(lengths)
    starts = run_ends[:-1:2]
    ends = run_ends[1::2]
    has_pixels = ends > starts
    return lengths_of_runs(starts[has_pixels], ends[has_pixels], int(run_ends[-1]))


def lengths_of_runs(starts: np.ndarray, ends: np.ndarray, n_pixels: int) -> np.ndarray:
    """Return run lengths, background first, of ordered foreground runs that may touch."""
    if len(starts):
        # two runs that touch become one: the end of the first and the start of the second are dropped
        has_gap = starts[1:] != ends[:-1]
        starts = starts[np.r_[True, has_gap]]
        ends = ends[np.r_[has_gap, True]]
    # a background run ends at each start, a foreground run at each end, and the last run at the last pixel
    run_ends = np.stack((starts, ends), axis=1).ravel()
    if not len(run_ends) or run_ends[-1] < n_pixels:
        run_ends = np.append(run_ends, n_pixels)
    return np.diff(run_ends, prepend=0)


def shortened_repr(value: object) -> str:
    """Return a value for a message, cut if it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        # Python writes no whole number of more than 4,300 digits, and nothing that is nested too deeply
        return f"a value of type {type(value).__name__} that is too long to show"
    if len(text) > 60:
        return f"{text[:57]}..."
    return text
