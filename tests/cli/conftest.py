"""Folders with what commands read."""

import numpy as np
import pytest
from command_line import study
from gaze_files import write_maps, write_release
from study_files import write_study


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with `scores.csv` in it."""
    monkeypatch.chdir(tmp_path)
    study().to_csv("scores.csv", index=False)
    return tmp_path


@pytest.fixture
def study_folder(tmp_path, monkeypatch):
    """The working folder, with a study in `study`, and maps and masks in folders."""
    monkeypatch.chdir(tmp_path)
    write_study(tmp_path / "study")
    for subfolder in ("gradcam", "masks"):
        (tmp_path / subfolder).mkdir()
        np.save(tmp_path / subfolder / "img1.npy", np.eye(8))
    return tmp_path


@pytest.fixture
def gaze_folder(tmp_path, monkeypatch):
    """The working folder, with recordings in `gaze` and maps of them in `maps`."""
    monkeypatch.chdir(tmp_path)
    write_release(tmp_path / "gaze")
    write_maps(tmp_path / "maps")
    return tmp_path
