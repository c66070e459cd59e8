"""Read what a model said of each case: a table of probabilities, and of labels where it has them."""

from pathlib import Path

import numpy as np

from salstats.checks import ColumnError
from salstats.readers.cells import identifier_text
from salstats.readers.table_options import PathLike, TableOptions
from salstats.readers.tables import number_column, read_table


def read_predictions(path: PathLike) -> dict[str, tuple[float, float]]:
    r"""Return the probability and the label of each case.

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
    >>> from salstats.readers.predictions import read_predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "predictions.csv"
    ...     _ = file.write_text("case,prob,label\na_1,0.9,1\na_2,0.25,\n")
    ...     read_predictions(file)
    {'a_1': (0.9, 1.0), 'a_2': (0.25, nan)}
    """
    file, options = Path(path), TableOptions()
    table = read_table(file, options)
    first_row = int(table.attrs.get("first_row", 2))
    for column in ("case", "prob"):
        if column not in table.columns:
            raise ColumnError(
                f"{file} has no column {column!r}; predictions have case and prob, and may have label"
            )
    cases = identifier_text(table["case"], file, first_row)
    for bad, what in ((cases.eq(""), "is empty"), (cases.duplicated(), "stands twice")):
        if bad.any():
            row = int(np.flatnonzero(bad.to_numpy())[0])
            raise ColumnError(f"{file}, row {row + first_row}: case {cases.iloc[row]!r} {what}")
    numbers = {}
    for column, wrong, rule in (
        ("prob", lambda v: (v < 0) | (v > 1), "between 0 and 1"),
        ("label", lambda v: ~np.isin(v, (0, 1)) & ~np.isnan(v), "0 or 1"),
    ):
        if column not in table.columns:
            numbers[column] = np.full(len(table), np.nan)
            continue
        found, at = number_column(table[column], options)
        values = found.to_numpy(dtype=np.float64, na_value=np.nan)
        if at is None and wrong(values).any():
            at = int(np.flatnonzero(wrong(values))[0])
        if at is not None:
            raise ColumnError(
                f"{file}, row {at + first_row}, column {column!r}: {table[column].iloc[at]!r} is not {rule}"
            )
        numbers[column] = values
    pairs = zip(numbers["prob"].tolist(), numbers["label"].tolist(), strict=True)
    return dict(zip(cases.to_list(), pairs, strict=True))
