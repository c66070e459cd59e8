"""The script that a statistician reads gives the numbers of `reproduce`, on a study that is drawn here."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from saporta_frames import draw_tables
from study_scripts import reproduce_items

# each makes the items of a study twice, by its script and by `reproduce`
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning"),
]
SCRIPT = Path(__file__).resolve().parents[2] / "analyses" / "saporta2022.py"
OUTCOMES = {
    "iou": "IoU",
    "hit": "Hit rate",
    "human minus saliency, iou": "Human minus saliency, IoU",
    "human minus saliency, hit": "Human minus saliency, hit rate",
}
LIMITS = ["estimate", "conf_low", "conf_high"]
# the script's numbers are read from CSV
EXACT = 1e-12


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The tables of a study that is drawn here as files."""
    folder = tmp_path_factory.mktemp("tables")
    drawn = draw_tables()
    for name, frame in {"scores": drawn.scores, "full": drawn.full, "features": drawn.features}.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


def script_frames(tables, *, full_scores=True, errors="cr2"):
    """The frames that the script writes."""
    out = tables / f"out_{errors}"
    given = [tables / "scores.csv", "--features", tables / "features.csv", "--errors", errors, "-o", out]
    if full_scores:
        # size and shape are of findings only
        given += ["--full-scores", tables / "full.csv"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(SCRIPT), *map(str, given)])
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return {file.stem: pd.read_csv(file) for file in out.glob("*.csv")}, out


def assert_same(mine, want, keys):
    """Two frames of estimates have the same numbers."""
    both = mine.merge(want, on=keys, suffixes=("", "_want"), validate="1:1")
    assert len(both) == len(mine)
    for column in LIMITS:
        np.testing.assert_allclose(both[column], both[f"{column}_want"], rtol=EXACT)
    np.testing.assert_array_equal(both["n"], both["n_want"])


@pytest.fixture(scope="module")
def whole(tables):
    return script_frames(tables)


@pytest.fixture(scope="module")
def reproduced(tables):
    return reproduce_items(
        "saporta2022",
        *("table_1", "table_2", "table_3", "extended_data_5", "extended_data_6"),
        scores=tables / "scores.csv",
        features=tables / "features.csv",
        full_scores=tables / "full.csv",
    )


def test_table_1_and_the_decreases_are_those_of_reproduce(whole, reproduced):
    frames, _ = whole
    assert_same(frames["table_1"], reproduced["table_1"], ["metric", "method", "task"])
    lost = pd.concat([reproduced["extended_data_5"], reproduced["extended_data_6"]])
    assert_same(frames["figure_2"], lost, ["metric", "method", "task"])


def pooled_slopes(frame):
    """Table 2 of `reproduce` as the script has it: scaled over all tasks, all tasks pooled."""
    return frame[(frame["scale"] == "Scaled over all tasks") & (frame["pool"] == "all tasks pooled")]


def test_table_2_is_that_of_reproduce_with_the_same_correction(whole, reproduced):
    mine = whole[0]["table_2"].replace({"outcome": OUTCOMES})
    want = pooled_slopes(reproduced["table_2"])
    assert len(mine) == 16
    assert_same(mine, want, ["outcome", "term"])
    both = mine.merge(want, on=["outcome", "term"], suffixes=("", "_want"))
    np.testing.assert_allclose(both["p_adjusted"], both["p_adjusted_want"], rtol=EXACT)


def test_table_3_is_that_of_reproduce(whole, reproduced):
    assert_same(whole[0]["table_3"], reproduced["table_3"], ["task", "term"])


def test_every_result_is_a_table_and_figures_are_there(whole):
    names = {file.name for file in whole[1].iterdir()}
    tables = {f"{name}.docx" for name in ("table_1", "table_2", "table_3", "figure_2")}
    assert tables | {"figure_2.pdf", "table_3.pdf"} < names


def test_classical_errors_are_the_published_ones(tables):
    frames, _ = script_frames(tables, full_scores=False, errors="classical")
    published = reproduce_items(
        "saporta2022",
        *("table_2", "table_3"),
        scores=tables / "scores.csv",
        features=tables / "features.csv",
        as_published=True,
        replicates=40,
    )
    mine = frames["table_2"].replace({"outcome": OUTCOMES})
    assert_same(mine, pooled_slopes(published["table_2"]), ["outcome", "term"])
    slopes = frames["table_3"].query("term == 'slope'")
    assert_same(slopes, published["table_3"], ["task", "term"])


def test_the_script_is_short():
    assert 40 <= len(SCRIPT.read_text().splitlines()) <= 80
