"""Ends of the axes of estimates, beyond which bars end in an arrow."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.display.text.format import interval_text, joined
from salstats.errors import Setting, ValueRangeError

#: Ends of all axes, or of the axes of metrics by their names.
Limits = Sequence[float] | Mapping[str, Sequence[float]]
#: A number is far out if it lies more than so many times as far from 0 as half of the rows of its panel.
_FAR_FACTOR = 10.0
#: Room for arrows at the end of an axis, as a share of its length.
_ARROW_SHARE = 0.08
#: Factor between the smallest ratio and the end of a logarithmic axis at which arrows stand.
_LOG_ROOM_FACTOR = 1.3
#: Shapes of arrows to the left and to the right, and their size as plotnine has it.
_LEFT_ARROW = "<"
_RIGHT_ARROW = ">"
_ARROW_SIZE = 1.6
#: Most estimates beyond an axis that a caption names one by one.
_MAX_NAMED = 3
#: Sentences of a caption.
_BARS_GO_ON = "Bars that end in an arrow go on beyond the axis."
_ESTIMATE_BEYOND = "An arrow without a mark: the estimate, too, lies beyond the axis."


def limits_of_cut_axes(
    frame: pd.DataFrame, limits: Limits | None, term: str | None, *, log: bool = False
) -> pd.DataFrame:
    """Return the ends of axes, in columns `panel`, `low` and `high`, for the panels whose axis has any.

    Parameters
    ----------
    frame : DataFrame
        The rows of a figure, with `panel`, `estimate`, `conf_low` and `conf_high`.
    limits : pair of float or mapping of pairs, optional
        Ends of all axes, or of those of some metrics. Without it only axes with percentage decreases that
        are far out have ends, and logarithmic ones with limits of 0 or less.
    term : str, optional
        The term of the estimates.
    log : bool
        Whether the axis is logarithmic.
    """
    panels = list(frame["panel"].cat.categories)
    ends = []
    if limits is not None:
        limits_by_panel = _limits_by_panel(frame, limits)
        ends = [(panel, *_checked_pair(pair, log=log)) for panel, pair in limits_by_panel.items()]
    else:
        for panel in panels:
            rows = frame.loc[frame["panel"] == panel, ["estimate", "conf_low", "conf_high"]]
            numbers = rows.to_numpy(dtype=float)
            low_and_high = None
            if log:
                low_and_high = _log_axis_ends_if_any_nonpositive(numbers)
            elif term == "percent_decrease":
                low_and_high = _axis_ends_if_numbers_are_far(numbers)
            if low_and_high is not None:
                ends.append((panel, *low_and_high))
    panel_limits = pd.DataFrame(ends, columns=["panel", "low", "high"])
    return panel_limits.assign(panel=pd.Categorical(panel_limits["panel"], panels, ordered=True))


def _limits_by_panel(frame: pd.DataFrame, limits: Limits) -> dict[str, Sequence[float]]:
    """Return the ends of the axis of each panel that has any.

    Raises if `limits` names a metric that the figure does not show.
    """
    panels = list(frame["panel"].cat.categories)
    if not isinstance(limits, Mapping):
        return dict.fromkeys(panels, limits)
    metrics = []
    if "metric" in frame.columns:
        metrics = list(frame["metric"].dropna().unique())
    for metric in limits:
        if metric not in metrics:
            raise ValueRangeError(
                Setting("limits", limits),
                f" names {metric!r}, which is not a metric of the figure ({quoted(metrics)})",
                choices=map(str, metrics),
            )
    if not limits:
        return {}
    limits_by_panel = {}
    for panel in panels:
        # all rows of a panel have one metric
        metric = frame.loc[frame["panel"] == panel, "metric"].iloc[0]
        if metric in limits:
            limits_by_panel[panel] = limits[metric]
    return limits_by_panel


def _checked_pair(limits: Sequence[float], *, log: bool) -> tuple[float, float]:
    """Return the two ends of an axis; raise unless they are finite numbers, the smaller one first."""
    try:
        numbers = [float(number) for number in limits]
    except (TypeError, ValueError):
        # a single number, or text
        numbers = []
    is_pair = len(numbers) == 2 and bool(np.isfinite(numbers).all()) and numbers[0] < numbers[1]
    if not is_pair or (log and numbers[0] <= 0):
        condition = " above 0" if log else ""
        raise ValueRangeError(
            Setting("limits", limits),
            f" must be two numbers{condition}, the smaller one first",
        )
    return numbers[0], numbers[1]


def _axis_ends_if_numbers_are_far(estimates_and_limits: np.ndarray) -> tuple[float, float] | None:
    """Return the ends of an axis that holds 0 and all numbers but those far out, None if none is far out.

    `estimates_and_limits` has a row for each estimate, with its limits. A number is far out if it lies more
    than ten times as far from 0 as half of the rows reach: on an axis that held it, these would share less
    than a tenth.
    """
    is_finite = np.isfinite(estimates_and_limits)
    finite = np.where(is_finite, estimates_and_limits, np.nan)
    is_empty_row = np.isnan(finite).all(axis=1)
    reach = np.nanmax(np.abs(finite[~is_empty_row]), axis=1)
    fence = _FAR_FACTOR * np.median(reach)
    is_far = np.abs(finite) > fence
    if fence == 0 or not is_far.any():
        return None
    near = finite[~is_far & ~np.isnan(finite)]
    low = min(near.min(), 0.0)
    high = max(near.max(), 0.0)
    arrow_room = _ARROW_SHARE * (high - low)
    if (finite < -fence).any():
        low -= arrow_room
    if (finite > fence).any():
        high += arrow_room
    return low, high


def _log_axis_ends_if_any_nonpositive(numbers: np.ndarray) -> tuple[float, float] | None:
    """Return the ends of a logarithmic axis, with room for arrows; None if all numbers are above 0."""
    if not (numbers <= 0).any():
        return None
    # the axis holds 1, where there is no difference
    positive = [*numbers[(numbers > 0) & np.isfinite(numbers)], 1.0]
    low = min(positive) / _LOG_ROOM_FACTOR
    return low, max(positive)


def with_bars_cut_at_limits(frame: pd.DataFrame, limits: pd.DataFrame, *, log: bool = False) -> pd.DataFrame:
    """Return rows whose limits do not extend beyond the axis, with the places of arrows.

    Parameters
    ----------
    frame : DataFrame
        The rows of a figure, with `panel`, `estimate`, `conf_low` and `conf_high`.
    limits : DataFrame
        The ends of axes, as `limits_of_cut_axes` returns them.
    log : bool
        Whether the axis is logarithmic.

    Returns
    -------
    DataFrame
        The rows with new `conf_low` and `conf_high`, and with `left_arrow` and `right_arrow`, the place of an
        arrow or NaN, and `is_beyond`, whether the estimate is beyond the axis. Infinite limits stay.
    """
    low = axis_end_of_rows(frame["panel"], limits, "low", -np.inf)
    high = axis_end_of_rows(frame["panel"], limits, "high", np.inf)
    is_infinite = frame[["conf_low", "conf_high"]].isin([-np.inf, np.inf])
    is_below = frame["estimate"] < low
    is_above = frame["estimate"] > high
    points_left = is_below | ((frame["conf_low"] < low) & ~is_infinite["conf_low"])
    points_right = is_above | ((frame["conf_high"] > high) & ~is_infinite["conf_high"])
    cut_low = frame["conf_low"].clip(low, high)
    cut_high = frame["conf_high"].clip(low, high)
    # a bar of which nothing is on the axis is as long as an arrow
    shaft = _ARROW_SHARE * (high - low)
    start_of_shaft = high - shaft
    end_of_shaft = low + shaft
    if log:
        shaft_factor = (high / low) ** _ARROW_SHARE
        start_of_shaft = high / shaft_factor
        end_of_shaft = low * shaft_factor
    cut_low = cut_low.mask(is_above & (cut_low == high), start_of_shaft)
    cut_high = cut_high.mask(is_below & (cut_high == low), end_of_shaft)
    return frame.assign(
        conf_low=frame["conf_low"].where(is_infinite["conf_low"], cut_low),
        conf_high=frame["conf_high"].where(is_infinite["conf_high"], cut_high),
        left_arrow=low.where(points_left),
        right_arrow=high.where(points_right),
        is_beyond=is_below | is_above,
    )


def axis_end_of_rows(
    panel_of_row: pd.Series, limits: pd.DataFrame, end: Literal["low", "high"], default: float
) -> pd.Series:
    """Return an end, "low" or "high", of the axis of each row's panel, `default` where the axis has none."""
    end_of_panel = dict(zip(limits["panel"].astype(TEXT), limits[end].astype(float), strict=True))
    return panel_of_row.astype(TEXT).map(end_of_panel).astype(float).fillna(default)


