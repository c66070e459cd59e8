"""Frames of tables of scores: slices are told apart, patients found and cut-offs applied."""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, Message, SalstatsError, Setting, ValueRangeError, warn
from salstats.frames import check_cases_have_one_patient
from salstats.metrics.overlap import Counts
from salstats.readers.chexlocalize_maps import TASK_BY_ALIAS
from salstats.readers.chexlocalize_study import PATIENT_PATTERN
from salstats.readers.score_layouts import compiled_patient_pattern, patients_of_cases
from salstats.readers.threshold_files import read_thresholds
from salstats.scoring.cases import ABSENT, EMPTY, FULL, TRUE_NEGATIVE, TRUE_POSITIVE
from salstats.scoring.masking import Key, value_for_task_and_series
from salstats.studies.declarations import Need
from salstats.studies.options import check_enough_replicates, names_in, values_by_option_and_method
from salstats.studies.saporta2022.file_scoring import (
    full_scores_as_true_positive_slice,
    inference_of,
    iou_rows_with_low_probability_masks_emptied,
    method_model_seed_of_each_row,
)
from salstats.studies.saporta2022.release import has_name_of_shape_file, read_released_scores_or_feature
from salstats.studies.saporta2022.study_frames import (
    AS_SCORED,
    CHECKPOINTS,
    FEATURES,
    FULL_LABELS,
    FULL_PROBABILITIES,
    FULL_SLICE,
    HITS,
    MAPS,
    PEOPLE,
    PICTURES,
    PIXELS,
    POINTS,
    PROBABILITIES,
    SEGMENTATIONS,
    SEVERAL_MODELS,
    SHAPES,
    SWEEP,
    THRESHOLDS,
    StudyFrames,
    check_some_task_has_enough_positives,
)
from salstats.studies.score_tables import ScoreTableOptions, read_score_tables
from salstats.study import HUMAN

#: The need as messages about tables of scores name it, by the need as messages about files do.
TABLE_NEED_BY_NEED: dict[Need, Need] = {
    MAPS: "scores of a saliency method",
    PEOPLE: f"scores of the method {HUMAN}",
    SEGMENTATIONS: f"IoU of the method {HUMAN}",
    POINTS: f"hits of the method {HUMAN}",
    HITS: "hits of a saliency method (metric hit)",
    PROBABILITIES: "the column prob",
    SHAPES: Message(
        f"features ({', '.join(FEATURES)}): columns beside the scores, or ", Setting("features", "FILE")
    ),
    **{
        name: Message(f"the column {name}, beside the scores or in a file of ", Setting("features"))
        for name in FEATURES
    },
    PIXELS: "the pixel counts tp, fp, fn, tn",
    FULL_SLICE: Message("the full slice (", Setting("full_scores", "FILE"), ")"),
    FULL_PROBABILITIES: "the column prob, of the full slice where that is given",
    FULL_LABELS: "the column label of the full slice",
    SEVERAL_MODELS: "scores of several saliency methods or models",
    CHECKPOINTS: "scores of a model's ensemble (seed empty) and of its trainings (columns model and seed)",
    SWEEP: Message("maps and truth (", Setting("data"), " and ", Setting("validation"), ")"),
    THRESHOLDS: Message(
        "maps and truth (",
        Setting("data"),
        ", and ",
        Setting("threshold"),
        " or ",
        Setting("validation"),
        ")",
    ),
    PICTURES: Message("maps and truth (", Setting("data"), ")"),
}
#: Options for finding, scoring or drawing maps.
_DATA_OPTIONS = (
    "validation", "maps", "validation_maps", "threshold", "smooth", "colormap", "images", "split", "truth",
    "annotations", "human", "human_annotations", "points", "labels", "resume",
)  # fmt: skip
_COUNT_COLUMNS = list(Counts._fields)


