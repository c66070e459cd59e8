"""Options of `score` beyond those that make a mask: distances, options of single metrics, empty masks."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from salstats.checks import and_n_more_after_first, check_choice, quoted
from salstats.errors import Message, SalstatsError, Setting, ValueRangeError
from salstats.images.masks import encode
from salstats.metrics.distance import surface_distances
from salstats.metrics.overlap import counts
from salstats.metrics.records import Metric
from salstats.metrics.registry import METRICS

#: Metrics in pixels or mm.
DISTANCES = tuple(metric.name for metric in METRICS.values() if metric.is_length)
#: Value of `undefined` that gives an empty mask the worst score.
WORST = "worst"
#: Pixels that distances run between, as `metrics.distance` calls them, and their description.
_POINTS = {
    "boundary": "boundary pixels (4 neighbours)",
    "boundary8": "boundary pixels (8 neighbours)",
    "foreground": "all pixels of both masks",
}

#: One number or two (row, col) for all images, or by case, or a file.
Spacing = float | Sequence[float] | Mapping[str, Any] | str | os.PathLike[str] | None
Options = Mapping[str, Mapping[str, Any]]
#: Size of a pixel in mm along rows and along columns.
PixelSize = tuple[float, float]


@dataclass(frozen=True)
class DistanceRule:
    """Checked options of metrics, other than those that make a mask."""

    #: Size of a pixel by case, or that of all cases under None. Empty if distances are in pixels.
    pixel_sizes_mm: Mapping[str | None, PixelSize]
    #: Score of an empty mask against a finding, "nan" or "worst".
    undefined: str
    #: Pixels that distances run between, a key of `_POINTS`.
    points: str
    #: Options of single metrics, by metric.
    options: Options

    def pixel_size_mm(self, case: str) -> PixelSize | None:
        """Return the size of a pixel of a case's image; None if distances are in pixels."""
        return self.pixel_sizes_mm.get(case, self.pixel_sizes_mm.get(None))

    def diagonal(self, shape: tuple[int, int], case: str) -> float:
        """Return the diagonal of a case's image in mm, or in pixels if distances are."""
        row_size, col_size = self.pixel_size_mm(case) or (1.0, 1.0)
        return float(np.hypot(shape[0] * row_size, shape[1] * col_size))

    def columns(self, metric: Metric) -> dict[str, str | None]:
        """Return the columns of a metric's scores: unit, description of the options, score of empty masks."""
        description = metric.options_text(self.options.get(metric.name, {}))
        if "distances" in metric.needs:
            between = f"between {_POINTS[self.points]}"
            description = between if description is None else f"{between}, {description}"
        unit = None
        if metric.is_length:
            unit = "mm" if self.pixel_sizes_mm else "px"
        has_worst = metric.compares_mask or "saliency" in metric.needs
        return {
            metric.column: description,
            "distance_unit": unit,
            "undefined": WORST if self.undefined == WORST and has_worst else None,
        }


def distance_rule(
    metrics: Sequence[str],
    cases: Sequence[str],
    *,
    spacing: Spacing = None,
    undefined: str = "nan",
    points: str = "boundary",
    options: Options | None = None,
) -> DistanceRule:
    """Return the options of `score`, checked against metrics and cases before any case is scored."""
    distance_metrics = [metric.name for metric in METRICS.values() if "distances" in metric.needs]
    needs_distances = not set(metrics).isdisjoint(distance_metrics)
    if spacing is not None and not needs_distances:
        raise SalstatsError(
            Setting("spacing"),
            f" is the size of a pixel for {', '.join(distance_metrics)}; none of them is asked for",
        )
    check_choice(undefined, ("nan", WORST), "undefined")
    check_choice(points, tuple(_POINTS), "points")
    if points != "boundary" and not needs_distances:
        raise SalstatsError(
            Setting("points", points),
            f" are the pixels that {', '.join(distance_metrics)} compare; none of them is asked for",
        )
    checked = {}
    for name, metric_options in (options or {}).items():
        checked[name] = _checked_metric_options(name, metric_options)
    for name, metric_options in checked.items():
        if name not in metrics:
            raise SalstatsError(
                f"there are options of the metric {name!r}, {metric_options!r}, which is not asked for",
                hint=Message("add it to ", Setting("metrics")),
                option="options",
                value=name,
            )
    return DistanceRule(_pixel_sizes_by_case_or_for_all(spacing, cases), undefined, points, checked)


