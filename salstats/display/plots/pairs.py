"""Estimation plots: paired scores of a reference and methods, and the differences of the pairs."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.estimates import read_estimates
from salstats.display.facts import count_sentence, interval_caption, not_drawn_sentence
from salstats.display.plots.layout.axis_ticks import tick_texts, vertical_breaks
from salstats.display.plots.layout.captions import margin_notes, scope_note
from salstats.display.plots.layout.estimate_drawing import (
    margin_lines,
    rows_with_both_limits,
    with_smaller_is_better,
)
from salstats.display.plots.layout.figure import Figure, first_page_with_further_pages, keep_call_in_figure
from salstats.display.plots.layout.legends import group_scales
from salstats.display.plots.layout.panel_grid import (
    BOTTOM_MM,
    GAP_MM,
    LEFT_MM,
    MIN_PANEL_MM,
    PanelGrid,
    panel_grid,
)
from salstats.display.plots.layout.points import RASTER_POINTS, evenly_spread_fractions_in_groups
from salstats.display.plots.layout.text_fit import (
    TileNames,
    chars_in,
    names_below,
    widest_word_mm,
    wrapped_texts,
)
from salstats.display.plots.layout.theme import COLUMN_MM, GUIDE, LINE_MM, PAGE_MM, REFERENCE_COLOUR
from salstats.display.plots.pairs_data import (
    DIFFERENCE_CALL,
    DIFFERENCE_SUFFIX,
    PairsData,
    only_reference,
    pairs_data,
)
from salstats.display.text.format import noun_of_identifier, plural
from salstats.display.text.labels import Labels
from salstats.errors import Message
from salstats.frames import check_scores
from salstats.stats.descriptions import density_curves

#: Title of the panels of differences.
_DIFFERENCE_TITLE = "Difference"
#: Where differences stand beside the scores of two methods, at the places 1 and 2: the place of a difference
#: and the ends of the horizontal axis.
_MIDDLE = 1.5
_LEFT_END = 0.5
_RIGHT_END = 2.5
#: Height of a panel as a multiple of its width where differences stand beside the scores, and below them.
_BESIDE_HEIGHT_TO_WIDTH = 1.2
_BELOW_HEIGHT_TO_WIDTH = 0.5
#: Least width in mm of the place of a method where differences stand below the scores.
_PLACE_MM = 4.0
#: Width in mm that long numbers of a vertical axis, such as −0.75, take from a panel.
_NUMBERS_MM = 2.5
#: Most groups in a journal's column, by default.
_MAX_GROUPS_IN_COLUMN = 2
#: Half the width of a mean's line; distances of dots and clouds from the place of their mean, and their
#: widths: all as shares of the room of a method.
_MEAN_HALF = 0.16
_CLOUD_START = 0.06
_CLOUD_WIDTH = 0.34
_DOTS_START = 0.1
_DOTS_WIDTH = 0.26
#: Colour of the lines from means of scores to the axis of their difference.
_MEAN_GUIDE = "#888888"
#: The opacity of a line is this number over the number of lines between two methods, within bounds.
_OPAQUE_LINES = 12
_LINE_ALPHAS = (0.06, 0.6)
_LINE_COLOUR = "#777777"
#: Width of a line, and size of a dot among few and among many. Where scores are 0 or 1, equal lines and dots
#: are drawn as one, which is the larger the more they are, up to the size of one that stands for all.
_LINE_SIZE = 0.35
_LINE_SIZE_OF_ALL = 4.0
_FEW_DOT_SIZE = 1.2
_DOT_SIZE = 0.7
_DOT_SIZE_OF_ALL = 5.0
#: Opacity of lines and dots of 0/1 scores.
_BINARY_ALPHA = 0.6
#: Most dots of a method that are few. The opacity of a dot is this number over the number of the dots of its
#: method, within bounds.
_FEW_DOTS = 40
_DOT_ALPHAS = (0.3, 0.8)
#: Factors for the opacity of pale lines: of grey ones, and of those in the colours of units.
_PALE_FACTOR = 0.35
_PALE_COLOUR_FACTOR = 0.7
#: Fill of clouds where colours are those of units.
_CLOUD_FILL = "#AAAAAA"


@keep_call_in_figure
def plot_pairs(
    scores: pd.DataFrame,
    differences: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw an estimation plot: paired scores joined by lines, and the differences with their mean.

    The difference of one method from the reference stands beside the scores, on an axis whose zero is at the
    reference's mean (Gardner and Altman 1986); those of several methods stand below (Cumming 2012). Means and
    intervals are those of `difference`.

    Parameters
    ----------
    scores : DataFrame
        The scores that `differences` were made of.
    differences : DataFrame
        What `difference` returns for them, all of its rows or those of some groups. Averages and pooled rows
        are not drawn.
    labels : mapping, optional
        Labels and order of columns and their values: `{"gradcam": "Grad-CAM"}`,
        `{"task": ["Edema", "Atelectasis"]}`.
    n_columns : int, optional
        Groups side by side; by default as many as fit.
    width : float, optional
        Width of the figure in mm; by default 89 for up to four panels, else 183.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` are the pairs: the rows of methods with `reference_score`,
        `difference` and `panel`. Panels of one metric have the same axes, and those of scores and of
        differences are to the same scale where they stand side by side. Where a unit has several lines, such
        as a patient with several cases, lines are the means of units and those of pairs are pale; up to eight
        units, such as hospitals, have a colour each. To give each of them a panel instead, take differences
        by their column: `difference(scores, reference="human", by=["metric", "hospital"])`. Where scores are
        0 or 1, the width of a line and the area of a dot show how many pairs they stand for.

    Raises
    ------
    ColumnError, SalstatsError
        `differences` are not differences from a single reference, or were made of other scores.

    References
    ----------
    Gardner MJ, Altman DG. Confidence intervals rather than P values: estimation rather than hypothesis
    testing. BMJ 1986;292:746-750. doi:10.1136/bmj.292.6522.746

    Cumming G. Understanding the New Statistics. Routledge 2012.

    Ho J, Tumkaya T, Aryal S, Choi H, Claridge-Chang A. Moving beyond P values: data analysis with estimation
    graphics. Nat Methods 2019;16:565-566. doi:10.1038/s41592-019-0470-3

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou' and task == 'Edema'")
    >>> differences = ss.difference(scores, reference="human")
    >>> figure = ss.plot_pairs(scores, differences)
    >>> list(figure.data["panel"].cat.categories)
    ['Scores', 'Scores: difference']
    """
    check_scores(scores)
    estimates = read_estimates(
        differences,
        "differences",
        ("estimate", "term", "method", "reference", "reference_mean", "method_mean"),
        Message(DIFFERENCE_CALL, " makes the frame"),
    )
    reference = only_reference(estimates)
    frame_labels = Labels(labels, scores)
    drawing = pairs_data(scores, estimates, reference, frame_labels)
    drawn_differences = drawing.differences
    n_places = len(drawing.methods)
    if drawing.has_differences_beside:
        n_places = 2
    axes = _axis_ends(drawing)
    grid = _grid_of_pairs(drawing, n_columns, width)
    height_to_width = _BESIDE_HEIGHT_TO_WIDTH if drawing.has_differences_beside else _BELOW_HEIGHT_TO_WIDTH
    height = grid.panel_height(height_to_width)
    place_names = _method_names_below(drawing, grid.panel_width / n_places)
    metrics = drawn_differences.distinct_values("metric")
    y_title = "Score"
    if len(metrics) == 1:
        y_title = with_smaller_is_better(frame_labels.value("metric", metrics[0]), metrics[0])
    block_height = height
    if not drawing.has_differences_beside:
        block_height += grid.panel_row_height_mm(height)
    missing = estimates.subset(~estimates.is_summary_row)
    figure = (
        Figure(drawing.pairs)
        + _score_layers(drawing)
        + _difference_layers(drawing)
        + p9.geom_blank(p9.aes(y="low"), axes)
        + p9.geom_blank(p9.aes(y="high"), axes)
        + p9.scale_x_continuous(
            breaks=list(range(1, n_places + 1)),
            minor_breaks=[],
            labels=place_names.texts,
            limits=(0.5, n_places + 0.5),
            expand=(0, 0),
        )
        + p9.scale_y_continuous(
            breaks=partial(_breaks_of_panel_with_limits, axes=axes, height=height),
            minor_breaks=[],
            labels=tick_texts,
        )
        + p9.scale_size_identity()
        + p9.scale_alpha_identity()
        + _colour_and_shape_scales(drawing, frame_labels, grid.width)
        + grid.elements(
            block_height,
            y=y_title,
            notes=[
                scope_note(drawn_differences.frame, frame_labels, ("metric", "task")),
                *_caption_sentences(drawing, frame_labels),
                *margin_notes(drawn_differences, frame_labels, "nature", has_marks=False),
                not_drawn_sentence(missing, frame_labels, missing.keys),
            ],
            legend=drawing.unit_labels,
            # names of methods take the place of the numbers of the horizontal axis
            further_mm=place_names.height - BOTTOM_MM + LINE_MM,
        )
        + p9.theme(
            axis_title_x=p9.element_blank(),
            axis_text_x=p9.element_text(va="top", **place_names.text_options),
        )
    )
    if not drawing.unit_labels:
        figure = figure + p9.theme(legend_position="none")
    pages = grid.divided_into_pages(figure, block_height).pages
    return first_page_with_further_pages(
        [_with_facets(page, grid, has_differences_beside=drawing.has_differences_beside) for page in pages]
    )


