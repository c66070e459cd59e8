"""Rows of a figure: as high as what they hold."""

import numpy as np
import pytest

from salstats.display.plots.layout.figure_rows import dodge_offsets, row_layout


def test_rows_are_as_high_as_their_labels_or_marks_and_do_not_overlap():
    rows = row_layout(["a", "b", "c", "Average"], ["a", "b\nb\nb", "c", "Average"], 1, 1)
    assert rows.heights[1] > rows.heights[0] == rows.heights[2]
    upper, lower = rows.centres + rows.heights / 2, rows.centres - rows.heights / 2
    np.testing.assert_allclose(lower[:2], upper[1:3])
    assert lower[2] > rows.rules[0] > upper[3]
    assert upper[0] == 0
    assert -lower[-1] == pytest.approx(rows.height)
    assert row_layout(["a"], ["a"], 4).height > row_layout(["a"], ["a"], 1).height
    assert list(rows.centres_of(["c", "a", "c"])) == [rows.centres[2], rows.centres[0], rows.centres[2]]


def test_marks_of_a_row_lie_within_it_around_its_middle():
    shifts = dodge_offsets([0, 1, 2], 3)
    assert shifts[0] > shifts[1] == 0 > shifts[2]
    assert max(abs(shifts)) < row_layout(["a"], ["a"], 3).height / 2
