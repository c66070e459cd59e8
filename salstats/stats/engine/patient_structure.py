r"""Groups of cases that look like patients although no column is named so.

The names of a patient's cases have the same beginning (`P01-1`, `P01-2`), or the cases share the value of a
column that numbers patients, slides or animals under another name. Such groups are small (2 to 50 cases), and
each has a number of its own. These functions only propose a unit; the user decides what is resampled.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.coded_text import TEXT
from salstats.frames import ESTIMATE_COLUMNS, KEY_COLUMNS, first_rows

#: Smallest and largest number of cases of a group that may be a patient. A larger group is a data set, a site
#: or a class.
_SMALLEST = 2
_LARGEST = 50
#: Fewest groups of that size that may be patients, as a number and as a share of the cases.
_FEWEST_GROUPS = 3
_FEWEST_GROUPS_PER_CASE = 1 / 50
#: Fewest groups of a column that has no long ids; fewer values are levels of a factor.
_FEWEST_GROUPS_OF_SHORT_VALUES = 10
#: Largest mean number of cases of a word in a column of words; more frequent words are categories.
_MAX_CASES_PER_WORD = 6
#: Largest number of runs of cases per group, in the order of the rows, if groups are contiguous.
_MAX_RUNS_PER_GROUP = 1.25
#: Share of the names, or values, that have to follow a rule; others may be misspelt or of another source.
_NEARLY_ALL = 0.9
#: Largest number of names that are examined: the first in alphabetical order, so that patients are complete.
_MAX_NAMES = 5000

#: A run of digits, of letters, or of other characters.
_TOKEN = re.compile(r"\d+|[^\W\d_]+|[\W_]+")
#: A date, or a year at the beginning (2008_000123). The images of one day are of many patients.
_DATE = re.compile(
    r"(?<!\d)(?:19|20)\d\d([-_. ]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])(?!\d)"
    r"|^(?:19|20)\d\d(?:[-_.](?:0[1-9]|1[0-2]))?(?!\d)"
)
#: A name that numbers a set of cases, not a patient, such as n01440764, a class of ImageNet.
_SET = re.compile(
    r"(?:site|hospital|cent(?:er|re)|institution|clinic|cohort|class|cls|label|category|cat|fold|split|"
    r"batch|camera|cam)[-_. ]?\d+$|(?<![^\W_])n\d{8}$",
    re.IGNORECASE,
)
#: Columns of a scores frame whose meaning is known and is not a patient.
_OTHER_COLUMNS = frozenset(
    [*KEY_COLUMNS, *ESTIMATE_COLUMNS, "patient", "score", "reason", "label", "prob", "n_instances", "area_px",
     "perimeter_px", "height", "width", "threshold", "cutoff", "smooth", "colormap"]
)  # fmt: skip
#: Names of columns that are factors, whose levels have many cases, or times.
_FACTOR = re.compile(
    r"(?:site|hospital|cent(?:er|re)|institution|clinic|cohort|city|country|source|vendor|scanner|device|camera|"
    r"class|label|category|type|finding|diagnosis|pathology|disease|organ|species|stage|grade|view|side|sex|"
    r"gender|race|split|fold|batch|slice|frame|age|year|month|week|day|date|time|hour)"
    r"(?:[_ .-]?(?:id|name|code|index|type))?",
    re.IGNORECASE,
)
#: Names of columns of the people or animals that images are of, whatever the values look like.
_PERSON = re.compile(
    r"patient|subject|person|participant|volunteer|donor|record|pseudonym|animal|mouse|mice|hospital_?number|"
    r"individual|proband|case_?group",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class NamedGroups:
    """Groups of cases whose names have the same beginning."""

    #: Regular expression that fits every name; its one group is the patient.
    pattern: str
    #: The name of a case in a group.
    example: str
    #: The beginning that the example shares with the names of its group.
    beginning: str
    n_groups: int
    #: Number of cases in groups of the size of a patient's.
    n_grouped: int
    #: Number of cases examined.
    n_cases: int


@dataclass(frozen=True)
class GroupingColumn:
    """A column whose values each have a few cases."""

    name: str
    n_groups: int
    #: Number of cases in groups of the size of a patient's.
    n_grouped: int
    n_cases: int


def patient_groups_in_case_names(case_names: pd.Series) -> NamedGroups | None:
    """Find beginnings of names that put most cases into groups of the size that patients have.

    Parameters
    ----------
    case_names : Series
        Name of each case as text.
    """
    # Two data sets may use the same name.
    distinct = case_names.drop_duplicates().sort_values()
    return _patient_groups_in_sorted_names(tuple(distinct.iloc[:_MAX_NAMES].tolist()))


@lru_cache(maxsize=8)
def _patient_groups_in_sorted_names(names: tuple[str, ...]) -> NamedGroups | None:
    """Find groups as `patient_groups_in_case_names` does.

    They are cached, since several functions are called with the same scores.
    """
    tokens = [_TOKEN.findall(name) for name in names]
    finest: NamedGroups | None = None
    # Beginnings come from short to long, so "mouse31" wins over "mouse31_slice", which has the same groups.
    for beginning in _beginnings_of_equal_kinds(tokens):
        groups = _pattern_and_counts_of_groups(names, beginning)
        if groups is not None and (finest is None or groups.n_groups > finest.n_groups):
            finest = groups
    return finest


@dataclass(frozen=True)
class _Beginning:
    """The first tokens of names, of the same kinds in nearly all names."""

    #: Kinds of the tokens, as `_a_or_0_or_delimiter_itself` gives them.
    kinds: tuple[str, ...]
    #: First tokens of each name, empty where their kinds differ.
    tokens: list[tuple[str, ...]]


def _beginnings_of_equal_kinds(tokens: list[list[str]]) -> Iterator[_Beginning]:
    """Yield the first 1, 2, ... tokens of names, as long as nearly all names have tokens of the same kinds.

    Beginnings that end with a delimiter are left out.
    """
    kinds_of_names = [
        tuple(_a_or_0_or_delimiter_itself(token) for token in name_tokens) for name_tokens in tokens
    ]
    max_length = max((len(name_tokens) for name_tokens in tokens), default=0)
    for length in range(1, max_length + 1):
        counts = Counter(kinds[:length] for kinds in kinds_of_names if len(kinds) >= length)
        common_kinds, count = counts.most_common(1)[0]
        if count < _NEARLY_ALL * len(tokens):
            return
        if common_kinds[-1] not in ("a", "0"):
            continue
        first_tokens: list[tuple[str, ...]] = []
        for name_tokens, kinds in zip(tokens, kinds_of_names, strict=True):
            if kinds[:length] == common_kinds:
                first_tokens.append(tuple(name_tokens[:length]))
            else:
                first_tokens.append(())
        yield _Beginning(common_kinds, first_tokens)


def _a_or_0_or_delimiter_itself(case_name_token: str) -> str:
    """Return the kind of a token: "a" for letters, "0" for digits, or the delimiter itself."""
    if case_name_token[0].isdecimal():
        return "0"
    if case_name_token[0].isalpha():
        return "a"
    return case_name_token


def _pattern_and_counts_of_groups(names: tuple[str, ...], beginning: _Beginning) -> NamedGroups | None:
    """Describe groups of names with the same beginning; None where they do not look like patients."""
    sizes = Counter(beginning.tokens)
    sizes.pop((), None)
    if not _are_patient_sizes(np.array(list(sizes.values())), len(names), _FEWEST_GROUPS):
        return None
    texts = ["".join(tokens) for tokens in sizes]
    n_sets = sum(_SET.search(text) is not None for text in texts)
    if n_sets > _NEARLY_ALL * len(texts):
        return None
    # Patients differ in a number that is not a date.
    texts_without_dates = [_DATE.sub(" ", text) for text in texts]
    numbers = {tuple(re.findall(r"\d+", text)) for text in texts_without_dates}
    if len(numbers) < max(_FEWEST_GROUPS, len(texts) / 2):
        return None
    patients = {tokens for tokens, size in sizes.items() if _SMALLEST <= size <= _LARGEST}
    example = next(row for row, tokens in enumerate(beginning.tokens) if tokens in patients)
    return NamedGroups(
        pattern=_beginning_or_name_regex(beginning),
        example=names[example],
        beginning="".join(beginning.tokens[example]),
        n_groups=len(sizes),
        n_grouped=sum(sizes[tokens] for tokens in patients),
        n_cases=len(names),
    )


def _are_patient_sizes(sizes: np.ndarray, n_cases: int, fewest_groups: int) -> bool:
    """Return True if most cases are in groups of a patient's size and there are enough such groups."""
    is_patient_size = (sizes >= _SMALLEST) & (sizes <= _LARGEST)
    if sizes[is_patient_size].sum() <= n_cases / 2:
        return False
    n_groups = int(is_patient_size.sum())
    return n_groups >= max(fewest_groups, _FEWEST_GROUPS_PER_CASE * n_cases)


