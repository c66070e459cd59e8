"""The statistics of saporta2022 as frames: as its scripts make them, and with patients as clusters."""

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

import salstats as ss
from salstats.errors import SalstatsError, SalstatsWarning
from salstats.frames import ESTIMATE_COLUMNS
from salstats.readers.case_images import ImageSource
from salstats.stats.engine.score_reasons import ABSENT_REASONS
from salstats.studies.engine import if_possible, not_made
from salstats.studies.saporta2022.script_inference import (
    correlate_as_published,
    percent_decrease_as_published,
    summarize_as_published,
)
from salstats.study import HUMAN, Study

#: What a result may need of a study.
MAPS = "maps of --data"
PEOPLE = "people's segmentations or points of --data"
SEGMENTATIONS, POINTS = "people's segmentations of --data", "people's points of --data"
PROBABILITIES = "the model's probabilities in the maps"
SWEEP = "--validation with maps"
THRESHOLDS = "--threshold, or --validation with maps"
SEVERAL = "maps of several methods or models"
CHECKPOINTS = "maps of a model, the ensemble, and of its single trainings, METHOD:MODEL:SEED"
#: What a folder of files always gives, and tables of scores may lack.
HITS = "hits of the maps"
SHAPES = "size and shape of the findings"
PIXELS = "counts of pixels"
FULL_SLICE = "the full slice"
FULL_PROBABILITIES = "the model's probabilities on the full slice"
FULL_LABELS = "labels of all cases"
PICTURES = "maps and truth of the cases"
FEATURES = ("n_instances", "area_ratio", "elongation", "irrectangularity")
OF_FILES = frozenset({HITS, SHAPES, *FEATURES, PIXELS, FULL_SLICE, FULL_LABELS, PICTURES})

#: Scores are those of a file, made with or without cut-offs.
AS_SCORED = "as scored"
#: A slope or correlation within tasks, beside the one pooled over them.
WITHIN = "Within tasks"
#: Outcomes of Table 2: heading, metric, and the method that the gap is taken from.
OUTCOMES = (
    ("IoU", "iou", None),
    ("Hit rate", "hit", None),
    ("Human minus saliency, IoU", "iou", HUMAN),
    ("Human minus saliency, hit rate", "hit", HUMAN),
)
#: How features were brought to 0 ... 1: as the study's text says, and as its scripts do.
PER_TASK, POOLED = "Scaled per task", "Scaled over all tasks"
ALL_TASKS, TASK_EFFECTS = "all tasks pooled", "with task effects"


@dataclass(frozen=True)
class Inference:
    """Inference as the scripts have it, or with patients as clusters and point estimates."""

    published: bool
    n_replicates: int = 1000
    #: Whether the classifier's AUROC is of patients, each with the largest probability of its views.
    by_patient: bool = False

    @property
    def resampled(self) -> dict[str, Any]:
        """How our estimates get their intervals: as the study's, but for the unit."""
        return {"interval": "percentile", "n_replicates": self.n_replicates}


@dataclass(frozen=True)
class StudyFrames:
    """What is known of a study, read or made once."""

    #: True-positive slice, Otsu's threshold: IoU and hit, with pixels.
    scores: pd.DataFrame
    #: IoU on the full slice, masks empty below the probability cut-offs where there are any; no rows where it
    #: is not known.
    full: pd.DataFrame
    #: IoU on the full slice without cut-offs; no rows where it is not known.
    uncut: pd.DataFrame
    #: Size and shape of the truth's findings by case and task. A column `label` says which findings are
    #: there; without it they are those with an area.
    features: pd.DataFrame
    #: IoU on the true-positive slice with the tuned thresholds.
    tuned: pd.DataFrame | None = None
    #: The thresholds' mean IoU on the validation study.
    sweep: pd.DataFrame | None = None
    #: Which probability cut-offs there are: "tuned", "given", or `AS_SCORED`; empty for none.
    cut_off: str = "tuned"
    #: Whether the thresholds of `tuned` are "tuned" or "given".
    thresholds: str = "tuned"
    #: True where maps are smoothed for Otsu's threshold alone: those of `tuned` and `sweep` are not.
    smoothed_for_otsu: bool = False
    #: Cases that the validation study has in common with this one; what is tuned on them is too good here.
    n_shared: int = 0
    #: Which needs are met.
    available: frozenset[str] = frozenset()
    inference: Inference = field(default_factory=lambda: Inference(False))
    #: What was scored, for pictures.
    study: Study | None = None
    #: The images behind the maps.
    images: ImageSource | None = None
    #: Cases that the truth or people know, over all tasks; found by itself.
    known: frozenset[str] = frozenset()
    #: The same before tasks were left out.
    everything: "StudyFrames | None" = None
    #: Of `count_tasks`.
    counts: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        """Find the cases that the truth or people know, before any task is left out."""
        if not self.known:
            people = self.full[(self.full["method"] == HUMAN) & self.full["score"].notna()]
            object.__setattr__(self, "known", frozenset(self.scores["case"]) | frozenset(people["case"]))

    @property
    def main(self) -> str | None:
        """The saliency method of the single-method figures: the first."""
        return next((str(m) for m in self.scores["method"] if m != HUMAN), None)

    @property
    def positives(self) -> pd.DataFrame:
        """The features of the findings that are there."""
        return self.features[is_positive(self.features)].reset_index(drop=True)

    def with_tasks(self, tasks: list[str]) -> "StudyFrames":
        """The frames of some tasks only."""
        kept = {
            name: frame[frame["task"].isin(tasks)].reset_index(drop=True)
            for name, frame in vars(self).items()
            if isinstance(frame, pd.DataFrame) and name != "counts"
        }
        return replace(self, **kept)

    def with_enough(self, min_positives: int) -> "StudyFrames":
        """The frames of tasks with so many positive cases, which know those left out."""
        check_positives(self.features, min_positives)
        counts = count_tasks(self, min_positives)
        kept = self.with_tasks(list(counts.loc[~counts["left_out"], "task"]))
        return replace(kept, everything=self, counts=counts)


