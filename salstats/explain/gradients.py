"""Gradient methods: Integrated Gradients and Input x Gradient (captum), DeepLIFT, GradientSHAP and LRP.

All run in the network's own precision, whatever `mixed_precision` says: half precision loses small gradients.
`baseline` is the image without evidence, in the numbers that the network takes: "zero", "mean" (of each
channel of the image), "blur" (as in `insertion`), a number, or an array of shape (channels,) or (channels,
height, width).
"""

from typing import Any

import numpy as np
import torch
from torch import nn

from salstats.checks import check_count, check_number
from salstats.errors import ShapeError, ValueRangeError, warn
from salstats.explain.baselines import baselines_of
from salstats.explain.multipliers import EXACT, NEARLY, Relevance, Rescale, check_sums, of_targets, pass_back
from salstats.explain.request import Request


def run_input_x_gradient(request: Request) -> torch.Tensor:
    """Value of each pixel times the gradient of the target by it (Shrikumar et al. 2016)."""
    # importing captum takes seconds, for which the other methods need not wait
    from captum.attr import InputXGradient

    # captum warns where it has to ask for gradients itself
    leaf = request.images.detach().clone().requires_grad_()
    return InputXGradient(request.model).attribute(leaf, target=request.targets).detach()


def run_integrated_gradients(request: Request) -> torch.Tensor:
    """Gradient of the target, integrated from the baseline to the image, times their difference.

    Adds up to the target's output for the image less that for the baseline, but for the error of the
    quadrature (Sundararajan et al. 2017); a warning says where the sums are more than 10 % off.
    Options: `baseline` ("zero"); `n_steps` (50), points of Gauss-Legendre quadrature.
    """
    from captum.attr import IntegratedGradients

    steps = check_count(request.options["n_steps"], "n_steps")
    baselines = baselines_of(request.images, request.options["baseline"])
    found = IntegratedGradients(request.model).attribute(
        request.images,
        baselines=baselines,
        target=request.targets,
        n_steps=steps,
        internal_batch_size=max(request.batch_size, len(request.images)),
    )
    with torch.no_grad():
        outputs, reference = (
            of_targets(request.model(one.clone()), request.targets) for one in (request.images, baselines)
        )
    check_sums(
        found.flatten(1).sum(dim=1), outputs - reference, outputs, NEARLY,
        f"Integrated Gradients: with n_steps={steps} sums are more than {NEARLY:.0%} off the differences of "
        "outputs that they stand for; more steps come nearer",
    )  # fmt: skip
    return found.detach()


def run_deeplift(request: Request) -> torch.Tensor:
    """What each pixel contributes to the target's difference from its output for the baseline.

    The rescale rule of DeepLIFT (Shrikumar et al. 2017), exact at each step (see `Rescale`), also for pooled
    maxima of windows that overlap, for products such as those of squeeze-and-excitation or attention, softmax
    and normalisation by layers or groups. One pass is made of the baselines and one of the images, for a
    whole batch. Adds up to the target's output for the image less that for the baseline; where it does not,
    because the network calls functions that are not linear and have no rule, it is refused and these are
    named.
    Option: `baseline` ("zero").
    """
    baselines = baselines_of(request.images, request.options["baseline"])
    rescale = Rescale()
    with torch.no_grad(), rescale:
        outputs = request.model(baselines.clone())
    reference = of_targets(outputs, request.targets)
    rescale.refers = False
    multipliers, outputs = pass_back(request.model, request.images, request.targets, rescale)
    found = multipliers * (request.images - baselines)
    check_sums(
        found.flatten(1).sum(dim=1), outputs - reference, outputs, EXACT,
        "DeepLIFT: contributions do not add up to the differences of outputs" + rescale.named(), refuse=True,
    )  # fmt: skip
    return found


