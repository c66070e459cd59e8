import numpy as np
import pandas as pd
import pytest

from salstats.checks import ShapeError, ValueRangeError
from salstats.images.masks import encode
from salstats.metrics import overlap
from salstats.metrics.overlap import Counts, counts
from salstats.metrics.registry import METRICS

RATES = ("iou", "dice", "precision", "recall", "specificity")
KERNELS = {name: getattr(overlap, name) for name in RATES}
#: The column of each metric's most exact oracle; what it says of empty masks is tested apart.
ORACLE = {
    "iou": "jaccard__sklearn",
    "dice": "dice__sklearn_f1",
    "precision": "precision__sklearn",
    "recall": "recall__sklearn",
    "specificity": "specificity__sklearn_recall_pos0",
}
#: medpy leaves undefined what has no denominator, as we do.
MEDPY = {
    "iou": "jaccard__medpy_jc",
    "dice": "dice__medpy_dc",
    "precision": "precision__medpy",
    "recall": "recall__medpy",
    "specificity": "specificity__medpy",
}
#: Counts are whole numbers and one division follows; the libraries divide rates by rates.
EXACT = 1e-13


@pytest.fixture(scope="module")
def pairs(shared):
    """The oracle's 31 pairs: name -> (mask, truth)."""
    with np.load(shared / "oracles/masks/masks.npz") as held:
        names = sorted({key.split("__")[0] for key in held})
        return {name: (held[f"{name}__pred"], held[f"{name}__truth"]) for name in names}


@pytest.fixture(scope="module")
def expected(shared):
    return pd.read_csv(shared / "oracles/masks/results.csv").set_index("pair")


def defined(metric, mask, truth):
    """Whether the denominator is not 0."""
    return {
        "iou": mask.any() or truth.any(),
        "dice": mask.any() or truth.any(),
        "precision": mask.any(),
        "recall": truth.any(),
        "specificity": not truth.all(),
    }[metric]


def test_counts_of_the_oracle(pairs, expected):
    assert len(pairs) == 31
    for name, (mask, truth) in pairs.items():
        row = expected.loc[name]
        both, n_mask, n_truth = row["n_inter"], row["n_pred"], row["n_truth"]
        size = row["height"] * row["width"]
        assert counts(mask, truth) == (both, n_mask - both, n_truth - both, size - n_mask - n_truth + both)


@pytest.mark.parametrize("metric", RATES)
def test_rates_of_the_oracle(pairs, expected, metric):
    n_undefined = 0
    for name, (mask, truth) in pairs.items():
        found = KERNELS[metric](mask, truth)
        assert isinstance(found, float)
        if defined(metric, mask, truth):
            assert found == pytest.approx(expected.loc[name, ORACLE[metric]], rel=EXACT), name
        else:
            n_undefined += 1
            assert np.isnan(found), name
    assert n_undefined > 0


@pytest.mark.parametrize("metric", RATES)
def test_empties_are_those_of_medpy_but_for_the_jaccard_index_of_nothing(pairs, expected, metric):
    column = expected[MEDPY[metric]]
    for name, (mask, truth) in pairs.items():
        if metric == "iou" and name == "12_both_empty":
            assert column[name] == 1
            continue
        assert KERNELS[metric](mask, truth) == pytest.approx(column[name], rel=EXACT, nan_ok=True), name


def test_what_empty_masks_give():
    # the table in the module's docstring; 2 of 6 pixels are marked
    none, some, everything = np.zeros((2, 3), bool), np.eye(2, 3, dtype=bool), np.ones((2, 3), bool)
    nan = np.nan
    table = {
        "both empty": (none, none, [nan, nan, nan, nan, 1]),
        "truth empty": (some, none, [0, 0, 0, nan, 4 / 6]),
        "mask empty": (none, some, [0, 0, nan, 0, 1]),
        "truth full": (some, everything, [2 / 6, 4 / 8, 1, 2 / 6, nan]),
    }
    for name, (mask, truth, row) in table.items():
        np.testing.assert_array_equal([kernel(mask, truth) for kernel in KERNELS.values()], row, name)


