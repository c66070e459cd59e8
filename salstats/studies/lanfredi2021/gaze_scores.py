"""Scores of recordings, with the names that the study's tables have for methods and mixings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.coded_text import TEXT
from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError, Setting, warn
from salstats.images.center_bias import CenterBias
from salstats.readers.background_images import ImageSource
from salstats.readers.gaze_files import metadata_file_of_phase
from salstats.scoring.gaze import center_bias_of_recordings
from salstats.scoring.gaze_cases import other_n_readers_reason, too_few_readers_reason
from salstats.studies.lanfredi2021.layouts import (
    LABELS,
    SHUFFLED,
    add_width_ratio_and_excludes_chance_columns,
    means_with_published_interval,
)
from salstats.study import Study

#: The phases whose images several radiologists read: those of the study's maps, scores and centre bias.
STUDY_PHASES = (1, 2)
#: A score needs one reader who is left out and another whose gaze is the truth.
_MIN_READERS = 2
#: The mixing of a saliency method whose maps were not mixed from maps of classes.
MIXING_AS_GIVEN = "as given"
#: Methods that have no mixing.
UNMIXED = ("interobserver", "convex", "am1", "am2")
#: The mixing of `UNMIXED` methods: a text, since a missing value would be left out of groups.
NO_MIXING = ""
MEAN_KEYS = ["method", "mixing", "metric"]
#: Labels of the study, and of mixings and subsets that it does not print.
STUDY_LABELS = {
    **LABELS,
    "mixing": {**LABELS["mixing"], MIXING_AS_GIVEN: "As given"},
    "subset": {"all": "All", **LABELS["subset"]},
}


@dataclass(frozen=True)
class ScoringOptions:
    """Options for scoring a study of gaze."""

    #: Score images with exactly so many readers.
    n_readers: int | None = None
    center_bias: str = "all"
    #: Number of pixels drawn for AUC and sAUC, which are exact where it is None.
    n_samples: int | None = None
    #: Seed of the draws.
    seed: int = 0
    #: Number of samples behind each standard deviation by sample size.
    n_replicates: int = 100
    #: The radiographs.
    images: ImageSource | None = None


@dataclass(frozen=True)
class Recordings:
    """A study of gaze and its scores."""

    study: Study
    options: ScoringOptions
    #: Labels of the cases, as `majority_labels` returns them.
    labels: pd.DataFrame
    #: Mean map of all cases; None where there is none.
    bias: CenterBias | None
    #: All rows of `score_gaze`, as `with_mixing_and_subset` names them.
    all_scores: pd.DataFrame
    jobs: int = 1
    progress: bool = False

    @cached_property
    def scores_of_scored_images(self) -> pd.DataFrame:
        """The rows of images with the required number of readers."""
        return rows_of_images_with_exactly_n_or_enough_readers(self.all_scores, self.options.n_readers)

    @cached_property
    def scores_of_defined_metrics(self) -> pd.DataFrame:
        """The rows of these images, without metrics that have no score at all."""
        return _warn_and_drop_metrics_without_score(self.scores_of_scored_images)

    @cached_property
    def means(self) -> pd.DataFrame:
        """Every mean with both intervals."""
        return means_with_clustered_and_study_intervals(self.scores_of_defined_metrics)

    @cached_property
    def pick_of_median_case(self) -> pd.DataFrame:
        """The case whose mean sAUC of the main method is nearest to the median, a row of `pick_cases`."""
        scores = self.scores_of_defined_metrics
        scores = scores[(scores["metric"] == "sauc") & scores["score"].notna()]
        if scores.empty:
            raise SalstatsError("no sAUC is defined")
        method, mixing = main_method_and_mixing(scores)
        main_scores = scores[(scores["method"] == method) & (scores["mixing"] == mixing)]
        means = main_scores.groupby(["case", "method", "mixing", "metric"])["score"].mean()
        return ss.pick_cases(means.reset_index(), at="median", by=["method", "metric"])

    @cached_property
    def sampled_scores_of_median_case(self) -> pd.DataFrame:
        """Sampled AUC and sAUC of the case of `pick_of_median_case`."""
        return ss.sampled_scores(
            self.study,
            cases=str(self.pick_of_median_case["case"].iloc[0]),
            n_replicates=self.options.n_replicates,
            center_bias=self.options.center_bias,
            bias=self.bias,
            rng=self.options.seed,
        )


def scored_recordings(
    study: Study, options: ScoringOptions, *, jobs: int = 1, progress: bool = False
) -> Recordings:
    """Score a study of gaze; raise an error where no score is defined."""
    labels = ss.majority_labels(study)
    bias = center_bias_of_recordings(study, jobs=jobs, progress=progress)
    unscored = Recordings(
        study, options, labels, bias, all_scores=pd.DataFrame(), jobs=jobs, progress=progress
    )
    scores = method_scores_by_left_out_reader(
        unscored, options.center_bias, n_samples=options.n_samples, rng=options.seed
    )
    if rows_of_images_with_exactly_n_or_enough_readers(scores, options.n_readers)["score"].isna().all():
        raise SalstatsError(
            f"{study.source}: no score is defined ({_reason_counts_text(scores)})",
            column="score",
            value=scores["reason"].value_counts().to_dict(),
            path=study.source,
        )
    return replace(unscored, all_scores=scores)


def method_scores_by_left_out_reader(
    recordings: Recordings, center_bias: str, **options: object
) -> pd.DataFrame:
    """Score a study with one centre bias: a row per case, method, left-out reader and metric.

    `with_mixing_and_subset` names the rows.
    """
    scores = ss.score_gaze(
        recordings.study,
        min_readers=_MIN_READERS,
        n_readers=recordings.options.n_readers,
        center_bias=center_bias,
        bias=recordings.bias,
        jobs=recordings.jobs,
        progress=recordings.progress,
        **options,  # type: ignore[arg-type]
    )
    return with_mixing_and_subset(scores, recordings.labels)


def study_phases_or_none_for_all(folder: Path) -> list[int] | None:
    """Return the phases of a release that the study used; warn of the others, which are not read.

    None, which reads all phases, where the release has only phases of the study, or none of them.
    """
    phases = [int(phase) for phase in metadata_file_of_phase(folder, None)]
    used_phases = [phase for phase in phases if phase in STUDY_PHASES]
    if not used_phases or used_phases == phases:
        return None
    unused = [str(phase) for phase in phases if phase not in STUDY_PHASES]
    warn(
        f"{folder}: phase {joined(unused)} is left out of the scores and of the centre bias, since the "
        "study used phases 1 and 2 (",
        Setting("phases", phases),
        " reads all)",
        option="phases",
        value=used_phases,
        path=folder,
    )
    return used_phases


def _reason_counts_text(rows: pd.DataFrame) -> str:
    """Write the number of rows with each reason for an undefined score."""
    n_by_reason = rows["reason"].value_counts()
    return ", ".join(f"{n} {reason}" for reason, n in n_by_reason.items())


def _warn_and_drop_metrics_without_score(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of metrics that have a score, and warn of the others."""
    metrics = set(rows.loc[rows["score"].notna(), "metric"])
    is_defined = rows["metric"].isin(metrics)
    undefined = rows[~is_defined]
    if len(undefined):
        labels = Labels(STUDY_LABELS)
        names = joined([labels.value("metric", metric) for metric in dict.fromkeys(undefined["metric"])])
        warn(f"{names}: no score is defined ({_reason_counts_text(undefined)}), so no table has them")
    return rows[is_defined].reset_index(drop=True)


