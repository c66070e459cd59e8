"""`salstats regress` with random effects and with a working correlation."""

import pandas as pd
import pytest
from tests_support import error_line, with_text_columns

import salstats as ss
from salstats.cli.app import run

FORMULA = "score ~ modality + (1|case) + (1|reader)"


@pytest.fixture
def readings(tmp_path, monkeypatch, drawn_readings):
    """Readings of several readers as `readings.csv` in the working folder."""
    monkeypatch.chdir(tmp_path)
    table = drawn_readings.rename(columns={"case_id": "case"})
    table.to_csv("readings.csv", index=False)
    return table


def test_terms_and_variances_are_written_as_the_functions_give_them(readings, tmp_path):
    written = ["--components", "parts.csv", "--joint", "joint.csv", "-o", "terms.csv"]
    options = ["--errors", "kenward-roger", "--level", "0.9", *written]
    assert run(["regress", "readings.csv", FORMULA, *options]) == 0
    fit = ss.fit(readings, FORMULA, errors="kenward-roger")
    for file, expected in {
        "terms.csv": fit.tidy(level=0.9),
        "parts.csv": fit.variance_components(level=0.9),
        "joint.csv": fit.joint(each=True),
    }.items():
        read = with_text_columns(pd.read_csv(file))
        pd.testing.assert_frame_equal(read, with_text_columns(expected), check_dtype=False, rtol=1e-9)


def test_a_working_correlation_and_maximum_likelihood_are_options(readings, capsys):
    options = ["--family", "binomial", "--correlation", "exchangeable", "--unit", "case"]
    assert run(["regress", "readings.csv", "hit ~ modality", *options, "-o", "gee.csv"]) == 0
    assert (pd.read_csv("gee.csv")["errors"] == "mancl-derouen").all()
    assert run(["regress", "readings.csv", FORMULA, "--no-reml", "-o", "ml.csv"]) == 0
    expected = ss.regress(readings, FORMULA, reml=False)
    pd.testing.assert_series_equal(pd.read_csv("ml.csv")["std_error"], expected["std_error"], rtol=1e-9)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["hit ~ 1 + (1|case)", "--family", "binomial"],
            "use --correlation exchangeable (GEE) without them or --family gaussian",
        ),
        (["score ~ modality", "--unit", "case", "--components", "parts.csv"], "has no random effects"),
        ([FORMULA, "--components", "both.csv", "-o", "both.csv"], "both name both.csv"),
    ],
)
def test_what_does_not_go_together_is_said_in_one_line_and_nothing_is_written(
    readings, tmp_path, capsys, arguments, said
):
    assert run(["regress", "readings.csv", *arguments]) == 2
    assert said in error_line(capsys)
    assert [file.name for file in tmp_path.iterdir()] == ["readings.csv"]
