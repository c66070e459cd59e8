"""How `score` computes metrics: distances in pixels or mm, options of single metrics, empty masks."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from salstats.checks import check_choice, quoted
from salstats.errors import SalstatsError, ValueRangeError
from salstats.images.masks import encode
from salstats.metrics.distance import surface_distances
from salstats.metrics.overlap import counts
from salstats.metrics.records import Metric
from salstats.metrics.registry import METRICS

#: Metrics that have a unit.
DISTANCES = tuple(m.name for m in METRICS.values() if m.is_length)
WORST = "worst"
#: Which pixels distances run between, as `metrics.distance` has them, and in words.
_POINTS = {
    "boundary": "boundary pixels (4 neighbours)",
    "boundary8": "boundary pixels (8 neighbours)",
    "foreground": "all pixels of both masks",
}

#: One number or two (row, col) for all images, or by case, or a file.
Spacing = float | Sequence[float] | Mapping[str, Any] | str | os.PathLike[str] | None
Options = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class DistanceRule:
    """How metrics are computed, beyond what makes a mask."""

    #: Size of a pixel in mm along rows and columns, by case; None stands for all. Empty: in pixels.
    spacing: Mapping[str | None, tuple[float, float]]
    #: What an empty mask scores against a finding, "nan" or "worst".
    undefined: str
    points: str
    #: Options of single metrics, by metric.
    options: Options

    def steps(self, case: str) -> tuple[float, float] | None:
        """The size of a case's pixel; None for distances in pixels."""
        return self.spacing.get(case, self.spacing.get(None))

    def diagonal(self, shape: tuple[int, int], case: str) -> float:
        """The diagonal of a case's image."""
        row, col = self.steps(case) or (1.0, 1.0)
        return float(np.hypot(shape[0] * row, shape[1] * col))

    def beside(self, metric: Metric) -> dict[str, str | None]:
        """What stands beside the scores of a metric, by column: unit, options in words, the worst score."""
        said = metric.options_text(self.options.get(metric.name, {}))
        if "distances" in metric.needs:
            said = ", ".join(filter(None, (f"between {_POINTS[self.points]}", said)))
        shown = self.undefined == WORST and (metric.of_mask or "saliency" in metric.needs)
        return {
            metric.column: said,
            "distance_unit": ("mm" if self.spacing else "px") if metric.is_length else None,
            "undefined": WORST if shown else None,
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
    """A rule from the options of `score`, checked against the cases before any is scored."""
    needed = {need for m in metrics for need in METRICS[m].needs}
    lengths = ", ".join(DISTANCES)
    if spacing is not None and "distances" not in needed:
        raise SalstatsError(f"spacing= is the unit of {lengths}; none of them is asked for")
    check_choice(undefined, ("nan", WORST), "undefined")
    check_choice(points, tuple(_POINTS), "points")
    if points != "boundary" and "distances" not in needed:
        raise SalstatsError(f"points={points!r} is what {lengths} run between; none of them is asked for")
    checked = {name: _checked(name, own) for name, own in (options or {}).items()}
    for name, own in checked.items():
        if name not in metrics:
            raise SalstatsError(
                f"{name}={own!r} holds options of the metric {name!r}, which is not asked for"
            )
    return DistanceRule(_spacing(spacing, cases), undefined, points, checked)


def _spacing(given: Spacing, cases: Sequence[str]) -> dict[str | None, tuple[float, float]]:
    """The size of a pixel by case, or of all under None."""
    if given is None:
        return {}
    by_case, name = _by_case(given)
    if by_case is None:
        return {None: _steps(given, "spacing=")}
    missing = sorted(set(cases) - set(by_case))
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise SalstatsError(f"{name} has no entry for case {missing[0]!r}{more}")
    return {case: _steps(by_case[case], f"spacing= of case {case!r}") for case in cases}


def pixel_widths(given: Spacing) -> float | dict[str, float] | None:
    """The width of a pixel in mm, which a scale bar needs, of all images or by case."""
    by_case, _ = _by_case(given)
    if by_case is None:
        return None if given is None else _steps(given, "spacing=")[1]
    return {case: _steps(size, f"spacing= of case {case!r}")[1] for case, size in by_case.items()}


def _by_case(given: Spacing) -> tuple[Mapping[str, Any] | None, str]:
    """The sizes of a mapping or a file, None where there is one for all; and what to call them."""
    if isinstance(given, str | os.PathLike):
        from salstats.readers.case_tables import read_spacing

        return read_spacing(given), f"spacing={os.fspath(given)!r}"
    return (given if isinstance(given, Mapping) else None), "spacing="


def _steps(given: Any, name: str) -> tuple[float, float]:
    """The size of a pixel along rows and columns, from one number or two."""
    try:
        numbers = np.atleast_1d(np.asarray(given, dtype=np.float64))
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape not in ((1,), (2,)):
        raise ValueRangeError(f"{name} must be mm per pixel, one number or two (row, col), not {given!r}")
    if not (np.isfinite(numbers) & (numbers > 0)).all():
        raise ValueRangeError(f"{name} must be positive and finite, in mm per pixel, not {given!r}")
    return float(numbers[0]), float(numbers[-1])


def _checked(name: str, given: Any) -> dict[str, Any]:
    """Options of a metric, which its kernel takes."""
    metric = METRICS.get(name)
    if metric is None or not metric.of_mask or not metric.options:
        there = [m.name for m in METRICS.values() if m.of_mask and m.options]
        raise ValueRangeError(f"options= is for metrics that have some ({quoted(there)}), not {name!r}")
    if not isinstance(given, Mapping):
        raise ValueRangeError(f"{name} must be a mapping of options, such as {{'alpha': 0}}, not {given!r}")
    for option in given:
        if option not in metric.options:
            raise ValueRangeError(f"{name} has no option {option!r}; it has {quoted(metric.options)}")
    assert metric.kernel is not None
    # the kernel's own checks on one pixel, before any work
    pixel = np.ones((1, 1), dtype=bool)
    trial = {
        "counts": counts(pixel, pixel), "distances": surface_distances(pixel, pixel), "mask": pixel,
        "truth": pixel, "runs": encode(pixel),
    }  # fmt: skip
    for option, value in given.items():
        try:
            metric.kernel(*(trial[need] for need in metric.needs), **{option: value})
        except SalstatsError as error:
            raise ValueRangeError(f"{name}: {error}") from error
    return dict(given)
