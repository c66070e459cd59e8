"""Gradient methods against captum where it is exact, their sums against completeness, LRP by hand."""

import numpy as np
import pytest
from tests_support import raises, warns

from salstats.errors import ShapeError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
captum = pytest.importorskip("captum.attr", reason="needs the explain extra")
from explain.runner_requests import ask, noise, seeded  # noqa: E402

from salstats.explain.gradients import separate_modules  # noqa: E402

nn = torch.nn
#: Double precision, through a few layers.
ROUNDING = 1e-10
#: captum weighs the steps of Integrated Gradients in single precision.
SINGLE = 1e-6
#: 200 points of Gauss-Legendre quadrature of a piecewise linear network.
QUADRATURE = 1e-2
#: Divisions by small differences of two passes, in double precision.
RESCALE = 1e-6
GRADIENT_METHODS = ("integrated_gradients", "input_x_gradient", "deeplift", "gradient_shap")


def linear(n=2 * 4 * 5, n_outputs=3):
    return seeded(lambda: nn.Sequential(nn.Flatten(), nn.Linear(n, n_outputs)).double())


def cnn(pool=True):
    return seeded(
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3),
            nn.ReLU(),
            nn.MaxPool2d(2) if pool else nn.AvgPool2d(2),
            nn.Conv2d(4, 4, 3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(4 * 2 * 3, 3),
        ).double()
    )


def images(n=4, shape=(2, 10, 12), seed=1):
    return noise(n, *shape, seed=seed, dtype=torch.float64)


@pytest.mark.parametrize("method", GRADIENT_METHODS)
def test_of_a_linear_network_every_method_gives_weight_times_value(method):
    model, x = linear(), images(shape=(2, 4, 5))
    expected = model[1].weight[2].reshape(2, 4, 5) * x
    assert torch.allclose(ask(method, model, x, 2), expected, atol=SINGLE)


@pytest.mark.parametrize(
    ("baseline", "value"),
    [
        ("zero", lambda x: torch.zeros_like(x)),
        (0.5, lambda x: torch.full_like(x, 0.5)),
        ("mean", lambda x: x.mean(dim=(2, 3), keepdim=True).expand_as(x)),
        ((0.25, -1.0), lambda x: torch.tensor([0.25, -1.0]).double().reshape(1, 2, 1, 1).expand_as(x)),
    ],
    ids=["zero", "number", "mean", "one per channel"],
)
@pytest.mark.parametrize("method", ["integrated_gradients", "deeplift"])
def test_attributions_add_up_to_the_difference_of_outputs(method, baseline, value):
    model, x = cnn(), images()
    targets = [0, 1, 2, 0]
    options = {"n_steps": 200} if method == "integrated_gradients" else {}
    found = ask(method, model, x, targets, baseline=baseline, **options)
    with torch.no_grad():
        difference = (model(x) - model(value(x)))[range(4), targets]
    assert torch.allclose(found.sum(dim=(1, 2, 3)), difference, atol=QUADRATURE if options else RESCALE)


def test_integrated_gradients_are_captums():
    model, x = cnn(), images()
    targets = torch.tensor([0, 1, 2, 0])
    expected = captum.IntegratedGradients(model).attribute(x, target=targets, n_steps=30)
    found = ask("integrated_gradients", model, x, targets, n_steps=30, batch_size=4)
    assert torch.allclose(found, expected, atol=SINGLE)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_input_x_gradient_is_captums():
    model, x = cnn(), images()
    expected = captum.InputXGradient(model).attribute(x.clone(), target=1)
    assert torch.equal(ask("input_x_gradient", model, x, 1), expected)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_deeplift_is_captums_where_that_adds_up():
    # with one baseline for all pixels captum's rule for pooled maxima does
    for model in (cnn(), cnn(pool=False)):
        x, targets = images(), torch.tensor([0, 1, 2, 0])
        single = [captum.DeepLift(model).attribute(x[i : i + 1].clone(), target=targets[i]) for i in range(4)]
        assert torch.allclose(ask("deeplift", model, x, targets), torch.cat(single), atol=ROUNDING)


def test_few_steps_of_integrated_gradients_are_said():
    with warns(option="n_steps", value=1):
        ask("integrated_gradients", cnn(), images(), 0, n_steps=1)


