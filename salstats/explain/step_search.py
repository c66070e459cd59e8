"""The first step that suffices, found by asking about several steps at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Climb:
    """Steps asked about in their order: the answer is the first that suffices, whatever the others do.

    Attributes
    ----------
    n_steps : int
        Steps are 0 to n_steps.
    first, last : bool
        Whether step 0 and step n_steps suffice.
    answer : int or None
        The first step that suffices; None where there is none or it is not known yet.
    done : bool

    Examples
    --------
    >>> from salstats.explain.step_search import Climb
    >>> search = Climb(10, first=False, last=True)
    >>> search.ask(4)
    array([1, 2, 3, 4])
    >>> search.tell([1, 2, 3, 4], [False, False, True, False])
    >>> search.answer
    3
    """

    n_steps: int
    first: bool
    last: bool
    answer: int | None = field(default=None, init=False)
    done: bool = field(default=False, init=False)
    _low: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.first:
            self._end(0)
        else:
            self._top()

    def ask(self, room: int) -> np.ndarray:
        """Return the steps to ask about next, ascending, `room` at most."""
        return np.arange(self._low + 1, min(self._low + room, self.n_steps - 1) + 1)

    def tell(self, steps: Sequence[int] | np.ndarray, enough: Sequence[bool] | np.ndarray) -> None:
        """Take in which of the steps asked about suffice."""
        if np.any(enough):
            self._end(int(steps[int(np.argmax(enough))]))
        else:
            self._low = int(steps[-1])
            self._top()

    def _top(self) -> None:
        """End where only the last step, which is known, is left."""
        if self._low == self.n_steps - 1:
            self._end(self.n_steps if self.last else None)

    def _end(self, answer: int | None) -> None:
        """Keep the answer."""
        self.answer, self.done = answer, True


@dataclass
class Halve:
    """Intervals whose lower end does not suffice and whose upper end does, cut until they are one step long.

    The answer suffices and the step before it does not; where more pixels never lose the class again it is
    what `Climb` finds. No answer where the last step does not suffice. Attributes as for `Climb`.

    Examples
    --------
    >>> from salstats.explain.step_search import Halve
    >>> search = Halve(10, first=False, last=True)
    >>> search.ask(1), search.ask(4)
    (array([5]), array([2, 4, 6, 8]))
    >>> search.tell([2, 4, 6, 8], [False, False, True, True])
    >>> search.ask(4)
    array([5])
    """

    n_steps: int
    first: bool
    last: bool
    answer: int | None = field(default=None, init=False)
    done: bool = field(default=False, init=False)
    _low: int = field(default=0, init=False, repr=False)
    _high: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._high = self.n_steps
        if self.first or not self.last:
            self.answer, self.done = (0 if self.first else None), True
        else:
            self._close()

    def ask(self, room: int) -> np.ndarray:
        """Return the steps to ask about next, ascending, `room` at most: they cut the interval evenly."""
        wide = self._high - self._low
        n = min(room, wide - 1)
        return self._low + np.arange(1, n + 1) * wide // (n + 1)

    def tell(self, steps: Sequence[int] | np.ndarray, enough: Sequence[bool] | np.ndarray) -> None:
        """Take in which of the steps asked about suffice."""
        place = int(np.argmax(enough)) if np.any(enough) else len(steps)
        if place < len(steps):
            self._high = int(steps[place])
        if place > 0:
            self._low = int(steps[place - 1])
        self._close()

    def _close(self) -> None:
        """End where the interval is one step long."""
        if self._high - self._low == 1:
            self.answer, self.done = self._high, True
