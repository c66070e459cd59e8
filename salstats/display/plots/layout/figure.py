"""Figures with pages, which can be laid out again for another width."""

import functools
import math
import warnings
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Self, cast

import pandas as pd
import plotnine as p9
from matplotlib.figure import Figure as DrawnFigure
from matplotlib.text import Text

from salstats.display.plots.layout.text_fit import (
    caption_chars,
    caption_height_mm,
    characters_without_face,
    chars_in,
    wrapped,
)
from salstats.display.plots.layout.theme import (
    MM_PER_INCH,
    MM_PER_PT,
    PAGE_HEIGHT_MM,
    TEXT_PT,
    fallback_fonts,
    font,
)
from salstats.errors import Message, SalstatsError, Setting, ValueRangeError, warn

P = ParamSpec("P")
#: Widths in mm between which a figure can be printed.
_NARROWEST_MM = 40
_WIDEST_MM = 1000
#: Difference of two widths in mm that is not visible in print.
_WIDTH_TOLERANCE_MM = 0.1
#: Element of the theme that styles each text above the panels.
_THEME_ELEMENT_OF_TEXT_ABOVE_PANELS = {"title": "plot_title", "subtitle": "plot_subtitle", "tag": "plot_tag"}
#: Height of the lines of such texts over the size of the text.
_LINE_FACTOR = 1.25
_AROUND_TEXT_MM = 2.0
#: Elements of a theme that have a size of text of their own.
_SIZED_TEXTS = ("axis_text", "axis_title", "strip_text", "legend_text", "plot_caption", "plot_title", "text")
#: Beginnings of the names of the elements of a theme that can change without another layout.
_ELEMENTS_WITHOUT_LAYOUT = (
    "axis_line",
    "axis_ticks_major",
    "axis_ticks_minor",
    "legend_background",
    "panel_background",
    "panel_border",
    "panel_grid",
    "plot_background",
    "strip_background",
)


