"""From a study to its scores and features: every case, task and method, in order, in parallel."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from salstats import __version__
from salstats.checks import SalstatsError, check_choice
from salstats.files.checkpoints import checked_folder, kept
from salstats.frames import text_column
from salstats.images import masks
from salstats.images.shapes import shape_features
from salstats.jobs import in_pieces
from salstats.metrics.registry import chosen_metrics
from salstats.scoring.cases import (
    FULL,
    OVERLAP,
    POINTING,
    PREDICTED_POSITIVE,
    TRUE_POSITIVE,
    UNMASKED,
    ScoreRule,
    score_cases,
)
from salstats.scoring.distances import DISTANCE, WORST, Spacing, distance_rule
from salstats.scoring.masking import OTSU, Given, mask_rule
from salstats.study import Case, Study

#: Pixels beside an overlap score.
PIXELS = ("tp", "fp", "fn", "tn")
#: Columns that a study may be without.
_OPTIONAL = (
    "patient", "model", "seed", "reader", "prob", "label", *PIXELS, "threshold", "cutoff", "smooth",
    "distance_unit", "distance_options", "pdc_options", "undefined", "empty_mask",
)  # fmt: skip
SLICES = (TRUE_POSITIVE, FULL, PREDICTED_POSITIVE)
FEATURE_COLUMNS = (
    "case",
    "task",
    "n_instances",
    "area_ratio",
    "elongation",
    "irrectangularity",
    "area_px",
    "perimeter_px",
    "height",
    "width",
)
#: Features of a finding that is not there.
_ABSENT = {
    **dict.fromkeys(("n_instances", "area_px"), 0),
    "area_ratio": 0.0,
    **dict.fromkeys(("elongation", "irrectangularity", "perimeter_px"), float("nan")),
}


def score(
    study: Study | str | os.PathLike[str],
    *,
    metrics: str | Sequence[str] = ("iou", "hit"),
    threshold: Given = OTSU,
    cutoff: Given = None,
    smooth: Given = None,
    slice: str = TRUE_POSITIVE,
    misses: str = "undefined",
    colormap: str | None = None,
    spacing: Spacing = None,
    undefined: str = "nan",
    pdc: Mapping[str, Any] | None = None,
    points: str = "boundary",
    hd95_rule: str = "directed",
    jobs: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Return the scores of every case, task and method of a study.

    A map is resized to its image, made a mask and compared with the truth; a stored mask is compared as it
    is, decoded only for distances; people's points are looked up. One map is in memory at a time.

    Parameters
    ----------
    study : Study or path
        What a reader returned, or the folder to read.
    metrics : str or sequence of str
        Of "iou", "dice", "precision", "recall", "specificity" (overlap), "hausdorff", "hd95", "assd"
        (distance), "pdc", "hit", "hit_any", "energy".
    threshold : "otsu", float, mapping or path
        What makes a map, scaled to [0, 1], a mask: Otsu's level, or a number that it must exceed. A mapping
        from task, from (task, method) or from (None, method), to a number; or a file as `tune` or the
        CheXlocalize release writes them. A method that (None, method) does not name is as by default.
    cutoff : float, mapping or path, optional
        Probability below which a map's mask is empty. Hits do not change with it.
    smooth : int, mapping or path, optional
        Side in pixels of the image of a box filter over the scaled map. The peak is taken before it.
    slice : {"true-positive", "full", "predicted-positive"}
        "true-positive": scores where the truth has the finding; the cases are those that the truth holds.
        "full": all cases, undefined only where there is nothing to divide by. "predicted-positive": as
        full, where the probability reaches the cutoff, or, without one, where the image-level label is 1.
        People are asked where the first method is.
    misses : {"undefined", "zero"}
        On the true-positive slice, what an overlap score of an empty mask is.
    colormap : {None, "jet"}
        "jet" smooths as the CheXlocalize scripts do, through a colour map; it marks much of the
        background (see Notes).
    spacing : float, (float, float), mapping or path, optional
        Size of a pixel in mm, for distances: one number, or that along rows and along columns; a mapping
        from case to either; or a table with columns `case`, `row_mm`, `col_mm`. By default distances are
        in pixels.
    undefined : {"nan", "worst"}
        What an empty mask scores against a finding, where the score is undefined, and the energy of a map
        that is nowhere positive. "worst", on every slice: overlap, "pdc" and energy 0, distances the
        diagonal of the image. A sensitivity analysis: a method must not look better for marking nothing. A
        mask that is not there ("no map") stays undefined.
    pdc : mapping, optional
        Options of "pdc": `alpha`, `beta`, `form`, `components`, as `metrics.penalised_dice.pdc` has them.
    points : {"boundary", "boundary8", "foreground"}
        Which pixels distances run between: those on the boundary, with a background pixel above, below, left
        or right (MONAI, and medpy as it comes); diagonals counted too (medpy with connectivity=2); or all
        pixels of both masks (SciPy, scikit-image, SimpleITK, the study of Blake et al.).
    hd95_rule : {"directed", "pooled"}
        What "hd95" is: the larger of the two directed percentiles (MONAI), or the percentile of both
        directions together (medpy).
    jobs : int, optional
        Processes; -1 for one per core. None takes what `joblib.parallel_config` says.
    resume : path, optional
        Folder that keeps finished cases, so that a run that was stopped goes on where it was; made where
        it is not there. A case of which anything has changed, and another setting, are scored anew.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    DataFrame
        A scores frame in the order of cases, tasks, series and metrics, whatever `jobs` is.

        case, patient, task, method, model, seed, reader
            Names; `patient` and the last three only where the study has them.
        metric, score
            NaN where undefined.
        reason
            Why a score is undefined: "finding absent", "empty mask", "true negative" (neither mask nor
            truth), "no map", "map is not finite", "no mask", "no point", "nothing positive" (energy), "no
            probability" (a cutoff, but no probability), "predicted negative"; missing where there is a
            score.
        prob, label
            The model's probability and the image-level truth, where the study has them.
        tp, fp, fn, tn
            Pixels, beside overlap scores: pooled rates are ratios of their sums.
        slice
            As given.
        threshold, cutoff, smooth
            Beside scores of masks made of maps: "otsu" or the number, the probability cut-off (also of
            stored masks), the side of the box; each only where there was one.
        distance_unit
            "px" or "mm", beside distances.
        distance_options
            What they run between, and the rule of "hd95", in words.
        pdc_options
            Form and penalties of "pdc", beside it.
        undefined
            "worst" beside scores of masks and energy, where that was asked for.
        empty_mask
            Whether the mask marks nothing, beside overlap, distances and "pdc"; missing where there is no
            mask. Only where distances or "pdc" are asked for, or undefined="worst".

    Raises
    ------
    SalstatsError
        An unknown metric or slice; a tuned value is missing for a task, the spacing for a case; an option
        of a metric that is not asked for; nothing to score.
    InputFileError
        A map or a kept case cannot be read, or an image's size is unknown or not that of the truth.
    UnsafePickleError
        A map holds something that could run code.

    See Also
    --------
    features, tune, pooled_rates, empty_shares

    Notes
    -----
    Undefined scores stay in the frame and are counted by `case_flow(scores)`. On the true-positive slice a
    mask that misses altogether has IoU 0, one that is empty has none; with `misses="zero"` both count as
    0. An empty map, all of one value, points at nothing: hit 0. Definitions follow Saporta et al. 2022
    (doi:10.1038/s42256-022-00536-x) and its scripts (rajpurkarlab/cheXlocalize at 2a79492) except for what
    those do by mistake: there, smoothing inverts the map, hits are joined by position, duplicate maps stop
    the reading.

    Libraries differ in distances, see `metrics.distance`; `points` and `hd95_rule` give the numbers of
    either. "pdc" is a reconstruction from the text of Blake et al. 2025, whose printed equation
    is not at hand; see `metrics.penalised_dice`. Both need a mask and a finding, so that a false positive
    has no distance on any slice ("finding absent").

    "energy" is the share of the map's positive part that lies in the truth; see `metrics.energy`. Threshold,
    cutoff and smooth leave it as it is; masks and people have none ("no map").

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> truth = np.zeros((8, 8), bool)
    >>> truth[2:5, 2:5] = True
    >>> study = ss.study_from_arrays({("a", "Edema"): truth}, {("a", "Edema", "cam"): truth * 0.9})
    >>> ss.score(study)[["case", "task", "method", "metric", "score", "tp", "fp"]]
      case   task method metric  score    tp    fp
    0    a  Edema    cam    iou    1.0     9     0
    1    a  Edema    cam    hit    1.0  <NA>  <NA>
    """
    study = study_of(study)
    names = chosen_metrics(
        metrics, (*OVERLAP, *DISTANCE, *UNMASKED), "is not computed from maps and masks here"
    )
    cases = [c for c in study if c.annotated or slice != TRUE_POSITIVE]
    rule = ScoreRule(
        tasks=study.tasks,
        series=study.series,
        metrics=names,
        slice=check_choice(slice, SLICES, "slice"),
        misses=check_choice(misses, ("undefined", "zero"), "misses"),
        mask=mask_rule(study, threshold=threshold, cutoff=cutoff, smooth=smooth, colormap=colormap),
        distance=distance_rule(
            names,
            [c.case for c in cases],
            spacing=spacing,
            undefined=undefined,
            pdc=pdc,
            points=points,
            hd95_rule=hd95_rule,
        ),
    )
    if not study.series:
        raise SalstatsError(f"{study.source} has no maps, no masks and no points: there is nothing to score")
    if not cases:
        raise SalstatsError(
            f"{study.source} has no case that its truth holds; slice='full' scores the others"
        )
    work = partial(_scores_of, rule=rule)
    if resume is not None:
        setting = f"salstats {__version__} score {rule}"
        work = partial(kept, work=work, folder=checked_folder(resume), setting=setting)
    pieces = in_pieces(work, cases, jobs=jobs, progress=progress, label="Scoring cases")
    scores = pd.concat(pieces, ignore_index=True)
    unknown = [c for c in _OPTIONAL if scores[c].isna().all()]
    return scores.drop(columns=unknown)


