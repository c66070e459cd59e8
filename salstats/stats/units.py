"""What is resampled: the unit of a frame, and its codes."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, check_columns, warn
from salstats.frames import ID_NAME, ColumnCodes, case_key


@dataclass(frozen=True)
class Units:
    """The units of a frame.

    Attributes
    ----------
    name : str
        The column that names them.
    codes : ndarray of int, shape (n_rows,)
        Position of each row's unit among the distinct units in sorted order, from 0.
    n : int
        Number of distinct units.
    """

    name: str
    codes: np.ndarray
    n: int


def resolve_unit(
    frame: pd.DataFrame, unit: str | None, name: str = "scores", codes: ColumnCodes | None = None
) -> Units:
    """Return the units of `frame`: `patient` where it repeats over cases, else `case`; or those asked for.

    Choosing cases although patients have several warns with their number. Where there is a column
    `dataset`, the same case or patient id in two data sets is two units.

    Raises
    ------
    ColumnError
        No such column; an empty cell in it; no column that could serve.
    """
    check_unit(unit)
    codes = codes or ColumnCodes(frame)
    clusters = _patients_with_several_cases(codes)
    if unit is None:
        if clusters:
            unit = "patient"
        elif "case" in frame.columns:
            unit = "case"
            warn_unnamed_units(frame)
        else:
            raise ColumnError(f"{name} has no column 'case' or 'patient'; name the unit with unit=")
    check_columns(frame, [unit], name)
    if frame[unit].isna().any():
        row = int(np.flatnonzero(frame[unit].isna().to_numpy())[0])
        raise ColumnError(f"column {unit!r} of {name} is empty in row {row}; every row needs its unit")
    if unit == "case" and clusters:
        warn(
            f"unit='case' treats cases as independent, but {clusters} patients have several; "
            "unit='patient' keeps a patient's cases together"
        )
    # ids of cases and patients may be used again in another data set; a reader or a site is the same there
    columns = ["dataset", unit] if "dataset" in frame.columns and unit in ("case", "patient") else [unit]
    if any(isinstance(frame[c].dtype, pd.CategoricalDtype) for c in columns):
        # draws count units in sorted order, whatever order the categories have
        codes = ColumnCodes(frame[columns].astype("object"))
    places = codes.combined(columns)
    return Units(unit, places, int(places.max()) + 1)


def check_unit(unit: object) -> None:
    """Raise ColumnError where a unit is several columns, or no name."""
    if unit is not None and not isinstance(unit, str):
        raise ColumnError(
            f"unit={unit!r} must be the name of one column: that whose rows belong together, such as "
            "unit='patient'"
        )


def warn_unnamed_units(frame: pd.DataFrame) -> None:
    """Warn where a column that looks like an id repeats, but is called neither `case` nor `patient`."""
    if "patient" in frame.columns:
        return
    taken = "cases" if "case" in frame.columns else "rows"
    for column in frame.columns:
        match = ID_NAME.fullmatch(str(column))
        ours = "patient" if match and match[1].lower() in ("patient", "subject", "pat") else "case"
        if not match or ours in frame.columns:
            continue
        known = frame[frame[column].notna()]
        if known[column].nunique() < (known["case"].nunique() if taken == "cases" else len(known)):
            warn(
                f"column {str(column)!r} repeats, but {taken} are taken for independent, since only columns "
                f"named 'case' and 'patient' are known as units; rename it to {ours!r}"
            )
            return


def _patients_with_several_cases(codes: ColumnCodes) -> int:
    """Return how many patients have more than one case."""
    frame = codes.frame
    if "patient" not in frame.columns or "case" not in frame.columns:
        return 0
    if frame["patient"].isna().all():
        return 0
    dataset = [c for c in ("dataset",) if c in frame.columns]
    pairs = codes.combined(["patient", *case_key(frame)])
    patients = codes.combined([*dataset, "patient"])
    first_of_pair = np.unique(pairs, return_index=True)[1]
    return int((np.bincount(patients[first_of_pair]) > 1).sum())