@dataclass(frozen=True)
class _PlotCall:
    """Call of a plot function.

    Attributes
    ----------
    plot : callable
        The plot function.
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

    theme: p9.theme
    _call: _PlotCall | None = None
    _further_pages: tuple["Figure", ...] = ()
    _is_laid_out: bool = False
    #: Size of the texts over that of the plot function.
    _text_scale: float = 1.0

    @property
    def pages(self) -> tuple["Figure", ...]:
        """Return the pages of the figure in order."""
        return (self, *self._further_pages)

    def __add__(self, rhs: Any) -> Self:
        """Return a copy of the figure with a layer, theme or label added to all pages."""
        # plotnine adds to a copy of the figure, which has the figure's class
        return cast(Self, super().__add__(rhs))

    def __iadd__(self, other: Any) -> Self:
        """Add a layer, theme or label to all pages, and record it for a layout of another width.

        A theme with another size of all text lays the figure out anew for that size. It warns if pages become
        higher than those of a journal, and raises if the width has no room for the text.
        """
        if self._is_laid_out:
            additions = [other]
            if isinstance(other, list | tuple):
                additions = list(other)
            for addition in additions:
                self._add_to_this_page_alone_and_refit(addition)
        else:
            super().__iadd__(other)
        if self._call is None:
            return self
        self._call = replace(self._call, additions=(*self._call.additions, other))
        text_scale = self._text_pt("text") / TEXT_PT
        if not math.isclose(text_scale, self._text_scale):
            # the operator returns this figure, which takes over all parts of the new one
            self.__dict__.update(self._laid_out(self._width_mm, text_scale).__dict__)
        else:
            self._further_pages = tuple(page + other for page in self._further_pages)
        return self

    def _add_to_this_page_alone_and_refit(self, addition: Any) -> None:
        """Add something to this page, which stays fitted to its width and becomes as high as its texts need.

        A complete theme such as `theme_bw` gives its backgrounds, borders, grids and lines; sizes, margins
        and the place of the legend stay. Elements that are blank stay so unless the theme names them.
        """
        texts_mm = self._title_and_caption_mm()
        theme = deepcopy(self.theme)
        caption_before = (self.labels.caption, self._text_pt("plot_caption"))
        super().__iadd__(addition)
        if isinstance(addition, p9.theme):
            self.theme = _theme_ignoring_layout_of_complete_addition(theme, addition)
        if (self.labels.caption, self._text_pt("plot_caption")) != caption_before:
            self._wrap_caption()
        if isinstance(addition, p9.labs):
            self._wrap_title_and_subtitle()
        has_own_size = isinstance(addition, p9.theme) and "figure_size" in addition.themeables
        if not has_own_size:
            self._add_height(self._title_and_caption_mm() - texts_mm)

    def _title_and_caption_mm(self) -> float:
        """Return the height in mm of the title, the subtitle, the tag and the caption."""
        height = 0.0
        if not self.theme.themeables.is_blank("plot_caption"):
            height += caption_height_mm(self.labels.caption or "", self._text_pt("plot_caption"))
        for label, element in _THEME_ELEMENT_OF_TEXT_ABOVE_PANELS.items():
            text = getattr(self.labels, label)
            if text and not self.theme.themeables.is_blank(element):
                n_lines = text.count("\n") + 1
                height += n_lines * _LINE_FACTOR * self._text_pt(element) * MM_PER_PT + _AROUND_TEXT_MM
        return height

    def _text_pt(self, element: str) -> float:
        """Return the size in points of the text of an element of the theme."""
        return float(self.theme.getp((element, "size")))

    def _wrap_title_and_subtitle(self) -> None:
        """Wrap the title and the subtitle to the width of the figure."""
        for label in ("title", "subtitle"):
            text = getattr(self.labels, label)
            if text:
                size = self._text_pt(_THEME_ELEMENT_OF_TEXT_ABOVE_PANELS[label])
                chars = chars_in(self._width_mm - _AROUND_TEXT_MM, size, bold=True)
                setattr(self.labels, label, wrapped(text, chars, max_lines=None))

    def _wrap_caption(self) -> None:
        """Wrap the caption to the width of the figure, at the size of its text."""
        if self.labels.caption:
            chars = caption_chars(self._width_mm, size_pt=self._text_pt("plot_caption"))
            self.labels.caption = wrapped(self.labels.caption, chars, max_lines=None)

    def _add_height(self, further_mm: float) -> None:
        """Make the figure higher by some mm."""
        if further_mm:
            width, height = self.theme.getp("figure_size")
            self.theme = self.theme + p9.theme(figure_size=(width, height + further_mm / MM_PER_INCH))

    def caption(self) -> str:
        """Return the caption as one line without the number of its page, "" without a caption."""
        # dollar signs are escaped in figures, where two would start a formula
        caption = " ".join((self.labels.caption or "").replace(r"\$", "$").split())
        return caption.removesuffix(page_sentence(1, len(self.pages))).rstrip()

    def without_caption(self) -> "Figure":
        """Return this page alone and without its caption, lower by the lines of the caption."""
        page = self.alone()
        page.labels = copy(self.labels)
        texts_mm = page._title_and_caption_mm()
        page.labels.caption = None
        page._add_height(page._title_and_caption_mm() - texts_mm)
        return page

    def draw(self, *, show: bool = False) -> DrawnFigure:
        """Draw the figure with Matplotlib, in fonts that also have East Asian characters where installed."""
        # plotnine leaves scales and panels of what it has drawn in the figure, which then takes no addition
        page = deepcopy(self.alone())
        drawn = super(Figure, page).draw(show=show)
        for text in drawn.findobj(Text):
            if characters_without_face([text.get_text()], (font(),)):
                text.set_fontfamily([*text.get_fontfamily(), *fallback_fonts()])
        return drawn

    def at(self, width: float) -> "Figure":
        """Return the figure laid out again for a width in mm, with everything that was added to it.

        This is the figure itself if it has this width already, or if no plot function made it.
        """
        has_width = abs(width - self._width_mm) < _WIDTH_TOLERANCE_MM
        if self._call is None or has_width:
            return self
        return self._laid_out(width, self._text_scale)

    @property
    def _width_mm(self) -> float:
        """Return the width of the figure in mm."""
        return float(self.theme.getp("figure_size")[0] * MM_PER_INCH)

    def _laid_out(self, width: float, text_scale: float) -> "Figure":
        """Return the figure laid out again for a width in mm and a scale of its texts.

        For larger text a narrower figure is laid out, and then enlarged to the width.
        """
        call = cast(_PlotCall, self._call)
        text_pt = text_scale * TEXT_PT
        with warnings.catch_warnings():
            # the first call has already given the warnings
            warnings.simplefilter("ignore")
            try:
                figure = call.plot(*call.values, **call.options | {"width": width / text_scale})
            except SalstatsError as error:
                if text_scale == 1 or error.option != "width":
                    raise
                # the error names the width of the narrower figure, which the user did not ask for
                raise ValueRangeError(
                    Setting("width", round(width)),
                    f" has no room for text of {text_pt:g} points",
                    hint=Message("take a larger ", Setting("width"), " or smaller text"),
                    value=width,
                ) from error
        if text_scale != 1:
            for page in figure.pages:
                page._enlarge_page_and_texts(text_scale)
            _warn_of_high_pages(figure.pages, text_pt)
        for addition in call.additions:
            figure = figure + addition
        return figure

    def _enlarge_page_and_texts(self, factor: float) -> None:
        """Multiply the size of this page and of its texts."""
        self._text_scale = factor
        width, height = self.theme.getp("figure_size")
        sizes = {}
        for name in _SIZED_TEXTS:
            if not self.theme.themeables.is_blank(name):
                sizes[name] = p9.element_text(size=factor * self._text_pt(name))
        # the element "text" is added first, since it would overwrite the others
        text = p9.theme(text=sizes.pop("text"))
        self.theme = _theme_ignoring_layout_of_complete_addition(self.theme, text)
        self.theme = _theme_ignoring_layout_of_complete_addition(
            self.theme, p9.theme(figure_size=(factor * width, factor * height), **sizes)
        )
        for layer in self.layers:
            if isinstance(layer.geom, p9.geom_text):
                layer.geom.aes_params["size"] = factor * layer.geom.aes_params.get("size", TEXT_PT)

    def alone(self) -> "Figure":
        """Return a copy of this page without the other pages and without the call that made it."""
        page = copy(self)
        page._call = None
        page._further_pages = ()
        return page


def _warn_of_high_pages(pages: Sequence[Figure], text_pt: float) -> None:
    """Warn once if text of a size in points makes any page of a figure higher than a journal's."""
    height = max(page.theme.getp("figure_size")[1] for page in pages) * MM_PER_INCH
    if height > PAGE_HEIGHT_MM:
        warn(
            f"text of {text_pt:g} points makes the figure {height:.0f} mm high, more than the "
            f"{PAGE_HEIGHT_MM:.0f} mm of a page",
            hint=Message("take a larger ", Setting("width"), ", or fewer panels with ", Setting("by")),
            option="width",
        )


