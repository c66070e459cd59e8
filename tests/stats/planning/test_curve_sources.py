import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError
from salstats.stats.planning import curve_sources
from salstats.stats.planning.studies import Plan

COMPONENTS = {"error": 8.0, "cov1": 3.0, "cov2": 2.5, "cov3": 2.0, "method:reader": 1.5, "n_cases": 40}


def pilot_scores(method_scores, reference_scores, metric="gap", patients=None):
    """Scores of one method and the reference on the same cases."""
    n = len(method_scores)
    columns = {
        "case": [f"c{i}" for i in range(n)] * 2,
        "metric": metric,
        "method": np.repeat(["cam", "human"], n),
        "score": np.concatenate([method_scores, reference_scores]),
    }
    if patients is not None:
        columns["patient"] = [f"p{i}" for i in patients] * 2
    return pd.DataFrame(columns)


def curves_of_pilot(scores, plan, effects):
    rng = np.random.default_rng(0)
    return list(curve_sources.curves_of_pilot(scores, plan, effects, "human", None, None, rng))


@pytest.fixture
def scores():
    rng = np.random.default_rng(4)
    reference = rng.normal(0.6, 0.1, 30)
    return pilot_scores(reference - 0.1 + rng.normal(0, 0.05, 30), reference)


def test_curves_of_a_pilot_have_its_sd_at_every_effect(scores):
    curves = curves_of_pilot(scores, Plan("difference", 0.95), [-0.05, 0.02, None])
    wide = scores.pivot(index="case", columns="method", values="score")
    difference = wide["cam"] - wide["human"]
    effects = [-0.05, 0.02, difference.mean()]
    for curve, effect in zip(curves, effects, strict=True):
        assert curve.keys["effect"] == pytest.approx(effect)
        assert curve.tested_effect == pytest.approx(effect)
        assert curve.keys["sd"] == pytest.approx(difference.std(ddof=1))
        assert curve.keys["reference_mean"] == pytest.approx(wide["human"].mean())
        assert curve.keys["method_mean"] == pytest.approx(wide["human"].mean() + effect)
        assert (curve.keys["n_pilot"], curve.keys["unit"]) == (30, "case")
        std_error, df = curve.tested_precision(25)
        assert std_error == pytest.approx(difference.std(ddof=1) / 5)
        assert df == 24
        assert not curve.has_few_units


def test_a_decrease_is_tested_as_the_difference_that_it_makes(scores):
    (curve,) = curves_of_pilot(scores, Plan("percent_decrease", 0.95), [20.0])
    reference_mean = scores.loc[scores["method"] == "human", "score"].mean()
    assert curve.keys["effect"] == 20.0
    assert curve.tested_effect == pytest.approx(-0.2 * reference_mean)
    # The margin of a decrease is one of percentages.
    (curve,) = curves_of_pilot(scores, Plan("percent_decrease", 0.95, margin=30.0), [20.0])
    assert curve.tested_effect == 20.0
    assert curve.margin_bounds == (-30.0, 30.0)


def test_the_margin_of_a_curve_is_that_of_its_metric(scores):
    both = pd.concat([scores, scores.assign(metric="lead")])
    curves = curves_of_pilot(both, Plan("difference", 0.95, margin={"gap": 0.1, "lead": (None, 0.3)}), [0.0])
    assert [curve.metric for curve in curves] == ["gap", "lead"]
    assert [curve.margin_bounds for curve in curves] == [(-0.1, 0.1), (-np.inf, 0.3)]
    assert curves[1].plan.margin == (None, 0.3)
    with raises(ValueRangeError, option="margin"):
        curves_of_pilot(scores, Plan("difference", 0.95, margin={"lead": 0.1}), [0.0])
    with raises(ValueRangeError, option="effect", value=0.1):
        curves_of_pilot(scores, Plan("difference", 0.95, margin=0.1), [0.1])
    with raises(ValueRangeError, option="effect", value=-0.1):
        curves_of_pilot(scores, Plan("difference", 0.95, margin=0.1), [-0.1])


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_a_pilot_of_five_units_plans_nothing():
    rng = np.random.default_rng(5)
    scores = pilot_scores(rng.uniform(size=12), rng.uniform(size=12), patients=np.arange(12) % 5)
    with pytest.raises(SalstatsError):
        curves_of_pilot(scores, Plan("difference", 0.95), [0.1])
    scores = pilot_scores(rng.uniform(size=12), rng.uniform(size=12), patients=np.arange(12) % 6)
    (curve,) = curves_of_pilot(scores, Plan("difference", 0.95), [0.1])
    assert curve.cases_per_unit == 2.0
    assert curve.has_few_units