@dataclass(frozen=True)
class SlicedScores:
    """The scores of a study by slice, each row without a score with its reason."""

    true_positive: pd.DataFrame
    #: IoU with the masks as they were scored; no rows where the full slice is not given.
    full: pd.DataFrame
    #: Labels and features by case and task (`finding_labels_and_features_by_case`).
    features: pd.DataFrame
    #: Probability cut-offs by task and method or series, None for any; empty without the option.
    cutoffs: dict[Key, float]

    @property
    def available(self) -> frozenset[Need]:
        """The needs that are met."""
        scores = self.true_positive
        maps = scores[scores["method"] != HUMAN]
        people = scores[scores["method"] == HUMAN]
        full_maps = self.full[self.full["method"] != HUMAN]
        has_prob = _has_values(maps, "prob")
        has_feature: dict[Need, bool] = {name: bool(self.features[name].notna().any()) for name in FEATURES}
        is_met: dict[Need, bool] = {
            MAPS: len(maps) > 0,
            PEOPLE: len(people) > 0,
            SEGMENTATIONS: _has_scores(people, "iou"),
            POINTS: _has_scores(people, "hit"),
            HITS: _has_scores(maps, "hit"),
            PROBABILITIES: has_prob,
            SHAPES: any(has_feature.values()),
            **has_feature,
            PIXELS: all(_has_values(scores, name) for name in _COUNT_COLUMNS),
            FULL_SLICE: len(self.full) > 0,
            FULL_PROBABILITIES: _has_values(full_maps, "prob") or (self.full.empty and has_prob),
            FULL_LABELS: _has_values(full_maps, "label"),
            SEVERAL_MODELS: _n_method_model_pairs(maps) > 1,
            CHECKPOINTS: _first_model_has_ensemble_and_checkpoints(maps),
        }
        return frozenset(need for need, met in is_met.items() if met)

    def frames(self, options: argparse.Namespace) -> StudyFrames:
        """Make the frames of the study, with masks emptied below the cut-offs."""
        full = self.full
        cutoff_source = AS_SCORED
        if self.cutoffs:
            cutoff_source = "given"
            full = iou_rows_with_low_probability_masks_emptied(full, self.cutoffs)
        return StudyFrames(
            scores=self.true_positive,
            full=full,
            uncut=self.full,
            features=self.features,
            cutoff_source=cutoff_source,
            available=self.available,
            inference=inference_of(options),
        )


def full_and_true_positive_scores(scores: pd.DataFrame, options: argparse.Namespace) -> SlicedScores:
    """Separate scores into the true-positive and the full slice, and prepare both for the study's items."""
    _check_no_data_options(options)
    check_enough_replicates(options.replicates)
    prepared = _iou_and_hit_rows_main_first(scores, options)
    full = _rows_of_slice_unnamed_true_positive(prepared, FULL)
    true_positives = _rows_of_slice_unnamed_true_positive(prepared, TRUE_POSITIVE)
    if options.full_scores:
        if len(full):
            raise SalstatsError(
                Setting("scores"),
                " holds the full slice already",
                hint=Message("leave ", Setting("full_scores"), " out"),
                column="slice",
            )
        full = _iou_and_hit_rows_main_first(_read_full_slice_scores_with_features(options), options)
        if "slice" in full and (full["slice"].notna() & (full["slice"] != FULL)).any():
            raise SalstatsError(
                Setting("full_scores"),
                f" holds scores of the {quoted(full['slice'].dropna().unique())} slice",
                hint=Message("name those with ", Setting("scores")),
                column="slice",
            )
    if true_positives.empty:
        true_positives = _true_positive_slice_of_full(full)
    true_positives = _with_reasons_of_undefined_scores(true_positives, is_full_slice=False)
    features = finding_labels_and_features_by_case(true_positives)
    true_positives = true_positives.drop(columns=list(FEATURES), errors="ignore")
    check_some_task_has_enough_positives(features, options.min_positives)
    full = _with_reasons_of_undefined_scores(
        full[full["metric"] == "iou"].reset_index(drop=True), is_full_slice=True
    )
    if options.cutoff:
        _check_has_probabilities_and_pixel_counts(full)
    cutoffs = _read_cutoffs(options.cutoff, full)
    full = _add_finding_labels(full).drop(columns=list(FEATURES), errors="ignore")
    return SlicedScores(true_positives, full, features, cutoffs)


