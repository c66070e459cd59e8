"""Minimal sufficient masks: the fewest most salient pixels of a map on which the network keeps its class."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from salstats.checks import check_choice, check_count, check_level
from salstats.errors import Message, SalstatsError, Setting, ShapeError
from salstats.explain.baselines import BLUR_KERNEL, BLUR_SIGMA, check_baseline
from salstats.explain.forward_passes import BATCH_SIZE, evaluating
from salstats.explain.input_checks import check_images, check_targets
from salstats.explain.named_maps import ImageMap, image_keys, maps_of_each_image_and_method
from salstats.explain.pixel_steps import (
    CONSTANT_MAP,
    OrderedImage,
    PixelSteps,
    changed_pixel_counts,
    raise_for_nan_from_model,
    target_probabilities,
)

#: Ways to find the first sufficient step.
SEARCHES = ("exact", "bisection")
#: Steps from no pixel to all if no chunk is given.
_STEPS = 100
#: The reason why a map has no sufficient step, by the search.
_REASONS = {"exact": "no step keeps the class", "bisection": "the whole image is not of the class"}


class MinimalMasks(NamedTuple):
    """Masks, (n_rows, height, width), and the frame with one row for each; see `minimal_mask`."""

    masks: np.ndarray
    frame: pd.DataFrame


def minimal_mask(
    model: nn.Module,
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
    chunk: int | None = None,
    probability: str = "softmax",
    cutoff: float = 0.5,
    search: str = "exact",
    batch_size: int = BATCH_SIZE,
    device: str | torch.device | None = None,
    mixed_precision: bool = False,
) -> MinimalMasks:
    """The fewest most salient pixels of each map on which the network keeps its class.

    Pixels are put onto the baseline in the order of salience, chunk by chunk, until the network gives the
    class that it gives the whole image. The pixels shown by then are the mask, which is empty if the
    baseline has the class already.

    Parameters
    ----------
    model : torch.nn.Module
        The network, with outputs of shape (n, n_outputs).
    images, maps
        As for `insertion`, but from no map folder.
    cases, tasks, method, kernel, sigma, batch_size, device, mixed_precision
        As for `insertion`.
    targets : int or sequence of int, shape (n,), optional
        Class that the mask has to keep; by default the one that the network gives the whole image. With
        "sigmoid" the index of the output, which is required.
    baseline : {"blur", "zero", "mean"}, number or array_like
        Values of the pixels that are not shown, as for `insertion`; by default 0.
    chunk : int, optional
        Pixels added at a time; by default about a hundredth of the image.
    probability : {"softmax", "sigmoid"}
        "softmax": a class is kept if its output is the largest (the first of equal ones). "sigmoid": it is
        kept if its probability is at least `cutoff`.
    cutoff : float
        Least probability of a class with "sigmoid", strictly between 0 and 1.
    search : {"exact", "bisection"}
        "exact": try the steps in order, and return the first that suffices; a batch holds steps of many maps.
        "bisection": halve the interval of steps, or cut it into as many parts as a batch has images. The
        answer is the same if more pixels never lose the class again. Otherwise it is a step that suffices
        while the one before does not, but maybe not the first. The whole image must be of the class.

    Returns
    -------
    masks : ndarray of bool, shape (n_rows, height, width)
        One for each row of the frame; empty where none is found.
    frame : DataFrame
        One row per map; images in the order given, then methods:

        - `case`, `task` where tasks are given, `method`;
        - `target` the class;
        - `found` whether some step suffices;
        - `n_pixels` of the mask and their `fraction` of the image; NaN where none is found;
        - `n_passes` images that the network was shown for it, besides the whole image and the baseline,
          which the maps of an image share;
        - how it was made: `baseline`, `n_steps`, `probability`, `search`;
        - `reason` why there is none: "constant map", "no step keeps the class", or with "bisection" "the
          whole image is not of the class"; else empty.

    Raises
    ------
    SalstatsError
        As for `insertion`; or "sigmoid" without targets.

    Notes
    -----
    Whether a step suffices need not be monotone in the number of pixels, and then no search is right that
    leaves out steps: "exact" leaves out none before its answer. With at least as many maps as a batch has
    images it shows the network no more images than a search step by step; else up to a batch more.

    References
    ----------
    Blake, N. et al. (2025). MRxaI: Black-Box Explainability for Image Classifiers in a Medical Setting.
    CEUR Workshop Proceedings 4059, paper 9, appendix A.

    Examples
    --------
    A network that sees a class 1 where two pixels of four are lit:

    >>> import numpy as np, torch
    >>> from salstats import explain as ex
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 2))
    >>> _ = model[1].weight.data.copy_(torch.tensor([[0.0] * 4, [1.0] * 4]))
    >>> _ = model[1].bias.data.copy_(torch.tensor([1.5, 0.0]))
    >>> saliency = np.array([[[0.1, 0.9], [0.3, 0.2]]])
    >>> masks, frame = ex.minimal_mask(model, np.ones((1, 1, 2, 2)), saliency, chunk=1)
    >>> masks[0].astype(int)
    array([[0, 1],
           [1, 0]])
    >>> frame[["case", "target", "found", "n_pixels", "fraction"]]
      case  target  found  n_pixels  fraction
    0    0       1   True       2.0       0.5
    """
    check_choice(probability, ("softmax", "sigmoid"), "probability")
    check_choice(search, SEARCHES, "search")
    check_level(cutoff, "cutoff")
    if probability == "sigmoid" and targets is None:
        raise SalstatsError(
            Setting("probability", "sigmoid"),
            " needs ",
            Setting("targets"),
            ": the output whose finding is to be kept",
            option="targets",
        )
    stack = check_images(images)
    keys = image_keys(cases, tasks, len(stack))
    checked_maps = maps_of_each_image_and_method(maps, method, keys)
    checked_baseline = check_baseline(baseline, tuple(stack.shape), kernel, sigma)
    sizes = changed_pixel_counts(stack[0, 0].numel(), _STEPS, chunk)
    checked_batch_size = check_count(batch_size, "batch_size")
    masks = np.zeros((len(checked_maps), *stack.shape[2:]), bool)
    with evaluating(model, device) as torch_device:
        pixel_steps = PixelSteps(
            model=model,
            device=torch_device,
            batch_size=checked_batch_size,
            mixed_precision=mixed_precision,
            images=stack,
            baseline=checked_baseline,
        )
        image_outputs, baseline_outputs = pixel_steps.image_and_baseline_outputs()
        if probability == "softmax" and image_outputs.shape[1] < 2:
            raise ShapeError(
                "a network with one output always keeps its class",
                hint=Message(Setting("probability", "sigmoid"), " looks at its probability"),
                option="probability",
                value="softmax",
            )
        if targets is None:
            output_indices = image_outputs.argmax(dim=1).numpy()
        else:
            output_indices = check_targets(targets, len(stack), image_outputs.shape[1])

        def gives_explained_class(
            outputs: torch.Tensor, image_indices: np.ndarray, n_pixels_shown: np.ndarray
        ) -> np.ndarray:
            """Return, for each row of outputs, True if it gives the class that its image is explained for.

            With "sigmoid", the probability of that class reaches the cutoff. ValueRangeError for NaN.
            """
            for row in np.flatnonzero(outputs.isnan().any(dim=1).numpy()):
                image_index = int(image_indices[row])
                raise_for_nan_from_model(keys.text(image_index), image_index, n_pixels_shown[row])
            if probability == "sigmoid":
                return target_probabilities(outputs, output_indices[image_indices], "sigmoid") >= cutoff
            return np.asarray(outputs.argmax(dim=1).numpy() == output_indices[image_indices])

        all_images = np.arange(len(stack))
        baseline_suffices = gives_explained_class(
            baseline_outputs, all_images, np.zeros(len(stack), np.int64)
        )
        whole_image_suffices = gives_explained_class(
            image_outputs, all_images, np.full(len(stack), sizes[-1])
        )
        searches = [
            StepSearch(
                n_steps=len(sizes) - 1,
                first_suffices=bool(baseline_suffices[image_map.image_index]),
                last_suffices=bool(whole_image_suffices[image_map.image_index]),
                bisect=search == "bisection",
            )
            for image_map in checked_maps
        ]
        rows_with_order = set()
        for row, mask in _rows_and_minimal_masks_unless_constant(
            checked_maps, searches, pixel_steps, sizes, gives_explained_class
        ):
            masks[row] = mask
            rows_with_order.add(row)
    image_of_map = np.array([image_map.image_index for image_map in checked_maps])
    reasons = _no_mask_reason_by_map(searches, rows_with_order, search)
    n_pixels = np.full(len(checked_maps), np.nan)
    for row, map_search in enumerate(searches):
        if not reasons[row]:
            n_pixels[row] = sizes[map_search.first_sufficient_step]
    frame = pd.DataFrame(
        keys.columns(image_of_map)
        | {
            "method": np.array([image_map.series.method for image_map in checked_maps], dtype=object),
            "target": output_indices[image_of_map],
            "found": np.isfinite(n_pixels),
            "n_pixels": n_pixels,
            "fraction": n_pixels / sizes[-1],
            "n_passes": [map_search.n_tested for map_search in searches],
            "baseline": checked_baseline.label,
            "n_steps": len(sizes) - 1,
            "probability": probability,
            "search": search,
            "reason": reasons,
        }
    )
    return MinimalMasks(masks, frame)


def _no_mask_reason_by_map(
    searches: Sequence["StepSearch"], rows_with_order: set[int], search: str
) -> list[str]:
    """Return the reason why each map has no mask, "" if it has one.

    `rows_with_order` are the rows of maps that are not constant, so that their pixels have an order; `search`
    is the kind of search, which decides what it means that it found nothing.
    """
    reasons = []
    for row, map_search in enumerate(searches):
        if row not in rows_with_order:
            reasons.append(CONSTANT_MAP)
        elif map_search.first_sufficient_step is None:
            reasons.append(_REASONS[search])
        else:
            reasons.append("")
    return reasons


def _rows_and_minimal_masks_unless_constant(
    maps: Sequence[ImageMap],
    searches: Sequence["StepSearch"],
    pixel_steps: PixelSteps,
    sizes: np.ndarray,
    gives_explained_class: Callable[[torch.Tensor, np.ndarray, np.ndarray], np.ndarray],
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the row and the mask of each map that is not constant, when its search ends.

    The mask is empty if no step suffices.

    `sizes` has the number of pixels shown after each step. `gives_explained_class` takes outputs, and for
    each of them the index of the image and the number of pixels shown. At most as many searches run at a time
    as a batch has images.
    """
    waiting = deque(range(len(maps)))
    # rows whose search goes on, each with its image and the order of the pixels
    active: dict[int, OrderedImage] = {}
    while waiting or active:
        while waiting and len(active) < pixel_steps.batch_size:
            row = waiting.popleft()
            ordered = pixel_steps.ordered_image_or_none_for_constant_map(
                maps[row].image_index, maps[row].saliency
            )
            if ordered is not None:
                active[row] = ordered
        for row in list(active):
            if searches[row].is_done:
                answer = searches[row].first_sufficient_step
                n_pixels = 0 if answer is None else int(sizes[answer])
                ordered = active.pop(row)
                yield row, (ordered.ranks < n_pixels).cpu().numpy()
        if not active:
            continue
        # one batch, whose places the searches share
        n_most = pixel_steps.batch_size // len(active)
        steps_by_row = {row: searches[row].next_steps(n_most) for row in active}
        n_steps = [len(steps) for steps in steps_by_row.values()]
        ordered_images = [(active[row], sizes[steps]) for row, steps in steps_by_row.items()]
        outputs = torch.cat(list(pixel_steps.step_output_batches(ordered_images)))
        image_of_output = np.repeat([maps[row].image_index for row in steps_by_row], n_steps)
        n_pixels_of_output = np.concatenate([sizes[steps] for steps in steps_by_row.values()])
        is_sufficient = gives_explained_class(outputs, image_of_output, n_pixels_of_output)
        # the results are split by search
        sufficient_by_row = np.split(is_sufficient, np.cumsum(n_steps)[:-1])
        for row, row_sufficient in zip(steps_by_row, sufficient_by_row, strict=True):
            searches[row].record_tested_steps(steps_by_row[row], row_sufficient)


