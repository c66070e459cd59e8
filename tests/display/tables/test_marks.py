"""Marks of estimates: the best, those that differ from a reference, and stars."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.display.estimates import read_estimates
from salstats.display.tables.great_table import current_record_of
from salstats.display.tables.marks import (
    best_estimates,
    better_sign,
    estimates_differing_from_reference,
    p_heading,
    rarer_rows,
    star_texts_and_note,
)
from salstats.errors import ColumnError, SalstatsError, ValueRangeError


def frame(estimates, **columns):
    names = [f"m{i}" for i in range(len(estimates))]
    return pd.DataFrame({"metric": "iou", "method": names, "estimate": estimates} | columns)


def best(estimates, exclude=(), directions=None, **columns):
    reading = read_estimates(frame(estimates, **columns))
    return best_estimates(reading, ["metric", "method"], ["method"], exclude, directions)


@pytest.mark.parametrize(
    ("metric", "term", "sign"),
    [
        ("iou", "mean", 1),
        ("hd95", "mean", -1),
        ("iou", "percent_decrease", -1),
        ("hd95", "percent_decrease", 1),
        ("iou", "rank", -1),
        ("quality", "mean", 0),
        (None, "auroc", 1),
        ("hd95", "auroc", 1),
        ("hd95", "auroc_difference", 1),
        (None, "brier_score", -1),
    ],
)
def test_the_better_direction_is_that_of_metric_and_term(metric, term, sign):
    assert better_sign(metric, term) == sign


def test_a_direction_that_is_stated_holds():
    assert better_sign("quality", "mean", {"quality": "smaller"}) == -1
    assert better_sign("hd95", "mean", {"hd95": "larger"}) == 1
    assert better_sign("hd95", "mean", {"iou": "larger"}) == -1
    # what is no score keeps its direction
    assert better_sign("iou", "rank", {"iou": "larger"}) == -1
    with raises(ValueRangeError, option="directions", value="up"):
        best([0.1, 0.2], directions={"iou": "up"})
    with raises(ValueRangeError, option="directions", value="quality", choices=("iou",)):
        best([0.1, 0.2], directions={"iou": "larger", "quality": "smaller"})


def test_the_best_is_the_largest_unrounded_and_ties_are_all_best():
    assert best([0.1, 0.3, 0.2]).rows == {1}
    assert best([0.3, 0.3, 0.2]).rows == {0, 1}
    assert best([0.3, 0.3 + 1e-9, 0.2]).rows == {1}
    # each metric has its own, and a column of the same value everywhere is no stratum
    by_metric = best([0.1, 0.3, 3.0, 2.0], metric=["iou", "iou", "hd95", "hd95"])
    assert by_metric.rows == {1, 3}
    assert (by_metric.strata, by_metric.larger, by_metric.smaller) == (("metric",), ("iou",), ("hd95",))
    assert best([0.1, 0.3]).strata == ()
    # the smallest decrease of a score is the best
    assert best([30.0, 10.0], term="percent_decrease").rows == {1}


def test_of_distances_the_smallest_is_best_and_the_metric_is_named():
    result = best([3.0, 2.0], metric="hd95")
    assert result.rows == {1}
    assert result.smaller == ("hd95",)


def test_an_estimate_without_a_competitor_is_not_the_best():
    assert best([0.3]).rows == set()
    assert best([0.3, np.nan]).rows == set()
    assert best([0.3, 0.2], exclude=["m1"]).rows == set()


def test_excluded_methods_do_not_compete_and_must_be_there():
    assert best([0.3, 0.2, 0.1], exclude=["m0"]).rows == {1}
    with raises(ValueRangeError, option="exclude", value="m9", choices=("m0", "m1")):
        best([0.3, 0.2], exclude=["m9"])


def test_a_metric_that_is_not_known_has_no_best():
    result = best([0.3, 0.2], metric="quality")
    assert (result.rows, result.unknown) == (set(), ("quality",))


def differences(**columns):
    frame = pd.DataFrame({"metric": "iou", "method": ["m1", "m2"], "reference": "m0", "estimate": 0.1})
    frame["verdict"] = ["higher", "inconclusive"]
    return read_estimates(frame.assign(**columns), "differences")


def test_significant_differences_are_marked_and_estimates_without_one_are_counted():
    means = read_estimates(frame([0.3, 0.4, 0.5, 0.6]))
    result = estimates_differing_from_reference(means, ["metric", "method"], differences())
    assert result.rows == {1}
    # m3 has no difference; m0 is the reference
    assert result.n_untested == 1


def test_estimates_are_found_by_whole_numbers_that_a_gap_makes_floats():
    means = read_estimates(frame([0.3, 0.4, 0.5], seed=[1.0, 1.0, np.nan]))
    compared = read_estimates(differences(seed=1).frame.iloc[:1], "differences")
    assert estimates_differing_from_reference(means, ["metric", "method", "seed"], compared).rows == {1}


def test_differences_of_none_of_the_estimates_are_an_error():
    means = read_estimates(frame([0.3, 0.4, 0.5], task="Edema"))
    with raises(SalstatsError, option="differences"):
        estimates_differing_from_reference(means, ["metric", "task", "method"], differences(task="Nodule"))


def test_columns_that_lack_on_both_sides_are_named_with_the_side_that_has_them():
    means = read_estimates(frame([0.3, 0.5, 0.9], size=["s", "s", "l"]))
    compared = read_estimates(differences().frame.assign(task=["a", "b"]), "differences")
    with raises(ColumnError, option="estimates", column="size") as error:
        estimates_differing_from_reference(means, ["metric", "method", "size"], compared)
    sentence = str(error.value)
    assert "'size' is only in the estimates" in sentence
    assert "'task' is only in the differences" in sentence


def test_each_row_is_different_not_shown_to_differ_or_untested():
    means = read_estimates(frame([0.3, 0.4, 0.5, np.nan, 0.6, np.nan]))
    rows = pd.DataFrame(
        {"method": ["m1", "m2", "m3", "m4"], "metric": "iou", "reference": "m0", "estimate": 0.1}
    )
    rows["verdict"] = ["lower", "equivalent", "inconclusive", "inconclusive"]
    compared = read_estimates(rows.assign(p_value=[0.01, 0.2, 0.3, np.nan], p_margin=[0.9, 0.01, 0.9, 0.9]))
    result = estimates_differing_from_reference(means, ["metric", "method"], compared)
    # m3 has no estimate and m4 no test; m5 has neither an estimate nor a difference
    assert (result.rows, result.other_rows, result.n_untested) == ({1}, {2}, 0)
    assert result.marks == ["", "", "†", "", "", ""]


def test_the_rarer_rows_are_those_that_differ_unless_they_are_more():
    assert rarer_rows({1}, {2, 3}) == {1}
    assert rarer_rows({1}, {2}) == {1}
    assert rarer_rows({1, 2}, {3}) == {3}


def test_differences_from_several_references_are_an_error():
    means = read_estimates(frame([0.3, 0.4, 0.5]))
    several = differences(reference=["m0", "m3"])
    with raises(SalstatsError, column="reference", choices=("m0", "m3")):
        estimates_differing_from_reference(means, ["metric", "method", "reference"], several)


def test_columns_of_differences_alone_are_theirs():
    means = read_estimates(frame([0.3, 0.5, 0.9]))
    compared = read_estimates(differences().frame.assign(task=["a", "b"]), "differences")
    with raises(ColumnError, option="differences", column="task"):
        estimates_differing_from_reference(means, ["metric", "method"], compared)


def test_two_differences_of_one_estimate_are_an_error():
    means = read_estimates(frame([0.3, 0.4]))
    with raises(SalstatsError, option="differences"):
        estimates_differing_from_reference(means, ["metric", "method"], differences(method="m1"))


def test_stars_are_those_of_adjusted_p_or_of_levels_divided_by_the_tests():
    adjusted = read_estimates(frame([0.1, 0.2], p_value=[1e-9, 0.04], p_adjusted=[0.02, 0.2]))
    assert star_texts_and_note(adjusted, True, None).texts == ["*", ""]
    plain = read_estimates(frame([0.1, 0.2], p_value=[0.02, 0.04]))
    assert star_texts_and_note(plain, True, None).texts == ["*", ""]
    assert star_texts_and_note(plain, True, 1).texts == ["*", "*"]
    assert star_texts_and_note(plain, False, None) == (["", ""], "")
    unadjusted = read_estimates(frame([0.1, 0.2], p_value=[0.02, 0.04], p_adjusted=0.9, procedure="none"))
    assert star_texts_and_note(unadjusted, True, None).texts == ["*", "*"]
    assert star_texts_and_note(adjusted, True, 2).texts == ["***", ""]
    assert "Holm" in star_texts_and_note(adjusted.with_procedure_column("holm"), True, None).note
    assert "Holm" not in star_texts_and_note(adjusted.with_procedure_column("holm"), True, 2).note
    with raises(ValueRangeError, option="n_tests", value=0):
        star_texts_and_note(plain, True, 0)
    # a footnote on stars stands where there are any
    assert star_texts_and_note(plain, True, None).note
    assert (
        star_texts_and_note(read_estimates(frame([0.1], p_value=0.5)), True, None).note
        != star_texts_and_note(plain, True, 1).note
    )


@pytest.mark.parametrize("make", [ss.table_estimates, ss.table_regression, ss.table_correlation])
def test_tables_have_stars_only_on_demand(make):
    rows = pd.DataFrame({"method": ["a", "b"], "term": "spearman", "estimate": 0.5, "p_value": 1e-9})
    rows = rows.assign(x="iou", y="prob")
    assert not any("*" in text for row in current_record_of(make(rows)).cells for text in row)
    assert all(
        "***" in text
        for row in current_record_of(make(rows, stars=True)).cells
        for text in row
        if "0.5" in text
    )


def test_intercepts_have_no_stars_and_are_no_tests():
    terms = read_estimates(
        pd.DataFrame({"term": ["(Intercept)", "age"], "estimate": 1.0, "p_value": [1e-9, 0.04]})
    )
    assert star_texts_and_note(terms, True, None).texts == ["", "*"]


def test_stars_need_p_values_and_adjusted_ones_of_all_rows():
    with raises(ColumnError, option="stars", column="p_value"):
        star_texts_and_note(read_estimates(frame([0.1])), True, None)
    with raises(SalstatsError, column="p_adjusted", rows=(1,)):
        star_texts_and_note(
            read_estimates(frame([0.1, 0.2], p_value=0.01, p_adjusted=[0.02, np.nan])), True, None
        )


def test_the_heading_of_p_names_the_procedure():
    assert p_heading(read_estimates(frame([0.1], p_value=0.01))) == "P"
    adjusted = frame([0.1], p_value=0.01, p_adjusted=0.02)
    assert p_heading(read_estimates(adjusted)) == "P, adjusted"
    assert p_heading(read_estimates(adjusted.assign(procedure="holm"))) == "P, Holm"