def test_gradient_shap_is_captums_with_the_same_draws(monkeypatch):
    model, x = cnn(), images(1)
    baselines = images(5, seed=9)
    generator = np.random.default_rng(0)
    drawn, points = generator.integers(5, size=6), generator.random(6)
    noises = 0.3 * generator.standard_normal((6, *x.shape[1:]))
    # captum draws its noise, the baselines and the points from the global generators, in places of its own
    monkeypatch.setattr(torch, "normal", lambda mean, std: torch.as_tensor(noises))
    monkeypatch.setattr(np.random, "choice", lambda n, size: drawn)
    monkeypatch.setattr(np.random, "uniform", lambda low, high, size: points)
    expected = captum.GradientShap(model).attribute(x, baselines, target=1, n_samples=6, stdevs=0.3)
    found = ask("gradient_shap", model, x, 1, baseline=baselines.numpy(), n_samples=6, stdev=0.3)
    assert torch.allclose(found, expected, atol=ROUNDING)


@pytest.mark.parametrize(
    ("method", "options", "kind", "value"),
    [
        ("integrated_gradients", {"n_steps": 0}, ValueRangeError, 0),
        ("integrated_gradients", {"baseline": "black"}, ValueRangeError, "black"),
        ("deeplift", {"baseline": np.zeros((3, 4))}, ShapeError, (3, 4)),
        ("gradient_shap", {"n_samples": 2.5}, ValueRangeError, 2.5),
        ("gradient_shap", {"stdev": -1}, ValueRangeError, -1),
        ("lrp", {"epsilon": 0}, ValueRangeError, 0),
        ("gradient_shap", {"baseline": np.zeros((2, 1, 10, 12))}, ShapeError, (2, 1, 10, 12)),
        ("gradient_shap", {"baseline": np.full((2, 2, 10, 12), np.nan)}, ValueRangeError, None),
    ],
)
def test_bad_options_are_named(method, options, kind, value):
    (option,) = options
    with raises(kind, option=option, value=value):
        ask(method, cnn(), images(), 0, **options)


#: Double precision and divisions by outputs near 0, which 1e-9 keeps apart from 0.
CONSERVED = 1e-5


def no_bias():
    """A network without biases: batch normalisation has its first mean and shift, which are 0."""
    return seeded(
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, bias=False),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Dropout2d(0.3),
            nn.Conv2d(4, 4, 3, bias=False),
            nn.ReLU(),
            nn.AvgPool2d(2),
            nn.Identity(),
            nn.Flatten(),
            nn.Dropout(0.5),
            nn.Linear(4, 3, bias=False),
        ).double()
    )


def squares(n=4, shape=(2, 10, 10)):
    return noise(n, *shape, seed=1, dtype=torch.float64)


def test_lrp_relevance_is_conserved_in_a_network_without_biases():
    model, x, targets = no_bias(), squares(), [0, 1, 2, 0]
    found = ask("lrp", model, x, targets)
    with torch.no_grad():
        outputs = model(x)[range(4), targets]
    assert torch.allclose(found.sum(dim=(1, 2, 3)), outputs, atol=CONSERVED)


def test_lrp_by_hand_through_one_hidden_layer():
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False))
    model.double()
    model[1].weight.data = torch.tensor([[1.0, 2.0], [1.0, -1.0]]).double()
    model[3].weight.data = torch.tensor([[3.0, 5.0]]).double()
    # hidden 1 + 2*2 = 5 and 1 - 2 < 0, which the ReLU stops; output 15, of which pixel 1 has 1/5, pixel 2 4/5
    x = torch.tensor([[[[1.0, 2.0]]]]).double()
    assert torch.allclose(ask("lrp", model, x, 0), torch.tensor([[[[3.0, 12.0]]]]).double(), atol=CONSERVED)


def test_lrp_is_captums_where_captum_has_rules_for_all_modules():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.act, self.pool = nn.Conv2d(2, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2)
            self.head = nn.Linear(16, 3)

        def forward(self, x):
            return self.head(self.pool(self.act(self.conv(x))).flatten(1))

    model, x = seeded(lambda: Net().double()), squares()
    expected = captum.LRP(model).attribute(x.clone().requires_grad_(), target=torch.tensor([2, 1, 0, 1]))
    assert torch.allclose(ask("lrp", model, x, [2, 1, 0, 1]), expected, atol=ROUNDING)


def test_lrp_epsilon_takes_its_share():
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 1, bias=False)).double()
    model[1].weight.data = torch.tensor([[1.0, 1.0]]).double()
    x = torch.tensor([[[[1.0, 3.0]]]]).double()
    # relevance 4 times z / (4 + 1)
    with warns(option="epsilon", value=1.0):
        found = ask("lrp", model, x, 0, epsilon=1.0)
    assert torch.allclose(found, torch.tensor([[[[0.8, 2.4]]]]).double(), atol=ROUNDING)


def test_separate_modules_gives_the_network_back_as_it_is():
    model = torch.nn.Sequential(torch.nn.ReLU())
    with pytest.warns(DeprecationWarning, match="separate_modules"):
        assert separate_modules(model) is model
