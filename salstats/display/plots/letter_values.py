"""Distributions of covariates as nested boxes of letter values."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9
from matplotlib.colors import LinearSegmentedColormap, to_hex

from salstats.checks import check_columns, check_frame
from salstats.display.plots.layout.captions import groups_without_value_note
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.figure_rows import row_layout
from salstats.display.plots.layout.legends import n_legend_columns
from salstats.display.plots.layout.row_panels import panel_and_axis_titles, row_panels
from salstats.display.plots.layout.text_fit import crossed_labels, short_labels
from salstats.display.plots.layout.theme import REFERENCE_COLOUR
from salstats.display.text.format import count_range_text, percent_text
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.stats.letter_values import OUTSIDE

_REQUIRED_COLUMNS = (
    "covariate",
    "letter",
    "depth",
    "tail_share",
    "low",
    "high",
    "n",
    "n_missing",
    "n_outside",
)
#: Red, green and blue of the innermost and the outermost box: shades of one hue, which keep their order in
#: grey.
_INNER_COLOUR = (0.22, 0.42, 0.66)
_OUTER_COLOUR = (0.87, 0.91, 0.96)
#: Height in mm of the innermost box.
_BOX_MM = 3.2
#: Width in mm of the keys of the legend beside its title.
_LEGEND_WIDTH_MM = 78.0
#: Letter of the median in Tukey's notation.
_MEDIAN = "M"


@keep_call_in_figure
def plot_letter_values(
    values: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw the distributions of covariates as nested boxes of letter values.

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
        Panels side by side; by default two, or three if there are just three.
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
    check_columns(check_frame(values, "values"), _REQUIRED_COLUMNS, "values")
    frame_labels = Labels(labels, values)
    # the grouping columns stand before the covariate
    groups = list(values.columns[: values.columns.get_loc("covariate")])
    has_values = values["n"] > 0
    if not has_values.any():
        raise SalstatsError("values has nothing to draw: no covariate has a value in any group", column="n")
    # values of the column "term" keep the order of the frame, those of other columns would be sorted
    covariates = frame_labels.order("term", values.loc[has_values, "covariate"])
    titles = frame_labels.label_by_value("covariate", covariates)
    row = crossed_labels(
        values, {column: short_labels(frame_labels, column, values[column]) for column in groups}
    )
    rows = row_layout(list(row.categories), list(row.categories))
    panel = pd.Categorical(
        values["covariate"].map(titles), [titles[covariate] for covariate in covariates], ordered=True
    )
    defined_values = values.assign(panel=panel, y=rows.centres_mm_of(row))[has_values]
    boxes, legend = _letter_value_boxes_and_legend_texts(defined_values)
    medians = defined_values[defined_values["letter"] == _MEDIAN]
    medians = medians.assign(ymin=medians["y"] - _BOX_MM / 2, ymax=medians["y"] + _BOX_MM / 2)
    outside = defined_values[defined_values["letter"] == OUTSIDE].melt(
        ["panel", "y"], ["low", "high"], value_name="value"
    )
    outside = outside.dropna(subset="value")
    notes = [
        _marks_note(boxes, outside),
        f"n = {count_range_text(defined_values['n'])}.",
        groups_without_value_note(values[values["n"] == 0], [*groups, "covariate"], "a value", frame_labels),
    ]
    panels, axis_title, n_columns = panel_and_axis_titles(defined_values["panel"], n_columns)
    grid = row_panels(rows, panels, n_columns, width)
    box = p9.aes(xmin="low", xmax="high", ymin="ymin", ymax="ymax", fill="middle")
    median = p9.aes(x="low", xend="low", y="ymin", yend="ymax")
    figure = (
        Figure()
        + rows.axis_and_stripe_layers()
        + p9.geom_rect(box, data=boxes, size=0)
        + p9.geom_point(p9.aes(x="value", y="y"), data=outside, size=0.7, stroke=0, color=REFERENCE_COLOUR)
        + p9.geom_segment(median, data=medians, size=0.7, color=REFERENCE_COLOUR)
        + p9.scale_fill_manual(_box_colours(len(legend)), limits=legend, name="Middle")
        + p9.guides(fill=p9.guide_legend(ncol=n_legend_columns(legend, _LEGEND_WIDTH_MM), byrow=True))
        + grid.elements(axis_title, notes, legend)
        + p9.theme(
            legend_key_size=8,
            legend_title=p9.element_text(margin={"r": 4, "unit": "pt"}),
            legend_title_position="left",
        )
    )
    return grid.divided_into_pages(figure)


def _letter_value_boxes_and_legend_texts(defined_values: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return letter-value boxes, outermost first so that inner ones lie on top, and the texts of the legend.

    Boxes have the columns `middle` (text of the share of cases in the box), `ymin` and `ymax` (edges in mm).
    """
    boxes = defined_values[~defined_values["letter"].isin([_MEDIAN, OUTSIDE])]
    # letter value i cuts off a share of 2^-i at each end; the first is the median, the second bounds box 1
    letter_number = np.round(-np.log2(boxes["tail_share"])).astype(int)
    box_number = letter_number - 1
    n_boxes = int(max(box_number, default=0))
    texts = []
    for number in range(1, n_boxes + 1):
        share_in_box = 1 - 0.5**number
        texts.append(_share_text(100 * share_in_box))
    # heights fall from that of box 1 in equal steps, and the outermost box is still visible
    height = _BOX_MM * (1 - (box_number - 1) / max(n_boxes, 1))
    middle = [texts[number - 1] for number in box_number]
    boxes = boxes.assign(
        middle=pd.Categorical(middle, categories=texts, ordered=True),
        ymin=boxes["y"] - height / 2,
        ymax=boxes["y"] + height / 2,
    )
    return boxes.sort_values("tail_share", kind="stable").reset_index(drop=True), texts


def _share_text(percent: float) -> str:
    """Return a percentage as text, with as few decimals as keep it from being rounded to 100 %."""
    is_integer = percent == round(percent)
    digits = 0 if is_integer else 1
    while percent_text(percent, digits).startswith("100"):
        digits += 1
    return percent_text(percent, digits)


def _box_colours(n_boxes: int) -> list[str]:
    """Return the colours of `n_boxes` boxes, the innermost first."""
    colour_map = LinearSegmentedColormap.from_list("middle", [_INNER_COLOUR, _OUTER_COLOUR])
    return [to_hex(colour_map(position)) for position in np.linspace(0, 1, n_boxes)]


def _marks_note(boxes: pd.DataFrame, outside: pd.DataFrame) -> str:
    """Return a sentence on the line and, where they are drawn, on boxes and dots."""
    marks = ["Line: median"]
    if len(boxes):
        marks.append("boxes: the middle share of the cases")
    if len(outside) and len(boxes):
        marks.append("dots: cases beyond the last box")
    elif len(outside):
        marks.append("dots: each case")
    return f"{'; '.join(marks)}."
