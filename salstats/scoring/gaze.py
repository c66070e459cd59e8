"""Score every map of a study of gaze, and each reader in turn, against the other readers."""

import math
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import as_generator, check_choice, check_count
from salstats.errors import Call, Message, SalstatsError, Setting, ValueRangeError
from salstats.images.center_bias import Box, CenterBias
from salstats.jobs import one_blas_thread, results_by_batch
from salstats.metrics.registry import checked_metrics
from salstats.scoring.gaze_cases import (
    ALL,
    OTHERS,
    SCORED_METRICS,
    GazeRule,
    gaze_rows,
    is_shuffled_metric,
    recording_density,
)
from salstats.scoring.rows import COUNT, NAME, NUMBER, TEXT, WHOLE, drop_empty_columns, frame_of
from salstats.study import Case, Study, check_gaze, shape_of

DEFAULT_METRICS = ("ncc", "sncc", "auc", "sauc")
_COLUMNS = {
    "case": NAME,
    "patient": TEXT,
    "phase": WHOLE,
    "method": NAME,
    "model": TEXT,
    "seed": TEXT,
    "mixing": TEXT,
    "reader": TEXT,
    "recording": TEXT,
    "metric": NAME,
    "score": NUMBER,
    "reason": TEXT,
    "n_readers": WHOLE,
    "truth": TEXT,
    "center_bias": TEXT,
    "n_unseen": COUNT,
    "n_samples": COUNT,
    "floor": NUMBER,
}
#: Columns that are left out if every value is missing.
_OPTIONAL = (
    "patient",
    "model",
    "seed",
    "mixing",
    "reader",
    "recording",
    "center_bias",
    "n_unseen",
    "n_samples",
    "floor",
)
#: Number of parts in which the centre bias is summed: fixed, so that its sums are the same for any number of
#: processes, and small, since each part holds an array of the size of the frame.
_BIAS_PARTS = 4


