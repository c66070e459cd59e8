"""The gaze oracle's comparisons: maps, truths and centre biases as the reference scored them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.images.fixations import Fixations

METHODS = ("interobserver", "sono", "ag", "am1", "am2", "convex")


@dataclass(frozen=True)
class Comparison:
    """One image with one reader left out.

    `truth` is the mean of the other readers' maps, in single precision as there; `maps` by method.
    """

    phase: int
    trial: int
    reader: int
    maps: dict[str, np.ndarray]
    truth: np.ndarray
    center_bias: np.ndarray


def comparisons(shared: Path) -> list[Comparison]:
    """The oracle's 30 comparisons, in the order in which the reference drew its samples."""
    gaze = shared / "oracles" / "gaze"
    with (
        np.load(gaze / "expected/fixation_maps_f32.npz") as fixation_maps,
        np.load(gaze / "expected/center_bias_f64.npz") as biases,
        np.load(gaze / "expected/convex_hull.npz") as hulls,
        np.load(gaze / "inputs/maps.npz") as maps,
    ):
        found = []
        for phase in (1, 2):
            for trial in range(3):
                image = f"p{phase}_t{trial}"
                readers = np.stack([fixation_maps[f"{image}_r{reader}"] for reader in range(5)])
                given = {
                    "sono": maps[f"{image}_sono"],
                    "ag": maps[f"{image}_ag"],
                    "am1": maps[f"{image}_am1"] / 65535,
                    "am2": maps[f"{image}_am2"] / 255,
                    "convex": 255 * hulls[f"hull_{image}"].astype(np.uint8),
                }
                found += [
                    Comparison(
                        phase,
                        trial,
                        reader,
                        {"interobserver": readers[reader], **given},
                        np.mean(np.delete(readers, reader, axis=0), axis=0),
                        biases[image],
                    )
                    for reader in range(5)
                ]
    return found


def recorded(folder: Path) -> Fixations:
    """The fixations of one recording as the release's file has them."""
    table = pd.read_csv(folder / "fixations.csv")
    degrees = "angular_resolution_{}_pixels_per_degree"
    return Fixations(
        table[["y_position", "x_position"]].to_numpy(),
        (table["timestamp_end_fixation"] - table["timestamp_start_fixation"]).to_numpy(),
        table[[degrees.format("y"), degrees.format("x")]].to_numpy(),
        table[[f"{edge}_shown_from_image" for edge in ("ymin", "xmin", "ymax", "xmax")]].to_numpy(),
    )
