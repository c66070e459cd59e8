"""Calibration of predicted probabilities: observed rates in bins, intercept and slope, Brier score."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, special

from salstats.checks import check_count, check_frame, check_level
from salstats.errors import ColumnError, SalstatsWarning, ValueRangeError, warn
from salstats.frames import ESTIMATE_COLUMNS, estimates_frame
from salstats.stats.auroc import LabelledTable, labelled_table
from salstats.stats.binned_means import quantile_bin_numbers
from salstats.stats.engine.cautions import FEW_EVENTS, FEW_UNITS, caution_column_if_any
from salstats.stats.engine.few_units import (
    are_few_events,
    count_units_with_rarer_value,
    has_few_effective_units_by_estimate,
)
from salstats.stats.engine.fixed_factors import inference_to_column_if_any
from salstats.stats.engine.grouping import named_groups, row_groups
from salstats.stats.engine.limits import t_limits
from salstats.stats.engine.resampling_units import Unit, Units, has_units, resolve_unit
from salstats.stats.engine.shared_cases import (
    add_n_shared_by_methods_and_cautions,
    advice_to_keep_shared_cases,
)
from salstats.stats.models.covariance import bias_reduced_covariance, has_no_sandwich_variance
from salstats.stats.models.family import NotEstimableError, qr_and_leverage
from salstats.stats.models.logit import bernoulli_variance, logit
from salstats.stats.summaries import summarize

#: Default number of bins of a curve; there are fewer where a bin would have fewer than `_MIN_ROWS_PER_BIN`.
_MAX_BINS = 10
_MIN_ROWS_PER_BIN = 20
#: Largest error of a calibration intercept.
_TOLERANCE = 1e-12
#: Terms of `calibration` in the order of its rows, each with its null value; NaN where there is no test.
_NULL_VALUES = {"calibration_intercept": 0.0, "calibration_slope": 1.0, "brier_score": np.nan}


def calibration(
    data: pd.DataFrame,
    prob: str,
    label: str,
    *,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Calibration intercept, calibration slope and Brier score of predicted probabilities.

    They show whether findings are as frequent as predicted (intercept 0), whether predictions are too extreme
    (slope below 1) or not extreme enough (slope above 1), and how far predictions are from labels.

    Parameters
    ----------
    data : DataFrame
        A scores frame or any tidy table. A scores frame repeats `prob` and `label` for every metric and
        method; they are used once for each data set, case, task and group, and must be equal there.
    prob : str
        Column or metric of the predicted probability of a label 1, from 0 to 1.
    label : str
        Column or metric of the label, such as `hit`: 0 and 1, or False and True.
    by : str or sequence of str, optional
        Grouping columns; by default `task` if there is such a column, and also `method` if `prob` or `label`
        is a metric. `()` pools all rows.
    unit : str or list of str, optional
        Columns that name the independent units; by default patients or else cases, see `summarize`.
    level : float
        Confidence level.

    Returns
    -------
    DataFrame
        Three rows for each group, groups sorted: the grouping columns, then

        term, estimate
            "calibration_intercept": the intercept a of logit(P(label = 1)) = a + logit(prob), above 0 where
            findings are more frequent than predicted. "calibration_slope": the slope b of
            logit(P(label = 1)) = a + b logit(prob). "brier_score": the mean of (label - prob)², smaller is
            better. Intercept and slope are NaN, with a warning, where all labels are equal, where a
            probability is exactly 0 or 1, and the slope where all probabilities are equal or separate the
            labels.
        std_error, statistic, df, p_value
            Bias-reduced cluster-robust standard errors (CR2), and Student's t test, with Satterthwaite's
            degrees of freedom, of an intercept of 0 and of a slope of 1. The Brier score has no test.
        conf_low, conf_high, conf_level, interval
            Limits of intercept and slope from the same distribution ("cr2"), those of the Brier score as
            `summarize` gives them for the mean of squared differences ("wilson_t").
        unit, n, n_missing, n_units
            The name of the units, "row" if no column names any; the rows of the group with a probability and
            a label, its other rows, and the units of the rows used.
        inference_to, caution
            "these readers" or "these trainings" if the rows are of several; "few events" if fewer than ten
            units have the rarer label; "few units" if the units are worth fewer than four of equal size;
            "different cases" if a method lacks many cases that others have.
        n_shared
            If methods have rows of different cases: the number of cases that all methods have.
        predictor, response, n_positive, n_negative
            The names of `prob` and `label`, and the numbers of rows with label 1 and 0.

    Raises
    ------
    ColumnError
        A name is neither a column nor a metric, or is not numeric; a case of a scores frame has two values of
        `prob` or `label` in a group; no row has both a probability and a label.
    ValueRangeError
        A value of `prob` is below 0 or above 1; a label is neither 0 nor 1.

    Warns
    -----
    SalstatsWarning
        Groups without intercept and slope, with the reason.

    Notes
    -----
    Intercept and slope are those of Cox's logistic recalibration; the intercept is estimated with the slope
    fixed at 1 (calibration in the large). Neither shows in which range predictions are wrong:
    `calibration_curve` does. Checked against statsmodels' `GLM` with an offset and its `Logit`.

    In simulations of calibrated predictions (500 studies each of 40 and of 100 patients with 1 to 6 rows that
    are correlated by 0.5) 95 % limits held in 93 to 97 % of the studies.

    References
    ----------
    Cox DR. Two further applications of a model for binary regression. Biometrika 1958;45:562-565.
    https://doi.org/10.1093/biomet/45.3-4.562

    Van Calster B, Nieboer D, Vergouwe Y, De Cock B, Pencina MJ, Steyerberg EW. A calibration hierarchy for
    risk models was defined: from utopia to empirical data. J Clin Epidemiol 2016;74:167-176.
    https://doi.org/10.1016/j.jclinepi.2015.12.005

    Van Calster B, McLernon DJ, van Smeden M, Wynants L, Steyerberg EW. Calibration: the Achilles heel of
    predictive analytics. BMC Med 2019;17:230. https://doi.org/10.1186/s12916-019-1466-7

    Brier GW. Verification of forecasts expressed in terms of probability. Mon Weather Rev 1950;78:1-3.
    https://doi.org/10.1175/1520-0493(1950)078%3C0001:VOFEIT%3E2.0.CO;2

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> ss.calibration(scores, "prob", "label")[["task", "term", "n"]].head(3)
              task                   term    n
    0  Atelectasis  calibration_intercept  194
    1  Atelectasis      calibration_slope  194
    2  Atelectasis            brier_score  194
    """
    check_level(level)
    predictions = _all_predictions_and_complete_row_numbers(data, prob, label, by, unit)
    keys = predictions.keys
    brier_scores = _summarized_means(
        predictions.squared_errors, predictions.rows_of_groups, predictions.units, level
    )
    coefficients = _coefficients_of_groups(predictions)
    # rows are groups, columns the terms
    estimate = np.column_stack([*coefficients.estimate.T, brier_scores["estimate"]])
    std_error = np.column_stack([*coefficients.std_error.T, brier_scores["std_error"]])
    df = np.column_stack([*coefficients.df.T, brier_scores["df"]])
    low, high = t_limits(estimate, std_error, df, level)
    low[:, -1] = brier_scores["conf_low"]
    high[:, -1] = brier_scores["conf_high"]
    statistic = (estimate - list(_NULL_VALUES.values())) / std_error
    columns = {
        "term": np.tile(list(_NULL_VALUES), len(keys)),
        "estimate": estimate.ravel(),
        "std_error": std_error.ravel(),
        "statistic": statistic.ravel(),
        "df": df.ravel(),
        "p_value": 2 * special.stdtr(df, -np.abs(statistic)).ravel(),
        "conf_low": low.ravel(),
        "conf_high": high.ravel(),
        "conf_level": level,
        "interval": np.tile(["cr2", "cr2", "wilson_t"], len(keys)),
    }
    group_of_row = np.repeat(np.arange(len(keys)), len(_NULL_VALUES))
    columns |= _inference_to_unit_and_n_missing_columns(predictions, group_of_row)
    cautions = _caution_column_of_groups(predictions)
    columns |= {name: values.take(group_of_row) for name, values in cautions.items()}
    columns["n"] = predictions.n_complete_rows[group_of_row]
    columns["n_units"] = predictions.n_units[group_of_row]
    special_columns = {
        "predictor": prob,
        "response": label,
        "n_positive": predictions.n_positive[group_of_row],
        "n_negative": (predictions.n_complete_rows - predictions.n_positive)[group_of_row],
    }
    result = estimates_frame(keys.loc[group_of_row].reset_index(drop=True), columns, special_columns)
    return add_n_shared_by_methods_and_cautions(
        result,
        predictions.table.codes,
        predictions.table.groups,
        lambda: advice_to_keep_shared_cases(data, [prob, label], "data"),
        predictions.is_complete_row,
    )


