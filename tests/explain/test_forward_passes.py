"""Forward passes: checks, the model left as it was, and the order of numbers in memory."""

import warnings
from functools import partial

import numpy as np
import pytest
from tests_support import raises, warns

from salstats.errors import SalstatsError, ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
from explain.runner_requests import noise, seeded  # noqa: E402
from explain.tiny_networks import count_passes  # noqa: E402

from salstats.explain.forward_passes import (  # noqa: E402
    MAX_CPU_PIXELS,
    Passes,
    check_device,
    dtype_of,
    function_if_softmax_outputs_or_logarithms,
    is_out_of_memory_error,
    n_images_per_pass_capped_on_cpu,
    predict,
    warn_of_final_sigmoid_or_softmax,
    without_parameter_gradients,
)

nn = torch.nn
#: Single precision.
ROUNDING = 1e-6


class Notes(nn.Module):
    """A linear network that notes the size of each batch."""

    def __init__(self):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.linear = nn.Linear(4, 3)
        self.sizes = []

    def forward(self, x):
        self.sizes.append(len(x))
        return self.linear(x.flatten(1))


@pytest.fixture
def images():
    return np.random.default_rng(0).normal(size=(5, 1, 2, 2)).astype(np.float32)


def logits(images):
    model = Notes()
    weight, bias = (p.detach().numpy().astype(np.float64) for p in model.linear.parameters())
    return images.reshape(5, 4) @ weight.T + bias


@pytest.mark.parametrize("probability", ["softmax", "sigmoid", "none"])
def test_probabilities_are_those_of_the_outputs(images, probability):
    outputs = logits(images)
    expected = {
        "softmax": np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True),
        "sigmoid": 1 / (1 + np.exp(-outputs)),
        "none": outputs,
    }[probability]
    made = predict(Notes(), images, probability=probability)
    assert made.dtype == np.float64
    np.testing.assert_allclose(made, expected, atol=ROUNDING)


def test_batches_have_the_size_asked_for(images):
    model = Notes()
    made = predict(model, images, batch_size=2)
    assert model.sizes == [2, 2, 1]
    np.testing.assert_allclose(made, predict(Notes(), images, batch_size=5), atol=ROUNDING)


def test_statistics_of_a_batch_play_no_part_and_the_model_is_as_it_was(images):
    model = nn.Sequential(nn.BatchNorm2d(1), nn.Dropout(0.5), Notes())
    model.train()
    model[2].linear.weight.grad = gradient = torch.ones(3, 4)
    np.testing.assert_allclose(predict(model, images, batch_size=1), predict(model, images), atol=ROUNDING)
    assert all(m.training for m in model.modules())
    assert model[0].num_batches_tracked == 0
    assert model[2].linear.weight.grad is gradient


def test_batch_statistics_in_evaluation_are_warned_of(images):
    model = nn.Sequential(nn.BatchNorm2d(1, track_running_stats=False), nn.Flatten())
    # the type of the layer
    with warns(value="0", match="BatchNorm2d"):
        predict(model, images, probability="none")


@pytest.mark.parametrize(
    ("model", "options", "kind", "fields"),
    [
        (
            nn.Flatten(),
            {"probability": "logit"},
            ValueRangeError,
            {"option": "probability", "value": "logit"},
        ),
        (nn.Flatten(), {"batch_size": 0}, ValueRangeError, {"option": "batch_size", "value": 0}),
        (nn.Flatten(), {"device": "cuda:99"}, SalstatsError, {"option": "device", "value": "cuda:99"}),
        (nn.Identity(), {}, ShapeError, {"option": "model", "match": r"not \(5, 1, 2, 2\)"}),
        ("a model", {}, SalstatsError, {"option": "model", "match": "not str"}),
    ],
)
def test_bad_arguments_are_named(images, model, options, kind, fields):
    with raises(kind, **fields) as caught:
        predict(model, images, **options)
    assert "\n" not in str(caught.value)


def test_nan_names_the_image(images):
    class Root(nn.Module):
        def forward(self, x):
            return x.flatten(1).sqrt()

    given = np.abs(images)
    given[3, 0, 0, 0] = -1
    with raises(SalstatsError, rows=(3,), match="NaN"):
        predict(Root(), given, batch_size=2)


