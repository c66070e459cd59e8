"""Frames of files: a study in the CheXlocalize format is read, tuned and scored, each map read once."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import salstats as ss
from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.errors import Message, SalstatsError, Setting, warn
from salstats.files.finished_cases import make_or_check_checkpoint_folder
from salstats.metrics.overlap import Counts
from salstats.readers.background_images import check_images
from salstats.readers.chexlocalize import DEFAULT_METHOD, SPLITS, split_in_name
from salstats.readers.chexlocalize_study import PATIENT_PATTERN
from salstats.scoring.cases import ABSENT, EMPTY, NO_PROB, TRUE_NEGATIVE, TRUE_POSITIVE
from salstats.scoring.masking import Key, ValuesByKey, mask_rule, value_for_task_and_series
from salstats.studies.declarations import Need
from salstats.studies.options import (
    SERIES_FORM,
    check_enough_replicates,
    folder_by_series_name,
    name_and_folder_parser,
    names_in,
    values_by_option_and_method,
)
from salstats.studies.saporta2022.study_frames import (
    CHECKPOINTS,
    FULL_PROBABILITIES,
    MAPS,
    NEEDS_MET_BY_FILES,
    PEOPLE,
    POINTS,
    PROBABILITIES,
    SEGMENTATIONS,
    SEVERAL_MODELS,
    SWEEP,
    THRESHOLDS,
    StudyFrames,
    StudyInference,
    check_some_task_has_enough_positives,
)
from salstats.studies.study_parser import Parser
from salstats.study import HUMAN, Series, Study

#: Options that make a mask of a map, for all methods or by method, with their help.
MASK_OPTIONS = {
    "threshold": "of Extended Data 1b, in the place of one that is tuned; may be repeated",
    "cutoff": "probability below which a mask is empty, in the place of one that is tuned; may be repeated",
    "smooth": "side of a box filter in pixels (none); may be repeated",
}
#: Options that name files of --data, which are else found by their names.
FILE_OPTIONS = ("truth", "annotations", "human", "human_annotations", "points", "labels")
_COUNT_COLUMNS = Counts._fields


def add_options(parser: Parser) -> None:
    """Add the options for the data and for scoring them."""
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="the study, such as the test set")
    add("--full-scores", type=Path, action="append", default=[], metavar="FILE",
        help="with --scores: IoU on the full slice, without a column slice; may be repeated")  # fmt: skip
    add("--bootstrap", type=Path, action="append", default=[], metavar="FILE",
        help="replicates that eval.py or a run wrote, in the place of --data; may be repeated")  # fmt: skip
    add("--validation", type=Path, metavar="DIR", help="the study that thresholds and cut-offs are tuned on")
    for name, folder in (("--maps", "--data"), ("--validation-maps", "--validation")):
        add(name, type=name_and_folder_parser(SERIES_FORM, unnamed=True), action="append", default=[],
            metavar=SERIES_FORM,
            help=f"maps of a method, where {folder} does not hold them alone; may be repeated")  # fmt: skip
    add("--main", metavar="METHOD[:MODEL]", help="whose maps single-method items show (the first)")
    for name, option_help in MASK_OPTIONS.items():
        add(f"--{name}", action="append", metavar="[METHOD[:MODEL]=]N|FILE", help=option_help)
    add("--colormap", choices=("jet",),
        help="smooth as the study's scripts do, by way of the colours of jet, which mark much of the "
        "background, and for Otsu's threshold alone; without it a box filter of the map itself, but "
        "with --as-published")  # fmt: skip
    add("--images", type=Path, metavar="DIR", help="the images behind the maps, for the examples")
    add("--split", choices=("val", "test"), help="which set of --data, where one folder holds both")
    add("--tasks", action="append", metavar="TASK", help="only these, comma-separated")
    for name in FILE_OPTIONS:
        flag = f"--{name.replace('_', '-')}"
        add(flag, type=Path, metavar="FILE", help="of --data; else found by its name")
    add("--patient-from", default=PATIENT_PATTERN, metavar="REGEX", help="finds the patient in a case's name")
    add("--replicates", type=int, default=1000, metavar="N", help="bootstrap replicates (1000)")
    add("--views", choices=("each", "max"), default="each",
        help="the AUROC of the classifiers is of each image, or of each patient with the largest probability "
        "of its views (each)")  # fmt: skip
    add("--min-positives", type=int, default=10, metavar="N", help="tasks with fewer are left out (10)")
    add("--resume", type=Path, metavar="FOLDER", help="keeps scored cases for a run that is stopped")


def read_data(options: argparse.Namespace) -> Study:
    """Read the study of `data`; the main series of maps comes first."""
    maps = folder_by_series_name(options.maps, "maps")
    if options.main is not None:
        maps = maps or {}
        if options.main not in maps:
            raise SalstatsError(
                Setting("main", options.main),
                " is none of ",
                Setting("maps"),
                f" ({quoted(maps) or 'none'})",
                choices=maps,
            )
        maps = {options.main: maps[options.main], **maps}
    files = {name: getattr(options, name) for name in FILE_OPTIONS}
    return ss.read_chexlocalize(
        options.data,
        split=options.split,
        maps=maps,
        tasks=names_in(options.tasks),
        patient_from=options.patient_from,
        **files,
    )


def read_validation(options: argparse.Namespace, study: Study) -> Study | None:
    """Read the validation study, its maps named as the main series of the study; None without one."""
    folder = options.validation
    if folder is None:
        if options.validation_maps:
            raise SalstatsError(Setting("validation_maps"), " belongs to ", Setting("validation"))
        return None
    maps = folder_by_series_name(options.validation_maps, "validation_maps")
    main = main_series(study)
    if main is not None:
        name = str(main)
    elif maps:
        name = next(iter(maps))
    else:
        name = DEFAULT_METHOD
    series: dict[str, Any] = {"method": name}
    if maps:
        if name not in maps:
            raise SalstatsError(
                Setting("validation_maps"),
                f" names {quoted(maps)}; thresholds and cut-offs are tuned for {name!r}",
                choices=[name],
            )
        series = {"maps": {name: maps[name]}}
    splits = {split_in_name(path.name) for path in folder.iterdir()}
    split = None
    if set(SPLITS) <= splits:
        # The release has both sets in one folder.
        split = "val"
    validation = ss.read_chexlocalize(folder, tasks=names_in(options.tasks), split=split, **series)
    return validation.select(tasks=[task for task in validation.tasks if task in study.tasks])


@dataclass(frozen=True)
class UnscoredStudy:
    """A study that is read and not scored."""

    study: Study
    #: The study that thresholds and cut-offs are tuned on.
    validation: Study | None
    features: pd.DataFrame
    #: The needs that it meets.
    available: frozenset[Need]


def read_study_validation_and_features_unscored(options: argparse.Namespace) -> UnscoredStudy:
    """Read and check all that does not need a score: the study, its validation study and its features."""
    if options.resume is not None:
        # A folder that cannot be used is an error now, not after the files are read.
        make_or_check_checkpoint_folder(options.resume)
    check_enough_replicates(options.replicates)
    check_images(options.images)
    if options.colormap is not None and options.smooth is None:
        raise SalstatsError(
            Setting("colormap"),
            " is a way to smooth",
            hint=Message("give ", Setting("smooth", "N"), ", the side of the filter, too"),
        )
    study = read_data(options)
    validation = read_validation(options, study)
    features = ss.features(study, jobs=options.jobs, progress=sys.stderr.isatty())
    check_some_task_has_enough_positives(features, options.min_positives)
    available = needs_met(study, validation, has_thresholds=options.threshold is not None)
    return UnscoredStudy(study, validation, features, available)


def score_and_tune(unscored: UnscoredStudy, options: argparse.Namespace) -> StudyFrames:
    """Score a study, and tune its thresholds and cut-offs on the validation study where there is one."""
    study = unscored.study
    main = main_series(study)
    run_options: dict[str, Any] = {"jobs": options.jobs, "progress": sys.stderr.isatty()}
    mask_options = values_by_option_and_method(**{name: getattr(options, name) for name in MASK_OPTIONS})
    if mask_options and main is None:
        raise SalstatsError(Setting(next(iter(mask_options))), f" needs maps, and {study.source} has none")
    colormap = smoothing_colormap(options)
    tuning = _tune_thresholds_and_cutoffs(unscored, options, mask_options, colormap, run_options)

    score: Any = partial(ss.score, resume=options.resume, **run_options)
    all_scores = score(
        study, metrics=["iou", "hit"], slice="full", smooth=mask_options.get("smooth"), colormap=colormap
    )
    uncut = all_scores[all_scores["metric"] == "iou"].reset_index(drop=True)
    full = uncut
    cutoff_source = ""
    if tuning.cutoffs is not None:
        cutoff_source = "given" if "cutoff" in mask_options else "tuned"
        if main is not None:
            main_cutoffs: dict[Key, float] = {
                (task, main.method): prob for task, prob in tuning.cutoffs.items()
            }
            full = iou_rows_with_low_probability_masks_emptied(uncut, main_cutoffs)
    tuned = None
    if tuning.thresholds is not None:
        masks = {}
        if tuning.thresholds:
            masks["threshold"] = tuning.thresholds
        if tuning.smooth:
            masks["smooth"] = tuning.smooth
        tuned = score(study_of_main_series_and_people(study), metrics="iou", **masks)
    return StudyFrames(
        scores=full_scores_as_true_positive_slice(all_scores, set(unscored.features["case"])),
        full=full,
        uncut=uncut,
        features=unscored.features,
        tuned=tuned,
        sweep=tuning.sweep,
        cutoff_source=cutoff_source,
        threshold_source="given" if "threshold" in mask_options else "tuned",
        smoothed_for_otsu_only=colormap is not None,
        n_shared_cases=tuning.n_shared_cases,
        available=unscored.available,
        inference=inference_of(options),
        study=study,
        images=options.images,
    )


@dataclass(frozen=True)
class _Tuning:
    """Thresholds and cut-offs by task of the main series, given or tuned; None where there are none."""

    thresholds: dict[str, Any] | None
    cutoffs: dict[str, Any] | None
    #: Side of the filter by task, of maps with these thresholds.
    smooth: dict[str, Any] | None
    #: Mean IoU by threshold on the validation study.
    sweep: pd.DataFrame | None
    #: Number of cases that are both tuned on and scored.
    n_shared_cases: int


def _tune_thresholds_and_cutoffs(
    unscored: UnscoredStudy,
    options: argparse.Namespace,
    mask_options: Mapping[str, Any],
    colormap: str | None,
    run_options: Mapping[str, Any],
) -> _Tuning:
    """Return the thresholds and cut-offs that the options give, the others tuned where that is possible."""
    study = unscored.study
    by_task = {
        name: mask_option_of_main_series_by_task(study, name, value) for name, value in mask_options.items()
    }
    thresholds = by_task.get("threshold")
    cutoffs = by_task.get("cutoff")
    smooth = by_task.get("smooth")
    if colormap is not None:
        # The scripts smooth maps for Otsu's threshold alone, not for tuning or for other thresholds.
        smooth = None
    if unscored.validation is None or SWEEP not in unscored.available:
        return _Tuning(thresholds, cutoffs, smooth, None, 0)
    tune: Any = partial(ss.tune, unscored.validation, smooth=smooth or None, **run_options)
    sweep = tune(what="threshold")
    n_shared_cases = 0
    if MAPS in unscored.available and (thresholds is None or cutoffs is None):
        n_shared_cases = warn_of_shared_cases(study, unscored.validation)
        if thresholds is None:
            thresholds = chosen_value_by_task(sweep, "threshold", "otsu", study)
        if cutoffs is None:
            cutoff_sweep = tune(what="cutoff", as_published=options.as_published)
            cutoffs = chosen_value_by_task(cutoff_sweep, "cutoff", 0.0, study)
    return _Tuning(thresholds, cutoffs, smooth, sweep, n_shared_cases)


def inference_of(options: argparse.Namespace) -> StudyInference:
    """Return the inference that the options name."""
    return StudyInference(options.as_published, options.replicates, by_patient=options.views == "max")


def smoothing_colormap(options: argparse.Namespace) -> str | None:
    """Return the colour map of smoothing: jet as published, else the option's, or None for the map itself."""
    if options.smooth is None:
        return None
    if options.as_published:
        return "jet"
    colormap: str | None = options.colormap
    return colormap


