"""Recordings of gaze: what a release's files say, and what a damaged one is called."""

import os
import pickle
import re
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
    write_maps,
    write_metadata,
    write_release,
)

from salstats.checks import ColumnError, InputFileError, SalstatsError, SalstatsWarning, ValueRangeError
from salstats.images.mixing import mix_classes
from salstats.readers.gaze import read_gaze
from salstats.readers.reading_labels import MAJORITY_GROUPS, majority_labels
from salstats.readers.studies import read_study
from salstats.scoring.recordings import recordings
from salstats.study import Series, Study

#: Stretched maps are in single precision.
SINGLE = 1e-6
LOCATIONS = ("pleural", "parenchymal", "cardiomediastinal", "abnormal")
FIRST = recording_id("img-a", 0)


@pytest.fixture
def release(tmp_path):
    """Three images of one phase, each read by three."""
    return write_release(tmp_path / "main_data")


@pytest.fixture(scope="module")
def oracle(shared):
    return shared / "oracles" / "gaze"


@pytest.fixture(scope="module")
def oracle_study(oracle):
    with pytest.warns(SalstatsWarning, match="1 of 35 recordings is left out"):
        return read_gaze(oracle / "inputs" / "main_data")


def changed(release, image, reader, row, column, value):
    """Write a recording again with one cell changed."""
    rows = fixation_rows(image, reader)
    rows[row][FIXATION_COLUMNS.split(",").index(column)] = value
    write_fixations(release / recording_id(image, reader), rows)


def changed_metadata(release, row, column, value):
    """Write the metadata again with one cell changed."""
    rows = metadata_rows()
    rows[row][METADATA_COLUMNS.split(",").index(column)] = value
    write_metadata(release, rows)


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

    def test_a_reader_whose_gaze_was_discarded_votes(self, oracle_study):
        votes = majority_labels(oracle_study).set_index("case")["n_readings"]
        assert votes["00000006-syn6-2"] == 5

    def test_what_was_read_can_be_sent_to_another_process(self, oracle_study):
        again = pickle.loads(pickle.dumps(oracle_study))
        assert recordings(again).equals(recordings(oracle_study))
        np.testing.assert_array_equal(
            again.cases[2].used[1].read().points, oracle_study.cases[2].used[1].read().points
        )


class TestWhatIsRead:
    def test_a_study(self, release):
        study = read_gaze(release)
        assert [c.case for c in study] == list(SHAPES)
        assert [c.shape for c in study] == list(SHAPES.values())
        assert [c.patient for c in study] == ["s0", "s1", "s2"]
        assert [r.reader for r in study.cases[0].recordings] == ["0", "1", "2"]
        assert repr(study) == f"<Study {release}: 3 cases, 9 recordings, methods: none>"
        assert len(study.select(cases=["img-b"])) == 1

    def test_the_box_of_a_case_is_the_mean_of_its_readers(self, release):
        height, width = SHAPES["img-a"]
        assert read_gaze(release).cases[0].box == (3, 5, height - 5, width - 5)

    def test_labels_are_kept_with_flags_and_words_as_0_and_1(self, release):
        changed_metadata(release, 4, "Other", "a hernia|a clip")
        case = read_gaze(release).cases[1]
        assert case.recordings[1].labels["Other"] == 1
        assert np.isnan(case.recordings[0].labels["Other"])
        assert case.recordings[0].labels["Pneumothorax"] == 3
        assert case.recordings[0].labels["Support devices"] == 0

    def test_a_column_of_words_is_no_label(self, release):
        rows = [[*row, "by hand"] for row in metadata_rows()]
        write_metadata(release, rows, columns=f"{METADATA_COLUMNS},Comment")
        assert set(read_gaze(release).cases[0].recordings[0].labels) == {
            "Atelectasis", "Pneumothorax", "Support devices", "Other",
        }  # fmt: skip

    @pytest.mark.parametrize("cells", [("55", "61"), ("10000032", "2.5"), ("-1", ""), ("7", "unknown")])
    def test_a_column_of_other_numbers_is_no_label(self, release, cells):
        rows = [[*row, cells[place % 2]] for place, row in enumerate(metadata_rows())]
        write_metadata(release, rows, columns=f"{METADATA_COLUMNS},age")
        assert "age" not in read_gaze(release).cases[0].recordings[0].labels

    def test_a_phase_without_recordings_is_none(self, release):
        write_metadata(release, [], phase=2)
        assert {case.phase for case in read_gaze(release)} == {1}
        with pytest.raises(InputFileError, match=r"no recording .* phase '2'"):
            read_gaze(release, phases=2)

    def test_a_label_in_words_is_no_comment(self, release):
        rows = metadata_rows()
        for row in rows:
            row[8] = "yes"
        write_metadata(release, rows)
        with pytest.raises(InputFileError, match="row 2, column 'Atelectasis': 'yes' is no label"):
            read_gaze(release)

    def test_recordings_that_no_metadata_lists_are_said(self, release):
        write_metadata(release, metadata_rows()[:-2])
        said = r"2 folders with fixations.csv in no metadata and not read \(first: P2R1\)"
        with pytest.warns(SalstatsWarning, match=said):
            read_gaze(release)
        read_gaze(release, phases=1)

    @pytest.mark.parametrize(("text", "lost"), [("TRUE", 1), ("1", 1), ("false", 0), ("0", 0)])
    def test_other_spellings_of_the_flag(self, release, text, lost):
        changed_metadata(release, 4, "eye_tracking_data_discarded", text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SalstatsWarning)
            assert (~recordings(read_gaze(release))["used"]).sum() == lost

    def test_an_older_name_of_the_positions(self, release):
        expected = read_gaze(release).cases[0].used[0].read().points
        columns = FIXATION_COLUMNS.replace("x_pos", "average_x_pos").replace("y_pos", "average_y_pos")
        write_fixations(release / FIRST, fixation_rows("img-a", 0), columns)
        np.testing.assert_array_equal(read_gaze(release).cases[0].used[0].read().points, expected)

    def test_some_phases(self, release):
        rows = [[f"Q{row[0]}", *row[1:4], f"other-{row[4]}", *row[5:]] for row in metadata_rows()]
        write_metadata(release, rows, phase=2)
        assert {c.phase for c in read_gaze(release, phases=1)} == {1}
        with pytest.raises(InputFileError, match=re.escape("no metadata_phase_3.csv (phases: '1', '2')")):
            read_gaze(release, phases=[1, 3])
        with pytest.raises(InputFileError, match="names no phase"):
            read_gaze(release, phases=[])
        assert len(read_gaze(release, phases=np.int64(1))) == 3
        for wrong in ("12", 1.0, True, [None]):
            with pytest.raises(ValueRangeError, match="phases= must be a whole number"):
                read_gaze(release, phases=wrong)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"mixing": "weighted"}, "mixing= says how class_maps= are mixed; none are given"),
            ({"padded": True}, "padded= says how maps= and class_maps= lie; neither is given"),
            ({"clean_lungs": False}, "clean_lungs=False .*what lungs= names; it is not given"),
        ],
    )
    def test_options_that_say_how_to_read_what_is_not_given(self, release, options, said):
        with pytest.raises(SalstatsError, match=said):
            read_gaze(release, **options)

    def test_an_image_of_two_phases_is_two_cases_of_one_patient(self, release):
        rows = [[f"Q{row[0]}", *row[1:]] for row in metadata_rows() if row[4] == "img-b"]
        write_metadata(release, rows, phase=2)
        for row in rows:
            write_fixations(release / row[0], fixation_rows("img-b", 0))
        with pytest.warns(SalstatsWarning, match="3 of 12 chest boxes of those used are left out"):
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
        with pytest.warns(SalstatsWarning, match=r"1 of 9 recordings is left out \(1 discarded by its file"):
            study = read_gaze(folder)
        assert [r.reader for r in study.cases[0].recordings] == [None, "0", "1"]

    def test_an_image_without_any_recording_kept_has_no_trial(self, tmp_path):
        lost = [recording_id("img-a", reader) for reader in range(N_READERS)]
        folder = write_release(tmp_path / "data", discarded=lost)
        with pytest.warns(SalstatsWarning, match="3 of 9 recordings are left out"):
            study = read_gaze(folder)
        assert [c.trial for c in study] == [None, 0, 1]
        assert majority_labels(study)["n_readings"].tolist() == [3, 3, 3]


