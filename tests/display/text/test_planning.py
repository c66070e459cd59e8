import pandas as pd
import pytest
from display.plots.test_power import plan
from tests_support import raises

import salstats as ss
from salstats.display.text.planning import (
    NO_SUFFICIENT_NUMBER,
    assumed_sd_note,
    checked_plan_with_all_columns,
    grouping_columns_of_plan,
    label_of_test,
    n_cases_needed_limits_text,
    needed_case_count_text,
    rows_of_each_curve,
)
from salstats.errors import ColumnError, SalstatsError


def test_a_simulated_plan_says_how_it_was_made_and_what_is_needed():
    assert ss.power_sentence(plan(needed=(45,), unit="patient", n_units=10)) == (
        "The number of cases was planned for 80% power to show a difference in mean IoU of −0.05 at a "
        "two-sided level of 0.05, by 1,000 studies of each size that were drawn from a pilot, and analysed "
        "as this one (wild cluster bootstrap test, mid-P; Monte-Carlo standard error at most 1.5 percentage "
        "points): 45 cases (22 patients) are needed."
    )


def test_what_was_assumed_and_how_uncertain_the_cases_are_is_said():
    curves_of_pilot = {"unit": "patient", "n_units": 10, "sd": 0.176, "n_pilot": 64, "method_mean": 0.5}
    said = ss.power_sentence(plan(needed=(45,), n_low=31, n_high=70, **curves_of_pilot))
    assert (
        "that were drawn from a pilot of 64 patients whose differences were moved to the effect and keep "
        "their spread (SD 0.176 per patient), and analysed as this one"
    ) in said
    assert "45 cases (22 patients; 95% limits 31 to 70 cases) are needed" in said
    assert said.endswith("; the limits follow from the error of the pilot's spread.")
    of_two = pd.concat([plan(**{**curves_of_pilot, "n_pilot": pd.NA}), plan(**curves_of_pilot)])
    assert "drawn from a pilot whose differences" in ss.power_sentence(of_two)
    unbounded = plan(needed=(45,), n_low=31, n_high=pd.NA, sd=0.2, unit="case", approach="formula", test="t")
    said = ss.power_sentence(unbounded)
    assert (
        "by the noncentral t distribution with an SD of 0.2 per case: 45 cases (95% limits 31 or more)"
        in said
    )


def test_the_caption_names_the_assumed_spread_where_curves_share_it():
    pilot = {"unit": "patient", "sd": 0.176, "n_pilot": 64}
    assert assumed_sd_note(plan(**pilot | {"n_pilot": pd.NA})) == "SD: 0.176 per patient."
    assert assumed_sd_note(plan(**pilot)) == "SD as in a pilot of 64 patients, 0.176 per patient."
    assert assumed_sd_note(plan(**pilot | {"sd": float("nan")})) == ""
    of_two = pd.concat([plan(**pilot), plan(**pilot | {"sd": 0.2})])
    assert assumed_sd_note(of_two) == "SD as in a pilot of 64 patients."
    assert assumed_sd_note(of_two.assign(n_pilot=pd.NA)) == ""


def test_curves_with_tests_of_their_own_name_them():
    frame = plan(methods=("gradcam", "occlusion"), needed=(45,))
    frame.loc[(frame["method"] == "occlusion") & (frame["n_cases"] < 60), "test"] = "mcnemar"
    said = ss.power_sentence(frame)
    assert "45 cases (wild cluster bootstrap test, mid-P) for Grad-CAM" in said
    assert "45 cases (exact McNemar test) for Occlusion" in said
    assert "analysed as this one (Monte-Carlo" in said


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (plan(needed=(45,)), "45"),
        (plan(needed=(None,)), "> 80"),
        (plan(needed=(None,), approach="formula"), NO_SUFFICIENT_NUMBER),
        # the smallest planned number has power to spare, or just enough
        (plan(needed=(20,)).assign(power=[0.85, 0.9, 0.95, 0.97]), "≤ 20"),
        (plan(needed=(20,)).assign(power=[0.8, 0.9, 0.95, 0.97]), "20"),
        (plan(needed=(20,), approach="formula").assign(power=[0.85, 0.9, 0.95, 0.97]), "20"),
        (plan(needed=(40,)).assign(power=[0.85, 0.9, 0.95, 0.97]), "40"),
    ],
)
def test_the_cases_that_a_curve_needs_may_be_a_bound(frame, text):
    assert needed_case_count_text(frame) == text


def test_a_bound_of_the_cases_is_in_words_and_groups_are_listed():
    enough = plan(needed=(20,)).assign(power=[0.85, 0.9, 0.95, 0.97])
    assert ": at most 20 cases are needed." in ss.power_sentence(enough)
    other = plan(methods=("occlusion",)).assign(metric="dice")
    said = ss.power_sentence(pd.concat([plan(), other], ignore_index=True))
    assert "45 cases for IoU, Grad-CAM and 45 cases for Dice, Occlusion are needed." in said


def test_limits_of_the_cases_may_have_no_end():
    limits = [(31, 70, "31 to 70"), (31, pd.NA, "31 or more"), (pd.NA, pd.NA, "")]
    for low, high, text in limits:
        assert n_cases_needed_limits_text(plan(n_low=low, n_high=high)) == text