def _colour_and_shape_scales(drawing: PairsData, labels: Labels, width: float) -> list[Any]:
    """Return the scales of colours, fills and shapes, which tell methods apart, or units and methods.

    Where units have colours, only shapes tell methods apart.
    """
    if not drawing.unit_labels:
        aesthetics = ("color", "fill", "shape")
        return group_scales(
            drawing.methods, [drawing.reference], aesthetics, width, labels=labels, has_opaque_keys=True
        )
    unit_texts = {label: label for label in drawing.unit_labels}
    return [
        *group_scales(drawing.methods, [drawing.reference], ("shape",), width, labels=labels),
        *group_scales(unit_texts, (), ("color",), width, has_opaque_keys=True),
        # the names below the panels say which method is which
        p9.guides(shape="none"),
    ]


def _method_names_below(drawing: PairsData, place_width: float) -> TileNames:
    """Return the names of methods below panels, not slanted where they would leave the page.

    `place_width` is the width of the place of a method in mm.
    """
    texts = list(drawing.methods.values())
    slanted = names_below(texts, place_width, may_slant=True)
    if slanted.left_overhang <= LEFT_MM:
        return slanted
    return names_below(texts, place_width, may_slant=False)


class _FacetsBeside(p9.facet_wrap):
    """Panels of scores, each with the panel of its differences beside it, which has no names below it."""

    def compute_layout(self, data: list[pd.DataFrame]) -> pd.DataFrame:
        """Return the place of each panel; panels of differences, every second one, have no axis below."""
        layout = super().compute_layout(data)
        is_difference = np.arange(len(layout)) % 2 == 1
        layout.loc[is_difference, "AXIS_X"] = False
        return layout


