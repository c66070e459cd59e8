import numpy as np
import pytest
from mask_pairs import mask_pairs
from tests_support import raises

import salstats as ss
from salstats.errors import ShapeError, ValueRangeError
from salstats.images.masks import encode
from salstats.metrics import overlap
from salstats.metrics.overlap import Counts, boundary_iou, counts, iou
from salstats.metrics.registry import METRICS

#: The column of each rate's most exact oracle, that of medpy (which leaves undefined what has no denominator,
#: as we do), and where the denominator is not 0.
RATES = {
    "iou": ("jaccard__sklearn", "jaccard__medpy_jc", lambda m, t: m.any() or t.any()),
    "dice": ("dice__sklearn_f1", "dice__medpy_dc", lambda m, t: m.any() or t.any()),
    "precision": ("precision__sklearn", "precision__medpy", lambda m, t: m.any()),
    "recall": ("recall__sklearn", "recall__medpy", lambda m, t: t.any()),
    "specificity": ("specificity__sklearn_recall_pos0", "specificity__medpy", lambda m, t: not t.all()),
}
KERNELS = {
    "iou": overlap.iou,
    "dice": overlap.dice,
    "precision": overlap.precision,
    "recall": overlap.recall,
    "specificity": overlap.specificity,
}
#: How much of a mask is marked: nothing, some, all.
SHARES = (0, 0.1, 0.5, 0.9, 1)
#: Counts are whole numbers and one division follows; the libraries divide rates by rates.
EXACT = 1e-13


def test_counts_of_the_oracle_from_pixels_and_from_codes(pairs, libraries):
    assert len(pairs) == 31
    for name, (mask, truth) in pairs.items():
        row = libraries.loc[name]
        both, n_mask, n_truth = row["n_inter"], row["n_pred"], row["n_truth"]
        size = row["height"] * row["width"]
        expected = (both, n_mask - both, n_truth - both, size - n_mask - n_truth + both)
        assert counts(mask, truth) == counts(encode(mask), encode(truth)) == expected, name
        assert counts(encode(mask), truth) == counts(mask, encode(truth)) == expected, name


@pytest.mark.parametrize("metric", RATES)
def test_rates_of_the_oracle(pairs, libraries, metric):
    exact, medpy, defined = RATES[metric]
    n_undefined = 0
    for name, (mask, truth) in pairs.items():
        found, row = KERNELS[metric](mask, truth), libraries.loc[name]
        assert isinstance(found, float)
        if defined(mask, truth):
            assert found == pytest.approx(row[exact], rel=EXACT), name
        else:
            n_undefined += 1
            assert np.isnan(found), name
        if metric == "iou" and name == "12_both_empty":
            assert row[medpy] == 1
        else:
            assert found == pytest.approx(row[medpy], rel=EXACT, nan_ok=True), name
    assert n_undefined > 0


def test_what_empty_masks_give():
    # the table in the module's docstring; 2 of 6 pixels are marked
    none, some, everything = np.zeros((2, 3), bool), np.eye(2, 3, dtype=bool), np.ones((2, 3), bool)
    nan = np.nan
    for mask, truth, row in [
        (none, none, [nan, nan, nan, nan, 1]),
        (some, none, [0, 0, 0, nan, 4 / 6]),
        (none, some, [0, 0, nan, 0, 1]),
        (some, everything, [2 / 6, 4 / 8, 1, 2 / 6, nan]),
    ]:
        np.testing.assert_array_equal([kernel(mask, truth) for kernel in KERNELS.values()], row)


def test_rates_by_hand():
    # tp 2, fp 1, fn 3, tn 4
    mask = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 0, 0]])
    truth = np.array([[1, 1, 0, 1, 1], [1, 0, 0, 0, 0]])
    assert counts(mask, truth) == (2, 1, 3, 4)
    assert [kernel(mask, truth) for kernel in KERNELS.values()] == [2 / 6, 4 / 8, 2 / 3, 2 / 5, 4 / 5]


@pytest.mark.parametrize("metric", RATES)
def test_rates_of_arrays_are_the_rates_of_each_entry(metric):
    rng = np.random.default_rng(25)
    # shares of 0 and 1 make empty and whole masks
    pairs = [(rng.random((6, 7)) < mask, rng.random((6, 7)) < truth) for mask in SHARES for truth in SHARES]
    each = [counts(mask, truth) for mask, truth in pairs]
    together = METRICS[metric].kernel(Counts(*np.array(each).T.reshape(4, 5, 5)))
    assert together.dtype == np.float64
    one_by_one = [KERNELS[metric](mask, truth) for mask, truth in pairs]
    np.testing.assert_array_equal(together, np.reshape(one_by_one, (5, 5)))
    unknown = METRICS[metric].kernel(Counts(*np.array([[np.nan, 1]] * 4)))
    assert np.isnan(unknown).tolist() == [True, False]
    known, values = METRICS[metric], METRICS[metric].kernel(Counts(*np.indices((4, 4, 4, 4))))
    assert known.larger_is_better
    assert (np.nanmin(values), np.nanmax(values)) == (known.low, known.high)


def test_sums_over_a_data_set_do_not_overflow():
    assert overlap.dice_from_counts(Counts(*np.full((4, 1), 2_000_000_000, np.int32))) == 0.5
    huge = Counts(*(np.int64(10**13) * n for n in (2, 1, 1, 2)))
    assert overlap.mcc_from_counts(huge) == pytest.approx(1 / 3)


