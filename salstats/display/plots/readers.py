"""Performance of each reader with each method, with means over readers and their intervals."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, check_rows_are_distinct, read_estimates
from salstats.display.facts import interval_caption, not_drawn_sentence
from salstats.display.plots.layout.axis_ticks import number_axes
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.estimate_drawing import only_varying_column, rows_with_estimate
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import (
    crossed_labels,
    label_line_chars,
    short_labels,
    text_width_mm,
)
from salstats.display.plots.layout.theme import COLUMN_MM, GUIDE, LINE_MM, MUTED, PAGE_MM, REFERENCE_COLOUR
from salstats.display.text.labels import Labels
from salstats.errors import Call, Message, SalstatsError

#: Least height in mm of a method's row, and room beside its name.
_ROW_MM = 8.0
_NAME_GAP_MM = 3.0
#: Distance of a mean below its readers, as a share of a row.
_MEAN_OFFSET = 0.25
#: Characters of a line of a method's name, and most lines.
_NAME_CHARS = 32
_NAME_LINES = 3


@keep_call_in_figure
def plot_readers(
    readers: pd.DataFrame,
    *,
    means: pd.DataFrame | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw readers: a line for each from method to method, and their mean with its limits below them.

    Parameters
    ----------
    readers : DataFrame
        What `mrmc_readers` returns. `metric` and one further grouping column make panels.
    means : DataFrame, optional
        What `mrmc` returns for the same scores: its rows "mean" are drawn.
    labels : Mapping, optional
        Labels and order of metrics, methods and the further column's values.
    n_columns : int, optional
        Panels side by side; by default one where there are several metrics.
    width : float, optional
        Width of the figure in mm; by default 89 for up to four panels, else 183.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` are the performances of the readers, with `panel` and
        `place`, the vertical position of the method: 0 for the first, -1 for the second, and so on.

    Raises
    ------
    ColumnError
        A column is missing, or holds text where numbers belong.
    SalstatsError
        Two performances of one reader in one panel; several further grouping columns; nothing but missing
        performances; `means` of other methods or groups.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> scores = pd.DataFrame({"case": list("aabbcc"), "reader": ["ann", "bob"] * 3, "method": "cam",
    ...     "metric": "iou", "score": [0.2, 0.3, 0.5, 0.4, 0.6, 0.8]})
    >>> figure = ss.plot_readers(ss.mrmc_readers(scores))
    >>> figure.labels.x
    'Mean IoU'
    """
    estimates = read_estimates(
        readers,
        "readers",
        ("estimate", "method", "reader"),
        Message(Call("mrmc_readers"), " makes the frame"),
    )
    frame_labels = Labels(labels, estimates.frame)
    check_rows_are_distinct(estimates, estimates.keys)
    further_groups = [key for key in estimates.keys if key not in ("metric", "method", "reader")]
    facet_column = only_varying_column(estimates, further_groups, used_columns_text="metric")
    rows = rows_with_estimate(estimates)
    methods = frame_labels.order("method", rows["method"])
    # labels that make up the titles of panels, by column and value
    titles = {}
    if facet_column:
        titles[facet_column] = frame_labels.label_by_value(facet_column, rows[facet_column])
    has_metrics = len(estimates.distinct_values("metric")) > 1
    if has_metrics:
        titles["metric"] = frame_labels.label_by_value("metric", rows["metric"])
    rows = _with_panel_and_vertical_place(rows, titles, methods)
    panels = list(rows["panel"].cat.categories)
    if width is None:
        width = COLUMN_MM if len(panels) <= 4 else PAGE_MM
    chars = label_line_chars(width, _NAME_CHARS)
    method_names = list(short_labels(frame_labels, "method", methods, chars, _NAME_LINES).values())
    names_mm = max(map(text_width_mm, method_names)) + _NAME_GAP_MM
    if n_columns is None and has_metrics:
        # panels of metrics have their own axes, and the names of methods at the left of each need a row
        n_columns = 1
    grid = panel_grid(panels, n_columns, width, left_mm=names_mm, free_axes=has_metrics)
    n_lines = max(text.count("\n") + 1 for text in method_names)
    height = max(_ROW_MM, n_lines * LINE_MM + 1) * len(methods)
    mean_layers = []
    mean_notes = []
    if means is not None:
        all_means = read_estimates(means, "means", ("estimate", "method", "term", *titles))
        group_columns = [key for key in estimates.keys if key not in ("method", "reader")]
        drawn_means = _drawn_means_over_readers(all_means, rows, titles, methods, group_columns)
        mean_layers = _mean_layers(drawn_means.frame)
        mean_notes = ["Black: mean over readers.", interval_caption(drawn_means)]
    x_axis, _ = number_axes(grid.panel_width, height)
    unnamed_columns = ["task"]
    if _are_areas(estimates):
        # the axis title of areas names no metric
        unnamed_columns.insert(0, "metric")
    figure = (
        Figure(rows, p9.aes("estimate", "place"))
        + p9.geom_path(p9.aes(group="reader"), color=GUIDE, size=0.4)
        + p9.geom_point(color=MUTED, size=1.1)
        + mean_layers
        + p9.scale_y_continuous(
            breaks=[-index for index in range(len(methods))],
            labels=method_names,
            minor_breaks=[],
            limits=(-len(methods) + 0.5 - _MEAN_OFFSET, 0.4),
            expand=(0, 0),
        )
        + x_axis
        + grid.elements(
            height,
            x=_x_title(estimates, frame_labels),
            notes=[
                scope_note(rows, frame_labels, unnamed_columns),
                "Grey: each reader.",
                *mean_notes,
                not_drawn_sentence(estimates, frame_labels, estimates.keys),
            ],
        )
        + p9.theme(axis_text_y=p9.element_text(ha="right", ma="right"))
    )
    return grid.divided_into_pages(figure, height)