def pixel_widths_mm(spacing: Spacing) -> float | dict[str, float] | None:
    """Return the width of a pixel in mm for a scale bar: one for all images, or by case."""
    if spacing is None:
        return None
    by_case = _spacing_by_case(spacing)
    if by_case is None:
        _, width = _checked_pixel_size_mm(spacing)
        return width
    widths = {}
    for case, size in by_case.items():
        _, widths[case] = _checked_pixel_size_mm(size, case)
    return widths


def _pixel_sizes_by_case_or_for_all(spacing: Spacing, cases: Sequence[str]) -> dict[str | None, PixelSize]:
    """Return the size of a pixel by case, or that of all cases under None; empty for distances in pixels.

    SalstatsError if a case has no entry.
    """
    if spacing is None:
        return {}
    by_case = _spacing_by_case(spacing)
    if by_case is None:
        return {None: _checked_pixel_size_mm(spacing)}
    missing = sorted(set(cases) - set(by_case))
    if missing:
        option = Setting("spacing")
        if isinstance(spacing, str | os.PathLike):
            option = Setting("spacing", os.fspath(spacing))
        raise SalstatsError(
            option,
            f" has no entry for case {missing[0]!r}{and_n_more_after_first(missing)}",
            column="case",
            value=missing,
        )
    return {case: _checked_pixel_size_mm(by_case[case], case) for case in cases}


def _spacing_by_case(spacing: Spacing) -> Mapping[str, Any] | None:
    """Return the sizes in a mapping or a file, by case; None if there is one size for all cases."""
    if isinstance(spacing, str | os.PathLike):
        from salstats.readers.case_tables import read_spacing_mm_by_case

        return read_spacing_mm_by_case(spacing)
    if isinstance(spacing, Mapping):
        return spacing
    return None


def _checked_pixel_size_mm(size: Any, case: str | None = None) -> PixelSize:
    """Return the size of a pixel along rows and columns, from one number or two."""
    of_case = "" if case is None else f" of case {case!r}"
    try:
        numbers = np.atleast_1d(np.asarray(size, dtype=np.float64))
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape not in ((1,), (2,)):
        raise ValueRangeError(
            Setting("spacing"),
            f"{of_case} must be mm per pixel, one number or two (row, col), not {size!r}",
            value=size,
        )
    if not (np.isfinite(numbers) & (numbers > 0)).all():
        raise ValueRangeError(
            Setting("spacing"),
            f"{of_case} must be positive and finite, in mm per pixel, not {size!r}",
            value=size,
        )
    # one number is the size along rows and along columns
    return float(numbers[0]), float(numbers[-1])


def _checked_metric_options(metric_name: str, options: Any) -> dict[str, Any]:
    """Return the options of a metric as a dict; ValueRangeError for one that its kernel does not take."""
    metric = METRICS.get(metric_name)
    if metric is None or not metric.compares_mask or not metric.options:
        with_options = [record.name for record in METRICS.values() if record.compares_mask and record.options]
        raise ValueRangeError(
            Setting("options"),
            f" is for metrics that have some ({quoted(with_options)}), not {metric_name!r}",
            value=metric_name,
            choices=with_options,
        )
    if not isinstance(options, Mapping):
        raise ValueRangeError(
            f"{metric_name} must be a mapping of options, such as {{'alpha': 0}}, not {options!r}",
            option="options",
            value=options,
        )
    for option in options:
        if option not in metric.options:
            raise ValueRangeError(
                f"{metric_name} has no option {option!r}; it has {quoted(metric.options)}",
                option="options",
                value=option,
                choices=metric.options,
            )
    # the kernel checks its options itself: it is called on one pixel before any work
    assert metric.kernel is not None
    pixel = np.ones((1, 1), dtype=bool)
    pixel_inputs = {
        "counts": counts(pixel, pixel),
        "distances": surface_distances(pixel, pixel),
        "mask": pixel,
        "truth": pixel,
        "runs": encode(pixel),
    }
    inputs = [pixel_inputs[need] for need in metric.needs]
    for option, value in options.items():
        try:
            metric.kernel(*inputs, **{option: value})
        except SalstatsError as error:
            raise ValueRangeError(
                f"{metric_name}: ", error.message, option="options", value=value, choices=error.choices
            ) from error
    return dict(options)
