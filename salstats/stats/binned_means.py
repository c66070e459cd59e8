"""Means of an outcome in bins of a covariate, such as hit rates by the model's confidence."""

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.errors import SalstatsWarning
from salstats.frames import KEY_COLUMNS, ColumnCodes, check_names_of_groups
from salstats.stats.engine.resampling_units import given_and_possible_unit_columns, resolve_unit
from salstats.stats.engine.wide_tables import wide_table
from salstats.stats.summaries import summarize

#: Largest number of bins.
_MAX_BINS = 5
#: Rows of the smallest group that a bin should hold on average; two bins are made from fewer, too.
_MIN_ROWS_PER_BIN = 10
#: Columns of the result, and of the scores that it is made from; no grouping column may have these names.
_OWN_COLUMNS = ("bin", "score", "x_mean")


def binned_means(
    data: pd.DataFrame,
    x: str,
    y: str,
    *,
    panels: Sequence[str],
    groups: Sequence[str],
    bin_per_distinct_x: bool,
) -> pd.DataFrame:
    """Mean of `y` in bins of `x`, with the default interval of `summarize`; warnings are not shown.

    The bins are the same for all groups of a panel, with borders at quantiles of its `x`. There are two to
    five of them, as many as leave each group about ten rows or more in each. With `bin_per_distinct_x` each
    value of `x` is a bin.

    Parameters
    ----------
    data : DataFrame
        A scores frame or any tidy table.
    x, y : str
        Columns or metrics.
    panels, groups : sequence of str
        Columns whose combinations of values are panels, and groups of these.
    bin_per_distinct_x : bool
        True for a bin for each value of `x`.

    Returns
    -------
    DataFrame
        The frame of `summarize` by the columns of `panels` and `groups` and by `bin`, the number of the bin,
        with a column `x_mean`, the mean of `x` in the bin. Rows without `x` or `y` are left out.

    Raises
    ------
    ColumnError
        A column of `panels` or `groups` has the name of a column of the result.
    """
    by = [*panels, *groups]
    check_names_of_groups(by, _OWN_COLUMNS)
    kept = [*by, *given_and_possible_unit_columns(data, None)]
    rows = wide_table(data, [x, y], kept).dropna(subset=[x, y]).reset_index(drop=True)
    if "case" not in rows.columns:
        rows["case"] = [str(number) for number in range(len(rows))]
    with warnings.catch_warnings():
        # a figure says in its caption what is doubtful
        warnings.simplefilter("ignore", SalstatsWarning)
        units = resolve_unit(ColumnCodes(rows), None)
        scores = pd.DataFrame({"case": rows["case"], "method": "all", "metric": y})
        for column in dict.fromkeys([*KEY_COLUMNS, *by]):
            if column in rows.columns:
                scores[column] = rows[column]
        if scores.duplicated(scores.columns).any():
            # Rows of a tidy table may agree in all these columns, and `summarize` needs distinct cases.
            scores["case"] = [str(number) for number in range(len(rows))]
        scores = scores.assign(
            score=rows[y].astype(float),
            unit=units.codes,
            bin=_bin_numbers_within_panels(rows, x, panels, groups, bin_per_distinct_x=bin_per_distinct_x),
        )
        means = summarize(scores, by=[*by, "bin"], unit="unit")
    keys = [scores[column] for column in (*by, "bin")]
    x_means = rows[x].astype(float).groupby(keys, observed=True).mean().rename("x_mean").reset_index()
    return means.assign(unit=units.name).merge(x_means, on=[*by, "bin"])


def _bin_numbers_within_panels(
    rows: pd.DataFrame, x: str, panels: Sequence[str], groups: Sequence[str], *, bin_per_distinct_x: bool
) -> np.ndarray:
    """Return the number of the bin of each row, from 0; the bins are the same for all groups of a panel."""
    values = rows[x].to_numpy(dtype=np.float64)
    if bin_per_distinct_x:
        return np.unique(values, return_inverse=True)[1]
    bins = np.zeros(len(rows), dtype=np.int64)
    panel = _combination_numbers(rows, panels)
    group = _combination_numbers(rows, groups)
    for number in np.unique(panel):
        is_in_panel = panel == number
        group_sizes = np.bincount(group[is_in_panel])
        smallest = group_sizes[group_sizes > 0].min()
        n_bins = int(np.clip(smallest // _MIN_ROWS_PER_BIN, 2, _MAX_BINS))
        bins[is_in_panel] = quantile_bin_numbers(values[is_in_panel], n_bins)
    return bins


def _combination_numbers(rows: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.integer]:
    """Return a number for each combination of values of some columns, 0 throughout without columns."""
    if not columns:
        return np.zeros(len(rows), dtype=np.int64)
    return ColumnCodes(rows).combined(list(columns))


def quantile_bin_numbers(values: np.ndarray, n_bins: int) -> NDArray[np.integer]:
    """Number of the bin of each value, from 0, of bins that hold about equal numbers of values.

    Their borders are quantiles (R's type 7); a value on a border belongs to the bin above it.
    """
    borders = np.quantile(values, np.arange(1, n_bins) / n_bins)
    return np.searchsorted(borders, values, side="right")
