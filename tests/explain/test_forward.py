"""Forward passes: checks, the model left as it was, and the order of numbers in memory."""

import numpy as np
import pytest

from salstats.checks import SalstatsError, SalstatsWarning, ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
from explain.runner_requests import noise, seeded  # noqa: E402
from explain.tiny_networks import count_passes  # noqa: E402

from salstats.explain.faithfulness import insertion  # noqa: E402
from salstats.explain.forward import Passes  # noqa: E402
from salstats.explain.making import explain  # noqa: E402

nn = torch.nn
#: Single precision.
ROUNDING = 1e-6
#: Eight bits of precision.
HALF = 0.05


def predict(*args, **options):
    from salstats.explain.forward import predict as function

    return function(*args, **options)


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


def test_large_images_go_through_a_cpu_few_at_a_time(images, monkeypatch):
    monkeypatch.setattr("salstats.explain.forward.PIXELS", 9)
    model = Notes()
    predict(model, images)
    assert model.sizes == [2, 2, 1]


def test_statistics_of_a_batch_play_no_part_and_the_model_is_as_it_was(images):
    model = nn.Sequential(nn.BatchNorm2d(1), nn.Dropout(0.5), Notes())
    model.train()
    model[2].linear.weight.grad = gradient = torch.ones(3, 4)
    np.testing.assert_allclose(predict(model, images, batch_size=1), predict(model, images), atol=ROUNDING)
    assert all(m.training for m in model.modules())
    assert model[0].num_batches_tracked == 0
    assert model[2].linear.weight.grad is gradient


def test_the_model_is_as_it_was_also_after_an_error(images):
    model = nn.Sequential(nn.Dropout(), nn.Linear(7, 2))
    model.train()
    with pytest.raises(SalstatsError, match=r"fails on .*\(5, 1, 2, 2\).*RuntimeError") as caught:
        predict(model, images)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert all(m.training for m in model.modules())


class Stubborn(nn.Sequential):
    """A network that stays in training whatever it is told."""

    def train(self, mode=True):
        return super().train(True)


def test_a_network_that_overrules_eval_is_not_trained(images):
    model = Stubborn(nn.BatchNorm2d(1), nn.Dropout(0.5), nn.Flatten())
    before = torch.get_rng_state()
    np.testing.assert_array_equal(predict(model, images), predict(model, images))
    assert model[0].num_batches_tracked == 0
    assert torch.equal(torch.get_rng_state(), before)
    assert all(m.training for m in model.modules())


def test_a_network_is_never_moved_where_it_would_lose_its_weights(images):
    model = Notes()
    weights = model.linear.weight.detach().clone()
    with pytest.raises(SalstatsError, match="device='meta' cannot be used"):
        predict(model, images, device="meta")
    assert torch.equal(model.linear.weight, weights)


@pytest.mark.parametrize("device", [1.5, object()])
def test_what_is_no_device_is_named(images, device):
    with pytest.raises(SalstatsError, match="cannot be used"):
        predict(Notes(), images, device=device)


@pytest.mark.parametrize("model", [nn.LazyLinear(2), nn.Linear(2, 2, device="meta")])
def test_a_network_without_weights_is_refused_and_not_filled(images, model):
    with pytest.raises(SalstatsError, match="'weight' holds no numbers yet"):
        predict(nn.Sequential(nn.Flatten(), model)[1], images)
    assert isinstance(model.weight, nn.UninitializedParameter) or model.weight.is_meta


def test_batch_statistics_in_evaluation_are_warned_of(images):
    model = nn.Sequential(nn.BatchNorm2d(1, track_running_stats=False), nn.Flatten())
    with pytest.warns(SalstatsWarning, match="layer '0', BatchNorm2d, has no running statistics"):
        predict(model, images)


def test_infinite_outputs_do_not_become_nan_in_silence(images):
    class Infinite(nn.Module):
        def forward(self, x):
            return x.flatten(1) + torch.tensor([float("inf"), 0, 0, 0])

    with pytest.raises(SalstatsError, match="the network gives infinity for image 0"):
        predict(Infinite(), images, probability="softmax")


def test_outputs_that_change_with_the_batch_are_refused(images):
    class Similar(nn.Module):
        def forward(self, x):
            return x.flatten(1) @ x.flatten(1).T

    with pytest.raises(ShapeError, match="1 outputs in one batch and 2 in another"):
        predict(Similar(), images, batch_size=2)


def test_images_are_not_changed_by_a_network_that_works_in_place(images):
    class Scales(nn.Module):
        def forward(self, x):
            return x.mul_(2).flatten(1)

    given = torch.tensor(images)
    made = predict(Scales(), given, probability="none")
    np.testing.assert_array_equal(given, images)
    np.testing.assert_array_equal(made, 2 * images.reshape(5, 4))


def test_half_precision_gives_nearly_the_same(images):
    exact = predict(Notes(), images, probability="none")
    half = predict(Notes(), images, probability="none", mixed_precision=True)
    assert 0 < np.abs(exact - half).max() < HALF


def test_a_model_without_numbers_works(images):
    made = predict(nn.Flatten(), images, probability="none")
    np.testing.assert_array_equal(made, images.reshape(5, 4))


class Complex(nn.Flatten):
    def forward(self, x):
        return super().forward(x) * 1j


