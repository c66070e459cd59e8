"""Sentences on slopes, correlations and areas under ROC curves."""

import re

import numpy as np
import pandas as pd

from salstats.display.report.model import Settings
from salstats.display.report.wording import (
    WRITTEN,
    alpha_text,
    between,
    column_words,
    decimals,
    estimate_texts,
    is_adjusted,
    listed,
    method_words,
    metric_words,
    of_each,
    p_name,
    p_values,
    pooled_rows,
    unit_words,
)
from salstats.display.text.format import counted, counted_range, inline_text, joined
from salstats.display.text.labels import Labels
from salstats.stats.adjust import INTERCEPT
from salstats.stats.advice import FEW_UNITS


def _not_shown(what: str) -> str:
    """What may not be concluded from a P value above the level."""
    return f"A {what} that was not shown to differ from 0 was not thereby shown to be 0."


def slope_rows(frame: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Rows of covariates, with columns `covariate` and `outcome`; other terms stay out."""
    terms = frame["term"].astype("str").map(_plain)
    covariates = set(settings.covariates) or {t for t in terms if t != INTERCEPT and not t.startswith("task")}
    rows = frame.assign(
        covariate=terms, outcome=frame["formula"].astype("str").map(lambda f: _plain(f.partition("~")[0]))
    )
    return rows[terms.isin(covariates)].reset_index(drop=True)


def _plain(name: str) -> str:
    """Name of a formula without the quotes that an odd one needs."""
    quoted = re.fullmatch(r"\s*Q\(([\"'])(.*)\1\)\s*", name)
    return quoted[2] if quoted else name.strip()


def of_gaps(rows: pd.DataFrame) -> np.ndarray:
    """Which slopes are of gaps to a reference, not of scores."""
    if "reference" not in rows.columns:
        return np.zeros(len(rows), dtype=bool)
    gaps: np.ndarray = rows["reference"].notna().to_numpy()
    return gaps


def regression_sentences(frame: pd.DataFrame, settings: Settings, labels: Labels) -> tuple[str, ...]:
    """How many slopes were shown to differ from 0, and these; of scores, then of gaps."""
    rows = slope_rows(frame, settings)
    gaps = of_gaps(rows)
    found: list[str] = []
    for part in (rows[~gaps], rows[gaps]):
        if not part.empty:
            found += [_count(part, settings, labels), *_shown(part, settings, labels)]
    if rows.empty:
        return ()
    p = p_values(rows, settings)
    if (p < 1 - settings.level).any():
        given = " in the same task" if with_task(rows) else ""
        found.append(
            f"A slope is the mean difference{given} between the largest and the smallest value of the "
            "covariate."
        )
    if (p >= 1 - settings.level).any():
        found.append(_not_shown("slope"))
    return (*found, *_slope_caveats(rows, settings))


def with_task(rows: pd.DataFrame) -> bool:
    """Whether the models have the task in them."""
    return bool(rows["formula"].astype("str").str.contains(r"[~+]\s*task\b").any())


def slope_count(frame: pd.DataFrame, settings: Settings, labels: Labels) -> tuple[str, ...]:
    """How many slopes of scores have a P value below the level, else of gaps."""
    rows = slope_rows(frame, settings)
    gaps = of_gaps(rows)
    part = rows[gaps] if gaps.all() else rows[~gaps]
    return () if part.empty else (_count(part, settings, labels),)


def _count(rows: pd.DataFrame, settings: Settings, labels: Labels) -> str:
    """How many slopes of one kind have a P value below the level."""
    p = p_values(rows, settings)
    n_tested, n_shown = int((~np.isnan(p)).sum()), int((p < 1 - settings.level).sum())
    of = "scores"
    if of_gaps(rows).any():
        of = f"gaps ({method_words(str(rows['reference'].iloc[0]), labels)} minus the method)"
    if not n_tested:
        return f"No slope of {of} on a covariate could be tested."
    below = f"{_article(p_name(rows, settings))} below {alpha_text(settings.level, settings.style)}"
    if is_adjusted(rows, settings) and "n_tests" in rows.columns:
        below += f" (in a family of {counted(rows['n_tests'].max(), 'test')})"
    if n_tested == 1:
        return f"The only slope of {of} on a covariate {'had' if n_shown else 'did not have'} {below}."
    some = f"{n_shown} of the {n_tested}" if n_shown else f"None of the {n_tested}"
    if n_shown == n_tested:
        some = "Both" if n_tested == 2 else f"All {n_tested}"
    return f"{some} slopes of {of} on covariates had {below}."


def _article(name: str) -> str:
    """P value's name with its article."""
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _shown(rows: pd.DataFrame, settings: Settings, labels: Labels) -> list[str]:
    """Slopes shown to differ from 0, one sentence per metric and covariate."""
    shown = rows[p_values(rows, settings) < 1 - settings.level]
    found = []
    for metric in labels.order("metric", shown["outcome"]):
        for covariate in dict.fromkeys([*settings.covariates, *shown["covariate"]]):
            chosen = shown[(shown["outcome"] == metric) & (shown["covariate"] == covariate)]
            if not chosen.empty:
                found.append(_slopes(chosen, settings, labels))
    return found


def _slopes(rows: pd.DataFrame, settings: Settings, labels: Labels) -> str:
    """Methods whose scores, or gaps, were higher or lower where one covariate was larger."""
    covariate = column_words(str(rows["covariate"].iloc[0]), labels)
    metric = metric_words(str(rows["outcome"].iloc[0]), labels)
    digits = decimals(rows["estimate"])
    what = "the gap was" if of_gaps(rows).any() else "scores were"
    parts = []
    for word, chosen in (("higher", rows[rows["estimate"] > 0]), ("lower", rows[rows["estimate"] < 0])):
        if chosen.empty:
            continue
        order = labels.order("method", chosen["method"])
        chosen = chosen.iloc[chosen["method"].map(order.index).argsort(kind="stable").to_numpy()]
        names = [method_words(m, labels) for m in chosen["method"]]
        texts = estimate_texts(chosen, settings, digits)
        said = f"a slope of {of_each(texts, names)}"
        if len(names) > WRITTEN:
            said = f"slopes {between(texts, names, chosen['estimate'])} among {len(names)} methods"
        parts.append(f"{word} where {covariate} was larger, with {said}")
    return f"On {metric}, {what} {'; and '.join(parts)}."


def _slope_caveats(rows: pd.DataFrame, settings: Settings) -> list[str]:
    """What has to be said of slopes that stand on little."""
    found = []
    untested = int(np.isnan(p_values(rows, settings)).sum())
    if 0 < untested < len(rows):
        found.append(f"{counted(untested, 'slope')} could not be tested.")
    # CR2 is made for few clusters, CR1 is not
    if "n_units" in rows.columns:
        units = rows["n_units"].to_numpy(dtype=np.float64)
        few = (
            (units < FEW_UNITS)
            & (rows["errors"] == "cluster").to_numpy()
            & rows["estimate"].notna().to_numpy()
        )
        if few.any():
            span = counted_range(units[few], unit_words(settings.unit)[0])
            rest = counted(int(few.sum()), "slope rests", "slopes rest")
            found.append(f"{rest} on only {span}; P values from so few are likely too small.")
    return found


def correlation_sentences(frame: pd.DataFrame, settings: Settings, labels: Labels) -> tuple[str, ...]:
    """How far each metric's correlations range, and those shown to differ from 0."""
    rows = frame[~pooled_rows(frame)]
    found = []
    for metric in labels.order("metric", rows["x"]):
        found.append(_correlations(rows[rows["x"] == metric].reset_index(drop=True), settings, labels))
    p = p_values(rows, settings)
    if (p >= 1 - settings.level).any():
        found.append(_not_shown("correlation"))
    return tuple(found)


def _correlations(rows: pd.DataFrame, settings: Settings, labels: Labels) -> str:
    """What the correlations of one metric are."""
    name = f"{str(rows['term'].iloc[0]).capitalize()}'s correlation"
    first, second = str(rows["x"].iloc[0]), str(rows["y"].iloc[0])
    of = f"of {metric_words(first, labels)} with {column_words(second, labels)}"
    defined = rows[rows["estimate"].notna()].reset_index(drop=True)
    lost = len(rows) - len(defined)
    if defined.empty:
        return f"{name} {of} could not be computed."
    groups = [_group(row, rows, labels) for row in defined.to_dict("records")]
    texts = estimate_texts(defined, settings, 3)
    missing = f"; {counted(lost, 'correlation')} could not be computed" if lost else ""
    if len(defined) <= 2:
        return f"{name} {of} was {of_each(texts, groups)}{missing}."
    values = defined["estimate"]
    plain = inline_text(defined[["estimate"]], style=settings.style)
    span = f"{plain[int(values.argmin())]} to {plain[int(values.argmax())]}"
    shown = np.flatnonzero(p_values(defined, settings) < 1 - settings.level)
    below = f"{p_name(rows, settings)} below {alpha_text(settings.level, settings.style)}"
    if not len(shown):
        which = f"none had {_article(below)}"
    elif len(shown) <= WRITTEN:
        said = of_each([texts[i] for i in shown], [groups[i] for i in shown])
        which = f"{len(shown)} had {_article(below)}: {said}"
    else:
        which = f"{len(shown)} had {_article(below)}"
    where = f"{len(defined)} {_kind_of_groups(rows)}"
    return f"{name}s {of} lay in the range {span} in {where}, of which {which}{missing}."


def _kind_of_groups(rows: pd.DataFrame) -> str:
    """What tells the rows of a frame apart, in the plural."""
    apart = [c for c in ("method", "task") if c in rows.columns and rows[c].nunique() > 1]
    return f"{apart[0]}s" if len(apart) == 1 else "combinations of method and task"


def _group(row: dict[str, object], rows: pd.DataFrame, labels: Labels) -> str:
    """Method and task by what tells the rows apart."""
    method = method_words(str(row["method"]), labels) if "method" in row else ""
    several = "task" in rows.columns and rows["task"].nunique() > 1
    task = labels.value("task", str(row["task"])) if several else ""
    return " in ".join(part for part in (method, task) if part)


def auroc_sentences(frame: pd.DataFrame, settings: Settings, labels: Labels) -> tuple[str, ...]:
    """Areas, task by task, and where they are undefined or hold 0.5."""
    rows = frame[~pooled_rows(frame)].reset_index(drop=True)
    tasks = [labels.value("task", t) for t in rows["task"]] if "task" in rows.columns else [""] * len(rows)
    name = f"The AUROC of {column_words(str(rows['predictor'].iloc[0]), labels)}{target_words(rows, labels)}"
    kept = np.flatnonzero(rows["estimate"].notna().to_numpy())
    if not len(kept):
        return (f"{name} was undefined, since only one class was present.",)
    areas = rows.iloc[kept].reset_index(drop=True)
    texts = inline_text(areas, style=settings.style)
    places = [tasks[i] for i in kept]
    if len(kept) == 1:
        place = f" in {places[0]}" if len(rows) > 1 else ""
        found = [f"{name} was {texts[0]}{place}."]
    elif len(kept) <= WRITTEN:
        found = [f"{name} was {joined([f'{t} in {p}' for t, p in zip(texts, places, strict=True)])}."]
    else:
        found = [f"{name} of {len(kept)} tasks lay {between(texts, places, areas['estimate'], 'in')}."]
    undefined = [t for i, t in enumerate(tasks) if i not in set(kept)]
    if undefined:
        found.append(f"It was undefined in {listed(undefined, 'tasks')}, where only one class was present.")
    low, high = (areas[c].to_numpy(dtype=np.float64) for c in ("conf_low", "conf_high"))
    several = len(rows) > 1
    chance = [places[i] for i in np.flatnonzero((low <= 0.5) & (high >= 0.5))]
    if chance:
        where = f" in {listed(chance, 'tasks')}" if several else ""
        found.append(f"The interval held 0.5, the area of guessing,{where}.".replace(",.", "."))
    bare = [places[i] for i in np.flatnonzero(np.isnan(low) | np.isnan(high))]
    if bare:
        where = f" in {listed(bare, 'tasks')}" if several else ""
        found.append(f"No interval could be given{where}.")
    return tuple(found)


def target_words(rows: pd.DataFrame, labels: Labels) -> str:
    """What an area is for: the presence of the finding, or a column by its label."""
    response = str(rows["response"].iloc[0])
    if response == "label" and labels.column("label") == Labels().column("label"):
        return " for the presence of the finding"
    return f" for {column_words(response, labels)}"
