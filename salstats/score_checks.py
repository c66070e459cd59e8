"""Checks for probable mistakes in scores: values out of range, mixed scales, misspelt names."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import permutations

import numpy as np
import pandas as pd

from salstats.checks import and_more, hidden
from salstats.errors import ColumnError, warn
from salstats.metrics.records import Metric
from salstats.metrics.registry import registered_metric

Place = Callable[[int], str]
"""Writes where a row of the frame stands, such as "scores.csv, row 3"."""

#: How far outside its range a score may lie by rounding alone, also in single precision.
RANGE_ROUNDING = 1e-6
#: Numbers a little above 1 may be anything; percentages are larger.
_LEAST_PERCENTAGE = 2
#: Negative scores of a range that begins at 0 are differences where they are this share of all, at least.
_SHARE_OF_DIFFERENCES = 0.05
#: Columns whose names are compared letter by letter, as there are few of them.
_MISSPELT = ("task", "method")
#: A name is rare beside another that has this many times its rows.
_RARE = 5
#: How like two names are that may be one, misspelt: "Edma" and "Edema", not "Lung Lesion" and "Lung Opacity".
_ALIKE = 0.85
#: Of more names than these none is compared with all others.
_MANY = 200
#: The byte behind those that are printed; it and all beyond are of characters to look at.
_DELETE = 127
#: Fractions among percentages are this share of the scores, at least.
_SHARE = 0.05


@dataclass(frozen=True)
class MetricScores:
    """Scores of one metric that the package knows, and how a message names them."""

    metric: Metric
    #: The metric as the frame writes it.
    name: str
    values: np.ndarray
    #: The frame, and its column of these values: `score`, or one that is called as the metric.
    frame: str
    column: str = "score"

    @property
    def outside(self) -> np.ndarray:
        """Which scores lie outside the metric's range."""
        below = self.values < self.metric.low - RANGE_ROUNDING
        above = self.values > self.metric.high + RANGE_ROUNDING
        return below | above

    @property
    def is_share(self) -> bool:
        """Whether the metric lies between 0 and 1."""
        return (self.metric.low, self.metric.high) == (0, 1)

    @property
    def range_text(self) -> str:
        """The metric's range for a message."""
        if np.isinf(self.metric.high):
            return f"{self.metric.low:g} or more"
        return f"{self.metric.low:g} ... {self.metric.high:g}"

    def remedy(self) -> str:
        """Propose what to do about the scores outside the range, by what they look like."""
        outside = self.values[self.outside]
        if self.is_share and outside.min() > 1 and _LEAST_PERCENTAGE < outside.max() <= 100:
            if np.median(self.values[self.values > 0]) > 1:
                return (
                    f"a percentage? divide by 100, or read with scale={{{self.name!r}: 0.01}} "
                    f"(--scale {self.name}=0.01)"
                )
            return (
                "percentages among fractions? divide these by 100, or leave them out with "
                f"{self._filter_call()}"
            )
        are_distinct = len(np.unique(outside)) > 1
        are_many = len(outside) >= _SHARE_OF_DIFFERENCES * np.isfinite(self.values).sum()
        if self.metric.low == 0 and outside.max() < 0 and are_distinct and are_many:
            return f"differences? give them a name of their own with {self._rename_call()}"
        return f"correct them, or leave them out with {self._filter_call()}"

    def _filter_call(self) -> str:
        """Write the call that leaves out the scores outside the range, and keeps undefined ones."""
        conditions = []
        column = self.column if self.column.isidentifier() else f"`{self.column}`"
        outside = self.values[self.outside]
        if outside.min() < self.metric.low:
            conditions.append(f"{column} < {self.metric.low:g}")
        if outside.max() > self.metric.high:
            conditions.append(f"{column} > {self.metric.high:g}")
        condition = f"not ({' or '.join(conditions)})"
        if self.column == "score":
            condition = f"metric != {self.name!r} or {condition}"
        return f'{self.frame}.query("{condition}")'

    def _rename_call(self) -> str:
        """Write the call that gives the scores a name of which the package knows no range."""
        new = f"{self.name}_difference"
        if self.column == "score":
            return f"{self.frame}.replace({{'metric': {{{self.name!r}: {new!r}}}}})"
        return f"{self.frame}.rename(columns={{{self.name!r}: {new!r}}})"


