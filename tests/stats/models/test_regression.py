"""Coefficients against R, and what regress does with frames and options."""

import re

import numpy as np
import pandas as pd
import pytest
from regression_oracle import LINEAR, assert_columns_equal, logit_model, rows_of
from tests_support import raises, warns

import salstats as ss
from salstats.errors import ColumnError, FormulaError, SalstatsError, SalstatsWarning, ValueRangeError
from salstats.stats.models.error_kinds import BETA_ERRORS, CHOICES

# R's models of the made-up scores take their tasks together
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")
# both sides solve by QR in double precision; condition numbers here are below 1e3
LINEAR_RTOL = 1e-10
# IRLS run to rounding on both sides
LOGIT_RTOL = 1e-10
# R's summary.glm takes the weights of the last iteration but one: up to 4e-10 off here
LOGIT_ERROR_RTOL = 1e-9
# and a p-value feels an error of its z about z^2 times over (z up to 10)
LOGIT_P_RTOL = 1e-7
EXACT = 1e-12

ERRORS = [
    ("classical", "const", "t_resid"),
    ("hc0", "HC0", "t_resid"),
    ("hc1", "HC1", "t_resid"),
    ("hc2", "HC2", "t_resid"),
    ("hc3", "HC3", "t_resid"),
    ("cluster", "CL_HC1", "t_G1"),
    ("cr2", "clubSandwich_CR2", "satt"),
]
LOGIT_ERRORS = [("hc0", "HC0"), ("hc1", "HC1"), ("hc2", "HC2"), ("hc3", "HC3"), ("cluster", "CL_HC1")]


@pytest.mark.parametrize(("errors", "vcov", "kind"), ERRORS)
def test_linear_models_equal_lm_with_sandwich_and_clubsandwich(synth1, r_expected, errors, vcov, kind):
    oracle = r_expected("lm_robust")
    oracle = oracle[oracle["vcov"] == vcov]
    assert oracle["model"].nunique() >= 9
    columns = {
        "estimate": "estimate",
        "std_error": "std.error",
        "statistic": "statistic",
        "p_value": f"p_{kind}",
        "conf_low": f"lo_{kind}",
        "conf_high": f"hi_{kind}",
    }
    columns |= {"df": "df_satt"} if errors == "cr2" else {}
    for model, expected in oracle.groupby("model"):
        rows = rows_of(synth1, model)
        if errors in ("cluster", "cr2"):
            rows = rows.join(synth1[["case", "patient"]])
        result = ss.regress(rows, LINEAR[model.split("|")[0]], errors=errors)
        assert result["term"].tolist() == expected["term"].tolist()
        assert_columns_equal(result, expected, columns, LINEAR_RTOL)
        if errors == "cluster":
            assert (result["n_units"].to_numpy() == expected["G"].to_numpy()).all()
            assert (result["df"].to_numpy() == expected["G"].to_numpy() - 1).all()
            assert (result["unit"] == "patient").all()
        assert (result["interval"] == "t").all()


def test_cluster_of_cases_equals_vcovcl_by_case(synth1, r_expected):
    oracle = r_expected("lm_robust").query("vcov == 'CL_by_case_HC1'")
    assert oracle["model"].nunique() >= 7
    for model, expected in oracle.groupby("model"):
        rows = rows_of(synth1, model).join(synth1["case"])
        result = ss.regress(rows, LINEAR[model.split("|")[0]], errors="cluster")
        columns = {"std_error": "std.error", "p_value": "p_t_G1", "conf_low": "lo_t_G1"}
        assert_columns_equal(result, expected, columns, LINEAR_RTOL)
        assert (result["unit"] == "case").all()


