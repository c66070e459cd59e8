"""How sure a ranking of methods is: ranks, and rankings, when the cases are drawn again."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from salstats.checks import ColumnError, ValueRangeError, check_by, check_choice, warn
from salstats.frames import ColumnCodes, coded_scores, estimates_frame
from salstats.metrics.registry import direction
from salstats.stats.advice import FEW_UNITS, ROUNDING, warn_undefined
from salstats.stats.carried import absent_column, is_absent
from salstats.stats.comparisons import ALWAYS, IF_GIVEN, PAIRS
from salstats.stats.design import group_label, group_list, index_groups, mean_of_rows_design
from salstats.stats.estimands import mean_target
from salstats.stats.inference import check_options, replicate
from salstats.stats.limits import percentile
from salstats.stats.units import Unit, inference_to, resolve_unit

#: What has a ranking of its own by default: those that are present.
RANKED_BY = ("metric", "dataset", "model")


def rank_stability(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    pairs: str = "complete",
    directions: Mapping[str, str] | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Rank of each method by its mean score, and how it moves when the units are drawn again.

    Rank 1 is the best; methods of equal mean share the average of their ranks. Units are drawn once per
    replicate and the same draw serves every method, so that the ranks of a replicate are of the same cases.

    Parameters
    ----------
    scores, unit, level, n_replicates, rng, draws
        As for `summarize`. With `unit="dataset"` and `by` without it, whole data sets are drawn.
    by : str or list of str, optional
        What has a ranking of its own, `method` not among it; by default those of `metric, dataset, model`
        that are present.
    pairs : {"complete", "available"}
        "complete" ranks by observations that every method of the group has a defined score of, so that no
        method stands higher for easier cases: data set, case and task, and reader, model and seed where all
        methods have them, so that one score of a case stands beside another method's five seeds.
        "available" takes each method's own.
    directions : mapping of str to {"larger", "smaller"}, optional
        What is better, for metrics that the registry does not know.

    Returns
    -------
    DataFrame
        One row per group and method, sorted by the grouping columns and `method`:

        - `by`, `method`;
        - `term` ("rank"), `estimate`: the rank by the mean of all cases;
        - `conf_low`, `conf_high`, `conf_level`, `interval` ("percentile"): between which ranks the method is
          in that share of the replicates, NaN for a single unit, as is what follows from replicates; not an
          interval for a true rank, see Notes;
        - `unit`, `n` scores that the mean is of, `n_missing` others of the method, `n_units`,
          `n_undefined` replicates in which a method of the group has no score;
        - `mean` score, `mean_rank` over the replicates, `share_first`: share of the replicates in which no
          method is better; `share_same`: in which its rank is the estimate;
        - of the group, so the same in all its rows: `n_methods`; `tau`, the mean over the replicates of
          Kendall's tau-b between their ranking and that of all cases, with `tau_low` and `tau_high`; NaN
          where all methods are equal, or there is one;
        - `larger_is_better`, `pairs`, `n_replicates`.

    Raises
    ------
    ColumnError, ValueRangeError
        As for `summarize`; `method` is in `by`, or a grouping column is empty in some rows, as `model` is
        for people; no observation has a score of every method; nobody knows which direction of a metric is
        better.

    Notes
    -----
    Means that differ by rounding only (1e-12 of the largest) are equal. Limits are linear quantiles, as of
    every percentile interval, so that one may lie between two ranks. The bootstrap of ranks is that of
    challengeR (Wiesenfarth et al. 2021), test-based rankings left out. Ranks are no smooth function of the
    scores: where two methods are equally good their intervals are too short, so they show how a ranking
    moves and do not cover true ranks in 95 of 100 studies. Warnings are those of `summarize`.

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
    options = check_options("rank", "percentile", level, n_replicates, rng, draws)
    codes = coded_scores(scores)
    groups = _groups(scores, by)
    if "method" in groups:
        raise ColumnError("by has 'method', which is what is ranked; leave it out")
    check_choice(pairs, PAIRS, "pairs")
    columns = [*groups, "method"]
    units = resolve_unit(codes, unit)
    ranked = _complete(codes, groups) if pairs == "complete" else codes
    target = mean_target(mean_of_rows_design(ranked, columns, units))
    cells, keys = target.cells, target.keys
    metrics = keys["metric"] if "metric" in keys.columns else [scores["metric"].iloc[0]] * len(keys)
    signs = np.array([_sign(str(metric), directions) for metric in metrics])
    group_codes, group_keys = index_groups(ColumnCodes(keys), groups)
    means, n_units = cells.means(), (cells.counts > 0).sum(axis=0)
    replicates, _, _ = replicate(cells, target.estimand, options)
    parts = []
    for group in range(len(group_keys)):
        rows = np.flatnonzero(group_codes == group)
        if np.isnan(means[rows]).any():
            own = scores.loc[index_groups(codes, groups)[0] == group].groupby("method", observed=True)
            lacking = [str(m) for m, n in own["score"].count().items() if not n]
            raise ColumnError(_nothing_to_rank(lacking, len(rows), group_label(group_keys, group)))
        drawn = replicates[:, rows]
        parts.append(_ranking(means[rows], drawn, signs[rows], level, n_units[rows].min() > 1))
    # keys are sorted by group, then method
    found = pd.concat(parts, ignore_index=True)
    _warn_few(n_units, group_codes, group_keys, units.name)
    warn_undefined(found["n_undefined"].to_numpy(), options.n_replicates, keys)
    table = {
        "term": "rank",
        **{name: found.pop(name).to_numpy() for name in ("estimate", "conf_low", "conf_high", "n_undefined")},
        "conf_level": level,
        "interval": "percentile",
        "unit": units.name,
        **inference_to(scores, units.codes, keys.drop(columns="method")),
        "n": cells.counts.sum(axis=0).astype(np.int64),
        "n_missing": target.n_missing,
        "n_units": n_units.astype(np.int64),
        **absent_column(keys, scores.loc[is_absent(scores), columns], scores),
    }
    special = {"mean": means, **found.to_dict("series"), "larger_is_better": signs > 0, "pairs": pairs}
    return estimates_frame(keys, table, special | options.columns())


def _ranking(
    means: np.ndarray, drawn: np.ndarray, signs: np.ndarray, level: float, resampled: bool
) -> pd.DataFrame:
    """Ranks of the methods of one group, and how they move; one unit drawn again is itself."""
    ranks, defined = ranks_of(means[None], signs)[0], ~np.isnan(drawn).any(axis=1)
    found = pd.DataFrame({"estimate": ranks, "n_undefined": int((~defined).sum())})
    found[["conf_low", "conf_high", "mean_rank", "share_first", "share_same"]] = np.nan
    found["n_methods"] = len(means)
    found[["tau", "tau_low", "tau_high"]] = np.nan
    if not resampled or not defined.any():
        return found
    moved = ranks_of(drawn[defined], signs)
    found["conf_low"], found["conf_high"] = percentile(moved, level)
    found["mean_rank"] = moved.mean(axis=0)
    found["share_first"] = (moved == moved.min(axis=1, keepdims=True)).mean(axis=0)
    found["share_same"] = (moved == ranks).mean(axis=0)
    tau = kendall_tau(ranks, moved)
    if not np.isnan(tau).all():
        low, high = percentile(tau[:, None], level)
        found["tau"], found["tau_low"], found["tau_high"] = np.nanmean(tau), low[0], high[0]
    return found


def ranks_of(means: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Rank of each method in each replicate, shape (n_replicates, n_methods), ties sharing the average.

    `signs` are 1 where more is better, -1 where less is.
    """
    scale = np.abs(means).max(axis=1, keepdims=True)
    # sums in another order may differ in their last bits
    steps = np.where(scale > 0, scale, 1.0) * ROUNDING
    ranks: np.ndarray = rankdata(-signs * np.rint(means / steps), method="average", axis=1)
    return ranks