def _with_panel_and_vertical_place(
    rows: pd.DataFrame, titles: Mapping[str, Mapping[Any, str]], methods: list[Any]
) -> pd.DataFrame:
    """Return rows with their `panel` and the vertical position `place` of their method, from the top down.

    `titles` are the labels that make up the titles of panels, by column and value.
    """
    y_of_method = {method: -float(index) for index, method in enumerate(methods)}
    rows = rows.assign(
        panel=crossed_labels(rows, titles), place=rows["method"].map(y_of_method).astype(float)
    )
    return rows.sort_values("place", ascending=False, kind="stable", ignore_index=True)


def _drawn_means_over_readers(
    means: Estimates,
    reader_rows: pd.DataFrame,
    titles: Mapping[str, Mapping[Any, str]],
    methods: list[Any],
    group_columns: list[str],
) -> Estimates:
    """Return the means over readers of the drawn methods and groups, with positions below their readers.

    `reader_rows` have the readers with their `panel`, `titles` the labels that make up its titles, and
    `group_columns` the grouping columns of the readers. Raises if no drawn method and group has a mean.
    """
    is_in_figure = (means.frame["term"] == "mean") & means.frame["method"].isin(methods)
    for column in means.existing_columns(group_columns):
        # a column with a single value has no part in the titles
        is_in_figure &= means.frame[column].isin(reader_rows[column].unique())
    if not is_in_figure.any():
        raise SalstatsError(
            "means has no mean of the methods and groups of readers",
            hint=Message("take ", Call("mrmc"), " of the same scores"),
            option="means",
        )
    frame = _with_panel_and_vertical_place(means.frame[is_in_figure], titles, methods)
    # the panels of means are those of the readers, in the same order
    panel = pd.Categorical(frame["panel"].astype(TEXT), reader_rows["panel"].cat.categories, ordered=True)
    place = frame["place"] - _MEAN_OFFSET
    return means.with_other_frame(frame.assign(panel=panel, place=place))


def _mean_layers(means: pd.DataFrame) -> list[Any]:
    """Return layers of means and of bars for those with limits."""
    has_limits = np.isfinite(means["conf_low"]) & np.isfinite(means["conf_high"])
    bar = p9.aes("conf_low", "place", xend="conf_high", yend="place")
    return [
        p9.geom_segment(bar, means[has_limits], color=REFERENCE_COLOUR, size=0.5),
        p9.geom_point(data=means, color=REFERENCE_COLOUR, size=1.8),
    ]


def _are_areas(readers: Estimates) -> bool:
    """Return whether the performance of readers is an area under the ROC curve."""
    # the column `figure` has the figure of merit
    return readers.only_non_missing_value("figure") == "auc"


def _x_title(readers: Estimates, labels: Labels) -> str:
    """Return the title of the horizontal axis."""
    if _are_areas(readers):
        return "Area under the ROC curve"
    metric = readers.only_non_missing_value("metric")
    if metric is None:
        return "Mean score"
    return f"Mean {labels.value('metric', metric)}"
