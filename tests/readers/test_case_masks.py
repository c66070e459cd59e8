"""Masks by case and task, from folders and from files of run-length codes."""

import json

import numpy as np
from tests_support import raises

from salstats.errors import InputFileError, SalstatsError
from salstats.images.masks import decode, encode
from salstats.readers.case_masks import read_case_masks, read_masks_of_readers

MASK = np.eye(4, 6, dtype=bool)


def test_a_folder_a_file_and_folders_of_tasks_give_the_same_masks(tmp_path):
    (tmp_path / "flat").mkdir()
    (tmp_path / "tasks" / "Edema").mkdir(parents=True)
    np.save(tmp_path / "flat" / "a.npy", MASK)
    np.save(tmp_path / "tasks" / "Edema" / "a.npy", MASK)
    (tmp_path / "codes.json").write_text(json.dumps({"a": {"Edema": encode(MASK).to_coco()}}))
    for name in ("flat", "tasks", "codes.json"):
        masks = read_case_masks(tmp_path / name, "Edema")
        assert (decode(masks.values["a"]["Edema"]) == MASK).all()
        assert masks.shapes == {"a": (4, 6)}
    with raises(InputFileError, path=tmp_path / "flat" / "a.npy"):
        read_case_masks(tmp_path / "flat")


def test_masks_of_a_case_have_one_size(tmp_path):
    for task, mask in (("Edema", MASK), ("Mass", MASK[:3])):
        (tmp_path / task).mkdir()
        np.save(tmp_path / task / "a.npy", mask)
    with raises(InputFileError, path=tmp_path / "Mass" / "a.npy", value=(3, 6)):
        read_case_masks(tmp_path)


def test_what_holds_no_masks_is_named(tmp_path):
    (tmp_path / "a.png").touch()
    for name in ("a.png", "nothing"):
        with raises(InputFileError, path=tmp_path / name):
            read_case_masks(tmp_path / name)


def test_readers_by_name(tmp_path):
    np.save(tmp_path / "a.npy", MASK)
    assert list(read_masks_of_readers(tmp_path, "Edema")) == [None]
    assert list(read_masks_of_readers({"R2": tmp_path, "R1": tmp_path}, "Edema")) == ["R2", "R1"]
    with raises(SalstatsError, option="human"):
        read_masks_of_readers({}, "Edema")
