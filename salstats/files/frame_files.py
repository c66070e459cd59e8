"""Write frames as CSV, Parquet and XLSX, in full precision."""

import os
from pathlib import Path

import pandas as pd

from salstats.errors import ColumnError, InputFileError, SalstatsError
from salstats.files.outputs import check_target, replacing_file
from salstats.files.workbooks import workbook

WRITABLE_SUFFIXES = (".csv", ".parquet", ".xlsx")


def write_frame(frame: pd.DataFrame, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Write a frame as CSV, Parquet or XLSX, by the file's ending, in full precision.

    The file is written under a temporary name in the same folder and then renamed, so that a failure leaves
    no incomplete file.

    Parameters
    ----------
    frame : DataFrame
        Frame to write; its index is left out.
    path : str or path
        Ends in `.csv`, `.parquet` or `.xlsx`.
    overwrite : bool
        Replace a file that exists already.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    InputFileError
        As for `save_table`; the file's format cannot hold the frame.

    Examples
    --------
    >>> import pandas as pd, pathlib, tempfile, salstats as ss
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = ss.write_frame(pd.DataFrame({"estimate": [0.1]}), pathlib.Path(folder) / "means.csv")
    ...     file.name, file.read_text().split()
    ('means.csv', ['estimate', '0.1'])
    """
    if not isinstance(frame, pd.DataFrame):
        raise SalstatsError(
            f"only a pandas DataFrame can be written, not {type(frame).__name__}",
            option="frame",
            value=type(frame).__name__,
        )
    if not frame.columns.is_unique:
        repeated = str(frame.columns[frame.columns.duplicated()][0])
        raise ColumnError(f"column {repeated!r} is there twice", column=repeated)
    target = check_output(path, overwrite=overwrite)
    write_frame_to_target(frame, target)
    return target


def write_frame_to_target(frame: pd.DataFrame, target: Path) -> None:
    """Write a frame to a file, and replace an earlier one; `check_output` has checked its name and folder."""
    suffix = target.suffix.lower()
    try:
        with replacing_file(target) as temporary:
            if suffix == ".csv":
                frame.to_csv(temporary, index=False)
            elif suffix == ".parquet":
                frame.to_parquet(temporary, index=False, write_page_checksum=True)
            else:
                rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
                temporary.write_bytes(workbook([[str(name) for name in frame.columns], *rows]))
    except InputFileError:
        raise
    except SalstatsError as error:
        raise InputFileError(
            f"cannot write {target}: ", error.message, value=error.value, path=target
        ) from error
    except (ValueError, TypeError) as error:
        raise InputFileError(f"cannot write {target}: {error}", path=target) from error


def check_output(path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
    """Return the path of a frame's file; raise where it cannot be written, before work is done for it."""
    return check_target(path, WRITABLE_SUFFIXES, overwrite=overwrite)
