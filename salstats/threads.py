"""Libraries kept to one thread while a piece of work goes on, in this process and all its threads."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


class _OneThread:
    """A library's number of threads, which is the whole process's: one while anyone asks for it.

    `limit` sets it to one and returns what sets it back.
    """

    def __init__(self, limit: Callable[[], Callable[[], Any]]) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._users = 0
        self._undo: Callable[[], Any] = lambda: None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if not self._users:
                self._undo = self._limit()
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._undo()


def _limit_opencv() -> Callable[[], Any]:
    import cv2

    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    return lambda: cv2.setNumThreads(threads)


@cache
def _blas() -> Any:
    """Return the BLAS libraries that are loaded: looking for them takes long, setting them does not."""
    import scipy.linalg  # noqa: F401  # brings a BLAS of its own
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


def _limit_blas() -> Callable[[], Any]:
    limit = _blas().limit(limits=1)
    # entering and leaving is the one public way to set and restore
    limit.__enter__()
    return lambda: limit.__exit__(None, None, None)


one_opencv_thread = _OneThread(_limit_opencv)
one_blas_thread = _OneThread(_limit_blas)
