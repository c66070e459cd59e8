import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from salstats.checks import ShapeError, ValueRangeError
from salstats.images.masks import encode
from salstats.metrics.overlap import dice
from salstats.metrics.penalised_dice import pdc, pdc_from_parts, pdc_parts
from salstats.metrics.registry import METRICS

#: Double precision on both sides; the oracle's centres are means of up to 65,536 pixels.
DOUBLE = 1e-12
#: Our names of the oracle's two forms.
FORMS = {"mult": "product", "add": "mean"}

quick = settings(deadline=None, database=None, derandomize=True, max_examples=150)
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 9))
PENALTIES = st.floats(0, 6)
OPTIONS = st.fixed_dictionaries(
    {
        "alpha": PENALTIES,
        "beta": PENALTIES,
        "form": st.sampled_from(["product", "mean"]),
        "components": st.sampled_from(["mean", "whole"]),
    }
)


@st.composite
def pairs(draw):
    """A mask and a truth of one shape, both of which mark something."""
    shape = draw(SHAPES)
    mask, truth = (draw(arrays(bool, shape)) for _ in range(2))
    assume(mask.any() and truth.any())
    return mask, truth


@st.composite
def places(draw):
    """A truth, and one area put in two places beside it, the first nearer to the truth's centre."""
    truth = np.zeros((14, 14), bool)
    truth[5:9, 5:9] = draw(arrays(bool, (4, 4)))
    height, width = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    masks = []
    for _ in range(2):
        top, left = draw(st.integers(0, 14 - height)), draw(st.integers(0, 14 - width))
        mask = np.zeros((14, 14), bool)
        mask[top : top + height, left : left + width] = True
        masks.append(mask)
    assume(truth.any() and not (truth & (masks[0] | masks[1])).any())
    near, far = sorted(masks, key=lambda mask: from_centre(mask, truth))
    assume(from_centre(near, truth) < from_centre(far, truth) - 1e-9)
    return truth, near, far


def from_centre(mask, truth):
    """The distance of the centres, plainly."""
    return float(np.linalg.norm(np.argwhere(mask).mean(axis=0) - np.argwhere(truth).mean(axis=0)))


def plainly(mask, truth, alpha=1, beta=1, form="product"):
    """The formula, step by step, for a mask taken as one."""
    centre = np.argwhere(truth).mean(axis=0)
    bottom, right = truth.shape[0] - 0.5, truth.shape[1] - 0.5
    corners = np.array([(-0.5, -0.5), (-0.5, right), (bottom, -0.5), (bottom, right)])
    placed = 1 - from_centre(mask, truth) / np.linalg.norm(corners - centre, axis=1).max()
    n_mask, n_truth = mask.sum(), truth.sum()
    overlap = 2 * (mask & truth).sum() / (n_mask + n_truth)
    if n_mask < n_truth:
        placed *= (n_mask / n_truth) ** alpha
    elif n_mask > n_truth:
        placed *= (n_truth / n_mask) ** beta
    return placed * (1 + overlap) / 2 if form == "product" else (placed + overlap) / 2


def separate(mask):
    """The areas of a mask, each alone."""
    labels, n_areas = ndimage.label(mask, np.ones((3, 3)))
    return [labels == area for area in range(1, n_areas + 1)]


# by hand


def test_a_miss_by_hand():
    truth, mask = np.zeros((2, 4, 6), bool)
    truth[:2, :2] = True
    mask[0, 3:5] = True
    # centres (0.5, 0.5) and (0, 3.5); the farthest outer corner is (3.5, 5.5); half the size; no overlap
    d = 1 - np.hypot(0.5, 3) / np.hypot(3, 5)
    for form in FORMS.values():
        assert pdc(mask, truth, form=form) == pytest.approx(d * 0.5 / 2, rel=DOUBLE)
        assert pdc(mask, truth, form=form, alpha=3) == pytest.approx(d * 0.5**3 / 2, rel=DOUBLE)
        assert pdc(mask, truth, form=form, alpha=0) == pytest.approx(d / 2, rel=DOUBLE)
        assert pdc(mask, truth, form=form, beta=3) == pdc(mask, truth, form=form)


