"""Reading of estimates frames."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.estimates import (
    check_rows_are_distinct,
    chosen_or_recorded_references,
    read_estimates,
)
from salstats.errors import ColumnError, SalstatsError
from salstats.files.frame_files import write_frame
from salstats.readers.scores import read_data
from salstats.stats.average_kinds import AverageKind

FRAME = pd.DataFrame(
    {
        "metric": "iou",
        "task": ["Edema", "Average", "Edema", None],
        "method": ["a", "a", "b", "b"],
        "reference": "human",
        "term": "mean",
        "estimate": [0.1, 0.2, np.nan, 0.4],
        "conf_low": [0.0, -np.inf, np.nan, np.nan],
        "conf_high": [0.3, 0.5, np.nan, np.nan],
        "p_value": [0.01, 0.02, np.nan, 0.04],
    }
)


@pytest.fixture
def estimates():
    return read_estimates(FRAME)


def test_grouping_columns_stand_before_the_estimates(estimates):
    assert estimates.keys == ("metric", "task", "method")
    assert estimates.varying_keys == ("task", "method")
    several = read_estimates(FRAME.assign(reference=["x", "y", "x", "y"]))
    assert several.keys[-1] == "reference"
    by_method = estimates.with_other_frame(FRAME.drop(columns="task").iloc[[2, 3]])
    assert by_method.keys == ("metric", "method")
    assert by_method.frame.index.tolist() == [0, 1]
    assert len(by_method) == 2


def test_a_column_that_is_not_there_has_no_values(estimates):
    assert estimates.distinct_values("unit") == []
    assert estimates.only_non_missing_value("unit") is None
    assert not estimates.varies("unit")
    assert np.isnan(estimates.numbers("n")).all()
    assert len(estimates.non_missing_numbers("n")) == 0
    assert not read_estimates(FRAME.drop(columns="task")).is_over_tasks.any()
    without_limits = read_estimates(FRAME.drop(columns=["conf_low", "conf_high"]))
    assert without_limits.frame[["conf_low", "conf_high"]].isna().all(axis=None)
    assert "p_adjusted" not in without_limits.frame
    # counts that may be missing are no floats
    counts = estimates.with_columns(n_units=pd.array([3, None, 4, 5], dtype="Int64"))
    assert counts.non_missing_numbers("n_units").tolist() == [3, 4, 5]


def test_only_values_are_those_of_columns_with_one(estimates):
    assert estimates.only_non_missing_value("metric") == "iou"
    assert estimates.only_non_missing_value("method") is None
    assert estimates.only_non_missing_value("task") is None
    # a missing value counts among those that vary
    assert estimates.subset([True, False, False, True]).varies("task")


def test_rows_are_described_one_by_one(estimates):
    assert estimates.has_estimate.tolist() == [True, True, False, True]
    assert estimates.has_any_limit.tolist() == [True, True, False, False]
    assert estimates.has_estimate_and_both_limits.tolist() == [True, True, False, False]
    assert estimates.is_over_tasks.tolist() == [False, True, False, False]
    assert estimates.is_summary_row.tolist() == [False, True, False, False]
    one_sided = read_estimates(FRAME.assign(conf_high=np.nan))
    assert one_sided.has_any_limit.tolist() == [True, True, False, False]
    assert not one_sided.has_estimate_and_both_limits.any()
    without_low = read_estimates(FRAME.assign(conf_low=np.nan))
    assert without_low.has_any_limit.tolist() == [True, True, False, False]
    assert not without_low.has_estimate_and_both_limits.any()
    untested = read_estimates(FRAME.assign(p_value=[np.nan, np.nan, 0.03, 0.04]))
    assert untested.has_estimate_and_limit_or_p_value.tolist() == [True, True, False, True]
    assert one_sided.with_columns(p_value=np.nan).has_estimate_and_limit_or_p_value.tolist() == [
        True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_exponentiated_rows_are_known_after_a_file(tmp_path, suffix):
    file = tmp_path / f"ratios{suffix}"
    write_frame(FRAME.drop(columns="task").assign(exponentiated=[True, False, False, True]), file)
    for frame in (read_data(file), FRAME.assign(exponentiated=["True", "False", "", "true"])):
        assert read_estimates(frame).is_exponentiated.tolist() == [True, False, False, True]
    assert not read_estimates(FRAME).is_exponentiated.any()


def test_a_method_called_average_is_a_summary_row_but_not_over_tasks():
    named = read_estimates(FRAME.assign(method="Average", task="Edema"))
    assert named.is_summary_row.all()
    assert not named.is_over_tasks.any()


def test_adjusted_p_values_are_reported_unless_nothing_was_adjusted(estimates):
    adjusted = FRAME.assign(p_adjusted=FRAME["p_value"] * 3)
    assert estimates.p_values_adjusted_if_any[0] == 0.01
    assert read_estimates(adjusted.assign(procedure="holm")).p_values_adjusted_if_any[0] == 0.03
    assert read_estimates(adjusted.assign(procedure="none")).p_values_adjusted_if_any[0] == 0.01
    assert not estimates.has_adjusted_p_values
    assert estimates.has_p_values
    assert estimates.subset([True, False, False, False]).has_p_values
    assert not estimates.subset([False, False, True, False]).has_p_values


def test_rows_are_taken_in_the_order_of_their_positions(estimates):
    taken = estimates.take([3, 0])
    assert taken.frame["estimate"].tolist() == [0.4, 0.1]
    assert taken.frame.index.tolist() == [0, 1]
    assert taken.frame.columns.tolist() == FRAME.columns.tolist()
    assert estimates.existing_columns(["unit", "task"]) == ["task"]
    none = estimates.subset([0, 0, 0, 0])
    assert len(none) == len(estimates.take([])) == 0
    assert none.is_exponentiated.dtype == none.is_summary_row.dtype == bool
    # flags of a frame may be objects
    last = estimates.subset(pd.Series([False, False, False, True], dtype="object"))
    assert last.frame.index.tolist() == [0]
    assert last.frame.columns.tolist() == FRAME.columns.tolist()
    assert taken.with_columns(unit="case").only_non_missing_value("unit") == "case"


def test_metrics_without_a_score_are_those_whose_rows_have_none():
    estimates = read_estimates(FRAME.assign(metric=["iou", "iou", "hit", "hit"], n=[3, 0, 0, 0]))
    assert estimates.metrics_without_scores == ("hit",)
    assert estimates.without_metrics(["hit"]).frame["estimate"].tolist() == [0.1, 0.2]
    assert estimates.without_metrics([]) is estimates
    # neither one metric alone nor a frame without estimates has others to compare with
    assert estimates.subset([False, False, True, True]).metrics_without_scores == ()
    assert estimates.with_columns(estimate=np.nan).metrics_without_scores == ()


def test_terms_of_mrmc_are_shown_one_at_a_time(estimates):
    assert estimates.only_term == "mean"
    assert len(estimates.subset_of_term_if_mrmc("mean")) == 4
    of_mrmc = estimates.with_columns(term=["equal", "mean", "mean", "difference"])
    assert of_mrmc.only_term is None
    assert of_mrmc.subset_of_term_if_mrmc("mean").frame["estimate"].tolist()[0] == 0.2
    assert len(of_mrmc.subset_of_term_if_mrmc("mean")) == 2
    assert len(of_mrmc.subset_of_term_if_mrmc("auroc")) == 4
    assert (
        len(of_mrmc.with_columns(term=["median", "mean", "mean", "mean"]).subset_of_term_if_mrmc("mean")) == 4
    )


def test_limits_are_of_a_family_where_each_has_a_higher_level(estimates):
    assert estimates.family_level_if_simultaneous is None
    family = estimates.with_columns(family_level=0.9, conf_level=[0.95, np.nan, 0.9, 0.9])
    assert family.family_level_if_simultaneous == 0.9
    # a family of one test
    assert family.with_columns(conf_level=0.9).family_level_if_simultaneous is None
    assert family.with_columns(family_level=[0.8, 0.9, 0.9, 0.9]).family_level_if_simultaneous is None


def test_the_procedure_that_a_caller_names_replaces_that_of_the_frame(estimates):
    assert estimates.with_procedure_column(None) is estimates
    assert estimates.with_procedure_column("BH").adjustment_procedure == "BH"
    # a joint procedure too: the P values are adjusted already
    assert estimates.with_procedure_column("max-t").adjustment_procedure == "max-t"
    with pytest.raises(SalstatsError):
        estimates.with_procedure_column("own")


def test_references_are_the_chosen_one_or_those_of_the_frame(estimates):
    assert chosen_or_recorded_references(estimates) == ["human"]
    assert chosen_or_recorded_references(estimates.with_columns(reference=list("xyxy"))) == ["x", "y"]
    assert chosen_or_recorded_references(read_estimates(FRAME.drop(columns="reference"))) == ["human"]
    assert chosen_or_recorded_references(estimates, "b") == ["b"]
    with raises(SalstatsError, option="reference", value="x", choices=("a", "b")):
        chosen_or_recorded_references(estimates, "x")


def average_decrease(estimate, **columns):
    """Kind of the last row: the average of decreases of 50 % and 25 %, from 0.2 and 0.8 to 0.1 and 0.6."""
    frame = pd.DataFrame(
        {
            "task": ["a", "b", "Average"],
            "term": "percent_decrease",
            "estimate": [50, 25, estimate],
            "method_mean": [0.1, 0.6, 0.35],
            "reference_mean": [0.2, 0.8, 0.5],
            "n": [10, 10, 20],
        }
    )
    kinds = read_estimates(frame.assign(**columns)).average_kind_of_each_row
    assert kinds[:2] == (None, None)
    return kinds[2]


def test_an_average_decrease_is_of_means_or_of_decreases():
    # (50 + 25) / 2, and 1 - 0.35 / 0.5
    assert average_decrease(37.5) == AverageKind.OF_DECREASES
    assert average_decrease(30) == AverageKind.OF_MEANS
    assert average_decrease(30, term="difference") is None
    # members that are weighted are no witnesses, and three decimals of the means leave both possible
    assert average_decrease(30.1) == AverageKind.OF_MEANS
    assert average_decrease(30.1, weights="area") == AverageKind.EITHER
    without_means = read_estimates(FRAME.assign(term="percent_decrease"))
    assert without_means.average_kind_of_each_row == (None,) * 4


def test_text_in_place_of_numbers_names_its_column():
    with raises(ColumnError, column="estimate"):
        read_estimates(FRAME.assign(estimate="high"))
    with raises(ColumnError, column="estimate"):
        read_estimates(FRAME.drop(columns="estimate"))
    with raises(ColumnError, column="verdict"):
        read_estimates(FRAME, required_columns=("method", "verdict"))


def test_two_estimates_of_one_group_are_refused(estimates):
    check_rows_are_distinct(estimates, ["task", "method"])
    with raises(SalstatsError, option="estimates", rows=(1, 2, 3)):
        check_rows_are_distinct(estimates, ["metric"])
    with raises(SalstatsError, option="estimates", rows=(1, 2, 3)):
        check_rows_are_distinct(estimates, [])


def test_columns_with_the_dots_of_r_are_named_and_read_under_our_names(tmp_path):
    frame = FRAME.query("task == 'Edema'").assign(**{"age.group": "old"})
    dotted = frame.rename(columns={"conf_low": "conf.low", "conf_high": "conf.high", "p_value": "p.value"})
    with raises(ColumnError, column="p.value"):
        read_estimates(dotted)
    dotted.to_csv(tmp_path / "dotted.csv", index=False)
    assert read_data(tmp_path / "dotted.csv").columns.tolist() == frame.columns.tolist()
    # a table without estimates keeps its names
    dotted.drop(columns="estimate").to_csv(tmp_path / "dotted.csv", index=False)
    assert "conf.low" in read_data(tmp_path / "dotted.csv")
