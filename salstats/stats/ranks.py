"""Ranks of methods, and their variation when the cases are drawn again."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from salstats.frames import estimates_frame
from salstats.stats.engine.fixed_factors import inference_to_column_if_any
from salstats.stats.engine.inference_options import checked_options
from salstats.stats.engine.limits import percentile
from salstats.stats.engine.rank_schemes import kendall_tau
from salstats.stats.engine.rankings import RankingOptions, values_to_rank_methods_by
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.engine.result_warnings import warn_undefined
from salstats.stats.engine.score_reasons import is_missing_for_absent_finding, n_absent_column_if_any


def rank_stability(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    pairs: str = "complete",
    directions: Mapping[str, str] | None = None,
    scheme: str = "mean",
    ties: str = "average",
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Rank of each method by its scores, and its variation if the units are drawn again.

    Rank 1 is the best. Units are drawn once per replicate, and the same draw serves every method, so that the
    ranks of a replicate come from the same cases.

    Parameters
    ----------
    scores : DataFrame
        A scores frame, see `read_scores`.
    by : str or list of str, optional
        Columns whose combinations of values each have a ranking of their own, without `method`; by default
        those of `metric`, `dataset` and `model` that are present.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
        With `unit="dataset"`, and `by` without it, whole data sets are drawn.
    pairs : {"complete", "available"}
        "complete" ranks by the observations of which every method of the group has a defined score, so that
        no method ranks higher because its cases are easier. An observation is a data set, case and task, and
        also a reader, model and seed if all methods have these; one score of a case is thus compared with
        another method's scores of five seeds. "available" ranks each method by all of its scores.
    directions : mapping of str to {"larger", "smaller"}, optional
        Better scores, for metrics that the registry does not know.
    scheme : {"mean", "median", "mean-rank", "median-rank", "test"}
        Quantity that methods are ranked by: the mean or median of their scores, the mean or median of their
        ranks on each observation, or the number of other methods that they are better than in one-sided
        Wilcoxon signed-rank tests of the units' mean differences, at 1 - `level` and not adjusted.
    ties : {"average", "min"}
        Rank of methods that are equal: the average of their ranks, or the lowest, as in challengeR.
    level : float
        Share of the replicates whose ranks lie between the limits; the tests of `scheme="test"` are at
        1 - `level`.
    n_replicates : int
        Number of bootstrap replicates.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Units of each replicate, instead of random ones: positions among the distinct units in sorted order,
        from 0.

    Returns
    -------
    DataFrame
        One row per group and method, sorted by the grouping columns and `method`:

        - the columns of `by`, `method`;
        - `term` ("rank"), `estimate`, the rank by all cases;
        - `conf_low`, `conf_high`, `conf_level`, `interval` ("percentile"): quantiles of the ranks in the
          replicates, which are not an interval of a true rank, see Notes. These and all columns from
          replicates are NaN if a method of the group has a single unit;
        - `unit`, `inference_to`, `n` scores behind the mean, `n_missing` other scores of the method,
          `n_absent`, `n_shared` and `caution` as in `summarize`, `n_units`, and `n_undefined` replicates in
          which a method of the group has no score;
        - `mean` score; `value`, the quantity that is ranked; `mean_rank` over the replicates; `share_first`,
          the share of the replicates in which no method is better; `share_same`, the share in which the rank
          is the estimate;
        - for the whole group, and equal in all its rows: `n_methods`; `tau`, the mean over the replicates of
          Kendall's tau-b between their ranking and that of all cases, with `tau_low` and `tau_high`; NaN if
          all methods are equal or there is only one;
        - `larger_is_better` of the metric, `pairs`, `scheme`, `n_replicates`.

    Raises
    ------
    ColumnError, ValueRangeError
        A column is missing or invalid; `method` is in `by`; a grouping column is empty in some rows, as
        `model` is for people; no observation has a score of every method; the direction of a metric is not
        known; an option is unknown, or a scheme that compares methods case by case is combined with
        pairs="available".

    Notes
    -----
    Means that differ only by rounding (1e-12 of the largest) are equal. Limits are linear quantiles, as in
    every percentile interval, so that a limit may lie between two ranks. Schemes and bootstrap are those of
    challengeR (Wiesenfarth et al. 2021): aggregateThenRank, rankThenAggregate and testThenRank, there with
    ties="min". Ranks are not a smooth function of the scores, so the limits show how much a ranking varies:
    in simulated studies of 30 and 100 units, they held the average rank of two equal methods of five in 93 to
    95 % of studies, and other ranks in 98 to 100 %. `rank_limits` computes confidence limits. Warnings are
    those of `summarize`.

    References
    ----------
    Wiesenfarth M, Reinke A, Landman BA, et al. Methods and open-source toolkit for analyzing and
    visualizing challenge results. Scientific Reports 11 (2021). doi:10.1038/s41598-021-82017-6

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> ranks = ss.rank_stability(scores, n_replicates=200)
    >>> ranks.loc[ranks["metric"] == "iou", ["method", "estimate", "share_first", "n"]]
          method  estimate  share_first    n
    3    gradcam       2.0          0.0  654
    4      human       1.0          1.0  654
    5  occlusion       3.0          0.0  654
    """
    options = checked_options("rank", "percentile", level, n_replicates, rng, draws)
    rankings = values_to_rank_methods_by(
        scores, RankingOptions(by, unit, pairs, directions, scheme, ties), options
    )
    frames = []
    for group in range(len(rankings.group_keys)):
        rows = rankings.rows_of(group)
        ranks, drawn_ranks = rankings.ranks_and_replicate_ranks(rows)
        can_resample = rankings.n_units[rows].min() > 1
        frames.append(_rank_and_tau_columns(ranks, drawn_ranks, level, can_resample=can_resample))
    ranked = pd.concat(frames, ignore_index=True)
    keys = rankings.keys
    cells = rankings.target.cells
    warn_undefined(ranked["n_undefined"].to_numpy(), options.n_replicates, keys)
    key_columns = [*rankings.groups, "method"]
    table = {
        "term": "rank",
        "estimate": ranked.pop("estimate").to_numpy(),
        "conf_low": ranked.pop("conf_low").to_numpy(),
        "conf_high": ranked.pop("conf_high").to_numpy(),
        "n_undefined": ranked.pop("n_undefined").to_numpy(),
        "conf_level": level,
        "interval": "percentile",
        "unit": rankings.units.name,
        **inference_to_column_if_any(scores, rankings.units.codes, keys.drop(columns="method")),
        "n": cells.counts.sum(axis=0).astype(np.int64),
        "n_missing": rankings.target.n_missing,
        "n_units": rankings.n_units.astype(np.int64),
        **n_absent_column_if_any(
            keys, scores.loc[is_missing_for_absent_finding(scores), key_columns], scores
        ),
        **rankings.n_shared_and_cautions,
    }
    special = {
        "mean": cells.means(),
        "value": rankings.values,
        **{str(column): ranked[column] for column in ranked.columns},
        "larger_is_better": rankings.metric_signs > 0,
        "pairs": pairs,
        "scheme": scheme,
    }
    return estimates_frame(keys, table, special | options.n_replicates_column_if_any())


