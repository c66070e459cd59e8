"""Tables with a row per case: what is said of a wrong cell."""

import pytest
from tests_support import raises

from salstats.errors import ColumnError
from salstats.readers.case_tables import read_predictions, read_spacing


@pytest.mark.parametrize(
    ("read", "text", "fields"),
    [
        (read_predictions, "name,prob\na,0.5\n", {"column": "case", "choices": ("name", "prob")}),
        (read_predictions, "case,prob\na,0.5\na,0.6\n", {"column": "case", "rows": (1,)}),
        (read_predictions, "case,prob\n,0.5\n", {"column": "case", "rows": (0,)}),
        (read_predictions, "case,prob\na,1.5\n", {"column": "prob", "rows": (0,)}),
        (read_predictions, "case,prob,label\na,0.5,2\n", {"column": "label", "rows": (0,)}),
        (read_spacing, "case,row_mm\na,1\n", {"column": "col_mm", "rows": ()}),
        (read_spacing, "case,row_mm,col_mm\na,0,1\n", {"column": "row_mm", "rows": (0,)}),
        (read_spacing, "case,row_mm,col_mm\na,1,\n", {"column": "col_mm", "rows": (0,)}),
    ],
)
def test_a_wrong_cell_is_named(tmp_path, read, text, fields):
    (tmp_path / "a.csv").write_text(text)
    with raises(ColumnError, path=tmp_path / "a.csv", **fields):
        read(tmp_path / "a.csv")
