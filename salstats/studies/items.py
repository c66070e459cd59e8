"""What an analysis writes: results as frame, table and figure, in a folder that is whole or not there."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import plotnine as p9
from great_tables import GT

from salstats.checks import SalstatsError, SalstatsWarning, warn
from salstats.display.export.figure_jobs import FigureJobs
from salstats.display.export.table_files import save_table_as
from salstats.files.frame_files import write_frame
from salstats.files.output_folder import checked_folder, replacing_folder

#: Lists the files; a folder without it is somebody else's.
INDEX, WARNINGS = "outputs.csv", "warnings.txt"
_SUBFOLDERS = ("frames", "tables", "figures")
_TABLES, _FIGURES = (".html", ".tex", ".docx", ".csv"), (".pdf", ".png")
_COLUMNS = ("file", "item", "slice", "unit", "interval", "note")


@dataclass(frozen=True)
class Item:
    """A result: the frame behind it, and what shows it.

    Attributes
    ----------
    key : str
        Name of its files.
    title : str
        What it is, with its number in the study.
    frame : DataFrame
        Unrounded.
    table : GT
        For the paper.
    figure : ggplot, optional
        Where one shows more than the table.
    slice : str
        Which cases and tasks.
    note : str
        What has to be known to read it.
    """

    key: str
    title: str
    frame: pd.DataFrame
    table: GT
    figure: p9.ggplot | None = None
    slice: str = "true-positive"
    note: str = ""


class NotMade(SalstatsWarning):
    """A result that its data do not allow; the others are made."""


def not_made(name: str, reason: str) -> None:
    """Warn that a result is not made, and why; `write_results` prints it too."""
    warn(f"{name}: not made, {reason}", NotMade)


@contextmanager
def made_if_possible(name: str) -> Iterator[None]:
    """Name a result that cannot be made for a reason of its data, in a warning with the reason, and go on.

    Other exceptions are errors of the program and are raised.
    """
    try:
        yield
    except SalstatsError as error:
        not_made(name, str(error))


def check_items_folder(folder: Path, *, overwrite: bool) -> Path:
    """Return the folder to write, which is new, empty, or what an earlier run made and nothing else."""
    return checked_folder(folder, written=_written, own=_SUBFOLDERS, overwrite=overwrite)


def _written(folder: Path) -> set[str]:
    """Return the files that an earlier run lists in its index."""
    try:
        with (folder / INDEX).open(encoding="utf-8", newline="") as file:
            return {INDEX, WARNINGS, *(row["file"] for row in csv.DictReader(file))}
    except (OSError, ValueError, KeyError):
        return set()


def write_items(items: Sequence[Item], folder: Path, *, warned: Sequence[str], figures: FigureJobs) -> None:
    """Write every item and the index, and what was warned of; the folder is there whole or not at all."""
    with replacing_folder(folder, lambda: check_items_folder(folder, overwrite=True)) as made:
        for name in _SUBFOLDERS:
            (made / name).mkdir(parents=True)
        index = [row for item in items for row in _write(item, made, figures)]
        said = list(dict.fromkeys([*warned, *figures.finish()]))
        if said:
            (made / WARNINGS).write_text("\n".join(said) + "\n", encoding="utf-8")
        write_frame(pd.DataFrame(index, columns=list(_COLUMNS)), made / INDEX)


def _write(item: Item, made: Path, figures: FigureJobs) -> list[dict[str, str]]:
    """Write one item and return the rows of the index."""
    files = [write_frame(item.frame, made / "frames" / f"{item.key}.csv")]
    tables = [made / "tables" / f"{item.key}{suffix}" for suffix in _TABLES]
    table = item.table.tab_header(item.title)
    save_table_as(table.tab_source_note(_sentence(item.note)) if item.note else table, tables)
    if item.figure is not None:
        drawn = [made / "figures" / f"{item.key}{suffix}" for suffix in _FIGURES]
        figures.add(item.figure, drawn)
        files += drawn
    said = {
        "item": item.title,
        "slice": item.slice,
        "unit": _values(item.frame, "unit"),
        "interval": _values(item.frame, "interval"),
        "note": item.note,
    }
    return [{"file": file.relative_to(made).as_posix(), **said} for file in (*files, *tables)]


def _sentence(text: str) -> str:
    """Return a note as a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def _values(frame: pd.DataFrame, column: str) -> str:
    """Return the values of a column as text, empty where there is none."""
    return ", ".join(frame[column].dropna().astype("str").unique()) if column in frame else ""
