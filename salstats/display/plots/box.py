"""Distributions of scores as boxes, rainclouds or half-eyes: a row per task, a panel per metric."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_choice
from salstats.display.plots.layout.captions import (
    distinct_values_by_appearance,
    groups_without_value_note,
    scope_note,
)
from salstats.display.plots.layout.empty_rows import empty_row_layers, empty_row_texts
from salstats.display.plots.layout.estimate_drawing import metric_title_texts
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.figure_rows import mark_distances_above_row_middle_mm, row_layout
from salstats.display.plots.layout.legends import group_scales, method_labels_references_first
from salstats.display.plots.layout.points import RASTER_POINTS, evenly_spread_fractions_in_groups
from salstats.display.plots.layout.row_panels import panel_and_axis_titles, row_panels
from salstats.display.plots.layout.text_fit import crossed_labels, short_labels
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import capitalized, count_text, counted_range, joined
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.stats.descriptions import box_values, density_curves
from salstats.stats.engine.score_reasons import count_missing_without_absent_findings
from salstats.study import HUMAN


@dataclass(frozen=True)
class _PartPlaces:
    """Places of the parts of a form of distribution, in mm above the middle of the room of a method.

    Attributes
    ----------
    n_marks : int
        Room of a method, in marks of a row.
    box, half_box : float
        Middle of the box, and half of its height.
    half_bar : float
        Half the height of a bar, which stands in the middle of the room.
    cloud, cloud_height : float or None
        Lower edge and height of the highest cloud, None without clouds.
    points, points_height : float
        Middle and height of the band of single scores.
    all_points : bool
        Whether all scores are drawn however many there are.
    has_box : bool
        Whether quartiles are a box with the median in it, else a thick line with a dot.
    """

    n_marks: int
    box: float
    half_box: float
    half_bar: float
    points: float
    points_height: float
    cloud: float | None = None
    cloud_height: float = 0.0
    all_points: bool = False
    has_box: bool = True


#: Forms by name; a box that does not share its row with others is higher.
_BOX = _PartPlaces(n_marks=1, box=0.0, half_box=0.8, half_bar=0.8, points=0.0, points_height=1.2)
_SINGLE_BOX = replace(_BOX, half_box=1.3, half_bar=1.3, points_height=2.0)
_FORMS = {
    "box": _BOX,
    "raincloud": _PartPlaces(
        n_marks=2,
        box=-0.4,
        half_box=0.45,
        half_bar=0.8,
        points=-1.6,
        points_height=1.1,
        cloud=0.3,
        cloud_height=2.1,
        all_points=True,
    ),
    "halfeye": _PartPlaces(
        n_marks=2,
        box=-0.9,
        half_box=0.0,
        half_bar=0.8,
        points=-1.8,
        points_height=0.8,
        cloud=-0.6,
        cloud_height=3.0,
        has_box=False,
    ),
}
#: Most scores of a method all of which are drawn as points, and fewest that have a cloud.
_FEW_SCORES = 20
_MIN_CLOUD_SCORES = 10
#: Text of a row of a panel that has no scores, nor undefined ones.
_NO_SCORES = "no scores"
#: The opacity of a point is this number over the number of scores of its method, within bounds.
_OPAQUE_POINTS = 40
_POINT_ALPHAS = (0.15, 0.8)


@keep_call_in_figure
def plot_box(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    reference: str | None = None,
    form: str = "box",
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw the scores' distributions: one per method in each task's row, a panel per metric.

    A box spans the quartiles with a line at the median, whiskers reach to the furthest score within 1.5
    interquartile ranges, dots are the scores beyond, a diamond marks the mean. Where a method has at most 20
    scores, a dot is drawn for each of them. Scores that are 0 or 1, such as hits, are drawn as a bar up to
    the proportion of 1, and the caption says so.

    Parameters
    ----------
    scores : DataFrame
        A scores frame; undefined scores are left out and counted in the caption.
    by : str or sequence of str, optional
        Grouping columns; by default those of metric, method and task that are present. Metrics are panels.
        Columns other than metric and method name the rows; without any, each method has a row.
    reference : str, optional
        The method drawn in black and first; by default `human` where it is a method.
    form : {"box", "raincloud", "halfeye"}
        Boxes; above each box the density of the scores and below it every score; or the density above a line
        with the median, the quartiles (thick) and the whiskers (thin).
    labels : Mapping, optional
        Labels and order: `{"gradcam": "Grad-CAM"}`, `{"task": ["Edema", "Atelectasis"]}`.
    n_columns : int, optional
        Panels side by side; by default two, or three if there are just three.
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
    Quartiles are R's type 7, as in `describe` and in ggplot2. Densities are Gaussian kernel estimates with
    R's default bandwidth, from the smallest to the largest score, the same area for all methods of a panel;
    distributions of fewer than 10 scores have none.

    References
    ----------
    Allen M, Poggiali D, Whitaker K, Marshall TR, Kievit RA. Raincloud plots: a multi-platform tool for robust
    data visualization. Wellcome Open Res 2019. doi:10.12688/wellcomeopenres.15191.1

    Kay M. ggdist: visualizations of distributions and uncertainty in the grammar of graphics. IEEE Trans Vis
    Comput Graph 2024. doi:10.1109/TVCG.2023.3327195

    Examples
    --------
    >>> import salstats as ss
    >>> figure = ss.plot_box(ss.datasets.load_simulated(), by=["metric", "method"])
    >>> type(figure).__name__
    'Figure'
    """
    check_choice(form, tuple(_FORMS), "form")
    boxes, outliers = box_values(scores, by)
    frame_labels = Labels(labels, scores)
    if reference is not None:
        check_choice(reference, [str(method) for method in scores["method"].unique()], "reference")
    # the grouping columns stand before those of the box
    groups = list(boxes.columns[: boxes.columns.get_loc("n")])
    drawn_boxes = _boxes_of_metrics_with_scores(boxes)
    if drawn_boxes.empty:
        raise SalstatsError(
            f"scores has nothing to draw: all of its {len(scores)} scores are undefined",
            column="score",
            value=len(scores),
        )
    references = [reference or HUMAN]
    row_columns = [column for column in groups if column not in ("metric", "method")]
    # label of each value, by column
    row_texts = {column: short_labels(frame_labels, column, drawn_boxes[column]) for column in row_columns}
    # text of each method in the legend
    methods: dict[Any, str] = {"": ""}
    mark: pd.Series | str = ""
    if "method" in groups:
        methods = method_labels_references_first(frame_labels, drawn_boxes["method"], references)
        mark = drawn_boxes["method"].map(methods)
        if not row_columns:
            # each method has a row, whose label names it
            row_texts["method"] = methods
    legend: list[str] = []
    if len(methods) > 1 and row_columns:
        legend += methods.values()
    row = crossed_labels(drawn_boxes, row_texts)
    places = _FORMS[form]
    if form == "box" and not legend:
        places = _SINGLE_BOX
    n_marks = places.n_marks * max(len(legend), 1)
    rows = row_layout(list(row.categories), list(row.categories), n_marks=n_marks)
    drawn_boxes["mark"] = mark
    drawn_boxes["mark"] = pd.Categorical(drawn_boxes["mark"], list(methods.values()), ordered=True)
    drawn_boxes["panel"] = crossed_labels(drawn_boxes, metric_title_texts(drawn_boxes, frame_labels))
    drawn_boxes["y"] = rows.centres_mm_of(row)
    legend_note = ""
    if legend:
        offsets = mark_distances_above_row_middle_mm(drawn_boxes["mark"].cat.codes, len(legend))
        drawn_boxes["y"] += places.n_marks * offsets
        legend_note = f"In each row from the top: {joined(legend)}."
    without_scores = empty_row_texts(
        drawn_boxes.assign(estimate=drawn_boxes["mean"]), rows, colours={}, absent_in_panel=_NO_SCORES
    )
    defined_boxes = drawn_boxes[drawn_boxes["n"] > 0].reset_index(drop=True)
    defined_boxes["bar"] = _is_box_of_binary_metric(defined_boxes, defined_boxes["panel"])
    positions = defined_boxes.loc[~defined_boxes["bar"], [*groups, "panel", "y", "mark", "n"]]
    scores_of_boxes = _with_columns_of_their_box(
        scores.dropna(subset="score")[[*groups, "score"]], positions, groups
    )
    clouds = pd.DataFrame()
    if places.cloud is not None:
        with_cloud = scores_of_boxes[scores_of_boxes["n"] >= _MIN_CLOUD_SCORES]
        clouds = density_curves(with_cloud, "score", ["panel", "mark", "y"])
    points = _scores_drawn_as_points(scores_of_boxes, places)
    outliers = _only_outliers_drawn_as_points(_with_columns_of_their_box(outliers, positions, groups), places)
    # the axis names metrics, labels of rows name tasks, and the legend or labels name methods
    named_columns = [column for column in groups if column != "method" or legend or not row_columns]
    unnamed_columns = [column for column in ("metric", "method", "task") if column not in named_columns]
    notes = [
        scope_note(scores, frame_labels, unnamed_columns),
        _boxes_note(defined_boxes, places, clouds, points, outliers),
        _binary_score_bars_note(defined_boxes, frame_labels),
        legend_note,
        _score_counts_note(boxes),
        groups_without_value_note(boxes[boxes["n"] == 0], groups, "a defined score", frame_labels),
        caution_note(boxes),
    ]
    panels, axis_title, n_columns = panel_and_axis_titles(defined_boxes["panel"], n_columns)
    grid = row_panels(rows, panels, n_columns, width)
    figure = (
        Figure()
        + rows.axis_and_stripe_layers()
        + empty_row_layers(without_scores)
        + _density_layers(clouds, places)
        + _box_layers(defined_boxes, places)
        + _point_layers(points, outliers, places)
        + _mean_layers(defined_boxes, places)
        + grid.elements(axis_title, notes, legend)
        + group_scales(
            methods, references, ("color", "fill"), grid.width, labels=frame_labels, has_light_fills=True
        )
        + p9.theme(legend_key_size=8)
    )
    return grid.divided_into_pages(figure)


