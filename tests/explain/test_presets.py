import pytest

from salstats.checks import ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")


def presets():
    from salstats.explain import presets as module

    return module


@pytest.mark.parametrize(
    ("method", "network", "expected"),
    [
        ("occlusion", None, {"window": 40, "stride": 40}),
        ("integrated_gradients", "DenseNet121", {"smooth": 100}),
        ("integrated_gradients", "ResNet152", {"smooth": 50}),
        ("integrated_gradients", "Inception-v4", {"smooth": 50}),
        ("deeplift", None, {"smooth": 50}),
        ("lrp", "DenseNet121", {"smooth": 80}),
        ("gradcam", None, {}),
    ],
)
def test_saporta2022_is_what_the_study_says(method, network, expected):
    assert presets().preset_arguments("saporta2022", method, network) == expected


@pytest.mark.parametrize("network", ["densenet121", "DenseNet-121", "densenet 121", "DENSENET_121"])
def test_networks_are_known_however_they_are_spelled(network):
    assert presets().preset_arguments("saporta2022", "integrated_gradients", network) == {"smooth": 100}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("saporta2021", "lrp"), "preset='saporta2021' is not known; did you mean 'saporta2022'"),
        (("saporta2022", "rise"), "says nothing of method 'rise'; .*'gradcam', .*'occlusion'"),
        (
            ("saporta2022", "integrated_gradients"),
            "say network=, one of 'DenseNet121', 'ResNet152', 'Inception-v4'",
        ),
        (("saporta2022", "integrated_gradients", "vgg16"), "network='vgg16' is none of 'DenseNet121'"),
    ],
)
def test_what_a_study_does_not_say_is_an_error(asked, message):
    with pytest.raises(ValueRangeError, match=message):
        presets().preset_arguments(*asked)


def test_the_frame_has_a_row_for_each_argument_and_for_methods_without_any():
    frame = presets().list_presets()
    assert list(frame.columns) == ["preset", "method", "network", "argument", "value", "source"]
    assert frame.loc[frame["argument"].isna(), "method"].tolist() == ["gradcam", "gradcam++", "eigencam"]
    assert frame.loc[frame["method"] == "occlusion", "argument"].tolist() == ["window", "stride"]


def test_every_choice_is_an_argument_of_its_method():
    from salstats.explain.methods import METHODS

    rows = presets().list_presets().dropna(subset=["argument"])
    common = {"channels", "sign", "smooth"}
    assert all(
        a in common or a in METHODS[m].options for m, a in zip(rows["method"], rows["argument"], strict=True)
    )
