"""From tables of scores to the frames of the study: slices told apart, patients found, cut-offs applied."""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.errors import ColumnError, SalstatsError, warn
from salstats.frames import check_nesting
from salstats.metrics.overlap import Counts
from salstats.readers.chexlocalize_maps import ALIASES
from salstats.readers.chexlocalize_study import PATIENT
from salstats.readers.score_layouts import check_pattern, find_patients
from salstats.readers.threshold_files import read_thresholds
from salstats.scoring.cases import ABSENT, EMPTY, FULL, NEGATIVE, TRUE_POSITIVE
from salstats.scoring.masking import value_of
from salstats.studies.options import check_replicates, names_in
from salstats.studies.saporta2022.file_scoring import cut_off, inference_of, true_positive
from salstats.studies.saporta2022.release import is_of_shapes, read_release
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
    SEVERAL,
    SHAPES,
    SWEEP,
    THRESHOLDS,
    StudyFrames,
    check_positives,
)
from salstats.studies.score_tables import Reading, read_score_tables
from salstats.study import HUMAN, Series

#: What each need is in tables of scores.
IN_TABLES = {
    MAPS: "scores of a saliency method",
    PEOPLE: f"scores of the method {HUMAN}",
    SEGMENTATIONS: f"IoU of the method {HUMAN}",
    POINTS: f"hits of the method {HUMAN}",
    HITS: "hits of a saliency method (metric hit)",
    PROBABILITIES: "the column prob",
    SHAPES: f"features ({', '.join(FEATURES)}): columns beside the scores, or --features FILE",
    **{name: f"the column {name}, beside the scores or in a file of --features" for name in FEATURES},
    PIXELS: "the pixel counts tp, fp, fn, tn",
    FULL_SLICE: "the full slice (--full-scores FILE)",
    FULL_PROBABILITIES: "the column prob, of the full slice where that is given",
    FULL_LABELS: "the column label of the full slice",
    SEVERAL: "scores of several saliency methods or models",
    CHECKPOINTS: "scores of a model's ensemble (seed empty) and of its trainings (columns model and seed)",
    SWEEP: "maps and truth (--data and --validation)",
    THRESHOLDS: "maps and truth (--data, and --threshold or --validation)",
    PICTURES: "maps and truth (--data)",
}
#: Options that say how maps are found, scored or drawn.
_OF_DATA = (
    "validation", "maps", "validation_maps", "threshold", "smooth", "colormap", "images", "split", "truth",
    "annotations", "human", "human_annotations", "points", "labels", "resume",
)  # fmt: skip
_COUNTS = list(Counts._fields)


@dataclass(frozen=True)
class StudyScores:
    """The scores of a study by slice, each row without a score with its reason."""

    true_positive: pd.DataFrame
    #: IoU with the masks as they were scored; no rows where the full slice is not given.
    full: pd.DataFrame
    #: Of `truth_of`.
    features: pd.DataFrame
    #: Probability cut-offs by task and method, None for any; none where --cutoff is not given.
    cutoffs: dict[tuple[str | None, str | None], float]

    @property
    def available(self) -> frozenset[str]:
        """Say which needs are met."""
        scores, full = self.true_positive, self.full
        maps = scores[scores["method"] != HUMAN]
        people = scores[scores["method"] == HUMAN]
        own_full = full[full["method"] != HUMAN]
        prob = _is_known(maps, "prob")
        met = {
            MAPS: len(maps) > 0,
            PEOPLE: len(people) > 0,
            SEGMENTATIONS: _has_scores(people, "iou"),
            POINTS: _has_scores(people, "hit"),
            HITS: _has_scores(maps, "hit"),
            PROBABILITIES: prob,
            SHAPES: bool(self.features[list(FEATURES)].notna().any(axis=None)),
            **{name: bool(self.features[name].notna().any()) for name in FEATURES},
            PIXELS: all(_is_known(scores, name) for name in _COUNTS),
            FULL_SLICE: len(full) > 0,
            FULL_PROBABILITIES: _is_known(own_full, "prob") or (full.empty and prob),
            FULL_LABELS: _is_known(own_full, "label"),
            SEVERAL: _n_series(maps, "method", "model") > 1,
            CHECKPOINTS: _has_checkpoints(maps),
        }
        return frozenset(need for need, is_met in met.items() if is_met)

    def frames(self, options: argparse.Namespace) -> StudyFrames:
        """Make the frames of the study, masks emptied below the cut-offs that are given."""
        full = self.full
        if self.cutoffs:
            methods = {str(name) for name in full["method"]} - {HUMAN}
            keys = [(task, name) for task in full["task"].unique() for name in sorted(methods)]
            values = {(task, name): value_of(self.cutoffs, task, Series(name)) for task, name in keys}
            full = cut_off(full, {key: value for key, value in values.items() if value is not None})
        return StudyFrames(
            scores=self.true_positive,
            full=full,
            uncut=self.full,
            features=self.features,
            cut_off="given" if self.cutoffs else AS_SCORED,
            available=self.available,
            inference=inference_of(options),
        )


