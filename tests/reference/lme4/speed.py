"""Seconds of lme4 and of this package for the same models, in one run: python speed.py writes speed.csv.

Both on one core, the least of three fits each, in turn; 10,000 rows.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd

from salstats.stats.models.mixed.linear_mixed_model import RandomTerm, fit_mixed
from salstats.stats.models.mixed.satterthwaite import satterthwaite_df

N = 10_000
R_SCRIPT = """
suppressMessages({library(lme4); library(lmerTest)})
d <- read.csv(FILE); for (k in setdiff(names(d), c("x", "y"))) d[[k]] <- factor(d[[k]])
f <- as.formula(FORMULA)
fit <- min(replicate(REPEATS, system.time(m <<- lme4::lmer(f, d))[["elapsed"]]))
df <- system.time(summary(lmerTest::as_lmerModLmerTest(m)))[["elapsed"]]
cat(fit, df, format(as.numeric(logLik(m)), digits = 17))
"""


def studies():
    """Levels of each factor, by rows, and the standard deviations of their effects."""
    rng = np.random.default_rng(0)
    case, reader, method = (a.ravel() for a in np.meshgrid(range(1000), range(5), range(2), indexing="ij"))
    patient = np.sort(rng.integers(0, 1500, N))
    return {
        "three crossed, 1000 x 50 x 20": [
            (rng.integers(0, k, N), s) for k, s in ((1000, 1), (50, 0.5), (20, 0.3))
        ],
        "three crossed, 1000 x 750 x 250": [(rng.integers(0, k, N), 1) for k in (1000, 750, 250)],
        "2000 cases x 5 readers": [(np.repeat(range(2000), 5), 1), (np.tile(range(5), 2000), 0.5)],
        "1500 patients, 4000 cases": [(patient, 1), (patient * 3 + rng.integers(0, 3, N), 0.5)],
        "1000 cases x 5 readers x 2 methods, all pairs": [
            (case, 1), (reader, 0.5), (case * 5 + reader, 0.3), (case * 2 + method, 0.3),
            (reader * 2 + method, 0.2),
        ],
    }  # fmt: skip


rows = []
for name, factors in studies().items():
    rng = np.random.default_rng(1)
    x = rng.normal(size=N)
    y = 1 + 0.5 * x + rng.normal(size=N)
    codes = [np.unique(levels, return_inverse=True)[1] for levels, _ in factors]
    for code, (_, spread) in zip(codes, factors, strict=True):
        y += spread * rng.normal(size=code.max() + 1)[code]
    names = [f"f{k}" for k in range(len(codes))]
    one = np.ones((N, 1))
    terms = [RandomTerm(n, ("1",), c, int(c.max()) + 1, one) for n, c in zip(names, codes, strict=True)]
    repeats = 1 if "750" in name else 3
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "d.csv"
        pd.DataFrame({"x": x, "y": y} | dict(zip(names, codes, strict=True))).to_csv(file, index=False)
        formula = "y ~ x + " + " + ".join(f"(1|{n})" for n in names)
        script = R_SCRIPT.replace("FILE", f"'{file}'").replace("FORMULA", f"'{formula}'")
        script = script.replace("REPEATS", str(repeats))
        said = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=True).stdout
    theirs, their_df, likelihood = map(float, said.split())
    ours = []
    for _ in range(repeats):
        start = time.perf_counter()
        found = fit_mixed(np.column_stack([one, x]), y, terms)
        ours.append(time.perf_counter() - start)
    start = time.perf_counter()
    satterthwaite_df(found, np.eye(2))
    rows.append(
        {
            "model": name,
            "lme4_seconds": theirs,
            "salstats_seconds": round(min(ours), 4),
            "ratio": round(theirs / min(ours), 2),
            "lmertest_df_seconds": their_df,
            "salstats_df_seconds": round(time.perf_counter() - start, 4),
            "likelihood_above_lme4": found.log_likelihood - likelihood,
        }
    )
    print(rows[-1], flush=True)
pd.DataFrame(rows).to_csv(Path(__file__).with_name("speed.csv"), index=False, lineterminator="\n")
