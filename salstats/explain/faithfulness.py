"""Insertion and deletion: what a network makes of an image as its most salient pixels come or go."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from salstats.checks import SalstatsError, check_choice, check_count
from salstats.explain.curves import curves_frame
from salstats.explain.forward import BATCH_SIZE, PROBABILITIES, PROBABILITY, evaluating
from salstats.explain.inputs import check_images, check_targets
from salstats.explain.named_maps import Keys, check_keys, check_maps, maps_of_folder, warn_other_shape
from salstats.explain.networks import Network
from salstats.explain.stepping import (
    CONSTANT,
    KERNEL,
    SIGMA,
    Ordered,
    Stepping,
    check_baseline,
    probabilities,
    raise_nan,
    step_sizes,
)
from salstats.jobs import counting, with_bar
from salstats.study import Series

#: Steps of a curve where nothing else is said.
STEPS = 100


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
    kernel: int = KERNEL,
    sigma: float = SIGMA,
    steps: int = STEPS,
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
        Its outputs are (n, n_outputs). No hooks, no gradients: TorchScript and exported models will do; one
        that was exported for a single image takes `batch_size=1`.
    images : ndarray or Tensor of float, shape (n, channels, height, width)
        What the network takes: resized, scaled. An image with several targets stands here once for each.
        For the maps of a folder: case -> image, as `make_maps` takes them.
    maps : array_like of float, shape (n, m, k), mapping of str to such, or path
        One map per image, or of each method: `{"gradcam": ..., "ig": ...}`. Finite; larger means more
        salient. Maps of another size are laid over the images as `score` does (bilinear, half-pixel
        centres); a list may hold maps of several sizes. A path: a folder of `make_maps`, or of anything
        else; the maps of this `Network`, laid where it saw them, padded and cropped images too.
    targets : int or sequence of int, shape (n,), optional
        Index of the network's output, for all images or for each; by default what a `Network` says of
        `tasks`, or of those of the folder.
    cases : sequence of str, optional
        Name of each image; by default "0", "1", ...
    tasks : sequence of str, optional
        What is looked for on each; with several targets per image the case and task tell them apart.
    method : str, optional
        Name of the method where `maps` is no mapping; by default "saliency".
    baseline : {"blur", "zero", "mean"}, number or array_like
        What stands where a pixel is not shown. "blur": the image blurred. "zero": 0, the mean colour where
        images are standardised. "mean": the image's own mean, by channel. A number; a value by channel,
        shape (channels,); an image, shape (channels, height, width), or one for each image.
    kernel, sigma : int, float
        Side and standard deviation in pixels of the blur.
    steps : int
        Steps of the curve, of as nearly as possible the same number of pixels. Both ends are always there:
        a curve has `steps + 1` points, fewer where the image has fewer pixels than steps.
    chunk : int, optional
        Pixels of a step, instead of `steps`; the last step takes what is left.
    probability : {"sigmoid", "softmax", "none"}, optional
        "sigmoid": each output for itself. "softmax": one class per image. "none": the output as it is, for
        a model that ends in probabilities. By default that of the `Network`; of a module "sigmoid".
    batch_size : int
        Images in a forward pass; batches are filled across steps, maps and images. On a CPU a pass has no
        more than 8 images of 224 x 224 pixels, or as many as have so many pixels.
    device : str or torch.device, optional
        "cpu", "cuda", "mps", or "auto", the best there is; by default where the model is.
    mixed_precision : bool
        Half precision where the device has it.
    progress : bool
        Whether to show a bar on stderr, where that is a terminal.

    Returns
    -------
    DataFrame
        One row per map and step; images in the order given, then methods, then steps:

        - `case`, `task` where tasks are given, `method`, for a folder that says them `model` and `seed`;
        - `metric`: "insertion";
        - `step` from 0, `fraction` of the pixels that are changed, from 0 to 1, `n_pixels` changed;
        - `prob`: the target's probability; NaN throughout for a constant map, which has no order;
        - `target`;
        - how it was made: `baseline`, `n_steps`, `probability`;
        - `reason` why it is undefined: "constant map", or empty.

    Raises
    ------
    ShapeError
        Images, outputs, maps or names do not fit together.
    ValueRangeError
        A map or an image is not finite; a target is out of range; the model gave NaN; an option is not one.
    SalstatsError
        A case, or a case and task, is named twice; a single output with "softmax"; the device is not there;
        no targets, or a folder's maps do not go with the images, or were made from another network.

    Notes
    -----
    Equal values are taken in row-major order (in the evaluation of RISE their order is that of a sort
    which does not say). The area hardly depends on the number of steps: RISE takes 224 at 224 x 224 pixels,
    `chunk=224`. As there, the blur is a Gaussian of SD 5 pixels cut to 11 x 11 and folded at its ends, and
    outside of the image is zero (evaluation.py and Evaluation.ipynb of eclique/RISE, commit fac5d54).

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
    how = _How(probability, steps, chunk, batch_size, device, mixed_precision, progress)
    names = _Names(cases, tasks, method)
    return _asked("insertion", model, images, maps, targets, names, _Blank(baseline, kernel, sigma), how)


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
    kernel: int = KERNEL,
    sigma: float = SIGMA,
    steps: int = STEPS,
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

    Parameters
    ----------
    model, images, maps, targets, cases, tasks, method, kernel, sigma, steps, chunk, probability, batch_size
        As for `insertion`.
    baseline : {"blur", "zero", "mean"}, number or array_like
        As for `insertion`; by default "zero", as in the evaluation of RISE.
    device, mixed_precision, progress
        As for `insertion`.

    Returns
    -------
    DataFrame
        As from `insertion`, with `metric` "deletion".

    Raises
    ------
    SalstatsError
        As for `insertion`.

    References
    ----------
    Petsiuk, V., Das, A., Saenko, K. (2018). RISE: Randomized Input Sampling for Explanation of Black-box
    Models. British Machine Vision Conference. doi:10.48550/arXiv.1806.07421

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
    how = _How(probability, steps, chunk, batch_size, device, mixed_precision, progress)
    names = _Names(cases, tasks, method)
    return _asked("deletion", model, images, maps, targets, names, _Blank(baseline, kernel, sigma), how)


class _How(NamedTuple):
    """Options that insertion and deletion share."""

    probability: str | None
    steps: int
    chunk: int | None
    batch_size: int
    device: str | torch.device | None
    mixed_precision: bool
    progress: bool


class _Blank(NamedTuple):
    """What stands where a pixel is not shown, as it was given."""

    baseline: Any
    kernel: int
    sigma: float


class _Names(NamedTuple):
    """What images and maps are called, as it was given."""

    cases: Sequence[Any] | None
    tasks: Sequence[Any] | None
    method: str | None


class _Given(NamedTuple):
    """Images, what each is, the output it is asked about, and its map by each method."""

    images: torch.Tensor
    keys: Keys
    targets: Any
    maps: Mapping[Series, list[np.ndarray]]


def _asked(
    metric: str,
    model: nn.Module | Network,
    images: Any,
    maps: Any,
    targets: Any,
    names: _Names,
    blank: _Blank,
    how: _How,
) -> pd.DataFrame:
    """Curves of maps that are arrays or lie in a folder."""
    network = model if isinstance(model, Network) else None
    if how.probability is None:
        how = how._replace(probability=PROBABILITY if network is None else network.probability)
    check_choice(how.probability, PROBABILITIES, "probability")
    if isinstance(maps, str | os.PathLike):
        if network is None or any(one is not None for one in (targets, *names)):
            raise SalstatsError(
                "the maps of a folder go with a Network, which says the output of each task: leave targets, "
                "cases, tasks and method out"
            )
        return _of_folder(metric, network, images, maps, blank, how)
    stack = check_images(images)
    keys = check_keys(names.cases, names.tasks, len(stack))
    made = {Series(name): given for name, given in check_maps(maps, names.method, keys).items()}
    if targets is None:
        targets = _outputs(network, keys)
    return _curves(metric, _module(model), _Given(stack, keys, targets, made), blank, how)


def _module(model: nn.Module | Network) -> nn.Module:
    """Module, loaded."""
    return model.open() if isinstance(model, Network) else model


def _outputs(network: Network | None, keys: Keys) -> list[int]:
    """Output of each image's task."""
    known = {} if network is None else network.tasks or {}
    tasks = keys.tasks or []
    if not tasks or any(task not in known for task in tasks):
        raise SalstatsError(
            "targets says which output each image is asked about; only a Network knows it, of its tasks"
        )
    return [known[task] for task in tasks]


