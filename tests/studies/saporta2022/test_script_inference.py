"""The CheXlocalize scripts' own inference, to every digit they wrote."""

import numpy as np
import pandas as pd
import pytest
from saporta_frames import METHOD, read_oracle
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError
from salstats.stats.engine.result_warnings import RepeatedUnitsWarning
from salstats.studies.saporta2022.script_inference import (
    bootstrap_replicates_as_published,
    coefficient_texts_as_published,
    decrease_of_replicates,
    percent_decrease_as_published,
    published_draws,
    published_fisher_limits,
    spearman_as_published,
    summarize_as_published,
)

FILES = {METHOD: "", "human": "_humanbenchmark"}
STEMS = {"iou": "iou", "hit": "hitmiss"}


@pytest.fixture(scope="module")
def oracle(expected):
    return read_oracle(expected)


def test_means_are_those_of_the_replicates(expected, oracle):
    means = summarize_as_published(oracle.scores).set_index(["metric", "method", "task"])["estimate"]
    drawn = pd.read_csv(expected / "eval_tp" / "iou_bootstrap_results_per_cxr.csv").mean()
    # both are means of the same 1000 numbers, summed in another order
    np.testing.assert_allclose(means.loc[("iou", METHOD)][drawn.index], drawn, rtol=1e-12)


def test_limits_are_order_statistics_of_each_methods_own_replicates():
    rows = [(f"c{i}", method, i / 9) for method in ("b", "a") for i in range(10 if method == "a" else 6)]
    scores = pd.DataFrame(rows, columns=["case", "method", "score"]).assign(metric="iou", task="x")
    found = summarize_as_published(scores, n_replicates=40)
    assert found["method"].tolist() == ["a", "b"]
    replicates = bootstrap_replicates_as_published(scores, n_replicates=40)
    assert replicates["method"].tolist() == ["a"] * 40 + ["b"] * 40
    for row in found.itertuples():
        own = scores.loc[scores["method"] == row.method, "score"].to_numpy()
        # NumPy's old stream starts anew with each method
        random = np.random.RandomState(0)
        means = [own[random.randint(0, len(own), len(own))].mean() for _ in range(40)]
        drawn = replicates.loc[replicates["method"] == row.method, "estimate"]
        np.testing.assert_allclose(drawn, means, rtol=1e-12)
        assert row.estimate == pytest.approx(np.mean(means), rel=1e-12)
        assert {row.conf_low, row.conf_high} <= set(drawn)
        assert row.conf_low < row.estimate < row.conf_high


def test_of_a_task_limits_are_rounded_as_proportions_and_of_the_average_means_are_rounded():
    human = pd.DataFrame({"x": np.full(40, 0.6), "y": np.full(40, 0.9)})
    method = pd.DataFrame({"x": np.linspace(0.2, 0.5, 40), "y": np.linspace(0.4, 0.7, 40)})
    task = decrease_of_replicates(human, method, "x")
    assert (task.reference_mean, task.method_mean) == (pytest.approx(0.6), pytest.approx(0.35))
    assert task.estimate == round(100 * 0.25 / 0.6, 3)
    lost = (0.6 - method["x"]) / 0.6
    for limit in (task.conf_low, task.conf_high):
        assert limit == pytest.approx(100 * round(limit / 100, 3), abs=1e-12)
        assert np.isclose(lost, limit / 100, rtol=0, atol=5e-4).any()
    assert task.conf_low < task.estimate < task.conf_high
    average = decrease_of_replicates(human, method, "Average")
    assert (average.reference_mean, average.method_mean) == (0.75, 0.45)
    assert average.estimate == 40
    lost = 100 * (0.75 - method.mean(axis=1)) / 0.75
    for limit in (average.conf_low, average.conf_high):
        assert np.isclose(lost, limit, rtol=0, atol=5e-4).any()
    assert average.conf_low < 40 < average.conf_high


def test_replicates_are_those_of_the_script(expected, oracle):
    rows = oracle.scores[oracle.scores["metric"] == "iou"]
    replicates = bootstrap_replicates_as_published(rows)
    drawn = pd.read_csv(expected / "eval_tp" / "iou_bootstrap_results_per_cxr.csv")
    own = replicates[replicates["method"] == METHOD]
    own = own.pivot(index="replicate", columns="task", values="estimate")
    np.testing.assert_allclose(own[drawn.columns], drawn, rtol=1e-12)
    assert set(replicates["method"]) == set(FILES)


