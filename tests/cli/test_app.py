"""The command line: each command writes the frame of its function; bad input is one line and no file."""

import contextlib
import os
import re
import shlex
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import error_line, quick

import salstats as ss
from salstats.cli import commands as cli_commands
from salstats.cli import option_help
from salstats.cli.app import in_flags, make_app, run
from salstats.cli.commands import GROUPS
from salstats.errors import SalstatsWarning

COMMANDS = [
    *("score", "features", "tune", "segment", "rates", "gaze", "read", "summarize", "decrease"),
    *("overlap", "ranks", "significance-map", "rank-agreement", "agreement", "power"),
    *("difference", "mrmc", "regress", "correlate", "describe", "auroc", "report", "demo", "reproduce"),
    *("medians", "median-difference", "quantile-regress", "table", "plot", "make-maps", "doctor"),
]
#: Each command with the arguments that it needs.
MINIMAL = {
    "read": [],
    "summarize": [],
    "decrease": ["--reference", "human"],
    "difference": ["--reference", "human"],
    "regress": ["iou ~ area_ratio"],
    "correlate": ["iou", "prob"],
    "describe": [],
    "auroc": ["prob", "label"],
    "rates": [],
    "ranks": [],
    "significance-map": [],
    "rank-agreement": [],
    "medians": [],
    "quantile-regress": ["iou ~ area_ratio"],
    "median-difference": ["--reference", "human"],
    "agreement": ["--over", "method", "--kind", "krippendorff"],
}
LONG = "case,task,method,metric,score"
ROW = "007,Edema,gradcam,iou,0.5"


def study():
    """Twelve cases of twelve patients, tasks Edema and NA, two methods, one score missing."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        [(f"{c:03d}", task, m) for c in range(12) for task in ("Edema", "NA") for m in ("gradcam", "human")],
        columns=["case", "task", "method"],
    )
    per_case = frame["case"] + frame["task"]
    frame["metric"] = "iou"
    frame["score"] = rng.random(len(frame))
    frame["patient"] = "p" + frame["case"]
    for name, values in {"prob": rng.random(24), "area_ratio": rng.random(24)}.items():
        frame[name] = values[pd.factorize(per_case)[0]]
    frame["label"] = frame["case"].astype(int) % 3 // 2
    for name in ("tp", "fp", "fn", "tn"):
        frame[name] = rng.integers(1, 100, len(frame))
    frame.loc[5, "score"] = np.nan
    return frame.astype({"metric": "str"})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with `scores.csv` in it."""
    monkeypatch.chdir(tmp_path)
    study().to_csv("scores.csv", index=False)
    return tmp_path


