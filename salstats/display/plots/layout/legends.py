"""Colours, marks and line types of methods, and the size of the legend that names them."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import plotnine as p9

from salstats.display.plots.layout.text_fit import chars_in, short_labels, text_width_mm
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    LINE_MM,
    LINETYPES,
    PALETTE,
    REFERENCE_COLOUR,
    REFERENCE_LINE,
    REFERENCE_SHAPE,
    SHAPES,
    WELL_KNOWN_METHODS,
    light_fill,
)
from salstats.display.text.labels import Labels, method_spelling
from salstats.study import HUMAN

#: Width in mm of a key of a legend without its text.
_KEY_MM = 8.5
#: Room in mm below a row of keys.
_ROW_GAP_MM = 1.6
#: Width in mm of a figure that its legend does not fill.
_BESIDE_LEGEND_MM = 8.0
#: Room in mm above a legend.
_ABOVE_MM = 2.0
#: Room in mm at the edges of a figure.
EDGE_MM = 1.5
#: Size of the marks in an opaque legend, as plotnine has it.
_KEY_MARK_SIZE = 1.8
#: Rectangles of a colour bar; a gradient would have thousands of nodes in an SVG.
_COLOUR_STEPS = 100
#: Longest text of a method in a legend: characters of a line, and lines.
_TEXT_CHARS = 32
_TEXT_LINES = 2


@dataclass(frozen=True)
class MarkStyle:
    """Colour, shape of marks and type of line of a method; `line` is a linetype of Matplotlib."""

    colour: str
    shape: str
    line: Any


def method_styles(
    names: Iterable[Hashable], references: Sequence[str] = (), labels: Labels | None = None
) -> dict[str, MarkStyle]:
    """Return the style of each method, model or task.

    A well-known method has a fixed colour of the palette, whatever others a figure shows. Other methods take
    the free colours in the order of the labels, else in that of their names; without `labels` in the order of
    `names`. To keep colours the same in a figure with fewer methods, pass `labels` that name all methods or
    that were made from the whole frame. References are black, and so is `human` unless it is compared with a
    reference of the figure. A colour that `labels` choose comes before all of these.
    """
    drawn_names = [str(name) for name in names]
    black_names = [name for name in references if name in drawn_names] or [HUMAN]
    all_names = drawn_names
    chosen_colours: Mapping[str, str] = {}
    if labels is not None:
        all_names = labels.palette_methods(drawn_names)
        chosen_colours = labels.colours
    # human has a colour only where another method is the black reference
    coloured_names = [name for name in all_names if name != HUMAN or HUMAN not in black_names]
    positions = _palette_position_of_each_name(coloured_names, chosen_colours)
    styles = {}
    for name in drawn_names:
        if name in black_names:
            style = MarkStyle(REFERENCE_COLOUR, REFERENCE_SHAPE, REFERENCE_LINE)
        else:
            style = _style_of_position(positions[name])
        if name in chosen_colours:
            style = replace(style, colour=chosen_colours[name])
        styles[name] = style
    return styles


def _style_of_position(palette_position: int) -> MarkStyle:
    """Return the style of a position in the palette.

    Positions beyond its length repeat the colours with other marks and line types.
    """
    repetition, index = divmod(palette_position, len(PALETTE))
    shifted_index = index + repetition
    return MarkStyle(
        colour=PALETTE[index],
        shape=SHAPES[shifted_index % len(SHAPES)],
        line=LINETYPES[shifted_index % len(LINETYPES)],
    )


def _palette_position_of_each_name(names: Sequence[str], chosen_colours: Mapping[str, str]) -> dict[str, int]:
    """Return the palette position of each name.

    This is the position of the colour that the user has chosen for the name, else that of a well-known method
    (`WELL_KNOWN_METHODS`), else the first free one. Only the first name that claims a position has it.
    """
    position_of_colour = {colour.lower(): position for position, colour in enumerate(PALETTE)}
    claims = []
    for name in names:
        if name in chosen_colours:
            claims.append((position_of_colour.get(chosen_colours[name]), name))
    claims += _palette_positions_and_known_names(names)
    positions: dict[str, int] = {}
    for position, name in claims:
        # a chosen colour that is not in the palette has no position
        is_free = position not in positions.values()
        if position is not None and is_free and name not in positions:
            positions[name] = position
    for name in names:
        if name not in positions:
            positions[name] = next(position for position in count() if position not in positions.values())
    return positions


def _palette_positions_and_known_names(names: Sequence[str]) -> list[tuple[int, str]]:
    """Return the palette position that each well-known method claims, and the method's name.

    Where several methods have one position, those that stand first in `WELL_KNOWN_METHODS` come first.
    """
    claims = []
    for name in names:
        for position, methods in enumerate(WELL_KNOWN_METHODS):
            if method_spelling(name) in methods:
                rank = methods.index(method_spelling(name))
                claims.append((rank, position, name))
    return [(position, name) for _, position, name in sorted(claims)]


def method_labels_references_first(
    labels: Labels, methods: Iterable[Hashable], references: Sequence[str] = ()
) -> dict[Any, str]:
    """Return the text of each method in a legend, references first."""
    texts = short_labels(labels, "method", methods, line_chars=_TEXT_CHARS, max_lines=_TEXT_LINES)
    drawn_references = [method for method in texts if method in references]
    others = [method for method in texts if method not in references]
    return {method: texts[method] for method in [*drawn_references, *others]}


def group_scales(
    text_of_group: Mapping[Any, str],
    references: Sequence[str] = (),
    aesthetics: Sequence[str] = ("color", "shape"),
    width: float = COLUMN_MM,
    *,
    labels: Labels | None = None,
    has_opaque_keys: bool = False,
    has_light_fills: bool = False,
) -> list[Any]:
    """Return the scales that tell methods, models or tasks apart, and the guides of their legend.

    Parameters
    ----------
    text_of_group : mapping
        Text of each method, model or task in the legend.
    references : sequence of str
        Those drawn in black.
    aesthetics : sequence of str
        Aesthetics that tell them apart, of "color", "fill", "shape" and "linetype".
    width : float
        Width of the figure in mm.
    labels : Labels, optional
        As for `method_styles`.
    has_opaque_keys : bool
        Whether the keys of the legend are opaque, whatever the marks in the panels are.
    has_light_fills : bool
        Whether fills are the light ones of the colours.
    """
    limits = list(text_of_group.values())
    styles = list(method_styles(text_of_group, references, labels).values())
    colours = [style.colour for style in styles]
    fills = colours
    if has_light_fills:
        fills = [light_fill(colour) for colour in colours]
    values = {
        "color": colours,
        "fill": fills,
        "shape": [style.shape for style in styles],
        "linetype": [style.line for style in styles],
    }
    key_style: dict[str, float] = {}
    if has_opaque_keys:
        key_style["alpha"] = 1
        if "linetype" not in aesthetics:
            key_style["size"] = _KEY_MARK_SIZE
    n_columns = n_legend_columns(limits, width)
    scale_of = {
        "color": p9.scale_color_manual,
        "fill": p9.scale_fill_manual,
        "shape": p9.scale_shape_manual,
        "linetype": p9.scale_linetype_manual,
    }
    scales = []
    guides = {}
    for aesthetic in aesthetics:
        scales.append(scale_of[aesthetic](values[aesthetic], limits=limits, name=""))
        # plotnine merges the legends of all aesthetics, and the style of the first one is enough
        style = key_style if aesthetic == aesthetics[0] else {}
        # scales that share one guide object would show the keys of the last scale only
        guides[aesthetic] = p9.guide_legend(title="", ncol=n_columns, byrow=True, override_aes=style)
    return [*scales, p9.guides(**guides)]


def n_legend_columns(texts: Sequence[str], figure_width_mm: float = COLUMN_MM) -> int:
    """Return the number of keys of a legend side by side in a figure of a width in mm."""
    for n_columns in range(len(texts), 1, -1):
        if legend_width_mm(texts, n_columns) <= figure_width_mm - _BESIDE_LEGEND_MM:
            return n_columns
    return 1


def legend_chars(figure_width_mm: float) -> float:
    """Return the characters of a line of a legend's text that fits a figure of a width in mm."""
    return chars_in(figure_width_mm - _BESIDE_LEGEND_MM - _KEY_MM)


