"""The command that reproduces studies."""

import pytest
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


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_of_a_study_is_shown_wherever_it_is_asked_for(capsys, flag):
    assert run(["reproduce", "saporta2022", "--data", "nowhere", flag]) == 0
    assert "--as-published" in capsys.readouterr().out


def test_a_study_without_files_is_an_error_and_no_help(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(["reproduce", "saporta2022"]) == 2
    assert "--data" in error_line(capsys)
    assert not list(tmp_path.iterdir())
