"""From files to frames: a study in the CheXlocalize format read, tuned and scored, each map read once."""

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
from salstats.errors import SalstatsError, warn
from salstats.files.checkpoints import checkpoint_folder
from salstats.metrics.overlap import Counts
from salstats.readers.case_images import check_images
from salstats.readers.chexlocalize import METHOD, SPLITS, split_of
from salstats.readers.chexlocalize_study import PATIENT
from salstats.scoring.cases import ABSENT, EMPTY, NEGATIVE, NO_PROB, TRUE_POSITIVE
from salstats.scoring.masking import mask_rule, value_of
from salstats.studies.engine import Parser
from salstats.studies.options import SERIES, check_replicates, folders, named_folder, names_in, of_methods
from salstats.studies.saporta2022.study_frames import (
    CHECKPOINTS,
    FULL_PROBABILITIES,
    MAPS,
    OF_FILES,
    PEOPLE,
    POINTS,
    PROBABILITIES,
    SEGMENTATIONS,
    SEVERAL,
    SWEEP,
    THRESHOLDS,
    Inference,
    StudyFrames,
    check_positives,
)
from salstats.study import HUMAN, Series, Study

#: What makes a mask of a map, for all methods or by method.
MASKS = {
    "threshold": "of Extended Data 1b, in the place of one that is tuned; may be repeated",
    "cutoff": "probability below which a mask is empty, in the place of one that is tuned; may be repeated",
    "smooth": "side of a box filter in pixels (none); may be repeated",
}
#: Files of --data that are found by their names unless they are given.
FILES = ("truth", "annotations", "human", "human_annotations", "points", "labels")
_COUNTS = Counts._fields


def add_options(parser: Parser) -> None:
    """Add what can be said of the data and of how they are scored."""
    add = parser.add_argument
    add("--data", type=Path, metavar="DIR", help="the study, such as the test set")
    add("--full-scores", type=Path, action="append", default=[], metavar="FILE",
        help="with --scores: IoU on the full slice, without a column slice; may be repeated")  # fmt: skip
    add("--bootstrap", type=Path, action="append", default=[], metavar="FILE",
        help="replicates that eval.py or a run wrote, in the place of --data; may be repeated")  # fmt: skip
    add("--validation", type=Path, metavar="DIR", help="the study that thresholds and cut-offs are tuned on")
    for name, whose in (("--maps", "--data"), ("--validation-maps", "--validation")):
        add(name, type=named_folder(SERIES, unnamed=True), action="append", default=[], metavar=SERIES,
            help=f"maps of a method, where {whose} does not hold them alone; may be repeated")  # fmt: skip
    add("--main", metavar="METHOD[:MODEL]", help="whose maps single-method items show (the first)")
    for name, what in MASKS.items():
        add(f"--{name}", action="append", metavar="[METHOD[:MODEL]=]N|FILE", help=what)
    add("--colormap", choices=("jet",),
        help="smooth as the study's scripts do, by way of the colours of jet, which mark much of the "
        "background, and for Otsu's threshold alone; without it a box filter of the map itself, but "
        "with --as-published")  # fmt: skip
    add("--images", type=Path, metavar="DIR", help="the images behind the maps, for the examples")
    add("--split", choices=("val", "test"), help="which set of --data, where one folder holds both")
    add("--tasks", action="append", metavar="TASK", help="only these, comma-separated")
    for name in FILES:
        flag = f"--{name.replace('_', '-')}"
        add(flag, type=Path, metavar="FILE", help="of --data; else found by its name")
    add("--patient-from", default=PATIENT, metavar="REGEX", help="finds the patient in a case's name")
    add("--replicates", type=int, default=1000, metavar="N", help="bootstrap replicates (1000)")
    add("--views", choices=("each", "max"), default="each",
        help="the AUROC of the classifiers is of each image, or of each patient with the largest probability "
        "of its views (each)")  # fmt: skip
    add("--min-positives", type=int, default=10, metavar="N", help="tasks with fewer are left out (10)")
    add("--resume", type=Path, metavar="FOLDER", help="keeps scored cases for a run that is stopped")


def read_data(options: argparse.Namespace) -> Study:
    """The study, the main series of maps first."""
    maps = folders(options.maps, "--maps")
    if options.main is not None:
        maps = maps or {}
        if options.main not in maps:
            raise SalstatsError(f"--main {options.main} is none of --maps ({quoted(maps) or 'none'})")
        maps = {options.main: maps[options.main], **maps}
    return ss.read_chexlocalize(
        options.data, split=options.split, maps=maps, tasks=names_in(options.tasks),
        patient_from=options.patient_from, **{name: getattr(options, name) for name in FILES},
    )  # fmt: skip


