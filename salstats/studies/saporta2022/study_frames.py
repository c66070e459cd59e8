"""Scores of saporta2022, and its statistics as its scripts make them and with patients as clusters."""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import salstats as ss
from salstats.errors import (
    ColumnError,
    Message,
    SalstatsError,
    Setting,
    ValueRangeError,
    warn,
)
from salstats.frames import ESTIMATE_COLUMNS
from salstats.readers.background_images import ImageSource
from salstats.stats.engine.result_warnings import RepeatedUnitsWarning
from salstats.stats.engine.score_reasons import ABSENT_REASONS
from salstats.studies.declarations import Need
from salstats.studies.item_warnings import ItemNotMade, warning_instead_of_any_error
from salstats.studies.saporta2022.script_inference import (
    percent_decrease_as_published,
    spearman_as_published,
    summarize_as_published,
)
from salstats.study import HUMAN, Study

# Needs of the results.
MAPS = Message("maps of ", Setting("data"))
PEOPLE = Message("people's segmentations or points of ", Setting("data"))
SEGMENTATIONS = Message("people's segmentations of ", Setting("data"))
POINTS = Message("people's points of ", Setting("data"))
PROBABILITIES = "the model's probabilities in the maps"
SWEEP = Message(Setting("validation"), " with maps")
THRESHOLDS = Message(Setting("threshold"), ", or ", Setting("validation"), " with maps")
SEVERAL_MODELS = "maps of several methods or models"
CHECKPOINTS = "maps of a model, the ensemble, and of its single trainings, METHOD:MODEL:SEED"
# Needs that a folder of files always meets, and tables of scores may lack.
HITS = "hits of the maps"
SHAPES = "size and shape of the findings"
PIXELS = "counts of pixels"
FULL_SLICE = "the full slice"
FULL_PROBABILITIES = "the model's probabilities on the full slice"
FULL_LABELS = "labels of all cases"
PICTURES = "maps and truth of the cases"
FEATURES = ("n_instances", "area_ratio", "elongation", "irrectangularity")
NEEDS_MET_BY_FILES: frozenset[Need] = frozenset(
    {HITS, SHAPES, *FEATURES, PIXELS, FULL_SLICE, FULL_LABELS, PICTURES}
)

#: Source of the cut-offs of scores that are read: masks may have been emptied before they were scored.
AS_SCORED = "as scored"
#: Task of slopes and correlations within tasks, beside those pooled over tasks.
WITHIN_TASKS = "Within tasks"
#: Features brought to 0 ... 1 within each task, as the study's text says, or over all, as its scripts do.
SCALED_PER_TASK = "Scaled per task"
SCALED_OVER_ALL_TASKS = "Scaled over all tasks"
#: Models of Table 2 without and with an effect of each task.
TASKS_POOLED = "all tasks pooled"
TASK_EFFECTS = "with task effects"


class Outcome(NamedTuple):
    """An outcome of Table 2."""

    name: str
    metric: str
    #: Method that the differences are taken from; None for scores themselves.
    reference: str | None


OUTCOMES = (
    Outcome("IoU", "iou", None),
    Outcome("Hit rate", "hit", None),
    Outcome("Human minus saliency, IoU", "iou", HUMAN),
    Outcome("Human minus saliency, hit rate", "hit", HUMAN),
)


@dataclass(frozen=True)
class StudyInference:
    """Options of inference: as the study's scripts make it, or with patients as clusters."""

    #: Follow the scripts: means of replicates, cases as independent.
    published: bool
    n_replicates: int = 1000
    #: True where the classifier's AUROC compares patients, each with the largest probability of its views.
    by_patient: bool = False

    @property
    def interval_options(self) -> dict[str, Any]:
        """Interval and number of replicates of the package's functions, as the study has them."""
        return {"interval": "percentile", "n_replicates": self.n_replicates}


