"""Variance components of readers and cases, and the figures of single readers, as `mrmc` uses them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_level
from salstats.frames import estimates_frame, text_column
from salstats.stats.engine.limits import t_limits
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.mrmc.analysis import checked_mrmc_options, figures_of_groups
from salstats.stats.mrmc.anova import variances_and_covariances_of_table


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
    """Variances and covariances that `mrmc` estimates: between readers, and over samples of cases.

    Parameters
    ----------
    scores, figure, label, covariance, by, unit, n_replicates, rng
        As for `mrmc`.

    Returns
    -------
    DataFrame
        For each group a row per component:

        - the grouping columns, `term`: "reader" (between readers' true figures, the same for all methods;
          within methods if readers are nested), "method:reader" (interaction of readers and methods), "error"
          (of one figure over samples of cases), "cov1" (of one reader's figures with two methods), "cov2" (of
          two readers' figures with one method), "cov3" (of two readers' figures with two methods); those that
          the design has;
        - `parameter`: "variance" or "covariance";
        - `estimate`, which may be below 0;
        - `used`, the value that `mrmc` uses (Hillis 2014): 0 for a negative variance, and cov3 (with one
          method 0) for a smaller cov2;
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
    options = checked_mrmc_options(figure, label, covariance, "random", "random", n_replicates, rng)
    keys, unit_name, groups = figures_of_groups(scores, by, unit, options)
    rows = []
    group_of_row = []
    for group, group_figures in enumerate(groups):
        study = group_figures.study
        table = group_figures.anova
        n_methods = len(table.means)
        for term, estimate in variances_and_covariances_of_table(table).items():
            row: dict[str, Any] = {"term": term}
            if term.startswith("cov"):
                lowest = -np.inf
                if term == "cov2":
                    # With one method cov3 is NaN, and cov2 counts as 0 if it is below 0.
                    lowest = np.nan_to_num(table.cov3)
                row |= {
                    "parameter": "covariance",
                    "estimate": estimate,
                    "used": max(estimate, lowest),
                    "sd": np.nan,
                    "correlation": estimate / table.var,
                }
            else:
                row |= {
                    "parameter": "variance",
                    "estimate": estimate,
                    "used": max(estimate, 0.0),
                    "sd": np.sqrt(max(estimate, 0.0)),
                    "correlation": np.nan,
                }
            row |= {
                "unit": unit_name,
                "n_methods": n_methods,
                "n_readers": int(study.readings.readers.max()) + 1,
                "n_cases": study.n_cases,
                "n_units": group_figures.n_units_with_any_method(range(n_methods)),
                "figure": figure,
                "covariance": covariance,
                "design": study.design,
            }
            rows.append(row)
            group_of_row.append(group)
    return pd.concat([keys.iloc[group_of_row].reset_index(drop=True), pd.DataFrame(rows)], axis=1)


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
    """Figure of each reader with each method, which `mrmc` averages over readers.

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
    options = checked_mrmc_options(figure, label, covariance, "fixed", "random", n_replicates, rng)
    level = check_level(level)
    keys, unit_name, groups = figures_of_groups(scores, by, unit, options)
    frames = []
    for group, group_figures in enumerate(groups):
        study = group_figures.study
        readings = study.readings
        values = group_figures.values
        std_error = np.sqrt(np.diag(group_figures.covariance))
        normal_df = np.full(len(std_error), np.inf)
        low, high = t_limits(values, std_error, normal_df, level)
        cell_keys = keys.iloc[[group] * len(values)].reset_index(drop=True)
        cell_keys["method"] = text_column(study.methods[method] for method in readings.methods)
        cell_keys["reader"] = text_column(study.readers[reader] for reader in readings.readers)
        columns: dict[str, Any] = {
            "term": "mean",
            "estimate": values,
            "std_error": std_error,
            "conf_low": low,
            "conf_high": high,
            "conf_level": level,
            "interval": "wald",
            "unit": unit_name,
            "inference_to": options.analysis.inference_to,
            "n": readings.is_read.sum(axis=0),
            "n_units": (readings.unit_by_cell_sums(readings.is_read.astype(float)) > 0).sum(axis=0),
        }
        frames.append(estimates_frame(cell_keys, columns, {"figure": figure, "covariance": covariance}))
    return pd.concat(frames, ignore_index=True)