def calibration_curve(
    data: pd.DataFrame,
    prob: str,
    label: str,
    *,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    n_bins: int | None = None,
    interval: str = "wilson",
    level: float = 0.95,
) -> pd.DataFrame:
    """Observed rate of a label in bins of its predicted probability, with its interval.

    Of calibrated predictions the observed rate of each bin is its mean prediction, up to chance.

    Parameters
    ----------
    data : DataFrame
        A scores frame or any tidy table. A scores frame repeats `prob` and `label` for every metric and
        method; they are used once for each data set, case, task and group, and must be equal there.
    prob : str
        Column or metric of the predicted probability of a label 1, from 0 to 1.
    label : str
        Column or metric of the label, such as `hit`: 0 and 1, or False and True.
    by : str or sequence of str, optional
        Grouping columns; by default `task` if there is such a column, and also `method` if `prob` or `label`
        is a metric. `()` pools all rows.
    unit : str or list of str, optional
        Columns that name the independent units; by default patients or else cases, see `summarize`.
    n_bins : int, optional
        Number of bins of each group; by default ten, or fewer, but at least two, so that each has 20 rows.
    interval : str
        A name of `intervals.interval_names("mean")`; by default `wilson`, Wilson's score interval with a
        design effect if units have several rows in the bin. `recommended`, the default of `summarize`, is
        wider.
    level : float
        Confidence level of each limit.

    Returns
    -------
    DataFrame
        A row for each bin of each group: the grouping columns, sorted, then

        bin
            Number of the bin, from 1. Borders of bins are quantiles of `prob` in the group, so that bins have
            about equal numbers of rows; a value on a border belongs to the bin above, and rows with equal
            values to one bin, so that there may be fewer bins than asked for.
        term, estimate
            "observed_rate", and the share of the rows of the bin with label 1.
        std_error, df, conf_low, conf_high, conf_level, interval
            Standard error, degrees of freedom and limits by `interval`, which keep the rows of a unit
            together. Limits are for each bin by itself.
        unit, n, n_missing, n_units
            The name of the units, "row" if no column names any; the rows of the bin, the rows of the group
            without `prob` or `label`, and the units of the bin.
        inference_to, caution
            "these readers" or "these trainings" if the rows are of several; cautions of the bin's mean.
        predictor, response, n_positive
            The names of `prob` and `label`, and the number of rows of the bin with label 1.
        predicted, bin_low, bin_high
            Mean, smallest and largest `prob` in the bin.

    Raises
    ------
    ColumnError, ValueRangeError
        A name is neither a column nor a metric, or is not numeric; a case of a scores frame has two values of
        `prob` or `label` in a group; a probability is outside 0 to 1, a label neither 0 nor 1; the interval
        is unknown; there is less than one bin.

    Notes
    -----
    Rates and mean predictions are those of scikit-learn's `calibration_curve` with `strategy="quantile"`, but
    for values on a border, which it puts into the bin below.

    In simulations of calibrated predictions (500 studies each of 40 and of 100 patients with 1 to 6 rows that
    are correlated by 0.5) 95 % limits held the mean prediction in 95 to 96 % of the bins.

    References
    ----------
    Van Calster B, McLernon DJ, van Smeden M, Wynants L, Steyerberg EW. Calibration: the Achilles heel of
    predictive analytics. BMC Med 2019;17:230. https://doi.org/10.1186/s12916-019-1466-7

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> table = pd.DataFrame({"prob": [0.1, 0.2, 0.3, 0.7, 0.8, 0.9], "label": [0, 0, 1, 0, 1, 1]})
    >>> ss.calibration_curve(table, "prob", "label")[["bin", "predicted", "estimate", "n"]].round(3)
       bin  predicted  estimate  n
    0    1        0.2     0.333  3
    1    2        0.8     0.667  3
    """
    check_level(level)
    if n_bins is not None:
        check_count(n_bins, "n_bins")
    predictions = _all_predictions_and_complete_row_numbers(data, prob, label, by, unit)
    bins = []
    for group, rows in enumerate(predictions.rows_of_groups):
        bins += _bins_of_group(group, rows, predictions.probs[rows], n_bins)
    rows_of_bins = [each.rows for each in bins]
    group_of_bin = np.array([each.group for each in bins], dtype=np.int64)
    probs_of_bins = [predictions.probs[rows] for rows in rows_of_bins]
    rates = _summarized_means(predictions.labels, rows_of_bins, predictions.units, level, interval)
    keys = predictions.keys.loc[group_of_bin].reset_index(drop=True)
    keys["bin"] = [each.number for each in bins]
    columns = {name: rates[name].array for name in ESTIMATE_COLUMNS if name in rates.columns}
    columns |= _inference_to_unit_and_n_missing_columns(predictions, group_of_bin)
    columns["term"] = "observed_rate"
    special_columns = {
        "predictor": prob,
        "response": label,
        "n_positive": [int((predictions.labels[rows] == 1).sum()) for rows in rows_of_bins],
        "predicted": [float(probs.mean()) for probs in probs_of_bins],
        "bin_low": [float(probs.min()) for probs in probs_of_bins],
        "bin_high": [float(probs.max()) for probs in probs_of_bins],
    }
    if "n_replicates" in rates.columns:
        special_columns["n_replicates"] = rates["n_replicates"].array
    return estimates_frame(keys, columns, special_columns)


