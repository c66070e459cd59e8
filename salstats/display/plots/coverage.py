"""How often intervals hold what they estimate, by number of units: defaults beside what textbooks take."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import SalstatsError, check_columns, check_frame
from salstats.display.plots.layout.axis_ticks import axis_breaks, tick_texts
from salstats.display.plots.layout.figure import figures
from salstats.display.plots.layout.legends import legend_columns
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import text_mm
from salstats.display.plots.layout.theme import LINETYPES, PALETTE
from salstats.display.text.format import count_range
from salstats.display.text.labels import Labels

#: Height of a panel over its width, and coverage, in percent, below which cells are drawn at the edge.
_SHARE, _FLOOR = 0.9, 80.0
#: Coverage, in percent, that is asked for of 95 % intervals.
_BAND = (94.0, 96.0)
_ROLES = {"default": "Default", "textbook": "Textbook"}
_CLUSTERS = {"1": "1 case", "1-5": "1 to 5", "few huge": "few huge", "as observed": "real scores"}


@figures
def plot_coverage(
    coverage: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> list[p9.ggplot]:
    """Figure of coverage against the number of units, a panel per statistic.

    Colours tell the default interval from the one that textbooks take, types of lines how many cases a unit
    has. Points are cells of the atlas, lines the means of their scenarios; the band is 94 to 96 %.

    Parameters
    ----------
    coverage : DataFrame
        Of `datasets.load_coverage()`, or some of its rows; those of other intervals are not drawn.
    labels : Mapping, optional
        Labels and order of the column `statistic`.
    n_columns : int, optional
        Panels side by side.
    width : float, optional
        Width of the figure in mm; by default 89 for up to four panels, else 183.

    Returns
    -------
    Figure
        The figure, or its first page. Its `data` has columns `panel`, `line` and `percent`.

    Raises
    ------
    ColumnError
        A column is missing.
    SalstatsError
        No row of a default or a textbook interval has a coverage.

    Examples
    --------
    >>> import salstats as ss
    >>> figure = ss.plot_coverage(ss.datasets.load_coverage().query("statistic == 'mean'"))
    >>> figure.labels.y
    'Coverage of 95% intervals (%)'
    """
    frame = check_frame(coverage, "coverage")
    check_columns(frame, ["statistic", "role", "cluster", "n_units", "coverage", "n_studies"], "coverage")
    rows = frame[frame["role"].isin(_ROLES) & frame["coverage"].notna()]
    if rows.empty:
        raise SalstatsError("coverage has no row whose role is 'default' or 'textbook' with a coverage")
    rows, lines = _drawn(rows, Labels(labels, frame))
    means = rows.groupby(["panel", "line", "n_units"], observed=True, as_index=False)["percent"].mean()
    means = means[means.groupby(["panel", "line"], observed=True)["n_units"].transform("size") > 1]
    grid = panel_grid(list(rows["panel"].cat.categories), n_columns, width)
    height = grid.panel_height(_SHARE)
    fitting = legend_columns(list(lines), grid.width)
    ncol = fitting if fitting == len(lines) else min(fitting, rows["cluster"].nunique())
    sizes = sorted(rows["n_units"].unique())
    lowest = float(rows["percent"].min())
    # a guide of its own for each scale
    # a line of one point is none
    joined = [] if means.empty else [
        p9.geom_line(p9.aes(linetype="line"), means, size=0.6),
        p9.scale_linetype_manual([kind for _, kind in lines.values()], limits=list(lines), name=""),
        p9.guides(linetype=p9.guide_legend(ncol=ncol, byrow=True)),
    ]  # fmt: skip
    figure = (
        p9.ggplot(rows, p9.aes("n_units", "percent", color="line"))
        + p9.annotate(
            "rect", xmin=sizes[0] / 1.2, xmax=sizes[-1] * 1.2, ymin=_BAND[0], ymax=_BAND[1], fill="#DDDDDD"
        )
        + p9.geom_point(size=0.8, alpha=0.4, stroke=0, show_legend=means.empty)
        + joined
        + p9.scale_x_log10(
            breaks=sizes, labels=partial(_apart, length=grid.panel_width), minor_breaks=[], expand=(0, 0)
        )
        + p9.scale_y_continuous(
            breaks=lambda limits: axis_breaks(limits, 1.6 * height, across=False),
            labels=tick_texts,
            minor_breaks=[],
        )
        + grid.look(
            height,
            x="Units",
            y="Coverage of 95% intervals (%)",
            notes=_notes(rows, lowest),
            legend=list(lines),
        )
        + p9.scale_color_manual([colour for colour, _ in lines.values()], limits=list(lines), name="")
        + p9.guides(color=p9.guide_legend(ncol=ncol, byrow=True))
    )
    return grid.pages(figure, height)


def _drawn(rows: pd.DataFrame, names: Labels) -> tuple[pd.DataFrame, dict[str, tuple[str, Any]]]:
    """Rows with what they are drawn by, and colour and type of each line."""
    found = rows[["role", "cluster"]].drop_duplicates()
    present = set(found.itertuples(index=False, name=None))
    lines = {
        f"{role}, {cluster}": (PALETTE[i], LINETYPES[j])
        for i, (r, role) in enumerate(_ROLES.items())
        for j, (c, cluster) in enumerate(_CLUSTERS.items())
        if (r, c) in present
    }
    line = rows["role"].map(_ROLES).astype("str") + ", " + rows["cluster"].map(_CLUSTERS).astype("str")
    texts = {
        s: text[:1].upper() + text[1:] for s, text in names.texts("statistic", rows["statistic"]).items()
    }
    panel = pd.Categorical(rows["statistic"].map(texts), list(texts.values()), ordered=True)
    percent = (100 * rows["coverage"]).clip(lower=_FLOOR)
    return rows.assign(panel=panel, line=pd.Categorical(line, list(lines)), percent=percent), lines


def _apart(breaks: list[float], length: float) -> list[str]:
    """Numbers of units at an axis of logarithms of a length in mm, those that stand clear of each other."""
    shown: list[str] = []
    end, scale = -np.inf, length / (np.log(breaks[-1] / breaks[0]) or 1.0)
    for number in breaks:
        text = f"{number:.0f}"
        middle, half = scale * np.log(number / breaks[0]), text_mm(text) / 2
        shown.append(text if middle - half > end + 1 else "")
        end = middle + half if shown[-1] else end
    return shown


def _notes(rows: pd.DataFrame, lowest: float) -> list[str]:
    """Sentences under the figure."""
    return [
        f"Points: {count_range(rows['n_studies'])} simulated studies each; lines: means over scenarios.",
        "Grey: 94 to 96%.",
        "Lines tell how many cases units have; few huge: 1 to 5, but two units have 40."
        if rows["cluster"].eq("few huge").any()
        else "",
        f"Cells below {_FLOOR:.0f}% are drawn there." if lowest <= _FLOOR else "",
    ]
