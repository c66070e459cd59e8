"""Estimation plots: paired scores of a reference and methods, and the differences of the pairs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, check_rows_are_distinct, read_estimates
from salstats.display.facts import count_sentence, interval_caption, not_drawn_sentence
from salstats.display.plots.layout.axis_ticks import tick_texts, vertical_breaks
from salstats.display.plots.layout.captions import margin_notes, scope_note
from salstats.display.plots.layout.estimate_drawing import (
    margin_lines,
    metric_title_texts,
    rows_with_both_limits,
    with_smaller_is_better,
)
from salstats.display.plots.layout.figure import Figure, first_page_with_further_pages, keep_call_in_figure
from salstats.display.plots.layout.legends import group_scales, method_labels_references_first
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
    crossed_labels,
    names_below,
    short_labels,
    widest_word_mm,
    wrapped_texts,
)
from salstats.display.plots.layout.theme import COLUMN_MM, GUIDE, LINE_MM, PAGE_MM, PALETTE, REFERENCE_COLOUR
from salstats.display.text.format import noun_of_identifier, plural
from salstats.display.text.labels import Labels
from salstats.errors import Call, Message, SalstatsError, Setting
from salstats.frames import KEY_COLUMNS, check_scores
from salstats.stats.descriptions import density_curves
from salstats.stats.engine.comparisons import complete_pairs

#: Call that makes the frame of differences.
_DIFFERENCE_CALL = Call("difference", ("scores",), {"reference": "..."})
#: Ending that turns the title of a panel of scores into that of the panel of their differences.
_DIFFERENCE_SUFFIX = ": difference"
_DIFFERENCE_TITLE = "Difference"
#: Title of the panel of scores of the only group.
_SINGLE_TITLE = "Scores"
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
#: Fewest pairs of a cloud.
_MIN_CLOUD_PAIRS = 10
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
#: Most units that have a colour each: as many as the palette has.
_MAX_COLOURED_UNITS = len(PALETTE)
#: Longest name of a unit in the legend: characters of a line.
_UNIT_CHARS = 24
#: Fill of clouds where colours are those of units.
_CLOUD_FILL = "#AAAAAA"
#: Relative difference between an estimate and the mean of the drawn differences that rounding explains.
_ROUNDING_TOLERANCE = 1e-6


@dataclass(frozen=True)
class PairsData:
    """Pairs of scores as they are drawn.

    Attributes
    ----------
    differences : Estimates
        The differences that are drawn, with `mark` (the text of the method), `place` (its position on the
        horizontal axis), `score_panel` and `panel` (those of scores and of differences).
    pairs : DataFrame
        A row for each pair of scores, a method's and the reference's, with the same four columns. `line` and
        `unit` are the numbers of the line and of the unit that the pair belongs to, `unit_label` is the text
        of a unit that has a colour of its own, and `binary` is whether all scores of the panel are 0 or 1.
    ends : DataFrame
        A row for each end of a line: `panel`, `line`, `unit`, `unit_label`, `mark`, `place`, `score` and
        `binary`.
    methods : dict
        Text of each method, the reference first.
    reference : str
        The reference.
    has_repeated_units : bool
        Whether a unit has several lines in a panel.
    unit_labels : list of str
        The texts of the units, in order, if they have colours of their own; else methods have them.
    """

    differences: Estimates
    pairs: pd.DataFrame
    ends: pd.DataFrame
    methods: dict[Any, str]
    reference: str
    has_repeated_units: bool
    unit_labels: list[str]

    @property
    def has_differences_beside(self) -> bool:
        """Return whether differences stand beside the scores, as those of a single method do."""
        return len(self.methods) == 2

    @property
    def has_difference_cloud(self) -> pd.Series:
        """True for each pair of a method whose differences in its panel have a cloud, their density.

        They have one if they are neither few nor all equal, and not of 0/1 scores.
        """
        differences = self.pairs.groupby(["panel", "mark"], observed=True)["difference"]
        is_varied = differences.transform("nunique") > 1
        return ~self.pairs["binary"] & is_varied & (differences.transform("size") >= _MIN_CLOUD_PAIRS)


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
        Message(_DIFFERENCE_CALL, " makes the frame"),
    )
    reference = _only_reference(estimates)
    frame_labels = Labels(labels, scores)
    drawing = _pairs_data(scores, estimates, reference, frame_labels)
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


def _only_reference(estimates: Estimates) -> str:
    """Return the reference of differences.

    Raises if the estimates are not differences, are from several references, or are all missing.
    """
    terms = estimates.distinct_values("term")
    if terms and terms != ["difference"]:
        raise SalstatsError(
            f"differences holds {str(terms[0])!r}",
            hint=Message("take ", _DIFFERENCE_CALL),
            option="differences",
            column="term",
        )
    references = estimates.distinct_values("reference")
    if len(references) > 1:
        raise SalstatsError(
            f"differences are from {len(references)} references",
            hint=f"keep one of them, as in differences.query(\"reference == '{references[0]}'\")",
            option="differences",
            choices=map(str, references),
            column="reference",
        )
    if not estimates.has_estimate.any():
        raise SalstatsError(
            f"differences has nothing to draw: every estimate is missing ({len(estimates)} rows)",
            column="estimate",
        )
    return str(references[0])


def _pairs_data(scores: pd.DataFrame, estimates: Estimates, reference: str, labels: Labels) -> PairsData:
    """Return the pairs of the groups and methods of differences; raise if these were made of other scores."""
    groups = [key for key in estimates.keys if key not in ("method", "reference")]
    key_columns = [*groups, "method"]
    check_rows_are_distinct(estimates, key_columns)
    drawn_estimates = estimates.subset(estimates.has_estimate & ~estimates.is_summary_row)
    if not len(drawn_estimates):
        raise SalstatsError(
            "differences has only averages and pooled rows, which have no pairs of their own",
            option="differences",
            column="estimate",
        )
    frame = drawn_estimates.frame.copy()
    pairs = complete_pairs(scores, reference, groups)
    # a frame that was read from a file may have numbers where scores have texts
    for rows in (frame, pairs):
        rows[key_columns] = rows[key_columns].astype(TEXT)
    pairs = pairs.merge(frame[key_columns], on=key_columns)
    _check_means(pairs, frame, key_columns)
    methods = method_labels_references_first(labels, [reference, *frame["method"]], [reference])
    frame = _with_places(frame, labels, groups, methods)
    pairs = pairs.merge(frame[[*key_columns, "score_panel", "panel", "mark", "place"]], on=key_columns)
    line_columns = [column for column in KEY_COLUMNS if column in pairs.columns and column != "method"]
    pairs["line"] = pairs.groupby(line_columns, dropna=False, sort=False).ngroup()
    are_outcomes = pairs[["score", "reference_score"]].isin([0, 1]).all(axis=1)
    pairs["binary"] = are_outcomes.groupby(pairs["panel"], observed=True).transform("all")
    pairs["unit"] = pairs["line"]
    pairs["unit_label"] = ""
    unit_labels: list[str] = []
    unit_column = drawn_estimates.only_value("unit")
    if unit_column in pairs.columns:
        unit_numbers = pairs.groupby(unit_column, dropna=False, sort=False).ngroup()
        # the mean of a unit's 0/1 scores is neither 0 nor 1, so that these lines are those of pairs
        pairs["unit"] = unit_numbers.where(~pairs["binary"], pairs["line"])
    n_lines = pairs.groupby(["panel", "unit"], observed=True)["line"].nunique()
    has_repeated_units = bool(n_lines.max() > 1)
    if has_repeated_units and pairs[unit_column].nunique() <= _MAX_COLOURED_UNITS:
        texts = short_labels(
            labels, str(unit_column), pairs[unit_column], line_chars=_UNIT_CHARS, max_lines=1
        )
        unit_labels = list(texts.values())
        # equal lines of 0/1 scores are drawn as one, which may belong to several units
        pairs["unit_label"] = pairs[unit_column].map(texts).where(~pairs["binary"], "")
    return PairsData(
        differences=drawn_estimates.with_other_frame(frame),
        pairs=pairs,
        ends=_line_ends(pairs, methods[reference]),
        methods=methods,
        reference=reference,
        has_repeated_units=has_repeated_units,
        unit_labels=unit_labels,
    )


def _check_means(pairs: pd.DataFrame, differences: pd.DataFrame, key_columns: list[str]) -> None:
    """Raise unless each unweighted difference is the mean of its pairs, and each weighted one has pairs."""
    means = pairs.groupby(key_columns, as_index=False)["difference"].mean()
    compared_differences = differences.merge(means, how="left", on=key_columns)
    error = (compared_differences["estimate"] - compared_differences["difference"]).abs()
    is_equal = error <= _ROUNDING_TOLERANCE * np.maximum(1, compared_differences["estimate"].abs())
    is_weighted = "weights" in compared_differences.columns and compared_differences["weights"].notna().any()
    if is_weighted:
        is_equal = compared_differences["difference"].notna()
    if not is_equal.all():
        row = compared_differences[~is_equal].iloc[0]
        raise SalstatsError(
            f"the difference of {', '.join(row[key_columns])} is not the mean of the pairs of scores",
            hint=Message("give the scores that it was made of, with ", Setting("pairs", "complete")),
            option="differences",
            rows=np.flatnonzero(~is_equal).tolist(),
        )


def _texts_of_groups(
    differences: pd.DataFrame, labels: Labels, columns: list[str]
) -> dict[str, dict[Any, str]]:
    """Return the label of each value of some grouping columns, metrics with their direction."""
    texts = {column: labels.label_by_value(column, differences[column]) for column in columns}
    if "metric" in columns:
        texts |= metric_title_texts(differences, labels)
    return texts


def _with_places(
    differences: pd.DataFrame, labels: Labels, groups: list[str], methods: Mapping[Any, str]
) -> pd.DataFrame:
    """Return differences with `mark` and `place`, text and position of their method, and with their panels.

    `score_panel` is the panel of the scores, `panel` that of the differences; both alternate in the figure.
    """
    varying_columns = [column for column in groups if differences[column].nunique() > 1]
    # panels fill one column after the other, so that those of a metric stand in a row
    varying_columns.sort(key=lambda column: column == "metric")
    titles = crossed_labels(differences, _texts_of_groups(differences, labels, varying_columns))
    titles = titles.rename_categories({"": _SINGLE_TITLE})
    panels = []
    for title in titles.categories:
        panels += [title, title + _DIFFERENCE_SUFFIX]
    place_of = {method: place for place, method in enumerate(methods, 1)}
    return differences.assign(
        score_panel=pd.Categorical(titles.astype(TEXT), panels, ordered=True),
        panel=pd.Categorical([title + _DIFFERENCE_SUFFIX for title in titles], panels, ordered=True),
        mark=pd.Categorical(differences["method"].map(methods), list(methods.values()), ordered=True),
        place=differences["method"].map(place_of),
    )


def _line_ends(pairs: pd.DataFrame, reference_text: str) -> pd.DataFrame:
    """Return the ends of lines: the score of the reference of each line, then the scores of the methods."""
    reference_ends = pairs.drop_duplicates(["panel", "line"])
    reference_ends = reference_ends.assign(
        score=reference_ends["reference_score"], mark=reference_text, place=1
    )
    ends = pd.concat([reference_ends, pairs], ignore_index=True)
    ends["mark"] = pd.Categorical(ends["mark"], pairs["mark"].cat.categories, ordered=True)
    ends["panel"] = ends["score_panel"]
    return ends[["panel", "line", "unit", "unit_label", "mark", "place", "score", "binary"]]


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
    difference_numbers = _values_drawn_on_difference_axes(drawing).groupby("panel", observed=True)["number"]
    ranges["difference_low"] = difference_numbers.min()
    ranges["difference_high"] = difference_numbers.max()
    means = drawing.differences.frame.groupby("panel", observed=True)["reference_mean"]
    ranges["reference_mean"] = means.first()
    return ranges.reset_index()


def _values_drawn_on_difference_axes(drawing: PairsData) -> pd.DataFrame:
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
    ends: pd.DataFrame, line_column: str, drawing: PairsData, *, is_pale: bool
) -> p9.geom_segment:
    """Return a layer of lines between the ends of each value of `line_column`.

    Lines are grey unless units have colours. Where scores are 0 or 1, equal lines are drawn as one, which is
    the wider the more they are.
    """
    lines = _distinct_lines_with_counts(ends, line_column)
    # width and opacity by the share of the lines that a line of 0/1 scores stands for
    share_of_lines = np.where(lines["binary"], lines["n_equal"] / lines["n_lines"], 0.0)
    size = _LINE_SIZE + (_LINE_SIZE_OF_ALL - _LINE_SIZE) * share_of_lines
    alpha = np.clip(_OPAQUE_LINES / lines["n_lines"], *_LINE_ALPHAS)
    alpha = np.where(lines["binary"], _BINARY_ALPHA, alpha)
    if is_pale:
        alpha = alpha * (_PALE_COLOUR_FACTOR if drawing.unit_labels else _PALE_FACTOR)
    lines = lines.assign(size=size, alpha=alpha)
    segment = p9.aes("place", "score", xend="next_place", yend="next_score", size="size", alpha="alpha")
    style: dict[str, Any] = {"lineend": "round", "raster": len(lines) > RASTER_POINTS, "show_legend": False}
    if drawing.unit_labels:
        return p9.geom_segment(p9.aes(color="unit_label", **segment), lines, **style)
    return p9.geom_segment(segment, lines, color=_LINE_COLOUR, **style)


def _distinct_lines_with_counts(ends: pd.DataFrame, line_column: str) -> pd.DataFrame:
    """Return the distinct lines from each method to the next one, of those that have both ends.

    A line goes from `place` and `score` to `next_place` and `next_score`; `panel`, `binary` and `unit_label`
    are those of its ends. `n_lines` is the number of lines between these two methods in the panel, and
    `n_equal` the number of those that are equal to this line.
    """
    keys = ["panel", line_column]
    ordered_ends = ends.sort_values([*keys, "place"], kind="stable").reset_index(drop=True)
    next_ends = ordered_ends.groupby(keys, observed=True)[["place", "score"]].shift(-1)
    lines = ordered_ends.assign(next_place=next_ends["place"], next_score=next_ends["score"])
    # the place after an end differs where the next method has no score, or where the line ends
    lines = lines[lines["next_place"] == lines["place"] + 1]
    n_lines = lines.groupby(["panel", "place"], observed=True)["score"].transform("size")
    lines = lines.assign(n_lines=n_lines)
    columns = ["panel", "place", "score", "next_place", "next_score", "n_lines", "binary", "unit_label"]
    return lines.groupby(columns, observed=True).size().rename("n_equal").reset_index()


def _dot_layer(dots: pd.DataFrame, x: str, drawing: PairsData) -> p9.geom_point:
    """Return a layer of dots at the column `x` and `score`, in the colours of units if these have any."""
    colour = "unit_label" if drawing.unit_labels else "mark"
    dot = p9.aes(x, "score", color=colour, shape="mark", size="size", alpha="alpha")
    return p9.geom_point(dot, dots, stroke=0, raster=len(dots) > RASTER_POINTS)


def _distinct_dots_with_sizes(dots: pd.DataFrame) -> pd.DataFrame:
    """Return distinct dots at `place` and `score`, with their `size` and opacity `alpha`.

    The area of a dot of 0/1 scores, or of differences of these, shows how many equal dots it stands for.
    """
    # the number of dots of each method in its panel
    n_dots = dots.groupby(["panel", "mark"], observed=True)["score"].transform("size")
    dots = dots.assign(n_dots=n_dots)
    columns = ["panel", "mark", "unit_label", "place", "score", "binary", "n_dots"]
    distinct_dots = dots.groupby(columns, observed=True).size().rename("n_equal").reset_index()
    share_of_dots = np.where(distinct_dots["binary"], distinct_dots["n_equal"] / distinct_dots["n_dots"], 0.0)
    smallest = np.where(distinct_dots["n_dots"] <= _FEW_DOTS, _FEW_DOT_SIZE, _DOT_SIZE)
    # the square root, since `size` is a diameter
    size = smallest + (_DOT_SIZE_OF_ALL - smallest) * np.sqrt(share_of_dots)
    alpha = np.clip(_FEW_DOTS / distinct_dots["n_dots"], *_DOT_ALPHAS)
    alpha = np.where(distinct_dots["binary"], _BINARY_ALPHA, alpha)
    return distinct_dots.assign(size=size, alpha=alpha)


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
    if drawing.has_difference_cloud.any():
        clouds = _difference_density_outlines(pairs[drawing.has_difference_cloud], place_width)
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
    unit = noun_of_identifier(str(differences.only_value("unit") or "case"))
    lines = "Lines: pairs"
    if drawing.has_repeated_units:
        lines = f"Lines: means of each {unit}; pale lines: its pairs"
        if drawing.unit_labels:
            lines += f"; colours: {plural(unit)}"
    elif unit == "case":
        lines = "Lines: cases"
    mark_texts = [lines, "short bars: means", "dots at the left: differences"]
    if drawing.has_difference_cloud.any():
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
    least_mm = max(MIN_PANEL_MM, len(drawing.methods) * _PLACE_MM)
    if drawing.has_differences_beside:
        # between both panels stand the numbers of the second one's axis
        least_mm = 2 * max(MIN_PANEL_MM, widest_word_mm(score_panels, bold=True)) + GAP_MM + LEFT_MM
    groups = panel_grid(score_panels, n_columns, width, free_axes=True, min_width=least_mm)
    n_side_by_side = groups.n_columns
    if drawing.has_differences_beside:
        n_side_by_side *= 2
    # scores and differences stand side by side however long the words of their titles are
    placeholder_titles = [str(number) for number in range(n_side_by_side)]
    grid = panel_grid(placeholder_titles, n_side_by_side, width, free_axes=True, min_width=0)
    title_chars = chars_in(grid.panel_width - _NUMBERS_MM, bold=True)
    wrapped_titles = wrapped_texts(score_panels, title_chars, None)
    titles = {}
    for title in score_panels:
        titles[title] = wrapped_titles[title]
        titles[title + _DIFFERENCE_SUFFIX] = _DIFFERENCE_TITLE
    return replace(grid, titles=titles, n_columns=2 * groups.n_columns)
