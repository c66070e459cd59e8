"""Rankings of methods: which rank each takes and how often, and which is significantly better than which."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_columns, check_frame
from salstats.display.estimates import Estimates, check_distinct, read_estimates
from salstats.display.facts import count_sentence
from salstats.display.plots.layout.axis_ticks import tick_texts
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.panel_grid import BOTTOM_MM, group_titles, panel_grid
from salstats.display.plots.layout.text_fit import NAME_CHARS, label_chars, names_below, short_labels, text_mm
from salstats.display.plots.layout.theme import (
    COLUMN_MM,
    GUIDE,
    LINE_MM,
    MUTED,
    PAGE_MM,
    PALETTE,
    TEXT_PT,
    font,
)
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import count_text, fixed_text, joined, p_text
from salstats.display.text.labels import Labels
from salstats.stats.adjust import find_procedure
from salstats.stats.engine.paired_tests import RECORDS as TESTS
from salstats.stats.engine.rank_schemes import RECORDS

#: Lines of a method's name beside its row, and room around it.
_NAME_LINES, _PAD_MM = 3, 4.0
#: Height of a method's row at least, which a blob of a rank that is always taken nearly fills, size of that
#: blob, room for the legend of these and its width.
_ROW_MM, _BLOB, _LEGEND_MM, _KEYS_MM = 6.0, 7.0, 6.0, 48.0
#: Number in a tile and the smallest size at which it is still printed; the share of a tile that it takes.
_NUMBER_PT, _SMALLEST_PT, _FILLED = TEXT_PT - 0.5, 6.0, 0.92
#: P values from here on have two decimals.
_DECIMALS = 0.06
_BLUE, _LIGHT = PALETTE[0], "#A9C4E0"


@figures
def plot_ranks(
    ranks: pd.DataFrame,
    *,
    frequencies: pd.DataFrame | None = None,
    labels: Mapping[str, Any] | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Figure of the rank of each method: a point, where it lies in most replicates, and how often where.

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
    names = Labels(labels, ranks)
    estimates = read_estimates(ranks, "ranks", ("estimate", "method"))
    frame = estimates.frame
    groups = [key for key in estimates.keys if key != "method"]
    check_distinct(estimates, [*groups, "method"])
    order = _order(frame, names)
    place = {method: 0.0 - i for i, method in enumerate(order)}
    data = frame.assign(panel=group_titles(frame, names, groups), y=frame["method"].map(place).astype(float))
    titles = list(data["panel"].cat.categories)
    most = int(data.groupby("panel", observed=True).size().max())
    width = width or (COLUMN_MM if len(titles) <= 2 else PAGE_MM)
    written, row = _names(names, order, width)
    grid = panel_grid(titles, n_columns, width, left=max(map(text_mm, written)) + _PAD_MM)
    height = len(order) * row
    # the first and the last rank have room for a whole blob
    beside = max(0.5, (most - 1) / (2 * max(grid.panel_width / _ROW_MM - 1, 1)))
    blobs: list[Any] = []
    notes = [
        scope_note(data, names, ("metric", "task")),
        _said_of(estimates),
        "Diamonds: rank without resampling.",
        _blobs_note(frame, frequencies),
        _lines_note(estimates),
        count_sentence(estimates),
        caution_note(data),
    ]
    if frequencies is not None:
        shares = _shares(frequencies, groups, place).assign(panel=lambda d: group_titles(d, names, groups))
        blobs = [
            p9.geom_point(p9.aes("rank", "y", size="share"), shares, color=_LIGHT),
            p9.scale_size_area(
                max_size=_BLOB, limits=(0, 1), breaks=[0.1, 0.5, 1], labels=["10%", "50%", "100%"],
                name="Replicates",
            ),
        ]  # fmt: skip
    figure = (
        p9.ggplot(data, p9.aes("estimate", "y"))
        + blobs
        + p9.geom_segment(p9.aes(x="conf_low", xend="conf_high", yend="y"), data.dropna(subset=["conf_low"]))
        + p9.geom_point(color=_BLUE, fill=_BLUE, shape="D", size=1.6)
        + p9.scale_x_continuous(breaks=_rank_ticks(most), labels=tick_texts, minor_breaks=[])
        + p9.scale_y_continuous(
            breaks=list(place.values()), labels=written, minor_breaks=[],
        )
        + p9.coord_cartesian(xlim=(1 - beside, most + beside), ylim=(0.5 - len(order), 0.5), expand=False)
        + grid.look(
            height, x="Rank", notes=notes, further=_LEGEND_MM if blobs else 0.0
        )
        + p9.theme(
            axis_line_y=p9.element_blank(),
            axis_ticks_major_y=p9.element_blank(),
            axis_text_y=p9.element_text(ha="right", ma="right"),
            panel_grid_major_y=p9.element_line(color=GUIDE, size=0.25),
            legend_title=p9.element_text(size=TEXT_PT, va="center", margin={"r": 6}),
            legend_justification_top=grid.legend_justification(_KEYS_MM),
        )
    )  # fmt: skip
    return grid.pages(figure, height)


@figures
def plot_significance(
    significance: pd.DataFrame,
    *,
    ranks: pd.DataFrame | None = None,
    labels: Mapping[str, Any] | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Figure of which method is significantly better than which: a tile and a P value per ordered pair.

    Parameters
    ----------
    significance : DataFrame
        From `significance_map`; each combination of its grouping columns is a panel.
    ranks : DataFrame, optional
        From `rank_stability`: methods stand by their rank. By default those better than most stand first.
    labels : mapping, optional
        Names and order of methods and of the panels' columns.
    n_columns, width
        As for `plot_ranks`.

    Returns
    -------
    Figure
        A dark tile: the row's method is better than the column's. Tiles too narrow for numbers have none.

    Raises
    ------
    ColumnError, SalstatsError
        As for `plot_ranks`.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated()
    >>> found = ss.significance_map(scores, test="t")
    >>> ss.plot_significance(found).data[["method", "reference", "better", "text"]].head(2)
        method  reference  better  text
    0  gradcam      human   False  1.00
    1  gradcam  occlusion   False  0.23
    """
    names = Labels(labels, significance)
    comparisons = read_estimates(
        significance, "significance", ("method", "reference", "better", "p_adjusted")
    )
    # 0 and 1 where it was read from a file
    frame = comparisons.frame.assign(better=comparisons.frame["better"].astype(bool))
    groups = [key for key in comparisons.keys if key not in ("method", "reference")]
    check_distinct(comparisons, [*groups, "method", "reference"])
    won = frame.groupby("method", observed=True)["better"].mean()
    by_wins = pd.DataFrame({"method": won.index, "estimate": -won.to_numpy()})
    order = _order(by_wins if ranks is None else read_estimates(ranks, "ranks").frame, names)
    lacking = [m for m in won.index if m not in order]
    if lacking:
        raise SalstatsError(f"ranks has no method {lacking[0]!r} of the significance map")
    order = [m for m in order if m in won.index]
    place = {method: i for i, method in enumerate(order)}
    tiles = frame.assign(
        panel=group_titles(frame, names, groups),
        across=frame["reference"].map(place).astype(float),
        up=0.0 - frame["method"].map(place),
        text=[fixed_text(p, 2) if not p < _DECIMALS else p_text(p) for p in frame["p_adjusted"]],
        ink=np.where(frame["better"], "white", MUTED),
    )
    titles, n = list(tiles["panel"].cat.categories), len(order)
    width = width or (COLUMN_MM if len(titles) == 1 and n <= 6 else PAGE_MM)
    written, row = _names(names, order, width)
    widest = n * max(text_mm(text, 1.0) for text in tiles["text"]) / _FILLED
    left = max(map(text_mm, written)) + _PAD_MM
    grid = panel_grid(titles, n_columns, width, left=left, least=_SMALLEST_PT * widest)
    below = names_below(
        [names.value("method", method) for method in order],
        grid.panel_width / n,
        slant=len(titles) % grid.n_columns == 0,
    )
    if below.beyond > left:
        grid = panel_grid(titles, n_columns, width, left=below.beyond, least=_SMALLEST_PT * widest)
    height, size = n * row, min(_NUMBER_PT, grid.panel_width / widest)
    numbers = p9.geom_text(p9.aes(label="text", color="ink"), size=size, family=font(), va="center")
    levels = comparisons.values("conf_level")
    level = 1 - float(levels[0]) if levels else 0.05
    known = find_procedure(next(iter(comparisons.values("procedure")), None))
    tests = [TESTS[name].label for name in comparisons.values("test") if name in TESTS]
    how = f"; {joined(tests, 'or')}" if tests else ""
    if known is not None and known.label:
        how += f"; {known.label}"
    figure = (
        p9.ggplot(tiles, p9.aes("across", "up"))
        + p9.geom_tile(p9.aes(fill="better"), width=0.96, height=0.94, color=GUIDE, size=0.2)
        + ([numbers] if size >= _SMALLEST_PT else [])
        + p9.scale_fill_manual({True: _BLUE, False: "white"})
        + p9.scale_color_identity()
        + p9.scale_x_continuous(
            breaks=list(range(n)), minor_breaks=[], labels=below.texts, limits=(-0.5, n - 0.5), expand=(0, 0)
        )
        + p9.scale_y_continuous(
            breaks=list(range(1 - n, 1)), minor_breaks=[], labels=written[::-1], limits=(0.5 - n, 0.5),
            expand=(0, 0),
        )
        + grid.look(
            height,
            notes=[
                scope_note(frame, names, ("metric", "task")),
                "Dark: the method of the row is better than that of the column "
                f"(one-sided P < {level:.10g}{how}).",
                "Numbers: that P." if size >= _SMALLEST_PT else "",
                caution_note(frame),
            ],
            further=below.height - BOTTOM_MM + LINE_MM,
        )
        + p9.theme(
            axis_title=p9.element_blank(),
            axis_line=p9.element_blank(),
            axis_ticks=p9.element_blank(),
            axis_text_x=p9.element_text(va="top", **below.text_options),
            axis_text_y=p9.element_text(ha="right", ma="right"),
            legend_position="none",
        )
    )  # fmt: skip
    return grid.pages(figure, height)


