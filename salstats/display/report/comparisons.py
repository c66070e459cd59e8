"""Sentences on methods against a reference, worded by the direction of each metric."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.display.report.caveats import NOT_EVIDENCE, caveats
from salstats.display.report.model import Settings
from salstats.display.report.wording import (
    WRITTEN,
    alpha_text,
    between,
    decimals,
    estimate_texts,
    is_adjusted,
    known_metric,
    listed,
    method_words,
    metric_words,
    of_each,
    p_name,
    pooled_rows,
    verdict_words,
)
from salstats.display.text.format import counted, joined, level_text
from salstats.display.text.labels import Labels
from salstats.display.text.vocabulary import TERMS


def contrast_sentences(frame: pd.DataFrame, settings: Settings, labels: Labels) -> tuple[str, ...]:
    """Verdict on each method, metric by metric, and what has to be known to read them."""
    found = [_rule(frame, settings)] if frame["estimate"].notna().any() else []
    for metric in labels.order("metric", frame["metric"]):
        of_metric = frame[frame["metric"] == metric]
        methods = labels.order("method", of_metric["method"])
        if len(methods) > WRITTEN and _headlines(of_metric) is not None:
            found += headline_sentences(of_metric, settings, labels)
        else:
            found += [_method(of_metric, m, settings, labels) for m in methods]
    return (*found, *_notes(frame, labels), *caveats(frame, settings))


def headline_sentences(frame: pd.DataFrame, settings: Settings, labels: Labels) -> tuple[str, ...]:
    """One sentence per metric: all methods against the reference, averaged over tasks."""
    found = []
    for metric in labels.order("metric", frame["metric"]):
        of_metric = frame[frame["metric"] == metric]
        rows = _headlines(of_metric)
        if rows is None:
            methods = labels.order("method", of_metric["method"])
            found += [_method(of_metric, m, settings, labels) for m in methods]
        else:
            found.append(_headline(rows, of_metric, settings, labels))
    return tuple(found)


def _rule(frame: pd.DataFrame, settings: Settings) -> str:
    """By what rule a method is called worse or better, for the whole frame."""
    level = f"{level_text(settings.level)}% confidence interval excludes 0"
    if not is_adjusted(frame, settings):
        return f"A difference is taken as shown where the {level}; nothing is adjusted for multiple tests."
    tests = counted(frame["n_tests"].max(), "test") if "n_tests" in frame.columns else "all tests"
    return (
        f"A difference is taken as shown where the {level} and {p_name(frame, settings)} is below "
        f"{alpha_text(settings.level, settings.style)} (one family of {tests})."
    )


def _criterion(frame: pd.DataFrame, settings: Settings) -> str:
    """Same in two words, for a sentence that gives no P value."""
    if is_adjusted(frame, settings):
        return f"{p_name(frame, settings)} < {alpha_text(settings.level, settings.style)}"
    return f"{level_text(settings.level)}% interval excluding 0, not adjusted"


def _states(rows: pd.DataFrame) -> np.ndarray:
    """Each row's verdict, or "undefined" where there is no estimate."""
    states: np.ndarray = rows["verdict"].astype("str").where(rows["estimate"].notna(), "undefined").to_numpy()
    return states


def _headlines(frame: pd.DataFrame) -> pd.DataFrame | None:
    """One row per method: the average over tasks, or the only task; None where there is neither."""
    pooled = pooled_rows(frame)
    if "task" not in frame.columns or frame["task"][~pooled].nunique() == 1:
        return frame[~pooled]
    averages = frame[pooled]
    return averages if averages["method"].nunique() == frame["method"].nunique() == len(averages) else None


def _reference(frame: pd.DataFrame, labels: Labels) -> str:
    """Reference inside a sentence."""
    return method_words(str(frame["reference"].iloc[0]), labels)


def _kind(frame: pd.DataFrame) -> str:
    """Which contrast a frame holds."""
    return str(frame["term"].iloc[0])


def _digits(frame: pd.DataFrame) -> int:
    """Decimals of a frame's estimates."""
    return 1 if _kind(frame) == "percent_decrease" else decimals(frame["estimate"])


def _method(frame: pd.DataFrame, method: str, settings: Settings, labels: Labels) -> str:
    """Verdict on one method and metric."""
    rows = frame[frame["method"] == method]
    pooled = pooled_rows(rows)
    start = f"On {metric_words(str(frame['metric'].iloc[0]), labels)}, "
    if (~pooled).sum() == 1:
        row = rows[~pooled]
        several = "task" in frame.columns and frame["task"][~pooled_rows(frame)].nunique() > 1
        place = f" in {labels.value('task', row['task'].iloc[0])}" if several else ""
        return f"{start}{_one(row, frame, settings, labels, place)}."
    clauses = [*_by_task(rows[~pooled], frame, settings, labels)]
    clauses += _average(rows[pooled], rows[~pooled], frame, settings, labels)
    if not pooled.any():
        clauses += _range(rows, frame, settings, labels)
    return f"{start}{'; '.join(clauses)}."


