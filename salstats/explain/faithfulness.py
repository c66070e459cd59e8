"""Insertion and deletion: what a network makes of an image as its most salient pixels come or go."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from salstats.checks import check_choice, check_count
from salstats.errors import Message, SalstatsError, Setting
from salstats.explain.baselines import BASELINES, BLUR_KERNEL, BLUR_SIGMA, black_baseline, check_baseline
from salstats.explain.forward_passes import BATCH_SIZE, PROBABILITIES, evaluating, resolved_probability
from salstats.explain.input_checks import check_images, check_targets
from salstats.explain.named_maps import (
    FolderMaps,
    ImageKeys,
    ImageMap,
    ImagesAndMaps,
    image_keys,
    maps_of_each_image_and_method,
    stored_maps_of_network,
    warn_of_stretched_maps,
)
from salstats.explain.networks import Network
from salstats.explain.pixel_steps import (
    CONSTANT_MAP,
    OrderedImage,
    PixelSteps,
    changed_pixel_counts,
    raise_for_nan_from_model,
    target_probabilities,
)
from salstats.jobs import progress_counter, with_progress_bar

#: Default number of steps of a curve.
DEFAULT_STEPS = 100


def insertion(
    model: nn.Module | Network,
    images: Any,
    maps: Any,
    targets: Any = None,
    *,
    cases: Sequence[Any] | None = None,
    tasks: Sequence[Any] | None = None,
    method: str | None = None,
    baseline: Any = "blur",
    kernel: int = BLUR_KERNEL,
    sigma: float = BLUR_SIGMA,
    steps: int = DEFAULT_STEPS,
    chunk: int | None = None,
    probability: str | None = None,
    batch_size: int = BATCH_SIZE,
    device: str | torch.device | None = None,
    mixed_precision: bool = False,
    progress: bool = False,
) -> pd.DataFrame:
    """Insertion curve of each map: the target's probability as salient pixels are put in.

    Pixels come in the order of salience, the most salient first, into a blurred or blank image, until the
    whole image is there. A map that finds what the network looks at makes the probability rise early: a
    larger area under the curve is better. See `curve_scores` for the area.

    Parameters
    ----------
    model : torch.nn.Module or Network
        The network, with outputs of shape (n, n_outputs). It needs neither hooks nor gradients, so that
        TorchScript and exported models work; one exported for a single image needs `batch_size=1`.
    images : ndarray or Tensor of float, shape (n, channels, height, width)
        Images as the network takes them, resized and scaled. An image with several targets is repeated, once
        for each. If `maps` is a folder: case -> image for each of its cases, as `make_maps` takes them.
    maps : array_like of float, shape (n, m, k), mapping of str to such, or path
        One map per image, or method -> maps: `{"gradcam": ..., "ig": ...}`. Values are finite; larger ones
        are more salient. Maps of another size are resized to the images as `score` does it (bilinear,
        half-pixel centres); a list may hold maps of several sizes. A path names a map folder, of `make_maps`
        or another program, and `model` is a `Network`; its maps are placed on the part of each image that the
        network saw, even where images were padded or cropped.
    targets : int or sequence of int, shape (n,), optional
        Index of the network's output, for all images or for each. By default a `Network` gives the outputs
        of `tasks`, or of the tasks of the folder.
    cases : sequence of str, optional
        Name of each image; by default "0", "1", ... If `maps` is a folder: the cases whose curves are
        computed, by default all of the folder.
    tasks : sequence of str, optional
        Task of each image, such as a finding. Images with several targets need it. If `maps` is a folder:
        one task for each of `cases`; only these pairs are computed, such as the images with a finding.
    method : str, optional
        Name of the method if `maps` is not a mapping; by default "saliency".
    baseline : {"blur", "zero", "mean", "black"}, number or array_like
        Values of the pixels that are not shown. "blur": the image blurred. "zero": 0, which is the mean
        colour of standardised images. "black": the value that the preparation of a `Network` gives a pixel of
        0. "mean": the mean of each channel of the image. Or a number; a value for each channel, shape
        (channels,); an image, shape (channels, height, width), or one for each image.
    kernel, sigma : int, float
        Side and standard deviation of the blur in pixels.
    steps : int
        Number of steps of the curve, as equal in pixels as possible. A curve has `steps + 1` points with
        both ends, and fewer if the image has fewer pixels than steps.
    chunk : int, optional
        Pixels of a step, instead of `steps`; the last step takes the remaining pixels.
    probability : {"sigmoid", "softmax", "none"}, optional
        "sigmoid": each output is a probability of its own. "softmax": one class per image. "none": the
        output is a probability already. By default that of the `Network`; for a module as in `predict`.
    batch_size : int
        Images in a forward pass; a batch may hold several steps, maps and images. On a CPU a pass has at most
        as many pixels as 8 images of 224 x 224.
    device : str or torch.device, optional
        "cpu", "cuda", "mps", or "auto" for the fastest available; by default the model's device.
    mixed_precision : bool
        Compute in half precision if the device supports it.
    progress : bool
        Show a bar on stderr if it is a terminal.

    Returns
    -------
    DataFrame
        One row per map and step; images in the order given, then methods, then steps:

        - `case`, `task` where tasks are given, `method`, and `model` and `seed` if a folder has them;
        - `metric`: "insertion";
        - `step` from 0, `fraction` of the pixels that are changed, from 0 to 1, `n_pixels` changed;
        - `prob`: the target's probability; NaN throughout for a constant map, which has no order;
        - `target`;
        - how it was made: `baseline`, `n_steps`, `probability`;
        - `reason` why it is undefined: "constant map", or empty.

    Raises
    ------
    SalstatsError
        Images, outputs, maps, targets or names do not fit together; a map, an image or an output is not
        finite; a case, or a case and task, is named twice; a single output with "softmax"; a folder's maps do
        not go with the images, or were made from another network.

    Notes
    -----
    Equal values are taken in row-major order (in the evaluation of RISE their order is left to a sort that
    is not stable). The area hardly depends on the number of steps: RISE takes 224 at 224 x 224 pixels,
    `chunk=224`. As there, the blur is a Gaussian of SD 5 pixels cut to 11 x 11 and folded at its ends, and
    outside of the image is zero (evaluation.py and Evaluation.ipynb of eclique/RISE, commit fac5d54).

    Saliency-Bench begins with a blank image (doi:10.48550/arXiv.2310.08537): `baseline="black"`.

    The results do not depend on the batch size, but for rounding.

    References
    ----------
    Petsiuk, V., Das, A., Saenko, K. (2018). RISE: Randomized Input Sampling for Explanation of Black-box
    Models. British Machine Vision Conference. doi:10.48550/arXiv.1806.07421

    Examples
    --------
    A network that looks at one pixel only, and a map that knows it:

    >>> import numpy as np, torch
    >>> from salstats import explain as ex
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 1))
    >>> _ = model[1].weight.data.copy_(torch.tensor([[0.0, 0.0, 0.0, 1.0]])), model[1].bias.data.zero_()
    >>> image, saliency = np.ones((1, 1, 2, 2)), [[[0.0, 0.1, 0.2, 0.9]]]
    >>> curves = ex.insertion(model, image, np.reshape(saliency, (1, 2, 2)), 0, baseline="zero",
    ...     probability="none", method="known")
    >>> curves[["case", "method", "metric", "fraction", "prob"]].head(3)
      case method     metric  fraction  prob
    0    0  known  insertion      0.00   0.0
    1    0  known  insertion      0.25   1.0
    2    0  known  insertion      0.50   1.0
    """
    labels = _ImageLabels(targets, cases, tasks, method)
    options = _CurveOptions(
        "insertion", baseline, kernel, sigma, steps, chunk, probability, batch_size, device, mixed_precision,
        progress,
    )  # fmt: skip
    return _curve_frame(model, images, maps, labels, options)


def deletion(
    model: nn.Module | Network,
    images: Any,
    maps: Any,
    targets: Any = None,
    *,
    cases: Sequence[Any] | None = None,
    tasks: Sequence[Any] | None = None,
    method: str | None = None,
    baseline: Any = "zero",
    kernel: int = BLUR_KERNEL,
    sigma: float = BLUR_SIGMA,
    steps: int = DEFAULT_STEPS,
    chunk: int | None = None,
    probability: str | None = None,
    batch_size: int = BATCH_SIZE,
    device: str | torch.device | None = None,
    mixed_precision: bool = False,
    progress: bool = False,
) -> pd.DataFrame:
    """Deletion curve of each map: the target's probability as salient pixels are taken out.

    The pixels go in the order of salience, the most salient first, until only the baseline is left. A map
    that finds what the network looks at makes the probability fall early: a smaller area is better.

    Parameters, errors and the frame, with `metric` "deletion", are those of `insertion`; the baseline is
    "zero" by default, as in the evaluation of RISE.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from salstats import explain as ex
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 1))
    >>> _ = model[1].weight.data.copy_(torch.tensor([[0.0, 0.0, 0.0, 1.0]])), model[1].bias.data.zero_()
    >>> curves = ex.deletion(model, np.ones((1, 1, 2, 2)), np.arange(4.0).reshape(1, 2, 2), 0,
    ...     probability="none")
    >>> curves["prob"].tolist()
    [1.0, 0.0, 0.0, 0.0, 0.0]
    """
    labels = _ImageLabels(targets, cases, tasks, method)
    options = _CurveOptions(
        "deletion", baseline, kernel, sigma, steps, chunk, probability, batch_size, device, mixed_precision,
        progress,
    )  # fmt: skip
    return _curve_frame(model, images, maps, labels, options)


class _ImageLabels(NamedTuple):
    """The options of a user that label images and maps, or that choose maps of a folder."""

    targets: Any
    cases: Sequence[Any] | None
    tasks: Sequence[Any] | None
    method: str | None


class _CurveOptions(NamedTuple):
    """Options that insertion and deletion share, as they were given."""

    metric: str
    baseline: Any
    kernel: int
    sigma: float
    steps: int
    chunk: int | None
    probability: str | None
    batch_size: int
    device: str | torch.device | None
    mixed_precision: bool
    progress: bool

    @property
    def progress_bar_label(self) -> str:
        """Return the label of the progress bar."""
        return self.metric.capitalize()


def _curve_frame(
    model: nn.Module | Network, images: Any, maps: Any, labels: _ImageLabels, options: _CurveOptions
) -> pd.DataFrame:
    """Return the insertion or deletion curves of maps, which are arrays or lie in a folder.

    The labels choose maps of a folder, which needs a Network: that has the output of each task.
    """
    network = model if isinstance(model, Network) else None
    options = _with_probability_and_black_of_network(options, network)
    is_folder = isinstance(maps, str | os.PathLike)
    if is_folder:
        _require_network_reject_targets_and_method(network, labels)
    module = model.open() if isinstance(model, Network) else model
    if network is not None and is_folder:
        folder_maps = stored_maps_of_network(network, module, images, maps, labels.cases, labels.tasks)
        return _folder_curves(folder_maps, module, options)
    stack = check_images(images)
    keys = image_keys(labels.cases, labels.tasks, len(stack))
    checked_maps = maps_of_each_image_and_method(maps, labels.method, keys)
    targets = labels.targets
    if targets is None:
        targets = _output_index_of_each_image(network, keys)
    return _curve_points_of_maps(
        module, ImagesAndMaps(stack, keys, targets, checked_maps), options, progress=options.progress
    )


def _require_network_reject_targets_and_method(network: Network | None, labels: _ImageLabels) -> None:
    """Raise SalstatsError for maps of a folder without a Network, or with targets or a method given."""
    if network is None:
        raise SalstatsError(
            "the maps of a folder go with a Network, which says the output of each task",
            hint=Message("give a Network as ", Setting("model"), ", or the maps as an array"),
            option="model",
        )
    for option in ("targets", "method"):
        if getattr(labels, option) is not None:
            raise SalstatsError(
                Setting(option),
                " is known from the table of a folder of maps",
                hint="leave it out",
                option=option,
            )


def _with_probability_and_black_of_network(options: _CurveOptions, network: Network | None) -> _CurveOptions:
    """Return checked options, with the probability and the black pixel of the network filled in."""
    if options.probability is None and network is not None:
        options = options._replace(probability=network.probability)
    if options.probability is not None:
        check_choice(options.probability, PROBABILITIES, "probability")
    if not isinstance(options.baseline, str):
        return options
    if check_choice(options.baseline, (*BASELINES, "black"), "baseline") != "black":
        return options
    if network is None or network.preparation is None:
        raise SalstatsError(
            Setting("baseline", "black"),
            " needs a Network with a preparation, which says what a black pixel becomes",
            hint="give the value itself instead, a number or one by channel",
        )
    return options._replace(baseline=black_baseline(network.preparation))


def _output_index_of_each_image(network: Network | None, keys: ImageKeys) -> list[int]:
    """Return the index of the output of each image's task; SalstatsError if the network does not have it."""
    outputs: Mapping[str, int] = {}
    if network is not None and network.tasks is not None:
        outputs = network.tasks
    if not keys.tasks or any(task not in outputs for task in keys.tasks):
        raise SalstatsError(
            Setting("targets"),
            " says which output each image is asked about; only a Network knows it, of its tasks",
        )
    return [outputs[task] for task in keys.tasks]


