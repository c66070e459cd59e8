"""Regressions as a table: outcomes beside each other, terms below each other, the fit at the foot."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from great_tables import GT

from salstats.checks import check_choice, check_count
from salstats.display.estimates import Estimates
from salstats.display.facts import (
    count_sentence,
    interval_note,
    paragraph,
    weights_sentence,
    with_interval,
)
from salstats.display.tables import notes
from salstats.display.tables.grid import interval_texts
from salstats.display.tables.layout import build
from salstats.display.tables.marks import stars_of
from salstats.display.tables.model_tests import factor_tests, p_note, p_texts
from salstats.display.tables.models import (
    NAME,
    Frames,
    ModelColumns,
    Place,
    arrange,
    combine,
    fit_rows,
    gaps,
    hidden_variables,
    model_columns,
    models_by_place,
    terms_shown,
)
from salstats.display.tables.placement import (
    Key,
    key_of,
    named_columns,
    ordered_groups,
)
from salstats.display.tables.record import Column, Table
from salstats.display.text.format import MINUS, STYLES, joined
from salstats.display.text.labels import LAST, Labels
from salstats.display.text.models import errors_text, kind_text
from salstats.display.text.terms import (
    normalized_note,
    side_text,
    term_rows,
    with_reference_rows,
)
from salstats.stats.adjust import INTERCEPT
from salstats.stats.models.tidying import is_coefficient

#: What is said of models with random effects that the data do not bear.
_SINGULAR = "Singular fit: a variance of random effects is 0, or two are correlated by 1 or \N{MINUS SIGN}1."
#: Texts of each group of rows, term and model: the estimate, and P where it has a column.
Texts: TypeAlias = Mapping[tuple[Key, str, int], list[str]]


def table_regression(
    terms: Frames,
    *,
    fit: Frames | None = None,
    components: Frames | None = None,
    joint: Frames | None = None,
    columns: str | Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    intercept: bool = False,
    p_values: bool = False,
    stars: bool | None = None,
    n_tests: int | None = None,
    adjust: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    digits: int = 3,
    style: str = "nature",
    title: str | None = None,
) -> GT:
    """Regressions as a table for a paper: terms as rows, models as columns.

    Columns are the outcomes, within them the methods, and the gap "reference − method" of models with a
    reference. Models of one outcome with different terms (one model for each feature) share a column;
    where two models have a term in common, each formula has a column of its own, "Model 1" and so on.
    Other grouping columns, such as tasks, make groups of rows. A factor is a heading with its levels below
    it, the reference level (column `reference_level`) with a dash. Where the table would be wider than a
    page, outcomes become groups, and terms stand in columns with methods and tasks in rows if need be.

    Parameters
    ----------
    terms : DataFrame, list of DataFrame or dict of str to DataFrame
        Frames of `regress` or `tidy`. Names in a dict become the headings. Variances and other parameters
        that are no coefficients (`effect`) stand at the foot, under the rule of `fit`.
    fit : DataFrame, list of DataFrame or dict of str to DataFrame, optional
        The frames of `fit_statistics` of the same models: R², adjusted R² and residual SD of linear
        models, correlation and scale of GEE, the precision of beta models, log-likelihood and AIC of others
        are added at the foot. They, and n, stand in columns
        with one model only; of a column with several a note gives the range of n.
    components : DataFrame, list of DataFrame or dict of str to DataFrame, optional
        The frames of `variance_components` of the same models: at the foot stand the SD of each random
        effect, its share of the variance (ICC) and the number of its groups.
    joint : DataFrame, list of DataFrame or dict of str to DataFrame, optional
        The frames of `Fit.joint(each=True)` of the same models: P of each factor as a whole, and of each
        interaction with one, stands beside its name (type III tests on sum contrasts).
    columns : str or sequence of str, optional
        Grouping columns that stand beside each other; by default `method`.
    keep : sequence of str, optional
        Terms to show, in this order; the others are named in a note.
    intercept : bool
        Show intercepts.
    p_values : bool
        Give P in a column beside the estimates, adjusted where the frame has `p_adjusted`.
    stars : bool, optional
        Stars for the p-values; by default where they have no column.
    digits : int
        Decimals of coefficients, limits and fit statistics.
    n_tests, adjust, labels, style, title
        As for `table_estimates`.

    Returns
    -------
    GT
        A great-tables table; notes say what the models are, n, left-out rows, interval and correction.

    Raises
    ------
    SalstatsError
        No column `term` or `estimate`; `columns` or `keep` names what is not there; two estimates in one
        cell; frames of which only some have `p_adjusted`; `fit` of other models.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> scores = ss.normalize(ss.datasets.load_simulated(), ["elongation", "area_ratio"])
    >>> models = ["iou ~ elongation + task", "iou ~ area_ratio + task"]
    >>> terms = ss.regress(scores, models)
    >>> isinstance(ss.table_regression(terms, fit=ss.fit_statistics(scores, models)), GT)
    True
    """
    check_count(digits, "digits", 0)
    check_choice(style, tuple(STYLES), "style")
    given_rows = combine(terms, ("term", "estimate"), "terms").adjusted_by(adjust)
    names = Labels(labels, given_rows.frame)
    is_term = is_coefficient(given_rows.frame)
    whole, others = given_rows.where(is_term), given_rows.where(~is_term)
    shown = terms_shown(whole.frame, keep, intercept)
    estimates = whole.where(whole.frame["term"].isin(shown))
    keys = [key for key in estimates.keys if key not in (NAME, "reference")]
    beside = named_columns(keys, columns, "columns")
    beside = [c for c in keys if c == "method"] if beside is None else beside
    groups = [c for c in keys if c not in beside and estimates.varies(c)]
    at_foot = None if components is None else combine(components, ("group",), "components")
    in_heading = bool(groups) and len(shown) == 1 and fit is None and at_foot is None and not len(others)
    n_references = 0
    if not in_heading:
        with_references = with_reference_rows(estimates.frame, model_columns(estimates))
        n_references = len(with_references) - len(estimates)
        estimates = estimates.with_frame(with_references)
    frame = estimates.frame
    arranged = arrange(frame, beside, groups, names)
    given = stars_of(estimates, not p_values if stars is None else stars, n_tests)
    models = models_by_place(estimates, arranged.of, groups)
    places = [(key_of(frame, i, groups), str(term), arranged.of[i]) for i, term in enumerate(frame["term"])]
    cells = [[text] for text in interval_texts(estimates, digits, style, given.texts)]
    if p_values:
        cells = [[*own, p] for own, p in zip(cells, p_texts(estimates, style), strict=True)]
    texts = dict(zip(places, cells, strict=True))
    of_factors, joint_note = factor_tests(estimates, joint, style, named=not p_values)
    heads = _headings(arranged, estimates, p_values, _one_term(estimates, names) if in_heading else "")
    if in_heading:
        table = _one_term_table(frame, heads, groups, names, texts)
    else:
        foot = fit_rows(estimates, models, fit, others, at_foot, names, digits, style)
        whole_p = dict(zip(places, of_factors, strict=True))
        table = _terms_table(frame, heads, groups, names, texts, whole_p, foot)
    has_gap = bool(gaps(frame).any())
    constant = [c for c in keys if not estimates.varies(c) and (c not in beside or not has_gap)]
    one_row_of_each = np.isin(np.arange(len(frame)), [row for rows in models.values() for row in rows])
    below = (
        paragraph(
            _model_note(whole, models.values(), _adjusted_for(frame, arranged, names), names),
            notes.constant_note(estimates, constant, names),
            _formula_note(frame, arranged, names),
            f"A {MINUS} B: the difference of the two scores of a case is the outcome." if has_gap else "",
            normalized_note(frame, names),
            notes.metric_note(whole.frame),
        ),
        paragraph(
            interval_note(estimates),
            weights_sentence(estimates),
            count_sentence(estimates.where(one_row_of_each), "observation", "incomplete and left out"),
            "" if at_foot is None else _components_note(at_foot),
            p_note(estimates, in_column=p_values) if given.note or p_values else "",
            joint_note,
        ),
    )
    symbols = paragraph(given.note, notes.dash_note(table.cells, n_references))
    over, across = (", ".join(names.column(c) for c in part) for part in (groups, beside))
    table = replace(table, turns=True, axes=(over, "" if p_values else across))
    return build(replace(table, notes=below, symbols=symbols, title=title), "salstats-regression")


def _components_note(components: Estimates) -> str:
    """Say how random effects were estimated, and what their limits are."""
    is_restricted = components.single("reml")
    how = ""
    if is_restricted is not None:
        how = f"{'restricted ' if is_restricted else ''}maximum likelihood, limits by "
    return f"SDs and shares of random effects: {how}profile likelihood."


def _terms_table(
    frame: pd.DataFrame,
    heads: Sequence[Column],
    groups: Sequence[str],
    labels: Labels,
    texts: Texts,
    whole_p: Mapping[tuple[Key, str, int], str],
    foot: Sequence[tuple[str, dict[Place, str]]],
) -> Table:
    """The terms of each group in the order of labels, levels below their factor, and the foot."""
    n_models, per_model = _shape(heads, texts)
    rows = term_rows(frame, labels)
    stub: list[Key] = []
    cells: list[list[str]] = []
    labels_of_groups: list[str] = []
    apart, indent, at_foot = set(), set(), set()

    def add(label: str, own: Sequence[Sequence[str]]) -> None:
        stub.append((label,))
        cells.append([text for texts in own for text in texts])

    for group, label in ordered_groups(frame, groups, labels).items():
        start, heading, at_heading = len(stub), "", -1
        for row in rows:
            own = [texts.get((group, row.term or "", j), [""] * per_model) for j in range(n_models)]
            if row.term is None:
                heading = row.text
            elif any(map(any, own)):
                if row.level and heading:
                    at_heading = len(stub)
                    add(heading, [[""] * per_model] * n_models)
                    heading = ""
                if row.level:
                    indent.add(len(stub))
                    for j in range(n_models):
                        # P of the whole factor stands last of a model's cells
                        at = (j + 1) * per_model - 1
                        cells[at_heading][at] = cells[at_heading][at] or whole_p.get((group, row.term, j), "")
                add(row.text, own)
        apart |= {len(stub)} if foot else set()
        for heading, statistics in foot:
            at_foot.add(len(stub))
            beside = [""] * (per_model - 1)
            add(heading, [[statistics.get((group, j), ""), *beside] for j in range(n_models)])
        labels_of_groups += [label] * (len(stub) - start) if groups else []
    return Table(
        ("Term",), stub, list(heads), cells, labels_of_groups, apart=apart, indent=indent, foot=at_foot
    )


def _shape(heads: Sequence[Column], texts: Texts) -> tuple[int, int]:
    """How many models stand beside each other, and how many columns each of them has."""
    per_model = len(next(iter(texts.values()), [""]))
    return len(heads) // per_model, per_model


def _one_term(estimates: Estimates, labels: Labels) -> str:
    """Return the one term of a table as its heading has it: " of Task: Edema vs Atelectasis"."""
    term = str(estimates.frame["term"].iloc[0])
    rows = term_rows(with_reference_rows(estimates.frame, model_columns(estimates)), labels)
    named = {row.term: row for row in rows}
    against = [row.text for key, row in named.items() if key not in (term, None)]
    return f" of {' vs '.join([named[term].whole, *against])}"


def _one_term_table(
    frame: pd.DataFrame, heads: Sequence[Column], groups: Sequence[str], labels: Labels, texts: Texts
) -> Table:
    """A row per group, where there is one term: it moves into the heading."""
    term = str(frame["term"].iloc[0])
    n_models, per_model = _shape(heads, texts)
    rows = ordered_groups(frame, groups, labels)
    pooled = [i for i, group in enumerate(rows) if any(value in LAST for value in group)]
    cells = [
        [text for j in range(n_models) for text in texts.get((group, term, j), [""] * per_model)]
        for group in rows
    ]
    return Table(
        stubhead=(", ".join(labels.column(c) for c in groups),),
        stub=[(label,) for label in rows.values()],
        columns=list(heads),
        cells=cells,
        apart={i for i in pooled[:1] if i > 0},
    )


def _headings(arranged: ModelColumns, estimates: Estimates, p_values: bool, of_term: str) -> list[Column]:
    """Return the columns with what their estimates are above them, or beside P in a column of its own."""
    columns = []
    for j, (kind, *others) in enumerate(arranged.headings):
        rows = estimates.where([column == j for column in arranged.of])
        what = with_interval(f"{kind}{of_term}", rows)
        if p_values:
            columns += [Column(what, tuple(others)), Column("P", tuple(others))]
        else:
            *above, own = what, *others
            columns.append(Column(own, tuple(above)))
    return columns


def _model_note(whole: Estimates, models: Iterable[Sequence[int]], adjusted_for: str, labels: Labels) -> str:
    """Say which kind of model it is, how many terms each has, what else is in it, and its standard errors."""
    text = kind_text(whole, labels)
    terms = whole.where(whole.frame["term"] != INTERCEPT).frame
    columns = model_columns(whole)
    sizes = Counter(key_of(terms, i, columns) for i in range(len(terms)))
    if sizes and max(sizes.values()) == 1:
        text += ", one model for each term"
    elif all(len(rows) == 1 for rows in models):
        text += ", all terms in one model"
    text += adjusted_for
    if whole.values("average"):
        text += "; effects on the mean, averaged over the rows of the model"
    text += errors_text(whole)
    if True in whole.values("singular"):
        text += f" {_SINGULAR}"
    return text


def _adjusted_for(frame: pd.DataFrame, arranged: ModelColumns, labels: Labels) -> str:
    """What is in every model but in no row, nothing where the formulas are given."""
    hidden = hidden_variables(frame)
    if arranged.formulas or len(set(hidden.values())) != 1:
        return ""
    variables = [labels.column(name) for name in next(iter(hidden.values()))]
    return f", adjusted for {joined(variables)}" if variables else ""


def _formula_note(frame: pd.DataFrame, arranged: ModelColumns, labels: Labels) -> str:
    """What Model 1 and so on are; all models where they are adjusted for different things."""
    if arranged.formulas:
        parts = [f"Model {i + 1}: {formula}" for i, formula in enumerate(arranged.formulas)]
        return f"{'; '.join(parts)}."
    hidden = hidden_variables(frame)
    if len(set(hidden.values())) < 2:
        return ""
    return f"Models: {'; '.join(dict.fromkeys(side_text(f, labels) for f in hidden))}."