def run_gradient_shap(request: Request) -> torch.Tensor:
    """Mean of gradient times difference at random points between baselines and the noisy image.

    captum's formula (Lundberg & Lee 2017). captum draws from the global random generators, so the draws are
    made here, from those of each image: first the baselines' places, then the points, then the noise. On
    average it adds up to the target's output for the image less its mean for the baselines.
    Options: `baseline` ("zero"), also an array (m, channels, height, width) of which one is drawn for each
    point; `n_samples` (20), points; `stdev` (0), standard deviation of the noise in the numbers that the
    network takes.
    """
    n_samples = check_count(request.options["n_samples"], "n_samples")
    stdev = check_number(request.options["stdev"], "stdev")
    maps = []
    for place, image in enumerate(request.images):
        baselines = _distribution(image, request.options["baseline"])
        generator = request.generator(place)
        drawn = torch.as_tensor(generator.integers(len(baselines), size=n_samples), device=image.device)
        points = torch.as_tensor(generator.random(n_samples)).to(image).reshape(-1, 1, 1, 1)
        total = torch.zeros_like(image)
        for start in range(0, n_samples, request.batch_size):
            part = slice(start, start + request.batch_size)
            lengths, begin = points[part], baselines[drawn[part]]
            noise = stdev * generator.standard_normal((len(lengths), *image.shape)) if stdev else 0.0
            difference = image + torch.as_tensor(noise).to(image) - begin
            leaf = (begin + lengths * difference).detach().requires_grad_()
            targets = request.targets[place].expand(len(lengths))
            with torch.enable_grad():
                chosen = of_targets(request.model(leaf), targets).sum()
                (gradients,) = torch.autograd.grad(chosen, leaf)
            total += (gradients * difference).sum(dim=0)
        maps.append(total / n_samples)
    return torch.stack(maps)


def _distribution(image: torch.Tensor, baseline: Any) -> torch.Tensor:
    """Baselines of which one is drawn for each point, shape (m, channels, height, width)."""
    if isinstance(baseline, str) or np.ndim(baseline) != 4:
        return baselines_of(image[None], baseline)
    every = torch.as_tensor(baseline).detach().to(image)
    if not len(every) or every.shape[1:] != image.shape:
        raise ShapeError(
            f"baseline has shape {tuple(every.shape)}; several for images of shape {tuple(image.shape)} have "
            "that shape after the first dimension"
        )
    if not torch.isfinite(every).all():
        raise ValueRangeError("baseline must hold finite numbers")
    return every


def run_lrp(request: Request) -> torch.Tensor:
    """Relevance of each pixel: the target's output, handed back step by step (Bach et al. 2015).

    The epsilon rule wherever numbers are mixed: convolutions, linear layers, batch normalisation, sums,
    averages and pooled maxima. Activations that give 0 of 0 (ReLU, tanh, SiLU, GELU) hand on what they get,
    and so does what only rearranges numbers. So it takes networks of these steps (VGG, ResNet, DenseNet,
    Inception), and none with layer normalisation, attention or gates (ViT, Swin, ConvNeXt, EfficientNet): a
    step without a rule is named. With the share of the biases it adds up to the target's output, but for what
    epsilon keeps; a warning says where the sums are more than 10 % off.
    Option: `epsilon` (1e-9), added to the size of each output that relevance is divided by.
    """
    epsilon = check_number(request.options["epsilon"], "epsilon", exclude_low=True)
    relevance = Relevance(epsilon)
    multipliers, outputs = pass_back(request.model, request.images, request.targets, relevance)
    found = multipliers * request.images
    check_sums(
        found.sum() + relevance.of_biases, outputs.sum(), outputs, NEARLY,
        f"LRP: with epsilon={epsilon:g} the relevance of pixels and biases is more than {NEARLY:.0%} off the "
        "outputs" + relevance.named(),
    )  # fmt: skip
    return found


def separate_modules(model: nn.Module) -> nn.Module:
    """The network itself, with a DeprecationWarning: DeepLIFT and LRP take any network as it is."""
    warn(
        DeprecationWarning("separate_modules() is no longer needed: DeepLIFT and LRP take a network as it is")
    )
    return model
