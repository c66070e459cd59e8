"""Colours, marks and lines that belong to methods, and the legend that names them."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from salstats.display.text.labels import Labels, known_method
from salstats.study import HUMAN

#: What a key of a legend takes beside its text, room between its rows, and beside it.
_KEY_MM, _ROW_MM, _SIDE_MM = 8.5, 1.6, 8.0
#: Room at the edges of a figure.
EDGE_MM = 1.5


@dataclass(frozen=True)
class Look:
    """Colour, mark and type of line of a method."""

    colour: str
    shape: str
    line: Any


def looks(
    names: Iterable[Hashable], references: Sequence[str] = (), labels: Labels | None = None
) -> dict[str, Look]:
    """Look of each method, model or task, the same whatever others a figure shows.

    A well-known method has its place in the palette. Others take the free places in the order in which the
    labels name them or else that of their names; without `labels` in the order given. Where a figure shows
    fewer methods than another, colours are those of `labels` that name all of them, or that were made of
    the whole frame. References are black, and so is `human` where it is not compared with one that is shown.
    """
    shown = [str(name) for name in names]
    black = [name for name in references if name in shown] or [HUMAN]
    every = shown if labels is None else labels.methods(shown)
    chosen = {} if labels is None else labels.colours
    places = _places([name for name in every if name != HUMAN or HUMAN not in black], chosen)
    found = {}
    for name in shown:
        if name in black:
            look = Look(REFERENCE, REFERENCE_SHAPE, REFERENCE_LINE)
        else:
            n, i = divmod(places[name], len(PALETTE))
            # beyond the palette's length colour and mark shift against each other
            shape, line = (of[(i + n) % len(of)] for of in (SHAPES, LINETYPES))
            look = Look(PALETTE[i], shape, line)
        found[name] = look if name not in chosen else Look(chosen[name], look.shape, look.line)
    return found


def _places(names: Sequence[str], chosen: Mapping[str, str]) -> dict[str, int]:
    """Place of each name: that of a colour chosen for it, its home, or the first one that is free."""
    places: dict[str, int] = {}
    palette = {colour.lower(): i for i, colour in enumerate(PALETTE)}
    homes = {method: (rank, i) for i, home in enumerate(HOMES) for rank, method in enumerate(home)}
    wanted = [(-1, palette.get(chosen[name]), name) for name in names if name in chosen]
    found = [(*homes[known], name) for name in names if (known := known_method(name)) in homes]
    for _, place, name in [*wanted, *sorted(found)]:
        if place is not None and name not in places and place not in places.values():
            places[name] = place
    for name in names:
        if name not in places:
            places[name] = next(i for i in count() if i not in places.values())
    return places


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
    labels: Labels | None = None,
    solid: bool = False,
) -> list[Any]:
    """Scales of what tells methods, models or tasks apart, and one legend of a figure's width.

    `texts` has the legend's text of each, `labels` are as for `looks`; `solid` keys are not transparent,
    whatever their marks are.
    """
    limits, found = list(texts.values()), list(looks(texts, references, labels).values())
    colours = [look.colour for look in found]
    values = {
        "color": colours,
        "fill": colours,
        "shape": [look.shape for look in found],
        "linetype": [look.line for look in found],
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


def side(text: float, left: float, panels: float, width: float) -> float:
    """Where text is centred about panels without leaving the figure: 0 at their left to 1 at their right.

    `text`, `left` and `panels` are widths in mm: of the text, of what is left of the panels, and theirs.
    """
    if abs(panels - text) < 1:
        return 0.5
    start = max(min(left + (panels - text) / 2, width - EDGE_MM - text), EDGE_MM)
    return float(np.clip((start - left) / (panels - text), 0, 1))


def legend_mm(texts: Sequence[str], width: float = COLUMN_MM) -> float:
    """Height of a legend above the panels, 0 where there is none."""
    if not texts:
        return 0.0
    lines = max(text.count("\n") + 1 for text in texts)
    return 2 + -(-len(texts) // legend_columns(texts, width)) * (lines * LINE_MM + _ROW_MM)
