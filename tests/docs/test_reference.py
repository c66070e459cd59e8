"""The reference has a page for every public name, and says every column.

`docs/reference/functions.md` declares the shelves: the names of the first, and the named shelf of each other.
The package's docstring follows it.
"""

import inspect
import re
from pathlib import Path

import pytest

import salstats as ss
from salstats import frames
from salstats.cli.commands import COMMANDS, GROUPS

DOCS = Path(__file__).resolve().parents[2] / "docs"
REFERENCE = DOCS / "reference"
#: The most names that a first shelf has.
FIRST_SHELF = 32


def listed(page):
    """What autosummary lists on a page."""
    return re.findall(r"^   ([\w.]+)$", (REFERENCE / page).read_text(), re.M)


def test_every_public_name_is_listed_once():
    names = listed("functions.md")
    assert len(names) == len(set(names))
    assert {*ss.__all__} - {"__version__", "datasets"} == {n for n in names if "." not in n}
    functions = {n for n in ss.datasets.__all__ if n.islower()}
    assert functions == {n.removeprefix("datasets.") for n in names if n.startswith("datasets.")}


def test_news_name_every_public_function_since_0_2_0():
    code = " ".join(re.findall(r"`([^`]+)`", (DOCS.parent / "NEWS.md").read_text()))
    named = set(re.findall(r"\w+", code))
    functions = {name for name in ss.__all__ if name.islower()}
    # it was there before and has no line
    assert functions - named == {"theme_salstats"}


def shelves_of_page(level):
    """Public names of each section of the page of functions; "###" are the parts of the first shelf."""
    shelves = {}
    for section in re.split(r"^(?=##)", (REFERENCE / "functions.md").read_text(), flags=re.M):
        heading = re.match(rf"{level} (.+)", section)
        names = [name for name in re.findall(r"^   (\w+)$", section, re.M) if name in ss.__all__]
        if heading and names:
            shelves[heading[1]] = names
    return shelves


def shelves_of_docstring():
    """Names below each heading of the package's docstring: one a line with its text, or a list of names."""
    shelves = {}
    for section in inspect.cleandoc(ss.__doc__).split("\n\n"):
        title, *lines = section.split("\n")
        if lines and all(line.startswith("    ") for line in lines):
            columns = [line.strip().split("  ")[0] for line in lines]
            shelves[title] = re.findall(r"\w+", " ".join(columns))
    return shelves


def test_the_docstring_of_the_package_has_the_shelves_of_the_reference():
    assert shelves_of_docstring() == shelves_of_page("###") | shelves_of_page("##")


def test_the_first_shelf_is_short_and_its_parts_are_the_groups_of_the_commands():
    first = shelves_of_page("###")
    assert 25 <= sum(map(len, first.values())) <= FIRST_SHELF
    assert set(first) <= set(GROUPS.values())
    part = {name: title for title, names in first.items() for name in names}
    commands = [command for command in COMMANDS if command.function in part]
    assert {c.name: part[c.function] for c in commands} == {c.name: GROUPS[c.group] for c in commands}


@pytest.mark.torch
def test_every_name_of_explain_is_listed():
    explain = pytest.importorskip("salstats.explain", reason="needs the explain extra")
    names = listed("functions.md")
    assert {*explain.__all__} == {n.removeprefix("explain.") for n in names if n.startswith("explain.")}


def test_every_column_of_scores_and_estimates_is_explained():
    explained = (REFERENCE / "columns.md").read_text()
    for column in (*frames.KEY_COLUMNS, *frames.SCORES_COLUMNS, *frames.ESTIMATE_COLUMNS):
        assert re.search(rf"^\|.*`{column}`.*\|", explained, re.M), column
