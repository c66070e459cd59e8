"""Floors and Monte-Carlo errors of P values that are counted from replicates."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests_support import warns

from salstats.errors import Setting
from salstats.stats.adjust import adjust
from salstats.stats.engine.monte_carlo import fewest_replicates, p_floors


def test_an_exact_p_value_has_no_floor_and_no_monte_carlo_error():
    """Seven units, 64 patterns of signs that are all listed: 0.5 / 64 is a P value and no bound."""
    frame = pd.DataFrame(
        {"p_value": [0.5 / 64, 0.2], "p_floor": np.nan, "test": "wild", "n_replicates": 10_000}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for near in (0.5 / 64, 0.0249):
            adjusted = adjust(frame.assign(p_value=[near, 0.2]))
            assert "p_adjusted_floor" not in adjusted.columns


@pytest.mark.parametrize(("procedure", "enough"), [("bonferroni", 400), ("BH", 400), ("BY", 1171)])
def test_too_few_replicates_for_the_family_warn_with_how_many_would_do(procedure, enough):
    """10 tests: 10 * 2 / (B + 1) < 0.05 from B = 400; BY takes 1 + ... + 1/10 = 2.929 times as many."""
    table = pd.DataFrame({"p_value": np.full(10, 0.1), "n_replicates": 299})
    for n_replicates in (299, enough - 1):
        with warns(column="n_replicates", rows=tuple(range(10)), value=2 / (n_replicates + 1)) as caught:
            adjust(table.assign(n_replicates=n_replicates), procedure=procedure)
        assert f"{enough:,}" in caught[0].message.hint.parts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjust(table.assign(n_replicates=enough), procedure=procedure)
        adjust(table, procedure="none")


@pytest.mark.parametrize(
    ("columns", "enough"),
    [
        # 10 / (B + 1) < 0.05
        ({"test": "signflip"}, 200),
        # 10 * 0.5 / (B + 1) < 0.05
        ({"test": "wild"}, 100),
        # 10 * 2 / (B + 1) < 0.1
        ({"test": "bootstrap", "conf_level": 0.9}, 200),
        # 10 * 2 / (B + 1) < 0.01
        ({"conf_level": 0.99}, 2000),
        # 10 / (B + 1) < 0.1
        ({"test": "signflip", "conf_level": 0.9}, 100),
    ],
)
def test_how_many_replicates_would_do_depends_on_the_test_and_the_level(columns, enough):
    table = pd.DataFrame({"p_value": np.full(10, 0.1), "n_replicates": enough - 1, **columns})
    with warns(column="n_replicates") as caught:
        adjust(table)
    assert f"{enough:,}" in caught[0].message.hint.parts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjust(table.assign(n_replicates=enough))
        # no replicates behind the p-value, whatever the column says
        adjust(table.assign(test="t", n_replicates=9))


def test_sidaks_procedure_needs_a_few_replicates_less_than_bonferronis():
    # 2 / (118 + 1) = 0.01681 lies between 0.05 / 3 and 1 - 0.95^(1 / 3) = 0.01695
    table = pd.DataFrame({"p_value": [0.9] * 3, "test": "bootstrap", "n_replicates": 118})
    with warns(column="n_replicates"):
        adjust(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjust(table, procedure="sidak")
        # 2 / (117 + 1) = 0.016949 lies below 0.016952, 2 / 117 = 0.01709 above
        adjust(table.assign(n_replicates=117), procedure="sidak")
    with warns(column="n_replicates") as caught:
        adjust(table.assign(n_replicates=116), procedure="sidak")
    assert "117" in caught[0].message.hint.parts


def test_an_adjusted_p_value_near_the_level_says_that_the_seed_decides():
    # counts of 1 and 30 of 1000 replicates: 10 tests, level .05
    p = np.array([2 * 2 / 1001, 2 * 31 / 1001] + [0.9] * 8)
    frame = pd.DataFrame({"p_value": p, "test": "bootstrap", "n_replicates": 1000})
    with warns(option="n_replicates", rows=(0,)) as caught:
        adjust(frame)
    assert "10,000" in caught[0].message.hint.parts
    # rows are those of the frame, of which the intercept is not tested
    intercept = pd.DataFrame(
        {"term": ["(Intercept)"], "p_value": 0.9, "test": "bootstrap", "n_replicates": 1000}
    )
    with warns(option="n_replicates", rows=(1,)):
        adjust(pd.concat([intercept, frame.assign(term="slope")]))
    # the smallest p-value possible is on the safe side already, and one far off is decided
    settled = frame.assign(p_value=[2 / 1001, *p[1:]])
    with warns(column="p_adjusted_floor", rows=(0,)):
        adjusted = adjust(settled)
    assert adjusted["p_adjusted"].iloc[0] < 0.05
    # the same share of many more replicates is decided too
    more = frame.assign(p_value=[4e-3, *p[1:]], n_replicates=100_000)
    assert adjust(more)["p_adjusted"].iloc[0] < 0.05


def test_p_values_above_the_level_are_undecided_within_two_standard_errors_of_it():
    # a share of 0.026 of 1000 replicates has the standard error 0.0050: 0.052 - 2 * 2 * 0.0050 < 0.05
    near = pd.DataFrame({"p_value": [0.052], "test": "bootstrap", "n_replicates": 1000})
    with warns(option="n_replicates", rows=(0,)):
        adjust(near)
    # 0.09 - 2 * 2 * 0.0066 = 0.064
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjust(near.assign(p_value=0.09))


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize(
    ("procedure", "bounds"),
    [
        # 4 tests of 1000 replicates: two at the floor, one above it, one large
        ("bonferroni", [True, True, False, False]),
        # the running maximum gives the third the bound of the others: 4 * 2 / 1001 against 2 * 3 / 1001
        ("holm", [True, True, True, False]),
        # p(2) * 4 / 2 of the two at the floor, p(3) * 4 / 3 of the third
        ("BH", [True, True, False, False]),
    ],
)
def test_an_adjusted_p_value_that_hangs_on_a_floor_is_a_bound(procedure, bounds):
    p = np.array([2, 2, 3, 800]) / 1001
    frame = pd.DataFrame({"p_value": p, "p_floor": 2 / 1001, "test": "bootstrap", "n_replicates": 1000})
    result = adjust(frame, procedure=procedure)
    assert result["p_adjusted_floor"].notna().tolist() == bounds
    assert result["p_adjusted"][bounds].eq(result["p_adjusted_floor"][bounds]).all()
    # of a test without replicates nothing is a bound, and a second adjustment starts anew
    assert "p_adjusted_floor" not in adjust(frame.drop(columns="p_floor").assign(test="t")).columns
    again = adjust(result, procedure=procedure)
    pd.testing.assert_frame_equal(again, result)


def test_a_bound_says_what_would_lower_it():
    """300 tests at the floor of 10,000 flips: 300 * 0.5 / 10,001 = 0.015; 15 times as many would do."""
    least = 0.5 / 10_001
    frame = pd.DataFrame({"p_value": np.full(300, least), "p_floor": least, "n_replicates": 10_000})
    bound = {"column": "p_adjusted_floor", "value": pytest.approx(300 * least), "rows": tuple(range(300))}
    with warns(**bound, hint=Setting("adjust", "max-t")) as caught:
        adjust(frame.assign(test="wild"))
    assert "150,000" in caught[0].message.hint.parts
    with warns(**bound) as caught:
        adjust(frame)
    assert "150,000" in caught[0].message.hint.parts


def test_floors_are_those_of_the_frame_or_of_its_replicates():
    frame = pd.DataFrame({"test": ["bootstrap", "signflip", "wild", "t"], "n_replicates": 999})
    np.testing.assert_allclose(p_floors(frame), [2 / 1000, 1 / 1000, 0.5 / 1000, np.nan])
    np.testing.assert_allclose(
        p_floors(frame.assign(p_floor=[0.1, np.nan, 0.2, 0.3])), [0.1, np.nan, 0.2, 0.3]
    )
    assert np.isnan(p_floors(frame[["test"]])).all()


def test_limits_need_one_replicate_beyond_each():
    assert [fewest_replicates(level) for level in (0.95, 0.9, 0.99)] == [40, 20, 200]
    assert fewest_replicates(0.95, flips=True) == 20


def test_few_units_have_too_few_patterns_of_signs_for_a_family():
    """Of five units the 16 patterns give P values from 0.5 / 16 on: 10 tests are never below .05."""
    frame = pd.DataFrame({"p_value": np.full(10, 0.4), "p_floor": np.nan, "test": "wild", "n_units": 5})
    frame["n_replicates"] = 10_000
    with warns(column="n_replicates", value=0.5 / 16) as caught:
        adjust(frame, procedure="holm")
    assert [setting.option for setting in caught[0].message.message.settings()][-1] == "adjust"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adjust(frame.assign(n_units=9), procedure="holm")
