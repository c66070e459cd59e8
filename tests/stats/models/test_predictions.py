import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import special, stats
from tests_support import default_numbers_and_flags, raises, warns, warns_too

import salstats as ss
from salstats.errors import ColumnError, ValueRangeError

# R's models of the made-up scores take their tasks together
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")
# the same formula on both sides, solved by QR here and by pinv there
RTOL = 1e-10
# two logit fits of the same model from different columns: IRLS stops at 1e-12 of a coefficient
LOGIT_RTOL = 1e-8
BAND = ["estimate", "std_error", "conf_low", "conf_high"]


@pytest.fixture
def rows():
    """90 rows of 30 patients, with a 0/1 outcome."""
    rng = np.random.default_rng(5)
    x, patient = rng.uniform(0, 2, 90), np.repeat(np.arange(30), 3)
    score = 0.3 + 0.2 * x + 0.1 * rng.normal(size=30)[patient] + rng.normal(0, 0.1 + 0.1 * x)
    hit = (rng.random(90) < special.expit(x - 1)).astype(float)
    return pd.DataFrame({"score": score, "hit": hit, "x": x, "z": rng.normal(size=90), "centre": patient})


def test_columns_stand_in_the_order_of_an_estimates_frame(rows):
    line = ss.fit_line(rows, "score ~ x + z", errors="cluster", unit="centre", n_points=4)
    assert line.columns.tolist() == [
        *("formula", "covariate", "value", "estimate", "std_error", "df", "conf_low", "conf_high"),
        *("conf_level", "interval", "unit", "n", "n_missing", "n_units", "family", "errors", "z"),
    ]
    assert line.index.tolist() == [0, 1, 2, 3]
    assert (line["n_units"] == 30).all()


def test_agrees_with_predict_of_r(synth1, r_expected):
    expected = r_expected("lm_predict")
    rows = synth1.drop(columns=["case", "patient"])
    line = ss.fit_line(rows, "iou ~ area_ratio", errors="classical", n_points=5)
    # R's grid is another one: the line is straight and its squared error a parabola, so five points say all
    estimate = np.polyval(np.polyfit(line["value"], line["estimate"], 1), expected["area_ratio"])
    std_error = np.sqrt(
        np.polyval(np.polyfit(line["value"], line["std_error"] ** 2, 2), expected["area_ratio"])
    )
    half = stats.t.ppf(0.975, line["df"][0]) * std_error
    np.testing.assert_allclose(estimate, expected["fit"], rtol=RTOL)
    np.testing.assert_allclose(std_error, expected["se"], rtol=RTOL)
    np.testing.assert_allclose(estimate - half, expected["ci_lo"], rtol=RTOL)
    np.testing.assert_allclose(estimate + half, expected["ci_hi"], rtol=RTOL)


def test_agrees_with_statsmodels_for_the_logit(rows):
    line = ss.fit_line(rows, "hit ~ x", family="binomial", errors="classical")
    glm = sm.GLM(rows["hit"], sm.add_constant(rows[["x"]]), family=sm.families.Binomial())
    fit = glm.fit(tol=1e-12, tol_criterion="params")
    expected = fit.get_prediction(sm.add_constant(line[["value"]].to_numpy())).summary_frame()
    columns = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper"]
    np.testing.assert_allclose(line[BAND], expected[columns], rtol=RTOL)
    assert line["df"].isna().all()
    assert (line["interval"] == "wald").all()


@pytest.mark.parametrize(
    ("family", "outcome", "errors", "unit"),
    [
        ("gaussian", "score", "hc3", None),
        ("gaussian", "score", "cr2", "centre"),
        ("gaussian", "score", "cluster", "centre"),
        ("fractional", "share", "cluster", "centre"),
        ("fractional", "share", None, None),
        ("binomial", "hit", "hc3", None),
    ],
)
def test_the_mean_at_a_value_is_the_intercept_of_the_model_centred_there(rows, family, outcome, errors, unit):
    rows = rows.assign(share=special.expit(rows["score"]))
    options = {"family": family, "errors": errors, "unit": unit}
    line = ss.fit_line(rows, f"{outcome} ~ x + z", n_points=4, hold={"z": 0.0}, **options)
    for row in line.to_dict("records"):
        shifted = rows.assign(x=rows["x"] - row["value"])
        intercept = ss.regress(shifted, f"{outcome} ~ x + z", **options).iloc[0]
        inverse = (lambda v: v) if family == "gaussian" else special.expit
        for name in ("estimate", "conf_low", "conf_high"):
            assert row[name] == pytest.approx(inverse(intercept[name]), rel=LOGIT_RTOL)
        assert row["df"] == pytest.approx(intercept["df"], rel=LOGIT_RTOL, nan_ok=True)


