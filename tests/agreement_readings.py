"""RaterReadings of independent cases, and the pairs of raters that the R oracle compares."""

import numpy as np
import pandas as pd

from salstats.stats.agreement.readings import RaterReadings

#: Set and column of `icc_sets` of the first and the second rater.
PAIRS = {
    "synth2_R1_R2_A": (("synth2_A", 0), ("synth2_A", 1)),
    "synth2_R1_A_B": (("synth2_A", 0), ("synth2_B", 0)),
    "real_ag_seed1_seed2": (("real_ag_seeds", 0), ("real_ag_seeds", 1)),
}


def alone(values):
    """RaterReadings of cases that are independent."""
    places = np.arange(len(values))
    return RaterReadings(np.asarray(values, dtype=float), places, places)


def pair_of(sets, name):
    """RaterReadings of one of the pairs."""
    columns = []
    for source, place in PAIRS[name]:
        wide = sets[sets["set"] == source].pivot(index="subject", columns="rater", values="score")
        columns.append(wide.to_numpy()[:, place])
    return alone(np.column_stack(columns))


def frame_of(values, **columns):
    """Scores of cases (rows) by readers (columns) as a scores frame."""
    wide = pd.DataFrame(values, columns=[f"r{j}" for j in range(np.shape(values)[1])])
    wide["case"] = [f"c{i:03}" for i in range(len(wide))]
    long = wide.melt("case", var_name="reader", value_name="score")
    return long.assign(**{"method": "gradcam", "metric": "rating"} | columns)
