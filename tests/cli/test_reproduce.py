"""The command that reproduces studies."""

from tests_support import error_line

from salstats.cli.app import run
from salstats.studies import declarations


def test_a_list_of_studies_takes_no_more(capsys):
    assert run(["reproduce", "list", "extra"]) == 2
    assert "extra" in error_line(capsys)


def test_the_list_names_every_study_with_its_source(capsys):
    assert run(["reproduce"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(declarations.KEYS)


def test_help_is_that_of_the_command_and_no_error(capsys):
    assert run(["reproduce", "--help"]) == 0
    assert "KEY --help" in " ".join(capsys.readouterr().out.split())


def test_a_study_shows_its_own_options(capsys):
    assert run(["reproduce", "saporta2022", "--help"]) == 0
    out, _ = capsys.readouterr()
    assert "--as-published" in out
    assert "--bootstrap" in out


def test_an_unknown_study_is_one_line_with_those_there_are(capsys):
    assert run(["reproduce", "nobody2020"]) == 2
    line = error_line(capsys)
    assert all(key in line for key in declarations.KEYS)