def test_each_group_keeps_to_its_own_range(drawn_scores):
    scores = drawn_scores.query("task != 'Edema' or prob < 0.6")
    keys = ["method", "task"]
    line = ss.fit_line(scores, "iou ~ prob", by=keys, errors="cluster", n_points=7)
    used = ss.augment(scores, "iou ~ prob", by=keys).groupby(keys)["prob"].agg(["min", "max", "size"])
    found = line.groupby(keys)["value"].agg(["min", "max", "size"])
    np.testing.assert_array_equal(found[["min", "max"]], used[["min", "max"]])
    assert (found["size"] == 7).all()
    assert line.loc[line["task"] == "Edema", "value"].max() < 0.6
    np.testing.assert_array_equal(line.groupby(keys)["n"].first(), used["size"])


def test_numbers_are_held_at_their_mean_and_text_at_its_reference(rows):
    rows = rows.assign(site=np.resize(["b", "a", "c"], 90), grade=np.resize([3, 2, 5, 2], 90))
    line = ss.fit_line(rows, "score ~ x + z + site + C(grade)", n_points=2)
    assert line["z"][0] == pytest.approx(rows["z"].mean())
    assert line[["site", "grade"]].iloc[0].tolist() == ["a", 2.0]
    terms = ss.regress(rows, "score ~ x + z + site + C(grade)").set_index("term")["estimate"]
    start = terms["(Intercept)"] + terms["x"] * rows["x"].min() + terms["z"] * rows["z"].mean()
    assert line["estimate"][0] == pytest.approx(start)
    other = ss.fit_line(rows, 'score ~ x + C(site, Treatment("c"))', n_points=2)
    assert other["site"].tolist() == ["c", "c"]


def test_transforms_use_the_mean_and_deviation_of_the_model(rows):
    # a held mean is of the column, not of its transform
    plain = ss.fit_line(rows, "score ~ x + z", errors="hc3")
    scaled = ss.fit_line(rows, "score ~ scale(x) + center(z)", errors="hc3")
    np.testing.assert_allclose(scaled[BAND], plain[BAND], rtol=RTOL)
    nested = ss.fit_line(rows, "score ~ scale(log(x + 1)) + z", errors="hc3")
    log = ss.fit_line(rows, "score ~ log1p(x) + z", errors="hc3")
    np.testing.assert_allclose(nested[BAND], log[BAND], rtol=RTOL)


def test_a_covariate_that_does_not_vary_gives_the_mean_in_one_row(rows):
    rows = rows.assign(method=np.where(np.arange(90) < 20, "a", "b")).assign(
        x=lambda d: d["x"].where(d["method"] == "b", 1.0)
    )
    with warns(option="formula", column="term"):
        line = ss.fit_line(rows, "score ~ x", by="method", n_points=5)
    assert line["method"].value_counts().to_dict() == {"a": 1, "b": 5}
    assert line["estimate"][0] == pytest.approx(rows["score"][:20].mean())
    assert line["std_error"][0] == pytest.approx(rows["score"][:20].std() / np.sqrt(20))


def test_a_covariate_that_cannot_move_alone_has_no_line(rows):
    rows = rows.assign(twice=2 * rows["x"])
    with (
        warns_too(option="formula", column="estimate"),
        warns_too(option="formula", column="term"),
    ):
        line = ss.fit_line(rows, "score ~ x + twice", n_points=5)
    assert line["estimate"].isna().all()
    assert line["value"].notna().all()


def test_an_unknown_error_of_a_term_leaves_the_mean_elsewhere_alone():
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"score": rng.normal(size=31), "x": rng.normal(size=31), "site": ["a"] * 30 + ["b"]})
    with warns(option="errors", value="hc3", column="term"):
        line = ss.fit_line(rows, "score ~ x + site", errors="hc3")
    without = ss.fit_line(rows[:30], "score ~ x", errors="hc3", n_points=2)
    assert line["std_error"].notna().all()
    at = np.polyval(np.polyfit(without["value"], without["estimate"], 1), line["value"])
    np.testing.assert_allclose(line["estimate"], at, rtol=1e-8)
    with warns(option="errors", value="hc3", column="term"):
        alone = ss.fit_line(rows, "score ~ x + site", errors="hc3", hold={"site": "b"})
    assert alone["estimate"].notna().all()
    assert alone["std_error"].isna().all()


