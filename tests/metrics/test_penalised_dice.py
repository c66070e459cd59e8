import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage
from tests_support import raises

from salstats.errors import ShapeError, ValueRangeError
from salstats.images.masks import encode
from salstats.metrics.overlap import dice
from salstats.metrics.penalised_dice import pdc
from salstats.metrics.registry import METRICS

#: Double precision on both sides; the oracle's centres are means of up to 65,536 pixels.
DOUBLE = 1e-12
#: The oracle's two forms by our names.
FORMS = {"product": "mult", "mean": "add"}

quick = settings(deadline=None, database=None, derandomize=True, max_examples=150)
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
    shape = draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    mask, truth = (draw(arrays(bool, shape)) for _ in range(2))
    assume(mask.any() and truth.any())
    return mask, truth


def from_centre(mask, truth):
    """The distance of the centres, plainly."""
    return float(np.linalg.norm(np.argwhere(mask).mean(axis=0) - np.argwhere(truth).mean(axis=0)))


def farthest(truth, beyond=0.5):
    """From the truth's centre to the farthest corner, so far beyond the corner pixels' centres."""
    low, high = -beyond, np.array(truth.shape) - 1 + beyond
    corners = np.array([(r, c) for r in (low, high[0]) for c in (low, high[1])])
    return np.linalg.norm(corners - np.argwhere(truth).mean(axis=0), axis=1).max()


def plainly(mask, truth, alpha=1, beta=1, form="product", *, greatest=None):
    """The formula, step by step, for a mask taken as one."""
    placed = 1 - from_centre(mask, truth) / (farthest(truth) if greatest is None else greatest)
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


# the oracle: the same formula with the greatest distance to a corner pixel's centre


@pytest.fixture(scope="module")
def simulated(shared):
    """The oracle's masks by their names."""
    with np.load(shared / "oracles/mrxai/masks.npz") as held:
        return {name: held[name] for name in held if name != "contour"}


def assert_oracle(mask, truth, row):
    """The plain formula gives the oracle's numbers with its greatest distance, and ours with ours."""
    mask, truth = mask.astype(bool), truth.astype(bool)
    assert from_centre(mask, truth) == pytest.approx(row["dist_centroids"], rel=DOUBLE, abs=DOUBLE)
    assert dice(mask, truth) == pytest.approx(row["dice"], rel=DOUBLE)
    assert farthest(truth, 0) == pytest.approx(row["max_dist"], rel=DOUBLE)
    areas = {"": ([mask], "whole"), "_mean_components": (separate(mask), "mean")}
    for form, theirs in FORMS.items():
        for suffix, (parts, components) in areas.items():
            for power, name in ((1, f"pdc_{theirs}{suffix}"), (0, f"pdc_{theirs}_r1{suffix}")):
                if name in row:
                    plain = [plainly(p, truth, power, power, form, greatest=row["max_dist"]) for p in parts]
                    assert np.mean(plain) == pytest.approx(row[name], rel=DOUBLE, abs=DOUBLE), name
                    ours = pdc(mask, truth, alpha=power, beta=power, form=form, components=components)
                    plain = [plainly(p, truth, power, power, form) for p in parts]
                    assert ours == pytest.approx(np.mean(plain), rel=DOUBLE), name


def test_simulations_of_the_oracle(shared, simulated):
    table = pd.read_csv(shared / "oracles/mrxai/results.csv").rename(columns={"dice__sklearn_f1": "dice"})
    assert len(table) == 54
    for _, row in table.iterrows():
        truth, mask = (simulated[f"{row['simulation']}__{part}"] for part in ("truth", row["step"]))
        assert_oracle(mask, truth, row)
        # every mask is one area
        assert pdc(mask, truth) == pytest.approx(pdc(mask, truth, components="whole"), rel=DOUBLE)


def test_shifts_and_probes_of_the_oracle(shared, simulated):
    truth = simulated["distance__truth"]
    table = pd.read_csv(shared / "oracles/mrxai/fine_sweep_distance.csv")
    assert table["shift"].tolist() == list(range(73))
    for _, row in table.iterrows():
        step = int(row["shift"])
        assert_oracle(np.roll(truth, (step, step), (0, 1)), truth, row)
    probes = pd.read_csv(shared / "oracles/mrxai/probes.csv")
    assert len(probes) == 5
    for _, row in probes.iterrows():
        mask = simulated[f"probe__{row['probe']}"]
        assert len(separate(mask)) == row["n_components"]
        assert_oracle(mask, truth, row)
    assert probes["n_components"].max() == 2


