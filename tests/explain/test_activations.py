import numpy as np
import pytest

from salstats.checks import ShapeError
from salstats.images.map_steps import resize

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")
nn = torch.nn

#: Single precision.
ROUNDING = 1e-6


class Gate(nn.Module):
    """An attention gate on the mean of the channels; returns what it lets through and, if asked, the gate."""

    def __init__(self, both=False):
        super().__init__()
        self.weigh = nn.Sigmoid()
        self.both = both

    def forward(self, x):
        gate = self.weigh(x.mean(dim=1, keepdim=True))
        return (x * gate, gate) if self.both else x * gate


class Gated(nn.Module):
    def __init__(self, both=False):
        super().__init__()
        self.small, self.gate, self.head = nn.AvgPool2d(2), Gate(both), nn.Linear(3, 2)
        self.both = both

    def forward(self, x):
        given = self.gate(self.small(x))
        return self.head((given[0] if self.both else given).mean(dim=(2, 3)))


def explain(*args, **options):
    from salstats.explain.making import explain as function

    return function(*args, method="activation", **options)


@pytest.fixture
def images():
    return np.random.default_rng(0).normal(size=(5, 3, 8, 6)).astype(np.float32)


def expected_gate(images):
    pooled = images.reshape(5, 3, 4, 2, 3, 2).mean(axis=(3, 5))
    return 1 / (1 + np.exp(-pooled.mean(axis=1)))


def test_a_gates_output_is_a_map(images):
    made = explain(Gated(), images, 0, layer="gate.weigh", resolution="network", batch_size=2)
    np.testing.assert_allclose(made, expected_gate(images), atol=ROUNDING)


def test_a_gates_map_is_resized_to_the_image(images):
    made = explain(Gated(), images, 0, layer="gate.weigh")
    np.testing.assert_allclose(made, [resize(g, (8, 6)) for g in expected_gate(images)], atol=ROUNDING)


def test_reshape_picks_the_map_where_a_module_gives_several(images):
    made = explain(
        Gated(both=True), images, 0, layer="gate", reshape=lambda given: given[1], resolution="network"
    )
    np.testing.assert_allclose(made, expected_gate(images), atol=ROUNDING)
    with pytest.raises(ShapeError, match="layer 'gate' gives tuple, no grid"):
        explain(Gated(both=True), images, 0, layer="gate")


def test_channels_and_sign_are_reduced_as_said(images):
    made = explain(Gated(), images, 0, layer="small", resolution="network", channels="max", sign="positive")
    pooled = images.reshape(5, 3, 4, 2, 3, 2).mean(axis=(3, 5))
    np.testing.assert_allclose(made, np.maximum(pooled.max(axis=1), 0), atol=ROUNDING)


def test_several_modules_are_averaged_after_scaling(images):
    made = explain(Gated(), images, 0, layer=["gate.weigh", "small"])
    pooled = images.reshape(5, 3, 4, 2, 3, 2).mean(axis=(3, 5)).mean(axis=1)
    for one, gate, small in zip(made, expected_gate(images), pooled, strict=True):
        parts = [resize(m / np.abs(m).max(), (8, 6)) for m in (gate, small)]
        np.testing.assert_allclose(one, (parts[0] + parts[1]) / 2, atol=ROUNDING)


def test_an_activation_does_not_change_with_an_in_place_step_behind_it(images):
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    made = explain(model, images, 0, layer="0", resolution="network")
    with torch.no_grad():
        expected = model[0](torch.tensor(images)).mean(dim=1)
    np.testing.assert_allclose(made, expected, atol=ROUNDING)
    assert (made < 0).any()


def test_a_network_that_views_its_numbers_in_the_usual_order_is_shown_an_image_once(images):
    class Viewed(nn.Module):
        def __init__(self):
            super().__init__()
            self.small, self.head = nn.AvgPool2d(2), nn.Linear(36, 2)

        def forward(self, x):
            return self.head(self.small(x).view(len(x), -1))

    made = explain(Viewed(), images, 0, layer="small", resolution="network")
    pooled = images.reshape(5, 3, 4, 2, 3, 2).mean(axis=(3, 5))
    np.testing.assert_allclose(made, pooled.mean(axis=1), atol=ROUNDING)


def test_no_hook_stays(images):
    model = Gated()
    explain(model, images, 0, layer="gate.weigh")
    assert not any(m._forward_hooks for m in model.modules())
