"""What the maps and masks of a study are called: method[:model[:seed]] beside each place."""

from collections.abc import Mapping

from salstats.errors import SalstatsError
from salstats.readers.cells import PathLike
from salstats.study import HUMAN, Series

Sources = PathLike | Mapping[str, PathLike]


def sources(given: Sources | None, method: str, option: str) -> dict[Series, PathLike]:
    """The places of maps or masks by series; one place alone is called `method`."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return {series_of(method, "method"): given}
    if not given:
        raise SalstatsError(f"{option}= names no method")
    return {series_of(name, option): place for name, place in given.items()}


def series_of(name: str, option: str) -> Series:
    """The series that method[:model[:seed]] names."""
    parts = str(name).split(":")
    if len(parts) > 3 or not all(part.strip() for part in parts):
        raise SalstatsError(f"{option}={name!r} must be method, method:model or method:model:seed")
    if parts[0] == HUMAN:
        raise SalstatsError(
            f"{option}={name!r}: {HUMAN!r} is what people are called, whose files have options of "
            "their own; name the method"
        )
    return Series(*parts)
