"""A frame as an aligned table for a terminal."""

import shutil
import sys
import textwrap
from typing import Any

import pandas as pd

from salstats.checks import printable
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import column_text, number_text, p_text

#: Settings rather than results: said once above the table where they do not vary.
_SETTINGS = (
    "term", "reference", "formula", "x", "y", "predictor", "response", "conf_level", "family_level",
    "interval", "unit", "margin_low", "margin_high", "test", "n_replicates", "n_tests", "procedure", "family",
    "errors", "exponentiated", "n_undefined", "n_missing",
)  # fmt: skip
#: Columns of p-values, and those that say where one is only a bound.
_FLOORS = {"p_value": "p_floor", "p_adjusted": "p_adjusted_floor"}
#: An estimate and its limits have the same decimals, and no limit is shown without the other.
_LIMITS = ("conf_low", "conf_high")
_TOGETHER = ("estimate", *_LIMITS)
#: What is shown first of estimates that are wider than the terminal, after what tells their rows apart.
_FIRST = (*_LIMITS, "p_adjusted", "p_value", "n", "verdict", "std_error")
#: Rows that a terminal gets of a longer frame, and how many of them are its last, where averages stand.
ROWS, _LAST = 60, 10
_GAP = "  "


def _setting(value: Any) -> str:
    """A setting as it was given: 0.95, not 0.9500."""
    return f"{float(value):g}" if hasattr(value, "is_integer") and value == value else number_text(value)


def print_frame(frame: pd.DataFrame, *, whole: bool = False, option: str = "") -> None:
    """Print a frame as the terminal has room for it; to a file or another program, or if asked for, whole."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() and not whole else None
    print(console_table(frame, width, option))


def console_table(frame: pd.DataFrame, width: int | None = None, option: str = "") -> str:
    """A frame, usually of estimates, as text: aligned columns, numbers rounded, what never varies once above.

    Of a table that is wider than `width` characters the columns are shown that fit, the others named below;
    of one longer than `ROWS` the first and the last rows. `option` is what shows all of them. Without a width
    all are shown.
    """
    constant = [c for c in _SETTINGS if c in frame.columns and frame[c].nunique(dropna=False) == 1]
    if "family_level" in constant:
        # the level of a single row is a step on the way to that of the family
        frame = frame.drop(columns="conf_level", errors="ignore")
        constant = [c for c in constant if c != "conf_level"]
    settings = ", ".join(printable(f"{c}: {_setting(frame[c].iloc[0])}") for c in constant)
    # its p-value says "<"
    shown = frame.drop(columns=[*constant, *(c for c in _FLOORS.values() if c in frame.columns)])
    columns = {str(name): _cells(frame, name) for name in shown.columns}
    left_out: list[str] = []
    if width is not None:
        columns, left_out = _fitting(columns, width)
    lines = [_GAP.join(row).rstrip() for row in zip(*columns.values(), strict=True)]
    how = f" ({option} shows them)" if option else ""
    if width is not None and len(frame) > ROWS:
        lines[1 + ROWS - _LAST : -_LAST] = [f"... {len(frame) - ROWS} more rows{how}"]
    below = f"also: {', '.join(left_out)}{how}" if left_out else ""
    cautions = caution_note(frame)
    return "\n".join(
        [*_wrapped(settings, width), *lines, *_wrapped(below, width), *_wrapped(cautions, width)]
    )


def _cells(frame: pd.DataFrame, name: Any) -> list[str]:
    """Heading and texts of a column, all as wide as the widest."""
    values: Any = frame[name]
    numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    if numeric:
        # whole numbers that may be missing are no floats yet
        values = values.to_numpy(dtype="float64", na_value=float("nan"))
    if numeric and str(name).startswith("p_"):
        floors = frame[_FLOORS[name]] if _FLOORS.get(name) in frame.columns else [None] * len(frame)
        text = [p_text(v, floor=floor) for v, floor in zip(values, floors, strict=True)]
    else:
        along = [c for c in _TOGETHER if name in _TOGETHER and c in frame.columns]
        others = [v for c in along for v in frame[c]]
        text = column_text([*values, *others])[: len(values)] if numeric else list(map(number_text, values))
    cells = [printable(cell) for cell in (str(name), *text)]
    widest = max(map(len, cells))
    return [c.rjust(widest) if numeric else c.ljust(widest) for c in cells]


def _fitting(columns: dict[str, list[str]], width: int) -> tuple[dict[str, list[str]], list[str]]:
    """The columns that a width has room for, what tells rows apart first, and the names of the others."""

    def room(names: list[str]) -> int:
        return sum(len(columns[c][0]) + len(_GAP) for c in names) - len(_GAP)

    names = list(columns)
    if room(names) <= width:
        return columns, []
    # the name of a case or a task may take a third of the line
    columns = {name: _cut(cells, max(width // 3, len(name))) for name, cells in columns.items()}
    estimates = "estimate" in names
    fitting = names[: names.index("estimate") + 1] if estimates else names[:1]
    for name in dict.fromkeys([*(c for c in _FIRST if estimates and c in names), *names]):
        own = [c for c in names if c in _LIMITS] if name in _LIMITS else [name]
        if name not in fitting and room([*fitting, *own]) <= width:
            fitting += own
    return {c: columns[c] for c in names if c in fitting}, [c for c in names if c not in fitting]


def _cut(cells: list[str], most: int) -> list[str]:
    """Cells of a column without their middle, where they are longer than so many characters."""
    if len(cells[0]) <= most:
        return cells
    end = most // 2
    texts = [cell.rstrip() for cell in cells]
    return [(t if len(t) <= most else f"{t[: most - end - 1]}…{t[-end:]}").ljust(most) for t in texts]


def _wrapped(text: str, width: int | None) -> list[str]:
    """Text on lines of a width."""
    if width is None or not text:
        return [text] if text else []
    return textwrap.wrap(text, width, subsequent_indent=_GAP, break_long_words=False, break_on_hyphens=False)
