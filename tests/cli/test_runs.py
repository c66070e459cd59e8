"""Commands write or print the frame of their function, and overwrite nothing."""

import shlex
import sys
import warnings

import pandas as pd
import pytest
from command_line import MINIMAL, contents, only_warnings, study
from tests_support import error_line

import salstats as ss
from salstats.cli.app import run
from salstats.errors import SalstatsWarning

CALLS = {
    "summarize": (
        "--by metric,method --interval basic --level 0.9 --replicates 50 --seed 3",
        lambda s: ss.summarize(
            s, by=("metric", "method"), interval="basic", level=0.9, n_replicates=50, rng=3
        ),
    ),
    "decrease": (
        "--reference human --average task --replicates 50 --pairs available --unit case",
        lambda s: ss.percent_decrease(
            s, reference="human", average="task", n_replicates=50, pairs="available", unit="case"
        ),
    ),
    "difference": (
        "--reference human --test t --interval t --adjust holm --effect-size g",
        lambda s: ss.difference(s, reference="human", test="t", interval="t", adjust="holm", effect_size="g"),
    ),
    "regress": (
        "'iou ~ area_ratio + prob' --normalize area_ratio --within task --errors recommended",
        lambda s: ss.regress(ss.normalize(s, ["area_ratio"], within="task"), "iou ~ area_ratio + prob"),
    ),
    "correlate": (
        "iou prob --by method --by ' task' --test pearson --adjust BH --covariates area_ratio",
        lambda s: ss.correlate(
            s, "iou", "prob", by=("method", "task"), test="pearson", adjust="BH", covariates="area_ratio"
        ),
    ),
    "rates": (
        "--rate recall,dice --by method --interval delta --unit case",
        lambda s: ss.pooled_rates(s, rates=["recall", "dice"], by="method", interval="delta", unit="case"),
    ),
    "significance-map": (
        "--by metric --test t --adjust bonferroni",
        lambda s: ss.significance_map(s, by="metric", test="t", adjust="bonferroni"),
    ),
    "rank-agreement": (
        "--over task --scheme median --replicates 50",
        lambda s: ss.rank_agreement(s, over="task", scheme="median", n_replicates=50),
    ),
    "describe": ("--by method", lambda s: ss.describe(s, by="method")),
    "describe-patients": (
        "label prob,area_ratio --by task --unit case,task --categorical label",
        lambda s: ss.describe_patients(
            s, ["label", "prob", "area_ratio"], by="task", unit=["case", "task"], categorical="label"
        ),
    ),
    "auroc": (
        "prob label --by task --level 0.9",
        lambda s: ss.auroc(s, "prob", "label", by="task", level=0.9),
    ),
    "roc-curve": (
        "prob label --by task --replicates 20",
        lambda s: ss.roc_curve(s, "prob", "label", by="task", n_replicates=20),
    ),
    "calibration": (
        "prob label --by task --unit case",
        lambda s: ss.calibration(s, "prob", "label", by="task", unit="case"),
    ),
    "calibration-curve": (
        "prob label --by task --bins 4 --interval wilson",
        lambda s: ss.calibration_curve(s, "prob", "label", by="task", n_bins=4, interval="wilson"),
    ),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
@pytest.mark.parametrize("command", sorted(CALLS))
def test_a_command_writes_the_frame_of_its_function_in_full_precision(capsys, folder, command, suffix):
    options, function = CALLS[command]
    out = folder / f"out.{suffix}"
    assert run([command, "scores.csv", *shlex.split(options), "-o", str(out)]) == 0
    printed, err = capsys.readouterr()
    assert printed == ""
    assert only_warnings(err)
    reread = folder / "expected.csv"
    with warnings.catch_warnings():
        # what the command says is in the test of warnings
        warnings.simplefilter("ignore", SalstatsWarning)
        ss.write_frame(function(ss.read_scores("scores.csv")), reread)
    pd.testing.assert_frame_equal(ss.read_data(out), ss.read_data(reread), check_exact=True)


@pytest.mark.parametrize("command", sorted(MINIMAL))
def test_without_an_output_a_command_prints_its_table_and_writes_nothing(capsys, folder, command):
    before = contents(folder)
    assert run([command, "scores.csv", *MINIMAL[command]]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert only_warnings(err)
    assert any({"gradcam", "human"} & set(line.split()) for line in lines) or command in (
        "auroc",
        "roc-curve",
        "calibration",
        "calibration-curve",
        "agreement",
        "rank-agreement",
    )
    assert any({"estimate", "mean", "score"} & set(line.split()) for line in lines)
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("terminal", "columns", "arguments", "most"),
    [
        (True, 80, [], 80),
        (True, 120, [], 120),
        (True, 80, ["--all"], None),
        (False, 80, [], None),
    ],
)
def test_a_terminal_gets_the_columns_that_fit_and_a_file_all(
    capsys, monkeypatch, folder, terminal, columns, arguments, most
):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    assert run(["decrease", "scores.csv", "--reference", "human", "--replicates", "20", *arguments]) == 0
    out = capsys.readouterr().out.splitlines()
    if most:
        assert max(map(len, out)) <= most
        assert out[-1].endswith("(--all shows them)")
    else:
        assert "method_mean" in out[1].split()
        assert "also:" not in out[-1]


@pytest.mark.parametrize(
    ("arguments", "function", "limits"),
    [
        ("summarize", ss.summarize, None),
        ("difference --reference human --limits 0:2", ss.difference, (0, 2)),
        ("decrease --reference human --limits iou=0:2", ss.percent_decrease, {"iou": (0, 2)}),
    ],
)
def test_bounds_are_added_as_missing_bounds_gives_them(folder, arguments, function, limits):
    # without labels no finding is absent
    study().drop(columns="label").to_csv("unlabelled.csv", index=False)
    command, *others = shlex.split(arguments)
    assert run([command, "unlabelled.csv", *others, "--bounds", "-o", "out.csv"]) == 0
    scores = ss.read_scores("unlabelled.csv")
    options = {} if command == "summarize" else {"reference": "human"}
    compared = None if command == "summarize" else scores
    expected = ss.missing_bounds(function(scores, **options), scores=compared, limits=limits)
    got = pd.read_csv("out.csv")[["bound_low", "bound_high"]]
    pd.testing.assert_frame_equal(got, expected[["bound_low", "bound_high"]])
    assert (got["bound_low"] < got["bound_high"]).any()


def test_limits_of_ranks_are_written_beside_the_tests_that_they_are_of(folder):
    assert run(["significance-map", "scores.csv", "--limits", "limits.csv", "-o", "tests.csv"]) == 0
    expected = ss.rank_limits(ss.significance_map(ss.read_scores("scores.csv")))
    pd.testing.assert_frame_equal(pd.read_csv("limits.csv"), expected, check_dtype=False)


@pytest.mark.parametrize("command", sorted(MINIMAL))
@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("no/out.csv", "the folder no does not exist"),
        ("out.txt", "its name must end in .csv, .parquet, .xlsx"),
        ("", "its name must end in"),
        ("folder.csv", "it is a folder"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_reading(capsys, folder, command, out, message):
    (folder / "folder.csv").mkdir()
    before = contents(folder)
    for scores in ("scores.csv", "nothing.csv"):
        assert run([command, scores, *MINIMAL[command], "-o", out]) == 2
        assert message in error_line(capsys)
    assert contents(folder) == before


def test_a_failure_while_writing_leaves_no_file(capsys, folder, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    before = contents(folder)
    assert run(["describe", "scores.csv", "-o", "out.csv"]) == 2
    assert "cannot write out.csv: No space left" in error_line(capsys)
    assert contents(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [
        "summarize scores.csv -o scores.csv --overwrite",
        "describe scores.csv --also more.csv -o more.csv --overwrite",
        "describe scores.csv --join size.csv -o ./size.csv --overwrite",
        "describe scores.csv --join size=wide.csv -o wide.csv --overwrite",
    ],
)
def test_an_input_is_never_overwritten_even_when_asked(capsys, folder, arguments):
    study().assign(method=lambda s: s["method"] + "2").to_csv("more.csv", index=False)
    (folder / "size.csv").write_text("case,size\n000,1\n")
    (folder / "wide.csv").write_text("case,Edema,NA\n000,1,2\n")
    before = contents(folder)
    assert run(shlex.split(arguments)) == 2
    assert "this command reads it" in error_line(capsys)
    assert contents(folder) == before


def test_a_frame_of_a_report_is_no_input_of_the_report_in_its_place(capsys, folder):
    (folder / "out" / "frames").mkdir(parents=True)
    study().to_csv("out/frames/scores.csv", index=False)
    (folder / "out" / "report.json").write_text('{"files": ["frames/scores.csv"]}')
    before = contents(folder)
    assert run(shlex.split("report out/frames/scores.csv -o out --overwrite")) == 2
    assert "this command reads it" in error_line(capsys)
    assert contents(folder) == before
