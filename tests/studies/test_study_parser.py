"""Options of a study: their flags, and the error of one that is not there."""

import pytest
from tests_support import raises

from salstats.errors import SalstatsError
from salstats.studies import declarations, engine
from salstats.studies.engine import parser_of


@pytest.mark.parametrize(("given", "name"), [("--replicate=50", "--replicate"), ("--metricks", "--metricks")])
def test_an_option_that_is_not_there_is_an_error_that_lists_those_that_are(given, name):
    parser = engine.parser_of(declarations.declaration_of("saliency_bench"), output=False)
    with raises(SalstatsError, option=name) as caught:
        parser.parse_args(["--digits", given, "60"])
    assert {"--metrics", "--replicates", "--rename"} <= set(caught.value.choices)


def test_flags_are_named_as_options_and_as_parameters_of_functions():
    flags = parser_of(declarations.declaration_of("saliency_bench")).flags
    assert flags["replicates"] == flags["n_replicates"] == "--replicates"
    assert "rng" not in flags
    assert flags["output"] == "--output"


def test_options_are_those_of_the_study_without_help():
    assert "help" not in parser_of(declarations.declaration_of("saliency_bench")).options


def test_arguments_are_read_and_what_argparse_finds_wrong_is_an_error_of_the_package():
    parser = parser_of(declarations.declaration_of("saliency_bench"))
    options = parser.parse_args(["--digits", "--replicates", "60"])
    assert (options.digits, options.replicates) == (True, 60)
    for arguments in (["--digits", "--printed"], ["--replicates", "many"]):
        with raises(SalstatsError):
            parser.parse_args(arguments)
