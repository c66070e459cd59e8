"""Inference as the CheXlocalize scripts make it, habits included, to compare with what they printed.

`summarize`, `percent_decrease` and `correlate` are the ones to use. These are for the question whether a
number is the published one, and for showing what a better choice changes.
"""

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.checks import (
    SalstatsError,
    SalstatsWarning,
    check_by,
    check_columns,
    check_count,
    check_frame,
    check_level,
)
from salstats.stats import limits
from salstats.stats.contrasts import percent_decrease
from salstats.stats.correlation import correlate
from salstats.stats.design import AVERAGE
from salstats.stats.summaries import bootstrap, summarize

#: The quantile that the scripts write into their formula.
PUBLISHED_QUANTILE = 1.96
_BY = ("metric", "method", "task")


def published_draws(n_cases: int, *, n_replicates: int = 1000, seed: int = 0) -> np.ndarray:
    """The draws of the CheXlocalize scripts: `numpy.random.seed(seed)`, then a sample per replicate.

    Positions of the cases in sorted order, for `draws=`, an array of shape (n_replicates, n_cases). The
    stream of NumPy's old generator (MT19937) is the same in all its versions.

    Examples
    --------
    >>> published_draws(5, n_replicates=2)
    array([[4, 0, 3, 3, 3],
           [1, 3, 2, 4, 0]])
    """
    check_count(n_cases, "n_cases")
    check_count(n_replicates, "n_replicates")
    random = np.random.RandomState(seed)
    return np.stack([random.randint(0, n_cases, n_cases) for _ in range(n_replicates)])


def summarize_as_published(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    level: float = 0.95,
    n_replicates: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Means as the CheXlocalize scripts report them.

    Each method (and model) is resampled by itself with the same seed, cases for independent, over all its
    cases whether or not they show the finding; the limits are order statistics; and the *mean of the
    replicates* stands for the estimate.

    `scores` holds, for each method, exactly the cases that its file would. The columns are those of
    `summarize(interval="order")`; `bias` says how far the mean of replicates lies from that of the scores.

    References
    ----------
    rajpurkarlab/cheXlocalize, eval.py, commit 2a79492: `bootstrap_metric` and `compute_cis`.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> means = summarize_as_published(scores, by=["metric", "method"], n_replicates=100)
    >>> means[["metric", "method", "interval", "unit"]].head(1)
      metric   method interval  unit
    0    hit  gradcam    order  case
    """
    frame = check_frame(scores, "scores")
    columns = check_by(frame, by, _BY)
    check_columns(frame, ["case", "method"], "scores")
    parts = []
    for rows in _series(frame):
        draws = published_draws(rows["case"].nunique(), n_replicates=n_replicates, seed=seed)
        options = {"by": columns, "unit": "case", "draws": draws}
        with warnings.catch_warnings():
            # what they warn of is what is asked for here
            warnings.simplefilter("ignore", SalstatsWarning)
            means = summarize(rows, interval="order", level=level, **options)  # type: ignore[arg-type]
            replicates = bootstrap(rows, **options)  # type: ignore[arg-type]
        parts.append(means.assign(estimate=_mean_by_group(replicates, columns).to_numpy()))
    result = pd.concat(parts, ignore_index=True)
    return result.sort_values(columns, kind="stable", ignore_index=True)


def percent_decrease_as_published(
    scores: pd.DataFrame,
    *,
    reference: str = "human",
    level: float = 0.95,
    n_replicates: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Percentage decreases as the CheXlocalize script prints them, with its rounding.

    Every method has to have the cases of the reference: the script would pair replicates that have nothing
    to do with each other. The columns are those of `percent_decrease(pairs="available", average="task",
    test="none")`; `reference_mean` and `method_mean` are means of replicates.

    Notes
    -----
    Per task the decrease of the means of the replicates, to 3 digits; its limits are those of the share,
    rounded to 3 digits *before* they are multiplied by 100. "Average" is the decrease of the two averages
    *rounded to 3 digits first*; its limits are made from the averages of each replicate over the tasks that
    it drew.

    References
    ----------
    rajpurkarlab/cheXlocalize, calculate_percentage_decrease.py, commit 2a79492.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> decrease = percent_decrease_as_published(scores, n_replicates=100)
    >>> decrease["task"].tail(1).item(), len(decrease)
    ('Average', 24)
    """
    frame = check_frame(scores, "scores")
    check_columns(frame, ["case", "task", "method", "metric", "score"], "scores")
    cases = {str(m): set(rows["case"]) for m, rows in frame.groupby("method", sort=False)}
    for method, own in cases.items():
        if own != cases.get(reference, own):
            raise SalstatsError(
                f"method {method!r} has {len(own)} cases and {reference!r} {len(cases[reference])}, or other "
                "ones; replicates as published are paired by their number only, so give both the same cases"
            )
    draws = published_draws(frame["case"].nunique(), n_replicates=n_replicates, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalstatsWarning)
        result = percent_decrease(
            frame, reference=reference, by=["metric", "task"], unit="case", draws=draws, pairs="available",
            interval="order", level=level, average="task", test="none",
        )  # fmt: skip
        drawn = bootstrap(frame, by=["metric", "method", "task"], unit="case", draws=draws)
    by_task = {
        (str(metric), str(method)): rows.pivot(index="replicate", columns="task", values="estimate")
        for (metric, method), rows in drawn.groupby(["metric", "method"])
    }
    numbers = [
        _decrease(
            by_task[row.metric, reference], by_task[row.metric, row.method], row.task, check_level(level)
        )
        for row in result.itertuples()
    ]
    names = ["reference_mean", "method_mean", "estimate", "conf_low", "conf_high"]
    result[names] = np.array(numbers)
    return result.drop(columns="bias")


def correlate_as_published(
    data: pd.DataFrame,
    x: str,
    y: str,
    *,
    by: str | Sequence[str] | None = None,
    overall: bool = False,
) -> pd.DataFrame:
    """Spearman correlations of independent rows, with limits tanh(atanh(r) ± 1.96 / sqrt(n - 3)).

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.0, 2, 3, 4, 5, 6], "iou": [0.1, 0.3, 0.2, 0.5, 0.4, 0.6]})
    >>> correlate_as_published(table, "iou", "size")[["estimate", "conf_low", "conf_high"]].round(4)
       estimate  conf_low  conf_high
    0    0.8857    0.2637     0.9875
    """
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=r"in \d+ of \d+ groups rows repeat", category=SalstatsWarning
        )
        result = correlate(data, x, y, by=by, overall=overall)
    low, high = published_fisher_limits(result["estimate"].to_numpy(), result["n"].to_numpy())
    return result.assign(conf_low=low, conf_high=high)


