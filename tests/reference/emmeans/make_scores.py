"""Write scores.csv: an unbalanced made-up study, for margins.R and the tests that read both.

python make_scores.py
"""

import numpy as np
import pandas as pd

rng = np.random.default_rng(20261122)
n = 240
patient = rng.integers(0, 40, n)
method = rng.choice(["gradcam", "human", "lime"], n, p=[0.4, 0.35, 0.25])
site = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
x = np.round(rng.gamma(2, 1, n), 3)
effect = pd.Series({"gradcam": -0.1, "human": 0.05, "lime": -0.2})[method].to_numpy()
slope = pd.Series({"gradcam": 0.06, "human": 0.02, "lime": 0.0})[method].to_numpy()
score = 0.5 + effect + slope * x + 0.08 * (site == "west") + 0.08 * rng.normal(size=40)[patient]
score = np.clip(np.round(score + 0.1 * rng.normal(size=n), 4), 0.001, 0.999)
hit = (rng.random(n) < 1 / (1 + np.exp(-4 * (score - 0.45)))).astype(int)
frame = pd.DataFrame({"patient": [f"p{i:02d}" for i in patient], "method": method, "site": site})
frame.assign(x=x, score=score, hit=hit).to_csv("scores.csv", index=False, lineterminator="\n")
