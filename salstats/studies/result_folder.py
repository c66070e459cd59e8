"""Folder of a run: the files of every result, their index, the printed numbers and the warnings."""

import csv
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from salstats.coded_text import TEXT
from salstats.display.export.figure_files import FigureJobs, pages_with_files
from salstats.display.export.table_files import save_table_as
from salstats.display.tables.file_formats import RESULT_SUFFIXES
from salstats.errors import (
    InputFileError,
    Spelling,
    first_warning_by_subject,
    warn,
)
from salstats.files.frame_files import write_frame
from salstats.files.output_folder import check_output_folder_is_writable, replacing_folder
from salstats.jobs import with_progress_bar
from salstats.studies.declarations import ItemResult, StudyItem
from salstats.studies.item_warnings import ItemFailed

#: Lists the files of a run; a folder without it was made by somebody else.
INDEX = "outputs.csv"
#: The warnings of a run, one a line.
WARNINGS = "warnings.txt"
#: The tracebacks of items that failed.
ERRORS = "errors.txt"
#: The printed numbers beside those of the run.
PRINTED = "printed.csv"
_SUBFOLDERS = ("frames", "tables", "figures")
_FIGURE_SUFFIXES = (".pdf", ".png")
_INDEX_COLUMNS = ("file", "item", "slice", "unit", "interval", "note")


def check_items_folder_is_writable(folder: Path, *, overwrite: bool) -> Path:
    """Return the folder to write; raise unless it is new or empty.

    With `overwrite` it may also hold the files of an earlier run, and nothing else.
    """
    return check_output_folder_is_writable(
        folder, written_files=_files_written_by_earlier_run, subfolders=_SUBFOLDERS, overwrite=overwrite
    )


def _files_written_by_earlier_run(folder: Path) -> set[str]:
    """Return the files that an earlier run lists in its index."""
    try:
        with (folder / INDEX).open(encoding="utf-8", newline="") as file:
            listed = {row["file"] for row in csv.DictReader(file)}
    except (OSError, ValueError, KeyError):
        return set()
    return {INDEX, WARNINGS, ERRORS, PRINTED, *listed}


def printed_rows(compared: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put the printed rows of all items below each other: `item, key, printed, found, equal`."""
    return pd.concat(compared, ignore_index=True)[["item", "key", "printed", "found", "equal"]]


def write_results(
    results: Sequence[tuple[StudyItem, ItemResult]],
    compared: Sequence[pd.DataFrame],
    folder: Path,
    caught: Sequence[warnings.WarningMessage],
    figures: FigureJobs,
    spelling: Spelling,
) -> None:
    """Write every result, the index, the comparison with print, and the warnings.

    The folder appears when it is complete. Where a frame, a table or a figure fails, the other files are
    written and a warning is added to `caught`, which records the warnings of the run.
    """
    with replacing_folder(
        folder, lambda: check_items_folder_is_writable(folder, overwrite=True)
    ) as new_folder:
        for name in _SUBFOLDERS:
            (new_folder / name).mkdir(parents=True)
        index_rows = []
        # Each result advances the progress bar by one step.
        steps = [1] * len(results)
        for item, result in with_progress_bar(results, len(results), "Writing", progress=True, sizes=steps):
            index_rows += _write_files_of_result(item, result, new_folder, figures)
        drawing_warnings = _finish_figures_and_return_drawing_warnings(figures, index_rows, new_folder)
        written_rows = [row for row in index_rows if (new_folder / row["file"]).is_file()]
        if compared:
            write_frame(printed_rows(compared), new_folder / PRINTED)
        texts = [warning.message.spelled(spelling) for warning in first_warning_by_subject(caught).values()]
        distinct_texts = list(dict.fromkeys([*texts, *drawing_warnings]))
        if distinct_texts:
            (new_folder / WARNINGS).write_text("\n".join(distinct_texts) + "\n", encoding="utf-8")
        tracebacks = [_traceback(w.message) for w in caught if isinstance(w.message, ItemFailed)]
        if tracebacks:
            (new_folder / ERRORS).write_text("\n".join(tracebacks), encoding="utf-8")
        write_frame(pd.DataFrame(written_rows, columns=list(_INDEX_COLUMNS)), new_folder / INDEX)


def _finish_figures_and_return_drawing_warnings(
    figures: FigureJobs, item_rows: Sequence[dict[str, str]], folder: Path
) -> list[str]:
    """Wait until all figures are drawn, warn of those that fail, and return the texts of other warnings."""
    item_names = {row["file"]: row["item"].partition(":")[0] for row in item_rows}

    def warn_not_drawn(files: Sequence[Path], error: Exception) -> None:
        file = files[0].relative_to(folder.absolute()).as_posix()
        warn(ItemFailed(f"{item_names[file]}, its figure", error))

    return figures.finish_and_list_warnings(on_error=warn_not_drawn)


def _traceback(failure: ItemFailed) -> str:
    """Return the traceback of an item that failed, under its name."""
    return f"{failure.item}\n{''.join(traceback.format_exception(failure.error))}"


@contextmanager
def _warning_unless_file_error(name: str) -> Iterator[None]:
    """Turn an error into a warning, so that the other files are written; file system errors are raised."""
    try:
        yield
    except (OSError, InputFileError):
        raise
    except Exception as error:
        warn(ItemFailed(name, error))


def _write_files_of_result(
    item: StudyItem, result: ItemResult, folder: Path, figures: FigureJobs
) -> list[dict[str, str]]:
    """Write the files of one result; return the rows of the index, one for each file."""
    note = result.note.rstrip(".")
    files = []
    with _warning_unless_file_error(f"{item.number_or_title}, its frame"):
        files.append(write_frame(result.frame, folder / "frames" / f"{item.key}.csv"))
    if result.figure is not None:
        with _warning_unless_file_error(f"{item.number_or_title}, its figure"):
            first_file = folder / "figures" / f"{item.key}{_FIGURE_SUFFIXES[0]}"
            # each page of a figure has files of its own
            for page, file in pages_with_files(result.figure, first_file):
                page_targets = [file.with_suffix(suffix) for suffix in _FIGURE_SUFFIXES]
                figures.add(page, page_targets)
                files += page_targets
    if result.table is not None:
        with _warning_unless_file_error(f"{item.number_or_title}, its table"):
            table_targets = [folder / "tables" / f"{item.key}{suffix}" for suffix in RESULT_SUFFIXES]
            table = result.table.tab_header(result.title or "")
            if note:
                table = table.tab_source_note(_as_sentence(note))
            save_table_as(table, table_targets)
            files += table_targets
    facts = {
        "item": result.title or "",
        "slice": result.slice or "",
        "unit": _joined_distinct_values(result.frame, "unit"),
        "interval": _joined_distinct_values(result.frame, "interval"),
        "note": note,
    }
    return [{"file": file.relative_to(folder).as_posix(), **facts} for file in files]


def _as_sentence(note: str) -> str:
    """Write a note with a capital and a full stop; a first word of one letter, such as n, stays small."""
    first_word = note.split(maxsplit=1)[0]
    if len(first_word) == 1:
        return f"{note}."
    return f"{note[0].upper()}{note[1:]}."


def _joined_distinct_values(frame: pd.DataFrame, column: str) -> str:
    """Join the distinct values of a column; empty where the frame does not have it."""
    if column not in frame:
        return ""
    return ", ".join(frame[column].dropna().astype(TEXT).unique())
