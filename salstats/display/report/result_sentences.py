"""Sentences that say what the frames of a report show."""

from collections.abc import Callable, Iterable, Mapping

from salstats.display.estimates import Estimates
from salstats.display.report.associations import (
    correlation_sentences,
    sentences_on_auroc_of_each_task,
    significant_slope_count_sentences,
)
from salstats.display.report.comparisons import contrast_sentences
from salstats.display.report.mean_scores import mean_sentences
from salstats.display.report.wording import Wording

#: Functions that write the sentences of estimates, by the key of their frame.
_WRITERS: Mapping[str, Callable[[Estimates, Wording], Iterable[str]]] = {
    "means": mean_sentences,
    "decrease": contrast_sentences,
    "difference": contrast_sentences,
    "regression": significant_slope_count_sentences,
    "correlation": correlation_sentences,
    "auroc": sentences_on_auroc_of_each_task,
}


def result_sentences(key: str, estimates: Estimates, wording: Wording) -> tuple[str, ...]:
    """Return what estimates show, in sentences for a paper's Results; none where only a figure shows them."""
    if key not in _WRITERS or not len(estimates):
        return ()
    return tuple(_WRITERS[key](estimates, wording))
