"""Small helpers that several test modules share."""

import re
import time
from contextlib import contextmanager

import numpy as np
import pytest
from scipy import stats


def limits(frame):
    """The two limits of a frame's first row."""
    return frame[["conf_low", "conf_high"]].to_numpy(dtype=float)[0]


def r_quantile(replicates, probability):
    """R boot's norm.inter: order statistic (R + 1) * p, interpolated on the normal scale."""
    ordered, rank = np.sort(replicates), (len(replicates) + 1) * probability
    k = int(rank)
    z = stats.norm.ppf(np.array([probability, k / (len(ordered) + 1), (k + 1) / (len(ordered) + 1)]))
    return ordered[k - 1] + (z[0] - z[1]) / (z[2] - z[1]) * (ordered[k] - ordered[k - 1])


@contextmanager
def full_disk(n_bytes):
    """Let no file grow beyond some bytes, as on a disk that is full then."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def quick(seconds):
    """Take no more of the processor's time than this: what grows with the square takes many times more."""
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds


def error_line(capsys):
    """The one line on stderr; nothing is on stdout."""
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"salstats: error: [^\n]+\n", err), err
    return err
