"""Mean scores of each group, and mean curves, with intervals; and the replicates behind them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import check_by, check_columns, check_frame, check_numeric, quoted
from salstats.errors import SalstatsError, Setting
from salstats.frames import DEFAULT_BY, KEY_COLUMNS, ColumnCodes, estimates_frame
from salstats.stats.engine.cautions import add_score_cautions_by_metric
from salstats.stats.engine.estimands import mean_target
from salstats.stats.engine.fixed_factors import inference_to_column_if_any
from salstats.stats.engine.grouping import (
    code_scores,
    display_order,
    group_rows_for_means,
    is_average,
    warn_pooled_by_default,
)
from salstats.stats.engine.inference import infer
from salstats.stats.engine.inference_options import check_binary, checked_options
from salstats.stats.engine.replicates import replicate
from salstats.stats.engine.resampling_units import Unit, resolve_unit
from salstats.stats.engine.result_warnings import warn_beyond_range
from salstats.stats.engine.score_reasons import (
    is_missing_for_absent_finding,
    metric_option_columns_several_where_mixed,
    n_absent_column_if_any,
)
from salstats.stats.engine.shared_cases import (
    add_n_shared_by_methods_and_cautions,
    advice_to_compare_in_pairs,
    advice_to_keep_shared_cases,
    case_counts_by_set_of_grouping_columns,
    warn_of_different_cases,
)
from salstats.stats.engine.weighting import Weighting, rows_with_positive_weight


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
        Grouping columns; by default those of `metric`, `method` and `task` that are present.
    unit : str or list of str, optional
        Column that names the units that are resampled, or several columns that name them together. All rows
        of a unit stay together. The default is the first of these of which some value has several cases:

        - the column `patient`;
        - a column with a common name of patients (`patient_id`, `PatientID`, `subject`, `mrn`) or of their
          examinations (`study_id`);
        - the patients at the start of the cases' names (patient1_study1_view2).

        If there is none, cases are the units. A warning names the units unless they are those of `patient` or
        `case`, and proposes others if the cases look like those of fewer patients. A case without a patient's
        id is a unit of its own.
    interval : str, optional
        A name of `intervals.interval_names("mean")`. The default, `recommended`, was chosen by simulated
        coverage: `exact` for 0/1 scores with one score per unit, `wilson_t` for other scores from 0 to 1,
        `cr2` for all other scores, and `percentile` if `draws` are given.

        - `wilson_t` is Wilson's score interval with the effective sample size of the CR2 variance and
          Student's quantile. Its degrees of freedom are those of `cr2`, or fewer where a few units hold most
          of the variance.
        - `cr2` is Student's t with bias-reduced cluster-robust standard errors (CR2) and Satterthwaite's
          degrees of freedom.
        - `t` is Student's t with cluster-robust standard errors and units - 1 degrees of freedom.
        - `exact` (Clopper and Pearson) and `wilson` are for 0/1 scores, with a design effect where units have
          several rows.
        - The others are made from bootstrap replicates.
    level : float
        Confidence level; limits between replicates need at least 2 / (1 - level) replicates.
    n_replicates : int
        Number of bootstrap replicates.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Units of each replicate, instead of random ones: positions among the distinct units in sorted order,
        from 0.
    average : str, optional
        A column of `by`: adds rows "Average", the mean of the group means over this column. It is unweighted
        unless `weights` are weights of the column's values.
    overall : bool
        Adds rows pooled over tasks, in which `task` is "Overall"; `task` must be in `by`.
    weights : str or mapping, optional
        Weights of cases, of units or of the values averaged over, see Notes. One of

        - a column with the number of cases that each case stands for, such as the inverse of its sampling
          probability; cases of weight 0 are left out;
        - "unit", which counts each unit once, whatever its number of scores;
        - the weight of each value of the column `average`, such as the prevalences of tasks,
          {"Edema": 0.12, "Atelectasis": 0.3}.

    Returns
    -------
    DataFrame
        One row per group, sorted by the grouping columns with Overall and Average last:

        - the grouping columns;
        - `term` ("mean"), `estimate`, and `std_error`: the standard deviation of the replicates, or the
          analytic standard error;
        - `df` of intervals by Student's t;
        - `conf_low`, `conf_high`, `conf_level`, `interval` (the name of the row's interval), `unit`;
        - `inference_to` ("these readers", "these trainings") where scores are of several readers or of
          several trainings (`seed`, or `model` unless it is a grouping column): readers and trainings are
          fixed, so that limits do not generalise to others (those of `mrmc` do);
        - `weights`, if they were given: their column, "unit", or in rows "Average" the weights of the values;
        - `n` defined scores, `n_missing` undefined scores, `n_units` units with a defined score; `n_absent`,
          if there are any, the undefined scores of absent findings, which `n_missing` includes;
        - `caution`, if a row has one: "few units decide" if up to five units lie far from all others and hold
          most of the variance, as where a method sometimes fails completely; "mostly zeros"; "few units" if
          the units are worth fewer than four of equal size;
        - `n_shared`, if methods have defined scores of different cases: the number of cases that all methods
          have. The `caution` "different cases" marks the methods that lack more than a tenth of the cases
          that any method has, and more than the square root of their number;
        - with intervals from replicates `n_undefined`, the replicates without a defined score, `bias`, the
          mean of the replicates less the estimate, and `n_replicates`;
        - the columns of the scores that say how they were made, such as `threshold`, `distance_unit` and
          `truth_rule`: the value of each metric, or "several".

    Raises
    ------
    ColumnError, ValueRangeError
        A column is missing or invalid, see `frames.check_scores`; several metrics would be averaged; the
        interval is unknown, the level is outside 0 to 1, or there are fewer replicates than the level needs.
    SalstatsError
        An interval for 0/1 scores is asked for an average; `weights` do not name the values of `average`.

    Warns
    -----
    SalstatsWarning
        About the scores: a score lies outside the range of its metric; names differ only slightly from other
        names; cases are the units although patients have several; several methods, or by default several
        data sets or models, are taken together; methods have scores of different cases; cases have
        different numbers of readers, models or seeds.

        About the estimates: fewer than 20 units are resampled, or there are fewer than 4 degrees of freedom;
        units differ much in size and the interval does not allow for it; averages are over different tasks,
        or over a task of one or two units; an interval has width 0 or is missing; more than 1 % of the
        replicates are undefined.

    Notes
    -----
    Recommended intervals were chosen by their coverage in simulated studies (`datasets.load_coverage`). For
    means of IoU, of spread-out scores and of sparse scores, 95 % limits held in 90 to 96 % of studies of 30
    units and in 93 to 97 % of studies of 100; percentile limits held in 80 to 96 % of the studies of 30. For
    hit rates they held in 93 to 100 % of studies of 30 units and in 94 to 99 % of studies of 100; percentile
    limits in 28 to 97 % of the studies of 30. Coverage is lowest for sparse scores with two huge units. If a
    method fails completely on 6 or 8 % of the cases, limits held in 83 to 94 % of studies of 30 units, mostly
    with a caution: no interval allows for failures that are not in the sample. Scores count as scores from 0
    to 1 if their metric is registered with this range, or if the metric is unknown and no score lies outside.

    Units are drawn once per replicate, and the same draw serves every group. The variance of `t` is
    G / (G - 1) times the sum over the G units of squared sums of residuals, divided by n^2. It is that of
    lm(score ~ 1) with clustered errors, and the ordinary variance of a mean if each unit has one row.

    An average leaves out tasks without a defined score. A replicate in which a task has no defined score is
    undefined, so that all replicates estimate the same quantity; `order`, the rule of the CheXlocalize
    scripts, averages the tasks that are defined. The `t` interval of an average adds up each unit's influence
    on the tasks, with the factor G / (G - 1) for each task, and has Satterthwaite's degrees of freedom, which
    allow for units that tasks share. There is no `t` interval if a task has a single unit; `cr2` and
    `wilson_t` use the variance of the other tasks for it.

    A weighted mean is the ratio sum(w y) / sum(w), and every interval allows for the variation of both sums
    over units. Weights are sampling weights, as in `svymean` of R's survey, not precisions, and only their
    ratios matter. With "unit" it is the mean of the units' means. Weights of 1 change nothing.

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
    options = checked_options("mean", interval, level, n_replicates, rng, draws)
    codes, columns = code_scores(scores, by, DEFAULT_BY)
    if options.interval.kind == "share":
        if average:
            raise SalstatsError(
                Setting("interval", interval), " is for one proportion, not for an average of several"
            )
        check_binary(scores["score"].to_numpy(dtype=np.float64), "interval", options.interval.name)
    codes, units, case_weights = rows_with_positive_weight(codes, resolve_unit(codes, unit), weights, average)
    scores = codes.frame
    grouped_rows = group_rows_for_means(
        codes, columns, units, units_are_weighted_later=case_weights.equal_unit_weights
    )
    estimates = infer(mean_target(grouped_rows, average, overall, case_weights), options)
    keys = estimates.target.keys
    table = estimates.columns(grouped_rows.units.name)
    table |= inference_to_column_if_any(scores, grouped_rows.units.codes, keys)
    table |= case_weights.weights_column_if_any(is_average(keys, average))
    table |= n_absent_column_if_any(keys, scores.loc[is_missing_for_absent_finding(scores), columns], scores)
    special = options.n_replicates_column_if_any() | metric_option_columns_several_where_mixed(scores, keys)
    frame = estimates_frame(keys, table, special, display_order(keys))
    frame = add_score_cautions_by_metric(frame, scores)
    if not options.interval.bounded:
        warn_beyond_range(frame)
    enters_average = case_weights.mask_of_rows_that_enter_averages(scores)
    return add_n_shared_by_methods_and_cautions(
        frame, codes, columns, lambda: advice_to_compare_in_pairs(scores), enters_average=enters_average
    )


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
    scores : DataFrame
        A scores frame, see `read_scores`.
    by : str or list of str, optional
        Grouping columns; by default those of `metric`, `method` and `task` that are present.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
    n_replicates : int
        Number of replicates.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Units of each replicate, instead of random ones: positions among the distinct units in sorted order,
        from 0.
    average : str, optional
        A column of `by`: adds replicates of the mean of the group means over this column, as "Average".
    overall : bool
        Adds replicates of the means of all tasks pooled, in which `task` is "Overall".
    weights : str or mapping, optional
        A column of weights of cases, "unit", or weights of the values of `average`, see `summarize`.

    Returns
    -------
    DataFrame
        One row per group and replicate; groups have the order of `summarize`, and replicates that of the
        draws: the grouping columns, `replicate` (from 0, the row of `draws`), and `estimate`, NaN if no
        defined score was drawn.

    Raises
    ------
    ColumnError, ValueRangeError, SalstatsError
        A column is missing or invalid; several metrics would be averaged; there are no replicates; `weights`
        are not of the values of `average`.

    Examples
    --------
    >>> import salstats as ss
    >>> replicates = ss.bootstrap(ss.datasets.load_simulated(), by=["metric", "method"], n_replicates=200)
    >>> list(replicates.columns), len(replicates)
    (['metric', 'method', 'replicate', 'estimate'], 1200)
    """
    # interval and level do not matter: only replicates are returned
    options = checked_options(
        "mean", interval="normal", level=0.95, n_replicates=n_replicates, rng=rng, draws=draws
    )
    codes, columns = code_scores(scores, by, DEFAULT_BY)
    codes, units, case_weights = rows_with_positive_weight(codes, resolve_unit(codes, unit), weights, average)
    grouped_rows = group_rows_for_means(
        codes, columns, units, units_are_weighted_later=case_weights.equal_unit_weights
    )
    target = mean_target(grouped_rows, average, overall, case_weights)
    warn_of_different_cases(
        case_counts_by_set_of_grouping_columns(target.keys, codes, columns),
        lambda: advice_to_compare_in_pairs(codes.frame),
    )
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
    """Mean of insertion and deletion curves at each step, with an interval for each step.

    Parameters
    ----------
    curves : DataFrame
        The frame that `explain.insertion` or `explain.deletion` returns, or several of these concatenated.
        All curves of a group have the same steps.
    by : str or list of str, optional
        Grouping columns; by default those of `metric` and `method` that are present.
    unit : str or list of str, optional
        Columns that name the units that are resampled; by default patients or else cases, see `summarize`.
    interval : str, optional
        A name of `intervals.interval_names("curve")`, see `summarize`; by default `wilson_t`, but `cr2` for
        values outside 0 to 1, and `percentile` if `draws` are given.
    level : float
        Confidence level.
    n_replicates : int
        Number of bootstrap replicates. The same draw of units serves all steps, methods and metrics.
    rng : int or numpy.random.Generator
        Seed or generator of the draws.
    draws : ndarray of int, shape (n_replicates, n_units), optional
        Units of each replicate, instead of random ones: positions among the distinct units in sorted order,
        from 0.

    Returns
    -------
    DataFrame
        One row per group and fraction, sorted: the grouping columns, `fraction`, then the columns of
        `summarize` with `term` "mean", without `n_undefined` and `bias`; `n` counts curves, `n_missing` the
        undefined ones (constant maps). Then follow `baseline`, `n_steps` and `probability` of the metric's
        curves, "several" if they differ. Each interval is for one step, not for the whole curve.

    Raises
    ------
    ColumnError, SalstatsError
        A column is missing or invalid; a curve is in the frame twice; curves of a group have different steps.

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
    options = checked_options("curve", interval, level, n_replicates, rng, draws)
    check_columns(check_frame(curves, "curves"), ("case", "method", "metric", "fraction", "prob"), "curves")
    groups = check_by(curves, by, ("metric", "method"), "curves")
    warn_pooled_by_default(curves, by, groups)
    scores = curves.assign(
        score=check_numeric(curves, "prob", "curves"), fraction=check_numeric(curves, "fraction", "curves")
    )
    codes = ColumnCodes(scores)
    _check_curves_have_equal_fractions(scores, groups, codes)
    grouped_rows = group_rows_for_means(codes, [*groups, "fraction"], resolve_unit(codes, unit, "curves"))
    # A blank image is the same for every case, so a step without any spread needs no warning.
    estimates = infer(mean_target(grouped_rows), options, allow_constant_scores=True)
    keys = estimates.target.keys
    table = estimates.columns(grouped_rows.units.name)
    table |= inference_to_column_if_any(scores, grouped_rows.units.codes, keys)
    for name in ("n_undefined", "bias"):
        table.pop(name, None)
    frame = estimates_frame(
        keys,
        table,
        metric_option_columns_several_where_mixed(curves, keys, _CURVE_OPTIONS),
        display_order(keys),
    )
    frame = add_score_cautions_by_metric(frame, curves)
    return add_n_shared_by_methods_and_cautions(
        frame, codes, groups, lambda: advice_to_keep_shared_cases(curves, ["prob"], "curves")
    )


def _check_curves_have_equal_fractions(
    curves: pd.DataFrame, groups: Sequence[str], codes: ColumnCodes
) -> None:
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
