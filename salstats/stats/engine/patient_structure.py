r"""Groups of cases that look like patients although no column says so: by their names, or a further column.

Cases of one patient are called alike (`P01-1`, `P01-2`) or share the value of a column that numbers patients,
slides, animals, under whatever name. Such groups are small (2 to 50 cases), there are several, and the number
of what they are varies from group to group. Nothing here decides what is resampled: it is proposed.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from salstats.frames import ESTIMATE_COLUMNS, KEY_COLUMNS, first_rows

#: Cases of a patient; fewer are no group, and a set of more is a data set, a site, a class.
_SMALLEST, _LARGEST = 2, 50
#: Groups of that size at least, also as a share of the cases: two values split cases, and name nobody.
_FEWEST_GROUPS, _FEWEST_PER_CASE = 3, 1 / 50
#: The same of a column, unless its values are long ids: a few numbers or words are levels of a factor.
_FEWEST_LEVELS = 10
#: Cases of a patient on average, where a column holds words: more are a category's.
_MOST_OF_A_WORD = 6
#: Groups stand together in the rows where cases change group hardly more often than there are groups.
_RUNS = 1.25
#: Share of the names, or values, that a rule has to fit; the others are misspelt, or of another source.
_NEARLY_ALL = 0.9
#: Names that are looked at. A study of more is told by those that sort first, which hold whole patients.
_MOST_NAMES = 5000

_TOKEN = re.compile(r"\d+|[^\W\d_]+|[\W_]+")
#: A date, or a year at the beginning (2008_000123): images of a day are of many patients.
_DATE = re.compile(
    r"(?<!\d)(?:19|20)\d\d([-_. ]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])(?!\d)"
    r"|^(?:19|20)\d\d(?:[-_.](?:0[1-9]|1[0-2]))?(?!\d)"
)
#: What numbers a set of cases, not a patient: n01440764 is a class of ImageNet.
_SET = re.compile(
    r"(?:site|hospital|cent(?:er|re)|institution|clinic|cohort|class|cls|label|category|cat|fold|split|"
    r"batch|camera|cam)[-_. ]?\d+$|(?<![^\W_])n\d{8}$",
    re.IGNORECASE,
)
#: Columns of a scores frame that are of other things than patients.
_OTHER_COLUMNS = frozenset(
    [*KEY_COLUMNS, *ESTIMATE_COLUMNS, "patient", "score", "reason", "label", "prob", "n_instances", "area_px",
     "perimeter_px", "height", "width", "threshold", "cutoff", "smooth", "colormap"]
)  # fmt: skip
#: Columns that are called as levels of a factor, which have many cases, or as a time.
_FACTOR = re.compile(
    r"(?:site|hospital|cent(?:er|re)|institution|clinic|cohort|city|country|source|vendor|scanner|device|camera|"
    r"class|label|category|type|finding|diagnosis|pathology|disease|organ|species|stage|grade|view|side|sex|"
    r"gender|race|split|fold|batch|slice|frame|age|year|month|week|day|date|time|hour)"
    r"(?:[_ .-]?(?:id|name|code|index|type))?",
    re.IGNORECASE,
)
#: Columns that are called as those whom images are of, whatever their values.
_PERSON = re.compile(
    r"patient|subject|person|participant|volunteer|donor|record|pseudonym|animal|mouse|mice|hospital_?number|"
    r"individual|proband|case_?group",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class NamedGroups:
    """Cases whose names begin alike."""

    #: Regular expression with one group, the patient, which fits every name.
    pattern: str
    #: A name that begins as others do, and its beginning.
    example: str
    beginning: str
    n_groups: int
    #: Cases in groups, of all that were looked at.
    n_grouped: int
    n_cases: int


@dataclass(frozen=True)
class Column:
    """A column whose values each have a few cases."""

    name: str
    n_groups: int
    n_grouped: int
    n_cases: int


def groups_in_names(names: pd.Series) -> NamedGroups | None:
    """Find beginnings of names that put most cases into groups of the size that patients have.

    Parameters
    ----------
    names : Series
        Name of each case as text.
    """
    # two data sets may call their cases alike
    return _groups_of_sorted(tuple(names.drop_duplicates().sort_values().iloc[:_MOST_NAMES].tolist()))


@lru_cache(maxsize=8)
def _groups_of_sorted(looked_at: tuple[str, ...]) -> NamedGroups | None:
    """Find groups as `groups_in_names` does; functions that follow each other ask for the same names."""
    tokens = [_TOKEN.findall(name) for name in looked_at]
    depth = max((len(parts) for parts in tokens), default=0)
    best: NamedGroups | None = None
    for leading in _leading_shapes(looked_at, tokens, depth):
        groups = _named_groups(looked_at, leading)
        # of the finest groups the shortest beginning: "mouse31" rather than "mouse31_slice"
        if groups is not None and (best is None or groups.n_groups > best.n_groups):
            best = groups
    return best


@dataclass(frozen=True)
class _Leading:
    """The same first tokens of nearly all names."""

    #: Kinds of the tokens: "a" of letters, "0" of digits, or the delimiter itself.
    shape: tuple[str, ...]
    #: Tokens of each name, empty where a name begins in another way.
    tokens: list[tuple[str, ...]]


def _leading_shapes(names: tuple[str, ...], tokens: list[list[str]], depth: int) -> Iterator[_Leading]:
    """Give the first 1, 2, ... tokens of names, as long as nearly all begin with tokens of the same kinds."""
    shapes = [tuple(map(_kind, parts)) for parts in tokens]
    for length in range(1, depth + 1):
        counts = Counter(shape[:length] for shape in shapes if len(shape) >= length)
        shape, count = counts.most_common(1)[0]
        if count < _NEARLY_ALL * len(names):
            return
        if shape[-1] in ("a", "0"):
            alike = [kinds[:length] == shape for kinds in shapes]
            yield _Leading(shape, [tuple(tokens[i][:length]) if alike[i] else () for i in range(len(names))])


def _kind(token: str) -> str:
    """Kind of a token: letters, digits, or a delimiter, which stands for itself."""
    if token[0].isdecimal():
        return "0"
    return "a" if token[0].isalpha() else token


def _named_groups(names: tuple[str, ...], leading: _Leading) -> NamedGroups | None:
    """Groups of the names that begin alike, None where these are no patients'."""
    counts = Counter(leading.tokens)
    counts.pop((), None)
    sizes = np.array(list(counts.values()))
    if not _are_patients_sizes(sizes, len(names), _FEWEST_GROUPS):
        return None
    beginnings = ["".join(parts) for parts in counts]
    n_sets = sum(_SET.search(beginning) is not None for beginning in beginnings)
    if n_sets > _NEARLY_ALL * len(beginnings):
        return None
    # patients differ by their number, whatever the date
    numbers = {tuple(re.findall(r"\d+", _DATE.sub(" ", beginning))) for beginning in beginnings}
    if len(numbers) < max(_FEWEST_GROUPS, len(beginnings) / 2):
        return None
    grouped = {parts for parts, size in counts.items() if _SMALLEST <= size <= _LARGEST}
    example = next(i for i, parts in enumerate(leading.tokens) if parts in grouped)
    return NamedGroups(
        _pattern(leading),
        names[example],
        "".join(leading.tokens[example]),
        len(counts),
        sum(counts[parts] for parts in grouped),
        len(names),
    )