def test_terms_equal_broom_for_every_task_in_one_call(synth1, r_expected):
    oracle = r_expected("lm_tidy")
    rows = synth1.drop(columns=["case", "patient"])
    formulas = [
        LINEAR[k] for k in LINEAR if k.startswith(("uni", "multi")) and k not in ("multi_task", "multi_int")
    ]
    result = ss.regress(rows, formulas, by="task", errors="classical", overall=True)
    kinds = {text: kind for kind, text in LINEAR.items()}
    ids = result["formula"].map(kinds) + "|" + result["task"].replace("Overall", "POOLED")
    assert ids.nunique() == 35
    for model, ours in result.groupby(ids):
        expected = oracle[oracle["model"] == model]
        assert ours["term"].tolist() == expected["term"].tolist()
        columns = {"estimate": "estimate", "std_error": "std.error", "p_value": "p.value"}
        columns |= {"statistic": "statistic", "conf_low": "conf.low", "conf_high": "conf.high"}
        assert_columns_equal(ours, expected, columns, LINEAR_RTOL)


def test_logit_and_fractional_logit_equal_glm(synth1, r_expected):
    for model, expected in r_expected("glm_tidy").groupby("model"):
        formula, family = logit_model(model)
        result = ss.regress(rows_of(synth1, model), formula, family=family, errors="classical")
        assert result["term"].tolist() == expected["term"].tolist()
        assert_columns_equal(result, expected, {"estimate": "estimate"}, LOGIT_RTOL)
        columns = {"std_error": "std.error", "statistic": "statistic"}
        assert_columns_equal(result, expected, columns, LOGIT_ERROR_RTOL)
        assert_columns_equal(result, expected, {"p_value": "p.value"}, LOGIT_P_RTOL)
        if family == "binomial":
            wald = {"conf_low": "wald.low", "conf_high": "wald.high"}
            assert_columns_equal(result, expected, wald, LOGIT_ERROR_RTOL)
            assert (result["interval"] == "wald").all()
            assert result["df"].isna().all()
        else:
            # R's summary takes t for quasi families, its confint z
            assert (result["interval"] == "t").all()
            assert (result["df"] == result["n"] - len(result)).all()


@pytest.mark.parametrize(("errors", "vcov"), LOGIT_ERRORS)
def test_robust_errors_of_the_logit_families_equal_sandwich(synth1, r_expected, errors, vcov):
    oracle = r_expected("glm_robust")
    oracle = oracle[oracle["vcov"] == vcov]
    assert oracle["model"].nunique() == 10
    for model, expected in oracle.groupby("model"):
        formula, family = logit_model(model)
        rows = rows_of(synth1, model)
        if errors == "cluster":
            rows = rows.join(synth1["patient"])
        unit = "patient" if errors == "cluster" else None
        result = ss.regress(rows, formula, family=family, errors=errors, unit=unit)
        columns = {"std_error": "std.error", "statistic": "statistic"}
        p_value = {"p_value": "p_t_G1"} if errors == "cluster" else {}
        if family == "binomial" and errors != "cluster":
            columns |= {"conf_low": "lo_z", "conf_high": "hi_z"}
            p_value = {"p_value": "p_z"}
        assert_columns_equal(result, expected, columns, LOGIT_ERROR_RTOL)
        assert_columns_equal(result, expected, p_value, LOGIT_P_RTOL)


def test_exponentiated_logit_gives_odds_ratios_and_keeps_std_error_on_the_log_scale(synth1, r_expected):
    expected = r_expected("glm_tidy").query("model == 'logit|POOLED'")
    formula, family = logit_model("logit|POOLED")
    rows = rows_of(synth1, "logit|POOLED")
    result = ss.regress(rows, formula, family=family, errors="classical", exponentiate=True)
    columns = {"estimate": "or", "conf_low": "or.wald.low", "conf_high": "or.wald.high"}
    unchanged = {"std_error": "std.error", "statistic": "statistic"}
    assert_columns_equal(result, expected, columns | unchanged, LOGIT_ERROR_RTOL)
    assert_columns_equal(result, expected, {"p_value": "p.value"}, LOGIT_P_RTOL)


def test_exponentiating_a_linear_model_warns_unless_its_left_side_is_a_log(synth1):
    rows = synth1.drop(columns=["case", "patient"])
    with pytest.warns(SalstatsWarning, match="exponentiate=True, .*'iou ~ prob'"):
        ss.regress(rows, "iou ~ prob", exponentiate=True)
    plain = ss.regress(rows, "log1p(iou) ~ prob")
    ratio = ss.regress(rows, "log1p(iou) ~ prob", exponentiate=True)
    np.testing.assert_allclose(ratio["conf_low"], np.exp(plain["conf_low"]), rtol=EXACT)