def finding_labels_and_features_by_case(scores: pd.DataFrame) -> pd.DataFrame:
    """Return a row per case and task of scores: `case, task, label` and the features, NaN where unknown.

    The label is 0 where the reason of every score is an absent finding, else 1.
    """
    rows = scores.assign(label=(scores["reason"] != ABSENT).astype("int64"))
    for name in FEATURES:
        if name not in rows:
            rows[name] = np.nan
    groups = rows.groupby(["case", "task"], sort=True)
    has_several = groups[list(FEATURES)].nunique().gt(1)
    if has_several.any(axis=None):
        # the first finding with several values, and the first feature that has them
        case, task = has_several.index[has_several.any(axis=1)][0]
        name = has_several.columns[has_several.loc[(case, task)]][0]
        is_finding = (scores["case"] == case) & (scores["task"] == task)
        raise ColumnError(
            f"case {case}, task {task}: column {name!r} has several values; a feature of the truth has one",
            column=name,
            rows=np.flatnonzero(is_finding).tolist(),
        )
    label = groups["label"].max()
    return pd.concat([label, groups[list(FEATURES)].first().astype("float64")], axis=1).reset_index()


def _check_no_data_options(options: argparse.Namespace) -> None:
    """Raise an error where an option for files of `--data` is given together with tables of scores."""
    for name in _DATA_OPTIONS:
        if getattr(options, name) not in (None, []):
            raise SalstatsError(
                Setting(name), " belongs to ", Setting("data"), ", not to ", Setting("scores")
            )


def _read_full_slice_scores_with_features(options: argparse.Namespace) -> pd.DataFrame:
    """Read the scores of the full slice with their features.

    Files of sizes and shapes are left out, since only findings have those; a frame is used as it is.
    """
    features = []
    for table in options.features:
        if isinstance(table, pd.DataFrame) or not has_name_of_shape_file(table):
            features.append(table)
    return read_score_tables(
        options.full_scores,
        features,
        table_options=ScoreTableOptions.of(options),
        read_release=read_released_scores_or_feature,
    )


def _iou_and_hit_rows_main_first(scores: pd.DataFrame, options: argparse.Namespace) -> pd.DataFrame:
    """Keep IoU and hits of the chosen tasks, with patients, and put the rows of the option `main` first.

    Tasks get the names of the release.
    """
    if "task" not in scores:
        raise ColumnError(
            f"the scores have no column 'task' (columns: {quoted(scores.columns)})",
            hint=Message("say which one it is with ", Setting("rename", {"NAME": "task"})),
            column="task",
            choices=map(str, scores.columns),
        )
    scores = scores[scores["metric"].isin(["iou", "hit"])]
    if scores.empty:
        raise ColumnError(
            "the scores have no metric 'iou' or 'hit', which this study is made of",
            column="metric",
            choices=("iou", "hit"),
        )
    _check_scores_0_to_1(scores)
    scores = scores.assign(task=scores["task"].replace(TASK_BY_ALIAS)).reset_index(drop=True)
    scores = _rows_of_tasks(scores, names_in(options.tasks))
    return _main_series_first(_with_patients(scores, options.patient_from), options.main)


