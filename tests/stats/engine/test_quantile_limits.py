"""Quantiles of clustered scores and the limits from the shares of scores below them."""

import numpy as np
import pandas as pd
import pytest
from tests_support import warns

import salstats as ss
from salstats.stats.engine.quantile_limits import (
    quantile_replicates,
    share_and_variance_at_or_below_distinct_scores,
    weighted_quantiles,
)


@pytest.fixture(scope="module")
def clustered():
    """Scores of two methods with lumps at 0, of patients with one to five cases."""
    rng = np.random.default_rng(11)
    patient = np.repeat(np.arange(24), rng.integers(1, 6, 24))
    own = rng.normal(size=24)[patient]
    rows = []
    for method, shift in (("cam", 0.0), ("human", 0.6)):
        z = own + rng.normal(size=len(patient)) + shift
        score = np.where(z < -0.5, 0.0, np.round(1 / (1 + np.exp(-z)), 3))
        rows.append(pd.DataFrame({"patient": patient, "method": method, "score": score}))
        rows[-1]["case"] = [f"c{i:02d}" for i in range(len(patient))]
    return pd.concat(rows, ignore_index=True).astype({"patient": str}).assign(metric="iou")


def test_a_lump_that_holds_the_median_gives_limits_of_no_width():
    scores = pd.DataFrame({"case": [f"c{i:03d}" for i in range(100)], "method": "cam", "metric": "iou"})
    scores["score"] = np.where(np.arange(100) < 75, 0.0, 0.5)
    row = ss.medians(scores, by="method").iloc[0]
    assert (row["estimate"], row["conf_low"], row["conf_high"]) == (0.0, 0.0, 0.0)


def test_shares_at_or_below_each_score_have_the_variance_of_a_proportion():
    # unit 0 has no score; of five scores the third is half below the median and half above
    scores, units = np.array([0.9, 0.1, 0.5, 0.3, 0.7]), np.array([1, 2, 3, 4, 5])
    found = share_and_variance_at_or_below_distinct_scores(scores, units, 6, 0.5, (0.0, 1.0))
    np.testing.assert_array_equal(found.values, [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1])
    np.testing.assert_allclose(found.share, [0, 0.2, 0.4, 0.5, 0.6, 0.8, 1])
    # p (1 - p) / (n - 1), and for the third the residuals of 1, 1, 1/2, 0 and 0
    expected = [0, 0.16 / 4, 0.24 / 4, 1 / (4 * 5), 0.24 / 4, 0.16 / 4, 0]
    np.testing.assert_allclose(found.variance, expected)
    np.testing.assert_allclose(found.residual, [0, -0.5, 0.5, 0, 0.5, -0.5], atol=1e-15)
    assert found.df == pytest.approx(4)
    assert found.n_units == 5


def test_variances_of_shares_are_those_of_units_of_any_sizes():
    units = np.array([0, 0, 0, 2, 2, 3, 1, 1, 1, 1])
    scores = np.array([0.1, 0.2, 0.4, 0.2, 0.9, 0.7, 0.2, 0.4, 0.7, 0.8])
    found = share_and_variance_at_or_below_distinct_scores(scores, units, 4, 0.5, (0.0, 1.0))
    assert found.values.tolist() == [0, 0.1, 0.2, 0.4, 0.7, 0.8, 0.9, 1]
    # scores equal to a value count as bring the share nearest to a half: one of the two of 0.4
    shares_of_equal = {0.1: 1, 0.2: 1, 0.4: 0.5, 0.7: 0, 0.8: 0, 0.9: 0}
    for position, (value, share_of_equal) in enumerate(shares_of_equal.items(), 1):
        counted = np.where(scores == value, share_of_equal, scores < value)
        share = counted.mean()
        squares = 0.0
        for unit in range(4):
            n = (units == unit).sum()
            residual = counted[units == unit].sum() - n * share
            # Bell and McCaffrey's correction of a unit's residual
            squares += residual**2 / (1 - n / 10)
        assert found.share[position] == pytest.approx(share, rel=1e-12)
        assert found.variance[position] == pytest.approx(squares / 10**2, rel=1e-12)


def test_limits_that_differ_from_0_by_rounding_are_0():
    """0.1 + 0.2 is 0.30000000000000004: two methods of that score and of 0.3 do not differ."""
    scores = pd.DataFrame({"case": [f"c{i:03d}" for i in range(40)], "metric": "iou"})
    scores = pd.concat([scores.assign(method="a", score=0.1 + 0.2), scores.assign(method="b", score=0.3)])
    row = ss.median_difference(scores, reference="b", by="metric").iloc[0]
    assert (row["conf_low"], row["conf_high"], row["p_value"]) == (0.0, 0.0, 1.0)
    assert row["verdict"] == "inconclusive"


