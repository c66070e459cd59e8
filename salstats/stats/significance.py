"""Which method is significantly better than which: one-sided tests of every two, adjusted as one family."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from salstats.checks import ValueRangeError, check_columns, check_frame, check_level, quoted
from salstats.frames import coded_scores, combined_codes, estimates_frame
from salstats.stats.adjust import adjust_p_values, check_procedure
from salstats.stats.contrasts import difference
from salstats.stats.engine.advice import ROUNDING
from salstats.stats.engine.comparisons import ALL, Comparison, compare
from salstats.stats.engine.design import check_one_metric, metrics_of
from salstats.stats.engine.equivalence import is_below
from salstats.stats.engine.paired_tests import TESTS
from salstats.stats.engine.rank_schemes import signed_rank_test
from salstats.stats.engine.rankings import direction_of, ranking_groups
from salstats.stats.engine.shared_cases import bounds_call, mark_incomplete_pairs
from salstats.stats.engine.units import Unit, resolve_unit

#: Procedures whose claims are all right together at the level, however the tests hang together.
FAMILYWISE = ("holm", "bonferroni")


def significance_map(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    test: str | None = None,
    adjust: str = "holm",
    directions: Mapping[str, str] | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """One-sided tests of whether each method is better than each other one.

    Of every two methods the test is that of `difference(reference="all")`, on the cases that both have.

    Parameters
    ----------
    scores, unit, n_replicates, rng
        As for `summarize`.
    by : str or list of str, optional
        What has a map of its own, and is a family of tests; by default as for `rank_stability`.
    test : str, optional
        As for `difference`: by default its own; "wilcoxon" is challengeR's.
    adjust : str, default "holm"
        Procedure over all ordered pairs of a family, k (k - 1) of k methods, as in challengeR; see `adjust`.
    directions : mapping of str to {"larger", "smaller"}, optional
        What is better, for metrics that the registry does not know.
    level : float
        A method is better where its adjusted P value is below 1 - `level`.

    Returns
    -------
    DataFrame
        One row per group and ordered pair, sorted: `by`, `method`, `reference`; `term` ("difference"),
        `estimate` (method - reference); `p_value`, which is one-sided and small where the method is better,
        and `p_adjusted`; `conf_level`, `unit`; `n_pairs`, `better`, `larger_is_better`, `test`, `procedure`.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        As for `difference` and `rank_stability`; no test.

    Notes
    -----
    The one-sided P value is half of the two-sided one where the difference is in favour of the method, else 1
    less that half. "wilcoxon" is the signed-rank test of challengeR, R's wilcox.test(exact = FALSE), of each
    unit's mean difference: of differences that are symmetric about 0, not of their mean. As in R, 0.3 - 0.2
    and 0.2 - 0.1, which rounding tells apart, are no ties. Only adjusted P values below 1 - `level` count as
    better; challengeR lets those on the line count, too.

    References
    ----------
    Wiesenfarth M, Reinke A, Landman BA, et al. Methods and open-source toolkit for analyzing and
    visualizing challenge results. Scientific Reports 11 (2021). doi:10.1038/s41598-021-82017-6

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou'")
    >>> ss.significance_map(scores, test="t")[["method", "reference", "better"]].head(3)
        method  reference  better
    0  gradcam      human   False
    1  gradcam  occlusion    True
    2    human    gradcam    True
    """
    if test == "none":
        raise ValueRangeError(f"test='none' tests nothing; choose from {', '.join(TESTS[:-1])}")
    check_level(level)
    procedure, groups = check_procedure(adjust), ranking_groups(scores, by)
    if test == "wilcoxon":
        found = _signed_ranks(scores, groups, unit)
    else:
        found = difference(
            scores,
            reference=ALL,
            by=groups,
            unit=unit,
            level=level,
            n_replicates=n_replicates,
            rng=rng,
            test=test,
        )
        # a frame in which nothing is tested has no such column
        half, ahead = found.get("p_value", found["estimate"] * np.nan) / 2, found["estimate"] > 0
        found = found.assign(greater=half.where(ahead, 1 - half), less=half.where(~ahead, 1 - half))
    turned = found.assign(
        method=found["reference"].astype(found["method"].dtype),
        reference=found["method"].astype(found["reference"].dtype),
        estimate=-found["estimate"],
        greater=found["less"],
        less=found["greater"],
    )
    both = pd.concat([found, turned], ignore_index=True).sort_values([*groups, "method", "reference"])
    both = both.reset_index(drop=True)
    more = np.array([direction_of(metric, directions) > 0 for metric in metrics_of(both, scores)])
    p_value = np.where(more, both["greater"], both["less"])
    codes, adjusted = combined_codes(both, groups), np.empty(len(both))
    for code in np.unique(codes):
        adjusted[codes == code] = adjust_p_values(p_value[codes == code], procedure)
    table = {
        "term": "difference",
        "estimate": both["estimate"].to_numpy(),
        "p_value": p_value,
        "p_adjusted": adjusted,
        "conf_level": level,
        "unit": both["unit"].to_numpy(),
    }
    if "caution" in both.columns:
        table["caution"] = both["caution"].array
    special = {
        "n_pairs": both["n_pairs"].to_numpy(),
        "better": is_below(adjusted, 1 - level),
        "larger_is_better": more,
        "test": both["test"].to_numpy(),
        "procedure": procedure,
    }
    return estimates_frame(both[[*groups, "method", "reference"]], table, special)


def rank_limits(significance: pd.DataFrame) -> pd.DataFrame:
    """Confidence limits of the true rank of each method, from tests of every two.

    A method stands behind those that are significantly better, and before those that are significantly worse.
    With a procedure that controls the familywise error, such as Holm's, all limits hold jointly at the level
    of the map, also where methods are equally good: `rank_stability` only shows how a ranking moves.

    Parameters
    ----------
    significance : DataFrame
        From `significance_map`.

    Returns
    -------
    DataFrame
        One row per group and method, sorted: the grouping columns, `method`; `term` ("true_rank"),
        `estimate` (the rank by its mean difference from the others, ties sharing the average); `conf_low`,
        `conf_high`, `conf_level`, `interval` ("pairwise tests"), `unit`; `n_methods`, `n_better` and
        `n_worse` of the others, `test`, `procedure`.

    Raises
    ------
    ColumnError
        The frame is not from `significance_map`.
    ValueRangeError
        Its P values are not adjusted by "holm" or "bonferroni".

    References
    ----------
    Mogstad M, Romano JP, Shaikh AM, Wilhelm D. Inference for ranks with applications to mobility across
    neighbourhoods and academic achievement across countries. Review of Economic Studies 91 (2024).
    doi:10.1093/restud/rdad006

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou'")
    >>> ss.rank_limits(ss.significance_map(scores))[["method", "estimate", "conf_low", "conf_high"]]
          method  estimate  conf_low  conf_high
    0    gradcam       2.0         2          2
    1      human       1.0         1          1
    2  occlusion       3.0         3          3
    """
    frame = check_frame(significance, "significance")
    check_columns(
        frame,
        ["method", "reference", "estimate", "better", "procedure"],
        "significance",
        "significance_map() makes the frame",
    )
    procedure = str(frame["procedure"].iloc[0])
    if procedure not in FAMILYWISE:
        raise ValueRangeError(
            f"procedure={procedure!r} does not keep the error of all tests together, which limits of ranks "
            f"need; take one of {quoted(FAMILYWISE)} in significance_map(adjust=)"
        )
    groups = [c for c in frame.columns[: list(frame.columns).index("method")]]
    key = [*groups, "method"]
    sign = np.where(frame["larger_is_better"], 1.0, -1.0)
    ahead = frame.assign(ahead=sign * frame["estimate"]).groupby(key, observed=True, sort=True)
    first = ahead.first().reset_index()
    behind = frame.assign(method=frame["reference"].astype(frame["method"].dtype)).groupby(key, observed=True)
    n_worse, n_better = (by["better"].sum().to_numpy(np.int64) for by in (ahead, behind))
    n_methods = ahead.size().to_numpy() + 1
    mean = ahead["ahead"].mean()
    ranks = mean.groupby(level=list(range(len(groups))), observed=True) if groups else mean
    table = {
        "term": "true_rank",
        "estimate": ranks.rank(ascending=False).to_numpy(),
        "conf_low": 1 + n_better,
        "conf_high": n_methods - n_worse,
        "conf_level": first["conf_level"].to_numpy(),
        "interval": "pairwise tests",
        "unit": first["unit"].to_numpy(),
    }
    special = {"n_methods": n_methods, "n_better": n_better, "n_worse": n_worse}
    told = {name: first[name].to_numpy() for name in ("test", "procedure")}
    return estimates_frame(first[key], table, special | told)


def _signed_ranks(scores: pd.DataFrame, groups: list[str], unit: Unit) -> pd.DataFrame:
    """Signed-rank tests of both sides of every two methods, of the mean difference of each unit."""
    codes = coded_scores(scores)
    check_one_metric(codes, groups)
    units = resolve_unit(codes, unit)
    compared = compare("difference", codes, units, Comparison(ALL, groups, "complete", None, False))
    gap, rows = compared.own - compared.other, []
    for row in range(len(compared.n_pairs)):
        own = compared.groups == row
        counts = np.bincount(compared.units[own])
        means = (np.bincount(compared.units[own], gap[own]) / np.maximum(counts, 1))[counts > 0]
        means = np.where(np.abs(means) <= ROUNDING * np.abs(means).max(initial=0.0), 0.0, means)
        greater, less = signed_rank_test(means)(np.ones((1, len(means))))
        mean = gap[own].mean() if own.any() else np.nan
        rows.append({"estimate": mean, "greater": greater[0], "less": less[0]})
    keys = compared.target.keys.reset_index(drop=True)
    found = keys.join(pd.DataFrame(rows))
    found = found.assign(n_pairs=compared.n_pairs, unit=units.name, test="wilcoxon")
    return mark_incomplete_pairs(found, compared.one_sided, codes.frame, bounds_call(ALL))