def read_given(scores: pd.DataFrame, options: argparse.Namespace) -> StudyScores:
    """Tell the slices of the scores apart, and make ready what the study's items take."""
    _check_options(options)
    check_replicates(options.replicates)
    of_slices = _prepared(scores, options)
    full = _of_slice(of_slices, FULL)
    given = _of_slice(of_slices, TRUE_POSITIVE)
    if options.full_scores:
        if len(full):
            raise SalstatsError("--scores holds the full slice already; leave --full-scores out")
        full = _prepared(_read_full(options), options)
        if "slice" in full and (full["slice"].notna() & (full["slice"] != FULL)).any():
            raise SalstatsError(
                f"--full-scores holds scores of the {quoted(full['slice'].dropna().unique())} slice; name "
                "those with --scores"
            )
    if given.empty:
        given = _from_full(full)
    given = _with_reasons(given, is_full=False)
    features = truth_of(given)
    given = given.drop(columns=list(FEATURES), errors="ignore")
    check_positives(features, options.min_positives)
    full = _with_reasons(full[full["metric"] == "iou"].reset_index(drop=True), is_full=True)
    cutoffs = _read_cutoffs(options.cutoff)
    if cutoffs:
        _check_can_cut(full)
    full = _with_labels(full).drop(columns=list(FEATURES), errors="ignore")
    return StudyScores(given, full, features, cutoffs)


