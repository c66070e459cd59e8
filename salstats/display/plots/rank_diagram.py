"""Critical-difference diagrams: methods on an axis of ranks, with bars over those that do not differ."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_columns
from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, check_rows_are_distinct
from salstats.display.plots.layout.axis_ticks import rank_breaks, tick_texts
from salstats.display.plots.layout.captions import distinct_values_by_appearance
from salstats.display.plots.layout.figure import Figure
from salstats.display.plots.layout.panel_grid import BOTTOM_MM, group_titles, panel_grid
from salstats.display.plots.layout.text_fit import chars_in, short_labels, text_width_mm
from salstats.display.plots.layout.theme import COLUMN_MM, LINE_MM, PAGE_MM, PALETTE, TEXT_PT, font
from salstats.display.text.format import capitalized, counted, joined
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError
from salstats.stats.engine.rank_groups import rank_groups
from salstats.stats.engine.rank_schemes import RECORDS as RANK_SCHEMES
from salstats.stats.engine.rank_schemes import Scheme

#: Least width in mm of a panel, and most panels in a journal's column by default.
_MIN_PANEL_MM = 55.0
_MAX_PANELS_IN_COLUMN = 2
#: Room in mm at the left of the panels.
_LEFT_MM = 4.0
#: Share of a panel's width that the names at one side may take, and most lines of a name.
_NAME_SHARE = 0.3
_NAME_LINES = 3
#: Room in mm between a name and the axis, and around the lines of a name together.
_NAME_GAP_MM = 2.0
_NAME_PAD_MM = 1.0
#: Room in mm that a number of the axis needs.
_TICK_ROOM_MM = 4.0
#: Distances in mm from the top of a panel: of the middle of the title and of the numbers, and of the axis.
_TITLE_MM = 0.5 * LINE_MM
_NUMBERS_MM = 1.6 * LINE_MM
_AXIS_MM = 2.1 * LINE_MM + 1.0
_TICK_MM = 1.0
#: Distance in mm between two bars, and length of a bar beyond its outer methods.
_BAR_STEP_MM = 1.7
_BAR_END_MM = 0.4
#: Width of bars and of thin lines, as plotnine has it.
_BAR_SIZE = 1.3
_LINE_SIZE = 0.35
#: Most pairs that a caption names one by one.
_MAX_NAMED = 2


class _Axis(NamedTuple):
    """Axis of ranks in a panel: its place in mm from the left, and the number of ranks."""

    left: float
    right: float
    n_ranks: int

    def x_mm_of(self, rank: float) -> float:
        """Return the place of a rank in mm from the left edge of the panel."""
        if self.n_ranks == 1:
            return (self.left + self.right) / 2
        return self.left + (rank - 1) / (self.n_ranks - 1) * (self.right - self.left)


def rank_diagram(
    comparisons: Estimates,
    ranks: Estimates,
    labels: Labels,
    *,
    n_columns: int | None,
    width: float | None,
    notes: Sequence[str],
) -> Figure:
    """Draw a critical-difference diagram of pairwise tests of methods.

    Parameters
    ----------
    comparisons : Estimates
        The tests, with `better` as a bool.
    ranks : Estimates
        Ranks of the methods in the groups of the tests.
    labels : Labels
        Names of methods and of the panels' columns.
    n_columns, width
        As for `plot_significance`.
    notes : sequence of str
        Sentences of the caption before the one on pairs that no bar joins.
    """
    groups = [key for key in comparisons.keys if key not in ("method", "reference")]
    ranking = _with_drawn_rank(ranks, groups)
    tests = comparisons.frame.assign(panel=group_titles(comparisons.frame, labels, groups))
    ranking = ranking.assign(panel=group_titles(ranking, labels, groups))
    points, bars, unjoined = _points_bars_and_unjoined_pairs(tests, ranking, labels)
    titles = list(points["panel"].cat.categories)
    if width is None:
        width = COLUMN_MM if len(titles) <= _MAX_PANELS_IN_COLUMN else PAGE_MM
    grid = panel_grid(titles, n_columns, width, left_mm=_LEFT_MM, min_width=_MIN_PANEL_MM)
    name_chars = chars_in(_NAME_SHARE * grid.panel_width)
    names = short_labels(labels, "method", points["method"], name_chars, _NAME_LINES)
    points = points.assign(name=points["method"].map(names).astype(TEXT))
    axis = _rank_axis(points, grid.panel_width)
    row_mm = max(name.count("\n") + 1 for name in names.values()) * LINE_MM + _NAME_PAD_MM
    n_levels = bars["level"].nunique()
    names_top_mm = _AXIS_MM + _BAR_STEP_MM * (n_levels + 1)
    height = names_top_mm + row_mm * (points["row"].max() + 1)
    # lines end at the names
    line_end = points["is_left"].map({True: axis.left - _NAME_GAP_MM, False: axis.right + _NAME_GAP_MM})
    name_x = points["is_left"].map(
        {True: axis.left - 1.5 * _NAME_GAP_MM, False: axis.right + 1.5 * _NAME_GAP_MM}
    )
    points = points.assign(
        x=[axis.x_mm_of(rank) for rank in points["rank"]],
        y=-names_top_mm - row_mm * (points["row"] + 0.5),
        line_end=line_end,
        name_x=name_x,
        axis=-_AXIS_MM,
    )
    bars = bars.assign(
        x=[axis.x_mm_of(rank) - _BAR_END_MM for rank in bars["best_rank"]],
        xend=[axis.x_mm_of(rank) + _BAR_END_MM for rank in bars["worst_rank"]],
        y=-_AXIS_MM - _BAR_STEP_MM * (bars["level"] + 1),
    )
    figure = (
        Figure(points, p9.aes("x", "y"))
        + _axis_layers(axis, _axis_title(ranking), grid.panel_width)
        + p9.geom_segment(p9.aes(xend="x", yend="axis"), size=_LINE_SIZE)
        + p9.geom_segment(p9.aes(xend="line_end", yend="y"), size=_LINE_SIZE)
        + p9.geom_segment(
            p9.aes(xend="xend", yend="y"), bars, color=PALETTE[0], size=_BAR_SIZE, lineend="butt"
        )
        + _left_and_right_name_text_layers(points)
        + p9.scale_x_continuous(limits=(0, grid.panel_width), expand=(0, 0))
        + p9.scale_y_continuous(limits=(-height, 0), expand=(0, 0))
        + grid.elements(height, notes=[*notes, _pairs_without_bar_note(unjoined)], further_mm=1 - BOTTOM_MM)
        + p9.theme(
            axis_title=p9.element_blank(),
            axis_text=p9.element_blank(),
            axis_line=p9.element_blank(),
            axis_ticks=p9.element_blank(),
        )
    )
    return grid.divided_into_pages(figure, height)


def _with_drawn_rank(ranks: Estimates, groups: Sequence[str]) -> pd.DataFrame:
    """Return the rows of ranks with the rank that is drawn, as `rank`.

    This is the mean or median rank over the cases where methods are ranked by it, else their rank. Raises if
    the ranks lack the columns `groups`, or have several rows for a method of a group.
    """
    check_columns(ranks.frame, [*groups, "method", "estimate"], "ranks")
    check_rows_are_distinct(ranks, [*groups, "method"])
    scheme = _only_ranking_scheme(ranks.frame)
    column = "estimate"
    if scheme is not None and scheme.of_ranks:
        # the estimates are ranks of these means or medians
        check_columns(ranks.frame, ["value"], "ranks")
        column = "value"
    return ranks.frame.assign(rank=ranks.numbers(column))


def _only_ranking_scheme(ranking: pd.DataFrame) -> Scheme | None:
    """Return the scheme of a frame of ranks, None if it has none or several."""
    schemes = distinct_values_by_appearance(ranking, "scheme")
    if len(schemes) != 1:
        return None
    return RANK_SCHEMES.get(str(schemes[0]))


def _axis_title(ranking: pd.DataFrame) -> str:
    """Return the title of the axis: "Mean rank over the cases (1: best)", or "Rank (1: best)"."""
    scheme = _only_ranking_scheme(ranking)
    quantity = "rank"
    if scheme is not None and scheme.of_ranks:
        quantity = scheme.label
    return f"{capitalized(quantity)} (1: best)"


class _PointsBarsAndUnjoinedPairs(NamedTuple):
    """Contents of the panels of a diagram.

    Attributes
    ----------
    points : DataFrame
        The methods: `panel`, `method`, `rank`, `is_left` (whether the name is at the left), and `row` of the
        name among those at its side, from the top.
    bars : DataFrame
        The bars: `panel`, `level` (from the top), and `best_rank` and `worst_rank` of their methods.
    unjoined : list of str
        The pairs of methods that do not differ and share no bar, by their labels and panels.
    """

    points: pd.DataFrame
    bars: pd.DataFrame
    unjoined: list[str]


def _points_bars_and_unjoined_pairs(
    tests: pd.DataFrame, ranking: pd.DataFrame, labels: Labels
) -> _PointsBarsAndUnjoinedPairs:
    """Return the points and bars of all panels, which both frames name in `panel`."""
    categories = tests["panel"].cat.categories
    points = []
    bars = []
    unjoined_pairs = []
    for panel, panel_tests in tests.groupby("panel", observed=True):
        ranked = _tested_methods_with_ranks(panel_tests, ranking[ranking["panel"] == panel], labels)
        method_order = list(ranked["method"])
        positions = np.arange(len(method_order))
        is_left = positions < math.ceil(len(method_order) / 2)
        # the outermost name of each side stands on top, so that no lines cross
        row = np.where(is_left, positions, positions[::-1])
        points.append(ranked.assign(panel=panel, is_left=is_left, row=row))
        # without a P value, nothing shows whether two methods differ
        groups = rank_groups(panel_tests.dropna(subset="p_adjusted"), method_order)
        for level, (first, last) in enumerate(groups.groups):
            bars.append((panel, level, ranked["rank"].iloc[first], ranked["rank"].iloc[last]))
        for first, last in groups.unjoined_pairs:
            pair_text = joined([labels.value("method", method_order[place]) for place in (first, last)])
            if len(categories) > 1:
                pair_text = f"{pair_text} ({panel})"
            unjoined_pairs.append(pair_text)
    all_points = pd.concat(points, ignore_index=True)
    all_bars = pd.DataFrame(bars, columns=["panel", "level", "best_rank", "worst_rank"])
    return _PointsBarsAndUnjoinedPairs(
        points=all_points.assign(panel=pd.Categorical(all_points["panel"], categories)),
        bars=all_bars.assign(panel=pd.Categorical(all_bars["panel"], categories)),
        unjoined=unjoined_pairs,
    )


def _tested_methods_with_ranks(
    tests: pd.DataFrame, ranking: pd.DataFrame, label_order: Labels
) -> pd.DataFrame:
    """Return the compared methods with their `rank`, the best first; raise if one has none.

    Methods of one rank stand in the order of the labels.
    """
    rank_of = dict(zip(ranking["method"].astype(TEXT), ranking["rank"], strict=True))
    methods = label_order.order("method", [*tests["method"], *tests["reference"]])
    for method in methods:
        if str(method) not in rank_of:
            raise SalstatsError(
                f"ranks has no method {method!r} of the significance map",
                option="ranks",
                column="method",
                value=method,
            )
    ranked = pd.DataFrame({"method": methods, "rank": [rank_of[str(method)] for method in methods]})
    return ranked.sort_values("rank", kind="stable", ignore_index=True)


def _rank_axis(points: pd.DataFrame, panel_width: float) -> _Axis:
    """Return the axis between the names at the left and those at the right of a panel of a width in mm."""
    name_widths = points["name"].map(text_width_mm)
    left_mm = name_widths[points["is_left"]].max()
    right_mm = name_widths[~points["is_left"]].max()
    n_methods = int(points.groupby("panel", observed=True).size().max())
    # the methods may have been ranked together with others, which were not compared
    largest_rank = math.ceil(points["rank"].max())
    return _Axis(
        left=left_mm + 2 * _NAME_GAP_MM,
        right=panel_width - right_mm - 2 * _NAME_GAP_MM,
        n_ranks=max(n_methods, largest_rank),
    )


def _axis_layers(axis: _Axis, title: str, panel_width: float) -> list[Any]:
    """Return the layers of the axis of ranks, its ticks, its numbers and its title.

    Their frames have no column `panel`, so that each panel has them.
    """
    line = pd.DataFrame({"x": [axis.left], "xend": [axis.right], "y": [-_AXIS_MM]})
    max_steps = int((axis.right - axis.left) // _TICK_ROOM_MM)
    ranks = rank_breaks(axis.n_ranks, max(max_steps, 2))
    ticks = pd.DataFrame(
        {
            "x": [axis.x_mm_of(rank) for rank in ranks],
            "y": -_AXIS_MM,
            "yend": -_AXIS_MM + _TICK_MM,
            "number": tick_texts(ranks),
            "number_y": -_NUMBERS_MM,
        }
    )
    heading = pd.DataFrame({"x": [panel_width / 2], "y": [-_TITLE_MM], "title": [title]})
    text_style = {"size": TEXT_PT, "family": font(), "va": "center", "ha": "center"}
    return [
        p9.geom_segment(p9.aes(xend="xend", yend="y"), line, size=_LINE_SIZE),
        p9.geom_segment(p9.aes(xend="x", yend="yend"), ticks, size=_LINE_SIZE),
        p9.geom_text(p9.aes(y="number_y", label="number"), ticks, **text_style),
        p9.geom_text(p9.aes(label="title"), heading, **text_style),
    ]


def _left_and_right_name_text_layers(points: pd.DataFrame) -> list[Any]:
    """Return the layers of the names at the left and at the right."""
    layers = []
    for is_left, alignment in ((True, "right"), (False, "left")):
        names = points[points["is_left"] == is_left]
        layers.append(
            p9.geom_text(
                p9.aes(x="name_x", label="name"),
                names,
                ha=alignment,
                va="center",
                size=TEXT_PT,
                family=font(),
            )
        )
    return layers


def _pairs_without_bar_note(pairs: Sequence[str]) -> str:
    """Return a sentence on pairs of methods that do not differ and that no bar joins, "" without any."""
    if not pairs:
        return ""
    named_pairs = list(pairs[:_MAX_NAMED])
    n_further = len(pairs) - len(named_pairs)
    if n_further:
        named_pairs.append(counted(n_further, "further pair"))
    return (
        f"No bar joins {'; '.join(named_pairs)}: they do not differ significantly, but one of them does from "
        "a method between them."
    )
