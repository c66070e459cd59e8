"""The shapes that files of scores have: long, a score per column, a task per column."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, quoted, warn
from salstats.frames import IDENTIFIER_COLUMNS
from salstats.readers.cases import add_patient, check_case_columns, check_pattern, combine_case, lacks_case
from salstats.readers.cells import covariate, covariate_text, identifier_text, score_column
from salstats.readers.score_checks import ALL_OR_NONE, REQUIRED_TEXT, check_complete
from salstats.readers.tables import TableOptions, check_mapping, read_table

#: What a column of scores is about: its method, and its metric where no column says it.
Targets = Mapping[str, tuple[str | None, str]] | Mapping[str, str]
Target = tuple[str | None, str | None]


@dataclass(frozen=True)
class Layout:
    """Which of a file's columns are what; see `read_scores` for what each option means."""

    rename: Mapping[str, str]
    columns: Mapping[str, Target]
    wide: bool
    tasks: Sequence[str] | None
    case: Sequence[str]
    patient_from: re.Pattern[str] | None


def check_layout(
    rename: Mapping[str, str] | None,
    case: str | Sequence[str] | None,
    patient_from: str | None,
    columns: Targets | None = None,
    wide: str | None = None,
    tasks: str | Sequence[str] | None = None,
) -> Layout:
    """Return the options that say what a file's columns are, checked as far as they can be without it."""
    if columns and wide:
        raise SalstatsError("give columns= (a score per column) or wide= (a task per column), not both")
    if wide not in (None, "task"):
        raise SalstatsError(f"wide={wide!r} is not known; only 'task' (a task per column)")
    if tasks is not None and wide is None:
        raise SalstatsError("tasks= belongs to wide='task'")
    for old, new in (rename or {}).items():
        if not isinstance(new, str) or not new.strip():
            raise SalstatsError(f"rename={{{old!r}: {new!r}}} gives no name")
    return Layout(
        rename=dict(rename or {}),
        columns=_check_targets(columns or {}),
        wide=wide is not None,
        tasks=[tasks] if isinstance(tasks, str) else tasks,
        case=check_case_columns(case),
        patient_from=check_pattern(patient_from),
    )


def _check_targets(columns: Targets) -> dict[str, Target]:
    """Return method and metric of each column of scores; None where only the other is given."""
    targets: dict[str, Target] = {}
    taken: dict[Target, str] = {}
    kinds = {
        "a method only"
        if isinstance(t, str)
        else "a metric only"
        if t and t[0] is None
        else "(method, metric)"
        for t in columns.values()
    }
    if len(kinds) > 1:
        raise SalstatsError(
            f"columns= gives some columns {' and others '.join(sorted(kinds, reverse=True))}; "
            "give all of them the same"
        )
    for name, target in columns.items():
        pair = (target, None) if isinstance(target, str) else target
        given = [g for g in pair if g is not None] if isinstance(pair, tuple | list) else []
        if (
            not isinstance(pair, tuple | list)
            or len(pair) != 2
            or (pair[1] is None and not isinstance(target, str))
            or not given
            or not all(isinstance(g, str) and g.strip() for g in given)
        ):
            raise SalstatsError(
                f"columns={{{name!r}: ...}} must give (method, metric), or a method, not {target!r}"
            )
        targets[name] = (pair[0], pair[1])
        other = taken.setdefault(targets[name], name)
        if other != name:
            what = "method" if isinstance(target, str) else "method and metric"
            raise SalstatsError(f"columns= gives {other!r} and {name!r} the same {what} {target!r}")
    return targets


def read_columns(
    file: Path, layout: Layout, options: TableOptions, elsewhere: Collection[str] = ()
) -> tuple[pd.DataFrame, int]:
    """Return a file's cells as they stand under the names that the layout gives, and its first row's number.

    `elsewhere` are columns that `rename=` may name although this file lacks them.
    """
    raw, first_row = renamed(read_table(file, options), layout.rename, file, elsewhere)
    raw = combine_case(raw, layout.case, file, first_row)
    if "case" not in raw.columns and (layout.wide or layout.patient_from):
        raise lacks_case(raw, file, options, layout.tasks or ())
    return add_patient(raw, layout.patient_from, file, first_row), first_row


