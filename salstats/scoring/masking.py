"""Thresholds, probability cut-offs and box filters that make masks of maps, for each task and method."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from salstats.checks import quoted
from salstats.errors import Call, Message, SalstatsError, Setting, ValueRangeError
from salstats.images.maps import LARGEST_FILTER_SIDE, SaliencyOnImage
from salstats.images.thresholds import OTSU, THRESHOLDS
from salstats.study import HUMAN, Series, Study

#: Task and method that a value is for; None stands for every one.
Key = tuple[str | None, str | None]
ValuesByKey = Mapping[Key, Any]
#: A value for all, one for each task, method, or task and method, or a file of values.
MaskOption = float | int | str | os.PathLike[str] | Mapping[Any, Any] | None
#: Key of the value for all tasks and methods that have none of their own.
_ALL: Key = (None, None)


@dataclass(frozen=True)
class MaskSetting:
    """Threshold, cut-off and filter that make masks of one series' maps of one task."""

    #: A name of `THRESHOLDS`, or a number.
    threshold: Any
    #: Probability below which a mask is empty; None where none applies.
    cutoff: float | None
    #: Side of the box filter in pixels.
    smooth: int | None
    colormap: str | None

    def on_image(self, saliency: np.ndarray, shape: tuple[int, int]) -> SaliencyOnImage:
        """Return a map at the size of its image, with its peak and its masks."""
        return SaliencyOnImage(saliency, shape, smooth=self.smooth, colormap=self.colormap)

    def prob_reaches_cutoff(self, prob: float) -> bool:
        """Return True if the probability reaches the cut-off, or none applies."""
        return self.cutoff is None or prob >= self.cutoff

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The setting by column of a scores frame."""
        threshold = self.threshold
        if not isinstance(threshold, str):
            threshold = repr(float(threshold))
        return {
            "threshold": threshold,
            "cutoff": self.cutoff,
            "smooth": self.smooth,
            "colormap": self.colormap,
        }


@dataclass(frozen=True)
class MaskRule:
    """Thresholds, cut-offs and filters by task and method."""

    threshold: ValuesByKey
    cutoff: ValuesByKey
    smooth: ValuesByKey
    colormap: str | None = None

    def setting(self, task: str, series: Series) -> MaskSetting:
        """Return the setting of a task and series; no cut-off applies to people's masks."""
        cutoff = None
        if series.method != HUMAN:
            cutoff = self.cutoff_of(task, series)
        smooth = None
        colormap = None
        # a side of 0 is no filter, and without a filter no colormap is used
        side = value_for_task_and_series(self.smooth, task, series)
        if side:
            smooth = int(side)
            colormap = self.colormap
        return MaskSetting(
            threshold=value_for_task_and_series(self.threshold, task, series),
            cutoff=cutoff,
            smooth=smooth,
            colormap=colormap,
        )

    def cutoff_of(self, task: str, series: Series) -> float | None:
        """Return the probability cut-off of a task and series, even of people's."""
        cutoff: float | None = value_for_task_and_series(self.cutoff, task, series)
        return cutoff


def value_for_task_and_series(values: ValuesByKey, task: str, series: Series) -> Any:
    """Return the value for a task and series, None if there is none.

    A value for the task precedes one for all tasks; a value for the series precedes one for its method, and
    that one for all methods.
    """
    if values.keys() <= {_ALL}:
        return values.get(_ALL)
    for key_task in (task, None):
        for key_method in (str(series), series.method, None):
            key = (key_task, key_method)
            if key in values:
                return values[key]
    return None


def mask_rule(
    study: Study,
    *,
    threshold: MaskOption = OTSU,
    cutoff: MaskOption = None,
    smooth: MaskOption = None,
    colormap: str | None = None,
    may_be_incomplete: bool = False,
) -> MaskRule:
    """Return the rule of options as `score` takes them, checked against the study's tasks and methods.

    Where they may be incomplete, a task and method without a value has the default.
    """
    rule = MaskRule(
        threshold=_given_values_by_key(threshold, "threshold", study, may_be_incomplete),
        cutoff=_given_values_by_key(cutoff, "cutoff", study, may_be_incomplete),
        smooth=_given_values_by_key(smooth, "smooth", study, may_be_incomplete),
        colormap=colormap,
    )
    for option, values in (("threshold", rule.threshold), ("cutoff", rule.cutoff)):
        for value in values.values():
            if not isinstance(value, str) and not 0 <= value <= 1:
                raise ValueRangeError(
                    Setting(option), f" must lie between 0 and 1; got {value!r}", value=value
                )
    for value in rule.smooth.values():
        if not 0 <= value <= LARGEST_FILTER_SIDE or value % 1:
            raise ValueRangeError(
                Setting("smooth"),
                f" is the side of a box in whole pixels, from 0 to {LARGEST_FILTER_SIDE}; got {value!r}",
                value=value,
            )
    if colormap not in (None, "jet"):
        raise ValueRangeError(
            Setting("colormap"), f" must be None or 'jet'; got {colormap!r}", value=colormap, choices=["jet"]
        )
    if colormap and (not rule.smooth or set(rule.threshold.values()) != {OTSU}):
        raise SalstatsError(
            Setting("colormap", "jet"),
            " is a way of smoothing before Otsu",
            hint=Message("give ", Setting("smooth"), ", and ", Setting("threshold", OTSU)),
        )
    return rule


