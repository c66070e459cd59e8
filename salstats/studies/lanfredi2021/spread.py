"""Figures of sampled areas under the ROC curve: their standard deviation by size, and where they lie."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_columns
from salstats.display.plots import panels
from salstats.display.plots.jitter import even_share
from salstats.display.plots.panel_grid import PanelGrid, caption_chars, panel_grid
from salstats.display.plots.theme import COLUMN_MM, PALETTE, REFERENCE, figure_size, theme_salstats
from salstats.display.text.format import count_text, counted
from salstats.display.text.labels import Labels
from salstats.studies.lanfredi2021.words import LABELS

#: Part of the distance between two sizes that their points take.
_SPREAD = 0.5
_SHARE = 0.8
_NEEDED = ("method", "metric", "n_samples", "exact")


def plot_spread(spread: pd.DataFrame, *, width: float = COLUMN_MM) -> p9.ggplot:
    """Return the standard deviation of sampled AUC and sAUC by sample size, both axes logarithmic.

    Parameters
    ----------
    spread : DataFrame
        Of `sampling_spread`. Over cases, readers, models and mixings the mean is shown.
    width : float
        Of the figure in mm.

    Returns
    -------
    ggplot
        Its `data` are the means: `panel, name, n_samples, sd`. A dashed line has the slope that samples of
        independent pixels have, SD = constant / sqrt(n), through the middle of the values.
    """
    check_columns(spread, [*_NEEDED, "sd"], "spread")
    labels = Labels(LABELS)
    rows = spread[spread["sd"] > 0]
    if rows.empty:
        raise SalstatsError("spread has nothing to draw: no sampled value differs from another")
    means = rows.groupby(["metric", "method", "n_samples"], as_index=False)["sd"].mean()
    methods = labels.order("method", means["method"])
    # a page has room for whole names
    whole = {m: panels.plain(labels.value("method", m)) for m in methods}
    texts = panels.method_labels(labels, methods) if width <= COLUMN_MM else whole
    means["name"] = pd.Categorical([texts[m] for m in means["method"]], list(texts.values()), ordered=True)
    means["panel"] = labels.categorical(means, "metric")
    grid = panel_grid(list(means["panel"].cat.categories), width=width)
    line = _root_line(means)
    sizes = sorted(means["n_samples"].unique())
    marks = panels.mark_scales(texts)
    if width > COLUMN_MM:
        ncol = panels.legend_columns(list(texts.values()), width - 3)
        marks.append(p9.guides(**{g: p9.guide_legend(ncol=ncol, byrow=True) for g in ("color", "shape")}))
    legend = -(-len(texts) // panels.legend_columns(list(texts.values()), width - 3)) * _legend_line(texts)
    note = panels.caption([_of(rows), "Dashed: 1 / √n.", _missing(spread)], caption_chars(width))
    tall = grid.panel_height(_SHARE)
    ends = (float(means["sd"].min()), float(means["sd"].max()))
    return (
        p9.ggplot(means, p9.aes("n_samples", "sd", color="name", shape="name"))
        + p9.geom_line(size=0.4, show_legend=False)
        + p9.geom_point(size=1.4, stroke=0)
        + p9.geom_line(
            p9.aes("n_samples", "sd"), line, color=REFERENCE, size=0.4, linetype="dashed", inherit_aes=False
        )
        + p9.scale_x_log10(
            breaks=sizes, labels=_fitting(sizes, grid.panel_width), minor_breaks=[], expand=(0.09, 0)
        )
        + p9.scale_y_log10(
            breaks=panels.log_breaks(ends, tall), labels=panels.log_texts, minor_breaks=[], expand=(0.04, 0)
        )
        + p9.labs(x="Pixels drawn on either side", y="SD of the sampled value", caption=note)
        + theme_salstats()
        + marks
        + p9.theme(legend_key_width=9, legend_key_height=8)
        + _single(grid)
        + figure_size(width, grid.height(tall) + legend + panels.caption_mm(note))
    )


def plot_samples(samples: pd.DataFrame, *, width: float = COLUMN_MM) -> p9.ggplot:
    """Return sampled values of one map against one truth by sample size, the exact value as a line.

    Parameters
    ----------
    samples : DataFrame
        Of `sampled_scores`, the rows of one case, series and reader.
    width : float
        Of the figure in mm.

    Returns
    -------
    ggplot
        Its `data` are the values with the place at which they are drawn.
    """
    check_columns(samples, [*_NEEDED, "case", "reader", "replicate", "estimate"], "samples")
    rows = samples[samples["estimate"].notna()].reset_index(drop=True)
    if rows.empty:
        raise SalstatsError("samples has nothing to draw: every sampled value is undefined")
    keys = [c for c in ("case", "method", "model", "seed", "mixing", "reader") if c in rows]
    if len(rows[keys].drop_duplicates()) > 1:
        raise SalstatsError("samples holds several maps or readers; keep the rows of one")
    labels = Labels(LABELS)
    sizes = sorted(rows["n_samples"].unique())
    place = rows["n_samples"].map({size: i for i, size in enumerate(sizes)})
    share = even_share([rows["metric"], rows["n_samples"]])
    rows["at"] = place + _SPREAD * (share - 0.5)
    rows["panel"] = labels.categorical(rows, "metric")
    grid = panel_grid(list(rows["panel"].cat.categories), width=width, free=True)
    exact = rows.drop_duplicates("panel")[["panel", "exact"]]
    first = rows.iloc[0]
    note = panels.caption(
        [
            f"{labels.value('method', first['method'])}, case {first['case']}, reader {first['reader']} left "
            f"out: {counted(rows['replicate'].nunique(), 'sample')} of each size.",
            "Line: exact value.",
        ],
        caption_chars(width),
    )
    tall = grid.panel_height(_SHARE)
    return (
        p9.ggplot(rows, p9.aes("at", "estimate"))
        + p9.geom_point(color=PALETTE[0], size=0.7, stroke=0, alpha=0.5)
        + p9.geom_hline(p9.aes(yintercept="exact"), exact, color=REFERENCE, size=0.5)
        + p9.scale_x_continuous(
            breaks=range(len(sizes)),
            labels=_fitting(sizes, grid.panel_width),
            minor_breaks=[],
            limits=(-0.5, len(sizes) - 0.5),
            expand=(0.02, 0),
        )
        + p9.scale_y_continuous(minor_breaks=[], labels=panels.tick_texts)
        + p9.labs(x="Pixels drawn on either side", y="Sampled value", caption=note)
        + theme_salstats()
        + _single(grid)
        + figure_size(width, grid.height(tall) + panels.caption_mm(note))
    )


def _single(grid: PanelGrid) -> list[object]:
    """Return the panels; a single one has its title too, which says the metric."""
    return grid.facets("panel") or [p9.facet_wrap("panel")]


def _root_line(means: pd.DataFrame) -> pd.DataFrame:
    """Return the ends of a line constant / sqrt(n) in each panel, through the middle of its values."""
    ends = np.array([means["n_samples"].min(), means["n_samples"].max()], dtype=np.float64)
    parts = []
    for panel, rows in means.groupby("panel", observed=True):
        constant = np.exp(np.log(rows["sd"] * np.sqrt(rows["n_samples"])).mean())
        parts.append(pd.DataFrame({"panel": panel, "n_samples": ends, "sd": constant / np.sqrt(ends)}))
    line = pd.concat(parts, ignore_index=True)
    return line.assign(panel=pd.Categorical(line["panel"], means["panel"].cat.categories, ordered=True))


def _of(rows: pd.DataFrame) -> str:
    """Return the sentence on what the means are over."""
    parts = [counted(rows[c].nunique(), c) for c in ("case", "reader") if c in rows]
    return f"Mean SD over {' and '.join(parts)}." if parts else ""


def _missing(spread: pd.DataFrame) -> str:
    """Return the sentence on what cannot be drawn."""
    n = int((~(spread["sd"] > 0)).sum())
    return f"Not drawn: {counted(n, 'row')} without spread." if n else ""


def _legend_line(texts: dict[str, str]) -> float:
    """Return the height of a row of the legend in mm."""
    return max(panels.row_height_mm(0, t.count("\n") + 1) for t in texts.values())


def _fitting(sizes: Sequence[float], room: float) -> list[str]:
    """Return sizes of samples as text, every other one left out where they have no room in mm."""
    texts = [count_text(size) for size in sizes]
    fits = sum(panels.text_mm(text) + 1.5 for text in texts) <= room
    return texts if fits else [text if i % 2 == 0 else "" for i, text in enumerate(texts)]