def _order(frame: pd.DataFrame, labels: Labels) -> list[Any]:
    """Methods in the labels' order where they give one, else by their mean rank over the panels."""
    means = frame.groupby("method", observed=True)["estimate"].mean().sort_values(kind="stable")
    return labels.order("method", pd.Categorical(means.index, means.index))


def _names(labels: Labels, order: Sequence[Any], width: float) -> tuple[list[str], float]:
    """Methods as they are written in a figure of a width, in the order given, and the height of a row."""
    texts = short_labels(labels, "method", order, label_chars(width, NAME_CHARS), _NAME_LINES)
    written = [texts[method] for method in order]
    lines = max(text.count("\n") + 1 for text in written)
    return written, max(_ROW_MM, lines * LINE_MM + 0.6)


def _rank_ticks(most: int) -> list[int]:
    """Ranks with a number below them."""
    step = max(1, -(-most // 10))
    return [1, *range(step if step > 1 else 2, most + 1, step)]


def _shares(frequencies: pd.DataFrame, groups: list[str], place: Mapping[Any, float]) -> pd.DataFrame:
    """Rows of the blobs, with the row of their method."""
    shares = check_frame(frequencies, "frequencies")
    check_columns(shares, [*groups, "method", "rank", "share"], "frequencies")
    unknown = [m for m in shares["method"].unique() if m not in place]
    if unknown:
        raise SalstatsError(f"frequencies has method {unknown[0]!r}, which ranks has not")
    return shares.assign(y=shares["method"].map(place).astype(float))


def _lines_note(ranks: Estimates) -> str:
    """Say what the lines are."""
    level = ranks.single("conf_level")
    if level is None or not ranks.limited.any():
        return ""
    percent = f"{100 * float(level):.10g}%"
    if ranks.single("interval") == "pairwise tests":
        return f"Lines: joint {percent} confidence limits, from tests of every two."
    n_replicates = ranks.single("n_replicates")
    of = "" if n_replicates is None else f" {count_text(n_replicates)}"
    return f"Lines: where the rank lies in {percent} of{of} replicates."


def _blobs_note(ranks: pd.DataFrame, frequencies: pd.DataFrame | None) -> str:
    """What the blobs are, and marks between ranks."""
    shown = [ranks["estimate"]] + ([] if frequencies is None else [frequencies["rank"]])
    ties = "Between two ranks: methods that tie share their mean." if (pd.concat(shown) % 1).any() else ""
    blobs = "" if frequencies is None else "Blobs: share of replicates with that rank."
    return f"{blobs} {ties}".strip()


def _said_of(ranks: Estimates) -> str:
    """Say what methods are ranked by."""
    known = RECORDS.get(str(ranks.single("scheme")))
    return "" if known is None else f"Ranked by {known.label}."
