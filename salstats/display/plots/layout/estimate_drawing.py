"""Estimates prepared for a figure: its rows, its panels and the lines behind its marks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, check_rows_are_distinct, chosen_or_recorded_references
from salstats.display.plots.layout.captions import undefined_and_not_drawn_note
from salstats.display.plots.layout.legends import method_labels_references_first
from salstats.display.plots.layout.text_fit import crossed_labels
from salstats.display.text.labels import Labels
from salstats.display.text.margins import has_margins
from salstats.display.text.vocabulary import CONTRASTS, TERMS
from salstats.errors import Call, ColumnError, Message, SalstatsError
from salstats.metrics.registry import direction, registered_metric
from salstats.stats.agreement.records import LABELS as AGREEMENT_LABELS
from salstats.stats.agreement.records import short_label
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS

#: Labels of terms at an axis.
_TERM_LABELS = {
    **{term: record.label for term, record in COEFFICIENTS.items()},
    "auroc": TERMS["auroc"].name,
    "within_case_sd": TERMS["within_case_sd"].name,
    # an axis has no room for the full labels
    **{term: short_label(term) for term in AGREEMENT_LABELS},
}
#: Expected value of a metric or term of a method, or a classifier, without any information.
_CHANCE_VALUES = {"auc": 0.5, "sauc": 0.5, "auroc": 0.5}
#: Words after the label of a metric of which less is better.
_SMALLER = "smaller is better"
#: Terms whose value without any effect or association is 0.
_ZERO_TERMS = (*CONTRASTS, *COEFFICIENTS, *AGREEMENT_LABELS)


def only_varying_column(estimates: Estimates, columns: Sequence[str], used_columns_text: str) -> str | None:
    """Return the column of `columns` that varies, whose values become panels, or None if none varies.

    `used_columns_text` names the columns that rows and marks show, for the message.

    Raises
    ------
    SalstatsError
        Two or more of the columns have several values.
    """
    varying_columns = [column for column in columns if len(estimates.distinct_values(column)) > 1]
    if len(varying_columns) > 1:
        name = estimates.name
        raise SalstatsError(
            f"{name} is grouped by {quoted(varying_columns)} besides {used_columns_text} and has panels for "
            "one of them",
            hint=f"keep one value of the others, as in {name}.query(\"{varying_columns[-1]} == '...'\")",
            column=varying_columns[-1],
            value=varying_columns,
        )
    return next(iter(varying_columns), None)


def require_single_term(estimates: Estimates) -> str | None:
    """Return the only term of estimates, None if they have no column `term`.

    Raises if they have several terms, or are coefficients of models.
    """
    name = estimates.name
    terms = estimates.distinct_values("term")
    if terms and estimates.distinct_values("formula"):
        raise SalstatsError(
            f"{name} holds coefficients of models",
            hint=Message("use ", Call("plot_regression")),
            column="formula",
        )
    if len(terms) > 1:
        raise SalstatsError(
            f"{name} holds {len(terms)} terms ({quoted(terms)}), which share no axis",
            hint="keep one of them",
            choices=map(str, terms),
            column="term",
        )
    return estimates.only_term


def rows_with_estimate(estimates: Estimates) -> pd.DataFrame:
    """Return the rows that have an estimate as a frame; raise if there is none, or if one is infinite."""
    check_drawable(estimates)
    return estimates.subset(estimates.has_estimate).frame


def check_drawable(estimates: Estimates) -> None:
    """Raise if there is no estimate, or if one is infinite."""
    is_infinite = np.isinf(estimates.numbers("estimate"))
    if is_infinite.any():
        raise ColumnError(
            f"column 'estimate' of {estimates.name} has infinite values",
            hint="leave these rows out",
            column="estimate",
            rows=np.flatnonzero(is_infinite).tolist(),
        )
    if not estimates.has_estimate.any():
        raise SalstatsError(
            f"{estimates.name} has nothing to draw: every estimate is missing ({len(estimates)} rows)",
            column="estimate",
        )


def are_in_drawn_panels(estimates: Estimates, panel_columns: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether each row belongs to a panel that is drawn: one with an estimate.

    A panel holds one metric, where there are metrics, and one value of each of some columns. The rows of a
    metric without any estimate are in no drawn panel, even where the only other metric is named at the axis.
    """
    columns = list(panel_columns)
    if "metric" not in columns:
        columns += estimates.existing_columns(["metric"])
    if not columns:
        return np.ones(len(estimates), dtype=bool)
    panels = estimates.frame.groupby(columns, dropna=False, observed=True)
    return np.asarray(panels["estimate"].transform("count") > 0)