def read_validation(options: argparse.Namespace, study: Study) -> Study | None:
    """The validation study with the maps of the main series, under the name it has in the study."""
    if options.validation is None:
        return None
    maps = folders(options.validation_maps, "--validation-maps")
    name = str(main_series(study) or next(iter(maps or ()), METHOD))
    if maps and name not in maps:
        raise SalstatsError(
            f"--validation-maps names {quoted(maps)}; thresholds and cut-offs are tuned for {name!r}"
        )
    validation = ss.read_chexlocalize(
        options.validation, tasks=names_in(options.tasks),
        # the release has both sets in one folder
        split="val" if set(SPLITS) <= {split_of(p.name) for p in options.validation.iterdir()} else None,
        **({"maps": {name: maps[name]}} if maps else {"method": name}),
    )  # fmt: skip
    return validation.select(tasks=[t for t in validation.tasks if t in study.tasks])


@dataclass(frozen=True)
class ReadStudy:
    """A study that is read and not scored: what is tuned on, its features, and which needs are met."""

    study: Study
    validation: Study | None
    features: pd.DataFrame
    available: frozenset[str]


def find(options: argparse.Namespace) -> ReadStudy:
    """Read what can be read before anything is tuned or scored."""
    if options.resume is not None:
        checkpoint_folder(options.resume)
    check_replicates(options.replicates)
    check_images(options.images)
    if options.colormap is not None and options.smooth is None:
        raise SalstatsError("--colormap is a way to smooth: give --smooth N, the side of the filter, too")
    study = read_data(options)
    validation = read_validation(options, study)
    features = ss.features(study, jobs=options.jobs, progress=sys.stderr.isatty())
    check_positives(features, options.min_positives)
    there = held_by(study, validation, thresholds=options.threshold is not None)
    return ReadStudy(study, validation, features, there)


def make_frames(found: ReadStudy, options: argparse.Namespace) -> StudyFrames:
    """The frames of a study, tuned on the validation study where there is one."""
    study, there, main = found.study, found.available, main_series(found.study)
    shown = {"jobs": options.jobs, "progress": sys.stderr.isatty()}
    given = of_methods(**{name: getattr(options, name) for name in MASKS})
    if given and main is None:
        raise SalstatsError(f"--{next(iter(given))} is of maps, and {study.source} has none")
    own = {name: of_main(study, name, value) for name, value in given.items()}
    colormap = colormap_of(options)
    if colormap is not None:
        # the scripts smooth neither what a number thresholds nor what they tune on
        own.pop("smooth")
    sweep, n_shared = None, 0
    if found.validation is not None and SWEEP in there:
        tune = partial(ss.tune, found.validation, smooth=own.get("smooth") or None, **shown)
        sweep = tune(what="threshold")
        if MAPS in there and not {"threshold", "cutoff"} <= set(own):
            n_shared = warn_shared(study, found.validation)
            if "threshold" not in own:
                own["threshold"] = chosen(sweep, "threshold", "otsu", study)
            if "cutoff" not in own:
                tried = tune(what="cutoff", as_published=options.as_published)
                own["cutoff"] = chosen(tried, "cutoff", 0.0, study)

    score: Any = partial(ss.score, resume=options.resume, **shown)
    filters = {"smooth": given.get("smooth"), "colormap": colormap}
    everywhere = score(study, metrics=["iou", "hit"], slice="full", **filters)
    uncut = everywhere[everywhere["metric"] == "iou"].reset_index(drop=True)
    full, tuned = uncut, None
    if main is not None and "cutoff" in own:
        full = cut_off(uncut, {(task, main.method): value for task, value in own["cutoff"].items()})
    if "threshold" in own:
        masks = {name: own[name] for name in ("threshold", "smooth") if own.get(name)}
        tuned = score(main_alone(study), metrics="iou", **masks)
    return StudyFrames(
        scores=true_positive(everywhere, set(found.features["case"])),
        full=full,
        uncut=uncut,
        features=found.features,
        tuned=tuned,
        sweep=sweep,
        cut_off="given" if "cutoff" in given else "tuned" if "cutoff" in own else "",
        thresholds="given" if "threshold" in given else "tuned",
        smoothed_for_otsu=colormap is not None,
        n_shared=n_shared,
        available=there,
        inference=inference_of(options),
        study=study,
        images=options.images,
    )


def inference_of(options: argparse.Namespace) -> Inference:
    """Return the inference that the options ask for."""
    return Inference(options.as_published, options.replicates, by_patient=options.views == "max")


def colormap_of(options: argparse.Namespace) -> str | None:
    """Return by way of which colours maps are smoothed: as published and on demand as the scripts do."""
    if options.smooth is None:
        return None
    return "jet" if options.as_published else options.colormap


