"""Binary masks as the field stores them: COCO's run lengths.

pycocotools counts, joins and packs codes. It does not check them, so that the codes of a file are checked
here first (`run_lengths`). Pixels are coded and decoded here, which at the size of a radiograph is three
times as fast (tests/bench/test_rle.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from pycocotools import mask as coco

from salstats.errors import InputFileError, SalstatsError, ShapeError, ValueRangeError
from salstats.images.run_lengths import (
    check_runs_fill_image,
    check_shape,
    checked_run_lengths,
    lengths_of_runs,
    pack,
    shortened_repr,
    unpack,
    without_empty_runs,
)


@dataclass(frozen=True)
class Rle:
    """A binary mask as COCO's compressed run lengths, checked when it is made.

    The runs count pixels down the columns, background first, and must fill the image exactly. Equal
    masks are equal records: runs of no pixels and numbers longer than necessary are written anew.

    Attributes
    ----------
    shape : tuple of int
        (height, width).
    counts : bytes
        COCO's compressed counts; ValueRangeError where they do not describe a mask of that shape.

    Examples
    --------
    >>> from salstats.images.masks import Rle
    >>> Rle((2, 3), b"123")
    Rle(shape=(2, 3), counts=b'123')
    >>> Rle((2, 3), b"12")
    Traceback (most recent call last):
    salstats.errors.ValueRangeError: counts add up to 3 pixels, the image has 6 (2 x 3)
    """

    shape: tuple[int, int]
    counts: bytes

    def __post_init__(self) -> None:
        """Check the counts; those that are longer than necessary are written anew."""
        shape = check_shape(self.shape)
        if not isinstance(self.counts, bytes):
            raise ValueRangeError(f"counts must be bytes, not {type(self.counts).__name__}")
        unpacked = unpack(self.counts)
        check_runs_fill_image(unpacked.lengths, shape)
        object.__setattr__(self, "shape", shape)
        if not unpacked.is_shortest or not unpacked.lengths[1:].all():
            object.__setattr__(self, "counts", pack(without_empty_runs(unpacked.lengths), shape))

    @classmethod
    def from_coco(cls, record: Mapping[str, Any], source: str = "mask") -> "Rle":
        """Return the mask that a COCO record holds, after a check of all of it.

        `record` holds `size`, (height, width), and `counts`: compressed (str or bytes) or a list of run
        lengths. An InputFileError begins with `source`: file, case and task. Its column is `size` or
        `counts`.

        Examples
        --------
        >>> from salstats.images.masks import Rle, decode
        >>> decode(Rle.from_coco({"size": [2, 3], "counts": [1, 2, 3]})).astype(int)
        array([[0, 1, 0],
               [1, 0, 0]])
        """
        try:
            if not isinstance(record, Mapping):
                raise ValueRangeError(f"not an object with size and counts but {shortened_repr(record)}")
            for key in ("size", "counts"):
                if key not in record:
                    raise ValueRangeError(f"no {key!r}; a COCO mask has size and counts", option=key)
            shape = check_shape(record["size"], "size")
            counts = record["counts"]
            if isinstance(counts, str):
                if not counts.isascii():
                    raise ValueRangeError(
                        "counts hold characters that compressed counts never have",
                        option="counts",
                        value=counts,
                    )
                counts = counts.encode()
            elif isinstance(counts, list):
                lengths = checked_run_lengths(counts)
                check_runs_fill_image(lengths, shape)
                counts = pack(without_empty_runs(lengths), shape)
            elif not isinstance(counts, bytes):
                raise ValueRangeError(
                    f"counts must be text or a list of run lengths, not {shortened_repr(counts)}",
                    option="counts",
                    value=counts,
                )
            return cls(shape, counts)
        except SalstatsError as error:
            raise InputFileError(
                f"{source}: ", error.message, column=error.option, value=error.value
            ) from None

    def to_coco(self) -> dict[str, Any]:
        """Return a COCO record, ready for JSON: `size` [height, width] and `counts` as text."""
        return {"size": list(self.shape), "counts": self.counts.decode("ascii")}


def run_starts_and_ends(rle: Rle) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts and the ends of the foreground runs: half-open, in increasing order.

    They are flat positions counted down the columns: pixel (row, col) is at `col * height + row`.
    """
    lengths = unpack(rle.counts).lengths
    # background and foreground take turns, background first and perhaps last
    run_ends = np.cumsum(lengths)
    ends = run_ends[1::2]
    starts = run_ends[::2][: len(ends)]
    return starts, ends


def encode(mask: np.ndarray) -> Rle:
    """Return the run-length code of a mask, an array (M, N) of bool or of 0 and 1."""
    array = check_mask(mask)
    shape = check_shape(array.shape)
    box = bounding_box(array)
    if box is None:
        return empty(shape)
    rows, cols = box
    return encode_box(array[box], (rows.start, cols.start), shape)


