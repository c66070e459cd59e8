"""Replicates behind means and decreases: those of a run, and results of the files of eval.py."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.checks import check_columns, quoted
from salstats.errors import ColumnError, InputFileError, SalstatsError, Setting
from salstats.readers.chexlocalize_maps import TASKS, canonical_task_name
from salstats.stats.engine.grouping import AVERAGE
from salstats.studies.declarations import ItemResult, Need, StudyItem
from salstats.studies.options import check_enough_replicates
from salstats.studies.saporta2022.labels_and_notes import LABELS
from salstats.studies.saporta2022.release import SCORE_FILES
from salstats.studies.saporta2022.script_inference import (
    bootstrap_replicates_as_published,
    decrease_of_replicates,
    limits_holding_95_percent_of_replicates,
)
from salstats.studies.saporta2022.study_frames import (
    StudyFrames,
    drop_absent_findings,
    metric_rows,
    rows_of_first_training_of_each_method,
)
from salstats.study import HUMAN

MEAN_KEYS = ["metric", "method", "task"]
REPLICATE_COLUMNS = [*MEAN_KEYS, "replicate", "estimate"]
#: Method and metric of a file of replicates, by its name without the ending.
REPLICATE_FILES = {
    name.replace("results", "bootstrap_results"): method_and_metric
    for name, method_and_metric in SCORE_FILES.items()
}
_NOTE = "as published: mean of the replicates given, order statistics"


def bootstrap_replicates_of_iou_and_hits(frames: StudyFrames) -> ItemResult:
    """Return the replicates of mean IoU and hit rate, from which the scripts make Table 1 and decreases."""
    inference = frames.inference
    scores = metric_rows(rows_of_first_training_of_each_method(frames.scores), "iou", "hit")
    if inference.published:
        replicates = bootstrap_replicates_as_published(scores, MEAN_KEYS, inference.n_replicates)
    else:
        replicates = ss.bootstrap(
            drop_absent_findings(scores), by=MEAN_KEYS, n_replicates=inference.n_replicates
        )
    return ItemResult(replicates, note="means of the scores that each replicate drew")


def read_replicates(sources: Sequence[Path | pd.DataFrame]) -> pd.DataFrame:
    """Read files of replicates into one frame with the columns of `REPLICATE_COLUMNS`.

    A file of eval.py has a task per column and is recognised by its name (`REPLICATE_FILES`). A frame, and
    any other file, has the columns that a run writes.

    Raises
    ------
    InputFileError
        A file of another name that does not have these columns.
    ColumnError
        A frame lacks one of these columns; a column of a file of eval.py is no task of the study.
    SalstatsError
        There are no replicates; a replicate of a mean comes twice; means have different replicates, which
        cannot be paired.
    ValueRangeError
        There are too few replicates for intervals.
    """
    pieces = [_read_replicate_rows(source).assign(source=_source_name(source)) for source in sources]
    if all(piece.empty for piece in pieces):
        raise SalstatsError(
            Setting("bootstrap"),
            " holds no replicates",
            hint=f"give a file or frame with the columns {quoted(REPLICATE_COLUMNS)}",
        )
    frame = pd.concat(pieces, ignore_index=True)
    repeated = frame[frame.duplicated([*MEAN_KEYS, "replicate"])]
    if len(repeated):
        row = repeated.iloc[0]
        files = {str(source): source for source in sources if not isinstance(source, pd.DataFrame)}
        raise SalstatsError(
            Setting("bootstrap"),
            f" has replicate {row['replicate']} of metric {row['metric']}, method {row['method']} "
            f"and task {row['task']} twice, the second time in {row['source']}",
            hint="name each file once, and files of other runs one by one",
            column="replicate",
            value=row["replicate"],
            path=files.get(row["source"]),
        )
    frame = frame.drop(columns="source")
    sizes = frame.groupby(MEAN_KEYS).size()
    if sizes.nunique() > 1:
        raise SalstatsError(
            Setting("bootstrap"),
            f" holds {sizes.min()} replicates of some means and {sizes.max()} of others, "
            "which cannot be paired",
            hint="give files of one number of replicates",
            column="replicate",
            value=(int(sizes.min()), int(sizes.max())),
        )
    first_mean = frame[(frame[MEAN_KEYS] == frame.loc[0, MEAN_KEYS]).all(axis=1)]
    is_unpaired = ~frame["replicate"].isin(first_mean["replicate"])
    if is_unpaired.any():
        row = frame[is_unpaired].iloc[0]
        raise SalstatsError(
            Setting("bootstrap"),
            f" has replicate {row['replicate']} of metric {row['metric']}, method {row['method']} and task "
            f"{row['task']} but not of all means, whose replicates cannot be paired",
            hint="give files whose replicates have the same numbers",
            column="replicate",
            value=row["replicate"],
        )
    check_enough_replicates(int(sizes.iloc[0]))
    return frame


def _source_name(source: Path | pd.DataFrame) -> str:
    """Name where replicates come from, for errors."""
    return "a frame" if isinstance(source, pd.DataFrame) else str(source)


def _read_replicate_rows(source: Path | pd.DataFrame) -> pd.DataFrame:
    """Read one table of replicates into the columns of `REPLICATE_COLUMNS`."""
    if isinstance(source, pd.DataFrame):
        check_columns(source, REPLICATE_COLUMNS, "the replicates")
        return source[REPLICATE_COLUMNS]
    frame = ss.read_data(source)
    if set(REPLICATE_COLUMNS) <= set(frame.columns):
        return frame[REPLICATE_COLUMNS]
    if source.stem not in REPLICATE_FILES:
        raise InputFileError(
            f"{source} does not have the name of a file of replicates that eval.py writes",
            hint=f"call it one of {quoted(REPLICATE_FILES)}, or give the columns {quoted(REPLICATE_COLUMNS)}",
            choices=REPLICATE_FILES,
            path=source,
        )
    other_columns = [column for column in frame.columns if canonical_task_name(column) not in TASKS]
    if other_columns:
        raise ColumnError(
            f"{source}: column {other_columns[0]!r} is no task of the study ({quoted(TASKS)})",
            column=other_columns[0],
            choices=TASKS,
            path=source,
        )
    method, metric = REPLICATE_FILES[source.stem]
    wide = frame.rename(columns=canonical_task_name)
    replicates = wide.melt(var_name="task", value_name="estimate", ignore_index=False)
    # The index numbers the rows of the file, one for each replicate.
    replicates = replicates.reset_index(names="replicate")
    return replicates.assign(metric=metric, method=method)[REPLICATE_COLUMNS]


def means_with_limits_by_metric_task_and_method(replicate_estimates: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of the replicates of each metric, method and task, with order statistics as limits."""
    rows = []
    for keys, group in replicate_estimates.groupby(MEAN_KEYS, sort=False):
        low, high = limits_holding_95_percent_of_replicates(group["estimate"])
        rows.append(
            {
                **dict(zip(MEAN_KEYS, keys, strict=True)),
                "term": "mean",
                "estimate": group["estimate"].mean(),
                "conf_low": low,
                "conf_high": high,
                "conf_level": 0.95,
                "interval": "order",
                "n_undefined": int(group["estimate"].isna().sum()),
            }
        )
    return pd.DataFrame(rows)


