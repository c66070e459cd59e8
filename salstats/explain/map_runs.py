"""Maps of a whole study, made into a folder case by case; a run that was stopped is resumed."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import nn

from salstats.checks import check_count
from salstats.errors import SalstatsError, Setting
from salstats.explain.case_images import (
    CaseAndTask,
    Image,
    NetworkImages,
    ReadyImage,
    case_chunks,
    ready_image,
)
from salstats.explain.ensembles import scaled_map, sum_at_larger_size
from salstats.explain.forward_passes import BATCH_SIZE, evaluating
from salstats.explain.map_finishing import constant_maps_counted
from salstats.explain.map_plans import (
    MapPlan,
    PlannedMethod,
    checked_patients,
    checked_plan,
    labels_by_case_and_task,
)
from salstats.explain.networks import Member, Network
from salstats.files.map_folder_writer import MapFolder, MapKey
from salstats.images.geometry import Geometry
from salstats.images.masks import Rle
from salstats.images.preparation import Preparation
from salstats.jobs import progress_counter

#: Default number of cases that are worked on before the next network is loaded.
CASES_AT_ONCE = 64

Masks = Mapping[tuple[str, str], Rle | np.ndarray]


@constant_maps_counted()
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

    A second run makes only the missing maps, whether the first ended or was killed. If a network or an option
    has changed since then, it raises an error. One network and one batch of images are in memory at a time;
    with several networks, the prepared images of `cases_at_once` cases.

    Parameters
    ----------
    folder : path
        New or empty folder, or the folder of an earlier run.
    images : mapping of str to image, or iterable of (str, image)
        Case -> array of shape (M, N) or (M, N, 3), or its file, or a function without arguments that returns
        either. Networks without a `preparation` take arrays of shape (channels, height, width). An iterable
        is read once, `cases_at_once` items at a time.
    networks : Network, sequence of Network, or mapping of str to sequence of Network
        Networks, each with maps of its own; the columns `model` and `seed` have its name and training. A
        mapping gives each task its own networks.
    tasks : sequence of str or mapping of str to int, optional
        Tasks, or task -> index of its output for networks without `tasks`; by default all tasks of the
        networks.
    methods : str or sequence of str
        Names of `list_methods`, or names of your own with the method in their entry of `options`.
    options : mapping of str to mapping, optional
        Method -> its options, as `explain` takes them: {"occlusion40": {"method": "occlusion", "window": 40,
        "stride": 40}}. The options of a network take precedence.
    ensemble : bool or str
        Write the mean over the networks instead of their maps, under this name; True names it "ensemble".
    scale : {"none", "max", "range"}
        Scaling of each network's map before the mean, see `explain_ensemble`.
    resolution : {"network", "image"}
        "network": maps at the resolution of the method, such as 7 x 7; if images are padded or cropped, they
        cover the whole image at the network's resolution. "image": maps at the resolution of the image.
        `score` takes either.
    truths, human : mapping of (str, str) to mask, optional
        Masks of the ground truth and of human readers to write with the maps: (case, task) -> array or Rle.
    labels : mapping of (str, str) to 0 or 1, or DataFrame, optional
        (case, task) -> 1 if the finding is present, else 0; or a frame with columns `case, task, label`.
    patients : mapping of str to str, optional
        Case -> patient. Labels and patients are also written for maps of an earlier run.
    seeds : sequence of int, optional
        Seeds of random methods, one map with each, for `map_repeatability`; the column `seed` has them.
        Other methods have one map.
    rng : int
        Seed of random methods without `seeds`; no column has it. Each case has draws of its own.
    batch_size : int
        Images in a forward pass; fewer for large images on a CPU, see `explain`.
    cases_at_once : int
        Cases that each network explains before the next is loaded; larger is faster with several networks.
    device, mixed_precision
        As for `explain`.
    progress : bool
        Show a bar on stderr if it is a terminal.
    overwrite : bool
        Make existing maps again.

    Returns
    -------
    Path
        The folder with the maps, the masks, and the table `maps.csv`, which has the probabilities.

    Raises
    ------
    SalstatsError
        A network, task, method or option is invalid; a map or a probability is NaN (the message names case,
        task and network); memory is exhausted.
    InputFileError
        The folder cannot be used, its maps were made with other settings, or an image cannot be read.

    Warns
    -----
    SalstatsWarning
        Maps are constant; one warning counts them for each method.

    See Also
    --------
    explain_ensemble, salstats.files.map_folder_writer.MapFolder, salstats.readers.map_folder.read_map_folder

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
        networks,
        tasks,
        methods,
        options,
        ensemble=ensemble,
        scale=scale,
        resolution=resolution,
        batch_size=batch_size,
        mixed_precision=mixed_precision,
        seeds=seeds,
        rng=rng,
    )
    label_by_pair = labels_by_case_and_task(labels, plan)
    patient_by_case = checked_patients(patients)
    chunk_size = check_count(cases_at_once, "cases_at_once")
    n_passes = len(images) * len(plan.members) if isinstance(images, Sized) else None
    with _OpenNetwork(device) as open_network, ExitStack() as stack:
        settings = plan.settings_by_series(open_network.load)
        maps = stack.enter_context(MapFolder(folder, settings=settings, overwrite=overwrite))
        for kind, masks in (("truth", truths), ("human", human)):
            if masks:
                maps.write_masks(masks, kind)
        maps.describe(label_by_pair, patient_by_case)
        advance = stack.enter_context(progress_counter(n_passes, "Making maps", progress=progress))
        run = _MapRun(plan, open_network, maps, label_by_pair, patient_by_case, advance)
        for cases in case_chunks(images, chunk_size):
            run.make_missing_maps(cases)
    return Path(folder)


class _MadeMap(NamedTuple):
    """A map on the frame of its image, with the probability that belongs to it."""

    key: MapKey
    saliency: np.ndarray
    prob: float
    shape: tuple[int, int]


class _OpenNetwork(ExitStack):
    """The network in memory: on its device, in evaluation mode, until another one is loaded."""

    def __init__(self, device: str | torch.device | None) -> None:
        super().__init__()
        self._device = device
        self._network: Network | None = None
        self._module: nn.Module | None = None

    def load(self, network: Network) -> nn.Module:
        """Return a network's module; the network before it is dropped first."""
        if self._module is None or self._network is not network:
            self._network = None
            self._module = None
            self.close()
            module = network.open()
            self.enter_context(evaluating(module, self._device))
            self._network = network
            self._module = module
        return self._module


