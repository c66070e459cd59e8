"""The frames behind the tables: scores made ready, means, correlations between metrics, rankings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

import salstats as ss
from salstats.checks import quoted
from salstats.datasets import load_published
from salstats.display.text.labels import Labels
from salstats.errors import ColumnError, SalstatsError, warn
from salstats.readers.case_images import ImageSource
from salstats.study import HUMAN, Study

#: The study's metrics as they are called here, in its order; of the pointing game there are two rules.
METRICS = ("iou", "hit", "hit_any", "insertion")
#: Metrics in print; others have the registry's label.
HEADINGS = {
    "iou": "mIoU",
    "hit": "PG",
    "hit_any": "PG (any maximum)",
    "insertion": "iAUC",
    "deletion": "dAUC",
}
_MEANT = {
    "iou": "mIoU, mean intersection over union",
    "hit": "share of maps whose first maximum lies in the truth",
    "hit_any": "share of maps of which any maximum lies in the truth",
    "insertion": "iAUC, area under the insertion curve",
    "deletion": "dAUC, area under the deletion curve, where less is better",
}
#: What a mean is of.
CELL = ("dataset", "model", "method", "metric")
#: Fewest data sets that a correlation over them is of.
FEWEST = 3
#: Fewest data sets that are drawn again: of three there are ten draws.
FEWEST_DRAWN = 5
#: The printed names of metrics and ours.
PRINTED = {"miou": "iou", "pg": "hit_any", "iauc": "insertion"}
#: What stands where scores do not say the model or the data set.
UNNAMED = {"dataset": "Data set", "model": "Model"}


@dataclass(frozen=True)
class MeanOptions:
    """What was asked for beside the scores."""

    #: Bootstrap replicates.
    n_replicates: int = 1000
    #: What is resampled; by default patients where they are known, else cases.
    unit: str | None = None
    #: Of means, as `summarize` has it.
    interval: str = "percentile"
    #: Means and correlations alone, as the study has them: no intervals.
    as_published: bool = False


@dataclass(frozen=True)
class Means:
    """What the tables are of: the mean of each data set, model, method and metric."""

    #: Of `cell_means` or `printed_means`.
    means: pd.DataFrame
    options: MeanOptions
    #: Of `keep_scores`; printed means have none.
    scores: pd.DataFrame | None = None
    #: Names and order of data sets, models and methods, as `Labels` takes them.
    labels: Mapping[str, Any] = field(default_factory=dict)
    #: Truth and maps of scored cases, for pictures, and their images.
    study: Study | None = None
    images: ImageSource | None = None

    @property
    def printed(self) -> bool:
        """Whether the means are printed ones."""
        return self.scores is None

    @cached_property
    def names(self) -> Labels:
        """The names and order of all that is shown."""
        return labels_of(self.means, self.labels)

    @property
    def several(self) -> pd.DataFrame:
        """The means of models with several methods, which can be ranked."""
        return split_models(self.means)[0]

    @property
    def single(self) -> pd.DataFrame:
        """The means of models with an explanation of their own."""
        return split_models(self.means)[1]


def of_scores(scores: pd.DataFrame, options: MeanOptions, metrics: Sequence[str] | None = None) -> Means:
    """The means of a scores frame."""
    return means_of(keep_scores(scores, metrics), options)


def means_of(kept: pd.DataFrame, options: MeanOptions) -> Means:
    """The means of the rows that `keep_scores` returns."""
    return Means(cell_means(kept, options), options, kept)


def as_printed(options: MeanOptions) -> Means:
    """The printed means, in the printed order."""
    means = printed_means()
    return Means(
        means, options, labels={c: list(dict.fromkeys(means[c])) for c in ("dataset", "model", "method")}
    )


def keep_scores(scores: pd.DataFrame, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """The rows that are compared: of saliency methods, of the metrics asked for."""
    there = list(dict.fromkeys(scores["metric"]))
    if metrics is None:
        wanted = [metric for metric in METRICS if metric in there]
        if "hit" in wanted and "hit_any" in wanted:
            wanted.remove("hit_any")
    else:
        wanted = list(dict.fromkeys(metrics))
    known = f"(metrics: {quoted(there)}); choose with --metrics"
    if not wanted:
        raise SalstatsError(f"the scores have none of {quoted(METRICS)} {known}")
    missing = [metric for metric in wanted if metric not in there]
    if missing:
        raise SalstatsError(f"the scores have no metric {missing[0]!r} {known}")
    kept = scores[scores["metric"].isin(wanted) & (scores["method"] != HUMAN)].reset_index(drop=True)
    if kept.empty:
        raise SalstatsError(f"the scores have no method but {HUMAN!r}, which no model made")
    for column, name in UNNAMED.items():
        if column not in kept.columns:
            kept[column] = name
        elif kept[column].isna().any():
            row = kept[kept[column].isna()].iloc[0]
            raise ColumnError(
                f"column {column!r} is empty for method {row['method']}, case {row['case']}; fill it in"
            )
    _warn_of_seeds(kept)
    return kept


def _warn_of_seeds(scores: pd.DataFrame) -> None:
    """Warn where means that stand side by side are taken over different seeds or trainings."""
    if "seed" not in scores.columns:
        return
    seeded = scores[scores["seed"].notna()]
    for method, own in seeded.groupby("method", observed=True):
        kinds: dict[tuple[str, ...], str] = {}
        for cell, rows in own.groupby(["dataset", "model", "metric"], observed=True):
            kinds.setdefault(tuple(sorted(rows["seed"].astype("str").unique())), ", ".join(map(str, cell)))
        if len(kinds) > 1:
            shown = "; ".join(f"{cell}: {quoted(seeds)}" for seeds, cell in kinds.items())
            warn(
                f"means are over all seeds, and method {method!r} does not have the same everywhere "
                f"({shown}); keep the rows of one seed, or of those that all have"
            )
            return


def cell_means(scores: pd.DataFrame, options: MeanOptions) -> pd.DataFrame:
    """The mean of each data set, model, method and metric, as `summarize` does.

    As published: `estimate`, `n` and `n_missing` alone.
    """
    if options.as_published:
        described = ss.describe(scores, by=CELL, unit=options.unit)
        means = described.rename(columns={"mean": "estimate"}).assign(term="mean")
        return means[[*CELL, "term", "estimate", "n", "n_missing"]]
    return ss.summarize(
        scores, by=CELL, unit=options.unit, interval=options.interval, n_replicates=options.n_replicates
    )


def printed_means() -> pd.DataFrame:
    """The printed Tables 2 and 4 as means, with the metrics' names of this package."""
    tables = pd.concat([load_published(f"saliency_bench_table{n}") for n in (2, 4)], ignore_index=True)
    named = tables.assign(metric=tables["metric"].map(PRINTED), term="mean")
    return named.rename(columns={"value": "estimate"})[[*CELL, "term", "estimate"]]


