import sys
import types
import warnings

import numpy as np
import pytest
from tests_support import raises, warns

from salstats.errors import SalstatsError, ShapeError, ValueRangeError
from salstats.images.map_steps import box_filter, resize

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
nn = torch.nn

from explain.runner_requests import state  # noqa: E402
from explain.tiny_networks import count_passes  # noqa: E402

from salstats.explain import methods, presets, saliency_maps  # noqa: E402
from salstats.explain.methods import METHODS, names_of_methods_without_hooks  # noqa: E402
from salstats.explain.saliency_maps import explain  # noqa: E402

#: Single precision through two small networks.
ROUNDING = 1e-5


def cnn():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Conv2d(2, 6, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 4)
        )


def pictures(n=5, size=(16, 12)):
    return np.random.default_rng(1).normal(size=(n, 2, *size)).astype(np.float32)


@pytest.fixture
def made_up(monkeypatch):
    """Registers a method `made_up` whose runner is given; returns the requests that it got."""

    def register(runner=None, **row):
        requests = []

        def run(request):
            requests.append(request)
            return request.images if runner is None else runner(request)

        module = types.ModuleType("made_up_runner")
        module.run = run
        monkeypatch.setitem(sys.modules, "made_up_runner", module)
        row = {"kind": "perturbation", "sign": "signed"} | row
        made = methods.Method(
            name="made_up", label="Made up", library="none", run="made_up_runner:run", source="none", **row
        )
        rows = {**methods.METHODS, "made_up": made}
        monkeypatch.setattr(methods, "METHODS", rows)
        monkeypatch.setattr(saliency_maps, "METHODS", rows)
        return requests

    return register


# what is returned


def test_default_is_a_positive_gradcam_of_the_last_stage_resized_as_scoring_resizes():
    small = explain(cnn(), pictures(), 1, method="gradcam", layer="1", sign="positive", resolution="network")
    assert small.shape == (5, 8, 6)
    assert small.dtype == np.float32
    np.testing.assert_array_equal(explain(cnn(), pictures(), 1), [resize(m, (16, 12)) for m in small])


def test_channels_then_sign_then_filter(made_up):
    made_up()
    images = pictures(3)
    made = explain(cnn(), images, 0, method="made_up", channels="mean", sign="absolute", smooth=3)
    expected = np.abs(images.astype(np.float64).mean(axis=1)).astype(np.float32)
    np.testing.assert_array_equal(made, [box_filter(m, 3) for m in expected])


# batches and random numbers


@pytest.mark.parametrize("kind", ["cam", "perturbation"])
def test_equal_images_share_a_batch_and_maps_keep_their_order(made_up, kind):
    requests = made_up(lambda request: request.images + 100 * request.targets[:, None, None, None], kind=kind)
    images = pictures(3)[[0, 1, 2, 0, 1, 0]]
    targets = [0, 1, 2, 3, 2, 1]
    made = explain(cnn(), images, targets, method="made_up", batch_size=2, channels="max")
    assert [r.targets.tolist() for r in requests] == [[0, 3, 1, 1, 2], [2]]
    assert [r.equal_groups() for r in requests] == [[[0, 1, 2], [3, 4]], [[0]]]
    expected = images.max(axis=1) + 100 * np.array(targets)[:, None, None]
    np.testing.assert_allclose(made, expected, rtol=ROUNDING)


@pytest.mark.parametrize("function", ["sigmoid", "softmax"])
def test_gradients_of_probabilities_are_warned_of_once_for_each_network(function):
    layer = {"sigmoid": nn.Sigmoid(), "softmax": nn.Softmax(dim=1)}[function]
    model = nn.Sequential(cnn(), layer, nn.Flatten())
    with warns(option="probability", value=function):
        explain(model, pictures(2), [0, 1])
    explain(model, pictures(2), [0, 1])
    # neither outputs before such a layer nor methods without gradients are concerned
    explain(cnn(), pictures(2), [0, 1])
    explain(nn.Sequential(cnn(), layer), pictures(2), [0, 1], method="occlusion", window=2, stride=2)


@pytest.mark.parametrize("method", ["eigencam", "activation"])
def test_methods_that_look_at_no_target_make_one_map_of_an_image(method):
    model, images = cnn(), pictures(3)[[2, 0, 2, 1, 0]]
    shown = []
    model.register_forward_pre_hook(lambda module, given: shown.append(len(given[0])))
    made = explain(model, images, [0, 1, 2, 3, 1], method=method, layer="0")
    # and one to look
    assert sum(shown) == 3 + 1
    alone = [explain(model, image[None], 0, method=method, layer="0")[0] for image in images]
    np.testing.assert_allclose(made, alone, atol=ROUNDING)


