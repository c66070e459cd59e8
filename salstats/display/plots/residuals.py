"""Residual diagnostics of fitted models: four panels per model, from the rows that `augment` returns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import (
    SalstatsError,
    check_by,
    check_columns,
    check_frame,
    check_numeric,
    quoted,
)
from salstats.display.plots.axis_ticks import axis_breaks, tick_texts, up_breaks
from salstats.display.plots.panel_grid import PanelGrid, group_titles, panel_grid
from salstats.display.plots.points import CELL_POINTS, RASTER_POINTS, cell_layers
from salstats.display.plots.text_fit import apart, caption, caption_chars, caption_mm, plain, width_mm
from salstats.display.plots.theme import (
    COLUMN_MM,
    GUIDE,
    MM_PER_PT,
    PAGE_MM,
    PALETTE,
    TEXT_PT,
    figure_size,
    font,
    theme_salstats,
)
from salstats.display.text.format import count_text, joined
from salstats.display.text.labels import Labels
from salstats.stats.models.families import family_of
from salstats.stats.models.residual_checks import normal_quantiles, quartile_line, smooth_curve

#: Models that a figure has room for.
_MOST_MODELS = 8
#: Rows whose Cook's distance is the largest are named.
_NAMED = 3
_CELL_COLOUR = PALETTE[3]
_NUMBERS = ("fitted", "residual", "leverage", "cooks_distance", "std_residual")
_LABEL_PT = TEXT_PT - 1
_LABEL_MM = 1.2 * _LABEL_PT * MM_PER_PT
#: Height of a panel over its width, and how far a name stands from its point.
_SHARE, _SHIFT_MM = 0.8, 1.5
#: Height of the legend of counts.
_LEGEND_MM = 6.0


def plot_residuals(
    augmented: pd.DataFrame,
    *,
    by: str | Sequence[str] | None = None,
    family: str = "gaussian",
    labels: Any = None,
    width: float | None = None,
) -> p9.ggplot:
    """Figure of residual diagnostics, four panels per model.

    Residuals against fitted means, a normal quantile plot of the standardised residuals, the root of their
    size against fitted means, and Cook's distance against leverage with the three largest cases named: what
    R's `plot(lm)` shows, as panels of one figure.

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
    ggplot
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
    rows, note = _imperfect(
        numbers.assign(group=group_titles(frame, Labels(labels, frame), groups), row=np.arange(len(frame)))
    )
    n_models = rows["group"].nunique()
    if n_models > _MOST_MODELS:
        raise SalstatsError(
            f"augmented holds {n_models} models, and a figure has room for {_MOST_MODELS}; keep fewer of "
            f"{quoted(groups)}"
        )
    titles = _titles(list(rows["group"].cat.categories), linear)
    flat = [title for of_model in titles.values() for title in of_model]
    single = n_models == 1
    chosen = width if width is not None else COLUMN_MM if single else PAGE_MM
    grid = panel_grid(flat, 2 if single and chosen < PAGE_MM else 4, chosen, free=True)
    parts = [_model_parts(part, titles[str(group)]) for group, part in rows.groupby("group", observed=True)]
    points, curves, lines = (_joined(frames, flat) for frames in zip(*parts, strict=True))
    height = grid.panel_height(_SHARE)
    text = caption([*_captions(rows, linear), note], caption_chars(grid.width))
    return (
        p9.ggplot(points, p9.aes("across", "up"))
        + _layers(points, curves, lines, grid, height)
        + _named(points, frame, groups, grid, height)
        + p9.scale_x_continuous(
            breaks=lambda limits: axis_breaks(limits, grid.panel_width - 2),
            minor_breaks=[],
            labels=tick_texts,
        )
        + p9.scale_y_continuous(
            breaks=lambda limits: up_breaks(limits, height), minor_breaks=[], labels=tick_texts
        )
        + p9.labs(x="", y="", caption=text)
        + theme_salstats()
        + p9.theme(axis_title=p9.element_blank())
        + grid.facets("panel")
        + figure_size(grid.width, grid.height(height) + caption_mm(text) + _legend_mm(points))
    )


