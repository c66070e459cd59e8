"""Colours and marks by method, and the legend that names them."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import plotnine as p9

from salstats.display.plots.text_fit import short_labels, text_mm
from salstats.display.plots.theme import COLUMN_MM, LINE_MM, category_colours, category_shapes
from salstats.display.text.labels import Labels

#: What a key of a legend takes beside its text.
_KEY_MM = 7.0
#: Room between the rows of a legend.
_ROW_MM = 1.6


def method_labels(
    labels: Labels, methods: Iterable[Hashable], references: Sequence[str] = ()
) -> dict[Any, str]:
    """Legend's text of each method, references first."""
    texts = short_labels(labels, "method", methods, 32, 2)
    return {m: texts[m] for m in sorted(texts, key=lambda m: m not in references)}


def mark_scales(texts: Mapping[Any, str], references: Sequence[str] = ()) -> list[Any]:
    """Scales of colour and mark, and a legend that fits a column, for texts of methods or models."""
    known, limits = [str(m) for m in texts], list(texts.values())
    colours = category_colours(known, list(references))
    shapes = category_shapes(known, list(references))
    ncol = legend_columns(limits)
    return [
        p9.scale_color_manual([colours[m] for m in known], limits=limits, name=""),
        p9.scale_shape_manual([shapes[m] for m in known], limits=limits, name=""),
        p9.theme(legend_text=p9.element_text(ma="left")),
        p9.guides(**{g: p9.guide_legend(ncol=ncol, byrow=True) for g in ("color", "shape")}),
    ]


def legend_columns(texts: Sequence[str], width: float = COLUMN_MM - 3) -> int:
    """How many keys of a legend stand side by side in a width in mm."""
    keys = [text_mm(text) + _KEY_MM for text in texts]
    for ncol in range(len(keys), 1, -1):
        if sum(max(keys[i::ncol]) for i in range(ncol)) <= width:
            return ncol
    return 1


def legend_width_mm(texts: Sequence[str]) -> float:
    """About how wide a legend is."""
    ncol = legend_columns(texts)
    return sum(max(text_mm(t) for t in texts[i::ncol]) + _KEY_MM for i in range(ncol)) if texts else 0.0


def legend_mm(texts: Sequence[str]) -> float:
    """Height of a legend above the panels."""
    rows = -(-len(texts) // legend_columns(texts))
    return 1 + rows * (max((t.count("\n") + 1 for t in texts), default=0) * LINE_MM + _ROW_MM)