def test_a_scores_frame_gives_the_same_as_the_wide_table(synth1, synth1_scores):
    result = ss.regress(synth1_scores, "iou ~ area_ratio + task", errors="cluster")
    assert result["method"].unique().tolist() == ["gradcam", "human"]
    for method, column in (("gradcam", "iou"), ("human", "human_iou")):
        wide = ss.regress(synth1, f"{column} ~ area_ratio + task", errors="cluster")
        ours = result[result["method"] == method].reset_index(drop=True)
        pd.testing.assert_frame_equal(
            ours.drop(columns=["method", "formula", "n_shared"]), wide.drop(columns="formula"), rtol=EXACT
        )


def test_gap_is_reference_minus_method_on_the_same_case_and_task(synth1, synth1_scores):
    shuffled = synth1_scores.sample(frac=1, random_state=2)
    result = ss.regress(shuffled, "iou ~ elongation", reference="human", errors="cluster")
    wide = ss.regress(
        synth1.assign(gap=synth1["human_iou"] - synth1["iou"]), "gap ~ elongation", errors="cluster"
    )
    assert list(result.columns[:4]) == ["method", "reference", "formula", "term"]
    assert set(result["method"]) == {"gradcam"}
    assert set(result["reference"]) == {"human"}
    columns = {c: c for c in ("estimate", "std_error", "p_value", "n", "n_missing", "n_units")}
    assert_columns_equal(result, wide, columns, LINEAR_RTOL)


def test_gap_of_a_table_with_a_column_per_metric_and_of_the_column_score(synth1, synth1_scores):
    keys = ["case", "patient", "task", "prob"]
    wide = pd.concat(
        [
            synth1[keys].assign(method=method, overlap=synth1[column])
            for method, column in (("gradcam", "iou"), ("human", "human_iou"))
        ]
    )
    long = ss.regress(synth1_scores, "iou ~ prob", reference="human", errors="cluster")
    by_column = ss.regress(wide, "overlap ~ prob", reference="human", errors="cluster")
    by_score = ss.regress(
        synth1_scores[synth1_scores["metric"] == "iou"], "score ~ prob", reference="human", errors="cluster"
    )
    for other in (by_column, by_score):
        pd.testing.assert_frame_equal(long.drop(columns="formula"), other.drop(columns="formula"), rtol=EXACT)
    mixed = ss.regress(synth1_scores, "iou ~ hit", reference="human", errors="cluster")
    gap = synth1.assign(gap=synth1["human_iou"] - synth1["iou"])
    expected = ss.regress(gap, "gap ~ hit", errors="cluster")
    assert_columns_equal(mixed, expected, {"estimate": "estimate", "std_error": "std_error"}, LINEAR_RTOL)


def test_gap_needs_a_plain_metric_and_a_known_reference(synth1_scores):
    with raises(FormulaError, option="reference", value="human", match=r"log1p\(iou\)"):
        ss.regress(synth1_scores, "log1p(iou) ~ prob", reference="human")
    with raises(SalstatsError, match="reference='reader'"):
        ss.regress(synth1_scores, "iou ~ prob", reference="reader")
    with raises(ColumnError, column="method"):
        ss.regress(synth1_scores.drop(columns="method"), "score ~ prob", reference="human")


def test_method_in_the_formula_is_not_a_grouping_column_by_default(synth1_scores):
    result = ss.regress(synth1_scores, "iou ~ method * task", errors="cluster")
    assert list(result.columns[:2]) == ["formula", "term"]
    assert "methodhuman:taskEdema" in set(result["term"])
    with raises(ColumnError, column="method", option="by"):
        ss.regress(synth1_scores, "iou ~ method", by="method")


