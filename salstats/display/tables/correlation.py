"""Table of correlations: by group, or a triangle of many variables."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.display.estimates import Estimates, chosen_or_recorded_references
from salstats.display.facts import (
    adjustment_text,
    clustering_or_independence_sentence,
    heading_with_interval,
    paragraph,
)
from salstats.display.tables import notes
from salstats.display.tables.great_table import great_table
from salstats.display.tables.grid import (
    TableQuantity,
    estimate_and_interval_texts,
    p_value_and_margin_p_quantities_if_any,
    quantity_table,
    read_estimates_to_show,
)
from salstats.display.tables.marks import star_texts_and_note
from salstats.display.tables.placement import ColumnPlacement, choose_placement, grid_of_frame_row_numbers
from salstats.display.tables.record import Table
from salstats.display.text.correlation import (
    adjusted_for_covariates_note,
    stratum_note,
    variables_shared_by_correlations_note,
)
from salstats.display.text.labels import Labels
from salstats.errors import Message, SalstatsError, Setting
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS
from salstats.stats.engine.coefficients import CoefficientRecord


def table_correlation(
    correlations: pd.DataFrame,
    *,
    rows: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    groups: str | Sequence[str] | None = None,
    matrix: bool | None = None,
    stars: bool = False,
    n_tests: int | None = None,
    adjust: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int = 2,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """Tabulate correlations with their intervals for a paper.

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
        Draw the triangle; by default where every pair of three variables and more is there, and none of
        `rows`, `columns` and `groups` is given.
    stars : bool
        Stars for the p-values. Adjusted ones stand in a column beside the correlations where the frame has
        `p_adjusted`, except in a triangle.
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
        `matrix=True` with one pair, or with `rows`, `columns` or `groups`.

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
    required_columns = ("estimate", "x", "y")
    estimates = read_estimates_to_show(correlations, digits, style, "correlations", required_columns)
    estimates = estimates.with_procedure_column(adjust)
    frame = estimates.frame
    names = Labels(labels, frame).with_references_first(chosen_or_recorded_references(estimates))
    keys = [key for key in estimates.keys if key not in ("x", "y")]
    if estimates.varies("term"):
        keys.append("term")
    star_texts = star_texts_and_note(estimates, stars, n_tests)
    coefficient = COEFFICIENTS.get(str(estimates.only_term))
    name = "Correlation"
    if coefficient is not None:
        name = coefficient.heading
    texts = estimate_and_interval_texts(estimates, digits, style, star_texts.texts)
    value = TableQuantity(heading_with_interval(name, estimates), texts)
    placement_options = {"rows": rows, "columns": columns, "groups": groups}
    given_options = [name for name, value in placement_options.items() if value is not None]
    if matrix and given_options:
        raise SalstatsError(
            Setting("matrix", True),
            " has rows, columns and groups of its own",
            hint=Message("leave out ", Setting(given_options[0])),
            option=given_options[0],
            value=placement_options[given_options[0]],
        )
    is_triangle = matrix
    if is_triangle is None:
        is_triangle = not given_options and _has_full_triangle_per_group(frame, keys)
    variables_note = ""
    p_values: list[TableQuantity] = []
    if estimates.has_adjusted_p_values and not is_triangle:
        # adjusted P values are shown without an option, as the user asked for the adjustment
        p_values = p_value_and_margin_p_quantities_if_any(estimates, style)
    if is_triangle:
        groups_of_triangles = tuple(key for key in keys if estimates.varies(key))
        table = _triangle_table(frame, groups_of_triangles, names, value)
        constant = [key for key in keys if key not in groups_of_triangles]
    else:
        placement = choose_placement(estimates, [*keys, "x", "y"], rows, columns, groups)
        table = quantity_table(grid_of_frame_row_numbers(frame, placement, names), [value, *p_values], names)
        constant = [column for column in placement.constant if column not in ("x", "y")]
        variables_note = variables_shared_by_correlations_note(estimates, names)
    subject_note = paragraph(
        variables_note, adjusted_for_covariates_note(estimates, names), stratum_note(estimates, names)
    )
    nouns = notes.CountedNounAndMissingAdjective("pair", "incomplete")
    table_notes = notes.estimates_notes(estimates, names, constant, nouns, subject_note)
    p_value_note = ""
    test = _name_of_p_value_test(estimates, coefficient)
    if p_values:
        tested_by = f"two-sided, {test}; " if test else ""
        p_value_note = f"P values: {tested_by}adjusted ({adjustment_text(estimates)})."
    elif star_texts.note and test:
        p_value_note = f"P values: two-sided, {test}."
    clustering_note = clustering_or_independence_sentence(estimates)
    if not p_value_note and estimates.distinct_values("interval") == ["cr2"]:
        # the note on the interval names its clusters
        clustering_note = ""
    statistics = paragraph(table_notes.statistics, clustering_note, p_value_note)
    table = replace(
        table,
        notes=(table_notes.subject, statistics),
        symbol_note=paragraph(star_texts.note, notes.dash_note(table.cells)),
        title=title,
        may_rearrange=table.may_rearrange and not is_triangle,
    )
    return great_table(table, "salstats-correlation")


