"""The measurements of `docs/developers/packages.md` for the statistics packages: agreement, speed, traps.

A package is used where it agrees with R and takes at most three times as long as numpy alone; what stays ours
stays as long as the test of its reason passes. `pytest -m bench tests/bench/test_packages.py -s` prints the
ratios.
"""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pingouin
import pytest
from formulaic import model_matrix
from regression_oracle import FEATURES
from scipy import special, stats
from statsmodels.genmod.cov_struct import Exchangeable
from statsmodels.genmod.families import Binomial, Gaussian
from statsmodels.genmod.generalized_estimating_equations import GEE
from statsmodels.genmod.generalized_linear_model import GLM
from statsmodels.othermod.betareg import BetaModel
from statsmodels.regression.linear_model import OLS
from statsmodels.regression.quantile_regression import QuantReg
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests
from timing import fastest, seconds

from salstats.frames import combined_codes
from salstats.stats.adjust import adjust_p_values
from salstats.stats.engine.coefficients import coefficient
from salstats.stats.engine.paired_tests import mcnemar, wilcoxon
from salstats.stats.engine.repeated_measures import repeated_measures_coefficient
from salstats.stats.models.beta import beta_regression
from salstats.stats.models.design import build_design, coded_variable, complete_row_positions
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.family import NotEstimableError
from salstats.stats.models.formulas import parse_formula
from salstats.stats.models.gee import exchangeable_gee
from salstats.stats.models.linear import least_squares
from salstats.stats.models.logit import logit
from salstats.stats.models.quantile_regression import regression_quantile_and_rank_scores

# how many times as long as numpy alone a package may take
TIMES = 3
SIZES = (1_000, 10_000, 100_000, 1_000_000)
# sums over a million rows in another order
ROUNDING = 1e-10
# tolerances of the oracles: R's p.adjust, betareg, quantreg, and geepack, which iterated to 1e-12
P_ADJUST, BETAREG, QUANTREG, GEEPACK = 1e-12, 1e-7, 1e-9, 1e-10
QUANTREG_ORACLE = Path(__file__).parents[1] / "reference" / "quantreg"


def times_as_long(package, numpy_alone, what, n, *, more_turns=10):
    """The fastest run of a package over that of numpy alone, in turns.

    A disturbed machine gets up to ten times as many turns, as long as the package takes a little too long.
    """
    fast, slow = np.inf, np.inf
    least = 3 if n >= 100_000 else 10
    for turn in range(1, more_turns * least + 1):
        fast = min(fast, seconds(numpy_alone))
        slow = min(slow, seconds(package))
        is_far = slow > 3 * TIMES * fast
        if turn >= least and (is_far or slow < TIMES * fast):
            break
    print(f"\n{what}, {n:,} rows: {slow / fast:.2f} times as long", end="")
    return slow / fast


def regression_rows(n, seed=0):
    """An intercept and five covariates, and an outcome."""
    rng = np.random.default_rng(seed)
    matrix = np.column_stack([np.ones(n), rng.random((n, 5))])
    return matrix, matrix.sum(axis=1) + rng.normal(size=n)


def least_squares_by_qr(matrix, response, weights):
    """What a linear model needs, by numpy."""
    root = np.sqrt(weights)
    q, r = np.linalg.qr(matrix * root[:, None])
    inverse = np.linalg.solve(r, np.eye(len(r)))
    coefficients = np.linalg.solve(r, q.T @ (response * root))
    residual = response - matrix @ coefficients
    squares = (weights * residual**2).sum()
    total = (weights * (response - np.average(response, weights=weights)) ** 2).sum()
    scores = matrix * (weights * residual)[:, None]
    return coefficients, inverse @ inverse.T, (q**2).sum(axis=1), squares, total, scores


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [20, *SIZES])
def test_least_squares_is_statsmodels(n, weighted):
    matrix, response = regression_rows(n)
    weights = np.random.default_rng(1).random(n) + 0.5
    sampling = weights if weighted else None
    solution = least_squares(matrix, response, True, sampling)
    expected = least_squares_by_qr(matrix, response, weights if weighted else np.ones(n))
    fields = ("coefficients", "bread", "leverage", "deviance", "null_deviance", "scores")
    for field, value in zip(fields, expected, strict=True):
        np.testing.assert_allclose(getattr(solution, field), value, rtol=ROUNDING, atol=ROUNDING)
    ratio = times_as_long(
        lambda: least_squares(matrix, response, True, sampling),
        lambda: least_squares_by_qr(matrix, response, weights if weighted else np.ones(n)),
        f"least squares{', weighted' if weighted else ''}",
        n,
    )
    assert ratio < TIMES


