"""Families of models by name. To add a family, write its kernel and record, and list it here."""

from salstats.checks import check_choice
from salstats.stats.models.beta import BETA
from salstats.stats.models.family import Family
from salstats.stats.models.inflated_beta import INFLATED_BETA
from salstats.stats.models.linear import GAUSSIAN
from salstats.stats.models.logit import BINOMIAL, FRACTIONAL
from salstats.stats.models.ordered_beta import ORDERED_BETA

FAMILIES = {
    family.name: family for family in (GAUSSIAN, BINOMIAL, FRACTIONAL, BETA, ORDERED_BETA, INFLATED_BETA)
}


def family_by_name(name: str) -> Family:
    """Return the family called `name`; an unknown name raises ValueRangeError."""
    check_choice(name, tuple(FAMILIES), "family")
    return FAMILIES[name]
