"""What most readers of an image found."""

import pytest
from gaze_files import metadata_rows, write_metadata, write_release
from tests_support import raises

from salstats.errors import SalstatsError, ValueRangeError
from salstats.readers.gaze import read_gaze
from salstats.readers.reading_labels import MAJORITY_GROUPS, majority_labels


@pytest.fixture
def release(tmp_path):
    """Three images of one phase, each read by three."""
    return write_release(tmp_path / "main_data")


def test_hand_worked(release):
    # Atelectasis: 1, 2 and 3 of three readers; Pneumothorax: one each, others empty
    frame = majority_labels(read_gaze(release), at_least=2)
    assert frame["parenchymal"].tolist() == [0, 1, 1]
    assert frame["pleural"].tolist() == [0, 0, 0]
    assert frame["abnormal"].tolist() == [0, 1, 1]
    assert frame["n_readings"].tolist() == [3, 3, 3]


def test_support_devices_make_an_image_abnormal_as_in_the_study(release):
    rows = metadata_rows()
    for row in rows[:3]:
        row[-4:] = ["0.0", "0.0", "True", ""]
    write_metadata(release, rows)
    assert majority_labels(read_gaze(release))["abnormal"].tolist()[0] == 1


def test_too_few_readers_make_no_majority(release):
    frame = majority_labels(read_gaze(release))
    # three of three: found by all in the last image, by one and by two in the others
    assert frame["parenchymal"].isna().tolist() == [True, True, False]


def test_a_group_that_no_label_is_of_is_missing(release):
    assert majority_labels(read_gaze(release))["cardiomediastinal"].isna().all()


def test_groups_of_one_s_own(release):
    study = read_gaze(release)
    frame = majority_labels(study, groups={"air": "Pneumothorax", "any": ["Atelectasis"]}, at_least=2)
    assert frame.columns.tolist() == ["case", "patient", "phase", "n_readings", "air", "any"]
    labels = ("Atelectasis", "Other", "Pneumothorax", "Support devices")
    with raises(SalstatsError, option="groups", value="Atelectases", choices=labels):
        majority_labels(study, groups={"any": ["Atelectases"]})
    with raises(SalstatsError, option="groups", value="", choices=labels):
        majority_labels(study, groups={"any": []})
    with raises(SalstatsError, option="groups", value="phase"):
        majority_labels(study, groups={"phase": ["Atelectasis"]})
    with raises(ValueRangeError, option="at_least", value=0):
        majority_labels(study, at_least=0)


def test_abnormal_is_every_label_of_the_study_and_each_stands_once():
    every = MAJORITY_GROUPS["abnormal"]
    assert len(set(every)) == len(every) == 26
    for name in ("pleural", "parenchymal", "cardiomediastinal"):
        assert set(MAJORITY_GROUPS[name]) <= set(every)
