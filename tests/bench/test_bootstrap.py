"""Speed and memory of the bootstrap, as ratios within one run."""

import gc
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest

import salstats as ss

N_CASES, N_TASKS, N_METHODS, N_REPLICATES = 668, 10, 2, 1000
# the figures to reach
FASTER_THAN_PANDAS = 30
TIMES_BARE_NUMPY = 1.7
PEAK_MEMORY_GB = 1.5


def study(n_cases, n_tasks, n_methods, seed=0, missing=0.3):
    rng = np.random.default_rng(seed)
    cases = np.array([f"case{i:06d}" for i in range(n_cases)])
    size = n_cases * n_tasks * n_methods
    scores = rng.random(size)
    # a case without the finding has no score of any method
    absent = rng.random(n_cases * n_tasks) < missing
    scores[np.repeat(absent, n_methods)] = np.nan
    return pd.DataFrame(
        {
            "case": np.repeat(cases, n_tasks * n_methods),
            "task": np.tile(np.repeat([f"task{i}" for i in range(n_tasks)], n_methods), n_cases),
            "method": np.tile([f"method{i}" for i in range(n_methods)], n_cases * n_tasks),
            "metric": "iou",
            "score": scores,
        }
    )


def best_of(function, repeats=5):
    """The fastest of several runs: the least disturbed by whatever else the machine does.

    Garbage collection waits meanwhile, as in timeit: what it costs hangs on the tests that ran before.
    """
    times = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeats):
            start = time.perf_counter()
            result = function()
            times.append(time.perf_counter() - start)
    finally:
        gc.enable()
    return min(times), result


def in_turns(theirs, ours, reached, repeats=1, turns=60):
    """The fastest runs of both, and what they return, taking turns so that disturbances meet both.

    A disturbed machine gets more turns: they end when what is to be reached is shown, or after `turns`.
    """
    slow = fast = np.inf
    for turn in range(turns):
        seconds, want = best_of(theirs, repeats)
        slow = min(slow, seconds)
        seconds, got = best_of(ours)
        fast = min(fast, seconds)
        if turn >= 3 and reached(slow, fast):
            break
    return slow, fast, want, got


def pandas_loop(wide, draws):
    """The straightforward way: resample the rows of a wide table, take the column means."""
    return np.stack([wide.iloc[rows].mean().to_numpy() for rows in draws])


def bare_numpy(values, n_replicates, block):
    """What cannot be avoided: indices, counts, matrix products; in blocks, nothing checked or named."""
    rng = np.random.default_rng(0)
    n = len(values)
    defined = np.isfinite(values)
    sums, counts = np.where(defined, values, 0.0), defined.astype(float)
    means = np.empty((n_replicates, values.shape[1]))
    for start in range(0, n_replicates, block):
        stop = min(start + block, n_replicates)
        draws = rng.integers(0, n, size=(stop - start, n), dtype=np.int32)
        weights = np.empty((stop - start, n))
        for row, drawn in enumerate(draws):
            weights[row] = np.bincount(drawn, minlength=n)
        means[start:stop] = (weights @ sums) / (weights @ counts)
    return means


def test_bootstrap_is_thirty_times_faster_than_the_pandas_loop_and_equal(benchmark):
    scores = study(N_CASES, N_TASKS, N_METHODS)
    wide = scores.pivot(index="case", columns=["method", "task"], values="score").sort_index(axis=1)
    draws = np.random.default_rng(1).integers(0, N_CASES, size=(N_REPLICATES, N_CASES), dtype=np.int32)
    slow, fast, want, got = in_turns(
        lambda: pandas_loop(wide, draws),
        lambda: ss.bootstrap(scores, draws=draws),
        lambda theirs, ours: theirs / ours > FASTER_THAN_PANDAS,
    )
    benchmark.pedantic(lambda: ss.bootstrap(scores, draws=draws), rounds=5, warmup_rounds=1)
    benchmark.extra_info["times_faster"] = slow / fast
    np.testing.assert_allclose(got["estimate"].to_numpy().reshape(-1, N_REPLICATES).T, want, rtol=1e-12)
    assert slow / fast > FASTER_THAN_PANDAS


