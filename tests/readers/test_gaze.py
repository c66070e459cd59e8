"""Recordings of gaze: what a release's files say, and what a damaged one is called."""

import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from gaze_files import (
    FIXATION_COLUMNS,
    METADATA_COLUMNS,
    N_READERS,
    SHAPES,
    fixation_rows,
    metadata_rows,
    recording_id,
    write_box,
    write_fixations,
    write_metadata,
    write_release,
)
from tests_support import raises, warns

from salstats.errors import InputFileError, SalstatsError, SalstatsWarning, ValueRangeError
from salstats.readers.formats import read_study
from salstats.readers.gaze import read_gaze
from salstats.readers.reading_labels import majority_labels
from salstats.scoring.recordings import recordings

LOCATIONS = ("pleural", "parenchymal", "cardiomediastinal", "abnormal")
FIRST = recording_id("img-a", 0)
FLAG = "eye_tracking_data_discarded"


@pytest.fixture
def release(tmp_path):
    """Three images of one phase, each read by three."""
    return write_release(tmp_path / "main_data")


@pytest.fixture(scope="module")
def oracle(shared):
    return shared / "oracles" / "gaze"


@pytest.fixture(scope="module")
def oracle_study(oracle):
    with warns(value={"discarded by its file": 1}, path=oracle / "inputs" / "main_data"):
        return read_gaze(oracle / "inputs" / "main_data")


def changed(release, image, reader, row, column, value):
    """Write a recording again with one cell changed."""
    rows = fixation_rows(image, reader)
    rows[row][FIXATION_COLUMNS.split(",").index(column)] = value
    write_fixations(release / recording_id(image, reader), rows)


def changed_metadata(release, row, column, value):
    """Write the metadata again with one cell changed; row None changes all."""
    rows = metadata_rows()
    for each in rows if row is None else [rows[row]]:
        each[METADATA_COLUMNS.split(",").index(column)] = value
    write_metadata(release, rows)


def of_second_phase(release):
    """Write a second phase, in which all three read img-b again."""
    rows = [[f"Q{row[0]}", *row[1:]] for row in metadata_rows() if row[4] == "img-b"]
    write_metadata(release, rows, phase=2)
    for row in rows:
        write_fixations(release / row[0], fixation_rows("img-b", 0))
        write_box(release / row[0], 1, 1, 9, 9)


def one(frame, recording):
    """The row of one recording."""
    (row,) = frame[frame["recording"].eq(recording)].to_dict("records")
    return row


class TestTheOracleRelease:
    def test_readers_and_trials_are_numbered_as_the_study_numbers_them(self, oracle, oracle_study):
        theirs = pd.read_csv(oracle / "expected" / "fixation_maps_index.csv").set_index("id")
        ours = recordings(oracle_study).query("used").set_index("recording")
        assert set(ours.index) == set(theirs.index)
        theirs = theirs.loc[ours.index]
        assert ours["phase"].tolist() == theirs["phase"].tolist()
        assert ours["trial"].tolist() == theirs["trial"].tolist()
        assert ours["reader"].tolist() == theirs["index_image"].astype("str").tolist()
        shapes = {c.case: c.shape for c in oracle_study}
        assert [shapes[c] for c in ours["case"]] == list(zip(theirs["height"], theirs["width"], strict=True))

    def test_the_discarded_recording_is_listed_and_has_no_number(self, oracle_study):
        frame = recordings(oracle_study)
        assert frame.query("not used")[["recording", "reason"]].to_numpy().tolist() == [
            ["P206R300", "discarded by its file"]
        ]
        assert pd.isna(one(frame, "P206R300")["reader"])
        assert one(frame, "P206R400")["reader"] == "3"

    def test_fixations_are_those_of_the_files(self, oracle, oracle_study):
        for recording in [r for c in oracle_study for r in c.used][::7]:
            table = pd.read_csv(oracle / "inputs" / "main_data" / recording.recording / "fixations.csv")
            looks = recording.read()
            np.testing.assert_array_equal(looks.points, table[["y_position", "x_position"]])
            seconds = table["timestamp_end_fixation"] - table["timestamp_start_fixation"]
            np.testing.assert_array_equal(looks.duration, seconds)
            np.testing.assert_array_equal(looks.sd, table.filter(like="angular").iloc[:, ::-1])
            edges = [f"{e}_shown_from_image" for e in ("ymin", "xmin", "ymax", "xmax")]
            np.testing.assert_array_equal(looks.shown, table[edges])

    def test_fixations_outside_the_image_are_counted(self, oracle, oracle_study):
        frame = recordings(oracle_study).query("used").set_index("recording")
        size = {r.recording: c.shape for c in oracle_study for r in c.used}
        for recording, (height, width) in size.items():
            table = pd.read_csv(oracle / "inputs" / "main_data" / recording / "fixations.csv")
            inside = table["x_position"].between(0, width, inclusive="left")
            inside &= table["y_position"].between(0, height, inclusive="left")
            assert frame.loc[recording, "n_outside"] == (~inside).sum()
            assert frame.loc[recording, "n_fixations"] == len(table)

    def test_majorities_are_those_of_the_study(self, oracle, oracle_study):
        theirs = pd.read_csv(oracle / "expected" / "reference_table_seed0_n1000.csv")
        columns = [f"{location}_majority" for location in LOCATIONS]
        theirs = theirs.groupby(["phase", "trial"])[columns].first()
        ours = majority_labels(oracle_study)
        assert len(theirs) == 6
        trials = {c.case: c.trial for c in oracle_study}
        ours.index = pd.MultiIndex.from_arrays([ours["phase"], ours["case"].map(trials)])
        for location in LOCATIONS:
            assert ours.loc[theirs.index, location].tolist() == theirs[f"{location}_majority"].tolist()
        # a reader whose gaze was discarded votes
        assert ours.set_index("case")["n_readings"]["00000006-syn6-2"] == 5


