from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from agreement_readings import alone, frame_of


@pytest.fixture(scope="session")
def reference():
    """What this project made with R and pingouin."""
    return Path(__file__).parents[2] / "reference" / "agreement"


@pytest.fixture
def drawn(drawn_readings):
    """A function that returns what five readers say of 60 cases with one modality: score, hit or rating."""
    one = drawn_readings[drawn_readings["modality"] == "A"]
    return lambda what: alone(one.pivot(index="case_id", columns="reader", values=what))


@pytest.fixture
def values():
    rng = np.random.default_rng(2)
    return rng.normal(0.5, 0.2, (30, 1)) + rng.normal(0, 0.1, (30, 3)) + [0, 0.05, -0.05]


@pytest.fixture
def scores(values):
    """Two methods of two cases a patient; the order of rows says nothing."""
    both = pd.concat([frame_of(values), frame_of(values**2, method="rise")])
    patients = both["case"].str[1:].astype(int) // 2
    return both.assign(patient="p" + patients.astype(str)).sample(frac=1, random_state=1)
