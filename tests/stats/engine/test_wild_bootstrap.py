"""Sign flips under the hypothesis: McNemar's mid-P, every pattern listed, limits where P crosses it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from tests_support import warns

import salstats as ss
from salstats.stats.engine.cr2 import cr2
from salstats.stats.engine.wild_bootstrap import (
    Contrast,
    all_signs_up_to_reversal,
    sign_flips_of_contrast,
    sign_patterns_up_to_reversal,
)

N_UNITS = 8


def _contrast(own: np.ndarray, other: np.ndarray | None, units: np.ndarray) -> tuple[Contrast, np.ndarray]:
    """The contrast of a mean, or of a ratio of means, and each unit's sums of what it is made of."""
    n = np.bincount(units).astype(np.float64)
    values = [own] if other is None else [own, other]
    sums = np.column_stack([np.bincount(units, v) for v in values])
    slopes = np.eye(len(values))
    found = cr2(sums, np.repeat(n[:, None], len(values), axis=1), slopes)
    parts = found.units.influence[:, [0]]
    if other is None:
        contrast = Contrast(
            np.array([own.mean()]), np.ones(1), parts, np.zeros_like(parts), found.units.leverage
        )
        return contrast, np.column_stack([sums[:, 0], n])
    of_other = found.units.influence[:, [1]]
    means = np.array([own.mean()]), np.array([other.mean()])
    return Contrast(*means, parts, of_other, found.units.leverage[:, [0]]), sums


def _mid_p(sums: np.ndarray, theta: float) -> float:
    """Mid-P of sum(own) = theta * sum(other), every pattern of signs written out."""
    patterns = np.array(np.meshgrid(*[[-1.0, 1.0]] * len(sums))).reshape(len(sums), -1).T
    parts = sums[:, 0] - theta * sums[:, 1]
    far, data = np.abs(patterns @ parts), abs(parts.sum())
    equal = np.isclose(far, data, rtol=0, atol=1e-10)
    return float(((far > data) & ~equal).mean() + equal.mean() / 2)


@pytest.mark.parametrize("ratio", [False, True])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_limits_are_where_p_crosses_the_level(ratio: bool, level: float) -> None:
    rng = np.random.default_rng(4)
    units = np.repeat(np.arange(N_UNITS), [1, 2, 9, 1, 3, 1, 4, 2])
    own, other = rng.beta(2, 5, len(units)), rng.beta(3, 4, len(units))
    contrast, sums = _contrast(own if ratio else own - other, other if ratio else None, units)
    null = 1.0 if ratio else 0.0
    signs, complete = sign_patterns_up_to_reversal(N_UNITS, 10_000, rng)
    found = sign_flips_of_contrast(contrast, null, signs, complete=complete)
    assert complete
    assert_allclose(found.p_value, _mid_p(sums, null), rtol=1e-12)
    (low,), (high,) = found.limits(level)
    for inside, outside in ((low + 1e-7, low - 1e-7), (high - 1e-7, high + 1e-7)):
        assert _mid_p(sums, inside) > 1 - level >= _mid_p(sums, outside)


@pytest.mark.parametrize("ratio", [False, True])
def test_p_of_any_value_is_read_from_the_same_flips(ratio: bool) -> None:
    rng = np.random.default_rng(6)
    units = np.repeat(np.arange(N_UNITS), [1, 2, 9, 1, 3, 1, 4, 2])
    own, other = rng.integers(0, 2, len(units)).astype(float), rng.integers(1, 3, len(units)).astype(float)
    contrast, sums = _contrast(own if ratio else own - other, other if ratio else None, units)
    found = sign_flips_of_contrast(
        contrast, 1.0 if ratio else 0.0, all_signs_up_to_reversal(N_UNITS), complete=True
    )
    # hits make ties: values at which a flip is exactly as far as the data are among them
    ends = found.low[np.isfinite(found.low)]
    for theta in [*np.linspace(-2, 2, 41), *ends[:20]]:
        p_value = found.mid_p_value_of(np.array([theta]), np.array([1e-12]))
        assert_allclose(p_value, _mid_p(sums, theta), rtol=1e-12, err_msg=str(theta))


def test_of_paired_hits_it_is_mcnemars_mid_p(r_expected) -> None:
    row = r_expected("mcnemar").set_index("set").loc["boot60"]
    gaps = np.repeat([1.0, -1.0], [int(row["n10"]), int(row["n01"])])
    contrast, _ = _contrast(gaps, None, np.arange(len(gaps)))
    found = sign_flips_of_contrast(contrast, 0.0, all_signs_up_to_reversal(len(gaps)), complete=True)
    assert_allclose(found.p_value, row["p_midp"], rtol=1e-12)