@pytest.mark.parametrize(
    ("given", "kind", "fields"),
    [
        (
            [np.zeros((1, 2, 2)), np.zeros((1, 3, 2))],
            ShapeError,
            {"option": "images", "hint": "explain those of each shape by themselves"},
        ),
        ([["a"]], ValueRangeError, {"option": "images", "match": "list of <U1"}),
        (None, ValueRangeError, {"option": "images", "match": "NoneType of object"}),
        (np.zeros((3, 2, 2)), ShapeError, {"option": "images", "match": r"\(3, 2, 2\)"}),
        (np.zeros((0, 1, 2, 2)), ValueRangeError, {"option": "images", "match": "nothing"}),
        (np.full((1, 1, 2, 2), np.nan), ValueRangeError, {"rows": (0,)}),
    ],
    ids=["ragged", "text", "none", "one image", "empty", "NaN"],
)
def test_what_are_no_images_is_said_in_one_line(given, kind, fields):
    with raises(kind, **fields) as caught:
        predict(nn.Flatten(), given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.astype(">f4"),
        lambda x: x[:, :, ::-1][:, :, ::-1],
        lambda x: np.broadcast_to(x, x.shape),
        lambda x: x.astype(np.float64),
        lambda x: [torch.tensor(one, requires_grad=True) for one in x],
    ],
    ids=["byte order", "steps backwards", "read only", "double", "list of tensors"],
)
def test_arrays_that_torch_does_not_take_are_taken(images, change):
    np.testing.assert_array_equal(predict(Notes(), change(images)), predict(Notes(), images))


def passes(model, batch_size):
    return Passes(model=model, device=torch.device("cpu"), batch_size=batch_size)


#: Single precision, in another order of summation.
REORDERED = 1e-5


class Viewed(nn.Module):
    """A network as they are often written, whose `view` takes numbers in the usual order only."""

    def __init__(self, n_channels=3):
        super().__init__()
        self.features, self.classes = nn.Conv2d(n_channels, 4, 3, padding=1), nn.Linear(4 * 6 * 8, 3)
        self.orders = []

    def forward(self, images):
        self.orders.append(images.is_contiguous())
        return self.classes(self.features(images).relu().view(len(images), -1))


def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 3)
    )


@pytest.mark.parametrize("network", [convolutions, Viewed])
def test_outputs_are_those_of_plain_passes(network):
    model, images = seeded(network), noise(5, 3, 6, 8)
    made = passes(model, 2).outputs(images)
    assert torch.allclose(made, passes(model, 1).batched_outputs_without_gradients(images), atol=REORDERED)


def test_a_network_that_views_its_numbers_in_the_usual_order_is_tried_once():
    model, images = seeded(Viewed), noise(4, 3, 6, 8)
    passes(model, 2).outputs(images)
    assert model.orders == [False, True, True]
    passes(model, 4).outputs(images.contiguous(memory_format=torch.channels_last))
    assert model.orders[3:] == [True]


def test_images_of_one_channel_are_viewed_whatever_their_strides():
    model, images = seeded(partial(Viewed, 1)), noise(4, 1, 6, 8)
    channels_last = images.clone(memory_format=torch.channels_last)
    assert channels_last.stride() != images.stride()
    made = passes(model, 4).outputs(channels_last)
    assert torch.allclose(made, passes(model, 4).batched_outputs_without_gradients(images), atol=REORDERED)


def test_large_images_are_shown_few_at_a_time(monkeypatch):
    monkeypatch.setattr("salstats.explain.forward_passes.MAX_CPU_PIXELS", 100)
    model = seeded(convolutions)
    seen = count_passes(model)
    passes(model, 4).outputs(noise(5, 3, 6, 8))
    assert seen == [2, 2, 1]
    seen.clear()
    passes(model, 4).outputs(noise(2, 3, 60, 80))
    assert seen == [1, 1]


