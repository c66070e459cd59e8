"""What of `salstats.explain` stands beside pytorch-grad-cam and captum: speed, and what they get wrong.

That the numbers are theirs where theirs hold is tested in `tests/explain`. These are the numbers of
`docs/developers/packages.md`; `pytest -m bench -s tests/bench/test_packages_explain.py` prints them anew.
"""

import contextlib
import io

import numpy as np
import pytest
from timing import seconds

pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
torch = pytest.importorskip("torch", reason="needs the explain extra")
captum = pytest.importorskip("captum.attr", reason="needs the explain extra")
nn = torch.nn

from explain.runner_requests import ask, noise, seeded  # noqa: E402

from salstats.explain.saliency_maps import explain  # noqa: E402

N_TARGETS, TURNS = 10, 3
#: Single precision, through a network.
SINGLE = 1e-4


def network(in_place=False):
    """Two convolutions and a head; every step is a module of its own."""
    return seeded(
        lambda: nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(in_place), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(in_place),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, N_TARGETS),
        )
    )  # fmt: skip


class Functional(nn.Module):
    """A network that calls its activations as functions, and pools windows that overlap."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3)
        self.head = nn.Linear(8 * 16, N_TARGETS)

    def forward(self, images):
        hidden = torch.relu(self.first(images))
        hidden = nn.functional.max_pool2d(hidden, 3, stride=2)
        hidden = torch.relu(self.second(hidden))
        return self.head(nn.functional.adaptive_avg_pool2d(hidden, 4).flatten(1))


def compared(name, ours, library):
    """Time of the library as a multiple of ours, the fastest runs of each in turns."""
    fast = slow = np.inf
    for _ in range(TURNS):
        fast = min(fast, seconds(ours))
        slow = min(slow, seconds(library))
    print(
        f"\n{name}: ours {1000 * fast:.0f} ms, the library {1000 * slow:.0f} ms, {slow / fast:.1f} times",
        end="",
    )
    return slow / fast


@pytest.mark.parametrize(("method", "kind"), [("gradcam", "GradCAM"), ("scorecam", "ScoreCAM")])
def test_class_activation_maps_of_ten_targets(method, kind):
    library = pytest.importorskip("pytorch_grad_cam", reason="needs the explain extra")
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    model, images = network(), noise(4, 3, 112, 112)
    every, targets = images.repeat_interleave(N_TARGETS, dim=0), np.tile(np.arange(N_TARGETS), 4)
    cam = getattr(library, kind)(model, [model[4]])
    wanted = [ClassifierOutputTarget(int(target)) for target in targets]

    def of_library():
        with contextlib.redirect_stderr(io.StringIO()):
            return cam(every, wanted)

    def ours():
        return explain(model, every, targets, method=method, layer="4", batch_size=16)

    made = ours()
    made = made - made.min(axis=(1, 2), keepdims=True)
    made /= made.max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(made, of_library(), atol=1e-3)
    assert compared(f"{kind}, ten targets", ours, of_library) > 1


@pytest.mark.parametrize(("method", "kind"), [("lime", "Lime"), ("kernel_shap", "KernelShap")])
def test_surrogates_of_ten_targets(method, kind):
    model, image = network(), noise(1, 3, 64, 64)
    cells = torch.arange(64) // 10
    segments = (cells[:, None] * 7 + cells[None])[None, None]
    surrogate = getattr(captum, kind)(model)
    ratio = compared(
        f"{kind}, ten targets",
        lambda: ask(
            method, model, image.repeat(N_TARGETS, 1, 1, 1), np.arange(N_TARGETS), seeds=[0] * N_TARGETS,
            n_samples=200, segments=segments[0, 0].numpy(),
        ),
        lambda: [
            surrogate.attribute(
                image, target=target, feature_mask=segments, n_samples=200, perturbations_per_eval=8
            )
            for target in range(N_TARGETS)
        ],
    )  # fmt: skip
    assert ratio > 2


def test_captum_draws_from_the_global_generator():
    model, image = network(), noise(1, 3, 32, 32)
    with torch.random.fork_rng(devices=[]):
        before = torch.get_rng_state()
        ask("gradient_shap", model, image, 1, n_samples=7)
        assert torch.equal(torch.get_rng_state(), before)
        captum.GradientShap(model).attribute(image, torch.zeros_like(image), target=1, n_samples=7)
        assert not torch.equal(torch.get_rng_state(), before)


def test_deeplift_of_functions_adds_up_here_and_not_in_captum():
    model, images = seeded(Functional), noise(4, 3, 32, 32)
    with torch.no_grad():
        differences = (model(images) - model(torch.zeros_like(images)))[:, 1]
    ours = ask("deeplift", model, images, 1).sum(dim=(1, 2, 3))
    theirs = captum.DeepLift(model).attribute(images.clone(), target=1).sum(dim=(1, 2, 3)).detach()
    off = [float(((sums - differences) / differences).abs().max()) for sums in (ours, theirs)]
    print(f"\nDeepLIFT of functions, share that sums are off: ours {off[0]:.1e}, captum {off[1]:.2f}", end="")
    assert off[0] < SINGLE
    assert off[1] > 0.05


def test_lrp_of_functions_adds_up_here_and_not_in_captum():
    model, images = seeded(Functional), noise(2, 3, 32, 32)
    for parameter_name, parameter in model.named_parameters():
        if parameter_name.endswith("bias"):
            nn.init.zeros_(parameter)
    with torch.no_grad():
        outputs = model(images)[:, 1]
    ours = ask("lrp", model, images, 1).sum(dim=(1, 2, 3))
    theirs = (
        captum.LRP(model).attribute(images.clone().requires_grad_(), target=1).sum(dim=(1, 2, 3)).detach()
    )
    off = [float(((sums - outputs) / outputs).abs().max()) for sums in (ours, theirs)]
    print(f"\nLRP of functions, share that sums are off: ours {off[0]:.1e}, captum {off[1]:.2f}", end="")
    assert off[0] < SINGLE
    assert off[1] > 0.05
