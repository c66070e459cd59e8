"""Tables of annotations, a row per image or box: a mask written as a JSON array, or boxes."""

import csv
import math
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple

import numpy as np

from salstats.errors import InputFileError, Message, Setting, ValueRangeError
from salstats.files.input_files import opened, parse_json
from salstats.images import masks
from salstats.images.masks import Rle
from salstats.readers.regular_text import cells_of_any_length

#: Column of the image's file name.
IMAGE_COLUMN = "img_idx"
#: Column of the image's mask, as a JSON array.
MASK_COLUMN = "attention"
_EDGE_COLUMNS = ("xmin", "ymin", "xmax", "ymax")
#: Columns of an annotation, one of these groups: a mask; boxes as lists in one cell; a box in four cells, in
#: pixels from the left and the top.
_COLUMN_GROUPS = (
    (MASK_COLUMN,),
    ("bbox",),
    ("boxes",),
    ("x", "y", "w", "h"),
    ("x", "y", "width", "height"),
    _EDGE_COLUMNS,
)
#: Numbers of which one marks the pixels of a mask.
_MARK_VALUES = (1, 255)

#: x, y, width and height.
BoxXYWH = tuple[float, float, float, float]
BoxesXYWH = tuple[BoxXYWH, ...]


class Annotation(NamedTuple):
    """The mask or the boxes of one image in a table."""

    #: Mask, as large as the array in the table; None where the table holds boxes.
    mask: Rle | None
    #: x, y, width and height in pixels of the image.
    boxes: BoxesXYWH
    #: File, row and image, for messages.
    row_location: str


def read_mask_or_boxes_by_image_name(
    files: Sequence[Path], *, threshold: float | None = None
) -> dict[str, Annotation]:
    """Read the mask or boxes of each image, by its name in `img_idx`, in the order of the rows of CSV files.

    A file has a column `img_idx` and one of: `attention`, a JSON array of rows; `bbox` or `boxes`, a JSON
    list [x, y, w, h] or a list of such; four columns x, y, w, h (or width, height) or xmin, ymin, xmax, ymax.
    An image has the boxes of all its rows. A pixel of an array is marked where its number exceeds
    `threshold`; by default an array must hold a mask: 0 and 1, or 0 and 255. An empty `img_idx`, an image
    with two different masks, or with a mask and boxes, and a threshold where no file has arrays are errors.
    """
    if threshold is not None and (
        not isinstance(threshold, int | float | np.number) or not math.isfinite(threshold)
    ):
        raise ValueRangeError(
            Setting("threshold"), f" must be a finite number, not {threshold!r}", value=threshold
        )
    annotations: dict[str, Annotation] = {}
    boxes: dict[str, list[BoxXYWH]] = {}
    for file in files:
        for row_index, row in _image_and_annotation_rows_with_index(file):
            name = row[IMAGE_COLUMN]
            # as a spreadsheet counts: the header is row 1
            row_text = f"{file}, row {row_index + 2}"
            location = f"{row_text}, {IMAGE_COLUMN} {name!r}"
            if not name.strip():
                raise InputFileError(
                    f"{row_text}: {IMAGE_COLUMN} is empty", column=IMAGE_COLUMN, rows=[row_index], path=file
                )
            mask = None
            try:
                if MASK_COLUMN in row:
                    mask = mask_from_json_rows(row[MASK_COLUMN], location, threshold)
                else:
                    boxes.setdefault(name, []).extend(_box_tuples(row, location))
            except InputFileError as error:
                raise error.prefixed(rows=[row_index], path=file) from error.__cause__
            first = annotations.setdefault(name, Annotation(mask, (), location))
            if first.mask != mask:
                raise InputFileError(
                    f"{location}: the image has another annotation already, in {first.row_location}",
                    hint=Message("keep one, or name the files to read with ", Setting("annotations")),
                    option="annotations",
                    rows=[row_index],
                    path=file,
                )
    if threshold is not None and all(annotation.mask is None for annotation in annotations.values()):
        raise ValueRangeError(
            Setting("threshold", threshold),
            f" is for arrays of the column {MASK_COLUMN}, and the tables hold boxes",
            hint="leave it out",
            value=threshold,
        )
    return {
        name: annotation._replace(boxes=tuple(boxes.get(name, ())))
        for name, annotation in annotations.items()
    }