def held_by(study: Study, validation: Study | None, *, thresholds: bool) -> frozenset[str]:
    """Which needs are met by a study that is not scored yet; one map is opened."""
    main = main_series(study)
    maps = [s for s in study.series if s.method != HUMAN]
    first = next((p for case in study for p in case.predictions if p.series == main), None)
    people = [p for case in study for p in case.predictions if p.series.method == HUMAN]
    trainings = {
        s.seed for s in maps if main is not None and (s.method, s.model) == (main.method, main.model)
    }
    sweep = validation is not None and bool(validation.with_maps())
    met = {
        MAPS: bool(maps),
        PEOPLE: any(s.method == HUMAN for s in study.series),
        SEGMENTATIONS: any(p.read().mask is not None for p in people),
        # a file of points is of all cases
        POINTS: any(p.read().points is not None for p in people[:1]),
        PROBABILITIES: first is not None and not np.isnan(first.read().prob),
        SWEEP: sweep,
        THRESHOLDS: bool(maps) and (sweep or thresholds),
        SEVERAL: len({(s.method, s.model) for s in maps}) > 1,
        CHECKPOINTS: None in trainings and len(trainings) > 1,
    }
    met[FULL_PROBABILITIES] = met[PROBABILITIES]
    return OF_FILES | {need for need, there in met.items() if there}


def of_main(study: Study, name: str, given: Any) -> dict[str, Any]:
    """An option's value for the main series, by task; none where it says nothing of it."""
    # a file of cut-offs may be of the main series only
    main = main_series(study)
    assert main is not None
    values = getattr(mask_rule(study if name == "smooth" else main_alone(study), **{name: given}), name)
    found = {task: value_of(values, task, main) for task in study.tasks}
    return {task: value for task, value in found.items() if value is not None}


def warn_shared(study: Study, validation: Study) -> int:
    """How many cases are tuned on and scored, with a warning where there are any."""
    shared = {c.case for c in study} & {c.case for c in validation}
    if shared:
        warn(
            f"{len(shared)} of {len(study)} cases of --data are in --validation too: what is tuned on them "
            "is too good here (Extended Data 1, and cut-offs in Extended Data 4, Table 3 and S2)"
        )
    return len(shared)


def chosen(sweep: pd.DataFrame, column: str, otherwise: object, study: Study) -> dict[str, object]:
    """The value of each task; one that the validation study cannot tell is `otherwise`."""
    best = sweep.query("chosen").set_index("task")[column].to_dict()
    unknown = [t for t in study.tasks if t not in best]
    if unknown:
        warn(f"the validation study has no {column} for {', '.join(unknown)}: {otherwise!r} is used")
    return {task: best.get(task, otherwise) for task in study.tasks}


def main_series(study: Study) -> Series | None:
    """The series of single-method items: the first of maps."""
    return next((s for s in study.series if s.method != HUMAN), None)


def main_alone(study: Study) -> Study:
    """The study with its main series and people only."""
    main = main_series(study)
    return study.select(methods=[str(s) for s in study.series if s == main or s.method == HUMAN])


def true_positive(full: pd.DataFrame, cases: set[str]) -> pd.DataFrame:
    """The true-positive slice of IoU and hits on the full slice, as `score` has it."""
    rows = full[full["case"].isin(cases)].reset_index(drop=True)
    known = ((rows["metric"] == "iou") & rows["tp"].notna()).to_numpy()
    tp, fp, fn, _ = _counts(rows)
    if "slice" in rows:
        rows["slice"] = pd.array([TRUE_POSITIVE] * len(rows), dtype="str")
    absent, empty = known & (tp + fn == 0), known & (tp + fn > 0) & (tp + fp == 0)
    return _undefined(rows, {ABSENT: absent, EMPTY: empty})


def cut_off(full: pd.DataFrame, cutoffs: Mapping[tuple[str, str], float]) -> pd.DataFrame:
    """IoU on the full slice with masks empty below a probability, as `score(cutoff=)` has it."""
    rows = full[full["metric"] == "iou"].reset_index(drop=True)
    least = np.array([cutoffs.get(key, -np.inf) for key in zip(rows["task"], rows["method"], strict=True)])
    least[(rows["method"] == HUMAN).to_numpy()] = -np.inf
    prob = rows["prob"].to_numpy() if "prob" in rows else np.full(len(rows), np.nan)
    known = rows["tp"].notna().to_numpy()
    unknown = known & np.isnan(prob) & (least > -np.inf)
    below = known & (prob < least)
    counts = _counts(rows)
    for name, values in zip(_COUNTS, counts.emptied(), strict=True):
        rows.loc[below, name] = values[below].astype("int64")
        rows.loc[unknown, name] = pd.NA
    rows.loc[below, "score"] = 0.0
    if "slice" in rows:
        before = [list(rows.columns).index(c) for c in ("slice", "threshold") if c in rows]
        rows.insert(max(before) + 1, "cutoff", np.where(least > -np.inf, least, np.nan))
    return _undefined(rows, {NEGATIVE: below & (counts.tp + counts.fn == 0), NO_PROB: unknown})


def _counts(rows: pd.DataFrame) -> Counts:
    """Pixels as floats, 0 where there are none."""
    return Counts(*(rows[c].astype("Float64").fillna(0.0).to_numpy(dtype=np.float64) for c in _COUNTS))


def _undefined(rows: pd.DataFrame, reasons: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """The rows, undefined for these reasons."""
    result = rows.copy()
    for reason, which in reasons.items():
        result.loc[which, "score"] = np.nan
        result.loc[which, "reason"] = reason
    return result
