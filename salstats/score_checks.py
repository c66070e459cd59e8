"""Checks for probable mistakes in scores: values out of range, mixed scales, misspelt names."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import permutations

import numpy as np
import pandas as pd

from salstats.checks import and_n_more_after_first, invisibility_text
from salstats.errors import ColumnError, Message, MessagePart, Setting, warn
from salstats.metrics.records import Metric
from salstats.metrics.registry import registered_metric

#: Function that writes the name of a row for a message, such as "scores.csv, row 3".
RowName = Callable[[int], str]
#: Greatest distance from its range at which a score lies outside by rounding alone, in single precision.
RANGE_ROUNDING = 1e-6
#: Scores of a share above this are probably percentages; scores a little above 1 may have other causes.
_SMALLEST_PERCENTAGE = 2
#: Smallest share of negative scores, of a range that begins at 0, at which they are probably differences.
_SHARE_OF_DIFFERENCES = 0.05
#: Columns with few distinct names, which are compared letter by letter.
_COLUMNS_TO_COMPARE = ("task", "method")
#: A name is rare in comparison with another that has this many times its rows.
_RARITY_RATIO = 5
#: Smallest similarity of a name and its misspelling: "Edma" is similar enough to "Edema", "Lung Lesion" is
#: not to "Lung Opacity".
_SMALLEST_SIMILARITY = 0.85
#: Greatest number of names that are compared in pairs.
_LARGEST_COMPARISON = 200
#: First byte after the printable ones of ASCII; this and larger ones need a check of each character.
_DELETE = 127
#: Smallest share of scores up to 1 at which these are probably fractions among percentages.
_SHARE_OF_FRACTIONS = 0.05
#: Scores are percentages if the largest is above this.
_SMALLEST_MAXIMUM = 30
#: Smallest number of scores up to 1 that are suspected to be fractions.
_SMALLEST_GROUP = 3


@dataclass(frozen=True)
class MetricScores:
    """Scores of one metric that the package knows, with its names in messages."""

    metric: Metric
    #: The metric as the frame writes it.
    name: str
    values: np.ndarray
    #: Name of the frame in messages.
    frame_name: str
    #: Column of the values: `score`, or one with the metric's name.
    column: str = "score"

    @property
    def is_outside_range(self) -> np.ndarray:
        """Mask of the scores outside the metric's range."""
        too_small = self.values < self.metric.low - RANGE_ROUNDING
        too_large = self.values > self.metric.high + RANGE_ROUNDING
        return too_small | too_large

    @property
    def is_share(self) -> bool:
        """True for a metric that lies between 0 and 1."""
        return (self.metric.low, self.metric.high) == (0, 1)

    @property
    def possible_range_text(self) -> str:
        """The range that the metric can have, for a message."""
        if np.isinf(self.metric.high):
            return f"{self.metric.low:g} or more"
        return f"{self.metric.low:g} ... {self.metric.high:g}"

    def remedy(self) -> MessagePart:
        """Propose how to correct the scores outside the range, by their size and sign."""
        outside = self.values[self.is_outside_range]
        if self.is_share and outside.min() > 1 and _SMALLEST_PERCENTAGE < outside.max() <= 100:
            if np.median(self.values[self.values > 0]) > 1:
                return Message(
                    "a percentage? divide by 100, or read with ", Setting("scale", {self.name: 0.01})
                )
            return (
                "percentages among fractions? divide these by 100, or leave them out with "
                f"{self._call_dropping_scores_outside_range()}"
            )
        are_distinct = len(np.unique(outside)) > 1
        are_many = len(outside) >= _SHARE_OF_DIFFERENCES * np.isfinite(self.values).sum()
        if self.metric.low == 0 and outside.max() < 0 and are_distinct and are_many:
            call = self._call_renaming_metric_to_difference()
            return f"differences? give them a name of their own with {call}"
        return f"correct them, or leave them out with {self._call_dropping_scores_outside_range()}"

    def _call_dropping_scores_outside_range(self) -> str:
        """Write the call that leaves out the scores outside the range, and keeps undefined ones."""
        conditions = []
        outside = self.values[self.is_outside_range]
        if outside.min() < self.metric.low:
            conditions.append(f"{self.column} < {self.metric.low:g}")
        if outside.max() > self.metric.high:
            conditions.append(f"{self.column} > {self.metric.high:g}")
        condition = f"not ({' or '.join(conditions)})"
        if self.column == "score":
            condition = f"metric != {self.name!r} or {condition}"
        return f'{self.frame_name}.query("{condition}")'

    def _call_renaming_metric_to_difference(self) -> str:
        """Write the call that renames the metric to NAME_difference, of which the package knows no range."""
        new_name = f"{self.name}_difference"
        if self.column == "score":
            return f"{self.frame_name}.replace({{'metric': {{{self.name!r}: {new_name!r}}}}})"
        return f"{self.frame_name}.rename(columns={{{self.name!r}: {new_name!r}}})"