def test_curves_come_in_the_order_of_their_plan():
    frame = checked_plan_with_all_columns(
        plan(methods=("occlusion", "gradcam"), effects=(-0.1, -0.05), needed=(25, 45)).iloc[::-1]
    )
    assert frame.index.tolist() == list(range(16))
    assert frame.columns[0] == "metric"
    assert frame["n_readers"].isna().all()
    assert grouping_columns_of_plan(frame) == ["metric", "method"]
    curves = [(rows["method"].iloc[0], rows["effect"].iloc[0]) for rows in rows_of_each_curve(frame)]
    assert curves == [("gradcam", -0.05), ("gradcam", -0.1), ("occlusion", -0.05), ("occlusion", -0.1)]


def test_the_test_is_that_of_the_planned_number_nearest_to_the_cases_needed():
    assert label_of_test("own") == "own"
    for needed, test in ((45, "b"), (51, "c"), (None, "d")):
        frame = plan(needed=(needed,)).assign(test=["a", "b", "c", "d"])
        assert f"cases ({test}) are needed" in ss.power_sentence(frame)


def test_several_curves_are_listed():
    frame = plan(methods=("gradcam", "occlusion"), effects=(-0.1, -0.05), needed=(25, None))
    assert ss.power_sentence(frame).endswith(
        ": 25 cases with effect −0.1 for Grad-CAM, more than 80 cases with effect −0.05 for Grad-CAM, "
        "25 cases with effect −0.1 for Occlusion and more than 80 cases with effect −0.05 for Occlusion are "
        "needed."
    )


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"goal": "margin", "margin_low": -0.1, "margin_high": float("inf")},
         "80% power to show that the difference in mean IoU lies above −0.1 if it is −0.05, at a one-sided "
         "level of 0.05, by"),
        ({"goal": "width", "widest": 0.08},
         "80% of studies to have a 95% interval of the difference in mean IoU no wider than 0.08, by"),
        ({"goal": "width", "widest": 0.08, "interval": "t"},
         "analysed as this one (Student's t; Monte-Carlo"),
        ({"goal": "width", "widest": 0.08, "interval": "own"}, "analysed as this one (Monte-Carlo"),
        ({"effect": float("nan")}, "to show a difference in mean IoU at a two-sided level of 0.05"),
        ({"goal": "margin", "margin_low": -0.1, "margin_high": 0.1, "effect": float("nan"), "level": 0.9},
         "IoU lies within −0.1 to 0.1, at a one-sided level of 0.1, by"),
        # curves whose pilots have spreads of their own, of which the sentence names none
        ({"sd": [0.1, 0.2, 0.2, 0.2], "n_pilot": 30, "unit": "patient", "n_units": 10},
         "drawn with the spread of a pilot of 30 patients, and analysed as this one"),
        ({"sd": [0.1, 0.2, 0.2, 0.2], "unit": "case"}, "drawn from a pilot, and analysed as this one"),
        ({"goal": "width", "widest": 0.08, "approach": "formula"}, "by the chi-squared distribution: 45"),
        ({"unit": "patient", "n_units": 10, "sd": 0.176, "n_pilot": 64, "approach": "formula"},
         "noncentral t distribution with the spread of a pilot of 64 patients (SD 0.176 per patient): 45"),
        ({"term": "percent_decrease", "effect": 15.0}, "to show a percentage decrease of 15% at a"),
        ({"approach": "formula", "test": "t"}, "level of 0.05, by the noncentral t distribution: 45 cases"),
        ({"approach": "formula", "term": "mrmc", "inference_to": "readers and cases"},
         "a difference in mean IoU, averaged over readers, of −0.05 at a two-sided level of 0.05, by Hillis' "
         "noncentral F distribution, speaking of readers and cases: 45 cases are needed"),
        ({"approach": "formula", "term": "mrmc", "inference_to": "readers and cases", "figure": "auc"},
         "to show a difference in AUROC, averaged over readers, of −0.05 at"),
    ],
)  # fmt: skip
def test_each_goal_has_its_words(columns, said):
    assert said in ss.power_sentence(plan(**columns))


def test_a_formula_may_say_that_no_number_is_enough():
    frame = plan(needed=(None,), approach="formula", test="t")
    assert ss.power_sentence(frame).endswith("distribution: no number of cases is enough.")
    readers = pd.concat(
        [frame.assign(n_readers=3), plan(needed=(60,), approach="formula", test="t").assign(n_readers=5)]
    )
    assert ss.power_sentence(readers).endswith(
        ": 60 cases with 5 readers are needed; no number of cases is enough with 3 readers."
    )


def test_what_is_no_plan_is_refused():
    with raises(ColumnError, column="term", hint="power() makes the frame"):
        ss.power_sentence(pd.DataFrame({"power": [0.8]}))


@pytest.mark.parametrize(
    ("column", "value"), [("goal", "width"), ("level", 0.9), ("target", 0.9), ("term", "percent_decrease")]
)
def test_a_plan_has_one_goal(column, value):
    plans = pd.concat([plan(), plan(effects=(-0.1,), **{column: value})])
    with raises(SalstatsError, option="plan", column=column):
        ss.power_sentence(plans)
