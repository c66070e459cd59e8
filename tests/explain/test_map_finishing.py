"""Channels, signs, layers and filters of raw attributions; constant maps are said once."""

import warnings

import numpy as np
import pytest
from tests_support import warns

from salstats.errors import SalstatsWarning
from salstats.images.map_steps import resize

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
from explain.tiny_networks import OUTPUTS, cnn, pictures  # noqa: E402

from salstats.explain.ensembles import explain_ensemble  # noqa: E402
from salstats.explain.map_finishing import (  # noqa: E402
    apply_sign_rule,
    mean_of_scaled_layers_by_image,
    reduce_channels,
    resize_and_smooth,
    sum_of_layers_by_image,
    warn_of_or_count_constant_maps,
)
from salstats.explain.map_runs import make_maps  # noqa: E402
from salstats.explain.networks import Network  # noqa: E402
from salstats.explain.saliency_maps import explain  # noqa: E402

#: Single precision.
ROUNDING = 1e-6


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("sum", [[-2.0, 6.0]]),
        ("mean", [[-1.0, 3.0]]),
        ("max", [[1.0, 4.0]]),
        ("abs_max", [[3.0, 4.0]]),
    ],
)
def test_channels_become_one_number(rule, expected):
    attributions = torch.tensor([[[[1.0, 2.0]], [[-3.0, 4.0]]]])
    assert reduce_channels(attributions, rule)[0].tolist() == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("positive", [0.0, 0.0, 3.0]), ("absolute", [2.0, 0.0, 3.0]), ("signed", [-2.0, 0.0, 3.0])],
)
def test_sign_is_kept_as_said(rule, expected):
    assert apply_sign_rule(np.array([-2.0, 0.0, 3.0]), rule).tolist() == expected


def test_filter_by_hand_mirrors_the_border_about_its_pixels():
    maps = np.array([[[9.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 18.0]]])
    filtered = resize_and_smooth(maps, (3, 3), "image", 3)[0]
    # a corner's neighbours outside are the middle pixels on the other side of it: it counts once
    expected = [[1.0, 1.0, 0.0], [1.0, 3.0, 2.0], [0.0, 2.0, 2.0]]
    np.testing.assert_allclose(filtered, expected, atol=ROUNDING)


def test_layers_are_joined_by_hand():
    first = np.array([[[2.0, -8.0], [0.0, 4.0]]])
    second = np.array([[[0.0, 10.0], [5.0, 0.0]]])
    joined = mean_of_scaled_layers_by_image([first, second], "positive", (2, 2))
    np.testing.assert_allclose(joined, [[[0.25, 0.5], [0.25, 0.5]]], atol=ROUNDING)
    # the lowest value becomes 0, and so does a map of one value
    stretched = mean_of_scaled_layers_by_image(
        [first + 9, second + 5, np.full((1, 2, 2), 3.0)], "absolute", (2, 2)
    )
    expected = [[10 / 12 + 0, 0 + 10 / 10], [8 / 12 + 5 / 10, 12 / 12 + 0]]
    np.testing.assert_allclose(stretched, [np.array(expected) / 3], atol=ROUNDING)
    signed = mean_of_scaled_layers_by_image([first, second], "signed", (2, 2))
    np.testing.assert_allclose(signed, [[[0.125, 0.0], [0.25, 0.25]]], atol=ROUNDING)


@pytest.mark.parametrize("sign", ["positive", "absolute", "signed"])
@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_the_join_of_layers_does_not_hang_on_how_large_their_values_are(sign, factor):
    layers = [np.random.default_rng(seed).normal(size=(2, 3, 2)) for seed in range(2)]
    joined = mean_of_scaled_layers_by_image(layers, sign, (3, 2))
    assert joined.max() > 0.1
    of_other_size = mean_of_scaled_layers_by_image([factor * maps for maps in layers], sign, (3, 2))
    np.testing.assert_allclose(of_other_size, joined, atol=ROUNDING)


def test_layers_of_several_sizes_are_summed_on_one_grid():
    fine = np.random.default_rng(0).normal(size=(2, 6, 4))
    coarse = np.random.default_rng(1).normal(size=(2, 3, 2))
    total = sum_of_layers_by_image([fine, coarse], (6, 4))
    for image in range(2):
        np.testing.assert_allclose(total[image], fine[image] + resize(coarse[image], (6, 4)), atol=ROUNDING)


def test_the_grid_of_a_map_is_the_methods_own_or_that_of_the_input():
    maps = np.random.default_rng(0).normal(size=(2, 3, 2))
    own_grid = resize_and_smooth(maps, (6, 4), "network")
    np.testing.assert_array_equal(own_grid, maps.astype(np.float32))
    on_input = resize_and_smooth(maps, (6, 4), "image")
    np.testing.assert_array_equal(on_input, [resize(values, (6, 4)) for values in maps])


#: Leaves no superpixel in LIME's linear model.
NOTHING = {"alpha": 1e6, "n_samples": 60}


def said(call):
    """What a call warns of, at a line of this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert {one.filename for one in caught if issubclass(one.category, SalstatsWarning)} <= {__file__}
    return [str(one.message) for one in caught if issubclass(one.category, SalstatsWarning)]


def test_maps_of_zeros_are_counted():
    images = np.stack(list(pictures(3).values()))
    # all of three maps
    with warns(column="method", value="lime", match=r"\b3\b.*\b3\b"):
        made = explain(cnn(), images, 0, method="lime", **NOTHING)
    assert not made.any()
    # zeros in, zeros out
    images[1] = 0
    (message,) = said(lambda: explain(cnn(), images, 0, method="input_x_gradient", sign="signed"))
    assert "'input_x_gradient': 1 of 3" in message


def test_a_run_says_it_once_for_each_method(tmp_path):
    network = Network("cnn", cnn(), tasks=OUTPUTS, probability="sigmoid", options={"lime": NOTHING})
    options = {"none": {"method": "kernel_shap", "n_samples": 100}}
    found = said(
        lambda: make_maps(
            tmp_path / "maps", pictures(5), network, methods=["lime", "none"], options=options,
            batch_size=2, progress=False,
        )
    )  # fmt: skip
    assert len(found) == 1
    assert "method 'lime': 10 of 10 maps" in found[0]


def test_an_ensemble_says_it_once():
    networks = [Network(f"run{seed}", cnn(seed), tasks=OUTPUTS, probability="sigmoid") for seed in range(3)]
    images = np.stack(list(pictures(2).values()))
    found = said(lambda: explain_ensemble(networks, images, method="lime", **NOTHING))
    assert len(found) == 1
    assert "12 of 12 maps" in found[0]


def test_a_cause_of_constant_maps_is_named():
    hint = "a softmax or sigmoid as the network's last layer can be the cause; explain it without that"
    with warns(column="method", value="gradcam", hint=hint, match=r"\b1\b.*\b2\b"):
        warn_of_or_count_constant_maps("gradcam", np.stack([np.zeros((2, 2)), np.eye(2)]))
