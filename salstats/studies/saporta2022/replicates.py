"""The replicates behind means and decreases: those of a run, and what follows from eval.py's files."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.checks import check_columns, quoted
from salstats.errors import ColumnError, InputFileError, SalstatsError
from salstats.readers.chexlocalize_maps import TASKS, task_name
from salstats.stats.engine.design import AVERAGE
from salstats.studies.engine import Item, Result
from salstats.studies.options import check_replicates
from salstats.studies.saporta2022.labels_and_notes import LABELS
from salstats.studies.saporta2022.release import SCORES
from salstats.studies.saporta2022.script_inference import (
    DECREASE_COLUMNS,
    decrease_of_replicates,
    order_limits,
    replicates_as_published,
)
from salstats.studies.saporta2022.study_frames import StudyFrames, metric_rows, one_model, present
from salstats.study import HUMAN

KEYS = ["metric", "method", "task"]
COLUMNS = [*KEYS, "replicate", "estimate"]
#: Name of a file of replicates, without its ending -> method and metric.
FILES = {name.replace("results", "bootstrap_results"): series for name, series in SCORES.items()}
_NOTE = "as published: mean of the replicates given, order statistics"


def replicates_of(frames: StudyFrames) -> Result:
    """Return the replicates behind Table 1 and, of people's pairs, Extended Data 5 and 6 as published."""
    inference = frames.inference
    scores = metric_rows(one_model(frames.scores), "iou", "hit")
    if inference.published:
        found = replicates_as_published(scores, KEYS, inference.n_replicates)
    else:
        found = ss.bootstrap(present(scores), by=KEYS, n_replicates=inference.n_replicates)
    return Result(found, note="means of the scores that each replicate drew")


def read_replicates(sources: Sequence[Path | pd.DataFrame]) -> pd.DataFrame:
    """Read files of replicates into one frame with the columns of `COLUMNS`.

    A file of eval.py has a task per column and is known by its name (`FILES`); any other file, and a frame,
    has the columns that a run writes.
    """
    pieces = [_read(source).assign(source=_source_name(source)) for source in sources]
    frame = pd.concat(pieces, ignore_index=True)
    repeated = frame[frame.duplicated([*KEYS, "replicate"])]
    if len(repeated):
        row = repeated.iloc[0]
        raise SalstatsError(
            f"--bootstrap has replicate {row['replicate']} of metric {row['metric']}, method {row['method']} "
            f"and task {row['task']} twice, the second time in {row['source']}; name each file once, and "
            "files of other runs one by one"
        )
    frame = frame.drop(columns="source")
    sizes = frame.groupby(KEYS).size()
    if sizes.nunique() > 1:
        raise SalstatsError(
            f"--bootstrap holds {sizes.min()} replicates of some means and {sizes.max()} of others, which "
            "cannot be paired; give files of one number of replicates"
        )
    check_replicates(int(sizes.iloc[0]))
    return frame


def _source_name(source: Path | pd.DataFrame) -> str:
    """Name where replicates come from, for errors."""
    return "a frame" if isinstance(source, pd.DataFrame) else str(source)


def _read(source: Path | pd.DataFrame) -> pd.DataFrame:
    """Read one table of replicates."""
    frame = source if isinstance(source, pd.DataFrame) else ss.read_data(source)
    if set(COLUMNS) <= set(frame.columns) or isinstance(source, pd.DataFrame):
        check_columns(frame, COLUMNS, "the replicates")
        return frame[COLUMNS]
    if source.stem not in FILES:
        raise InputFileError(
            f"{source} is called as no file of replicates that eval.py writes; call it one of "
            f"{quoted(FILES)}, or give the columns {quoted(COLUMNS)}"
        )
    unknown = [column for column in frame.columns if task_name(column) not in TASKS]
    if unknown:
        raise ColumnError(f"{source}: column {unknown[0]!r} is no task of the study ({quoted(TASKS)})")
    method, metric = FILES[source.stem]
    wide = frame.rename(columns=task_name)
    long = wide.melt(var_name="task", value_name="estimate", ignore_index=False).reset_index(
        names="replicate"
    )
    return long.assign(metric=metric, method=method)[COLUMNS]


def means_of(replicates: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each group's replicates with their order statistics."""
    rows = []
    for keys, group in replicates.groupby(KEYS, sort=False):
        low, high = order_limits(group["estimate"])
        n_undefined = int(group["estimate"].isna().sum())
        rows.append((*keys, "mean", group["estimate"].mean(), low, high, 0.95, "order", n_undefined))
    columns = ["term", "estimate", "conf_low", "conf_high", "conf_level", "interval", "n_undefined"]
    return pd.DataFrame(rows, columns=[*KEYS, *columns])


def decreases_of(replicates: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the percentage decreases of a metric from people, paired by the number of the replicate."""
    of_metric = replicates[replicates["metric"] == metric]
    wide = {
        method: rows.pivot(index="replicate", columns="task", values="estimate")
        for method, rows in of_metric.groupby("method", sort=False)
    }
    people = wide.pop(HUMAN)
    rows = []
    for method, own in wide.items():
        for task in (*own.columns.intersection(people.columns), AVERAGE):
            numbers = decrease_of_replicates(people, own, task)
            rows.append((metric, task, method, HUMAN, "percent_decrease", *numbers, 0.95, "order"))
    columns = ["metric", "task", "method", "reference", "term", *DECREASE_COLUMNS, "conf_level", "interval"]
    return pd.DataFrame(rows, columns=columns)


def _table_1(replicates: pd.DataFrame) -> Result:
    """Table 1 of replicates."""
    found = means_of(replicates)
    people = [HUMAN] if HUMAN in set(found["method"]) else []
    return Result(
        found,
        ss.table_estimates(found, exclude=people, labels=LABELS),
        ss.plot_intervals(found, labels=LABELS),
        note=_NOTE,
    )


def _lost_to_people(replicates: pd.DataFrame, metric: str) -> Result:
    """Extended Data 5 or 6 of replicates."""
    lost = decreases_of(replicates, metric)
    return Result(
        lost, ss.table_decrease(lost, labels=LABELS), ss.plot_decrease(lost, labels=LABELS), note=_NOTE
    )


def replicate_needs(replicates: pd.DataFrame) -> frozenset[str]:
    """Say which needs of `REPLICATE_ITEMS` are met."""
    met = set()
    for metric, rows in replicates.groupby("metric"):
        methods = set(rows["method"])
        if HUMAN in methods and len(methods) > 1:
            met.add(_pair_need(str(metric)))
    return frozenset(met)


def _pair_need(metric: str) -> str:
    """Name what decreases of a metric need."""
    return f"replicates of {metric}, of people and of a saliency method"


#: What is made of replicates alone.
REPLICATE_ITEMS = (
    Item("table_1", "Table 1: mean IoU and hit rate", _table_1),
    Item("extended_data_5", "Extended Data 5: percentage decrease of mean IoU from people",
         partial(_lost_to_people, metric="iou"), needs=(_pair_need("iou"),)),
    Item("extended_data_6", "Extended Data 6: percentage decrease of hit rate from people",
         partial(_lost_to_people, metric="hit"), needs=(_pair_need("hit"),)),
)  # fmt: skip
