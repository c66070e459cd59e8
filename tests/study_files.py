"""A small study in the CheXlocalize format, drawn here, for tests that write and damage its files."""

import json
import pickle

import numpy as np

from salstats.images import polygons

SHAPE = (40, 50)
TASKS = ("Edema", "Cardiomegaly")
CASES = tuple(f"patient{p}_study1_view{v}_frontal" for p in (1, 2, 3) for v in (1, 2))


def outline(case, task):
    """A rectangle whose place depends on the case, as (x, y); None where the finding is absent."""
    place = CASES.index(case)
    if task == "Cardiomegaly" and place % 3 == 2:
        return None
    x, y = 5 + 3 * place, 8 + 2 * place if task == "Edema" else 20
    return [[x, y], [x + 14, y], [x + 14, y + 9], [x, y + 9]]


def saliency(case, task):
    """A blob near the finding, on a grid of 10 x 10, whose centre lies beside a pixel: it has one peak."""
    rows, cols = np.mgrid[0:10, 0:10]
    place = CASES.index(case)
    return np.exp(-((rows - 3.01 - place % 3) ** 2 + (cols - 2.01 - place) ** 2) / 6).astype(np.float32)


def write_map(folder, case, task, *, prob=None, **changed):
    """Write one map as the release does, as a pickle (of numpy arrays)."""
    content = {
        "map": saliency(case, task)[None, None],
        "prob": 0.1 + 0.12 * CASES.index(case) if prob is None else prob,
        "task": task,
        "gt": int(outline(case, task) is not None),
        "cxr_dims": (SHAPE[1], SHAPE[0]),
        **changed,
    }
    path = folder / f"{case}_{task}_map.pkl"
    path.write_bytes(pickle.dumps(content))
    return path


def write_study(folder, *, human=True):
    """Write the whole study; return its folder."""
    (folder / "maps").mkdir(parents=True)
    annotations = {c: {"img_size": list(SHAPE)} for c in CASES}
    for case in CASES:
        for task in TASKS:
            write_map(folder / "maps", case, task)
            if outline(case, task):
                annotations[case][task] = [outline(case, task)]
    segmentations = {
        case: {
            task: polygons.polygons_rle(annotations[case].get(task, []), SHAPE).to_coco() for task in TASKS
        }
        for case in CASES
    }
    files = {"gt_annotations_test.json": annotations, "gt_segmentations_test.json": segmentations}
    if human:
        shifted = {
            c: {t: v if t == "img_size" else [[[x + 2, y + 1] for x, y in v[0]]] for t, v in held.items()}
            for c, held in annotations.items()
        }
        files["hb_annotations_test.json"] = shifted
        files["hb_salient_pts_test.json"] = {
            c: {t: [np.mean(v[0], axis=0).tolist()] for t, v in held.items() if t != "img_size"}
            for c, held in shifted.items()
        }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    return folder
