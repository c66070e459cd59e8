"""Residual diagnostics of fitted models: four panels per model, from the rows that `augment` returns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_by, check_columns, check_frame, check_numeric, quoted
from salstats.display.plots.layout.axis_ticks import number_axes
from salstats.display.plots.layout.captions import distinct, scope_note
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.panel_grid import group_titles, panel_grid
from salstats.display.plots.layout.points import CELL_POINTS, RASTER_POINTS, cell_layers
from salstats.display.plots.layout.theme import COLUMN_MM, GUIDE, PAGE_MM, PALETTE
from salstats.display.text.format import counted, joined
from salstats.display.text.labels import Labels
from salstats.display.text.terms import model_text
from salstats.stats.models.families import family_of
from salstats.stats.models.residual_checks import normal_quantiles, quartile_line, smooth_curve

#: Models that a figure has room for, and rows of the largest Cook's distance that are named.
_MOST_MODELS, _NAMED = 8, 3
_NUMBERS = ("fitted", "residual", "leverage", "cooks_distance", "std_residual")
#: Height of a panel over its width, and of the legend of counts.
_SHARE, _LEGEND_MM = 0.8, 6.0


@figures
def plot_residuals(
    augmented: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    labels: Any = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Figure of residual diagnostics, four panels per model.

    Residuals against fitted means, a normal quantile plot of the standardised residuals, the root of their
    size against fitted means, and Cook's distance against leverage with the three largest ringed, which the
    caption names: what R's `plot(lm)` shows, as panels of one figure. Mixed models, and those with a
    `correlation`, have no leverage and so no fourth panel.

    Parameters
    ----------
    augmented : DataFrame
        What `augment` returns for one formula.
    by : str or sequence of str, optional
        The grouping columns that the models were fitted by; by default `method` where there is one, as in
        `augment`. Each model has a row of four panels; there is room for eight.
    family : str
        The family of the models. The standardised residuals of the logit families are Pearson's, and are
        called so; those of 0/1 outcomes lie on two curves and are not normal, whatever the model.
    labels : Mapping, optional
        Labels and order of the groups: `{"method": {"gradcam": "Grad-CAM"}}`.
    width : float, optional
        Width of the figure in mm; by default 89 for one model, with two panels side by side, else 183.

    Returns
    -------
    Figure
        Every panel has its own axes, which its title names. The curves are robust local lines (R's
        `lowess`), the line of the quantile plot goes through the quartiles (R's `qqline`). More than 2000
        points are drawn as a bitmap inside a vector figure, and where a panel has more than 5000, cells are
        drawn instead, darker the more points they hold.

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
    check_columns(frame, _NUMBERS, "augmented")
    linear = family_of(family).linear
    groups = check_by(frame, by, ("method",), "augmented")
    _check_one_formula(frame)
    numbers = pd.DataFrame({name: check_numeric(frame, name, "augmented") for name in _NUMBERS})
    names = Labels(labels, frame)
    numbers["group"] = group_titles(frame, names, groups)
    numbers["name"] = _row_names(frame, groups, names)
    rows, perfect = _imperfect(numbers)
    models = list(rows["group"].cat.categories)
    if len(models) > _MOST_MODELS:
        raise SalstatsError(
            f"augmented holds {len(models)} models, and a figure has room for {_MOST_MODELS}; keep fewer of "
            f"{quoted(groups)}"
        )
    width = width if width is not None else COLUMN_MM if len(models) == 1 else PAGE_MM
    # of mixed models and of correlated rows nothing is known of influence
    n_panels = 4 if rows["cooks_distance"].notna().any() else 3
    titles = {model: _titles(model if len(models) > 1 else "", linear)[:n_panels] for model in models}
    flat = [title for of_model in titles.values() for title in of_model]
    n_columns = 2 if width < PAGE_MM else n_panels
    grid = panel_grid(flat, n_columns, width, free=True)
    parts = [_model_parts(part, titles[str(group)]) for group, part in rows.groupby("group", observed=True)]
    points, curves, lines = (_joined(frames, flat) for frames in zip(*parts, strict=True))
    cells = bool(points["panel"].value_counts().max() > CELL_POINTS)
    ringed = points[points["ringed"]]
    height = grid.panel_height(_SHARE)
    unsaid = [c for c in ("method", "task") if c not in groups or len(models) == 1]
    notes = [
        _model_note(frame, names),
        scope_note(frame, names, unsaid),
        *_captions(rows, ringed, linear),
        perfect,
    ]
    ends = p9.aes("across", "up", xend="end", yend="up_end")
    figure = (
        p9.ggplot(points, p9.aes("across", "up"))
        + p9.geom_segment(ends, lines, color=GUIDE, size=0.5, inherit_aes=False)
        + (
            cell_layers(points.rename(columns={"across": "x", "up": "y"}), PALETTE[5])
            if cells
            else _points(points)
        )
        + ([p9.geom_line(data=curves, color=PALETTE[1], size=0.6)] if len(curves) else [])
        + p9.geom_point(data=ringed, shape="o", size=1.8, fill="none", color=PALETTE[1], stroke=0.4)
        + number_axes(grid.panel_width, height)
        + grid.look(height, notes=notes, further=cells * _LEGEND_MM)
        + p9.theme(axis_title=p9.element_blank())
    )
    return grid.pages(figure, height)


def _check_one_formula(frame: pd.DataFrame) -> None:
    """Raise where rows belong to several formulas."""
    formulas = [] if "formula" not in frame.columns else list(frame["formula"].unique())
    if len(formulas) > 1:
        raise SalstatsError(
            f"augmented holds rows of {len(formulas)} formulas ({quoted(formulas)}); keep one, as in "
            f"augmented.query('formula == {formulas[0]!r}')"
        )


def _model_note(frame: pd.DataFrame, labels: Labels) -> str:
    """Sentence that says which model it is, by its outcome and its terms."""
    formulas, metrics = distinct(frame, "formula"), distinct(frame, "metric")
    if not formulas:
        return ""
    outcome = str(formulas[0]).partition("~")[0].strip()
    own = outcome == "score" and len(metrics) == 1
    what = labels.value("metric", metrics[0]) if own else labels.term(outcome)
    return f"Model: {model_text(str(formulas[0]), what, labels)}."


def _imperfect(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Rows of models that have standardised residuals, and a sentence about the others."""
    known = rows.groupby("group", observed=True)["std_residual"].transform("count") > 0
    if not known.any():
        raise SalstatsError(
            f"none of the {len(rows)} rows of augmented has a standardised residual; a perfect fit has none"
        )
    perfect = [str(group) for group in rows.loc[~known, "group"].unique()]
    drawn = rows[known].assign(group=rows.loc[known, "group"].cat.remove_unused_categories())
    return drawn, f"Fitted perfectly, not drawn: {joined(perfect)}." if perfect else ""


