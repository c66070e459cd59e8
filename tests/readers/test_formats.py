"""Formats are records: what reads a study, its help and its messages come from them."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import InputFileError, SalstatsError, ValueRangeError
from salstats.readers.formats import FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_a_record_leads_to_a_reader_that_says_whether_a_folder_is_its_own(name, tmp_path):
    record = FORMATS[name]
    assert record.name == name
    assert not record.recognise(tmp_path)
    folder, *options = inspect.signature(record.read).parameters.values()
    assert folder.name == "folder"
    assert all(p.kind is p.KEYWORD_ONLY for p in options)


def test_a_study_is_read_by_the_format_that_knows_its_files():
    folder = ss.datasets.digits_examples()
    assert [name for name, record in FORMATS.items() if record.recognise(Path(folder))] == ["maps"]
    assert ss.read_study(folder).tasks == ss.read_study(folder, format="maps").tasks


def test_the_error_of_a_folder_in_no_format_fits_three_lines_and_names_the_options_of_the_smallest_study(
    tmp_path,
):
    with pytest.raises(InputFileError) as error:
        ss.read_study(tmp_path)
    assert error.value.choices == tuple(FORMATS)
    assert [setting.option for setting in error.value.hint.settings()] == ["maps", "truth", "format"]
    assert len(str(error.value).replace(str(tmp_path), "")) < 3 * 80


def test_a_format_or_an_option_that_is_none_is_refused(tmp_path):
    with raises(ValueRangeError, option="format", value="dicom"):
        ss.read_study(tmp_path, format="dicom")
    options = ("truth", "human", "tasks", "patient_from", "without_truth")
    with raises(SalstatsError, option="pixels", choices=options, hint="it belongs to 'saliency_bench'"):
        ss.read_study(tmp_path, format="maps", pixels="image")


def test_the_current_folder_is_named_by_its_path_where_it_has_no_format(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raises(InputFileError, option="format", choices=tuple(FORMATS), path=tmp_path):
        ss.read_study(".")


def test_a_study_needs_a_path_or_the_options_of_its_files(tmp_path):
    with raises(SalstatsError, option="path"):
        ss.read_study()
    with raises(SalstatsError, option="path", match="'maps'"):
        ss.read_study(format="maps", tasks=["Edema"])
    (tmp_path / "truth").mkdir()
    np.save(tmp_path / "truth" / "a.npy", np.eye(4, dtype=bool))
    (tmp_path / "cam").mkdir()
    np.save(tmp_path / "cam" / "a.npy", np.eye(4))
    # without a path the options name the folders
    study = ss.read_study(truth=tmp_path / "truth", maps={"cam": tmp_path / "cam"})
    assert [case.case for case in study] == ["a"]
    # an option that no format has belongs to none
    with raises(SalstatsError, option="pixel_size", hint=""):
        ss.read_study(truth=tmp_path / "truth", pixel_size=3)
    # the hint names a folder of maps as it is called
    with raises(InputFileError, option="format", path=tmp_path / "cam") as caught:
        ss.read_study(tmp_path / "cam")
    assert str(tmp_path / "cam") in str(caught.value.hint)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    (tmp_path / "file.png").touch()
    for name in ("nowhere", "file.png"):
        with raises(InputFileError, path=tmp_path / name):
            ss.read_study(tmp_path / name)
