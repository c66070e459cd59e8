"""Readers keep their promise on files that nobody wrote on purpose."""

import dataclasses
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from fuzz.campaign import BROKEN, READ, REFUSED, run
from fuzz.targets import TARGETS, inputs

from salstats.errors import InputFileError
from salstats.memory_limit import LIMIT_VARIABLE

#: Inputs of each reader in an ordinary run.
N_FEW = 25


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    """A limit of memory that is small beside that of the machine."""
    monkeypatch.setenv(LIMIT_VARIABLE, "0.25")


@pytest.mark.parametrize("target", TARGETS)
def test_a_few_mutated_files_are_read_or_refused_by_name(tmp_path, target):
    assert [*run(target, 0, N_FEW, tmp_path, Counter())] == []


@pytest.mark.fuzz
@pytest.mark.parametrize("target", TARGETS)
def test_mutated_files_are_read_or_refused_by_name(tmp_path, target):
    assert [*run(target, 0, TARGETS[target].n, tmp_path, Counter())] == []


@pytest.mark.parametrize("target", TARGETS)
def test_files_as_they_are_written_are_read(tmp_path, monkeypatch, target):
    monkeypatch.setitem(
        TARGETS, target, dataclasses.replace(TARGETS[target], change=lambda files, rng: dict(files))
    )
    outcomes: Counter[str] = Counter()
    assert [*run(target, 0, 20, tmp_path, outcomes)] == []
    assert outcomes[READ] > 0


def test_an_input_does_not_depend_on_the_first_of_a_run():
    first, second = ([*inputs("scores", start, 10)] for start in (0, 5))
    assert first[5:] == second[:5]


#: Prints a checksum of a target's first inputs for each target.
_CHECKSUMS = """
import hashlib, pickle
from fuzz.targets import TARGETS, inputs
for target in TARGETS:
    print(target, hashlib.sha256(pickle.dumps([*inputs(target, 0, 5)])).hexdigest())
"""


@pytest.mark.slow
def test_an_input_is_the_same_in_another_process_at_another_time():
    tests = str(Path(__file__).resolve().parents[1])
    checksums = []
    for hash_seed in ("1", "2"):
        path = os.pathsep.join([tests, str(Path(tests).parent)])
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", _CHECKSUMS], capture_output=True, text=True, check=True, env=environment
        )
        checksums.append(done.stdout.splitlines())
        # the time in an archive is one of even seconds
        time.sleep(2)
    assert len(checksums[0]) == len(TARGETS)
    assert checksums[0] == checksums[1]


# what breaks the promise is found


def _read_elsewhere(folder, files):
    (folder.parent / "secret.npy").read_bytes()


def _write_elsewhere(folder, files):
    (folder.parent / "left.txt").write_text("left")


def _say_no_file(folder, files):
    raise InputFileError("it is damaged")


def _say_file(folder, files):
    raise InputFileError(f"{folder}: it is damaged")


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (lambda folder, files: {}["a"], "KeyError"),
        (lambda folder, files: np.float32(1e300), "RuntimeWarning"),
        (_say_no_file, "message names no file"),
        (_write_elsewhere, "event open"),
    ],
)
def test_a_broken_promise_is_found(tmp_path, monkeypatch, read, what):
    monkeypatch.setitem(TARGETS, "scores", dataclasses.replace(TARGETS["scores"], read=read))
    outcomes: Counter[str] = Counter()
    (failure,) = run("scores", 0, 1, tmp_path, outcomes)
    assert failure.what.startswith(what)
    assert outcomes == {BROKEN: 1}


def test_a_file_outside_the_folder_is_not_read_unseen(tmp_path, monkeypatch):
    monkeypatch.setitem(TARGETS, "scores", dataclasses.replace(TARGETS["scores"], read=_read_elsewhere))
    (failure,) = run("scores", 0, 1, tmp_path, Counter())
    assert failure.what == "event open"
    assert "secret.npy" in failure.detail


def test_what_takes_too_long_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("fuzz.campaign.CLOCK_SECONDS", 0.2)
    monkeypatch.setitem(
        TARGETS, "scores", dataclasses.replace(TARGETS["scores"], read=lambda folder, files: time.sleep(9))
    )
    (failure,) = run("scores", 0, 1, tmp_path, Counter())
    assert failure.what == "too slow"


def test_memory_that_grows_beyond_what_is_allowed_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("fuzz.campaign.MEGABYTES", 100)
    # an earlier peak hides none
    np.ones(60_000_000)

    def read(folder, files):
        np.ones(n_numbers)

    monkeypatch.setitem(TARGETS, "scores", dataclasses.replace(TARGETS["scores"], read=read))
    n_numbers = 1_000_000
    assert [*run("scores", 0, 1, tmp_path, Counter())] == []
    n_numbers = 25_000_000
    (failure,) = run("scores", 0, 1, tmp_path, Counter())
    assert failure.what == "too much memory"


def test_a_named_error_is_kept_as_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(TARGETS, "scores", dataclasses.replace(TARGETS["scores"], read=_say_file))
    outcomes: Counter[str] = Counter()
    assert [*run("scores", 0, 3, tmp_path, outcomes)] == []
    assert outcomes == {REFUSED: 3}
