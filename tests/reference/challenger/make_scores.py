"""Scores of five methods on three tasks, and draws of the cases. Writes scores.csv and draws.csv."""

from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
TASKS, N_CASES, N_METHODS, N_DRAWS = ("edema", "mass", "lesion"), 60, 5, 15


def main():
    """Write both; scores of two decimals tie, and so do the differences of a case."""
    rng = np.random.default_rng(11)
    rows = []
    for task, spread in zip(TASKS, (0.02, 0.03, 0.015), strict=True):
        levels = 0.4 + spread * rng.permutation(N_METHODS)
        own = (
            levels
            + 0.15 * rng.standard_normal((N_CASES, 1))
            + 0.1 * rng.standard_normal((N_CASES, N_METHODS))
        )
        for (case, method), score in np.ndenumerate(np.clip(own, 0, 1).round(2)):
            rows.append((f"c{case:02d}", task, f"m{method}", "iou", score))
    columns = ["case", "task", "method", "metric", "score"]
    pd.DataFrame(rows, columns=columns).to_csv(HERE / "scores.csv", index=False)
    draws = pd.DataFrame(rng.integers(0, N_CASES, (N_DRAWS, N_CASES)))
    draws.to_csv(HERE / "draws.csv", index=False, header=False)


if __name__ == "__main__":
    main()