def _check_scores_0_to_1(scores: pd.DataFrame) -> None:
    """Raise where a score is outside 0 to 1, the range of both metrics."""
    is_outside = (scores["score"] < 0) | (scores["score"] > 1)
    if is_outside.any():
        row = scores[is_outside].iloc[0]
        raise ValueRangeError(
            f"case {row['case']}, task {row['task']}, method {row['method']}: {row['metric']} is "
            f"{row['score']:g}, outside 0 to 1 ({is_outside.sum()} of {len(scores)} scores are)",
            hint=Message(Setting("scale", 0.01), " makes percentages shares"),
            column="score",
            rows=np.flatnonzero(is_outside).tolist(),
        )


def _rows_of_tasks(scores: pd.DataFrame, tasks: list[str] | None) -> pd.DataFrame:
    """Keep the rows of the tasks that are chosen by name."""
    if tasks is None:
        return scores
    names = [TASK_BY_ALIAS.get(task, task) for task in tasks]
    score_tasks = sorted(scores["task"].unique())
    missing = sorted(set(names) - set(score_tasks))
    if missing:
        raise SalstatsError(
            Setting("tasks"),
            f" names {missing[0]!r}, and the scores have {quoted(score_tasks)}",
            value=missing[0],
            choices=score_tasks,
            column="task",
        )
    return scores[scores["task"].isin(names)].reset_index(drop=True)


def _with_patients(scores: pd.DataFrame, pattern: str) -> pd.DataFrame:
    """Add a column `patient` from the names of the cases, unless the scores have one.

    Where the default pattern matches no name, a warning says that cases are treated as independent.
    """
    if "patient" in scores:
        return scores
    cases = scores["case"].astype(TEXT)
    names = list(cases.unique())
    try:
        compiled = compiled_patient_pattern(pattern)
        assert compiled is not None
        patients = patients_of_cases(names, compiled, "--patient-from")
    except ColumnError:
        if pattern != PATIENT_PATTERN:
            raise
        warn(
            f"no patient is found in the cases' names (such as {names[0]!r}), so that cases are taken for "
            "independent",
            hint=Message(
                "a column patient, or ", Setting("patient_from", "REGEX"), ", says which belong together"
            ),
            option="patient_from",
            column="case",
        )
        return scores
    patient_of_case = dict(zip(names, patients, strict=True))
    scores = scores.assign(patient=cases.map(patient_of_case))
    check_cases_have_one_patient(scores, "scores")
    return scores


def _main_series_first(scores: pd.DataFrame, main_series: str | None) -> pd.DataFrame:
    """Put the rows of METHOD or METHOD:MODEL first: the single-method items show the first method."""
    if main_series is None:
        return scores
    method, _, model = main_series.partition(":")
    is_main = (scores["method"] == method) & (scores["method"] != HUMAN)
    if model:
        # Without a column of models no row belongs to the model.
        models = scores.get("model", pd.Series("", index=scores.index))
        is_main &= models == model
    if not is_main.any():
        names = _saliency_series_names(scores)
        raise SalstatsError(
            Setting("main", main_series), f" is none of the saliency methods ({quoted(names)})", choices=names
        )
    return pd.concat([scores[is_main], scores[~is_main]], ignore_index=True)


def _saliency_series_names(scores: pd.DataFrame) -> list[str]:
    """Return the names of the saliency series, METHOD or METHOD:MODEL."""
    columns = [column for column in ("method", "model") if column in scores]
    names = []
    for values in scores.loc[scores["method"] != HUMAN, columns].to_numpy():
        names.append(":".join(str(value) for value in values if pd.notna(value)))
    return list(dict.fromkeys(names))


def _rows_of_slice_unnamed_true_positive(scores: pd.DataFrame, name: str) -> pd.DataFrame:
    """Keep the rows of a slice; rows that name none belong to the true-positive slice."""
    if "slice" not in scores:
        if name == TRUE_POSITIVE:
            return scores
        return scores.head(0)
    slices = scores["slice"].fillna(TRUE_POSITIVE)
    other_slices = sorted(set(slices) - {TRUE_POSITIVE, FULL})
    if other_slices:
        raise ColumnError(
            f"the column slice has {other_slices[0]!r}; this study uses {TRUE_POSITIVE!r} and {FULL!r}",
            column="slice",
            choices=(TRUE_POSITIVE, FULL),
        )
    return scores[slices == name].reset_index(drop=True)


