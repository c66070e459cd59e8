"""Correlations as a table: by group, or a triangle of many variables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.checks import SalstatsError
from salstats.display.estimates import Estimates
from salstats.display.facts import clustering_sentence, paragraph, with_interval
from salstats.display.tables import notes
from salstats.display.tables.grid import Value, check_display, fill, interval_texts
from salstats.display.tables.layout import build
from salstats.display.tables.marks import stars_of
from salstats.display.tables.placement import Placement, lay_out, place
from salstats.display.tables.record import Table
from salstats.display.text.correlation import covariates_note
from salstats.display.text.labels import Labels
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS
from salstats.stats.engine.coefficients import Record


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
    needed = ("estimate", "x", "y")
    estimates = check_display(correlations, digits, style, "correlations", needed).adjusted_by(adjust)
    frame = estimates.frame
    names = Labels(labels, frame)
    keys = [key for key in estimates.keys if key not in ("x", "y")]
    if estimates.varies("term"):
        keys.append("term")
    given = stars_of(estimates, stars, n_tests)
    known = COEFFICIENTS.get(str(estimates.term))
    heading = with_interval("Correlation" if known is None else known.heading, estimates)
    value = Value(heading, interval_texts(estimates, digits, style, given.texts))
    triangle = _is_triangle(frame, keys) if matrix is None else matrix
    if triangle:
        table, constant = _triangle(estimates, keys, names, value)
        about = ""
    else:
        placement = place(estimates, [*keys, "x", "y"], rows, columns, groups)
        constant = [c for c in placement.constant if c not in ("x", "y")]
        about = _about(estimates, placement.constant, names)
        table = fill(lay_out(frame, placement, names), [value], names)
    about = paragraph(about, covariates_note(frame, names), _stratum_note(estimates, names))
    general, statistics = notes.estimates_note(estimates, names, constant, ("pair", "incomplete"), about)
    test = _test_text(estimates, known)
    statistics = paragraph(
        statistics,
        clustering_sentence(estimates),
        f"P values: two-sided, {test}." if given.note and test else "",
    )
    symbols = paragraph(given.note, notes.dash_note(table.cells))
    turns = table.turns and not triangle
    table = replace(table, notes=(general, statistics), symbols=symbols, title=title, turns=turns)
    return build(table, "salstats-correlation")


def _test_text(estimates: Estimates, known: Record | None) -> str:
    """Return the test that P values come from."""
    if estimates.values("interval") == ["cr2"]:
        return "t test on Fisher's z scale"
    if known is None:
        return ""
    return "z test" if estimates.values("stratum") else known.test


def _about(estimates: Estimates, constant: Sequence[str], labels: Labels) -> str:
    """Say what is correlated, of the two what is the same everywhere."""
    same = [labels.value(c, estimates.values(c)[0]) for c in ("x", "y") if c in constant]
    if not same:
        return ""
    return f"Correlation of {same[0]} and {same[1]}." if len(same) == 2 else f"Correlation with {same[0]}."


def _stratum_note(estimates: Estimates, labels: Labels) -> str:
    """Say what correlations were made within."""
    stratum = estimates.single("stratum")
    if stratum is None:
        return ""
    return f"Within values of {labels.column(str(stratum))}, combined on Fisher's z scale."


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
    estimates: Estimates, keys: Sequence[str], labels: Labels, value: Value
) -> tuple[Table, list[str]]:
    """Return the lower triangle of each group, and the grouping columns that do not vary."""
    frame = estimates.frame
    pairs = list(zip(frame["x"], frame["y"], strict=True))
    variables = labels.order("x", [v for pair in pairs for v in pair])
    if len(variables) < 3:
        raise SalstatsError("matrix=True needs the correlations of three variables and more")
    ends = zip(*(sorted(pair, key=variables.index) for pair in pairs), strict=True)
    earlier, later = (pd.Categorical(end, variables) for end in ends)
    groups = tuple(c for c in keys if estimates.varies(c))
    slots = lay_out(frame.assign(x=earlier, y=later), Placement(("y",), ("x",), groups), labels)
    table = fill(slots, [value], labels)
    place = {labels.value(c, v): i for i, v in enumerate(variables) for c in ("x", "y")}
    for cells, (row,) in zip(table.cells, slots.rows, strict=True):
        for j, (column,) in enumerate(slots.columns):
            cells[j] = "" if place[column] >= place[row] else cells[j]
    return table, [c for c in keys if c not in groups]
