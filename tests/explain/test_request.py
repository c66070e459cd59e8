"""What methods that make passes of changed images have in common: passes are shared, draws follow seeds."""

import numpy as np
import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from explain.runner_requests import Counting, ask, noise, seeded  # noqa: E402

from salstats.explain.methods import METHODS  # noqa: E402

SMALL = {
    "occlusion": {"window": 4, "stride": 3},
    "rise": {"n_masks": 41, "cells": 4, "probability": "sigmoid"},
    "lime": {"n_segments": 12, "n_samples": 60, "alpha": 1e-4},
    "kernel_shap": {"n_segments": 12, "n_samples": 60},
    "gradient_shap": {"stdev": 0.1, "n_samples": 5},
}
#: Linear models are fitted in single precision, two samples weighing a million times the others.
FITTED = 1e-3


@pytest.mark.parametrize("method", [name for name in SMALL if METHODS[name].kind == "perturbation"])
def test_one_set_of_passes_serves_all_targets_of_an_image(method):
    model, image = seeded(Counting), noise(1, 2, 11, 13, seed=1)
    alone = [ask(method, model, image, target, **SMALL[method])[0] for target in range(3)]
    once, model.n_images = model.n_images // 3, 0
    together = ask(method, model, image.expand(3, -1, -1, -1), [0, 1, 2], seeds=[0] * 3, **SMALL[method])
    assert model.n_images == once
    np.testing.assert_allclose(together, torch.stack(alone), atol=FITTED)


@pytest.mark.parametrize("method", [name for name in SMALL if METHODS[name].random])
def test_seeds_decide_on_what_is_drawn(method):
    model, images = seeded(Counting), noise(2, 2, 11, 13, seed=1)
    first, again, other = (
        ask(method, model, images, 0, seeds=seeds, **SMALL[method]) for seeds in ((3, 4), (3, 4), (5, 4))
    )
    assert torch.equal(first, again)
    assert not torch.allclose(first[0], other[0])
    assert torch.equal(first[1], other[1])
