"""Small helpers that several test modules share."""

import inspect
import re
import time
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from salstats.coded_text import TEXT
from salstats.errors import Call, SalstatsWarning, Setting


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


def _check_fields(problem, match, fields):
    """Compare the fields of an error or warning, and search its text for a fact."""
    for name, expected in fields.items():
        actual = getattr(problem, name)
        if name == "message" or (name == "hint" and isinstance(expected, Setting | Call)):
            # one part, such as an option, a name or a number; the words around it may change
            assert expected in actual.parts, f"the {name} of {problem} has no part {expected!r}"
            continue
        if name in {"hint", "path"}:
            actual = str(actual)
            expected = str(expected)
        # NaN is not equal to itself
        is_expected = actual is expected or actual == expected
        assert is_expected, f"{name} is {actual!r}, not {expected!r}, of: {problem}"
    if match is not None:
        assert re.search(match, str(problem)), str(problem)


@contextmanager
def raises(kind, *, match=None, **fields):
    """Expect an error of exactly this class with these fields: option, value, choices, column, rows, path."""
    with pytest.raises(kind) as caught:
        yield caught
    assert type(caught.value) is kind
    _check_fields(caught.value, match, fields)


@contextmanager
def warns(*, match=None, **fields):
    """Expect one warning of the package, and that it has these fields."""
    with pytest.warns(SalstatsWarning) as caught:
        yield caught
    ours = [record.message for record in caught if isinstance(record.message, SalstatsWarning)]
    assert len(ours) == 1, [str(warning) for warning in ours]
    _check_fields(ours[0], match, fields)


@contextmanager
def warns_too(*, match=None, **fields):
    """Expect a warning of the package that has these fields, and pass on those that have others."""
    with pytest.warns(SalstatsWarning) as caught:
        yield caught
    failures = []
    for record in caught:
        try:
            _check_fields(record.message, match, fields)
        except (AssertionError, AttributeError) as failure:
            failures.append(failure)
            warnings.warn_explicit(record.message, record.category, record.filename, record.lineno)
    assert len(failures) < len(caught), failures


def default_numbers_and_flags(function):
    """Return the options of a function whose default is a number, True or False, with that default."""
    parameters = inspect.signature(function).parameters.items()
    return {name: p.default for name, p in parameters if isinstance(p.default, int | float)}


def with_text_columns(frame):
    """Return a frame whose columns of text have the type that readers give them, also before pandas 3."""
    return frame.astype({name: TEXT for name in frame if frame[name].dtype == object})


def in_turn(names, variants):
    """Parameters of each name with each variant.

    Each run has one variant of a name, in turn; `pytest -m slow` runs the others.
    """
    return [
        pytest.param(
            name, variant, marks=() if variant == variants[turn % len(variants)] else pytest.mark.slow
        )
        for turn, name in enumerate(names)
        for variant in variants
    ]


def exact_csv(path, **options):
    """Return the table of a CSV file, its numbers exact to the last digit also before pandas 3."""
    if pd.__version__ < "3":
        options["float_precision"] = "round_trip"
    return pd.read_csv(path, **options)
