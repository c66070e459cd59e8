"""Kinds of agreement as records: what each takes, its coefficients, and how its limits are made.

To add one, write its kernel on `Readings` and its record here; its intervals are records of
`stats/engine/intervals.py`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from salstats.stats.agreement import bland_altman, concordance, icc, kappas, krippendorff
from salstats.stats.agreement.readings import Found, Readings, by_jackknife

#: What a kind takes: numbers on a continuous scale, categories as whole numbers, or either.
CONTINUOUS, CATEGORIES, EITHER = "continuous scores", "categories", "either"


@dataclass(frozen=True)
class Agreement:
    """A kind of agreement."""

    #: What `kind=` takes.
    name: str
    #: In a sentence.
    label: str
    needs: str
    #: Its terms, in order, and what each is called in print.
    terms: Mapping[str, str]
    #: `interval=` -> how readings become estimates with limits; the first is the default.
    found: Mapping[str, Callable[..., Found]]
    source: str
    #: Whether it is of two raters, so that more of them make pairs; and of cases that are read several times.
    pairs: bool = False
    repeated: bool = False
    #: Intervals that need every rater's reading of every case.
    complete: tuple[str, ...] = ()
    #: The parameter that chooses a variant, and what it takes; the first is the default.
    option: str = ""
    choices: tuple[str, ...] = ()
    #: Terms that speak of raters at large, and not only of those there are.
    at_large: tuple[str, ...] = ()


def _jackknife(kernel: Callable[..., np.ndarray]) -> dict[str, Callable[..., Found]]:
    """The default of a coefficient: limits by the jackknife of units."""

    def found(readings: Readings, level: float, **options: Any) -> Found:
        return by_jackknife(readings, partial(kernel, **options), level)

    return {"jackknife": found}


_SINGLE, _MEAN = "single reading", "mean of readings"
_OF_KAPPA = {
    "cohen_unweighted": "Cohen's kappa",
    "cohen_linear": "Cohen's kappa, linear weights",
    "cohen_quadratic": "Cohen's kappa, quadratic weights",
}
RECORDS = (
    Agreement(
        "icc", "intraclass correlation", CONTINUOUS,
        {
            f"icc{n}{k}": f"ICC({n},{k or 1}), {what}, {of}"
            for k, of in (("", _SINGLE), ("k", _MEAN))
            for n, what in ((1, "one-way"), (2, "absolute agreement"), (3, "consistency"))
        },
        {"jackknife": icc.by_jackknife, "mcgraw-wong": icc.by_f},
        "Shrout and Fleiss 1979, doi:10.1037/0033-2909.86.2.420",
        complete=("mcgraw-wong",), option="form", at_large=("icc1", "icc2", "icc1k", "icc2k"),
    ),
    Agreement(
        "krippendorff", "Krippendorff's alpha", EITHER,
        {f"krippendorff_{scale}": f"Krippendorff's alpha, {scale}" for scale in krippendorff.SCALES},
        _jackknife(krippendorff.krippendorff),
        "Krippendorff 2004, doi:10.1111/j.1468-2958.2004.tb00738.x",
        option="scale", choices=krippendorff.SCALES,
    ),
    Agreement(
        "cohen", "Cohen's kappa", CATEGORIES, _OF_KAPPA,
        _jackknife(kappas.cohen) | {"fleiss-cohen-everitt": kappas.cohen_by_normal},
        "Cohen 1960, doi:10.1177/001316446002000104; 1968, doi:10.1037/h0026256",
        pairs=True, option="weighting", choices=tuple(kappas.WEIGHTINGS),
    ),
    Agreement(
        "fleiss", "Fleiss's kappa", CATEGORIES, {"fleiss": "Fleiss's kappa"},
        _jackknife(kappas.fleiss) | {"fleiss": kappas.fleiss_by_normal},
        "Fleiss 1971, doi:10.1037/h0031619", complete=("fleiss",),
    ),
    Agreement(
        "conger", "Conger's kappa", CATEGORIES, {"conger": "Conger's kappa"}, _jackknife(kappas.conger),
        "Conger 1980, doi:10.1037/0033-2909.88.2.322",
    ),
    Agreement(
        "light", "Light's kappa", CATEGORIES, {"light": "Light's kappa"}, _jackknife(kappas.light),
        "Light 1971, doi:10.1037/h0031643",
    ),
    Agreement(
        "ac1", "Gwet's AC1", CATEGORIES, {"ac1": "Gwet's AC1"}, _jackknife(kappas.ac1),
        "Gwet 2008, doi:10.1348/000711006X126600",
    ),
    Agreement(
        "ccc", "concordance correlation", CONTINUOUS, {"ccc": "Concordance correlation"},
        _jackknife(concordance.concordance) | {"lin": concordance.by_lin},
        "Lin 1989, doi:10.2307/2532051; erratum 2000, doi:10.1111/j.0006-341X.2000.00324.x",
        pairs=True, repeated=True,
    ),
    Agreement(
        "bland-altman", "limits of agreement", CONTINUOUS,
        {"bias": "Bias", "loa_low": "Lower limit of agreement", "loa_high": "Upper limit of agreement"},
        {"jackknife": bland_altman.by_jackknife, "bland-altman": bland_altman.by_formula},
        "Bland and Altman 1999, doi:10.1177/096228029900800204; 2007, doi:10.1080/10543400701329422",
        pairs=True, repeated=True, option="linked",
    ),
)  # fmt: skip
KINDS = {record.name: record for record in RECORDS}
#: What each term is called in print.
LABELS = {term: label for record in RECORDS for term, label in record.terms.items()}


def short_label(term: str) -> str:
    """A term's name without what stands behind the comma: "ICC(2,1)"."""
    return LABELS[term].split(", ")[0]


def is_agreement(frame: pd.DataFrame) -> bool:
    """Whether an estimates frame holds coefficients of agreement, or limits of it."""
    return "term" in frame.columns and len(frame) > 0 and set(frame["term"]) <= set(LABELS)


def common_label(terms: Iterable[object]) -> str | None:
    """What several terms of one kind are called together: "Intraclass correlation"."""
    asked = set(terms)
    kinds = [record for record in RECORDS if asked and asked <= set(record.terms)]
    return f"{kinds[0].label[0].upper()}{kinds[0].label[1:]}" if kinds else None
