"""Score drawn masks that are shifted, too small or too large by every overlap and distance measure.

The three simulations of Blake et al. 2025 (MRxaI, CEUR Workshop Proceedings Vol-4059, paper 9): one irregular
shape is the truth, and nine explanations are the same shape along a diagonal, at nine sizes, or both at once.
The right answer is known, so the curves show which errors each measure notices.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.coded_text import TEXT
from salstats.images.simulated_masks import draw_centred_contour, irregular_contour_row_col
from salstats.metrics.distance import surface_distances
from salstats.metrics.overlap import counts, dice_from_counts, iou_from_counts
from salstats.metrics.penalised_dice import pdc

#: Shifts along the diagonal, in pixels down and to the right.
SHIFTS = tuple(np.linspace(-72.0, 72.0, 9).tolist())
#: Nine sizes in equal steps, as in the study's text.
LINEAR_SCALES = tuple(np.linspace(0.6, 1.7, 9).tolist())
#: Nine sizes in equal steps up to 1 and in other equal steps from 1 on.
PIECEWISE_SCALES = (*np.linspace(0.6, 1.0, 5).tolist(), *np.linspace(1.0, 1.7, 5)[1:].tolist())
_CONSTANT_SIZE = (1.0,) * 9
_NO_SHIFT = (0.0,) * 9
#: Forms of the penalised Dice.
FORMS = ("product", "mean")
#: Penalty of size by its name in the frame.
PENALTIES = {"with": 1.0, "without": 0.0}


@dataclass(frozen=True)
class SimulationDesign:
    """Shift and scale of each step of a simulation, and the scale of the truth."""

    shifts: tuple[float, ...]
    scales: tuple[float, ...]
    truth_scale: float = 1.0


#: Designs by name. The text of the study has nine equal steps of size from 0.6 to 1.7, and says that the
#: fifth is the truth's. Both cannot be, as the fifth is 1.15. Hence the variants: a truth of size 1, a truth
#: of the fifth size, and steps that are equal up to 1 and from 1 on.
SIMULATIONS: dict[str, SimulationDesign] = {
    "distance": SimulationDesign(SHIFTS, _CONSTANT_SIZE),
    "size_linear": SimulationDesign(_NO_SHIFT, LINEAR_SCALES),
    "size_piecewise": SimulationDesign(_NO_SHIFT, PIECEWISE_SCALES),
    "both_linear_truth1": SimulationDesign(SHIFTS, LINEAR_SCALES),
    "both_linear_truthmid": SimulationDesign(SHIFTS, LINEAR_SCALES, truth_scale=LINEAR_SCALES[4]),
    "both_piecewise": SimulationDesign(SHIFTS, PIECEWISE_SCALES),
}


@dataclass(frozen=True, eq=False)
class MaskSeries:
    """The masks of one simulation: the truth, and an explanation for each step."""

    truth: np.ndarray
    masks: tuple[np.ndarray, ...]
    #: Pixels down and to the right that each explanation is shifted by.
    shifts: tuple[float, ...]
    #: Size of each explanation relative to the drawn shape.
    scales: tuple[float, ...]

    def masks_with_step_columns(self, name: str) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
        """Yield each explanation and the columns that identify it."""
        steps = zip(self.masks, self.shifts, self.scales, strict=True)
        for step, (mask, shift, scale) in enumerate(steps, start=1):
            yield mask, {"simulation": name, "step": step, "shift": shift, "scale": scale}


def simulate_masks() -> dict[str, MaskSeries]:
    """Draw the masks of the simulations, all of one irregular shape on 256 x 256 pixels."""
    corners = irregular_contour_row_col()

    def draw_shape(scale: float, shift: float = 0.0) -> np.ndarray:
        return draw_centred_contour(corners, (256, 256), shift=(shift, shift), scale=scale)

    series = {}
    for name, design in SIMULATIONS.items():
        steps = zip(design.shifts, design.scales, strict=True)
        series[name] = MaskSeries(
            truth=draw_shape(design.truth_scale),
            masks=tuple(draw_shape(scale, shift) for shift, scale in steps),
            shifts=design.shifts,
            scales=design.scales,
        )
    return series


def score_masks_of_each_simulation_step(
    simulation_by_name: Mapping[str, MaskSeries], *, hd95_rule: str = "directed"
) -> pd.DataFrame:
    """Score every explanation by every measure: one row per simulation, step (from 1) and measure.

    `form` and `size_penalty` ("with": alpha = beta = 1, "without": 0) are options of the penalised Dice, and
    missing for other measures. Distances are in pixels; `hd95_rule` is the `rule` of `metrics.distance.hd95`.
    """
    rows = []
    for name, simulation in simulation_by_name.items():
        for mask, step_columns in simulation.masks_with_step_columns(name):
            for measure_columns in _measure_rows(mask, simulation.truth, hd95_rule):
                rows.append({**step_columns, **measure_columns})
    return pd.DataFrame(rows).astype(dict.fromkeys(("form", "size_penalty", "distance_unit"), TEXT))


def count_truth_mask_and_overlap_pixels(simulation_by_name: Mapping[str, MaskSeries]) -> pd.DataFrame:
    """Count the pixels of every truth, explanation and their overlap, by simulation and step."""
    rows = []
    for name, simulation in simulation_by_name.items():
        for mask, step_columns in simulation.masks_with_step_columns(name):
            pixels = counts(mask, simulation.truth)
            rows.append(
                {
                    **step_columns,
                    "n_truth": pixels.tp + pixels.fn,
                    "n_mask": pixels.tp + pixels.fp,
                    "n_overlap": pixels.tp,
                }
            )
    return pd.DataFrame(rows)


def _measure_rows(mask: np.ndarray, truth: np.ndarray, hd95_rule: str) -> Iterator[dict[str, Any]]:
    """Yield the columns of each measure of one explanation."""
    pixels = counts(mask, truth)
    distances = surface_distances(mask, truth)
    yield _measure_row("dice", float(dice_from_counts(pixels)))
    yield _measure_row("iou", float(iou_from_counts(pixels)))
    yield _measure_row("hausdorff", distances.hausdorff(), distance_unit="px")
    yield _measure_row("hd95", distances.hd95(rule=hd95_rule), distance_unit="px")
    yield _measure_row("assd", distances.assd(), distance_unit="px")
    for form in FORMS:
        for size_penalty, exponent in PENALTIES.items():
            score = pdc(mask, truth, alpha=exponent, beta=exponent, form=form)
            yield _measure_row("pdc", score, form=form, size_penalty=size_penalty)


def _measure_row(
    metric: str,
    score: float,
    *,
    form: str | None = None,
    size_penalty: str | None = None,
    distance_unit: str | None = None,
) -> dict[str, Any]:
    """Return the columns of one measure."""
    return {
        "metric": metric,
        "form": form,
        "size_penalty": size_penalty,
        "score": score,
        "distance_unit": distance_unit,
    }
