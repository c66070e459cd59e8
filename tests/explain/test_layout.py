import numpy as np
import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
nn = torch.nn

from explain.runner_requests import noise, seeded  # noqa: E402
from explain.tiny_networks import count_passes  # noqa: E402

from salstats.checks import SalstatsError  # noqa: E402
from salstats.explain.faithfulness import insertion  # noqa: E402
from salstats.explain.forward import forward  # noqa: E402
from salstats.explain.layout import outputs_of  # noqa: E402
from salstats.explain.making import explain  # noqa: E402

CPU = torch.device("cpu")
#: Single precision, in another order of summation.
ROUNDING = 1e-5


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
    made = outputs_of(model, images, batch_size=2, device=CPU)
    assert torch.allclose(made, forward(model, images, batch_size=1, device=CPU), atol=ROUNDING)


def test_a_network_that_views_its_numbers_in_the_usual_order_is_tried_once():
    model, images = seeded(Viewed), noise(4, 3, 6, 8)
    outputs_of(model, images, batch_size=2, device=CPU)
    assert model.orders == [False, True, True]
    outputs_of(model, images.contiguous(memory_format=torch.channels_last), batch_size=4, device=CPU)
    assert model.orders[3:] == [True]


def test_such_a_network_has_curves_and_maps():
    model, images = seeded(Viewed), noise(2, 3, 6, 8)
    curves = insertion(model, images, np.random.default_rng(0).random((2, 6, 8)), 0, steps=4)
    assert curves["prob"].notna().all()
    assert np.isfinite(explain(model, images, 0, method="rise", n_masks=8, cells=2)).all()


def test_other_faults_of_a_network_are_its_own():
    model = nn.Sequential(nn.Flatten(), nn.Linear(7, 2))
    with pytest.raises((SalstatsError, RuntimeError), match="shapes cannot be multiplied"):
        outputs_of(model, noise(2, 3, 6, 8), batch_size=2, device=CPU)


def test_large_images_are_shown_few_at_a_time(monkeypatch):
    monkeypatch.setattr("salstats.explain.forward.PIXELS", 100)
    model = seeded(convolutions)
    passes = count_passes(model)
    outputs_of(model, noise(5, 3, 6, 8), batch_size=4, device=CPU)
    assert passes == [2, 2, 1]
    passes.clear()
    outputs_of(model, noise(2, 3, 60, 80), batch_size=4, device=CPU)
    assert passes == [1, 1]