def test_an_overlap_by_hand():
    truth, mask = np.zeros((2, 4, 6), bool)
    truth[:2, :2] = True
    mask[:2, 1:5] = True
    # centres (0.5, 0.5) and (0.5, 2.5); twice the size; two pixels of four and eight are shared
    d, dc = 1 - 2 / np.hypot(3, 5), 4 / 12
    assert pdc(mask, truth) == pytest.approx(d / 2 * (1 + dc) / 2, rel=DOUBLE)
    assert pdc(mask, truth, form="mean") == pytest.approx((d / 2 + dc) / 2, rel=DOUBLE)
    assert pdc(mask, truth, beta=2) == pytest.approx(d / 4 * (1 + dc) / 2, rel=DOUBLE)
    assert pdc(mask, truth, beta=0, form="mean") == pytest.approx((d + dc) / 2, rel=DOUBLE)
    assert pdc(mask, truth, alpha=2) == pdc(mask, truth)
    # the other way round the mask is too small, and the farthest corner is (3.5, -0.5): another number
    d = 1 - 2 / np.hypot(3, 3)
    assert pdc(truth, mask) == pytest.approx(d / 2 * (1 + dc) / 2, rel=DOUBLE)


def test_two_areas_by_hand():
    # one area is the truth, one a pixel in the far corner
    truth = np.zeros((4, 6), bool)
    truth[:2, :2] = True
    mask = truth.copy()
    mask[3, 5] = True
    alone = (1 - np.hypot(2.5, 4.5) / np.hypot(3, 5)) / 4 / 2
    assert pdc(mask, truth) == pytest.approx((1 + alone) / 2, rel=DOUBLE)
    # as one mask: five pixels, centre (1, 1.4)
    d, dc = 1 - np.hypot(0.5, 0.9) / np.hypot(3, 5), 8 / 9
    assert pdc(mask, truth, components="whole") == pytest.approx(d * 0.8 * (1 + dc) / 2, rel=DOUBLE)


def test_pixels_that_touch_at_a_corner_are_one_area():
    truth = np.eye(5, dtype=bool)
    assert pdc(truth, truth) == 1
    assert pdc_parts(truth, truth).dice.size == 1


def test_parts_by_hand():
    mask, truth = np.array([[1, 1, 0, 0, 1]]), np.array([[1, 0, 0, 0, 0]])
    parts = pdc_parts(mask, truth)
    np.testing.assert_allclose(parts.dice, [2 / 3, 0], rtol=DOUBLE)
    np.testing.assert_allclose(parts.distance, [0.5, 4], rtol=DOUBLE)
    np.testing.assert_allclose(parts.greatest, [np.hypot(0.5, 4.5)] * 2, rtol=DOUBLE)
    np.testing.assert_allclose(parts.size_ratio, [2, 1], rtol=DOUBLE)
    np.testing.assert_allclose(pdc_from_parts(parts).mean(), pdc(mask, truth), rtol=DOUBLE)


# the oracle: the same formula with the greatest distance to a corner pixel's centre


@pytest.fixture(scope="module")
def simulated(shared):
    """The oracle's masks by their names."""
    with np.load(shared / "oracles/mrxai/masks.npz") as held:
        return {name: held[name] for name in held if name != "contour"}


def assert_parts(parts, row, *, suffix=""):
    """Parts, and the scores made of them, against a row of the oracle."""
    if not suffix:
        assert parts.distance == pytest.approx(row["dist_centroids"], rel=DOUBLE, abs=DOUBLE)
        assert parts.dice == pytest.approx(row["dice"], rel=DOUBLE)
    parts = parts._replace(greatest=np.full(len(parts.dice), row["max_dist"]))
    for theirs, form in FORMS.items():
        found = pdc_from_parts(parts, form=form).mean()
        assert found == pytest.approx(row[f"pdc_{theirs}{suffix}"], rel=DOUBLE, abs=DOUBLE), form
        if not suffix:
            found = pdc_from_parts(parts, form=form, alpha=0, beta=0).mean()
            assert found == pytest.approx(row[f"pdc_{theirs}_r1"], rel=DOUBLE, abs=DOUBLE), form


