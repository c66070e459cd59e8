"""The tools compared: the cases, Table 1, Figs. 7 and 8, empty explanations, differences, failures."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9
from great_tables import GT

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.facts import interval_name, interval_note, paragraph
from salstats.display.tables import notes
from salstats.display.tables.record import Column
from salstats.display.text.format import (
    MISSING,
    count_range,
    count_text,
    fixed_text,
    interval_text,
    joined,
    limits_text,
)
from salstats.display.text.labels import Labels
from salstats.metrics.registry import METRICS
from salstats.readers.case_images import ImageSource
from salstats.scoring.distances import DISTANCES
from salstats.studies.engine import Cell, Result, table_of
from salstats.studies.mrxai2025.cases import LEFT_OUT, NAMES, ComparedScores, failed, in_note
from salstats.studies.mrxai2025.estimates import (
    BY,
    ComparisonOptions,
    differences,
    means,
    sensitivity,
    unit_of,
)
from salstats.study import Study

#: Identifier of the tables.
TABLE_ID = "mrxai2025"
#: Metric of the share of empty explanations.
EMPTY_SHARE = "empty_explanation"
#: What the penalised Dice of the tools is, as the study has it.
UNPENALISED = "Penalised Dice has no size penalty here (alpha = beta = 0), as printed."
#: What stands beside an estimate in Table 1.
_BESIDE = ("sd", "n_cases", "n_empty", "share_empty", "n_not_given")
#: Both runs, by what stands before their columns.
RUNS = {"": "Left out", "worst_": "At worst"}
#: Height of a panel without its rows, of a row, and of a page.
_PANEL_MM, _ROW_MM, _PAGE_MM = 17.0, 5.0, 225.0


@dataclass(frozen=True)
class Comparison:
    """Tools that are compared."""

    #: Of `keep_cases`.
    scored: ComparedScores
    options: ComparisonOptions
    #: Means as the study printed them: `method, dice_mean, dice_sd`.
    printed: pd.DataFrame | None = None
    #: What was scored, for examples.
    study: Study | None = None
    #: As for `at_worst`.
    diagonals: pd.Series | None = None
    #: The images behind the explanations.
    images: ImageSource | None = None
    #: Millimetres per pixel, for the scale bars.
    spacing: float | None = None

    @property
    def kept(self) -> pd.DataFrame:
        """The scores of the cases compared."""
        return self.scored.kept

    @property
    def labels(self) -> dict[str, Any]:
        """Labels of tools and metrics, distances with their unit."""
        held = self.kept["distance_unit"].dropna().unique() if "distance_unit" in self.kept else []
        unit = f" ({held[0]})" if len(held) == 1 else ""
        return {**NAMES, **{name: f"{METRICS[name].label}{unit}" for name in DISTANCES}}

    @property
    def names(self) -> Labels:
        """The labels as tables and figures take them."""
        return Labels(self.labels, self.kept)


def compared(make: Callable[[Comparison], Result]) -> Callable[[Any], Result]:
    """An item of a comparison, which says of which cases it is and what its Penalised Dice is."""

    def made(data: Any) -> Result:
        own: Comparison = data.comparison
        found = make(own)
        which = "finding present"
        if own.scored.by_model:
            which = f"finding present, model right ({own.scored.cutoff:g})"
        # that the penalised Dice is a reconstruction, every table of it says itself
        shows_pdc = make is not cases and "pdc" in set(found.frame["metric"])
        sentences = []
        if found.note:
            sentences.append(f"{found.note.rstrip('.')}.")
        if shows_pdc and own.options.unpenalised:
            sentences.append(UNPENALISED)
        return replace(found, slice=found.slice or which, note=in_note(*sentences))

    return made


def cases(own: Comparison) -> Result:
    """The flow of cases: which are left out, and why."""
    scored = own.scored
    # a single tool has no pairs with a reference
    several = scored.everything["method"].nunique() > 1
    reference = own.options.reference if several else None
    flow = ss.case_flow(scored.everything, reference=reference, unit=unit_of(scored.everything))
    first = scored.everything.drop_duplicates("case")
    by_case = scored.everything.groupby("case")["reason"].first()
    reasons = first["case"].map(by_case).where(lambda r: r.isin(LEFT_OUT))
    parts = {"In the file": first}
    for reason in LEFT_OUT:
        parts[reason.capitalize()] = first[reasons == reason]
    parts = {text: rows for text, rows in parts.items() if len(rows)}
    parts["Compared"] = first[reasons.isna()]
    units = {"Cases": "case"}
    if unit_of(first) == "patient":
        units["Patients"] = "patient"
    counts = [(text, *(rows[c].nunique() for c in units.values())) for text, rows in parts.items()]
    table = table_of(
        pd.DataFrame(counts, columns=["part", *units.values()]),
        TABLE_ID,
        {"Cases": "part"},
        units,
        rows_with_rule_above={len(counts) - 1},
    )
    return Result(
        flow,
        table,
        ss.plot_flow(flow, labels=own.names, width=183),
        slice="every case",
        note=_model_note(scored),
    )


def _model_note(scored: ComparedScores) -> str:
    """By what cases are left out."""
    if not scored.by_model:
        return (
            "No probability of the model is known, so that no case is left out for its mistakes; cases "
            "without the finding have no truth to compare with."
        )
    return (
        f"The model says that the finding is there from a probability of {scored.cutoff:g} on. Cases it "
        "gets wrong are left out, as are those without the finding: they have no truth to compare with. "
        "So nothing here speaks of explanations of wrong answers."
    )


def table_1(own: Comparison) -> Result:
    """Table 1: mean (SD) of each tool and metric."""
    kept, options, names = own.kept, own.options, own.names
    found = means(kept, options, own.printed)
    has_printed = bool(found["printed_mean"].notna().any())
    columns: dict[Any, Cell] = {"n": "n", Column("Empty, n (%)", align="right"): _empty_text}
    if found["n_not_given"].any():
        columns["Not given"] = "n_not_given"
    columns["Mean (SD)"] = lambda r: _spread(r.estimate, r.sd, digits_of(r.metric))
    if not options.as_published:
        columns[interval_name(read_estimates(found)) or "CI"] = _limits
    if has_printed:
        columns["Printed mean (SD)"] = lambda r: _spread(r.printed_mean, r.printed_sd, 2, blank=True)
    table = table_of(
        in_order(found, names),
        TABLE_ID,
        {"Tool": lambda r: names.value("method", r.method)},
        columns,
        groups=lambda r: names.value("metric", r.metric),
        notes=[_note_of_table_1(found, names, options, has_printed=has_printed)],
    )
    note = "n says how many explanations have a score"
    if options.as_published:
        return Result(found, table, note=note)
    estimates = found.drop(columns=[*_BESIDE, "printed_mean", "printed_sd"])
    return Result(found, table, ss.plot_forest(estimates, labels=names), note=f"{note}{_patients_note(kept)}")


def _note_of_table_1(
    found: pd.DataFrame, names: Labels, options: ComparisonOptions, *, has_printed: bool
) -> str:
    """What has to be known to read Table 1."""
    sentences = []
    if not options.as_published:
        sentences.append(interval_note(read_estimates(found)))
    empty = "Empty: of the explanations given, those that mark nothing; they have no score here"
    differing = "Where n differs, means are of different cases and cannot be compared"
    if options.as_published:
        sentences += [f"{empty}.", f"{differing}."]
    else:
        sentences += [f"{empty}, see the sensitivity table.", f"{differing}: the paired differences can."]
    if not (found.groupby("metric")["n"].nunique() > 1).any():
        sentences.pop()
    if has_printed:
        sentences.append("Printed: as in the study, of its own cases, whose number is not at hand.")
    numbers = [column for column in ("sd", "conf_low") if column in found.columns]
    if found[numbers].isna().any(axis=None):
        sentences.append(notes.dash_note([[MISSING]]))
    return paragraph(*sentences, notes.how_note(read_estimates(found), names), notes.metric_note(found))


def _empty_text(row: Any) -> str:
    """How many explanations are empty, and their share of those given."""
    return f"{count_text(row.n_empty)} ({fixed_text(100 * row.share_empty, 1)})"


def figure_7(own: Comparison) -> Result:
    """Fig. 7: box plots."""
    kept, options, names = own.kept, own.options, own.names
    described = ss.describe(kept, by=BY, unit=unit_of(kept))
    n = {m: count_range(rows.to_numpy(float)) for m, rows in described.groupby("method")["n"]}
    tools = {
        m: f"{names.value('method', m)} (n = {n[m]})" for m in names.order("method", described["method"])
    }
    return Result(
        described,
        ss.table_describe(described, labels=names),
        ss.plot_box(kept, by=BY, reference=options.reference, labels=Labels({**own.labels, "method": tools})),
        note="explanations that are empty or not given have no score and are left out",
    )


def empties(own: Comparison) -> Result:
    """The share of empty explanations of each tool."""
    kept = own.kept
    rows = failed(kept)
    rows = rows[~rows["not_given"]]
    rows = rows.assign(metric=EMPTY_SHARE, score=rows["empty"].astype(np.float64)).reset_index(drop=True)
    found = ss.summarize(rows, by=BY, unit=unit_of(rows), interval="wilson")
    return Result(
        found,
        ss.table_estimates(found, n=True, directions={EMPTY_SHARE: "smaller"}, labels=own.names),
        ss.plot_forest(found, labels=own.names) + p9.labs(x="Share of empty explanations (95% CI)"),
        note="an explanation is empty where the tool marks nothing, or where its score is undefined and no "
        "reason is given; what was not given at all is not counted here",
    )


def paired(own: Comparison) -> Result:
    """The paired differences from the reference."""
    kept, options, names = own.kept, own.options, own.names
    found = differences(kept, options)
    floor = ""
    if read_estimates(found).only_value("test") == "bootstrap":
        least = f"{2 / (options.n_replicates + 1):.2g}"
        floor = f"; with {options.n_replicates:,} replicates P is {least} at least, before the correction"
    return Result(
        found,
        ss.table_decrease(found, labels=names),
        ss.plot_decrease(found, labels=names),
        note="pairs of two defined scores only: cases on which either tool failed do not count"
        f"{floor}{_patients_note(kept)}",
        title=f"Paired differences from {names.value('method', options.reference)}",
    )


def _limits(row: Any) -> str:
    """An interval alone."""
    return limits_text(row.conf_low, row.conf_high, digits_of(row.metric))


def _spread(mean: float, sd: float, digits: int, *, blank: bool = False) -> str:
    """Mean (SD)."""
    if np.isnan(mean):
        return "" if blank else MISSING
    return f"{fixed_text(mean, digits)} ({fixed_text(sd, digits)})"


def _patients_note(kept: pd.DataFrame) -> str:
    """That no patients are resampled, as the end of a note; nothing where they are."""
    return "" if unit_of(kept) == "patient" else "; no patients are known, so that intervals resample cases"


def failures(own: Comparison) -> Result:
    """Means and differences with failures left out, and at the worst score."""
    kept, options, names = own.kept, own.options, own.names
    found = sensitivity(kept, options, own.diagonals)
    lacking = ""
    missing = [m for m in dict.fromkeys(kept["metric"]) if m not in set(found["metric"])]
    if missing:
        metrics = joined([names.value("metric", m) for m in missing])
        lacking = f"; without a known worst score: {metrics} (a distance needs the size of the images)"
    changed = found[found["changed"].astype(bool)]
    verdicts = "no verdict changes"
    if len(changed):
        texts = [
            f"{names.value('metric', r.metric)} of {names.value('method', r.method)} ({r.verdict} \u2192 "
            f"{r.worst_verdict})"
            for r in changed.itertuples()
        ]
        verdicts = f"the verdict changes for {joined(texts)}"
    n_failed = int((failed(kept)[["empty", "not_given"]].any(axis=1)).sum())
    return Result(
        found,
        _table_sensitivity(found, options, names),
        _figure_sensitivity(found, own) if _differ(found).any() else None,
        note=f"{n_failed} explanations are empty or not given; at worst overlap and Penalised Dice are 0 and "
        f"a distance is the diagonal of the image; {verdicts}{lacking}",
    )


def _table_sensitivity(found: pd.DataFrame, options: ComparisonOptions, names: Labels) -> GT:
    """The table of both runs beside each other."""
    columns: dict[Any, Cell] = {}
    for before, run in RUNS.items():
        columns |= _run_columns(before, run, options)
    columns[Column("Verdict, where it changes", align="left")] = _change
    return table_of(
        in_order(found, names),
        TABLE_ID,
        {"Tool": lambda r: names.value("method", r.method)},
        columns,
        groups=lambda r: names.value("metric", r.metric),
        notes=[
            paragraph(
                f"Differences from {names.value('method', options.reference)}, paired; lower or higher where "
                "the interval excludes 0 and P is below .05 after Holm's correction in each run "
                f"({int(found['verdict'].notna().sum()) if 'verdict' in found else 0} tests).",
                "Left out: means of the scores that each tool has, differences of pairs of two defined "
                "scores. At worst: a failed explanation has overlap 0, and the image's diagonal as distance, "
                "which is a convention: such a mean says above all how often a tool failed.",
                notes.metric_note(found),
            )
        ],
    )


def _differ(found: pd.DataFrame) -> pd.Series:
    """Which rows are differences that the failures change."""
    if "verdict" not in found.columns:
        return pd.Series(False, index=found.index)
    return found["verdict"].notna() & (found["estimate"] != found["worst_estimate"])


def _run_columns(before: str, run: str, options: ComparisonOptions) -> dict[Any, Cell]:
    """The columns of one run: n, mean, and the difference with its interval, which the reference has not."""
    n, mean, *gap = (f"{before}{c}" for c in ("n", "mean", "estimate", "conf_low", "conf_high"))

    def gap_text(row: Any) -> str:
        estimate, low, high = (getattr(row, c) for c in gap)
        own = row.method == options.reference
        return "" if own else interval_text(estimate, low, high, digits_of(row.metric))

    return {
        Column("n", (run,)): lambda row: count_text(getattr(row, n)),
        Column("Mean", (run,)): lambda row: fixed_text(getattr(row, mean), digits_of(row.metric)),
        Column("Difference (95% CI)", (run,)): gap_text,
    }


def _change(row: Any) -> str:
    """Both verdicts where they differ."""
    return f"{row.verdict} \u2192 {row.worst_verdict}" if row.changed else ""


def _figure_sensitivity(found: pd.DataFrame, own: Comparison) -> p9.ggplot:
    """The differences that failures change, a panel per metric for as many as a page holds."""
    of_tools, names = found[_differ(found)], own.names
    metrics = list(dict.fromkeys(in_order(of_tools, names)["metric"]))
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
    order = Labels({**own.labels, "run": list(RUNS.values())})
    reference = names.value("method", own.options.reference)
    tools = list(dict.fromkeys(of_tools["method"]))
    # a single tool has no heading of its own
    whose = f"Difference of {names.value('method', tools[0])}" if len(tools) == 1 else "Difference"
    what = p9.labs(x=f"{whose} from {reference} (95% CI)")
    return ss.plot_forest(pd.concat(sides, ignore_index=True), labels=order) + what


def figure_8(own: Comparison) -> Result:
    """Fig. 8: the cases whose score is the worst, nearest the median and the mean, and the best, drawn."""
    assert own.study is not None
    method, metric = own.options.picked_by(own.kept)
    rows = own.kept[own.kept["metric"] == metric].reset_index(drop=True)
    picks = ss.pick_cases(rows, method=method, by="metric")
    names = own.names
    heading = names.value("metric", metric)
    table = table_of(
        picks,
        TABLE_ID,
        {"Pick": lambda r: r.pick.capitalize()},
        {"Case": "case", heading: ("score", 3)},
        notes=[paragraph(notes.how_note(read_estimates(picks, needed=()), names), notes.metric_note(picks))],
    )
    tool = names.value("method", method)
    figure = ss.plot_gallery(
        own.study, picks, scores=rows, metric=metric, images=own.images, spacing=own.spacing, labels=names
    )
    return Result(
        picks,
        table,
        figure,
        title=f"Fig. 8: examples picked by {heading} of {tool}",
        slice="cases compared",
        note=in_note(
            f"the case nearest to the worst, median, mean and best {heading} of {tool}; ties by name; an "
            "explanation that is empty has no score.",
            UNPENALISED if own.options.unpenalised and metric == "pdc" else "",
        ),
    )


def in_order(found: pd.DataFrame, names: Labels) -> pd.DataFrame:
    """Rows by metric and tool in the order they stand."""
    return found.sort_values(BY, key=lambda column: names.categorical(column.to_frame(), str(column.name)))


def digits_of(metric: str) -> int:
    """The decimals of a score."""
    return 1 if metric in DISTANCES else 3
