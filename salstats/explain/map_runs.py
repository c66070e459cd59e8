"""Maps of a whole study, made into a folder: case by case, and a run that was stopped goes on."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from salstats.checks import check_count
from salstats.errors import SalstatsError
from salstats.explain.case_images import Image, Shown, chunks, ready_image
from salstats.explain.ensembles import added, scaled
from salstats.explain.forward_passes import BATCH_SIZE, evaluating
from salstats.explain.map_finishing import said_together
from salstats.explain.map_plans import Plan, checked_labels, checked_patients, checked_plan
from salstats.explain.networks import Network
from salstats.files.map_folder import MapFolder, MapKey
from salstats.images.geometry import Geometry
from salstats.images.masks import Rle
from salstats.images.preparation import Preparation
from salstats.jobs import counting

#: Cases that are worked on before the next network is loaded.
CASES_AT_ONCE = 64

Masks = Mapping[tuple[str, str], Rle | np.ndarray]


@said_together()
def make_maps(
    folder: str | os.PathLike[str],
    images: Mapping[str, Image] | Iterable[tuple[str, Image]],
    networks: Network | Sequence[Network] | Mapping[str, Sequence[Network]],
    *,
    tasks: Sequence[str] | Mapping[str, int] | None = None,
    methods: str | Sequence[str] = ("gradcam",),
    options: Mapping[str, Mapping[str, Any]] | None = None,
    ensemble: bool | str = False,
    scale: str = "none",
    resolution: str = "network",
    truths: Masks | None = None,
    human: Masks | None = None,
    labels: Mapping[tuple[str, str], float] | pd.DataFrame | None = None,
    patients: Mapping[str, str] | None = None,
    seeds: Sequence[int] | None = None,
    rng: int = 0,
    batch_size: int = BATCH_SIZE,
    cases_at_once: int = CASES_AT_ONCE,
    device: str | torch.device | None = None,
    mixed_precision: bool = False,
    progress: bool = True,
    overwrite: bool = False,
) -> Path:
    """Make the maps of a study into a folder that `score` reads, and return the folder.

    A second run makes only what is missing, whether the first ended or was killed. A network or an option
    that has changed since is refused. One network is in memory at a time, and a batch of images; where there
    are several networks, `cases_at_once` of them, ready for the networks.

    Parameters
    ----------
    folder : path
        A new folder, an empty one, or one that an earlier run made.
    images : mapping of str to image, or iterable of (str, image)
        Case -> array of shape (M, N) or (M, N, 3), or its file, or what takes nothing and returns either;
        of networks without a `preparation`, arrays of shape (channels, height, width). An iterable is gone
        through once, `cases_at_once` of its items at a time.
    networks : Network, sequence of Network, or mapping of str to sequence of Network
        Each has maps of its own, `model` being its name and `seed` that of its training. As a mapping: task
        -> the networks for it.
    tasks : sequence of str or mapping of str to int, optional
        Tasks, with the index of their output where networks do not say it; by default all that they know.
    methods : str or sequence of str
        Names of `list_methods`, or names of your own whose entry in `options` says the method.
    options : mapping of str to mapping, optional
        Method -> its options, as `explain` takes them: {"occlusion40": {"method": "occlusion", "window": 40,
        "stride": 40}}. Where a network says another, its own wins.
    ensemble : bool or str
        Whether the folder holds the mean over the networks instead, under this name ("ensemble").
    scale : {"none", "max", "range"}
        What is done to each network's map before the mean, see `explain_ensemble`.
    resolution : {"network", "image"}
        "network": maps as small as they come, such as 7 x 7; where images are padded or cropped, laid on the
        whole image at the network's resolution. "image": at that of the image. `score` takes either.
    truths, human : mapping of (str, str) to mask, optional
        Masks of the truth, and of people, written beside the maps: (case, task) -> array or Rle.
    labels : mapping of (str, str) to 0 or 1, or DataFrame, optional
        Whether a finding is there, by case and task; as a frame with columns `case, task, label`.
    patients : mapping of str to str, optional
        Case -> patient; as `labels`, also of maps that are there already.
    seeds : sequence of int, optional
        Draw random methods once with each, for `map_repeatability`; they stand in the column `seed`.
        Methods that draw nothing are made once.
    rng : int
        Seed of random methods otherwise; it is in no column. Each case has draws of its own.
    batch_size : int
        Images in a forward pass; on a CPU fewer where they are large, see `explain`.
    cases_at_once : int
        Cases between two loadings of a network; more are faster where there are several networks.
    device, mixed_precision
        As for `explain`.
    progress : bool
        Show a bar on stderr, where that is a terminal.
    overwrite : bool
        Make maps anew that are there.

    Returns
    -------
    Path
        The folder: `maps.csv`, the maps, and masks. The probabilities are in its table.

    Raises
    ------
    SalstatsError
        A network, task, method or option does not fit; a map or a probability is NaN (case, task and network
        are named); memory ran out.
    InputFileError
        The folder cannot be used, or its maps were made in another way; an image cannot be read.

    Warns
    -----
    SalstatsWarning
        Maps have one value everywhere: how many of each method, once.

    See Also
    --------
    explain_ensemble, salstats.files.map_folder.MapFolder, salstats.readers.map_folder.read_map_folder

    Notes
    -----
    What is compared with an earlier run: weights, modules and their options, `preparation`, `layer` and
    `reshape`, options, `resolution`, `ensemble` and `scale`, seeds, the outputs of tasks. Not: images, batch
    size and device. A map's last digits can depend on which others are made with it; a
    run that was stopped between two batches gives the same bytes as one that was not.

    An ensemble draws for each network anew; networks by themselves are compared on the same draws.

    Examples
    --------
    >>> import pathlib, tempfile, torch
    >>> import numpy as np, salstats as ss
    >>> from salstats.explain import Network, make_maps
    >>> conv = torch.nn.Conv2d(1, 2, 3, padding=1)
    >>> model = torch.nn.Sequential(conv, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    >>> images = {case: np.eye(8)[None] * value for case, value in (("a", 1.0), ("b", 2.0))}
    >>> truths = {(case, "Edema"): np.eye(8, dtype=bool) for case in images}
    >>> network = Network("tiny", model, tasks={"Edema": 0}, layer="0")
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = make_maps(pathlib.Path(place) / "maps", images, network, truths=truths)
    ...     scores = ss.score(ss.read_study(folder), metrics="hit")
    >>> scores[["case", "task", "method", "model", "metric"]].head(2)
      case   task   method model metric
    0    a  Edema  gradcam  tiny    hit
    1    b  Edema  gradcam  tiny    hit
    """
    plan = checked_plan(
        networks, tasks, methods, options, ensemble=ensemble, scale=scale, resolution=resolution,
        batch_size=batch_size, mixed_precision=mixed_precision, seeds=seeds, rng=rng,
    )  # fmt: skip
    known = checked_labels(labels, plan), checked_patients(patients)
    in_threads = check_count(cases_at_once, "cases_at_once")
    total = len(images) * len(plan.members) if isinstance(images, Sized) else None
    with _Opened(device) as opened, ExitStack() as stack:
        settings = plan.settings(opened.open)
        maps = stack.enter_context(MapFolder(folder, settings=settings, overwrite=overwrite))
        for which, masks in (("truth", truths), ("human", human)):
            if masks:
                maps.write_masks(masks, which)
        maps.describe(*known)
        advance = stack.enter_context(counting(total, "Making maps", progress=progress))
        run = _Run(plan, opened, maps, *known, advance)
        for chunk in chunks(images, in_threads):
            run.make(chunk)
    return Path(folder)


class _Made(NamedTuple):
    """A map on the frame of its image, with the probability that belongs to it."""

    key: MapKey
    saliency: np.ndarray
    prob: float
    shape: tuple[int, int]


class _Opened(ExitStack):
    """The network that is in memory: on its device, in evaluation mode, until another one is wanted."""

    def __init__(self, device: str | torch.device | None) -> None:
        super().__init__()
        self._device = device
        self._network: Network | None = None
        self._module: nn.Module | None = None

    def open(self, network: Network) -> nn.Module:
        """A network, loaded; the one before it is dropped first."""
        if self._module is None or self._network is not network:
            self._network = self._module = None
            self.close()
            module = network.open()
            self.enter_context(evaluating(module, self._device))
            self._network, self._module = network, module
        return self._module


class _Run(NamedTuple):
    """A run over the cases."""

    plan: Plan
    opened: _Opened
    maps: MapFolder
    labels: Mapping[tuple[str, str], float]
    patients: Mapping[str, str]
    advance: Callable[[int], None]

    def make(self, cases: dict[str, Image]) -> None:
        """Make what is missing of some cases."""
        missing = [case for case in cases if case not in self.patients]
        if self.patients and missing:
            raise SalstatsError(f"patients has no entry for case {missing[0]!r}; all cases need one, or none")
        images = _Images(cases, keep=len(self.plan.members) > 1)
        sums: dict[MapKey, _Made] = {}
        counts: dict[MapKey, int] = {}
        for place, (network, outputs) in enumerate(self.plan.members):
            if self.plan.ensemble is None:
                for batch in self._batches(images, network, outputs, member=0):
                    self._write(batch)
                continue
            for batch in self._batches(images, network, outputs, member=place):
                for made in batch:
                    sums[made.key] = _sum(sums.get(made.key), made)
                    counts[made.key] = counts.get(made.key, 0) + 1
        if sums:
            self._write(
                one._replace(saliency=one.saliency / counts[key], prob=one.prob / counts[key])
                for key, one in sums.items()
            )

    def _batches(
        self, images: "_Images", network: Network, outputs: dict[str, int], member: int
    ) -> Iterator[list[_Made]]:
        """Yield what a network gives for the maps that are missing, a batch and method at a time."""
        # the same cases go together in every run, so that the last digits of a map are the same, too
        step, names = max(1, self.plan.batch_size // len(outputs)), list(images.cases)
        for first in range(0, len(names), step):
            group = names[first : first + step]
            missing = [
                (
                    making,
                    seed,
                    [
                        (case, task)
                        for case in group
                        for task in outputs
                        if self.plan.key(case, task, network, making, seed) not in self.maps
                    ],
                )
                for making in self.plan.makings
                for seed in self.plan.draws(making)
            ]
            wanted = {case for _, _, pairs in missing for case, _ in pairs}
            for alike in images.of_one_shape([case for case in group if case in wanted], network.preparation):
                model = self.opened.open(network)
                ready = {case: image for case, (image, _) in alike.items()}
                shown = Shown(self.plan, network, model, outputs, member, ready)
                probs = shown.probs()
                for making, seed, pairs in missing:
                    here = [pair for pair in pairs if pair[0] in alike]
                    if here:
                        yield [
                            self._on_frame(
                                self.plan.key(*pair, network, making, seed),
                                saliency,
                                probs[pair],
                                alike[pair[0]][1],
                            )
                            for pair, saliency in zip(here, shown.maps(making, seed, here), strict=True)
                        ]
            self.advance(len(group))

    def _on_frame(self, key: MapKey, saliency: np.ndarray, prob: float, geometry: Geometry) -> _Made:
        """A map of the network's input as one of the whole image."""
        if self.plan.ensemble is not None:
            saliency = scaled(saliency, self.plan.scale)
        if self.plan.resolution == "image":
            saliency = geometry.to_image(saliency)
        elif not geometry.fills:
            saliency = geometry.to_image(saliency, shape=geometry.frame_shape)
        return _Made(key, saliency, prob, geometry.image_shape)

    def _write(self, batch: Iterable[_Made]) -> None:
        """Write maps that were made together; a run that is killed leaves the rows of all, or of none."""
        with self.maps.together():
            for key, saliency, prob, shape in batch:
                self.maps.add(
                    key,
                    saliency,
                    shape=shape,
                    prob=prob,
                    label=self.labels.get((key.case, key.task), float("nan")),
                    patient=self.patients.get(key.case),
                )


class _Images:
    """Images of some cases as networks take them, kept where several networks want them."""

    def __init__(self, cases: dict[str, Image], *, keep: bool) -> None:
        self.cases, self._keep = cases, keep
        self._ready: dict[tuple[str, Preparation | None], tuple[np.ndarray, Geometry]] = {}

    def of_one_shape(
        self, cases: Sequence[str], preparation: Preparation | None
    ) -> list[dict[str, tuple[np.ndarray, Geometry]]]:
        """Images of cases and where their pixels lie, those of one shape together."""
        found: dict[tuple[int, ...], dict[str, tuple[np.ndarray, Geometry]]] = {}
        for case in cases:
            ready = self._ready.get((case, preparation)) or ready_image(case, self.cases[case], preparation)
            if self._keep:
                self._ready[case, preparation] = ready
            found.setdefault(ready[0].shape, {})[case] = ready
        return list(found.values())


def _sum(total: _Made | None, made: _Made) -> _Made:
    """Sum of maps and probabilities, in float64."""
    own = made.saliency.astype(np.float64)
    if total is None:
        return made._replace(saliency=own)
    return made._replace(saliency=added(total.saliency, own), prob=total.prob + made.prob)
