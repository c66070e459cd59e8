"""Files of a release of gaze recordings, one by one: metadata, fixations, chest boxes."""

import math

import numpy as np
import pytest
from gaze_files import (
    FIXATION_COLUMNS,
    METADATA_COLUMNS,
    SHAPES,
    fixation_rows,
    metadata_rows,
    write_box,
    write_fixations,
    write_metadata,
    write_release,
)  # fmt: skip
from tests_support import raises

from salstats.errors import InputFileError
from salstats.images.center_bias import Box
from salstats.images.fixations import Fixations
from salstats.readers.gaze_files import (
    BOX_EMPTY,
    BOX_OUTSIDE,
    NO_DURATION,
    NO_FIXATION,
    OUT_OF_SIGHT,
    SHOWN_OUTSIDE,
    exclusion_reason_or_none,
    holds_gaze,
    metadata_file_of_phase,
    n_points_outside,
    read_fixations,
    read_fixations_and_n_overlapping,
    read_inside_box_or_exclusion_reason,
    read_metadata,
)
from salstats.study import NO_BOX

SHAPE = (30, 40)


def metadata(folder, row=None, column=None, cell=None, **options):
    """Write the metadata with one cell changed, and read it."""
    rows = metadata_rows()
    if row is not None:
        rows[row][METADATA_COLUMNS.split(",").index(column)] = cell
    write_metadata(folder, rows, **options)
    return read_metadata(folder / "metadata_phase_1.csv")


# phases


def test_phases_are_found_by_their_numbers_in_order(tmp_path):
    for phase in (10, 2, 1):
        write_metadata(tmp_path, [], phase=phase)
    (tmp_path / "metadata_phase_01.csv").touch()
    (tmp_path / "metadata_phase_3.csv.bak").touch()
    assert holds_gaze(tmp_path)
    assert list(metadata_file_of_phase(tmp_path)) == [1, 2, 10]
    assert metadata_file_of_phase(tmp_path, [10, 1, 10]) == {
        phase: tmp_path / f"metadata_phase_{phase}.csv" for phase in (1, 10)
    }
    with raises(InputFileError, option="phases", value=3, choices=("1", "2", "10"), path=tmp_path):
        metadata_file_of_phase(tmp_path, [1, 3])


def test_a_folder_above_names_the_one_that_holds_the_metadata(tmp_path):
    with raises(InputFileError, path=tmp_path, hint=""):
        metadata_file_of_phase(tmp_path)
    write_release(tmp_path / "main_data")
    with raises(InputFileError, path=tmp_path, hint=f"give {tmp_path / 'main_data'}"):
        metadata_file_of_phase(tmp_path)


# metadata


def test_metadata_give_names_flags_sizes_and_labels(tmp_path):
    frame = metadata(tmp_path, 1, "eye_tracking_data_discarded", "TRUE")
    assert frame["id"].tolist() == [row[0] for row in metadata_rows()]
    assert frame["dicom_id"].unique().tolist() == list(SHAPES)
    assert frame["shape"].drop_duplicates().tolist() == list(SHAPES.values())
    assert frame["discarded"].tolist() == [False, True, *[False] * 7]
    assert set(frame["labels"][0]) == {"Atelectasis", "Pneumothorax", "Support devices", "Other"}
    assert [labels["Atelectasis"] for labels in frame["labels"][:3]] == [5, 0, 0]
    assert [labels["Support devices"] for labels in frame["labels"][5:7]] == [0, 1]
    assert math.isnan(frame["labels"][1]["Pneumothorax"])
    assert "row 3" in frame["location"][1]


def test_a_finding_in_words_is_there(tmp_path):
    labels = metadata(tmp_path, 2, "Other", "hernia")["labels"]
    assert labels[2]["Other"] == 1
    assert math.isnan(labels[1]["Other"])


