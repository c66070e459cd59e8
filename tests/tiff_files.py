"""A small study in the layout of the lower-grade-glioma set, drawn here, with explanations by three tools."""

import cv2
import numpy as np

SHAPE = (32, 40)
PATIENTS = ("TCGA_CS_1", "TCGA_DU_2", "TCGA_HT_3")
CASES = tuple(f"{patient}_{slice_}" for patient in PATIENTS for slice_ in (1, 2))
#: Nothing is on this slice.
HEALTHY = "TCGA_HT_3_2"


def truth(case):
    """A rectangle whose place depends on the case; nothing on the healthy slice."""
    mask = np.zeros(SHAPE, bool)
    if case != HEALTHY:
        place = CASES.index(case)
        mask[6 + place : 16 + place, 8 + 2 * place : 22 + 2 * place] = True
    return mask


def explanation(case, shift):
    """The truth moved to the right; on the healthy slice a speck."""
    mask = np.roll(truth(case), shift, axis=1)
    mask[0, 0] |= case == HEALTHY
    return mask


def write_pair(folder, case, mask=None, *, image_shape=None):
    """Write image and mask of a case side by side; return both paths."""
    patient = folder / case.rpartition("_")[0]
    patient.mkdir(parents=True, exist_ok=True)
    drawn = truth(case) if mask is None else mask
    image = np.full((*(image_shape or drawn.shape), 3), 90, np.uint8)
    files = patient / f"{case}.tif", patient / f"{case}_mask.tif"
    for file, pixels in zip(files, (image, drawn.astype(np.uint8) * 255), strict=True):
        assert cv2.imwrite(str(file), pixels)
    return files


def write_study(folder):
    """Write the whole layout; return its folder."""
    for case in CASES:
        write_pair(folder, case)
    return folder


def write_masks(folder, shift=0, cases=CASES, suffix=".png"):
    """Write a tool's masks by case; return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases:
        mask = explanation(case, shift)
        if suffix == ".npy":
            np.save(folder / f"{case}.npy", mask)
        else:
            assert cv2.imwrite(str(folder / f"{case}{suffix}"), mask.astype(np.uint8) * 255)
    return folder
