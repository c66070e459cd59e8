"""A frame as an aligned table for a terminal."""

from typing import Any

import pandas as pd

from salstats.checks import printable
from salstats.display.text.format import column_text, number_text, p_text

#: Settings rather than results: said once above the table where they do not vary.
_SETTINGS = (
    "term", "reference", "formula", "x", "y", "predictor", "response", "conf_level", "family_level",
    "interval", "unit", "margin_low", "margin_high", "test", "n_replicates", "n_tests", "procedure", "family",
    "errors", "exponentiated", "n_undefined", "n_missing",
)  # fmt: skip
#: Columns of p-values, and those that say where one is only a bound.
_FLOORS = {"p_value": "p_floor", "p_adjusted": "p_adjusted_floor"}


def _setting(value: Any) -> str:
    """A setting as it was given: 0.95, not 0.9500."""
    return f"{float(value):g}" if hasattr(value, "is_integer") and value == value else number_text(value)


def console_table(frame: pd.DataFrame) -> str:
    """A frame, usually of estimates, as text: aligned columns, numbers rounded, what never varies once above.

    Examples
    --------
    >>> import pandas as pd
    >>> print(console_table(pd.DataFrame({"task": ["a", "b"], "estimate": [1 / 3, 2.0], "unit": "case"})))
    unit: case
    task  estimate
    a        0.333
    b        2.000
    """
    constant = [c for c in _SETTINGS if c in frame.columns and frame[c].nunique(dropna=False) == 1]
    caption = ", ".join(f"{c}: {_setting(frame[c].iloc[0])}" for c in constant)
    # its p-value says "<"
    shown = frame.drop(columns=[*constant, *(c for c in _FLOORS.values() if c in frame.columns)])
    lines = [printable(caption)] if caption else []
    columns = []
    for name in shown.columns:
        values = shown[name]
        numeric = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
        if numeric:
            # whole numbers that may be missing are no floats yet
            values = values.to_numpy(dtype="float64", na_value=float("nan"))
        if numeric and str(name).startswith("p_"):
            floors = frame[_FLOORS[name]] if _FLOORS.get(name) in frame.columns else [None] * len(frame)
            text = [p_text(v, floor=floor) for v, floor in zip(values, floors, strict=True)]
        else:
            text = column_text(values) if numeric else [number_text(v) for v in values]
        cells = [printable(cell) for cell in (str(name), *text)]
        width = max(map(len, cells))
        columns.append([c.rjust(width) if numeric else c.ljust(width) for c in cells])
    lines += ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    return "\n".join(lines)
