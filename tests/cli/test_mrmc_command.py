"""`salstats mrmc` on the R oracle's readers."""

import pandas as pd
from mrmc_readings import mrmc_frame
from tests_support import error_line

import salstats as ss
from salstats.cli.app import run


def test_the_command_writes_what_the_function_gives(tmp_path, r_data, capsys):
    table = r_data("vandyke")
    scores = mrmc_frame(table, "rating", "rating").assign(truth=table["truth"])
    scores.to_csv(tmp_path / "scores.csv", index=False)
    options = ["--figure", "auc", "--label", "truth", "--covariance", "delong", "--reference", "2"]
    out = tmp_path / "found.csv"
    assert run(["mrmc", str(tmp_path / "scores.csv"), *options, "-o", str(out)]) == 0
    expected = ss.mrmc(scores, figure="auc", label="truth", covariance="delong", reference="2")
    found = pd.read_csv(out, dtype={"method": "str", "reference": "str"})
    pd.testing.assert_frame_equal(found[expected.columns], expected, check_dtype=False, rtol=1e-12)
    assert capsys.readouterr().out == ""


def test_scores_of_one_reader_are_refused_in_one_line(tmp_path, r_data, capsys):
    scores = mrmc_frame(r_data("synth2"))
    scores = scores[(scores["reader"] == "R1") & scores["score"].between(0, 1)]
    scores.to_csv(tmp_path / "scores.csv", index=False)
    assert run(["mrmc", str(tmp_path / "scores.csv")]) == 2
    assert "mrmc() needs two readers or more" in error_line(capsys)
