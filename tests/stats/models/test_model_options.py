"""Family, errors, units and correlation go together, or are refused."""

import re

import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, Setting, ValueRangeError
from salstats.stats.models.error_kinds import BETA_ERRORS, CHOICES, MIXED_MODEL_ERRORS

# R's models of the made-up scores take their tasks together
pytestmark = pytest.mark.filterwarnings("ignore:scores of . values of 'task' are taken together")


@pytest.mark.parametrize(
    ("options", "error", "fields"),
    [
        (
            {"errors": "hc2", "family": "beta"},
            ValueRangeError,
            {"option": "errors", "value": "hc2", "choices": BETA_ERRORS},
        ),
        # what tables print, and R's clubSandwich calls it
        ({"errors": "CR1"}, ValueRangeError, {"option": "errors", "value": "CR1", "match": "mean 'cluster'"}),
        ({"errors": "robust"}, ValueRangeError, {"option": "errors", "value": "robust", "choices": CHOICES}),
        (
            {"errors": "classical", "unit": "patient"},
            ValueRangeError,
            {"option": "unit", "value": "patient", "match": "errors='classical'"},
        ),
        ({"overall": True}, ColumnError, {"match": "'task'"}),
        ({"reml": False}, ValueRangeError, {"option": "reml", "value": False}),
    ],
)
def test_options_that_make_no_sense_are_refused(drawn_table, options, error, fields):
    with raises(error, **fields):
        ss.regress(drawn_table, "iou ~ prob", **options)


def test_kinds_of_errors_may_be_written_in_capitals(drawn_table):
    assert set(ss.regress(drawn_table, "iou ~ prob", errors="CR2")["errors"]) == {"cr2"}


def test_random_effects_and_a_correlation_of_rows_exclude_each_other(drawn_table):
    formula = "iou ~ prob + (1|patient)"
    with raises(ValueRangeError, option="correlation", value="exchangeable"):
        ss.regress(drawn_table, formula, by=(), correlation="exchangeable")
    assert len(ss.regress(drawn_table, formula, by=())) == 2


@pytest.mark.parametrize(
    ("formula", "options", "fields"),
    [
        ("iou ~ prob", {"errors": "hc2", "family": "beta"}, {"message": Setting("family", "beta")}),
        (
            "iou ~ prob",
            {"errors": "hc2", "correlation": "exchangeable", "unit": "patient"},
            {"message": Setting("correlation"), "hint": Setting("correlation")},
        ),
        ("iou ~ prob", {"errors": "satterthwaite"}, {"match": "random effects"}),
        (
            "iou ~ prob + (1|patient)",
            {"errors": "hc2"},
            {"match": "random effects", "choices": MIXED_MODEL_ERRORS},
        ),
    ],
)
def test_an_error_names_what_kinds_of_standard_errors_do_not_go_with(drawn_table, formula, options, fields):
    with raises(ValueRangeError, option="errors", value=options["errors"], **fields) as caught:
        ss.regress(drawn_table, formula, by=(), **options)
    named = {setting.option for setting in caught.value.message.settings()} - {"errors"}
    assert named <= options.keys()


def test_an_error_names_the_families_that_have_a_kind_of_standard_errors():
    # no errors of beta models are corrected by leverage
    rows = pd.DataFrame({"y": [0.1, 0.4, 0.3, 0.8], "x": [1.0, 2.0, 3.0, 5.0]})
    for family in ("beta", "ordered-beta", "zero-one-inflated-beta"):
        with raises(ValueRangeError, option="errors", value="hc3") as caught:
            ss.fit(rows, "y ~ x", family=family, errors="hc3")
        named = set(re.findall(r"'([a-z-]+)'", str(caught.value.hint)))
        assert {"gaussian", "binomial", "fractional"} <= named
        assert not any("beta" in name for name in named)


@pytest.mark.parametrize(
    ("formula", "options", "fields"),
    [
        (
            "iou ~ prob",
            {"family": "beta", "correlation": "exchangeable"},
            {"option": "correlation", "value": "exchangeable", "message": Setting("family", "beta")},
        ),
        (
            ["iou ~ prob", "iou ~ prob + (1|patient)"],
            {},
            {"option": "formula", "value": "iou ~ prob + (1|patient)"},
        ),
        (
            "iou ~ prob + (1|patient)",
            {"family": "beta"},
            {"option": "family", "value": "beta", "hint": Setting("errors", "cr2")},
        ),
        (
            "iou ~ prob + (1|patient)",
            {"family": "fractional"},
            {"option": "family", "value": "fractional", "hint": Setting("correlation", "exchangeable")},
        ),
        (
            "iou ~ prob + (1|patient)",
            {"unit": "patient"},
            {"option": "unit", "value": "patient", "hint": "add (1|patient) to the formula"},
        ),
        (
            "iou ~ prob + (1|patient)",
            {"unit": ("patient", "case")},
            {"option": "unit", "value": ("patient", "case"), "hint": "add (1|patient:case) to the formula"},
        ),
        (
            "iou ~ prob + (1|patient)",
            {"reml": False, "errors": "kenward-roger"},
            {"option": "errors", "value": "kenward-roger", "hint": Setting("reml", True)},
        ),
    ],
)
def test_options_that_exclude_each_other_are_refused(drawn_table, formula, options, fields):
    with raises(ValueRangeError, **fields):
        ss.regress(drawn_table, formula, by=(), **options)


def test_the_likelihood_itself_goes_with_satterthwaite(drawn_table):
    table = ss.regress(drawn_table, "iou ~ prob + (1|patient)", by=(), reml=False, errors="satterthwaite")
    assert set(table["errors"]) == {"satterthwaite"}
