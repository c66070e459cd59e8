"""Methods compared for readers and cases in general: Obuchowski and Rockette's analysis of any figure."""

import itertools
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from salstats.checks import SalstatsError, check_level, did_you_mean, quoted, warn
from salstats.frames import estimates_frame, text_column
from salstats.stats.adjust import adjusted_if_asked, check_procedure
from salstats.stats.engine.advice import ROUNDING
from salstats.stats.engine.cautions import DIFFERENT_CASES, add_caution
from salstats.stats.engine.design import group_label, group_list, metrics_of
from salstats.stats.engine.equivalence import (
    Margin,
    check_margin,
    is_below,
    margin_columns,
    p_of_tails,
    sides,
    warn_of_units,
)
from salstats.stats.engine.limits import t_limits
from salstats.stats.engine.tails import t_tails
from salstats.stats.engine.units import Unit
from salstats.stats.mrmc.analysis import Found, asked_of, studies_of
from salstats.stats.mrmc.anova import (
    ANALYSES,
    Analysis,
    Parts,
    equality,
    error_of_difference,
    error_of_mean,
)

#: The column `interval` of its rows, and `test`.
INTERVAL, TEST = "obuchowski-rockette", "Obuchowski-Rockette"
#: Columns that `_rows` gives as they are, and the numbers that not every row has.
_ESTIMATED = ("term", "estimate", "std_error", "statistic", "p_value", "n", "n_missing", "n_units")
_NUMBERS = (
    "estimate", "std_error", "statistic", "df", "p_value", "df_residual", "method_mean", "reference_mean",
)  # fmt: skip


