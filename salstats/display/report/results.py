"""Sentences that say what the frames show, and nothing that they do not."""

from collections.abc import Callable, Iterable, Mapping

import pandas as pd

from salstats.display.report.associations import (
    auroc_sentences,
    correlation_sentences,
    regression_sentences,
    slope_count,
)
from salstats.display.report.comparisons import contrast_sentences, headline
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
#: Metrics whose results stand in the summary.
_SUMMARISED = 2


def result_sentences(key: str, frame: pd.DataFrame, words: Words) -> tuple[str, ...]:
    """What a frame shows, in sentences that can go into a paper's Results; none for frames of figures."""
    return () if key not in _WRITERS or frame.empty else tuple(_WRITERS[key](frame, words))


def summary_sentences(frames: Mapping[str, pd.DataFrame], words: Words) -> tuple[str, ...]:
    """Sentences that stand first: the counts, the first two metrics, and how many slopes were shown.

    A metric is told by its percentage decrease where it has one, else by its difference, and without a
    reference by its means.
    """
    found = [*result_sentences("flow", frames["flow"], words)[:1]]
    contrasts = [frames[key] for key in ("decrease", "difference") if key in frames]
    told = contrasts or [frames["means"]]
    metrics = words.labels.order("metric", pd.concat([f["metric"] for f in told]))
    for metric in metrics[:_SUMMARISED]:
        rows = next(f[f["metric"] == metric] for f in told if (f["metric"] == metric).any())
        found.append(headline(rows, words) if contrasts else result_sentences("means", rows, words)[0])
    if "regression" in frames:
        found += slope_count(frames["regression"], words)
    return tuple(found)
