"""The parts of a report: the tables and figures of each section, with their frames and titles."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import pandas as pd

import salstats as ss
from salstats.coded_text import TEXT
from salstats.display.report.analyses import Analyses, ordered_metrics, scores_without_reference
from salstats.display.report.calls import call_text, last_line_assigned
from salstats.display.report.document import Display
from salstats.display.report.examples import PICKS, Examples
from salstats.display.report.ranking import first_metric_of_compared_methods, is_mean_over_tasks_on_metric
from salstats.display.report.settings import has_several_values
from salstats.display.report.wording import Wording
from salstats.display.text.format import joined
from salstats.display.text.margins import has_margins


@dataclass(frozen=True)
class Contents:
    """The material of a report's tables and figures.

    Attributes
    ----------
    scores : DataFrame
        Rows of the report.
    analyses : Analyses
        The analyses of these scores.
    wording : Wording
        Names of the report.
    examples : Examples, optional
        Maps behind the scores.
    """

    scores: pd.DataFrame
    analyses: Analyses
    wording: Wording
    examples: Examples | None = None

    @cached_property
    def scores_without_reference(self) -> pd.DataFrame:
        """Scores of every method but the reference."""
        return scores_without_reference(self.scores, self.wording.settings)

    @cached_property
    def first_metric(self) -> str:
        """First metric, by which methods are ranked, scores drawn and cases picked."""
        means = self.analyses.results.estimates("means")
        return first_metric_of_compared_methods(means, self.wording.settings.reference)

    @cached_property
    def method_means_on_first_metric(self) -> pd.DataFrame:
        """Mean of each method on the first metric, by which methods are ranked."""
        means = self.analyses.results.estimates("means")
        is_ranked = is_mean_over_tasks_on_metric(means, self.first_metric)
        frame = self.analyses.frames["means"]
        return frame[is_ranked].drop(columns="task", errors="ignore").reset_index(drop=True)

    @cached_property
    def decrease_or_difference_key(self) -> str:
        """Key of the contrasts in figures: "decrease" if all metrics have them and there is no margin."""
        results = self.analyses.results
        if "decrease" not in results or "difference" not in results:
            return "difference"
        differences = results.estimates("difference")
        if has_margins(differences):
            return "difference"
        metrics_with_decrease = set(results.estimates("decrease").distinct_values("metric"))
        if metrics_with_decrease != set(differences.distinct_values("metric")):
            return "difference"
        return "decrease"

    @cached_property
    def first_compared_method(self) -> str:
        """First method in the order of labels but the reference, by whose scores cases are picked."""
        return str(
            self.wording.labels.order("method", self.scores_without_reference["method"].astype(TEXT))[0]
        )

    @cached_property
    def style_options(self) -> dict[str, Any]:
        """Options that every table shares."""
        return {"labels": self.wording.labels, "style": self.wording.settings.style}

    @cached_property
    def slots(self) -> dict[str, str]:
        """Texts for the slots of titles, captions and descriptions."""
        settings = self.wording.settings
        slots = {
            "metrics": joined([self.wording.metric(metric) for metric in ordered_metrics(self.scores)]),
            "and_task": "",
            "by_task": "",
            "over_tasks": "",
            "contrast": "Difference",
            "reference": self.wording.method(settings.reference or ""),
            "unit": settings.unit,
            "units": self.wording.units,
            "metric": self.wording.metric(self.first_metric),
            "method": self.wording.method(self.first_compared_method),
        }
        if has_several_values(self.scores, "task"):
            slots["and_task"] = " and task"
            slots["by_task"] = " by task"
            slots["over_tasks"] = ", averaged over tasks"
        if self.decrease_or_difference_key == "decrease":
            slots["contrast"] = "Percentage decrease"
        if "best" in self.analyses.frames:
            slots["best"] = self.wording.method(self.analyses.frames["best"]["reference"].iloc[0])
        if "prob" in self.scores.columns:
            slots["prob"] = self.wording.column("prob")
            slots["confidence"] = self.wording.labels.column("prob")
        return slots


class FrameWithCall(NamedTuple):
    """A frame and the Python that makes it."""

    frame: pd.DataFrame
    call: str


#: Function that returns the call that draws a frame.
DrawingCall: TypeAlias = Callable[[pd.DataFrame, Contents], partial[Any]]
#: Function that makes a frame with its call; None where there is nothing to show.
FrameMaker: TypeAlias = Callable[[Contents], FrameWithCall | None]


@dataclass(frozen=True)
class ItemPlan:
    """A table or figure that a report may show; its texts have the slots of `Contents.slots`.

    Attributes
    ----------
    key : str
        Stem of its files.
    title : str
        Its title.
    drawing_call : callable
        Returns the call that draws the frame.
    frame : str or callable
        Key of the frame of an analysis, or a function that makes the frame.
    caption, alt : str
        Caption, and description for readers who do not see the figure.
    display : Display
        Where the page shows it.
    """

    key: str
    title: str
    drawing_call: DrawingCall
    frame: str | FrameMaker
    caption: str = ""
    alt: str = ""
    display: Display = Display.OPEN


class TablePlan(ItemPlan):
    """A table that a report may show."""


class FigurePlan(ItemPlan):
    """A figure that a report may show."""


def _descriptions(contents: Contents) -> FrameWithCall:
    """Describe the scores by their default groups."""
    unit = contents.wording.settings.unit
    return FrameWithCall(
        ss.describe(contents.scores, unit=unit),
        contents.analyses.call_code(ss.describe, "scores", unit=unit),
    )


def _method_means_on_first_metric(contents: Contents) -> FrameWithCall:
    """Return the means by which methods are ranked."""
    condition = f"means['metric'] == {contents.first_metric!r}"
    if contents.analyses.results.estimates("means").is_over_tasks.any():
        condition = f"({condition}) & (means['task'] == 'Average')"
    selection = f"means[{condition}]"
    if "task" in contents.scores.columns:
        selection += ".drop(columns='task')"
    means_call = last_line_assigned("means", contents.analyses.calls["means"])
    return FrameWithCall(contents.method_means_on_first_metric, f"{means_call}\n{selection}")


def _contrasts_averaged_or_of_single_task(contents: Contents) -> FrameWithCall | None:
    """Return the contrasts averaged over tasks, or those of the only task; None without contrasts."""
    if contents.decrease_or_difference_key not in contents.analyses.frames:
        return None
    if _contrasts_have_averages(contents):
        return _contrast_rows(contents, over_tasks=True)
    key = contents.decrease_or_difference_key
    return FrameWithCall(contents.analyses.frames[key], contents.analyses.calls[key])


def _contrasts_by_task(contents: Contents) -> FrameWithCall | None:
    """Return the contrasts in single tasks, None without contrasts or with one task only."""
    if contents.decrease_or_difference_key not in contents.analyses.frames:
        return None
    if not _contrasts_have_averages(contents):
        return None
    return _contrast_rows(contents, over_tasks=False)


def _contrasts_have_averages(contents: Contents) -> bool:
    """Return whether contrasts have rows that average over tasks."""
    return bool(contents.analyses.results.estimates(contents.decrease_or_difference_key).is_over_tasks.any())


def _contrast_rows(contents: Contents, *, over_tasks: bool) -> FrameWithCall:
    """Return the contrasts averaged over tasks, or those in single tasks."""
    key = contents.decrease_or_difference_key
    frame = contents.analyses.frames[key]
    is_over_tasks = contents.analyses.results.estimates(key).is_over_tasks
    if over_tasks:
        is_selected = is_over_tasks
        operator = "=="
    else:
        is_selected = ~is_over_tasks
        operator = "!="
    contrast_call = last_line_assigned(key, contents.analyses.calls[key])
    return FrameWithCall(
        frame[is_selected].reset_index(drop=True),
        f"{contrast_call}\n{key}[{key}['task'] {operator} 'Average']",
    )


def _picked_cases(contents: Contents) -> FrameWithCall | None:
    """Return the cases with the worst, the median and the best score, None without maps."""
    if contents.examples is None:
        return None
    call = call_text(
        ss.pick_cases, "scores", at=list(PICKS), method=contents.first_compared_method, by="metric"
    )
    return FrameWithCall(
        contents.examples.picked_cases(
            contents.scores_without_reference, contents.first_compared_method, contents.first_metric
        ),
        f"{call}  # here only of cases with a map",
    )


def _maker_of_styled_drawing_call(function: Callable[..., Any]) -> DrawingCall:
    """Return a function that returns the call of `function` with a frame, labels and a style."""

    def drawing_call(frame: pd.DataFrame, contents: Contents) -> partial[Any]:
        return partial(function, frame, **contents.style_options)

    return drawing_call


def _call_with_labels(function: Callable[..., Any]) -> DrawingCall:
    """Return a function that returns the call of `function` with a frame and labels."""

    def drawing_call(frame: pd.DataFrame, contents: Contents) -> partial[Any]:
        return partial(function, frame, labels=contents.wording.labels)

    return drawing_call


def _interval_plot_call_with_decrease_and_auroc(means: pd.DataFrame, contents: Contents) -> partial[Any]:
    """Return the call that draws means.

    Tasks stand in the order of their decreases from the reference, with their AUROC after their names, where
    the report has frames of these.
    """
    frames = contents.analyses.frames
    options: dict[str, Any] = {}
    if "decrease" in frames:
        options["decrease"] = frames["decrease"]
    if "auroc" in frames and "task" in frames["auroc"].columns:
        options["auroc"] = frames["auroc"]
    return partial(ss.plot_intervals, means, **options, **contents.style_options)


def _best_first_interval_plot_call(means: pd.DataFrame, contents: Contents) -> partial[Any]:
    """Return the call that draws the means of methods, the best on top."""
    reference = contents.wording.settings.reference
    options: dict[str, Any] = {"sort": "estimate"}
    if reference in set(means["method"]):
        options["reference"] = reference
    return partial(ss.plot_intervals, means, **options, **contents.style_options)


def _forest_plot_call(contrasts: pd.DataFrame, contents: Contents) -> partial[Any]:
    """Return the call that draws contrasts over tasks, with P values where there are any."""
    is_tested = "p_value" in contrasts.columns and bool(contrasts["p_value"].notna().any())
    return partial(ss.plot_forest, contrasts, p_values=is_tested, width=_FOREST_MM, **contents.style_options)


def _decrease_plot_call(contrasts: pd.DataFrame, contents: Contents) -> partial[Any]:
    """Return the call that draws contrasts in single tasks, a panel for each metric."""
    n_columns = min(contrasts["metric"].nunique(), 2)
    return partial(ss.plot_decrease, contrasts, n_columns=n_columns, **contents.style_options)


def _box_plot_call(_descriptions: pd.DataFrame, contents: Contents) -> partial[Any]:
    """Return the call that draws the scores behind their descriptions."""
    wording = contents.wording
    return partial(ss.plot_box, contents.scores, reference=wording.settings.reference, labels=wording.labels)


def _confidence_scatter_call(lines: pd.DataFrame, contents: Contents) -> partial[Any]:
    """Return the call that draws scores on the first metric against the model's confidence, with lines."""
    labels = contents.wording.labels
    return partial(
        ss.plot_scatter,
        contents.scores_without_reference,
        "prob",
        contents.first_metric,
        fit=lines,
        labels=labels,
    )


