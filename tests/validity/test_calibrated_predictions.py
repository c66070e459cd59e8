"""Do the limits of calibration() and calibration_curve() hold their level where patients have several rows?

pytest -q -m slow tests/validity/test_calibrated_predictions.py     # 100 studies of each setting
python tests/validity/test_calibrated_predictions.py                # the 500 that docstrings quote
"""

import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import salstats as ss

#: Patients, and the share of rows with the finding.
SETTINGS = list(product([40, 100], [0.2, 0.5]))
CORRELATION = 0.5


def study(n_patients, prevalence, rng):
    """Calibrated predictions for rows of patients, 1 to 6 each; predictions and labels are correlated."""
    sizes = rng.integers(1, 7, n_patients)
    patient = np.repeat(np.arange(n_patients), sizes)

    def dependent():
        """Standard normal values of the rows, correlated within patients."""
        of_patient = rng.normal(size=n_patients)[patient]
        return np.sqrt(CORRELATION) * of_patient + np.sqrt(1 - CORRELATION) * rng.normal(size=len(patient))

    prob = special.expit(special.logit(prevalence) + 1.5 * dependent())
    label = (stats.norm.cdf(dependent()) < prob).astype(int)
    return pd.DataFrame({"patient": patient, "prob": prob, "label": label})


def coverage(n_patients, prevalence, n_studies):
    """Share of studies whose limits hold intercept 0, slope 1 and the Brier score, and share of bins."""
    rng = np.random.default_rng(n_patients)
    many = study(50_000, prevalence, np.random.default_rng(0))
    # of calibrated predictions p the squared difference from the label has the mean p (1 - p)
    truth = [0, 1, (many["prob"] * (1 - many["prob"])).mean()]
    held = []
    bins_held = []
    for _ in range(n_studies):
        rows = study(n_patients, prevalence, rng)
        found = ss.calibration(rows, "prob", "label")
        held.append((found["conf_low"] <= truth) & (truth <= found["conf_high"]))
        bins = ss.calibration_curve(rows, "prob", "label")
        bins_held += list((bins["conf_low"] <= bins["predicted"]) & (bins["predicted"] <= bins["conf_high"]))
    return np.append(np.mean(held, axis=0), np.mean(bins_held))


def quoted(function, words):
    """The shares that the docstring of a function says."""
    text = " ".join(function.__doc__.split())
    return [int(share) / 100 for share in re.search(rf"(\d+) to (\d+) % of the {words}", text).groups()]


@pytest.mark.slow
@pytest.mark.parametrize(("n_patients", "prevalence"), SETTINGS)
def test_limits_hold_as_often_as_docstrings_say(n_patients, prevalence):
    n_studies = 100
    held = coverage(n_patients, prevalence, n_studies)
    # three Monte-Carlo errors of the studies that are simulated here
    error = 3 * np.sqrt(0.05 * 0.95 / n_studies)
    least, most = quoted(ss.calibration, "studies")
    assert (held[:3] >= least - error).all(), held
    assert (held[:3] <= most + error).all(), held
    least, most = quoted(ss.calibration_curve, "bins")
    assert least - error <= held[3] <= most + error, held


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for setting in SETTINGS:
        print(*setting, 100 * coverage(*setting, n_studies=500), flush=True)
