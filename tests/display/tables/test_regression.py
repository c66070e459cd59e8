"""Outcomes side by side: which model stands where, stars, the foot, and what the notes own up to."""

import re

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from tests_support import raises

import salstats as ss
from salstats.errors import Call, ColumnError, SalstatsError, ValueRangeError

FEATURES = ["n_instances", "area_ratio", "elongation"]
# what stands in a table does not hang on what is pooled
pytestmark = [
    pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together"),
    # scores of `simulated_readings` are normal
    pytest.mark.filterwarnings("ignore:.*iou .* lies outside its range"),
]


@pytest.fixture(scope="module")
def scaled(scores):
    return ss.normalize(scores, FEATURES)


@pytest.fixture(scope="module")
def simple(scaled):
    """One model per outcome and feature."""
    formulas = [f"{metric} ~ {x}" for metric in ("iou", "hit") for x in FEATURES]
    return ss.regress(scaled, formulas, by="method", errors="cluster")


@pytest.fixture(scope="module")
def gaps(scaled):
    """The same of the gap to the human benchmark."""
    formulas = [f"iou ~ {x}" for x in FEATURES]
    return ss.regress(scaled, formulas, by="method", errors="cluster", reference="human")


@pytest.fixture(scope="module")
def multiple(scaled):
    """All features in one model, and its fit."""
    formulas = [f"{metric} ~ {' + '.join(FEATURES)}" for metric in ("iou", "hit")]
    terms = ss.regress(scaled, formulas, by="method", errors="cluster")
    return terms, ss.fit_statistics(scaled, formulas, by="method")


@pytest.fixture(scope="module")
def logistic(scaled):
    """A logit model as odds ratios, and its fit."""
    formula = "hit ~ prob + elongation"
    options = {"by": "method", "family": "binomial"}
    terms = ss.regress(scaled, formula, errors="cluster", exponentiate=True, **options)
    return terms, ss.fit_statistics(scaled, formula, **options)


def of_gradcam(*frames):
    return [frame[frame["method"] == "gradcam"] for frame in frames]


def test_body_like_table_2_of_saporta2022_is_as_it_was_looked_at(simple, gaps, same_as_snapshot):
    table = ss.table_regression(of_gradcam(simple, gaps), n_tests=4, title="Geometric features", stars=True)
    same_as_snapshot(table, "regression")


def test_body_with_fit_statistics_is_as_it_was_looked_at(multiple, same_as_snapshot):
    terms, fit = multiple
    same_as_snapshot(ss.table_regression(terms, fit=fit, intercept=True, stars=True), "regression_fit")


def test_body_of_odds_ratios_is_as_it_was_looked_at(logistic, same_as_snapshot):
    terms, fit = logistic
    same_as_snapshot(
        ss.table_regression(terms, fit=fit, digits=2, style="radiology", stars=True), "regression_odds"
    )


def test_simple_models_of_one_outcome_share_a_column(simple, read):
    seen = read(ss.table_regression(simple, stars=True))
    assert seen.head[1][-2:] == ["IoU", "Hit rate"]
    assert seen.head[2] == ["Human benchmark", "Grad-CAM", "Occlusion"] * 2
    assert list(seen.rows) == ["Number of instances", "Relative size", "Elongation"]
    assert (
        "Linear regression, one model for each term; standard errors clustered by patient (CR1)." in seen.note
    )
    row = simple.query("method == 'human' and formula == 'hit ~ elongation' and term == 'elongation'").iloc[0]
    expected = f"{row['estimate']:.3f} ({row['conf_low']:.3f}, {row['conf_high']:.3f})"
    assert seen.rows["Elongation"][3] == expected.replace("-", "−")


def test_slopes_of_a_small_unit_have_the_decimals_that_tell_their_intervals(simple, read):
    small = simple.assign(**{c: simple[c] / 200 for c in ("estimate", "conf_low", "conf_high")})
    terms = small[small["term"] != "(Intercept)"]
    cells = [cell for row in read(ss.table_regression(terms, stars=True)).rows.values() for cell in row]
    shown = [[float(n.replace("−", "-")) for n in re.findall(r"[−\d.]+", cell)] for cell in cells]
    widths = sorted(high - low for _, low, high in shown)
    assert widths == pytest.approx(sorted(terms["conf_high"] - terms["conf_low"]), rel=0.06)
    assert not any(0 in limits for _, *limits in shown)


