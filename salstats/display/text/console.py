"""A frame as an aligned table for a terminal."""

import shutil
import sys
import textwrap
from typing import Any

import pandas as pd

from salstats.checks import escape_unprintable
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import column_texts, counted, number_text, p_text, significance_level_of_row

#: Settings rather than results, which stand once above the table where they do not vary.
_SETTING_COLUMNS = (
    "term", "reference", "formula", "x", "y", "predictor", "response", "conf_level", "family_level",
    "interval", "unit", "margin_low", "margin_high", "test", "n_replicates", "n_tests", "procedure", "family",
    "errors", "exponentiated", "n_undefined", "n_missing",
)  # fmt: skip
#: Columns of P values, and the columns of the smallest P values that their replicates allow.
_FLOOR_COLUMNS = {"p_value": "p_floor", "p_adjusted": "p_adjusted_floor"}
_LIMIT_COLUMNS = ("conf_low", "conf_high")
#: An estimate and its limits have the same decimals.
_COLUMNS_WITH_SAME_DECIMALS = ("estimate", *_LIMIT_COLUMNS)
#: Columns that follow the grouping columns and the estimate where a terminal has no room for all.
_PREFERRED_COLUMNS = (*_LIMIT_COLUMNS, "p_adjusted", "p_value", "n", "verdict", "std_error")
#: Most rows of a frame that a terminal shows.
MAX_ROWS = 60
#: How many of these rows are the last of a longer frame, where averages stand.
_N_LAST_ROWS = 10
_COLUMN_GAP = "  "


def print_frame(frame: pd.DataFrame, *, fit_terminal: bool = True, option_for_all: str = "") -> None:
    """Print a frame, in a terminal by default with the columns that it has room for."""
    width = None
    if sys.stdout.isatty() and fit_terminal:
        width = shutil.get_terminal_size().columns
    print(console_table(frame, width, option_for_all))


def console_table(frame: pd.DataFrame, width: int | None = None, option_for_all: str = "") -> str:
    """Return a frame, usually of estimates, as text: aligned columns, settings above, cautions below.

    Settings that are the same in all rows stand once above the table. Of a table that is wider than `width`
    characters only the columns that fit are shown, and a line below names the others; of a table longer than
    `MAX_ROWS` the first and the last rows are shown. `option_for_all` is the command-line option that
    shows all columns and rows. Without a width none is left out for lack of room.
    """
    settings = [
        column for column in _SETTING_COLUMNS if column in frame.columns and _is_constant(frame, column)
    ]
    if "family_level" in settings:
        # the confidence level of each row is only derived from that of the family
        frame = frame.drop(columns="conf_level", errors="ignore")
        settings = [column for column in settings if column != "conf_level"]
    setting_texts = [
        escape_unprintable(f"{column}: {_setting_text(frame[column].iloc[0])}") for column in settings
    ]
    # floors are shown by the "<" of their P values
    floors = [column for column in _FLOOR_COLUMNS.values() if column in frame.columns]
    columns = {str(name): _padded_column(frame, name) for name in frame.columns.drop([*settings, *floors])}
    omitted: list[str] = []
    if width is not None:
        columns, omitted = _fitting_and_omitted_columns(columns, width)
    lines = [_COLUMN_GAP.join(row).rstrip() for row in zip(*columns.values(), strict=True)]
    hint = ""
    if option_for_all:
        hint = f" ({option_for_all} shows them)"
    if width is not None and len(frame) > MAX_ROWS:
        n_first_rows = MAX_ROWS - _N_LAST_ROWS
        heading_and_first_rows = lines[: 1 + n_first_rows]
        last_rows = lines[-_N_LAST_ROWS:]
        omitted_rows = counted(len(frame) - MAX_ROWS, "more row")
        lines = [*heading_and_first_rows, f"... {omitted_rows}{hint}", *last_rows]
    omitted_note = ""
    if omitted:
        omitted_note = f"also: {', '.join(omitted)}{hint}"
    return "\n".join(
        [
            *_wrapped_lines(", ".join(setting_texts), width),
            *lines,
            *_wrapped_lines(omitted_note, width),
            *_wrapped_lines(caution_note(frame), width),
        ]
    )


