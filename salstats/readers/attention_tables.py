"""Tables of annotations, a row per image or box: a mask written as a JSON array, or boxes."""

import csv
import math
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple

import numpy as np

from salstats.errors import InputFileError, ValueRangeError
from salstats.files.inputs import opened, parse_json
from salstats.images import masks
from salstats.images.masks import Rle

#: The column of the image's file name, and that of its mask.
IMAGE, ATTENTION = "img_idx", "attention"
_EDGES = ("xmin", "ymin", "xmax", "ymax")
#: Columns that a table may have; boxes are lists in one cell, or edges in pixels from the left and the top.
_COLUMNS = ((ATTENTION,), ("bbox",), ("boxes",), ("x", "y", "w", "h"), ("x", "y", "width", "height"), _EDGES)
#: What "marked" is in a mask.
_MARKS = (1, 255)
#: Characters of a cell at most; that of a mask of 224 x 224 pixels has 100,000 or more.
_LONGEST_CELL = 2**30

#: x, y, width and height.
BoxXYWH = tuple[float, float, float, float]
BoxesXYWH = tuple[BoxXYWH, ...]


class Annotation(NamedTuple):
    """What a table says of one image."""

    #: At the table's own size; None where it holds boxes.
    mask: Rle | None
    #: x, y, width and height in pixels of the image.
    boxes: BoxesXYWH
    #: File, row and image, for messages.
    where: str


def read_annotations(files: Sequence[Path], *, threshold: float | None = None) -> dict[str, Annotation]:
    """The annotation of each image that CSV files name, by `img_idx`, in their order.

    A file has a column `img_idx` and one of: `attention`, a JSON array of rows; `bbox` or `boxes`, a JSON
    list [x, y, w, h] or a list of such; four columns x, y, w, h (or width, height) or xmin, ymin, xmax, ymax.
    Boxes of several rows are put together. A pixel is marked where its number exceeds `threshold`; by default
    an array must hold a mask, 0 and one of 1 and 255.
    """
    found: dict[str, Annotation] = {}
    boxes: dict[str, list[BoxXYWH]] = {}
    for file in files:
        for number, row in enumerate(_rows(file), start=2):
            name, where = row[IMAGE], f"{file}, row {number}, {IMAGE} {row[IMAGE]!r}"
            if not name.strip():
                raise InputFileError(f"{file}, row {number}: {IMAGE} is empty")
            mask = None
            if ATTENTION in row:
                mask = parse_mask(row[ATTENTION], where, threshold)
            else:
                boxes.setdefault(name, []).extend(_boxes(row, where))
            there = found.setdefault(name, Annotation(mask, (), where))
            if there.mask != mask:
                raise InputFileError(
                    f"{where}: the image has another annotation already, in {there.where}; keep one, or name "
                    "the files to read with annotations="
                )
    return {name: note._replace(boxes=tuple(boxes.get(name, ()))) for name, note in found.items()}


def _rows(file: Path) -> Iterator[dict[str, str]]:
    """The rows of a table: its image and its annotation, as text."""
    # the module has one limit for the whole program
    usual = csv.field_size_limit(_LONGEST_CELL)
    try:
        with opened(file, in_parts=True) as stream, TextIOWrapper(stream, "utf-8-sig", newline="") as text:
            rows = csv.DictReader(text, strict=True)
            header = list(rows.fieldnames or ())
            wanted = next((columns for columns in _COLUMNS if {IMAGE, *columns} <= set(header)), ())
            if not wanted or len(set(header)) < len(header):
                raise InputFileError(
                    f"{file}: not a table of annotations; it needs {IMAGE} and one of: attention (a JSON "
                    f"array); bbox or boxes (JSON); x, y, w, h; {', '.join(_EDGES)}, each once (columns: "
                    f"{', '.join(map(repr, header[:8]))})"
                )
            for row in rows:
                if None in row or None in row.values():
                    raise InputFileError(
                        f"{file}, line {rows.line_num}: more or fewer cells than the header has; a cell that "
                        "holds a comma is to be quoted"
                    )
                yield {column: row[column] for column in (IMAGE, *wanted)}
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputFileError(f"{file}: cannot be read as CSV ({error})") from error
    finally:
        csv.field_size_limit(usual)


