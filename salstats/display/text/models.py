"""What models are in the notes of tables: their kind, their standard errors, and what is averaged over."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from salstats.display.estimates import Estimates
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


def kind_text(estimates: Estimates, labels: Labels) -> str:
    """Return the kind of models: "Linear mixed regression with random effects of case"."""
    families = [str(family) for family in estimates.values("family")]
    kinds = joined([FAMILIES[f].label if f in FAMILIES else f for f in families])
    groups = dict.fromkeys(g for f in estimates.values("formula") for g in random_groups(str(f)))
    text = f"{kinds} {'mixed ' if groups else ''}regression".strip()
    if groups:
        text += f" with random effects of {joined([group_text(columns, labels) for columns in groups])}"
    for correlation in estimates.values("correlation"):
        text += f" by generalised estimating equations with an {correlation} working correlation"
    return f"{text[0].upper()}{text[1:]}"


def errors_text(estimates: Estimates) -> str:
    """Return the standard errors of models, behind what else is said: "; classical standard errors."."""
    unit = joined([str(unit) for unit in estimates.values("unit")]) or "unit"
    texts = []
    for errors in estimates.values("errors"):
        record = ERRORS.get(str(errors))
        texts.append(str(errors) if record is None else record.label.format(unit=unit.replace("_", " ")))
    return f"; {joined(texts, 'or')}." if texts else "."


def outcome_text(estimates: Estimates, labels: Labels) -> str:
    """Return the outcome of models, "" where they have several or there are none."""
    outcomes = {str(formula).partition("~")[0].strip() for formula in estimates.values("formula")}
    return labels.term(outcomes.pop()) if len(outcomes) == 1 else ""


def is_marginal(estimates: Estimates) -> bool:
    """Return whether estimates are marginal means, contrasts or slopes of models."""
    return bool(estimates.values("formula")) and bool(estimates.values("average"))


def marginal_text(estimates: Estimates, labels: Labels) -> str:
    """Return what marginal estimates are, as a heading begins: "IoU, difference"."""
    terms = estimates.values("term")
    against = [str(level) for level in estimates.values("reference_level")]
    what = "difference" if against else "mean"
    if len(against) == 1:
        what += f" from {in_sentence(labels.value('reference_level', against[0]))}"
    if terms:
        what = "marginal effect"
        if len(terms) == 1:
            what += f" of {labels.term(str(terms[0]))}"
    # where the metric varies the outcome is the score
    outcome = "" if estimates.values("metric") else outcome_text(estimates, labels)
    text = f"{outcome}, {what}" if outcome else what
    return f"{text[0].upper()}{text[1:]}"


def as_deviations(estimates: Estimates, labels: Labels) -> Estimates:
    """Return variance components as SDs of what differs between groups; other estimates as they are."""
    frame = estimates.frame
    if not {"group", "parameter", "std_dev"} <= set(frame.columns):
        return estimates
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
    return estimates.with_frame(made[list(order)])


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


def model_note(estimates: Estimates, labels: Labels, over: str = "") -> str:
    """Say which models estimates are of: "Linear regression, on Elongation; classical standard errors."."""
    formulas = estimates.values("formula")
    if not formulas:
        return ""
    sides = dict.fromkeys(side_text(str(formula), labels, random=False) for formula in formulas)
    what = kind_text(estimates, labels)
    right_sides = joined(list(sides), "or")
    if right_sides:
        what += f", on {right_sides}"
    return f"{what}{over}{errors_text(estimates)}"


def marginal_note(estimates: Estimates, labels: Labels) -> str:
    """Say which models marginal estimates are of."""
    if not is_marginal(estimates):
        return ""
    over = joined([_OVER.get(str(a), str(a)) for a in estimates.values("average")], "or")
    return model_note(estimates, labels, f"; {over}")
