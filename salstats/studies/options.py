"""How options of the studies are read: folders by name, lists, values by method."""

import argparse
import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.files.inputs import is_one_value
from salstats.studies.engine import FEWEST_REPLICATES

#: How a folder of a series is given by name.
SERIES = "METHOD[:MODEL[:SEED]]=DIR"


def named_folder(form: str, *, unnamed: bool = False) -> Callable[[str], tuple[str, str]]:
    """A reader of both sides of NAME=DIR, whose error says the `form` that is wanted.

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
    """The folders of an option by name, each named once.

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


def names_in(values: Sequence[str] | None) -> list[str] | None:
    """A repeated or comma-separated option as a list; a name with a comma stands in double quotes."""
    if values is None:
        return None
    parts = [part.strip() for row in csv.reader(values, skipinitialspace=True) for part in row or [""]]
    if not all(parts):
        raise SalstatsError(f"an empty name in {','.join(values)!r}")
    return parts


def of_methods(**given: list[str] | None) -> dict[str, Any]:
    """The options of masks that are given: a value or file for all, or ig=100,lrp=80 by (None, method)."""
    options: dict[str, Any] = {}
    for name, values in given.items():
        if values is None:
            continue
        if is_one_value(values):
            options[name] = values[0]
            continue
        options[name] = {}
        for text in names_in(values) or []:
            method, equals, value = text.partition("=")
            if not (method and equals and value) or (None, method) in options[name]:
                raise SalstatsError(f"--{name} {text!r} should read like ig=100, each method once")
            options[name][None, method] = value
    return options


def check_replicates(n_replicates: int) -> None:
    """Raise where intervals could not be made of so few replicates."""
    if n_replicates < FEWEST_REPLICATES:
        raise SalstatsError(f"--replicates must be at least {FEWEST_REPLICATES}, not {n_replicates}")


def _below(folder: Path) -> dict[str, str]:
    """The folders in a folder by the series that their names say."""
    return {
        _series_name(p.name): str(p)
        for p in sorted(folder.iterdir())
        if p.is_dir() and not p.name.startswith(".")
    }


def _series_name(folder: str) -> str:
    """method[:model] of the name of a folder."""
    parts = folder.split("_")
    heads = ["_".join(parts[:n]) for n in range(len(parts), 0, -1)]
    labels = Labels()
    # methods that are known have a label of their own
    known = (h for h in heads if labels.value("method", h.lower()) != h.lower())
    method = next(known, heads[min(1, len(heads) - 1)])
    model = folder[len(method) + 1 :]
    return f"{method}:{model}" if model else method