def test_simulations_of_the_oracle(shared, simulated):
    table = pd.read_csv(shared / "oracles/mrxai/results.csv").rename(columns={"dice__sklearn_f1": "dice"})
    assert len(table) == 54
    for _, row in table.iterrows():
        truth, mask = (simulated[f"{row['simulation']}__{part}"] for part in ("truth", row["step"]))
        parts = pdc_parts(mask, truth, components="whole")
        assert_parts(parts, row)
        assert min(parts.size_ratio, 1 / parts.size_ratio) == pytest.approx(row["r"], rel=DOUBLE)
        # the outer corner lies half a pixel beyond, along both axes
        assert row["max_dist"] < parts.greatest < row["max_dist"] + np.sqrt(0.5) + DOUBLE
        # every mask is one area
        assert pdc(mask, truth) == pdc(mask, truth, components="whole")


def test_shifts_of_the_oracle(shared, simulated):
    table = pd.read_csv(shared / "oracles/mrxai/fine_sweep_distance.csv")
    truth = simulated["distance__truth"]
    assert table["shift"].tolist() == list(range(73))
    for _, row in table.iterrows():
        step = int(row["shift"])
        assert_parts(pdc_parts(np.roll(truth, (step, step), (0, 1)), truth, components="whole"), row)


def test_probes_of_the_oracle(shared, simulated):
    table = pd.read_csv(shared / "oracles/mrxai/probes.csv")
    assert len(table) == 5
    truth = simulated["distance__truth"]
    for _, row in table.iterrows():
        mask = simulated[f"probe__{row['probe']}"]
        assert_parts(pdc_parts(mask, truth, components="whole"), row)
        each = pdc_parts(mask, truth)
        assert each.dice.size == row["n_components"]
        assert_parts(each, row, suffix="_mean_components")
    assert table["n_components"].max() == 2


def test_the_farthest_pixel_scores_more_than_nothing(shared, simulated):
    # 0 with the greatest distance to that pixel's centre
    probes = pd.read_csv(shared / "oracles/mrxai/probes.csv").set_index("probe")
    assert probes.loc["opposite_corner_pixel", "pdc_mult_r1"] == 0
    mask, truth = simulated["probe__opposite_corner_pixel"], simulated["distance__truth"]
    for form in FORMS.values():
        assert 0 < pdc(mask, truth, form=form, alpha=0) < 0.01
        assert 0 < pdc(mask, truth, form=form) < 1e-5


# what the text says of it


@quick
@given(pairs(), OPTIONS)
def test_it_lies_above_0_and_at_most_at_1(pair, options):
    assert 0 < pdc(*pair, **options) <= 1


@quick
@given(pairs(), OPTIONS)
def test_1_is_reached_only_by_the_truth_itself(pair, options):
    mask, truth = pair
    assert (pdc(mask, truth, **options) == 1) <= np.array_equal(mask, truth)


@quick
@given(pairs(), OPTIONS)
def test_the_truth_itself_scores_1_where_it_is_one_area_or_taken_whole(pair, options):
    truth = pair[1]
    if len(separate(truth)) == 1 or options["components"] == "whole":
        assert pdc(truth, truth, **options) == 1
    else:
        # the limit that the docstring states: the truth is not split
        assert pdc(truth, truth, **options) < 1


@quick
@given(places(), OPTIONS)
def test_the_farther_of_two_misses_scores_less(drawn, options):
    truth, near, far = drawn
    assert pdc(near, truth, **options) > pdc(far, truth, **options)