class TestWhatIsRead:
    def test_a_study(self, release):
        with warnings.catch_warnings():
            # nothing is said where nothing is left out
            warnings.simplefilter("error")
            study = read_gaze(release)
        assert [c.case for c in study] == list(SHAPES)
        assert [c.shape for c in study] == list(SHAPES.values())
        assert [c.patient for c in study] == ["s0", "s1", "s2"]
        assert [r.reader for r in study.cases[0].recordings] == ["0", "1", "2"]
        assert study.cases[0].box == (3, 5, SHAPES["img-a"][0] - 5, SHAPES["img-a"][1] - 5)
        assert repr(study) == f"<Study {release}: 3 cases, 9 recordings, methods: none>"

    def test_labels_are_kept_with_flags_and_words_as_0_and_1(self, release):
        changed_metadata(release, 4, "Other", "a hernia|a clip")
        case = read_gaze(release).cases[1]
        assert case.recordings[1].labels["Other"] == 1
        assert np.isnan(case.recordings[0].labels["Other"])
        assert case.recordings[0].labels["Pneumothorax"] == 3
        assert case.recordings[0].labels["Support devices"] == 0

    @pytest.mark.parametrize("cells", [("55", "61"), ("-1", ""), ("7", "unknown"), ("by hand", "by hand")])
    def test_a_column_of_other_things_is_no_label(self, release, cells):
        rows = [[*row, cells[place % 2]] for place, row in enumerate(metadata_rows())]
        write_metadata(release, rows, columns=f"{METADATA_COLUMNS},more")
        assert set(read_gaze(release).cases[0].recordings[0].labels) == {
            "Atelectasis", "Pneumothorax", "Support devices", "Other",
        }  # fmt: skip

    def test_recordings_that_no_metadata_lists_are_said(self, release):
        write_metadata(release, metadata_rows()[:-2])
        with warns(value=[recording_id("img-c", reader) for reader in (1, 2)], path=release):
            read_gaze(release)
        read_gaze(release, phases=1)

    @pytest.mark.parametrize(("text", "lost"), [("TRUE", 9), ("1", 9), ("false", 0), ("0", 0)])
    def test_other_spellings_of_the_flag(self, release, text, lost):
        changed_metadata(release, None, "eye_tracking_data_discarded", text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SalstatsWarning)
            assert (~recordings(read_gaze(release))["used"]).sum() == lost

    def test_an_older_name_of_the_positions(self, release):
        expected = read_gaze(release).cases[0].used[0].read().points
        columns = FIXATION_COLUMNS.replace("x_pos", "average_x_pos").replace("y_pos", "average_y_pos")
        write_fixations(release / FIRST, fixation_rows("img-a", 0), columns)
        np.testing.assert_array_equal(read_gaze(release).cases[0].used[0].read().points, expected)

    @pytest.mark.parametrize("extra", ["average_x_position", "average_y_position"])
    def test_positions_are_of_one_pair_of_columns(self, release, extra):
        expected = read_gaze(release).cases[0].used[0].read().points
        rows = [[*row, 999] for row in fixation_rows("img-a", 0)]
        write_fixations(release / FIRST, rows, f"{FIXATION_COLUMNS},{extra}")
        np.testing.assert_array_equal(read_gaze(release).cases[0].used[0].read().points, expected)
        lacking = FIXATION_COLUMNS.replace(extra.removeprefix("average_"), extra)
        write_fixations(release / FIRST, fixation_rows("img-a", 0), lacking)
        with raises(InputFileError, path=release / FIRST / "fixations.csv", column=extra):
            read_gaze(release)

    def test_some_phases(self, release):
        write_metadata(release, [], phase=2)
        for phases in (None, 1, np.int64(1), [2, 1]):
            assert {c.phase for c in read_gaze(release, phases=phases)} == {1}
        for none in (2, []):
            with raises(InputFileError, option="phases", value=[none] if none else [], path=release):
                read_gaze(release, phases=none)
        with raises(InputFileError, option="phases", value=3, choices=("1", "2"), path=release):
            read_gaze(release, phases=[1, 3])
        with raises(ValueRangeError, option="phases", value="1"):
            read_gaze(release, phases="12")

    def test_an_image_of_two_phases_is_two_cases_of_one_patient(self, release):
        of_second_phase(release)
        study = read_gaze(release)
        assert [(c.case, c.phase, c.trial) for c in study] == [
            ("img-a", 1, 0),
            ("img-b_phase1", 1, 1),
            ("img-c", 1, 2),
            ("img-b_phase2", 2, 0),
        ]
        assert {c.patient for c in study if "img-b" in c.case} == {"s1"}

    def test_a_discarded_recording_needs_no_files(self, tmp_path):
        folder = write_release(tmp_path / "data", discarded=[FIRST])
        (folder / FIRST / "fixations.csv").unlink()
        with warns(value={"discarded by its file": 1}, path=folder):
            study = read_gaze(folder)
        assert [r.reader for r in study.cases[0].recordings] == [None, "0", "1"]

    def test_an_image_without_any_recording_kept_has_no_trial(self, tmp_path):
        lost = [recording_id("img-a", reader) for reader in range(N_READERS)]
        folder = write_release(tmp_path / "data", discarded=lost)
        with warns(value={"discarded by its file": 3}, path=folder):
            study = read_gaze(folder)
        assert [c.trial for c in study] == [None, 0, 1]
        assert majority_labels(study)["n_readings"].tolist() == [3, 3, 3]

    def test_names_that_look_like_numbers_stay_as_they_are(self, release):
        rows = metadata_rows()
        for row in rows[:3]:
            row[4], row[5] = "00012", "007"
        write_metadata(release, rows)
        first = read_gaze(release).cases[0]
        assert (first.case, first.patient) == ("00012", "007")

    def test_fixations_are_read_once_and_held_also_in_another_process(self, release):
        study = pickle.loads(pickle.dumps(read_gaze(release)))
        for file in release.glob("*/fixations.csv"):
            file.unlink()
        assert [len(look.read()) for case in study for look in case.used] == [6] * 9


