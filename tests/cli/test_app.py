"""The command line: each command writes the frame of its function; bad input is one line and no file."""

import contextlib
import os
import re
import shlex
import subprocess
import sys

import pandas as pd
import pytest
from command_line import LONG, ROW, contents, salstats, study
from tests_support import error_line, quick

import salstats as ss
from salstats.cli.app import run

# help


@pytest.mark.parametrize("arguments", [["-h"], ["describe", "-h"]])
def test_the_short_flag_shows_the_help(capsys, arguments):
    assert run(arguments) == 0
    assert "Usage: salstats" in capsys.readouterr().out


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
    "unknown reference": ("decrease scores.csv --reference humans", "--reference humans is not a method"),
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


def test_the_version_is_shown(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"salstats {ss.__version__}\n"


# real processes


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