def _folder_curves(folder_maps: FolderMaps, module: nn.Module, options: _CurveOptions) -> pd.DataFrame:
    """Compute the curves of the maps of a folder, case by case."""
    frames = []
    with (
        evaluating(module, options.device),
        progress_counter(len(folder_maps), options.progress_bar_label, progress=options.progress) as advance,
    ):
        for images_and_maps in folder_maps.cases():
            frames.append(_curve_points_of_maps(module, images_and_maps, options))
            advance(1)
    return pd.concat(frames, ignore_index=True)


def _curve_points_of_maps(
    model: nn.Module, images_and_maps: ImagesAndMaps, options: _CurveOptions, *, progress: bool = False
) -> pd.DataFrame:
    """Compute the points of the curves of maps, as a frame with a row per map and point."""
    images, keys, targets, maps = images_and_maps
    baseline = check_baseline(options.baseline, tuple(images.shape), options.kernel, options.sigma)
    batch_size = check_count(options.batch_size, "batch_size")
    warn_of_stretched_maps(maps, images.shape[2:], keys)
    # number of changed pixels at each point of a curve
    sizes = changed_pixel_counts(images[0, 0].numel(), options.steps, options.chunk)
    last_step = len(sizes) - 1
    deleting = options.metric == "deletion"
    image_of_map = np.array([image_map.image_index for image_map in maps])
    # probability of the target, (maps, points of a curve)
    curve_probs = np.full((len(maps), len(sizes)), np.nan)
    # indices of the maps that are not constant, in the order in which their steps are computed
    ordered_maps: list[int] = []
    with evaluating(model, options.device) as device:
        pixel_steps = PixelSteps(
            model=model,
            device=device,
            batch_size=batch_size,
            mixed_precision=options.mixed_precision,
            images=images,
            baseline=baseline,
        )
        image_outputs, baseline_outputs = pixel_steps.image_and_baseline_outputs()
        probability = resolved_probability(model, image_outputs, options.probability)
        if probability == "softmax" and image_outputs.shape[1] < 2:
            raise SalstatsError(
                "a network with one output has a softmax of 1 on every image",
                hint=Message(Setting("probability", "sigmoid"), " looks at its probability"),
                option="probability",
                value="softmax",
            )
        output_indices = check_targets(targets, len(images), image_outputs.shape[1])

        def target_probs(
            outputs: torch.Tensor, image_indices: np.ndarray, step_numbers: np.ndarray
        ) -> np.ndarray:
            """Return the probability of the target for each row of outputs; ValueRangeError for NaN.

            `image_indices` and `step_numbers` are those of the rows.
            """
            probs = target_probabilities(outputs, output_indices[image_indices], probability)
            for row in np.flatnonzero(np.isnan(probs)):
                image_index = int(image_indices[row])
                raise_for_nan_from_model(keys.text(image_index), image_index, sizes[step_numbers[row]])
            return probs

        def ordered_images_and_sizes() -> Iterator[tuple[OrderedImage, np.ndarray]]:
            """Yield the image of each map that is not constant, and the numbers of pixels at its inner steps.

            The map's index is added to `ordered_maps`.
            """
            for index, image_map in enumerate(maps):
                ordered = pixel_steps.ordered_image_or_none_for_constant_map(
                    image_map.image_index, image_map.saliency, deleting=deleting
                )
                if ordered is not None:
                    ordered_maps.append(index)
                    yield ordered, sizes[1:-1]

        if deleting:
            first_outputs = image_outputs
            last_outputs = baseline_outputs
        else:
            first_outputs = baseline_outputs
            last_outputs = image_outputs
        # the ends of a curve are the whole image and the baseline, which the maps of an image share
        all_images = np.arange(len(images))
        first_probs = target_probs(first_outputs, all_images, np.full(len(images), 0))
        last_probs = target_probs(last_outputs, all_images, np.full(len(images), last_step))
        curve_probs[:, 0] = first_probs[image_of_map]
        curve_probs[:, -1] = last_probs[image_of_map]
        n_inner_steps = last_step - 1
        n_outputs = 0
        batches = with_progress_bar(
            pixel_steps.step_output_batches(ordered_images_and_sizes()),
            len(maps) * n_inner_steps,
            options.progress_bar_label,
            progress=progress,
        )
        for outputs in batches:
            # the outputs of all batches are the inner steps of one ordered map after the other
            output_numbers = np.arange(n_outputs, n_outputs + len(outputs))
            position, inner_step = np.divmod(output_numbers, n_inner_steps)
            map_indices = np.array(ordered_maps)[position]
            step = inner_step + 1
            curve_probs[map_indices, step] = target_probs(outputs, image_of_map[map_indices], step)
            n_outputs += len(outputs)
    is_constant = ~np.isin(np.arange(len(maps)), ordered_maps)
    curve_probs[is_constant] = np.nan
    columns = keys.columns(image_of_map) | _series_columns(maps)
    n_points = len(sizes)
    repeated = {name: np.repeat(column, n_points) for name, column in columns.items()}
    reason = np.where(is_constant, CONSTANT_MAP, "").astype(object)
    return pd.DataFrame(
        repeated
        | {
            "metric": options.metric,
            "step": np.tile(np.arange(n_points), len(maps)),
            "fraction": np.tile(sizes / sizes[-1], len(maps)),
            "n_pixels": np.tile(sizes, len(maps)),
            "prob": curve_probs.ravel(),
            "target": np.repeat(output_indices[image_of_map], n_points),
            "baseline": baseline.label,
            "n_steps": last_step,
            "probability": probability,
            "reason": np.repeat(reason, n_points),
        }
    )


def _series_columns(maps: Sequence[ImageMap]) -> dict[str, np.ndarray]:
    """Return the column `method`, and the columns `model` and `seed` if any map has one."""
    columns = {}
    for name in ("method", "model", "seed"):
        values = [getattr(image_map.series, name) for image_map in maps]
        if name == "method" or any(value is not None for value in values):
            columns[name] = np.array(values, dtype=object)
    return columns
