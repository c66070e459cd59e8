"""Box plots of scores: a row per task, a box per method, a panel per metric."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_choice
from salstats.display.plots.layout.captions import distinct_values, groups_without_note, scope_note
from salstats.display.plots.layout.figure import Figure, plot_function
from salstats.display.plots.layout.figure_rows import dodge_offsets, row_layout
from salstats.display.plots.layout.legends import group_scales, method_labels
from salstats.display.plots.layout.panel_grid import group_titles
from salstats.display.plots.layout.points import RASTER_POINTS
from salstats.display.plots.layout.row_panels import panel_titles, row_panels
from salstats.display.plots.layout.text_fit import crossed_labels, short_labels
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import count_text, counted_range, joined
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.stats.descriptions import box_values
from salstats.stats.engine.score_reasons import missing_scores
from salstats.study import HUMAN

#: Half the height in mm of a box that shares its row with others, and of one that does not.
_SHARED_HALF_MM = 0.8
_SINGLE_HALF_MM = 1.3


@plot_function
def plot_box(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    reference: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw the scores' distributions: a box per method in each task's row, a panel per metric.

    A box spans the quartiles with a line at the median, whiskers reach to the furthest score within 1.5
    interquartile ranges, dots are the scores beyond, a diamond marks the mean. Scores that are 0 or 1, such
    as hits, are drawn as a bar up to the proportion of 1, and the caption says so.

    Parameters
    ----------
    scores : DataFrame
        A scores frame; undefined scores are left out and counted in the caption.
    by : str or sequence of str, optional
        Grouping columns; by default those of metric, method and task that are present. Metrics are panels.
        Columns other than metric and method name the rows; without any, each method has a row.
    reference : str, optional
        The method drawn in black and first; by default `human` where it is a method.
    labels : Mapping, optional
        Labels and order: `{"gradcam": "Grad-CAM"}`, `{"task": ["Edema", "Atelectasis"]}`.
    n_columns : int, optional
        Panels side by side; by default two, which fit a journal's column, or all three.
    width : float, optional
        Width of the figure in mm; by default 183 with panels side by side, else 89.

    Returns
    -------
    Figure
        Sized for a page, or for a column with one panel.

    Raises
    ------
    ColumnError
        Not a scores frame; a grouping column is missing or has empty cells.
    SalstatsError
        Every score is undefined; `reference` is not a method; two values of a column are given the same
        label.

    Notes
    -----
    Quartiles are R's type 7, as in `describe` and in ggplot2.

    Examples
    --------
    >>> import salstats as ss
    >>> figure = ss.plot_box(ss.datasets.load_simulated(), by=["metric", "method"])
    >>> type(figure).__name__
    'Figure'
    """
    boxes, outliers = box_values(scores, by)
    names = Labels(labels, scores)
    if reference is not None:
        check_choice(reference, [str(method) for method in scores["method"].unique()], "reference")
    groups = list(boxes.columns[: boxes.columns.get_loc("n")])
    defined_boxes = boxes[boxes["n"] > 0].reset_index(drop=True)
    if defined_boxes.empty:
        raise SalstatsError(
            f"scores has nothing to draw: all of its {len(scores)} scores are undefined", column="score"
        )
    references = [reference or HUMAN]
    row_columns = [column for column in groups if column not in ("metric", "method")]
    # label of each value, by column
    row_texts = {column: short_labels(names, column, defined_boxes[column]) for column in row_columns}
    # text of each method in the legend
    methods: dict[Any, str] = {"": ""}
    mark: pd.Series | str = ""
    if "method" in groups:
        methods = method_labels(names, defined_boxes["method"], references)
        mark = defined_boxes["method"].map(methods)
        if not row_columns:
            # each method has a row, whose label names it
            row_texts["method"] = methods
    legend: list[str] = []
    if len(methods) > 1 and row_columns:
        legend += methods.values()
    row = crossed_labels(defined_boxes, row_texts)
    rows = row_layout(list(row.categories), list(row.categories), n_marks=max(len(legend), 1))
    defined_boxes["mark"] = mark
    defined_boxes["mark"] = pd.Categorical(defined_boxes["mark"], list(methods.values()), ordered=True)
    metric_columns = [column for column in groups if column == "metric"]
    defined_boxes["panel"] = group_titles(defined_boxes, names, metric_columns)
    defined_boxes["bar"] = _is_binary_metric(defined_boxes, defined_boxes["panel"])
    defined_boxes["y"] = rows.centres_of(row)
    half_mm = _SINGLE_HALF_MM
    legend_note = ""
    if legend:
        defined_boxes["y"] += dodge_offsets(defined_boxes["mark"].cat.codes, len(legend))
        half_mm = _SHARED_HALF_MM
        legend_note = f"In each row from the top: {joined(legend)}."
    positions = defined_boxes.loc[~defined_boxes["bar"], [*groups, "panel", "y", "mark"]]
    points = outliers.merge(positions, on=groups) if groups else outliers.merge(positions, how="cross")
    # the axis names metrics, labels of rows name tasks, and the legend or labels name methods
    named_columns = [column for column in groups if column != "method" or legend or not row_columns]
    unnamed_columns = [column for column in ("metric", "method", "task") if column not in named_columns]
    notes = [
        scope_note(scores, names, unnamed_columns),
        _boxes_note(defined_boxes, has_outliers=len(points) > 0),
        _proportions_note(defined_boxes, names),
        legend_note,
        _counts_note(boxes),
        groups_without_note(boxes[boxes["n"] == 0], groups, "a defined score", names),
        caution_note(boxes),
    ]
    panels, axis_title, n_columns = panel_titles(defined_boxes["panel"], n_columns)
    grid = row_panels(rows, panels, n_columns, width)
    figure = (
        Figure()
        + rows.layers()
        + _layers(defined_boxes, points, half_mm)
        + grid.elements(axis_title, notes, legend)
        + group_scales(methods, references, ("color", "fill"), grid.width, labels=names)
        + p9.theme(legend_key_size=8)
    )
    return grid.pages(figure)


