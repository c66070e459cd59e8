"""Cautions: what makes single rows of an estimates frame doubtful, as records that a column names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.frames import text_column, with_estimate_column_added

#: Stands between the names of several cautions of one row.
_SEPARATOR = "; "


@dataclass(frozen=True)
class Caution:
    """A reason to doubt an estimate, its limits or its P value."""

    #: Name in the column `caution`.
    name: str
    #: Sentence for notes, captions and reports: what is doubtful, and what would do instead.
    note: str


DIFFERENT_CASES = Caution(
    "different cases",
    "methods were scored on different cases, so their estimates cannot be compared as they stand; a paired "
    "difference compares them on the cases that both have.",
)
INCOMPLETE_PAIRS = Caution(
    "incomplete pairs",
    "a method has no score of many cases that another has; methods are compared on the cases that all of "
    "them have, and the result holds for other cases only if cases are missing by chance.",
)
POOLED_TASKS = Caution(
    "tasks taken together",
    "rows of several tasks, data sets or models are taken together, so that differences between these enter "
    "the estimate; separate estimates, a stratum or a term of the formula keep them apart.",
)
POOLED_METRICS = Caution(
    "metrics taken together",
    "scores of several metrics are taken together as if they were one, so that the estimate describes none "
    "of them and a case counts once for each; a model of each metric, or a term for metrics, keeps them "
    "apart.",
)
BASELINE_SHOWS_MUCH = Caution(
    "baseline shows much",
    "without its pixels an image keeps 80 % or more of its probability, so areas under insertion and "
    "deletion curves say little about maps; curves with another baseline, or with a wider blur, may say "
    "more.",
)
FEW_UNITS = Caution(
    "few units",
    "the units are worth fewer than 4 of equal size, so limits and P values are rough; more units, or units "
    "of more equal size, are needed.",
)
OUTLYING_UNITS = Caution(
    "few units decide",
    "a few units lie so far from all others that most of the variance is theirs, as where a method sometimes "
    "fails completely; how frequent they are is known only roughly: report their number, and the limits of "
    "their rate, beside the mean.",
)
MOSTLY_ZEROS = Caution(
    "mostly zeros",
    "only a few units have scores other than 0, and they alone decide; limits from so few are too narrow "
    "more often than their level says.",
)
NEARLY_ALL_LOST = Caution(
    "nearly all lost",
    "next to nothing is left of the reference; limits of such decreases are too narrow more often than their "
    "level says, and those of a difference are more reliable.",
)
FEW_EVENTS = Caution(
    "few events",
    "fewer than 10 units have the rarer of two outcomes, or differ at all; limits and P values from so few "
    "are rough, those of kappa and alpha often too narrow, others mostly wider and larger than needed; more "
    "cases are needed.",
)
FEW_LEVERS = Caution(
    "few levers",
    "a few units alone decide, because their covariates lie far from all others or their level is rare; "
    "limits and P values that rest on them are mostly wider and larger than needed: look at these units, or "
    "take the logarithm of a skewed covariate.",
)
SMALL_PILOT = Caution(
    "small pilot",
    "the spread of the pilot is known no better than from 20 normal differences, so many more cases may be "
    "needed; plan for the upper limit of the needed cases, or make the pilot larger.",
)
#: Every caution, in the order in which notes have them.
RECORDS = (
    DIFFERENT_CASES,
    INCOMPLETE_PAIRS,
    POOLED_TASKS,
    POOLED_METRICS,
    FEW_UNITS,
    OUTLYING_UNITS,
    MOSTLY_ZEROS,
    NEARLY_ALL_LOST,
    FEW_EVENTS,
    FEW_LEVERS,
    SMALL_PILOT,
    BASELINE_SHOWS_MUCH,
)


def caution_column_if_any(cautions: Mapping[Caution, NDArray[np.bool_]]) -> dict[str, Any]:
    """Make the column `caution` from the rows (bool, one per row) that each caution concerns, if any.

    Returns
    -------
    dict
        The column by its name, or nothing where no row is concerned.
    """
    concerned = {caution: rows for caution, rows in cautions.items() if rows.any()}
    if not concerned:
        return {}
    n_rows = len(next(iter(concerned.values())))
    texts: list[str | None] = []
    for row in range(n_rows):
        names = [caution.name for caution, rows in concerned.items() if rows[row]]
        texts.append(_SEPARATOR.join(names) or None)
    return {"caution": text_column(texts)}


def add_caution(estimates: pd.DataFrame, caution: Caution, rows: NDArray[np.bool_]) -> pd.DataFrame:
    """Add a caution to some rows of an estimates frame.

    Parameters
    ----------
    estimates : DataFrame
        An estimates frame, which is not changed.
    caution : Caution
        The caution to add.
    rows : ndarray of bool, shape (n_rows,)
        The rows that it concerns.

    Returns
    -------
    DataFrame
        The frame with the column `caution`: names of a row's cautions, missing where it has none. Where no
        row is concerned the frame is returned as it is.
    """
    has_caution = row_mask_by_caution(estimates).get(caution)
    added = rows if has_caution is None else rows & ~has_caution
    if not added.any():
        return estimates
    if "caution" not in estimates.columns:
        names = [caution.name if row else None for row in added]
        return with_estimate_column_added(estimates, "caution", text_column(names))
    before = estimates["caution"].astype("object")
    after = before.mask(added, before + _SEPARATOR + caution.name)
    after = after.mask(added & before.isna(), caution.name)
    return estimates.assign(caution=text_column(after.where(after.notna(), None)))


def add_score_cautions_by_metric(estimates: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Add the cautions of scores to the estimates of the same metric.

    Parameters
    ----------
    estimates : DataFrame
        An estimates frame, which is not changed; without a column `metric` all scores count.
    scores : DataFrame
        The scores behind the estimates; their column `caution`, if there is one, names cautions.

    Returns
    -------
    DataFrame
        The frame, with the column `caution` where any score has one.
    """
    for caution, rows in row_mask_by_caution(scores).items():
        concerned = np.ones(len(estimates), dtype=bool)
        if "metric" in estimates.columns:
            concerned = estimates["metric"].isin(scores.loc[rows, "metric"]).to_numpy()
        estimates = add_caution(estimates, caution, concerned)
    return estimates


def row_mask_by_caution(estimates: pd.DataFrame) -> dict[Caution, NDArray[np.bool_]]:
    """Return the rows (bool, one per row) that each caution concerns; cautions of no row are left out."""
    if "caution" not in estimates.columns:
        return {}
    # scores of many cases have few distinct texts
    codes, texts = pd.factorize(estimates["caution"])
    names = [str(text).split(_SEPARATOR) for text in texts]
    concerned = {}
    for caution in RECORDS:
        codes_with_caution = np.flatnonzero([caution.name in text for text in names])
        rows = np.isin(codes, codes_with_caution)
        if rows.any():
            concerned[caution] = rows
    return concerned