def _beginning_or_name_regex(beginning: _Beginning) -> str:
    """Write the regular expression whose group is the beginning of a name, or all of a name without it."""
    first_tokens = [tokens for tokens in beginning.tokens if tokens]
    expressions = []
    for position, kind in enumerate(beginning.kinds):
        values = {tokens[position] for tokens in first_tokens}
        if kind == "0":
            expressions.append(r"\d+")
        elif len(values) == 1:
            expressions.append(re.escape(first_tokens[0][position]))
        else:
            expressions.append(r"[^\W\d_]+")
    expression = "".join(expressions)
    if len(first_tokens) == len(beginning.tokens):
        return f"^({expression})"
    return f"^({expression}|.+)"


def find_patient_column(frame: pd.DataFrame, cases: np.ndarray) -> GroupingColumn | None:
    """Find the column that looks like numbers of patients: of several, the one with the most groups.

    Parameters
    ----------
    frame : DataFrame
        The scores.
    cases : (n_rows,) array of int
        Case of each row, from 0.
    """
    first_rows_of_cases = first_rows(cases)
    candidates = []
    for name in map(str, frame.columns):
        if name not in frame.columns or name in _OTHER_COLUMNS or _FACTOR.fullmatch(name):
            continue
        if _holds_fractions_bools_or_dates(frame[name]):
            continue
        column = _groups_of_column(frame[name], name, cases, first_rows_of_cases)
        if column is not None:
            candidates.append(column)
    return max(candidates, key=lambda column: column.n_groups, default=None)