def _true_positive_slice_of_full(full_slice: pd.DataFrame) -> pd.DataFrame:
    """Make the true-positive slice from the full one: the cases with a finding in any task."""
    if not {"tp", "fp", "fn"} <= set(full_slice):
        raise ColumnError(
            "the scores belong to the full slice only",
            hint=Message(
                "name the true-positive slice with ",
                Setting("scores"),
                " too, or give the pixel counts tp, fp and fn, from which it follows",
            ),
            column="slice",
        )
    full_slice = full_slice.copy()
    if "tn" not in full_slice:
        full_slice["tn"] = pd.NA
    if "reason" not in full_slice:
        full_slice["reason"] = pd.Series(None, full_slice.index, dtype="object")
    has_finding = _truth_pixels(full_slice).fillna(0) > 0
    return full_scores_as_true_positive_slice(full_slice, set(full_slice.loc[has_finding, "case"]))


def _truth_pixels(scores: pd.DataFrame) -> pd.Series:
    """Return the number of pixels of each row's true finding."""
    return scores["tp"].astype("Float64") + scores["fn"].astype("Float64")


def _with_reasons_of_undefined_scores(scores: pd.DataFrame, *, is_full_slice: bool) -> pd.DataFrame:
    """Add the reason of undefined scores, where the table does not give it.

    On the full slice an undefined score means neither a finding nor a mark. On the true-positive slice it
    means an absent finding or an empty mask. A label or an area tells which; without them a finding is
    present where any method has a score of the same case and task.
    """
    reason = pd.Series(None, scores.index, dtype="object")
    if "reason" in scores:
        reason = scores["reason"].astype("object").where(scores["reason"].notna(), None)
    is_unexplained = scores["score"].isna() & reason.isna()
    if is_full_slice:
        reason[is_unexplained] = TRUE_NEGATIVE
    else:
        if is_unexplained.any():
            _warn_if_absence_is_guessed(scores, int(is_unexplained.sum()))
        has_finding = _has_finding(scores)
        reason[is_unexplained & ~has_finding] = ABSENT
        reason[is_unexplained & has_finding] = EMPTY
    return scores.assign(reason=reason)


def _warn_if_absence_is_guessed(scores: pd.DataFrame, n_undefined: int) -> None:
    """Warn where absent findings are guessed from undefined scores, without labels, areas or hits."""
    truth_columns = {"label", "area_ratio"} & set(scores)
    # A hit is undefined only where the finding is absent, so hits say it too.
    if truth_columns or "hit" in set(scores["metric"]):
        return
    warn(
        f"{n_undefined} scores are undefined, and no column label or area_ratio says where the finding is "
        "absent: it is taken for absent where no method has a score",
        column="label",
    )


def _has_finding(scores: pd.DataFrame) -> pd.Series:
    """Tell of each row whether the finding is present, by its label, its area, or a score of any method."""
    keys = [scores["case"], scores["task"]]
    has_finding = scores["score"].notna().groupby(keys).transform("any")
    for name in ("area_ratio", "label"):
        if name in scores:
            value = scores[name].astype("float64").groupby(keys).transform("max")
            has_finding = has_finding.where(value.isna(), value > 0)
    return has_finding.astype("bool")


def _add_finding_labels(full: pd.DataFrame) -> pd.DataFrame:
    """Add the column `label` to the full slice, from its pixel counts, where it has no labels."""
    has_counts = _has_values(full, "tp") and _has_values(full, "fn")
    if _has_values(full, "label") or not has_counts:
        return full
    is_positive = (_truth_pixels(full) > 0).astype("Float64")
    return full.assign(label=is_positive.to_numpy(dtype="float64", na_value=np.nan))


