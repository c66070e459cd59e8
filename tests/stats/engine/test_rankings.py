"""Rankings of methods: the values of every draw, directions, and cases that all methods have."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns

from salstats.errors import ColumnError, Setting, ValueRangeError
from salstats.stats.engine.inference_options import checked_options
from salstats.stats.engine.rankings import (
    RankingOptions,
    check_directions_name_metrics,
    direction_sign,
    ranking_group_columns,
    values_to_rank_methods_by,
)


def frame(values, **columns):
    """A scores frame of an array (case, method)."""
    n_cases, n_methods = np.shape(values)
    index = pd.MultiIndex.from_product([range(n_cases), [f"m{j}" for j in range(n_methods)]])
    rows = index.set_names(["case", "method"]).to_frame(index=False)
    return rows.assign(metric="iou", score=np.ravel(values), **columns)


def test_medians_of_draws_are_numpys():
    rng = np.random.default_rng(9)
    values, drawn = rng.random((21, 3)), rng.integers(0, 21, (50, 21))
    found = values_to_rank_methods_by(
        frame(values), RankingOptions(None, None, "complete", None, "median", "average"),
        checked_options("rank", "percentile", 0.95, 10, 0, drawn),
    )  # fmt: skip
    np.testing.assert_array_equal(found.drawn_values, [np.median(values[d], axis=0) for d in drawn])


def ranked(scores, pairs="complete", scheme="mean", **options):
    ranking = RankingOptions(None, None, pairs, None, scheme, "average", **options)
    return values_to_rank_methods_by(
        scores, ranking, checked_options("rank", "percentile", 0.95, 40, 0, None)
    )


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_complete_rankings_leave_out_cases_that_a_method_lacks():
    values = np.random.default_rng(1).random((30, 3))
    values[:10, 1] = np.nan
    # no method has a score of the last case
    values[-1] = np.nan
    complete = ranked(frame(values))
    np.testing.assert_allclose(complete.values, values[10:-1].mean(axis=0))
    assert complete.n_units.tolist() == [19, 19, 19]
    available = ranked(frame(values), pairs="available")
    np.testing.assert_allclose(available.values, np.nanmean(values, axis=0))
    assert available.n_units.tolist() == [29, 19, 29]


def test_ranks_from_all_units_and_from_draws_begin_with_the_best():
    values = np.array([0.2, 0.9, 0.5]) + 0.01 * np.random.default_rng(2).random((25, 3))
    rankings = ranked(frame(values))
    ranks, drawn_ranks = rankings.ranks_and_replicate_ranks(rankings.rows_of(0))
    assert ranks.tolist() == [3, 1, 2]
    assert (drawn_ranks == ranks).all()
    # a distance is better where it is small
    distances = ranked(frame(values).assign(metric="assd"))
    assert distances.ranks_and_replicate_ranks(distances.rows_of(0))[0].tolist() == [1, 3, 2]
    assert set(distances.metric_signs) == {-1}


def test_the_last_group_stands_behind_the_others():
    scores = frame(np.random.default_rng(3).random((25, 2)), task="Edema", dataset="d")
    rankings = ranked(scores, last_group="task")
    assert rankings.groups == ["metric", "dataset", "task"]
    assert list(rankings.keys.columns) == ["metric", "dataset", "task", "method"]


def test_a_column_that_is_empty_is_no_default_and_one_that_is_partly_so_is_an_error():
    scores = frame(np.ones((4, 2)), model=None)
    assert ranking_group_columns(scores, None) == ["metric"]
    partly = scores.assign(model=["net", None] * 4)
    with raises(ColumnError, column="model", rows=(1, 3, 5, 7)):
        ranking_group_columns(partly, None)


def test_directions_are_the_users_or_the_metrics_own():
    assert direction_sign("iou", None) == 1
    assert direction_sign("hd95", None) == -1
    assert direction_sign("hd95", {"hd95": "larger"}) == 1
    with raises(ValueRangeError, option="directions", column="metric", value="rating"):
        direction_sign("rating", None)
    with raises(
        ValueRangeError, option="directions['rating']", value="upwards", choices=("larger", "smaller")
    ):
        direction_sign("rating", {"rating": "upwards"})
    check_directions_name_metrics({"iou": "larger"}, ["iou", "dice"])
    check_directions_name_metrics(None, ["iou"])
    with raises(ValueRangeError, option="directions", value="iuo", choices=("dice", "iou")):
        check_directions_name_metrics({"iou": "larger", "iuo": "larger"}, ["iou", "dice"])


def test_a_method_may_not_be_a_grouping_column():
    scores = frame(np.ones((4, 2)))
    options = checked_options("rank", "percentile", 0.95, 40, 0, None)
    with raises(ColumnError, option="by", column="method"):
        values_to_rank_methods_by(
            scores, RankingOptions("method", None, "complete", None, "mean", "average"), options
        )


def test_ranks_of_cases_are_averaged_by_the_schemes_of_ranks():
    values = np.array([[0.2, 0.9, 0.5], [0.4, 0.3, 0.1], [0.7, 0.7, 0.1], [0.3, 0.8, 0.9]] * 6)
    ranks = np.array([[3, 1, 2], [1, 2, 3], [1.5, 1.5, 3], [3, 2, 1]])
    for scheme, average in (("mean-rank", np.mean), ("median-rank", np.median)):
        rankings = ranked(frame(values), scheme=scheme)
        np.testing.assert_allclose(rankings.values, average(ranks, axis=0))
    with raises(ValueRangeError, option="scheme", value="mean-rank"):
        ranked(frame(values), pairs="available", scheme="mean-rank")


def test_a_method_without_scores_and_methods_without_a_shared_case_have_no_ranks():
    values = np.random.default_rng(1).random((30, 3))
    lost = values.copy()
    lost[:, 1] = np.nan
    with raises(ColumnError, column="score", value=["m1"], hint="leave it out"):
        ranked(frame(lost), pairs="available")
    apart = values.copy()
    apart[:15, 0] = np.nan
    apart[15:, 1] = np.nan
    with raises(
        ColumnError, column="score", value=None, rows=tuple(range(90)), hint=Setting("pairs", "available")
    ):
        ranked(frame(apart))


def test_rankings_of_few_units_are_told():
    values = np.random.default_rng(1).random((4, 3))
    with warns(column="case", value=4, rows=(0,)):
        ranked(frame(values))


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_seeds_meet_seeds_and_a_method_without_seeds_meets_all():
    rows = []
    for seed in (1, 2):
        part = frame(np.random.default_rng(seed).random((20, 2)), seed=seed)
        rows.append(part)
    seeded = pd.concat(rows, ignore_index=True)
    lost = seeded["seed"].eq(2) & seeded["method"].eq("m1") & seeded["case"].lt(10)
    found = ranked(seeded[~lost])
    kept = seeded[seeded["seed"].eq(1) | seeded["case"].ge(10)]
    np.testing.assert_allclose(found.values, kept.groupby("method")["score"].mean())
    # a human has one score for every seed
    human = frame(np.random.default_rng(5).random((20, 1))).assign(method="human")
    both = ranked(pd.concat([seeded, human.assign(seed=np.nan)], ignore_index=True))
    expected = [*seeded.groupby("method")["score"].mean(), human["score"].mean()]
    by_method = dict(zip(both.keys["method"], both.values, strict=True))
    assert [by_method[method] for method in ("m0", "m1", "human")] == pytest.approx(expected)
