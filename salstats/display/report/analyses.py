"""Analyses of a report: those that the columns of the scores allow, with their frames and Python calls."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

import salstats as ss
from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.report.calls import (
    COMPARED_SCORES_NAME,
    DEFINED_SCORES_NAME,
    call_text,
    last_line_assigned,
)
from salstats.display.report.ranking import (
    compared_means_of_any_metric_best_first,
    first_metric_of_compared_methods,
    is_mean_over_tasks_on_metric,
)
from salstats.display.report.settings import (
    Settings,
    has_several_values,
    text_covariates,
    warn_of_covariates_read_as_text,
)
from salstats.display.text.format import counted
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError, SalstatsWarning, first_warning_by_subject
from salstats.frames import DEFAULT_BY, ColumnCodes, warn_of_doubtful_scores
from salstats.jobs import count_nothing
from salstats.metrics.registry import may_have_meaningful_ratios, registered_metric
from salstats.stats.contrasts import min_score_by_metric
from salstats.stats.engine.cautions import row_mask_by_caution
from salstats.stats.engine.equivalence import sides_and_claims
from salstats.stats.engine.intervals import interval_names
from salstats.stats.engine.resampling_units import Unit

#: Analyses without which there is no report.
_REQUIRED_ANALYSES = ("flow", "describe", "means")
#: Columns that percentage decreases take from differences: their test, its family and the verdict.
_TEST_COLUMNS = (
    "statistic", "df", "p_value", "p_adjusted", "verdict", "test", "n_tests", "procedure", "p_floor",
    "p_adjusted_floor",
)  # fmt: skip
#: Choice of `test` with which differences have no P values.
_NO_TEST = "none"


class ReportFrames:
    """The frames of a report by key; those of estimates are read once.

    Parameters
    ----------
    frames : Mapping of str to DataFrame
        The frames that `report` returns.
    """

    def __init__(self, frames: Mapping[str, pd.DataFrame]) -> None:
        self._frames = frames
        self._estimates: dict[str, Estimates] = {}

    def __contains__(self, key: str) -> bool:
        """Return whether there is a frame with rows."""
        return key in self._frames and len(self._frames[key]) > 0

    def __getitem__(self, key: str) -> pd.DataFrame:
        return self._frames[key]

    def values(self) -> list[pd.DataFrame]:
        """Return the frames of all analyses."""
        return list(self._frames.values())

    def estimates(self, key: str) -> Estimates:
        """Return the estimates of a frame."""
        if key not in self._estimates:
            self._estimates[key] = read_estimates(self._frames[key], key)
        return self._estimates[key]

    def all_estimates(self) -> list[Estimates]:
        """Return the estimates of every frame that has any."""
        return [
            self.estimates(key)
            for key, frame in self._frames.items()
            if key in self and "estimate" in frame.columns
        ]


def ordered_metrics(scores: pd.DataFrame) -> list[str]:
    """Return the metrics of scores, those of the registry first and in its order."""
    return Labels().order("metric", sorted(scores["metric"].astype(TEXT).unique()))


def scores_without_reference(scores: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the scores of every method but the reference."""
    if settings.reference is None:
        return scores
    return scores[scores["method"] != settings.reference]


