"""Step-down max-t against its definition written out, from flips and replicates that rows share."""

import numpy as np
import pytest

from salstats.stats.max_t import Drawn, joint_level, step_down


def by_definition(observed, drawn, ties, complete):
    """Closed testing: the largest P of all sets of hypotheses that a row belongs to, each by max t."""
    n_rows, more = len(observed), 0 if complete else 1
    adjusted = np.zeros(n_rows)
    for code in range(1, 2**n_rows):
        members = [row for row in range(n_rows) if code >> row & 1]
        data = max(observed[row] for row in members)
        p = 0.0
        for draw in drawn:
            far = max(draw[row] for row in members)
            p += ties if abs(far - data) < 1e-12 else float(far > data)
        p = (p + ties * more) / (len(drawn) + more)
        for row in members:
            adjusted[row] = max(adjusted[row], p)
    return adjusted


@pytest.mark.parametrize("ties", [0.5, 1.0])
@pytest.mark.parametrize("complete", [True, False])
def test_step_down_is_closed_testing_with_max_t(ties, complete):
    rng = np.random.default_rng(5)
    common = rng.normal(size=(300, 1))
    # rounded, so that there are ties
    drawn = np.abs(np.round(0.7 * common + 0.7 * rng.normal(size=(300, 6)), 1))
    observed = np.array([2.3, 0.4, 1.9, 3.1, 1.9, 0.0])
    found = step_down(Drawn(observed, drawn, ties, complete))
    np.testing.assert_allclose(found, by_definition(observed, drawn, ties, complete), rtol=1e-12)


def test_of_one_row_it_is_the_p_value_itself():
    rng = np.random.default_rng(1)
    one = Drawn(np.array([1.4]), np.abs(rng.normal(size=(99, 1))))
    want = (1 + (one.drawn[:, 0] >= 1.4).sum()) / 100
    assert step_down(one) == one.p_values() == want
    assert one.floor == 1 / 100
    assert np.isnan(one._replace(complete=True).floor)


def test_rows_that_are_copies_cost_nothing_and_independent_ones_what_sidak_says():
    rng = np.random.default_rng(2)
    drawn = np.abs(rng.normal(size=(40_000, 5)))
    observed = np.full(5, 2.2)
    copies = Drawn(observed, np.repeat(drawn[:, :1], 5, axis=1))
    np.testing.assert_allclose(step_down(copies), copies.p_values(), rtol=1e-12)
    apart = Drawn(observed, drawn)
    single = apart.p_values().mean()
    # three Monte-Carlo standard errors
    assert abs(step_down(apart)[-1] - (1 - (1 - single) ** 5)) < 3 * np.sqrt(0.13 * 0.87 / 40_000)
    assert joint_level(copies, 0.95) == pytest.approx(0.95, abs=1e-4)
    assert joint_level(apart, 0.95) == pytest.approx(0.95 ** (1 / 5), abs=0.001)


def test_all_rows_hold_together_at_the_joint_level_and_at_no_lower_one():
    rng = np.random.default_rng(3)
    drawn = np.abs(rng.standard_t(5, size=(2_000, 4)) * [1, 2, 3, 4] + rng.normal(size=(2_000, 1)))
    level = joint_level(Drawn(np.ones(4), drawn), 0.9)
    assert 0.9 < level <= 1 - 0.1 / 4
    for at, holds in ((level, True), (level - 0.002, False)):
        reach = np.sort(drawn, axis=0)[int(np.ceil(at * 2_000)) - 1]
        assert ((drawn <= reach).all(axis=1).mean() >= 0.9 - 1e-9) == holds


def test_few_patterns_give_bonferronis_level_at_least():
    drawn = np.abs(np.array([[1.0, 1], [1, -1], [1, 1], [1, -1]]))
    assert joint_level(Drawn(np.ones(2), drawn, 0.5, complete=True), 0.95) == pytest.approx(0.975)