def _boxes_of_metrics_with_scores(boxes: pd.DataFrame) -> pd.DataFrame:
    """Return the boxes of metrics that have a defined score in any box."""
    has_scores = boxes["n"] > 0
    if "metric" in boxes.columns:
        has_scores = has_scores.groupby(boxes["metric"], observed=True).transform("any")
    elif not has_scores.any():
        return boxes.iloc[:0]
    return boxes[has_scores].reset_index(drop=True)


def _is_box_of_binary_metric(boxes: pd.DataFrame, metric_of_box: pd.Series) -> np.ndarray:
    """Return whether each box is of a metric all of whose scores are 0 or 1, both of which occur."""
    by_metric = boxes.groupby(metric_of_box.to_numpy(), sort=False)
    is_binary = (
        by_metric["binary"].transform("all")
        & by_metric["n_zero"].transform("any")
        & by_metric["n_one"].transform("any")
    )
    return is_binary.to_numpy(dtype=bool)


def _with_columns_of_their_box(scores: pd.DataFrame, boxes: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    """Return scores with the columns of their box; scores without a box are left out."""
    if not groups:
        return scores.merge(boxes, how="cross")
    return scores.merge(boxes, on=groups)


def _scores_drawn_as_points(scores_of_boxes: pd.DataFrame, places: _PartPlaces) -> pd.DataFrame:
    """Return the scores that are drawn as points: all of them, or those of boxes with few."""
    if places.all_points:
        return scores_of_boxes
    return scores_of_boxes[scores_of_boxes["n"] <= _FEW_SCORES]


def _only_outliers_drawn_as_points(outliers: pd.DataFrame, places: _PartPlaces) -> pd.DataFrame:
    """Return the scores beyond whiskers that are drawn: not those of boxes all of whose scores are points."""
    if places.all_points or not places.has_box:
        return outliers.iloc[:0]
    return outliers[outliers["n"] > _FEW_SCORES]


def _density_layers(clouds: pd.DataFrame, places: _PartPlaces) -> list[Any]:
    """Return a layer of densities, none if there are no clouds."""
    if clouds.empty:
        return []
    # clouds of a panel have the same area, so that their heights share one scale
    densest = clouds.groupby("panel", observed=True)["density"].transform("max")
    base = clouds["y"] + (places.cloud or 0.0)
    clouds = clouds.assign(ymin=base, ymax=base + places.cloud_height * clouds["density"] / densest)
    cloud = p9.aes("value", ymin="ymin", ymax="ymax", fill="mark", color="mark", group="y")
    return [p9.geom_ribbon(cloud, clouds, size=0.3, show_legend=False)]


def _box_layers(defined_boxes: pd.DataFrame, places: _PartPlaces) -> list[Any]:
    """Return layers of whiskers, boxes and bars, and medians."""
    boxes_and_bars = _with_edges_of_boxes_and_bars(defined_boxes, places)
    boxes = boxes_and_bars[~boxes_and_bars["bar"]]
    low_whisker = p9.aes(x="whisker_low", xend="q1", y="y", yend="y", color="mark")
    high_whisker = p9.aes(x="q3", xend="whisker_high", y="y", yend="y", color="mark")
    body = p9.aes(xmin="low", xmax="high", ymin="ymin", ymax="ymax", color="mark", fill="mark")
    layers = [
        p9.geom_segment(low_whisker, boxes, size=0.4, show_legend=False),
        p9.geom_segment(high_whisker, boxes, size=0.4, show_legend=False),
        # these fills are opaque, since transparent ones of eight methods would look alike
        p9.geom_rect(body, boxes_and_bars, size=0.4),
    ]
    if places.has_box:
        median = p9.aes(x="median", xend="median", y="ymin", yend="ymax")
        layers.append(p9.geom_segment(median, boxes, size=0.9, color="black", show_legend=False))
    else:
        quartiles = p9.aes(x="q1", xend="q3", y="y", yend="y", color="mark")
        layers.append(p9.geom_segment(quartiles, boxes, size=1.3, show_legend=False))
        median_dot = p9.aes("median", "y", color="mark")
        style: dict[str, Any] = {"size": 1.4, "fill": "white", "stroke": 0.5, "show_legend": False}
        layers.append(p9.geom_point(median_dot, boxes, **style))
    return layers


def _with_edges_of_boxes_and_bars(defined_boxes: pd.DataFrame, places: _PartPlaces) -> pd.DataFrame:
    """Return boxes and bars with their edges: `low` and `high` (scores), `ymin` and `ymax` (mm).

    A box goes from the lower to the upper quartile, a bar from 0 to the mean. `y` becomes their middle.
    """
    is_bar = defined_boxes["bar"]
    y = _middle_mm_of_boxes_and_bars(defined_boxes, places)
    half_height = np.where(is_bar, places.half_bar, places.half_box)
    return defined_boxes.assign(
        low=defined_boxes["q1"].mask(is_bar, 0.0),
        high=defined_boxes["q3"].mask(is_bar, defined_boxes["mean"]),
        y=y,
        ymin=y - half_height,
        ymax=y + half_height,
    )


def _middle_mm_of_boxes_and_bars(defined_boxes: pd.DataFrame, places: _PartPlaces) -> pd.Series:
    """Return the vertical positions of the middles: bars stand in the middle of the room of a method."""
    middle_of_room = defined_boxes["y"]
    return (middle_of_room + places.box).mask(defined_boxes["bar"], middle_of_room)


def _point_layers(points: pd.DataFrame, outliers: pd.DataFrame, places: _PartPlaces) -> list[Any]:
    """Return layers of the scores beyond whiskers and of single scores, and the scale of their opacity.

    Single scores are spread over their band. The column `mark` has the methods' labels in the legend.
    """
    fractions = evenly_spread_fractions_in_groups([points["panel"], points["y"]])
    alpha = np.clip(_OPAQUE_POINTS / points["n"], *_POINT_ALPHAS)
    spread = points.assign(
        y=points["y"] + places.points + places.points_height * (fractions - 0.5), alpha=alpha
    )
    style: dict[str, Any] = {"size": 0.7, "stroke": 0, "show_legend": False}
    point_aes = p9.aes("score", "y", color="mark", alpha="alpha")
    outlier_aes = p9.aes("score", "y", color="mark")
    return [
        p9.geom_point(outlier_aes, outliers, raster=len(outliers) > RASTER_POINTS, **style),
        p9.geom_point(point_aes, spread, raster=len(spread) > RASTER_POINTS, **style),
        p9.scale_alpha_identity(),
    ]


def _mean_layers(defined_boxes: pd.DataFrame, places: _PartPlaces) -> list[Any]:
    """Return a layer of the means of boxes and bars; half-eyes have no means."""
    means = defined_boxes.assign(y=_middle_mm_of_boxes_and_bars(defined_boxes, places))
    if not places.has_box:
        means = means[means["bar"]]
    mean = p9.aes(x="mean", y="y", color="mark")
    style: dict[str, Any] = {"size": 1.1, "fill": "white", "stroke": 0.4, "show_legend": False}
    layers: list[Any] = [p9.geom_point(mean, means, shape="D", **style)]
    bars = defined_boxes[defined_boxes["bar"]].assign(one=1.0)
    if len(bars):
        # the axis of proportions extends to 1
        layers.append(p9.geom_blank(p9.aes("one", "y"), bars))
    return layers


def _boxes_note(
    defined_boxes: pd.DataFrame,
    places: _PartPlaces,
    clouds: pd.DataFrame,
    points: pd.DataFrame,
    outliers: pd.DataFrame,
) -> str:
    """Return a sentence on the parts of a distribution, "" where all are bars."""
    if defined_boxes["bar"].all():
        return ""
    reach = "furthest score within 1.5 interquartile ranges"
    parts = []
    if len(clouds):
        parts.append("clouds: density")
    if places.has_box:
        parts += ["boxes: quartiles and median", f"whiskers: {reach}"]
    else:
        parts += ["white dots: medians", "thick lines: quartiles", f"thin lines: {reach}"]
    has_points_of_few = len(points) > 0 and not places.all_points
    if places.all_points:
        parts.append("dots: scores")
    elif len(outliers) and has_points_of_few:
        parts.append(f"dots: scores beyond, or all where these are at most {_FEW_SCORES}")
    elif len(outliers):
        parts.append("dots: scores beyond")
    elif has_points_of_few:
        parts.append(f"dots: scores, where these are at most {_FEW_SCORES}")
    if places.has_box:
        parts.append("diamonds: means")
    return capitalized(f"{'; '.join(parts)}.")


def _binary_score_bars_note(defined_boxes: pd.DataFrame, labels: Labels) -> str:
    """Return a sentence on bars, which are proportions of scores that are 0 or 1; "" without bars."""
    if not defined_boxes["bar"].any():
        return ""
    subject = "Scores"
    metrics = distinct_values_by_appearance(defined_boxes[defined_boxes["bar"]], "metric")
    if metrics:
        subject = f"{joined([labels.value('metric', metric) for metric in metrics])}: scores"
    return f"{subject} are 0 or 1, so bars and diamonds are the share of 1."


def _score_counts_note(boxes: pd.DataFrame) -> str:
    """Return a sentence on the number of scores in a box, and of the undefined ones."""
    n = boxes.loc[boxes["n"] > 0, "n"]
    counts = f"n = {counted_range(n, 'score')}"
    if len(n) > 1:
        counts += " each"
    n_missing = int(count_missing_without_absent_findings(boxes).sum())
    if n_missing:
        counts += f"; {count_text(n_missing)} undefined left out"
    return f"{counts}."