def test_curves_of_parameters_have_clusters_and_tested_differences():
    parameters = {"sd": 0.2, "correlation": 0.5, "mean_reference": 0.4, "icc": 0.25, "cluster_size": 3}
    difference, none = curve_sources.curves_of_parameters(parameters, Plan("difference", 0.95), [0.05, None])
    # The difference of a case has SD 0.2, and the mean of three with ICC 0.25 sqrt(1.5 / 3) times that.
    assert difference.keys == {"effect": 0.05, "sd": pytest.approx(0.2 * np.sqrt(0.5)), "unit": "cluster"}
    assert difference.cases_per_unit == 3.0
    assert "effect" not in none.keys
    assert none.tested_effect == 0.0
    (decrease,) = curve_sources.curves_of_parameters(parameters, Plan("percent_decrease", 0.95), [10.0])
    assert decrease.tested_effect == pytest.approx(-0.04)
    assert decrease.tested_precision(9).std_error == pytest.approx(0.2 * np.sqrt(0.5) / 3)
    # SD of method - 0.9 reference, in percent of the reference's mean
    sd = 0.2 * np.sqrt(1 + 0.81 - 0.9) * np.sqrt(0.5)
    assert decrease.keys["sd"] == pytest.approx(100 * sd / 0.4)


def test_a_number_of_pilot_units_gives_parameters_limits():
    plan = Plan("difference", 0.95)
    (known,) = curve_sources.curves_of_parameters({"sd_difference": 0.2}, plan, [0.1])
    assert known.error_limit_ratios is None
    (small,) = curve_sources.curves_of_parameters({"sd_difference": 0.2, "n_pilot": 19}, plan, [0.1])
    (large,) = curve_sources.curves_of_parameters({"sd_difference": 0.2, "n_pilot": 20}, plan, [0.1])
    assert small.has_few_units
    assert not large.has_few_units
    # Tables of chi-squared with 19 degrees of freedom: 0.025 below 8.907, 0.025 above 32.852.
    assert large.error_limit_ratios == pytest.approx((np.sqrt(19 / 32.852), np.sqrt(19 / 8.907)), rel=1e-4)
    assert large.keys["n_pilot"] == 20


def test_curves_of_readers_are_one_for_each_number_of_readers():
    plan = Plan("difference", 0.95)
    random = (True, True)
    curves = list(curve_sources.curves_of_readers(COMPONENTS, plan, [0.1, 0.2], [4, 6], random, None, None))
    keys = [(curve.keys["effect"], curve.keys["n_readers"]) for curve in curves]
    assert keys == [(0.1, 4), (0.1, 6), (0.2, 4), (0.2, 6)]
    assert {curve.keys["inference_to"] for curve in curves} == {"readers and cases"}
    # At the pilot's own number of cases: MS(TR) = 1.5 + 8 - 3 - 0.5, D = MS(TR) + r (cov2 - cov3)
    for curve, n_readers in zip(curves[:2], [4, 6], strict=True):
        d = 6.0 + n_readers * 0.5
        assert curve.precision(40).std_error == pytest.approx(np.sqrt(2 * d / n_readers))
        assert curve.error_limit_ratios is None
    with raises(SalstatsError, option="n_readers"):
        list(curve_sources.curves_of_readers(COMPONENTS, plan, [0.1], None, random, None, None))


def test_scores_of_readers_stand_for_their_components():
    index = pd.MultiIndex.from_product(
        [range(24), list("abc"), ["cam", "human"]], names=["case", "reader", "method"]
    )
    score = np.random.default_rng(9).uniform(size=len(index))
    scores = pd.DataFrame({"metric": "iou", "score": score}, index=index).reset_index()
    plan = Plan("difference", 0.95)
    (of_scores,) = curve_sources.curves_of_readers(scores, plan, [0.1], [4], (True, True), None, None)
    components = ss.mrmc_components(scores)
    (expected,) = curve_sources.curves_of_readers(components, plan, [0.1], [4], (True, True), None, None)
    assert of_scores.keys == expected.keys
    assert of_scores.precision(24) == expected.precision(24)
    assert of_scores.error_limit_ratios == expected.error_limit_ratios
    assert of_scores.error_limit_ratios is not None
