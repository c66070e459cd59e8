"""Inference of the CheXlocalize scripts, to compare with the numbers that these printed.

Analyses use `summarize`, `percent_decrease` and `correlate`. The functions here answer whether a number is
the published one, and show what a better choice changes. The scripts are those of
rajpurkarlab/cheXlocalize, commit 2a79492: eval.py (`bootstrap_metric`, `compute_cis`) and
calculate_percentage_decrease.py.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import pandas as pd

from salstats.errors import SalstatsError, SalstatsWarning
from salstats.stats.contrasts import percent_decrease
from salstats.stats.correlation import correlate
from salstats.stats.engine import limits
from salstats.stats.engine.grouping import AVERAGE
from salstats.stats.engine.result_warnings import RepeatedUnitsWarning
from salstats.stats.summaries import bootstrap, summarize
from salstats.study import HUMAN

#: The numbers of a percentage decrease.
DECREASE_COLUMNS = ["reference_mean", "method_mean", "estimate", "conf_low", "conf_high"]
#: The quantile that the scripts write into their formula.
PUBLISHED_QUANTILE = 1.96


class Decrease(NamedTuple):
    """The numbers of a percentage decrease, in the order of `DECREASE_COLUMNS`."""

    reference_mean: float
    method_mean: float
    estimate: float
    conf_low: float
    conf_high: float


def published_draws(n_cases: int, *, n_replicates: int = 1000, seed: int = 0) -> np.ndarray:
    """Return the draws of the CheXlocalize scripts: `numpy.random.seed(seed)`, then a sample per replicate.

    Positions of the cases in sorted order, (n_replicates, n_cases). The stream of NumPy's old generator
    (MT19937) is the same in all its versions.
    """
    random = np.random.RandomState(seed)
    return np.stack([random.randint(0, n_cases, n_cases) for _ in range(n_replicates)])


@contextmanager
def _without_package_warnings() -> Iterator[None]:
    """Ignore the package's warnings in a block: they advise against choices that the scripts make."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        yield


def summarize_as_published(
    scores: pd.DataFrame, by: Sequence[str] = ("metric", "method", "task"), n_replicates: int = 1000
) -> pd.DataFrame:
    """Return means as the CheXlocalize scripts report them, in the columns of `summarize(interval="order")`.

    Each method and model is resampled by itself with the same seed: cases, as if independent, whether or not
    they show the finding. The limits are order statistics; the estimate is the *mean of the replicates*.
    """
    parts = []
    columns = list(by)
    for rows, draws in _rows_of_each_method_and_model_with_draws(scores, n_replicates):
        with _without_package_warnings():
            means = summarize(rows, by=columns, unit="case", draws=draws, interval="order")
            replicates = bootstrap(rows, by=columns, unit="case", draws=draws)
        # Groups of both frames have the same order.
        groups = replicates.groupby(columns, sort=False, dropna=False)["estimate"]
        parts.append(means.assign(estimate=groups.mean().to_numpy()))
    result = pd.concat(parts, ignore_index=True)
    return result.sort_values(columns, kind="stable", ignore_index=True)


def bootstrap_replicates_as_published(
    scores: pd.DataFrame, by: Sequence[str] = ("metric", "method", "task"), n_replicates: int = 1000
) -> pd.DataFrame:
    """Return the replicates of `summarize_as_published`, which eval.py writes to a file: as `bootstrap`."""
    parts = []
    for rows, draws in _rows_of_each_method_and_model_with_draws(scores, n_replicates):
        with _without_package_warnings():
            parts.append(bootstrap(rows, by=list(by), unit="case", draws=draws))
    replicates = pd.concat(parts, ignore_index=True)
    return replicates.sort_values(list(by), kind="stable", ignore_index=True)


