"""Correlations as tiles: a triangle of every pair, covariates by outcomes, or groups by groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_level, quoted
from salstats.display.estimates import Estimates, read_estimates
from salstats.display.facts import clustering_sentence, p_value_sentence
from salstats.display.plots.layout.axis_ticks import tick_texts
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.legends import centred_justification
from salstats.display.plots.layout.panel_grid import BOTTOM_MM, GAP_MM, panel_grid
from salstats.display.plots.layout.text_fit import (
    NAME_CHARS,
    chars_in,
    crossed,
    names_below,
    text_mm,
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
)
from salstats.display.text.cautions import caution_note
from salstats.display.text.correlation import covariates_note
from salstats.display.text.format import MISSING, count_range, fixed_text, joined, p_used
from salstats.display.text.labels import Labels
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS
from salstats.study import HUMAN

#: Lines of a name beside the tiles, and room around it.
_NAME_LINES, _PAD_MM = 2, 4.0
#: Height of a tile: a share of its width, at least room for its name, at most this; and its greatest width.
_SHARE, _HIGHEST_MM, _WIDEST_MM = 0.6, 7.5, 24.0
#: Height of a panel that fits a page with names, bar and caption.
_MOST_MM = 195.0
#: Number in a tile, the smallest size at which it is still printed, and from where it is white.
_NUMBER_PT, _SMALLEST_PT, _DARK = TEXT_PT - 0.5, TEXT_PT - 1, 0.7
#: Width and height of the bar of colours, in points, and room for it and its numbers in mm.
_BAR_PT, _BAR_MM, _LEGEND_MM = (100, 6), 42.0, 11.0
#: Width of a tile whose number is well read, and of a panel whose title is.
_NUMBER_MM, _PANEL_MM = 7.5, 20.0
#: Groups that have a panel each; more of them are the rows.
_FEW = 4


@figures
def plot_correlation(
    correlations: pd.DataFrame,
    *,
    alpha: float | None = 0.05,
    labels: Any = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Figure of correlations: a tile and a number per pair, a panel per group.

    Pairs of every two variables are a triangle. Where each variable of one kind is paired with those of
    another, as outcomes with covariates, these are the columns and rows of the tiles. More than four groups
    of such pairs are rows instead of panels, of one column; of several columns the methods stand side by
    side, and each pair has a panel.

    Parameters
    ----------
    correlations : DataFrame
        Rows of `correlate` for the pairs, in any order. `correlate` takes one pair, so that a matrix is its
        results for all pairs below each other: see Examples.
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
        Width of the figure in mm; by default 89 for a single panel whose numbers fit it, else 183.

    Returns
    -------
    Figure
        Colours run from -1 to 1 in every figure. Tiles too narrow for numbers of 6 points have none. A pair
        without a coefficient has a dash; pairs that are not in the frame have no tile. A figure that is
        higher than a page has `pages`.

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
    estimates, groups, test = _checked(correlations)
    frame = estimates.frame
    own = [c for c in groups if frame[c].nunique(dropna=False) > 1]
    placed = _placed(frame, own, names)
    titles, across = (list(placed.frame[c].cat.categories) for c in ("panel", "column"))
    rows = placed.frame["row"].cat.categories
    # very many rows have room for a line each
    down = wrapped_texts(rows, NAME_CHARS, min(_NAME_LINES, max(int(_MOST_MM / len(rows) / LINE_MM), 1)))
    left = max(map(text_mm, down.values())) + _PAD_MM
    n = len(across)
    if width is None:
        width = COLUMN_MM if len(titles) == 1 and left + _NUMBER_MM * n <= COLUMN_MM else PAGE_MM
    if n_columns is None:
        most = max(int((width - left + GAP_MM) // (max(_NUMBER_MM * n, _PANEL_MM) + GAP_MM)), 1)
        n_columns = -(-len(titles) // -(-len(titles) // most))
        n_columns -= n_columns % min(placed.step, n_columns)
    grid = panel_grid(titles, n_columns, width, left=left)
    # names below a panel with nothing under it would lie on the title of the next one
    slant = len(titles) % grid.n_columns == 0
    below = names_below(across, min(grid.panel_width / n, _WIDEST_MM), slant=slant)
    if below.beyond > left:
        grid = panel_grid(titles, n_columns, width, left=below.beyond)
    tile = min(grid.panel_width / n, _WIDEST_MM)
    lines = max(text.count("\n") + 1 for text in down.values())
    tall = max(min(_SHARE * tile, _HIGHEST_MM, _MOST_MM / len(down)), lines * LINE_MM + 0.3)
    height = tall * len(down)
    tiles = _tiles(placed.frame, alpha, tall)
    numbers = _numbers(tiles, tile)
    kind = COEFFICIENTS[test].heading if test in COEFFICIENTS else test
    title = wrapped(f"{kind}{placed.what}", chars_in(width - grid.left), 3)
    # beside the bar where there is room
    above = text_mm(title) + _BAR_MM > width - grid.left
    right = max(grid.n_columns * (grid.panel_width - n * tile), 1)
    keys = max(_BAR_MM, text_mm(title)) if above else _BAR_MM + text_mm(title) + 3
    figure = (
        p9.ggplot(tiles, p9.aes("across", "up"))
        + p9.geom_tile(p9.aes(fill="shown"), width=0.97, height=0.97 * tall, color=GUIDE, size=0.2)
        + numbers
        + _scales(title, below.texts, list(down.values()), tall)
        + grid.look(
            height,
            notes=[
                scope_note(frame, names, [c for c in groups if c not in own]),
                covariates_note(frame, names),
                *_captions(estimates, tiles, alpha, bool(numbers)),
            ],
            # captions begin where names of rows do
            indent=max(below.beyond - left, 0.0),
            further=below.height + _LEGEND_MM - BOTTOM_MM + above * LINE_MM * (title.count("\n") + 1),
        )
        + p9.theme(
            axis_title=p9.element_blank(),
            axis_line=p9.element_blank(),
            axis_ticks=p9.element_blank(),
            axis_text_x=p9.element_text(va="top", **below.text_options),
            legend_title=p9.element_text(size=TEXT_PT, va="center", margin={"b": 2} if above else {"r": 8}),
            legend_title_position="top" if above else "left",
            legend_key_width=_BAR_PT[0],
            legend_key_height=_BAR_PT[1],
            legend_justification_top=centred_justification(keys, grid.left, width - grid.left - right, width),
            plot_margin_right=right / width,
        )
    )
    return grid.pages(figure, height, [-tall * (i + 1) for i in range(len(down))])


def _checked(correlations: object) -> tuple[Estimates, list[str], str]:
    """Return the correlations, their grouping columns and the kind of their coefficients."""
    estimates = read_estimates(correlations, "correlations", ("estimate", "x", "y"))
    frame = estimates.frame
    tests = [str(term) for term in estimates.values("term")]
    if len(tests) > 1:
        raise SalstatsError(
            f"correlations holds {len(tests)} kinds of coefficient ({quoted(tests)}); keep one, as in "
            f"correlations.query('term == {tests[0]!r}')"
        )
    if not estimates.defined.any():
        raise SalstatsError(
            f"correlations has nothing to draw: every estimate is missing ({len(frame)} rows)"
        )
    groups = [key for key in estimates.keys if key not in ("x", "y")]
    pairs = frame[groups].assign(pair=[frozenset(p) for p in zip(frame["x"], frame["y"], strict=True)])
    if pairs.duplicated().any():
        row = frame.loc[pairs.duplicated()].iloc[0]
        where = "".join(f", {c} {row[c]}" for c in groups)
        raise SalstatsError(
            f"correlations has more than one row for {row['x']} and {row['y']}{where}; keep one"
        )
    return estimates, groups, tests[0] if tests else "Correlation"


@dataclass(frozen=True)
class _Placed:
    """Frame with the labels of each tile's `row`, `column` and `panel`, Categoricals in their order."""

    frame: pd.DataFrame
    what: str
    step: int


