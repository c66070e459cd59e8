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
#: Numbers of channels after the first, second and third halving of the canvas.
WIDTHS = (12, 24, 48)
#: The module whose output is the last grid, 8 x 8 on a canvas of 64 x 64.
LAST_GRID = "features"
#: The module whose output is the last 16 x 16 grid.
MIDDLE_GRID = {"plain": "features.8", "residual": "features.3"}


class ResidualBlock(nn.Module):
    """Two convolutions and a skip connection; their sum is rectified. Every module is used once."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        first_convolution = _convolution_modules(n_in, n_out, stride=2)
        # the rectifier of the second convolution comes after the sum
        second_convolution = _convolution_modules(n_out, n_out)[:-1]
        self.main = nn.Sequential(*first_convolution, *second_convolution)
        self.short = nn.Conv2d(n_in, n_out, 1, stride=2, bias=False)
        self.rectify = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the rectified sum of both branches."""
        rectified: torch.Tensor = self.rectify(self.main(x) + self.short(x))
        return rectified


class DigitNetwork(nn.Module):
    """Features on an 8 x 8 grid, their means, and an independent output (sigmoid) for each digit."""

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


def make_untrained_network(architecture: str) -> DigitNetwork:
    """Return an untrained network, without drawing from the global generator."""
    check_choice(architecture, ARCHITECTURES, "architecture")
    # modules draw their first numbers from the global generator: its state is restored
    with torch.random.fork_rng(devices=[]):
        return DigitNetwork(nn.Sequential(*_feature_modules(architecture)))


def _feature_modules(architecture: str) -> list[nn.Module]:
    """Return the modules that compute the features."""
    first, second, third = WIDTHS
    modules = _convolution_modules(1, first, kernel=5, stride=2)
    if architecture == "residual":
        modules += [ResidualBlock(first, second), ResidualBlock(second, third)]
    else:
        modules += _convolution_modules(first, second, stride=2)
        modules += _convolution_modules(second, second)
        modules += _convolution_modules(second, third, stride=2)
        modules += _convolution_modules(third, third)
    return modules


def _convolution_modules(n_in: int, n_out: int, *, kernel: int = 3, stride: int = 1) -> list[nn.Module]:
    """Return a convolution, its normalisation and its rectifier."""
    convolution = nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, bias=False)
    return [convolution, nn.BatchNorm2d(n_out), nn.ReLU()]


def read_network(architecture: str, file: str | os.PathLike[str]) -> DigitNetwork:
    """Read a trained network, float32, evaluation mode; InputFileError if the file lacks its weights."""
    network = make_untrained_network(architecture)
    # counts of batches, which have no dimension, are not in the file
    state = {name: tensor for name, tensor in network.state_dict().items() if not tensor.ndim}
    try:
        # numpy leaves a damaged file open, unless it was opened here
        with Path(file).open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
            state.update({name: torch.from_numpy(arrays[name]) for name in arrays.files})
        network.load_state_dict(state)
    except (OSError, ValueError, BadZipFile, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputFileError(
            f"{file}: no weights of a {architecture!r} network ({reason})",
            value=architecture,
            path=Path(file),
        ) from error
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
    seed_name = check_choice(str(seed), seeds, "seed")
    return Network(
        architecture,
        partial(read_network, architecture, folder / f"{architecture}-{seed_name}.npz"),
        seed=seed_name,
        tasks={f"digit {i}": i for i in range(10)},
        probability="sigmoid",
        preparation=Preparation((64, 64), channels=1),
    )
