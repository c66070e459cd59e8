"""Insertion and deletion: what a network makes of an image as its most salient pixels come or go."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from salstats.checks import check_choice, check_count
from salstats.errors import SalstatsError
from salstats.explain.baselines import BASELINES, KERNEL, SIGMA, black, check_baseline
from salstats.explain.forward_passes import BATCH_SIZE, PROBABILITIES, evaluating, resolved_probability
from salstats.explain.inputs import check_images, check_targets
from salstats.explain.named_maps import Keys, Map, check_keys, check_maps, maps_of_folder, warn_other_shape
from salstats.explain.networks import Network
from salstats.explain.pixel_steps import CONSTANT, Ordered, Stepping, probabilities, raise_nan, step_sizes
from salstats.jobs import counting, with_bar

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
        For the maps of a folder: case -> image, as `make_maps` takes them, of every case there.
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
    baseline : {"blur", "zero", "mean", "black"}, number or array_like
        What stands where a pixel is not shown. "blur": the image blurred. "zero": 0, the mean colour where
        images are standardised. "black": what the preparation of a `Network` makes of a pixel of 0, so that
        the first image is blank. "mean": the image's own mean, by channel. A number; a value by channel,
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
        a model that ends in probabilities. By default that of the `Network`; of a module as for `predict`.
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
    SalstatsError
        Images, outputs, maps, targets or names do not fit together; a map, an image or an output is not
        finite; a case, or a case and task, is named twice; a single output with "softmax"; a folder's maps do
        not go with the images, or were made from another network.

    Notes
    -----
    Equal values are taken in row-major order (in the evaluation of RISE their order is that of a sort
    which does not say). The area hardly depends on the number of steps: RISE takes 224 at 224 x 224 pixels,
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
    how = _How(baseline, kernel, sigma, steps, chunk, probability, batch_size, device, mixed_precision)
    return _asked("insertion", model, images, maps, targets, (cases, tasks, method), how, progress)


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
    how = _How(baseline, kernel, sigma, steps, chunk, probability, batch_size, device, mixed_precision)
    return _asked("deletion", model, images, maps, targets, (cases, tasks, method), how, progress)


class _How(NamedTuple):
    """Options that insertion and deletion share, as they were given."""

    baseline: Any
    kernel: int
    sigma: float
    steps: int
    chunk: int | None
    probability: str | None
    batch_size: int
    device: str | torch.device | None
    mixed_precision: bool


def _asked(
    metric: str,
    model: nn.Module | Network,
    images: Any,
    maps: Any,
    targets: Any,
    names: tuple[Sequence[Any] | None, Sequence[Any] | None, str | None],
    how: _How,
    progress: bool,
) -> pd.DataFrame:
    """Curves of maps that are arrays or lie in a folder; `names` are cases, tasks and method."""
    network = model if isinstance(model, Network) else None
    if how.probability is None and network is not None:
        how = how._replace(probability=network.probability)
    if how.probability is not None:
        check_choice(how.probability, PROBABILITIES, "probability")
    if isinstance(how.baseline, str):
        check_choice(how.baseline, (*BASELINES, "black"), "baseline")
    if isinstance(how.baseline, str) and how.baseline == "black":
        if network is None or network.preparation is None:
            raise SalstatsError(
                "baseline='black' needs a Network with a preparation, which says what a black pixel becomes; "
                "give the value itself instead, a number or one by channel"
            )
        how = how._replace(baseline=black(network.preparation))
    in_folder = isinstance(maps, str | os.PathLike)
    if in_folder and (network is None or any(one is not None for one in (targets, *names))):
        raise SalstatsError(
            "the maps of a folder go with a Network, which says the output of each task: leave targets, "
            "cases, tasks and method out"
        )
    module = model.open() if isinstance(model, Network) else model
    if network is not None and in_folder:
        n, parts = maps_of_folder(network, module, images, maps)
        pieces = []
        with (
            evaluating(module, how.device),
            counting(n, metric.capitalize(), progress=progress) as advance,
        ):
            for part in parts:
                pieces.append(_curves(metric, module, *part, how))
                advance(1)
        return pd.concat(pieces, ignore_index=True)
    stack = check_images(images)
    cases, tasks, method = names
    keys = check_keys(cases, tasks, len(stack))
    found = check_maps(maps, method, keys)
    if targets is None:
        known = {} if network is None else network.tasks or {}
        if not keys.tasks or any(task not in known for task in keys.tasks):
            raise SalstatsError(
                "targets says which output each image is asked about; only a Network knows it, of its tasks"
            )
        targets = [known[task] for task in keys.tasks]
    return _curves(metric, module, stack, keys, targets, found, how, progress=progress)


def _curves(
    metric: str,
    model: nn.Module,
    images: torch.Tensor,
    keys: Keys,
    targets: Any,
    maps: Sequence[Map],
    how: _How,
    *,
    progress: bool = False,
) -> pd.DataFrame:
    """Curves of maps, one after the other."""
    baseline = check_baseline(how.baseline, tuple(images.shape), how.kernel, how.sigma)
    size = check_count(how.batch_size, "batch_size")
    warn_other_shape(maps, images.shape[2:], keys)
    sizes, deleting = step_sizes(images[0, 0].numel(), how.steps, how.chunk), metric == "deletion"
    places, with_order = np.array([one.place for one in maps]), []
    values = np.full((len(maps), len(sizes)), np.nan)
    with evaluating(model, how.device) as device:
        stepping = Stepping(
            model=model, device=device, batch_size=size, mixed_precision=how.mixed_precision,
            images=images, baseline=baseline,
        )  # fmt: skip
        whole, blank = stepping.ends()
        probability = resolved_probability(model, whole, how.probability)
        if probability == "softmax" and whole.shape[1] < 2:
            raise SalstatsError(
                "a network with one output has a softmax of 1 on every image; probability='sigmoid' looks at "
                "its probability"
            )
        wanted = check_targets(targets, len(images), whole.shape[1])

        def probs(outputs: torch.Tensor, of: np.ndarray, step: np.ndarray) -> np.ndarray:
            found = probabilities(outputs, wanted[of], probability)
            for at in np.flatnonzero(np.isnan(found)):
                raise_nan(keys.text(of[at]), sizes[step[at]])
            return found

        def ordered() -> Iterator[tuple[Ordered, np.ndarray]]:
            for curve, one in enumerate(maps):
                found = stepping.ordered(one.place, one.saliency, deleting=deleting)
                if found is not None:
                    with_order.append(curve)
                    yield found, sizes[1:-1]

        every, last = np.arange(len(images)), len(sizes) - 1
        first_shown, last_shown = (whole, blank) if deleting else (blank, whole)
        values[:, 0] = probs(first_shown, every, 0 * every)[places]
        values[:, -1] = probs(last_shown, every, 0 * every + last)[places]
        done, total = 0, len(maps) * (last - 1)
        for outputs in with_bar(stepping.steps(ordered()), total, metric.capitalize(), progress=progress):
            turns, step = np.divmod(np.arange(done, done + len(outputs)), last - 1)
            curves = np.array(with_order)[turns]
            values[curves, step + 1] = probs(outputs, places[curves], step + 1)
            done += len(outputs)
    undefined = ~np.isin(np.arange(len(maps)), with_order)
    values[undefined] = np.nan
    columns = keys.columns(places)
    for name in ("method", "model", "seed"):
        said = np.array([getattr(one.series, name) for one in maps], dtype=object)
        if name == "method" or any(one is not None for one in said):
            columns[name] = said
    n_points = len(sizes)
    each = {name: np.repeat(column, n_points) for name, column in columns.items()}
    return pd.DataFrame(
        each
        | {
            "metric": metric,
            "step": np.tile(np.arange(n_points), len(maps)),
            "fraction": np.tile(sizes / sizes[-1], len(maps)),
            "n_pixels": np.tile(sizes, len(maps)),
            "prob": values.ravel(),
            "target": np.repeat(wanted[places], n_points),
            "baseline": baseline.text,
            "n_steps": last,
            "probability": probability,
            "reason": np.repeat(np.where(undefined, CONSTANT, "").astype(object), n_points),
        }
    )
