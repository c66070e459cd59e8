"""Correlations as a table: by group, or a triangle of many variables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.checks import SalstatsError
from salstats.display.tables import notes
from salstats.display.tables.grid import Value, check_display, fill, interval_texts
from salstats.display.tables.layout import build
from salstats.display.tables.marks import numbers, stars_of
from salstats.display.tables.placement import Placement, grouping_columns, lay_out, place, varies
from salstats.display.tables.record import Table
from salstats.display.text.correlation import covariates_note
from salstats.display.text.labels import Labels
from salstats.stats.coefficients import RECORDS as COEFFICIENTS


def table_correlation(
    correlations: pd.DataFrame,
    *,
    rows: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    groups: str | Sequence[str] | None = None,
    matrix: bool | None = None,
    stars: bool = True,
    n_tests: int | None = None,
    adjust: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int = 2,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """Correlations with their intervals as a table for a paper.

    Correlations of one pair by task and method have tasks as rows and methods as columns. Where `y` (`x`)
    varies it gives the rows (headings above the columns). Correlations of every pair of three variables
    and more are a lower triangle, one for each group of the other grouping columns. Rows and columns of
    a table wider than a page change places as in `table_estimates`.

    Parameters
    ----------
    correlations : DataFrame
        A frame of `correlate`, or several one below the other.
    rows, columns, groups : str or sequence of str, optional
        Grouping columns, `x` and `y` among them, that stand as rows, as columns (outermost first) and as
        groups of rows.
    matrix : bool, optional
        Draw the triangle; by default where every pair of three variables and more is there.
    stars : bool
        Stars for the p-values.
    labels : Mapping, optional
        Names and order of columns' values, see `Labels`; `{"x": ["prob", "iou"]}` orders a triangle.
    digits : int
        Decimals of correlations and limits.
    n_tests, adjust, style, title
        As for `table_estimates`.

    Returns
    -------
    GT
        A great-tables table; notes name the coefficient, the interval, n, missing pairs and the test.

    Raises
    ------
    SalstatsError
        No column `estimate`, `x` or `y`; a grouping column has no place; two correlations in one cell;
        `matrix=True` with one pair.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> iou = ss.datasets.load_simulated().query("metric == 'iou'")
    >>> first_views = iou[iou["case"] == iou.groupby("patient")["case"].transform("min")]
    >>> found = ss.correlate(first_views, "iou", "prob", by=["method", "task"])
    >>> isinstance(ss.table_correlation(found), GT)
    True
    """
    frame = check_display(correlations, digits, style, "correlations", ("estimate", "x", "y"))
    names = Labels(labels, frame)
    keys = [*grouping_columns(frame), *(["term"] if "term" in frame and varies(frame, "term") else [])]
    given = stars_of(frame, stars, n_tests, adjust)
    known = COEFFICIENTS.get(str(notes.single(frame, "term")))
    heading = notes.with_interval("Correlation" if known is None else known.heading, frame)
    value = Value(heading, interval_texts(frame, digits, style, given.texts))
    triangle = _is_triangle(frame, keys) if matrix is None else matrix
    if triangle:
        table, constant = _triangle(frame, keys, names, value)
        about = ""
    else:
        placement = place(frame, [*keys, "x", "y"], rows, columns, groups)
        constant = [c for c in placement.constant if c not in ("x", "y")]
        about = _about(frame, placement.constant, names)
        table = fill(lay_out(frame, placement, names), [value], names)
    of_units = frame["interval"].eq("cr2").all() if "interval" in frame else False
    test = "z test" if "stratum" in frame.columns else known and known.test
    test = "t test on Fisher's z scale" if of_units else test
    about = notes.paragraph(about, covariates_note(frame, names), _stratum_note(frame, names))
    general, statistics = notes.estimates_note(frame, names, constant, ("pair", "incomplete"), about)
    statistics = notes.paragraph(
        statistics,
        "" if of_units else _repeats_note(frame),
        f"P values: two-sided, {test}." if given.note and known else "",
    )
    symbols = notes.paragraph(given.note, notes.dash_note(table.cells))
    turns = table.turns and not triangle
    table = replace(table, notes=(general, statistics), symbols=symbols, title=title, turns=turns)
    return build(table, "salstats-correlation")


def _about(frame: pd.DataFrame, constant: Sequence[str], labels: Labels) -> str:
    """What is correlated, of the two what is the same everywhere."""
    same = [labels.value(c, frame[c].iloc[0]) for c in ("x", "y") if c in constant]
    if not same:
        return ""
    return f"Correlation of {same[0]} and {same[1]}." if len(same) == 2 else f"Correlation with {same[0]}."


def _stratum_note(frame: pd.DataFrame, labels: Labels) -> str:
    """What correlations were made within."""
    stratum = notes.single(frame, "stratum")
    if stratum is None:
        return ""
    return f"Within values of {labels.column(str(stratum))}, combined on Fisher's z scale."


def _repeats_note(frame: pd.DataFrame) -> str:
    """That pairs of one unit count as independent, where there are several."""
    unit = notes.single(frame, "unit")
    if unit is None or not (numbers(frame, "n_units") < numbers(frame, "n")).any():
        return ""
    return f"Pairs of one {str(unit).replace('_', ' ')} are taken as independent."


def _is_triangle(frame: pd.DataFrame, keys: Sequence[str]) -> bool:
    """Whether every pair of three variables and more is there, once in each group."""
    pairs = {frozenset(pair) for pair in zip(frame["x"], frame["y"], strict=True)}
    n_variables = len({v for pair in pairs for v in pair})
    n_groups = len(frame[list(keys)].drop_duplicates()) if keys else 1
    return (
        n_variables > 2
        and len(pairs) == n_variables * (n_variables - 1) / 2
        and len(frame) == len(pairs) * n_groups
    )


def _triangle(
    frame: pd.DataFrame, keys: Sequence[str], labels: Labels, value: Value
) -> tuple[Table, list[str]]:
    """The lower triangle of each group, and the grouping columns that do not vary."""
    pairs = list(zip(frame["x"], frame["y"], strict=True))
    variables = labels.order("x", [v for pair in pairs for v in pair])
    if len(variables) < 3:
        raise SalstatsError("matrix=True needs the correlations of three variables and more")
    ends = zip(*(sorted(pair, key=variables.index) for pair in pairs), strict=True)
    earlier, later = (pd.Categorical(end, variables) for end in ends)
    groups = tuple(c for c in keys if varies(frame, c))
    slots = lay_out(frame.assign(x=earlier, y=later), Placement(("y",), ("x",), groups), labels)
    table = fill(slots, [value], labels)
    place = {labels.value(c, v): i for i, v in enumerate(variables) for c in ("x", "y")}
    for cells, (row,) in zip(table.cells, slots.rows, strict=True):
        for j, (column,) in enumerate(slots.columns):
            cells[j] = "" if place[column] >= place[row] else cells[j]
    return table, [c for c in keys if c not in groups]
