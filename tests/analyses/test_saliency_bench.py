"""The script that a statistician reads makes the frames of `salstats reproduce saliency_bench`."""

import pandas as pd
import pytest
from bench_scores import drawn_scores
from study_scripts import assert_same_rows, reproduce_items, run_script

# each makes the items of a study twice, by its script and by `reproduce`
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning"),
]
KEYS = {
    "table_2": ["dataset", "model", "method", "metric"],
    "table_3": ["model", "method", "x", "y"],
    "ranks": ["metric", "dataset", "model", "method"],
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """What the script writes of the embedded digits."""
    return run_script("saliency_bench", "-o", tmp_path_factory.mktemp("digits") / "out")


@pytest.fixture(scope="module")
def reproduced():
    return reproduce_items("saliency_bench", *KEYS, digits=True)


@pytest.mark.parametrize("name", KEYS)
def test_frames_of_the_digits_are_those_of_reproduce(written, reproduced, name):
    assert_same_rows(pd.read_csv(written / f"{name}.csv"), reproduced[name], KEYS[name])


def test_a_file_of_scores_takes_the_place_of_the_digits(tmp_path):
    file = tmp_path / "scores.csv"
    drawn_scores(n_sets=3, n_cases=8).to_csv(file, index=False)
    out = run_script("saliency_bench", file, "-o", tmp_path / "out")
    expected = reproduce_items("saliency_bench", "table_2", "table_3", "table_4", scores=file)
    for name in ("table_2", "table_3", "table_4"):
        keys = KEYS.get(name, KEYS["table_2"])
        assert_same_rows(pd.read_csv(out / f"{name}.csv"), expected[name], keys)
    assert (out / "table_2.html").stat().st_size > 0
    assert (out / "ranks.pdf").read_bytes()[:4] == b"%PDF"
