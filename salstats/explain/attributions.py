"""Gradient methods: Integrated Gradients, Input x Gradient, DeepLIFT (captum) and GradientSHAP.

All run in the network's own precision, whatever `mixed_precision` says: half precision loses small gradients.
`baseline` is the image without evidence, in the numbers that the network takes: "zero", "mean" (of each
channel of the image), "blur" (as in `insertion`), a number, or an array of shape (channels,) or (channels,
height, width).
"""

import warnings
from typing import Any

import numpy as np
import torch
from captum.attr import DeepLift, InputXGradient, IntegratedGradients
from torch import nn

from salstats.checks import ShapeError, ValueRangeError, check_count
from salstats.explain.forward import check_outputs
from salstats.explain.request import Request
from salstats.explain.rules import check_rules, cleared
from salstats.explain.step_images import KERNEL, SIGMA, check_baseline

#: Modules for which captum's DeepLIFT mixes the images of a batch: max pooling takes the gradient of the
#: first where input and baseline agree, softmax the mean over all.
_MIXING = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.Softmax)


def baselines_of(images: torch.Tensor, baseline: Any) -> torch.Tensor:
    """Return the baseline of each image, in the images' shape."""
    made = check_baseline(baseline, (1, *images.shape[1:]), KERNEL, SIGMA)
    return made.of(images, slice(None)).contiguous()


def run_input_x_gradient(request: Request) -> torch.Tensor:
    """Return each pixel's value times the gradient of the target by it.

    Parameters
    ----------
    request : Request
        No options.

    Returns
    -------
    Tensor, shape (b, channels, height, width)
        For a linear network w*x.

    References
    ----------
    Shrikumar, A. et al. (2016). Not just a black box: learning important features through propagating
    activation differences. arXiv:1605.01713
    """
    return InputXGradient(request.model).attribute(_leaf(request.images), target=request.targets).detach()


def run_integrated_gradients(request: Request) -> torch.Tensor:
    """Return the gradient of the target, integrated from the baseline to the image, times their difference.

    Parameters
    ----------
    request : Request
        Options: `baseline` ("zero"); `n_steps` (50), points of Gauss-Legendre quadrature.

    Returns
    -------
    Tensor, shape (b, channels, height, width)
        Adds up to the target's output for the image less that for the baseline, but for the error of the
        quadrature.

    Raises
    ------
    ShapeError, ValueRangeError
        The baseline fits no image, or `n_steps` is not a whole number from 1 up.

    References
    ----------
    Sundararajan, M., Taly, A. and Yan, Q. (2017). Axiomatic attribution for deep networks. Proceedings of
    the 34th International Conference on Machine Learning, PMLR 70, 3319-3328. arXiv:1703.01365
    """
    steps = check_count(request.options["n_steps"], "n_steps")
    return (
        IntegratedGradients(request.model)
        .attribute(
            request.images,
            baselines=baselines_of(request.images, request.options["baseline"]),
            target=request.targets,
            n_steps=steps,
            internal_batch_size=max(request.batch_size, len(request.images)),
        )
        .detach()
    )


def run_deeplift(request: Request) -> torch.Tensor:
    """Return what each pixel contributes to the target's difference from its output for the baseline.

    The rescale rule of DeepLIFT. Every nonlinear step must be a module of its own and of a type that captum
    has a rule for; others are refused by name. Networks with max pooling or softmax are taken one image at a
    time, since captum's rules for them mix the images of a batch.

    Parameters
    ----------
    request : Request
        Option: `baseline` ("zero").

    Returns
    -------
    Tensor, shape (b, channels, height, width)
        Adds up to the target's output for the image less that for the baseline.

    Raises
    ------
    SalstatsError
        A nonlinear step has no rule, is no module, or is a module used twice: named, with what to change.
    ShapeError, ValueRangeError
        The baseline fits no image.

    References
    ----------
    Shrikumar, A., Greenside, P. and Kundaje, A. (2017). Learning important features through propagating
    activation differences. Proceedings of the 34th International Conference on Machine Learning, PMLR 70,
    3145-3153. arXiv:1704.02685
    """
    images = _leaf(request.images)
    baselines = baselines_of(request.images, request.options["baseline"])
    check_rules(request.model, request.images[:1], "deeplift")
    alone = any(isinstance(module, _MIXING) for module in request.model.modules())
    size = 1 if alone else len(images)
    pieces = []
    with cleared(request.model), warnings.catch_warnings():
        # it announces its hooks; they are gone when it returns
        warnings.filterwarnings("ignore", message="Setting forward, backward hooks", category=UserWarning)
        for start in range(0, len(images), size):
            part = slice(start, start + size)
            found = DeepLift(request.model).attribute(
                _leaf(images[part]), baselines=baselines[part], target=request.targets[part]
            )
            pieces.append(found.detach())
    return torch.cat(pieces)


