"""Work on batches of items: in this process, on several cores or on a cluster; one thread per library."""

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from salstats.checks import quoted
from salstats.errors import Message, SalstatsError, Setting, ValueRangeError

#: Batches per worker: enough to keep all busy to the end, few enough that sending them costs nothing.
_BATCHES_PER_WORKER = 8
#: Greatest number of items in a batch, so that the progress bar moves.
_LARGEST_BATCH = 20
#: Seconds after which a worker checks again that its parent process runs.
_PARENT_CHECK_SECONDS = 0.5
#: Progress bars of nested work, of which the last is on the terminal.
_OPEN_BARS: list[Any] = []


def results_by_batch(
    work_on_batch: Callable[[tuple[Any, ...]], Any],
    items: Sequence[Any],
    *,
    jobs: int | None,
    progress: bool,
    label: str,
) -> list[Any]:
    """Apply a function to consecutive batches of items and return one result per batch, in order.

    Parameters
    ----------
    work_on_batch : callable
        Takes a tuple of items. It must be picklable where there are several jobs.
    items : sequence
        The items; batches are small enough to keep all jobs busy.
    jobs : int, optional
        Number of processes, -1 for one per core. None takes what `joblib.parallel_config` says, by which
        work goes onto Dask or Ray, and this process alone where nothing is configured.
    progress : bool
        Show a progress bar called `label` on stderr, if that is a terminal.

    Raises
    ------
    SalstatsError
        A process was killed, as the system does where memory runs out.
    """
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError
    from joblib.parallel import get_active_backend

    _check_jobs_none_positive_or_minus_one(jobs)
    if jobs is not None:
        # more processes than items would have nothing to do
        jobs = min(jobs, max(1, len(items)))
    n_workers = joblib.effective_n_jobs(jobs)
    batches = _batches(items, n_workers)
    results = []
    with progress_counter(len(items), label, progress=progress) as count:
        if n_workers == 1:
            for batch in batches:
                with _one_opencv_thread_naming_cases(batch):
                    results.append(work_on_batch(batch))
                count(len(batch))
            return results
        # Ray's backend returns its results only at the end
        backend, _ = get_active_backend()
        return_as = "generator" if backend.supports_return_generator else "list"
        parallel = joblib.Parallel(
            n_jobs=jobs, return_as=return_as, **joblib_options_ending_workers_with_parent()
        )
        calls = (joblib.delayed(_result_on_one_opencv_thread)(work_on_batch, batch) for batch in batches)
        try:
            for batch, result in zip(batches, parallel(calls), strict=True):
                results.append(result)
                count(len(batch))
        except TerminatedWorkerError as error:
            raise SalstatsError(
                f"one of {n_workers} processes was killed or crashed, most often because memory ran out",
                hint=Message("use fewer ", Setting("jobs")),
                option="jobs",
                value=jobs,
            ) from error
    return results


def _check_jobs_none_positive_or_minus_one(jobs: object) -> None:
    """Raise ValueRangeError unless `jobs` is None, -1 or a whole number of at least 1."""
    if jobs is None:
        return
    is_whole = isinstance(jobs, int) and not isinstance(jobs, bool)
    if not is_whole or jobs == 0 or jobs < -1:  # type: ignore[operator]
        raise ValueRangeError(
            Setting("jobs"),
            f" must be a whole number of at least 1, or -1 for all cores; got {jobs!r}",
            value=jobs,
        )


def _batches(items: Sequence[Any], n_workers: int) -> list[tuple[Any, ...]]:
    """Cut items into consecutive batches, several for each worker."""
    size = math.ceil(len(items) / (_BATCHES_PER_WORKER * n_workers))
    size = max(1, min(_LARGEST_BATCH, size))
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)]


