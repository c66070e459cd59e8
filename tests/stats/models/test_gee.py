"""Exchangeable GEE: estimates equal geepack's, the correction of Mancl and DeRouen statsmodels'."""

import numpy as np
import pandas as pd
import pytest
from scipy import special
from tests_support import raises, warns, warns_too

import salstats as ss
from salstats.errors import ValueRangeError

FEATURES = "n_instances + area_ratio + elongation + irrectangularity"
#: Models of `oracles/r/scripts/12_gee.R`.
MODELS = {
    "gauss": (f"iou ~ {FEATURES}", "gaussian"),
    "gauss_task": (f"iou ~ {FEATURES} + task", "gaussian"),
    "logit": ("hit ~ n_instances + area_ratio + task", "binomial"),
    "fraclogit": ("iou ~ n_instances + area_ratio", "fractional"),
}
#: geepack iterated to 1e-12.
RTOL = 1e-10
# what models give does not hang on what is pooled
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")


@pytest.fixture(scope="module")
def few(drawn_table):
    """Few and uneven units, in which the small-sample corrections are large."""
    patients = drawn_table["patient"].drop_duplicates().iloc[:14]
    rows = drawn_table[drawn_table["patient"].isin(patients)].dropna(
        subset=["hit", "iou", "prob", "n_instances", "area_ratio"]
    )
    return rows.sample(frac=1, random_state=3).reset_index(drop=True)


def fitted(rows, model, **options):
    formula, family = MODELS[model]
    return ss.fit(rows, formula, family=family, correlation="exchangeable", **options)


@pytest.mark.parametrize("model", MODELS)
def test_estimates_and_plain_errors_are_those_of_geepack(synth1, r_expected, model):
    coefficients, parameters = (
        table[(table["model"] == model) & (table["corstr"] == "exchangeable")].query(
            "`std.err.type` == 'san.se'"
        )
        for table in (r_expected("geeglm_coef"), r_expected("geeglm_params"))
    )
    # geeglm takes runs of equal ids for units, here rows may come in any order
    fit = fitted(synth1.sample(frac=1, random_state=0), model, errors="cr0", unit="patient")
    terms, glance = fit.tidy(), fit.glance()
    assert terms["term"].tolist() == coefficients["term"].tolist()
    np.testing.assert_allclose(terms["estimate"], coefficients["estimate"], rtol=RTOL)
    np.testing.assert_allclose(terms["std_error"], coefficients["std.error"], rtol=RTOL)
    np.testing.assert_allclose(terms["statistic"] ** 2, coefficients["wald"], rtol=RTOL)
    np.testing.assert_allclose(terms["conf_low"], coefficients["lo"], rtol=1e-9)
    assert terms["df"].isna().all()
    assert (terms["interval"] == "wald").all()
    assert (terms["correlation"] == "exchangeable").all()
    np.testing.assert_allclose(glance[["alpha", "scale"]], parameters[["alpha", "scale"]], rtol=RTOL)
    assert glance["n_units"].tolist() == parameters["G"].tolist()


@pytest.mark.parametrize(
    ("formula", "family"),
    [("hit ~ prob + n_instances", "binomial"), ("iou ~ prob + n_instances", "gaussian")],
)
@pytest.mark.parametrize("correlation", ["exchangeable", None])
def test_mancl_and_derouens_errors_are_those_of_statsmodels_at_our_correlation(
    few, formula, family, correlation
):
    import statsmodels.api as sm

    options = {"errors": "mancl-derouen", "unit": "patient", "correlation": correlation}
    ours = ss.fit(few, formula, family=family, **options)
    terms = ours.tidy().set_index("term")
    design = np.column_stack([np.ones(len(few)), few[["prob", "n_instances"]]])
    working = sm.cov_struct.Independence()
    if correlation:
        # statsmodels has other moments (less n - p); it is given ours
        working = sm.cov_struct.Exchangeable()
        working.dep_params = ours.glance()["alpha"][0]
    model = sm.GEE(
        few[formula.split(" ~ ")[0]], design, groups=few["patient"], cov_struct=working,
        family=sm.families.Binomial() if family == "binomial" else sm.families.Gaussian(),
    )  # fmt: skip
    theirs = model.fit(
        start_params=terms["estimate"].to_numpy(),
        first_dep_update=10**6,
        ctol=1e-12,
        cov_type="bias_reduced",
    )
    np.testing.assert_allclose(terms["estimate"], theirs.params, rtol=1e-9)
    np.testing.assert_allclose(terms["std_error"], theirs.bse, rtol=1e-9)