def needs_met(study: Study, validation: Study | None, *, has_thresholds: bool) -> frozenset[Need]:
    """Return the needs that a study of files meets; it opens some maps, people's masks and their points."""
    main = main_series(study)
    maps = [series for series in study.series if series.method != HUMAN]
    predictions = [prediction for case in study for prediction in case.predictions]
    main_predictions = [prediction for prediction in predictions if prediction.series == main]
    human_predictions = [prediction for prediction in predictions if prediction.series.method == HUMAN]
    # Seeds of the trainings of the main model; that of the ensemble is None.
    seeds = set()
    if main is not None:
        seeds = {s.seed for s in maps if s.method == main.method and s.model == main.model}
    can_tune = validation is not None and bool(validation.with_maps())
    has_prob = bool(main_predictions) and not np.isnan(main_predictions[0].read().prob)
    is_met: dict[Need, bool] = {
        MAPS: bool(maps),
        PEOPLE: any(series.method == HUMAN for series in study.series),
        SEGMENTATIONS: any(prediction.read().mask is not None for prediction in human_predictions),
        # A file of points holds those of all cases, so the first one tells.
        POINTS: any(prediction.read().points is not None for prediction in human_predictions[:1]),
        PROBABILITIES: has_prob,
        FULL_PROBABILITIES: has_prob,
        SWEEP: can_tune,
        THRESHOLDS: bool(maps) and (can_tune or has_thresholds),
        SEVERAL_MODELS: len({(series.method, series.model) for series in maps}) > 1,
        CHECKPOINTS: None in seeds and len(seeds) > 1,
    }
    return NEEDS_MET_BY_FILES | {need for need, met in is_met.items() if met}


