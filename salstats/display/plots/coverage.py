"""Coverage of intervals by number of units: defaults and the intervals of textbooks."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.checks import check_columns, check_frame
from salstats.coded_text import TEXT
from salstats.display.plots.layout.axis_ticks import tick_texts, vertical_breaks
from salstats.display.plots.layout.figure import Figure, keep_call_in_figure
from salstats.display.plots.layout.legends import n_legend_columns
from salstats.display.plots.layout.panel_grid import panel_grid
from salstats.display.plots.layout.text_fit import text_width_mm
from salstats.display.plots.layout.theme import LINETYPES, PALETTE, LineStyle
from salstats.display.text.format import capitalized, count_range_text
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError

#: Height of a panel as a multiple of its width.
_HEIGHT_TO_WIDTH = 0.9
#: Coverage in percent at which smaller coverage is drawn, too.
_LOWEST_PERCENT = 80.0
#: Least distance in mm between the texts of two numbers of units.
_TEXT_GAP_MM = 1.0
#: Ends of the grey band around the nominal coverage in percent.
_BAND = (94.0, 96.0)
#: Factor by which the band extends beyond the smallest and the largest number of units.
_BAND_MARGIN = 1.2
#: Text in the legend of each role of an interval, and of each number of cases in a unit.
_ROLES = {"default": "Default", "textbook": "Textbook"}
_CLUSTERS = {"1": "1 case", "1-5": "1 to 5", "few huge": "few huge", "as observed": "real scores"}


@keep_call_in_figure
def plot_coverage(
    coverage: pd.DataFrame,
    *,
    labels: Mapping[str, Any] | Labels | None = None,
    n_columns: int | None = None,
    width: float | None = None,
) -> Figure:
    """Draw coverage against the number of units, a panel per statistic.

    Colours tell the default interval from the one that textbooks take, types of lines how many cases a unit
    has. A point is a row of the frame, a simulated scenario; lines are means over scenarios, and the band is
    94 to 96 %.

    Parameters
    ----------
    coverage : DataFrame
        What `datasets.load_coverage()` returns, or some of its rows. Of these, only the rows of default and
        textbook intervals are drawn.
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
        raise SalstatsError(
            "coverage has no row whose role is 'default' or 'textbook' with a coverage",
            choices=_ROLES,
            column="role",
        )
    styles = _line_style_by_role_and_cluster_text(rows)
    rows = _with_panel_line_and_drawn_percent(rows, Labels(labels, frame), list(styles))
    means = rows.groupby(["panel", "line", "n_units"], observed=True, as_index=False)["percent"].mean()
    # a single mean makes no line
    n_means = means.groupby(["panel", "line"], observed=True)["n_units"].transform("size")
    means = means[n_means > 1]
    grid = panel_grid(list(rows["panel"].cat.categories), n_columns, width)
    height = grid.panel_height(_HEIGHT_TO_WIDTH)
    legend = list(styles)
    n_keys = n_legend_columns(legend, grid.width)
    if n_keys < len(legend):
        # a row of keys for each role
        n_keys = min(n_keys, rows["cluster"].nunique())
    line_layers: list[Any] = []
    if len(means):
        linetypes = [style.linetype for style in styles.values()]
        line_layers = [
            p9.geom_line(p9.aes(linetype="line"), means, size=0.6),
            p9.scale_linetype_manual(linetypes, limits=legend, name=""),
            # scales that share one guide object would show the keys of the last scale only
            p9.guides(linetype=p9.guide_legend(ncol=n_keys, byrow=True)),
        ]
    sizes = sorted(rows["n_units"].unique())
    figure = (
        Figure(rows, p9.aes("n_units", "percent", color="line"))
        + p9.annotate(
            "rect",
            xmin=sizes[0] / _BAND_MARGIN,
            xmax=sizes[-1] * _BAND_MARGIN,
            ymin=_BAND[0],
            ymax=_BAND[1],
            fill="#DDDDDD",
        )
        + p9.geom_point(size=0.8, alpha=0.4, stroke=0, show_legend=means.empty)
        + line_layers
        + p9.scale_x_log10(
            breaks=sizes,
            labels=partial(_n_units_tick_texts, length_mm=grid.panel_width),
            minor_breaks=[],
            expand=(0, 0),
        )
        + p9.scale_y_continuous(
            breaks=partial(vertical_breaks, height_mm=height),
            labels=tick_texts,
            minor_breaks=[],
        )
        + grid.elements(
            height,
            x="Units",
            y="Coverage of 95% intervals (%)",
            notes=_caption_sentences(rows),
            legend=legend,
        )
        + p9.scale_color_manual([style.colour for style in styles.values()], limits=legend, name="")
        + p9.guides(color=p9.guide_legend(ncol=n_keys, byrow=True))
    )
    return grid.divided_into_pages(figure, height)


