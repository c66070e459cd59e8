import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.hooks import hooked, modules_hooked  # noqa: E402


class Steps(torch.nn.Module):
    """A layer, then functions of its output."""

    def __init__(self):
        super().__init__()
        self.twice = torch.nn.Linear(1, 1, bias=False)
        self.twice.weight.data.fill_(2.0)

    def forward(self, x):
        return torch.relu(self.twice(x)) + 1


def test_a_layer_and_the_functions_on_its_output_are_read():
    model = Steps()
    outputs = []
    with hooked({"twice": model.twice}, lambda name, output: outputs.append((name, output.item()))):
        model(torch.tensor([[3.0]]))
    with hooked({"twice+relu+add": model.twice}, lambda name, output: outputs.append((name, output.item()))):
        model(torch.tensor([[-3.0]]))
    assert outputs == [("twice", 6.0), ("twice+relu+add", 1.0)]
    model(torch.tensor([[5.0]]))
    assert len(outputs) == 2


@pytest.mark.parametrize(
    ("layer", "expected"),
    [("twice", 11.0), ("twice+relu", 11.0), ("twice+relu+add", 10.0)],
)
def test_the_network_goes_on_with_what_a_hook_returns(layer, expected):
    model = Steps()
    with hooked({layer: model.twice}, lambda name, output: torch.full_like(output, 10.0)):
        assert model(torch.tensor([[-3.0]])).item() == expected


def test_all_modules_and_functions_come_in_the_order_of_the_pass():
    model = Steps()
    names = []
    with modules_hooked(dict(model.named_modules()), lambda name, output: names.append(name)):
        model(torch.tensor([[1.0]]))
    assert names == ["twice", "twice+relu", "twice+relu+add", ""]


def test_hooks_are_removed_after_an_error():
    model = Steps()
    with pytest.raises(ZeroDivisionError), hooked({"twice": model.twice}, lambda *_: 1 / 0):
        model(torch.tensor([[1.0]]))
    assert not model.twice._forward_hooks


def test_functions_are_followed_from_the_output_that_a_hook_put_in_place():
    model = Steps()
    outputs = {}

    def replace(name, output):
        outputs[name] = output.item()
        return torch.full_like(output, 7.0) if name == "twice" else None

    with modules_hooked({"twice": model.twice}, replace):
        model(torch.tensor([[-3.0]]))
    assert outputs == {"twice": -6.0, "twice+relu": 7.0, "twice+relu+add": 8.0}
