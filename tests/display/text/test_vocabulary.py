"""What statistics are called in print."""

import pytest

from salstats.display.text.vocabulary import COEFFICIENTS, PAIRED_TESTS, procedure_name
from salstats.stats.adjust import PROCEDURES
from salstats.stats.paired_tests import TESTS


def test_every_paired_test_has_a_name():
    assert set(TESTS) - {"none"} <= set(PAIRED_TESTS)


@pytest.mark.parametrize("procedure", [p for p in PROCEDURES if p != "none"])
def test_every_procedure_has_a_name_in_any_case(procedure):
    assert procedure_name(procedure.upper()) == procedure_name(procedure.lower()) != ""


def test_no_procedure_has_no_name():
    assert procedure_name("none") == ""


def test_coefficients_have_a_heading_and_a_name():
    assert COEFFICIENTS["kendall"].heading == "Kendall's \u03c4-b"
    assert COEFFICIENTS["pearson"].name == "Pearson correlation"