def _rank_and_tau_columns(
    ranks: np.ndarray, drawn_ranks: np.ndarray, level: float, *, can_resample: bool
) -> pd.DataFrame:
    """Return columns of the ranks (n_methods,) of one group and of their variation over the draws.

    `drawn_ranks` (n_replicates, n_methods) are NaN in undefined draws. A group of one unit cannot be
    resampled, as every draw is that unit.
    """
    defined_ranks = drawn_ranks[~np.isnan(drawn_ranks).any(axis=1)]
    columns = pd.DataFrame({"estimate": ranks, "n_undefined": len(drawn_ranks) - len(defined_ranks)})
    columns[["conf_low", "conf_high", "mean_rank", "share_first", "share_same"]] = np.nan
    columns["n_methods"] = len(ranks)
    columns[["tau", "tau_low", "tau_high"]] = np.nan
    if not can_resample or not len(defined_ranks):
        return columns
    columns["conf_low"], columns["conf_high"] = percentile(defined_ranks, level)
    columns["mean_rank"] = defined_ranks.mean(axis=0)
    is_first = defined_ranks == defined_ranks.min(axis=1, keepdims=True)
    columns["share_first"] = is_first.mean(axis=0)
    columns["share_same"] = (defined_ranks == ranks).mean(axis=0)
    tau = kendall_tau(ranks, defined_ranks)
    if not np.isnan(tau).all():
        low, high = percentile(tau[:, None], level)
        columns["tau"] = np.nanmean(tau)
        columns["tau_low"] = low[0]
        columns["tau_high"] = high[0]
    return columns


