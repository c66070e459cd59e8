"""Read how large a pixel is, image by image."""

from pathlib import Path

import numpy as np

from salstats.checks import ColumnError
from salstats.readers.cells import identifier_text
from salstats.readers.table_options import PathLike, TableOptions
from salstats.readers.tables import number_column, read_table

_COLUMNS = ("row_mm", "col_mm")


def read_spacing(path: PathLike) -> dict[str, tuple[float, float]]:
    r"""Return the size of a pixel of each case.

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
    file, options = Path(path), TableOptions()
    table = read_table(file, options)
    first_row = int(table.attrs.get("first_row", 2))
    for column in ("case", *_COLUMNS):
        if column not in table.columns:
            raise ColumnError(f"{file} has no column {column!r}; it needs case, {' and '.join(_COLUMNS)}")
    cases = identifier_text(table["case"], file, first_row)
    for bad, what in ((cases.eq(""), "is empty"), (cases.duplicated(), "stands twice")):
        if bad.any():
            row = int(np.flatnonzero(bad.to_numpy())[0])
            raise ColumnError(f"{file}, row {row + first_row}: case {cases.iloc[row]!r} {what}")
    sizes = []
    for column in _COLUMNS:
        numbers, at = number_column(table[column], options)
        values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = ~(np.isfinite(values) & (values > 0))
        if at is None and wrong.any():
            at = int(np.flatnonzero(wrong)[0])
        if at is not None:
            raise ColumnError(
                f"{file}, row {at + first_row}, column {column!r}: {table[column].iloc[at]!r} is no size; "
                "it is a positive number, mm per pixel"
            )
        sizes.append(values.tolist())
    return dict(zip(cases.to_list(), zip(*sizes, strict=True), strict=True))
