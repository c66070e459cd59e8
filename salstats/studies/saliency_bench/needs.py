"""What the tables need of scores, found before anything is computed."""

import pandas as pd

from salstats.studies.saliency_bench.cell_means import CELL, FEWEST, FEWEST_DRAWN, split_models

DATASET_COLUMN, MODEL_COLUMN = "a column 'dataset'", "a column 'model'"
SEVERAL_METHODS, ONE_METHOD = "a model with several methods", "a model with one method only"
TWO_METRICS = "scores of two metrics"
ENOUGH_SETS = f"{FEWEST} data sets of one model and method"
ENOUGH_DRAWN = f"{FEWEST_DRAWN} data sets of a model with several methods"
#: Each metric of the study, with those that stand for it.
METRIC_NEEDS = {
    "scores of iou": {"iou"},
    "scores of hit_any, or hit": {"hit", "hit_any"},
    "scores of insertion": {"insertion"},
}


def needs_met(scores: pd.DataFrame, kept: pd.DataFrame, *, metrics_chosen: bool = False) -> set[str]:
    """Find which needs some scores meet; `kept` is what `keep_scores` makes of them.

    Where the metrics were chosen, those of the study are not missed.
    """
    met = set()
    for column, need in (("dataset", DATASET_COLUMN), ("model", MODEL_COLUMN)):
        if column in scores.columns:
            met.add(need)
    metrics = set(kept["metric"])
    for need, names in METRIC_NEEDS.items():
        if metrics_chosen or names & metrics:
            met.add(need)
    if len(metrics) > 1:
        met.add(TWO_METRICS)

    cells = kept[list(CELL)].drop_duplicates()
    several, single = split_models(cells)
    if len(several):
        met.add(SEVERAL_METHODS)
    if len(single):
        met.add(ONE_METHOD)
    if several["dataset"].nunique() >= FEWEST_DRAWN:
        met.add(ENOUGH_DRAWN)
    if cells.groupby(["model", "method"])["dataset"].nunique().max() >= FEWEST:
        met.add(ENOUGH_SETS)
    return met
