"""What `score` was asked for beyond overlap: distances in pixels or mm, the Penalised Dice, empty masks."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from salstats.checks import SalstatsError, ValueRangeError, check_choice, quoted

#: Metrics that have a unit.
DISTANCES = ("hausdorff", "hd95", "assd")
DISTANCE = (*DISTANCES, "pdc")
WORST = "worst"
_PDC_OPTIONS = ("alpha", "beta", "form", "components")

#: Kernels' options of distances, as `metrics.distance` has them, and in words.
_POINTS = {
    "boundary": "boundary pixels (4 neighbours)",
    "boundary8": "boundary pixels (8 neighbours)",
    "foreground": "all pixels of both masks",
}
_HD95 = {
    "directed": ", the larger of the two directed percentiles",
    "pooled": ", the percentile of both directions together",
}

#: One number or two (row, col) for all images, or by case, or a file.
Spacing = float | Sequence[float] | Mapping[str, Any] | str | os.PathLike[str] | None


@dataclass(frozen=True)
class DistanceRule:
    """How masks are compared by distance and size.

    Attributes
    ----------
    spacing : mapping of str or None to (float, float)
        Size of a pixel in mm along rows and columns, by case; None stands for all. Empty: in pixels.
    undefined : {"nan", "worst"}
        What an empty mask scores against a finding.
    pdc : mapping
        Options of the Penalised Dice.
    points : {"boundary", "boundary8", "foreground"}
        Which pixels distances run between.
    hd95_rule : {"directed", "pooled"}
        What the 95th percentile is of.
    shows_empty : bool
        Whether the scores say which masks were empty.
    """

    spacing: Mapping[str | None, tuple[float, float]]
    undefined: str
    pdc: Mapping[str, Any]
    points: str
    hd95_rule: str
    shows_empty: bool

    @property
    def unit(self) -> str:
        """The unit of distances."""
        return "mm" if self.spacing else "px"

    def options_of(self, metric: str) -> str | None:
        """Return how a distance is measured, in words, as it stands beside its scores; None for others."""
        if metric not in DISTANCES:
            return None
        return f"between {_POINTS[self.points]}{_HD95[self.hd95_rule] if metric == 'hd95' else ''}"

    @property
    def pdc_options(self) -> str:
        """The options of the Penalised Dice in words, as they stand beside its scores."""
        chosen = {"form": "product", "alpha": 1, "beta": 1, "components": "mean", **self.pdc}
        return (
            f"{chosen['form']} form, penalties {chosen['alpha']:g} (too small) and {chosen['beta']:g} "
            f"(too large){', mask as a whole' if chosen['components'] == 'whole' else ''}"
        )

    def scores(
        self, mask: np.ndarray, truth: np.ndarray, metrics: Sequence[str], case: str
    ) -> dict[str, float]:
        """Return the scores of a mask and a truth that both mark something."""
        # they load SciPy, which overlap alone does without
        from salstats.metrics.distance import surface_distances
        from salstats.metrics.penalised_dice import pdc

        found: dict[str, float] = {}
        if set(metrics) & set(DISTANCES):
            distances = surface_distances(mask, truth, spacing=self._steps(case), points=self.points)
            chosen = {"hd95": {"rule": self.hd95_rule}}
            found |= {m: getattr(distances, m)(**chosen.get(m, {})) for m in metrics if m in DISTANCES}
        if "pdc" in metrics:
            found["pdc"] = float(pdc(mask, truth, **self.pdc))
        return found

    def worst(self, metric: str, shape: tuple[int, int], case: str) -> float:
        """Return the score of an empty mask against a finding: the image's diagonal, or 0."""
        if metric not in DISTANCES:
            return 0.0
        row, col = self._steps(case) or (1.0, 1.0)
        return float(np.hypot(shape[0] * row, shape[1] * col))

    def _steps(self, case: str) -> tuple[float, float] | None:
        """Return the size of a case's pixel; None for distances in pixels."""
        return self.spacing.get(case, self.spacing.get(None))