@dataclass
class Analyses:
    """Frames of a report, the calls that make them, and the warnings that they gave.

    Attributes
    ----------
    unit_argument : str, list of str or None
        The unit as calls on the scores of the user name it.
    count : callable
        Called before and after each analysis, for a bar of progress.
    frames : dict
        Frames by key.
    calls : dict
        Python that makes each frame, by its key.
    skipped : dict
        The error of each analysis that could not be run, by its key.
    warnings : dict
        Warnings by their subject, each once.
    """

    unit_argument: Unit = None
    count: Callable[..., None] = count_nothing
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, SalstatsError] = field(default_factory=dict)
    warnings: dict[object, SalstatsWarning] = field(default_factory=dict)

    @cached_property
    def results(self) -> ReportFrames:
        """The frames, with their estimates read once."""
        return ReportFrames(self.frames)

    def run(
        self,
        key: str,
        function: Callable[..., pd.DataFrame],
        scores: pd.DataFrame,
        *arguments: Any,
        scores_name: str = "scores",
        **options: Any,
    ) -> None:
        """Run a public function on scores, and keep its frame, or its error, with the Python that calls it.

        `scores_name` stands for the scores in that Python.
        """
        call = self.call_code(function, scores_name, *arguments, **options)
        self.store_frame_or_error(key, call, lambda: function(scores, *arguments, **options))

    def call_code(
        self, function: Callable[..., object], scores_name: str, *arguments: object, **options: object
    ) -> str:
        """Return the call of a public function on the scores of the user."""
        if "unit" in options:
            options["unit"] = self.unit_argument
        return call_text(function, scores_name, *arguments, **options)

    def store_frame_or_error(self, key: str, call: str, compute: Callable[[], pd.DataFrame]) -> None:
        """Compute a frame and keep it with its call, or the error of an analysis that is not required."""
        self.count(0, f"Statistics: {key}")
        with self.recording_warnings():
            try:
                self.frames[key] = compute()
                self.calls[key] = call
            except SalstatsError as error:
                if key in _REQUIRED_ANALYSES:
                    raise
                self.skipped[key] = error
        self.count(1)

    @contextmanager
    def recording_warnings(self) -> Iterator[None]:
        """Keep the warnings that a step gives."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for subject, warning in first_warning_by_subject(caught).items():
            self.warnings.setdefault(subject, warning)


def run_analyses(
    scores: pd.DataFrame, settings: Settings, count: Callable[..., None] = count_nothing
) -> Analyses:
    """Run every analysis that the columns of scores allow.

    Parameters
    ----------
    scores : DataFrame
        Rows of the report, from `resolve_scores_and_settings`.
    settings : Settings
        Settings of the report, from the same function.
    count : callable
        Called before and after each analysis, for a bar of progress.
    """
    analyses = Analyses(settings.unit_argument, count)
    with analyses.recording_warnings():
        warn_of_doubtful_scores(ColumnCodes(scores), lambda row: f"scores, row {row + 1}")
        warn_of_covariates_read_as_text(scores)
    for caution, rows in row_mask_by_caution(scores).items():
        analyses.warnings[caution.name] = SalstatsWarning(
            f"{counted(rows.sum(), 'score')}: {caution.note}", subject=caution.name
        )
    reference = settings.reference
    unit = settings.unit
    analyses.run("flow", ss.case_flow, scores, reference=reference, unit=unit)
    analyses.run("describe", ss.describe, scores, by=["metric", "method"], unit=unit)
    average = None
    if has_several_values(scores, "task"):
        average = "task"
    options: dict[str, Any] = {
        "average": average,
        "unit": unit,
        "interval": settings.interval,
        "level": settings.level,
        "n_replicates": settings.n_replicates,
        "rng": settings.seed,
        "weights": settings.weights,
    }
    # means do not have all intervals that contrasts have
    interval_of_means = None
    if settings.interval in interval_names("mean"):
        interval_of_means = settings.interval
    by = [column for column in DEFAULT_BY if column in scores.columns]
    analyses.run("means", ss.summarize, scores, by=by, **options | {"interval": interval_of_means})
    contrast_options = options | {"test": settings.test}
    _run_differences_from_best_method(analyses, scores, settings, contrast_options)
    if reference is not None:
        _run_contrasts_with_reference(
            analyses, scores, settings, {"reference": reference, **contrast_options}
        )
    _run_reader_agreement(analyses, scores, settings)
    _run_patient_descriptions(analyses, scores, settings)
    if "prob" in scores.columns:
        _run_classifier_confidence(analyses, scores, settings)
    if settings.covariates:
        _run_covariate_regressions(analyses, scores, settings)
    return analyses


def _grouping_columns_of_contrasts(scores: pd.DataFrame) -> list[str]:
    """Return the grouping columns of contrasts."""
    return [column for column in ("metric", "task") if column in scores.columns]


def _run_differences_from_best_method(
    analyses: Analyses, scores: pd.DataFrame, settings: Settings, options: dict[str, Any]
) -> None:
    """Compare every method with the one that has the best first mean, where there are several.

    Bonferroni's procedure over these comparisons corrects for having chosen that method by the same scores.
    """
    means = analyses.results.estimates("means")
    metric = first_metric_of_compared_methods(means, settings.reference)
    ranked = means.subset(is_mean_over_tasks_on_metric(means, metric))
    ranking = compared_means_of_any_metric_best_first(ranked, settings.reference)
    if len(ranking) < 2:
        return
    best_method = str(ranking.frame["method"].iloc[0])
    compared = scores_without_reference(scores, settings)
    options = {"by": _grouping_columns_of_contrasts(scores), "reference": best_method, **options}
    averages_tasks = options["average"] is not None

    def differences_from_best_with_adjusted_p_values() -> pd.DataFrame:
        frame = ss.difference(compared[compared["metric"] == metric], **options)
        if averages_tasks:
            is_over_tasks = read_estimates(frame).is_over_tasks
            frame = frame[is_over_tasks].reset_index(drop=True)
        if "p_value" in frame.columns:
            frame = ss.adjust(frame, procedure="bonferroni")
        return frame

    name = _variable_name_of_scores_without_reference(settings)
    rows = f"{name}[{name}['metric'] == {metric!r}]"
    last_line = "differences"
    if averages_tasks:
        last_line = "differences[differences['task'] == 'Average']"
    if settings.test != _NO_TEST:
        last_line = call_text(ss.adjust, last_line, procedure="bonferroni")
    call = f"differences = {analyses.call_code(ss.difference, rows, **options)}\n{last_line}"
    analyses.store_frame_or_error("best", call, differences_from_best_with_adjusted_p_values)


def _run_contrasts_with_reference(
    analyses: Analyses, scores: pd.DataFrame, settings: Settings, options: dict[str, Any]
) -> None:
    """Compare every method with the reference: differences, and decreases in percent of the reference.

    Each hypothesis is tested once, by the difference, whose P values the decreases take. Metrics of which a
    percentage means nothing have no decreases.
    """
    by = _grouping_columns_of_contrasts(scores)
    adjust = settings.adjust
    if settings.test == _NO_TEST:
        adjust = "none"
    analyses.run("difference", ss.difference, scores, by=by, **options, adjust=adjust, margin=settings.margin)
    metrics = _metrics_with_meaningful_ratios(scores)
    ratio_scores = scores[scores["metric"].isin(metrics)]
    if not len(ratio_scores) or "difference" not in analyses.frames:
        return
    if settings.interval == "t":
        # Fieller's interval is the t interval of a ratio
        options = options | {"interval": "fieller"}
    scores_name = "scores"
    if len(ratio_scores) < len(scores):
        scores_name = f"scores[scores['metric'].isin({metrics})]"
    difference = analyses.frames["difference"]
    decrease_call = analyses.call_code(ss.percent_decrease, scores_name, by=by, **options)
    difference_call = last_line_assigned("difference", analyses.calls["difference"])
    analyses.store_frame_or_error(
        "decrease",
        f"{difference_call}\n{_tested_decreases_code(decrease_call, difference)}",
        lambda: _decreases_with_tests_of(difference, ss.percent_decrease(ratio_scores, by=by, **options)),
    )


def _metrics_with_meaningful_ratios(scores: pd.DataFrame) -> list[str]:
    """Return the metrics that have percentage decreases: a true zero, and no score below it."""
    lowest = min_score_by_metric(scores)
    metrics = []
    for metric in ordered_metrics(scores):
        # the lowest score of a metric without defined scores is NaN
        if (
            registered_metric(metric) is not None
            and may_have_meaningful_ratios(metric)
            and not lowest[metric] < 0
        ):
            metrics.append(metric)
    return metrics


def _key_columns(difference: pd.DataFrame) -> list[str]:
    """Return the columns that identify the rows of differences: all before the term."""
    columns = list(difference.columns)
    return columns[: columns.index("term")]


def _test_columns(difference: pd.DataFrame) -> list[str]:
    """Return the columns that decreases take from differences."""
    return [column for column in _TEST_COLUMNS if column in difference.columns]


def _decreases_with_tests_of(difference: pd.DataFrame, decrease: pd.DataFrame) -> pd.DataFrame:
    """Return decreases with the P values, their family and the verdicts of differences.

    Margins apply to differences, so that verdicts of decreases omit what was shown about margins.
    """
    keys = _key_columns(difference)
    test_columns = _test_columns(difference)
    untested = decrease.drop(columns=test_columns, errors="ignore")
    sides, _ = sides_and_claims(difference["verdict"])
    tests = difference.assign(verdict=sides)
    return untested.merge(tests[[*keys, *test_columns]], on=keys, how="left", validate="one_to_one")


def _tested_decreases_code(decrease_call: str, difference: pd.DataFrame) -> str:
    """Return Python that adds the tests of differences to decreases, as `_decreases_with_tests_of` does."""
    keys = _key_columns(difference)
    test_columns = _test_columns(difference)
    lines = [f"tested = difference[{[*keys, *test_columns]}]"]
    if "p_margin" in difference.columns:
        sides = "difference['verdict'].str.extract('(lower|higher)', expand=False).fillna('inconclusive')"
        lines.append(f"tested = tested.assign(verdict={sides})")
    lines.append(f"decrease = {decrease_call}.drop(columns={test_columns}, errors='ignore')")
    lines.append(f"decrease.merge(tested, on={keys}, how='left')  # the difference's P values")
    return "\n".join(lines)


def _run_reader_agreement(analyses: Analyses, scores: pd.DataFrame, settings: Settings) -> None:
    """Estimate the agreement of the readers of each method that has several."""
    if "reader" not in scores.columns:
        return
    n_readers = scores.groupby("method", observed=True)["reader"].nunique()
    methods = [str(method) for method in n_readers.index[n_readers > 1]]
    if not methods:
        return
    by = [column for column in DEFAULT_BY if column in scores.columns]
    analyses.run(
        "agreement",
        ss.agreement,
        scores[scores["method"].isin(methods)],
        scores_name=f"scores[scores['method'].isin({methods})]",
        by=by,
        kind="krippendorff",
        unit=settings.unit,
        level=settings.level,
    )


def _run_patient_descriptions(analyses: Analyses, scores: pd.DataFrame, settings: Settings) -> None:
    """Describe patients by the covariates that are the same in all their rows; none if cases are units."""
    if settings.unit == "case":
        return
    rows_of_unit = scores.groupby(settings.unit, observed=True)
    covariates = []
    for column in (*(settings.covariates or ()), *text_covariates(scores)):
        if rows_of_unit[column].nunique().max() <= 1:
            covariates.append(column)
    if covariates:
        analyses.run("patients", ss.describe_patients, scores, covariates, unit=settings.unit)


def _run_classifier_confidence(analyses: Analyses, scores: pd.DataFrame, settings: Settings) -> None:
    """Relate scores to the model's confidence, and the confidence to the truth."""
    tasks = ["task"] if "task" in scores.columns else []
    level = settings.level
    unit = settings.unit
    if has_several_values(scores, "label"):
        classifier_options: dict[str, Any] = {"by": tasks or None, "unit": unit, "level": level}
        analyses.run("auroc", ss.auroc, scores, "prob", "label", **classifier_options)
        # an AUROC can be computed from any numbers, calibration from probabilities only
        if scores["prob"].dropna().between(0, 1).all():
            for key, function in (
                ("calibration", ss.calibration),
                ("calibration_curve", ss.calibration_curve),
            ):
                analyses.run(key, function, scores, "prob", "label", **classifier_options)
    compared = scores_without_reference(scores, settings)
    compared_name = _variable_name_of_scores_without_reference(settings)
    metrics = ordered_metrics(compared)
    by = ["method", *tasks]
    options: dict[str, Any] = {"by": by, "unit": unit, "level": level}

    def adjusted_correlations_with_prob() -> pd.DataFrame:
        frames = [ss.correlate(compared, metric, "prob", **options) for metric in metrics]
        return ss.adjust(pd.concat(frames, ignore_index=True), procedure=settings.adjust)

    calls = [analyses.call_code(ss.correlate, compared_name, metric, "prob", **options) for metric in metrics]
    analyses.store_frame_or_error(
        "correlation",
        f"correlations = {_concat_code(calls)}\n"
        f"{call_text(ss.adjust, 'correlations', procedure=settings.adjust)}",
        adjusted_correlations_with_prob,
    )
    means = analyses.results.estimates("means")
    first_metric = first_metric_of_compared_methods(means, settings.reference)
    analyses.run(
        "confidence",
        ss.fit_line,
        compared,
        f"{_formula_name(first_metric)} ~ prob",
        scores_name=compared_name,
        by=by,
        unit=unit,
        level=level,
    )