def test_fixations_are_read_once_and_held(release):
    study = read_gaze(release)
    looks = [recording for case in study for recording in case.used]
    files = sorted(release.glob("*/fixations.csv"))
    assert len(looks) == len(files) > 1
    for file in files:
        file.unlink()
    assert [len(recording.read()) for recording in looks] == [r.n_fixations for r in looks]


class TestWhatIsLeftOut:
    """Readable but of no use: counted, with a reason, and one warning."""

    def left_out(self, release, reason):
        with pytest.warns(SalstatsWarning, match="is left out") as said:
            study = read_gaze(release)
        assert len(said) == 1
        assert f"1 of 9 recordings is left out (1 {reason})" in str(said[0].message)
        row = one(recordings(study), FIRST)
        assert (row["used"], row["reason"], row["reader"]) == (False, reason, "0")
        assert [r.reader for r in study.cases[0].used] == ["1", "2"]
        return row

    def test_no_fixation(self, release):
        write_fixations(release / FIRST, [])
        assert self.left_out(release, "no fixation")["n_fixations"] == 0

    def test_no_fixation_lasts(self, release):
        rows = [[row[0], row[0], *row[2:]] for row in fixation_rows("img-a", 0)]
        write_fixations(release / FIRST, rows)
        row = self.left_out(release, "no fixation lasts")
        assert (row["n_zero"], row["duration"]) == (6, 0)

    @pytest.mark.parametrize(
        ("column", "value"),
        [
            ("xmin_shown_from_image", -1),
            ("ymin_shown_from_image", -0.75),
            ("xmax_shown_from_image", 41),
            ("ymax_shown_from_image", 30.75),
        ],
    )
    def test_a_shown_part_that_leaves_the_image(self, release, column, value):
        changed(release, "img-a", 0, 2, column, value)
        self.left_out(release, "shown part outside the image")

    def test_half_a_pixel_rounds_to_the_even_edge_and_is_inside(self, release):
        changed(release, "img-a", 0, 2, "xmin_shown_from_image", -0.5)
        changed(release, "img-a", 1, 2, "ymax_shown_from_image", 30.5)
        assert recordings(read_gaze(release))["used"].all()

    def test_fixations_far_from_what_is_shown(self, release):
        rows = [[*row[:2], 1e6, *row[3:]] for row in fixation_rows("img-a", 0)]
        write_fixations(release / FIRST, rows)
        assert self.left_out(release, "all fixations far from the shown part")["n_outside"] == 6

    def test_an_empty_shown_part_throughout(self, release):
        rows = [[*row[:8], 0, row[9]] for row in fixation_rows("img-a", 0)]
        write_fixations(release / FIRST, rows)
        self.left_out(release, "all fixations far from the shown part")

    @pytest.mark.parametrize(
        ("edges", "reason"),
        [
            ((), "no chest box"),
            ((-1, 3, 20, 20), "chest box outside the image"),
            ((4, 3, 41, 20), "chest box outside the image"),
            ((4, 3, 20, 31), "chest box outside the image"),
            ((4, 3, 4, 20), "chest box of no size"),
            ((20, 3, 4, 20), "chest box of no size"),
        ],
    )
    def test_a_chest_box_of_no_use_leaves_the_recording(self, release, edges, reason):
        write_box(release / FIRST, *edges)
        with pytest.warns(
            SalstatsWarning, match=rf"1 of 9 chest boxes of those used is left out \(1 {reason}"
        ):
            study = read_gaze(release)
        row = one(recordings(study), FIRST)
        assert (row["used"], row["box"]) == (True, reason)
        assert study.cases[0].box == (3, 5.5, 30 - 5.5, 35)

    def test_a_chest_box_that_is_not_there(self, release):
        for reader in range(N_READERS):
            (release / recording_id("img-a", reader) / "chest_bounding_box.csv").unlink()
        with pytest.warns(SalstatsWarning, match="3 no chest box"):
            study = read_gaze(release)
        assert study.cases[0].box is None


