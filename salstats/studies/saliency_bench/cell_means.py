"""Means of each data set, model, method and metric, and the correlations and ranks that follow from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import salstats as ss
from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.datasets import load_published
from salstats.display.text.labels import Labels
from salstats.errors import ColumnError, Message, Setting, warn
from salstats.readers.background_images import ImageSource
from salstats.study import HUMAN, Study

#: The study's metrics by our names, in its order; there are two rules of the pointing game.
METRICS = ("iou", "hit", "hit_any", "insertion")
#: Metrics in print; others have the registry's label.
HEADINGS = {
    "iou": "mIoU",
    "hit": "PG",
    "hit_any": "PG (any maximum)",
    "insertion": "iAUC",
    "deletion": "dAUC",
}
_ABBREVIATIONS = {
    "iou": "mIoU, mean intersection over union",
    "hit": "share of maps whose first maximum lies in the truth",
    "hit_any": "share of maps with any maximum in the truth",
    "insertion": "iAUC, area under the insertion curve",
    "deletion": "dAUC, area under the deletion curve, where less is better",
}
#: Columns that identify a mean.
CELL_COLUMNS = ("dataset", "model", "method", "metric")
#: Smallest number of data sets for a correlation over them.
MIN_DATA_SETS = 3
#: Smallest number of data sets to resample: three data sets give only ten different samples.
MIN_DRAWN_DATA_SETS = 5
#: The package's name of each printed metric.
METRIC_BY_PRINTED_NAME = {"miou": "iou", "pg": "hit_any", "iauc": "insertion"}
#: Name of the only data set or model, for scores without that column.
DEFAULT_NAMES = {"dataset": "Data set", "model": "Model"}


@dataclass(frozen=True)
class MeanOptions:
    """Options of means, correlations and ranks."""

    #: Bootstrap replicates.
    n_replicates: int = 1000
    #: Unit that is resampled; by default patients where they are known, else cases.
    unit: str | None = None
    #: Interval of means, as for `summarize`.
    interval: str = "percentile"
    #: Compute means and correlations alone, without intervals, as the study does.
    as_published: bool = False


class ModelSplit(NamedTuple):
    """Rows of models with several methods, and of those with a single one (Table 4)."""

    several: pd.DataFrame
    single: pd.DataFrame


@dataclass(frozen=True)
class Benchmark:
    """The means that the tables show, with the scores behind them."""

    #: Means of `means_by_dataset_model_method_and_metric` or `printed_means`.
    means: pd.DataFrame
    options: MeanOptions
    #: Scores of `scores_of_methods_but_human`; printed means have none.
    scores: pd.DataFrame | None = None
    #: Names and order of data sets, models and methods, as `Labels` takes them.
    labels: Mapping[str, Any] = field(default_factory=dict)
    #: Truth and maps of scored cases, for pictures.
    study: Study | None = None
    #: Images of these cases.
    images: ImageSource | None = None

    @property
    def is_printed(self) -> bool:
        """True where the means are those of print."""
        return self.scores is None

    @cached_property
    def names(self) -> Labels:
        """The names and order of all values that are shown."""
        return labels_with_metric_headings(self.means, self.labels)

    @property
    def means_of_several_methods(self) -> pd.DataFrame:
        """The means of models with several methods, which can be ranked."""
        return split_by_several_or_single_method(self.means).several

    @property
    def means_of_single_method(self) -> pd.DataFrame:
        """The means of models with a single method."""
        return split_by_several_or_single_method(self.means).single


def score_benchmark(compared_scores: pd.DataFrame, options: MeanOptions) -> Benchmark:
    """Compute the means of the rows that `scores_of_methods_but_human` returns."""
    means = means_by_dataset_model_method_and_metric(compared_scores, options)
    return Benchmark(means, options, compared_scores)


def printed_benchmark(options: MeanOptions) -> Benchmark:
    """Return the printed means, with labels in the printed order."""
    means = printed_means()
    labels = {column: list(dict.fromkeys(means[column])) for column in ("dataset", "model", "method")}
    return Benchmark(means, options, labels=labels)


def scores_of_methods_but_human(scores: pd.DataFrame, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """Keep the rows that are compared: those of saliency methods and of the metrics chosen.

    A column `dataset` or `model` that is not there is added, with one name in all rows.
    """
    available = list(dict.fromkeys(scores["metric"]))
    if metrics is None:
        chosen = [metric for metric in METRICS if metric in available]
        if "hit" in chosen and "hit_any" in chosen:
            chosen.remove("hit_any")
    else:
        chosen = list(dict.fromkeys(metrics))
    hint = Message("choose with ", Setting("metrics"))
    if not chosen:
        raise ColumnError(
            f"the scores have none of {quoted(METRICS)} (metrics: {quoted(available)})",
            hint=hint,
            column="metric",
            choices=available,
        )
    missing = [metric for metric in chosen if metric not in available]
    if missing:
        raise ColumnError(
            f"the scores have no metric {missing[0]!r} (metrics: {quoted(available)})",
            hint=hint,
            column="metric",
            option="metrics",
            value=missing[0],
            choices=available,
        )
    is_compared = scores["metric"].isin(chosen) & (scores["method"] != HUMAN)
    row_numbers = np.flatnonzero(is_compared)
    compared_scores = scores[is_compared].reset_index(drop=True)
    if compared_scores.empty:
        raise ColumnError(f"the scores have no method but {HUMAN!r}, which no model made", column="method")
    for column, name in DEFAULT_NAMES.items():
        if column not in compared_scores.columns:
            compared_scores[column] = name
            continue
        is_empty = compared_scores[column].isna()
        if is_empty.any():
            row = compared_scores[is_empty].iloc[0]
            raise ColumnError(
                f"column {column!r} is empty for method {row['method']}, case {row['case']}",
                hint="fill it in",
                column=column,
                rows=row_numbers[is_empty].tolist(),
            )
    _warn_if_method_has_other_seeds_in_some_cells(compared_scores)
    return compared_scores


def _warn_if_method_has_other_seeds_in_some_cells(scores: pd.DataFrame) -> None:
    """Warn once where the means of a method are over other seeds in one cell than in another."""
    if "seed" not in scores.columns:
        return
    seeded = scores[scores["seed"].notna()]
    for method, method_scores in seeded.groupby("method", observed=True):
        # The first data set, model and metric with each set of seeds.
        cell_by_seeds: dict[tuple[str, ...], str] = {}
        for cell, rows in method_scores.groupby(["dataset", "model", "metric"], observed=True):
            seeds = tuple(sorted(rows["seed"].astype(TEXT).unique()))
            cell_by_seeds.setdefault(seeds, ", ".join(map(str, cell)))
        if len(cell_by_seeds) > 1:
            examples = "; ".join(f"{cell}: {quoted(seeds)}" for seeds, cell in cell_by_seeds.items())
            warn(
                f"means are over all seeds, and method {method!r} does not have the same everywhere "
                f"({examples})",
                hint="keep the rows of one seed, or of those that all have",
                column="seed",
                value={cell: seeds for seeds, cell in cell_by_seeds.items()},
            )
            return


def means_by_dataset_model_method_and_metric(scores: pd.DataFrame, options: MeanOptions) -> pd.DataFrame:
    """Return the mean of each data set, model, method and metric, as `summarize` does.

    As published: `estimate`, `n` and `n_missing` alone.
    """
    if options.as_published:
        described = ss.describe(scores, by=CELL_COLUMNS, unit=options.unit)
        means = described.rename(columns={"mean": "estimate"}).assign(term="mean")
        return means[[*CELL_COLUMNS, "term", "estimate", "n", "n_missing"]]
    return ss.summarize(
        scores,
        by=CELL_COLUMNS,
        unit=options.unit,
        interval=options.interval,
        n_replicates=options.n_replicates,
    )


def printed_means() -> pd.DataFrame:
    """Return the printed Tables 2 and 4 as means, with the metrics' names of this package."""
    tables = pd.concat([load_published(f"saliency_bench_table{n}") for n in (2, 4)], ignore_index=True)
    named = tables.assign(metric=tables["metric"].map(METRIC_BY_PRINTED_NAME), term="mean")
    return named.rename(columns={"value": "estimate"})[[*CELL_COLUMNS, "term", "estimate"]]