@pytest.mark.parametrize(("metric", "name"), [("iou", "miou"), ("hit", "hitrate")])
def test_decreases_are_those_that_the_script_printed(expected, oracle, metric, name):
    want = pd.read_csv(expected / "eval_tp" / f"{name}_pct_decrease.csv", index_col=0)
    rows = oracle.scores[oracle.scores["metric"] == metric]
    got = percent_decrease_as_published(rows).set_index("task").loc[want.index]
    columns = {
        "reference_mean": "hb", "method_mean": "pred", "estimate": "pct_diff", "conf_low": "pct_diff_lower",
        "conf_high": "pct_diff_upper",
    }  # fmt: skip
    for ours, theirs in columns.items():
        np.testing.assert_allclose(got[ours], want[theirs], rtol=0, atol=1e-9)
    assert "bias" not in got


def test_printed_coefficients_have_a_star_for_each_level_that_p_is_below():
    frame = pd.DataFrame(
        {"estimate": [0.1236, 0.5], "conf_low": [-0.0004, 0.4], "conf_high": 1.0, "p_value": [0.0009, 0.05]}
    )
    assert coefficient_texts_as_published(frame) == ["0.124, (-0.0, 1.0)***", "0.5, (0.4, 1.0)"]
    assert [text.count("*") for text in coefficient_texts_as_published(frame, n_tests=5)] == [2, 0]


def test_replicates_of_other_cases_cannot_be_paired(drawn_tables):
    scores = drawn_tables.scores
    fewer = scores[(scores["method"] != "human") | (scores["case"] != scores["case"].iloc[0])]
    with raises(SalstatsError, column="case", value={METHOD: 60, "human": 59}):
        percent_decrease_as_published(fewer)


@pytest.mark.parametrize("outcome", ["iou", "hit"])
def test_correlations_of_confidence_are_those_of_the_script_unrounded(expected, oracle, outcome):
    want = pd.read_csv(expected / "regression_full_precision.csv")
    name = STEMS[outcome]
    want = want[(want["script"] == "model_assurance") & (want["y"] == name)].set_index("task")
    frame = oracle.full if outcome == "iou" else oracle.scores
    rows = frame[(frame["method"] == METHOD) & (frame["metric"] == outcome)]
    with pytest.warns(RepeatedUnitsWarning):
        ss.correlate(rows, outcome, "prob", by="task", overall=True, interval="fisher")
    # the scripts treat rows as independent, so that no such warning is shown
    got = spearman_as_published(rows, outcome, "prob", by="task", overall=True).set_index("task")
    got = got.loc[want.index]
    columns = {
        "estimate": "corr", "conf_low": "corr_lower", "conf_high": "corr_upper", "p_value": "corr_pval",
        "n": "n",
    }  # fmt: skip
    for ours, theirs in columns.items():
        # SciPy versions differ in the last digits of p-values near 1e-56
        np.testing.assert_allclose(got[ours], want[theirs], rtol=1e-9)


def test_the_printed_overall_correlation_has_the_printed_limits(shared):
    printed = ss.datasets.load_published("saporta2022_text").set_index("quantity")
    row = printed.loc["overall_spearman_iou_prob"]
    n = ss.datasets.load_published("saporta2022_table3").set_index("task").loc["Overall", "n"]
    low, high = published_fisher_limits(np.array([row["value"]]), np.array([n]))
    assert (
        (low.round(3).item(), high.round(3).item()) == (row["conf_low"], row["conf_high"]) == (0.248, 0.322)
    )


@pytest.mark.parametrize(("r", "n"), [(0.5, 3), (1.0, 10), (-1.0, 10), (np.nan, 10)])
def test_there_are_no_limits_of_three_pairs_or_a_perfect_correlation(r, n):
    # the scripts stop with ZeroDivisionError and "math domain error"
    assert np.isnan(published_fisher_limits(np.array([r]), np.array([n]))).all()


def test_draws_are_numpys_old_stream_of_choices():
    random = np.random.RandomState(7)
    want = [random.choice(11, 11) for _ in range(3)]
    np.testing.assert_array_equal(published_draws(11, n_replicates=3, seed=7), want)
