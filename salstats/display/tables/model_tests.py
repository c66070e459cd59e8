"""P values of a regression table: of each term, and of a factor as a whole."""

import numpy as np

from salstats.checks import SalstatsError
from salstats.display.estimates import Estimates
from salstats.display.facts import adjustment_text
from salstats.display.tables.models import Frames, combine, model_columns
from salstats.display.tables.placement import key_of
from salstats.display.text.format import row_p_text
from salstats.display.text.terms import factor_of


def factor_tests(
    estimates: Estimates, joint: Frames | None, style: str, *, named: bool
) -> tuple[list[str], str]:
    """Return P of the factor or interaction that each row is a level of, "" where unknown, and a note."""
    frame = estimates.frame
    if joint is None:
        return [""] * len(frame), ""
    tests = combine(joint, ("term", "p_value"), "joint")
    models = [c for c in model_columns(estimates) if c in tests.frame.columns]
    texts = [row_p_text(row, style, named=named) for row in tests.frame.to_dict("records")]
    of = {}
    for i, term in enumerate(tests.frame["term"]):
        of[key_of(tests.frame, i, models), str(term)] = texts[i]
    found = [of.get((key_of(frame, i, models), name), "") for i, name in enumerate(factor_of(frame))]
    if not any(found):
        raise SalstatsError(
            "joint has no test of a factor of these models; give fit.joint(each=True) of the same fit"
        )
    adjusted = f"adjusted ({adjustment_text(tests)})" if tests.is_adjusted else "not adjusted"
    note = f"P beside a factor: joint {_wald(estimates)}test of all its levels, {adjusted}."
    terms = {str(term) for term in tests.values("term")}
    if any(":" in term and terms & set(term.split(":")) for term in terms):
        note += (
            " Of a factor in an interaction it is a type III test on sum contrasts: on average over the "
            "levels of other factors, and where numbers are 0."
        )
    return found, note


def p_texts(estimates: Estimates, style: str) -> list[str]:
    """Return P of each row, adjusted where it is, "" of reference levels."""
    rows = zip(estimates.frame.to_dict("records"), estimates.defined, strict=True)
    return [row_p_text(row, style) if is_defined else "" for row, is_defined in rows]


def p_note(estimates: Estimates, *, in_column: bool) -> str:
    """Name the test behind the stars; behind P values in a column also what they were adjusted by."""
    if "df" not in estimates.frame.columns:
        return ""
    text = f"P values: two-sided {_wald(estimates)}{_kind(estimates)}"
    if not in_column:
        return f"{text}."
    if estimates.is_adjusted:
        return f"{text}; adjusted ({adjustment_text(estimates)})."
    return f"{text}; not adjusted for multiple tests."


def _wald(estimates: Estimates) -> str:
    """Return the word before tests that compare estimates with their standard errors."""
    return "" if _by_rank_scores(estimates) else "Wald "


def _kind(estimates: Estimates) -> str:
    """Return which tests there are of single terms."""
    if _by_rank_scores(estimates):
        return "rank-score tests"
    is_tested = ~np.isnan(estimates.numbers("p_value"))
    is_normal = np.isnan(estimates.numbers("df"))[is_tested]
    if is_normal.all():
        return "z tests"
    return "t or z tests" if is_normal.any() else "t tests"


def _by_rank_scores(estimates: Estimates) -> bool:
    """Return whether all limits, and so the tests, are those of rank scores."""
    return estimates.values("interval") == ["rank_score"]