@dataclass(frozen=True)
class _Predictions:
    """Predicted probabilities with their labels, as groups of rows; arrays have the shape (n_rows,)."""

    #: Table with the rows of the predictions.
    table: LabelledTable
    #: Probabilities from 0 to 1 and labels 0 and 1, NaN where missing.
    probs: np.ndarray
    labels: np.ndarray
    #: Code of the unit of each row; each row is one where no column names units.
    units: NDArray[np.integer]
    unit_name: str
    #: Grouping columns of the groups.
    keys: pd.DataFrame
    #: Rows of each group, those without a probability or a label left out.
    rows_of_groups: list[NDArray[np.integer]]
    #: (n_groups,): Rows without a probability or a label.
    n_missing: np.ndarray

    @property
    def is_complete_row(self) -> NDArray[np.bool_]:
        """True for each row with a probability and a label."""
        is_complete: NDArray[np.bool_] = ~(np.isnan(self.probs) | np.isnan(self.labels))
        return is_complete

    @property
    def squared_errors(self) -> np.ndarray:
        """Squared difference of label and probability of each row."""
        squared_errors: np.ndarray = (self.labels - self.probs) ** 2
        return squared_errors

    @property
    def n_complete_rows(self) -> np.ndarray:
        """Number of complete rows of each group, shape (n_groups,)."""
        return np.array([len(rows) for rows in self.rows_of_groups])

    @property
    def n_units(self) -> np.ndarray:
        """Number of units of each group, shape (n_groups,)."""
        return np.array([len(np.unique(self.units[rows])) for rows in self.rows_of_groups])

    @property
    def n_positive(self) -> np.ndarray:
        """Number of complete rows with label 1 of each group, shape (n_groups,)."""
        return np.array([int((self.labels[rows] == 1).sum()) for rows in self.rows_of_groups])


