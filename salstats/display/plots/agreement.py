"""Differences of two raters against their means, with bias and limits of agreement (Bland and Altman)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError
from salstats.display.estimates import Estimates, check_distinct, read_estimates
from salstats.display.facts import interval_caption
from salstats.display.plots.layout.axis_ticks import number_axes
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.drawing import barred_rows
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.panel_grid import group_titles, panel_grid
from salstats.display.plots.layout.points import CELL_POINTS, RASTER_POINTS, cell_layers
from salstats.display.plots.layout.theme import GUIDE, PALETTE
from salstats.display.text.labels import Labels
from salstats.stats.agreement.comparing import differences

#: Height of a panel over its width.
_SHARE = 0.8
#: The bias, and the limits of agreement: colour, type of line.
_LINES = {
    "bias": (PALETTE[0], "solid"),
    "loa_low": (PALETTE[1], "dashed"),
    "loa_high": (PALETTE[1], "dashed"),
}
#: Marks of one pair, and of the most equal ones.
_SIZES = (0.9, 3.0)


@figures
def plot_agreement(
    scores: pd.DataFrame,
    limits: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Bland-Altman plot: differences of two raters against their means, a panel per pair and group.

    Nothing is computed here but the differences: lines and bands are those of `agreement`.

    Parameters
    ----------
    scores : DataFrame
        The scores that `limits` were made of.
    limits : DataFrame
        What `agreement(kind="bland-altman")` returns for them; panels are its groups and pairs, so that
        fewer of them are drawn where some are left out.
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
        `difference` and `n`, how many pairs are equal, which the area of a mark shows. Pairs of a case that
        was read several times are drawn each, but where they are in any order (`linked=False`): there a mark
        is the means of a case. Panels of several metrics have their own axes. More than 5000 marks of a
        panel are drawn as cells.

    Raises
    ------
    ColumnError, SalstatsError
        `limits` are no limits of agreement, or of other scores.

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("metric == 'iou' and task == 'Edema'")
    >>> limits = ss.agreement(scores, over="method", kind="bland-altman")
    >>> figure = ss.plot_agreement(scores, limits)
    >>> figure.labels.y
    'Difference in IoU'
    """
    needed, source = ("estimate", "pair", "term", "over"), "agreement(kind='bland-altman') makes the frame"
    estimates = read_estimates(limits, "limits", needed, source)
    frame = estimates.frame
    if not set(frame["term"]) <= set(_LINES):
        raise SalstatsError(
            f"limits holds {str(frame['term'].iloc[0])!r}; take agreement(scores, kind='bland-altman'), or "
            "plot_forest for coefficients"
        )
    names = Labels(labels, frame)
    groups = list(estimates.keys)
    check_distinct(estimates, [*groups, "term"])
    points, frame = _points(scores, frame, groups), frame.copy()
    shown = [c for c in groups if len(estimates.values(c)) > 1] or ["pair"]
    over = str(frame["over"].iloc[0])
    texts = {
        pair: " \N{MINUS SIGN} ".join(_names(rows, names, over))
        for pair, rows in frame.groupby("pair", sort=False)
    }
    for table in (frame, points):
        table["pair"] = pd.Categorical(table["pair"].map(texts), list(texts.values()), ordered=True)
        table["panel"] = group_titles(table, names, shown)
    metrics = estimates.values("metric")
    grid = panel_grid(list(frame["panel"].cat.categories), n_columns, width, free=len(metrics) > 1)
    points["panel"] = pd.Categorical(
        points["panel"].astype(str), list(frame["panel"].cat.categories), ordered=True
    )
    height = grid.panel_height(_SHARE)
    what = names.value("metric", metrics[0]) if len(metrics) == 1 else "score"
    figure = (
        p9.ggplot(points, p9.aes("mean", "difference"))
        + p9.geom_hline(yintercept=0, color=GUIDE, size=0.4)
        + _bands(frame)
        + _marks(points)
        + _lines(frame)
        + number_axes(grid.panel_width, height)
        + grid.look(
            height,
            x=f"Mean {what}",
            y=f"Difference in {what}",
            notes=[
                scope_note(frame, names, ("method", "task")),
                *_notes(estimates.with_frame(frame), points),
            ],
        )
        + p9.theme(legend_position="none")
    )
    return grid.pages(figure, height)


def _names(rows: pd.DataFrame, names: Labels, over: str) -> list[str]:
    """Labels of both raters of a pair."""
    return [names.value(over, rows[side].iloc[0]) for side in ("first", "second")]


def _linked(frame: pd.DataFrame) -> bool:
    """Whether readings of a case belong together in pairs."""
    return "linked" not in frame.columns or bool(frame["linked"].iloc[0])


def _points(scores: pd.DataFrame, frame: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    """Pairs of the groups that are shown, equal ones once with their number."""
    by = [c for c in groups if c != "pair"]
    found = differences(scores, str(frame["over"].iloc[0]), by, linked=_linked(frame))
    wanted = frame[groups].drop_duplicates().astype(str)
    found[groups] = found[groups].astype(str)
    points = found.merge(wanted, on=groups)
    if len(points.groupby(groups)) < len(wanted):
        raise SalstatsError("limits has a group or pair that the scores have not; give the scores it is of")
    return (
        points.groupby([*groups, "mean", "difference"], as_index=False).size().rename(columns={"size": "n"})
    )


def _bands(frame: pd.DataFrame) -> list[Any]:
    """Layers of the limits' own limits."""
    layers = []
    for term, (colour, _) in _LINES.items():
        rows = barred_rows(frame[frame["term"] == term]).assign(left=-np.inf, right=np.inf)
        if len(rows):
            corners = p9.aes(xmin="left", xmax="right", ymin="conf_low", ymax="conf_high")
            layers.append(p9.geom_rect(corners, rows, fill=colour, alpha=0.15, size=0, inherit_aes=False))
    return layers


def _lines(frame: pd.DataFrame) -> list[Any]:
    """Layers of the bias and the limits of agreement."""
    layers = []
    for term, (colour, line) in _LINES.items():
        rows = frame[frame["term"] == term]
        if len(rows):
            at = p9.aes(yintercept="estimate")
            layers.append(p9.geom_hline(at, rows, color=colour, linetype=line, size=0.6))
    return layers


def _marks(points: pd.DataFrame) -> list[Any]:
    """Layer of the pairs: more transparent the more there are, cells for very many."""
    most = int(points["panel"].value_counts().max())
    if most > CELL_POINTS:
        return cell_layers(points.rename(columns={"mean": "x", "difference": "y"}), "#666666")
    alpha = float(np.clip(60 / most, 0.15, 0.7))
    look: dict[str, Any] = {"stroke": 0, "alpha": alpha, "raster": len(points) > RASTER_POINTS}
    if points["n"].max() == 1:
        return [p9.geom_point(size=_SIZES[0], **look)]
    return [p9.geom_point(p9.aes(size="n"), **look), p9.scale_size(range=_SIZES)]


def _notes(limits: Estimates, points: pd.DataFrame) -> list[str]:
    """Say what lines, bands and marks are."""
    pair = limits.single("pair")
    notes = [] if pair is None else [f"Difference: {pair}."]
    notes.append("Solid line: bias; dashed: limits that hold 95% of differences.")
    if not _linked(limits.frame):
        notes.append("Marks: means of each case's readings.")
    notes.append(interval_caption(limits, mark="Bands"))
    if points["n"].max() > 1:
        notes.append(f"Area of marks: equal pairs, up to {points['n'].max()}.")
    return notes