def check_mask(mask: object, name: str = "mask", option: str | None = None) -> np.ndarray:
    """Return a mask as an array of bool in two dimensions, from one of bool or of zeros and ones.

    An error's message calls the mask `name`; its `option` is the parameter at fault, by default the name.
    """
    array = np.asarray(mask)
    if array.ndim != 2:
        raise ShapeError(
            f"{name} must have two dimensions (height, width), not shape {array.shape}",
            option=option or name,
            value=array.shape,
        )
    if array.dtype == bool:
        return array
    if array.dtype.kind not in "iuf" or not ((array == 0) | (array == 1)).all():
        raise ValueRangeError(
            f"{name} must be of bool, or hold only 0 and 1; compare {array.dtype} with a threshold first",
            option=option or name,
            value=array.dtype,
        )
    return array.astype(bool)


def bounding_box(mask: np.ndarray) -> tuple[slice, slice] | None:
    """Return the rows and columns that hold a mask's pixels; None if it is empty."""
    rows = np.flatnonzero(mask.any(axis=1))
    if not len(rows):
        return None
    top = int(rows[0])
    bottom = int(rows[-1]) + 1
    cols = np.flatnonzero(mask[top:bottom].any(axis=0))
    return slice(top, bottom), slice(int(cols[0]), int(cols[-1]) + 1)


def encode_box(box: np.ndarray, corner: tuple[int, int], shape: tuple[int, int]) -> Rle:
    """Return the code of a mask of a shape that holds `box` with its upper left at `corner` (row, col)."""
    first_row, first_col = corner
    height, width = shape
    n_rows, n_cols = box.shape
    # column by column, with an empty pixel below each, so that no run goes on in the next column
    columns = np.zeros((n_cols, n_rows + 1), np.uint8)
    columns[:, :-1] = cv2.transpose(np.ascontiguousarray(box).view(np.uint8))
    pixels = columns.ravel().view(bool)
    # positions at which foreground starts and ends by turns
    changes = np.flatnonzero(pixels[1:] != pixels[:-1]) + 1
    if pixels[0]:
        changes = np.concatenate(([0], changes))
    col, row = np.divmod(changes, n_rows + 1)
    image_positions = (col + first_col) * height + row + first_row
    lengths = lengths_of_runs(image_positions[::2], image_positions[1::2], height * width)
    return Rle(shape, pack(lengths, shape))


def decode(rle: Rle) -> np.ndarray:
    """Return the mask of a run-length code: a new array of bool, in row-major order."""
    lengths = unpack(rle.counts).lengths
    height, width = rle.shape
    # runs are background and foreground by turns
    run_values = (np.arange(len(lengths)) % 2).astype(np.uint8)
    columns = np.repeat(run_values, lengths).reshape(width, height)
    # transposes in blocks, several times faster than numpy at the size of a radiograph
    return np.asarray(cv2.transpose(columns)).reshape(height, width).view(bool)


def empty(shape: tuple[int, int]) -> Rle:
    """Return the mask of a shape in which no pixel is marked."""
    height, width = check_shape(shape)
    return Rle((height, width), pack(np.array([height * width]), (height, width)))


def area(rle: Rle) -> int:
    """Return the number of pixels that a mask marks, without decoding it."""
    return int(coco.area(_coco_record(rle)))


def intersection_area(a: Rle, b: Rle) -> int:
    """Return the number of pixels that two masks of the same shape share, without decoding them."""
    _check_one_shape([a, b])
    return int(coco.area(coco.merge([_coco_record(a), _coco_record(b)], True)))


def union_of(masks: Sequence[Rle]) -> Rle:
    """Return the union of one or more masks of the same shape, without decoding them."""
    _check_one_shape(masks)
    return Rle(masks[0].shape, coco.merge([_coco_record(m) for m in masks], False)["counts"])


def _coco_record(rle: Rle) -> dict[str, Any]:
    """Return the record that pycocotools reads."""
    return {"size": rle.shape, "counts": rle.counts}


def _check_one_shape(masks: Sequence[Rle]) -> None:
    """Raise ShapeError unless all masks have the same shape (pycocotools would return an empty mask)."""
    for mask in masks:
        if mask.shape != masks[0].shape:
            raise ShapeError(
                f"masks {masks[0].shape} and {mask.shape} must have the same shape",
                option="masks",
                value=mask.shape,
            )


def contains(rle: Rle, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Return an array of bool, True for points that a mask marks, without decoding it.

    Point i is at `rows[i]`, `cols[i]`; fractions are rounded down, so that 2.7 is in row 2. A point outside
    the image is not marked; a negative row or column does not count from the end.
    """
    height, width = rle.shape
    is_inside = (rows >= 0) & (rows < height) & (cols >= 0) & (cols < width)
    # positions of the pixels, counted down the columns as in the code
    positions = np.floor(np.where(is_inside, cols, 0)).astype(np.int64) * height
    positions += np.floor(np.where(is_inside, rows, 0)).astype(np.int64)
    lengths = unpack(rle.counts).lengths
    run = np.searchsorted(np.cumsum(lengths), positions, side="right")
    # runs are background and foreground by turns, background first
    is_foreground = run % 2 == 1
    return np.asarray(is_inside & is_foreground)
