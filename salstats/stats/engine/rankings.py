"""Methods ranked group by group, and again with every draw of the units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, ValueRangeError, check_by, check_choice, check_draws, warn
from salstats.frames import ColumnCodes, coded_scores
from salstats.metrics.registry import direction
from salstats.stats.engine.advice import FEW_UNITS
from salstats.stats.engine.comparisons import ALWAYS, IF_GIVEN, PAIRS
from salstats.stats.engine.design import (
    group_label,
    group_list,
    index_groups,
    mean_of_rows_design,
    metrics_of,
)
from salstats.stats.engine.draws import weight_blocks
from salstats.stats.engine.estimands import Target, mean_target
from salstats.stats.engine.inference import Options, replicate
from salstats.stats.engine.rank_schemes import RECORDS, SCHEMES, TIES, Scheme, Scored, ranks_of, ranks_within
from salstats.stats.engine.shared_cases import mark_left_out_cases, mark_shared_cases
from salstats.stats.engine.units import Unit, Units, resolve_unit

#: What has a ranking of its own by default: those that are present.
RANKED_BY = ("metric", "dataset", "model")


@dataclass(frozen=True)
class Asked:
    """What methods are to be ranked by, and on what."""

    by: str | Sequence[str] | None
    unit: Unit
    pairs: str
    directions: Mapping[str, str] | None
    scheme: str
    ties: str
    also: str | None = None


@dataclass(frozen=True)
class Rankings:
    """What methods are ranked by, of all units and of each draw; rows are groups and methods, sorted."""

    #: Grouping columns, and these with `method` of each row.
    groups: list[str]
    keys: pd.DataFrame
    #: Group of each row, and the keys of the groups.
    group_codes: np.ndarray
    group_keys: pd.DataFrame
    units: Units
    #: Means of scores, with what they are of.
    target: Target
    n_units: np.ndarray
    #: (n_rows,): 1 where more of the metric is better; and of what is ranked.
    metric_signs: np.ndarray
    signs: np.ndarray
    #: (n_rows,) and (n_replicates, n_rows): what is ranked, NaN where a draw has no score.
    values: np.ndarray
    drawn: np.ndarray
    ties: str
    #: Columns `n_shared` and `caution` of the rows, where methods have scores of different cases.
    shared: dict[str, Any]

    def rows_of(self, group: int) -> np.ndarray:
        """Rows of a group."""
        return np.flatnonzero(self.group_codes == group)

    def ranks(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ranks of some methods, and in each draw; NaN in draws that leave one of them undefined."""
        signs, ranks = self.signs[rows], np.full((len(self.drawn), len(rows)), np.nan)
        defined = ~np.isnan(self.drawn[:, rows]).any(axis=1)
        if defined.any():
            ranks[defined] = ranks_of(self.drawn[defined][:, rows], signs, self.ties)
        return ranks_of(self.values[None, rows], signs, self.ties)[0], ranks


