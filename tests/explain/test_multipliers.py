import pytest
from tests_support import raises, warns

from salstats.errors import SalstatsError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
captum = pytest.importorskip("captum.attr", reason="needs the explain extra")
from explain.runner_requests import ask, noise, seeded, state  # noqa: E402

from salstats.explain.baselines import baseline_of_each_image  # noqa: E402

nn, functional = torch.nn, torch.nn.functional

#: Double precision, through up to a hundred layers; halves of its digits where numbers hardly differ.
ROUNDING = 1e-6


class Network(nn.Module):
    """Two convolutions, and between them what a test puts there."""

    def __init__(self, step, **modules):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 3, 3)
        self.head = nn.Linear(3 * 36, 2)
        for name, module in modules.items():
            setattr(self, name, module)
        self.step = step

    def forward(self, x):
        x = functional.interpolate(self.step(self, self.first(x)), (8, 8))
        return self.head(torch.flatten(self.second(x), 1))


def images(*shape, seed=3):
    return noise(*shape, seed=seed, dtype=torch.float64)


def gap(model, x, baseline, method="deeplift", **options):
    """How far DeepLIFT is from adding up to the difference of outputs."""
    found = ask(method, model, x, 1, baseline=baseline, **options)
    with torch.no_grad():
        difference = model(x) - model(baseline_of_each_image(x, baseline))
    return (found.sum(dim=(1, 2, 3)) - difference[:, 1]).abs().max() / difference[:, 1].abs().max()


STEPS = {
    "relu": lambda self, x: functional.relu(x),
    "Tensor.relu_": lambda self, x: x.relu_(),
    "in place, used again": lambda self, x: (functional.relu(x, inplace=True), x)[1] + x,
    "one module twice": lambda self, x: self.act(self.act(x) - 0.1),
    "clamp": lambda self, x: x.clamp(min=-0.2, max=0.3),
    "abs": lambda self, x: x.abs(),
    "power": lambda self, x: x**2 + 1 / (x.exp() + 1),
    "silu, gelu, hardswish": lambda self, x: functional.hardswish(functional.gelu(functional.silu(x))),
    "sigmoid, tanh, elu": lambda self, x: functional.elu(torch.tanh(x.sigmoid())),
    "pooled maxima that overlap": lambda self, x: functional.max_pool2d(x, 3, stride=2, padding=1),
    "pooled maxima to a grid": lambda self, x: functional.adaptive_max_pool2d(torch.relu(x), 3),
    "a gate": lambda self, x: x * torch.sigmoid(x.mean(dim=(2, 3), keepdim=True)),
    "a product in place": lambda self, x: x.mul_(x.flip(2)),
    "a quotient": lambda self, x: x / (x.square().sum(dim=1, keepdim=True) + 1),
    "softmax": lambda self, x: functional.softmax(3 * x, dim=1),
    "attention": lambda self, x: (
        (x.flatten(2) @ x.flatten(2).transpose(1, 2)).softmax(-1) @ x.flatten(2)
    ).view_as(x),
    "layer norm": lambda self, x: functional.layer_norm(x, x.shape[1:]),
    "group norm": lambda self, x: self.norm(x),
    "linear": lambda self, x: 2 * x - x.mean(dim=(2, 3), keepdim=True) / 3 + x.flip(3),
}


@pytest.mark.parametrize("baseline", ["zero", "blur"])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_deeplift_adds_up_whatever_the_network_calls(step, baseline):
    model = seeded(lambda: Network(step, act=nn.ReLU(), norm=nn.GroupNorm(2, 4)).double())
    before, x = state(model), images(3, 1, 10, 10)
    assert gap(model, x, baseline) < ROUNDING
    assert state(model) == before


@pytest.mark.parametrize("name", ["resnet18", "densenet121", "squeezenet1_1"])
def test_deeplift_of_torchvisions_networks_adds_up(name):
    models = pytest.importorskip("torchvision.models", reason="needs the explain extra")
    model = seeded(lambda: getattr(models, name)(weights=None).double())
    assert gap(model, images(1, 3, 40, 40), "blur") < ROUNDING


def test_pooled_maxima_by_hand():
    model = nn.Sequential(nn.MaxPool2d((1, 3), stride=2), nn.Flatten(), nn.Linear(2, 1)).double()
    model[2].weight.data = torch.tensor([[1.0, 10.0]]).double()
    x = torch.tensor([4.0, 0.0, 3.0, 1.0, 2.0]).double().reshape(1, 1, 1, 5)
    baseline = torch.tensor([1.0, 2.0, 0.0, 6.0, 0.0]).double().reshape(1, 1, 5)
    # windows of pixels 0 to 2 and 2 to 4: the first rises from 2 to 4, by pixel 0; the second falls from 6 to
    # 3, by pixel 3, which had been its maximum
    found = ask("deeplift", model, x, 0, baseline=baseline.numpy())
    assert found.flatten().tolist() == [2.0, 0.0, 0.0, -30.0, 0.0]


def test_of_a_product_each_factor_has_half_of_what_they_do_together():
    class Product(nn.Module):
        def forward(self, x):
            return x[:, 0, 0, :1] * x[:, 0, 0, 1:]

    # 3 * 5 - 1 * 1 = 14: the first by (3 - 1) * (5 + 1) / 2, the second by (5 - 1) * (3 + 1) / 2
    found = ask("deeplift", Product(), torch.tensor([[[[3.0, 5.0]]]]), 0, baseline=1.0)
    assert found.flatten().tolist() == [6.0, 8.0]


