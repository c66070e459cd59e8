"""How much a score changes within a case when the map is made again: by another seed, or another training."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, check_by, check_columns, warn
from salstats.frames import DEFAULT_BY, KEY_COLUMNS, coded_scores, estimates_frame
from salstats.stats.engine.design import check_one_metric, index_groups, warn_pooled_methods
from salstats.stats.engine.estimands import Cells, Estimand, Target, ratio, sum_cells
from salstats.stats.engine.fixed_factors import inference_to
from salstats.stats.engine.inference import check_options, infer
from salstats.stats.engine.shared_cases import mark_shared_cases, shared_rows_call
from salstats.stats.engine.units import Unit, resolve_unit

#: What this package calls a mean over trainings, as a seed or as a model.
MEANS = ("mean", "ensemble")
#: Two measurements of a case differ by less than this times the SD within a case, 19 times of 20.
_REPEATABILITY = 1.96 * np.sqrt(2)


def within_case_sd(
    scores: pd.DataFrame,
    *,
    over: str = "seed",
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    interval: str | None = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
    draws: np.ndarray | None = None,
) -> pd.DataFrame:
    """Standard deviation of a score within a case, over seeds or trainings, for each group.

    Small is repeatable: the same image, asked again, gets the same score. It is the root of the mean of the
    cases' variances, and NaN where no case of a group was scored twice.

    Parameters
    ----------
    scores, unit, level, n_replicates, rng, draws
        As for `summarize`.
    over : str, default "seed"
        The column whose values are the repetitions: `seed`, or `model`.
    by : str or sequence of str, optional
        Grouping columns; by default those of metric, method, task and model that are present, but `over`.
    interval : str, optional
        A name of `intervals.names_of("within_case_sd")`, of the replicates; by default `percentile`.

    Returns
    -------
    DataFrame
        An estimates frame, one row per group, sorted:

        - the grouping columns;
        - `term` ("within_case_sd"), `estimate`, `std_error` (SD of the replicates), `conf_low`,
          `conf_high`, `conf_level`, `interval`, `unit`;
        - `n`, cases (of each task, method and model in the group) with two defined scores or more, 0 for a
          group that was made once; `n_missing`, the others; `n_units`, `n_undefined` replicates, `bias`;
        - `over`, as given; `n_repeats`, the mean number of scores of the n cases; `mean`, their mean score;
        - `repeatability`, 2.77 times the estimate: two scores of a case differ by less 19 times of 20, where
          the spread is normal and the same for all cases; of hits, which are 0 or 1, it is not so;
        - `icc`, the share of the variance that lies between cases, from the analysis of variance of one
          way (McGraw and Wong's ICC(1)): near 1, cases are told apart well; NaN for one case, and 0 or less
          where they are not;
        - `n_replicates` drawn.

    Raises
    ------
    ColumnError, ValueRangeError
        As for `summarize`; `over` is in `by`, or a column of `by` differs between the repetitions of a case;
        nothing was scored twice.

    Notes
    -----
    Cases are resampled, and the seeds or trainings are taken as they are: with few of them the interval
    says how sure the SD of *these* is. A score's variance over k repetitions has k - 1 degrees of freedom,
    by which the cases are weighted. A shift that all cases share, of one training against another, counts
    as a change within cases. The mean of several trainings' maps is no repetition of theirs: leave it out
    (a value "mean" or "ensemble" warns).

    The intervals run short with few cases.

    References
    ----------
    Bland JM, Altman DG. Measurement error. BMJ 1996;313:744. https://doi.org/10.1136/bmj.313.7059.744

    McGraw KO, Wong SP. Forming inferences about some intraclass correlation coefficients. Psychological
    Methods 1996;1:30-46. https://doi.org/10.1037/1082-989X.1.1.30

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> first = [i / 24 for i in range(24)]
    >>> again = [score + 0.1 * (i % 3) for i, score in enumerate(first)]
    >>> scores = pd.DataFrame({"case": [f"c{i:02}" for i in range(24)] * 2, "method": "rise", "metric": "nss",
    ...     "seed": ["0"] * 24 + ["1"] * 24, "score": first + again})
    >>> found = ss.within_case_sd(scores)
    >>> found[["estimate", "n", "over", "n_repeats", "icc"]].round(3)
       estimate   n  over  n_repeats    icc
    0     0.091  24  seed        2.0  0.913
    """
    # of these intervals the limits may be taken through a root: they ask for the order of replicates only
    options = check_options("within_case_sd", interval, level, n_replicates, rng, draws)
    codes = coded_scores(scores)
    check_columns(scores, [over])
    columns = check_by(scores, by, [c for c in (*DEFAULT_BY, "model") if c != over])
    if over in columns:
        raise ColumnError(f"over={over!r} is what is repeated, so it may not be in by ({', '.join(columns)})")
    if over not in KEY_COLUMNS[5:]:
        raise ColumnError(f"over={over!r} does not tell repetitions of a case apart; take 'seed' or 'model'")
    check_one_metric(codes, columns)
    warn_pooled_methods(scores, columns)
    warn_of_means(scores[over].dropna(), over)
    units = resolve_unit(codes, unit)
    place = codes.combined([c for c in KEY_COLUMNS if c in scores.columns and c != over])
    first = np.unique(place, return_index=True)[1]
    repeats = _repeats(scores["score"].to_numpy(dtype=np.float64), place, len(first))
    group, keys = index_groups(codes, columns)
    _check_together(scores, columns, over, place, group != group[first][place])
    group = group[first]
    twice = np.bincount(group, repeats["df"] > 0, len(keys)).astype(np.int64)
    if not twice.any():
        raise ColumnError(
            f"no case of the scores has two defined ones that differ in {over!r}, so nothing was repeated"
        )
    # what was made once has nothing to resample
    there = np.flatnonzero(twice)
    squares, counts = (
        sum_cells(repeats[what], units.codes[first], units.n, group, len(keys)).sums[:, there]
        for what in ("squares", "df")
    )
    none = np.zeros(len(there), dtype=np.int64)
    cells = Cells(squares, counts, none, np.arange(len(there)))
    some = keys.iloc[there].reset_index(drop=True)
    target = Target("within_case_sd", cells, Estimand("mean", np.eye(len(there))), some, none)
    # a method that does not depend on the seed has an SD of 0, which is known and not uncertain
    result = infer(target, options, constant=True)
    assert result.replicates is not None
    roots, estimate = pd.DataFrame(np.sqrt(result.replicates)), np.sqrt(result.estimate)
    found = pd.DataFrame(
        {
            "estimate": estimate,
            "std_error": roots.std(),
            "conf_low": np.sqrt(result.conf_low),
            "conf_high": np.sqrt(result.conf_high),
            "n_units": result.n_units,
            "n_undefined": result.n_undefined,
            "bias": roots.mean() - estimate,
        }
    )
    found = found.set_axis(there).reindex(range(len(keys)))
    found = found.fillna({"n_units": 0, "n_undefined": 0}).astype(
        {"n_units": "int64", "n_undefined": "int64"}
    )
    table: dict[str, Any] = {
        "term": "within_case_sd",
        **{name: found[name].to_numpy() for name in found},
        "conf_level": level,
        "interval": options.interval.name,
        "unit": units.name,
        **inference_to(scores, units.codes, keys),
        "n": twice,
        "n_missing": np.bincount(group, minlength=len(keys)) - twice,
    }
    special: dict[str, Any] = {"over": over, **_spread(repeats, group, len(keys))}
    special |= {"repeatability": _REPEATABILITY * table["estimate"], **options.columns()}
    frame = estimates_frame(keys, table, special)
    return mark_shared_cases(frame, codes, columns, lambda: shared_rows_call(scores))


def warn_of_means(values: Iterable[object], over: str) -> None:
    """Warn where one of several repetitions is a mean over the others, by its name."""
    distinct = set(values)
    found = sorted(str(v) for v in distinct if v in MEANS)
    if found and len(distinct) > 1:
        warn(
            f"{over} has the value {found[0]!r}: if it is a mean over the others it is no repetition of "
            "them, and all looks steadier than it is; leave it out"
        )


def _check_together(
    scores: pd.DataFrame, columns: Sequence[str], over: str, place: np.ndarray, apart: np.ndarray
) -> None:
    """Raise ColumnError where repetitions of a case are in several groups."""
    if apart.any():
        rows = scores[place == place[int(np.flatnonzero(apart)[0])]]
        column = next(c for c in columns if rows[c].nunique(dropna=False) > 1)
        raise ColumnError(
            f"column {column!r} of by differs between the values of {over!r} of case {rows['case'].iloc[0]}, "
            "so its scores would be in several groups; leave it out of by"
        )


def _repeats(values: np.ndarray, place: np.ndarray, n_places: int) -> dict[str, np.ndarray]:
    """Of each case and series: number, mean and squares of its defined scores."""
    defined = ~np.isnan(values)
    place, values = place[defined], values[defined]
    n = np.bincount(place, minlength=n_places).astype(np.float64)
    # counted from one of them, equal scores differ by nothing, not by rounding
    start = np.zeros(n_places)
    start[place] = values
    mean = start + ratio(np.bincount(place, values - start[place], n_places), n)
    squares = np.bincount(place, (values - mean[place]) ** 2, n_places)
    return {"n": n, "mean": mean, "squares": squares, "df": np.maximum(n - 1, 0)}


def _spread(repeats: dict[str, np.ndarray], group: np.ndarray, n_groups: int) -> dict[str, np.ndarray]:
    """How often cases were scored, their mean, and the intraclass correlation, of each group."""
    used = repeats["df"] > 0
    n, mean, squares, group = (a[used] for a in (repeats["n"], repeats["mean"], repeats["squares"], group))

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(group, values, n_groups)

    n_cases, n_scores = total(np.ones_like(n)), total(n)
    grand = ratio(total(n * mean), n_scores)
    between = ratio(total(n * (mean - grand[group]) ** 2), n_cases - 1)
    within = ratio(total(squares), n_scores - n_cases)
    # the number of scores per case that unequal numbers are worth
    size = ratio(n_scores - ratio(total(n**2), n_scores), n_cases - 1)
    icc = ratio(between - within, between + (size - 1) * within)
    icc = np.where(n_cases > 1, icc, np.nan)
    return {"n_repeats": ratio(n_scores, n_cases), "mean": ratio(total(mean), n_cases), "icc": icc}
