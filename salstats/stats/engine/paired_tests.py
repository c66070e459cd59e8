"""Tests of paired scores: bootstrap, t, Wilcoxon, McNemar, score, sign flips."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from salstats.checks import SalstatsError
from salstats.stats.engine.advice import ROUNDING
from salstats.stats.engine.comparisons import Compared
from salstats.stats.engine.cr2 import cr2
from salstats.stats.engine.design import group_label
from salstats.stats.engine.draws import few_threads, sign_blocks
from salstats.stats.engine.estimands import ratio
from salstats.stats.engine.inference import Estimates, bootstrap_p_values, check_binary, moments
from salstats.stats.engine.max_t import Drawn
from salstats.stats.engine.paired_shares import equality_p_value
from salstats.stats.engine.units import Units
from salstats.stats.engine.variances import analytic_variance, influence_weights


@dataclass(frozen=True)
class PairedTest:
    """A test of paired scores."""

    #: What `test=` takes.
    name: str
    #: Its name in a table's note.
    label: str
    #: How a Methods section describes it; `{unit}` is what is resampled, `{replicates}` how many of these
    #: or of flips there are.
    note: str
    #: Whether its p-values come from replicates.
    drawn: bool = False


_FROM = "Two-sided P values were from"
_SMALL = "small P values were of all patterns of signs (Robinson 1982)"
#: Every test by its name.
RECORDS = {
    record.name: record
    for record in (
        PairedTest(
            "bootstrap", "paired bootstrap test",
            "Two-sided P values of no difference were taken from the bootstrap replicates, as twice the "
            "smaller of (1 + k)/(B + 1), at most 1, with k the number of replicates of the difference at or "
            "below 0, or at or above 0, and B the number of defined replicates (Davison and Hinkley 1997); "
            "with all {replicates} replicates defined the smallest possible was 2/(B + 1).",
            drawn=True,
        ),
        PairedTest(
            "t", "paired t test", f"{_FROM} paired t tests with standard errors clustered by {{unit}}."
        ),
        PairedTest(
            "cr2", "paired t test, CR2 standard errors",
            f"{_FROM} paired t tests with bias-reduced standard errors (CR2) clustered by {{unit}} and "
            "Satterthwaite's degrees of freedom (Pustejovsky and Tipton 2018).",
        ),
        PairedTest(
            "wilcoxon", "Wilcoxon signed-rank test",
            f"{_FROM} Wilcoxon's signed-rank test of the mean difference of each {{unit}} (Wilcoxon 1945).",
        ),
        PairedTest(
            "mcnemar", "exact McNemar test", f"{_FROM} McNemar's exact test (McNemar 1947)."
        ),
        PairedTest(
            "signflip", "sign-flip permutation test",
            f"{_FROM} a permutation test that flips the signs of all differences of a {{unit}} together, as "
            "(1 + k)/(B + 1) with k the number of B = {replicates} random flips that lie at least as far "
            f"from 0 as the data; {_SMALL}.",
            drawn=True,
        ),
        PairedTest(
            "wild", "wild cluster bootstrap test",
            "Two-sided mid-P values were from a wild cluster bootstrap that flips the signs of each {unit} "
            "under the hypothesis (Cameron et al. 2008), with {replicates} flips, or every one "
            f"where there are no more; {_SMALL}.",
            drawn=True,
        ),
        PairedTest(
            "score", "McNemar's score test, without correction",
            f"{_FROM} McNemar's score test without correction (McNemar 1947).",
        ),
        PairedTest("none", "no test", "No test was made."),
    )
}  # fmt: skip
TESTS = tuple(RECORDS)


class Tested(NamedTuple):
    """Statistic, degrees of freedom and p-value of each row, NaN where the test has none.

    `floor` is the smallest p-value that replicates allow, None of a test without any, and `drawn` what they
    are counted from.
    """

    statistic: np.ndarray
    df: np.ndarray
    p_value: np.ndarray
    floor: np.ndarray | float | None = None
    drawn: Drawn | None = None


def p_values_of_pairs(test: str, compared: Compared, found: Estimates, units: Units) -> Tested:
    """Test equality of method and reference in each row."""
    cells, estimand = compared.target.cells, compared.target.estimand
    gap, means = estimand.gap(), cells.means()
    scale, n_rows = gap.scale(means), estimand.n_rows
    none = np.full(n_rows, np.nan)
    # the mean of decreases is no function of one difference, and is tested as it stands
    special = (np.arange(n_rows) >= compared.members.shape[1]) & (estimand.then is not None)
    if test == "bootstrap":
        assert found.replicates is not None
        assert found.gap_replicates is not None
        replicates = np.where(special, found.replicates, found.gap_replicates)
        p_value, floor = bootstrap_p_values(replicates, ROUNDING * scale)
        value, (_, spread, _) = np.where(special, found.estimate, gap.value(means)), moments(replicates)
        drawn = Drawn.of(value, np.nan_to_num(replicates - value), spread, ROUNDING * scale)
        return Tested(none, none, np.where(found.smallest < 2, np.nan, p_value), floor, drawn)
    if test == "score":
        return Tested(none, none, _score_p_values(compared, found))
    if test in ("t", "cr2"):
        return _t_tests(test, compared, special)
    if test == "wild":
        return _wild_tests(compared, found)
    if test == "signflip":
        per_sum, _ = influence_weights(gap.gradient(means), means, cells.counts.sum(axis=0))
        signs = sign_blocks(found.options.n_replicates, units.n, found.options.rng)
        drawn = sign_flips(cells.sums @ per_sum.T, signs, scale)
        p_value = np.where(special | (found.smallest < 2), np.nan, drawn.p_values())
        return Tested(none, none, p_value, drawn.floor, drawn)
    if test == "none":
        return Tested(none, none, none)
    return _test_of_single_rows(test, compared, scale, units.name)


def _t_tests(test: str, compared: Compared, of_estimate: np.ndarray) -> Tested:
    """Test each row's difference by Student's t, or the estimate itself where `of_estimate` says so."""
    cells, estimand = compared.target.cells, compared.target.estimand
    means, parts = cells.means(), []
    for what in (estimand.gap(), estimand):
        if test == "t":
            variance, df = analytic_variance(cells, what)
        else:
            variance, df, *_ = cr2(cells.sums, cells.counts, what.gradient(means), cells.squares)
        negligible = np.sqrt(variance) <= ROUNDING * what.scale(means)
        parts.append(t_test(what.value(means), np.where(negligible, 0.0, variance), df))
    return Tested(*(np.where(of_estimate, own, of_gap) for of_gap, own in zip(*parts, strict=True)))


def _wild_tests(compared: Compared, found: Estimates) -> Tested:
    """Test each row by flips, few units by CR2 and paired 0/1 scores by their score test, as its interval."""
    assert found.flips is not None
    p_value = found.flips.p_value
    floor: np.ndarray | float = found.flips.drawn.floor
    none = np.full(len(p_value), np.nan)
    if found.by_cr2 is not None:
        # these rows have their limits from Student's t, and their P value, too
        _, _, by_t = t_test(found.estimate, found.std_error**2, found.df)
        p_value = np.where(found.by_cr2, by_t, p_value)
        floor = np.where(found.by_cr2, np.nan, floor)
    if found.options.interval.of_trials and found.basis.trials.any():
        trials = found.basis.trials
        p_value = np.where(trials, _score_p_values(compared, found), p_value)
        if trials.all():
            return Tested(none, none, p_value)
        floor = np.where(trials, np.nan, floor)
    return Tested(none, none, p_value, floor, found.flips.drawn)


def _score_p_values(compared: Compared, found: Estimates) -> np.ndarray:
    """P values of the score test of paired 0/1 scores, NaN for averages and rows of less than two units."""
    cells, gap = compared.target.cells, compared.target.estimand.gap()
    variance, _ = analytic_variance(cells, gap)
    p_value = equality_p_value(gap.value(cells.means()), np.sqrt(variance), found.n_units)
    single = gap.cells_of_rows().sum(axis=0) == 2
    return np.where(single & (found.smallest >= 2), p_value, np.nan)


def _test_of_single_rows(test: str, compared: Compared, scale: np.ndarray, unit: str) -> Tested:
    """Wilcoxon's or McNemar's test of each row that is no average of others."""
    n_rows, keys = len(scale), compared.target.keys
    statistic, p_value = np.full(n_rows, np.nan), np.full(n_rows, np.nan)
    if test == "mcnemar":
        for values in (compared.own, compared.other):
            check_binary(values, "test", test)
    n_groups, n_single = compared.members.shape
    for row in range(n_single):
        chosen = compared.members[compared.groups, row]
        if not chosen.any():
            continue
        own, other, its_units = compared.own[chosen], compared.other[chosen], compared.units[chosen]
        if test == "mcnemar":
            if row >= n_groups and len(np.unique(its_units)) < len(its_units):
                # a case has several tasks: pooled over them its pairs are not independent
                continue
            check_independent(its_units, keys, row, unit)
            statistic[row], p_value[row] = mcnemar(own, other)
        else:
            counts = np.bincount(its_units)
            gaps = np.bincount(its_units, weights=own - other)[counts > 0] / counts[counts > 0]
            gaps = np.where(np.abs(gaps) <= ROUNDING * scale[row], 0.0, gaps)
            statistic[row], p_value[row] = wilcoxon(gaps)
    return Tested(statistic, np.full(n_rows, np.nan), p_value)


def t_test(
    estimate: np.ndarray, variance: np.ndarray, df: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Statistic, degrees of freedom and two-sided p-value of the paired t test, if anything varies."""
    df = np.where((df >= 1) & (variance > 0), df, np.nan)
    statistic = ratio(estimate, np.sqrt(np.where(variance > 0, variance, np.nan)))
    p: np.ndarray = 2 * stats.t.sf(np.abs(statistic), df)
    return np.where(np.isnan(df), np.nan, statistic), df, p