class TestWhatIsLeftOut:
    """Readable but of no use: counted, with a reason, and one warning."""

    @pytest.mark.parametrize(
        ("cells", "reason"),
        [
            ({"timestamp_end_fixation": 0}, "no fixation lasts"),
            ({"xmin_shown_from_image": -1}, "shown part outside the image"),
            ({"ymin_shown_from_image": -0.75}, "shown part outside the image"),
            ({"xmax_shown_from_image": 41}, "shown part outside the image"),
            ({"ymax_shown_from_image": 30.75}, "shown part outside the image"),
            ({"x_position": 1e6}, "all fixations far from the shown part"),
            ({"xmax_shown_from_image": 0}, "all fixations far from the shown part"),
            (None, "no fixation"),
        ],
    )
    def test_a_recording(self, release, cells, reason):
        rows = [] if cells is None else fixation_rows("img-a", 0)
        for number, row in enumerate(rows):
            for column, value in cells.items():
                place = FIXATION_COLUMNS.split(",").index(column)
                row[place] = value
                if column == "timestamp_end_fixation":
                    row[:2] = number, number
        write_fixations(release / FIRST, rows)
        with warns(value={reason: 1}, path=release):
            study = read_gaze(release)
        row = one(recordings(study), FIRST)
        assert (row["used"], row["reason"], row["reader"]) == (False, reason, "0")
        assert row["n_fixations"] == len(rows)
        assert [r.reader for r in study.cases[0].used] == ["1", "2"]

    def test_half_a_pixel_rounds_to_the_even_edge_and_is_inside(self, release):
        changed(release, "img-a", 0, 2, "xmin_shown_from_image", -0.5)
        changed(release, "img-a", 1, 2, "ymax_shown_from_image", 30.5)
        assert recordings(read_gaze(release))["used"].all()

    @pytest.mark.parametrize(
        ("edges", "reason"),
        [
            (None, "no chest box"),
            ((), "no chest box"),
            ((-1, 3, 20, 20), "chest box outside the image"),
            ((4, 3, 41, 20), "chest box outside the image"),
            ((4, 3, 20, 31), "chest box outside the image"),
            ((4, 3, 4, 20), "chest box of no size"),
            ((20, 3, 4, 20), "chest box of no size"),
        ],
    )
    def test_a_chest_box_of_no_use_leaves_the_recording(self, release, edges, reason):
        if edges is None:
            (release / FIRST / "chest_bounding_box.csv").unlink()
        else:
            write_box(release / FIRST, *edges)
        with warns(value={reason: 1}, path=release):
            study = read_gaze(release)
        row = one(recordings(study), FIRST)
        assert (row["used"], row["box"]) == (True, reason)
        assert study.cases[0].box == (3, 5.5, 30 - 5.5, 35)