def kendall_tau(ranking: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Kendall's tau-b between one ranking and each of many; NaN where all methods are equal."""
    a, b = np.triu_indices(len(ranking), k=1)
    one, many = np.sign(ranking[a] - ranking[b]), np.sign(others[:, a] - others[:, b])
    untied = np.sqrt((one != 0).sum() * (many != 0).sum(axis=1).astype(np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        tau: np.ndarray = np.true_divide(many @ one, untied)
    return tau


def _groups(scores: pd.DataFrame, by: str | Sequence[str] | None) -> list[str]:
    """What has a ranking of its own; a column that only some rows fill in gives none by default."""
    groups = [c for c in check_by(scores, by, RANKED_BY) if by is not None or scores[c].notna().any()]
    for column in groups:
        if scores[column].isna().any():
            row = scores[scores[column].isna()].iloc[0]
            others = [c for c in groups if c != column]
            raise ColumnError(
                f"column {column!r} is empty for method {row['method']}, case {row['case']}, so that no "
                f"ranking of one {column} has it; leave these rows out, or rank over all with by={others}"
            )
    return groups


def _complete(codes: ColumnCodes, groups: Sequence[str]) -> ColumnCodes:
    """Scores with those undefined of which some method of the group has no defined one."""
    frame = codes.frame
    groups_of, _ = index_groups(codes, groups)
    methods = codes.column("method")
    made = groups_of * methods.n_codes + methods.codes
    which = codes.combined(list(dict.fromkeys(c for c in (*ALWAYS, *groups) if c in frame.columns)))
    for column in (c for c in IF_GIVEN if c in frame.columns and c not in groups):
        present, has = np.unique(made, return_inverse=True)
        named = np.bincount(has, frame[column].notna(), len(present)) > 0
        lacking = np.bincount(present // methods.n_codes, ~named) > 0
        its = codes.column(column)
        which = which * (its.n_codes + 1) + np.where(lacking[groups_of], its.n_codes, its.codes)
        which = np.unique(which, return_inverse=True)[1]
    defined = frame["score"].notna().to_numpy()
    # a method may have several scores of an observation, such as seeds that the others do not have
    scored = np.unique(which[defined] * methods.n_codes + methods.codes[defined]) // methods.n_codes
    n_scored = np.bincount(scored, minlength=int(which.max()) + 1)
    n_methods = np.bincount(np.unique(made) // methods.n_codes)
    complete = n_scored[which] == n_methods[groups_of]
    return codes.with_scores(frame["score"].where(complete))


def _sign(metric: str, directions: Mapping[str, str] | None) -> int:
    """1 where more of a metric is better, -1 where less is."""
    given = (directions or {}).get(metric)
    if given is not None:
        return 1 if check_choice(given, ("larger", "smaller"), f"directions[{metric!r}]") == "larger" else -1
    known = direction(metric)
    if not known:
        raise ValueRangeError(
            f"metric {metric!r} is not known, so that nobody knows which score is the better one; say "
            f"directions={{{metric!r}: 'larger'}} or 'smaller'"
        )
    return known


def _warn_few(n_units: np.ndarray, group_codes: np.ndarray, keys: pd.DataFrame, unit: str) -> None:
    """Warn of groups whose ranking hangs on few units."""
    few = [g for g in range(len(keys)) if n_units[group_codes == g].min() < FEW_UNITS]
    if few:
        least = min(int(n_units[group_codes == g].min()) for g in few)
        warn(
            f"rankings rest on few units (column {unit!r}; {least} at the least) for "
            f"{group_list([group_label(keys, g) for g in few])}; drawing fewer than {FEW_UNITS} again shows "
            "a ranking steadier than it is"
        )


def _nothing_to_rank(lacking: Sequence[str], n_methods: int, group: str) -> str:
    """Message for a group that cannot be ranked."""
    where = "" if group == "all rows" else f"{group}: "
    if lacking:
        return f"{where}{group_list(lacking)} has no defined score and so no rank; leave it out"
    return (
        f"{where}no observation of which all {n_methods} methods have a defined score; leave out a method, "
        "or rank by each method's own scores with pairs='available'"
    )