def decreases_with_limits_by_task_and_method(replicate_estimates: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the percentage decrease of each method from people by task, with its limits.

    Replicates are paired by their number; all of them together give an estimate and its limits.
    """
    metric_replicates = replicate_estimates[replicate_estimates["metric"] == metric]
    # Replicates of each method: a row per replicate, a column per task.
    wide_replicates = {
        method: rows.pivot(index="replicate", columns="task", values="estimate")
        for method, rows in metric_replicates.groupby("method", sort=False)
    }
    people = wide_replicates.pop(HUMAN)
    rows = []
    for method, method_replicates in wide_replicates.items():
        # The average is over the tasks that both have, which are those of the rows above it.
        tasks = method_replicates.columns.intersection(people.columns)
        for task in (*tasks, AVERAGE):
            rows.append(
                {
                    "metric": metric,
                    "task": task,
                    "method": method,
                    "reference": HUMAN,
                    "term": "percent_decrease",
                    **decrease_of_replicates(people[tasks], method_replicates[tasks], task)._asdict(),
                    "conf_level": 0.95,
                    "interval": "order",
                }
            )
    return pd.DataFrame(rows)


def _table_1_of_replicates(replicates: pd.DataFrame) -> ItemResult:
    """Make Table 1 from replicates: their means with order statistics as limits."""
    estimates = means_with_limits_by_metric_task_and_method(replicates)
    people = [HUMAN] if HUMAN in set(estimates["method"]) else []
    return ItemResult(
        estimates,
        ss.table_estimates(estimates, exclude=people, labels=LABELS),
        ss.plot_intervals(estimates, labels=LABELS),
        note=_NOTE,
    )


def _decrease_of_replicates_from_people(replicates: pd.DataFrame, metric: str) -> ItemResult:
    """Make Extended Data 5 (IoU) or 6 (hits) from replicates: percentage decreases from people."""
    rows = decreases_with_limits_by_task_and_method(replicates, metric)
    return ItemResult(
        rows, ss.table_decrease(rows, labels=LABELS), ss.plot_decrease(rows, labels=LABELS), note=_NOTE
    )


def needs_met_by_replicates(replicates: pd.DataFrame) -> frozenset[Need]:
    """Return the needs of `REPLICATE_ITEMS` that the replicates meet."""
    met: set[Need] = set()
    for metric, rows in replicates.groupby("metric"):
        methods = set(rows["method"])
        if HUMAN in methods and len(methods) > 1:
            met.add(_decrease_need_text(str(metric)))
    return frozenset(met)


def _decrease_need_text(metric: str) -> str:
    """Return the need of the decreases of a metric, as messages name it."""
    return f"replicates of {metric}, of people and of a saliency method"


#: The items that are made of replicates alone.
REPLICATE_ITEMS = (
    StudyItem("table_1", "Table 1: mean IoU and hit rate", _table_1_of_replicates),
    StudyItem("extended_data_5", "Extended Data 5: percentage decrease of mean IoU from people",
              partial(_decrease_of_replicates_from_people, metric="iou"),
              needs=(_decrease_need_text("iou"),)),
    StudyItem("extended_data_6", "Extended Data 6: percentage decrease of hit rate from people",
              partial(_decrease_of_replicates_from_people, metric="hit"),
              needs=(_decrease_need_text("hit"),)),
)  # fmt: skip
