"""Printed summaries of models: their fields, and the lines of the coefficients as R prints them."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from scipy.stats import t

import salstats as ss
from salstats.stats.models.fit_summary import decimals_for_four_digits

pytestmark = pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
#: Lines of R's `summary()` for `lm` and `glm(family = binomial)` of the same rows, without marks.
OF_R = {
    "gaussian": [
        "(Intercept) 0.267848 0.036677 7.303 1.78e-12",
        "methodocclusion -0.006722 0.018226 -0.369 0.712",
        "prob 0.023508 0.048311 0.487 0.627",
    ],
    "binomial": [
        "(Intercept) -0.4160 0.5381 -0.773 0.439",
        "methodhuman 1.1433 0.2811 4.067 4.77e-05",
        "methodocclusion -0.2614 0.2560 -1.021 0.307",
        "prob 0.7000 0.7135 0.981 0.327",
    ],
}


@pytest.fixture(scope="module")
def scores():
    edema = ss.datasets.load_simulated().query("task == 'Edema'")
    is_complete = edema.groupby("case")["score"].transform(lambda values: values.notna().all())
    return edema[is_complete].drop(columns="patient")


def words_of_lines(summary):
    return [" ".join(line.split()) for line in str(summary).splitlines()]


@pytest.mark.parametrize(("family", "outcome"), [("gaussian", "iou"), ("binomial", "hit")])
def test_coefficients_are_printed_as_r_prints_them(scores, family, outcome):
    fit = ss.fit(scores, f"{outcome} ~ method + prob", family=family, errors="classical")
    lines = [line.rstrip("* .") for line in words_of_lines(fit.summary())]
    assert [line for line in OF_R[family] if line not in lines] == []
    assert "Coefficients:" in lines


def test_mixed_models_are_printed_as_lme4_prints_them(scores):
    summary = ss.fit(scores, "iou ~ method + prob + (1|case)").summary()
    lines = words_of_lines(summary)
    # the variances, standard deviations and scaled residuals of R's summary of lmer
    assert "case (Intercept) 0.0006827 0.02613" in lines
    assert "Residual 0.01975 0.14054" in lines
    assert "-2.445 -0.627 -0.082 0.586 3.133" in lines
    assert "prob 0.023508 0.049903 121.0 0.471 0.638" in lines
    assert "Fixed effects:" in lines


def test_standard_deviations_beside_one_of_zero_have_their_digits():
    # Cases have equal means, so that their variance is 0 and that of the residuals 0.08 / 7.
    rows = pd.DataFrame({"case": list("aabbccdd"), "y": [0.1, -0.1] * 4})
    lines = words_of_lines(ss.fit(rows, "y ~ 1 + (1|case)").summary())
    assert "Residual 0.01143 0.1069" in lines
    assert "case (Intercept) 0 0.0000" in lines


@pytest.mark.parametrize(
    ("formula", "options", "title"),
    [
        ("iou ~ prob", {}, "Linear regression"),
        (
            "iou ~ prob",
            {"correlation": "exchangeable"},
            "Linear regression (GEE), exchangeable working correlation",
        ),
        ("iou ~ prob + (1|case)", {}, "Linear mixed model fit by REML"),
        ("iou ~ prob + (1|case)", {"reml": False}, "Linear mixed model fit by maximum likelihood"),
    ],
)
def test_the_first_line_names_the_kind_of_model(scores, formula, options, title):
    summary = ss.fit(scores, formula, by=(), **options).summary()
    assert words_of_lines(summary)[0] == title


#: Last lines of R's `print(summary(lmer(iou ~ method * prob + (1 | case))))`, without blanks at their ends.
CORRELATIONS_OF_LME4 = """\
Correlation of Fixed Effects:
            (Intr) mthdhm mthdcc prob   mthdh:
methodhuman -0.695
methodcclsn -0.695  0.500
prob        -0.977  0.679  0.679
mthdhmn:prb  0.679 -0.977 -0.489 -0.695
mthdcclsn:p  0.679 -0.489 -0.977 -0.695  0.500"""


@pytest.mark.parametrize("errors", ["satterthwaite", "kenward-roger"])
def test_correlations_of_fixed_effects_are_printed_as_lme4_prints_them(scores, errors):
    summary = ss.fit(scores, "iou ~ method * prob + (1|case)", errors=errors).summary()
    assert str(summary).endswith(f"\n\n{CORRELATIONS_OF_LME4}")


#: The same lines for `lmer(iou ~ task * prob + method + (1 | case))` of three tasks and two methods.
CORRELATIONS_OF_TASKS = """\
            (Intr) tskCns tskPlE prob   mthdhm tskCn:
taskCnsldtn -0.713
tskPlrlEffs -0.698  0.506
prob        -0.965  0.702  0.687
methodhuman -0.121 -0.004  0.002 -0.005
tskCnsldtn:  0.680 -0.973 -0.483 -0.704  0.002
tskPlEffsn:  0.672 -0.487 -0.975 -0.695 -0.001  0.489"""


def test_names_of_several_words_are_abbreviated_as_in_r():
    scores = ss.datasets.load_simulated().drop(columns="patient").query("method != 'occlusion'")
    rows = scores[scores["task"].isin(["Cardiomegaly", "Consolidation", "Pleural Effusion"])]
    summary = ss.fit(rows, "iou ~ task * prob + method + (1|case)", by=()).summary()
    assert str(summary).endswith(CORRELATIONS_OF_TASKS)


#: The same lines for `iou ~ method + prob + (1 | case)` with a method "humans": names are longer
#: than six letters where they would be equal.
CORRELATIONS_OF_HUMANS = """\
            (Intr) methdhmn mthdhmns