def _one(row: pd.DataFrame, frame: pd.DataFrame, settings: Settings, labels: Labels, place: str) -> str:
    """Verdict on a single row, with its estimate."""
    method, reference = method_words(str(row["method"].iloc[0]), labels), _reference(frame, labels)
    state = _states(row)[0]
    if state == "undefined":
        return f"{method} could not be compared with {reference}{place} ({_why_undefined(row, reference)})"
    text = _with_estimate(row, frame, settings)
    if state == "inconclusive":
        return f"no difference between {method} and {reference} was shown{place}{text}"
    word = verdict_words(str(row["metric"].iloc[0]), state)
    return f"{method} scored {word} than {reference}{place}{text}"


def _with_estimate(row: pd.DataFrame, frame: pd.DataFrame, settings: Settings) -> str:
    """Text such as ", with a difference in mean score of 0.2 [...]" of a single row."""
    return f", with a {TERMS[_kind(frame)].noun} of {estimate_texts(row, settings, _digits(frame))[0]}"


def _why_undefined(row: pd.DataFrame, reference: str) -> str:
    """Why there is no estimate."""
    if row["n_pairs"].iloc[0] == 0:
        return "no case had both scores"
    if row["reference_mean"].iloc[0] == 0:
        return f"the mean of {reference} was 0"
    return "the estimate was undefined"


def _by_task(rows: pd.DataFrame, frame: pd.DataFrame, settings: Settings, labels: Labels) -> list[str]:
    """In how many tasks a method is worse or better, and in which no difference was shown."""
    method, reference = method_words(str(rows["method"].iloc[0]), labels), _reference(frame, labels)
    metric, states = str(rows["metric"].iloc[0]), _states(rows)
    tasks = np.array([labels.value("task", t) for t in rows["task"]], dtype=object)
    n_tasks, n_defined = len(states), int((states != "undefined").sum())
    noun, paired = TERMS[_kind(frame)].noun, (rows["n_pairs"] > 0).to_numpy()
    if not paired.any():
        return [f"{method} could not be compared with {reference} in any task"]
    if not n_defined:
        return [f"the {noun} of {method} from {reference} was undefined in every task"]
    undefined = paired & (states == "undefined")
    rest = [] if paired.all() else [f"no comparison was possible {_in(tasks[~paired])}"]
    if undefined.any():
        rest.append(f"the {noun} was undefined {_in(tasks[undefined])}")
    shown = [v for v in ("lower", "higher") if (states == v).any()]
    shown.sort(key=lambda v: -(states == v).sum())
    if not shown:
        whole = f"any of the {n_defined} tasks"
        whole += " in which there is an estimate" if rest else ""
        none = f"no difference between {method} and {reference} was shown in {whole}"
        return [none if n_defined > 1 else f"no difference between {method} and {reference} was shown", *rest]
    first = verdict_words(metric, shown[0])
    clause = f"{method} scored {first} than {reference} in {_of((states == shown[0]).sum(), n_tasks)}"
    if len(shown) == 2:
        clause += f" and {verdict_words(metric, shown[1])} {_in(tasks[states == shown[1]])}"
    clause += f" ({_criterion(frame, settings)})"
    open_tasks = tasks[states == "inconclusive"]
    if len(open_tasks):
        rest.insert(0, f"no difference was shown {_in(open_tasks)}")
    return [clause, *rest]


def _of(n: int, n_tasks: int) -> str:
    """Text such as "all 5 tasks", "both tasks" or "3 of 5 tasks"."""
    if n == n_tasks:
        return "both tasks" if n == 2 else f"all {n} tasks"
    return f"{n} of {n_tasks} tasks"


def _in(tasks: Sequence[str]) -> str:
    """Text such as "in Edema and Consolidation", or "in 12 tasks"."""
    return f"in {listed(list(tasks), 'tasks')}"


