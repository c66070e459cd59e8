"""Training depends on its seed alone, and teaches."""

import numpy as np
import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch", reason="needs the explain extra")

from digits.sets import make_training_canvases  # noqa: E402
from digits.training import Schedule, first_weights, train, write_weights  # noqa: E402
from salstats.explain.digits import ARCHITECTURES, read_network  # noqa: E402

#: Seconds, and enough to tell trained networks from untrained ones.
SHORT = Schedule(window_epochs=2, epochs=1)


@pytest.fixture(scope="module")
def canvases():
    return make_training_canvases(44)


def equal(one, other):
    other = other.state_dict()
    return all(torch.equal(numbers, other[name]) for name, numbers in one.state_dict().items())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_weights_that_are_written_and_read_give_the_same_outputs(architecture, tmp_path):
    network = first_weights(architecture, np.random.default_rng(5)).eval()
    # statistics of batches must travel too
    network.get_submodule("features.1").running_mean.fill_(0.25)
    write_weights(network, tmp_path / "weights.npz")
    again = read_network(architecture, tmp_path / "weights.npz")
    assert not again.training
    assert equal(again, network.float())


@pytest.mark.parametrize(
    "architecture",
    [pytest.param(a, marks=() if a == "plain" else pytest.mark.slow) for a in ARCHITECTURES],
)
def test_a_seed_gives_the_same_weights_and_another_seed_others(architecture, canvases):
    first, again, other = (train(architecture, canvases, seed=seed, schedule=SHORT) for seed in (0, 0, 1))
    assert equal(first, again)
    assert not equal(first, other)


@pytest.mark.slow
def test_training_draws_from_no_global_generator_and_lowers_the_loss(canvases):
    state = torch.get_rng_state()
    images = torch.from_numpy(np.stack([c.image for c in canvases])[:, None] / 255.0)
    there = torch.tensor([[float(d in c.truth) for d in range(10)] for c in canvases], dtype=torch.float64)

    def loss(schedule):
        network = train("residual", canvases, seed=0, schedule=schedule)
        with torch.no_grad():
            return torch.nn.functional.binary_cross_entropy_with_logits(network(images), there).item()

    assert loss(Schedule(window_epochs=2, epochs=4)) < loss(Schedule(window_epochs=0, epochs=0))
    assert torch.equal(torch.get_rng_state(), state)