def _all_predictions_and_complete_row_numbers(
    data: pd.DataFrame, prob: str, label: str, by: str | Sequence[str] | None, unit: Unit
) -> _Predictions:
    """Read probabilities, labels, groups and units; raise for a probability below 0 or above 1."""
    frame = check_frame(data, "data")
    wide = labelled_table(frame, prob, label, None, by, unit)
    _check_probabilities(wide.scores, prob)
    units = Units("row", np.arange(len(wide.scores)), len(wide.scores))
    if has_units(wide.codes.frame, unit):
        units = resolve_unit(wide.codes, unit, "data")
    is_complete = ~(np.isnan(wide.scores) | np.isnan(wide.labels))
    if not is_complete.any():
        raise ColumnError(f"no row has both a probability ({prob!r}) and a label ({label!r})", column=label)
    keys, all_rows_of_groups = row_groups(wide.codes, wide.groups)
    rows_of_groups = [rows[is_complete[rows]] for rows in all_rows_of_groups]
    n_missing = [int((~is_complete[rows]).sum()) for rows in all_rows_of_groups]
    return _Predictions(
        table=wide,
        probs=wide.scores,
        labels=wide.labels,
        units=units.codes,
        unit_name=units.name,
        keys=keys,
        rows_of_groups=rows_of_groups,
        n_missing=np.array(n_missing),
    )