class TestWhatIsKeptAndCounted:
    def test_fixations_outside_the_image(self, release):
        rows = fixation_rows("img-a", 0)
        rows[0][2], rows[1][3] = -0.25, 30
        write_fixations(release / FIRST, rows)
        changed(release, "img-a", 1, 1, "y_position", 29.9)
        frame = recordings(read_gaze(release))
        assert one(frame, FIRST)["n_outside"] == 2
        assert frame["n_outside"].sum() == 2
        assert frame["used"].all()

    def test_fixations_of_no_duration(self, release):
        rows = fixation_rows("img-a", 0)
        rows[3][1] = rows[3][0]
        write_fixations(release / FIRST, rows)
        row = one(recordings(read_gaze(release)), FIRST)
        assert (row["n_zero"], row["used"]) == (1, True)
        assert row["duration"] == pytest.approx(sum(r[1] - r[0] for r in rows), rel=1e-12)

    def test_fixations_that_begin_before_another_has_ended(self, release):
        rows = fixation_rows("img-a", 0)
        # the second begins and ends while the first lasts; their order in the file is nothing
        rows[0][1] = rows[1][1] + 0.01
        write_fixations(release / FIRST, rows[::-1])
        frame = recordings(read_gaze(release))
        assert one(frame, FIRST)["n_overlapping"] == 1
        assert frame["n_overlapping"].sum() == 1
        assert frame["used"].all()


class TestDamagedFixations:
    @pytest.mark.parametrize(
        ("column", "value", "said"),
        [
            ("x_position", "left", "'left' is no number"),
            ("y_position", "", "'' is no number"),
            ("x_position", "nan", "'nan' is no number"),
            ("y_position", "inf", "'inf' is no number"),
            ("timestamp_end_fixation", 0.1, "the fixation ends before it begins"),
            ("angular_resolution_x_pixels_per_degree", 0, "a degree has no pixels"),
            ("angular_resolution_y_pixels_per_degree", -4, "a degree has no pixels"),
            ("xmax_shown_from_image", -1, "the shown part ends before it begins"),
            ("ymin_shown_from_image", 31, "the shown part ends before it begins"),
        ],
    )
    def test_a_cell(self, release, column, value, said):
        changed(release, "img-a", 0, 2, column, value)
        where = column if column != "ymin_shown_from_image" else "ymax_shown_from_image"
        with pytest.raises(InputFileError, match=f"fixations.csv, row 4, column '{where}'.*{said}"):
            read_gaze(release)

    def test_a_file_that_is_not_there(self, release):
        (release / FIRST / "fixations.csv").unlink()
        said = f"fixations.csv: no such file; recording '{FIRST}' .row 2 of metadata_phase_1.csv. needs it"
        with pytest.raises(InputFileError, match=said):
            read_gaze(release)

    def test_a_column_that_is_not_there(self, release):
        columns = FIXATION_COLUMNS.replace("y_position", "y")
        write_fixations(release / FIRST, fixation_rows("img-a", 0), columns)
        with pytest.raises(InputFileError, match=r"fixations.csv has no column 'y_position'"):
            read_gaze(release)

    @pytest.mark.parametrize("name", ["fixations.csv", "chest_bounding_box.csv"])
    def test_a_file_of_other_bytes(self, release, name):
        (release / FIRST / name).write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
        with pytest.raises(InputFileError, match=name):
            read_gaze(release)

    def test_an_empty_file(self, release):
        (release / FIRST / "fixations.csv").write_text("")
        with pytest.raises(InputFileError, match=r"fixations.csv"):
            read_gaze(release)

    def test_a_box_that_is_no_number_or_one_of_several(self, release):
        write_box(release / FIRST, 1, 2, "wide", 9)
        with pytest.raises(InputFileError, match="row 2, column 'xmax': 'wide' is no number"):
            read_gaze(release)
        write_box(release / FIRST, 1, 2, 8, "9\n1,2,8,9")
        with pytest.raises(InputFileError, match="2 boxes; a recording has one"):
            read_gaze(release)

    def test_a_fixation_that_stands_twice(self, release):
        rows = fixation_rows("img-a", 0)
        write_fixations(release / FIRST, [*rows, rows[1]])
        with pytest.raises(InputFileError, match=r"fixations.csv, row 8: a fixation that stands in a row"):
            read_gaze(release)
        # two that begin at once are not one that stands twice
        write_fixations(release / FIRST, [*rows, [*rows[1][:2], 9.5, *rows[1][3:]]])
        assert one(recordings(read_gaze(release)), FIRST)["n_fixations"] == 7

    def test_a_duration_beyond_all_numbers(self, release):
        rows = fixation_rows("img-a", 0)
        rows[2][:2] = "-1.7e308", "1.7e308"
        write_fixations(release / FIRST, rows)
        with pytest.raises(InputFileError, match=r"row 4, column 'timestamp_end.* lasts too long"):
            read_gaze(release)

    @pytest.mark.parametrize("kind", ["pipe", "folder", "link"])
    def test_a_box_that_is_no_file_is_said_and_never_waited_for(self, release, kind):
        box = release / FIRST / "chest_bounding_box.csv"
        box.unlink()
        {"pipe": lambda: os.mkfifo(box), "folder": box.mkdir, "link": lambda: box.symlink_to("gone")}[kind]()
        with pytest.raises(InputFileError, match=r"chest_bounding_box.csv: a link to .*, or no plain file"):
            read_gaze(release)

    @pytest.mark.parametrize(
        "damage",
        [
            lambda text: text.replace(",", ";").encode(),
            lambda text: text.encode("utf-16"),
            lambda text: text.encode() + b"\xff",
            lambda text: text.encode() + b"\x00",
            lambda text: text.encode() + b"\xc2\x92",
        ],
    )
    def test_no_option_is_named_that_the_reader_has_not(self, release, damage):
        for file in (release / FIRST / "fixations.csv", release / "metadata_phase_1.csv"):
            before = file.read_bytes()
            file.write_bytes(damage(before.decode()))
            with pytest.raises(InputFileError, match=f"{file.name}.*; save it as CSV with commas, in UTF-8$"):
                read_gaze(release)
            file.write_bytes(before)