def features(
    study: Study | str | os.PathLike[str], *, jobs: int | None = None, progress: bool = False
) -> pd.DataFrame:
    """Return size and shape of every finding of a study's truth.

    Parameters
    ----------
    study : Study or path
        What a reader returned, or the folder to read.
    jobs : int, optional
        Processes; -1 for one per core. None takes what `joblib.parallel_config` says.
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    DataFrame
        One row per case that the truth holds and task, in their order.

        case, task
            Names.
        n_instances
            Outlines that the annotator drew, where they are known, else connected components (8
            neighbours); 0 where the finding is absent.
        area_ratio
            Share of the image's pixels.
        elongation
            Longer by shorter side of the smallest rectangle around the dominant instance; NaN where there
            is none or it has no width.
        irrectangularity
            1 - area of the dominant instance / area of that rectangle.
        area_px, perimeter_px
            Of the whole mask.
        height, width
            Of the image, in pixels.

    Raises
    ------
    SalstatsError
        The truth holds no case.

    See Also
    --------
    join_features : adds them to scores.

    Notes
    -----
    Definitions in `salstats.images.shapes.shape_features`.

    Examples
    --------
    >>> import numpy as np, salstats as ss
    >>> truth = np.zeros((40, 40), bool)
    >>> truth[5:15, 5:25] = True
    >>> ss.features(ss.study_from_arrays({("a", "Edema"): truth}, {})).iloc[0, 2:6].round(3).to_list()
    [1.0, 0.125, 2.111, 0.0]
    """
    study = study_of(study)
    cases = [c for c in study if c.annotated]
    if not cases:
        raise SalstatsError(f"{study.source}: the truth holds no case, so there are no findings to describe")
    work = partial(_feature_rows, tasks=study.tasks)
    pieces = in_pieces(work, cases, jobs=jobs, progress=progress, label="Measuring findings")
    return pd.DataFrame([row for piece in pieces for row in piece], columns=list(FEATURE_COLUMNS))


