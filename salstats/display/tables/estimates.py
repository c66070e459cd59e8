"""Means and other estimates as a table: methods beside each other, the best in bold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.checks import check_columns
from salstats.display.tables import notes
from salstats.display.tables.grid import (
    check_display,
    count_nouns,
    estimates_grid,
    interval_texts,
    value_heading,
)
from salstats.display.tables.layout import build
from salstats.display.tables.marks import best_rows, differing_rows, stars_of
from salstats.display.tables.placement import grouping_columns, lay_out, place, varies
from salstats.display.text.labels import Labels


def table_estimates(
    estimates: pd.DataFrame,
    *,
    rows: str | Sequence[str] | None = None,
    columns: str | Sequence[str] | None = None,
    groups: str | Sequence[str] | None = None,
    bold: bool | str | Sequence[str] = True,
    exclude: str | Sequence[str] = (),
    directions: Mapping[str, str] | None = None,
    differences: pd.DataFrame | None = None,
    n: bool = False,
    stars: bool = False,
    n_tests: int | None = None,
    adjust: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int = 3,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """Estimates with their intervals as a table for a paper.

    Each grouping column of the frame finds a place. By default tasks are rows, methods columns and
    metrics groups of rows; without tasks methods are rows and metrics columns; what else varies (a data
    set, a model, a way of mixing) stands above the columns, or beside the rows where only some rows have
    a value of it. What does not vary is said in a note. Rows "Average" and "Overall" are set apart.

    Parameters
    ----------
    estimates : DataFrame
        An estimates frame, such as of `summarize` or `auroc`: grouping columns, `estimate`, and where
        they are there `conf_low, conf_high, p_value, n, ...`.
    rows, columns, groups : str or sequence of str, optional
        Grouping columns that stand as rows, as columns (outermost first) and as groups of rows.
    bold : bool, str or sequence of str
        Print the best estimate in bold: among methods (True), or over the values of the columns named.
        The direction is the metric's; none is bold for a metric that is not known, see `directions`.
        Ties are all bold, compared unrounded.
    exclude : str or sequence of str
        Methods that may not be the best, such as baselines; by default all compete.
    directions : Mapping, optional
        Metric -> "larger" or "smaller", which of its scores is the better one, where the package does not
        know the metric.
    differences : DataFrame, optional
        A frame of `difference` or `percent_decrease` with the same grouping columns: estimates whose
        paired difference from the reference has a verdict are underlined.
    n : bool
        Give the number of scores: in one column where it is the same for all columns, else in each.
    stars : bool
        Stars for the p-values.
    n_tests : int, optional
        Number of tests that the levels of the stars are divided by. By default `p_adjusted` is used where
        the frame has it, else the levels are divided by the number of tests in the table.
    adjust : str, optional
        Procedure behind `p_adjusted`, for the notes, as `adjust()` spells it; by default what the
        column `procedure` says.
    labels : Mapping, optional
        Names and order of columns' values, see `Labels`.
    digits : int
        Decimals of estimates and limits.
    style : {"nature", "radiology", "ama", "brackets"}
        How the journal writes numbers.
    title : str, optional
        Heading of the table.

    Returns
    -------
    GT
        A great-tables table; notes say what the intervals are, n, missing scores and what marks mean.

    Raises
    ------
    ColumnError
        No column `estimate`; a column of an option is no grouping column; a grouping column has no place.
    SalstatsError
        Two estimates in one cell; labels that make two values the same.
    ValueRangeError
        An unknown style; `exclude` names what is not there.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> means = ss.summarize(ss.datasets.load_simulated(), by=["metric", "method"], n_replicates=200)
    >>> table = ss.table_estimates(means, exclude=["human"], labels={"gradcam": "Grad-CAM (ours)"})
    >>> isinstance(table, GT)
    True
    """
    frame = check_display(estimates, digits, style).reset_index(drop=True)
    check_columns(frame, ["n"] if n else [], "estimates, for n=True,")
    names = Labels(labels, frame)
    keys = [*grouping_columns(frame), *(c for c in ("reference", "term") if c in frame and varies(frame, c))]
    placement = place(frame, keys, rows, columns, groups)
    slots = lay_out(frame, placement, names)
    given = stars_of(frame, stars, n_tests, adjust)
    best, best_said = _best(frame, keys, bold, exclude, names, directions)
    differing: set[int] = set()
    underline_said = ""
    if differences is not None:
        differing, untested = differing_rows(frame, keys, differences)
        underline_said = notes.underline_note(differences, len(differing), untested, names, adjust)
    heading = value_heading(frame, placement, names)
    texts = interval_texts(frame, digits, style, given.texts)
    table = estimates_grid(frame, slots, names, heading, texts, n=n, bold=best, underline=differing)
    said = [
        c
        for c in (*placement.constant, "reference")
        if c != "metric" and c in frame and c not in placement.placed
    ]
    tested = f"{notes.source_of_p(frame)}." if given.note and notes.source_of_p(frame) else ""
    below = [
        notes.paragraph(
            notes.constant_note(frame, said, names),
            notes.interval_note(frame),
            notes.count_note(frame, *count_nouns(frame)),
            notes.undefined_note(frame),
            notes.last_note(frame),
            notes.how_note(frame, names),
            notes.metric_note(frame),
        ),
        notes.paragraph(best_said, underline_said, tested, given.note, notes.dash_note(table.cells)),
    ]
    return build(replace(table, notes=below, title=title), "salstats-estimates")


def _best(
    frame: pd.DataFrame,
    keys: Sequence[str],
    bold: bool | str | Sequence[str],
    exclude: str | Sequence[str],
    labels: Labels,
    directions: Mapping[str, str] | None,
) -> tuple[set[int], str]:
    """The rows of the best estimates and the note on them."""
    if isinstance(bold, bool):
        over = ["method"] if bold and "method" in keys else []
    else:
        over = [bold] if isinstance(bold, str) else list(bold)
        check_columns(frame[list(keys)], over, "the grouping columns")
    if not over:
        return set(), ""
    exclude = [exclude] if isinstance(exclude, str) else list(exclude)
    best = best_rows(frame, keys, over, exclude, directions)
    said = notes.best_note(best, over, exclude, labels)
    if best.rows and _of_other_cases(frame, best.within):
        said += " Where n differs, means are of other cases; paired differences compare them fairly."
    return best.rows, said


def _of_other_cases(frame: pd.DataFrame, within: Sequence[str]) -> bool:
    """Whether estimates that compete rest on different numbers of scores."""
    if "n" not in frame.columns:
        return False
    counts = frame.groupby(list(within))["n"].nunique() if within else frame[["n"]].nunique()
    return bool((counts > 1).any())
