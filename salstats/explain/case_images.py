"""The images of a study, one after the other: read when they are needed, and made ready for a network."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from salstats.checks import SalstatsError, ShapeError
from salstats.images.geometry import Geometry
from salstats.images.preparation import Preparation
from salstats.readers.pictures import read_picture

#: An image, its file, or what returns it.
Image = np.ndarray | str | os.PathLike[str] | Callable[[], np.ndarray]


def chunks(
    images: Mapping[str, Image] | Iterable[tuple[str, Image]], size: int
) -> Iterator[list[tuple[str, Image]]]:
    """Yield the names and images of some cases at a time; an image may come when it is asked for.

    Raises
    ------
    SalstatsError
        There is no case, an item is no pair, or a case comes twice.
    """
    if not isinstance(images, Iterable):
        raise SalstatsError(
            f"images must be a mapping of a case's name to its image, or pairs of these, not "
            f"{type(images).__name__}"
        )
    pairs = iter(images.items() if isinstance(images, Mapping) else images)
    seen: set[str] = set()
    while chunk := [_checked(pair, seen) for pair in islice(pairs, size)]:
        yield chunk
    if not seen:
        raise SalstatsError("images holds no case; give {case: image, or its file} or pairs of these")


def _checked(pair: Any, seen: set[str]) -> tuple[str, Image]:
    """Return a case's name and image."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise SalstatsError(
            f"images must give pairs of a case's name and its image, not {type(pair).__name__}"
        )
    name = str(pair[0])
    if name in seen:
        raise SalstatsError(f"images gives case {name!r} twice; cases need names of their own")
    seen.add(name)
    return name, pair[1]


class ReadyImages:
    """Images of some cases as networks take them, kept where several networks want them."""

    def __init__(self, cases: list[tuple[str, Image]], *, keep: bool) -> None:
        self._cases, self._keep = dict(cases), keep
        self._ready: dict[tuple[str, Preparation | None], tuple[np.ndarray, Geometry]] = {}

    def get(self, case: str, preparation: Preparation | None) -> tuple[np.ndarray, Geometry]:
        """Return an image as a network takes it, channels first, and where its pixels lie there."""
        key = (case, preparation)
        found = self._ready.get(key)
        if found is None:
            try:
                found = _ready(_read(self._cases[case]), preparation)
            except SalstatsError as error:
                raise type(error)(f"case {case!r}: {error}") from error
            except Exception as error:
                error.add_note(f"while the image of case {case!r} was read")
                raise
            if self._keep:
                self._ready[key] = found
        return found


def _read(image: Image) -> np.ndarray:
    """Return the numbers of an image."""
    if isinstance(image, str | os.PathLike):
        return read_picture(image)
    given = image() if callable(image) else image
    return read_picture(given) if isinstance(given, str | os.PathLike) else np.asarray(given)


def _ready(image: np.ndarray, preparation: Preparation | None) -> tuple[np.ndarray, Geometry]:
    """Return an image as a network takes it, and its geometry."""
    if preparation is not None:
        return preparation.apply(image)
    if image.ndim != 3 or not image.size:
        raise ShapeError(
            f"without a preparation an image must be what the network takes, (channels, height, width), not "
            f"of shape {image.shape}; Network(preparation=Preparation(...)) makes it of an image"
        )
    shape = (image.shape[1], image.shape[2])
    return image, Geometry.stretched(shape, shape)