@dataclass(frozen=True)
class StudyFrames:
    """The scores and features of a study."""

    #: IoU and hits on the true-positive slice by Otsu's threshold, with counts of pixels.
    scores: pd.DataFrame
    #: IoU on the full slice, masks empty below the probability cut-offs where there are any; no rows where it
    #: is not known.
    full: pd.DataFrame
    #: IoU on the full slice without cut-offs; no rows where it is not known.
    uncut: pd.DataFrame
    #: Size and shape of the truth's findings by case and task. A column `label` says which findings are
    #: present; without it they are those with an area.
    features: pd.DataFrame
    #: IoU on the true-positive slice with the tuned thresholds.
    tuned: pd.DataFrame | None = None
    #: Mean IoU by threshold on the validation study.
    sweep: pd.DataFrame | None = None
    #: Source of the probability cut-offs: "tuned", "given", or `AS_SCORED`; empty for none.
    cutoff_source: str = "tuned"
    #: Source of the thresholds of `tuned`: "tuned" or "given".
    threshold_source: str = "tuned"
    #: True where maps are smoothed for Otsu's threshold alone: those of `tuned` and `sweep` are not.
    smoothed_for_otsu_only: bool = False
    #: Number of cases that the validation study shares with this one; what is tuned on them is too good here.
    n_shared_cases: int = 0
    #: The needs that are met.
    available: frozenset[Need] = frozenset()
    inference: StudyInference = field(default_factory=lambda: StudyInference(False))
    #: The study that was scored, for pictures.
    study: Study | None = None
    #: The images behind the maps.
    images: ImageSource | None = None
    #: Cases that the truth or people mark, over all tasks; derived from the scores by default.
    marked_cases: frozenset[str] = frozenset()
    #: The frames before tasks with few positive cases were left out; None without that step.
    all_tasks: "StudyFrames | None" = None
    #: Counts of `case_counts_of_each_task`.
    counts: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        """Set `marked_cases` from the scores, unless it is given."""
        if not self.marked_cases:
            # The dataclass is frozen, so that the field cannot be assigned.
            object.__setattr__(self, "marked_cases", _marked_cases_of_scores(self.scores, self.full))

    @property
    def main_method(self) -> str | None:
        """The saliency method of the single-method figures: the first."""
        for method in self.scores["method"]:
            if method != HUMAN:
                return str(method)
        return None

    @property
    def positives(self) -> pd.DataFrame:
        """The features of the findings that are present."""
        return self.features[has_finding(self.features)].reset_index(drop=True)

    def with_tasks(self, tasks: list[str]) -> "StudyFrames":
        """Return the frames of some tasks."""
        frames: dict[str, Any] = {}
        for name, frame in vars(self).items():
            if isinstance(frame, pd.DataFrame) and name != "counts":
                frames[name] = frame[frame["task"].isin(tasks)].reset_index(drop=True)
        return replace(self, **frames)

    def with_enough_positives(self, min_positives: int) -> "StudyFrames":
        """Return the frames of tasks with enough positive cases."""
        check_some_task_has_enough_positives(self.features, min_positives)
        counts = case_counts_of_each_task(self, min_positives)
        frames = self.with_tasks(list(counts.loc[~counts["left_out"], "task"]))
        return replace(frames, all_tasks=self, counts=counts)


def _marked_cases_of_scores(scores: pd.DataFrame, full_slice: pd.DataFrame) -> frozenset[str]:
    """Return the cases of the true-positive slice, and those that people mark on the full slice."""
    people = full_slice[(full_slice["method"] == HUMAN) & full_slice["score"].notna()]
    return frozenset(scores["case"]) | frozenset(people["case"])


