"""Numbers as text. Rounding and stars of P values are made here only."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from salstats.checks import check_count
from salstats.stats.engine.monte_carlo import ROUNDING as RELATIVE_ROUNDING_ERROR

#: Text of a missing value.
MISSING = "—"
#: The minus sign of print; a hyphen is too short and breaks at the end of a line.
MINUS = "\u2212"
#: Levels of one, two and three stars, before any correction.
STAR_LEVELS = (0.05, 0.01, 0.001)
#: Level of tests where a frame has none.
_DEFAULT_SIGNIFICANCE_LEVEL = STAR_LEVELS[0]
#: Most decimals of a number that is not written in powers of ten.
_MAX_DECIMALS = 8
#: P values below this are written as "<0.001".
_SMALLEST_P = 0.001
#: P values below this have three decimals at least.
_SMALL_P = 0.01
#: Levels that differ by less are equal, as they are computed with rounding errors.
LEVEL_TOLERANCE = 1e-9
#: Spaces at which a line must not end, also in HTML.
_UNBROKEN_BLANK = re.compile(
    "|".join(
        (
            r"\b[PNn] (?:[<=>≤≥]|&[lg]t;) (?=[\d.])",  # P < 0.001, N = 12
            r"(?<=%) (?=CIs?\b)",  # 95% CI
            r"(?<=—,) ",  # an interval without its lower limit: —, 0.606
            r"(?<=\d) of (?=\d)",  # 3 of 12
            r"\bF\(\d+, (?=\d)",  # F(7, 133)
        )
    )
)


@dataclass(frozen=True)
class JournalStyle:
    """The way in which a journal writes numbers.

    Attributes
    ----------
    name : str
        Name of the style as an option.
    p_has_leading_zero : bool
        Whether a zero stands before the decimal point of a P value.
    p_digits : int
        Decimals of a P value that is not small.
    limit_separator : str
        Text between the limits of an interval.
    text_brackets : str
        Opening and closing bracket around an interval in running text.
    interval_prefix : str
        Text before an interval in running text, with `{level}` for the level in percent.
    cell_brackets : str
        Opening and closing bracket around an interval in a table's cell.
    """

    name: str
    p_has_leading_zero: bool
    p_digits: int
    limit_separator: str
    text_brackets: str
    interval_prefix: str
    cell_brackets: str = "()"


_NATURE = JournalStyle(
    "nature",
    p_has_leading_zero=True,
    p_digits=3,
    limit_separator=", ",
    text_brackets="[]",
    interval_prefix="{level}% CI ",
)
_RADIOLOGY = JournalStyle(
    "radiology",
    p_has_leading_zero=False,
    p_digits=2,
    limit_separator=", ",
    text_brackets="()",
    interval_prefix="{level}% CI: ",
)
_AMA = JournalStyle(
    "ama",
    p_has_leading_zero=False,
    p_digits=2,
    limit_separator=" to ",
    text_brackets="()",
    interval_prefix="{level}% CI, ",
)
#: Like nature, but with square brackets in tables, which stay legible around limits with a minus sign.
_BRACKETS = replace(_NATURE, name="brackets", cell_brackets="[]")
#: Styles of Nature portfolio, Radiology (RSNA) and the AMA Manual of Style (11th edition, as JAMA has it).
STYLES = {style.name: style for style in (_NATURE, _RADIOLOGY, _AMA, _BRACKETS)}


def with_no_break_spaces_where_needed(text: str, space: str = "\u00a0") -> str:
    r"""Return a text with another space, by default a no-break space, where a line must not end.

    >>> with_no_break_spaces_where_needed("Mean (95% CI), F(7, 133), P < 0.001")
    'Mean (95%\xa0CI), F(7,\xa0133), P\xa0<\xa00.001'
    """
    return _UNBROKEN_BLANK.sub(lambda match: match[0].replace(" ", space), text)


def is_missing(value: Any) -> bool:
    """Return whether a value is None or NaN.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("")
    (True, True, False, False)
    """
    # NaN differs from itself
    return value is None or bool(value != value)


def number_text(value: Any, significant_digits: int = 4) -> str:
    """Return a number with some significant digits, whole numbers as they are, missing as a dash.

    >>> number_text(0.123456), number_text(1234567.0), number_text(3), number_text(float("nan"))
    ('0.1235', '1234567', '3', '—')
    """
    if isinstance(value, bool | str):
        return str(value)
    if is_missing(value):
        return MISSING
    if isinstance(value, int) or not hasattr(value, "is_integer"):
        return str(value)
    number = float(value)
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    if number == 0:
        return "0"
    exponent = math.floor(math.log10(abs(number)))
    decimals = max(0, significant_digits - 1 - exponent)
    if decimals > _MAX_DECIMALS:
        return f"{number:.{significant_digits - 1}e}"
    return f"{number:.{decimals}f}"


def column_texts(values: Iterable[float], significant_digits: int = 4) -> list[str]:
    """Return numbers of a column with the same decimals; the largest has some significant digits.

    >>> column_texts([0.12345, 12.5, float("nan")]), column_texts([3.0, 139.0])
    (['0.12', '12.50', '—'], ['3', '139'])
    """
    numbers = [float(value) for value in values]
    sizes = [abs(number) for number in numbers if math.isfinite(number)]
    decimals = 0
    if not all(size.is_integer() for size in sizes):
        decimals = decimals_of(max(sizes), significant_digits)
    texts = []
    for number in numbers:
        if math.isfinite(number):
            texts.append(f"{number:.{decimals}f}")
        else:
            texts.append(number_text(number))
    return texts


def decimals_of(number: float, significant_digits: int, max_decimals: int = _MAX_DECIMALS) -> int:
    """Return the decimals that a positive number needs for some significant digits, at most `max_decimals`.

    >>> decimals_of(0.000347, 3), decimals_of(123.4, 3)
    (6, 0)
    """
    exponent = math.floor(math.log10(number))
    return min(max(0, significant_digits - 1 - exponent), max_decimals)


def fixed_text(value: Any, digits: int = 3) -> str:
    """Return a number with `digits` decimals for print: true minus, no negative zero, commas at thousands.

    >>> fixed_text(0.56649), fixed_text(-1906.425, 1), fixed_text(-0.0001), fixed_text(float("nan"))
    ('0.566', '−1,906.4', '0.000', '—')
    """
    if is_missing(value):
        return MISSING
    if value == math.inf:
        return "∞"
    if value == -math.inf:
        return f"{MINUS}∞"
    text = f"{abs(float(value)):,.{digits}f}"
    # a text such as "0.000" has only zeros and the point
    is_rounded_to_zero = text.strip("0.") == ""
    if value < 0 and not is_rounded_to_zero:
        return f"{MINUS}{text}"
    return text


def count_text(value: Any) -> str:
    """Return a whole number with thousands set apart by a comma, missing as a dash.

    >>> count_text(668), count_text(100000.0), count_text(float("nan"))
    ('668', '100,000', '—')
    """
    if is_missing(value):
        return MISSING
    return f"{round(value):,}".replace("-", MINUS)


def count_range_text(values: Iterable[float]) -> str:
    """Return a count, or the smallest and the largest where they differ; a dash where all are missing.

    >>> count_range_text([668, 668]), count_range_text([137, 1300, float("nan")])
    ('668', '137 to 1,300')
    """
    counts = [value for value in values if not is_missing(value)]
    if not counts:
        return MISSING
    low = count_text(min(counts))
    high = count_text(max(counts))
    if low == high:
        return low
    return f"{low} to {high}"


def noun_of_identifier(column: str) -> str:
    """Return the singular noun for the values of a column; several columns name a cluster.

    >>> columns = ["patient", "patient_id", "PatientID", "exam_day", "site, patient"]
    >>> [noun_of_identifier(column) for column in columns]
    ['patient', 'patient', 'Patient', 'exam day', 'site and patient cluster']
    """
    nouns = []
    for name in column.split(", "):
        text = name.replace("_", " ")
        # "id" belongs to words such as "steroid"
        nouns.append(re.sub(r"(?<=\w)(?:[ .-]id|ID|(?<=patient)id|(?<=case)id|(?<=study)id)$", "", text))
    joined_nouns = " and ".join(nouns)
    if " and " in joined_nouns:
        return f"{joined_nouns} cluster"
    return joined_nouns


def plural(singular: str) -> str:
    """Return the plural of a noun or of a column's name.

    >>> plural("patient"), plural("study_id"), plural("class"), plural("exam_day")
    ('patients', 'studies', 'classes', 'exam days')
    """
    singular = noun_of_identifier(singular)
    if re.search("[^aeiou]y$", singular):
        return f"{singular[:-1]}ies"
    if re.search("(s|x|z|ch|sh)$", singular):
        return f"{singular}es"
    return f"{singular}s"


def counted(n: float, singular: str, plural_text: str = "") -> str:
    """Return a count with its noun; `plural_text` is the plural of a text that is not a single noun.

    >>> counted(1, "task"), counted(1200, "study"), counted(2, "slope rests", "slopes rest")
    ('1 task', '1,200 studies', '2 slopes rest')
    """
    if n == 1:
        return f"{count_text(n)} {noun_of_identifier(singular)}"
    return f"{count_text(n)} {plural_text or plural(singular)}"


def counted_range(values: Iterable[float], singular: str) -> str:
    """Return a count or a range of counts with its noun.

    >>> counted_range([1, 1], "case"), counted_range([0, 1], "case")
    ('1 case', '0 to 1 cases')
    """
    counts = list(values)
    noun_text = plural(singular)
    if min(counts) == max(counts) == 1:
        noun_text = noun_of_identifier(singular)
    return f"{count_range_text(counts)} {noun_text}"


def percent_text(percent: Any, digits: int = 1) -> str:
    """Return a percentage with the percent sign.

    >>> percent_text(24.04), percent_text(-128.13), percent_text(None)
    ('24.0%', '−128.1%', '—')
    """
    text = fixed_text(percent, digits)
    if text == MISSING:
        return MISSING
    return f"{text}%"


def p_text(
    value: Any,
    style: str = "nature",
    *,
    named: bool = False,
    p_floor: Any = None,
    alpha: float = _DEFAULT_SIGNIFICANCE_LEVEL,
) -> str:
    """Return a P value as a style writes it, with "P = " or "P " before it if `named`.

    Styles write three decimals with a leading zero, or (radiology, ama) two without one; these two write
    three below .01. All write more where these would hide on which side of .05, or of the level of the tests
    `alpha`, a value lies. `p_floor` is the smallest value that replicates allow: a P value that is no larger
    is only an upper bound, and is rounded up.

    >>> p_text(0.0444, p_floor=0.0444), p_text(0.05, p_floor=0.05), p_text(0.0312, p_floor=0.002)
    ('<0.045', '≤0.050', '0.031')
    >>> p_text(0.0312), p_text(0.00002), p_text(0.0312, "ama"), p_text(0.0496, "ama", named=True)
    ('0.031', '<0.001', '.03', 'P = .0496')
    >>> p_text(0.00996), p_text(0.00996, alpha=0.01), p_text(0.0126, "ama", alpha=0.0125)
    ('0.010', '0.00996', '.013')
    """
    if is_missing(value):
        return MISSING
    journal = STYLES[style]
    if value < _SMALLEST_P:
        text = f"<{_SMALLEST_P}"
    elif p_floor is not None and value <= p_floor * (1 + RELATIVE_ROUNDING_ERROR):
        text = _p_bound_text(float(value), journal.p_digits, alpha)
    else:
        text = _rounded_p_text(float(value), journal.p_digits, alpha)
    if not journal.p_has_leading_zero:
        text = text.replace("0.", ".", 1)
    if named:
        return p_statement(text)
    return text


def p_statement(text: str, name: str = "P") -> str:
    """Return a P value with its name before it.

    >>> p_statement("<0.001"), p_statement("0.020", "Holm-adjusted P")
    ('P < 0.001', 'Holm-adjusted P = 0.020')
    """
    if text[0] in "<>≤":
        return f"{name} {text[0]} {text[1:]}"
    return f"{name} = {text}"


def _p_bound_text(bound: float, digits: int, alpha: float) -> str:
    """Return an upper bound of a P value, rounded up, but not beyond the level of the tests."""
    if bound < _SMALL_P:
        digits = max(digits, 3)
    # with a bound of 0.05 it is not known that P is below 0.05
    is_bound_level = any(
        abs(bound / level - 1) <= RELATIVE_ROUNDING_ERROR for level in (_DEFAULT_SIGNIFICANCE_LEVEL, alpha)
    )
    sign = "≤" if is_bound_level else "<"
    rounded_up = _rounded_up(bound, digits)
    while _is_below(bound, alpha) and _is_below(alpha, rounded_up):
        digits += 1
        rounded_up = _rounded_up(bound, digits)
    return f"{sign}{rounded_up:.{digits}f}"


def _rounded_up(bound: float, digits: int) -> float:
    """Return a bound rounded up to some decimals.

    A bound that exceeds such a number by a rounding error only is not raised to the next one.
    """
    scale = 10**digits
    return float(np.ceil(bound * scale * (1 - RELATIVE_ROUNDING_ERROR)) / scale)


def _rounded_p_text(value: float, digits: int, alpha: float) -> str:
    """Return a P value with enough decimals to be on its own side of the levels; ">0.99" for 1."""
    p_digits = digits
    if value < _SMALL_P:
        p_digits = max(digits, 3)
    text = f"{value:.{p_digits}f}"
    while any(_is_on_other_side(float(text), value, level) for level in (_DEFAULT_SIGNIFICANCE_LEVEL, alpha)):
        p_digits += 1
        text = f"{value:.{p_digits}f}"
    if float(text) >= 1:
        largest_below_one = 1 - 10.0**-digits
        return f">{largest_below_one:.{digits}f}"
    return text


def _is_on_other_side(rounded: float, value: float, level: float) -> bool:
    """Return whether a value is below a level and its rounded form is not, or the reverse."""
    if _is_below(value, level):
        return not _is_below(rounded, level)
    return _is_below(level, value) and _is_below(rounded, level)


def _is_below(value: float, level: float) -> bool:
    """Return whether a value is below a level by more than an error of rounding."""
    return value < level * (1 - RELATIVE_ROUNDING_ERROR)


def limits_text(low: Any, high: Any, digits: int = 3, style: str = "nature") -> str:
    """Return the limits of an interval without brackets; a dash where both are missing.

    >>> limits_text(0.526, 0.606), limits_text(-0.497, -0.354, style="ama"), limits_text(None, None)
    ('0.526, 0.606', '−0.497 to −0.354', '—')
    """
    low_text = fixed_text(low, digits)
    high_text = fixed_text(high, digits)
    if low_text == MISSING and high_text == MISSING:
        return MISSING
    return f"{low_text}{STYLES[style].limit_separator}{high_text}"


def interval_text(
    estimate: Any, low: Any, high: Any, digits: int = 3, style: str = "nature", stars: str = ""
) -> str:
    """Return an estimate with its limits and stars for a table's cell.

    Missing limits are left out; a missing estimate is a dash.

    >>> interval_text(0.566, 0.526, 0.606, stars="***"), interval_text(1.5, None, None, 1)
    ('0.566 (0.526, 0.606)***', '1.5')
    """
    text = fixed_text(estimate, digits)
    limits = limits_text(low, high, digits, style)
    if MISSING in (text, limits):
        return text + stars
    brackets = STYLES[style].cell_brackets
    return f"{text} {brackets[0]}{limits}{brackets[1]}{stars}"


def star_text(p_value: Any, n_tests: int = 1) -> str:
    """Return three stars, two, one or none for a P value, at levels divided by the number of tests.

    >>> star_text(0.0004), star_text(0.0004, n_tests=4), star_text(0.05), star_text(float("nan"))
    ('***', '**', '', '')
    """
    family_size = check_count(n_tests, "n_tests")
    if is_missing(p_value):
        return ""
    n_stars = sum(p_value < level / family_size for level in STAR_LEVELS)
    return "*" * n_stars


def star_or_no_star_note(n_tests: int = 1, adjusted: str | None = None, *, has_stars: bool = True) -> str:
    """Return the footnote that says what the stars mean, or, unless the table `has_stars`, why it has none.

    `adjusted` is the procedure by which P values were adjusted.

    >>> star_or_no_star_note(4)
    '*P < 0.05/4; **P < 0.01/4; ***P < 0.001/4 (Bonferroni, 4 tests).'
    >>> star_or_no_star_note(adjusted="Holm, 24 tests")
    '*P < 0.05; **P < 0.01; ***P < 0.001; P values adjusted (Holm, 24 tests).'
    """
    divisor = ""
    if n_tests > 1:
        divisor = f"/{n_tests}"
    if has_stars:
        definitions = []
        for stars, level in zip(("*", "**", "***"), STAR_LEVELS, strict=True):
            definitions.append(f"{stars}P < {level}{divisor}")
        levels = "; ".join(definitions)
    else:
        levels = f"No star: no P < {STAR_LEVELS[0]}{divisor}"
    if adjusted is not None:
        return f"{levels}; P values adjusted ({adjusted})."
    if divisor:
        return f"{levels} (Bonferroni, {n_tests} tests)."
    return f"{levels}; not corrected for multiplicity."


def significance_level_of(confidence_level: float) -> float:
    """Return the significance level that corresponds to a confidence level: 0.05 for 0.95."""
    # the difference has a rounding error: 1 - 0.95 is 0.050000000000000044
    return round(1 - confidence_level, 10)


def level_text_without_percent_sign(level: float) -> str:
    """Return a confidence level in percent without its sign: 95, 99.9."""
    return f"{100 * level:.6g}"


def rounded_level_text_without_percent_sign(level: float) -> str:
    """Return a level in percent; an adjusted level with many digits, such as 99.7917, has two decimals."""
    text = level_text_without_percent_sign(level)
    if len(text) > len("99.99"):
        return fixed_text(100 * level, 2)
    return text


def p_text_adjusted_if_any(
    row: Mapping[Any, Any], style: str = "nature", *, starts_with_p: bool = False
) -> str:
    """Return a row's adjusted P value, else its P value, as text; "<" where it is only a bound."""
    adjusted = row.get("p_adjusted")
    p_column = "p_value"
    floor_column = "p_floor"
    if not is_missing(adjusted):
        p_column = "p_adjusted"
        floor_column = "p_adjusted_floor"
    return p_text(
        p_value_adjusted_if_any(row),
        style,
        named=starts_with_p,
        p_floor=row.get(floor_column),
        alpha=significance_level_of_row(row, p_column),
    )