def wilcoxon(differences: np.ndarray) -> tuple[float, float]:
    """Signed-rank statistic (sum of positive ranks) and its two-sided p-value (Wilcoxon 1945).

    Zeros are left out; exact below 50 differences without ties or zeros, else the normal approximation
    with continuity correction: the defaults of R's `wilcox.test`.
    """
    used = differences[differences != 0]
    n = len(used)
    if n == 0:
        return 0.0, float("nan")
    ranks = stats.rankdata(np.abs(used))
    statistic = float(ranks[used > 0].sum())
    # Never scipy's "auto": it is exact for 50 differences too, and permutes those with ties.
    exact = n < 50 and n == len(differences) and len(np.unique(ranks)) == n
    p_value = stats.wilcoxon(used, method="exact" if exact else "asymptotic", correction=True).pvalue
    return statistic, float(p_value)


def mcnemar(method: np.ndarray, reference: np.ndarray) -> tuple[float, float]:
    """Number of pairs where only the method hits, and McNemar's (1947) exact two-sided p-value."""
    only_method = int(((method == 1) & (reference == 0)).sum())
    only_reference = int(((method == 0) & (reference == 1)).sum())
    discordant = only_method + only_reference
    if discordant == 0:
        return 0.0, 1.0
    return float(only_method), float(stats.binomtest(only_method, discordant, 0.5).pvalue)