def end_when_parent_ends(parent_pid: int) -> None:
    """End this worker process soon after its parent process ends, however that ends.

    Workers of a killed process would otherwise wait for minutes and keep its streams open. Nothing is done on
    Windows, where an orphan keeps the number of its parent and a launcher may stand between the two.
    """
    if sys.platform == "win32":
        return

    def watch() -> None:
        # an orphan gets another parent
        while os.getppid() == parent_pid:
            time.sleep(_PARENT_CHECK_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def joblib_options_ending_workers_with_parent() -> dict[str, Any]:
    """Return options of joblib by which its own processes end with this one; clusters end theirs."""
    from joblib.parallel import BACKENDS, get_active_backend

    backend, _ = get_active_backend()
    makes_processes = isinstance(backend, BACKENDS["loky"])
    if not makes_processes or "initializer" in backend.backend_kwargs:
        return {}
    return {"initializer": end_when_parent_ends, "initargs": (os.getpid(),)}


def _result_on_one_opencv_thread(work: Callable[[tuple[Any, ...]], Any], batch: tuple[Any, ...]) -> Any:
    """Return the result of one batch, computed without threads of OpenCV."""
    with _one_opencv_thread_naming_cases(batch):
        return work(batch)


@contextmanager
def _one_opencv_thread_naming_cases(batch: tuple[Any, ...]) -> Iterator[None]:
    """Keep OpenCV from starting threads, as `jobs` sets the number of cores; name the cases of its errors."""
    import cv2

    try:
        with one_opencv_thread():
            yield
    except cv2.error as error:
        reason = " ".join(str(error).split())[:200]
        cases = quoted(getattr(item, "case", "?") for item in batch)
        raise SalstatsError(
            f"OpenCV cannot process an image, which may be too large for it ({reason}); it belongs to "
            f"case {cases}",
            column="case",
            value=[getattr(item, "case", None) for item in batch],
        ) from error


def with_progress_bar(
    batches: Iterable[Any], total: int, label: str, *, progress: bool, sizes: Sequence[int] | None = None
) -> Iterator[Any]:
    """Yield batches as they are, while a progress bar counts the items of those that are done.

    `sizes` are the numbers of items of the batches, by default their lengths.
    """
    with progress_counter(total, label, progress=progress) as count:
        for index, batch in enumerate(batches):
            yield batch
            if sizes is None:
                count(len(batch))
            else:
                count(sizes[index])


@contextmanager
def progress_counter(total: int | None, label: str, *, progress: bool) -> Iterator[Callable[..., None]]:
    """Yield a function that counts items, with `progress` on a bar on stderr, if that is a terminal.

    The function takes the number of items and optionally a new label for the bar. `total` is None where the
    number of items is unknown.
    """
    # An open bar replaces stderr by an object that does not say it is a terminal with rich before 15.
    is_terminal = bool(_OPEN_BARS) or sys.stderr.isatty()
    if not (progress and is_terminal):
        yield count_nothing
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn()]
    if total is not None:
        columns += [MofNCompleteColumn(), TimeRemainingColumn()]
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total)

    def count(n: int, new_label: str | None = None) -> None:
        bar.update(task, advance=n, description=new_label)

    # a terminal has room for one moving bar: that of the innermost work
    if _OPEN_BARS:
        _OPEN_BARS[-1].stop()
    _OPEN_BARS.append(bar)
    try:
        with bar:
            yield count
    finally:
        _OPEN_BARS.remove(bar)
        if _OPEN_BARS:
            _OPEN_BARS[-1].start()


def count_nothing(n: int, label: str | None = None) -> None:
    """Count nothing."""


#: Function that restores the number of threads of a library.
RestoreThreads = Callable[[], Any]


class _OneThread:
    """Context in which a library uses one thread; its number of threads is one setting of the process."""

    def __init__(self, limit: Callable[[], RestoreThreads]) -> None:
        #: Sets the library to one thread and returns the function that restores its setting.
        self._limit = limit
        self._lock = threading.Lock()
        #: Number of blocks that are inside the context; the first sets the library, the last restores it.
        self._users = 0
        self._restore: RestoreThreads = lambda: None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Keep the library at one thread inside the block."""
        with self._lock:
            if not self._users:
                self._restore = self._limit()
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._restore()


def _limit_opencv_to_one_thread() -> RestoreThreads:
    """Set OpenCV to one thread and return the function that restores its setting."""
    import cv2

    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    return lambda: cv2.setNumThreads(threads)


@cache
def _blas_libraries() -> Any:
    """Return the loaded BLAS libraries; finding them takes long, setting them does not."""
    import scipy.linalg  # noqa: F401  # brings a BLAS of its own
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


def _limit_blas_to_one_thread() -> RestoreThreads:
    """Set the loaded BLAS libraries to one thread and return the function that restores their settings."""
    limit = _blas_libraries().limit(limits=1)
    # threadpoolctl sets and restores only as a context manager
    limit.__enter__()
    return lambda: limit.__exit__(None, None, None)


one_opencv_thread = _OneThread(_limit_opencv_to_one_thread)
one_blas_thread = _OneThread(_limit_blas_to_one_thread)
