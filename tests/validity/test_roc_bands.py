"""Do the bands of roc_curve() hold their level where patients have several rows?

pytest -q -m slow tests/validity/test_roc_bands.py       # 100 studies of each setting
python tests/validity/test_roc_bands.py                  # the 500 studies that the docstring quotes
"""

import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import salstats as ss

#: False positive rates at which bands are read.
RATES = np.array([0.05, 0.1, 0.2, 0.3, 0.5])
#: Shift of the scores of positives, whose area under the curve is 0.86.
SHIFT = np.sqrt(2) * stats.norm.ppf(0.86)
#: Patients, correlation of the rows of one of them, and whether they have one label.
SETTINGS = list(product([40, 100], [0.3, 0.8], [False, True]))


def study(n_patients, correlation, one_label, rng):
    """Rows of patients, 1 to 6 each, with normal scores; half of the labels are 1."""
    sizes = rng.integers(1, 7, n_patients)
    patient = np.repeat(np.arange(n_patients), sizes)

    def dependent():
        """Standard normal values of the rows, correlated within patients."""
        of_patient = rng.normal(size=n_patients)[patient]
        return np.sqrt(correlation) * of_patient + np.sqrt(1 - correlation) * rng.normal(size=len(patient))

    label = (dependent() > 0).astype(int)
    if one_label:
        label = rng.integers(0, 2, n_patients)[patient]
    return pd.DataFrame({"patient": patient, "prob": SHIFT * label + dependent(), "label": label})


def coverage(n_patients, correlation, one_label, n_studies, n_replicates):
    """Share of studies whose drawn band holds the true curve at each of `RATES`."""
    rng = np.random.default_rng(n_patients)
    true_rates = stats.norm.sf(stats.norm.isf(RATES) - SHIFT)
    n_held = np.zeros(len(RATES))
    for _ in range(n_studies):
        rows = study(n_patients, correlation, one_label, rng)
        curve = ss.roc_curve(rows, "prob", "label", n_replicates=n_replicates, rng=rng)
        band = curve.dropna(subset="conf_low")
        low = np.interp(RATES, band["false_positive_rate"], band["conf_low"])
        high = np.interp(RATES, band["false_positive_rate"], band["conf_high"])
        n_held += (low <= true_rates) & (true_rates <= high)
    return n_held / n_studies


@pytest.mark.slow
@pytest.mark.parametrize(("n_patients", "correlation", "one_label"), SETTINGS)
def test_bands_hold_as_often_as_the_docstring_says(n_patients, correlation, one_label):
    n_studies = 100
    held = coverage(n_patients, correlation, one_label, n_studies, n_replicates=400)
    text = " ".join(ss.roc_curve.__doc__.split())
    least, most = re.search(r"limits held in (\d+) to (\d+) % of 500 studies", text).groups()
    # three Monte-Carlo errors of the studies that are simulated here
    error = 3 * np.sqrt(0.05 * 0.95 / n_studies)
    assert (held >= int(least) / 100 - error).all(), held
    assert (held <= int(most) / 100 + error).all(), held


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for setting in SETTINGS:
        print(*setting, 100 * coverage(*setting, n_studies=500, n_replicates=1000), flush=True)
