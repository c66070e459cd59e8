"""Rankings of methods within groups, from all units and from each draw of the units."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_by, check_choice, check_draw_indices, did_you_mean, quoted
from salstats.errors import ColumnError, Message, Setting, ValueRangeError, warn
from salstats.frames import ColumnCodes, coded_scores
from salstats.metrics.registry import direction
from salstats.stats.engine.comparisons import KEY_COLUMNS_OF_PAIRS, OPTIONAL_KEY_COLUMNS, PAIRS
from salstats.stats.engine.draws import weight_blocks
from salstats.stats.engine.estimands import Target, mean_target
from salstats.stats.engine.grouping import (
    group_label,
    group_rows_for_means,
    index_groups,
    joined_group_labels,
    metric_of_each_key,
)
from salstats.stats.engine.inference_options import Options
from salstats.stats.engine.rank_schemes import (
    RECORDS,
    SCHEMES,
    TIES,
    GroupScores,
    Scheme,
    ranks_of,
    row_ranks_within_observations,
)
from salstats.stats.engine.replicates import replicate
from salstats.stats.engine.resampling_units import Unit, Units, resolve_unit
from salstats.stats.engine.result_warnings import MIN_RESAMPLED_UNITS
from salstats.stats.engine.shared_cases import (
    add_n_shared_by_methods_and_cautions,
    warn_and_add_caution_of_left_out_cases,
)

#: Default grouping columns of rankings: those of them that are present.
RANKED_BY = ("metric", "dataset", "model")


@dataclass(frozen=True)
class RankingOptions:
    """Options of a ranking, as the user gives them."""

    by: str | Sequence[str] | None
    unit: Unit
    pairs: str
    directions: Mapping[str, str] | None
    scheme: str
    ties: str
    #: One more grouping column, after those of `by`.
    last_group: str | None = None


class MethodRanks(NamedTuple):
    """Ranks of the methods of some rows among each other."""

    #: (n_rows,): Ranks from all units.
    ranks: np.ndarray
    #: (n_replicates, n_rows): Ranks in each draw, NaN in draws in which a value is undefined.
    drawn_ranks: np.ndarray


@dataclass(frozen=True)
class ValuesToRank:
    """Values by which methods are ranked, from all units and from each draw.

    A row is a method of a group. Rows are sorted; arrays have the shape (n_rows,) unless another is given.
    """

    #: Grouping columns.
    groups: list[str]
    #: Grouping columns and `method` of each row.
    keys: pd.DataFrame
    #: Code of each row's group.
    group_codes: NDArray[np.integer]
    #: Grouping columns of each group.
    group_keys: pd.DataFrame
    units: Units
    #: Mean scores.
    target: Target
    n_units: np.ndarray
    #: 1 where larger scores are better, else -1.
    metric_signs: np.ndarray
    #: 1 where larger values rank first, else -1.
    signs: np.ndarray
    #: Values that are ranked.
    values: np.ndarray
    #: (n_replicates, n_rows): Values of each draw, NaN where it has no score.
    drawn_values: np.ndarray
    ties: str
    #: Columns `n_shared` and `caution`, where methods have scores of different cases.
    n_shared_and_cautions: dict[str, Any]

    def rows_of(self, group: int) -> NDArray[np.integer]:
        """Return the rows of a group."""
        return np.flatnonzero(self.group_codes == group)

    def ranks_and_replicate_ranks(self, method_rows: NDArray[np.integer]) -> MethodRanks:
        """Rank the methods of some rows among each other, by their values and by those of each draw."""
        signs = self.signs[method_rows]
        ranks = ranks_of(self.values[None, method_rows], signs, self.ties)[0]
        drawn_values = self.drawn_values[:, method_rows]
        drawn_ranks = np.full(drawn_values.shape, np.nan)
        is_defined = ~np.isnan(drawn_values).any(axis=1)
        if is_defined.any():
            drawn_ranks[is_defined] = ranks_of(drawn_values[is_defined], signs, self.ties)
        return MethodRanks(ranks, drawn_ranks)


def values_to_rank_methods_by(
    scores: pd.DataFrame, ranking_options: RankingOptions, options: Options
) -> ValuesToRank:
    """Compute the values that methods of a scores frame are ranked by; warn of groups with few units."""
    codes = coded_scores(scores)
    groups = ranking_group_columns(scores, ranking_options.by, ranking_options.last_group)
    scheme = _checked_scheme(ranking_options)
    columns = [*groups, "method"]
    units = resolve_unit(codes, ranking_options.unit)
    ranked = codes
    observations: NDArray[np.integer] = np.zeros(len(scores), dtype=np.int64)
    if ranking_options.pairs == "complete":
        ranked, observations = _scores_nan_unless_complete_and_observation_codes(codes, groups)

    grouped_rows = group_rows_for_means(ranked, columns, units)
    target = mean_target(grouped_rows)
    keys = target.keys
    check_directions_name_metrics(ranking_options.directions, scores["metric"].unique())
    metric_signs = np.array(
        [direction_sign(metric, ranking_options.directions) for metric in metric_of_each_key(keys, scores)]
    )
    group_codes, group_keys = index_groups(ColumnCodes(keys), groups)
    _check_every_method_has_a_mean(target, codes, groups, group_codes, group_keys)

    values = ranked.frame["score"].to_numpy(dtype=np.float64)
    group_scores = _split_unsigned_scores_by_group(
        values,
        method_positions=grouped_rows.groups,
        units=units.codes,
        observations=observations,
        group_codes=group_codes,
        signs=metric_signs,
        alpha=1 - options.level,
    )
    if scheme.of_ranks:
        values = values.copy()
        for group in group_scores:
            values[group.rows] = row_ranks_within_observations(group, ranking_options.ties)
        group_scores = [group._replace(scores=values[group.rows]) for group in group_scores]
    if scheme.kernel is None:
        ranked_target = target
        if scheme.of_ranks:
            rank_codes = ranked.with_scores(pd.Series(values, scores.index))
            ranked_target = mean_target(replace(grouped_rows, codes=rank_codes))
        ranked_values = ranked_target.cells.means()
        drawn_values = replicate(ranked_target.cells, ranked_target.estimand, options).estimates
    else:
        ranked_values, drawn_values = _values_to_rank(scheme, group_scores, units.n, options)

    if ranking_options.pairs == "complete":
        remedy = Message("leave out that method to rank the others on more")
        marked = warn_and_add_caution_of_left_out_cases(keys, codes, columns, remedy)
    else:
        remedy = Message(Setting("pairs", "complete"), " ranks them on the cases that all have")
        marked = add_n_shared_by_methods_and_cautions(keys, codes, columns, lambda: remedy)
    n_units = (target.cells.counts > 0).sum(axis=0)
    _warn_of_few_units(n_units, group_codes, group_keys, units.name)
    return ValuesToRank(
        groups=groups,
        keys=keys,
        group_codes=group_codes,
        group_keys=group_keys,
        units=units,
        target=target,
        n_units=n_units,
        metric_signs=metric_signs,
        signs=np.array([scheme.ranking_sign(int(sign)) for sign in metric_signs]),
        values=ranked_values,
        drawn_values=drawn_values,
        ties=ranking_options.ties,
        n_shared_and_cautions={c: marked[c].array for c in ("n_shared", "caution") if c in marked.columns},
    )


def _checked_scheme(ranking_options: RankingOptions) -> Scheme:
    """Check the options of a ranking, and return its scheme."""
    check_choice(ranking_options.pairs, PAIRS, "pairs")
    check_choice(ranking_options.ties, TIES, "ties")
    scheme = RECORDS[check_choice(ranking_options.scheme, SCHEMES, "scheme")]
    if scheme.paired and ranking_options.pairs != "complete":
        raise ValueRangeError(
            Setting("scheme", scheme.name),
            " compares methods on the same case, so that it needs ",
            Setting("pairs", "complete"),
        )
    return scheme


def _check_every_method_has_a_mean(
    target: Target,
    codes: ColumnCodes,
    groups: Sequence[str],
    group_codes: NDArray[np.integer],
    group_keys: pd.DataFrame,
) -> None:
    """Raise ColumnError if a method of a group has no mean score."""
    undefined = np.isnan(target.cells.means())
    for group in range(len(group_keys)):
        rows = group_codes == group
        if not undefined[rows].any():
            continue
        is_of_group = index_groups(codes, groups)[0] == group
        scores_of_group = codes.frame.loc[is_of_group]
        n_scores = scores_of_group.groupby("method", observed=True)["score"].count()
        without_scores = [str(method) for method, n in n_scores.items() if not n]
        group_prefix = Message(group_label(group_keys, group), ": ") if len(group_keys.columns) else Message()
        rows_of_scores = np.flatnonzero(is_of_group).tolist()
        raise _cannot_rank_error(without_scores, int(rows.sum()), group_prefix, rows_of_scores)


def _split_unsigned_scores_by_group(
    values: np.ndarray,
    *,
    method_positions: NDArray[np.integer],
    units: NDArray[np.integer],
    observations: NDArray[np.integer],
    group_codes: NDArray[np.integer],
    signs: np.ndarray,
    alpha: float,
) -> list[GroupScores]:
    """Return the defined scores of each group.

    `group_codes`, ascending, and `signs` have an element for each method of each group; the other arrays have
    one for each score, and `method_positions` is the position of its method among those elements.
    """
    n_groups = int(group_codes.max()) + 1
    first_positions = np.searchsorted(group_codes, np.arange(n_groups + 1))
    is_defined = ~np.isnan(values)
    groups = []
    for start, stop in pairwise(first_positions):
        rows = np.flatnonzero(is_defined & (method_positions >= start) & (method_positions < stop))
        group = GroupScores(
            rows=rows,
            scores=values[rows],
            methods=method_positions[rows] - start,
            units=units[rows],
            observations=observations[rows],
            n_methods=int(stop - start),
            sign=int(signs[start]),
            alpha=alpha,
        )
        groups.append(group)
    return groups


class _RankedValues(NamedTuple):
    """Values by which methods are ranked."""

    #: (n_rows,): Values from all units.
    values: np.ndarray
    #: (n_replicates, n_rows): Values of each draw.
    drawn_values: np.ndarray


def _values_to_rank(
    scheme: Scheme, groups: Sequence[GroupScores], n_units: int, options: Options
) -> _RankedValues:
    """Compute the values by which a scheme ranks methods, from all units and from each draw of the units."""
    assert scheme.kernel is not None
    kernels = [scheme.kernel(group) for group in groups]
    draws = None
    if options.draws is not None:
        draws = check_draw_indices(options.draws, n_units)
    most_scores = max(len(group.scores) for group in groups)
    drawn_values = np.empty((options.n_replicates, sum(group.n_methods for group in groups)))
    for rows, weights in weight_blocks(n_units, options.n_replicates, options.rng, draws, most_scores):
        drawn_values[rows] = np.hstack([kernel(weights) for kernel in kernels])
    all_units = np.ones((1, n_units))
    values = np.hstack([kernel(all_units)[0] for kernel in kernels])
    return _RankedValues(values, drawn_values)


def ranking_group_columns(
    scores: pd.DataFrame, by: str | Sequence[str] | None, last_group: str | None = None
) -> list[str]:
    """Return the grouping columns of rankings, `last_group` after the others.

    By default a column that is empty in all rows is left out; one that is empty in some rows is an error.
    """
    groups = check_by(scores, by, RANKED_BY)
    if "method" in groups:
        raise ColumnError(
            Setting("by"), " has 'method', which is what is ranked", hint="leave it out", column="method"
        )
    if by is None:
        groups = [column for column in groups if scores[column].notna().any()]
    if last_group is not None:
        groups = [*(column for column in groups if column != last_group), last_group]
    for column in groups:
        if scores[column].isna().any():
            row = scores[scores[column].isna()].iloc[0]
            remaining = [name for name in groups if name != column]
            raise ColumnError(
                f"column {column!r} is empty for method {row['method']}, case {row['case']}, so the row "
                f"belongs to no {column} that is ranked",
                hint=Message("leave these rows out, or rank over all with ", Setting("by", remaining)),
                column=column,
                rows=np.flatnonzero(scores[column].isna()).tolist(),
            )
    return groups


class _MaskedScores(NamedTuple):
    """Scores without those of incomplete observations."""

    #: The scores, all rows, coded; NaN in rows of incomplete observations.
    codes: ColumnCodes
    #: (n_rows,): Observation of each row, as a code.
    observations: NDArray[np.integer]


def _scores_nan_unless_complete_and_observation_codes(
    codes: ColumnCodes, groups: Sequence[str]
) -> _MaskedScores:
    """Set scores to NaN on observations for which some method of the group has no defined score.

    An observation is a case, task and so on of a group; a reader, model or seed tells observations apart
    only in groups whose methods all have that column filled.
    """
    frame = codes.frame
    group_of_row, _ = index_groups(codes, groups)
    methods = codes.column("method")
    n_methods = methods.n_codes
    method_of_row = group_of_row * n_methods + methods.codes
    group_methods = np.unique(method_of_row)
    group_of_method = group_methods // n_methods

    key = dict.fromkeys(column for column in (*KEY_COLUMNS_OF_PAIRS, *groups) if column in frame.columns)
    observations = codes.combined(list(key))
    for column in OPTIONAL_KEY_COLUMNS:
        if column not in frame.columns or column in groups:
            continue
        method_positions = np.searchsorted(group_methods, method_of_row)
        is_filled = np.bincount(method_positions, frame[column].notna(), len(group_methods)) > 0
        has_unfilled_method = np.bincount(group_of_method, ~is_filled) > 0
        values = codes.column(column)
        # The code after the last value stands for any value.
        value_codes = np.where(has_unfilled_method[group_of_row], values.n_codes, values.codes)
        observations = observations * (values.n_codes + 1) + value_codes
        observations = np.unique(observations, return_inverse=True)[1]

    is_defined = frame["score"].notna().to_numpy()
    # Pairs of observation and method, as a method may have several scores of an observation, such as of seeds
    # that other methods lack.
    scored_pairs = np.unique(observations[is_defined] * n_methods + methods.codes[is_defined])
    n_scored = np.bincount(scored_pairs // n_methods, minlength=int(observations.max()) + 1)
    n_of_group = np.bincount(group_of_method)
    is_complete = n_scored[observations] == n_of_group[group_of_row]
    return _MaskedScores(codes.with_scores(frame["score"].where(is_complete)), observations)


def check_directions_name_metrics(directions: Mapping[str, str] | None, metrics: Iterable[object]) -> None:
    """Raise ValueRangeError where `directions` name a metric that is not among `metrics`."""
    choices = sorted({str(metric) for metric in metrics})
    for metric in directions or {}:
        if metric not in choices:
            raise ValueRangeError(
                Setting("directions"),
                f" names metric {metric!r}, which has no scores{did_you_mean(metric, choices)} "
                f"(metrics: {quoted(choices)})",
                value=metric,
                choices=choices,
            )


def direction_sign(metric: str, directions: Mapping[str, str] | None) -> int:
    """Return 1 if larger scores of a metric are better, -1 if smaller ones are.

    `directions` are the user's, "larger" or "smaller", which take precedence over the metric's own.
    """
    choice = (directions or {}).get(metric)
    if choice is not None:
        check_choice(choice, ("larger", "smaller"), f"directions[{metric!r}]")
        return 1 if choice == "larger" else -1
    sign = direction(metric)
    if not sign:
        raise ValueRangeError(
            f"metric {metric!r} is not known, so it is unclear whether larger scores are better",
            hint=Message("pass ", Setting("directions", {metric: "larger"}), " or 'smaller'"),
            option="directions",
            column="metric",
            value=metric,
        )
    return sign


def _warn_of_few_units(
    n_units: np.ndarray, group_codes: NDArray[np.integer], keys: pd.DataFrame, unit: str
) -> None:
    """Warn of groups in which a method has few units."""
    smallest = [int(n_units[group_codes == group].min()) for group in range(len(keys))]
    few = [group for group in range(len(keys)) if smallest[group] < MIN_RESAMPLED_UNITS]
    if few:
        labels = [group_label(keys, group) for group in few]
        warn(
            f"rankings rest on few units (column {unit!r}; {min(smallest)} at the least) for ",
            joined_group_labels(labels),
            f"; resampling fewer than {MIN_RESAMPLED_UNITS} makes a ranking look more stable than it is",
            column=unit,
            value=min(smallest),
            rows=few,
        )


def _cannot_rank_error(
    methods_without_scores: Sequence[str], n_methods: int, group_prefix: Message, rows: Sequence[int]
) -> ColumnError:
    """Return the error for a group of scores, in some `rows`, that cannot be ranked.

    If there are no `methods_without_scores`, no observation has scores of all `n_methods` methods.
    """
    if methods_without_scores:
        return ColumnError(
            group_prefix,
            joined_group_labels(methods_without_scores),
            " has no defined score and so no rank",
            hint="leave it out",
            column="score",
            value=methods_without_scores,
            rows=rows,
        )
    return ColumnError(
        group_prefix,
        f"there is no observation on which all {n_methods} methods have a defined score",
        hint=Message(
            "leave out a method, or rank by each method's own scores with ", Setting("pairs", "available")
        ),
        column="score",
        rows=rows,
    )