def significance_level_of_row(row: Mapping[Any, Any], p_column: str) -> float:
    """Return the level that the P values of a column are compared with in a row, 0.05 where it has none.

    Adjusted P values are compared with the level of their family.

    >>> significance_level_of_row({"conf_level": 0.99}, "p_value"), significance_level_of_row({}, "p_value")
    (0.01, 0.05)
    >>> significance_level_of_row({"conf_level": 0.975, "family_level": 0.95}, "p_adjusted")
    0.05
    """
    level_columns = ["conf_level"]
    if "adjusted" in p_column:
        level_columns = ["family_level", "conf_level"]
    for column in level_columns:
        level: Any = row.get(column)
        if not is_missing(level):
            return significance_level_of(float(level))
    return _DEFAULT_SIGNIFICANCE_LEVEL


def p_value_adjusted_if_any(row: Mapping[Any, Any]) -> float:
    """Return a row's adjusted P value, else its P value, else NaN."""
    for name in ("p_adjusted", "p_value"):
        value = row.get(name, np.nan)
        if not is_missing(value):
            return float(value)
    return float("nan")


def joined(items: Sequence[str], conjunction: str = "and") -> str:
    """Return items as a list in a sentence: "a, b and c"; `conjunction` stands before the last item."""
    items = list(items)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"


def capitalized(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]
