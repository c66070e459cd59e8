"""Regressions as a table: outcomes beside each other, terms below each other, the fit at the foot."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from great_tables import GT

from salstats.checks import ColumnError, check_choice, check_count, quoted
from salstats.display.tables import notes
from salstats.display.tables.fit_rows import Place, fit_rows, models_by_place
from salstats.display.tables.grid import interval_texts
from salstats.display.tables.layout import Column, Table, build
from salstats.display.tables.marks import numbers, stars_of
from salstats.display.tables.models import (
    NAME,
    Frames,
    ModelColumns,
    arrange,
    combine,
    hidden_variables,
    model_columns,
    terms_shown,
)
from salstats.display.tables.placement import grouping_columns, key_of, ordered_groups, varies
from salstats.display.text.format import MINUS, STYLES, joined
from salstats.display.text.labels import LAST, Labels
from salstats.display.text.terms import normalized_note, side_text, term_rows, with_reference_rows
from salstats.stats.adjust import INTERCEPT
from salstats.stats.models.covariance import ERRORS
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.tidying import is_coefficient

#: A group of rows, a term and a column of the table.
Cell = tuple[tuple[str, ...], str, int]


def table_regression(
    terms: Frames,
    *,
    fit: Frames | None = None,
    columns: str | Sequence[str] | None = None,
    keep: Sequence[str] | None = None,
    intercept: bool = False,
    stars: bool = True,
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
    it, the reference level (column `reference_level`) with a dash.

    Parameters
    ----------
    terms : DataFrame, list of DataFrame or dict of str to DataFrame
        Frames of `regress` or `tidy`. Names in a dict become the headings. Variances and other parameters
        that are no coefficients (`effect`) stand at the foot, under the rule of `fit`.
    fit : DataFrame, list of DataFrame or dict of str to DataFrame, optional
        The frames of `fit_statistics` of the same models: R², adjusted R² and residual SD of linear
        models, log-likelihood and AIC of others are added at the foot. They, and n, stand in columns
        with one model only; of a column with several a note gives the range of n.
    columns : str or sequence of str, optional
        Grouping columns that stand beside each other; by default `method`.
    keep : sequence of str, optional
        Terms to show, in this order; the others are named in a note.
    intercept : bool
        Show intercepts.
    stars : bool
        Stars for the p-values.
    n_tests : int, optional
        Number of tests that the levels of the stars are divided by; 1 corrects nothing. By default
        `p_adjusted` is used where the frames have it, else the levels are divided by the number of tests
        in the table.
    adjust : str, optional
        Procedure behind `p_adjusted`, for the notes, as `adjust()` spells it; by default what the
        column `procedure` says.
    labels : Mapping, optional
        Names and order of columns' values, see `Labels`.
    digits : int
        Decimals of coefficients, limits and fit statistics.
    style : {"nature", "radiology", "ama", "brackets"}
        How the journal writes numbers.
    title : str, optional
        Heading of the table.

    Returns
    -------
    GT
        A great-tables table; notes say what the models are, n, left-out rows, interval and correction.

    Raises
    ------
    ColumnError
        No column `term` or `estimate`; `columns` or `keep` names what is not there.
    SalstatsError
        Two estimates in one cell; frames of which only some have `p_adjusted`; `fit` of other models.
    ValueRangeError
        An unknown style.

    Examples
    --------
    >>> import salstats as ss
    >>> from great_tables import GT
    >>> scores = ss.normalize(ss.datasets.load_simulated(), ["elongation", "area_ratio"])
    >>> models = ["iou ~ elongation", "iou ~ area_ratio"]
    >>> terms = ss.regress(scores, models, errors="cluster")
    >>> isinstance(ss.table_regression(terms, fit=ss.fit_statistics(scores, models)), GT)
    True
    """
    check_count(digits, "digits", 0)
    check_choice(style, tuple(STYLES), "style")
    given_rows = combine(terms, ("term", "estimate"), "terms")
    names = Labels(labels, given_rows)
    is_term = is_coefficient(given_rows)
    whole, others = given_rows[is_term].reset_index(drop=True), given_rows[~is_term]
    shown_terms = terms_shown(whole, keep, intercept)
    frame = whole[whole["term"].isin(shown_terms)].reset_index(drop=True)
    one_term = len(shown_terms) == 1 and fit is None and others.empty
    keys = [c for c in grouping_columns(frame) if c != NAME]
    beside, groups = _split_keys(frame, keys, columns)
    n_references = -len(frame)
    if not (groups and one_term):
        frame = with_reference_rows(frame, model_columns(frame))
    n_references += len(frame)
    arranged = arrange(frame, beside, groups, names)
    given = stars_of(frame, stars, n_tests, adjust)
    models = models_by_place(frame, arranged.of, groups)
    texts = {
        (key_of(frame, i, groups), str(frame["term"].iloc[i]), arranged.of[i]): text
        for i, text in enumerate(interval_texts(frame, digits, style, given.texts))
    }
    if groups and one_term:
        table = _one_term_table(frame, arranged, groups, names, texts)
    else:
        foot = fit_rows(frame, models, fit, others, names, digits)
        table = _terms_table(frame, arranged, groups, names, texts, foot)
    constant = [c for c in keys if not varies(frame, c) and (c not in beside or not _has_gap(frame))]
    below = [
        notes.paragraph(
            _model_note(whole, models, _adjusted_for(frame, arranged, names)),
            notes.constant_note(frame, constant, names),
            _formula_note(frame, arranged, names),
            _gap_note(frame),
            notes.interval_note(frame),
            notes.count_note(frame, "observation", "incomplete and left out"),
            normalized_note(frame, names),
            notes.metric_note(whole),
        ),
        notes.paragraph(
            _test_note(frame) if given.note else "",
            given.note,
            notes.dash_note(table.cells, n_references),
        ),
    ]
    return build(replace(table, notes=below, title=title), "salstats-regression")