def _with_facets(page: Figure, grid: PanelGrid, *, has_differences_beside: bool) -> Figure:
    """Return a page with its panels: differences beside the scores, or below them in the same column."""
    options: dict[str, Any] = {"labeller": grid.titles.__getitem__, "scales": "free_y"}
    if has_differences_beside:
        return page + _FacetsBeside("panel", ncol=grid.n_columns, **options)
    n_rows = math.ceil(len(page.data["panel"].cat.categories) / grid.n_columns)
    return page + p9.facet_wrap("panel", nrow=2 * n_rows, dir="v", **options)


def _axis_ends(drawing: PairsData) -> pd.DataFrame:
    """Return the ends of the vertical axis of each panel, the same for the panels of a metric.

    The columns are `panel`, `low` and `high`, and `first_number` and `last_number`, between which the axis
    has numbers. Where differences stand beside their scores, both axes have the same length, and the zero of
    differences is at the reference's mean; the axis of scores may then extend beyond the scores.
    """
    ranges = _score_and_difference_ranges(drawing)
    # on the axis of scores, differences are added to the reference's mean
    zero = ranges["reference_mean"]
    ranges["joint_low"] = np.minimum(ranges["score_low"], zero + ranges["difference_low"])
    ranges["joint_high"] = np.maximum(ranges["score_high"], zero + ranges["difference_high"])
    ranges_of_metric = ranges.groupby("metric")
    for quantity in ("score", "difference", "joint"):
        ranges[f"{quantity}_low"] = ranges_of_metric[f"{quantity}_low"].transform("min")
        ranges[f"{quantity}_high"] = ranges_of_metric[f"{quantity}_high"].transform("max")
    score_axes = pd.DataFrame(
        {
            "panel": ranges["score_panel"],
            "low": ranges["score_low"],
            "high": ranges["score_high"],
            "first_number": ranges["score_low"],
            "last_number": ranges["score_high"],
        }
    )
    difference_axes = pd.DataFrame(
        {"panel": ranges["panel"], "low": ranges["difference_low"], "high": ranges["difference_high"]}
    )
    if drawing.has_differences_beside:
        score_axes = score_axes.assign(low=ranges["joint_low"], high=ranges["joint_high"])
        difference_axes = difference_axes.assign(
            low=ranges["joint_low"] - zero, high=ranges["joint_high"] - zero
        )
    difference_axes = difference_axes.assign(
        first_number=difference_axes["low"], last_number=difference_axes["high"]
    )
    return pd.concat([score_axes, difference_axes], ignore_index=True)


