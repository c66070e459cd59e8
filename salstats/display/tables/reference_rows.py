"""Rows of the reference in a table of contrasts, in the place of a column that repeats its mean."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.display.estimates import Estimates

#: Decimals at which two means of the same scores are equal, whatever the order in which they were added.
_EQUAL_DECIMALS = 12


def has_one_reference_mean_per_group(contrasts: Estimates) -> bool:
    """Return whether all methods of a group are compared with the same mean of the same number of pairs.

    A group has the same values of all grouping columns but the method. False where there are several
    references.
    """
    if contrasts.only_non_missing_value("reference") is None:
        return False
    columns = contrasts.existing_columns(["reference_mean", "n_pairs"])
    values = contrasts.frame[columns].round(_EQUAL_DECIMALS)
    groups = _group_numbers_apart_from_method(contrasts)
    n_distinct = values.groupby(groups).nunique(dropna=False)
    return bool((n_distinct <= 1).all(axis=None))


def with_reference_row_per_group(contrasts: Estimates) -> Estimates:
    """Return contrasts after a row of the reference for each group.

    Such a row has the reference as its method, the reference's mean as its mean, the number of pairs, and no
    estimate.
    """
    frame = contrasts.frame
    first_rows = frame[~_group_numbers_apart_from_method(contrasts).duplicated()]
    columns = contrasts.existing_columns(["reference", "term", "n_pairs", "reference_mean"])
    reference_rows = first_rows[list(dict.fromkeys([*contrasts.keys, *columns]))].assign(
        method=first_rows["reference"], method_mean=first_rows["reference_mean"]
    )
    rows = pd.concat([reference_rows, frame], ignore_index=True)
    return contrasts.with_other_frame(rows[frame.columns])


def is_reference_row(contrasts: Estimates) -> NDArray[np.bool_]:
    """Return, for each row, whether `with_reference_row_per_group` added it: its method is the reference."""
    references = contrasts.row_values("reference")
    methods = contrasts.row_values("method")
    return np.array([method == reference for method, reference in zip(methods, references, strict=True)])


def _group_numbers_apart_from_method(contrasts: Estimates) -> pd.Series:
    """Return the number of the group of each row, see `has_one_reference_mean_per_group`."""
    columns = [key for key in contrasts.keys if key not in ("method", "reference")]
    if contrasts.varies("term"):
        columns.append("term")
    if not columns:
        return pd.Series(0, index=contrasts.frame.index)
    return contrasts.frame.groupby(columns, dropna=False, observed=True, sort=False).ngroup()
