"""Results of statsmodels and of broom become estimates frames."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from regression_oracle import LINEAR, rows_of
from scipy import stats
from statsmodels.base.model import LikelihoodModel
from statsmodels.othermod.betareg import BetaModel
from statsmodels.tools.numdiff import approx_fprime, approx_hess
from statsmodels.tsa.ar_model import AutoReg
from tests_support import default_numbers_and_flags, raises

import salstats as ss
from salstats.errors import ColumnError, InputFileError, SalstatsError, ValueRangeError
from salstats.stats.models.tidying import is_coefficient

# R's models of the made-up scores take their tasks together
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")
RTOL = 1e-10
#: What statsmodels says of fits on few rows, which are not what is tested here.
quiet_fits = pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.ModelWarning")
NUMBERS = ["estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]


def test_a_csv_of_broom_becomes_the_frame_regress_gives(shared, synth1):
    table = ss.tidy(shared / "oracles" / "r" / "expected" / "lm_tidy.csv")
    assert list(table.columns) == ["model", "term", *NUMBERS, "conf_level"]
    multi = table[table["model"] == "multi|POOLED"].reset_index(drop=True)
    ours = ss.regress(rows_of(synth1, "multi|POOLED"), LINEAR["multi"], errors="classical")
    pd.testing.assert_frame_equal(multi[["term", *NUMBERS]], ours[["term", *NUMBERS]], rtol=RTOL)


def test_a_broom_table_keeps_its_other_columns_and_loses_row_names(tmp_path):
    path = tmp_path / "tidy.csv"
    path.write_text(
        '"","group","term","estimate","std.error","component","p.value"\n'
        '"1","a","(Intercept)",1.5,0.5,"conditional",0.01\n"2","a","size",NA,NA,"conditional",NA\n'
    )
    table = ss.tidy(str(path))
    assert list(table.columns) == ["group", "term", "estimate", "std_error", "p_value", "component"]
    assert np.isnan(table["estimate"][1])
    pd.testing.assert_frame_equal(ss.tidy(table), table)


@pytest.mark.parametrize("errors", ["nonrobust", "HC3"])
def test_statsmodels_ols_becomes_the_frame_regress_gives(drawn_table, errors):
    rows = rows_of(drawn_table, "all|POOLED")
    fit = smf.ols("iou ~ prob * C(task)", rows).fit(cov_type=errors, use_t=True)
    ours = ss.regress(rows, "iou ~ prob * C(task)", errors="classical" if errors == "nonrobust" else "hc3")
    theirs = ss.tidy(fit).set_index("term").loc[ours["term"]].reset_index()
    columns = ["term", *NUMBERS, "df", "conf_level", "interval", "n"]
    pd.testing.assert_frame_equal(theirs[columns], ours[columns], rtol=1e-8, check_dtype=False)


def test_statsmodels_glm_from_arrays_becomes_the_frame_regress_gives(drawn_table):
    rows = rows_of(drawn_table, "all|POOLED").dropna(subset=["hit", "prob"])
    fit = sm.GLM(rows["hit"], sm.add_constant(rows["prob"]), family=sm.families.Binomial()).fit(tol=1e-14)
    ours = ss.regress(rows, "hit ~ prob", family="binomial", errors="classical", level=0.9)
    theirs = ss.tidy(fit, level=0.9)
    columns = ["term", *NUMBERS, "df", "conf_level", "interval", "n"]
    pd.testing.assert_frame_equal(theirs[columns], ours[columns], rtol=1e-8, check_dtype=False)
    plain = sm.OLS(rows["hit"].to_numpy(), sm.add_constant(rows["prob"].to_numpy())).fit()
    assert ss.tidy(plain)["term"].tolist() == ["(Intercept)", "x1"]


def test_statsmodels_gee_is_read_with_its_errors(drawn_table):
    rows = drawn_table.dropna(subset=["iou", "prob"])
    gee = smf.gee("iou ~ prob", "patient", rows).fit()
    table = ss.tidy(gee)
    np.testing.assert_allclose(table["std_error"], gee.bse, rtol=RTOL)
    assert "effect" not in table


def test_statsmodels_phreg_is_read(readings):
    rows = readings.assign(seen=readings["count"] > 0, side=np.where(readings["reader"] < 2, "a", "b"))
    fit = smf.phreg("share ~ x + side", rows, status=rows["seen"].to_numpy(dtype=int)).fit()
    table = ss.tidy(fit).set_index("term")
    assert table.index.tolist() == ["sideb", "x"]
    np.testing.assert_allclose(
        table[["estimate", "std_error"]], np.column_stack([fit.params, fit.bse]), rtol=RTOL
    )
    assert (table["n"] == 120).all()
    assert table["reference_level"].fillna("").tolist() == ["a", ""]


@pytest.fixture(scope="module")
def readings():
    """Scores of 30 patients by 4 readers, whose spreads are known, and a count."""
    rng = np.random.default_rng(1)
    patient, reader = (a.ravel() for a in np.mgrid[:30, :4])
    x = rng.normal(size=120)
    patients = rng.normal(0, 0.1, 30)[patient]
    score = 0.5 + 0.1 * x + patients + rng.normal(0, 0.05, 4)[reader] + rng.normal(0, 0.1, 120)
    frame = pd.DataFrame({"patient": patient, "reader": reader, "x": x, "score": score, "all": 1})
    counts = rng.negative_binomial(2, 0.4, 120) * rng.integers(0, 2, 120)
    return frame.assign(count=counts, share=np.clip(score, 0.05, 0.95))


def test_factors_of_statsmodels_have_the_terms_and_references_of_regress(drawn_table):
    rows = rows_of(drawn_table, "all|POOLED")
    formula = "iou ~ prob * C(task, Treatment('Edema'))"
    columns = ["formula", "term", "reference_level"]
    ours = ss.regress(rows, formula)[columns].set_index("term")
    theirs = ss.tidy(smf.ols(formula, rows).fit())[columns].set_index("term")
    pd.testing.assert_frame_equal(theirs.loc[ours.index], ours)


def test_levels_of_statsmodels_know_their_factor(readings):
    rows = readings.assign(**{"the reader": readings["reader"].astype(str), "third": readings["patient"] % 3})
    table = ss.tidy(smf.ols('score ~ C(Q("the reader")) * np.exp(x) + C(third, Sum)', rows).fit())
    assert table["term"][1] == "C(the reader)1"
    of = table["factor"].fillna("").tolist()
    assert of == ["", *["C(the reader)"] * 3, *["C(third, Sum)"] * 2, *[""] * 4]
    assert table["reference_level"].fillna("").tolist() == ["", *["0"] * 3, *[""] * 6]


@quiet_fits
def test_variances_of_a_mixed_model_are_its_own_and_not_tested(readings):
    fit = smf.mixedlm("score ~ x", readings, groups="patient", re_formula="~ x").fit()
    table = ss.tidy(fit).set_index("term")
    assert table["effect"].tolist() == ["fixed"] * 2 + ["random"] * 4
    variances = table.loc[table["effect"] == "random"]
    assert variances.index.tolist() == ["patient Var", "patient x x Cov", "x Var", "Residual Var"]
    own = [*fit.cov_re.to_numpy()[np.tril_indices(2)], fit.scale]
    np.testing.assert_allclose(variances["estimate"], own, rtol=RTOL)
    assert variances[["std_error", "statistic", "p_value", "conf_low", "conf_high"]].isna().all(axis=None)
    np.testing.assert_allclose(table.loc["x", "p_value"], fit.pvalues["x"], rtol=RTOL)
    assert (ss.adjust(ss.tidy(fit))["n_tests"] == 1).all()
    from_arrays = sm.MixedLM(readings["score"].to_numpy(), np.ones((120, 1)), readings["patient"]).fit()
    assert ss.tidy(from_arrays)["term"].tolist() == ["(Intercept)", "Group Var", "Residual Var"]


@quiet_fits
def test_variance_components_of_crossed_factors_are_their_own(readings):
    parts = {"patient": "0 + C(patient)", "reader": "0 + C(reader)"}
    fit = smf.mixedlm("score ~ x", readings, groups="all", vc_formula=parts).fit()
    table = ss.tidy(fit).set_index("term")["estimate"]
    np.testing.assert_allclose(table.loc[["patient Var", "reader Var"]], fit.vcomp, rtol=RTOL)
    # what was drawn from; four readers say little about theirs
    np.testing.assert_allclose(table.loc[["patient Var", "Residual Var"]], 0.1**2, rtol=0.3)


@pytest.mark.parametrize(
    ("fit", "others"),
    [
        (lambda d: smf.negativebinomial("count ~ x", d), ["alpha"]),
        (lambda d: BetaModel.from_formula("share ~ x", d), ["precision"]),
        (lambda d: sm.ZeroInflatedNegativeBinomialP(d["count"], sm.add_constant(d["x"])), ["alpha"]),
    ],
)
@quiet_fits
def test_dispersion_and_precision_are_no_coefficients(readings, fit, others):
    fit = fit(readings).fit(disp=0)
    table = ss.tidy(fit)
    marked = table[table["effect"] == "auxiliary"]
    assert marked["term"].tolist() == others
    assert marked["p_value"].isna().all()
    np.testing.assert_allclose(table["estimate"], fit.params, rtol=RTOL)
    assert (table["effect"] == "fixed").sum() == len(fit.params) - 1


@pytest.mark.parametrize(
    ("fit", "others"),
    [
        (
            lambda d: BetaModel(d["share"], sm.add_constant(d["x"]), exog_precision=sm.add_constant(d["x"])),
            [],
        ),
        (lambda d: AutoReg(d["score"], 2), []),
        (lambda d: AutoReg(d["score"], 2, exog=d[["x"]]), []),
        (lambda d: sm.tsa.SARIMAX(d["score"], d[["x"]], order=(1, 0, 0)), ["sigma2"]),
    ],
)
def test_coefficients_beside_the_design_keep_their_tests(readings, fit, others):
    model = fit(readings)
    fit = model.fit() if isinstance(model, AutoReg) else model.fit(disp=0)
    table = ss.tidy(fit).set_index("term")
    assert table.index[table["statistic"].isna()].tolist() == others
    np.testing.assert_allclose(table["p_value"].drop(others), fit.pvalues.drop(others), rtol=RTOL)


class _NormalLikelihood(LikelihoodModel):
    """A linear model whose last parameter, the logarithm of its SD, has no name."""

    nobs = 60

    def loglike(self, params):
        return stats.norm.logpdf(self.endog, self.exog @ params[:-1], np.exp(params[-1])).sum()

    def score(self, params):
        return approx_fprime(params, self.loglike, centered=True)

    def hessian(self, params):
        return approx_hess(params, self.loglike)


@quiet_fits
def test_parameters_without_a_name_are_auxiliary_and_named_by_their_position():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    model = _NormalLikelihood(x + rng.normal(size=60), sm.add_constant(x))
    fit = model.fit(start_params=np.array([0.0, 1.0, 0.0]), method="bfgs", disp=0)
    assert len(fit.model.data.param_names) == 2
    table = ss.tidy(fit)
    assert table["term"].tolist() == ["(Intercept)", "x1", "parameter 2"]
    assert table["effect"].tolist() == ["fixed", "fixed", "auxiliary"]
    np.testing.assert_array_equal(table["estimate"], fit.params)
    assert table["p_value"].notna().tolist() == [True, True, False]


def test_what_cannot_be_tidied_is_refused(tmp_path):
    with raises(SalstatsError, option="fit", value="dict"):
        ss.tidy({})
    with raises(InputFileError, path=tmp_path / "none.csv"):
        ss.tidy(tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("")
    with raises(InputFileError, path=tmp_path / "empty.csv"):
        ss.tidy(tmp_path / "empty.csv")
    with raises(ColumnError, column="estimate"):
        ss.tidy(pd.DataFrame({"term": ["a"]}))
    with raises(ColumnError, column="std_error"):
        ss.tidy(pd.DataFrame({"term": ["a"], "estimate": [1.0], "std.error": ["small"]}))
    with raises(ColumnError, column="p_value"):
        ss.tidy(pd.DataFrame({"term": ["a"], "estimate": [1.0], "p.value": [0.1], "p_value": [0.1]}))
    with raises(ValueRangeError, option="level", value=95):
        ss.tidy(pd.DataFrame({"term": ["a"], "estimate": [1.0]}), level=95)


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.tidy) == {"level": 0.95}


def test_terms_are_coefficients_unless_their_effect_is_another_parameter():
    without_effects = pd.DataFrame({"term": ["(Intercept)", "size"], "estimate": [0.1, 0.2]})
    assert is_coefficient(without_effects).tolist() == [True, True]
    # of `tidy`, then of broom.mixed
    other_parameters = ["random", "auxiliary", "ran_pars", "ran_vals", "ran_coefs"]
    effects = ["fixed", *other_parameters, None]
    with_effects = pd.DataFrame({"term": range(len(effects)), "effect": effects})
    assert is_coefficient(with_effects).tolist() == [True, *[False] * 5, True]
