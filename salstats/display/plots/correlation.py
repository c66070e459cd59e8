"""Correlation matrices: a tile per pair, its colour and its number the coefficient."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_columns, check_level, quoted
from salstats.display.plots.axis_ticks import tick_texts
from salstats.display.plots.captions import distinct
from salstats.display.plots.estimates import check_estimates, grouping_columns
from salstats.display.plots.figure import figures
from salstats.display.plots.panel_grid import BOTTOM_MM, GAP_MM, group_titles, panel_grid
from salstats.display.plots.text_fit import short_labels, text_mm
from salstats.display.plots.theme import (
    COLUMN_MM,
    DIVERGING,
    GUIDE,
    MUTED,
    PAGE_MM,
    TEXT_PT,
    font,
)
from salstats.display.text.format import MISSING, count_range, fixed_text, p_used
from salstats.display.text.labels import Labels
from salstats.stats.coefficients import RECORDS as COEFFICIENTS

#: Characters and lines of a name beside the tiles, and room around it.
_NAME_CHARS, _NAME_LINES, _PAD_MM = 22, 2, 4.0
#: Height of a tile: a share of its width within limits.
_SHARE, _LOWEST_MM, _HIGHEST_MM = 0.6, 2.7, 9.0
#: Number in a tile, the smallest size at which it is still printed, and from where it is white.
_NUMBER_PT, _SMALLEST_PT, _DARK = TEXT_PT - 0.5, 4.8, 0.7
#: Tiles from which names below them stand at 45 degrees; narrower ones have upright names.
_SLANTED_MM = 5.0
_LEGEND_MM = 11.0
#: Variables that fit a column, width of a tile whose number is well read, and of a panel whose title is.
_COLUMN_VARIABLES, _NUMBER_MM, _PANEL_MM = 8, 7.5, 20.0


@figures
def plot_correlation(
    correlations: pd.DataFrame,
    *,
    alpha: float | None = 0.05,
    labels: Any = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> p9.ggplot:
    """Figure of a correlation matrix: a tile and a number per pair, a panel per group.

    Parameters
    ----------
    correlations : DataFrame
        Rows of `correlate` for the pairs, in any order; the lower triangle is drawn. `correlate` takes one
        pair, so that a matrix is its results for all pairs below each other: see Examples.
    alpha : float, optional
        Coefficients whose P value (adjusted where there is `p_adjusted`) is not below it stand in grey on a
        white tile; None leaves none out.
    labels : Mapping, optional
        Labels and order of the variables, under "term", and of the groups:
        `{"term": ["iou", "prob"]}`, `{"prob": "Confidence"}`, `{"method": {"gradcam": "Grad-CAM"}}`. By
        default variables stand in the order in which they first come.
    n_columns : int, optional
        Panels side by side.
    width : float, optional
        Width of the figure in mm; by default 89 for a single panel of up to eight variables, else 183.

    Returns
    -------
    ggplot
        Colours run from -1 to 1 in every figure. Tiles too narrow for numbers have none. A pair without
        a coefficient has a dash; pairs that are not in the frame have no tile.

    Raises
    ------
    ColumnError
        A column is missing or holds text where numbers belong.
    SalstatsError
        Several kinds of correlation; a pair twice in one group; nothing but missing estimates.

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
    names = Labels(labels, correlations)
    if alpha is not None:
        check_level(alpha, "alpha")
    frame, groups, test = _checked(correlations)
    variables = short_labels(names, "term", frame[["x", "y"]].to_numpy().ravel(), _NAME_CHARS, _NAME_LINES)
    order, written, n = list(variables), list(variables.values()), len(variables) - 1
    tiles = _tiles(frame, order, alpha).assign(panel=group_titles(frame, names, groups))
    titles = list(tiles["panel"].cat.categories)
    if width is None:
        width = COLUMN_MM if len(titles) == 1 and n < _COLUMN_VARIABLES else PAGE_MM
    wide = max(map(text_mm, written))
    left = wide + _PAD_MM
    if n_columns is None:
        most = max(int((width - left) // (max(_NUMBER_MM * n, _PANEL_MM) + GAP_MM)), 1)
        n_columns = -(-len(titles) // -(-len(titles) // most))
    grid = panel_grid(titles, n_columns, width, left=left)
    tile = grid.panel_width / n
    tall = float(np.clip(_SHARE * tile, _LOWEST_MM, _HIGHEST_MM))
    slanted = tile >= _SLANTED_MM
    look: dict[str, Any] = {"rotation": 45, "ha": "right"} if slanted else {"rotation": 90, "ha": "center"}
    below = _PAD_MM + wide * (0.75 if slanted else 1)
    return (
        p9.ggplot(tiles, p9.aes("across", "up"))
        + p9.geom_tile(p9.aes(fill="shown"), width=0.97, height=0.97, color=GUIDE, size=0.2)
        + _numbers(tiles, tile)
        + p9.scale_fill_gradientn(
            DIVERGING,
            limits=(-1, 1),
            breaks=[-1, -0.5, 0, 0.5, 1],
            labels=tick_texts,
            name=COEFFICIENTS[test].heading if test in COEFFICIENTS else test,
        )
        + p9.scale_x_continuous(
            breaks=list(range(n)), minor_breaks=[], labels=written[:-1], limits=(-0.5, n - 0.5), expand=(0, 0)
        )
        + p9.scale_y_continuous(
            breaks=list(range(-n, 0)),
            minor_breaks=[],
            labels=written[:0:-1],
            limits=(-n - 0.5, -0.5),
            expand=(0, 0),
        )
        + grid.look(n * tall, notes=_captions(tiles, alpha), further=below + _LEGEND_MM - BOTTOM_MM)
        + p9.theme(
            axis_title=p9.element_blank(),
            axis_line=p9.element_blank(),
            axis_ticks=p9.element_blank(),
            axis_text_x=p9.element_text(va="top", **look),
            legend_title=p9.element_text(size=TEXT_PT, va="center", margin={"r": 8}),
            legend_key_width=100,
            legend_key_height=6,
        )
    )


def _checked(correlations: object) -> tuple[pd.DataFrame, list[str], str]:
    """Frame of correlations, its grouping columns and the kind of its coefficients."""
    frame = check_estimates(correlations, "correlations")
    check_columns(frame, ["x", "y"], "correlations")
    tests = [str(t) for t in distinct(frame, "term")]
    if len(tests) > 1:
        raise SalstatsError(
            f"correlations holds {len(tests)} kinds of coefficient ({quoted(tests)}); keep one, as in "
            f"correlations.query('term == {tests[0]!r}')"
        )
    if frame["estimate"].isna().all():
        raise SalstatsError(
            f"correlations has nothing to draw: every estimate is missing ({len(frame)} rows)"
        )
    groups = [c for c in grouping_columns(frame) if c not in ("x", "y")]
    pairs = frame[groups].assign(pair=[frozenset(p) for p in zip(frame["x"], frame["y"], strict=True)])
    if pairs.duplicated().any():
        row = frame.loc[pairs.duplicated()].iloc[0]
        where = "".join(f", {c} {row[c]}" for c in groups)
        raise SalstatsError(
            f"correlations has more than one row for {row['x']} and {row['y']}{where}; keep one"
        )
    return frame, groups, tests[0] if tests else "Correlation"


def _tiles(frame: pd.DataFrame, order: Sequence[str], alpha: float | None) -> pd.DataFrame:
    """Frame with the place of each tile, what its colour shows and its number."""
    place = {name: i for i, name in enumerate(order)}
    ends = np.array([[place[x], place[y]] for x, y in zip(frame["x"], frame["y"], strict=True)])
    p_values = np.array([p_used(row) for row in frame.to_dict("records")])
    weak = np.zeros(len(frame), dtype=bool) if alpha is None else p_values >= alpha
    estimate = frame["estimate"]
    return frame.assign(
        across=ends.min(axis=1).astype(float),
        up=-ends.max(axis=1).astype(float),
        weak=weak,
        shown=estimate.where(~weak).fillna(0.0),
        text=[fixed_text(value, 2) for value in estimate],
    )


def _numbers(tiles: pd.DataFrame, tile: float) -> list[Any]:
    """Layers of numbers, in an ink that can be read on each tile; none where they do not fit."""
    size = min(_NUMBER_PT, tile / max(text_mm(text, 1.0) for text in tiles["text"]))
    if size < _SMALLEST_PT:
        return []
    muted = tiles["weak"] | (tiles["text"] == MISSING)
    inks = np.where(muted, MUTED, np.where(tiles["shown"].abs() >= _DARK, "white", "black"))
    return [
        p9.geom_text(
            p9.aes(label="text"), tiles[inks == ink], color=ink, size=size, family=font(), va="center"
        )
        for ink in dict.fromkeys(inks)
    ]


def _captions(tiles: pd.DataFrame, alpha: float | None) -> list[str]:
    """Sentences under the figure."""
    adjusted = "p_adjusted" in tiles.columns and tiles["p_adjusted"].notna().any()
    counts = distinct(tiles, "n")
    return [
        f"Grey on white: P ≥ {alpha:.10g} ({'' if adjusted else 'not '}adjusted)."
        if tiles["weak"].any()
        else "",
        f"{MISSING}: undefined." if tiles["estimate"].isna().any() else "",
        f"n = {count_range(counts)} pairs." if counts else "",
    ]
