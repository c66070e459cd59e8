"""Margins in words: their mark, the sentence on it, and pairs of methods as methods."""

import numpy as np
import pandas as pd
import pytest

from salstats.display.estimates import read_estimates
from salstats.display.text.labels import Labels
from salstats.display.text.margins import (
    MARGIN_MARK,
    margin_mark_note,
    margin_marks,
    margin_p_heading,
    pairs_as_methods_if_several_references,
)


def frame(*rows, term="difference"):
    columns = ["metric", "verdict", "margin_low", "margin_high", "p_margin"]
    return read(pd.DataFrame(rows, columns=columns).assign(term=term, conf_level=0.95))


def read(rows):
    return read_estimates(rows, required_columns=())


EQUIVALENT = ("iou", "lower, equivalent", -0.05, 0.05, 0.01)
NOT_INFERIOR = ("hit", "not inferior", -0.1, np.inf, 0.01)
OPEN = ("iou", "lower", -0.05, 0.05, 0.9)


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        (
            [EQUIVALENT, OPEN],
            "†Equivalent: shown to lie within −0.05 to 0.05 (two one-sided tests, P < 0.05).",
        ),
        ([NOT_INFERIOR], "†Not inferior: shown to lie above −0.1 (one-sided test, P < 0.05)."),
        ([OPEN], "None was shown to lie within −0.05 to 0.05 (two one-sided tests, P < 0.05)."),
        (
            [NOT_INFERIOR, EQUIVALENT],
            "†Equivalent or not inferior: shown to lie within −0.05 to 0.05 (IoU) and above −0.1 (Hit rate) "
            "(two one-sided tests, P < 0.05).",
        ),
        (
            [EQUIVALENT, ("iou", "lower", -0.3, 0.3, 0.9)],
            "†Equivalent: shown to lie within −0.05 to 0.05 or within −0.3 to 0.3 (IoU) "
            "(two one-sided tests, P < 0.05).",
        ),
    ],
)
def test_the_note_says_what_was_shown_of_which_margin(rows, note):
    assert margin_mark_note(frame(*rows), Labels(), "nature") == note
    assert margin_mark_note(frame(*rows), Labels(), "ama") == note.replace("0.05).", ".05).")


def test_adjusted_p_values_and_percent_are_said():
    rows = frame(("iou", "not inferior", -np.inf, 10.0, 0.01), term="percent_decrease")
    rows = read(rows.frame.assign(p_margin_adjusted=0.02, conf_level=0.9))
    note = "†Not inferior: shown to lie below 10% (one-sided test, adjusted P < 0.1)."
    assert margin_mark_note(rows, Labels(), "nature") == note
    widened = read(rows.frame.assign(conf_level=0.99, family_level=0.9))
    assert margin_mark_note(widened, Labels(), "nature") == note


def test_marks_stand_where_something_was_shown():
    rows = frame(EQUIVALENT, NOT_INFERIOR, OPEN)
    assert margin_marks(rows) == [MARGIN_MARK, MARGIN_MARK, ""]
    without = read(rows.frame.drop(columns="p_margin"))
    assert margin_marks(without) == [""] * 3
    assert margin_mark_note(without, Labels(), "nature") == ""
    assert [margin_p_heading(frame(r)) for r in (EQUIVALENT, NOT_INFERIOR)] == ["P, equivalence", "P, margin"]


def test_pairs_are_methods_in_the_order_of_labels():
    pairs = pd.DataFrame({"method": ["b", "c", "c"], "reference": ["a", "a", "b"], "term": "difference"})
    labels = Labels({"method": ["c", "b", "a"], "a": "A"}, pairs)
    named = pairs_as_methods_if_several_references(read(pairs), labels).frame
    assert named["method"].tolist() == ["b − A", "c − A", "c − b"]
    assert list(named["method"].cat.categories) == ["c − A", "b − A", "c − b"]
    assert named["method"].cat.ordered
    assert "reference" not in named
    of_ratios = pairs_as_methods_if_several_references(
        read(pairs.assign(term="percent_decrease")), labels
    ).frame
    assert of_ratios["method"].iloc[0] == "b vs A"


def test_one_reference_and_models_stay_as_they_are():
    one = pd.DataFrame({"method": ["b", "c"], "reference": "a", "term": "difference"})
    gaps = pd.DataFrame({"method": ["b", "c"], "reference": ["a", "d"], "term": "prob"})
    for rows in (one, gaps):
        given = read(rows)
        assert pairs_as_methods_if_several_references(given, Labels()) is given
