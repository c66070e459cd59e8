"""Where the coefficients of variables in interactions hold."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.text.interactions import (
    reference_levels_by_slope_term,
    where_interacting_terms_hold_note,
)
from salstats.display.text.labels import Labels

LABELS = Labels()


def coefficients(right_side):
    """Coefficients of a model of 24 rows in which all variables vary."""
    values = np.arange(24)
    data = pd.DataFrame(
        {
            "dice": np.sin(values) ** 2,
            "modality": np.where(values % 2, "MRI", "CT"),
            "site": np.where(values % 3, "West", "East"),
            "log_area": np.sqrt(values),
            "age": values % 5,
        }
    )
    return ss.regress(data, f"dice ~ {right_side}", by=[], errors="classical")


@pytest.mark.parametrize(
    ("right_side", "conditions"),
    [
        ("modality * log_area", "at the reference level (CT) and where Log area is 0"),
        ("modality * site + age", "at the reference levels (CT, East)"),
        ("log_area * age", "where Log area is 0 and Age is 0"),
        ("C(site) * scale(log_area)", "at the reference level (East) and where Log area is at its mean"),
        # without a term of the number alone only the factor's coefficients are at one value
        ("modality + modality:log_area", "where Log area is 0"),
    ],
)
def test_coefficients_hold_at_reference_levels_and_zeros_of_what_they_interact_with(right_side, conditions):
    note = where_interacting_terms_hold_note(read_estimates(coefficients(right_side)), LABELS)
    assert note == f"Coefficients of terms in an interaction hold {conditions}."


def test_models_without_interaction_and_terms_outside_it_have_no_note():
    assert (
        where_interacting_terms_hold_note(read_estimates(coefficients("modality + log_area")), LABELS) == ""
    )
    terms = coefficients("modality * log_area + site")
    assert (
        where_interacting_terms_hold_note(read_estimates(terms), LABELS, ["siteWest", "modalityMRI:log_area"])
        == ""
    )
    assert "where" not in where_interacting_terms_hold_note(read_estimates(terms), LABELS, ["log_area"])
    marginal = terms.assign(average="rows")
    assert where_interacting_terms_hold_note(read_estimates(marginal), LABELS) == ""


def test_a_factor_without_a_term_of_its_own_has_no_known_reference_level():
    terms = coefficients("modality * log_area").query("term != 'modalityMRI'")
    assert "(that of Modality)" in where_interacting_terms_hold_note(read_estimates(terms), LABELS)


def test_a_slope_in_an_interaction_with_factors_is_that_at_their_reference_levels():
    terms = coefficients("modality * log_area + site:log_area + age + site")
    assert reference_levels_by_slope_term(read_estimates(terms), LABELS) == {"log_area": "CT, East"}
    # in an interaction with a number it is at 0, and models that differ have no level in common
    of_numbers = read_estimates(coefficients("log_area * age"))
    assert reference_levels_by_slope_term(of_numbers, LABELS) == {}
    two_models = pd.concat([coefficients("modality * log_area"), coefficients("modality + log_area")])
    assert reference_levels_by_slope_term(read_estimates(two_models), LABELS) == {}


def test_models_with_different_reference_levels_have_them_all():
    terms = coefficients("modality * log_area")
    other = terms.replace({"reference_level": {"CT": "PET"}})
    both = read_estimates(pd.concat([terms, other]))
    assert reference_levels_by_slope_term(both, LABELS) == {"log_area": "CT or PET"}
    assert "(CT or PET)" in where_interacting_terms_hold_note(both, LABELS)


def test_tables_and_figures_of_coefficients_have_the_note():
    terms = coefficients("modality * log_area")
    note = where_interacting_terms_hold_note(read_estimates(terms), LABELS)
    for table in (ss.table_regression(terms), ss.table_estimates(terms)):
        assert note in table.as_raw_html()
    for figure in (ss.plot_regression(terms), ss.plot_forest(terms)):
        assert note in " ".join(figure.labels.caption.split())
