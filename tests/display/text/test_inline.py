"""Estimates in running text."""

import pandas as pd
from tests_support import raises

import salstats as ss
from salstats.display.text.format import MISSING
from salstats.display.text.inline import inline_row_texts, inline_text
from salstats.errors import ColumnError, ValueRangeError

ROW = {"estimate": 0.566, "conf_low": 0.526, "conf_high": 0.606, "conf_level": 0.95, "p_value": 1e-9}


def test_inline_text_by_style():
    frame = pd.DataFrame([ROW])
    assert inline_text(frame) == ["0.566 [95% CI 0.526, 0.606]"]
    assert inline_text(frame, style="radiology") == ["0.566 (95% CI: 0.526, 0.606)"]
    assert inline_text(frame, style="ama", p_values=True) == ["0.566 (95% CI, 0.526 to 0.606; P < .001)"]


def test_inline_text_of_a_percentage_and_of_missing_rows():
    frame = pd.DataFrame([{**ROW, "term": "percent_decrease", "estimate": 24.04}, {**ROW, "estimate": None}])
    frame.loc[0, ["conf_low", "conf_high"]] = [18.2, 29.6]
    assert inline_text(frame, digits=1) == ["24.0% [95% CI 18.2, 29.6]", MISSING]


def test_inline_text_says_the_level_it_was_given():
    assert inline_text(pd.DataFrame([{**ROW, "conf_level": 0.999}])) == ["0.566 [99.9% CI 0.526, 0.606]"]
    without_level = [{**ROW, "conf_level": float("nan")}, ROW]
    assert inline_text(pd.DataFrame(without_level))[0] == "0.566 [CI 0.526, 0.606]"
    of_ranks = inline_text(pd.DataFrame([{**ROW, "term": "rank"}]), digits=1)
    assert of_ranks == ["0.6 [95% of replicates 0.5, 0.6]"]
    assert inline_text(pd.DataFrame([ROW]).drop(columns="conf_level")) == ["0.566 [CI 0.526, 0.606]"]


def test_inline_text_refuses_what_it_cannot_read():
    with raises(ColumnError, column="estimate"):
        ss.inline_text(pd.DataFrame({"mean": [1.0]}))
    with raises(ValueRangeError, option="style", value="lancet"):
        ss.inline_text(pd.DataFrame([ROW]), style="lancet")
    with raises(ValueRangeError, option="digits", value=-1):
        ss.inline_text(pd.DataFrame([ROW]), digits=-1)
    assert ss.inline_text(pd.DataFrame([ROW]), digits=0) == ["1 [95% CI 1, 1]"]


def test_a_p_value_at_its_floor_is_a_bound():
    row = pd.DataFrame([{"estimate": 1.0, "p_adjusted": 0.1, "p_adjusted_floor": 0.1}])
    assert inline_text(row, p_values=True) == ["1.000 [P < 0.100]"]


def test_tiny_coefficients_are_those_of_more_units_which_the_text_names():
    terms = pd.DataFrame(
        {
            "formula": "iou ~ area_mm2 + volume_px3 + age",
            "term": ["area_mm2", "volume_px3", "age"],
            "estimate": [0.000052, -3e-7, 0.2],
            "conf_low": [0.000030, -4e-7, 0.1],
            "conf_high": [0.000074, -2e-7, 0.3],
            "conf_level": 0.95,
        }
    )
    assert inline_text(terms) == [
        "0.052 per 1,000 mm² [95% CI 0.030, 0.074]",
        "−0.030 per 100,000 px³ [95% CI −0.040, −0.020]",
        "0.200 [95% CI 0.100, 0.300]",
    ]
    # a mean that is as small is no coefficient
    means = terms.drop(columns="formula").assign(term="mean")
    assert inline_text(means)[0] == "0.000 [95% CI 0.000, 0.000]"
    assert inline_row_texts(means) == inline_text(means)


def test_a_slope_in_the_text_is_that_in_the_table():
    scores = ss.datasets.load_simulated().query("metric == 'iou' and task == 'Edema' and method == 'gradcam'")
    fit = ss.fit(scores.assign(area_mm2=90_000 * scores["area_ratio"]), "iou ~ area_mm2", by=())
    slopes = fit.slopes("area_mm2")
    n_units = 10_000
    numbers = [f"{n_units * slopes[column].iloc[0]:.3f}" for column in ("estimate", "conf_low", "conf_high")]
    estimate, low, high = [number.replace("-", "−") for number in numbers]
    assert inline_text(slopes) == [f"{estimate} per 10,000 mm² [95% CI {low}, {high}]"]
    table = ss.table_estimates(slopes).as_raw_html()
    assert f"{estimate} ({low}, {high})" in table
    assert "Area, per 10,000 mm²" in table


def test_limits_that_hold_jointly_are_called_simultaneous():
    row = {**ROW, "conf_level": 0.9833, "family_level": 0.95}
    assert "simultaneous 95% CI" in inline_text(pd.DataFrame([row]))[0]
    alone = inline_text(pd.DataFrame([{**ROW, "family_level": 0.95}]))[0]
    assert alone == "0.566 [95% CI 0.526, 0.606]"
    bare = pd.DataFrame([{"estimate": 0.566}])
    assert inline_text(bare) == ["0.566"]
