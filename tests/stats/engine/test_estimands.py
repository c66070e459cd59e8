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
    quiet_ratio,
    smallest_n_in_sample_of_cell,
    sum_cells,
)
from salstats.stats.engine.grouping import GroupedRows, index_groups
from salstats.stats.engine.resampling_units import resolve_unit
from salstats.stats.engine.weighting import Weights

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
    method, reference = estimand.method_and_reference_levels_by_estimate(METHODS.ravel())
    np.testing.assert_allclose([method[3], reference[3]], [0.6, 0.4])


@pytest.mark.parametrize("kind", ["mean", "difference", "percent_decrease"])
def test_gradients_are_the_slopes_of_small_steps(kind):
    estimand, means, step = estimand_of(kind), METHODS.ravel(), 1e-6
    steps = means + step * np.eye(6)
    numeric = (estimand.value(steps) - estimand.value(means)) / step
    np.testing.assert_allclose(
        estimand.derivatives_by_estimate_and_cell_mean(means).T, numeric, rtol=1e-4, atol=1e-5
    )


def test_a_missing_task_leaves_an_average_undefined_unless_it_is_partial():
    means = np.array([0.8, 0.4, 0.6, 0.5, np.nan, 0.2])
    assert np.isnan(estimand_of("difference").value(means)[[1, 3]]).all()
    # of the two tasks with both scores: (0.3 + 0.4) / 2
    partial = estimand_of("difference", skips_undefined=True).value(means)
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
    assert cells.n_defined_scores.tolist() == [3]
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
    pooled = two_cells().with_pooled(np.array([[1], [1]]), is_used_cell=np.array([True, False]))
    assert pooled.sums.tolist() == [[1, 0, 1], [1, 1, 1]]
    assert pooled.counts.tolist() == [[2, 0, 2], [2, 1, 2]]
    assert pooled.n_missing.tolist() == [3, 4, 7]


def test_units_that_count_alike_have_their_mean_as_a_score():
    cells = two_cells().with_unit_means()
    assert cells.sums.tolist() == [[0.5, 0], [0.5, 1]]
    assert cells.counts.tolist() == [[1, 0], [1, 1]]
    # scores are still counted as such
    assert cells.n_defined_scores.tolist() == [4, 1]


def test_a_sample_has_the_units_of_its_smallest_cell():
    paired = two_cells().followed_by(two_cells().select(np.array([1, 0])))
    assert paired.smallest_n_in_sample_of_cells().tolist() == [1, 1, 1, 1]
    assert two_cells().smallest_n_in_sample_of_cells().tolist() == [2, 1]
    assert smallest_n_in_sample_of_cell(np.array([[5.0, 2, 4]]), np.array([0, 0, 1])).tolist() == [[2, 2, 4]]


def test_a_ratio_of_nothing_is_undefined_without_a_warning():
    np.testing.assert_array_equal(quiet_ratio(np.array([0.0, 3]), np.array([0, 2])), [np.nan, 1.5])


def test_more_sums_than_memory_are_an_error(monkeypatch):
    monkeypatch.setattr(estimands, "_MAX_SUMS", 5)
    with raises(ValueRangeError, option="by", value=3):
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


def decreases_of_tasks():
    """Three tasks of a method and the reference, and the mean of their decreases."""
    identity, zeros = np.eye(3), np.zeros((3, 3))
    weights = np.column_stack([identity, np.ones(3)])
    return Estimand("percent_decrease", np.vstack([identity, zeros]), np.vstack([zeros, identity]), weights)


def test_rounding_is_relative_to_the_numbers_behind_an_estimate():
    np.testing.assert_allclose(
        estimand_of("mean").magnitude_behind_estimates(-METHODS.ravel()), [0.8, 0.4, 0.6, 0.6]
    )
    np.testing.assert_allclose(
        estimand_of("difference").magnitude_behind_estimates(METHODS.ravel()), [0.8, 0.5, 0.6, 0.6]
    )
    # 100 times the ratio, at least 100
    np.testing.assert_allclose(
        estimand_of("percent_decrease").magnitude_behind_estimates(METHODS.ravel()),
        [160, 100, 300, 150],
    )
    of_decreases = decreases_of_tasks().magnitude_behind_estimates(METHODS.ravel())
    np.testing.assert_allclose(of_decreases, [160, 100, 300, 560 / 3])


def test_estimands_know_their_rows_cells_and_scores():
    counts = np.array([[1.0, 2, 0, 1, 1, 1], [1, 0, 0, 1, 1, 1]])
    cells = Cells(counts, counts, np.zeros(6), np.arange(6))
    expected = {"mean": 0, "difference": 1, "percent_decrease": 1}
    for kind, in_reference in expected.items():
        estimand = estimand_of(kind)
        assert estimand.n_rows == 4
        membership = estimand.membership_by_cell_and_estimate()
        assert membership[:, 0].tolist() == [1, 0, 0, in_reference, 0, 0]
        assert membership[:, 3].tolist() == [1, 1, 1, *[in_reference] * 3]
        assert estimand.count_method_scores(cells).tolist() == [2, 2, 0, 4]
        assert estimand.as_difference().kind == "difference"
    of_decreases = decreases_of_tasks()
    assert of_decreases.n_rows == 4
    assert of_decreases.membership_by_cell_and_estimate()[:, 1].tolist() == [0, 1, 0, 0, 1, 0]
    assert of_decreases.membership_by_cell_and_estimate()[:, 3].all()
    assert of_decreases.count_method_scores(cells).tolist() == [2, 2, 0, 4]