def rank_methods(scores: pd.DataFrame, asked: Asked, options: Options) -> Rankings:
    """Rank the methods of a scores frame, with a warning of groups that hang on few units."""
    codes = coded_scores(scores)
    groups = ranking_groups(scores, asked.by, asked.also)
    if "method" in groups:
        raise ColumnError("by has 'method', which is what is ranked; leave it out")
    check_choice(asked.pairs, PAIRS, "pairs")
    check_choice(asked.ties, TIES, "ties")
    scheme = RECORDS[check_choice(asked.scheme, SCHEMES, "scheme")]
    if scheme.paired and asked.pairs != "complete":
        raise ValueRangeError(
            f"scheme={scheme.name!r} compares methods on the same case, so that it needs pairs='complete'"
        )
    columns = [*groups, "method"]
    units = resolve_unit(codes, asked.unit)
    ranked, observations = codes, np.zeros(len(scores), dtype=np.int64)
    if asked.pairs == "complete":
        ranked, observations = _complete(codes, groups)
    design = mean_of_rows_design(ranked, columns, units)
    target = mean_target(design)
    cells, keys = target.cells, target.keys
    signs = np.array([direction_of(metric, asked.directions) for metric in metrics_of(keys, scores)])
    group_codes, group_keys = index_groups(ColumnCodes(keys), groups)
    means, n_units = cells.means(), (cells.counts > 0).sum(axis=0)
    for group in range(len(group_keys)):
        rows = group_codes == group
        if np.isnan(means[rows]).any():
            own = scores.loc[index_groups(codes, groups)[0] == group].groupby("method", observed=True)
            lacking = [str(m) for m, n in own["score"].count().items() if not n]
            raise ColumnError(_nothing_to_rank(lacking, int(rows.sum()), group_label(group_keys, group)))
    values = ranked.frame["score"].to_numpy(dtype=np.float64)
    scored = _scored(values, design.groups, units.codes, observations, group_codes, signs, 1 - options.level)
    if scheme.of_ranks:
        of_ranks = values.copy()
        for rows, data in scored:
            of_ranks[rows] = ranks_within(data, asked.ties)
        values = of_ranks
        scored = [(rows, data._replace(scores=values[rows])) for rows, data in scored]
    if scheme.kernel is None:
        of_value = target
        if scheme.of_ranks:
            with_ranks = ranked.with_scores(pd.Series(values, scores.index))
            of_value = mean_target(replace(design, codes=with_ranks))
        found, (drawn, _, _) = of_value.cells.means(), replicate(of_value.cells, of_value.estimand, options)
    else:
        found, drawn = _aggregated(scheme, [data for _, data in scored], units.n, options)
    if asked.pairs == "complete":
        remedy = "leave out that method to rank the others on more"
        marked = mark_left_out_cases(keys, codes, columns, remedy)
    else:
        remedy = "pairs='complete' ranks them on the cases that all have"
        marked = mark_shared_cases(keys, codes, columns, lambda: remedy)
    _warn_few(n_units, group_codes, group_keys, units.name)
    ranked_by = np.array([scheme.sign(int(sign)) for sign in signs])
    return Rankings(
        groups,
        keys,
        group_codes,
        group_keys,
        units,
        target,
        n_units,
        signs,
        ranked_by,
        found,
        drawn,
        asked.ties,
        {c: marked[c].array for c in ("n_shared", "caution") if c in marked.columns},
    )


def _scored(
    values: np.ndarray,
    cells: np.ndarray,
    units: np.ndarray,
    observations: np.ndarray,
    group_codes: np.ndarray,
    signs: np.ndarray,
    alpha: float,
) -> list[tuple[np.ndarray, Scored]]:
    """Rows with a score and what they hold, of each group; `cells` are the rows' groups and methods."""
    found, first = [], np.searchsorted(group_codes, np.arange(int(group_codes.max()) + 2))
    defined = ~np.isnan(values)
    for start, stop in pairwise(first):
        rows = np.flatnonzero(defined & (cells >= start) & (cells < stop))
        data = Scored(
            values[rows], cells[rows] - start, units[rows], observations[rows], int(stop - start),
            int(signs[start]), alpha,
        )  # fmt: skip
        found.append((rows, data))
    return found


def _aggregated(
    scheme: Scheme, groups: Sequence[Scored], n_units: int, options: Options
) -> tuple[np.ndarray, np.ndarray]:
    """What a scheme's kernel makes of all units, and of each draw."""
    assert scheme.kernel is not None
    kernels = [scheme.kernel(data) for data in groups]
    draws = None if options.draws is None else check_draws(options.draws, n_units)
    room = max(len(data.scores) for data in groups)
    drawn = np.empty((options.n_replicates, sum(data.n_methods for data in groups)))
    for rows, weights in weight_blocks(n_units, options.n_replicates, options.rng, draws, room):
        drawn[rows] = np.hstack([kernel(weights) for kernel in kernels])
    return np.hstack([kernel(np.ones((1, n_units)))[0] for kernel in kernels]), drawn


def ranking_groups(
    scores: pd.DataFrame, by: str | Sequence[str] | None, also: str | None = None
) -> list[str]:
    """What has a ranking of its own; a column that only some rows fill in gives none by default."""
    groups = [c for c in check_by(scores, by, RANKED_BY) if by is not None or scores[c].notna().any()]
    groups = [*(c for c in groups if c != also), *([] if also is None else [also])]
    for column in groups:
        if scores[column].isna().any():
            row = scores[scores[column].isna()].iloc[0]
            others = [c for c in groups if c != column]
            raise ColumnError(
                f"column {column!r} is empty for method {row['method']}, case {row['case']}, so that no "
                f"ranking of one {column} has it; leave these rows out, or rank over all with by={others}"
            )
    return groups


def _complete(codes: ColumnCodes, groups: Sequence[str]) -> tuple[ColumnCodes, np.ndarray]:
    """Scores with those undefined that some method of the group lacks, and what each is of."""
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
    return codes.with_scores(frame["score"].where(complete)), which


def direction_of(metric: str, directions: Mapping[str, str] | None) -> int:
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
