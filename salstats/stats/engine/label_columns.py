"""Columns of numbers that are labels: site 3 is no more of anything than site 1."""

import re
from collections.abc import Mapping

import numpy as np

from salstats.checks import warn

#: Nouns whose numbers are labels, alone or behind other words: `site`, `imaging_site`.
_LABELS = {
    "site", "hospital", "centre", "center", "clinic", "institution", "reader", "rater", "observer",
    "annotator", "radiologist", "patient", "subject", "participant", "person", "case", "image", "study",
    "scanner", "device", "vendor", "manufacturer", "dataset", "cohort",
}  # fmt: skip
#: Nouns that are labels by themselves, and quantities behind other words: `fold`, but not `log2_fold`.
_LABELS_ALONE = {"group", "class", "fold", "batch", "seed", "model", "cluster", "arm", "method", "task"}
#: Words behind a noun that make it a label, whatever the noun.
_IDENTIFIERS = {"id", "ids", "uid"}
#: Words behind a noun that leave it what it is: `site_no`, `fold_number`.
_NUMBERS = {"no", "nr", "num", "number", "code", "index"}
#: Words before a noun that make a quantity of it: `n_reader`, `mean_site`.
_QUANTITIES = {"n", "num", "number", "count", "total", "mean", "median", "sd", "log", "share", "rate"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def holds_labels(column: str, values: np.ndarray) -> bool:
    """Whether the numbers of a column are labels by its name: three or more, all of them whole."""
    if not _named_as_labels(column):
        return False
    known = np.unique(values[~np.isnan(values)])
    # a slope over two labels is their difference, as it should be
    return len(known) > 2 and bool((known == np.floor(known)).all())


def _named_as_labels(column: str) -> bool:
    """Whether a column is called as labels are."""
    words = [word.lower() for word in _WORD.findall(column)]
    if not words or words[0] in _QUANTITIES:
        return False
    if words[-1] in _IDENTIFIERS:
        return True
    if len(words) > 1 and words[-1] in _NUMBERS:
        words = words[:-1]
    return words[-1] in _LABELS or (len(words) == 1 and words[0] in _LABELS_ALONE)


def warn_of_correlated_labels(columns: Mapping[str, np.ndarray]) -> None:
    """Warn where a column of labels is correlated with another, or taken out of a correlation."""
    for column, values in columns.items():
        if holds_labels(column, values):
            other = next(name for name in columns if name != column)
            warn(
                f"{column!r} is taken as a number, though by its name it holds labels, which have no order; "
                f"compare them with regress(data, '{other} ~ C({column})'), or correlate within each with "
                f"stratified={column!r}"
            )