def test_damaged_arguments_are_named():
    mask = np.ones((2, 3), bool)
    for given in (mask, encode(mask)):
        with raises(ShapeError, option="truth", value=(3, 2)):
            counts(given, mask.T)
    with raises(ShapeError, option="truth", value=(3,)):
        counts(mask, mask[0])
    with raises(ValueRangeError, option="truth", value=np.dtype(float)):
        counts(mask, mask * 0.5)
    with raises(ValueRangeError, option="mask", value=np.dtype(int)):
        counts(mask * 255, mask)


def test_matthews_correlation_is_pearsons_over_the_pixels():
    n_undefined = 0
    for name, (truth, mask) in mask_pairs().items():
        found = overlap.mcc(encode(mask), truth)
        if mask.min() == mask.max() or truth.min() == truth.max():
            n_undefined += 1
            assert np.isnan(found), name
        else:
            expected = np.corrcoef(mask.ravel(), truth.ravel())[0, 1]
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-15), name
    assert n_undefined > 0
    # 2 / sqrt(1 * 2 * 2 * 3)
    assert overlap.mcc([[1, 0, 0, 0]], [[1, 1, 0, 0]]) == pytest.approx(2 / np.sqrt(12))


def bands_by_definition(mask, truth, width):
    """IoU of the pixels within some steps (8 neighbours) of a pixel that is not of their mask."""

    def band(marked):
        background = np.argwhere(~np.pad(marked, 1)) - 1
        return {
            (r, c)
            for r, c in np.argwhere(marked).tolist()
            if np.abs(background - (r, c)).max(axis=1).min() <= width
        }

    ours, theirs = band(mask), band(truth)
    return len(ours & theirs) / len(ours | theirs)


# diagonals of 39.2 and 74.9 pixels
@pytest.mark.parametrize("shape", [(24, 31), (24, 71), (71, 24)])
@pytest.mark.parametrize("dilation", [0.01, 0.05, 0.12])
def test_the_overlap_of_outlines_is_its_definition(dilation, shape):
    rng = np.random.default_rng(0)
    width = max(1, round(dilation * np.hypot(*shape)))
    rows, cols = np.mgrid[: shape[0], : shape[1]]
    disk = (rows - 11) ** 2 + (cols - 14) ** 2 < 81
    drawn = [
        disk,
        np.roll(disk, 3, axis=1),
        disk & (rng.random(shape) < 0.98),
        rows < 20,
        np.ones(shape, bool),
    ]
    for mask in drawn:
        for truth in drawn:
            assert boundary_iou(mask, truth, dilation=dilation) == bands_by_definition(mask, truth, width)


def test_outlines_where_nothing_is_marked():
    none, some = np.zeros((6, 6), bool), np.eye(6, dtype=bool)
    assert np.isnan(boundary_iou(none, none))
    assert boundary_iou(none, some) == boundary_iou(some, none) == 0
    assert boundary_iou(encode(some), some) == 1


def test_what_is_no_band_is_named():
    for dilation in (0, -0.1, 1.5, np.nan, "2%"):
        with raises(ValueRangeError, option="dilation", value=dilation):
            boundary_iou(np.eye(3), np.eye(3), dilation=dilation)


def test_a_study_is_scored_and_says_how():
    truth = np.zeros((40, 40), bool)
    truth[5:30, 5:30] = True
    study = ss.study_from_arrays({("a", "t"): truth}, {("a", "t", "cam"): np.roll(truth, 2, axis=0) * 0.9})
    scores = ss.score(study, metrics=["iou", "boundary_iou"], options={"boundary_iou": {"dilation": 0.05}})
    scores = scores.set_index("metric")
    assert scores["score"].to_dict() == {
        "iou": iou(np.roll(truth, 2, axis=0), truth),
        "boundary_iou": boundary_iou(np.roll(truth, 2, axis=0), truth, dilation=0.05),
    }
    assert scores.loc["boundary_iou", "metric_options"] == "bands of 5% of the diagonal"


def test_0_is_no_overlap_and_more_is_better_but_only_a_correlation_has_no_true_zero():
    shape = (24, 31)
    left, right = np.zeros(shape, bool), np.zeros(shape, bool)
    left[:, :15] = True
    right[:, 15:] = True
    for name in (*KERNELS, "mcc", "boundary_iou"):
        kernel, known = getattr(overlap, name), METRICS[name]
        apart, equal = kernel(left, right), kernel(left, left)
        assert (apart, equal) == (known.low, known.high), name
        assert known.direction == np.sign(equal - apart), name
        assert known.true_zero == (apart == 0), name


@pytest.mark.parametrize("kind", [int, np.array])
def test_counts_of_an_empty_mask_are_those_of_nothing_against_the_same_truth(kind):
    truth = np.array([[1, 1, 1, 0], [0, 0, 1, 0]], dtype=bool)
    mask = np.array([[1, 0, 0, 0], [0, 1, 1, 1]], dtype=bool)
    found = Counts(*map(kind, counts(mask, truth))).with_empty_mask()
    assert found == Counts(0, 0, 4, 4)
    assert found == counts(np.zeros_like(mask), truth)