@pytest.mark.parametrize("exponentiated", [False, True])
@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e-4, 1.0])
@pytest.mark.parametrize("nearer", [-0.002, 0.002, 0.2])
def test_limits_are_printed_on_their_side_of_no_slope(simple, read, exponentiated, unit, nearer):
    row = simple[simple["term"] == "elongation"].head(1)
    limits = np.array([nearer + 0.5, nearer, nearer + 1]) * unit
    terms = row.assign(
        **dict(zip(("estimate", "conf_low", "conf_high"), limits + exponentiated, strict=True))
    )
    cell = read(ss.table_regression(terms.assign(exponentiated=exponentiated), stars=True)).rows[
        "Elongation"
    ][0]
    shown = np.array([float(n.replace("−", "-")) for n in re.findall(r"[−\d.]+", cell)]) - exponentiated
    assert shown == pytest.approx(limits, abs=0.05 * unit)
    assert (np.sign(shown[1:].round(12)) == np.sign(limits[1:])).all()


def test_the_gap_to_the_reference_has_a_column_of_its_own(simple, gaps, read):
    seen = read(ss.table_regression(of_gradcam(simple, gaps), stars=True))
    assert seen.head[2] == ["Grad-CAM", "Human benchmark − Grad-CAM", "Grad-CAM"]
    assert "A − B: the difference of the two scores of a case is the outcome." in seen.note


def test_models_with_a_term_in_common_have_columns_by_formula(scaled, read):
    formulas = ["iou ~ elongation", "iou ~ elongation + area_ratio"]
    terms = ss.regress(scaled, formulas, errors="cluster")
    terms = terms[terms["method"] == "gradcam"]
    seen = read(ss.table_regression(terms, stars=True))
    assert seen.head == [["Term", "IoU, coefficient (95% CI)"], ["Model 1", "Model 2"]]
    assert seen.rows["Relative size"][0] == ""
    assert "Model 1: Elongation; Model 2: Elongation + Relative size." in seen.note
    assert "one model for each term" not in seen.note


def test_other_grouping_columns_are_groups_and_one_term_moves_to_the_heading(scaled, quietly, read):
    by_task = quietly(ss.regress, scaled, "iou ~ prob", by=["method", "task"], errors="cluster", overall=True)
    seen = read(ss.table_regression(by_task, stars=True))
    assert seen.head[0] == ["Task", "IoU, coefficient of Model confidence (95% CI)"]
    assert next(iter(seen.rows)) == "Atelectasis"
    assert list(seen.rows)[-1] == "Overall"
    assert seen.apart == ["Overall"]
    two = quietly(ss.regress, scaled, "iou ~ prob + elongation", by=["method", "task"], errors="cluster")
    seen = read(ss.table_regression(two, stars=True))
    assert seen.groups == ["Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Pleural Effusion"]
    assert [row[0] for row in seen.body[:4]] == ["Model confidence", "Elongation", "n", "Patients"]


def test_groups_of_an_ordered_categorical_stand_in_its_order(scaled, quietly, read):
    order = sorted(scaled["task"].unique(), reverse=True)
    scores = scaled.assign(task=pd.Categorical(scaled["task"], order, ordered=True))
    terms = quietly(ss.regress, scores, "iou ~ elongation", by=["method", "task"])
    assert [row[0] for row in read(ss.table_regression(terms, stars=True)).body] == order


def test_tasks_can_stand_beside_each_other(scaled, read):
    terms = ss.regress(scaled.query("method == 'human'"), "iou ~ elongation", by="task", errors="cluster")
    seen = read(ss.table_regression(terms, columns="task", stars=True))
    assert seen.head[1] == ["Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Pleural Effusion"]


def test_intercepts_are_shown_when_asked_for_and_never_starred(multiple, read):
    terms, _ = multiple
    assert "Intercept" not in read(ss.table_regression(terms, stars=True)).rows
    seen = read(ss.table_regression(terms, intercept=True, stars=True))
    assert next(iter(seen.rows)) == "Intercept"
    assert not any("*" in cell for cell in seen.rows["Intercept"])
    assert "(Bonferroni, 18 tests)" in seen.note


@pytest.fixture(scope="module")
def factors():
    """Terms of two factors, one of them ordered, with names that are hard to keep whole."""
    rng = np.random.default_rng(3)
    size = pd.Categorical(rng.choice(["small", "large"], 90), ["small", "large"], ordered=True)
    kind = rng.choice(["gradcam", "Gradients intégrés", "a: b"], 90)
    frame = pd.DataFrame({"size": size, "xai_method": kind, "prob": rng.random(90), "iou": rng.random(90)})
    return ss.regress(frame, "iou ~ size * prob + xai_method")


def test_a_factor_is_a_heading_with_its_levels_below_and_a_dash_for_the_reference(factors, read):
    labels = {"xai_method": {"gradcam": "Grad-CAM"}, "size": "Lesion size"}
    table = ss.table_regression(factors, labels=labels, stars=True)
    seen = read(table)
    assert [row[0] for row in seen.body] == [
        *("Lesion size", "small", "large"),
        "Model confidence, at small",
        *("Xai method", "Gradients intégrés", "Grad-CAM", "a: b"),
        *("Lesion size × Model confidence", "large × Model confidence"),
        "n",
    ]
    assert [row[0] for row in seen.body if row[1] == ""] == [
        "Lesion size",
        "Xai method",
        "Lesion size × Model confidence",
    ]
    assert seen.rows["small"] == seen.rows["Gradients intégrés"] == ["—"]
    assert "—, reference level." in seen.note
    assert "5 tests" in seen.note
    stub = table.record.stub
    assert [text for i, (text,) in enumerate(stub) if i not in table.record.indented_rows] == [
        *("Lesion size", "Model confidence, at small", "Xai method"),
        *("Lesion size × Model confidence", "n"),
    ]


