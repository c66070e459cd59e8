"""Whether printed correlations follow from printed values, and which change of a digit would make them.

Nothing here says which of two tables is wrong, or why: only whether they agree, and what is nearest to it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, ValueRangeError, check_columns, check_count, check_frame

#: Decimals that tables of such values have.
_DIGITS = 4
#: Units of the last decimal by which a correlation of rounded values may differ from a printed one.
_WITHIN = 1


class _Group(NamedTuple):
    """What one group printed: values in units of the last decimal, and correlations of pairs of columns."""

    key: tuple[str, ...]
    names: tuple[str, ...]
    metrics: tuple[str, ...]
    units: np.ndarray
    pairs: tuple[tuple[int, int], ...]
    printed: np.ndarray


def check_correlations(
    values: pd.DataFrame,
    printed: pd.DataFrame,
    *,
    by: Sequence[str] = ("model", "method"),
    over: str = "dataset",
    digits: int = _DIGITS,
) -> pd.DataFrame:
    """Return every printed correlation beside the one that the printed values give.

    Parameters
    ----------
    values : DataFrame
        Columns `by`, `over`, `metric`, `value`: one number each, as printed.
    printed : DataFrame
        Columns `by`, `metric_1`, `metric_2`, `correlation`, as printed.
    by : sequence of str
        What has correlations of its own.
    over : str
        What they are taken over.
    digits : int
        Decimals of both tables.

    Returns
    -------
    DataFrame
        One row per printed correlation, in its order: `by`, `metric_1`, `metric_2`, `n` values of each,
        `printed`, `recomputed` (Pearson's r, unrounded), `difference` (recomputed and rounded, less
        printed), `agrees` (rounded it is the printed one), `within_one` (or one unit of the last decimal
        away). Values that were rounded before they were printed can make a difference of some units.

    Raises
    ------
    ColumnError
        A column is missing, a value stands twice, or a correlation has no values to follow from.

    Examples
    --------
    >>> from salstats.datasets import load_published
    >>> values, printed = (load_published(f"saliency_bench_table{n}") for n in (2, 3))
    >>> check_correlations(values, printed).groupby(["metric_1", "metric_2"])["agrees"].sum().to_dict()
    {('miou', 'iauc'): 12, ('miou', 'pg'): 0, ('pg', 'iauc'): 0}
    """
    rows = []
    for group in _groups(values, printed, by, over, digits):
        found = _correlations(group.units, group.pairs)
        off = np.rint(found * 10**digits) - group.printed
        for (first, second), one, r, gap in zip(group.pairs, group.printed, found, off, strict=True):
            rows.append(
                (*group.key, group.metrics[first], group.metrics[second], len(group.units),
                 one / 10**digits, r, gap / 10**digits, gap == 0, abs(gap) <= _WITHIN)
            )  # fmt: skip
    columns = ["n", "printed", "recomputed", "difference", "agrees", "within_one"]
    found = pd.DataFrame(rows, columns=[*by, "metric_1", "metric_2", *columns])
    on = [*by, "metric_1", "metric_2"]
    return printed[on].merge(found, on=on, how="left", validate="1:1")


def digit_changes(
    values: pd.DataFrame,
    printed: pd.DataFrame,
    *,
    by: Sequence[str] = ("model", "method"),
    over: str = "dataset",
    digits: int = _DIGITS,
    within: int = _WITHIN,
) -> pd.DataFrame:
    """Return every change of one digit of one value that makes all of a group's correlations agree.

    Takes and raises what `check_correlations` does. All places after the decimal point of all the group's
    values are tried, with every other digit; a group that agrees already is left out.

    Parameters
    ----------
    within : int
        Units of the last decimal by which a correlation may differ and still agree.

    Returns
    -------
    DataFrame
        One row per change that does: `by`, `over`, `metric`, `place` (1 is the first decimal), `digit`,
        `new_digit`, `value`, `new_value`, `n_printed` correlations of the group, `n_exact` of them that
        then are the printed ones (the others are within `within`).

    Examples
    --------
    >>> from salstats.datasets import load_published
    >>> values, printed = (load_published(f"saliency_bench_table{n}") for n in (2, 3))
    >>> one = printed[(printed["model"] == "ResNet-18") & (printed["method"] == "GradCAM")]
    >>> digit_changes(values, one)[["dataset", "metric", "place", "value", "new_value"]]
            dataset metric  place   value  new_value
    0  Security-XAI     pg      1  0.6984     0.2984
    """
    check_count(within, "within", low=0)
    rows: list[tuple[object, ...]] = []
    for group in _groups(values, printed, by, over, digits):
        if (np.abs(_gaps(group.units, group, digits)) <= within).all():
            continue
        for row, name in enumerate(group.names):
            for column, metric in enumerate(group.metrics):
                for place in range(1, digits + 1):
                    rows += [
                        (*group.key, name, metric, place, *found)
                        for found in _of_one_digit(group, row, column, place, digits, within)
                    ]
    return pd.DataFrame(
        rows,
        columns=[
            *by, over, "metric", "place", "digit", "new_digit", "value", "new_value", "n_printed", "n_exact"
        ],
    )  # fmt: skip


def shared_changes(
    changes: pd.DataFrame,
    checked: pd.DataFrame,
    *,
    by: Sequence[str] = ("model", "method"),
    over: str = "dataset",
    digits: int = _DIGITS,
    within: int = _WITHIN,
) -> pd.DataFrame:
    """Return in how many groups a change of the same place of the same value would do.

    Parameters
    ----------
    changes : DataFrame
        Of `digit_changes`.
    checked : DataFrame
        Of `check_correlations`, which says how many groups disagree.
    by, over, digits, within
        As there.

    Returns
    -------
    DataFrame
        One row per value and place that would do in any group, those that do in most first: `over`,
        `metric`, `place`, `n_groups` in which it does, `n_needed` groups that disagree, `n_exact` and
        `n_printed` correlations of these groups afterwards (the best change of each group), `everywhere`
        (it does in all groups that disagree).

    Examples
    --------
    >>> from salstats.datasets import load_published
    >>> values, printed = (load_published(f"saliency_bench_table{n}") for n in (2, 3))
    >>> checked = check_correlations(values, printed)
    >>> shared = shared_changes(digit_changes(values, printed), checked)
    >>> shared[["dataset", "metric", "place", "n_groups", "n_needed", "n_exact"]].head(1)
            dataset metric  place  n_groups  n_needed  n_exact
    0  Security-XAI     pg      1        12        12       35
    """
    check_columns(checked, [*by, "difference"], "checked")
    agrees = (checked["difference"] * 10**digits).abs().round() <= within
    n_needed = int((~agrees.groupby([checked[c] for c in by]).all()).sum())
    where = [over, "metric", "place"]
    best = changes.sort_values("n_exact", ascending=False, kind="stable").drop_duplicates([*by, *where])
    found = (
        best.groupby(where, sort=False)
        .agg(n_groups=("n_exact", "size"), n_exact=("n_exact", "sum"), n_printed=("n_printed", "sum"))
        .reset_index()
    )
    found.insert(4, "n_needed", n_needed)
    found["everywhere"] = found["n_groups"] == n_needed
    order = ["n_groups", "n_exact", *where]
    return found.sort_values(order, ascending=[False, False, True, True, True], ignore_index=True)


def _groups(
    values: pd.DataFrame, printed: pd.DataFrame, by: Sequence[str], over: str, digits: int
) -> list[_Group]:
    """Return what each group printed, in the order of the printed correlations."""
    check_count(digits, "digits")
    check_frame(values, "values")
    check_frame(printed, "printed")
    check_columns(values, [*by, over, "metric", "value"], "values")
    check_columns(printed, [*by, "metric_1", "metric_2", "correlation"], "printed")
    if values.duplicated([*by, over, "metric"]).any():
        row = values[values.duplicated([*by, over, "metric"])].iloc[0]
        raise ColumnError(
            f"values has two numbers for {', '.join(str(row[c]) for c in [*by, over, 'metric'])}"
        )
    groups = []
    for key, rows in printed.groupby(list(by), sort=False):
        label = ", ".join(map(str, key))
        mine = values[(values[list(by)] == list(key)).all(axis=1)]
        wide = mine.pivot(index=over, columns="metric", values="value").astype("float64")
        wanted = pd.unique(pd.concat([rows["metric_1"], rows["metric_2"]]))
        missing = [m for m in wanted if m not in wide.columns]
        if missing:
            raise ColumnError(f"printed correlates {missing[0]!r} of {label}, of which values has nothing")
        wide = wide[list(wanted)]
        if wide.isna().any().any() or len(wide) < 3:
            raise ColumnError(f"the values of {label} are not complete over three of {over!r} or more")
        pairs = tuple(
            (int(np.flatnonzero(wanted == a)[0]), int(np.flatnonzero(wanted == b)[0]))
            for a, b in zip(rows["metric_1"], rows["metric_2"], strict=True)
        )
        groups.append(
            _Group(
                tuple(map(str, key)), tuple(map(str, wide.index)), tuple(map(str, wanted)),
                _units(wide.to_numpy(), digits, "values"), pairs,
                _units(rows["correlation"].to_numpy(dtype=np.float64), digits, "printed"),
            )
        )  # fmt: skip
    return groups


def _units(values: np.ndarray, digits: int, name: str) -> np.ndarray:
    """Return printed numbers in units of their last decimal, exactly."""
    scaled = values * 10.0**digits
    units = np.rint(scaled)
    # a number of so many decimals is that near to a whole one
    if not (np.abs(scaled - units) < 1e-6).all():
        raise ValueRangeError(f"{name} has a number with more than {digits} decimals; say digits=")
    return units


def _correlations(units: np.ndarray, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    """Return Pearson's r of pairs of columns; NaN where one is constant."""
    centred = units - units.mean(axis=0)
    norms = np.sqrt((centred**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.array([centred[:, a] @ centred[:, b] / (norms[a] * norms[b]) for a, b in pairs])


def _gaps(units: np.ndarray, group: _Group, digits: int) -> np.ndarray:
    """Return by how many units of the last decimal each correlation is off; infinite where undefined."""
    gaps = np.rint(_correlations(units, group.pairs) * 10**digits) - group.printed
    return np.where(np.isnan(gaps), np.inf, gaps)


def _of_one_digit(
    group: _Group, row: int, column: int, place: int, digits: int, within: int
) -> list[tuple[int, int, float, float, int, int]]:
    """Return the changes of one digit of one value that make all correlations agree."""
    if not any(column in pair for pair in group.pairs):
        return []
    weight = 10 ** (digits - place)
    value = int(group.units[row, column])
    digit = abs(value) // weight % 10
    found = []
    for new_digit in range(10):
        if new_digit == digit:
            continue
        new_value = value + (1 if value >= 0 else -1) * (new_digit - digit) * weight
        units = group.units.copy()
        units[row, column] = new_value
        gaps = np.abs(_gaps(units, group, digits))
        if (gaps <= within).all():
            scale = 10**digits
            n_exact = int((gaps == 0).sum())
            found.append((digit, new_digit, value / scale, new_value / scale, len(gaps), n_exact))
    return found
