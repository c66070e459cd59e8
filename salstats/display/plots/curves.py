"""Mean insertion and deletion curves: a line and a band for each method, a panel for each metric."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotnine as p9

from salstats.checks import check_frame, check_numeric
from salstats.display.estimates import Estimates, check_rows_are_distinct, read_estimates
from salstats.display.facts import interval_caption, not_drawn_sentence
from salstats.display.plots.layout.axis_ticks import number_axes
from salstats.display.plots.layout.captions import scope_note
from salstats.display.plots.layout.curve_panels import lines_with_bands
from salstats.display.plots.layout.estimate_drawing import only_varying_column, rows_with_estimate
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.legends import method_labels_references_first
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import crossed_labels
from salstats.display.plots.layout.theme import PAGE_MM
from salstats.display.text.format import capitalized, count_range_text, joined
from salstats.display.text.labels import Labels
from salstats.metrics.registry import direction
from salstats.stats.summaries import mean_curves
from salstats.study import HUMAN

#: Height of a panel as a multiple of its width.
_HEIGHT_TO_WIDTH = 0.75
#: Operation on pixels that the horizontal axis counts, by metric.
_OPERATIONS = {"insertion": "inserted", "deletion": "deleted"}
#: Most lines whose bands can be told apart.
_MAX_BANDS = 4


@keep_call_in_figure
def plot_curves(
    curves: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    bands: bool | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw mean insertion and deletion curves: a line per method, a panel per metric.

    Parameters
    ----------
    curves : DataFrame
        What `mean_curves` returns, or single curves as from `explain.insertion`, which `mean_curves` then
        averages with its defaults. Columns `metric` and `method` make panels and lines; one further
        grouping column (`task`, `model`, `dataset`, ...) with several values makes a row of panels for each.
    labels : Mapping, optional
        Labels and order of metrics, methods and the further column's values; `{"prob": ...}` names the
        vertical axis.
    bands : bool, optional
        Whether to draw the intervals as bands; by default for up to four methods.
    n_columns : int, optional
        Panels side by side; by default one for each metric, or as many as fit where there is one metric.
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
    points = _read_or_compute_mean_curves(curves)
    frame_labels = Labels(labels, curves)
    columns = list(points.frame.columns)
    # `mean_curves` puts the grouping columns before the fraction
    groups = columns[: columns.index("fraction")]
    check_rows_are_distinct(points, [*groups, "fraction"])
    further_groups = [column for column in groups if column not in ("metric", "method")]
    facet_column = only_varying_column(points, further_groups, used_columns_text="metric and method")
    methods = method_labels_references_first(frame_labels, points.distinct_values("method") or [""], [HUMAN])
    rows = _rows_with_panels(points, frame_labels, facet_column, methods)
    panels = list(rows["panel"].cat.categories)
    if width is None and len(panels) > 2:
        width = PAGE_MM
    n_metrics = rows["metric"].nunique()
    if n_columns is None and facet_column and n_metrics > 1:
        n_columns = n_metrics
    grid = panel_grid(panels, n_columns, width)
    if bands is None:
        bands = len(methods) <= _MAX_BANDS
    lines = lines_with_bands(rows, methods, frame_labels, grid.width, has_bands=bands)
    height = grid.panel_height(_HEIGHT_TO_WIDTH)
    unnamed_columns = []
    if len(methods) == 1:
        unnamed_columns.append("method")
    if facet_column != "task":
        unnamed_columns.append("task")
    figure = (
        Figure(rows, p9.aes("fraction", "estimate", color="method_label"))
        + lines.layers
        # the axis of probabilities includes zero
        + p9.expand_limits(y=0)
        + number_axes(grid.panel_width, height)
        + grid.elements(
            height,
            x=_x_title(rows, frame_labels),
            y=_mean_probability_title(frame_labels),
            notes=[
                scope_note(rows, frame_labels, unnamed_columns),
                *_caption_sentences(points, frame_labels, has_bands=lines.has_bands),
                not_drawn_sentence(points, frame_labels, groups),
            ],
            legend=lines.legend,
        )
        + lines.scales
    )
    return grid.divided_into_pages(figure, height)


def _read_or_compute_mean_curves(curves: object) -> Estimates:
    """Return the means of curves, a row for each group and fraction; single curves are averaged first."""
    frame = check_frame(curves, "curves")
    if "estimate" not in frame.columns and "prob" in frame.columns:
        frame = mean_curves(frame)
    points = read_estimates(frame, "curves", ("estimate", "metric", "fraction"))
    points.frame["fraction"] = check_numeric(points.frame, "fraction", "curves")
    return points


def _rows_with_panels(
    points: Estimates, labels: Labels, facet_column: str | None, methods: Mapping[Any, str]
) -> pd.DataFrame:
    """Return the drawn rows with their `panel` and the `method_label` of their line, in the order of both.

    The rows of a line are in the order of the fraction. `facet_column` is the further column of the panels,
    and `methods` has the text of each method in the legend.
    """
    rows = rows_with_estimate(points)
    metrics = labels.label_by_value("metric", rows["metric"])
    title_texts = {}
    if facet_column:
        title_texts[facet_column] = labels.label_by_value(facet_column, rows[facet_column])
    if len(metrics) > 1 or not facet_column:
        # these are curves, not the areas under them
        curve_names = {metric: label.removesuffix(" AUC") for metric, label in metrics.items()}
        title_texts["metric"] = curve_names
    method = pd.Series("", index=rows.index)
    if points.distinct_values("method"):
        method = rows["method"]
    method_label = pd.Categorical(method.map(methods), list(methods.values()), ordered=True)
    rows = rows.assign(panel=crossed_labels(rows, title_texts), method_label=method_label)
    return rows.sort_values(["panel", "method_label", "fraction"], ignore_index=True)


def _x_title(rows: pd.DataFrame, labels: Labels) -> str:
    """Return the title of the horizontal axis: the user's label, else the operation of each metric."""
    user_label = labels.user_column_label("fraction")
    if user_label is not None:
        return user_label
    operations = [
        _OPERATIONS.get(str(metric), str(metric)) for metric in labels.order("metric", rows["metric"])
    ]
    return f"Fraction of pixels {' or '.join(operations)}"


