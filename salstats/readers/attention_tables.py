"""Tables of annotations, a row per image or box: a mask written as a JSON array, or boxes."""

import csv
import json
import math
import warnings
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import InputFileError, ValueRangeError, and_more, warn
from salstats.files.inputs import opened
from salstats.images import masks
from salstats.images.masks import Rle

#: The column of the image's file name, and that of its mask.
IMAGE, ATTENTION = "img_idx", "attention"
#: Columns of boxes: lists in one cell, or four columns; edges in pixels, from the left and the top.
_LISTS = ("bbox", "boxes")
_SIZED = (("x", "y", "w", "h"), ("x", "y", "width", "height"))
_EDGES = ("xmin", "ymin", "xmax", "ymax")
#: What "marked" is in a mask.
_MARKS = (1, 255)
#: Rows that are in memory at a time: a cell of 224 x 224 pixels takes 100 kB or more.
_ROWS = 64
#: Columns of a table at most.
_WIDEST = 1000
#: Brackets, comma and digits as bytes.
_OPEN, _CLOSE, _COMMA, _ZERO, _NINE = b"[],09"
#: What JSON allows between its signs.
_BLANKS = b" \t\n\r"


class Annotation(NamedTuple):
    """What a table says of one image.

    Attributes
    ----------
    mask : Rle or None
        At the table's own size; None where it holds boxes.
    boxes : tuple of (float, float, float, float)
        x, y, width and height in pixels of the image.
    where : str
        File, row and image, for messages.
    """

    mask: Rle | None
    boxes: tuple[tuple[float, float, float, float], ...]
    where: str


def read_annotations(files: Sequence[Path], *, threshold: float | None = None) -> dict[str, Annotation]:
    """The annotation of each image that the tables name.

    Parameters
    ----------
    files : sequence of path
        CSV files with a column `img_idx` and one of: `attention`, a JSON array of rows; `bbox` or `boxes`,
        a JSON list [x, y, w, h] or a list of such; four columns x, y, w, h (or width, height) or xmin,
        ymin, xmax, ymax, a row for each box.
    threshold : float, optional
        A pixel is marked where its number exceeds this. By default an array must hold a mask: 0 and one of
        1 and 255.

    Returns
    -------
    dict of str to Annotation
        By `img_idx`, in the order of the files and their rows. Boxes of several rows are put together.

    Raises
    ------
    InputFileError
        A file is no such table, or is damaged; a cell is no array of numbers in two dimensions, or no mask;
        a box has no area; an image has two masks that differ. The message names file, row and image.
    """
    found: dict[str, Annotation] = {}
    for file in files:
        columns = _columns(file)
        for row, cells in _rows(file, [IMAGE, *columns]):
            name, where = cells[0], f"{file}, row {row}, {IMAGE} {cells[0]!r}"
            if not name.strip():
                raise InputFileError(f"{file}, row {row}: {IMAGE} is empty")
            if columns[0] == ATTENTION:
                made = Annotation(parse_mask(cells[1], where, threshold), (), where)
            else:
                made = Annotation(None, _boxes(columns, cells[1:], where), where)
            there = found.get(name)
            if there is None:
                found[name] = made
            elif there.mask is None and made.mask is None:
                found[name] = there._replace(boxes=(*there.boxes, *made.boxes))
            elif there.mask != made.mask:
                raise InputFileError(
                    f"{where}: the image has another annotation already, in {there.where}; keep one, or name "
                    "the files to read with annotations="
                )
    return found


def parse_mask(text: str, where: str = "mask", threshold: float | None = None) -> Rle:
    """The mask that a JSON array of rows holds; raises InputFileError, see `read_annotations`.

    Examples
    --------
    >>> from salstats.images.masks import decode
    >>> decode(parse_mask("[[0, 1], [0, 0]]")).astype(int)
    array([[0, 1],
           [0, 0]])
    """
    numbers = _digits(text)
    if numbers is None:
        numbers = _array(text, where)
    if threshold is not None:
        if not isinstance(threshold, int | float | np.number) or not math.isfinite(threshold):
            raise ValueRangeError(f"threshold must be a finite number, not {threshold!r}")
        return masks.encode(numbers > threshold)
    marked = numbers != 0
    there = numbers[marked]
    if there.size and not (there[0] in _MARKS and (there == there[0]).all()):
        values = np.unique(numbers)
        shown = ", ".join(f"{v:g}" for v in values[:6].tolist()) + (", ..." if len(values) > 6 else "")
        raise InputFileError(
            f"{where}: not a mask but {len(values)} different numbers ({shown}); a mask holds 0 and one of 1 "
            "and 255, or read_saliency_bench() is told the threshold above which a pixel is marked"
        )
    return masks.encode(marked)