def correlations(means: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Pearson's correlation between every two metrics over the data sets, per model and method."""
    wide = means.pivot(index=["model", "method", "dataset"], columns="metric", values="estimate")
    table = wide.reset_index().rename_axis(columns=None)
    # two data sets have a correlation of -1 or 1 whatever they are
    enough = table.groupby(["model", "method"])["dataset"].transform("nunique") >= FEWEST
    table = table[enough].reset_index(drop=True)
    pairs = [(x, y) for x, y in combinations(metrics, 2) if x in table.columns and y in table.columns]
    if table.empty or not pairs:
        columns = ["model", "method", "term", "estimate", "conf_low", "conf_high", "n", "x", "y"]
        return pd.DataFrame(columns=columns)
    options: dict[str, Any] = {"by": ["model", "method"], "test": "pearson", "interval": "fisher"}
    found = [ss.correlate(table, x, y, **options) for x, y in pairs]
    return pd.concat(found, ignore_index=True)


def ranks_over_cases(scores: pd.DataFrame, options: MeanOptions) -> pd.DataFrame:
    """The rank of each method per metric, data set and model, when cases are drawn again."""
    several = split_models(scores)[0]
    return ss.rank_stability(
        several, by=["metric", "dataset", "model"], unit=options.unit, n_replicates=options.n_replicates
    )


def ranks_over_data_sets(means: pd.DataFrame, options: MeanOptions) -> pd.DataFrame:
    """The rank of each method per metric and model, when whole data sets are drawn again.

    A data set counts as one observation, whatever its size: its mean.
    """
    several = split_models(means)[0].rename(columns={"estimate": "score"})
    table = several[[*CELL, "score"]].assign(case=several["dataset"].astype("str"))
    return ss.rank_stability(table, by=["metric", "model"], unit="dataset", n_replicates=options.n_replicates)


def split_models(means: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The means of models with several methods, and of those with a single one (Table 4)."""
    n_methods = means.groupby("model", observed=True)["method"].transform("nunique")
    single = np.asarray(n_methods == 1)
    return means[~single].reset_index(drop=True), means[single].reset_index(drop=True)


def labels_of(frame: pd.DataFrame, given: Mapping[str, Any] | None = None) -> Labels:
    """The names of metrics, and of what else `given` says."""
    found = list(dict.fromkeys(frame["metric"])) if "metric" in frame.columns else []
    ordered = [m for m in METRICS if m in found] + [m for m in found if m not in METRICS]
    metrics = {m: HEADINGS.get(m, Labels().value("metric", m)) for m in ordered}
    if "hit_any" in metrics and "hit" not in metrics:
        metrics["hit_any"] = HEADINGS["hit"]
    return Labels({"metric": metrics, **(given or {})})


def meant(metrics: Iterable[str], names: Labels) -> str:
    """What the abbreviations of some metrics mean."""
    said = []
    for metric in dict.fromkeys(metrics):
        if metric in ("hit", "hit_any"):
            said.append(f"{names.value('metric', metric)}, pointing game: {_MEANT[metric]}")
        elif metric in _MEANT:
            said.append(_MEANT[metric])
    return f"{'; '.join(said)}." if said else ""


def in_order(frame: pd.DataFrame, columns: Sequence[str], names: Labels) -> pd.DataFrame:
    """Rows in the order that the values of some columns stand in."""
    places = {}
    for column in columns:
        order = {value: i for i, value in enumerate(names.order(column, frame[column]))}
        places[column] = frame[column].map(order)
    keys = pd.DataFrame(places)
    return frame.iloc[keys.reset_index(drop=True).sort_values(list(columns), kind="stable").index]
