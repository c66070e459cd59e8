"""The command line: each command writes the frame of its function; bad input is one line and no file."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import typer
from command_line import LONG, ROW, contents, salstats, study
from tests_support import error_line, quick, raises

import salstats as ss
from salstats.cli import app
from salstats.cli.app import execute_raising_errors, main, run
from salstats.errors import ColumnError, FormulaError, InputFileError, SalstatsError, ValueRangeError

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
        pytest.param("salstats plot --a", ["--as", "--alpha", "--auroc"], marks=pytest.mark.slow),
        pytest.param("salstats decrease scores.csv --refer", ["--reference"], marks=pytest.mark.slow),
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


# bad files, each read by `describe bad.csv`: content, class and fields of the error
GOOD = f"{LONG}\n{ROW}\n"
BAD_FILES = {
    "empty file": ("", InputFileError, {}),
    "header only": (f"{LONG}\n", InputFileError, {}),
    "semicolons": (GOOD.replace(",", ";"), InputFileError, {"option": "sep", "value": ","}),
    "another encoding": (
        GOOD.replace("Ed", "Öd").encode("latin-1"),
        InputFileError,
        {"option": "encoding", "value": "utf-8"},
    ),
    "UTF-16": (GOOD.encode("utf-16"), InputFileError, {"option": "encoding", "value": "utf-8"}),
    "control character": (GOOD.replace("Ed", "\0Ed"), InputFileError, {"option": "encoding"}),
    "short row": (f"{GOOD}008,Edema\n", InputFileError, {"rows": (1,)}),
    "long row": (f"{LONG}\n{ROW},9\n", InputFileError, {"rows": (0,)}),
    "header twice": (f"{LONG},case\n{ROW},x\n", InputFileError, {"column": "case"}),
    "header with a blank": (GOOD.replace("task", " task"), InputFileError, {"column": " task"}),
    "open quote": (f'{LONG}\n"{ROW}\n', InputFileError, {}),
    "blank line within": (f"{GOOD}\n{GOOD}", InputFileError, {}),
    "no score column": (GOOD.replace("score", "scores"), ColumnError, {"column": "score"}),
    "no case column": (GOOD.replace("case", "id"), ColumnError, {"column": "case", "option": "rename"}),
    "no method": ("case,metric,score\n1,iou,0.5\n", ColumnError, {"column": "method", "option": "method"}),
    "score is text": (GOOD.replace("0.5", "0.5x"), ColumnError, {"column": "score", "rows": (0,)}),
    "score is infinite": (f"{GOOD}8,a,g,iou,inf\n", ColumnError, {"column": "score", "rows": (1,)}),
    "decimal comma": (GOOD.replace("0.5", '"0,5"'), ColumnError, {"column": "score", "option": "decimal"}),
    "observation twice": (f"{GOOD}{ROW}\n", ColumnError, {"rows": (0, 1)}),
    "empty case": (GOOD.replace("007", ""), ColumnError, {"column": "case", "rows": (0,)}),
    "empty method": (GOOD.replace("gradcam", ""), ColumnError, {"column": "method", "rows": (0,)}),
    "empty metric": (GOOD.replace("iou", ""), ColumnError, {"column": "metric", "rows": (0,)}),
    "a zip archive": (b"PK\x03\x04", InputFileError, {}),
}
TWO_PATIENTS = f"{LONG},patient\n{ROW},p\n{ROW.replace('Ed', 'ed')},q\n"

# bad arguments: class and fields of the error; of wrong usage the fact that its line names
BAD_ARGUMENTS = {
    "describe text.csv other.csv": "(other.csv); further files of scores follow --also",
    "summarize nothing.csv": (InputFileError, {"path": "nothing.csv"}),
    "summarize .": (InputFileError, {"path": "."}),
    "summarize text.dat": (InputFileError, {"path": "text.dat"}),
    "describe text.xlsx": (InputFileError, {"path": "text.xlsx"}),
    "describe text.parquet": (InputFileError, {"path": "text.parquet"}),
    "describe patients.csv": (ColumnError, {"column": "patient", "rows": (0,)}),
    "correlate twice.csv iou prob": (ColumnError, {"rows": (0, 1)}),
    "describe scores.csv --rename id=case": (InputFileError, {"option": "rename", "column": "id"}),
    "describe scores.csv --rename task=case": (ColumnError, {"option": "rename", "column": "case"}),
    "describe scores.csv --score a=g:iou;b=h:iou": "--score",
    "describe scores.csv --rename task": "--rename 'task'",
    "describe scores.csv --rename task=a,task=b": "--rename",
    "describe scores.csv --score prob=human:": "--score 'prob=human:'",
    "describe scores.csv --score x=human:iou": (InputFileError, {"option": "columns", "column": "x"}),
    "describe scores.csv --wide metric": (
        SalstatsError, {"option": "wide", "value": "metric", "choices": ("task",)},
    ),
    "describe scores.csv --method a,b": (SalstatsError, {"option": "method", "value": ["a", "b"]}),
    "describe scores.csv --sep ;;": (InputFileError, {"option": "sep", "value": ";;"}),
    "describe scores.csv --encoding utf-9": (InputFileError, {"option": "encoding", "value": "utf-9"}),
    "describe scores.csv --join nothing.csv": (InputFileError, {"path": "nothing.csv"}),
    "describe scores.csv --join features.csv": (ColumnError, {"column": "case", "rows": (0, 1)}),
    "describe scores.csv --join other.csv": (ColumnError, {"column": "case"}),
    "describe scores.csv --by method,,task": "'method,,task'",
    "summarize scores.csv --by tasks": (ColumnError, {"column": "tasks"}),
    "summarize scores.csv --by task --by task": (ColumnError, {"option": "by"}),
    "summarize scores.csv --unit patients": (ColumnError, {"column": "patients"}),
    "summarize scores.csv --level 1": (ValueRangeError, {"option": "level", "value": 1.0}),
    "difference scores.csv --reference human --level 95": (
        ValueRangeError, {"option": "level", "value": 95.0},
    ),
    "summarize scores.csv --level high": "--level",
    "summarize scores.csv --replicates 0": (ValueRangeError, {"option": "n_replicates", "value": 0}),
    "summarize scores.csv --replicates 0.5": "--replicates",
    "summarize scores.csv --seed -1": (ValueRangeError, {"option": "rng", "value": -1}),
    "summarize scores.csv --interval wald": (ValueRangeError, {"option": "interval", "value": "wald"}),
    "difference scores.csv --reference human --test z": (ValueRangeError, {"option": "test", "value": "z"}),
    "difference scores.csv --reference human --adjust hom": (
        ValueRangeError, {"option": "adjust", "value": "hom"},
    ),
    "difference scores.csv --reference human --margin big": "--margin 'big'",
    "decrease scores.csv --reference humans": (
        SalstatsError, {"option": "reference", "value": "humans", "choices": ("gradcam", "human")},
    ),
    "decrease scores.csv": (SalstatsError, {"option": "reference", "choices": ("gradcam", "human")}),
    "regress scores.csv 'iou ~'": (FormulaError, {}),
    "regress scores.csv '~ prob'": (FormulaError, {}),
    "regress scores.csv 'iou ~ size'": (ColumnError, {"column": "size"}),
    "regress scores.csv 'iou ~ exec(\"x\")'": (FormulaError, {}),
    "regress scores.csv 'iou ~ prob' --within task": "--normalize",
    "summarize scores.csv --limits iou=0:1": "--bounds",
    "summarize scores.csv --bounds --limits iou=1:0": (ValueRangeError, {"option": "limits"}),
    "summarize scores.csv --bounds --limits iou=a:b": "--limits 'iou=a:b'",
    "summarize scores.csv --bounds --weights unit": (SalstatsError, {"column": "weights"}),
    "correlate scores.csv iou size": (ColumnError, {"column": "size"}),
    "auroc scores.csv prob area_ratio": (ValueRangeError, {"column": "area_ratio"}),
    "summarise scores.csv": "'summarise'",
    "describe scores.csv --bye task": "--bye",
    "describe": "'SCORES'",
    "describe scores.csv again.csv": "again.csv",
}  # fmt: skip


def _assert_no_python(line):
    """A line of the terminal has no call of Python and no keyword argument."""
    assert not re.search(r"\b\w+\([^)]*=|\w=['\"(\[]|\bss\.|\bNone\b(?!')", line), line


@pytest.mark.parametrize("kind", BAD_FILES)
@pytest.mark.parametrize("out", ["out.csv", None])
def test_a_bad_file_is_one_line_exit_2_and_no_file(capsys, folder, kind, out):
    content, error, fields = BAD_FILES[kind]
    (folder / "bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    before = contents(folder)
    arguments = ["describe", "bad.csv", *(["-o", out] if out else [])]
    assert run(arguments) == 2
    assert "bad.csv" in error_line(capsys)
    with raises(error, path="bad.csv", **fields):
        execute_raising_errors(arguments)
    assert contents(folder) == before


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("command", BAD_ARGUMENTS)
def test_bad_arguments_are_one_line_exit_2_and_no_file(capsys, folder, command):
    for name in ("text.xlsx", "text.parquet", "text.dat"):
        (folder / name).write_text(GOOD)
    (folder / "patients.csv").write_text(TWO_PATIENTS)
    (folder / "twice.csv").write_text(f"{LONG},prob\n{ROW},1\n{ROW},2\n")
    (folder / "features.csv").write_text("case,size\n007,1\n007,2\n")
    (folder / "other.csv").write_text("case,size\n7,1\n")
    before = contents(folder)
    arguments = [*shlex.split(command), "-o", "out.csv"]
    expected = BAD_ARGUMENTS[command]
    assert run(arguments) == 2
    line = error_line(capsys)
    _assert_no_python(line)
    if isinstance(expected, str):
        assert expected in line
    else:
        error, fields = expected
        with raises(error, **fields):
            execute_raising_errors(arguments)
    assert contents(folder) == before


def test_another_word_for_a_command_leads_to_it(capsys):
    assert run(["overlay", "study"]) == 2
    assert "'gallery'" in error_line(capsys)


def test_warnings_do_not_add_lines_to_an_error(capsys, folder):
    study().assign(size=["unknown", *map(str, range(47))]).to_csv("odd.csv", index=False)
    assert run(["describe", "odd.csv", "--by", "x"]) == 2
    assert "no column 'x'" in error_line(capsys)


@pytest.mark.parametrize("arguments", [[], ["--"]])
def test_without_a_command_the_help_and_an_error_are_shown(capsys, arguments):
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert "Usage: salstats" in out
    assert err == "salstats: error: no command; see salstats --help\n"


def failing_run(monkeypatch, error):
    """Run a command in which an error is raised."""

    def fail(*arguments):
        raise error

    monkeypatch.setattr(app, "execute_raising_errors", fail)
    return run(["describe", "scores.csv"])


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (typer.Abort(), 130, "interrupted"),
        (app._Terminated(), 143, "terminated"),
        (typer.BadParameter("--by takes names"), 2, "--by takes names"),
        (MemoryError(), 2, "not enough memory"),
        (ModuleNotFoundError("no module", name="cv2"), 2, "pip install opencv-python-headless"),
        (OSError("disk is gone"), 2, "disk is gone"),
        (ValueError("of a package"), 2, "of a package"),
        (SalstatsError("x" * 2001), 2, f"{'x' * 1000} ... {'x' * 1000}"),
        (SalstatsError("x" * 2000), 2, "x" * 2000),
    ],
)
def test_an_error_is_one_line_with_the_exit_code_of_its_kind(capsys, monkeypatch, error, code, text):
    monkeypatch.delenv("SALSTATS_TRACEBACK", raising=False)
    assert failing_run(monkeypatch, error) == code
    assert text in error_line(capsys)


def test_a_developer_gets_the_traceback_of_what_is_no_bad_input(capsys, monkeypatch):
    monkeypatch.setenv("SALSTATS_TRACEBACK", "1")
    with pytest.raises(ValueError, match="of a package"):
        failing_run(monkeypatch, ValueError("of a package"))
    # parts of the package itself are not missing packages
    with pytest.raises(ModuleNotFoundError):
        failing_run(monkeypatch, ModuleNotFoundError("no module", name="salstats.metrics"))
    for error in (SalstatsError("bad"), OSError("gone")):
        assert failing_run(monkeypatch, error) == 2
        error_line(capsys)


def test_the_process_exits_with_the_code_and_ends_in_order_at_the_first_signal(capsys, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    try:
        for arguments, code in ((["--version"], 0), (["describe", "nothing.csv"], 2)):
            with pytest.raises(SystemExit) as stop:
                main(arguments)
            assert stop.value.code == code
        monkeypatch.setattr(sys, "argv", ["salstats", "--version"])
        capsys.readouterr()
        with pytest.raises(SystemExit):
            main()
        assert ss.__version__ in capsys.readouterr().out
        assert sys.stdout.errors == sys.stderr.errors == "backslashreplace"
        end = signal.getsignal(signal.SIGTERM)
        with pytest.raises(app._Terminated):
            end(signal.SIGTERM, None)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_command_is_the_first_word_also_of_a_line_that_a_shell_completes(monkeypatch):
    monkeypatch.delenv("_SALSTATS_COMPLETE", raising=False)
    assert app._first_non_option(["--version", "describe", "read"]) == "describe"
    assert app._first_non_option(["--version"]) == ""
    monkeypatch.setenv("_SALSTATS_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "salstats decrease --by")
    assert app._first_non_option([]) == "decrease"
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "salstats ranks")
    assert app._first_non_option([]) == "ranks"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("demo", {"output": "--output", "overwrite": "--overwrite"}),
        ("make-maps", {"batch_size": "--batch-size", "seed": "--seed"}),
        (
            "summarize",
            {"n_replicates": "--replicates", "rng": "--seed", "bounds": "--bounds", "sep": "--sep"},
        ),
    ],
)
def test_messages_get_the_flags_of_the_command_that_runs(capsys, command, expected):
    flags = {}
    assert execute_raising_errors([command, "--help"], flags) == 0
    assert expected.items() <= flags.items()
    assert "" not in flags.values()


def test_the_demo_gets_its_folder(monkeypatch):
    folders = []
    monkeypatch.setattr(
        "salstats.cli.demo.run_demo", lambda *given, **options: folders.append((given, options))
    )
    assert run(["demo", "-o", "out", "--overwrite"]) == run(["demo"]) == 0
    assert folders == [((Path("out"),), {"overwrite": True}), ((None,), {"overwrite": False})]


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


@pytest.mark.parametrize("unbuffered", ["", pytest.param("1", marks=pytest.mark.slow)])
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


@pytest.mark.slow
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
