"""Minimal sufficient masks: so many of a map's most salient pixels that the network keeps its class."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from salstats.checks import check_choice, check_count, check_level
from salstats.errors import SalstatsError, ShapeError
from salstats.explain.baselines import KERNEL, SIGMA, check_baseline
from salstats.explain.forward_passes import BATCH_SIZE, evaluating
from salstats.explain.inputs import check_images, check_targets
from salstats.explain.named_maps import Map, check_keys, check_maps
from salstats.explain.pixel_steps import CONSTANT, Ordered, Stepping, probabilities, raise_nan, step_sizes

#: How the first sufficient step is found.
SEARCHES = ("exact", "bisection")
#: Steps from no pixel to all, where no chunk is given.
_STEPS = 100
#: Why a map has no sufficient step, by the search.
_WHY = {"exact": "no step keeps the class", "bisection": "the whole image is not of the class"}


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
    kernel: int = KERNEL,
    sigma: float = SIGMA,
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
    class that it gives the whole image. The pixels shown by then are the mask. None may be enough, where
    the baseline has the class already.

    Parameters
    ----------
    model : torch.nn.Module
        Its outputs are (n, n_outputs).
    images, maps
        As for `insertion`, which alone takes a `Network` and the maps of a folder.
    cases, tasks, method, kernel, sigma, batch_size, device, mixed_precision
        As for `insertion`.
    targets : int or sequence of int, shape (n,), optional
        The class to be kept; by default the one that the network gives the whole image. With "sigmoid" the
        output, which has to be given.
    baseline : {"blur", "zero", "mean"}, number or array_like
        As for `insertion`; by default a blank image.
    chunk : int, optional
        Pixels added at a time; by default about a hundredth of the image.
    probability : {"softmax", "sigmoid"}
        "softmax": the class is kept where its output is the largest (the first of equal ones). "sigmoid":
        where its probability is `cutoff` at least.
    cutoff : float
        Strictly between 0 and 1; for "sigmoid" only.
    search : {"exact", "bisection"}
        "exact": chunks in order, those of many maps in one batch: the first step that suffices, always.
        "bisection": intervals are halved, or cut into as many parts as a batch has room for. The same answer
        where more pixels never lose the class again; elsewhere a step that suffices while the one before
        does not, maybe not the first. It needs the class on the whole image.

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
    leaves out steps: "exact" leaves out none before its answer. It shows no more images than the plain search
    where there are as many maps as a batch has places; else up to a batch more.

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
        raise SalstatsError("probability='sigmoid' needs targets: the output whose finding is to be kept")
    stack = check_images(images)
    keys = check_keys(cases, tasks, len(stack))
    found = check_maps(maps, method, keys)
    blank = check_baseline(baseline, tuple(stack.shape), kernel, sigma)
    sizes = step_sizes(stack[0, 0].numel(), _STEPS, chunk)
    size, every = check_count(batch_size, "batch_size"), np.arange(len(stack))
    masks = np.zeros((len(found), *stack.shape[2:]), bool)
    with evaluating(model, device) as place:
        stepping = Stepping(
            model=model, device=place, batch_size=size, mixed_precision=mixed_precision,
            images=stack, baseline=blank,
        )  # fmt: skip
        whole, none = stepping.ends()
        if probability == "softmax" and whole.shape[1] < 2:
            raise ShapeError(
                "a network with one output always keeps its class; probability='sigmoid' looks at its "
                "probability"
            )
        own = whole.argmax(dim=1).numpy()
        wanted = own if targets is None else check_targets(targets, len(whole), whole.shape[1])

        def kept(outputs: torch.Tensor, places: np.ndarray, n_pixels: np.ndarray) -> np.ndarray:
            for at in np.flatnonzero(outputs.isnan().any(dim=1).numpy()):
                raise_nan(keys.text(places[at]), n_pixels[at])
            if probability == "sigmoid":
                return probabilities(outputs, wanted[places], "sigmoid") >= cutoff
            return np.asarray(outputs.argmax(dim=1).numpy() == wanted[places])

        first = kept(none, every, np.zeros(len(stack), np.int64))
        last = kept(whole, every, np.full(len(stack), sizes[-1]))
        searches = [
            Search(len(sizes) - 1, bool(first[one.place]), bool(last[one.place]), search == "bisection")
            for one in found
        ]
        with_order = set()
        for row, mask in _solved(found, searches, stepping, sizes, kept):
            masks[row] = mask
            with_order.add(row)
    places = np.array([one.place for one in found])
    answers = [one.answer if row in with_order else None for row, one in enumerate(searches)]
    n_pixels = np.array([np.nan if step is None else sizes[step] for step in answers], np.float64)
    frame = pd.DataFrame(
        keys.columns(places)
        | {
            "method": np.array([one.series.method for one in found], dtype=object),
            "target": wanted[places],
            "found": np.isfinite(n_pixels),
            "n_pixels": n_pixels,
            "fraction": n_pixels / sizes[-1],
            "n_passes": [one.n_asked for one in searches],
            "baseline": blank.text,
            "n_steps": len(sizes) - 1,
            "probability": probability,
            "search": search,
            "reason": [
                "" if step is not None else _WHY[search] if row in with_order else CONSTANT
                for row, step in enumerate(answers)
            ],
        }
    )
    return MinimalMasks(masks, frame)


def _solved(
    maps: Sequence[Map],
    searches: Sequence["Search"],
    stepping: Stepping,
    sizes: np.ndarray,
    kept: Callable[[torch.Tensor, np.ndarray, np.ndarray], np.ndarray],
) -> Iterator[tuple[int, np.ndarray]]:
    """Row and mask of each map that has an order; as many maps at a time as a batch has places."""
    waiting, active = deque(range(len(maps))), dict[int, Ordered]()
    while waiting or active:
        while waiting and len(active) < stepping.batch_size:
            row = waiting.popleft()
            ordered = stepping.ordered(maps[row].place, maps[row].saliency)
            if ordered is not None:
                active[row] = ordered
        for row in [row for row in active if searches[row].done]:
            answer = searches[row].answer
            n = 0 if answer is None else int(sizes[answer])
            yield row, (active.pop(row).ranks < n).cpu().numpy()
        if not active:
            continue
        # one batch, shared among the maps
        steps = {row: searches[row].ask(stepping.batch_size // len(active)) for row in active}
        outputs = torch.cat(list(stepping.steps((active[row], sizes[s]) for row, s in steps.items())))
        n_asked = [len(s) for s in steps.values()]
        places = np.repeat([maps[row].place for row in steps], n_asked)
        enough = kept(outputs, places, np.concatenate([sizes[s] for s in steps.values()]))
        for row, told in zip(steps, np.split(enough, np.cumsum(n_asked)[:-1]), strict=True):
            searches[row].tell(steps[row], told)


@dataclass
class Search:
    """The first step of 0 to `n_steps` that suffices, found by asking about several steps at a time.

    `first` and `last` say whether the first and the last step suffice. Steps between `_low`, which does not
    suffice, and `_high` are asked about until these are neighbours. In order the answer is the first step
    that suffices, whatever the others do. By bisection the step before the answer does not suffice, and there
    is none where the last step does not.
    """

    n_steps: int
    first: bool
    last: bool
    bisect: bool = False
    #: None where no step suffices, or it is not known yet.
    answer: int | None = field(default=None, init=False)
    done: bool = field(default=False, init=False)
    n_asked: int = field(default=0, init=False)
    _low: int = field(default=0, init=False, repr=False)
    _high: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._high = self.n_steps
        if self.first:
            self.answer, self.done = 0, True
        elif self.bisect and not self.last:
            self.done = True
        else:
            self._close()

    def ask(self, room: int) -> np.ndarray:
        """Steps to ask about next, ascending, `room` at most; by bisection they cut the interval evenly."""
        wide = self._high - self._low
        n = min(room, wide - 1)
        return self._low + np.arange(1, n + 1) * (wide if self.bisect else n + 1) // (n + 1)

    def tell(self, steps: Sequence[int] | np.ndarray, enough: Sequence[bool] | np.ndarray) -> None:
        """Take in which of the steps asked about suffice."""
        self.n_asked += len(steps)
        place = int(np.argmax(enough)) if np.any(enough) else len(steps)
        if place < len(steps):
            self._high = int(steps[place])
        if place > 0:
            self._low = int(steps[place - 1])
        self._close()

    def _close(self) -> None:
        """End where nothing lies between the two."""
        if self._high - self._low == 1:
            self.answer = self._high if self._high < self.n_steps or self.last else None
            self.done = True