def _theme_ignoring_layout_of_complete_addition(theme: p9.theme, addition: p9.theme) -> p9.theme:
    """Return the theme of a figure with another added, as `Figure._add_to_this_page_alone_and_refit` says."""
    if not addition.complete:
        new_theme = deepcopy(theme) + addition
        for name, element in theme.themeables.items():
            if element.is_blank() and name not in addition.themeables:
                new_theme.themeables[name] = element
        return new_theme
    new_theme = deepcopy(theme)
    for name in {*theme.themeables, *addition.themeables}:
        # the axes of some figures have no line or no text, for which their layout leaves no room
        is_without_axis = name.startswith("axis_") and theme.themeables.is_blank(name)
        if not name.startswith(_ELEMENTS_WITHOUT_LAYOUT) or is_without_axis:
            continue
        if name in addition.themeables:
            new_theme.themeables[name] = addition.themeables[name]
        elif addition.themeables.is_blank(name):
            new_theme = new_theme + p9.theme(**{name: p9.element_blank()})
        elif name.startswith(("panel_grid", "panel_border")):
            # without an entry of its own, it takes that of a more general element of the added theme
            new_theme.themeables.pop(name, None)
    return new_theme


def keep_call_in_figure(plot: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorate a plot function with an option `width`, so that its figure keeps the call that made it.

    `Figure.at` repeats this call with another width.
    """

    @functools.wraps(plot)
    def plot_and_keep_call(*values: P.args, **options: P.kwargs) -> Figure:
        _check_width_is_none_or_printable(options.get("width"))
        figure = plot(*values, **options)
        for page in figure.pages:
            page._is_laid_out = True
        figure._call = _PlotCall(
            plot=plot_and_keep_call,
            values=tuple(_frame_copy_or_value(value) for value in values),
            options={name: _frame_copy_or_value(value) for name, value in options.items()},
        )
        return figure

    return plot_and_keep_call


def first_page_with_further_pages(pages: Sequence[Figure]) -> Figure:
    """Return a copy of the first of some pages that holds the others as its further pages."""
    figure = copy(pages[0])
    figure._further_pages = tuple(pages[1:])
    return figure


def page_sentence(number: int, n_pages: int) -> str:
    """Return the last sentence of the caption of a page, "" where there is a single page."""
    if n_pages == 1:
        return ""
    return f"Page {number} of {n_pages}."


def _check_width_is_none_or_printable(width: Any) -> None:
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


def _frame_copy_or_value(value: Any) -> Any:
    """Return an argument as it is now: a frame as a copy, which has no later columns of the original."""
    if isinstance(value, pd.DataFrame):
        return value.copy(deep=False)
    return value
