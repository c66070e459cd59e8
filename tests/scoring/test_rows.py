"""Rows of scores as a frame."""

import numpy as np

from salstats.scoring.rows import (
    COUNT,
    FLAG,
    NAME,
    NUMBER,
    TEXT,
    TRUTH,
    WHOLE,
    drop_empty_columns,
    frame_of,
    row_identifiers,
)
from salstats.study import Case, Series

COLUMNS = {
    "case": NAME,
    "seed": TEXT,
    "score": NUMBER,
    "tp": COUNT,
    "phase": WHOLE,
    "empty_mask": TRUTH,
    "used": FLAG,
}


def test_each_kind_of_column_has_its_type_also_with_missing_values():
    rows = [
        {"case": "a", "seed": "0", "score": 1, "tp": 3, "phase": 1, "empty_mask": True, "used": True},
        {"case": "b", "phase": 2, "used": False},
    ]
    frame = frame_of(rows, COLUMNS)
    assert list(frame.columns) == list(COLUMNS)
    assert frame["score"].dtype == np.float64
    assert frame["phase"].dtype == np.int64
    assert frame["used"].dtype == bool
    assert frame["empty_mask"].dtype == "boolean"
    assert frame["tp"].dtype == "Int64"
    assert frame["tp"][0] == 3
    missing = frame.columns[frame.isna().to_numpy()[1]]
    assert list(missing) == ["seed", "score", "tp", "empty_mask"]


def test_only_optional_columns_without_a_value_are_dropped():
    rows = [
        {"case": "a", "phase": 1, "used": True, "seed": "0"},
        {"case": "b", "phase": 1, "used": True, "seed": None},
    ]
    frame = frame_of(rows, COLUMNS)
    assert list(drop_empty_columns(frame, ["seed", "tp"]).columns) == [
        "case",
        "seed",
        "score",
        "phase",
        "empty_mask",
        "used",
    ]


def test_a_row_has_the_parts_of_the_series_name():
    names = row_identifiers(Case("a", None, patient="p"), "Edema", Series("rise", seed="1"))
    assert names == {
        "case": "a",
        "patient": "p",
        "task": "Edema",
        "method": "rise",
        "model": None,
        "seed": "1",
        "reader": None,
        "mixing": None,
    }
