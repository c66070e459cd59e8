"""How scores were made, carried into what is estimated of them: units, options that change the numbers."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

#: Columns of a scores frame that say it, each for its own metrics.
HOW_SCORED = (
    "distance_unit", "distance_options", "pdc_options", "metric_options", "curve_options", "center_bias",
    "n_samples", "floor", "undefined", "human_label",
)  # fmt: skip
#: Stands where scores of a metric were made in more than one way.
SEVERAL = "several"


def how_scored(
    scores: pd.DataFrame, keys: pd.DataFrame, columns: Sequence[str] = HOW_SCORED
) -> dict[str, list[Any]]:
    """Return, for each row of an estimates frame, how the scores of its metric were made.

    Parameters
    ----------
    scores : DataFrame
        A scores frame.
    keys : DataFrame
        The grouping columns of the estimates; without `metric` all scores count.
    columns : sequence of str
        Columns that say how scores were made.

    Returns
    -------
    dict of str to list
        For each of the columns that says something: its value, "several" where there are more
        than one, and None where it says nothing of the metric.
    """
    found = {}
    for column in columns:
        if column not in scores.columns:
            continue
        said = scores.loc[scores[column].notna(), ["metric", column]].drop_duplicates()
        if said.empty:
            continue
        if "metric" in keys.columns:
            ways = {metric: _one(rows[column]) for metric, rows in said.groupby("metric")}
            found[column] = [ways.get(metric) for metric in keys["metric"]]
        else:
            found[column] = [_one(said[column])] * len(keys)
    return found


def _one(values: pd.Series) -> Any:
    """Return the one value there is, or that there are several."""
    distinct = values.unique()
    return distinct[0] if len(distinct) == 1 else SEVERAL
