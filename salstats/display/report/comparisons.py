"""Sentences on methods against a reference, worded by the direction of each metric."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from salstats.display.estimates import read_estimates
from salstats.display.report.caveats import NOT_EVIDENCE, caveats
from salstats.display.report.wording import (
    WRITTEN,
    Words,
    decimals,
    family_text,
    listed,
    pooled_rows,
    registered_metric,
    spread,
    verdict_word,
)
from salstats.display.text.format import joined
from salstats.display.text.margins import has_margins, margin_text
from salstats.display.text.vocabulary import TERMS
from salstats.stats.engine.equivalence import split_verdicts

#: What a percentage decrease below 0 is.
_INCREASE = "percentage increase"
#: What a method did, by the state of a comparison; none of it hangs on how many methods it is said of.
_PHRASES = {
    "better": "scored better",
    "worse": "scored worse",
    "higher": "scored higher",
    "lower": "scored lower",
    "inconclusive": "did not show a difference",
    "undefined": "had no defined {noun}",
    "unpaired": "could not be compared",
}


def contrast_sentences(frame: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield how methods did, metric by metric, and what has to be known to read them."""
    if frame["estimate"].notna().any():
        yield _rule(frame, words)
    for _, rows in words.by_metric(frame):
        yield headline(rows, words)
    yield from _notes(frame, words)
    yield from caveats(frame, words)