@pytest.mark.parametrize("chosen", [None, ["T 2", "T 10", "T 1"]])
def test_levels_stand_in_the_order_of_their_numbers_or_in_that_of_a_categorical(chosen, read):
    frame = pd.DataFrame({"task": 8 * ["T 10", "T 2", "T 1"], "iou": np.random.default_rng(0).random(24)})
    if chosen:
        frame["task"] = pd.Categorical(frame["task"], chosen)
    seen = read(ss.table_regression(ss.regress(frame, "iou ~ task", by=()), stars=True))
    assert [row[0] for row in seen.body][1:4] == (chosen or ["T 1", "T 2", "T 10"])


def test_a_factor_of_one_term_is_whole_in_the_heading(scaled, quietly, read):
    two = scaled[scaled["task"].isin(["Edema", "Consolidation"])]
    terms = quietly(ss.regress, two, "iou ~ task", by="method").rename(columns={"method": "site"})
    seen = read(ss.table_regression(terms, labels={"Consolidation": "Consol."}, stars=True))
    assert seen.head == [["Site", "IoU, coefficient of Task: Edema vs Consol. (95% CI)"]]
    assert all(row[1] for row in seen.body)
    # P of the factor has no row, and so no note
    joint = pd.concat(
        ss.fit(rows, "iou ~ task").joint(each=True).assign(site=site) for site, rows in two.groupby("method")
    )
    assert "joint Wald test" not in read(ss.table_regression(terms, joint=joint)).note


def test_a_level_compared_in_one_model_and_the_reference_of_another_has_both(read):
    frames = [
        starred([0.5], term="taskB", reference_level="A"),
        starred([0.5], term="taskA", reference_level="B"),
    ]
    first, second = (frame.assign(formula="y ~ task") for frame in frames)
    seen = read(ss.table_regression({"one": first, "two": second}, stars=True))
    assert seen.rows["A"][0] == seen.rows["B"][1] == "—"
    assert "—" not in (seen.rows["A"][1], seen.rows["B"][0])
    first.loc[0, "estimate"] = np.nan
    assert "—, reference level or not available." in read(ss.table_regression(first, stars=True)).note


@pytest.fixture(scope="module")
def by_method(scaled):
    """A model of two factors and an interaction."""
    return ss.fit(scaled, "iou ~ method * area_ratio + task", by=())


def test_p_of_a_whole_factor_stands_beside_its_name(by_method, read):
    joint = by_method.joint(each=True)
    seen = read(ss.table_regression(by_method.tidy(), joint=joint, stars=True))
    p = joint.set_index("term")["p_value"]
    for heading, term in {
        "Method": "method",
        "Task": "task",
        "Method × Relative size": "method:area_ratio",
    }.items():
        assert seen.rows[heading] == ["P < 0.001" if p[term] < 0.001 else f"P = {p[term]:.3f}"]
    assert sum(cells[0].startswith("P") for cells in seen.rows.values()) == 3
    assert f"{joint['n'].iloc[0]:,} observations of 140 patients in the model;" in seen.note
    assert "P beside a factor: joint Wald test of all its levels, not adjusted." in seen.note
    assert "in an interaction it is a type III test on sum contrasts: on average" in seen.note
    holm = read(
        ss.table_regression(by_method.tidy(), joint=by_method.joint(each=True, adjust="holm"), stars=True)
    )
    assert "of all its levels, adjusted (Holm, 4 tests)." in holm.note


def test_p_of_a_whole_factor_is_that_of_its_own_model(scaled, read):
    human = scaled[scaled["method"] == "human"]
    names = {"Crude": "iou ~ task", "Adjusted": "iou ~ task + elongation"}
    fits = {name: ss.fit(human, f, errors="cluster") for name, f in names.items()}
    terms = {name: fit.tidy() for name, fit in fits.items()}
    joint = {"Adjusted": fits["Adjusted"].joint("task")}
    seen = read(ss.table_regression(terms, joint=joint, stars=True))
    p = joint["Adjusted"]["p_value"].item()
    assert seen.rows["Task"] == ["", "P < 0.001" if p < 0.001 else f"P = {p:.3f}"]
    with raises(SalstatsError, option="joint"):
        ss.table_regression(terms, joint=fits["Adjusted"].joint("elongation"), stars=True)


