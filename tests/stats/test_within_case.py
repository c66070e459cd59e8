import numpy as np
import pandas as pd
import pytest
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm
from tests_support import default_numbers_and_flags, raises, warns

from salstats.errors import ColumnError
from salstats.stats.within_case import within_case_sd

# sums of some hundred numbers near 1, in another order
ROUNDING = 1e-12


@pytest.fixture
def frame():
    """Three seeds of two methods on forty cases of twenty patients."""
    rng = np.random.default_rng(3)
    rows = [
        (f"c{case:02}", f"p{case // 2:02}", method, seed, level + spread * rng.normal())
        for method, spread in (("rise", 0.1), ("lime", 0.3))
        for case, level in enumerate(rng.normal(size=40))
        for seed in range(3)
    ]
    columns = ["case", "patient", "method", "seed", "score"]
    return pd.DataFrame(rows, columns=columns).assign(metric="nss")


def test_it_is_the_root_of_the_mean_variance_of_the_cases(frame):
    found = within_case_sd(frame, n_replicates=50).set_index("method")
    for method, rows in frame.groupby("method"):
        expected = np.sqrt(rows.groupby("case")["score"].var().mean())
        assert found.loc[method, "estimate"] == pytest.approx(expected, rel=ROUNDING)
        assert found.loc[method, "repeatability"] == pytest.approx(1.96 * 2**0.5 * expected, rel=ROUNDING)
    assert found["n"].to_list() == [40, 40]
    assert found["n_repeats"].to_list() == [3, 3]


def test_the_interval_is_that_of_resampled_patients(frame):
    # by hand: variances of the patients drawn, from the same draws
    draws = np.random.default_rng(0).integers(0, 20, (200, 20))
    rows = frame[frame["method"] == "lime"]
    found = within_case_sd(rows, draws=draws).iloc[0]
    assert (found["unit"], found["interval"]) == ("patient", "percentile")
    variances = rows.groupby(["patient", "case"])["score"].var().groupby("patient").mean().to_numpy()
    roots = np.sqrt(variances[draws].mean(axis=1))
    assert found["std_error"] == pytest.approx(roots.std(ddof=1), rel=ROUNDING)
    limits = np.sqrt(np.quantile(roots**2, [0.025, 0.975]))
    assert [found["conf_low"], found["conf_high"]] == pytest.approx(limits.tolist(), rel=ROUNDING)
    assert found["bias"] == pytest.approx(roots.mean() - found["estimate"], rel=1e-9)


def test_icc_is_that_of_a_one_way_analysis_of_variance(frame):
    rows = frame[frame["method"] == "rise"]
    table = anova_lm(ols("score ~ C(case)", rows).fit())
    between, within = table["mean_sq"]
    found = within_case_sd(rows, n_replicates=40).iloc[0]
    # the model solves normal equations, which costs some digits
    assert found["icc"] == pytest.approx((between - within) / (between + 2 * within), abs=1e-9)


def test_cases_weigh_by_their_degrees_of_freedom(frame):
    rows = frame[frame["method"] == "rise"].reset_index(drop=True)
    rows.loc[[0, 3, 4, 6, 7, 8], "score"] = np.nan
    found = within_case_sd(rows, n_replicates=40, unit="patient").iloc[0]
    groups = rows.groupby("case")["score"]
    df = (groups.count() - 1).clip(lower=0)
    expected = np.sqrt((groups.var().fillna(0) * df).sum() / df.sum())
    assert found["estimate"] == pytest.approx(expected, rel=ROUNDING)
    # one case has one score left, one has none
    assert (found["n"], found["n_missing"]) == (38, 2)


