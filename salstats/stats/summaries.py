"""Mean scores of each group, and mean curves, with intervals; and the replicates behind them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import check_by, check_columns, check_frame, check_numeric, quoted
from salstats.errors import SalstatsError, Setting
from salstats.frames import DEFAULT_BY, KEY_COLUMNS, ColumnCodes, estimates_frame
from salstats.stats.engine.cautions import carry_cautions
from salstats.stats.engine.estimands import mean_target
from salstats.stats.engine.fixed_factors import inference_to
from salstats.stats.engine.grouping import (
    code_scores,
    display_order,
    group_rows_for_means,
    is_average,
    warn_pooled_by_default,
)
from salstats.stats.engine.inference import check_binary, check_options, infer, replicate
from salstats.stats.engine.resampling_units import Unit, resolve_unit
from salstats.stats.engine.result_warnings import warn_beyond_range
from salstats.stats.engine.score_reasons import absent_column, is_absent, metric_option_columns
from salstats.stats.engine.shared_cases import (
    cases_of_rows,
    mark_shared_cases,
    paired_call,
    shared_rows_call,
    warn_of_different_cases,
)
from salstats.stats.engine.weighting import Weighting, apply_weights


def summarize(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
    average: str | None = None,
    overall: bool = False,
    weights: Weighting = None,
) -> pd.DataFrame:
    """Mean score of each group, with standard error and interval.

    Parameters
    ----------
    scores : DataFrame
        A scores frame, see `read_scores`.
    by : str or list of str, optional
        Grouping columns; by default those of `metric, method, task` that are present.
    unit : str or list of str, optional
        Column that names what is resampled, or several that name it together. By default what several
        cases belong to: `patient`, else a column called as patients (`patient_id`, `PatientID`, `subject`,
        `mrn`) or their examinations (`study_id`) are elsewhere, else the patient at the start of every
        case's name (patient1_study1_view2), else `case`; of any but `patient` and `case` a warning says
        which it is. Cases without a patient's id are units of their own; where cases only look as if several
        were of one patient, a warning proposes the unit. A unit's rows all come along.
    interval : str, optional
        A name of `intervals.interval_names("mean")`; by default `recommended`, chosen by simulated coverage:
        `exact` (Clopper and Pearson) of 0/1 scores, one of each unit, `wilson_t` of other scores from 0 to 1
        and `cr2` of all else, or `percentile` of `draws`. `wilson_t` is
        Wilson's score interval with the effective sample size of the CR2 variance, and its degrees of
        freedom or those that the spread of the units' squares leaves, if fewer; `cr2` is Student's t with
        CR2 standard errors and Satterthwaite's degrees of freedom; `t` has cluster-robust ones and units - 1
        degrees of freedom; `wilson` and `exact` are for 0/1 scores, with a design effect where units have
        several rows; the others are from replicates.
    level : float
        Confidence level; limits between replicates need 2 / (1 - level) of these or more, flips half as many.
    n_replicates : int
        Number of bootstrap replicates, or of flips.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Draws made elsewhere: positions of the distinct units in sorted order, from 0.
    average : str, optional
        A column of `by`: adds the mean of the group means over it, as rows "Average", unweighted unless
        `weights` says their weights.
    overall : bool
        Adds rows pooled over tasks, `task` = "Overall"; `task` must be in `by`.
    weights : str or mapping, optional
        A column with how many cases each case stands for, or `unit`, which counts each unit alike, or weights
        of what is averaged over, such as prevalences of tasks: {"Edema": 0.12, "Atelectasis": 0.3} with
        average="task". Cases that were taken with a known probability have its inverse as their weight;
        those of weight 0 are left out. See Notes.

    Returns
    -------
    DataFrame
        One row per group, sorted by the grouping columns with Overall and Average last:

        - the grouping columns;
        - `term` ("mean"), `estimate`, `std_error` (SD of the replicates, or analytic);
        - `df` with analytic intervals;
        - `conf_low`, `conf_high`, `conf_level`, `interval` (what this row has), `unit`;
        - `inference_to` ("these readers", "these trainings"), where scores are of several readers, or of
          several trainings (`seed`, or `model` where results are not by it): these are fixed, not drawn
          with a unit, and limits say nothing of others (those of `mrmc` do);
        - `weights`, where they were given: their column, "unit", or in rows "Average" those of the values;
        - `n` defined scores, `n_missing` undefined ones, `n_units` units with a defined score; `n_absent`,
          where there is any, those of `n_missing` that are of absent findings;
        - `caution`, where a row deserves one: "few units decide" where up to five units lie far from all
          others and hold most of the variance, as where a method sometimes fails completely; "mostly zeros";
          "few units" where they are worth fewer than four of equal size;
        - `n_shared`, where methods side by side have defined scores of different cases: the cases that all of
          them have; `caution` "different cases" in rows of a method that lacks more than one in ten of
          those that any of them has, and more than the root of their number;
        - with intervals from replicates: `n_undefined` replicates without a defined score, `bias` (mean of
          the replicates - estimate), `n_replicates` drawn;
        - `distance_unit`, `distance_options`, `pdc_options`, `metric_options`, `curve_options`,
          `center_bias`, `n_samples`, `floor`, `human_label`, `truth_rule` where the scores say how they were
          made.

    Raises
    ------
    ColumnError, ValueRangeError
        A column is missing or invalid, see `frames.check_scores`; several metrics would be averaged; an
        unknown interval, a level outside (0, 1), fewer than one replicate.

    Warns
    -----
    SalstatsWarning
        Scores outside the range of their metric, whose mean then has limits that know no bounds; names that
        are nearly other names; cases taken as units although patients repeat; methods taken together, or by
        default data sets or models; methods with scores of different cases; cases with different numbers of
        readers, models or seeds; fewer than 20 units for replicates, or 4 degrees of freedom; units of very
        unequal size, where the interval does not know them; averages over different tasks, or over such of
        one or two units; an interval of width 0, or none; more than 1 % of the replicates undefined.

    Notes
    -----
    Recommended intervals were chosen by their coverage. Of means of IoU, of spread and of sparse scores 95 %
    limits held in 90 to 96 % of simulated studies of 30 units and in 93 to 97 % of 100, percentile limits in
    80 to 96 % of those of 30 (`datasets.load_coverage`). Of hit rates they held in 93 to 100 % of simulated
    studies of 30 units and in 94 to 99 % of 100, percentile limits in 28 to 97 % of those of 30. The least
    are sparse scores with two huge units. Where a method fails completely on 6 or 8 % of the cases, in 83 to
    94 % of 30 units, mostly with a caution: no limits know of failures that were not met. Scores are from 0
    to 1 where their metric is registered so; of an unknown metric, where none lies outside.

    Units are drawn once per replicate and the same draw serves every group. The variance of `t` is
    G/(G-1) times the sum over units of squared sums of residuals over n^2 (G units), which is what
    lm(score ~ 1) with clustered errors gives, and the ordinary one where each unit has one row.

    An average leaves out tasks without a defined score, and a replicate that drew none of one of its tasks
    is undefined, so that all replicates estimate the same thing (`order`, the rule of the CheXlocalize
    scripts, averages the tasks that are there). Its `t` interval adds up each unit's influence, with
    G/(G-1) per task and degrees of freedom after Satterthwaite that know which units tasks share; there is
    none where one task has a single unit, to which `cr2` and `wilson_t` give the other tasks' variance.

    A weighted mean is sum(w y) / sum(w), a ratio, of which each interval takes both sums as they vary over
    units; weights are of sampling (survey's `svymean`), not of precision, and only their ratios count. With
    `unit` it is the mean of the units' means, as if each were one row. Weights of 1 change nothing.

    References
    ----------
    Davison AC, Hinkley DV. Bootstrap Methods and their Application. Cambridge University Press 1997.
    doi:10.1017/CBO9780511802843

    Lumley T. Complex Surveys: A Guide to Analysis Using R. Wiley 2010. doi:10.1002/9780470580066

    Franco C, Little RJA, Louis TA, Slud EV. Comparative study of confidence intervals for proportions in
    complex sample surveys. J Surv Stat Methodol 2019. doi:10.1093/jssam/smy019

    Pustejovsky JE, Tipton E. Small-sample methods for cluster-robust variance estimation and hypothesis
    testing in fixed effects models. J Bus Econ Stat 2018. doi:10.1080/07350015.2016.1247004

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> means = ss.summarize(scores, by=["metric", "method"])
    >>> means[["metric", "method", "n", "n_units"]].head(2)
      metric   method    n  n_units
    0    hit  gradcam  685      140
    1    hit    human  678      140
    """
    options = check_options("mean", interval, level, n_replicates, rng, draws)
    codes, columns = code_scores(scores, by, DEFAULT_BY)
    if options.interval.kind == "share":
        if average:
            raise SalstatsError(
                Setting("interval", interval), " is for one proportion, not for an average of several"
            )
        check_binary(scores["score"].to_numpy(dtype=np.float64), "interval", options.interval.name)
    codes, units, case_weights = apply_weights(codes, resolve_unit(codes, unit), weights, average)
    scores = codes.frame
    grouped_rows = group_rows_for_means(codes, columns, units, each_unit=case_weights.each_unit)
    estimates = infer(mean_target(grouped_rows, average, overall, case_weights), options)
    keys = estimates.target.keys
    table = estimates.columns(grouped_rows.units.name)
    table |= inference_to(scores, grouped_rows.units.codes, keys)
    table |= case_weights.columns(is_average(keys, average))
    table |= absent_column(keys, scores.loc[is_absent(scores), columns], scores)
    special = options.columns() | metric_option_columns(scores, keys)
    frame = estimates_frame(keys, table, special, display_order(keys))
    frame = carry_cautions(frame, scores)
    if not options.interval.bounded:
        warn_beyond_range(frame)
    averaged = case_weights.averaged_rows(scores)
    return mark_shared_cases(frame, codes, columns, lambda: paired_call(scores), averaged=averaged)


def bootstrap(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
    average: str | None = None,
    overall: bool = False,
    weights: Weighting = None,
) -> pd.DataFrame:
    """Bootstrap replicates of the mean score of each group.

    Parameters
    ----------
    scores, by, unit, n_replicates, rng, draws, average, overall, weights
        As for `summarize`.

    Returns
    -------
    DataFrame
        One row per group and replicate, in the order of `summarize` and then of the replicates: the
        grouping columns, `replicate` (from 0: the row of `draws`), `estimate` (NaN where no defined
        score was drawn).

    Raises
    ------
    SalstatsError
        As for `summarize`.

    Examples
    --------
    >>> import salstats as ss
    >>> replicates = ss.bootstrap(ss.datasets.load_simulated(), by=["metric", "method"], n_replicates=200)
    >>> list(replicates.columns), len(replicates)
    (['metric', 'method', 'replicate', 'estimate'], 1200)
    """
    # interval and level do not matter: only replicates are returned
    options = check_options(
        "mean", interval="normal", level=0.95, n_replicates=n_replicates, rng=rng, draws=draws
    )
    codes, columns = code_scores(scores, by, DEFAULT_BY)
    codes, units, case_weights = apply_weights(codes, resolve_unit(codes, unit), weights, average)
    grouped_rows = group_rows_for_means(codes, columns, units, each_unit=case_weights.each_unit)
    target = mean_target(grouped_rows, average, overall, case_weights)
    warn_of_different_cases(cases_of_rows(target.keys, codes, columns), lambda: paired_call(codes.frame))
    replicates = replicate(target.cells, target.estimand, options).estimates
    group_order = display_order(target.keys)
    rows = np.repeat(group_order, options.n_replicates)
    table = {column: target.keys[column].array.take(rows) for column in columns}
    table["replicate"] = np.tile(np.arange(options.n_replicates), len(group_order))
    table["estimate"] = replicates[:, group_order].ravel(order="F")
    return pd.DataFrame(table)


#: Columns with the options of `explain.insertion` and `explain.deletion`.
_CURVE_OPTIONS = ("baseline", "n_steps", "probability")


def mean_curves(
    curves: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Mean of insertion and deletion curves at each step, with its interval there.

    Parameters
    ----------
    curves : DataFrame
        What `explain.insertion` and `explain.deletion` return, or several of these concatenated. Within a
        group all curves have the same steps.
    by : str or list of str, optional
        Grouping columns; by default those of `metric, method` that are present.
    unit, interval, level, n_replicates, rng, draws
        As for `summarize`: the same draw serves all steps, methods and metrics.

    Returns
    -------
    DataFrame
        One row per group and fraction, sorted: the grouping columns, `fraction`, then as `summarize`; `n`
        are curves, `n_missing` undefined ones (constant maps); then `baseline, n_steps, probability` of the
        metric's curves, "several" where they differ. The intervals hold at each step for itself, not for
        the whole curve.

    Raises
    ------
    ColumnError, SalstatsError
        As for `summarize`; a curve stands twice, or curves of a group have different steps.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> curves = pd.DataFrame({"case": [str(i // 2) for i in range(50)], "method": "gradcam",
    ...     "metric": "insertion", "fraction": [0.0, 1.0] * 25, "prob": [i / 50 for i in range(50)]})
    >>> ss.mean_curves(curves)[["method", "fraction", "estimate", "n"]]
        method  fraction  estimate   n
    0  gradcam       0.0      0.48  25
    1  gradcam       1.0      0.50  25
    """
    options = check_options("curve", interval, level, n_replicates, rng, draws)
    check_columns(check_frame(curves, "curves"), ("case", "method", "metric", "fraction", "prob"), "curves")
    groups = check_by(curves, by, ("metric", "method"), "curves")
    warn_pooled_by_default(curves, by, groups)
    scores = curves.assign(
        score=check_numeric(curves, "prob", "curves"), fraction=check_numeric(curves, "fraction", "curves")
    )
    codes = ColumnCodes(scores)
    _check_steps(scores, groups, codes)
    grouped_rows = group_rows_for_means(codes, [*groups, "fraction"], resolve_unit(codes, unit, "curves"))
    # A blank image is the same for every case, so a step without any spread is no cause for a warning.
    estimates = infer(mean_target(grouped_rows), options, constant=True)
    keys = estimates.target.keys
    table = estimates.columns(grouped_rows.units.name)
    table |= inference_to(scores, grouped_rows.units.codes, keys)
    for name in ("n_undefined", "bias"):
        table.pop(name, None)
    frame = estimates_frame(
        keys, table, metric_option_columns(curves, keys, _CURVE_OPTIONS), display_order(keys)
    )
    return mark_shared_cases(frame, codes, groups, lambda: shared_rows_call(curves, ["prob"], "curves"))


def _check_steps(curves: pd.DataFrame, groups: Sequence[str], codes: ColumnCodes) -> None:
    """Raise SalstatsError unless each curve has each fraction of its group once."""
    curve_columns = [column for column in KEY_COLUMNS if column in curves.columns]
    point_columns = [*curve_columns, "fraction"]
    point_codes = codes.combined(point_columns)
    is_repeated = np.bincount(point_codes)[point_codes] > 1
    if is_repeated.any():
        row = int(np.flatnonzero(is_repeated)[0])
        point = ", ".join(f"{column} {curves[column].iloc[row]}" for column in point_columns)
        raise SalstatsError(
            f"curves has more than one row for {point}; keep one of them",
            column="fraction",
            rows=np.flatnonzero(is_repeated).tolist(),
        )
    group_codes = np.zeros(len(curves), np.int64)
    if groups:
        group_codes = codes.combined(groups)
    curve_codes = codes.combined(curve_columns)
    n_fractions = pd.Series(curves["fraction"].to_numpy()).groupby(group_codes).nunique()
    n_points = np.bincount(curve_codes)[curve_codes]
    is_incomplete = n_points != n_fractions.reindex(group_codes).to_numpy()
    if is_incomplete.any():
        row = int(np.flatnonzero(is_incomplete)[0])
        curve = ", ".join(f"{column} {curves[column].iloc[row]}" for column in curve_columns)
        raise SalstatsError(
            f"curves of a group must have the same fractions; the one of {curve} has {n_points[row]} of "
            f"{n_fractions[group_codes[row]]}; group by what they differ in ({quoted(curves.columns)})",
            column="fraction",
            rows=np.flatnonzero(is_incomplete).tolist(),
        )
