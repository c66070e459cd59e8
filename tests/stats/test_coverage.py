"""Do the intervals hold what they promise? Simulated studies of known truth."""

import numpy as np
import pytest
from scipy import stats

import salstats as ss

N_STUDIES, N_PATIENTS, LEVEL = 300, 60, 0.95
TASKS = {"Atelectasis": -0.03, "Cardiomegaly": 0.05, "Edema": -0.01}
#: What intervals that are only approximate may lose at 60 patients (percentile intervals are known to run
#: a little short), beyond the Monte-Carlo error of 300 studies.
MAY_LOSE = 0.02


@pytest.fixture(scope="module")
def studies():
    rng = np.random.default_rng(20261120)
    return [
        ss.simulate_scores(N_PATIENTS, tasks=TASKS, metrics=["iou"], two_views=0.6, rng=rng)
        for _ in range(N_STUDIES)
    ]


@pytest.fixture(scope="module")
def truth():
    table = ss.simulation_truth(tasks=TASKS, metrics=["iou"], reference="human")
    return table.set_index(["method", "task"])


def check_coverage(estimates, true, value):
    """As many intervals hold the truth as `N_STUDIES` independent studies should show."""
    low = np.array([e["conf_low"] for e in estimates])
    high = np.array([e["conf_high"] for e in estimates])
    covered = int(((low <= true) & (true <= high)).sum())
    # one in 10,000 honest runs would lie outside
    least, most = stats.binom.ppf([5e-5, 1 - 5e-5], N_STUDIES, [LEVEL - MAY_LOSE, LEVEL])
    assert least <= covered <= most, f"{value}: {covered} of {N_STUDIES}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "interval", "column"),
    [
        ("summarize", "t", "mean"),
        ("summarize", "percentile", "mean"),
        ("summarize", "bca", "mean"),
        ("difference", "t", "difference"),
        ("difference", "studentized", "difference"),
        ("percent_decrease", "percentile", "percent_decrease"),
        ("percent_decrease", "delta", "percent_decrease"),
        ("percent_decrease", "fieller", "percent_decrease"),
    ],
)
def test_intervals_of_clustered_studies_hold_the_truth(studies, truth, function, interval, column):
    options = {"interval": interval, "average": "task", "n_replicates": 400}
    if function != "summarize":
        options |= {"reference": "human", "test": "none"}
    rows = [getattr(ss, function)(study, **options).query("method == 'gradcam'") for study in studies]
    for task in ("Cardiomegaly", "Average"):
        estimates = [frame[frame["task"] == task].iloc[0] for frame in rows]
        check_coverage(estimates, truth.loc[("gradcam", task), column], f"{function} {interval} {task}")


@pytest.mark.slow
def test_taking_cases_for_independent_loses_coverage(truth):
    # the reason for resampling patients: with a strong patient effect the naive interval is too narrow
    from salstats.datasets.simulation import ScoreModel

    methods = {"gradcam": {"iou": ScoreModel(0.4, patient=0.3, precision=60.0)}}
    rng = np.random.default_rng(7)
    covered = {"patient": 0, "case": 0}
    for _ in range(N_STUDIES):
        study = ss.simulate_scores(
            40, tasks=["Edema"], methods=methods, metrics=["iou"], two_views=1.0, rng=rng
        )
        naive = study.drop(columns="patient")
        for unit, frame in (("patient", study), ("case", naive)):
            row = ss.summarize(frame, interval="t").iloc[0]
            covered[unit] += row["conf_low"] <= 0.4 <= row["conf_high"]
    assert covered["patient"] >= stats.binom.ppf(5e-5, N_STUDIES, LEVEL - MAY_LOSE)
    assert covered["case"] < covered["patient"] - 10


@pytest.mark.slow
def test_clustered_slopes_hold_the_truth(studies):
    true = ss.simulation_truth(tasks=TASKS, metrics=["iou"]).set_index(["method", "task"])
    slope = true.loc[("gradcam", "Average"), "slope_area_ratio"]
    for errors in ("cluster", "cr2"):
        estimates = []
        for study in studies:
            gradcam = study[study["method"] == "gradcam"]
            terms = ss.regress(gradcam, "iou ~ area_ratio + task", by="method", errors=errors)
            estimates.append(terms[terms["term"] == "area_ratio"].iloc[0])
        check_coverage(estimates, slope, f"slope with {errors}")