def rank_frequencies(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    pairs: str = "complete",
    directions: Mapping[str, str] | None = None,
    scheme: str = "mean",
    ties: str = "average",
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Share of draws of the units in which each method takes each rank, for `plot_ranks`.

    Parameters
    ----------
    scores : DataFrame
        A scores frame, see `read_scores`.
    by : str or list of str, optional
        Columns whose combinations of values each have a ranking of their own, without `method`; by default
        those of `metric`, `dataset` and `model` that are present.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
    pairs : {"complete", "available"}
        Rank by the observations of which every method of the group has a defined score, or each method by all
        of its scores, see `rank_stability`.
    directions : mapping of str to {"larger", "smaller"}, optional
        Better scores, for metrics that the registry does not know.
    scheme : {"mean", "median", "mean-rank", "median-rank", "test"}
        Quantity that methods are ranked by, see `rank_stability`; tests are at 0.05.
    ties : {"average", "min"}
        Rank of methods that are equal: the average of their ranks, or the lowest.
    n_replicates : int
        Number of bootstrap replicates.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Units of each replicate, instead of random ones: positions among the distinct units in sorted order,
        from 0.

    Returns
    -------
    DataFrame
        One row per group, method and rank that it takes, sorted: the columns of `by`, `method`, `rank`
        (halves if ties share the average), `share` of the replicates in which all methods of the group have a
        score, `estimate` (the rank by all cases), `n_replicates`.

    Raises
    ------
    ColumnError, ValueRangeError
        Those of `rank_stability`: a column is missing or invalid, no observation has a score of every method,
        the direction of a metric is not known, or an option is unknown.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou' and task == 'Edema'")
    >>> ss.rank_frequencies(scores, n_replicates=200).iloc[:, :4]
      metric     method  rank  share
    0    iou    gradcam   2.0  0.635
    1    iou    gradcam   3.0  0.365
    2    iou      human   1.0  1.000
    3    iou  occlusion   2.0  0.365
    4    iou  occlusion   3.0  0.635
    """
    options = checked_options("rank", "percentile", 0.95, n_replicates, rng, draws)
    rankings = values_to_rank_methods_by(
        scores, RankingOptions(by, unit, pairs, directions, scheme, ties), options
    )
    frames = []
    for group in range(len(rankings.group_keys)):
        rows = rankings.rows_of(group)
        ranks, drawn_ranks = rankings.ranks_and_replicate_ranks(rows)
        defined_ranks = drawn_ranks[~np.isnan(drawn_ranks).any(axis=1)]
        for row, rank, ranks_of_method in zip(rows, ranks, defined_ranks.T, strict=True):
            distinct_ranks, counts = np.unique(ranks_of_method, return_counts=True)
            shares = counts / len(defined_ranks)
            frames.append(
                pd.DataFrame({"row": row, "rank": distinct_ranks, "share": shares, "estimate": rank})
            )
    table = pd.concat(frames, ignore_index=True)
    keys = rankings.keys.iloc[table.pop("row").to_numpy()].reset_index(drop=True)
    return pd.concat([keys, table], axis=1).assign(n_replicates=options.n_replicates)
