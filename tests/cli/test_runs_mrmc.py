"""`salstats mrmc` on the R oracle's readers."""

import pandas as pd
import pytest
from mrmc_readings import mrmc_frame
from tests_support import error_line

import salstats as ss
from salstats.cli.app import run


def rated(table):
    """Ratings of methods 1 and 2 as a scores frame with the truth beside."""
    numbered = table.assign(modality=table["modality"].map({"A": 1, "B": 2}))
    return mrmc_frame(numbered, "rating", "rating").assign(truth=table["truth"])


@pytest.mark.filterwarnings("ignore:the covariance of readers' figures:salstats.errors.SalstatsWarning")
def test_the_command_writes_what_the_function_gives(tmp_path, drawn_readings, capsys):
    scores = rated(drawn_readings)
    scores.to_csv(tmp_path / "scores.csv", index=False)
    options = ["--figure", "auc", "--label", "truth", "--covariance", "delong", "--reference", "2"]
    out = tmp_path / "found.csv"
    assert run(["mrmc", str(tmp_path / "scores.csv"), *options, "-o", str(out)]) == 0
    expected = ss.mrmc(scores, figure="auc", label="truth", covariance="delong", reference="2")
    found = pd.read_csv(out, dtype={"method": "str", "reference": "str"})
    pd.testing.assert_frame_equal(found[expected.columns], expected, check_dtype=False, rtol=1e-12)
    assert capsys.readouterr().out == ""


def test_scores_of_one_reader_are_refused_in_one_line(tmp_path, drawn_readings, capsys):
    scores = mrmc_frame(drawn_readings)
    scores = scores[(scores["reader"] == "R1") & scores["score"].between(0, 1)]
    scores.to_csv(tmp_path / "scores.csv", index=False)
    assert run(["mrmc", str(tmp_path / "scores.csv")]) == 2
    assert "have 1, 'R1'; salstats difference FILE" in error_line(capsys)


def test_a_file_with_a_column_for_each_reader_with_each_method(tmp_path, r_data):
    table = r_data("vandyke").assign(
        reading=lambda t: t["reader"].map("r{}".format) + t["treatment"].map("_{}".format)
    )
    wide = table.pivot(index=["case", "truth"], columns="reading", values="rating").reset_index()
    wide.to_csv(tmp_path / "wide.csv", index=False)
    readings = [f"{name}={name[-1]}::{name[1]}" for name in table["reading"].unique()]
    options = ["--metric", "rating", "--score", ",".join(readings), "--figure", "auc", "--label", "truth"]
    out = tmp_path / "found.csv"
    assert run(["mrmc", str(tmp_path / "wide.csv"), *options, "-o", str(out)]) == 0
    # MRMCaov's VanDyke, jackknife
    assert pd.read_csv(out)["p_value"].iloc[-1] == pytest.approx(0.05166569, abs=1e-8)


def test_components_are_written_and_planned_from(tmp_path, drawn_readings, capsys):
    scores = rated(drawn_readings)
    scores.to_csv(tmp_path / "scores.csv", index=False)
    parts, readers = tmp_path / "parts.csv", tmp_path / "readers.csv"
    options = ["--figure", "auc", "--label", "truth", "--components", str(parts)]
    command = ["mrmc", str(tmp_path / "scores.csv"), *options]
    assert run([*command, "--each-reader", str(parts)]) == 2
    assert "--components and --each-reader both name" in error_line(capsys)
    assert run([*command, "--each-reader", str(readers)]) == 0
    assert len(pd.read_csv(readers)) == 10
    out = tmp_path / "plan.csv"
    plan = ["--term", "mrmc", "--effect", "0.05", "--n-readers", "10", "--n-cases", "163", "-o", str(out)]
    assert run(["power", str(parts), *plan]) == 0
    assert "difference in AUROC, averaged over readers" in capsys.readouterr().err
    expected = ss.power(
        ss.mrmc_components(scores, figure="auc", label="truth"),
        term="mrmc",
        effect=0.05,
        n_readers=10,
        n_cases=163,
    )
    assert pd.read_csv(out)["power"][0] == pytest.approx(expected["power"][0], rel=1e-12)
