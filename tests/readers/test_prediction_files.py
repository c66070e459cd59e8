"""Predictions of methods whose maps and masks are files, and the names of their series."""

from pathlib import Path

import numpy as np
import pytest
from tests_support import raises, warns

from salstats.errors import InputFileError, SalstatsError
from salstats.images.masks import encode
from salstats.readers.prediction_files import (
    check_any_case_in_common,
    check_cases_and_warn_of_unknown,
    images_in_folders,
    prediction,
    series_of_method_model_seed_text,
    source_by_series,
)
from salstats.study import Series

SERIES = Series("cam")


def test_a_name_is_a_method_a_model_and_a_seed():
    assert series_of_method_model_seed_text("cam:resnet:1", "maps") == Series("cam", "resnet", "1")
    assert series_of_method_model_seed_text("cam:resnet:1.0", "maps") == Series("cam", "resnet", "1")
    assert source_by_series("folder", "cam", "maps") == {SERIES: "folder"}
    assert source_by_series(None, "cam", "maps") == {}
    assert source_by_series({"a": "x", "b:m": "y"}, "cam", "maps") == {
        Series("a"): "x",
        Series("b", "m"): "y",
    }


@pytest.mark.parametrize("name", ["a:b:c:d", "a:", ":m", " "])
def test_a_name_of_too_many_or_empty_parts_is_refused(name):
    with raises(SalstatsError, option="maps", value=name):
        series_of_method_model_seed_text(name, "maps")


def test_people_are_no_method():
    with raises(SalstatsError, option="masks", value="human", hint="name the method"):
        series_of_method_model_seed_text("human", "masks")


def test_names_without_a_common_case_are_refused_and_other_names_left_out():
    check_any_case_in_common([], ["a"], "here", "there")
    check_any_case_in_common(["b"], [], "here", "there")
    with raises(InputFileError, path="here", column="case", value="b"):
        check_any_case_in_common(["b"], ["a"], "here", "there")
    # the first two names of both, in their order
    first_names = "'9f' .*'c1' .*'a' .*'b' "
    with raises(InputFileError, path="here", column="case", value="9f", match=first_names):
        check_any_case_in_common(["c1", "9f", "e0"], ["b", "a", "c"], "here", "there")
    with warns(path="here", column="case", value=["b"]):
        check_cases_and_warn_of_unknown(["a", "b"], ["a"], "here", "there")


def test_images_lie_in_folders_and_others_are_said(tmp_path):
    for path in ("p/b.tif", "p/a.tif", "p/note.txt", "p/.hidden.tif", "top.tif"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(b"x")
    left_out = [tmp_path / "p" / "note.txt", tmp_path / "top.tif"]
    with warns(path=left_out[0], value=left_out):
        files = images_in_folders(tmp_path, (".tif",), "FOLDER/NAME.tif")
    assert files == [tmp_path / "p" / "a.tif", tmp_path / "p" / "b.tif"]
    (tmp_path / "linked").symlink_to(tmp_path / "p")
    with warns(path=tmp_path / "linked", value=[tmp_path / "linked", *left_out]):
        assert images_in_folders(tmp_path, (".tif",), "FOLDER/NAME.tif") == files
    (tmp_path / "empty").mkdir()
    with raises(InputFileError, path=tmp_path / "empty"):
        images_in_folders(tmp_path / "empty", (".tif",), "FOLDER/NAME.tif")


def test_a_mask_has_the_size_of_its_image():
    mask = encode(np.eye(3, dtype=bool))
    assert prediction("t", SERIES, (3, 3), "a.json", mask=mask).read().mask == mask
    # the source and the size of the image
    with raises(InputFileError, value=(3, 3), match=r"^a\.json: .* 4 x 3"):
        prediction("t", SERIES, (4, 3), "a.json", mask=mask).read()
    # the file of the mask is named, not that of the map
    with raises(InputFileError, value=(3, 3), match=r"^a\.json: .* 4 x 3"):
        prediction("t", SERIES, (4, 3), "a.json", map_file=Path("map.npy"), mask=mask).read()


def test_a_prediction_is_named_by_its_map_then_its_mask(tmp_path):
    map_file = tmp_path / "map.npy"
    np.save(map_file, np.eye(2))
    of_map = prediction("t", SERIES, (2, 2), "source", map_file=map_file, mask=tmp_path / "mask.png")
    assert (of_map.source, of_map.has_saliency) == (str(map_file), True)
    of_mask = prediction("t", SERIES, (2, 2), "source", mask=tmp_path / "mask.png")
    assert (of_mask.source, of_mask.has_saliency) == (str(tmp_path / "mask.png"), False)
    assert prediction("t", SERIES, (2, 2), "source", prob=0.5).source == "source"


def test_a_prediction_has_its_numbers_and_reads_its_files_from_any_folder(tmp_path, monkeypatch):
    np.save(tmp_path / "map.npy", np.eye(2))
    np.save(tmp_path / "mask.npy", np.eye(3, dtype=bool))
    monkeypatch.chdir(tmp_path)
    relative = {"map_file": Path("map.npy"), "mask": Path("mask.npy")}
    made = prediction("t", SERIES, (3, 3), "source", **relative, prob=0.25, label=1)
    monkeypatch.chdir("/")
    content = made.read()
    np.testing.assert_array_equal(content.saliency, np.eye(2))
    assert content.mask == encode(np.eye(3, dtype=bool))
    assert (content.prob, content.label, content.shape) == (0.25, 1, (3, 3))
    other_size = prediction("t", SERIES, (4, 3), "source", mask=tmp_path / "mask.npy")
    with raises(InputFileError, value=(3, 3), path=tmp_path / "mask.npy"):
        other_size.read()
