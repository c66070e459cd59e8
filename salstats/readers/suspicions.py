"""What a file of scores may legally hold and hardly means: two scales in one metric, a name written twice."""

import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from itertools import permutations

import numpy as np
import pandas as pd

from salstats.checks import and_more, warn
from salstats.metrics.registry import known_metric

#: A name is rare beside another that has this many times its rows.
_RARE = 5
#: How like two names are that may be one, misspelt: "Edma" and "Edema", not "Lung Lesion" and "Lung Opacity".
_ALIKE = 0.85
#: Of more names than these none is compared with all others.
_MANY = 200
#: Fractions among percentages are this share of the scores, at least.
_SHARE = 0.05


def warn_of_two_scales(scores: pd.DataFrame, place: Callable[[int], str]) -> None:
    """Warn where a metric from 0 to 1, to be scaled, has percentages and what look like fractions.

    Those are all scores of a method or reader, or more than lie between 1 and 10, where percentages fall off.
    """
    for name in scores["metric"].unique():
        metric = known_metric(name)
        own = scores[scores["metric"].eq(name) & scores["score"].gt(0)]
        if metric is None or (metric.low, metric.high) != (0, 1) or not 30 < own["score"].max() <= 100:
            continue
        small = own["score"].le(1)
        by = [own[c].fillna("") for c in ("method", "reader") if c in own]
        whole = small.groupby(by).transform("all") & (small.groupby(by).transform("size") >= 3)
        many = small.sum() > max(own["score"].between(1, 10, inclusive="right").sum(), _SHARE * len(own), 2)
        rows = own.index[whole if whole.any() else small & many]
        if len(rows):
            first = own.loc[rows[0]]
            warn(
                f"{place(int(rows[0]))}: {name} {first['score']:g} of {first['method']}, and {len(rows)} of "
                f"{len(own)} scores above 0 are at most 1, where others are up to {own['score'].max():g}: "
                "fractions among percentages? bring them to one scale in the file"
            )


def warn_of_near_names(scores: pd.DataFrame, place: Callable[[int], str]) -> None:
    """Warn of a task or method of few rows whose name is nearly that of another."""
    for column in ("task", "method"):
        if column not in scores.columns:
            continue
        n_rows = scores[column].value_counts().to_dict()
        near = (
            [pair for pair in permutations(n_rows, 2) if _near(*pair, n_rows)] if len(n_rows) <= _MANY else []
        )
        if near:
            rare, often = near[-1]
            row = int(np.flatnonzero(scores[column].eq(rare).to_numpy())[0])
            warn(
                f"{place(row)}: {column} {rare!r} ({n_rows[rare]} scores) is nearly {often!r} "
                f"({n_rows[often]}){and_more(near)}: misspelt? it is taken for another {column}"
            )


def _near(rare: str, often: str, n_rows: Mapping[str, int]) -> bool:
    """Whether the first name may be the second, misspelt; names that differ in a number are two."""
    if (n_rows[rare], rare) > (n_rows[often], often):
        return False
    one, other = (re.sub(r"[\s_-]+", "", name).casefold() for name in (rare, often))
    if one == other:
        return True
    return (
        n_rows[rare] * _RARE <= n_rows[often]
        and re.findall(r"\d+", one) == re.findall(r"\d+", other)
        and SequenceMatcher(None, one, other).ratio() >= _ALIKE
    )