def _of_folder(
    metric: str, network: Network, images: Any, folder: str | os.PathLike[str], blank: _Blank, how: _How
) -> pd.DataFrame:
    """Curves of a network's maps in a folder, a case at a time."""
    module, quiet, pieces = network.open(), how._replace(progress=False), []
    cases = maps_of_folder(network, module, images, folder)
    with (
        evaluating(module, how.device),
        counting(len(cases), metric.capitalize(), progress=how.progress) as advance,
    ):
        for case in cases:
            for part in case.parts():
                given = _Given(check_images(part.images), part.keys, part.targets, part.maps)
                pieces.append(_curves(metric, module, given, blank, quiet))
            advance(1)
    return pd.concat(pieces, ignore_index=True)


def _curves(metric: str, model: nn.Module, given: _Given, blank: _Blank, how: _How) -> pd.DataFrame:
    """Curves of all maps; those of an image follow each other."""
    baseline = check_baseline(blank.baseline, tuple(given.images.shape), blank.kernel, blank.sigma)
    size, probability = check_count(how.batch_size, "batch_size"), str(how.probability)
    warn_other_shape({str(one): maps for one, maps in given.maps.items()}, given.images.shape[2:], given.keys)
    sizes = step_sizes(given.images[0, 0].numel(), how.steps, how.chunk)
    with evaluating(model, how.device) as place:
        asked = Stepping(
            model=model, device=place, batch_size=size, mixed_precision=how.mixed_precision,
            images=given.images, baseline=baseline,
        )  # fmt: skip
        ends = asked.ends()
        if probability == "softmax" and ends[0].shape[1] < 2:
            raise SalstatsError(
                "a network with one output has a softmax of 1 on every image; probability='sigmoid' looks at "
                "its probability"
            )
        wanted = check_targets(given.targets, len(given.images), ends[0].shape[1])
        first, last = (
            _end(outputs, wanted, probability, given.keys, n)
            for outputs, n in zip(ends if metric == "deletion" else ends[::-1], sizes[[0, -1]], strict=True)
        )
        images, series = np.divmod(np.arange(len(given.images) * len(given.maps)), len(given.maps))
        values = np.full((len(images), len(sizes)), np.nan)
        undefined = _fill(values, metric, asked, given, wanted, sizes, how)
    values[:, 0], values[:, -1] = first[images], last[images]
    values[undefined] = np.nan
    columns = given.keys.columns(images)
    for name in ("method", "model", "seed"):
        said = np.array([getattr(one, name) for one in given.maps], dtype=object)
        if name == "method" or any(one is not None for one in said):
            columns[name] = said[series]
    return curves_frame(
        columns, metric, sizes, values, target=wanted[images], baseline=baseline.text,
        probability=probability, reason=np.where(undefined, CONSTANT, ""),
    )  # fmt: skip