def arrows_note(
    frame: pd.DataFrame, limits: pd.DataFrame, digits: int, style: str, *, names_beyond: bool
) -> str:
    """Return sentences on the arrows of a figure, "" without arrows.

    If `names_beyond`, they give the estimates beyond the axis with `digits` decimals, written in `style`.
    """
    frame = frame[frame["estimate"].notna()]
    cut_frame = with_bars_cut_at_limits(frame, limits)
    if not cut_frame[["left_arrow", "right_arrow"]].notna().to_numpy().any():
        return ""
    if not cut_frame["is_beyond"].any():
        return _BARS_GO_ON
    if not names_beyond:
        return f"{_BARS_GO_ON} {_ESTIMATE_BEYOND}"
    texts = []
    for row in frame[cut_frame["is_beyond"]].to_dict("records"):
        names = [str(row.get(column) or "") for column in ("panel", "row_label", "method_label")]
        numbers = interval_text(row["estimate"], row["conf_low"], row["conf_high"], digits, style)
        texts.append(f"{'/'.join(name for name in names if name)} {numbers}")
    named_texts = texts[:_MAX_NAMED]
    if len(texts) > _MAX_NAMED:
        named_texts.append(f"{len(texts) - _MAX_NAMED} more")
    return f"{_BARS_GO_ON} Beyond it: {joined(named_texts)}."