def _is_binary_metric(boxes: pd.DataFrame, metrics: pd.Series) -> np.ndarray:
    """Return whether each box is of a metric all of whose scores are 0 or 1, both of which occur."""
    by_metric = boxes.groupby(metrics.to_numpy(), sort=False)
    is_binary = (
        by_metric["binary"].transform("all")
        & by_metric["n_zero"].transform("any")
        & by_metric["n_one"].transform("any")
    )
    return is_binary.to_numpy(dtype=bool)


def _layers(defined_boxes: pd.DataFrame, points: pd.DataFrame, half_mm: float) -> list[Any]:
    """Return layers of whiskers, boxes and bars, medians, outliers and means.

    `points` are the outliers. Boxes are 2 * `half_mm` high.
    """
    bodies = defined_boxes.assign(
        low=np.where(defined_boxes["bar"], 0.0, defined_boxes["q1"]),
        high=np.where(defined_boxes["bar"], defined_boxes["mean"], defined_boxes["q3"]),
        ymin=defined_boxes["y"] - half_mm,
        ymax=defined_boxes["y"] + half_mm,
    )
    boxes = bodies[~bodies["bar"]]
    bars = bodies[bodies["bar"]].assign(one=1.0)
    low_whisker = p9.aes(x="whisker_low", xend="q1", y="y", yend="y", color="mark")
    high_whisker = p9.aes(x="q3", xend="whisker_high", y="y", yend="y", color="mark")
    body = p9.aes(xmin="low", xmax="high", ymin="ymin", ymax="ymax", color="mark", fill="mark")
    median = p9.aes(x="median", xend="median", y="ymin", yend="ymax")
    coloured_median = p9.aes(x="median", xend="median", y="ymin", yend="ymax", color="mark")
    # a white median on the edge of a box would hide the edge
    is_inside = boxes["median"].between(boxes["q1"], boxes["q3"], inclusive="neither")
    raster = len(points) > RASTER_POINTS
    layers = [
        p9.geom_segment(low_whisker, boxes, size=0.4, show_legend=False),
        p9.geom_segment(high_whisker, boxes, size=0.4, show_legend=False),
        # transparent fills of eight methods would look alike
        p9.geom_rect(body, bodies, size=0.4),
        p9.geom_segment(coloured_median, boxes, size=0.9, show_legend=False),
        p9.geom_segment(median, boxes[is_inside], size=0.9, color="white", show_legend=False),
        p9.geom_point(
            p9.aes(x="score", y="y", color="mark"),
            points,
            size=0.7,
            stroke=0,
            raster=raster,
            show_legend=False,
        ),
        p9.geom_point(
            p9.aes(x="mean", y="y", color="mark"),
            bodies,
            shape="D",
            fill="white",
            size=1.1,
            stroke=0.4,
            show_legend=False,
        ),
    ]
    if len(bars):
        # the axis of proportions extends to 1
        layers.append(p9.geom_blank(p9.aes("one", "y"), bars))
    return layers


def _boxes_note(defined_boxes: pd.DataFrame, *, has_outliers: bool) -> str:
    """Sentence on the parts of a box, "" where all are bars."""
    if defined_boxes["bar"].all():
        return ""
    parts = ["Boxes: quartiles and median", "whiskers: furthest score within 1.5 interquartile ranges"]
    if has_outliers:
        parts.append("dots: scores beyond")
    return f"{'; '.join([*parts, 'diamonds: means'])}."


def _proportions_note(defined_boxes: pd.DataFrame, names: Labels) -> str:
    """Sentence on bars, which are proportions of scores that are 0 or 1; "" without bars."""
    if not defined_boxes["bar"].any():
        return ""
    subject = "Scores"
    metrics = distinct_values(defined_boxes[defined_boxes["bar"]], "metric")
    if metrics:
        subject = f"{joined([names.value('metric', metric) for metric in metrics])}: scores"
    return f"{subject} are 0 or 1, so bars and diamonds are the share of 1."


def _counts_note(boxes: pd.DataFrame) -> str:
    """Return a sentence on the number of scores in a box, and of the undefined ones."""
    n = boxes.loc[boxes["n"] > 0, "n"]
    counts = f"n = {counted_range(n, 'score')}"
    if len(n) > 1:
        counts += " each"
    n_missing = int(missing_scores(boxes).sum())
    if n_missing:
        counts += f"; {count_text(n_missing)} undefined left out"
    return f"{counts}."
