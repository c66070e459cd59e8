"""Thresholds, cut-offs and filters by task and method."""

import numpy as np
import pytest
from tests_support import raises

import salstats as ss
from salstats.errors import SalstatsError, ValueRangeError
from salstats.scoring.masking import mask_rule, value_of
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
    assert value_of(values, "Edema", RISE) == 4
    values["Edema", "rise:cnn:0"] = 5
    assert value_of(values, "Edema", RISE) == 5
    assert value_of(values, "Edema", Series("lime")) == 1
    assert value_of(values, "Nodule", RISE) == 2
    assert value_of(values, "Nodule", Series("lime")) == 3
    assert value_of({("Edema", None): 1}, "Nodule", RISE) is None


def test_no_cutoff_applies_to_masks_of_people(study):
    rule = mask_rule(study, cutoff=0.3)
    assert rule.setting("Edema", RISE).cutoff == 0.3
    assert rule.setting("Edema", PERSON).cutoff is None
    assert rule.cutoff_of("Edema", PERSON) == 0.3


def test_a_mask_stays_at_the_cutoff_and_is_emptied_below_it(study):
    setting = mask_rule(study, cutoff=0.3).setting("Edema", RISE)
    assert setting.keeps(0.3)
    assert not setting.keeps(0.29)
    assert not setting.keeps(float("nan"))
    assert mask_rule(study).setting("Edema", RISE).keeps(float("nan"))


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
    with raises(SalstatsError, option="threshold", value="Edema", match="'lime'.*has one for method 'rise'"):
        mask_rule(study, threshold={("Edema", "rise"): 0.5})
    rule = mask_rule(study, threshold={(None, "rise"): 0.5})
    assert rule.setting("Edema", Series("lime")).threshold == "otsu"