def _end(outputs: torch.Tensor, wanted: np.ndarray, probability: str, keys: Keys, n: int) -> np.ndarray:
    """Targets' probabilities for images of which none or all pixels are changed."""
    probs = probabilities(outputs, wanted, probability)
    if np.isnan(probs).any():
        raise_nan(keys.text(int(np.flatnonzero(np.isnan(probs))[0])), n)
    return probs


def _fill(
    values: np.ndarray,
    metric: str,
    asked: Stepping,
    given: _Given,
    wanted: np.ndarray,
    sizes: np.ndarray,
    how: _How,
) -> np.ndarray:
    """Write the probabilities between the ends of each curve; return which maps have no order."""
    inner = asked.counts(sizes[1:-1])
    maps = list(given.maps.values())
    ordered: list[int] = []

    def pieces() -> Iterator[tuple[Ordered, torch.Tensor]]:
        for curve in range(len(values)):
            image, method = divmod(curve, len(maps))
            found = asked.ordered(image, maps[method][image], deleting=metric == "deletion")
            if found is not None:
                ordered.append(curve)
                yield found, inner

    done, total = 0, len(values) * len(inner)
    for outputs in with_bar(asked.steps(pieces()), total, metric.capitalize(), progress=how.progress):
        place, step = np.divmod(np.arange(done, done + len(outputs)), len(inner))
        curves = np.array(ordered)[place]
        probs = probabilities(outputs, wanted[curves // len(maps)], str(how.probability))
        if np.isnan(probs).any():
            at = int(np.flatnonzero(np.isnan(probs))[0])
            raise_nan(given.keys.text(curves[at] // len(maps)), sizes[step[at] + 1])
        values[curves, step + 1] = probs
        done += len(outputs)
    return ~np.isin(np.arange(len(values)), ordered)