def _are_patients_sizes(sizes: np.ndarray, n_cases: int, fewest: int) -> bool:
    """Whether most cases are in groups of a patient's size, and these are several."""
    small = (sizes >= _SMALLEST) & (sizes <= _LARGEST)
    if sizes[small].sum() <= n_cases / 2:
        return False
    return int(small.sum()) >= max(fewest, _FEWEST_PER_CASE * n_cases)


def _pattern(leading: _Leading) -> str:
    """Regular expression that finds the beginning of a name, and takes a name of another kind whole."""
    known = [parts for parts in leading.tokens if parts]
    texts = []
    for place, kind in enumerate(leading.shape):
        values = {parts[place] for parts in known}
        if kind == "0":
            texts.append(r"\d+")
        elif len(values) == 1:
            texts.append(re.escape(known[0][place]))
        else:
            texts.append(r"[^\W\d_]+")
    beginning = "".join(texts)
    return f"^({beginning})" if len(known) == len(leading.tokens) else f"^({beginning}|.+)"


def column_of_groups(frame: pd.DataFrame, cases: np.ndarray) -> Column | None:
    """Find a column that looks as if it numbered patients: the one with the most groups.

    Parameters
    ----------
    frame : DataFrame
        The scores.
    cases : (n_rows,) array of int
        Case of each row, from 0.
    """
    first = first_rows(cases)
    candidates = []
    for name in map(str, frame.columns):
        if name not in frame.columns or name in _OTHER_COLUMNS or _FACTOR.fullmatch(name):
            continue
        if _is_measured(frame[name]):
            continue
        column = _groups_of_column(frame[name], name, cases, first)
        if column is not None:
            candidates.append(column)
    return max(candidates, key=lambda column: column.n_groups, default=None)