def _read_cutoffs(texts: list[str] | None, full: pd.DataFrame) -> dict[Key, float]:
    """Read cut-offs by task and method or series, None for all: N, FILE, METHOD=N or METHOD=FILE.

    A file has a cut-off for each task. METHOD may be METHOD:MODEL. Methods and tasks are checked against the
    full slice.
    """
    given = values_by_option_and_method(cutoff=texts).get("cutoff", {})
    text_by_method: dict[str | None, str]
    if isinstance(given, str):
        text_by_method = {None: given}
    else:
        text_by_method = {method: text for (_, method), text in given.items()}
    cutoffs: dict[Key, float] = {}
    for method, text in text_by_method.items():
        try:
            cutoffs[None, method] = float(text)
        except ValueError:
            for (task, file_method), number in read_thresholds(Path(text), what="cutoff").items():
                cutoffs[task, file_method or method] = number
    all_series = [series for series in method_model_seed_of_each_row(full) if series.method != HUMAN]
    methods = sorted({series.method for series in all_series} | {str(series) for series in all_series})
    for (_, method), value in cutoffs.items():
        if method is not None and method not in methods:
            raise SalstatsError(
                Setting("cutoff"),
                f" names method {method!r}, and the full slice has {quoted(methods)}",
                value=method,
                choices=methods,
            )
        if not 0 <= value <= 1:
            raise ValueRangeError(Setting("cutoff"), f" must lie between 0 and 1; got {value!r}", value=value)
    _check_no_method_has_cutoffs_for_some_tasks_only(cutoffs, full)
    return cutoffs


def _check_no_method_has_cutoffs_for_some_tasks_only(cutoffs: dict[Key, float], full: pd.DataFrame) -> None:
    """Raise an error where a method has a cut-off for some tasks of the full slice and none for another."""
    for task, series in dict.fromkeys(zip(full["task"], method_model_seed_of_each_row(full), strict=True)):
        names = {None, series.method, str(series)}
        tasks = {key_task for key_task, method in cutoffs if method in names}
        if series.method != HUMAN and tasks and value_for_task_and_series(cutoffs, task, series) is None:
            raise SalstatsError(
                Setting("cutoff"),
                f" has no value for task {task!r}, method {str(series)!r}",
                hint=f"it has values for tasks {quoted(sorted(map(str, tasks)))}",
                value=task,
            )


def _check_has_probabilities_and_pixel_counts(full_slice: pd.DataFrame) -> None:
    """Raise an error where the full slice lacks a column that is needed to empty masks below a cut-off."""
    missing = [name for name in ("prob", "tp", "fp", "fn") if not _has_values(full_slice, name)]
    if missing:
        raise ColumnError(
            Setting("cutoff"),
            f" needs the columns prob, tp, fp and fn of the full slice, which has no {quoted(missing)}",
            column=missing[0],
        )


def _has_values(scores: pd.DataFrame, column: str) -> bool:
    """Tell whether a column is there and has a value in some row."""
    return column in scores and bool(scores[column].notna().any())


def _has_scores(scores: pd.DataFrame, metric: str) -> bool:
    """Tell whether a metric has a score in some row."""
    return _has_values(scores[scores["metric"] == metric], "score")


def _n_method_model_pairs(maps: pd.DataFrame) -> int:
    """Count the distinct pairs of method and model."""
    columns = [name for name in ("method", "model") if name in maps]
    return len(maps[columns].drop_duplicates())


def _first_model_has_ensemble_and_checkpoints(maps: pd.DataFrame) -> bool:
    """Tell whether the main method's first model has an ensemble and single trainings."""
    if not {"model", "seed"} <= set(maps) or maps.empty:
        return False
    first = maps.iloc[0]
    is_first_model = (maps["method"] == first["method"]) & (maps["model"] == first["model"])
    seeds = maps.loc[is_first_model, "seed"]
    return bool(seeds.isna().any() and seeds.notna().any())
