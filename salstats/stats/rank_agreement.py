"""Agreement of the rankings of methods on different tasks or data sets, by Kendall's tau."""

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_columns
from salstats.errors import ColumnError, SalstatsWarning, Setting, warn
from salstats.frames import ColumnCodes, estimates_frame
from salstats.stats.engine.grouping import index_groups
from salstats.stats.engine.inference_options import checked_options
from salstats.stats.engine.rank_schemes import kendall_tau
from salstats.stats.engine.rankings import RankingOptions, ValuesToRank, values_to_rank_methods_by
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.engine.result_warnings import warn_undefined
from salstats.stats.pairwise_tests import significance_map

#: Number of methods below which tau takes few values.
_FEW_METHODS = 5


def rank_agreement(
    scores: pd.DataFrame,
    *,
    over: str = "task",
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    pairs: str = "complete",
    directions: Mapping[str, str] | None = None,
    scheme: str = "mean",
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Kendall's tau-b between the rankings of the methods on every two tasks, or data sets.

    It is 1 for the same ranking, 0 for unrelated rankings and -1 for a reversed ranking, of the methods that
    both tasks have.

    Parameters
    ----------
    scores : DataFrame
        A scores frame, see `read_scores`.
    over : str, default "task"
        The column whose values are compared, such as "task", "dataset" or "metric".
    by : str or list of str, optional
        Other columns whose combinations of values each have rankings of their own; by default those of
        `metric`, `dataset` and `model` that are present.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
        A unit that is drawn enters both rankings with all its scores.
    pairs : {"complete", "available"}
        Rank by the observations of which every method of the group has a defined score, or each method by all
        of its scores, see `rank_stability`.
    directions : mapping of str to {"larger", "smaller"}, optional
        Better scores, for metrics that the registry does not know.
    scheme : {"mean", "median", "mean-rank", "median-rank", "test"}
        Quantity that methods are ranked by, see `rank_stability`.
    level : float
        Confidence level.
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
        One row per group and pair of values, in sorted order:

        - the columns of `by`, the column `over`, and the other value in `other_` and the name of the column;
        - `term` ("tau"), `estimate`; `conf_low`, `conf_high`, `conf_level`, `interval` ("pairwise tests"):
          limits of the true tau, see Notes; NaN if a method has a single unit, and for other schemes than
          "mean";
        - `unit`; `n_units`, the smallest number of units of a method on either value; `n_undefined`
          replicates;
        - `n_methods` that both values have, `mean_tau` over the replicates, `share_positive`, the share of
          the replicates with a positive tau, `pairs`, `scheme`, `n_replicates`.

    Raises
    ------
    ColumnError, ValueRangeError
        Those of `rank_stability`; `over` has one value, or two values that have fewer than two methods in
        common.

    Warns
    -----
    SalstatsWarning
        There are fewer than 5 methods: with 3, tau is -1, -1/3, 1/3 or 1 without ties. Other warnings are
        those of `rank_stability`.

    Notes
    -----
    Drawing units again adds noise to both rankings, which moves the tau of replicates towards 0: `mean_tau`
    lies nearer to 0 than the estimate, and percentile limits would miss a true tau of 1 if methods are close.
    Limits are therefore made from the tests of `significance_map` (Holm, both rankings together at `level`).
    Two methods whose order is significant in both rankings count with their order; all others count as
    discordant in the lower limit and as concordant in the upper one; equal methods count 0 in the true tau.
    Limits are wide unless most differences are significant. Tasks and methods are fixed. Different data sets
    have no case in common, so that each draw has more units of one and fewer of the other.

    References
    ----------
    Kendall MG. The treatment of ties in ranking problems. Biometrika 33, 239-251 (1945).
    doi:10.1093/biomet/33.3.239

    Examples
    --------
    >>> import numpy as np, pandas as pd, salstats as ss
    >>> rng, tasks, methods = np.random.default_rng(1), ["Edema", "Mass"], list("abcde")
    >>> index = pd.MultiIndex.from_product([range(40), tasks, methods], names=["case", "task", "method"])
    >>> scores = index.to_frame(index=False).assign(metric="nss", score=rng.random(400))
    >>> scores["score"] += scores["method"].map(dict(zip(methods, range(5))))
    >>> agreement = ss.rank_agreement(scores, n_replicates=200)
    >>> agreement[["task", "other_task", "estimate", "n_methods"]]
        task other_task  estimate  n_methods
    0  Edema       Mass       1.0          5
    """
    check_columns(scores, [over], "scores")
    if over == "method":
        raise ColumnError(
            Setting("over", "method"), " is what is ranked", hint="name a column such as 'task'"
        )
    options = checked_options("rank", "percentile", level, n_replicates, rng, draws)
    ranking_options = RankingOptions(by, unit, pairs, directions, scheme, ties="average", last_group=over)
    rankings = values_to_rank_methods_by(scores, ranking_options, options)
    orders = None
    if scheme == "mean" and rankings.n_units.min() > 1:
        orders = _significant_order_signs_by_group(
            scores, rankings, unit, directions, level, n_replicates, options.rng
        )
    other_groups = [column for column in rankings.groups if column != over]
    codes, _ = index_groups(ColumnCodes(rankings.group_keys), other_groups)
    rows = []
    keys = []
    for first, second in combinations(range(len(codes)), 2):
        if codes[first] != codes[second]:
            continue
        first_name, second_name = rankings.group_keys[over].iloc[[first, second]].tolist()
        shared = _rows_of_methods_in_both_groups(rankings, first, second)
        n_methods = len(shared.names)
        if n_methods < 2:
            raise ColumnError(
                f"{over} {first_name!r} and {second_name!r} have {n_methods} methods in common, and a "
                "ranking needs two or more",
                hint="leave one out",
                column=over,
            )
        row: dict[str, float] = {"conf_low": np.nan, "conf_high": np.nan}
        if orders is not None:
            row |= _tau_limit_columns(rankings, shared, orders[first], orders[second])
        rows.append(_tau_with_mean_and_positive_share_of_draws(rankings, shared) | row)
        key = rankings.group_keys[other_groups].iloc[first].to_dict()
        keys.append({**key, over: first_name, f"other_{over}": second_name})
    if not rows:
        raise ColumnError(
            f"column {over!r} has one value in each group, and a ranking agrees with another one",
            option="over",
            value=over,
            column=over,
        )
    key_frame = pd.DataFrame(keys)
    table = pd.DataFrame(rows)
    fewest_methods = int(table["n_methods"].min())
    if fewest_methods < _FEW_METHODS:
        warn(
            f"tau between rankings of {fewest_methods} methods takes few values (",
            f"{fewest_methods * (fewest_methods - 1) // 2 + 1}",
            " without ties); read it beside the ranks themselves",
            column="method",
            value=fewest_methods,
        )
    warn_undefined(table["n_undefined"].to_numpy(), options.n_replicates, key_frame)
    columns = {
        "term": "tau",
        "conf_level": level,
        "interval": "pairwise tests",
        "unit": rankings.units.name,
        "estimate": table["estimate"].to_numpy(),
        "conf_low": table["conf_low"].to_numpy(),
        "conf_high": table["conf_high"].to_numpy(),
        "n_units": table["n_units"].to_numpy(),
        "n_undefined": table["n_undefined"].to_numpy(),
    }
    special = {
        "n_methods": table["n_methods"].to_numpy(),
        "mean_tau": table["mean_tau"].to_numpy(),
        "share_positive": table["share_positive"].to_numpy(),
        "pairs": pairs,
        "scheme": scheme,
    }
    return estimates_frame(key_frame, columns, special | options.n_replicates_column_if_any())


class _SharedMethods(NamedTuple):
    """Methods that two groups have in common."""

    names: np.ndarray
    #: (n_methods,): Rows of the rankings of the first and of the second group.
    first_rows: NDArray[np.integer]
    second_rows: NDArray[np.integer]
    #: Units of the group that has fewer.
    n_units: int


def _rows_of_methods_in_both_groups(
    rankings: ValuesToRank, first_group: int, second_group: int
) -> _SharedMethods:
    """Return the methods that two groups have in common, sorted by name."""
    methods = _method_names_of_rows(rankings)
    first_rows = rankings.rows_of(first_group)
    second_rows = rankings.rows_of(second_group)
    names, in_first, in_second = np.intersect1d(
        methods[first_rows], methods[second_rows], return_indices=True
    )
    n_units = min(int(rankings.n_units[first_rows].min()), int(rankings.n_units[second_rows].min()))
    return _SharedMethods(names, first_rows[in_first], second_rows[in_second], n_units)


def _method_names_of_rows(rankings: ValuesToRank) -> np.ndarray:
    """Return the name of the method of each row of the rankings."""
    return rankings.keys["method"].astype("object").to_numpy()


def _tau_with_mean_and_positive_share_of_draws(
    rankings: ValuesToRank, shared: _SharedMethods
) -> dict[str, float]:
    """Return columns of tau between the rankings of two groups, and of its distribution over the draws."""
    first_ranks, first_drawn = rankings.ranks_and_replicate_ranks(shared.first_rows)
    second_ranks, second_drawn = rankings.ranks_and_replicate_ranks(shared.second_rows)
    drawn_tau = kendall_tau(first_drawn, second_drawn)
    # A draw in which all methods are equal has no tau, and one that lacks a method has no ranking.
    defined_tau = drawn_tau[~np.isnan(drawn_tau)]
    mean_tau = np.nan
    share_positive = np.nan
    if shared.n_units > 1 and len(defined_tau) > 0:
        mean_tau = defined_tau.mean()
        share_positive = (defined_tau > 0).mean()
    return {
        "estimate": float(kendall_tau(first_ranks, second_ranks)),
        "n_units": shared.n_units,
        "n_undefined": len(drawn_tau) - len(defined_tau),
        "n_methods": len(shared.names),
        "mean_tau": mean_tau,
        "share_positive": share_positive,
    }


def _tau_limit_columns(
    rankings: ValuesToRank,
    shared: _SharedMethods,
    first_significant_order_signs: np.ndarray,
    second_significant_order_signs: np.ndarray,
) -> dict[str, float]:
    """Return the columns `conf_low` and `conf_high` of tau.

    `first_significant_order_signs` and `second_significant_order_signs` (n_methods, n_methods) are those of
    the two groups, as `_significant_order_signs_by_group` returns them, with all methods of the scores. Pairs
    of methods whose order is not significant in both groups may be concordant or discordant.
    """
    positions = np.searchsorted(np.unique(_method_names_of_rows(rankings)), shared.names)
    n_methods = len(shared.names)
    n_ordered_pairs = n_methods * (n_methods - 1)
    agreement = (first_significant_order_signs * second_significant_order_signs)[np.ix_(positions, positions)]
    n_undecided = n_ordered_pairs - np.abs(agreement).sum()
    return {
        "conf_low": (agreement.sum() - n_undecided) / n_ordered_pairs,
        "conf_high": (agreement.sum() + n_undecided) / n_ordered_pairs,
    }


def _significant_order_signs_by_group(
    scores: pd.DataFrame,
    rankings: ValuesToRank,
    unit: Unit,
    directions: Mapping[str, str] | None,
    level_of_two_groups: float,
    n_replicates: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the significant orders of methods, a matrix (n_methods, n_methods) for each group.

    An element is 1 where the method of the row is significantly better than that of the column, -1 where it
    is worse, else 0; methods are sorted by name. Each group has half of the error, so that all orders of two
    groups are right together at `level_of_two_groups`.
    """
    with warnings.catch_warnings():
        # `values_to_rank_methods_by` gave the same warnings.
        warnings.simplefilter("ignore", SalstatsWarning)
        tests = significance_map(
            scores,
            by=rankings.groups,
            unit=unit,
            directions=directions,
            level=(1 + level_of_two_groups) / 2,
            n_replicates=n_replicates,
            rng=rng,
        )
    names = np.unique(_method_names_of_rows(rankings))
    group_keys = rankings.group_keys.assign(group=range(len(rankings.group_keys)))
    groups = tests[rankings.groups].merge(group_keys)["group"]
    # References are text, also where methods are numbers.
    method_type = tests["method"].dtype
    methods = np.searchsorted(names, tests["method"].astype(method_type).astype("object"))
    references = np.searchsorted(names, tests["reference"].astype(method_type).astype("object"))
    is_better = np.zeros((len(group_keys), len(names), len(names)))
    is_better[groups, methods, references] = tests["better"]
    return is_better - is_better.transpose(0, 2, 1)
