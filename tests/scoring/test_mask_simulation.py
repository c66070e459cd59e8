"""The simulations of agreement: on the oracle's masks the oracle's curves, on our own what the text says."""

import numpy as np
import pandas as pd
import pytest

from salstats.scoring.mask_simulation import (
    SIMULATIONS,
    MaskSeries,
    count_truth_mask_and_overlap_pixels,
    score_masks_of_each_simulation_step,
    simulate_masks,
)

# sums of the same numbers in another order
ROUNDING = 1e-12
FORMS = ("product", "mean")


@pytest.fixture(scope="module")
def oracle(shared):
    """The oracle's results, by simulation and step from 1."""
    results = pd.read_csv(shared / "oracles" / "mrxai" / "results.csv")
    return results.assign(step=results["step"] + 1).set_index(["simulation", "step"])


@pytest.fixture(scope="module")
def theirs(shared, oracle):
    """The oracle's masks as series."""
    with np.load(shared / "oracles" / "mrxai" / "masks.npz") as masks:
        return {
            name: MaskSeries(
                masks[f"{name}__truth"],
                tuple(masks[f"{name}__{i}"] for i in range(9)),
                tuple(oracle.loc[name, "shift"]),
                tuple(oracle.loc[name, "scale"]),
            )
            for name in SIMULATIONS
        }


@pytest.fixture(scope="module")
def their_scores(theirs):
    return score_masks_of_each_simulation_step(theirs, hd95_rule="pooled")


@pytest.fixture(scope="module")
def series():
    return simulate_masks()


@pytest.fixture(scope="module")
def scores(series):
    return score_masks_of_each_simulation_step(series)


def curve(scores, metric, *, form=None, size_penalty=None, simulation=None):
    """One measure by simulation and step, or by step of one simulation."""
    rows = scores[scores["metric"] == metric]
    if form is not None:
        rows = rows[(rows["form"] == form) & (rows["size_penalty"] == size_penalty)]
    found = rows.set_index(["simulation", "step"])["score"]
    return found if simulation is None else found.loc[simulation].to_numpy()


# --- the oracle ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "column"),
    [
        ("dice", "dice__medpy_dc"),
        ("iou", "jaccard__medpy_jc"),
        ("hausdorff", "hd__medpy_conn1"),
        ("hausdorff", "hd__surface_distance_100"),
        ("hd95", "hd95__medpy_conn1_pooled"),
        ("assd", "assd__medpy_conn1_pooled"),
    ],
)
def test_overlap_and_distances_are_the_oracles(their_scores, oracle, metric, column):
    got = curve(their_scores, metric)
    assert len(got) == 54
    np.testing.assert_allclose(got, oracle.loc[got.index, column], rtol=ROUNDING)


def test_the_steps_are_the_oracles(oracle):
    for name, plan in SIMULATIONS.items():
        np.testing.assert_allclose(plan.shifts, oracle.loc[name, "shift"], rtol=ROUNDING)
        np.testing.assert_allclose(plan.scales, oracle.loc[name, "scale"], rtol=ROUNDING)


def test_the_masks_are_counted_as_the_oracle_counts(theirs, oracle):
    counted = count_truth_mask_and_overlap_pixels(theirs).set_index(["simulation", "step"])
    for ours, column in (("n_truth", "n_truth"), ("n_mask", "n_expl"), ("n_overlap", "n_inter")):
        np.testing.assert_array_equal(counted[ours], oracle.loc[counted.index, column])


def test_the_size_ratio_is_the_oracles(their_scores, oracle):
    # with the penalty over without is the ratio alone
    penalised, plain = (
        curve(their_scores, "pdc", form="product", size_penalty=p) for p in ("with", "without")
    )
    np.testing.assert_allclose(penalised / plain, oracle.loc[plain.index, "r"], rtol=ROUNDING)


@pytest.mark.parametrize("form", FORMS)
def test_the_distance_of_the_centres_is_the_oracles(their_scores, theirs, oracle, form):
    # the oracle takes the greatest distance to the corner pixels' centres, we to the outer corners
    plain = curve(their_scores, "pdc", form=form, size_penalty="without")
    dice = oracle.loc[plain.index, "dice__medpy_dc"]
    d = 2 * plain / (1 + dice) if form == "product" else 2 * plain - dice
    for name, one in theirs.items():
        rows, cols = np.nonzero(one.truth)
        far = max(
            np.hypot(rows.mean() - row, cols.mean() - col) for row in (-0.5, 255.5) for col in (-0.5, 255.5)
        )
        # a difference of two numbers near 1
        np.testing.assert_allclose((1 - d.loc[name]) * far, oracle.loc[name, "dist_centroids"], atol=1e-10)


@pytest.mark.parametrize(("form", "column"), [("product", "pdc_mult"), ("mean", "pdc_add")])
def test_the_penalised_dice_is_the_oracles_but_for_the_corner(their_scores, oracle, form, column):
    got = curve(their_scores, "pdc", form=form, size_penalty="with")
    want = oracle.loc[got.index, column]
    # the outer corner is half a diagonal of a pixel further than the corner pixel's centre, of about 182
    np.testing.assert_allclose(got, want, rtol=0, atol=np.hypot(0.5, 0.5) / 180)
    assert (got >= want - ROUNDING).all()


# --- what the text says, on our own shape -------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_the_penalised_dice_falls_with_the_shift_also_without_overlap(scores, form):
    found = curve(scores, "pdc", form=form, size_penalty="with", simulation="distance")
    np.testing.assert_allclose(found, found[::-1], rtol=ROUNDING)
    assert found[4] == 1
    assert (np.diff(found[4:]) < 0).all()
    dice = curve(scores, "dice", simulation="distance")
    assert dice[0] == dice[1] == 0
    assert 0 < found[0] < found[1]


@pytest.mark.parametrize("name", ["size_piecewise", "both_piecewise", "both_linear_truthmid", "distance"])
def test_the_fifth_mask_is_the_truth(series, scores, name):
    np.testing.assert_array_equal(series[name].masks[4], series[name].truth)
    rows = scores[(scores["simulation"] == name) & (scores["step"] == 5)]
    distance = rows["distance_unit"].notna()
    assert (rows.loc[distance, "score"] == 0).all()
    assert (rows.loc[~distance, "score"] == 1).all()


def test_every_mask_has_256_rows_and_columns(series):
    assert {mask.shape for one in series.values() for mask in (one.truth, *one.masks)} == {(256, 256)}
