"""Two small networks that look for the ten digits, their weights in plain files."""

import os
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from torch import nn

from salstats.checks import InputFileError, check_choice
from salstats.files.outputs import replacing

ARCHITECTURES = ("plain", "residual")
N_DIGITS = 10
#: Channels after the first, second and third halving of the canvas.
WIDTHS = (12, 24, 48)
#: The module whose output is the last grid, 8 x 8 on a canvas of 64 x 64.
LAST_GRID = "features"
#: The module whose output is the last 16 x 16 grid.
MIDDLE_GRID = {"plain": "features.8", "residual": "features.3"}


class ResidualBlock(nn.Module):
    """Two convolutions beside a short cut; the sum is rectified. Every module is used once."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.main = nn.Sequential(*_convolution(n_in, n_out, stride=2), *_convolution(n_out, n_out)[:-1])
        self.short = nn.Conv2d(n_in, n_out, 1, stride=2, bias=False)
        self.rectify = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the sum of both ways, rectified."""
        rectified: torch.Tensor = self.rectify(self.main(x) + self.short(x))
        return rectified


class DigitNetwork(nn.Module):
    """Features on an 8 x 8 grid, their means, and one output per digit, each for itself (sigmoid)."""

    def __init__(self, features: nn.Sequential) -> None:
        super().__init__()
        self.features = features
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flat = nn.Flatten()
        self.output = nn.Linear(WIDTHS[-1], N_DIGITS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits of the ten digits."""
        logits: torch.Tensor = self.output(self.flat(self.pool(self.features(x))))
        return logits


def make_network(architecture: str, rng: np.random.Generator) -> DigitNetwork:
    """Return an untrained network with weights drawn from `rng`, float64.

    Parameters
    ----------
    architecture : {"plain", "residual"}
        "plain": five convolutions, one after another. "residual": a convolution and two residual blocks.
    rng : Generator
    """
    check_choice(architecture, ARCHITECTURES, "architecture")
    # modules draw their first numbers from the global generator: they are replaced below, and it is put back
    with torch.random.fork_rng(devices=[]):
        network = DigitNetwork(nn.Sequential(*_modules(architecture))).double()
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                shape = tuple(module.weight.shape)
                scale = np.sqrt(2 / np.prod(shape[1:]))
                module.weight.copy_(torch.from_numpy(scale * rng.standard_normal(shape)))
        network.output.bias.zero_()
    return network


def _modules(architecture: str) -> list[nn.Module]:
    """Return what makes the features."""
    first, second, third = WIDTHS
    modules = _convolution(1, first, kernel=5, stride=2)
    if architecture == "residual":
        return [*modules, ResidualBlock(first, second), ResidualBlock(second, third)]
    modules += [*_convolution(first, second, stride=2), *_convolution(second, second)]
    return [*modules, *_convolution(second, third, stride=2), *_convolution(third, third)]


def _convolution(n_in: int, n_out: int, *, kernel: int = 3, stride: int = 1) -> list[nn.Module]:
    """Return a convolution, its normalisation and its own rectifier."""
    convolution = nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, bias=False)
    return [convolution, nn.BatchNorm2d(n_out), nn.ReLU()]


def as_input(images: np.ndarray) -> np.ndarray:
    """Return canvases (n, 64, 64) of uint8 as a network takes them: (n, 1, 64, 64), 0 to 1, float32."""
    return (images[:, None] / np.float32(255)).astype(np.float32)


def write_weights(network: nn.Module, file: Path) -> None:
    """Write a network's numbers as float32 arrays in an .npz, which needs no torch to be read."""
    state = {name: t.numpy().astype(np.float32) for name, t in network.state_dict().items() if t.ndim}
    with replacing(file) as temporary, temporary.open("wb") as handle:
        np.savez_compressed(handle, **state)


def read_network(architecture: str, file: str | os.PathLike[str]) -> DigitNetwork:
    """Return a trained network, float32 and in evaluation mode.

    Raises
    ------
    InputFileError
        The file cannot be read, or its arrays are not those of the architecture.
    """
    network = make_network(architecture, np.random.default_rng(0)).float()
    try:
        # numpy leaves a damaged file open, unless it was opened here
        with Path(file).open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            state = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    except (OSError, ValueError, BadZipFile) as error:
        raise InputFileError(f"{file}: not a file of weights ({error}); build the study again") from error
    state |= {name: t for name, t in network.state_dict().items() if not t.ndim}
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise InputFileError(f"{file}: the weights are not those of a {architecture!r} network") from error
    return network.eval()
