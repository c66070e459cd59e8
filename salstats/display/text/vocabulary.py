"""Names of estimates in print, and abbreviations.

Intervals, tests and procedures have their names in their records in `salstats.stats`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from salstats.metrics.registry import METRICS
from salstats.stats.engine.coefficients import RECORDS as COEFFICIENTS
from salstats.stats.engine.fixed_factors import (
    NOUNS_OF_FIXED_FACTORS,
    READERS,
    TRAININGS,
    fixed_factor_text,
    fixed_reader_or_training_nouns,
    random_factor_text,
)

#: Estimates of the rank of a method.
RANK_TERMS = {"rank", "true_rank"}
#: Estimates whose limits hold replicates and are no interval for a true value; see `rank_stability`.
_TERMS_WITH_REPLICATE_LIMITS = {"rank"}
#: What limits over replicates are, instead of a confidence interval.
REPLICATE_LIMITS = "how far the ranking moves over replicates, no confidence interval for a true rank"


def _fixed_factors_sentence(nouns: Sequence[str]) -> str:
    """Return the sentence that readers, trainings, or both are fixed."""
    text = " and ".join(nouns)
    fixed = fixed_factor_text(nouns)
    return f"{text.capitalize()} are fixed: intervals apply to {fixed}, not to {text} in general."


#: Sentences on the populations that intervals hold for, by the column `inference_to`.
INFERENCE_SENTENCES = {
    **{value: _fixed_factors_sentence(nouns) for value, nouns in NOUNS_OF_FIXED_FACTORS.items()},
    **{
        random_factor_text(noun): f"Intervals apply to {random_factor_text(noun)} in general."
        for noun in (READERS, TRAININGS)
    },
    "these cases": "Cases are fixed: intervals apply to these cases, and to readers in general.",
}

#: Labels of methods that are common nouns, which begin with a small letter inside a sentence.
_COMMON_NOUNS = (
    "Human benchmark", "Saliency method", "Simulated annotator", "Radiologists", "Interobserver", "Occlusion",
)  # fmt: skip


@dataclass(frozen=True)
class Term:
    """The names of one kind of estimate.

    Attributes
    ----------
    name : str
        Name inside a heading.
    digits : int
        Decimals in figures, and in tables of estimates that are not in the unit of a metric.
    contrast : bool
        Whether it compares a method with a reference.
    noun, nouns : str
        Singular and plural of a contrast in a sentence.
    """

    name: str
    digits: int = 3
    contrast: bool = False
    noun: str = ""
    nouns: str = ""

    @property
    def heading(self) -> str:
        """Name where a heading begins with it: "Decrease, %"."""
        return f"{self.name[0].upper()}{self.name[1:]}"


TERMS = {
    "mean": Term("mean"),
    "auroc": Term("AUROC"),
    "difference": Term(
        "difference", contrast=True, noun="difference in mean score", nouns="differences in mean score"
    ),
    "percent_decrease": Term(
        "decrease, %", digits=1, contrast=True, noun="percentage decrease", nouns="percentage decreases"
    ),
    "auroc_difference": Term(
        "difference in AUROC", contrast=True, noun="difference in AUROC", nouns="differences in AUROC"
    ),
    "within_case_sd": Term("SD within a case"),
    "rank": Term("rank", digits=1),
    "true_rank": Term("rank", digits=1),
    "tau": Term("Kendall\N{RIGHT SINGLE QUOTATION MARK}s tau", digits=2),
    "observed_rate": Term("observed rate"),
    "calibration_intercept": Term("calibration intercept", digits=2),
    "calibration_slope": Term("calibration slope", digits=2),
    "brier_score": Term("Brier score"),
    "median": Term("median"),
    "quantile": Term("quantile"),
    **{
        f"{statistic}_difference": Term(
            f"difference of {statistic}s",
            contrast=True,
            noun=f"difference of {statistic}s",
            nouns=f"differences of {statistic}s",
        )
        for statistic in ("median", "quantile")
    },
    **{record.name: Term(record.heading, digits=2) for record in COEFFICIENTS.values()},
}
#: The terms that compare a method with a reference.
CONTRASTS = tuple(name for name, term in TERMS.items() if term.contrast)
#: Metrics by their names, in full.
METRICS_IN_FULL = {metric.name: metric.full for metric in METRICS.values() if metric.full}
#: Abbreviations that tables use by themselves; users spell out those in their own labels.
ABBREVIATIONS = {
    "AIC": "Akaike information criterion",
    "AUROC": METRICS_IN_FULL["auc"],
    "BIC": "Bayesian information criterion",
    "CI": "confidence interval",
    "Cov1": "covariance of two methods with one reader",
    "Cov2": "covariance of one method with two readers",
    "Cov3": "covariance of two methods with two readers",
    "Deletion AUC": "area under the deletion curve",
    "ICC": "intraclass correlation",
    "Insertion AUC": "area under the insertion curve",
    "KL": "Kullback-Leibler",
    "Q1": "first quartile",
    "Q3": "third quartile",
    "SD": "standard deviation",
    **{metric.label: metric.full for metric in METRICS.values() if metric.full and metric.label.isalpha()},
}


def limits_name_after_level(terms: Iterable[object]) -> str:
    """Return the name of limits as it follows their level: "CI", or "of replicates"."""
    if {str(term) for term in terms} <= _TERMS_WITH_REPLICATE_LIMITS:
        return "of replicates"
    return "CI"


def inference_population_sentence(values: Iterable[Any]) -> str:
    """Return for which population intervals hold, from the values of the column `inference_to`.

    "" where some estimates hold for readers in general and others do not.
    """
    populations = [str(value) for value in dict.fromkeys(values) if not pd.isna(value)]
    if len(populations) == 1:
        return INFERENCE_SENTENCES.get(populations[0], "")
    nouns = fixed_reader_or_training_nouns(populations)
    if nouns and all(population in NOUNS_OF_FIXED_FACTORS for population in populations):
        return INFERENCE_SENTENCES[fixed_factor_text(nouns)]
    return ""


def method_label_in_sentence(label: str) -> str:
    """Return a method's label as it stands inside a sentence."""
    if label in _COMMON_NOUNS:
        return label.lower()
    return label