@quick
@given(pairs(), PENALTIES, PENALTIES, st.sampled_from(list(FORMS.values())))
def test_it_never_rises_with_a_penalty(pair, one, other, form):
    low, high = sorted([one, other])
    for name in ("alpha", "beta"):
        assert pdc(*pair, form=form, **{name: high}) <= pdc(*pair, form=form, **{name: low}) * (1 + DOUBLE)


@quick
@given(pairs())
def test_growing_penalties_take_the_product_to_0_and_the_mean_to_half_of_dice(pair):
    # the smallest possible departure here is 80 pixels for 81, and (80 / 81)**5000 is about 1e-27
    mask, truth = pair
    assume(mask.sum() != truth.sum())
    options = {"alpha": 5000, "beta": 5000, "components": "whole"}
    assert pdc(mask, truth, **options) < 1e-20
    assert pdc(mask, truth, form="mean", **options) == pytest.approx(dice(mask, truth) / 2, abs=1e-20)


@quick
@given(pairs(), OPTIONS, PENALTIES)
def test_alpha_acts_only_on_the_too_small_and_beta_on_the_too_large(pair, options, another):
    mask, truth = pair
    options |= {"components": "whole"}
    found = pdc(mask, truth, **options)
    if mask.sum() >= truth.sum():
        assert pdc(mask, truth, **options | {"alpha": another}) == found
    if mask.sum() <= truth.sum():
        assert pdc(mask, truth, **options | {"beta": another}) == found


@quick
@given(pairs())
def test_a_penalty_lowers_the_score_of_a_wrong_size(pair):
    mask, truth = pair
    assume(mask.sum() != truth.sum())
    name = "alpha" if mask.sum() < truth.sum() else "beta"
    for form in FORMS.values():
        options = {"components": "whole", "form": form}
        assert pdc(mask, truth, **options | {name: 1.0}) < pdc(mask, truth, **options | {name: 0.0})


@quick
@given(pairs(), st.sampled_from(list(FORMS.values())))
def test_without_penalties_size_counts_by_overlap_only(pair, form):
    found = pdc(*pair, alpha=0, beta=0, form=form, components="whole")
    parts = pdc_parts(*pair, components="whole")
    assert found == pdc_from_parts(parts._replace(size_ratio=np.ones(1)), form=form)


@quick
@given(pairs(), OPTIONS)
def test_it_is_the_formula_step_by_step(pair, options):
    mask, truth = pair
    steps = {name: options[name] for name in ("alpha", "beta", "form")}
    whole = pdc(mask, truth, **options | {"components": "whole"})
    assert whole == pytest.approx(plainly(mask, truth, **steps), rel=DOUBLE)
    # several areas: the mean of the scores they have alone
    each = [plainly(area, truth, **steps) for area in separate(mask)]
    assert pdc(mask, truth, **options | {"components": "mean"}) == pytest.approx(np.mean(each), rel=DOUBLE)


@quick
@given(pairs(), OPTIONS)
def test_the_mean_form_is_never_the_smaller_one(pair, options):
    mask, truth = pair
    product, mean = (pdc(mask, truth, **options | {"form": form}) for form in ("product", "mean"))
    assert mean >= product * (1 - DOUBLE)
    if not (mask & truth).any():
        assert mean == product


@quick
@given(pairs(), OPTIONS)
def test_it_is_the_same_for_an_image_turned_over(pair, options):
    found = pdc(*pair, **options)
    for turn in (np.flipud, np.fliplr, np.transpose):
        turned = [turn(mask) for mask in pair]
        assert pdc(*turned, **options) == pytest.approx(found, rel=DOUBLE)
        assert pdc(*map(encode, turned), **options) == pytest.approx(found, rel=DOUBLE)


# the limits that the docstring states


def test_a_stray_pixel_counts_as_much_as_the_rest():
    truth = np.zeros((40, 40), bool)
    truth[5:25, 5:25] = True
    mask = truth.copy()
    mask[39, 39] = True
    assert 0.5 < pdc(mask, truth) < 0.51
    assert pdc(mask, truth, components="whole") > 0.95