def _placed(frame: pd.DataFrame, groups: Sequence[str], names: Labels) -> _Placed:
    """Where each pair and group stands: as row, column or panel."""
    whole = names.texts("term", frame[["x", "y"]].to_numpy().ravel())
    sides, pairs = _sides(frame), list(zip(frame["x"], frame["y"], strict=True))
    order: list[str] = list(whole)
    ends = [sorted(pair, key=sides.__getitem__ if sides else order.index) for pair in pairs]
    known = frame.assign(first=[a for a, _ in ends], second=[b for _, b in ends])
    texts: dict[str, dict[Any, str]] = {
        c: {v: text for v, text in whole.items() if v in set(known[c])} for c in ("first", "second")
    }
    few, many = sorted(texts, key=lambda c: len(texts[c]))
    n_pairs, n_groups = len(texts[few]) * len(texts[many]), len(frame[list(groups)].drop_duplicates())
    texts |= {c: names.texts(c, frame[c]) for c in groups}
    if "method" in texts:
        texts["method"] = dict(sorted(texts["method"].items(), key=lambda method: method[0] != HUMAN))
    rows, columns, panels = [many], [few], list(groups)
    if not sides:
        rows, columns = ["second"], ["first"]
    elif groups and (n_groups > _FEW or n_pairs == 1):
        across = "method" if "method" in groups else min(groups, key=lambda c: len(texts[c]))
        rows, columns, panels = [c for c in groups if c != across], [across], [many, few]
        if not rows and n_pairs == 1:
            rows, columns = list(groups), []
        elif not rows:
            rows, columns, panels = list(groups), [many], [few]
    alone = [text for c in ("first", "second") if c in panels for text in texts[c].values()]

    def of(dimensions: Sequence[str]) -> pd.Categorical:
        return crossed(known, {c: texts[c] for c in dimensions})

    return _Placed(
        frame.assign(row=of(rows), column=of(columns), panel=of(panels)),
        f" {'of' if len(alone) > 1 else 'with'} {joined(alone)}" if len(alone) == len(panels) > 0 else "",
        len(texts[few]) if panels == [many, few] else 1,
    )