def test_the_farthest_pixel_scores_more_than_nothing(shared, simulated):
    # 0 with the greatest distance to that pixel's centre
    probes = pd.read_csv(shared / "oracles/mrxai/probes.csv").set_index("probe")
    assert probes.loc["opposite_corner_pixel", "pdc_mult_r1"] == 0
    mask, truth = simulated["probe__opposite_corner_pixel"], simulated["distance__truth"]
    for form in FORMS:
        assert 0 < pdc(mask, truth, form=form, alpha=0) < 0.01
        assert 0 < pdc(mask, truth, form=form) < 1e-5


# what the text says of it


@quick
@given(pairs(), OPTIONS)
def test_it_is_the_formula_step_by_step(pair, options):
    mask, truth = pair
    steps = {name: options[name] for name in ("alpha", "beta", "form")}
    parts = [mask] if options["components"] == "whole" else separate(mask)
    found = pdc(mask, truth, **options)
    assert found == pytest.approx(np.mean([plainly(part, truth, **steps) for part in parts]), rel=DOUBLE)
    assert 0 < found <= 1
    # 1 is reached only by the truth itself, which is not split
    alike = np.array_equal(mask, truth) and len(parts) == 1
    assert (found == 1) == alike
    assert pdc(encode(mask.T), encode(truth.T), **options) == pytest.approx(found, rel=DOUBLE)


@quick
@given(pairs(), PENALTIES, PENALTIES, st.sampled_from(list(FORMS)))
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
@given(pairs(), OPTIONS)
def test_the_mean_form_is_never_the_smaller_one(pair, options):
    mask, truth = pair
    product, mean = (pdc(mask, truth, **options | {"form": form}) for form in FORMS)
    assert mean >= product * (1 - DOUBLE)
    if not (mask & truth).any():
        assert mean == product


def test_the_farther_of_two_misses_scores_less():
    truth = np.zeros((14, 14), bool)
    truth[5:9, 5:8] = True
    spots = []
    for at in np.ndindex(12, 12):
        spot = np.zeros((14, 14), bool)
        spot[at[0] : at[0] + 2, at[1] : at[1] + 3] = True
        if not (spot & truth).any():
            spots.append((from_centre(spot, truth), pdc(spot, truth), pdc(spot, truth, form="mean")))
    far, product, mean = np.array(sorted(spots)).T
    apart = np.diff(far) > DOUBLE
    assert apart.sum() >= 20
    assert (np.diff(product)[apart] < 0).all()
    assert (np.diff(mean)[apart] < 0).all()


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


@pytest.mark.parametrize("components", ["mean", "whole"])
def test_what_empty_masks_give(components):
    none, some = np.zeros((3, 4), bool), np.eye(3, 4, dtype=bool)
    for pair in [(none, none), (none, some), (some, none)]:
        assert np.isnan(pdc(*pair, components=components))
        worst = pdc(*map(encode, pair), components=components, undefined="worst")
        assert np.isnan(worst) if pair[0] is pair[1] else worst == 0
    assert pdc(some, some, components=components, undefined="worst") == 1


def test_the_registry_says_what_it_is():
    known = METRICS["pdc"]
    assert (known.low, known.high, known.direction, known.true_zero) == (0, 1, 1, True)
    assert known.kernel is pdc
    default = known.options_text({})
    # every option that changes the score changes the words
    options = {"alpha": 2, "beta": 2, "form": "mean", "components": "whole"}
    assert known.options.keys() == options.keys()
    assert len({default, *(known.options_text({name: value}) for name, value in options.items())}) == 5
    assert "reconstruction" in known.source
    assert "reconstruction" in known.note
    assert "equation (5) is not recoverable from the text at hand" in " ".join(pdc.__doc__.split())


def test_damaged_arguments_are_named():
    mask = np.ones((2, 3), bool)
    with raises(ShapeError, option="truth", value=(3, 2)):
        pdc(mask, mask.T)
    for value in (-1, np.nan, "1"):
        for name in ("alpha", "beta"):
            with raises(ValueRangeError, option=name, value=value):
                pdc(mask, mask, **{name: value})
    # an empty mask does not hide a wrong option
    for option, value in (("form", "sum"), ("undefined", "zero"), ("components", "all")):
        with raises(ValueRangeError, option=option, value=value):
            pdc(np.zeros((2, 3)), mask, **{option: value})
