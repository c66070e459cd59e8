"""Mean insertion and deletion curves: a line with its band per method, a panel per metric."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotnine as p9

from salstats.checks import check_columns, check_frame, check_numeric
from salstats.display.plots.axis_ticks import number_axes
from salstats.display.plots.captions import distinct, has_limits, interval_note, scope_note
from salstats.display.plots.estimates import check_distinct, check_estimates, drawable, further_column
from salstats.display.plots.figure import figures
from salstats.display.plots.legends import group_scales, method_labels
from salstats.display.plots.panel_grid import panel_grid
from salstats.display.plots.text_fit import crossed
from salstats.display.plots.theme import PAGE_MM
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
    frame, names = _checked(curves), Labels(labels, curves)
    before = list(frame.columns[: frame.columns.get_loc("fraction")])
    check_distinct(frame, [*before, "fraction"], "curves")
    rows, missing = drawable(frame, names, before, "curves")
    others = [c for c in before if c not in ("metric", "method")]
    facet = further_column(rows, others, "metric and method", "curves")
    methods = method_labels(names, rows["method"] if "method" in rows.columns else [""])
    rows = _in_panels(rows, names, facet, methods)
    keys = list(rows["panel"].cat.categories)
    if width is None and len(keys) > 2:
        width = PAGE_MM
    n_metrics = rows["metric"].nunique()
    if n_columns is None and facet and n_metrics > 1:
        n_columns = n_metrics
    grid = panel_grid(keys, n_columns, width)
    with_bands = len(methods) <= _MOST_BANDS if bands is None else bands
    with_bands = with_bands and bool(has_limits(rows).any())
    height = grid.panel_height(_SHARE)
    legend = list(methods.values()) if len(methods) > 1 else []
    unsaid = [*([] if legend else ["method"]), *([] if facet == "task" else ["task"])]
    limits = p9.aes(ymin="conf_low", ymax="conf_high", fill="method_label")
    aesthetics = ("color", "linetype", "fill")[: 2 + with_bands]
    band = p9.geom_ribbon(limits, rows[has_limits(rows)], alpha=0.2, color="none", show_legend=False)
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
            notes=[scope_note(rows, names, unsaid), *_notes(rows, missing, with_bands)],
            legend=legend,
        )
        + group_scales(methods, [HUMAN], aesthetics, grid.width, labels=names)
        + ([] if legend else p9.theme(legend_position="none"))
    )
    return grid.pages(figure, height)


def _checked(curves: object) -> pd.DataFrame:
    """Means of curves, a row for each group and fraction."""
    frame = check_frame(curves, "curves")
    if "estimate" not in frame.columns and "prob" in frame.columns:
        frame = mean_curves(frame)
    frame = check_estimates(frame, "curves")
    check_columns(frame, ["metric", "fraction"], "curves")
    frame["fraction"] = check_numeric(frame, "fraction", "curves")
    return frame


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


def _notes(rows: pd.DataFrame, missing: str, bands: bool) -> list[str]:
    """Sentences under the figure."""
    better = {1: "higher", -1: "lower"}
    metrics = [(str(m), better[direction(m)]) for m in distinct(rows, "metric") if direction(m)]
    said = "; ".join(f"{metric}: {side} is better" for metric, side in metrics)
    counted = f"n = {count_range(rows['n'])}." if "n" in rows.columns else ""
    return [
        f"{said[:1].upper()}{said[1:]}." if said else "",
        interval_note(rows).replace("Bars", "Bands at each step", 1) if bands else "",
        counted,
        _baseline_note(rows),
        missing,
    ]


def _baseline_note(rows: pd.DataFrame) -> str:
    """Sentence that says what stood where a pixel was not shown."""
    baselines = distinct(rows, "baseline")
    if len(baselines) < 2:
        return f"Baseline: {baselines[0]}." if baselines else ""
    of = rows.groupby("metric", observed=True, sort=False)["baseline"].unique()
    return f"Baseline: {', '.join(f'{joined(list(of[m]))} for {m}' for m in of.index)}."
