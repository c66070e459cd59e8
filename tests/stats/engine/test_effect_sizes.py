"""Standardised effect sizes of difference(): against R's effectsize, pingouin, and simulated studies."""

from pathlib import Path

import numpy as np
import pandas as pd
import pingouin
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError, SalstatsWarning, Setting, ValueRangeError
from salstats.stats.engine.effect_sizes import EFFECT_SIZES, RECORDS

REFERENCE = Path(__file__).parents[2] / "reference"
# sums in another order
AGREES = 1e-9
PINGOUIN_NAMES = {"g": "hedges", "d_av": "cohen", "cles": "cles"}
LIMITS = ["effect", "effect_low", "effect_high"]
# R's sets are small on purpose
pytestmark = pytest.mark.filterwarnings("ignore:.*fewer than (20|4) gives:salstats.errors.SalstatsWarning")


def scores_of(pairs: pd.DataFrame) -> pd.DataFrame:
    """Scores frame of the pairs of several sets, each a task."""
    cases = pairs.assign(case=[f"c{i:04d}" for i in range(len(pairs))], metric="rating", task=pairs["set"])
    wide = cases.rename(columns={"unit": "patient"}).drop(columns=["set"])
    keys = [c for c in ("case", "metric", "task", "patient") if c in wide.columns]
    return wide.melt(keys, ["x", "y"], var_name="method", value_name="score")


def effects_of(pairs: pd.DataFrame, name: str, **options) -> pd.DataFrame:
    options = {"reference": "y", "interval": "t", "by": "task"} | options
    return ss.difference(scores_of(pairs), effect_size=name, **options).set_index("task")


@pytest.fixture(scope="module")
def pairs() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "correlation" / "pairs.csv")[["set", "unit", "x", "y"]]


@pytest.mark.parametrize("name", ["d_z", "g_z", "cles"])
def test_sizes_are_those_of_effectsize(pairs, name):
    expected = pd.read_csv(REFERENCE / "effect_sizes" / "sizes.csv").set_index("set")
    found = effects_of(pairs, name)
    assert_allclose(found["effect"], expected.loc[found.index, name], rtol=AGREES)


@pytest.mark.parametrize(("name", "column"), [("d_z", "dz"), ("g_z", "g"), ("d_av", "d_av")])
def test_sizes_of_small_sets_are_those_of_the_r_oracle(r_data, r_expected, name, column):
    small = r_data("paired_small")
    expected = r_expected("paired_effectsize").set_index("set")
    found = effects_of(small, name)
    assert len(found) == 4
    assert_allclose(found["effect"], expected.loc[found.index, column], rtol=AGREES)


@pytest.mark.parametrize("name", list(PINGOUIN_NAMES))
def test_sizes_are_those_of_pingouin(pairs, name):
    found = effects_of(pairs, name)
    for task, rows in pairs.groupby("set"):
        want = pingouin.compute_effsize(rows["x"], rows["y"], paired=True, eftype=PINGOUIN_NAMES[name])
        assert_allclose(found.loc[task, "effect"], want, rtol=AGREES)
    assert set(found["effect_size"]) == {name}


@pytest.mark.parametrize("name", EFFECT_SIZES)
@pytest.mark.parametrize("kind", ["continuous", "hits"])
def test_influence_is_the_change_by_one_more_pair(name, kind):
    rng = np.random.default_rng(2)
    n, times = 25, 400
    own, other = rng.normal(size=(2, n)) + rng.normal(size=n) + [[0.6], [0]]
    if kind == "hits":
        own, other = (own > 0.3) * 1.0, (other > 0.3) * 1.0
    found = RECORDS[name].kernel(own, other).influences
    # n - 1 and n are one among many copies, but not among 25 pairs
    assert_allclose(found.sum(), 0, atol=1e-9)
    kernel = RECORDS[name].kernel
    every = np.tile(np.arange(n), times)
    moved = []
    for i in range(n):
        more, less = np.append(every, i), np.delete(every, i)
        change = kernel(own[more], other[more]).estimate - kernel(own[less], other[less]).estimate
        moved.append(change / 2 * len(every))
    assert_allclose(found, moved, rtol=0.1, atol=0.02)


