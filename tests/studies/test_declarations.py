"""Numbers of a frame compared with those that were printed."""

import numpy as np
import pandas as pd
import pytest
from made_up_items import FRAME, PRINTED

from salstats.studies.declarations import PrintedNumbers, rounded


def test_a_metric_that_the_data_lack_is_not_compared():
    frame = pd.DataFrame({"metric": ["iou"], "task": ["a"], "estimate": [0.5]})
    rows = pd.DataFrame(
        {"metric": ["iou", "iou", "hit"], "task": ["a", "b", "a"], "estimate": [0.5, 0.4, 0.3]}
    )
    compared = PrintedNumbers(lambda: rows, ("metric", "task"), ("estimate",)).compare(frame)
    assert compared["key"].tolist() == ["iou, a", "iou, b"]
    assert compared["equal"].tolist() == [True, False]


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
    assert str(rounded(value, 3)) == text


def test_a_missing_number_stays_missing():
    assert rounded(float("nan"), 3).is_nan()
