"""Work on several cores: processes that end with the one they work for."""

import signal
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager
from types import SimpleNamespace

import cv2
import joblib
import numpy as np
import pytest
import rich.progress
from map_folders import write_map_folder
from tests_support import raises

from salstats.errors import SalstatsError
from salstats.jobs import _OneThread, counting, in_batches, with_bar

#: A command whose work takes minutes: python -c SCRIPT FOLDER.
SCRIPT = textwrap.dedent("""
    import os, sys, time
    from pathlib import Path

    import salstats as ss
    from salstats.cli import app as cli
    from salstats.jobs import in_batches

    def work(folder, piece):
        (folder / f"{os.getpid()}.worker").touch()
        time.sleep(1)
        return piece

    def score(*given, jobs: int | None = None, **options):
        from functools import partial
        return in_batches(partial(work, Path(sys.argv[1])), range(400), jobs=jobs, progress=False, label="")

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
        assert in_batches(len, range(4), jobs=None, progress=False, label="") == [1] * 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_opencv_cannot_do_is_a_sentence_that_names_the_cases(jobs):
    def work(piece):
        return cv2.resize(np.empty((0, 0)), (2, 2))

    with raises(SalstatsError, column="case", value=["a"]) as caught:
        in_batches(work, [SimpleNamespace(case="a")], jobs=jobs, progress=False, label="")
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

    with counting(None, "Computing", progress=True):
        assert shown() == [True]
        with counting(3, "Scoring", progress=True) as count:
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

    monkeypatch.setattr("salstats.jobs.counting", counter)
    results = with_bar(iter(["a", "bc"]), 12, "Cases", progress=True, sizes=sizes)
    assert next(results) == "a"
    assert counted == []
    assert list(results) == ["bc"]
    assert counted == counts


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
