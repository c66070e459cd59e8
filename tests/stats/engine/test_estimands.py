"""Cells of scores by unit, and estimates as functions of their means."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import ValueRangeError
from salstats.frames import ColumnCodes
from salstats.stats.engine import estimands
from salstats.stats.engine.estimands import (
    Cells,
    Estimand,
    mean_target,
    ratio,
    smallest_n_in_sample,
    sum_cells,
)
from salstats.stats.engine.grouping import GroupedRows, index_groups
from salstats.stats.engine.resampling_units import resolve_unit

METHODS = np.array([[0.8, 0.4, 0.6], [0.5, 0.5, 0.2]])


def estimand_of(kind, **options):
    """Three tasks of a method and the reference, and their average; the reference's cells come last."""
    members = np.hstack([np.eye(3), np.ones((3, 1))])
    zeros = np.zeros_like(members)
    if kind == "mean":
        return Estimand(kind, np.vstack([members, zeros]), **options)
    return Estimand(kind, np.vstack([members, zeros]), np.vstack([zeros, members]), **options)


@pytest.mark.parametrize(
    ("kind", "of_tasks", "of_average"),
    [
        ("mean", [0.8, 0.4, 0.6], 0.6),
        ("difference", [0.3, -0.1, 0.4], 0.2),
        ("percent_decrease", [-60, 20, -200], -50),
    ],
)
def test_estimates_compare_levels_and_averages_of_them(kind, of_tasks, of_average):
    np.testing.assert_allclose(estimand_of(kind).value(METHODS.ravel()), [*of_tasks, of_average])


def test_the_mean_of_decreases_is_not_the_decrease_of_means():
    identity, zeros = np.eye(3), np.zeros((3, 3))
    weights = np.column_stack([identity, np.ones(3)])
    estimand = Estimand(
        "percent_decrease", np.vstack([identity, zeros]), np.vstack([zeros, identity]), weights
    )
    np.testing.assert_allclose(estimand.value(METHODS.ravel()), [-60, 20, -200, -80])
    method, reference = estimand.row_levels(METHODS.ravel())
    np.testing.assert_allclose([method[3], reference[3]], [0.6, 0.4])


@pytest.mark.parametrize("kind", ["mean", "difference", "percent_decrease"])
def test_gradients_are_the_slopes_of_small_steps(kind):
    estimand, means, step = estimand_of(kind), METHODS.ravel(), 1e-6
    steps = means + step * np.eye(6)
    numeric = (estimand.value(steps) - estimand.value(means)) / step
    np.testing.assert_allclose(estimand.gradient(means).T, numeric, rtol=1e-4, atol=1e-5)


def test_a_missing_task_leaves_an_average_undefined_unless_it_is_partial():
    means = np.array([0.8, 0.4, 0.6, 0.5, np.nan, 0.2])
    assert np.isnan(estimand_of("difference").value(means)[[1, 3]]).all()
    # of the two tasks with both scores: (0.3 + 0.4) / 2
    partial = estimand_of("difference", partial=True).value(means)
    np.testing.assert_allclose(partial, [0.3, np.nan, 0.4, 0.35])


def test_a_reference_of_0_has_no_decrease():
    means = np.array([0.8, 0.4, 0.6, 0.5, 0, 0.2])
    assert np.isnan(estimand_of("percent_decrease").value(means)).tolist() == [False, True, False, False]


def test_cells_sum_scores_by_unit_and_group():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"unit": rng.integers(0, 5, 60), "group": rng.integers(0, 3, 60), "score": rng.random(60)}
    )
    table.loc[::7, "score"] = np.nan
    cells = sum_cells(table["score"].to_numpy(), table["unit"].to_numpy(), 5, table["group"].to_numpy(), 3)
    pivot = {"index": "unit", "columns": "group", "values": "score", "fill_value": 0}
    np.testing.assert_allclose(cells.sums, table.pivot_table(aggfunc="sum", **pivot))
    np.testing.assert_array_equal(cells.counts, table.pivot_table(aggfunc="count", **pivot))
    missing = table[table["score"].isna()].groupby("group").size()
    np.testing.assert_array_equal(cells.n_missing, missing.reindex(range(3), fill_value=0))
    np.testing.assert_allclose(cells.means(), table.groupby("group")["score"].mean())
    assert cells.is_graded.all()


def test_weighted_cells_sum_weights_and_their_squares():
    scores, units = np.array([0.0, 1, 1]), np.array([0, 0, 1])
    cells = sum_cells(scores, units, 2, np.zeros(3, dtype=int), 1, weights=np.array([2.0, 3, 4]))
    assert cells.sums.tolist() == [[3], [4]]
    assert cells.counts.tolist() == [[5], [4]]
    assert cells.squares.tolist() == [[13], [16]]
    assert cells.n.tolist() == [3]
    assert not cells.is_graded.any()


def two_cells():
    """Two groups: units 0 and 1 with two scores of 0.5 each, unit 1 with one of 1."""
    return Cells(
        sums=np.array([[1.0, 0], [1, 1]]),
        counts=np.array([[2.0, 0], [2, 1]]),
        n_missing=np.array([3, 4]),
        sample=np.arange(2),
    )


def test_pooled_cells_follow_and_count_all_missing_scores():
    pooled = two_cells().with_pooled(np.array([[1], [1]]), is_used=np.array([True, False]))
    assert pooled.sums.tolist() == [[1, 0, 1], [1, 1, 1]]
    assert pooled.counts.tolist() == [[2, 0, 2], [2, 1, 2]]
    assert pooled.n_missing.tolist() == [3, 4, 7]


def test_units_that_count_alike_have_their_mean_as_a_score():
    cells = two_cells().with_unit_means()
    assert cells.sums.tolist() == [[0.5, 0], [0.5, 1]]
    assert cells.counts.tolist() == [[1, 0], [1, 1]]
    # scores are still counted as such
    assert cells.n.tolist() == [4, 1]


def test_a_sample_has_the_units_of_its_smallest_cell():
    paired = two_cells().followed_by(two_cells().select(np.array([1, 0])))
    assert paired.count_sample_units().tolist() == [1, 1, 1, 1]
    assert two_cells().count_sample_units().tolist() == [2, 1]
    assert smallest_n_in_sample(np.array([[5.0, 2, 4]]), np.array([0, 0, 1])).tolist() == [[2, 2, 4]]


def test_a_ratio_of_nothing_is_undefined_without_a_warning():
    np.testing.assert_array_equal(ratio(np.array([0.0, 3]), np.array([0, 2])), [np.nan, 1.5])


def test_more_sums_than_memory_are_an_error(monkeypatch):
    monkeypatch.setattr(estimands, "_MAX_SUMS", 5)
    with raises(ValueRangeError, match="3 groups of 2 units"):
        sum_cells(np.zeros(1), np.zeros(1, dtype=int), 2, np.zeros(1, dtype=int), 3)


@pytest.mark.parametrize(
    ("metric", "score", "is_outside"),
    [("iou", 0.5, False), ("nss", 0.5, True), ("rating", 0.5, False), ("rating", 1.5, True)],
)
def test_scores_lie_outside_0_to_1_by_their_metric_or_by_themselves(metric, score, is_outside):
    scores = pd.DataFrame({"case": ["a", "b"], "method": "cam", "metric": metric, "score": [0.5, score]})
    codes = ColumnCodes(scores)
    groups, keys = index_groups(codes, ["metric"])
    rows = GroupedRows(codes, ["metric"], groups, keys, resolve_unit(codes, None))
    assert mean_target(rows).cells.outside_unit_range.tolist() == [is_outside]
