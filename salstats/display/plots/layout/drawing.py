"""Estimates made ready for a figure: what stands in rows, what in panels, and what is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, quoted
from salstats.display.estimates import Estimates, check_distinct
from salstats.display.facts import not_drawn_sentence
from salstats.display.plots.layout.legends import method_labels
from salstats.display.plots.layout.text_fit import crossed
from salstats.display.text.labels import Labels
from salstats.display.text.margins import has_margins
from salstats.display.text.vocabulary import CONTRASTS, TERMS
from salstats.metrics.registry import known_metric
from salstats.stats.agreement.records import LABELS as AGREEMENT
from salstats.stats.agreement.records import short_label
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS
from salstats.study import HUMAN

_TERMS = {term: known.label for term, known in COEFFICIENTS.items()} | {
    "auroc": TERMS["auroc"].name,
    "within_case_sd": TERMS["within_case_sd"].name,
    # what stands behind the comma has no room at an axis
    **{term: short_label(term) for term in AGREEMENT},
}
#: What guessing scores, by metric or term; and terms whose zero means that there is nothing.
_CHANCE = {"auc": 0.5, "sauc": 0.5, "auroc": 0.5}
_ZERO_TERMS = (*CONTRASTS, *COEFFICIENTS, *AGREEMENT)


def further_column(estimates: Estimates, columns: Sequence[str], besides: str) -> str | None:
    """Return the one of some columns that has several values, which become panels.

    Raises
    ------
    SalstatsError
        Two of them have several values.
    """
    several = [column for column in columns if len(estimates.values(column)) > 1]
    if len(several) > 1:
        name = estimates.name
        raise SalstatsError(
            f"{name} is grouped by {quoted(several)} besides {besides}, and a figure has panels for one of "
            f"them; keep one value of the others, as in {name}.query(\"{several[-1]} == '...'\")"
        )
    return several[0] if several else None


def one_term(estimates: Estimates) -> str | None:
    """Return the one term of estimates, None where they have no such column."""
    terms, name = estimates.values("term"), estimates.name
    if terms and estimates.values("formula"):
        raise SalstatsError(f"{name} holds coefficients of models; use plot_regression()")
    if len(terms) > 1:
        raise SalstatsError(
            f"{name} holds {len(terms)} terms ({quoted(terms)}), which share no axis; keep one of them"
        )
    return str(terms[0]) if terms else None


def references_of(estimates: Estimates, reference: str | None = None) -> list[str]:
    """Return the methods that stand as references: the one named, else those of the frame, else human."""
    if reference is None:
        return [str(r) for r in estimates.values("reference")] or [HUMAN]
    methods = sorted({str(method) for method in estimates.values("method")})
    if reference not in methods:
        raise SalstatsError(f"reference={reference!r} is no method of the estimates ({quoted(methods)})")
    return [reference]


def drawn_rows(estimates: Estimates) -> pd.DataFrame:
    """Return the rows that have an estimate; an error where none has, or one is infinite."""
    if np.isinf(estimates.numbers("estimate")).any():
        raise ColumnError(f"column 'estimate' of {estimates.name} has infinite values; leave these rows out")
    if not estimates.defined.any():
        raise SalstatsError(
            f"{estimates.name} has nothing to draw: every estimate is missing ({len(estimates)} rows)"
        )
    return estimates.where(estimates.defined).frame


def barred_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have both limits, of which bars and bands are drawn."""
    return frame[frame["conf_low"].notna() & frame["conf_high"].notna()]


def panel_texts(
    estimates: Estimates, labels: Labels, facet: str | None, term: str | None, *others: str
) -> dict[str, dict[Any, str]]:
    """Return the labels that the titles of panels are made of, by column; `others` have one value.

    A metric alone stands at the axis, but for contrasts, whose axis names the reference.
    """
    metrics = estimates.values("metric")
    stands_at_axis = facet is None and term not in CONTRASTS and len(metrics) == 1
    titled = [facet, None if stands_at_axis else "metric", *others]
    texts = {c: labels.texts(c, estimates.frame[c]) for c in titled if c and estimates.values(c)}
    if "metric" in texts and term == "mean":
        texts["metric"] = {metric: quantity(metric, term, labels) for metric in texts["metric"]}
    return texts