def mrmc(
    scores: pd.DataFrame,
    *,
    reference: str | None = None,
    figure: str = "mean",
    label: str | None = None,
    readers: str = "random",
    cases: str = "random",
    covariance: str = "jackknife",
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    level: float = 0.95,
    adjust: str = "none",
    margin: Margin | None = None,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Methods compared by several readers on several cases, for readers and cases in general.

    Each reader's figure with each method, a mean score or an area under the ROC curve, is averaged over
    readers, and differences have limits that hold for other readers and other cases like these (Obuchowski
    and Rockette 1995, with Hillis' degrees of freedom). `summarize` and `difference` speak of these readers.

    Parameters
    ----------
    scores : DataFrame
        A scores frame with a column `reader`; seeds of a network are readers where they are renamed so.
    reference : str, optional
        The method to compare the others with. By default every two methods are compared, the first in sorted
        order less the second. Each row is `method` less `reference`, as in `difference`.
    figure : {"mean", "auc"}
        What a reader's scores with a method come to: their mean (IoU, hit, NCC), or the area under the ROC
        curve of the scores, as ratings, for `label`.
    label : str, optional
        With `figure="auc"`: the column of the truth, 0 or 1, the same in all rows of a case.
    readers, cases : {"random", "fixed"}
        Whether others like them are meant, or these only; not both "fixed".
    covariance : {"jackknife", "bootstrap", "delong", "unbiased"}
        How covariances over the cases are estimated. Of means the jackknife's are unbiased. `delong` and
        `unbiased` (the U-statistics of Gallas et al. 2007) are for areas, `unbiased` for independent cases.
    by : str or list of str, optional
        Grouping columns; by default those of `metric, task` that are present. Without `task` the tasks of a
        case are taken together, as readings that come and go with it.
    unit : str or list of str, optional
        What cases are of, as for `summarize`: a patient's cases come and go together.
    level, adjust, margin
        As for `difference`; the family of `adjust` is all differences.
    n_replicates, rng
        Of `covariance="bootstrap"`, as for `summarize`.

    Returns
    -------
    DataFrame
        For each group a row per method (`term` "mean"), per pair ("difference") and, of two methods and more,
        one for all ("equal"):

        - the grouping columns, `method`, `reference`;
        - `term`, `estimate`, `std_error`; `statistic`, `df`, `p_value` of the test that a difference is 0 (t,
          or z where `df` is NaN) or that all methods are equal (F with `df` and `df_residual`, or chi-squared
          where that is NaN, with readers fixed); `p_adjusted` with `adjust`;
        - `conf_low`, `conf_high`, `conf_level`, `interval`, `unit`; `inference_to`: "readers and cases",
          "these readers" or "these cases";
        - `n` defined scores, `n_missing` undefined ones (`n_absent`, where there is any, those of absent
          findings), `n_units`; `n_shared` and `caution` where methods have different cases, as for
          `summarize`; `df_residual`;
        - `method_mean`, `reference_mean`, `verdict` of differences, with `margin` its columns, as in
          `difference`;
        - `test`, `figure`, `covariance`, `n_readers`, `design` ("factorial", "readers nested in methods",
          "split plot", ...); `n_replicates` of a bootstrap.

    Raises
    ------
    ColumnError
        No column `reader`, or an empty cell of it; a truth that is not 0 or 1, or not one per case; invalid
        columns otherwise.
    SalstatsError
        One reader; a reader with a single case (or positive, or negative case) of a method; some readers with
        some of the methods; some methods on the same cases and others on other cases; several scores of one
        reader, case and method; a unit that splits a case; an unknown reference; `readers` and `cases` both
        fixed.
    ValueRangeError
        An unknown option, or a covariance that is not for this figure.

    Warns
    -----
    SalstatsWarning
        A covariance over cases that is estimated below 0 and taken as 0; no variance; readings missing in no
        pattern; as for `summarize` of units.

    Notes
    -----
    Of t methods, r readers and figures A_ij: MS(T) = r sum (A_i. - A..)^2 / (t - 1), MS(TR) is that of
    readers by method, Var the mean variance of a figure over cases, Cov1 the mean covariance of one reader's
    figures with two methods, Cov2 of two readers' with one method, Cov3 of two readers' with two methods.
    MS(T) is compared with

    - readers and cases random: D = MS(TR) + r max(Cov2 - Cov3, 0), with D^2 / (MS(TR)^2 / ((t - 1)(r - 1)))
      degrees of freedom (Hillis 2007);
    - readers fixed: Var - Cov1 + (r - 1) max(Cov2 - Cov3, 0), by chi-squared;
    - cases fixed: MS(TR), with its own.

    A difference has standard error sqrt(2 D / r). A mean is of its own method's cells: variance MS(R)/r +
    max(Cov2, 0), and in the same way. Readers nested in methods (each has one) have MS(R(T)) for MS(TR); of
    different numbers of readers 2/r is 1/r_1 + 1/r_2, and r of the global test that of an unbalanced one-way
    analysis, (N - sum r_i^2 / N) / (t - 1) of N readers. Cases
    nested in readers or methods share no covariance. Where readings are missing each covariance is of the
    cases that both cells have, with the factor that makes it unbiased, and readers count alike; of areas
    `unbiased` is Gallas' U-statistic for each two cells. Every two methods have the same covariances, so
    that methods on the same cases cannot stand beside one on others. With complete readings the variance
    with `unbiased` (of means the jackknife) is the U-statistic of Gallas et al. itself, except that it does
    not fall below MS(TR). iMRMC weighs readers by their cases.

    Of simulated differences of two equal methods, 3 to 6 readers and 30 or 100 cases, means, hit rates and
    areas, 95 % limits held in 91 to 97 % (of 3 readers in 91 to 96 %). Those of `difference`, which takes
    readers for fixed, held in 95 to 97 % where readers are alike, in 72 to 94 % where what suits a reader in
    one method is a fiftieth of a reading's variance, and in 42 to 84 % where it is a twelfth.

    Checked against R's MRMCaov 0.3.0 and RJafroc 2.1.2. MRMCaov 0.3.0 lets Cov2 - Cov3 fall below 0 where
    readers are fixed, and has an error for readers nested in methods (its later source has neither); it gives
    P = 0 below 1e-16.

    References
    ----------
    Obuchowski NA, Rockette HE. Hypothesis testing of diagnostic accuracy for multiple readers and multiple
    tests: an ANOVA approach with dependent observations. Commun Stat Simul Comput 1995;24:285-308.
    https://doi.org/10.1080/03610919508813243

    Hillis SL. A comparison of denominator degrees of freedom methods for multiple observer ROC analysis. Stat
    Med 2007;26:596-619. https://doi.org/10.1002/sim.2532

    Hillis SL. A marginal-mean ANOVA approach for analyzing multireader multicase radiological imaging data.
    Stat Med 2014;33:330-360. https://doi.org/10.1002/sim.5926

    Gallas BD, Pennello GA, Myers KJ. Multireader multicase variance analysis for binary data. J Opt Soc Am A
    2007;24:B70-B80. https://doi.org/10.1364/JOSAA.24.000B70

    Examples
    --------
    >>> import numpy as np, pandas as pd, salstats as ss
    >>> rng = np.random.default_rng(1)
    >>> cases, readers, rest = (rng.normal(0, sd, n) for sd, n in (
    ...     (0.1, (20, 1, 2)), (0.03, (1, 4, 1)), (0.05, (20, 4, 2))))
    >>> names = [range(20), ["ann", "bob", "cid", "dee"], ["cam", "human"]]
    >>> index = pd.MultiIndex.from_product(names, names=["case", "reader", "method"])
    >>> iou = (0.5 + cases + readers + rest + [0, 0.1]).ravel()
    >>> scores = pd.DataFrame({"metric": "iou", "score": iou}, index=index).reset_index()
    >>> ss.mrmc(scores, reference="human")[["term", "method", "estimate", "df", "p_value"]].round(2)
             term method  estimate       df  p_value
    0        mean    cam      0.48    40.85      NaN
    1        mean  human      0.58  2686.64      NaN
    2  difference    cam     -0.10   181.89      0.0
    3       equal    NaN       NaN     1.00      0.0
    """
    asked = asked_of(figure, label, covariance, (readers, cases), n_replicates, rng)
    check_procedure(adjust, "adjust")
    level = check_level(level)
    keys, unit_name, studies = studies_of(scores, by, unit, asked)
    doubts: _Doubts = defaultdict(list)
    rows: list[dict[str, Any]] = []
    for group, found in enumerate(studies):
        own = _rows(found, asked.analysis, reference, doubts, group)
        rows += [{"group": group} | row for row in own]
    for what, groups in doubts.items():
        warn(f"{what}: {group_list([group_label(keys, group) for group in dict.fromkeys(groups)])}")
    table = {c: np.array([row[c] for row in rows]) for c in rows[0]}
    names = {c: text_column(table.pop(c)) for c in ("method", "reference")}
    shown = pd.DataFrame({c: keys[c].array.take(table["group"]) for c in keys} | names)
    compared = table["term"] == "difference"
    estimate, std_error, df = (table[c] for c in ("estimate", "std_error", "df"))
    # where nothing varies nothing is known of others
    known = std_error > 0
    low, high = (np.where(known, end, np.nan) for end in t_limits(estimate, std_error, df, level))
    side = sides(np.where(compared, estimate, 0.0), (low > 0) | (high < 0))
    told: dict[str, Any] = {"verdict": side}
    if margin is not None:
        of_what = np.full(len(rows), "auc") if asked.figure.needs_label else metrics_of(shown, scores)
        told = _against_margin((estimate, std_error, df), margin, of_what, side, compared, level)
    told["verdict"] = _where(compared, told["verdict"])
    counted = []
    if table["n_absent"].any():
        counted.append("n_absent")
    if not table["same_cases"].all():
        counted.append("n_shared")
    columns = {c: table[c] for c in (*_ESTIMATED, *counted)} | {
        "df": np.where(np.isinf(df), np.nan, df),
        "conf_low": low,
        "conf_high": high,
        "conf_level": level,
        "interval": _where(known, [INTERVAL] * len(rows)),
        "unit": unit_name,
        "inference_to": asked.analysis.inference_to,
    }
    special = {c: table[c] for c in ("df_residual", "method_mean", "reference_mean")} | told
    special |= {"test": TEST, "figure": figure, "covariance": covariance}
    special |= {c: table[c] for c in ("n_readers", "design")}
    if covariance == "bootstrap":
        special["n_replicates"] = n_replicates
    frame = estimates_frame(shown, columns, special)
    frame = add_caution(frame, DIFFERENT_CASES, table["different_cases"])
    return adjusted_if_asked(frame, adjust)


def _rows(
    found: Found, analysis: Analysis, reference: str | None, doubts: "_Doubts", group: int
) -> list[dict[str, Any]]:
    """Rows of one group: a mean per method, a difference per pair, and the global test."""
    study, parts = found.study, found.parts
    names, means = study.methods, parts.means
    least = ROUNDING * np.abs(found.values).max()
    n_readers = int(study.readings.readers.max()) + 1

    def row(term: str, methods: Sequence[int], **values: Any) -> dict[str, Any]:
        of_methods = (study.n, study.n_missing, study.n_absent)
        n, n_missing, n_absent = (int(of[list(methods)].sum()) for of in of_methods)
        none = dict.fromkeys(_NUMBERS, np.nan) | dict.fromkeys(("method", "reference"))
        counts = {"n": n, "n_missing": n_missing, "n_absent": n_absent, "n_units": found.n_units(methods)}
        of_cases = {"n_shared": study.n_shared, "same_cases": study.n_shared == study.n_any}
        counts |= of_cases | {"different_cases": study.different_cases}
        return none | {"term": term, "design": study.design, "n_readers": n_readers} | counts | values

    rows = []
    for i, name in enumerate(names):
        own = found.parts_of_method(i)
        error, df = error_of_mean(own, analysis)
        error = error if error > least else 0.0
        _note(doubts, own, analysis, error, group)
        known = {"std_error": error, "df": df, "n_readers": int(parts.n_readers[i])}
        rows.append(row("mean", [i], method=name, estimate=means[i], **known))
    for i, j in _pairs(names, reference):
        error, df = error_of_difference(parts, analysis, i, j)
        error = error if error > least else 0.0
        gap = means[i] - means[j]
        statistic = gap / error if error > 0 else np.nan
        rows.append(
            row(
                "difference",
                [i],
                method=names[i],
                reference=names[j],
                estimate=gap,
                std_error=error,
                df=df,
                statistic=statistic,
                p_value=2 * special.stdtr(df, -abs(statistic)),
                method_mean=means[i],
                reference_mean=means[j],
            )
        )
    if len(names) > 1:
        _note(doubts, parts, analysis, error, group)
        test = equality(parts, analysis, least)
        residual = np.nan if np.isinf(test.df_residual) else test.df_residual
        rows.append(
            row(
                "equal",
                range(len(names)),
                statistic=test.statistic,
                df=test.df,
                df_residual=residual,
                p_value=test.p_value,
            )
        )
    return rows


def _pairs(names: list[str], reference: str | None) -> list[tuple[int, int]]:
    """Which methods are compared: each with the reference, or each with those behind it."""
    if reference is None:
        return list(itertools.combinations(range(len(names)), 2))
    reference = str(reference)
    if reference not in names:
        hint = did_you_mean(reference, names)
        raise SalstatsError(
            f"reference={reference!r} is not a method of these scores ({quoted(names)}){hint}"
        )
    if len(names) == 1:
        raise SalstatsError(f"{reference!r} is the only method of these scores; there is nothing to compare")
    other = names.index(reference)
    return [(i, other) for i in range(len(names)) if i != other]


def _against_margin(
    estimates: tuple[np.ndarray, np.ndarray, np.ndarray],
    margin: Margin,
    metrics: np.ndarray,
    side: np.ndarray,
    compared: np.ndarray,
    level: float,
) -> dict[str, Any]:
    """Columns of `margin_columns` for the differences, NaN in other rows."""
    low, high = (np.where(compared, bound, np.nan) for bound in check_margin(margin, metrics))
    warn_of_units(low[compared], high[compared], "difference", metrics[compared])
    p_value = p_of_tails(partial(t_tails, *estimates), low, high)
    return margin_columns(side, metrics, (low, high, p_value), is_below(p_value, 1 - level), 1)


def _where(said: np.ndarray, texts: Sequence[str] | np.ndarray) -> Any:
    """Texts as a column, missing where nothing is said."""
    return text_column(str(text) if own else None for own, text in zip(said, texts, strict=True))


#: What deserves a look, and the groups where it does.
_Doubts = dict[str, list[int]]
_NEGATIVE = (
    "cases are estimated to add less than nothing to what readers' figures have in common (Cov2 - Cov3, or "
    "Cov2 of one method, below 0), which is taken as 0 (Hillis 2014)"
)
_CONSTANT = "the estimated variance is not above 0, so there are no limits and no test (NaN)"


def _note(doubts: _Doubts, parts: Parts, analysis: Analysis, error: float, group: int) -> None:
    """Note an estimate that was taken as 0, and one without variance."""
    if analysis is not ANALYSES[True, False] and parts.gap < 0:
        doubts[_NEGATIVE].append(group)
    if not error > 0:
        doubts[_CONSTANT].append(group)
