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
from salstats.errors import SalstatsError, Setting, ShapeError, ValueRangeError, warn
from salstats.explain.baselines import baseline_of_each_image
from salstats.explain.multipliers import (
    APPROXIMATE_TOLERANCE,
    EXACT_TOLERANCE,
    Relevance,
    Rescale,
    multipliers_and_target_outputs,
    target_outputs,
    wrong_sums_mask,
)
from salstats.explain.request import RawAttributions, Request


def run_input_x_gradient(request: Request) -> RawAttributions:
    """Return the value of each pixel times the gradient of the target's output by it.

    Shrikumar et al. 2016, doi:10.48550/arXiv.1605.01713.
    """
    # importing captum takes seconds, for which the other methods need not wait
    from captum.attr import InputXGradient

    # captum warns of images that do not require gradients
    leaf = request.images.detach().clone().requires_grad_()
    return InputXGradient(request.model).attribute(leaf, target=request.targets).detach()


def run_integrated_gradients(request: Request) -> RawAttributions:
    """Return the gradient, integrated from baseline to image, times their difference.

    The integral is over the straight line from the baseline to the image. The values sum to the target's
    output for the image minus that for the baseline, up to the error of the quadrature (Sundararajan et al.
    2017, doi:10.48550/arXiv.1703.01365); a warning says if the sums of a batch are more than 10 % off.
    Options: `baseline` ("zero"); `n_steps` (50), points of Gauss-Legendre quadrature.
    """
    from captum.attr import IntegratedGradients

    n_steps = check_count(request.options["n_steps"], "n_steps")
    baselines = baseline_of_each_image(request.images, request.options["baseline"])
    attributions = IntegratedGradients(request.model).attribute(
        request.images,
        baselines=baselines,
        target=request.targets,
        n_steps=n_steps,
        # a pass holds at least one point of each image
        internal_batch_size=max(request.batch_size, len(request.images)),
    )
    with torch.no_grad():
        outputs = target_outputs(request.model(request.images.clone()), request.targets)
        baseline_outputs = target_outputs(request.model(baselines.clone()), request.targets)
    sums = attributions.flatten(1).sum(dim=1)
    differences = outputs - baseline_outputs
    # The error of the quadrature is judged over all images, since the difference of one may be near 0: the
    # sum of all errors is compared with that of all differences.
    gap = (sums - differences).abs().sum()
    total = differences.abs().sum()
    if wrong_sums_mask(total + gap, total, outputs.abs().sum(), APPROXIMATE_TOLERANCE):
        warn(
            "Integrated Gradients: with ",
            Setting("n_steps", n_steps),
            f" sums are more than {APPROXIMATE_TOLERANCE:.0%} off the differences of outputs that they stand "
            "for",
            hint="more steps come nearer",
        )
    return attributions.detach()


def run_deeplift(request: Request) -> RawAttributions:
    """Return the contribution of each channel of a pixel to the change of the target's output.

    The change is from the baseline to the image, and the rule DeepLIFT's rescale rule (Shrikumar et al.
    2017). At each step of the network the contributions of the arguments add up to the change of the result
    (see `Rescale`), even for pooled maxima of windows that overlap, products such as those of
    squeeze-and-excitation or attention, softmax, and normalisation by layers or groups. The contributions of
    an image therefore add up to the change of the output. Functions that are not linear and have no rule
    break this: if the sum of an image is off by more than 1 %, an error names such functions.
    Option: `baseline` ("zero").
    """
    # copies are passed, as a network may change its images in place
    baselines = baseline_of_each_image(request.images, request.options["baseline"])
    rescale = Rescale()
    with torch.no_grad(), rescale:
        model_outputs = request.model(baselines.clone())
    baseline_outputs = target_outputs(model_outputs, request.targets)
    rescale.records_baselines = False
    multipliers, outputs = multipliers_and_target_outputs(
        request.model, request.images, request.targets, rescale
    )
    contributions = multipliers * (request.images - baselines)
    sums = contributions.flatten(1).sum(dim=1)
    if wrong_sums_mask(sums, outputs - baseline_outputs, outputs, EXACT_TOLERANCE).any():
        raise SalstatsError(
            "DeepLIFT: contributions do not add up to the differences of outputs"
            + rescale.unknown_functions_text()
        )
    return contributions


