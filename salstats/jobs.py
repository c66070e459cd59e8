"""Work in pieces: in this process, on several cores, or on a cluster; libraries kept to one thread."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from salstats.checks import quoted
from salstats.errors import SalstatsError, ValueRangeError

#: Pieces per job: enough to keep all jobs busy to the end, few enough that sending them costs nothing.
_PIECES_PER_JOB = 8
#: Cases in a piece at most, so that the progress bar moves.
_LARGEST_PIECE = 20
#: Seconds between two looks of a worker at whether its parent is there.
_LOOK_EVERY = 0.5
#: Bars within bars, of which the last is on the terminal.
_SHOWN: list[Any] = []


def in_pieces(
    work: Callable[[tuple[Any, ...]], Any],
    items: Sequence[Any],
    *,
    jobs: int | None,
    progress: bool,
    label: str,
) -> list[Any]:
    """What `work` makes of consecutive pieces of `items`, in their order whatever `jobs` is.

    `work` takes a tuple of items, and must be picklable where there are several jobs: processes, -1 for one
    per core. None takes what `joblib.parallel_config` says, which is how the work goes onto Dask or Ray, and
    else this process alone. With `progress` a bar called `label` is on stderr, where that is a terminal.
    SalstatsError where a process was killed, as the system does where memory runs out.
    """
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError
    from joblib.parallel import get_active_backend

    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs == 0 or jobs < -1):
        raise ValueRangeError(f"jobs must be a whole number from 1 up, or -1 for all cores; got {jobs!r}")
    # no process would get work beyond one case each
    jobs = None if jobs is None else min(jobs, max(1, len(items)))
    workers = joblib.effective_n_jobs(jobs)
    size = max(1, min(_LARGEST_PIECE, -(-len(items) // (_PIECES_PER_JOB * workers))))
    pieces = [tuple(items[i : i + size]) for i in range(0, len(items), size)]
    results = []
    with counting(len(items), label, progress=progress) as count:
        if workers == 1:
            for piece in pieces:
                with _one_core(piece):
                    results.append(work(piece))
                count(len(piece))
            return results
        # Ray's backend hands its results over at the end only
        streams = get_active_backend()[0].supports_return_generator
        call = joblib.delayed(_on_one_core)
        parallel = joblib.Parallel(
            n_jobs=jobs, return_as="generator" if streams else "list", **ending_with_us()
        )
        try:
            for piece, result in zip(pieces, parallel(call(work, p) for p in pieces), strict=True):
                results.append(result)
                count(len(piece))
        except TerminatedWorkerError as error:
            raise SalstatsError(
                f"one of {workers} processes was killed or crashed, most often for want of memory; fewer "
                "jobs need less"
            ) from error
    return results


def end_with(parent: int) -> None:
    """End this process, which works for another one, soon after that one, however it ends.

    Where it is killed nobody tells its workers, which would wait for minutes and keep its streams open. Not
    on Windows, where an orphan keeps the number of its parent, and a launcher may stand between the two.
    """
    if sys.platform == "win32":
        return

    def watch() -> None:
        # an orphan gets another parent
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def ending_with_us() -> dict[str, Any]:
    """Options by which joblib's own processes end with this one; clusters see to theirs."""
    from joblib.parallel import BACKENDS, get_active_backend

    backend = get_active_backend()[0]
    ours = isinstance(backend, BACKENDS["loky"]) and "initializer" not in backend.backend_kwargs
    return {"initializer": end_with, "initargs": (os.getpid(),)} if ours else {}


def _on_one_core(work: Callable[[tuple[Any, ...]], Any], piece: tuple[Any, ...]) -> Any:
    """Result of one piece."""
    with _one_core(piece):
        return work(piece)


@contextmanager
def _one_core(piece: tuple[Any, ...]) -> Iterator[None]:
    """Keep OpenCV from starting threads, `jobs` says how many cores work; name the cases that it fails on."""
    import cv2

    try:
        with one_opencv_thread():
            yield
    except cv2.error as error:
        said = " ".join(str(error).split())[:200]
        raise SalstatsError(
            f"OpenCV cannot work on an image, which may be too large for it ({said}); it is of case "
            f"{quoted(getattr(item, 'case', '?') for item in piece)}"
        ) from error


def with_bar(
    results: Iterable[Any], total: int, label: str, *, progress: bool, sizes: Sequence[int] | None = None
) -> Iterator[Any]:
    """Yield results; with `progress` a bar counts their items (`sizes`, or lengths) on a terminal."""
    with counting(total, label, progress=progress) as count:
        for place, result in enumerate(results):
            yield result
            count(len(result) if sizes is None else sizes[place])


@contextmanager
def counting(total: int | None, label: str, *, progress: bool) -> Iterator[Callable[..., None]]:
    """Yield what counts items; with `progress` on a bar on stderr, where that is a terminal.

    `total` is None where nobody knows how many there will be. Called with a second label, the counter says
    that from now on.
    """
    if not (progress and sys.stderr.isatty()):
        yield not_counting
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    known = () if total is None else (MofNCompleteColumn(), TimeRemainingColumn())
    columns = (TextColumn("{task.description}"), BarColumn(), *known)
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total)
    # a terminal has room for one bar that moves: that of the work inside
    for outer in _SHOWN[-1:]:
        outer.stop()
    _SHOWN.append(bar)
    try:
        with bar:
            yield lambda n, label=None: bar.update(task, advance=n, description=label)
    finally:
        _SHOWN.remove(bar)
        for outer in _SHOWN[-1:]:
            outer.start()


def not_counting(n: int, label: str | None = None) -> None:
    """Count nothing."""


class _OneThread:
    """A library's number of threads, which is the whole process's: one while anyone asks for it."""

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
    """BLAS libraries that are loaded: looking for them takes long, setting them does not."""
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