def _holds_fractions_bools_or_dates(values: pd.Series) -> bool:
    """Return True for fractions, truth values and dates, which are not ids."""
    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_datetime64_any_dtype(values):
        return True
    if pd.api.types.is_float_dtype(values):
        numbers = values.dropna().to_numpy()
        # The remainder of an infinite number is NaN, which differs from 0.
        with np.errstate(invalid="ignore"):
            return bool((numbers % 1 != 0).any())
    return False


def _groups_of_column(
    values: pd.Series, name: str, cases: np.ndarray, first_rows_of_cases: NDArray[np.integer]
) -> GroupingColumn | None:
    """Group cases by a column; None where the groups do not look like patients.

    `cases` are the cases of all rows, and `first_rows_of_cases` the first row of each case.
    """
    codes, labels = pd.factorize(values)
    case_codes = codes[first_rows_of_cases]
    differs_within_case = (codes != case_codes[cases]).any()
    has_value = case_codes >= 0
    if differs_within_case or int(has_value.sum()) <= len(first_rows_of_cases) / 2:
        return None
    sizes = np.bincount(case_codes[has_value])
    texts = []
    for label in labels:
        texts.append(f"{label:.0f}" if isinstance(label, float) else str(label))
    are_long_ids = _are_long_ids(texts)
    fewest_groups = _FEWEST_GROUPS if are_long_ids else _FEWEST_GROUPS_OF_SHORT_VALUES
    if not _are_patient_sizes(sizes, len(first_rows_of_cases), fewest_groups):
        return None
    if not are_long_ids and _PERSON.search(name) is None:
        if not _look_like_patient_names(texts, len(first_rows_of_cases)):
            return None
        if not _are_groups_mostly_of_consecutive_cases(case_codes, first_rows_of_cases, len(sizes)):
            return None
    n_grouped = int(sizes[(sizes >= _SMALLEST) & (sizes <= _LARGEST)].sum())
    return GroupingColumn(name, n_groups=len(sizes), n_grouped=n_grouped, n_cases=len(first_rows_of_cases))