def renamed(
    raw: pd.DataFrame, rename: Mapping[str, str], file: Path, elsewhere: Collection[str] = ()
) -> tuple[pd.DataFrame, int]:
    """Return a table with columns renamed, none of them twice, and its first row's number."""
    check_mapping(rename, raw, file, "rename", elsewhere)
    first_row = int(raw.attrs["first_row"])
    raw = raw.rename(columns=dict(rename))
    raw.attrs = {}
    twice = raw.columns[raw.columns.duplicated()]
    if len(twice):
        raise ColumnError(f"{file}: after rename, column {twice[0]!r} is there twice")
    return raw, first_row


def read_shape(
    file: Path,
    layout: Layout,
    method: str | None,
    metric: str | None,
    options: TableOptions,
    elsewhere: Collection[str] = (),
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a file's scores, whatever its shape, and the file's row number of each."""
    raw, first_row = read_columns(file, layout, options, elsewhere)
    if layout.columns:
        frame, times = _stack_columns(raw, layout, metric, file, options, first_row)
    elif layout.wide:
        frame, times = _stack_tasks(raw, layout, file, options, first_row)
    else:
        frame, times = _long(raw, layout, file, options, first_row), 1
    targets = list(layout.columns.values())
    for position, (name, value) in enumerate((("method", method), ("metric", metric))):
        if value is None:
            continue
        if targets and targets[0][position] is not None:
            raise SalstatsError(f"columns= gives each column its {name}; leave {name}= out")
        if name in frame.columns:
            raise ColumnError(
                f"{file} has a column {name!r} already; leave {name}={value!r} out or rename it"
            )
        if not value.strip():
            raise SalstatsError(f"{name}= is empty")
        frame[name] = pd.Series(value, index=frame.index, dtype="str")
    rows = np.tile(np.arange(len(raw)) + first_row, times)
    check_complete(frame, file, rows)
    lead = [c for c in ("case", "task", "method", "metric", "score") if c in frame.columns]
    return frame[[*lead, *(c for c in frame.columns if c not in lead)]], rows


def _long(
    raw: pd.DataFrame, layout: Layout, file: Path, options: TableOptions, first_row: int
) -> pd.DataFrame:
    """Return a long file typed."""
    if "score" not in raw.columns:
        raise ColumnError(
            f"{file} has no column 'score' (columns: {quoted(raw.columns)}); rename= one to it; for a wide "
            "file give columns={'column': ('method', 'metric')} (--score column=method:metric; "
            "column=:metric where a column names the method) or wide='task'"
        )
    return typed(raw, file, options, first_row, layout.case)


def _stack_columns(
    raw: pd.DataFrame,
    layout: Layout,
    metric: str | None,
    file: Path,
    options: TableOptions,
    first_row: int,
) -> tuple[pd.DataFrame, int]:
    """Return a file with a score per column as one row per score, and the number of its columns."""
    columns = layout.columns
    check_mapping(columns, raw, file, "columns")
    name, (its_method, its_metric) = next(iter(columns.items()))
    if its_metric is None and metric is None and "metric" not in raw.columns:
        if "method" in raw.columns:
            raise ColumnError(
                f"{file} names a method in each row, and columns= gives methods; give metrics, as in "
                f"columns={{{name!r}: (None, {name!r})}} (--score {name}=:{name})"
            )
        raise ColumnError(
            f"{file} has no column 'metric' and columns= gives methods only; say what the file is about with "
            "metric='...', or give each column both as in "
            f"columns={{{name!r}: ({its_method!r}, 'iou')}} (--score {name}={its_method}:iou)"
        )
    kept = typed(raw.drop(columns=list(columns)), file, options, first_row, layout.case)
    made = ("score",) if its_method is None else ("method", "score")
    clash = [c for c in made if c in kept.columns]
    if clash:
        hint = f", or give metrics only (--score {name}=:{its_metric})" if clash == ["method"] else ""
        raise ColumnError(f"{file} has a column {clash[0]!r} beside columns=; rename it{hint}")
    if its_metric is not None and "metric" in kept.columns:
        raise ColumnError(
            f"{file} has a column 'metric' beside columns=; give each column its method only, as in "
            f"columns={{{name!r}: {its_method or 'gradcam'!r}}} (--score {name}={its_method or 'gradcam'}), "
            "or rename it"
        )
    parts = []
    for name, (its_method, its_metric) in columns.items():
        part = kept.copy()
        if its_method is not None:
            part["method"] = pd.Series(its_method, index=part.index, dtype="str")
        if its_metric is not None:
            part["metric"] = pd.Series(its_metric, index=part.index, dtype="str")
        part["score"] = score_column(raw[name], file, options, first_row)
        parts.append(part)
    return pd.concat(parts, ignore_index=True), len(columns)


def _stack_tasks(
    raw: pd.DataFrame, layout: Layout, file: Path, options: TableOptions, first_row: int
) -> tuple[pd.DataFrame, int]:
    """Return a file with a task per column as one row per score, and the number of tasks."""
    if "task" in raw.columns:
        raise ColumnError(f"{file} has a column 'task', so it is not wide by task; leave wide='task' out")
    tasks = layout.tasks
    if tasks is None:
        tasks = [c for c in raw.columns if c not in (*IDENTIFIER_COLUMNS, *layout.case)]
    check_mapping(tasks, raw, file, "tasks")
    if not len(tasks):
        raise ColumnError(f"{file} has no task columns (columns: {quoted(raw.columns)})")
    twice = [task for i, task in enumerate(tasks) if task in tasks[:i]]
    if twice:
        raise SalstatsError(f"tasks= names {twice[0]!r} twice")
    kept = typed(raw.drop(columns=list(tasks)), file, options, first_row, layout.case)
    if "score" in kept.columns:
        raise ColumnError(f"{file} has a column 'score' beside its task columns; rename it")
    parts = []
    for task in tasks:
        part = kept.copy()
        part["task"] = pd.Series(task, index=part.index, dtype="str")
        hint = "; if this column is no task, name the tasks with tasks="
        part["score"] = score_column(raw[task], file, options, first_row, hint)
        parts.append(part)
    return pd.concat(parts, ignore_index=True), len(tasks)


def typed(
    raw: pd.DataFrame, file: Path, options: TableOptions, first_row: int, names: Sequence[str] = ()
) -> pd.DataFrame:
    """Return identifiers and `names` as text as it stands, scores as finite numbers, others as covariates."""
    columns = {}
    for name in raw.columns:
        if name in IDENTIFIER_COLUMNS or name in names:
            text = identifier_text(raw[name], file, first_row)
            # an empty reader or seed is one that does not apply; the other keys are checked later
            columns[name] = text if name in REQUIRED_TEXT else text.where(text.ne(""))
        elif name == "score" and "case" in raw.columns:
            columns[name] = score_column(raw[name], file, options, first_row)
        else:
            columns[name] = covariate(raw[name], file, options, first_row)
    return pd.DataFrame(columns, index=raw.index)


def below_each_other(parts: list[pd.DataFrame], files: list[Path]) -> pd.DataFrame:
    """Return the scores of several files as one frame, or raise where they do not go together."""
    first = parts[0]
    for part, file in zip(parts[1:], files[1:], strict=True):
        for name in ("task", *ALL_OR_NONE):
            if (name in first.columns) != (name in part.columns):
                owner, other = (files[0], file) if name in first.columns else (file, files[0])
                raise ColumnError(
                    f"{other} has no column {name!r}, but {owner} has; give it to both, or read them apart"
                )
    for name in dict.fromkeys(c for part in parts for c in part.columns if c not in IDENTIFIER_COLUMNS):
        has = [name in part.columns for part in parts]
        if not all(has):
            warn(
                f"column {name!r} is in {files[has.index(True)]} but not in {files[has.index(False)]}; "
                "it is empty for the scores of the latter"
            )
        texts = [isinstance(p[name].dtype, pd.StringDtype) for p in parts if name in p.columns]
        if any(texts) and not all(texts):
            with_it = [f for part, f in zip(parts, files, strict=True) if name in part.columns]
            warn(
                f"column {name!r} holds text in {with_it[texts.index(True)]} and numbers in "
                f"{with_it[texts.index(False)]}; it is read as text"
            )
            parts = [p.assign(**{name: covariate_text(p[name])}) if name in p.columns else p for p in parts]
    return pd.concat(parts, ignore_index=True)
