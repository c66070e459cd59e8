"""What the analyses share: errors in one line, folders by name, results written with what was warned of."""

import argparse
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from salstats.checks import SalstatsError, SalstatsWarning
from salstats.display.export.figure_jobs import FigureJobs
from salstats.display.text.labels import Labels
from salstats.studies.items import INDEX, WARNINGS, Item, NotMade, write_items


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


def named_folder(form: str, *, unnamed: bool = False) -> Callable[[str], tuple[str, str]]:
    """Return a reader of both sides of NAME=DIR, whose error says the `form` that is wanted.

    With `unnamed`, DIR alone has an empty name: it is a folder of folders, see `folders`.
    """

    def read(text: str) -> tuple[str, str]:
        name, equals, folder = text.partition("=")
        if unnamed and not equals:
            return "", text
        if not name or not folder:
            raise argparse.ArgumentTypeError(f"{text!r} is not {form}")
        return name, folder

    return read


def folders(given: Iterable[tuple[str, str]], flag: str) -> dict[str, str] | None:
    """Return the folders of an option by name, each named once.

    A folder without a name holds one for each series, called METHOD or METHOD_MODEL. A method that is known
    may hold underscores itself; else the last one cuts.
    """
    named: dict[str, str] = {}
    for name, place in given:
        found = {name: place} if name else _below(Path(place))
        if not found:
            raise SalstatsError(
                f"{flag} {place}: holds no folders METHOD or METHOD_MODEL; name its method, as in "
                f"{flag} gradcam={place}"
            )
        for key, folder in found.items():
            if key in named:
                raise SalstatsError(
                    f"{flag} names {key!r} twice; tell models and seeds apart as in {key}:a:1"
                )
            named[key] = folder
    return named or None


def _below(folder: Path) -> dict[str, str]:
    """Return the folders in a folder by the series that their names say."""
    return {
        _series_name(p.name): str(p)
        for p in sorted(folder.iterdir())
        if p.is_dir() and not p.name.startswith(".")
    }


def _series_name(folder: str) -> str:
    """Return method[:model] from the name of a folder."""
    parts = folder.split("_")
    heads = ["_".join(parts[:n]) for n in range(len(parts), 0, -1)]
    labels = Labels()
    # methods that are known have a label of their own
    known = (h for h in heads if labels.value("method", h.lower()) != h.lower())
    method = next(known, heads[min(1, len(heads) - 1)])
    model = folder[len(method) + 1 :]
    return f"{method}:{model}" if model else method


def write_results(make: Callable[[], Iterable[Item]], folder: Path, *, jobs: int) -> None:
    """Write the items that `make` returns, and the warnings that came meanwhile; print where they are.

    What could not be made is printed too; where that is everything, SalstatsError is raised.
    """
    with warnings.catch_warnings(record=True) as caught, FigureJobs(jobs) as figures:
        warnings.simplefilter("always", SalstatsWarning)
        items = list(make())
        said = [str(w.message) for w in caught if issubclass(w.category, SalstatsWarning)]
        not_made = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, NotMade))
        if not items:
            raise SalstatsError("; ".join(not_made) or "no result can be made")
        write_items(items, folder, warned=said, figures=figures)
    for sentence in not_made:
        print(sentence)
    print(f"{len(items)} items in {folder}; {INDEX} lists their files.")
    if (folder / WARNINGS).is_file():
        print(f"Warnings stand in {WARNINGS}.")