def test_statsmodels_takes_a_small_column_for_none():
    rng = np.random.default_rng(0)
    x, large = rng.random(50), 1e8 * rng.random(50)
    response = 1 + 2 * x + 0.1 * rng.normal(size=50)
    matrix = np.column_stack([np.ones(50), 1e-9 * x, large])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        slope = OLS(response, matrix).fit().params[1] * 1e-9
    assert abs(slope) < 1e-15
    assert least_squares(matrix, response, True).coefficients[1] * 1e-9 == pytest.approx(2, rel=0.2)


def test_statsmodels_gives_p_values_to_a_perfect_fit_and_coefficients_to_missing_rows():
    x = np.arange(12.0)
    matrix = np.column_stack([np.ones(12), x])
    assert (OLS(2 + 3 * x, matrix).fit().pvalues < 1e-10).all()
    assert np.isnan(least_squares(matrix, 2 + 3 * x, True).dispersion)
    missing = np.where(x == 3, np.nan, x)
    assert np.isnan(OLS(missing, matrix).fit().params).all()


def logit_by_scoring(matrix, response):
    """A logit model by Fisher's scoring in numpy: coefficients, bread and leverage."""
    coefficients = np.zeros(matrix.shape[1])
    for _ in range(25):
        mean = special.expit(matrix @ coefficients)
        weighted = matrix * np.sqrt(mean * (1 - mean))[:, None]
        step = np.linalg.solve(weighted.T @ weighted, matrix.T @ (response - mean))
        coefficients = coefficients + step
        if np.abs(step).max() < 1e-12:
            break
    q, r = np.linalg.qr(weighted)
    inverse = np.linalg.solve(r, np.eye(len(r)))
    return coefficients, inverse @ inverse.T, (q**2).sum(axis=1)


@pytest.mark.parametrize("n", SIZES)
def test_logit_models_are_statsmodels(n):
    matrix, latent = regression_rows(n)
    response = (latent > np.median(latent)).astype(float)
    solution = logit(matrix, response, True)
    expected = logit_by_scoring(matrix, response)
    for field, value in zip(("coefficients", "bread", "leverage"), expected, strict=True):
        np.testing.assert_allclose(getattr(solution, field), value, rtol=1e-8)
    # no bound: GLM takes three to nine times as long, of about a millisecond for a model of 1,000 rows
    times_as_long(
        lambda: logit(matrix, response, True),
        lambda: logit_by_scoring(matrix, response),
        "logit",
        n,
        more_turns=1,
    )


def test_statsmodels_says_that_separated_logit_models_converged():
    rows = np.column_stack([np.ones(40), np.repeat([0.0, 1.0], 20)])
    half_separated = np.concatenate([np.tile([0.0, 1.0], 10), np.ones(20)])
    with warnings.catch_warnings():
        # quasi-separation does not even warn
        warnings.simplefilter("error")
        result = GLM(half_separated, rows, family=Binomial()).fit()
    assert result.converged
    assert result.params[1] > 20
    with pytest.raises(ValueError, match="terms separate it"):
        logit(rows, half_separated, True)


def test_statsmodels_gives_hc0_for_every_robust_error_of_a_logit_model():
    matrix, latent = regression_rows(60)
    response = (latent > np.median(latent)).astype(float)
    errors = [GLM(response, matrix, family=Binomial()).fit(cov_type=f"HC{i}").bse for i in range(4)]
    for kind in errors[1:]:
        np.testing.assert_array_equal(kind, errors[0])


def test_the_null_deviance_of_statsmodels_always_has_an_intercept():
    matrix, latent = regression_rows(60)
    response = (latent > 3).astype(float)
    ours = logit(matrix[:, 1:], response, False)
    theirs = GLM(response, matrix[:, 1:], family=Binomial()).fit()
    # R: a model without any term has the probability 1/2
    assert ours.null_deviance == pytest.approx(60 * 2 * np.log(2), rel=1e-12)
    assert theirs.null_deviance < ours.null_deviance - 1e-3