def pearson_over_data_sets(means: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Return Pearson's correlation of every two metrics over the data sets, per model and method.

    Models and methods with fewer than `MIN_DATA_SETS` data sets have no rows. There are no rows at all where
    `means` have fewer than two of the metrics.
    """
    by = ["model", "method"]
    # A row for each data set of a model and method, a column of means for each metric.
    wide = means.pivot(index=[*by, "dataset"], columns="metric", values="estimate")
    wide = wide.reset_index().rename_axis(columns=None)
    # The correlation over two data sets is always -1 or 1.
    n_data_sets = wide.groupby(by)["dataset"].transform("nunique")
    wide = wide[n_data_sets >= MIN_DATA_SETS].reset_index(drop=True)
    available_metrics = [metric for metric in metrics if metric in wide.columns]
    if wide.empty or len(available_metrics) < 2:
        columns = [*by, "term", "estimate", "conf_low", "conf_high", "n", "x", "y"]
        return pd.DataFrame(columns=columns)
    pair_correlations = []
    for x, y in combinations(available_metrics, 2):
        pair_correlations.append(ss.correlate(wide, x, y, by=by, test="pearson", interval="fisher"))
    return pd.concat(pair_correlations, ignore_index=True)


def method_ranks_with_limits_by_data_set_and_model(
    scores: pd.DataFrame, options: MeanOptions
) -> pd.DataFrame:
    """Return each method's rank and its limits per metric, data set and model, over resampled cases."""
    return ss.rank_stability(
        split_by_several_or_single_method(scores).several,
        by=["metric", "dataset", "model"],
        unit=options.unit,
        n_replicates=options.n_replicates,
    )


def method_ranks_by_mean_over_data_sets(means: pd.DataFrame, options: MeanOptions) -> pd.DataFrame:
    """Return each method's rank and its limits per metric and model, over resampled data sets.

    Each data set counts as one observation, its mean, whatever its size.
    """
    several = split_by_several_or_single_method(means).several.rename(columns={"estimate": "score"})
    table = several[[*CELL_COLUMNS, "score"]].assign(case=several["dataset"].astype(TEXT))
    return ss.rank_stability(table, by=["metric", "model"], unit="dataset", n_replicates=options.n_replicates)


def split_by_several_or_single_method(means: pd.DataFrame) -> ModelSplit:
    """Separate the rows of models with several methods from those of models with a single one."""
    n_methods = means.groupby("model", observed=True)["method"].transform("nunique")
    is_single = np.asarray(n_methods == 1)
    return ModelSplit(
        several=means[~is_single].reset_index(drop=True), single=means[is_single].reset_index(drop=True)
    )


def labels_with_metric_headings(frame: pd.DataFrame, labels: Mapping[str, Any] | None = None) -> Labels:
    """Return labels with the headings of a frame's metrics, in the study's order, and with `labels`."""
    metrics: list[str] = []
    if "metric" in frame.columns:
        metrics = list(dict.fromkeys(frame["metric"]))
    ordered = [metric for metric in METRICS if metric in metrics]
    ordered += [metric for metric in metrics if metric not in METRICS]
    headings = {metric: HEADINGS.get(metric, Labels().value("metric", metric)) for metric in ordered}
    # Without the other rule of the pointing game the name need not tell which one it is.
    if "hit_any" in headings and "hit" not in headings:
        headings["hit_any"] = HEADINGS["hit"]
    return Labels({"metric": headings, **(labels or {})})


def abbreviation_note(metrics: Iterable[str], names: Labels) -> str:
    """Explain the abbreviations of some metrics in one sentence."""
    explanations = []
    for metric in dict.fromkeys(metrics):
        if metric in ("hit", "hit_any"):
            explanations.append(f"{names.value('metric', metric)}, pointing game: {_ABBREVIATIONS[metric]}")
        elif metric in _ABBREVIATIONS:
            explanations.append(_ABBREVIATIONS[metric])
    if not explanations:
        return ""
    return f"{'; '.join(explanations)}."


def sorted_by_labels(frame: pd.DataFrame, columns: Sequence[str], names: Labels) -> pd.DataFrame:
    """Sort rows by the order that labels give the values of some columns."""
    ranks = pd.DataFrame(index=range(len(frame)))
    for column in columns:
        rank_of = {value: rank for rank, value in enumerate(names.order(column, frame[column]))}
        ranks[column] = [rank_of[value] for value in frame[column]]
    order = ranks.sort_values(list(columns), kind="stable").index
    return frame.iloc[order]