def test_deeplift_refuses_what_does_not_add_up_and_names_it_alone():
    def step(self, x):
        repeated = x.repeat(1, 2, 1, 1).tile(1, 1, 2, 1).repeat_interleave(2, dim=3)
        return repeated.narrow(2, 0, 8).select(3, 0).unsqueeze(3).cumprod(dim=1)

    model = seeded(lambda: Network(step).double())
    model.second = nn.Conv2d(8, 3, 3).double()
    with raises(SalstatsError, match="DeepLIFT.*; it calls 'cumprod', for which"):
        ask("deeplift", model, images(3, 1, 10, 10), 0)


class SumAndDirection(nn.Module):
    """The sum of an image and of its direction, which does not change along the line to an image of zeros."""

    def forward(self, x):
        numbers = x.flatten(1)
        return numbers.sum(dim=1, keepdim=True) + functional.normalize(numbers).sum(dim=1, keepdim=True)


@pytest.mark.parametrize(
    ("method", "says_so"),
    [
        ("deeplift", lambda: raises(SalstatsError, match="'normalize'")),
        ("lrp", lambda: warns(option="epsilon", match="'normalize'")),
    ],
)
def test_the_sum_of_each_image_of_a_batch_is_checked(method, says_so):
    large = torch.full((1, 1, 4, 4), 100.0)
    small = torch.zeros(1, 1, 4, 4)
    small[0, 0, 0, 0] = 1.0
    # the direction of 4 of 1604 is within the tolerance, that of 1 of 2 is not
    ask(method, SumAndDirection(), large, 0)
    for batch in (small, torch.cat([large, small])):
        with says_so():
            ask(method, SumAndDirection(), batch, 0)


HOMOGENEOUS = {
    "one module twice": lambda self, x: self.act(self.act(x)),
    "relu": STEPS["relu"],
    "Tensor.relu_": STEPS["Tensor.relu_"],
    "in place, used again": STEPS["in place, used again"],
    "silu and gelu": lambda self, x: functional.gelu(functional.silu(x)),
    "pooled maxima that overlap": STEPS["pooled maxima that overlap"],
    "a convolution twice": lambda self, x: self.again(self.again(x)),
    "linear": STEPS["linear"],
}


@pytest.mark.parametrize("step", HOMOGENEOUS.values(), ids=HOMOGENEOUS)
def test_lrp_adds_up_without_biases(step):
    model = seeded(lambda: Network(step, act=nn.ReLU(), again=nn.Conv2d(4, 4, 1)).double())
    for name in ("first", "second", "head", "again"):
        getattr(model, name).bias.data.zero_()
    x = images(3, 1, 10, 10)
    found = ask("lrp", model, x, 1).sum(dim=(1, 2, 3))
    assert (found - model(x)[:, 1]).abs().max() < ROUNDING


@pytest.mark.parametrize("step", ["sigmoid, tanh, elu", "a gate", "a quotient", "softmax", "layer norm"])
def test_lrp_names_what_it_has_no_rule_for(step):
    with raises(SalstatsError, option="method", value="lrp"):
        ask("lrp", seeded(lambda: Network(STEPS[step]).double()), images(1, 1, 10, 10), 0)


def test_lrp_says_where_relevance_gets_lost():
    def normalize(self, x):
        return functional.normalize(x, dim=1) + 1

    with warns(option="epsilon", match="'normalize'"):
        ask("lrp", seeded(lambda: Network(normalize).double()), images(1, 1, 10, 10), 0)


class Twice(nn.Module):
    """A network that uses one ReLU twice, or two."""

    def __init__(self, other):
        super().__init__()
        self.first, self.second, self.head = nn.Conv2d(1, 3, 3), nn.Conv2d(3, 3, 3), nn.Linear(48, 2)
        self.relu = nn.ReLU()
        self.other = nn.ReLU() if other else self.relu

    def forward(self, x):
        return self.head(self.other(self.second(self.relu(self.first(x)))).flatten(1))


def test_lrp_of_a_relu_used_twice_is_captums_of_two():
    once, each = (seeded(lambda other=other: Twice(other).double()) for other in (False, True))
    x = images(2, 1, 8, 8)
    expected = captum.LRP(each).attribute(x.clone().requires_grad_(), target=1)
    assert torch.allclose(ask("lrp", once, x, 1), expected, atol=ROUNDING)


@pytest.mark.parametrize(("weight", "bias"), [(True, True), (True, False), (False, True), (False, False)])
def test_deeplift_adds_up_through_a_layer_norm_with_weights_or_biases_of_its_own(weight, bias):
    def norm(self, x):
        weights = self.weights if weight else None
        return functional.layer_norm(x, x.shape[1:], weights, self.biases if bias else None)

    def network():
        shape = (4, 8, 8)
        weights, biases = (nn.Parameter(3 * torch.randn(shape)) for _ in range(2))
        model = Network(norm)
        model.weights, model.biases = weights, biases
        return model.double()

    model = seeded(network)
    assert gap(model, images(2, 1, 10, 10), "zero") < ROUNDING
