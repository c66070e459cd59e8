"""Values of a frame in the cells of a table."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_choice, check_count
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.tables.marks import p_heading
from salstats.display.tables.placement import CellGrid
from salstats.display.tables.record import Table, TableColumn
from salstats.display.text.format import (
    MISSING,
    STYLES,
    decimals_of,
    interval_text,
    limits_text,
    p_text,
    p_text_adjusted_if_any,
    p_value_adjusted_if_any,
    significance_level_of_row,
)
from salstats.display.text.labels import Labels
from salstats.display.text.margins import has_margins, margin_p_heading
from salstats.display.text.vocabulary import RANK_TERMS, TERMS
from salstats.errors import Call, Message, SalstatsError
from salstats.metrics.registry import registered_metric

#: Variances below this are 0 but for rounding errors.
_SMALLEST_VARIANCE = 1e-8
#: Decimals of estimates that are not in the unit of a metric.
DEFAULT_DIGITS = 3
#: Terms whose estimates are in the unit of their metric.
_TERMS_IN_METRIC_UNIT = (
    *("mean", "median", "quantile", "within_case_sd"),
    *("difference", "median_difference", "quantile_difference"),
)
#: Most decimals of a coefficient; slopes of areas in pixels need many.
_MAX_DECIMALS = 12


def read_estimates_to_show(
    frame: object, digits: int | None, style: str, name: str, required_columns: Sequence[str] = ("estimate",)
) -> Estimates:
    """Return the estimates of a frame that a table shows, and check the options `digits` and `style`."""
    reject_model_estimates_without_required_columns(frame, name, required_columns)
    estimates = read_estimates(frame, name, required_columns)
    if digits is not None:
        check_count(digits, "digits", 0)
    check_choice(style, tuple(STYLES), "style")
    return estimates


def reject_model_estimates_without_required_columns(
    frame: object, name: str, required_columns: Sequence[str]
) -> None:
    """Raise SalstatsError for estimates of models without the required columns, which another table shows."""
    if not isinstance(frame, pd.DataFrame) or set(required_columns) <= set(frame.columns):
        return
    if {"formula", "average"} <= set(frame.columns):
        kind = "means, contrasts or slopes of a model"
        function = "table_estimates"
    elif {"formula", "term"} <= set(frame.columns):
        kind = "coefficients of models"
        function = "table_regression"
    else:
        return
    raise SalstatsError(
        f"{name} holds {kind}", hint=Message("use ", Call(function)), option=name, column="formula"
    )


def decimals_by_metric_of_rows(estimates: Estimates, digits: int | None) -> list[int]:
    """Return the decimals of each row: `digits`, or where it is None those of the row's metric.

    Estimates that are not in the unit of their metric, such as percentages, have those of their term. Ranks
    are whole numbers where all ranks and their limits are.
    """
    if digits is not None:
        return [digits] * len(estimates)
    # the figure of merit of `mrmc`: an area under the curve is not in the unit of the metric
    is_area = estimates.only_non_missing_value("figure") == "auc"
    rank_digits = _rank_decimals(estimates)
    rows = zip(estimates.row_values("metric"), estimates.row_values("term"), strict=True)
    digits_of_rows = []
    for name, term in rows:
        metric = registered_metric(name)
        is_in_unit = term in _TERMS_IN_METRIC_UNIT or pd.isna(term)
        if term in RANK_TERMS:
            digits_of_rows.append(rank_digits)
        elif metric is not None and is_in_unit and not is_area:
            digits_of_rows.append(metric.digits)
        elif term in TERMS:
            digits_of_rows.append(TERMS[term].digits)
        else:
            digits_of_rows.append(DEFAULT_DIGITS)
    return digits_of_rows


def _rank_decimals(estimates: Estimates) -> int:
    """Return the decimals of ranks: 0 where all estimates and limits are whole numbers, else 1."""
    for column in ("estimate", "conf_low", "conf_high"):
        values = estimates.non_missing_numbers(column)
        if (values != np.round(values)).any():
            return 1
    return 0


def estimate_and_interval_texts(
    estimates: Estimates, digits: int | None, style: str, stars: Sequence[str] = ()
) -> list[str]:
    """Return each estimate with its interval and stars, by default with the decimals of its metric.

    Small variances have `digits` significant digits. Coefficients of one term have the same decimals in all
    models, as many as the narrowest of their intervals needs.
    """
    digits_of_models = DEFAULT_DIGITS if digits is None else digits
    if estimates.distinct_values("parameter"):
        decimals = _row_decimals_for_small_variances(estimates, digits_of_models)
    elif estimates.distinct_values("formula") and estimates.distinct_values("term"):
        decimals = _row_decimals_common_to_each_term(estimates, digits_of_models)
    else:
        decimals = np.array(decimals_by_metric_of_rows(estimates, digits), dtype=np.int64)
    rows = zip(
        estimates.numbers("estimate"),
        estimates.numbers("conf_low"),
        estimates.numbers("conf_high"),
        decimals,
        stars or [""] * len(estimates),
        strict=True,
    )
    return [
        interval_text(value, low, high, row_digits, style, row_stars)
        for value, low, high, row_digits, row_stars in rows
    ]


def _row_decimals_for_small_variances(estimates: Estimates, digits: int) -> NDArray[np.int64]:
    """Return decimals that leave each variance and covariance at least `digits` significant digits."""
    decimals = np.full(len(estimates), digits)
    columns = ("estimate", "conf_low", "conf_high")
    # one row for each row of the frame: the estimate, then its limits
    sizes = np.transpose([np.abs(estimates.numbers(column)) for column in columns])
    for row in np.flatnonzero(estimates.frame["parameter"].isin(("variance", "covariance"))):
        sizes_of_row = [size for size in sizes[row] if _SMALLEST_VARIANCE < size < np.inf]
        if sizes_of_row:
            # the first is the estimate, or a limit of an estimate of 0
            decimals[row] = max(digits, decimals_of(sizes_of_row[0], digits))
    return decimals


def _row_decimals_common_to_each_term(estimates: Estimates, min_decimals: int) -> NDArray[np.int64]:
    """Return the decimals of coefficients, the same for one term in all models."""
    # ratios are distinguished from 1, other coefficients from 0
    null_values = np.where(estimates.is_exponentiated, 1.0, 0.0)
    lows = estimates.numbers("conf_low") - null_values
    highs = estimates.numbers("conf_high") - null_values
    decimals = [
        _decimals_showing_width_and_signs(low, high, min_decimals)
        for low, high in zip(lows, highs, strict=True)
    ]
    by_term = pd.Series(decimals).groupby(estimates.frame["term"].to_numpy(), dropna=False)
    return np.asarray(by_term.transform("max").to_numpy())


def _decimals_showing_width_and_signs(low: float, high: float, min_decimals: int) -> int:
    """Return decimals that show two digits of the width of limits, and on which side of 0 each limit lies."""
    width = high - low
    if not 10.0**-_MAX_DECIMALS < width < np.inf:
        return min_decimals
    decimals = [min_decimals, decimals_of(width, 2, _MAX_DECIMALS)]
    for limit in (abs(low), abs(high)):
        is_rounded_to_zero = limit < 0.5 / 10**min_decimals
        # a limit that is tiny beside the width is 0 in effect
        if is_rounded_to_zero and limit > width / 1000:
            # from half of the last decimal on a limit is not rounded to 0
            decimals.append(decimals_of(2 * limit, 1, _MAX_DECIMALS))
    return max(decimals)


class TableQuantity(NamedTuple):
    """A quantity that a table shows, such as means or P values, as texts for the rows of a frame.

    Attributes
    ----------
    heading : str
        Name of the quantity.
    texts : sequence of str
        One text for each row of the frame.
    align : {"point", "left", "right"}
        Alignment in the column.
    bold, underline : collection of int
        Rows of the frame that are marked.
    heading_by_column : Mapping of str to str
        Headings that replace `heading` below some labels of columns, by these labels.
    """

    heading: str
    texts: Sequence[str]
    align: Literal["point", "left", "right"] = "point"
    bold: Collection[int] = ()
    underline: Collection[int] = ()
    heading_by_column: Mapping[str, str] = {}


def low_to_high_bounds_quantity_if_in_frame(
    estimates: Estimates, digits: int | None, style: str
) -> list[TableQuantity]:
    """Return "Bounds", `bound_low` to `bound_high`, of a frame of `missing_bounds`; [] for other frames."""
    if not estimates.distinct_values("bound_low"):
        return []
    bounds = zip(
        estimates.numbers("bound_low"),
        estimates.numbers("bound_high"),
        decimals_by_metric_of_rows(estimates, digits),
        strict=True,
    )
    return [
        TableQuantity(
            "Bounds", [limits_text(low, high, row_digits, style) for low, high, row_digits in bounds]
        )
    ]


def p_value_and_margin_p_quantities_if_any(estimates: Estimates, style: str) -> list[TableQuantity]:
    """Return P values, adjusted where the frame has them, and P values of margins; [] where it has none."""
    values = []
    rows = estimates.frame.to_dict("records")
    if not np.isnan([p_value_adjusted_if_any(row) for row in rows]).all():
        values.append(
            TableQuantity(p_heading(estimates), [p_text_adjusted_if_any(row, style) for row in rows])
        )
    if has_margins(estimates):
        p_column = "p_margin"
        if estimates.distinct_values("p_margin_adjusted"):
            p_column = "p_margin_adjusted"
        p_value_texts = []
        for p_value, row in zip(estimates.numbers(p_column), rows, strict=True):
            p_value_texts.append(p_text(p_value, style, alpha=significance_level_of_row(row, p_column)))
        values.append(TableQuantity(margin_p_heading(estimates), p_value_texts))
    return values


def quantity_table(
    grid: CellGrid,
    values: Sequence[TableQuantity],
    labels: Labels,
    row_values: Sequence[TableQuantity] = (),
    absent_text: str = MISSING,
) -> Table:
    """Return a table of quantities in the cells of a grid.

    `row_values`, quantities that are the same in all cells of a row, stand once in front of the other
    columns. The heading of a single quantity stands above all columns, the headings of several below each
    column's own. Cells without a row of the frame hold `absent_text`.
    """
    placement = grid.placement
    cells = []
    bold = set()
    underline = set()
    for row, frame_rows in enumerate(grid.frame_rows.tolist()):
        first_frame_row = next(frame_row for frame_row in frame_rows if frame_row >= 0)
        texts = [value.texts[first_frame_row] for value in row_values]
        for frame_row in frame_rows:
            for value in values:
                if frame_row in value.bold:
                    bold.add((row, len(texts)))
                if frame_row in value.underline:
                    underline.add((row, len(texts)))
                text = absent_text
                if frame_row >= 0:
                    text = value.texts[frame_row]
                texts.append(text)
        cells.append(texts)
    group_texts: list[str] = []
    if placement.groups:
        group_texts = [", ".join(labels_of_group) for labels_of_group in grid.group_labels]
    groups_heading = ", ".join(_stub_heading(column, labels) for column in placement.groups)
    columns_heading = ", ".join(_stub_heading(column, labels) for column in placement.columns[-1:])
    return Table(
        stubhead=tuple(_stub_heading(column, labels) for column in placement.rows) or ("",),
        stub=[row_labels or ("All",) for row_labels in grid.row_labels],
        columns=_quantity_columns(grid, values, row_values),
        cells=cells,
        groups=group_texts,
        bold=bold,
        underline=underline,
        rows_with_rule_above=_summary_rows_with_rule_above(grid),
        may_rearrange=True,
        axis_headings=(groups_heading, columns_heading),
    )


def _quantity_columns(
    grid: CellGrid, values: Sequence[TableQuantity], first_values: Sequence[TableQuantity]
) -> list[TableColumn]:
    """Return the columns of a table of values."""
    columns = [TableColumn(value.heading, align=value.align) for value in first_values]
    for headings in grid.column_labels:
        for value in values:
            if headings and len(values) == 1:
                *outer, innermost = headings
                columns.append(TableColumn(innermost, (value.heading, *outer), value.align))
            else:
                heading = value.heading
                if headings:
                    heading = value.heading_by_column.get(headings[-1], heading)
                columns.append(TableColumn(heading, headings, value.align))
    return columns


def _summary_rows_with_rule_above(grid: CellGrid) -> set[int]:
    """Return the position of the first average or pooled row of each group, unless it begins the group."""
    rows = set()
    for row in range(1, len(grid.row_labels)):
        begins_group = grid.group_labels[row] != grid.group_labels[row - 1]
        if grid.is_summary_row[row] and not grid.is_summary_row[row - 1] and not begins_group:
            rows.add(row)
    return rows


def _stub_heading(column: str, labels: Labels) -> str:
    """Return the heading above the row labels that are a column's values."""
    if column in ("x", "y"):
        return "Variable"
    return labels.column(column)