def _check_probabilities(probs: np.ndarray, name: str) -> None:
    """Raise ValueRangeError where a value is below 0 or above 1."""
    invalid_rows = np.flatnonzero((probs < 0) | (probs > 1))
    if len(invalid_rows):
        raise ValueRangeError(
            f"column {name!r} must hold probabilities from 0 to 1, not {probs[invalid_rows[0]]:g}",
            hint="logits and scores of another range have no calibration: make probabilities of them first",
            column=name,
            rows=invalid_rows.tolist(),
        )


def _summarized_means(
    values: np.ndarray,
    rows_of_groups: Sequence[NDArray[np.integer]],
    units: NDArray[np.integer],
    level: float,
    interval: str | None = None,
) -> pd.DataFrame:
    """Return the frame of `summarize` for values (n_rows,), a row per group; NaN without values."""
    rows = np.concatenate(rows_of_groups)
    group_sizes = [len(group_rows) for group_rows in rows_of_groups]
    scores = pd.DataFrame(
        {
            "case": rows.astype(str),
            "method": "all",
            "metric": "value",
            "score": values[rows],
            "group": np.repeat(np.arange(len(rows_of_groups)), group_sizes),
            "unit": units[rows],
        }
    )
    with warnings.catch_warnings():
        # the column `caution` says what is doubtful
        warnings.simplefilter("ignore", SalstatsWarning)
        means = summarize(scores, by="group", unit="unit", interval=interval, level=level)
    return means.set_index("group").reindex(range(len(rows_of_groups))).reset_index(drop=True)


def _inference_to_unit_and_n_missing_columns(
    predictions: _Predictions, group_of_estimate_row: NDArray[np.integer]
) -> dict[str, Any]:
    """Return the columns `inference_to` (the population, if a factor is fixed), `unit` and `n_missing`.

    `group_of_estimate_row` is the group of each row of the estimates frame.
    """
    named_units = None
    if predictions.unit_name != "row":
        named_units = predictions.units
    populations = inference_to_column_if_any(predictions.table.codes.frame, named_units, predictions.keys)
    columns = {name: values.take(group_of_estimate_row) for name, values in populations.items()}
    columns["unit"] = predictions.unit_name
    columns["n_missing"] = predictions.n_missing[group_of_estimate_row]
    return columns


def _caution_column_of_groups(predictions: _Predictions) -> dict[str, Any]:
    """Return the column `caution` of the groups, or nothing where no group deserves one."""
    units_of_groups = []
    n_rarer = []
    for rows in predictions.rows_of_groups:
        units = predictions.units[rows]
        units_of_groups.append(units)
        n_rarer.append(count_units_with_rarer_value(predictions.labels[rows], units))
    return caution_column_if_any(
        {
            FEW_UNITS: has_few_effective_units_by_estimate(units_of_groups),
            FEW_EVENTS: are_few_events(np.array(n_rarer)),
        }
    )


class _Bin(NamedTuple):
    """Rows of a group whose predictions lie between two quantiles."""

    group: int
    #: Number of the bin in its group, from 1.
    number: int
    rows: NDArray[np.integer]