@pytest.mark.parametrize(("errors", "power"), [("mancl-derouen", -1.0), ("cr2", -0.5)])
def test_degrees_of_freedom_are_those_of_the_variance_as_a_quadratic_form(few, errors, power):
    fit = fitted(few, "fraclogit", errors=errors, unit="patient")
    solution = fit.models[0].solution
    alpha, mean = fit.glance()["alpha"][0], solution.fitted
    same = few["patient"].to_numpy()[:, None] == few["patient"].to_numpy()
    root = np.sqrt(mean * (1 - mean))
    v = np.where(same, alpha, 0.0) * np.outer(root, root)
    np.fill_diagonal(v, root**2)
    d = solution.matrix * (root**2)[:, None]
    m = np.linalg.inv(d.T @ np.linalg.solve(v, d))
    hat = d @ m @ np.linalg.solve(v, d).T
    forms = []
    for patient in np.unique(few["patient"]):
        own = few["patient"].to_numpy() == patient
        block = np.ix_(own, own)
        values, vectors = np.linalg.eigh(v[block])
        of_v, to_v = (vectors * values**0.5) @ vectors.T, (vectors / values**0.5) @ vectors.T
        # the power of the symmetric matrix V^(-1/2) (I - H) V^(1/2)
        values, vectors = np.linalg.eigh(to_v @ (np.eye(own.sum()) - hat[block]) @ of_v)
        adjusted = of_v @ (vectors * values**power) @ vectors.T @ to_v
        pull = np.zeros((len(d), d.shape[1]))
        pull[own] = adjusted.T @ np.linalg.solve(v[block], d[own]) @ m
        forms.append((np.eye(len(d)) - hat).T @ pull)
    forms = np.array(forms)
    for j, row in enumerate(fit.tidy().itertuples()):
        b = forms[:, :, j] @ v @ forms[:, :, j].T
        assert row.df == pytest.approx(np.trace(b) ** 2 / (b**2).sum(), rel=1e-8)
        assert row.df < fit.models[0].n_units


def test_units_of_one_size_and_a_covariate_of_units_give_the_means_own_estimates():
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({"patient": np.repeat(np.arange(30), 4), "x": np.repeat(rng.random(30), 4)})
    rows["y"] = rng.random(120) + np.repeat(rng.random(30), 4)
    correlated = ss.fit(rows, "y ~ x", correlation="exchangeable", unit="patient").tidy()
    plain = ss.fit(rows, "y ~ x", unit="patient", errors="mancl-derouen").tidy()
    for column in ("estimate", "std_error", "df"):
        np.testing.assert_allclose(correlated[column], plain[column], rtol=1e-9)


def test_margins_are_those_of_the_estimates(few):
    fit = ss.fit(few, "hit ~ task + prob", family="binomial", correlation="exchangeable", unit="patient")
    solution = fit.models[0].solution
    b, names = solution.coefficients, fit.models[0].design.names
    tasks = dict.fromkeys(few["task"].sort_values())
    row = np.array([1.0] + [0.0] * (len(names) - 2) + [few["prob"].mean()])
    for task, found in zip(tasks, fit.means("task")["estimate"], strict=True):
        own = row.copy()
        own[1:-1] = [name == f"task{task}" for name in names[1:-1]]
        assert found == pytest.approx(special.expit(own @ b), rel=1e-10)
    slopes = fit.slopes("prob").iloc[0]
    p = solution.fitted
    assert slopes["estimate"] == pytest.approx((p * (1 - p)).mean() * b[-1], rel=1e-6)
    assert slopes["errors"] == "mancl-derouen"
    assert slopes["df"] < fit.models[0].n_units


def test_one_coefficient_tested_together_is_its_t_test(few):
    fit = ss.fit(
        few, "hit ~ prob + n_instances", family="binomial", correlation="exchangeable", unit="patient"
    )
    term = fit.tidy().set_index("term").loc["prob"]
    together = fit.joint("prob").iloc[0]
    assert together["statistic"] == pytest.approx(term["statistic"] ** 2, rel=1e-9)
    assert together["df_residual"] == pytest.approx(term["df"], rel=1e-9)
    assert together["p_value"] == pytest.approx(term["p_value"], rel=1e-9)
    assert fit.joint()["df_residual"][0] > 1


