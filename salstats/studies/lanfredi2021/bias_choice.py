"""What changes where a case has no part in the centre bias that it is scored against."""

import pandas as pd
import plotnine as p9

from salstats.display.plots.intervals import plot_intervals
from salstats.display.tables.layout import Column, Table, build
from salstats.display.text.format import fixed_text, interval_text
from salstats.display.text.labels import Labels
from salstats.studies.items import Item
from salstats.studies.lanfredi2021.raw_tables import (
    KEYS,
    RAW_LABELS,
    SHUFFLED,
    by_mixing,
    in_order,
    row_names,
    without_blanks,
)

_ALL, _OTHERS = "score_all", "score_others"
_PAIR = ("case", "method", "model", "seed", "mixing", "reader", "metric")


def bias_choice(all_cases: pd.DataFrame, others: pd.DataFrame) -> Item:
    """Return the shuffled metrics under both centre biases, and how much they change.

    Parameters
    ----------
    all_cases, others : DataFrame
        Exact scores of the same study with `center_bias="all"` and `"others"`, as `named_rows` names them.
    """
    rows = compared(all_cases, others)
    labels = Labels(RAW_LABELS)
    table = Table(
        ("",),
        [(name,) for name in row_names(rows)],
        [
            Column("All cases, as the study"),
            Column("All other cases"),
            Column("Change (95% CI)"),
            Column("Largest change of a score"),
        ],
        [
            [
                fixed_text(r.mean_all, 3),
                fixed_text(r.mean_others, 3),
                interval_text(r.estimate, r.conf_low, r.conf_high, 3, "brackets"),
                fixed_text(r.largest, 3),
            ]
            for r in rows.itertuples()
        ],
        groups=[labels.value("metric", m) for m in rows["metric"]],
        notes=[
            "Mean scores. Change: other cases minus all cases, the same rows paired; t interval with cases "
            "as clusters."
        ],
    )
    # as a difference: the grey line of a mean would mark chance, and no change is 0
    drawn = rows.assign(task=row_names(rows), term="difference")
    values = ["estimate", "conf_low", "conf_high", "conf_level", "interval", "unit"]
    figure = plot_intervals(
        drawn[["metric", "task", "term", *values]], labels={"task": list(dict.fromkeys(drawn["task"]))}
    )
    caption = "Other cases minus all cases. Bars: 95% t intervals with cases as clusters."
    return Item(
        "center_bias_choice",
        "Centre bias of all cases, or of all others",
        without_blanks(rows),
        build(table, "lanfredi2021"),
        figure + p9.labs(x="Change of the mean (95% CI)", caption=caption),
        slice="all images",
        note="the study's centre bias contains the case that is scored against it, which takes from what "
        "agrees with its gaze, and most from interobserver: the left-out reader's own map is part of it; "
        "of all other cases it does not",
    )


def compared(all_cases: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Return the change of each mean with its interval, and the means and the largest change of a score.

    Returns
    -------
    DataFrame
        An estimates frame of the changes by method, mixing and metric, and `mean_all, mean_others, largest`,
        over the rows that are defined under both.
    """
    keys = [c for c in _PAIR if c in all_cases]
    both = _of(all_cases).merge(_of(others), on=keys, validate="1:1", suffixes=("_all", "_others"))
    both["score"] = both[_OTHERS] - both[_ALL]
    changes = by_mixing(both, KEYS)
    defined = both[both["score"].notna()].assign(size=both["score"].abs())
    groups = defined.groupby(KEYS)
    means = pd.DataFrame(
        {
            "mean_all": groups[_ALL].mean(),
            "mean_others": groups[_OTHERS].mean(),
            "largest": groups["size"].max(),
        }
    ).reset_index()
    return in_order(changes.merge(means, on=KEYS, how="left", validate="1:1"), ["metric", "method", "mixing"])


def _of(scores: pd.DataFrame) -> pd.DataFrame:
    """Return what identifies the rows of the shuffled metrics, and their score."""
    keys = [c for c in _PAIR if c in scores]
    return scores.loc[scores["metric"].isin(SHUFFLED), [*keys, "score"]]