def _are_long_ids(texts: list[str]) -> bool:
    """Return True if values are hexadecimal keys, or numbers of five or more digits after equal letters."""
    are_keys = all(re.fullmatch(r"(?=.*\d)[0-9a-f-]{6,}", text, re.IGNORECASE) for text in texts)
    if not are_keys:
        stems = {re.sub(r"\d{5,}$", "", text) for text in texts}
        if len(stems) != 1:
            return False
    return not any(_DATE.search(text) for text in texts)


def _look_like_patient_names(texts: list[str], n_cases: int) -> bool:
    """Return True if values are numbered (1, 2, ...; P01, P02, ...) or are words with a few cases each."""
    if any(_DATE.search(text) for text in texts):
        return False
    stems = set()
    for text in texts:
        number = re.search(r"\d+$", text)
        if number is None:
            return n_cases <= _MAX_CASES_PER_WORD * len(texts)
        stems.add(text[: number.start()])
    if stems == {""}:
        # Numbers that are far more than there are values are ages or years, which do not begin at 1.
        return max(int(text) for text in texts) <= 2 * len(texts)
    return len(stems) == 1


def _are_groups_mostly_of_consecutive_cases(
    group_of_case: NDArray[np.integer], first_rows_of_cases: NDArray[np.integer], n_groups: int
) -> bool:
    """Return True if cases of a group follow each other, in the rows or in the order of the cases' names."""
    in_row_order = group_of_case[np.argsort(first_rows_of_cases)]
    n_runs_in_rows = 1 + int((np.diff(in_row_order) != 0).sum())
    n_runs_by_name = 1 + int((np.diff(group_of_case) != 0).sum())
    return min(n_runs_in_rows, n_runs_by_name) <= _MAX_RUNS_PER_GROUP * n_groups


class NumberedNames(NamedTuple):
    """The numbers in which names end, such as 17 in "P017"; a name without or with other digits has none."""

    #: Text before the number, missing without a number.
    stems: pd.Series
    #: The number as float, NaN without one.
    numbers: pd.Series


def numbered_names(names: pd.Series) -> NumberedNames:
    """Return the stem and the number of each name."""
    extracted = names.astype(TEXT).str.extract(r"^(\D*)0*(\d+)(?:\.0)?$")
    return NumberedNames(extracted[0], extracted[1].astype("float"))


def numbering_restarts(patients: NumberedNames, sites: pd.Series) -> bool:
    """Return True if patients are numbered 1, 2, ... within each site, and sites differ in their number.

    If all sites have equally many patients, the "sites" are rather patients, and the "patients" their views
    or sides.
    """
    n_sites = sites.nunique()
    # sites have several patients: at least four rows each on average
    if not 2 <= n_sites <= len(sites) / 4:
        return False
    is_numbered = patients.numbers.notna() & sites.notna()
    if not is_numbered.any() or patients.stems[is_numbered].nunique() > 1:
        return False
    by_site = patients.numbers[is_numbered].groupby(sites[is_numbered], observed=True)
    n_patients = by_site.nunique()
    if len(n_patients) < 2 or n_patients.nunique() == 1:
        return False
    # the numbers of a site are 1, 2, ... without a gap if the largest is the number of its patients
    is_complete = by_site.max().eq(n_patients.astype("float")) & n_patients.ge(3)
    return bool(is_complete.all())
