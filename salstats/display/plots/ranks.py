"""Rankings of methods: their ranks with limits and frequencies, and maps of significant differences."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_choice, check_columns, check_frame
from salstats.coded_text import TEXT
from salstats.display.estimates import Estimates, check_rows_are_distinct, read_estimates
from salstats.display.facts import (
    count_sentence,
    each_distinct_text_with_groups_or_counts,
    ranks_or_tests_pool_tasks_sentence,
)
from salstats.display.plots.layout.axis_ticks import rank_breaks, tick_texts
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.panel_grid import BOTTOM_MM, group_titles, panel_grid
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
    PALETTE,
    REFERENCE_COLOUR,
    REFERENCE_SHAPE,
    SHAPES,
    TEXT_PT,
    font,
    tile_axes,
)
from salstats.display.plots.rank_diagram import rank_diagram
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import count_text, fixed_text, joined, p_text, significance_level_of_row
from salstats.display.text.labels import Labels
from salstats.errors import Call, Message, SalstatsError, Setting
from salstats.frames import as_booleans
from salstats.stats.adjust import find_procedure
from salstats.stats.engine.paired_tests import RECORDS as TESTS
from salstats.stats.engine.rank_schemes import RECORDS as RANK_SCHEMES
from salstats.study import HUMAN

#: Most lines of a method's name, and room in mm around it.
_NAME_LINES = 3
_PAD_MM = 4.0
#: Least height in mm of a method's row, and the size of the largest blob, as plotnine has it: this blob has a
#: diameter of 4.4 mm and nearly fills the row.
_ROW_MM = 6.0
_BLOB_SIZE = 7.0
#: Height and width in mm of the legend of blobs.
_LEGEND_HEIGHT_MM = 6.0
_LEGEND_WIDTH_MM = 48.0
#: Size in points of the numbers in tiles, and the smallest size at which they are written.
_NUMBER_PT = TEXT_PT - 0.5
_MIN_NUMBER_PT = 6.0
#: Most panels of ranks in a journal's column by default, and most methods whose tiles fit it.
_MAX_PANELS_IN_COLUMN = 2
_MAX_METHODS_IN_COLUMN = 6
#: Share of a tile's width that its number may fill.
_FILLED_SHARE = 0.92
#: P values from here on are written with two decimals.
_TWO_DECIMALS_FROM = 0.06
#: Forms of a significance map.
_FORMS = ("tiles", "diagram")
_BLUE = PALETTE[0]
_LIGHT_BLUE = "#A9C4E0"


class _NamesAndRowHeight(NamedTuple):
    """Wrapped name of each method, and the height in mm of a row that holds any of them."""

    texts: list[str]
    row_mm: float


@keep_call_in_figure
def plot_ranks(
    ranks: pd.DataFrame,
    *,
    frequencies: pd.DataFrame | None = None,
    labels: Mapping[str, Any] | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw the rank of each method, where it lies in most replicates, and how often it has each rank.

    Parameters
    ----------
    ranks : DataFrame
        From `rank_stability` or `rank_limits`; each combination of its grouping columns is a panel.
    frequencies : DataFrame, optional
        From `rank_frequencies` of the same scores: a blob at each rank, its area the share of replicates.
    labels : mapping, optional
        Names and order of methods and of the panels' columns, such as `{"gradcam": "Grad-CAM"}`.
    n_columns : int, optional
        Panels side by side.
    width : float, optional
        Width of the figure in mm; by default 89 for up to two panels, else 183.

    Returns
    -------
    Figure
        Methods stand in the labels' order, else by their mean rank, the best on top.

    Raises
    ------
    ColumnError
        A column is missing or holds text where numbers belong.
    SalstatsError
        A method twice in one panel; `frequencies` of other methods.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> ranks = ss.rank_stability(scores, n_replicates=200)
    >>> shares = ss.rank_frequencies(scores, n_replicates=200)
    >>> ss.plot_ranks(ranks, frequencies=shares).data[["method", "estimate", "y"]].head(3)
          method  estimate    y
    0    gradcam       2.0 -1.0
    1      human       1.0  0.0
    2  occlusion       3.0 -2.0
    """
    estimates = read_estimates(ranks, "ranks", ("estimate", "method"))
    frame = estimates.frame
    frame_labels = Labels(labels, frame)
    groups = [key for key in estimates.keys if key != "method"]
    check_rows_are_distinct(estimates, [*groups, "method"])
    order = _methods_by_label_or_ascending_mean_estimate(frame, frame_labels)
    # 0.0 - index, since -float(index) would be -0.0 for the first method
    y_of_method = {method: 0.0 - index for index, method in enumerate(order)}
    data = frame.assign(
        panel=group_titles(frame, frame_labels, groups), y=frame["method"].map(y_of_method).astype(float)
    )
    is_reference = data["method"] == HUMAN
    data["colour"] = np.where(is_reference, REFERENCE_COLOUR, _BLUE)
    data["shape"] = np.where(is_reference, REFERENCE_SHAPE, SHAPES[0])
    titles = list(data["panel"].cat.categories)
    n_ranks = int(data.groupby("panel", observed=True).size().max())
    if width is None:
        width = COLUMN_MM if len(titles) <= _MAX_PANELS_IN_COLUMN else PAGE_MM
    wrapped_names, row_mm = _names_and_row_height(frame_labels, order, width)
    grid = panel_grid(titles, n_columns, width, left_mm=max(map(text_width_mm, wrapped_names)) + _PAD_MM)
    height = len(order) * row_mm
    # Beyond the first and the last rank the axis has room for half a blob. Of n_blobs that fit side by side,
    # half a one takes 1 / (2 n_blobs) of the axis. The margin is this share of the length of the axis, which
    # is n_ranks - 1 + 2 margin ranks; solved for the margin, it is (n_ranks - 1) / (2 (n_blobs - 1)).
    n_blobs = grid.panel_width / _ROW_MM
    margin = max(0.5, (n_ranks - 1) / (2 * max(n_blobs - 1, 1)))
    blob_layers: list[Any] = []
    legend_height_mm = 0.0
    shares: pd.DataFrame | None = None
    if frequencies is not None:
        legend_height_mm = _LEGEND_HEIGHT_MM
        shares = _shares_with_y_of_method(frequencies, frame, groups, y_of_method)
        shares["panel"] = group_titles(shares, frame_labels, groups)
        blob_layers = [
            p9.geom_point(p9.aes("rank", "y", size="share"), shares, color=_LIGHT_BLUE),
            p9.scale_size_area(
                max_size=_BLOB_SIZE,
                limits=(0, 1),
                breaks=[0.1, 0.5, 1],
                labels=["10%", "50%", "100%"],
                name="Replicates",
            ),
        ]
    notes = [
        scope_note(data, frame_labels, ("metric", "task")),
        ranks_or_tests_pool_tasks_sentence(estimates),
        _scheme_note(estimates),
        "Marks: rank without resampling.",
        _blobs_and_tied_ranks_note(frame, shares),
        _rank_limit_lines_note(estimates),
        count_sentence(estimates),
        caution_note(data),
    ]
    line = p9.aes(x="conf_low", xend="conf_high", yend="y")
    figure = (
        Figure(data, p9.aes("estimate", "y"))
        + blob_layers
        + p9.geom_segment(line, data.dropna(subset=["conf_low"]))
        + p9.geom_point(p9.aes(color="colour", fill="colour", shape="shape"), size=1.6)
        + p9.scale_color_identity()
        + p9.scale_fill_identity()
        + p9.scale_shape_identity()
        + p9.scale_x_continuous(breaks=rank_breaks(n_ranks), labels=tick_texts, minor_breaks=[])
        + p9.scale_y_continuous(breaks=list(y_of_method.values()), labels=wrapped_names, minor_breaks=[])
        + p9.coord_cartesian(xlim=(1 - margin, n_ranks + margin), ylim=(0.5 - len(order), 0.5), expand=False)
        + grid.elements(height, x="Rank", notes=notes, further_mm=legend_height_mm)
        + p9.theme(
            axis_line_y=p9.element_blank(),
            axis_ticks_major_y=p9.element_blank(),
            axis_text_y=p9.element_text(ha="right", ma="right"),
            panel_grid_major_y=p9.element_line(color=GUIDE, size=0.25),
            legend_title=p9.element_text(size=TEXT_PT, va="center", margin={"r": 6}),
            legend_justification_top=grid.legend_justification(_LEGEND_WIDTH_MM),
        )
    )
    return grid.divided_into_pages(figure, height)


