"""Distributions of covariates as nested boxes of letter values, a row per task, a panel per covariate."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9
from matplotlib.colors import LinearSegmentedColormap, to_hex

from salstats.checks import SalstatsError, check_columns, check_frame
from salstats.display.plots.layout.captions import groups_without_note
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.figure_rows import row_layout
from salstats.display.plots.layout.legends import legend_columns
from salstats.display.plots.layout.row_panels import panel_titles, row_panels
from salstats.display.plots.layout.text_fit import crossed, short_labels
from salstats.display.plots.layout.theme import REFERENCE
from salstats.display.text.format import count_range, percent_text
from salstats.display.text.labels import Labels
from salstats.stats.letter_values import OUTSIDE

_COLUMNS = ("covariate", "letter", "depth", "tail_share", "low", "high", "n", "n_missing", "n_outside")
#: Colours of the innermost and the outermost box: one hue that keeps its order in grey.
_INNER, _OUTER = (0.22, 0.42, 0.66), (0.87, 0.91, 0.96)
#: Height of the innermost box; the outermost still has a visible one.
_BOX_MM = 3.2
#: Width for the keys of the legend beside its title.
_LEGEND_MM = 78.0


@figures
def plot_letter_values(
    values: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Figure of the distributions of covariates: nested boxes of letter values.

    A row per task, a panel with its own axis per covariate. The innermost, highest and darkest box holds
    the middle half of the cases, the next one the middle three quarters, and so on; a line marks the median
    and dots the cases beyond the last box (extended data figure 8 of saporta2022).

    Parameters
    ----------
    values : DataFrame
        What `letter_values` returns, with or without the rows "outside".
    labels : Mapping, optional
        Labels and order of covariates and of the rows' values: `{"area_ratio": "Relative size"}`,
        `{"task": ["Edema", "Atelectasis"]}`.
    n_columns : int, optional
        Panels side by side; by default two, which fit a journal's column, or all three.
    width : float, optional
        Width of the figure in mm; by default 183 with panels side by side, else 89.

    Returns
    -------
    Figure
        Sized for a page, or for a column with one panel. Panels stand in the frame's order.

    Raises
    ------
    ColumnError
        A column that `letter_values` makes is missing.
    SalstatsError
        No covariate has a value; two values of a column are given the same label.

    Examples
    --------
    >>> import salstats as ss
    >>> values = ss.letter_values(ss.datasets.load_simulated(), ["elongation", "area_ratio"])
    >>> figure = ss.plot_letter_values(values, labels={"task": ["Edema", "Cardiomegaly"]})
    >>> type(figure).__name__
    'Figure'
    """
    check_columns(check_frame(values, "values"), _COLUMNS, "values")
    names, groups = Labels(labels, values), list(values.columns[: values.columns.get_loc("covariate")])
    if not (values["n"] > 0).any():
        raise SalstatsError("values has nothing to draw: no covariate has a value in any group")
    # "term" keeps the order asked for, where the values of other columns are sorted
    covariates = names.order("term", values.loc[values["n"] > 0, "covariate"])
    titles = names.texts("covariate", covariates)
    row = crossed(values, {c: short_labels(names, c, values[c]) for c in groups})
    rows = row_layout(list(row.categories), list(row.categories))
    panels = [titles[c] for c in covariates]
    drawn = values.assign(
        panel=pd.Categorical(values["covariate"].map(titles), panels, ordered=True), y=rows.centres_of(row)
    )
    drawn = drawn[drawn["n"] > 0]
    boxes, shares = _boxes(drawn)
    medians = drawn[drawn["letter"] == "M"].assign(
        ymin=lambda d: d["y"] - _BOX_MM / 2, ymax=lambda d: d["y"] + _BOX_MM / 2
    )
    outside = drawn[drawn["letter"] == OUTSIDE].melt(["panel", "y"], ["low", "high"], value_name="value")
    outside = outside.dropna(subset="value")
    nothing = groups_without_note(values[values["n"] == 0], [*groups, "covariate"], "a value", names)
    notes = [_meaning(boxes, outside), f"n = {count_range(drawn['n'])}.", nothing]
    panels, title, n_columns = panel_titles(drawn["panel"], n_columns)
    grid = row_panels(rows, panels, n_columns, width)
    figure = (
        p9.ggplot()
        + rows.layers()
        + p9.geom_rect(
            p9.aes(xmin="low", xmax="high", ymin="ymin", ymax="ymax", fill="middle"), data=boxes, size=0
        )
        + p9.geom_point(p9.aes(x="value", y="y"), data=outside, size=0.7, stroke=0, color=REFERENCE)
        + p9.geom_segment(
            p9.aes(x="low", xend="low", y="ymin", yend="ymax"), data=medians, size=0.7, color=REFERENCE
        )
        + p9.scale_fill_manual(_ramp(len(shares)), limits=shares, name="Middle")
        + p9.guides(fill=p9.guide_legend(ncol=legend_columns(shares, _LEGEND_MM), byrow=True))
        + grid.look(title, notes, shares)
        + p9.theme(
            legend_key_size=8,
            legend_title=p9.element_text(margin={"r": 4, "units": "pt"}),
            legend_title_position="left",
        )
    )
    return grid.pages(figure)


def _boxes(drawn: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Boxes, outermost first so that the inner ones lie on top, and the legend's texts."""
    boxes = drawn[(drawn["letter"] != "M") & (drawn["letter"] != OUTSIDE)]
    # the i-th letter cuts off 2^-i at each end
    rank = np.round(-np.log2(boxes["tail_share"])).astype(int) - 1
    n_boxes = int(rank.max()) if len(rank) else 0
    texts = [_share_text(100 * (1 - 0.5**i)) for i in range(1, n_boxes + 1)]
    half = _BOX_MM / 2 * (1 - (rank - 1) / max(n_boxes, 1))
    boxes = boxes.assign(
        middle=pd.Categorical([texts[i - 1] for i in rank], categories=texts, ordered=True),
        ymin=boxes["y"] - half,
        ymax=boxes["y"] + half,
    )
    return boxes.sort_values("tail_share", kind="stable").reset_index(drop=True), texts


def _share_text(percent: float) -> str:
    """Share with as few decimals as do not round it up to all."""
    digits = 0 if percent == round(percent) else 1
    while percent_text(percent, digits).startswith("100"):
        digits += 1
    return percent_text(percent, digits)


def _ramp(n: int) -> list[str]:
    """Colours from the innermost box to the outermost."""
    ramp = LinearSegmentedColormap.from_list("middle", [_INNER, _OUTER])
    return [to_hex(ramp(weight)) for weight in np.linspace(0, 1, n)]


def _meaning(boxes: pd.DataFrame, outside: pd.DataFrame) -> str:
    """What the marks mean."""
    parts = ["Line: median"]
    parts += ["boxes: the middle share of the cases"] if len(boxes) else []
    parts += [f"dots: {'cases beyond the last box' if len(boxes) else 'each case'}"] if len(outside) else []
    return f"{'; '.join(parts)}."
