"""Sentences on what was counted and on mean scores."""

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

from salstats.display.report.caveats import caveats
from salstats.display.report.wording import Words, decimals, listed, pooled_rows, spread
from salstats.display.text.format import count_range, count_text, counted, fixed_text, joined, percent_text
from salstats.errors import SalstatsWarning
from salstats.stats.case_flow import DEFINED, FILE, PAIRS, ROWS
from salstats.stats.engine.score_reasons import ABSENT_REASONS, UNDEFINED
from salstats.stats.missing_bounds import missing_bounds


def count_sentences(flow: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield what there was: cases, units, scores, those that are undefined, complete pairs."""
    file = flow[flow["stage"] == FILE].iloc[0]
    lost = flow["excluded"].astype(bool)
    branches = flow[~lost & (flow["stage"] == ROWS)]
    parts = [counted(file["n_tasks"], "task")] if "n_tasks" in flow.columns else []
    parts += [counted(branches[c].nunique(), c) for c in ("method", "metric") if c in branches.columns]
    cases = counted(file["n_cases"], "case")
    if words.settings.unit != "case":
        cases += f" of {counted(file['n_units'], words.unit)}"
    by_reason, n_absent = undefined_scores(flow)
    total, undefined = int(file["n_rows"]) - n_absent, int(by_reason.sum())
    defined = f" ({count_text(total - undefined)} of them defined)" if undefined else ""
    yield f"The analysis included {counted(total, 'score')}{defined} of {cases}, for {joined(parts)}."
    if undefined:
        share = percent_text(100 * undefined / total)
        verb = "was" if undefined == 1 else "were"
        yield f"Of the scores, {count_text(undefined)} ({share}) {verb} undefined{reasons(by_reason)}."
    else:
        yield "No score was undefined."
    if n_absent:
        yield f"Findings that are absent have no score ({counted(n_absent, 'further row')})."
    absent = int(flow.loc[lost & (flow["stage"] == ROWS), "n_rows"].sum())
    if absent:
        yield (
            f"For {counted(absent, 'further score')} there was no row, although another method had one for "
            "the same case."
        )
    pairs = flow.loc[~lost & (flow["stage"] == PAIRS), "n_rows"]
    if len(pairs):
        yield (
            f"Scores of a method beside a defined one of {words.method(words.settings.reference)}: "
            f"{count_range(pairs)} per method and metric."
        )


def undefined_scores(flow: pd.DataFrame) -> tuple[pd.Series, int]:
    """How many scores are undefined by each reason, and how many rows are of absent findings."""
    lost = flow[flow["excluded"].astype(bool) & (flow["stage"] == DEFINED)]
    n_rows = lost.groupby("reason", sort=False)["n_rows"].sum().sort_values(ascending=False, kind="stable")
    absent = n_rows.index.isin(ABSENT_REASONS)
    # a reason that no score of these branches has counts none
    return n_rows[~absent & (n_rows > 0)], int(n_rows[absent].sum())


def reasons(by_reason: pd.Series) -> str:
    """Counts of undefined scores by reason in brackets, where there is any but the plain one."""
    if set(by_reason.index) <= {UNDEFINED}:
        return ""
    named = {"no reason given" if r == UNDEFINED else r: n for r, n in by_reason.items()}
    return f" ({'; '.join(f'{reason}: {count_text(n)}' for reason, n in named.items())})"


def mean_sentences(frame: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield each metric's mean of every method, averaged over tasks where there are several."""
    for metric, rows in words.by_metric(frame):
        yield from _metric_means(words.metric(metric), rows, words)
    yield from bound_sentences(frame, words)
    yield from caveats(frame, words)


def bound_sentences(frame: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield how far means could move if undefined scores were known, where that is known."""
    if "weights" in frame.columns and frame["weights"].notna().any():
        return
    with warnings.catch_warnings():
        # of metrics without an end nothing is said
        warnings.simplefilter("ignore", SalstatsWarning)
        bounds = missing_bounds(frame)
    moves = []
    for metric, rows in words.by_metric(bounds):
        low, high = rows["estimate"] - rows["bound_low"], rows["bound_high"] - rows["estimate"]
        if (low > 0).any() or (high > 0).any():
            digits = decimals(rows["estimate"])
            down, up = (fixed_text(side.max(), digits) for side in (low, high))
            moves.append(f"at most {down} lower or {up} higher on {words.metric(metric)}")
    if moves:
        yield (
            "Had every undefined score been the worst or the best possible, means would have been "
            f"{joined(moves)}."
        )


def _metric_means(name: str, frame: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield the means of one metric, and which methods lack tasks that others have."""
    pooled = pooled_rows(frame)
    rows = words.ordered(frame[pooled] if pooled.any() else frame)
    has = rows["estimate"].notna().to_numpy()
    if not has.any():
        yield f"On {name}, no score was defined."
        return
    single = frame[~pooled & frame["estimate"].notna().to_numpy()]
    over = f" averaged over {counted(single['task'].nunique(), 'task')}" if pooled.any() else ""
    names = np.array([words.method(m) for m in rows["method"]], dtype=object)
    texts = words.estimates(rows[has], decimals(frame["estimate"]))
    means = spread(texts, list(names[has]), rows["estimate"][has], "methods")
    also = "" if has.all() else f", and undefined for {listed(list(names[~has]), 'methods')}"
    yield f"On {name}, the mean score{over} was {means}{also}."
    if pooled.any():
        tasks = single.groupby("method", sort=False)["task"].agg(set)
        every = set().union(*tasks)
        lacking = [
            f"{words.method(m)} has none in {listed(words.tasks(sorted(every - have)), 'tasks')}"
            for m, have in tasks.items()
            if every - have
        ]
        if lacking:
            yield f"Not every method has a defined score in each: {listed(lacking, 'methods lack tasks')}."