def _bins_of_group(
    group: int, rows: NDArray[np.integer], probs: np.ndarray, n_bins: int | None
) -> list[_Bin]:
    """Return the bins of the rows of a group, which have the probabilities `probs`; none without rows."""
    if not len(rows):
        return []
    if n_bins is None:
        n_bins = int(np.clip(len(rows) // _MIN_ROWS_PER_BIN, 2, _MAX_BINS))
    bin_of_row = quantile_bin_numbers(probs, n_bins)
    bins = []
    for number, bin_code in enumerate(np.unique(bin_of_row), start=1):
        bins.append(_Bin(group, number, rows[bin_of_row == bin_code]))
    return bins


class _Coefficients(NamedTuple):
    """Calibration intercept and slope, the two columns of each array, of each group, its rows."""

    estimate: np.ndarray
    std_error: np.ndarray
    df: np.ndarray


class _EstimateErrorAndDf(NamedTuple):
    """A coefficient with its standard error and degrees of freedom."""

    estimate: float
    std_error: float
    df: float


_UNDEFINED = _EstimateErrorAndDf(np.nan, np.nan, np.nan)


def _coefficients_of_groups(predictions: _Predictions) -> _Coefficients:
    """Estimate intercept and slope of each group; NaN, with a warning, where they are not defined."""
    n_groups = len(predictions.keys)
    has_one_class = (predictions.n_positive == 0) | (predictions.n_positive == predictions.n_complete_rows)
    is_certain = (predictions.probs == 0) | (predictions.probs == 1)
    has_certain = np.array([bool(is_certain[rows].any()) for rows in predictions.rows_of_groups])
    has_no_slope = np.zeros(n_groups, dtype=bool)
    intercepts = [_UNDEFINED] * n_groups
    slopes = [_UNDEFINED] * n_groups
    for group in np.flatnonzero(~has_one_class & ~has_certain):
        rows = predictions.rows_of_groups[group]
        log_odds = special.logit(predictions.probs[rows])
        labels = predictions.labels[rows]
        clusters = np.unique(predictions.units[rows], return_inverse=True)[1]
        intercepts[group] = _logit_intercept(log_odds, labels, clusters)
        try:
            slopes[group] = _logit_slope(log_odds, labels, clusters)
        except NotEstimableError:
            has_no_slope[group] = True
    is_undefined_by_certainty = has_certain & ~has_one_class
    certain_prob = None
    if is_undefined_by_certainty.any():
        rows = predictions.rows_of_groups[int(np.flatnonzero(is_undefined_by_certainty)[0])]
        certain_prob = float(predictions.probs[rows][is_certain[rows]][0])
    both = "intercept and slope are"
    reasons = [
        (has_one_class, "n_positive", None, both, "all labels are equal"),
        (is_undefined_by_certainty, "estimate", certain_prob, both, "a probability is exactly 0 or 1"),
        (has_no_slope, "estimate", None, "slope is", "all probabilities are equal or separate the labels"),
    ]
    for has_reason, column, value, subject, reason in reasons:
        if has_reason.any():
            warn(
                f"the calibration {subject} undefined (NaN) where {reason}: ",
                named_groups(predictions.keys, has_reason),
                column=column,
                value=value,
            )
    # Axes: groups; intercept and slope; estimate, standard error and degrees of freedom
    numbers = np.array([intercepts, slopes]).swapaxes(0, 1)
    return _Coefficients(estimate=numbers[..., 0], std_error=numbers[..., 1], df=numbers[..., 2])


def _logit_intercept(
    log_odds: np.ndarray, labels: np.ndarray, clusters: NDArray[np.integer]
) -> _EstimateErrorAndDf:
    """Estimate the intercept of a logit model with the log odds as offset."""
    label_log_odds = float(special.logit(labels.mean()))

    def excess(intercept: float) -> float:
        """Return the mean fitted probability less the share of labels 1, which grows with the intercept."""
        return float(special.expit(intercept + log_odds).mean() - labels.mean())

    # at these ends all fitted probabilities are below, or all above, the share of labels 1
    low = label_log_odds - log_odds.max() - 1
    high = label_log_odds - log_odds.min() + 1
    intercept = float(optimize.brentq(excess, low, high, xtol=_TOLERANCE))
    fitted = special.expit(intercept + log_odds)
    return _last_coefficient_with_robust_error_and_df(
        intercept, np.ones((len(labels), 1)), fitted, labels, clusters
    )


def _logit_slope(
    log_odds: np.ndarray, labels: np.ndarray, clusters: NDArray[np.integer]
) -> _EstimateErrorAndDf:
    """Estimate the slope of a logit model on the log odds; NotEstimableError where it is not finite."""
    if np.ptp(log_odds) == 0:
        raise NotEstimableError("all probabilities are equal")
    matrix = np.column_stack([np.ones(len(labels)), log_odds])
    solution = logit(matrix, labels, has_intercept=True)
    return _last_coefficient_with_robust_error_and_df(
        float(solution.coefficients[1]), matrix, solution.fitted, labels, clusters
    )


def _last_coefficient_with_robust_error_and_df(
    estimate: float, matrix: np.ndarray, fitted: np.ndarray, labels: np.ndarray, clusters: NDArray[np.integer]
) -> _EstimateErrorAndDf:
    """Return the coefficient of the last column of a logit model with its CR2 standard error."""
    weights = bernoulli_variance(fitted)
    root = np.sqrt(weights)
    rows = matrix * root[:, None]
    errors = np.divide(labels - fitted, root, where=root > 0, out=np.zeros(len(labels)))
    bread = qr_and_leverage(rows).gram_inverse
    robust = bias_reduced_covariance(rows, errors, bread, clusters, weights)
    if has_no_sandwich_variance(rows, bread, clusters)[-1]:
        return _EstimateErrorAndDf(estimate, np.nan, np.nan)
    return _EstimateErrorAndDf(estimate, float(np.sqrt(robust.covariance[-1, -1])), float(robust.df[-1]))