def study_of(study: Study | str | os.PathLike[str], **of_map_folder: Any) -> Study:
    """Return a study, read from its folder where a path came; options are those of `read_map_folder`."""
    if isinstance(study, Study):
        return study
    if isinstance(study, str | os.PathLike):
        from salstats.readers.map_folder import holds_maps
        from salstats.readers.studies import read_study

        return read_study(study, **(of_map_folder if holds_maps(Path(study)) else {}))
    raise SalstatsError(
        f"study must be a Study or a folder, not {type(study).__name__}; read one with read_chexlocalize()"
    )


def _scores_of(cases: tuple[Case, ...], rule: ScoreRule) -> pd.DataFrame:
    """Return the scores of a piece of the cases, with every column that a study may have."""
    rows = score_cases(cases, rule)
    columns: dict[str, Any] = {
        "case": [r.case for r in rows],
        "patient": text_column(r.patient for r in rows),
        "task": [r.task for r in rows],
        "method": [r.series.method for r in rows],
        "model": text_column(r.series.model for r in rows),
        "seed": text_column(r.series.seed for r in rows),
        "reader": text_column(r.series.reader for r in rows),
        "metric": [r.metric for r in rows],
        "score": np.array([r.score for r in rows], dtype=np.float64),
        "reason": text_column(r.reason for r in rows),
        "prob": np.array([r.prob for r in rows], dtype=np.float64),
        "label": np.array([r.label for r in rows], dtype=np.float64),
    }
    for place, name in enumerate(PIXELS):
        pixels = [None if r.counts is None else int(r.counts[place]) for r in rows]
        columns[name] = pd.array(pixels, dtype="Int64")
    columns["slice"] = text_column(rule.slice for _ in rows)
    columns["threshold"] = text_column(r.made.threshold for r in rows)
    for name in ("cutoff", "smooth"):
        columns[name] = np.array([getattr(r.made, name) for r in rows], dtype=np.float64)
    columns["distance_unit"] = text_column(r.unit for r in rows)
    columns["distance_options"] = text_column(rule.distance.options_of(r.metric) for r in rows)
    said = rule.distance.pdc_options
    columns["pdc_options"] = text_column(said if r.metric == "pdc" else None for r in rows)
    worst = rule.distance.undefined if rule.distance.undefined == WORST else None
    columns["undefined"] = text_column(None if r.metric in POINTING else worst for r in rows)
    columns["empty_mask"] = pd.array([r.empty for r in rows], dtype="boolean")
    return pd.DataFrame(columns)


def _feature_rows(cases: tuple[Case, ...], tasks: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """Return the features of a piece of the cases."""
    rows = []
    for case in cases:
        for task in tasks:
            truth = case.truths.get(task)
            rle = None if truth is None else truth.read()
            height, width = _size(case) if rle is None else rle.shape
            if truth is None or rle is None or not masks.area(rle):
                found = _ABSENT
            else:
                # no outline although the mask marks something: the two files disagree, the mask counts
                found = shape_features(masks.decode(rle), n_instances=truth.n_instances or None)
            named = {"case": case.case, "task": task, "height": height, "width": width, **found}
            rows.append(tuple(named[c] for c in FEATURE_COLUMNS))
    return rows


def _size(case: Case) -> tuple[int, int]:
    """Return the size of an annotated case, which its truth says."""
    if case.shape is None:
        raise SalstatsError(f"case {case.case!r}: nothing says how large its image is")
    return case.shape