def warn_of_ranges(
    scores: np.ndarray,
    metric_codes: np.ndarray,
    metric_names: pd.Index,
    row_name: RowName,
    frame_name: str = "scores",
) -> None:
    """Warn, once per metric that the package knows, of scores outside its range.

    `metric_codes` are positions in `metric_names`, one for each score.
    """
    # every metric's range contains 0 ... 1, so that most frames need no further check
    outside_unit = (scores < -RANGE_ROUNDING) | (scores > 1 + RANGE_ROUNDING)
    if not outside_unit.any():
        return
    for code in np.flatnonzero(np.bincount(metric_codes[outside_unit])):
        metric = registered_metric(metric_names[int(code)])
        if metric is None:
            continue
        rows = np.flatnonzero(metric_codes == code)
        _warn_if_scores_outside_range(
            MetricScores(metric, str(metric_names[int(code)]), scores[rows], frame_name), rows, row_name
        )


def warn_of_column_ranges(table: pd.DataFrame, columns: Sequence[str], frame_name: str = "data") -> None:
    """Warn of numbers outside a metric's range in the column with that metric's name."""
    for column in columns:
        metric = registered_metric(column)
        if metric is None or not pd.api.types.is_numeric_dtype(table[column]):
            continue
        values = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
        scores = MetricScores(metric, column, values, frame_name, column)
        _warn_if_scores_outside_range(scores, np.arange(len(table)), lambda row: f"row {row} of {frame_name}")


def _warn_if_scores_outside_range(scores: MetricScores, rows: np.ndarray, row_name: RowName) -> None:
    """Warn of a metric's scores outside its range; `rows` are their places in the frame."""
    outside = np.flatnonzero(scores.is_outside_range)
    if not outside.size:
        return
    first = outside[0]
    consequence = ""
    if scores.is_share:
        # intervals that stay within 0 and 1 need scores that do
        consequence = ", so the limits of their mean may lie outside it, too"
    warn(
        f"{row_name(int(rows[first]))}: {scores.name} {scores.values[first]:g} lies outside its range "
        f"{scores.possible_range_text} ({len(outside)} of {len(rows)} scores do){consequence}",
        hint=scores.remedy(),
        subject=("range", scores.name),
        column=scores.column,
        rows=rows[outside].tolist(),
    )


@dataclass(frozen=True)
class Names:
    """The names in one column of a frame."""

    column: str
    #: The distinct names; of a Categorical also those that no row has.
    values: pd.Index
    #: Position of each row's name in `values`; the number of values where the cell is missing.
    codes: np.ndarray

    @cached_property
    def names_that_are_text(self) -> list[str]:
        """The names that are text, none where names are numbers: numbers have no hidden characters."""
        if pd.api.types.is_numeric_dtype(self.values):
            return []
        return [name for name in self.values.tolist() if isinstance(name, str)]

    @cached_property
    def concatenated_bytes_of_all_names(self) -> np.ndarray:
        """The bytes of all names, one after the other."""
        if isinstance(self.values.dtype, pd.StringDtype):
            return concatenated_bytes_of_texts(self.values)
        return np.frombuffer("|".join(self.names_that_are_text).encode("utf-8", "replace"), dtype=np.uint8)

    @cached_property
    def byte_occurs(self) -> np.ndarray:
        """Mask of the 256 bytes that occur in the names, or between two of them."""
        occurs = np.zeros(256, dtype=bool)
        occurs[ord("|")] = True
        occurs[self.concatenated_bytes_of_all_names] = True
        return occurs

    def first_row(self, name: str) -> int | None:
        """Return the first row of a name; None where there is none."""
        rows = np.flatnonzero(self.codes == self.values.get_loc(name))
        return int(rows[0]) if rows.size else None

    def n_rows_by_name(self) -> dict[str, int]:
        """Count the rows of each name that is text and has any."""
        counts = np.bincount(self.codes, minlength=len(self.values)).tolist()
        pairs = zip(self.values.tolist(), counts, strict=False)
        return {name: count for name, count in pairs if isinstance(name, str) and count}


