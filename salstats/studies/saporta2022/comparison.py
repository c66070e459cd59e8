"""Choices beside each other: as published and clustered, and the sensitivity table."""

import numpy as np
import pandas as pd
import plotnine as p9
from great_tables import GT

from salstats.display.plots.intervals import plot_intervals
from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import interval_text
from salstats.studies.items import Item
from salstats.studies.saporta2022.frames import FEATURES
from salstats.studies.saporta2022.words import feature, words


def comparison(rows: pd.DataFrame, main: str | None, cutoffs: str) -> Item:
    """Return every headline number as published and with patients as clusters; `cutoffs` ends the note."""
    columns = [c for c in ("metric", "outcome", "method", "task", "term") if c in rows]
    stub = [_capital(" · ".join(dict.fromkeys(words(row)))) for row in rows[columns].itertuples(index=False)]
    signed = rows[rows["conclusion_published"] != ""]
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
    )[["metric", "method", "task", "estimate", "conf_low", "conf_high"]]
    return Item(
        "as_published_and_clustered",
        "Every headline number as published and with patients as clusters",
        rows,
        _columns(
            rows,
            list(rows["item"]),
            stub,
            {"published": "As published", "": "Patients as clusters"},
            rows["item"] == "Extended Data 5-6",
        ),
        plot_intervals(both.assign(conf_level=0.95), labels={"iou": "Mean IoU"})
        + p9.labs(x="Decrease from human benchmark, % (95% CI)")
        if len(lost)
        else None,
        slice="as each item",
        note=f"the sign shown changes in {int(signed['changed'].sum())} of the {len(signed)} rows that have "
        "one (a mean has none); as published: mean of the replicates, order statistics, pairs of what either "
        "has, cases or rows for independent; patients as clusters: mean of the scores, complete pairs, "
        "Wilson's interval of a hit rate, as in each table; Table 2: features scaled over all tasks, as the "
        f"scripts have it; both have the same cut-offs{cutoffs}",
    )


def choices(rows: pd.DataFrame) -> Item:
    """Return the sensitivity table."""
    groups = [f"{row.row}. {row.question}" for row in rows.itertuples()]
    stub = [f"{_capital(r.quantity)}: {', '.join(words(r.of.split(', ')))}" for r in rows.itertuples()]
    signed = rows[rows["conclusion_published"] != ""]
    by_clusters = signed["conclusion_clustered"] != signed["conclusion_published"]
    counted = signed.assign(alone=by_clusters).groupby("row")[["changed", "alone"]].agg(["sum", "size"])
    said = ", ".join(
        f"{r} in {int(c['changed', 'sum'])} of {int(c['changed', 'size'])} rows "
        f"({int(c['alone', 'sum'])} with patients as clusters alone)"
        for r, c in counted.iterrows()
    )
    slopes = rows[(rows["row"] == "S3") & (rows["quantity"] == "slope")]
    return Item(
        "sensitivity",
        "Choices that may change a conclusion",
        rows,
        _columns(
            rows,
            groups,
            stub,
            {"published": "As published", "clustered": "The same, patients as clusters", "": "Other choice"},
            rows["quantity"].str.endswith("%"),
        ),
        _slopes_beside(slopes) if len(slopes) else None,
        slice="as each item",
        note="the other choice has patients as clusters too, so that it differs from the column before it in "
        f"the choice alone; the sign shown changes for {said or 'no row'}",
    )


def _slopes_beside(rows: pd.DataFrame) -> p9.ggplot:
    """Return the slopes of the features under both choices, a panel per outcome."""
    names = rows["of"].str.rpartition(", ")
    frame = pd.DataFrame({"outcome": names[0], "method": "As published", "task": names[2]})
    sides = [
        frame.assign(
            method=name,
            estimate=rows[f"{side}estimate"],
            conf_low=rows[f"{side or 'conf_'}low"],
            conf_high=rows[f"{side or 'conf_'}high"],
        )
        for side, name in (
            ("published_", "As published"),
            ("clustered_", "Patients as clusters"),
            ("", "And task effects"),
        )
    ]
    both = pd.concat(sides, ignore_index=True).assign(conf_level=0.95)
    labels = {"task": {f: feature(f) for f in FEATURES}, "outcome": list(dict.fromkeys(frame["outcome"]))}
    labels["method"] = list(dict.fromkeys(both["method"]))
    zero = p9.geom_vline(xintercept=0, color="#BBBBBB", size=0.4)
    said = "S3: features scaled over all tasks. Bars: 95% CI."
    return plot_intervals(both, labels=labels) + zero + p9.labs(x="Slope (95% CI)", caption=said)


def _columns(
    rows: pd.DataFrame, groups: list[str], stub: list[str], heads: dict[str, str], percent: pd.Series
) -> GT:
    """Return a table of intervals beside each other, and the signs that they show where these differ.

    `heads` are the headings by the first word of the columns; percentages have one decimal.
    """
    texts = []
    for (_, row), digits in zip(rows.iterrows(), np.where(percent, 1, 3), strict=True):
        sides = [
            [row[f"{h}_estimate" if h else "estimate"], *(row[f"{h or 'conf'}_{v}"] for v in ("low", "high"))]
            for h in heads
        ]
        signs = [row[f"conclusion_{h}" if h else "conclusion"] for h in heads]
        texts.append(
            [
                *(interval_text(e, low, high, int(digits), "nature") for e, low, high in sides),
                " → ".join(signs) if len(set(signs)) > 1 else "",
            ]
        )
    table = Table(
        ("",),
        [(s,) for s in stub],
        [*(Column(h) for h in heads.values()), Column("Sign shown, where it changes", align="left")],
        texts,
        groups=groups,
        notes=[
            "Estimate (95% CI). A sign is shown where the interval excludes 0 (features: and P after "
            "Bonferroni's correction is below .05). That one shows it and the other does not is no evidence "
            "that the two differ."
        ],
    )
    return build(table, "saporta2022")


def _capital(text: str) -> str:
    """Return a text that begins with a capital."""
    return f"{text[:1].upper()}{text[1:]}"
