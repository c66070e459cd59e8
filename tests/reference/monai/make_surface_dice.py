"""Normalized surface distance of small masks as MONAI computes it.

    python make_surface_dice.py

Writes `inputs.npz` (pairs of masks) and `surface_dice.csv` beside this file. Wants monai and torch.
"""

from pathlib import Path

import monai
import numpy as np
import pandas as pd
import torch
from monai.metrics import compute_surface_dice

HERE = Path(__file__).parent
TOLERANCES = (0.0, 1.0, 1.5, 2.0, 5.0)
#: Size of a pixel along rows and along columns; in pixels, and in mm.
SPACINGS = ((1.0, 1.0), (0.5, 2.0))


def pairs():
    """Two masks each, by name: blobs that overlap or do not, with holes, at the border, of one pixel."""
    rng = np.random.default_rng(0)
    rows, cols = np.mgrid[:40, :50]

    def disk(row, col, radius):
        return (rows - row) ** 2 + (cols - col) ** 2 <= radius**2

    yield "same", disk(20, 25, 9), disk(20, 25, 9)
    yield "shifted", disk(20, 25, 9), disk(22, 28, 9)
    yield "apart", disk(8, 8, 5), disk(30, 40, 6)
    yield "ring", disk(20, 25, 12) & ~disk(20, 25, 6), disk(20, 25, 12)
    yield "several", disk(10, 10, 4) | disk(30, 35, 6), disk(10, 12, 4) | disk(28, 35, 3)
    yield "border", disk(0, 0, 15), disk(2, 0, 15)
    yield "full", np.ones((40, 50), bool), disk(20, 25, 15)
    yield "pixel", disk(20, 25, 0), disk(20, 27, 3)
    for number in range(4):
        yield f"noise_{number}", rng.random((40, 50)) < 0.2, rng.random((40, 50)) < 0.3


def surface_dice(mask, truth, tolerance, spacing):
    """MONAI's value; masks have the shape batch, classes, height, width."""
    one, other = (torch.tensor(m[None, None], dtype=torch.float32) for m in (mask, truth))
    found = compute_surface_dice(one, other, [tolerance], include_background=True, spacing=list(spacing))
    return float(found)


if __name__ == "__main__":
    made = {name: (mask, truth) for name, mask, truth in pairs()}
    arrays = {
        f"{n}__{what}": m for n, two in made.items() for what, m in zip(("mask", "truth"), two, strict=True)
    }
    np.savez_compressed(HERE / "inputs.npz", **arrays)
    rows = [
        (name, tolerance, *spacing, surface_dice(*two, tolerance, spacing))
        for name, two in made.items()
        for tolerance in TOLERANCES
        for spacing in SPACINGS
    ]
    frame = pd.DataFrame(rows, columns=["pair", "tolerance", "row_mm", "col_mm", "surface_dice"])
    frame.to_csv(HERE / "surface_dice.csv", index=False)
    versions = (f"{module.__name__} {module.__version__}\n" for module in (monai, torch, np))
    (HERE / "versions.txt").write_text("".join(versions))
