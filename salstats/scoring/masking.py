"""How a map becomes a mask: threshold, probability cut-off and box filter, for each task and method."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import quoted
from salstats.errors import SalstatsError, ValueRangeError
from salstats.images.maps import LARGEST_BOX, SaliencyOnImage
from salstats.images.thresholds import OTSU, THRESHOLDS
from salstats.study import HUMAN, Series, Study

#: A value for all, one for each task, method, or task and method (None: for every one).
Key = tuple[str | None, str | None]
ValuesByKey = Mapping[Key, Any]
MaskOption = float | int | str | os.PathLike[str] | Mapping[Any, Any] | None


@dataclass(frozen=True)
class MaskSetting:
    """What makes a mask of one series' maps of one task."""

    #: A name of `THRESHOLDS`, or a number.
    threshold: Any
    #: Probability below which a mask is empty; None where none applies.
    cutoff: float | None
    #: Side of the box filter in pixels.
    smooth: int | None
    colormap: str | None

    def on_image(self, saliency: np.ndarray, shape: tuple[int, int]) -> SaliencyOnImage:
        """A map on its image, ready to be asked for its peak and its mask."""
        return SaliencyOnImage(saliency, shape, smooth=self.smooth, colormap=self.colormap)

    def keeps(self, prob: float) -> bool:
        """Whether a mask stays: its probability reaches the cut-off, or none applies."""
        return self.cutoff is None or prob >= self.cutoff

    @cached_property
    def columns(self) -> dict[str, Any]:
        """How a mask came about, by column."""
        text = self.threshold if isinstance(self.threshold, str) else repr(float(self.threshold))
        return {
            "threshold": text,
            "cutoff": self.cutoff,
            "smooth": self.smooth,
            "colormap": self.colormap,
        }


@dataclass(frozen=True)
class MaskRule:
    """What makes a mask of a map: values by task and method, of (None, None) for all without their own."""

    threshold: ValuesByKey
    cutoff: ValuesByKey
    smooth: ValuesByKey
    colormap: str | None = None

    def setting(self, task: str, series: Series, *, of_people: bool = False) -> MaskSetting:
        """What makes the masks of a series and task; no cut-off applies to people's, unless that is asked."""
        exempt = series.method == HUMAN and not of_people
        smooth = int(value_of(self.smooth, task, series) or 0) or None
        return MaskSetting(
            threshold=value_of(self.threshold, task, series),
            cutoff=None if exempt else value_of(self.cutoff, task, series),
            smooth=smooth,
            colormap=self.colormap if smooth else None,
        )


def value_of(values: ValuesByKey, task: str, series: Series) -> Any:
    """The value for a task and series, the one most its own; None where there is none."""
    if values.keys() <= {(None, None)}:
        return values.get((None, None))
    names = (str(series), series.method, None)
    keys: tuple[Key, ...] = (*((task, name) for name in names), *((None, name) for name in names))
    return next((values[key] for key in keys if key in values), None)


def mask_rule(
    study: Study,
    *,
    threshold: MaskOption = OTSU,
    cutoff: MaskOption = None,
    smooth: MaskOption = None,
    colormap: str | None = None,
) -> MaskRule:
    """A rule from numbers, mappings or files, checked against the tasks of the study."""
    rule = MaskRule(
        threshold=_values(threshold, "threshold", study),
        cutoff=_values(cutoff, "cutoff", study),
        smooth=_values(smooth, "smooth", study),
        colormap=colormap,
    )
    for name, values in (("threshold", rule.threshold), ("cutoff", rule.cutoff)):
        for value in values.values():
            if not isinstance(value, str) and not 0 <= value <= 1:
                raise ValueRangeError(f"{name} must lie between 0 and 1; got {value!r}")
    for value in rule.smooth.values():
        if not 0 <= value <= LARGEST_BOX or value % 1:
            raise ValueRangeError(
                f"smooth is the side of a box in whole pixels, from 0 to {LARGEST_BOX}; got {value!r}"
            )
    if colormap not in (None, "jet"):
        raise ValueRangeError(f"colormap must be None or 'jet'; got {colormap!r}")
    if colormap and (not rule.smooth or set(rule.threshold.values()) != {OTSU}):
        raise SalstatsError(
            "colormap='jet' is a way of smoothing before Otsu: give smooth, and threshold='otsu'"
        )
    return rule


def _values(given: MaskOption, name: str, study: Study) -> ValuesByKey:
    """An option's values by task and method."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return _complete({_key(k): _number(v, name) for k, v in given.items()}, name, study)
    if isinstance(given, os.PathLike) or (isinstance(given, str) and _is_file(given, name)):
        from salstats.readers.threshold_files import read_thresholds

        read: dict[Key, Any] = {k: v for k, v in read_thresholds(given, what=name).items()}
        return _complete(read, name, study)
    return {(None, None): _number(given, name)}


def _complete(values: ValuesByKey, name: str, study: Study) -> ValuesByKey:
    """ValuesByKey that hold one for every task and method that needs it: only maps are cut or smoothed."""
    answering = study.series if name == "cutoff" else study.with_maps()
    named = {method for task, method in values if task is None}
    if named:
        known = dict.fromkeys(n for s in answering if s.method != HUMAN for n in (s.method, str(s)))
        if unknown := sorted(str(n) for n in named - set(known)):
            raise SalstatsError(f"{name} names method {unknown[0]!r}, and the study has {quoted(known)}")
        # of the other methods nothing is said
        return {(None, None): OTSU, **values} if name == "threshold" else values
    for series in answering:
        for task in study.tasks:
            if series.method != HUMAN and value_of(values, task, series) is None:
                methods = sorted({str(m) for t, m in values if t == task})
                there = (
                    f"it has one for method {quoted(methods)}; tune and score under the same name"
                    if methods
                    else f"tasks: {quoted(sorted({str(t) for t, _ in values}))}"
                )
                raise SalstatsError(
                    f"{name} has no value for task {task!r}, method {str(series)!r} ({there})"
                )
    return values


def _key(key: Any) -> Key:
    """A mapping's key as task and method."""
    task, method = key if isinstance(key, tuple) else (key, None)
    return None if task is None else str(task), None if method is None else str(method)


def _is_threshold_name(value: object, name: str) -> bool:
    """Whether a value of an option is the name of a threshold, in whatever case it is written."""
    return name == "threshold" and isinstance(value, str) and value.lower() in THRESHOLDS


def _is_file(text: str, name: str) -> bool:
    """Whether text is a file's name rather than a value of an option, or a slip in one."""
    if _is_threshold_name(text, name):
        return False
    try:
        float(text)
    except ValueError:
        return bool(Path(text).suffix) or os.path.lexists(text)
    return False


def _number(value: Any, name: str) -> Any:
    """A value as a float, or the name of a threshold."""
    if _is_threshold_name(value, name):
        return value.lower()
    try:
        return float(value)
    except (TypeError, ValueError):
        values = "a number"
        if name == "threshold":
            values = f"{quoted(THRESHOLDS)}, a number"
        raise ValueRangeError(
            f"{name} must be {values}, or a file that tune() wrote (in Python also a mapping by task); got "
            f"{value!r}"
        ) from None
