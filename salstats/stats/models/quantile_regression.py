"""Quantile regression, with intervals by inverting a test of rank scores that are summed over units."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import optimize, special

from salstats.checks import FormulaError, check_level
from salstats.frames import estimates_frame
from salstats.stats.adjust import adjusted_if_asked, check_procedure
from salstats.stats.engine.units import Unit
from salstats.stats.models.choices import Asked
from salstats.stats.models.design import INTERCEPT
from salstats.stats.models.formulas import parse_formula
from salstats.stats.models.models import Model, Notes, fit_models, model_counts, model_keys, warn_of
from salstats.stats.models.regression import of_variables

#: How often the distance is doubled in which a limit is looked for, and then halved.
_DOUBLINGS, _HALVINGS = 40, 18
#: Share of a column's spread that is more than rounding.
_LEFT = 1e-9


class RegressionQuantile(NamedTuple):
    """Coefficients (k,), and the rank scores (n,) of the rows: q above, q - 1 below, between on the plane."""

    coefficients: np.ndarray
    scores: np.ndarray


def regression_quantile(matrix: np.ndarray, response: np.ndarray, quantile: float) -> RegressionQuantile:
    """The plane with the least sum of weighted distances: q for rows above, 1 - q for rows below it.

    It is found from its dual, the largest sum of y a with X'a = (1 - q) X'1 and 0 <= a <= 1, by HiGHS; where
    several planes are as good it is one of them, as in R's `rq`.

    Koenker R, Bassett G. Regression quantiles. Econometrica 1978;46:33-50. https://doi.org/10.2307/1913643
    """
    if matrix.shape[1] < 2 and (matrix == matrix[:1]).all():
        return _of_constant(matrix, response, quantile)
    size = np.abs(matrix).max(axis=0)
    scaled = matrix / size
    # far from the estimate, where limits are looked for, numbers are too large for HiGHS
    unit = 2.0 ** np.frexp(np.abs(response).max())[1]
    program = optimize.linprog(
        -response / unit,
        A_eq=scaled.T,
        b_eq=(1 - quantile) * scaled.sum(axis=0),
        bounds=(0, 1),
        method="highs-ds",
    )
    return RegressionQuantile(-program.eqlin.marginals * unit / size, program.x - (1 - quantile))


def _of_constant(matrix: np.ndarray, response: np.ndarray, quantile: float) -> RegressionQuantile:
    """The same of a constant, or of no column: rows at the quantile have the one score that balances."""
    centre = 0.0
    if matrix.shape[1]:
        # a product such as 0.3 * 10 must not be above 3
        place = int(np.ceil(len(response) * quantile * (1 - 1e-12))) - 1
        centre = float(np.partition(response, place)[place])
    scores, tied = np.where(response > centre, quantile, quantile - 1.0), response == centre
    scores[tied] = np.clip(-scores[~tied].sum() / max(tied.sum(), 1), quantile - 1, quantile)
    return RegressionQuantile(centre / matrix[0], scores)


class ScoreTest(NamedTuple):
    """The test that one coefficient of a quantile regression is some value, by sums of rank scores."""

    column: np.ndarray
    others: np.ndarray
    response: np.ndarray
    #: (n,): What the others leave of the column; codes of the rows' units.
    left: np.ndarray
    clusters: np.ndarray
    quantile: float

    @classmethod
    def of(
        cls, matrix: np.ndarray, response: np.ndarray, which: int, clusters: np.ndarray, quantile: float
    ) -> "ScoreTest":
        """The test of one column among others."""
        column, others = matrix[:, which], np.delete(matrix, which, axis=1)
        left = column
        if others.shape[1]:
            left = column - others @ np.linalg.lstsq(others, column, rcond=None)[0]
        return cls(column, others, response, left, clusters, quantile)

    def statistic(self, value: float) -> float:
        """Student's t of the units' sums of rank scores times what is left of the column; 0 if all are 0.

        Rank scores are those of the regression without the column, of what the value leaves of the outcome;
        a coefficient above the value makes t positive. Rows of a unit may hang together as they like, and the
        outcome may have any distribution.

        Gutenbrunner C, Jureckova J, Koenker R, Portnoy S. Tests of linear hypotheses based on regression
        rank scores. J Nonparametric Stat 1993;2:307-331. https://doi.org/10.1080/10485259308832561

        Wang H, He X. Detecting differential expressions in GeneChip microarray studies: a quantile approach.
        J Am Stat Assoc 2007;102:104-112. https://doi.org/10.1198/016214506000001220
        """
        found = regression_quantile(self.others, self.response - value * self.column, self.quantile)
        sums = np.bincount(self.clusters, self.left * found.scores)
        around = float(((sums - sums.mean()) ** 2).sum())
        if not abs(sums.sum()) > _LEFT * np.abs(sums).sum():
            return 0.0
        with np.errstate(divide="ignore"):
            return float(sums.sum() / np.sqrt(np.float64(len(sums) / (len(sums) - 1) * around)))

    def limit(self, start: float, step: float, critical: float) -> float:
        """The last value from `start` in the direction of `step` at which |t| is at most `critical`."""
        inside, outside = start, start + step
        for _ in range(_DOUBLINGS):
            if abs(self.statistic(outside)) > critical:
                break
            inside, outside = outside, start + 2 * (outside - start)
        else:
            return float(np.copysign(np.inf, step))
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            if abs(self.statistic(middle)) > critical:
                outside = middle
            else:
                inside = middle
        return inside


def quantile_regress(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    quantile: float = 0.5,
    by: str | Sequence[str] | None = None,
    unit: Unit = None,
    reference: str | None = None,
    level: float = 0.95,
    adjust: str = "none",
    overall: bool = False,
) -> pd.DataFrame:
    """Coefficients of quantile regressions, of the median by default, one row per term.

    The model is of the quantile of the left side at given values of the right, not of its mean: of
    `iou ~ method` a coefficient is the difference of two medians.

    Parameters
    ----------
    data, formula, by, unit, reference, level, adjust, overall
        As for `regress`; without random effects.
    quantile : float
        The probability, between 0 and 1.

    Returns
    -------
    DataFrame
        As `regress`, without `std_error` and `errors`: `statistic` is t at 0 and `df` units - 1; `family` is
        "median", or "quantile" with the probability; `interval` "rank_score".

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        As for `regress`; random effects; a quantile that is not between 0 and 1.

    Warns
    -----
    SalstatsWarning
        As `regress` of rows and terms; infinite limits, of fewer than five units at 95 %, or where no value
        is rejected.

    Notes
    -----
    Limits hold all values at which a test of rank scores does not reject: the t test, with units - 1 degrees
    of freedom, of the units' sums of scores times what the other columns leave of the covariate. P is no
    smaller than 2^-units. No density is estimated, which is what makes the usual standard errors of quantile
    regressions fail for few units and lumps of scores. Of 10, 30 and 100 units, with lumps of zeros,
    covariates of the unit and two huge units too, it rejected the truth in 2 to 6 % of simulated studies;
    limits of sandwich errors with a difference quotient (R's "nid") held in 80 to 100 %.

    Where more scores are tied than the quantile can tell, as of a median among the zeros, many planes are as
    good and the estimate is one of them.

    References
    ----------
    Koenker R, Bassett G. Regression quantiles. Econometrica 1978;46:33-50. https://doi.org/10.2307/1913643

    Parente PMDC, Santos Silva JMC. Quantile regression with clustered data. J Econometric Methods
    2016;5:1-15. https://doi.org/10.1515/jem-2014-0011

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou' and method != 'occlusion'")
    >>> found = ss.quantile_regress(scores, "iou ~ method", by=())
    >>> found[["term", "estimate", "conf_low", "conf_high"]].round(3)
              term  estimate  conf_low  conf_high
    0  (Intercept)     0.298     0.285      0.310
    1  methodhuman     0.182     0.168      0.203
    """
    check_level(level)
    check_level(quantile, "quantile")
    check_procedure(adjust, "adjust")
    several = isinstance(formula, Sequence) and not isinstance(formula, str)
    for text in formula if several else [formula]:
        if parse_formula(text).random:
            raise FormulaError(
                "a quantile regression has no random effects; rows of a unit may depend on each other"
            )
    fitted = fit_models(data, formula, Asked(by, "gaussian", "cr2", unit, reference, overall))
    notes: Notes = fitted.doubts.copy()
    parts = [_terms(model, quantile, level, notes) for model in fitted.models]
    warn_of(notes)
    repeats = [part.shape[1] for part in parts]
    names = ("estimate", "statistic", "df", "p_value", "conf_low", "conf_high")
    columns = dict(zip(names, np.concatenate(parts, axis=1), strict=True))
    result = estimates_frame(
        model_keys(fitted, repeats),
        columns
        | {
            "term": [name for model in fitted.models for name in model.design.names or (INTERCEPT,)],
            "conf_level": float(level),
            "interval": "rank_score",
            **model_counts(fitted, repeats),
        },
        {"family": "median" if quantile == 0.5 else f"quantile {quantile:g}"}
        | of_variables(fitted.models, fitted.normalized),
    )
    return adjusted_if_asked(result, adjust)


def _terms(model: Model, quantile: float, level: float, notes: Notes) -> np.ndarray:
    """Estimate, statistic, df, P value and limits (6, columns) of each column of a model."""
    found = np.full((6, max(len(model.design.names), 1)), np.nan)
    solution, clusters = model.solution, model.clusters
    if solution is None or clusters is None:
        return found
    matrix, response = solution.matrix, solution.response
    estimate = regression_quantile(matrix, response, quantile).coefficients
    n_units = model.n_units
    df = float(n_units - 1)
    critical = float(special.stdtrit(df, (1 + level) / 2)) if n_units > 1 else np.inf
    # the mid-P of units that all have one sign: fewer say less, however alike they are
    least = 2.0**-n_units
    # limits lie near those of least squares, if these have any
    spread = np.sqrt(np.nan_to_num(solution.dispersion) * np.diag(solution.bread))
    for i, column in enumerate(solution.kept):
        test = ScoreTest.of(matrix, response, i, clusters, quantile)
        size = np.abs(test.left).max()
        if not size > _LEFT * np.abs(test.column).max():
            continue
        at_0 = test.statistic(0.0) if n_units > 1 else np.nan
        p_value = np.nan if n_units < 2 else max(2 * special.stdtr(df, -abs(at_0)), least)
        limits = -np.inf, np.inf
        if least < 1 - level:
            step = float(1.5 * critical * spread[i]) or 1.0
            limits = test.limit(estimate[i], -step, critical), test.limit(estimate[i], step, critical)
        found[:, column] = estimate[i], at_0, df, p_value, *limits
    if np.isinf(found[4:]).any():
        notes["limits without an end, as units are too few,"].append(
            f"{model.label}: {n_units} unit{'s' * (n_units != 1)}"
        )
    return found