def _check_one_formula(frame: pd.DataFrame) -> None:
    """Raise where rows belong to several formulas."""
    formulas = [] if "formula" not in frame.columns else list(frame["formula"].unique())
    if len(formulas) > 1:
        raise SalstatsError(
            f"augmented holds rows of {len(formulas)} formulas ({quoted(formulas)}); keep one, as in "
            f"augmented.query('formula == {formulas[0]!r}')"
        )


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


def _name(frame: pd.DataFrame, row: int, groups: list[str]) -> str:
    """What a row is called: its case, and its task where that is not the model's."""
    if "case" not in frame.columns:
        return f"row {row}"
    several = "task" in frame.columns and "task" not in groups and frame["task"].nunique() > 1
    return ", ".join(str(frame[c].iloc[row]) for c in ["case", *(["task"] if several else [])])


def _titles(groups: list[str], linear: bool) -> dict[str, list[str]]:
    """Titles of each model's panels: lettered for one model, after its name for several."""
    standardised = "tandardised residual" if linear else "tandardised Pearson residual"
    what = [
        "Residual against fitted mean",
        f"S{standardised} against normal quantile",
        f"√|s{standardised}| against fitted mean",
        "Cook's distance against leverage",
    ]
    if len(groups) == 1:
        return {groups[0]: [f"{letter} {title}" for letter, title in zip("abcd", what, strict=True)]}
    return {group: [f"{group}. {title}" for title in what] for group in groups}


