"""The contents of a page."""

import pandas as pd
import pytest

from salstats.display.report.document import Display, ReportItem


@pytest.mark.parametrize(("number", "is_table"), [("Table 2", True), ("Figure 12", False)])
def test_items_are_tables_or_figures_by_their_number_and_open_by_default(number, is_table):
    item = ReportItem("means", number, "Means", None, pd.DataFrame())
    assert item.is_table == is_table
    assert item.display is Display.OPEN
