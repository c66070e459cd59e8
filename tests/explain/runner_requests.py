"""What a runner of `salstats.explain` is asked for, in one line: used by the tests of each method."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the explain extra")

from salstats.explain.methods import METHODS, options_with_defaults  # noqa: E402
from salstats.explain.request import Request  # noqa: E402
from salstats.explain.saliency_maps import run_method  # noqa: E402


def ask(method, model, images, targets, *, batch_size=8, seeds=None, **options):
    """Run a method's runner on a model in evaluation mode: raw attributions, float64."""
    row = METHODS[method]
    stack = torch.as_tensor(images)
    wanted = torch.as_tensor(np.broadcast_to(np.asarray(targets), len(stack)).copy())
    request = Request(
        model=model.eval(),
        device=stack.device,
        images=stack,
        targets=wanted,
        seeds=tuple(range(len(stack))) if seeds is None else tuple(seeds),
        batch_size=batch_size,
        options=options_with_defaults(row, options),
    )
    return run_method(request, row).detach().double()


def seeded(make, seed=0):
    """Make a network whose weights are those of a seed; torch's own generator is as before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make().eval()


def noise(*shape, seed=0, dtype=torch.float32):
    """Standard normal numbers."""
    return torch.as_tensor(np.random.default_rng(seed).standard_normal(shape), dtype=dtype)


def state(model):
    """What of a model a method must leave alone: attributes and hooks of every module, and its numbers."""
    return [
        (
            name,
            sorted(key for key in vars(module) if not key.startswith("_")),
            [
                len(getattr(module, hooks))
                for hooks in (
                    "_forward_hooks",
                    "_forward_pre_hooks",
                    "_backward_hooks",
                    "_backward_pre_hooks",
                )
            ],
            [
                (p.data_ptr(), p.detach().clone().numpy().tobytes(), p.grad)
                for p in module.parameters(recurse=False)
            ],
        )
        for name, module in model.named_modules()
    ]


class Counting(torch.nn.Module):
    """A small CNN that counts the images it sees."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = torch.nn.Conv2d(2, 4, 3), torch.nn.Linear(4, 3)
        self.n_images = 0

    def forward(self, x):
        self.n_images += len(x)
        return self.head(torch.relu(self.conv(x)).mean(dim=(2, 3)))
