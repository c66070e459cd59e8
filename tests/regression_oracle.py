"""The models of the R oracle (`oracles/r/scripts/10_lm.R`, `11_glm.R`) as formulas of this package."""

import numpy as np

FEATURES = "n_instances + area_ratio + elongation + irrectangularity"
LINEAR = {
    "multi": f"iou ~ {FEATURES}",
    "multi_task": f"iou ~ {FEATURES} + task",
    "multi_int": "iou ~ n_instances*area_ratio + task",
    "prob": "iou ~ prob + task",
    **{f"uni_{x}": f"iou ~ {x}" for x in FEATURES.split(" + ")},
}


def rows_of(synth1, model):
    """The rows of a model id 'kind|task', without case and patient: taken as independent."""
    task = model.split("|")[1]
    rows = synth1 if task == "POOLED" else synth1[synth1["task"] == task]
    return rows.drop(columns=["case", "patient"])


def logit_model(model):
    """Formula and family of a GLM's model id."""
    kind, task = model.split("|")
    if kind == "logit" and task != "POOLED":
        return "hit ~ prob + n_instances + area_ratio", "binomial"
    right = FEATURES + (" + task" if kind.endswith("_task") else "")
    if kind.startswith("frac"):
        return f"iou ~ {right}", "fractional"
    return f"hit ~ prob + {right}", "binomial"


def assert_columns_equal(result, expected, columns, rtol):
    """Compare columns of a result with those of an oracle, given as {ours: theirs}."""
    assert len(result) == len(expected)
    for ours, theirs in columns.items():
        np.testing.assert_allclose(
            result[ours].to_numpy(dtype=float),
            expected[theirs].to_numpy(dtype=float),
            rtol=rtol,
            # a limit near 0 is a difference of larger numbers, and quantiles of scipy 1.15 have 11 digits
            atol=1e-11,
            err_msg=f"{ours} against {theirs}",
        )
