"""P values of a regression table: of each term, and of a factor with all of its levels."""

from typing import NamedTuple

import numpy as np

from salstats.display.estimates import Estimates
from salstats.display.facts import adjustment_text
from salstats.display.tables.models import Frames, columns_identifying_models, read_and_stack
from salstats.display.tables.placement import key_of
from salstats.display.text.format import p_text_adjusted_if_any
from salstats.display.text.terms import factor_names_of_rows
from salstats.errors import SalstatsError


class FactorPTextsAndNote(NamedTuple):
    """P of the factor or interaction that each row is a level of, "" where unknown, and the note on it."""

    texts: list[str]
    note: str


def factor_p_text_of_each_row_and_note(
    estimates: Estimates, joint: Frames | None, style: str, *, named: bool
) -> FactorPTextsAndNote:
    """Return the tests of factors in frames of `Fit.joint`, empty texts and no note without such frames.

    With `named` each text begins with "P".
    """
    frame = estimates.frame
    if joint is None:
        return FactorPTextsAndNote([""] * len(frame), "")
    tests = read_and_stack(joint, ("term", "p_value"), "joint")
    models = tests.existing_columns(columns_identifying_models(estimates))
    text_of_factor = {}
    for row, test in enumerate(tests.frame.to_dict("records")):
        model = key_of(tests.frame, row, models)
        text_of_factor[model, str(test["term"])] = p_text_adjusted_if_any(test, style, starts_with_p=named)
    texts = []
    for row, factor in enumerate(factor_names_of_rows(estimates)):
        texts.append(text_of_factor.get((key_of(frame, row, models), factor), ""))
    if not any(texts):
        raise SalstatsError(
            "joint has no test of a factor of these models",
            hint="give fit.joint(each=True) of the same fit",
            option="joint",
        )
    adjusted = f"adjusted ({adjustment_text(tests)})" if tests.has_adjusted_p_values else "not adjusted"
    note = f"P beside a factor: joint {_wald_prefix(estimates)}test of all its levels, {adjusted}."
    if _has_factor_and_interaction({str(term) for term in tests.distinct_values("term")}):
        note += (
            " Of a factor in an interaction it is a type III test on sum contrasts: on average over the "
            "levels of other factors, and where numbers are 0."
        )
    return FactorPTextsAndNote(texts, note)


def _has_factor_and_interaction(terms: set[str]) -> bool:
    """Return whether terms include an interaction together with one of its variables."""
    return any(":" in term and not terms.isdisjoint(term.split(":")) for term in terms)


def p_value_texts(estimates: Estimates, style: str) -> list[str]:
    """Return P of each row, adjusted where the row has an adjusted one, "" for reference levels."""
    rows = zip(estimates.frame.to_dict("records"), estimates.has_estimate, strict=True)
    texts = []
    for row, is_defined in rows:
        text = ""
        if is_defined:
            text = p_text_adjusted_if_any(row, style)
        texts.append(text)
    return texts


def p_value_tests_note(estimates: Estimates, *, in_column: bool) -> str:
    """Return the test behind P values or stars; for P values in a column also their adjustment."""
    if not estimates.existing_columns(["df"]):
        return ""
    text = f"P values: two-sided {_wald_prefix(estimates)}{_t_z_or_rank_score_tests_text(estimates)}"
    if not in_column:
        return f"{text}."
    if estimates.has_adjusted_p_values:
        n_shown = len(estimates.non_missing_numbers("p_adjusted"))
        has_hidden = max(estimates.non_missing_numbers("n_tests"), default=0) > n_shown
        hidden = ", also of terms that are not shown" if has_hidden else ""
        return f"{text}; adjusted ({adjustment_text(estimates)}{hidden})."
    return f"{text}; not adjusted for multiple tests."


def _wald_prefix(estimates: Estimates) -> str:
    """Return "Wald " for tests that compare estimates with their standard errors, else ""."""
    return "" if _has_rank_score_tests(estimates) else "Wald "


def _t_z_or_rank_score_tests_text(estimates: Estimates) -> str:
    """Return the kind of test of single terms: "t tests"."""
    if _has_rank_score_tests(estimates):
        return "rank-score tests"
    is_tested = ~np.isnan(estimates.numbers("p_value"))
    is_normal = np.isnan(estimates.numbers("df"))[is_tested]
    if is_normal.all():
        return "z tests"
    return "t or z tests" if is_normal.any() else "t tests"


def _has_rank_score_tests(estimates: Estimates) -> bool:
    """Return whether all limits, and so the tests, are based on rank scores."""
    return estimates.distinct_values("interval") == ["rank_score"]
