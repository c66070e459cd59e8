"""Ordinal ratings of explanations by people: read as scores with a reader, summarised and compared."""

import numpy as np
import pandas as pd
import pytest

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
    with pytest.warns(ss.checks.SalstatsWarning, match="reader"):
        found = ss.summarize(ratings, by="method", n_replicates=100)
    plain = pd.read_csv(file).groupby("method")["rating"].agg(["mean", "size"])
    np.testing.assert_allclose(found["estimate"], plain["mean"], rtol=1e-12)
    assert found["n"].tolist() == plain["size"].tolist()
    assert set(found["n_units"]) == {30}
    assert set(found["unit"]) == {"case"}


def test_each_reader_has_a_mean_and_methods_are_compared_reader_by_reader(ratings):
    by_reader = ss.summarize(ratings, by=["method", "reader"], n_replicates=100)
    assert by_reader["n"].tolist() == [30, 30, 26] * 2
    with pytest.warns(ss.checks.SalstatsWarning, match="reader"):
        gap = ss.difference(ratings, reference="gradcam", by="metric", n_replicates=100)
    wide = ratings.pivot(index=["case", "reader"], columns="method", values="score")
    assert gap["estimate"].item() == pytest.approx((wide["rise"] - wide["gradcam"]).mean(), abs=1e-12)
    assert gap["n_pairs"].item() == len(wide)
