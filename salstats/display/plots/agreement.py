"""Bland-Altman plots: differences of two raters by their means, with bias and limits of agreement."""

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
from salstats.display.plots.layout.estimate_drawing import (
    are_in_drawn_panels,
    check_drawable,
    rows_with_both_limits,
)
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.panel_grid import group_titles, panel_grid
from salstats.display.plots.layout.points import CELL_POINTS, RASTER_POINTS, point_density_cell_layers
from salstats.display.plots.layout.theme import GUIDE, PALETTE, LineStyle, font
from salstats.display.text.format import column_texts
from salstats.display.text.labels import Labels
from salstats.errors import Call, Message, SalstatsError
from salstats.stats.agreement.readings_of_groups import mean_and_difference_of_reading_pairs

#: Height of a panel as a multiple of its width.
_HEIGHT_TO_WIDTH = 0.8
#: Lines of the bias and of the limits of agreement, by term.
_LINES = {
    "bias": LineStyle(PALETTE[0], "solid"),
    "loa_low": LineStyle(PALETTE[1], "dashed"),
    "loa_high": LineStyle(PALETTE[1], "dashed"),
}
#: Call that makes the frame of limits of agreement.
_LIMITS_CALL = Call("agreement", ("scores",), {"kind": "bland-altman"})
#: Sizes of the marks of a single pair of readings and of the largest number of equal pairs.
_MARK_SIZES = (0.9, 3.0)
#: The opacity of a point is this number over the number of points of its panel, within bounds.
_OPAQUE_POINTS = 60
_POINT_ALPHAS = (0.15, 0.7)
_CELL_COLOUR = "#666666"
#: Size in points of the numbers at the lines, and their significant digits.
_NUMBER_PT = 6.0
_NUMBER_DIGITS = 2


