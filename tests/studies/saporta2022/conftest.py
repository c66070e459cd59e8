"""The oracle's made-up study as frames, and its items both ways."""

import warnings
from dataclasses import replace

import pandas as pd
import pytest
from saporta_frames import draw_tables, in_nine_tasks, read_oracle

from salstats.errors import SalstatsWarning
from salstats.studies.engine import made_items_whose_needs_are_met
from salstats.studies.saporta2022 import ITEMS
from salstats.studies.saporta2022.study_frames import (
    FULL_PROBABILITIES,
    MAPS,
    NEEDS_MET_BY_FILES,
    PEOPLE,
    POINTS,
    PROBABILITIES,
    SEGMENTATIONS,
    SWEEP,
    THRESHOLDS,
    StudyFrames,
    StudyInference,
)

THERE = NEEDS_MET_BY_FILES | {
    FULL_PROBABILITIES,
    MAPS,
    PEOPLE,
    POINTS,
    PROBABILITIES,
    SEGMENTATIONS,
    SWEEP,
    THRESHOLDS,
}
#: Items that are made of files, not of frames, and one that tests have with all ten tasks.
ELSEWHERE = ("figure_1", "figure_3", "examples", "sensitivity")


@pytest.fixture(scope="session")
def expected(made_up):
    return made_up / "expected"


@pytest.fixture(scope="session")
def whole(expected):
    """All ten tasks, with few replicates."""
    oracle = read_oracle(expected)
    parts = (oracle.scores, oracle.full, oracle.uncut, oracle.features, oracle.tuned, oracle.sweep)
    return StudyFrames(*parts, available=THERE, inference=StudyInference(False, 40))


@pytest.fixture(scope="session")
def frames(whole):
    """Without the task of six positives."""
    return whole.with_enough_positives(10)


@pytest.fixture(scope="session")
def drawn_tables():
    """Scores and features of 60 cases that are drawn here."""
    return draw_tables()


@pytest.fixture(scope="session")
def drawn_frames(drawn_tables):
    """The same as the frames of items, with few replicates, for what the scripts need not confirm."""
    return frames_of(drawn_tables)


@pytest.fixture(scope="session")
def nine_tasks(drawn_tables):
    """Frames of nine tasks, whose order by IoU is another than that by hits."""
    return frames_of(in_nine_tasks(drawn_tables))


def frames_of(tables):
    """The frames of items with few replicates: scores and features, without tuned thresholds."""
    parts = (tables.scores, tables.full, tables.full, tables.features)
    return StudyFrames(*parts, available=THERE - {SWEEP, THRESHOLDS}, inference=StudyInference(False, 40))


def made_of(frames, *keys):
    """The items of frames by key, all that need no files unless some are named."""
    items = [i for i in ITEMS if (i.key in keys if keys else i.key not in ELSEWHERE)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        return {
            item.key: made for item, made in made_items_whose_needs_are_met(items, frames.available, frames)
        }


@pytest.fixture(scope="session")
def make():
    """A function that makes the items of frames."""
    return made_of


@pytest.fixture(scope="session")
def made(frames):
    """The items with patients as clusters."""
    return made_of(frames)


@pytest.fixture(scope="session")
def published(whole):
    """The items that the scripts make, as they do: with the task of six positives, and 1000 replicates."""
    frames = replace(whole, inference=StudyInference(True)).with_enough_positives(1)
    keys = ("table_1", "replicates", "extended_data_1b", "extended_data_2", "extended_data_4",
            "extended_data_5", "extended_data_6", "table_2", "table_3", "extended_data_9")  # fmt: skip
    return made_of(frames, *keys)


@pytest.fixture(scope="session")
def release_arguments(expected, tmp_path_factory):
    """The options that name the files of the study's scripts, with probabilities in a file of their form."""
    maps = pd.read_csv(expected / "per_map.csv")
    probabilities = tmp_path_factory.mktemp("release") / "probabilities.csv"
    maps.pivot(index="img_id", columns="task", values="prob").reset_index().to_csv(probabilities, index=False)
    files = {
        "--scores": [
            expected / "eval_tp" / f"{name}_results_per_cxr.csv"
            for name in ("iou", "iou_humanbenchmark", "hitmiss", "hitmiss_humanbenchmark")
        ],
        "--full-scores": [
            expected / "eval_full" / f"{name}_results_per_cxr.csv" for name in ("iou", "iou_humanbenchmark")
        ],
        "--features": [
            *(
                expected / "features" / f"{name}.csv"
                for name in ("num_instances", "area_ratio", "elongation", "rec_area_ratio")
            ),
            probabilities,
        ],
    }
    return [text for flag, paths in files.items() for path in paths for text in (flag, str(path))]
