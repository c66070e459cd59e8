"""The two networks: every module used once, the grids that maps are taken from, weights in plain files."""

import numpy as np
import pytest

from salstats.checks import InputFileError, ValueRangeError

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from torch import nn  # noqa: E402

from salstats.explain.digits.canvas_sets import make_training_canvases  # noqa: E402
from salstats.explain.digits.networks import (  # noqa: E402
    ARCHITECTURES,
    LAST_GRID,
    MIDDLE_GRID,
    as_input,
    make_network,
    read_network,
    write_weights,
)
from salstats.explain.digits.training import Schedule, train  # noqa: E402

#: Seconds, and enough to tell trained networks from untrained ones.
SHORT = Schedule(window_epochs=2, epochs=1)


def numbers(network):
    return {name: t.numpy().copy() for name, t in network.state_dict().items()}


def equal(one, other):
    return all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_rectifier_is_used_once(architecture):
    network = make_network(architecture, np.random.default_rng(0)).eval()
    used = []
    for name, module in network.named_modules():
        if not list(module.children()):
            module.register_forward_hook(lambda *_, name=name: used.append(name))
    network(torch.zeros(1, 1, 64, 64, dtype=torch.float64))
    leaves = [n for n, m in network.named_modules() if not list(m.children())]
    assert sorted(used) == sorted(leaves)
    assert sum(isinstance(m, nn.ReLU) for m in network.modules()) == 5


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_grids_are_an_eighth_and_a_quarter_of_the_canvas(architecture):
    network = make_network(architecture, np.random.default_rng(0)).eval()
    shapes = {}
    for name in (LAST_GRID, MIDDLE_GRID[architecture]):
        network.get_submodule(name).register_forward_hook(
            lambda *given, name=name: shapes.update({name: tuple(given[2].shape[2:])})
        )
    network(torch.zeros(1, 1, 64, 64, dtype=torch.float64))
    assert shapes == {LAST_GRID: (8, 8), MIDDLE_GRID[architecture]: (16, 16)}


def test_an_unknown_architecture_is_refused():
    with pytest.raises(ValueRangeError, match="architecture='dense' is not known; choose one of plain"):
        make_network("dense", np.random.default_rng(0))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_weights_that_are_written_and_read_give_the_same_outputs(architecture, tmp_path):
    network = make_network(architecture, np.random.default_rng(5)).eval()
    with torch.no_grad():
        # statistics of batches must travel too
        network.get_submodule("features.1").running_mean.fill_(0.25)
    write_weights(network, tmp_path / "weights.npz")
    again = read_network(architecture, tmp_path / "weights.npz")
    images = as_input(np.random.default_rng(0).integers(0, 256, (2, 64, 64)).astype(np.uint8))
    assert images.shape == (2, 1, 64, 64)
    assert images.dtype == np.float32
    assert not again.training
    with torch.no_grad():
        expected = network.float()(torch.from_numpy(images))
        torch.testing.assert_close(again(torch.from_numpy(images)), expected, rtol=0, atol=0)


def test_weights_of_another_network_and_damaged_ones_are_refused_in_one_line(tmp_path):
    file = tmp_path / "weights.npz"
    write_weights(make_network("plain", np.random.default_rng(0)), file)
    with pytest.raises(InputFileError, match=r"weights\.npz: the weights are not those of a 'residual'"):
        read_network("residual", file)
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(InputFileError, match=r"weights\.npz: not a file of weights"):
        read_network("plain", file)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_seed_gives_the_same_weights_and_another_seed_others(architecture):
    canvases = make_training_canvases(44)
    first, again, other = (
        numbers(train(architecture, canvases, seed=seed, schedule=SHORT)) for seed in (0, 0, 1)
    )
    assert equal(first, again)
    assert not equal(first, other)


def test_training_draws_from_no_global_generator_and_lowers_the_loss():
    canvases = make_training_canvases(44)
    state = torch.get_rng_state()
    images = torch.from_numpy(np.stack([c.image for c in canvases])[:, None] / 255.0)
    there = torch.tensor([[float(d in c.truth) for d in range(10)] for c in canvases], dtype=torch.float64)

    def loss(schedule):
        network = train("residual", canvases, seed=0, schedule=schedule)
        with torch.no_grad():
            return nn.functional.binary_cross_entropy_with_logits(network(images), there).item()

    assert loss(Schedule(window_epochs=2, epochs=8)) < loss(Schedule(window_epochs=0, epochs=0))
    assert torch.equal(torch.get_rng_state(), state)
