"""What statistics are called in print."""

import pytest

from salstats.display.text.vocabulary import COEFFICIENTS, INTERVALS, PAIRED_TESTS, procedure_name
from salstats.stats.adjust import PROCEDURES
from salstats.stats.auroc import AUROC_INTERVALS
from salstats.stats.coefficients import CORRELATION_INTERVALS
from salstats.stats.contrasts import DECREASE_INTERVALS, DIFFERENCE_INTERVALS
from salstats.stats.paired import TESTS
from salstats.stats.summary import INTERVALS as MEAN_INTERVALS


def test_every_interval_and_test_has_a_name():
    of_differences = {*DIFFERENCE_INTERVALS, *DECREASE_INTERVALS}
    assert of_differences | {*MEAN_INTERVALS, *AUROC_INTERVALS, *CORRELATION_INTERVALS} <= set(INTERVALS)
    assert set(TESTS) - {"none"} <= set(PAIRED_TESTS)


@pytest.mark.parametrize("procedure", [p for p in PROCEDURES if p != "none"])
def test_every_procedure_has_a_name_in_any_case(procedure):
    assert procedure_name(procedure.upper()) == procedure_name(procedure.lower()) != ""


def test_no_procedure_has_no_name():
    assert procedure_name("none") == ""


def test_coefficients_have_a_heading_and_a_name():
    assert COEFFICIENTS["kendall"].heading == "Kendall's \u03c4-b"
    assert COEFFICIENTS["pearson"].name == "Pearson correlation"
