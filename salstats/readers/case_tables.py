"""Tables with a row per case: what a model said of it, and how large its pixels are."""

from pathlib import Path

import numpy as np

from salstats.checks import ColumnError
from salstats.readers.cells import PathLike
from salstats.readers.tables import read_known

_SPACING = ("row_mm", "col_mm")
_SAID = "is no size; it is a positive number, mm per pixel"


def read_predictions(path: PathLike) -> dict[str, tuple[float, float]]:
    r"""The probability and the label of each case.

    Parameters
    ----------
    path : path
        CSV, TSV, Parquet or XLSX with columns `case`, `prob` (between 0 and 1) and, where it is there,
        `label` (the image-level truth, 0 or 1). Other columns are left alone.

    Returns
    -------
    dict of str to (float, float)
        In the order of the file; NaN where a cell is empty.

    Raises
    ------
    InputFileError
        The file cannot be read as a table.
    ColumnError
        A column is missing, a case is empty or stands twice, or a number is out of range.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from salstats.readers.case_tables import read_predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "predictions.csv"
    ...     _ = file.write_text("case,prob,label\na_1,0.9,1\na_2,0.25,\n")
    ...     read_predictions(file)
    {'a_1': (0.9, 1.0), 'a_2': (0.25, nan)}
    """
    table = read_known(Path(path), ColumnError)
    table.check_columns(("case", "prob"), "predictions have case and prob, and may have label")
    cases = table.cases()
    probs = table.numbers("prob", lambda v: (v < 0) | (v > 1), "is not between 0 and 1")
    labels = np.full(len(table), np.nan)
    if "label" in table.columns:
        labels = table.numbers("label", lambda v: ~np.isin(v, (0, 1)) & ~np.isnan(v), "is not 0 or 1")
    return dict(zip(cases, zip(probs.tolist(), labels.tolist(), strict=True), strict=True))


def read_spacing(path: PathLike) -> dict[str, tuple[float, float]]:
    r"""The size of a pixel of each case.

    Parameters
    ----------
    path : path
        CSV, TSV, Parquet or XLSX with columns `case`, `row_mm` (from one row to the next) and `col_mm`.

    Returns
    -------
    dict of str to (float, float)
        Along rows and along columns, in mm.

    Raises
    ------
    InputFileError
        The file cannot be read as a table.
    ColumnError
        A column is missing, a case is empty or stands twice, or a size is not a positive number.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from salstats.readers.case_tables import read_spacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "spacing.csv"
    ...     _ = file.write_text("case,row_mm,col_mm\na,0.5,0.25\n")
    ...     read_spacing(file)
    {'a': (0.5, 0.25)}
    """
    table = read_known(Path(path), ColumnError)
    table.check_columns(("case", *_SPACING), f"it needs case, {' and '.join(_SPACING)}")
    sizes = [table.numbers(column, _is_no_size, _SAID).tolist() for column in _SPACING]
    return dict(zip(table.cases(), zip(*sizes, strict=True), strict=True))


def _is_no_size(values: np.ndarray) -> np.ndarray:
    """Which numbers are no size of a pixel."""
    return np.asarray(~(np.isfinite(values) & (values > 0)))
