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
from salstats.display.text.format import MINUS, count_text, counted, joined, level_text
from salstats.stats.intervals import BOOTSTRAP, find_interval

TIMES = "\u00d7"
_FAMILYWISE, _DISCOVERY = "the family-wise error rate", "the false discovery rate"
_POSITIVE = " for independent or positively dependent tests"
#: Procedures: how they are cited, and what they control.
_PROCEDURES = {
    "Bonferroni": ("the Bonferroni procedure", _FAMILYWISE),
    "Holm": ("Holm's procedure (Holm 1979)", _FAMILYWISE),
    "Hochberg": ("Hochberg's procedure (Hochberg 1988)", _FAMILYWISE + _POSITIVE),
    "Hommel": ("Hommel's procedure (Hommel 1988)", _FAMILYWISE + _POSITIVE),
    "Benjamini-Hochberg": (
        "the Benjamini-Hochberg procedure (Benjamini and Hochberg 1995)",
        _DISCOVERY + _POSITIVE,
    ),
    "Benjamini-Yekutieli": (
        "the Benjamini-Yekutieli procedure (Benjamini and Yekutieli 2001)",
        _DISCOVERY,
    ),
}


def interval_words(kind: str, nouns: Sequence[str], settings: Settings) -> str:
    """How the intervals of means and contrasts were made; `nouns` say of what."""
    record = find_interval(kind)
    assert record is not None
    text = record.note.format(unit=unit_words(settings.unit)[0])
    return f"The {level_text(settings.level)}% confidence intervals of {joined(nouns)} were {text}."


def p_value_words(test: str, settings: Settings) -> str:
    """How the P values of comparisons were obtained."""
    one = unit_words(settings.unit)[0]
    above = count_text(settings.n_replicates + 1)
    texts = {
        "bootstrap": "Two-sided P values of no difference were taken from the bootstrap replicates, as twice "
        "the smaller of (1 + k)/(B + 1), at most 1, with k the number of replicates of the difference at or "
        "below 0, or at or above 0, and B the number of defined replicates (Davison and Hinkley 1997); with "
        f"all replicates defined the smallest possible was 2/{above}.",
        "t": f"Two-sided P values were from paired t tests with standard errors clustered by {one}.",
        "wilcoxon": "Two-sided P values were from Wilcoxon's signed-rank test of the mean difference of each "
        f"{one} (Wilcoxon 1945).",
        "mcnemar": "Two-sided P values were from McNemar's exact test (McNemar 1947).",
        "signflip": "Two-sided P values were from a permutation test that flips the signs of all differences "
        f"of a {one} together, as (1 + k)/(B + 1) with k the number of B = "
        f"{count_text(settings.n_replicates)} random flips that lie at least as far from 0 as the data.",
        "none": "No test was made.",
    }
    return texts[test]


def adjustment(tables: Mapping[str, pd.DataFrame], settings: Settings, *, again: bool = False) -> str:
    """How the P values of tables were adjusted, and what their families are.

    `tables` are the frames by what their rows are called, in the plural; `again` where the procedure has
    been described before.
    """
    adjusted = {noun: t for noun, t in tables.items() if is_adjusted(t, settings)}
    if not adjusted:
        plain = any("p_value" in t.columns and t["p_value"].notna().any() for t in tables.values())
        return f"P values of {joined(list(tables))} were not adjusted for multiple tests." if plain else ""
    procedure, controlled = _PROCEDURES[frame_procedure(next(iter(adjusted.values())), settings)]
    if all("n_tests" in t.columns and (t["n_tests"] == 1).all() for t in adjusted.values()):
        return f"With a single test, the P value of {joined(list(adjusted))} needed no adjustment."
    over = " and, as a family of their own, ".join(_family(noun, table) for noun, table in adjusted.items())
    if again:
        return f"P values were adjusted by the same procedure over {over}; confidence intervals were not."
    return (
        f"P values were adjusted for multiple tests by {procedure}, which controls {controlled}, over "
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
    one, many = unit_words(settings.unit)
    kinds = dict.fromkeys(table["errors"].astype("str"))
    texts = {
        "cluster": f"Standard errors were clustered by {one} (CR1, with the factor G/(G {MINUS} 1) {TIMES} "
        f"(n {MINUS} 1)/(n {MINUS} k) for G {many}, n rows and k coefficients; Cameron and Miller 2015); P "
        f"values and confidence intervals were from Student's t distribution with G {MINUS} 1 degrees of "
        "freedom.",
        "cr2": f"Standard errors were clustered by {one} with the CR2 correction for few clusters; P values "
        "and confidence intervals were from Student's t distribution with Satterthwaite's degrees of freedom "
        "(Pustejovsky and Tipton 2018).",
        "classical": "Standard errors were those for independent errors of equal variance.",
    }
    consistent = "Standard errors were heteroscedasticity-consistent ({})."
    return [texts.get(kind) or consistent.format(kind.upper()) for kind in kinds]