def _is_constant(frame: pd.DataFrame, column: str) -> bool:
    """Return whether a column has the same value in all rows."""
    return bool(frame[column].nunique(dropna=False) == 1)


def _setting_text(value: Any) -> str:
    """Return a setting as a user wrote it: 0.95, not 0.9500."""
    is_number = hasattr(value, "is_integer") and not pd.isna(value)
    if is_number:
        return f"{float(value):g}"
    return number_text(value)


def _padded_column(frame: pd.DataFrame, name: Any) -> list[str]:
    """Return the heading and the texts of a column, all as wide as the widest."""
    values: Any = frame[name]
    is_numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    if not is_numeric:
        texts = list(map(number_text, values))
    else:
        # counts that may be missing have no float dtype
        texts = _number_texts(frame, name, values.to_numpy(dtype="float64", na_value=float("nan")))
    cells = [escape_unprintable(cell) for cell in (str(name), *texts)]
    widest = max(map(len, cells))
    if is_numeric:
        return [cell.rjust(widest) for cell in cells]
    return [cell.ljust(widest) for cell in cells]


def _number_texts(frame: pd.DataFrame, name: Any, values: Any) -> list[str]:
    """Return the numbers of a column as text: P values in their own format, others with the same decimals."""
    if str(name).startswith("p_"):
        floor_column = _FLOOR_COLUMNS.get(name)
        rows = frame.filter([floor_column, "conf_level", "family_level"]).to_dict("records")
        texts = []
        for value, row in zip(values, rows, strict=True):
            texts.append(
                p_text(value, p_floor=row.get(floor_column), alpha=significance_level_of_row(row, str(name)))
            )
        return texts
    numbers = list(values)
    if name in _COLUMNS_WITH_SAME_DECIMALS:
        for column in _COLUMNS_WITH_SAME_DECIMALS:
            if column in frame.columns:
                numbers += list(frame[column])
    # the texts of other columns, read for their decimals only, are left out
    return column_texts(numbers)[: len(values)]


def _fitting_and_omitted_columns(
    columns: dict[str, list[str]], width: int
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the columns that a width has room for, grouping columns first, and the names of the others."""

    def table_width(names: list[str]) -> int:
        return sum(len(columns[name][0]) + len(_COLUMN_GAP) for name in names) - len(_COLUMN_GAP)

    names = list(columns)
    if table_width(names) <= width:
        return columns, []
    # the name of a case or a task may take a third of the line
    columns = {
        name: _cells_shortened_in_the_middle(cells, max(width // 3, len(name)))
        for name, cells in columns.items()
    }
    if "estimate" in names:
        fitting = names[: names.index("estimate") + 1]
        candidates = [*(name for name in _PREFERRED_COLUMNS if name in names), *names]
    else:
        fitting = names[:1]
        candidates = names
    for name in dict.fromkeys(candidates):
        # no limit is shown without the other
        new_names = [name]
        if name in _LIMIT_COLUMNS:
            new_names = [limit for limit in _LIMIT_COLUMNS if limit in names]
        if name not in fitting and table_width([*fitting, *new_names]) <= width:
            fitting += new_names
    fitting_columns = {name: columns[name] for name in names if name in fitting}
    return fitting_columns, [name for name in names if name not in fitting]


def _cells_shortened_in_the_middle(cells: list[str], max_length: int) -> list[str]:
    """Return the cells of a column with "…" in place of their middle where they are too long."""
    if len(cells[0]) <= max_length:
        return cells
    n_end = max_length // 2
    n_start = max_length - n_end - 1
    shortened = []
    for cell in cells:
        text = cell.rstrip()
        if len(text) > max_length:
            text = f"{text[:n_start]}…{text[-n_end:]}"
        shortened.append(text.ljust(max_length))
    return shortened


def _wrapped_lines(text: str, width: int | None) -> list[str]:
    """Return a text as lines of a width, an empty list for an empty text."""
    if not text:
        return []
    if width is None:
        return [text]
    return textwrap.wrap(
        text, width, subsequent_indent=_COLUMN_GAP, break_long_words=False, break_on_hyphens=False
    )