def bare_summary(values, n_replicates, block):
    """The same with what a percentile interval and a standard error need."""
    means = bare_numpy(values, n_replicates, block)
    return np.quantile(means, [0.025, 0.975], axis=0), means.std(axis=0, ddof=1), means.mean(axis=0)


@pytest.mark.parametrize(
    ("function", "options", "bare"),
    [("bootstrap", {}, bare_numpy), ("summarize", {"interval": "percentile"}, bare_summary)],
)
def test_bootstrap_stays_near_the_bare_numpy_cost(benchmark, function, options, bare):
    scores = study(N_CASES, N_TASKS, N_METHODS)
    values = scores["score"].to_numpy().reshape(N_CASES, -1)
    call = partial(getattr(ss, function), n_replicates=N_REPLICATES, **options)
    theirs, ours, *_ = in_turns(
        lambda: bare(values, N_REPLICATES, N_REPLICATES),
        lambda: call(scores),
        lambda theirs, ours: ours / theirs < TIMES_BARE_NUMPY,
        repeats=5,
    )
    ratio = ours / theirs
    benchmark.pedantic(lambda: call(scores), rounds=5, warmup_rounds=1)
    benchmark.extra_info["times_bare"] = ratio
    assert ratio < TIMES_BARE_NUMPY


LARGE = f"""
import resource, time
import numpy as np
import salstats as ss
from test_bootstrap import bare_numpy, study
resampled = {{"interval": "percentile", "n_replicates": {N_REPLICATES}}}
ss.summarize(study(50, 10, 2), **resampled)
scores = study(50_000, 10, 2)
assert len(scores) == 1_000_000
values = scores["score"].to_numpy().reshape(50_000, -1)
ours, bare = [], []
for turn in range(12):
    start = time.perf_counter()
    ss.summarize(scores, **resampled)
    ours.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    start = time.perf_counter()
    bare_numpy(values, {N_REPLICATES}, 80)
    bare.append(time.perf_counter() - start)
    if turn >= 2 and min(ours) / min(bare) < {TIMES_BARE_NUMPY}:
        break
print(min(ours) / min(bare), peak)
"""


def test_a_million_rows_stay_within_memory_and_near_the_bare_cost(request):
    # a process of its own, so that the peak is this call's
    done = subprocess.run(
        [sys.executable, "-c", LARGE],
        capture_output=True,
        text=True,
        check=True,
        cwd=request.path.parent,
    )
    ratio, peak_gb = map(float, done.stdout.split())
    assert peak_gb < PEAK_MEMORY_GB
    assert ratio < TIMES_BARE_NUMPY


#: The figure to reach: cautions, units and limits beside the table and the means that pandas makes.
TIMES_PANDAS_PIPELINE = 1.5


def pandas_decreases(scores):
    """Percentage decreases of complete pairs, as a user would take them."""
    wide = scores.pivot(index=["metric", "task", "case"], columns="method", values="score").dropna()
    means = wide.groupby(["metric", "task"]).mean()
    return 100 * (means["method0"] - means["method1"]) / means["method0"]


def test_decreases_of_a_million_rows_stay_near_a_pandas_pipeline_and_are_equal():
    scores = study(50_000, 10, 2)
    slow, fast, want, got = in_turns(
        lambda: pandas_decreases(scores),
        lambda: ss.percent_decrease(scores, reference="method0", by=("metric", "task"), interval="delta"),
        lambda theirs, ours: ours / theirs < TIMES_PANDAS_PIPELINE,
        turns=12,
    )
    np.testing.assert_allclose(got["estimate"].to_numpy(), want.to_numpy(), rtol=1e-9)
    assert fast / slow < TIMES_PANDAS_PIPELINE
