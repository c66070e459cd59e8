"""Step-down max-t against its definition written out, from flips and replicates that rows share."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import salstats as ss
from salstats.checks import SalstatsError
from salstats.stats.max_t import Drawn, joint_level, step_down, step_down_min_p


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


def test_min_p_is_closed_testing_with_the_p_values_of_draws():
    """A draw's P value in its row is the share of draws and data that lie further, and half of ties."""
    rng = np.random.default_rng(6)
    scale = np.array([1.0, 5, 0.2, 1])
    drawn, observed = np.abs(np.round(rng.normal(size=(200, 4)), 1)) * scale, np.array([2.0, 9.5, 0.38, 0.1])
    both = np.vstack([observed, drawn])
    p = np.array([[(row > far).mean() + (row == far).mean() / 2 for far in row] for row in both.T]).T
    want = by_definition(-p[0], -p[1:], 0.5, complete=False)
    found = step_down_min_p(Drawn(observed, drawn, 0.5))
    np.testing.assert_allclose(found, want, rtol=1e-12)
    # where the flips of each row reach equally far it is max-t
    np.testing.assert_allclose(
        step_down_min_p(Drawn(observed[:1], drawn[:, :1], 0.5)),
        step_down(Drawn(observed[:1], drawn[:, :1], 0.5)),
    )


def small_scores(n_units=9):
    """Two methods that are much alike, a third and people, on units of 1 to 3 cases."""
    rng = np.random.default_rng(12)
    units = np.repeat(np.arange(n_units), rng.integers(1, 4, n_units))
    human = rng.beta(5, 3, len(units))
    cam = human - 0.12 + 0.1 * rng.normal(size=len(units))
    columns = {
        "human": human,
        "cam": cam,
        "cam++": cam + 0.02 * rng.normal(size=len(units)),
        "lime": human - 0.02,
    }
    columns["lime"] = columns["lime"] + 0.15 * rng.normal(size=len(units))
    frame = pd.DataFrame({"case": np.arange(len(units)), "patient": units, **columns})
    scores = frame.melt(["case", "patient"], var_name="method", value_name="score").assign(metric="iou")
    return scores, frame


@pytest.mark.parametrize("function", [ss.difference, ss.percent_decrease])
@pytest.mark.parametrize("adjust", ["max-t", "min-p"])
def test_of_a_comparison_every_pattern_of_signs_written_out(function, adjust):
    scores, frame = small_scores()
    found = function(scores, reference="human", adjust=adjust).set_index("method")
    methods = list(found.index)
    sums = np.column_stack([(frame[m] - frame["human"]).groupby(frame["patient"]).sum() for m in methods])
    patterns = np.array(list(product([1.0, -1.0], repeat=len(sums))))
    drawn = np.abs(patterns @ sums) / np.sqrt((sums**2).sum(axis=0))
    observed = np.abs(sums.sum(axis=0)) / np.sqrt((sums**2).sum(axis=0))
    if adjust == "min-p":
        # the data are the first of the patterns
        rounded = drawn.round(9)
        p = np.array([[(row > far).mean() + (row == far).mean() / 2 for far in row] for row in rounded.T]).T
        observed, drawn = -p[0], -p
    want = by_definition(observed, drawn, 0.5, complete=True)
    np.testing.assert_allclose(found["p_adjusted"], want, rtol=1e-9)
    assert (found["procedure"] == adjust).all()
    assert (found["n_tests"] == 3).all()
    # methods that are nearly alike cost no more than three do
    holm = function(scores, reference="human", adjust="holm").set_index("method")["p_adjusted"]
    assert found["p_adjusted"]["cam"] <= holm["cam"] + 1e-12
    # every pattern is there: nothing is a bound
    assert "p_adjusted_floor" not in found.columns


@pytest.mark.filterwarnings("ignore::salstats.checks.SalstatsWarning")
@pytest.mark.parametrize(
    "options",
    [{}, {"test": "signflip", "interval": "cr2"}, {"test": "bootstrap", "interval": "percentile"}],
)
def test_simultaneous_limits_are_those_of_one_level_that_holds_for_all(options):
    scores, _ = small_scores(40)
    common = {"reference": "human", "n_replicates": 2_000, **options}
    found = ss.difference(scores, adjust="max-t", simultaneous=True, **common)
    assert (found["family_level"] == 0.95).all()
    (level,) = found["conf_level"].unique()
    assert 0.95 < level <= 1 - 0.05 / 3
    alone = ss.difference(scores, level=level, **common)
    for column in ("conf_low", "conf_high"):
        np.testing.assert_allclose(found[column], alone[column], rtol=1e-12)
    outside = (found["conf_low"] > 0) | (found["conf_high"] < 0)
    decided = outside & (found["p_adjusted"] < 0.05)
    assert ((found["verdict"] != "inconclusive") == decided).all()
    assert decided.any()


def test_a_bootstrap_p_value_at_its_floor_bounds_the_adjusted_one():
    scores, _ = small_scores(40)
    far = scores.assign(metric="gain", score=scores["score"] - 0.5 * (scores["method"] != "human"))
    found = ss.difference(far, reference="human", adjust="max-t", test="bootstrap", n_replicates=999)
    assert (found["p_adjusted"] == 2 / 1000).all()
    assert (found["p_adjusted_floor"] == found["p_adjusted"]).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"adjust": "max-t", "test": "cr2"}, "take test='wild'"),
        ({"adjust": "holm", "simultaneous": True}, "simultaneous=True is for adjust='max-t' or 'min-p'"),
        ({"adjust": "min-p", "margin": 0.05}, "take adjust='holm'"),
        ({"adjust": "max-p"}, "max-t, min-p"),
    ],
)
def test_what_does_not_go_together_is_said_in_one_sentence(options, said):
    scores, _ = small_scores()
    with pytest.raises(SalstatsError, match=said):
        ss.difference(scores, reference="human", **options)


@pytest.mark.parametrize("procedure", ["max-t", "min-p"])
def test_frames_without_flips_say_who_has_them(procedure):
    table = pd.DataFrame({"p_value": [0.01, 0.2], "iou": [0.1, 0.2], "prob": [0.1, 0.2]})
    for adjusted in (
        lambda: ss.adjust(table, procedure=procedure),
        lambda: ss.correlate(table, "iou", "prob", adjust=procedure),
    ):
        with pytest.raises(SalstatsError, match=rf"pass adjust='{procedure}' to difference\(\)"):
            adjusted()


def test_a_family_too_large_for_the_replicates_is_refused():
    scores = small_scores(40)[0].assign(metric="gain")
    with pytest.raises(SalstatsError, match=r"needs at least .* replicates at level 0.98.*, not 40"):
        ss.difference(scores, reference="human", adjust="max-t", simultaneous=True, n_replicates=40)