def contents(folder):
    """Every file below a folder with its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def only_warnings(err):
    """Whether every line of stderr is a warning of ours."""
    return all(line.startswith("salstats: warning: ") for line in err.splitlines())


# help


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_an_example(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "200")
    assert run([command, "--help"]) == 0
    out, err = capsys.readouterr()
    assert f"Example: salstats {command}" in out
    assert err == ""


@pytest.mark.parametrize("command", sorted(MINIMAL))
def test_the_example_of_the_help_runs_as_it_stands(capsys, monkeypatch, folder, command):
    monkeypatch.setenv("COLUMNS", "200")
    run([command, "--help"])
    example = re.search(r"Example: salstats (.*)", capsys.readouterr().out).group(1)
    assert run(shlex.split(example)) == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_help_does_not_speak_python(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "10000")
    run([command, "--help"])
    shown = capsys.readouterr().out
    assert not re.findall(r'\bNone\b|see Notes|mapping|\("\w+", |--\S+ +<list|\br"|:func:|joblib', shown)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_the_usual_options_on_one_screen_and_no_type_of_switches(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "100")
    run([command, "--help"])
    shown = capsys.readouterr().out
    # of a table or figure the options of every kind stand below a heading of their own
    usual = re.split("─ (?:More options|Reading the|The table|The figure|Network)", shown)[0]
    assert len(usual.splitlines()) <= 45
    assert "<bool>" not in shown


@pytest.mark.parametrize(
    "command", [command for command in cli_commands.COMMANDS if command.usual], ids=lambda c: c.name
)
def test_usual_options_and_texts_of_a_command_are_options_that_it_has(command):
    made = {option.name for option in cli_commands.options(command, getattr(ss, command.function))}
    assert {*command.usual, *command.texts} <= made


def test_every_sentence_of_the_help_is_one_of_an_option():
    made = set()
    for command in cli_commands.COMMANDS:
        own = cli_commands.options(command, getattr(ss, command.function))
        made |= {option.name for option in (*own, *command.source.options())}
        made |= set(command.arguments)
    groups = ("STATISTICS", "MODELS", "PLANNING", "SCORING", "FILES", "STUDIES", "DISPLAY")
    listed = {name for group in groups for name in getattr(option_help, group)}
    assert listed <= made


@pytest.mark.parametrize("arguments", [["-h"], ["describe", "-h"]])
def test_the_short_flag_shows_the_help(capsys, arguments):
    assert run(arguments) == 0
    assert "Usage: salstats" in capsys.readouterr().out


def test_a_list_of_studies_takes_no_more(capsys):
    assert run(["reproduce", "list", "extra"]) == 2
    assert "extra" in error_line(capsys)


def test_help_lists_every_command_under_one_heading(capsys):
    assert {command.name for command in make_app("").registered_commands} == set(COMMANDS)
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    headings = re.findall(r"^╭─ (.+?) ─", out, re.M)
    assert headings == ["Options", *GROUPS.values()]
    for command in COMMANDS:
        assert len(re.findall(rf"^│ {command} ", out, re.M)) == 1


@pytest.mark.parametrize(
    ("terminal", "no_colour", "coloured"), [(True, "", True), (True, "1", False), (False, "", False)]
)
def test_help_is_coloured_on_a_terminal_only(terminal, no_colour, coloured):
    pty = pytest.importorskip("pty")
    drop = ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS")
    env = {k: v for k, v in os.environ.items() if k not in drop} | {"TERM": "xterm-256color"}
    ours, theirs = pty.openpty() if terminal else os.pipe()[::1]
    process = subprocess.Popen(
        [sys.executable, "-m", "salstats", "--help"], stdout=theirs, env=env | {"NO_COLOR": no_colour}
    )
    os.close(theirs)
    shown = b""
    # a terminal whose other side is gone is an error
    with contextlib.suppress(OSError):
        while part := os.read(ours, 1 << 16):
            shown += part
    os.close(ours)
    assert process.wait() == 0
    assert b"Usage" in shown
    # 30 to 37 and 90 to 97 are colours; bold and dim are none
    assert bool(re.search(rb"\x1b\[(?:\d;)?[39][0-7]m", shown)) == coloured


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("salstats summ", ["summarize"]),
        ("salstats me", ["medians", "median-difference"]),
        ("salstats plot --a", ["--as", "--alpha", "--auroc"]),
        ("salstats decrease scores.csv --refer", ["--reference"]),
    ],
)
def test_a_shell_completes_commands_and_options(typed, expected):
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    process = subprocess.run(
        [sys.executable, "-c", "from salstats.cli.app import main; main()"],
        env=os.environ | words | {"_SALSTATS_COMPLETE": "complete_bash"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert sorted(process.stdout.split()) == sorted(expected)


# success

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
    "auroc": (
        "prob label --by task --level 0.9",
        lambda s: ss.auroc(s, "prob", "label", by="task", level=0.9),
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


def test_the_default_grouping_is_of_the_columns_that_are_there(capsys, folder):
    study().query("task == 'NA'").drop(columns="task").to_csv("one.csv", index=False)
    for file, expected in (("scores.csv", ["metric", "method", "task"]), ("one.csv", ["metric", "method"])):
        assert run(["describe", file, "-o", f"{file}.parquet"]) == 0
        columns = ss.read_data(f"{file}.parquet").columns.tolist()
        assert [c for c in columns if c in ("case", "metric", "method", "task", "patient")] == expected


def test_every_option_for_reading_reaches_the_reader(folder):
    wide = study().pivot(index="case", columns=["method", "task"], values="score")
    for method in ("gradcam", "human"):
        table = wide[method].rename_axis("img_id").reset_index()
        table["note"] = "x"
        table.to_csv(f"{method}.txt", sep=";", decimal=",", index=False, encoding="utf-16", na_rep="-")
    features = study()[["case", "task", "prob"]].drop_duplicates()
    features.to_csv("prob.csv", sep=";", decimal=",", index=False, encoding="utf-16")
    arguments = shlex.split(
        "--also human.txt --rename img_id=case --wide task --tasks Edema,NA --method gradcam,human "
        "--metric iou --sep ';' --decimal , --encoding utf-16 --na - --join prob.csv"
    )
    assert run(["correlate", "gradcam.txt", "iou", "prob", *arguments, "-o", "out.csv"]) == 0
    assert run(["correlate", "scores.csv", "iou", "prob", "-o", "expected.csv"]) == 0
    found, expected = ss.read_data("out.csv"), ss.read_data("expected.csv")
    # of the wide files nothing tells which findings are absent
    same = [c for c in expected.columns if c not in ("unit", "n_units", "n_absent")]
    pd.testing.assert_frame_equal(found[same], expected[same], check_exact=True)


def test_a_metric_per_column_and_a_sheet_are_read(capsys, folder):
    wide = study().pivot(index=["case", "task", "label"], columns="method", values="score").reset_index()
    with pd.ExcelWriter("book.xlsx") as book:
        wide.to_excel(book, sheet_name="scores", index=False)
        wide.to_excel(book, sheet_name="other", index=False)
    arguments = ["--score", "gradcam=gradcam:iou,human=human:iou", "--sheet", "scores", "--by", "method,task"]
    assert run(["describe", "book.xlsx", *arguments]) == 0
    from_workbook = capsys.readouterr().out.splitlines()[1:]
    assert run(["describe", "scores.csv", "--by", "method,task"]) == 0
    assert from_workbook == capsys.readouterr().out.splitlines()[1:]


def test_a_column_with_a_comma_in_its_name_and_percentages_are_read(folder):
    (folder / "wide.csv").write_text('case,"IoU, mean",b\n1,57,22.4\n')
    arguments = ["--score", '"IoU, mean"=g:iou,b=h:iou', "--scale", "iou=0.01", "-o", "long.csv"]
    assert run(["read", "wide.csv", *arguments]) == 0
    assert ss.read_scores("long.csv")["score"].tolist() == [0.57, 0.224]


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


@pytest.mark.parametrize("said", ["wide", "iou=a", "0.1:0.2", "1:2:3"])
def test_a_margin_that_is_none_is_one_line(capsys, folder, said):
    assert run(["difference", "scores.csv", "--reference", "human", "--margin", said]) == 2
    assert "--margin" in error_line(capsys)


@pytest.mark.parametrize("sep", ["tab", "\\t", "\t"])
def test_a_tab_has_a_name(folder, sep):
    study().to_csv("tabs.csv", sep="\t", index=False)
    assert run(["describe", "tabs.csv", "--sep", sep, "-o", "out.csv"]) == 0


def test_warnings_are_lines_on_stderr_and_exit_is_0(capsys, folder):
    study().assign(size=["unknown", *map(str, range(47))]).to_csv("odd.csv", index=False)
    assert run(["describe", "odd.csv", "-o", "out.csv"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"salstats: warning: odd\.csv, row 2, column 'size': 'unknown' is not[^\n]+\n", err)


# bad files, each read by `describe bad.csv`: kind -> (content, what the line says)
GOOD = f"{LONG}\n{ROW}\n"
BAD_FILES = {
    "empty file": ("", "bad.csv is empty"),
    "header only": (f"{LONG}\n", "bad.csv has a header but no data rows"),
    "semicolons": (GOOD.replace(",", ";"), "read it with --sep ';'"),
    "another encoding": (GOOD.replace("Ed", "Öd").encode("latin-1"), "line 2: byte 0xd6 is not utf-8"),
    "UTF-16": (GOOD.encode("utf-16"), "use --encoding utf-16"),
    "control character": (GOOD.replace("Ed", "\0Ed"), "line 2: control character U+0000"),
    "short row": (f"{GOOD}008,Edema\n", "bad.csv, row 3: 2 cells where the header has 5"),
    "long row": (f"{LONG}\n{ROW},9\n", "bad.csv, row 2: 6 cells where the header has 5"),
    "header twice": (f"{LONG},case\n{ROW},x\n", "column 'case' is twice in the header"),
    "header with a blank": (GOOD.replace("task", " task"), "column ' task' begins or ends with a blank"),
    "open quote": (f'{LONG}\n"{ROW}\n', "line 2: a quotation mark is left open"),
    "blank line within": (f"{GOOD}\n{GOOD}", "line 3: a blank line with data below it"),
    "no score column": (GOOD.replace("score", "scores"), "bad.csv has no column 'score'"),
    "no case column": (GOOD.replace("case", "id"), "bad.csv has no column 'case'"),
    "no method": ("case,metric,score\n1,iou,0.5\n", "bad.csv has no column 'method'"),
    "score is text": (GOOD.replace("0.5", "0.5x"), "row 2, column 'score': '0.5x' is not a number"),
    "score is infinite": (f"{GOOD}8,a,g,iou,inf\n", "row 3, column 'score': 'inf' is infinite"),
    "decimal comma": (GOOD.replace("0.5", '"0,5"'), "'0,5' is not a number; for decimal commas read it with"),
    "observation twice": (f"{GOOD}{ROW}\n", "row 3: the same observation as row 2"),
    "empty case": (GOOD.replace("007", ""), "row 2, column 'case': empty"),
    "empty method": (GOOD.replace("gradcam", ""), "row 2, column 'method': empty"),
    "empty metric": (GOOD.replace("iou", ""), "row 2, column 'metric': empty"),
    "two patients": (f"{LONG},patient\n{ROW},p\n{ROW.replace('Ed', 'ed')},q\n", "belongs to 2 patients"),
    "a zip archive": (b"PK\x03\x04", "not what its ending says but a zip archive"),
}

# bad arguments: kind -> (arguments, what the line says)
BAD_ARGUMENTS = {
    "no such file": ("summarize nothing.csv", "nothing.csv: no such file"),
    "a folder": ("summarize .", "a folder"),
    "unknown ending": ("summarize text.dat", "text.dat: cannot tell what .dat is"),
    "not a workbook": ("describe text.xlsx", "text.xlsx: not an XLSX workbook"),
    "not a Parquet file": ("describe text.parquet", "text.parquet: not a Parquet file"),
    "observation twice, correlated": ("correlate twice.csv iou prob", "the same observation"),
    "rename of a missing column": ("describe scores.csv --rename id=case", "rename names column 'id'"),
    "rename onto another": ("describe scores.csv --rename task=case", "column 'case' is there twice"),
    "pairs without a comma": ("describe scores.csv --score a=g:iou;b=h:iou", "only commas go between pairs"),
    "rename without target": ("describe scores.csv --rename task", "should read like case_id=case"),
    "rename said twice": ("describe scores.csv --rename task=a,task=b", "--rename names 'task' twice"),
    "score without metric": ("describe scores.csv --score prob=human:", "read like human_iou=human:iou"),
    "score of a missing column": ("describe scores.csv --score x=human:iou", "--score names column 'x'"),
    "wide by something else": ("describe scores.csv --wide metric", "--wide metric is not known"),
    "too many methods": ("describe scores.csv --method a,b", "--method names 2 values for 1 files"),
    "long separator": ("describe scores.csv --sep ;;", "sep must be one character"),
    "unknown encoding": ("describe scores.csv --encoding utf-9", "--encoding utf-9 is no encoding"),
    "joined file missing": ("describe scores.csv --join nothing.csv", "nothing.csv: no such file"),
    "joined case twice": ("describe scores.csv --join features.csv", "rows 2 and 3 of features.csv are the"),
    "joined cases unknown": ("describe scores.csv --join other.csv", "no case of other.csv is in the scores"),
    "empty list entry": ("describe scores.csv --by method,,task", "an empty name in 'method,,task'"),
    "unknown grouping": ("summarize scores.csv --by tasks", "no column 'tasks'; did you mean 'task'?"),
    "grouping twice": ("summarize scores.csv --by task --by task", "by names a column twice"),
    "unknown unit": ("summarize scores.csv --unit patients", "no column 'patients'"),
    "level 1": ("summarize scores.csv --level 1", "level must lie strictly between 0 and 1, not 1.0"),
    "level 95": ("difference scores.csv --reference human --level 95", "not 95.0; 0.95 is usual"),
    "level is text": ("summarize scores.csv --level high", "--level takes a number, not 'high'"),
    "no replicates": ("summarize scores.csv --replicates 0", "a whole number of at least 1, not 0"),
    "half a replicate": ("summarize scores.csv --replicates 0.5", "--replicates takes a whole number, not"),
    "unknown interval": ("summarize scores.csv --interval wald", "wald is not known; choose one of"),
    "unknown test": ("difference scores.csv --reference human --test z", "--test z is not known"),
    "adjustment with a slip": (
        "difference scores.csv --reference human --adjust hom",
        "--adjust hom is not known; did you mean 'holm'?",
    ),
    "unknown reference": ("decrease scores.csv --reference humans", "'humans' is not a method"),
    "formula without right side": ("regress scores.csv 'iou ~'", "right side"),
    "formula without left side": ("regress scores.csv '~ prob'", "needs a left"),
    "formula of an unknown name": ("regress scores.csv 'iou ~ size'", "'size' in 'iou ~ size' is neither"),
    "formula that runs code": ("regress scores.csv 'iou ~ exec(\"x\")'", "exec"),
    "limits without bounds": ("summarize scores.csv --limits iou=0:1", "belongs to --bounds"),
    "limits that are none": ("summarize scores.csv --bounds --limits iou=1:0", "--limits must be (least"),
    "limits of no number": ("summarize scores.csv --bounds --limits iou=a:b", "--limits 'iou=a:b'"),
    "bounds and weights": ("summarize scores.csv --bounds --weights unit", "without --weights"),
    "within without normalize": ("regress scores.csv 'iou ~ prob' --within task", "belongs to --normalize"),
    "unknown column": ("correlate scores.csv iou size", "'size' is neither a column nor a metric"),
    "label not 0 or 1": ("auroc scores.csv prob area_ratio", "must hold 0 and 1"),
    "no such command": ("summarise scores.csv", "No such command 'summarise'"),
    "no such option": ("describe scores.csv --bye task", "No such option"),
    "no file given": ("describe", "Missing argument 'SCORES'"),
    "no reference given": (
        "decrease scores.csv",
        "--reference names no method; take one of 'gradcam', 'human'",
    ),
    "one argument too many": ("describe scores.csv scores.csv", "unexpected extra argument"),
}
BAD_INPUT = {
    **{kind: ("describe bad.csv", message) for kind, (_, message) in BAD_FILES.items()},
    **BAD_ARGUMENTS,
}


@pytest.mark.parametrize("kind", BAD_INPUT)
@pytest.mark.parametrize("out", ["out.csv", None])
def test_bad_input_is_one_clear_line_exit_2_and_no_file(capsys, folder, kind, out):
    arguments, message = BAD_INPUT[kind]
    for name in ("text.xlsx", "text.parquet", "text.dat"):
        (folder / name).write_text(GOOD)
    (folder / "twice.csv").write_text(f"{LONG},prob\n{ROW},1\n{ROW},2\n")
    (folder / "features.csv").write_text("case,size\n007,1\n007,2\n")
    (folder / "other.csv").write_text("case,size\n7,1\n")
    content = BAD_FILES.get(kind, (GOOD,))[0]
    (folder / "bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    before = contents(folder)
    assert run([*shlex.split(arguments), *(["-o", out] if out else [])]) == 2
    assert message in error_line(capsys)
    assert contents(folder) == before


@pytest.mark.parametrize("command", sorted(MINIMAL))
@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("no/out.csv", "the folder no does not exist"),
        ("out.txt", "its name must end in .csv, .parquet, .xlsx"),
        ("", "its name must end in"),
        ("scores.csv", "the file exists; pass --overwrite to replace it"),
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
    ("message", "expected"),
    [
        ("read it with sep=';' (and decimal=',' too)", "read it with --sep ';' (and --decimal ',' too)"),
        ("pass overwrite=True (--overwrite) to replace", "pass --overwrite to replace"),
        (
            "give columns={'column': ('method', 'metric')} (--score column=method:metric)",
            "give --score column=method:metric",
        ),
        ("rename={'...': 'case'} says which", "--rename ...=case says which"),
        ("n_replicates must be at least 1", "--replicates must be at least 1"),
        ("interval='t' holds better", "--interval 't' holds better"),
        ("classes= names none of x", "--classes names none of x"),
        (
            "f.csv: columns names column 'x', which it lacks",
            "f.csv: --score names column 'x', which it lacks",
        ),
        ("interval must be t, as sep must be", "--interval must be t, as sep must be"),
        ("say by=['method', 'the task'] or by=[]", "say --by 'method,the task' or --by none"),
        ("or make them anew with overwrite=True", "or make them anew with --overwrite"),
        ("with reml=True or reml=False, and overwrite=False", "with --reml or --no-reml, and no --overwrite"),
    ],
)
def test_messages_spell_options_as_flags(message, expected):
    flags = {
        "n_replicates": "--replicates",
        "columns": "--score",
        "reml": "--reml/--no-reml",
        **{n: f"--{n}" for n in ("overwrite", "sep", "decimal", "interval", "classes", "by")},
    }
    assert in_flags(message, flags) == expected


def test_warnings_do_not_add_lines_to_an_error(capsys, folder):
    study().assign(size=["unknown", *map(str, range(47))]).to_csv("odd.csv", index=False)
    assert run(["describe", "odd.csv", "--by", "x"]) == 2
    assert "no column 'x'" in error_line(capsys)


@pytest.mark.parametrize("bug", [KeyError("x"), TypeError("x")])
def test_a_bug_is_never_exit_0(folder, monkeypatch, bug):
    def fail(*args, **kwargs):
        raise bug

    monkeypatch.setattr(ss, "describe", fail, raising=False)
    with pytest.raises(type(bug)):
        run(["describe", "scores.csv", "-o", "out.csv"])
    assert not (folder / "out.csv").exists()


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


def test_shapes_of_files_are_reached_from_the_command_line(folder):
    (folder / "wide.csv").write_text(
        "img_id,Edema,NA\npatient1_view1,0.5,0.25\npatient1_view2,,0.75\npatient2_view1,1,0\n"
    )
    (folder / "size.csv").write_text(
        "img_id,Edema,NA\npatient1_view1,3,4\npatient2_view1,5,6\npatient1_view2,7,8\n"
    )
    arguments = "read wide.csv --wide task --method g --metric iou --rename img_id=case --join size=size.csv"
    assert run([*shlex.split(arguments), "--patient-from", r"(patient\d+)", "-o", "long.csv"]) == 0
    long = ss.read_scores("long.csv").sort_values(["case", "task"]).reset_index(drop=True)
    assert long["patient"].tolist() == ["patient1"] * 4 + ["patient2"] * 2
    assert long["size"].tolist() == [3, 4, 7, 8, 5, 6]
    (folder / "methods.csv").write_text("phase,trial,metric,ag,convex\n1,2,ncc,0.5,0.25\n1,2,auc,0.75,1\n")
    assert run(shlex.split("read methods.csv --case phase,trial --score ag=ag,convex=convex -o two.csv")) == 0
    two = ss.read_scores("two.csv")
    assert set(two["case"]) == {"1_2"}
    assert len(two) == 4


def test_arguments_in_the_wrong_order_are_said(capsys, folder):
    assert run(["regress", "iou ~ prob", "scores.csv"]) == 2
    assert "the file comes first" in error_line(capsys)


def test_the_version_is_shown(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"salstats {ss.__version__}\n"


# real processes


def salstats(*arguments, **options):
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "salstats", *arguments], capture_output=True, text=True, check=False, **options
    )


def test_a_process_ends_with_the_exit_code_and_one_line(folder):
    good = salstats("describe", "scores.csv", "-o", "out.csv")
    assert (good.returncode, good.stdout, good.stderr) == (0, "", "")
    assert run(["describe", "scores.csv", "-o", "same.csv"]) == 0
    assert (folder / "out.csv").read_bytes() == (folder / "same.csv").read_bytes()
    bad = salstats("describe", "nothing.csv")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "salstats: error: nothing.csv: no such file\n"
    usage = salstats("describe", "--bogus")
    assert (usage.returncode, usage.stdout) == (2, "")
    assert re.fullmatch(r"salstats: error: No such option[^\n]*\n", usage.stderr)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["describe", "scores.csv"], ["--help"]])
def test_a_reader_that_goes_away_is_no_error(folder, monkeypatch, arguments, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    process = subprocess.Popen(
        [sys.executable, "-m", "salstats", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 0


def test_a_pipe_with_a_code_page_gets_what_it_lacks_in_escapes(folder):
    (folder / "odd.csv").write_text("case,method,metric,score\na,Ö ≥ 2,iou,0.5\nb,Ö ≥ 2,iou,0.7\n", "utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    done = salstats("describe", "odd.csv", env=environment, encoding="cp1252")
    assert done.returncode == 0
    assert "Ö \\u2265 2" in done.stdout


def test_a_file_s_name_tells_a_terminal_nothing(capsys, folder):
    assert run(["describe", "no\x1b[31m\x07.csv"]) == 2
    said = error_line(capsys)
    assert "no\\x1b[31m\\x07.csv" in said
    assert "\x1b" not in said


def test_a_frame_of_a_report_is_no_input_of_the_report_in_its_place(capsys, folder):
    (folder / "out" / "frames").mkdir(parents=True)
    study().to_csv("out/frames/scores.csv", index=False)
    (folder / "out" / "report.json").write_text('{"files": ["frames/scores.csv"]}')
    before = contents(folder)
    assert run(shlex.split("report out/frames/scores.csv -o out --overwrite")) == 2
    assert "this command reads it" in error_line(capsys)
    assert contents(folder) == before


@pytest.mark.parametrize("word", ["x" * 120_000, "a={" * 40_000], ids=["a word", "open braces"])
def test_a_message_about_a_long_cell_is_short_and_comes_at_once(tmp_path, capsys, word):
    (tmp_path / "scores.csv").write_text(GOOD.replace("0.5", word))
    with quick(4):
        assert run(["summarize", str(tmp_path / "scores.csv")]) == 2
    said = capsys.readouterr().err
    assert len(said) < 3000
    assert "is not a number" in said


def test_text_of_a_file_cannot_tell_a_terminal_what_to_do(tmp_path, capsys):
    frame = pd.DataFrame({"case": [*"abcd"], "method": "g", "metric": "iou", "score": [0.1, 0.2, 0.4, 0.8]})
    ss.write_frame(frame.assign(site="a\u202eb"), tmp_path / "turned.parquet")
    ss.write_frame(frame.assign(site="\x1b[31mred"), tmp_path / "red.parquet")
    for command in (["read"], ["summarize", "--by", "site", "--replicates", "20"]):
        assert run([command[0], str(tmp_path / "turned.parquet"), *command[1:]]) == 0
        shown = "".join(capsys.readouterr())
        assert r"a\u202eb" in shown
        assert run([command[0], str(tmp_path / "red.parquet"), *command[1:]]) == 2
        shown += error_line(capsys)
        assert r"\x1b[31mred" in shown
        assert all(c.isprintable() or c == "\n" for c in shown)


def test_no_memory_is_one_line(monkeypatch, tmp_path, capsys):
    def fail(*args, **kwargs):
        raise MemoryError("Unable to allocate 7 TiB")

    ss.datasets.load_simulated().to_csv(tmp_path / "scores.csv", index=False)
    monkeypatch.setattr(ss, "summarize", fail, raising=False)
    assert run(["summarize", str(tmp_path / "scores.csv")]) == 2
    assert capsys.readouterr().err.startswith("salstats: error: not enough memory for this (Unable")


@pytest.mark.parametrize("options", [["--join", f"site={'x' * 300}.csv"], ["-o", f"{'x' * 300}.csv"]])
def test_a_name_that_is_too_long_is_one_line_that_names_it(folder, capsys, options):
    assert run(["summarize", "scores.csv", *options]) == 2
    assert "x" * 300 in error_line(capsys)
