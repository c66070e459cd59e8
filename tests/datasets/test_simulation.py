"""Simulated scores have the parameters they say they have."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from tests_support import raises

import salstats as ss
from salstats.datasets.simulation import COVARIATES, METHODS, TASKS, ScoreModel
from salstats.errors import ValueRangeError
from salstats.frames import check_scores

N_PATIENTS = 6000
# chance that one of a test's comparisons fails although the simulation is right, before the seed is fixed
FALSE_ALARM = 1e-4
# means and slopes of the truth are sums of a few decimals
EXACT = 1e-12


@pytest.fixture(scope="module")
def large() -> pd.DataFrame:
    return ss.simulate_scores(N_PATIENTS, rng=7)


def bound(n_comparisons: int) -> float:
    """The z beyond which one of so many comparisons falls by chance with probability FALSE_ALARM."""
    return float(stats.norm.isf(FALSE_ALARM / (2 * n_comparisons)))


def clustered_mean(values: np.ndarray, patients: np.ndarray) -> tuple[float, float]:
    """Mean and its standard error with patients as clusters."""
    mean = values.mean()
    sums = pd.Series(values - mean).groupby(patients).sum()
    return float(mean), float(np.sqrt((sums**2).sum()) / len(values))


def test_means_match_the_truth_for_every_metric_method_and_task(large):
    truth = ss.simulation_truth().set_index(["metric", "method", "task"])["mean"]
    groups = large.dropna(subset="score").groupby(["metric", "method", "task"])
    z = []
    for key, group in groups:
        mean, error = clustered_mean(group["score"].to_numpy(), group["patient"].to_numpy())
        z.append((mean - truth[key]) / error)
    assert len(z) == 2 * 3 * 5
    assert np.abs(z).max() < bound(len(z))


def test_slopes_match_the_truth_within_a_task_and_over_tasks(large):
    truth = ss.simulation_truth().set_index(["metric", "method", "task"])
    z = []
    for (metric, method), group in large.dropna(subset="score").groupby(["metric", "method"]):
        for task in ["Edema", None]:
            rows = group if task is None else group[group["task"] == task]
            clusters = {"groups": pd.factorize(rows["patient"])[0]}
            slopes = [truth.loc[(metric, method, "Edema"), f"slope_{name}"] for name in COVARIATES]
            design = sm.add_constant(rows[list(COVARIATES)].to_numpy())
            fit = sm.OLS(rows["score"].to_numpy(), design).fit(cov_type="cluster", cov_kwds=clusters)
            z += list((fit.params[1:] - slopes) / fit.bse[1:])
            simple = sm.OLS(rows["score"].to_numpy(), design[:, [0, 3]]).fit(
                cov_type="cluster", cov_kwds=clusters
            )
            z.append((simple.params[1] - slopes[2]) / simple.bse[1])
    assert len(z) == 2 * 3 * 2 * 6
    assert np.abs(z).max() < bound(len(z))


def test_share_of_exact_zeros_matches_the_truth(large):
    truth = ss.simulation_truth().set_index(["metric", "method", "task"])["zeros"]
    z = []
    for key, group in large.dropna(subset="score").groupby(["metric", "method", "task"]):
        is_zero = group["score"].eq(0).to_numpy(dtype=np.float64)
        share, error = clustered_mean(is_zero, group["patient"].to_numpy())
        z.append((share - truth[key]) / error)
    assert len(z) == 2 * 3 * 5
    assert np.abs(z).max() < bound(len(z))


def test_scatter_is_that_of_the_beta_law_where_nothing_else_varies():
    precision, mean, zeros = 9.0, 0.4, 0.2
    model = ScoreModel(mean, zeros=zeros, precision=precision)
    scores = ss.simulate_scores(
        20_000,
        tasks=["t"],
        methods={"m": {"iou": model}},
        metrics=["iou"],
        two_views=0,
        prevalence=1,
        missing=0,
    )["score"].to_numpy()
    positive = mean / (1 - zeros)
    law = stats.beta(precision * positive, precision * (1 - positive))
    assert stats.kstest(scores[scores > 0], law.cdf).pvalue > FALSE_ALARM


def test_shares_of_findings_losses_and_second_views_match_their_options(large):
    cells = large.drop_duplicates(["case", "task"])
    views = cells.drop_duplicates("case").groupby("patient").size()
    present = large[large["label"] == 1]
    lost = present[present["metric"] == "iou"]["score"].isna()
    checks = [(cells["label"].mean(), 0.7, len(cells)), (lost.mean(), 0.02, len(lost))]
    checks.append(((views == 2).mean(), 0.4, N_PATIENTS))
    z = [(share - truth) / np.sqrt(truth * (1 - truth) / n) for share, truth, n in checks]
    assert np.abs(z).max() < bound(len(z))


def test_covariates_have_the_means_the_docstring_gives(large):
    cells = large[large["label"] == 1].drop_duplicates(["case", "task"])
    means = {"n_instances": 1.5, "area_ratio": 0.01 + 0.4 / 3, "elongation": 2.0, "irrectangularity": 0.35}
    means["prob"] = 5 / 7
    z = [(cells[c].mean() - m) / (cells[c].std() / np.sqrt(len(cells))) for c, m in means.items()]
    assert np.abs(z).max() < bound(len(z))


def test_confidence_is_lower_where_the_finding_is_absent(large):
    # the mean of Beta(2, 5), as the docstring gives it
    cells = large[large["label"] == 0].drop_duplicates(["case", "task"])
    z = (cells["prob"].mean() - 2 / 7) / (cells["prob"].std() / np.sqrt(len(cells)))
    assert abs(z) < bound(1)


def test_scores_of_one_patient_are_correlated_and_of_two_patients_are_not():
    model = ScoreModel(0.5, patient=0.4, precision=200)
    options = {"methods": {"m": {"iou": model}}, "metrics": ["iou"], "prevalence": 1, "missing": 0}
    scores = ss.simulate_scores(2000, tasks=["a", "b"], two_views=0, **options)
    wide = scores.pivot(index="case", columns="task", values="score")
    within, between = wide.corr().iloc[0, 1], np.corrcoef(wide["a"], np.roll(wide["b"], 1))[0, 1]
    error = 1 / np.sqrt(len(wide))
    # variance of the effect 0.4^2/3 against a Beta variance below 0.25/201: nearly all is shared
    assert within > 0.9
    assert abs(between) < bound(1) * error


def test_percent_decrease_and_difference_follow_from_the_means():
    truth = ss.simulation_truth().set_index(["metric", "method", "task"])
    assert truth.loc[("iou", "gradcam", "Average"), "percent_decrease"] == pytest.approx(37.5, abs=EXACT)
    # (0.78 + 0.05 - 0.50 - 0.05) / (0.78 + 0.05)
    row = truth.loc[("hit", "gradcam", "Cardiomegaly")]
    assert row["percent_decrease"] == pytest.approx(100 * 0.28 / 0.83, abs=1e3 * EXACT)
    assert row["difference"] == pytest.approx(-0.28, abs=EXACT)
    assert truth.xs("human", level="method")[["difference", "percent_decrease"]].isna().all(axis=None)


def test_average_row_is_the_mean_over_tasks():
    truth = ss.simulation_truth()
    tasks = truth[truth["task"] != "Average"].groupby(["metric", "method"])["mean"].mean()
    average = truth[truth["task"] == "Average"].set_index(["metric", "method"])["mean"]
    assert np.abs(average - tasks).max() < EXACT


def test_truth_without_a_human_has_no_contrast_unless_a_reference_is_named():
    methods = {"a": {"iou": ScoreModel(0.4)}, "b": {"iou": ScoreModel(0.5)}}
    options = {"tasks": ["t"], "methods": methods, "metrics": ["iou"]}
    assert ss.simulation_truth(**options)["difference"].isna().all()
    named = ss.simulation_truth(**options, reference="b").set_index(["method", "task"])
    assert named.loc[("a", "t"), "percent_decrease"] == pytest.approx(20, abs=1e3 * EXACT)


def test_same_seed_gives_the_same_frame_and_a_generator_is_used():
    first = ss.simulate_scores(20, rng=3)
    pd.testing.assert_frame_equal(first, ss.simulate_scores(20, rng=3))
    pd.testing.assert_frame_equal(first, ss.simulate_scores(20, rng=np.random.default_rng(3)))
    assert not first["score"].equals(ss.simulate_scores(20, rng=4)["score"])


def test_frame_is_a_scores_frame_of_text_identifiers_with_every_combination_once(large):
    check_scores(large)
    assert list(large.columns) == [
        "case", "patient", "task", "method", "metric", "score", "prob", "label", *COVARIATES[1:]
    ]  # fmt: skip
    for column in ("case", "patient", "task", "method", "metric"):
        assert large[column].dtype == "str"
    assert len(large) == large["case"].nunique() * len(TASKS) * len(METHODS) * 2
    assert large["patient"].nunique() == N_PATIENTS
    assert large["score"].dropna().between(0, 1).all()
    assert set(large.loc[large["metric"] == "hit", "score"].dropna()) == {0, 1}


def test_absent_findings_have_no_score_and_no_shape_but_a_confidence(large):
    absent = large[large["label"] == 0]
    assert absent[["score", *COVARIATES[1:]]].isna().all(axis=None)
    assert large["prob"].notna().all()
    assert large.loc[large["label"] == 1, list(COVARIATES)].notna().all(axis=None)


def test_a_lost_output_loses_all_metrics_of_that_method_only():
    scores = ss.simulate_scores(200, missing={"occlusion": 0.3}, prevalence=1)
    wide = scores.pivot(index=["case", "task"], columns=["method", "metric"], values="score").isna()
    assert not wide[["gradcam", "human"]].any(axis=None)
    assert (wide[("occlusion", "iou")] == wide[("occlusion", "hit")]).all()
    assert wide[("occlusion", "iou")].any()


@pytest.mark.parametrize(
    ("options", "option", "value", "owner"),
    [
        ({"two_views": 1.5}, "two_views", 1.5, {}),
        ({"missing": {"other": 0.1}}, "missing", "other", {}),
        ({"missing": {"human": -1}}, "missing", -1, {"message": "human"}),
        ({"tasks": []}, "tasks", [], {}),
        ({"tasks": "Edema"}, "tasks", "Edema", {}),
        ({"tasks": ["a", "a"]}, "tasks", ["a", "a"], {}),
        ({"tasks": ["Average"]}, "tasks", "Average", {}),
        ({"metrics": ["dice"]}, "metrics", "dice", {"message": "'gradcam'"}),
        (
            {"tasks": {"a": 0.4, "b": 0.0}},
            "mean",
            METHODS["gradcam"]["hit"].mean,
            {"message": "gradcam hit"},
        ),
    ],
)
def test_bad_options_are_named(options, option, value, owner):
    with raises(ValueRangeError, option=option, value=value, **owner):
        ss.simulate_scores(**{"n_patients": 5, **options})


@pytest.mark.parametrize(
    ("model", "option", "value", "ranges"),
    [
        (ScoreModel(0.5, {"size": 1.0}), "slopes", ["size"], []),
        (ScoreModel(0.5, zeros=1.0), "zeros", 1.0, []),
        (ScoreModel(0.5, zeros=0.1, binary=True), "zeros", 0.1, []),
        (ScoreModel(0.5, precision=0.0), "precision", 0.0, []),
        (ScoreModel(0.5, patient=-0.1), "patient", -0.1, []),
        (ScoreModel(0.5, {"elongation": 0.2}), "mean", 0.5, ["0.300 ... 1.100", "0 ... 1.000"]),
        (ScoreModel(0.5, zeros=0.5), "mean", 0.5, ["0.500 ... 0.500", "0 ... 0.500"]),
    ],
)
def test_a_model_that_would_need_clipping_or_makes_no_sense_is_refused(model, option, value, ranges):
    with raises(ValueRangeError, option=option, value=value) as caught:
        ss.simulation_truth(tasks=["t"], methods={"m": {"iou": model}}, metrics=["iou"])
    for text in ranges:
        assert text in caught.value.message.parts


def test_truth_refuses_a_reference_that_is_no_method():
    with raises(ValueRangeError, option="reference", value="nobody"):
        ss.simulation_truth(reference="nobody")