def _sides(frame: pd.DataFrame) -> dict[str, int]:
    """Which of two kinds each variable is, 0 or 1, where every pair is of both; else nothing."""
    left = list(dict.fromkeys(zip(frame["x"], frame["y"], strict=True)))
    sides: dict[str, int] = {}
    while left:
        pair = next((p for p in left if sides.keys() & set(p)), left[0])
        left.remove(pair)
        x, y = pair
        sides.setdefault(x, 1 - sides[y] if y in sides else 0)
        if sides.setdefault(y, 1 - sides[x]) == sides[x]:
            return {}
    return sides


def _scales(title: str, across: list[str], down: list[str], tall: float) -> list[Any]:
    """Scale of the colours, and the axes that name columns and rows, these in mm."""
    look: dict[str, Any] = {"minor_breaks": [], "expand": (0, 0.03)}
    return [
        p9.scale_fill_gradientn(
            DIVERGING, limits=(-1, 1), breaks=[-1, -0.5, 0, 0.5, 1], labels=tick_texts, name=title
        ),
        p9.scale_x_continuous(
            breaks=list(range(len(across))), labels=across, limits=(-0.5, len(across) - 0.5), **look
        ),
        p9.scale_y_continuous(
            breaks=[-tall * (i + 0.5) for i in range(len(down))],
            labels=down,
            limits=(-tall * len(down), 0),
            **look,
        ),
    ]


def _tiles(placed: pd.DataFrame, alpha: float | None, tall: float) -> pd.DataFrame:
    """Frame with the place of each tile, up in mm, what its colour shows and its number."""
    p_values = np.array([p_used(row) for row in placed.to_dict("records")])
    weak = np.zeros(len(placed), dtype=bool) if alpha is None else p_values >= alpha
    estimate = placed["estimate"]
    return placed.assign(
        across=placed["column"].cat.codes.astype(float),
        up=-tall * (placed["row"].cat.codes + 0.5),
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


def _captions(correlations: Estimates, tiles: pd.DataFrame, alpha: float | None, numbered: bool) -> list[str]:
    """Say what is grey, which tests there are, and how many pairs."""
    counts = correlations.values("n")
    is_tested = correlations.is_tested or len(correlations.known("p_adjusted")) > 0
    tested = alpha is not None and is_tested
    weak = f"{'Grey on white' if numbered else 'White'}: P ≥ " if tiles["weak"].any() else "All P < "
    return [
        f"{weak}{alpha:.10g}." if tested else "",
        (p_value_sentence(correlations) or "P values not adjusted.") if tested else "",
        f"{MISSING}: undefined." if tiles["estimate"].isna().any() else "",
        f"n = {count_range(counts)} pairs." if counts else "",
        clustering_sentence(correlations),
        caution_note(tiles),
    ]
