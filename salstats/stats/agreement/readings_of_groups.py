"""Readings from a scores frame: the raters that are compared, their cases and their groups."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_by, check_columns, check_frame, quoted
from salstats.errors import ColumnError, Message, SalstatsWarning, Setting, ValueRangeError, warn
from salstats.frames import DEFAULT_BY, KEY_COLUMNS, ColumnCodes, coded_scores
from salstats.stats.agreement.readings import RaterReadings
from salstats.stats.agreement.records import CATEGORIES, CONTINUOUS, KINDS, Agreement
from salstats.stats.engine.grouping import (
    check_one_metric,
    group_label,
    index_groups,
    warn_pooled_by_default,
    warn_pooled_methods,
)
from salstats.stats.engine.resampling_units import Unit, Units, resolve_unit

#: Columns that distinguish several readings of a case.
_REPEAT_COLUMNS = ("reader", "other_reader", "model", "seed")
#: Columns that name a case.
_CASE_COLUMNS = tuple(column for column in KEY_COLUMNS if column not in _REPEAT_COLUMNS)
#: Key columns whose values may be compared.
_RATER_COLUMNS = ("method", "metric", *_REPEAT_COLUMNS)


@dataclass(frozen=True)
class AgreementDesign:
    """Scores whose raters, the values of one column, are compared by group and case."""

    codes: ColumnCodes
    #: Column whose values are the raters.
    over: str
    #: (n_rows,): Code of each row's group.
    groups: NDArray[np.integer]
    #: (n_rows,): Code of each row's case.
    cases: NDArray[np.integer]
    #: (n_rows,): Code of each row's case and repeat.
    repeats: np.ndarray
    units: Units
    #: Grouping columns of each group.
    keys: pd.DataFrame
    #: Columns that distinguish repeats of a case.
    repeat_columns: list[str]


@dataclass(frozen=True)
class GroupReadings:
    """Readings of one group."""

    readings: RaterReadings
    #: (n_raters,): Names of the raters, in the order of the readings' columns.
    raters: np.ndarray
    #: (n_rows,): First row of the frame for each row of the readings.
    frame_rows: NDArray[np.integer]
    #: Name of the group in messages.
    label: Message

    @property
    def n_cases_and_repeats(self) -> int:
        """Number of cases, each repeat of a case counted."""
        return len(self.frame_rows)


def agreement_design(
    scores: pd.DataFrame, over: str, by: str | Sequence[str] | None, unit: Unit
) -> AgreementDesign:
    """Check scores and return their groups, cases and units; `over` is the column of the raters."""
    codes = _coded_rows_that_have_rater(scores, over)
    frame = codes.frame
    columns = check_by(frame, by, [column for column in DEFAULT_BY if column != over])
    if over in columns:
        raise ColumnError(
            Setting("over", over),
            " names what is compared, so it may not be in ",
            Setting("by"),
            f" ({', '.join(columns)})",
            column=over,
        )
    if over != "metric":
        check_one_metric(codes, columns)
    if over != "method":
        warn_pooled_methods(frame, columns)
    warn_pooled_by_default(frame, by, columns, separated=[over])
    units = resolve_unit(codes, unit)
    groups, keys = index_groups(codes, columns)
    key_columns = [c for c in KEY_COLUMNS if c in frame.columns and c not in (over, *columns)]
    design = AgreementDesign(
        codes=codes,
        over=over,
        groups=groups,
        cases=codes.combined([column for column in key_columns if column in _CASE_COLUMNS]),
        repeats=codes.combined(key_columns),
        units=units,
        keys=keys,
        repeat_columns=[column for column in key_columns if column in _REPEAT_COLUMNS],
    )
    _check_units_hold_whole_cases(design)
    return design


def _coded_rows_that_have_rater(scores: pd.DataFrame, over: str) -> ColumnCodes:
    """Return coded scores of the rows that have a rater; repeated rows raise an error.

    The raters' column need not be a key column of scores frames.
    """
    frame = check_frame(scores)
    if not isinstance(over, str):
        raise ColumnError(Setting("over", over), " is not the name of one column", value=over)
    check_columns(frame, [over])
    if over in ("case", "dataset", "task", "score"):
        raise ColumnError(
            Setting("over", over),
            " does not distinguish readings of a case",
            hint="use 'reader' or 'method'",
            column=over,
        )
    has_no_rater = frame[over].isna()
    if has_no_rater.any():
        methods = ""
        if "method" in frame:
            methods = f" (of {quoted(frame.loc[has_no_rater, 'method'].unique())})"
        warn(
            f"{int(has_no_rater.sum())} of {len(frame)} rows have no {over!r} and are left out{methods}",
            column=over,
            rows=np.flatnonzero(has_no_rater).tolist(),
        )
        frame = check_frame(frame[~has_no_rater].reset_index(drop=True))
    if over in KEY_COLUMNS:
        return coded_scores(frame)
    absent_columns = [column for column in _REPEAT_COLUMNS if column not in frame.columns]
    if not absent_columns:
        raise ColumnError(
            Setting("over", over),
            f" must be one of {quoted(_RATER_COLUMNS)} in a frame with all of these",
            column=over,
            choices=_RATER_COLUMNS,
        )
    # Named as a key column, the raters take part in the check that no row is repeated.
    coded_scores(frame.rename(columns={over: absent_columns[0]}))
    return ColumnCodes(frame)


def _check_units_hold_whole_cases(design: AgreementDesign) -> None:
    """Raise if readings of one case belong to several units, which are not independent then."""
    n_cases = int(design.cases.max()) + 1
    # Code of group and case together
    group_cases = np.unique(design.groups * n_cases + design.cases, return_inverse=True)[1]
    first_rows = np.unique(group_cases, return_index=True)[1]
    first_units = design.units.codes[first_rows]
    split_rows = np.flatnonzero(design.units.codes != first_units[group_cases])
    if len(split_rows):
        case = design.codes.frame["case"].iloc[split_rows[0]]
        raise ColumnError(
            Setting("unit", design.units.name),
            f" splits case {case!r}, whose readings are compared",
            hint="use a unit that holds whole cases, such as 'case' or 'patient'",
            rows=split_rows[:1].tolist(),
        )


def checked_readings_of_group(design: AgreementDesign, group: int, record: Agreement) -> GroupReadings:
    """Return the readings of a group; readings that do not suit the kind of agreement raise an error."""
    frame = design.codes.frame
    over = design.over
    rows = np.flatnonzero(design.groups == group)
    label = group_label(design.keys, group)
    _, first_of_repeat, repeat = np.unique(design.repeats[rows], return_index=True, return_inverse=True)
    rater_codes = design.codes.column(over).codes[rows]
    _, first_of_rater, rater = np.unique(rater_codes, return_index=True, return_inverse=True)
    values = np.full((len(first_of_repeat), len(first_of_rater)), np.nan)
    values[repeat, rater] = frame["score"].to_numpy(dtype=np.float64)[rows]
    raters = frame[over].to_numpy(dtype=object)[rows[first_of_rater]]
    n_readings = (~np.isnan(values)).sum(axis=0)
    has_readings = n_readings > 0
    values = values[:, has_readings]
    raters = raters[has_readings]
    n_readings = n_readings[has_readings]
    if len(raters) < 2:
        rater_text = f"no {over} with a score"
        if len(raters):
            rater_text = f"one {over}, {str(raters[0])!r}"
        varying = [c for c in design.repeat_columns if frame[c].iloc[rows].nunique() > 1]
        hint = Message()
        if varying:
            hint = Message(Setting("over", varying[0]), " compares the values of that column")
        raise ColumnError(
            label,
            f" has {rater_text}, and agreement needs two or more",
            hint=hint,
            option="over",
            value=over,
            column=over,
        )
    if (n_readings < 2).all():
        raise ColumnError(
            f"every {over} of ",
            label,
            " scored one case",
            hint=Message(
                "number the readings of each case in a column, name that with ",
                Setting("over"),
                ", and use ",
                Setting("form", "icc1"),
                ", which lets readers differ from case to case",
            ),
            option="over",
            value=over,
            column=over,
        )
    if (n_readings < 2).any():
        raise ColumnError(
            f"{over} {str(raters[n_readings.argmin()])!r} scored one case of ",
            label,
            ", from which agreement cannot be estimated",
            hint=f"leave that {over} out",
            column=over,
        )
    frame_rows = rows[first_of_repeat]
    readings = RaterReadings(values, cases=design.cases[frame_rows], units=design.units.codes[frame_rows])
    group_readings = GroupReadings(readings, raters, frame_rows, label)
    if not record.allows_repeats:
        _check_cases_have_no_repeats(design, group_readings, record)
    _check_values_suit_kind(values, record, label)
    return group_readings


def _check_cases_have_no_repeats(
    design: AgreementDesign, group_readings: GroupReadings, record: Agreement
) -> None:
    """Raise if a case has several readings of one rater."""
    cases = group_readings.readings.cases
    counts = np.bincount(cases)
    if counts.max() < 2:
        return
    repeated_rows = group_readings.frame_rows[cases == counts.argmax()]
    frame = design.codes.frame.iloc[repeated_rows]
    varying = next(c for c in design.repeat_columns if frame[c].nunique(dropna=False) > 1)
    raise ColumnError(
        f"case {frame['case'].iloc[0]} has {len(frame)} readings of one {design.over}, by {varying!r}, and ",
        Setting("kind", record.name),
        " allows one",
        hint=Message(
            f"name {varying!r} in ",
            Setting("by"),
            ", average them first, or use ",
            Setting("kind", "bland-altman"),
            ", which allows several",
        ),
        column=varying,
        rows=repeated_rows.tolist(),
    )


def readings_by_two_or_more_raters(
    readings: RaterReadings, raters: Sequence[int], *, linked: bool
) -> RaterReadings:
    """Return the readings of some raters (positions of columns) in the rows that two or more of them read.

    If readings are not `linked` row by row, the rows are those of all cases that all of the raters read.
    """
    values = readings.values[:, list(raters)]
    present = ~np.isnan(values)
    if linked:
        is_shared = present.sum(axis=1) > 1
    else:
        cases = np.unique(readings.cases, return_inverse=True)[1]
        n_readings = np.stack([np.bincount(cases, column) for column in present.T])
        all_read = np.asarray((n_readings > 0).all(axis=0))
        is_shared = all_read[cases] & present.any(axis=1)
    return RaterReadings(
        values=values[is_shared],
        cases=np.unique(readings.cases[is_shared], return_inverse=True)[1],
        units=np.unique(readings.units[is_shared], return_inverse=True)[1],
    )


def _check_values_suit_kind(values: np.ndarray, record: Agreement, label: Message) -> None:
    """Raise if scores are 0/1 for a coefficient of continuous scores, or fractions for one of categories."""
    distinct = np.unique(values[~np.isnan(values)])
    fractional = distinct[distinct != np.round(distinct)]
    if record.score_type == CONTINUOUS and set(distinct) <= {0.0, 1.0}:
        raise ValueRangeError(
            Setting("kind", record.name),
            " is for continuous scores, and ",
            label,
            " holds 0 and 1 only",
            hint=Message(
                "use ", Setting("kind", "cohen"), ", 'fleiss' or 'krippendorff', or leave these scores out"
            ),
            column="score",
        )
    if record.score_type == CATEGORIES and len(fractional):
        raise ValueRangeError(
            Setting("kind", record.name),
            " is for categories, which are whole numbers, and ",
            label,
            f" holds {fractional[0]:g}",
            hint=Message(
                "use ", Setting("kind", "icc"), ", 'ccc' or 'krippendorff', or make categories first"
            ),
            column="score",
        )


def mean_and_difference_of_reading_pairs(
    scores: pd.DataFrame, over: str, by: Sequence[str], *, linked: bool
) -> pd.DataFrame:
    """Return the points of a Bland-Altman plot: grouping columns, `pair`, `mean` and `difference`.

    A row is a pair of readings; if readings are not `linked`, it is a case, with the means of both raters.
    """
    with warnings.catch_warnings():
        # `agreement` gave the same warnings when it made the limits.
        warnings.simplefilter("ignore", SalstatsWarning)
        design = agreement_design(scores, over, list(by), unit="case")
    frames = []
    for group in range(len(design.keys)):
        group_readings = checked_readings_of_group(design, group, KINDS["bland-altman"])
        raters = group_readings.raters
        for first, second in combinations(range(len(raters)), 2):
            readings = readings_by_two_or_more_raters(group_readings.readings, (first, second), linked=linked)
            values = readings.values
            if not linked:
                values = pd.DataFrame(values).groupby(readings.cases).mean().to_numpy()
            keys = design.keys.iloc[[group] * len(values)].reset_index(drop=True)
            frame = keys.assign(
                pair=f"{raters[first]} - {raters[second]}",
                mean=values.mean(axis=1),
                difference=values[:, 0] - values[:, 1],
            )
            frames.append(frame)
    return pd.concat(frames, ignore_index=True)
