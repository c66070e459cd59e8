import numpy as np
import pandas as pd
import pytest
from stats.planning.test_populations import clustered, clustered_hits

import salstats as ss
from salstats.stats.planning import formulas
from salstats.stats.planning.populations import StudySampler, move_pilot
from salstats.stats.planning.studies import Plan, simulate_studies


def frame_of_pairs(pairs, metric):
    """Scores of one drawn study, as a frame of the package."""
    n = len(pairs.method_scores)
    columns = {
        "case": [f"c{i}" for i in range(n)] * 2,
        "patient": [f"p{unit}" for unit in pairs.units.codes] * 2,
        "metric": metric,
        "method": np.repeat(["cam", "human"], n),
        "score": np.concatenate([pairs.method_scores, pairs.reference_scores]),
    }
    return pd.DataFrame(columns)


def test_studies_of_one_call_are_analysed_as_each_alone():
    # Nine units have so few patterns of signs that all are enumerated, and no random number matters.
    sampler = StudySampler(move_pilot(clustered(40), "difference", -0.1, "gain"), 9, 4)
    options = {"jobs": None, "progress": False}
    counts = simulate_studies({9: sampler}, Plan("difference", 0.95), "gain", 40, **options)[9]
    frames = [frame_of_pairs(sampler.draw_pairs(range(i, i + 1)), "gain") for i in range(40)]
    single = [ss.difference(frame, reference="human", unit="patient", n_replicates=1000) for frame in frames]
    single = pd.concat(single)
    assert 0 < counts.n_reaching_goal < 40
    assert counts.n_reaching_goal == (single["verdict"] != "inconclusive").sum()
    assert counts.width == pytest.approx((single["conf_high"] - single["conf_low"]).mean())
    assert counts.n_pairs == pytest.approx(single["n_pairs"].mean())
    assert counts.interval == single["interval"].mode()[0]
    assert counts.test == single["test"].mode()[0]


@pytest.mark.parametrize("test", ["wild", "cr2"])
def test_a_test_that_is_given_decides_by_its_p_value(test):
    sampler = StudySampler(move_pilot(clustered(40), "difference", -0.05, "gain"), 9, 4)
    options = {"jobs": None, "progress": False}
    counts = simulate_studies({9: sampler}, Plan("difference", 0.95, test=test), "gain", 30, **options)[9]
    n_significant = 0
    for i in range(30):
        frame = frame_of_pairs(sampler.draw_pairs(range(i, i + 1)), "gain")
        result = ss.difference(frame, reference="human", unit="patient", test=test, n_replicates=1000)
        n_significant += result["p_value"][0] < 0.05
    assert 0 < n_significant < 30
    assert counts.n_reaching_goal == n_significant


def test_margins_and_widths_decide_by_the_interval():
    sampler = StudySampler(move_pilot(clustered(40), "difference", 0.0, "gain"), 9, 4)
    options = {"jobs": None, "progress": False}
    frames = [frame_of_pairs(sampler.draw_pairs(range(i, i + 1)), "gain") for i in range(30)]
    plan = Plan("difference", 0.95, margin=0.08, interval="t")
    results = pd.concat(
        [
            ss.difference(frame, reference="human", unit="patient", interval="t", margin=0.08)
            for frame in frames
        ]
    )
    n_inside = results["verdict"].str.contains("equivalent|not inferior|not superior").sum()
    assert 0 < n_inside < 30
    assert simulate_studies({9: sampler}, plan, "gain", 30, **options)[9].n_reaching_goal == n_inside
    widths = results["conf_high"] - results["conf_low"]
    widest = float(widths.median())
    plan = Plan("difference", 0.95, width=widest, interval="t")
    assert (
        simulate_studies({9: sampler}, plan, "gain", 30, **options)[9].n_reaching_goal
        == (widths <= widest).sum()
    )


def test_counts_do_not_depend_on_the_number_of_processes():
    moved = move_pilot(clustered_hits(), "difference", -0.1, "hit")
    samplers = {n: StudySampler(moved, n, 5) for n in (10, 20)}
    plan = Plan("difference", 0.95, n_replicates=99)
    counts = simulate_studies(samplers, plan, "hit", 40, jobs=None, progress=False)
    assert list(counts) == [10, 20]
    assert simulate_studies(samplers, plan, "hit", 40, jobs=2, progress=False) == counts


def test_power_by_formula_is_that_of_the_goal():
    precision = formulas.precision_of_units(0.2, 50)
    difference = Plan("difference", 0.95)
    assert difference.goal == "difference"
    assert difference.power(precision, 0.05) == formulas.t_power(0.05, precision, 0.95)
    margin = Plan("difference", 0.95, margin=0.1)
    assert margin.goal == "margin"
    expected = formulas.margin_power(0.02, precision, -0.1, 0.1, 0.95)
    assert margin.power(precision, 0.02, (-0.1, 0.1)) == expected
    width = Plan("difference", 0.95, width=0.12)
    assert width.goal == "width"
    assert width.power(precision, 0.0) == formulas.width_power(0.12, precision, 0.95)


def test_an_interval_as_wide_as_the_goal_reaches_it():
    results = pd.DataFrame({"conf_low": [0.0, 0.25, -0.25], "conf_high": [0.25, 0.375, 0.25]})
    reached = Plan("difference", 0.95, width=0.25).reaches_goal(results)
    np.testing.assert_array_equal(reached, [True, True, False])


@pytest.mark.parametrize(
    ("term", "function"), [("difference", ss.difference), ("percent_decrease", ss.percent_decrease)]
)
def test_a_plan_analyses_scores_by_its_options(term, function):
    sampler = StudySampler(move_pilot(clustered(40), "difference", -0.1, "gain"), 9, 4)
    frame = frame_of_pairs(sampler.draw_pairs(range(1)), "gain")
    options = {"interval": "cr2", "test": "wild", "level": 0.9, "margin": 5.0, "n_replicates": 200}
    plan = Plan(term, options["level"], options["margin"], None, "cr2", "wild", 200)
    found = plan.analyse(frame, reference="human", unit="patient")
    pd.testing.assert_frame_equal(found, function(frame, reference="human", unit="patient", **options))
