"""Where the coefficients of variables in interactions hold."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.text.interactions import interaction_note
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
    note = interaction_note(read_estimates(coefficients(right_side)), LABELS)
    assert note == f"Coefficients of terms in an interaction hold {conditions}."


def test_models_without_interaction_and_terms_outside_it_have_no_note():
    assert interaction_note(read_estimates(coefficients("modality + log_area")), LABELS) == ""
    terms = coefficients("modality * log_area + site")
    assert interaction_note(read_estimates(terms), LABELS, ["siteWest", "modalityMRI:log_area"]) == ""
    assert "where" not in interaction_note(read_estimates(terms), LABELS, ["log_area"])
    marginal = terms.assign(average="rows")
    assert interaction_note(read_estimates(marginal), LABELS) == ""


def test_a_factor_without_a_term_of_its_own_has_no_known_reference_level():
    terms = coefficients("modality * log_area").query("term != 'modalityMRI'")
    assert "(that of Modality)" in interaction_note(read_estimates(terms), LABELS)


def test_tables_and_figures_of_coefficients_have_the_note():
    terms = coefficients("modality * log_area")
    note = interaction_note(read_estimates(terms), LABELS)
    for table in (ss.table_regression(terms), ss.table_estimates(terms)):
        assert note in table.as_raw_html()
    for figure in (ss.plot_regression(terms), ss.plot_forest(terms)):
        assert note in " ".join(figure.labels.caption.split())
