"""What an average percentage decrease is of, told from the numbers of its frame."""

import numpy as np
import pandas as pd
import pytest

from salstats.stats.average_kinds import (
    AverageKind,
    decrease_of_means_or_mean_of_decreases,
    member_rows_of_averages,
)

KEYS = ["metric", "task"]


def decreases(average):
    """Decreases of two tasks, 10 and 75 %, and their average: of the means 50 %, of the decreases 42.5 %."""
    return pd.DataFrame(
        {
            "metric": "iou",
            "task": ["Edema", "Mass", "Average"],
            "term": "percent_decrease",
            "estimate": [10.0, 75.0, average],
            "n": [4, 5, 9],
            "reference_mean": [0.5, 0.8, 0.65],
            "method_mean": [0.45, 0.2, 0.325],
        }
    )


@pytest.mark.parametrize(
    ("average", "kind"), [(50.0, AverageKind.OF_MEANS), (42.5, AverageKind.OF_DECREASES)]
)
def test_the_kind_is_that_whose_number_the_average_is(average, kind):
    # as computed, and with an average that was printed with two decimals
    for frame in (decreases(average), decreases(average + 0.005)):
        members = member_rows_of_averages(frame, KEYS)
        assert members == {2: [0, 1]}
        assert decrease_of_means_or_mean_of_decreases(frame, 2, members[2]) == kind
    # without the rows that are averaged
    assert decrease_of_means_or_mean_of_decreases(decreases(average), 2, []) == kind


def test_numbers_that_agree_with_both_kinds_are_of_either():
    same_reference = decreases(50.0).assign(reference_mean=0.5, method_mean=[0.45, 0.05, 0.25])
    same_reference["estimate"] = [10.0, 90.0, 50.0]
    assert decrease_of_means_or_mean_of_decreases(same_reference, 2, [0, 1]) == AverageKind.EITHER
    # 0.325 and 0.65 may be 0.3254 and 0.6496, of which the decrease is 49.9
    rounded = decreases(49.9)
    assert decrease_of_means_or_mean_of_decreases(rounded, 2, []) == AverageKind.EITHER
    assert decrease_of_means_or_mean_of_decreases(rounded, 2, [0, 1]) == AverageKind.OF_MEANS


def test_an_average_without_all_of_its_rows_has_no_members():
    assert member_rows_of_averages(decreases(50.0).drop(index=1).reset_index(drop=True), KEYS) == {1: []}
    undefined = decreases(np.nan)
    assert decrease_of_means_or_mean_of_decreases(undefined, 2, [0, 1]) == AverageKind.OF_MEANS


@pytest.mark.parametrize(
    ("average", "error", "is_rounding"),
    # rounding explains 1e-9 of 100, or of an average that is larger
    [
        (50.0, 0.995e-7, True),
        (50.0, -0.995e-7, True),
        (50.0, 1.005e-7, False),
        (50.0, -1.005e-7, False),
        (-300.0, 2.99e-7, True),
        (-300.0, 3.01e-7, False),
    ],
)
def test_a_definition_that_differs_by_more_than_rounding_is_excluded(average, error, is_rounding):
    def kind(mean_of_decreases, decrease_of_means):
        frame = decreases(average)
        frame["estimate"] = [mean_of_decreases, mean_of_decreases, average]
        frame.loc[2, "method_mean"] = 0.65 * (1 - decrease_of_means / 100)
        return decrease_of_means_or_mean_of_decreases(frame, 2, [0, 1])

    either = AverageKind.EITHER
    assert kind(average + error, average) == (either if is_rounding else AverageKind.OF_MEANS)
    assert kind(average, average + error) == (either if is_rounding else AverageKind.OF_DECREASES)