def warn_of_ranges(
    scores: np.ndarray, metrics: np.ndarray, names: pd.Index, place: Place, frame: str = "scores"
) -> None:
    """Warn, once per metric that the package knows, of scores outside its range.

    `metrics` are positions in `names`, one for each score.
    """
    # every range holds 0 ... 1, so that most frames are done here
    beyond = (scores < -RANGE_ROUNDING) | (scores > 1 + RANGE_ROUNDING)
    if not beyond.any():
        return
    for code in np.flatnonzero(np.bincount(metrics[beyond])):
        metric = registered_metric(names[code])
        if metric is None:
            continue
        rows = np.flatnonzero(metrics == code)
        _warn_of_range(MetricScores(metric, str(names[code]), scores[rows], frame), rows, place)


def warn_of_column_ranges(table: pd.DataFrame, columns: Sequence[str], frame: str = "data") -> None:
    """Warn of numbers outside the range of the metric that their column is called as."""
    for column in columns:
        metric = registered_metric(column)
        if metric is None or not pd.api.types.is_numeric_dtype(table[column]):
            continue
        values = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
        scores = MetricScores(metric, column, values, frame, column)
        _warn_of_range(scores, np.arange(len(table)), lambda row: f"row {row} of {frame}")


def _warn_of_range(scores: MetricScores, rows: np.ndarray, place: Place) -> None:
    """Warn of a metric's scores outside its range; `rows` are their places in the frame."""
    outside = np.flatnonzero(scores.outside)
    if not outside.size:
        return
    first = outside[0]
    # an interval that respects 0 and 1 is not made of such scores
    consequence = ", so limits of their mean know no bounds" if scores.is_share else ""
    message = (
        f"{place(int(rows[first]))}: {scores.name} {scores.values[first]:g} lies outside its range "
        f"{scores.range_text} ({len(outside)} of {len(rows)} scores do){consequence}; {scores.remedy()}"
    )
    warn(message, subject=("range", scores.name))


@dataclass(frozen=True)
class Names:
    """The names in one column of a frame."""

    column: str
    #: The distinct names; of a Categorical also those that no row has.
    values: pd.Index
    #: Position of each row's name in `values`, beyond it where there is none.
    codes: np.ndarray

    @cached_property
    def texts(self) -> list[str]:
        """Names that are text; numbers hide nothing."""
        if pd.api.types.is_numeric_dtype(self.values):
            return []
        return [name for name in self.values.tolist() if isinstance(name, str)]

    @cached_property
    def content(self) -> np.ndarray:
        """The bytes of all names, one behind the other."""
        if isinstance(self.values.dtype, pd.StringDtype):
            return bytes_of_text(self.values)
        return np.frombuffer("|".join(self.texts).encode("utf-8", "replace"), dtype=np.uint8)

    @cached_property
    def bytes_used(self) -> np.ndarray:
        """Mark which of the 256 bytes occur in the names, or between two of them."""
        used = np.zeros(256, dtype=bool)
        used[ord("|")] = True
        used[self.content] = True
        return used

    def first_row(self, name: str) -> int | None:
        """Return the first row of a name; None where there is none."""
        rows = np.flatnonzero(self.codes == self.values.get_loc(name))
        return int(rows[0]) if rows.size else None

    def n_rows(self) -> dict[str, int]:
        """Count the rows of each name that is text and has any."""
        counts = np.bincount(self.codes, minlength=len(self.values)).tolist()
        pairs = zip(self.values.tolist(), counts, strict=False)
        return {name: count for name, count in pairs if isinstance(name, str) and count}


def bytes_of_text(values: pd.Index) -> np.ndarray:
    """Return the bytes of all values of a column of text, one behind the other."""
    import pyarrow as pa

    text = pa.array(values, pa.large_string())
    if isinstance(text, pa.ChunkedArray):
        text = text.combine_chunks()
    # its buffers are the places of missing cells, of the beginnings, and the text
    _, offsets, content = text.buffers()
    if content is None:
        return np.zeros(0, dtype=np.uint8)
    ends = np.frombuffer(offsets, dtype=np.int64)[text.offset : text.offset + len(text) + 1]
    return np.frombuffer(content, dtype=np.uint8)[ends[0] : ends[-1]]


def check_names(names: Names, frame: str = "scores") -> None:
    """Raise ColumnError where a name has a blank around it, or a character that nobody sees."""
    column = names.column
    visible = names.bytes_used[ord("!") : _DELETE].sum() == names.bytes_used.sum()
    # most columns are done here, without a look at each name
    if visible:
        return
    for name in names.texts:
        if not hidden(name):
            continue
        row = names.first_row(name)
        if row is None:
            continue
        remedy = f"{frame}.replace({{{column!r}: {{{name!r}: '...'}}}})"
        if name != name.strip():
            remedy = f"{frame}.assign({column}={frame}[{column!r}].str.strip())"
        raise ColumnError(f"row {row} of {frame}: {column} {name!r} {hidden(name)}; remove it with {remedy}")