def _name_of_p_value_test(estimates: Estimates, coefficient: CoefficientRecord | None) -> str:
    """Return the test behind the P values, "" where it is not known."""
    if estimates.distinct_values("interval") == ["cr2"]:
        return "t test on Fisher's z scale"
    if coefficient is None:
        return ""
    if estimates.distinct_values("stratum"):
        return "z test"
    return coefficient.test


def _has_full_triangle_per_group(frame: pd.DataFrame, groups: Sequence[str]) -> bool:
    """Return whether a frame has every pair of at least three variables, once in each group."""
    # "x, y" and "y, x" are one pair
    pairs = {frozenset(pair) for pair in zip(frame["x"], frame["y"], strict=True)}
    n_variables = len(set().union(*pairs))
    n_possible_pairs = math.comb(n_variables, 2)
    n_groups = 1
    if groups:
        n_groups = len(frame[list(groups)].drop_duplicates())
    has_every_pair = len(pairs) == n_possible_pairs
    return n_variables > 2 and has_every_pair and len(frame) == len(pairs) * n_groups


def _triangle_table(
    frame: pd.DataFrame, groups: tuple[str, ...], labels: Labels, value: TableQuantity
) -> Table:
    """Return a table with a lower triangle of pairs of variables for each group."""
    variables = labels.order("x", frame[["x", "y"]].to_numpy().ravel())
    if len(variables) < 3:
        raise SalstatsError(Setting("matrix", True), " needs the correlations of three variables and more")
    # in the lower triangle the first variable of a pair stands in the column, the second in the row
    first_variables = []
    second_variables = []
    for pair in zip(frame["x"], frame["y"], strict=True):
        first, second = sorted(pair, key=variables.index)
        first_variables.append(first)
        second_variables.append(second)
    column_variable = pd.Categorical(first_variables, variables)
    row_variable = pd.Categorical(second_variables, variables)
    placement = ColumnPlacement(rows=("y",), columns=("x",), groups=groups)
    grid = grid_of_frame_row_numbers(frame.assign(x=column_variable, y=row_variable), placement, labels)
    table = quantity_table(grid, [value], labels)
    positions = {}
    for position, variable in enumerate(variables):
        # labels of "x" and of "y" may differ
        positions[labels.value("x", variable)] = position
        positions[labels.value("y", variable)] = position
    for cells, (row_label,) in zip(table.cells, grid.row_labels, strict=True):
        for column, (column_label,) in enumerate(grid.column_labels):
            if positions[column_label] >= positions[row_label]:
                # on or above the diagonal
                cells[column] = ""
    return table
