"""The command that reproduces studies."""

from tests_support import error_line

from salstats.cli.app import run


def test_a_list_of_studies_takes_no_more(capsys):
    assert run(["reproduce", "list", "extra"]) == 2
    assert "extra" in error_line(capsys)
