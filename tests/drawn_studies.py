"""Studies of one case drawn pixel by pixel, the rows of their scores, and a table drawn by chance."""

import numpy as np
import pandas as pd

import salstats as ss


def square(*cells, shape=(8, 8)):
    """A mask with some pixels."""
    mask = np.zeros(shape, bool)
    for row, col in cells:
        mask[row, col] = True
    return mask


BLOCK = [(r, c) for r in (2, 3, 4) for c in (2, 3, 4)]


def drawn(saliency=None, truth=None, **options):
    """A study of one case and task."""
    truths = {("a", "Edema"): square(*BLOCK) if truth is None else truth}
    return ss.study_from_arrays(
        truths, {} if saliency is None else {("a", "Edema", "cam"): saliency}, **options
    )


def only(scores, metric="iou", method="cam"):
    """The one row of a metric and method."""
    rows = scores[scores["metric"].eq(metric) & scores["method"].eq(method)]
    assert len(rows) == 1
    return rows.iloc[0]


#: Names of tasks as data sets of chest radiographs have them.
TASKS = ("Airspace Opacity", "Cardiomegaly", "Edema", "Lung Lesion", "Pleural Effusion", "Support Devices")


def draw_table():
    """A table as studies of localisation have it: a row for each task of 300 cases of 180 patients.

    Overlaps and hits of Grad-CAM (`iou`, `hit`) and of people (`human_iou`, `human_hit`) are undefined where
    the finding is absent, and some overlaps of either alone; `prob` and the sizes lack a few values.
    """
    rng = np.random.default_rng(20)
    n_cases_of_patient = rng.permutation(np.repeat([1, 2, 3], [90, 60, 30]))
    n_patients = len(n_cases_of_patient)
    patient_of_case = np.repeat(np.arange(n_patients), n_cases_of_patient)
    rows = len(patient_of_case) * len(TASKS)
    case = np.repeat(np.arange(len(patient_of_case)), len(TASKS))
    patient = patient_of_case[case]
    size = rng.lognormal(-2.4, 0.6, rows)
    effect = rng.normal(0, 0.08, n_patients)[patient]
    iou = np.clip(0.25 + effect + 0.8 * size + rng.normal(0, 0.12, rows), 0, 0.95)
    human_iou = np.clip(0.45 + effect + 0.5 * size + rng.normal(0, 0.12, rows), 0, 0.95)
    table = pd.DataFrame(
        {
            "patient": [f"p{number:03d}" for number in patient],
            "case": [f"c{number:04d}" for number in case],
            "task": np.tile(TASKS, len(patient_of_case)),
            "iou": iou,
            "human_iou": human_iou,
            "hit": (rng.random(rows) < 0.3 + iou).astype(float),
            "human_hit": (rng.random(rows) < 0.4 + human_iou).astype(float),
            "prob": np.clip(0.3 + iou + rng.normal(0, 0.2, rows), 0.01, 0.99),
            "n_instances": 1 + rng.poisson(0.8, rows),
            "area_ratio": size,
            "elongation": 1 + rng.gamma(2, 0.6, rows),
            "irrectangularity": rng.beta(3, 5, rows),
        }
    )
    absent = rng.random(rows) < 0.2
    table.loc[absent, ["iou", "human_iou", "hit", "human_hit"]] = np.nan
    for column in ("iou", "human_iou", "prob", "area_ratio"):
        table.loc[rng.random(rows) < 0.01, column] = np.nan
    return table


def scores_of_table(table):
    """The scores frame of such a table: iou and hit of the methods gradcam and human."""
    covariates = ["prob", "n_instances", "area_ratio", "elongation", "irrectangularity"]
    parts = [
        table[["case", "patient", "task", *covariates]].assign(
            method=method, metric=metric, score=table[column].astype(float)
        )
        for column, method, metric in (
            ("iou", "gradcam", "iou"),
            ("human_iou", "human", "iou"),
            ("hit", "gradcam", "hit"),
            ("human_hit", "human", "hit"),
        )
    ]
    return pd.concat(parts, ignore_index=True)


def draw_readings():
    """Readings of 60 cases by five readers with two modalities: a score, a hit and a rating of each."""
    rng = np.random.default_rng(21)
    modality, reader, case = (
        places.ravel() for places in np.meshgrid(range(2), range(5), range(60), indexing="ij")
    )
    truth = rng.permutation(np.repeat([1, 0], [40, 20]))[case]
    score = 0.6 + rng.normal(0, 0.05, 5)[reader] + 0.03 * modality + rng.normal(0, 0.1, 60)[case]
    score += rng.normal(0, 0.03, (5, 2))[reader, modality] + rng.normal(0, 0.05, (60, 2))[case, modality]
    score += rng.normal(0, 0.08, len(case))
    return pd.DataFrame(
        {
            "reader": [f"R{number + 1}" for number in reader],
            "modality": np.array(["A", "B"])[modality],
            "case_id": [f"k{number + 1:02d}" for number in case],
            "truth": truth,
            "score": score,
            "hit": (rng.random(len(case)) < score).astype(int),
            "rating": np.clip(np.round(2.5 + truth + rng.normal(0, 0.8, len(case))), 1, 5).astype(int),
        }
    )
