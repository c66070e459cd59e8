"""Rank stability: the place of each method, and how it moves when cases or data sets are drawn again."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from salstats.display.tables import notes
from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import MISSING, count_range, fixed_text, limits_text, percent_text
from salstats.studies.items import Item
from salstats.studies.saliency_bench.dots import plot_dots
from salstats.studies.saliency_bench.words import TABLE_ID, in_order, labels_of, meant

#: What the limits are and are not.
_MEANING = (
    "Rank 1 is the best, ties share the average. Limits: between which ranks a method is in 95% of the "
    "replicates; they show how the ranking moves and are no intervals for true ranks."
)


def ranks_item(
    ranks: pd.DataFrame,
    labels: Mapping[str, Any],
    *,
    key: str,
    title: str,
    drawn: str,
    means: pd.DataFrame,
    printed: bool = False,
) -> Item:
    """Return ranks as a table and a figure.

    Parameters
    ----------
    ranks : DataFrame
        Of `rank_stability` by metric and model, and by data set where cases were drawn.
    labels : mapping
        As for `Labels`.
    key, title : str
        Of the item.
    drawn : str
        What was drawn again.
    means : DataFrame
        What was ranked, whose metrics tell the order.
    printed : bool
        Whether the means are printed ones.
    """
    names = labels_of(means, labels)
    by = [c for c in ("metric", "dataset", "model") if c in ranks.columns]
    rows = in_order(ranks, [*by, "method"], names).reset_index(drop=True)
    methods = names.order("method", rows["method"])
    inner = [c for c in by if c != "metric"]
    stub: list[tuple[str, ...]] = []
    groups, cells, bold = [], [], set()
    for row, (values, own) in enumerate(rows.groupby(by, sort=False, observed=True)):
        where = dict(zip(by, values, strict=True))
        groups.append(names.value("metric", where["metric"]))
        stub.append(tuple(names.value(c, where[c]) for c in inner))
        of = {r["method"]: r for r in own.to_dict("records")}
        first = max(r["share_first"] for r in of.values())
        bold |= {(row, j) for j, m in enumerate(methods) if m in of and of[m]["share_first"] == first}
        cells.append([*(_rank_text(of.get(m)) for m in methods), _tau_text(own)])
    n_replicates = f"{int(rows['n_replicates'].iloc[0]):,}"
    table = Table(
        tuple(names.column(c) if c != "dataset" else "Data set" for c in inner),
        stub,
        [*(Column(names.value("method", m), align="left") for m in methods), Column("\u03c4", align="left")],
        cells,
        groups=groups,
        bold=bold,
        notes=[
            notes.paragraph(
                f"Rank (limits; share of the replicates in which no method is better). {drawn} drawn again "
                f"{n_replicates} times, the same for all methods.",
                _MEANING,
                "Bold: the method that is first most often.",
                "\u03c4: Kendall's correlation of the drawn rankings with that of all, mean (95% of the "
                "replicates).",
                _units(rows),
                meant(names.order("metric", rows["metric"]), names),
                notes.dash_note(cells),
            )
        ],
    )
    most = int(rows["n_methods"].max())
    return Item(
        key,
        title,
        rows,
        build(table, TABLE_ID),
        plot_dots(
            rows,
            names=names,
            across="metric",
            down="dataset" if "dataset" in by else None,
            title="Rank (range of 95% of the replicates)",
            limits=(1, most),
            breaks=list(range(1, most + 1)) if most <= 10 else [1, most // 2, most],
            note=notes.paragraph(f"{drawn} drawn again {n_replicates} times.", _MEANING, _units(rows)),
        ),
        slice="as printed" if printed else "scores given",
        note="after challengeR, doi:10.1038/s41598-021-82017-6; of cases that all methods have a score of",
    )


def _units(rows: pd.DataFrame) -> str:
    """Return how many units a ranking rests on."""
    unit = str(rows["unit"].iloc[0]).replace("dataset", "data set")
    return f"Each ranking rests on {count_range(rows['n_units'])} {unit}s."


def _rank_text(row: dict[str, Any] | None) -> str:
    """Return a rank with its limits and the share of first places."""
    if row is None:
        return MISSING
    limits = limits_text(row["conf_low"], row["conf_high"], 1).replace(".0", "")
    rank = fixed_text(row["estimate"], 1).replace(".0", "")
    return f"{rank} ({limits}; {percent_text(100 * row['share_first'], 0)})"


def _tau_text(own: pd.DataFrame) -> str:
    """Return the agreement of the drawn rankings with that of all."""
    values: Sequence[float] = own[["tau", "tau_low", "tau_high"]].iloc[0].tolist()
    if values[0] != values[0]:
        return MISSING
    return f"{fixed_text(values[0], 2)} ({limits_text(values[1], values[2], 2)})"