def rows_with_both_limits(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with both limits of an interval, for which a bar or a band is drawn."""
    return frame[frame["conf_low"].notna() & frame["conf_high"].notna()]


def labels_of_panel_titles(
    estimates: Estimates, labels: Labels, facet_column: str | None, term: str | None, *further_columns: str
) -> dict[str, dict[Any, str]]:
    """Return the labels that make up the titles of panels, by column and value.

    The values are those of `facet_column` (the column of further panels, if there is one), of the
    metric and of `further_columns`. A single metric is named at the axis, not in the title, except for
    contrasts, whose axis names the reference.
    """
    columns: list[str] = []
    if facet_column is not None:
        columns.append(facet_column)
    is_metric_at_axis = (
        facet_column is None and term not in CONTRASTS and len(estimates.distinct_values("metric")) == 1
    )
    if not is_metric_at_axis:
        columns.append("metric")
    columns += further_columns
    texts: dict[str, dict[Any, str]] = {}
    for column in columns:
        if estimates.distinct_values(column):
            texts[column] = labels.label_by_value(column, estimates.frame[column])
    if "metric" in texts and term == "mean":
        texts["metric"] = {metric: quantity_label(metric, term, labels) for metric in texts["metric"]}
    return texts


@dataclass(frozen=True)
class EstimateDrawing:
    """Estimates prepared for a figure.

    Attributes
    ----------
    estimates : Estimates
        All estimates, including missing ones.
    frame : DataFrame
        The rows of all panels, with NaN for an estimate that is not defined, with `panel` (the title of
        their panel) and, where there are methods, `method_label` (the text of the method in the legend).
    labels : Labels
        Labels and order of columns and values.
    row_column, facet_column : str or None
        The grouping column that names the rows of the figure, and the further one whose values are panels.
    term : str or None
        The term of all estimates; of the coefficients of models, its label.
    methods : dict
        Text of each method in the legend, references first; of coefficients, that of each model.
    references : list of str
        The reference methods.
    missing_note : str
        Sentences on estimates that are not defined, and on panels that are not drawn for want of any.
    """

    estimates: Estimates
    frame: pd.DataFrame
    labels: Labels
    row_column: str | None
    facet_column: str | None
    term: str | None
    methods: dict[Any, str]
    references: list[str]
    missing_note: str

    @property
    def dodges(self) -> bool:
        """Return whether the marks of a row are dodged: one for each method, above each other."""
        return bool(self.methods) and self.row_column != "method"

    @property
    def defined_estimates(self) -> Estimates:
        """Return the estimates that are not missing."""
        return self.estimates.subset(self.estimates.has_estimate)

    @property
    def panel_estimates(self) -> Estimates:
        """Return the estimates of `frame`, missing ones too, in its order."""
        return self.estimates.with_other_frame(self.frame)

    @property
    def n_panels(self) -> int:
        """Return the number of panels."""
        return len(self.frame["panel"].cat.categories)


def prepared_drawing(
    estimates: Estimates, labels: Mapping[str, Any] | Labels | None, reference: str | None = None
) -> EstimateDrawing:
    """Prepare estimates for a figure whose rows are tasks, marks methods and panels a further column.

    Without tasks the first grouping column that is neither metric nor method names the rows, or else the
    method. `reference` is the method drawn in black, by default that of the estimates.
    """
    frame_labels = Labels(labels, estimates.frame)
    term = require_single_term(estimates)
    groups = [key for key in estimates.keys if key not in ("metric", "method")]
    row_column: str | None = None
    if "task" in groups:
        row_column = "task"
    elif groups:
        row_column = groups[0]
    elif "method" in estimates.keys:
        row_column = "method"
    further_groups = [column for column in groups if column != row_column]
    facet_column = only_varying_column(
        estimates, further_groups, used_columns_text=f"metric, method and {row_column}"
    )
    check_rows_are_distinct(estimates, estimates.keys)
    references = chosen_or_recorded_references(estimates, reference)
    check_drawable(estimates)
    texts_of_panels = labels_of_panel_titles(
        estimates.subset(estimates.has_estimate), frame_labels, facet_column, term
    )
    is_in_panel = are_in_drawn_panels(estimates, list(texts_of_panels))
    frame = estimates.subset(is_in_panel).frame
    frame["panel"] = crossed_labels(frame, texts_of_panels)
    methods: dict[Any, str] = {}
    if "method" in estimates.keys:
        methods = method_labels_references_first(frame_labels, frame["method"], references)
        texts = [methods[method] for method in frame["method"]]
        frame["method_label"] = pd.Categorical(texts, categories=list(methods.values()), ordered=True)
    return EstimateDrawing(
        estimates=estimates,
        frame=frame,
        labels=frame_labels,
        row_column=row_column,
        facet_column=facet_column,
        term=term,
        methods=methods,
        references=references,
        missing_note=undefined_and_not_drawn_note(estimates, is_in_panel, frame_labels, estimates.keys),
    )


def no_effect_lines(drawing: EstimateDrawing, term: str | None) -> pd.DataFrame:
    """Return the position of each panel's line at zero or at chance: columns `panel`, `guide`."""
    guides = drawing.frame[["panel"]]
    if drawing.defined_estimates.distinct_values("metric"):
        metrics = drawing.frame["metric"].astype(TEXT)
        guides = guides.assign(guide=[zero_or_chance_value(metric, term) for metric in metrics])
    else:
        guides = guides.assign(guide=zero_or_chance_value("", term))
    return guides.dropna().drop_duplicates().reset_index(drop=True)


def margin_lines(estimates: Estimates, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the positions of each panel's lines at the bounds of margins: columns `panel`, `bound`.

    `frame` has the rows that are drawn, with their `panel`.
    """
    if not has_margins(estimates):
        return pd.DataFrame({"panel": [], "bound": []})
    bounds = [frame[["panel"]].assign(bound=frame[column]) for column in ("margin_low", "margin_high")]
    # a margin without a lower or an upper bound has an infinite one, where no line stands
    lines = pd.concat(bounds).replace([np.inf, -np.inf], np.nan)
    return lines.dropna().drop_duplicates().reset_index(drop=True)


def zero_or_chance_value(metric: str, term: str | None) -> float:
    """Return the value of a term of a metric that means no effect or chance, NaN where there is none."""
    if term in _ZERO_TERMS:
        return 0.0
    if term in _CHANCE_VALUES:
        return _CHANCE_VALUES[term]
    is_mean_of_metric = registered_metric(metric) is not None and term in (None, "mean")
    if not is_mean_of_metric:
        return float("nan")
    return _CHANCE_VALUES.get(str(metric).lower(), 0.0)


def quantity_label(metric: Any, term: str | None, labels: Labels) -> str:
    """Return the name of an estimated quantity at an axis: "Mean IoU", "Hit rate", "AUROC"."""
    if term == "pooled_rate" and metric is not None:
        label = labels.value("metric", metric)
        is_abbreviation = not label.istitle()
        if not is_abbreviation:
            label = label.lower()
        return f"Pooled {label}"
    if term not in (None, "mean"):
        term_label = _TERM_LABELS.get(str(term), labels.term(str(term)))
        if metric is None:
            return term_label
        return f"{term_label}, {labels.value('metric', metric)}"
    if metric is None:
        return "Mean" if term else "Estimate"
    label = labels.value("metric", metric)
    record = registered_metric(metric)
    # in a label the name of the record may have a unit after it
    is_renamed = record is not None and not f"{label} (".startswith(f"{record.label} (")
    # a name that the user has chosen and that of a rate are complete
    if term and not is_renamed and "rate" not in label:
        label = f"Mean {label}"
    return with_smaller_is_better(label, metric)


def metric_title_texts(frame: pd.DataFrame, labels: Labels) -> dict[str, dict[Any, str]]:
    """Return the label of each metric of a frame of scores, with "smaller is better" where that is so.

    They are under the key "metric", of which `crossed_labels` makes titles of panels; a frame without metrics
    has none.
    """
    if "metric" not in frame.columns:
        return {}
    texts = labels.label_by_value("metric", frame["metric"])
    return {"metric": {metric: with_smaller_is_better(text, metric) for metric, text in texts.items()}}


def with_smaller_is_better(label: str, metric: Any) -> str:
    """Return the label of a score with the words "smaller is better" where that is so, after its unit.

    Labels of the user's that say which is better stay as they are.
    """
    if direction(metric) >= 0 or "better" in label.lower():
        return label
    if label.endswith(")"):
        return f"{label.removesuffix(')')}, {_SMALLER})"
    return f"{label} ({_SMALLER})"
