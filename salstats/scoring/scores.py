"""Score every case, task and method of a study, in order and in parallel."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from salstats import __version__
from salstats.checks import check_choice, quoted
from salstats.errors import Call, Message, SalstatsError, Setting, warn
from salstats.files.finished_cases import load_or_compute_frame, make_or_check_checkpoint_folder
from salstats.jobs import results_by_batch
from salstats.metrics.distance import HD95_RULES
from salstats.metrics.registry import METRICS, checked_metrics
from salstats.scoring.cases import (
    AMBIGUOUS_PEAK,
    FULL,
    PREDICTED_POSITIVE,
    SCORED_METRICS,
    TRUE_POSITIVE,
    TRUTH_SHARE,
    ScoreRule,
    case_rows,
)
from salstats.scoring.distances import Options, Spacing, distance_rule
from salstats.scoring.masking import OTSU, MaskOption, mask_rule
from salstats.scoring.rows import COUNT, NAME, NUMBER, TEXT, TRUTH, drop_empty_columns, frame_of
from salstats.study import Case, Study

_COLUMNS = {
    "case": NAME,
    "patient": TEXT,
    "task": NAME,
    "method": NAME,
    "model": TEXT,
    "seed": TEXT,
    "reader": TEXT,
    "metric": NAME,
    "score": NUMBER,
    "reason": TEXT,
    "prob": NUMBER,
    "label": NUMBER,
    "tp": COUNT,
    "fp": COUNT,
    "fn": COUNT,
    "tn": COUNT,
    "slice": TEXT,
    "threshold": TEXT,
    "cutoff": NUMBER,
    "smooth": NUMBER,
    "colormap": TEXT,
    "distance_unit": TEXT,
    "distance_options": TEXT,
    "pdc_options": TEXT,
    "metric_options": TEXT,
    "undefined": TEXT,
    "empty_mask": TRUTH,
    "truth_rule": TEXT,
}
_REQUIRED = ("case", "task", "method", "metric", "score", "reason", "slice")
#: Columns that are left out if every value is missing.
_OPTIONAL = tuple(column for column in _COLUMNS if column not in _REQUIRED)
#: Truths are suspected to be inverted if at least this share of them mark more than half of their image.
_INVERTED_SHARE = 0.9
#: Fewest truths to suspect that, since a few large findings are nothing unusual.
_FEWEST_TRUTHS = 5
SLICES = (TRUE_POSITIVE, FULL, PREDICTED_POSITIVE)


def score(
    study: Study | str | os.PathLike[str],
    *,
    metrics: str | Sequence[str] = ("iou", "hit"),
    threshold: MaskOption = OTSU,
    cutoff: MaskOption = None,
    smooth: MaskOption = None,
    slice: str = TRUE_POSITIVE,
    misses: str = "undefined",
    colormap: str | None = None,
    spacing: Spacing = None,
    undefined: str = "nan",
    pdc: Mapping[str, Any] | None = None,
    points: str = "boundary",
    hd95_rule: str = "directed",
    options: Options | None = None,
    jobs: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Scores of every case, task and method of a study.

    A map is resized to its image, made a mask and compared with the truth; a stored mask is compared as it
    is, decoded only for distances; people's points are looked up. One map is in memory at a time.

    Parameters
    ----------
    study : Study or path
        What a reader returned, or the folder to read.
    metrics : str or sequence of str
        Names of `metrics.registry.METRICS` that need no more than a map, mask or points and the truth, such
        as "iou", "hit" or "hd95"; the error for an unknown one lists them.
    threshold : str, float, mapping or path
        What makes a map, scaled to [0, 1], a mask: the level that a named method finds in it, or a number;
        the map must exceed it. A mapping from task, from (task, method) or from (None, method), to either;
        or a file as `tune` or the CheXlocalize release writes them. A method that no (None, method) names has
        the default. Names: the keys of `images.thresholds.THRESHOLDS` (see Notes).
    cutoff : float, mapping or path, optional
        Probability below which a map's mask is empty. Hits do not change with it.
    smooth : int, mapping or path, optional
        Side in pixels of the image of a box filter over the scaled map. The peak is taken before it.
    slice : {"true-positive", "full", "predicted-positive"}
        "true-positive": scores where the truth has the finding; the cases are those that the truth holds.
        "full": all cases, undefined only where there is nothing to divide by. "predicted-positive": as
        full, where the probability reaches the cutoff, or, without one, where the image-level label is 1.
        People's scores are those of the cases where the first method is inside the slice.
    misses : {"undefined", "zero"}
        On the true-positive slice, what an overlap score of an empty mask is. "precision" and "mcc", which
        divide by the pixels of the mask, stay undefined.
    colormap : {None, "jet"}
        "jet" smooths as the CheXlocalize scripts do, through a colour map; it marks much of the
        background (see Notes).
    spacing : float, (float, float), mapping or path, optional
        Size of a pixel in mm, for distances: one number, or that along rows and along columns; a mapping
        from case to either; or a table with columns `case`, `row_mm`, `col_mm`. By default distances are
        in pixels.
    undefined : {"nan", "worst"}
        What an empty mask scores against a finding, where the score is undefined, and the energy of a map
        that is nowhere positive. "worst", on every slice: the lowest that the score can be (overlap, "pdc"
        and energy 0, "mcc" -1, as of a mask that covers the image), distances the diagonal of the image. A
        sensitivity analysis: a method must not look better for marking nothing. A mask that is not there
        ("no map") stays undefined.
    pdc : mapping, optional
        Options of "pdc": `alpha`, `beta`, `form`, `components`, as `metrics.penalised_dice.pdc` has them.
    points : {"boundary", "boundary8", "foreground"}
        Which pixels distances run between: those on the boundary, with a background pixel above, below, left
        or right (MONAI, and medpy as it comes); diagonals counted too (medpy with connectivity=2); or all
        pixels of both masks (SciPy, scikit-image, SimpleITK, the study of Blake et al.).
    hd95_rule : {"directed", "pooled"}
        What "hd95" is: the larger of the two directed percentiles (MONAI), or the percentile of both
        directions together (medpy).
    options : mapping of str to mapping, optional
        Options of single metrics, as `metrics` has them: `{"pdc": {"alpha": 0}}`. `pdc` and `hd95_rule` are
        short for two of these, and a metric's options are given in one of the two ways.
    jobs : int, optional
        Processes; -1 for one per core. None takes what `joblib.parallel_config` says; its backend "dask", for
        a cluster, needs `pip install 'salstats[dask]'`.
    resume : path, optional
        Folder that keeps finished cases, so that a run that was stopped goes on where it was; made where
        it is not there. A case that has changed is scored anew, and with other settings every case.
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
            background" (mask or truth covers the image), "no probability" (a cutoff, but no probability),
            "no label" (a slice by the label, but no label), "predicted negative"; missing where there is a
            score.
        prob, label
            The model's probability and the image-level truth, where the study has them.
        tp, fp, fn, tn
            Numbers of pixels, with overlap scores: pooled rates are ratios of their sums.
        slice
            As given.
        threshold, cutoff, smooth, colormap
            With scores of masks made of maps: the threshold's name or number, the probability cut-off (of
            stored masks too), the side of the box filter and the colormap; each only where there was one.
        distance_unit
            "px" or "mm", with distances.
        distance_options
            What they run between, and the rule of "hd95", in words.
        pdc_options
            Form and penalties of "pdc".
        metric_options
            Options of another metric that has some, in words.
        undefined
            "worst" with scores of masks and energy, where that was asked for.
        empty_mask
            Whether the mask marks nothing, with overlap, distances and "pdc"; missing where there is no
            mask. Only where distances or "pdc" are asked for, or undefined="worst".
        truth_rule
            Rule by which the truth was made of readers' masks (`Study.with_truth`), where it was.

    Raises
    ------
    SalstatsError
        An unknown metric or slice; a tuned value is missing for a task, the spacing for a case; an option
        of a metric that is not asked for, or options of one given in both ways; nothing to score.
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
    0. An empty map, all of one value, points at nothing: hit 0. If the largest value of a map is at several
    pixels, "hit" takes the first one, row by row, as numpy's `argmax`, and "hit_any" any of them; a warning
    names cases where "hit" depends on this. A warning says if at least 90 % of the masks of the truth, and
    five at least, mark more than half of their image, as inverted masks do.

    Definitions follow Saporta et al. 2022 (doi:10.1038/s42256-022-00536-x) and its scripts
    (rajpurkarlab/cheXlocalize at 2a79492) except for what those do by mistake: there, smoothing inverts the
    map, hits are joined by position, duplicate maps stop the reading.

    A threshold by name is found in the map's 256 grey levels; holes of the mask are then filled and single
    pixels dropped, as the CheXlocalize scripts do after Otsu's. A number does neither.

    Libraries differ in distances, see `metrics.distance`; `points` and `hd95_rule` give the numbers of
    either. "pdc" is a reconstruction from the text of Blake et al. 2025, whose printed equation
    is not at hand; see `metrics.penalised_dice`. Both need a mask and a finding, so that a false positive
    has no distance on any slice ("finding absent").

    "energy" is the share of the map's positive part that lies in the truth; see `metrics.energy_inside`.
    Threshold, cutoff and smooth leave it as it is; masks and people have none ("no map").

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
    names = checked_metrics(metrics, SCORED_METRICS, "is not computed from maps and masks here")
    cases = [case for case in study if case.annotated or slice != TRUE_POSITIVE]
    rule = ScoreRule(
        tasks=study.tasks,
        series=study.series,
        metrics=names,
        slice=check_choice(slice, SLICES, "slice"),
        misses=check_choice(misses, ("undefined", "zero"), "misses"),
        mask=mask_rule(study, threshold=threshold, cutoff=cutoff, smooth=smooth, colormap=colormap),
        distance=distance_rule(
            names,
            [case.case for case in cases],
            spacing=spacing,
            undefined=undefined,
            points=points,
            options=_options_by_metric(names, options, pdc=pdc, hd95_rule=hd95_rule),
        ),
    )
    if not study.series:
        raise SalstatsError(
            f"{study.source} has no maps, no masks and no points: there is nothing to score",
            hint=Message("name folders of them with ", Setting("maps"), " or ", Setting("masks")),
            option="study",
            value=study.source,
        )
    if not cases:
        hint = Message(Setting("slice", FULL), " scores the others")
        if len(study.readers()) > 1:
            hint = Message(
                "make one of its readers' masks with ",
                Setting("truth", "majority"),
                " or study.with_truth('majority')",
            )
        raise SalstatsError(f"{study.source} has no case that its truth holds", hint=hint, option="truth")
    work = partial(_score_cases, rule=rule, truth_rule=study.truth)
    if resume is not None:
        settings_text = f"salstats {__version__} score {rule} {study.truth}"
        folder = make_or_check_checkpoint_folder(resume)
        work = partial(load_or_compute_frame, work=work, folder=folder, settings_text=settings_text)
    frames = results_by_batch(work, cases, jobs=jobs, progress=progress, label="Scoring cases")
    scores = pd.concat(frames, ignore_index=True)
    _warn_of_hits_at_ambiguous_peaks(scores)
    _warn_of_inverted_truth(scores, study.source)
    return drop_empty_columns(scores.drop(columns=[AMBIGUOUS_PEAK, TRUTH_SHARE]), _OPTIONAL)


def study_of(study: Study | str | os.PathLike[str], **map_folder_options: Any) -> Study:
    """Return a study, read from its folder if a path is given; options are those of `read_map_folder`."""
    if isinstance(study, Study):
        return study
    if isinstance(study, str | os.PathLike):
        from salstats.readers.formats import FORMATS, read_study

        if FORMATS["maps"].recognise(Path(study)):
            return read_study(study, **map_folder_options)
        return read_study(study)
    raise SalstatsError(
        f"study must be a Study or a folder, not {type(study).__name__}",
        hint=Message("read one with ", Call("read_chexlocalize")),
        option="study",
        value=type(study).__name__,
    )


def _options_by_metric(
    metrics: Sequence[str], options: Options | None, *, pdc: Mapping[str, Any] | None, hd95_rule: str
) -> Options:
    """Return the options of single metrics, with those that are arguments of `score`."""
    check_choice(hd95_rule, HD95_RULES, "hd95_rule")
    by_metric: dict[str, Any] = {}
    if hd95_rule != "directed":
        if "hd95" not in metrics:
            raise SalstatsError(
                Setting("hd95_rule"), " is an option of the metric 'hd95', which is not asked for"
            )
        by_metric["hd95"] = {"rule": hd95_rule}
    if pdc is not None:
        by_metric["pdc"] = pdc
    argument_of_metric = {"hd95": "hd95_rule", "pdc": "pdc"}
    for name in options or {}:
        if name in by_metric:
            raise SalstatsError(
                Setting("options"),
                f" has some of the metric {name!r}, and so has ",
                Setting(argument_of_metric[name]),
                hint="give all of them in one of the two",
                option="options",
                value=name,
            )
    return {**by_metric, **(options or {})}


def _score_cases(cases: tuple[Case, ...], rule: ScoreRule, truth_rule: str | None) -> pd.DataFrame:
    """Return the scores of some of the cases, with every column that a scores frame may have."""
    metric_columns = {}
    for name in rule.metrics:
        metric_columns[name] = {
            "metric": name,
            "slice": rule.slice,
            "truth_rule": truth_rule,
            **rule.distance.columns(METRICS[name]),
        }
    rows = []
    for case in cases:
        rows += case_rows(case, rule, metric_columns)
    return frame_of(rows, {**_COLUMNS, AMBIGUOUS_PEAK: TRUTH, TRUTH_SHARE: NUMBER})


def _warn_of_hits_at_ambiguous_peaks(scores: pd.DataFrame) -> None:
    """Warn of hits that depend on which of a map's equal maxima counts, unless "hit_any" is scored too."""
    is_ambiguous = scores[AMBIGUOUS_PEAK].fillna(False).to_numpy(dtype=bool)
    if not is_ambiguous.any() or (scores["metric"] == "hit_any").any():
        return
    cases = list(dict.fromkeys(scores["case"][is_ambiguous]))
    n_maps = int(scores[AMBIGUOUS_PEAK].notna().sum())
    warn(
        f"the largest value of {is_ambiguous.sum()} of {n_maps} maps is at several pixels, in the truth and "
        f"outside (case {quoted(cases)}); 'hit' takes the first of them, row by row",
        hint=Message(Setting("metrics", "hit_any"), " takes any of them"),
        column="score",
        rows=np.flatnonzero(is_ambiguous).tolist(),
        value=cases,
    )


def _warn_of_inverted_truth(scores: pd.DataFrame, source: str) -> None:
    """Warn if nearly all masks of the truth mark most of their image, as inverted masks do."""
    truths = scores.drop_duplicates(["case", "task"])
    shares = truths[TRUTH_SHARE].to_numpy(dtype=np.float64)
    shares = shares[shares > 0]
    n_large = int((shares > 0.5).sum())
    if len(shares) < _FEWEST_TRUTHS or n_large < _INVERTED_SHARE * len(shares):
        return
    warn(
        f"{source}: {n_large} of {len(shares)} masks of the truth mark more than half of their image (median "
        f"{np.median(shares):.0%})",
        hint="if they are inverted, mark the finding by 1 or 255 and all other pixels by 0",
        option="truth",
        value=float(np.median(shares)),
    )
