import numpy as np
import pytest

from salstats.checks import SalstatsError, ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
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
    with pytest.raises(RuntimeError):
        predict(model, images)
    assert all(m.training for m in model.modules())


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


@pytest.mark.parametrize(
    ("model", "options", "kind", "message"),
    [
        (nn.Flatten(), {"probability": "logit"}, ValueRangeError, "probability='logit' is not known"),
        (nn.Flatten(), {"batch_size": True}, ValueRangeError, "batch_size must be a whole number"),
        (nn.Flatten(), {"device": "cuda:99"}, SalstatsError, "device='cuda:99' cannot be used"),
        (nn.Identity(), {}, ShapeError, r"\(n, n_outputs\), not \(5, 1, 2, 2\)"),
        (nn.Flatten(0), {}, ShapeError, r"not \(20,\)"),
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


def test_whole_numbers_are_taken_as_images():
    made = predict(nn.Flatten(), np.arange(4, dtype=np.uint8).reshape(1, 1, 2, 2), probability="none")
    assert made.tolist() == [[0, 1, 2, 3]]
