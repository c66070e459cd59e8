"""Kinds of agreement as records: the scores that each is for, its coefficients, and its intervals.

To add one, write its kernel on `RaterReadings` and its record here; its intervals are records of
`stats/engine/intervals.py`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from salstats.stats.agreement import bland_altman, concordance, icc, kappas, krippendorff
from salstats.stats.agreement.readings import Coefficients, RaterReadings, coefficients_with_wilson_limits

#: Scores that a kind is for: on a continuous scale, categories as whole numbers, or either.
CONTINUOUS = "continuous scores"
CATEGORIES = "categories"
EITHER = "either"


@dataclass(frozen=True)
class Agreement:
    """Record of a kind of agreement."""

    #: Value of the option `kind`.
    name: str
    #: Name in a sentence.
    label: str
    #: Scores that it is for: `CONTINUOUS`, `CATEGORIES` or `EITHER`.
    score_type: str
    #: Printed name of each term, in order.
    terms: Mapping[str, str]
    #: For each interval a function of readings, level and options that returns coefficients; the first
    #: interval is the default.
    estimators: Mapping[str, Callable[..., Coefficients]]
    #: Publication whose definition is followed.
    source: str
    #: True for coefficients of two raters; three or more are analysed in pairs.
    two_raters_only: bool = False
    #: True if raters may read a case several times.
    allows_repeats: bool = False
    #: Intervals for which every rater must have read every case.
    complete_intervals: tuple[str, ...] = ()
    #: Intervals of independent pairs, for which every rater may have read a case only once.
    single_reading_intervals: tuple[str, ...] = ()
    #: Parameter of `agreement` that chooses a variant.
    option: str = ""
    #: Values of that parameter; the first is the default.
    choices: tuple[str, ...] = ()
    #: Terms that generalise to other raters, and not only to those of the data.
    terms_for_other_raters: tuple[str, ...] = ()


def _jackknife_entry(kernel: Callable[..., np.ndarray]) -> dict[str, Callable[..., Coefficients]]:
    """Return the entry of the default interval in `estimators`, the jackknife of units, for a kernel."""

    def estimate(readings: RaterReadings, level: float, **options: Any) -> Coefficients:
        return coefficients_with_wilson_limits(readings, partial(kernel, **options), level)

    return {"jackknife": estimate}


_ICC_LABELS = {
    "icc1": "ICC(1,1), one-way, single reading",
    "icc2": "ICC(2,1), absolute agreement, single reading",
    "icc3": "ICC(3,1), consistency, single reading",
    "icc1k": "ICC(1,k), one-way, mean of readings",
    "icc2k": "ICC(2,k), absolute agreement, mean of readings",
    "icc3k": "ICC(3,k), consistency, mean of readings",
}
_COHEN_LABELS = {
    "cohen_unweighted": "Cohen's kappa",
    "cohen_linear": "Cohen's kappa, linear weights",
    "cohen_quadratic": "Cohen's kappa, quadratic weights",
}
RECORDS = (
    Agreement(
        "icc", "intraclass correlation", CONTINUOUS, _ICC_LABELS,
        {"jackknife": icc.iccs_with_jackknife_limits, "mcgraw-wong": icc.iccs_with_mcgraw_wong_limits},
        "Shrout and Fleiss 1979, doi:10.1037/0033-2909.86.2.420",
        complete_intervals=("mcgraw-wong",), option="form",
        terms_for_other_raters=("icc1", "icc2", "icc1k", "icc2k"),
    ),
    Agreement(
        "krippendorff", "Krippendorff's alpha", EITHER,
        {f"krippendorff_{scale}": f"Krippendorff's alpha, {scale}" for scale in krippendorff.SCALES},
        _jackknife_entry(krippendorff.krippendorff_alpha),
        "Krippendorff 2004, doi:10.1111/j.1468-2958.2004.tb00738.x",
        option="scale", choices=krippendorff.SCALES,
    ),
    Agreement(
        "cohen", "Cohen's kappa", CATEGORIES, _COHEN_LABELS,
        _jackknife_entry(kappas.cohen_kappa)
        | {"fleiss-cohen-everitt": kappas.cohen_kappa_with_normal_limits},
        "Cohen 1960, doi:10.1177/001316446002000104; 1968, doi:10.1037/h0026256",
        two_raters_only=True, option="weighting", choices=tuple(kappas.WEIGHTINGS),
    ),
    Agreement(
        "fleiss", "Fleiss's kappa", CATEGORIES, {"fleiss": "Fleiss's kappa"},
        _jackknife_entry(kappas.fleiss_kappa) | {"fleiss": kappas.fleiss_kappa_with_normal_limits},
        "Fleiss 1971, doi:10.1037/h0031619", complete_intervals=("fleiss",),
    ),
    Agreement(
        "conger", "Conger's kappa", CATEGORIES, {"conger": "Conger's kappa"},
        _jackknife_entry(kappas.conger_kappa),
        "Conger 1980, doi:10.1037/0033-2909.88.2.322",
    ),
    Agreement(
        "light", "Light's kappa", CATEGORIES, {"light": "Light's kappa"},
        _jackknife_entry(kappas.light_kappa),
        "Light 1971, doi:10.1037/h0031643",
    ),
    Agreement(
        "ac1", "Gwet's AC1", CATEGORIES, {"ac1": "Gwet's AC1"}, _jackknife_entry(kappas.ac1),
        "Gwet 2008, doi:10.1348/000711006X126600",
    ),
    Agreement(
        "ccc", "concordance correlation", CONTINUOUS, {"ccc": "Concordance correlation"},
        _jackknife_entry(concordance.concordance_correlation)
        | {"lin": concordance.concordance_with_lin_limits},
        "Lin 1989, doi:10.2307/2532051; erratum 2000, doi:10.1111/j.0006-341X.2000.00324.x",
        two_raters_only=True, allows_repeats=True, single_reading_intervals=("lin",),
    ),
    Agreement(
        "bland-altman", "limits of agreement", CONTINUOUS,
        {"bias": "Bias", "loa_low": "Lower limit of agreement", "loa_high": "Upper limit of agreement"},
        {
            "jackknife": bland_altman.bias_and_limits_of_agreement_by_jackknife,
            "bland-altman": bland_altman.bias_and_limits_of_agreement_by_student_t,
        },
        "Bland and Altman 1999, doi:10.1177/096228029900800204; 2007, doi:10.1080/10543400701329422",
        two_raters_only=True, allows_repeats=True, single_reading_intervals=("bland-altman",),
        option="linked",
    ),
)  # fmt: skip
KINDS = {record.name: record for record in RECORDS}
#: Printed name of each term.
LABELS = {term: label for record in RECORDS for term, label in record.terms.items()}


def short_label(term: str) -> str:
    """Return a term's printed name up to the first comma and blank, such as "ICC(2,1)"."""
    return LABELS[term].split(", ")[0]


def is_agreement_frame(frame: pd.DataFrame) -> bool:
    """Return True if an estimates frame holds coefficients of agreement, or limits of agreement."""
    return "term" in frame.columns and len(frame) > 0 and set(frame["term"]) <= set(LABELS)


def common_kind_label(terms: Iterable[object]) -> str | None:
    """Return the name of the kind that terms belong to, such as "Intraclass correlation".

    It is None if they belong to several kinds, or there are none.
    """
    distinct_terms = set(terms)
    if not distinct_terms:
        return None
    for record in RECORDS:
        if distinct_terms <= set(record.terms):
            return record.label[0].upper() + record.label[1:]
    return None
