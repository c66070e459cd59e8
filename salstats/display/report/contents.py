"""The parts of a report: which tables and figures show which frame, and under which title."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import pandas as pd

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.report.analyses import (
    Analyses,
    compared_methods,
    metric_order,
    several,
)
from salstats.display.report.calls import assigned, call_text
from salstats.display.report.examples import PICKS, Examples
from salstats.display.report.ranking import first_means
from salstats.display.report.wording import Words, pooled_rows
from salstats.display.text.format import joined
from salstats.display.text.margins import has_margins


@dataclass(frozen=True)
class Contents:
    """What a report shows: its scores, the analyses of them, its words, and cases to look at."""

    scores: pd.DataFrame
    done: Analyses
    words: Words
    shown: Examples | None = None

    @cached_property
    def compared(self) -> pd.DataFrame:
        """Scores of every method but the reference."""
        return compared_methods(self.scores, self.words.settings)

    @cached_property
    def first(self) -> pd.DataFrame:
        """Means on the first metric, by which methods are ranked."""
        return first_means(self.done.frames["means"], self.words.settings.reference)

    @property
    def metric(self) -> str:
        """First metric, that scores are drawn and cases picked by."""
        return str(self.first["metric"].iloc[0])

    @cached_property
    def contrasts(self) -> str:
        """Key of the contrasts that are shown: decreases where every metric has them, and no margin."""
        decrease, difference = (self.done.frames.get(key) for key in ("decrease", "difference"))
        if decrease is None or difference is None or has_margins(read_estimates(difference)):
            return "difference"
        return "decrease" if set(difference["metric"]) == set(decrease["metric"]) else "difference"

    @cached_property
    def method(self) -> str:
        """First method, that cases are picked by."""
        return str(self.words.labels.order("method", self.compared["method"].astype(str))[0])

    @cached_property
    def style(self) -> dict[str, Any]:
        """Options that every table shares."""
        return {"labels": self.words.labels, "style": self.words.settings.style}

    @cached_property
    def names(self) -> dict[str, str]:
        """What stands in the slots of titles."""
        labels, settings = self.words.labels, self.words.settings
        tasks = several(self.scores, "task")
        names = {
            "metrics": joined([labels.value("metric", m) for m in metric_order(self.scores)]),
            "and_task": " and task" if tasks else "",
            "by_task": " by task" if tasks else "",
            "over_tasks": ", averaged over tasks" if tasks else "",
            "contrast": "Percentage decrease" if self.contrasts == "decrease" else "Difference",
            "reference": self.words.method(settings.reference or ""),
            "unit": settings.unit,
            "metric": labels.value("metric", self.metric),
            "method": labels.value("method", self.method),
        }
        if "best" in self.done.frames:
            names["best"] = self.words.method(self.done.frames["best"]["reference"].iloc[0])
        if "prob" in self.scores.columns:
            names |= {"prob": self.words.column("prob"), "confidence": labels.column("prob")}
        return names


#: What gives the call that draws a frame.
Draw: TypeAlias = Callable[[pd.DataFrame, Contents], partial[Any]]


@dataclass(frozen=True)
class Show:
    """A table or figure that a report may show; texts have the slots of `Contents.names`.

    `key` is the stem of its files, `draw` gives the call that makes it of a frame, `frame` is the key of that
    frame, or gives it with its Python call where there is one; `place` is that of an `Item`.
    """

    key: str
    title: str
    draw: Draw
    frame: str | Callable[[Contents], tuple[pd.DataFrame, str] | None]
    caption: str = ""
    alt: str = ""
    place: str = "page"


class Table(Show):
    """A table that a report may show."""


class Figure(Show):
    """A figure that a report may show."""


def _described(c: Contents) -> tuple[pd.DataFrame, str]:
    unit = c.words.settings.unit
    return ss.describe(c.scores, unit=unit), c.done.call(ss.describe, "scores", unit=unit)


def _ranked(c: Contents) -> tuple[pd.DataFrame, str]:
    rows = f"means['metric'] == {c.metric!r}"
    if pooled_rows(c.done.frames["means"]).any():
        rows = f"({rows}) & (means['task'] == 'Average')"
    bare = ".drop(columns='task')" if "task" in c.scores.columns else ""
    return c.first, f"{assigned('means', c.done.calls['means'])}\nmeans[{rows}]{bare}"


def _compared(c: Contents, averaged: bool = True) -> tuple[pd.DataFrame, str] | None:
    key = c.contrasts
    if key not in c.done.frames:
        return None
    frame, call = c.done.frames[key], c.done.calls[key]
    pooled = pooled_rows(frame)
    if not pooled.any():
        return (frame, call) if averaged else None
    rows = f"{key}[{key}['task'] {'==' if averaged else '!='} 'Average']"
    return frame[pooled == averaged].reset_index(drop=True), f"{assigned(key, call)}\n{rows}"


def _picked(c: Contents) -> tuple[pd.DataFrame, str] | None:
    if c.shown is None:
        return None
    call = call_text(ss.pick_cases, "scores", at=list(PICKS), method=c.method, by="metric")
    return c.shown.picks(c.compared, c.method, c.metric), f"{call}  # here only of cases with a map"


def _styled(function: Callable[..., Any]) -> Draw:
    return lambda frame, c: partial(function, frame, **c.style)


def _labelled(function: Callable[..., Any]) -> Draw:
    return lambda frame, c: partial(function, frame, labels=c.words.labels)


def _draw_intervals(means: pd.DataFrame, c: Contents) -> partial[Any]:
    # methods stand in the order of their decreases, tasks in that of their AUROC
    others = {key: c.done.frames.get(key) for key in ("decrease", "auroc")}
    ordered = {k: f for k, f in others.items() if f is not None and (k == "decrease" or "task" in f.columns)}
    return partial(ss.plot_intervals, means, **ordered, **c.style)


def _draw_ranking(means: pd.DataFrame, c: Contents) -> partial[Any]:
    reference = c.words.settings.reference
    named: dict[str, Any] = {"reference": reference} if reference in set(means["method"]) else {}
    return partial(ss.plot_intervals, means, sort="estimate", **named, **c.style)


def _draw_contrasts(contrasts: pd.DataFrame, c: Contents) -> partial[Any]:
    tested = "p_value" in contrasts.columns and bool(contrasts["p_value"].notna().any())
    return partial(ss.plot_forest, contrasts, p_values=tested, width=_FOREST_MM, **c.style)


def _draw_means(means: pd.DataFrame, c: Contents) -> partial[Any]:
    reference = c.words.settings.reference
    differences = c.done.frames.get("difference")
    return partial(
        ss.table_estimates,
        means,
        differences=differences,
        exclude=[reference] if reference else [],
        **c.style,
    )


def _draw_examples(picks: pd.DataFrame, c: Contents) -> partial[Any]:
    assert c.shown is not None
    return partial(c.shown.figure, picks, c.scores, c.words.labels)


@dataclass(frozen=True)
class Part:
    """A section that a report may have: sentences of the frames `told`, then what it `shows`."""

    key: str
    title: str
    told: tuple[str, ...]
    shows: tuple[Show, ...]


#: Width of a forest with its numbers beside it, which a phone shows whole.
_FOREST_MM = 120
_IN_FILES = "the numbers are in the files below."
#: Sections in their order, the first the summary; a report has those for which there is something to show.
PARTS = (
    Part(
        "summary", "Summary", (),
        (
            Figure(
                "ranking", "Mean {metric} by method{over_tasks}", _draw_ranking, _ranked,
                alt=f"Mean {{metric}} of each method with its interval, the best on top; {_IN_FILES}",
            ),
        ),
    ),
    Part(
        "contrasts", "Comparison with {reference}", ("decrease", "difference"),
        (
            Figure(
                "contrasts", "{contrast} from {reference}{over_tasks}", _draw_contrasts, _compared,
                alt=f"{{contrast}} of each method from {{reference}} with interval and P; {_IN_FILES}",
            ),
            Figure(
                "contrasts_by_task", "{contrast} from {reference} by task",
                lambda f, c: partial(
                    ss.plot_decrease, f, n_columns=min(f["metric"].nunique(), 2), **c.style
                ),
                partial(_compared, averaged=False),
                alt=f"{{contrast}} of each method from {{reference}} with intervals; {_IN_FILES}",
                place="more",
            ),
            Table(
                "decrease", "Percentage decrease from {reference}",
                _styled(ss.table_decrease), "decrease", place="file",
            ),
            Table(
                "difference", "Difference from {reference}",
                _styled(ss.table_decrease), "difference", place="file",
            ),
        ),
    ),
    Part(
        "means", "Localisation", ("means",),
        (
            Figure(
                "intervals", "Mean {metrics} by method{and_task}", _draw_intervals, "means",
                alt=f"Means of {{metrics}} with intervals; {_IN_FILES}",
            ),
            Figure(
                "scores", "Distribution of {metrics} over cases",
                lambda _, c: partial(
                    ss.plot_box, c.scores, reference=c.words.settings.reference, labels=c.words.labels
                ),
                _described,
                alt=f"Box plots of scores by method; {_IN_FILES}",
                place="more",
            ),
            Table("means", "{metrics} by method{and_task}", _draw_means, "means", place="file"),
            Table(
                "best", "{metric}: difference from {best}, the best mean",
                _styled(ss.table_decrease), "best", place="file",
            ),
        ),
    ),
    Part(
        "covariates", "What goes with the scores", ("regression",),
        (
            Figure(
                "coefficients", "Regression of scores on covariates",
                _labelled(ss.plot_regression), "regression",
                alt=f"Coefficients with intervals; {_IN_FILES}",
            ),
            Figure(
                "covariates", "Distribution of covariates{by_task}",
                _labelled(ss.plot_letter_values), "covariates",
                alt="Letter-value plots of the covariates.",
                place="more",
            ),
            Table(
                "regression", "Regression of scores on covariates",
                _styled(ss.table_regression), "regression", place="file",
            ),
        ),
    ),
    Part(
        "confidence", "{confidence}", ("auroc", "correlation"),
        (
            Table(
                "auroc", "Discrimination of the classifier (AUROC)",
                _styled(ss.table_estimates), "auroc",
            ),
            Figure(
                "confidence", "{metric} against {prob}",
                lambda f, c: partial(
                    ss.plot_scatter, c.compared, "prob", c.metric, fit=f, labels=c.words.labels
                ),
                "confidence",
                caption="Linear models with standard errors clustered by {unit} (CR2).",
                alt="Scatter plots of {metric} against {prob} with fitted lines.",
            ),
            Table(
                "correlation", "Rank correlation of scores with {prob}",
                _styled(ss.table_correlation), "correlation", place="file",
            ),
        ),
    ),
    Part(
        "examples", "Examples", (),
        (
            Figure(
                "examples", "Cases picked by the {metric} of {method}", _draw_examples, _picked,
                caption="The worst, the median and the best {metric} of {method} among the cases at hand.",
                alt="Saliency maps over their images, with the outline of the truth and the score.",
            ),
        ),
    ),
    Part(
        "cases", "Cases and scores", ("flow",),
        (
            Table(
                "description", "Scores by metric and method",
                _styled(ss.table_describe), "describe",
            ),
            Figure(
                "flow", "Flow of cases", _labelled(ss.plot_flow), "flow",
                caption="Scores, cases and units at each step, and scores left out by reason.",
                alt="Flow diagram of cases and scores; the same counts are in the file of this figure.",
                place="more",
            ),
        ),
    ),
)  # fmt: skip
