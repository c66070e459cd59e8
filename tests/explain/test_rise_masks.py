"""RISE's masks that keep a class: counted by a plain loop, and what they show of a region."""

import numpy as np
import pandas as pd
import pytest
from tests_support import raises

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
from explain.pixel_step_models import linear, small_cnn  # noqa: E402

from salstats.errors import SalstatsError, ShapeError, ValueRangeError  # noqa: E402
from salstats.explain.perturbations import draw_grids_and_shifts, make_masks  # noqa: E402
from salstats.explain.rise_masks import rise_masks  # noqa: E402
from salstats.explain.saliency_maps import explain  # noqa: E402

OPTIONS = {"n_masks": 60, "cells": 3, "keep": 0.4}
SEEDS = [5, 9]


def images(side=9):
    return np.random.default_rng(2).normal(size=(2, 2, side, side)).astype(np.float32)


def masks_of(seed, side=9):
    grids, shifts = draw_grids_and_shifts(np.random.default_rng(seed), 60, 3, 0.4, (side, side))
    return make_masks(grids, shifts, (side, side)).numpy()


@pytest.mark.parametrize("probability", ["softmax", "sigmoid"])
def test_masks_that_keep_the_class_are_counted_one_by_one(probability):
    model, targets = small_cnn().eval(), [2, 0]
    region = np.zeros((2, 9, 9), bool)
    region[0, :3], region[1, :, 5:] = True, True
    found = rise_masks(
        model, images(), targets, region=region, cases=["b", "a"], probability=probability, cutoff=0.47,
        seeds=SEEDS, batch_size=7, baseline="mean", **OPTIONS,
    )  # fmt: skip
    assert found["case"].tolist() == ["b", "a"]
    for row, image, seed, target, inside in zip(
        found.itertuples(), images(), SEEDS, targets, region, strict=True
    ):
        shown = {True: [], False: []}
        mean = image.mean(axis=(1, 2), keepdims=True)
        for mask in masks_of(seed):
            with torch.no_grad():
                output = model(torch.from_numpy(mask * image + (1 - mask) * mean)[None].float())[0].numpy()
            passing = output.argmax() == target
            if probability == "sigmoid":
                passing = 1 / (1 + np.exp(-output[target])) >= 0.47
            shown[bool(passing)].append(mask[inside].mean())
        assert row.n_masks == 60
        assert row.n_passing == len(shown[True])
        assert row.share_passing == len(shown[True]) / 60
        assert row.shown_passing == pytest.approx(np.mean(shown[True] or [np.nan]), nan_ok=True)
        assert row.shown_failing == pytest.approx(np.mean(shown[False] or [np.nan]), nan_ok=True)
    assert 0 < found["n_passing"].sum() < 120


def test_the_masks_are_those_of_the_map():
    # the outputs are 0 and 1 by one pixel: the map's value there is the share of masks that pass
    weights = np.zeros((2, 81))
    weights[1, 40] = 1e6
    model = linear(weights)
    model[1].bias = torch.nn.Parameter(torch.tensor([0.5e6, 0.0]))
    ones = np.ones((1, 1, 9, 9))
    region = np.zeros((9, 9), bool)
    region[4, 4] = True
    found = rise_masks(model, ones, 1, region=region, rng=3, **OPTIONS)
    saliency = explain(model, ones, 1, method="rise", rng=3, **OPTIONS)[0]
    # by RISE's formula: mean over masks of probability times what the mask shows, by keep
    expected = found["share_passing"] * found["shown_passing"] / OPTIONS["keep"]
    assert saliency[4, 4] == pytest.approx(expected.item(), rel=1e-5)
    assert found["shown_passing"].item() > 0.5 > found["shown_failing"].item()


def test_no_sigmoid_is_taken_of_probabilities():
    # a sigmoid of a probability is at least 0.5, so that every mask would pass
    model = small_cnn()
    softmax = torch.nn.Sequential(model, torch.nn.Softmax(dim=1))
    asked = {"cutoff": 0.4, "seeds": SEEDS, **OPTIONS}
    of_sigmoid = rise_masks(softmax, images(), [2, 0], probability="sigmoid", **asked)
    of_outputs = rise_masks(softmax, images(), [2, 0], probability="none", **asked)
    assert of_sigmoid["n_passing"].sum() < 120
    pd.testing.assert_frame_equal(of_sigmoid, of_outputs)


def test_targets_of_an_image_are_asked_behind_the_same_masks():
    one = images()[:1]
    both = rise_masks(
        small_cnn(),
        np.repeat(one, 3, axis=0),
        [0, 1, 2],
        rng=1,
        tasks=list("xyz"),
        cases=["a"] * 3,
        **OPTIONS,
    )
    assert both["n_passing"].sum() == 60
    assert "shown_passing" not in both


@pytest.mark.parametrize(
    ("changed", "kind", "fields"),
    [
        ({"region": np.ones((3, 3))}, ShapeError, {"option": "region", "match": r"\(3, 3\)"}),
        ({"region": np.full((9, 9), 0.5)}, ValueRangeError, {"option": "region", "match": "0 and 1"}),
        ({"region": np.zeros((9, 9), bool)}, ValueRangeError, {"option": "region", "match": "image 0"}),
        ({"window": 3}, SalstatsError, {"option": "window"}),
        ({"model": linear(np.ones((1, 162)))}, ShapeError, {"option": "probability", "value": "softmax"}),
    ],
)
def test_what_cannot_be_counted_is_an_error(changed, kind, fields):
    given = {"model": small_cnn(), "images": images(), "targets": 0, **OPTIONS, **changed}
    with raises(kind, **fields):
        rise_masks(**given)
