"""Options of a command are those of its function."""

import pandas as pd
import pytest
from command_line import study

import salstats as ss
from salstats.cli.app import run


def test_the_default_grouping_is_of_the_columns_that_are_there(capsys, folder):
    study().query("task == 'NA'").drop(columns="task").to_csv("one.csv", index=False)
    for file, expected in (("scores.csv", ["metric", "method", "task"]), ("one.csv", ["metric", "method"])):
        assert run(["describe", file, "-o", f"{file}.parquet"]) == 0
        columns = ss.read_data(f"{file}.parquet").columns.tolist()
        assert [c for c in columns if c in ("case", "metric", "method", "task", "patient")] == expected


@pytest.mark.parametrize(
    ("said", "meant"),
    [("0.2", 0.2), ("-0.3:", (-0.3, None)), ("iou=:0.4", {"iou": (None, 0.4)})],
)
def test_margins_and_all_pairs_are_asked_for_as_in_python(folder, said, meant):
    scores = ss.read_scores("scores.csv")
    arguments = ["--reference", "all", "--by", "metric", "--margin", said, "-o", "out.csv"]
    assert run(["difference", "scores.csv", *arguments]) == 0
    expected = ss.difference(scores, reference="all", by="metric", margin=meant)
    got = pd.read_csv("out.csv")
    pd.testing.assert_frame_equal(got, expected, check_dtype=False)
    assert got["margin_low"].notna().all()