@pytest.mark.parametrize("method", ["gradcam", "scorecam", "input_x_gradient", "activation", "occlusion"])
def test_large_images_go_through_a_cpu_few_at_a_time(method, monkeypatch):
    monkeypatch.setattr("salstats.explain.forward_passes.MAX_CPU_PIXELS", 2 * 16 * 12 + 5)
    model, options = cnn(), {"activation": {"layer": "0"}, "occlusion": {"window": 8, "stride": 8}}
    shown = count_passes(model)
    made = explain(model, pictures(5), 1, method=method, **options.get(method, {}))
    assert max(shown) == 2
    monkeypatch.undo()
    whole = explain(model, pictures(5), 1, method=method, **options.get(method, {}))
    np.testing.assert_allclose(made, whole, atol=ROUNDING)


def noise(request):
    """One random number per image, all over its map."""
    numbers = torch.tensor([request.generator(i).random() for i in range(len(request.images))])
    return numbers[:, None, None, None] * torch.ones_like(request.images[:, :1])


@pytest.mark.parametrize("kind", ["gradient", "perturbation"])
def test_random_numbers_depend_on_the_seed_and_the_place_in_the_call_only(made_up, kind):
    made_up(noise, random=True, kind=kind)
    images = pictures(6)
    whole = explain(cnn(), images, 0, method="made_up")[:, 0, 0]
    small = explain(cnn(), images, 3, method="made_up", batch_size=2)[:, 0, 0]
    other = explain(cnn(), images, 0, method="made_up", rng=1)[:, 0, 0]
    assert len(set(whole)) == 6
    np.testing.assert_array_equal(small, whole)
    assert not set(other) & set(whole)


def test_given_seeds_are_used_whatever_the_place(made_up):
    made_up(noise, random=True)
    numbers = explain(cnn(), pictures(3), 0, method="made_up", seeds=[7, 8, 9])[:, 0, 0]
    swapped = explain(cnn(), pictures(3)[::-1].copy(), 0, method="made_up", seeds=[9, 8, 7])[:, 0, 0]
    np.testing.assert_array_equal(swapped, numbers[::-1])
    assert numbers[0] == np.float32(np.random.default_rng(7).random())


def test_a_generator_moves_on_from_call_to_call(made_up):
    made_up(noise, random=True)
    generator = np.random.default_rng(3)
    first, second = (
        explain(cnn(), pictures(1), 0, method="made_up", rng=generator)[0, 0, 0] for _ in range(2)
    )
    again = explain(cnn(), pictures(1), 0, method="made_up", rng=np.random.default_rng(3))[0, 0, 0]
    assert first != second
    assert first == again


# presets


def test_a_preset_gives_the_options_and_what_is_said_wins(made_up, monkeypatch):
    requests = made_up(options={"window": 5, "stride": 5})
    chosen = {"window": 40, "stride": 20, "smooth": 3, "channels": "mean"}
    monkeypatch.setattr(presets, "SOURCES", {"study": "none"})
    rows = [presets.PresetChoice("study", "made_up", None, "explain", *pair) for pair in chosen.items()]
    monkeypatch.setattr(presets, "CHOICES", rows)
    images = pictures(2)
    made = explain(cnn(), images, 0, method="made_up", preset="study", stride=8)
    assert requests[-1].options == {"window": 40, "stride": 8}
    mean = images.astype(np.float64).mean(axis=1).astype(np.float32)
    np.testing.assert_array_equal(made, [box_filter(m, 3) for m in mean])
    plain = explain(cnn(), images, 0, method="made_up", preset="study", smooth=1)
    np.testing.assert_array_equal(plain, mean)


def test_a_filter_that_a_study_used_for_masks_leaves_the_map_and_its_peak():
    options = {"method": "integrated_gradients", "n_steps": 4}
    plain = explain(cnn(), pictures(2), 0, **options)
    as_study = explain(cnn(), pictures(2), 0, **options, preset="saporta2022", network="DenseNet121")
    np.testing.assert_array_equal(as_study, plain)


# what is refused


def scripted():
    with warnings.catch_warnings():
        # torch says that TorchScript is being given up; models in it are still about
        warnings.simplefilter("ignore")
        return torch.jit.trace(loud().eval(), torch.tensor(pictures(1)))