def _model_parts(rows: pd.DataFrame, titles: list[str]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """One model's points, curves and straight lines, each with the panel it is in."""
    known = rows.dropna(subset=["std_residual", "cooks_distance"])
    standard = known["std_residual"].to_numpy()
    fitted, root = known["fitted"].to_numpy(), np.sqrt(np.abs(standard))
    quantiles = normal_quantiles(standard)
    raw = rows.dropna(subset=["fitted", "residual"])
    places = [
        (raw["fitted"].to_numpy(), raw["residual"].to_numpy(), raw["row"]),
        (quantiles, standard, known["row"]),
        (fitted, root, known["row"]),
        (known["leverage"].to_numpy(), known["cooks_distance"].to_numpy(), known["row"]),
    ]
    points = [
        pd.DataFrame({"panel": title, "kind": kind, "across": x, "up": y, "row": row.to_numpy()})
        for kind, title, (x, y, row) in zip("abcd", titles, places, strict=True)
    ]
    observed = (raw["fitted"] + raw["residual"]).round(9)
    two_values = observed.nunique() <= 2
    curves = []
    for panel in (0, 2):
        x, y = smooth_curve(*places[panel][:2], robust=not two_values)
        curves.append(pd.DataFrame({"panel": titles[panel], "across": x, "up": y}))
    intercept, slope = quartile_line(standard)
    ends = np.array([quantiles.min(), quantiles.max()])
    lines = [_line(titles[0], raw["fitted"], np.zeros(2)), _line(titles[1], ends, intercept + slope * ends)]
    return pd.concat(points), pd.concat(curves), pd.concat(lines)


def _line(panel: str, across: Any, up: np.ndarray) -> pd.DataFrame:
    """Straight line from the first to the last value across."""
    return pd.DataFrame(
        {"panel": panel, "across": [across.min()], "end": [across.max()], "up": up[:1], "up_end": up[1:]}
    )


def _joined(frames: Sequence[pd.DataFrame], titles: list[str]) -> pd.DataFrame:
    """Frames below each other, their panels in order."""
    frame = pd.concat(frames, ignore_index=True)
    frame["panel"] = pd.Categorical(frame["panel"], titles, ordered=True)
    return frame


def _layers(
    points: pd.DataFrame, curves: pd.DataFrame, lines: pd.DataFrame, grid: PanelGrid, height: float
) -> list[Any]:
    """Layers of lines, points and curves."""
    ends = p9.aes("across", "up", xend="end", yend="up_end")
    layers = [p9.geom_segment(ends, lines, color=GUIDE, size=0.5, inherit_aes=False)]
    n_most = int(points["panel"].value_counts().max())
    if n_most > CELL_POINTS:
        places = points[["panel"]].assign(x=points["across"], y=points["up"])
        layers += cell_layers(places, grid.panel_width, height, _CELL_COLOUR)
    else:
        size, alpha = (0.8, 0.6) if n_most <= 200 else (0.5, 0.4) if n_most <= 2000 else (0.35, 0.25)
        many = len(points) > RASTER_POINTS
        layers.append(p9.geom_point(color=PALETTE[0], stroke=0, size=size, alpha=alpha, raster=many))
    if len(curves):
        layers.append(p9.geom_line(data=curves, color=PALETTE[2], size=0.6))
    return layers


def _legend_mm(points: pd.DataFrame) -> float:
    """Height of the legend of counts, where there is one."""
    return _LEGEND_MM if points["panel"].value_counts().max() > CELL_POINTS else 0.0


def _named(
    points: pd.DataFrame, frame: pd.DataFrame, groups: list[str], grid: PanelGrid, height: float
) -> list[Any]:
    """Names of the rows with the largest Cook's distances, apart from each other."""
    layers: list[Any] = []
    for _, rows in points[points["kind"] == "d"].groupby("panel", observed=True):
        largest = rows.nlargest(_NAMED, "up").reset_index(drop=True)
        top, tall = rows["up"].max(), np.ptp(rows["up"]) or 1.0
        low, span = rows["across"].min(), np.ptp(rows["across"]) or 1.0
        # room beside each point in mm; a tenth of the panel is left free around all points
        before = 0.9 * grid.panel_width * (largest["across"] - low) / span
        right = before < 0.45 * grid.panel_width
        room = np.maximum(before, 0.9 * grid.panel_width - before) - _SHIFT_MM
        names = [_name(frame, int(row), groups) for row in largest["row"]]
        sizes = np.full(len(largest), _LABEL_MM * tall / height)
        named = largest.assign(
            label=[_shortened(name, width) for name, width in zip(names, room, strict=True)],
            text_up=apart(largest["up"].to_numpy(), sizes, top - tall, top + sizes[0] / 2),
            text_across=largest["across"] + np.where(right, 1, -1) * _SHIFT_MM * span / grid.panel_width,
        )
        leader = p9.aes("across", "up", xend="text_across", yend="text_up")
        layers.append(p9.geom_segment(leader, named, color=GUIDE, size=0.3, inherit_aes=False))
        for side, ha in ((right, "left"), (~right, "right")):
            if side.any():
                mapping = p9.aes("text_across", "text_up", label="label")
                look = {"size": _LABEL_PT, "ha": ha, "family": font(), "inherit_aes": False}
                layers.append(p9.geom_text(mapping, named[side], **look))
    return layers


def _shortened(text: str, width: float) -> str:
    """As much of a name as fits a width in mm."""
    short = text
    while width_mm(short, _LABEL_PT) > width and len(short) > 2:
        short = f"{short[:-2].rstrip()}…"
    return plain(short)


def _captions(rows: pd.DataFrame, linear: bool) -> list[str]:
    """Sentences under the figure."""
    n_without = int(rows["std_residual"].isna().sum())
    return [
        "Curves: robust local lines (LOWESS); straight line: through the quartiles.",
        "Named: largest Cook's distances.",
        "" if linear else "Pearson residuals of a logit model need not be normal.",
        f"Without a standardised residual (leverage 1): {count_text(n_without)} row{'s' * (n_without > 1)}."
        if n_without
        else "",
    ]
