"""Five studies of per-case scores that every figure, table and report has to be able to show."""

import numpy as np
import pandas as pd

import salstats as ss

#: Names as people have them: markup, Greek, Chinese, and findings that take a line of their own.
METHOD_NAMES = {
    "gradcam": "Grad-CAM++ (ours, λ=0.3)",
    "ig": "Grad-CAM α",
    "lime": "层级类激活图 LayerCAM",
    "occlusion": "Occlusion_v2 <5×5>",
}
TASK_NAMES = {
    "Edema": "Interstitial oedema with Kerley B lines, both lower zones, with or without effusion",
    "Lesion": "肺结节",
    "Nodule": "Nodule ≥ 6 mm & ground-glass",
}


def small_study(n_cases=12):
    """A: two methods, one metric, twelve cases."""
    rng = np.random.default_rng(1)
    case_effect = rng.normal(0, 0.1, n_cases)
    frames = [
        _scores("gradcam", "iou", 0.5 + case_effect + rng.normal(0, 0.08, n_cases)),
        _scores("occlusion", "iou", 0.42 + case_effect + rng.normal(0, 0.08, n_cases)),
    ]
    return pd.concat(frames, ignore_index=True)


def large_study(n_cases=200, n_patients=80):
    """B: five methods and people, five tasks, four metrics, 200 cases of 80 patients, two readers."""
    rng = np.random.default_rng(2)
    repeated = rng.integers(0, n_patients, n_cases - n_patients)
    patients = np.sort(np.concatenate([np.arange(n_patients), repeated]))
    names = [f"p{patient:03d}" for patient in patients]
    patient_effect = rng.normal(0, 0.05, n_patients)[patients]
    means = {"gradcam": 0.30, "gradcam++": 0.35, "ig": 0.4, "lime": 0.45, "occlusion": 0.5, "human": 0.75}
    frames = []
    for t, task in enumerate(["Atelectasis", "Cardiomegaly", "Edema", "Lesion", "Nodule"]):
        size = rng.uniform(0.01, 0.2, n_cases)
        for method, mean in means.items():
            for reader in ["r1", "r2"] if method == "human" else [None]:
                noise = rng.normal(0, 0.1, n_cases)
                overlap = np.clip(mean - 0.03 * t + size + patient_effect + noise, 0, 1)
                metrics = {
                    "iou": overlap,
                    "hit": (rng.random(n_cases) < overlap).astype(float),
                    "energy": np.clip(overlap + rng.normal(0, 0.05, n_cases), 0, 1),
                    "hd95": 200 * (1 - overlap) + rng.exponential(10, n_cases),
                }
                of_case = {"task": task, "reader": reader, "patient": names, "area_ratio": size}
                frames += [_scores(method, name, score, **of_case) for name, score in metrics.items()]
    return pd.concat(frames, ignore_index=True)


def named_study():
    """C: names of methods and findings as people have them."""
    scores = large_study(n_cases=40, n_patients=30)
    scores = scores[scores["task"].isin(TASK_NAMES) & scores["metric"].isin(["iou", "hd95"])]
    scores = scores[scores["method"].isin([*METHOD_NAMES, "human"]) & (scores["reader"] != "r2")]
    renamed = scores.replace({"method": METHOD_NAMES, "task": TASK_NAMES})
    return renamed.drop(columns="reader").reset_index(drop=True)


def extreme_study():
    """D: hit rates of 0 and 1, a gain of 2,000 %, a task without a defined score, a task of one case."""
    rng = np.random.default_rng(4)
    n_cases = 30
    frames = []
    for task, low in {"Edema": 0.02, "Lesion": 0.5}.items():
        of_human = np.clip(low + rng.normal(0, 0.01, n_cases), 0, 1)
        of_method = np.clip(0.45 + rng.normal(0, 0.05, n_cases), 0, 1)
        frames += [
            _scores("human", "iou", of_human, task=task),
            _scores("gradcam", "iou", of_method, task=task),
            _scores("human", "hit", np.ones(n_cases), task=task),
            _scores("gradcam", "hit", np.zeros(n_cases), task=task),
        ]
    undefined, one = np.full(n_cases, np.nan), np.array([0.4])
    for method in ("human", "gradcam"):
        frames.append(_scores(method, "iou", undefined, task="Fracture"))
        frames.append(_scores(method, "iou", one, task="Pneumothorax"))
    return pd.concat(frames, ignore_index=True)


def demo_study():
    """E: the simulated study that comes with the package."""
    return ss.datasets.load_simulated()


STUDIES = {
    "small": small_study,
    "large": large_study,
    "named": named_study,
    "extreme": extreme_study,
    "demo": demo_study,
}


def _scores(method, metric, scores, **columns):
    """One method's scores on one metric, cases numbered from 0."""
    cases = [f"case{i:03d}" for i in range(len(scores))]
    if metric not in ("hd95",):
        scores = np.clip(scores, 0, 1)
    frame = pd.DataFrame({"case": cases, "method": method, "metric": metric, "score": scores})
    return frame.assign(**columns)
