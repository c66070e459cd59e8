import numpy as np
import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain import cam_formulas as formulas  # noqa: E402

#: One image, two channels of 1 x 2 pixels.
A = np.array([[[[1.0, 3.0]], [[2.0, 0.0]]]])
G = np.array([[[[0.5, -1.0]], [[1.0, 3.0]]]])


def test_gradcam_weighs_a_channel_by_its_mean_gradient():
    assert formulas.gradcam_weights(A, G).ravel().tolist() == [-0.25, 2.0]


def test_layercam_drops_negative_gradients_and_hirescam_keeps_them():
    assert formulas.layercam_weights(A, G).ravel().tolist() == [0.5, 0.0, 1.0, 3.0]
    assert formulas.hirescam_weights(A, G).ravel().tolist() == G.ravel().tolist()


def test_xgradcam_weighs_gradients_by_the_share_of_activation():
    # (0.5 * 1 - 1 * 3) / 4 and (1 * 2 + 3 * 0) / 2
    np.testing.assert_allclose(formulas.xgradcam_weights(A, G).ravel(), [-0.625, 1.0], rtol=1e-6)


def test_gradcamplusplus_is_equation_19_of_its_paper():
    squares = G**2
    alphas = squares / (2 * squares + A.sum(axis=(2, 3), keepdims=True) * G**3)
    expected = (alphas * np.maximum(G, 0)).sum(axis=(2, 3)).ravel()
    np.testing.assert_allclose(formulas.gradcamplusplus_weights(A, G).ravel(), expected, rtol=1e-4)


def test_small_gradients_are_damped_in_gradcamplusplus_by_the_constant_of_the_library():
    # two pixels of activation 2 and gradient g: twice g^3 / (2 g^2 + 4 g^3 + 1e-6)
    g = 1e-3
    weights = formulas.gradcamplusplus_weights(np.full((1, 1, 1, 2), 2.0), np.full((1, 1, 1, 2), g))
    np.testing.assert_allclose(weights.ravel(), [2 * g**3 / (2 * g**2 + 4 * g**3 + 1e-6)], rtol=1e-12)


def test_a_gradient_of_zero_has_no_weight_in_gradcamplusplus():
    assert formulas.gradcamplusplus_weights(A, np.zeros_like(G)).ravel().tolist() == [0.0, 0.0]


def test_channels_are_summed_by_one_weight_each_or_by_one_for_each_pixel():
    by_channel = np.array([2.0, 10.0]).reshape(1, 2, 1, 1)
    assert formulas.weighted_channel_sum(by_channel, A).tolist() == [[[22.0, 6.0]]]
    assert formulas.weighted_channel_sum(G, A).tolist() == [[[2.5, -3.0]]]


def test_weights_are_one_for_each_channel_or_one_for_each_pixel_of_it():
    for by_channel in (formulas.gradcam_weights, formulas.gradcamplusplus_weights, formulas.xgradcam_weights):
        assert by_channel(A, G).shape == (1, 2, 1, 1)
    for by_pixel in (formulas.hirescam_weights, formulas.layercam_weights):
        assert by_pixel(A, G).shape == A.shape
