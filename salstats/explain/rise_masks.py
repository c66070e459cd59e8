"""The random masks of RISE: how many of them leave the network its class, and what those show."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import nn

from salstats.checks import check_choice, check_level
from salstats.errors import Message, SalstatsError, Setting, ShapeError, ValueRangeError
from salstats.explain.baselines import check_baseline
from salstats.explain.forward_passes import (
    BATCH_SIZE,
    PROBABILITIES,
    evaluating,
    function_if_softmax_outputs_or_logarithms,
    n_images_per_pass_capped_on_cpu,
    to_probabilities,
)
from salstats.explain.input_checks import check_images, check_targets
from salstats.explain.methods import METHODS, options_with_defaults
from salstats.explain.named_maps import image_keys
from salstats.explain.perturbations import masks_and_outputs
from salstats.explain.request import Request
from salstats.explain.saliency_maps import identical_image_groups_and_image_seeds


def rise_masks(
    model: nn.Module,
    images: Any,
    targets: int | Sequence[int] | np.ndarray | torch.Tensor,
    *,
    region: Any = None,
    cases: Sequence[Any] | None = None,
    tasks: Sequence[Any] | None = None,
    probability: str = "softmax",
    cutoff: float = 0.5,
    batch_size: int = BATCH_SIZE,
    device: str | torch.device | None = None,
    mixed_precision: bool = False,
    rng: int | np.random.Generator = 0,
    seeds: Sequence[int] | np.ndarray | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Share of RISE's random masks behind which the network keeps its class, and what these masks show.

    The masks are those with which `explain(method="rise")` makes the map of an image from the same `rng` or
    `seeds`. Where hardly any mask passes, the map is a mean of masks behind which the network does not see
    the class. Where the masks that pass show a region more than the others do, the class depends on it.

    Parameters
    ----------
    model, images, targets, batch_size, device, mixed_precision, rng, seeds
        As for `explain`.
    region : ndarray of bool, shape (height, width) or (n, height, width), optional
        Region of the network's input, such as the front of a head or the truth: one for all images, or one
        for each.
    cases, tasks : sequence of str, optional
        Name of each image, by default "0", "1", ..., and what is looked for on it.
    probability : {"softmax", "sigmoid", "none"}
        "softmax": a mask passes where the target's output is the largest (the first of equal ones).
        "sigmoid": where its probability is at least `cutoff`. "none": where the output itself is. Outputs
        that are probabilities of a softmax already are taken as they are with "sigmoid", too.
    cutoff : float
        Strictly between 0 and 1; not for "softmax".
    **options
        `n_masks`, `cells`, `keep` and `baseline` of RISE, see `list_methods`.

    Returns
    -------
    DataFrame
        One row per image: `case`, `task` where tasks are given, `target`, `n_masks`, `n_passing`,
        `share_passing`; with a region `shown_passing` and `shown_failing`, the mean share of the region shown
        by the masks that pass and by those that do not, NaN where there are none; `probability`, "none" where
        no sigmoid was taken; `baseline`.

    Raises
    ------
    SalstatsError
        As for `explain`; a region has another shape than the images, holds something else than 0 and 1, or
        is empty.

    References
    ----------
    Petsiuk, V., Das, A., Saenko, K. (2018). RISE: Randomized Input Sampling for Explanation of Black-box
    Models. British Machine Vision Conference. doi:10.48550/arXiv.1806.07421

    Examples
    --------
    A network that sees class 1 where the upper left pixel is bright:

    >>> import numpy as np, torch
    >>> from salstats import explain as ex
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 2))
    >>> _ = model[1].weight.data.zero_(), model[1].bias.data.copy_(torch.tensor([0.5, 0.0]))
    >>> model[1].weight.data[1, 0] = 1.0
    >>> corner = np.zeros((4, 4), bool)
    >>> corner[0, 0] = True
    >>> masks = ex.rise_masks(model, np.ones((1, 1, 4, 4)), 1, region=corner, n_masks=500, cells=2)
    >>> masks[["n_masks", "share_passing", "shown_passing", "shown_failing"]].round(2)
       n_masks  share_passing  shown_passing  shown_failing
    0      500           0.49            1.0            0.0
    """
    check_choice(probability, PROBABILITIES, "probability")
    check_level(cutoff, "cutoff")
    record = METHODS["rise"]
    rise_options = options_with_defaults(record, options)
    stack = check_images(images)
    keys = image_keys(cases, tasks, len(stack))
    regions = None if region is None else _regions_as_weights(region, stack)
    groups, seed_by_image = identical_image_groups_and_image_seeds(record, stack, seeds, rng)
    n_passing = np.zeros(len(stack), np.int64)
    # sums, over the masks that pass and those that do not, of the share of the region that a mask shows
    shown_passing = np.zeros(len(stack))
    shown_failing = np.zeros(len(stack))
    with evaluating(model, device) as torch_device:
        request = Request(
            model=model,
            device=torch_device,
            batch_size=n_images_per_pass_capped_on_cpu(batch_size, stack, torch_device),
            mixed_precision=mixed_precision,
            images=stack,
            targets=torch.zeros(len(stack), dtype=torch.int64),
            seeds=tuple(int(seed) for seed in seed_by_image),
            options=rise_options,
            equal_image_groups=groups,
        )
        image_outputs = request.outputs(stack)
        n_outputs = image_outputs.shape[1]
        if probability == "softmax" and n_outputs < 2:
            raise ShapeError(
                "a network with one output always keeps its class",
                hint=Message(Setting("probability", "sigmoid"), " looks at its probability"),
                option="probability",
                value="softmax",
            )
        if probability == "sigmoid" and function_if_softmax_outputs_or_logarithms(image_outputs) == "none":
            # as the map of RISE does: a sigmoid of a probability is at least 0.5, so that every mask passes
            probability = "none"
        output_indices = check_targets(targets, len(stack), n_outputs)
        for indices, image, baseline_pixels in request.distinct_images_with_indices_and_baselines():
            generator = request.generator(indices[0])
            for masks, outputs in masks_and_outputs(request, image, baseline_pixels, generator):
                # (masks, targets of this image)
                passes = _is_target_kept_by_mask_and_target(
                    outputs, output_indices[indices], probability, cutoff
                )
                n_passing[indices] += passes.sum(axis=0)
                if regions is not None:
                    region_weights = regions[indices].reshape(len(indices), -1)
                    flat_masks = masks.flatten(1).cpu().double().numpy()
                    # share of the region that each mask shows
                    shares = flat_masks @ region_weights.T
                    shown_passing[indices] += np.where(passes, shares, 0).sum(axis=0)
                    shown_failing[indices] += np.where(passes, 0, shares).sum(axis=0)
    n_masks = rise_options["n_masks"]
    columns = keys.columns(np.arange(len(stack)))
    columns |= {
        "target": output_indices,
        "n_masks": n_masks,
        "n_passing": n_passing,
        "share_passing": n_passing / n_masks,
    }
    if regions is not None:
        # without such masks there is no mean
        with np.errstate(invalid="ignore"):
            columns["shown_passing"] = shown_passing / n_passing
            columns["shown_failing"] = shown_failing / (n_masks - n_passing)
    baseline = check_baseline(rise_options["baseline"], tuple(stack.shape)).label
    return pd.DataFrame(columns | {"probability": probability, "baseline": baseline})


