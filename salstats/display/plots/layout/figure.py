"""Figures that know how they were made: they are laid out anew for a width, and may have pages."""

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Self

import pandas as pd
import plotnine as p9

from salstats.checks import ValueRangeError
from salstats.display.plots.layout.theme import MM_PER_INCH

P = ParamSpec("P")
#: Figures that could be printed, in mm.
_NARROWEST_MM, _WIDEST_MM = 40, 1000


@dataclass(frozen=True)
class _Call:
    """The call that made a figure, and what was added to it since."""

    plot: Callable[..., "Figure"]
    values: tuple[Any, ...]
    options: dict[str, Any]
    added: tuple[Any, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself: adding to a figure copies the figure, not the frames that it was made of."""
        return self


class Figure(p9.ggplot):
    """A plotnine figure of a `plot_*` function.

    Attributes
    ----------
    pages : tuple of Figure
        All pages of a figure that is higher than a page, itself the first; else itself alone.
    """

    _call: _Call | None = None
    _others: tuple["Figure", ...] = ()

    @property
    def pages(self) -> tuple["Figure", ...]:
        """Its pages in order."""
        return (self, *self._others)

    def __iadd__(self, other: Any) -> Self:
        """Add to it, and remember what to add when it is laid out anew."""
        super().__iadd__(other)
        if self._call is not None:
            self._call = replace(self._call, added=(*self._call.added, other))
        # what is added to a figure is added to its pages
        self._others = tuple(page + other for page in self._others)
        return self

    def at(self, width: float) -> "Figure":
        """Figure laid out anew for a width in mm, with what was added to it."""
        call = self._call
        own = self.theme.getp("figure_size")[0] * MM_PER_INCH
        if call is None or abs(width - own) < 0.1:
            return self
        with warnings.catch_warnings():
            # it was said when the figure was made
            warnings.simplefilter("ignore")
            made = call.plot(*call.values, **call.options | {"width": width})
        return functools.reduce(lambda figure, other: figure + other, call.added, made)

    def alone(self) -> "Figure":
        """A page without the others and without what it was made of."""
        page = copy(self)
        page._call, page._others = None, ()
        return page


def figures(plot: Callable[P, p9.ggplot | Sequence[p9.ggplot]]) -> Callable[P, Figure]:
    """Make what a plot function with a `width` returns, a figure or its pages, a `Figure`."""

    @functools.wraps(plot)
    def drawn(*values: P.args, **options: P.kwargs) -> Figure:
        _check_width(options.get("width"))
        made = plot(*values, **options)
        pages = [made] if isinstance(made, p9.ggplot) else list(made)
        for page in pages:
            page.__class__ = Figure
        first, *others = pages
        kept = {name: _kept(value) for name, value in options.items()}
        first._call = _Call(drawn, tuple(map(_kept, values)), kept)
        first._others = tuple(others)
        return first

    # what `help` says
    drawn.__signature__ = inspect.signature(plot).replace(return_annotation=Figure)  # type: ignore[attr-defined]
    return drawn


def _check_width(width: Any) -> None:
    """A width in mm, if one is given, could be printed."""
    right = isinstance(width, int | float) and not isinstance(width, bool)
    if width is not None and not (right and _NARROWEST_MM <= width <= _WIDEST_MM):
        raise ValueRangeError(
            f"width must be a number of mm between {_NARROWEST_MM} and {_WIDEST_MM}, not {width!r}"
        )


def _kept(value: Any) -> Any:
    """A frame that stays as it is when the caller changes theirs: a copy that shares its values."""
    return value.copy(deep=False) if isinstance(value, pd.DataFrame) else value
