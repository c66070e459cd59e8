"""Do methods rank alike on other tasks, or other data sets? Kendall's tau between the rankings."""

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsWarning, check_columns, warn
from salstats.frames import ColumnCodes, estimates_frame
from salstats.stats.engine.advice import warn_undefined
from salstats.stats.engine.design import index_groups
from salstats.stats.engine.inference import check_options
from salstats.stats.engine.rank_schemes import kendall_tau
from salstats.stats.engine.rankings import Asked, Rankings, rank_methods
from salstats.stats.engine.units import Unit
from salstats.stats.significance import significance_map

#: Methods below which tau takes few values.
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

    1: the same ranking; 0: no relation; -1: one is the other turned round. Methods are those that both have.

    Parameters
    ----------
    scores, unit, pairs, directions, scheme, level, n_replicates, rng, draws
        As for `rank_stability`. A unit that is drawn brings along its scores of both.
    over : str, default "task"
        The column whose values are compared, such as "task", "dataset" or "metric".
    by : str or list of str, optional
        What has rankings of its own besides; by default those of `metric, dataset, model` that are present.

    Returns
    -------
    DataFrame
        One row per group and pair of values, in sorted order:

        - `by`, the column `over` and `other_` with its name;
        - `term` ("tau"), `estimate`; `conf_low`, `conf_high`, `conf_level`, `interval` ("pairwise tests"):
          limits of the true tau, see Notes; NaN for a single unit, and of other schemes than "mean";
        - `unit`, `n_units` that have scores of either, `n_undefined` replicates;
        - `n_methods` that both have, `mean_tau` over the replicates, `share_positive` of them, `pairs`,
          `scheme`, `n_replicates`.

    Raises
    ------
    ColumnError, ValueRangeError
        As for `rank_stability`; `over` has one value, or two without two methods in common.

    Warns
    -----
    SalstatsWarning
        Fewer than 5 methods: of 3, tau is -1, -1/3, 1/3 or 1 without ties. And as for `rank_stability`.

    Notes
    -----
    Drawing cases again adds noise to both rankings, which takes tau of replicates towards 0: `mean_tau` lies
    nearer 0 than the estimate, and percentiles would miss a true tau of 1 where methods are close. Limits are
    therefore made of the tests of `significance_map` (Holm, both rankings together at `level`): two methods
    whose order is significant in both rankings count as they stand, all others at their worst and at their
    best, true ties as 0. They are wide unless most differences are significant. Other tasks or methods are
    not drawn. Data sets share no case, so that each draw holds more of one and fewer of the other.

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
    >>> found = ss.rank_agreement(scores, n_replicates=200)
    >>> found[["task", "other_task", "estimate", "n_methods"]]
        task other_task  estimate  n_methods
    0  Edema       Mass       1.0          5
    """
    check_columns(scores, [over], "scores")
    if over == "method":
        raise ColumnError("over='method' is what is ranked; name a column such as 'task'")
    options = check_options("rank", "percentile", level, n_replicates, rng, draws)
    found = rank_methods(scores, Asked(by, unit, pairs, directions, scheme, "average", over), options)
    ahead = None
    if scheme == "mean" and found.n_units.min() > 1:
        ahead = _sure_orders(scores, found, unit, directions, level, n_replicates, options.rng)
    rest = [c for c in found.groups if c != over]
    codes, _ = index_groups(ColumnCodes(found.group_keys), rest)
    methods = found.keys["method"].astype("object").to_numpy()
    rows, keys, few = [], [], set()
    for one, other in combinations(range(len(codes)), 2):
        if codes[one] != codes[other]:
            continue
        common, own, others = np.intersect1d(
            *(methods[found.rows_of(group)] for group in (one, other)), return_indices=True
        )
        names = found.group_keys[over].iloc[[one, other]].tolist()
        if len(common) < 2:
            raise ColumnError(
                f"{over} {names[0]!r} and {names[1]!r} have {len(common)} methods in common, and a "
                "ranking is of two or more; leave one out"
            )
        (first, moved), (second, moved_too) = (
            found.ranks(found.rows_of(group)[which]) for group, which in ((one, own), (other, others))
        )
        tau = kendall_tau(moved, moved_too)
        # a draw in which all methods are equal has no tau; one with a method less has no ranking
        drawn, n_units = tau[~np.isnan(tau)], int(found.n_units[found.rows_of(one)].min())
        n_units = min(n_units, int(found.n_units[found.rows_of(other)].min()))
        known = n_units > 1 and len(drawn) > 0
        low, high = np.nan, np.nan
        if ahead is not None:
            places, n_pairs = np.searchsorted(np.unique(methods), common), len(common) * (len(common) - 1)
            both = (ahead[one] * ahead[other])[np.ix_(places, places)]
            unsure = n_pairs - np.abs(both).sum()
            low, high = (both.sum() - unsure) / n_pairs, (both.sum() + unsure) / n_pairs
        rows.append(
            {
                "estimate": float(kendall_tau(first, second)),
                "conf_low": low,
                "conf_high": high,
                "n_units": n_units,
                "n_undefined": len(tau) - len(drawn),
                "n_methods": len(common),
                "mean_tau": drawn.mean() if known else np.nan,
                "share_positive": (drawn > 0).mean() if known else np.nan,
            }
        )
        keys.append({**found.group_keys[rest].iloc[one].to_dict(), over: names[0], f"other_{over}": names[1]})
        few.add(len(common))
    if not rows:
        raise ColumnError(
            f"column {over!r} has one value in each group, and a ranking agrees with another one"
        )
    if min(few) < _FEW_METHODS:
        warn(
            f"tau between rankings of {min(few)} methods takes few values "
            f"({min(few) * (min(few) - 1) // 2 + 1} without ties); read it beside the ranks themselves"
        )
    key_frame, table = pd.DataFrame(keys), pd.DataFrame(rows)
    warn_undefined(table["n_undefined"].to_numpy(), options.n_replicates, key_frame)
    special = {
        "n_methods": table.pop("n_methods").to_numpy(),
        "mean_tau": table.pop("mean_tau").to_numpy(),
        "share_positive": table.pop("share_positive").to_numpy(),
        "pairs": pairs,
        "scheme": scheme,
    }
    columns = {name: table[name].to_numpy() for name in table.columns}
    said = {"term": "tau", "conf_level": level, "interval": "pairwise tests", "unit": found.units.name}
    return estimates_frame(key_frame, {**said, **columns}, special | options.columns())


def _sure_orders(
    scores: pd.DataFrame,
    found: Rankings,
    unit: Unit,
    directions: Mapping[str, str] | None,
    level: float,
    n_replicates: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Which methods are significantly better than others in each group, (n_groups, n_methods, n_methods).

    1 where the method of the row is better than that of the column, -1 where it is worse, else 0, methods
    sorted. Each group has half of the error, so that the claims of every two are right together at `level`.
    """
    with warnings.catch_warnings():
        # the ranking told of what these would tell again
        warnings.simplefilter("ignore", SalstatsWarning)
        tests = significance_map(
            scores,
            by=found.groups,
            unit=unit,
            directions=directions,
            level=(1 + level) / 2,
            n_replicates=n_replicates,
            rng=rng,
        )
    names = np.unique(found.keys["method"].astype("object").to_numpy())
    group = tests[found.groups].merge(found.group_keys.assign(group=range(len(found.group_keys))))["group"]
    # references are text, also where methods are numbers
    sides = (tests[c].astype(tests["method"].dtype).astype("object") for c in ("method", "reference"))
    own, other = (np.searchsorted(names, side) for side in sides)
    ahead = np.zeros((len(found.group_keys), len(names), len(names)))
    ahead[group, own, other] = tests["better"]
    return ahead - ahead.transpose(0, 2, 1)
