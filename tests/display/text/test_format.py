"""Numbers to text: rounding, journal styles, stars."""

import math

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.text.format import (
    MISSING,
    count_text,
    fixed_text,
    interval_text,
    limits_text,
    p_text,
    percent_text,
    reported_p,
    row_p_text,
    star_text,
)
from salstats.errors import ValueRangeError

ROW = {"estimate": 0.566, "conf_low": 0.526, "conf_high": 0.606, "conf_level": 0.95, "p_value": 0.0004}


@pytest.mark.parametrize("value", [None, float("nan"), pd.NA])
def test_missing_is_an_em_dash_in_every_function(value):
    value = float("nan") if value is pd.NA else value
    functions = (fixed_text, count_text, percent_text, p_text)
    assert [f(value) for f in functions] == [MISSING] * 4
    assert interval_text(value, 0.1, 0.2) == MISSING
    assert limits_text(value, value) == MISSING


def test_minus_is_a_minus_sign_and_zero_has_none():
    assert fixed_text(-0.4251) == "\u22120.425"
    assert fixed_text(-0.0004) == "0.000"
    assert fixed_text(float("-inf")) == "\u2212∞"
    assert percent_text(-128.13) == "\u2212128.1%"


def test_a_limit_that_is_missing_alone_is_a_dash():
    assert interval_text(0.566, None, 0.606) == f"0.566 ({MISSING}, 0.606)"
    assert interval_text(0.566, None, None) == "0.566"


@pytest.mark.parametrize(
    ("p", "nature", "radiology"),
    [
        (0.0000001, "<0.001", "<.001"),
        (0.0009999, "<0.001", "<.001"),
        (0.001, "0.001", ".001"),
        (0.0094, "0.009", ".009"),
        (0.0312, "0.031", ".03"),
        # fewer decimals would read 0.05, which is on the other side
        (0.0496, "0.0496", ".0496"),
        (0.0512, "0.051", ".05"),
        (0.0504, "0.050", ".05"),
        (0.3, "0.300", ".30"),
        (0.9999, ">0.999", ">.99"),
        (1.0, ">0.999", ">.99"),
    ],
)
def test_p_values_follow_the_journal(p, nature, radiology):
    assert p_text(p) == nature
    assert p_text(p, "radiology") == p_text(p, "ama") == radiology


@pytest.mark.parametrize("style", ["nature", "radiology", "ama"])
@pytest.mark.parametrize("p", [0.04951, 0.0496, 0.04999, 0.049999])
def test_a_p_value_below_five_percent_never_reads_as_five_percent(style, p):
    assert float(p_text(p, style)) < 0.05


@pytest.mark.parametrize("style", ["nature", "radiology", "ama"])
def test_a_printed_p_value_is_never_zero_nor_one(style):
    for p in (0.0, 1e-300, 0.0005, 0.9951, 0.99949, 0.9996, 1.0):
        text = p_text(p, style)
        assert text[0] in "<>" or 0 < float(text) < 1


def test_named_p_values():
    assert p_text(0.0312, named=True) == "P = 0.031"
    assert p_text(0.00001, "ama", named=True) == "P < .001"
    # 25 tests at the floor of 999 replicates are not below .05, and nor is what is printed of them
    assert p_text(25 * 0.002, "ama", named=True, p_floor=25 * 0.002) == "P ≤ .05"
    assert p_text(0.0499, "ama", named=True, p_floor=0.0499) == "P < .05"


def test_a_p_value_at_its_floor_is_a_bound_and_an_exact_one_is_not():
    """At the floor, above it, and of 64 patterns that are all listed."""
    rows = pd.DataFrame(
        {"estimate": 1.0, "p_value": [0.01, 0.01, 0.5 / 64], "p_floor": [0.01, 0.002, np.nan]}
    )
    assert [row_p_text(row) for row in rows.to_dict("records")] == ["<0.010", "0.010", "0.008"]
    adjusted = rows.assign(p_adjusted=5 * rows["p_value"], p_adjusted_floor=[0.05, np.nan, np.nan])
    assert [row_p_text(row) for row in adjusted.to_dict("records")] == ["≤0.050", "0.050", "0.039"]


def test_stars_are_strict_and_divided_by_the_family():
    assert [star_text(p) for p in (0.05, 0.049, 0.01, 0.0099, 0.001, 0.00099)] == [
        "",
        "*",
        "*",
        "**",
        "**",
        "***",
    ]
    assert star_text(0.0126, n_tests=4) == ""
    assert star_text(0.0124, n_tests=4) == "*"
    assert star_text(0.0002, n_tests=4) == "***"
    assert star_text(float("nan")) == ""


def test_a_family_below_one_is_refused():
    with raises(ValueRangeError, option="n_tests", value=0):
        star_text(0.01, n_tests=0)


def test_adjusted_p_value_is_used_before_the_raw_one():
    assert reported_p({"p_value": 0.01, "p_adjusted": 0.2}) == 0.2
    assert reported_p({"p_value": 0.01, "p_adjusted": float("nan")}) == 0.01
    assert math.isnan(reported_p({}))