def concatenated_bytes_of_texts(values: pd.Index | pd.Series) -> np.ndarray:
    """Return the bytes of all values of a column of text, one after the other."""
    import pyarrow as pa

    text = pa.array(values, pa.large_string())
    if isinstance(text, pa.ChunkedArray):
        text = text.combine_chunks()
    # the buffers are the mask of missing cells, the positions at which values start, and the text
    _, start_buffer, content = text.buffers()
    if content is None:
        return np.zeros(0, dtype=np.uint8)
    # the buffers may begin before the array and end after it; after the last start stands the end
    starts = np.frombuffer(start_buffer, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    return np.frombuffer(content, dtype=np.uint8)[starts[0] : starts[-1]]


def check_names_for_invisible_characters_and_numbers(names: Names, frame_name: str = "scores") -> None:
    """Raise ColumnError where different names of a column may look the same.

    A name begins or ends with a blank, has an invisible character, or is a number in some rows and text in
    others.
    """
    column = names.column
    _check_no_name_is_number_and_text(names, frame_name)
    n_visible = names.byte_occurs[ord("!") : _DELETE].sum()
    # most columns need no check of each name
    if n_visible == names.byte_occurs.sum():
        return
    for name in names.names_that_are_text:
        if not invisibility_text(name):
            continue
        row = names.first_row(name)
        if row is None:
            continue
        remedy = f"{frame_name}.replace({{{column!r}: {{{name!r}: '...'}}}})"
        if name != name.strip():
            remedy = f"{frame_name}.assign({column}={frame_name}[{column!r}].str.strip())"
        raise ColumnError(
            f"row {row} of {frame_name}: {column} {name!r} {invisibility_text(name)}",
            hint=f"remove it with {remedy}",
            column=column,
            value=name,
            rows=[row],
        )


def _check_no_name_is_number_and_text(names: Names, frame_name: str) -> None:
    """Raise ColumnError where a number of a column is text in other rows, as 1 and "1"."""
    if names.values.dtype != object:
        return
    texts = set(names.names_that_are_text)
    for value in names.values:
        if not isinstance(value, int | float | np.number):
            continue
        number = int(value) if float(value).is_integer() else value
        same_texts = texts & {str(number), str(value)}
        if same_texts:
            column = names.column
            text = same_texts.pop()
            raise ColumnError(
                f"column {column!r} of {frame_name} has the number {number} in some rows and the text "
                f"{text!r} in others, which count as two names",
                hint="make all of them text",
                column=column,
                value=text,
                rows=np.flatnonzero(names.codes == names.values.get_loc(text))[:1].tolist(),
            )


def warn_of_near_names(names: Names, row_name: RowName, frame_name: str = "scores") -> None:
    """Warn where two names of a column differ in capitals only, or a rare task or method may be misspelt."""
    column = names.column
    if column in _COLUMNS_TO_COMPARE and len(names.names_that_are_text) <= _LARGEST_COMPARISON:
        pairs = _probable_misspellings(names.n_rows_by_name())
    elif _some_differ_in_capitals_only(names):
        pairs = _pairs_differing_in_capitals(names.n_rows_by_name())
    else:
        pairs = []
    if not pairs:
        return
    n_rows = names.n_rows_by_name()
    rare, frequent = pairs[-1]
    row = names.first_row(rare)
    assert row is not None
    remedy = f"{frame_name}.replace({{{column!r}: {{{rare!r}: {frequent!r}}}}})"
    differ_in_capitals = all(first.casefold() == second.casefold() for first, second in pairs)
    if len(pairs) > 1 and differ_in_capitals:
        remedy = f"{frame_name}.assign({column}={frame_name}[{column!r}].str.lower())"
    warn(
        f"{row_name(row)}: {column} {rare!r} ({n_rows[rare]} scores) is nearly {frequent!r} "
        f"({n_rows[frequent]}){and_n_more_after_first(pairs)}: misspelt? it counts as another {column}",
        hint=f"{remedy} makes them one",
        subject=("names", column),
        column=column,
        value=rare,
        rows=[row],
    )


def _some_differ_in_capitals_only(names: Names) -> bool:
    """Return True if some two names differ in capitals only."""
    content = names.concatenated_bytes_of_all_names
    is_capital = (content >= ord("A")) & (content <= ord("Z"))
    # names without capitals and without letters beyond ASCII cannot differ so
    if not (is_capital | (content >= _DELETE)).any():
        return False
    # nor can names of which each letter is a capital everywhere or nowhere
    occurs = names.byte_occurs
    capitals = occurs[ord("A") : ord("Z") + 1]
    small_letters = occurs[ord("a") : ord("z") + 1]
    has_non_ascii = occurs[_DELETE:].any()
    if not has_non_ascii and not (capitals & small_letters).any():
        return False
    return len({text.casefold() for text in names.names_that_are_text}) < len(names.names_that_are_text)


def _probable_misspellings(n_rows: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return pairs of names of which the first may be a misspelling of the second; it has fewer rows."""
    letters = {name: re.sub(r"[\s_-]+", "", name).casefold() for name in n_rows}
    pairs = []
    for first, second in permutations(n_rows, 2):
        # Of both orders of a pair, keep the one with the rarer name first.
        if (n_rows[first], first) > (n_rows[second], second):
            continue
        is_rare = n_rows[first] * _RARITY_RATIO <= n_rows[second]
        if _may_be_misspelled(letters[first], letters[second], is_rare=is_rare):
            pairs.append((first, second))
    return pairs


def _pairs_differing_in_capitals(n_rows_by_name: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return pairs of names that differ in capitals only: each of fewer rows, and the most frequent one."""
    groups: dict[str, list[str]] = {}
    for name in n_rows_by_name:
        groups.setdefault(name.casefold(), []).append(name)
    pairs = []
    for group in groups.values():
        ordered = sorted(group, key=lambda name: (n_rows_by_name[name], name))
        pairs += [(name, ordered[-1]) for name in ordered[:-1]]
    return pairs


def _may_be_misspelled(first: str, second: str, *, is_rare: bool) -> bool:
    """Return True if the first name may be a misspelling of the second; not if their numbers differ.

    Both are in small letters; `is_rare` is True where the first has far fewer rows.
    """
    if first == second:
        return True
    if not is_rare or re.findall(r"\d+", first) != re.findall(r"\d+", second):
        return False
    return SequenceMatcher(None, first, second).ratio() >= _SMALLEST_SIMILARITY


def warn_of_two_scales(scores: pd.DataFrame, row_name: RowName) -> None:
    """Warn where scores of a metric from 0 to 1 are percentages and some of them probably fractions.

    All positive scores of a method and reader are suspected to be fractions if they are at most 1 and there
    are three or more of them. Else all scores up to 1 are, if they are more than those between 1 and 10, as
    percentages would get rarer towards 0, and more than 5 % of all.
    """
    for name in scores["metric"].unique():
        metric = registered_metric(name)
        if metric is None or (metric.low, metric.high) != (0, 1):
            continue
        positive = scores[scores["metric"].eq(name) & scores["score"].gt(0)]
        largest = positive["score"].max()
        if not _SMALLEST_MAXIMUM < largest <= 100:
            continue
        is_small = positive["score"].le(1)
        groups = [positive[column].fillna("") for column in ("method", "reader") if column in positive]
        group_size = is_small.groupby(groups).transform("size")
        # methods or readers all of whose scores are small
        is_fraction = is_small.groupby(groups).transform("all") & (group_size >= _SMALLEST_GROUP)
        if not is_fraction.any():
            n_low_percentages = positive["score"].between(1, 10, inclusive="right").sum()
            n_expected = max(n_low_percentages, _SHARE_OF_FRACTIONS * len(positive), _SMALLEST_GROUP - 1)
            if is_small.sum() > n_expected:
                is_fraction = is_small
        rows = positive.index[is_fraction]
        if len(rows):
            first = positive.loc[rows[0]]
            warn(
                f"{row_name(int(rows[0]))}: {name} {first['score']:g} of {first['method']}, and "
                f"{len(rows)} of {len(positive)} scores above 0 are at most 1, where others are up to "
                f"{largest:g}: "
                "fractions among percentages? bring them to one scale in the file",
                value=first["score"],
                column="score",
                rows=rows.tolist(),
            )
