"""Ordinal ratings of explanations by people: read as scores with a reader, summarised and compared."""

import numpy as np
import pandas as pd
import pytest
from tests_support import warns

import salstats as ss

READERS, METHODS = ("A", "B", "C"), ("gradcam", "rise")


@pytest.fixture
def file(tmp_path):
    """Ratings from 1 to 5 of 30 cases by three readers, one of whom left out some."""
    rng = np.random.default_rng(3)
    rows = [
        (f"case {c:02d}", m, r, int(np.clip(rng.integers(1, 5) + (m == "rise"), 1, 5)))
        for c in range(30)
        for m in METHODS
        for r in READERS
        if not (r == "C" and c < 4)
    ]
    table = tmp_path / "ratings.csv"
    pd.DataFrame(rows, columns=["case", "method", "reader", "rating"]).to_csv(table, index=False)
    return table


@pytest.fixture
def ratings(file):
    return ss.read_scores(file, rename={"rating": "score"}, metric="rating")


def test_a_row_per_reader_and_case_is_a_score_each(file, ratings):
    table = pd.read_csv(file)
    assert len(ratings) == len(table)
    assert set(ratings["metric"]) == {"rating"}
    assert ratings["reader"].tolist() == table["reader"].tolist()
    assert ratings["score"].tolist() == table["rating"].tolist()


def test_cases_are_what_is_drawn_not_ratings(file, ratings):
    with warns(column="case", value=["reader"]):
        found = ss.summarize(ratings, by="method", n_replicates=100)
    plain = pd.read_csv(file).groupby("method")["rating"].agg(["mean", "size"])
    np.testing.assert_allclose(found["estimate"], plain["mean"], rtol=1e-12)
    assert found["n"].tolist() == plain["size"].tolist()
    assert set(found["n_units"]) == {30}
    assert set(found["unit"]) == {"case"}