def _score_and_difference_ranges(drawing: PairsData) -> pd.DataFrame:
    """Return the smallest and the largest number of each panel of scores and of differences.

    A row is for a `panel` of differences with the `score_panel` beside or above it, its `metric` and its
    `reference_mean`. The numbers are `score_low`, `score_high`, `difference_low` and `difference_high`.
    """
    both_scores = drawing.pairs[["score", "reference_score"]]
    pairs = drawing.pairs.assign(lower_score=both_scores.min(axis=1), higher_score=both_scores.max(axis=1))
    ranges = pairs.groupby("panel", observed=True).agg(
        score_panel=("score_panel", "first"),
        metric=("metric", "first"),
        score_low=("lower_score", "min"),
        score_high=("higher_score", "max"),
    )
    difference_numbers = _values_spanned_by_difference_axes(drawing).groupby("panel", observed=True)["number"]
    ranges["difference_low"] = difference_numbers.min()
    ranges["difference_high"] = difference_numbers.max()
    means = drawing.differences.frame.groupby("panel", observed=True)["reference_mean"]
    ranges["reference_mean"] = means.first()
    return ranges.reset_index()


def _values_spanned_by_difference_axes(drawing: PairsData) -> pd.DataFrame:
    """Return the finite values drawn on the axes of differences, and 0: columns `panel` and `number`."""
    frame = drawing.differences.frame
    number_frames = [
        drawing.pairs[["panel"]].assign(number=drawing.pairs["difference"]),
        frame[["panel"]].assign(number=0.0),
    ]
    for column in drawing.differences.existing_columns(
        ["conf_low", "conf_high", "margin_low", "margin_high"]
    ):
        number_frames.append(frame[["panel"]].assign(number=frame[column]))
    return pd.concat(number_frames).replace([np.inf, -np.inf], np.nan)


def _breaks_of_panel_with_limits(
    limits: tuple[float, float], axes: pd.DataFrame, height: float
) -> list[float]:
    """Return the numbers of the vertical axis of the panel with these limits; its height is in mm."""
    low, high = limits
    # plotnine says the limits of a panel and not which panel it is
    distance = (axes["low"] - low).abs() + (axes["high"] - high).abs()
    axis = axes.iloc[int(np.argmin(distance))]
    numbered_share = (axis["last_number"] - axis["first_number"]) / (high - low or 1.0)
    return vertical_breaks((axis["first_number"], axis["last_number"]), height * numbered_share)


def _score_layers(drawing: PairsData) -> list[Any]:
    """Return layers of the lines of pairs, of units that have several of them, of dots and of means."""
    ends = drawing.ends
    layers = []
    if drawing.has_repeated_units:
        layers.append(_line_layer(ends[~ends["binary"]], "line", drawing, is_pale=True))
        unit_columns = ["panel", "unit", "unit_label", "mark", "place", "binary"]
        ends = ends.groupby(unit_columns, observed=True)["score"].mean().reset_index()
    layers.append(_line_layer(ends, "unit", drawing, is_pale=False))
    layers.append(_dot_layer(_distinct_dots_with_sizes(ends), "place", drawing))
    means = _score_mean_bars(drawing)
    mean = p9.aes("start", "mean", xend="end", yend="mean")
    if drawing.has_differences_beside:
        # these lines lead to the axis of the difference, beside the panel
        guide = p9.aes("place", "mean", xend="right_end", yend="mean")
        layers.append(p9.geom_segment(guide, means, color=_MEAN_GUIDE, linetype="dashed", size=0.3))
    layers.append(p9.geom_segment(mean, means, color=REFERENCE_COLOUR, size=0.9))
    return layers


