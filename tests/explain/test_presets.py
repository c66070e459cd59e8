import pytest
from tests_support import raises

from salstats.errors import ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.methods import METHODS  # noqa: E402
from salstats.explain.presets import list_presets, preset_arguments  # noqa: E402


@pytest.mark.parametrize(
    ("method", "network", "of_explain", "of_score"),
    [
        ("occlusion", None, {"window": 40, "stride": 40}, {}),
        ("integrated_gradients", "DenseNet121", {}, {"smooth": 100}),
        ("integrated_gradients", "densenet-121", {}, {"smooth": 100}),
        ("integrated_gradients", "RESNET 152", {}, {"smooth": 50}),
        ("integrated_gradients", "inception_v4", {}, {"smooth": 50}),
        ("deeplift", None, {}, {"smooth": 50}),
        ("lrp", "DenseNet121", {}, {"smooth": 80}),
        ("gradcam", None, {}, {}),
    ],
)
def test_the_preset_of_saporta2022_is_what_the_study_says(method, network, of_explain, of_score):
    assert preset_arguments("saporta2022", method, network) == of_explain
    assert preset_arguments("saporta2022", method, network, function="score") == of_score


@pytest.mark.parametrize(("side", "smooth"), [(None, 80), (2000, 80), (320, 13), (10, 1)])
def test_the_filter_of_a_study_is_scaled_to_the_images_that_are_scored(side, smooth):
    assert preset_arguments("saporta2022", "lrp", function="score", side=side) == {"smooth": smooth}


@pytest.mark.parametrize(
    ("arguments", "option", "value", "choice"),
    [
        (("saporta2021", "lrp"), "preset", "saporta2021", "saporta2022"),
        (("saporta2022", "rise"), "method", "rise", "occlusion"),
        (("saporta2022", "integrated_gradients"), "network", None, "ResNet152"),
        (("saporta2022", "integrated_gradients", "vgg16"), "network", "vgg16", "DenseNet121"),
    ],
)
def test_what_a_study_does_not_say_is_an_error(arguments, option, value, choice):
    with raises(ValueRangeError, option=option, value=value) as caught:
        preset_arguments(*arguments, function="score")
    assert choice in caught.value.choices


@pytest.mark.parametrize(
    ("arguments", "option", "value"),
    [
        ({"method": "gradcam", "network": "DenseNet-112"}, "network", "DenseNet-112"),
        ({"method": "lrp", "side": -5, "function": "score"}, "side", -5),
        ({"method": "gradcam", "side": -5}, "side", -5),
        ({"method": "lrp", "side": 320}, "side", None),
    ],
)
def test_a_network_or_side_that_decides_nothing_is_an_error(arguments, option, value):
    with raises(ValueRangeError, option=option, value=value):
        preset_arguments("saporta2022", **arguments)


def test_every_choice_of_a_study_is_an_argument_of_its_method():
    rows = list_presets().dropna(subset=["argument"])
    common = {"explain": {"channels", "sign", "join", "smooth"}, "score": {"smooth"}}
    for row in rows.itertuples():
        own = METHODS[row.method].options if row.function == "explain" else ()
        assert row.argument in common[row.function] or row.argument in own
