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
def _without_warnings() -> Iterator[None]:
    """Silence the package's warnings, which are of choices that the scripts make."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        yield


def summarize_as_published(
    scores: pd.DataFrame, by: Sequence[str] = ("metric", "method", "task"), n_replicates: int = 1000
) -> pd.DataFrame:
    """Return means as the CheXlocalize scripts report them, in the columns of `summarize(interval="order")`.

    Each method (and model) is resampled by itself with the same seed, cases for independent, over all the
    cases of its file, whether or not they show the finding; the limits are order statistics; and the *mean of
    the replicates* stands for the estimate.
    """
    parts = []
    columns = list(by)
    for rows, draws in _files_with_draws(scores, n_replicates):
        with _without_warnings():
            means = summarize(rows, by=columns, unit="case", draws=draws, interval="order")
            replicates = bootstrap(rows, by=columns, unit="case", draws=draws)
        groups = replicates.groupby(columns, sort=False, dropna=False)["estimate"]
        parts.append(means.assign(estimate=groups.mean().to_numpy()))
    result = pd.concat(parts, ignore_index=True)
    return result.sort_values(columns, kind="stable", ignore_index=True)


def replicates_as_published(
    scores: pd.DataFrame, by: Sequence[str] = ("metric", "method", "task"), n_replicates: int = 1000
) -> pd.DataFrame:
    """Return the replicates of `summarize_as_published`, which eval.py writes to a file: as `bootstrap`."""
    parts = []
    for rows, draws in _files_with_draws(scores, n_replicates):
        with _without_warnings():
            parts.append(bootstrap(rows, by=list(by), unit="case", draws=draws))
    return pd.concat(parts, ignore_index=True).sort_values(list(by), kind="stable", ignore_index=True)


def _files_with_draws(scores: pd.DataFrame, n_replicates: int) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Yield the rows of each method and model, which are a file of the scripts, with its draws."""
    keys = [column for column in ("method", "model") if column in scores]
    for _, rows in scores.groupby(keys, dropna=False):
        yield rows, published_draws(rows["case"].nunique(), n_replicates=n_replicates)


def percent_decrease_as_published(
    scores: pd.DataFrame, reference: str = HUMAN, n_replicates: int = 1000
) -> pd.DataFrame:
    """Return percentage decreases as the CheXlocalize script prints them, with its rounding.

    Every method has to have the cases of the reference: the script would pair replicates that have nothing
    to do with each other. `reference_mean` and `method_mean` are means of replicates.
    """
    _check_same_cases(scores, reference)
    draws = published_draws(scores["case"].nunique(), n_replicates=n_replicates)
    with _without_warnings():
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
    by_task = {
        (str(metric), str(method)): rows.pivot(index="replicate", columns="task", values="estimate")
        for (metric, method), rows in replicates.groupby(["metric", "method"])
    }
    decreases = []
    for row in result.to_dict("records"):
        reference_replicates = by_task[row["metric"], reference]
        method_replicates = by_task[row["metric"], row["method"]]
        decreases.append(decrease_of_replicates(reference_replicates, method_replicates, row["task"]))
    result[DECREASE_COLUMNS] = np.array(decreases)
    return result.drop(columns="bias")


def _check_same_cases(scores: pd.DataFrame, reference: str) -> None:
    """Raise where a method has other cases than the reference."""
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
            )


def decrease_of_replicates(reference: pd.DataFrame, method: pd.DataFrame, task: str) -> Decrease:
    """Return the decrease of a task or of the average, from replicates (a task per column).

    The limits of a task are those of the share, rounded to 3 digits *before* they are multiplied by 100. The
    average is the decrease of the two averages *rounded to 3 digits first*; its limits are made from the
    averages of each replicate over the tasks that it drew.
    """
    if task != AVERAGE:
        reference_mean = reference[task].mean()
        method_mean = method[task].mean()
        low, high = order_limits((reference[task] - method[task]) / reference[task])
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
    low, high = order_limits(100 * (reference_averages - method_averages) / reference_averages)
    return Decrease(
        reference_mean,
        method_mean,
        round((reference_mean - method_mean) / reference_mean * 100, 3),
        round(low, 3),
        round(high, 3),
    )


def order_limits(replicates: pd.Series) -> tuple[float, float]:
    """Return two order statistics of the replicates."""
    low, high = limits.order(replicates.to_numpy()[:, None], 0.95)
    return float(low[0]), float(high[0])


def correlate_as_published(data: pd.DataFrame, x: str, y: str, **groups: object) -> pd.DataFrame:
    """Return Spearman correlations of independent rows, with limits tanh(atanh(r) ± 1.96 / sqrt(n - 3))."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedUnitsWarning)
        result = correlate(data, x, y, interval="fisher", **groups)  # type: ignore[arg-type]
    low, high = published_fisher_limits(result["estimate"].to_numpy(), result["n"].to_numpy())
    return result.assign(conf_low=low, conf_high=high)


def published_fisher_limits(estimate: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the scripts' 95 % limits of correlations of n pairs; NaN up to 3 pairs and at -1 and 1."""
    is_usable = (n > 3) & (np.abs(estimate) < 1)
    z = np.arctanh(np.where(is_usable, estimate, 0.0))
    half_width = PUBLISHED_QUANTILE / np.sqrt(np.where(is_usable, n - 3, 1.0))
    low = np.where(is_usable, np.tanh(z - half_width), np.nan)
    high = np.where(is_usable, np.tanh(z + half_width), np.nan)
    return low, high


def printed_as_published(estimates: pd.DataFrame, *, n_tests: int = 1) -> list[str]:
    """Write coefficients with limits and stars as the CheXlocalize scripts print them, one text per row.

    Numbers are rounded to 3 digits, without trailing zeros; the levels of the stars are divided by `n_tests`.
    """
    values = estimates[["estimate", "conf_low", "conf_high", "p_value"]].astype("float64")
    texts = []
    for estimate, low, high, p_value in values.to_numpy().tolist():
        n_stars = sum(p_value < level / n_tests for level in (0.001, 0.01, 0.05))
        stars = "*" * n_stars
        texts.append(f"{round(estimate, 3)}, ({round(low, 3)}, {round(high, 3)}){stars}")
    return texts
