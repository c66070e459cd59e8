"""Data that the tables need, looked up in the scores before anything is computed."""

import pandas as pd

from salstats.studies.engine import Need
from salstats.studies.saliency_bench.cell_means import CELL, MIN_DATA_SETS, MIN_DRAWN_DATA_SETS, split_models

DATASET_COLUMN = "a column 'dataset'"
MODEL_COLUMN = "a column 'model'"
SEVERAL_METHODS = "a model with several methods"
ONE_METHOD = "a model with one method only"
TWO_METRICS = "scores of two metrics"
ENOUGH_DATA_SETS = f"{MIN_DATA_SETS} data sets of one model and method"
ENOUGH_DRAWN_DATA_SETS = f"{MIN_DRAWN_DATA_SETS} data sets of a model with several methods"
#: Metrics that meet the need for each metric of the study.
METRIC_NEEDS = {
    "scores of iou": {"iou"},
    "scores of hit_any, or hit": {"hit", "hit_any"},
    "scores of insertion": {"insertion"},
}


def needs_met(
    scores: pd.DataFrame, compared_scores: pd.DataFrame, *, metrics_chosen: bool = False
) -> set[Need]:
    """Return the needs that some scores meet.

    Parameters
    ----------
    scores : DataFrame
        All scores.
    compared_scores : DataFrame
        The rows that `keep_scores` returns.
    metrics_chosen : bool
        True where the metrics were chosen by name; then those of the study are not missed.
    """
    met: set[Need] = set()
    for column, need in (("dataset", DATASET_COLUMN), ("model", MODEL_COLUMN)):
        if column in scores.columns:
            met.add(need)
    metrics = set(compared_scores["metric"])
    for need, names in METRIC_NEEDS.items():
        if metrics_chosen or names & metrics:
            met.add(need)
    if len(metrics) > 1:
        met.add(TWO_METRICS)

    cells = compared_scores[list(CELL)].drop_duplicates()
    several, single = split_models(cells)
    if len(several):
        met.add(SEVERAL_METHODS)
    if len(single):
        met.add(ONE_METHOD)
    if several["dataset"].nunique() >= MIN_DRAWN_DATA_SETS:
        met.add(ENOUGH_DRAWN_DATA_SETS)
    if cells.groupby(["model", "method"])["dataset"].nunique().max() >= MIN_DATA_SETS:
        met.add(ENOUGH_DATA_SETS)
    return met
