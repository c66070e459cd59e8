"""Work on several cores: processes that end with the one they work for."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import cv2
import joblib
import numpy as np
import pytest
import rich.progress
from joblib.externals.loky.process_executor import TerminatedWorkerError
from map_folders import write_map_folder
from tests_support import raises
from threadpoolctl import threadpool_info, threadpool_limits

from salstats.errors import SalstatsError, ValueRangeError
from salstats.jobs import (
    _OneThread,
    count_nothing,
    end_when_parent_ends,
    joblib_options_ending_workers_with_parent,
    one_blas_thread,
    one_opencv_thread,
    progress_counter,
    results_by_batch,
    with_progress_bar,
)

#: A command whose work takes minutes: python -c SCRIPT FOLDER.
SCRIPT = textwrap.dedent("""
    import os, sys, time
    from pathlib import Path

    import salstats as ss
    from salstats.cli import app as cli
    from salstats.jobs import results_by_batch

    def work(folder, piece):
        (folder / f"{os.getpid()}.worker").touch()
        time.sleep(1)
        return piece

    def score(*given, jobs: int | None = None, **options):
        from functools import partial
        worker = partial(work, Path(sys.argv[1]))
        return results_by_batch(worker, range(400), jobs=jobs, progress=False, label="")

    ss.score = score
    cli.main(["score", "study", "--jobs", "2", "-o", "scores.csv"])
