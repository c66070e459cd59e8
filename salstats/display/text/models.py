"""What models are in the notes of tables: their kind, their standard errors, and what is averaged over."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.display.text.format import joined
from salstats.display.text.labels import Labels
from salstats.display.text.terms import (
    group_text,
    random_groups,
    side_text,
    term_rows,
    with_reference_rows,
)
from salstats.display.text.vocabulary import in_sentence
from salstats.stats.adjust import INTERCEPT
from salstats.stats.models.errors import ERRORS
from salstats.stats.models.families import FAMILIES

#: What marginal means are averaged over, see `fit`.
_OVER = {
    "grid": "levels of other factors count alike, numbers are held at their mean",
    "rows": "averaged over the rows of the model",
}


def _distinct(frame: pd.DataFrame, column: str) -> list[str]:
    """The distinct values of a column, none where there is no such column."""
    return [str(v) for v in frame[column].dropna().unique()] if column in frame.columns else []


def kind_text(frame: pd.DataFrame, labels: Labels) -> str:
    """The kind of models: "Linear mixed regression with random effects of case"."""
    kinds = joined([FAMILIES[f].label if f in FAMILIES else f for f in _distinct(frame, "family")])
    groups = dict.fromkeys(group for f in _distinct(frame, "formula") for group in random_groups(f))
    text = f"{kinds} {'mixed ' if groups else ''}regression".strip()
    if groups:
        text += f" with random effects of {joined([group_text(columns, labels) for columns in groups])}"
    for correlation in _distinct(frame, "correlation"):
        text += f" by generalised estimating equations with an {correlation} working correlation"
    return f"{text[0].upper()}{text[1:]}"


def errors_text(frame: pd.DataFrame) -> str:
    """The standard errors of models behind what else is said of them: "; classical standard errors."."""
    unit = joined(_distinct(frame, "unit")) or "unit"
    said = [
        ERRORS[e].label.format(unit=unit.replace("_", " ")) if e in ERRORS else e
        for e in _distinct(frame, "errors")
    ]
    return f"; {joined(said, 'or')}." if said else "."


def outcome_text(frame: pd.DataFrame, labels: Labels) -> str:
    """The outcome of models, "" where they have several or there are none."""
    outcomes = {formula.partition("~")[0].strip() for formula in _distinct(frame, "formula")}
    return labels.term(outcomes.pop()) if len(outcomes) == 1 else ""


def is_marginal(frame: pd.DataFrame) -> bool:
    """Whether estimates are marginal means, contrasts or slopes of models."""
    return {"formula", "average"} <= set(frame.columns)


def marginal_text(frame: pd.DataFrame, labels: Labels) -> str:
    """What marginal estimates are, as a heading begins: "IoU, difference"."""
    terms = _distinct(frame, "term")
    against = _distinct(frame, "reference_level")
    what = "difference" if against else "mean"
    what += f" from {in_sentence(labels.value('reference_level', against[0]))}" if len(against) == 1 else ""
    if terms:
        what = "marginal effect" + (f" of {labels.term(terms[0])}" if len(terms) == 1 else "")
    # where the metric varies the outcome is the score
    outcome = "" if "metric" in frame.columns else outcome_text(frame, labels)
    text = f"{outcome}, {what}" if outcome else what
    return f"{text[0].upper()}{text[1:]}"


def as_deviations(frame: pd.DataFrame, labels: Labels) -> pd.DataFrame:
    """A frame of `variance_components` as SDs of what differs between groups; any other as it is."""
    if not {"group", "parameter", "std_dev"} <= set(frame.columns):
        return frame
    rows = frame[frame["parameter"] == "variance"].reset_index(drop=True)
    rows["term"] = rows["term"].fillna(INTERCEPT)
    whole = {row.term: f", {row.whole}" for row in term_rows(rows, labels)} | {INTERCEPT: ""}
    groups = [group_text(str(group).split(":"), labels) for group in rows["group"]]
    named = [f"{g[0].upper()}{g[1:]}{whole[t]}" for g, t in zip(groups, rows["term"], strict=True)]
    outcome = [formula.partition("~")[0].strip() for formula in rows["formula"]]
    keys = list(frame.columns[: frame.columns.get_loc("formula")])
    limits = {c: np.sqrt(rows[c]) for c in ("conf_low", "conf_high")}
    made = rows.assign(
        metric=outcome, group=named, term="SD", estimate=rows["std_dev"], n=rows["n_groups"], **limits
    )
    order = dict.fromkeys([*keys, "metric", "group", *frame.columns.drop(["formula", "parameter"])])
    return made[list(order)]


def term_names(
    frame: pd.DataFrame, models: Sequence[str], labels: Labels
) -> tuple[dict[str, tuple[str, str]], str]:
    """The variable and level of each term ("" of a number) in the order they stand, and what they compare."""
    names, references, heading, drawn = {}, [], "", set(frame["term"])
    for row in term_rows(with_reference_rows(frame, models), labels):
        if row.term is None:
            heading = row.text
        elif row.term in drawn:
            names[row.term] = (heading, row.text) if row.level else (row.text, "")
        else:
            references.append(f"{row.text} ({heading})")
    return names, f"Reference level: {joined(references)}." if references else ""


def model_note(frame: pd.DataFrame, labels: Labels, over: str = "") -> str:
    """The models behind estimates: "Linear regression, on Elongation; classical standard errors."."""
    sides = dict.fromkeys(side_text(f, labels, random=False) for f in _distinct(frame, "formula"))
    what = ", on ".join(filter(None, [kind_text(frame, labels), joined(list(sides), "or")]))
    return f"{what}{over}{errors_text(frame)}" if sides else ""


def marginal_note(frame: pd.DataFrame, labels: Labels) -> str:
    """The models that marginal estimates are of."""
    if not is_marginal(frame):
        return ""
    over = joined([_OVER.get(a, a) for a in _distinct(frame, "average")], "or")
    return model_note(frame, labels, f"; {over}")