@keep_call_in_figure
def plot_agreement(
    scores: pd.DataFrame,
    limits: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw a Bland-Altman plot: differences of two raters against their means, a panel per pair and group.

    Nothing is computed here but the differences: lines, their numbers and bands are those of `agreement`.

    Parameters
    ----------
    scores : DataFrame
        The scores that `limits` were made of.
    limits : DataFrame
        What `agreement(kind="bland-altman")` returns for them, all of its rows or those of some groups and
        pairs, which have a panel each.
    labels : mapping, optional
        Labels and order of columns and their values: `{"reader": {"r1": "Reader 1"}, "metric": {...}}`.
    n_columns : int, optional
        Panels side by side; by default up to three in a column and five on a page.
    width : float, optional
        Width of the figure in mm; by default 89 for up to four panels, else 183.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` are the pairs of readings, with `panel`, `mean`,
        `difference` and `n`: the number of equal pairs, which the area of a mark shows. A case that was read
        several times has a mark for each pair of readings or, if its readings have no order
        (`linked=False`), one mark at their means. Panels of several metrics have their own axes. More than
        5000 marks of a panel are drawn as cells.

    Raises
    ------
    ColumnError, SalstatsError
        `limits` are not limits of agreement, or were made of other scores.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou' and task == 'Edema'")
    >>> limits = ss.agreement(scores, over="method", kind="bland-altman")
    >>> figure = ss.plot_agreement(scores, limits)
    >>> figure.labels.y
    'Difference in IoU'
    """
    estimates = read_estimates(
        limits,
        "limits",
        ("estimate", "pair", "term", "over"),
        Message(_LIMITS_CALL, " makes the frame"),
    )
    frame = estimates.frame
    if not set(frame["term"]) <= set(_LINES):
        raise SalstatsError(
            f"limits holds {str(frame['term'].iloc[0])!r}",
            hint=Message("take ", _LIMITS_CALL, ", or ", Call("plot_forest"), " for coefficients"),
            option="limits",
            column="term",
        )
    frame_labels = Labels(labels, frame)
    groups = list(estimates.keys)
    check_rows_are_distinct(estimates, [*groups, "term"])
    check_drawable(estimates)
    is_drawn = are_in_drawn_panels(estimates, groups)
    drawn_limits = estimates.subset(is_drawn)
    frame = drawn_limits.frame
    are_readings_paired = _are_readings_in_pairs(drawn_limits)
    points = _mean_difference_points_with_pair_counts(
        scores, frame, groups, are_readings_paired=are_readings_paired
    )
    pair_texts = _rater_pair_texts(estimates.frame, frame_labels)
    undefined_rows = estimates.frame[~is_drawn]
    missing_limits = estimates.with_other_frame(
        undefined_rows.assign(pair=undefined_rows["pair"].map(pair_texts))
    )
    # a single panel has its pair as its title
    title_columns = [column for column in groups if len(drawn_limits.distinct_values(column)) > 1] or ["pair"]
    frame = _with_pair_and_panel(frame, frame_labels, pair_texts, title_columns)
    points = _with_pair_and_panel(points, frame_labels, pair_texts, title_columns)
    panels = list(frame["panel"].cat.categories)
    points["panel"] = pd.Categorical(points["panel"].astype(TEXT), panels, ordered=True)
    metrics = drawn_limits.distinct_values("metric")
    grid = panel_grid(panels, n_columns, width, free_axes=len(metrics) > 1)
    height = grid.panel_height(_HEIGHT_TO_WIDTH)
    score = "score"
    if len(metrics) == 1:
        score = frame_labels.value("metric", metrics[0])
    figure = (
        Figure(points, p9.aes("mean", "difference"))
        + p9.geom_hline(yintercept=0, color=GUIDE, size=0.4)
        + _interval_band_layers(frame)
        + _mark_layers(points)
        + _bias_and_limit_line_layers(frame)
        + _bias_and_limit_number_layers(frame)
        + number_axes(grid.panel_width, height)
        + grid.elements(
            height,
            x=f"Mean {score}",
            y=f"Difference in {score}",
            notes=[
                scope_note(frame, frame_labels, ("method", "task")),
                *_caption_sentences(
                    drawn_limits.with_other_frame(frame),
                    points,
                    are_readings_paired=are_readings_paired,
                ),
                not_drawn_sentence(missing_limits, frame_labels, groups),
            ],
        )
        + p9.theme(legend_position="none")
    )
    return grid.divided_into_pages(figure, height)


def _rater_pair_texts(agreement_limits: pd.DataFrame, labels: Labels) -> dict[Any, str]:
    """Return the text of each pair of raters: "Reader 1 − Reader 2"."""
    rater_column = str(agreement_limits["over"].iloc[0])
    texts = {}
    for pair, rows in agreement_limits.groupby("pair", sort=False):
        first = labels.value(rater_column, rows["first"].iloc[0])
        second = labels.value(rater_column, rows["second"].iloc[0])
        texts[pair] = f"{first} \N{MINUS SIGN} {second}"
    return texts


def _with_pair_and_panel(
    rows: pd.DataFrame, labels: Labels, pair_texts: dict[Any, str], title_columns: list[str]
) -> pd.DataFrame:
    """Return rows with the text of their `pair` and the title of their `panel`."""
    pair = pd.Categorical(rows["pair"].map(pair_texts), list(pair_texts.values()), ordered=True)
    rows = rows.assign(pair=pair)
    return rows.assign(panel=group_titles(rows, labels, title_columns))


def _are_readings_in_pairs(limits: Estimates) -> bool:
    """Return whether the readings of a case by two raters belong together in pairs, as by default."""
    return all(bool(linked) for linked in limits.distinct_values("linked"))


def _mean_difference_points_with_pair_counts(
    scores: pd.DataFrame, agreement_limits: pd.DataFrame, groups: list[str], *, are_readings_paired: bool
) -> pd.DataFrame:
    """Return the distinct pairs of readings of the drawn groups: `mean`, `difference`, and their count `n`.

    `groups` are the grouping columns of `agreement_limits`, and `are_readings_paired` is whether the readings
    of a case by two raters belong together in pairs. Raises if the scores lack one of the groups.
    """
    by = [column for column in groups if column != "pair"]
    rater_column = str(agreement_limits["over"].iloc[0])
    readings = mean_and_difference_of_reading_pairs(scores, rater_column, by, linked=are_readings_paired)
    readings[groups] = readings[groups].astype(TEXT)
    drawn_groups = agreement_limits[groups].drop_duplicates().astype(TEXT)
    points = readings.merge(drawn_groups, on=groups)
    if len(points.groupby(groups)) < len(drawn_groups):
        raise SalstatsError(
            "limits has a group or pair that the scores lack",
            hint="give the scores that it was made of",
            option="limits",
        )
    counts = points.groupby([*groups, "mean", "difference"], as_index=False).size()
    return counts.rename(columns={"size": "n"})


def _interval_band_layers(agreement_limits: pd.DataFrame) -> list[Any]:
    """Return layers of bands for the intervals of the bias and the limits of agreement."""
    band = p9.aes(xmin="left", xmax="right", ymin="conf_low", ymax="conf_high")
    layers = []
    for term, style in _LINES.items():
        rows = rows_with_both_limits(agreement_limits[agreement_limits["term"] == term]).assign(
            left=-np.inf, right=np.inf
        )
        if len(rows):
            layers.append(p9.geom_rect(band, rows, fill=style.colour, alpha=0.15, size=0, inherit_aes=False))
    return layers


def _bias_and_limit_line_layers(agreement_limits: pd.DataFrame) -> list[Any]:
    """Return layers of the lines of the bias and the limits of agreement."""
    line = p9.aes(yintercept="estimate")
    layers = []
    for term, style in _LINES.items():
        rows = agreement_limits[agreement_limits["term"] == term]
        if len(rows):
            layers.append(p9.geom_hline(line, rows, color=style.colour, linetype=style.linetype, size=0.6))
    return layers


def _bias_and_limit_number_layers(agreement_limits: pd.DataFrame) -> list[Any]:
    """Return layers of the numbers of the lines, at their right end.

    The numbers of the limits of agreement stand on the side of the bias.
    """
    texts = agreement_limits.groupby("panel", observed=True)["estimate"].transform(
        lambda estimates: column_texts(estimates, _NUMBER_DIGITS)
    )
    # a minus sign instead of a hyphen, as at the axis
    texts = texts.str.replace("-", "\N{MINUS SIGN}")
    rows = agreement_limits.assign(text=texts, right=np.inf)
    number = p9.aes("right", "estimate", label="text")
    layers = []
    for term, style in _LINES.items():
        rows_of_term = rows[(rows["term"] == term) & rows["estimate"].notna()]
        if len(rows_of_term):
            layers.append(
                p9.geom_text(
                    number,
                    rows_of_term,
                    color=style.colour,
                    size=_NUMBER_PT,
                    family=font(),
                    ha="right",
                    va="top" if term == "loa_high" else "bottom",
                    inherit_aes=False,
                )
            )
    return layers


def _mark_layers(points: pd.DataFrame) -> list[Any]:
    """Return layers of the pairs of readings, more transparent the more there are; cells for very many."""
    n_points = int(points["panel"].value_counts().max())
    if n_points > CELL_POINTS:
        return point_density_cell_layers(
            points.rename(columns={"mean": "x", "difference": "y"}), _CELL_COLOUR
        )
    alpha = float(np.clip(_OPAQUE_POINTS / n_points, *_POINT_ALPHAS))
    style: dict[str, Any] = {"stroke": 0, "alpha": alpha, "raster": len(points) > RASTER_POINTS}
    if points["n"].max() == 1:
        smallest, _ = _MARK_SIZES
        return [p9.geom_point(size=smallest, **style)]
    return [p9.geom_point(p9.aes(size="n"), **style), p9.scale_size(range=_MARK_SIZES)]


def _caption_sentences(
    agreement_limits: Estimates, points: pd.DataFrame, *, are_readings_paired: bool
) -> list[str]:
    """Return the sentences of the caption on the difference, lines, marks and bands."""
    notes = []
    pair = agreement_limits.only_non_missing_value("pair")
    if pair is not None:
        notes.append(f"Difference: {pair}.")
    notes.append("Solid line: bias; dashed: limits that hold 95% of differences.")
    if not are_readings_paired:
        notes.append("Marks: means of each case's readings.")
    notes.append(interval_caption(agreement_limits, mark="Bands"))
    if points["n"].max() > 1:
        notes.append(f"Area of marks: equal pairs, up to {points['n'].max()}.")
    return notes
