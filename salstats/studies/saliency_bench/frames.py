"""The frames behind the tables: scores made ready, means, correlations between metrics, rankings."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, quoted, warn
from salstats.datasets import load_published
from salstats.stats.correlation import correlate
from salstats.stats.ranks import rank_stability
from salstats.stats.summaries import summarize
from salstats.studies.saliency_bench.words import METRICS
from salstats.study import HUMAN

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
class Choice:
    """What was asked for beside the scores.

    Attributes
    ----------
    n_replicates : int
        Bootstrap replicates.
    unit : str, optional
        What is resampled; by default patients where they are known, else cases.
    interval : str
        Of means, as `summarize` has it.
    """

    n_replicates: int = 1000
    unit: str | None = None
    interval: str = "percentile"


def keep_scores(scores: pd.DataFrame, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the rows that are compared: of saliency methods, of the metrics asked for.

    Parameters
    ----------
    scores : DataFrame
        A scores frame. Where it has no `dataset` or `model`, all of it is of one.
    metrics : sequence of str, optional
        By default those of IoU, hit (else any hit) and insertion that are there.

    Returns
    -------
    DataFrame
        A new frame with `dataset` and `model`.

    Raises
    ------
    SalstatsError
        A metric is not there, or no method but people is.
    ColumnError
        A data set or model is missing in some rows only.

    Warns
    -----
    SalstatsWarning
        A method's data sets, models or metrics, which stand side by side, are of different seeds.
    """
    there = list(dict.fromkeys(scores["metric"]))
    rules = [m for m in METRICS if m in there and (m != "hit_any" or "hit" not in there)]
    wanted = rules if metrics is None else list(dict.fromkeys(metrics))
    missing = [m for m in wanted if m not in there]
    if missing or not wanted:
        what = f"no metric {missing[0]!r}" if missing else f"none of {quoted(METRICS)}"
        raise SalstatsError(f"the scores have {what} (metrics: {quoted(there)}); choose with --metrics")
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


def cell_means(scores: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """Return the mean of each data set, model, method and metric, as `summarize` does."""
    return summarize(
        scores, by=CELL, unit=choice.unit, interval=choice.interval, n_replicates=choice.n_replicates
    )


def printed_means() -> pd.DataFrame:
    """Return the printed Tables 2 and 4 as means, with the metrics' names of this package.

    Returns
    -------
    DataFrame
        `dataset, model, method, metric, term, estimate`, in the printed order.
    """
    tables = pd.concat([load_published(f"saliency_bench_table{n}") for n in (2, 4)], ignore_index=True)
    named = tables.assign(metric=tables["metric"].map(PRINTED), term="mean")
    return named.rename(columns={"value": "estimate"})[[*CELL, "term", "estimate"]]


def correlations(means: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Return Pearson's correlation between every two metrics over the data sets, per model and method.

    Parameters
    ----------
    means : DataFrame
        `dataset, model, method, metric, estimate`.
    metrics : sequence of str
        In the order of the pairs.

    Returns
    -------
    DataFrame
        As `correlate`: `model, method, term, estimate, ..., n` data sets, `x`, `y`; no rows where no model
        and method has three data sets.
    """
    wide = means.pivot(index=["model", "method", "dataset"], columns="metric", values="estimate")
    table = wide.reset_index().rename_axis(columns=None)
    # two data sets have a correlation of -1 or 1 whatever they are
    enough = table.groupby(["model", "method"])["dataset"].transform("nunique") >= FEWEST
    table = table[enough].reset_index(drop=True)
    pairs = [(x, y) for x, y in combinations(metrics, 2) if x in table.columns and y in table.columns]
    if table.empty or not pairs:
        columns = ["model", "method", "term", "estimate", "conf_low", "conf_high", "n", "x", "y"]
        return pd.DataFrame(columns=columns)
    found = [correlate(table, x, y, by=["model", "method"], test="pearson") for x, y in pairs]
    return pd.concat(found, ignore_index=True)


def ranks_over_cases(scores: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """Return the rank of each method per metric, data set and model, when cases are drawn again."""
    several = _several_methods(scores)
    return rank_stability(
        several, by=["metric", "dataset", "model"], unit=choice.unit, n_replicates=choice.n_replicates
    )


def ranks_over_data_sets(means: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    """Return the rank of each method per metric and model, when whole data sets are drawn again.

    A data set counts as one observation, whatever its size: its mean.
    """
    several = _several_methods(means).rename(columns={"estimate": "score"})
    table = several[[*CELL, "score"]].assign(case=several["dataset"].astype("str"))
    return rank_stability(table, by=["metric", "model"], unit="dataset", n_replicates=choice.n_replicates)


def split_models(means: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the means of models with several methods, and of those with a single one (Table 4)."""
    n_methods = means.groupby("model", observed=True)["method"].transform("nunique")
    single = np.asarray(n_methods == 1)
    return means[~single].reset_index(drop=True), means[single].reset_index(drop=True)


def _several_methods(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models that have something to rank."""
    return split_models(frame)[0]