@pytest.mark.parametrize(("cell", "is_label"), [("0", True), ("5", True), ("5.5", False), ("-1", False)])
def test_labels_are_certainties_from_0_to_5(tmp_path, cell, is_label):
    rows = [[*row, cell, cell] for row in metadata_rows()]
    write_metadata(tmp_path, rows, columns=f"{METADATA_COLUMNS},Edema,age")
    file = tmp_path / "metadata_phase_1.csv"
    if is_label:
        assert {"Edema", "age"} <= set(read_metadata(file)["labels"][0])
    else:
        with raises(InputFileError, column="Edema", rows=(0,), path=file):
            read_metadata(file)
        write_metadata(tmp_path, [row[:-2] + row[-1:] for row in rows], columns=f"{METADATA_COLUMNS},age")
        assert "age" not in read_metadata(file)["labels"][0]


def test_metadata_of_a_header_have_no_row(tmp_path):
    write_metadata(tmp_path, [])
    assert len(read_metadata(tmp_path / "metadata_phase_1.csv")) == 0


@pytest.mark.parametrize(
    ("column", "cell"),
    [("id", "../x"), ("id", ".."), ("id", r"a\b"), ("eye_tracking_data_discarded", "maybe")],
)
def test_a_bad_cell_of_the_metadata_is_named_by_column_and_row(tmp_path, column, cell):
    with raises(InputFileError, column=column, rows=(4,), path=tmp_path / "metadata_phase_1.csv"):
        metadata(tmp_path, 4, column, cell)


@pytest.mark.parametrize("cell", ["0", "-3", "30.5"])
def test_a_size_is_in_whole_pixels(tmp_path, cell):
    size = (float(cell), 32)
    with raises(InputFileError, rows=(4,), value=size, path=tmp_path / "metadata_phase_1.csv"):
        metadata(tmp_path, 4, "image_size_y", cell)


# fixations


def test_fixations_are_the_cells_of_the_file(tmp_path):
    rows = fixation_rows("img-a", 0)
    write_fixations(tmp_path, rows)
    fixations, n_overlapping = read_fixations_and_n_overlapping(tmp_path / "fixations.csv")
    cells = np.array(rows, dtype=float)
    np.testing.assert_array_equal(fixations.points, cells[:, [3, 2]])
    np.testing.assert_array_equal(fixations.duration, cells[:, 1] - cells[:, 0])
    np.testing.assert_array_equal(fixations.sd, cells[:, [5, 4]])
    np.testing.assert_array_equal(fixations.shown, cells[:, [7, 6, 9, 8]])
    assert n_overlapping == 0
    np.testing.assert_array_equal(read_fixations(tmp_path / "fixations.csv").points, fixations.points)


def test_fixations_overlap_where_one_begins_before_any_earlier_one_has_ended(tmp_path):
    rows = fixation_rows("img-a", 0)
    intervals = [(0, 1), (1, 5), (2, 3), (4, 4.5), (5, 6), (7, 8)]
    for row, interval in zip(rows, intervals, strict=True):
        row[:2] = interval
    expected = sum(
        any(begin <= start < end for begin, end in intervals[:number])
        for number, (start, _) in enumerate(intervals)
    )
    write_fixations(tmp_path, rows[::-1])
    assert read_fixations_and_n_overlapping(tmp_path / "fixations.csv")[1] == expected == 2


def test_a_fixation_that_stands_twice_is_named_by_its_row(tmp_path):
    rows = fixation_rows("img-a", 0)
    write_fixations(tmp_path, [*rows, rows[1]])
    with raises(InputFileError, rows=(6,), path=tmp_path / "fixations.csv"):
        read_fixations(tmp_path / "fixations.csv")