class TestDamagedMetadata:
    @pytest.mark.parametrize("name", ["../P0R1", "/etc", "a/b", "..", ".", r"a\b", r"C:x"])
    def test_a_name_that_leads_out_of_the_folder(self, release, name):
        changed_metadata(release, 0, "id", name)
        with pytest.raises(InputFileError, match=r"row 2, column 'id': .* is no plain name of a folder"):
            read_gaze(release)

    @pytest.mark.parametrize(
        ("column", "value", "said"),
        [
            ("id", "", "row 3, column 'id': empty"),
            ("dicom_id", "", "row 3, column 'dicom_id': empty"),
            ("subject_id", "", "row 3, column 'subject_id': empty"),
            ("eye_tracking_data_discarded", "maybe", "'maybe' is no flag; it is True or False"),
            ("eye_tracking_data_discarded", "", "column 'eye_tracking_data_discarded': empty"),
            ("image_size_x", "wide", "row 3, column 'image_size_x': 'wide' is no number"),
            ("image_size_y", "0", "row 3, column 'image_size_y': 0 is no number of pixels"),
            ("image_size_y", "30.5", "row 3, column 'image_size_y': 30.5 is no number of pixels"),
            ("image_size_x", "1e300", r"row 3: 30 x 1e\+300 pixels would take"),
            ("id", "x" * 300, "cannot be read .File name too long"),
            ("Atelectasis", "True", "'True' is no label; labels are 0 to 5, or all of them True and False"),
            ("image_size_y", "31", r"\(31, 40\) where row 2 of metadata_phase_1.csv has \(30, 40\)"),
            ("subject_id", "s9", "s9 where row 2 of metadata_phase_1.csv has s0"),
            ("dicom_id", "img-z", "'img-z' where row 2 has 'img-a' for the same path"),
            ("image", "./y/other.dcm", "has './x/img-a.dcm' for the same dicom_id"),
            ("id", FIRST, "row 3: recording 'P0R0' stands in row 2 of metadata_phase_1.csv already"),
            ("Atelectasis", "yes", "row 3, column 'Atelectasis': 'yes' is no label"),
            ("Atelectasis", "6", "row 3, column 'Atelectasis': 6 is no label"),
            ("Atelectasis", "-1", "row 3, column 'Atelectasis': -1 is no label"),
        ],
    )
    def test_a_cell(self, release, column, value, said):
        changed_metadata(release, 1, column, value)
        with pytest.raises(InputFileError, match=said):
            read_gaze(release)

    def test_blanks_around_a_name(self, release):
        changed_metadata(release, 0, "id", " P0R0")
        with pytest.raises(ColumnError, match="begins or ends with a blank"):
            read_gaze(release)

    @pytest.mark.parametrize("column", ["id", "image", "dicom_id", "subject_id", "image_size_x"])
    def test_a_column_that_is_not_there(self, release, column):
        write_metadata(release, metadata_rows(), columns=METADATA_COLUMNS.replace(column, f"x{column}", 1))
        with pytest.raises(InputFileError, match=f"metadata_phase_1.csv has no column '{column}'"):
            read_gaze(release)

    def test_a_phase_twice(self, release):
        (release / "metadata_phase_01.csv").write_text(METADATA_COLUMNS)
        with pytest.raises(InputFileError, match=r"_phase_01.csv', 'metadata_phase_1.csv' of one phase"):
            read_gaze(release)

    def test_an_image_that_is_called_as_another_s_second_phase(self, release):
        rows = [[f"Q{row[0]}", *row[1:]] for row in metadata_rows()[:1]]
        write_metadata(release, rows, phase=2)
        renamed = metadata_rows()
        for row in renamed[3:6]:
            row[4] = "img-a_phase2"
        write_metadata(release, renamed)
        write_fixations(release / rows[0][0], fixation_rows("img-a", 0))
        with pytest.raises(InputFileError, match="would be called 'img-a_phase2', which is another image's"):
            read_gaze(release)

    def test_one_patient_is_written_in_one_way(self, release):
        rows = metadata_rows()
        for row in rows:
            row[5] = "10000" if row[4] == "img-a" else "10000.0"
        write_metadata(release, rows)
        with pytest.raises(
            InputFileError, match=r"row 5, column subject_id: '10000.0' where row 2 .*'10000'"
        ):
            read_gaze(release)

    def test_names_that_look_like_numbers_stay_as_they_are(self, release):
        rows = metadata_rows()
        for row in rows[:3]:
            row[4], row[5] = "00012", "007"
        write_metadata(release, rows)
        first = read_gaze(release).cases[0]
        assert (first.case, first.patient) == ("00012", "007")

    def test_a_recording_in_two_phases(self, release):
        write_metadata(release, metadata_rows()[:1], phase=2)
        with pytest.raises(InputFileError, match=r"metadata_phase_2.csv, row 2: recording 'P0R0' stands in"):
            read_gaze(release)

    def test_a_folder_that_is_none_or_the_one_above(self, release):
        with pytest.raises(InputFileError, match="no such folder"):
            read_gaze(release / "nowhere")
        with pytest.raises(InputFileError, match="not a folder"):
            read_gaze(release / "metadata_phase_1.csv")
        with pytest.raises(InputFileError, match=r"holds no metadata_phase_\*.csv; give .*main_data"):
            read_gaze(release.parent)
        with pytest.raises(InputFileError, match=r"holds no metadata_phase_\*.csv$"):
            read_gaze(release / FIRST)

    def test_a_study_of_maps_and_truth_it_is_not(self, release):
        with pytest.raises(InputFileError, match=r"recordings of gaze; read them with read_gaze\(\)"):
            read_study(release)


