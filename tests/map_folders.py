"""A small map folder, drawn here, for tests that read, score and damage it."""

import csv
import json

import numpy as np

from salstats.files.map_folder_writer import MapFolder, MapKey
from salstats.images.masks import encode

SHAPE = (40, 50)
CASES = ("a", "b/1", "c")
TASKS = ("Edema", "Mass")
METHODS = ("gradcam", "ig")
#: The finding that is not there.
ABSENT = ("c", "Mass")


def truth(case, task):
    """A rectangle whose place depends on case and task; empty where the finding is absent."""
    drawn = np.zeros(SHAPE, bool)
    if (case, task) != ABSENT:
        top, left = 4 + 6 * CASES.index(case), 6 + 14 * TASKS.index(task)
        drawn[top : top + 10, left : left + 15] = True
    return drawn


def saliency(case, task, method):
    """A blob near the finding on a grid of 8 x 10, with a negative margin."""
    rows, cols = np.mgrid[0:8, 0:10]
    row, col = 2 + CASES.index(case), 3 + 3 * TASKS.index(task) + METHODS.index(method)
    return (np.exp(-((rows - row) ** 2 + (cols - col) ** 2) / 4) - 0.1).astype(np.float32)


def prob(case, task):
    """A probability of every case and task."""
    return 0.2 + 0.2 * CASES.index(case) + 0.3 * TASKS.index(task)


def keys():
    """Every map of the study, in the order of writing."""
    return [MapKey(c, t, m) for m in METHODS for c in CASES for t in TASKS]


def write_map_folder(folder, *, human=False, patient=False):
    """Write the study; return its folder."""
    with MapFolder(folder) as maps:
        for key in keys():
            maps.add(
                key,
                saliency(key.case, key.task, key.method),
                shape=SHAPE,
                prob=prob(key.case, key.task),
                label=int((key.case, key.task) != ABSENT),
                patient=f"p{CASES.index(key.case)}" if patient else None,
            )
        drawn = {(c, t): truth(c, t) for c in CASES for t in TASKS}
        maps.write_masks(drawn)
        if human:
            maps.write_masks({key: np.roll(mask, 2, axis=1) for key, mask in drawn.items()}, "human")
    return folder


def write_by_hand(folder):
    """Write the study as another program would: plain names, only the columns that must be, PNG masks."""
    import cv2

    folder.mkdir()
    rows = []
    for number, key in enumerate(keys()):
        np.save(folder / f"{number}.npy", saliency(key.case, key.task, key.method))
        rows.append((key.case.replace("/", "-"), key.task, key.method, f"{number}.npy"))
    write_table(folder, ("case", "task", "method", "path"), rows)
    for task in TASKS:
        (folder / "truth" / task).mkdir(parents=True)
        for case in CASES:
            file = folder / "truth" / task / f"{case.replace('/', '-')}.png"
            assert cv2.imwrite(str(file), truth(case, task).astype(np.uint8) * 255)
    return folder


def table(folder):
    """The table of a folder: its header, and its rows as dictionaries."""
    with (folder / "maps.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    return list(rows[0]), rows


def write_table(folder, header, rows):
    """Replace the table of a folder."""
    with (folder / "maps.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows([row[c] for c in header] if isinstance(row, dict) else row for row in rows)


def change(folder, row, **cells):
    """Change cells of a row, counted as in the file: the header is row 1."""
    header, rows = table(folder)
    rows[row - 2].update(cells)
    write_table(
        folder,
        [*header, *(c for c in cells if c not in header)],
        [{**dict.fromkeys(cells, ""), **r} for r in rows],
    )


def write_codes(file, masks):
    """Write masks, (case, task) -> array, as a JSON file of run-length codes."""
    content = {}
    for (case, task), mask in masks.items():
        content.setdefault(case, {})[task] = encode(mask).to_coco()
    file.write_text(json.dumps(content))
