"""Readings that are compared, from a scores frame: who the raters are, of which cases, in which groups."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from salstats.checks import (
    ColumnError,
    SalstatsWarning,
    ValueRangeError,
    check_by,
    check_columns,
    check_frame,
    quoted,
    warn,
)
from salstats.frames import DEFAULT_BY, KEY_COLUMNS, ColumnCodes, coded_scores
from salstats.stats.agreement.readings import Readings
from salstats.stats.agreement.records import CATEGORIES, CONTINUOUS, KINDS, Agreement
from salstats.stats.engine.design import (
    check_one_metric,
    group_label,
    index_groups,
    warn_pooled_by_default,
    warn_pooled_methods,
)
from salstats.stats.engine.units import Unit, Units, resolve_unit

#: What names a case, and what may tell several readings of it apart.
_CASE, _REPEATS = KEY_COLUMNS[:5], KEY_COLUMNS[5:]


@dataclass(frozen=True)
class Compared:
    """A frame of scores whose values of one column are compared, by group and case."""

    codes: ColumnCodes
    over: str
    #: (n_rows,): Group, case, and case with repeat of each row; units.
    groups: np.ndarray
    cases: np.ndarray
    readings: np.ndarray
    units: Units
    #: Grouping columns of each group, and the columns that tell repeats apart.
    keys: pd.DataFrame
    repeats: list[str]


@dataclass(frozen=True)
class Table:
    """Readings of one group, its raters, and the row of the frame that each row of readings begins with."""

    readings: Readings
    raters: np.ndarray
    first: np.ndarray
    label: str

    @property
    def n_rows(self) -> int:
        """Cases with their repeats."""
        return len(self.first)


def compared(scores: pd.DataFrame, over: str, by: str | Sequence[str] | None, unit: Unit) -> Compared:
    """The scores with groups, cases and units, checked; `over` is the column whose values are compared."""
    codes = _with_raters(scores, over)
    frame = codes.frame
    columns = check_by(frame, by, [c for c in DEFAULT_BY if c != over])
    if over in columns:
        raise ColumnError(f"over={over!r} is what is compared, so it may not be in by ({', '.join(columns)})")
    if over != "metric":
        check_one_metric(codes, columns)
    if over != "method":
        warn_pooled_methods(frame, columns)
    warn_pooled_by_default(frame, by, columns, apart=[over])
    units = resolve_unit(codes, unit)
    groups, keys = index_groups(codes, columns)
    free = [c for c in KEY_COLUMNS if c in frame.columns and c not in (over, *columns)]
    cases = codes.combined([c for c in free if c in _CASE])
    repeats = [c for c in free if c in _REPEATS]
    found = Compared(codes, over, groups, cases, codes.combined(free), units, keys, repeats)
    _check_units(found)
    return found


def _with_raters(scores: pd.DataFrame, over: str) -> ColumnCodes:
    """Coded scores of rows that have a rater; a column that is no key of a scores frame becomes one."""
    frame = check_frame(scores)
    check_columns(frame, [over])
    if over in ("case", "dataset", "task", "score"):
        raise ColumnError(f"over={over!r} does not tell readings of a case apart; take 'reader' or 'method'")
    without = frame[over].isna()
    if without.any():
        whose = f" (of {quoted(frame.loc[without, 'method'].unique())})" if "method" in frame else ""
        warn(f"{int(without.sum())} of {len(frame)} rows have no {over!r} and are left out{whose}")
        frame = check_frame(frame[~without].reset_index(drop=True))
    if over in KEY_COLUMNS:
        return coded_scores(frame)
    free = next((c for c in _REPEATS if c not in frame.columns), None)
    if free is None:
        raise ColumnError(
            f"over={over!r} must be one of {quoted(KEY_COLUMNS[3:])} in a frame with all of these"
        )
    # what tells rows apart is checked where it stands as a key
    coded_scores(frame.rename(columns={over: free}))
    return ColumnCodes(frame)


def _check_units(found: Compared) -> None:
    """Raise where readings of a case are of several units, which then are not what is independent."""
    place = np.unique(found.groups * (int(found.cases.max()) + 1) + found.cases, return_inverse=True)[1]
    first = np.unique(place, return_index=True)[1]
    split = np.flatnonzero(found.units.codes != found.units.codes[first][place])
    if len(split):
        raise ColumnError(
            f"unit={found.units.name!r} splits case {found.codes.frame['case'].iloc[split[0]]!r}, whose "
            "readings are compared; take a unit that holds whole cases, such as 'case' or 'patient'"
        )


def readings_of(found: Compared, group: int, record: Agreement) -> Table:
    """Readings of a group, checked for what a kind of agreement takes."""
    frame, over = found.codes.frame, found.over
    rows, label = np.flatnonzero(found.groups == group), group_label(found.keys, group)
    _, first, place = np.unique(found.readings[rows], return_index=True, return_inverse=True)
    _, some, rater = np.unique(found.codes.column(over).codes[rows], return_index=True, return_inverse=True)
    values = np.full((len(first), len(some)), np.nan)
    values[place, rater] = frame["score"].to_numpy(dtype=np.float64)[rows]
    raters, read = frame[over].to_numpy(dtype=object)[rows[some]], (~np.isnan(values)).sum(axis=0)
    values, raters, read = values[:, read > 0], raters[read > 0], read[read > 0]
    if len(raters) < 2:
        has = f"one {over}, {str(raters[0])!r}" if len(raters) else f"no {over} with a score"
        others = [c for c in found.repeats if frame[c].iloc[rows].nunique() > 1]
        hint = f": over={others[0]!r} compares those of that column" if others else ""
        raise ColumnError(f"{label} has {has}, and agreement is of two or more{hint}")
    if (read < 2).all():
        raise ColumnError(
            f"every {over} of {label} scored one case: number the readings of each case in a column, name "
            "that with over=, and take form='icc1', which lets readers differ from case to case"
        )
    if (read < 2).any():
        raise ColumnError(
            f"{over} {str(raters[read.argmin()])!r} scored one case of {label}, which says nothing of how "
            f"they agree; leave that {over} out"
        )
    first = rows[first]
    table = Table(Readings(values, found.cases[first], found.units.codes[first]), raters, first, label)
    if not record.repeated:
        _check_once(found, table, record)
    _check_values(values, record, label)
    return table


def _check_once(found: Compared, table: Table, record: Agreement) -> None:
    """Raise where a case has several readings of one rater."""
    counts = np.bincount(table.readings.cases)
    if counts.max() < 2:
        return
    frame = found.codes.frame.iloc[table.first[table.readings.cases == counts.argmax()]]
    varying = next(c for c in found.repeats if frame[c].nunique(dropna=False) > 1)
    raise ColumnError(
        f"case {frame['case'].iloc[0]} has {len(frame)} readings of one {found.over}, by {varying!r}, and "
        f"kind={record.name!r} takes one: name {varying!r} in by=, average them first, or take "
        "kind='bland-altman', which is of several"
    )


def read_by(readings: Readings, members: Sequence[int], *, loose: bool) -> Readings:
    """Readings of some raters, of rows (`loose`: cases) that two or more of them read."""
    values = readings.values[:, list(members)]
    there = ~np.isnan(values)
    if loose:
        cases = np.unique(readings.cases, return_inverse=True)[1]
        fewest = np.min([np.bincount(cases, column) for column in there.T], axis=0)
        kept = (fewest[cases] > 0) & there.any(axis=1)
    else:
        kept = there.sum(axis=1) > 1
    cases, units = (
        np.unique(code[kept], return_inverse=True)[1] for code in (readings.cases, readings.units)
    )
    return Readings(values[kept], cases, units)


def _check_values(values: np.ndarray, record: Agreement, label: str) -> None:
    """Raise where scores are not what a kind of agreement takes."""
    distinct = np.unique(values[~np.isnan(values)])
    odd = distinct[distinct != np.round(distinct)]
    if record.needs == CONTINUOUS and set(distinct) <= {0.0, 1.0}:
        raise ValueRangeError(
            f"kind={record.name!r} is for continuous scores, and {label} holds 0 and 1 only; take "
            "kind='cohen', 'fleiss' or 'krippendorff', or leave these scores out"
        )
    if record.needs == CATEGORIES and len(odd):
        raise ValueRangeError(
            f"kind={record.name!r} is for categories, which are whole numbers, and {label} holds {odd[0]:g}; "
            "take kind='icc', 'ccc' or 'krippendorff', or make categories first"
        )


def differences(scores: pd.DataFrame, over: str, by: Sequence[str], *, linked: bool = True) -> pd.DataFrame:
    """Pairs of readings that limits of agreement are of: grouping columns, `pair`, `mean`, `difference`.

    Where readings of a case are in any order there is a row per case, of the means of both raters.
    """
    with warnings.catch_warnings():
        # agreement() has warned of what it was made of
        warnings.simplefilter("ignore", SalstatsWarning)
        design = compared(scores, over, list(by), "case")
    parts = []
    for group in range(len(design.keys)):
        table = readings_of(design, group, KINDS["bland-altman"])
        for members in combinations(range(len(table.raters)), 2):
            own = read_by(table.readings, members, loose=not linked)
            values = own.values
            if not linked:
                values = pd.DataFrame(values).groupby(own.cases).mean().to_numpy()
            keys = design.keys.iloc[[group] * len(values)].reset_index(drop=True)
            pair = " - ".join(str(table.raters[m]) for m in members)
            parts.append(
                keys.assign(pair=pair, mean=values.mean(axis=1), difference=values[:, 0] - values[:, 1])
            )
    return pd.concat(parts, ignore_index=True)
