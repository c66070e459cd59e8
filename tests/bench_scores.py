"""A drawn scores frame of some data sets, models and methods; no number in it was measured."""

import numpy as np
import pandas as pd

METHODS = ("gradcam", "ig", "rise")
MODELS = ("resnet", "vgg")


def drawn_scores(n_sets=6, n_cases=25, seed=0):
    """Scores whose means differ by data set and method, people, and a model with attention alone."""
    rng = np.random.default_rng(seed)
    rows = []
    for d in range(n_sets):
        level = rng.uniform(0.2, 0.6)
        for c in range(n_cases):
            ease = rng.normal(0, 0.05)
            answers = [(m, k, 0.05 * k) for m in MODELS for k in range(len(METHODS))] + [("vit", None, 0.1)]
            for model, k, better in answers:
                method = "attention" if k is None else METHODS[k]
                iou = np.clip(level + better + ease + rng.normal(0, 0.1), 0, 1)
                values = {"iou": iou, "hit": float(rng.random() < iou), "insertion": rng.uniform(0.3, 0.9)}
                for metric, value in values.items():
                    rows.append((f"c{c}", f"set {d}", model, "digit", method, metric, value))
            rows.append((f"c{c}", f"set {d}", None, "digit", "human", "iou", 0.8))
    columns = ["case", "dataset", "model", "task", "method", "metric", "score"]
    return pd.DataFrame(rows, columns=columns)
