"""Means and other estimates as a table: methods beside each other, the best in bold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.checks import SalstatsError, check_columns
from salstats.display.tables import notes
from salstats.display.tables.grid import Value, bounds_values, check_display, fill, interval_texts
from salstats.display.tables.layout import build
from salstats.display.tables.marks import best_rows, differing_rows, numbers, stars_of
from salstats.display.tables.placement import (
    Placement,
    grouping_columns,
    lay_out,
    place,
    rows_of_term,
    varies,
)
from salstats.display.text.format import count_text, counted_range, joined
from salstats.display.text.labels import Labels
from salstats.display.text.margins import margin_marks, margin_note
from salstats.display.text.models import is_marginal, marginal_note, marginal_text
from salstats.display.text.vocabulary import TERMS
from salstats.stats.agreement.records import is_agreement, short_label
from salstats.stats.fixed_factors import FIXED, NOUNS


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
    a value of it. What does not vary is said in a note. Rows "Average" and "Overall" are set apart. Where
    the table would be wider than a page, rows, columns and groups change places so that it fits.

    Parameters
    ----------
    estimates : DataFrame
        An estimates frame, such as of `summarize` or `auroc`: grouping columns, `estimate`, and where
        they are there `conf_low, conf_high, p_value, n, ...`; `bound_low, bound_high` of `missing_bounds`
        stand in a column of their own. Of a frame of `mrmc` the means are shown, its differences are
        underlined (from a reference), and a note gives the test that all are equal.
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
        paired difference from the reference is significant are underlined, and those that lie inside its
        margin have a dagger.
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
        Decimals of estimates and limits; significant digits of small variances.
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
        A significance map; two estimates in one cell; labels that make two values the same.
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
    needed = ("estimate", "n") if n else ("estimate",)
    every = check_display(estimates, digits, style, "estimates", needed)
    if "better" in every.columns:
        raise SalstatsError(
            "estimates is a significance map, which plot_significance() draws; rank_limits() makes estimates "
            "of it"
        )
    frame = rows_of_term(every, "mean")
    if frame is not every and differences is None:
        compared = rows_of_term(every, "difference")
        differences = compared if compared["reference"].nunique() == 1 else None
    names = Labels(labels, frame)
    if notes.single(frame, "figure") == "auc" and "metric" in frame:
        directions = dict.fromkeys(frame["metric"], "larger")
    keys = [
        *grouping_columns(frame),
        *(c for c in ("reference", "group", "term") if c in frame and varies(frame, c)),
    ]
    placement = place(frame, keys, rows, columns, groups)
    slots = lay_out(frame, placement, names)
    given = stars_of(frame, stars, n_tests, adjust)
    best, best_said = _best(frame, keys, bold, exclude, names, directions)
    differing, underline_said = set[int](), margin_note(frame, names, style)
    marks = [*map(str.__add__, given.texts, margin_marks(frame))]
    if differences is not None:
        differing, inside, untested = differing_rows(frame, keys, differences)
        marks = [*map(str.__add__, marks, inside)]
        underline_said = notes.paragraph(
            notes.underline_note(differences, len(differing), untested, names, adjust),
            underline_said or margin_note(differences, names, style),
        )
    texts = interval_texts(frame, digits, style, marks)
    bounds = bounds_values(frame, digits, style)
    values = [Value(_heading(frame, placement, names), texts, bold=best, underline=differing), *bounds]
    front: list[Value] = []
    if n:
        counts = numbers(frame, "n")
        counted = Value(names.column("n"), [count_text(v) for v in counts], "right")
        each = any(
            len({counts[i] for i in row if i >= 0 and counts[i] == counts[i]}) > 1 for row in slots.index
        )
        values, front = ([counted, *values], []) if each else (values, [counted])
    table = fill(slots, values, names, front)
    placed = ("metric", *placement.placed)
    said = [c for c in (*placement.constant, "reference") if c in frame and c not in placed]
    source = notes.source_of_p(frame)
    about = notes.paragraph(_raters_note(frame), marginal_note(frame, names))
    general, statistics = notes.estimates_note(frame, names, said, _count_nouns(frame), about)
    statistics = notes.paragraph(
        statistics,
        notes.BOUNDS if bounds else "",
        f"{source}." if given.note and source else "",
        notes.equal_note(every, names, style),
    )
    symbols = notes.paragraph(best_said, underline_said, given.note, notes.dash_note(table.cells))
    table = replace(table, notes=(general, statistics), symbols=symbols, title=title)
    return build(table, "salstats-estimates")


def _heading(frame: pd.DataFrame, placement: Placement, labels: Labels) -> str:
    """What a cell gives: "IoU, mean (95% CI)"."""
    term = notes.single(frame, "term")
    if is_marginal(frame):
        return notes.with_interval(marginal_text(frame, labels), frame)
    known = TERMS.get("auroc" if (term, notes.single(frame, "figure")) == ("mean", "auc") else str(term))
    what = known.name if known else labels.term(str(term)) if term is not None else "estimate"
    if known is None and "parameter" in frame.columns:
        what = joined(frame["parameter"].unique(), "or")
    if "metric" in placement.constant:
        what = f"{labels.value('metric', frame['metric'].iloc[0])}, {what}"
    return notes.with_interval(f"{what[0].upper()}{what[1:]}", frame)


def _raters_note(frame: pd.DataFrame) -> str:
    """How many raters agree on how many cases, and whom coefficients of readers at large speak of."""
    if not is_agreement(frame) or "n_raters" not in frame.columns:
        return ""
    over = str(notes.single(frame, "over") or "rater")
    text = (
        f"Agreement of {counted_range(numbers(frame, 'n_raters'), over)} on "
        f"{counted_range(numbers(frame, 'n_cases'), 'case')}."
    )
    whose = frame.get("inference_to")
    if over not in NOUNS or whose is None or whose.nunique() < 2:
        return text
    others = NOUNS[over]
    terms = frame.loc[whose.isin(list(FIXED)), "term"].unique()
    fixed = joined([short_label(term) for term in terms])
    return f"{text} Intervals of {fixed} speak of these {others}, the others of {others} in general."


def _count_nouns(frame: pd.DataFrame) -> tuple[str, str]:
    """What is counted in n and what its missing are."""
    if is_agreement(frame):
        return "reading", "missing or the only one of a case"
    if "n_pairs" in frame.columns:
        return "pair", "incomplete"
    if "n_positive" in frame.columns:
        return "case", "incomplete"
    if "n_repeats" in frame.columns:
        return "repeated case", "scored once"
    # a row of a regression may lack a covariate, too
    return "score", "missing" if "formula" in frame.columns else "undefined"


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
        # agreement is no score: what is best of an error would be the worst of its correlation
        known = bold and "method" in keys and not is_agreement(frame)
        over = ["method"] if known else []
    else:
        over = [bold] if isinstance(bold, str) else list(bold)
        check_columns(frame[list(keys)], over, "the grouping columns")
    if not over:
        return set(), ""
    exclude = [exclude] if isinstance(exclude, str) else list(exclude)
    best = best_rows(frame, keys, over, exclude, directions)
    said = notes.best_note(best, over, exclude, labels)
    term = TERMS.get(str(notes.single(frame, "term")))
    if best.rows and "n" in frame.columns and notes.is_paired(frame) and not (term and term.contrast):
        within = list(best.within)
        counts = frame.groupby(within)["n"].nunique() if within else frame[["n"]].nunique()
        if (counts > 1).any():
            what = f"{term.name}s" if term else "estimates"
            said += f" Where n differs, {what} are of other cases; paired differences compare them fairly."
    return best.rows, said
