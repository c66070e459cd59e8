"""A fit is made once, never changes, and gives what the short forms give."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from tests_support import default_numbers_and_flags, raises, warns

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError
from salstats.stats.models import model_fitting
from salstats.stats.models.fit import Fit

FORMULAS = ["iou ~ prob * task", "iou ~ area_ratio"]
OPTIONS = {"by": "method", "errors": "cluster", "unit": "patient"}
# what models give does not hang on what is pooled
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")


@pytest.fixture(scope="module")
def fit(drawn_scores):
    return ss.fit(drawn_scores, FORMULAS, **OPTIONS)


def test_a_fit_gives_the_frames_of_the_short_forms(drawn_scores, fit):
    pd.testing.assert_frame_equal(
        fit.tidy(level=0.9, adjust="holm"),
        ss.regress(drawn_scores, FORMULAS, **OPTIONS, level=0.9, adjust="holm"),
    )
    few_clusters = {"option": "errors", "value": "cluster", "column": "n_units"}
    with warns(**few_clusters):
        together = fit.joint()
    with warns(**few_clusters):
        pd.testing.assert_frame_equal(together, ss.joint_test(drawn_scores, FORMULAS, **OPTIONS))
    with warns(**few_clusters):
        found = fit.glance()
    with warns(**few_clusters):
        pd.testing.assert_frame_equal(found, ss.fit_statistics(drawn_scores, FORMULAS, **OPTIONS))
    pd.testing.assert_frame_equal(fit.augment(), ss.augment(drawn_scores, FORMULAS, by="method"))
    pd.testing.assert_frame_equal(ss.tidy(fit, level=0.9), fit.tidy(level=0.9))


def test_models_are_fitted_once_however_much_is_asked(drawn_scores, monkeypatch):
    fitted = []
    once = model_fitting.fit_model
    monkeypatch.setattr(model_fitting, "fit_model", lambda *a, **k: fitted.append(1) or once(*a, **k))
    fit = ss.fit(drawn_scores, "iou ~ prob + task", **OPTIONS)
    for ask in (fit.tidy, fit.glance, fit.augment, lambda: fit.joint("task")):
        ask()
    fit.means("task"), fit.contrasts("task"), fit.slopes("prob"), fit.predict({"prob": 0.5})
    assert len(fitted) == 2


def test_a_fit_is_frozen_and_says_what_it_is(fit):
    with pytest.raises(dataclasses.FrozenInstanceError):
        fit.models = ()
    assert repr(fit) == (
        "Fit of 'iou ~ prob * task', 'iou ~ area_ratio': 4 gaussian models by method, errors='cluster'"
    )


def test_a_fit_of_gaps_to_a_reference_says_so(drawn_scores):
    fit = ss.fit(drawn_scores, "iou ~ prob", by=(), reference="human", correlation="exchangeable")
    assert repr(fit) == (
        "Fit of 'iou ~ prob': 1 gaussian model, outcome 'human' minus the method, "
        f"errors={fit.errors!r}, correlation='exchangeable'"
    )


def test_predictions_at_values_equal_the_line(drawn_scores):
    scores = drawn_scores.drop(columns="patient")
    line = ss.fit_line(scores, "iou ~ prob + elongation", errors="cr2", n_points=3)
    fit = ss.fit(scores, "iou ~ prob + elongation", errors="cr2")
    for method, rows in line.groupby("method"):
        there = fit.predict({"prob": rows["value"].tolist()})
        there = there[there["method"] == method]
        for name in ("estimate", "std_error", "df", "conf_low", "conf_high"):
            np.testing.assert_allclose(there[name], rows[name], rtol=1e-12)
        np.testing.assert_allclose(there["elongation"], rows["elongation"], rtol=1e-12)


def test_values_are_crossed_or_come_as_a_table(drawn_table):
    rows = drawn_table.drop(columns=["case", "patient"])
    fit = ss.fit(rows, "iou ~ prob + task")
    crossed = fit.predict({"task": ["Edema", "Cardiomegaly"], "prob": [0.2, 0.8]})
    assert crossed["task"].tolist() == ["Edema"] * 2 + ["Cardiomegaly"] * 2
    table = fit.predict(crossed[["prob", "task"]])
    pd.testing.assert_frame_equal(table, crossed)
    terms = fit.tidy().set_index("term")["estimate"]
    edema = terms["(Intercept)"] + terms["taskEdema"] + 0.2 * terms["prob"]
    assert crossed["estimate"][0] == pytest.approx(edema, rel=1e-12)
    fitted = fit.augment()
    again = fit.predict(fitted[["prob", "task"]])
    np.testing.assert_allclose(again["estimate"], fitted["fitted"], rtol=1e-10)


def test_what_is_in_doubt_is_told_by_what_infers_it(drawn_table):
    fit = ss.fit(drawn_table, "iou ~ prob + task", errors="hc1")
    fit.glance(), fit.augment()
    for ask in (fit.tidy, fit.joint, lambda: fit.means("task"), lambda: fit.predict({"prob": 1})):
        with warns(option="errors", column="patient", message="180"):
            ask()


def test_there_are_no_variance_components(fit):
    with raises(SalstatsError, option="formula"):
        fit.variance_components()


def test_rows_of_models_that_overlap_are_not_augmented(drawn_table):
    fit = ss.fit(drawn_table.drop(columns=["case", "patient"]), "iou ~ prob", by="task", overall=True)
    with raises(ValueRangeError, option="overall", value=True):
        fit.augment()


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(ss.fit) == {"overall": False, "reml": True}
    assert default_numbers_and_flags(Fit.tidy) == {"level": 0.95, "exponentiate": False}
    assert default_numbers_and_flags(Fit.joint) == {"each": False}
    assert default_numbers_and_flags(Fit.predict) == {"level": 0.95, "random": False}
    for method in (Fit.means, Fit.contrasts, Fit.slopes, Fit.effects, Fit.variance_components):
        assert default_numbers_and_flags(method) == {"level": 0.95}
