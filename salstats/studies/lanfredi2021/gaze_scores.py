"""From recordings to scores: a study of gaze scored, its rows named as the study's tables name them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError, warn
from salstats.images.center_bias import CenterBias
from salstats.readers.case_images import ImageSource
from salstats.readers.gaze_files import find_phases
from salstats.scoring.gaze import center_bias_of
from salstats.studies.lanfredi2021.layouts import LABELS, SHUFFLED, beside_published, published_interval
from salstats.study import Study

#: The phases whose images several radiologists read: those of the study's maps, scores and centre bias.
STUDY_PHASES = (1, 2)
#: What a single map per image is called in the place of a mixing, and the methods that have none.
GIVEN = "as given"
UNMIXED = ("interobserver", "convex", "am1", "am2")
#: What stands for no mixing while rows are grouped.
NONE = ""
KEYS = ["method", "mixing", "metric"]
RAW_LABELS = {
    **LABELS,
    "mixing": {**LABELS["mixing"], GIVEN: "As given"},
    "subset": {"all": "All", **LABELS["subset"]},
}


@dataclass(frozen=True)
class ScoringOptions:
    """How a study of gaze is scored."""

    #: Score images with exactly so many readers.
    n_readers: int | None = None
    center_bias: str = "all"
    #: Pixels drawn for AUC and sAUC; exact where it is None.
    n_samples: int | None = None
    #: Of the draws.
    seed: int = 0
    #: Samples behind each standard deviation by sample size.
    n_replicates: int = 100
    #: The radiographs.
    images: ImageSource | None = None


@dataclass(frozen=True)
class Recordings:
    """A study of gaze that is scored."""

    study: Study
    options: ScoringOptions
    #: Of `majority_labels`.
    labels: pd.DataFrame
    #: Every item corrects by the same one, or by it without the case scored.
    bias: CenterBias | None
    #: All rows of `score_gaze`, as `named_rows` names them.
    every: pd.DataFrame
    jobs: int = 1
    progress: bool = False

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The rows of images that are scored."""
        return scored(self.every)

    @cached_property
    def defined(self) -> pd.DataFrame:
        """The rows of metrics that have a score."""
        return _defined(self.rows)

    @cached_property
    def means(self) -> pd.DataFrame:
        """Every mean with both intervals."""
        return both_intervals(self.defined)

    @cached_property
    def pick(self) -> pd.DataFrame:
        """The case whose mean sAUC of the main method is nearest to the median, as `pick_cases` does."""
        known = self.defined[(self.defined["metric"] == "sauc") & self.defined["score"].notna()]
        if known.empty:
            raise SalstatsError("no sAUC is defined")
        method, mixing = main_method(known)
        own = known[(known["method"] == method) & (known["mixing"] == mixing)]
        means = own.groupby(["case", "method", "mixing", "metric"], as_index=False)["score"].mean()
        return ss.pick_cases(means, at="median", by=["method", "metric"])

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Sampled areas of the case picked."""
        return ss.sampled_scores(
            self.study,
            cases=str(self.pick["case"].iloc[0]),
            n_replicates=self.options.n_replicates,
            center_bias=self.options.center_bias,
            bias=self.bias,
            rng=self.options.seed,
        )


def load(study: Study, options: ScoringOptions, *, jobs: int = 1, progress: bool = False) -> Recordings:
    """Score a study of gaze; raise where no score is defined."""
    labels = ss.majority_labels(study)
    bias = center_bias_of(study, jobs=jobs, progress=progress)
    given = Recordings(study, options, labels, bias, pd.DataFrame(), jobs, progress)
    every = score(given, options.center_bias, n_samples=options.n_samples, rng=options.seed)
    if scored(every)["score"].isna().all():
        reasons = ", ".join(f"{n} {reason}" for reason, n in every["reason"].value_counts().items())
        raise SalstatsError(f"{study.source}: no score is defined ({reasons})")
    return replace(given, every=every)


def score(given: Recordings, center_bias: str, **options: object) -> pd.DataFrame:
    """The scores of a study under one centre bias, as `named_rows` names them."""
    found = ss.score_gaze(
        given.study,
        n_readers=given.options.n_readers,
        center_bias=center_bias,
        bias=given.bias,
        jobs=given.jobs,
        progress=given.progress,
        **options,  # type: ignore[arg-type]
    )
    return named_rows(found, given.labels)


def study_phases(folder: Path) -> list[int] | None:
    """The phases of a release that the study used; None where there are only these, or none of them."""
    there = [str(phase) for phase in find_phases(folder, None)]
    left_out = [phase for phase in there if int(phase) not in STUDY_PHASES]
    if not left_out or left_out == there:
        return None
    warn(
        f"{folder}: phase {joined(left_out)} is left out of the scores and of the centre bias, since the "
        f"study used phases 1 and 2 (--phases {','.join(there)} reads all)"
    )
    return [int(phase) for phase in there if phase not in left_out]


def _defined(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of metrics that have a score, with a warning about the others."""
    known = set(rows.loc[rows["score"].notna(), "metric"])
    lost = rows[~rows["metric"].isin(known)]
    if len(lost):
        labels = Labels(RAW_LABELS)
        names = joined([labels.value("metric", m) for m in dict.fromkeys(lost["metric"])])
        why = ", ".join(f"{n} {reason}" for reason, n in lost["reason"].value_counts().items())
        warn(f"{names}: no score is defined ({why}), so no table has them")
    return rows[rows["metric"].isin(known)].reset_index(drop=True)


