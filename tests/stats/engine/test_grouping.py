"""What nobody said to take together is told in one place, with the call that takes it apart."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import warns, warns_too

import salstats as ss
from salstats.stats.engine.cautions import POOLED_TASKS

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
    with warns(option="by", column="task", match="2 values") as caught:
        pooled = ss.correlate(scores, "score", "prob", **options)
    assert len(caught) == 1
    assert "by=['method', 'task']" in str(caught[0].message)
    assert "stratified='task'" in str(caught[0].message)
    meant = ss.correlate(scores, "score", "prob", by="method", **options)
    assert pooled.pop("caution").eq(POOLED_TASKS.name).all()
    pd.testing.assert_frame_equal(pooled, meant)
    within = ss.correlate(scores, "score", "prob", stratified="task", **options)
    assert pooled["estimate"][0] > 0.4 > within["estimate"][0]
    ss.correlate(scores, "score", "prob", by=["method", "task"], **options)


def test_resampled_correlations_have_the_rule_of_the_others(scores):
    draws = np.random.default_rng(1).integers(0, 20, (50, 20))
    with warns(option="by", column="task", match="2 values"):
        ss.correlate_clustered(scores, "score", "prob", draws=draws)
    ss.correlate_clustered(scores, "score", "prob", by="method", draws=draws)
    ss.correlate_clustered(scores, "score", "prob", stratified="task", draws=draws)


def test_units_that_hold_one_task_each_are_correlated_within(scores):
    twice = pd.concat([scores, scores.assign(seed=1, prob=scores["prob"] ** 2)], ignore_index=True)
    ss.correlate(twice.fillna({"seed": 0}), "score", "prob", test="rm", unit=["patient", "task"])


@pytest.mark.filterwarnings("ignore:a singular fit")
@pytest.mark.parametrize(("function", "formula", "options"), MODELS.values(), ids=MODELS)
def test_a_model_over_tasks_is_told_unless_it_has_a_term_of_them(scores, function, formula, options):
    with warns_too(option="by", column="task", match="2 values") as caught:
        function(scores, formula, **options)
    texts = [str(w.message) for w in caught if w.message.column == "task"]
    assert len(texts) == 1
    assert "add + task to the formula" in texts[0]
    function(scores, formula, by="method", **options)
    function(scores, formula, by=["method", "task"], **options)
    if function is not ss.fit_line:
        function(scores, f"{formula} + task", **options)


@pytest.mark.parametrize("random", ["(1|task) + (1|patient)", "(1|patient:task)"])
@pytest.mark.filterwarnings("ignore:a singular fit", "ignore:rows of one patient that share no random effect")
def test_random_effects_of_tasks_hold_them_apart(scores, random):
    ss.regress(scores, f"score ~ prob + {random}")


def test_several_formulas_are_told_once(scores):
    with warns(option="by", column="task", match="2 models: score ~ prob; score ~ size") as caught:
        ss.regress(scores, ["score ~ prob", "score ~ size", "score ~ prob + task"])
    assert len(caught) == 1


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
    with warns(option="by", column="task", match="2 values"):
        ss.mean_curves(curves, interval="t")
    ss.mean_curves(curves, by=["method"], interval="t")


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_what_is_pooled_stands_in_the_frame(scores):
    for estimate in (ss.correlate(scores, "score", "prob"), ss.regress(scores, "score ~ prob")):
        assert estimate["caution"].str.contains(POOLED_TASKS.name).all()
    for estimate in (ss.correlate(scores, "score", "prob", by=()), ss.regress(scores, "score ~ prob + task")):
        assert not estimate.get("caution", pd.Series(dtype="str")).str.contains(POOLED_TASKS.name).any()
