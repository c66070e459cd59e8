"""Thresholds, cut-offs and filters by task and method."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError
from salstats.images.maps import LARGEST_FILTER_SIDE, SaliencyOnImage
from salstats.images.thresholds import THRESHOLDS
from salstats.scoring.masking import mask_rule, value_for_task_and_series
from salstats.study import HUMAN, Series

RISE = Series("rise", "cnn", "0")
PERSON = Series(HUMAN, reader="R1")


@pytest.fixture
def study():
    truth = {("a", "Edema"): np.eye(4, dtype=bool)}
    maps = {("a", "Edema", "rise"): np.eye(4), ("a", "Edema", "lime"): np.eye(4)}
    return ss.study_from_arrays(truth, maps)


def test_the_value_of_the_series_precedes_that_of_its_method_and_of_all():
    values = {("Edema", None): 1, (None, "rise"): 2, (None, None): 3, ("Edema", "rise"): 4}
    assert value_for_task_and_series(values, "Edema", RISE) == 4
    values["Edema", "rise:cnn:0"] = 5
    assert value_for_task_and_series(values, "Edema", RISE) == 5
    assert value_for_task_and_series(values, "Edema", Series("lime")) == 1
    assert value_for_task_and_series(values, "Nodule", RISE) == 2
    assert value_for_task_and_series(values, "Nodule", Series("lime")) == 3
    assert value_for_task_and_series({("Edema", None): 1}, "Nodule", RISE) is None


@pytest.mark.parametrize("option", ["threshold", "cutoff", "smooth"])
def test_a_key_is_a_task_or_a_task_and_a_method(study, option):
    key = ("Edema", "rise", "cnn")
    with raises(SalstatsError, option=option, value=key):
        mask_rule(study, **{option: {key: 0}})


def test_no_cutoff_applies_to_masks_of_people(study):
    rule = mask_rule(study, cutoff=0.3)
    assert rule.setting("Edema", RISE).cutoff == 0.3
    assert rule.setting("Edema", PERSON).cutoff is None
    assert rule.cutoff_of("Edema", PERSON) == 0.3


def test_a_mask_stays_at_the_cutoff_and_is_emptied_below_it(study):
    setting = mask_rule(study, cutoff=0.3).setting("Edema", RISE)
    assert setting.prob_reaches_cutoff(0.3)
    assert not setting.prob_reaches_cutoff(0.29)
    assert not setting.prob_reaches_cutoff(float("nan"))
    assert mask_rule(study).setting("Edema", RISE).prob_reaches_cutoff(float("nan"))


def test_a_filter_of_0_pixels_is_none_and_has_no_colormap(study):
    setting = mask_rule(study, smooth={"Edema": 0}, colormap="jet").setting("Edema", RISE)
    assert setting.smooth is None
    assert setting.colormap is None
    setting = mask_rule(study, smooth=3, colormap="jet").setting("Edema", RISE)
    assert setting.columns == {"threshold": "otsu", "cutoff": None, "smooth": 3, "colormap": "jet"}


@pytest.mark.parametrize(("option", "value"), [("threshold", 1.01), ("cutoff", -0.01), ("smooth", 1.5)])
def test_values_outside_the_range_of_the_option_are_errors(study, option, value):
    with raises(ValueRangeError, option=option, value=value):
        mask_rule(study, **{option: value})


def test_a_value_is_needed_for_each_method_of_a_task(study):
    hint = "it has one for method 'rise'; tune and score under the same name"
    with raises(SalstatsError, option="threshold", value=("Edema", "lime"), hint=hint):
        mask_rule(study, threshold={("Edema", "rise"): 0.5})
    rule = mask_rule(study, threshold={(None, "rise"): 0.5})
    assert rule.setting("Edema", Series("lime")).threshold == "otsu"


@pytest.mark.parametrize("option", ["threshold", "cutoff", "smooth"])
def test_values_of_a_file_are_those_of_a_mapping_by_task(study, option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"task": ["Edema"], "threshold": [0.25], "cutoff": [0.25], "smooth": [3]})[
        ["task", option]
    ].to_csv("tuned.csv", index=False)
    expected = mask_rule(study, **{option: {"Edema": 3 if option == "smooth" else 0.25}})
    for file in ("tuned.csv", tmp_path / "tuned.csv"):
        assert mask_rule(study, **{option: file}) == expected


def test_text_may_be_a_number_or_a_threshold_in_any_case(study):
    assert mask_rule(study, threshold="0.25").setting("Edema", RISE).threshold == 0.25
    assert mask_rule(study, threshold="Otsu").setting("Edema", RISE).threshold == "otsu"
    assert mask_rule(study, threshold={"Edema": "LI"}).setting("Edema", RISE).threshold == "li"
    assert mask_rule(study, threshold=1 / 3).setting("Edema", RISE).columns["threshold"] == repr(1 / 3)
    for value in ("half", [0.5]):
        with raises(ValueRangeError, option="threshold", value=value, choices=tuple(THRESHOLDS)):
            mask_rule(study, threshold=value)
    with raises(ValueRangeError, option="cutoff", value="otsu", choices=()):
        mask_rule(study, cutoff="otsu")


@pytest.mark.parametrize(
    ("option", "inside", "outside"),
    [
        ("threshold", [0, 1], [-0.01, 1.01]),
        ("cutoff", [0, 1], [-0.01, 1.01]),
        ("smooth", [0, 1, LARGEST_FILTER_SIDE], [-1, LARGEST_FILTER_SIDE + 1, 2.5]),
    ],
)
def test_a_range_holds_its_ends(study, option, inside, outside):
    for value in inside:
        assert (
            value_for_task_and_series(getattr(mask_rule(study, **{option: value}), option), "Edema", RISE)
            == value
        )
    for value in outside:
        with raises(ValueRangeError, option=option, value=value):
            mask_rule(study, **{option: value})


@pytest.mark.parametrize(
    ("options", "kind", "fields"),
    [
        ({"colormap": "hot", "smooth": 3}, ValueRangeError, {"value": "hot", "choices": ("jet",)}),
        ({"colormap": "jet"}, SalstatsError, {"value": "jet"}),
        ({"colormap": "jet", "smooth": 3, "threshold": 0.5}, SalstatsError, {"value": "jet"}),
        ({"colormap": "jet", "smooth": 3, "threshold": {"Edema": "li"}}, SalstatsError, {"value": "jet"}),
    ],
)
def test_a_colormap_is_for_filtered_maps_before_otsu(study, options, kind, fields):
    with raises(kind, option="colormap", **fields):
        mask_rule(study, **options)
    assert mask_rule(study, colormap="jet", smooth=3).colormap == "jet"


def test_a_method_that_the_study_does_not_have_is_named(study):
    with raises(SalstatsError, option="cutoff", value="cam", choices=("rise", "lime")):
        mask_rule(study, cutoff={(None, "rise"): 0.5, (None, "cam"): 0.5})
    # methods that are not named have no cut-off
    rule = mask_rule(study, cutoff={(None, "rise"): 0.5})
    assert rule.setting("Edema", Series("lime")).cutoff is None
    assert rule.setting("Edema", RISE).cutoff == 0.5


def test_stored_masks_have_cut_offs_and_neither_thresholds_nor_filters():
    truth = {("a", "Edema"): np.eye(4, dtype=bool)}
    names = ("rise", "boxes")
    study = ss.study_from_arrays(truth, {("a", "Edema", name): np.eye(4) for name in names})
    (case,) = study.cases
    predictions = [replace(p, has_saliency=p.series.method == "rise") for p in case.predictions]
    study = replace(study, cases=(replace(case, predictions=tuple(predictions)),))
    assert mask_rule(study, cutoff={(None, "boxes"): 0.5}).setting("Edema", Series("boxes")).cutoff == 0.5
    with raises(SalstatsError, option="cutoff", value=("Edema", "boxes")):
        mask_rule(study, cutoff={("Edema", "rise"): 0.5})
    for option, value in (("threshold", 0.5), ("smooth", 3)):
        mask_rule(study, **{option: {("Edema", "rise"): value}})
        with raises(SalstatsError, option=option, value="boxes", choices=("rise",)):
            mask_rule(study, **{option: {(None, "boxes"): value}})


def test_a_task_without_a_value_is_named_with_those_that_have_one(study):
    with raises(
        SalstatsError, option="smooth", value=("Edema", "rise"), hint="it has values for tasks 'Nodule'"
    ):
        mask_rule(study, smooth={"Nodule": 3})


def test_maps_of_people_need_no_value(study):
    truth = {("a", "Edema"): np.eye(4, dtype=bool)}
    human = ss.study_from_arrays(truth, {}, human=truth)
    assert mask_rule(human, threshold={"Nodule": 0.5}).threshold == {("Nodule", None): 0.5}


def test_a_map_is_filtered_as_its_setting_says(study):
    saliency = np.random.default_rng(0).random((6, 8))
    rule = mask_rule(study, smooth=3)
    found = rule.setting("Edema", RISE).on_image(saliency, (12, 16))
    expected = SaliencyOnImage(saliency, (12, 16), smooth=3)
    np.testing.assert_array_equal(found.mask("otsu"), expected.mask("otsu"))
    assert (found.mask("otsu") != SaliencyOnImage(saliency, (12, 16)).mask("otsu")).any()