def correlated_rows(n):
    """Rows of about six in each cluster."""
    matrix, response = regression_rows(n)
    rng = np.random.default_rng(2)
    clusters = np.unique(np.sort(rng.integers(0, n // 6, n)), return_inverse=True)[1]
    return matrix, response + rng.normal(size=clusters.max() + 1)[clusters], clusters


def fitted_by_gee(matrix, response, clusters, family):
    """statsmodels' GEE with the moments of geepack, which `ddof_scale=0` asks for."""
    model = GEE(response, matrix, groups=clusters, family=family, cov_struct=Exchangeable())
    return model.fit(ddof_scale=0, ctol=1e-10 * len(response), maxiter=200)


@pytest.mark.parametrize(("name", "family"), [("gaussian", Gaussian()), ("binomial", Binomial())])
@pytest.mark.parametrize("n", [1_000, 10_000, 100_000])
def test_gee_of_statsmodels_agrees_and_is_too_slow(n, name, family):
    matrix, response, clusters = correlated_rows(n)
    if name == "binomial":
        response = (response > np.median(response)).astype(float)
    solution = exchangeable_gee(matrix, response, True, family=FAMILIES[name], clusters=clusters)
    result = fitted_by_gee(matrix, response, clusters, family)
    np.testing.assert_allclose(result.params, solution.coefficients, rtol=GEEPACK, atol=GEEPACK)
    ratio = times_as_long(
        lambda: fitted_by_gee(matrix, response, clusters, family),
        lambda: exchangeable_gee(matrix, response, True, family=FAMILIES[name], clusters=clusters),
        f"GEE, {name}",
        n,
    )
    assert ratio > TIMES


def test_gee_of_statsmodels_has_other_moments_than_geepack_by_default():
    matrix, response, clusters = correlated_rows(300)
    ours = exchangeable_gee(matrix, response, True, family=FAMILIES["gaussian"], clusters=clusters)
    theirs = GEE(response, matrix, groups=clusters, cov_struct=Exchangeable()).fit(ctol=1e-8)
    assert theirs.cov_struct.dep_params != pytest.approx(ours.parameters["alpha"], rel=1e-3)


def beta_rows(n, seed=0):
    """Scores strictly between 0 and 1 that hang on two covariates."""
    rng = np.random.default_rng(seed)
    matrix = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    mean = special.expit(matrix @ [0.2, 0.5, -0.3])
    return matrix, rng.beta(mean * 8, (1 - mean) * 8)


@pytest.mark.filterwarnings("ignore")
def test_beta_model_of_statsmodels_stops_early_by_default_and_says_that_it_converged(r_data, r_expected):
    rows = r_data("betareg_sv").merge(
        r_data("synth1").drop(columns="iou"), on=["case_id", "patient_id", "task"]
    )
    table = r_expected("betareg_coef").query("type == 'ML' and `link.phi` == 'default' and model == 'sv'")
    expected = table["estimate"].to_numpy()[:-1]
    model = BetaModel.from_formula(f"y_sv ~ {FEATURES}", rows)
    default = model.fit(disp=0)
    assert default.mle_retvals["converged"]
    assert np.abs(default.params[:-1] / expected - 1).max() > BETAREG
    scoring = model.fit(disp=0, method="newton", tol=1e-12, cov_type="eim")
    np.testing.assert_allclose(scoring.params[:-1], expected, rtol=BETAREG)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [1_000, 10_000, 100_000])
def test_beta_model_of_statsmodels_takes_as_long_by_scoring(n):
    matrix, response = beta_rows(n)

    def scoring():
        return BetaModel(response, matrix).fit(disp=0, method="newton", tol=1e-12, cov_type="eim")

    solution = beta_regression(matrix, response, True)
    np.testing.assert_allclose(scoring().params[:-1], solution.coefficients, rtol=BETAREG)
    ratio = times_as_long(scoring, lambda: beta_regression(matrix, response, True), "beta", n)
    assert ratio < TIMES


@pytest.mark.filterwarnings("ignore")
def test_only_scoring_fits_small_samples_by_beta_model_of_statsmodels():
    """Samples of 6 to 39 scores, some near 0 and 1; those without a finite maximum are left out."""
    newton = {"method": "newton", "tol": 1e-12, "maxiter": 200}
    options = {"default": {}, "newton": newton, "scoring": newton | {"cov_type": "eim"}}
    n_right = dict.fromkeys(options, 0)
    n_fitted = 0
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(6, 40))
        matrix = np.column_stack([np.ones(n), rng.normal(size=n), np.arange(n) % 2])
        mean = special.expit(matrix @ rng.normal(size=3))
        precision = rng.choice([1, 5, 50, 1000])
        response = np.clip(rng.beta(mean * precision, (1 - mean) * precision).round(1), 0.001, 0.999)
        try:
            ours = beta_regression(matrix, response, True).coefficients
        except NotEstimableError:
            continue
        n_fitted += 1
        for name, chosen in options.items():
            try:
                with np.errstate(all="ignore"):
                    theirs = BetaModel(response, matrix).fit(disp=0, **chosen).params[:-1]
            except np.linalg.LinAlgError:
                continue
            n_right[name] += bool(np.abs(theirs - ours).max() < BETAREG * max(1, np.abs(ours).max()))
    print(f"\nbeta, right in {n_right} of {n_fitted} small samples", end="")
    assert n_right["default"] < n_fitted / 2
    assert n_right["newton"] < 0.9 * n_fitted
    assert n_right["scoring"] > 0.99 * n_fitted


def test_quantreg_of_statsmodels_is_not_the_exact_quantile():
    rows = pd.read_csv(QUANTREG_ORACLE / "rows.csv")
    table = pd.read_csv(QUANTREG_ORACLE / "regressions.csv").query("quantile == 0.5")
    expected = table["estimate"].to_numpy()
    matrix = np.column_stack([np.ones(len(rows)), rows["method"] == "human", rows["x"]]).astype(float)
    response = rows["score"].to_numpy()
    np.testing.assert_allclose(
        regression_quantile_and_rank_scores(matrix, response, 0.5).coefficients, expected, rtol=QUANTREG
    )
    theirs = QuantReg(response, matrix).fit(q=0.5, max_iter=10_000).params
    print(f"\nQuantReg: off by {np.abs(theirs / expected - 1).max():.1e} of quantreg's estimate", end="")
    assert np.abs(theirs / expected - 1).max() > 100 * QUANTREG
    for n in (1_000, 10_000, 100_000):
        matrix, response = regression_rows(n)
        times_as_long(
            lambda m=matrix, y=response: QuantReg(y, m).fit(q=0.5, max_iter=10_000),
            lambda m=matrix, y=response: regression_quantile_and_rank_scores(m, y, 0.5),
            "quantile regression",
            n,
        )


def step_up(p, factor):
    """Hochberg, Benjamini and Hochberg, Benjamini and Yekutieli by numpy: the running minimum from above."""
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.minimum.accumulate((factor * p[order])[::-1])[::-1], 1)
    return adjusted


