"""Warnings of items that are not made, and the error where none is."""

import pytest
from made_up_items import LACKING, broken

from salstats.errors import SalstatsError, SalstatsWarning
from salstats.studies.declarations import StudyItem
from salstats.studies.item_warnings import (
    ItemFailed,
    ItemNotMade,
    nothing_made_error,
    warning_instead_of_any_error,
)


def test_where_every_item_fails_there_is_no_folder(reproduce, tmp_path):
    with pytest.raises(SalstatsError) as caught:
        reproduce(StudyItem("t", "T", broken))
    assert isinstance(caught.value.__cause__, KeyError)
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_made_the_reason_is_the_error_and_nothing_is_left(reproduce, tmp_path):
    with pytest.raises(SalstatsError) as caught:
        reproduce(LACKING)
    # the reason is that of the item's own error
    assert "there is no score" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_package_is_an_item_not_made_and_any_other_a_failure():
    with pytest.warns(ItemNotMade) as not_made, warning_instead_of_any_error("Table 2"):
        raise SalstatsError("there is no score")
    assert not_made[0].message.item == "Table 2"
    with pytest.warns(ItemFailed) as failed, warning_instead_of_any_error("Table 9"):
        raise KeyError("model")
    assert failed[0].message.item == "Table 9"
    assert isinstance(failed[0].message.error, KeyError)


def test_the_error_of_a_run_that_made_nothing_has_each_reason_once():
    reasons = [ItemNotMade("Table 2", "there is no score") for _ in range(2)]
    error = nothing_made_error([*reasons, SalstatsWarning("few cases")])
    assert str(error).count("there is no score") == 1
    assert "few cases" not in str(error)
    assert error.__cause__ is None


def test_different_reasons_stand_behind_each_other_and_a_failure_is_the_cause():
    first = ItemNotMade("Table 2", "there is no score")
    second = ItemFailed("Table 9", KeyError("model"))
    error = nothing_made_error([first, second])
    assert str(error) == f"{first}; {second}"
    assert error.__cause__ is second.error
    assert str(nothing_made_error([])) == "no result can be made of these data"
