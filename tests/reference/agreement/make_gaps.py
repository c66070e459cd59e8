"""Readings of 24 cases by four readers, a fifth missing by chance, with a row per reading."""

from pathlib import Path

import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
cases, readers = rng.normal(0, 0.15, 24), rng.normal(0, 0.05, 4)
values = 0.5 + cases[:, None] + readers + rng.normal(0, 0.08, (24, 4))
values[rng.random(values.shape) < 0.2] = np.nan
table = pd.DataFrame(values.round(4), columns=list("ABCD")).assign(case=[f"c{i:02}" for i in range(24)])
long = table.melt("case", var_name="reader", value_name="score").dropna()
long.to_csv(Path(__file__).parent / "gaps.csv", index=False)
