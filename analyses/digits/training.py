"""The networks trained on canvases: first on windows of them, then on whole ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from digits.canvases import SIDE, Canvas
from salstats.explain.digits import N_DIGITS, DigitNetwork, make_untrained_network
from salstats.files.outputs import replacing_file


@dataclass(frozen=True)
class Schedule:
    """Length and settings of the training of a network."""

    #: Times through random windows of the canvases, then through the whole.
    window_epochs: int = 20
    epochs: int = 8
    #: Pixels on a side of a window.
    window: int = 32
    batch_size: int = 64
    #: Greatest learning rate of either part.
    rates: tuple[float, float] = (1e-2, 5e-3)


#: A digit of which more than this share lies in a window is on it.
_INSIDE = 0.6


def first_weights(architecture: str, rng: np.random.Generator) -> DigitNetwork:
    """An untrained network with weights drawn from `rng`, float64."""
    network = make_untrained_network(architecture).double()
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                shape = tuple(module.weight.shape)
                scale = np.sqrt(2 / np.prod(shape[1:]))
                module.weight.copy_(torch.from_numpy(scale * rng.standard_normal(shape)))
        network.output.bias.zero_()
    return network


def write_weights(network: nn.Module, file: Path) -> None:
    """Write a network's numbers as float32 arrays in an .npz, which needs no torch to be read."""
    state = {name: t.numpy().astype(np.float32) for name, t in network.state_dict().items() if t.ndim}
    with replacing_file(file) as temporary, temporary.open("wb") as handle:
        np.savez_compressed(handle, **state)


def train(
    architecture: str, canvases: Sequence[Canvas], *, seed: int, schedule: Schedule | None = None
) -> DigitNetwork:
    """A network trained on canvases, float64, in evaluation mode.

    Windows of half the side come first: with one digit or two on them, they say which ink means which
    digit, and cost a quarter. All is in float64, so that the rounding of another processor stays far below
    the float32 in which weights are kept; call it with one thread (`torch.set_num_threads(1)`). The seed is
    that of the first weights, the order of the canvases and the places of the windows.
    """
    plan = schedule or Schedule()
    rng = np.random.default_rng([2026, seed])
    network = first_weights(architecture, rng)
    network.train()
    pixels = np.stack([c.image for c in canvases])[:, None] / 255.0
    there = np.array([[d in c.truth for d in range(N_DIGITS)] for c in canvases], dtype=float)
    loss = nn.BCEWithLogitsLoss()
    for part, n_epochs in enumerate((plan.window_epochs, plan.epochs)):
        n_batches = len(canvases) // plan.batch_size
        if not n_epochs or not n_batches:
            continue
        optimizer = torch.optim.Adam(network.parameters(), lr=plan.rates[part])
        rate = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, plan.rates[part], total_steps=n_batches * n_epochs + 1
        )
        for _ in range(n_epochs):
            images, labels = _windows(pixels, canvases, plan.window, rng) if part == 0 else (pixels, there)
            order = rng.permutation(len(canvases))[: n_batches * plan.batch_size]
            for places in order.reshape(n_batches, plan.batch_size):
                optimizer.zero_grad()
                outputs = network(torch.from_numpy(images[places]))
                loss(outputs, torch.from_numpy(labels[places])).backward()
                optimizer.step()
                rate.step()
    return network.eval()


def _windows(
    pixels: np.ndarray, canvases: Sequence[Canvas], side: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """A random window of every canvas, and which digits lie in it."""
    corners = rng.integers(0, SIDE - side + 1, size=(len(canvases), 2))
    images = np.empty((len(canvases), 1, side, side))
    labels = np.zeros((len(canvases), N_DIGITS))
    for i, (row, col) in enumerate(corners):
        window = (slice(row, row + side), slice(col, col + side))
        images[i, 0] = pixels[i, 0][window]
        for digit, mask in canvases[i].truth.items():
            labels[i, digit] = np.count_nonzero(mask[window]) > _INSIDE * np.count_nonzero(mask)
    return images, labels
