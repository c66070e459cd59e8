"""Residual diagnostics of fitted models: four panels for each model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_by, check_columns, check_frame, check_numeric, quoted
from salstats.coded_text import TEXT
from salstats.display.plots.layout.axis_ticks import number_axes
from salstats.display.plots.layout.captions import distinct_values_by_appearance, scope_note
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.panel_grid import group_titles, panel_grid
from salstats.display.plots.layout.points import CELL_POINTS, RASTER_POINTS, point_density_cell_layers
from salstats.display.plots.layout.theme import COLUMN_MM, GUIDE, PAGE_MM, PALETTE
from salstats.display.text.format import capitalized, counted, joined
from salstats.display.text.labels import Labels
from salstats.display.text.terms import model_text
from salstats.errors import SalstatsError
from salstats.stats.models.families import family_by_name
from salstats.stats.models.residual_checks import normal_quantiles, quartile_line, smooth_curve

#: Most models of a figure, and the number of rows with the largest Cook's distances that the caption names.
_MAX_MODELS = 8
_N_NAMED = 3
#: Colours of points, of cells with the counts of very many points, and of curves and rings.
_POINT_COLOUR = PALETTE[0]
_CELL_COLOUR = PALETTE[5]
_CURVE_COLOUR = PALETTE[1]
#: Columns of `augment` that are drawn.
_NUMBER_COLUMNS = ("fitted", "residual", "leverage", "cooks_distance", "std_residual")
#: Height of a panel as a multiple of its width, and that of the legend of counts in mm.
_HEIGHT_TO_WIDTH = 0.8
_LEGEND_HEIGHT_MM = 6.0
#: Width in mm of a figure, for each panel of a model, from which these panels stand in one row.
_ROW_PANEL_MM = 40.0


@dataclass(frozen=True)
class _PointStyle:
    """Size, as plotnine has it, and opacity of the marks of panels with at most `max_points` points."""

    max_points: float
    size: float
    alpha: float


_POINT_STYLES = (
    _PointStyle(max_points=200, size=0.8, alpha=0.6),
    _PointStyle(max_points=2000, size=0.5, alpha=0.4),
    _PointStyle(max_points=np.inf, size=0.35, alpha=0.25),
)


@dataclass(frozen=True)
class _PointsCurvesAndLines:
    """Contents of the panels of one model, each a frame with a column `panel`: the title.

    Attributes
    ----------
    points : DataFrame
        Position of each point (`across`, `up`), the `name` of its row, the `group` of its model and `ringed`.
    curves : DataFrame
        Points (`across`, `up`) of the smooth curves.
    lines : DataFrame
        Both ends of the straight lines: (`across`, `up`) and (`end`, `up_end`).
    """

    points: pd.DataFrame
    curves: pd.DataFrame
    lines: pd.DataFrame


@keep_call_in_figure
def plot_residuals(
    augmented: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    labels: Any = None,
    width: float | None = None,
) -> Figure:
    """Draw residual diagnostics, four panels per model.

    The first three panels are those of R's `plot(lm)`: residuals against fitted means, a normal quantile plot
    of the standardised residuals, and the square root of their absolute values against fitted means. The
    fourth shows Cook's distance against leverage; the three largest distances are ringed, and the caption
    names their rows. Mixed models and models with a `correlation` have no leverage, and so no fourth panel.

    Parameters
    ----------
    augmented : DataFrame
        What `augment` returns for one formula.
    by : str or sequence of str, optional
        The grouping columns that the models were fitted by; by default `method` where there is one, as in
        `augment`. A figure has room for eight models.
    family : str
        The family of the models. The standardised residuals of the logit families are Pearson residuals, as
        the titles say; those of outcomes 0 and 1 lie on two curves and are not normal under any model.
    labels : Mapping, optional
        Labels and order of the groups: `{"method": {"gradcam": "Grad-CAM"}}`.
    width : float, optional
        Width of the figure in mm; by default 89 for one model, with two panels side by side, else 183. From
        160 (120 without leverage) each model has a row of its own.

    Returns
    -------
    Figure
        Every panel has its own axes, and its title says what they show. The curves are local lines (R's
        `lowess`), robust ones unless outcomes have only two values. The line of the quantile plot goes
        through the quartiles (R's `qqline`). More than 2000 points are drawn as a bitmap inside a vector
        figure. If a panel has more than 5000 points, cells are drawn instead, darker the more points they
        hold.

    Raises
    ------
    ColumnError
        A column of `augment` is missing or not numeric; a name in `by` is not a column.
    SalstatsError
        Rows of several formulas; more than eight models; no residuals, or none that can be standardised (a
        perfect fit).

    Examples
    --------
    >>> import salstats as ss
    >>> scores = ss.datasets.load_simulated().query("method == 'gradcam' and task == 'Edema'")
    >>> figure = ss.plot_residuals(ss.augment(scores, "iou ~ prob"))
    >>> list(figure.data["panel"].cat.categories)[0]
    'a Residual against fitted mean'
    """
    frame = check_frame(augmented, "augmented")
    check_columns(frame, _NUMBER_COLUMNS, "augmented")
    is_linear = family_by_name(family).is_linear
    groups = check_by(frame, by, ("method",), "augmented")
    _check_one_formula(frame)
    numbers = pd.DataFrame({name: check_numeric(frame, name, "augmented") for name in _NUMBER_COLUMNS})
    frame_labels = Labels(labels, frame)
    numbers["group"] = group_titles(frame, frame_labels, groups)
    numbers["name"] = _row_names(frame, groups, frame_labels)
    rows, perfect_note = _without_perfectly_fitting_models(numbers)
    models = list(rows["group"].cat.categories)
    if len(models) > _MAX_MODELS:
        raise SalstatsError(
            f"augmented holds {len(models)} models, and a figure has room for {_MAX_MODELS}",
            hint=f"keep fewer of {quoted(groups)}",
            option="augmented",
            value=len(models),
        )
    if width is None:
        width = COLUMN_MM if len(models) == 1 else PAGE_MM
    # mixed models and models with a correlation of rows have no leverage
    n_panels = 4 if rows["cooks_distance"].notna().any() else 3
    titles_of = {}
    titles: list[str] = []
    for model in models:
        # a single model needs no name
        name = model if len(models) > 1 else ""
        titles_of[model] = _residual_panel_titles(name, is_linear)[:n_panels]
        titles += titles_of[model]
    n_columns = 2
    if width >= n_panels * _ROW_PANEL_MM:
        # a row for each model
        n_columns = n_panels
    grid = panel_grid(titles, n_columns, width, free_axes=True)
    panels = []
    for model, model_rows in rows.groupby("group", observed=True):
        panels.append(_model_points_curves_and_lines(model_rows, titles_of[str(model)]))
    points = _concat_panels([model.points for model in panels], titles)
    curves = _concat_panels([model.curves for model in panels], titles)
    lines = _concat_panels([model.lines for model in panels], titles)
    legend_height_mm = 0.0
    if points["panel"].value_counts().max() > CELL_POINTS:
        legend_height_mm = _LEGEND_HEIGHT_MM
        point_layers = point_density_cell_layers(
            points.rename(columns={"across": "x", "up": "y"}), _CELL_COLOUR
        )
    else:
        point_layers = [_point_layer(points)]
    curve_layers: list[Any] = []
    if len(curves):
        curve_layers.append(p9.geom_line(data=curves, color=_CURVE_COLOUR, size=0.6))
    ringed = points[points["ringed"]]
    ring_layers: list[Any] = []
    if len(ringed):
        ring_layers.append(
            p9.geom_point(data=ringed, shape="o", size=1.8, fill="none", color=_CURVE_COLOUR, stroke=0.4)
        )
    height = grid.panel_height(_HEIGHT_TO_WIDTH)
    unnamed_columns = [column for column in ("method", "task") if column not in groups or len(models) == 1]
    notes = [
        _model_formula_note(frame, frame_labels),
        scope_note(frame, frame_labels, unnamed_columns),
        *_caption_sentences(rows, ringed, is_linear),
        perfect_note,
    ]
    segment = p9.aes("across", "up", xend="end", yend="up_end")
    figure = (
        Figure(points, p9.aes("across", "up"))
        + p9.geom_segment(segment, lines, color=GUIDE, size=0.5, inherit_aes=False)
        + point_layers
        + curve_layers
        + ring_layers
        + number_axes(grid.panel_width, height)
        + grid.elements(height, notes=notes, further_mm=legend_height_mm)
        + p9.theme(axis_title=p9.element_blank())
    )
    return grid.divided_into_pages(figure, height)


def _check_one_formula(augmented: pd.DataFrame) -> None:
    """Raise if the rows come from several formulas."""
    formulas = distinct_values_by_appearance(augmented, "formula")
    if len(formulas) > 1:
        query = f"formula == {formulas[0]!r}"
        raise SalstatsError(
            f"augmented holds rows of {len(formulas)} formulas ({quoted(formulas)})",
            hint=f"keep one, as in augmented.query({query!r})",
            choices=formulas,
            column="formula",
        )


def _model_formula_note(augmented: pd.DataFrame, labels: Labels) -> str:
    """Return a sentence that names the outcome and the terms of the model, "" without a formula."""
    formulas = distinct_values_by_appearance(augmented, "formula")
    if not formulas:
        return ""
    formula = str(formulas[0])
    metrics = distinct_values_by_appearance(augmented, "metric")
    left_side, _, _ = formula.partition("~")
    outcome = left_side.strip()
    outcome_label = labels.term(outcome)
    if outcome == "score" and len(metrics) == 1:
        outcome_label = labels.value("metric", metrics[0])
    return f"Model: {model_text(formula, outcome_label, labels)}."


def _without_perfectly_fitting_models(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the rows of models that have standardised residuals, and a sentence on the other models."""
    n_residuals = rows.groupby("group", observed=True)["std_residual"].transform("count")
    has_residuals = n_residuals > 0
    if not has_residuals.any():
        raise SalstatsError(
            f"none of the {len(rows)} rows of augmented has a standardised residual",
            hint="a perfect fit has none",
            column="std_residual",
        )
    perfect = [str(group) for group in rows.loc[~has_residuals, "group"].unique()]
    groups = rows.loc[has_residuals, "group"].cat.remove_unused_categories()
    note = ""
    if perfect:
        note = f"Fitted perfectly, not drawn: {joined(perfect)}."
    return rows[has_residuals].assign(group=groups), note


def _row_names(augmented: pd.DataFrame, model_grouping_columns: list[str], labels: Labels) -> list[str]:
    """Return the name of each row: its case, and its task where a model has several."""
    if "case" not in augmented.columns:
        return [f"row {number}" for number in range(len(augmented))]
    cases = augmented["case"].astype(TEXT)
    has_one_task = (
        "task" in model_grouping_columns or len(distinct_values_by_appearance(augmented, "task")) < 2
    )
    if has_one_task:
        return list(cases)
    return list(cases + " of " + augmented["task"].map(labels.label_by_value("task", augmented["task"])))


def _residual_panel_titles(model_name: str, is_linear_model: bool) -> list[str]:
    """Return the titles of the four panels of a model, after its name, or after letters if the name is ""."""
    residual = "standardised residual"
    if not is_linear_model:
        residual = "standardised Pearson residual"
    titles = [
        "Residual against fitted mean",
        f"{capitalized(residual)} against normal quantile",
        f"√|{residual}| against fitted mean",
        "Cook's distance against leverage",
    ]
    if model_name:
        return [f"{model_name}. {title}" for title in titles]
    return [f"{letter} {title}" for letter, title in zip("abcd", titles, strict=True)]


def _model_points_curves_and_lines(model_rows: pd.DataFrame, titles: list[str]) -> _PointsCurvesAndLines:
    """Return the panels of one model, as many as there are titles: three, or four with leverage."""
    residuals = model_rows.dropna(subset=["fitted", "residual"])
    has_leverage = len(titles) == 4
    required = ["std_residual"]
    if has_leverage:
        required.append("cooks_distance")
    standardised = model_rows.dropna(subset=required)
    std_residual = standardised["std_residual"].to_numpy()
    quantiles = normal_quantiles(std_residual)
    scale = np.sqrt(np.abs(std_residual))
    fitted_title, quantile_title, scale_title = titles[:3]
    frames = [
        _points_of_titled_panel(residuals, fitted_title, residuals["fitted"], residuals["residual"]),
        _points_of_titled_panel(standardised, quantile_title, quantiles, std_residual),
        _points_of_titled_panel(standardised, scale_title, standardised["fitted"], scale),
    ]
    if has_leverage:
        leverage = _points_of_titled_panel(
            standardised, titles[3], standardised["leverage"], standardised["cooks_distance"]
        )
        largest = standardised["cooks_distance"].dropna().nlargest(_N_NAMED).index
        frames.append(leverage.assign(ringed=leverage.index.isin(largest)))
    # robustness weights would discard the rarer of two outcomes
    is_binary = _has_at_most_two_outcomes(model_rows)
    curves = [
        _panel_curve_points(fitted_title, residuals["fitted"], residuals["residual"], robust=not is_binary),
        _panel_curve_points(scale_title, standardised["fitted"], scale, robust=not is_binary),
    ]
    zero_line = _panel_line_segment(fitted_title, residuals["fitted"], intercept=0.0, slope=0.0)
    intercept, slope = quartile_line(std_residual)
    quantile_line = _panel_line_segment(quantile_title, quantiles, intercept, slope)
    return _PointsCurvesAndLines(pd.concat(frames), pd.concat(curves), pd.concat([zero_line, quantile_line]))


def _has_at_most_two_outcomes(model_rows: pd.DataFrame) -> bool:
    """Return whether the outcomes of a model, its fitted means plus residuals, are at most two numbers."""
    outcomes = model_rows["fitted"] + model_rows["residual"]
    return bool(outcomes.round(9).nunique() <= 2)


def _points_of_titled_panel(rows: pd.DataFrame, title: str, across: Any, up: Any) -> pd.DataFrame:
    """Return the points of a panel, none of them ringed."""
    return pd.DataFrame(
        {
            "panel": title,
            "across": across,
            "up": up,
            "name": rows["name"],
            "group": rows["group"],
            "ringed": False,
        }
    )


def _panel_curve_points(title: str, across: Any, up: Any, *, robust: bool) -> pd.DataFrame:
    """Return a smooth curve through the points of a panel."""
    x, y = smooth_curve(np.asarray(across), np.asarray(up), robust=robust)
    return pd.DataFrame({"panel": title, "across": x, "up": y})


def _panel_line_segment(title: str, across: Any, intercept: float, slope: float) -> pd.DataFrame:
    """Return a straight line from the smallest to the largest horizontal position of a panel's points."""
    start = np.min(across)
    end = np.max(across)
    return pd.DataFrame(
        {
            "panel": [title],
            "across": [start],
            "up": [intercept + slope * start],
            "end": [end],
            "up_end": [intercept + slope * end],
        }
    )


def _concat_panels(frames: Sequence[pd.DataFrame], titles: list[str]) -> pd.DataFrame:
    """Return the frames of all models below each other, with the titles as ordered categories of `panel`."""
    frame = pd.concat(frames, ignore_index=True)
    return frame.assign(panel=pd.Categorical(frame["panel"], titles, ordered=True))


def _point_layer(points: pd.DataFrame) -> Any:
    """Return a layer of points, smaller and more transparent the more there are."""
    n_points = points["panel"].value_counts().max()
    style = next(style for style in _POINT_STYLES if n_points <= style.max_points)
    raster = len(points) > RASTER_POINTS
    return p9.geom_point(color=_POINT_COLOUR, stroke=0, size=style.size, alpha=style.alpha, raster=raster)


def _caption_sentences(
    rows: pd.DataFrame, points_of_largest_distance: pd.DataFrame, is_linear_model: bool
) -> list[str]:
    """Return the sentences of the caption on curves, rings and residuals."""
    # rings are drawn in the panel of Cook's distance, where `up` is that distance
    ringed_names_by_model = points_of_largest_distance.sort_values("up", ascending=False).groupby(
        "group", observed=True
    )["name"]
    ring_texts = []
    for model, names in ringed_names_by_model:
        text = joined(list(names))
        if ringed_names_by_model.ngroups > 1:
            text = f"{model}: {text}"
        ring_texts.append(text)
    n_without = int(rows["std_residual"].isna().sum())
    curves = "local lines"
    if not any(
        _has_at_most_two_outcomes(model_rows) for _, model_rows in rows.groupby("group", observed=True)
    ):
        curves = "robust local lines"
    notes = [f"Curves: {curves} (LOWESS); straight line: through the quartiles."]
    if ring_texts:
        notes.append(f"Rings: largest Cook's distances, from the top ({'; '.join(ring_texts)}).")
    if not is_linear_model:
        notes.append("Pearson residuals of a logit model need not be normal.")
    if n_without:
        notes.append(f"Without a standardised residual (leverage 1): {counted(n_without, 'row')}.")
    return notes
