"""Several views of a patient as one: a frontal and a lateral radiograph that show the same finding."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import check_by, check_choice, check_columns, check_frame, check_numeric, quoted
from salstats.errors import ColumnError, Setting
from salstats.frames import KEY_COLUMNS, checked_table_codes
from salstats.stats.engine.grouping import index_groups

#: Rules by which the values of several views become one.
RULES = ("max", "mean")
#: Columns of the result besides keys and values.
_COUNTS = ("n_views", "n_defined")


def over_views(
    frame: pd.DataFrame,
    *,
    value: str | Sequence[str] = "prob",
    by: str | Sequence[str] = "patient",
    rule: str = "max",
) -> pd.DataFrame:
    """Frame with one row per patient, made from a frame with one row per view.

    Parameters
    ----------
    frame : DataFrame
        Any frame with a row per view: of probabilities, or a scores frame. Rows that differ in `dataset`,
        `task`, `method`, `metric`, `reader`, `model` or `seed`, as far as these columns are present, are not
        combined.
    value : str or sequence of str, default "prob"
        Columns of numbers to combine: "prob", "score", or ["prob", "label"].
    by : str or sequence of str, default "patient"
        Columns that name what the views show: the patient, or patient and study.
    rule : {"max", "mean"}, default "max"
        "max" takes the largest value of the views, as in Saporta et al. 2022; "mean" takes their mean.

    Returns
    -------
    DataFrame
        Sorted by its keys: the columns of `by`; those of the columns above that are present; each column of
        `value`, combined over the views in which it is defined (NaN if there are none); `n_views`, the number
        of rows combined; and `n_defined`, the number of them in which the first of `value` is defined.

    Raises
    ------
    ColumnError
        A column is missing; a column of `by` is empty in a row, or is `case`; a column of `value` is not
        numeric, or is one of the keys; one of either is called `n_views` or `n_defined`.

    Notes
    -----
    A map belongs to one view, and so does its overlap with the truth: scores of single views are analysed as
    they are, and intervals keep the views of a patient together (`unit="patient"`). This function is for
    statements about the patient: the probability that is compared with a cut-off, or one score per patient.

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
    unit_columns = check_by(frame, by, (), "frame")
    if not unit_columns or not values:
        raise ColumnError(
            "over_views needs at least one column in ", Setting("by"), " and one in ", Setting("value")
        )
    check_columns(frame, values, "frame")
    if "case" in unit_columns:
        raise ColumnError(
            Setting("by"),
            " names 'case', and a case is one view",
            hint="name the patient that several belong to",
            column="case",
        )
    key_columns = list(unit_columns)
    for column in KEY_COLUMNS:
        if column in frame.columns and column != "case" and column not in unit_columns:
            key_columns.append(column)
    for name in (*key_columns, *values):
        if name in _COUNTS:
            raise ColumnError(
                f"column {name!r} of frame has the name of a column of the result",
                hint="rename it",
                column=name,
            )
    values_in_key = [name for name in values if name in key_columns]
    if values_in_key:
        raise ColumnError(
            Setting("value"),
            f" {quoted(values_in_key)} names a column that identifies rows, not one of numbers",
            column=values_in_key[0],
        )
    numbers = {name: check_numeric(frame, name, "frame") for name in values}
    codes, keys = index_groups(checked_table_codes(frame, values, "frame"), key_columns)
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