@pytest.mark.parametrize(
    ("formula", "options", "error", "fields"),
    [
        ("score ~ site", {}, ValueRangeError, {"option": "formula", "value": "score ~ site"}),
        ("score ~ x", {"at": "z"}, ValueRangeError, {"option": "at", "value": "z", "choices": ("x",)}),
        ("score ~ x + site", {"at": "site"}, ValueRangeError, {"option": "at", "value": "site"}),
        (
            "score ~ x + z",
            {"hold": {"x": 1}},
            ValueRangeError,
            {"option": "hold", "column": "x", "choices": ("z",)},
        ),
        ("score ~ x + z", {"hold": {"z": "high"}}, ValueRangeError, {"column": "z", "value": "high"}),
        (
            "score ~ x + site",
            {"hold": {"site": "c"}},
            ValueRangeError,
            {"column": "site", "value": "c", "choices": ("a", "b")},
        ),
        ("score ~ x + n", {}, ColumnError, {"column": "n", "hint": "rename it"}),
    ],
)
def test_what_cannot_be_drawn_is_said(rows, formula, options, error, fields):
    rows = rows.assign(site=np.resize(["a", "b"], 90), n=np.arange(90.0))
    with raises(error, **fields):
        ss.fit_line(rows, formula, **options)


@pytest.mark.parametrize("at", [{"x": []}, pd.DataFrame({"x": []})])
def test_no_values_have_no_means(rows, at):
    with raises(ValueRangeError, option="at"):
        ss.fit(rows, "score ~ x").predict(at)


@pytest.mark.parametrize("empty", [[0], [1], [2], [0, 1, 2]])
def test_groups_without_estimates_have_rows_of_nan_wherever_they_stand(rows, empty):
    rows["group"] = pd.Categorical.from_codes(np.arange(90) % 3, ["A", "B", "C"])
    rows.loc[np.isin(np.arange(90) % 3, empty), "score"] = np.nan
    with warns(option=None, column="estimate"):
        line = ss.fit_line(rows, "score ~ x", by="group", n_points=3)
    with warns(option=None, column="estimate"):
        there = ss.fit(rows, "score ~ x", by="group").predict({"x": 1.0})
    for found in (line, there):
        lacking = found["group"].isin(["ABC"[i] for i in empty])
        assert found["estimate"].isna().equals(lacking)
        assert (found["conf_level"] == 0.95).all()


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.fit_line) == {"n_points": 50, "level": 0.95, "overall": False}


@pytest.mark.parametrize("formula", ["y ~ C(b)", "y ~ b"])
def test_values_may_be_true_and_false_as_in_the_data(formula):
    table = pd.DataFrame({"case": range(6), "b": [True, False] * 3, "y": [1.0, 2.0, 3.0, 5.0, 8.0, 11.0]})
    fitted = ss.fit(table, formula)
    # means of 1, 3, 8 and of 2, 5, 11
    expected = np.where(table["b"], 4.0, 6.0)
    np.testing.assert_allclose(fitted.predict(table[["b"]])["estimate"], expected)
    np.testing.assert_allclose(fitted.predict({"b": np.array([True, False])})["estimate"], [4, 6])
    if formula == "y ~ C(b)":
        assert fitted.contrasts("b", reference=True)["estimate"].tolist() == pytest.approx([2.0])


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1.0, 1e4, 1e8])
def test_a_copy_of_a_covariate_in_any_unit_leaves_both_without_a_slope(rows, unit):
    with warns(option="formula", column="term"):
        fitted = ss.fit(rows.assign(copy=unit * rows["x"]), "score ~ x + copy + z", by=())
    for covariate in ("x", "copy"):
        with warns(option="formula", column="estimate"):
            assert fitted.slopes(covariate)["estimate"].isna().all()
    assert fitted.slopes("z")["estimate"].notna().all()


@pytest.mark.parametrize("unit", [1e-8, 1e-4, 1.0, 1e4, 1e8])
def test_a_copy_of_a_term_in_any_unit_leaves_its_covariate_a_slope(rows, unit):
    # the square is flat at the mean of a centred covariate
    rows = rows.assign(x=rows["x"] - rows["x"].mean())
    with warns(option="formula", column="term"):
        fitted = ss.fit(rows, f"score ~ x + I(x**2) + I({unit}*x**2)", by=())
    coefficient = np.polyfit(rows["x"], rows["score"], 2)[1]
    for average in ("rows", "grid"):
        assert fitted.slopes("x", average=average)["estimate"].item() == pytest.approx(coefficient, rel=1e-6)


