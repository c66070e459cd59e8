"""A frame as an aligned table for a terminal."""

import pandas as pd

from salstats.display.format import number_text, p_text

#: Settings rather than results: said once above the table where they do not vary.
_SETTINGS = (
    "term",
    "reference",
    "formula",
    "x",
    "y",
    "conf_level",
    "interval",
    "unit",
    "test",
    "n_replicates",
    "n_tests",
    "n_undefined",
    "n_missing",
)


def console_table(frame: pd.DataFrame) -> str:
    """Return a frame as text: aligned columns, numbers rounded, what never varies said once above.

    Parameters
    ----------
    frame : DataFrame
        Usually an estimates frame.

    Returns
    -------
    str
        A caption line where there are constant settings, a header line, a line per row.

    Examples
    --------
    >>> import pandas as pd
    >>> print(console_table(pd.DataFrame({"task": ["a", "b"], "estimate": [1 / 3, 2.0], "unit": "case"})))
    unit: case
    task  estimate
    a       0.3333
    b        2.000
    """
    constant = [c for c in _SETTINGS if c in frame.columns and frame[c].nunique(dropna=False) == 1]
    caption = ", ".join(f"{c}: {number_text(frame[c].iloc[0])}" for c in constant)
    shown = frame.drop(columns=constant)
    lines = [caption] if caption else []
    columns = []
    for name in shown.columns:
        values = shown[name]
        numeric = pd.api.types.is_numeric_dtype(values)
        to_text = p_text if str(name).startswith("p_") and numeric else number_text
        cells = [str(name), *(to_text(v) for v in values)]
        width = max(map(len, cells))
        columns.append([c.rjust(width) if numeric else c.ljust(width) for c in cells])
    lines += ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    return "\n".join(lines)
