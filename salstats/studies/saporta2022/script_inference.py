"""Inference as the CheXlocalize scripts make it, habits included, to compare with what they printed.

`summarize`, `percent_decrease` and `correlate` are the ones to use. These are for the question whether a
number is the published one, and for showing what a better choice changes. The scripts are those of
rajpurkarlab/cheXlocalize, commit 2a79492: eval.py (`bootstrap_metric`, `compute_cis`) and
calculate_percentage_decrease.py.
"""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from salstats.errors import SalstatsError, SalstatsWarning
from salstats.stats.contrasts import percent_decrease
from salstats.stats.correlation import correlate
from salstats.stats.engine import limits
from salstats.stats.engine.design import AVERAGE
from salstats.stats.summaries import bootstrap, summarize
from salstats.study import HUMAN

#: The numbers of a percentage decrease.
DECREASE_COLUMNS = ["reference_mean", "method_mean", "estimate", "conf_low", "conf_high"]
#: The quantile that the scripts write into their formula.
PUBLISHED_QUANTILE = 1.96


def published_draws(n_cases: int, *, n_replicates: int = 1000, seed: int = 0) -> np.ndarray:
    """The draws of the CheXlocalize scripts: `numpy.random.seed(seed)`, then a sample per replicate.

    Positions of the cases in sorted order, (n_replicates, n_cases). The stream of NumPy's old generator
    (MT19937) is the same in all its versions.
    """
    random = np.random.RandomState(seed)
    return np.stack([random.randint(0, n_cases, n_cases) for _ in range(n_replicates)])


def summarize_as_published(
    scores: pd.DataFrame, by: Sequence[str] = ("metric", "method", "task"), n_replicates: int = 1000
) -> pd.DataFrame:
    """Means as the CheXlocalize scripts report them, in the columns of `summarize(interval="order")`.

    Each method (and model) is resampled by itself with the same seed, cases for independent, over all the
    cases of its file, whether or not they show the finding; the limits are order statistics; and the *mean of
    the replicates* stands for the estimate.
    """
    parts, columns = [], list(by)
    for rows, draws in _with_draws(scores, n_replicates):
        with warnings.catch_warnings():
            # what they warn of is what is asked for here
            warnings.simplefilter("ignore", SalstatsWarning)
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
    for rows, draws in _with_draws(scores, n_replicates):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SalstatsWarning)
            parts.append(bootstrap(rows, by=list(by), unit="case", draws=draws))
    return pd.concat(parts, ignore_index=True).sort_values(list(by), kind="stable", ignore_index=True)


def _with_draws(scores: pd.DataFrame, n_replicates: int) -> Iterator[tuple[pd.DataFrame, np.ndarray]]:
    """Yield the rows of each method and model, which are a file of the scripts, with its draws."""
    for _, rows in scores.groupby([c for c in ("method", "model") if c in scores], dropna=False):
        yield rows, published_draws(rows["case"].nunique(), n_replicates=n_replicates)


