"""Figures drawn beside other work: in this process, or in one more that was started early."""

import multiprocessing
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any

import plotnine as p9

from salstats.display.export.figure_files import save_figure_as, size_inches
from salstats.jobs import end_with


class FigureJobs:
    """Draw figures, every other one in a second process where `jobs` allows it.

    Starting that process means importing what draws, which takes about as long as three figures: it
    starts when this is made, while there are statistics to compute.

    It is a context manager, which ends that process.

    Parameters
    ----------
    jobs : int
        1 draws here; -1, 2 or more take one further process, where there is a second core for it.
    """

    def __init__(self, jobs: int) -> None:
        self._tasks: list[tuple[p9.ggplot, Sequence[Path]]] = []
        self._sent: dict[int, Future[list[str]]] = {}
        self._pool = _pool() if jobs > 1 or jobs == -1 else None
        if self._pool is not None:
            self._pool.submit(_imported)

    def __enter__(self) -> "FigureJobs":
        """The jobs."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the other process; what it has not begun is not drawn."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)

    def add(self, figure: p9.ggplot, targets: Sequence[Path]) -> None:
        """Add a figure and the files it goes to; the first, third ... are begun at once elsewhere."""
        number = len(self._tasks)
        # the other process may have started in another folder
        targets = [target.absolute() for target in targets]
        self._tasks.append((figure, targets))
        if self._pool is not None and number % 2 == 0:
            # where the process was killed meanwhile the figure is drawn here
            with suppress(BrokenProcessPool):
                self._sent[number] = self._pool.submit(drawn, figure, targets)

    def finish(self) -> list[str]:
        """Draw what is left, wait for the rest, and return what drawing warned of, each once."""
        said: list[str] = []
        for number, (figure, targets) in enumerate(self._tasks):
            if number not in self._sent:
                said += drawn(figure, targets)
        for number, future in self._sent.items():
            try:
                said += future.result()
            except BrokenProcessPool:
                # the process was killed, or never could be started
                said += drawn(*self._tasks[number])
        return list(dict.fromkeys(said))


def _pool() -> Any:
    """One further process, or None where there can be none."""
    if multiprocessing.current_process().daemon:
        return None
    try:
        # only where asked for: the library looks for semaphores when it is imported
        from loky import ProcessPoolExecutor, cpu_count

        if cpu_count() > 1:
            return ProcessPoolExecutor(max_workers=1, initializer=end_with, initargs=(os.getpid(),))
        return None
    except (ImportError, OSError):
        return None


def _imported() -> None:
    """Do nothing, in a process that has imported this module for it."""


def drawn(figure: p9.ggplot, targets: Sequence[Path]) -> list[str]:
    """Write a figure to its files at its own size and return what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save_figure_as(figure, targets, size_inches(figure))
    # what a library deprecates is no matter of the reader's
    skipped = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    return [str(w.message) for w in caught if not issubclass(w.category, skipped)]
