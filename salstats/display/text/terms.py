"""Terms of regressions in print: a factor is a heading with its levels below it, the reference among them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from salstats.checks import FormulaError
from salstats.display.text.format import joined
from salstats.display.text.labels import TIMES, Labels
from salstats.stats.models.formulas import Factor, Formula, parse_formula

#: What a reference level has none of.
_ESTIMATED = ("estimate", "std_error", "statistic", "df", "p_value", "p_adjusted", "conf_low", "conf_high")
#: A variable of a term as the term spells it, and its level, "" of a number.
Part = tuple[str, str]


@dataclass(frozen=True)
class TermRow:
    """A row for a term, or without one for the heading of a factor.

    `text` stands in the row, which may be a `level` below a heading; `whole` is its name without one.
    """

    term: str | None
    text: str
    whole: str
    level: bool = False


@lru_cache(maxsize=512)
def _parsed(formula: str) -> Formula | None:
    """A formula, if it is one of ours."""
    try:
        return parse_formula(formula)
    except FormulaError:
        return None


def factors_of(formula: str) -> tuple[tuple[Factor, ...], ...]:
    """The factors of each term of a formula, none where it is not one of ours."""
    parsed = _parsed(formula)
    return parsed.terms if parsed else ()


def random_groups(formula: str) -> list[tuple[str, ...]]:
    """The columns of each of a formula's random effects."""
    parsed = _parsed(formula)
    return list(dict.fromkeys(effect.groups for effect in parsed.random)) if parsed else []


def group_text(groups: Sequence[str], labels: Labels) -> str:
    """What the groups of a random effect are: "reader × case"."""
    return TIMES.join(labels.column(column).lower() for column in groups)


def variables_in(formula: str, terms: Sequence[str] | None = None) -> list[str]:
    """The columns on a formula's right side, or those that some of its terms are made of."""
    factors = {f.name: f.columns for term in factors_of(formula) for f in term}
    if terms is not None:
        names = {name for term in terms for name, _ in parts_of(term, formula)}
        factors = {name: columns for name, columns in factors.items() if name in names}
    return list(dict.fromkeys(c for columns in factors.values() for c in columns))


def parts_of(term: str, formula: str, known: Mapping[str, Part] | None = None) -> tuple[Part, ...]:
    """The variables of a term with their levels, as its formula or `known` levels tell them apart."""
    known = known or {}
    if term in known:
        return (known[term],)
    found: list[tuple[Part, ...]] = []
    for factors in factors_of(formula):
        names = [f.name for f in factors]
        match = re.fullmatch(":".join(f"{re.escape(name)}(.*)" for name in names), term, re.DOTALL)
        if match:
            found.append(tuple(zip(names, match.groups(), strict=True)))
    if found:
        # of `task` and `task_size` the longer one is meant
        return max(found, key=lambda parts: sum(len(name) for name, _ in parts))
    pieces = re.split(r":(?![^()]*\))", term)
    coded = [re.fullmatch(r"(C\(\w+[^()]*\))(.+)", piece) for piece in pieces]
    return tuple(
        known.get(piece) or ((m[1], m[2]) if m else (piece, ""))
        for m, piece in zip(coded, pieces, strict=True)
    )


def variable_text(name: str, labels: Labels) -> str:
    """The label of a variable as a formula spells it: `C(task)` is the task, `scale(prob)` per SD."""
    scaled = re.fullmatch(r"scale\((\w+)\)", name)
    return f"{labels.column(scaled[1])}, per SD" if scaled else labels.term(_column(name))


def side_text(formula: str, labels: Labels, *, random: bool = True) -> str:
    """The right side of a formula in labels, with its random effects or without, as it is if not of ours."""
    terms = [TIMES.join(variable_text(f.name, labels) for f in term) for term in factors_of(formula)]
    groups = [group_text(columns, labels) for columns in random_groups(formula) if random]
    terms += [f"random effects of {joined(groups)}"] if terms and groups else []
    return " + ".join(terms) or formula.partition("~")[2].strip()


def model_text(formula: str, outcome: str, labels: Labels) -> str:
    """A formula in labels, of a named outcome: "IoU ~ Relative size"."""
    return f"{outcome} ~ {side_text(formula, labels)}"


