"""Every result of saliency_bench in its order: of scores, or of the printed tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from salstats.studies.items import Item
from salstats.studies.saliency_bench.agreement import table_3
from salstats.studies.saliency_bench.alignment import table_2, table_4
from salstats.studies.saliency_bench.frames import (
    FEWEST_DRAWN,
    Choice,
    cell_means,
    correlations,
    printed_means,
    ranks_over_cases,
    ranks_over_data_sets,
    split_models,
)
from salstats.studies.saliency_bench.printed import printed_items
from salstats.studies.saliency_bench.ranking import ranks_item
from salstats.studies.saliency_bench.words import labels_of


def make_items(
    scores: pd.DataFrame, choice: Choice, *, labels: Mapping[str, Any] | None = None
) -> Iterator[Item]:
    """Yield Tables 2, 3 and 4 and the rankings of scores.

    Parameters
    ----------
    scores : DataFrame
        Of `keep_scores`.
    choice : Choice
    labels : mapping, optional
        Names and order of data sets, models and methods, as `Labels` takes them.
    """
    given = dict(labels or {})
    means = cell_means(scores, choice)
    yield from _of_means(means, choice, given)
    several, _ = split_models(means)
    if len(several):
        yield ranks_item(
            ranks_over_cases(scores, choice),
            given,
            key="ranks",
            title="Rank of each method when cases are drawn again",
            drawn="Cases (or patients)",
            means=means,
        )


def make_printed(choice: Choice) -> Iterator[Item]:
    """Yield the printed tables in their layout, their correlations anew, and the check of Table 3."""
    means = printed_means()
    labels = {c: list(dict.fromkeys(means[c])) for c in ("dataset", "model", "method")}
    yield from _of_means(means, choice, labels, printed=True)
    yield from printed_items(labels)


def _of_means(
    means: pd.DataFrame, choice: Choice, labels: dict[str, Any], *, printed: bool = False
) -> Iterator[Item]:
    """Yield what means of data sets tell."""
    several, single = split_models(means)
    if len(several):
        yield table_2(several, labels, printed=printed)
    metrics = labels_of(means, labels).order("metric", means["metric"])
    found = correlations(several if printed else means, metrics)
    if len(found):
        yield table_3(found, means, labels, printed=printed)
    if len(single):
        yield table_4(single, labels, printed=printed)
    if len(several) and several["dataset"].nunique() >= FEWEST_DRAWN:
        yield ranks_item(
            ranks_over_data_sets(several, choice),
            labels,
            key="ranks_data_sets",
            title="Rank of each method when data sets are drawn again",
            drawn="Data sets",
            means=several,
            printed=printed,
        )
