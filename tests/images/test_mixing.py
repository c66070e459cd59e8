import numpy as np
import pytest
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.images.mixing import MIXING_RULES, mixed_map_of_classes

#: Four pixels and three classes, which a hand can add up.
MAPS = np.array([[[8, 0], [0, 0]], [[0, 4], [0, 0]], [[0, 0], [2, 6]]])
PROBS = [0.2, 0.5, 0.9]
#: Sums of a few numbers up to 8 in double precision.
ROUNDING = 1e-15
#: The same sums in another order, and divided another time.
SUMS = 1e-14


def code_of_the_study(maps, probs, rule):
    """The published code on probabilities: the weighted sum, not divided."""
    chosen = range(len(probs))
    weights = probs if rule == "weighted" else [1] * len(probs)
    if rule == "thresholded":
        chosen = [index for index, prob in enumerate(probs) if prob >= 0.5] or [0]
    return sum(weights[index] * maps[index] for index in chosen)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("thresholded", [[0, 2], [1, 3]]),
        ("weighted", [[1, 1.25], [1.125, 3.375]]),
        ("uniform", [[8 / 3, 4 / 3], [2 / 3, 2]]),
    ],
)
def test_drawn_maps_by_hand(rule, expected):
    np.testing.assert_allclose(mixed_map_of_classes(MAPS, PROBS, rule=rule), expected, rtol=ROUNDING)


@pytest.mark.parametrize("rule", MIXING_RULES)
@pytest.mark.parametrize("least", [0.0, 0.6])
def test_maps_are_those_of_the_study_s_code_but_for_a_factor(rule, least):
    rng = np.random.default_rng(6)
    for _ in range(20):
        maps, probs = rng.random((5, 6, 7)), rng.uniform(least / 2, 0.5 + least / 2, 5)
        mixed, theirs = mixed_map_of_classes(maps, probs, rule=rule), code_of_the_study(maps, probs, rule)
        factor = theirs.sum() / mixed.sum()
        np.testing.assert_allclose(mixed * factor, theirs, rtol=SUMS)
        assert maps.min() <= mixed.min() <= mixed.max() <= maps.max()


def test_the_default_is_the_threshold_of_one_half():
    expected = mixed_map_of_classes(MAPS, PROBS, rule="thresholded", threshold=0.5, no_finding=0)
    np.testing.assert_array_equal(mixed_map_of_classes(MAPS, PROBS), expected)
    # at the threshold is enough, just below is not
    np.testing.assert_array_equal(mixed_map_of_classes(MAPS, [0, 0.5, 0]), MAPS[1])
    np.testing.assert_array_equal(mixed_map_of_classes(MAPS, [0, np.nextafter(0.5, 0), 0]), MAPS[0])


def test_each_class_may_have_its_threshold():
    np.testing.assert_array_equal(mixed_map_of_classes(MAPS, PROBS, threshold=[0.1, 0.6, 0.95]), MAPS[0])
    np.testing.assert_array_equal(mixed_map_of_classes(MAPS, PROBS, threshold=[0.3, 0.4, 0.95]), MAPS[1])


def test_without_a_class_above_the_threshold_it_is_the_map_of_no_finding():
    for index in range(3):
        np.testing.assert_array_equal(
            mixed_map_of_classes(MAPS, PROBS, threshold=0.95, no_finding=index), MAPS[index]
        )
    nothing = mixed_map_of_classes(MAPS, PROBS, threshold=0.95, no_finding=None)
    assert nothing.shape == (2, 2)
    assert (nothing == 0).all()
    # where a class is above it, no finding plays no part
    np.testing.assert_array_equal(
        mixed_map_of_classes(MAPS, PROBS, no_finding=None), mixed_map_of_classes(MAPS, PROBS, no_finding=2)
    )


@pytest.mark.parametrize(
    ("maps", "probs", "options", "kind", "fields"),
    [
        (MAPS, [0.2, np.nan, 0.9], {}, ValueRangeError, {"option": "probs", "match": "nan .class 1"}),
        (
            MAPS,
            [0.2, 0.5, 2.5],
            {"rule": "uniform"},
            ValueRangeError,
            {"option": "probs", "match": r"2.5 \(class 2\).*sigmoid"},
        ),
        (MAPS, [0, 0, 0], {"rule": "weighted"}, ValueRangeError, {"option": "rule", "value": "weighted"}),
        # a single threshold is of no class, and neither are thresholds made of logits
        (MAPS, PROBS, {"threshold": -0.1}, ValueRangeError, {"option": "threshold", "match": "not -0.1$"}),
        (MAPS, PROBS, {"threshold": "a"}, ValueRangeError, {"option": "threshold", "value": "a"}),
        (MAPS, PROBS, {"threshold": None}, ValueRangeError, {"option": "threshold", "value": None}),
        (MAPS, ["a", "b", "c"], {}, ValueRangeError, {"option": "probs", "match": "numbers"}),
        (MAPS, PROBS, {"no_finding": 3}, ValueRangeError, {"option": "no_finding", "value": 3}),
        (MAPS, PROBS, {"rule": "weigted"}, ValueRangeError, {"option": "rule", "value": "weigted"}),
        # also of a class without weight: a map that is not finite is a damaged file
        (
            np.where(MAPS == 8, np.nan, MAPS),
            PROBS,
            {},
            ValueRangeError,
            {"match": "class 0: 1 of 4 pixels"},
        ),
        (MAPS[0], PROBS, {}, ShapeError, {"match": r"\(C, M, N\)"}),
        (MAPS, [0.2, 0.5], {}, ShapeError, {"option": "probs", "match": r"3 maps, not.*\(2,\)"}),
        (MAPS, 0.5, {}, ShapeError, {"option": "probs", "value": ()}),
        (MAPS, PROBS, {"threshold": [0.5, 0.5]}, ShapeError, {"option": "threshold", "match": "or .*single"}),
    ],
)
def test_maps_that_cannot_be_mixed_are_errors(maps, probs, options, kind, fields):
    with raises(kind, **fields):
        mixed_map_of_classes(maps, probs, **options)