def sign_flips(sums: np.ndarray, signs: Iterable[np.ndarray], scale: np.ndarray) -> Drawn:
    """Sign-flip permutation of differences with mean 0: its P is (1 + count) / (number of flips + 1).

    `sums` (n_units, n_rows) are each unit's part of the mean difference, whose rows are flipped together;
    `signs` come a block (rows, n_units) of flips at a time. Sums below 1e-12 of `scale` are 0.
    """
    with few_threads(*sums.shape):
        flipped = np.concatenate([block.astype(np.float64) @ sums for block in signs])
    spread = np.sqrt((sums**2).sum(axis=0))
    return Drawn.of(sums.sum(axis=0), flipped, spread, 1e-12 * scale, parts=sums)


def check_paired_shares(compared: Compared, option: str, choice: str, unit: str) -> None:
    """Raise unless scores are 0 or 1, and each unit has one pair of them in every group."""
    check_binary(compared.own, option, choice)
    check_binary(compared.other, option, choice)
    for group in range(compared.members.shape[0]):
        units = compared.units[compared.groups == group]
        check_independent(units, compared.target.keys, group, unit, option, choice)


def check_independent(
    units: np.ndarray, keys: pd.DataFrame, row: int, unit: str, option: str = "test", choice: str = "mcnemar"
) -> None:
    """Raise when a unit has several pairs, which what is for independent pairs cannot bear."""
    n_units = len(np.unique(units))
    if len(units) > n_units:
        remedy = "test='wild' or 'signflip'" if option == "test" else f"{option}='wild'"
        raise SalstatsError(
            f"{option}={choice!r} needs independent pairs; {group_label(keys, row)} has {len(units)} in "
            f"{n_units} units ({unit}); take {remedy}, which keeps a unit's pairs together"
        )
