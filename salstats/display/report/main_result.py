"""The first sentences of a report: which method is best, how far it is from people, what scores go with."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from salstats.display.report.associations import of_gaps, outcomes
from salstats.display.report.comparisons import states_of
from salstats.display.report.ranking import compared_rows, first_means
from salstats.display.report.wording import Words, decimals, decimals_of_limits, listed, pooled_rows
from salstats.display.text.format import counted, fixed_text, joined
from salstats.metrics.registry import direction

#: Frames of a report by key.
Frames = Mapping[str, pd.DataFrame]
#: States of a comparison in which a method lies behind, or ahead.
_BEHIND, _AHEAD = ("worse", "lower"), ("better", "higher")
#: Decimals of a share in percent, as tables have those of a decrease.
_SHARE = 1


def main_sentences(frames: Frames, words: Words) -> tuple[str, ...]:
    """What stands first, on the first metric on which a compared method has a mean."""
    means = first_means(frames["means"], words.settings.reference)
    best = compared_rows(means, words.settings.reference)
    metric = str(means["metric"].iloc[0])
    if best.empty:
        return (f"On {words.metric(metric)}, no method had a defined score.",)
    first = str(best["method"].iloc[0])
    found = " ".join([_slopes(metric, frames, words), *_confidence(metric, frames, words)])
    return _best(means, best, frames, words), _distance(first, metric, frames, words), found


def _best(means: pd.DataFrame, best: pd.DataFrame, frames: Frames, words: Words) -> str:
    """Which method has the best mean, and whether the others were shown to be worse."""
    metric, reference = str(best["metric"].iloc[0]), words.settings.reference
    others = [m for m in words.labels.order("method", means["method"].astype(str)) if m != reference]
    others.remove(str(best["method"].iloc[0]))
    top = best[best["estimate"] == best["estimate"].iloc[0]]
    names = listed([words.method(m) for m in top["method"]], "methods")
    over = " averaged over tasks" if pooled_rows(frames["means"]).any() else ""
    digits = decimals(means["estimate"])
    text = words.estimates(best.iloc[:1], digits)[0]
    start = f"On {words.metric(metric)}, {names}"
    if not others:
        of_reference = means[means["method"] == reference]
        if of_reference["estimate"].notna().any():
            people = words.estimates(of_reference, digits)[0]
            text += f" and {words.method(reference)} one of {people}"
            return f"{start} had a mean score of {text}{over}."
        return f"{start} had a mean score of {text}{over}; there was no other method to compare it with."
    way = "best" if direction(metric) else "highest"
    smaller = " (smaller is better)" if direction(metric) < 0 else ""
    had = "had"
    if len(top) > 1:
        had, text = "shared", fixed_text(best["estimate"].iloc[0], digits)
    of = f"mean score of {len(others) + 1} methods, {text}{over}{smaller}"
    return f"{start} {had} the {way} {of}; {_others(others, frames, words)}."


def _others(others: list[str], frames: Frames, words: Words) -> str:
    """Whether other methods than the best were shown to score worse."""
    if "best" not in frames:
        return "whether others score worse could not be tested"
    rows = frames["best"]
    state = dict(zip(rows["method"].astype(str), states_of(rows), strict=True))
    word = "lower" if {"lower", "higher"} & set(state.values()) else "worse"
    ahead = [words.method(m) for m in others if state.get(m) in _AHEAD]
    left = [words.method(m) for m in others if state.get(m) not in _BEHIND]
    if ahead:
        was = "was" if len(ahead) == 1 else "were"
        above = "higher" if word == "lower" else "better"
        return (
            f"but {listed(ahead, 'methods')} {was} shown to score {above} on the cases that both have, so it "
            "is open which is best"
        )
    if not left:
        who = words.method(others[0]) if len(others) == 1 else "each of the others"
        return f"{who} was shown to score {word}"
    if len(left) == len(others) > 1:
        return f"none of the others was shown to score {word}, so it is open which is best"
    was = "was" if len(left) == 1 else "were"
    return f"{listed(left, 'methods')} {was} not shown to score {word}, so it is open which of them is best"


def _distance(method: str, metric: str, frames: Frames, words: Words) -> str:
    """How far the best method is from the reference: its share of that mean, or the difference."""
    reference, name = words.settings.reference, words.method(method)
    if reference is None:
        return "No human benchmark was named to compare methods with."
    other = words.method(reference)
    for key in ("decrease", "difference"):
        frame = frames.get(key, pd.DataFrame(columns=["method", "metric"]))
        rows = frame[(frame["method"].astype(str) == method) & (frame["metric"].astype(str) == metric)]
        rows = rows[pooled_rows(rows)] if pooled_rows(rows).any() else rows
        if rows.empty or rows["estimate"].isna().any() or (key == "decrease" and _no_share(rows)):
            continue
        state = states_of(rows).iloc[0]
        shown = f"shown to score {state}" if state in (*_BEHIND, *_AHEAD) else "not shown to differ"
        start = f"The mean score of {name}"
        if key == "difference":
            gap = words.estimates(rows.drop(columns="p_value", errors="ignore"))[0]
            return f"{start} minus that of {other} was {gap}; {name} was {shown}."
        smaller = " (smaller is better)" if direction(metric) < 0 else ""
        digits = decimals_of_limits(rows, _SHARE)
        share = words.estimates(_shares(rows, digits), digits)[0]
        return f"{start} was {share} of that of {other}{smaller}; {name} was {shown}."
    return f"No mean score of {name} could be compared with that of {other}."


def _no_share(rows: pd.DataFrame) -> bool:
    """Whether a share of the reference's mean has no plain reading."""
    limits = rows[["conf_low", "conf_high"]].astype(float)
    return not (rows["reference_mean"] > 0).all() or bool(np.isinf(limits).any(axis=None))


