"""The frame of recordings: one row each, also of those that are left out."""

import numpy as np
import pandas as pd
import pytest
from gaze_files import (
    N_READERS,
    SHAPES,
    fixation_rows,
    recording_id,
    write_box,
    write_fixations,
    write_release,
)
from tests_support import raises, warns

from salstats.errors import SalstatsError
from salstats.readers.gaze import read_gaze
from salstats.scoring.recordings import recordings
from salstats.study import Case, Study

DISCARDED = recording_id("img-a", 1)
EMPTY = recording_id("img-b", 0)
BOXLESS = recording_id("img-c", 2)
#: Its first two fixations lie outside the image, its fourth lasts no time, its last begins within another.
ODD = recording_id("img-b", 1)


@pytest.fixture(scope="module")
def odd_rows():
    rows = fixation_rows("img-b", 1)
    height, width = SHAPES["img-b"]
    rows[0][2] = -0.25
    rows[1][3] = height
    rows[2][2] = width - 0.25
    rows[3][1] = rows[3][0]
    rows[4][1] = rows[5][1] + 0.01
    return rows


@pytest.fixture(scope="module")
def frame(tmp_path_factory, odd_rows):
    release = write_release(tmp_path_factory.mktemp("gaze") / "data", discarded=[DISCARDED])
    write_fixations(release / EMPTY, [])
    write_fixations(release / ODD, odd_rows)
    write_box(release / BOXLESS)
    # two recordings and one box
    counts = {"discarded by its file": 1, "no fixation": 1, "no chest box": 1}
    with warns(path=release, value=counts, match=r"\b9\b.*\b7\b"):
        study = read_gaze(release)
    return recordings(study)


def test_every_recording_has_a_row_in_the_order_of_the_study(frame):
    names = [(image, recording_id(image, reader)) for image in SHAPES for reader in range(N_READERS)]
    assert list(frame[["case", "recording"]].itertuples(index=False, name=None)) == names
    assert frame["patient"].tolist() == ["s0"] * 3 + ["s1"] * 3 + ["s2"] * 3
    assert frame["phase"].eq(1).all()
    assert frame["trial"].nunique() == len(SHAPES)


def test_readers_are_numbered_without_the_discarded_ones(frame):
    readers = frame["reader"].tolist()
    assert readers[0] == "0"
    assert pd.isna(readers[1])
    assert readers[2:] == ["1", "0", "1", "2", "0", "1", "2"]


def test_a_recording_is_used_or_has_a_reason_why_not(frame):
    reasons = frame.set_index("recording")["reason"].dropna().to_dict()
    assert reasons == {DISCARDED: "discarded by its file", EMPTY: "no fixation"}
    assert frame["used"].eq(frame["reason"].isna()).all()


def test_only_a_used_recording_says_why_its_box_is_left_out(frame):
    boxes = frame.set_index("recording")["box"]
    assert boxes[[DISCARDED, EMPTY]].isna().all()
    assert boxes[BOXLESS] == "no chest box"
    assert boxes.drop([DISCARDED, EMPTY, BOXLESS]).eq("used").all()


def test_odd_fixations_are_counted_and_durations_added(frame, odd_rows):
    rows = frame.set_index("recording")
    counts = ["n_fixations", "n_outside", "n_zero", "n_overlapping"]
    assert rows.loc[ODD, counts].tolist() == [6, 2, 1, 1]
    assert rows.loc[ODD, "duration"] == pytest.approx(sum(row[1] - row[0] for row in odd_rows), rel=1e-12)
    assert rows.loc[EMPTY, "n_fixations"] == 0
    assert rows.loc[DISCARDED, counts].isna().all()
    plain = rows.drop([ODD, EMPTY, DISCARDED])
    assert plain["n_fixations"].eq(6).all()
    assert plain[counts[1:]].eq(0).all(axis=None)
    for recording, duration in plain["duration"].items():
        image, reader = list(SHAPES)[int(recording[1])], int(recording[3])
        seconds = np.sum([row[1] - row[0] for row in fixation_rows(image, reader)])
        assert duration == pytest.approx(seconds, rel=1e-12)


def test_only_a_study_of_gaze_has_recordings():
    with raises(SalstatsError, option="study", value="dict"):
        recordings({})
    with raises(SalstatsError, option="study", value="no gaze"):
        recordings(Study((Case("a", (9, 9)),), ("Edema",), (), "no gaze"))
