"""Values of options read from text."""

import pytest
from tests_support import error_line

from salstats.cli.app import run


@pytest.mark.parametrize("said", ["wide", "iou=a", "0.1:0.2", "1:2:3"])
def test_a_margin_that_is_none_is_one_line(capsys, folder, said):
    assert run(["difference", "scores.csv", "--reference", "human", "--margin", said]) == 2
    assert "--margin" in error_line(capsys)
