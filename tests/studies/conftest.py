"""What the tests of the studies share: a run of one, unwritten."""

import io
import warnings
from contextlib import redirect_stderr, redirect_stdout

import pytest

from salstats.checks import SalstatsWarning
from salstats.cli.app import run as run_command
from salstats.studies import engine


@pytest.fixture(scope="session")
def results():
    """A function that returns what the run of a study makes by key, unwritten."""

    def results(key, *arguments):
        declared = engine.study(key)
        options = engine.parser_of(declared).parse_args([*map(str, arguments), "-o", "nowhere"])
        with warnings.catch_warnings():
            # of few cases and replicates
            warnings.simplefilter("ignore", SalstatsWarning)
            opened = declared.open(options)
            made = engine.make_items(opened.items, opened.there, opened.load())
            return {item.key: result for item, result in made}

    return results


def reproduced(key, *arguments):
    """Exit code, output and errors of `salstats reproduce`."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as error:
        code = run_command(["reproduce", key, *map(str, arguments)])
    return code, out.getvalue(), error.getvalue()


@pytest.fixture(scope="session")
def run():
    """A function that runs `salstats reproduce`."""
    return reproduced
