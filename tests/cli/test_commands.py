"""Every command has help with an example that runs."""

import re
import shlex

import pytest
from command_line import COMMANDS, MINIMAL, patients
from tests_support import error_line

import salstats as ss
from salstats.cli import commands as cli_commands
from salstats.cli.app import make_app_with_options_of_one_command, run
from salstats.cli.commands import GROUPS
from salstats.stats.engine.intervals import interval_names


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_an_example(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "200")
    assert run([command, "--help"]) == 0
    out, err = capsys.readouterr()
    assert f"Example: salstats {command}" in out
    assert err == ""


#: What each command reads, by the fixture that makes the folder with it, and a name that its output may have.
READS = {
    **{command: ("folder", ["scores.csv", *needed], "out.csv") for command, needed in MINIMAL.items()},
    **{command: ("study_folder", ["study"], "out.csv") for command in ("score", "features", "tune")},
    "segment": ("study_folder", ["study"], "out.json"),
    "gaze": ("gaze_folder", ["gaze", "--metric", "ncc"], "out.csv"),
}


@pytest.mark.parametrize("command", sorted(READS))
def test_the_example_of_the_help_runs_as_it_stands(capsys, monkeypatch, request, command):
    folder = request.getfixturevalue(READS[command][0])
    monkeypatch.setenv("COLUMNS", "200")
    run([command, "--help"])
    example = re.search(r"Example: salstats (.*)", capsys.readouterr().out).group(1)
    patients().to_csv("patients.csv", index=False)
    before = {file for file in folder.iterdir() if file.is_file()}
    assert run(shlex.split(example)) == 0
    written = {file for file in folder.iterdir() if file.is_file()} - before
    assert (len(written) > 0) == (" -o " in example)


@pytest.mark.parametrize("command", sorted(READS))
def test_an_output_that_exists_is_kept_unless_asked(capsys, request, command):
    fixture, arguments, output = READS[command]
    folder = request.getfixturevalue(fixture)
    (folder / output).write_text("mine")
    # before any work: a file that is not there is no matter yet
    for first in (arguments[0], "nowhere"):
        assert run([command, first, *arguments[1:], "-o", output]) == 2
        assert "the file exists; pass --overwrite to replace it" in error_line(capsys)
    assert (folder / output).read_text() == "mine"
    assert run([command, *arguments, "-o", output, "--overwrite"]) == 0
    assert (folder / output).read_bytes() != b"mine"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_the_usual_options_on_one_screen_and_no_type_of_switches(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "100")
    run([command, "--help"])
    shown = capsys.readouterr().out
    # of a table or figure the options of every kind stand below a heading of their own
    first_screen = re.split("─ (?:More options|Reading the|The table|The figure|Network)", shown)[0]
    assert len(first_screen.splitlines()) <= 45
    assert "<bool>" not in shown


@pytest.mark.parametrize(
    "command", [command for command in cli_commands.COMMANDS if command.main_parameters], ids=lambda c: c.name
)
def test_usual_options_and_texts_of_a_command_are_options_that_it_has(command):
    made = {
        option.name
        for option in cli_commands.command_arguments_and_options(command, getattr(ss, command.function))
    }
    assert {*command.main_parameters, *command.texts} <= made


@pytest.mark.parametrize(
    "command", [command for command in cli_commands.COMMANDS if command.estimate_kind], ids=lambda c: c.name
)
def test_an_interval_is_one_of_those_for_the_estimate_that_a_command_makes(command):
    options = cli_commands.command_arguments_and_options(command, getattr(ss, command.function))
    [interval] = [option for option in options if option.name == "interval"]
    assert f"One of {', '.join(interval_names(command.estimate_kind))}." in interval.typer_info.help


def test_help_lists_every_command_under_one_heading(capsys):
    assert {command.name for command in make_app_with_options_of_one_command("").registered_commands} == set(
        COMMANDS
    )
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    headings = re.findall(r"^╭─ (.+?) ─", out, re.M)
    assert headings == ["Options", *GROUPS.values()]
    for command in COMMANDS:
        assert len(re.findall(rf"^│ {command} ", out, re.M)) == 1
