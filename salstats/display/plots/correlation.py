"""Correlations as tiles: a triangle of all pairs, covariates by outcomes, or groups by groups."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_level, quoted
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.facts import clustering_or_independence_sentence, p_value_sentence
from salstats.display.plots.layout.axis_ticks import tick_texts
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.legends import continuous_colour_bar, justification_centred_on_panels
from salstats.display.plots.layout.panel_grid import BOTTOM_MM, GAP_MM, panel_grid
from salstats.display.plots.layout.text_fit import (
    NAME_CHARS,
    chars_in,
    crossed_labels,
    names_below,
    text_width_mm,
    wrapped,
    wrapped_texts,
)
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    DIVERGING,
    GUIDE,
    LINE_MM,
    MUTED,
    PAGE_MM,
    TEXT_PT,
    font,
    tile_axes,
)
from salstats.display.text.cautions import caution_note
from salstats.display.text.correlation import adjusted_for_covariates_note
from salstats.display.text.format import (
    MISSING,
    count_range_text,
    fixed_text,
    joined,
    p_value_adjusted_if_any,
)
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError, Setting
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS
from salstats.study import HUMAN

#: Most lines of a name at the left of the tiles, and room in mm around it.
_NAME_LINES = 2
_PAD_MM = 4.0
#: Height of a tile as a multiple of its width, and its greatest height and width in mm.
_HEIGHT_TO_WIDTH = 0.6
_MAX_TILE_HEIGHT_MM = 7.5
_MAX_TILE_WIDTH_MM = 24.0
#: Height in mm of a panel that fits a page with the names of columns, the colour bar and the caption.
_MAX_PANEL_MM = 195.0
#: Size in points of the numbers in tiles, and the smallest size at which they are written.
_NUMBER_PT = TEXT_PT - 0.5
_MIN_NUMBER_PT = TEXT_PT - 1
#: Coefficients of this size and more have tiles so dark that their numbers are white.
_DARK_FROM = 0.7
#: Width and height of the colour bar in points.
_BAR_WIDTH_PT = 100
_BAR_HEIGHT_PT = 6
#: Gap between the colour bar and its title at the left of it, in points and in mm.
_TITLE_GAP_PT = 8
_TITLE_GAP_MM = 3.0
#: Room in mm for the colour bar from left to right, and for the bar with its numbers from top to bottom.
_BAR_ROOM_MM = 42.0
_LEGEND_HEIGHT_MM = 11.0
#: Width in mm of a tile whose number is easy to read, and least width of a panel with its title.
_READABLE_TILE_MM = 7.5
_MIN_PANEL_MM = 20.0
#: Most groups that have a panel each; more are rows.
_MAX_GROUP_PANELS = 4


@dataclass(frozen=True)
class _PlacedCorrelations:
    """Correlations with their place in the figure.

    Attributes
    ----------
    frame : DataFrame
        A row per correlation, with the labels of its `row`, `column` and `panel` as ordered categories.
    legend_title_ending : str
        End of the legend's title, which names the variables that neither rows nor columns nor panels name:
        " of IoU and Confidence".
    n_panels_together : int
        Number of panels that belong side by side.
    """

    frame: pd.DataFrame
    legend_title_ending: str
    n_panels_together: int


class _Correlations(NamedTuple):
    """Correlations, their grouping columns, and the term of their coefficients or "Correlation"."""

    estimates: Estimates
    groups: list[str]
    term: str


@dataclass(frozen=True)
class _TileLayoutColumns:
    """Names of the columns of a frame whose values are the rows, the columns and the panels of tiles.

    They are grouping columns, and `first` and `second`, the two variables of a pair.
    """

    rows: list[str]
    columns: list[str]
    panels: list[str]


@keep_call_in_figure
def plot_correlation(
    correlations: pd.DataFrame,
    *,
    alpha: float | None = None,
    labels: Any = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw correlations as tiles with a number per pair, a panel per group.

    All pairs of several variables make a triangle. Pairs of two kinds of variables, such as outcomes with
    covariates, make a table with one kind in its columns and the other in its rows. If there are more than
    four groups of such pairs, or a single pair, groups become rows instead of panels. With several grouping
    columns each pair then has a panel, in which methods (without methods the values of the column with the
    fewest) stand side by side and the other groups below each other.

    Parameters
    ----------
    correlations : DataFrame
        Results of `correlate`, in any order. It takes one pair, so a matrix consists of its results for all
        pairs, one below the other: see Examples.
    alpha : float, optional
        Significance level. A coefficient whose P value (`p_adjusted` where there is one) is missing or not
        below it is then written in grey on a white tile. By default every tile has the colour of its
        coefficient, whatever its P value is.
    labels : Mapping, optional
        Labels and order of the variables, under "term", and of the groups:
        `{"term": ["iou", "prob"]}`, `{"prob": "Confidence"}`, `{"method": {"gradcam": "Grad-CAM"}}`. By
        default variables stand in their order in the frame.
    n_columns : int, optional
        Panels side by side; by default as many as leave room for numbers, spread evenly over the rows.
    width : float, optional
        Width of the figure in mm; by default 89 for a single panel whose numbers fit it, else 183.

    Returns
    -------
    Figure
        Colours run from -1 to 1 in every figure. Tiles too narrow for numbers of 6 points have none. A pair
        without a coefficient has a dash; pairs that are not in the frame have no tile. A figure that is
        higher than a page is divided into `pages`.

    Raises
    ------
    ColumnError
        A column is missing or holds text where numbers belong.
    SalstatsError
        Several kinds of correlation; a pair twice in one group; nothing but missing estimates; an `alpha`
        that is not between 0 and 1, or without any P value.

    Examples
    --------
    >>> from itertools import combinations
    >>> import pandas as pd, salstats as ss
    >>> scores = ss.datasets.load_simulated().query("method == 'gradcam' and task == 'Edema'")
    >>> scores = scores.drop_duplicates(["patient", "metric"])
    >>> names = ["iou", "prob", "elongation"]
    >>> pairs = [ss.correlate(scores, x, y) for x, y in combinations(names, 2)]
    >>> matrix = ss.adjust(pd.concat(pairs, ignore_index=True), procedure="holm")
    >>> ss.plot_correlation(matrix).data[["x", "y", "text"]]
          x           y   text
    0   iou        prob   0.06
    1   iou  elongation  −0.26
    2  prob  elongation  −0.14
    """
    if alpha is not None:
        check_level(alpha, "alpha")
    estimates, groups, term = _read_correlations(correlations)
    frame = estimates.frame
    frame_labels = Labels(labels, frame)
    if alpha is not None and np.isnan(_p_values(frame)).all():
        raise SalstatsError(
            Setting("alpha", alpha),
            " needs a column p_value or p_adjusted with values",
            column="p_value",
        )
    varying_groups = [column for column in groups if frame[column].nunique(dropna=False) > 1]
    placed = _correlations_with_tile_places(frame, varying_groups, frame_labels)
    titles = list(placed.frame["panel"].cat.categories)
    column_labels = list(placed.frame["column"].cat.categories)
    row_names = _wrapped_row_names(list(placed.frame["row"].cat.categories))
    n_rows = len(row_names)
    # number of tiles side by side in a panel
    n_tiles = len(column_labels)
    names_mm = max(map(text_width_mm, row_names)) + _PAD_MM
    if width is None:
        fits_column = len(titles) == 1 and names_mm + _READABLE_TILE_MM * n_tiles <= COLUMN_MM
        width = COLUMN_MM if fits_column else PAGE_MM
    if n_columns is None:
        n_columns = _default_n_columns(len(titles), n_tiles, width - names_mm, placed.n_panels_together)
    grid = panel_grid(titles, n_columns, width, left_mm=names_mm)
    # where the last row of panels is incomplete, slanted names below the panels above the gap would lie on
    # the title of the next panel
    is_last_row_full = len(titles) % grid.n_columns == 0
    column_names = names_below(
        column_labels, min(grid.panel_width / n_tiles, _MAX_TILE_WIDTH_MM), may_slant=is_last_row_full
    )
    if column_names.left_overhang > names_mm:
        grid = panel_grid(titles, n_columns, width, left_mm=column_names.left_overhang)
    tile_width = min(grid.panel_width / n_tiles, _MAX_TILE_WIDTH_MM)
    tile_height = _tile_height_mm(tile_width, row_names)
    height = tile_height * n_rows
    tiles = _tiles_with_middles_and_colour_values(placed.frame, alpha, tile_height)
    number_layers = _number_layers(tiles, tile_width)
    coefficient = term
    if term in COEFFICIENTS:
        coefficient = COEFFICIENTS[term].heading
    available_mm = width - grid.left_mm
    legend_title = wrapped(f"{coefficient}{placed.legend_title_ending}", chars_in(available_mm), 3)
    title_width = text_width_mm(legend_title)
    # names of columns take the place of the horizontal axis
    further_mm = column_names.height + _LEGEND_HEIGHT_MM - BOTTOM_MM
    # the title is at the left of the colour bar where both fit the width
    if title_width + _BAR_ROOM_MM <= available_mm:
        title_position = "left"
        title_margin = {"r": _TITLE_GAP_PT}
        legend_width = _BAR_ROOM_MM + title_width + _TITLE_GAP_MM
    else:
        title_position = "top"
        title_margin = {"b": 2}
        legend_width = max(_BAR_ROOM_MM, title_width)
        further_mm += LINE_MM * (legend_title.count("\n") + 1)
    # tiles of the greatest width do not fill the panels
    unused_width = max(grid.n_columns * (grid.panel_width - n_tiles * tile_width), 1)
    figure = (
        Figure(tiles, p9.aes("across", "up"))
        + p9.geom_tile(p9.aes(fill="shown"), width=0.97, height=0.97 * tile_height, color=GUIDE, size=0.2)
        + number_layers
        + _colour_and_axis_scales(legend_title, column_names.texts, row_names, tile_height)
        + grid.elements(
            height,
            notes=[
                scope_note(
                    frame, frame_labels, [column for column in groups if column not in varying_groups]
                ),
                adjusted_for_covariates_note(estimates, frame_labels),
                *_caption_sentences(estimates, tiles, alpha, has_numbers=bool(number_layers)),
            ],
            # the caption begins below the names of rows
            indent_mm=max(column_names.left_overhang - names_mm, 0.0),
            further_mm=further_mm,
        )
        + tile_axes(column_names.text_options)
        + p9.theme(
            legend_title=p9.element_text(size=TEXT_PT, va="center", margin=title_margin),
            legend_title_position=title_position,
            legend_key_width=_BAR_WIDTH_PT,
            legend_key_height=_BAR_HEIGHT_PT,
            legend_justification_top=justification_centred_on_panels(
                legend_width, grid.left_mm, available_mm - unused_width, width
            ),
            plot_margin_right=unused_width / width,
        )
    )
    # pages may divide a panel below any row of tiles
    row_edges = [-tile_height * (row + 1) for row in range(n_rows)]
    return grid.divided_into_pages(figure, height, edges=row_edges)


