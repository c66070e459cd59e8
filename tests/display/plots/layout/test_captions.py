"""Sentences below figures: what is the same everywhere, levels, margins, and groups without a value."""

import numpy as np
import pandas as pd
import pytest
from display.plots.estimate_figures import estimates
from tests_support import raises

from salstats.display.estimates import read_estimates
from salstats.display.plots.layout.captions import (
    axis_title_text,
    distinct_values_by_appearance,
    effect_name,
    groups_without_value_note,
    intervals_cut_to_log_axis,
    is_ratio,
    margin_notes,
    p_below_level_text,
    scope_note,
    significance_level,
    undefined_and_not_drawn_note,
)
from salstats.display.text.labels import Labels
from salstats.errors import SalstatsError


def ratios(**columns):
    frame = pd.DataFrame({"estimate": [0.5, 2.0], "conf_low": [0.25, 1.0], "conf_high": [1.0, 4.0]})
    return read_estimates(frame.assign(**columns))


def test_a_column_with_one_value_is_named_and_one_with_two_is_not():
    frame = pd.DataFrame({"metric": ["iou", "iou"], "method": ["gradcam", "lime"], "task": [None, None]})
    assert scope_note(frame, Labels(), ["metric", "method", "task", "reader"]) == "Metric: IoU."


def test_values_of_a_column_are_distinct_and_not_missing():
    frame = pd.DataFrame({"task": ["b", None, "a", "b"]})
    assert distinct_values_by_appearance(frame, "task") == ["b", "a"]
    assert distinct_values_by_appearance(frame, "reader") == []


def test_the_axis_names_quantity_quantile_and_interval():
    one_quantile = read_estimates(estimates(family="quantile 0.9"))
    assert axis_title_text("Coefficient", one_quantile) == "Coefficient, quantile 0.9 (95% CI)"


@pytest.mark.parametrize(
    ("columns", "level"), [({"conf_level": 0.9}, 0.1), ({"family_level": 0.99, "conf_level": 0.9}, 0.01)]
)
def test_the_level_is_that_of_the_family_before_that_of_the_intervals(columns, level):
    assert significance_level(ratios(**columns)) == level


def test_without_a_single_level_it_is_five_percent():
    assert significance_level(ratios()) == 0.05
    assert significance_level(ratios(conf_level=[0.9, 0.95])) == 0.05


def test_p_is_written_with_or_without_a_zero_by_style():
    assert p_below_level_text(ratios(conf_level=0.95), "nature") == "P < 0.05"
    assert p_below_level_text(ratios(conf_level=0.95), "ama") == "P < .05"


def test_ratios_are_all_or_none_of_the_estimates():
    assert is_ratio(ratios(exponentiated=True))
    assert not is_ratio(ratios(exponentiated=False))
    with raises(SalstatsError, column="exponentiated"):
        is_ratio(ratios(exponentiated=[True, False]))


def test_bars_that_would_stretch_a_logarithmic_axis_are_cut_and_others_stay():
    cut, note = intervals_cut_to_log_axis(ratios(conf_low=[1e-9, 1.0]))
    assert cut.frame["conf_low"].tolist() == [0.5 / 1000, 1.0]
    assert note
    same, note = intervals_cut_to_log_axis(ratios())
    assert same.frame["conf_high"].tolist() == [1.0, 4.0]
    assert note == ""
    with raises(SalstatsError, column="estimate"):
        intervals_cut_to_log_axis(ratios(estimate=[0.0, 1.0]))


def test_effects_are_called_by_their_family_and_averages_by_what_they_average():
    assert effect_name(ratios(family="binomial"), exponentiated=True) == "Odds ratio"
    assert effect_name(ratios(family="gaussian"), exponentiated=False) == "Coefficient"
    assert effect_name(ratios(average="observed"), exponentiated=False) == "Mean"
    assert (
        effect_name(ratios(average="observed", term="age"), exponentiated=False) == "Average marginal effect"
    )


def test_four_groups_without_a_value_are_named_and_the_others_counted():
    empty = pd.DataFrame({"task": list("abcdef")})
    assert (
        groups_without_value_note(empty, ["task"], "a score", Labels())
        == "Without a score: a; b; c; d and 2 more."
    )
    assert (
        groups_without_value_note(empty[:4], ["task"], "a score", Labels()) == "Without a score: a; b; c; d."
    )
    assert groups_without_value_note(empty[:0], ["task"], "a score", Labels()) == ""


def test_undefined_estimates_are_counted_in_drawn_panels_and_named_elsewhere():
    def note(missing, in_panel=(True, True, True, False), **options):
        frame = estimates(**options)
        frame.loc[missing, "estimate"] = np.nan
        return undefined_and_not_drawn_note(
            read_estimates(frame), np.array(in_panel), Labels(), ["method", "task"]
        )

    assert note([], metrics=["iou"]) == ""
    assert note([0, 3], metrics=["iou"]) == (
        "1 of 3 estimates is not defined. Undefined, not drawn: Human benchmark/Nodule."
    )
    assert note([0, 1], metrics=["iou"]).startswith("2 of 3 estimates are not defined.")
    of_two_metrics = note([0, 4, 5, 6, 7], in_panel=[True] * 8, n=[9] * 4 + [0] * 4)
    assert "Hit rate" in of_two_metrics
    assert of_two_metrics.endswith("1 of 4 estimates is not defined.")


def test_lines_of_margins_are_named_and_the_mark_of_estimates_inside_them_where_there_is_one():
    options = {"metrics": ["iou"], "term": "difference", "verdict": "equivalent", "reference": "human"}
    frame = read_estimates(estimates(margin_low=-0.1, margin_high=0.1, p_margin=0.01, **options))
    [alone] = margin_notes(frame, Labels(), "nature", has_marks=False)
    assert alone.startswith("Dotted lines: margins, ")
    assert "0.1" in alone
    first, mark = margin_notes(frame, Labels(), "nature", has_marks=True)
    assert first == "Dotted lines: margins."
    assert mark
    assert margin_notes(read_estimates(estimates(**options)), Labels(), "nature", has_marks=True) == []


def test_differences_and_means_of_models_name_their_scale_and_mixed_families_share_a_name():
    contrast = ratios(average="observed", reference_level="a", family="binomial")
    assert effect_name(contrast, exponentiated=False).startswith("Difference")
    assert effect_name(ratios(family="binomial"), exponentiated=False) == "Log odds ratio"
    mixed = ratios(family=["binomial", "gaussian"])
    assert effect_name(mixed, exponentiated=False) == "Coefficient"


def test_limits_far_above_the_largest_ratio_are_cut_and_without_ratios_none_is():
    cut, note = intervals_cut_to_log_axis(ratios(conf_high=[1.0, 1e9]))
    assert cut.frame["conf_high"].tolist() == [1.0, 2000.0]
    assert note
    empty, note = intervals_cut_to_log_axis(ratios(estimate=np.nan))
    assert note == ""
    assert empty.frame["conf_high"].tolist() == [1.0, 4.0]
    # a missing limit is not a cut one
    missing, note = intervals_cut_to_log_axis(ratios(conf_high=[np.nan, 4.0]))
    assert note == ""
    assert np.isnan(missing.frame["conf_high"][0])