def test_the_p_value_is_where_limits_meet_0(clustered):
    p = ss.median_difference(clustered, reference="human", by="metric")["p_value"].item()
    assert 0 < p < 1
    for level, outside in ((1 - 1.01 * p, True), (1 - 0.99 * p, False)):
        row = ss.median_difference(clustered, reference="human", by="metric", level=level).iloc[0]
        assert (row["conf_low"] > 0 or row["conf_high"] < 0) == outside
    assert set(ss.median_difference(clustered, reference="human", by="metric", adjust="holm").columns) >= {
        "p_adjusted",
        "procedure",
    }


@pytest.mark.parametrize("seed", [73, 75])
def test_p_value_and_limits_agree_and_limits_of_levels_are_nested(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 25)
    cam = np.round(np.clip(rng.normal(0.4, 0.3, n), 0, 1), 1)
    human = np.round(np.clip(cam + rng.normal(0.1, 0.2, n), 0, 1), 1)
    patients = [f"p{i}" for i in rng.integers(0, max(2, n // 2), n)]
    keys = {"case": np.arange(n).astype(str), "patient": patients, "metric": "iou"}
    scores = pd.DataFrame({**keys, "cam": cam, "human": human})
    if seed % 3 == 0:
        scores.loc[rng.random(n) < 0.2, "cam"] = np.nan
    long = scores.melt([*keys], ["cam", "human"], var_name="method", value_name="score")
    for quantile in (0.25, 0.5):
        row = ss.median_difference(long, reference="human", quantile=quantile).iloc[0]
        assert (row["p_value"] < 0.05) == (row["conf_low"] > 0 or row["conf_high"] < 0)
        nested = [
            ss.median_difference(long, reference="human", quantile=quantile, level=level).iloc[0]
            for level in (0.5, 0.8, 0.9, 0.95)
        ]
        assert all(np.diff([row["conf_low"] for row in nested]) <= 0)
        assert all(np.diff([row["conf_high"] for row in nested]) >= 0)


def test_limits_at_the_ends_of_the_range_are_as_far_as_scores_can_be():
    wide = pd.DataFrame(
        {"case": list("uvw"), "metric": "iou", "cam": [0.8, 0.9, 0.85], "human": [0.1, 0.2, 0.15]}
    )
    long = wide.melt(["case", "metric"], var_name="method", value_name="score")
    with warns(option="interval", column="n_units", rows=(0,)):
        row = ss.median_difference(long, reference="human").iloc[0]
    assert (row["conf_low"], row["conf_high"], row["verdict"]) == (-1, 1, "inconclusive")
    assert row["p_value"] > 0.05


def test_quantiles_of_counted_scores_are_those_of_repeated_ones():
    rng = np.random.default_rng(5)
    scores = np.sort(rng.integers(0, 6, 12) / 5)
    weights = rng.integers(0, 4, (50, 12)).astype(float)
    for quantile in (0.2, 0.5, 0.9):
        ours = weighted_quantiles(scores, weights, quantile)
        theirs = [
            np.quantile(np.repeat(scores, w.astype(int)), quantile, method="averaged_inverted_cdf")
            for w in weights
        ]
        np.testing.assert_allclose(ours, theirs, atol=1e-15)


def test_blocks_of_candidates_change_nothing(clustered, monkeypatch):
    whole = ss.median_difference(clustered, reference="human", by="metric")
    monkeypatch.setattr("salstats.stats.engine.quantile_limits._MAX_ELEMENTS_OF_BLOCK", 50)
    pd.testing.assert_frame_equal(whole, ss.median_difference(clustered, reference="human", by="metric"))


def test_quantiles_of_replicates_are_those_of_the_scores_of_the_units_drawn():
    scores = np.array([0.5, 0.1, 0.9, 0.3])
    units = np.array([0, 1, 1, 2])
    # unit 1 twice: 0.1 0.1 0.9 0.9; units 0 and 1: 0.1 0.5 0.9; nothing; every unit: 0.1 0.3 0.5 0.9
    weights = np.array([[0, 2, 0, 0], [1, 1, 0, 0], [0, 0, 0, 3], [1, 1, 1, 0]], dtype=float)
    medians = quantile_replicates(scores, units, weights, quantile=0.5)
    np.testing.assert_allclose(medians, [0.5, 0.5, np.nan, 0.4])
    lowest = quantile_replicates(scores, units, weights, quantile=0.2)
    np.testing.assert_allclose(lowest, [0.1, 0.1, np.nan, 0.1])