def test_drawn_signs_agree_with_all_of_them() -> None:
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(12), rng.integers(1, 6, 12))
    contrast, _ = _contrast(rng.normal(0.4, 1, len(units)), None, units)
    every = sign_flips_of_contrast(contrast, 0.0, all_signs_up_to_reversal(12), complete=True)
    signs, complete = sign_patterns_up_to_reversal(12, 2_000, rng)
    drawn = sign_flips_of_contrast(contrast, 0.0, signs, complete=complete)
    assert not complete
    assert drawn.null_draws.p_floor == 0.5 / 2_001
    assert abs(drawn.p_value - every.p_value)[0] < 4 * np.sqrt(0.25 / 2_000)
    width = np.diff([limit[0] for limit in every.limits(0.9)])
    for one, other in zip(drawn.limits(0.9), every.limits(0.9), strict=True):
        assert abs(one - other)[0] < 0.1 * width


def test_units_too_few_for_a_level_have_no_limits() -> None:
    contrast, _ = _contrast(np.array([0.2, 0.3, 0.5]), None, np.arange(3))
    found = sign_flips_of_contrast(contrast, 0.0, all_signs_up_to_reversal(3), complete=True)
    assert found.p_value == 0.125
    # all patterns are there: the smallest P value is no bound
    assert np.isnan(found.null_draws.p_floor)
    assert np.isinf(found.limits(0.95)).all()
    assert np.isfinite(found.limits(0.7)).all()


def _paired(n_patients: int, rng: np.random.Generator, shift: float = 0.08) -> pd.DataFrame:
    """Scores of a method and people for two tasks, of which one is rare, with several cases of a patient."""
    patients = np.repeat(np.arange(n_patients), rng.integers(1, 5, n_patients))
    parts = []
    for task, every in (("A", 1), ("B", 4)):
        kept = np.arange(len(patients)) % every == 0
        common = rng.beta(4, 6, len(patients)) + 0.1 * rng.random(n_patients)[patients]
        for method, off in (("cam", -shift), ("human", 0.0)):
            score = np.clip(common + off + 0.1 * rng.standard_normal(len(patients)), 0, 1)
            frame = pd.DataFrame({"case": np.arange(len(patients)), "patient": patients, "score": score})
            parts.append(frame[kept].assign(task=task, method=method, metric="iou"))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("function", [ss.difference, ss.percent_decrease])
@pytest.mark.parametrize("shift", [0.0, 0.03, 0.1])
def test_interval_and_p_value_of_a_comparison_agree(function, shift: float) -> None:
    scores = _paired(25, np.random.default_rng(8), shift)
    found = function(scores, reference="human", average="task", interval="wild", n_replicates=2_000)
    assert (found["test"] == "wild").all()
    outside = (found["conf_low"] > 0) | (found["conf_high"] < 0)
    assert (outside == (found["p_value"] <= 0.05)).all()
    assert ((found["verdict"] != "inconclusive") == outside).all()
    assert ((found["conf_low"] < found["estimate"]) & (found["estimate"] < found["conf_high"])).all()


def test_a_decrease_and_a_difference_have_one_p_value() -> None:
    scores = _paired(20, np.random.default_rng(3), 0.04)
    options = {"reference": "human", "average": "task", "interval": "wild", "n_replicates": 1_000}
    gap, lost = ss.difference(scores, **options), ss.percent_decrease(scores, **options)
    assert_allclose(lost["p_value"], gap["p_value"], rtol=1e-12)


def test_few_units_take_student_t_with_cr2() -> None:
    scores = _paired(4, np.random.default_rng(1))
    with warns(column="df", rows=(0, 1)) as caught:
        found = ss.difference(scores, reference="human", by="task", interval="wild")
    assert caught[0].message.value == found["df"].min()
    with warns(column="df", rows=(0, 1)):
        other = ss.difference(scores, reference="human", by="task", interval="cr2")
    few = found["n_units"] == 4
    assert (found.loc[few, "interval"] == "cr2").all()
    for column in ("conf_low", "conf_high", "p_value"):
        assert_allclose(found.loc[few, column], other.loc[few, column], rtol=1e-12)


def test_a_mean_of_decreases_is_tested_as_it_stands() -> None:
    scores = _paired(20, np.random.default_rng(5), 0.05)
    options = {"reference": "human", "average": "task_mean", "interval": "delta"}
    by_t, uses_cr2 = (ss.percent_decrease(scores, test=test, **options).iloc[-1] for test in ("t", "cr2"))
    assert uses_cr2["statistic"] == pytest.approx(by_t["statistic"], rel=0.1)
    assert uses_cr2["statistic"] > 0


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_a_group_without_pairs_has_no_p_value() -> None:
    scores = _paired(25, np.random.default_rng(8))
    scores.loc[(scores["task"] == "B") & (scores["method"] == "cam"), "score"] = np.nan
    found = ss.difference(scores, reference="human", by="task").set_index("task")
    assert found.loc["B", ["estimate", "p_value", "p_floor", "conf_low", "conf_high"]].isna().all()
    assert found["p_value"].notna()["A"]


def test_all_patterns_of_signs_are_taken_if_there_are_no_more_than_replicates():
    # five units have 2^4 patterns up to reversal
    for n_replicates, all_of_them in ((16, True), (15, False)):
        signs, complete = sign_patterns_up_to_reversal(5, n_replicates, np.random.default_rng(0))
        assert complete == all_of_them
        assert np.vstack(list(signs)).shape == (n_replicates, 5)
