"""The printed Tables 2 and 3 held against each other: which correlations follow, and what would make them."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from salstats.datasets import load_published
from salstats.display.tables import notes
from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import counted, fixed_text
from salstats.studies.items import Item
from salstats.studies.saliency_bench.frames import PRINTED
from salstats.studies.saliency_bench.printed_correlations import (
    check_correlations,
    digit_changes,
    shared_changes,
)
from salstats.studies.saliency_bench.words import TABLE_ID, in_order, labels_of

#: All that follows from it.
INCONSISTENT = "The two printed tables are inconsistent there."
_PLACES = {1: "first", 2: "second", 3: "third", 4: "fourth"}


def printed_items(labels: Mapping[str, Any]) -> list[Item]:
    """Return both checks of the printed tables: every correlation, and the smallest change."""
    values, printed = _ours(load_published("saliency_bench_table2")), load_published("saliency_bench_table3")
    printed = printed.assign(**{c: printed[c].map(PRINTED) for c in ("metric_1", "metric_2")})
    return [check_item(values, printed, labels), change_item(values, printed, labels)]


def check_item(values: pd.DataFrame, printed: pd.DataFrame, labels: Mapping[str, Any]) -> Item:
    """Return every printed correlation beside the one that the printed values give."""
    checked = check_correlations(values, printed)
    names = labels_of(values, labels)
    pair = [_pair(r, names) for r in checked.to_dict("records")]
    rows = checked.assign(pair=pair)
    order = {**labels, "pair": list(dict.fromkeys(pair))}
    rows = in_order(rows, ["pair", "model", "method"], labels_of(values, order)).reset_index(drop=True)
    cells = [
        [
            fixed_text(r["printed"], 4),
            fixed_text(r["recomputed"], 4),
            fixed_text(r["difference"], 4) if not r["agrees"] else "",
            "yes" if r["agrees"] else "last digit" if r["within_one"] else "no",
        ]
        for r in rows.to_dict("records")
    ]
    n_agree, n_rows = int(rows["agrees"].sum()), len(rows)
    by_pair = rows.groupby("pair", sort=False)["agrees"].agg(["sum", "size"])
    said = "; ".join(f"{p}: {int(r['sum'])} of {int(r['size'])}" for p, r in by_pair.iterrows())
    table = Table(
        ("Model", "Method"),
        [
            (names.value("model", m), names.value("method", s))
            for m, s in zip(rows["model"], rows["method"], strict=True)
        ],
        [Column("Printed"), Column("From Table 2"), Column("Difference"), Column("Agrees", align="left")],
        cells,
        groups=list(rows["pair"]),
        notes=[
            notes.paragraph(
                f"From Table 2: Pearson's r of the printed values over {int(rows['n'].iloc[0])} data sets, "
                f"rounded to four decimals. Agree: {n_agree} of {n_rows} ({said}).",
                INCONSISTENT if n_agree < n_rows else "",
            )
        ],
    )
    return Item(
        "table_3_check",
        "Printed Table 3 beside the correlations of the printed Table 2",
        rows.drop(columns="pair"),
        build(table, TABLE_ID),
        slice="as printed",
        note=f"{n_agree} of {n_rows} printed correlations follow from the printed values",
    )


def change_item(values: pd.DataFrame, printed: pd.DataFrame, labels: Mapping[str, Any]) -> Item:
    """Return the changes of a single digit that reconcile the tables, all found by trying every one."""
    checked = check_correlations(values, printed)
    changes = digit_changes(values, printed)
    shared = shared_changes(changes, checked)
    names = labels_of(values, labels)
    found = changes.merge(
        shared[["dataset", "metric", "place", "n_groups", "everywhere"]],
        on=["dataset", "metric", "place"],
        how="left",
        validate="m:1",
    )
    found = in_order(found, ["model", "method"], names).reset_index(drop=True)
    table = Table(
        ("Model", "Method"),
        [
            (names.value("model", m), names.value("method", s))
            for m, s in zip(found["model"], found["method"], strict=True)
        ]
        or [("", "")],
        [Column(h, align="left") for h in ("Data set", "Metric")]
        + [Column("Decimal", align="right"), Column("Printed"), Column("Instead")]
        + [Column("Correlations that then agree", align="right")],
        [
            [
                names.value("dataset", r["dataset"]),
                names.value("metric", r["metric"]),
                _PLACES.get(r["place"], str(r["place"])),
                fixed_text(r["value"], 4),
                fixed_text(r["new_value"], 4),
                _agreeing(r),
            ]
            for r in found.to_dict("records")
        ]
        or [[""] * 6],
        notes=[notes.paragraph(*_story(values, checked, changes, shared, names))],
    )
    return Item(
        "table_3_change",
        "Smallest change of the printed Table 2 that gives the printed Table 3",
        found,
        build(table, TABLE_ID),
        slice="as printed",
        note="every other digit at every decimal of every printed value was tried, one at a time",
    )


def _story(
    values: pd.DataFrame, checked: pd.DataFrame, changes: pd.DataFrame, shared: pd.DataFrame, names: Any
) -> list[str]:
    """Return what the search found, in sentences."""
    groups = checked.groupby(["model", "method"])["within_one"].all()
    n_off = int((~groups).sum())
    if not n_off:
        return ["All printed correlations follow from the printed values; nothing is to be changed."]
    tried = int(values.groupby(["model", "method"]).size().max()) * 4 * 9
    said = [
        f"{n_off} of {len(groups)} models and methods have correlations that do not follow. For each, "
        f"every change of one decimal digit of one value was tried ({tried:,}); it has to make all its "
        "correlations agree, to one unit of the last decimal."
    ]
    per_group = changes.groupby(["model", "method"]).size() if len(changes) else pd.Series(dtype="int64")
    n_solved, most = len(per_group), int(per_group.max()) if len(per_group) else 0
    said.append(
        f"Such a change exists for {n_solved} of them"
        + (
            ", and for each only one."
            if n_solved and most == 1
            else f", at most {most} for one."
            if most
            else "."
        )
    )
    everywhere = shared[shared["everywhere"].astype(bool)] if len(shared) else shared
    if len(everywhere) == 1:
        one = everywhere.iloc[0]
        exactly = f"{int(one['n_exact'])} of {int(one['n_printed'])} correlations then are the printed ones"
        rest = int(one["n_printed"] - one["n_exact"])
        last = f", {rest} one unit of the last decimal off" if rest else ""
        said.append(
            f"All change the same place: {names.value('metric', one['metric'])} of "
            f"{names.value('dataset', one['dataset'])}, the {_PLACES.get(one['place'])} decimal "
            f"({counted(int(one['n_groups']), 'value')}); no other place does for all. {exactly}{last}."
        )
    elif len(everywhere):
        said.append(f"{len(everywhere)} places would each do for all of them.")
    else:
        said.append("No single place does for all of them.")
    return [*said, INCONSISTENT]


def _agreeing(row: Mapping[str, Any]) -> str:
    """Return how many correlations a change makes the printed ones."""
    rest = row["n_printed"] - row["n_exact"]
    return f"{row['n_exact']} of {row['n_printed']}" + (f" ({rest} to the last digit)" if rest else "")


def _pair(row: Mapping[str, Any], names: Any) -> str:
    """Return a pair of metrics in print."""
    return f"{names.value('metric', row['metric_1'])}\u2013{names.value('metric', row['metric_2'])}"


def _ours(table: pd.DataFrame) -> pd.DataFrame:
    """Return a printed table with the metrics' names of this package."""
    return table.assign(metric=table["metric"].map(PRINTED))
