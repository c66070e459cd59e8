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
