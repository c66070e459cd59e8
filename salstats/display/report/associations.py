"""Sentences on slopes, correlations and areas under ROC curves."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from salstats.display.report.wording import WRITTEN, Words, listed, spread
from salstats.display.text.format import counted
from salstats.display.text.labels import Labels
from salstats.stats.models.formulas import parse_formula


def regression_sentences(frame: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield how many slopes were shown to differ from 0, of scores, then of gaps."""
    for rows in _kinds(frame):
        yield from _slope_count(rows, words)
    p = words.p_values(frame)
    if words.shown(frame).any():
        given = " in the same task" if with_task(frame) else ""
        yield (
            f"A slope is the mean difference{given} between the largest and the smallest value of the "
            "covariate."
        )
    if (p >= 1 - words.settings.level).any():
        yield "A slope that was not shown to differ from 0 was not thereby shown to be 0."
    if np.isnan(p).any():
        yield f"{counted(np.isnan(p).sum(), 'slope')} could not be tested."


def _kinds(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Slopes of scores, and those of gaps to a reference."""
    gaps = of_gaps(frame)
    return [part for part in (frame[~gaps], frame[gaps]) if len(part)]


def of_gaps(frame: pd.DataFrame) -> np.ndarray:
    """Which slopes are of gaps to a reference, not of scores."""
    if "reference" not in frame.columns:
        return np.zeros(len(frame), dtype=bool)
    gaps: np.ndarray = frame["reference"].notna().to_numpy()
    return gaps


def outcomes(frame: pd.DataFrame) -> pd.Series:
    """Metric that each row's model is of."""
    return frame["formula"].map({f: parse_formula(f).response.name for f in frame["formula"].unique()})


def with_task(frame: pd.DataFrame) -> bool:
    """Whether the models have the task in them."""
    return any("task" in parse_formula(f).columns for f in frame["formula"].unique())


def _slope_count(rows: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield how many slopes of scores, or of gaps alone, have a P value below the level."""
    of = "scores"
    if of_gaps(rows).any():
        of = f"gaps ({words.method(rows['reference'].iloc[0])} minus the method)"
    n, shown = int((~np.isnan(words.p_values(rows))).sum()), int(words.shown(rows).sum())
    family = f" (one family of {counted(rows['n_tests'].max(), 'test')})" if words.procedure(rows) else ""
    had = f"{shown or 'none'} had {words.below(rows)}{family}"
    if n:
        yield f"Of {counted(n, 'slope')} of {of} on covariates, {had}."


def correlation_sentences(frame: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield how far each metric's correlations range, and those shown to differ from 0."""
    for _, rows in words.by_metric(frame, "x"):
        yield _correlations(rows, words)
    if (words.p_values(frame) >= 1 - words.settings.level).any():
        yield "A correlation that was not shown to differ from 0 was not thereby shown to be 0."


def _correlations(rows: pd.DataFrame, words: Words) -> str:
    """What the correlations of one metric are."""
    of = f"{words.metric(rows['x'].iloc[0])} with {words.column(rows['y'].iloc[0])}"
    name = f"{str(rows['term'].iloc[0]).capitalize()}'s correlation of {of}"
    defined = rows[rows["estimate"].notna()].reset_index(drop=True)
    if defined.empty:
        return f"{name} could not be computed."
    groups = [words.method(m) for m in defined["method"]]
    if "task" in rows.columns and rows["task"].nunique() > 1:
        groups = [f"{g} in {t}" for g, t in zip(groups, words.tasks(defined["task"]), strict=True)]
    texts = words.estimates(defined, 3)
    text = f"{name} was {spread(texts, groups, defined['estimate'], 'correlations')}"
    shown = np.flatnonzero(words.shown(defined))
    if len(defined) > WRITTEN:
        text += f"; {len(shown) or 'none'} of these had {words.below(rows)}"
        if 0 < len(shown) <= WRITTEN:
            text += f": {spread([texts[i] for i in shown], [groups[i] for i in shown], [])}"
    lost = len(rows) - len(defined)
    return f"{text}; {counted(lost, 'correlation')} could not be computed." if lost else f"{text}."


def auroc_sentences(frame: pd.DataFrame, words: Words) -> Iterator[str]:
    """Yield areas, task by task, and where they are undefined or hold 0.5."""
    tasks = np.array(words.tasks(frame["task"]) if "task" in frame.columns else [""], dtype=object)
    name = f"The AUROC of {words.column(str(frame['predictor'].iloc[0]))}{target_words(frame, words)}"
    defined = frame["estimate"].notna().to_numpy()
    if not defined.any():
        yield f"{name} was undefined, since only one class was present."
        return
    bare = frame[defined].drop(columns="p_value", errors="ignore")
    yield f"{name} was {spread(words.estimates(bare, 3), tasks[defined], bare['estimate'], 'tasks', 'in')}."
    if not defined.all():
        yield f"It was undefined in {listed(tasks[~defined], 'tasks')}, where only one class was present."
    low, high = (frame[c].to_numpy(dtype=np.float64) for c in ("conf_low", "conf_high"))
    chance = (low <= 0.5) & (high >= 0.5)
    if chance.any():
        yield f"The interval held 0.5 (the area of guessing){_in(tasks[chance])}."
    without = defined & (np.isnan(low) | np.isnan(high))
    if without.any():
        yield f"No interval could be given{_in(tasks[without])}."


def _in(tasks: np.ndarray) -> str:
    """Text such as " in Edema", nothing where no task has a name."""
    return f" in {listed(list(tasks), 'tasks')}" if tasks[0] else ""


def target_words(frame: pd.DataFrame, words: Words) -> str:
    """What an area is for: the presence of the finding, or a column by its label."""
    response = str(frame["response"].iloc[0])
    if response == "label" and words.labels.column("label") == Labels().column("label"):
        return " for the presence of the finding"
    return f" for {words.column(response)}"
