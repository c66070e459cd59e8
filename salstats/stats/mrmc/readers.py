"""Readers behind `mrmc`: how much they differ, and each one's figure."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_level
from salstats.frames import estimates_frame, text_column
from salstats.stats.engine.limits import t_limits
from salstats.stats.engine.units import Unit
from salstats.stats.mrmc.analysis import asked_of, studies_of
from salstats.stats.mrmc.anova import components


def mrmc_components(
    scores: pd.DataFrame,
    *,
    figure: str = "mean",
    label: str | None = None,
    covariance: str = "jackknife",
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Variances and covariances behind `mrmc`: how much readers differ, and what samples of cases add.

    Parameters
    ----------
    scores, figure, label, covariance, by, unit, n_replicates, rng
        As for `mrmc`.

    Returns
    -------
    DataFrame
        For each group a row per component:

        - the grouping columns, `term`: "reader" (of readers' true figures, alike for all methods; within
          methods where readers are nested), "method:reader" (what of them differs between methods), "error"
          (of one figure over samples of cases), "cov1" (of one reader's figures with two methods), "cov2" (of
          two readers' with one method), "cov3" (of two readers' with two methods); those that there are;
        - `parameter`: "variance" or "covariance";
        - `estimate`: as it comes out, which may be below 0;
        - `used`: 0 for a variance below it, and for cov2 no less than cov3 (of one method than 0), as `mrmc`
          takes them (Hillis 2014);
        - `sd` of `used` variances, and `correlation`, a covariance as a share of the error variance;
        - `unit`, `n_methods`, `n_readers`, `n_cases`, `n_units`, `figure`, `covariance`, `design`.

    Raises
    ------
    SalstatsError
        As for `mrmc`.

    Notes
    -----
    With mean squares as in `mrmc`: reader (MS(R) - MS(TR))/t - Cov1 + Cov3, method:reader MS(TR) - Var + Cov1
    + Cov2 - Cov3; of one method reader MS(R) - Var + Cov2. Checked against MRMCaov and RJafroc, which puts
    max(Cov2 - Cov3, 0) into method:reader.

    References
    ----------
    Hillis SL. A marginal-mean ANOVA approach for analyzing multireader multicase radiological imaging data.
    Stat Med 2014;33:330-360. https://doi.org/10.1002/sim.5926

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> scores = pd.DataFrame({"case": list("aabbcc"), "reader": ["ann", "bob"] * 3, "method": "cam",
    ...     "metric": "iou", "score": [0.2, 0.3, 0.5, 0.4, 0.6, 0.8]})
    >>> ss.mrmc_components(scores)[["metric", "term", "estimate", "used"]].round(3)
      metric    term  estimate   used
    0    iou  reader    -0.002  0.000
    1    iou   error     0.019  0.019
    2    iou    cov2     0.015  0.015
    """
    asked = asked_of(figure, label, covariance, ("random", "random"), n_replicates, rng)
    keys, unit_name, studies = studies_of(scores, by, unit, asked)
    rows, groups = [], []
    for group, found in enumerate(studies):
        parts = found.parts
        for term, estimate in components(parts).items():
            is_variance = not term.startswith("cov")
            low = 0.0 if is_variance else np.nan_to_num(parts.cov3) if term == "cov2" else -np.inf
            rows.append(
                {
                    "term": term,
                    "parameter": "variance" if is_variance else "covariance",
                    "estimate": estimate,
                    "used": max(estimate, low),
                    "sd": np.sqrt(max(estimate, 0.0)) if is_variance else np.nan,
                    "correlation": np.nan if is_variance else estimate / parts.var,
                    "unit": unit_name,
                    "n_methods": len(parts.means),
                    "n_readers": int(found.study.readings.readers.max()) + 1,
                    "n_cases": found.study.n_cases,
                    "n_units": found.n_units(range(len(parts.means))),
                    "figure": figure,
                    "covariance": covariance,
                    "design": found.study.design,
                }
            )
            groups.append(group)
    return pd.concat([keys.iloc[groups].reset_index(drop=True), pd.DataFrame(rows)], axis=1)


def mrmc_readers(
    scores: pd.DataFrame,
    *,
    figure: str = "mean",
    label: str | None = None,
    covariance: str = "jackknife",
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    level: float = 0.95,
    n_replicates: int = 10_000,
    rng: int | np.random.Generator = 0,
) -> pd.DataFrame:
    """Each reader's figure with each method, which `mrmc` averages over readers.

    Parameters
    ----------
    scores, figure, label, covariance, by, unit, n_replicates, rng
        As for `mrmc`.
    level : float
        Confidence level of each reader's own limits.

    Returns
    -------
    DataFrame
        For each group a row per method and reader: the grouping columns, `method`, `reader`, `term` ("mean"),
        `estimate`, `std_error` over samples of cases, `conf_low`, `conf_high`, `conf_level`, `interval`
        ("wald", normal), `unit`, `inference_to` ("these readers"), `n` defined scores, `n_units`; `figure`,
        `covariance`.

    Raises
    ------
    SalstatsError
        As for `mrmc`.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> scores = pd.DataFrame({"case": list("aabbcc"), "reader": ["ann", "bob"] * 3, "method": "cam",
    ...     "metric": "iou", "score": [0.2, 0.3, 0.5, 0.4, 0.6, 0.8]})
    >>> ss.mrmc_readers(scores)[["method", "reader", "estimate", "std_error"]].round(3)
      method reader  estimate  std_error
    0    cam    ann     0.433      0.120
    1    cam    bob     0.500      0.153
    """
    asked = asked_of(figure, label, covariance, ("fixed", "random"), n_replicates, rng)
    level = check_level(level)
    keys, unit_name, studies = studies_of(scores, by, unit, asked)
    parts = []
    for group, found in enumerate(studies):
        r, std_error = found.study.readings, np.sqrt(np.diag(found.covariance))
        low, high = t_limits(found.values, std_error, np.full(len(std_error), np.inf), level)
        names = {
            "method": text_column(found.study.methods[i] for i in r.methods),
            "reader": text_column(found.study.readers[i] for i in r.readers),
        }
        own = keys.iloc[[group] * len(low)].reset_index(drop=True).assign(**names)
        columns: dict[str, Any] = {"term": "mean", "estimate": found.values, "std_error": std_error}
        columns |= {"conf_low": low, "conf_high": high, "conf_level": level, "interval": "wald"}
        columns |= {"unit": unit_name, "inference_to": asked.analysis.inference_to, "n": r.read.sum(axis=0)}
        columns["n_units"] = (r.by_unit(r.read.astype(float)) > 0).sum(axis=0)
        parts.append(estimates_frame(own, columns, {"figure": figure, "covariance": covariance}))
    return pd.concat(parts, ignore_index=True)
