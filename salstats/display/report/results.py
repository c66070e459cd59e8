"""Sentences that say what the frames show, and nothing that they do not."""

from collections.abc import Callable, Iterable, Mapping

import pandas as pd

from salstats.display.report.associations import (
    auroc_sentences,
    correlation_sentences,
    regression_sentences,
)
from salstats.display.report.comparisons import contrast_sentences
from salstats.display.report.levels import count_sentences, mean_sentences
from salstats.display.report.wording import Words

#: What writes the sentences of a frame, by its key; frames of figures have none.
_WRITERS: Mapping[str, Callable[[pd.DataFrame, Words], Iterable[str]]] = {
    "flow": count_sentences,
    "means": mean_sentences,
    "decrease": contrast_sentences,
    "difference": contrast_sentences,
    "regression": regression_sentences,
    "correlation": correlation_sentences,
    "auroc": auroc_sentences,
}


def result_sentences(key: str, frame: pd.DataFrame, words: Words) -> tuple[str, ...]:
    """What a frame shows, in sentences that can go into a paper's Results; none for frames of figures."""
    return () if key not in _WRITERS or frame.empty else tuple(_WRITERS[key](frame, words))