class _MissingMaps(NamedTuple):
    """The cases and tasks for which a method has to make maps, with one seed."""

    method: PlannedMethod
    seed: int | None
    pairs: list[CaseAndTask]


class _MapRun(NamedTuple):
    """A run of `make_maps`: its plan, its folder, and the labels and patients of cases."""

    plan: MapPlan
    open_network: _OpenNetwork
    maps: MapFolder
    labels: Mapping[tuple[str, str], float]
    patients: Mapping[str, str]
    advance: Callable[[int], None]

    def make_missing_maps(self, cases: dict[str, Image]) -> None:
        """Make and write the missing maps of cases.

        SalstatsError if there are patients, and a case has none.
        """
        without_patient = [case for case in cases if case not in self.patients]
        if self.patients and without_patient:
            raise SalstatsError(
                Setting("patients"),
                f" has no entry for case {without_patient[0]!r}; all cases need one, or none",
                value=without_patient[0],
            )
        images = _Images(cases, cached=len(self.plan.members) > 1)
        if self.plan.ensemble is None:
            for member in self.plan.members:
                for batch in self._made_map_batches(images, member, member_number=0):
                    self._write_maps(batch)
        else:
            self._write_maps(self._mean_maps(images))

    def _mean_maps(self, images: "_Images") -> list[_MadeMap]:
        """Return the means of the networks' missing maps, and of the probabilities."""
        sums: dict[MapKey, _MadeMap] = {}
        counts: Counter[MapKey] = Counter()
        for number, member in enumerate(self.plan.members):
            for batch in self._made_map_batches(images, member, number):
                for made_map in batch:
                    sums[made_map.key] = _sum_of_made_maps(sums.get(made_map.key), made_map)
                    counts[made_map.key] += 1
        return [
            total._replace(saliency=total.saliency / counts[key], prob=total.prob / counts[key])
            for key, total in sums.items()
        ]

    def _made_map_batches(
        self, images: "_Images", member: Member, member_number: int
    ) -> Iterator[list[_MadeMap]]:
        """Yield the missing maps of a network, a batch and method at a time.

        `member_number` is that of the network in an ensemble.
        """
        network = member.network
        # batches have the same cases in every run, so that maps have the same last digits
        step = max(1, self.plan.batch_size // len(member.outputs))
        names = list(images.cases)
        for first in range(0, len(names), step):
            group = names[first : first + step]
            missing = self._missing_maps_by_method_and_seed(group, member)
            cases_to_make: set[str] = set()
            for missing_maps in missing:
                cases_to_make |= {case for case, _ in missing_maps.pairs}
            ordered = [case for case in group if case in cases_to_make]
            for same_shape in images.grouped_by_shape(ordered, network.preparation):
                network_images = NetworkImages(
                    self.plan,
                    network,
                    self.open_network.load(network),
                    member.outputs,
                    member_number,
                    {case: ready.pixels for case, ready in same_shape.items()},
                )
                probs = network_images.prob_by_pair()
                for method, seed, pairs in missing:
                    shape_pairs = [pair for pair in pairs if pair[0] in same_shape]
                    if not shape_pairs:
                        continue
                    batch = []
                    for pair, saliency in zip(
                        shape_pairs, network_images.maps(method, seed, shape_pairs), strict=True
                    ):
                        case, task = pair
                        key = self.plan.key(case, task, network, method, seed)
                        geometry = same_shape[case].geometry
                        batch.append(self._made_map_on_image(key, saliency, probs[pair], geometry))
                    yield batch
            self.advance(len(group))

    def _missing_maps_by_method_and_seed(self, cases: Sequence[str], member: Member) -> list[_MissingMaps]:
        """Return, for each method and seed, the cases and tasks whose maps a network has yet to make."""
        missing = []
        for method in self.plan.methods:
            for seed in self.plan.repeat_seeds(method):
                pairs = [
                    (case, task)
                    for case in cases
                    for task in member.outputs
                    if self.plan.key(case, task, member.network, method, seed) not in self.maps
                ]
                missing.append(_MissingMaps(method, seed, pairs))
        return missing

    def _made_map_on_image(
        self, key: MapKey, saliency: np.ndarray, prob: float, geometry: Geometry
    ) -> _MadeMap:
        """Return a map of the network's input as one of the whole image; an ensemble's is scaled first."""
        if self.plan.ensemble is not None:
            saliency = scaled_map(saliency, self.plan.scale)
        if self.plan.resolution == "image":
            saliency = geometry.to_image(saliency)
        elif not geometry.shows_exactly_whole_image:
            saliency = geometry.to_image(saliency, shape=geometry.image_shape_in_input)
        return _MadeMap(key, saliency, prob, geometry.image_shape)

    def _write_maps(self, batch: Sequence[_MadeMap]) -> None:
        """Write a batch of maps; a run that is killed meanwhile leaves the rows of all maps, or of none."""
        if not batch:
            return
        with self.maps.rows_written_together():
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
    """Images of cases as networks take them, cached if several networks need them."""

    def __init__(self, cases: dict[str, Image], *, cached: bool) -> None:
        self.cases = cases
        self._cached = cached
        self._cache: dict[tuple[str, Preparation | None], ReadyImage] = {}

    def grouped_by_shape(
        self, cases: Sequence[str], preparation: Preparation | None
    ) -> list[dict[str, ReadyImage]]:
        """Return the images of cases by name, as one dictionary for each shape."""
        by_shape: dict[tuple[int, ...], dict[str, ReadyImage]] = {}
        for case in cases:
            image = self._image(case, preparation)
            by_shape.setdefault(image.pixels.shape, {})[case] = image
        return list(by_shape.values())

    def _image(self, case: str, preparation: Preparation | None) -> ReadyImage:
        """Return the image of a case as a network with this preparation takes it."""
        cached = self._cache.get((case, preparation))
        if cached is not None:
            return cached
        image = ready_image(case, self.cases[case], preparation)
        if self._cached:
            self._cache[case, preparation] = image
        return image


def _sum_of_made_maps(total: _MadeMap | None, made_map: _MadeMap) -> _MadeMap:
    """Add maps and probabilities, in float64."""
    saliency = made_map.saliency.astype(np.float64)
    if total is None:
        return made_map._replace(saliency=saliency)
    return made_map._replace(
        saliency=sum_at_larger_size(total.saliency, saliency), prob=total.prob + made_map.prob
    )