class Nothing(nn.Flatten):
    def forward(self, x):
        return super().forward(x)[:, :0]


@pytest.mark.parametrize(
    ("model", "options", "kind", "message"),
    [
        (nn.Flatten(), {"probability": "logit"}, ValueRangeError, "probability='logit' is not known"),
        (nn.Flatten(), {"batch_size": True}, ValueRangeError, "batch_size must be a whole number"),
        (nn.Flatten(), {"device": "cuda:99"}, SalstatsError, "device='cuda:99' cannot be used"),
        (nn.Identity(), {}, ShapeError, r"\(n, n_outputs\), not \(5, 1, 2, 2\)"),
        (nn.Flatten(0), {}, ShapeError, r"not \(20,\)"),
        (Complex(), {}, ShapeError, "real numbers, one for each output, not 4 outputs of torch.complex64"),
        (Nothing(), {}, ShapeError, "not 0 outputs"),
        ("a model", {}, SalstatsError, r"must be a torch\.nn\.Module, not str"),
    ],
)
def test_bad_arguments_are_named(images, model, options, kind, message):
    with pytest.raises(kind, match=message) as caught:
        predict(model, images, **options)
    assert "\n" not in str(caught.value)


def test_nan_names_the_image(images):
    class Root(nn.Module):
        def forward(self, x):
            return x.flatten(1).sqrt()

    given = np.abs(images)
    given[3, 0, 0, 0] = -1
    with pytest.raises(SalstatsError, match="the network gives NaN for image 3"):
        predict(Root(), given, batch_size=2)


def test_complex_images_are_refused(images):
    with pytest.raises(ValueRangeError, match="real numbers"):
        predict(nn.Flatten(), images.astype(np.complex64))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([np.zeros((1, 2, 2)), np.zeros((1, 3, 2))], "not all of one shape"),
        ([["a"]], "an array or a tensor of numbers, not list of <U1"),
        (None, "not NoneType of object"),
        ((image for image in [np.zeros((1, 2, 2))]), "not generator of object"),
        ({"a": np.zeros((1, 2, 2))}, "not dict of object"),
        (torch.zeros(1, 1, 2, 2).to_sparse(), "a plain tensor"),
        (torch.zeros(1, 1, 2, 2, device="meta"), "a plain tensor"),
    ],
    ids=["ragged", "text", "none", "generator", "dict", "sparse", "meta"],
)
def test_what_are_no_images_is_said_in_one_line(given, message):
    with pytest.raises(SalstatsError, match=message) as caught:
        predict(nn.Flatten(), given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.astype(">f4"),
        lambda x: x[:, :, ::-1][:, :, ::-1],
        lambda x: np.broadcast_to(x, x.shape),
        lambda x: x.astype(np.longdouble),
        lambda x: [torch.tensor(one, requires_grad=True) for one in x],
    ],
    ids=["byte order", "steps backwards", "read only", "long double", "list of tensors"],
)
def test_arrays_that_torch_does_not_take_are_taken(images, change):
    np.testing.assert_array_equal(predict(Notes(), change(images)), predict(Notes(), images))


def test_whole_numbers_are_taken_as_images():
    made = predict(nn.Flatten(), np.arange(4, dtype=np.uint8).reshape(1, 1, 2, 2), probability="none")
    assert made.tolist() == [[0, 1, 2, 3]]


def passes(model, batch_size):
    return Passes(model=model, device=torch.device("cpu"), batch_size=batch_size)


#: Single precision, in another order of summation.
REORDERED = 1e-5


class Viewed(nn.Module):
    """A network as they are often written, whose `view` takes numbers in the usual order only."""

    def __init__(self):
        super().__init__()
        self.features, self.classes = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4 * 6 * 8, 3)
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
    assert torch.allclose(made, passes(model, 1).forward(images), atol=REORDERED)


def test_a_network_that_views_its_numbers_in_the_usual_order_is_tried_once():
    model, images = seeded(Viewed), noise(4, 3, 6, 8)
    passes(model, 2).outputs(images)
    assert model.orders == [False, True, True]
    passes(model, 4).outputs(images.contiguous(memory_format=torch.channels_last))
    assert model.orders[3:] == [True]


def test_such_a_network_has_curves_and_maps():
    model, images = seeded(Viewed), noise(2, 3, 6, 8)
    curves = insertion(model, images, np.random.default_rng(0).random((2, 6, 8)), 0, steps=4)
    assert curves["prob"].notna().all()
    assert np.isfinite(explain(model, images, 0, method="rise", n_masks=8, cells=2)).all()


def test_other_faults_of_a_network_are_its_own():
    model = nn.Sequential(nn.Flatten(), nn.Linear(7, 2))
    with pytest.raises((SalstatsError, RuntimeError), match="shapes cannot be multiplied"):
        passes(model, 2).outputs(noise(2, 3, 6, 8))


def test_large_images_are_shown_few_at_a_time(monkeypatch):
    monkeypatch.setattr("salstats.explain.forward.PIXELS", 100)
    model = seeded(convolutions)
    seen = count_passes(model)
    passes(model, 4).outputs(noise(5, 3, 6, 8))
    assert seen == [2, 2, 1]
    seen.clear()
    passes(model, 4).outputs(noise(2, 3, 60, 80))
    assert seen == [1, 1]