def mask_option_of_main_series_by_task(study: Study, option_name: str, option_value: Any) -> dict[str, Any]:
    """Return the value of a mask option, such as `threshold`, of the main series by task.

    `option_value` is what `values_by_option_and_method` read. Tasks without a value are left out.
    """
    main = main_series(study)
    assert main is not None
    if option_name != "smooth":
        # A file of thresholds or cut-offs may hold those of the main series alone.
        study = study_of_main_series_and_people(study)
    values = getattr(mask_rule(study, **{option_name: option_value}), option_name)
    value_by_task = {task: value_for_task_and_series(values, task, main) for task in study.tasks}
    return {task: task_value for task, task_value in value_by_task.items() if task_value is not None}


def warn_of_shared_cases(study: Study, validation: Study) -> int:
    """Return the number of cases that both studies have, and warn where there are any."""
    shared = {case.case for case in study} & {case.case for case in validation}
    if shared:
        warn(
            f"{len(shared)} of {len(study)} cases of ",
            Setting("data"),
            " are in ",
            Setting("validation"),
            " too: what is tuned on them is too good here (Extended Data 1, and cut-offs in Extended Data 4, "
            "Table 3 and S2)",
            column="case",
            value=sorted(shared),
        )
    return len(shared)


def chosen_value_by_task(
    sweep: pd.DataFrame, column: str, default: object, study: Study
) -> dict[str, object]:
    """Return the tuned value of each task; a task that the validation study lacks has the default."""
    tuned_values = sweep.query("chosen").set_index("task")[column].to_dict()
    untuned = [task for task in study.tasks if task not in tuned_values]
    if untuned:
        warn(
            f"the validation study has no {column} for {', '.join(untuned)}: {default!r} is used",
            option=column,
            value=default,
        )
    return {task: tuned_values.get(task, default) for task in study.tasks}