def distance_rule(
    metrics: Sequence[str],
    cases: Sequence[str],
    *,
    spacing: Spacing = None,
    undefined: str = "nan",
    pdc: Mapping[str, Any] | None = None,
    points: str = "boundary",
    hd95_rule: str = "directed",
) -> DistanceRule:
    """Return a rule from the options of `score`, checked against the cases before any is scored.

    Raises
    ------
    SalstatsError
        Spacing lacks a case, or an option is for metrics that are not asked for.
    ValueRangeError
        An option is out of range.
    """
    asked = [m for m in metrics if m in DISTANCE]
    if spacing is not None and not set(asked) & set(DISTANCES):
        raise SalstatsError(f"spacing= is the unit of {', '.join(DISTANCES)}; none of them is asked for")
    if pdc is not None and "pdc" not in asked:
        raise SalstatsError(f"{_named(pdc)} holds options of the metric 'pdc', which is not asked for")
    check_choice(undefined, ("nan", WORST), "undefined")
    given = f"points={points!r} (--distance-points)"
    if points not in _POINTS:
        raise ValueRangeError(f"{given} is not known; choose one of {', '.join(_POINTS)}")
    check_choice(hd95_rule, tuple(_HD95), "hd95_rule")
    if points != "boundary" and not set(asked) & set(DISTANCES):
        raise SalstatsError(f"{given} is what {', '.join(DISTANCES)} run between; none of them is asked for")
    if hd95_rule != "directed" and "hd95" not in asked:
        raise SalstatsError("hd95_rule= is an option of the metric 'hd95', which is not asked for")
    return DistanceRule(
        spacing=_spacing(spacing, cases),
        undefined=undefined,
        pdc=_pdc_options(pdc),
        points=points,
        hd95_rule=hd95_rule,
        shows_empty=bool(asked) or undefined == WORST,
    )


def _spacing(given: Spacing, cases: Sequence[str]) -> dict[str | None, tuple[float, float]]:
    """Return the size of a pixel by case, or of all under None."""
    if given is None:
        return {}
    if isinstance(given, str | os.PathLike):
        from salstats.readers.spacing import read_spacing

        by_case: Mapping[str, Any] = read_spacing(given)
        name = f"spacing={os.fspath(given)!r}"
    elif isinstance(given, Mapping):
        by_case, name = given, "spacing="
    else:
        return {None: _steps(given, "spacing=")}
    missing = sorted(set(cases) - set(by_case))
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise SalstatsError(f"{name} has no entry for case {missing[0]!r}{more}")
    return {case: _steps(by_case[case], f"spacing= of case {case!r}") for case in cases}


def _steps(given: Any, name: str) -> tuple[float, float]:
    """Return the size of a pixel along rows and columns, from one number or two."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    values = list(given) if isinstance(given, Sequence) and not isinstance(given, str | bytes) else [given]
    numbers = [
        float(v)
        for v in values
        if isinstance(v, int | float | np.number) and not isinstance(v, bool | complex)
    ]
    if len(numbers) != len(values) or len(values) not in (1, 2):
        raise ValueRangeError(f"{name} must be mm per pixel, one number or two (row, col), not {given!r}")
    if not all(np.isfinite(n) and n > 0 for n in numbers):
        raise ValueRangeError(f"{name} must be positive and finite, in mm per pixel, not {given!r}")
    return numbers[0], numbers[-1]


def _pdc_options(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return options of the Penalised Dice, which its kernel takes."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueRangeError(f"pdc must be a mapping of options, such as {{'alpha': 0}}, not {given!r}")
    for option in given:
        if option not in _PDC_OPTIONS:
            raise ValueRangeError(f"pdc has no option {option!r}; it has {quoted(_PDC_OPTIONS)}")
    from salstats.metrics.penalised_dice import pdc

    # the kernel's own checks, before any work
    pixel = np.ones((1, 1), dtype=bool)
    for option, value in given.items():
        try:
            pdc(pixel, pixel, **{option: value})
        except SalstatsError as error:
            raise ValueRangeError(f"{_named({option: value})}: {error}") from error
    return dict(given)


def _named(pdc: Any) -> str:
    """Return options of the Penalised Dice as they are given, and as flags."""
    flags = ", ".join(f"--pdc-{option}" for option in pdc) if isinstance(pdc, Mapping) else ""
    return f"pdc={pdc!r}" + (f" ({flags})" if flags else "")