def parse_mask(text: str, where: str = "mask", threshold: float | None = None) -> Rle:
    """The mask that a JSON array of rows holds; raises InputFileError, see `read_annotations`."""
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


def _digits(text: str) -> np.ndarray | None:
    """An array of single digits, several times faster than by JSON; None where a text is something else."""
    packed = text.encode("utf-8", "replace").translate(None, b" \t\r\n")
    height = packed.count(b"[") - 1
    body = packed[1:-1] + b","
    if height < 1 or packed[:1] + packed[-1:] != b"[]" or len(body) % height:
        return None
    zeros = b"[" + b",".join([b"0"] * (len(body) // height // 2 - 1)) + b"],"
    if len(zeros) * height != len(body):
        return None
    beyond = np.frombuffer(body, np.uint8).reshape(height, -1) - np.frombuffer(zeros, np.uint8)
    digits = beyond[:, 1:-2:2]
    alike = not beyond[:, ::2].any() and not beyond[:, -1].any()
    return digits if alike and digits.size and digits.max() <= 9 else None


def _array(text: str, where: str) -> np.ndarray:
    """An array of numbers in two dimensions that JSON holds."""
    try:
        rows = parse_json(text)
    except (ValueError, RecursionError) as error:
        said = "an empty cell" if not text.strip() else " ".join(str(error).split())[:80]
        raise InputFileError(f"{where}: {ATTENTION} is no JSON array ({said})") from error
    try:
        array = np.array(rows)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2 or not array.size or array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise InputFileError(f"{where}: {ATTENTION} is no array of rows of finite numbers, all of one length")
    return array


def _boxes(row: dict[str, str], where: str) -> BoxesXYWH:
    """The boxes of a row as (x, y, width, height)."""
    columns, cells = list(row)[1:], list(row.values())[1:]
    try:
        given = parse_json(cells[0]) if len(cells) == 1 else [[float(cell) for cell in cells]]
        listed = given if not given or isinstance(given[0], list) else [given]
        boxes = np.array(listed, dtype=np.float64).reshape(len(listed), 4)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputFileError(f"{where}: no boxes of four numbers but {' '.join(cells)[:80]!r}") from error
    if columns == list(_EDGES):
        boxes[:, 2:] -= boxes[:, :2]
    odd = boxes[~(np.isfinite(boxes).all(axis=1) & (boxes[:, 2:] > 0).all(axis=1))]
    if len(odd):
        shown = ", ".join(f"{number:g}" for number in odd[0])
        raise InputFileError(
            f"{where}: the box ({shown}) is none: it has x, y, and a width and height above 0"
        )
    return tuple((x, y, width, height) for x, y, width, height in boxes.tolist())


def draw_boxes(boxes: BoxesXYWH, shape: tuple[int, int]) -> np.ndarray:
    """The mask of boxes (x, y, width, height): the pixels whose centres lie in one of them.

    Edges are in pixels, x = 0 is the image's left edge; parts outside the image are left out.
    """
    mask = np.zeros(shape, dtype=bool)
    for x, y, width, height in boxes:
        (left, right), (top, bottom) = (
            [max(0, math.ceil(edge - 0.5)) for edge in (start, start + size)]
            for start, size in ((x, width), (y, height))
        )
        mask[top:bottom, left:right] = True
    return mask


def resize_truth(mask: Rle, shape: tuple[int, int]) -> Rle:
    """A mask resized by the nearest pixel: each takes the one that its centre falls into."""
    if mask.shape == shape:
        return mask
    rows, cols = (
        ((2 * np.arange(new) + 1) * old) // (2 * new) for new, old in zip(shape, mask.shape, strict=True)
    )
    return masks.encode(masks.decode(mask)[np.ix_(rows, cols)])