def test_p_values_have_a_column_of_their_own_when_asked_for(by_method, read):
    terms = by_method.tidy()
    joint = by_method.joint(each=True)
    seen = read(ss.table_regression(terms, joint=joint, fit=by_method.glance(), p_values=True))
    assert seen.head == [["Term", "IoU, coefficient (95% CI)", "P"]]
    p = terms.set_index("term").loc["taskEdema", "p_value"]
    assert seen.rows["Edema"][1] == ("<0.001" if p < 0.001 else f"{p:.3f}")
    p = joint.set_index("term").loc["task", "p_value"]
    assert seen.rows["Task"] == ["", "<0.001" if p < 0.001 else f"{p:.3f}"]
    assert seen.rows["Atelectasis"] == ["—", ""]
    assert seen.rows["n"][1] == ""
    assert "P values: two-sided Wald t tests; not adjusted for multiple tests." in seen.note
    assert not any("*" in cell for cells in seen.rows.values() for cell in cells)


SITE = ["Site", "a", "b", "c"]


@pytest.mark.parametrize(
    ("formula", "rows"),
    [
        ("np.log(y) ~ site", SITE),
        ("y ~ site * np.exp(x)", [*SITE, "np.exp(x)", "Site × np.exp(x)", "b × np.exp(x)", "c × np.exp(x)"]),
        ("y ~ C(site) + bs(x, df=3)", [*SITE, "bs(x, df=3)0", "bs(x, df=3)1", "bs(x, df=3)2"]),
        ('y ~ Q("the site") + x', ["the site", "a", "b", "c", "X"]),
        ('y ~ C(Q("the site"), Treatment("b"))', ["the site", "b", "a", "c"]),
        ("y ~ C(site, Sum) + x", ["Site", "S.a", "S.b", "X"]),
        ("y ~ C(site, Diff) + np.exp(x)", ["Site", "D.a", "D.b", "np.exp(x)"]),
    ],
)
def test_factors_of_statsmodels_are_headings_whatever_else_is_in_the_formula(formula, rows, read):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"y": 1 + rng.random(60), "x": rng.normal(size=60), "site": np.tile(list("abc"), 20)}
    )
    terms = ss.tidy(smf.ols(formula, frame.assign(**{"the site": frame["site"]})).fit())
    assert [row[0] for row in read(ss.table_regression(terms, stars=True)).body] == [*rows, "n"]
    bare = read(ss.table_regression(terms.drop(columns="factor"), stars=True))
    # a reference that nothing tells the name of has no row
    assert {row[0] for row in bare.body if row[1] == "—"} <= set(rows)
    estimates = [row for row in bare.body if row[1] not in ("", "—")]
    assert len({row[0] for row in estimates}) == len(terms)


def test_formulas_are_given_in_the_words_of_the_rows(read):
    both = [
        starred([0.5], term="prob", n=10).assign(formula=f"iou ~ {right}") for right in ("prob", "prob*task")
    ]
    note = read(ss.table_regression(pd.concat(both), stars=True)).note
    assert "Model 2: Model confidence + Task + Model confidence × Task." in note


def test_scaled_covariates_say_so(scaled, read):
    terms = ss.regress(scaled, ["iou ~ elongation + scale(prob)", "hit ~ irrectangularity"], errors="cluster")
    seen = read(ss.table_regression(terms, stars=True))
    assert list(seen.rows)[:3] == ["Elongation", "Model confidence, per SD", "Irrectangularity"]
    assert "to 1, the largest: Elongation." in seen.note


def test_what_a_model_holds_but_no_row_shows_is_said(scaled, read):
    formulas = [f"iou ~ {x} + task" for x in FEATURES]
    terms = ss.regress(scaled, formulas, errors="cluster")
    shown = terms[terms["term"].isin(FEATURES)]
    note = read(ss.table_regression(shown, stars=True)).note
    assert "Linear regression, one model for each term, adjusted for Task; standard errors" in note
    levels = terms[terms["formula"] == formulas[0]]
    assert "adjusted" not in read(ss.table_regression(levels, stars=True)).note
    plain = ss.regress(scaled, "hit ~ elongation", errors="cluster")
    note = read(ss.table_regression([shown, plain], stars=True)).note
    assert "Models: Number of instances + Task; Relative size + Task; Elongation + Task; Elongation." in note
    assert "adjusted" not in note


def test_functions_and_levels_in_formulas_are_no_hidden_variables(scaled, read):
    terms = ss.regress(scaled, "iou ~ log(prob) + C(task) + I(elongation ** 2)", errors="cluster")
    assert "adjusted" not in read(ss.table_regression(terms, stars=True)).note
    kept = read(ss.table_regression(terms, keep=["log(prob)"], stars=True))
    assert "adjusted for Task and Elongation" in kept.note