def _row_names(frame: pd.DataFrame, groups: list[str], labels: Labels) -> list[str]:
    """What each row is called: its case, and its task where that is not the model's."""
    if "case" not in frame.columns:
        return [f"row {i}" for i in range(len(frame))]
    several = "task" in frame.columns and "task" not in groups and frame["task"].nunique() > 1
    cases = frame["case"].astype(str)
    return list(cases + " of " + frame["task"].map(labels.texts("task", frame["task"])) if several else cases)


def _titles(model: str, linear: bool) -> list[str]:
    """Titles of a model's panels: after its name, or lettered where there is one model."""
    standardised = "tandardised residual" if linear else "tandardised Pearson residual"
    what = [
        "Residual against fitted mean",
        f"S{standardised} against normal quantile",
        f"√|s{standardised}| against fitted mean",
        "Cook's distance against leverage",
    ]
    return [f"{f'{model}.' if model else letter} {title}" for letter, title in zip("abcd", what, strict=True)]


def _model_parts(rows: pd.DataFrame, titles: list[str]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """One model's points, curves and straight lines, each with the panel it is in."""
    raw = rows.dropna(subset=["fitted", "residual"])
    known = rows.dropna(subset=["std_residual", "cooks_distance"][: len(titles) - 2])
    standard = known["std_residual"].to_numpy()
    quantiles = normal_quantiles(standard)
    places = [
        (raw, raw["fitted"], raw["residual"]),
        (known, quantiles, standard),
        (known, known["fitted"], np.sqrt(np.abs(standard))),
        (known, known["leverage"], known["cooks_distance"]),
    ][: len(titles)]
    points = [
        pd.DataFrame({"panel": title, "across": x, "up": y, "name": of["name"], "group": of["group"]})
        for title, (of, x, y) in zip(titles, places, strict=True)
    ]
    largest = known["cooks_distance"].dropna().nlargest(_NAMED).index
    points = [part.assign(ringed=part.index.isin(largest) & (part["panel"] == titles[-1])) for part in points]
    two_values = (raw["fitted"] + raw["residual"]).round(9).nunique() <= 2
    curves = []
    for panel in (0, 2):
        x, y = smooth_curve(*(np.asarray(v) for v in places[panel][1:]), robust=not two_values)
        curves.append(pd.DataFrame({"panel": titles[panel], "across": x, "up": y}))
    intercept, slope = quartile_line(standard)
    start, end = (np.array([f(raw["fitted"]), f(quantiles)]) for f in (np.min, np.max))
    level, rise = np.array([0.0, intercept]), np.array([0.0, slope])
    straight = {"up": level + rise * start, "up_end": level + rise * end}
    lines = pd.DataFrame({"panel": titles[:2], "across": start, "end": end, **straight})
    return pd.concat(points), pd.concat(curves), lines


def _joined(frames: Sequence[pd.DataFrame], titles: list[str]) -> pd.DataFrame:
    """Frames below each other, their panels in order."""
    frame = pd.concat(frames, ignore_index=True)
    return frame.assign(panel=pd.Categorical(frame["panel"], titles, ordered=True))


def _points(points: pd.DataFrame) -> Any:
    """Layer of points, smaller and more transparent the more there are."""
    n_most = points["panel"].value_counts().max()
    size, alpha = (0.8, 0.6) if n_most <= 200 else (0.5, 0.4) if n_most <= 2000 else (0.35, 0.25)
    raster = len(points) > RASTER_POINTS
    return p9.geom_point(color=PALETTE[0], stroke=0, size=size, alpha=alpha, raster=raster)


def _captions(rows: pd.DataFrame, ringed: pd.DataFrame, linear: bool) -> list[str]:
    """Sentences under the figure."""
    ordered = ringed.sort_values("up", ascending=False).groupby("group", observed=True)["name"]
    several = ordered.ngroups > 1
    named = [f"{f'{group}: ' if several else ''}{joined(list(names))}" for group, names in ordered]
    n_without = int(rows["std_residual"].isna().sum())
    return [
        "Curves: robust local lines (LOWESS); straight line: through the quartiles.",
        f"Rings: largest Cook's distances, from the top ({'; '.join(named)})." if named else "",
        "" if linear else "Pearson residuals of a logit model need not be normal.",
        f"Without a standardised residual (leverage 1): {counted(n_without, 'row')}." if n_without else "",
    ]