def _average(
    average: pd.DataFrame, tasks: pd.DataFrame, frame: pd.DataFrame, settings: Settings, labels: Labels
) -> list[str]:
    """What holds averaged over tasks."""
    if average.empty or not (tasks["n_pairs"] > 0).any():
        return []
    over = "averaged over tasks" if (tasks["n_pairs"] > 0).all() else "averaged over the tasks with pairs"
    state = _states(average)[0]
    if state == "undefined":
        return [f"the {TERMS[_kind(frame)].noun} averaged over tasks was undefined"]
    text = _with_estimate(average, frame, settings)
    if state == "inconclusive":
        return [f"{over}, no difference was shown{text}"]
    word = verdict_words(str(average["metric"].iloc[0]), state)
    return [f"{over}, {method_words(str(average['method'].iloc[0]), labels)} scored {word}{text}"]


def _range(rows: pd.DataFrame, frame: pd.DataFrame, settings: Settings, labels: Labels) -> list[str]:
    """How far the estimates range over tasks, where there is no average of them."""
    defined = rows[rows["estimate"].notna()]
    if len(defined) < 2:
        return []
    texts = estimate_texts(defined, settings, _digits(frame))
    tasks = [labels.value("task", t) for t in defined["task"]]
    return [f"the {TERMS[_kind(frame)].nouns} lay {between(texts, tasks, defined['estimate'], 'in')}"]


def _headline(rows: pd.DataFrame, frame: pd.DataFrame, settings: Settings, labels: Labels) -> str:
    """All methods against the reference on one metric, in one sentence."""
    order = labels.order("method", rows["method"])
    rows = rows.iloc[rows["method"].map(order.index).argsort(kind="stable").to_numpy()]
    metric, reference, states = str(frame["metric"].iloc[0]), _reference(frame, labels), _states(rows)
    over = ""
    if pooled_rows(rows).any():
        every = (frame["n_pairs"][~pooled_rows(frame)] > 0).all()
        over = " averaged over tasks," if every else " averaged over the tasks with pairs,"
    clauses = []
    for state in ("lower", "higher", "inconclusive"):
        chosen = rows[states == state]
        if chosen.empty:
            continue
        methods, estimates = _methods_and_estimates(chosen, frame, settings, labels)
        if state == "inconclusive":
            clauses.append(f"no difference from {reference} was shown for {methods}, {estimates}")
        else:
            word = verdict_words(metric, state)
            clauses.append(f"{methods} scored {word} than {reference}, {estimates}")
    undefined = [method_words(m, labels) for m in rows["method"][states == "undefined"]]
    if undefined:
        clauses.append(f"{listed(undefined, 'methods')} could not be compared with {reference}")
    return f"On {metric_words(metric, labels)},{over} {'; '.join(clauses)}."


def _methods_and_estimates(
    rows: pd.DataFrame, frame: pd.DataFrame, settings: Settings, labels: Labels
) -> tuple[str, str]:
    """Methods and their estimates; of many their number and the two extremes."""
    texts = estimate_texts(rows, settings, _digits(frame))
    names = [method_words(m, labels) for m in rows["method"]]
    noun, nouns = TERMS[_kind(frame)].noun, TERMS[_kind(frame)].nouns
    if len(names) == 1:
        return names[0], f"with a {noun} of {texts[0]}"
    if len(names) <= WRITTEN:
        return joined(names), f"with a {noun} of {of_each(texts, names)}"
    n_methods = frame["method"].nunique()
    some = f"all {n_methods} methods" if len(names) == n_methods else f"{len(names)} of {n_methods} methods"
    return some, f"with {nouns} {between(texts, names, rows['estimate'])}"


def _notes(frame: pd.DataFrame, labels: Labels) -> list[str]:
    """What a reader needs to read signs, directions and verdicts that are open."""
    decrease = _kind(frame) == "percent_decrease"
    reference, noun = _reference(frame, labels), TERMS[_kind(frame)].noun
    metrics = [str(m) for m in labels.order("metric", frame["metric"])]
    found = []
    if (_states(frame) == "inconclusive").any():
        found.append(NOT_EVIDENCE)
    if decrease and (frame["estimate"] < 0).any():
        found.append(f"A negative percentage decrease is a mean above that of {reference}.")
    smaller = [m for m in metrics if (known := known_metric(m)) and not known.larger_is_better]
    if smaller:
        names = listed([metric_words(m, labels) for m in smaller], "metrics")
        sign = "negative" if decrease else "positive"
        found.append(f"Smaller is better on {names}, where a {sign} {noun} is a worse score.")
    unknown = [m for m in metrics if known_metric(m) is None]
    if unknown:
        names = listed([metric_words(m, labels) for m in unknown], "metrics")
        found.append(f"Whether larger is better is not known of {names}, so lower and higher are not judged.")
    if decrease and (frame["reference_mean"] < 0).any():
        found.append(
            f"Where the mean of {reference} is below 0, a percentage decrease has no plain reading and only "
            "the difference should be read."
        )
    return found
