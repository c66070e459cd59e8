import numpy as np
import pandas as pd
import pytest
from tests_support import raises

from salstats.errors import SalstatsError, ValueRangeError
from salstats.stats.planning.parameters import (
    COMPONENT_RANGES,
    PAIR_RANGES,
    checked_given_parameters,
    design_effect,
    reader_groups_of_components,
    sd_of_pair_difference,
)

COMPONENTS = {"error": 8.0, "cov1": 3.0, "cov2": 2.5, "cov3": 2.0, "method:reader": 1.5, "n_cases": 40}


def components_frame(**columns):
    """Components as a frame of `mrmc_components`, with more columns in front."""
    terms = {term: value for term, value in COMPONENTS.items() if term != "n_cases"} | {"reader": 9.0}
    frame = pd.DataFrame({"term": list(terms), "estimate": list(terms.values()), "n_units": 40})
    for position, (name, value) in enumerate(columns.items()):
        frame.insert(position, name, value)
    return frame


def test_parameters_are_numbers_of_their_range():
    parameters = checked_given_parameters(
        {"sd": "0.2", "icc": 1, "correlation": -1, "n_pilot": 6}, PAIR_RANGES
    )
    assert parameters == {"sd": 0.2, "icc": 1.0, "correlation": -1.0, "n_pilot": 6.0}
    numbers = {
        "sd_difference": 0.2, "sd_reference": 0.1, "correlation": 1.0, "mean_reference": -0.3, "icc": 0.0,
        "cluster_size": 1.0,
    }  # fmt: skip
    assert checked_given_parameters(numbers, PAIR_RANGES) == numbers
    components = COMPONENTS | {"n_cases": 1, "cov3": -0.5, "method:reader": -0.1}
    assert checked_given_parameters(components, COMPONENT_RANGES) == components


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sd", 0), ("sd", -0.1), ("sd", np.inf), ("sd", "wide"), ("sd_difference", 0.0),
        ("sd_reference", 0), ("correlation", 1.01), ("correlation", -1.01), ("icc", -0.01), ("icc", 1.01),
        ("cluster_size", 0.9), ("n_pilot", 5), ("mean_reference", -np.inf), ("mean_reference", np.nan),
    ],
)  # fmt: skip
def test_a_value_out_of_its_range_raises(name, value):
    with raises(ValueRangeError, option=name, value=value):
        checked_given_parameters({name: value}, PAIR_RANGES)


def test_an_unknown_parameter_raises():
    with raises(ValueRangeError, option="parameter", value="sds"):
        checked_given_parameters({"sds": 0.2}, PAIR_RANGES)


@pytest.mark.parametrize("slope", [1.0, 0.8])
def test_sd_of_pairs_is_that_of_scores_with_this_covariance(slope):
    # np.cov of the scores themselves is the oracle: the parameters are those of a sample.
    method, reference = np.random.default_rng(0).multivariate_normal([0, 0], [[4, 1], [1, 9]], 50).T
    parameters = {
        "sd": method.std(ddof=1),
        "sd_reference": reference.std(ddof=1),
        "correlation": np.corrcoef(method, reference)[0, 1],
    }
    expected = (method - slope * reference).std(ddof=1)
    assert sd_of_pair_difference(parameters, slope) == pytest.approx(expected, rel=1e-12)


def test_sd_of_pairs_has_defaults_and_limits():
    # Both scores have SD 3 and are uncorrelated: 3 sqrt(2).
    assert sd_of_pair_difference({"sd": 3.0}, 1.0) == pytest.approx(3 * np.sqrt(2))
    assert sd_of_pair_difference({"sd_difference": 0.7, "sd": 3.0}, 1.0) == 0.7
    with raises(SalstatsError, option="sd_difference"):
        sd_of_pair_difference({"sd_difference": 0.7}, 0.9)
    with raises(ValueRangeError, option="correlation"):
        sd_of_pair_difference({"sd": 3.0, "correlation": 1.0}, 1.0)
    with pytest.raises(SalstatsError):
        sd_of_pair_difference({"correlation": 0.5}, 1.0)


def test_design_effect_is_the_variance_of_a_cluster_mean_over_that_of_independent_cases():
    # The variance of a mean of m cases with correlation icc is the mean of their correlation matrix.
    correlation = np.full((4, 4), 0.3)
    np.fill_diagonal(correlation, 1.0)
    expected = correlation.mean() / np.eye(4).mean()
    assert design_effect({"cluster_size": 4.0, "icc": 0.3}) == pytest.approx(expected)
    assert design_effect({"icc": 0.3}) == 1.0
    assert design_effect({"cluster_size": 4.0}) == 1.0


