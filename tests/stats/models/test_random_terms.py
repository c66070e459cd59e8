"""Mixed models by formula give what R's lme4, lmerTest and emmeans give."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns, warns_too

import salstats as ss
from salstats.errors import ColumnValue, FormulaError, Setting, ValueRangeError
from salstats.readers.lanfredi2021 import read_lanfredi2021
from salstats.stats.models.design import build_design, coded_variable
from salstats.stats.models.error_kinds import FIXED_EFFECTS_ERRORS
from salstats.stats.models.formulas import parse_formula
from salstats.stats.models.random_terms import mixed_model

FEATURES = "n_instances + area_ratio + elongation + irrectangularity"
#: Models of `oracles/r/scripts/13_lmer.R`.
MODELS = {
    "D1_case": f"iou ~ {FEATURES} + (1|case)",
    "D1_case_task": f"iou ~ {FEATURES} + task + (1|case)",
    "D1_nested": f"iou ~ {FEATURES} + task + (1|patient/case)",
    "D1_mean": "iou ~ 1 + (1|patient)",
    "D2_case": "score ~ modality + (1|case)",
    "D2_case_reader": "score ~ modality + (1|case) + (1|reader)",
    "D2_full": "score ~ modality + (1|case) + (1|reader) + (1|reader:case) + (1|modality:reader) + "
    "(1|modality:case)",
    "real_ag_vs_io": "score ~ source + (1|case)",
    "real_case": "score ~ 1 + (1|case)",
    "real_case_reader_seed": "score ~ 1 + (1|case) + (1|reader) + (1|seed)",
    "real_ag_vs_io_full": "score ~ source + (1|case) + (1|reader) + (1|case:source) + (1|case:reader)",
}
#: The optimum that lme4 was brought to has noise of its own: README of the oracles.
RTOL, RTOL_SE, RTOL_DF, RTOL_VARIANCE = 1e-8, 1e-7, 1e-6, 1e-6
pytestmark = [
    pytest.mark.filterwarnings("ignore:rows of one patient that share no random effect"),
    # R's models of the made-up scores take their tasks together
    pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together"),
]


@pytest.fixture(scope="module")
def rows(synth1, r_data, shared):
    """The rows of a model."""
    # Grad-CAM with attention gates, of five readings by five networks
    gaze = read_lanfredi2021(shared / "data/lanfredi2021", sheet="uniform")
    gaze = gaze[(gaze["metric"] == "sncc") & (gaze["method"] == "gradcam_wag")]
    tables = {"D1": synth1, "D2": r_data("synth2"), "real_ag": r_data("gaze_sncc_ag_io"), "real_case": gaze}
    tables = {name: table.rename(columns={"case_id": "case"}) for name, table in tables.items()}
    return lambda model: next(table for name, table in tables.items() if model.startswith(name))


@pytest.fixture(scope="module")
def readings(drawn_readings):
    """Readings of 60 cases by five readers with two modalities, for what R need not confirm."""
    return drawn_readings.rename(columns={"case_id": "case"})


@pytest.fixture(scope="module")
def of_model(r_expected):
    """The rows of an oracle that are of a model."""

    def read(name, model, reml):
        table = r_expected(f"lmer_{name}")
        return table[(table["model"] == model) & table.get("REML", pd.Series(reml, table.index)).eq(reml)]

    return read


@pytest.mark.parametrize("reml", [True, False])
@pytest.mark.parametrize("model", MODELS)
def test_coefficients_and_their_tests_are_those_of_lmertest(rows, of_model, model, reml):
    fit = ss.fit(rows(model).sample(frac=1, random_state=1), MODELS[model], reml=reml)
    terms, expected = fit.tidy(), of_model("fixed", model, reml)
    assert terms["term"].tolist() == expected["term"].tolist()
    np.testing.assert_allclose(terms["estimate"], expected["estimate"], rtol=RTOL)
    np.testing.assert_allclose(terms["std_error"], expected["std.error"], rtol=RTOL_SE)
    np.testing.assert_allclose(terms["df"], expected["df_satt"], rtol=RTOL_DF)
    np.testing.assert_allclose(terms["conf_low"], expected["lo_satt"], rtol=RTOL_SE)
    np.testing.assert_allclose(terms["conf_high"], expected["hi_satt"], rtol=RTOL_SE)
    np.testing.assert_allclose(terms["p_value"], expected["p_satt"], rtol=1e-5)
    assert (terms["errors"] == "satterthwaite").all()
    glance, likelihood = fit.glance().iloc[0], of_model("fit", model, reml).iloc[0]
    for ours, theirs in {"log_lik": "logLik", "aic": "AIC", "bic": "BIC", "deviance": "crit"}.items():
        assert glance[ours] == pytest.approx(likelihood[theirs], rel=1e-12)
    assert (glance["nobs"], glance["reml"], glance["singular"]) == (likelihood["n"], reml, False)
    assert glance["n_missing"] == len(rows(model)) - likelihood["n"]
    told = of_model("varcomp", model, reml).set_index("group")["variance"].to_dict()
    found = fit.models[0].solution.inference.solution
    assert found.sigma**2 == pytest.approx(told.pop("Residual"), rel=RTOL_VARIANCE)
    told = {frozenset(re.sub("_(id|pos)", "", group).split(":")): value for group, value in told.items()}
    ours = {
        frozenset(term.name.split(":")): covariance.item()
        for term, covariance in zip(found.terms, found.covariances, strict=True)
    }
    assert ours == pytest.approx(told, rel=RTOL_VARIANCE)
    assert found.converged


# R was not asked for those of more than 1,500 rows
@pytest.mark.parametrize("model", [m for m in MODELS if not m.startswith("real_case")])
def test_errors_of_kenward_and_roger_are_those_of_pbkrtest(rows, of_model, model):
    fit, expected = ss.fit(rows(model), MODELS[model], errors="kenward-roger"), of_model("fixed", model, True)
    terms = fit.tidy()
    np.testing.assert_allclose(terms["std_error"], expected["se_kr"], rtol=RTOL_SE)
    np.testing.assert_allclose(terms["df"], expected["df_kr"], rtol=RTOL_DF)
    np.testing.assert_allclose(terms["p_value"], expected["p_kr"], rtol=1e-5)
    assert (terms["errors"] == "kenward-roger").all()


def test_one_coefficient_tested_together_or_as_a_contrast_is_its_t_test(readings):
    for errors in ("satterthwaite", "kenward-roger"):
        fit = ss.fit(readings, MODELS["D2_case_reader"], errors=errors)
        term = fit.tidy().iloc[1]
        together, contrast = fit.joint("modality").iloc[0], fit.contrasts("modality").iloc[0]
        assert together["statistic"] == pytest.approx(term["statistic"] ** 2, rel=1e-9)
        assert together["df_residual"] == pytest.approx(term["df"], rel=1e-9)
        for column in ("estimate", "std_error", "df", "p_value", "conf_low"):
            assert contrast[column] == pytest.approx(term[column], rel=1e-9)


@pytest.mark.parametrize("model", [m for m in MODELS if "~ 1" not in MODELS[m]])
def test_joint_tests_are_those_of_lmertests_anova(rows, of_model, model):
    fit = ss.fit(rows(model), MODELS[model])
    for expected in of_model("anova", model, True).itertuples():
        found = fit.joint(expected.term).iloc[0]
        assert found["df"] == expected.NumDF
        assert found["statistic"] == pytest.approx(expected.F, rel=RTOL_SE)
        assert found["df_residual"] == pytest.approx(expected.DenDF, rel=RTOL_DF)
        assert found["p_value"] == pytest.approx(expected.p, rel=1e-5)


@pytest.mark.parametrize("model", ["D1_case_task", "D2_case_reader", "D2_full"])
def test_means_and_contrasts_are_those_of_emmeans(rows, of_model, model):
    expected = of_model("emmeans", model, True)
    fit, factor = ss.fit(rows(model), MODELS[model]), "task" if model == "D1_case_task" else "modality"
    limits = {"estimate": "estimate", "std_error": "SE", "df": "df", "conf_low": "lo", "conf_high": "hi"}
    means = expected[expected["kind"] == "emmean"]
    found = fit.means(factor)
    assert found[factor].tolist() == means["level"].tolist()
    for ours, theirs in limits.items():
        np.testing.assert_allclose(found[ours], means[theirs], rtol=RTOL_DF)
    for adjust in ("none", "holm", "bonferroni"):
        pairs = expected[(expected["kind"] == "pair") & (expected["adjust"] == adjust)]
        found = fit.contrasts(factor, adjust=adjust)
        # R takes the later level from the earlier
        named = (found["reference_level"] + " - " + found[factor]).tolist()
        pairs = pairs.set_index("level").loc[named]
        np.testing.assert_allclose(found["estimate"], -pairs["estimate"], rtol=RTOL_SE)
        np.testing.assert_allclose(found["df"], pairs["df"], rtol=RTOL_DF)
        p = found["p_value" if adjust == "none" else "p_adjusted"]
        np.testing.assert_allclose(p, pairs["p"], rtol=1e-5)


def test_models_of_groups_are_fitted_by_themselves(drawn_table):
    fit = ss.fit(drawn_table, "iou ~ area_ratio + (1|patient)", by="task", overall=True)
    terms = fit.tidy()
    assert terms["task"].nunique() == 7
    edema = ss.fit(drawn_table[drawn_table["task"] == "Edema"], "iou ~ area_ratio + (1|patient)").tidy()
    own = terms[terms["task"] == "Edema"].drop(columns="task").reset_index(drop=True)
    pd.testing.assert_frame_equal(own, edema)


def test_rows_without_a_group_are_left_out_and_counted(readings):
    data = readings.copy()
    data.loc[:4, "reader"] = None
    terms = ss.regress(data, MODELS["D2_case_reader"])
    assert (terms["n"] == 595).all()
    assert (terms["n_missing"] == 5).all()
    kept = ss.regress(data.iloc[5:], MODELS["D2_case_reader"])
    np.testing.assert_array_equal(terms["estimate"], kept["estimate"])


def test_inference_is_to_readers_only_where_they_are_random(readings):
    assert "inference_to" not in ss.regress(readings, "score ~ modality + (1|case) + (1|reader)")
    assert "inference_to" in ss.regress(readings, "score ~ modality + (1|case)")
    assert "inference_to" in ss.regress(readings, "score ~ modality + (1|case) + (1|reader:case)")


def test_fitted_values_have_the_random_effects_and_influence_is_not_known(readings):
    fit = ss.fit(readings, MODELS["D2_case_reader"])
    found = fit.augment()
    np.testing.assert_allclose(found["score"] - found["fitted"], found["residual"], atol=1e-12)
    fixed = fit.predict(found[["modality"]])["estimate"]
    assert np.corrcoef(found["score"], found["fitted"])[0, 1] > np.corrcoef(found["score"], fixed)[0, 1]
    assert found[["leverage", "cooks_distance"]].isna().all(axis=None)
    np.testing.assert_allclose(found["std_residual"], found["residual"] / fit.glance()["sigma"][0])


@pytest.mark.parametrize(
    ("formula", "options", "fields"),
    [
        (
            "hit ~ 1 + (1|case)", {"family": "binomial"},
            {"option": "family", "value": "binomial", "match": "correlation='exchangeable'"},
        ),
        (
            "hit ~ 1 + (1|case)", {"family": "beta"},
            {"option": "family", "value": "beta", "match": "errors='cr2'"},
        ),
        (
            "score ~ 1 + (1|case)", {"correlation": "exchangeable"},
            {"option": "correlation", "value": "exchangeable", "match": "random effects of case"},
        ),
        (
            "score ~ 1 + (1|case)", {"errors": "cr2"},
            {"option": "errors", "value": "cr2", "choices": ("satterthwaite", "kenward-roger")},
        ),
        (
            "score ~ 1 + (1|case)", {"unit": "case"},
            {"option": "unit", "value": "case", "hint": "add (1|case) to the formula"},
        ),
        (
            "score ~ 1", {"errors": "satterthwaite"},
            {"option": "errors", "value": "satterthwaite", "choices": FIXED_EFFECTS_ERRORS},
        ),
        ("score ~ 1", {"reml": False}, {"option": "reml", "value": False}),
        (
            "score ~ 1 + (1|case)", {"reml": False, "errors": "kenward-roger"},
            {"option": "errors", "value": "kenward-roger", "hint": "it needs reml=True"},
        ),
        (
            ["score ~ 1", "score ~ 1 + (1|case)"], {},
            {"option": "formula", "value": "score ~ 1 + (1|case)"},
        ),
        (
            "score ~ 1 + (1|case:reader:modality)", {},
            {"option": "formula", "match": "600 effects in 600 rows"},
        ),
        (
            "score ~ 1 + (modality|case:reader)", {},
            {"option": "formula", "match": "600 effects in 600 rows"},
        ),
        (
            "score ~ 1 + (constant|case)", {},
            {"option": "formula", "match": r"\(1 \+ constant\|case\) .* depend"},
        ),
        (
            "score ~ 1 + (0 + zero|case)", {},
            {"option": "formula", "match": "is 0 in every row"},
        ),
    ],
)  # fmt: skip
def test_what_does_not_go_with_random_effects_is_refused_by_a_sentence(readings, formula, options, fields):
    with raises(ValueRangeError, **fields) as refusal:
        ss.fit(readings.assign(constant=2.0, zero=0.0), formula, **options)
    assert "\n" not in str(refusal.value)


@pytest.mark.filterwarnings("ignore:a singular fit")
def test_a_factor_without_correlations_or_fixed_and_random_at_once_is_refused(readings):
    with raises(FormulaError, hint="for a factor x write (1|reader) + (1|x:reader)"):
        ss.fit(readings, "score ~ 1 + (modality||reader)")
    formulas = {
        "reader": "score ~ reader + (1|reader)",
        "reader:modality": "score ~ modality*reader + (1|reader:modality)",
    }
    for column, formula in formulas.items():
        with raises(FormulaError, column=column):
            ss.fit(readings, formula)
    ss.fit(readings, "score ~ reader + (1|reader:case) + (1|case)")


@pytest.mark.filterwarnings("ignore:a singular fit")
def test_a_random_slope_may_be_0_in_some_rows(readings):
    is_second = (readings["modality"] == readings["modality"].max()).astype(float)
    fit = ss.fit(readings.assign(is_second=is_second), "score ~ 1 + (0 + is_second|case)")
    assert np.isfinite(fit.tidy()["std_error"]).all()


def test_random_effects_of_the_same_groups_are_refused(drawn_table):
    with raises(ValueRangeError, option="formula", value=["(1|case)", "(1|patient:case)"]):
        ss.fit(drawn_table, "iou ~ 1 + (1|case) + (1|patient/case)")


def test_a_grouping_column_that_is_empty_leaves_no_rows(readings):
    with raises(ValueRangeError, option="formula", value=0):
        ss.fit(readings.assign(reader=np.nan), "score ~ 1 + (1|reader)")


def test_one_reader_is_refused_and_a_group_of_one_reader_has_no_estimates(readings):
    one = readings[readings["reader"] == readings["reader"].iloc[0]]
    with raises(ValueRangeError, option="formula", column="reader", message="(1|reader)"):
        ss.fit(one, "score ~ modality + (1|reader)")
    several = pd.concat([readings.assign(site="a"), one.assign(site="b")])
    with warns(option=None, column="estimate", message="(1|reader)") as caught:
        terms = ss.regress(several, "score ~ modality + (1|case) + (1|reader)", by="site")
    models = [part for part in caught[0].message.message.parts if isinstance(part, ColumnValue)]
    assert models == [ColumnValue("site", "b")]
    assert terms["estimate"].isna().tolist() == [False, False, True, True]


def test_a_singular_fit_is_said_once():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"g": np.repeat(list("abcdef"), 5), "y": rng.random(30)})
    data["y"] -= data.groupby("g")["y"].transform("mean")
    with warns(option="formula", column=None):
        fit = ss.fit(data, "y ~ 1 + (1|g)")
    assert fit.glance()["singular"].tolist() == [True]


def test_hits_are_fitted_as_lme4_does_and_the_call_for_odds_is_named():
    data = pd.DataFrame({"g": np.repeat(list("abcdef"), 5), "y": [1.0, 1, 1, 1, 0, 0, 0, 0, 0, 1] * 3})
    with warns(option="family", hint=Setting("correlation", "exchangeable")):
        fit = ss.fit(data, "y ~ 1 + (1|g)")
    assert fit.tidy()["estimate"].item() == pytest.approx(data["y"].mean())


@pytest.mark.filterwarnings("default:rows of one patient that share no random effect")
@pytest.mark.filterwarnings("ignore:a singular fit")
def test_units_without_a_random_effect_are_told(drawn_table):
    with warns_too(option="formula", column="patient", message="(1|patient)"):
        ss.regress(drawn_table, MODELS["D1_case"])
    ss.regress(drawn_table, MODELS["D1_nested"])


def test_a_solution_has_the_covariance_divided_by_the_residual_variance(readings):
    formula = parse_formula("score ~ modality + (1|case) + (1|reader)")
    variables = {column: coded_variable(readings, column) for column in formula.columns}
    positions = np.arange(len(readings))
    design = build_design(formula, variables, positions)
    solution = mixed_model(
        design.matrix,
        design.response,
        True,
        formula=formula,
        variables=variables,
        rows=positions,
        reml=True,
    )
    covariance = solution.inference.covariance("satterthwaite")
    np.testing.assert_allclose(solution.dispersion * solution.bread, covariance, rtol=1e-12)
    sigma = ss.fit(readings, formula.text).glance()["sigma"][0]
    assert solution.dispersion == pytest.approx(sigma**2, rel=1e-10)
    # Two coefficients, two variances and the residual variance
    assert solution.df_residual == len(readings) - 5


def test_predictions_with_random_effects_name_their_groups(readings):
    fit = ss.fit(readings, MODELS["D2_case_reader"])
    found = fit.predict({"modality": ["A", "B"], "reader": ["R5", "R1"]}, random=True)
    assert found["modality"].tolist() == ["A", "A", "B", "B"]
    assert found["reader"].tolist() == ["R5", "R1", "R5", "R1"]


def test_a_covariate_of_cases_needs_a_random_effect_within_whose_groups_it_is_constant():
    # 12 patients of two cases, each read by three readers; age is one of the patient, size one of the case
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        list(itertools.product(range(12), range(2), ["R1", "R2", "R3"])),
        columns=["patient", "side", "reader"],
    )
    data["case"] = data["patient"].map("p{:02}".format) + data["side"].map({0: "l", 1: "r"})
    data["age"] = rng.normal(size=12)[data["patient"]]
    data["size"] = rng.normal(size=24)[2 * data["patient"] + data["side"]]
    data["score"] = (
        rng.normal(size=12)[data["patient"]]
        + rng.normal(size=24)[2 * data["patient"] + data["side"]]
        + data["reader"].map({"R1": -1, "R2": 0, "R3": 1})
        + 0.1 * rng.normal(size=72)
    )
    # any warning would be an error; it is enough that one of the effects, not the first, has such groups
    ss.regress(data, "score ~ age + (1|reader) + (1|patient)")
    ss.regress(data, "score ~ size + (1|reader) + (1|patient) + (1|case)")
    with warns(option="formula", column="size", hint="add (1|case) to the formula"):
        ss.regress(data, "score ~ size + (1|reader) + (1|patient)")
