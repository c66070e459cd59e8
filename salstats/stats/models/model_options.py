"""Options of models: the family, standard errors and correlation, and checks that they go together."""

from collections.abc import Sequence
from dataclasses import dataclass

from salstats.checks import check_choice, quoted
from salstats.errors import ValueRangeError
from salstats.stats.engine.intervals import RECOMMENDED
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.models.error_kinds import CHOICES, CLUSTERED, MIXED_MODEL_ERRORS
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.family import Family
from salstats.stats.models.formulas import Formula
from salstats.stats.models.gee import CORRELATIONS, correlated_family
from salstats.stats.models.random_terms import MIXED


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


def resolve_family(name: str, correlation: str | None, formulas: Sequence[Formula]) -> Family:
    """The family of models: that called `name`, in its form for random effects or for correlated rows."""
    family = FAMILIES[check_choice(name, tuple(FAMILIES), "family")]
    mixed = [formula for formula in formulas if formula.random]
    if mixed:
        _check_mixed(family, correlation, mixed[0])
        if len(mixed) < len(formulas):
            raise ValueRangeError(
                f"{mixed[0].text!r} has random effects and other formulas have none; fit these by themselves"
            )
        return MIXED
    if correlation is None:
        return family
    check_choice(correlation, CORRELATIONS, "correlation")
    if not family.correlated:
        correlated = quoted(record.name for record in FAMILIES.values() if record.correlated)
        raise ValueRangeError(
            f"correlation={correlation!r} is there for family={correlated}; family={name!r} has none, and "
            "takes rows of a unit as they depend on each other with errors='cr2'"
        )
    return correlated_family(family)


def _check_mixed(family: Family, correlation: str | None, formula: Formula) -> None:
    """Raise where a formula with random effects has a correlation, or a family without mixed models."""
    effect = f"random effects of {formula.random[0].name}"
    if correlation is not None:
        raise ValueRangeError(
            f"correlation={correlation!r} goes without {effect} in {formula.text!r}; take one of the two"
        )
    if family.name != MIXED.name:
        if family.correlated:
            alternative = "correlation='exchangeable' (GEE) without them"
        else:
            alternative = "errors='cr2' without them, which lets rows of a unit depend on each other"
        raise ValueRangeError(
            f"{formula.text!r} has {effect}, which family={family.name!r} has not: take {alternative}, or "
            "family='gaussian'"
        )


def resolve_errors(family: Family, errors: str | None, unit: Unit, *, reml: bool) -> str:
    """The kind of standard errors, the family's recommended one for None; checked against other options."""
    kind = check_choice(RECOMMENDED if errors is None else errors, CHOICES, "errors")
    if kind == RECOMMENDED:
        kind = family.errors[0]
    elif kind not in family.errors:
        raise ValueRangeError(f"errors={kind!r} {_unsupported_reason(family, kind)}")
    mixed = family.errors == MIXED_MODEL_ERRORS
    if unit is not None and mixed:
        grouping = unit if isinstance(unit, str) else ":".join(unit)
        raise ValueRangeError(
            f"unit={unit!r} does nothing with random effects; add (1|{grouping}) to the formula"
        )
    if unit is not None and kind not in CLUSTERED:
        raise ValueRangeError(f"unit={unit!r} does nothing with errors={kind!r}; use errors='cr2'")
    if not reml and not mixed:
        raise ValueRangeError("reml=False is for formulas with random effects, such as 'iou ~ 1 + (1|case)'")
    if not reml and kind == "kenward-roger":
        raise ValueRangeError(
            "errors='kenward-roger' needs reml=True: it is made of the restricted likelihood"
        )
    return kind


def _unsupported_reason(family: Family, kind: str) -> str:
    """The reason why a family does not support a kind of errors, and what to use, as the end of a message."""
    supported = quoted(family.errors)
    if kind in MIXED_MODEL_ERRORS:
        return (
            "is there for formulas with random effects, such as 'iou ~ method + (1|case)'; "
            f"this one has none: use one of {supported}"
        )
    if family.errors == MIXED_MODEL_ERRORS:
        return (
            "goes without random effects, which say themselves what hangs together; use one "
            f"of {supported}, or leave them out of the formula"
        )
    if kind in FAMILIES[family.name].errors:
        return (
            "goes without correlation=, which takes rows to hang together; use one of "
            f"{supported}, or leave correlation= out"
        )
    supporting = quoted(record.name for record in FAMILIES.values() if kind in record.errors)
    return f"is there for family={supporting}; with family={family.name!r} use one of {supported}"
