"""Figures of several densities of one image, drawn over it, with the points where people looked."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.picture_layer import (
    DEFAULT_STYLE,
    GROUND,
    colour_bar,
    geom_picture,
)
from salstats.display.plots.layout.text_fit import (
    caption,
    caption_chars,
    caption_height_mm,
    chars_in,
    text_width_mm,
    wrapped_texts,
)
from salstats.display.plots.layout.theme import (
    MM_PER_PT,
    PAGE_MM,
    TEXT_PT,
    figure_size,
    picture_theme,
    theme_salstats,
)
from salstats.images.printed_images import printed_shape, resize_for_print

_EDGE_MM = 1.5
_GAP_MM = 2.0
_LINE_MM = 1.3 * TEXT_PT * MM_PER_PT
_STRIP_PADDING_MM = 1.5
_TITLE_PADDING_MM = 2.0
_COLOUR_BAR_MM = 7.5
#: Figures from this width on have up to five columns, narrower ones up to three.
_WIDE_MM = 130.0
_MAX_COLUMNS_WIDE = 5
_MAX_COLUMNS_NARROW = 3
#: Note to a figure of maps made by `shares_above_minimum` and of densities, which keep their smallest value.
SHARES_NOTE = "Each map sums to 1, a saliency map after its smallest value is subtracted."
_SUPERSCRIPTS = str.maketrans("-0123456789", "\u207b\u2070¹²³\u2074\u2075\u2076\u2077\u2078\u2079")


def shares_above_minimum(values: np.ndarray) -> np.ndarray:
    """Return a map as shares of its sum above its smallest value; a constant map becomes uniform.

    A density, whose smallest value may be above 0, is to be divided by its sum instead.
    """
    raised = values.astype(np.float64) - values.min()
    total = raised.sum()
    if total > 0:
        return raised / total
    return np.full(values.shape, 1 / values.size)


@keep_call_in_figure
def plot_densities(
    maps: Mapping[str, np.ndarray | None],
    *,
    grey: np.ndarray | None = None,
    lines: Mapping[str, Sequence[np.ndarray]] | None = None,
    points: Mapping[str, np.ndarray] | None = None,
    notes: Sequence[str] = (),
    width: float = PAGE_MM,
) -> Figure:
    """Draw maps of one image over it, in panels with one colour scale of shares per pixel.

    A panel without a map shows the image. `lines` and `points`, (row, col), are drawn over the panels of
    their names: lines are measured from the upper left corner of pixel (0, 0), points from its centre. The
    background is grey if no image is given.
    """
    largest_by_map = {name: float(shares.max()) for name, shares in maps.items() if shares is not None}
    n_rows, n_cols = next(shares.shape for shares in maps.values() if shares is not None)
    largest = max(largest_by_map.values())
    exponent = int(np.floor(np.log10(largest)))
    scale_end = largest / 10.0**exponent

    max_columns = _MAX_COLUMNS_WIDE if width >= _WIDE_MM else _MAX_COLUMNS_NARROW
    # a panel is wide enough for the widest word of all titles
    words = " ".join(maps).split()
    widest_word = max(text_width_mm(word, bold=True) for word in words)
    n_fitting = int((width - 2 * _EDGE_MM + _GAP_MM) // (widest_word + _TITLE_PADDING_MM + _GAP_MM))
    max_columns = max(min(max_columns, n_fitting), 1)
    n_panel_rows = math.ceil(len(maps) / max_columns)
    # panels are spread evenly over the rows of the figure
    n_panel_cols = math.ceil(len(maps) / n_panel_rows)
    panel_width = (width - 2 * _EDGE_MM - (n_panel_cols - 1) * _GAP_MM) / n_panel_cols
    panel_height = panel_width * n_rows / n_cols

    printed = printed_shape((n_rows, n_cols), max(panel_width, panel_height))
    ground = np.full(printed, GROUND)
    if grey is not None:
        ground = resize_for_print(grey, printed)
    pictures = {}
    for name, shares in maps.items():
        tint = None
        if shares is not None:
            tint = np.clip(resize_for_print(shares, printed) / largest, 0, 1)
        pictures[name] = DEFAULT_STYLE.tinted_image(ground, tint)

    title_chars = chars_in(panel_width - _TITLE_PADDING_MM, bold=True)
    titles = wrapped_texts(list(maps), title_chars, max_lines=None)
    n_lines = [title.count("\n") + 1 for title in titles.values()]
    strips_height = 0.0
    for start in range(0, len(n_lines), n_panel_cols):
        strips_height += max(n_lines[start : start + n_panel_cols]) * _LINE_MM + _STRIP_PADDING_MM
    note = caption(notes, caption_chars(width))
    height = (
        2 * _EDGE_MM
        + n_panel_rows * panel_height
        + strips_height
        + (n_panel_rows - 1) * _GAP_MM
        + _COLOUR_BAR_MM
        + caption_height_mm(note)
    )

    panels = pd.Categorical(list(maps), categories=list(maps), ordered=True)
    data = pd.DataFrame(
        {
            "picture": panels,
            "height": n_rows,
            "width": n_cols,
            "largest": [largest_by_map.get(name, np.nan) for name in maps],
            "label": list(maps),
        }
    )
    # rectangles without extent: they only carry the ends of the colour scale
    scale_ends = pd.DataFrame({"picture": panels[[0, 0]], "share": [0.0, scale_end], "at": 0.0})
    unit = ""
    if exponent:
        unit = f" \u00d7 10{str(exponent).translate(_SUPERSCRIPTS)}"
    return (
        Figure(data)
        + geom_picture(
            p9.aes(xmin=0, xmax="width", ymin=0, ymax="height", label="label"),
            pictures=pictures,
            show_legend=False,
        )
        + p9.geom_rect(
            p9.aes(xmin="at", xmax="at", ymin="at", ymax="at", fill="share"),
            scale_ends,
            size=0,
            inherit_aes=False,
        )
        + p9.scale_fill_gradientn(DEFAULT_STYLE.scale_colours(), limits=(0, scale_end))
        + p9.guides(fill=colour_bar(f"Share per pixel{unit}", width_pt=60))
        + _line_layers(_plot_coordinates(lines or {}, list(maps), n_rows))
        + _point_layers(_plot_coordinates(_points_from_image_corner(points or {}), list(maps), n_rows))
        + p9.facet_wrap("picture", ncol=n_panel_cols, labeller=p9.labeller(picture=titles.__getitem__))
        + p9.coord_fixed(xlim=(0, n_cols), ylim=(0, n_rows), expand=False)
        + p9.labs(x="", y="", caption=note)
        + theme_salstats()
        + picture_theme(width, _GAP_MM, _EDGE_MM)
        + p9.theme(strip_text=p9.element_text(va="bottom", margin={"l": 0, "b": 2, "unit": "pt"}))
        + figure_size(width, height)
    )


def _points_from_image_corner(points: Mapping[str, np.ndarray]) -> dict[str, list[np.ndarray]]:
    """Return points by panel, counted from the upper left corner of pixel (0, 0) instead of its centre."""
    return {panel: [panel_points + 0.5] for panel, panel_points in points.items()}


def _plot_coordinates(
    lines: Mapping[str, Sequence[np.ndarray]], panels: Sequence[str], height: int
) -> pd.DataFrame:
    """Return lines or sets of points (row, col) of panels as x and y, with y from the bottom of the image."""
    frames = []
    for panel, panel_lines in lines.items():
        for number, line in enumerate(panel_lines):
            x = line[:, 1]
            y = height - line[:, 0]
            frames.append(pd.DataFrame({"x": x, "y": y, "picture": panel, "line": f"{panel} {number}"}))
    if not frames:
        return pd.DataFrame({"x": [], "y": [], "picture": [], "line": []})
    frame = pd.concat(frames)
    panel_order = pd.CategoricalDtype(list(panels), ordered=True)
    return frame.astype({"picture": panel_order})


def _line_layers(lines: pd.DataFrame) -> list[Any]:
    """Return layers of white outlines with black rims, visible on black and on white."""
    layers = []
    if len(lines):
        for colour, size in (("black", 1.1), ("white", 0.5)):
            mapping = p9.aes("x", "y", group="line")
            layers.append(p9.geom_path(mapping, lines, color=colour, size=size, show_legend=False))
    return layers


def _point_layers(points: pd.DataFrame) -> list[Any]:
    """Return layers of white points with black rims, visible on black and on white."""
    layers = []
    if len(points):
        for colour, size in (("black", 1.2), ("white", 0.7)):
            mapping = p9.aes("x", "y")
            layers.append(
                p9.geom_point(mapping, points, color=colour, size=size, stroke=0, show_legend=False)
            )
    return layers
