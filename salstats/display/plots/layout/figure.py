"""Figures with pages, which can be laid out again for another width."""

import functools
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Self, cast

import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.theme import MM_PER_INCH
from salstats.errors import Setting, ValueRangeError

P = ParamSpec("P")
#: Widths in mm between which a figure can be printed.
_NARROWEST_MM = 40
_WIDEST_MM = 1000


@dataclass(frozen=True)
class _Call:
    """Call of a plot function, and what was added to the figure afterwards."""

    plot: Callable[..., "Figure"]
    values: tuple[Any, ...]
    options: dict[str, Any]
    additions: tuple[Any, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself: adding to a figure copies the figure, not the frames that it was made from."""
        return self


class Figure(p9.ggplot):
    """A plotnine figure of a `plot_*` function.

    Attributes
    ----------
    pages : tuple of Figure
        All pages of a figure that is higher than a page, itself the first; else itself alone.
    """

    _call: _Call | None = None
    _further_pages: tuple["Figure", ...] = ()

    @property
    def pages(self) -> tuple["Figure", ...]:
        """Its pages in order."""
        return (self, *self._further_pages)

    def __add__(self, rhs: Any) -> Self:
        """Copy with something added to all pages."""
        # plotnine adds to a copy of the figure, which has the figure's class
        return cast(Self, super().__add__(rhs))

    def __iadd__(self, other: Any) -> Self:
        """Add to all pages, and record the addition for a layout of another width."""
        super().__iadd__(other)
        if self._call is not None:
            self._call = replace(self._call, additions=(*self._call.additions, other))
        self._further_pages = tuple(page + other for page in self._further_pages)
        return self

    def at(self, width: float) -> "Figure":
        """Figure laid out again for a width in mm, with what was added to it."""
        call = self._call
        current_width = self.theme.getp("figure_size")[0] * MM_PER_INCH
        if call is None or abs(width - current_width) < 0.1:
            return self
        with warnings.catch_warnings():
            # the first call has already given the warnings
            warnings.simplefilter("ignore")
            figure = call.plot(*call.values, **call.options | {"width": width})
        for addition in call.additions:
            figure = figure + addition
        return figure

    def alone(self) -> "Figure":
        """Copy of this page without the other pages and without the call that made it."""
        page = copy(self)
        page._call = None
        page._further_pages = ()
        return page


def plot_function(plot: Callable[P, p9.ggplot]) -> Callable[P, Figure]:
    """Decorate a plot function with an option `width`: its `Figure` can be laid out for another width.

    A plotnine figure that is no `Figure` becomes one of a single page.
    """

    @functools.wraps(plot)
    def plot_figure(*values: P.args, **options: P.kwargs) -> Figure:
        _check_width(options.get("width"))
        plotted = plot(*values, **options)
        figure = plotted if isinstance(plotted, Figure) else paged_figure([plotted])
        figure._call = _Call(
            plot=plot_figure,
            values=tuple(_snapshot(value) for value in values),
            options={name: _snapshot(value) for name, value in options.items()},
        )
        return figure

    return plot_figure


def paged_figure(pages: Sequence[p9.ggplot]) -> Figure:
    """Return the first of some pages as a figure that holds the others."""
    first, *further = [_as_figure(page) for page in pages]
    first._further_pages = tuple(further)
    return first


def _as_figure(plot: p9.ggplot) -> Figure:
    """Figure with the data, layers, scales and theme of a plotnine figure."""
    figure = Figure()
    figure.__dict__.update(plot.__dict__)
    return figure


def _check_width(width: Any) -> None:
    """Raise unless a width is None or a number of mm that can be printed."""
    if width is None:
        return
    is_number = isinstance(width, int | float) and not isinstance(width, bool)
    if not (is_number and _NARROWEST_MM <= width <= _WIDEST_MM):
        raise ValueRangeError(
            Setting("width"),
            f" must be a number of mm between {_NARROWEST_MM} and {_WIDEST_MM}, not {width!r}",
            value=width,
        )


def _snapshot(value: Any) -> Any:
    """Argument of a call as it is now: of a frame a copy, which shares its values with the original."""
    return value.copy(deep=False) if isinstance(value, pd.DataFrame) else value