@dataclass
class StepSearch:
    """A search for the first step of 0 to `n_steps` that suffices, which tests several steps at a time.

    Steps between `_low`, which does not suffice, and `_high` are tested until these are neighbours. In order
    the answer is the first step that suffices, whatever the others do. By bisection the step before the
    answer does not suffice, and there is no answer if the last step does not.
    """

    n_steps: int
    first_suffices: bool
    last_suffices: bool
    bisect: bool = False
    #: The answer; None until the search is done, or if it found none.
    first_sufficient_step: int | None = field(default=None, init=False)
    is_done: bool = field(default=False, init=False)
    #: Number of steps tested so far.
    n_tested: int = field(default=0, init=False)
    _low: int = field(default=0, init=False, repr=False)
    _high: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        """Set the bounds; the search is done already if its ends decide it."""
        self._high = self.n_steps
        if self.first_suffices:
            self.first_sufficient_step = 0
            self.is_done = True
        elif self.bisect and not self.last_suffices:
            self.is_done = True
        else:
            self._end_if_adjacent()

    def next_steps(self, n_most: int) -> np.ndarray:
        """Return at most `n_most` steps to test, ascending; by bisection they cut the interval evenly."""
        width = self._high - self._low
        n = min(n_most, width - 1)
        numbers = np.arange(1, n + 1)
        if self.bisect:
            return self._low + numbers * width // (n + 1)
        return self._low + numbers

    def record_tested_steps(
        self, tested_steps: Sequence[int] | np.ndarray, is_sufficient: Sequence[bool] | np.ndarray
    ) -> None:
        """Record which of the tested steps suffice, and narrow the interval between the bounds."""
        self.n_tested += len(tested_steps)
        first_sufficient = len(tested_steps)
        if np.any(is_sufficient):
            first_sufficient = int(np.argmax(is_sufficient))
        if first_sufficient < len(tested_steps):
            self._high = int(tested_steps[first_sufficient])
        if first_sufficient > 0:
            self._low = int(tested_steps[first_sufficient - 1])
        self._end_if_adjacent()

    def _end_if_adjacent(self) -> None:
        """End the search if no step lies between the two bounds."""
        if self._high - self._low != 1:
            return
        self.is_done = True
        if self._high < self.n_steps or self.last_suffices:
            self.first_sufficient_step = self._high
