"""Panels of estimates: methods below each other, metrics side by side, models by colour."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.axis_ticks import tick_texts
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.legends import method_styles
from salstats.display.plots.layout.text_fit import caption, caption_chars, caption_height_mm
from salstats.display.plots.layout.theme import (
    GUIDE,
    PAGE_MM,
    figure_size,
    theme_salstats,
)
from salstats.display.text.labels import Labels

#: Height of a method's row.
_ROW_MM = 2.6
#: Height of each model within the row of a method.
_MODEL_MM = 1.5
#: Height of a panel's surroundings, and of the page's.
_PANEL_MM = 3.0
_AROUND_MM = 21.0
_MAX_HEIGHT_MM = 235.0
#: Part of the distance between two methods that the models of one method share.
_SPREAD = 0.6


def plot_dots(
    frame: pd.DataFrame,
    *,
    names: Labels,
    across: str,
    down: str | None,
    title: str,
    limits: tuple[float, float],
    breaks: Sequence[float],
    note: str = "",
    guide: float | None = None,
) -> Figure:
    """Plot estimates, with their limits where they have any.

    Parameters
    ----------
    frame : DataFrame
        Estimates by `method` and `model`.
    names : Labels
        Names and order of all values.
    across, down : str
        Columns whose values have panels side by side, and below each other.
    title : str
        Title of the axis.
    limits : tuple of float
        Ends of the axis.
    breaks : sequence of float
        Ticks of the axis.
    note : str
        Caption.
    guide : float, optional
        Position of a grey line.
    """
    methods = names.order("method", frame["method"])
    models = names.order("model", frame["model"])
    marks = frame.reset_index(drop=True).assign(
        y=_vertical_method_positions_with_model_offsets(frame, methods, models),
        model=names.categorical(frame, "model"),
        across=names.categorical(frame, across),
    )
    for column in ("conf_low", "conf_high"):
        if column in marks.columns:
            marks[column] = marks[column].astype("float64")
        else:
            marks[column] = np.nan
    n_down = 1
    facets: Any = p9.facet_grid(cols="across")
    if down is not None:
        marks["down"] = names.categorical(frame, down)
        n_down = marks["down"].nunique()
        facets = p9.facet_grid("down", "across")
    row_height = max(_ROW_MM, _MODEL_MM * len(models) + 0.8)
    panel_height = row_height * len(methods) + _PANEL_MM
    text = caption([note], caption_chars(PAGE_MM, 3))
    height = min(_AROUND_MM + n_down * panel_height + caption_height_mm(text), _MAX_HEIGHT_MM)
    lines: list[Any] = []
    if guide is not None:
        lines.append(p9.geom_vline(xintercept=guide, color=GUIDE, size=0.4))
    intervals = marks.dropna(subset=["conf_low", "conf_high"])
    if len(intervals):
        bars = p9.aes(x="conf_low", xend="conf_high", y="y", yend="y", color="model")
        lines.append(p9.geom_segment(bars, data=intervals, size=0.5, show_legend=False))
    model_styles = method_styles(marks["model"].cat.categories).values()
    return (
        Figure(marks, p9.aes("estimate", "y", color="model", shape="model"))
        + lines
        + p9.geom_point(size=1.3, stroke=0.2, na_rm=True)
        + facets
        + p9.scale_x_continuous(limits=limits, breaks=list(breaks), labels=tick_texts, expand=(0.03, 0))
        + p9.scale_y_continuous(
            # Methods are at 0, -1, -2, ...; the axis ends 0.4 beyond the first and the last.
            limits=(0.6 - len(methods), 0.4),
            breaks=[-i for i in range(len(methods))],
            labels=[names.value("method", m) for m in methods],
            expand=(0, 0.1),
        )
        + p9.scale_color_manual([style.colour for style in model_styles])
        + p9.scale_shape_manual([style.shape for style in model_styles])
        + p9.labs(x=title, y="", caption=text)
        + theme_salstats()
        + figure_size(PAGE_MM, height)
        + p9.theme(
            axis_title_y=p9.element_blank(),
            axis_line_y=p9.element_blank(),
            axis_ticks_major_y=p9.element_blank(),
            axis_ticks_minor=p9.element_blank(),
            panel_grid_major_y=p9.element_line(color="#EEEEEE", size=0.4),
            strip_text_y=p9.element_text(angle=0, ha="left"),
            panel_spacing_x=0.02,
            panel_spacing_y=0.012,
            plot_caption_position="plot",
            legend_box_spacing=2 / PAGE_MM,
        )
    )


def _vertical_method_positions_with_model_offsets(
    frame: pd.DataFrame, methods: Sequence[str], models: Sequence[str]
) -> list[float]:
    """Return the position of each row: methods at 0, -1, -2, ..., their models around that position."""
    step = _SPREAD / len(models)
    middle = (len(models) - 1) / 2
    positions = []
    for method, model in zip(frame["method"], frame["model"], strict=True):
        offset = (models.index(model) - middle) * step
        positions.append(-methods.index(method) - offset)
    return positions
