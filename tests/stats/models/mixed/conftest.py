"""The mixed models that R's lme4 and lmerTest fitted, on arrays."""

from dataclasses import dataclass

import formulaic
import numpy as np
import pandas as pd
import pytest

from salstats.readers.lanfredi2021 import read_lanfredi2021
from salstats.stats.models.mixed.kernel import RandomTerm

X = "n_instances + area_ratio + elongation + irrectangularity"
#: Data, formula, and random intercepts of each model of 13_lmer.R.
MODELS = {
    "D1_case": ("synth1", f"iou ~ {X}", ["case_id"]),
    "D1_case_task": ("synth1", f"iou ~ {X} + task", ["case_id"]),
    "D1_nested": ("synth1", f"iou ~ {X} + task", ["case_id:patient_id", "patient_id"]),
    "D1_mean": ("synth1", "iou ~ 1", ["patient_id"]),
    "D2_case": ("synth2", "score ~ modality", ["case_id"]),
    "D2_case_reader": ("synth2", "score ~ modality", ["case_id", "reader"]),
    "D2_full": (
        "synth2",
        "score ~ modality",
        ["reader:case_id", "modality:case_id", "case_id", "modality:reader", "reader"],
    ),
    "real_ag_vs_io": ("gaze_sncc_ag_io", "score ~ source", ["case_id"]),
    "real_case": ("lanfredi2021", "score ~ 1", ["case_id"]),
    "real_case_reader_seed": ("lanfredi2021", "score ~ 1", ["case_id", "reader_pos", "seed"]),
    "real_ag_vs_io_full": (
        "gaze_sncc_ag_io",
        "score ~ source",
        ["case_id:reader", "case_id:source", "case_id", "reader"],
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class Arrays:
    """A model's arrays, and the names of its coefficients as R writes them."""

    matrix: np.ndarray
    response: np.ndarray
    terms: list[RandomTerm]
    names: list[str]


def intercepts(data: pd.DataFrame, factor: str) -> RandomTerm:
    """A random intercept for each level of a factor, or of a combination of factors."""
    codes = data.groupby(factor.split(":"), sort=True).ngroup().to_numpy()
    return RandomTerm(factor, ("(Intercept)",), codes, int(codes.max()) + 1, np.ones((len(data), 1)))


def arrays(data: pd.DataFrame, formula: str, factors: list[str]) -> Arrays:
    """Arrays of a formula with random intercepts, of the rows where all its columns are known."""
    sides = formulaic.Formula(formula)
    data = data.dropna(subset=sorted(sides.required_variables)).reset_index(drop=True)
    matrices = formulaic.model_matrix(sides, data)
    names = [n.replace("[T.", "").replace("]", "").replace("Intercept", "(Intercept)") for n in matrices.rhs]
    terms = [intercepts(data, factor) for factor in factors]
    return Arrays(matrices.rhs.to_numpy(np.float64), matrices.lhs.to_numpy(np.float64)[:, 0], terms, names)


@pytest.fixture(scope="package")
def lme4_models(shared):
    """The arrays of each of lme4's models by name."""
    names = {m[0] for m in MODELS.values()} - {"lanfredi2021"}
    frames = {name: pd.read_csv(shared / "oracles/r/data" / f"{name}.csv") for name in names}
    # Grad-CAM with attention gates, of five readings by five networks
    gaze = read_lanfredi2021(shared / "data/lanfredi2021", sheet="uniform")
    gaze = gaze[(gaze["metric"] == "sncc") & (gaze["method"] == "gradcam_wag")]
    frames["lanfredi2021"] = gaze.rename(columns={"case": "case_id", "reader": "reader_pos"})
    return {name: arrays(frames[data], *rest) for name, (data, *rest) in MODELS.items()}