def test_random_effects_of_a_model_without_them_are_refused(rows):
    with raises(ValueRangeError, option="random", value=True):
        ss.fit(rows, "score ~ x").predict({"x": 1.0}, random=True)


def test_a_mean_with_random_effects_is_shrunk_towards_all_groups_and_has_no_limits():
    values = np.array([[1.0, 2.0, 3.0], [4.0, 6.0, 5.0], [9.0, 7.0, 8.0], [2.0, 4.0, 3.0]])
    table = pd.DataFrame({"group": np.repeat(list("abcd"), 3), "y": values.ravel()})
    fitted = ss.fit(table, "y ~ 1 + (1|group)", by=())
    found = fitted.predict({"group": ["a", "c"]}, random=True)
    # a balanced one-way layout: REML shrinks group means by 1 - MSW / MSB
    group_means = values.mean(axis=1)
    within = values.var(axis=1, ddof=1).mean()
    share = 1 - within / (3 * group_means.var(ddof=1))
    expected = values.mean() + share * (group_means[[0, 2]] - values.mean())
    np.testing.assert_allclose(found["estimate"], expected, rtol=1e-6)
    assert found["group"].tolist() == ["a", "c"]
    assert found[["std_error", "conf_low", "conf_high"]].isna().all(axis=None)


def test_a_grouping_column_that_is_a_variable_too_stands_once():
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"week": np.repeat(np.arange(8.0), 4), "y": rng.normal(size=32)})
    table["y"] += table["week"] + rng.normal(size=8).repeat(4)
    fitted = ss.fit(table, "y ~ week + (1|week)", by=())
    found = fitted.predict({"week": [1.0, 6.0]}, random=True)
    assert found["week"].tolist() == [1.0, 6.0]
    # numbers of the model, not objects as given
    assert found["week"].dtype == np.float64


def test_variables_without_values_have_their_default(rows):
    rows = rows.assign(site=np.resize(["b", "a", "c"], 90))
    fitted = ss.fit(rows, "score ~ x + z + site")
    found = fitted.predict({"x": [0.5, 1.5]})
    same = fitted.predict({"x": [0.5, 1.5], "z": rows["z"].mean(), "site": "a"})
    np.testing.assert_allclose(found["z"], [rows["z"].mean()] * 2)
    assert found["site"].tolist() == ["a", "a"]
    np.testing.assert_allclose(found[BAND], same[BAND], rtol=RTOL)


def test_a_level_that_a_group_lacks_has_no_mean_there():
    table = pd.DataFrame(
        {
            "group": ["g"] * 4 + ["h"] * 4,
            "site": list("aabb") + list("aacc"),
            "y": [1.0, 3.0, 5.0, 9.0, 2.0, 4.0, 6.0, 6.5],
        }
    )
    fitted = ss.fit(table, "y ~ site", by="group")
    with warns(column="site"):
        found = fitted.predict({"site": ["a", "b"]})
    assert found[["group", "site"]].to_numpy().tolist() == [["g", "a"], ["g", "b"], ["h", "a"], ["h", "b"]]
    np.testing.assert_allclose(found["estimate"], [2.0, 7.0, 3.0, np.nan])
    assert found["std_error"].isna().tolist() == [False, False, False, True]


def test_values_of_a_column_that_is_not_in_the_model_are_refused(rows):
    with raises(ValueRangeError, option="at", column="centre", choices=("x", "z")):
        ss.fit(rows, "score ~ x + z").predict({"x": 1.0, "centre": 3})


def test_a_covariate_that_does_not_vary_in_a_group_has_no_slope_there(rows):
    rows = rows.assign(group=["a", "b"] * 45)
    rows.loc[rows["group"] == "a", "x"] = 1.0
    with warns(option="formula", column="term"):
        fitted = ss.fit(rows, "score ~ x + z", by="group", errors="hc3")
    with warns(column="x"):
        found = fitted.slopes("x").set_index("group")["estimate"]
    b = rows[rows["group"] == "b"]
    expected = np.linalg.lstsq(np.column_stack([np.ones(45), b["x"], b["z"]]), b["score"], rcond=None)[0][1]
    assert np.isnan(found["a"])
    assert found["b"] == pytest.approx(expected, rel=1e-6)
