"""Numbers to text: the only place that rounds, and the only place that gives stars."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import check_choice, check_columns, check_count, check_frame
from salstats.display.text.vocabulary import limits_name
from salstats.stats.engine.monte_carlo import ROUNDING

#: What stands for a missing value.
MISSING = "—"
#: The minus sign of print; a hyphen is too short and breaks at the end of a line.
MINUS = "\u2212"
#: Levels of one, two and three stars, before any correction.
STAR_LEVELS = (0.05, 0.01, 0.001)
#: Spaces where no line ends, also in HTML: inside "P < 0.001", "n = 12", "F(7, 133)" and "95% CI".
_TOGETHER = re.compile(
    r"\b[Pn] (?:[<=>≤≥]|&[lg]t;) (?=[\d.])|(?<=%) (?=CIs?\b)|(?<=—,) |(?<=\d) of (?=\d)|\bF\(\d+, (?=\d)"
)


@dataclass(frozen=True)
class Style:
    """How a journal writes numbers.

    `p_zero` puts a zero before the decimal point of a p-value, `p_digits` are its decimals where it is not
    small; `between` stands between the limits of an interval, `brackets` around it in running text, behind
    `ci` with `{level}` in percent, and `cell` around it in a table's cell.
    """

    name: str
    p_zero: bool
    p_digits: int
    between: str
    brackets: str
    ci: str
    cell: str = "()"


#: Nature portfolio; Radiology (RSNA); AMA Manual of Style (11th edition), as JAMA has it; and as nature
#: with square brackets in tables, too, which keep limits with a sign apart from it.
STYLES = {
    style.name: style
    for style in (
        Style("nature", True, 3, ", ", "[]", "{level}% CI "),
        Style("radiology", False, 2, ", ", "()", "{level}% CI: "),
        Style("ama", False, 2, " to ", "()", "{level}% CI, "),
        Style("brackets", True, 3, ", ", "[]", "{level}% CI ", cell="[]"),
    )
}


def unbroken(text: str, space: str = "\u00a0") -> str:
    r"""A text with other spaces where no line ends.

    >>> unbroken("Mean (95% CI), F(7, 133), P < 0.001")
    'Mean (95%\xa0CI), F(7,\xa0133), P\xa0<\xa00.001'
    """
    return _TOGETHER.sub(lambda found: found[0].replace(" ", space), text)


def number_text(value: Any, digits: int = 4) -> str:
    """A number with `digits` significant digits, whole numbers whole, missing as a dash.

    >>> number_text(0.123456), number_text(1234567.0), number_text(3), number_text(float("nan"))
    ('0.1235', '1234567', '3', '—')
    """
    if isinstance(value, bool | str):
        return str(value)
    if value is None or value != value:
        return MISSING
    if isinstance(value, int) or not hasattr(value, "is_integer"):
        return str(value)
    number = float(value)
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    if number == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    return f"{number:.{decimals}f}" if decimals <= 8 else f"{number:.{digits - 1}e}"


def column_text(values: Iterable[float], digits: int = 4) -> list[str]:
    """Numbers of one column with the same decimals: `digits` significant ones of the largest.

    >>> column_text([0.12345, 12.5, float("nan")]), column_text([3.0, 139.0])
    (['0.12', '12.50', '—'], ['3', '139'])
    """
    numbers = [float(v) for v in values]
    finite = [abs(v) for v in numbers if math.isfinite(v)]
    decimals = 0 if all(v.is_integer() for v in finite) else decimals_of(max(finite), digits)
    return [f"{v:.{decimals}f}" if math.isfinite(v) else number_text(v) for v in numbers]


def decimals_of(number: float, digits: int, most: int = 8) -> int:
    """Decimals that leave a number above 0 `digits` significant ones, at `most` so many.

    >>> decimals_of(0.000347, 3), decimals_of(123.4, 3)
    (6, 0)
    """
    return min(max(0, digits - 1 - math.floor(math.log10(number))), most)


def fixed_text(value: Any, digits: int = 3) -> str:
    """A number with `digits` decimals for print: a true minus, no negative zero, commas between thousands.

    >>> fixed_text(0.56649), fixed_text(-1906.425, 1), fixed_text(-0.0001), fixed_text(float("nan"))
    ('0.566', '−1,906.4', '0.000', '—')
    """
    if value is None or value != value:
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    text = f"{abs(float(value)):,.{digits}f}"
    return f"{MINUS}{text}" if value < 0 and text.strip("0.") else text


def count_text(value: Any) -> str:
    """A whole number with thousands set apart by a comma, missing as a dash.

    >>> count_text(668), count_text(100000.0), count_text(float("nan"))
    ('668', '100,000', '—')
    """
    return MISSING if value is None or value != value else f"{round(value):,}".replace("-", MINUS)


def count_range(values: Iterable[float]) -> str:
    """A count, or the smallest and the largest where they differ; a dash where none is known.

    >>> count_range([668, 668]), count_range([137, 1300, float("nan")]), count_range([float("nan")])
    ('668', '137 to 1,300', '—')
    """
    known = [v for v in values if v == v]
    if not known:
        return MISSING
    low, high = count_text(min(known)), count_text(max(known))
    return low if low == high else f"{low} to {high}"


def noun(column: str) -> str:
    """What a column names, one of; several columns name a cluster.

    >>> noun("patient"), noun("patient_id"), noun("PatientID"), noun("exam_day"), noun("site, patient")
    ('patient', 'patient', 'Patient', 'exam day', 'site and patient cluster')
    """
    names = (re.sub(r"(?<=\w)(?:[ .-]?id|ID)$", "", name.replace("_", " ")) for name in column.split(", "))
    return f"{word} cluster" if " and " in (word := " and ".join(names)) else word


def plural(word: str) -> str:
    """The plural of a noun or of a column's name.

    >>> plural("patient"), plural("study_id"), plural("class"), plural("exam_day")
    ('patients', 'studies', 'classes', 'exam days')
    """
    word = noun(word)
    if re.search("[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search("(s|x|z|ch|sh)$", word) else f"{word}s"


def counted(n: float, word: str, many: str = "") -> str:
    """A count with its noun; `many` is the plural of words that do not end in a noun.

    >>> counted(1, "task"), counted(1200, "study"), counted(2, "slope rests", "slopes rest")
    ('1 task', '1,200 studies', '2 slopes rest')
    """
    return f"{count_text(n)} {noun(word) if n == 1 else many or plural(word)}"


def counted_range(values: Iterable[float], word: str) -> str:
    """A count or its range with its noun.

    >>> counted_range([1, 1], "case"), counted_range([1, 3], "case")
    ('1 case', '1 to 3 cases')
    """
    known = list(values)
    return f"{count_range(known)} {word.replace('_', ' ') if max(known) == 1 else plural(word)}"


def percent_text(value: Any, digits: int = 1) -> str:
    """A number that is in percent already, with its sign.

    >>> percent_text(24.04), percent_text(-128.13), percent_text(None)
    ('24.0%', '−128.1%', '—')
    """
    text = fixed_text(value, digits)
    return text if text == MISSING else f"{text}%"


def p_text(value: Any, style: str = "nature", *, named: bool = False, floor: Any = None) -> str:
    """A p-value as a style writes it, with "P = " or "P " before it if `named`.

    Three decimals with a leading zero, or (radiology, ama) two without, three below .01 and where two would
    hide on which side of .05 it lies. `floor` is the smallest value that replicates allow: one that is no
    larger is only a bound, and is rounded up.

    >>> p_text(0.0444, floor=0.0444), p_text(0.05, floor=0.05), p_text(0.0312, floor=0.002)
    ('<0.045', '≤0.050', '0.031')
    >>> p_text(0.0312), p_text(0.00002), p_text(0.0312, "ama"), p_text(0.0496, "ama", named=True)
    ('0.031', '<0.001', '.03', 'P = .0496')
    """
    if value is None or value != value:
        return MISSING
    how = STYLES[style]
    if value < 0.001:
        text = "<0.001"
    elif floor is not None and value <= floor * (1 + ROUNDING):
        digits = max(how.p_digits, 3) if value < 0.01 else how.p_digits
        # at .05 itself nothing is below it
        sign = "≤" if abs(value / STAR_LEVELS[0] - 1) <= ROUNDING else "<"
        text = f"{sign}{np.ceil(value * 10**digits * (1 - ROUNDING)) / 10**digits:.{digits}f}"
    else:
        text = _p_decimals(float(value), how.p_digits)
        if float(text) >= 1:
            text = f">{1 - 10.0**-how.p_digits:.{how.p_digits}f}"
    if not how.p_zero:
        text = text.replace("0.", ".", 1)
    if not named:
        return text
    return f"P {text[0]} {text[1:]}" if text[0] in "<>≤" else f"P = {text}"


def _p_decimals(value: float, digits: int) -> str:
    """A p-value with as many decimals as it takes to see its size and its side of 0.05."""
    digits = max(digits, 3) if value < 0.01 else digits
    text = f"{value:.{digits}f}"
    while float(text) == STAR_LEVELS[0] and value < STAR_LEVELS[0] and digits < 8:
        digits += 1
        text = f"{value:.{digits}f}"
    return text


def limits_text(low: Any, high: Any, digits: int = 3, style: str = "nature") -> str:
    """The limits of an interval without brackets; a dash where both are missing.

    >>> limits_text(0.526, 0.606), limits_text(-0.497, -0.354, style="ama"), limits_text(None, None)
    ('0.526, 0.606', '−0.497 to −0.354', '—')
    """
    texts = fixed_text(low, digits), fixed_text(high, digits)
    return MISSING if texts == (MISSING, MISSING) else STYLES[style].between.join(texts)


def interval_text(
    estimate: Any, low: Any, high: Any, digits: int = 3, style: str = "nature", stars: str = ""
) -> str:
    """An estimate with its limits and stars for a table's cell; what is missing is left out, or a dash.

    >>> interval_text(0.566, 0.526, 0.606, stars="***"), interval_text(1.5, None, None, 1)
    ('0.566 (0.526, 0.606)***', '1.5')
    """
    text = fixed_text(estimate, digits)
    limits = limits_text(low, high, digits, style)
    cell = STYLES[style].cell
    return text + stars if MISSING in (text, limits) else f"{text} {cell[0]}{limits}{cell[1]}{stars}"


def star_text(p_value: Any, n_tests: int = 1) -> str:
    """Three stars, two, one or none for a p-value, at levels divided by the size of its family (Bonferroni).

    >>> star_text(0.0004), star_text(0.0004, n_tests=4), star_text(0.05), star_text(float("nan"))
    ('***', '**', '', '')
    """
    family = check_count(n_tests, "n_tests")
    return "*" * sum(p_value < level / family for level in STAR_LEVELS) if p_value == p_value else ""


def star_note(n_tests: int = 1, adjusted: str | None = None, *, shown: bool = True) -> str:
    """The footnote that says what the stars mean, or that none is `shown`.

    `adjusted` is what the p-values were adjusted by.

    >>> star_note(4)
    '*P < 0.05/4; **P < 0.01/4; ***P < 0.001/4 (Bonferroni, 4 tests).'
    >>> star_note(adjusted="Holm, 24 tests")
    '*P < 0.05; **P < 0.01; ***P < 0.001; P values adjusted (Holm, 24 tests).'
    """
    over = f"/{n_tests}" if n_tests > 1 else ""
    levels = "; ".join(f"{'*' * (i + 1)}P < {level}{over}" for i, level in enumerate(STAR_LEVELS))
    levels = levels if shown else f"No star: no P < {STAR_LEVELS[0]}{over}"
    if adjusted is not None:
        return f"{levels}; P values adjusted ({adjusted})."
    if over:
        return f"{levels} (Bonferroni, {n_tests} tests)."
    return f"{levels}; not corrected for multiplicity."


def level_text(level: float) -> str:
    """A confidence level in percent without its sign: 95, 99.9."""
    return f"{100 * level:.6g}"


def family_level(rows: pd.DataFrame) -> float | None:
    """Level at which the limits of rows hold together, None where they hold singly."""
    if not {"family_level", "conf_level"} <= set(rows.columns):
        return None
    together = rows["family_level"].to_numpy(dtype=np.float64, na_value=np.nan)
    singly = rows["conf_level"].to_numpy(dtype=np.float64, na_value=np.nan)
    levels = np.unique(together[~np.isnan(together)])
    # a family of one test holds as its only row does
    wider = (singly > together + 1e-9).any()
    return float(levels[0]) if len(levels) == 1 and wider else None


def short_level_text(level: float) -> str:
    """A level in percent; one that was adjusted has many digits and gets two decimals."""
    text = level_text(level)
    return text if len(text) <= 5 else fixed_text(100 * level, 2)


def inline_text(
    estimates: pd.DataFrame, *, digits: int = 3, style: str = "nature", p_values: bool = False
) -> list[str]:
    """Estimates as they stand in running text, one text per row.

    Parameters
    ----------
    estimates : DataFrame
        An estimates frame: `estimate`, and where they are there `conf_low, conf_high, conf_level` and
        `p_value, p_adjusted`.
    digits : int
        Decimals of estimate and limits.
    style : {"nature", "radiology", "ama", "brackets"}
        "0.566 [95% CI 0.526, 0.606]", "0.566 (95% CI: 0.526, 0.606)" or "0.566 (95% CI, 0.526 to 0.606)".
    p_values : bool
        Add the p-value, adjusted where there is such a column and it is not missing.

    Returns
    -------
    list of str
        In the frame's order; a missing estimate is a dash. The term `percent_decrease` is in percent.

    Raises
    ------
    ColumnError
        No column `estimate`.
    SalstatsError
        An unknown style, or digits below zero.

    Examples
    --------
    >>> import pandas as pd, salstats as ss
    >>> row = {"estimate": 0.566, "conf_low": 0.526, "conf_high": 0.606, "conf_level": 0.95, "p_value": 1e-9}
    >>> ss.inline_text(pd.DataFrame([row]))
    ['0.566 [95% CI 0.526, 0.606]']
    >>> ss.inline_text(pd.DataFrame([row]), style="radiology", digits=2, p_values=True)
    ['0.57 (95% CI: 0.53, 0.61; P < .001)']
    """
    check_columns(check_frame(estimates, "estimates"), ["estimate"], "estimates")
    how = STYLES[check_choice(style, tuple(STYLES), "style")]
    check_count(digits, "digits", 0)
    texts = []
    for row in estimates.to_dict("records"):
        percent = "%" if row.get("term") == "percent_decrease" else ""
        text = fixed_text(row["estimate"], digits)
        if text == MISSING:
            texts.append(text)
            continue
        inside = []
        limits = limits_text(row.get("conf_low"), row.get("conf_high"), digits, style)
        if limits != MISSING:
            said = how.ci.replace("CI", limits_name([row.get("term")]))
            level = row.get("conf_level", 0.95)
            together = family_level(pd.DataFrame([row]))
            if together is not None:
                said = f"simultaneous {said}"
                level = together
            inside.append(said.format(level=level_text(level)) + limits)
        if p_values:
            inside += [row_p_text(row, style, named=True)] if p_used(row) == p_used(row) else []
        separator = ", " if how.brackets == "[]" else "; "
        around = f" {how.brackets[0]}{separator.join(inside)}{how.brackets[1]}" if inside else ""
        texts.append(f"{text}{percent}{around}")
    return texts


def row_p_text(row: Any, style: str = "nature", *, named: bool = False) -> str:
    """What `p_used` gives as text, "<" where it is only a bound."""
    adjusted = row.get("p_adjusted")
    is_adjusted = adjusted is not None and adjusted == adjusted
    floor = row.get("p_adjusted_floor" if is_adjusted else "p_floor")
    return p_text(p_used(row), style, named=named, floor=floor)


def p_used(row: Any) -> float:
    """A row's adjusted p-value, else its p-value, else NaN."""
    for name in ("p_adjusted", "p_value"):
        value = row.get(name, np.nan)
        if value is not None and value == value:
            return float(value)
    return float("nan")


def joined(words: Sequence[str], last: str = "and") -> str:
    """Words as a list in a sentence: "a, b and c"."""
    words = list(words)
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
