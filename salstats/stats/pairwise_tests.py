"""One-sided tests of whether methods are better than each other, adjusted as one family, and rank limits."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from salstats.checks import check_columns, check_frame, check_level
from salstats.errors import Call, Message, Setting, ValueRangeError
from salstats.frames import as_booleans, coded_scores, combined_codes, estimates_frame
from salstats.stats.adjust import adjust_p_values, checked_procedure
from salstats.stats.contrasts import difference
from salstats.stats.engine.comparisons import ALL_PAIRS, ComparisonOptions, paired_target_of_scores
from salstats.stats.engine.equivalence import is_strictly_below
from salstats.stats.engine.grouping import check_one_metric, metric_of_each_key
from salstats.stats.engine.paired_tests import TESTS
from salstats.stats.engine.rank_schemes import make_signed_rank_test
from salstats.stats.engine.rankings import (
    check_directions_name_metrics,
    direction_sign,
    ranking_group_columns,
)
from salstats.stats.engine.resampling_units import Unit, resolve_unit
from salstats.stats.engine.result_warnings import ROUNDING
from salstats.stats.engine.shared_cases import (
    advice_to_bound_missing_scores,
    warn_and_add_caution_of_incomplete_pairs,
)

#: Choices of the option `test`.
_TESTS = tuple(name for name in TESTS if name != "none")
#: Procedures that control the family-wise error rate under any dependence of the tests.
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

    The test of two methods is that of `difference(reference="all")`, on the cases that both have.

    Parameters
    ----------
    scores : DataFrame
        A scores frame, see `read_scores`.
    by : str or list of str, optional
        Columns whose combinations of values each have a map of their own, which is a family of tests; by
        default those of `metric`, `dataset` and `model` that are present.
    unit : str or list of str, optional
        Columns that name the independent units; by default patients or else cases, see `summarize`.
    test : {"bootstrap", "t", "cr2", "wilcoxon", "mcnemar", "signflip", "wild", "score"}, optional
        Test of `difference`, by default its default; "wilcoxon" is the test of challengeR.
    adjust : str, default "holm"
        Procedure of `adjust` that adjusts the P values of all ordered pairs of a family, k (k - 1) with k
        methods, as challengeR does.
    directions : mapping of str to {"larger", "smaller"}, optional
        Better scores, for metrics that the registry does not know.
    level : float
        A method is better if its adjusted P value is below 1 - `level`.
    n_replicates : int
        Number of bootstrap replicates, or of sign flips.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.

    Returns
    -------
    DataFrame
        One row per group and ordered pair of methods, sorted: the columns of `by`, `method`, `reference`;
        `term` ("difference"), `estimate` (method - reference); `p_value`, which is one-sided and small if the
        method is better, and `p_adjusted`; `conf_level`, `unit`; `caution`, if many pairs are incomplete;
        `n_pairs`, `better`, `larger_is_better`, `test`, `procedure`.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        A column or an option is invalid; there is only one method; the direction of a metric is not known;
        `test` is "none".

    Notes
    -----
    The one-sided P value is half the two-sided one if the difference favours the method, else 1 less that
    half. "wilcoxon" is the signed-rank test of challengeR, R's wilcox.test(exact = FALSE), of the units' mean
    differences: its hypothesis is that differences are symmetric about 0, not that their mean is 0. As in R,
    0.3 - 0.2 and 0.2 - 0.1, which differ by rounding, are not ties. Only adjusted P values below 1 - `level`
    count as better; challengeR also counts those equal to it.

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
        raise ValueRangeError(
            Setting("test", "none"),
            " tests nothing",
            hint=f"choose from {', '.join(_TESTS)}",
            choices=_TESTS,
        )
    check_level(level)
    procedure = checked_procedure(adjust)
    groups = ranking_group_columns(scores, by)
    # `greater` and `less` are one-sided P values: of the method scoring above the reference, and below it.
    if test == "wilcoxon":
        tests = _both_one_sided_tests_per_pair(scores, groups, unit)
    else:
        tests = difference(
            scores,
            reference=ALL_PAIRS,
            by=groups,
            unit=unit,
            level=level,
            n_replicates=n_replicates,
            rng=rng,
            test=test,
        )
        # A frame in which nothing is tested has no column `p_value`.
        half = tests.get("p_value", tests["estimate"] * np.nan) / 2
        is_positive = tests["estimate"] > 0
        tests = tests.assign(
            greater=half.where(is_positive, 1 - half), less=half.where(~is_positive, 1 - half)
        )
    swapped = tests.assign(
        method=tests["reference"].astype(tests["method"].dtype),
        reference=tests["method"].astype(tests["reference"].dtype),
        estimate=-tests["estimate"],
        greater=tests["less"],
        less=tests["greater"],
    )
    tests = pd.concat([tests, swapped], ignore_index=True)
    tests = tests.sort_values([*groups, "method", "reference"]).reset_index(drop=True)
    check_directions_name_metrics(directions, scores["metric"].unique())
    larger_is_better = np.array(
        [direction_sign(metric, directions) > 0 for metric in metric_of_each_key(tests, scores)]
    )
    p_value = np.where(larger_is_better, tests["greater"], tests["less"])
    group_codes = combined_codes(tests, groups)
    p_adjusted = np.empty(len(tests))
    for code in np.unique(group_codes):
        family = group_codes == code
        p_adjusted[family] = adjust_p_values(p_value[family], procedure)
    table = {
        "term": "difference",
        "estimate": tests["estimate"].to_numpy(),
        "p_value": p_value,
        "p_adjusted": p_adjusted,
        "conf_level": level,
        "unit": tests["unit"].to_numpy(),
    }
    if "caution" in tests.columns:
        table["caution"] = tests["caution"].array
    special = {
        "n_pairs": tests["n_pairs"].to_numpy(),
        "better": is_strictly_below(p_adjusted, 1 - level),
        "larger_is_better": larger_is_better,
        "test": tests["test"].to_numpy(),
        "procedure": procedure,
    }
    return estimates_frame(tests[[*groups, "method", "reference"]], table, special)


def rank_limits(significance: pd.DataFrame) -> pd.DataFrame:
    """Confidence limits of the true rank of each method, from tests of every pair of methods.

    A method ranks behind those that are significantly better, and before those that are significantly worse.
    With a procedure that controls the familywise error, such as Holm's, all limits hold jointly at the
    confidence level of `significance`, even if methods are equally good; `rank_stability` only shows how much
    a ranking varies.

    Parameters
    ----------
    significance : DataFrame
        The frame of `significance_map`.

    Returns
    -------
    DataFrame
        One row per group and method, sorted: the grouping columns, `method`; `term` ("true_rank"),
        `estimate` (the rank by its mean difference from the others, ties sharing the average); `conf_low`,
        `conf_high`, `conf_level`, `interval` ("pairwise tests"), `unit`; `n_methods`, `n_better` and
        `n_worse` (numbers of other methods that are significantly better and worse), `test`, `procedure`.

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
        ["method", "reference", "estimate", "better", "larger_is_better", "procedure"],
        "significance",
        "significance_map() makes the frame",
    )
    procedure = str(frame["procedure"].iloc[0])
    if procedure not in FAMILYWISE:
        raise ValueRangeError(
            f"procedure {procedure!r} does not control the familywise error, as limits of ranks require",
            hint=Message(
                "take ", Call("significance_map", ("scores",), {"adjust": "holm"}), " or 'bonferroni'"
            ),
            choices=FAMILYWISE,
            column="procedure",
        )
    groups = list(frame.columns[: list(frame.columns).index("method")])
    key_columns = [*groups, "method"]
    sign = np.where(as_booleans(frame["larger_is_better"]), 1.0, -1.0)
    frame = frame.assign(better=as_booleans(frame["better"]))
    # `as_method` groups the tests by the method that may be better, `as_reference` by the method it may beat.
    as_method = frame.assign(advantage=sign * frame["estimate"]).groupby(
        key_columns, observed=True, sort=True
    )
    references = frame["reference"].astype(frame["method"].dtype)
    as_reference = frame.assign(method=references).groupby(key_columns, observed=True)
    n_worse = as_method["better"].sum().to_numpy(np.int64)
    n_better = as_reference["better"].sum().to_numpy(np.int64)
    n_methods = as_method.size().to_numpy() + 1
    advantage = as_method["advantage"].mean()
    ranks = advantage.rank(ascending=False)
    if groups:
        advantages_of_groups = advantage.groupby(level=list(range(len(groups))), observed=True)
        ranks = advantages_of_groups.rank(ascending=False)
    first_rows = as_method.first().reset_index()
    table = {
        "term": "true_rank",
        "estimate": ranks.to_numpy(),
        "conf_low": 1 + n_better,
        "conf_high": n_methods - n_worse,
        "conf_level": first_rows["conf_level"].to_numpy(),
        "interval": "pairwise tests",
        "unit": first_rows["unit"].to_numpy(),
    }
    special = {
        "n_methods": n_methods,
        "n_better": n_better,
        "n_worse": n_worse,
        "test": first_rows["test"].to_numpy(),
        "procedure": first_rows["procedure"].to_numpy(),
    }
    return estimates_frame(first_rows[key_columns], table, special)