def case_counts_of_each_task(frames: StudyFrames, min_positives: int) -> pd.DataFrame:
    """Return the number of cases, findings and patients of each task, and why a task is left out.

    Columns: `task, n_cases, n_positive, left_out, reason`, and `n_patients` where patients are known.
    """
    case_columns = [column for column in ("case", "patient") if column in frames.scores]
    cases = frames.scores[case_columns].drop_duplicates("case")
    findings = frames.positives[["case", "task"]].merge(cases, on="case", how="left", validate="m:1")
    groups = findings.groupby("task")
    counts = pd.DataFrame({"task": sorted(frames.features["task"].unique())})
    # The truth has no rows of the images on which nothing was found; the full slice has all images.
    all_cases = {*frames.features["case"], *frames.uncut["case"]}
    counts["n_cases"] = len(all_cases)
    n_positive = groups.size()
    counts["n_positive"] = counts["task"].map(n_positive).fillna(0).astype("int64")
    if "patient" in findings:
        n_patients = groups["patient"].nunique()
        counts["n_patients"] = counts["task"].map(n_patients).fillna(0).astype("int64")
    counts["left_out"] = counts["n_positive"] < min_positives
    reason_by_left_out = {True: f"fewer than {min_positives} positive cases", False: None}
    counts["reason"] = counts["left_out"].map(reason_by_left_out)
    return counts


def has_finding(features: pd.DataFrame) -> pd.Series:
    """Return True for each case and task with the finding: by the column `label`, else by an area above 0."""
    if "label" in features:
        return features["label"] == 1
    return features["area_ratio"] > 0


def warn_of_left_out_tasks(frames: StudyFrames, min_positives: int) -> None:
    """Warn of the tasks that are left out of every table, which changes what is pooled over tasks."""
    assert frames.counts is not None
    for task in frames.counts[frames.counts["left_out"]].itertuples():
        reason = Message(
            f"{task.n_positive} positive cases are fewer than {min_positives}; ",
            Setting("min_positives"),
            " keeps it",
        )
        warn(ItemNotMade(f"{task.task}, in every table", reason))


def check_some_task_has_enough_positives(features: pd.DataFrame, min_positives: int) -> None:
    """Raise an error where no task has `min_positives` positive cases."""
    n_positive = has_finding(features).groupby(features["task"]).sum()
    largest = int(n_positive.max())
    if largest < min_positives:
        raise ValueRangeError(
            f"no task has {min_positives} positive cases (most: {largest}), so there is nothing to estimate",
            hint=Message("lower ", Setting("min_positives")),
            option="min_positives",
            value=min_positives,
        )


def rows_of_first_training_of_each_method(scores: pd.DataFrame) -> pd.DataFrame:
    """Keep each method's rows of its first model, and of the first of that model's trainings."""
    first_models = rows_with_first_value(scores, "model", ["method"])
    first_trainings = rows_with_first_value(first_models, "seed", ["method"])
    return first_trainings.drop(columns=["model", "seed"], errors="ignore")


