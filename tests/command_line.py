"""A study in a file, and what every command needs, for tests of the command line."""

import subprocess
import sys

import numpy as np
import pandas as pd

COMMANDS = [
    *("score", "features", "tune", "segment", "rates", "gaze", "read", "summarize", "decrease"),
    *("overlap", "ranks", "significance-map", "rank-agreement", "agreement", "power"),
    *(
        "difference",
        "mrmc",
        "regress",
        "correlate",
        "describe",
        "describe-patients",
        "auroc",
        "roc-curve",
        "calibration",
        "calibration-curve",
        "report",
        "demo",
        "reproduce",
    ),
    *(
        "medians",
        "median-difference",
        "quantile-regress",
        "table",
        "plot",
        "gallery",
        "make-maps",
        "curves",
        "doctor",
    ),
]


#: Each command with the arguments that it needs.
MINIMAL = {
    "read": [],
    "summarize": [],
    "decrease": ["--reference", "human"],
    "difference": ["--reference", "human"],
    "regress": ["iou ~ area_ratio"],
    "correlate": ["iou", "prob"],
    "describe": [],
    "describe-patients": ["prob", "--by", "method", "--unit", "case,task,method"],
    "auroc": ["prob", "label"],
    "roc-curve": ["prob", "label"],
    "calibration": ["prob", "label"],
    "calibration-curve": ["prob", "label"],
    "rates": [],
    "ranks": [],
    "significance-map": [],
    "rank-agreement": [],
    "medians": [],
    "quantile-regress": ["iou ~ area_ratio"],
    "median-difference": ["--reference", "human"],
    "agreement": ["--over", "method", "--kind", "krippendorff"],
}


LONG = "case,task,method,metric,score"


ROW = "007,Edema,gradcam,iou,0.5"


def study():
    """Twelve cases of twelve patients, tasks Edema and NA, two methods, one score missing."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        [(f"{c:03d}", task, m) for c in range(12) for task in ("Edema", "NA") for m in ("gradcam", "human")],
        columns=["case", "task", "method"],
    )
    per_case = frame["case"] + frame["task"]
    frame["metric"] = "iou"
    frame["score"] = rng.random(len(frame))
    frame["patient"] = "p" + frame["case"]
    for name, values in {"prob": rng.random(24), "area_ratio": rng.random(24)}.items():
        frame[name] = values[pd.factorize(per_case)[0]]
    frame["label"] = frame["case"].astype(int) % 3 // 2
    for name in ("tp", "fp", "fn", "tn"):
        frame[name] = rng.integers(1, 100, len(frame))
    frame.loc[5, "score"] = np.nan
    return frame.astype({"metric": "str"})


def patients():
    """Four patients of two arms, one without a stage."""
    return pd.DataFrame(
        {
            "patient": ["a", "b", "c", "d"],
            "arm": [1, 1, 2, 2],
            "age": [61.5, 48.0, 70.5, 55.0],
            "sex": ["F", "M", "F", "F"],
            "stage": ["I", "II", None, "I"],
        }
    )


def contents(folder):
    """Every file below a folder with its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def only_warnings(err):
    """Whether every line of stderr is a warning of ours."""
    return all(line.startswith("salstats: warning: ") for line in err.splitlines())


def salstats(*arguments, **options):
    """Run the command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "salstats", *arguments], capture_output=True, text=True, check=False, **options
    )
