"""Forest of subgroups, with columns of text beside it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, ValueRangeError, check_choice, check_count, quoted
from salstats.display.estimates import Estimates, check_distinct, read_estimates
from salstats.display.facts import (
    count_sentence,
    interval_caption,
    not_drawn_sentence,
    p_value_sentence,
    with_interval,
)
from salstats.display.plots.decrease import contrast_title, interval_texts
from salstats.display.plots.layout.captions import (
    axis_text,
    bars_on_log_axis,
    effect_text,
    is_ratio,
    margin_notes,
    scope_note,
)
from salstats.display.plots.layout.drawing import drawn_rows, guide_at, margin_lines, panel_texts, quantity
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.figure_rows import Rows, closing, row_layout
from salstats.display.plots.layout.row_panels import fits, fitting_rows, row_figure
from salstats.display.plots.layout.text_fit import LABEL_CHARS, crossed, indented, short_labels
from salstats.display.plots.layout.theme import COLUMN_MM
from salstats.display.text.format import STYLES, count_range, count_text, p_used, row_p_text
from salstats.display.text.labels import LAST, Labels
from salstats.display.text.margins import pairs_as_methods
from salstats.display.text.models import (
    as_deviations,
    is_marginal,
    marginal_note,
    marginal_text,
    outcome_text,
    term_names,
)
from salstats.display.text.vocabulary import CONTRASTS, TERMS
from salstats.stats.agreement.records import common_label, is_agreement

#: Decimals of ratios, and of what has none of its own.
_RATIO_DIGITS, _OTHER_DIGITS = 2, 3

#: A term's variable, which is a heading, and its level.
_VARIABLE, _LEVEL = "_variable", "_level"


@figures
def plot_forest(
    estimates: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    null: float | str | None = "auto",
    p_values: bool = False,
    digits: int | None = None,
    style: str = "nature",
    width: float = COLUMN_MM,
) -> list[p9.ggplot]:
    """Forest: a row per subgroup, with n, estimate and interval as text beside its mark.

    Parameters
    ----------
    estimates : DataFrame
        Any estimates frame of one term (of `mrmc`'s its differences). Its grouping columns with more than
        one value name the rows; with two of them, values of the first are headings. Metrics become panels
        below each other. Of a model's effects each term has a row, levels below their factor; of
        `variance_components` each SD, in units of the score, with the number of groups.
    labels : mapping, optional
        Names and order of the subgroups, such as `{"size": {"small": "Small", "large": "Large"}}`.
    null : float, "auto" or None
        Where a vertical line stands: by default at 0 for differences, correlations and coefficients, at 1
        for ratios, at 0.5 for an AUROC, and nowhere for means.
    p_values : bool
        Write the P values too, adjusted where there are such.
    digits : int, optional
        Decimals of estimate and limits; by default 1 for percent, 2 for ratios, else 3.
    style : {"nature", "radiology", "ama", "brackets"}
        How numbers are written.
    width : float
        Width in mm that the text is laid out for, and the figure's own.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` are the rows that are drawn, with `panel`, `row_label` and
        `y` (mm from the top). "Overall" and "Average" stand last, set apart, as diamonds.

    Raises
    ------
    ColumnError
        No column `estimate`, or one that should be numeric and is not.
    SalstatsError
        Three or more columns to name the rows; two rows for one place; estimates that are all missing;
        no P values where they are asked for; an unknown option.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou' and method == 'gradcam'")
    >>> scores = scores.assign(size=["large" if a > 0.15 else "small" for a in scores["area_ratio"]])
    >>> means = ss.summarize(scores, by=["size", "task"], n_replicates=100)
    >>> figure = ss.plot_forest(means, labels={"size": {"small": "Small", "large": "Large"}})
    >>> figure.labels.x
    'Mean (95% CI)'
    """
    check_choice(style, tuple(STYLES), "style")
    given = read_estimates(estimates).of_term("difference")
    named = Labels(labels, given.frame)
    whole, compared = _of_models(pairs_as_methods(as_deviations(given, named), named), named)
    levels = _levels(whole)
    places = [*(c for c in ("metric",) if whole.values(c)), *levels]
    check_distinct(whole, places)
    ratio, cut = is_ratio(whole), ""
    if ratio:
        whole, cut = bars_on_log_axis(whole)
    frame = drawn_rows(whole)
    drawn = whole.where(whole.defined)
    term = None if "term" in levels else drawn.term
    # no legend names the one method
    method = ["method"] if "method" not in levels and drawn.single("method") is not None else []
    frame["panel"] = crossed(frame, panel_texts(drawn, named, None, term, *method))
    heading = _heading(drawn, named, term, ratio)
    columns = _columns(drawn, heading, _digits(digits, term, ratio), p_values, style)
    place = partial(_rows, frame, named, levels)
    frame, rows, shown = fitting_rows(place, columns, width)
    counts = ""
    if "n" in columns and not fits(rows, shown, width):
        del columns["n"]
        counts = f"n = {count_range(frame['n'])}."
        frame, rows, shown = fitting_rows(place, columns, width)
    if whole.values("n_pairs") and (whole.numbers("n") > whole.numbers("n_units")).any():
        # beside an interval of cases stands how many of them there are
        counts = count_sentence(whole, "pair", "incomplete")
    line = _null(null, drawn, term, ratio)
    guides = frame[["panel"]].drop_duplicates().assign(guide=line).dropna()
    last = frame[levels].astype(str).isin(LAST).any(axis=1) if levels else False
    pages = row_figure(
        frame.assign(last=last),
        rows,
        x_title=_axis_title(drawn, named, term, ratio),
        notes=[
            scope_note(frame, named, [c for c in ("task",) if c not in levels]),
            interval_caption(whole, beside_p=p_values),
            marginal_note(whole, named),
            compared,
            counts,
            p_value_sentence(whole) if p_values else "",
            *margin_notes(whole, named, style, marked=True),
            cut,
            not_drawn_sentence(whole, named, places),
        ],
        guides=guides,
        margins=margin_lines(whole, frame),
        columns=shown,
        width=width,
        log=ratio,
        striped=len(levels) < 2,
    )
    side: dict[str, Any] = {"ha": "left", "ma": "left"} if len(levels) > 1 else {}
    entries = _entries(_keys(frame, levels), named, levels, LABEL_CHARS)
    weights = np.where([bold for _, bold in entries.values()], "bold", "normal")
    return [
        page + p9.theme(axis_text_y=p9.element_text(weight=list(weights[rows.on(page)]), **side))
        for page in pages
    ]


def _of_models(estimates: Estimates, labels: Labels) -> tuple[Estimates, str]:
    """Return coefficients or effects with their terms in the order they stand, and their references.

    Levels of a factor stand below its name, where nothing but the term names the rows.
    """
    if not estimates.values("formula") or not estimates.values("term"):
        return estimates, ""
    frame = estimates.frame
    models = [*estimates.keys, "formula"]
    names, references = term_names(frame, models, labels)
    places = frame["term"].map({term: i for i, term in enumerate(names)})
    frame = frame.loc[places.sort_values(kind="stable").index]
    said = [names[term] for term in frame["term"]]
    alone = all(frame[c].nunique(dropna=False) < 2 for c in models)
    if alone and len(frame) > 1:
        frame = frame.assign(**{_VARIABLE: [head for head, _ in said], _LEVEL: [text for _, text in said]})
    terms = [": ".join(part for part in name if part) for name in said]
    return estimates.with_frame(frame.assign(term=terms)), references


def _levels(estimates: Estimates) -> list[str]:
    """Return the columns that name the rows: those with more than one value, else the first."""
    groups = [key for key in estimates.keys if key != "metric"]
    groups += [column for column in ("formula", "term") if estimates.values(column)]
    if estimates.values(_VARIABLE):
        return [_VARIABLE, _LEVEL]
    several = [column for column in groups if estimates.varies(column)]
    if len(several) > 2:
        raise SalstatsError(
            f"estimates is grouped by {quoted(several)}, and a forest has rows for two of them; keep one "
            f"value of the others, as in estimates.query(\"{several[0]} == '...'\")"
        )
    return several or groups[:1]


def _keys(frame: pd.DataFrame, levels: list[str]) -> list[tuple[Any, ...]]:
    """What names each row of a frame."""
    columns = [frame[c].astype(object).where(frame[c].notna(), "") for c in levels]
    return list(zip(*columns, strict=True)) if levels else [()] * len(frame)


def _rows(frame: pd.DataFrame, labels: Labels, levels: list[str], chars: float) -> tuple[pd.DataFrame, Rows]:
    """Frame with `y` and `row_label`, and the rows by labels of lines so long."""
    keys = _keys(frame, levels)
    entries = _entries(keys, labels, levels, chars)
    values = list(entries)
    first = [value[0] if value else "" for value in values]
    texts = [text for text, _ in entries.values()]
    rows = row_layout(
        values, texts, 1, closing(first), [bold or len(levels) < 2 for _, bold in entries.values()]
    )
    names = [
        ", ".join(labels.value(c, v) for c, v in zip(levels, key, strict=True) if v != "") for key in keys
    ]
    return frame.assign(y=rows.of(keys), row_label=names), rows


def _entries(
    keys: list[tuple[Any, ...]], labels: Labels, levels: list[str], chars: float
) -> dict[tuple[Any, ...], tuple[str, bool]]:
    """Text of each row from the top, headings among them, and whether it is in bold."""
    if len(levels) < 2:
        values = [key[0] for key in keys if key]
        texts = short_labels(labels, levels[0], values, chars) if values else {}
        return {(v,): (t, str(v) in LAST) for v, t in texts.items()} or {(): ("", False)}
    entries: dict[tuple[Any, ...], tuple[str, bool]] = {}
    outer = short_labels(labels, levels[0], [key[0] for key in keys], chars)
    inner = short_labels(labels, levels[1], [key[1] for key in keys], chars)
    for group, text in outer.items():
        members = [value for value in inner if (group, value) in keys]
        closes = str(group) in LAST and len(members) == 1
        if closes or all(str(value) in ("", str(group)) for value in members):
            # a group that is not divided has one row
            entries |= {(group, v): (text, True) for v in members}
            continue
        entries[(group,)] = text, True
        entries |= {(group, v): (indented(inner[v]), False) for v in members}
    return entries


def _null(null: float | str | None, estimates: Estimates, term: str | None, ratio: bool) -> float:
    """Return where the vertical line stands, NaN for nowhere."""
    if null is None:
        return float("nan")
    if isinstance(null, str):
        check_choice(null, ("auto",), "null")
        if ratio:
            return 1.0
        if is_marginal(estimates) and not _is_effect(estimates):
            return float("nan")
        return 0.0 if estimates.values("formula") else guide_at("", term)
    if isinstance(null, bool) or null != null or abs(null) == float("inf") or (ratio and null <= 0):
        raise ValueRangeError(
            f"null must be a number{' above 0' if ratio else ''}, 'auto' or None, not {null!r}"
        )
    return float(null)


def _is_effect(estimates: Estimates) -> bool:
    """Return whether marginal estimates are slopes or contrasts, not means."""
    return bool(estimates.values("term") or estimates.values("reference_level"))


def _digits(digits: int | None, term: str | None, ratio: bool) -> int:
    """Decimals of the text."""
    if digits is not None:
        return check_count(digits, "digits", 0)
    if ratio:
        return _RATIO_DIGITS
    return TERMS[term].digits if term in CONTRASTS else _OTHER_DIGITS


def _heading(estimates: Estimates, labels: Labels, term: str | None, ratio: bool) -> str:
    """Return what the estimates are in the heading of their column."""
    if estimates.values("formula") or ratio:
        what = effect_text(estimates, ratio)
    elif term in CONTRASTS:
        what = TERMS[term].heading
    else:
        what = quantity(None, term, labels)
    return with_interval(what, estimates)


def _columns(
    estimates: Estimates, heading: str, digits: int, p_values: bool, style: str
) -> dict[str, list[str]]:
    """Return columns of text: n, the estimate with its interval, and P values with `p_values`."""
    columns = {}
    # of marginal means n is that of the model, not of the row
    if estimates.values("n") and not is_marginal(estimates):
        columns["n"] = [count_text(n) for n in estimates.numbers("n")]
    columns[heading] = interval_texts(estimates, digits, style)
    if p_values:
        rows = estimates.frame.to_dict("records")
        if all(p_used(row) != p_used(row) for row in rows):
            raise SalstatsError("p_values=True needs a column p_value or p_adjusted with values")
        columns["P"] = [row_p_text(row, style) for row in rows]
    return columns


def _axis_title(estimates: Estimates, labels: Labels, term: str | None, ratio: bool) -> str:
    """Return the axis's title, with its unit."""
    if term in CONTRASTS:
        return contrast_title(estimates, labels, term)
    if is_marginal(estimates) and not estimates.values("term"):
        return axis_text(marginal_text(estimates, labels), estimates)
    if estimates.values("formula") or ratio:
        what = effect_text(estimates, ratio)
        if term:
            what += f" of {labels.term(term)}"
        # where the metric varies it is the panel's title
        outcome = "" if estimates.values("metric") else outcome_text(estimates, labels)
        return axis_text(f"{what}, {outcome}" if outcome else what, estimates)
    if term is None and is_agreement(estimates.frame):
        return axis_text(common_label(estimates.values("term")) or "Agreement", estimates)
    return axis_text(quantity(estimates.single("metric"), term, labels), estimates)