def named_rows(scores: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Scores with the mixing in words and the subset of their case."""
    rows = named_mixings(scores)
    abnormal = rows["case"].map(labels.set_index("case")["abnormal"])
    rows["subset"] = abnormal.map({0: "normal", 1: "abnormal"}).astype("object").where(abnormal.notna(), None)
    return rows


def named_mixings(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the method as `base_methods` has it, and the mixing in words."""
    named = base_methods(rows)
    mixing = named["mixing"] if "mixing" in named else pd.Series(None, index=named.index, dtype="object")
    single = pd.Series(GIVEN, index=named.index).where(~named["method"].isin(UNMIXED), NONE)
    named["mixing"] = mixing.astype("object").where(mixing.notna(), single).astype("str")
    return named


def base_methods(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose method is called what it is whatever its mixing, as the study's tables have it."""
    if "mixing" not in rows:
        return rows.copy()
    pairs = zip(rows["method"], rows["mixing"], strict=True)
    return rows.assign(method=[m if pd.isna(mixing) else m.removesuffix(f"_{mixing}") for m, mixing in pairs])


def own_methods(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of `named_rows` with a method for each mixing again, as `score_gaze` has them."""
    unmixed = rows["mixing"].isin([NONE, GIVEN])
    return rows.assign(method=rows["method"].where(unmixed, rows["method"] + "_" + rows["mixing"]))


def scored(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of images that are scored, without those that too few readers looked at."""
    left_out = rows["reason"].fillna("").str.endswith(" readers")
    return rows[~left_out].reset_index(drop=True)


def both_intervals(rows: pd.DataFrame, by: Sequence[str] = KEYS) -> pd.DataFrame:
    """The mean of each group with cases as clusters, beside the interval by the study's formula.

    Undefined scores are left out of both; `n_missing` counts them. Columns of the latter begin with "study_".
    """
    keys = list(by)
    clustered = by_mixing(rows, keys)
    defined = rows[rows["score"].notna()]
    published = published_interval(defined, keys, "score", "case")[[*keys, "conf_low", "conf_high"]]
    published = published.rename(columns={v: f"published_{v}" for v in ("conf_low", "conf_high")})
    both = beside_published(clustered.merge(published, on=keys, how="left", validate="1:1"))
    # nobody has published what is computed from these recordings
    return in_order(both.rename(columns=lambda name: name.replace("published_", "study_")), keys)


def by_mixing(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Means with cases as clusters; of a scores frame they can be had for one mixing at a time."""
    others = [key for key in keys if key != "mixing"]
    parts = [
        ss.summarize(own, by=others, unit="case", interval="t").assign(mixing=mixing)
        for mixing, own in rows.groupby("mixing", sort=False)
    ]
    means = pd.concat(parts, ignore_index=True)
    return means[[*keys, *(c for c in means.columns if c not in keys)]]


def main_method(rows: pd.DataFrame) -> tuple[str, str]:
    """Saliency method of single-method results and its mixing: the study's, the first, interobserver."""
    there = list(dict.fromkeys(rows["method"]))
    others = [m for m in there if m not in UNMIXED] or [m for m in there if m != "interobserver"] or there
    main = "gradcam_wag" if "gradcam_wag" in others else others[0]
    mixings = list(dict.fromkeys(rows.loc[rows["method"] == main, "mixing"]))
    return main, "uniform" if "uniform" in mixings else mixings[0]


def rows_of_table_2(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows that Table 2 shows: shuffled metrics of interobserver and of the main method."""
    shuffled = rows[rows["metric"].isin(SHUFFLED)]
    known = shuffled[shuffled["score"].notna()]
    if known.empty:
        return known
    method, mixing = main_method(known)
    is_main = (shuffled["method"] == method) & shuffled["mixing"].isin([NONE, mixing])
    return shuffled[is_main | (shuffled["method"] == "interobserver")]


def row_names(rows: pd.DataFrame) -> list[str]:
    """Method and mixing of each row in print."""
    labels = Labels(RAW_LABELS)
    return [
        labels.value("method", method)
        + (f", {labels.value('mixing', mixing).lower()}" if mixing not in (NONE, GIVEN) else "")
        for method, mixing in zip(rows["method"], rows["mixing"], strict=True)
    ]


def in_order(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Rows in the order of the study's tables."""
    labels = Labels(RAW_LABELS)
    places = {k: {v: i for i, v in enumerate(labels.order(k, rows[k]))} for k in keys}
    order = sorted(range(len(rows)), key=lambda i: [places[k][rows[k].iloc[i]] for k in keys])
    return rows.iloc[order].reset_index(drop=True)


def without_blanks(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with no mixing as missing."""
    return rows.assign(mixing=rows["mixing"].where(rows["mixing"] != NONE, None)).reset_index(drop=True)