def test_odd_fixations_are_kept_and_counted(release):
    rows = fixation_rows("img-a", 0)
    rows[0][2], rows[1][3] = -0.25, 30
    rows[3][1] = rows[3][0]
    # the last begins while the one before lasts; their order in the file is nothing
    rows[4][1] = rows[5][1] + 0.01
    write_fixations(release / FIRST, rows[::-1])
    changed(release, "img-a", 1, 1, "y_position", 29.9)
    frame = recordings(read_gaze(release))
    counts = ["n_outside", "n_zero", "n_overlapping"]
    assert [one(frame, FIRST)[count] for count in counts] == [2, 1, 1]
    assert frame[counts].sum().tolist() == [2, 1, 1]
    assert frame["used"].all()
    assert one(frame, FIRST)["duration"] == pytest.approx(sum(r[1] - r[0] for r in rows), rel=1e-12)


class TestDamagedFixations:
    @pytest.mark.parametrize(
        ("column", "value"),
        [("x_position", "left"), ("y_position", ""), ("x_position", "nan"), ("y_position", "inf")],
    )
    def test_a_cell_that_is_no_number(self, release, column, value):
        changed(release, "img-a", 0, 2, column, value)
        file = release / FIRST / "fixations.csv"
        with raises(InputFileError, column=column, value=value, rows=(2,), path=file):
            read_gaze(release)

    @pytest.mark.parametrize(
        ("column", "value", "wrong"),
        [
            ("timestamp_end_fixation", 0.1, "duration"),
            ("angular_resolution_x_pixels_per_degree", 0, "sd"),
            ("xmax_shown_from_image", -1, "shown"),
        ],
    )
    def test_a_cell(self, release, column, value, wrong):
        changed(release, "img-a", 0, 2, column, value)
        with raises(InputFileError, path=release / FIRST / "fixations.csv", column=wrong, rows=(2,)):
            read_gaze(release)

    def test_a_file_or_a_column_that_is_not_there(self, release):
        columns = FIXATION_COLUMNS.replace("y_position", "y").replace("xmax_shown", "right_shown")
        write_fixations(release / FIRST, fixation_rows("img-a", 0), columns)
        file = release / FIRST / "fixations.csv"
        with raises(InputFileError, column="y_position", choices=tuple(columns.split(",")), path=file):
            read_gaze(release)
        file.unlink()
        with raises(InputFileError, column=None, hint="", path=file):
            read_gaze(release)
        write_metadata(release, metadata_rows(), columns=METADATA_COLUMNS.replace("dicom_id", "dicom"))
        with raises(InputFileError, column="dicom_id", rows=(), path=release / "metadata_phase_1.csv"):
            read_gaze(release)

    def test_a_box_that_is_no_number_or_one_of_several(self, release):
        write_box(release / FIRST, 1, 2, "wide", 9)
        with raises(InputFileError, column="xmax", value="wide", rows=(0,)):
            read_gaze(release)
        write_box(release / FIRST, 1, 2, 8, "9\n1,2,8,9")
        with raises(InputFileError, value=2, path=release / FIRST / "chest_bounding_box.csv"):
            read_gaze(release)

    def test_a_fixation_that_stands_twice(self, release):
        rows = fixation_rows("img-a", 0)
        write_fixations(release / FIRST, [*rows, rows[1]])
        with raises(InputFileError, rows=(6,), path=release / FIRST / "fixations.csv"):
            read_gaze(release)
        # two that begin at once are not one that stands twice
        write_fixations(release / FIRST, [*rows, [*rows[1][:2], 9.5, *rows[1][3:]]])
        assert one(recordings(read_gaze(release)), FIRST)["n_fixations"] == 7

    @pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
    def test_a_box_that_is_no_file_is_said_and_never_waited_for(self, release, kind):
        box = release / FIRST / "chest_bounding_box.csv"
        box.unlink()
        {"pipe": lambda: os.mkfifo(box), "folder": box.mkdir, "link": lambda: box.symlink_to("gone")}[kind]()
        with raises(InputFileError, path=box, value=None, hint="" if kind == "link" else "give a file"):
            read_gaze(release)

    @pytest.mark.parametrize(
        "damage", [lambda text: text.replace(",", ";").encode(), lambda text: text.encode("utf-16")]
    )
    def test_no_option_is_named_that_the_reader_has_not(self, release, damage):
        for file in (release / FIRST / "fixations.csv", release / "metadata_phase_1.csv"):
            before = file.read_bytes()
            file.write_bytes(damage(before.decode()))
            with raises(InputFileError, path=file, hint="save it as CSV with commas, in UTF-8"):
                read_gaze(release)
            file.write_bytes(before)


