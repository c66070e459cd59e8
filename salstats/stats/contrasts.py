"""Methods against a reference: difference and percentage decrease, paired on the same cases."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.coded_text import TEXT
from salstats.errors import Call, Message, SalstatsError, Setting, ValueRangeError
from salstats.metrics.registry import may_have_meaningful_ratios
from salstats.stats.comparison_frames import HypothesisOptions, comparison_frame
from salstats.stats.engine.comparisons import ComparisonOptions
from salstats.stats.engine.equivalence import Margin
from salstats.stats.engine.inference_options import checked_options
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.engine.result_warnings import ROUNDING
from salstats.stats.engine.weighting import Weighting


def difference(
    scores: pd.DataFrame,
    *,
    reference: str,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
    pairs: str = "complete",
    average: str | None = None,
    overall: bool = False,
    test: str | None = None,
    adjust: str = "none",
    simultaneous: bool | None = None,
    margin: Margin | None = None,
    weights: Weighting = None,
    effect_size: str | None = None,
) -> pd.DataFrame:
    """Mean difference method - reference of each method, paired on the same cases.

    Parameters
    ----------
    scores : DataFrame
        A scores frame with the reference among its methods.
    reference : str
        The method to compare with, such as "human". If it has no `model` or `seed`, as people have none, and
        `by` names that column, it is compared with every model or seed. "all" compares every two methods
        once: the reference of two methods is the one that comes first in the scores, where methods without
        reader, model and seed come first. If a method is itself called "all", the others are compared with
        it.
    by : str or list of str, optional
        Grouping columns besides `method`; by default those of `metric` and `task` that are present.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
    interval : str, optional
        A name of `intervals.interval_names("difference")`. The default was chosen by simulated coverage:
        `tango` for 0/1 scores with one pair per unit, `wild` for other scores, `cr2` for rows that a few
        outlying units decide or that have fewer than five units, and `percentile` if `draws` are given.

        - `wild` inverts a wild cluster bootstrap test, see Notes.
        - `tango` inverts a score test of two proportions, see Notes.
        - `cr2` is Student's t with bias-reduced cluster-robust standard errors (CR2) and Satterthwaite's
          degrees of freedom.
        - `t` is Student's t with cluster-robust standard errors and units - 1 degrees of freedom.
        - The others are made from bootstrap replicates.
    level : float
        Confidence level; limits between replicates need at least 2 / (1 - level) replicates, those from sign
        flips half as many flips.
    n_replicates : int
        Number of bootstrap replicates, or of sign flips.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Units of each replicate, instead of random ones: positions among the distinct units in sorted order,
        from 0.
    pairs : {"complete", "available"}
        Average both methods over the cases in which both scores are defined, or each over its own cases.
    average : str, optional
        A column of `by`: adds rows "Average", the difference of the averages over this column.
    overall : bool
        Adds rows pooled over tasks, in which `task` is "Overall"; `task` must be in `by`.
    test : {"bootstrap", "t", "cr2", "wilcoxon", "mcnemar", "signflip", "wild", "score", "none"}, optional
        Test that `p_value` is from, see Notes. The default is one procedure with the interval: `wild` with
        `wild`, `cr2` with `cr2`, `score` with `tango`, `bootstrap` with intervals from replicates, and `t`
        with the others. With "wild" and the default interval, 0/1 scores have `wild` limits, too.
    adjust : str
        Procedure that adjusts the P values of all rows for multiple tests: one of `adjust`, or `max-t` or
        `min-p`, see Notes. Rows "Average" and "Overall" are a family of their own.
    simultaneous : bool, optional
        Compute limits that hold jointly for all rows of a family, and P values that agree with them, see
        Notes. The default is True for `max-t` and `min-p`; True without `adjust` implies them.
    margin : float, pair or dict, optional
        Range of differences that are too small to matter, see Notes. 0.05 stands for -0.05 to 0.05 and tests
        equivalence. A pair has a lower and an upper bound, one of which may be None: (-0.05, None) tests
        non-inferiority. A dict has a margin for each metric, such as {"iou": 0.05}.
    weights : str or mapping, optional
        A column of weights of cases, "unit", or weights of the values of `average`, see `summarize`.
    effect_size : {"g", "g_z", "d_av", "d_z", "cles"}, optional
        Add a standardised effect size of the pairs, see Notes: Hedges' g from the spread of scores (`g`) or
        of differences (`g_z`), Cohen's d from either (`d_av`, `d_z`), or the common language effect size.

    Returns
    -------
    DataFrame
        One row per group and compared method, sorted by the grouping columns (Overall and Average last) and
        the method:

        - the grouping columns, `method`, `reference`;
        - `term` ("difference"), `estimate`, `std_error`;
        - `statistic` of tests that have one; `df`, the degrees of freedom of the test, or of the interval if
          the test has no statistic; `p_value`; with `adjust` also `p_adjusted`, `n_tests` and `procedure`;
        - with tests from replicates or flips `p_floor`, the smallest P value that they allow, NaN if
          `p_value` counts all patterns of signs. A P value equal to its floor is printed with "<";
        - `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`, `inference_to` and `weights`, with the
          meanings that they have in `summarize`;
        - `n`, the scores of the method that are used, which with complete pairs is `n_pairs`; `n_missing`,
          the pairs in which a score is undefined or has no row; `n_absent`, if there are any, those of
          them whose finding is absent; `n_units`;
        - with intervals from replicates `n_undefined`, the undefined replicates, and `bias`;
        - `caution`, if a row is doubtful: the reason, see Notes;
        - `reference_mean`, `method_mean`, and `n_pairs`, the pairs in which both scores are defined;
        - `verdict`: the method is "lower" or "higher" than the reference if the interval excludes 0 and, with
          `adjust`, `p_adjusted` is below 1 - `conf_level`. Otherwise it is "inconclusive", also if more than
          1 % of the replicates are undefined or the interval has width 0. With `margin` there are also
          "equivalent", "not inferior", "not superior", "lower, equivalent" and so on, see Notes;
        - with `margin` `margin_low` and `margin_high` (infinite if there is no bound) and `p_margin`, with
          `adjust` also `p_margin_adjusted`;
        - `test`, the name of the row's test; `n_replicates` of intervals and tests from replicates or flips;
        - with simultaneous limits `family_level`, the level at which the limits of a family hold jointly;
        - with `effect_size` its name, `effect`, `effect_low` and `effect_high`, see Notes.

    Raises
    ------
    SalstatsError
        The reference is not among the methods, or is the only one; a column or an option is invalid, or two
        options exclude each other.

    Warns
    -----
    SalstatsWarning
        As in `summarize`; scores of few units are mostly 0; a decrease of few units leaves next to nothing of
        the reference; one of two methods lacks many cases of the other; with `adjust`, even the smallest P
        value that `n_replicates` allow is not below 1 - `level` after the adjustment.

    Notes
    -----
    **Pairs.** Two scores are a pair if they have the same data set, case, task and metric, and
    the same reader, model and seed as far as both methods have these. If only the reference has several
    readers, a score makes a pair with each of them, and the difference is that from the readers' mean. Every
    pair counts as one, so that a case with more readers counts more (a warning says so); with
    `weights="unit"` each unit counts as one. Limits and tests keep the pairs of a unit together.

    **Tests.** The P value of `bootstrap` is twice the smaller of (1 + k) / (B + 1), where k of B replicates
    lie at or below 0, or at or above 0. `t` is the paired t test with clustered standard errors; `cr2` is the
    same with bias-reduced ones (CR2) and Satterthwaite's degrees of freedom. `wilcoxon` is R's `wilcox.test`
    of the mean difference of each unit. `mcnemar` is the exact test of independent pairs of 0/1 scores, whose
    statistic is the number of pairs in which only the method scores 1. `signflip` is a permutation test that
    flips the signs of all differences of a unit together. `wilcoxon` and `mcnemar` test single groups without
    `weights`; averages over tasks have no P value from them.

    **Tango and score.** `tango` limits are the differences of two proportions that a score test does not
    reject (Tango 1998), and `score` is this test of no difference, McNemar's without correction, so that both
    agree. They are for 0/1 scores with one pair per unit, and are the default there. They are also the
    default for rows with several pairs per unit if the sums of both methods are equal in every unit; each
    unit then counts as one pair, as flips give no limits. For proportions of .5 to .98, differences of 0, .1
    and .3 and correlations of 0, .3 and .6 their exact coverage is 93 to 100 % with 5 to 100 units. That of
    `wild` is 8 to 99 %, counting studies without limits as not covered, and 81 to 96 % with 30 units or more
    and differences of .1 and .3. A true hypothesis is rejected in at most 5.4 % of studies, and with 40 units
    a difference of .1 is found up to 1.6 times as often. A joint `adjust` and `test="wild"` use flips for all
    rows.

    **Wild.** The wild cluster bootstrap with the hypothesis imposed (Cameron, Gelbach and Miller 2008) flips
    the signs of the units' residuals under the hypothesis; it uses every pattern of signs if there are no
    more than `n_replicates`. Its mid-P value counts flips exactly as far from 0 as the data half. Its limits
    are the differences at which P crosses 1 - `level`, so that limits and P value always agree; a limit of
    exactly 0 belongs to the interval or not as P decides. For one difference it is the sign-flip test, for
    0/1 scores McNemar's mid-P test; for a decrease the hypothesis is method = theta * reference. If fewer
    than 100 flips lie as far from 0 as the data, P is computed from every pattern of signs, also that of
    `signflip`: by counting for up to 60 units and for counts such as hits (Streitberg and Roehmel 1986), else
    by a saddlepoint approximation (Robinson 1982). So neither test has a floor, and a small P value does not
    depend on the seed. Rows with fewer than five units have the limits and the P value of `cr2`, and their
    `interval` and `test` say so.

    **Joint adjustment.** `max-t` and `min-p` allow for the dependence of rows: a unit has the same sign in
    all rows (`test` is `wild`, `signflip` or `bootstrap`), so that methods that are nearly alike cost less
    than with `holm`. Both come with simultaneous limits by default. P values and limits are then one
    procedure, written as `single-step`. The `p_adjusted` of a row is the share of flips whose smallest P
    value of all rows is at most the row's P value, or Bonferroni's if that is smaller. The limits of all rows
    of a family are those of `interval` at one level, `conf_level`: the lowest at which at most
    1 - `family_level` of the flips leave any row outside its limits (Beran 1988). With the default interval
    three statements are equivalent: the limits exclude 0, `p_value` is at most 1 - `conf_level`, and
    `p_adjusted` is at most 1 - `family_level`. Limits and tests of different procedures may disagree near
    these levels.

    With `simultaneous=False` they are step-down procedures (Westfall and Young 1993, Romano and Wolf 2005),
    which find more differences, and limits are those of single rows. With rows in the order of descending
    statistics, the `p_adjusted` of a row is the share of flips whose largest statistic, of this and all later
    rows, is at least the row's; it is no smaller than that of the row before, nor than `p_value`. Flips
    exactly as far as the data count as in `p_value`, so that with a single row both are equal. The statistic
    of `max-t` is the difference in standard errors; the standard error of `wild` and `signflip` is the root
    of the sum of squares of units, which flips do not change. The statistic of `min-p` is the P value of each
    flip among those of its row, and Holm's P value is an upper bound. If a few units are large, the flips of
    some rows reach further than those of others, and `min-p` finds more differences.

    In simulations of 10 true hypotheses on correlated methods and 30 units, of one case each or with three of
    10 to 25, step-down `max-t` with `wild` at 5 % rejected one or more in 4.4 to 5.0 % of studies of normal
    and of 0/1 scores, and `min-p` in 4.2 to 5.4 %. For very skewed scores, whose differences are not
    symmetric, both did in 5.9 to 6.6 %. If half of the differences were 0.6 SD, both found 64 % of them and
    `holm` 61 %; with large units `max-t` found 58 %, `min-p` 73 % and `holm` 71 %. With `bootstrap`
    replicates the rate of false rejections was 8 to 21 %. Single-step P values rejected one or more in 3.5 to
    5.5 % of 400 studies each of symmetric differences.

    **Margins.** `p_margin` is the P value of the hypothesis that the difference lies at a bound of the
    `margin` or beyond: the larger of two one-sided P values (TOST, Schuirmann 1987), or the only one of a
    margin with one bound, by the test that the interval inverts. It is below alpha = 1 - `level` if the
    interval of level 1 - 2 alpha, by default of 90 %, lies inside the margin; for tests at 2.5 % take
    `level=0.975`. The verdict is then "equivalent". For a margin with one bound it is "not inferior" if the
    bound limits how much worse the method may be: a lower bound, or an upper bound for metrics of which less
    is better. Otherwise it is "not superior". It replaces "inconclusive" and follows "lower" and "higher":
    "lower, equivalent" is a difference that exists and is too small to matter. One-sided tests are more
    sensitive to skewed differences than two-sided ones: with 30 units that lose an exponential amount each,
    they reject a true bound on the side of the long tail in 8 to 10 % of studies instead of 5 %. `adjust`
    adjusts `p_margin` over all rows, too, as a family of its own.

    **Coverage.** Default 95 % limits held in 94 to 98 % of simulated studies of 30 units and in 94 to 97 % of
    studies of 100, percentile limits in 88 to 97 % of the studies of 30 (`datasets.load_coverage`). Coverage
    is lowest for sparse scores of few units. If a method fails completely on 6 or 8 % of the cases, limits
    held in 88 to 92 % of studies of 30 units, mostly with a caution.

    **Outlying units.** A method that sometimes fails completely scores 0 on a few cases and as usual
    elsewhere. A row has the caution "few units decide" if up to five units, and up to a quarter of all, lie
    more than four scaled median absolute deviations from the median (six with fewer than 20 units) and hold
    half of the variance or more. Sign flips treat such units as noise. By default these rows therefore have
    limits and a P value by Student's t with CR2 standard errors, with fewer degrees of freedom if the spread
    of the units' squares leaves fewer. This is not so with `max-t` and `min-p`, whose rows share their flips,
    nor if more than a quarter of the units of a method have only zeros, which are then no exception. For two
    methods near .9, one of which is 0 on 8 % of the cases, limits held in 95 % of simulated studies of 40
    cases, and those from flips in 83 %. No interval allows for failures that are not in the sample: of
    studies of 20 cases one in five has none, and its limits miss the truth.

    **Effect sizes** are those of the complete pairs of a row; averages over tasks have none (NaN). With x a
    score of the method, y that of the reference on the same case and n pairs:

    ======  ======================================================================
    `d_av`  (mean x - mean y) / sqrt((var x + var y) / 2), variances with n - 1
    `g`     d_av (1 - 3 / (8 n - 9)); Lakens (2013) calls it g_av
    `d_z`   mean (x - y) / sd (x - y), which is t / sqrt(n)
    `g_z`   d_z J, J = gamma((n-1) / 2) / (sqrt((n-1) / 2) gamma((n-2) / 2))
    `cles`  P(x > y) + P(x = y) / 2 over all n² pairs of an x and any y
    ======  ======================================================================

    pingouin's `compute_effsize(paired=True)` calls d_av "cohen", g "hedges", d_z "cohen_dz" and cles "CLES";
    R's `effectsize::hedges_g(paired = TRUE)` is g_z. d_av and g say how far apart the methods are on the
    scale of the scores, whatever the pairing; d_z and g_z grow with the correlation of the pairs. The
    denominator of the d_av that Lakens prints is the mean of both standard deviations; the root of the mean
    variance, used here, is Cumming's (2012). For a difference of 0, d and g are 0 and cles is 0.5. Limits are
    computed from the influence of each pair, summed by unit, with CR2 standard errors and Student's t
    (Satterthwaite's degrees of freedom, fewer if a few units hold most of the variance); those of cles are on
    the logit scale. In simulations with 20 to 50 units of one to seven rows, 95 % limits held in 93 to 97 %
    of studies for normal, bounded and 0/1 scores. For scores with a long tail (lognormal), limits of d and g
    held in 79 to 88 %, those of cles in 95 to 97 %. There are no limits with fewer than four units.

    **Averages.** An average over tasks, and an "Overall" row, leave out a task that is undefined for one of
    the two methods. A replicate in which a task has no score is undefined, so that all replicates estimate
    the same quantity; `interval="order"`, the rule of the CheXlocalize scripts, averages the tasks that are
    defined. The variance of an average adds up each unit's influence on the tasks, with the factor G / (G -
    1) for each task, and has Satterthwaite's degrees of freedom, at most those of all its units; with
    `pairs="available"` G is the smaller number of units of the two methods.

    References
    ----------
    Cameron AC, Gelbach JB, Miller DL. Bootstrap-based improvements for inference with clustered errors.
    Rev Econ Stat 2008. doi:10.1162/rest.90.3.414

    Tango T. Equivalence test and confidence interval for the difference in proportions for the paired-sample
    design. Stat Med 1998. doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>3.0.CO;2-B

    Westfall PH, Young SS. Resampling-Based Multiple Testing. Wiley 1993.

    Ge Y, Dudoit S, Speed TP. Resampling-based multiple testing for microarray data analysis. Test 2003.
    doi:10.1007/BF02595811

    Romano JP, Wolf M. Stepwise multiple testing as formalized data snooping. Econometrica 2005.
    doi:10.1111/j.1468-0262.2005.00615.x

    Streitberg B, Roehmel J. Exact distributions for permutation and rank tests: an introduction to some
    recently published algorithms. Statistical Software Newsletter 1986;12:10-17.

    Robinson J. Saddlepoint approximations for permutation tests and confidence intervals. J R Stat Soc B
    1982. doi:10.1111/j.2517-6161.1982.tb01191.x

    Beran R. Balanced simultaneous confidence sets. J Am Stat Assoc 1988. doi:10.1080/01621459.1988.10478649

    Lakens D. Calculating and reporting effect sizes to facilitate cumulative science: a practical primer for
    t-tests and ANOVAs. Front Psychol 2013;4:863. doi:10.3389/fpsyg.2013.00863

    Cumming G. Understanding the New Statistics. Routledge 2012.

    McGraw KO, Wong SP. A common language effect size statistic. Psychol Bull 1992.
    doi:10.1037/0033-2909.111.2.361

    Vargha A, Delaney HD. A critique and improvement of the CL common language effect size statistics of
    McGraw and Wong. J Educ Behav Stat 2000. doi:10.3102/10769986025002101

    Schuirmann DJ. A comparison of the two one-sided tests procedure and the power approach for assessing the
    equivalence of average bioavailability. J Pharmacokinet Biopharm 1987. doi:10.1007/BF01068419

    Examples
    --------
    >>> import salstats as ss
    >>> gap = ss.difference(ss.datasets.load_simulated(), reference="human", by="metric")
    >>> gap[["metric", "method", "reference", "verdict"]].head(1)
      metric   method reference verdict
    0    hit  gradcam     human   lower
    """
    options = checked_options("difference", interval, level, n_replicates, rng, draws)
    if _asks_for_mean_of_estimates(average, by):
        # the difference of averages is the average of differences
        average = str(average).removesuffix("_mean")
    comparison = ComparisonOptions(reference, by=[], pairs=pairs, average=average, overall=overall)
    hypothesis = HypothesisOptions(test, adjust, simultaneous, margin, weights, effect_size)
    return comparison_frame("difference", scores, comparison, options, hypothesis, by=by, unit=unit)


def percent_decrease(
    scores: pd.DataFrame,
    *,
    reference: str,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
    pairs: str = "complete",
    average: str | None = None,
    overall: bool = False,
    test: str | None = None,
    adjust: str = "none",
    simultaneous: bool | None = None,
    margin: Margin | None = None,
    weights: Weighting = None,
    force: bool = False,
) -> pd.DataFrame:
    """Percentage decrease of each method's mean from the reference's.

    It is 100 * (reference - method) / reference for the two means over the same cases: 0 for equal means, 100
    for a method that scores 0, negative for a method above the reference (if that is positive). It is
    undefined if the reference's mean is 0.

    Parameters
    ----------
    scores : DataFrame
        A scores frame with the reference among its methods.
    reference : str
        The method to compare with, such as "human", or "all" for every two methods, see `difference`.
    by : str or list of str, optional
        Grouping columns besides `method`; by default those of `metric` and `task` that are present.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
    interval : str, optional
        A name of `intervals.interval_names("percent_decrease")`. The default is `wild`, the inversion of a
        wild cluster bootstrap test; `tang`, the inversion of a score test of the ratio, for 0/1 scores with
        one pair per unit; `cr2` for rows that a few outlying units decide or that have fewer than five units;
        and `percentile` if `draws` are given. `delta` (delta method) and `fieller` have clustered standard
        errors and t quantiles with units - 1 degrees of freedom; the others are made from bootstrap
        replicates.
    level : float
        Confidence level; limits between replicates need at least 2 / (1 - level) replicates, those from sign
        flips half as many flips.
    n_replicates : int
        Number of bootstrap replicates, or of sign flips.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Units of each replicate, instead of random ones: positions among the distinct units in sorted order,
        from 0.
    pairs : {"complete", "available"}
        Average both methods over the cases in which both scores are defined, or each over its own cases.
    average : str, optional
        A column of `by`, such as "task": adds rows "Average", the decrease *of the averages*. In each
        replicate the reference and the method are averaged over tasks before the decrease is computed
        (saporta2022). "task_mean" adds the mean of the tasks' decreases instead.
    overall : bool
        Adds rows pooled over tasks, in which `task` is "Overall"; `task` must be in `by`.
    test : {"bootstrap", "t", "cr2", "wilcoxon", "mcnemar", "signflip", "wild", "score", "none"}, optional
        Test of equal means that `p_value` is from, see `difference`. The default is one procedure with the
        interval.
    adjust : str
        Procedure that adjusts the P values of all rows for multiple tests: one of `adjust`, or `max-t` or
        `min-p`, see `difference`.
    simultaneous : bool, optional
        Compute limits that hold jointly for all rows of a family, see `difference`. The default is True for
        `max-t` and `min-p`.
    margin : float, pair or dict, optional
        Range of decreases, in percent, that are too small to matter. 10 stands for -10 to 10 and tests
        equivalence. A pair has a lower and an upper bound, one of which may be None: (None, 10) tests
        non-inferiority. A dict has a margin for each metric.
    weights : str or mapping, optional
        A column of weights of cases, "unit", or weights of the values of `average`, see `summarize`.
    force : bool
        Also compute the decrease of metrics without a true zero.

    Returns
    -------
    DataFrame
        The columns of `difference` except the effect sizes, with `term` "percent_decrease" and `estimate` and
        limits in percent. `verdict` is on the method's score, so that a method with a conclusive decrease is
        "lower". With `interval="fieller"` a column `conf_set` says "bounded", or what an unbounded set
        contains, "all but a to b" or "everything"; its limits are then -inf and inf.

    Raises
    ------
    SalstatsError
        The reference is not among the methods, or is the only one; a column or an option is invalid, or two
        options exclude each other.
    ValueRangeError
        A metric has no true zero (ncc, sncc, auc, sauc, nss, information_gain) or has scores below 0, unless
        `force` is True.

    Notes
    -----
    A ratio of two means can only be interpreted if 0 means "nothing". Chance is 0 for a correlation and 0.5
    for an AUC. For the sNCC of lanfredi2021 (reference mean .028) the percentage decrease is -1.2 % with an
    interval from -184 to 80, which says nothing; `difference` is the right comparison there.

    Default 95 % limits held in 93 to 98 % of simulated studies of 30 units and in 93 to 97 % of studies of
    100, percentile limits in 88 to 96 % of the studies of 30 (`datasets.load_coverage`). The exact coverage
    of `tang` (Tang, Tang and Chan 2003) is 94 to 100 % with 10 to 40 units. If a method fails completely on 6
    or 8 % of the cases, limits held in 88 to 92 % of studies of 30 units, mostly with a caution (see
    `difference`, "Outlying units").

    P values are those of `difference`, since equal means and a decrease of 0 are the same hypothesis. Only
    the mean of decreases ("task_mean") is not a function of one difference: it has its own P value from
    `bootstrap`, `t`, `cr2` or `wild`, and none from `signflip`. If the reference's mean is close to 0,
    replicates in which it is 0 are undefined; with more than 1 % of them there is no verdict, and `fieller`
    shows what the data say.

    References
    ----------
    Tang NS, Tang ML, Chan ISF. On tests of equivalence via non-unity relative risk for matched-pair design.
    Stat Med 2003. doi:10.1002/sim.1213

    Saporta A, Gui X, Agrawal A, et al. Benchmarking saliency methods for chest X-ray interpretation.
    Nature Machine Intelligence 2022. doi:10.1038/s42256-022-00536-x

    Examples
    --------
    >>> import salstats as ss
    >>> decrease = ss.percent_decrease(ss.datasets.load_simulated(), reference="human", average="task")
    >>> decrease[["metric", "task", "method", "term", "verdict"]].tail(1)
       metric     task     method              term verdict
    23    iou  Average  occlusion  percent_decrease   lower
    """
    options = checked_options("percent_decrease", interval, level, n_replicates, rng, draws)
    if isinstance(scores, pd.DataFrame) and {"metric", "score"} <= set(scores.columns) and not force:
        _check_ratio_scale(scores)
    averages_estimates = _asks_for_mean_of_estimates(average, by)
    if averages_estimates and interval == "fieller":
        raise SalstatsError(
            Setting("interval", "fieller"), " is for one ratio, not for ", Setting("average", average)
        )
    if averages_estimates:
        average = str(average).removesuffix("_mean")
    comparison = ComparisonOptions(
        reference, by=[], pairs=pairs, average=average, overall=overall, averages_estimates=averages_estimates
    )
    hypothesis = HypothesisOptions(test, adjust, simultaneous, margin, weights)
    return comparison_frame("percent_decrease", scores, comparison, options, hypothesis, by=by, unit=unit)


def _asks_for_mean_of_estimates(average: str | None, by: str | Sequence[str] | None) -> bool:
    """Return True if `average` is the name of a column followed by "_mean", such as "task_mean".

    It then asks for the mean of the groups' estimates instead of the estimate from averages of their means. A
    column of `by` may itself have a name that ends so; it is averaged over as any other.
    """
    return average is not None and average.endswith("_mean") and average not in np.atleast_1d(by or ())


def _check_ratio_scale(scores: pd.DataFrame) -> None:
    """Raise ValueRangeError for a metric without a true zero, or with scores below 0."""
    remedy = Message(
        "take ", Call("difference"), ", keep the other metrics, or pass ", Setting("force", True)
    )
    for metric in pd.unique(scores["metric"]):
        if not may_have_meaningful_ratios(str(metric)):
            raise ValueRangeError(
                f"metric {metric!r} has no true zero, so a percentage of it means nothing",
                hint=remedy,
                column="metric",
                value=metric,
            )
    lowest = min_score_by_metric(scores)
    for metric in lowest.index[lowest < -ROUNDING]:
        raise ValueRangeError(
            f"metric {metric!r} has scores below 0, such as {lowest[metric]:.4g}, so a percentage of it "
            "means nothing",
            hint=remedy,
            column="score",
            value=metric,
        )


def min_score_by_metric(scores: pd.DataFrame) -> pd.Series:
    """Return the lowest score of each metric, NaN where none is a number."""
    values = pd.to_numeric(scores["score"], errors="coerce")
    return values.groupby(scores["metric"].astype(TEXT)).min()
