"""Differences of pooled rates, against sums and a bootstrap written out."""

import numpy as np
import pandas as pd
import pytest

from salstats.checks import SalstatsError
from salstats.stats.rates import pooled_difference, pooled_rates

RTOL = 1e-12
N_PATIENTS = 30


@pytest.fixture(scope="module")
def scores():
    """Two tasks, two cases per patient, a method and people; one case has no map."""
    random = np.random.default_rng(11)
    rows = []
    for patient in range(N_PATIENTS):
        for view in range(2):
            for task in ("a", "b"):
                for method, more in (("cam", 0), ("human", 40)):
                    tp, fp, fn = random.integers(1, 60, 3)
                    rows.append(
                        (f"p{patient:02d}", f"p{patient:02d}v{view}", task, method, tp + more, fp, fn, 900)
                    )
    frame = pd.DataFrame(rows, columns=["patient", "case", "task", "method", "tp", "fp", "fn", "tn"])
    frame = frame.astype({c: "float64" for c in ("tp", "fp", "fn", "tn")}).assign(metric="iou", score=0.5)
    lost = (frame["case"] == "p03v1") & (frame["method"] == "cam")
    frame.loc[lost, ["tp", "fp", "fn", "tn", "score"]] = np.nan
    return frame


def recall_gap(rows):
    """Recall of the method less that of people, of the cases that both have counts of."""
    known = rows.dropna(subset="tp")
    both = known.groupby(["case", "task"])["method"].transform("nunique") == 2
    sums = known[both].groupby("method")[["tp", "fn"]].sum()
    recall = sums["tp"] / (sums["tp"] + sums["fn"])
    return recall["cam"] - recall["human"]


def test_differences_are_those_of_ratios_of_sums_over_complete_pairs(scores):
    got = pooled_difference(scores, reference="human", rates="recall", n_replicates=50).set_index("task")
    for task, rows in scores.groupby("task"):
        assert got.loc[task, "estimate"] == pytest.approx(recall_gap(rows), rel=RTOL)
        assert got.loc[task, "n"] == 2 * N_PATIENTS - 1
    assert (got["estimate"] == got["method_mean"] - got["reference_mean"]).all()
    assert set(got["verdict"]) == {"lower"}
    assert set(got["unit"]) == {"patient"}


def test_limits_are_those_of_resampled_patients(scores):
    draws = np.random.default_rng(12).integers(0, N_PATIENTS, (80, N_PATIENTS))
    got = (
        pooled_difference(scores, reference="human", rates="recall", draws=draws).query("task == 'a'").iloc[0]
    )
    # a case that lacks a map is lost to people too, in every replicate
    own = scores[(scores["task"] == "a") & (scores["case"] != "p03v1")]
    by_patient = {p: rows for p, rows in own.groupby("patient")}
    names = sorted(by_patient)
    want = []
    for draw in draws:
        sums = sum(by_patient[names[i]].groupby("method")[["tp", "fn"]].sum() for i in draw)
        recall = sums["tp"] / (sums["tp"] + sums["fn"])
        want.append(recall["cam"] - recall["human"])
    limits = np.quantile(want, [0.025, 0.975])
    np.testing.assert_allclose(got[["conf_low", "conf_high"]].astype(float), limits, rtol=RTOL)
    assert got["std_error"] == pytest.approx(np.std(want, ddof=1), rel=1e-10)


@pytest.mark.filterwarnings("ignore:.*interval has width 0:salstats.checks.SalstatsWarning")
def test_a_method_equal_to_people_has_no_verdict(scores):
    human = scores[scores["method"] == "human"]
    both = pd.concat([human, human.assign(method="copy")], ignore_index=True)
    got = pooled_difference(both, reference="human", n_replicates=50)
    assert (got["estimate"] == 0).all()
    assert set(got["verdict"]) == {"inconclusive"}
    rates = pooled_rates(both, by=["method", "task"], n_replicates=50).query("method == 'human'")
    np.testing.assert_allclose(got["reference_mean"], rates["estimate"], rtol=RTOL)


def test_the_delta_method_agrees_with_many_replicates(scores):
    delta = pooled_difference(scores, reference="human", rates="recall", interval="delta")
    drawn = pooled_difference(scores, reference="human", rates="recall", n_replicates=20_000)
    # the SD of 20,000 replicates is known to 1 in 200, and linearisation of 30 patients costs 2 %
    np.testing.assert_allclose(delta["std_error"], drawn["std_error"], rtol=0.03)


def test_a_reference_that_is_not_there_is_an_error(scores):
    with pytest.raises(SalstatsError, match="reference='people' must be one of several methods"):
        pooled_difference(scores, reference="people")
    with pytest.raises(SalstatsError, match="there are 'human'"):
        pooled_difference(scores[scores["method"] == "human"], reference="human")
