"""Covariates put on a common scale before they enter a model."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_by, check_columns, check_frame, check_numeric
from salstats.errors import ValueRangeError
from salstats.frames import checked_table_codes
from salstats.stats.engine.score_reasons import ABSENT, is_missing_for_absent_finding


def normalize(
    data: pd.DataFrame, columns: str | Sequence[str], *, within: str | Sequence[str] | None = None
) -> pd.DataFrame:
    """Frame with columns rescaled to run from 0 to 1 (min-max).

    A coefficient of a rescaled covariate is the change from its smallest to its largest value, and so
    depends on the two most extreme rows.

    Parameters
    ----------
    data : DataFrame
        Any table.
    columns : str or sequence of str
        Numeric columns; NaN stays NaN.
    within : str or sequence of str, optional
        Columns in whose groups the smallest and largest value are taken; by default in all rows.

    Returns
    -------
    DataFrame
        A copy with the same rows and columns; `columns` are float64 from 0 to 1, and NaN in rows whose
        finding is absent.

    Raises
    ------
    ColumnError
        A column is missing or not numeric; a column of `within` has empty cells.
    ValueRangeError
        A column is constant (in some group), so that there is no range to divide by. The CheXlocalize
        scripts leave such a column unchanged, on another scale than the others.

    Notes
    -----
    The result is (x - min) / (max - min). As in the CheXlocalize scripts, min and max are over all rows with
    a value, whether or not their score is defined, so that the scale does not depend on the outcome of the
    regression. Rows of absent findings are left out and get NaN: an absent finding has 0 instances and size
    0, which would be the smallest value. A finding is absent if `reason` (of `score`) says so, or if `score`
    is missing and `label` or `n_instances` is 0.

    References
    ----------
    Saporta A, Gui X, Agrawal A, et al. Benchmarking saliency methods for chest X-ray interpretation. Nat
    Mach Intell 2022;4:867-878. https://doi.org/10.1038/s42256-022-00536-x

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"task": ["a", "a", "b", "b"], "size": [1.0, 3.0, 5.0, 9.0]})
    >>> ss.normalize(table, ["size"])["size"].tolist()
    [0.0, 0.25, 0.5, 1.0]
    >>> ss.normalize(table, ["size"], within="task")["size"].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    check_frame(data, "data")
    names = [columns] if isinstance(columns, str) else list(columns)
    check_columns(data, names, "data")
    groups = check_by(data, within, (), "data")
    codes = checked_table_codes(data, names).combined(groups)
    result = data.copy()
    is_absent_finding = _lacks_score_for_absent_finding(data)
    for name in names:
        values = pd.Series(np.where(is_absent_finding, np.nan, check_numeric(data, name, "data")))
        low = values.groupby(codes).transform("min").to_numpy()
        high = values.groupby(codes).transform("max").to_numpy()
        constant_rows = np.flatnonzero(high == low)
        if len(constant_rows):
            row = int(constant_rows[0])
            group = "".join(f", {column} {data[column].iloc[row]}" for column in groups)
            raise ValueRangeError(
                f"column {name!r}{group} is {low[row]:g} throughout, so it has no range",
                hint="leave it out, or normalize within larger groups",
                column=name,
                rows=constant_rows.tolist(),
            )
        result[name] = (values.to_numpy() - low) / (high - low)
    return result


def _lacks_score_for_absent_finding(data: pd.DataFrame) -> NDArray[np.bool_]:
    """Return True for rows of absent findings: by `reason`, or by a `label` or `n_instances` of 0.

    `label` and `n_instances` count only in rows without a score.
    """
    mask = np.zeros(len(data), dtype=bool)
    if "reason" in data.columns:
        mask |= data["reason"].eq(ABSENT).to_numpy()
    if "score" in data.columns:
        mask |= is_missing_for_absent_finding(data)
        if "n_instances" in data.columns:
            mask |= (data["score"].isna() & data["n_instances"].eq(0)).to_numpy()
    return mask
