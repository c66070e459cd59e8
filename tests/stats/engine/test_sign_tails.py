"""P values of sign flips against every pattern of signs, listed."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import salstats as ss
from salstats.stats.engine.sign_tails import sign_p_values


def half_sums(parts):
    """Sums of all patterns of signs of some units."""
    sums = np.zeros(1)
    for part in parts:
        sums = np.concatenate([sums + part, sums - part])
    return sums


def listed_p_value(parts, ties):
    """Share of all 2^n patterns at least as far as the data, by the sums of both halves of the units."""
    middle = len(parts) // 2
    first, second = half_sums(parts[:middle]), np.sort(half_sums(parts[middle:]))
    distance, rounding = abs(parts.sum()), 1e-9 * np.abs(parts).sum()
    n_beyond = (len(second) - np.searchsorted(second, distance - first + rounding)).sum()
    n_reached = (len(second) - np.searchsorted(second, distance - first - rounding)).sum()
    return 2 * (n_beyond + ties * (n_reached - n_beyond)) / 2.0 ** len(parts)


SCORES = {
    "normal": lambda rng, n: rng.normal(0.8, 1, n),
    "skewed": lambda rng, n: rng.exponential(1, n) - 0.2,
    "one large unit": lambda rng, n: np.append(rng.normal(0.3, 0.3, n - 1), 3.0),
    "hits": lambda rng, n: rng.choice([-1.0, 0.0, 1.0], n, p=[0.05, 0.35, 0.6]) / n,
    "rounded": lambda rng, n: rng.normal(0.3, 0.3, n).round(1),
}


@pytest.mark.parametrize("ties", [0.5, 1.0])
@pytest.mark.parametrize("n_units", [16, 30])
@pytest.mark.parametrize("kind", list(SCORES))
def test_small_p_values_are_those_of_every_pattern(kind, n_units, ties):
    rng = np.random.default_rng(4)
    parts = np.column_stack([SCORES[kind](rng, n_units) for _ in range(40)])
    want = np.array([listed_p_value(row, ties) for row in parts.T])
    small = want < 0.01
    assert small.sum() > 5
    exact = {"hits": 1e-9, "rounded": 1e-9}.get(kind, 0.03)
    np.testing.assert_allclose(sign_p_values(parts[:, small], ties), want[small], rtol=exact)


def test_of_many_units_they_are_those_of_a_million_flips():
    """A share of about 0.001 of two million flips has a standard error of 2 %."""
    rng = np.random.default_rng(7)
    parts = rng.gamma(0.5, size=(80, 1)) * rng.choice([-1, 1], (80, 1))
    parts += (3.2 * np.sqrt((parts**2).sum()) - parts.sum()) / 80
    n_beyond = 0
    for _ in range(20):
        signs = 2 * rng.integers(0, 2, (100_000, 80), dtype=np.int8) - 1
        n_beyond += (np.abs(signs.astype(np.float64) @ parts) >= parts.sum()).sum()
    assert n_beyond > 500
    assert sign_p_values(parts, 0.5)[0] == pytest.approx(n_beyond / 2e6, rel=4 / np.sqrt(n_beyond))


def test_units_that_all_agree_have_the_smallest_p_value_there_is():
    parts = np.random.default_rng(1).uniform(0.1, 1, (70, 1))
    assert sign_p_values(parts, 0.5)[0] == 0.5**70
    assert sign_p_values(-parts[:20], 1.0)[0] == 2 * 0.5**20


#: Units whose shares sum to 0, up to rounding.
BALANCED = [
    [1, -1, 2, -2],
    [0.1, 0.2, -0.3],
    [3, -1, -1, -1, 0, 0.5, -0.5],
]


@pytest.mark.parametrize("ties", [0.5, 1.0])
@pytest.mark.parametrize("parts", BALANCED)
def test_of_a_statistic_of_0_every_pattern_is_as_far_and_0_itself_is_a_tie(parts, ties):
    sums = half_sums(parts)
    share_of_0 = (np.abs(sums) < 1e-9).mean()
    p_value = sign_p_values(np.array(parts)[:, None], ties)[0]
    assert p_value == pytest.approx(1 - (1 - ties) * share_of_0, rel=1e-12)


def test_units_without_differences_have_a_p_value_of_1():
    assert sign_p_values(np.zeros((5, 1)), 0.5).tolist() == [1.0]


def test_p_values_of_many_units_near_0_fall_evenly_from_1():
    parts = np.random.default_rng(3).normal(size=80)
    parts -= parts.mean()
    standard_error = np.sqrt((parts**2).sum())
    distances = np.array([0.0, 1e-12, 1e-6, 1e-3, 0.009, 0.011, 0.05])
    p_values = sign_p_values(parts[:, None] + distances * standard_error / 80, 1.0)
    # the kurtosis of 80 units, about -0.075, changes P values by less than 0.001 so near 0
    np.testing.assert_allclose(p_values, 2 * stats.norm.sf(distances), rtol=1e-3)
    assert (np.diff(p_values) <= 0).all()


@pytest.mark.parametrize("test", ["wild", "signflip"])
def test_a_difference_of_0_of_few_flips_is_no_evidence(test):
    """P values of 40 flips are all small enough to be counted over every pattern."""
    differences = np.array([1, -1, 2, -2, 3, -3, 4, -4, 5, -5]) / 16
    human = pd.DataFrame({"case": np.arange(10), "method": "human", "metric": "own", "score": 0.5})
    scores = pd.concat([human, human.assign(method="cam", score=0.5 + differences)])
    found = ss.difference(scores, reference="human", test=test, interval="cr2", n_replicates=40)
    share_of_0 = (np.abs(half_sums(differences)) < 1e-9).mean()
    ties = {"wild": 0.5, "signflip": 1.0}[test]
    assert found["p_value"].tolist() == pytest.approx([1 - (1 - ties) * share_of_0], rel=1e-12)


@pytest.mark.parametrize("n_opposed", [0, 1])
def test_p_values_of_thousands_of_units_are_above_0(n_opposed):
    parts = np.random.default_rng(2).uniform(0.1, 1, (3000, 1))
    parts[:n_opposed] *= -1
    assert 0 < sign_p_values(parts, 0.5)[0] < 1e-300


def many_tests(n_cases=40, n_tasks=20, n_methods=9):
    """Methods far below people in every task: 180 tests."""
    rng = np.random.default_rng(0)
    rows = []
    for task in range(n_tasks):
        human = rng.beta(6, 3, n_cases)
        for method in range(n_methods):
            score = human - 0.15 - 0.1 * rng.normal(size=n_cases)
            rows.append(pd.DataFrame({"case": np.arange(n_cases), "method": f"m{method}", "score": score}))
            rows[-1]["task"] = f"t{task}"
        rows.append(pd.DataFrame({"case": np.arange(n_cases), "method": "human", "score": human}))
        rows[-1]["task"] = f"t{task}"
    return pd.concat(rows, ignore_index=True).assign(metric="own")


@pytest.mark.parametrize("test", ["wild", "signflip"])
def test_a_family_of_many_tests_has_no_floor(test):
    found = ss.difference(many_tests(), reference="human", adjust="holm", test=test, interval="cr2")
    assert (found["n_tests"] == 180).all()
    # 180 * 0.5 / 10,001 = 0.009, of signflip 0.018, were the least there could be
    assert found["p_adjusted"].max() < 1e-4
    assert "p_adjusted_floor" not in found.columns