class TestDamagedMetadata:
    @pytest.mark.parametrize("name", ["../P0R1", "/etc", "a/b", "..", ".", r"a\b", r"C:x"])
    def test_a_name_that_leads_out_of_the_folder(self, release, name):
        changed_metadata(release, 0, "id", name)
        with raises(InputFileError, column="id", rows=(0,), path=release / "metadata_phase_1.csv"):
            read_gaze(release)

    @pytest.mark.parametrize(
        ("column", "value", "fields"),
        [
            ("id", "", {"column": "id", "rows": (1,), "hint": "every row needs one"}),
            ("subject_id", "", {"column": "subject_id", "rows": (1,), "hint": "every row needs one"}),
            (FLAG, "maybe", {"column": FLAG, "value": "maybe", "rows": (1,)}),
            (FLAG, "", {"column": FLAG, "value": None, "rows": (1,)}),
            ("image_size_x", "wide", {"column": "image_size_x", "value": "wide", "rows": (1,)}),
            ("image_size_y", "0", {"value": (0, 40)}),
            ("image_size_y", "30.5", {"value": (30.5, 40)}),
            ("image_size_x", "10000000000", {"value": (30, 10_000_000_000)}),
            ("image_size_y", "31", {"column": "shape", "value": (31, 40)}),
            ("subject_id", "s9", {"column": "subject_id", "value": "s9"}),
            ("subject_id", "s0.0", {"column": "subject_id", "value": "s0.0"}),
            ("dicom_id", "img-z", {"column": "dicom_id", "value": "img-z"}),
            ("image", "./y/other.dcm", {"column": "image", "value": "./y/other.dcm"}),
            ("id", FIRST, {"column": "id", "value": FIRST}),
            ("Atelectasis", "yes", {"column": "Atelectasis", "value": "yes", "rows": (1,)}),
            ("Atelectasis", "6", {"column": "Atelectasis", "value": "6", "rows": (1,)}),
        ],
    )
    def test_a_cell(self, release, column, value, fields):
        changed_metadata(release, 1, column, value)
        with raises(InputFileError, **fields) as error:
            read_gaze(release)
        assert str(error.value).startswith(f"{release / 'metadata_phase_1.csv'}, row 3")

    def test_one_patient_is_written_in_one_way(self, release):
        rows = metadata_rows()
        for row in rows:
            row[5] = "10000" if row[4] == "img-a" else "10000.0"
        write_metadata(release, rows)
        file = release / "metadata_phase_1.csv"
        # the first row of the patient, and its other spelling
        first_row = r"row 2\b.* 10000 "
        with raises(
            InputFileError, column="subject_id", value="10000.0", rows=(3,), path=file, match=first_row
        ):
            read_gaze(release)

    def test_a_folder_that_is_none_or_the_one_above(self, release):
        with raises(InputFileError, path=release / "nowhere"):
            read_gaze(release / "nowhere")
        with raises(InputFileError, column=None, path=release / "metadata_phase_1.csv"):
            read_gaze(release / "metadata_phase_1.csv")
        with raises(InputFileError, path=release.parent, hint=f"give {release}"):
            read_gaze(release.parent)
        with raises(InputFileError, option=None, hint="", path=release / FIRST):
            read_gaze(release / FIRST)

    def test_a_study_of_maps_and_truth_it_is_not(self, release):
        hint = "read them with read_gaze() and score maps against them with score_gaze(study)"
        with raises(InputFileError, path=release, hint=hint):
            read_study(release)


def test_a_study_of_another_kind_is_refused():
    for function in (recordings, majority_labels):
        with raises(SalstatsError, option="study", value="dict", hint="read one with read_gaze()"):
            function({})
