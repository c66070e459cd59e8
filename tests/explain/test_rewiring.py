import pytest

from salstats.checks import SalstatsError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
pytest.importorskip("captum", reason="needs the explain extra")
from explain.runner_requests import ask, noise, seeded, state  # noqa: E402

from salstats.explain.rewiring import separate_modules  # noqa: E402

nn, functional = torch.nn, torch.nn.functional

#: Double precision, and captum's divisions by small numbers.
CONSERVED = 1e-6


class Residual(nn.Module):
    """Everything that DeepLIFT and LRP refuse, and no bias: a network of relevance without loss."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, padding=1, bias=False)
        self.second = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.third = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.relu = nn.ReLU(inplace=True)
        self.head = nn.Linear(4, 3, bias=False)

    def forward(self, x):
        x = functional.max_pool2d(self.relu(self.first(x)), 2)
        x = self.relu(x + self.relu(self.second(x)))
        x = functional.relu(self.third(x) + x, inplace=True)
        x = functional.avg_pool2d(x, 2, stride=2)
        return self.head(functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


def residual():
    return seeded(lambda: Residual().double())


def images():
    return noise(3, 1, 8, 8, seed=2, dtype=torch.float64)


def test_outputs_parameters_and_names_are_the_same_and_the_model_untouched():
    model, x = residual(), images()
    before = state(model)
    separated = separate_modules(model)
    with torch.no_grad():
        assert torch.equal(separated(x), model(x))
    assert state(model) == before
    assert separated.third.weight is model.third.weight
    assert "_1" not in "".join(name for name, _ in model.named_modules())


@pytest.mark.parametrize("method", ["deeplift", "lrp"])
def test_both_methods_take_it_and_what_they_give_adds_up(method):
    model, x, targets = residual(), images(), [0, 1, 2]
    with pytest.raises(SalstatsError, match=r"separate_modules\(model\)"):
        ask(method, model, x, targets)
    found = ask(method, separate_modules(model), x, targets)
    with torch.no_grad():
        outputs = model(x)[range(3), targets]
    assert torch.allclose(found.sum(dim=(1, 2, 3)), outputs, atol=CONSERVED)


def test_means_over_height_and_width_become_pooling():
    class Means(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.head = nn.Conv2d(1, 4, 3, bias=False), nn.Linear(4, 2, bias=False)

        def forward(self, x):
            return self.head(self.conv(x).mean((2, 3), keepdim=True).mean([-1, -2]))

    model, x = seeded(lambda: Means().double()), images()
    separated = separate_modules(model)
    with torch.no_grad():
        assert torch.allclose(separated(x), model(x), atol=CONSERVED)
    found = ask("lrp", separated, x, 1)
    assert torch.allclose(found.sum(dim=(1, 2, 3)), model(x)[:, 1], atol=CONSERVED)


def test_training_flag_is_kept():
    model = residual()
    assert not separate_modules(model).training
    assert separate_modules(model.train()).training


def test_a_network_that_cannot_be_traced_is_told_why():
    class Branches(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(SalstatsError, match=r"torch\.fx cannot trace the network") as raised:
        separate_modules(Branches())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("step", [lambda x: x.relu_(), lambda x: functional.relu(x, inplace=True)])
def test_numbers_changed_in_place_and_used_again_are_refused(step):
    class InPlace(nn.Module):
        def forward(self, x):
            y = 2 * x
            step(y)
            return y.flatten(1)

    with pytest.raises(SalstatsError, match=r"changes 'mul' in place, which is used again"):
        separate_modules(InPlace())


def test_torchvisions_resnet_is_taken_by_deeplift():
    models = pytest.importorskip("torchvision.models", reason="needs the explain extra")
    model, x = seeded(lambda: models.resnet18(weights=None)), noise(1, 3, 33, 33)
    found = ask("deeplift", separate_modules(model), x, 3)
    with torch.no_grad():
        difference = (model(x) - model(torch.zeros_like(x)))[0, 3].item()
    # single precision through 18 layers
    assert found.sum().item() == pytest.approx(difference, abs=1e-3)
