"""Warnings of items that are not made or that fail, and the error where no item is made."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from salstats.errors import (
    Message,
    MessagePart,
    SalstatsError,
    SalstatsWarning,
    warn,
)


class ItemNotMade(SalstatsWarning):
    """A result that the data do not allow; the others are made.

    Parameters
    ----------
    item : str
        Name of the result.
    reason : str or Message
        Why it is not made.
    """

    def __init__(self, item: str, reason: MessagePart) -> None:
        super().__init__(f"{item}: not made, ", reason)
        self.item = item


class ItemFailed(SalstatsWarning):
    """A result that an error of the program stopped; the others are made.

    Parameters
    ----------
    item : str
        Name of the result.
    error : Exception
        The error, with its traceback.
    """

    def __init__(self, item: str, error: Exception) -> None:
        super().__init__(f"{item}: failed, {type(error).__name__}: {error}")
        self.item = item
        self.error = error


@contextmanager
def warning_instead_of_any_error(name: str) -> Iterator[None]:
    """Turn an error into a warning, so that the other results are made.

    An error of the package becomes an `ItemNotMade`, any other an `ItemFailed`.
    """
    try:
        yield
    except SalstatsError as error:
        warn(ItemNotMade(name, error.message))
    except Exception as error:
        warn(ItemFailed(name, error))


def nothing_made_error(warnings: Iterable[Warning | str]) -> SalstatsError:
    """Return the error of a run that made nothing, with the reason of each item."""
    first_by_text: dict[str, ItemNotMade | ItemFailed] = {}
    for warning in warnings:
        if isinstance(warning, ItemNotMade | ItemFailed):
            first_by_text.setdefault(str(warning), warning)
    reasons = Message()
    for problem in first_by_text.values():
        if reasons:
            reasons += "; "
        reasons += problem.message
    error = SalstatsError(reasons or "no result can be made of these data")
    failures = [problem for problem in first_by_text.values() if isinstance(problem, ItemFailed)]
    if failures:
        error.__cause__ = failures[0].error
    return error