def vertical_lines_within_axes(
    lines: pd.DataFrame, position_column: str, axis_limits_by_panel: pd.DataFrame
) -> pd.DataFrame:
    """Return the vertical lines, at the numbers in a column, that are not beyond the axis of their panel."""
    low = axis_end_of_rows(lines["panel"], axis_limits_by_panel, "low", -np.inf)
    high = axis_end_of_rows(lines["panel"], axis_limits_by_panel, "high", np.inf)
    positions = lines[position_column]
    return lines[(positions >= low) & (positions <= high)]


def arrow_layers(
    frame: pd.DataFrame, limits: pd.DataFrame, colour_aesthetic: dict[str, str], colour_option: dict[str, str]
) -> list[Any]:
    """Return layers of arrows, and an invisible one that gives axes their ends; none without ends.

    `frame` is from `with_bars_cut_at_limits`. `colour_aesthetic` maps the aesthetic of colour to a column;
    `colour_option` is the colour of all arrows where no column gives it.
    """
    if limits.empty:
        return []
    layers = [p9.geom_blank(p9.aes(end), limits, inherit_aes=False) for end in ("low", "high")]
    for column, shape in (("left_arrow", _LEFT_ARROW), ("right_arrow", _RIGHT_ARROW)):
        rows = frame[frame[column].notna()]
        if len(rows):
            arrow = p9.aes(column, **colour_aesthetic)
            layers.append(
                p9.geom_point(
                    arrow, rows, shape=shape, size=_ARROW_SIZE, stroke=0.3, show_legend=False, **colour_option
                )
            )
    return layers
