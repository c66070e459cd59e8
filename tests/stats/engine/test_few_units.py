"""How few units an estimate rests on, and the rows that say so."""

import numpy as np
import pandas as pd
import pytest
from tests_support import warns

import salstats as ss
from salstats.errors import SalstatsWarning
from salstats.stats.engine.cautions import FEW_EVENTS, FEW_UNITS
from salstats.stats.engine.few_units import (
    are_both_near_0_or_1,
    are_few_events,
    are_few_misranked,
    count_units_with_rarer_value,
    has_few_effective_units,
    has_few_effective_units_by_estimate,
)


def paired_hits(n, n_discordant):
    """Two methods that hit all but differ on some cases."""
    own = np.ones(n)
    own[:n_discordant] = 0
    cases = [f"c{i:03d}" for i in range(n)]
    parts = [
        pd.DataFrame({"case": cases, "method": method, "metric": "hit", "score": score})
        for method, score in (("cam", own), ("human", np.ones(n)))
    ]
    return pd.concat(parts, ignore_index=True)


def caution_of(frame):
    return frame.get("caution", pd.Series(None, index=frame.index)).iloc[0]


def test_units_are_worth_as_many_equal_ones_as_kish_says():
    sizes = np.array([[1.0, 40], [1, 40], [1, 3], [1, 3], [1, 3]])
    # (89)^2 / (2 * 1600 + 3 * 9) = 2.45
    assert has_few_effective_units(sizes).tolist() == [False, True]
    # four equal ones are enough, three and a small one are not
    of_four = np.array([[2.0, 2], [2, 2], [2, 2], [2, 1]])
    assert has_few_effective_units(of_four).tolist() == [False, True]
    assert has_few_effective_units_by_estimate(
        [np.array([0, 0, 1, 1, 2, 3, 2, 3]), np.array([0, 1, 2, 2])]
    ).tolist() == [
        False,
        True,
    ]


def test_the_rarer_of_two_values_is_counted_by_unit():
    assert count_units_with_rarer_value(np.array([0.0, 0, 1, 1, 1]), np.array([7, 7, 1, 2, 3])) == 1
    assert count_units_with_rarer_value(np.array([0.0, 0.5, 1]), np.arange(3)) == np.inf


def test_areas_near_1_of_few_positives_are_rough():
    # of 10 positives one in 20 pairs is half a misranked positive
    assert are_few_misranked(np.array([0.95, 0.75, 0.05]), np.array([10, 10, 10])).tolist() == [
        True,
        False,
        True,
    ]


def test_hits_of_patients_that_differ_on_few_have_a_caution_and_those_of_many_have_none():
    def of_patients(n_discordant):
        scores = paired_hits(80, n_discordant)
        return scores.assign(patient="p" + scores["case"].str[1:].astype(int).floordiv(2).astype("str"))

    few = ss.difference(of_patients(4), reference="human", by=())
    many = ss.difference(of_patients(30), reference="human", by=())
    assert caution_of(few) == FEW_EVENTS.name
    assert "caution" not in many.columns


def test_a_difference_of_which_no_pair_is_defined_has_no_caution():
    rng = np.random.default_rng(0)
    cases = [(t, m, f"c{c}") for t in ("a", "b") for m in ("gradcam", "human") for c in range(30)]
    scores = pd.DataFrame(cases, columns=["task", "method", "case"])
    scores = scores.assign(patient=scores["case"].str[:-1], metric="iou", score=rng.random(len(scores)))
    both = pd.concat([scores, scores.assign(metric="hd95", score=np.nan)])
    with pytest.warns(SalstatsWarning):
        found = ss.difference(both, reference="human", average="task", n_replicates=99)
    undefined = found[found["metric"] == "hd95"]
    assert undefined["estimate"].isna().all()
    assert "caution" not in undefined or undefined["caution"].isna().all()


def test_score_limits_of_independent_hits_hold_however_few_differ():
    assert "caution" not in ss.difference(paired_hits(50, 4), reference="human", by=()).columns
    flipped = ss.difference(paired_hits(50, 4), reference="human", by=(), interval="wild")
    assert caution_of(flipped) == FEW_EVENTS.name


def test_a_correlation_with_few_misses_has_a_caution():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"case": np.arange(60), "x": rng.standard_normal(60), "hit": np.ones(60)})
    table.loc[:3, "hit"] = 0
    assert caution_of(ss.correlate(table, "x", "hit")) == FEW_EVENTS.name
    table.loc[:20, "hit"] = 0
    assert "caution" not in ss.correlate(table, "x", "hit").columns
    assert "caution" not in ss.correlate(table.assign(hit=rng.random(60)), "x", "hit").columns


def test_an_area_near_1_of_few_positives_has_a_caution():
    rng = np.random.default_rng(0)
    label = np.repeat([1, 0], [8, 40])
    near_1 = pd.DataFrame({"prob": rng.standard_normal(48) + 2.5 * label, "label": label})
    near_1.loc[0, "prob"] = 0
    assert caution_of(ss.auroc(near_1, "prob", "label", unit=None)) == FEW_EVENTS.name
    usual = near_1.assign(prob=rng.standard_normal(48) + label)
    assert "caution" not in ss.auroc(usual, "prob", "label").columns


def test_readings_with_few_exceptions_have_a_caution():
    cases = [f"c{i:02d}" for i in range(30)]
    readings = np.ones((30, 2))
    readings[:4, 0] = 0
    readings[2:5, 1] = 0
    parts = [
        pd.DataFrame({"case": cases, "reader": f"r{j}", "method": "human", "metric": "hit", "score": column})
        for j, column in enumerate(readings.T)
    ]
    scores = pd.concat(parts, ignore_index=True)
    with warns(column="n_units", rows=(0,), value=5):
        kappa = ss.agreement(scores, kind="fleiss")
    assert caution_of(kappa) == FEW_EVENTS.name
    # limits of Gwet's coefficient hold there
    assert "caution" not in ss.agreement(scores, kind="ac1").columns


def test_two_patients_with_most_of_the_cases_are_few_units():
    rng = np.random.default_rng(0)
    patients = np.repeat([f"p{i}" for i in range(8)], [40, 40, 1, 2, 3, 1, 2, 1])
    scores = pd.DataFrame({"case": np.arange(len(patients)), "patient": patients, "method": "cam"})
    scores = scores.assign(metric="iou", score=rng.random(len(patients)))
    assert FEW_UNITS.name in caution_of(ss.summarize(scores, by="method"))
    assert "caution" not in ss.summarize(scores.drop(columns="patient"), by="method").columns


def test_ten_units_of_the_rarer_outcome_are_enough():
    assert are_few_events(np.array([9, 10, np.inf])).tolist() == [True, False, False]
    # two units with a 0 and three with a 1, of which one has both
    values, units = np.array([0.0, 0, 1, 1, 1, 1]), np.array([0, 1, 1, 2, 3, 3])
    assert count_units_with_rarer_value(values, units) == 2
    assert count_units_with_rarer_value(1 - values, units) == 2


def test_two_areas_are_too_near_1_if_both_are():
    # 10 * (1 - .9) = 1 and 10 * (1 - .8) = 2 against 1.25; areas near 0 alike
    area, reference = np.array([0.9, 0.9, 0.1, 0.95]), np.array([0.9, 0.8, 0.95, 0.2])
    found = are_both_near_0_or_1(area, reference, np.full(4, 10))
    assert found.tolist() == [True, False, True, False]