def draw_boxes(boxes: Sequence[tuple[float, float, float, float]], shape: tuple[int, int]) -> np.ndarray:
    """The mask of boxes: the pixels whose centres lie in one of them.

    Parameters
    ----------
    boxes : sequence of (x, y, width, height)
        Edges in pixels: x = 0 is the image's left edge. Parts outside the image are left out.
    shape : tuple of int
        (height, width) of the image.

    Returns
    -------
    ndarray of bool, shape (height, width)

    Examples
    --------
    >>> draw_boxes([(1, 0, 2, 1)], (2, 4)).astype(int)
    array([[0, 1, 1, 0],
           [0, 0, 0, 0]])
    """
    mask = np.zeros(shape, dtype=bool)
    for x, y, width, height in boxes:
        (left, right), (top, bottom) = (
            [max(0, math.ceil(edge - 0.5)) for edge in (start, start + size)]
            for start, size in ((x, width), (y, height))
        )
        mask[top:bottom, left:right] = True
    return mask


def reaches_beyond(boxes: Sequence[tuple[float, float, float, float]], shape: tuple[int, int]) -> bool:
    """Whether a box has a part outside the image."""
    return any(x < 0 or y < 0 or x + w > shape[1] or y + h > shape[0] for x, y, w, h in boxes)


def resize_truth(mask: Rle, shape: tuple[int, int]) -> Rle:
    """A mask resized by the nearest pixel: each takes the one that its centre falls into.

    Parameters
    ----------
    mask : Rle
    shape : tuple of int
        (height, width) to resize to.

    Returns
    -------
    Rle

    Examples
    --------
    >>> import numpy as np
    >>> from salstats.images.masks import decode, encode
    >>> decode(resize_truth(encode(np.array([[0, 1]])), (1, 5))).astype(int)
    array([[0, 0, 1, 1, 1]])
    """
    if mask.shape == shape:
        return mask
    rows, cols = (
        ((2 * np.arange(new) + 1) * old) // (2 * new) for new, old in zip(shape, mask.shape, strict=True)
    )
    return masks.encode(masks.decode(mask)[np.ix_(rows, cols)])


def _columns(file: Path) -> tuple[str, ...]:
    """The columns that hold a table's annotations."""
    with (
        opened(file, in_parts=True) as stream,
        TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text,
    ):
        try:
            header = next(csv.reader(text), [])
        except (ValueError, csv.Error) as error:
            raise _unreadable(file, error) from error
    if len(header) > _WIDEST:
        raise InputFileError(f"{file}: {len(header)} columns; remove what is no annotation")
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise InputFileError(f"{file}: column {twice[:40]!r} is twice in the header; rename one of them")
    for columns in ((ATTENTION,), *((name,) for name in _LISTS), *_SIZED, _EDGES):
        if IMAGE in header and all(column in header for column in columns):
            return columns
    shown = ", ".join(repr(name[:40]) for name in header[:8]) or "none"
    raise InputFileError(
        f"{file}: not a table of annotations; it needs {IMAGE} and one of: {ATTENTION} (a JSON array); "
        f"{' or '.join(_LISTS)} (JSON); x, y, w, h; {', '.join(_EDGES)} (columns: {shown})"
    )