def _calibration_plot_call(curves: pd.DataFrame, contents: Contents) -> partial[Any]:
    """Return the call that draws calibration curves with their intercepts and slopes."""
    numbers = contents.analyses.frames.get("calibration")
    return partial(ss.plot_calibration, curves, calibration=numbers, labels=contents.wording.labels)


def _regression_table_call(slopes: pd.DataFrame, contents: Contents) -> partial[Any]:
    """Return the call that draws the table of slopes, with P values where there are any."""
    is_tested = "p_value" in slopes.columns and bool(slopes["p_value"].notna().any())
    return partial(ss.table_regression, slopes, p_values=is_tested, **contents.style_options)


def _mean_table_call(means: pd.DataFrame, contents: Contents) -> partial[Any]:
    """Return the call that draws the table of means, with marks for differences from the reference."""
    reference = contents.wording.settings.reference
    options: dict[str, Any] = {"differences": contents.analyses.frames.get("difference")}
    if reference is not None:
        options["exclude"] = [reference]
    return partial(ss.table_estimates, means, **options, **contents.style_options)


def _example_maps_call(picks: pd.DataFrame, contents: Contents) -> partial[Any]:
    """Return the call that draws the maps of picked cases."""
    assert contents.examples is not None
    return partial(contents.examples.figure, picks, contents.scores, contents.wording.labels)


