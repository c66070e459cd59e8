"""Coefficients of models as figures show them: what they are, and what their terms are called."""

import re

import pandas as pd

from salstats.checks import SalstatsError
from salstats.display.format import joined
from salstats.display.labels import Labels
from salstats.display.plots.captions import distinct

#: On an axis of logarithms a bar reaches at most this far from the estimates.
_FARTHEST = 1000.0
_ERRORS = {
    "hc0": "robust (HC0)",
    "hc1": "robust (HC1)",
    "hc2": "robust (HC2)",
    "hc3": "robust (HC3)",
    "cluster": "cluster-robust (CR1)",
    "cr2": "cluster-robust (CR2)",
}


def formulas_of(frame: pd.DataFrame) -> list[str]:
    """Return the formula of each row, empty where there is none."""
    if "formula" not in frame.columns:
        return [""] * len(frame)
    return [str(f) for f in frame["formula"].fillna("")]


def is_ratio(frame: pd.DataFrame, name: str) -> bool:
    """Return whether estimates are exponentiated, which all have to be or none."""
    known = {str(v).lower() == "true" for v in distinct(frame, "exponentiated")}
    if len(known) > 1:
        raise SalstatsError(
            f"{name} holds exponentiated estimates beside others, which share no axis; keep one kind, as in "
            f'{name}.query("exponentiated")'
        )
    return known == {True}


def bars_on_log_axis(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return ratios whose bars have an end on an axis of logarithms, and a sentence if one was cut."""
    estimates = frame["estimate"].dropna()
    if (estimates <= 0).any():
        raise SalstatsError(f"an exponentiated estimate is positive, not {estimates.min():g}")
    if estimates.empty:
        return frame, ""
    ends = estimates.min() / _FARTHEST, estimates.max() * _FARTHEST
    limits = frame[["conf_low", "conf_high"]]
    cut = limits.clip(*ends)
    note = (
        "Bars that reach an end of the axis are cut there."
        if ((cut != limits) & limits.notna()).to_numpy().any()
        else ""
    )
    return frame.assign(conf_low=cut["conf_low"], conf_high=cut["conf_high"]), note


def effect_text(frame: pd.DataFrame, ratio: bool) -> str:
    """Return what the coefficients of models are."""
    families = set(distinct(frame, "family"))
    logit = bool(families) and families <= {"binomial", "fractional"}
    if ratio:
        return "Odds ratio" if logit else "Exponentiated coefficient"
    return "Log odds ratio" if logit else "Coefficient"


def term_labels(frame: pd.DataFrame, labels: Labels) -> dict[str, str]:
    """Return the label of each term: a level of a factor as "Task: Edema", in the order they stand."""
    variables: dict[str, set[str]] = {}
    for term, formula in zip(frame["term"].astype(str), formulas_of(frame), strict=True):
        variables.setdefault(term, set()).update(_variables(formula))
    return {t: _term_label(t, variables[t], labels) for t in map(str, labels.order("term", variables))}


def _variables(formula: str) -> list[str]:
    """Return the names on the right side of a formula, functions and quoted levels left out."""
    right = formula.partition("~")[2]
    quoted_names = re.findall(r"""Q\(["'](.+?)["']\)""", right)
    bare = re.sub(r"""(["']).*?\1""", "", right)
    return [*quoted_names, *re.findall(r"[^\W\d]\w*(?!\w*\s*\()", bare)]


def _term_label(term: str, variables: set[str], labels: Labels) -> str:
    """Return the label of a term; one that the user gave for the whole of it comes first."""
    if labels.term(term) != Labels().term(term):
        return labels.term(term)
    return " \u00d7 ".join(_part_label(part, variables, labels) for part in term.split(":"))


def _part_label(part: str, variables: set[str], labels: Labels) -> str:
    """Return the label of one variable of a term, with the level of a factor."""
    coded = re.fullmatch(r"C\((\w+).*?\)(.+)", part)
    if coded:
        return f"{labels.column(coded[1])}: {labels.value(*coded.groups())}"
    names = [v for v in variables if part.startswith(v)]
    name = max(names, key=len, default=part)
    if name == part or not names:
        return labels.term(part)
    return f"{labels.column(name)}: {labels.value(name, part[len(name) :])}"


def errors_note(frame: pd.DataFrame) -> str:
    """Return the sentence that says which standard errors are behind the intervals."""
    kinds = [_ERRORS.get(str(k), str(k)) for k in distinct(frame, "errors")]
    return f"Standard errors: {joined(kinds, 'or')}." if kinds else ""
