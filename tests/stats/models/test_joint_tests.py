"""Joint Wald tests against R, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
from regression_oracle import LINEAR, rows_of
from scipy import special
from tests_support import default_numbers_and_flags, raises, warns

import salstats as ss
from salstats.errors import FormulaError

# R's models of the made-up scores take their tasks together
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")
# an F is a quadratic form in the coefficients: the linear models' tolerance, squared up
RTOL = 1e-10


def _joint(synth1, row, **options):
    terms = None if row["hypothesis"] == "all slopes = 0" else "task"
    return ss.joint_test(rows_of(synth1, row["model"]), LINEAR[row["model"].split("|")[0]], terms, **options)


@pytest.mark.parametrize(("errors", "vcov"), [("classical", "const"), ("hc3", "HC3")])
def test_f_tests_equal_waldtest_and_linear_hypothesis(synth1, r_expected, errors, vcov):
    oracle = r_expected("lm_joint_tests").query("vcov == @vcov")
    assert len(oracle) >= 15
    for _, row in oracle.iterrows():
        result = _joint(synth1, row, errors=errors).iloc[0]
        assert result["statistic"] == pytest.approx(row["F"], rel=RTOL)
        assert (result["df"], result["df_residual"]) == (row["df1"], row["df2"])
        assert result["p_value"] == pytest.approx(row["p_F"], rel=RTOL)


def test_clustered_f_equals_waldtest_but_for_g_minus_1_denominator_degrees_of_freedom(synth1, r_expected):
    for _, row in r_expected("lm_joint_tests").query("vcov == 'CL_HC1'").iterrows():
        terms = None if row["hypothesis"] == "all slopes = 0" else "task"
        rows = rows_of(synth1, row["model"]).join(synth1[["case", "patient"]])
        formula = LINEAR[row["model"].split("|")[0]]
        result = ss.joint_test(rows, formula, terms, errors="cluster").iloc[0]
        assert result["statistic"] == pytest.approx(row["F"], rel=RTOL)
        assert result["df"] == row["df1"]
        # waldtest takes the residual degrees of freedom of the linear model
        assert result["df_residual"] == result["n_units"] - 1 < row["df2"]
        assert special.fdtrc(row["df1"], row["df2"], result["statistic"]) == pytest.approx(
            row["p_F"], rel=RTOL
        )
        at_g_minus_1 = special.fdtrc(row["df1"], result["n_units"] - 1, row["F"])
        assert result["p_value"] == pytest.approx(at_g_minus_1, rel=RTOL)


def test_an_interaction_is_tested_as_a_whole_whatever_the_order_of_its_names(drawn_table):
    rows = rows_of(drawn_table, "all|POOLED")
    result = ss.joint_test(rows, "iou ~ prob * task", "task:prob", errors="classical")
    pieces = ss.fit_statistics(rows, ["iou ~ prob * task", "iou ~ prob + task"])
    full, reduced = pieces["deviance"]
    by_sums_of_squares = (reduced - full) / 5 / (full / pieces["df_residual"][0])
    assert result["term"].tolist() == ["prob:task"]
    assert result["statistic"][0] == pytest.approx(by_sums_of_squares, rel=RTOL)
    both = ss.joint_test(rows, "iou ~ prob * task", ["task", "prob:task"])
    assert both["term"].tolist() == ["task + prob:task"]
    assert both["df"].tolist() == [10]


@pytest.mark.parametrize("errors", ["cluster", "cr2"])
def test_one_coefficient_gives_the_square_of_its_t(drawn_table, errors):
    options = {"by": "task", "errors": errors}
    tests = ss.joint_test(drawn_table, "iou ~ prob + elongation", "prob", **options)
    terms = ss.regress(drawn_table, "iou ~ prob + elongation", **options).query("term == 'prob'")
    np.testing.assert_allclose(tests["statistic"], terms["statistic"] ** 2, rtol=RTOL)
    np.testing.assert_allclose(tests["p_value"], terms["p_value"], rtol=1e-9)
    np.testing.assert_allclose(tests["df_residual"], terms["df"], rtol=RTOL)
    assert list(tests.columns) == [
        *("task", "formula", "term", "statistic", "df", "p_value", "unit", "n", "n_missing", "n_units"),
        *("df_residual", "family", "errors"),
    ]


def test_binomial_models_of_independent_rows_are_tested_by_chi_square(drawn_table):
    rows = rows_of(drawn_table, "all|POOLED")
    options = {"family": "binomial", "errors": "classical"}
    test = ss.joint_test(rows, "hit ~ prob + elongation", "prob", **options).iloc[0]
    term = ss.regress(rows, "hit ~ prob + elongation", **options).iloc[1]
    assert test["statistic"] == pytest.approx(term["statistic"] ** 2, rel=RTOL)
    assert test["p_value"] == pytest.approx(term["p_value"], rel=RTOL)
    assert np.isnan(test["df_residual"])


def test_more_coefficients_than_clusters_cannot_be_tested(drawn_table):
    few = drawn_table[drawn_table["patient"].isin(drawn_table["patient"].unique()[:5])]
    for errors in ("cluster", "cr2"):
        with warns(option="errors", value=errors, column="df_residual"):
            result = ss.joint_test(few, "iou ~ prob * task", errors=errors)
        assert result["n_units"][0] == 5
        assert result["df"][0] == 11
        assert np.isnan(result["statistic"][0])
        assert np.isnan(result["p_value"][0])


def test_cr2_of_methods_on_the_same_cases_is_hotellings_t2():
    rng = np.random.default_rng(4)
    n_cases, n_methods = 9, 4
    scores = rng.normal(size=(n_cases, n_methods)) + rng.normal(size=(n_cases, 1))
    rows = pd.DataFrame(
        {
            "score": scores.ravel(),
            "case": np.repeat([f"c{i}" for i in range(n_cases)], n_methods),
            "method": list("abcd") * n_cases,
        }
    )
    result = ss.joint_test(rows, "score ~ method", errors="cr2", unit="case").iloc[0]
    gaps = scores[:, 1:] - scores[:, :1]
    mean, q = gaps.mean(axis=0), n_methods - 1
    t2 = n_cases * mean @ np.linalg.solve(np.cov(gaps.T), mean)
    f = (n_cases - q) / (q * (n_cases - 1)) * t2
    assert result["statistic"] == pytest.approx(f, rel=RTOL)
    assert (result["df"], result["df_residual"]) == (q, pytest.approx(n_cases - q, rel=RTOL))
    assert result["p_value"] == pytest.approx(special.fdtrc(q, n_cases - q, f), rel=RTOL)


def test_few_clusters_for_the_coefficients_are_told_with_cr1(drawn_table):
    with warns(option="errors", value="cluster", column="n_units"):
        result = ss.joint_test(drawn_table, "iou ~ prob * task", errors="cluster")
    assert result["n_units"][0] == 180
    assert result["df"][0] == 11
    ss.joint_test(drawn_table, "iou ~ prob * task", "prob:task", errors="cluster")
    ss.joint_test(drawn_table, "iou ~ prob * task", errors="cr2")


@pytest.mark.parametrize("terms", ["site", "task:elongation", "prob + site", "1", 3, ["prob", "site"], [3]])
def test_a_term_the_formula_lacks_is_refused(drawn_table, terms):
    missing_term = terms[-1] if isinstance(terms, list) else terms
    fields = {"option": "terms", "value": missing_term, "choices": ("prob", "task", "prob:task")}
    with raises(FormulaError, **fields):
        ss.joint_test(rows_of(drawn_table, "all|POOLED"), "iou ~ prob * task", terms)


def test_no_terms_are_nothing_to_test(drawn_table):
    with raises(FormulaError, option="terms", value=[], choices=("prob", "task")):
        ss.joint_test(rows_of(drawn_table, "all|POOLED"), "iou ~ prob + task", [])


def test_a_random_effect_is_no_term_to_test(drawn_table):
    terms = "prob + (1|case)"
    with raises(FormulaError, option="terms", value=terms, choices=("prob",)):
        ss.joint_test(rows_of(drawn_table, "all|POOLED"), "iou ~ prob", terms)


def test_an_intercept_is_no_term_to_test(drawn_table):
    with raises(FormulaError, option="formula", value="iou ~ 1"):
        ss.joint_test(rows_of(drawn_table, "all|POOLED"), "iou ~ 1")


def test_each_term_by_itself_is_the_row_of_its_own_call(drawn_table):
    rows = rows_of(drawn_table, "all|POOLED")
    formulas = ["iou ~ prob + task", "iou ~ prob * task"]
    found = ss.joint_test(rows, formulas, errors="hc3", each=True, adjust="holm")
    assert found["term"].tolist() == ["prob", "task", "prob", "task", "prob:task"]
    assert (found["n_tests"] == 5).all()
    for _, row in found.iterrows():
        alone = ss.joint_test(rows, row["formula"], row["term"], errors="hc3").iloc[0]
        assert (row["p_value"], row["df"]) == (alone["p_value"], alone["df"])


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.joint_test) == {"overall": False, "each": False}