def test_columns_stand_in_the_order_of_the_contract(synth1_scores):
    formulas = ["iou ~ prob", "hit ~ prob"]
    clustered = ss.regress(
        synth1_scores, formulas, by=("method", "task"), errors="cluster", adjust="holm", overall=True
    )
    assert list(clustered.columns) == [
        *("method", "task", "formula", "term", "estimate", "std_error", "statistic", "df", "p_value"),
        *("p_adjusted", "conf_low", "conf_high", "conf_level", "interval", "unit", "n", "n_missing"),
        *("n_units", "n_shared", "family", "errors", "exponentiated", "n_tests", "procedure"),
    ]
    assert clustered["formula"].unique().tolist() == formulas
    tasks = clustered.query("formula == 'iou ~ prob' and method == 'human' and term == 'prob'")[
        "task"
    ].tolist()
    assert tasks == [*sorted(tasks[:-1]), "Overall"]
    assert (clustered["n"] + clustered["n_missing"]).groupby(clustered["task"]).nunique().eq(1).all()
    edema = synth1_scores.drop(columns="patient").query("task == 'Edema'")
    plain = ss.regress(edema, "iou ~ prob", errors="hc2")
    assert {"unit", "n_units", "p_adjusted"}.isdisjoint(plain.columns)
    assert isinstance(clustered.index, pd.RangeIndex)


def test_rows_that_repeat_a_unit_warn_once_with_their_numbers(synth1, synth1_scores):
    hint = "errors='cr2' lets them depend on each other"
    with warns(hint=hint, match="in 2 models: .*1363 rows of 180 patients"):
        ss.regress(synth1_scores, LINEAR["multi"], by="method", errors="classical")
    with pytest.warns(SalstatsWarning, match=r"1363 rows of \d+ cases"):
        ss.regress(synth1.drop(columns="patient"), LINEAR["multi"], errors="hc3")
    ss.regress(synth1.drop(columns="patient"), LINEAR["multi"], by="task", errors="hc3")
    ss.regress(synth1_scores, LINEAR["multi"])


def test_scores_of_several_metrics_in_one_model_warn(synth1_scores):
    with pytest.warns(SalstatsWarning, match="iou, hit"):
        ss.regress(synth1_scores, "score ~ prob", errors="cluster")
    ss.regress(synth1_scores, "score ~ prob", by=("metric", "method"), errors="cluster")


def test_a_term_that_depends_on_earlier_ones_is_nan_as_in_r(synth1):
    rows = synth1.drop(columns=["case", "patient"])
    rows = rows.assign(twice=2 * rows["prob"], one=1.0)
    with pytest.warns(SalstatsWarning, match="earlier ones .* one, twice$"):
        result = ss.regress(rows, "iou ~ one + prob + twice + elongation", errors="hc3").set_index("term")
    expected = ss.regress(rows, "iou ~ prob + elongation", errors="hc3").set_index("term")
    assert result.loc[["one", "twice"], ["estimate", "std_error", "p_value", "df"]].isna().all(axis=None)
    kept = result.loc[["(Intercept)", "prob", "elongation"]]
    columns = {c: c for c in ("estimate", "std_error", "p_value", "df", "conf_high")}
    assert_columns_equal(kept, expected, columns, LINEAR_RTOL)


def test_too_few_rows_give_nan_and_a_warning_that_names_the_group(synth1):
    rows = synth1.drop(columns=["case", "patient"])
    few = pd.concat([rows.query("task == 'Edema'"), rows.query("task == 'Cardiomegaly'").dropna().head(2)])
    few = pd.concat([few, rows.query("task == 'Lung Lesion'").assign(iou=np.nan)])
    with pytest.warns(SalstatsWarning) as caught:
        result = ss.regress(few, "iou ~ prob", by="task")
    message = str(caught[0].message)
    assert "no estimates (NaN) in 2 models" in message
    assert "task Cardiomegaly: 2 complete rows for 2 coefficients" in message
    assert "task Lung Lesion: no complete rows" in message
    by_task = result.set_index("task")
    assert by_task.loc[["Cardiomegaly", "Lung Lesion"], "estimate"].isna().all()
    assert by_task.loc["Cardiomegaly", "term"].tolist() == ["(Intercept)", "prob"]
    assert by_task.loc["Edema", "estimate"].notna().all()
    assert by_task.loc["Lung Lesion", "n"].eq(0).all()


