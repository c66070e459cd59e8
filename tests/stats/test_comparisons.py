"""Which rows meet: scores of methods beside those of the reference."""

import numpy as np
import pandas as pd
import pytest

from salstats.checks import ColumnError, SalstatsError
from salstats.stats.comparisons import pair_with_reference


def scores(rows, columns=("case", "method", "score")):
    return pd.DataFrame(rows, columns=list(columns)).assign(metric="iou")


def test_pairs_meet_by_key_whatever_the_order():
    paired = pair_with_reference(
        scores([("b", "human", 0.2), ("a", "cam", 0.7), ("a", "human", 0.9), ("b", "cam", 0.1)]), "human"
    )
    assert paired[["case", "score", "reference_score"]].to_numpy().tolist() == [
        ["a", 0.7, 0.9],
        ["b", 0.1, 0.2],
    ]


def test_an_absent_partner_is_an_explicit_row():
    paired = pair_with_reference(
        scores([("a", "human", 0.9), ("b", "human", 0.8), ("a", "cam", 0.5), ("c", "cam", 0.4)]), "human"
    ).set_index("case")
    assert np.isnan(paired.loc["c", "reference_score"])
    assert np.isnan(paired.loc["b", "score"])
    assert (paired["method"] == "cam").all()
    assert len(paired) == 3


def test_one_human_score_serves_every_seed_of_a_method():
    rows = [("a", "human", 0.9, None), ("a", "cam", 0.5, "1"), ("a", "cam", 0.6, "2")]
    paired = pair_with_reference(scores(rows, ("case", "method", "score", "seed")), "human")
    assert paired["reference_score"].tolist() == [0.9, 0.9]


def test_seed_meets_seed_where_both_have_them():
    rows = [
        ("a", m, s, seed)
        for m, s, seed in (("human", 0.9, "1"), ("human", 0.8, "2"), ("cam", 0.5, "2"), ("cam", 0.4, "1"))
    ]
    paired = pair_with_reference(scores(rows, ("case", "method", "score", "seed")), "human")
    assert dict(zip(paired["seed"], paired["reference_score"], strict=True)) == {"1": 0.9, "2": 0.8}


def test_tasks_never_meet_each_other():
    rows = [
        ("a", "human", 0.9, "x"),
        ("a", "human", 0.1, "y"),
        ("a", "cam", 0.5, "y"),
        ("a", "cam", 0.4, "x"),
    ]
    paired = pair_with_reference(scores(rows, ("case", "method", "score", "task")), "human").set_index("task")
    assert (paired.loc["x", "reference_score"], paired.loc["y", "reference_score"]) == (0.9, 0.1)


def test_a_reference_with_several_rows_for_a_key_is_refused():
    rows = [("a", "human", 0.9, "1"), ("a", "human", 0.8, "2"), ("a", "cam", 0.5, None)]
    with pytest.raises(ColumnError, match=r"method 'human' has several rows for one key \(case a"):
        pair_with_reference(scores(rows, ("case", "method", "score", "reader")), "human")


def test_an_unknown_reference_lists_the_methods():
    with pytest.raises(SalstatsError, match=r"'human' is not a method.*'cam'"):
        pair_with_reference(scores([("a", "cam", 0.5)]), "human")
