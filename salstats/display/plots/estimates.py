"""An estimates frame as the figures take it: what its columns are for, and what is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, check_columns, check_frame, check_numeric, quoted
from salstats.display.plots.captions import distinct
from salstats.display.plots.legends import method_labels
from salstats.display.plots.text_fit import crossed
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.display.text.margins import has_margins
from salstats.display.text.vocabulary import CONTRASTS, TERMS
from salstats.frames import ESTIMATE_COLUMNS, KEY_COLUMNS
from salstats.metrics.registry import known_metric
from salstats.stats.agreement.records import LABELS as AGREEMENT
from salstats.stats.agreement.records import short_label
from salstats.stats.coefficients import RECORDS as COEFFICIENTS
from salstats.study import HUMAN

#: Columns behind which no grouping column stands.
_AFTER_GROUPS = ("reference", "formula", *ESTIMATE_COLUMNS)
_NUMBERS = ("conf_low", "conf_high", "conf_level", "p_value", "p_adjusted", "n")
#: Missing estimates that a caption names one by one.
_NAMED = 3
_TERMS = {term: known.label for term, known in COEFFICIENTS.items()} | {
    "auroc": TERMS["auroc"].name,
    "within_case_sd": TERMS["within_case_sd"].name,
    # what stands behind the comma has no room at an axis
    **{term: short_label(term) for term in AGREEMENT},
}
#: What guessing scores, by metric or term; and terms whose zero means that there is nothing.
_CHANCE = {"auc": 0.5, "sauc": 0.5, "auroc": 0.5}
_ZERO_TERMS = (*CONTRASTS, *COEFFICIENTS, *AGREEMENT)


def check_estimates(estimates: object, name: str = "estimates") -> pd.DataFrame:
    """Copy of an estimates frame with a default index, numbers as numbers, and limits."""
    frame = check_frame(estimates, name).reset_index(drop=True)
    check_columns(frame, ["estimate"], name)
    absent = {c: np.nan for c in ("conf_low", "conf_high") if c not in frame.columns}
    frame = frame.assign(**absent)
    for column in (c for c in ("estimate", *_NUMBERS) if c in frame.columns):
        numbers = pd.to_numeric(frame[column], errors="coerce").astype(float)
        if (numbers.isna() & frame[column].notna()).any():
            raise ColumnError(f"column {column!r} of {name} must be numeric; it holds text")
        frame[column] = numbers
    check_numeric(frame, "estimate", name)
    return frame


def grouping_columns(frame: pd.DataFrame) -> list[str]:
    """Columns before the estimates, and those that are known to tell rows apart."""
    places = [i for i, column in enumerate(frame.columns) if column in _AFTER_GROUPS]
    before = list(frame.columns[: min(places, default=0)])
    known = [c for c in KEY_COLUMNS if c in frame.columns and c not in before]
    several = ["reference"] if "reference" in frame.columns and frame["reference"].nunique() > 1 else []
    return [*before, *known, *several]


def further_column(frame: pd.DataFrame, columns: Sequence[str], besides: str, name: str) -> str | None:
    """One of some columns that has several values, which become panels; SalstatsError where two have."""
    several = [c for c in columns if frame[c].nunique() > 1]
    if len(several) > 1:
        raise SalstatsError(
            f"{name} is grouped by {quoted(several)} besides {besides}, and a figure has panels for one of "
            f"them; keep one value of the others, as in {name}.query(\"{several[-1]} == '...'\")"
        )
    return several[0] if several else None


def check_distinct(frame: pd.DataFrame, columns: Sequence[str], name: str) -> None:
    """Raise SalstatsError where two estimates would stand in one place."""
    repeated = frame.duplicated(list(columns)) if columns else pd.Series(np.arange(len(frame)) > 0)
    if repeated.any():
        row = frame[repeated].iloc[0]
        shown = ", ".join(f"{c} {row[c]}" for c in columns) or "one place"
        raise SalstatsError(
            f"{name} has more than one row for {shown}; keep one of them, or put what tells them apart "
            "in a column before 'term'"
        )


def one_term(frame: pd.DataFrame, name: str = "estimates") -> str | None:
    """One term of a frame, None where it has no such column."""
    if {"formula", "term"} <= set(frame.columns):
        raise SalstatsError(f"{name} holds the coefficients of models; plot_regression() draws them")
    terms = list(frame["term"].dropna().unique()) if "term" in frame.columns else []
    if len(terms) > 1:
        raise SalstatsError(
            f"{name} holds {len(terms)} terms ({quoted(terms)}), which share no axis; keep one of them"
        )
    return str(terms[0]) if terms else None


def references_of(frame: pd.DataFrame, reference: str | None = None) -> list[str]:
    """Methods that stand as references: the one named, else those of the frame, else human."""
    if reference is not None:
        methods = sorted(set(frame["method"].astype(str))) if "method" in frame.columns else []
        if reference not in methods:
            raise SalstatsError(f"reference={reference!r} is no method of the estimates ({quoted(methods)})")
        return [reference]
    named = frame["reference"].dropna().unique() if "reference" in frame.columns else [HUMAN]
    return [str(r) for r in named]


def drawable(
    frame: pd.DataFrame, labels: Labels, groups: Sequence[str], name: str = "estimates"
) -> tuple[pd.DataFrame, str]:
    """Rows that have an estimate, and a sentence that names the others."""
    missing = frame["estimate"].isna()
    if missing.all():
        raise SalstatsError(f"{name} has nothing to draw: every estimate is missing ({len(frame)} rows)")
    rows = frame.loc[missing, list(groups)].to_dict("records")
    named = ([labels.value(str(c), v) for c, v in row.items()] for row in rows)
    texts = list(dict.fromkeys("/".join(text for text in parts if text) for parts in named))
    more = [f"{len(texts) - _NAMED} more"] if len(texts) > _NAMED else []
    note = f"Undefined, not drawn: {joined([*texts[:_NAMED], *more])}." if texts else ""
    return frame.loc[~missing].reset_index(drop=True), note


def panel_texts(
    frame: pd.DataFrame, labels: Labels, facet: str | None, term: str | None, *others: str
) -> dict[str, dict[Any, str]]:
    """Labels that the titles of panels are made of, by column; `others` have one value.

    A metric alone stands at the axis, but for contrasts, whose axis names the reference.
    """
    alone = facet is None and term not in CONTRASTS and len(distinct(frame, "metric")) == 1
    said = (facet, None if alone else "metric", *others)
    columns = [c for c in said if c is not None and c in frame.columns]
    texts = {c: labels.texts(c, frame[c]) for c in columns}
    if "metric" in texts and term == "mean":
        texts["metric"] = {m: quantity(m, term, labels) for m in texts["metric"]}
    return texts


@dataclass(frozen=True)
class Drawing:
    """An estimates frame made ready for a figure.

    `frame` has the rows with an estimate, `panel` (the title of their panel) and, where there are methods,
    `method_label`; of its grouping columns `row` names the rows and `facet` further panels, if any does;
    `methods` is the legend's text of each, references first; `missing` a sentence that names the rows without
    estimate.
    """

    frame: pd.DataFrame
    labels: Labels
    groups: list[str]
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
    frame: pd.DataFrame, name: str, labels: Mapping[str, Any] | Labels | None, reference: str | None = None
) -> Drawing:
    """Checked estimates frame made ready for a figure."""
    named, term, groups = Labels(labels, frame), one_term(frame, name), grouping_columns(frame)
    # tasks are rows, methods marks, another column panels
    others = [c for c in groups if c not in ("metric", "method")]
    row = "task" if "task" in others else next(iter(others), "method" if "method" in groups else None)
    facet = further_column(frame, [c for c in others if c != row], f"metric, method and {row}", name)
    check_distinct(frame, groups, name)
    references = references_of(frame, reference)
    kept, missing = drawable(frame, named, groups, name)
    kept["panel"] = crossed(kept, panel_texts(kept, named, facet, term))
    methods: dict[Any, str] = {}
    if "method" in kept.columns:
        methods = method_labels(named, kept["method"], references)
        texts = [methods[m] for m in kept["method"]]
        kept["method_label"] = pd.Categorical(texts, categories=list(methods.values()), ordered=True)
    return Drawing(kept, named, groups, row, facet, term, methods, references, missing)


def guide_lines(frame: pd.DataFrame, term: str | None) -> pd.DataFrame:
    """Where each panel has a line at zero or at chance: columns `panel`, `guide`."""
    metrics = frame["metric"].astype(str) if "metric" in frame.columns else [""] * len(frame)
    guides = frame[["panel"]].assign(guide=[guide_at(m, term) for m in metrics])
    return guides.dropna().drop_duplicates().reset_index(drop=True)


def margin_lines(frame: pd.DataFrame) -> pd.DataFrame:
    """Where each panel has a line at the bound of a margin: columns `panel`, `bound`."""
    if not has_margins(frame):
        return pd.DataFrame({"panel": [], "bound": []})
    sides = [frame[["panel"]].assign(bound=frame[c]) for c in ("margin_low", "margin_high")]
    lines = pd.concat(sides).replace([np.inf, -np.inf], np.nan)
    return lines.dropna().drop_duplicates().reset_index(drop=True)


def guide_at(metric: str, term: str | None) -> float:
    """Value of zero or of chance, NaN where neither means anything."""
    if term in _ZERO_TERMS:
        return 0.0
    if term in _CHANCE:
        return _CHANCE[term]
    if known_metric(metric) is None or term not in (None, "mean"):
        return float("nan")
    return _CHANCE.get(str(metric).lower(), 0.0)


def quantity(metric: Any, term: str | None, labels: Labels) -> str:
    """What an axis shows: "Mean IoU", "Hit rate", "AUROC"."""
    if term == "pooled_rate" and metric is not None:
        label = labels.value("metric", metric)
        return f"Pooled {label.lower() if label.istitle() else label}"
    if term not in (None, "mean"):
        what = _TERMS.get(str(term), labels.term(str(term)))
        return what if metric is None else f"{what}, {labels.value('metric', metric)}"
    if metric is None:
        return "Mean" if term else "Estimate"
    label, known = labels.value("metric", metric), known_metric(metric)
    given = known is not None and label != known.label
    return f"Mean {label}" if term and not given and "rate" not in label else label
