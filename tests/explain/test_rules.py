import pytest

from salstats.checks import SalstatsError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
pytest.importorskip("captum", reason="needs the explain extra")
from explain.runner_requests import ask, noise, seeded, state  # noqa: E402

nn, functional = torch.nn, torch.nn.functional

BOTH = pytest.mark.parametrize("method", ["deeplift", "lrp"])


class Network(nn.Module):
    """Two convolutions, and between them what a test puts there."""

    def __init__(self, step, **modules):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 3, 3), nn.Conv2d(3, 3, 3)
        self.head = nn.Linear(3 * 16, 2)
        for name, module in modules.items():
            setattr(self, name, module)
        self.step = step

    def forward(self, x):
        x = self.step(self, self.first(x))
        return self.head(torch.flatten(self.second(x), 1))


def run(method, step, **modules):
    model = seeded(lambda: Network(step, **modules))
    before = state(model)
    try:
        return ask(method, model, noise(2, 1, 8, 8), 0)
    finally:
        assert state(model) == before


@BOTH
def test_an_activation_used_twice_is_named_with_what_to_change(method):
    def twice(self, x):
        return self.act(self.act(x) - 0) if method == "deeplift" else self.act(self.act(x))

    with pytest.raises(SalstatsError, match=r"'act' \(ReLU\) is used 2 times.*own nn.ReLU\(\)") as raised:
        run(method, twice, act=nn.ReLU())
    assert "\n" not in str(raised.value)


@BOTH
@pytest.mark.parametrize(
    ("relu", "name"),
    [
        (functional.relu, "relu"),
        (torch.relu, "relu"),
        (lambda x: x.relu(), "relu"),
        (lambda x: x.relu_(), "relu_"),
        (lambda x: functional.relu(x, inplace=True), "relu"),
        (lambda x: x.clamp(min=0), "clamp"),
    ],
    ids=["functional.relu", "torch.relu", "Tensor.relu", "Tensor.relu_", "in place", "clamp"],
)
def test_a_relu_that_is_no_module_is_named_with_what_to_change(method, relu, name):
    with pytest.raises(SalstatsError, match=rf"the model calls {name}\(\) as a function.*nn.ReLU\(\)"):
        run(method, lambda self, x: relu(x))


@BOTH
def test_the_module_that_calls_a_function_is_named(method):
    class Block(nn.Module):
        def forward(self, x):
            return torch.relu(x)

    with pytest.raises(SalstatsError, match=r"module 'blocks.0' calls relu\(\)"):
        run(method, lambda self, x: self.blocks(x), blocks=nn.Sequential(Block()))


@BOTH
@pytest.mark.parametrize("module", [nn.GELU(), nn.SiLU(), nn.GroupNorm(1, 3), nn.LocalResponseNorm(2)])
def test_a_module_without_a_rule_is_named(method, module):
    kind = type(module).__name__
    with pytest.raises(SalstatsError, match=rf"module 'act' is of type {kind}, for which .* has no rule"):
        run(method, lambda self, x: self.act(x), act=module)


def test_a_final_sigmoid_is_left_out_for_lrp():
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 2), nn.Sigmoid())
    with pytest.raises(SalstatsError, match=r"module '2' is of type Sigmoid.*outputs are logits"):
        ask("lrp", model, noise(1, 1, 8, 8), 0)


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (lambda self, x: x + x.flip(2), "flip"),
        (lambda self, x: x + x, "add"),
        (lambda self, x: x * 2, "mul"),
        (lambda self, x: functional.max_pool2d(x, 1), "max_pool2d"),
        (lambda self, x: functional.batch_norm(x, self.first.bias, self.first.bias.exp()), "batch_norm"),
    ],
    ids=["flip", "add", "mul", "max_pool2d", "batch_norm"],
)
def test_lrp_refuses_arithmetic_that_is_no_module(step, name):
    with pytest.raises(SalstatsError, match=rf"the model calls {name}\(\) as a function, for which LRP"):
        run("lrp", step)


@pytest.mark.parametrize(
    "step",
    [
        lambda self, x: x * x,
        lambda self, x: x / (x.sum() + 10),
        lambda self, x: functional.softmax(x, dim=1),
        lambda self, x: functional.max_pool2d(x, 1),
        lambda self, x: x.abs(),
    ],
    ids=["product", "quotient", "softmax", "max_pool2d", "abs"],
)
def test_deeplift_refuses_nonlinear_functions(step):
    with pytest.raises(SalstatsError, match=r"the model calls .*\(\) as a function, for which DeepLIFT"):
        run("deeplift", step)


def test_functions_of_the_networks_own_numbers_play_no_part():
    found = run(
        "lrp", lambda self, x: x.expand(self.first.bias.exp().mul(0).add(len(x)).int()[0], -1, -1, -1)
    )
    assert found.abs().max() > 0


def test_deeplift_takes_linear_functions():
    found = run("deeplift", lambda self, x: 2 * x - x.mean(dim=(2, 3), keepdim=True) / 3 + x.flip(3))
    assert found.abs().max() > 0


@BOTH
def test_shapes_may_be_changed_by_functions(method):
    found = run(method, lambda self, x: torch.cat([x[:, :1], x[:, 1:].reshape(len(x), 2, 6, 6)], dim=1))
    assert found.abs().max() > 0


@BOTH
def test_a_module_with_weights_used_twice_is_told_to_be_copied(method):
    if method == "deeplift":
        # a linear module keeps nothing
        assert (
            run(method, lambda self, x: self.again(self.again(x)), again=nn.Conv2d(3, 3, 1)).abs().max() > 0
        )
        return
    with pytest.raises(SalstatsError, match=r"'again' \(Conv2d\) is used 2 times.*copy.deepcopy"):
        run(method, lambda self, x: self.again(self.again(x)), again=nn.Conv2d(3, 3, 1))


@BOTH
def test_a_backward_hook_in_the_way_is_named(method):
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 2))
    model[1].register_full_backward_hook(lambda *_: None)
    with pytest.raises(SalstatsError, match=r"'1' \(ReLU\) has a backward hook"):
        ask(method, model, noise(1, 1, 8, 8), 0)