def _split_keys(
    frame: pd.DataFrame, keys: Sequence[str], columns: str | Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """The grouping columns that stand beside each other and those that make groups of rows."""
    if columns is None:
        beside = [c for c in keys if c == "method"]
    else:
        beside = [columns] if isinstance(columns, str) else list(columns)
        unknown = [c for c in beside if c not in keys]
        if unknown:
            raise ColumnError(
                f"columns names {unknown[0]!r}, which is no grouping column of the models "
                f"(grouping columns: {quoted(keys) or 'none'})"
            )
    return beside, [c for c in keys if c not in beside and varies(frame, c)]


def _terms_table(
    frame: pd.DataFrame,
    arranged: ModelColumns,
    groups: Sequence[str],
    labels: Labels,
    texts: Mapping[Cell, str],
    foot: Sequence[tuple[str, dict[Place, str]]],
) -> Table:
    """The terms of each group in the order of labels, levels below their factor, and the foot."""
    n_columns = len(arranged.headings)
    rows = term_rows(frame, labels)
    stub: list[tuple[str, ...]] = []
    cells: list[list[str]] = []
    labels_of_groups: list[str] = []
    apart, indent, at_foot = set(), set(), set()
    for group, label in ordered_groups(frame, groups, labels).items():
        start = len(stub)
        heading = ""
        for row in rows:
            own = [texts.get((group, row.term or "", j), "") for j in range(n_columns)]
            if row.term is None:
                heading = row.text
            elif any(own):
                if row.level and heading:
                    stub.append((heading,))
                    cells.append([""] * n_columns)
                    heading = ""
                indent |= {len(stub)} if row.level else set()
                stub.append((row.text,))
                cells.append(own)
        apart |= {len(stub)} if foot else set()
        for heading, statistics in foot:
            at_foot.add(len(stub))
            stub.append((heading,))
            cells.append([statistics.get((group, j), "") for j in range(n_columns)])
        labels_of_groups += [label] * (len(stub) - start) if groups else []
    columns = _headings(arranged, frame)
    return Table(("Term",), stub, columns, cells, labels_of_groups, apart=apart, indent=indent, foot=at_foot)


def _one_term_table(
    frame: pd.DataFrame,
    arranged: ModelColumns,
    groups: Sequence[str],
    labels: Labels,
    texts: Mapping[Cell, str],
) -> Table:
    """A row per group, where there is one term: it moves into the heading."""
    term = str(frame["term"].iloc[0])
    named = {row.term: row for row in term_rows(with_reference_rows(frame, model_columns(frame)), labels)}
    against = [row.text for key, row in named.items() if key not in (term, None)]
    name = " against ".join([named[term].whole, *against])
    rows = ordered_groups(frame, groups, labels)
    pooled = [i for i, group in enumerate(rows) if any(value in LAST for value in group)]
    return Table(
        stubhead=(", ".join(labels.column(c) for c in groups),),
        stub=[(label,) for label in rows.values()],
        columns=_headings(arranged, frame, f" of {name}"),
        cells=[[texts.get((group, term, j), "") for j in range(len(arranged.headings))] for group in rows],
        apart={i for i in pooled[:1] if i > 0},
    )


def _headings(arranged: ModelColumns, frame: pd.DataFrame, of_term: str = "") -> list[Column]:
    """The columns with what their estimates are above them."""
    columns = []
    for j, (kind, *others) in enumerate(arranged.headings):
        rows = frame[[column == j for column in arranged.of]]
        interval = notes.ci_text(rows)
        above = (f"{kind}{of_term} ({interval})" if interval else f"{kind}{of_term}", *others)
        columns.append(Column(above[-1], tuple(above[:-1])))
    return columns


def _has_gap(frame: pd.DataFrame) -> bool:
    """Whether a model is of the gap reference - method."""
    return "reference" in frame.columns and bool(frame["reference"].notna().any())


def _model_note(whole: pd.DataFrame, models: Mapping[Place, Sequence[int]], adjusted_for: str) -> str:
    """The kind of model, how many terms each has, what else is in it, and its standard errors."""
    families = list(dict.fromkeys(whole["family"].dropna())) if "family" in whole.columns else []
    kinds = joined([FAMILIES[f].label if f in FAMILIES else str(f) for f in families])
    text = f"{kinds} regression".strip()
    text = text[0].upper() + text[1:]
    columns = model_columns(whole)
    terms = whole[whole["term"] != INTERCEPT]
    sizes = pd.Series([key_of(terms, i, columns) for i in range(len(terms))]).value_counts()
    if len(sizes) and sizes.max() == 1:
        text += ", one model for each term"
    elif all(len(rows) == 1 for rows in models.values()):
        text += ", all terms of a column in one model"
    text += adjusted_for
    errors = whole["errors"].dropna().unique() if "errors" in whole.columns else []
    unit = str(notes.single(whole, "unit") or "unit").replace("_", " ")
    said = [ERRORS[e].label.format(unit=unit) if e in ERRORS else str(e) for e in errors]
    return f"{text}; {joined(said, 'or')}." if said else f"{text}."


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


def _gap_note(frame: pd.DataFrame) -> str:
    """What a column with a minus is."""
    if not _has_gap(frame):
        return ""
    return f"A {MINUS} B: the difference of the two scores of a case is the outcome."


def _test_note(frame: pd.DataFrame) -> str:
    """The test behind the stars."""
    if "df" not in frame.columns:
        return ""
    normal = np.isnan(numbers(frame, "df"))[~np.isnan(numbers(frame, "p_value"))]
    kind = "z tests" if normal.all() else "t or z tests" if normal.any() else "t tests"
    return f"P values: two-sided Wald {kind}."
