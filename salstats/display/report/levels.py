"""Sentences on what was counted and on mean scores."""

import numpy as np
import pandas as pd

from salstats.display.report.caveats import caveats
from salstats.display.report.model import Settings
from salstats.display.report.wording import (
    WRITTEN,
    between,
    decimals,
    estimate_texts,
    listed,
    method_words,
    metric_words,
    of_each,
    pooled_rows,
    unit_words,
)
from salstats.display.text.format import count_range, count_text, counted, joined, percent_text
from salstats.display.text.labels import Labels
from salstats.stats.carried import NOTHING_THERE, UNDEFINED
from salstats.stats.case_flow import DEFINED, FILE, PAIRS, ROWS


def count_sentences(flow: pd.DataFrame, settings: Settings, labels: Labels) -> tuple[str, ...]:
    """What there was: cases, units, scores, those that are undefined, complete pairs."""
    file = flow[flow["stage"] == FILE].iloc[0]
    left = flow[~flow["excluded"].astype(bool)]
    branches = left[left["stage"] == ROWS]
    parts = [counted(file["n_tasks"], "task")] if "n_tasks" in flow.columns else []
    parts.append(counted(branches["method"].nunique(), "method"))
    if "metric" in flow.columns:
        parts.append(counted(branches["metric"].nunique(), "metric"))
    cases = counted(file["n_cases"], "case")
    if settings.unit != "case":
        cases += f" of {counted(file['n_units'], unit_words(settings.unit)[0])}"
    by_reason, n_absent = undefined_scores(flow)
    total, undefined = int(file["n_rows"]) - n_absent, int(by_reason.sum())
    defined = f" ({count_text(total - undefined)} of them defined)" if undefined else ""
    found = [
        f"The analysis included {counted(total, 'score')}{defined} of {cases}, for {joined(parts)}.",
        _undefined(by_reason, total),
    ]
    if n_absent:
        found.append(f"Findings that are absent have no score ({counted(n_absent, 'further row')}).")
    lost = flow[flow["excluded"].astype(bool)]
    absent = int(lost.loc[lost["stage"] == ROWS, "n_rows"].sum())
    if absent:
        found.append(
            f"For {counted(absent, 'further score')} there was no row, although another "
            "method had one for the same case."
        )
    pairs = left.loc[left["stage"] == PAIRS, "n_rows"]
    if len(pairs) and settings.reference is not None:
        found.append(
            f"Pairs of defined scores of a method and {method_words(settings.reference, labels)}: "
            f"{count_range(pairs)} per method and metric."
        )
    return tuple(found)


def undefined_scores(flow: pd.DataFrame) -> tuple[pd.Series, int]:
    """How many scores are undefined by each reason, and how many rows are of absent findings."""
    lost = flow[flow["excluded"].astype(bool) & (flow["stage"] == DEFINED)]
    n_rows = lost.groupby("reason", sort=False)["n_rows"].sum().sort_values(ascending=False, kind="stable")
    absent = n_rows.index.isin(NOTHING_THERE)
    # a reason that no score of these branches has counts none
    return n_rows[~absent & (n_rows > 0)], int(n_rows[absent].sum())


def _undefined(by_reason: pd.Series, total: int) -> str:
    """How many scores are undefined, and the reasons where there are any but the plain one."""
    n = int(by_reason.sum())
    if not n:
        return "No score was undefined."
    named = {"no reason given" if r == UNDEFINED else r: count for r, count in by_reason.items()}
    reasons = "; ".join(f"{reason}: {count_text(count)}" for reason, count in named.items())
    why = f" ({reasons})" if list(by_reason.index) != [UNDEFINED] else ""
    verb = "was" if n == 1 else "were"
    return f"Of the scores, {count_text(n)} ({percent_text(100 * n / total)}) {verb} undefined{why}."


