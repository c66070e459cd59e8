"""Densities of one image beside each other, over it, with the points where people looked."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.figure import plot_function
from salstats.display.plots.layout.picture_layer import (
    GROUND,
    colour_bar,
    geom_picture,
    scale_colours,
    tinted,
)
from salstats.display.plots.layout.text_fit import caption, caption_chars, caption_mm, chars_in, wrapped_texts
from salstats.display.plots.layout.theme import (
    MM_PER_PT,
    PAGE_MM,
    TEXT_PT,
    figure_size,
    picture_look,
    theme_salstats,
)
from salstats.images.printed_images import printed_shape, resize_for_print

_EDGE_MM, _GAP_MM, _LINE_MM, _BAR_MM = 1.5, 2.0, 1.3 * TEXT_PT * MM_PER_PT, 7.5
#: From this width on so many pictures stand beside each other, below it so few.
_WIDE_MM, _MOST, _FEW = 130.0, 5, 3


def share_per_pixel(values: np.ndarray) -> np.ndarray:
    """A map as shares of its sum above its least value; a constant one is the same everywhere.

    A density, whose least value may be above 0, is to be divided by its sum instead.
    """
    above = values.astype(np.float64) - values.min()
    total = above.sum()
    return above / total if total > 0 else np.full(values.shape, 1 / values.size)


@plot_function
def plot_densities(
    maps: Mapping[str, np.ndarray | None],
    *,
    grey: np.ndarray | None = None,
    lines: Mapping[str, Sequence[np.ndarray]] | None = None,
    points: Mapping[str, np.ndarray] | None = None,
    notes: Sequence[str] = (),
    width: float = PAGE_MM,
) -> p9.ggplot:
    """Maps of one image laid over it beside each other, all in shares per pixel on one colour scale.

    A panel without a map shows the image; `lines` and `points` (row, col) of panels are drawn upon it. The
    ground is grey where no image is given.
    """
    known = {name: found for name, found in maps.items() if found is not None}
    rows, cols = next(iter(known.values())).shape
    ncol = -(-len(maps) // -(-len(maps) // (_MOST if width >= _WIDE_MM else _FEW)))
    nrow = -(-len(maps) // ncol)
    box = (width - 2 * _EDGE_MM - (ncol - 1) * _GAP_MM) / ncol
    tall = box * rows / cols
    largest = max(float(found.max()) for found in known.values())
    power = int(np.floor(np.log10(largest)))
    printed = printed_shape((rows, cols), max(box, tall))
    ground = np.full(printed, GROUND) if grey is None else resize_for_print(grey, printed)
    drawn = {
        name: tinted(
            ground, None if found is None else np.clip(resize_for_print(found, printed) / largest, 0, 1)
        )
        for name, found in maps.items()
    }
    texts = wrapped_texts(list(maps), chars_in(box - 2, bold=True))
    n_lines = [t.count("\n") + 1 for t in texts.values()]
    strips = sum(max(n_lines[i : i + ncol]) * _LINE_MM + 1.5 for i in range(0, len(n_lines), ncol))
    titles = pd.Categorical(list(maps), categories=list(maps), ordered=True)
    table = pd.DataFrame(
        {
            "picture": titles,
            "height": rows,
            "width": cols,
            "largest": [np.nan if found is None else float(found.max()) for found in maps.values()],
            "label": list(maps),
        }
    )
    key = pd.DataFrame({"picture": titles[[0, 0]], "share": [0.0, largest / 10.0**power], "at": 0.0})
    text = caption(notes, caption_chars(width, 3))
    height = 2 * _EDGE_MM + nrow * tall + strips + (nrow - 1) * _GAP_MM + _BAR_MM + caption_mm(text)
    exponent = f" \u00d7 10{_superscript(power)}" if power else ""
    return (
        p9.ggplot(table)
        + geom_picture(
            p9.aes(xmin=0, xmax="width", ymin=0, ymax="height", label="label"),
            pictures=drawn,
            show_legend=False,
        )
        + p9.geom_rect(
            p9.aes(xmin="at", xmax="at", ymin="at", ymax="at", fill="share"), key, size=0, inherit_aes=False
        )
        + p9.scale_fill_gradientn(scale_colours(), limits=(0, largest / 10.0**power))
        + p9.guides(fill=colour_bar(f"Share per pixel{exponent}", 60))
        + _drawn_upon(titles.dtype, rows, lines or {}, points or {})
        + p9.facet_wrap("picture", ncol=ncol, labeller=lambda title: texts[title])
        + p9.coord_fixed(xlim=(0, cols), ylim=(0, rows), expand=False)
        + p9.labs(x="", y="", caption=text)
        + theme_salstats()
        + picture_look(width, _GAP_MM, _EDGE_MM)
        + p9.theme(strip_text=p9.element_text(va="bottom", margin={"l": 0, "b": 2, "unit": "pt"}))
        + figure_size(width, height)
    )


def _drawn_upon(
    titles: pd.CategoricalDtype,
    height: int,
    lines: Mapping[str, Sequence[np.ndarray]],
    points: Mapping[str, np.ndarray],
) -> list[Any]:
    """Outlines and points (row, col) of panels, light on dark, which show on black and on white."""

    def placed(of: Mapping[str, Sequence[np.ndarray]]) -> pd.DataFrame:
        """Each line or set of points on its panel's axes, which have 0 at the bottom."""
        parts = [
            pd.DataFrame({"x": at[:, 1], "y": height - at[:, 0], "picture": title, "line": f"{title} {i}"})
            for title, own in of.items()
            for i, at in enumerate(own)
        ]
        found = pd.concat(parts) if parts else pd.DataFrame({"x": [], "y": [], "picture": [], "line": []})
        return found.assign(picture=pd.Categorical(found["picture"], dtype=titles))

    outlined, at = placed(lines), placed({title: [found + 0.5] for title, found in points.items()})
    where: dict[str, Any] = {"mapping": p9.aes("x", "y", group="line"), "show_legend": False}
    return [
        *(
            p9.geom_path(data=outlined, color=colour, size=size, **where)
            for colour, size in (("black", 1.1), ("white", 0.5))
            if len(outlined)
        ),
        *(
            p9.geom_point(data=at, color=colour, size=size, stroke=0, **where)
            for colour, size in (("black", 1.2), ("white", 0.7))
            if len(at)
        ),
    ]


def _superscript(power: int) -> str:
    """A whole number in superscript."""
    return str(power).translate(
        str.maketrans("-0123456789", "\u207b\u2070¹²³\u2074\u2075\u2076\u2077\u2078\u2079")
    )