def _shares(decreases: pd.DataFrame, digits: int) -> pd.DataFrame:
    """What is left of the reference's mean, in percent, of decreases as they are printed."""
    printed = decreases[["estimate", "conf_low", "conf_high"]].astype(float).round(digits)
    left = {"estimate": 100 - printed["estimate"]}
    left |= {"conf_low": 100 - printed["conf_high"], "conf_high": 100 - printed["conf_low"]}
    return decreases.assign(**left).drop(columns="p_value", errors="ignore")


def _slopes(metric: str, frames: Frames, words: Words) -> str:
    """With which covariates the scores of methods rose or fell, and of how many methods this was shown."""
    name, covariates = words.metric(metric), words.settings.covariates or ()
    if not covariates:
        return "What scores depend on was not examined, since they came without covariates."
    listing = listed([words.column(c) for c in covariates], "covariates", "or")
    rows = frames.get("regression", pd.DataFrame())
    if len(rows):
        rows = rows[(outcomes(rows) == metric) & ~of_gaps(rows)]
    if rows.empty or np.isnan(words.p_values(rows)).all():
        return f"Whether {name} rises or falls with {listing} could not be tested."
    n_methods, clauses = rows["term"].value_counts(), []
    for way, some in _directions(rows, words):
        n_shown = rows[some]["term"].value_counts()
        said = [f"{words.column(c)}{_share_of(n_shown[c], n_methods[c])}" for c in covariates if c in n_shown]
        clauses += [f"{way} with {joined(said)}"] if said else []
    if clauses:
        return f"From case to case, {name} {', and '.join(clauses)}."
    return f"From case to case, {name} was not shown to rise or fall with {listing}."


def _share_of(n_shown: int, n_methods: int) -> str:
    """Text such as " (3 of 8 methods)", nothing of a single one."""
    return f" ({n_shown} of {counted(n_methods, 'method')})" if n_methods > 1 else ""


def _directions(rows: pd.DataFrame, words: Words) -> list[tuple[str, np.ndarray]]:
    """Which rows were shown to lie above 0, and which below."""
    shown, estimate = words.shown(rows), rows["estimate"].to_numpy(dtype=np.float64)
    return [("rose", shown & (estimate > 0)), ("fell", shown & (estimate < 0))]


def _confidence(metric: str, frames: Frames, words: Words) -> Iterator[str]:
    """Yield in how many groups scores were shown to rise or fall with the model's confidence."""
    rows = frames.get("correlation", pd.DataFrame(columns=["x"]))
    rows = rows[rows["x"] == metric]
    n = len(rows)
    if n and not np.isnan(words.p_values(rows)).all():
        tasks = "task" in rows.columns and rows["task"].nunique() > 1
        of = f"{n} {'combinations of method and task' if tasks else 'methods'}" if n > 1 else ""
        name = words.column(str(rows["y"].iloc[0]))
        found = [
            f"{way} in {some.sum()}" if of else way for way, some in _directions(rows, words) if some.any()
        ]
        if found:
            yield f"With {name} it {' and '.join(found)}{of and f' of {of}'}."
        else:
            yield f"It was not shown to rise or fall with {name}{of and f' ({of})'}."