def step_down(p, factor):
    """Holm by numpy: the running maximum."""
    order = np.argsort(p)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(factor * p[order]), 1)
    return adjusted


def hommel(p):
    """Hommel by numpy, one candidate for each size of a subfamily."""
    n, order = len(p), np.argsort(p)
    ascending = p[order]
    largest = ascending.copy()
    for k in range(2, n + 1):
        tail = (k * ascending[n - k + 1 :] / np.arange(2, k + 1)).min()
        lowest = ascending[np.minimum(np.arange(n), n - k)]
        largest = np.maximum(largest, np.minimum(k * lowest, tail))
    adjusted = np.empty(n)
    adjusted[order] = largest
    return adjusted


NUMPY_ALONE = {
    "hochberg": lambda p: step_up(p, len(p) - np.arange(len(p))),
    "hommel": hommel,
    "BH": lambda p: step_up(p, len(p) / np.arange(1, len(p) + 1)),
    "BY": lambda p: step_up(
        p, len(p) * (1 / np.arange(1, len(p) + 1)).sum() / np.arange(1, len(p) + 1)
    ),
}  # fmt: skip


# Hommel's procedure takes time with the square of the family, in statsmodels and in numpy alike
@pytest.mark.parametrize(
    ("procedure", "n"), [(name, n) for name in NUMPY_ALONE for n in SIZES if name != "hommel" or n <= 10_000]
)
def test_multiple_tests_are_statsmodels(procedure, n):
    p = np.random.default_rng(3).random(n) ** 2
    np.testing.assert_allclose(adjust_p_values(p, procedure), NUMPY_ALONE[procedure](p), rtol=P_ADJUST)
    ratio = times_as_long(
        lambda: adjust_p_values(p, procedure), lambda: NUMPY_ALONE[procedure](p), procedure, n
    )
    assert ratio < TIMES