@keep_call_in_figure
def plot_significance(
    significance: pd.DataFrame,
    *,
    form: str = "tiles",
    ranks: pd.DataFrame | None = None,
    labels: Mapping[str, Any] | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw which methods are significantly better: a tile and a P value per ordered pair, or a diagram.

    Parameters
    ----------
    significance : DataFrame
        From `significance_map`; each combination of its grouping columns is a panel.
    form : {"tiles", "diagram"}
        A map of tiles, or Demšar's critical-difference diagram: methods on an axis of ranks, with a bar over
        each group of neighbours of which no two differ significantly.
    ranks : DataFrame, optional
        From `rank_stability`: methods stand by their rank. By default those better than most stand first. A
        diagram needs it, with the grouping columns of the tests; its axis is the mean rank over the cases
        with `scheme="mean-rank"`, else the rank.
    labels : mapping, optional
        Names and order of methods and of the panels' columns.
    n_columns : int, optional
        Panels side by side.
    width : float, optional
        Width of the figure in mm; by default 89 for a single panel of up to six methods, or for up to two
        diagrams, else 183.

    Returns
    -------
    Figure
        A dark tile: the row's method is better than the column's. Tiles too narrow for numbers have none.
        The `data` of a diagram are the methods with their `rank`. Bars are those of the tests of the frame,
        at its level; where two methods do not differ but one between them differs from either, no bar joins
        them, and the caption says so.

    Raises
    ------
    ColumnError, SalstatsError
        As for `plot_ranks`; a diagram without `ranks`, or an unknown form.

    References
    ----------
    Demšar J. Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning
    Research 7 (2006), 1-30. https://jmlr.org/papers/v7/demsar06a.html

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> comparisons = ss.significance_map(scores, test="t")
    >>> ss.plot_significance(comparisons).data[["method", "reference", "better", "text"]].head(2)
        method  reference  better  text
    0  gradcam      human   False  1.00
    1  gradcam  occlusion   False  0.23
    """
    check_choice(form, _FORMS, "form")
    comparisons = read_estimates(
        significance, "significance", ("method", "reference", "better", "p_adjusted")
    )
    frame_labels = Labels(labels, comparisons.frame)
    # a frame that was read from a file has 0 and 1, or text
    frame = comparisons.frame.assign(better=as_booleans(comparisons.frame["better"]))
    groups = [key for key in comparisons.keys if key not in ("method", "reference")]
    check_rows_are_distinct(comparisons, [*groups, "method", "reference"])
    ranking = None
    if ranks is not None:
        ranking = read_estimates(ranks, "ranks")
    if form == "diagram":
        return _critical_difference_diagram(
            comparisons.with_other_frame(frame), ranking, frame_labels, n_columns, width
        )
    order = _methods_by_label_else_rank_or_wins(frame, ranking, frame_labels)
    n = len(order)
    position = {method: index for index, method in enumerate(order)}
    tiles = frame.assign(
        panel=group_titles(frame, frame_labels, groups),
        across=frame["reference"].map(position).astype(float),
        up=0.0 - frame["method"].map(position),
        text=[_adjusted_p_number_text(row) for row in frame.to_dict("records")],
        ink=np.where(frame["better"], "white", MUTED),
    )
    titles = list(tiles["panel"].cat.categories)
    if width is None:
        fits_column = len(titles) == 1 and n <= _MAX_METHODS_IN_COLUMN
        width = COLUMN_MM if fits_column else PAGE_MM
    wrapped_names, row_mm = _names_and_row_height(frame_labels, order, width)
    # width of a panel whose numbers have a size of one point
    widest_number_mm = max(text_width_mm(text, 1.0) for text in tiles["text"])
    panel_mm_per_pt = n * widest_number_mm / _FILLED_SHARE
    min_panel_width = _MIN_NUMBER_PT * panel_mm_per_pt
    names_mm = max(map(text_width_mm, wrapped_names)) + _PAD_MM
    grid = panel_grid(titles, n_columns, width, left_mm=names_mm, min_width=min_panel_width)
    # where the last row of panels is incomplete, slanted names below the panels above the gap would lie on
    # the title of the next panel
    is_last_row_full = len(titles) % grid.n_columns == 0
    column_labels = [frame_labels.value("method", method) for method in order]
    column_names = names_below(column_labels, grid.panel_width / n, may_slant=is_last_row_full)
    if column_names.left_overhang > names_mm:
        grid = panel_grid(
            titles, n_columns, width, left_mm=column_names.left_overhang, min_width=min_panel_width
        )
    height = n * row_mm
    number_pt = min(_NUMBER_PT, grid.panel_width / panel_mm_per_pt)
    number_layers: list[Any] = []
    number_note = ""
    if number_pt >= _MIN_NUMBER_PT:
        number = p9.aes(label="text", color="ink")
        number_layers.append(p9.geom_text(number, size=number_pt, family=font(), va="center"))
        number_note = "Numbers: that P."
    figure = (
        Figure(tiles, p9.aes("across", "up"))
        + p9.geom_tile(p9.aes(fill="better"), width=0.96, height=0.94, color=GUIDE, size=0.2)
        + number_layers
        + p9.scale_fill_manual({True: _BLUE, False: "white"})
        + p9.scale_color_identity()
        + p9.scale_x_continuous(
            breaks=list(range(n)),
            minor_breaks=[],
            labels=column_names.texts,
            limits=(-0.5, n - 0.5),
            expand=(0, 0),
        )
        + p9.scale_y_continuous(
            breaks=list(range(1 - n, 1)),
            minor_breaks=[],
            labels=wrapped_names[::-1],
            limits=(0.5 - n, 0.5),
            expand=(0, 0),
        )
        + grid.elements(
            height,
            notes=[
                scope_note(frame, frame_labels, ("metric", "task")),
                ranks_or_tests_pool_tasks_sentence(comparisons),
                _dark_tiles_note(comparisons, frame_labels),
                number_note,
                caution_note(frame),
            ],
            # names of columns take the place of the horizontal axis
            further_mm=column_names.height - BOTTOM_MM + LINE_MM,
        )
        + tile_axes(column_names.text_options)
        + p9.theme(
            axis_text_y=p9.element_text(ha="right", ma="right"),
            legend_position="none",
        )
    )
    return grid.divided_into_pages(figure, height)


def _critical_difference_diagram(
    comparisons: Estimates,
    ranks: Estimates | None,
    labels: Labels,
    n_columns: int | None,
    width: float | None,
) -> Figure:
    """Draw the critical-difference diagram of a significance map; raise without ranks."""
    if ranks is None:
        raise SalstatsError(
            Setting("form", "diagram"),
            " needs ",
            Setting("ranks"),
            hint=Message("make them with ", Call("rank_stability", ("scores",), {"scheme": "mean-rank"})),
            option="ranks",
        )
    notes = [
        scope_note(comparisons.frame, labels, ("metric", "task")),
        ranks_or_tests_pool_tasks_sentence(comparisons),
        _scheme_note(ranks),
        _bars_note(comparisons, labels),
        caution_note(comparisons.frame),
    ]
    return rank_diagram(comparisons, ranks, labels, n_columns=n_columns, width=width, notes=notes)


def _methods_by_label_or_ascending_mean_estimate(ranking: pd.DataFrame, labels: Labels) -> list[Any]:
    """Return the methods in the order of the labels, else the lowest mean estimate over the panels first."""
    means = ranking.groupby("method", observed=True)["estimate"].mean().sort_values(kind="stable")
    # methods that the labels do not order stand in the order of these categories
    return labels.order("method", pd.Categorical(means.index, means.index))


def _methods_by_label_else_rank_or_wins(
    comparisons: pd.DataFrame, ranks: Estimates | None, labels: Labels
) -> list[Any]:
    """Return compared methods in the order of the labels, else by rank, or else by their share of wins.

    `comparisons` has a row for each ordered pair of methods; `better` is whether the first wins. Methods that
    are second in all of their pairs have no share and are last. Raises if `ranks` lack a method.
    """
    win_shares = comparisons.groupby("method", observed=True)["better"].mean()
    second_methods = comparisons["reference"].unique()
    without_share = [method for method in second_methods if method not in win_shares.index]
    win_shares = win_shares.reindex([*win_shares.index, *without_share])
    # like ranks, these estimates are the smaller the better
    ranking = pd.DataFrame({"method": win_shares.index, "estimate": -win_shares.to_numpy()})
    if ranks is not None:
        ranking = ranks.frame
    order = _methods_by_label_or_ascending_mean_estimate(ranking, labels)
    unranked = [method for method in win_shares.index if method not in order]
    if unranked:
        raise SalstatsError(
            f"ranks has no method {unranked[0]!r} of the significance map",
            option="ranks",
            column="method",
            value=unranked[0],
        )
    return [method for method in order if method in win_shares.index]


def _adjusted_p_number_text(row: Mapping[Any, Any]) -> str:
    """Return a row's adjusted P value as the number in a tile: "0.012", "0.23", a dash for a missing one."""
    p_value = row["p_adjusted"]
    alpha = significance_level_of_row(row, "p_adjusted")
    # P values near and below the level have more decimals
    if p_value < max(_TWO_DECIMALS_FROM, alpha + 0.01):
        return p_text(p_value, alpha=alpha)
    return fixed_text(p_value, 2)


def _names_and_row_height(labels: Labels, methods: Sequence[Any], width: float) -> _NamesAndRowHeight:
    """Return the names of methods wrapped for a figure of a width in mm, and the height of their rows."""
    texts = short_labels(labels, "method", methods, label_line_chars(width, NAME_CHARS), _NAME_LINES)
    names = [texts[method] for method in methods]
    n_lines = max(text.count("\n") + 1 for text in names)
    return _NamesAndRowHeight(names, row_mm=max(_ROW_MM, n_lines * LINE_MM + 0.6))


def _shares_with_y_of_method(
    frequencies: pd.DataFrame, ranks: pd.DataFrame, groups: list[str], y_of_method: Mapping[Any, float]
) -> pd.DataFrame:
    """Return the frequencies of the groups that ranks have, with the position `y` of their method.

    `groups` are the grouping columns of the ranks. Raises if no row is left, if a method has several rows for
    one rank, or if a method has no rank.
    """
    shares = check_frame(frequencies, "frequencies")
    check_columns(shares, [*groups, "method", "rank", "share"], "frequencies")
    if groups:
        drawn_groups = pd.MultiIndex.from_frame(ranks[groups].astype(TEXT))
        is_drawn = pd.MultiIndex.from_frame(shares[groups].astype(TEXT)).isin(drawn_groups)
        shares = shares[is_drawn]
    is_repeated = shares.duplicated([*groups, "method", "rank"])
    if shares.empty or is_repeated.any():
        problem = "no row of a group of ranks"
        if is_repeated.any():
            problem = "several rows of one method and rank"
        raise SalstatsError(
            f"frequencies has {problem}",
            hint="make both frames of the same scores, with the same groups",
            option="frequencies",
        )
    unknown = [method for method in shares["method"].unique() if method not in y_of_method]
    if unknown:
        raise SalstatsError(
            f"frequencies has method {unknown[0]!r}, which ranks lacks",
            option="frequencies",
            column="method",
            value=unknown[0],
        )
    return shares.assign(y=shares["method"].map(y_of_method).astype(float))


def _rank_limit_lines_note(ranks: Estimates) -> str:
    """Return a sentence on the lines, "" where there are none."""
    level = ranks.only_non_missing_value("conf_level")
    if level is None or not ranks.has_any_limit.any():
        return ""
    percent = f"{100 * float(level):.10g}%"
    if ranks.only_non_missing_value("interval") == "pairwise tests":
        return f"Lines: joint {percent} confidence limits, from pairwise tests."
    replicates = "replicates"
    n_replicates = ranks.only_non_missing_value("n_replicates")
    if n_replicates is not None:
        replicates = f"{count_text(n_replicates)} replicates"
    return f"Lines: where the rank lies in {percent} of {replicates}."


def _blobs_and_tied_ranks_note(ranks: pd.DataFrame, replicate_shares: pd.DataFrame | None) -> str:
    """Return sentences on blobs and on marks between two ranks, "" if there are neither."""
    drawn_ranks = ranks["estimate"]
    notes = []
    if replicate_shares is not None:
        drawn_ranks = pd.concat([drawn_ranks, replicate_shares["rank"]])
        notes.append("Blobs: share of replicates with that rank.")
    if (drawn_ranks % 1).any():
        notes.append("Between two ranks: methods that tie share their mean.")
    return " ".join(notes)


def _scheme_note(ranks: Estimates) -> str:
    """Return a sentence on the scheme by which methods are ranked, "" if it is not known."""
    scheme = RANK_SCHEMES.get(str(ranks.only_non_missing_value("scheme")))
    if scheme is None:
        return ""
    return f"Ranked by {scheme.label}."


def _dark_tiles_note(comparisons: Estimates, labels: Labels) -> str:
    """Return sentences on dark tiles, with the tests, and on pairs without a P value."""
    sentence = (
        f"Dark: the method of the row is better than that of the column ({_tests_text(comparisons, labels)})."
    )
    if comparisons.frame["p_adjusted"].isna().any():
        sentence += " Tiles of pairs without a P value are white."
    return sentence


def _bars_note(comparisons: Estimates, labels: Labels) -> str:
    """Return sentences on the bars of a diagram, with the tests, and on pairs without a P value."""
    sentence = f"Bars join methods of which none is better than another ({_tests_text(comparisons, labels)})."
    if comparisons.frame["p_adjusted"].isna().any():
        sentence += " No bar joins methods without a P value."
    return sentence


def _tests_text(comparisons: Estimates, labels: Labels) -> str:
    """Return the level, the test and the adjustment of P values: "one-sided P < 0.05; t test; Holm"."""
    levels = comparisons.distinct_values("conf_level")
    alpha = 0.05
    if levels:
        alpha = 1 - float(levels[0])
    details = [f"one-sided P < {alpha:.10g}"]
    tested = comparisons.subset([name in TESTS for name in comparisons.row_values("test")])
    tests = [TESTS[name].label for name in tested.row_values("test")]
    if tests:
        details.append(joined(each_distinct_text_with_groups_or_counts(tested, tests, labels)))
    procedure = find_procedure(next(iter(comparisons.distinct_values("procedure")), None))
    if procedure is not None and procedure.label:
        details.append(procedure.label)
    return "; ".join(details)