def test_positions_of_both_names_are_read_and_not_mixed(tmp_path):
    rows = fixation_rows("img-a", 0)
    file = tmp_path / "fixations.csv"
    early = FIXATION_COLUMNS.replace("x_pos", "average_x_pos").replace("y_pos", "average_y_pos")
    write_fixations(tmp_path, rows, early)
    np.testing.assert_array_equal(read_fixations(file).points, np.array(rows)[:, [3, 2]])
    write_fixations(tmp_path, rows, FIXATION_COLUMNS.replace("x_pos", "average_x_pos"))
    with raises(InputFileError, column="average_x_position", path=file):
        read_fixations(file)
    # the missing column is of the pair of which the other one is there
    for columns, lacking in ((early, "average_x_position"), (FIXATION_COLUMNS, "x_position")):
        write_fixations(tmp_path, rows, columns.replace(lacking, "x"))
        with raises(InputFileError, column=lacking, rows=()):
            read_fixations(file)


def looks(points=((10.0, 20.0),), duration=1.0, sd=(1.0, 1.0), shown=(0.0, 0.0, 30.0, 40.0)):
    """Fixations of one duration, one sd and one shown part."""
    n = len(points)
    return Fixations(
        np.array(points).reshape(n, 2),
        np.full(n, float(duration)),
        np.tile(sd, (n, 1)),
        np.tile(shown, (n, 1)),
    )


@pytest.mark.parametrize(
    ("fixations", "reason"),
    [
        (looks(), None),
        (looks(()), NO_FIXATION),
        (looks(duration=0), NO_DURATION),
        (looks(shown=(0, 0, 31, 40)), SHOWN_OUTSIDE),
        (looks(shown=(0, -1, 30, 40)), SHOWN_OUTSIDE),
        (looks(shown=(-0.5, 0, 30.5, 40)), None),
        (looks(shown=(0, 10, 30, 10)), OUT_OF_SIGHT),
        # 1,200 standard deviations squared, counted from the last pixel of row 29
        (looks(((29 + 34.0, 20.0),)), None),
        (looks(((29 + 35.0, 20.0),)), OUT_OF_SIGHT),
        (looks(((29 + 35.0, 20.0),), sd=(2.0, 1.0)), None),
        (looks(((-25.0, -25.0),)), OUT_OF_SIGHT),
        (looks(((-25.0, 20.0), (10.0, 900.0))), None),
    ],
)
def test_a_recording_is_left_out_where_it_makes_no_map(fixations, reason):
    assert exclusion_reason_or_none(fixations, SHAPE) == reason


def test_points_outside_the_image_lie_in_no_pixel():
    points = np.array([[0, 0], [29.99, 39.99], [30, 5], [5, 40], [-0.01, 5], [5, -0.01]])
    assert n_points_outside(points, SHAPE) == 4


# chest boxes


@pytest.mark.parametrize(
    ("edges", "box", "reason"),
    [
        ((4, 3, 40, 30), Box(3, 4, 30, 40), None),
        ((0, 0, 1, 1), Box(0, 0, 1, 1), None),
        ((), None, NO_BOX),
        ((4, 3, 4, 30), None, BOX_EMPTY),
        ((4, 3, 40, 3), None, BOX_EMPTY),
        ((-1, 3, 40, 30), None, BOX_OUTSIDE),
        ((4, -1, 40, 30), None, BOX_OUTSIDE),
        ((4, 3, 41, 30), None, BOX_OUTSIDE),
        ((4, 3, 40, 31), None, BOX_OUTSIDE),
    ],
)
def test_a_chest_box_lies_in_the_image_or_is_left_out_with_a_reason(tmp_path, edges, box, reason):
    write_box(tmp_path, *edges)
    assert read_inside_box_or_exclusion_reason(tmp_path / "chest_bounding_box.csv", SHAPE) == (box, reason)


def test_a_recording_has_one_chest_box_or_none(tmp_path):
    file = tmp_path / "chest_bounding_box.csv"
    assert read_inside_box_or_exclusion_reason(file, SHAPE) == (None, NO_BOX)
    write_box(tmp_path, 1, 2, 8, "9\n1,2,8,9")
    with raises(InputFileError, path=file, value=2):
        read_inside_box_or_exclusion_reason(file, SHAPE)