def mean_sentences(frame: pd.DataFrame, settings: Settings, labels: Labels) -> tuple[str, ...]:
    """Each metric's mean of every method, averaged over tasks where there are several."""
    written = [
        text
        for metric in labels.order("metric", frame["metric"])
        for text in _metric_means(metric, frame[frame["metric"] == metric], settings, labels)
    ]
    return (*written, *caveats(frame, settings))


def _metric_means(metric: str, frame: pd.DataFrame, settings: Settings, labels: Labels) -> list[str]:
    """Means of one metric; without an average over tasks, how far they range over them."""
    digits = decimals(frame["estimate"])
    pooled = pooled_rows(frame)
    methods = labels.order("method", frame["method"])
    name = metric_words(metric, labels)
    if not frame["estimate"].notna().any():
        return [f"On {name}, no score was defined."]
    if "task" not in frame.columns or frame["task"][~pooled].nunique() == 1:
        chosen, start = frame[~pooled], f"On {name}, the mean score was"
    elif pooled.any():
        chosen, start = frame[pooled], _averaged(name, frame, pooled)
    else:
        return [_ranges(name, frame[frame["method"] == m], m, settings, labels, digits) for m in methods]
    chosen = chosen.iloc[chosen["method"].map(methods.index).argsort(kind="stable").to_numpy()]
    defined = chosen["estimate"].notna().to_numpy()
    if not defined.any():
        return [f"{start} undefined."]
    texts = np.array(estimate_texts(chosen, settings, digits), dtype=object)
    names = np.array([method_words(m, labels) for m in chosen["method"]], dtype=object)
    without = f" and undefined for {listed(list(names[~defined]), 'methods')}" if not defined.all() else ""
    if defined.sum() <= WRITTEN:
        means = of_each(list(texts[defined]), list(names[defined]))
        return [f"{start} {means}{without}.", *_different_tasks(frame, pooled, labels)]
    values = chosen["estimate"].to_numpy()[defined]
    span = f"{between(list(texts[defined]), list(names[defined]), values)} among {int(defined.sum())} methods"
    return [f"{start} {span}{without}.", *_different_tasks(frame, pooled, labels)]


def _averaged(name: str, frame: pd.DataFrame, pooled: np.ndarray) -> str:
    """Start of a sentence on averages over tasks, with their number where it is the same."""
    tasks = frame[~pooled & frame["estimate"].notna().to_numpy()].groupby("method")["task"].nunique()
    over = f"{tasks.iloc[0]} tasks" if tasks.nunique() == 1 and tasks.iloc[0] > 1 else "tasks"
    return f"On {name}, the mean score averaged over {over} was"


def _different_tasks(frame: pd.DataFrame, pooled: np.ndarray, labels: Labels) -> list[str]:
    """Which methods lack scores in which tasks, where averages are not over the same ones."""
    if not pooled.any():
        return []
    single = frame[~pooled]
    tasks = {m: set(f["task"][f["estimate"].notna()]) for m, f in single.groupby("method", sort=False)}
    every = set().union(*tasks.values())
    lacking = [
        f"{method_words(m, labels)} had no defined score in "
        f"{listed([labels.value('task', t) for t in labels.order('task', every - have)], 'tasks')}"
        for m, have in tasks.items()
        if have and every - have
    ]
    if not lacking:
        return []
    return [f"These averages are not over the same tasks: {listed(lacking, 'methods lack tasks')}."]


def _ranges(
    name: str, rows: pd.DataFrame, method: str, settings: Settings, labels: Labels, digits: int
) -> str:
    """How far a method's means range over tasks."""
    words = method_words(method, labels)
    defined = rows[rows["estimate"].notna()]
    if defined.empty:
        return f"On {name}, no score of {words} was defined."
    texts = estimate_texts(defined, settings, digits)
    tasks = [labels.value("task", t) for t in defined["task"]]
    if len(defined) == 1:
        return f"On {name}, the mean score of {words} was {texts[0]} in {tasks[0]}."
    span = between(texts, tasks, defined["estimate"], "in")
    return f"On {name}, mean scores of {words} in {len(defined)} tasks lay {span}."