def test_rates_by_hand():
    # tp 2, fp 1, fn 3, tn 4
    mask = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 0, 0]])
    truth = np.array([[1, 1, 0, 1, 1], [1, 0, 0, 0, 0]])
    assert counts(mask, truth) == (2, 1, 3, 4)
    values = {name: kernel(mask, truth) for name, kernel in KERNELS.items()}
    assert values == {
        "iou": 2 / 6,
        "dice": 4 / 8,
        "precision": 2 / 3,
        "recall": 2 / 5,
        "specificity": 4 / 5,
    }


def test_codes_give_the_counts_of_their_pixels(pairs):
    for name, (mask, truth) in pairs.items():
        pixels = counts(mask, truth)
        assert counts(encode(mask), encode(truth)) == pixels, name
        assert counts(encode(mask), truth) == counts(mask, encode(truth)) == pixels, name


@pytest.mark.parametrize("metric", RATES)
def test_rates_of_arrays_are_the_rates_of_each_entry(pairs, metric):
    each = [counts(mask, truth) for mask, truth in pairs.values()]
    together = METRICS[metric].kernel(Counts(*np.array(each).T))
    assert together.dtype == np.float64
    np.testing.assert_array_equal(together, [KERNELS[metric](mask, truth) for mask, truth in pairs.values()])
    square = METRICS[metric].kernel(Counts(*np.array(each[:30]).T.reshape(4, 5, 6)))
    np.testing.assert_array_equal(square, together[:30].reshape(5, 6))


@pytest.mark.parametrize("metric", RATES)
def test_unknown_counts_have_an_unknown_rate(metric):
    found = METRICS[metric].kernel(Counts(*np.array([[np.nan, 1], [np.nan, 1], [np.nan, 1], [np.nan, 1]])))
    assert np.isnan(found).tolist() == [True, False]


@pytest.mark.parametrize("metric", RATES)
def test_rates_stay_in_the_range_that_the_registry_says(metric):
    rng = np.random.default_rng(0)
    values = METRICS[metric].kernel(Counts(*rng.integers(0, 5, (4, 500))))
    known = METRICS[metric]
    assert known.larger_is_better
    assert (np.nanmin(values), np.nanmax(values)) == (known.low, known.high)


def test_sums_over_a_data_set_do_not_overflow():
    # ten thousand radiographs of 6.5 million pixels, in counts of 32 bits each
    n = np.full(10_000, 6_500_000, np.int32)
    pooled = Counts(*(part.sum(dtype=np.int64) for part in (n, n, n, n)))
    assert overlap.specificity_from_counts(pooled) == 0.5
    assert overlap.dice_from_counts(Counts(*np.full((4, 1), 2_000_000_000, np.int32))) == 0.5


@pytest.mark.parametrize("kernel", [counts, *KERNELS.values()])
def test_damaged_arguments_are_named(kernel):
    mask = np.ones((2, 3), bool)
    with pytest.raises(ShapeError, match=r"mask \(2, 3\) and truth \(3, 2\)"):
        kernel(mask, mask.T)
    with pytest.raises(ShapeError, match=r"mask \(2, 3\) and truth \(3, 2\)"):
        kernel(encode(mask), mask.T)
    with pytest.raises(ShapeError, match="truth must have two dimensions"):
        kernel(mask, mask[0])
    with pytest.raises(ValueRangeError, match="truth must be of bool"):
        kernel(mask, mask * 0.5)
    with pytest.raises(ValueRangeError, match="mask must be of bool"):
        kernel(mask * 255, mask)


def test_matthews_correlation_is_pearsons_over_the_pixels(pairs):
    n_undefined = 0
    for name, (mask, truth) in pairs.items():
        found = overlap.mcc(encode(mask), truth)
        if mask.min() == mask.max() or truth.min() == truth.max():
            n_undefined += 1
            assert np.isnan(found), name
        else:
            expected = np.corrcoef(mask.ravel(), truth.ravel())[0, 1]
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-15), name
    assert n_undefined > 0


def test_matthews_correlation_by_hand():
    truth = np.array([[1, 1, 0, 0]])
    assert [overlap.mcc(mask, truth) for mask in (truth, 1 - truth, np.array([[1, 0, 1, 0]]))] == [1, -1, 0]
    # 2 / sqrt(1 * 2 * 2 * 3)
    assert overlap.mcc(np.array([[1, 0, 0, 0]]), truth) == pytest.approx(2 / np.sqrt(12))
    huge = Counts(*(np.int64(10**13) * n for n in (2, 1, 1, 2)))
    assert overlap.mcc_from_counts(huge) == pytest.approx(1 / 3)
