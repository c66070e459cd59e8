"""The tools compared: the cases, Table 1, Fig. 7, empty explanations and paired differences."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9

from salstats.display.plots.box import plot_box
from salstats.display.plots.decrease import plot_decrease
from salstats.display.plots.flow import plot_flow
from salstats.display.plots.forest import plot_forest
from salstats.display.tables import notes
from salstats.display.tables.decrease import table_decrease
from salstats.display.tables.describe import table_describe
from salstats.display.tables.estimates import table_estimates
from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import MISSING, count_range, count_text, fixed_text
from salstats.display.text.labels import Labels
from salstats.stats.case_flow import case_flow
from salstats.stats.summaries import describe, summarize
from salstats.studies.items import Item
from salstats.studies.mrxai2025.cases import LEFT_OUT, Scored, failed
from salstats.studies.mrxai2025.estimates import BY, Choice, differences, means, unit_of
from salstats.studies.mrxai2025.sensitivity import sensitivity_item
from salstats.studies.mrxai2025.words import (
    EMPTY_SHARE,
    TABLE_ID,
    UNPENALISED,
    digits_of,
    in_note,
    in_order,
    labels_of,
)


def comparison_items(
    scored: Scored,
    choice: Choice,
    *,
    printed: pd.DataFrame | None = None,
    diagonals: pd.Series | None = None,
) -> Iterator[Item]:
    """Yield the results of a comparison of tools.

    Parameters
    ----------
    scored : Scored
        Of `keep_cases`.
    choice : Choice
    printed : DataFrame, optional
        Means as the study printed them: `method, dice_mean, dice_sd`.
    diagonals : Series, optional
        As for `at_worst`.
    """
    kept = scored.kept
    labels = labels_of(kept)
    which = f"finding present, model right ({scored.cutoff:g})" if scored.by_model else "finding present"
    for item in (
        _cases(scored, choice, labels),
        _table_1(kept, choice, labels, printed),
        _boxes(kept, choice, labels),
        _empties(kept, choice, labels),
        _differences(kept, choice, labels),
        sensitivity_item(kept, choice, labels, diagonals),
    ):
        # that the penalised Dice is a reconstruction, every table of it says itself
        shows_pdc = item.key != "cases" and "pdc" in set(item.frame["metric"])
        penalty = UNPENALISED if choice.unpenalised and shows_pdc else ""
        note = in_note(f"{item.note.rstrip('.')}." if item.note else "", penalty)
        yield replace(item, slice=item.slice or which, note=note)


def _cases(scored: Scored, choice: Choice, labels: dict[str, Any]) -> Item:
    """Return the flow of cases: which are left out, and why."""
    flow = case_flow(scored.everything, reference=choice.reference, unit=unit_of(scored.everything))
    first = scored.everything.drop_duplicates("case")
    by_case = scored.everything.groupby("case")["reason"].first()
    reasons = first["case"].map(by_case).where(lambda r: r.isin(LEFT_OUT))
    lines = [("In the file", first), *((r.capitalize(), first[reasons == r]) for r in LEFT_OUT)]
    lines = [(text, rows) for text, rows in lines if len(rows)] + [("Compared", first[reasons.isna()])]
    known = unit_of(first) == "patient"
    table = Table(
        ("Cases",),
        [(text,) for text, _ in lines],
        [Column("Cases", align="right"), *([Column("Patients", align="right")] if known else [])],
        [
            [count_text(len(rows)), *([count_text(rows["patient"].nunique())] if known else [])]
            for _, rows in lines
        ],
        apart={len(lines) - 1},
    )
    return Item(
        "cases",
        "Cases that the tools are compared on",
        flow,
        build(table, TABLE_ID),
        plot_flow(flow, labels=Labels(labels), width=183),
        slice="every case",
        note=_model_note(scored),
    )


def _model_note(scored: Scored) -> str:
    """Return by what cases are left out."""
    if scored.by_model:
        return (
            f"The model says that the finding is there from a probability of {scored.cutoff:g} on. Cases it "
            "gets wrong are left out, as are those without the finding: they have no truth to compare with. "
            "So nothing here speaks of explanations of wrong answers."
        )
    return (
        "No probability of the model is known, so that no case is left out for its mistakes; cases without "
        "the finding have no truth to compare with."
    )


def _table_1(
    kept: pd.DataFrame, choice: Choice, labels: dict[str, Any], printed: pd.DataFrame | None
) -> Item:
    """Return Table 1: mean (SD) of each tool and metric."""
    found = means(kept, choice, printed)
    names = Labels(labels)
    rows = in_order(found, names)
    beside = bool(found["printed_mean"].notna().any())
    absent = bool(found["n_not_given"].any())
    columns = [
        Column("n", align="right"),
        Column("Empty, n (%)", align="right"),
        *([Column("Not given", align="right")] if absent else []),
        Column("Mean (SD)"),
        Column(notes.ci_text(found) or "CI"),
        *([Column("Printed mean (SD)")] if beside else []),
    ]
    cells = [
        [
            count_text(row["n"]),
            f"{count_text(row['n_empty'])} ({fixed_text(100 * row['share_empty'], 1)})",
            *([count_text(row["n_not_given"])] if absent else []),
            _spread(row["estimate"], row["sd"], digits_of(row)),
            _limits(row),
            *([_spread(row["printed_mean"], row["printed_sd"], 2, blank=True)] if beside else []),
        ]
        for row in rows
    ]
    table = Table(
        ("Tool",),
        [(names.value("method", row["method"]),) for row in rows],
        columns,
        cells,
        groups=[names.value("metric", row["metric"]) for row in rows],
        notes=[
            notes.paragraph(
                notes.interval_note(found),
                "Empty: of the explanations given, those that mark nothing; they have no score here, see "
                "the sensitivity table.",
                _of_other_cases(found),
                "Printed: as in the study, of its own cases." if beside else "",
                notes.dash_note(cells),
                notes.how_note(found, names),
                notes.metric_note(found),
            )
        ],
    )
    return Item(
        "table_1",
        "Table 1: mean (SD) of each tool and metric",
        found,
        build(table, TABLE_ID),
        plot_forest(_drawable(found), labels=Labels(labels)),
        slice="",
        note=f"n says how many explanations have a score{_patients_note(kept)}",
    )


def _of_other_cases(found: pd.DataFrame) -> str:
    """Return that means are not of the same cases, where they are not."""
    differ = (found.groupby("metric")["n"].nunique() > 1).any()
    return (
        "Where n differs, means are of different cases and cannot be compared: the paired differences can."
        if differ
        else ""
    )


def _drawable(found: pd.DataFrame) -> pd.DataFrame:
    """Return estimates without the columns that are none of an estimates frame."""
    special = ["sd", "n_cases", "n_empty", "share_empty", "n_not_given", "printed_mean", "printed_sd"]
    return found.drop(columns=special)


def _boxes(kept: pd.DataFrame, choice: Choice, labels: dict[str, Any]) -> Item:
    """Return Fig. 7: box plots."""
    described = describe(kept, by=BY, unit=unit_of(kept))
    return Item(
        "figure_7",
        "Fig. 7: scores of each tool and metric",
        described,
        table_describe(described, labels=Labels(labels)),
        plot_box(kept, by=BY, reference=choice.reference, labels=Labels(_with_n(described, labels))),
        slice="",
        note="explanations that are empty or not given have no score and are left out",
    )


def _with_n(described: pd.DataFrame, labels: dict[str, Any]) -> dict[str, Any]:
    """Return labels in which every tool says how many scores its boxes are of."""
    names = Labels(labels)
    n = described.groupby("method")["n"]
    of = {m: f"{names.value('method', m)} (n = {count_range(rows.to_numpy(float))})" for m, rows in n}
    return {**labels, "method": {m: of[m] for m in names.order("method", described["method"])}}


def _empties(kept: pd.DataFrame, choice: Choice, labels: dict[str, Any]) -> Item:
    """Return the share of empty explanations of each tool."""
    rows = failed(kept)
    rows = rows[~rows["not_given"]]
    rows = rows.assign(metric=EMPTY_SHARE, score=rows["empty"].astype(np.float64)).reset_index(drop=True)
    found = summarize(rows, by=BY, unit=unit_of(rows), interval="wilson")
    return Item(
        "empty",
        "Empty explanations: share of each tool",
        found,
        table_estimates(found, n=True, directions={EMPTY_SHARE: "smaller"}, labels=Labels(labels)),
        plot_forest(found, labels=Labels(labels)) + p9.labs(x="Share of empty explanations (95% CI)"),
        slice="",
        note="an explanation is empty where the tool marks nothing, or where its score is undefined and no "
        "reason is given; what was not given at all is not counted here",
    )


def _differences(kept: pd.DataFrame, choice: Choice, labels: dict[str, Any]) -> Item:
    """Return the paired differences from the reference."""
    found = differences(kept, choice)
    return Item(
        "differences",
        f"Paired differences from {Labels(labels).value('method', choice.reference)}",
        found,
        table_decrease(found, labels=Labels(labels)),
        plot_decrease(found, labels=Labels(labels)),
        slice="",
        note="pairs of two defined scores only: cases on which either tool failed do not count"
        f"{_floor_of_p(found, choice)}{_patients_note(kept)}",
    )


def _floor_of_p(found: pd.DataFrame, choice: Choice) -> str:
    """Return how small a P value of replicates can be, where it is one."""
    if notes.single(found, "test") != "bootstrap":
        return ""
    least = f"{2 / (choice.n_replicates + 1):.2g}"
    return f"; with {choice.n_replicates:,} replicates P is {least} at least, before the correction"


def _limits(row: dict[str, Any]) -> str:
    """Return an interval alone."""
    low, high = (fixed_text(row[c], digits_of(row)) for c in ("conf_low", "conf_high"))
    return MISSING if MISSING in (low, high) else f"{low}, {high}"


def _spread(mean: float, sd: float, digits: int, *, blank: bool = False) -> str:
    """Return mean (SD)."""
    if np.isnan(mean):
        return "" if blank else MISSING
    return f"{fixed_text(mean, digits)} ({fixed_text(sd, digits)})"


def _patients_note(kept: pd.DataFrame) -> str:
    """Return that no patients are resampled, as the end of a note; nothing where they are."""
    return "" if unit_of(kept) == "patient" else "; no patients are known, so that intervals resample cases"
