"""A folder with a file of scores."""

import pytest
from command_line import study


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with `scores.csv` in it."""
    monkeypatch.chdir(tmp_path)
    study().to_csv("scores.csv", index=False)
    return tmp_path