def test_holm_of_statsmodels_collects_garbage_in_every_call():
    p = np.random.default_rng(3).random(1_000)
    ours = adjust_p_values(p, "holm")
    np.testing.assert_allclose(multipletests(p, method="holm")[1], ours, rtol=P_ADJUST)
    np.testing.assert_allclose(step_down(p, 1_000 - np.arange(1_000)), ours, rtol=P_ADJUST)
    ratio = times_as_long(
        lambda: multipletests(p, method="holm"), lambda: adjust_p_values(p, "holm"), "holm", 1_000
    )
    assert ratio > 10 * TIMES


def test_one_missing_p_value_takes_all_others_with_it_in_statsmodels():
    p = np.array([0.01, 0.02, np.nan, 0.5])
    for method in ("simes-hochberg", "hommel", "fdr_bh", "fdr_by"):
        assert np.isnan(multipletests(p, method=method)[1]).all()
    np.testing.assert_allclose(adjust_p_values(p, "BH"), [0.03, 0.03, np.nan, 0.5])


def wilcoxon_by_numpy(differences):
    """The normal approximation of the signed-rank test."""
    ranks = stats.rankdata(np.abs(differences))
    n, ties = len(ranks), np.unique(ranks, return_counts=True)[1]
    deviation = ranks[differences > 0].sum() - n * (n + 1) / 4
    sigma = np.sqrt(n * (n + 1) * (2 * n + 1) / 24 - (ties**3 - ties).sum() / 48)
    return 2 * stats.norm.sf(abs(deviation - np.sign(deviation) / 2) / sigma)


@pytest.mark.parametrize("n", SIZES)
def test_wilcoxon_is_scipys(n):
    differences = np.random.default_rng(4).normal(0.001, 1, n).round(3)
    differences = differences[differences != 0]
    p_value = wilcoxon(differences)[1]
    assert p_value == pytest.approx(wilcoxon_by_numpy(differences), rel=ROUNDING)
    ratio = times_as_long(
        lambda: wilcoxon(differences), lambda: wilcoxon_by_numpy(differences), "Wilcoxon", n
    )
    assert ratio < TIMES


def test_scipy_alone_chooses_another_wilcoxon_test_than_r():
    tied = np.array([1, 1, 2, -1, 3, 2, 0.5])
    assert stats.wilcoxon(tied).pvalue != pytest.approx(wilcoxon(tied)[1], rel=0.01)
    fifty = np.random.default_rng(0).normal(0.3, 1, 50)
    assert stats.wilcoxon(fifty).pvalue != pytest.approx(wilcoxon(fifty)[1], rel=1e-3)


def test_mcnemars_exact_test_is_the_same_everywhere():
    method, reference = np.repeat([1, 1, 0, 0], [5, 3, 9, 4]), np.repeat([1, 0, 1, 0], [5, 3, 9, 4])
    table = [[5, 3], [9, 4]]
    assert mcnemar(method, reference)[1] == pytest.approx(statsmodels_mcnemar(table).pvalue, rel=1e-12)


def test_scipy_has_no_statistic_of_kendalls_test_and_misses_perfect_ranks():
    rng = np.random.default_rng(5)
    first = rng.random(300)
    second = first + rng.random(300)
    theirs = stats.kendalltau(first, second, method="asymptotic")
    ours = coefficient(first, second, "kendall")
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    assert not hasattr(theirs, "zstatistic")
    # the P value of a large study is 0, from which no statistic comes back
    many = np.arange(20_000.0)
    assert stats.kendalltau(many, many, method="asymptotic").pvalue == 0
    five = np.arange(5.0)
    # exact: 2 / 5!
    assert coefficient(five, five, "spearman").p_value == pytest.approx(2 / 120)
    assert stats.spearmanr(five, five).pvalue < 1e-20


@pytest.mark.parametrize("name", ["BH", "BY"])
def test_false_discovery_control_of_scipy_agrees_and_is_slower_for_small_families(name):
    for n in (10, 1_000, 100_000):
        p = np.random.default_rng(3).random(n) ** 2

        def by_scipy(p=p):
            return stats.false_discovery_control(p, method=name.lower())

        np.testing.assert_allclose(by_scipy(), adjust_p_values(p, name), rtol=P_ADJUST)
        times_as_long(by_scipy, lambda p=p: NUMPY_ALONE[name](p), f"scipy's {name}", n)