def _both_one_sided_tests_per_pair(scores: pd.DataFrame, groups: list[str], unit: Unit) -> pd.DataFrame:
    """Make one-sided signed-rank tests of the units' mean differences between every two methods.

    The frame has a row for each group and two methods: its keys, `estimate`, one-sided P values, `n_pairs`,
    `unit` and `test`, and `caution` where many pairs are incomplete. `greater` is the P value of the method
    scoring above the reference, `less` that of scoring below it.
    """
    codes = coded_scores(scores)
    check_one_metric(codes, groups)
    units = resolve_unit(codes, unit)
    comparison = ComparisonOptions(ALL_PAIRS, by=groups, pairs="complete", average=None, overall=False)
    paired_target = paired_target_of_scores("difference", codes, units, comparison)
    differences = paired_target.method_scores - paired_target.reference_scores
    rows = []
    for row in range(len(paired_target.n_pairs)):
        is_in_row = paired_target.groups == row
        pair_units = paired_target.units[is_in_row]
        pair_differences = differences[is_in_row]
        counts = np.bincount(pair_units)
        unit_means = np.bincount(pair_units, pair_differences) / np.maximum(counts, 1)
        unit_means = unit_means[counts > 0]
        # Differences that are only rounding errors are ties.
        largest = np.abs(unit_means).max(initial=0.0)
        unit_means = np.where(np.abs(unit_means) <= ROUNDING * largest, 0.0, unit_means)
        greater, less = make_signed_rank_test(unit_means)(np.ones((1, len(unit_means))))
        mean = pair_differences.mean() if is_in_row.any() else np.nan
        rows.append({"estimate": mean, "greater": greater[0], "less": less[0]})
    keys = paired_target.target.keys.reset_index(drop=True)
    tests = keys.join(pd.DataFrame(rows))
    tests = tests.assign(n_pairs=paired_target.n_pairs, unit=units.name, test="wilcoxon")
    return warn_and_add_caution_of_incomplete_pairs(
        tests, paired_target.one_sided, codes.frame, advice_to_bound_missing_scores(ALL_PAIRS)
    )