def _given_values_by_key(
    option_value: MaskOption, option: str, study: Study, may_be_incomplete: bool
) -> ValuesByKey:
    """Return the values of an option by task and method."""
    if option_value is None:
        return {}
    if isinstance(option_value, Mapping):
        values = {
            _task_and_method(key, option): _number_or_threshold_name(value, option)
            for key, value in option_value.items()
        }
        return _checked_values_with_default_threshold(values, option, study, may_be_incomplete)
    if isinstance(option_value, os.PathLike) or (
        isinstance(option_value, str) and _looks_like_path(option_value, option)
    ):
        from salstats.readers.threshold_files import read_thresholds

        file_values: dict[Key, Any] = {}
        for key, value in read_thresholds(option_value, what=option).items():
            file_values[key] = value
        return _checked_values_with_default_threshold(file_values, option, study, may_be_incomplete)
    return {_ALL: _number_or_threshold_name(option_value, option)}


def _checked_values_with_default_threshold(
    values: ValuesByKey, option: str, study: Study, may_be_incomplete: bool
) -> ValuesByKey:
    """Return values, with the default threshold if they may be incomplete or name methods for all tasks.

    SalstatsError if a task and method that needs a value has none, or a method is unknown. People's masks
    need none; thresholds and filters are for maps only, cut-offs for stored masks too.
    """
    all_series = study.series if option == "cutoff" else study.with_maps()
    series_of_methods = [series for series in all_series if series.method != HUMAN]
    named_for_all_tasks = {method for task, method in values if task is None}
    if named_for_all_tasks:
        methods: dict[str, None] = {}
        for series in series_of_methods:
            methods[series.method] = None
            methods[str(series)] = None
        unknown = sorted(str(method) for method in named_for_all_tasks - set(methods))
        if unknown:
            raise SalstatsError(
                Setting(option),
                f" names method {unknown[0]!r}, and the study has {quoted(methods)}",
                value=unknown[0],
                choices=methods,
            )
    if named_for_all_tasks or may_be_incomplete:
        # methods that are not named have the default
        if option == "threshold":
            values = {_ALL: OTSU, **values}
        return values
    for series in series_of_methods:
        for task in study.tasks:
            if value_for_task_and_series(values, task, series) is None:
                raise _no_value_error(values, option, task, series)
    return values


def _no_value_error(values: ValuesByKey, option: str, task: str, series: Series) -> SalstatsError:
    """Return the error of a task and series that an option has no value for."""
    methods = sorted({str(key_method) for key_task, key_method in values if key_task == task})
    if methods:
        hint = f"it has one for method {quoted(methods)}; tune and score under the same name"
    else:
        tasks = sorted({str(key_task) for key_task, _ in values})
        hint = f"it has values for tasks {quoted(tasks)}"
    return SalstatsError(
        Setting(option),
        f" has no value for task {task!r}, method {str(series)!r}",
        hint=hint,
        value=(task, str(series)),
    )


def _task_and_method(key: Any, option: str) -> Key:
    """Return the key of a mapping, a task or a pair of task and method, as task and method."""
    if not isinstance(key, tuple):
        return _text_or_none(key), None
    if len(key) != 2:
        raise SalstatsError(
            Setting(option), f": key {key!r} must be a task or (task, method)", option=option, value=key
        )
    task, method = key
    return _text_or_none(task), _text_or_none(method)


def _text_or_none(name: Any) -> str | None:
    """Return a name as text; None, which stands for all tasks or methods, stays None."""
    if name is None:
        return None
    return str(name)


def _is_threshold_name(value: object, option: str) -> bool:
    """Return True if the value of an option is the name of a threshold, in whatever case."""
    return option == "threshold" and isinstance(value, str) and value.lower() in THRESHOLDS


def _looks_like_path(text: str, option: str) -> bool:
    """Return True if text names a file: it is neither a threshold nor a number."""
    if _is_threshold_name(text, option):
        return False
    try:
        float(text)
    except ValueError:
        return bool(Path(text).suffix) or os.path.lexists(text)
    return False


def _number_or_threshold_name(value: Any, option: str) -> float | str:
    """Return a value as a float, or the name of a threshold in lower case."""
    if _is_threshold_name(value, option):
        return value.lower()
    try:
        return float(value)
    except (TypeError, ValueError):
        names = f"{quoted(THRESHOLDS)}, " if option == "threshold" else ""
        raise ValueRangeError(
            Setting(option),
            f" must be {names}a number, or a file written by ",
            Call("tune"),
            f" (in Python also a mapping by task); got {value!r}",
            value=value,
            choices=THRESHOLDS if option == "threshold" else (),
        ) from None