class TestMaps:
    def test_maps_are_found_by_case_and_by_trial(self, release, tmp_path):
        folder = write_maps(tmp_path / "maps")
        (folder / "img-b.npy").rename(folder / "p1_t001.npy")
        study = read_gaze(release, maps={"cam:resnet:2": folder})
        assert study.series == (Series("cam", "resnet", "2"),)
        for place, case in enumerate(study):
            (made,) = case.predictions
            expected = np.random.default_rng([0, place]).random(case.shape)
            np.testing.assert_array_equal(made.read().saliency, expected)

    def test_one_folder_is_called_saliency(self, release, tmp_path):
        assert read_gaze(release, maps=write_maps(tmp_path / "maps")).series == (Series("saliency"),)

    def test_a_case_of_two_phases_has_the_map_of_its_image(self, release, tmp_path):
        rows = [[f"Q{row[0]}", *row[1:]] for row in metadata_rows() if row[4] == "img-b"]
        write_metadata(release, rows, phase=2)
        for row in rows:
            write_fixations(release / row[0], fixation_rows("img-b", 0))
            write_box(release / row[0], 1, 1, 9, 9)
        study = read_gaze(release, maps=write_maps(tmp_path / "maps"))
        sources = [c.predictions[0].source for c in study if "img-b" in c.case]
        assert sources == [str(tmp_path / "maps" / "img-b.npy")] * 2

    def test_a_map_that_is_not_there_leaves_its_case_without(self, release, tmp_path):
        folder = write_maps(tmp_path / "maps")
        (folder / "img-b.npy").unlink()
        assert [len(c.predictions) for c in read_gaze(release, maps={"cam": folder})] == [1, 0, 1]

    def test_files_of_no_image_are_said(self, release, tmp_path):
        folder = write_maps(tmp_path / "maps")
        np.save(folder / "other.npy", np.eye(3))
        with pytest.warns(SalstatsWarning, match=r"1 of 4 files is of no image of the study \(first: other"):
            read_gaze(release, maps={"cam": folder})

    def test_a_folder_of_other_names_is_an_error_that_says_how_to_name_them(self, release, tmp_path):
        (tmp_path / "maps").mkdir()
        np.save(tmp_path / "maps" / "other.npy", np.eye(3))
        with pytest.raises(InputFileError, match=r"first: other.npy.; name them img-a.npy, .* p1_t0.npy"):
            read_gaze(release, maps={"cam": tmp_path / "maps"})

    @pytest.mark.parametrize(("first", "second"), [("img-a", "p1_t0"), ("p1_t0", "p1_t00")])
    def test_two_files_of_one_image(self, release, tmp_path, first, second):
        (tmp_path / "maps").mkdir()
        for name in (first, second):
            np.save(tmp_path / "maps" / f"{name}.npy", np.eye(3))
        with pytest.raises(InputFileError, match="remove one"):
            read_gaze(release, maps={"cam": tmp_path / "maps"})

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"maps": {"interobserver": "m"}}, "is what the reader left out is called"),
            ({"maps": {"a:b:c:d": "m"}}, "must be method, method:model or method:model:seed"),
            ({"maps": {"a:": "m"}}, "must be method, method:model or method:model:seed"),
            ({"masks": {}}, "masks= names no method"),
            ({"maps": {"x": "m"}, "masks": {"x": "m"}}, "masks= names 'x', which is another series'"),
            ({"masks": {"convex": "m"}, "lungs": "m"}, "lungs= names 'convex', which is another"),
        ],
    )
    def test_names_that_cannot_be(self, release, tmp_path, monkeypatch, options, said):
        monkeypatch.chdir(tmp_path)
        write_maps(tmp_path / "m")
        with pytest.raises(SalstatsError, match=re.escape(said)):
            read_gaze(release, **options)

    def test_padded_squares_lie_on_the_padded_image(self, release, tmp_path):
        # a ramp over rows on 40 x 40, of which img-a (30 x 40) is rows 5 to 34
        ramp = np.tile(np.arange(20.0)[:, None], (1, 20))
        (tmp_path / "maps").mkdir()
        np.save(tmp_path / "maps" / "img-a.npy", ramp)
        case = read_gaze(release, maps=tmp_path / "maps", padded=True).cases[0]
        on_image = case.predictions[0].read().saliency
        assert on_image.shape == (30, 40)
        np.testing.assert_allclose(on_image[:, 7], (np.arange(5, 35) + 0.5) / 2 - 0.5, atol=SINGLE)

    def test_maps_of_the_image_s_own_proportions_are_not_of_the_padded_square(self, release, tmp_path):
        small = np.arange(12.0).reshape(3, 4)
        folder = write_maps(tmp_path / "maps")
        np.save(folder / "img-a.npy", small)
        case = read_gaze(release, maps=folder, padded=True).cases[0]
        np.testing.assert_array_equal(case.predictions[0].read().saliency, small)

    @pytest.mark.parametrize("padded", [None, True, False])
    def test_maps_of_other_proportions_are_said_once_per_method(self, release, tmp_path, padded):
        for name, shape in (("odd1", (8, 4)), ("odd2", (8, 4)), ("grid", (7, 9))):
            write_maps(tmp_path / name, shape=shape)
        folders = {"cam:a:1": tmp_path / "odd1", "cam:a:2": tmp_path / "odd2", "grid": tmp_path / "grid"}
        with pytest.warns(SalstatsWarning, match="neither square nor") as said:
            read_gaze(release, maps=folders, padded=padded)
        (text,) = (str(w.message) for w in said)
        assert text.startswith("cam: maps")
        assert "8 x 4 to 30 x 40" in text

    def test_the_study_s_own_files_are_found_by_the_place_of_the_image(self, release, tmp_path):
        rows = metadata_rows()
        for phase, own in ((1, rows[:6]), (2, rows[6:])):
            write_metadata(release, own, phase=phase)
        folder = tmp_path / "uniform" / "ag_sononet"
        places = {"img-a": (1, 0), "img-b": (1, 1), "img-c": (2, 0)}
        for image, (phase, trial) in places.items():
            place = folder / f"phase_{phase}_0.98"
            place.mkdir(parents=True, exist_ok=True)
            for name, value in (("", 1.0), ("_am1", 2.0), ("_am2", 3.0)):
                saliency = np.full(SHAPES[image], value, dtype=np.float32)
                saliency[0, :2] = phase, trial
                np.save(place / f"{trial}{name}", {"np_image": saliency, "img_path": image, "trial": trial})
                (place / f"{trial}{name}.png").write_bytes(b"a picture of it")
            (place / f"{trial}or.png").write_bytes(b"the image")
        for case in read_gaze(release, maps=dict.fromkeys(("gradcam_wag", "am1", "am2"), folder)):
            found = [given.read().saliency for given in case.predictions]
            assert {tuple(saliency[0, :2]) for saliency in found} == {places[case.case]}
            assert [saliency[-1, -1] for saliency in found] == [1, 2, 3]
        one = read_gaze(release, phases=1, maps={"am2": folder / "phase_1_0.98"})
        assert [case.predictions[0].read().saliency[-1, -1] for case in one] == [3, 3]

    def test_square_maps_that_are_stretched_are_said_once_per_method(self, release, tmp_path):
        folders = {name: tmp_path / name for name in ("cam:a:1", "cam:a:2", "ig", "own")}
        for name, folder in folders.items():
            write_maps(folder, shape=None if name == "own" else (9, 9))
        with pytest.warns(SalstatsWarning) as said:
            read_gaze(release, maps=folders)
        (text,) = (str(w.message) for w in said)
        assert text.startswith("cam, ig: square maps are stretched to oblong images (9 x 9 to 30 x 40)")
        assert "padded=True (--padded)" in text
        # said already, or no square: no warning
        for padded in (True, False):
            read_gaze(release, maps=folders, padded=padded)
        write_maps(tmp_path / "grid", shape=(7, 9))
        read_gaze(release, maps=tmp_path / "grid")

    def test_masks_are_maps_of_0_and_1_of_the_size_of_the_image(self, release, tmp_path):
        folder = tmp_path / "masks"
        folder.mkdir()
        for image, shape in SHAPES.items():
            np.save(folder / f"{image}.npy", np.eye(*shape, dtype=np.uint8) * 255)
        case = read_gaze(release, masks={"lime": folder}).cases[0]
        np.testing.assert_array_equal(case.predictions[0].read().saliency, np.eye(*case.shape))
        np.save(folder / "img-a.npy", np.eye(8, dtype=bool))
        case = read_gaze(release, masks={"lime": folder}).cases[0]
        with pytest.raises(InputFileError, match=r"the mask is 8 x 8 .height x width., its image 30 x 40"):
            case.predictions[0].read()


