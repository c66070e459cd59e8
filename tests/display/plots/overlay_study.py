"""A study made by hand for the tests of overlays: two images, three tasks, a method and people."""

from functools import partial

import numpy as np

from salstats.images.masks import encode
from salstats.study import HUMAN, Case, Content, Prediction, Series, Study, Truth

SHAPE = (60, 80)
TASKS = ("Edema", "Nodule", "Fracture")
GRADCAM, PEOPLE = Series("gradcam"), Series(HUMAN)


def box(top, bottom, left, right, shape=SHAPE):
    """A mask of one rectangle, half open."""
    mask = np.zeros(shape, dtype=bool)
    mask[top:bottom, left:right] = True
    return mask


def hill(row, col, shape=(6, 8)):
    """A map that is 1 at one pixel of its grid and falls to 0 around it."""
    rows, cols = np.mgrid[: shape[0], : shape[1]]
    return np.maximum(0.0, 1 - np.hypot(rows - row, cols - col) / 3)


def answer(task, series=GRADCAM, **content):
    """A prediction."""
    return Prediction(task, series, partial(Content, **content), f"{series} {task}")


def truth(mask):
    """A truth."""
    return Truth(partial(encode, mask))


def study():
    """Cases a and b; of b the map of Edema is missing, that of Nodule constant, people marked nothing."""
    a = Case(
        "a",
        SHAPE,
        {"Edema": truth(box(20, 40, 30, 60)), "Nodule": truth(box(5, 15, 5, 15))},
        (
            answer("Edema", saliency=hill(3, 4)),
            answer("Nodule", saliency=hill(0, 0)),
            answer("Edema", PEOPLE, mask=encode(box(22, 44, 28, 58)), points=np.array([[30.0, 40.0]])),
            answer("Nodule", PEOPLE, mask=encode(box(4, 16, 4, 14)), points=np.empty((0, 2))),
        ),
    )
    b = Case(
        "b",
        (80, 60),
        {"Edema": truth(box(10, 30, 10, 30, (80, 60)))},
        (
            answer("Nodule", saliency=np.ones((6, 8))),
            answer("Fracture", saliency=np.where(hill(1, 1) > 0.9, np.nan, 0.0)),
            answer("Edema", PEOPLE, mask=encode(box(0, 0, 0, 0, (80, 60)))),
        ),
    )
    return Study((a, b), TASKS, (GRADCAM, PEOPLE), "the study")
