"""Colours, marks and lines by method, and the legend that names them."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import plotnine as p9

from salstats.display.plots.text_fit import short_labels, text_mm
from salstats.display.plots.theme import COLUMN_MM, LINE_MM, category_colours, category_shapes, line_types
from salstats.display.text.labels import Labels

#: What a key of a legend takes beside its text, room between its rows, and beside it.
_KEY_MM, _ROW_MM, _SIDE_MM = 8.5, 1.6, 8.0


def method_labels(
    labels: Labels, methods: Iterable[Hashable], references: Sequence[str] = ()
) -> dict[Any, str]:
    """Legend's text of each method, references first."""
    texts = short_labels(labels, "method", methods, 32, 2)
    return {m: texts[m] for m in sorted(texts, key=lambda m: m not in references)}


def group_scales(
    texts: Mapping[Any, str],
    references: Sequence[str] = (),
    aesthetics: Sequence[str] = ("color", "shape"),
    width: float = COLUMN_MM,
    *,
    solid: bool = False,
) -> list[Any]:
    """Scales of what tells methods, models or tasks apart, and one legend of a figure's width.

    `texts` has the legend's text of each; `solid` keys are not transparent, whatever their marks are.
    """
    known, limits = [str(m) for m in texts], list(texts.values())
    colours = list(category_colours(known, list(references)).values())
    values = {
        "color": colours,
        "fill": colours,
        "shape": list(category_shapes(known, list(references)).values()),
        "linetype": line_types(len(known)),
    }
    ncol = legend_columns(limits, width)
    keys: dict[str, float] = {"alpha": 1} if solid else {}
    if solid and "linetype" not in aesthetics:
        keys["size"] = 1.8
    return [
        *(getattr(p9, f"scale_{a}_manual")(values[a], limits=limits, name="") for a in aesthetics),
        # a guide of its own for each: one object for all would keep the keys of the last only
        p9.guides(
            **{
                a: p9.guide_legend(ncol=ncol, byrow=True, override_aes=keys if a == aesthetics[0] else {})
                for a in aesthetics
            }
        ),
    ]


def legend_columns(texts: Sequence[str], width: float = COLUMN_MM) -> int:
    """How many keys of a legend stand side by side in a figure of a width in mm."""
    fitting = (n for n in range(len(texts), 1, -1) if legend_width(texts, n) <= width - _SIDE_MM)
    return next(fitting, 1)


def legend_width(texts: Sequence[str], n_columns: int) -> float:
    """Width in mm of a legend with so many keys side by side."""
    return sum(max(map(text_mm, texts[i::n_columns])) + _KEY_MM for i in range(n_columns))


def legend_mm(texts: Sequence[str], width: float = COLUMN_MM) -> float:
    """Height of a legend above the panels, 0 where there is none."""
    if not texts:
        return 0.0
    lines = max(text.count("\n") + 1 for text in texts)
    return 1 + -(-len(texts) // legend_columns(texts, width)) * (lines * LINE_MM + _ROW_MM)
