"""Networks of a few weights, the same ones each time, for tests of runs over a study."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the explain extra")

#: Tasks and the output of each.
OUTPUTS = {"Edema": 0, "Mass": 2}


def cnn(seed=0, *, channels=1, n_outputs=3):
    """A network of two convolutions; its last grid is a quarter of the image."""
    rng = np.random.default_rng(seed)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(channels, 4, 3, stride=2, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(4, 6, 3, stride=2, padding=1),
        torch.nn.ReLU(),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(6, n_outputs),
    )
    for parameter in model.parameters():
        parameter.data = torch.as_tensor(rng.normal(scale=0.7, size=parameter.shape), dtype=torch.float32)
    return model


def count_passes(model):
    """Count the images that go through a network; the list has one entry for each pass."""
    seen = []
    model.register_forward_pre_hook(lambda module, inputs: seen.append(len(inputs[0])))
    return seen


def pictures(n, shape=(24, 32), channels=1):
    """Images as a network takes them, by case."""
    rng = np.random.default_rng(7)
    return {f"case{i:02}": rng.uniform(size=(channels, *shape)).astype(np.float32) for i in range(n)}


def content(folder):
    """What a folder of maps holds, file by file."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.name.startswith(".")]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}