methodhuman -0.237
methodhumns -0.237  0.500
prob        -0.940  0.000    0.000"""


def test_abbreviations_of_different_names_differ(scores):
    renamed = scores.replace({"method": {"occlusion": "humans"}})
    summary = ss.fit(renamed, "iou ~ method + prob + (1|case)").summary()
    assert str(summary).endswith(CORRELATIONS_OF_HUMANS)


def test_one_coefficient_or_many_have_no_correlations(scores):
    alone = ss.fit(scores, "iou ~ 1 + (1|case)").summary()
    powers = " + ".join(f"I(prob**{power})" for power in range(2, 5))
    many = ss.fit(scores, f"iou ~ method * (prob + {powers}) + (1|case)").summary()
    assert len(many.coefficients) == 15
    for summary in (alone, many):
        assert "Correlation of Fixed Effects" not in str(summary)


def test_fields_are_those_of_the_frames(scores):
    fit = ss.fit(scores, "iou ~ method + (1 + prob|case)")
    summary = fit.summary()
    pd.testing.assert_frame_equal(summary.coefficients, fit.tidy())
    pd.testing.assert_frame_equal(summary.statistics, fit.glance())
    components = fit.variance_components()[summary.random_effects.columns]
    pd.testing.assert_frame_equal(summary.random_effects, components, rtol=1e-6)


def test_models_of_groups_have_a_block_each_and_one_without_estimates_says_so(scores):
    rows = scores.query("metric == 'iou'").assign(
        score=lambda data: data["score"].where(data["method"] != "human")
    )
    summary = ss.fit(rows, "iou ~ prob", by="method").summary()
    lines = words_of_lines(summary)
    assert lines.count("Formula: iou ~ prob") == 3
    assert len(summary.coefficients) == 6
    assert sum(line.startswith("(Intercept)") for line in lines) == 2
    assert repr(summary) == summary.text


def test_a_p_value_with_a_mark_is_not_printed_as_the_bound_of_the_mark():
    prob = np.repeat([0.0, 1.0], 4)
    residuals = np.tile([-1.0, 1.0], 4)
    # the slope whose P value is just below 0.05: residuals and prob are orthogonal
    std_error = np.sqrt(8 / 6 / 2)
    slope = std_error * t.isf(0.04999 / 2, 6)
    rows = pd.DataFrame({"case": range(8), "prob": prob, "y": slope * prob + residuals})
    lines = words_of_lines(ss.fit(rows, "y ~ prob", errors="classical").summary())
    assert [line.split()[-2:] for line in lines if line.startswith("prob")] == [["0.04999", "*"]]


def test_goodness_of_fit_is_printed_with_the_numbers_of_statsmodels():
    rng = np.random.default_rng(11)
    rows = pd.DataFrame({"case": range(40), "x": rng.normal(size=40), "g": list("ab") * 20})
    rows["y"] = rows["x"] + rng.normal(size=40)
    rows["hit"] = (rows["y"] > 0).astype(float)
    rows.loc[7, "x"] = np.nan
    linear = smf.ols("y ~ x + g", rows).fit()
    lines = words_of_lines(ss.fit(rows, "y ~ x + g", errors="classical").summary())
    assert f"Residual standard error: {np.sqrt(linear.scale):.4g} on 36 degrees of freedom" in lines
    expected = f"Multiple R-squared: {linear.rsquared:.4g}, Adjusted R-squared: {linear.rsquared_adj:.4g}"
    assert expected in lines
    (f_line,) = [line for line in lines if line.startswith("F-statistic")]
    assert f_line.startswith(f"F-statistic: {linear.fvalue:.4g} on 2 and 36 DF, p-value:")
    assert float(f_line.split()[-1]) == pytest.approx(linear.f_pvalue, rel=5e-3)
    assert "Number of obs: 39" in lines
    assert any(line.startswith("(1 observation") for line in lines)
    logit = smf.glm("hit ~ x + g", rows, family=sm.families.Binomial()).fit()
    lines = words_of_lines(ss.fit(rows, "hit ~ x + g", family="binomial", errors="classical").summary())
    assert f"Null deviance: {logit.null_deviance:.2f} on 38 degrees of freedom" in lines
    assert f"Residual deviance: {logit.deviance:.2f} on 36 degrees of freedom" in lines
    assert f"AIC: {logit.aic:.2f}" in lines
    assert not any("squared" in line or line.startswith("Residual standard error") for line in lines)
    # One coefficient has no F test.
    assert "F-statistic" not in str(ss.fit(rows, "y ~ 1", errors="classical").summary())


@pytest.mark.parametrize("reml", [True, False])
def test_likelihoods_and_groups_of_mixed_models_are_printed(scores, reml):
    fit = ss.fit(scores, "iou ~ method + (1|case)", reml=reml)
    lines = words_of_lines(fit.summary())
    glance = fit.glance().iloc[0]
    n_cases = scores["case"].nunique()
    assert f"Number of obs: {glance['nobs']:.0f}, groups: case, {n_cases}" in lines
    if reml:
        assert f"REML criterion at convergence: {-2 * glance['log_lik']:.1f}" in lines
    else:
        names = ["aic", "bic", "log_lik", "deviance", "df_residual"]
        numbers = [f"{glance[name]:.1f}" for name in names[:-1]] + [f"{glance['df_residual']:.0f}"]
        assert " ".join(numbers) in lines
        assert lines[lines.index(" ".join(numbers)) - 1] == "AIC BIC logLik deviance df.resid"


@pytest.mark.parametrize(
    ("number", "decimals"),
    [(0.01234, 5), (0.5, 4), (1.0, 3), (12.34, 2), (123.4, 1), (12345.0, 1)]
    + [(0.0, 1), (-2.0, 1), (np.nan, 1), (np.inf, 1)],
)
def test_numbers_have_decimals_for_four_digits_and_at_least_one(number, decimals):
    assert decimals_for_four_digits(number) == decimals