def test_a_task_without_a_decrease_spoils_the_slopes_of_its_own_and_of_the_average_alone():
    estimand, step = decreases_of_tasks(), 1e-6
    means = METHODS.ravel()
    steps = means + step * np.eye(6)
    numeric = (estimand.value(steps) - estimand.value(means)) / step
    np.testing.assert_allclose(
        estimand.derivatives_by_estimate_and_cell_mean(means).T, numeric, rtol=1e-3, atol=1e-4
    )
    no_reference = np.where(np.arange(6) == 4, 0.0, means)
    slopes = estimand.derivatives_by_estimate_and_cell_mean(no_reference)
    assert np.isnan(slopes).any(axis=1).tolist() == [False, True, False, True]


def sums_of(values, units, groups, n_groups, weights=None):
    return sum_cells(np.array(values), np.array(units), 2, np.array(groups), n_groups, weights)


def test_pooled_cells_have_the_scores_of_their_members():
    weights = np.array([2.0, 1.0, 1.0, 3.0])
    cells = sums_of([0.2, 0.4, 1.0, np.nan], [0, 1, 0, 1], [0, 0, 1, 1], 2, weights)
    pooled = cells.with_pooled(np.ones((2, 1), dtype=int))
    np.testing.assert_allclose(pooled.sums, [[0.4, 1.0, 1.4], [0.4, 0.0, 0.4]])
    np.testing.assert_allclose(pooled.counts, [[2, 1, 3], [1, 0, 1]])
    np.testing.assert_allclose(pooled.squares, [[4, 1, 5], [1, 0, 1]])
    assert pooled.n_defined_scores.tolist() == [2, 1, 3]
    assert pooled.n_missing.tolist() == [0, 1, 1]
    # of cells that are not used the missing scores alone
    part = cells.with_pooled(np.ones((2, 1), dtype=int), np.array([True, False]))
    assert (part.n_defined_scores.tolist(), part.n_missing.tolist()) == ([2, 1, 2], [0, 1, 1])


def test_cells_of_two_sides_stand_one_behind_the_other():
    weights = np.array([2.0, 1.0])
    method = sums_of([0.2, 0.4], [0, 1], [0, 0], 1, weights)
    both = method.followed_by(sums_of([1.0, 0.0], [0, 1], [0, 0], 1, weights))
    np.testing.assert_allclose(both.sums, [[0.4, 2.0], [0.4, 0.0]])
    np.testing.assert_allclose(both.squares, [[4, 4], [1, 1]])
    assert both.n_defined_scores.tolist() == [2, 2]
    assert both.is_graded.tolist() == [True, False]
    # weights that one side lacks are unknown for both
    assert method.followed_by(sums_of([1.0, 0.0], [0, 1], [0, 0], 1)).squares is None


def rows_of_tasks():
    frame = pd.DataFrame(
        {"case": list("aabbb"), "task": list("xyxyy"), "reader": list("11112"), "metric": "iou"}
    )
    codes = ColumnCodes(frame.assign(score=[0.2, 1.0, 0.4, 0.5, np.nan]))
    groups, keys = index_groups(codes, ["task"])
    return GroupedRows(codes, ["task"], groups, keys, resolve_unit(codes, "case"))


def test_means_are_averaged_over_tasks_and_pooled_over_them():
    target = mean_target(rows_of_tasks(), average="task", overall=True)
    assert target.keys["task"].tolist() == ["x", "y", "Overall", "Average"]
    values = target.estimand.value(target.cells.means())
    np.testing.assert_allclose(values, [0.3, 0.75, 2.1 / 4, (0.3 + 0.75) / 2])
    assert target.n_missing.tolist() == [0, 1, 1, 1]
    # units that count alike have their means: of case a 0.6, of b 0.45
    alike = mean_target(rows_of_tasks(), overall=True, weights=Weights(equal_unit_weights=True))
    np.testing.assert_allclose(alike.estimand.value(alike.cells.means()), [0.3, 0.75, (0.6 + 0.45) / 2])


def test_selected_cells_keep_all_that_is_known_of_them():
    values = np.array([0.0, 1.0, 0.3, np.nan, 0.6])
    units, groups = np.array([0, 1, 0, 1, 1]), np.array([0, 0, 1, 1, 1])
    cells = sum_cells(values, units, 2, groups, 2, weights=np.array([1.0, 2, 3, 4, 5]))
    positions = np.array([1, 0, 1])
    chosen = cells.select(positions)
    np.testing.assert_array_equal(chosen.means(), cells.means()[positions])
    np.testing.assert_array_equal(chosen.squares, [[9, 1, 9], [25, 4, 25]])
    assert chosen.is_graded.tolist() == [True, False, True]
    assert chosen.n_defined_scores.tolist() == [2, 2, 2]
    assert chosen.n_missing.tolist() == [1, 0, 1]
    # each is a sample of its own
    assert chosen.sample.tolist() == [0, 1, 2]
