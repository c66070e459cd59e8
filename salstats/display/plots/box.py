"""Box plots of scores: a row per task, a box per method, a panel per metric."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_choice
from salstats.display.plots.layout.captions import groups_without_note, scope_note
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.figure_rows import dodge_offsets, row_layout
from salstats.display.plots.layout.legends import group_scales, method_labels
from salstats.display.plots.layout.points import RASTER_POINTS
from salstats.display.plots.layout.row_panels import panel_titles, row_panels
from salstats.display.plots.layout.text_fit import crossed, short_labels
from salstats.display.text.cautions import caution_note
from salstats.display.text.format import count_text, counted_range, joined
from salstats.display.text.labels import Labels
from salstats.stats.descriptions import box_values
from salstats.stats.engine.carried import missing_scores
from salstats.study import HUMAN

#: Half the height of a box that shares its row, and of one that has it for itself.
_SHARED_MM, _ALONE_MM = 0.8, 1.3


@figures
def plot_box(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    reference: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Figure of the scores' distributions: a box per method in each task's row, a panel per metric.

    A box spans the quartiles with a line at the median, whiskers reach to the furthest score within 1.5
    interquartile ranges, dots are the scores beyond, a diamond marks the mean. Scores that are only ever 0
    or 1, as a hit, have no such box: they are a bar up to the proportion of 1, and the caption says so.

    Parameters
    ----------
    scores : DataFrame
        A scores frame; undefined scores are left out and counted in the caption.
    by : str or sequence of str, optional
        Grouping columns; by default those of metric, method and task that are present. Metrics are panels;
        what is not metric or method makes the rows, or else methods do.
    reference : str, optional
        The method drawn in black and first; by default `human` where it is a method.
    labels : Mapping, optional
        Labels and order: `{"gradcam": "Grad-CAM"}`, `{"task": ["Edema", "Atelectasis"]}`.
    n_columns : int, optional
        Panels side by side; by default two, which fit a journal's column, or all three.
    width : float, optional
        Width of the figure in mm; by default 183 with panels side by side, else 89.

    Returns
    -------
    Figure
        Sized for a page, or for a column with one panel.

    Raises
    ------
    ColumnError
        Not a scores frame; a grouping column is missing or has empty cells.
    SalstatsError
        Every score is undefined; `reference` is not a method; two values of a column are given the same
        label.

    Notes
    -----
    Quartiles are R's type 7, as in `describe` and in ggplot2.

    Examples
    --------
    >>> import salstats as ss
    >>> figure = ss.plot_box(ss.datasets.load_simulated(), by=["metric", "method"])
    >>> type(figure).__name__
    'Figure'
    """
    boxes, outside = box_values(scores, by)
    names = Labels(labels, scores)
    if reference is not None:
        check_choice(reference, [str(m) for m in scores["method"].unique()], "reference")
    groups = list(boxes.columns[: boxes.columns.get_loc("n")])
    drawn = boxes[boxes["n"] > 0].reset_index(drop=True)
    if drawn.empty:
        raise SalstatsError(f"scores has nothing to draw: all of its {len(scores)} scores are undefined")
    references = [reference or HUMAN]
    marks = method_labels(names, drawn["method"], references) if "method" in groups else {"": ""}
    others = [c for c in groups if c not in ("metric", "method")]
    # without tasks methods have rows of their own, and nothing has to tell them apart
    legend = list(marks.values()) if len(marks) > 1 and others else []
    texts = {c: short_labels(names, c, drawn[c]) for c in others}
    row = crossed(drawn, texts or ({"method": marks} if "method" in groups else {}))
    metrics = {c: names.texts(c, drawn[c]) for c in ("metric",) if c in groups}
    rows = row_layout(list(row.categories), list(row.categories), max(len(legend), 1))
    own = drawn["method"].map(marks) if "method" in groups else [""] * len(drawn)
    drawn["mark"] = pd.Categorical(own, list(marks.values()), ordered=True)
    drawn["panel"] = crossed(drawn, metrics)
    drawn["bar"] = _binary_metrics(drawn, drawn["panel"])
    drawn["y"] = rows.centres_of(row) + (
        dodge_offsets(drawn["mark"].cat.codes, len(legend)) if legend else 0.0
    )
    places = drawn.loc[~drawn["bar"], [*groups, "panel", "y", "mark"]]
    points = outside.merge(places, on=groups) if groups else outside.merge(places, how="cross")
    # at the axis, in a row, or in the legend
    said = [c for c in groups if c != "method" or legend or not others]
    notes = [
        scope_note(scores, names, [c for c in ("metric", "method", "task") if c not in said]),
        _meaning(drawn, len(points) > 0),
        _proportions(drawn, names),
        f"In each row from the top: {joined(legend)}." if legend else "",
        _counts(boxes),
        groups_without_note(boxes[boxes["n"] == 0], groups, "a defined score", names),
        caution_note(boxes),
    ]
    panels, title, n_columns = panel_titles(drawn["panel"], n_columns)
    grid = row_panels(rows, panels, n_columns, width)
    figure = (
        p9.ggplot()
        + rows.layers()
        + _layers(drawn, points, _SHARED_MM if legend else _ALONE_MM)
        + grid.look(title, notes, legend)
        + group_scales(marks, references, ("color", "fill"), grid.width, labels=names)
        + p9.theme(legend_key_size=8)
    )
    return grid.pages(figure)