def _is_measured(values: pd.Series) -> bool:
    """Whether values are measured or counted in a way that no id is: fractions, truth values, dates."""
    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_datetime64_any_dtype(values):
        return True
    if pd.api.types.is_float_dtype(values):
        known = values.dropna().to_numpy()
        return bool((known % 1 != 0).any())
    return False


def _groups_of_column(values: pd.Series, name: str, cases: np.ndarray, first: np.ndarray) -> Column | None:
    """Groups of a column, None where these are no patients'."""
    codes, labels = pd.factorize(values)
    of_case = codes[first]
    n_known = int((of_case >= 0).sum())
    # a patient's cases stay the patient's, in all rows
    if (codes != of_case[cases]).any() or n_known <= len(first) / 2:
        return None
    sizes = np.bincount(of_case[of_case >= 0])
    texts = [f"{label:.0f}" if isinstance(label, float) else str(label) for label in labels]
    long_ids = _are_long_ids(texts)
    if not _are_patients_sizes(sizes, len(first), _FEWEST_GROUPS if long_ids else _FEWEST_LEVELS):
        return None
    are_ids = long_ids or _PERSON.search(name) is not None
    if not are_ids and not (_are_numbered(texts, len(first)) and _stand_together(of_case, first, len(sizes))):
        return None
    n_grouped = int(sizes[(sizes >= _SMALLEST) & (sizes <= _LARGEST)].sum())
    return Column(name, len(sizes), n_grouped, len(first))


def _are_long_ids(texts: list[str]) -> bool:
    """Whether values are numbers of five digits and more, after one stem if any, or hexadecimal keys."""
    if all(re.fullmatch(r"(?=.*\d)[0-9a-f-]{6,}", text, re.IGNORECASE) for text in texts):
        return not any(_DATE.search(text) for text in texts)
    stems = {re.sub(r"\d{5,}$", "", text) for text in texts}
    return len(stems) == 1 and not any(_DATE.search(text) for text in texts)


def _are_numbered(texts: list[str], n_cases: int) -> bool:
    """Whether values count something (1, 2, ...; P01, P02, ...), or are words for a few cases each."""
    if any(_DATE.search(text) for text in texts):
        return False
    numbers = [re.search(r"\d+$", text) for text in texts]
    if not all(numbers):
        return n_cases <= _MOST_OF_A_WORD * len(texts)
    stems = {text[: number.start()] for text, number in zip(texts, numbers, strict=True) if number}
    if stems == {""}:
        # ages and years do not begin at 1
        return max(map(int, texts)) <= 2 * len(texts)
    return len(stems) == 1


def _stand_together(of_case: np.ndarray, first: np.ndarray, n_groups: int) -> bool:
    """Whether cases of a group follow each other, in the rows or in the order of the cases' names."""
    in_rows = of_case[np.argsort(first)]
    n_runs = [1 + int((np.diff(codes) != 0).sum()) for codes in (in_rows, of_case)]
    return min(n_runs) <= _RUNS * n_groups


def begin_anew(patients: pd.Series, sites: pd.Series) -> bool:
    """Whether patients are numbered 1, 2, ... in each site, and sites have different numbers of them.

    So many of each number as there are sites would be a view, or a side, of which each patient has all.
    """
    numbers = patients.astype("str").str.extract(r"^(\D*)0*(\d+)(?:\.0)?$")
    known = numbers[1].notna() & sites.notna()
    if not known.any() or numbers.loc[known, 0].nunique() > 1:
        return False
    counts = (
        numbers.loc[known, 1].astype("float").groupby(sites[known], observed=True).agg(["max", "nunique"])
    )
    if not 2 <= len(counts) <= len(patients) / 4 or counts["nunique"].nunique() == 1:
        return False
    running = counts["max"].eq(counts["nunique"]) & counts["nunique"].ge(3)
    return bool(running.all())
