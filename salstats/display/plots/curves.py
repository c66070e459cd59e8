"""Mean insertion and deletion curves: a line with its band per method, a panel per metric."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotnine as p9

from salstats.checks import check_frame, check_numeric
from salstats.display.estimates import Estimates, check_distinct, read_estimates
from salstats.display.facts import interval_caption, not_drawn_sentence
from salstats.display.plots.layout.axis_ticks import number_axes
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.drawing import barred_rows, drawn_rows, further_column
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.legends import group_scales, method_labels
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import crossed
from salstats.display.plots.layout.theme import PAGE_MM
from salstats.display.text.format import count_range, joined
from salstats.display.text.labels import Labels
from salstats.metrics.registry import direction
from salstats.stats.summaries import mean_curves
from salstats.study import HUMAN

#: Height of a panel over its width.
_SHARE = 0.75
#: What the horizontal axis counts, by metric.
_DONE = {"insertion": "inserted", "deletion": "deleted"}
#: Lines whose bands can be told apart.
_MOST_BANDS = 4


@figures
def plot_curves(
    curves: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    bands: bool | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Figure of mean insertion and deletion curves: a line per method, a panel per metric.

    Parameters
    ----------
    curves : DataFrame
        What `mean_curves` returns, or curves themselves as from `explain.insertion`, of which the means
        are taken with its defaults. Columns `metric` and `method` make panels and lines; one further
        grouping column (`task`, `model`, `dataset`, ...) with several values makes a row of panels for each.
    labels : Mapping, optional
        Labels and order of metrics, methods and the further column's values; `{"prob": ...}` names the
        vertical axis.
    bands : bool, optional
        Whether to draw the intervals as bands; by default for up to four methods.
    n_columns : int, optional
        Panels side by side; by default one for each metric.
    width : float, optional
        Width of the figure in mm; by default 89 for one or two panels, else 183.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` has columns `panel` and `method_label`.

    Raises
    ------
    ColumnError
        A column is missing, or holds text where numbers belong.
    SalstatsError
        Two estimates of one point; several further grouping columns; nothing but missing estimates.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> from salstats.display.plots.curves import plot_curves
    >>> means = pd.DataFrame({"metric": "insertion", "method": ["gradcam"] * 3 + ["ig"] * 3,
    ...     "fraction": [0.0, 0.5, 1.0] * 2, "estimate": [0.1, 0.7, 0.9, 0.1, 0.5, 0.9]})
    >>> figure = plot_curves(means)
    >>> figure.labels.x
    'Fraction of pixels inserted'
    """
    points, names = _checked(curves), Labels(labels, curves)
    columns = list(points.frame.columns)
    before = columns[: columns.index("fraction")]
    check_distinct(points, [*before, "fraction"])
    others = [c for c in before if c not in ("metric", "method")]
    facet = further_column(points, others, "metric and method")
    rows = drawn_rows(points)
    methods = method_labels(names, points.values("method") or [""])
    rows = _in_panels(rows, names, facet, methods)
    keys = list(rows["panel"].cat.categories)
    if width is None and len(keys) > 2:
        width = PAGE_MM
    n_metrics = rows["metric"].nunique()
    if n_columns is None and facet and n_metrics > 1:
        n_columns = n_metrics
    grid = panel_grid(keys, n_columns, width)
    with_bands = len(methods) <= _MOST_BANDS if bands is None else bands
    with_bands = with_bands and bool(points.limited.any())
    height = grid.panel_height(_SHARE)
    legend = list(methods.values()) if len(methods) > 1 else []
    unsaid = [*([] if legend else ["method"]), *([] if facet == "task" else ["task"])]
    limits = p9.aes(ymin="conf_low", ymax="conf_high", fill="method_label")
    aesthetics = ("color", "linetype", "fill")[: 2 + with_bands]
    banded = barred_rows(rows)
    band = p9.geom_ribbon(limits, banded, alpha=0.2, color="none", show_legend=False)
    figure = (
        p9.ggplot(rows, p9.aes("fraction", "estimate", color="method_label"))
        + ([band] if with_bands else [])
        + p9.geom_line(p9.aes(linetype="method_label"), size=0.6)
        # probabilities start at zero
        + p9.expand_limits(y=0)
        + number_axes(grid.panel_width, height)
        + grid.look(
            height,
            x=_axis_title(rows, names),
            y=_value_title(names),
            notes=[
                scope_note(rows, names, unsaid),
                *_notes(points, with_bands),
                not_drawn_sentence(points, names, before),
            ],
            legend=legend,
        )
        + group_scales(methods, [HUMAN], aesthetics, grid.width, labels=names)
        + ([] if legend else p9.theme(legend_position="none"))
    )
    return grid.pages(figure, height)


def _checked(curves: object) -> Estimates:
    """Return the means of curves, a row for each group and fraction."""
    frame = check_frame(curves, "curves")
    if "estimate" not in frame.columns and "prob" in frame.columns:
        frame = mean_curves(frame)
    points = read_estimates(frame, "curves", ("estimate", "metric", "fraction"))
    points.frame["fraction"] = check_numeric(points.frame, "fraction", "curves")
    return points


def _in_panels(
    rows: pd.DataFrame, names: Labels, facet: str | None, methods: Mapping[Any, str]
) -> pd.DataFrame:
    """Rows with their panel and the label of their line."""
    metrics = {m: text.removesuffix(" AUC") for m, text in names.texts("metric", rows["metric"]).items()}
    titles = {facet: names.texts(facet, rows[facet])} if facet else {}
    if len(metrics) > 1 or not facet:
        titles["metric"] = metrics
    given = rows["method"] if "method" in rows.columns else pd.Series("", index=rows.index)
    result = rows.assign(
        panel=crossed(rows, titles),
        method_label=pd.Categorical(given.map(methods), list(methods.values()), ordered=True),
    )
    return result.sort_values(["panel", "method_label", "fraction"], ignore_index=True)


def _axis_title(rows: pd.DataFrame, names: Labels) -> str:
    """Title of the horizontal axis."""
    given = names.column("fraction")
    if given != Labels().column("fraction"):
        return given
    done = [_DONE.get(str(m), str(m)) for m in names.order("metric", rows["metric"])]
    return f"Fraction of pixels {' or '.join(done)}"


def _value_title(names: Labels) -> str:
    """Title of the vertical axis."""
    given = names.column("prob")
    return given if given != Labels().column("prob") else "Mean probability"


def _notes(points: Estimates, bands: bool) -> list[str]:
    """Say which curve is better, what bands are, how many cases there are and what the baseline is."""
    better = {1: "higher", -1: "lower"}
    metrics = [(str(m), better[direction(m)]) for m in points.values("metric") if direction(m)]
    said = "; ".join(f"{metric}: {side} is better" for metric, side in metrics)
    return [
        f"{said[:1].upper()}{said[1:]}." if said else "",
        interval_caption(points, mark="Bands at each step") if bands else "",
        f"n = {count_range(points.numbers('n'))}." if points.values("n") else "",
        _baseline_note(points),
    ]


def _baseline_note(points: Estimates) -> str:
    """Say what stood where a pixel was not shown."""
    baselines = points.values("baseline")
    if len(baselines) < 2:
        return f"Baseline: {baselines[0]}." if baselines else ""
    of = points.frame.groupby("metric", observed=True, sort=False)["baseline"].unique()
    return f"Baseline: {', '.join(f'{joined(list(of[m]))} for {m}' for m in of.index)}."