def test_a_comb_moved_by_one_tooth_scores_more_than_one_moved_by_half():
    truth = np.zeros((1, 24), bool)
    truth[0, 2:12:2] = True
    scores = [pdc(np.roll(truth, step), truth, components="whole") for step in range(4)]
    assert scores[0] == 1
    assert scores[1] < scores[2] > scores[3]


def test_the_same_masks_score_more_on_a_larger_image():
    mask, truth = np.zeros((2, 10, 10), bool)
    mask[2, 2] = truth[7, 7] = True
    assert pdc(np.pad(mask, 30), np.pad(truth, 30)) > pdc(mask, truth) + 0.1


# empty masks, arguments, registry


def test_what_empty_masks_give():
    none, some = np.zeros((3, 4), bool), np.eye(3, 4, dtype=bool)
    for components in ("mean", "whole"):
        for pair in [(none, none), (none, some), (some, none)]:
            assert np.isnan(pdc(*pair, components=components))
            assert np.isnan(pdc(*map(encode, pair), components=components))
        assert np.isnan(pdc(none, none, components=components, undefined="worst"))
        assert pdc(none, some, components=components, undefined="worst") == 0
        assert pdc(encode(none), encode(some), components=components, undefined="worst") == 0
        assert pdc(some, none, components=components, undefined="worst") == 0
        assert pdc(some, some, components=components, undefined="worst") == 1
    assert pdc_parts(none, some).dice.size == 0
    assert np.isnan(pdc_parts(some, none)).all()


def test_a_full_mask_and_a_full_truth():
    full = np.ones((6, 8), bool)
    assert pdc(full, full) == 1
    half = full.copy()
    half[3:] = False
    assert 0 < pdc(full, half) < 1


def test_the_registry_has_its_range_and_says_what_it_is():
    known = METRICS["pdc"]
    assert (known.low, known.high, known.larger_is_better, known.needs) == (0, 1, True, ("mask", "truth"))
    assert "reconstruction" in known.source
    assert "reconstruction" in known.note
    text = " ".join(pdc.__doc__.split())
    assert "reconstruction" in text
    assert "equation (5) is not recoverable from the text at hand" in text


@pytest.mark.parametrize("kernel", [pdc, pdc_parts])
def test_damaged_masks_are_named(kernel):
    mask = np.ones((2, 3), bool)
    with pytest.raises(ShapeError, match=r"mask \(2, 3\) and truth \(3, 2\)"):
        kernel(mask, mask.T)
    with pytest.raises(ShapeError, match="truth must have two dimensions"):
        kernel(mask, mask[0])
    with pytest.raises(ValueRangeError, match="mask must be of bool"):
        kernel(mask * 255, mask)
    with pytest.raises(ValueRangeError, match="components='all' is not known"):
        kernel(mask, mask, components="all")


def test_damaged_options_are_named():
    mask = np.ones((2, 3), bool)
    for value in (-1, np.nan, np.inf, "1", None, True):
        for name in ("alpha", "beta"):
            with pytest.raises(ValueRangeError, match=f"{name} must be a finite number of at least 0"):
                pdc(mask, mask, **{name: value})
            with pytest.raises(ValueRangeError, match=f"{name} must be a finite number of at least 0"):
                pdc_from_parts(pdc_parts(mask, mask), **{name: value})
    with pytest.raises(ValueRangeError, match="form='sum' is not known"):
        pdc(mask, mask, form="sum")
    with pytest.raises(ValueRangeError, match="form='sum' is not known"):
        pdc_from_parts(pdc_parts(mask, mask), form="sum")
    with pytest.raises(ValueRangeError, match="undefined='zero' is not known"):
        pdc(mask, mask, undefined="zero")
    # an empty mask does not hide a wrong option
    with pytest.raises(ValueRangeError, match="form='sum' is not known"):
        pdc(np.zeros((2, 3)), mask, form="sum")
