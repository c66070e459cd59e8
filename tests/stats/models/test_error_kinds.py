"""Records of the kinds of standard errors."""

from salstats.stats.models.error_kinds import (
    BETA_ERRORS,
    CHOICES,
    CLUSTERED_ERRORS,
    ERRORS,
    FIXED_EFFECTS_ERRORS,
    MIXED_MODEL_ERRORS,
)


def test_texts_name_the_unit_of_clustered_errors_and_of_no_others():
    for name, kind in ERRORS.items():
        assert ("{unit}" in kind.label) == (name in CLUSTERED_ERRORS), name
        assert ("{unit}" in kind.note) == (name in CLUSTERED_ERRORS), name


def test_a_kind_is_of_models_with_or_without_random_effects():
    assert {*FIXED_EFFECTS_ERRORS, *MIXED_MODEL_ERRORS} == set(ERRORS)
    assert MIXED_MODEL_ERRORS == ("satterthwaite", "kenward-roger")
    assert not set(FIXED_EFFECTS_ERRORS) & set(MIXED_MODEL_ERRORS)
    assert set(BETA_ERRORS) <= set(FIXED_EFFECTS_ERRORS)
    assert CHOICES == ("recommended", *ERRORS)


def test_exponents_are_those_of_cr2_and_of_mancl_and_derouen():
    exponents = {kind.name: kind.hat_exponent for kind in ERRORS.values() if kind.hat_exponent is not None}
    assert exponents == {"cr2": -0.5, "mancl-derouen": -1.0}
