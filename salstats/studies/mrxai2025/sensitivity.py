"""Failed explanations left out, or at the worst score: what changes."""

from typing import Any

import pandas as pd
import plotnine as p9
from great_tables import GT

from salstats.display.plots.forest import plot_forest
from salstats.display.tables import notes
from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import MISSING, count_text, fixed_text, interval_text, joined
from salstats.display.text.labels import Labels
from salstats.studies.items import Item
from salstats.studies.mrxai2025.cases import failed
from salstats.studies.mrxai2025.estimates import BY, Choice, sensitivity
from salstats.studies.mrxai2025.words import TABLE_ID, digits_of, in_order

#: Both runs, by what stands before their columns.
RUNS = {"": "Left out", "worst_": "At worst"}
#: Height of a panel without its rows, of a row, and of a page.
_PANEL_MM, _ROW_MM, _PAGE_MM = 17.0, 5.0, 225.0


def sensitivity_item(
    kept: pd.DataFrame, choice: Choice, labels: dict[str, Any], diagonals: pd.Series | None
) -> Item:
    """Return means and differences with failures left out, and at the worst score."""
    found = sensitivity(kept, choice, diagonals)
    names = Labels(labels)
    missing = [m for m in dict.fromkeys(kept["metric"]) if m not in set(found["metric"])]
    whose = joined([names.value("metric", m) for m in missing])
    lacking = f"; without a known worst score: {whose} (a distance needs the size of the images)"
    lacking = lacking if missing else ""
    changed = found[found["changed"].astype(bool)]
    texts = [
        f"{names.value('metric', r.metric)} of {names.value('method', r.method)} ({r.verdict} \u2192 "
        f"{r.worst_verdict})"
        for r in changed.itertuples()
    ]
    verdicts = f"the verdict changes for {joined(texts)}" if texts else "no verdict changes"
    n_failed = int((failed(kept)[["empty", "not_given"]].any(axis=1)).sum())
    return Item(
        "sensitivity",
        "Failed explanations left out, or at the worst score",
        found,
        _table_sensitivity(found, choice, names),
        _figure_sensitivity(found, choice, labels) if _differ(found).any() else None,
        slice="",
        note=f"{n_failed} explanations are empty or not given; at worst overlap and Penalised Dice are 0 and "
        f"a distance is the diagonal of the image; {verdicts}{lacking}",
    )


def _table_sensitivity(found: pd.DataFrame, choice: Choice, names: Labels) -> GT:
    """Return the table of both runs beside each other."""
    rows = in_order(found, names)
    ci = "Difference (95% CI)"
    heads = tuple(RUNS.values())
    columns = [Column(h, (side,)) for side in heads for h in ("n", "Mean", ci)]
    cells = [[*_side(row, "", choice), *_side(row, "worst_", choice), _change(row)] for row in rows]
    table = Table(
        ("Tool",),
        [(names.value("method", row["method"]),) for row in rows] or [("",)],
        [*columns, Column("Verdict, where it changes", align="left")],
        cells or [[MISSING] * 7],
        groups=[names.value("metric", row["metric"]) for row in rows],
        notes=[
            notes.paragraph(
                f"Differences from {names.value('method', choice.reference)}, paired; lower or higher where "
                "the interval excludes 0 and P is below .05 after Holm's correction in each run "
                f"({int(found['verdict'].notna().sum()) if 'verdict' in found else 0} tests).",
                "Left out: means of the scores that each tool has, differences of pairs of two defined "
                "scores. At worst: a failed explanation has overlap 0, and the image's diagonal as distance, "
                "which is a convention: such a mean says above all how often a tool failed.",
                notes.metric_note(found),
            )
        ],
    )
    return build(table, TABLE_ID)


def _differ(found: pd.DataFrame) -> pd.Series:
    """Return which rows are differences that the failures change."""
    if "verdict" not in found.columns:
        return pd.Series(False, index=found.index)
    return found["verdict"].notna() & (found["estimate"] != found["worst_estimate"])


def _side(row: dict[str, Any], before: str, choice: Choice) -> list[str]:
    """Return the cells of one run: n, mean, and the difference with its interval."""
    digits = digits_of(row)
    estimate, low, high = (row[f"{before}{c}"] for c in ("estimate", "conf_low", "conf_high"))
    gap = interval_text(estimate, low, high, digits, "nature")
    text = "" if row["method"] == choice.reference else gap
    return [count_text(row[f"{before}n"]), fixed_text(row[f"{before}mean"], digits), text]


def _change(row: dict[str, Any]) -> str:
    """Return both verdicts where they differ."""
    return f"{row['verdict']} \u2192 {row['worst_verdict']}" if row["changed"] else ""


def _figure_sensitivity(found: pd.DataFrame, choice: Choice, labels: dict[str, Any]) -> p9.ggplot:
    """Return the differences that failures change, a panel per metric for as many as a page holds."""
    of_tools = found[_differ(found)]
    metrics = [row["metric"] for row in in_order(of_tools, Labels(labels))]
    metrics = list(dict.fromkeys(metrics))
    # a heading and a row for each run
    tall = _PANEL_MM + 3 * _ROW_MM * of_tools["method"].nunique()
    of_tools = of_tools[of_tools["metric"].isin(metrics[: max(int(_PAGE_MM // tall), 1)])]
    shown = ("estimate", "conf_low", "conf_high", "conf_level", "interval", "unit")
    sides = []
    for before, run in RUNS.items():
        side = of_tools[BY].assign(run=run, term="difference")
        sides.append(
            side.assign(**{c: of_tools[f"{before}{c}"] for c in shown}, n=of_tools[f"{before}n_pairs"])
        )
    order = Labels({**labels, "run": list(RUNS.values())})
    reference = Labels(labels).value("method", choice.reference)
    tools = list(dict.fromkeys(of_tools["method"]))
    # a single tool has no heading of its own
    whose = f"Difference of {Labels(labels).value('method', tools[0])}" if len(tools) == 1 else "Difference"
    what = p9.labs(x=f"{whose} from {reference} (95% CI)")
    return plot_forest(pd.concat(sides, ignore_index=True), labels=order) + what