def with_mixing_and_subset(scores: pd.DataFrame, majority_labels: pd.DataFrame) -> pd.DataFrame:
    """Add the columns `mixing` and `subset`: normal or abnormal by the majority, None where there is none."""
    rows = with_mixing_split_from_method(scores)
    abnormal = rows["case"].map(majority_labels.set_index("case")["abnormal"])
    subset = abnormal.map({0: "normal", 1: "abnormal"}).astype("object")
    rows["subset"] = subset.where(abnormal.notna(), None)
    return rows


def with_mixing_split_from_method(rows: pd.DataFrame) -> pd.DataFrame:
    """Remove the mixing from the names of methods, and fill missing mixings.

    They become `NO_MIXING` for the methods of `UNMIXED`, and `MIXING_AS_GIVEN` for others.
    """
    named = with_mixing_removed_from_method_names(rows)
    default_mixing = pd.Series(MIXING_AS_GIVEN, index=named.index)
    default_mixing[named["method"].isin(UNMIXED)] = NO_MIXING
    if "mixing" in named:
        mixing = named["mixing"].astype("object")
        named["mixing"] = mixing.where(mixing.notna(), default_mixing).astype(TEXT)
    else:
        named["mixing"] = default_mixing.astype(TEXT)
    return named


def with_mixing_removed_from_method_names(rows: pd.DataFrame) -> pd.DataFrame:
    """Remove the mixing from the names of methods, as the study's tables do."""
    if "mixing" not in rows:
        return rows.copy()
    methods = []
    for method, mixing in zip(rows["method"], rows["mixing"], strict=True):
        if pd.isna(mixing):
            methods.append(method)
        else:
            methods.append(method.removesuffix(f"_{mixing}"))
    return rows.assign(method=methods)