def score_gaze(
    study: Study | str | os.PathLike[str],
    *,
    metrics: str | Sequence[str] = DEFAULT_METRICS,
    truth: str = OTHERS,
    min_readers: int = 2,
    n_readers: int | None = None,
    center_bias: str = ALL,
    n_samples: int | None = None,
    rng: int | np.random.Generator = 0,
    floor: float = 0.0,
    bias: CenterBias | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Score how well every map of a study agrees with where its readers looked.

    The readers of an image take turns at being left out. Each time every map of the image is compared with
    the mean density of the other readers, and so is the density of the one left out: the method
    `interobserver`, the agreement that one reader reaches. One image is in memory at a time.

    Parameters
    ----------
    study : Study or path
        What `read_gaze` returned, or the folder to read.
    metrics : str or sequence of str
        Of "ncc", "sncc", "auc", "sauc", "sim", "kl" (of a map and a density) and "nss", "auc_points",
        "auc_judd", "information_gain" (of a map and the fixations of the same readers that lie inside the
        image), and whatever else `metrics.registry.METRICS` holds that needs no more than these.
    truth : {"others", "all"}
        "others": the mean over the readers but one, for each one. "all": the mean over all readers; then
        there is one row per map, and no `interobserver`.
    min_readers : int, default 2
        Readers that an image needs to be scored.
    n_readers : int, optional
        Score only images that exactly so many readers looked at; 5 in the study.
    center_bias : {"all", "others"}
        What the shuffled metrics are corrected by: the centre bias of all images, as in the study, or
        that of all other images, so that no image is scored against a bias it is part of. The frame that
        images are brought to is that of all images either way.
    n_samples : int, optional
        Draw so many pixels of either kind for `auc` and `sauc`, as the study does (1000), instead of the
        exact areas, which are what the draws scatter about. The same draws serve all maps of an image.
    rng : int or Generator, default 0
        Seed of the draws.
    floor : float, default 0
        For `information_gain`: what is added to every pixel of a map before it is made a density, as a share
        of its largest value (above 0, or above its smallest where that is negative). Without it a map that
        is 0 at a single fixation has no score, and its mean is over the images where it did better.
    bias : CenterBias, optional
        What `center_bias_of_recordings` made of the study before, where several calls share it.
    jobs, progress
        As for `score`.

    Returns
    -------
    DataFrame
        A scores frame in the order of cases, series (`interobserver` last), readers and metrics, the same
        whatever `jobs` is.

        case, patient, phase
            Names.
        method, model, seed, mixing
            Whose map; the last three only where the study has them. Maps mixed by a rule are a method of
            their own, such as `gradcam_weighted`.
        reader, recording
            The one left out. Not with `truth="all"`.
        metric, score
            NaN where undefined.
        reason
            Why a score is undefined: "no map", "map is not finite", "constant map", "fewer than 2 readers"
            and "not 5 readers" (or how many were asked for), "no chest box" and "no centre bias" (of the
            shuffled metrics), "no fixation in the image" (of those of points), "map is 0 at a fixation" and
            "centre bias is 0 at a fixation" (`information_gain` would be infinite), "undefined" (such as
            `auc_judd` where every pixel was fixated); missing where there is a score.
        n_readers
            Readers of the image whose recordings are used; one of them is left out.
        truth
            As given.
        center_bias, n_unseen
            As given, and the pixels of the image that no recording has brought into the centre bias, which
            count as 0; with the metrics that need one.
        n_samples, floor
            As given, the former with `auc` and `sauc`, the latter with `information_gain`.

    Raises
    ------
    SalstatsError
        An unknown metric or option, or nothing to score.
    InputFileError
        A map or a file of fixations cannot be read.

    See Also
    --------
    read_gaze, majority_labels

    Notes
    -----
    The density of a recording is its fixation map (`fixation_density`), of sum 1; so every reader weighs the
    same in the mean, however long the look. A map of another size than its image is resized to it:
    bilinear, half-pixel centres.

    All recordings of the study given that are used make the centre bias, also those of images with too few
    readers to be scored; an image without a chest box has no part in it. It needs the fixation maps a
    second time.

    The study sums fixation maps in single precision, in which far tails are 0, and so tied; here they are
    in order. That moves the areas of `interobserver` a little (by 0.002 at most on its oracle), and of no
    other method.

    In metrics of points every fixation of the other readers counts once, however long it lasts, so that a
    reader with many weighs more. The negatives of `auc_points` are all pixels, those of `auc_judd` the pixels
    that were never fixated; few fixations bias the latter upwards.

    A constant map says nothing and has no score, in any metric. Where a map is 0 at a fixation its
    information gain is minus infinity and so undefined: means leave it out and flatter the map, unless
    `floor` is above 0.

    References
    ----------
    Bigolin Lanfredi R, Arora A, Drew T, Schroeder JD, Tasdizen T. Comparing radiologists' gaze and
    saliency maps generated by interpretability methods for chest x-rays. 2021.
    https://doi.org/10.48550/arXiv.2112.11716

    Examples
    --------
    Two readers look at one image, for half a second at the same point:

    >>> from functools import partial
    >>> from salstats.scoring.gaze import score_gaze
    >>> from salstats.study import Case, Recording, Study
    >>> from salstats.images.fixations import Fixations
    >>> look = partial(Fixations, [(2, 3)], [0.5], [(2, 2)], [(0, 0, 8, 8)])
    >>> both = tuple(Recording(f"P{reader}", reader, look, "drawn here") for reader in "01")
    >>> study = Study((Case("image", (8, 8), patient="7", recordings=both),))
    >>> score_gaze(study, metrics="ncc").round(3)[["case", "method", "reader", "metric", "score"]]
        case         method reader metric  score
    0  image  interobserver      0    ncc    1.0
    1  image  interobserver      1    ncc    1.0
    """
    if isinstance(study, str | os.PathLike):
        from salstats.readers.gaze import read_gaze

        study = read_gaze(study)
    check_gaze(study)
    if not 0 <= floor <= 1:
        raise ValueRangeError(
            Setting("floor", floor), " must lie between 0 and 1; it is a share of the maximum"
        )
    rule = GazeRule(
        series=study.series,
        metrics=checked_metrics(metrics, SCORED_METRICS, "is not computed from a map and gaze here"),
        center_bias=check_choice(center_bias, (ALL, OTHERS), "center_bias"),
        truth=check_choice(truth, (OTHERS, ALL), "truth"),
        min_readers=check_count(min_readers, "min_readers", low=2 if truth == OTHERS else 1),
        n_readers=None if n_readers is None else check_count(n_readers, "n_readers", low=min_readers),
        n_samples=None if n_samples is None else check_count(n_samples, "n_samples"),
        floor=float(floor),
    )
    generator = as_generator(rng)
    if not study.cases:
        raise SalstatsError(
            f"{study.source} has no case: there is nothing to score", option="study", value=study.source
        )
    if truth == ALL and not study.series:
        raise SalstatsError(
            f"{study.source} has no maps: with ",
            Setting("truth", ALL),
            " there is nothing to score",
            hint=Message(
                "give maps to ",
                Call("read_gaze"),
                ", or score the readers against one another with ",
                Setting("truth", OTHERS),
            ),
        )
    if bias is None and any(is_shuffled_metric(name) for name in rule.metrics):
        bias = center_bias_of_recordings(study, jobs=jobs, progress=progress)
    generators: list[np.random.Generator | None] = [None] * len(study)
    if n_samples is not None:
        generators = [*generator.spawn(len(study))]
    cases = list(zip(study.cases, generators, strict=True))
    work = partial(_score_cases, rule=rule, bias=bias)
    frames = results_by_batch(work, cases, jobs=jobs, progress=progress, label="Scoring images")
    return drop_empty_columns(pd.concat(frames, ignore_index=True), _OPTIONAL)


def center_bias_of_recordings(
    study: Study, *, jobs: int | None = None, progress: bool = False
) -> CenterBias | None:
    """Return the centre bias of all recordings used whose image has a chest box; None if no image has one."""
    cases = []
    boxes = {}
    shapes = {}
    for case in study:
        if case.box is not None:
            cases.append(case)
            boxes[case.case] = case.box
            shapes[case.case] = shape_of(case)
    if not cases:
        return None
    n_cases_per_part = math.ceil(len(cases) / _BIAS_PARTS)
    parts = []
    for start in range(0, len(cases), n_cases_per_part):
        parts.append(tuple(cases[start : start + n_cases_per_part]))
    work = partial(_partial_biases, boxes=boxes, shapes=shapes)
    bias = CenterBias(boxes, shapes)
    for partial_biases in results_by_batch(work, parts, jobs=jobs, progress=progress, label="Averaging gaze"):
        for partial_bias in partial_biases:
            bias.merge(partial_bias)
    return bias


def _partial_biases(
    parts: tuple[tuple[Case, ...], ...], boxes: dict[str, Box], shapes: dict[str, tuple[int, int]]
) -> list[CenterBias]:
    """Return the centre bias of each part of the images by itself."""
    biases = []
    # several threads would add in another order, which changes the last digits
    with one_blas_thread():
        for cases in parts:
            bias = CenterBias(boxes, shapes)
            for case in cases:
                densities = []
                for recording in case.used:
                    densities.append(recording_density(recording, recording.read(), shapes[case.case]))
                bias.add(case.case, *densities)
            biases.append(bias)
    return biases


def _score_cases(
    cases: Sequence[tuple[Case, np.random.Generator | None]], rule: GazeRule, bias: CenterBias | None
) -> pd.DataFrame:
    """Return the scores of some of the images, with every column that a frame may have."""
    rows: list[dict[str, Any]] = []
    with one_blas_thread():
        for case, rng in cases:
            rows += gaze_rows(case, rule, bias, rng)
    return frame_of(rows, _COLUMNS)
