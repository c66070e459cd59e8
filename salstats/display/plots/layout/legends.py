"""Colours, marks and line types of methods, and the size of the legend that names them."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import plotnine as p9

from salstats.display.plots.layout.text_fit import short_labels, text_mm
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    HOMES,
    LINE_MM,
    LINETYPES,
    PALETTE,
    REFERENCE,
    REFERENCE_LINE,
    REFERENCE_SHAPE,
    SHAPES,
)
from salstats.display.text.labels import Labels, method_spelling
from salstats.study import HUMAN

#: Width in mm of a key of a legend without its text.
_KEY_MM = 8.5
#: Room in mm below a row of keys.
_ROW_GAP_MM = 1.6
#: Width in mm of a figure that its legend does not fill.
_SIDE_MM = 8.0
#: Room in mm at the edges of a figure.
EDGE_MM = 1.5


@dataclass(frozen=True)
class MarkStyle:
    """Colour, mark and line type of a method."""

    colour: str
    shape: str
    line: Any


def method_styles(
    names: Iterable[Hashable], references: Sequence[str] = (), labels: Labels | None = None
) -> dict[str, MarkStyle]:
    """Style of each method, model or task, the same whatever others a figure shows.

    A well-known method has a fixed colour of the palette. Others take the free colours in the order of the
    labels, else in that of their names; without `labels` in the order of `names`. To keep colours the same in
    a figure with fewer methods, pass `labels` that name all methods or that were made from the whole frame.
    References are black, and so is `human` unless it is compared with a reference of the figure.
    """
    drawn_names = [str(name) for name in names]
    black = [name for name in references if name in drawn_names] or [HUMAN]
    all_names = drawn_names if labels is None else labels.methods(drawn_names)
    chosen_colours = {} if labels is None else labels.colours
    coloured = [name for name in all_names if name != HUMAN or HUMAN not in black]
    positions = _palette_positions(coloured, chosen_colours)
    styles = {}
    for name in drawn_names:
        if name in black:
            style = MarkStyle(REFERENCE, REFERENCE_SHAPE, REFERENCE_LINE)
        else:
            style = _style_of_position(positions[name])
        if name in chosen_colours:
            style = replace(style, colour=chosen_colours[name])
        styles[name] = style
    return styles


def _style_of_position(position: int) -> MarkStyle:
    """Style of a position in the palette.

    Positions beyond its length repeat the colours with other marks and line types.
    """
    repetition, index = divmod(position, len(PALETTE))
    shifted = index + repetition
    return MarkStyle(PALETTE[index], SHAPES[shifted % len(SHAPES)], LINETYPES[shifted % len(LINETYPES)])


def _palette_positions(names: Sequence[str], chosen_colours: Mapping[str, str]) -> dict[str, int]:
    """Palette position of each name: that of its chosen colour, its fixed one, or the first free one."""
    index_of_colour = {colour.lower(): index for index, colour in enumerate(PALETTE)}
    home_of_method = {}
    for index, methods in enumerate(HOMES):
        for rank, method in enumerate(methods):
            home_of_method[method] = (rank, index)
    claims = [(index_of_colour.get(chosen_colours[name]), name) for name in names if name in chosen_colours]
    fixed_claims = []
    for name in names:
        canonical_name = method_spelling(name)
        if canonical_name in home_of_method:
            rank, index = home_of_method[canonical_name]
            fixed_claims.append((rank, index, name))
    # where two methods have the same position, the one of the lower rank takes it
    claims += [(index, name) for _, index, name in sorted(fixed_claims)]
    positions: dict[str, int] = {}
    for position, name in claims:
        if position is not None and name not in positions and position not in positions.values():
            positions[name] = position
    for name in names:
        if name not in positions:
            positions[name] = next(index for index in count() if index not in positions.values())
    return positions


def method_labels(
    labels: Labels, methods: Iterable[Hashable], references: Sequence[str] = ()
) -> dict[Any, str]:
    """Text of each method in a legend, references first."""
    texts = short_labels(labels, "method", methods, width=32, lines=2)
    return {method: texts[method] for method in sorted(texts, key=lambda method: method not in references)}


def group_scales(
    texts: Mapping[Any, str],
    references: Sequence[str] = (),
    aesthetics: Sequence[str] = ("color", "shape"),
    width: float = COLUMN_MM,
    *,
    labels: Labels | None = None,
    solid: bool = False,
) -> list[Any]:
    """Scales that tell methods, models or tasks apart, and the legend of a figure of a width in mm.

    `texts` has the text of each in the legend, `labels` are as for `method_styles`. If `solid`, the keys of
    the legend are opaque, whatever the marks in the panels are.
    """
    limits = list(texts.values())
    styles = list(method_styles(texts, references, labels).values())
    colours = [style.colour for style in styles]
    values = {
        "color": colours,
        "fill": colours,
        "shape": [style.shape for style in styles],
        "linetype": [style.line for style in styles],
    }
    key_style: dict[str, float] = {}
    if solid:
        key_style["alpha"] = 1
        if "linetype" not in aesthetics:
            key_style["size"] = 1.8
    n_columns = legend_columns(limits, width)
    scales = []
    guides = {}
    for aesthetic in aesthetics:
        scale = getattr(p9, f"scale_{aesthetic}_manual")
        scales.append(scale(values[aesthetic], limits=limits, name=""))
        # scales that share one guide object would show the keys of the last scale only
        guides[aesthetic] = p9.guide_legend(
            ncol=n_columns,
            byrow=True,
            override_aes=key_style if aesthetic == aesthetics[0] else {},
        )
    return [*scales, p9.guides(**guides)]


def legend_columns(texts: Sequence[str], width: float = COLUMN_MM) -> int:
    """Number of keys of a legend side by side in a figure of a width in mm."""
    for n_columns in range(len(texts), 1, -1):
        if legend_width(texts, n_columns) <= width - _SIDE_MM:
            return n_columns
    return 1


def legend_width(texts: Sequence[str], n_columns: int) -> float:
    """Width in mm of a legend whose keys stand in so many columns."""
    columns = [texts[first::n_columns] for first in range(n_columns)]
    return sum(max(map(text_mm, column)) + _KEY_MM for column in columns)


def centred_justification(content: float, left: float, panels: float, width: float) -> float:
    """Justification, from 0 (left) to 1 (right), that centres a title or legend above the panels.

    Arguments are widths in mm: of the title or legend, of the room at the left of the panels, of the panels
    and of the figure. A title wider than the panels stays within the figure.
    """
    if abs(panels - content) < 1:
        return 0.5
    centred_start = left + (panels - content) / 2
    start = max(min(centred_start, width - EDGE_MM - content), EDGE_MM)
    return float(np.clip((start - left) / (panels - content), 0, 1))


def legend_mm(texts: Sequence[str], width: float = COLUMN_MM) -> float:
    """Height in mm of a legend above the panels, 0 without texts."""
    if not texts:
        return 0.0
    n_lines = max(text.count("\n") + 1 for text in texts)
    n_rows = math.ceil(len(texts) / legend_columns(texts, width))
    return 2 + n_rows * (n_lines * LINE_MM + _ROW_GAP_MM)
