"""Intraclass correlations by pingouin, unrounded: of Shrout and Fleiss's readings, and with a gap.

With a gap it refuses, or with `nan_policy="omit"` leaves out the whole case.
"""

from pathlib import Path

import pandas as pd
import pingouin

pingouin.options["round.column.CI95"] = None
READINGS = [(9, 2, 5, 8), (6, 1, 3, 2), (8, 4, 6, 8), (7, 1, 2, 6), (10, 5, 6, 9), (6, 2, 4, 7)]
rows = [(case, rater, float(score)) for case, row in enumerate(READINGS) for rater, score in enumerate(row)]
table = pd.DataFrame(rows, columns=["case", "rater", "score"])
found = []
for name, data in (("complete", table), ("omit", table.drop(index=3))):
    result = pingouin.intraclass_corr(
        data, targets="case", raters="rater", ratings="score", nan_policy="omit"
    )
    limits = pd.DataFrame(result.pop("CI95").to_list(), columns=["low", "high"])
    found.append(pd.concat([result, limits], axis=1).assign(data=name))
pd.concat(found).to_csv(Path(__file__).parent / "pingouin_icc.csv", index=False)
with (Path(__file__).parent / "versions.txt").open("a") as file:
    file.write(f"pingouin {pingouin.__version__}\n")