def _line_layer(
    ends: pd.DataFrame, line_id_column: str, drawing: PairsData, *, is_pale: bool
) -> p9.geom_segment:
    """Return a layer of lines between the ends of each value of `line_id_column`.

    Lines are grey unless units have colours. Where scores are 0 or 1, equal lines are drawn as one, which is
    the wider the more they are.
    """
    lines = _distinct_lines_with_counts(_lines_to_next_methods(ends, line_id_column))
    is_binary = lines["binary"]
    # a line of 0/1 scores is as wide as the share of the lines that it stands for
    share_of_lines = lines["n_equal"] / lines["n_lines"]
    further_width = (_LINE_SIZE_OF_ALL - _LINE_SIZE) * share_of_lines
    width = _LINE_SIZE + further_width.where(is_binary, 0.0)
    # other lines are the paler the more they are
    opacity = (_OPAQUE_LINES / lines["n_lines"]).clip(*_LINE_ALPHAS)
    opacity = opacity.mask(is_binary, _BINARY_ALPHA)
    if is_pale:
        opacity *= _PALE_COLOUR_FACTOR if drawing.unit_labels else _PALE_FACTOR
    lines = lines.assign(size=width, alpha=opacity)
    segment = p9.aes("place", "score", xend="next_place", yend="next_score", size="size", alpha="alpha")
    style: dict[str, Any] = {"lineend": "round", "raster": len(lines) > RASTER_POINTS, "show_legend": False}
    if drawing.unit_labels:
        return p9.geom_segment(p9.aes(color="unit_label", **segment), lines, **style)
    return p9.geom_segment(segment, lines, color=_LINE_COLOUR, **style)


def _lines_to_next_methods(ends: pd.DataFrame, line_column: str) -> pd.DataFrame:
    """Return a line from the score of each method to that of the next one, where both are there.

    `line_column` tells which ends are joined. A line goes from `place` and `score` to `next_place` and
    `next_score`; its other columns are those of the end that it goes from.
    """
    keys = ["panel", line_column]
    ordered_ends = ends.sort_values([*keys, "place"], kind="stable").reset_index(drop=True)
    next_ends = ordered_ends.groupby(keys, observed=True)[["place", "score"]].shift(-1)
    lines = ordered_ends.assign(next_place=next_ends["place"], next_score=next_ends["score"])
    # the following end is that of a later place where the next method has no score; the last end has none
    is_to_next_method = lines["next_place"] == lines["place"] + 1
    return lines[is_to_next_method]


