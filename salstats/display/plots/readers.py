"""Each reader's figure with each method, connected, and below them the mean over readers with its limits."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.estimates import Estimates, check_distinct, read_estimates
from salstats.display.facts import interval_caption, not_drawn_sentence
from salstats.display.plots.layout.axis_ticks import number_axes
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.drawing import drawn_rows, further_column
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import crossed, label_chars, short_labels, text_mm
from salstats.display.plots.layout.theme import COLUMN_MM, GUIDE, LINE_MM, MUTED, PAGE_MM, REFERENCE
from salstats.display.text.labels import Labels

#: Height of a method's row at least and room beside its name in mm; how far a mean stands below its readers,
#: in rows.
_ROW_MM, _TICK_MM, _BESIDE = 8.0, 3.0, 0.25
#: Characters of a line of a method's name.
_NAME_CHARS = 32


@figures
def plot_readers(
    readers: pd.DataFrame,
    *,
    means: pd.DataFrame | None = None,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Figure of readers: a line for each from method to method, and their mean with its limits below them.

    Parameters
    ----------
    readers : DataFrame
        What `mrmc_readers` returns. `metric` and one further grouping column make panels.
    means : DataFrame, optional
        What `mrmc` returns for the same scores: its rows "mean" are drawn.
    labels : Mapping, optional
        Labels and order of metrics, methods and the further column's values.
    n_columns : int, optional
        Panels side by side; by default one where there are several metrics.
    width : float, optional
        Width of the figure in mm; by default 89 for up to four panels, else 183.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` are the readers' figures, with `panel` and `place`, of the
        method from the top.

    Raises
    ------
    ColumnError
        A column is missing, or holds text where numbers belong.
    SalstatsError
        Two figures of one reader; several further grouping columns; nothing but missing figures.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> scores = pd.DataFrame({"case": list("aabbcc"), "reader": ["ann", "bob"] * 3, "method": "cam",
    ...     "metric": "iou", "score": [0.2, 0.3, 0.5, 0.4, 0.6, 0.8]})
    >>> figure = ss.plot_readers(ss.mrmc_readers(scores))
    >>> figure.labels.x
    'Mean IoU'
    """
    needed, source = ("estimate", "method", "reader"), "mrmc_readers() makes the frame"
    figures_of_readers = read_estimates(readers, "readers", needed, source)
    names = Labels(labels, figures_of_readers.frame)
    check_distinct(figures_of_readers, figures_of_readers.keys)
    others = [c for c in figures_of_readers.keys if c not in ("metric", "method", "reader")]
    facet = further_column(figures_of_readers, others, "metric")
    rows = drawn_rows(figures_of_readers)
    order = names.order("method", rows["method"])
    titles = {facet: names.texts(facet, rows[facet])} if facet else {}
    metrics = figures_of_readers.values("metric")
    if len(metrics) > 1:
        titles["metric"] = names.texts("metric", rows["metric"])
    rows = _placed(rows, titles, order)
    panels = list(rows["panel"].cat.categories)
    width = width or (COLUMN_MM if len(panels) <= 4 else PAGE_MM)
    written = list(short_labels(names, "method", order, label_chars(width, _NAME_CHARS), 3).values())
    left = max(map(text_mm, written)) + _TICK_MM
    # metrics have scales of their own, and names of methods stand beside each panel
    one_below_another = 1 if n_columns is None and len(metrics) > 1 else n_columns
    grid = panel_grid(panels, one_below_another, width, left=left, free=len(metrics) > 1)
    lines = max(text.count("\n") + 1 for text in written)
    height = max(_ROW_MM, lines * LINE_MM + 1) * len(order)
    mean_layers, mean_notes = [], []
    if means is not None:
        drawn_means = _means(means, rows, titles, order)
        mean_layers = _bars(drawn_means.frame)
        mean_notes = ["Black: mean over readers.", interval_caption(drawn_means)]
    x, _ = number_axes(grid.panel_width, height)
    figure = (
        p9.ggplot(rows, p9.aes("estimate", "place"))
        + p9.geom_path(p9.aes(group="reader"), color=GUIDE, size=0.4)
        + p9.geom_point(color=MUTED, size=1.1)
        + mean_layers
        + p9.scale_y_continuous(
            breaks=[-i for i in range(len(order))],
            labels=written,
            minor_breaks=[],
            limits=(-len(order) + 0.5 - _BESIDE, 0.4),
            expand=(0, 0),
        )
        + x
        + grid.look(
            height,
            x=_value_title(figures_of_readers, names),
            notes=[
                scope_note(rows, names, ("metric", "task") if _of_areas(figures_of_readers) else ["task"]),
                "Grey: each reader.",
                *mean_notes,
                not_drawn_sentence(figures_of_readers, names, figures_of_readers.keys),
            ],
        )
        + p9.theme(axis_text_y=p9.element_text(ha="right", ma="right"))
    )
    return grid.pages(figure, height)


def _placed(rows: pd.DataFrame, titles: Mapping[str, Mapping[Any, str]], methods: list[Any]) -> pd.DataFrame:
    """Rows with their panel and the place of their method."""
    places = {method: -float(i) for i, method in enumerate(methods)}
    placed = rows.assign(panel=crossed(rows, titles), place=rows["method"].map(places).astype(float))
    return placed.sort_values("place", ascending=False, kind="stable", ignore_index=True)


def _means(
    means: pd.DataFrame, rows: pd.DataFrame, titles: Mapping[str, Mapping[Any, str]], methods: list[Any]
) -> Estimates:
    """Return the means of the methods and panels that are drawn, a little below their readers."""
    estimates = read_estimates(means, "means", ("estimate", "method", "term", *titles))
    frame = estimates.frame
    frame = frame[frame["term"].eq("mean") & frame["method"].isin(methods)].reset_index(drop=True)
    for column, texts in titles.items():
        frame = frame[frame[column].isin(list(texts))].reset_index(drop=True)
    placed = _placed(frame, titles, methods)
    panels = pd.Categorical(placed["panel"].astype(str), rows["panel"].cat.categories, ordered=True)
    return estimates.with_frame(placed.assign(panel=panels, place=placed["place"] - _BESIDE))


def _bars(means: pd.DataFrame) -> list[Any]:
    """Return the marks of means, and bars of those that have limits."""
    limited = means[np.isfinite(means["conf_low"]) & np.isfinite(means["conf_high"])]
    return [
        p9.geom_segment(
            p9.aes("conf_low", "place", xend="conf_high", yend="place"), limited, color=REFERENCE, size=0.5
        ),
        p9.geom_point(data=means, color=REFERENCE, size=1.8),
    ]


def _of_areas(readers: Estimates) -> bool:
    """Return whether readers' figures are areas under curves of their scores."""
    return readers.single("figure") == "auc"


def _value_title(readers: Estimates, names: Labels) -> str:
    """Return the title of the horizontal axis."""
    if _of_areas(readers):
        return "Area under the ROC curve"
    metric = readers.single("metric")
    return "Mean score" if metric is None else f"Mean {names.value('metric', metric)}"