def test_terms_that_are_not_kept_are_named(multiple, read):
    terms, _ = multiple
    seen = read(
        ss.table_regression(
            terms, keep=["elongation", "n_instances"], labels={"term": ["elongation"]}, stars=True
        )
    )
    assert list(seen.rows)[:2] == ["Elongation", "Number of instances"]
    assert "all terms in one model, adjusted for Relative size;" in seen.note
    with raises(ColumnError, option="keep", value="eccentricity"):
        ss.table_regression(terms, keep=["eccentricity"], stars=True)


def test_terms_that_are_kept_stand_in_the_order_in_which_they_are_named(factors, multiple, read):
    terms, _ = multiple
    seen = read(ss.table_regression(terms, keep=["n_instances", "elongation"]))
    assert list(seen.rows)[:2] == ["Number of instances", "Elongation"]
    levels = read(ss.table_regression(factors, keep=["xai_methodgradcam", "xai_methoda: b", "prob"]))
    # the reference stands before the levels that are compared with it
    assert [row[0] for row in levels.body][:5] == [
        *("Xai method", "Gradients intégrés", "gradcam", "a: b"),
        "Model confidence, at small",
    ]


def test_labels_name_terms_outcomes_and_order(simple, read):
    labels = {"iou": "mIoU", "elongation": "Elongation (0 to 1)", "term": ["area_ratio"]}
    seen = read(ss.table_regression(simple, labels=labels, stars=True))
    assert list(seen.rows) == ["Relative size", "Number of instances", "Elongation (0 to 1)"]
    assert seen.head[1][-2] == "mIoU"


def starred(p_values, **columns):
    """One model with these p-values."""
    table = pd.DataFrame(
        {"term": [f"x{i}" for i in range(len(p_values))], "estimate": 1.0, "p_value": p_values}
    )
    return table.assign(formula=f"y ~ {' + '.join(table['term'])}", **columns)


P = [0.0002, 0.004, 0.012, 0.03]
NO_ADJUSTMENT = {"p_adjusted": P, "n_tests": 4, "procedure": "none"}
HOCHBERG = {"p_adjusted": [0.04, 0.2, 0.3, 0.4], "n_tests": 40, "procedure": "hochberg"}


@pytest.mark.parametrize(
    ("columns", "options", "counts", "said"),
    [
        ({}, {}, [3, 1, 1, 0], "*P < 0.05/4; **P < 0.01/4; ***P < 0.001/4 (Bonferroni, 4 tests)."),
        ({}, {"n_tests": 1}, [3, 2, 1, 1], "not corrected for multiplicity"),
        (HOCHBERG, {}, [1, 0, 0, 0], "P values adjusted (Hochberg, 40 tests)."),
        (HOCHBERG, {"n_tests": 10}, [2, 1, 0, 0], "(Bonferroni, 10 tests)"),
        # adjusted by no procedure
        (NO_ADJUSTMENT, {}, [3, 2, 1, 1], "not corrected for multiplicity"),
        ({}, {"stars": False}, [0, 0, 0, 0], "standard"),
    ],
)
def test_stars_are_of_adjusted_p_values_or_of_levels_divided_by_the_tests(
    columns, options, counts, said, read
):
    seen = read(ss.table_regression(starred(P, errors="classical", **columns), **{"stars": True} | options))
    assert [cells[0].count("*") for cells in seen.rows.values()] == counts
    assert said in seen.note


def test_the_foot_gives_n_units_and_the_fit_of_linear_models(multiple, read):
    terms, fit = multiple
    seen = read(ss.table_regression(terms, fit=fit, stars=True))
    row = fit.query("method == 'human' and formula.str.startswith('hit')").iloc[0]
    assert {name: cells[3] for name, cells in list(seen.rows.items())[3:]} == {
        "n": f"{row['nobs']}",
        "Patients": "140",
        "R²": f"{row['r_squared']:.3f}",
        "Adjusted R²": f"{row['adj_r_squared']:.3f}",
        "Residual SD": f"{row['sigma']:.3f}",
    }
    assert seen.apart == ["n"]
    assert "AIC" not in seen.rows
    assert "all terms in one model" in seen.note


def test_logit_models_are_odds_ratios_with_likelihood_and_aic(logistic, scaled, read):
    terms, fit = logistic
    seen = read(ss.table_regression(terms, fit=fit, stars=True))
    assert seen.head[0] == ["Term", "Hit rate, odds ratio (95% CI)"]
    assert "R²" not in seen.rows
    fit = fit.set_index("method").loc[["human", "gradcam", "occlusion"]]
    assert seen.rows["AIC"] == [f"{v:.1f}" for v in fit["aic"]]
    assert seen.rows["Log-likelihood"][0] == f"−{-fit['log_lik'].iloc[0]:.1f}"
    assert "Logistic regression" in seen.note
    bare = ss.regress(scaled, "hit ~ prob", family="binomial", errors="cluster")
    assert read(ss.table_regression(bare, stars=True)).head[0][-1] == "Hit rate, log odds ratio (95% CI)"
    assert "AIC, Akaike information criterion" in seen.note


