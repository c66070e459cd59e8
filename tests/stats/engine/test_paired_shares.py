"""Score intervals and tests of paired 0/1 scores, against R and by enumeration of all studies."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError
from salstats.stats.engine.paired_shares import ratio_limits, tango_limits_of_share_difference

ORACLE = pd.read_csv(Path(__file__).parents[2] / "reference" / "paired_shares" / "shares.csv")
COUNTS = ["both", "only_method", "only_reference", "neither"]
#: The oracle holds 12 digits, and ratesci's closed form loses a few.
ATOL = 1e-9


def hits(both, only_method, only_reference, neither):
    """Scores of pairs, by how many of them score 1 where."""
    kinds = np.repeat([0, 1, 2, 3], [both, only_method, only_reference, neither])
    method, reference = np.isin(kinds, [0, 1]).astype(float), np.isin(kinds, [0, 2]).astype(float)
    return scores_of(method, reference)


def scores_of(method, reference, **columns):
    cases = [f"case{i}" for i in range(len(method))]
    rows = {"case": cases, "metric": "hit", **columns}
    parts = [pd.DataFrame({**rows, "method": "cam", "score": method})]
    parts.append(pd.DataFrame({**rows, "method": "human", "score": reference}))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("row", ORACLE.to_dict("records"))
def test_limits_and_p_values_are_those_of_r(row):
    scores = hits(*(int(row[c]) for c in COUNTS))
    gap = ss.difference(scores, reference="human", level=row["level"]).iloc[0]
    lost = ss.percent_decrease(scores, reference="human", level=row["level"]).iloc[0]
    limits = [gap["conf_low"], gap["conf_high"]]
    assert_allclose(limits, [row["difference_low"], row["difference_high"]], atol=ATOL)
    assert_allclose(limits, [row["propcis_low"], row["propcis_high"]], atol=2e-7)
    ratios = 1 - lost[["conf_high", "conf_low"]].to_numpy(dtype=float) / 100
    assert_allclose(ratios, [row["ratio_low"], row["ratio_high"]], atol=ATOL)
    assert_allclose([gap["p_value"], lost["p_value"]], row["p_value"], rtol=1e-10)
    assert [gap["interval"], lost["interval"]] == ["tango", "tang"]
    assert [gap["test"], lost["test"]] == ["score", "score"]
    # limits, P value and verdict are one procedure
    outside = row["p_value"] <= 1 - row["level"]
    assert (gap["conf_low"] > 0 or gap["conf_high"] < 0) == outside
    assert (lost["conf_low"] > 0 or lost["conf_high"] < 0) == outside
    assert (gap["verdict"] != "inconclusive") == (lost["verdict"] != "inconclusive") == outside


@pytest.mark.parametrize(
    ("method", "reference", "correlation", "n"),
    [
        (0.98, 0.98, 0, 40),
        (0.9, 0.9, 0.6, 20),
        (0.9, 0.8, 0.6, 30),
        (0.98, 0.88, 0.3, 30),
        (0.5, 0.5, 0.3, 10),
    ],
)
def test_they_hold_in_every_study_that_there_can_be(method, reference, correlation, n):
    spread = np.sqrt(method * (1 - method) * reference * (1 - reference))
    both = method * reference + correlation * spread
    counts = np.indices((n + 1,) * 3).reshape(3, -1).T
    counts = counts[counts.sum(axis=1) <= n]
    chances = [both, method - both, reference - both, 1 - method - reference + both]
    rest = n - counts.sum(axis=1, keepdims=True)
    chance = stats.multinomial.pmf(np.hstack([counts, rest]), n, chances)
    counts, chance = counts[chance > 1e-7], chance[chance > 1e-7]
    own, other = (counts[:, 0] + counts[:, 1]) / n, (counts[:, 0] + counts[:, 2]) / n
    variance = ((counts[:, 1] + counts[:, 2]) / n - (own - other) ** 2) / (n - 1)
    units = np.full(len(own), n)
    low, high = tango_limits_of_share_difference(own - other, np.sqrt(variance), units, 0.95)
    assert chance[(low <= method - reference) & (method - reference <= high)].sum() > 0.94
    low, high = ratio_limits(own, other, np.sqrt(variance), units, 0.95)
    assert chance[(low <= method / reference) & (method / reference <= high)].sum() > 0.94


def test_units_without_any_difference_have_limits():
    every = np.ones(40)
    every[0] = 0
    alone = scores_of(every, every)
    of_patients = scores_of(every, every, patient=[f"p{i // 2}" for i in range(40)])
    for scores, n_units in ((alone, 40), (of_patients, 20)):
        gap = ss.difference(scores, reference="human").iloc[0]
        z2 = stats.norm.ppf(0.975) ** 2
        # of no discordant pairs Tango's limits are those of Wilson's interval of a share of 0
        limits = np.array([-1, 1]) * z2 / (n_units + z2)
        assert_allclose([gap["conf_low"], gap["conf_high"]], limits, rtol=1e-9)
        assert [gap["p_value"], gap["n_units"], gap["verdict"]] == [1, n_units, "inconclusive"]
        lost = ss.percent_decrease(scores, reference="human").iloc[0]
        assert lost["conf_low"] < -5 < 5 < lost["conf_high"]


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("function", [ss.difference, ss.percent_decrease])
def test_only_single_pairs_of_0_and_1_have_them(function):
    own, other = np.array([1.0, 0, 0, 1, 1, 0, 1, 0]), np.array([1.0, 1, 1, 1, 0, 1, 1, 1])
    several = scores_of(own, other, patient=[f"p{i // 2}" for i in range(8)])
    points = scores_of(2 * own, other)
    # two scores of a patient add up to 1
    halves = np.tile([0.25, 0.75], 8)
    graded = scores_of(halves, halves, patient=[f"p{i // 2}" for i in range(16)])
    for scores in (several, points, graded):
        found = function(scores, reference="human").iloc[0]
        assert found["interval"] not in ("tango", "tang")
        assert found["test"] != "score"
    assert function(scores_of(own, other), reference="human")["test"].iloc[0] == "score"


def test_a_test_by_flips_and_a_joint_adjustment_flip_all_rows():
    scores = hits(30, 6, 2, 4)
    for options in ({"test": "wild"}, {"adjust": "max-t"}, {"interval": "wild"}):
        found = ss.difference(scores, reference="human", **options).iloc[0]
        assert [found["interval"], found["test"]] == ["wild", "wild"]
    by_t = ss.difference(scores, reference="human", test="t").iloc[0]
    assert [by_t["interval"], by_t["test"]] == ["tango", "t"]


def test_what_they_are_not_for_is_refused():
    own, other = np.array([1.0, 0, 0, 1, 1, 0]), np.array([1.0, 1, 1, 1, 0, 1])
    several = scores_of(own, other, patient=[f"p{i // 2}" for i in range(6)])
    for options in ({"interval": "tango"}, {"test": "score"}):
        ((option, choice),) = options.items()
        with raises(SalstatsError, option=option, value=choice, column="patient", rows=(0,)):
            ss.difference(several, reference="human", **options)
        with raises(ValueRangeError, option=option, value=choice, column="score"):
            ss.difference(scores_of(own / 2, other), reference="human", **options)
        with raises(SalstatsError, option=option, value=choice, hint=f"{option}='wild' allows them"):
            ss.difference(scores_of(own, other, task="a"), reference="human", average="task", **options)


@pytest.mark.parametrize(("function", "margin"), [(ss.difference, 0.1), (ss.percent_decrease, 10.0)])
def test_a_margin_is_held_where_the_interval_of_the_wider_level_lies_inside(function, margin):
    verdicts = set()
    for only_method in range(8):
        scores = hits(60, only_method, 2, 8)
        wide = function(scores, reference="human", level=0.9).iloc[0]
        found = function(scores, reference="human", margin=margin).iloc[0]
        inside = -margin < wide["conf_low"] and wide["conf_high"] < margin
        assert (found["p_margin"] < 0.05) == inside
        verdicts.add(inside)
    assert verdicts == {True, False}


def test_limits_are_widened_for_a_family_from_what_the_frame_holds():
    parts = [hits(*counts).assign(task=task) for task, counts in (("a", (30, 6, 2, 4)), ("b", (20, 9, 1, 5)))]
    scores = pd.concat(parts, ignore_index=True)
    family = ss.adjust(ss.difference(scores, reference="human"), procedure="bonferroni", intervals=True)
    again = ss.difference(scores, reference="human", level=0.975)
    assert_allclose(family[["conf_low", "conf_high"]], again[["conf_low", "conf_high"]], atol=1e-9)
