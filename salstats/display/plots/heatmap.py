"""Heat maps of estimates: a tile for each method and task, a panel for each metric."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_choice
from salstats.display.estimates import read_estimates
from salstats.display.facts import bars_sentence, count_sentence, population_and_caution_sentences
from salstats.display.plots.decrease import contrast_axis_title
from salstats.display.plots.layout.axis_limits import axis_end_of_rows, limits_of_cut_axes
from salstats.display.plots.layout.axis_sides import better_side_signs_by_panel
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.empty_rows import NO_ESTIMATE, NOT_DEFINED
from salstats.display.plots.layout.estimate_drawing import EstimateDrawing, prepared_drawing, quantity_label
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.legends import continuous_colour_bar, justification_centred_on_panels
from salstats.display.plots.layout.panel_grid import BOTTOM_MM, panel_grid
from salstats.display.plots.layout.text_fit import (
    NAME_CHARS,
    label_line_chars,
    names_below,
    short_labels,
    text_width_mm,
)
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    GUIDE,
    LINE_MM,
    MUTED,
    PAGE_MM,
    TEXT_PT,
    font,
    tile_axes,
)
from salstats.display.tables.grid import decimals_by_metric_of_rows
from salstats.display.tables.marks import better_sign
from salstats.display.text.format import MISSING, STYLES, fixed_text, limits_text
from salstats.display.text.labels import SUMMARY_LABELS, Labels
from salstats.display.text.vocabulary import CONTRASTS
from salstats.errors import SalstatsError

#: Colours of the worst and of the best estimate of a panel; lightness falls evenly, also in grey.
_SHADES = ("#EEF3F8", "#004488")
#: Tiles of this shade and more, from 0 to 1, are so dark that their numbers are white.
_DARK_FROM = 0.7
#: Sizes in points of estimates, of the limits below them, and of the smallest estimates that are written;
#: share of a tile's width that a text may fill.
_ESTIMATE_PT = TEXT_PT - 0.5
_LIMITS_PT = TEXT_PT - 1.5
_MIN_ESTIMATE_PT = 5.5
_FILLED_SHARE = 0.92
#: Share of a journal's column that a panel may take beside the names of its rows.
_PANEL_SHARE = 0.6
#: Most lines of a name of a row, and room in mm around it.
_NAME_LINES = 3
_PAD_MM = 4.0
#: Least height in mm of a tile with one line of text and with two, and its greatest width.
_ONE_LINE_TILE_MM = 4.5
_TWO_LINE_TILE_MM = 7.0
_MAX_TILE_WIDTH_MM = 26.0
#: Distance of a line of text from the middle of a tile with two, as a share of its height.
_LINE_OFFSET_SHARE = 0.21
#: Room in mm above averages and pooled rows.
_SUMMARY_GAP_MM = 1.2
#: Size in points of the colour bar, and the room in mm for it with its texts.
_BAR_WIDTH_PT = 90
_BAR_HEIGHT_PT = 5
_BAR_ROOM_MM = 45.0
_LEGEND_HEIGHT_MM = 9.0


class _EstimateAndLimitTexts(NamedTuple):
    """Texts of the tiles: the estimates, and the limits below them ("" throughout if they do not fit)."""

    estimates: list[str]
    limits: list[str]


@keep_call_in_figure
def plot_heatmap(
    estimates: pd.DataFrame,
    *,
    reference: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    style: str = "nature",
    width: float | None = None,
) -> Figure:
    """Draw estimates of methods by tasks as tiles, the darker the better, a panel for each metric.

    Parameters
    ----------
    estimates : DataFrame
        From `summarize`, `difference`, `rank_stability(by=["metric", "task"])` or any estimates frame of one
        term, grouped by `method` and `task` (or else another column) and by any of `metric` and one further
        column, whose values become panels.
    reference : str, optional
        The method that stands first, by default "human".
    labels : mapping, optional
        Names and order of tasks, methods and metrics.
    n_columns : int, optional
        Panels side by side.
    style : {"nature", "radiology", "ama", "brackets"}
        How limits are written.
    width : float, optional
        Width of the figure in mm; by default 89 for one panel that fits with its intervals, else 183.

    Returns
    -------
    Figure
        Its `data` have `shade` of each tile, 0 for the worst and 1 for the best estimate of its panel by the
        record of the metric; of a metric that is not known, for the smallest and the largest. Limits stand
        below the estimates where they fit all tiles. A tile says so if its estimate is not defined, or if the
        frame has no row for its method and task. "Overall" and "Average" stand last, set apart.

    Raises
    ------
    ColumnError
        No column `estimate`, or one that is not numeric.
    SalstatsError
        Several terms; estimates that are all missing; two rows for one place; no methods, or no other
        grouping column for the rows; more than one further grouping column.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> means = ss.summarize(scores, by=["metric", "method", "task"], n_replicates=100)
    >>> figure = ss.plot_heatmap(means)
    >>> figure.data.loc[figure.data["shade"] == 1, ["metric", "method", "task", "text"]]
       metric method              task   text
    9     hit  human  Pleural Effusion  0.884
    21    iou  human      Cardiomegaly  0.532
    """
    check_choice(style, tuple(STYLES), "style")
    means = read_estimates(estimates).subset_of_term_if_mrmc("mean")
    drawing = prepared_drawing(means, Labels(labels, means.frame), reference)
    row_column = _row_column(drawing)
    methods = list(drawing.methods)
    n_methods = len(methods)
    titles = list(drawing.frame["panel"].cat.categories)
    texts = _estimate_and_limit_texts(drawing, style)
    # least widths of a panel whose tiles have room for their estimates, and for limits
    width_for_estimates = _tile_width_mm(texts.estimates, _MIN_ESTIMATE_PT) * n_methods
    width_for_limits = _tile_width_mm(texts.limits, _LIMITS_PT) * n_methods
    if width is None:
        fits_column = len(titles) == 1 and width_for_limits <= _PANEL_SHARE * COLUMN_MM
        width = COLUMN_MM if fits_column else PAGE_MM
    row_names = short_labels(
        drawing.labels,
        row_column,
        drawing.frame[row_column],
        label_line_chars(width, NAME_CHARS),
        _NAME_LINES,
    )
    names_mm = max(map(text_width_mm, row_names.values())) + _PAD_MM
    # panels have room for limits, even if fewer then stand side by side, unless not even one would fit
    min_width = width_for_estimates
    if width_for_limits <= width - names_mm - _PAD_MM:
        min_width = width_for_limits
    grid = panel_grid(titles, n_columns, width, left_mm=names_mm, min_width=min_width)
    tile_width = min(grid.panel_width / n_methods, _MAX_TILE_WIDTH_MM)
    column_labels = [drawing.labels.value("method", method) for method in methods]
    # where the last row of panels is incomplete, slanted names below the panels above the gap would lie on
    # the title of the next panel
    is_last_row_full = len(titles) % grid.n_columns == 0
    column_names = names_below(column_labels, tile_width, may_slant=is_last_row_full)
    if column_names.left_overhang > names_mm:
        grid = panel_grid(titles, n_columns, width, left_mm=column_names.left_overhang, min_width=min_width)
        tile_width = min(grid.panel_width / n_methods, _MAX_TILE_WIDTH_MM)
    has_limits = any(texts.limits) and width_for_limits <= n_methods * tile_width
    tiles = drawing.frame.assign(
        across=[float(methods.index(method)) for method in drawing.frame["method"]],
        shade=_shades_worst_to_best_in_panel(drawing),
        text=texts.estimates,
        limits=texts.limits if has_limits else "",
    )
    blank_tiles = _blank_tiles(tiles, row_column, methods, list(row_names), tile_width)
    has_two_lines = has_limits or bool(blank_tiles["words"].str.contains("\n").any())
    tile_height = _tile_height_mm(list(row_names.values()), has_two_lines=has_two_lines)
    centres = _row_centres_mm(list(row_names), tile_height)
    height = max(-centre for centre in centres.values()) + tile_height / 2
    tiles["up"] = tiles[row_column].map(centres).astype(float)
    blank_tiles["up"] = blank_tiles[row_column].map(centres).astype(float)
    # size at which the widest estimate fills its tile; tiles without room for a legible one have none
    largest_pt = _MIN_ESTIMATE_PT * tile_width * n_methods / width_for_estimates
    estimate_pt: float | None = None
    if largest_pt >= _MIN_ESTIMATE_PT:
        estimate_pt = min(_ESTIMATE_PT, largest_pt)
    # tiles of the greatest width do not fill the panels
    unused_width = max(grid.n_columns * (grid.panel_width - n_methods * tile_width), 1)
    bar_title = _colour_bar_title(drawing)
    # names of columns take the place of the horizontal axis
    further_mm = column_names.height + _LEGEND_HEIGHT_MM - BOTTOM_MM
    legend_title = p9.element_blank()
    if bar_title:
        legend_title = p9.element_text(size=TEXT_PT, ha="center", margin={"b": 2})
        further_mm += LINE_MM
    outline: dict[str, Any] = {"width": 0.97, "height": 0.96 * tile_height, "color": GUIDE, "size": 0.2}
    figure = (
        Figure(tiles, p9.aes("across", "up"))
        + p9.geom_tile(p9.aes(fill="shade"), **outline)
        + _blank_layers(blank_tiles, outline)
        + _tile_text_layers(tiles, tile_height, estimate_pt)
        + p9.scale_fill_gradientn(
            _SHADES,
            limits=(0, 1),
            breaks=[0, 1],
            labels=_colour_bar_end_texts(drawing),
            name=bar_title,
            na_value="white",
            guide=continuous_colour_bar(),
        )
        + p9.scale_color_identity()
        + p9.scale_x_continuous(
            breaks=list(range(n_methods)),
            labels=column_names.texts,
            limits=(-0.5, n_methods - 0.5),
            minor_breaks=[],
            expand=(0, 0.03),
        )
        + p9.scale_y_continuous(
            breaks=list(centres.values()),
            labels=list(row_names.values()),
            limits=(-height, 0),
            minor_breaks=[],
            expand=(0, 0.03),
        )
        + grid.elements(
            height,
            notes=_caption_sentences(
                drawing, len(tiles) + int(blank_tiles["is_absent"].sum()), has_limits=has_limits
            ),
            # the caption begins below the names of rows
            indent_mm=max(column_names.left_overhang - names_mm, 0.0),
            further_mm=further_mm,
        )
        + tile_axes(column_names.text_options)
        + p9.theme(
            axis_text_y=p9.element_text(ha="right", ma="right"),
            legend_title=legend_title,
            legend_title_position="top",
            legend_key_width=_BAR_WIDTH_PT,
            legend_key_height=_BAR_HEIGHT_PT,
            legend_justification_top=justification_centred_on_panels(
                max(_BAR_ROOM_MM, text_width_mm(bar_title)),
                grid.left_mm,
                width - grid.left_mm - unused_width,
                width,
            ),
            plot_margin_right=unused_width / width,
        )
    )
    return grid.divided_into_pages(
        figure, height, edges=[centre - tile_height / 2 for centre in centres.values()]
    )


def _row_column(drawing: EstimateDrawing) -> str:
    """Return the column whose values are the rows; raise unless methods and another column are there."""
    if not drawing.methods or drawing.row_column in (None, "method"):
        raise SalstatsError(
            f"{drawing.estimates.name} has to be grouped by 'method' and by another column, such as 'task'",
            option=drawing.estimates.name,
            column="task" if drawing.methods else "method",
        )
    return str(drawing.row_column)


def _estimate_and_limit_texts(drawing: EstimateDrawing, style: str) -> _EstimateAndLimitTexts:
    """Return the texts of all tiles, with the decimals of the metric or of the term."""
    estimates = drawing.panel_estimates
    values = estimates.numbers("estimate")
    digits = decimals_by_metric_of_rows(estimates, None)
    limits = []
    rows = zip(estimates.numbers("conf_low"), estimates.numbers("conf_high"), digits, strict=True)
    for low, high, row_digits in rows:
        text = limits_text(low, high, row_digits, style)
        if text == MISSING:
            text = ""
        limits.append(text)
    return _EstimateAndLimitTexts(
        estimates=[fixed_text(value, n) for value, n in zip(values, digits, strict=True)], limits=limits
    )


def _tile_width_mm(texts: list[str], size: float) -> float:
    """Return the width in mm that a tile needs for the widest of some texts of a size in points."""
    return max(text_width_mm(text, size) for text in texts) / _FILLED_SHARE


def _better_sign_or_zero_of_rows(drawing: EstimateDrawing) -> pd.Series:
    """Return 1 for each row whose larger estimates are better, -1 for smaller ones, 0 where unknown."""
    frame = drawing.frame
    if drawing.term in CONTRASTS and "metric" in frame.columns:
        sides = better_side_signs_by_panel(frame, drawing.term)
        better = dict(zip(sides["panel"], sides["better"], strict=True))
        return pd.Series([better.get(panel, 0) for panel in frame["panel"]], frame.index)
    metrics = drawing.panel_estimates.row_values("metric")
    return pd.Series([better_sign(metric, drawing.term) for metric in metrics], frame.index)


def _shades_worst_to_best_in_panel(drawing: EstimateDrawing) -> pd.Series:
    """Return the shade of each estimate, from 0 for the worst to 1 for the best of its panel.

    Where it is not known which is better, they go from the smallest to the largest. Percentage decreases that
    are far from the others have the shade of the end of an axis without them. All shades are 0.5 in a panel
    whose estimates are equal.
    """
    estimates = _estimates_cut_to_axis(drawing)
    goodness = estimates * _better_sign_or_zero_of_rows(drawing).replace(0, 1)
    panels = goodness.groupby(drawing.frame["panel"], observed=True)
    worst = panels.transform("min")
    extent = panels.transform("max") - worst
    shades = (goodness - worst) / extent.where(extent > 0)
    return shades.where(extent > 0, 0.5).where(estimates.notna())


def _estimates_cut_to_axis(drawing: EstimateDrawing) -> pd.Series:
    """Return the estimates as they are shaded: no further than the ends of the axis of their panel."""
    frame = drawing.frame
    limits = limits_of_cut_axes(frame, None, drawing.term)
    low = axis_end_of_rows(frame["panel"], limits, "low", -np.inf)
    high = axis_end_of_rows(frame["panel"], limits, "high", np.inf)
    return frame["estimate"].clip(low, high)


def _tile_height_mm(row_names: list[str], *, has_two_lines: bool) -> float:
    """Return the height of a tile in mm: that of its one or two lines of text, and of the names of rows."""
    n_lines = max(name.count("\n") + 1 for name in row_names)
    least = _TWO_LINE_TILE_MM if has_two_lines else _ONE_LINE_TILE_MM
    return max(least, n_lines * LINE_MM + 0.6)


def _row_centres_mm(rows: list[Any], tile_height: float) -> dict[Any, float]:
    """Return the vertical position in mm of the middle of each row, 0 at the top and negative below.

    There is a gap above the first row of averages or pooled tasks.
    """
    centres = {}
    gap = 0.0
    for index, value in enumerate(rows):
        if index and str(value) in SUMMARY_LABELS:
            gap = _SUMMARY_GAP_MM
        centres[value] = -tile_height * (index + 0.5) - gap
    return centres


def _blank_tiles(
    tiles: pd.DataFrame, row_column: str, methods: list[Any], rows: list[Any], tile_width: float
) -> pd.DataFrame:
    """Return the tiles without an estimate, which say so.

    Parameters
    ----------
    tiles : DataFrame
        The estimates, with their `panel`, `method`, value of the column `row_column`, and `across`.
    row_column : str
        The column whose values are rows.
    methods, rows : list
        Methods and values of that column, in order.
    tile_width : float
        Width of a tile in mm; a dash stands where the words do not fit it.

    Returns
    -------
    DataFrame
        `panel`, `method`, the column `row_column`, `across`, `is_absent` (the frame has no row for this
        place; else the estimate is not defined), and `words`.
    """
    places = [list(tiles["panel"].cat.categories), methods, rows]
    all_places = pd.MultiIndex.from_product(places, names=["panel", "method", row_column]).to_frame(
        index=False
    )
    tile_places = tiles[["panel", "method", row_column, "estimate"]].astype({"panel": object})
    blank_places = all_places.merge(tile_places, how="left", indicator="origin")
    blank_places = blank_places[blank_places["estimate"].isna()].reset_index(drop=True)
    is_absent = blank_places["origin"] == "left_only"
    absent_words = _stacked_words_or_dash_if_too_wide(NO_ESTIMATE, tile_width)
    undefined_words = _stacked_words_or_dash_if_too_wide(NOT_DEFINED, tile_width)
    return blank_places.assign(
        panel=pd.Categorical(blank_places["panel"], tiles["panel"].cat.categories, ordered=True),
        across=[float(methods.index(method)) for method in blank_places["method"]],
        is_absent=is_absent,
        words=np.where(is_absent, absent_words, undefined_words),
    )


def _stacked_words_or_dash_if_too_wide(words: str, tile_width: float) -> str:
    """Return two words below each other, a dash where they do not fit a width in mm."""
    text = words.replace(" ", "\n")
    if text_width_mm(text, _LIMITS_PT) > _FILLED_SHARE * tile_width:
        return MISSING
    return text


def _blank_layers(blank_tiles: pd.DataFrame, outline: dict[str, Any]) -> list[Any]:
    """Return the layers of white tiles with words, none if every tile has an estimate."""
    if blank_tiles.empty:
        return []
    words = p9.aes(label="words")
    return [
        p9.geom_tile(data=blank_tiles, fill="white", **outline),
        p9.geom_text(words, blank_tiles, color=MUTED, size=_LIMITS_PT, family=font(), va="center"),
    ]


def _tile_text_layers(tiles: pd.DataFrame, tile_height: float, estimate_pt: float | None) -> list[Any]:
    """Return the layers of numbers in tiles; without a size in points there are no estimates."""
    defined_tiles = tiles[tiles["estimate"].notna()]
    text_colours = np.where(defined_tiles["shade"] >= _DARK_FROM, "white", "black")
    offset = np.where(defined_tiles["limits"] != "", _LINE_OFFSET_SHARE * tile_height, 0.0)
    defined_tiles = defined_tiles.assign(
        ink=text_colours, upper=defined_tiles["up"] + offset, lower=defined_tiles["up"] - offset
    )
    options: dict[str, Any] = {"family": font(), "va": "center"}
    layers = []
    if estimate_pt is not None:
        number = p9.aes(y="upper", label="text", color="ink")
        layers.append(p9.geom_text(number, defined_tiles, size=estimate_pt, **options))
    tiles_with_limits = defined_tiles[defined_tiles["limits"] != ""]
    if len(tiles_with_limits):
        limits = p9.aes(y="lower", label="limits", color="ink")
        layers.append(p9.geom_text(limits, tiles_with_limits, size=_LIMITS_PT, **options))
    return layers


def _quantity_text(drawing: EstimateDrawing) -> str:
    """Return the name of the estimates: "Mean IoU", or "Mean" where panels have different metrics."""
    if drawing.term in CONTRASTS:
        return contrast_axis_title(drawing.estimates, drawing.labels, str(drawing.term))
    return quantity_label(drawing.estimates.only_non_missing_value("metric"), drawing.term, drawing.labels)


def _colour_bar_title(drawing: EstimateDrawing) -> str:
    """Return the title of the colour bar: the estimates in a figure of one panel, which has no title."""
    if drawing.n_panels > 1:
        return ""
    return _quantity_text(drawing)


def _colour_bar_end_texts(drawing: EstimateDrawing) -> list[str]:
    """Return the texts at the ends of the colour bar."""
    is_known = _better_sign_or_zero_of_rows(drawing) != 0
    if is_known.all():
        return ["worst", "best"]
    if not is_known.any():
        return ["smallest", "largest"]
    return ["worst or smallest", "best or largest"]


def _caption_sentences(drawing: EstimateDrawing, n_tiles: int, *, has_limits: bool) -> list[str]:
    """Return the sentences of the caption of a figure of some number of tiles."""
    scale = "from the worst to the best of each panel"
    if (_better_sign_or_zero_of_rows(drawing) == 0).any():
        scale += ", or from the smallest to the largest where it is not known which is better"
    estimates = drawing.estimates
    notes = [
        scope_note(drawing.frame, drawing.labels, [key for key in estimates.keys if key != "reference"]),
        f"Darker: better, {scale}.",
    ]
    is_cut = (_estimates_cut_to_axis(drawing) - drawing.frame["estimate"]).abs() > 0
    if is_cut.any():
        notes.append("Estimates far from the others of their panel do not stretch its shades.")
    if drawing.n_panels > 1 and drawing.term not in (None, "mean"):
        notes.append(f"Numbers: {_quantity_text(drawing)}.")
    estimates_with_limits = estimates.subset(estimates.has_any_limit)
    if has_limits:
        notes.append(bars_sentence(estimates_with_limits, mark="Below estimates", labels=drawing.labels))
    elif len(estimates_with_limits):
        notes.append("Tiles are too narrow for the limits of intervals.")
    n_absent = n_tiles - len(drawing.frame)
    if n_absent:
        notes.append(f"No estimate: no row in the data ({n_absent} of {n_tiles} tiles).")
    return [
        *notes,
        population_and_caution_sentences(estimates),
        count_sentence(estimates),
        drawing.missing_note,
    ]