def run_gradient_shap(request: Request) -> torch.Tensor:
    """Return the mean of gradient times difference at random points between baselines and the noisy image.

    captum's formula. captum draws from the global random generators, so the draws are made here, from those
    of each image: first the baselines' places, then the points, then the noise.

    Parameters
    ----------
    request : Request
        Options: `baseline` ("zero"), also an array (m, channels, height, width) of which one is drawn for
        each point; `n_samples` (20), points; `stdev` (0), standard deviation of the noise in the numbers that
        the network takes.

    Returns
    -------
    Tensor, shape (b, channels, height, width)
        On average adds up to the target's output for the image less its mean for the baselines.

    Raises
    ------
    ShapeError, ValueRangeError
        The baseline fits no image, `n_samples` is not a whole number from 1 up, or `stdev` is negative.

    References
    ----------
    Lundberg, S. M. and Lee, S.-I. (2017). A unified approach to interpreting model predictions. Advances in
    Neural Information Processing Systems 30, 4765-4774. arXiv:1705.07874
    """
    n_samples = check_count(request.options["n_samples"], "n_samples")
    stdev = request.options["stdev"]
    if isinstance(stdev, bool) or not isinstance(stdev, int | float) or not 0 <= stdev < np.inf:
        raise ValueRangeError(f"stdev must be a number from 0 up, not {stdev!r}")
    maps = []
    for place, image in enumerate(request.images):
        baselines = _distribution(image, request.options["baseline"])
        generator = request.generator(place)
        drawn = generator.integers(len(baselines), size=n_samples)
        points = generator.random(n_samples)
        total = torch.zeros_like(image)
        for start in range(0, n_samples, request.batch_size):
            part = slice(start, start + request.batch_size)
            count = len(points[part])
            noise = stdev * generator.standard_normal((count, *image.shape)) if stdev else 0.0
            noisy = image + torch.as_tensor(noise).to(image)
            lengths = torch.as_tensor(points[part]).to(image).reshape(-1, 1, 1, 1)
            start_points = baselines[torch.as_tensor(drawn[part], device=image.device)]
            difference = noisy - start_points
            gradients = _gradients(
                request.model, start_points + lengths * difference, request.targets[place].expand(count)
            )
            total += (gradients * difference).sum(dim=0)
        maps.append(total / n_samples)
    return torch.stack(maps)


def _distribution(image: torch.Tensor, baseline: Any) -> torch.Tensor:
    """Return the baselines of which one is drawn for each point, shape (m, channels, height, width)."""
    if not isinstance(baseline, str) and np.ndim(baseline) == 4:
        given = (
            baseline.detach() if isinstance(baseline, torch.Tensor) else torch.as_tensor(np.asarray(baseline))
        )
        every = given.to(image)
        if not len(every) or every.shape[1:] != image.shape:
            raise ShapeError(
                f"baseline has shape {tuple(every.shape)}; several for images of shape {tuple(image.shape)} "
                "have that shape after the first dimension"
            )
        if not torch.isfinite(every).all():
            raise ValueRangeError("baseline must hold finite numbers")
        return every
    return baselines_of(image[None], baseline)


def _gradients(model: nn.Module, images: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the gradient of each image's target by its pixels; parameters keep theirs."""
    with torch.enable_grad():
        leaf = _leaf(images)
        outputs = check_outputs(model(leaf), len(leaf))
        chosen = outputs.gather(1, targets[:, None].long()).sum()
        (gradients,) = torch.autograd.grad(chosen, leaf)
    return gradients


def _leaf(images: torch.Tensor) -> torch.Tensor:
    """Return a copy that gradients are taken by; captum warns where it has to ask for them itself."""
    return images.detach().clone().requires_grad_()
