"""Columns of numbers that are labels, such as those of sites: site 3 is not more than site 1."""

import re
from collections.abc import Mapping

import numpy as np

from salstats.errors import Call, Message, Setting, warn

#: Nouns whose numbers are labels, by themselves or after other words: `site`, `imaging_site`.
_LABELS = {
    "site", "hospital", "centre", "center", "clinic", "institution", "reader", "rater", "observer",
    "annotator", "radiologist", "patient", "subject", "participant", "person", "case", "image", "study",
    "scanner", "device", "vendor", "manufacturer", "dataset", "cohort",
}  # fmt: skip
#: Nouns whose numbers are labels only by themselves: `fold`, but `log2_fold` is a quantity.
_SINGLE_WORD_LABELS = {"group", "class", "fold", "batch", "seed", "model", "cluster", "arm", "method", "task"}
#: Last words that make any column one of labels.
_IDENTIFIERS = {"id", "ids", "uid"}
#: Last words that do not change the meaning of the noun before: `site_no`, `fold_number`.
_NUMBERS = {"no", "nr", "num", "number", "code", "index"}
#: First words that make any column one of quantities: `n_reader`, `mean_site`.
_QUANTITIES = {"n", "num", "number", "count", "total", "mean", "median", "sd", "log", "share", "rate"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def is_label_column_of_three_or_more(column: str, values: np.ndarray) -> bool:
    """Return True if the name of a column is one of labels and its values are three or more whole numbers.

    Two labels are no problem: the slope of a regression on them is their difference.
    """
    if not _names_a_label_not_a_quantity(column):
        return False
    distinct = np.unique(values[~np.isnan(values)])
    return len(distinct) > 2 and bool((distinct == np.floor(distinct)).all())


def _names_a_label_not_a_quantity(column: str) -> bool:
    """Return True if the words of a column's name are those of labels."""
    words = [word.lower() for word in _WORD.findall(column)]
    if not words or words[0] in _QUANTITIES:
        return False
    if words[-1] in _IDENTIFIERS:
        return True
    if len(words) > 1 and words[-1] in _NUMBERS:
        words = words[:-1]
    if words[-1] in _LABELS:
        return True
    return len(words) == 1 and words[0] in _SINGLE_WORD_LABELS


def warn_of_labels_taken_as_numbers(values_by_column: Mapping[str, np.ndarray]) -> None:
    """Warn of columns of labels among the variables and covariates of a correlation, taken as numbers."""
    for column, values in values_by_column.items():
        if is_label_column_of_three_or_more(column, values):
            outcome = next(name for name in values_by_column if name != column)
            warn(
                f"{column!r} is taken as a number, though by its name it holds labels, which have no order",
                hint=Message(
                    "compare them with ",
                    Call("regress", ("data", repr(f"{outcome} ~ C({column})"))),
                    ", or correlate within each with ",
                    Setting("stratified", column),
                ),
                column=column,
            )
