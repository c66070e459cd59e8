"""Frames of the R bootstrap oracle, and of the study that is drawn here."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def boot60(r_data) -> pd.DataFrame:
    """Sixty complete cases of one task: iou and hit of gradcam and human, as a scores frame."""
    table = r_data("boot60")
    # R's index matrix counts rows; ours counts sorted cases: the rows must be in that order
    assert table["case_id"].is_monotonic_increasing
    columns = {
        "iou": ("gradcam", "iou"),
        "human_iou": ("human", "iou"),
        "hit": ("gradcam", "hit"),
        "human_hit": ("human", "hit"),
    }
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "case": table["case_id"],
                    "method": method,
                    "metric": metric,
                    "score": table[name].astype(float),
                }
            )
            for name, (method, metric) in columns.items()
        ],
        ignore_index=True,
    )


@pytest.fixture(scope="session")
def boot60_draws(r_data) -> np.ndarray:
    """R's 999 index vectors, counted from 0."""
    return r_data("boot_indices_n60_R999").drop(columns="rep").to_numpy() - 1


def complete_iou_pairs(scores):
    """The iou rows of a study where both methods are defined."""
    iou = scores[scores["metric"] == "iou"]
    wide = iou.pivot(index=["case", "task"], columns="method", values="score").dropna()
    return iou.merge(wide.reset_index()[["case", "task"]], on=["case", "task"])


@pytest.fixture(scope="session")
def synth1_iou(synth1_scores) -> pd.DataFrame:
    """The iou rows of the synthetic study where both methods are defined."""
    return complete_iou_pairs(synth1_scores)


@pytest.fixture(scope="session")
def drawn_iou(drawn_scores) -> pd.DataFrame:
    """The iou rows of the drawn study where both methods are defined."""
    return complete_iou_pairs(drawn_scores)


@pytest.fixture(scope="session")
def sixty(drawn_scores) -> pd.DataFrame:
    """Sixty complete cases of one task of the drawn study, without their patients."""
    edema = drawn_scores[drawn_scores["task"] == "Edema"]
    complete = edema.groupby("case")["score"].transform(lambda scores: scores.notna().all())
    chosen = edema.loc[complete, "case"].unique()[:60]
    return edema.loc[edema["case"].isin(chosen), ["case", "method", "metric", "score"]].reset_index(drop=True)


@pytest.fixture(scope="session")
def synth1_draws(r_data) -> np.ndarray:
    """R's 999 cluster index vectors over 180 sorted patients, counted from 0."""
    patients = r_data("cluster_boot_patients")["patient_id"]
    assert patients.is_monotonic_increasing
    return r_data("cluster_boot_indices_G180_R999").drop(columns="rep").to_numpy() - 1
