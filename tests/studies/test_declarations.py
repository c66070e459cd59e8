"""Numbers of a frame compared with those that were printed."""

import numpy as np
import pandas as pd
import pytest
from made_up_items import FRAME, GOOD, LACKING, PRINTED

from salstats.studies.declarations import KEYS, PrintedNumbers, StudyItem, declaration_of, rounded_half_away


def test_a_metric_that_the_data_lack_is_not_compared():
    frame = pd.DataFrame({"metric": ["iou"], "task": ["a"], "estimate": [0.5]})
    rows = pd.DataFrame(
        {"metric": ["iou", "iou", "hit"], "task": ["a", "b", "a"], "estimate": [0.5, 0.4, 0.3]}
    )
    compared = PrintedNumbers(lambda: rows, ("metric", "task"), ("estimate",)).compare(frame)
    assert compared["key"].tolist() == ["iou, a", "iou, b"]
    assert compared["equal"].tolist() == [True, False]
    assert compared["found"].tolist() == ["0.500", "NaN"]
    assert compared["exact"].all()


def test_a_key_that_does_not_apply_to_a_row_is_not_named():
    frame = pd.DataFrame({"metric": "iou", "task": [None, "all", "a"], "estimate": 0.5})
    compared = PrintedNumbers(lambda: frame, ("metric", "task"), ("estimate",)).compare(frame)
    assert compared["key"].tolist() == ["iou", "iou", "iou, a"]


def test_a_value_that_was_not_printed_is_not_compared(reproduce):
    rows = PRINTED.rows().assign(conf_low=[0.9, np.nan])
    printed = PrintedNumbers(lambda: rows, ("task",), ("estimate", "conf_low"))
    compared = printed.compare(FRAME.assign(conf_low=0.9))
    assert compared["printed"].tolist() == ["0.124, 0.900", "0.500"]
    assert compared["equal"].all()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0005, "0.001"), (-0.0005, "-0.001"), (0.5095, "0.510"), (0.50949999, "0.509"), (-0.1345, "-0.135")],
)
def test_rounding_is_half_away_from_zero(value, text):
    assert str(rounded_half_away(value, 3)) == text


def test_a_missing_number_stays_missing():
    assert rounded_half_away(float("nan"), 3).is_nan()


def test_printed_values_stand_beside_the_rows_that_were_printed():
    frame = pd.DataFrame({"task": ["c", "b", "a"], "estimate": 0.3}, index=[7, 3, 5])
    values = PRINTED.published_numbers_of_each_row(frame)
    assert values.index.tolist() == [7, 3, 5]
    assert values["printed"].tolist() == pytest.approx([np.nan, 0.5, 0.124], nan_ok=True)
    assert values["printed_source"].fillna("").tolist() == ["", "article", "article"]
    selected = PrintedNumbers(
        PRINTED.rows, ("task",), ("estimate",), select=lambda rows: rows[rows["task"] != "a"], source="page"
    )
    values = selected.published_numbers_of_each_row(frame)
    assert values.index.tolist() == [7, 3]
    assert values["printed_source"].fillna("").tolist() == ["", "page"]


def test_an_item_has_its_printed_numbers_as_a_list_and_a_number_where_its_title_has_one():
    assert (LACKING.printings, GOOD.printings) == ((), (PRINTED,))
    twice = StudyItem("key", "Means", GOOD.make, printed=[PRINTED, PRINTED])
    assert list(twice.printings) == [PRINTED, PRINTED]
    assert (GOOD.number_or_title, twice.number_or_title) == ("Table 1", "Means")


@pytest.mark.parametrize("key", KEYS)
def test_a_study_is_found_by_its_key(key):
    assert declaration_of(key).key == key