def rows_of_first_trainings(scores: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of every method and model, of the first of its trainings."""
    keys = [column for column in ("method", "model") if column in scores]
    return rows_with_first_value(scores, "seed", keys).drop(columns="seed", errors="ignore")


def rows_with_first_value(scores: pd.DataFrame, column: str, by: list[str]) -> pd.DataFrame:
    """Keep the rows of each group with the value of a column that its first row has, missing or not."""
    if column not in scores:
        return scores
    # All missing values have the code -1. As NaN they would differ from each other.
    codes = pd.Series(pd.factorize(scores[column])[0], index=scores.index)
    # Missing keys become "", since groupby leaves their rows out.
    keys = [scores[key].astype("object").where(scores[key].notna(), "") for key in by]
    first_codes = codes.groupby(keys, sort=False).transform("first")
    return scores[codes == first_codes].reset_index(drop=True)


def rows_of_main_and_people(frames: StudyFrames, scores: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of the main saliency method and of people."""
    rows = rows_of_first_training_of_each_method(scores)
    return rows[rows["method"].isin([frames.main_method, HUMAN])].reset_index(drop=True)


def image_or_patient_max_rows_for_auroc(rows: pd.DataFrame, inference: StudyInference) -> pd.DataFrame:
    """Return the rows of an AUROC: images as they are, or patients with the largest values of their views."""
    if not inference.by_patient:
        return rows
    if "patient" not in rows or rows["patient"].isna().any():
        raise ColumnError(
            Setting("views", "max"),
            " needs the patient of every case",
            hint=Message(Setting("patient_from", "REGEX"), " finds it"),
            column="patient",
        )
    return ss.over_views(rows, value=["prob", "label"], by="patient", rule="max")


def metric_rows(scores: pd.DataFrame, *metrics: str) -> pd.DataFrame:
    """Keep the rows of some metrics."""
    return scores[scores["metric"].isin(metrics)].reset_index(drop=True)


def drop_absent_findings(scores: pd.DataFrame) -> pd.DataFrame:
    """Remove the rows where there is nothing to find or to mark, which cannot have a score."""
    return scores[~scores["reason"].isin(ABSENT_REASONS)].reset_index(drop=True)


def _exclude_absent_from_n_missing(estimates: pd.DataFrame) -> pd.DataFrame:
    """Subtract from `n_missing` the scores of absent findings, which `drop_absent_findings` removes."""
    if "n_absent" not in estimates.columns:
        return estimates
    n_missing = estimates["n_missing"] - estimates["n_absent"]
    return estimates.drop(columns="n_absent").assign(n_missing=n_missing)


def _with_wilson_intervals_of_hit_rates(
    estimates: pd.DataFrame, scores: pd.DataFrame, by: list[str]
) -> pd.DataFrame:
    """Replace the interval of each task's hit rate by Wilson's with the effective number of patients.

    Replicates of a few zeros and ones take few values, and if all scores are 1 they do not vary. An average
    over tasks is not a proportion and keeps its percentile interval.
    """
    hits = metric_rows(scores, "hit")
    if not len(hits):
        return estimates
    columns = ["conf_low", "conf_high", "interval"]
    wilson = ss.summarize(hits, by=by, interval="wilson")[[*by, *columns]]
    rows = estimates[by].merge(wilson, on=by, how="left")
    has_wilson = rows["interval"].notna().to_numpy()
    intervals = {
        column: np.where(has_wilson, rows[column].to_numpy(), estimates[column].to_numpy())
        for column in columns
    }
    return estimates.assign(**intervals)


def means(
    scores: pd.DataFrame, inference: StudyInference, by: tuple[str, ...] = ("metric", "method", "task")
) -> pd.DataFrame:
    """Return the mean scores with intervals and, unless as published, their averages over tasks."""
    if inference.published:
        estimates = summarize_as_published(scores, by=by, n_replicates=inference.n_replicates)
        return _exclude_absent_from_n_missing(estimates)
    scores = drop_absent_findings(scores)
    estimates = ss.summarize(scores, by=by, average="task", **inference.interval_options)
    return _with_wilson_intervals_of_hit_rates(estimates, scores, list(by))


def decreases(scores: pd.DataFrame, inference: StudyInference, reference: str = HUMAN) -> pd.DataFrame:
    """Return the percentage decreases from people, or another reference, with their average over tasks.

    Metrics without a score of the reference are left out.
    """
    reference_scores = scores.loc[scores["method"] == reference].dropna(subset="score")
    scores = scores[scores["metric"].isin(reference_scores["metric"])].reset_index(drop=True)
    if inference.published:
        estimates = percent_decrease_as_published(
            scores, reference=reference, n_replicates=inference.n_replicates
        )
        return _exclude_absent_from_n_missing(estimates)
    return ss.percent_decrease(
        drop_absent_findings(scores),
        reference=reference,
        by=["metric", "task"],
        average="task",
        **inference.interval_options,
    )


def full_slice_scores_of_main_and_people(frames: StudyFrames, inference: StudyInference) -> pd.DataFrame:
    """Return scores of the full slice; as published, people have only cases that they or the truth mark."""
    rows = rows_of_main_and_people(frames, frames.full)
    if not inference.published:
        return rows
    is_in_files = (rows["method"] != HUMAN) | rows["case"].isin(frames.marked_cases)
    return rows[is_in_files].reset_index(drop=True)


def concat_or_raise_if_none(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Stack the frames that could be made; raise an error where there are none."""
    if not parts:
        raise SalstatsError("nothing of it can be estimated")
    return pd.concat(parts, ignore_index=True)


def min_max_features(positives: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Scale each feature from its smallest to its largest value, 0 to 1, per task or over all tasks.

    A feature with one value in its task, or in all tasks, has no scale and becomes NaN.
    """
    result = positives[["case", "task", *FEATURES]].copy()
    within: list[str] | None
    if scale == SCALED_PER_TASK:
        within = ["task"]
        groups = result["task"]
    else:
        within = None
        groups = pd.Series(TASKS_POOLED, index=result.index)
    for feature in FEATURES:
        values = result[feature].astype("float64")
        varies = values.groupby(groups).transform("nunique") > 1
        result[feature] = np.nan
        if varies.any():
            varying = positives.loc[varies, ["task", feature]].astype({feature: "float64"})
            result.loc[varies, feature] = ss.normalize(varying, feature, within=within)[feature]
    return result


def feature_slopes(
    frames: StudyFrames,
    inference: StudyInference,
    scales: tuple[str, ...] = (SCALED_PER_TASK, SCALED_OVER_ALL_TASKS),
    pools: tuple[str, ...] = (TASKS_POOLED, TASK_EFFECTS),
) -> pd.DataFrame:
    """Return the slopes of Table 2: a model for each outcome and feature, of each scale and pool.

    `p_adjusted` is Bonferroni's for the four features of an outcome. A warning names an outcome whose models
    cannot be fitted; if there is no other outcome, SalstatsError is raised.
    """
    parts = []
    rows = rows_of_main_and_people(frames, frames.scores)
    for scale in scales:
        features = min_max_features(frames.positives, scale)
        varying_features = [feature for feature in FEATURES if features[feature].notna().any()]
        if not varying_features:
            warn(ItemNotMade(f"Table 2, {scale.lower()}", "no feature of the findings varies there"))
            continue
        features = features[["case", "task", *varying_features]]
        data = ss.join_features(rows.merge(features[["case", "task"]], on=["case", "task"]), features)
        has_tasks = data["task"].nunique() > 1
        for pool in pools:
            task_term = ""
            if pool == TASK_EFFECTS and has_tasks:
                task_term = " + task"
            for outcome in OUTCOMES:
                if not _has_outcome(frames, outcome):
                    continue
                formulas = [f"{outcome.metric} ~ {feature}{task_term}" for feature in varying_features]
                with warning_instead_of_any_error(f"Table 2 for {outcome.name}, {scale.lower()}, {pool}"):
                    slopes = _outcome_slopes_with_bonferroni_p(frames, data, outcome, formulas, inference)
                    slopes.insert(0, "outcome", outcome.name)
                    slopes.insert(1, "scale", scale)
                    slopes.insert(2, "pool", pool)
                    parts.append(slopes)
    return concat_or_raise_if_none(parts)


def _outcome_slopes_with_bonferroni_p(
    frames: StudyFrames, data: pd.DataFrame, outcome: Outcome, formulas: list[str], inference: StudyInference
) -> pd.DataFrame:
    """Return the slopes of one outcome on each feature, adjusted by Bonferroni's procedure.

    Each of `formulas` is a model of one feature. An outcome without a reference is the score of the main
    method; one with a reference is the score of the reference less that of the main method, the only other
    method of `data`. P values are adjusted for all of `FEATURES`, even where fewer vary, since the study has
    them all. The column `reference` is left out, since the outcome's name says it.
    """
    if outcome.reference is None:
        data = data[data["method"] == frames.main_method]
    slopes = regression_coefficients(data, formulas, inference, by="method", reference=outcome.reference)
    slopes = slopes[slopes["term"].isin(FEATURES)].reset_index(drop=True)
    slopes = ss.adjust(slopes, procedure="bonferroni", n_tests=len(FEATURES))
    return slopes.drop(columns="reference", errors="ignore")


def _has_outcome(frames: StudyFrames, outcome: Outcome) -> bool:
    """Tell whether there are scores of an outcome of Table 2."""
    needs: dict[str, Need] = {"iou": MAPS, "hit": HITS}
    if outcome.reference == HUMAN:
        needs = {"iou": SEGMENTATIONS, "hit": POINTS}
    return needs[outcome.metric] in frames.available


def regression_coefficients(
    data: pd.DataFrame, formula: str | list[str], inference: StudyInference, **options: object
) -> pd.DataFrame:
    """Return regression coefficients: as published with independent rows, else with patients as clusters."""
    if not inference.published:
        return ss.regress(data, formula, **options)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedUnitsWarning)
        return ss.regress(data, formula, errors="classical", **options)  # type: ignore[arg-type]


def task_and_pooled_slopes_and_correlations_on_prob(
    scores: pd.DataFrame, metric: str, inference: StudyInference
) -> pd.DataFrame:
    """Return slopes and Spearman correlations of a metric on confidence: per task, pooled, within tasks."""
    rows = drop_absent_findings(metric_rows(scores, metric))
    coefficients = [regression_coefficients(rows, f"{metric} ~ prob", inference, by="task", overall=True)]
    correlations = [_spearman_with_prob(rows, metric, inference, by="task", overall=True)]
    if rows["task"].nunique() > 1:
        within_coefficients = regression_coefficients(rows, f"{metric} ~ prob + task", inference)
        coefficients.append(within_coefficients.assign(task=WITHIN_TASKS))
        within_correlation = _spearman_with_prob(rows, metric, inference, by=(), stratified="task")
        correlations.append(within_correlation.assign(task=WITHIN_TASKS))
    all_coefficients = pd.concat(coefficients, ignore_index=True)
    slopes = all_coefficients[all_coefficients["term"] == "prob"].assign(term="slope")
    estimates = pd.concat([slopes, *correlations], ignore_index=True).assign(metric=metric)
    columns = ["metric", "task", *ESTIMATE_COLUMNS, "formula", "errors", "n_replicates"]
    return estimates[[column for column in columns if column in estimates]]


def _spearman_with_prob(
    rows: pd.DataFrame, metric: str, inference: StudyInference, **correlate_options: object
) -> pd.DataFrame:
    """Return Spearman's correlations of a metric and confidence, with options of `correlate`."""
    if not inference.published:
        return ss.correlate(rows, metric, "prob", **correlate_options)  # type: ignore[arg-type]
    if "stratified" not in correlate_options:
        return spearman_as_published(rows, metric, "prob", **correlate_options)
    # The scripts have no correlation within tasks, so it has the package's limits for independent rows.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedUnitsWarning)
        return ss.correlate(rows, metric, "prob", interval="fisher", **correlate_options)  # type: ignore[arg-type]


def main_method_scores_to_regress_on_confidence(frames: StudyFrames, metric: str) -> pd.DataFrame:
    """Return the main method's rows of Table 3 (IoU) or Extended Data 9 (hits).

    Table 3 uses the full slice with cut-offs, or the true-positive slice where the full one is not known.
    """
    scores = frames.scores
    if metric == "iou" and FULL_SLICE in frames.available:
        scores = frames.full
    rows = metric_rows(rows_of_main_and_people(frames, scores), metric)
    return rows[rows["method"] == frames.main_method].reset_index(drop=True)


def confidence_estimates(frames: StudyFrames, metric: str, inference: StudyInference) -> pd.DataFrame:
    """Return the estimates of Table 3 (IoU) or Extended Data 9 (hits)."""
    return task_and_pooled_slopes_and_correlations_on_prob(
        main_method_scores_to_regress_on_confidence(frames, metric), metric, inference
    )
