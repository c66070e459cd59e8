import inspect
from importlib import import_module

import pytest

from salstats.checks import SalstatsError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")


def methods():
    from salstats.explain import methods as module

    return module


#: Through grad-cam, and through captum or by ourselves.
CAMS = ["gradcam", "gradcam++", "eigencam", "scorecam", "layercam", "hirescam", "xgradcam", "ablationcam"]
OTHERS = [
    "activation",
    "integrated_gradients",
    "input_x_gradient",
    "deeplift",
    "gradient_shap",
    "lrp",
    "occlusion",
    "lime",
    "kernel_shap",
    "rise",
    "attention_rollout",
]


def test_every_method_is_there_once():
    assert sorted(methods().list_methods()["method"]) == sorted(CAMS + OTHERS)


def test_cams_are_the_librarys():
    rows = methods().list_methods()
    assert rows.loc[rows["library"] == "grad-cam", "method"].tolist() == CAMS
    assert set(rows["library"]) == {"grad-cam", "captum", "salstats"}


@pytest.mark.parametrize("name", CAMS + OTHERS)
def test_every_runner_takes_a_request(name):
    module, function = methods().METHODS[name].run.split(":")
    runner = getattr(import_module(module), function)
    assert list(inspect.signature(runner).parameters) == ["request"]


def test_rules_are_ones_that_maps_know():
    from salstats.explain.reductions import CHANNELS, SIGNS

    rows = methods().list_methods()
    assert set(rows["channels"]) <= set(CHANNELS)
    assert set(rows["sign"]) <= set(SIGNS)


def test_every_source_can_be_found():
    rows = methods().list_methods()
    assert rows["source"].str.contains(r"doi:10\.\d{4,}/\S+|arXiv:\d{4}\.\d{5}").all()


def test_what_needs_outputs_only_perturbs():
    rows = methods().list_methods()
    assert set(rows.loc[~rows["hooks"], "kind"]) == {"perturbation"}
    assert methods().without_hooks() == rows.loc[~rows["hooks"], "method"].tolist()


def test_an_unknown_method_is_told_the_nearest():
    with pytest.raises(
        ValueRangeError, match="method='integrated_gradient' is not known; did you mean 'integrated_"
    ):
        methods().check_method("integrated_gradient")


def test_options_have_defaults_and_strange_ones_are_named():
    module = methods()
    row = module.METHODS["occlusion"]
    assert module.check_options(row, {"window": 3}) == {**row.options, "window": 3}
    with pytest.raises(
        SalstatsError, match="method 'occlusion' has no option 'size'; it has 'window', 'stride'"
    ):
        module.check_options(row, {"size": 3})


def test_defaults_cannot_be_changed():
    with pytest.raises(TypeError):
        methods().METHODS["occlusion"].options["window"] = 1