@dataclass(frozen=True)
class Drawing:
    """Estimates made ready for a figure.

    Attributes
    ----------
    estimates : Estimates
        All of them, those without a value among them.
    frame : DataFrame
        The rows with an estimate, with `panel` (the title of their panel) and, where there are methods,
        `method_label`.
    labels : Labels
        What columns and values are called.
    row, facet : str or None
        The grouping columns that name the rows, and further panels, if any does.
    term : str or None
        What the estimates are.
    methods : dict
        The legend's text of each method, references first.
    references : list of str
        Methods that stand as references.
    missing : str
        A sentence that names the rows without an estimate.
    """

    estimates: Estimates
    frame: pd.DataFrame
    labels: Labels
    row: str | None
    facet: str | None
    term: str | None
    methods: dict[Any, str]
    references: list[str]
    missing: str

    @property
    def dodges(self) -> bool:
        """Whether methods stand above each other in a row."""
        return bool(self.methods) and self.row != "method"

    @property
    def n_panels(self) -> int:
        """Number of panels."""
        return len(self.frame["panel"].cat.categories)


def prepare(
    estimates: Estimates, labels: Mapping[str, Any] | Labels | None, reference: str | None = None
) -> Drawing:
    """Make estimates ready for a figure: tasks are rows, methods marks, another column panels."""
    named = Labels(labels, estimates.frame)
    term = one_term(estimates)
    others = [key for key in estimates.keys if key not in ("metric", "method")]
    row: str | None = None
    if "task" in others:
        row = "task"
    elif others:
        row = others[0]
    elif "method" in estimates.keys:
        row = "method"
    facet = further_column(estimates, [c for c in others if c != row], f"metric, method and {row}")
    check_distinct(estimates, estimates.keys)
    references = references_of(estimates, reference)
    frame = drawn_rows(estimates)
    frame["panel"] = crossed(frame, panel_texts(estimates.where(estimates.defined), named, facet, term))
    methods: dict[Any, str] = {}
    if "method" in frame.columns:
        methods = method_labels(named, frame["method"], references)
        texts = [methods[method] for method in frame["method"]]
        frame["method_label"] = pd.Categorical(texts, categories=list(methods.values()), ordered=True)
    missing = not_drawn_sentence(estimates, named, estimates.keys)
    return Drawing(estimates, frame, named, row, facet, term, methods, references, missing)


def guide_lines(frame: pd.DataFrame, term: str | None) -> pd.DataFrame:
    """Return where each panel has a line at zero or at chance: columns `panel`, `guide`."""
    metrics = frame["metric"].astype(str) if "metric" in frame.columns else [""] * len(frame)
    guides = frame[["panel"]].assign(guide=[guide_at(m, term) for m in metrics])
    return guides.dropna().drop_duplicates().reset_index(drop=True)


def margin_lines(estimates: Estimates, frame: pd.DataFrame) -> pd.DataFrame:
    """Return where each panel of a drawn frame has a line at the bound of a margin: `panel`, `bound`."""
    if not has_margins(estimates):
        return pd.DataFrame({"panel": [], "bound": []})
    sides = [frame[["panel"]].assign(bound=frame[column]) for column in ("margin_low", "margin_high")]
    lines = pd.concat(sides).replace([np.inf, -np.inf], np.nan)
    return lines.dropna().drop_duplicates().reset_index(drop=True)


def guide_at(metric: str, term: str | None) -> float:
    """Return the value of zero or of chance, NaN where neither means anything."""
    if term in _ZERO_TERMS:
        return 0.0
    if term in _CHANCE:
        return _CHANCE[term]
    if known_metric(metric) is None or term not in (None, "mean"):
        return float("nan")
    return _CHANCE.get(str(metric).lower(), 0.0)


def quantity(metric: Any, term: str | None, labels: Labels) -> str:
    """Return what an axis shows: "Mean IoU", "Hit rate", "AUROC"."""
    if term == "pooled_rate" and metric is not None:
        label = labels.value("metric", metric)
        return f"Pooled {label.lower() if label.istitle() else label}"
    if term not in (None, "mean"):
        what = _TERMS.get(str(term), labels.term(str(term)))
        return what if metric is None else f"{what}, {labels.value('metric', metric)}"
    if metric is None:
        return "Mean" if term else "Estimate"
    label, known = labels.value("metric", metric), known_metric(metric)
    is_renamed = known is not None and label != known.label
    return f"Mean {label}" if term and not is_renamed and "rate" not in label else label
