"""Step-down max-t against its definition written out, from flips and replicates that rows share."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError
from salstats.stats.engine.joint_adjustment import (
    NullDraws,
    joint_level,
    single_step_min_p,
    step_down_max_t,
    step_down_min_p,
)


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
    found = step_down_max_t(NullDraws(observed, drawn, ties, complete))
    np.testing.assert_allclose(found, by_definition(observed, drawn, ties, complete), rtol=1e-12)


def test_of_one_row_it_is_the_p_value_itself():
    rng = np.random.default_rng(1)
    one = NullDraws(np.array([1.4]), np.abs(rng.normal(size=(99, 1))))
    want = (1 + (one.draws[:, 0] >= 1.4).sum()) / 100
    assert step_down_max_t(one) == one.p_values() == want
    assert one.p_floor == 1 / 100
    assert np.isnan(one._replace(complete=True).p_floor)


def test_rows_that_are_copies_cost_nothing_and_independent_ones_what_sidak_says():
    rng = np.random.default_rng(2)
    drawn = np.abs(rng.normal(size=(40_000, 5)))
    observed = np.full(5, 2.2)
    copies = NullDraws(observed, np.repeat(drawn[:, :1], 5, axis=1))
    np.testing.assert_allclose(step_down_max_t(copies), copies.p_values(), rtol=1e-12)
    apart = NullDraws(observed, drawn)
    single = apart.p_values().mean()
    # three Monte-Carlo standard errors
    assert abs(step_down_max_t(apart)[-1] - (1 - (1 - single) ** 5)) < 3 * np.sqrt(0.13 * 0.87 / 40_000)
    assert joint_level(copies, 0.95) == pytest.approx(0.95, abs=1e-4)
    assert joint_level(apart, 0.95) == pytest.approx(0.95 ** (1 / 5), abs=0.001)


def test_all_rows_hold_together_at_the_joint_level_and_at_no_lower_one():
    rng = np.random.default_rng(3)
    drawn = np.abs(rng.standard_t(5, size=(2_000, 4)) * [1, 2, 3, 4] + rng.normal(size=(2_000, 1)))
    level = joint_level(NullDraws(np.ones(4), drawn), 0.9)
    assert 0.9 < level <= 1 - 0.1 / 4
    for at, holds in ((level, True), (level - 0.002, False)):
        reach = np.sort(drawn, axis=0)[int(np.ceil(at * 2_000)) - 1]
        assert ((drawn <= reach).all(axis=1).mean() >= 0.9 - 1e-9) == holds


def test_few_draws_give_bonferronis_level_at_most():
    """Of 30 draws of independent rows one may lie outside, and three do at any level below."""
    drawn = np.abs(np.random.default_rng(8).normal(size=(30, 3)))
    family = NullDraws(np.ones(3), drawn)
    assert joint_level(family, 0.95) == pytest.approx(1 - 0.05 / 3)
    # Bonferroni's P values, too
    np.testing.assert_allclose(
        single_step_min_p(family, np.array([0.001, 0.016, 0.02])), [0.003, 0.048, 0.06]
    )


def test_min_p_is_closed_testing_with_the_p_values_of_draws():
    """A draw's P value in its row is the share of draws and data that lie further, and half of ties."""
    rng = np.random.default_rng(6)
    scale = np.array([1.0, 5, 0.2, 1])
    drawn, observed = np.abs(np.round(rng.normal(size=(200, 4)), 1)) * scale, np.array([2.0, 9.5, 0.38, 0.1])
    both = np.vstack([observed, drawn])
    p = np.array([[(row > far).mean() + (row == far).mean() / 2 for far in row] for row in both.T]).T
    want = by_definition(-p[0], -p[1:], 0.5, complete=False)
    found = step_down_min_p(NullDraws(observed, drawn, 0.5))
    np.testing.assert_allclose(found, want, rtol=1e-12)
    # where the flips of each row reach equally far it is max-t
    np.testing.assert_allclose(
        step_down_min_p(NullDraws(observed[:1], drawn[:, :1], 0.5)),
        step_down_max_t(NullDraws(observed[:1], drawn[:, :1], 0.5)),
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
    found = function(scores, reference="human", adjust=adjust, simultaneous=False).set_index("method")
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


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
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
    found = ss.difference(
        far, reference="human", adjust="max-t", simultaneous=False, test="bootstrap", n_replicates=999
    )
    assert (found["p_adjusted"] == 2 / 1000).all()
    assert (found["p_adjusted_floor"] == found["p_adjusted"]).all()


@pytest.mark.parametrize(
    ("options", "error", "fields"),
    [
        (
            {"adjust": "max-t", "test": "cr2"},
            SalstatsError,
            {"option": "adjust", "value": "max-t", "hint": "take test='wild'"},
        ),
        (
            {"adjust": "holm", "simultaneous": True},
            SalstatsError,
            {"option": "simultaneous", "value": True, "choices": ("max-t", "min-p", "single-step")},
        ),
        (
            {"adjust": "min-p", "margin": 0.05},
            SalstatsError,
            {"option": "adjust", "value": "min-p", "hint": "take adjust='holm'"},
        ),
        (
            {"adjust": "max-p"},
            ValueRangeError,
            {"option": "adjust", "value": "max-p", "match": "max-t, min-p"},
        ),
    ],
)
def test_options_that_do_not_go_together_are_an_error(options, error, fields):
    scores, _ = small_scores()
    with raises(error, **fields):
        ss.difference(scores, reference="human", **options)


@pytest.mark.parametrize("procedure", ["max-t", "min-p"])
def test_frames_without_flips_say_who_has_them(procedure):
    table = pd.DataFrame({"p_value": [0.01, 0.2], "iou": [0.1, 0.2], "prob": [0.1, 0.2]})
    for adjusted in (
        lambda: ss.adjust(table, procedure=procedure),
        lambda: ss.correlate(table, "iou", "prob", adjust=procedure),
    ):
        with raises(
            SalstatsError,
            value=procedure,
            hint=f"pass adjust={procedure!r} to difference() or percent_decrease()",
        ):
            adjusted()


def test_a_family_too_large_for_the_replicates_is_refused():
    scores = small_scores(40)[0].assign(metric="gain")
    with raises(ValueRangeError, option="n_replicates", value=21) as error:
        ss.difference(scores, reference="human", adjust="max-t", simultaneous=True, n_replicates=21)
    # of a level between 0.98 and 0.99: one flip beyond the limits on either side together, 1 / (1 - level)
    (setting,) = error.value.hint.settings()
    assert 50 <= setting.value < 100


def random_study(rng):
    """Hits or other scores of one to five methods in one or two tasks, of units of one to three cases."""
    n_units = int(rng.integers(5, 40))
    units = np.repeat(np.arange(n_units), rng.integers(1, 4, n_units))
    n_cases, is_binary = len(units), rng.random() < 0.4
    parts = []
    for task in ("a", "b")[: rng.integers(1, 3)]:
        human = rng.normal(size=n_units)[units] + rng.normal(size=n_cases)
        columns = {"human": human}
        for method in range(rng.integers(1, 6)):
            noise = rng.normal(size=n_cases) * rng.choice([0.2, 1.0, 2.0])
            columns[f"m{method}"] = human * rng.choice([0.3, 1.0]) + noise - rng.choice([0, 0.2, 0.4])
        frame = pd.DataFrame(columns)
        frame = (frame > 0).astype(float) if is_binary else 1 / (1 + np.exp(-frame))
        frame = frame.assign(case=np.arange(n_cases), patient=units, task=task)
        parts.append(frame.melt(["case", "patient", "task"], var_name="method", value_name="score"))
    return pd.concat(parts, ignore_index=True).assign(metric="hit" if is_binary else "iou")


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    "function", [ss.difference, pytest.param(ss.percent_decrease, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("adjust", "p_value", "level"),
    [
        ("max-t", "p_adjusted", "family_level"),
        ("min-p", "p_adjusted", "family_level"),
        ("none", "p_value", "conf_level"),
    ],
)
def test_p_values_are_small_where_limits_leave_0_out_and_only_there(function, adjust, p_value, level):
    rng = np.random.default_rng(17)
    n_rows = n_near = 0
    for seed in range(20):
        scores = random_study(rng)
        found = function(
            scores,
            reference=str(rng.choice(["human", "all"])),
            adjust=adjust,
            average="task" if scores["task"].nunique() > 1 else None,
            level=float(rng.choice([0.9, 0.95])),
            n_replicates=int(rng.choice([999, 1_500])),
            rng=seed,
        )
        # a limit that is 0 itself, as hits have it, is on either side of the level
        known = found[
            (found["conf_high"] > found["conf_low"]) & (found["conf_low"] * found["conf_high"] != 0)
        ]
        outside = (known["conf_low"] > 0) | (known["conf_high"] < 0)
        alpha = (1 - known[level]) * (1 + 1e-9)
        assert ((known[p_value] <= alpha) == outside).all()
        assert ((known["verdict"] != "inconclusive") == outside).all()
        n_rows += len(known)
        n_near += int(((known[p_value] - alpha).abs() < 0.05).sum())
    assert n_rows > 100
    assert n_near > 3


def test_limits_of_a_family_go_with_its_p_values_unless_they_are_declined():
    scores = small_scores(40)[0].assign(metric="gain")
    both = ss.difference(scores, reference="human", adjust="max-t")
    assert (both["family_level"] == 0.95).all()
    pd.testing.assert_frame_equal(ss.difference(scores, reference="human", simultaneous=True), both)
    singly = ss.difference(scores, reference="human", adjust="min-p", simultaneous=False)
    assert "family_level" not in singly.columns
    plain = ss.difference(scores, reference="human")
    pd.testing.assert_frame_equal(singly[["conf_low", "conf_high"]], plain[["conf_low", "conf_high"]])
    # step-down P values are no larger
    assert (singly["p_adjusted"] <= both["p_adjusted"] + 1e-12).all()


def test_averages_are_a_family_of_their_own_with_limits_at_a_level_of_their_own():
    scores = ss.datasets.load_simulated()
    common = {"reference": "human", "adjust": "max-t"}
    found = ss.difference(scores, average="task", **common)
    average = found["task"] == "Average"
    assert found["n_tests"].to_numpy().tolist() == np.where(average, 4, 20).tolist()
    alone = ss.difference(scores, **common)
    pd.testing.assert_frame_equal(found[~average].reset_index(drop=True), alone, check_dtype=False)
    assert found["conf_level"][average].nunique() == 1
    assert found["conf_level"][average].max() < found["conf_level"][~average].min()


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_max_t_above_a_p_value_at_its_floor_is_no_bound():
    """Draws of other methods exceed its statistic, so that a smaller P value of its own changes nothing."""
    rng = np.random.default_rng(0)
    reference = rng.normal(size=60)
    columns = {"human": reference, "a": reference + 0.38 + rng.normal(size=60)}
    for method in "bcdefg":
        columns[method] = reference + rng.normal(size=60)
    frame = pd.DataFrame({"case": np.arange(60), "metric": "gain", **columns})
    scores = frame.melt(["case", "metric"], var_name="method", value_name="score")
    options = {"reference": "human", "simultaneous": False, "test": "bootstrap", "n_replicates": 199}
    found = ss.difference(scores, adjust="max-t", **options).set_index("method").loc["a"]
    assert found["p_value"] == 2 / 200 < found["p_adjusted"]
    assert np.isnan(found.get("p_adjusted_floor", np.nan))


@pytest.mark.parametrize("n_draws", [39, 99, 100])
@pytest.mark.parametrize("complete", [True, False])
def test_a_p_value_is_adjusted_to_the_level_where_it_is_at_the_joint_level(n_draws, complete):
    draws = np.abs(np.random.default_rng(3).normal(size=(n_draws, 1))) + np.zeros((n_draws, 3))
    draws[:, 2] = np.abs(np.random.default_rng(4).normal(size=n_draws))
    family = NullDraws(np.ones(3), draws, complete=complete)
    for level in (0.95, 0.9, 0.8):
        alpha = 1 - joint_level(family, level)
        p_values = np.array([alpha - 1e-6, alpha + 1e-6, 0.5 * alpha])
        adjusted = single_step_min_p(family, p_values)
        assert (adjusted <= 1 - level + 1e-9).tolist() == [True, False, True]