def margin_sentences(frame: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield what was shown of each method with a margin, metric by metric; nothing where there is none."""
    if not has_margins(read_estimates(frame)):
        return
    for metric, rows in words.by_metric(frame[frame["p_margin"].notna()]):
        rows = words.ordered(rows.assign(claim=split_verdicts(rows["verdict"])[1]))
        to = words.method(rows["reference"].iloc[0])
        margin = f"a difference {margin_text(read_estimates(rows), words.labels)}"
        n_methods, said = rows["method"].nunique(), list[str]()
        for method, own in rows.groupby("method", sort=False, observed=True):
            shown = own[own["claim"] != ""]
            if len(shown):
                claim = shown["claim"].iloc[0]
                said.append(f"{words.method(method)} was {claim} to {to}{_places(shown, own, words)}")
        if len(said) > WRITTEN:
            some = " in some task" if "task" in rows.columns and rows["task"].nunique() > 1 else ""
            said = [f"{len(said)} of {n_methods} methods were {rows['claim'].max()} to {to}{some}"]
        text = "; ".join(said) or f"no method was shown to have {margin} from {to}"
        yield f"On {words.metric(metric)}, {text}{f' ({margin})' if said else ''}."


def _places(shown: pd.DataFrame, own: pd.DataFrame, words: Words) -> str:
    """Text such as " in A and B and averaged over tasks", of rows of one method."""
    if len(own) == 1 or "task" not in own.columns:
        return ""
    pooled, n_tasks = pooled_rows(shown), int((~pooled_rows(own)).sum())
    single = shown.loc[~pooled, "task"]
    some = listed(words.tasks(single), f"of {n_tasks} tasks")
    where = [f"in {f'all {n_tasks} tasks' if len(single) == n_tasks else some}"] if len(single) else []
    return f" {joined([*where, *(['averaged over tasks'] if pooled.any() else [])])}"


def headline(frame: pd.DataFrame, words: Words) -> str:
    """All methods against the reference on one metric: averaged over tasks, or in the only one."""
    pooled = pooled_rows(frame)
    rows = words.ordered(frame[pooled] if pooled.any() else frame)
    n_methods, states = rows["method"].nunique(), states_of(rows)
    clauses = []
    for state in _PHRASES:
        chosen = rows[states == state]
        if len(chosen):
            names = [words.method(m) for m in chosen["method"]]
            many = "all" if len(names) == n_methods else f"{len(names)} of"
            some = joined(names) if len(names) <= WRITTEN else f"{many} {n_methods} methods"
            clauses.append(f"{some} {_phrase(state, frame)}{_estimates(chosen, names, frame, words)}")
    return f"{_start(frame, words)}{_average(frame)} {'; '.join(clauses)}."


def _start(frame: pd.DataFrame, words: Words) -> str:
    """Metric and reference, with which a sentence begins."""
    metric, reference = str(frame["metric"].iloc[0]), frame["reference"].iloc[0]
    return f"On {words.metric(metric)}, compared with {words.method(reference)},"


def _average(frame: pd.DataFrame) -> str:
    """What an average is over, nothing where there is none."""
    pooled = pooled_rows(frame)
    if not pooled.any():
        return ""
    every = (frame["n_pairs"][~pooled] > 0).all()
    return " averaged over tasks," if every else " averaged over the tasks with pairs,"


def states_of(rows: pd.DataFrame) -> pd.Series:
    """Each row's state: its verdict in words, or why there is none."""
    metric = str(rows["metric"].iloc[0]) if len(rows) else ""
    judged = {verdict: verdict_word(metric, verdict) for verdict in ("lower", "higher")}
    states = pd.Series(split_verdicts(rows["verdict"])[0], rows.index, dtype=str).replace(judged)
    states = states.where(rows["estimate"].notna(), "undefined")
    return states.where(rows["n_pairs"] > 0, "unpaired")


def _phrase(state: str, frame: pd.DataFrame) -> str:
    """What a method did."""
    return _PHRASES[state].format(noun=TERMS[str(frame["term"].iloc[0])].noun)


def _estimates(rows: pd.DataFrame, names: list[str], frame: pd.DataFrame, words: Words) -> str:
    """Text such as ", with a difference in mean score of 0.2 [...] for A and 0.3 [...] for B"."""
    if rows["estimate"].isna().all():
        return ""
    term = str(frame["term"].iloc[0])
    digits = 1 if term == "percent_decrease" else decimals(frame["estimate"])
    names = names if len(names) > 1 else [""]
    noun, nouns = TERMS[term].noun, TERMS[term].nouns
    if term == "percent_decrease":
        rises = ((rows["estimate"] < 0) & (rows["reference_mean"] > 0)).to_numpy()
        if rises.all():
            rows, noun, nouns = _increases(rows), _INCREASE, f"{_INCREASE}s"
        elif rises.any() and len(names) <= WRITTEN:
            turned = pd.concat([_increases(rows[rises]), rows[~rises]]).loc[rows.index]
            kinds = np.where(rises, _INCREASE, noun)
            sizes = words.estimates(turned, digits)
            texts = [f"a {kind} of {size}" for kind, size in zip(kinds, sizes, strict=True)]
            return f", with {spread(texts, names, rows['estimate'])}"
    said = spread(words.estimates(rows, digits), names, rows["estimate"])
    start = f"a {noun} of" if len(names) <= WRITTEN else nouns
    return f", with {start} {said}"


def _increases(decreases: pd.DataFrame) -> pd.DataFrame:
    """Return percentage decreases below 0 as the increases that they are."""
    low, high = decreases["conf_low"], decreases["conf_high"]
    return decreases.assign(estimate=-decreases["estimate"], conf_low=-high, conf_high=-low)


def _rule(frame: pd.DataFrame, words: Words) -> str:
    """By what rule a method is called worse or better, for the whole frame."""
    rule = f"A difference is taken as shown where the {words.level}% confidence interval excludes 0"
    if not words.procedure(frame):
        return f"{rule}; nothing is adjusted for multiple tests."
    return f"{rule} and {words.p_name(frame)} is below {words.alpha} ({family_text(frame)})."


def _notes(frame: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield what a reader needs to read signs, directions and verdicts that are open."""
    decrease = str(frame["term"].iloc[0]) == "percent_decrease"
    reference, noun = words.method(frame["reference"].iloc[0]), TERMS[str(frame["term"].iloc[0])].noun
    metrics = [m for m, _ in words.by_metric(frame)]
    if (frame["estimate"].notna() & (frame["verdict"].astype(str) == "inconclusive")).any():
        yield NOT_EVIDENCE
    if decrease and (frame["estimate"] < 0).any():
        yield f"A negative percentage decrease is a mean above that of {reference}."
    smaller = [m for m in metrics if (known := registered_metric(m)) and not known.larger_is_better]
    if smaller:
        sign = "negative" if decrease else "positive"
        yield f"Smaller is better on {words.metrics(smaller)}, where a {sign} {noun} is a worse score."
    unknown = [m for m in metrics if registered_metric(m) is None]
    if unknown:
        yield (
            f"Whether larger is better is not known of {words.metrics(unknown)}, so lower and higher are not "
            "judged."
        )
    if decrease and (frame["reference_mean"] == 0).any():
        yield f"Where the mean of {reference} is 0 there is no percentage decrease."
    if decrease and (frame["reference_mean"] < 0).any():
        yield (
            f"Where the mean of {reference} is below 0, a percentage decrease has no plain reading and only "
            "the difference should be read."
        )