def _run_covariate_regressions(analyses: Analyses, scores: pd.DataFrame, settings: Settings) -> None:
    """Regress every score, and its gap to the reference, on each covariate, holding several tasks fixed."""
    covariates = list(settings.covariates or ())
    scored = scores[scores["score"].notna()]
    by = "task" if "task" in scores.columns else None
    analyses.run("covariates", ss.letter_values, scored, covariates, scores_name=DEFINED_SCORES_NAME, by=by)
    # task is the first term, so that a covariate that does not vary within tasks has no slope
    task_term = ""
    if has_several_values(scores, "task"):
        task_term = "task + "
    formulas = []
    for metric in ordered_metrics(scores):
        for covariate in covariates:
            formulas.append(f"{_formula_name(metric)} ~ {task_term}{_formula_name(covariate)}")
    reference = settings.reference
    options: dict[str, Any] = {"by": "method", "unit": settings.unit, "level": settings.level}
    if isinstance(settings.weights, str):
        # weights of tasks apply to averages only
        options["weights"] = settings.weights

    def adjusted_slopes_on_covariates() -> pd.DataFrame:
        # the range of a covariate is over the cases that are compared
        normalized = ss.normalize(scored, covariates)
        terms = ss.regress(scores_without_reference(normalized, settings), formulas, **options)
        if reference is not None:
            gaps = ss.regress(normalized, formulas, reference=reference, **options)
            terms = pd.concat([terms, gaps], ignore_index=True)[list(gaps.columns)]
        terms = terms[terms["term"].isin(covariates)].reset_index(drop=True)
        return ss.adjust(terms, procedure=settings.adjust)

    rows = "normalized"
    if reference is not None:
        rows = f"normalized[normalized['method'] != {reference!r}]"
    calls = [analyses.call_code(ss.regress, f"{rows}, formulas", **options)]
    if reference is not None:
        calls.append(analyses.call_code(ss.regress, "normalized, formulas", reference=reference, **options))
    lines = [
        f"formulas = {formulas}",
        f"normalized = {call_text(ss.normalize, DEFINED_SCORES_NAME, covariates)}",
        f"terms = {_concat_code(calls)}",
        f"terms = terms[terms['term'].isin({covariates})]",
        call_text(ss.adjust, "terms", procedure=settings.adjust),
    ]
    analyses.store_frame_or_error("regression", "\n".join(lines), adjusted_slopes_on_covariates)


def _concat_code(calls: list[str]) -> str:
    """Return Python that concatenates the frames of some calls."""
    lines = "".join(f"    {call},\n" for call in calls)
    return f"pd.concat([\n{lines}], ignore_index=True)"


def _variable_name_of_scores_without_reference(settings: Settings) -> str:
    """Return the variable name, in the report's Python, of the scores of every method but the reference."""
    if settings.reference is None:
        return "scores"
    return COMPARED_SCORES_NAME


def _formula_name(column: str) -> str:
    """Return a column's name as a formula takes it."""
    if column.isidentifier():
        return column
    if '"' in column:
        return f"Q('{column}')"
    return f'Q("{column}")'
