"""Masks of several readers, and what SimpleITK's STAPLE filter makes of them: masks.npz, results.csv."""

import csv
from pathlib import Path

import numpy as np
import SimpleITK as sitk

HERE = Path(__file__).parent


def disc(shape, row, col, radius):
    """Pixels within a radius of a point."""
    rows, cols = np.mgrid[: shape[0], : shape[1]]
    return (rows - row) ** 2 + (cols - col) ** 2 <= radius**2


def noisy(truth, p, q, rng):
    """What a reader of sensitivity p and specificity q marks."""
    return np.where(truth, rng.random(truth.shape) < p, rng.random(truth.shape) > q)


def sets():
    """The readers' masks by name."""
    rng = np.random.default_rng(3)
    truth = disc((24, 30), 11, 14, 7)
    yield "three_noisy", [noisy(truth, p, q, rng) for p, q in ((0.9, 0.95), (0.8, 0.99), (0.6, 0.9))]
    yield "five_noisy", [noisy(truth, 0.7, 0.8, rng) for _ in range(5)]
    yield "shifted", [disc((24, 30), 11 + d, 14 + 2 * d, 7 + d) for d in (-1, 0, 2)]
    yield "two", [disc((24, 30), 11, 14, 6), disc((24, 30), 13, 15, 6)]
    yield "one_marks_nothing", [truth, disc((24, 30), 12, 13, 6), np.zeros_like(truth)]
    yield "disjoint", [disc((24, 30), 5, 6, 3), disc((24, 30), 18, 22, 4), disc((24, 30), 5, 22, 4)]
    yield "small_in_large_image", [np.pad(disc((9, 9), 4, 4, r), ((40, 40), (60, 50))) for r in (2, 3, 4)]


def main():
    """Run the filter on every set."""
    rows, arrays = [], {}
    for name, readers in sets():
        images = [sitk.GetImageFromArray(m.astype(np.uint8)) for m in readers]
        staple = sitk.STAPLEImageFilter()
        staple.SetForegroundValue(1)
        staple.SetMaximumIterations(100_000)
        arrays[f"{name}/probability"] = sitk.GetArrayFromImage(staple.Execute(images))
        arrays[f"{name}/masks"] = np.packbits(np.stack(readers), axis=None)
        arrays[f"{name}/shape"] = np.array(np.stack(readers).shape)
        pairs = zip(staple.GetSensitivity(), staple.GetSpecificity(), strict=True)
        rows += [(name, i, p, q, staple.GetElapsedIterations()) for i, (p, q) in enumerate(pairs)]
        voting = sitk.LabelVotingImageFilter()
        voting.SetLabelForUndecidedPixels(0)
        arrays[f"{name}/majority"] = sitk.GetArrayFromImage(voting.Execute(images))
    np.savez_compressed(HERE / "masks.npz", **arrays)
    with (HERE / "results.csv").open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["set", "reader", "sensitivity", "specificity", "iterations"])
        writer.writerows((n, i, repr(p), repr(q), k) for n, i, p, q, k in rows)
    print(f"SimpleITK {sitk.Version_VersionString()}, numpy {np.__version__}")


if __name__ == "__main__":
    main()
