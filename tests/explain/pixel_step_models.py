"""Networks whose answer to a partly shown image is known by hand, and the plain loop."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the explain extra")
nn = torch.nn


def linear(weights):
    """A network whose outputs are weighted sums of the pixels, one row of weights each."""
    weights = np.atleast_2d(np.asarray(weights, np.float32))
    model = nn.Sequential(nn.Flatten(), nn.Linear(weights.shape[1], len(weights), bias=False))
    model[1].weight.data.copy_(torch.from_numpy(weights))
    return model


def one_pixel(place, n_pixels=16):
    """A network that gives the value of one pixel."""
    return linear(np.eye(n_pixels)[place])


class Counting(nn.Module):
    """Class 1 for images with so many lit pixels as `numbers` has, else class 0; counts its images."""

    def __init__(self, numbers):
        super().__init__()
        self.numbers = torch.tensor(sorted(numbers))
        self.seen = 0

    def forward(self, images):
        self.seen += len(images)
        lit = (images > 0).flatten(1).sum(dim=1)
        one = torch.isin(lit, self.numbers).float()
        return torch.stack([1 - one, one], dim=1)


def small_cnn(n_outputs=3, n_channels=2):
    """A network with random weights, batch statistics and dropout."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Conv2d(n_channels, 6, 3, padding=1),
            nn.BatchNorm2d(6),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Dropout(0.5),
            nn.Linear(24, n_outputs),
        )


def plain_loop(model, images, maps, targets, sizes, blanks, *, deleting=False, squash="softmax"):
    """One forward pass per step and image, the pixels set one by one in order of salience."""
    model.eval()
    curves = []
    for image, saliency, target, blank in zip(images, maps, targets, blanks, strict=True):
        order = sorted(range(saliency.size), key=lambda place: -saliency.flat[place])
        first, last = (image, blank) if deleting else (blank, image)
        probs = []
        for size in sizes:
            shown = first.copy()
            for place in order[:size]:
                row, col = divmod(place, saliency.shape[1])
                shown[:, row, col] = last[:, row, col]
            with torch.no_grad():
                output = model(torch.from_numpy(shown[None]))[0]
            probs.append(float((output.softmax(0) if squash == "softmax" else output.sigmoid())[target]))
        curves.append(probs)
    return np.array(curves)