def test_components_of_a_mapping_are_one_group():
    (group,) = reader_groups_of_components(COMPONENTS | {"n_readers": 5})
    assert group.keys == {"unit": "case"}
    assert (group.n_readers, group.cases_per_unit) == (5, 1.0)
    components = group.components
    assert (components.var, components.cov1, components.cov2, components.cov3) == (8.0, 3.0, 2.5, 2.0)
    assert (components.var_tr, components.n_cases) == (1.5, 40.0)
    assert reader_groups_of_components(COMPONENTS)[0].n_readers is None


def test_a_negative_gap_of_covariances_is_part_of_the_interaction():
    (group,) = reader_groups_of_components(COMPONENTS | {"cov2": 1.75})
    assert group.components.var_tr == 1.5 + 0.25


def test_components_of_a_frame_are_a_group_for_each_of_its_keys():
    first = components_frame(metric="iou", task="Edema").assign(n_cases=80, n_readers=5)
    second = components_frame(metric="iou", task="Mass").assign(n_units=20, n_cases=60, n_readers=4)
    frame = pd.concat([first, second]).assign(unit="patient", figure="auc")
    groups = reader_groups_of_components(frame)
    assert [group.keys["task"] for group in groups] == ["Edema", "Mass"]
    assert groups[1].keys == {"unit": "patient", "metric": "iou", "task": "Mass", "figure": "auc"}
    assert groups[1].components.n_cases == 20
    assert groups[1].cases_per_unit == 3.0
    assert groups[1].n_readers == 4


def test_a_group_without_a_name_is_kept_and_a_level_without_rows_is_none():
    named = components_frame(task="Edema")
    both = pd.concat([named, components_frame(task=None)])
    names = [group.keys["task"] for group in reader_groups_of_components(both)]
    assert names[0] == "Edema"
    assert pd.isna(names[1])
    named["task"] = pd.Categorical(named["task"], ["Edema", "Mass"])
    assert [group.keys["task"] for group in reader_groups_of_components(named)] == ["Edema"]


def test_a_frame_without_keys_is_one_group():
    (group,) = reader_groups_of_components(components_frame())
    (expected,) = reader_groups_of_components(COMPONENTS)
    assert group == expected


@pytest.mark.parametrize("missing", ["error", "cov2", "method:reader"])
def test_a_missing_component_raises(missing):
    components = {name: value for name, value in COMPONENTS.items() if name != missing}
    with raises(SalstatsError, option=missing):
        reader_groups_of_components(components)


def test_a_frame_of_one_component_lacks_the_others():
    with raises(SalstatsError, option="cov1"):
        reader_groups_of_components(components_frame().query("term == 'error'"))


@pytest.mark.parametrize(
    "values",
    [
        {"error": 0.001, "cov1": 0.002, "cov2": 0.0003, "cov3": 0.0002},
        # no variance is left, with which any study would have a power of 1
        {"error": 0.001, "cov1": 0.001, "cov2": 0.0002, "cov3": 0.0002},
        # MS(TR) is expected below 0, though random cases add more to a difference
        {"error": 0.001, "cov1": 0.0009, "cov2": 0.0005, "cov3": 0.0002},
    ],
)
def test_components_that_leave_differences_without_variance_raise(values):
    with raises(ValueRangeError, option="error", value=0.001):
        reader_groups_of_components(COMPONENTS | values | {"method:reader": 0.0})


@pytest.mark.parametrize(
    "values",
    [
        # MS(TR) is 0, and random cases add cov2 - cov3 to a difference
        {"error": 0.75, "cov1": 0.5, "cov2": 0.5, "cov3": 0.25, "method:reader": 0.0},
        # An interaction below 0 counts as none.
        {"error": 8.0, "method:reader": -6.0},
    ],
)
def test_components_without_an_interaction_are_those_of_a_study(values):
    (group,) = reader_groups_of_components(COMPONENTS | values)
    assert group.components.var == values["error"]
    assert group.components.var_tr == values["method:reader"]


def test_a_frame_of_components_may_have_no_cases():
    # Without a column of cases each unit is a case.
    (group,) = reader_groups_of_components(components_frame(metric="iou"))
    assert group.cases_per_unit == 1.0
    with raises(ValueRangeError, option="n_readers", value=1):
        reader_groups_of_components(COMPONENTS | {"n_readers": 1})
    assert reader_groups_of_components(COMPONENTS | {"n_readers": 2})[0].n_readers == 2
    with raises(ValueRangeError, option="n_cases", value=0):
        reader_groups_of_components(COMPONENTS | {"n_cases": 0})


def test_sources_without_components_raise():
    with raises(ValueRangeError, option="error", value=0.0):
        reader_groups_of_components(COMPONENTS | {"error": 0.0})
    with raises(SalstatsError, option="term"):
        reader_groups_of_components(pd.DataFrame({"term": ["error"], "estimate": [1.0]}))
    with raises(SalstatsError, option="term"):
        reader_groups_of_components([1.0, 2.0])
