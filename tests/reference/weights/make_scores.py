"""Write scores.csv: a made-up case-enriched study in long form, for weights.R and the tests that read both.

Findings are rare: cases with one were all taken (weight 1), of the others one in four or six (`sampling`, by
case). `of_patient` is constant within patients. Some scores are undefined.

python make_scores.py
"""

import numpy as np
import pandas as pd

rng = np.random.default_rng(20261122)
n_patients = 36
cases = np.repeat(np.arange(n_patients), rng.integers(1, 6, n_patients))
n = len(cases)
positive = rng.random(n) < 0.5
sampling = np.where(positive, 1.0, np.where(rng.random(n) < 0.5, 4.0, 6.0))
of_patient = np.round(rng.gamma(2, 1, n_patients) + 0.3, 2)[cases]
x = np.round(rng.gamma(2, 1, n), 3)
level = 0.45 + 0.12 * rng.normal(size=n_patients)[cases] - 0.15 * positive
rows = []
for task, shift in (("edema", 0.0), ("nodule", -0.1)):
    for method, effect in (("gradcam", -0.12), ("human", 0.08)):
        score = level + shift + effect + 0.03 * x * (method == "human") + 0.1 * rng.normal(size=n)
        score = np.clip(np.round(score, 4), 0.001, 0.999)
        score[rng.random(n) < 0.06] = np.nan
        rows.append(pd.DataFrame({
            "case": [f"c{i:03d}" for i in range(n)], "patient": [f"p{i:02d}" for i in cases], "task": task,
            "method": method, "metric": "iou", "score": score, "x": x, "sampling": sampling,
            "of_patient": of_patient,
        }))  # fmt: skip
frame = pd.concat(rows)
frame["hit"] = np.where(
    frame["score"].isna(), np.nan, (frame["score"] > 0.4) ^ (rng.random(len(frame)) < 0.2)
)
frame.to_csv("scores.csv", index=False, lineterminator="\n")
