"""What the analyses share: errors in one line, folders by name, results written with what was warned of."""

import argparse
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from salstats.checks import SalstatsWarning
from salstats.display.figure_jobs import FigureJobs
from salstats.display.items import INDEX, WARNINGS, Item, write_items


class OneLine(argparse.ArgumentParser):
    """The parser of an analysis, whose errors are one line that begins with its name."""

    def __init__(self, name: str, description: str | None) -> None:
        super().__init__(
            prog=f"{name}.py", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        self.name = name

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and stop."""
        self.exit(2, f"{self.name}: {message}\n")


def named_folder(form: str) -> Callable[[str], tuple[str, str]]:
    """Return a reader of both sides of NAME=DIR, whose error says the `form` that is wanted."""

    def read(text: str) -> tuple[str, str]:
        name, _, folder = text.partition("=")
        if not name or not folder:
            raise argparse.ArgumentTypeError(f"{text!r} is not {form}")
        return name, folder

    return read


def write_results(make: Callable[[], Iterable[Item]], folder: Path, *, jobs: int) -> None:
    """Write the items that `make` returns, and the warnings that came meanwhile; print where they are."""
    with warnings.catch_warnings(record=True) as caught, FigureJobs(jobs) as figures:
        warnings.simplefilter("always", SalstatsWarning)
        items = list(make())
        said = [str(w.message) for w in caught if issubclass(w.category, SalstatsWarning)]
        write_items(items, folder, warned=said, figures=figures)
    print(f"{len(items)} items in {folder}; {INDEX} lists their files.")
    if (folder / WARNINGS).is_file():
        print(f"Warnings stand in {WARNINGS}.")