def main_series(study: Study) -> Series | None:
    """Return the first series of saliency maps, which the single-method items show; None without maps."""
    for series in study.series:
        if series.method != HUMAN:
            return series
    return None


def study_of_main_series_and_people(study: Study) -> Study:
    """Return the study with its main series and people only."""
    main = main_series(study)
    names = [str(series) for series in study.series if series == main or series.method == HUMAN]
    return study.select(methods=names)


def full_scores_as_true_positive_slice(full: pd.DataFrame, cases_with_finding: set[str]) -> pd.DataFrame:
    """Make the true-positive slice, as `score` does, from IoU and hits on the full slice.

    `cases_with_finding` have a finding in any task. IoU is undefined where the finding or the mask is empty.
    """
    rows = full[full["case"].isin(cases_with_finding)].reset_index(drop=True)
    if "slice" in rows:
        rows["slice"] = pd.array([TRUE_POSITIVE] * len(rows), dtype=TEXT)
    has_counts = ((rows["metric"] == "iou") & rows["tp"].notna()).to_numpy()
    counts = _confusion_pixel_counts_of_each_row(rows)
    n_truth = counts.tp + counts.fn
    n_mask = counts.tp + counts.fp
    is_absent = has_counts & (n_truth == 0)
    is_empty = has_counts & (n_truth > 0) & (n_mask == 0)
    return _undefine_scores(rows, {ABSENT: is_absent, EMPTY: is_empty})