def factors(n):
    """Two factors, a number and an outcome."""
    rng = np.random.default_rng(6)
    a, b = rng.choice(list("pqr"), n), rng.choice(list("uv"), n)
    return pd.DataFrame({"y": rng.random(n), "x": rng.random(n), "a": a, "b": b})


@pytest.mark.parametrize("n", [200, 1_000, 10_000, 100_000])
def test_the_model_matrix_of_formulaic_agrees_and_is_slow_for_small_groups(n):
    rows, formula = factors(n), parse_formula("y ~ a*b + x")

    def ours():
        variables = {column: coded_variable(rows, column) for column in formula.columns}
        return build_design(
            formula, variables, complete_row_positions(formula, variables, np.arange(n))
        ).matrix

    def theirs():
        return model_matrix("a*b + x", rows).to_numpy()

    # columns come in another order
    np.testing.assert_array_equal(np.sort(ours(), axis=1), np.sort(theirs(), axis=1))
    ratio = times_as_long(theirs, ours, "model matrix by formulaic", n)
    if n <= 1_000:
        assert ratio > TIMES


def test_formulaic_names_other_terms_than_r_runs_python_and_drops_rows():
    # R: a column for each pair of levels, (Intercept), ap:bu, aq:bu, ...
    assert "b[T.v]" in model_matrix("a:b", factors(60)).columns
    rows = pd.DataFrame({"x": [1.0, np.nan, 3.0]})
    assert len(model_matrix("x", rows)) == 2
    run = model_matrix("{x + __import__('math').tau}", rows).to_numpy()[:, 1]
    np.testing.assert_allclose(run, np.array([1, 3]) + 2 * np.pi)


@pytest.mark.parametrize("n", [200, *SIZES])
def test_pandas_finds_the_same_groups_as_our_codes(n):
    rows = factors(n)

    def by_pandas():
        return rows.groupby(["a", "b"]).ngroup().to_numpy()

    pairs = {*zip(by_pandas().tolist(), combined_codes(rows, ["a", "b"]).tolist(), strict=True)}
    assert len(pairs) == 6
    times_as_long(by_pandas, lambda: combined_codes(rows, ["a", "b"]), "codes by pandas", n)


def test_importing_what_is_used_of_statsmodels_costs_little_beside_scipy():
    def import_time(modules):
        command = [sys.executable, "-c", f"import {modules}"]
        return seconds(lambda: subprocess.run(command, check=True))

    without, with_it = fastest(
        lambda: import_time("salstats.stats.models.model_fitting"),
        lambda: import_time(
            "salstats.stats.models.model_fitting, statsmodels.regression.linear_model, "
            "statsmodels.genmod.generalized_linear_model, statsmodels.stats.multitest"
        ),
        enough=np.inf,
        turns=5,
        least=5,
    )
    print(f"\nimport: {with_it / without:.2f} times as long with statsmodels", end="")
    assert with_it < 1.3 * without


@pytest.mark.parametrize("n", SIZES)
def test_spearmans_coefficient_of_scipy_is_as_fast(n):
    x, y = np.random.default_rng(n).normal(size=(2, n))
    times_as_long(lambda: stats.spearmanr(x, y), lambda: coefficient(x, y, "spearman"), "Spearman", n)


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_rm_corr_of_pingouin_takes_too_long():
    units = np.repeat(np.arange(100), 4)
    x, y = np.random.default_rng(0).normal(size=(2, 400))
    table = pd.DataFrame({"unit": units, "x": x, "y": y})
    estimate = float(pingouin.rm_corr(table, "x", "y", "unit")["r"].iloc[0])
    assert repeated_measures_coefficient(x, y, units).estimate == pytest.approx(estimate)
    ours, theirs = fastest(
        lambda: repeated_measures_coefficient(x, y, units),
        lambda: pingouin.rm_corr(table, "x", "y", "unit"),
        enough=10 * TIMES, turns=5, least=2,
    )  # fmt: skip
    print(f"rm_corr of 100 units: {theirs / ours:.0f} times")
    assert theirs > 10 * TIMES * ours