def _image_and_annotation_rows_with_index(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row of a table as text by column (the image, then its annotation), with its number from 0.

    Blank lines have a number, too, but are not yielded.
    """
    try:
        with (
            cells_of_any_length(),
            opened(file, any_size=True) as stream,
            TextIOWrapper(stream, "utf-8-sig", newline="") as text,
        ):
            rows = csv.reader(text, strict=True)
            header = next(rows, [])
            complete_groups = [group for group in _COLUMN_GROUPS if {IMAGE_COLUMN, *group} <= set(header)]
            if not complete_groups or len(set(header)) < len(header):
                raise InputFileError(
                    f"{file}: not a table of annotations (columns: {', '.join(map(repr, header[:8]))})",
                    hint=f"it needs {IMAGE_COLUMN} and one of: attention (a JSON array); "
                    f"bbox or boxes (JSON); x, y, w, h; {', '.join(_EDGE_COLUMNS)}, each once",
                    choices=header,
                    path=file,
                )
            annotation_columns = complete_groups[0]
            for row_index, cells in enumerate(rows):
                # the csv module gives a blank line as no cells
                if not cells:
                    continue
                if len(cells) != len(header):
                    raise InputFileError(
                        f"{file}, line {rows.line_num}: more or fewer cells than the header has",
                        hint="a cell that holds a comma is to be quoted",
                        rows=[row_index],
                        path=file,
                    )
                row = dict(zip(header, cells, strict=True))
                yield row_index, {column: row[column] for column in (IMAGE_COLUMN, *annotation_columns)}
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputFileError(f"{file}: cannot be read as CSV ({error})", path=file) from error


def mask_from_json_rows(text: str, location: str = "mask", threshold: float | None = None) -> Rle:
    """Return the mask that a JSON array of rows holds; see `read_mask_or_boxes_by_image_name`.

    Raises InputFileError where it holds none.
    """
    numbers = _array_from_json_digits(text)
    if numbers is None:
        numbers = _array_from_json(text, location)
    if threshold is not None:
        return masks.encode(numbers > threshold)
    is_marked = numbers != 0
    marks = numbers[is_marked]
    if marks.size and not (marks[0] in _MARK_VALUES and (marks == marks[0]).all()):
        values = np.unique(numbers)
        examples = ", ".join(f"{v:g}" for v in values[:6].tolist())
        if len(values) > 6:
            examples += ", ..."
        raise InputFileError(
            f"{location}: not a mask but {len(values)} different numbers ({examples})",
            # plain text, not a Setting: --threshold on the command line is for the masks of maps
            hint="a mask holds 0 and one of 1 and 255; or give threshold, above which a pixel is marked",
            option="threshold",
            value=values.tolist(),
            column=MASK_COLUMN,
        )
    return masks.encode(is_marked)


def _array_from_json_digits(text: str) -> np.ndarray | None:
    """Read an array of single digits several times faster than a JSON parser; None where the text is not one.

    The bytes of the text, without blanks, may differ from those of an array of zeros of the same size in the
    digits alone.
    """
    packed = text.encode("utf-8", "replace").translate(None, b" \t\r\n")
    height = packed.count(b"[") - 1
    # each row is "[d,d,...,d],"; the last row gets a comma as well
    rows = packed[1:-1] + b","
    if height < 1 or not packed.startswith(b"[") or not packed.endswith(b"]") or len(rows) % height:
        return None
    # a row of n digits has n digits, n - 1 commas between them, two brackets and a comma: 2 n + 2 bytes
    width = len(rows) // height // 2 - 1
    row_of_zeros = b"[" + b",".join([b"0"] * width) + b"],"
    if len(row_of_zeros) * height != len(rows):
        return None
    row_bytes = np.frombuffer(rows, np.uint8).reshape(height, -1)
    differences = row_bytes - np.frombuffer(row_of_zeros, np.uint8)
    # at even places the opening bracket, the commas between digits and the closing bracket; last the comma
    digits = differences[:, 1:-2:2]
    has_separators = not differences[:, ::2].any() and not differences[:, -1].any()
    # other bytes than digits differ from "0" by more than 9
    if has_separators and digits.size and digits.max() <= 9:
        return digits
    return None


def _array_from_json(text: str, location: str) -> np.ndarray:
    """Read an array of numbers in two dimensions from JSON."""
    try:
        rows = parse_json(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:80] if text.strip() else "an empty cell"
        raise InputFileError(
            f"{location}: {MASK_COLUMN} is no JSON array ({reason})", column=MASK_COLUMN
        ) from error
    try:
        array = np.array(rows)
    except ValueError:
        array = np.empty(0)
    if array.ndim != 2 or not array.size or array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise InputFileError(
            f"{location}: {MASK_COLUMN} is not an array of rows of finite numbers, all of one length",
            column=MASK_COLUMN,
        )
    return array


def _box_tuples(row: dict[str, str], location: str) -> BoxesXYWH:
    """Return the boxes of a row as (x, y, width, height)."""
    # the first column is the image's
    columns = list(row)[1:]
    cells = list(row.values())[1:]
    try:
        if len(cells) == 1:
            numbers = parse_json(cells[0])
            # one box alone is a list of four numbers
            if numbers and not isinstance(numbers[0], list):
                numbers = [numbers]
        else:
            numbers = [[float(cell) for cell in cells]]
        boxes = np.array(numbers, dtype=np.float64).reshape(len(numbers), 4)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputFileError(
            f"{location}: no boxes of four numbers but {' '.join(cells)[:80]!r}", column=columns[0]
        ) from error
    if columns == list(_EDGE_COLUMNS):
        # from xmax and ymax to width and height
        boxes[:, 2:] -= boxes[:, :2]
    is_box = np.isfinite(boxes).all(axis=1) & (boxes[:, 2:] > 0).all(axis=1)
    if not is_box.all():
        first = ", ".join(f"{number:g}" for number in boxes[~is_box][0])
        raise InputFileError(
            f"{location}: the box ({first}) must be x, y, and a width and height above 0",
            value=tuple(boxes[~is_box][0].tolist()),
            column=columns[0],
        )
    return tuple((x, y, width, height) for x, y, width, height in boxes.tolist())


def draw_boxes(boxes: BoxesXYWH, shape: tuple[int, int]) -> np.ndarray:
    """Return a mask (bool) of the pixels whose centres lie in one of the boxes (x, y, width, height).

    Edges are in pixels, x = 0 is the image's left edge; parts outside the image are left out.
    """
    mask = np.zeros(shape, dtype=bool)
    for x, y, width, height in boxes:
        rows = slice(_first_pixel_centred_at_or_after(y), _first_pixel_centred_at_or_after(y + height))
        cols = slice(_first_pixel_centred_at_or_after(x), _first_pixel_centred_at_or_after(x + width))
        mask[rows, cols] = True
    return mask


def _first_pixel_centred_at_or_after(edge: float) -> int:
    """Return the first row or column whose centre, its index + 1/2, lies at an edge or behind it."""
    return max(0, math.ceil(edge - 0.5))


def resize_truth(mask: Rle, shape: tuple[int, int]) -> Rle:
    """Resize a mask by nearest neighbour: each new pixel takes the old one that its centre falls into."""
    if mask.shape == shape:
        return mask
    rows = _nearest_old_pixels(shape[0], mask.shape[0])
    cols = _nearest_old_pixels(shape[1], mask.shape[1])
    return masks.encode(masks.decode(mask)[np.ix_(rows, cols)])


def _nearest_old_pixels(n_new: int, n_old: int) -> np.ndarray:
    """Return the old pixel that the centre of each new one falls into, floor((i + 1/2) * n_old / n_new)."""
    return ((2 * np.arange(n_new) + 1) * n_old) // (2 * n_new)
