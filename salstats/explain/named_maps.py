"""Maps beside the images they explain: whose they are, one per image and method, all of them finite."""

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from salstats.checks import SalstatsError, ShapeError, ValueRangeError, quoted, warn
from salstats.images.map_steps import may_cover
from salstats.images.maps import check_saliency

#: What a map is called where nobody says which method made it.
METHOD = "saliency"


@dataclass(frozen=True)
class Keys:
    """What each image is: a case, and where they are given what is looked for on it.

    Attributes
    ----------
    cases : list of str
    tasks : list of str, optional
    """

    cases: list[str]
    tasks: list[str] | None = None

    def text(self, place: int) -> str:
        """Return what an image is called in a message."""
        of_task = f", task {self.tasks[place]}" if self.tasks is not None else ""
        return f"case {self.cases[place]}{of_task}"

    def columns(self, places: np.ndarray) -> dict[str, np.ndarray]:
        """Return the key columns of rows that belong to some images."""
        given = {"case": self.cases} | ({} if self.tasks is None else {"task": self.tasks})
        return {name: np.array(values, dtype=object)[places] for name, values in given.items()}


def check_keys(cases: Sequence[Any] | None, tasks: Sequence[Any] | None, n: int) -> Keys:
    """Return what each of n images is; without names they are counted from 0.

    Raises
    ------
    ShapeError
        Not one name per image.
    ValueRangeError
        An empty name.
    SalstatsError
        Two images of one case, or of one case and task.
    """
    keys = Keys(
        [str(i) for i in range(n)] if cases is None else _names(cases, n, "cases"),
        None if tasks is None else _names(tasks, n, "tasks"),
    )
    known: dict[str, int] = {}
    for place in range(n):
        other = known.setdefault(keys.text(place), place)
        if other != place:
            hint = "; tasks= tells its targets apart" if keys.tasks is None else ""
            raise SalstatsError(f"images {other} and {place} are both {keys.text(place)}{hint}")
    return keys


def _names(given: Sequence[Any], n: int, what: str) -> list[str]:
    """Return one name per image as text."""
    if isinstance(given, str) or not isinstance(given, Sized) or len(given) != n:
        listed = isinstance(given, Sized) and not isinstance(given, str)
        shown = len(given) if listed else repr(given)
        raise ShapeError(f"{what} must name each of the {n} images, not {shown}")
    names = ["" if name is None or name != name else str(name) for name in given]
    if "" in names:
        raise ValueRangeError(f"{what} has no name for image {names.index('')}")
    return names


def check_maps(maps: Any, method: str | None, keys: Keys) -> dict[str, list[np.ndarray]]:
    """Return the maps of each method, one per image.

    Raises
    ------
    SalstatsError
        No maps at all; `method` beside maps that name their methods; and with its case and method a map
        that is not finite or has not two dimensions.
    """
    if isinstance(maps, Mapping):
        if method is not None:
            raise SalstatsError(
                f"method={method!r} beside maps that name their methods; leave one of them out"
            )
        if not maps:
            raise SalstatsError("maps is empty; give an array, or method -> array")
        named = {str(name): given for name, given in maps.items()}
        if len(named) < len(maps):
            raise SalstatsError(f"two methods of maps have one name as text (methods: {quoted(named)})")
    else:
        named = {METHOD if method is None else str(method): maps}
    checked = {name: _one_per_image(given, name, len(keys.cases)) for name, given in named.items()}
    for name, stack in checked.items():
        for place, saliency in enumerate(stack):
            try:
                check_saliency(saliency)
            except SalstatsError as error:
                raise type(error)(f"{keys.text(place)}, method {name}: {error}") from error
    return checked


def _one_per_image(given: Any, method: str, n: int) -> list[np.ndarray]:
    """Return the maps of a method as arrays on the CPU."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ShapeError(f"maps of method {method} must be one per image, not {type(given).__name__}")
    try:
        maps = [np.asarray(m.detach().cpu() if hasattr(m, "detach") else m) for m in given]
    except ValueError as error:
        raise ShapeError(f"method {method}: a map must have rows of one length") from error
    if len(maps) != n:
        raise ShapeError(f"method {method!r} has {len(maps)} maps for {n} images; each image needs one")
    return maps


def warn_other_shape(maps: Mapping[str, list[np.ndarray]], shape: Sequence[int], keys: Keys) -> None:
    """Warn where a map cannot be of the whole network's input: it has other proportions."""
    for name, stack in maps.items():
        wrong = [place for place, saliency in enumerate(stack) if not may_cover(saliency.shape, shape)]
        if wrong:
            warn(
                f"method {name}: {len(wrong)} of {len(stack)} maps have other proportions than the network's "
                f"input of {shape[0]} x {shape[1]} (the first: {keys.text(wrong[0])}, "
                f"{stack[wrong[0]].shape[0]} x {stack[wrong[0]].shape[1]}) and are stretched over it; where "
                "images were padded or cropped take the maps that explain() gives of the network's own input"
            )