def test_what_was_made_once_has_no_sd_within_cases(frame):
    once = frame[(frame["seed"] == 0) & (frame["method"] == "rise")].assign(method="gradcam", seed=np.nan)
    found = within_case_sd(pd.concat([frame, once]), n_replicates=40).set_index("method")
    assert np.isnan(found.loc["gradcam", ["estimate", "conf_low", "icc"]].astype(float)).all()
    assert (found.loc["gradcam", "n"], found.loc["gradcam", "n_missing"]) == (0, 40)
    alone = within_case_sd(frame, n_replicates=40).set_index("method")
    pd.testing.assert_frame_equal(found.loc[["lime", "rise"]], alone)
    with raises(ColumnError, option="over", value="seed", column="case"):
        within_case_sd(once)


def test_models_that_are_not_repetitions_stay_apart(frame):
    shifted = frame.assign(model="b", score=frame["score"] + 10)
    both = pd.concat([frame.assign(model="a"), shifted])
    found = within_case_sd(both, by=["metric", "method"], n_replicates=40)
    alone = within_case_sd(frame, n_replicates=40)
    # a difference of 10 between models is none within a case; it costs digits of the squares
    np.testing.assert_allclose(found["estimate"], alone["estimate"], rtol=1e-9)
    noise = np.random.default_rng(4).normal(size=len(shifted))
    retrained = pd.concat([frame.assign(model="a"), shifted.assign(score=shifted["score"] + noise)])
    assert within_case_sd(retrained, over="model", n_replicates=40)["estimate"].min() > 5


def test_icc_of_unequal_numbers_is_that_of_the_mixed_model_by_moments(frame):
    # k0 = (N - sum(k^2) / N) / (cases - 1), with the mean squares of statsmodels
    rows = frame[frame["method"] == "lime"].reset_index(drop=True)
    rows = rows.drop(index=[0, 3, 4, 9, 12, 30]).reset_index(drop=True)
    used = rows[rows.groupby("case")["score"].transform("count") > 1]
    between, within = anova_lm(ols("score ~ C(case)", used).fit())["mean_sq"]
    k = used.groupby("case").size()
    k0 = (k.sum() - (k**2).sum() / k.sum()) / (len(k) - 1)
    found = within_case_sd(rows, n_replicates=40, unit="patient").iloc[0]
    assert found["icc"] == pytest.approx((between - within) / (between + (k0 - 1) * within), abs=1e-9)


def test_a_group_that_splits_the_repetitions_of_a_case_is_refused(frame):
    detected = frame.assign(detected=frame["seed"] > 0)
    # the seeds of the first case
    with raises(ColumnError, column="detected", rows=(0, 1, 2)):
        within_case_sd(detected, by=["metric", "method", "detected"])
    # one that belongs to the case does not
    even = frame.assign(even=frame["case"].str[-1].isin(list("02468")))
    assert within_case_sd(even, by=["metric", "method", "even"], n_replicates=40)["n"].tolist() == [20] * 4


def test_a_mean_over_the_trainings_is_no_repetition_of_them(frame):
    each = frame.assign(seed=frame["seed"].astype("str"))
    keys = ["case", "patient", "method", "metric"]
    mean = each.groupby(keys, as_index=False)["score"].mean().assign(seed="mean")
    with warns(column="seed", value="mean"):
        shrunk = within_case_sd(pd.concat([each, mean], ignore_index=True), n_replicates=40)
    # three scores with their mean as a fourth: the squares stay, the degrees of freedom are 3, not 2
    honest = within_case_sd(each, n_replicates=40)
    np.testing.assert_allclose(shrunk["estimate"], honest["estimate"] * np.sqrt(2 / 3), rtol=1e-9)


def test_bad_requests_are_named(frame):
    with raises(ColumnError, option="over", value="seed", column="seed"):
        within_case_sd(frame, by=["seed"])
    with raises(ColumnError, option="over", value="prob", choices=("seed", "model")):
        within_case_sd(frame.assign(prob=0.5), over="prob")


def test_readers_are_not_repetitions(frame):
    with raises(ColumnError, option="over", value="reader", choices=("seed", "model")):
        within_case_sd(frame.rename(columns={"seed": "reader"}), over="reader")


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(within_case_sd) == {"level": 0.95, "n_replicates": 10_000, "rng": 0}
