"""Reading tables of scores, as many times as long as pyarrow takes for the same file.

pytest -q -m bench tests/bench/test_reading.py
"""

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
from timing import fastest

import salstats as ss

pytestmark = pytest.mark.bench
N_CASES = 100_000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write 600,000 scores of three methods and two tasks, with covariates, as CSV."""
    rng = np.random.default_rng(0)
    scores = pd.DataFrame({"case": np.repeat([f"patient{i:06d}_view1" for i in range(N_CASES)], 6)})
    scores["task"] = np.tile(["Edema", "Cardiomegaly"], 3 * N_CASES)
    scores["method"] = np.tile(np.repeat(["gradcam", "ig", "human"], 2), N_CASES)
    scores["metric"] = "iou"
    scores["score"] = rng.random(len(scores))
    scores["patient"] = scores["case"].str[:13]
    scores["area_ratio"] = rng.random(len(scores)).round(6)
    folder = tmp_path_factory.mktemp("reading")
    scores.to_csv(folder / "scores.csv", index=False)
    return folder


def test_a_csv_file_takes_at_most_eight_times_as_long(files):
    file = files / "scores.csv"
    arrow, ours = fastest(
        lambda: pyarrow.csv.read_csv(file), lambda: ss.read_scores(file), enough=20, turns=7, least=3
    )
    assert ours < 8 * arrow
