"""Two jobs against one, and memory that does not grow with the study; ratios within one run."""

import os
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from timing import seconds

import salstats as ss

# the figure to reach
TWO_JOBS = 1.7
#: Turns that a disturbed machine may take; the fastest runs of both sides count.
TURNS = 12


def repeated(study, times):
    """The study many times over, as new cases of the same files."""
    cases = [replace(c, case=f"{c.case}_{i}") for i in range(times) for c in study]
    return replace(study, cases=tuple(cases))


@pytest.fixture(scope="module")
def sample(shared):
    """Two real radiographs with ten maps each."""
    return ss.read_chexlocalize(shared / "data" / "chexlocalize_sample")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="the bound is for two cores")
def test_two_jobs_take_little_more_than_half_the_time_of_one(sample):
    study = repeated(sample, 40)
    one = two = np.inf
    for turn in range(TURNS):
        one = min(one, seconds(lambda: ss.score(study, jobs=1)))
        # the first turn starts the processes, which stay
        two = min(two, seconds(lambda: ss.score(study, jobs=2)))
        if turn and one > TWO_JOBS * two:
            break
    assert one > TWO_JOBS * two


def test_memory_does_not_grow_with_the_number_of_cases(sample):
    """NumPy's memory is traced; one map on its image is 26 MB, and the scores are kept."""

    def peak(study):
        tracemalloc.start()
        try:
            ss.score(study)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(repeated(sample, 1))  # what is imported on the way
    assert peak(repeated(sample, 8)) < 1.2 * peak(repeated(sample, 1))
