"""Small matrix products do not wait for a core that another process holds."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import salstats as ss
from salstats.jobs import one_blas_thread


def blas_threads():
    # OpenCV 4.11 brings an OpenBLAS that has one thread always
    return {
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas" and library.get("threading_layer") != "disabled"
    }


class Watching(np.random.Generator):
    """Notes on how many threads BLAS is whenever the engine draws."""

    def integers(self, *args, **kwargs):
        self.seen = getattr(self, "seen", set()) | blas_threads()
        return super().integers(*args, **kwargs)


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield
        assert blas_threads() == {2}


@pytest.mark.parametrize("test", ["bootstrap", "signflip"])
@pytest.mark.usefixtures("two_threads")
def test_replicates_of_a_study_are_made_on_one_thread(test):
    rng = Watching(np.random.PCG64(0))
    ss.difference(
        ss.datasets.load_simulated(), reference="human", test=test, interval="t", rng=rng, n_replicates=50
    )
    assert rng.seen == {1}


@pytest.mark.usefixtures("two_threads")
def test_products_that_take_long_keep_their_threads():
    tasks = [f"task {i}" for i in range(2000)]
    scores = pd.DataFrame(
        {"case": ["a"] * 2000 + ["b"] * 2000, "task": tasks * 2, "method": "m", "metric": "iou"}
    )
    rng = Watching(np.random.PCG64(0))
    ss.bootstrap(scores.assign(score=0.5), rng=rng, n_replicates=2)
    assert rng.seen == {2}


@pytest.mark.usefixtures("two_threads")
def test_threads_come_back_when_the_last_of_several_is_done():
    def work(_):
        with one_blas_thread():
            return blas_threads()

    with one_blas_thread(), ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(20))) == [{1}] * 20
        assert blas_threads() == {1}