def _rows_of_each_method_and_model_with_draws(
    scores: pd.DataFrame, n_replicates: int
) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Yield the rows of each method and model, which are one file of the scripts, and the draws of cases."""
    keys = [column for column in ("method", "model") if column in scores]
    for _, rows in scores.groupby(keys, dropna=False):
        yield rows, published_draws(rows["case"].nunique(), n_replicates=n_replicates)


def percent_decrease_as_published(
    scores: pd.DataFrame, reference: str = HUMAN, n_replicates: int = 1000
) -> pd.DataFrame:
    """Return percentage decreases as calculate_percentage_decrease.py prints them, with its rounding.

    Every method must have the cases of the reference, since the script pairs replicates by their number.
    `reference_mean` and `method_mean` are means of replicates.
    """
    _check_same_cases(scores, reference)
    draws = published_draws(scores["case"].nunique(), n_replicates=n_replicates)
    with _without_package_warnings():
        result = percent_decrease(
            scores,
            reference=reference,
            by=["metric", "task"],
            unit="case",
            draws=draws,
            pairs="available",
            interval="order",
            average="task",
            test="none",
        )
        replicates = bootstrap(scores, by=["metric", "method", "task"], unit="case", draws=draws)
    # Replicates of each metric and method: a row per replicate, a column per task.
    wide_replicates = {
        (str(metric), str(method)): rows.pivot(index="replicate", columns="task", values="estimate")
        for (metric, method), rows in replicates.groupby(["metric", "method"])
    }
    decreases = []
    for row in result.to_dict("records"):
        reference_replicates = wide_replicates[row["metric"], reference]
        method_replicates = wide_replicates[row["metric"], row["method"]]
        decreases.append(decrease_of_replicates(reference_replicates, method_replicates, row["task"]))
    result[DECREASE_COLUMNS] = np.array(decreases)
    return result.drop(columns="bias")


def _check_same_cases(scores: pd.DataFrame, reference: str) -> None:
    """Raise an error where a method does not have the same cases as the reference."""
    cases_by_method = {
        str(method): set(rows["case"]) for method, rows in scores.groupby("method", sort=False)
    }
    if reference not in cases_by_method:
        return
    reference_cases = cases_by_method[reference]
    for method, cases in cases_by_method.items():
        if cases != reference_cases:
            raise SalstatsError(
                f"method {method!r} has {len(cases)} cases and {reference!r} {len(reference_cases)}, "
                "or other ones; replicates as published are paired by their number only",
                hint="give both the same cases",
                column="case",
                value={method: len(cases), reference: len(reference_cases)},
            )


def decrease_of_replicates(reference: pd.DataFrame, method: pd.DataFrame, task: str) -> Decrease:
    """Return the percentage decrease of a task or of the average, as calculate_percentage_decrease.py has it.

    Replicates have a row per replicate and a column per task. Of a task the script rounds the limits of the
    proportion to 3 digits and multiplies them by 100 afterwards. Of the average it rounds both means to 3
    digits before it computes the decrease; the limits are those of each replicate's mean over tasks.
    """
    if task != AVERAGE:
        reference_mean = reference[task].mean()
        method_mean = method[task].mean()
        low, high = limits_holding_95_percent_of_replicates(
            (reference[task] - method[task]) / reference[task]
        )
        return Decrease(
            reference_mean,
            method_mean,
            round((reference_mean - method_mean) / reference_mean * 100, 3),
            round(low, 3) * 100,
            round(high, 3) * 100,
        )
    reference_mean = round(float(reference.mean().mean()), 3)
    method_mean = round(float(method.mean().mean()), 3)
    reference_averages = reference.mean(axis=1)
    method_averages = method.mean(axis=1)
    low, high = limits_holding_95_percent_of_replicates(
        100 * (reference_averages - method_averages) / reference_averages
    )
    return Decrease(
        reference_mean,
        method_mean,
        round((reference_mean - method_mean) / reference_mean * 100, 3),
        round(low, 3),
        round(high, 3),
    )


def limits_holding_95_percent_of_replicates(replicates: pd.Series) -> tuple[float, float]:
    """Return limits that hold 95 % of the replicates, which are two of their order statistics."""
    # `limits.order` takes a column for each estimate.
    one_column = replicates.to_numpy()[:, None]
    low, high = limits.order(one_column, 0.95)
    return float(low[0]), float(high[0])


def spearman_as_published(data: pd.DataFrame, x: str, y: str, **correlate_options: object) -> pd.DataFrame:
    """Return Spearman correlations of independent rows, with limits tanh(atanh(r) ± 1.96 / sqrt(n - 3))."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedUnitsWarning)
        result = correlate(data, x, y, interval="fisher", **correlate_options)  # type: ignore[arg-type]
    low, high = published_fisher_limits(result["estimate"].to_numpy(), result["n"].to_numpy())
    return result.assign(conf_low=low, conf_high=high)


def published_fisher_limits(estimate: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper 95 % limits of correlations of n pairs, tanh(atanh(r) ± 1.96 / sqrt(n - 3)).

    They are NaN up to 3 pairs and for correlations of -1 and 1.
    """
    is_usable = (n > 3) & (np.abs(estimate) < 1)
    # Values that are not usable are replaced, so that no operation divides by 0.
    usable_estimate = np.where(is_usable, estimate, 0.0)
    usable_n = np.where(is_usable, n, 4)
    z = np.arctanh(usable_estimate)
    half_width = PUBLISHED_QUANTILE / np.sqrt(usable_n - 3)
    low = np.where(is_usable, np.tanh(z - half_width), np.nan)
    high = np.where(is_usable, np.tanh(z + half_width), np.nan)
    return low, high


def coefficient_texts_as_published(estimates: pd.DataFrame, *, n_tests: int = 1) -> list[str]:
    """Write coefficients with limits and stars as the CheXlocalize scripts print them, one text per row.

    Numbers are rounded to 3 digits, without trailing zeros; the levels of the stars are divided by `n_tests`.
    """
    values = estimates[["estimate", "conf_low", "conf_high", "p_value"]].astype("float64")
    texts = []
    for estimate, low, high, p_value in values.to_numpy().tolist():
        # One star for each level that P is below: .05, .01 and .001.
        n_stars = sum(p_value < level / n_tests for level in (0.001, 0.01, 0.05))
        stars = "*" * n_stars
        texts.append(f"{round(estimate, 3)}, ({round(low, 3)}, {round(high, 3)}){stars}")
    return texts
