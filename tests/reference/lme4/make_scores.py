"""Scores of 9 readers on 40 cases of 16 patients by 3 methods, an eighth of them missing."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(20)
reader, case, method = (a.ravel() for a in np.meshgrid(range(9), range(40), range(3), indexing="ij"))
patient = np.sort(rng.integers(0, 16, 40))[case]
prob = np.round(rng.uniform(0, 1, 40), 3)[case]
spread = np.array([[0.25, 0.05, 0.0], [0.05, 0.16, 0.06], [0.0, 0.06, 0.12]])
effects = rng.multivariate_normal(np.zeros(3), spread, size=9)
score = (
    2
    + 0.4 * (method == 1)
    + 0.1 * (method == 2)
    + 0.8 * prob
    + effects[reader, 0]
    + effects[reader, 1] * (method == 1)
    + effects[reader, 2] * (method == 2)
    + 0.5 * rng.normal(size=16)[patient]
    + 0.4 * rng.normal(size=40)[case]
    + 0.6 * rng.normal(size=9)[reader] * prob
    + 0.7 * rng.normal(size=len(reader))
)
frame = pd.DataFrame(
    {
        "case": [f"c{c:02d}" for c in case],
        "patient": [f"p{p:02d}" for p in patient],
        "reader": [f"r{r + 1}" for r in reader],
        "method": np.array(["human", "gradcam", "occlusion"])[method],
        # a factor that matters not at all
        "room": [f"room{k}" for k in (reader * 7 + case * 3 + method) % 6],
        "prob": prob,
        "score": np.round(score, 4),
    }
)
kept = rng.uniform(size=len(frame)) > 0.125
frame[kept].to_csv("scores.csv", index=False, lineterminator="\n")