def percent_decrease_as_published(
    scores: pd.DataFrame, reference: str = HUMAN, n_replicates: int = 1000
) -> pd.DataFrame:
    """Percentage decreases as the CheXlocalize script prints them, with its rounding.

    Every method has to have the cases of the reference: the script would pair replicates that have nothing
    to do with each other. `reference_mean` and `method_mean` are means of replicates.
    """
    cases = {str(m): set(rows["case"]) for m, rows in scores.groupby("method", sort=False)}
    for method, own in cases.items():
        if own != cases.get(reference, own):
            raise SalstatsError(
                f"method {method!r} has {len(own)} cases and {reference!r} {len(cases[reference])}, or other "
                "ones; replicates as published are paired by their number only, so give both the same cases"
            )
    draws = published_draws(scores["case"].nunique(), n_replicates=n_replicates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        result = percent_decrease(
            scores, reference=reference, by=["metric", "task"], unit="case", draws=draws, pairs="available",
            interval="order", average="task", test="none",
        )  # fmt: skip
        drawn = bootstrap(scores, by=["metric", "method", "task"], unit="case", draws=draws)
    by_task = {
        (str(metric), str(method)): rows.pivot(index="replicate", columns="task", values="estimate")
        for (metric, method), rows in drawn.groupby(["metric", "method"])
    }
    numbers = [
        decrease_of_replicates(by_task[row.metric, reference], by_task[row.metric, row.method], row.task)
        for row in result.itertuples()
    ]
    result[DECREASE_COLUMNS] = np.array(numbers)
    return result.drop(columns="bias")


def decrease_of_replicates(
    reference: pd.DataFrame, method: pd.DataFrame, task: str
) -> tuple[float, float, float, float, float]:
    """Return what `DECREASE_COLUMNS` names, of a task or of the average, from replicates (a task per column).

    The limits of a task are those of the share, rounded to 3 digits *before* they are multiplied by 100. The
    average is the decrease of the two averages *rounded to 3 digits first*; its limits are made from the
    averages of each replicate over the tasks that it drew.
    """
    if task != AVERAGE:
        own, other = method[task], reference[task]
        low, high = order_limits((other - own) / other)
        decrease = round((other.mean() - own.mean()) / other.mean() * 100, 3)
        return other.mean(), own.mean(), decrease, round(low, 3) * 100, round(high, 3) * 100
    other_mean, own_mean = (round(float(means.mean().mean()), 3) for means in (reference, method))
    other, own = reference.mean(axis=1), method.mean(axis=1)
    low, high = order_limits(100 * (other - own) / other)
    decrease = round((other_mean - own_mean) / other_mean * 100, 3)
    return other_mean, own_mean, decrease, round(low, 3), round(high, 3)


def order_limits(replicates: pd.Series) -> tuple[float, float]:
    """Two order statistics of the replicates."""
    low, high = limits.order(replicates.to_numpy()[:, None], 0.95)
    return float(low[0]), float(high[0])


def correlate_as_published(data: pd.DataFrame, x: str, y: str, **groups: object) -> pd.DataFrame:
    """Spearman correlations of independent rows, with limits tanh(atanh(r) ± 1.96 / sqrt(n - 3))."""
    with warnings.catch_warnings():
        repeat = r"in \d+ of \d+ groups rows repeat"
        warnings.filterwarnings("ignore", message=repeat, category=SalstatsWarning)
        result = correlate(data, x, y, interval="fisher", **groups)  # type: ignore[arg-type]
    low, high = published_fisher_limits(result["estimate"].to_numpy(), result["n"].to_numpy())
    return result.assign(conf_low=low, conf_high=high)


def published_fisher_limits(estimate: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scripts' 95 % limits of correlations of n pairs; NaN up to 3 pairs and at -1 and 1."""
    usable = (n > 3) & (np.abs(estimate) < 1)
    z = np.arctanh(np.where(usable, estimate, 0.0))
    reach = PUBLISHED_QUANTILE / np.sqrt(np.where(usable, n - 3, 1.0))
    low, high = (np.where(usable, np.tanh(limit), np.nan) for limit in (z - reach, z + reach))
    return low, high


def printed_as_published(estimates: pd.DataFrame, *, n_tests: int = 1) -> list[str]:
    """Coefficients with limits and stars as the CheXlocalize scripts print them, one text per row.

    Numbers are rounded to 3 digits, without trailing zeros; the levels of the stars are divided by `n_tests`.
    """
    values = estimates[["estimate", "conf_low", "conf_high", "p_value"]].astype("float64")
    return [
        f"{round(estimate, 3)}, ({round(low, 3)}, {round(high, 3)})"
        + "*" * sum(p < level / n_tests for level in (0.001, 0.01, 0.05))
        for estimate, low, high, p in values.to_numpy().tolist()
    ]