@pytest.mark.parametrize("name", EFFECT_SIZES)
def test_limits_are_clustered_by_patient(pairs, name):
    """Patients who all stand twice tell nothing new; cases that do, taken for independent, seem to."""
    once = pairs[pairs["set"] == "large"]
    twice = pd.concat([once, once], ignore_index=True)
    clustered = [effects_of(table, name, unit="patient").loc["large", LIMITS] for table in (once, twice)]
    # n - 1 and the correction differ
    assert_allclose(clustered[1].astype(float), clustered[0].astype(float), atol=0.01)
    alone = [
        effects_of(table.drop(columns="unit"), name, unit="case").loc["large", LIMITS]
        for table in (once, twice)
    ]
    width = [row["effect_high"] - row["effect_low"] for row in alone]
    assert_allclose(width[1] / width[0], np.sqrt(0.5), rtol=0.03)


def test_an_overall_row_has_a_size_and_an_average_has_none(pairs):
    options = {"reference": "y", "interval": "t", "by": "task", "effect_size": "g", "unit": "case"}
    scores = scores_of(pairs.drop(columns="unit"))
    found = ss.difference(scores, overall=True, average="task", **options).set_index("task")
    want = pingouin.compute_effsize(pairs["x"], pairs["y"], paired=True, eftype="hedges")
    assert_allclose(found.loc["Overall", "effect"], want, rtol=AGREES)
    assert found.loc["Average", LIMITS].isna().all()
    assert found.columns[-4:].tolist() == ["effect_size", *LIMITS]
    plain = ss.difference(scores, overall=True, average="task", **options | {"effect_size": None})
    pd.testing.assert_frame_equal(found[plain.columns.drop("task")], plain.set_index("task"))


def test_what_has_no_size_is_missing_and_what_cannot_be_asked_is_said(pairs):
    equal = pairs[pairs["set"] == "small"].assign(x=0.5, y=0.5)
    with pytest.warns(SalstatsWarning):
        assert effects_of(equal, "g", unit="case")[LIMITS].isna().all(axis=None)
    scores = scores_of(pairs)
    with raises(ValueRangeError, option="effect_size", value="hedges"):
        ss.difference(scores, reference="y", effect_size="hedges")
    with raises(SalstatsError, option="effect_size") as error:
        ss.difference(scores, reference="y", effect_size="g", pairs="available")
    assert Setting("pairs", "complete") in error.value.message.settings()
    with raises(SalstatsError, option="effect_size", hint=Setting("weights")):
        ss.difference(scores, reference="y", effect_size="g", weights="unit")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["g", "d_z", "cles"])