def exported():
    batch = {0: torch.export.Dim("batch")}
    program = torch.export.export(
        loud().eval(), (torch.tensor(pictures(2)),), dynamic_shapes={"input": batch}
    )
    return program.module()


@pytest.mark.parametrize(("make", "kind"), [(scripted, "TorchScript"), (exported, "exported")])
def test_models_without_hooks_take_methods_of_outputs_only(make, kind):
    model = make()
    choices = tuple(names_of_methods_without_hooks())
    assert {"occlusion", "rise"} <= set(choices)
    with raises(SalstatsError, option="method", value="gradcam", choices=choices, match=kind):
        explain(model, pictures(), 1)
    for method in names_of_methods_without_hooks():
        expected, found = (explain(one, pictures(3), 1, **quick(method)) for one in (loud(), model))
        np.testing.assert_allclose(found, expected, atol=ROUNDING * expected.max())


def test_a_model_exported_for_another_number_of_images_says_so(made_up):
    made_up()
    fixed = torch.export.export(cnn().eval(), (torch.tensor(pictures(2)),)).module()
    with raises(SalstatsError, match=r"\(1, 2, 16, 12\) .*batch_size") as caught:
        explain(fixed, pictures(), 1, method="made_up")
    assert "\n" not in str(caught.value)


def test_a_compiled_model_is_looked_at_behind_the_compiler():
    model = cnn()
    compiled = torch.compile(model, backend="eager")
    np.testing.assert_array_equal(
        explain(compiled, pictures(), 1, layer="1"), explain(model, pictures(), 1, layer="1")
    )


@pytest.mark.parametrize(
    ("options", "kind", "option", "value"),
    [
        ({"method": "grad-cam"}, ValueRangeError, "method", "grad-cam"),
        ({"window": 4}, SalstatsError, "window", None),
        ({"method": "layercam", "window": 4}, SalstatsError, "window", None),
        ({"method": "occlusion", "layer": "1"}, SalstatsError, "layer", None),
        ({"method": "activation"}, SalstatsError, "layer", None),
        ({"layer": "7"}, SalstatsError, "layer", "7"),
        ({"layer": "4"}, ShapeError, "reshape", "4"),
        ({"reshape": "swin"}, ValueRangeError, "reshape", "swin"),
        ({"channels": "median"}, ValueRangeError, "channels", "median"),
        ({"sign": "negative"}, ValueRangeError, "sign", "negative"),
        ({"smooth": 0}, ValueRangeError, "smooth", 0),
        ({"resolution": "full"}, ValueRangeError, "resolution", "full"),
        ({"batch_size": 0}, ValueRangeError, "batch_size", 0),
        ({"targets": 4}, ValueRangeError, "targets", 4),
        ({"targets": [0, 1]}, ShapeError, "targets", None),
        ({"targets": [0.0] * 5}, ValueRangeError, "targets", None),
        ({"seeds": [1]}, ShapeError, "seeds", None),
        ({"seeds": [0.5] * 5}, ValueRangeError, "seeds", None),
        ({"rng": -1}, ValueRangeError, "rng", -1),
        ({"device": "nowhere"}, SalstatsError, "device", "nowhere"),
        ({"preset": "saporta2022", "method": "rise"}, ValueRangeError, "method", "rise"),
    ],
)
def test_bad_arguments_are_named(options, kind, option, value):
    options = {"targets": 0} | options
    with raises(kind, option=option, value=value) as caught:
        explain(cnn(), pictures(), options.pop("targets"), **options)
    assert "\n" not in str(caught.value)


def test_a_map_that_is_not_finite_is_named_by_its_place_in_the_call(made_up):
    def undefined(request):
        maps = request.images.clone()
        maps[request.targets == 2, 0, 3, 4] = float("inf")
        return maps

    made_up(undefined)
    with raises(SalstatsError, rows=(4,), match=r"'made_up'.*\b4\b.*\b2\b.*\b1\b.*\b192\b"):
        explain(cnn(), pictures(6), [0, 1, 0, 1, 2, 2], method="made_up", batch_size=2)


def test_a_device_without_memory_is_told_what_needs_less(made_up):
    def too_large(request):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    made_up(too_large)
    with raises(SalstatsError, option="batch_size", value=9):
        explain(cnn(), pictures(), 0, method="made_up", batch_size=9)


# every method


