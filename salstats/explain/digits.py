"""The trained networks of the embedded digits study; `analyses/digits` trains them."""

import os
from functools import partial
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from torch import nn

from salstats.checks import check_choice
from salstats.datasets import digits_examples
from salstats.errors import InputFileError
from salstats.explain.networks import Network
from salstats.images.preparation import Preparation

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
        """Sum of both ways, rectified."""
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
        """Logits of the ten digits."""
        logits: torch.Tensor = self.output(self.flat(self.pool(self.features(x))))
        return logits


def make_network(architecture: str) -> DigitNetwork:
    """An untrained network; no generator is drawn from."""
    check_choice(architecture, ARCHITECTURES, "architecture")
    # modules draw their first numbers from the global generator: it is put back
    with torch.random.fork_rng(devices=[]):
        return DigitNetwork(nn.Sequential(*_modules(architecture)))


def _modules(architecture: str) -> list[nn.Module]:
    """What makes the features."""
    first, second, third = WIDTHS
    modules = _convolution(1, first, kernel=5, stride=2)
    if architecture == "residual":
        return [*modules, ResidualBlock(first, second), ResidualBlock(second, third)]
    modules += [*_convolution(first, second, stride=2), *_convolution(second, second)]
    return [*modules, *_convolution(second, third, stride=2), *_convolution(third, third)]


def _convolution(n_in: int, n_out: int, *, kernel: int = 3, stride: int = 1) -> list[nn.Module]:
    """A convolution, its normalisation and its own rectifier."""
    convolution = nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, bias=False)
    return [convolution, nn.BatchNorm2d(n_out), nn.ReLU()]


def read_network(architecture: str, file: str | os.PathLike[str]) -> DigitNetwork:
    """A trained network, float32 and in evaluation mode."""
    network = make_network(architecture)
    try:
        # numpy leaves a damaged file open, unless it was opened here
        with Path(file).open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            state = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
        # counts of batches, which have no dimension, are not in the file
        network.load_state_dict(state | {k: t for k, t in network.state_dict().items() if not t.ndim})
    except (OSError, ValueError, BadZipFile, RuntimeError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputFileError(f"{file}: no weights of a {architecture!r} network ({said})") from error
    return network.eval()


def digits_network(architecture: str = "residual", *, seed: int = 0) -> Network:
    """A trained network of the embedded study, which finds handwritten digits on a canvas.

    Parameters
    ----------
    architecture : {"residual", "plain"}
        Two residual blocks, or five convolutions one after another.
    seed : {0, 1, 2}
        Which training.

    Returns
    -------
    Network
        For `make_maps` and `explain_ensemble`; `Network.open` gives the torch.nn.Module. It takes grey
        canvases of 64 x 64 pixels, from 0 to 1; its ten outputs are the tasks "digit 0" to "digit 9", each
        with a probability of its own.

    Raises
    ------
    ValueRangeError
        No such architecture or training.

    See Also
    --------
    salstats.datasets.digits_examples : canvases, and where they lie.

    Examples
    --------
    >>> from salstats import explain as ex
    >>> network = ex.digits_network("plain")
    >>> network.tasks["digit 7"], network.open().output.out_features
    (7, 10)
    """
    check_choice(architecture, ARCHITECTURES, "architecture")
    folder = digits_examples().parent / "weights"
    seeds = sorted(file.stem.rpartition("-")[2] for file in folder.glob(f"{architecture}-*.npz"))
    name = check_choice(str(seed), seeds, "seed")
    return Network(
        architecture,
        partial(read_network, architecture, folder / f"{architecture}-{name}.npz"),
        seed=name,
        tasks={f"digit {i}": i for i in range(10)},
        probability="sigmoid",
        preparation=Preparation((64, 64), channels=1),
    )
