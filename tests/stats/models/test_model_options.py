"""Family, errors, units and correlation go together, or are refused."""

import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import ColumnError, ValueRangeError
from salstats.stats.models.error_kinds import BETA_ERRORS, CHOICES

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
