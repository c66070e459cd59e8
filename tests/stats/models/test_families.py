"""The families by name, and the functions of their records."""

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ValueRangeError
from salstats.stats.models.families import FAMILIES, family_by_name

PREDICTORS = np.array([-2.0, -0.3, 0.0, 0.7, 3.0])
#: The mean at these predictors, by the name of a link.
MEANS = {"identity": PREDICTORS, "logit": 1 / (1 + np.exp(-PREDICTORS))}


def test_families_are_found_by_the_name_on_their_record():
    assert list(FAMILIES) == [
        "gaussian",
        "binomial",
        "fractional",
        "beta",
        "ordered-beta",
        "zero-one-inflated-beta",
    ]
    for name, family in FAMILIES.items():
        assert family.name == name
        assert family_by_name(name) is family


def test_an_unknown_family_is_an_error_with_the_choices():
    with raises(ValueRangeError, option="family", value="no-family", choices=tuple(FAMILIES)):
        family_by_name("no-family")


@pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
def test_derivatives_of_links_are_those_of_the_mean(family):
    link = family.link
    step = 1e-5

    def slope(function):
        return (function(PREDICTORS + step) - function(PREDICTORS - step)) / (2 * step)

    np.testing.assert_allclose(link.first_derivative(PREDICTORS), slope(link.mean), atol=1e-9)
    np.testing.assert_allclose(link.second_derivative(PREDICTORS), slope(link.first_derivative), atol=1e-9)
    np.testing.assert_allclose(link.mean(PREDICTORS), MEANS[link.name], rtol=1e-14)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
def test_scores_outside_0_and_1_are_for_linear_models_alone(family):
    outcome = np.array([0.25, 1.5])
    if family.is_linear:
        family.check_outcome(outcome, family.name)
    else:
        with raises(ValueRangeError, option="family", value=family.name):
            family.check_outcome(outcome, family.name)
