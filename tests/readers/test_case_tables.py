"""Tables with a row per case: what is said of a wrong cell."""

import pytest

from salstats.errors import ColumnError
from salstats.readers.case_tables import read_predictions, read_spacing


@pytest.mark.parametrize(
    ("read", "text", "match"),
    [
        (read_predictions, "name,prob\na,0.5\n", "has no column 'case'"),
        (read_predictions, "case,prob\na,0.5\na,0.6\n", "row 3: case 'a' stands twice"),
        (read_predictions, "case,prob\n,0.5\n", "row 2: case '' is empty"),
        (read_predictions, "case,prob\na,1.5\n", "row 2, column 'prob': '1.5' is not between 0 and 1"),
        (read_predictions, "case,prob,label\na,0.5,2\n", "row 2, column 'label': '2' is not 0 or 1"),
        (read_spacing, "case,row_mm\na,1\n", "has no column 'col_mm'"),
        (read_spacing, "case,row_mm,col_mm\na,0,1\n", "row 2, column 'row_mm': '0' is no size"),
        (read_spacing, "case,row_mm,col_mm\na,1,\n", "row 2, column 'col_mm': '' is no size"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path, read, text, match):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ColumnError, match=match):
        read(tmp_path / "a.csv")
