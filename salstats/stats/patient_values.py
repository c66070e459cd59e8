"""Several views of a patient as one: a frontal and a lateral radiograph that show the same finding."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import check_by, check_choice, check_columns, check_frame, check_numeric, quoted
from salstats.errors import ColumnError, Setting
from salstats.frames import KEY_COLUMNS, check_table
from salstats.stats.engine.grouping import index_groups

#: Rules by which the values of several views become one.
RULES = ("max", "mean")


def over_views(
    frame: pd.DataFrame,
    *,
    value: str | Sequence[str] = "prob",
    by: str | Sequence[str] = "patient",
    rule: str = "max",
) -> pd.DataFrame:
    """One row per patient of a frame with one per view.

    Parameters
    ----------
    frame : DataFrame
        Any frame with a row per view: of probabilities, or a scores frame. Columns that tell series apart
        (`dataset, task, method, metric, reader, model, seed`), where they are there, stay apart.
    value : str or sequence of str, default "prob"
        Columns of numbers that become one: "prob", "score", or ["prob", "label"].
    by : str or sequence of str, default "patient"
        Columns that name what the views show: the patient, or patient and study.
    rule : {"max", "mean"}, default "max"
        "max": the view that shows most counts, as in Saporta et al. 2022. "mean": each counts alike.

    Returns
    -------
    DataFrame
        Sorted by its keys: the columns of `by`, those that tell series apart, each column of `value` over the
        views where it is defined (NaN where it is in none), `n_views`, rows that became one, and `n_defined`,
        those of them where the first of `value` is defined.

    Raises
    ------
    ColumnError
        A column is not there; one of `by` is empty in a row; one of `value` is not numeric, or names what
        the rows are told apart by.

    Notes
    -----
    A map is of one view, and so is its overlap with the truth: scores of a case are kept as they are, and
    views of a patient go together in the intervals (`unit="patient"`). This is for what is said of the
    patient: the probability that is compared with a cut-off, or one score per patient.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> views = pd.DataFrame(
    ...     {"case": ["a1", "a2", "b1"], "patient": ["a", "a", "b"], "task": "Edema", "prob": [0.2, 0.6, 0.5]}
    ... )
    >>> ss.over_views(views)
      patient   task  prob  n_views  n_defined
    0       a  Edema   0.6        2          2
    1       b  Edema   0.5        1          1
    """
    check_frame(frame, "frame")
    check_choice(rule, RULES, "rule")
    values = [value] if isinstance(value, str) else list(value)
    units = check_by(frame, by, (), "frame")
    if not units or not values:
        raise ColumnError(
            "over_views needs at least one column in ", Setting("by"), " and one in ", Setting("value")
        )
    check_columns(frame, values, "frame")
    if "case" in units:
        raise ColumnError(
            Setting("by"),
            " names 'case', and a case is one view",
            hint="name the patient that several belong to",
            column="case",
        )
    key_columns = list(units)
    for column in KEY_COLUMNS:
        if column in frame.columns and column != "case" and column not in units:
            key_columns.append(column)
    values_in_key = [name for name in values if name in key_columns]
    if values_in_key:
        raise ColumnError(
            Setting("value"),
            f" {quoted(values_in_key)} names what rows are told apart by, not a number",
            column=values_in_key[0],
        )
    numbers = {name: check_numeric(frame, name, "frame") for name in values}
    codes, keys = index_groups(check_table(frame, values, "frame"), key_columns)
    grouped = pd.DataFrame(numbers).groupby(codes)
    # Both rules leave out undefined values.
    combined = grouped.max() if rule == "max" else grouped.mean()
    is_defined = ~np.isnan(numbers[values[0]])
    counts = pd.DataFrame(
        {
            "n_views": np.bincount(codes, minlength=len(keys)),
            "n_defined": np.bincount(codes[is_defined], minlength=len(keys)),
        }
    )
    return pd.concat([keys, combined, counts], axis=1)