class TestLungs:
    def test_the_hull_of_the_oracle_s_lungs(self, oracle, tmp_path):
        lungs = np.load(oracle / "inputs" / "maps.npz")
        expected = np.load(oracle / "expected" / "convex_hull.npz")
        for name in lungs.files:
            if name.endswith("_lungs256"):
                np.save(tmp_path / f"{name.removesuffix('_lungs256')}.npy", lungs[name])
        with pytest.warns(SalstatsWarning, match="left out"):
            study = read_gaze(oracle / "inputs" / "main_data", lungs=tmp_path)
        n_compared = 0
        for case in study:
            name = f"hull_p{case.phase}_t{case.trial}"
            if name in expected.files:
                np.testing.assert_array_equal(case.predictions[0].read().saliency, expected[name])
                n_compared += 1
        assert study.series == (Series("convex"),)
        assert n_compared >= 6

    def test_a_mask_of_the_image_s_size_is_taken_as_it_is(self, release, tmp_path):
        mask = np.zeros(SHAPES["img-a"], bool)
        mask[4, 6] = mask[4, 16] = mask[14, 6] = True
        np.save(tmp_path / "img-a.npy", mask)
        case = read_gaze(release, lungs=tmp_path, clean_lungs=False).cases[0]
        hull = case.predictions[0].read().saliency
        assert hull[4, 6:17].all()
        assert not hull[14, 8:].any()

    def test_specks_are_taken_out_first_unless_told_otherwise(self, release, tmp_path):
        mask = np.zeros(SHAPES["img-a"], bool)
        mask[4:20, 6:18] = True
        np.save(tmp_path / "img-a.npy", mask)
        alone = read_gaze(release, lungs=tmp_path).cases[0].predictions[0].read().saliency
        mask[25, 30] = True
        np.save(tmp_path / "img-a.npy", mask)
        for clean in (True, False):
            case = read_gaze(release, lungs=tmp_path, clean_lungs=clean).cases[0]
            assert np.array_equal(case.predictions[0].read().saliency, alone) is clean

    def test_a_mask_of_another_shape_is_refused(self, release, tmp_path):
        np.save(tmp_path / "img-a.npy", np.zeros((10, 12), bool))
        case = read_gaze(release, lungs=tmp_path).cases[0]
        with pytest.raises(InputFileError, match="the mask is 10 x 12"):
            case.predictions[0].read()