def _line_style_by_role_and_cluster_text(coverage: pd.DataFrame) -> dict[str, LineStyle]:
    """Return the style of the line of each role and cluster that occur, by its text in the legend.

    Colours tell roles apart, types of lines clusters.
    """
    combinations = set(coverage[["role", "cluster"]].itertuples(index=False, name=None))
    styles = {}
    for (role, role_label), colour in zip(_ROLES.items(), PALETTE, strict=False):
        for (cluster, cluster_label), linetype in zip(_CLUSTERS.items(), LINETYPES, strict=False):
            if (role, cluster) in combinations:
                styles[f"{role_label}, {cluster_label}"] = LineStyle(colour, linetype)
    return styles


def _with_panel_line_and_drawn_percent(rows: pd.DataFrame, labels: Labels, lines: list[str]) -> pd.DataFrame:
    """Return rows with their `panel`, their `line` (text in the legend) and the coverage in `percent`.

    `lines` are the texts of all lines, in order. Coverage below 80 % is drawn, and given here, as 80 %.
    """
    titles = {}
    for statistic, label in labels.label_by_value("statistic", rows["statistic"]).items():
        titles[statistic] = capitalized(label)
    panel = pd.Categorical(rows["statistic"].map(titles), list(titles.values()), ordered=True)
    roles = rows["role"].map(_ROLES).astype(TEXT)
    clusters = rows["cluster"].map(_CLUSTERS).astype(TEXT)
    percent = 100 * rows["coverage"]
    return rows.assign(
        panel=panel,
        line=pd.Categorical(roles + ", " + clusters, lines),
        percent=percent.clip(lower=_LOWEST_PERCENT),
    )


def _n_units_tick_texts(breaks: list[float], length_mm: float) -> list[str]:
    """Return the text of each number of units, "" for one that would overlap the text before.

    `breaks` are the numbers at a logarithmic axis of a length in mm.
    """
    texts = []
    last_end = -np.inf
    # a single number would lead to a division by zero
    log_span = np.log(breaks[-1] / breaks[0]) or 1.0
    for number in breaks:
        text = f"{number:.0f}"
        centre = length_mm * np.log(number / breaks[0]) / log_span
        half_width = text_width_mm(text) / 2
        if centre - half_width > last_end + _TEXT_GAP_MM:
            texts.append(text)
            last_end = centre + half_width
        else:
            texts.append("")
    return texts


def _caption_sentences(coverage: pd.DataFrame) -> list[str]:
    """Return the sentences of the caption."""
    notes = [
        f"Points: {count_range_text(coverage['n_studies'])} simulated studies each; lines: means over "
        "scenarios.",
        "Grey: 94 to 96%.",
    ]
    if coverage["cluster"].eq("few huge").any():
        notes.append("Lines tell how many cases units have; few huge: 1 to 5, but two units have 40.")
    if coverage["percent"].min() <= _LOWEST_PERCENT:
        notes.append(f"Coverage below {_LOWEST_PERCENT:.0f}% is drawn at {_LOWEST_PERCENT:.0f}%.")
    return notes