def test_limits_hold_for_scores_of_thirty_patients(name):
    """30 patients of 1 to 7 images whose scores lie between 0 and 1; the truth is that of 300,000 pairs."""
    random, n_studies = np.random.default_rng(7), 500

    def pairs_of(n_units):
        unit = np.repeat(np.arange(n_units), random.integers(1, 8, n_units))
        level, own = random.normal(size=(2, n_units))[:, unit], random.normal(size=(3, len(unit)))
        x = 0.6 * (level[0] + own[0] + own[1])
        y = 0.6 * (level[0] + 0.5 * level[1] + own[0] + own[2]) + 0.7
        return unit, stats.logistic.cdf(1.5 * x - 1.5), stats.logistic.cdf(1.5 * y - 1.5)

    _, x, y = pairs_of(75_000)
    truth = RECORDS[name].kernel(y, x).estimate
    parts = []
    for study in range(n_studies):
        unit, x, y = pairs_of(30)
        parts.append(pd.DataFrame({"set": f"{study:04d}", "unit": unit + 30 * study, "x": y, "y": x}))
    found = effects_of(pd.concat(parts, ignore_index=True), name, unit="patient")
    n_held = ((found["effect_low"] <= truth) & (found["effect_high"] >= truth)).sum()
    # one in 10,000 runs would fall below
    assert n_held >= stats.binom.ppf(1e-4, n_studies, 0.94)


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("name", ["d_z", "g_z"])
def test_a_shift_that_is_constant_but_for_rounding_has_no_size_by_its_sd(name):
    scores = np.random.default_rng(0).uniform(0, 0.8, 20)
    parts = {"a": scores + 0.1, "b": scores}
    frame = pd.concat(
        [
            pd.DataFrame({"case": np.arange(20), "method": method, "metric": "iou", "score": values})
            for method, values in parts.items()
        ]
    )
    found = ss.difference(frame, reference="b", effect_size=name)
    assert found[["effect", "effect_low", "effect_high"]].isna().all(axis=None)
    assert found["estimate"].item() == pytest.approx(0.1)


@pytest.mark.parametrize("name", EFFECT_SIZES)
def test_limits_are_by_students_t_from_influences_of_pairs(name):
    rng = np.random.default_rng(9)
    own, other = rng.normal(size=(2, 40)) + rng.normal(size=40) + [[0.4], [0]]
    pairs = pd.DataFrame({"set": "a", "x": own, "y": other})
    found = effects_of(pairs, name, level=0.9).loc["a", LIMITS].astype(float)
    estimate, influences = RECORDS[name].kernel(own, other)
    # one pair in each unit: CR2 is the variance of the mean with n - 1
    error = np.sqrt((influences**2).sum() / 40 / 39)
    scale = 1.0
    centre = estimate
    if RECORDS[name].logit:
        scale = estimate * (1 - estimate)
        centre = np.log(estimate / (1 - estimate))
    low, high = found["effect_low"], found["effect_high"]
    if RECORDS[name].logit:
        low, high = (np.log(limit / (1 - limit)) for limit in (low, high))
    assert found["effect"] == pytest.approx(estimate)
    assert (low + high) / 2 == pytest.approx(centre, rel=1e-6)
    # the degrees of freedom are at most n - 1, and fewer where few pairs decide the variance
    quantile = (high - low) / 2 * scale / error
    assert stats.t.ppf(0.95, 39) <= quantile * (1 + 1e-9) < stats.t.ppf(0.95, 5)


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_few_pairs_have_no_size_and_few_units_have_no_limits():
    x, y = [0.1, 0.5, 0.3, 0.9, 0.7, 0.2], [0.2, 0.4, 0.6, 0.5, 0.1, 0.3]
    pairs = pd.DataFrame({"set": "a", "unit": list("uvwwuv"), "x": x, "y": y})
    gap = pairs["x"] - pairs["y"]
    of_three_units = effects_of(pairs, "d_z").loc["a", LIMITS]
    assert of_three_units["effect"] == pytest.approx(gap.mean() / gap.std())
    assert of_three_units[["effect_low", "effect_high"]].isna().all()
    of_four_units = effects_of(pairs.assign(unit=list("uvwzuv")), "d_z").loc["a", LIMITS]
    assert of_four_units.notna().all()
    assert effects_of(pairs.iloc[:3].assign(unit=list("uvw")), "d_z").loc["a", "effect"] == pytest.approx(
        gap[:3].mean() / gap[:3].std()
    )
    assert effects_of(pairs.iloc[:2], "d_z").loc["a", LIMITS].isna().all()


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_scores_that_are_all_0_are_as_often_above_as_below():
    pairs = pd.DataFrame({"set": "a", "unit": list("uvwxyz"), "x": 0.0, "y": 0.0})
    assert effects_of(pairs, "cles").loc["a", "effect"] == 0.5
    assert np.isnan(effects_of(pairs, "d_z").loc["a", "effect"])
