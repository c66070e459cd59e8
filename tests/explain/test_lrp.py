import pytest

from salstats.checks import SalstatsWarning, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
captum = pytest.importorskip("captum.attr", reason="needs the explain extra")
from explain.runner_requests import ask, noise, seeded, state  # noqa: E402

nn = torch.nn

#: Double precision and divisions by outputs near 0, which 1e-9 keeps apart from 0.
CONSERVED = 1e-5
ROUNDING = 1e-10


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


def images(n=4, shape=(2, 10, 10)):
    return noise(n, *shape, seed=1, dtype=torch.float64)


def test_relevance_is_conserved_in_a_network_without_biases():
    model, x, targets = no_bias(), images(), [0, 1, 2, 0]
    found = ask("lrp", model, x, targets)
    with torch.no_grad():
        outputs = model(x)[range(4), targets]
    assert torch.allclose(found.sum(dim=(1, 2, 3)), outputs, atol=CONSERVED)


def test_of_a_linear_network_it_is_weight_times_value():
    model = seeded(lambda: nn.Sequential(nn.Flatten(), nn.Linear(18, 3, bias=False)).double())
    x = images(shape=(2, 3, 3))
    expected = model[1].weight[1].reshape(2, 3, 3) * x
    assert torch.allclose(ask("lrp", model, x, 1), expected, atol=CONSERVED)


def test_by_hand_through_one_hidden_layer():
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False))
    model.double()
    model[1].weight.data = torch.tensor([[1.0, 2.0], [1.0, -1.0]]).double()
    model[3].weight.data = torch.tensor([[3.0, 5.0]]).double()
    # hidden 1 + 2*2 = 5 and 1 - 2 < 0, which the ReLU stops; output 15, of which pixel 1 has 1/5, pixel 2 4/5
    x = torch.tensor([[[[1.0, 2.0]]]]).double()
    assert torch.allclose(ask("lrp", model, x, 0), torch.tensor([[[[3.0, 12.0]]]]).double(), atol=CONSERVED)


def test_is_captums_where_captum_has_rules_for_all_modules():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.act, self.pool = nn.Conv2d(2, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2)
            self.head = nn.Linear(16, 3)

        def forward(self, x):
            return self.head(self.pool(self.act(self.conv(x))).flatten(1))

    model, x = seeded(lambda: Net().double()), images()
    expected = captum.LRP(model).attribute(x.clone().requires_grad_(), target=torch.tensor([2, 1, 0, 1]))
    assert torch.allclose(ask("lrp", model, x, [2, 1, 0, 1]), expected, atol=ROUNDING)


def test_shape_only_modules_may_be_used_twice_and_take_nothing():
    class Net(nn.Module):
        def __init__(self, with_modules):
            super().__init__()
            self.conv, self.head = nn.Conv2d(2, 4, 3, bias=False), nn.Linear(64 * 4, 3, bias=False)
            self.same = nn.Identity()
            self.rows = nn.Flatten(2)
            self.back = nn.Unflatten(2, (8, 8))
            self.shuffle, self.unshuffle = nn.PixelShuffle(2), nn.PixelUnshuffle(2)
            self.empty = nn.Sequential()
            self.with_modules = with_modules

        def forward(self, x):
            x = self.conv(x)
            if self.with_modules:
                x = self.same(self.back(self.rows(self.same(x))))
                x = self.empty(self.unshuffle(self.shuffle(x)))
            return self.head(x.flatten(1))

    x = images()
    plain, shaped = (ask("lrp", seeded(lambda w=w: Net(w).double()), x, 0) for w in (False, True))
    assert plain.abs().max() > 0
    assert torch.equal(plain, shaped)


def test_the_last_layer_may_be_one_that_only_rearranges():
    conv = seeded(lambda: nn.Conv2d(1, 2, 3, bias=False).double())
    x = images(1, (1, 3, 3))
    found = ask("lrp", nn.Sequential(conv, nn.Flatten()), x, 1)
    assert torch.allclose(found, conv.weight[1] * x, atol=CONSERVED)
    alone = ask("lrp", nn.Sequential(nn.Flatten()), x, 4)
    assert torch.equal(alone, x * (torch.arange(9) == 4).reshape(3, 3))


def test_epsilon_takes_its_share():
    model = nn.Sequential(nn.Flatten(), nn.Linear(2, 1, bias=False)).double()
    model[1].weight.data = torch.tensor([[1.0, 1.0]]).double()
    x = torch.tensor([[[[1.0, 3.0]]]]).double()
    # relevance 4 times z / (4 + 1)
    with pytest.warns(SalstatsWarning, match="epsilon=1 "):
        found = ask("lrp", model, x, 0, epsilon=1.0)
    assert torch.allclose(found, torch.tensor([[[[0.8, 2.4]]]]).double(), atol=ROUNDING)


def test_maps_do_not_depend_on_the_other_images():
    model, x = no_bias(), images()
    together = ask("lrp", model, x, [0, 1, 2, 0])
    for place, target in enumerate([0, 1, 2, 0]):
        assert torch.allclose(
            together[place], ask("lrp", model, x[place : place + 1], target)[0], atol=CONSERVED
        )


def test_the_model_is_left_alone():
    model, x = no_bias(), images()
    before = state(model)
    ask("lrp", model, x, 0)
    assert state(model) == before


def test_the_model_is_left_alone_after_an_error():
    class Failing(nn.Module):
        def forward(self, x):
            if torch.is_grad_enabled():
                raise RuntimeError("not now")
            return x.view(len(x), -1)

    model, x = no_bias(), images()
    model[9] = Failing()
    before = state(model)
    with pytest.raises(RuntimeError, match="not now"):
        ask("lrp", model, x, 0)
    assert state(model) == before


@pytest.mark.parametrize("epsilon", [0, -1.0, "small", float("inf"), True])
def test_epsilon_is_a_positive_number(epsilon):
    with pytest.raises(ValueRangeError, match="epsilon must be a positive number"):
        ask("lrp", no_bias(), images(), 0, epsilon=epsilon)
