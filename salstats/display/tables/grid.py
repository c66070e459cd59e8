"""Values of a frame in the cells of a table."""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_count
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.tables.placement import Slots
from salstats.display.tables.record import Column, Table
from salstats.display.text.format import MISSING, STYLES, decimals_of, interval_text, limits_text
from salstats.display.text.labels import Labels

#: A variance below it is one of rounding.
_NOTHING = 1e-8
#: Decimals of a slope at most: one of areas in pixels is that small.
_MOST = 12


def check_display(
    frame: object, digits: int, style: str, name: str, needed: Sequence[str] = ("estimate",)
) -> Estimates:
    """Read a frame to show, and check the options of how numbers are written."""
    estimates = read_estimates(frame, name, needed)
    check_count(digits, "digits", 0)
    check_choice(style, tuple(STYLES), "style")
    return estimates


def interval_texts(estimates: Estimates, digits: int, style: str, stars: Sequence[str] = ()) -> list[str]:
    """Return each estimate with its interval and stars; small variances with `digits` significant digits.

    A coefficient's decimals are no fewer than tell its interval, in the rows of all models.
    """
    frame = estimates.frame
    shown = np.transpose([estimates.numbers(c) for c in ("estimate", "conf_low", "conf_high")])
    decimals = np.full(len(frame), digits)
    if "parameter" in frame.columns:
        for row in np.flatnonzero(frame["parameter"].isin(("variance", "covariance"))):
            sizes = [v for v in np.abs(shown[row]) if _NOTHING < v < np.inf]
            decimals[row] = max(digits, decimals_of(sizes[0], digits)) if sizes else digits
    elif {"formula", "term"} <= set(frame.columns):
        ratios = frame.get("exponentiated", pd.Series(False, frame.index)).astype("str").str.lower() == "true"
        told = [
            _telling(low - one, high - one, digits) for (_, low, high), one in zip(shown, ratios, strict=True)
        ]
        decimals = pd.Series(told).groupby(frame["term"].to_numpy(), dropna=False).transform("max").to_numpy()
    rows = zip(shown, decimals, stars or [""] * len(frame), strict=True)
    return [interval_text(value, low, high, own, style, star) for (value, low, high), own, star in rows]


def _telling(low: float, high: float, digits: int) -> int:
    """Decimals that leave the width of limits two significant digits, and each on its side of 0."""
    width = high - low
    if not 10.0**-_MOST < width < np.inf:
        return digits
    nearest = [abs(limit) for limit in (low, high) if width / 1000 < abs(limit) < 0.5 / 10**digits]
    needed = [decimals_of(width, 2, _MOST), *(decimals_of(2 * limit, 1, _MOST) for limit in nearest)]
    return max(digits, *needed)


class Value(NamedTuple):
    """What a table gives of every row of a frame: heading, texts, side, and the rows that are marked."""

    heading: str
    texts: Sequence[str]
    align: Literal["point", "left", "right"] = "point"
    bold: Collection[int] = ()
    underline: Collection[int] = ()


def bounds_values(estimates: Estimates, digits: int, style: str) -> list[Value]:
    """Return the bounds of a frame of `missing_bounds`, which no other frame has."""
    if "bound_low" not in estimates.frame.columns:
        return []
    both = zip(estimates.numbers("bound_low"), estimates.numbers("bound_high"), strict=True)
    return [Value("Bounds", [limits_text(low, high, digits, style) for low, high in both])]


def fill(slots: Slots, values: Sequence[Value], labels: Labels, front: Sequence[Value] = ()) -> Table:
    """A table of the values in each cell of a frame laid out; `front` ones stand once before each row.

    One value alone is the heading above all columns, several stand below each column's own.
    """
    columns = [Column(value.heading, align=value.align) for value in front]
    for above in slots.columns:
        for heading, _, align, *_ in values:
            if above and len(values) == 1:
                columns.append(Column(above[-1], (heading, *above[:-1]), align))
            else:
                columns.append(Column(heading or above[-1], above, align))
    cells = [
        [
            *(next(value.texts[i] for i in row if i >= 0) for value in front),
            *(value.texts[i] if i >= 0 else MISSING for i in row for value in values),
        ]
        for row in slots.index.tolist()
    ]
    bold, underline = (
        {
            (i, len(front) + j * len(values) + k)
            for (i, j), row in np.ndenumerate(slots.index)
            for k, value in enumerate(values)
            if row in getattr(value, mark)
        }
        for mark in ("bold", "underline")
    )

    def named(columns: Sequence[str]) -> str:
        return ", ".join(_stub_heading(c, labels) for c in columns)

    return Table(
        stubhead=tuple(_stub_heading(c, labels) for c in slots.placement.rows) or ("",),
        stub=[row or ("All",) for row in slots.rows],
        columns=columns,
        cells=cells,
        groups=[", ".join(group) for group in slots.groups] if slots.placement.groups else [],
        bold=bold,
        underline=underline,
        # the first average or pooled row of each group that has others
        apart={
            i
            for i in range(1, len(slots.rows))
            if slots.last[i] and not slots.last[i - 1] and slots.groups[i] == slots.groups[i - 1]
        },
        turns=True,
        axes=(named(slots.placement.groups), named(slots.placement.columns[-1:])),
    )


def _stub_heading(column: str, labels: Labels) -> str:
    """The heading of row labels."""
    return "Variable" if column in ("x", "y") else labels.column(column)