def truth_of(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the findings of scores with reasons: `case, task, label` and the features, NaN where unknown."""
    rows = scores.assign(label=(scores["reason"] != ABSENT).astype("int64"))
    for name in FEATURES:
        if name not in rows:
            rows[name] = np.nan
    groups = rows.groupby(["case", "task"], sort=True)
    several = groups[list(FEATURES)].nunique().gt(1)
    if several.any(axis=None):
        case, task = several.index[several.any(axis=1)][0]
        name = several.columns[several.loc[(case, task)]][0]
        raise ColumnError(
            f"case {case}, task {task}: column {name!r} has several values; a feature of the truth has one"
        )
    label = groups["label"].max()
    return pd.concat([label, groups[list(FEATURES)].first().astype("float64")], axis=1).reset_index()


def _check_options(options: argparse.Namespace) -> None:
    """Raise where an option of files is given beside tables."""
    for name in _OF_DATA:
        if getattr(options, name) not in (None, []):
            raise SalstatsError(f"--{name.replace('_', '-')} belongs to --data, not to --scores")


def _read_full(options: argparse.Namespace) -> pd.DataFrame:
    """Read the tables of --full-scores, with the features but size and shape, which only findings have."""
    features = [
        source for source in options.features if isinstance(source, pd.DataFrame) or not is_of_shapes(source)
    ]
    return read_score_tables(
        options.full_scores, features, reading=Reading.of(options), read_release=read_release
    )


def _prepared(scores: pd.DataFrame, options: argparse.Namespace) -> pd.DataFrame:
    """Name tasks as the release does, find patients, put the main method first, keep what is asked for."""
    if "task" not in scores:
        raise ColumnError(
            f"the scores have no column 'task' (columns: {quoted(scores.columns)}); say which one it is with "
            "--rename NAME=task"
        )
    scores = scores[scores["metric"].isin(["iou", "hit"])]
    if scores.empty:
        raise SalstatsError("the scores have no metric 'iou' or 'hit', which this study is made of")
    _check_range(scores)
    scores = scores.assign(task=scores["task"].replace(ALIASES)).reset_index(drop=True)
    scores = _of_tasks(scores, names_in(options.tasks))
    return _main_first(_with_patients(scores, options.patient_from), options.main)


def _check_range(scores: pd.DataFrame) -> None:
    """Raise where a score is outside 0 to 1, the range of both metrics."""
    outside = scores[(scores["score"] < 0) | (scores["score"] > 1)]
    if len(outside):
        row = outside.iloc[0]
        raise SalstatsError(
            f"case {row['case']}, task {row['task']}, method {row['method']}: {row['metric']} is "
            f"{row['score']:g}, outside 0 to 1 ({len(outside)} of {len(scores)} scores are); --scale "
            "0.01 makes percentages shares"
        )


def _of_tasks(scores: pd.DataFrame, tasks: list[str] | None) -> pd.DataFrame:
    """Keep the rows of the tasks of --tasks."""
    if tasks is None:
        return scores
    wanted = [ALIASES.get(task, task) for task in tasks]
    unknown = sorted(set(wanted) - set(scores["task"]))
    if unknown:
        raise SalstatsError(
            f"--tasks names {unknown[0]!r}, and the scores have {quoted(sorted(scores['task'].unique()))}"
        )
    return scores[scores["task"].isin(wanted)].reset_index(drop=True)


def _with_patients(scores: pd.DataFrame, pattern: str) -> pd.DataFrame:
    """Find the patients in the cases' names, where no column says them.

    The pattern that is there by default need not fit; then it is said that cases are taken for independent.
    """
    if "patient" in scores:
        return scores
    cases = scores["case"].astype("str")
    names = list(cases.unique())
    try:
        compiled = check_pattern(pattern)
        assert compiled is not None
        patients = find_patients(names, compiled, "--patient-from")
    except ColumnError:
        if pattern != PATIENT:
            raise
        warn(
            f"no patient is found in the cases' names (such as {names[0]!r}), so that cases are taken for "
            "independent; a column patient, or --patient-from REGEX, says which belong together"
        )
        return scores
    found = scores.assign(patient=cases.map(dict(zip(names, patients, strict=True))))
    check_nesting(found, "scores")
    return found


def _main_first(scores: pd.DataFrame, main: str | None) -> pd.DataFrame:
    """Put the rows of METHOD or METHOD:MODEL first, whose are the single-method items."""
    if main is None:
        return scores
    method, _, model = main.partition(":")
    is_main = scores["method"] == method
    if model:
        is_main &= scores["model"] == model if "model" in scores else False
    if not is_main.any():
        raise SalstatsError(f"--main {main} is none of the scores' methods ({quoted(_series_names(scores))})")
    return pd.concat([scores[is_main], scores[~is_main]], ignore_index=True)


def _series_names(scores: pd.DataFrame) -> list[str]:
    """Return the saliency methods as METHOD or METHOD:MODEL."""
    rows = scores.loc[scores["method"] != HUMAN, [c for c in ("method", "model") if c in scores]]
    return list(dict.fromkeys(":".join(str(v) for v in row if pd.notna(v)) for row in rows.to_numpy()))


def _of_slice(scores: pd.DataFrame, name: str) -> pd.DataFrame:
    """Keep the rows of a slice; rows that name none are of the true-positive slice."""
    if "slice" not in scores:
        return scores if name == TRUE_POSITIVE else scores.head(0)
    slices = scores["slice"].fillna(TRUE_POSITIVE)
    unknown = sorted(set(slices) - {TRUE_POSITIVE, FULL})
    if unknown:
        raise SalstatsError(
            f"the column slice has {unknown[0]!r}; this study is of {TRUE_POSITIVE!r} and {FULL!r}"
        )
    return scores[slices == name].reset_index(drop=True)


def _from_full(full: pd.DataFrame) -> pd.DataFrame:
    """Make the true-positive slice of the full one, of the cases in which there is a finding."""
    if not {"tp", "fp", "fn"} <= set(full):
        raise SalstatsError(
            "the scores are of the full slice only; name the true-positive slice with --scores too, or give "
            "the pixel counts tp, fp and fn, from which it follows"
        )
    full = full.assign(tn=full.get("tn", pd.NA))
    if "reason" not in full:
        full["reason"] = pd.Series(None, full.index, dtype="object")
    sizes = full["tp"].astype("Float64") + full["fn"].astype("Float64")
    return true_positive(full, set(full.loc[sizes.fillna(0) > 0, "case"]))


def _with_reasons(scores: pd.DataFrame, *, is_full: bool) -> pd.DataFrame:
    """Say why a score is undefined, where the table does not.

    On the full slice there is then neither a finding nor a mark. On the true-positive slice the finding is
    absent, or the mask is empty: which, the label says, or the finding's area, or else that anything of the
    same case and task has a score.
    """
    reason = pd.Series(None, scores.index, dtype="object")
    if "reason" in scores:
        reason = scores["reason"].astype("object").where(scores["reason"].notna(), None)
    unexplained = scores["score"].isna() & reason.isna()
    if is_full:
        reason[unexplained] = NEGATIVE
    else:
        if unexplained.any():
            _warn_of_guess(scores, int(unexplained.sum()))
        positive = _has_finding(scores)
        reason[unexplained & ~positive] = ABSENT
        reason[unexplained & positive] = EMPTY
    return scores.assign(reason=reason)


def _warn_of_guess(scores: pd.DataFrame, n_undefined: int) -> None:
    """Warn where nothing but the scores themselves says which findings are absent."""
    known = {"label", "area_ratio"} & set(scores)
    if known or "hit" in set(scores["metric"]):
        # a hit is undefined only where the finding is absent
        return
    warn(
        f"{n_undefined} scores are undefined, and no column label or area_ratio says where the finding is "
        "absent: it is taken for absent where no method has a score"
    )


def _has_finding(scores: pd.DataFrame) -> pd.Series:
    """Say of each row whether the finding is there, by its label, its area, or that something has a score."""
    keys = [scores["case"], scores["task"]]
    positive = scores["score"].notna().groupby(keys).transform("any")
    for name in ("area_ratio", "label"):
        if name in scores:
            known = scores[name].astype("float64").groupby(keys).transform("max")
            positive = positive.where(known.isna(), known > 0)
    return positive.astype("bool")


def _with_labels(full: pd.DataFrame) -> pd.DataFrame:
    """Add the labels of the full slice that follow from its pixel counts, where it has none."""
    if _is_known(full, "label") or not (_is_known(full, "tp") and _is_known(full, "fn")):
        return full
    size = full["tp"].astype("Float64") + full["fn"].astype("Float64")
    return full.assign(label=(size > 0).astype("Float64").to_numpy(dtype="float64", na_value=np.nan))


def _read_cutoffs(given: list[str] | None) -> dict[tuple[str | None, str | None], float]:
    """Read --cutoff: a number, or a file with a number for each task; both also as METHOD=."""
    cutoffs: dict[tuple[str | None, str | None], float] = {}
    for text in given or []:
        method, equals, value = text.rpartition("=")
        name = method if equals else None
        try:
            cutoffs[None, name] = float(value)
        except ValueError:
            for (task, its_method), number in read_thresholds(Path(value), what="cutoff").items():
                cutoffs[task, its_method or name] = number
    return cutoffs


def _check_can_cut(full: pd.DataFrame) -> None:
    """Raise where masks cannot be emptied below a probability."""
    lacks = [name for name in ("prob", "tp", "fp", "fn") if not _is_known(full, name)]
    if lacks:
        raise SalstatsError(
            f"--cutoff needs the columns prob, tp, fp and fn of the full slice, which has no {quoted(lacks)}"
        )


def _is_known(scores: pd.DataFrame, column: str) -> bool:
    """Say whether a column has a value in some row."""
    return column in scores and bool(scores[column].notna().any())


def _has_scores(scores: pd.DataFrame, metric: str) -> bool:
    """Say whether a metric has a score in some row."""
    return _is_known(scores[scores["metric"] == metric], "score")


def _n_series(maps: pd.DataFrame, *columns: str) -> int:
    """Count the combinations of columns, of those that are there."""
    return len(maps[[name for name in columns if name in maps]].drop_duplicates())


def _has_checkpoints(maps: pd.DataFrame) -> bool:
    """Say whether the main method's first model has an ensemble and single trainings."""
    if not {"model", "seed"} <= set(maps) or maps.empty:
        return False
    first = maps.iloc[0]
    own = maps[(maps["method"] == first["method"]) & (maps["model"] == first["model"])]
    return bool(own["seed"].isna().any() and own["seed"].notna().any())