def test_the_foot_gives_what_gee_and_beta_models_estimate_beside_coefficients(scaled, read):
    gee = ss.fit(scaled, "hit ~ prob", family="binomial", correlation="exchangeable")
    glance = gee.glance().set_index("method").loc[["human", "gradcam", "occlusion"]].reset_index()
    rows = read(ss.table_regression(gee.tidy(), fit=glance, stars=True)).rows
    assert rows["Correlation within units"] == [f"{v:.3f}".replace("-", "−") for v in glance["alpha"]]
    assert rows["Scale"] == [f"{v:.3f}" for v in glance["scale"]]
    assert "AIC" not in rows
    beta = ss.fit(scaled, "iou ~ prob", family="ordered-beta")
    rows = read(ss.table_regression(beta.tidy(), fit=beta.glance(), stars=True)).rows
    assert rows["Precision"] == [
        f"{v:.3f}"
        for v in beta.glance().set_index("method").loc[["human", "gradcam", "occlusion"], "precision"]
    ]


def test_kinds_of_estimates_stand_above_their_columns(scaled, logistic, read):
    linear = ss.regress(scaled, "iou ~ prob + elongation", errors="cluster")
    seen = read(ss.table_regression(of_gradcam(linear, logistic[0]), stars=True))
    assert seen.head[0][-2:] == ["Coefficient (95% CI)", "Odds ratio (95% CI)"]
    assert "Linear and logistic regression" in seen.note


def test_the_row_of_a_number_in_an_interaction_names_the_level_at_which_it_and_its_p_hold(scaled, read):
    formulas = ["iou ~ elongation * task", "iou ~ elongation + task"]
    rows = read(ss.table_regression(ss.regress(scaled, formulas[0]), p_values=True)).rows
    assert "Elongation, at Atelectasis" in rows
    assert "Elongation" not in rows
    labels = {"task": {"Atelectasis": "Collapse"}}
    named = read(ss.table_regression(ss.regress(scaled, formulas[0]), keep="elongation", labels=labels))
    assert "Elongation, at Collapse" in named.rows
    # beside a model without the interaction the row is of both
    both = read(ss.table_regression(ss.regress(scaled, formulas), p_values=True))
    assert "Elongation" in both.rows
    assert "Coefficients of terms in an interaction hold" in both.note


def test_columns_of_several_models_have_no_foot_but_a_range_of_n(simple, read):
    seen = read(ss.table_regression(simple, stars=True))
    assert "n" not in seen.rows
    counts = f"{simple['n'].min()} to {simple['n'].max()} observations of 140 patients per model"
    assert counts in seen.note
    assert "8 to 16 incomplete and left out." in seen.note


def test_fit_of_other_models_is_an_error(multiple, scaled):
    terms, fit = multiple
    other = ss.fit_statistics(scaled, "iou ~ prob")
    with raises(SalstatsError, option="fit", rows=(), hint=Call("regress")):
        ss.table_regression(terms, fit=other, stars=True)
    with raises(SalstatsError, option="fit", rows=tuple(range(len(fit), 2 * len(fit)))):
        ss.table_regression(terms, fit=[fit, fit], stars=True)


def test_one_frame_by_name_has_its_outcome_in_the_heading(scaled, read):
    seen = read(
        ss.table_regression({"Model": ss.regress(scaled, "iou ~ prob", errors="cluster")}, stars=True)
    )
    assert seen.head[0][-1] == "IoU, coefficient (95% CI)"


def test_frames_by_name_take_their_fit_by_name(scaled, read):
    names = {"Crude": "iou ~ prob", "Adjusted": "iou ~ prob + elongation"}
    terms = {k: ss.regress(scaled, f, errors="cluster") for k, f in names.items()}
    fit = {k: ss.fit_statistics(scaled, f) for k, f in names.items()}
    seen = read(ss.table_regression(terms, fit=fit, stars=True))
    assert seen.head[0][-1] == "IoU, coefficient (95% CI)"
    assert seen.head[1][-2:] == ["Crude", "Adjusted"]
    order = ["human", "gradcam", "occlusion"]
    crude, adjusted = (fit[name].set_index("method").loc[order, "r_squared"] for name in names)
    assert seen.rows["R²"] == [f"{v:.3f}" for v in [*crude, *adjusted]]


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ("classical", "classical standard errors"),
        ("hc3", "heteroscedasticity-robust standard errors (HC3)"),
        ("cr2", "bias-reduced standard errors clustered by patient (CR2)"),
    ],
)
def test_the_note_names_the_standard_errors(scaled, quietly, read, errors, said):
    terms = quietly(ss.regress, scaled, "iou ~ prob", errors=errors)
    assert f"; {said}." in read(ss.table_regression(terms, stars=True)).note


