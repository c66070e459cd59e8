"""Panels of estimates: methods below each other, metrics side by side, models by colour."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.layout.axis_ticks import tick_texts
from salstats.display.plots.layout.legends import method_styles
from salstats.display.plots.layout.text_fit import caption, caption_chars, caption_mm
from salstats.display.plots.layout.theme import (
    GUIDE,
    PAGE_MM,
    figure_size,
    theme_salstats,
)
from salstats.display.text.labels import Labels

#: Height of a method's row and of the models within it; of a panel's surroundings; of the page.
_ROW_MM, _EACH_MM, _PANEL_MM, _AROUND_MM, _HIGHEST_MM = 2.6, 1.5, 3.0, 21.0, 235.0
#: Room that models of one method share, of the distance between two methods.
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
) -> p9.ggplot:
    """Estimates with their limits, where they have any."""
    methods, models = (names.order(c, frame[c]) for c in ("method", "model"))
    step = _SPREAD / len(models)
    drawn = frame.reset_index(drop=True).assign(
        y=[
            -methods.index(m) - (models.index(n) - (len(models) - 1) / 2) * step
            for m, n in zip(frame["method"], frame["model"], strict=True)
        ],
        model=names.categorical(frame, "model"),
        across=names.categorical(frame, across),
    )
    # columns that are there without a value have no limits to draw
    for column in ("conf_low", "conf_high"):
        drawn[column] = drawn[column].astype("float64") if column in drawn.columns else np.nan
    if down is not None:
        drawn["down"] = names.categorical(frame, down)
    own = method_styles(drawn["model"].cat.categories).values()
    n_down = 1 if down is None else drawn["down"].nunique()
    height = max(_ROW_MM, _EACH_MM * len(models) + 0.8) * len(methods) + _PANEL_MM
    text = caption([note], caption_chars(PAGE_MM, 3))
    total = min(_AROUND_MM + n_down * height + caption_mm(text), _HIGHEST_MM)
    marks: list[Any] = [] if guide is None else [p9.geom_vline(xintercept=guide, color=GUIDE, size=0.4)]
    ranged = drawn.dropna(subset=["conf_low", "conf_high"])
    if len(ranged):
        bars = p9.aes(x="conf_low", xend="conf_high", y="y", yend="y", color="model")
        marks.append(p9.geom_segment(bars, data=ranged, size=0.5, show_legend=False))
    facets = p9.facet_grid(cols="across") if down is None else p9.facet_grid("down", "across")
    return (
        p9.ggplot(drawn, p9.aes("estimate", "y", color="model", shape="model"))
        + marks
        + p9.geom_point(size=1.3, stroke=0.2, na_rm=True)
        + facets
        + p9.scale_x_continuous(limits=limits, breaks=list(breaks), labels=tick_texts, expand=(0.03, 0))
        + p9.scale_y_continuous(
            limits=(0.6 - len(methods), 0.4),
            breaks=[-i for i in range(len(methods))],
            labels=[names.value("method", m) for m in methods],
            expand=(0, 0.1),
        )
        + p9.scale_color_manual([look.colour for look in own])
        + p9.scale_shape_manual([look.shape for look in own])
        + p9.labs(x=title, y="", caption=text)
        + theme_salstats()
        + figure_size(PAGE_MM, total)
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
