"""One mask of several readers' masks, against SimpleITK and by hand."""

from csv import DictReader
from pathlib import Path

import numpy as np
import pytest
from tests_support import raises

from salstats.errors import SalstatsError, ShapeError, ValueRangeError
from salstats.images.consensus import CONSENSUS_RULES, Patterns, consensus, majority, staple
from salstats.images.masks import area, decode, empty, encode

REFERENCE = Path(__file__).parents[1] / "reference" / "staple"
ROWS = list(DictReader((REFERENCE / "results.csv").read_text().splitlines()))
SETS = list(dict.fromkeys(row["set"] for row in ROWS))
#: Both run the same rounds, in which rounding differs.
EXACT = 1e-12
#: Readers who share no pixel stand on a saddle of the likelihood, from which rounding leads away.
SADDLE = 1e-7


def masks_of(name):
    """The readers' masks of a set, shape (n_readers, M, N), and what SimpleITK made of them."""
    held = dict(np.load(REFERENCE / "masks.npz"))
    shape = held[f"{name}/shape"]
    masks = np.unpackbits(held[f"{name}/masks"], count=shape.prod()).reshape(shape).astype(bool)
    return masks, held[f"{name}/probability"], held[f"{name}/majority"]


@pytest.mark.parametrize("name", SETS)
def test_staple_is_that_of_simpleitk(name):
    masks, probability, _ = masks_of(name)
    found = consensus(list(masks), "staple")
    tolerance = SADDLE if name == "disjoint" else EXACT
    own = [row for row in ROWS if row["set"] == name]
    np.testing.assert_allclose(found.probability, probability, rtol=0, atol=tolerance)
    for column in ("sensitivity", "specificity"):
        theirs = [float(row[column]) for row in own]
        np.testing.assert_allclose(getattr(found, column), theirs, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(decode(found.mask), probability > 0.5)


@pytest.mark.parametrize("name", SETS)
def test_majority_is_that_of_simpleitk_where_a_tie_is_not_marked(name):
    masks, _, voted = masks_of(name)
    np.testing.assert_array_equal(decode(consensus(list(masks), "majority").mask), voted)


def test_half_of_an_even_number_of_readers_is_no_majority():
    found = consensus([np.array([[1, 1, 0]]), np.array([[1, 0, 0]])])
    np.testing.assert_array_equal(decode(found.mask), [[True, False, False]])
    np.testing.assert_array_equal(found.probability, [[1.0, 0.5, 0.0]])


def test_staple_of_one_round_by_hand():
    # three readers, four pixels: after a round from the shares 0, 1/3, 2/3, 1 with prior 1/2
    decisions = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    found = staple(Patterns(decisions, np.array([1, 1, 1, 1])))
    w = np.array([0, 1 / 3, 2 / 3, 1])
    for _ in range(10_000):
        p = w @ decisions / w.sum()
        q = (1 - w) @ (1 - decisions) / (1 - w).sum()
        a = np.array([np.prod([p[j] if d[j] else 1 - p[j] for j in range(3)]) for d in decisions])
        b = np.array([np.prod([1 - q[j] if d[j] else q[j] for j in range(3)]) for d in decisions])
        w = a * 0.5 / (a * 0.5 + b * 0.5)
    # theirs ends when nothing moves by more than 1e-7
    np.testing.assert_allclose(found.probability, w, atol=1e-6)


@pytest.mark.parametrize("how", CONSENSUS_RULES)
def test_readers_who_agree_are_their_own_consensus(how):
    mask = np.eye(4, dtype=bool)
    found = consensus([mask, mask, mask], how)
    np.testing.assert_array_equal(decode(found.mask), mask)


@pytest.mark.parametrize("how", CONSENSUS_RULES)
@pytest.mark.parametrize("value", [0, 1])
def test_masks_that_mark_nothing_or_everything_stay_so(how, value):
    mask = np.full((3, 4), value)
    found = consensus([mask, mask], how)
    assert area(found.mask) == 12 * value
    np.testing.assert_array_equal(found.probability, mask)


def test_staple_says_no_sensitivity_where_nothing_is_marked():
    nothing = empty((3, 4))
    found = consensus([nothing, nothing], "staple")
    assert np.isnan(found.sensitivity).all()
    np.testing.assert_array_equal(found.specificity, [1, 1])


def test_a_reader_twice_is_no_new_pattern():
    a, b = np.array([[1, 1, 0, 0]]), np.array([[0, 1, 1, 0]])
    found = majority(Patterns(np.array([[True, True, False]]), np.array([1])))
    np.testing.assert_array_equal(found.probability, [2 / 3])
    np.testing.assert_array_equal(decode(consensus([a, a, b]).mask), a.astype(bool))


def test_codes_and_arrays_are_one():
    rng = np.random.default_rng(0)
    arrays = [rng.random((7, 5)) < 0.4 for _ in range(3)]
    one, other = consensus(arrays, "staple"), consensus([encode(a) for a in arrays], "staple")
    assert one.mask == other.mask
    np.testing.assert_array_equal(one.probability, other.probability)


@pytest.mark.parametrize(
    ("readers", "how", "error", "fields"),
    [
        ([], "majority", SalstatsError, {"option": "readers"}),
        ([np.eye(2), np.eye(3)], "majority", ShapeError, {"option": "readers", "value": (3, 3)}),
        ([np.eye(2) / 2], "majority", ValueRangeError, {"option": "mask", "value": np.dtype(float)}),
        (
            [np.eye(2)],
            "vote",
            ValueRangeError,
            {"option": "truth", "value": "vote", "choices": ("majority", "staple")},
        ),
    ],
)
def test_wrong_input_is_said(readers, how, error, fields):
    with raises(error, **fields):
        consensus(readers, how)