def three_classes(last=None):
    """A network of three classes that exclude each other, with the module that it ends in."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        linear = nn.Linear(4, 3)
    modules = [nn.Flatten(), linear]
    return nn.Sequential(*modules if last is None else [*modules, last])


def test_outputs_of_a_softmax_are_recognised_and_get_no_sigmoid(images):
    expected = logits_of(three_classes(), images).softmax(dim=1).numpy()
    for last in (nn.Softmax(dim=1), nn.LogSoftmax(dim=1)):
        np.testing.assert_allclose(predict(three_classes(last), images), expected, atol=ROUNDING)
    with warns(option="probability", value="sigmoid", hint="probability='none' takes them as they are"):
        twice = predict(three_classes(nn.Softmax(dim=1)), images, probability="sigmoid")
    np.testing.assert_allclose(twice, 1 / (1 + np.exp(-expected)), atol=ROUNDING)


def test_of_several_other_outputs_a_sigmoid_is_taken_and_said_once(images):
    model = three_classes()
    with warns(option="probability", value=None, match="3 outputs"):
        found = predict(model, images)
    np.testing.assert_allclose(found, logits_of(model, images).sigmoid().numpy(), atol=ROUNDING)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predict(model, images)
        predict(three_classes(), images, probability="sigmoid")
        predict(nn.Sequential(nn.Flatten(), nn.Linear(4, 1)), images)


def logits_of(model, images):
    with torch.no_grad():
        return model(torch.from_numpy(images)).double()


@pytest.mark.parametrize(("last", "value"), [(nn.Sigmoid(), "sigmoid"), (nn.Softmax(dim=1), "softmax")])
def test_gradients_of_probabilities_are_warned_of_once(images, last, value):
    model = three_classes(last)
    # a change of the type of number does not hide what made the outputs
    outputs = model(torch.from_numpy(images)).double()
    with warns(option="probability", value=value):
        warn_of_final_sigmoid_or_softmax(model, outputs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_final_sigmoid_or_softmax(model, outputs)
        other = three_classes(last)
        warn_of_final_sigmoid_or_softmax(other, outputs.detach())
        warn_of_final_sigmoid_or_softmax(three_classes(), three_classes()(torch.from_numpy(images)))
        warn_of_final_sigmoid_or_softmax(other, other(torch.from_numpy(images)) + 1)


def test_probabilities_are_recognised_by_their_sums_alone():
    probs = torch.tensor([[0.25, 0.75], [1.0, 0.0]])
    assert function_if_softmax_outputs_or_logarithms(probs) == "none"
    assert function_if_softmax_outputs_or_logarithms(probs[:1].log()) == "softmax"
    # sums of 1 with a number below 0, another sum, one output, infinity
    for outputs in ([[1.5, -0.5]], [[0.5, 0.51]], [[1.0]], [[0.0, -np.inf]], [[-0.5, -0.5]]):
        assert function_if_softmax_outputs_or_logarithms(torch.tensor(outputs)) is None


def test_infinity_names_the_image(images):
    class Inverse(nn.Module):
        def forward(self, x):
            return 1 / x.flatten(1)

    given = np.abs(images)
    given[2, 0, 0, 0] = 0
    with raises(SalstatsError, rows=(2,), match="infinity"):
        predict(Inverse(), given, probability="softmax")


def test_a_pass_on_a_processor_has_the_pixels_that_its_memory_holds_and_elsewhere_what_is_asked_for():
    side = 1024
    images = torch.zeros(1, 1, 1, 1).expand(1, 3, side, side)
    cpu = torch.device("cpu")
    assert n_images_per_pass_capped_on_cpu(2, images[..., :64], cpu) == 2
    assert n_images_per_pass_capped_on_cpu(100, images[..., :64], cpu) == MAX_CPU_PIXELS // (side * 64)
    assert n_images_per_pass_capped_on_cpu(100, images, cpu) == 1
    assert n_images_per_pass_capped_on_cpu(100, images, torch.device("cuda")) == 100


def test_the_fastest_device_that_exists_is_found(monkeypatch):
    exists = {"cuda": True, "mps": True}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: exists["cuda"])
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: exists["mps"])
    for device in ("cuda", "mps", "cpu"):
        assert check_device("auto") == torch.device(device)
        exists[device] = False
    assert check_device("cpu") == torch.device("cpu")


def test_memory_that_runs_out_is_told_from_other_errors():
    errors = (MemoryError(), torch.OutOfMemoryError(), RuntimeError("MPS backend out of memory (MPS ...)"))
    assert all(is_out_of_memory_error(error) for error in errors)
    others = (RuntimeError("broken"), ValueError("out of memory"))
    assert not any(is_out_of_memory_error(error) for error in others)


def test_parameters_have_no_gradients_meanwhile_and_are_as_before_after_an_error():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[0].weight.requires_grad_(False)
    flags = [parameter.requires_grad for parameter in model.parameters()]
    meanwhile = []
    with pytest.raises(ZeroDivisionError), without_parameter_gradients(model):
        meanwhile.append(sum(parameter.requires_grad for parameter in model.parameters()) / 0)
    with without_parameter_gradients(model):
        meanwhile.append(any(parameter.requires_grad for parameter in model.parameters()))
    assert meanwhile == [False]
    assert [parameter.requires_grad for parameter in model.parameters()] == flags == [False, True, True, True]


def test_the_type_of_number_is_that_of_the_first_parameter_with_fractions():
    counts = nn.Parameter(torch.zeros(2, dtype=torch.int64), requires_grad=False)
    half = nn.Parameter(torch.zeros(2, dtype=torch.float16))
    assert dtype_of(nn.ParameterList([counts, half])) == torch.float16
    assert dtype_of(nn.Flatten()) == torch.float32


@pytest.mark.parametrize("exported", [False, True])
def test_the_hint_for_images_that_a_network_does_not_take_says_what_decides_their_shape(images, exported):
    model = nn.Sequential(nn.Flatten(), nn.Linear(7, 2))
    option = "size"
    if exported:
        model = torch.fx.symbolic_trace(model)
        option = "batch_size"
    with raises(SalstatsError, match=r"\(5, 1, 2, 2\) and torch.float32 \(RuntimeError: ") as caught:
        predict(model, images)
    assert str(caught.value.hint).endswith(option) or f"{option}, " in str(caught.value.hint)


def test_memory_that_runs_out_in_a_network_is_no_fault_of_its_images(images):
    class Full(nn.Module):
        def forward(self, images):
            raise torch.OutOfMemoryError

    with pytest.raises(torch.OutOfMemoryError):
        predict(Full(), images)
