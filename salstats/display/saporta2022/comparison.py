"""Two choices beside each other: as published and clustered, and the sensitivity table."""

import pandas as pd
import plotnine as p9
from great_tables import GT

from salstats.display.format import interval_text
from salstats.display.items import Item
from salstats.display.plots.intervals import plot_intervals
from salstats.display.saporta2022.frames import FEATURES
from salstats.display.saporta2022.words import feature, words
from salstats.display.tables.layout import Column, Table, build


def comparison(rows: pd.DataFrame, main: str) -> Item:
    """Return every headline number as published and with patients as clusters."""
    columns = [c for c in ("metric", "outcome", "method", "task", "term") if c in rows]
    stub = [" · ".join(dict.fromkeys(words(row))) for row in rows[columns].itertuples(index=False)]
    changed = int(rows["changed"].sum())
    lost = rows[(rows["item"] == "Extended Data 5-6") & (rows["method"] == main)]
    both = pd.concat(
        [
            lost.assign(
                method="As published",
                estimate=lost["published_estimate"],
                conf_low=lost["published_low"],
                conf_high=lost["published_high"],
            ),
            lost.assign(method="Patients as clusters"),
        ],
        ignore_index=True,
    )[["metric", "method", "task", "term", "estimate", "conf_low", "conf_high"]]
    return Item(
        "as_published_and_clustered",
        "Every headline number as published and with patients as clusters",
        rows,
        _two_columns(rows, list(rows["item"]), stub, "As published", "Patients as clusters"),
        plot_intervals(both.drop(columns="term").assign(conf_level=0.95), labels={"iou": "Mean IoU"})
        + p9.labs(x="Decrease from human benchmark, % (95% CI)"),
        slice="as each item",
        note=f"{changed} of {len(rows)} conclusions change; as published: mean of the replicates, order "
        "statistics, cases or rows for independent",
    )


def choices(rows: pd.DataFrame) -> Item:
    """Return the sensitivity table."""
    groups = [f"{row.row}. {row.question}" for row in rows.itertuples()]
    stub = [
        f"{row.quantity[0].upper()}{row.quantity[1:]}: {', '.join(words(row.of.split(', ')))}"
        for row in rows.itertuples()
    ]
    by_row = rows.groupby("row")["changed"].agg(["sum", "size"])
    said = ", ".join(f"{r} {int(c['sum'])} of {int(c['size'])}" for r, c in by_row.iterrows())
    return Item(
        "sensitivity",
        "Choices that may change a conclusion",
        rows,
        _two_columns(rows, groups, stub, "As published", "Other choice"),
        _slopes_beside(rows[(rows["row"] == "S3") & (rows["quantity"] == "slope")]),
        slice="as each item",
        note=f"conclusions that change: {said}",
    )


def _slopes_beside(rows: pd.DataFrame) -> p9.ggplot:
    """Return the slopes of the features under both choices, a panel per outcome."""
    names = rows["of"].str.rpartition(", ")
    frame = pd.DataFrame({"outcome": names[0], "method": "As published", "task": names[2]})
    named = {"estimate": "published_estimate", "conf_low": "published_low", "conf_high": "published_high"}
    sides = [
        frame.assign(method=method, **{c: rows[own.get(c, c)] for c in named})
        for method, own in (("As published", named), ("Task effects, patients as clusters", {}))
    ]
    both = pd.concat(sides, ignore_index=True).assign(conf_level=0.95)
    labels = {"task": {f: feature(f) for f in FEATURES}, "outcome": list(dict.fromkeys(frame["outcome"]))}
    zero = p9.geom_vline(xintercept=0, color="#BBBBBB", size=0.4)
    return plot_intervals(both, labels=labels) + zero + p9.labs(x="Slope (95% CI)")


def _two_columns(rows: pd.DataFrame, groups: list[str], stub: list[str], first: str, second: str) -> GT:
    """Return a table of two intervals beside each other and whether the sign that is shown changes."""
    texts = [
        [
            interval_text(r.published_estimate, r.published_low, r.published_high, 3, "nature"),
            interval_text(r.estimate, r.conf_low, r.conf_high, 3, "nature"),
            f"{r.conclusion_published} → {r.conclusion}" if r.changed else "",
        ]
        for r in rows.itertuples()
    ]
    table = Table(
        ("",),
        [(s,) for s in stub],
        [Column(first), Column(second), Column("Conclusion changes", align="left")],
        texts,
        groups=groups,
        notes=["Estimate (95% CI). A conclusion is the sign, where the interval excludes 0 (features: and P "
               "after Bonferroni's correction is below .05)."],
    )  # fmt: skip
    return build(table, "saporta2022")