def run_gradient_shap(request: Request) -> RawAttributions:
    """Return the mean of gradient times difference at random points between baselines and the noisy image.

    captum's formula (Lundberg & Lee 2017, doi:10.48550/arXiv.1705.07874): the mean over samples of (x + e
    - b) times the gradient at b + u (x + e - b), with a baseline b, noise e and a number u from 0 to 1
    drawn for each sample of the image x. captum draws from the global random generators, so the draws are
    made here, from those of each image: first the baselines, then u, then the noise. On average the
    values sum to the target's output for the image minus its mean for the baselines.
    Options: `baseline` ("zero"), also an array (m, channels, height, width) of which one is drawn for each
    sample; `n_samples` (20); `stdev` (0), standard deviation of the noise in the numbers that the network
    takes.
    """
    n_samples = check_count(request.options["n_samples"], "n_samples")
    stdev = check_number(request.options["stdev"], "stdev")
    maps = []
    for index, image in enumerate(request.images):
        baselines = _baselines_to_draw(image, request.options["baseline"])
        generator = request.generator(index)
        drawn_indices = generator.integers(len(baselines), size=n_samples)
        baseline_indices = torch.as_tensor(drawn_indices, device=image.device)
        fractions = torch.as_tensor(generator.random(n_samples)).to(image).reshape(-1, 1, 1, 1)
        total = torch.zeros_like(image)
        for start in range(0, n_samples, request.batch_size):
            batch = slice(start, start + request.batch_size)
            batch_fractions = fractions[batch]
            batch_baselines = baselines[baseline_indices[batch]]
            noise: Any = 0.0
            if stdev:
                noise = stdev * generator.standard_normal((len(batch_fractions), *image.shape))
            # x + e - b, and the points b + u (x + e - b)
            difference = image + torch.as_tensor(noise).to(image) - batch_baselines
            points = (batch_baselines + batch_fractions * difference).detach().requires_grad_()
            targets = request.targets[index].expand(len(batch_fractions))
            with torch.enable_grad():
                total_output = target_outputs(request.model(points), targets).sum()
                (gradients,) = torch.autograd.grad(total_output, points)
            total += (gradients * difference).sum(dim=0)
        maps.append(total / n_samples)
    return torch.stack(maps)


def _baselines_to_draw(image: torch.Tensor, baseline: Any) -> torch.Tensor:
    """Return the baselines of which one is drawn for each sample, shape (m, channels, height, width)."""
    if isinstance(baseline, str) or np.ndim(baseline) != 4:
        return baseline_of_each_image(image[None], baseline)
    baselines = torch.as_tensor(baseline).detach().to(image)
    if not len(baselines) or baselines.shape[1:] != image.shape:
        raise ShapeError(
            Setting("baseline"),
            f" has shape {tuple(baselines.shape)}; several for images of shape {tuple(image.shape)} have "
            "that shape after the first dimension",
            value=tuple(baselines.shape),
        )
    if not torch.isfinite(baselines).all():
        raise ValueRangeError(Setting("baseline"), " must hold finite numbers")
    return baselines


def run_lrp(request: Request) -> RawAttributions:
    """Return the relevance of each pixel and channel: the target's output, passed back step by step.

    The epsilon rule applies wherever numbers are mixed: convolutions, linear layers, batch normalisation,
    sums, averages and pooled maxima. Activations with f(0) = 0 (ReLU, tanh, SiLU, GELU) pass on what they
    get, and so do steps that only rearrange numbers. The method takes networks of these steps (VGG, ResNet,
    DenseNet, Inception), and none with layer normalisation, attention or gates (ViT, Swin, ConvNeXt,
    EfficientNet): an error names such a step. The relevance of pixels and biases sums to the target's output,
    up to the part that epsilon absorbs; a warning says if the sum of an image is more than 10 % off, and
    names functions that the method does not know.
    Option: `epsilon` (1e-9), added to the size of each output that relevance is divided by.

    Bach et al. 2015, doi:10.1371/journal.pone.0130140.
    """
    epsilon = check_number(request.options["epsilon"], "epsilon", exclude_zero=True)
    rules = Relevance(epsilon, len(request.images))
    multipliers, outputs = multipliers_and_target_outputs(
        request.model, request.images, request.targets, rules
    )
    pixel_relevance = multipliers * request.images
    sums = pixel_relevance.flatten(1).sum(dim=1).double() + rules.bias_relevance.to(outputs.device)
    if wrong_sums_mask(
        sums, expected=outputs, outputs=outputs, share_of_expected=APPROXIMATE_TOLERANCE
    ).any():
        warn(
            "LRP: with ",
            Setting("epsilon", epsilon),
            f" the relevance of pixels and biases is more than {APPROXIMATE_TOLERANCE:.0%} off the outputs"
            + rules.unknown_functions_text(),
        )
    return pixel_relevance


def separate_modules(model: nn.Module) -> nn.Module:
    """Return the network itself, with a DeprecationWarning: DeepLIFT and LRP take any network as it is."""
    warn(
        DeprecationWarning("separate_modules() is no longer needed: DeepLIFT and LRP take a network as it is")
    )
    return model
