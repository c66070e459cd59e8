"""Models that are fitted once, with methods for coefficients, tests, means and predictions."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from salstats.stats.engine.equivalence import Margin
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.models.fit_summary import FitSummary, fit_summary
from salstats.stats.models.fitted_models import Fitted
from salstats.stats.models.goodness_of_fit import augmented_rows, glance
from salstats.stats.models.joint_tests import joint_tests
from salstats.stats.models.margins import (
    MarginalOptions,
    marginal_contrasts,
    marginal_effects,
    marginal_means,
    marginal_slopes,
)
from salstats.stats.models.model_fitting import fit_models
from salstats.stats.models.model_options import ModelOptions
from salstats.stats.models.predictions import prediction_rows
from salstats.stats.models.random_effect_summaries import random_effects, variance_components
from salstats.stats.models.regression import coefficient_rows


def fit(
    data: pd.DataFrame,
    formula: str | Sequence[str],
    *,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    errors: str | None = None,
    unit: Unit = None,
    reference: str | None = None,
    overall: bool = False,
    correlation: str | None = None,
    reml: bool = True,
    weights: str | None = None,
) -> "Fit":
    """Fit regression models of a formula in every group, for coefficients, tests, means and predictions.

    Parameters
    ----------
    data, formula, by, family, errors, unit, reference, overall, correlation, reml, weights
        As for `regress`.

    Returns
    -------
    Fit
        Fitted models, whose methods return frames: `Fit.tidy`, `Fit.glance`, `Fit.augment`, `Fit.joint`,
        `Fit.predict`, `Fit.means`, `Fit.contrasts`, `Fit.slopes`, `Fit.effects`; for mixed models also
        `Fit.variance_components` and `Fit.random_effects`. `Fit.summary` prints. It is immutable.

    Raises
    ------
    FormulaError, ColumnError, ValueRangeError
        As for `regress`.

    Warns
    -----
    SalstatsWarning
        Models without estimates, or with terms that depend on others. Methods with standard errors or tests
        warn of problems with these.

    Notes
    -----
    Marginal means, contrasts and slopes are on the scale of the score: in the logit families they are
    averages of fitted probabilities or fractions, not of logits (`scale="link"`), and not predictions for an
    average case.
    The option `average` chooses the rows that are averaged over:

    - `"grid"`: all combinations of the levels of the other factors count alike, and numbers are held at their
      mean over the model's rows. This is R's emmeans, for the logit families after
      `regrid(transform = "response")`.
    - `"rows"`: the rows of the model, with the variable set to each of its levels in turn (with `by`, the
      rows of that level), weighted if the model is. This is R's `marginaleffects::avg_predictions`,
      `avg_comparisons` and `avg_slopes`, Stata's `margins`.

    For a linear model of one factor without interactions the two agree. Standard errors are by the delta
    method, sqrt(g'V g) with V the covariance by `errors` and g the derivative of the average by all
    parameters; the rows averaged over are treated as fixed. Degrees of freedom are Satterthwaite's of the
    combination g with `cr2`, `mancl-derouen` and `satterthwaite` (or those of `kenward-roger`), else those of
    the fit: G - 1, n - k, or none (the normal distribution) for binomial models. Limits are estimate ±
    quantile × standard error, and may lie outside 0 to 1; those of `predict`, computed on the logit scale, do
    not.

    References
    ----------
    Searle SR, Speed FM, Milliken GA. Population marginal means in the linear model: an alternative to least
    squares means. Am Stat 1980;34:216-221. https://doi.org/10.1080/00031305.1980.10483031

    Arel-Bundock V, Greifer N, Heiss A. How to interpret statistical models using marginaleffects for R and
    Python. J Stat Softw 2024;111(9):1-32. https://doi.org/10.18637/jss.v111.i09

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> model = ss.fit(scores, "iou ~ method * task + prob")
    >>> model
    Fit of 'iou ~ method * task + prob': 1 gaussian model, errors='cr2'
    >>> model.means("method")[["method", "estimate", "std_error", "conf_low", "conf_high"]].round(3)
          method  estimate  std_error  conf_low  conf_high
    0    gradcam     0.300      0.006     0.287      0.312
    1      human     0.481      0.006     0.469      0.493
    2  occlusion     0.269      0.006     0.257      0.281
    """
    options = ModelOptions(
        by=by,
        family=family,
        errors=errors,
        unit=unit,
        reference=reference,
        overall=overall,
        correlation=correlation,
        reml=reml,
        weights=weights,
    )
    fitted = fit_models(data, formula, options)
    return Fit(**vars(fitted))


class Fit(Fitted):
    """Fitted models of one or several formulas, one in each group, as `fit` returns them."""

    def __repr__(self) -> str:
        formulas = dict.fromkeys(repr(model.formula.text) for model in self.models)
        kind = "mixed" if self.is_mixed else self.family.name
        plural = "s" if len(self.models) > 1 else ""
        text = f"Fit of {', '.join(formulas)}: {len(self.models)} {kind} model{plural}"
        if self.by:
            text += f" by {', '.join(self.by)}"
        if self.reference is not None:
            text += f", outcome {self.reference!r} minus the method"
        text += f", errors={self.errors!r}"
        if self.correlation is not None:
            text += f", correlation={self.correlation!r}"
        return text

    def summary(self) -> FitSummary:
        """Summary of every model, printed in the layout of R's `summary()`.

        Returns
        -------
        FitSummary
            Prints a block for each model: family, formula and group; quantiles of the residuals of linear
            models (of mixed models divided by their standard deviation); variances, standard deviations and
            correlations of random effects, as lme4 does; the coefficients with standard errors, degrees of
            freedom where they differ, t or z, and P values; the kind of standard errors and the number of
            clusters; R squared and the F test, or deviances and AIC; the number of observations and groups;
            the correlations of up to 12 fixed effects of a mixed model, with abbreviated names as in lme4.
            Its fields hold the numbers: `coefficients` as from `tidy`, `statistics` as from `glance`,
            `random_effects` with the columns of `variance_components` that need no profiles, and `text`.

        Examples
        --------
        >>> import salstats as ss
        >>> scores = ss.datasets.load_simulated().query("method == 'gradcam'")
        >>> ss.fit(scores, "iou ~ task + prob").summary()
        Linear regression
        Formula: iou ~ task + prob
        method: gradcam
        <BLANKLINE>
        Residuals:
            Min      1Q Median     3Q    Max
        -0.3632 -0.1018 0.0003 0.0926 0.4557
        <BLANKLINE>
        Coefficients:
                             Estimate Std. Error    df t value Pr(>|t|)
        (Intercept)           0.20412    0.02491  84.1   8.193 2.47e-12 ***
        taskCardiomegaly      0.07986    0.01971 109.5   4.053 9.49e-05 ***
        taskConsolidation     0.02750    0.01688 111.3   1.630    0.106
        taskEdema             0.01872    0.01894 108.2   0.988    0.325
        taskPleural Effusion  0.04560    0.01793 111.6   2.543   0.0124 *
        prob                  0.08680    0.03361  88.6   2.583   0.0114 *
        ---
        Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1
        <BLANKLINE>
        Bias-reduced standard errors clustered by patient (CR2), 140 clusters
        Residual standard error: 0.1475 on 679 degrees of freedom
        Multiple R-squared: 0.04224, Adjusted R-squared: 0.03518
        F-statistic: 7.218 on 5 and 103.2 DF, p-value: 7.85e-06
        Number of obs: 685
          (285 observations left out because a variable is missing)
        """
        return fit_summary(self)

    def tidy(self, *, level: float = 0.95, exponentiate: bool = False, adjust: str = "none") -> pd.DataFrame:
        """Coefficients, one row per term, with the options and columns of `regress`."""
        return coefficient_rows(self, level=level, exponentiate=exponentiate, adjust=adjust)

    def glance(self) -> pd.DataFrame:
        """Goodness of fit, one row per model, with the columns of `fit_statistics`."""
        return glance(self)

    def augment(self) -> pd.DataFrame:
        """Rows used, with fitted values, residuals and influence, with the columns of `augment`."""
        return augmented_rows(self)

    def joint(
        self, terms: str | Sequence[str] | None = None, *, adjust: str = "none", each: bool = False
    ) -> pd.DataFrame:
        """Wald tests that some terms have no effect, with the columns of `joint_test`.

        With `each` every term is tested by itself, so that each factor has one P value, as in
        `table_regression(joint=)`. A term that is part of an interaction is tested on average over the levels
        of the other factors, for any reference levels: type III tests on sum contrasts, as in R's lmerTest
        and car.
        """
        return joint_tests(self, terms, adjust=adjust, each_term_apart=each)

    def predict(
        self, at: Mapping[str, Any] | pd.DataFrame, *, level: float = 0.95, random: bool = False
    ) -> pd.DataFrame:
        """Fitted means at values of the variables, with pointwise confidence limits.

        Parameters
        ----------
        at : mapping or DataFrame
            Values of variables on the right side, one or several of each, such as `{"prob": [0.2, 0.8],
            "task": "Edema"}`, in all combinations; or a table with a row for each mean. Other variables are
            held constant: numbers at their mean over the model's rows, text and `C(...)` at their reference
            level.
        level : float
            Confidence level of each pair of limits.
        random : bool
            For mixed models: add the random effects of groups that `at` names, such as `{"reader": "R1"}`.
            Groups that are not named or not in the data have the effect 0. Such predictions have no limits.

        Returns
        -------
        DataFrame
            In order of model and value, with `by..., reference, formula` as in `regress`, then the
            variables of the right side, then `estimate` and the columns after it as in `fit_line`. Means at a
            level that the models of some groups lack are NaN, with a warning.

        Raises
        ------
        ValueRangeError
            A name that is not on the right side; a level that no model has; text for a number; `random` for
            models without random effects.
        """
        return prediction_rows(self, at, level=level, random=random)

    def means(
        self,
        term: str,
        by: str | Sequence[str] = (),
        *,
        at: Mapping[str, Any] | None = None,
        average: str = "grid",
        scale: str = "score",
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Marginal mean of each level of a factor.

        Parameters
        ----------
        term : str
            A column of text, or one in `C(...)`, on the right side of the formula, or any column of `at`.
        by : str or sequence of str
            Other such columns; there is a mean for each combination of their levels.
        at : mapping, optional
            Values of variables on the right side, one or several of each, such as `{"prob": [0.2, 0.8],
            "task": "Edema"}`: R's `emmeans(at=)`. Columns that are `term` or in `by` have these levels only,
            and a mean for each; means are averages over all values of other columns. By default factors
            have all their levels, and numbers are held at their mean. With `average="rows"` the values
            replace those of every row.
        average : {"grid", "rows"}
            Kind of average; see `fit`.
        scale : {"score", "link"}
            The scale on which values are averaged and reported: that of the score, or that of the linear
            predictor, for all families but `gaussian` the logit of the mean. The inverse logit of the latter
            means and limits is R's `emmeans(type = "response")`.
        level : float
            Confidence level.

        Returns
        -------
        DataFrame
            In order of model, then the levels of `by` and `term` (the reference first, or the order of `at`),
            with columns: the grouping columns of the models, those of `by` and `term`, `reference, formula`
            as in `regress`, `estimate, std_error, df, conf_low, conf_high, conf_level, interval`, `unit, n,
            n_missing, n_units` of the model, `family, errors, average`; `scale` if it is "link", and `at`,
            the values of other columns of `at` ("prob = 0.2, 0.8"). A mean that the data do not determine is
            NaN.

        Raises
        ------
        ValueRangeError
            `term` or a name of `by` is neither a factor of the formula nor in `at`; a name in `at` that is
            not on the right side, a level that no model has, text for a number; an unknown option.

        Examples
        --------
        >>> import salstats as ss
        >>> scores = ss.datasets.load_simulated()
        >>> model = ss.fit(scores, "iou ~ method * prob + task")
        >>> means = model.means("method", by="prob", at={"prob": [0.2, 0.8]})
        >>> means[["prob", "method", "estimate", "std_error", "conf_low", "conf_high"]].round(3)
           prob     method  estimate  std_error  conf_low  conf_high
        0   0.2    gradcam     0.257      0.017     0.223      0.292
        1   0.2      human     0.501      0.017     0.467      0.535
        2   0.2  occlusion     0.248      0.019     0.210      0.287
        3   0.8    gradcam     0.308      0.008     0.293      0.323
        4   0.8      human     0.477      0.008     0.462      0.492
        5   0.8  occlusion     0.273      0.008     0.258      0.288
        """
        options = MarginalOptions(average, level, scale, at)
        return marginal_means(self, term, _columns_as_tuple(by), options)

    def contrasts(
        self,
        term: str,
        *,
        reference: object = None,
        by: str | Sequence[str] = (),
        at: Mapping[str, Any] | None = None,
        average: str = "grid",
        scale: str = "score",
        level: float = 0.95,
        adjust: str = "none",
        margin: Margin | None = None,
    ) -> pd.DataFrame:
        """Differences of the marginal means of a factor's levels.

        Parameters
        ----------
        term, by, at, average, scale, level
            As for `means`. Differences of means on the scale "link" are logarithms of odds ratios.
        reference : str or number, optional
            The level to subtract from every other level. By default, and for "all" if no level has this
            name, all pairs of levels are compared, the later minus the earlier.
        adjust : str
            `none`; a procedure of `adjust()`, whose family of tests is all rows of the result; `mvt`, the
            multivariate t distribution, whose family is the contrasts of one model and combination of `by`,
            as in R's emmeans; or, for all pairs of levels, `tukey`, with the same families. Limits by
            `bonferroni`, `sidak`, `tukey` and `mvt` are simultaneous and agree with the adjusted P values.
            Other procedures have no such limits: theirs hold singly, as without adjustment (R's emmeans
            gives those of `bonferroni`).
        margin : float, pair or dict, optional
            As for `difference`, on the scale of the score; a dict is by the left sides of the formulas.

        Returns
        -------
        DataFrame
            As `means`, with a row for each difference. After the column of the level, `reference_level` is
            the level that was subtracted; `statistic, p_value` (`p_adjusted`) are placed as in `regress`. If
            a group lacks the reference its rows are NaN, with a warning. With `margin` the last columns are
            `verdict, margin_low, margin_high, p_margin` (`p_margin_adjusted`) as in `difference`; a
            difference is "lower" or "higher" by its P value. With `adjust`, `n_tests` and `procedure` as in
            `adjust()`; where limits are simultaneous, `family_level` is the level at which those of a family
            hold together, and `conf_level` the level of each, which may differ between rows.

        Raises
        ------
        ValueRangeError
            As `means`; `reference` is not a level of any group; an invalid margin; `tukey` with a reference;
            `tukey` or `mvt` with a margin.

        Notes
        -----
        Tukey's P value of a difference d with standard error s is that of ``sqrt(2) abs(d) / s`` in the
        studentized range distribution of k levels and the degrees of freedom of d (Kramer 1956); limits are
        d ± s q / sqrt(2) with q its quantile. They are exact for means of equal variance and conservative
        for others that are independent (Hayter 1984).

        `mvt` takes account of the correlations of the contrasts: a P value is the probability that the
        largest absolute statistic of the family exceeds that of the row, in the multivariate t distribution
        with the degrees of freedom of the row (Hothorn et al. 2008). It is never above that of `bonferroni`
        for the same family; with a reference and equal variances it is that of Dunnett. emmeans integrates
        with random points, to about 1e-3, and rounds degrees of freedom down. Here they are not rounded, and
        the integral is deterministic: up to four levels to 1e-8 of the P value, ten levels to about 3e-4
        of it.

        References
        ----------
        Kramer CY. Extension of multiple range tests to group means with unequal numbers of replications.
        Biometrics 1956;12:307-310. https://doi.org/10.2307/3001469

        Hothorn T, Bretz F, Westfall P. Simultaneous inference in general parametric models. Biom J
        2008;50:346-363. https://doi.org/10.1002/bimj.200810425

        Hayter AJ. A proof of the conjecture that the Tukey-Kramer multiple comparisons procedure is
        conservative. Ann Stat 1984;12:61-75. https://doi.org/10.1214/aos/1176346392
        """
        options = MarginalOptions(average, level, scale, at)
        columns = _columns_as_tuple(by)
        return marginal_contrasts(self, term, columns, reference, options, adjust, margin)

    def slopes(
        self,
        covariate: str,
        by: str | Sequence[str] = (),
        *,
        average: str = "rows",
        level: float = 0.95,
        adjust: str = "none",
    ) -> pd.DataFrame:
        """Marginal slope along a covariate: the change of the mean score per unit of it.

        Parameters
        ----------
        covariate : str
            A column of numbers on the right side, also in transforms and interactions.
        by, average, level
            As for `contrasts`; by default the average is over the model's rows, the average marginal effect.
        adjust : str
            `none` or a procedure of `adjust()`; the family of tests is all rows of the result.

        Returns
        -------
        DataFrame
            As `contrasts`, with the covariate as `term`.

        Raises
        ------
        ValueRangeError
            `covariate` is not a column of numbers on the right side; otherwise as `means`.

        Notes
        -----
        Derivatives are central differences of 1 and 2 steps on either side, with weights that make them exact
        for polynomials of degree four. A step is 1/10,000 of the covariate's range, and shorter where a step
        of a tenth of the length gives another slope, such as near the end of a logarithm's domain.
        """
        return marginal_slopes(self, covariate, _columns_as_tuple(by), average, level, adjust)

    def effects(self, *, level: float = 0.95, adjust: str = "none") -> pd.DataFrame:
        """Average marginal effect of every variable on the scale of the score, in the columns of `regress`.

        Parameters
        ----------
        level, adjust
            As for `slopes`.

        Returns
        -------
        DataFrame
            As `regress`, without intercepts and interactions: the effect of a number is its slope, that of a
            level the difference from the reference level, both averaged over the model's rows as by `slopes`
            and `contrasts(average="rows")`, with a column `average`. `table_regression` takes this frame.
        """
        return marginal_effects(self, level, adjust)

    def variance_components(self, *, level: float = 0.95) -> pd.DataFrame:
        """Variances and correlations of random effects, and their shares of the total variance.

        Parameters
        ----------
        level : float
            Confidence level.

        Returns
        -------
        DataFrame
            In order of model, random effect and residual, with columns

            `by`, reference, formula
                As in `regress`.
            group, term
                The grouping ("case", "patient:case", "Residual") and the coefficient that differs between
                groups: "(Intercept)", "methodhuman", or a pair for a correlation, "(Intercept), methodhuman".
            parameter, estimate
                "variance" or "correlation", and its estimate.
            std_dev
                Root of a variance, in units of the score.
            statistic, df, p_value
                Likelihood-ratio test that the effect has no variance: twice the difference of the log
                likelihoods of models with and without it, and the number of variances and correlations by
                which these differ.
            conf_low, conf_high, conf_level, interval
                Profile-likelihood limits of the estimate.
            share, share_low, share_high
                Share of the variance of a score that is due to the random effect, with limits: for cases the
                intraclass correlation (ICC) of two scores of one case. If several coefficients differ between
                groups the first row has their joint share, averaged over the rows of the model.
            n_groups, n, reml
                Number of groups, and of rows of the model; True for the restricted likelihood.

        Raises
        ------
        SalstatsError
            The models have no random effects.

        Notes
        -----
        A variance cannot be negative, so that under the null hypothesis its test statistic is 0 half of the
        time: the P value is the mean of those of chi-squared with df and with df - 1 degrees of freedom (Self
        and Liang 1987). R's `lmerTest::ranova` uses chi-squared with df, whose P is up to twice as large.

        References
        ----------
        Self SG, Liang KY. Asymptotic properties of maximum likelihood estimators and likelihood ratio tests
        under nonstandard conditions. J Am Stat Assoc 1987;82:605-610.
        https://doi.org/10.1080/01621459.1987.10478472
        """
        return variance_components(self, level=level)

    def random_effects(self) -> pd.DataFrame:
        """Random effects of each group: its differences from the mean of all groups, shrunk towards 0.

        Returns
        -------
        DataFrame
            In order of model, random effect, group and term, with columns `by..., reference, formula` as in
            `regress`, `group` ("reader"), `level` (its name, "R1", or "P1:C3" for groups of several columns),
            `term`, `estimate` (the conditional mean, "BLUP") and `std_error` (the conditional standard
            deviation with coefficients and variances treated as known, as in lme4).

        Raises
        ------
        SalstatsError
            The models have no random effects.
        """
        return random_effects(self)


def _columns_as_tuple(by: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns as a tuple; `by` may be a single name."""
    if isinstance(by, str):
        return (by,)
    return tuple(by)
