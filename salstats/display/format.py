"""Numbers to text: the only place that rounds."""

import math
from collections.abc import Iterable
from typing import Any

#: What stands for a missing value.
MISSING = "—"


def number_text(value: Any, digits: int = 4) -> str:
    """Return a number with `digits` significant digits, whole numbers whole, missing as a dash.

    Examples
    --------
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
    """Return numbers of one column with the same decimals: `digits` significant ones of the largest.

    Whole numbers stay whole, missing is a dash.

    Examples
    --------
    >>> column_text([0.12345, 12.5, float("nan")]), column_text([3.0, 139.0])
    (['0.12', '12.50', '—'], ['3', '139'])
    """
    numbers = [float(v) for v in values]
    finite = [abs(v) for v in numbers if math.isfinite(v)]
    largest = max(finite, default=0.0)
    if all(v.is_integer() for v in finite):
        decimals = 0
    else:
        decimals = min(max(0, digits - 1 - math.floor(math.log10(largest))), 8)
    return [f"{v:.{decimals}f}" if math.isfinite(v) else number_text(v) for v in numbers]


def p_text(value: float) -> str:
    """Return a p-value with three digits, "<0.001" below.

    Examples
    --------
    >>> p_text(0.0312), p_text(0.00002), p_text(float("nan"))
    ('0.031', '<0.001', '—')
    """
    if value is None or value != value:
        return MISSING
    return "<0.001" if value < 0.001 else f"{value:.3f}"