#: Options that make a method quick, where it has them.
QUICK = {"n_samples": 100, "n_masks": 50, "n_steps": 8, "window": 4, "stride": 2}
#: All but attention rollout, which needs a transformer.
EVERY = [name for name, row in METHODS.items() if row.kind != "attention"]


def quick(method):
    options = {name: value for name, value in QUICK.items() if name in METHODS[method].options}
    return {"method": method} | options | ({"layer": "1"} if method == "activation" else {})


def loud(*steps):
    """The network with outputs so large that LIME's penalty leaves something of them."""
    model = cnn()
    with torch.no_grad():
        model[4].weight *= 100
    return nn.Sequential(*model, *steps)


def global_state():
    return torch.random.get_rng_state().tolist(), np.random.get_state()[1].tolist()  # noqa: NPY002


@pytest.mark.parametrize("method", EVERY)
def test_every_method_gives_the_same_maps_whatever_the_batch_size_and_leaves_all_alone(method, capfd):
    model, images = loud().train(), torch.tensor(pictures(4)[[0, 1, 0, 3]])
    model[0].weight.requires_grad_(False)
    model(images).sum().backward()
    before, drawn, copy = state(model), global_state(), images.clone()
    whole = explain(model, images, [0, 1, 2, 3], **quick(method))
    small = explain(model, images, [0, 1, 2, 3], batch_size=1, **quick(method))
    assert whole.shape == (4, 16, 12)
    assert whole.max() > 0
    np.testing.assert_allclose(small, whole, atol=ROUNDING * whole.max())
    assert state(model) == before
    assert not model[0].weight.requires_grad
    assert global_state() == drawn
    assert torch.equal(images, copy)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("method", ["gradcam", "ablationcam", "deeplift", "lrp", "rise"])
def test_a_method_leaves_the_model_alone_also_after_an_error(method):
    class Fails(nn.Module):
        n_passes = 0

        def forward(self, x):
            self.n_passes += 1
            if self.n_passes > 1:
                raise RuntimeError("the network failed")
            return x

    model = loud(Fails()).train()
    before = [one for one in state(model) if one[0] != "5"]
    with pytest.raises((RuntimeError, SalstatsError), match="the network failed"):
        explain(model, pictures(2), 1, **quick(method))
    assert [one for one in state(model) if one[0] != "5"] == before


class Scales(nn.Module):
    """Scales what it is given, in place or not."""

    def __init__(self, in_place):
        super().__init__()
        self.in_place = in_place

    def forward(self, x):
        return x.mul_(3) if self.in_place else x * 3


# those that take gradients of the pixels say that they cannot, but for DeepLIFT and LRP
@pytest.mark.parametrize(
    "method", [m for m in EVERY if METHODS[m].kind != "gradient" or m in ("deeplift", "lrp")]
)
def test_a_network_that_scales_its_images_in_place_is_shown_them_unscaled_each_time(method):
    options = quick(method) | ({"layer": "2"} if method == "activation" else {})
    in_place, plain = (
        explain(nn.Sequential(Scales(how), *loud()), pictures(2), 1, **options) for how in (True, False)
    )
    np.testing.assert_allclose(in_place, plain, rtol=ROUNDING, atol=ROUNDING * plain.max())


class Calling(nn.Module):
    """A network whose symbolic trace calls its modules, or functions alone."""

    def __init__(self, has_modules):
        super().__init__()
        self.conv, self.has_modules = nn.Conv2d(2, 4, 3), has_modules

    def forward(self, x):
        if self.has_modules:
            return self.conv(x).mean(dim=(2, 3))
        return nn.functional.conv2d(x, self.conv.weight, self.conv.bias).mean(dim=(2, 3))


def test_a_symbolic_trace_takes_hooks_if_it_calls_modules():
    plain = Calling(has_modules=True)
    traced = torch.fx.symbolic_trace(plain)
    np.testing.assert_allclose(
        explain(traced, pictures(2), 1, layer="conv"), explain(plain, pictures(2), 1, layer="conv"), rtol=1e-5
    )
    functions = torch.fx.symbolic_trace(Calling(has_modules=False))
    choices = tuple(names_of_methods_without_hooks())
    with raises(SalstatsError, option="method", value="gradcam", choices=choices):
        explain(functions, pictures(2), 1)


def test_a_network_of_nan_is_named_by_the_image_it_was_tried_on():
    model = cnn()
    with torch.no_grad():
        model[4].bias[2] = float("nan")
    with raises(SalstatsError, rows=(0,)):
        explain(model, pictures(2), 1, layer="0")
