"""Reading of estimates frames."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.display.estimates import check_rows_are_distinct, read_estimates
from salstats.errors import ColumnError, SalstatsError
from salstats.files.frame_files import write_frame
from salstats.readers.scores import read_data

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


def test_a_column_that_is_not_there_has_no_values(estimates):
    assert estimates.distinct_values("unit") == []
    assert estimates.only_value("unit") is None
    assert not estimates.varies("unit")
    assert np.isnan(estimates.numbers("n")).all()
    assert len(estimates.non_missing_numbers("n")) == 0


def test_only_values_are_those_of_columns_with_one(estimates):
    assert estimates.only_value("metric") == "iou"
    assert estimates.only_value("method") is None
    assert estimates.only_value("task") is None
    # a missing value counts among those that vary
    assert estimates.subset([True, False, False, True]).varies("task")


def test_rows_are_described_one_by_one(estimates):
    assert estimates.has_estimate.tolist() == [True, True, False, True]
    assert estimates.has_limits.tolist() == [True, True, False, False]
    assert estimates.has_estimate_and_both_limits.tolist() == [True, True, False, False]
    assert estimates.is_over_tasks.tolist() == [False, True, False, False]
    assert estimates.is_summary_row.tolist() == [False, True, False, False]
    one_sided = read_estimates(FRAME.assign(conf_high=np.nan))
    assert one_sided.has_limits.tolist() == [True, True, False, False]
    assert not one_sided.has_estimate_and_both_limits.any()


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


def test_rows_are_taken_in_the_order_of_their_positions(estimates):
    taken = estimates.take([3, 0])
    assert taken.frame["estimate"].tolist() == [0.4, 0.1]
    assert taken.frame.index.tolist() == [0, 1]
    assert taken.with_columns(unit="case").only_value("unit") == "case"


def test_text_in_place_of_numbers_names_its_column():
    with raises(ColumnError, column="estimate"):
        read_estimates(FRAME.assign(estimate="high"))


def test_two_estimates_of_one_group_are_refused(estimates):
    check_rows_are_distinct(estimates, ["task", "method"])
    with raises(SalstatsError, option="estimates", rows=(1, 2, 3)):
        check_rows_are_distinct(estimates, ["metric"])


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