def _mean_probability_title(labels: Labels) -> str:
    """Return the title of the vertical axis: the user's label, else "Mean probability"."""
    user_label = labels.user_column_label("prob")
    return "Mean probability" if user_label is None else user_label


def _caption_sentences(points: Estimates, labels: Labels, *, has_bands: bool) -> list[str]:
    """Return the sentences of the caption on better curves, bands, the number of cases and the baseline."""
    name_by_metric = _name_in_sentence_by_metric(points, labels)
    notes = [_direction_note(name_by_metric)]
    if has_bands:
        notes.append(interval_caption(points, mark="Bands at each step"))
    if points.distinct_values("n"):
        notes.append(f"n = {count_range_text(points.numbers('n'))}.")
    return [*notes, _pixel_replacement_note(points, name_by_metric)]


def _name_in_sentence_by_metric(points: Estimates, labels: Labels) -> dict[str, str]:
    """Return by metric its label from the user or its key: "insertion", where a title has "Insertion"."""
    names = {}
    for metric in points.distinct_values("metric"):
        user_label = labels.user_value_label("metric", metric)
        names[metric] = str(metric) if user_label is None else user_label
    return names


def _direction_note(name_by_metric: Mapping[str, str]) -> str:
    """Return a sentence such as "Insertion: higher is better; deletion: lower is better."."""
    texts = []
    for metric, name in name_by_metric.items():
        if direction(metric) > 0:
            texts.append(f"{name}: higher is better")
        elif direction(metric) < 0:
            texts.append(f"{name}: lower is better")
    if not texts:
        return ""
    return f"{capitalized('; '.join(texts))}."


def _pixel_replacement_note(points: Estimates, name_by_metric: Mapping[str, str]) -> str:
    """Return a sentence on the baselines that replace pixels, by metric if several, "" without any."""
    baselines = points.distinct_values("baseline")
    if not baselines:
        return ""
    if len(baselines) == 1:
        return f"Baseline: {baselines[0]}."
    baselines_of = points.frame.groupby("metric", observed=True, sort=False)["baseline"].unique()
    texts = []
    for metric, baselines_of_metric in baselines_of.items():
        texts.append(f"{joined(list(baselines_of_metric))} for {name_by_metric[str(metric)]}")
    return f"Baseline: {', '.join(texts)}."
