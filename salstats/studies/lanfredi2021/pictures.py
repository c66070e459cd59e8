"""One case as pictures: where readers looked, where they look on any image, a map, and the lungs' hull."""

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, ShapeError
from salstats.display.plots import panels as shared
from salstats.display.plots.panel_grid import caption_chars, wrapped_titles
from salstats.display.plots.picture import geom_picture
from salstats.display.plots.theme import PAGE_MM, TEXT_PT, figure_size, theme_salstats
from salstats.images.pictures import printed_shape, resized

_COLOURS = "inferno"
_EDGE_MM, _GAP_MM, _LINE_MM, _BAR_MM = 1.5, 2.0, 1.3 * TEXT_PT * shared.MM_PER_PT, 7.5
#: Below this width two pictures stand beside each other, else four.
_WIDE_MM = 130.0


def share_per_pixel(values: np.ndarray) -> np.ndarray:
    """Return a map as shares of its sum above its least value; a constant one is the same everywhere.

    A density, whose least value may be above 0, is to be divided by its sum instead.
    """
    above = values.astype(np.float64) - values.min()
    total = above.sum()
    return above / total if total > 0 else np.full(values.shape, 1 / values.size)


def plot_pictures(pictures: Mapping[str, np.ndarray], *, note: str = "", width: float = PAGE_MM) -> p9.ggplot:
    """Return maps of one image beside each other, all in shares per pixel on one colour scale.

    Parameters
    ----------
    pictures : mapping of str to ndarray of float, shape (M, N)
        Title -> shares that sum to 1, all of the same shape.
    note : str
        The caption.
    width : float
        Of the figure in mm: four pictures in a row from 130 mm on, else two.

    Returns
    -------
    ggplot
        Its `data` has a row per picture: `picture, height, width, largest`.
    """
    if not pictures:
        raise SalstatsError("there is no map to draw")
    shapes = {p.shape for p in pictures.values()}
    if len(shapes) > 1:
        raise ShapeError(f"the maps of one image must have one shape, not {sorted(shapes)}")
    (rows, cols) = shapes.pop()
    ncol = min(4 if width >= _WIDE_MM else 2, len(pictures))
    nrow = -(-len(pictures) // ncol)
    box = (width - 2 * _EDGE_MM - (ncol - 1) * _GAP_MM) / ncol
    tall = box * rows / cols
    largest = max(float(p.max()) for p in pictures.values())
    power = int(np.floor(np.log10(largest)))
    printed = printed_shape((rows, cols), max(box, tall))
    colours = mpl.colormaps[_COLOURS]
    drawn = {
        name: np.asarray(255 * colours(np.clip(resized(p, printed) / largest, 0, 1))[..., :3], np.uint8)
        for name, p in pictures.items()
    }
    texts = wrapped_titles(list(pictures), box - 2)
    lines = [t.count("\n") + 1 for t in texts.values()]
    strips = sum(max(lines[i : i + ncol]) * _LINE_MM + 1.5 for i in range(0, len(lines), ncol))
    titles = pd.Categorical(list(pictures), categories=list(pictures), ordered=True)
    table = pd.DataFrame(
        {
            "picture": titles,
            "height": rows,
            "width": cols,
            "largest": [float(p.max()) for p in pictures.values()],
            "label": list(pictures),
        }
    )
    key = pd.DataFrame({"picture": titles[[0, 0]], "share": [0.0, largest / 10.0**power], "at": 0.0})
    text = shared.caption([note], caption_chars(width, 3)) if note else ""
    height = 2 * _EDGE_MM + nrow * tall + strips + (nrow - 1) * _GAP_MM + _BAR_MM + shared.caption_mm(text)
    exponent = f" \u00d7 10{_superscript(power)}" if power else ""
    guide = p9.guide_colorbar(
        position="bottom",
        direction="horizontal",
        title=f"Share per pixel{exponent}",
        theme=p9.theme(
            legend_title=p9.element_text(size=TEXT_PT, va="top", margin={"r": 4, "unit": "pt"}),
            legend_title_position="left",
            legend_key_width=60,
            legend_key_height=6,
            legend_text=p9.element_text(size=TEXT_PT - 1),
        ),
    )
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
        + p9.scale_fill_gradientn(
            [mpl.colors.to_hex(c) for c in colours(np.linspace(0, 1, 21))],
            limits=(0, largest / 10.0**power),
        )
        + p9.guides(fill=guide)
        + p9.facet_wrap("picture", ncol=ncol, labeller=lambda title: texts[title])
        + p9.coord_fixed(xlim=(0, cols), ylim=(0, rows), expand=False)
        + p9.labs(x="", y="", caption=text)
        + theme_salstats()
        + p9.theme(
            axis_title=p9.element_blank(),
            axis_text=p9.element_blank(),
            axis_ticks=p9.element_blank(),
            axis_line=p9.element_blank(),
            panel_spacing=_GAP_MM / width,
            plot_margin=_EDGE_MM / width,
            plot_caption_position="plot",
            legend_box_spacing=1 / width,
            strip_text=p9.element_text(va="bottom", margin={"l": 0, "b": 2, "unit": "pt"}),
        )
        + figure_size(width, height)
    )


def _superscript(power: int) -> str:
    """Return a whole number in superscript."""
    return str(power).translate(
        str.maketrans("-0123456789", "\u207b\u2070¹²³\u2074\u2075\u2076\u2077\u2078\u2079")
    )
