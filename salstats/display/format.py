"""Numbers to text: the only place that rounds."""

import math
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
