"""Unbalanced scores of three methods at four sites, with a covariate: `scores.csv`, read by tests.R."""

import numpy as np
import pandas as pd

rng = np.random.default_rng(28)
n_cases, methods = 48, ["gradcam", "human", "occlusion"]
case = np.arange(n_cases)
site = np.array(["north", "south", "east", "west"])[(case % 9) % 4]
level, size = rng.normal(size=n_cases), rng.uniform(0.5, 3, n_cases)
gap = {"north": 0.0, "south": 0.6, "east": -0.4, "west": 1.1}
rows = []
for method_number, method in enumerate(methods):
    for i in case:
        mean = 0.5 * level[i] + 0.4 * method_number * size[i] + method_number * gap[site[i]]
        score = mean + rng.normal()
        chance = 0.35 + 0.1 * method_number + 0.1 * gap[site[i]]
        hit = int(rng.uniform() < chance)
        rows.append((f"c{i:02}", method, site[i], size[i] + 0.1 * rng.normal(), score, hit))
scores = pd.DataFrame(rows, columns=["case", "method", "site", "size", "score", "hit"])
left_out = rng.choice(len(scores), 17, replace=False)
scores.drop(index=left_out).to_csv("scores.csv", index=False, float_format="%.6f")