def with_mixing_in_methods(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the mixing to the names of methods, METHOD_MIXING, as `score_gaze` does."""
    is_unmixed = rows["mixing"].isin([NO_MIXING, MIXING_AS_GIVEN])
    return rows.assign(method=rows["method"].where(is_unmixed, rows["method"] + "_" + rows["mixing"]))


def rows_of_images_with_exactly_n_or_enough_readers(
    rows: pd.DataFrame, n_readers_or_none_for_at_least_two: int | None
) -> pd.DataFrame:
    """Keep the rows of images that exactly so many readers looked at, or at least two where it is None."""
    unscored_reasons = [too_few_readers_reason(_MIN_READERS)]
    if n_readers_or_none_for_at_least_two is not None:
        unscored_reasons.append(other_n_readers_reason(n_readers_or_none_for_at_least_two))
    return rows[~rows["reason"].isin(unscored_reasons)].reset_index(drop=True)


def means_with_clustered_and_study_intervals(
    rows: pd.DataFrame, by: Sequence[str] = MEAN_KEYS
) -> pd.DataFrame:
    """Return the mean of each group with cases as clusters, and the interval by the study's formula.

    Undefined scores are left out of both; `n_missing` counts them. Columns of the study's interval begin
    with "study_".
    """
    keys = list(by)
    clustered = mean_rows_of_each_mixing(rows, keys)
    defined = rows[rows["score"].notna()]
    published = means_with_published_interval(defined, keys, "score", "case")[
        [*keys, "conf_low", "conf_high"]
    ]
    published = published.rename(
        columns={"conf_low": "published_conf_low", "conf_high": "published_conf_high"}
    )
    compared = add_width_ratio_and_excludes_chance_columns(
        clustered.merge(published, on=keys, how="left", validate="1:1")
    )
    # Intervals of these recordings are computed by the study's formula, but nobody has published them.
    return sorted_as_printed(compared.rename(columns=lambda name: name.replace("published_", "study_")), keys)


def mean_rows_of_each_mixing(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return a row per keys and mixing, with the mean and its t interval, cases as clusters.

    Each mixing is summarised by itself, since a method has a score of the same case for each of its mixings.
    """
    keys_of_mixing = [key for key in keys if key != "mixing"]
    parts = []
    for mixing, mixing_rows in rows.groupby("mixing", sort=False):
        mixing_means = ss.summarize(mixing_rows, by=keys_of_mixing, unit="case", interval="t")
        parts.append(mixing_means.assign(mixing=mixing))
    means = pd.concat(parts, ignore_index=True)
    estimate_columns = [column for column in means.columns if column not in keys]
    return means[[*keys, *estimate_columns]]


def main_method_and_mixing(rows: pd.DataFrame) -> tuple[str, str]:
    """Return the method of single-method results and its mixing.

    It is Grad-CAM with attention gates where that is there, else the first saliency method, else the first
    that is not interobserver.
    """
    methods = list(dict.fromkeys(rows["method"]))
    candidates = [method for method in methods if method not in UNMIXED]
    if not candidates:
        candidates = [method for method in methods if method != "interobserver"]
    if not candidates:
        candidates = methods
    main = candidates[0]
    if "gradcam_wag" in candidates:
        main = "gradcam_wag"
    mixings = list(dict.fromkeys(rows.loc[rows["method"] == main, "mixing"]))
    if "uniform" in mixings:
        return main, "uniform"
    return main, mixings[0]


def rows_of_table_2(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows that Table 2 shows: shuffled metrics of interobserver and of the main method."""
    shuffled_rows = rows[rows["metric"].isin(SHUFFLED)]
    defined_rows = shuffled_rows[shuffled_rows["score"].notna()]
    if defined_rows.empty:
        return defined_rows
    method, mixing = main_method_and_mixing(defined_rows)
    is_main = (shuffled_rows["method"] == method) & shuffled_rows["mixing"].isin([NO_MIXING, mixing])
    is_interobserver = shuffled_rows["method"] == "interobserver"
    return shuffled_rows[is_main | is_interobserver]


def printed_row_names(rows: pd.DataFrame) -> list[str]:
    """Write the method and the mixing of each row as in print."""
    labels = Labels(STUDY_LABELS)
    names = []
    for method, mixing in zip(rows["method"], rows["mixing"], strict=True):
        name = labels.value("method", method)
        if mixing not in (NO_MIXING, MIXING_AS_GIVEN):
            name += f", {labels.value('mixing', mixing).lower()}"
        names.append(name)
    return names


def sorted_as_printed(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Sort rows by some columns, each in the order in which the study prints its values."""
    labels = Labels(STUDY_LABELS)
    # Ranks of the values of each row; the index is the position of the row.
    ranks = pd.DataFrame(index=range(len(rows)))
    for key in keys:
        rank_of = {value: rank for rank, value in enumerate(labels.order(key, rows[key]))}
        ranks[key] = [rank_of[value] for value in rows[key]]
    order = ranks.sort_values(list(keys), kind="stable").index
    return rows.iloc[order].reset_index(drop=True)


def with_no_mixing_as_missing(rows: pd.DataFrame) -> pd.DataFrame:
    """Replace the mixing `NO_MIXING`, an empty text, by a missing value."""
    mixing = rows["mixing"].where(rows["mixing"] != NO_MIXING, None)
    return rows.assign(mixing=mixing).reset_index(drop=True)