def test_tables_of_broom_need_no_formula(read):
    table = pd.DataFrame({"term": ["(Intercept)", "size"], "estimate": [1.0, 2.0], "p.value": [0.1, 0.0001]})
    seen = read(ss.table_regression(ss.tidy(table), stars=True))
    assert seen.head == [["Term", "Coefficient"]]
    assert seen.rows == {"Size": ["2.000***"]}


def test_variances_stand_at_the_foot_and_are_neither_starred_nor_counted(read):
    frame = pd.DataFrame(
        {
            "term": ["size", "shape", "patient Var", "patient x x Cov"],
            "estimate": [0.5, 0.25, 0.00874, -0.0003],
            "p_value": [1e-9, 0.4, np.nan, np.nan],
            "n": 40,
            "effect": ["fixed", "fixed", "random", "random"],
        }
    )
    seen = read(ss.table_regression(frame, stars=True))
    assert [row[0] for row in seen.body] == ["Size", "Shape", "patient Var", "patient x x Cov", "n"]
    assert seen.rows["patient Var"] == ["0.00874"]
    assert seen.rows["patient x x Cov"] == ["−0.000300"]
    assert seen.apart == ["patient Var"]
    assert "2 tests" in seen.note
    assert "not available" not in seen.note


def test_variances_of_broom_mixed_stand_at_the_foot_with_their_group(read):
    table = pd.DataFrame(
        {
            "site": "A",
            "effect": ["fixed", "fixed", "ran_pars", "ran_pars", "ran_pars"],
            "group": [None, None, "patient", "reader", "Residual"],
            "term": ["(Intercept)", "size", "sd__(Intercept)", "sd__(Intercept)", "sd__Observation"],
            "estimate": [0.7, 0.5, 0.4, 0.3, 0.2],
            "p.value": [0.1, 0.01, np.nan, np.nan, np.nan],
        }
    )
    for other in (table, table.assign(site="B")):
        seen = read(ss.table_regression(ss.tidy(pd.concat([table, other]).drop_duplicates()), stars=True))
        rows = [row[:2] for row in seen.body]
        assert rows[:4] == [
            ["Size", "0.500*"],
            ["patient, sd (Intercept)", "0.400"],
            ["reader, sd (Intercept)", "0.300"],
            ["Residual, sd Observation", "0.200"],
        ]
        assert rows[4:] == (rows[:4] if other is not table else [])


def test_markup_in_terms_names_and_outcomes_is_literal(read):
    bad = r"<b>&_%$*\{{x}}"
    table = starred([0.5, 0.6], n=10).assign(term=[bad, f"{bad}2"], formula=f"I({bad}) ~ x")
    seen = read(ss.table_regression({bad: table, f"{bad}2": table.assign(formula="y ~ x")}, stars=True))
    assert list(seen.rows)[:2] == [bad, f"{bad}2"]
    assert seen.head[1][-2:] == [bad, f"{bad}2"]


@pytest.mark.parametrize(
    ("terms", "options", "error", "expected"),
    [
        ([], {}, SalstatsError, {"option": "terms", "match": "no frame"}),
        ("terms.csv", {}, SalstatsError, {"option": "terms", "match": "not str"}),
        (pd.DataFrame({"estimate": [1.0]}), {}, ColumnError, {"column": "term"}),
        ([starred([0.5])] * 2, {}, SalstatsError, {"column": "term", "rows": (0, 1)}),
        (
            {"a": starred([0.01], p_adjusted=[0.02]), "b": starred([0.01], p_adjusted=[np.nan])},
            {"stars": True},
            SalstatsError,
            {"column": "p_adjusted", "rows": (1,)},
        ),
        (starred([0.5]), {"columns": "method"}, ColumnError, {"option": "columns", "value": "method"}),
        (starred([0.5]), {"n_tests": 0}, ValueRangeError, {"option": "n_tests", "value": 0}),
        (starred([0.5]), {"style": "apa"}, ValueRangeError, {"option": "style", "value": "apa"}),
        (
            starred([0.5]).drop(columns="p_value"),
            {"stars": True},
            ColumnError,
            {"option": "stars", "column": "p_value"},
        ),
    ],
)
def test_bad_input_is_one_clear_sentence(terms, options, error, expected):
    with raises(error, **expected):
        ss.table_regression(terms, **options)


def test_average_marginal_effects_are_said_to_be_so():
    scores = ss.datasets.load_simulated().query("metric == 'iou'")
    fit = ss.fit(scores, "iou ~ prob + method", by=(), family="fractional")
    html = ss.table_regression(fit.effects(), fit=fit.glance(), stars=True).as_raw_html()
    assert "average marginal effect" in html
    assert "effects on the mean, averaged over the rows of the model" in html
    assert "odds ratio" not in html


