"""Scores of four methods that differ, their ranks and their tests, for the figures of ranks."""

import numpy as np
import pandas as pd
import pytest

import salstats as ss

#: From the best method to the worst.
LEVELS = {"lrp": 0.4, "rise": 0.3, "cam": 0.2, "ig": 0.1}


@pytest.fixture(scope="session")
def two_metrics():
    """Two metrics whose best method is another."""
    rng = np.random.default_rng(4)
    index = pd.MultiIndex.from_product(
        [[f"c{i}" for i in range(40)], sorted(LEVELS), ["iou", "assd"]], names=["case", "method", "metric"]
    )
    frame = index.to_frame(index=False)
    return frame.assign(score=frame["method"].map(LEVELS) + 0.2 * rng.random(len(frame)))


@pytest.fixture(scope="session")
def ranks(two_metrics):
    return ss.rank_stability(two_metrics, n_replicates=200)


@pytest.fixture(scope="session")
def significance(two_metrics):
    return ss.significance_map(two_metrics, test="t")
