"""What the figures of distributions share: panels with axes of their own, sizes, empty groups."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import plotnine as p9

from salstats.checks import check_count
from salstats.display.plots.axis_ticks import axis_breaks, tick_texts
from salstats.display.plots.figure_rows import Rows
from salstats.display.plots.legends import legend_mm
from salstats.display.plots.text_fit import caption, caption_chars, caption_mm
from salstats.display.plots.theme import COLUMN_MM, PAGE_MM, figure_size, theme_salstats
from salstats.display.text.format import count_text, joined
from salstats.display.text.labels import Labels

#: Room of a panel's title, of its axis and the axis's title, and around the panels.
_STRIP_MM, _AXIS_MM, _TITLE_MM, _MARGIN_MM = 6.0, 6.0, 4.0, 4.0
#: Groups without a value that a caption names.
_NAMED = 4


def without(empty: pd.DataFrame, columns: Iterable[str], what: str, names: Labels) -> str:
    """Sentence that names the groups without a value, if there are any."""
    texts = [", ".join(names.value(c, row[c]) for c in columns) for row in empty.to_dict("records")]
    more = [f"{count_text(len(texts) - _NAMED)} more"] if len(texts) > _NAMED else []
    return f"Without {what}: {joined(['; '.join(texts[:_NAMED]), *more])}." if texts else ""


def look(
    rows: Rows, titles: Sequence[str], n_columns: int | None, legend: Sequence[str], notes: Iterable[str]
) -> list[Any]:
    """Panels, axes, theme and size of a figure whose x has a scale of its own in each panel."""
    single = len(titles) == 1
    columns = min(len(titles), check_count(2 if n_columns is None else n_columns, "n_columns"))
    width = PAGE_MM if columns > 1 else COLUMN_MM
    note = caption(notes, caption_chars(width, 3))
    height = -(-len(titles) // columns) * (rows.height + _AXIS_MM + _STRIP_MM * (not single)) + _MARGIN_MM
    return [
        *([] if single else [p9.facet_wrap("panel", scales="free_x", ncol=columns)]),
        p9.scale_x_continuous(breaks=axis_breaks, minor_breaks=[], labels=tick_texts),
        p9.labs(x=titles[0] if single else "", y="", caption=note),
        theme_salstats(),
        rows.layers(striped=False)[-1],
        p9.theme(legend_key_size=8),
        *([] if single else [p9.theme(axis_title_x=p9.element_blank())]),
        figure_size(width, height + _TITLE_MM * single + caption_mm(note) + legend_mm(legend, width)),
    ]
