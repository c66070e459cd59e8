"""Power by number of cases, as a table."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.display.facts import paragraph
from salstats.display.tables.grid import Value, check_display, fill
from salstats.display.tables.layout import build
from salstats.display.tables.placement import lay_out, place
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import count_text, fixed_text, interval_text, level_text, plural
from salstats.display.text.labels import Labels
from salstats.display.text.planning import (
    NEEDED,
    curve_text,
    curves_of,
    effect_text,
    grouping_of,
    has_several_tests,
    label_of_test,
    power_sentence,
)


def table_power(
    plan: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int = 3,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """A plan as a table: a row per number of cases, in groups by effect, number of readers and group.

    Columns are the units that the cases make, where these are no cases, the power in percent (of simulations
    with its Monte-Carlo interval), the mean width of the interval and, where rows have different ones, the
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
    planned = check_display(plan, digits, style, "plan", NEEDED)
    frame = planned.frame
    names = Labels(labels, frame)
    curve = pd.Series("", index=frame.index)
    for rows in curves_of(frame):
        curve[rows.index] = curve_text(rows, frame)
    keys = [c for c in grouping_of(frame) if frame[c].nunique() > 1]
    apart = [*keys, *(["curve"] if curve.nunique() > 1 else [])]
    order = pd.Categorical(curve, list(dict.fromkeys(curve)), ordered=True)
    shown = frame.assign(curve=order, cases=pd.Categorical(frame["n_cases"], ordered=True))
    placement = place(planned.with_frame(shown), [*apart, "cases"], ["cases"], [], apart)
    table = fill(lay_out(shown, placement, names), _values(frame, digits, style), names)
    below = [paragraph(power_sentence(frame, labels=names), caution_note(frame))]
    return build(replace(table, notes=below, title=title), "salstats-power")


def _values(frame: pd.DataFrame, digits: int, style: str) -> list[Value]:
    """Units, power and width of each row."""
    simulated = bool(frame["conf_low"].notna().any())
    ends = [100 * frame[c] if simulated else [None] * len(frame) for c in ("conf_low", "conf_high")]
    power = [
        interval_text(value, low, high, 1, style)
        for value, low, high in zip(100 * frame["power"], *ends, strict=True)
    ]
    level = level_text(frame["conf_level"].iloc[0]) if simulated else ""
    first, width = frame.iloc[0], f"{level_text(frame['level'].iloc[0])}% CI"
    unit, what = str(first.get("unit", "case")), "Power"
    if first["goal"] == "width":
        what = f"Studies with a {width} no wider than {effect_text(first['widest'], first['term'])}"
    values = [
        Value(f"{what}, %{f' ({level}% CI)' if simulated else ''}", power),
        Value(f"Width of the {width}", [fixed_text(w, digits) for w in frame["width"]]),
    ]
    if has_several_tests(frame):
        values.append(Value("Test", [label_of_test(test) for test in frame["test"]], "left"))
    if unit == "case":
        return values
    return [Value(plural(unit).capitalize(), [count_text(n) for n in frame["n_units"]], "right"), *values]
