import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import ColumnError
from salstats.stats.patient_values import over_views


@pytest.fixture
def views():
    """Two tasks of two patients: one with a frontal and a lateral view, one with a frontal view."""
    return pd.DataFrame({
        "case": ["p2f", "p1f", "p1l", "p2f", "p1f", "p1l"],
        "patient": ["p2", "p1", "p1", "p2", "p1", "p1"],
        "task": ["Edema"] * 3 + ["Mass"] * 3,
        "prob": [0.3, 0.2, 0.6, np.nan, 0.9, np.nan],
        "label": [0, 1, 1, 0, 1, 1],
    })  # fmt: skip


def test_the_view_that_shows_most_counts(views):
    found = over_views(views)
    assert list(found.columns) == ["patient", "task", "prob", "n_views", "n_defined"]
    assert found["patient"].to_list() == ["p1", "p1", "p2", "p2"]
    np.testing.assert_array_equal(found["prob"], [0.6, 0.9, 0.3, np.nan])
    assert found["n_views"].to_list() == [2, 2, 1, 1]
    assert found["n_defined"].to_list() == [2, 1, 1, 0]


def test_the_mean_by_name_and_several_values(views):
    found = over_views(views, value=["prob", "label"], rule="mean")
    np.testing.assert_allclose(found["prob"], [0.4, 0.9, 0.3, np.nan])
    assert found["label"].to_list() == [1, 1, 0, 0]


def test_series_of_a_scores_frame_stay_apart(views):
    scores = pd.concat(
        [
            views.assign(method=m, metric="rating", score=views["prob"] + shift)
            for m, shift in (("a", 0), ("b", 1))
        ]
    )
    found = over_views(scores, value="score").set_index(["patient", "task", "method"])["score"]
    assert found.loc[("p1", "Edema", "b")] == 1.6
    assert found.loc[("p1", "Edema", "a")] == 0.6


def test_bad_requests_are_named(views):
    with raises(ColumnError, option="by", column="case"):
        over_views(views, by="case")
    with raises(ColumnError, option="value", column="seed"):
        over_views(views.assign(seed=1), value="seed")
    for options in ({"by": ["patient", "n_views"]}, {"value": "n_views"}):
        with raises(ColumnError, column="n_views"):
            over_views(views.assign(n_views=2), **options)
    for options, option in (({"by": []}, "by"), ({"value": []}, "by")):
        with raises(ColumnError, option=option):
            over_views(views, **options)
