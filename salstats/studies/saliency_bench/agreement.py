"""Table 3: how far two metrics agree over the data sets, with intervals that say how little is known."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from salstats.display.tables import notes
from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import MISSING, count_range, fixed_text, limits_text
from salstats.studies.items import Item
from salstats.studies.saliency_bench.dots import plot_dots
from salstats.studies.saliency_bench.words import TABLE_ID, in_order, labels_of, meant

#: Between the two metrics of a pair.
_AND = "\u2013"


def table_3(
    found: pd.DataFrame, means: pd.DataFrame, labels: Mapping[str, Any], *, printed: bool = False
) -> Item:
    """Return Table 3: correlations between metrics over data sets, a group of rows per pair.

    Parameters
    ----------
    found : DataFrame
        Of `frames.correlations`, with rows.
    means : DataFrame
        What they were made of.
    labels : mapping
        As for `Labels`.
    printed : bool
        Whether the means are printed ones.
    """
    metric_names = labels_of(means, labels)
    metrics = metric_names.order("metric", means["metric"])
    pairs = {
        f"{x} {y}": f"{metric_names.value('metric', x)}{_AND}{metric_names.value('metric', y)}"
        for i, x in enumerate(metrics)
        for y in metrics[i + 1 :]
    }
    names = labels_of(means, {**labels, "pair": pairs})
    rows = in_order(found.assign(pair=found["x"] + " " + found["y"]), ["pair", "method", "model"], names)
    rows = rows.reset_index(drop=True)
    models = names.order("model", rows["model"])
    limited = bool(rows["conf_low"].notna().any())
    heads = ["r", *([notes.ci_text(rows)] if limited else []), "n"]
    stub: list[tuple[str, ...]] = []
    groups, cells = [], []
    for (pair, method), own in rows.groupby(["pair", "method"], sort=False, observed=True):
        groups.append(names.value("pair", pair))
        stub.append((names.value("method", method),))
        by_model = {r["model"]: r for r in own.to_dict("records")}
        cells.append([text for m in models for text in _texts(by_model.get(m), heads)])
    table = Table(
        ("Method",),
        stub,
        [Column(h, (names.value("model", m),)) for m in models for h in heads],
        cells,
        groups=groups,
        notes=[
            notes.paragraph(
                "r: Pearson's correlation of two metrics' means over data sets; n: data sets.",
                _how_few(rows),
                notes.interval_note(rows) if limited else "",
                meant(metrics, names),
                notes.dash_note(cells),
            )
        ],
    )
    return Item(
        "table_3",
        f"Table 3{', from the printed Table 2' if printed else ''}: correlation of metrics over data sets",
        rows,
        build(table, TABLE_ID),
        plot_dots(
            rows,
            names=names,
            across="pair",
            down=None,
            title=f"Pearson's r over data sets ({notes.ci_text(rows)})" if limited else "Pearson's r",
            limits=(-1, 1),
            breaks=(-1, -0.5, 0, 0.5, 1),
            guide=0,
            note=notes.paragraph(_how_few(rows), notes.interval_note(rows) if limited else ""),
        ),
        slice="as printed" if printed else "means of data sets",
        note=f"n is {count_range(rows['n'])} data sets: "
        + ("see the intervals before reading a correlation" if limited else "too few for intervals"),
    )


def _how_few(rows: pd.DataFrame) -> str:
    """Return of how many data sets the correlations are, and how wide their intervals are for that."""
    n = count_range(rows["n"])
    limited = rows[rows["conf_low"].notna()]
    if limited.empty:
        return f"n = {n} data sets: too few for an interval (from 4 on), and for any conclusion."
    width = (limited["conf_high"] - limited["conf_low"]).median()
    holding = int(((limited["conf_low"] < 0) & (limited["conf_high"] > 0)).sum())
    return (
        f"n = {n} data sets: the median interval is {fixed_text(width, 2)} wide, and {holding} of "
        f"{len(limited)} hold 0."
    )


def _texts(row: dict[str, Any] | None, heads: Sequence[str]) -> list[str]:
    """Return r, its limits where any row has some, and n."""
    if row is None:
        return [MISSING] * len(heads)
    limits = [limits_text(row["conf_low"], row["conf_high"], 2)] if len(heads) > 2 else []
    return [fixed_text(row["estimate"], 4), *limits, count_range([row["n"]])]
