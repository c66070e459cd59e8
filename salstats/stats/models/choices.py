"""The family, errors and correlation that models are asked for, and whether they go together."""

from collections.abc import Sequence
from dataclasses import dataclass

from salstats.checks import ValueRangeError, check_choice, quoted
from salstats.stats.engine.intervals import RECOMMENDED
from salstats.stats.engine.units import Unit
from salstats.stats.models.errors import CHOICES, CLUSTERED, OF_MIXED
from salstats.stats.models.families import FAMILIES
from salstats.stats.models.family import Family
from salstats.stats.models.formulas import Formula
from salstats.stats.models.gee import CORRELATIONS, correlated_family
from salstats.stats.models.mixed_fits import MIXED


@dataclass(frozen=True)
class Asked:
    """How models are asked for, as `regress` has it."""

    by: str | Sequence[str] | None = None
    family: str = "gaussian"
    errors: str | None = None
    unit: Unit = None
    reference: str | None = None
    overall: bool = False
    correlation: str | None = None
    reml: bool = True
    weights: str | None = None


def chosen_family(name: str, correlation: str | None, formulas: Sequence[Formula]) -> Family:
    """The family of a name: of mixed models, if the formulas have random effects, or of correlated rows."""
    family = FAMILIES[check_choice(name, tuple(FAMILIES), "family")]
    mixed = [formula for formula in formulas if formula.random]
    if mixed:
        effect = f"random effects of {mixed[0].random[0].name}"
        if correlation is not None:
            raise ValueRangeError(
                f"correlation={correlation!r} goes without {effect} in {mixed[0].text!r}; take one of the two"
            )
        if name != MIXED.name:
            instead = "correlation='exchangeable' (GEE) without them"
            if not family.correlated:
                instead = "errors='cr2' without them, which lets rows of a unit depend on each other"
            raise ValueRangeError(
                f"{mixed[0].text!r} has {effect}, which family={name!r} has not: take {instead}, or "
                "family='gaussian'"
            )
        if len(mixed) < len(formulas):
            raise ValueRangeError(
                f"{mixed[0].text!r} has random effects and other formulas have none; fit these by themselves"
            )
        return MIXED
    if correlation is None:
        return family
    check_choice(correlation, CORRELATIONS, "correlation")
    if not family.correlated:
        others = quoted(f.name for f in FAMILIES.values() if f.correlated)
        raise ValueRangeError(
            f"correlation={correlation!r} is there for family={others}; family={name!r} has none, and "
            "takes rows of a unit as they depend on each other with errors='cr2'"
        )
    return correlated_family(family)


def chosen_errors(family: Family, errors: str | None, unit: Unit, *, reml: bool) -> str:
    """The errors that are meant, which the family has and the unit goes with."""
    used = check_choice(RECOMMENDED if errors is None else errors, CHOICES, "errors")
    mixed = family.errors == OF_MIXED
    if used == RECOMMENDED:
        used = family.errors[0]
    elif used in OF_MIXED and not mixed:
        raise ValueRangeError(
            f"errors={used!r} is there for formulas with random effects, such as 'iou ~ method + (1|case)'; "
            f"this one has none: use one of {quoted(family.errors)}"
        )
    elif mixed and used not in OF_MIXED:
        raise ValueRangeError(
            f"errors={used!r} goes without random effects, which say themselves what hangs together; use one "
            f"of {quoted(OF_MIXED)}, or leave them out of the formula"
        )
    elif used not in family.errors and used in FAMILIES[family.name].errors:
        raise ValueRangeError(
            f"errors={used!r} goes without correlation=, which takes rows to hang together; use one of "
            f"{quoted(family.errors)}, or leave correlation= out"
        )
    elif used not in family.errors:
        others = quoted(f.name for f in FAMILIES.values() if used in f.errors)
        raise ValueRangeError(
            f"errors={used!r} is there for family={others}; with family={family.name!r} use one of "
            f"{quoted(family.errors)}"
        )
    if unit is not None and mixed:
        named = unit if isinstance(unit, str) else ":".join(unit)
        raise ValueRangeError(
            f"unit={unit!r} does nothing with random effects; add (1|{named}) to the formula"
        )
    if unit is not None and used not in CLUSTERED:
        raise ValueRangeError(f"unit={unit!r} does nothing with errors={used!r}; use errors='cr2'")
    if not reml and not mixed:
        raise ValueRangeError("reml=False is for formulas with random effects, such as 'iou ~ 1 + (1|case)'")
    if not reml and used == "kenward-roger":
        raise ValueRangeError(
            "errors='kenward-roger' needs reml=True: it is made of the restricted likelihood"
        )
    return used
