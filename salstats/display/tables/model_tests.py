"""P values of a regression table: of each term, and of a factor as a whole."""

import numpy as np
import pandas as pd

from salstats.checks import SalstatsError
from salstats.display.tables.marks import adjustment, is_adjusted, numbers
from salstats.display.tables.models import Frames, combine, model_columns
from salstats.display.tables.placement import key_of
from salstats.display.text.format import row_p_text
from salstats.display.text.terms import factor_of


def factor_tests(
    frame: pd.DataFrame, joint: Frames | None, style: str, *, named: bool
) -> tuple[list[str], str]:
    """P of the whole factor or interaction that each row is a level of, "" where unknown, and a note."""
    if joint is None:
        return [""] * len(frame), ""
    tests = combine(joint, ("term", "p_value"), "joint")
    models = [c for c in model_columns(frame) if c in tests.columns]
    texts = [row_p_text(row, style, named=named) for row in tests.to_dict("records")]
    of = {(key_of(tests, i, models), str(term)): texts[i] for i, term in enumerate(tests["term"])}
    found = [of.get((key_of(frame, i, models), name), "") for i, name in enumerate(factor_of(frame))]
    if not any(found):
        raise SalstatsError(
            "joint has no test of a factor of these models; give fit.joint(each=True) of the same fit"
        )
    adjusted = f"adjusted ({adjustment(tests)})" if is_adjusted(tests) else "not adjusted"
    note = f"P beside a factor: joint {_wald(frame)}test of all its levels, {adjusted}."
    terms = set(tests["term"].astype(str))
    if any(":" in term and terms & set(term.split(":")) for term in terms):
        note += (
            " Of a factor in an interaction it is a type III test on sum contrasts: on average over the "
            "levels of other factors, and where numbers are 0."
        )
    return found, note


def p_texts(frame: pd.DataFrame, style: str) -> list[str]:
    """P of each row, adjusted where it is, "" of reference levels."""
    estimated = frame["estimate"].notna()
    rows = frame.to_dict("records")
    return [row_p_text(row, style) if known else "" for row, known in zip(rows, estimated, strict=True)]


def p_note(frame: pd.DataFrame, adjust: str | None, *, in_column: bool) -> str:
    """The test behind the stars; behind P values in a column also what they were adjusted by."""
    if "df" not in frame.columns:
        return ""
    text = f"P values: two-sided {_wald(frame)}{_kind(frame)}"
    if not in_column:
        return f"{text}."
    if is_adjusted(frame):
        return f"{text}; adjusted ({adjustment(frame, adjust)})."
    return f"{text}; not adjusted for multiple tests."


def _wald(frame: pd.DataFrame) -> str:
    """The word before tests that compare estimates with their standard errors."""
    return "" if _by_rank_scores(frame) else "Wald "


def _kind(frame: pd.DataFrame) -> str:
    """Which tests there are of single terms."""
    if _by_rank_scores(frame):
        return "rank-score tests"
    normal = np.isnan(numbers(frame, "df"))[~np.isnan(numbers(frame, "p_value"))]
    return "z tests" if normal.all() else "t or z tests" if normal.any() else "t tests"


def _by_rank_scores(frame: pd.DataFrame) -> bool:
    """Whether all limits, and so the tests, are those of rank scores."""
    return "interval" in frame.columns and bool((frame["interval"] == "rank_score").all())
