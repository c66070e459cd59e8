"""Box plots of scores: a row per task, a box per method, a panel per metric."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_choice, check_count
from salstats.display.plots.distributions import crossed_labels, keys_of, look, stripes, without
from salstats.display.plots.figure_rows import Rows, dodged, row_layout
from salstats.display.plots.legends import legend_columns, method_labels
from salstats.display.plots.points import RASTER_POINTS
from salstats.display.plots.text_fit import caption
from salstats.display.plots.theme import category_colours
from salstats.display.text.format import count_text, counted_range, joined
from salstats.display.text.labels import Labels
from salstats.stats.carried import missing_scores
from salstats.stats.descriptions import box_values
from salstats.study import HUMAN

#: Half the height of a box that shares its row, and of one that has it for itself.
_SHARED_MM, _ALONE_MM = 0.8, 1.3
#: Points of one box closer than this part of the axis are drawn once: at 183 mm about a printer's dot.
_NEAR = 1 / 500


def plot_box(
    scores: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    reference: str | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
) -> p9.ggplot:
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
        Panels side by side; by default two, which fit a journal's column.

    Returns
    -------
    ggplot
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
    'ggplot'
    """
    if n_columns is not None:
        check_count(n_columns, "n_columns")
    boxes, outside = box_values(scores, by)
    names = Labels(labels, scores)
    if reference is not None:
        check_choice(reference, [str(m) for m in scores["method"].unique()], "reference")
    groups = list(boxes.columns[: boxes.columns.get_loc("n")])
    drawn = boxes[boxes["n"] > 0].reset_index(drop=True)
    if drawn.empty:
        raise SalstatsError(f"scores has nothing to draw: all of its {len(scores)} scores are undefined")
    references = [reference or HUMAN]
    marks = method_labels(names, drawn["method"], references) if "method" in groups else {}
    others = [c for c in groups if c not in ("metric", "method")]
    # without tasks methods have rows of their own, and nothing has to tell them apart
    shared = list(marks) if len(marks) > 1 and others else []
    drawn, rows = _placed(drawn, names, others or [c for c in ("method",) if marks], shared, references)
    drawn["mark"] = drawn["method"].map(marks) if marks else ""
    points = _points(outside, drawn, groups)
    note = caption(
        [
            _meaning(drawn, len(points) > 0),
            _proportions(drawn, names),
            f"In each row from the top: {joined([marks[m] for m in shared])}." if shared else "",
            _counts(boxes),
            without(boxes[boxes["n"] == 0], groups, "a defined score", names),
        ]
    )
    legend = [marks[m] for m in shared]
    return (
        p9.ggplot()
        + stripes(rows)
        + _layers(drawn, points, _SHARED_MM if shared else _ALONE_MM)
        + _colours(marks, references, bool(shared))
        + look(rows, list(drawn["panel"].cat.categories), n_columns, legend, note)
    )


def _placed(
    boxes: pd.DataFrame, names: Labels, row_columns: list[str], shared: list[Any], references: list[str]
) -> tuple[pd.DataFrame, Rows]:
    """Boxes with their panel, height in it and whether they are bars; and the rows."""
    panel_columns = [c for c in ("metric",) if c in boxes.columns]
    titles, texts = (crossed_labels(boxes, columns, names) for columns in (panel_columns, row_columns))
    if row_columns == ["method"]:
        texts = dict(sorted(texts.items(), key=lambda row: row[0][0] not in references))
    rows = row_layout(list(texts), list(texts.values()), max(len(shared), 1))
    y = rows.of(keys_of(boxes, row_columns))
    if shared:
        y = y + dodged([shared.index(m) for m in boxes["method"]], len(shared))
    panel = pd.Categorical(
        [titles[key] for key in keys_of(boxes, panel_columns)], list(titles.values()), ordered=True
    )
    binary = _binary_metrics(boxes, keys_of(boxes, panel_columns))
    return boxes.assign(panel=panel, y=y, bar=binary), rows


def _binary_metrics(boxes: pd.DataFrame, metrics: pd.Series) -> np.ndarray:
    """Which boxes are of a metric whose scores are all 0 or 1, and both somewhere."""
    groups = boxes.groupby(metrics.to_numpy(), sort=False)
    both = (
        groups["binary"].transform("all")
        & groups["n_zero"].transform("any")
        & groups["n_one"].transform("any")
    )
    return both.to_numpy(dtype=bool)


def _points(outside: pd.DataFrame, drawn: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    """Scores beyond the whiskers, those that would lie on one another once."""
    places = drawn.loc[~drawn["bar"], [*groups, "panel", "y", "mark"]]
    points = outside.merge(places, on=groups) if groups else outside.merge(places, how="cross")
    spans = drawn.groupby("panel", observed=True).agg(low=("min", "min"), high=("max", "max"))
    span = points["panel"].astype(str).map((spans["high"] - spans["low"]).rename(str)).to_numpy(dtype=float)
    near = np.round(points["score"].to_numpy() / np.where(span > 0, span * _NEAR, 1.0))
    return points[~points.assign(near=near).duplicated(["panel", "y", "near"])].reset_index(drop=True)


def _layers(drawn: pd.DataFrame, points: pd.DataFrame, half: float) -> list[Any]:
    """Whiskers, boxes and bars, medians, the scores beyond, and means."""
    edges = {"ymin": drawn["y"] - half, "ymax": drawn["y"] + half}
    bodies = drawn.assign(
        **edges,
        low=np.where(drawn["bar"], 0.0, drawn["q1"]),
        high=np.where(drawn["bar"], drawn["mean"], drawn["q3"]),
    )
    boxes = bodies[~bodies["bar"]]
    whisker = {"y": "y", "yend": "y", "color": "mark"}
    return [
        p9.geom_segment(
            p9.aes(x="whisker_low", xend="q1", **whisker), data=boxes, size=0.4, show_legend=False
        ),
        p9.geom_segment(
            p9.aes(x="q3", xend="whisker_high", **whisker), data=boxes, size=0.4, show_legend=False
        ),
        p9.geom_rect(
            p9.aes(xmin="low", xmax="high", ymin="ymin", ymax="ymax", color="mark", fill="mark"),
            data=bodies,
            size=0.4,
            alpha=0.3,
        ),
        p9.geom_segment(
            p9.aes(x="median", xend="median", y="ymin", yend="ymax", color="mark"),
            data=boxes,
            size=0.9,
            show_legend=False,
        ),
        p9.geom_point(
            p9.aes(x="score", y="y", color="mark"),
            data=points,
            size=0.7,
            stroke=0,
            raster=len(points) > RASTER_POINTS,
            show_legend=False,
        ),
        p9.geom_point(
            p9.aes(x="mean", y="y", color="mark"),
            data=bodies,
            shape="D",
            fill="white",
            size=1.1,
            stroke=0.4,
            show_legend=False,
        ),
    ]


def _colours(marks: dict[Any, str], references: list[str], shared: bool) -> list[Any]:
    """Scales of line and fill, with a legend where methods share rows."""
    known = [str(m) for m in marks]
    colours = category_colours(known or [""], references)
    limits = list(marks.values()) or [""]
    values = list(colours.values())
    columns = legend_columns(limits)
    # a guide of its own for each: one object for both would lose the first
    line, fill = (p9.guide_legend(ncol=columns, byrow=True) if shared else "none" for _ in range(2))
    return [
        p9.scale_color_manual(values, limits=limits, name=""),
        p9.scale_fill_manual(values, limits=limits, name=""),
        p9.guides(color=line, fill=fill),
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