def _distinct_lines_with_counts(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the distinct lines, with the numbers of all lines and of the equal ones.

    `n_lines` is the number of lines between the two methods of a line in its panel, and `n_equal` the number
    of those that are equal to it.
    """
    n_lines = lines.groupby(["panel", "place"], observed=True)["score"].transform("size")
    # equal lines have the same values in all of these columns
    columns = ["panel", "place", "score", "next_place", "next_score", "n_lines", "binary", "unit_label"]
    groups_of_equal_lines = lines.assign(n_lines=n_lines).groupby(columns, observed=True)
    return groups_of_equal_lines.size().rename("n_equal").reset_index()


def _dot_layer(dots: pd.DataFrame, x: str, drawing: PairsData) -> p9.geom_point:
    """Return a layer of dots at the column `x` and `score`, in the colours of units if these have any."""
    colour = "unit_label" if drawing.unit_labels else "mark"
    dot = p9.aes(x, "score", color=colour, shape="mark", size="size", alpha="alpha")
    return p9.geom_point(dot, dots, stroke=0, raster=len(dots) > RASTER_POINTS)


def _distinct_dots_with_sizes(dots: pd.DataFrame) -> pd.DataFrame:
    """Return distinct dots at `place` and `score`, with their `size` and opacity `alpha`.

    The area of a dot of 0/1 scores, or of differences of these, shows how many equal dots it stands for.
    """
    distinct_dots = _distinct_dots_with_counts(dots)
    is_binary = distinct_dots["binary"]
    n_dots = distinct_dots["n_dots"]
    smallest = pd.Series(_DOT_SIZE, index=distinct_dots.index).mask(n_dots <= _FEW_DOTS, _FEW_DOT_SIZE)
    share_of_dots = distinct_dots["n_equal"] / n_dots
    # `size` is a diameter, whose square is in proportion to the area
    further_size: pd.Series = (_DOT_SIZE_OF_ALL - smallest) * share_of_dots**0.5
    opacity = (_FEW_DOTS / n_dots).clip(*_DOT_ALPHAS)
    return distinct_dots.assign(
        size=smallest + further_size.where(is_binary, 0.0), alpha=opacity.mask(is_binary, _BINARY_ALPHA)
    )


def _distinct_dots_with_counts(dots: pd.DataFrame) -> pd.DataFrame:
    """Return the distinct dots, with the numbers of all dots and of the equal ones.

    `n_dots` is the number of dots of the method of a dot in its panel, and `n_equal` the number of those that
    are equal to it.
    """
    n_dots = dots.groupby(["panel", "mark"], observed=True)["score"].transform("size")
    # equal dots have the same values in all of these columns
    columns = ["panel", "mark", "unit_label", "place", "score", "binary", "n_dots"]
    groups_of_equal_dots = dots.assign(n_dots=n_dots).groupby(columns, observed=True)
    return groups_of_equal_dots.size().rename("n_equal").reset_index()


def _score_mean_bars(drawing: PairsData) -> pd.DataFrame:
    """Return the means of the reference and of methods in each panel of scores, with the ends of their lines.

    The line of a mean goes from `start` to `end`, a guide from the mean to the axis of differences ends at
    `right_end`.
    """
    frame = drawing.differences.frame
    method_means = frame.assign(mean=frame["method_mean"])
    reference_means = frame.assign(mean=frame["reference_mean"], place=1)
    means = pd.concat([reference_means, method_means], ignore_index=True)
    means = means.assign(
        panel=means["score_panel"],
        start=means["place"] - _MEAN_HALF,
        end=means["place"] + _MEAN_HALF,
        right_end=_RIGHT_END,
    )
    return means[["panel", "place", "mean", "start", "end", "right_end"]].drop_duplicates()


def _difference_layers(drawing: PairsData) -> list[Any]:
    """Return layers of the differences of pairs, their density, their mean with its interval, and margins."""
    frame = drawing.differences.frame
    pairs = drawing.pairs
    place_width = 1.0
    if drawing.has_differences_beside:
        # the panel of one difference has the room of two methods
        place_width = 2.0
        frame = frame.assign(place=_MIDDLE, left_end=_LEFT_END)
        pairs = pairs.assign(place=_MIDDLE)
    dots = _distinct_dots_with_sizes(pairs.assign(score=pairs["difference"]))
    spread_fractions = evenly_spread_fractions_in_groups([dots["panel"], dots["mark"]])
    spread_fractions = np.where(dots["binary"], 0.5, spread_fractions)
    dots["x"] = dots["place"] - place_width * (_DOTS_START + _DOTS_WIDTH * spread_fractions)
    layers: list[Any] = [
        p9.geom_hline(p9.aes(yintercept="zero"), frame[["panel"]].assign(zero=0.0), color=GUIDE, size=0.4)
    ]
    margins = margin_lines(drawing.differences, frame)
    if len(margins):
        layers.append(p9.geom_hline(p9.aes(yintercept="bound"), margins, linetype="dotted", size=0.4))
    if drawing.has_differences_beside:
        guide = p9.aes("left_end", "estimate", xend="place", yend="estimate")
        layers.append(p9.geom_segment(guide, frame, color=_MEAN_GUIDE, linetype="dashed", size=0.3))
    if drawing.has_cloud_by_row_of_pairs.any():
        clouds = _difference_density_outlines(pairs[drawing.has_cloud_by_row_of_pairs], place_width)
        cloud = p9.aes("x", "value", group="mark")
        style: dict[str, Any] = {"alpha": 0.4, "size": 0, "show_legend": False}
        if drawing.unit_labels:
            layers.append(p9.geom_polygon(cloud, clouds, fill=_CLOUD_FILL, **style))
        else:
            layers.append(p9.geom_polygon(p9.aes(fill="mark", **cloud), clouds, **style))
    return [
        *layers,
        _dot_layer(dots, "x", drawing),
        p9.geom_linerange(
            p9.aes("place", ymin="conf_low", ymax="conf_high"), rows_with_both_limits(frame), size=0.7
        ),
        p9.geom_point(p9.aes("place", "estimate"), frame, size=1.2, color=REFERENCE_COLOUR),
    ]


def _difference_density_outlines(pairs: pd.DataFrame, place_width: float) -> pd.DataFrame:
    """Return the outlines of the densities of differences, in order: columns `x`, `value`, `panel`, `mark`.

    They begin at the right of the place of a method, whose width is `place_width`.
    """
    curves = density_curves(pairs, "difference", ["panel", "mark", "place"])
    # clouds of a panel have the same area, so that their widths share one scale
    densest = curves.groupby("panel", observed=True)["density"].transform("max")
    straight_x = curves["place"] + place_width * _CLOUD_START
    curves = curves.assign(
        straight_x=straight_x, x=straight_x + place_width * _CLOUD_WIDTH * curves["density"] / densest
    )
    # an outline goes up along the curve and back down along its straight side
    straight_side = curves.iloc[::-1].assign(x=curves["straight_x"].iloc[::-1])
    outlines = pd.concat([curves, straight_side], ignore_index=True)
    for column in ("panel", "mark"):
        outlines[column] = pd.Categorical(outlines[column], pairs[column].cat.categories, ordered=True)
    return outlines


def _caption_sentences(drawing: PairsData, labels: Labels) -> list[str]:
    """Return the sentences of the caption on the difference, its marks and the number of pairs."""
    differences = drawing.differences
    reference = labels.value("method", drawing.reference)
    method = "method"
    if drawing.has_differences_beside:
        method = labels.value("method", differences.distinct_values("method")[0])
    unit = noun_of_identifier(str(differences.only_non_missing_value("unit") or "case"))
    lines = "Lines: pairs"
    if drawing.has_repeated_units:
        lines = f"Lines: means of each {unit}; pale lines: its pairs"
        if drawing.unit_labels:
            lines += f"; colours: {plural(unit)}"
    elif unit == "case":
        lines = "Lines: cases"
    mark_texts = [lines, "short bars: means", "dots at the left: differences"]
    if drawing.has_cloud_by_row_of_pairs.any():
        mark_texts.append("clouds: densities of differences")
    notes = [f"Difference: {method} \N{MINUS SIGN} {reference}.", f"{'; '.join(mark_texts)}."]
    if drawing.pairs["binary"].any():
        # lines of 0/1 scores are never means of units
        lines = "lines: pairs; " if drawing.has_repeated_units else ""
        notes.append(f"Of scores that are 0 or 1, {lines}width of lines and area of dots: number of pairs.")
    notes.append(interval_caption(differences, mark="Black dots: mean differences; bars", labels=labels))
    notes.append(count_sentence(differences, "pair", "incomplete"))
    return notes


def _grid_of_pairs(drawing: PairsData, n_columns: int | None, width: float | None) -> PanelGrid:
    """Return the grid of the panels.

    A row of the grid is a row of panels of scores together with those of their differences, even where these
    stand below, so that both are on one page.
    """
    panels = list(drawing.pairs["panel"].cat.categories)
    score_panels = panels[::2]
    if width is None:
        width = COLUMN_MM if len(score_panels) <= _MAX_GROUPS_IN_COLUMN else PAGE_MM
    widest_word = widest_word_mm(score_panels, bold=True)
    least_mm = max(MIN_PANEL_MM, len(drawing.methods) * _PLACE_MM)
    if drawing.has_differences_beside:
        # between both panels stand the numbers of the second one's axis
        least_mm = 2 * max(MIN_PANEL_MM, widest_word) + GAP_MM + LEFT_MM
    groups = panel_grid(score_panels, n_columns, width, free_axes=True, min_width=least_mm)
    n_side_by_side = groups.n_columns
    if drawing.has_differences_beside:
        n_side_by_side *= 2
    # scores and differences stand side by side however long the words of their titles are
    placeholder_titles = [str(number) for number in range(n_side_by_side)]
    grid = panel_grid(placeholder_titles, n_side_by_side, width, free_axes=True, min_width=0)
    # a word that fits the panel without such numbers is not broken, and may extend over the gap beside it
    common_titles_mm = max(grid.panel_width - _NUMBERS_MM, min(widest_word, grid.panel_width))
    wrapped_titles = wrapped_texts(score_panels, chars_in(common_titles_mm, bold=True), None)
    titles = {}
    for title in score_panels:
        titles[title] = wrapped_titles[title]
        titles[title + DIFFERENCE_SUFFIX] = _DIFFERENCE_TITLE
    return replace(grid, titles=titles, n_columns=2 * groups.n_columns)
