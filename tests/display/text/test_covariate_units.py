"""Coefficients of covariates with large numbers."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.tables.great_table import current_record_of
from salstats.display.text.covariate_units import (
    coefficients_per_power_of_ten_units,
    has_coefficients,
    without_intercepts,
)
from salstats.display.text.labels import Labels
from salstats.display.text.terms import distinct_term_and_factor_rows, only_term_text
from salstats.errors import SalstatsError, Setting
from salstats.stats.models.design import INTERCEPT

COLUMNS = ["estimate", "std_error", "conf_low", "conf_high"]
#: Areas in mm² are the relative sizes times this.
IMAGE_MM2 = 90_000


@pytest.fixture(scope="module")
def scores():
    frame = ss.datasets.load_simulated().query("method != 'human'")
    return frame.assign(area_mm2=IMAGE_MM2 * frame["area_ratio"])


def terms(**columns):
    """Coefficients of one covariate, by default far too small for three decimals."""
    default = {"formula": "iou ~ area_mm2", "term": "area_mm2", "estimate": 0.000052}
    return read_estimates(
        pd.DataFrame({**default, "conf_low": 0.00003, "conf_high": 0.000074, **columns}, index=[0])
    )


def units_of(estimates):
    """Numbers of units of each row, 1 where nothing was changed."""
    return (
        coefficients_per_power_of_ten_units(estimates).frame.get("covariate_units", pd.Series(1.0)).tolist()
    )


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("iou ~ area_mm2 * task", {}),
        ("hit ~ area_mm2", {"family": "binomial"}),
        ("hit ~ area_mm2", {"family": "binomial", "exponentiate": True}),
    ],
)
def test_coefficients_are_those_of_a_model_of_thousands(scores, formula, options):
    shown = coefficients_per_power_of_ten_units(
        read_estimates(ss.regress(scores, formula, by="method", **options))
    ).frame
    in_thousands = scores.assign(area_mm2=scores["area_mm2"] / 1000)
    expected = ss.regress(in_thousands, formula, by="method", **options)
    np.testing.assert_allclose(shown[COLUMNS], expected[COLUMNS], rtol=1e-6)
    is_of_area = shown["term"].str.contains("area_mm2")
    assert shown["covariate_units"].tolist() == np.where(is_of_area, 1000, 1).tolist()


@pytest.mark.parametrize(
    ("limits", "n_units"),
    [
        ((0.00003, 0.000074), 1000),
        ((-0.0002, 0.0007), 100),
        ((-0.00001, 0.000002), 1000),
        ((0.0001, 0.001), 1),
    ],
)
def test_the_number_of_units_leaves_two_digits(limits, n_units):
    assert units_of(terms(conf_low=limits[0], conf_high=limits[1])) == [n_units]


@pytest.mark.parametrize(
    "columns",
    [
        {"term": INTERCEPT},
        {"normalized": True},
        {"normalized": 1.0},
        {"term": "scale(area_mm2)", "formula": "iou ~ scale(area_mm2)"},
        {"term": "taskEdema", "formula": "iou ~ task"},
        # a model without residuals, and one without estimates
        {"estimate": 1e-17, "conf_low": -1e-16, "conf_high": 1e-16},
        {"estimate": np.nan, "conf_low": np.nan, "conf_high": np.nan},
    ],
)
def test_what_has_no_unit_to_count_stays(columns):
    estimates = terms(**columns)
    assert coefficients_per_power_of_ten_units(estimates) is estimates


def test_the_outcome_with_the_smallest_coefficients_decides():
    frames = [terms().frame, terms(formula="hd95 ~ area_mm2", estimate=0.05, conf_high=0.08).frame]
    both = read_estimates(pd.concat(frames))
    assert units_of(both) == [1000, 1000]
    # in one outcome the largest does: a model of nearly constant scores changes nothing
    one_outcome = both.with_columns(formula="iou ~ area_mm2")
    assert coefficients_per_power_of_ten_units(one_outcome) is one_outcome


@pytest.mark.parametrize(
    ("column", "labels", "text"),
    [
        ("area_mm2", None, "Area, per 1,000 mm²"),
        ("area_mm2", {"area_mm2": "Lesion"}, "Lesion, per 1,000 mm²"),
        ("size", {"size": "Lesion (mm²)"}, "Lesion, per 1,000 mm²"),
        ("size", {"size": "Lesion (largest)"}, "Lesion (largest), per 1,000"),
        ("size", None, "Size, per 1,000"),
    ],
)
def test_the_label_has_the_number_of_units_and_the_unit(column, labels, text):
    estimates = coefficients_per_power_of_ten_units(terms(term=column, formula=f"iou ~ {column}"))
    assert only_term_text(estimates, Labels(labels)) == text


def test_the_heading_of_an_interaction_has_the_units_of_its_levels(scores):
    estimates = coefficients_per_power_of_ten_units(
        read_estimates(ss.regress(scores, "iou ~ area_mm2 * task"))
    )
    rows = distinct_term_and_factor_rows(estimates, Labels())
    headings = [row.text for row in rows if row.term is None]
    assert headings == ["Task", "Area × Task, per 1,000 mm²"]
    level = next(row for row in rows if row.term == "area_mm2:taskEdema")
    assert (level.text, level.full_text) == ("Area × Edema", "Area × Edema, per 1,000 mm²")
    # products of numbers have no unit that is written
    product = terms(term="area_mm2:age", formula="iou ~ area_mm2:age")
    assert (
        only_term_text(coefficients_per_power_of_ten_units(product), Labels())
        == "Area (mm²) × Age, per 1,000"
    )


def test_tables_and_figures_show_the_same_numbers(scores):
    fit = ss.fit(scores, "iou ~ area_mm2 + task", by="method")
    coefficients = fit.tidy().query("term == 'area_mm2'")
    expected = 10_000 * coefficients["estimate"].to_numpy()

    table = current_record_of(ss.table_regression(coefficients))
    assert table.stub[0] == ("Area, per 10,000 mm²",)
    assert [float(text.split(" ")[0]) for text in table.cells[0]] == pytest.approx(expected, abs=5e-4)
    figure = ss.plot_regression(coefficients)
    assert figure.data["estimate"].tolist() == pytest.approx(expected)
    assert set(figure.data["row_label"]) == {"Area, per 10,000 mm²"}
    forest = ss.plot_forest(coefficients)
    assert sorted(forest.data["estimate"]) == pytest.approx(sorted(expected))
    assert "Area, per 10,000 mm²" in forest.labels.x

    slopes = current_record_of(ss.table_estimates(fit.slopes("area_mm2")))
    assert any("Area, per 10,000 mm²" in column.heading for column in slopes.columns)


def test_the_frame_stays_as_it_is(scores):
    frame = ss.regress(scores, "iou ~ area_mm2", by=["method", "task"])
    before = frame.copy()
    ss.table_regression(frame)
    ss.plot_regression(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_random_slopes_are_of_as_many_units_as_their_coefficient():
    formula = "iou ~ area_mm2 + (area_mm2 | patient)"
    slope = {"formula": formula, "group": "patient", "term": "area_mm2", "parameter": "variance"}
    limits = {"estimate": 0.00004**2, "std_dev": 0.00004, "conf_low": 0.00003**2, "conf_high": 0.00006**2}
    share = {"share": np.nan, "share_low": np.nan, "share_high": np.nan, "n_groups": 20}
    components = pd.DataFrame({**slope, **limits, **share}, index=[0])
    record = current_record_of(ss.table_regression(terms(formula=formula, n=40).frame, components=components))
    rows = dict(zip(record.stub, record.cells, strict=True))
    assert rows[("SD, patient, Area, per 1,000 mm²",)] == ["0.040 (0.030, 0.060)"]


def test_joined_slopes_are_each_for_as_many_units_as_in_a_table_of_their_own(scores):
    scores = scores.assign(volume_mm3=9e6 * scores["elongation"])
    fit = ss.fit(scores, "iou ~ area_mm2 + volume_mm3", by="method")
    slopes = [fit.slopes(name) for name in ("area_mm2", "volume_mm3")]
    joined = current_record_of(ss.table_estimates(pd.concat(slopes)))
    # each has a column of estimates and one of P values
    headings = [column.spanners[-1] for column in joined.columns[::2]]
    assert headings == ["Area, per 10,000 mm²", "Volume, per 10,000,000 mm³"]
    for column, frame in enumerate(slopes):
        single = current_record_of(ss.table_estimates(frame))
        assert [row[2 * column : 2 * column + 2] for row in joined.cells] == single.cells
    regression = current_record_of(ss.table_regression(slopes))
    texts_by_term = dict(zip(regression.stub, regression.cells, strict=True))
    for column, heading in enumerate(headings):
        assert texts_by_term[(heading,)] == [row[2 * column] for row in joined.cells]


@pytest.mark.parametrize("columns", [{"parameter": "variance"}, {"formula": None}, {"term": None}])
def test_variances_means_and_contrasts_are_no_coefficients(columns):
    assert has_coefficients(terms())
    assert not has_coefficients(terms(**columns))


def test_a_figure_has_no_intercepts_and_needs_another_term():
    both = read_estimates(pd.DataFrame({"term": [INTERCEPT, "age"], "estimate": [0.5, 0.1]}))
    assert without_intercepts(both).frame["term"].tolist() == ["age"]
    with raises(SalstatsError, column="term", hint=Setting("intercept", True)):
        without_intercepts(both.subset([True, False]))


def ratio_terms(**columns):
    """Odds ratios of one covariate whose logarithms are those coefficients that `terms` has."""
    logarithms = {"estimate": 0.000052, "conf_low": 0.00003, "conf_high": 0.000074} | columns
    ratios = {column: np.exp(value) for column, value in logarithms.items()}
    return terms(**ratios, exponentiated=True)


@pytest.mark.parametrize("sign", [1, -1])
def test_ratios_above_and_below_1_are_raised_to_the_same_power(sign):
    estimates = ratio_terms(estimate=sign * 0.000052, conf_low=sign * 0.00003, conf_high=sign * 0.000074)
    assert units_of(estimates) == [1000]
    shown = coefficients_per_power_of_ten_units(estimates).frame
    np.testing.assert_allclose(shown["estimate"], np.exp(sign * 0.052), rtol=1e-9)
    np.testing.assert_allclose(shown["conf_high"], np.exp(sign * 0.074), rtol=1e-9)


@pytest.mark.parametrize("low", [0.0, -0.5])
def test_a_ratio_of_0_or_less_has_no_size(low):
    # the other limit decides: 0.000074 is shown per 1,000
    estimates = ratio_terms().with_columns(conf_low=low)
    assert units_of(estimates) == [1000]