class TestClassMaps:
    MAPS = np.arange(24.0).reshape(3, 2, 4) ** 2

    def write(self, folder, **changed):
        folder.mkdir(exist_ok=True)
        np.savez(folder / "img-a.npz", **({"maps": self.MAPS, "probs": [0.1, 0.7, 0.4]} | changed))
        return folder

    def test_every_rule_of_mixing_is_a_series(self, release, tmp_path):
        study = read_gaze(release, class_maps={"cam": self.write(tmp_path / "m")})
        assert [s.mixing for s in study.series] == ["thresholded", "weighted", "uniform"]
        for made in study.cases[0].predictions:
            expected = mix_classes(self.MAPS, [0.1, 0.7, 0.4], rule=made.series.mixing)
            np.testing.assert_array_equal(made.read().saliency, expected)

    def test_one_rule_of_mixing(self, release, tmp_path):
        folder = self.write(tmp_path / "m")
        study = read_gaze(release, class_maps={"cam": folder}, mixing="uniform")
        assert study.series == (Series("cam", mixing="uniform"),)
        with pytest.raises(ValueRangeError, match="mixing='mean' is not known"):
            read_gaze(release, class_maps={"cam": folder}, mixing="mean")

    def test_the_class_of_no_finding_is_found_by_its_name(self, release, tmp_path):
        low = [0.1, 0.2, 0.3]
        for names, expected in (
            (None, 0),
            (["Edema", "No_Finding", "Mass"], 1),
            (["a", "b", "NoFinding"], 2),
        ):
            more = {} if names is None else {"classes": names}
            folder = self.write(tmp_path / "m", probs=low, **more)
            study = read_gaze(release, class_maps={"cam": folder}, mixing="thresholded")
            np.testing.assert_array_equal(study.cases[0].predictions[0].read().saliency, self.MAPS[expected])

    def test_names_without_no_finding_make_no_other_class_of_it(self, release, tmp_path):
        folder = self.write(tmp_path / "m", probs=[0.1, 0.2, 0.3], classes=np.array([b"Edema", b"b", b"c"]))
        study = read_gaze(release, class_maps={"cam": folder}, mixing="thresholded")
        assert not study.cases[0].predictions[0].read().saliency.any()

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"probs": [0.1, 0.7]}, r"'maps' has shape \(3, 2, 4\) and 'probs' \(2,\)"),
            ({"probs": [0.1, 0.7, 1.4]}, "'probs' must lie between 0 and 1"),
            ({"probs": [0.1, 0.7, np.nan]}, "'probs' must lie between 0 and 1"),
            ({"probs": ["a", "b", "c"]}, "'probs' is no array of numbers"),
            ({"maps": np.eye(3)}, r"'maps' has shape \(3, 3\)"),
            ({"classes": ["a"]}, "1 'classes' for 3 maps"),
            (
                {"classes": ["No Finding", "a", "no_finding"]},
                "'classes' names 'no_finding' twice, at 0 and 2",
            ),
            ({"maps": np.array([{}], dtype=object)}, "not an .npz of arrays, or damaged"),
        ],
    )
    def test_a_damaged_file(self, release, tmp_path, changed, said):
        study = read_gaze(release, class_maps={"cam": self.write(tmp_path / "m", **changed)})
        with pytest.raises(InputFileError, match=f"img-a.npz: .*{said}"):
            study.cases[0].predictions[0].read()

    def test_more_numbers_than_memory_is_for(self, release, tmp_path, monkeypatch):
        study = read_gaze(release, class_maps={"cam": self.write(tmp_path / "m", maps=self.MAPS > 5)})
        monkeypatch.setenv("SALSTATS_LIMIT_GB", str(100 / 2**30))
        with pytest.raises(InputFileError, match="would take"):
            study.cases[0].predictions[0].read()

    def test_an_array_that_is_not_there(self, release, tmp_path):
        self.write(tmp_path / "m")
        np.savez(tmp_path / "m" / "img-a.npz", maps=self.MAPS)
        study = read_gaze(release, class_maps={"cam": tmp_path / "m"})
        with pytest.raises(InputFileError, match=r"img-a.npz: has no array 'probs' .arrays: 'maps'"):
            study.cases[0].predictions[0].read()

    @pytest.mark.parametrize("padded", [False, True])
    def test_a_class_that_is_not_finite_makes_a_map_that_is_not(self, release, tmp_path, padded):
        maps = self.MAPS.copy()
        maps[2, 1, 1] = np.nan
        folder = self.write(tmp_path / "m", maps=maps)
        study = read_gaze(release, class_maps={"cam": folder}, padded=padded)
        for made in study.cases[0].predictions:
            assert np.isnan(made.read().saliency).all()

    def test_no_class_weighs_anything(self, release, tmp_path):
        folder = self.write(tmp_path / "m", probs=[0.0, 0.0, 0.0])
        study = read_gaze(release, class_maps={"cam": folder}, mixing="weighted")
        with pytest.raises(InputFileError, match=r"img-a.npz: all probs are 0"):
            study.cases[0].predictions[0].read()

    def test_a_file_cut_short(self, release, tmp_path):
        file = self.write(tmp_path / "m") / "img-a.npz"
        file.write_bytes(file.read_bytes()[:-50])
        study = read_gaze(release, class_maps={"cam": tmp_path / "m"})
        with pytest.raises(InputFileError, match=r"img-a.npz: not an .npz of arrays, or damaged"):
            study.cases[0].predictions[0].read()


