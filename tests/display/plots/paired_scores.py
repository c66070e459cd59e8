"""Scores of a few cases and their differences, for the tests of estimation plots and of their data."""

import pandas as pd
from display.frames import large_study, small_study

import salstats as ss


def small():
    scores = small_study()
    return scores, ss.difference(scores, reference="gradcam")


def clustered():
    """Two cases of a patient, one of another, and their differences."""
    rows = [("a1", "a", 0.2, 0.4), ("a2", "a", 0.4, 0.8), ("b1", "b", 0.5, 0.9)]
    wide = pd.DataFrame(rows, columns=["case", "patient", "cam", "human"])
    scores = wide.melt(["case", "patient"], var_name="method", value_name="score").assign(metric="iou")
    return scores, ss.difference(scores, reference="human", interval="t")


def of_hospitals(n_hospitals):
    """Scores and hits of 24 cases of some hospitals, and differences whose unit is the hospital."""
    scores = large_study(24, 24).query(
        "task == 'Edema' and method in ['human', 'ig', 'lime'] and reader != 'r2'"
    )
    hospital = scores["case"].str[-3:].astype(int) % n_hospitals
    scores = scores.assign(hospital=hospital.map("H{}".format)).drop(columns=["patient", "reader", "task"])
    scores = scores.query("metric in ['iou', 'hit']")
    return scores, ss.difference(scores, reference="human", unit="hospital", n_replicates=99)