def _rows(file: Path, columns: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The number of each row, the header's being 1, and its cells as text."""
    try:
        # the csv module has one limit for the size of cells in the whole program; pandas has none
        with pd.read_csv(
            file, dtype="str", keep_default_na=False, na_filter=False, encoding="utf-8-sig", chunksize=_ROWS,
            index_col=False,
        ) as chunks:  # fmt: skip
            while (chunk := _next(chunks)) is not None:
                ordered = chunk[list(columns)]
                for number, cells in zip(
                    chunk.index, ordered.itertuples(index=False, name=None), strict=True
                ):
                    yield int(number) + 2, cells
    except InputFileError:
        raise
    except pd.errors.ParserWarning as error:
        raise InputFileError(
            f"{file}: its first row has more cells than the header; a cell that holds a comma is to be quoted"
        ) from error
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from error


def _next(chunks: Iterator[pd.DataFrame]) -> pd.DataFrame | None:
    """The next rows, None at the end; pandas' warning that it cuts the first row is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return next(chunks, None)


def _unreadable(file: Path, error: Exception) -> InputFileError:
    """The error of a file that cannot be read as a table."""
    return InputFileError(f"{file}: cannot be read as CSV ({' '.join(str(error).split())[:200]})")


def _digits(text: str) -> np.ndarray | None:
    """An array of single digits, checked sign by sign; None where a text is something else."""
    raw = np.frombuffer(text.encode("utf-8", "replace").translate(None, _BLANKS), dtype=np.uint8)
    # [[d,d],[d,d]]: h rows of 2 w + 2 signs, the last of which closes instead of going on
    row = int(np.argmax(raw == _CLOSE)) + 1 if raw.size else 0
    if row < 4 or raw[0] != _OPEN or (raw.size - 1) % row or raw[-1] != _CLOSE:
        return None
    body = raw[1:].reshape(-1, row)
    width = row // 2 - 1
    signs = body[:, 1 : 2 * width : 2]
    good = (
        row == 2 * width + 2
        and (body[:, 0] == _OPEN).all()
        and (body[:, 2 * width] == _CLOSE).all()
        and (body[:, 2 : 2 * width : 2] == _COMMA).all()
        and (body[:-1, -1] == _COMMA).all()
        and ((signs >= _ZERO) & (signs <= _NINE)).all()
    )
    return signs - _ZERO if good else None


def _array(text: str, where: str) -> np.ndarray:
    """An array of numbers in two dimensions that JSON holds."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        said = "an empty cell" if not text.strip() else f"{' '.join(str(error).split())[:80]}"
        raise InputFileError(f"{where}: {ATTENTION} is no JSON array ({said})") from error
    try:
        array = np.array(rows)
    except ValueError:
        array = np.empty(0, dtype=object)
    if array.ndim != 2 or not array.size or array.dtype.kind not in "biuf":
        raise InputFileError(
            f"{where}: {ATTENTION} is no array of rows of numbers, all of one length "
            f"({_kind(rows)}); an annotation is (height, width)"
        )
    if not np.isfinite(array).all():
        raise InputFileError(f"{where}: {ATTENTION} holds NaN or infinity")
    return array


def _kind(rows: Any) -> str:
    """What a JSON value is, for a message."""
    if not isinstance(rows, list):
        return type(rows).__name__
    lengths = sorted({len(r) for r in rows if isinstance(r, list)})
    return f"{len(rows)} rows, of {lengths[0]} to {lengths[-1]} numbers" if lengths else f"{len(rows)} values"


def _boxes(
    columns: Sequence[str], cells: Sequence[str], where: str
) -> tuple[tuple[float, float, float, float], ...]:
    """The boxes of a row as (x, y, width, height)."""
    try:
        given: Any = json.loads(cells[0]) if len(cells) == 1 else [[float(cell) for cell in cells]]
        if not isinstance(given, list):
            raise ValueError("no list")
        listed = [given] if given and not isinstance(given[0], list) else given
        boxes = [tuple(float(number) for number in box) for box in listed]
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InputFileError(f"{where}: no boxes of numbers but {' '.join(cells)[:80]!r}") from error
    if tuple(columns) == _EDGES:
        boxes = [(left, top, right - left, bottom - top) for left, top, right, bottom in boxes]
    found = []
    for box in boxes:
        if len(box) != 4 or not all(map(math.isfinite, (*box, sum(map(abs, box))))) or min(box[2:]) <= 0:
            shown = ", ".join(f"{number:g}" for number in box[:6])
            raise InputFileError(
                f"{where}: the box ({shown}) is none: it has x, y, and a width and height above 0"
            )
        found.append((box[0], box[1], box[2], box[3]))
    return tuple(found)


def warn_beyond(names: Sequence[str]) -> None:
    """Warn once of images with boxes that reach beyond them."""
    if names:
        more = and_more(names)
        warn(f"case {min(names)!r}{more}: boxes reach beyond their image and are cut off at its edge")