def warn_of_near_names(names: Names, place: Place, frame: str = "scores") -> None:
    """Warn where two names of a column differ in capitals only, or a rare task or method may be misspelt."""
    column = names.column
    if column in _MISSPELT and len(names.texts) <= _MANY:
        pairs = _near_pairs(names.n_rows())
    elif _differ_in_capitals(names):
        pairs = _pairs_but_for_capitals(names.n_rows())
    else:
        pairs = []
    if not pairs:
        return
    n_rows = names.n_rows()
    rare, often = pairs[-1]
    row = names.first_row(rare)
    assert row is not None
    remedy = f"{frame}.replace({{{column!r}: {{{rare!r}: {often!r}}}}})"
    if len(pairs) > 1 and all(one.casefold() == other.casefold() for one, other in pairs):
        remedy = f"{frame}.assign({column}={frame}[{column!r}].str.lower())"
    message = (
        f"{place(row)}: {column} {rare!r} ({n_rows[rare]} scores) is nearly {often!r} "
        f"({n_rows[often]}){and_more(pairs)}: misspelt? it is taken for another {column}; "
        f"{remedy} makes them one"
    )
    warn(message, subject=("names", column))


def _differ_in_capitals(names: Names) -> bool:
    """Return whether two names differ in capitals only."""
    content = names.content
    # without capitals, and without letters beyond ASCII, no two do
    if not ((content >= _DELETE) | ((content >= ord("A")) & (content <= ord("Z")))).any():
        return False
    # nor do they where each letter is a capital everywhere, or nowhere
    used = names.bytes_used
    capitals = used[ord("A") : ord("Z") + 1]
    small = used[ord("a") : ord("z") + 1]
    beyond_ascii = used[_DELETE:].any()
    if not beyond_ascii and not (capitals & small).any():
        return False
    return len({text.casefold() for text in names.texts}) < len(names.texts)


def _near_pairs(n_rows: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return pairs of names of which the first may be the second, misspelt."""
    letters = {name: re.sub(r"[\s_-]+", "", name).casefold() for name in n_rows}
    return [
        (rare, often)
        for rare, often in permutations(n_rows, 2)
        if (n_rows[rare], rare) <= (n_rows[often], often)
        and _are_near(letters[rare], letters[often], is_rare=n_rows[rare] * _RARE <= n_rows[often])
    ]


def _pairs_but_for_capitals(n_rows: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return pairs of names that differ in capitals only, the one with fewer rows first."""
    groups: dict[str, list[str]] = {}
    for name in n_rows:
        groups.setdefault(name.casefold(), []).append(name)
    pairs = []
    for group in groups.values():
        ordered = sorted(group, key=lambda name: (n_rows[name], name))
        pairs += [(name, ordered[-1]) for name in ordered[:-1]]
    return pairs


def _are_near(one: str, other: str, *, is_rare: bool) -> bool:
    """Return whether a name may be another, misspelt, both in small letters; two numbers are never one."""
    if one == other:
        return True
    if not is_rare or re.findall(r"\d+", one) != re.findall(r"\d+", other):
        return False
    return SequenceMatcher(None, one, other).ratio() >= _ALIKE


def warn_of_two_scales(scores: pd.DataFrame, place: Place) -> None:
    """Warn where a metric from 0 to 1, to be scaled, has percentages and what look like fractions.

    Those are all scores of a method or reader, or more than lie between 1 and 10, where percentages fall off.
    """
    for name in scores["metric"].unique():
        metric = registered_metric(name)
        if metric is None or (metric.low, metric.high) != (0, 1):
            continue
        positive = scores[scores["metric"].eq(name) & scores["score"].gt(0)]
        largest = positive["score"].max()
        if not 30 < largest <= 100:
            continue
        is_small = positive["score"].le(1)
        groups = [positive[column].fillna("") for column in ("method", "reader") if column in positive]
        n_of_group = is_small.groupby(groups).transform("size")
        suspicious = is_small.groupby(groups).transform("all") & (n_of_group >= 3)
        if not suspicious.any():
            n_low_percentages = positive["score"].between(1, 10, inclusive="right").sum()
            are_many = is_small.sum() > max(n_low_percentages, _SHARE * len(positive), 2)
            suspicious = is_small & are_many
        rows = positive.index[suspicious]
        if len(rows):
            first = positive.loc[rows[0]]
            warn(
                f"{place(int(rows[0]))}: {name} {first['score']:g} of {first['method']}, and {len(rows)} of "
                f"{len(positive)} scores above 0 are at most 1, where others are up to {largest:g}: "
                "fractions among percentages? bring them to one scale in the file"
            )
