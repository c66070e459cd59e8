"""Table of the power by number of cases."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.display.facts import paragraph
from salstats.display.tables.great_table import great_table
from salstats.display.tables.grid import TableQuantity, quantity_table, read_estimates_to_show
from salstats.display.tables.placement import choose_placement, grid_of_frame_row_numbers
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import (
    capitalized,
    count_text,
    fixed_text,
    interval_text,
    level_text_without_percent_sign,
    plural,
)
from salstats.display.text.labels import Labels
from salstats.display.text.planning import (
    REQUIRED_COLUMNS,
    checked_plan_with_all_columns,
    effect_text,
    grouping_columns_of_plan,
    label_of_test,
    power_sentence,
    readers_and_effect_text_of_curve,
    rows_differ_in_test,
    rows_of_each_curve,
)


def table_power(
    plan: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int = 3,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """Tabulate a plan: a row per number of cases, in groups by effect, number of readers and group.

    Columns are the number of units, where these are not cases, the power in percent (with its Monte-Carlo
    interval if it was simulated), the mean width of the interval and, where rows have different tests, the
    test; below stands `power_sentence`, with the cases that are needed and their limits.

    Parameters
    ----------
    plan : DataFrame
        A frame of `power`.
    digits : int
        Decimals of the width; the power has one.
    labels, style, title
        As for `table_estimates`.

    Returns
    -------
    GT
        A great-tables table.

    Raises
    ------
    ColumnError
        A column of `power` is missing.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> plan = ss.power({"sd": 0.2, "correlation": 0.5}, effect=[-0.04, -0.05], n_cases=[100, 200])
    >>> isinstance(ss.table_power(plan), GT)
    True
    """
    planned = read_estimates_to_show(plan, digits, style, "plan", REQUIRED_COLUMNS)
    frame = checked_plan_with_all_columns(planned.frame)
    names = Labels(labels, frame)
    curve = pd.Series("", index=frame.index)
    for rows in rows_of_each_curve(frame):
        curve[rows.index] = capitalized(readers_and_effect_text_of_curve(rows, frame))
    groups = [column for column in grouping_columns_of_plan(frame) if frame[column].nunique() > 1]
    if curve.nunique() > 1:
        groups.append("curve")
    curve_rows = frame.assign(
        curve=pd.Categorical(curve, list(dict.fromkeys(curve)), ordered=True),
        cases=pd.Categorical(frame["n_cases"], ordered=True),
    )
    placement = choose_placement(
        planned.with_other_frame(curve_rows),
        [*groups, "cases"],
        rows=["cases"],
        columns=[],
        groups=groups,
    )
    values = _unit_power_width_test_quantities(frame, digits, style)
    table = quantity_table(grid_of_frame_row_numbers(curve_rows, placement, names), values, names)
    note = paragraph(power_sentence(frame, labels=names), caution_note(frame))
    return great_table(replace(table, notes=[note], title=title), "salstats-power")


def _unit_power_width_test_quantities(frame: pd.DataFrame, digits: int, style: str) -> list[TableQuantity]:
    """Return the numbers of units, power, widths of intervals and tests as quantities of a table."""
    values = []
    first = frame.iloc[0]
    unit = first["unit"]
    if pd.notna(unit) and unit != "case":
        n_units = [count_text(n) for n in frame["n_units"]]
        values.append(TableQuantity(plural(unit).capitalize(), n_units, "right"))
    interval = f"{level_text_without_percent_sign(first['level'])}% CI"
    widths = [fixed_text(width, digits) for width in frame["width"]]
    values += [_power_quantity(frame, interval, style), TableQuantity(f"Width of the {interval}", widths)]
    if rows_differ_in_test(frame):
        values.append(TableQuantity("Test", [label_of_test(test) for test in frame["test"]], "left"))
    return values


def _power_quantity(frame: pd.DataFrame, effect_interval_name: str, style: str) -> TableQuantity:
    """Return the power in percent, with its Monte-Carlo interval if it was simulated."""
    first = frame.iloc[0]
    name = "Power"
    if first["goal"] == "width":
        widest = effect_text(first["widest"], first["term"])
        name = f"Studies with a {effect_interval_name} no wider than {widest}"
    percents = 100 * frame["power"]
    if not frame["conf_low"].notna().any():
        return TableQuantity(
            f"{name}, %", [interval_text(percent, None, None, 1, style) for percent in percents]
        )
    limits = zip(percents, 100 * frame["conf_low"], 100 * frame["conf_high"], strict=True)
    texts = [interval_text(percent, low, high, 1, style) for percent, low, high in limits]
    return TableQuantity(f"{name}, % ({level_text_without_percent_sign(first['conf_level'])}% CI)", texts)
