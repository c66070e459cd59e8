"""Units far from all others: found where a method sometimes fails completely, and nowhere else."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import salstats as ss
from salstats.stats.engine.cautions import OUTLYING_UNITS
from salstats.stats.engine.outlying_units import variance_depends_on_few_outlying_units


def pairs(own, other):
    """Scores of two methods on the same cases."""
    cases = [f"c{i:03d}" for i in range(len(own))]
    parts = [
        pd.DataFrame({"case": cases, "method": method, "metric": "iou", "score": score})
        for method, score in (("cam", own), ("human", other))
    ]
    return pd.concat(parts, ignore_index=True)


def near_90(n, rng):
    return rng.beta(90, 10, n)


def failing(n, n_failures, seed=0):
    """Two methods near .9, of which one is 0 on some cases."""
    rng = np.random.default_rng(seed)
    own = near_90(n, rng)
    own[:n_failures] = 0
    return pairs(own, near_90(n, rng))


def kurtosis_df(values):
    """2 (sum q)^2 / sum (q - mean q)^2 of the squared deviations q, worked out as it is written."""
    squares = (values - values.mean()) ** 2
    return 2 * squares.sum() ** 2 / ((squares - squares.mean()) ** 2).sum()


@pytest.mark.parametrize("n_failures", [1, 2, 3])
def test_differences_that_failures_decide_have_limits_of_the_spread_of_squares(n_failures):
    scores = failing(40, n_failures)
    found = ss.difference(scores, reference="human", by=()).iloc[0]
    wide = scores.pivot(index="case", columns="method", values="score")
    gap = (wide["cam"] - wide["human"]).to_numpy()
    error, df = gap.std(ddof=1) / np.sqrt(40), kurtosis_df(gap)
    reach = stats.t.ppf(0.975, df) * error
    np.testing.assert_allclose(found[["conf_low", "conf_high"]].tolist(), gap.mean() + [-reach, reach])
    np.testing.assert_allclose(found["p_value"], 2 * stats.t.sf(abs(gap.mean()) / error, df))
    assert (found["interval"], found["test"], found["caution"]) == ("cr2", "cr2", OUTLYING_UNITS.name)


def test_the_decrease_has_the_same_caution_and_a_named_interval_stays_what_it_is():
    scores = failing(40, 1)
    decrease = ss.percent_decrease(scores, reference="human", by=()).iloc[0]
    assert (decrease["interval"], decrease["caution"]) == ("cr2", OUTLYING_UNITS.name)
    named = ss.difference(scores, reference="human", by=(), interval="wild").iloc[0]
    assert (named["interval"], named["test"], named["caution"]) == ("wild", "wild", OUTLYING_UNITS.name)
    percentile = ss.difference(scores, reference="human", by=(), interval="percentile").iloc[0]
    assert percentile["caution"] == OUTLYING_UNITS.name


def test_a_decrease_is_decided_by_the_units_that_decide_the_difference():
    scores = ss.datasets.load_digits_scores().query("dataset == 'textured' and model == 'residual'")
    found = [
        call(scores.query("metric == 'iou'"), reference="human", by="task", n_replicates=400)
        for call in (ss.difference, ss.percent_decrease)
    ]
    gap, decrease = (frame["interval"].tolist() for frame in found)
    assert gap == decrease


def test_a_family_that_shares_its_flips_keeps_them():
    scores = failing(40, 1)
    third = scores[scores["method"] == "cam"].assign(method="lime", score=lambda f: f["score"] * 0.9)
    found = ss.difference(pd.concat([scores, third]), reference="human", by=(), adjust="max-t")
    assert (found["test"] == "wild").all()
    assert (found["p_adjusted"] >= found["p_value"] - 1e-12).all()


def test_the_mean_of_a_failing_method_has_the_caution_and_that_of_the_other_has_none():
    found = ss.summarize(failing(40, 2), by="method").set_index("method")
    assert found["caution"].notna().to_dict() == {"cam": True, "human": False}


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: near_90(20, rng),
        lambda rng: rng.beta(1.8, 4.2, 20) * (rng.random(20) > 0.15),
        lambda rng: (rng.random(20) < 0.9).astype(float),
        lambda rng: rng.beta(1.2, 6.8, 20) * (rng.random(20) > 0.8),
        lambda rng: rng.standard_normal(20),
    ],
    ids=["near .9", "IoU, 15 % zeros", "hits", "sparse", "normal"],
)
def test_well_behaved_scores_have_no_caution_in_95_of_100_studies(draw):
    rng = np.random.default_rng(0)
    for of_difference in (False, True):
        values = np.column_stack([draw(rng) - draw(rng) * of_difference for _ in range(1000)])
        influence = values - values.mean(axis=0)
        assert variance_depends_on_few_outlying_units(influence, influence).mean() <= 0.05


@pytest.mark.parametrize(
    ("n_units", "n_far", "distance", "depends"),
    [
        # four standard deviations are far, and six if there are fewer than 20 units
        (40, 5, 5.5, True),
        (40, 5, 3.5, False),
        (20, 1, 5.5, True),
        (19, 1, 5.5, False),
        (19, 1, 8.0, True),
        # at most five units, and at most a quarter of all, are few
        (40, 6, 8.0, False),
        (18, 4, 12.0, True),
        (18, 5, 12.0, False),
        # they hold half of the variance
        (200, 3, 5.5, False),
        (200, 3, 12.0, True),
    ],
)
def test_far_units_are_few_and_hold_half_of_the_variance(n_units, n_far, distance, depends):
    near = stats.norm.ppf((np.arange(n_units - n_far) + 0.5) / (n_units - n_far))
    far = distance * np.where(np.arange(n_far) % 2, -1, 1)
    values = np.concatenate([near, far])[:, None]
    assert variance_depends_on_few_outlying_units(values, values).tolist() == [depends]


def test_units_are_far_by_their_scores_and_not_by_their_size():
    rng = np.random.default_rng(1)
    position = rng.standard_normal((30, 1))
    influence = position * np.where(np.arange(30) < 2, 40, 1)[:, None]
    assert not variance_depends_on_few_outlying_units(influence, position).any()
    position[0] = 30
    assert variance_depends_on_few_outlying_units(position, position).all()


@pytest.mark.slow
def test_limits_hold_at_40_units_where_one_method_fails_on_8_percent():
    rng = np.random.default_rng(3)
    n_studies, n = 1000, 40
    held = rejected = 0
    for seed in range(n_studies):
        own = near_90(n, rng) * (rng.random(n) > 0.08)
        found = ss.difference(
            pairs(own, near_90(n, rng) * 0.92), reference="human", by=(), n_replicates=1000, rng=seed
        )
        held += bool((found["conf_low"] <= 0).all() and (found["conf_high"] >= 0).all())
        rejected += bool((found["p_value"] <= 0.05).all())
    error = np.sqrt(0.05 * 0.95 / n_studies)
    assert held / n_studies >= 0.95 - 3 * error
    assert rejected / n_studies <= 0.05 + 3 * error