def with_reference_rows(frame: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """A frame of terms with a row without numbers for each reference level, before its levels."""
    if "reference_level" not in frame.columns or not frame["reference_level"].notna().any():
        return frame
    levels = frame[frame["reference_level"].notna()]
    known = _levels(frame)
    parts = [parts_of(str(t), f, known)[0] for t, f in zip(levels["term"], _formulas(levels), strict=True)]
    terms = [f"{name}{level}" for (name, _), level in zip(parts, levels["reference_level"], strict=True)]
    rows = levels.assign(term=terms, reference_level=None)
    # where nothing says what of a term is the level, there is no telling what the reference is called
    rows = rows[[level != "" for _, level in parts]].drop_duplicates([*models, "term"])
    rows[[c for c in _ESTIMATED if c in rows.columns]] = np.nan
    # a row and the reference before it have one index
    return pd.concat([rows, frame]).sort_index(kind="stable").reset_index(drop=True)


def term_rows(frame: pd.DataFrame, labels: Labels) -> list[TermRow]:
    """The rows of terms in the order they stand: as labels have them, levels below their factor."""
    of = dict(reversed(list(zip(frame["term"].astype(str), _formulas(frame), strict=True))))
    levels_of = _levels(frame)
    below: dict[str, list[TermRow]] = {}
    levels: dict[str, dict[str, TermRow]] = {}
    for term in labels.order("term", list(dict.fromkeys(frame["term"].astype(str)))):
        parts = parts_of(term, of[term], levels_of)
        heading, text = _texts(term, parts, labels)
        alone = heading and len(parts) == 1
        row = TermRow(term, text, f"{heading}: {text}" if alone else text, bool(heading))
        below.setdefault(heading or f"\n{term}", []).append(row)
        if alone:
            levels.setdefault(_column(parts[0][0]), {})[parts[0][1]] = row
    places: dict[str | None, int] = {}
    references = set(frame["term"]) - set(frame.loc[frame["estimate"].notna(), "term"])
    for column, known in levels.items():
        # an order that is not the alphabet's was chosen
        chosen = list(known) != sorted(known)
        order = labels.order(column, pd.Categorical(list(known), list(known)) if chosen else list(known))
        # what others are compared with stands first, unless it is given a place
        first = [v for v in order if known[v].term in references and v not in labels.named(column)]
        order = [*first, *(v for v in order if v not in first)]
        places |= {known[level].term: place for place, level in enumerate(order)}
    rows: list[TermRow] = []
    for heading, members in below.items():
        rows += [TermRow(None, heading, heading)] if members[0].level else []
        rows += sorted(members, key=lambda row: places.get(row.term, 0))
    return rows


def factors_of_rows(frame: pd.DataFrame) -> list[str]:
    """The factor that each row of a frame of terms is a level of, as its formula spells it, "" of numbers."""
    known = _levels(frame)
    parts = [parts_of(str(t), f, known) for t, f in zip(frame["term"], _formulas(frame), strict=True)]
    return [":".join(name for name, _ in own) if any(level for _, level in own) else "" for own in parts]


def normalized_note(frame: pd.DataFrame, labels: Labels) -> str:
    """Which covariates run from 0 to 1, on which their coefficients depend."""
    if "normalized" not in frame.columns:
        return ""
    names = [row.whole for row in term_rows(frame[frame["normalized"].eq(True)], labels)]
    return f"From 0, the smallest value in the data, to 1, the largest: {joined(names)}." if names else ""


def _formulas(frame: pd.DataFrame) -> list[str]:
    """The formula of each row, "" where there is none."""
    return list(frame["formula"].fillna("").astype(str)) if "formula" in frame.columns else [""] * len(frame)


def _levels(frame: pd.DataFrame) -> dict[str, Part]:
    """The terms of which the frame says the factor, each with its factor and its level."""
    if "factor" not in frame.columns:
        return {}
    said = frame.loc[frame["factor"].notna(), ["term", "factor"]].astype(str)
    pairs = zip(said["term"], said["factor"], strict=True)
    return {term: (name, term[len(name) :]) for term, name in pairs if term.startswith(name)}


def _column(name: str) -> str:
    """The column of a factor: `C(task)` and `C(task, Sum)` are of tasks."""
    coded = re.fullmatch(r"C\(([^(),]+)(?:,.*)?\)", name)
    return coded[1] if coded else name


def _texts(term: str, parts: Sequence[Part], labels: Labels) -> tuple[str, str]:
    """The heading above a term, "" without a factor, and its text; a label of its own comes first."""
    given = labels.value("term", term)
    if given != Labels().value("term", term):
        return "", given
    names = [variable_text(name, labels) for name, _ in parts]
    if not any(level for _, level in parts):
        return "", TIMES.join(names)
    levels = [
        labels.value(_column(part[0]), part[1]) if part[1] else name
        for part, name in zip(parts, names, strict=True)
    ]
    return TIMES.join(names), TIMES.join(levels)