class TestMajorityLabels:
    def test_hand_worked(self, release):
        # Atelectasis: 1, 2 and 3 of three readers; Pneumothorax: one each, others empty
        frame = majority_labels(read_gaze(release), at_least=2)
        assert frame["parenchymal"].tolist() == [0, 1, 1]
        assert frame["pleural"].tolist() == [0, 0, 0]
        assert frame["abnormal"].tolist() == [0, 1, 1]
        assert frame["n_readings"].tolist() == [3, 3, 3]

    def test_support_devices_make_an_image_abnormal_as_in_the_study(self, release):
        rows = metadata_rows()
        for row in rows[:3]:
            row[-4:] = ["0.0", "0.0", "True", ""]
        write_metadata(release, rows)
        assert majority_labels(read_gaze(release))["abnormal"].tolist()[0] == 1

    def test_too_few_readers_make_no_majority(self, release):
        frame = majority_labels(read_gaze(release))
        # three of three: found by all in the last image, by one and by two in the others
        assert frame["parenchymal"].isna().tolist() == [True, True, False]

    def test_a_group_that_no_label_is_of_is_missing(self, release):
        assert majority_labels(read_gaze(release))["cardiomediastinal"].isna().all()

    def test_groups_of_one_s_own(self, release):
        study = read_gaze(release)
        frame = majority_labels(study, groups={"air": "Pneumothorax", "any": ["Atelectasis"]}, at_least=2)
        assert frame.columns.tolist() == ["case", "patient", "phase", "n_readings", "air", "any"]
        with pytest.raises(SalstatsError, match=r"no label 'Atelectases' .*did you mean 'Atelectasis'"):
            majority_labels(study, groups={"any": ["Atelectases"]})
        with pytest.raises(SalstatsError, match="names no label"):
            majority_labels(study, groups={"any": []})
        with pytest.raises(SalstatsError, match="the name of another column"):
            majority_labels(study, groups={"phase": ["Atelectasis"]})
        with pytest.raises(ValueRangeError, match="at_least"):
            majority_labels(study, at_least=0)

    def test_abnormal_is_every_label_of_the_study_and_each_stands_once(self):
        every = MAJORITY_GROUPS["abnormal"]
        assert len(set(every)) == len(every) == 26
        for name in LOCATIONS[:3]:
            assert set(MAJORITY_GROUPS[name]) <= set(every)


def test_a_study_of_another_kind_is_refused():
    for function in (recordings, majority_labels):
        with pytest.raises(SalstatsError, match=r"dict is no study of gaze.*read_gaze"):
            function({})


def test_a_name_that_the_study_lacks(release):
    study = read_gaze(release)
    assert isinstance(study, Study)
    with pytest.raises(SalstatsError, match="has no case 'img-z'"):
        study.select(cases="img-z")
    with pytest.raises(SalstatsError, match="has no method 'cam'"):
        study.select(methods=["cam"])


def test_some_cases_and_methods_in_the_study_s_own_order(release, tmp_path):
    maps = write_maps(tmp_path / "maps")
    study = read_gaze(release, maps={"cam": maps, "ig": maps})
    some = study.select(cases=["img-c", "img-a"], methods="ig")
    assert [c.case for c in some] == ["img-a", "img-c"]
    assert some.series == (Series("ig"),)
    assert [m.series.method for c in some for m in c.predictions] == ["ig", "ig"]
    assert some.source == study.source


def test_nothing_is_said_where_nothing_is_left_out(release):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_gaze(release)
