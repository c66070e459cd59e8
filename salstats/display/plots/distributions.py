"""What the figures of distributions share: rows for combinations of values, ticks, counts, look."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.axis_ticks import tick_texts, whole_breaks
from salstats.display.plots.figure_rows import STRIPE, Rows
from salstats.display.plots.legends import legend_mm
from salstats.display.plots.text_fit import caption_mm, short_labels
from salstats.display.plots.theme import COLUMN_MM, PAGE_MM, figure_size, theme_salstats
from salstats.display.text.format import count_text, joined
from salstats.display.text.labels import Labels

#: Room of a panel's title, of its axis and the axis's title, and around the panels.
_STRIP_MM, _AXIS_MM, _TITLE_MM, _MARGIN_MM = 6.0, 6.0, 4.0, 4.0
#: Groups without a value that a caption names.
_NAMED = 4


def keys_of(frame: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """Each row's values of some columns, a tuple each."""
    keys = [tuple(key) for key in frame[list(columns)].itertuples(index=False)] if columns else []
    return pd.Series(keys or [()] * len(frame), index=frame.index, dtype=object)


def crossed_labels(frame: pd.DataFrame, columns: Sequence[str], names: Labels) -> dict[tuple[Any, ...], str]:
    """Label of each combination of values that there is, in the order they stand."""
    texts = {c: short_labels(names, c, frame[c]) for c in columns}
    places = {c: {value: i for i, value in enumerate(texts[c])} for c in columns}
    order = sorted(
        dict.fromkeys(keys_of(frame, columns)),
        key=lambda key: [places[c][v] for c, v in zip(columns, key, strict=True)],
    )
    return {key: ", ".join(texts[c][v] for c, v in zip(columns, key, strict=True)) for key in order}


def without(empty: pd.DataFrame, columns: Iterable[str], what: str, names: Labels) -> str:
    """Sentence that names the groups without a value, if there are any."""
    texts = [", ".join(names.value(c, row[c]) for c in columns) for row in empty.to_dict("records")]
    more = [f"{count_text(len(texts) - _NAMED)} more"] if len(texts) > _NAMED else []
    return f"Without {what}: {joined(['; '.join(texts[:_NAMED]), *more])}." if texts else ""


def stripes(rows: Rows) -> Any:
    """Fill of every other row, which leads the eye from the label to the boxes."""
    middle, half = rows.centres[1::2], rows.heights[1::2] / 2
    places = {"xmin": -np.inf, "xmax": np.inf, "ymin": middle - half, "ymax": middle + half}
    edges = {edge: edge for edge in places}
    return p9.geom_rect(p9.aes(**edges), data=pd.DataFrame(places), fill=STRIPE)


def look(
    rows: Rows, titles: Sequence[str], n_columns: int | None, legend: Sequence[str], caption: str
) -> list[Any]:
    """Panels, axes, theme and size of a figure whose x has a scale of its own in each panel."""
    columns, single = min(len(titles), n_columns or 2), len(titles) == 1
    down = -(-len(titles) // columns)
    height = down * (rows.height + _AXIS_MM + (0.0 if single else _STRIP_MM)) + _MARGIN_MM
    height += (_TITLE_MM if single else 0.0) + caption_mm(caption)
    height += legend_mm(legend) if legend else 0.0
    return [
        *([] if single else [p9.facet_wrap("panel", scales="free_x", ncol=columns)]),
        p9.scale_x_continuous(breaks=whole_breaks, labels=tick_texts),
        rows.scale(),
        p9.labs(x=titles[0] if single else "", y="", caption=caption),
        theme_salstats(),
        p9.theme(
            axis_ticks_major_y=p9.element_blank(),
            axis_ticks_minor=p9.element_blank(),
            axis_line_y=p9.element_blank(),
            axis_title_y=p9.element_blank(),
            legend_key_size=8,
            plot_caption_position="plot",
        ),
        *([] if single else [p9.theme(axis_title_x=p9.element_blank())]),
        figure_size(PAGE_MM if columns > 1 else COLUMN_MM, height),
    ]
