"""Fixtures every test may use: the shared data, and the frames made from it."""

import gc
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from drawn_studies import draw_readings, draw_table, scores_of_table
from study_files import write_study

import salstats as ss

ROOT = Path(__file__).resolve().parents[1]


def pytest_sessionstart() -> None:
    """Look for no garbage while modules are imported and tests collected, which makes hardly any."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was imported and collected, a million objects, out of every later search for garbage."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    gc.unfreeze()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data and oracles beside the checkout; missing under CI is a failure."""
    folder = Path(os.environ.get("SALSTATS_SHARED") or ROOT.parent / "shared")
    if not folder.is_dir():
        message = f"the shared data are not at {folder}; set SALSTATS_SHARED to where they are"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def made_up(shared) -> Path:
    """The CheXlocalize oracle's made-up study: its files in `inputs`, what the scripts gave in `expected`."""
    return shared / "oracles" / "chexlocalize" / "study"


@pytest.fixture(scope="session")
def made_up_study(made_up) -> ss.Study:
    """The made-up study as its maps and annotations lie on disk."""
    return ss.read_chexlocalize(made_up / "inputs")


@pytest.fixture(scope="session")
def drawn_folder(tmp_path_factory) -> Path:
    """A folder with a small study in the same format, which is drawn here and needs no shared data."""
    return write_study(tmp_path_factory.mktemp("drawn") / "study")


@pytest.fixture(scope="session")
def drawn_study(drawn_folder) -> ss.Study:
    """Maps, people's marks and the truth of the small study: six cases, two tasks."""
    return ss.read_chexlocalize(drawn_folder)


@pytest.fixture(scope="session")
def r_data(shared):
    """A function that reads an input of the R oracle."""
    return lambda name: pd.read_csv(shared / "oracles" / "r" / "data" / f"{name}.csv")


@pytest.fixture(scope="session")
def r_expected(shared):
    """A function that reads a result of the R oracle."""
    return lambda name: pd.read_csv(shared / "oracles" / "r" / "expected" / f"{name}.csv")


@pytest.fixture(scope="session")
def synth1(r_data) -> pd.DataFrame:
    """The R oracle's synthetic study, one row per case and task, with salstats column names."""
    return r_data("synth1").rename(columns={"patient_id": "patient", "case_id": "case"})


@pytest.fixture(scope="session")
def synth1_scores(synth1) -> pd.DataFrame:
    """The same study as a scores frame: iou and hit of methods gradcam and human."""
    return scores_of_table(synth1)


@pytest.fixture(scope="session")
def drawn_table() -> pd.DataFrame:
    """A table like that of the R oracle, drawn here: for what no other program has to confirm."""
    return draw_table()


@pytest.fixture(scope="session")
def drawn_scores(drawn_table) -> pd.DataFrame:
    """The same as a scores frame: iou and hit of methods gradcam and human."""
    return scores_of_table(drawn_table)


@pytest.fixture(scope="session")
def drawn_readings() -> pd.DataFrame:
    """Readings of 60 cases by five readers with two modalities, drawn here."""
    return draw_readings()


@pytest.fixture
def scores() -> pd.DataFrame:
    """Two methods on three cases, one score missing, rows labelled as after a selection."""
    return pd.DataFrame(
        {
            "case": ["b", "a", "c"] * 2,
            "task": "Edema",
            "method": ["gradcam"] * 3 + ["human"] * 3,
            "metric": "iou",
            "score": [0.5, 0.25, np.nan, 0.75, 1.0, 0.0],
        },
        index=[3, 1, 4, 15, 9, 2],
    )