def test_random_effects_stand_at_the_foot_with_limits_shares_and_numbers(read):
    rows = simulated_readings()
    models = [ss.fit(rows, f"iou ~ method + {random}") for random in ("(1|case)", "(1|case) + (1|reader)")]
    frames = {f"Fit {i + 1}": model for i, model in enumerate(models)}
    parts = {name: model.variance_components() for name, model in frames.items()}
    seen = read(
        ss.table_regression(
            {name: model.tidy() for name, model in frames.items()},
            fit={name: model.glance() for name, model in frames.items()},
            components=parts,
            digits=2,
            stars=True,
        )
    )
    unrestricted = parts["Fit 1"].assign(reml=False)
    note = read(ss.table_regression(models[0].tidy(), components=unrestricted)).note
    assert "SDs and shares of random effects: maximum likelihood, limits by profile" in note
    of_others = models[0].variance_components().assign(formula="iou ~ 1 + (1|case)")
    with raises(SalstatsError, option="components"):
        ss.table_regression(models[0].tidy(), components=of_others)
    labels = [row[0] for row in seen.body]
    at = labels.index("SD, case")
    assert labels[at:] == [
        *("SD, case", "SD, reader", "Residual SD"),
        *("Share of variance (ICC), case", "Share of variance (ICC), reader"),
        *("n, case", "n, reader", "n", "Log-likelihood", "AIC"),
    ]
    two = parts["Fit 2"].set_index("group")
    low, high = np.sqrt(two.loc["reader", ["conf_low", "conf_high"]].to_numpy(dtype=float))
    assert seen.rows["SD, reader"] == ["", f"{two.loc['reader', 'std_dev']:.2f} ({low:.2f}, {high:.2f})"]
    shares = two.loc["case", ["share", "share_low", "share_high"]]
    text = "{:.2f} ({:.2f}, {:.2f})".format(*shares)
    assert seen.rows["Share of variance (ICC), case"][1] == text
    assert seen.rows["n, reader"] == ["", "4"]
    assert seen.rows["n, case"] == ["12", "12"]
    assert "Linear mixed regression with random effects of case and reader" in seen.note
    assert "t tests with Satterthwaite's degrees of freedom" in seen.note
    assert "SDs and shares of random effects: restricted maximum likelihood, limits by profile" in seen.note
    assert "ICC, intraclass correlation" in seen.note


def test_a_slope_has_a_correlation_at_the_foot(read):
    model = ss.fit(simulated_readings(), "iou ~ method + (1 + method|reader) + (1|case)")
    seen = read(ss.table_regression(model.tidy(), components=model.variance_components(), stars=True))
    labels = [row[0] for row in seen.body]
    for label in (
        "SD, reader",
        "SD, reader, Method: Human benchmark",
        "Correlation, reader, Intercept and Method: Human benchmark",
    ):
        assert label in labels
    assert labels.index("Residual SD") > labels.index("SD, case")


@pytest.mark.filterwarnings("ignore:a singular fit")
def test_a_singular_fit_is_said_in_the_note(read):
    rows = simulated_readings()
    assert (
        "Singular"
        not in read(ss.table_regression(ss.regress(rows, "iou ~ method + (1|case)"), stars=True)).note
    )
    # without any difference between readers
    rows["iou"] -= rows.groupby("reader")["iou"].transform("mean")
    seen = read(ss.table_regression(ss.regress(rows, "iou ~ method + (1|case) + (1|reader)"), stars=True))
    assert "Singular fit: a variance of random effects is 0" in seen.note


def test_a_working_correlation_is_said_in_the_note(read):
    rows = simulated_readings()
    terms = ss.regress(rows, "iou ~ method", correlation="exchangeable", unit="case")
    seen = read(ss.table_regression(terms, stars=True))
    assert "Linear regression by generalised estimating equations with an exchangeable working" in seen.note
    assert "bias-corrected standard errors clustered by case (Mancl and DeRouen)" in seen.note


def simulated_readings():
    """Four readers with two methods on twelve cases."""
    rng = np.random.default_rng(4)
    shape = (12, 4, 2)
    scores = 0.5 + 0.1 * rng.standard_normal(shape) + 0.2 * rng.standard_normal((12, 1, 1))
    scores += 0.1 * rng.standard_normal((1, 4, 1)) + 0.08 * rng.standard_normal((1, 4, 2))
    case, reader, method = (index.ravel() for index in np.indices(shape))
    return pd.DataFrame(
        {"case": case, "reader": reader, "method": np.array(["cam", "human"])[method], "iou": scores.ravel()}
    )


def test_models_of_a_single_term_are_not_said_to_be_one_for_each_term(scaled, read):
    terms = ss.regress(scaled, "iou ~ elongation", errors="cluster")
    assert "one model for each term" not in read(ss.table_regression(terms)).note
