"""What nobody said to take together is told in one place, with the call that takes it apart."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import raises, warns, warns_too

import salstats as ss
from salstats.errors import ColumnError, Setting
from salstats.frames import ColumnCodes
from salstats.stats.engine.cautions import POOLED_TASKS
from salstats.stats.engine.grouping import (
    append_key_rows,
    average_over,
    check_one_metric,
    checked_task_column,
    code_scores,
    display_order,
    group_rows_for_means,
    is_average,
    is_summary_row,
    joined_group_labels,
    metric_of_each_key,
    pool_over,
    row_groups,
    warn_pooled_by_default,
)
from salstats.stats.engine.resampling_units import resolve_unit

POOLED = "scores of 2 values of 'task' are taken together"
#: What correlates or regresses over all tasks, unless it is told not to.
PAIRS = {
    "spearman": {},
    "pearson": {"test": "pearson"},
    "kendall": {"test": "kendall"},
    "rm": {"test": "rm", "unit": "patient"},
    "percbend": {"test": "percbend"},
    "bicor": {"test": "bicor"},
    "partial": {"test": "pearson", "covariates": "size"},
}
MODELS = {
    "classical": (ss.regress, "score ~ prob", {}),
    "gee": (ss.regress, "score ~ prob", {"correlation": "exchangeable", "unit": "patient"}),
    "mixed": (ss.regress, "score ~ prob + (1|patient)", {}),
    "binomial": (ss.fit, "hit ~ prob", {"family": "binomial"}),
    "quantile": (ss.quantile_regress, "score ~ prob", {}),
    "line": (ss.fit_line, "score ~ prob", {}),
    "joint": (ss.joint_test, "score ~ prob", {}),
    "statistics": (ss.fit_statistics, "score ~ prob", {}),
}


@pytest.fixture(scope="module")
def scores():
    """Two tasks that differ in score and probability, and within which both have nothing in common."""
    rng = np.random.default_rng(5)
    parts = []
    for task, level in (("Edema", 0.2), ("Nodule", 0.6)):
        part = pd.DataFrame({"case": [f"c{i:02}" for i in range(40)], "task": task, "method": "gradcam"})
        part["score"] = level + 0.1 * rng.uniform(size=40)
        part["prob"] = level + 0.1 * rng.uniform(size=40)
        parts.append(part)
    frame = pd.concat(parts, ignore_index=True)
    frame["metric"], frame["patient"] = "iou", "p" + frame["case"].str[1:].astype(int).floordiv(2).astype(str)
    frame["size"] = rng.uniform(size=80)
    frame["hit"] = (rng.uniform(size=80) < 0.2 + frame["score"]).astype(int)
    return frame


@pytest.mark.parametrize("options", PAIRS.values(), ids=PAIRS)
def test_a_correlation_over_tasks_is_told_with_calls_that_take_them_apart(scores, options):
    with warns(option="by", column="task", hint=Setting("by", ["method", "task"])) as caught:
        pooled = ss.correlate(scores, "score", "prob", **options)
    assert len(caught) == 1
    assert "stratified='task'" in str(caught[0].message)
    meant = ss.correlate(scores, "score", "prob", by="method", **options)
    assert pooled.pop("caution").eq(POOLED_TASKS.name).all()
    pd.testing.assert_frame_equal(pooled, meant)
    within = ss.correlate(scores, "score", "prob", stratified="task", **options)
    assert pooled["estimate"][0] > 0.4 > within["estimate"][0]
    ss.correlate(scores, "score", "prob", by=["method", "task"], **options)


def test_resampled_correlations_have_the_rule_of_the_others(scores):
    draws = np.random.default_rng(1).integers(0, 20, (50, 20))
    with warns(option="by", column="task", hint=Setting("by", ["method", "task"])):
        ss.correlate_clustered(scores, "score", "prob", draws=draws)
    ss.correlate_clustered(scores, "score", "prob", by="method", draws=draws)
    ss.correlate_clustered(scores, "score", "prob", stratified="task", draws=draws)


def test_units_that_hold_one_task_each_are_correlated_within(scores):
    twice = pd.concat([scores, scores.assign(seed=1, prob=scores["prob"] ** 2)], ignore_index=True)
    ss.correlate(twice.fillna({"seed": 0}), "score", "prob", test="rm", unit=["patient", "task"])


@pytest.mark.filterwarnings("ignore:a singular fit")
@pytest.mark.parametrize(("function", "formula", "options"), MODELS.values(), ids=MODELS)
def test_a_model_over_tasks_is_told_unless_it_has_a_term_of_them(scores, function, formula, options):
    with warns_too(option="by", column="task") as caught:
        function(scores, formula, **options)
    messages = [w.message.message for w in caught if w.message.column == "task"]
    assert len(messages) == 1
    assert Setting("by", ["method", "task"]) in messages[0].settings()
    assert "add + task " in str(messages[0])
    function(scores, formula, by="method", **options)
    function(scores, formula, by=["method", "task"], **options)
    if function is not ss.fit_line:
        function(scores, f"{formula} + task", **options)


@pytest.mark.parametrize("random", ["(1|task) + (1|patient)", "(1|patient:task)"])
@pytest.mark.filterwarnings("ignore:a singular fit", "ignore:rows of one patient that share no random effect")
def test_random_effects_of_tasks_hold_them_apart(scores, random):
    ss.regress(scores, f"score ~ prob + {random}")


def test_several_formulas_are_told_once(scores):
    formulas = ["score ~ prob", "score ~ size", "score ~ prob + task"]
    with warns(option="by", column="task") as caught:
        ss.regress(scores, formulas)
    assert len(caught) == 1
    assert [part for part in caught[0].message.message.parts if part in formulas] == formulas[:2]


def test_nothing_is_told_where_groups_hold_one_task_or_tasks_are_the_rows(scores):
    by_task = scores["task"].map({"Edema": "gradcam", "Nodule": "lime"})
    one_each = scores.assign(method=by_task)
    # methods of different tasks have different cases, which is another warning
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "methods (that )?have scores of different cases")
        ss.correlate(one_each, "score", "prob")
        ss.regress(one_each, "score ~ prob")
    # of the other task no row has both
    ss.correlate(scores.assign(prob=scores["prob"].where(scores["task"] == "Edema")), "score", "prob")
    tasks = pd.DataFrame({"task": list("abcdefgh"), "rate": np.arange(8) % 3, "area": np.arange(8) % 5})
    ss.regress(tasks, "rate ~ area", errors="hc3")
    ss.correlate(tasks, "rate", "area", interval="fisher")


def test_an_area_under_the_curve_is_of_one_task_unless_by_says_otherwise(scores):
    assert ss.auroc(scores, "prob", "hit")["task"].tolist() == ["Edema", "Nodule"]
    assert len(ss.auroc(scores, "prob", "hit", by=())) == 1


def test_mean_curves_of_several_tasks_are_told(scores):
    curves = pd.concat([scores.assign(fraction=f, metric="insertion") for f in (0.0, 1.0)], ignore_index=True)
    with warns(option="by", column="task", hint=Setting("by", ["metric", "method", "task"])):
        ss.mean_curves(curves, interval="t")
    ss.mean_curves(curves, by=["method"], interval="t")


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_what_is_pooled_stands_in_the_frame(scores):
    for estimate in (ss.correlate(scores, "score", "prob"), ss.regress(scores, "score ~ prob")):
        assert estimate["caution"].str.contains(POOLED_TASKS.name).all()
    for estimate in (ss.correlate(scores, "score", "prob", by=()), ss.regress(scores, "score ~ prob + task")):
        assert not estimate.get("caution", pd.Series(dtype="str")).str.contains(POOLED_TASKS.name).any()


TABLE = pd.DataFrame({"task": ["b", "a", "b", "a", "c"], "site": ["x", "x", "y", "y", "x"], "method": "cam"})


def test_rows_of_groups_are_those_with_their_keys():
    groups = row_groups(ColumnCodes(TABLE), ["task"])
    assert groups.keys["task"].tolist() == ["a", "b", "c"]
    assert [rows.tolist() for rows in groups.rows] == [[1, 3], [0, 2], [4]]
    whole = row_groups(ColumnCodes(TABLE), [])
    assert [rows.tolist() for rows in whole.rows] == [[0, 1, 2, 3, 4]]


def test_rows_pooled_over_tasks_follow_the_tasks_of_their_site():
    groups = row_groups(ColumnCodes(TABLE), ["site", "task"], overall=True)
    assert groups.keys.to_numpy().tolist() == [
        ["x", "a"], ["x", "b"], ["x", "c"], ["x", "Overall"], ["y", "a"], ["y", "b"], ["y", "Overall"]
    ]  # fmt: skip
    assert [rows.tolist() for rows in groups.rows] == [[1], [0], [4], [0, 1, 4], [3], [2], [2, 3]]
    with raises(ColumnError, option="overall", value=True, column="task"):
        checked_task_column(["site"])


def test_groups_have_the_metric_of_their_keys_or_the_only_one():
    scores = pd.DataFrame({"metric": ["iou", "iou"], "score": [0.1, 0.2]})
    assert metric_of_each_key(pd.DataFrame({"task": ["a", "b", "c"]}), scores).tolist() == ["iou"] * 3
    assert metric_of_each_key(pd.DataFrame({"metric": ["hit", "iou"]}), scores).tolist() == ["hit", "iou"]


def test_scores_of_several_metrics_are_averaged_together_nowhere():
    scores = pd.DataFrame({"metric": ["iou", "hit", "iou"], "task": "a"})
    with raises(ColumnError, column="metric"):
        check_one_metric(ColumnCodes(scores), ["task"])
    check_one_metric(ColumnCodes(scores), ["task", "metric"])
    check_one_metric(ColumnCodes(scores.iloc[[0, 2]]), ["task"])


KEYS = pd.DataFrame({"task": list("aabbc"), "method": ["cam", "human", "cam", "human", "cam"]})


def test_pooled_groups_hold_those_that_differ_in_one_column():
    pooled = pool_over(KEYS, "task", "Overall")
    assert pooled.keys.to_numpy().tolist() == [["Overall", "cam"], ["Overall", "human"]]
    assert pooled.membership.T.tolist() == [[1, 0, 1, 0, 1], [0, 1, 0, 1, 0]]
    with raises(ColumnError, column="task"):
        pool_over(KEYS.replace({"task": {"b": "Overall"}}), "task", "Overall")


def test_averages_stand_behind_the_groups_they_are_made_of():
    keys = pd.DataFrame({"task": ["Average", "b", "a", "Overall"], "metric": ["iou", "iou", "iou", "hit"]})
    assert display_order(keys).tolist() == [2, 1, 3, 0]
    assert display_order(keys.iloc[:0]).tolist() == []
    assert is_average(keys, "task").tolist() == [True, False, False, False]
    assert is_average(keys, None).tolist() == [False] * 4
    assert is_summary_row(keys).tolist() == [True, False, False, True]
    # a method may be called so
    assert not is_summary_row(pd.DataFrame({"method": ["Average"], "reference": ["Overall"]})).any()


def test_categories_keep_their_order_and_get_the_average_behind_them():
    keys = pd.DataFrame({"task": pd.Categorical(["late", "early"], ["late", "early"], ordered=True)})
    longer = append_key_rows(keys, pd.DataFrame({"task": ["Average"]}))
    assert longer["task"].tolist() == ["late", "early", "Average"]
    assert longer["task"].cat.categories.tolist() == ["late", "early", "Average"]
    assert keys["task"].cat.categories.tolist() == ["late", "early"]


def test_averages_weight_the_groups_that_are_defined():
    defined = np.array([True, True, True, False, True])
    with warns(option="average", value="task"):
        plain = average_over(KEYS, "task", defined)
    assert plain.keys.to_numpy().tolist() == [["Average", "cam"], ["Average", "human"]]
    assert plain.members.T.tolist() == [[1, 0, 1, 0, 1], [0, 1, 0, 1, 0]]
    assert plain.group_weights.T.tolist() == [[1, 0, 1, 0, 1], [0, 1, 0, 0, 0]]
    # without task c both methods have the same
    weighted = average_over(KEYS, "task", np.ones(5, dtype=bool), {"a": 3.0, "b": 1.0, "c": 0.0})
    assert weighted.members.T.tolist() == [[1, 0, 1, 0, 0], [0, 1, 0, 1, 0]]
    assert weighted.group_weights.T.tolist() == [[3, 0, 1, 0, 0], [0, 3, 0, 1, 0]]
    assert average_over(KEYS, None, defined).group_weights.shape == (5, 0)


def test_averages_of_one_metric_only_are_compared_in_what_they_are_over():
    keys = pd.DataFrame({"task": list("aab"), "metric": ["iou", "hit", "iou"]})
    average_over(keys, "task", np.ones(3, dtype=bool))
    with warns(option="average", value="task", rows=(1,), match="b$"):
        average_over(
            keys.iloc[[0, 1, 2]].assign(metric="iou", site=list("xyx")), "task", np.ones(3, dtype=bool)
        )


@pytest.mark.parametrize("average", ["method", "metric"])
def test_methods_and_metrics_are_not_averaged(average):
    with raises(ColumnError, option="average", value=average, column=average):
        average_over(KEYS.assign(metric="iou"), average, np.ones(5, dtype=bool))
    with raises(ColumnError, option="average", value="site", choices=("task", "method")):
        average_over(KEYS, "site", np.ones(5, dtype=bool))


def group_means(frame, by=("method",), **options):
    """Group rows for means, and return the warnings."""
    codes = ColumnCodes(frame)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        group_rows_for_means(codes, list(by), resolve_unit(codes, "case"), **options)
    return [str(warning.message) for warning in caught]


def test_cases_with_different_numbers_of_rows_are_told():
    frame = pd.DataFrame({"case": list("aabc"), "reader": list("1212"), "method": "cam", "metric": "iou"})
    frame["score"] = [0.1, 0.2, 0.3, 0.4]
    (text,) = group_means(frame)
    assert "1 to 2 rows" in text
    # readers apart, as many rows for each case, cases that count alike, and undefined scores
    assert group_means(frame, by=("method", "reader")) == []
    assert group_means(frame.iloc[1:]) == []
    assert group_means(frame, units_are_weighted_later=True) == []
    assert group_means(frame.assign(score=[np.nan, 0.2, 0.3, 0.4])) == []
    assert group_means(frame.assign(score=np.nan)) == []
    assert group_means(frame.drop(columns="reader").iloc[1:]) == []


def test_methods_that_are_taken_together_are_told():
    frame = pd.DataFrame({"case": list("abab"), "method": ["cam", "cam", "human", "human"], "metric": "iou"})
    frame["score"] = 0.5
    (text,) = group_means(frame, by=("metric",))
    assert "2 methods" in text
    assert group_means(frame) == []
    assert group_means(frame.iloc[:2], by=("metric",)) == []


def test_lists_of_groups_end_with_how_many_more_there_are():
    assert str(joined_group_labels(["a", "b", "c", "d"])) == "a; b; c; d"
    assert str(joined_group_labels(["a", "b", "c", "d", "e", "f"])) == "a; b; c; d and 2 more"


def test_rows_of_several_tasks_are_pooled_where_there_are_no_groups():
    rows = pd.DataFrame({"task": ["Edema", "Edema", "Mass", "Mass"], "score": 0.5})
    with warns(option="by", column="task", hint=Setting("by", ["task"])):
        assert warn_pooled_by_default(rows, None, [])
    # asked for, kept apart, or the observations themselves
    assert not warn_pooled_by_default(rows, (), [])
    assert not warn_pooled_by_default(rows, None, [], ["task"])
    assert not warn_pooled_by_default(rows.iloc[[0, 2]], None, [])


def test_scores_are_coded_with_the_default_groups_that_they_have():
    scores = pd.DataFrame({"case": ["a", "b"], "method": "cam", "metric": "iou", "score": [0.1, 0.2]})
    default = ("metric", "method", "task")
    coded, groups = code_scores(scores, None, default)
    assert groups == ["metric", "method"]
    pd.testing.assert_frame_equal(coded.frame, scores)
    assert code_scores(scores, None, default, excluded_column="method").by == ["metric"]
    assert code_scores(scores, "method", default).by == ["method"]
    two_tasks = pd.concat([scores.assign(task=task) for task in ("Edema", "Mass")], ignore_index=True)
    with warns(option="by", column="task"):
        code_scores(two_tasks, None, ("metric",))
