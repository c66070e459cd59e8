"""Files in the CheXlocalize format, small and written by hand, for tests that damage them one by one."""

import json
import pickle

import numpy as np

from salstats.images.masks import encode

#: Height and width of the images written here.
HEIGHT, WIDTH = 20, 30
ONE, TWO = "patient1_study1_view1_frontal", "patient2_study1_view1_frontal"
#: Columns 4 to 9 of rows 2 to 5, as (x, y).
BOX = [[4, 2], [9, 2], [9, 5], [4, 5]]
BOX_PX = 6 * 4


def mask(rows=slice(2, 6), cols=slice(4, 10), shape=(HEIGHT, WIDTH)):
    """A box as a run-length code."""
    drawn = np.zeros(shape, bool)
    drawn[rows, cols] = True
    return encode(drawn).to_coco()


def write_json(file, content):
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def write_map(folder, case=ONE, task="Edema", **changed):
    """A map's file, as (width, height) has it; an entry that is None is left out."""
    folder.mkdir(parents=True, exist_ok=True)
    saliency = np.arange(6, dtype="f4").reshape(1, 1, 2, 3)
    content = {"map": saliency, "prob": 0.25, "task": task, "gt": 1, "cxr_dims": (WIDTH, HEIGHT)} | changed
    file = folder / f"{case}_{task}_map.pkl"
    file.write_bytes(pickle.dumps({k: v for k, v in content.items() if v is not None}))
    return file


def write_two_cases(folder):
    """Write a study of two cases; the second has no finding and so is not in the truth."""
    write_json(folder / "gt_segmentations_val.json", {ONE: {"Edema": mask()}})
    write_json(folder / "gt_annotations_val.json", {ONE: {"img_size": [HEIGHT, WIDTH], "Edema": [BOX]}})
    for case in (ONE, TWO):
        for task in ("Edema", "Cardiomegaly"):
            write_map(folder / "maps", case, task)
    return folder


def answer(study, case=ONE, task="Edema", method="saliency"):
    """What a method answers."""
    (found,) = (
        p
        for c in study
        if c.case == case
        for p in c.predictions
        if p.task == task and p.series.method == method
    )
    return found.read()
