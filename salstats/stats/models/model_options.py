"""Options of models: the family, standard errors and correlation, and checks that they go together."""

from collections.abc import Sequence
from dataclasses import dataclass

from salstats.checks import check_choice, quoted
from salstats.errors import Message, Setting, ValueRangeError
from salstats.stats.engine.intervals import RECOMMENDED
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.models.error_kinds import CHOICES, CLUSTERED_ERRORS, MIXED_MODEL_ERRORS
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.family import Family
from salstats.stats.models.formulas import Formula
from salstats.stats.models.gee import CORRELATIONS, gee_family
from salstats.stats.models.linear import GAUSSIAN
from salstats.stats.models.random_terms import LINEAR_MIXED


@dataclass(frozen=True)
class ModelOptions:
    """Options of models, as parameters of `regress`."""

    by: str | Sequence[str] | None = None
    family: str = "gaussian"
    errors: str | None = None
    unit: Unit = None
    reference: str | None = None
    overall: bool = False
    correlation: str | None = None
    reml: bool = True
    weights: str | None = None


def resolve_family_form(name: str, correlation: str | None, formulas: Sequence[Formula]) -> Family:
    """Return the family called `name`, or the form of it for random effects or for correlated rows."""
    family = FAMILIES[check_choice(name, tuple(FAMILIES), "family")]
    mixed = [formula for formula in formulas if formula.random]
    if mixed:
        _check_random_effects_are_supported(family, correlation, mixed[0])
        if len(mixed) < len(formulas):
            raise ValueRangeError(
                f"{mixed[0].text!r} has random effects and other formulas have none",
                hint="fit these separately",
                option="formula",
                value=mixed[0].text,
            )
        return LINEAR_MIXED
    if correlation is None:
        return family
    check_choice(correlation, CORRELATIONS, "correlation")
    if not family.correlated:
        correlated_families = quoted(record.name for record in FAMILIES.values() if record.correlated)
        raise ValueRangeError(
            Setting("correlation", correlation),
            " does not go with ",
            Setting("family", name),
            hint=Message(
                f"the families with a correlation are {correlated_families}, and ",
                Setting("errors", "cr2"),
                " lets rows of a unit depend on each other in every family",
            ),
        )
    return gee_family(family)


def _check_random_effects_are_supported(family: Family, correlation: str | None, formula: Formula) -> None:
    """Raise if random effects come with a correlation, or with a family that has no mixed models."""
    effect = f"random effects of {formula.random[0].grouping_name}"
    if correlation is not None:
        raise ValueRangeError(
            Setting("correlation", correlation),
            f" does not go with {effect} in {formula.text!r}",
            hint="use one of the two",
        )
    if family.name != LINEAR_MIXED.name:
        if family.correlated:
            alternative = Message(Setting("correlation", "exchangeable"), " (GEE) without them")
        else:
            alternative = Message(
                Setting("errors", "cr2"),
                " without them, which lets rows of a unit depend on each other,",
            )
        raise ValueRangeError(
            f"{formula.text!r} has {effect}, which ",
            Setting("family", family.name),
            " does not support",
            hint=Message("use ", alternative, " or ", Setting("family", GAUSSIAN.name)),
        )


def resolve_standard_error_kind(family: Family, errors: str | None, unit: Unit, *, reml: bool) -> str:
    """Return the kind of standard errors, by default the family's recommended one.

    A kind that does not suit the family or other options raises ValueRangeError.
    """
    if errors is None:
        errors = RECOMMENDED
    kind = _checked_standard_error_kind(errors)
    if kind == RECOMMENDED:
        kind = family.errors[0]
    elif kind not in family.errors:
        raise _unsupported_standard_errors_error(family, kind)
    mixed = family.errors == MIXED_MODEL_ERRORS
    if unit is not None and mixed:
        grouping = unit if isinstance(unit, str) else ":".join(unit)
        raise ValueRangeError(
            Setting("unit", unit),
            " does nothing with random effects",
            hint=f"add (1|{grouping}) to the formula",
        )
    if unit is not None and kind not in CLUSTERED_ERRORS:
        raise ValueRangeError(
            Setting("unit", unit),
            " does nothing with ",
            Setting("errors", kind),
            hint=Message("use ", Setting("errors", "cr2")),
        )
    if not reml and not mixed:
        raise ValueRangeError(
            Setting("reml", False), " is for formulas with random effects, such as 'iou ~ 1 + (1|case)'"
        )
    if not reml and kind == "kenward-roger":
        raise ValueRangeError(
            Setting("errors", kind),
            " is computed from the restricted likelihood",
            hint=Message("it needs ", Setting("reml", True)),
        )
    return kind


def _checked_standard_error_kind(errors: str) -> str:
    """Return the name of a kind of standard errors, which may be written in capitals."""
    name = errors.lower() if isinstance(errors, str) else errors
    if name == "cr1":
        raise ValueRangeError(
            Setting("errors", errors),
            " is not known",
            hint=f"did you mean 'cluster'? It is one of {', '.join(CHOICES)}",
            choices=CHOICES,
        )
    return check_choice(name, CHOICES, "errors")


def _unsupported_standard_errors_error(family: Family, kind: str) -> ValueRangeError:
    """Return the error for a kind of standard errors that a family does not support."""
    supported = f"use one of {quoted(family.errors)}"
    if kind in MIXED_MODEL_ERRORS:
        reason = Message(" is for formulas with random effects, such as 'iou ~ method + (1|case)'")
        hint = Message(f"this one has none: {supported}")
    elif family.errors == MIXED_MODEL_ERRORS:
        reason = Message(" does not go with random effects, which make rows depend on each other")
        hint = Message(f"{supported}, or leave them out of the formula")
    elif kind in FAMILIES[family.name].errors:
        reason = Message(
            " does not go with ", Setting("correlation"), ", which makes rows depend on each other"
        )
        hint = Message(f"{supported}, or leave ", Setting("correlation"), " out")
    else:
        supporting_families = quoted(record.name for record in FAMILIES.values() if kind in record.errors)
        reason = Message(" does not go with ", Setting("family", family.name))
        hint = Message(f"{supported}; the families with it are {supporting_families}")
    return ValueRangeError(Setting("errors", kind), reason, hint=hint, choices=family.errors)
