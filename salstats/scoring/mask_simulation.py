"""How agreement measures answer to an explanation that is shifted, too small or too large: drawn masks.

The three simulations of Blake et al. (MRxaI): one irregular shape is the truth, and nine explanations are the
same shape along a diagonal, at nine sizes, or both at once. What is right is known, so the curves show what
each measure sees.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from salstats.images.simulated_masks import draw_contour, irregular_contour
from salstats.metrics.distance import surface_distances
from salstats.metrics.overlap import counts, dice_from_counts, iou_from_counts
from salstats.metrics.penalised_dice import pdc

#: Shifts along the diagonal, in pixels down and to the right.
SHIFTS = tuple(np.linspace(-72.0, 72.0, 9).tolist())
#: Nine sizes in equal steps, as the study's text has them; and in equal steps to 1 and from 1 on.
LINEAR = tuple(np.linspace(0.6, 1.7, 9).tolist())
PIECEWISE = (*np.linspace(0.6, 1.0, 5).tolist(), *np.linspace(1.0, 1.7, 5)[1:].tolist())
_SAME = (1.0,) * 9
_STILL = (0.0,) * 9
#: Forms of the penalised Dice, and penalties of size by what the frame calls them.
FORMS = ("product", "mean")
PENALTIES = {"with": 1.0, "without": 0.0}


@dataclass(frozen=True)
class SimulationDesign:
    """What a simulation does: the shift and scale of each step, and the scale of the truth."""

    shifts: tuple[float, ...]
    scales: tuple[float, ...]
    truth_scale: float = 1.0


#: By name. The text of the study has nine equal steps of size from 0.6 to 1.7, and says that the fifth is the
#: truth's: both cannot be, as it is 1.15. Hence the variants: the truth of size 1, of the fifth's, and steps
#: that are equal to 1 and from 1 on.
SIMULATIONS: dict[str, SimulationDesign] = {
    "distance": SimulationDesign(SHIFTS, _SAME),
    "size_linear": SimulationDesign(_STILL, LINEAR),
    "size_piecewise": SimulationDesign(_STILL, PIECEWISE),
    "both_linear_truth1": SimulationDesign(SHIFTS, LINEAR),
    "both_linear_truthmid": SimulationDesign(SHIFTS, LINEAR, LINEAR[4]),
    "both_piecewise": SimulationDesign(SHIFTS, PIECEWISE),
}


@dataclass(frozen=True, eq=False)
class MaskSeries:
    """The masks of one simulation: the truth, and an explanation for each step."""

    truth: np.ndarray
    masks: tuple[np.ndarray, ...]
    #: Of each explanation: pixels down and to the right, and size relative to the shape drawn.
    shifts: tuple[float, ...]
    scales: tuple[float, ...]

    def steps(self, name: str) -> Iterator[tuple[np.ndarray, dict[str, Any]]]:
        """Yield each explanation, and what a frame says of it."""
        steps = zip(self.masks, self.shifts, self.scales, strict=True)
        for step, (mask, shift, scale) in enumerate(steps, start=1):
            yield mask, {"simulation": name, "step": step, "shift": shift, "scale": scale}


def simulate_masks() -> dict[str, MaskSeries]:
    """Masks of the simulations, all of one irregular shape on 256 x 256 pixels."""
    corners = irregular_contour()

    def drawn(scale: float, shift: float = 0.0) -> np.ndarray:
        return draw_contour(corners, (256, 256), shift=(shift, shift), scale=scale)

    made = {}
    for name, plan in SIMULATIONS.items():
        masks = tuple(drawn(scale, shift) for shift, scale in zip(plan.shifts, plan.scales, strict=True))
        made[name] = MaskSeries(drawn(plan.truth_scale), masks, plan.shifts, plan.scales)
    return made


def score_masks(series: Mapping[str, MaskSeries], *, hd95_rule: str = "directed") -> pd.DataFrame:
    """Every measure of every explanation: one row per simulation, step (from 1) and measure.

    `form` and `size_penalty` ("with": alpha = beta = 1, "without": 0) are of the penalised Dice; distances
    are in pixels, "hd95" by its rule as for `hd95`.
    """
    frame = pd.DataFrame(
        {**named, **row}
        for name, one in series.items()
        for mask, named in one.steps(name)
        for row in _measures(mask, one.truth, hd95_rule)
    )
    return frame.astype(dict.fromkeys(("form", "size_penalty", "distance_unit"), "str"))


def count_masks(series: Mapping[str, MaskSeries]) -> pd.DataFrame:
    """Pixels of every truth, explanation and their overlap, by simulation and step."""
    rows = []
    for name, one in series.items():
        for mask, named in one.steps(name):
            found = counts(mask, one.truth)
            n_truth, n_mask = found.tp + found.fn, found.tp + found.fp
            rows.append({**named, "n_truth": n_truth, "n_mask": n_mask, "n_overlap": found.tp})
    return pd.DataFrame(rows)


def _measures(mask: np.ndarray, truth: np.ndarray, hd95_rule: str) -> Iterator[dict[str, Any]]:
    """Yield the measures of one explanation."""
    counted, apart = counts(mask, truth), surface_distances(mask, truth)
    blank = {"form": None, "size_penalty": None}
    for metric, overlap in (("dice", dice_from_counts), ("iou", iou_from_counts)):
        yield {"metric": metric, **blank, "score": float(overlap(counted)), "distance_unit": None}
    lengths = {"hausdorff": apart.hausdorff(), "hd95": apart.hd95(rule=hd95_rule), "assd": apart.assd()}
    for metric, length in lengths.items():
        yield {"metric": metric, **blank, "score": length, "distance_unit": "px"}
    for form, (said, power) in product(FORMS, PENALTIES.items()):
        score = pdc(mask, truth, alpha=power, beta=power, form=form)
        yield {"metric": "pdc", "form": form, "size_penalty": said, "score": score, "distance_unit": None}