def legend_width_mm(texts: Sequence[str], n_columns: int) -> float:
    """Return the width in mm of a legend whose keys stand in so many columns, filled row by row."""
    width = 0.0
    for column in range(n_columns):
        # keys fill rows, so that every n-th text stands in the same column
        column_texts = texts[column::n_columns]
        width += max(map(text_width_mm, column_texts)) + _KEY_MM
    return width


def continuous_colour_bar(**options: Any) -> p9.guide_colorbar:
    """Return the legend of a continuous scale of colours: a bar of rectangles, too narrow to tell apart.

    `options` are those of plotnine's guide.
    """
    return p9.guide_colorbar(display="rectangles", nbin=_COLOUR_STEPS, **options)


def justification_centred_on_panels(
    content_width: float, left_mm: float, panels_width: float, figure_width: float
) -> float:
    """Return the justification, from 0 (left) to 1 (right), that centres a title or legend on the panels.

    Justification j places the content at j * (`panels_width` - `content_width`) from the left of the panels,
    which stand `left_mm` from the edge of the figure. All widths are in mm. A title wider than the panels
    stays within the figure.
    """
    free_width = panels_width - content_width
    if abs(free_width) < 1:
        # any justification places the content within a millimetre
        return 0.5
    centred_start = left_mm + free_width / 2
    last_start = figure_width - EDGE_MM - content_width
    start = max(min(centred_start, last_start), EDGE_MM)
    return float(np.clip((start - left_mm) / free_width, 0, 1))


def legend_height_mm(texts: Sequence[str], figure_width_mm: float = COLUMN_MM) -> float:
    """Return the height in mm of a legend above the panels of a figure of a width in mm, 0 without texts."""
    if not texts:
        return 0.0
    n_lines = max(text.count("\n") + 1 for text in texts)
    n_rows = math.ceil(len(texts) / n_legend_columns(texts, figure_width_mm))
    return _ABOVE_MM + n_rows * (n_lines * LINE_MM + _ROW_GAP_MM)
