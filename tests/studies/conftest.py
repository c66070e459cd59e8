"""What the tests of the studies share: a run of one, unwritten."""

import io
import warnings
from contextlib import redirect_stderr, redirect_stdout

import pytest

from salstats.cli.app import run as run_command
from salstats.errors import SalstatsWarning
from salstats.studies import declarations, engine
from salstats.studies.declarations import OpenedStudy, PublishedStudy
from salstats.studies.item_warnings import ItemFailed


def opened_by(key, *arguments):
    """The data of a study as its options name them."""
    declared = declarations.declaration_of(key)
    options = engine.parser_of(declared).parse_args([*map(str, arguments), "-o", "nowhere"])
    return engine.open_study(declared, options)


@pytest.fixture(scope="session")
def allowed():
    """A function that returns the keys of the items whose needs the data meet."""

    def allowed(key, *arguments):
        opened = opened_by(key, *arguments)
        return {item.key for item in opened.items if set(item.needs) <= opened.available}

    return allowed


@pytest.fixture(scope="session")
def unmet_needs():
    """A function that returns what the command says first: items that lack data, and what they need."""

    def unmet_needs(key, *arguments):
        opened = opened_by(key, *arguments)
        return [str(message) for message in engine.unmet_need_messages(opened.items, opened.available)]

    return unmet_needs


@pytest.fixture(scope="session")
def results():
    """A function that returns what the run of a study makes by key, unwritten: all, or only some keys."""

    def results(key, *arguments, only=()):
        with warnings.catch_warnings():
            # of few cases and replicates
            warnings.simplefilter("ignore", SalstatsWarning)
            # an error of the program is none of the data
            warnings.simplefilter("error", ItemFailed)
            opened = opened_by(key, *arguments)
            items = [item for item in opened.items if not only or item.key in only]
            made = engine.made_items_whose_needs_are_met(items, opened.available, opened.load())
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


@pytest.fixture
def reproduce(monkeypatch, tmp_path, capsys):
    """A function that runs a study of some items and returns its code, what it says, and its folder."""

    def reproduce(*items, available=(), given=()):
        declared = PublishedStudy("mine", "A paper", "About it", lambda parser: None,
                         lambda options: OpenedStudy(items, frozenset(available), dict))  # fmt: skip
        monkeypatch.setattr(engine, "declaration_of", lambda key: declared)
        code = engine.reproduce("mine", ["-o", str(tmp_path / "out"), *given])
        return code, capsys.readouterr(), tmp_path / "out"

    return reproduce
