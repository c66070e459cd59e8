"""Sentences below a table, made from its frame."""

import pandas as pd

from salstats.display.estimates import read_estimates
from salstats.display.tables import notes
from salstats.display.text.labels import Labels


def test_abbreviations_are_whole_words_only():
    assert notes.abbreviation_note(["SDX, IoUs"]) == ""
    assert notes.abbreviation_note(["Insertion AUC"]) == "Insertion AUC, area under the insertion curve."
    assert (
        notes.abbreviation_note(["IoU (95% CI)"]) == "CI, confidence interval; IoU, intersection over union."
    )


def test_a_constant_column_without_values_is_not_said():
    frame = pd.DataFrame({"reader": [None, None], "dataset": ["d", "d"]})
    assert (
        notes.constant_note(read_estimates(frame, needed=()), ["reader", "dataset"], Labels())
        == "Dataset: d."
    )