def published_fisher_limits(estimate: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scripts' 95 % limits of correlations of n pairs; NaN up to 3 pairs and at -1 and 1.

    Examples
    --------
    The overall correlation of Table 3 of the study, printed with [.248, .322]:

    >>> import numpy as np
    >>> low, high = published_fisher_limits(np.array([0.285]), np.array([2365]))
    >>> low.round(3).item(), high.round(3).item()
    (0.248, 0.322)
    """
    r, size = np.asarray(estimate, dtype=np.float64), np.asarray(n, dtype=np.float64)
    usable = (size > 3) & (np.abs(r) < 1)
    z = np.arctanh(np.where(usable, r, 0.0))
    reach = PUBLISHED_QUANTILE / np.sqrt(np.where(usable, size - 3, 1.0))
    low, high = (np.where(usable, np.tanh(limit), np.nan) for limit in (z - reach, z + reach))
    return low, high


def printed_as_published(estimates: pd.DataFrame, *, n_tests: int = 1) -> list[str]:
    """Coefficients with limits and stars as the CheXlocalize scripts print them, one text per row.

    `estimates` has `estimate, conf_low, conf_high, p_value`; the levels .05, .01 and .001 of the stars are
    divided by `n_tests`. Numbers are rounded to 3 digits, without trailing zeros.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"estimate": 0.71, "conf_low": -0.0401, "conf_high": 1.46, "p_value": 0.0124}
    >>> printed_as_published(pd.DataFrame([row])), printed_as_published(pd.DataFrame([row]), n_tests=4)
    (['0.71, (-0.04, 1.46)*'], ['0.71, (-0.04, 1.46)*'])
    """
    columns = ["estimate", "conf_low", "conf_high", "p_value"]
    check_columns(check_frame(estimates, "estimates"), columns, "estimates")
    check_count(n_tests, "n_tests")
    texts = []
    for coefficient, low, high, p in estimates[columns].astype("float64").to_numpy().tolist():
        stars = sum(p < level / n_tests for level in (0.001, 0.01, 0.05))
        texts.append(f"{round(coefficient, 3)}, ({round(low, 3)}, {round(high, 3)}){'*' * stars}")
    return texts


def _series(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of each method and model."""
    keys = [c for c in ("method", "model") if c in frame.columns]
    return [rows for _, rows in frame.groupby(keys, sort=True, dropna=False)]


def _mean_by_group(replicates: pd.DataFrame, columns: list[str]) -> pd.Series:
    """The mean of each group's defined replicates, in the frame's order."""
    return replicates.groupby(columns, sort=False, dropna=False)["estimate"].mean()


def _decrease(
    reference: pd.DataFrame, method: pd.DataFrame, task: str, level: float
) -> tuple[float, float, float, float, float]:
    """Both means, the decrease and its limits of a task, or of the average."""
    if task != AVERAGE:
        own, other = method[task], reference[task]
        low, high = _order_limits((other - own) / other, level)
        decrease = round((other.mean() - own.mean()) / other.mean() * 100, 3)
        return other.mean(), own.mean(), decrease, round(low, 3) * 100, round(high, 3) * 100
    other_mean, own_mean = (round(float(means.mean().mean()), 3) for means in (reference, method))
    other, own = reference.mean(axis=1), method.mean(axis=1)
    low, high = _order_limits(100 * (other - own) / other, level)
    decrease = round((other_mean - own_mean) / other_mean * 100, 3)
    return other_mean, own_mean, decrease, round(low, 3), round(high, 3)


def _order_limits(replicates: pd.Series, level: float) -> tuple[float, float]:
    """Two order statistics of the replicates."""
    low, high = limits.order(replicates.to_numpy()[:, None], level)
    return float(low[0]), float(high[0])
