"""A study from arrays: what it holds, and that a mistyped name is never a score."""

import numpy as np
import pytest
from tests_support import quick, raises, warns

import salstats as ss
from salstats.errors import SalstatsError, ShapeError, ValueRangeError
from salstats.images.masks import area, decode

TRUTH = np.zeros((6, 8), bool)
TRUTH[1:3, 2:5] = True
MAP = TRUTH * 0.9


def study(truths=None, maps=None, **given):
    """A study of one case and task, unless said."""
    return ss.study_from_arrays(
        {("a", "Edema"): TRUTH} if truths is None else truths,
        {("a", "Edema", "cam"): MAP} if maps is None else maps,
        **given,
    )


def test_cases_are_sorted_and_tasks_and_methods_in_the_order_met():
    made = study(
        {("b", "Nodule"): TRUTH, ("a", "Edema"): TRUTH},
        {("b", "Nodule", "ig"): MAP, ("b", "Nodule", "cam"): MAP},
        human={},
        patient={"a": "p", "b": "p"},
    )
    assert [c.case for c in made] == ["a", "b"]
    assert made.tasks == ("Nodule", "Edema")
    assert [str(s) for s in made.series] == ["ig", "cam", "human"]
    assert {c.patient for c in made} == {"p"}


def test_masks_of_zeros_and_ones_are_masks():
    scores = ss.score(study({("a", "Edema"): TRUTH.astype(int)}), threshold=0.5)
    assert scores["score"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("given", "error", "option", "value", "choices"),
    [
        ({"truths": {}}, SalstatsError, "truths", None, ()),
        ({"truths": {("a", "Edema"): TRUTH * 0.5}}, ValueRangeError, "truths", ("a", "Edema"), ()),
        ({"truths": {("a", "Edema"): TRUTH[0]}}, ShapeError, "truths", ("a", "Edema"), ()),
        ({"human": {("A", "Edema"): TRUTH}}, SalstatsError, "human", ("A", "Edema"), ("a",)),
        ({"human": {("a", "edema"): TRUTH}}, SalstatsError, "human", ("a", "edema"), ("Edema",)),
        ({"human": {("a", "Edema"): TRUTH[:4]}}, ShapeError, "human", ("a", "Edema"), ()),
        ({"human": {"a": TRUTH}}, SalstatsError, "human", "a", ()),
        ({"points": {("b", "Edema"): [(3, 3)]}}, SalstatsError, "points", ("b", "Edema"), ("a",)),
        ({"points": {("a", "Edema"): [(2, 9, 9), (3, 9, 9)]}}, ShapeError, "points", (2, 3), ()),
        ({"prob": {("a", "Nodule"): 0.5}}, SalstatsError, "prob", ("a", "Nodule"), ("Edema",)),
        ({"prob": {("a", "Edema"): 90}}, ValueRangeError, "prob", 90, ()),
        ({"maps": {("a", "Oedema", "cam"): MAP}}, SalstatsError, "maps", ("a", "Oedema", "cam"), ("Edema",)),
        ({"maps": {("a", "Edema"): MAP}}, SalstatsError, "maps", ("a", "Edema"), ()),
        ({"maps": {("a", "Edema", "cam"): MAP[None]}}, ShapeError, "maps", ("a", "Edema", "cam"), ()),
        ({"maps": {("a", "Edema", "human"): MAP}}, SalstatsError, "maps", ("a", "Edema", "human"), ()),
        ({"patient": {"b": "p"}}, SalstatsError, "patient", "a", ()),
    ],
)
def test_what_does_not_fit_is_named(given, error, option, value, choices):
    with raises(error, option=option, value=value, choices=choices):
        study(**given)


def test_many_cases_are_put_together_in_linear_time():
    masks = {(f"c{i}", "t"): np.eye(2, dtype=bool) for i in range(10_000)}
    with quick(10):
        study = ss.study_from_arrays(masks, {(*key, "g"): np.eye(2) for key in masks})
    assert len(study.cases) == 10_000


def test_masks_of_several_readers_are_a_study_without_a_truth_or_with_their_consensus():
    wide = TRUTH.copy()
    wide[1:3, 5] = True
    readers = {("a", "Edema", "R1"): TRUTH, ("a", "Edema", "R2"): wide, ("a", "Edema", "R3"): TRUTH}
    readers["b", "Nodule", "R1"] = wide
    made = ss.study_from_arrays({}, {}, readers=readers)
    assert made.tasks == ("Edema", "Nodule")
    assert made.readers() == ("R1", "R2", "R3")
    assert not any(p.has_saliency for case in made for p in case.predictions)
    first, second = made
    assert not first.truths
    # a reader who marked another task of a case marked nothing here, one without a mask did not read it
    marked = {(p.task, p.series.reader): area(p.read().mask) for p in first.predictions}
    n_truth, n_wide = TRUTH.sum(), wide.sum()
    assert marked == {
        ("Edema", "R1"): n_truth, ("Edema", "R2"): n_wide, ("Edema", "R3"): n_truth,
        ("Nodule", "R1"): 0, ("Nodule", "R2"): 0, ("Nodule", "R3"): 0,
    }  # fmt: skip
    assert {(p.task, p.series.reader) for p in second.predictions} == {("Edema", "R1"), ("Nodule", "R1")}
    with warns(match="1 of 2 cases"):
        voted = ss.study_from_arrays("majority", {("a", "Edema", "cam"): MAP}, readers=readers)
    np.testing.assert_array_equal(decode(voted.cases[0].truths["Edema"].read()), TRUTH)
    assert [str(series) for series in voted.series] == ["cam"]


def test_people_of_a_case_without_an_entry_marked_nothing():
    made = study({("a", "Edema"): TRUTH, ("b", "Edema"): TRUTH}, {}, human={("a", "Edema"): TRUTH}, points={})
    assert not any(p.has_saliency for case in made for p in case.predictions)
    contents = {case.case: case.predictions[0].read() for case in made}
    assert area(contents["a"].mask) == TRUTH.sum()
    assert area(contents["b"].mask) == 0
    assert all(len(content.points) == 0 for content in contents.values())
    only_points = study(maps={}, points={("a", "Edema"): [(1, 2)]}).cases[0].predictions[0].read()
    assert only_points.mask is None
    assert np.asarray(only_points.points).tolist() == [[1, 2]]


def test_a_study_needs_a_mask_and_one_kind_of_people():
    with raises(SalstatsError, option="truths"):
        ss.study_from_arrays({}, {("a", "Edema", "cam"): MAP})
    with raises(SalstatsError, option="human"):
        study(human={("a", "Edema"): TRUTH}, readers={("a", "Edema", "R1"): TRUTH})
    with raises(SalstatsError, option="patient", value="b"):
        study({("a", "Edema"): TRUTH, ("b", "Edema"): TRUTH}, patient={"a": "p"})


def test_a_probability_may_be_anything_from_0_to_1():
    cases = ["a", "b", "c"]
    truths = {(case, "Edema"): TRUTH for case in cases}
    probabilities = [0, 0.25, 1]
    prob = {(case, "Edema"): value for case, value in zip(cases, probabilities, strict=True)}
    made = study(truths, {(*pair, "cam"): MAP for pair in truths}, prob=prob)
    assert [case.predictions[0].read().prob for case in made] == probabilities
    for value in (-0.01, 1.01, np.nan):
        with raises(ValueRangeError, option="prob"):
            study(prob={("a", "Edema"): value})