def _binary_metrics(boxes: pd.DataFrame, metrics: pd.Series) -> np.ndarray:
    """Which boxes are of a metric whose scores are all 0 or 1, and both somewhere."""
    groups = boxes.groupby(metrics.to_numpy(), sort=False)
    both = (
        groups["binary"].transform("all")
        & groups["n_zero"].transform("any")
        & groups["n_one"].transform("any")
    )
    return both.to_numpy(dtype=bool)


def _layers(drawn: pd.DataFrame, points: pd.DataFrame, half: float) -> list[Any]:
    """Whiskers, boxes and bars, medians, the scores beyond, and means."""
    bodies = drawn.assign(
        low=np.where(drawn["bar"], 0.0, drawn["q1"]),
        high=np.where(drawn["bar"], drawn["mean"], drawn["q3"]),
        ymin=drawn["y"] - half,
        ymax=drawn["y"] + half,
    )
    boxes, shares = bodies[~bodies["bar"]], bodies[bodies["bar"]].assign(whole=1.0)
    ends = {"color": "mark", "y": "y", "yend": "y"}
    edges = p9.aes(xmin="low", xmax="high", ymin="ymin", ymax="ymax", color="mark", fill="mark")
    line: dict[str, Any] = {"data": boxes, "size": 0.4, "show_legend": False}
    dots: dict[str, Any] = {"size": 0.7, "stroke": 0, "raster": len(points) > RASTER_POINTS}
    middle = {"x": "median", "xend": "median", "y": "ymin", "yend": "ymax"}
    # white on the edge of a box would hide it
    inside = boxes["median"].between(boxes["q1"], boxes["q3"], inclusive="neither")
    mean = {"shape": "D", "fill": "white", "size": 1.1, "stroke": 0.4, "show_legend": False}
    return [
        p9.geom_segment(p9.aes(x="whisker_low", xend="q1", **ends), **line),
        p9.geom_segment(p9.aes(x="q3", xend="whisker_high", **ends), **line),
        # lighter fills of eight methods would look alike
        p9.geom_rect(edges, bodies, size=0.4),
        p9.geom_segment(p9.aes(**middle, color="mark"), **line | {"size": 0.9}),
        p9.geom_segment(p9.aes(**middle), **line | {"data": boxes[inside], "size": 0.9, "color": "white"}),
        p9.geom_point(p9.aes(x="score", y="y", color="mark"), points, show_legend=False, **dots),
        p9.geom_point(p9.aes(x="mean", y="y", color="mark"), bodies, **mean),
        # the axis of a share reaches to all
        *([p9.geom_blank(p9.aes("whole", "y"), shares)] if len(shares) else []),
    ]


def _meaning(drawn: pd.DataFrame, outside: bool) -> str:
    """What the marks of a box are."""
    if drawn["bar"].all():
        return ""
    dots = "; dots: scores beyond" if outside else ""
    return (
        "Boxes: quartiles and median; whiskers: furthest score within 1.5 interquartile ranges"
        f"{dots}; diamonds: means."
    )


def _proportions(drawn: pd.DataFrame, names: Labels) -> str:
    """That the scores of a metric are 0 or 1, and what stands for them."""
    if not drawn["bar"].any():
        return ""
    metrics = drawn.loc[drawn["bar"], "metric"].unique() if "metric" in drawn.columns else []
    whose = joined([names.value("metric", m) for m in metrics])
    return f"{f'{whose}: scores' if whose else 'Scores'} are 0 or 1, so bars and diamonds are the share of 1."


def _counts(boxes: pd.DataFrame) -> str:
    """How many scores a box stands for, and how many are left out."""
    n, missing = boxes.loc[boxes["n"] > 0, "n"], int(missing_scores(boxes).sum())
    left_out = f"; {count_text(missing)} undefined left out" if missing else ""
    return f"n = {counted_range(n, 'score')}{' each' if len(n) > 1 else ''}{left_out}."
