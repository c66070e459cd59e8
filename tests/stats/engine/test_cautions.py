"""Cautions of single rows: a column of the frame, and a sentence wherever the frame is shown."""

import numpy as np
import pandas as pd

import salstats as ss
from salstats.display.text.cautions import caution_note
from salstats.display.text.console import console_table
from salstats.stats.engine.cautions import (
    BASELINE_SHOWS_MUCH,
    DIFFERENT_CASES,
    Caution,
    add_caution,
    caution_column_if_any,
    row_mask_by_caution,
)


def estimates():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    return ss.summarize(scores, by=("metric", "method"))


def test_a_caution_is_a_column_of_the_rows_that_it_concerns():
    frame = estimates()
    rows = (frame["method"] == "gradcam").to_numpy()
    marked = add_caution(frame, DIFFERENT_CASES, rows)
    assert "caution" not in frame.columns
    assert marked["caution"].notna().tolist() == rows.tolist()
    assert marked.columns.get_loc("caution") < len(marked.columns)
    (concerned,) = row_mask_by_caution(marked).values()
    np.testing.assert_array_equal(concerned, rows)


def test_without_a_caution_there_is_no_column():
    frame = estimates()
    assert add_caution(frame, DIFFERENT_CASES, np.zeros(len(frame), dtype=bool)) is frame
    assert row_mask_by_caution(frame) == {}


def test_a_row_may_have_several_and_each_once():
    frame = estimates()
    everything = np.ones(len(frame), dtype=bool)
    other = Caution("something else", "say so.")
    twice = add_caution(add_caution(frame, DIFFERENT_CASES, everything), DIFFERENT_CASES, everything)
    both = add_caution(twice, other, everything)
    assert (both["caution"] == f"{DIFFERENT_CASES.name}; {other.name}").all()


def test_table_figure_and_console_say_it():
    marked = add_caution(estimates(), DIFFERENT_CASES, np.array([True, False, False]))
    note = caution_note(marked)
    assert DIFFERENT_CASES.note in note
    assert "1 of 3" in note
    assert DIFFERENT_CASES.note in ss.table_estimates(marked).as_raw_html()
    assert DIFFERENT_CASES.note in " ".join(ss.plot_intervals(marked).labels.caption.split())
    assert DIFFERENT_CASES.note in console_table(marked)


def test_a_frame_that_was_written_and_read_says_it_too(tmp_path):
    marked = add_caution(estimates(), DIFFERENT_CASES, np.array([True, False, False]))
    marked.to_csv(tmp_path / "estimates.csv", index=False)
    assert caution_note(pd.read_csv(tmp_path / "estimates.csv")) == caution_note(marked)


def test_a_caution_of_scores_is_carried_to_the_estimates_of_their_metric():
    scores = ss.datasets.load_simulated()
    scores = add_caution(scores, BASELINE_SHOWS_MUCH, (scores["metric"] == "iou").to_numpy())
    for frame in (
        ss.summarize(scores, by=("metric", "method")),
        ss.difference(scores, reference="human", by="metric", interval="cr2"),
    ):
        (concerned,) = row_mask_by_caution(frame).values()
        np.testing.assert_array_equal(concerned, frame["metric"] == "iou")


def test_the_column_of_cautions_names_those_of_each_row():
    masks = {
        DIFFERENT_CASES: np.array([True, False, True]),
        BASELINE_SHOWS_MUCH: np.array([False, False, True]),
    }
    frame = pd.DataFrame(caution_column_if_any(masks))
    assert frame["caution"].isna().tolist() == [False, True, False]
    found = row_mask_by_caution(frame)
    assert {caution: mask.tolist() for caution, mask in found.items()} == {
        caution: mask.tolist() for caution, mask in masks.items()
    }
    assert caution_column_if_any({DIFFERENT_CASES: np.zeros(3, dtype=bool)}) == {}
