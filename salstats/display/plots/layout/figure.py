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
#: Difference of two widths in mm that is not visible in print.
_WIDTH_TOLERANCE_MM = 0.1


@dataclass(frozen=True)
class _PlotCall:
    """Call of a plot function.

    Attributes
    ----------
    plot : callable
        The function.
    values, options : tuple and dict
        Its positional and its keyword arguments.
    additions : tuple
        Layers, themes and labels that were added to the figure afterwards, in order.
    """

    plot: Callable[..., "Figure"]
    values: tuple[Any, ...]
    options: dict[str, Any]
    additions: tuple[Any, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return the call itself, so that a copy of a figure shares the frames that it was made from."""
        return self


class Figure(p9.ggplot):
    """A plotnine figure that may have several pages and can be laid out for another width.

    Attributes
    ----------
    pages : tuple of Figure
        The pages of the figure, of which it is itself the first; a figure that fits a page has one.
    """

    _call: _PlotCall | None = None
    _further_pages: tuple["Figure", ...] = ()

    @property
    def pages(self) -> tuple["Figure", ...]:
        """Return the pages of the figure in order."""
        return (self, *self._further_pages)

    def __add__(self, rhs: Any) -> Self:
        """Return a copy of the figure with a layer, theme or label added to all pages."""
        # plotnine adds to a copy of the figure, which has the figure's class
        return cast(Self, super().__add__(rhs))

    def __iadd__(self, other: Any) -> Self:
        """Add a layer, theme or label to all pages, and record it for a layout of another width."""
        super().__iadd__(other)
        if self._call is not None:
            self._call = replace(self._call, additions=(*self._call.additions, other))
        self._further_pages = tuple(page + other for page in self._further_pages)
        return self

    def at(self, width: float) -> "Figure":
        """Return the figure laid out again for a width in mm, with everything that was added to it.

        This is the figure itself if it has this width already, or if no plot function made it.
        """
        call = self._call
        width_inches, _ = self.theme.getp("figure_size")
        has_width = abs(width - width_inches * MM_PER_INCH) < _WIDTH_TOLERANCE_MM
        if call is None or has_width:
            return self
        with warnings.catch_warnings():
            # the first call has already given the warnings
            warnings.simplefilter("ignore")
            figure = call.plot(*call.values, **call.options | {"width": width})
        for addition in call.additions:
            figure = figure + addition
        return figure

    def alone(self) -> "Figure":
        """Return a copy of this page without the other pages and without the call that made it."""
        page = copy(self)
        page._call = None
        page._further_pages = ()
        return page


def plot_function(plot: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorate a plot function with an option `width`, so that its figure keeps the call that made it.

    `Figure.at` repeats this call with another width.
    """

    @functools.wraps(plot)
    def plot_figure(*values: P.args, **options: P.kwargs) -> Figure:
        _check_width(options.get("width"))
        figure = plot(*values, **options)
        figure._call = _PlotCall(
            plot=plot_figure,
            values=tuple(_snapshot(value) for value in values),
            options={name: _snapshot(value) for name, value in options.items()},
        )
        return figure

    return plot_figure


def paged_figure(pages: Sequence[Figure]) -> Figure:
    """Return a copy of the first of some pages that holds the others as its further pages."""
    figure = copy(pages[0])
    figure._further_pages = tuple(pages[1:])
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
    """Return an argument as it is now: a frame as a copy, which has no later columns of the original."""
    if isinstance(value, pd.DataFrame):
        return value.copy(deep=False)
    return value