@dataclass(frozen=True)
class SectionPlan:
    """A section that a report may have.

    Attributes
    ----------
    key, title : str
        Its name in the page's addresses, and its heading, which has the slots of `Contents.slots`.
    sentence_keys : tuple of str
        Keys of the frames that its sentences describe.
    items : tuple of ItemPlan
        Its tables and figures.
    """

    key: str
    title: str
    sentence_keys: tuple[str, ...]
    items: tuple[ItemPlan, ...]


#: Width of a forest plot with its numbers beside it, which fits the screen of a phone.
_FOREST_MM = 120
_FILES_NOTE = "the numbers are in the files below."
#: Sections in their order, the first the summary; a report has those for which there is something to show.
SECTION_PLANS = (
    SectionPlan(
        "summary", "Summary", (),
        (
            FigurePlan(
                "ranking", "Mean {metric} by method{over_tasks}",
                _best_first_interval_plot_call, _method_means_on_first_metric,
                alt=f"Mean {{metric}} of each method with its interval, the best on top; {_FILES_NOTE}",
            ),
        ),
    ),
    SectionPlan(
        "contrasts", "Comparison with {reference}", ("decrease", "difference"),
        (
            FigurePlan(
                "contrasts", "{contrast} from {reference}{over_tasks}",
                _forest_plot_call, _contrasts_averaged_or_of_single_task,
                alt=f"{{contrast}} of each method from {{reference}} with interval and P; {_FILES_NOTE}",
            ),
            FigurePlan(
                "contrasts_by_task", "{contrast} from {reference} by task",
                _decrease_plot_call, _contrasts_by_task,
                alt=f"{{contrast}} of each method from {{reference}} with intervals; {_FILES_NOTE}",
                display=Display.FOLDED,
            ),
            TablePlan(
                "decrease", "Percentage decrease from {reference}",
                _maker_of_styled_drawing_call(ss.table_decrease), "decrease",
            ),
            TablePlan(
                "difference", "Difference from {reference}",
                _maker_of_styled_drawing_call(ss.table_decrease), "difference",
            ),
        ),
    ),
    SectionPlan(
        "means", "Localisation", ("means",),
        (
            FigurePlan(
                "intervals", "Mean {metrics} by method{and_task}",
                _interval_plot_call_with_decrease_and_auroc, "means",
                alt=f"Means of {{metrics}} with intervals; {_FILES_NOTE}",
            ),
            FigurePlan(
                "scores", "Distribution of {metrics} over cases",
                _box_plot_call, _descriptions,
                alt=f"Box plots of scores by method; {_FILES_NOTE}",
                display=Display.FOLDED,
            ),
            TablePlan(
                "means", "Mean {metrics} by method{and_task}",
                _mean_table_call, "means",
            ),
            TablePlan(
                "best", "Difference in {metric} from {best}, the best mean",
                _maker_of_styled_drawing_call(ss.table_decrease), "best", display=Display.FOLDED,
            ),
        ),
    ),
    SectionPlan(
        "covariates", "Associations with covariates", ("regression",),
        (
            FigurePlan(
                "covariates", "Distribution of covariates{by_task}",
                _call_with_labels(ss.plot_letter_values), "covariates",
                alt="Letter-value plots of the covariates.",
            ),
            FigurePlan(
                "coefficients", "Regression of scores on covariates",
                _call_with_labels(ss.plot_regression), "regression",
                alt=f"Coefficients with intervals; {_FILES_NOTE}",
            ),
            TablePlan(
                "regression", "Regression of scores on covariates",
                _regression_table_call, "regression",
            ),
        ),
    ),
    SectionPlan(
        "readers", "Agreement of readers", (),
        (
            TablePlan(
                "agreement", "Agreement of readers of the same cases",
                _maker_of_styled_drawing_call(ss.table_estimates), "agreement",
            ),
        ),
    ),
    SectionPlan(
        "confidence", "{confidence}", ("auroc", "correlation"),
        (
            TablePlan(
                "auroc", "Discrimination of the classifier (AUROC)",
                _maker_of_styled_drawing_call(ss.table_estimates), "auroc",
            ),
            FigurePlan(
                "calibration_curve", "Calibration of the classifier",
                _calibration_plot_call, "calibration_curve",
                alt=f"Observed rates of the finding against predicted ones; {_FILES_NOTE}",
            ),
            TablePlan(
                "calibration", "Calibration of the classifier",
                _maker_of_styled_drawing_call(ss.table_estimates), "calibration",
            ),
            FigurePlan(
                "confidence", "Scatter plots of {metric} against {prob}",
                _confidence_scatter_call, "confidence",
                caption="Linear models with standard errors clustered by {unit} (CR2).",
                alt="Scatter plots of {metric} against {prob} with fitted lines.",
            ),
            TablePlan(
                "correlation", "Rank correlation of scores with {prob}",
                _maker_of_styled_drawing_call(ss.table_correlation), "correlation",
            ),
        ),
    ),
    SectionPlan(
        "examples", "Examples", (),
        (
            FigurePlan(
                "examples", "Cases picked by the {metric} of {method}", _example_maps_call, _picked_cases,
                caption="The worst, the median and the best {metric} of {method} among the cases at hand.",
                alt="Saliency maps over their images, with the outline of the truth and the score.",
            ),
        ),
    ),
    SectionPlan(
        "cases", "Cases and scores", ("flow",),
        (
            TablePlan(
                "patients", "Characteristics of {units}",
                _maker_of_styled_drawing_call(ss.table_patients), "patients",
            ),
            TablePlan(
                "description", "Scores by metric and method",
                _maker_of_styled_drawing_call(ss.table_describe), "describe",
            ),
            FigurePlan(
                "flow", "Flow of cases", _call_with_labels(ss.plot_flow), "flow",
                caption="Scores, cases and units at each step, and scores left out by reason.",
                alt="Flow diagram of cases and scores; the same counts are in the file of this figure.",
                display=Display.FOLDED,
            ),
        ),
    ),
)  # fmt: skip