def count_tasks(frames: StudyFrames, min_positives: int) -> pd.DataFrame:
    """The findings of each task, and why a task is left out."""
    cases = frames.scores[[c for c in ("case", "patient") if c in frames.scores]].drop_duplicates("case")
    found = frames.positives[["case", "task"]].merge(cases, on="case", how="left", validate="m:1")
    groups = found.groupby("task")
    table = pd.DataFrame({"task": sorted(frames.features["task"].unique())})
    # the truth has no rows of the images on which nothing was found
    table["n_cases"] = len({*frames.features["case"], *frames.uncut["case"]})
    table["n_positive"] = table["task"].map(groups.size()).fillna(0).astype("int64")
    if "patient" in found:
        table["n_patients"] = table["task"].map(groups["patient"].nunique()).fillna(0).astype("int64")
    table["left_out"] = table["n_positive"] < min_positives
    table["reason"] = table["left_out"].map({True: f"fewer than {min_positives} positive cases", False: None})
    return table


def is_positive(features: pd.DataFrame) -> pd.Series:
    """Say of each case and task whether the finding is there."""
    if "label" in features:
        return features["label"] == 1
    return features["area_ratio"] > 0


def warn_of_left_out(frames: StudyFrames, min_positives: int) -> None:
    """Name the tasks that are left out of every table, which changes what is pooled over tasks."""
    assert frames.counts is not None
    for task in frames.counts[frames.counts["left_out"]].itertuples():
        not_made(
            f"{task.task}, in every table",
            f"{task.n_positive} positive cases are fewer than {min_positives}; --min-positives keeps it",
        )


def check_positives(features: pd.DataFrame, min_positives: int) -> None:
    """Raise where no task has the positive cases that it needs to be kept."""
    most = int(is_positive(features).groupby(features["task"]).sum().max())
    if most < min_positives:
        raise SalstatsError(
            f"no task has {min_positives} positive cases (most: {most}), so there is nothing to estimate; "
            "lower --min-positives"
        )


def one_model(scores: pd.DataFrame) -> pd.DataFrame:
    """Each method's rows of its first model, and of the first of that model's trainings."""
    return first_of(first_of(scores, "model", ["method"]), "seed", ["method"]).drop(
        columns=["model", "seed"], errors="ignore"
    )


