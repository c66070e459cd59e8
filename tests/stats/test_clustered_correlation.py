"""Spearman's correlation with patients resampled, against SciPy on frames put together by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests_support import default_numbers_and_flags, raises, warns

import salstats as ss
from salstats.errors import ColumnError, SalstatsError, SalstatsWarning, ValueRangeError
from salstats.stats.clustered_correlation import correlate_clustered

# SciPy takes the correlation of ranks by another sum
RTOL = 1e-12
N_REPLICATES = 60


@pytest.fixture(scope="module")
def table():
    """Forty patients with one to three rows in three tasks, and ties in both variables."""
    random = np.random.default_rng(5)
    parts = []
    for patient in range(40):
        size = random.integers(1, 4)
        parts.append(
            pd.DataFrame(
                {
                    "patient": f"p{patient:02d}",
                    "case": [f"p{patient:02d}v{view}" for view in range(size)],
                    "task": random.choice(["a", "b", "c"], size),
                    "prob": random.integers(0, 12, size) / 12,
                    "iou": random.integers(0, 9, size) / 9,
                }
            )
        )
    frame = pd.concat(parts, ignore_index=True)
    frame.loc[[3, 17], "iou"] = np.nan
    return frame


@pytest.fixture(scope="module")
def draws(table):
    return np.random.default_rng(9).integers(0, table["patient"].nunique(), (N_REPLICATES, 40))


def resampled(table, draws):
    """Each replicate's rows, put below each other patient by patient."""
    patients = sorted(table["patient"].unique())
    rows = {p: table[table["patient"] == p] for p in patients}
    for draw in draws:
        yield pd.concat([rows[patients[i]] for i in draw], ignore_index=True)


def fisher_mean(frame):
    """Correlations within tasks, combined on Fisher's z with weights n - 3."""
    z, weights = [], []
    for _, part in frame.dropna().groupby("task"):
        z.append(np.arctanh(stats.spearmanr(part["iou"], part["prob"]).statistic))
        weights.append(len(part) - 3)
    return np.tanh(np.average(z, weights=weights))


def limits(values):
    return np.quantile(values, [0.025, 0.975])


def test_limits_are_those_of_scipys_correlation_of_resampled_patients(table, draws):
    got = correlate_clustered(table, "iou", "prob", by=(), draws=draws).iloc[0]
    want = [
        stats.spearmanr(f["iou"], f["prob"], nan_policy="omit").statistic for f in resampled(table, draws)
    ]
    np.testing.assert_allclose(got[["conf_low", "conf_high"]].astype(float), limits(want), rtol=RTOL)
    assert got["std_error"] == pytest.approx(np.std(want, ddof=1), rel=1e-10)
    assert got["estimate"] + got["bias"] == pytest.approx(np.mean(want), rel=RTOL)
    # one patient's only row has no score
    assert (got["unit"], got["n_units"], got["n_missing"]) == ("patient", 39, 2)
    sides = min(sum(w <= 0 for w in want), sum(w >= 0 for w in want))
    assert got["p_value"] == min(1, 2 * (1 + sides) / (N_REPLICATES + 1))


def test_limits_of_strata_are_those_of_combined_correlations_of_resampled_patients(table, draws):
    got = correlate_clustered(table, "iou", "prob", by=(), stratified="task", draws=draws).iloc[0]
    want = [fisher_mean(f) for f in resampled(table, draws)]
    assert got["estimate"] == pytest.approx(fisher_mean(table), rel=RTOL)
    np.testing.assert_allclose(got[["conf_low", "conf_high"]].astype(float), limits(want), rtol=RTOL)
    assert got["n_strata"] == 3


@pytest.mark.parametrize("options", [{"by": "task", "overall": True}, {"by": (), "stratified": "task"}])
def test_estimates_are_those_of_correlate(table, options):
    ours = correlate_clustered(table, "iou", "prob", interval="percentile", n_replicates=40, **options)
    theirs = ss.correlate(table, "iou", "prob", **options)
    for column in ("estimate", "n", "n_missing", "n_units"):
        np.testing.assert_allclose(ours[column], theirs[column], rtol=RTOL)


@pytest.mark.parametrize("options", [{"by": "task", "overall": True}, {"by": (), "stratified": "task"}])
def test_the_default_is_that_of_correlate(table, options):
    ours = correlate_clustered(table, "iou", "prob", **options)
    pd.testing.assert_frame_equal(ours, ss.correlate(table, "iou", "prob", **options))
    assert (ours["interval"] == "cr2").all()


def test_few_units_and_undefined_replicates_are_said():
    # one hit among nine cases: a third of the resamples miss it
    frame = pd.DataFrame({"case": list("abcdefghi"), "hit": [1.0] + 8 * [0.0], "prob": np.arange(9.0)})
    with pytest.warns(SalstatsWarning) as caught:
        got = correlate_clustered(frame, "hit", "prob", interval="percentile", n_replicates=200).iloc[0]
    said = [str(w.message) for w in caught]
    assert len(said) == 2
    assert "rest on fewer than 20 units (the fewest: 9) for all rows" in said[0]
    assert f"{got['n_undefined']} of 200 replicates have no correlation" in said[1]
    # (8/9)^9 = 0.35 of them
    assert 40 < got["n_undefined"] < 100


def test_a_stratum_with_a_perfect_correlation_is_left_out_and_a_perfect_correlation_alone_is_not(table):
    is_a = table["task"] == "a"
    perfect = table.assign(iou=table["iou"].where(~is_a, table["prob"]))
    options = {"stratified": "task", "interval": "percentile", "n_replicates": 40}
    with warns(column="n_strata", rows=(0,)):
        got = correlate_clustered(perfect, "iou", "prob", **options)
    others = correlate_clustered(perfect[~is_a], "iou", "prob", **options)
    assert got["estimate"].item() == pytest.approx(others["estimate"].item(), rel=RTOL)
    alone = correlate_clustered(perfect[is_a], "iou", "prob", interval="percentile", n_replicates=40)
    assert alone["estimate"].item() == pytest.approx(1, rel=RTOL)


def test_what_cannot_be_resampled_is_an_error(table):
    with raises(SalstatsError, option="unit", hint="name one with unit"):
        correlate_clustered(table[["iou", "prob"]], "iou", "prob", interval="percentile")
    with raises(ColumnError, option="stratified", value="task"):
        correlate_clustered(table, "iou", "prob", by="task", stratified="task")
    with raises(ValueRangeError, option="x", value="iou"):
        correlate_clustered(table, "iou", "iou")


def test_a_group_without_pairs_gives_no_warning_of_few_units(table):
    measured = table.assign(group="measured")
    unmeasured = table.assign(group="unmeasured", iou=np.nan)
    frame = pd.concat([measured, unmeasured], ignore_index=True)
    # a warning is an error here
    got = correlate_clustered(frame, "iou", "prob", by="group", interval="percentile", n_replicates=40)
    got = got.set_index("group")
    assert got["n_units"].to_dict() == {"measured": 39, "unmeasured": 0}
    assert np.isnan(got.loc["unmeasured", "estimate"])


def test_options_that_are_left_out_have_the_documented_numbers():
    assert default_numbers_and_flags(correlate_clustered) == {
        "level": 0.95,
        "n_replicates": 10_000,
        "rng": 0,
        "overall": False,
    }
