"""Quantile regression, with limits by inversion of a rank-score test that sums over units."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import optimize, special

from salstats.checks import check_level
from salstats.errors import FormulaError, Message
from salstats.frames import estimates_frame
from salstats.stats.adjust import adjust_unless_none, checked_procedure
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.models.design import INTERCEPT
from salstats.stats.models.fitted_models import Model, count_and_caution_columns, key_columns
from salstats.stats.models.formulas import parse_formula
from salstats.stats.models.model_fitting import fit_models
from salstats.stats.models.model_notes import Notes
from salstats.stats.models.model_options import ModelOptions
from salstats.stats.models.regression import reference_level_and_normalized_columns_if_any

#: Largest number of times that the distance from the estimate is doubled until it is beyond a limit.
_MAX_DOUBLINGS = 40
#: Number of times that the interval around a limit is halved, to 1 in 260,000 of its length.
_N_HALVINGS = 18
#: Sums and residuals up to this share of their terms are rounding errors.
_ROUNDING = 1e-9


class RegressionQuantile(NamedTuple):
    """Coefficients of a quantile regression, and the rank scores of its rows."""

    coefficients: np.ndarray  # (k,)
    # (n,), for quantile q: q for rows above the plane, q - 1 for rows below, between these for rows on it
    scores: np.ndarray


def regression_quantile_and_rank_scores(
    matrix: np.ndarray, response: np.ndarray, quantile: float
) -> RegressionQuantile:
    """Fit the plane with the least sum of weighted distances: weight q for rows above, 1 - q for rows below.

    HiGHS solves the dual linear program: the largest y'a with X'a = (1 - q) X'1 and 0 <= a <= 1. The
    multipliers of its equations are the coefficients, and a - (1 - q) are the rank scores. If several planes
    are equally good it is one of them, as in R's `rq`.

    Koenker R, Bassett G. Regression quantiles. Econometrica 1978;46:33-50. https://doi.org/10.2307/1913643
    """
    if matrix.shape[1] < 2 and (matrix == matrix[:1]).all():
        return _constant_quantile(matrix, response, quantile)
    column_sizes = np.abs(matrix).max(axis=0)
    scaled_matrix = matrix / column_sizes
    # The search for limits reaches values too large for HiGHS; a power of 2 rescales them without rounding.
    response_scale = 2.0 ** np.frexp(np.abs(response).max())[1]
    program = optimize.linprog(
        -response / response_scale,
        A_eq=scaled_matrix.T,
        b_eq=(1 - quantile) * scaled_matrix.sum(axis=0),
        bounds=(0, 1),
        method="highs-ds",
    )
    coefficients = -program.eqlin.marginals * response_scale / column_sizes
    return RegressionQuantile(coefficients, scores=np.asarray(program.x) - (1 - quantile))


def _constant_quantile(matrix: np.ndarray, response: np.ndarray, quantile: float) -> RegressionQuantile:
    """Fit the quantile of a response to a constant column, or 0 if there is no column.

    The rows at the quantile share one score, such that all scores sum to 0 if that is possible.
    """
    value = 0.0
    if matrix.shape[1]:
        # The product is made a little smaller, since rounding errors could lift 0.3 * 10 above 3.
        rank = int(np.ceil(len(response) * quantile * (1 - 1e-12))) - 1
        value = float(np.partition(response, rank)[rank])
    scores = np.where(response > value, quantile, quantile - 1.0)
    is_tied = response == value
    balancing_score = -scores[~is_tied].sum() / max(is_tied.sum(), 1)
    scores[is_tied] = np.clip(balancing_score, quantile - 1, quantile)
    return RegressionQuantile(value / matrix[0], scores)


class ScoreTest(NamedTuple):
    """Test that one coefficient of a quantile regression has some value, by sums of rank scores."""

    column: np.ndarray  # (n,), of the coefficient
    covariates: np.ndarray  # (n, k - 1), the other columns
    response: np.ndarray  # (n,)
    residual_column: np.ndarray  # (n,), residuals of the column's least squares on the covariates
    clusters: NDArray[np.integer]  # (n,), codes of the rows' units
    quantile: float

    @classmethod
    def of_coefficient(
        cls,
        matrix: np.ndarray,
        response: np.ndarray,
        position: int,
        clusters: NDArray[np.integer],
        quantile: float,
    ) -> "ScoreTest":
        """Return the test of the coefficient at a position of the model matrix."""
        column = matrix[:, position]
        covariates = np.delete(matrix, position, axis=1)
        residual_column = column
        if covariates.shape[1]:
            coefficients = np.linalg.lstsq(covariates, column, rcond=None)[0]
            residual_column = column - covariates @ coefficients
        return cls(column, covariates, response, residual_column, clusters, quantile)

    def t_statistic(self, value: float) -> float:
        """Return Student's t of the hypothesis that the coefficient has a value; 0 if all sums are 0.

        The rank scores are those of the response minus the value times the column, in a regression on the
        covariates. Their products with the residual column are summed by unit, and t is that of these sums,
        positive if the coefficient is above the value. Rows of a unit may be correlated in any way, and the
        response may have any distribution.

        Gutenbrunner C, Jureckova J, Koenker R, Portnoy S. Tests of linear hypotheses based on regression
        rank scores. J Nonparametric Stat 1993;2:307-331. https://doi.org/10.1080/10485259308832561

        Wang H, He X. Detecting differential expressions in GeneChip microarray studies: a quantile approach.
        J Am Stat Assoc 2007;102:104-112. https://doi.org/10.1198/016214506000001220
        """
        response = self.response - value * self.column
        regression = regression_quantile_and_rank_scores(self.covariates, response, self.quantile)
        sums = np.bincount(self.clusters, self.residual_column * regression.scores)
        if not abs(sums.sum()) > _ROUNDING * np.abs(sums).sum():
            return 0.0
        n_units = len(sums)
        squares = float(((sums - sums.mean()) ** 2).sum())
        variance_of_total = np.float64(n_units / (n_units - 1) * squares)
        with np.errstate(divide="ignore"):
            return float(sums.sum() / np.sqrt(variance_of_total))

    def last_accepted_value(self, start: float, step: float, critical: float) -> float:
        """Return the last value from `start` in the direction of `step` at which |t| is at most `critical`.

        It is infinite if no value is rejected.
        """
        inside = start
        outside = start + step
        for _ in range(_MAX_DOUBLINGS):
            if abs(self.t_statistic(outside)) > critical:
                break
            inside = outside
            outside = start + 2 * (outside - start)
        else:
            return float(np.copysign(np.inf, step))
        for _ in range(_N_HALVINGS):
            middle = (inside + outside) / 2
            if abs(self.t_statistic(middle)) > critical:
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
    """Coefficients of quantile regressions, by default of the median, one row per term.

    The quantile of the left side, not its mean, is modelled at given values of the right side: a coefficient
    of `iou ~ method` is the difference of two medians.

    Parameters
    ----------
    data, formula, by, unit, reference, level, adjust, overall
        As for `regress`; without random effects.
    quantile : float
        The probability, between 0 and 1.

    Returns
    -------
    DataFrame
        As `regress`, without `std_error`, `errors` and `exponentiated`: `statistic` is t at 0 and `df` units
        - 1; `family` is "median", or "quantile" with the probability; `interval` "rank_score".

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        As for `regress`; random effects; a quantile that is not between 0 and 1.

    Warns
    -----
    SalstatsWarning
        As for `regress`; infinite limits, because there are fewer than five units (at the level 0.95) or no
        value is rejected.

    Notes
    -----
    Limits contain all values that a test of rank scores does not reject. Rank scores are multiplied by the
    residuals of the covariate after regression on the other columns, and summed by unit; the test is the t
    test of these sums with units - 1 degrees of freedom. P is no smaller than 2^-units. No density is
    estimated: with few units and with many equal scores such estimates make the usual standard errors of
    quantile regressions fail. In simulations of 10, 30 and 100 units, with many zeros, covariates of the unit
    and two huge units, the test rejected the true value in 2 to 6 % of studies; limits of sandwich errors
    with a difference quotient (R's "nid") covered the true value in 80 to 100 %.

    If many scores at the quantile are tied, such as zeros at the median, several planes are equally good and
    the estimate is one of them.

    References
    ----------
    Koenker R, Bassett G. Regression quantiles. Econometrica 1978;46:33-50. https://doi.org/10.2307/1913643

    Parente PMDC, Santos Silva JMC. Quantile regression with clustered data. J Econometric Methods
    2016;5:1-15. https://doi.org/10.1515/jem-2014-0011

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou' and method != 'occlusion'")
    >>> medians = ss.quantile_regress(scores, "iou ~ method", by=())
    >>> medians[["term", "estimate", "conf_low", "conf_high"]].round(3)
              term  estimate  conf_low  conf_high
    0  (Intercept)     0.298     0.285      0.310
    1  methodhuman     0.182     0.168      0.203
    """
    check_level(level)
    check_level(quantile, "quantile")
    checked_procedure(adjust, "adjust")
    formulas: list[Any] = [formula]
    if isinstance(formula, Sequence) and not isinstance(formula, str):
        formulas = list(formula)
    for text in formulas:
        if parse_formula(text).random:
            raise FormulaError(
                "a quantile regression has no random effects",
                hint="leave them out, as rows of a unit may depend on each other",
                option="formula",
            )
    options = ModelOptions(
        by=by, family="gaussian", errors="cr2", unit=unit, reference=reference, overall=overall
    )
    fitted = fit_models(data, formula, options)
    notes = fitted.inference_notes.copy()
    tables = [
        _estimate_test_and_limits_by_coefficient(model, quantile, level, notes) for model in fitted.models
    ]
    notes.warn()
    repeats = [len(table) for table in tables]
    table = pd.concat(tables, ignore_index=True)
    columns: dict[str, Any] = {str(name): values for name, values in table.items()}
    columns["term"] = [name for model in fitted.models for name in model.design.names or (INTERCEPT,)]
    columns["conf_level"] = float(level)
    columns["interval"] = "rank_score"
    columns |= count_and_caution_columns(fitted, repeats)
    family = "median" if quantile == 0.5 else f"quantile {quantile:g}"
    last_columns: dict[str, Any] = {"family": family}
    if fitted.human_label is not None:
        last_columns["human_label"] = fitted.human_label
    last_columns |= reference_level_and_normalized_columns_if_any(fitted.models, fitted.normalized)
    result = estimates_frame(key_columns(fitted, repeats), columns, last_columns)
    return adjust_unless_none(result, adjust)


def _estimate_test_and_limits_by_coefficient(
    model: Model, quantile: float, level: float, notes: Notes
) -> pd.DataFrame:
    """Return estimate, test and limits of each column of a model matrix, NaN where not estimated."""
    # A model without columns has one row.
    n_columns = max(len(model.design.names), 1)
    names = ["estimate", "statistic", "df", "p_value", "conf_low", "conf_high"]
    table = pd.DataFrame(np.nan, index=range(n_columns), columns=names)
    solution = model.solution
    clusters = model.clusters
    if solution is None or clusters is None:
        return table
    matrix = solution.matrix
    response = solution.response
    estimates = regression_quantile_and_rank_scores(matrix, response, quantile).coefficients
    n_units = model.n_units
    df = float(n_units - 1)
    critical = float(special.stdtrit(df, (1 + level) / 2)) if n_units > 1 else np.inf
    # The sums of all units have the same sign with probability 2 * 2^-n; its half is the mid-P value of this
    # most extreme outcome, and P is no smaller, however similar the units are.
    least_p_value = 2.0**-n_units
    # The search starts near the limits of least squares, if these exist.
    std_errors = np.sqrt(np.nan_to_num(solution.dispersion) * np.diag(solution.bread))
    for i, column in enumerate(solution.column_positions):
        test = ScoreTest.of_coefficient(matrix, response, i, clusters, quantile)
        # A column that depends on the others has no estimate.
        if not np.abs(test.residual_column).max() > _ROUNDING * np.abs(test.column).max():
            continue
        statistic = np.nan
        p_value = np.nan
        if n_units > 1:
            statistic = test.t_statistic(0.0)
            p_value = max(float(2 * special.stdtr(df, -abs(statistic))), least_p_value)
        conf_low = -np.inf
        conf_high = np.inf
        if least_p_value < 1 - level:
            # Half as wide again as the limits of least squares, so that it is likely to be beyond a limit; 1
            # where these do not exist
            step = float(1.5 * critical * std_errors[i]) or 1.0
            conf_low = test.last_accepted_value(estimates[i], -step, critical)
            conf_high = test.last_accepted_value(estimates[i], step, critical)
        table.loc[column] = [estimates[i], statistic, df, p_value, conf_low, conf_high]
    if np.isinf(table[["conf_low", "conf_high"]].to_numpy()).any():
        units = "1 unit" if n_units == 1 else f"{n_units} units"
        notes.add(
            "infinite limits, as there are too few units,",
            Message(model.label, f": {units}"),
            column="conf_high",
        )
    return table