def _is_target_kept_by_mask_and_target(
    outputs_behind_masks: torch.Tensor, targets: np.ndarray, probability: str, cutoff_unless_softmax: float
) -> np.ndarray:
    """Return True where a mask passes for a target, shape (masks, targets).

    With "softmax" the target's output is then the largest, else its probability is at least the cutoff.
    SalstatsError if an output is NaN.
    """
    if torch.isnan(outputs_behind_masks).any():
        raise SalstatsError(
            "the network gives NaN behind a mask",
            hint=Message(
                "a network that is right on every image, another ",
                Setting("baseline"),
                " or full precision would do",
            ),
        )
    if probability == "softmax":
        return np.asarray(outputs_behind_masks.argmax(dim=1).numpy()[:, None] == targets)
    return np.asarray(
        to_probabilities(outputs_behind_masks, probability).numpy()[:, targets] >= cutoff_unless_softmax
    )


def _regions_as_weights(region: Any, images: torch.Tensor) -> np.ndarray:
    """Return the regions of all images as weights that sum to 1, shape (n, height, width)."""
    values = np.asarray(region)
    shape = (len(images), int(images.shape[2]), int(images.shape[3]))
    if values.shape not in (shape, shape[1:]):
        raise ShapeError(
            Setting("region"),
            f" has shape {values.shape}; it must have that of the images, {shape[1:]} or {shape}",
        )
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise ValueRangeError(Setting("region"), " must hold 0 and 1, or False and True")
    regions = np.broadcast_to(values.astype(np.float64), shape)
    sizes = regions.sum(axis=(1, 2))
    if not sizes.all():
        raise ValueRangeError(
            Setting("region"),
            f" marks nothing on image {int(np.argmin(sizes))}",
            hint="leave such images out",
            rows=np.flatnonzero(sizes == 0).tolist(),
        )
    return regions / sizes[:, None, None]
