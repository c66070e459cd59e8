"""Sentences that say what the frames show, and nothing that they do not."""

from collections.abc import Callable, Mapping

import pandas as pd

from salstats.display.report.associations import (
    auroc_sentences,
    correlation_sentences,
    regression_sentences,
    slope_count,
)
from salstats.display.report.comparisons import contrast_sentences, headline_sentences
from salstats.display.report.levels import count_sentences, mean_sentences
from salstats.display.report.model import Settings
from salstats.display.text.labels import Labels

#: What writes the sentences of a frame, by its key; frames of figures have none.
_WRITERS: Mapping[str, Callable[[pd.DataFrame, Settings, Labels], tuple[str, ...]]] = {
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


def result_sentences(key: str, frame: pd.DataFrame, settings: Settings, labels: Labels) -> tuple[str, ...]:
    """What a frame shows, in sentences that can go into a paper's Results.

    Parameters
    ----------
    key : str
        Which frame: "flow" (of `case_flow`), "means" (`summarize`), "decrease" (`percent_decrease`),
        "difference", "regression" (covariates' terms of `regress`, with a reference also of gaps),
        "correlation", "auroc". Others have no sentences.
    frame : DataFrame
        The frame, with a column `metric` where there can be several.
    settings : Settings
        The choices it was made with.
    labels : Labels
        What methods, metrics, tasks and covariates are called.

    Returns
    -------
    tuple of str
        Sentences, each with its full stop; none for an empty frame.
    """
    writer = _WRITERS.get(key)
    return () if writer is None or frame.empty else writer(frame, settings, labels)


def summary_sentences(
    frames: Mapping[str, pd.DataFrame], settings: Settings, labels: Labels
) -> tuple[str, ...]:
    """Two to four sentences that stand first: what there was, and what came out.

    Parameters
    ----------
    frames : Mapping of str to DataFrame
        The frames of `result_sentences` by key, those that there are.
    settings, labels
        As for `result_sentences`.

    Returns
    -------
    tuple of str
        The counts; for the first two metrics the methods against the reference (by percentage decrease
        where the metric has one, else by difference), or without a reference the means; the number of
        covariates' slopes that were shown.
    """
    found = list(result_sentences("flow", frames["flow"], settings, labels)[:1]) if "flow" in frames else []
    contrasts = [frames[key] for key in ("decrease", "difference") if _present(frames, key)]
    if contrasts:
        metrics = labels.order("metric", pd.concat([f["metric"] for f in contrasts]))
        for metric in metrics[:_SUMMARISED]:
            of_metric = next(f for f in contrasts if (f["metric"] == metric).any())
            rows = of_metric[of_metric["metric"] == metric]
            found += headline_sentences(rows, settings, labels)[:1]
    elif _present(frames, "means"):
        means = frames["means"]
        for metric in labels.order("metric", means["metric"])[:_SUMMARISED]:
            rows = means[means["metric"] == metric]
            found += result_sentences("means", rows, settings, labels)[:1]
    if _present(frames, "regression") and len(found) < 4:
        found += slope_count(frames["regression"], settings, labels)
    return tuple(found)


def _present(frames: Mapping[str, pd.DataFrame], key: str) -> bool:
    """Whether a frame is there and has rows."""
    return key in frames and not frames[key].empty
