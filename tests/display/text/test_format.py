"""Numbers to text: rounding, journal styles, stars."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.text.format import (
    MISSING,
    STYLES,
    capitalized,
    column_texts,
    count_range_text,
    count_text,
    counted,
    counted_range,
    decimals_of,
    fixed_text,
    interval_text,
    joined,
    limits_text,
    noun_of_identifier,
    number_text,
    p_text,
    p_text_adjusted_if_any,
    p_value_adjusted_if_any,
    percent_text,
    plural,
    rounded_level_text_without_percent_sign,
    star_or_no_star_note,
    star_text,
    with_no_break_spaces_where_needed,
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


def test_the_style_brackets_differs_from_nature_by_square_brackets_in_cells():
    assert interval_text(-0.4, -0.5, -0.3, 1, style="brackets") == "\u22120.4 [\u22120.5, \u22120.3]"
    assert replace(STYLES["brackets"], name="nature", cell_brackets="()") == STYLES["nature"]


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
@pytest.mark.parametrize("p", [0.04951, 0.0496, 0.04999, 0.049999, 0.049999999])
def test_a_p_value_below_five_percent_never_reads_as_five_percent(style, p):
    assert float(p_text(p, style)) < 0.05


@pytest.mark.parametrize("style", ["nature", "radiology", "ama"])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.05 / 3, 0.0125])
@pytest.mark.parametrize("shift", [-2e-3, -1e-8, 1e-8, 5e-5, 2e-3])
def test_a_printed_p_value_is_on_the_side_of_its_level_that_it_lies_on(style, alpha, shift):
    level = 1 - alpha
    p_value = alpha * (1 + shift)
    printed = float(p_text_adjusted_if_any({"p_value": p_value, "conf_level": level}, style))
    assert (printed < alpha) == (p_value < alpha)
    # adjusted P values are compared with the level of the family
    adjusted = {"p_value": 0.001, "p_adjusted": p_value, "conf_level": 0.999, "family_level": level}
    assert float(p_text_adjusted_if_any(adjusted, style)) == printed
    bound = p_text_adjusted_if_any({"p_value": p_value, "p_floor": p_value, "conf_level": level}, style)
    assert float(bound.removeprefix("<")) <= alpha or p_value > alpha


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
    assert [p_text_adjusted_if_any(row) for row in rows.to_dict("records")] == ["<0.010", "0.010", "0.008"]
    adjusted = rows.assign(p_adjusted=5 * rows["p_value"], p_adjusted_floor=[0.05, np.nan, np.nan])
    assert [p_text_adjusted_if_any(row) for row in adjusted.to_dict("records")] == [
        "≤0.050",
        "0.050",
        "0.039",
    ]


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
    assert p_value_adjusted_if_any({"p_value": 0.01, "p_adjusted": 0.2}) == 0.2
    assert p_value_adjusted_if_any({"p_value": 0.01, "p_adjusted": float("nan")}) == 0.01
    assert math.isnan(p_value_adjusted_if_any({}))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.123456, "0.1235"),
        (12.3456, "12.35"),
        (1234567.0, "1234567"),
        (9999.96, "10000"),
        (3, "3"),
        (-0.5, "-0.5000"),
        (0.0, "0"),
        (1.5e-9, "1.500e-09"),
        (np.inf, "∞"),
        (-np.inf, "-∞"),
        (None, MISSING),
        (float("nan"), MISSING),
        (True, "True"),
        ("text", "text"),
    ],
)
def test_numbers_have_significant_digits_and_whole_ones_are_whole(value, text):
    assert number_text(value) == text
    assert number_text(0.123456, significant_digits=2) == "0.12"


def test_numbers_of_a_column_have_the_decimals_of_the_largest():
    assert column_texts([0.12345, 12.5, np.nan, np.inf]) == ["0.12", "12.50", MISSING, "∞"]
    assert column_texts([3.0, 139.0]) == ["3", "139"]
    assert column_texts([0.012345, -0.5]) == ["0.0123", "-0.5000"]
    assert column_texts([1234.5, 2.0], significant_digits=2) == ["1234", "2"]


def test_decimals_give_significant_digits_up_to_a_most():
    assert [decimals_of(number, 3) for number in (0.000347, 0.0347, 1.0, 9.99, 10.0, 123.4)] == [
        6,
        4,
        2,
        2,
        1,
        0,
    ]
    assert decimals_of(0.000347, 3, max_decimals=4) == 4


def test_counts_have_commas_and_ranges_their_ends():
    assert [count_text(n) for n in (668, 100_000, -1200)] == ["668", "100,000", "\u22121,200"]
    assert count_range_text([668, 668]) == "668"
    assert count_range_text([1300, float("nan"), 137]) == "137 to 1,300"
    assert count_range_text([float("nan")]) == MISSING
    assert fixed_text(float("inf")) == "∞"


def test_nouns_of_columns_have_plurals():
    columns = ("patient_id", "PatientID", "exam_day", "site, patient", "id", "patientid", "carotid")
    assert [noun_of_identifier(column) for column in columns] == [
        "patient", "Patient", "exam day", "site and patient cluster", "id", "patient", "carotid",
    ]  # fmt: skip
    singulars = ("patient", "study_id", "class", "exam_day", "box", "branch", "dish", "site, patient")
    assert [plural(word) for word in singulars] == [
        "patients", "studies", "classes", "exam days", "boxes", "branches", "dishes",
        "site and patient clusters",
    ]  # fmt: skip
    assert [counted(n, "study") for n in (0, 1, 2, 1200)] == [
        "0 studies",
        "1 study",
        "2 studies",
        "1,200 studies",
    ]
    assert counted(2, "slope rests", "slopes rest") == "2 slopes rest"
    assert counted(1, "slope rests", "slopes rest") == "1 slope rests"
    ranges = ([1, 1], [1, 3], [2, 2])
    assert [counted_range(counts, "exam_case") for counts in ranges] == [
        "1 exam case", "1 to 3 exam cases", "2 exam cases",
    ]  # fmt: skip
    assert counted_range([1, 1], "patient_id") == counted(1, "patient_id") == "1 patient"


def test_items_of_a_sentence_are_joined():
    assert [joined(items) for items in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert joined(["a", "b"], "or") == "a or b"


def test_stars_are_defined_with_their_divisor_and_their_adjustment():
    plain = star_or_no_star_note()
    assert plain == "*P < 0.05; **P < 0.01; ***P < 0.001; not corrected for multiplicity."
    divided = star_or_no_star_note(4)
    assert divided == "*P < 0.05/4; **P < 0.01/4; ***P < 0.001/4 (Bonferroni, 4 tests)."
    adjusted = star_or_no_star_note(adjusted="Holm, 24 tests")
    assert adjusted == "*P < 0.05; **P < 0.01; ***P < 0.001; P values adjusted (Holm, 24 tests)."
    assert star_or_no_star_note(4, has_stars=False) == "No star: no P < 0.05/4 (Bonferroni, 4 tests)."


def test_levels_with_many_digits_have_two_decimals():
    levels = (0.95, 0.999, 0.9999, 0.99791667)
    texts = [rounded_level_text_without_percent_sign(level) for level in levels]
    assert texts == ["95", "99.9", "99.99", "99.79"]


def test_lines_do_not_end_within_numbers_and_their_names():
    assert with_no_break_spaces_where_needed("Mean (95% CI), F(7, 133), P < 0.001") == (
        "Mean (95%\xa0CI), F(7,\xa0133), P\xa0<\xa00.001"
    )
    assert with_no_break_spaces_where_needed("95% CI", "_") == "95%_CI"


def test_p_of_a_row_is_the_adjusted_one_at_the_level_of_its_family():
    row = {"p_value": 0.001, "p_adjusted": 0.0126, "conf_level": 0.95, "family_level": 0.9875}
    # three decimals show that it is above 0.0125
    assert p_text_adjusted_if_any(row, "ama") == ".013"
    assert p_text_adjusted_if_any(row | {"family_level": None}, "ama") == ".01"
    assert p_text_adjusted_if_any(row | {"p_adjusted": float("nan")}, starts_with_p=True) == "P = 0.001"
    assert p_text_adjusted_if_any(row | {"p_adjusted": 0.02, "p_adjusted_floor": 0.02}) == "<0.020"
    assert p_text_adjusted_if_any({}) == MISSING


def test_a_bound_of_a_hundredth_has_the_decimals_of_its_style():
    assert p_text(0.01, "radiology", p_floor=0.01) == "<.01"
    assert p_text(0.009, "radiology", p_floor=0.009) == "<.009"


def test_a_text_begins_with_a_capital_and_keeps_its_others():
    assert (capitalized(""), capitalized("auc of Edema")) == ("", "Auc of Edema")