def models(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows of every method and model, of the first of its trainings."""
    known = [c for c in ("method", "model") if c in scores]
    return first_of(scores, "seed", known).drop(columns="seed", errors="ignore")


def first_of(scores: pd.DataFrame, column: str, by: list[str]) -> pd.DataFrame:
    """The rows whose value of a column is the first of their group, which may be none."""
    if column not in scores:
        return scores
    codes = pd.Series(pd.factorize(scores[column])[0], index=scores.index)
    groups = [scores[c].astype("object").where(scores[c].notna(), "") for c in by]
    return scores[codes == codes.groupby(groups, sort=False).transform("first")].reset_index(drop=True)


def main_rows(frames: StudyFrames, scores: pd.DataFrame) -> pd.DataFrame:
    """The rows of the main saliency method and of people."""
    rows = one_model(scores)
    return rows[rows["method"].isin([frames.main, HUMAN])].reset_index(drop=True)


def classifier_rows(rows: pd.DataFrame, inference: Inference) -> pd.DataFrame:
    """Return the probabilities and labels of an AUROC: of images, or of patients over their views."""
    if not inference.by_patient:
        return rows
    if "patient" not in rows or rows["patient"].isna().any():
        raise SalstatsError("--views max needs the patient of every case; --patient-from REGEX finds it")
    return ss.over_views(rows, value=["prob", "label"], by="patient", rule="max")


def metric_rows(scores: pd.DataFrame, *metrics: str) -> pd.DataFrame:
    """The rows of some metrics."""
    return scores[scores["metric"].isin(metrics)].reset_index(drop=True)


def present(scores: pd.DataFrame) -> pd.DataFrame:
    """The rows that a score could be of: without those where there is nothing to find or to mark."""
    return scores[~scores["reason"].isin(ABSENT_REASONS)].reset_index(drop=True)


def _less_absent(estimates: pd.DataFrame) -> pd.DataFrame:
    """Estimates whose missing scores are those of `present`."""
    absent = estimates.pop("n_absent") if "n_absent" in estimates.columns else 0
    return estimates.assign(n_missing=estimates["n_missing"] - absent)


def _wilson_of_hits(found: pd.DataFrame, scores: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Means in which a task's hit rate has Wilson's interval, of the effective number of patients.

    Replicates of a few zeros and ones take few values, and none of all ones varies. An average of tasks is
    no proportion and keeps its percentiles.
    """
    hits = metric_rows(scores, "hit")
    if not len(hits):
        return found
    keys = ["conf_low", "conf_high", "interval"]
    own = ss.summarize(hits, by=by, interval="wilson")[[*by, *keys]]
    rows = found[by].merge(own, on=by, how="left")
    known = rows["interval"].notna().to_numpy()
    return found.assign(**{k: np.where(known, rows[k].to_numpy(), found[k].to_numpy()) for k in keys})


def means(
    scores: pd.DataFrame, inference: Inference, by: tuple[str, ...] = ("metric", "method", "task")
) -> pd.DataFrame:
    """The mean scores."""
    if inference.published:
        found = summarize_as_published(scores, by=by, n_replicates=inference.n_replicates)
        return _less_absent(found)
    found = ss.summarize(present(scores), by=by, average="task", **inference.resampled)
    return _wilson_of_hits(found, present(scores), list(by))


def decreases(scores: pd.DataFrame, inference: Inference, reference: str = HUMAN) -> pd.DataFrame:
    """The percentage decreases from people, or another reference, with their average."""
    if inference.published:
        found = percent_decrease_as_published(
            scores, reference=reference, n_replicates=inference.n_replicates
        )
        return _less_absent(found)
    return ss.percent_decrease(
        present(scores), reference=reference, by=["metric", "task"], average="task", **inference.resampled
    )  # fmt: skip


def full_rows(frames: StudyFrames, inference: Inference) -> pd.DataFrame:
    """The full slice; as published people's file has only the cases that it or the truth knows."""
    rows = main_rows(frames, frames.full)
    if not inference.published:
        return rows
    return rows[(rows["method"] != HUMAN) | rows["case"].isin(frames.known)].reset_index(drop=True)


def all_of(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """The rows of the parts that could be made; raise where there are none."""
    if not parts:
        raise SalstatsError("nothing of it can be estimated")
    return pd.concat(parts, ignore_index=True)


def scaled_features(positives: pd.DataFrame, scale: str) -> pd.DataFrame:
    """The features from 0 to 1; one that does not vary (in a task) has no scale there and is NaN."""
    within = ["task"] if scale == PER_TASK else []
    result = positives[["case", "task", *FEATURES]].copy()
    for feature in FEATURES:
        values = result[feature].astype("float64")
        groups = result["task"] if within else pd.Series(0, index=result.index)
        varies = values.groupby(groups).transform("nunique") > 1
        result[feature] = np.nan
        if varies.any():
            some = positives.loc[varies, ["task", feature]].astype({feature: "float64"})
            result.loc[varies, feature] = ss.normalize(some, feature, within=within or None)[feature]
    return result


def feature_slopes(
    frames: StudyFrames,
    inference: Inference,
    scales: tuple[str, ...] = (PER_TASK, POOLED),
    pools: tuple[str, ...] = (ALL_TASKS, TASK_EFFECTS),
) -> pd.DataFrame:
    """The slopes of Table 2: one model per outcome and feature, scaled both ways, with both pools.

    `p_adjusted` is Bonferroni's for the four features of an outcome. An outcome whose models cannot be fitted
    is named in a warning; where that is all of them, SalstatsError is raised.
    """
    parts = []
    rows = main_rows(frames, frames.scores)
    for scale in scales:
        features = scaled_features(frames.positives, scale)
        features = features[[c for c in features if c not in FEATURES or features[c].notna().any()]]
        found = rows.merge(features[["case", "task"]], on=["case", "task"])
        found = ss.join_features(found, features)
        used = [f for f in FEATURES if f in features.columns]
        if not used:
            not_made(f"Table 2, {scale.lower()}", "no feature of the findings varies there")
            continue
        for pool in pools:
            # one task has no effects
            extra = " + task" if pool == TASK_EFFECTS and found["task"].nunique() > 1 else ""
            for outcome, metric, reference in OUTCOMES:
                if not _has_outcome(frames, metric, reference):
                    continue
                own = found if reference else found[found["method"] == frames.main]
                formulas = [f"{metric} ~ {f}{extra}" for f in used]
                with if_possible(f"Table 2 for {outcome}, {scale.lower()}, {pool}"):
                    terms = slopes_of(own, formulas, inference, by="method", reference=reference)
                    terms = terms[terms["term"].isin(FEATURES)].reset_index(drop=True)
                    terms = ss.adjust(terms, procedure="bonferroni", n_tests=len(FEATURES))
                    named = {"outcome": outcome, "scale": scale, "pool": pool}
                    parts.append(terms.drop(columns="reference", errors="ignore").assign(**named))
    found = all_of(parts)
    return found[[*named, *found.columns.drop(list(named))]]


def _has_outcome(frames: StudyFrames, metric: str, reference: str | None) -> bool:
    """Say whether there are scores of an outcome of Table 2."""
    if reference == HUMAN:
        need = SEGMENTATIONS if metric == "iou" else POINTS
    else:
        need = MAPS if metric == "iou" else HITS
    return need in frames.available


def slopes_of(
    data: pd.DataFrame, formula: str | list[str], inference: Inference, **options: object
) -> pd.DataFrame:
    """Regressions with rows for independent as the scripts have it, or with patients as clusters."""
    if not inference.published:
        return ss.regress(data, formula, **options)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="rows of|.*rows of .* cases", category=SalstatsWarning)
        return ss.regress(data, formula, errors="classical", **options)  # type: ignore[arg-type]


def confidence(scores: pd.DataFrame, metric: str, inference: Inference) -> pd.DataFrame:
    """Slopes and Spearman correlations of a metric on confidence: per task, pooled, within tasks."""
    rows = present(metric_rows(scores, metric))
    several = rows["task"].nunique() > 1
    parts = [slopes_of(rows, f"{metric} ~ prob", inference, by="task", overall=True)]
    if several:
        parts.append(slopes_of(rows, f"{metric} ~ prob + task", inference).assign(task=WITHIN))
    slopes = pd.concat(parts, ignore_index=True)
    slopes = slopes[slopes["term"] == "prob"].assign(term="slope")
    ranks = [_spearman(rows, metric, inference, by="task", overall=True)]
    if several:
        # the scripts have none
        ranks.append(_spearman(rows, metric, inference, by=(), stratified="task").assign(task=WITHIN))
    whole = pd.concat([slopes, *ranks], ignore_index=True).assign(metric=metric)
    columns = ["metric", "task", *ESTIMATE_COLUMNS, "formula", "errors", "n_replicates"]
    return whole[[c for c in columns if c in whole]]


def _spearman(rows: pd.DataFrame, metric: str, inference: Inference, **groups: object) -> pd.DataFrame:
    """Spearman's correlations of a metric and confidence, of groups or within strata."""
    if not inference.published:
        return ss.correlate(rows, metric, "prob", **groups)  # type: ignore[arg-type]
    if "overall" in groups:
        return correlate_as_published(rows, metric, "prob", **groups)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*rows repeat", category=SalstatsWarning)
        return ss.correlate(rows, metric, "prob", interval="fisher", **groups)  # type: ignore[arg-type]


def confidence_rows(frames: StudyFrames, metric: str) -> pd.DataFrame:
    """Take the main method's rows of Table 3 (IoU) or Extended Data 9 (hits).

    Table 3 is of the full slice with cut-offs, or of the true-positive slice where that is all there is.
    """
    scores = frames.scores
    if metric == "iou" and FULL_SLICE in frames.available:
        scores = frames.full
    rows = metric_rows(main_rows(frames, scores), metric)
    return rows[rows["method"] == frames.main].reset_index(drop=True)


def confidence_of(frames: StudyFrames, metric: str, inference: Inference) -> pd.DataFrame:
    """Table 3 (IoU) or Extended Data 9 (hits)."""
    return confidence(confidence_rows(frames, metric), metric, inference)
