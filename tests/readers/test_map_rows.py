"""Rows of a map folder's table: cells as numbers, unknown ones, and each damaged cell by row and column."""

import math
import os

import numpy as np
import pytest
from tests_support import raises, warns

from salstats.errors import InputFileError
from salstats.files.map_table import MapKey
from salstats.readers.map_rows import MapRow, read_map_rows, warn_of_turned_maps

HEADER = "case,task,method,prob,label,path,height,width,model,seed,patient"
CELLS = ("a", "Edema", "ig", "0.25", "1", "a.npy", "40", "50", "", "", "")


@pytest.fixture
def folder(tmp_path):
    """A folder that holds one array."""
    np.save(tmp_path / "a.npy", np.eye(3))
    return tmp_path


def rows_of(folder, *changes):
    """Write one row for each set of changed cells, and read them."""
    lines = [HEADER]
    for number, change in enumerate(changes):
        cells = dict(zip(HEADER.split(","), CELLS, strict=True)) | {"case": str(number)} | change
        lines.append(",".join(cells.values()))
    (folder / "maps.csv").write_text("\n".join(lines) + "\n")
    return read_map_rows(folder)


def error_of(folder, column, **cells):
    """Expect that the second of two rows is an error of one column."""
    with raises(InputFileError, column=column, rows=(1,), path=folder / "maps.csv") as caught:
        rows_of(folder, {}, cells)
    return caught.value


def test_a_row_holds_names_numbers_and_the_file(folder):
    assert rows_of(folder, {}, {"model": "resnet", "seed": "2", "patient": "p"}) == [
        MapRow(MapKey("0", "Edema", "ig"), 2, folder / "a.npy", 0.25, 1.0, (40, 50)),
        MapRow(MapKey("1", "Edema", "ig", "resnet", "2"), 3, folder / "a.npy", 0.25, 1.0, (40, 50), "p"),
    ]


@pytest.mark.parametrize("unknown", ["", " ", "NA", "NaN", "nan"])
def test_an_unknown_cell_is_no_number_no_size_and_no_patient(folder, unknown):
    cells = dict.fromkeys(("prob", "label", "height", "width", "patient"), unknown)
    (row,) = rows_of(folder, cells)
    assert math.isnan(row.prob)
    assert math.isnan(row.label)
    assert (row.shape, row.patient) == (None, None)


def test_columns_that_may_be_missing_are_unknown(folder):
    (folder / "maps.csv").write_text("case,task,method,path\na,Edema,ig,a.npy\n")
    (row,) = read_map_rows(folder)
    assert math.isnan(row.prob)
    assert (row.shape, row.patient) == (None, None)


@pytest.mark.parametrize(
    ("column", "lowest", "highest"), [("prob", "0", "1"), ("label", "0.0", "1"), ("height", "1", "40.0")]
)
def test_the_ends_of_a_range_are_in_it(folder, column, lowest, highest):
    assert len(rows_of(folder, {column: lowest}, {column: highest})) == 2


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("prob", ("-0.01", "1.01", "inf", "high", "1_0")),
        ("label", ("2", "0.5", "-1", "yes")),
        ("height", ("0", "-1", "40.5", "inf", "tall")),
        ("width", ("0", "-1", "40.5", "1e400")),
    ],
)
def test_a_number_outside_its_range_is_named_by_row_and_column(folder, column, cells):
    for cell in cells:
        assert error_of(folder, column, **{column: cell}).value == cell


def test_a_size_has_both_sides(folder):
    error_of(folder, "height", height="")
    error_of(folder, "width", width="NA")


def test_a_size_beyond_every_image_is_named_by_its_row(folder):
    assert error_of(folder, None, width="100000000").value == (40, 10**8)


@pytest.mark.parametrize("path", ["a.pkl", "a", "gone.npy", "folder.npy", "pipe.npy"])
def test_a_map_is_a_plain_file_of_a_kind_that_is_read(folder, path):
    (folder / "folder.npy").mkdir()
    os.mkfifo(folder / "pipe.npy")
    assert error_of(folder, "path", path=path).value == path


def test_a_table_without_rows_is_an_error(folder):
    with raises(InputFileError, path=folder / "maps.csv", column=None, rows=()):
        rows_of(folder)


@pytest.mark.parametrize(
    ("grid", "shape", "is_turned"),
    [
        ((20, 30), (400, 600), False),
        ((30, 20), (400, 600), True),
        ((30, 20), (500, 500), False),
        ((20, 20), (400, 600), False),
        ((30, 20), None, False),
    ],
)
def test_a_map_that_lies_across_its_image_is_a_warning(folder, recwarn, grid, shape, is_turned):
    np.save(folder / "a.npy", np.zeros(grid))
    rows = rows_of(folder, {}, {})
    if is_turned:
        # the size of the image
        with warns(path=folder / "a.npy", rows=(0,), value=(30, 20), match="400 x 600"):
            warn_of_turned_maps(rows, {"0": shape, "1": shape}, folder)
    else:
        warn_of_turned_maps(rows, {"0": shape, "1": shape}, folder)
        assert not recwarn.list


def test_each_series_is_looked_at_once_and_a_damaged_map_not_at_all(folder, recwarn):
    (folder / "damaged.npy").write_bytes(b"no array")
    np.save(folder / "turned.npy", np.zeros((30, 20)))
    shapes = dict.fromkeys("012", (400, 600))
    rows = rows_of(folder, {"path": "damaged.npy"}, {"path": "turned.npy"})
    warn_of_turned_maps(rows, shapes, folder)
    assert not recwarn.list
    rows = rows_of(
        folder, {"path": "turned.npy"}, {"path": "turned.npy"}, {"path": "turned.npy", "seed": "1"}
    )
    warn_of_turned_maps(rows, shapes, folder)
    assert [warning.message.rows for warning in recwarn.list] == [(0,), (2,)]