def method_model_seed_of_each_row(scores: pd.DataFrame) -> list[Series]:
    """Return the method, model and seed of each row of a scores frame."""
    names = []
    for column in ("method", "model", "seed"):
        if column in scores:
            texts = scores[column].astype(TEXT).astype(object)
            names.append(texts.where(texts.notna(), None).to_list())
        else:
            names.append([None] * len(scores))
    return [Series(*row_names) for row_names in zip(*names, strict=True)]


def iou_rows_with_low_probability_masks_emptied(
    full_slice_scores: pd.DataFrame, cutoffs: ValuesByKey
) -> pd.DataFrame:
    """Return the rows of IoU with the masks of low probability emptied, as `score(cutoff=)` does.

    Parameters
    ----------
    full_slice_scores : DataFrame
        Scores on the full slice with the masks as they are.
    cutoffs : mapping of (str, str) to float
        Probability by task and method or series, None for any; masks of people are never emptied.
    """
    rows = full_slice_scores[full_slice_scores["metric"] == "iou"].reset_index(drop=True)
    # The cut-off of each row, NaN where it has none.
    row_cutoffs = np.full(len(rows), np.nan)
    for i, (task, series) in enumerate(zip(rows["task"], method_model_seed_of_each_row(rows), strict=True)):
        cutoff = None
        if series.method != HUMAN:
            cutoff = value_for_task_and_series(cutoffs, task, series)
        if cutoff is not None:
            row_cutoffs[i] = cutoff
    has_cutoff = ~np.isnan(row_cutoffs)
    prob = np.full(len(rows), np.nan)
    if "prob" in rows:
        prob = rows["prob"].to_numpy()
    has_counts = rows["tp"].notna().to_numpy()
    # A comparison with NaN is False.
    is_emptied = has_counts & (prob < row_cutoffs)
    is_unknown = has_counts & has_cutoff & np.isnan(prob)
    counts = _confusion_pixel_counts_of_each_row(rows)
    counts_of_empty_masks = counts.with_empty_mask()
    for name, values in zip(_COUNT_COLUMNS, counts_of_empty_masks, strict=True):
        rows.loc[is_emptied, name] = values[is_emptied].astype("int64")
        rows.loc[is_unknown, name] = pd.NA
    rows.loc[is_emptied, "score"] = 0.0
    if "slice" in rows:
        # `score` writes the cut-off behind these columns.
        positions = [list(rows.columns).index(name) for name in ("slice", "threshold") if name in rows]
        rows.insert(max(positions) + 1, "cutoff", row_cutoffs)
    # The empty mask of an absent finding is a true negative, which has no IoU.
    is_negative = is_emptied & (counts.tp + counts.fn == 0)
    return _undefine_scores(rows, {TRUE_NEGATIVE: is_negative, NO_PROB: is_unknown})


def _confusion_pixel_counts_of_each_row(rows: pd.DataFrame) -> Counts:
    """Return the counts of pixels as floats, 0 where they are missing."""
    counts = {}
    for name in _COUNT_COLUMNS:
        counts[name] = rows[name].astype("Float64").fillna(0.0).to_numpy(dtype=np.float64)
    return Counts(**counts)


def _undefine_scores(rows: pd.DataFrame, rows_by_reason: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Set the scores of some rows to NaN and write the reason, True in `rows_by_reason` for its rows."""
    result = rows.copy()
    for reason, has_reason in rows_by_reason.items():
        result.loc[has_reason, "score"] = np.nan
        result.loc[has_reason, "reason"] = reason
    return result
