"""Read how large a pixel is, image by image."""

from pathlib import Path

import numpy as np

from salstats.checks import ColumnError
from salstats.readers.cells import PathLike
from salstats.readers.tables import read_known

_COLUMNS = ("row_mm", "col_mm")
_SAID = "is no size; it is a positive number, mm per pixel"


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
    >>> from salstats.readers.spacing import read_spacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "spacing.csv"
    ...     _ = file.write_text("case,row_mm,col_mm\na,0.5,0.25\n")
    ...     read_spacing(file)
    {'a': (0.5, 0.25)}
    """
    table = read_known(Path(path), ColumnError)
    table.check_columns(("case", *_COLUMNS), f"it needs case, {' and '.join(_COLUMNS)}")
    sizes = [table.numbers(column, _is_no_size, _SAID).tolist() for column in _COLUMNS]
    return dict(zip(table.cases(), zip(*sizes, strict=True), strict=True))


def _is_no_size(values: np.ndarray) -> np.ndarray:
    """Which numbers are no size of a pixel."""
    return np.asarray(~(np.isfinite(values) & (values > 0)))