""")
#: Seconds within which streams end on a busy machine; without care workers keep them for 300.
SOON = 20


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_workers_end_with_the_process_they_work_for_however_that_ends(tmp_path):
    write_map_folder(tmp_path / "study")
    runs = {}
    for name in ("SIGTERM", "SIGKILL"):
        (tmp_path / name).mkdir()
        runs[name] = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path / name)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    said = {}
    for name, run in runs.items():
        until = time.monotonic() + 60
        while len(list((tmp_path / name).iterdir())) < 2:
            assert run.poll() is None, run.stderr.read()
            assert time.monotonic() < until, "no worker has begun"
            time.sleep(0.05)
        run.send_signal(getattr(signal, name))
        # the pipe ends when nobody holds it any more, workers included
        said[name] = run.communicate(timeout=SOON)[1]
    # where it ends while workers start, the library's own process says that it cleans up after them
    first = said["SIGTERM"].splitlines()[0]
    assert (runs["SIGTERM"].returncode, first) == (143, "salstats: error: terminated")
    assert runs["SIGKILL"].returncode == -signal.SIGKILL
    assert sorted(p.name for p in tmp_path.iterdir()) == ["SIGKILL", "SIGTERM", "study"]


@pytest.mark.parametrize("backend", ["loky", "threading", "sequential"])
def test_backends_of_others_are_asked_for_nothing(backend):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert results_by_batch(len, range(4), jobs=None, progress=False, label="") == [1] * 4


def test_a_worker_ends_once_it_has_another_parent(monkeypatch):
    parents = iter([7, 7, 1])
    ended = threading.Event()
    codes = []

    def end(code):
        codes.append((code, next(parents, None)))
        ended.set()

    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(os, "_exit", end)
    monkeypatch.setattr("salstats.jobs.time", SimpleNamespace(sleep=lambda seconds: None))
    end_when_parent_ends(7)
    assert ended.wait(timeout=SOON)
    assert codes == [(1, None)]


def test_only_processes_of_joblib_itself_are_told_to_end():
    assert joblib_options_ending_workers_with_parent() == {
        "initializer": end_when_parent_ends,
        "initargs": (os.getpid(),),
    }
    with joblib.parallel_config(backend="threading"):
        assert joblib_options_ending_workers_with_parent() == {}


@pytest.mark.parametrize("jobs", [0, -2, True, 1.5, "2"])
def test_a_number_of_jobs_that_cannot_be_is_an_error(jobs):
    with raises(ValueRangeError, option="jobs", value=jobs):
        results_by_batch(len, [1], jobs=jobs, progress=False, label="")


@pytest.mark.parametrize(
    ("n_items", "sizes"), [(0, []), (5, [1] * 5), (100, [13] * 7 + [9]), (400, [20] * 20)]
)
def test_items_are_worked_on_in_batches_of_at_most_twenty(n_items, sizes):
    batches = results_by_batch(tuple, range(n_items), jobs=1, progress=False, label="")
    assert [len(batch) for batch in batches] == sizes
    assert [item for batch in batches for item in batch] == list(range(n_items))


def test_a_process_that_was_killed_is_an_error_that_names_the_jobs(monkeypatch):
    def killed(calls):
        raise TerminatedWorkerError("killed")

    monkeypatch.setattr(joblib, "Parallel", lambda **options: killed)
    with raises(SalstatsError, option="jobs", value=2) as caught:
        results_by_batch(len, range(4), jobs=2, progress=False, label="")
    assert [setting.option for setting in caught.value.hint.settings()] == ["jobs"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_opencv_cannot_do_is_a_sentence_that_names_the_cases(jobs):
    def work(piece):
        return cv2.resize(np.empty((0, 0)), (2, 2))

    with raises(SalstatsError, column="case", value=["a"]) as caught:
        results_by_batch(work, [SimpleNamespace(case="a")], jobs=jobs, progress=False, label="")
    assert "OpenCV" in str(caught.value)


def test_one_bar_at_a_time_is_on_the_terminal(monkeypatch):
    bars = []

    class Bar(rich.progress.Progress):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            bars.append(self)

    monkeypatch.setattr(rich.progress, "Progress", Bar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    def shown():
        return [bar.live.is_started for bar in bars]

    with progress_counter(None, "Computing", progress=True):
        assert shown() == [True]
        with progress_counter(3, "Scoring", progress=True) as count:
            count(1)
            assert shown() == [False, True]
        assert shown() == [True, False]
    assert shown() == [False, False]


@pytest.mark.parametrize(("sizes", "counts"), [(None, [1, 2]), ([5, 7], [5, 7])])
def test_a_bar_counts_the_items_of_results_that_were_used(monkeypatch, sizes, counts):
    counted = []

    @contextmanager
    def counter(total, label, *, progress):
        assert (total, label, progress) == (12, "Cases", True)
        yield counted.append

    monkeypatch.setattr("salstats.jobs.progress_counter", counter)
    results = with_progress_bar(iter(["a", "bc"]), 12, "Cases", progress=True, sizes=sizes)
    assert next(results) == "a"
    assert counted == []
    assert list(results) == ["bc"]
    assert counted == counts


def test_nothing_is_counted_where_no_bar_is_asked_for_or_none_can_be_shown(monkeypatch):
    for progress, is_terminal in ((False, True), (True, False)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda is_terminal=is_terminal: is_terminal, raising=False)
        with progress_counter(3, "Scoring", progress=progress) as count:
            assert count is count_nothing


def test_libraries_use_one_thread_in_a_block_and_as_many_as_before_after_it():
    def n_blas_threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread():
            assert n_blas_threads() == {1}
        assert n_blas_threads() == {2}
    before = cv2.getNumThreads()
    try:
        cv2.setNumThreads(2)
        with one_opencv_thread():
            assert cv2.getNumThreads() == 1
        assert cv2.getNumThreads() == 2
    finally:
        cv2.setNumThreads(before)


def test_the_first_of_several_blocks_limits_a_library_and_the_last_restores_it():
    calls = []

    def limit():
        calls.append("one thread")
        return lambda: calls.append("restored")

    one_thread = _OneThread(limit)
    with one_thread():
        with pytest.raises(KeyError), one_thread():
            raise KeyError
        assert calls == ["one thread"]
    assert calls == ["one thread", "restored"]
    with one_thread():
        assert calls[2:] == ["one thread"]
