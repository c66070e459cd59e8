"""How intervals, tests, adjustments and standard errors are described in a Methods section."""

from collections.abc import Mapping, Sequence

import pandas as pd

from salstats.display.report.model import Settings
from salstats.display.report.wording import (
    alpha_text,
    frame_procedure,
    is_adjusted,
    p_name,
    unit_words,
)
from salstats.display.text.format import count_text, counted, joined, level_text
from salstats.stats.adjust import RECORDS as PROCEDURES
from salstats.stats.intervals import BOOTSTRAP, find_interval
from salstats.stats.models.covariance import ERRORS
from salstats.stats.paired_tests import RECORDS

TIMES = "\u00d7"


def interval_words(kind: str, nouns: Sequence[str], settings: Settings) -> str:
    """How the intervals of means and contrasts were made; `nouns` say of what."""
    record = find_interval(kind)
    assert record is not None
    text = record.note.format(unit=unit_words(settings.unit)[0])
    return f"The {level_text(settings.level)}% confidence intervals of {joined(nouns)} were {text}."


def p_value_words(test: str, settings: Settings) -> str:
    """How the P values of comparisons were obtained."""
    one, replicates = unit_words(settings.unit)[0], count_text(settings.n_replicates)
    return RECORDS[test].note.format(unit=one, replicates=replicates)


def adjustment(tables: Mapping[str, pd.DataFrame], settings: Settings, *, again: bool = False) -> str:
    """How the P values of tables were adjusted, and what their families are.

    `tables` are the frames by what their rows are called, in the plural; `again` where the procedure has
    been described before.
    """
    adjusted = {noun: t for noun, t in tables.items() if is_adjusted(t, settings)}
    if not adjusted:
        plain = any("p_value" in t.columns and t["p_value"].notna().any() for t in tables.values())
        return f"P values of {joined(list(tables))} were not adjusted for multiple tests." if plain else ""
    label = frame_procedure(next(iter(adjusted.values())), settings)
    procedure = next(p.note for p in PROCEDURES if p.label == label)
    if all("n_tests" in t.columns and (t["n_tests"] == 1).all() for t in adjusted.values()):
        return f"With a single test, the P value of {joined(list(adjusted))} needed no adjustment."
    over = " and, as a family of their own, ".join(_family(noun, table) for noun, table in adjusted.items())
    if again:
        return f"P values were adjusted by the same procedure over {over}; confidence intervals were not."
    return (
        f"P values were adjusted for multiple tests by {procedure}, over "
        f"{over}; confidence intervals were not adjusted."
    )


def _family(noun: str, table: pd.DataFrame) -> str:
    """Family of tests: "the 24 differences"."""
    tested = int(table["p_adjusted"].notna().sum())
    size = int(table["n_tests"].max()) if "n_tests" in table.columns else tested
    if size == tested:
        return f"the {count_text(size)} {noun}" if size > 1 else f"the only one of the {noun}"
    return f"{counted(size, 'test')} that include the {noun}"


def taken_as_shown(frame: pd.DataFrame, settings: Settings) -> str:
    """When a difference was taken as shown."""
    rule = f"A difference was taken as shown where its {level_text(settings.level)}% interval excluded 0"
    if is_adjusted(frame, settings):
        rule += f" and its {p_name(frame, settings)} was below {alpha_text(settings.level, settings.style)}"
    if frame["interval"].isin(BOOTSTRAP).any():
        rule += ", and no more than 1% of its replicates were undefined"
    return f"{rule}."


def errors_of_slopes(table: pd.DataFrame, settings: Settings) -> list[str]:
    """How the standard errors, P values and intervals of slopes were made."""
    one = unit_words(settings.unit)[0]
    return [ERRORS[kind].note.format(unit=one) for kind in dict.fromkeys(table["errors"].astype("str"))]