@pytest.mark.parametrize("family", ["binomial", "fractional"])
def test_a_separated_logit_has_no_estimates_and_says_so(family):
    x = np.arange(12.0)
    rows = pd.DataFrame({"hit": (x > 5.5).astype(float), "x": x, "task": "perfect"})
    noisy = rows.assign(task="fine", hit=[0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 1])
    quasi = rows.assign(task="quasi", x=[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    constant = rows.assign(task="constant", hit=1.0)
    with pytest.warns(SalstatsWarning, match="in 3 models") as caught:
        result = ss.regress(pd.concat([rows, noisy, quasi, constant]), "hit ~ x", by="task", family=family)
    message = str(caught[0].message)
    assert re.search("task constant: [^;]*outcome is constant", message)
    assert re.search("task quasi: [^;]*separate", message)
    assert re.search("task perfect: [^;]*separate", message)
    finite = result.set_index("task")["estimate"].notna()
    assert finite["fine"].all()
    assert not finite[["perfect", "quasi", "constant"]].any()


def test_a_variable_of_one_level_is_left_out_with_a_warning(synth1):
    rows = synth1.drop(columns=["case", "patient"]).query("task == 'Edema'")
    with pytest.warns(SalstatsWarning, match="one level, .*: task$"):
        result = ss.regress(rows, "iou ~ prob + task")
    assert result["term"].tolist() == ["(Intercept)", "prob"]


def test_outcomes_outside_the_family_are_refused(synth1):
    rows = synth1.drop(columns=["case", "patient"])
    with raises(
        ValueRangeError, option="family", value="binomial", match=r"0 and 1, not 0\.\d+; .*fractional"
    ):
        ss.regress(rows, "iou ~ prob", family="binomial")
    with raises(ValueRangeError, option="family", value="fractional", match="not 1.2"):
        ss.regress(rows.assign(share=1.2), "share ~ prob", family="fractional")


@pytest.mark.parametrize(
    ("options", "error", "fields"),
    [
        (
            {"errors": "hc2", "family": "beta"},
            ValueRangeError,
            {"option": "errors", "value": "hc2", "choices": BETA_ERRORS},
        ),
        ({"errors": "robust"}, ValueRangeError, {"option": "errors", "value": "robust", "choices": CHOICES}),
        (
            {"errors": "classical", "unit": "patient"},
            ValueRangeError,
            {"option": "unit", "value": "patient", "match": "errors='classical'"},
        ),
        ({"overall": True}, ColumnError, {"match": "'task'"}),
    ],
)
def test_options_that_make_no_sense_are_refused(synth1, options, error, fields):
    with raises(error, **fields):
        ss.regress(synth1, "iou ~ prob", **options)


def test_invalid_scores_frames_are_refused(synth1_scores):
    with pytest.raises(ColumnError, match="same observation"):
        ss.regress(pd.concat([synth1_scores, synth1_scores.head(1)]), "iou ~ prob")


def test_the_level_that_a_level_is_compared_with_stands_beside_it():
    rows = pd.DataFrame({"site": list("abc") * 4, "x": np.arange(12.0) % 5, "y": np.arange(12.0) ** 2})
    table = ss.regress(rows, ['y ~ x * C(site, Treatment("b"))', "y ~ 0 + site", "y ~ x"])
    told = table.loc[table["reference_level"].notna(), ["term", "reference_level"]]
    assert told.to_numpy().tolist() == [["C(site)a", "b"], ["C(site)c", "b"]]
    assert "reference_level" not in ss.regress(rows, "y ~ x")
    assert "normalized" not in table


def test_a_covariate_from_0_to_1_is_marked_and_a_yes_or_no_is_not():
    rows = pd.DataFrame({"x": [5.0, 7, 6, 9, 4], "yes": [0, 1, 0, 1, 1], "y": [0.1, 0.5, 0.2, 0.6, np.nan]})
    table = ss.regress(ss.normalize(rows, "x"), "y ~ x + yes").set_index("term")
    assert table["normalized"].to_dict() == {"(Intercept)": False, "x": True, "yes": False}
