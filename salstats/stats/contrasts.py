"""Methods against a reference: difference and percentage decrease, paired on the same cases."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.errors import Call, Message, SalstatsError, Setting, ValueRangeError
from salstats.metrics.registry import has_true_zero
from salstats.stats.comparison_frames import HypothesisOptions, contrast
from salstats.stats.engine.comparisons import ComparisonOptions
from salstats.stats.engine.equivalence import Margin
from salstats.stats.engine.inference import check_options
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
        The method to compare with, such as "human". Where it has no `model` or `seed` and `by` names them,
        as people have none, it is compared with in every one of them. "all" compares every two methods
        once, the later one in the scores with the earlier (those without reader, model or seed standing
        first); scores of a method that is itself called "all" are compared with that.
    by : str or list of str, optional
        Grouping columns besides `method`; by default those of `metric, task` that are present.
    unit, level, n_replicates, rng, draws, weights
        As for `summarize`.
    interval : str, optional
        A name of `intervals.interval_names("difference")`: by default `wild`, the inversion of a wild cluster
        bootstrap test, of 0/1 scores with one pair of each unit `tango`, both chosen by their coverage (`cr2`
        of rows that a few outlying units decide, see Notes), or `percentile` of `draws`; `cr2` and `t` as for
        `summarize`; the others are from replicates.
    pairs : {"complete", "available"}
        Average over the cases where both scores are defined, or each method over its own.
    average : str, optional
        A column of `by`: adds the difference of the averages over it, as rows "Average".
    overall : bool
        Adds rows pooled over tasks, `task` = "Overall".
    test : {"bootstrap", "t", "cr2", "wilcoxon", "mcnemar", "signflip", "wild", "score", "none"}, optional
        Where `p_value` comes from, see Notes; by default that which is one procedure with the interval:
        `wild` and `cr2` beside those, `score` beside `tango`, `bootstrap` beside one from replicates, `t`
        beside another analytic one. With "wild" all limits are `wild`, too, where `interval` is not given.
    adjust : str
        Correction of the p-values over all rows, see `adjust`, or `max-t` or `min-p`, see Notes; `p_adjusted`
        is written unless "none". Rows "Average" and "Overall" are a family of their own.
    simultaneous : bool, optional
        Limits that hold for all rows of a family together, with P values that agree with them, see Notes; by
        default with `max-t` and `min-p`, and True alone means these.
    margin : float, pair or dict, optional
        What differences are too small to matter: 0.05 for those between -0.05 and 0.05, which tests
        equivalence, or bounds of which one may be None, as in (-0.05, None), which tests non-inferiority; or
        that of each metric, {"iou": 0.05}. See Notes.
    effect_size : {"g", "g_z", "d_av", "d_z", "cles"}, optional
        Add a standardised effect size of the pairs: Hedges' g (of d_av, or of d_z), Cohen's d by the spread
        of scores or of differences, or the common language effect size. See Notes.

    Returns
    -------
    DataFrame
        One row per group and compared method, sorted by the grouping columns (Overall and Average
        last) and the method:

        - the grouping columns, `method`, `reference`;
        - `term` ("difference"), `estimate`, `std_error`; `statistic`, `df` of the test, where it has them
          (`df` of the interval beside a test without statistic); `p_value`, `p_adjusted`; of a test from
          replicates `p_floor`, the smallest p-value that they allow: one that is equal to it is printed "<"
          (NaN where `p_value` is of every pattern of signs);
        - `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`, `inference_to`, `weights` as in
          `summarize`;
        - `n` scores of the method that were used (of complete pairs `n_pairs`), `n_missing` pairs where one
          score or both are undefined or not there (`n_absent`, where there is any, those of absent
          findings), `n_units`, `n_undefined` replicates, `bias`;
        - `caution`, where a row deserves one: what makes it doubtful, see Notes;
        - `reference_mean`, `method_mean`, `n_pairs` (both scores defined);
        - `verdict`: the method is "lower" or "higher" than the reference where the interval excludes
          equality (and, with `adjust`, `p_adjusted` is below 1 - `conf_level`), else "inconclusive", as
          where more than 1 % of the replicates are undefined or the interval has width 0; with `margin`
          also "equivalent", "not inferior", "not superior", "lower, equivalent", ..., see Notes;
        - with `margin`, `margin_low` and `margin_high` (infinite where there is no bound), and `p_margin`
          (`p_margin_adjusted`);
        - `test`, `n_replicates`;
        - with `effect_size` its name, `effect`, `effect_low` and `effect_high`, see Notes.

    Raises
    ------
    SalstatsError
        The reference is no method of the scores or the only one; invalid columns or options.

    Warns
    -----
    SalstatsWarning
        As for `summarize`; scores that are mostly 0, and decreases that leave next to nothing, of few units;
        and where, with `adjust`, even the smallest p-value that `n_replicates` allow stays above 1 - level.

    Notes
    -----
    Pairs are formed by key, see `comparisons.pair_rows`: where only the reference has several readers, a
    score makes a pair with each, and the gap is that to the readers' mean. Every pair counts as one, so that
    a case with more readers counts more (with a warning); with `weights="unit"` each unit counts alike. Pairs
    of a case stay together in limits and tests, as all of a unit. The two-sided bootstrap p-value is twice
    the smaller of (1 + count)/(B + 1), counting the replicates on either side of 0. Of the others, `t` is the
    paired t test with clustered errors and `cr2` the same with bias-reduced ones (CR2) and Satterthwaite's
    degrees of freedom, `wilcoxon` R's `wilcox.test` on each unit's mean difference, `mcnemar` the exact test
    for 0/1 scores of independent pairs (statistic: pairs where only the method hits), and `signflip` a
    permutation test that flips the differences of a unit together. `wilcoxon` and `mcnemar` test single
    groups without `weights`: averages over tasks have no p-value from them.

    `tango` limits are the differences of two shares that a score test does not reject (Tango 1998), and
    `score` is that test of no difference, McNemar's without correction, so that both agree. They need 0/1
    scores and one pair of each unit. By default rows of such scores have them, and rows of several pairs of
    a unit where no unit differs from the reference, as if each unit were one pair: flips then give no
    limits. With shares of .5 to .98, differences of 0, .1 and .3 and correlations of 0, .3 and .6 their
    exact coverage is 93 to 100 % with 5 to 100 units, that of `wild` 8 to 99 %, as it counts studies without
    limits as not covered, and 81 to 96 % with 30 or more and differences of .1 and .3. A true hypothesis is
    rejected in at most 5.4 %, and with 40 units a difference of .1 is found up to 1.6 times as often. A joint
    `adjust` and `test="wild"` take flips of all rows.

    `wild`, the wild cluster bootstrap with the hypothesis imposed (Cameron, Gelbach and Miller 2008), flips
    the signs of units' residuals under the hypothesis, every pattern of them where there are no more than
    `n_replicates`; its mid-P counts flips exactly as far from 0 as the data half, and its limits are where
    P crosses 1 - level, so that both agree always. Of one difference it is the sign-flip test, of 0/1 scores
    McNemar's mid-P; of a decrease the hypothesis is method = theta * reference. A limit of exactly 0
    belongs to the interval or not as P decides. Where fewer than 100 flips lie as far as the data, P is that
    of every pattern of signs, of `signflip` too: counted for up to 60 units and for counts such as hits
    (Streitberg and Roehmel 1986), else a saddlepoint approximation (Robinson 1982). So neither has a floor,
    and a small P value does not hang on the seed. Rows of fewer than five units have the limits and P of
    `cr2`, and their `interval` and `test` say so.

    `adjust="max-t"` and `"min-p"` take account of how much rows have in common: a unit has one sign for all
    its rows (`test` is `wild`, `signflip` or `bootstrap`), so that methods that are nearly alike cost less
    than with `holm`. Both come with simultaneous limits, and P values and limits are then one procedure,
    written as `single-step`. A row's `p_adjusted` is the share of flips whose smallest P value, of all rows,
    is at most the row's, and no more than Bonferroni's. Limits are made as `interval` says at one level for
    all rows of a family, `conf_level`, the lowest at which no more than 1 - `family_level` of the flips leave
    any row outside (Beran 1988). With the default interval `p_adjusted` is at most 1 - `family_level` where
    the limits leave 0 out, and only there, as `p_value` is at most 1 - `conf_level`; limits of another
    procedure than the test may disagree near the line.

    With `simultaneous=False` they are step-down procedures (Westfall and Young 1993, Romano and Wolf 2005),
    which find more, beside limits of each row alone. A row's `p_adjusted` is the share of flips that reach
    the row in their largest statistic, of this row and of all whose own is smaller; it is no smaller than
    that of the row before, nor than `p_value`. Flips that are exactly as far count as in `p_value`: of a
    single row both are the same. The statistic of `max-t` is the difference in standard errors, which of
    `wild` and `signflip` are the root of the sum of squares that flips leave as it is; that of `min-p` is the
    P value of each flip among those of its row, and Holm's P value bounds it. Where a few units are large,
    the flips of some rows reach further than those of others, and `min-p` finds more.

    Simulated, 10 true hypotheses on correlated methods and 30 units, of one case each or with three of 10 to
    25: at 5 % step-down `max-t` with `wild` rejected one or more in 4.4 to 5.0 % of studies of normal and of
    0/1 scores, `min-p` in 4.2 to 5.4 %, and of very skewed scores, whose differences are not symmetric, both
    in 5.9 to 6.6 %. Where half of the differences were 0.6 SD, they found 64 % of them and `holm` 61 %, with
    large units 58 % (`max-t`), 73 % (`min-p`) and 71 %. From `bootstrap` replicates the rate was 8 to 21 %.
    Single-step P values rejected one or more in 3.5 to 5.5 % of 400 studies each of symmetric differences.

    `p_margin` is the P value of the hypothesis that the difference lies at the `margin` or beyond: the
    larger of two one-sided P values (TOST, Schuirmann 1987), or the only one, each of the test that the
    interval inverts. It is below alpha = 1 - level where the interval of level 1 - 2 alpha, by default of
    90 %, lies inside the margin; tests at 2.5 % are those of level=0.975. Then the verdict is "equivalent";
    of a margin with one bound "not inferior" where that bounds how much worse the method may be (lower, of
    metrics of which less is better higher), else "not superior". It stands instead of "inconclusive", and
    behind "lower" and "higher": "lower, equivalent" is a difference that is there, and too small to
    matter. One-sided tests mind skewed differences more than two-sided ones: of 30 units that lose an
    exponential amount each, they reject a true bound on the side of the long tail in 8 to 10 %, not in 5.
    `adjust` adjusts `p_margin` over all rows too, as a family of its own.

    Default 95 % limits held in 94 to 98 % of simulated studies of 30 units and in 94 to 97 % of 100,
    percentile limits in 88 to 97 % of those of 30 (`datasets.load_coverage`). The least are sparse scores of
    few units. Where a method fails completely on 6 or 8 % of the cases, in 88 to 92 % of 30 units, mostly
    with a caution.

    A method that sometimes fails completely scores 0 on a few cases and as usual elsewhere. Where up to five
    units lie more than four (of fewer than 20 units six) scaled median absolute deviations from the median,
    and hold half of the variance or more, the row has the caution "few units decide". Flips of signs take
    such units for noise, so that by default these rows have Student's t with CR2 standard errors and the
    degrees of freedom that the spread of the units' squares leaves, if fewer, with its P value (not with
    `max-t` and `min-p`, whose rows share their flips; nor where more than a quarter of the units of a method
    have only zeros, which are no exception there). Of two methods near .9, one of which is 0 on 8 % of
    the cases, limits then hold in 95 % of simulated studies of 40 cases, flipped ones in 83 %. No limits know
    of failures that were not met: of 20 cases one in five studies has none, and its limits miss.

    Effect sizes are of the complete pairs of a row, averages over tasks have none (NaN). With x a score of
    the method, y that of the reference on the same case and n pairs:

    ======  ======================================================================
    `d_av`  (mean x - mean y) / sqrt((var x + var y) / 2), variances with n - 1
    `g`     d_av (1 - 3 / (8 n - 9)); Lakens (2013) calls it g_av
    `d_z`   mean (x - y) / sd (x - y), which is t / sqrt(n)
    `g_z`   d_z J, J = gamma((n-1) / 2) / (sqrt((n-1) / 2) gamma((n-2) / 2))
    `cles`  P(x > y) + P(x = y) / 2 over all n² pairs of an x and any y
    ======  ======================================================================

    pingouin's `compute_effsize(paired=True)` calls d_av "cohen", g "hedges", d_z "cohen_dz" and cles "CLES";
    R's `effectsize::hedges_g(paired = TRUE)` is g_z. d_av and g say how far apart the methods are on the
    scale of scores, whatever the pairing; d_z and g_z grow with the correlation of the pairs. Lakens' printed
    d_av has the mean of both SDs below; the root of the mean variance, used here, is Cumming's (2012). A
    difference of 0 is a d or g of 0 and a cles of 0.5. The limits are from the influence of each pair, summed
    by unit, with CR2 standard errors and Student's t (Satterthwaite's degrees of freedom, fewer where a few
    units hold most of the variance), of cles on the logit scale: simulated, with 20 to 50 units of one to
    seven rows, 95 % limits held in 93 to 97 % for normal, bounded and 0/1 scores. Of scores with a long
    tail (lognormal) no limits of d and g hold (79 to 88 %), those of cles in 95 to 97 %. There are none with
    fewer than four units.

    An average over tasks, and `overall`, leave out a task that is undefined on one side; a replicate that
    drew no score of one of its tasks is undefined, so that all replicates estimate the same thing
    (`interval="order"`, the scripts' rule, averages the tasks that are there). The variance of an average
    adds up each unit's influence with a factor G/(G-1) per task, and has Satterthwaite's degrees of
    freedom, at most those of all its units; with `pairs="available"` G is the smaller side's.

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
    options = check_options("difference", interval, level, n_replicates, rng, draws)
    if _averages_estimates(average, by):
        # the difference of averages is the average of differences
        average = str(average).removesuffix("_mean")
    comparison = ComparisonOptions(reference, by=[], pairs=pairs, average=average, overall=overall)
    hypothesis = HypothesisOptions(test, adjust, simultaneous, margin, weights, effect_size)
    return contrast("difference", scores, comparison, options, hypothesis, by=by, unit=unit)


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

    100 * (reference - method) / reference of the two means over the same cases: 0 is no decrease, 100
    a method that scores 0, negative a method above the reference. Undefined where the reference's mean
    is 0.

    Parameters
    ----------
    scores, reference, by, unit, level, n_replicates, rng, draws, pairs, overall, weights
        As for `difference`.
    test : {"bootstrap", "t", "cr2", "wilcoxon", "mcnemar", "signflip", "wild", "score", "none"}, optional
        Where `p_value` comes from, as for `difference`.
    adjust : str
        A procedure of `adjust()`, "max-t", "min-p" or "none", as for `difference`.
    simultaneous : bool, optional
        Limits that hold for all rows of a family together, as for `difference`.
    margin : float, pair or dict, optional
        What decreases are too small to matter, in percent: 10 for those between -10 and 10, which tests
        equivalence, or bounds of which one may be None, as in (None, 10), which tests non-inferiority; or
        that of each metric. As for `difference`.
    interval : str, optional
        A name of `intervals.interval_names("percent_decrease")`: by default `wild`, of 0/1 scores with one
        pair of each unit `tang`, the inversion of a score test of the ratio, as for `difference`; `delta`
        (delta method) and `fieller`, both with t quantiles of units - 1 degrees of freedom and clustered
        errors; the others are from replicates.
    average : str, optional
        A column of `by`, as `"task"`: adds the decrease *of the averages*, where in each replicate the
        reference and the method are averaged over tasks before the decrease is taken (saporta2022).
        `"task_mean"` adds the mean of the tasks' decreases instead.
    force : bool
        Compute it for a metric without a true zero too.

    Returns
    -------
    DataFrame
        As for `difference`, with `term` "percent_decrease" and `estimate` in percent. With
        `interval="fieller"` a column `conf_set` says "bounded", or what an unbounded set holds
        ("all but a to b", "everything"; limits then -inf and inf).

    Raises
    ------
    SalstatsError
        As for `difference`.
    ValueRangeError
        A metric without a true zero (ncc, sncc, auc, sauc, nss, information_gain), or one that has scores
        below 0, unless forced.

    Notes
    -----
    A ratio of two means can only be read where 0 means "nothing". Chance is 0 for a correlation and 0.5
    for an AUC; for the sNCC of lanfredi2021 (reference mean .028) the percentage decrease is -1.2 % with
    an interval from -184 to 80: it says nothing, and `difference` says all.

    Default 95 % limits held in 93 to 98 % of simulated studies of 30 units and in 93 to 97 % of 100,
    percentile limits in 88 to 96 % of those of 30 (`datasets.load_coverage`). Exact coverage of `tang` (Tang,
    Tang and Chan 2003) is 94 to 100 % with 10 to 40 units, as for `difference`.
    Where a method fails completely on 6 or 8 % of the cases, in 88 to 92 % of 30 units, mostly
    with a caution, as for `difference`.

    The p-values are those of `difference`, since equal means and a decrease of 0 are one hypothesis. Only
    the mean of decreases (`"task_mean"`) is no function of one difference: its p-value is its own, by
    `bootstrap` and `t` (there is none by `signflip`). Where the reference's mean is close to 0, replicates
    with a reference of 0 are undefined; above 1 % there is no verdict, and `fieller` says what can be said.

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
    options = check_options("percent_decrease", interval, level, n_replicates, rng, draws)
    if isinstance(scores, pd.DataFrame) and {"metric", "score"} <= set(scores.columns) and not force:
        _check_ratio_scale(scores)
    averages_estimates = _averages_estimates(average, by)
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
    return contrast("percent_decrease", scores, comparison, options, hypothesis, by=by, unit=unit)


def _averages_estimates(average: str | None, by: str | Sequence[str] | None) -> bool:
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
        if not has_true_zero(str(metric)):
            raise ValueRangeError(
                f"metric {metric!r} has no true zero, so a percentage of it means nothing",
                hint=remedy,
                column="metric",
                value=metric,
            )
    lowest = lowest_scores(scores)
    for metric in lowest.index[lowest < -ROUNDING]:
        raise ValueRangeError(
            f"metric {metric!r} has scores below 0, such as {lowest[metric]:.4g}, so a percentage of it "
            "means nothing",
            hint=remedy,
            column="score",
            value=metric,
        )


def lowest_scores(scores: pd.DataFrame) -> pd.Series:
    """Return the lowest score of each metric, NaN where none is a number."""
    values = pd.to_numeric(scores["score"], errors="coerce")
    return values.groupby(scores["metric"].astype("str")).min()