def _wrapped_row_names(labels: list[str]) -> list[str]:
    """Return the names at the left of the rows, wrapped to fewer lines where there are very many rows."""
    row_mm = _MAX_PANEL_MM / len(labels)
    n_lines = min(_NAME_LINES, max(int(row_mm / LINE_MM), 1))
    return list(wrapped_texts(labels, NAME_CHARS, n_lines).values())


def _default_n_columns(n_panels: int, n_tiles: int, available_mm: float, preferred_divisor: int) -> int:
    """Return the number of panels side by side in a width in mm, if possible a multiple of a divisor.

    `n_tiles` is the number of tiles side by side in a panel, and `preferred_divisor` that divisor.
    """
    min_panel_mm = max(_READABLE_TILE_MM * n_tiles, _MIN_PANEL_MM)
    n_fitting = max(int((available_mm + GAP_MM) // (min_panel_mm + GAP_MM)), 1)
    n_rows = math.ceil(n_panels / n_fitting)
    n_columns = math.ceil(n_panels / n_rows)
    # the largest multiple up to `n_columns`, if there is one
    return n_columns - n_columns % min(preferred_divisor, n_columns)


def _tile_height_mm(tile_width: float, row_names: list[str]) -> float:
    """Return the height of a tile in mm, at least that of the name of its row."""
    n_lines = max(name.count("\n") + 1 for name in row_names)
    largest = min(_HEIGHT_TO_WIDTH * tile_width, _MAX_TILE_HEIGHT_MM, _MAX_PANEL_MM / len(row_names))
    return max(largest, n_lines * LINE_MM + 0.3)


def _read_correlations(correlations: object) -> _Correlations:
    """Read correlations of one kind; raise for several kinds, a repeated pair, or no estimate at all."""
    estimates = read_estimates(correlations, "correlations", ("estimate", "x", "y"))
    frame = estimates.frame
    terms = [str(term) for term in estimates.distinct_values("term")]
    if len(terms) > 1:
        raise SalstatsError(
            f"correlations holds {len(terms)} kinds of coefficient ({quoted(terms)})",
            hint=f"keep one, as in correlations.query('term == {terms[0]!r}')",
            choices=terms,
            column="term",
        )
    if not estimates.has_estimate.any():
        raise SalstatsError(
            f"correlations has nothing to draw: every estimate is missing ({len(frame)} rows)",
            column="estimate",
        )
    groups = [key for key in estimates.keys if key not in ("x", "y")]
    pairs = [frozenset(pair) for pair in zip(frame["x"], frame["y"], strict=True)]
    pair_column = pd.Series(pairs, index=frame.index, dtype=object)
    is_repeated = frame[groups].assign(pair=pair_column).duplicated()
    if is_repeated.any():
        row = frame.loc[is_repeated].iloc[0]
        group = "".join(f", {column} {row[column]}" for column in groups)
        raise SalstatsError(
            f"correlations has more than one row for {row['x']} and {row['y']}{group}",
            hint="keep one",
            rows=np.flatnonzero(is_repeated).tolist(),
        )
    return _Correlations(estimates, groups, estimates.only_term or "Correlation")


def _correlations_with_tile_places(
    correlations: pd.DataFrame, groups: Sequence[str], labels: Labels
) -> _PlacedCorrelations:
    """Return the row, column and panel of each correlation, by its pair of variables and its group."""
    # label of each variable, in the order of the labels
    variables = labels.label_by_value("term", correlations[["x", "y"]].to_numpy().ravel())
    kinds = _bipartite_kind_by_variable(correlations)
    # Which variable of a pair is the first: of two kinds, that of kind 0, so that the first variables of all
    # pairs are of one kind; else the one that stands first in the order of the labels.
    rank_of_variable = kinds
    if not kinds:
        rank_of_variable = {variable: rank for rank, variable in enumerate(variables)}
    firsts = []
    seconds = []
    for x, y in zip(correlations["x"], correlations["y"], strict=True):
        first, second = sorted((x, y), key=rank_of_variable.__getitem__)
        firsts.append(first)
        seconds.append(second)
    paired = correlations.assign(first=firsts, second=seconds)
    # label of each value, by column
    texts: dict[str, dict[Any, str]] = {
        "first": {value: text for value, text in variables.items() if value in set(firsts)},
        "second": {value: text for value, text in variables.items() if value in set(seconds)},
    }
    for column in groups:
        texts[column] = labels.label_by_value(column, correlations[column])
    if "method" in texts:
        # human readers are the first method
        methods = sorted(texts["method"], key=lambda method: method != HUMAN)
        texts["method"] = {method: texts["method"][method] for method in methods}
    n_groups = len(correlations[list(groups)].drop_duplicates())
    layout_columns = _tile_layout_columns(texts, groups, n_groups, has_kinds=bool(kinds))

    def labels_of(columns: Sequence[str]) -> pd.Categorical:
        """Return the joined labels of some columns for each correlation."""
        return crossed_labels(paired, {column: texts[column] for column in columns})

    return _PlacedCorrelations(
        correlations.assign(
            row=labels_of(layout_columns.rows),
            column=labels_of(layout_columns.columns),
            panel=labels_of(layout_columns.panels),
        ),
        legend_title_ending=_shared_variables_as_legend_title_ending(layout_columns.panels, texts),
        n_panels_together=_n_panels_sharing_first_variable(layout_columns.panels, texts),
    )


def _pair_variables_fewest_values_first(texts: Mapping[str, Mapping[Any, str]]) -> list[str]:
    """Return the columns of the variables of pairs, "first" and "second", the one with fewer values first."""
    return sorted(("first", "second"), key=lambda variable: len(texts[variable]))


def _tile_layout_columns(
    texts: Mapping[str, Mapping[Any, str]], groups: Sequence[str], n_groups: int, *, has_kinds: bool
) -> _TileLayoutColumns:
    """Return the columns of a frame that become rows, columns and panels of tiles.

    These are the two variables of each pair, "first" and "second", and the grouping columns `groups`.

    Parameters
    ----------
    texts : mapping
        Label of each value, by column.
    groups : sequence of str
        Grouping columns.
    n_groups : int
        Number of groups.
    has_kinds : bool
        Whether each pair is of two kinds of variables, such as outcomes and covariates.
    """
    if not has_kinds:
        # a triangle of all pairs
        return _TileLayoutColumns(rows=["second"], columns=["first"], panels=list(groups))
    column_variable, row_variable = _pair_variables_fewest_values_first(texts)
    n_pairs = len(texts[column_variable]) * len(texts[row_variable])
    has_group_panels = not groups or (n_groups <= _MAX_GROUP_PANELS and n_pairs > 1)
    if has_group_panels:
        return _TileLayoutColumns(rows=[row_variable], columns=[column_variable], panels=list(groups))
    # each group is a row of tiles or, with several grouping columns, a tile
    group_across = min(groups, key=lambda column: len(texts[column]))
    if "method" in groups:
        group_across = "method"
    groups_down = [column for column in groups if column != group_across]
    if groups_down:
        return _TileLayoutColumns(
            rows=groups_down, columns=[group_across], panels=[row_variable, column_variable]
        )
    if n_pairs == 1:
        return _TileLayoutColumns(rows=list(groups), columns=[], panels=[row_variable, column_variable])
    return _TileLayoutColumns(rows=list(groups), columns=[row_variable], panels=[column_variable])


def _shared_variables_as_legend_title_ending(
    panel_columns: list[str], texts: Mapping[str, Mapping[Any, str]]
) -> str:
    """Return the end of the title of the legend, which names the variables that all panels share.

    This is " of IoU and Confidence" where panels show pairs and all are of one pair, " with IoU" where they
    show one variable of a pair and all have the same, else "".
    """
    variables: list[str] = []
    for column in ("first", "second"):
        if column in panel_columns:
            variables += texts[column].values()
    # else a panel column is a grouping column, or has several variables
    have_one_variable_each = len(variables) == len(panel_columns)
    if not panel_columns or not have_one_variable_each:
        return ""
    if len(variables) == 1:
        return f" with {variables[0]}"
    return f" of {joined(variables)}"


def _n_panels_sharing_first_variable(panel_columns: list[str], texts: Mapping[str, Mapping[Any, str]]) -> int:
    """Return the number of panels with the same first variable, which belong side by side.

    It is 1 where panels are not those of pairs of variables.
    """
    column_variable, row_variable = _pair_variables_fewest_values_first(texts)
    if panel_columns != [row_variable, column_variable]:
        return 1
    return len(texts[column_variable])


def _bipartite_kind_by_variable(correlations: pd.DataFrame) -> dict[str, int]:
    """Return the kind of each variable, 0 or 1, such that pairs are of both kinds; {} if that is impossible.

    Variables are the nodes of a graph, pairs its edges, and the two kinds a colouring: a variable that is
    paired with one of known kind gets the other kind. The first pair of each connected part begins with
    kind 0.
    """
    pairs = list(dict.fromkeys(zip(correlations["x"], correlations["y"], strict=True)))
    kinds: dict[str, int] = {}
    while pairs:
        connected = (pair for pair in pairs if pair[0] in kinds or pair[1] in kinds)
        pair = next(connected, pairs[0])
        pairs.remove(pair)
        x, y = pair
        if x not in kinds and y not in kinds:
            kinds[x] = 0
        if x not in kinds:
            kinds[x] = 1 - kinds[y]
        if y not in kinds:
            kinds[y] = 1 - kinds[x]
        if kinds[x] == kinds[y]:
            return {}
    return kinds


def _colour_and_axis_scales(
    title: str, column_names: list[str], row_names: list[str], tile_height: float
) -> list[Any]:
    """Return the colour scale, and axes with the names of columns and rows; rows are in mm from 0 down."""
    n_columns = len(column_names)
    n_rows = len(row_names)
    options: dict[str, Any] = {"minor_breaks": [], "expand": (0, 0.03)}
    return [
        p9.scale_fill_gradientn(
            DIVERGING,
            limits=(-1, 1),
            breaks=[-1, -0.5, 0, 0.5, 1],
            labels=tick_texts,
            name=title,
            guide=continuous_colour_bar(),
        ),
        p9.scale_x_continuous(
            breaks=list(range(n_columns)), labels=column_names, limits=(-0.5, n_columns - 0.5), **options
        ),
        p9.scale_y_continuous(
            breaks=[-tile_height * (row + 0.5) for row in range(n_rows)],
            labels=row_names,
            limits=(-tile_height * n_rows, 0),
            **options,
        ),
    ]


def _tiles_with_middles_and_colour_values(
    placed_correlations: pd.DataFrame, alpha: float | None, tile_height: float
) -> pd.DataFrame:
    """Return correlations with the middle and the number of each tile and the value that its colour shows.

    Columns are `across` and `up` (the middle of the tile, `up` in mm), `weak` (whether the correlation is
    defined and its P is not below `alpha`, or missing), `shown` (the value of the colour, 0 for weak and
    undefined correlations) and `text`.
    """
    weak = np.zeros(len(placed_correlations), dtype=bool)
    estimate = placed_correlations["estimate"]
    if alpha is not None:
        is_significant = _p_values(placed_correlations) < alpha
        # without a P value, nothing shows that a coefficient differs from 0
        weak = ~is_significant & estimate.notna().to_numpy()
    return placed_correlations.assign(
        across=placed_correlations["column"].cat.codes.astype(float),
        up=-tile_height * (placed_correlations["row"].cat.codes + 0.5),
        weak=weak,
        shown=estimate.where(~weak).fillna(0.0),
        text=[fixed_text(value, 2) for value in estimate],
    )


def _p_values(correlations: pd.DataFrame) -> np.ndarray:
    """Return the P value of each row, the adjusted one where there is one, NaN without any."""
    return np.array([p_value_adjusted_if_any(row) for row in correlations.to_dict("records")])


def _number_layers(tiles: pd.DataFrame, tile_width: float) -> list[Any]:
    """Return layers of numbers in colours legible on their tiles; none if legible numbers are too wide."""
    # width in mm of the longest number in a size of one point
    widest_per_pt = max(text_width_mm(text, 1.0) for text in tiles["text"])
    size = min(_NUMBER_PT, tile_width / widest_per_pt)
    if size < _MIN_NUMBER_PT:
        return []
    is_muted = tiles["weak"] | (tiles["text"] == MISSING)
    is_dark = tiles["shown"].abs() >= _DARK_FROM
    colours = np.select([is_muted, is_dark], [MUTED, "white"], default="black")
    return [
        p9.geom_text(
            p9.aes(label="text"),
            tiles[colours == colour],
            color=colour,
            size=size,
            family=font(),
            va="center",
        )
        for colour in dict.fromkeys(colours)
    ]


def _caption_sentences(
    correlations: Estimates, tiles: pd.DataFrame, alpha: float | None, *, has_numbers: bool
) -> list[str]:
    """Return caption sentences on weak and undefined coefficients, P values and the number of pairs."""
    notes = []
    if alpha is not None:
        weak_text = f"P ≥ {alpha:.10g}"
        if np.isnan(_p_values(tiles[tiles["weak"]])).any():
            weak_text += " or no P value"
        if not tiles["weak"].any():
            notes.append(f"All P < {alpha:.10g}.")
        elif has_numbers:
            notes.append(f"Grey on white: {weak_text}.")
        else:
            notes.append(f"White: {weak_text}.")
        notes.append(p_value_sentence(correlations) or "P values not adjusted.")
    if tiles["estimate"].isna().any():
        notes.append(f"{MISSING}: undefined.")
    counts = correlations.distinct_values("n")
    if counts:
        notes.append(f"n = {count_range_text(counts)} pairs.")
    return [*notes, clustering_or_independence_sentence(correlations), caution_note(tiles)]
