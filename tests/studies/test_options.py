"""Options that name folders, lists, and values by method."""

import argparse

import pytest
from tests_support import raises

from salstats.errors import SalstatsError, ValueRangeError
from salstats.studies.options import (
    MIN_REPLICATES,
    SERIES_FORM,
    check_enough_replicates,
    folder_by_series_name,
    name_and_folder_parser,
    names_in,
    values_by_option_and_method,
)


def test_a_named_folder_is_split_at_the_first_equals_sign():
    assert name_and_folder_parser(SERIES_FORM)("gradcam:vit=maps/a=b") == ("gradcam:vit", "maps/a=b")


@pytest.mark.parametrize("text", ["maps", "=maps", "gradcam="])
def test_a_folder_needs_a_name_and_a_name_a_folder(text):
    with pytest.raises(argparse.ArgumentTypeError, match="METHOD"):
        name_and_folder_parser(SERIES_FORM)(text)


def test_a_folder_of_folders_needs_no_name_where_that_is_allowed():
    parse = name_and_folder_parser(SERIES_FORM, unnamed=True)
    assert parse("maps") == ("", "maps")
    assert parse("gradcam=maps") == ("gradcam", "maps")
    with pytest.raises(argparse.ArgumentTypeError):
        parse("=maps")


def test_without_folders_there_is_no_option():
    assert folder_by_series_name([], "maps") is None


def test_a_folder_of_folders_has_a_series_for_each_but_no_hidden_one(tmp_path):
    # methods with a label keep their underscores, of others the last underscore begins the model
    names = {
        "gradcam": "gradcam",
        "integrated_gradients_resnet_50": "integrated_gradients:resnet_50",
        "gradcam_densenet": "gradcam:densenet",
        "my_own_vit": "my_own:vit",
    }
    for name in (*names, ".cache"):
        (tmp_path / name).mkdir()
    (tmp_path / "notes.txt").touch()
    assert folder_by_series_name([("", str(tmp_path))], "maps") == {
        series: str(tmp_path / name) for name, series in names.items()
    }


def test_a_folder_without_folders_is_an_error(tmp_path):
    with raises(SalstatsError, option="maps", value=str(tmp_path), path=tmp_path):
        folder_by_series_name([("", str(tmp_path))], "maps")


def test_a_series_may_be_named_once():
    with raises(SalstatsError, option="maps", value="gradcam"):
        folder_by_series_name([("gradcam", "a"), ("rise", "b"), ("gradcam", "c")], "maps")


def test_names_are_repeated_or_stand_between_commas_and_quotes_keep_a_comma():
    assert names_in(None) is None
    assert names_in(["Edema, Atelectasis", '"Lesion, other"']) == ["Edema", "Atelectasis", "Lesion, other"]


@pytest.mark.parametrize("values", [[""], ["Edema,,Atelectasis"], ["Edema, "]])
def test_a_name_may_not_be_empty(values):
    with raises(SalstatsError, value=values):
        names_in(values)


def test_values_are_of_all_methods_or_by_method():
    assert values_by_option_and_method(
        smooth=None, threshold=["0.5"], cutoff=["ig=100,lrp=80", "rise=5"]
    ) == {
        "threshold": "0.5",
        "cutoff": {(None, "ig"): "100", (None, "lrp"): "80", (None, "rise"): "5"},
    }


@pytest.mark.parametrize("text", ["ig=100,80", "ig=100,=80", "ig=100,lrp=", "ig=100,ig=80"])
def test_each_method_has_one_value(text):
    with raises(SalstatsError, option="smooth"):
        values_by_option_and_method(smooth=[text])


def test_order_statistics_need_replicates():
    check_enough_replicates(MIN_REPLICATES)
    # 2.5 % of 40 replicates are one, so that fewer have no order statistic for the limits
    with raises(ValueRangeError, option="replicates", value=39):
        check_enough_replicates(39)
