"""Tables 2 and 4: means by data set and model, the best method of each row in bold."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from salstats.display.tables import notes
from salstats.display.tables.layout import Column, Table, build
from salstats.display.tables.marks import best_rows
from salstats.display.text.format import MISSING, count_range, fixed_text
from salstats.display.text.labels import Labels
from salstats.studies.items import Item
from salstats.studies.saliency_bench.dots import plot_dots
from salstats.studies.saliency_bench.frames import CELL
from salstats.studies.saliency_bench.words import TABLE_ID, in_order, labels_of, meant

#: Decimals of means from scores, and of printed ones.
_DIGITS, _PRINTED_DIGITS = 3, 4


def table_2(means: pd.DataFrame, labels: Mapping[str, Any], *, printed: bool = False) -> Item:
    """Return Table 2: a row per data set and metric, a column per method, a group per model."""
    names = labels_of(means, labels)
    ordered = in_order(means, ["model", "dataset", "metric", "method"], names).reset_index(drop=True)
    best = best_rows(ordered, CELL, ["method"], [])
    methods = names.order("method", ordered["method"])
    digits = _PRINTED_DIGITS if printed else _DIGITS
    stub: list[tuple[str, ...]] = []
    groups, cells, bold = [], [], set()
    for row, (key, rows) in enumerate(
        ordered.groupby(["model", "dataset", "metric"], sort=False, observed=True)
    ):
        model, dataset, metric = key
        groups.append(names.value("model", model))
        stub.append((names.value("dataset", dataset), names.value("metric", metric)))
        places = {method: i for i, method in zip(rows.index, rows["method"], strict=True)}
        cells.append([fixed_text(rows["estimate"].get(places.get(m, -1)), digits) for m in methods])
        bold |= {(row, j) for j, m in enumerate(methods) if places.get(m) in best.rows}
    table = Table(
        ("Data set", "Metric"),
        stub,
        [Column(names.value("method", m)) for m in methods],
        cells,
        groups=groups,
        bold=bold,
        notes=[
            notes.paragraph(
                "Bold: the best of its row; methods whose means are equal are both.",
                meant(names.order("metric", ordered["metric"]), names),
                "" if printed else _counts(ordered),
                notes.dash_note(cells),
                notes.how_note(ordered, names),
                notes.metric_note(ordered),
            )
        ],
    )
    return Item(
        "table_2",
        f"Table 2{', as printed' if printed else ''}: mean scores by data set, model and method",
        ordered,
        build(table, TABLE_ID),
        _figure(ordered, names),
        slice="as printed" if printed else "scores given",
        note="the printed Table 2, nothing recomputed"
        if printed
        else "intervals stand in the frame and figure",
    )


def table_4(means: pd.DataFrame, labels: Mapping[str, Any], *, printed: bool = False) -> Item:
    """Return Table 4: models with one explanation of their own, a row per data set."""
    names = labels_of(means, labels)
    ordered = in_order(means, ["model", "dataset", "metric"], names).reset_index(drop=True)
    metrics = names.order("metric", ordered["metric"])
    digits = _PRINTED_DIGITS if printed else _DIGITS
    stub: list[tuple[str, ...]] = []
    groups, cells = [], []
    for (model, method, dataset), rows in ordered.groupby(
        ["model", "method", "dataset"], sort=False, observed=True
    ):
        groups.append(f"{names.value('model', model)}, {names.value('method', method)}")
        stub.append((names.value("dataset", dataset),))
        values = dict(zip(rows["metric"], rows["estimate"], strict=True))
        cells.append([fixed_text(values.get(m), digits) for m in metrics])
    table = Table(
        ("Data set",),
        stub,
        [Column(names.value("metric", m)) for m in metrics],
        cells,
        groups=groups,
        notes=[
            notes.paragraph(
                meant(metrics, names),
                "" if printed else _counts(ordered),
                notes.dash_note(cells),
                notes.how_note(ordered, names),
                notes.metric_note(ordered),
            )
        ],
    )
    return Item(
        "table_4",
        f"Table 4{', as printed' if printed else ''}: models with a single explanation, by data set",
        ordered,
        build(table, TABLE_ID),
        slice="as printed" if printed else "scores given",
        note="the printed Table 4, nothing recomputed" if printed else "",
    )


def _counts(means: pd.DataFrame) -> str:
    """Return how many scores a mean is of."""
    n = count_range(means["n"])
    return f"Each mean is of {n} scores of one data set, model, method and metric." if n != MISSING else ""


def _figure(means: pd.DataFrame, names: Labels) -> Any:
    """Return the means, a row of panels per data set."""
    low, high = float(means["estimate"].min()), float(means["estimate"].max())
    has_limits = "conf_low" in means.columns and bool(means["conf_low"].notna().any())
    if has_limits:
        low, high = min(low, float(means["conf_low"].min())), max(high, float(means["conf_high"].max()))
    inside = low >= 0 and high <= 1
    limits = (0.0, 1.0) if inside else (low, high)
    note = notes.interval_note(means) if has_limits else ""
    return plot_dots(
        means,
        names=names,
        across="metric",
        down="dataset",
        title=f"Mean ({notes.ci_text(means)})" if has_limits else "Mean",
        limits=limits,
        breaks=(0, 0.5, 1) if inside else (low, (low + high) / 2, high),
        note=note,
    )
