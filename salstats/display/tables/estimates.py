"""Means and other estimates as a table: methods beside each other, the best in bold."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from great_tables import GT

from salstats.checks import SalstatsError, check_columns
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.facts import BOUNDS, capitalized, p_value_text, paragraph, with_interval
from salstats.display.tables import notes
from salstats.display.tables.grid import Value, bounds_values, check_display, fill, interval_texts
from salstats.display.tables.layout import build
from salstats.display.tables.marks import best_rows, differing_rows, stars_of
from salstats.display.tables.placement import Placement, lay_out, place
from salstats.display.text.format import count_text, counted_range, joined
from salstats.display.text.labels import Labels
from salstats.display.text.margins import margin_marks, margin_note
from salstats.display.text.models import is_marginal, marginal_note, marginal_text
from salstats.display.text.vocabulary import TERMS
from salstats.stats.agreement.records import is_agreement, short_label
from salstats.stats.engine.fixed_factors import FIXED, NOUNS


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
    every = check_display(estimates, digits, style, "estimates", needed).adjusted_by(adjust)
    if every.values("better"):
        raise SalstatsError(
            "estimates is a significance map, which plot_significance() draws; rank_limits() makes estimates "
            "of it"
        )
    shown = every.of_term("mean")
    frame = shown.frame
    names = Labels(labels, frame)
    compared = _compared(every, shown, differences, adjust)
    if shown.single("figure") == "auc":
        directions = dict.fromkeys(shown.values("metric"), "larger")
    further = [c for c in ("reference", "group", "term") if c not in shown.keys and shown.varies(c)]
    keys = [*shown.keys, *further]
    placement = place(shown, keys, rows, columns, groups)
    slots = lay_out(frame, placement, names)
    given = stars_of(shown, stars, n_tests)
    best, best_said = _best(shown, keys, bold, exclude, names, directions)
    marks = [star + margin for star, margin in zip(given.texts, margin_marks(shown), strict=True)]
    differing, underline_said, margins = set[int](), "", margin_note(shown, names, style)
    if compared is not None:
        tested = differing_rows(shown, keys, compared)
        differing = tested.rows
        marks = [mark + margin for mark, margin in zip(marks, tested.marks, strict=True)]
        underline_said = notes.underline_note(compared, len(differing), tested.n_untested, names)
        margins = margins or margin_note(compared, names, style)
    texts = interval_texts(shown, digits, style, marks)
    bounds = bounds_values(shown, digits, style)
    values = [Value(_heading(shown, placement, names), texts, bold=best, underline=differing), *bounds]
    front: list[Value] = []
    if n:
        counts = shown.numbers("n")
        counted = Value(names.column("n"), [count_text(v) for v in counts], "right")
        each = any(
            len({counts[i] for i in row if i >= 0 and counts[i] == counts[i]}) > 1 for row in slots.index
        )
        values, front = ([counted, *values], []) if each else (values, [counted])
    table = fill(slots, values, names, front)
    placed = ("metric", *placement.placed)
    said = [c for c in (*placement.constant, "reference") if shown.values(c) and c not in placed]
    source = p_value_text(shown)
    about = paragraph(_raters_note(shown), marginal_note(shown, names))
    general, statistics = notes.estimates_note(shown, names, said, _count_nouns(shown), about)
    statistics = paragraph(
        statistics,
        BOUNDS if bounds else "",
        f"{source}." if given.note and source else "",
        notes.equal_note(every, names, style),
    )
    # that nothing is underlined is a result, and stands where there are no marks too
    mark_note = paragraph(best_said, underline_said if differing else "")
    nothing = "" if differing else underline_said
    symbols = paragraph(nothing, margins, given.note, notes.dash_note(table.cells))
    table = replace(table, notes=(general, statistics), marks=mark_note, symbols=symbols, title=title)
    return build(table, "salstats-estimates")


def _compared(
    every: Estimates, shown: Estimates, differences: pd.DataFrame | None, adjust: str | None
) -> Estimates | None:
    """Return the differences that underline: those given, or those of `mrmc` from one reference."""
    if differences is not None:
        needed = ("method", "reference", "verdict")
        return read_estimates(differences, "differences", needed).adjusted_by(adjust)
    if shown is every:
        return None
    compared = every.of_term("difference")
    return compared if len(compared.values("reference")) == 1 else None


def _heading(estimates: Estimates, placement: Placement, labels: Labels) -> str:
    """Return what a cell gives: "IoU, mean (95% CI)"."""
    if is_marginal(estimates):
        return with_interval(marginal_text(estimates, labels), estimates)
    term = estimates.term
    if term == "mean" and estimates.single("figure") == "auc":
        term = "auroc"
    known = TERMS.get(str(term))
    if known is not None:
        what = known.name
    elif estimates.values("parameter"):
        what = joined([str(parameter) for parameter in estimates.values("parameter")], "or")
    else:
        what = "estimate" if term is None else labels.term(term)
    if "metric" in placement.constant:
        what = f"{labels.value('metric', estimates.values('metric')[0])}, {what}"
    return with_interval(capitalized(what), estimates)


def _raters_note(estimates: Estimates) -> str:
    """Say how many raters agree on how many cases, and whom coefficients of readers at large speak of."""
    if not is_agreement(estimates.frame) or not estimates.values("n_raters"):
        return ""
    over = str(estimates.single("over") or "rater")
    text = (
        f"Agreement of {counted_range(estimates.known('n_raters'), over)} on "
        f"{counted_range(estimates.known('n_cases'), 'case')}."
    )
    if over not in NOUNS or len(estimates.values("inference_to")) < 2:
        return text
    others = NOUNS[over]
    of_these = estimates.where(estimates.frame["inference_to"].isin(list(FIXED)))
    fixed = joined([short_label(term) for term in of_these.values("term")])
    return f"{text} Intervals of {fixed} speak of these {others}, the others of {others} in general."


def _count_nouns(estimates: Estimates) -> tuple[str, str]:
    """Return what is counted in n and what its missing are."""
    if is_agreement(estimates.frame):
        return "reading", "missing or the only one of a case"
    if estimates.values("n_pairs"):
        return "pair", "incomplete"
    if estimates.values("n_positive"):
        return "case", "incomplete"
    if estimates.values("n_repeats"):
        return "repeated case", "scored once"
    # a row of a regression may lack a covariate, too
    return "score", "missing" if estimates.values("formula") else "undefined"


def _best(
    estimates: Estimates,
    keys: Sequence[str],
    bold: bool | str | Sequence[str],
    exclude: str | Sequence[str],
    labels: Labels,
    directions: Mapping[str, str] | None,
) -> tuple[set[int], str]:
    """The rows of the best estimates and the note on them."""
    if isinstance(bold, bool):
        # agreement is no score: what is best of an error would be the worst of its correlation
        known = bold and "method" in keys and not is_agreement(estimates.frame)
        over = ["method"] if known else []
    else:
        over = [bold] if isinstance(bold, str) else list(bold)
        check_columns(estimates.frame[list(keys)], over, "the grouping columns")
    if not over:
        return set(), ""
    exclude = [exclude] if isinstance(exclude, str) else list(exclude)
    best = best_rows(estimates, keys, over, exclude, directions)
    said = notes.best_note(best, over, exclude, labels)
    term = TERMS.get(str(estimates.term))
    is_contrast = term is not None and term.contrast
    if best.rows and estimates.values("n") and notes.is_paired(estimates) and not is_contrast:
        within, frame = list(best.within), estimates.frame
        counts = frame.groupby(within)["n"].nunique() if within else frame[["n"]].nunique()
        if (counts > 1).any():
            what = f"{term.name}s" if term else "estimates"
            said += f" Where n differs, {what} are of other cases; paired differences compare them fairly."
    return best.rows, said