def test_a_fit_says_what_it_is_and_has_no_likelihood(few):
    fit = ss.fit(few, "hit ~ prob", family="binomial", correlation="exchangeable", unit="patient")
    assert repr(fit).endswith("1 binomial model, errors='mancl-derouen', correlation='exchangeable'")
    glance = fit.glance()
    assert glance[["log_lik", "aic", "bic", "deviance"]].isna().all(axis=None)
    options = {"family": "binomial", "correlation": "exchangeable", "unit": "patient"}
    pd.testing.assert_frame_equal(ss.fit_statistics(few, "hit ~ prob", **options), glance)
    rows = fit.augment()
    assert rows["leverage"].isna().all()
    np.testing.assert_allclose(rows["hit"] - rows["fitted"], rows["residual"])


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"correlation": "ar1"}, {"option": "correlation", "value": "ar1", "choices": ("exchangeable",)}),
        ({"family": "beta"}, {"option": "correlation", "value": "exchangeable", "match": "family='beta'"}),
        (
            {"errors": "hc3"},
            {"option": "errors", "value": "hc3", "choices": ("mancl-derouen", "cr2", "cluster", "cr0")},
        ),
        ({"errors": "satterthwaite"}, {"option": "errors", "value": "satterthwaite"}),
    ],
)
def test_what_does_not_go_with_a_correlation_is_refused(few, options, fields):
    with raises(ValueRangeError, **fields):
        ss.fit(few, "prob ~ n_instances", **{"correlation": "exchangeable", "unit": "patient"} | options)


def test_rows_that_nothing_holds_together_have_no_correlation(few):
    with raises(ValueRangeError, option="correlation", value="exchangeable"):
        ss.fit(few[["iou", "prob"]], "iou ~ prob", correlation="exchangeable")
    alone = few.drop_duplicates("patient")
    with warns_too(option="correlation", column="estimate"):
        terms = ss.regress(alone, "iou ~ prob", correlation="exchangeable", unit="patient")
    assert terms["estimate"].isna().all()
    with warns_too(option=None, column="estimate"):
        ss.regress(few[few["patient"] == few["patient"][0]], "iou ~ 1", correlation="exchangeable")


def test_rows_of_units_that_are_less_alike_than_they_can_be_are_not_fitted():
    rows = pd.DataFrame({"patient": list("aabbccdddd"), "y": [0.0, 1, 0, 1, 0, 1, 0, 1, 0.1, 0.9]})
    with warns(option="correlation", column="estimate", message="4"):
        assert ss.regress(rows, "y ~ 1", correlation="exchangeable")["estimate"].isna().all()


def test_units_of_two_rows_are_enough_for_a_correlation():
    rng = np.random.default_rng(8)
    scores = rng.normal(size=(60, 1)) + rng.normal(size=(60, 2))
    rows = pd.DataFrame({"patient": np.repeat(np.arange(60), 2), "y": scores.ravel()})
    fit = ss.fit(rows, "y ~ 1", correlation="exchangeable", unit="patient", errors="cr0")
    # of units of one size the estimate is the mean of all rows
    first, second = (scores - scores.mean()).T
    scale = (first**2 + second**2).sum() / 120
    glance, terms = fit.glance(), fit.tidy()
    assert glance["scale"].item() == pytest.approx(scale)
    assert glance["alpha"].item() == pytest.approx((first * second).mean() / scale)
    assert terms["estimate"].item() == pytest.approx(scores.mean())
    assert terms["std_error"].item() == pytest.approx(np.sqrt(((first + second) ** 2).sum()) / 120)


@pytest.mark.parametrize("factor", [1e-3, 1e8])
def test_estimates_are_those_of_the_response_in_any_unit_of_measurement(few, factor):
    options = {"correlation": "exchangeable", "unit": "patient"}
    fit = ss.fit(few.assign(y=few["iou"]), "y ~ prob", **options)
    scaled = ss.fit(few.assign(y=factor * few["iou"]), "y ~ prob", **options)
    for column in ("estimate", "std_error", "conf_low", "conf_high"):
        np.testing.assert_allclose(scaled.tidy()[column], factor * fit.tidy()[column], rtol=1e-8)
    assert scaled.glance()["alpha"].item() == pytest.approx(fit.glance()["alpha"].item(), rel=1e-8)
    assert scaled.glance()["scale"].item() == pytest.approx(factor**2 * fit.glance()["scale"].item())
