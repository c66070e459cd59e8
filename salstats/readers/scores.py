"""Read files of per-case scores, long or wide, into one scores frame."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, InputFileError, SalstatsError, quoted
from salstats.frames import (
    IDENTIFIER_COLUMNS,
    KEY_COLUMNS,
    SCORES_COLUMNS,
    check_nesting,
    combined_codes,
    join_features,
)
from salstats.readers.tables import (
    NA_STRINGS,
    TableOptions,
    check_mapping,
    covariate,
    identifier_text,
    is_decimal_comma,
    number_column,
    read_table,
)

PathLike = str | os.PathLike[str]
_REQUIRED_TEXT = ("case", "method", "metric", "task")


def read_scores(
    path: PathLike | Sequence[PathLike],
    *,
    rename: Mapping[str, str] | None = None,
    columns: Mapping[str, tuple[str, str]] | None = None,
    wide: str | None = None,
    tasks: Sequence[str] | None = None,
    method: str | Sequence[str] | None = None,
    metric: str | Sequence[str] | None = None,
    join: PathLike | pd.DataFrame | None = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    na: Sequence[str] = NA_STRINGS,
    sheet: str | None = None,
) -> pd.DataFrame:
    r"""Read per-case scores from one or several files into a scores frame.

    Parameters
    ----------
    path : path or list of paths
        CSV, TSV, Parquet or XLSX files, told by their ending. Several files are put below each other.
    rename : dict, optional
        File's column name -> ours: `{"img_id": "case"}`.
    columns : dict, optional
        For a wide file with a metric per column: column -> (method, metric), as in
        `{"iou": ("gradcam", "iou"), "human_iou": ("human", "iou")}`. All other columns are kept beside
        every score.
    wide : {"task"}, optional
        For a wide file with a task per column, one file per method and metric.
    tasks : list of str, optional
        With `wide="task"`: the columns that are tasks. By default all but the identifier columns.
    method, metric : str or list of str, optional
        What the whole file is about, where it has no such column; a list gives one value per file.
    join : path or DataFrame, optional
        Covariates to add on case and task, see `join_features`.
    sep, decimal, encoding : str, optional
        Separator (default a comma, a tab for `.tsv`), decimal mark, encoding of text files.
    na : list of str
        What stands for a missing number or covariate. Never applied to identifiers: a task called
        "NA" stays one.
    sheet : str, optional
        Sheet of a workbook with several.

    Returns
    -------
    DataFrame
        `case, task, method, metric, score` (`task` where there is one), then the other identifiers and
        covariates in the file's order. Identifiers (dataset, case, task, method, metric, reader, model,
        seed, patient) are text exactly as in the file: "007" stays "007". `score` is float64, NaN where
        undefined. Other columns are numbers where every cell is one (none written like "007"), else text.

    Raises
    ------
    InputFileError
        The file is missing, empty, in another encoding, has no data rows, a ragged row, a bad header.
    ColumnError
        A needed column is missing; a case, task, method or metric is empty; a score is no number or is
        infinite; an observation stands twice; a case belongs to two patients. The message names the
        file, column and row (the header is row 1).

    Examples
    --------
    >>> import tempfile, pathlib, salstats as ss
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "scores.csv"
    >>> _ = file.write_text("img_id,Edema,Cardiomegaly\n007,0.25,\n008,0.5,0.75\n")
    >>> ss.read_scores(file, wide="task", method="gradcam", metric="iou", rename={"img_id": "case"})
      case          task   method metric  score
    0  007         Edema  gradcam    iou   0.25
    1  008         Edema  gradcam    iou   0.50
    2  007  Cardiomegaly  gradcam    iou    NaN
    3  008  Cardiomegaly  gradcam    iou   0.75
    >>> folder.cleanup()
    """
    options = TableOptions(sep, decimal, encoding, tuple(na), sheet)
    files = [Path(p) for p in ([path] if isinstance(path, str | os.PathLike) else path)]
    if not files:
        raise InputFileError("no file to read")
    if columns and wide:
        raise SalstatsError("give columns= (a metric per column) or wide= (a task per column), not both")
    if wide not in (None, "task"):
        raise SalstatsError(f"wide={wide!r} is not known; only 'task' (a task per column)")
    if tasks is not None and wide is None:
        raise SalstatsError("tasks= belongs to wide='task'")
    methods, metrics = _per_file(method, files, "method"), _per_file(metric, files, "metric")
    parts, origins = [], []
    for file, its_method, its_metric in zip(files, methods, metrics, strict=True):
        part, rows = _read_one(file, rename, columns, wide, tasks, its_method, its_metric, options)
        parts.append(part)
        origins.append(pd.DataFrame({"file": str(file), "row": rows}))
    scores = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    _check_repeats(scores, pd.concat(origins, ignore_index=True))
    check_nesting(scores, ", ".join(f.name for f in files))
    return scores if join is None else _joined(scores, join, options)


def read_data(
    path: PathLike,
    *,
    rename: Mapping[str, str] | None = None,
    join: PathLike | pd.DataFrame | None = None,
    sep: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    na: Sequence[str] = NA_STRINGS,
    sheet: str | None = None,
) -> pd.DataFrame:
    r"""Read any tidy table as strictly as `read_scores`: for regressions, correlations and covariates.

    Parameters
    ----------
    path : path
        CSV, TSV, Parquet or XLSX file.
    rename, join, sep, decimal, encoding, na, sheet
        As for `read_scores`.

    Returns
    -------
    DataFrame
        The file's columns in their order: identifiers as text, others as numbers where every cell is
        one, else as text. A column `score` is float64 and its cells must be finite numbers or missing.

    Raises
    ------
    InputFileError, ColumnError
        As for `read_scores`.

    Examples
    --------
    >>> import tempfile, pathlib, salstats as ss
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "features.csv"
    ...     _ = file.write_text("case;size\n007;0,5\n")
    ...     ss.read_data(file, sep=";", decimal=",")
      case  size
    0  007   0.5
    """
    options = TableOptions(sep, decimal, encoding, tuple(na), sheet)
    file = Path(path)
    raw = _renamed(read_table(file, options), rename, file)
    scored = [c for c in ("score",) if c in raw.columns]
    data = _typed(raw.drop(columns=scored), file, options)
    for name in scored:
        data.insert(raw.columns.get_loc(name), name, _numbers(raw[name], file, name, options))
    return data if join is None else _joined(data, join, options)


def _joined(data: pd.DataFrame, join: PathLike | pd.DataFrame, options: TableOptions) -> pd.DataFrame:
    """Return data with the covariates of a frame or file."""
    if isinstance(join, pd.DataFrame):
        return join_features(data, join)
    file = Path(join)
    return join_features(data, _typed(read_table(file, options), file, options), name=str(join))


def _renamed(raw: pd.DataFrame, rename: Mapping[str, str] | None, file: Path) -> pd.DataFrame:
    """Return a table with columns renamed, none of them twice."""
    check_mapping(rename, raw, file, "rename")
    first_row = raw.attrs["first_row"]
    raw = raw.rename(columns=dict(rename or {}))
    raw.attrs["first_row"] = first_row
    twice = raw.columns[raw.columns.duplicated()]
    if len(twice):
        raise ColumnError(f"{file}: after rename, column {twice[0]!r} is there twice")
    return raw


def _per_file(value: str | Sequence[str] | None, files: list[Path], option: str) -> list[str | None]:
    """Return one value per file."""
    if value is None or isinstance(value, str):
        return [value] * len(files)
    if len(value) == 1:
        return [value[0]] * len(files)
    if len(value) != len(files):
        raise SalstatsError(f"{option}= names {len(value)} values for {len(files)} files; give one per file")
    return list(value)


def _read_one(
    file: Path,
    rename: Mapping[str, str] | None,
    columns: Mapping[str, tuple[str, str]] | None,
    wide: str | None,
    tasks: Sequence[str] | None,
    method: str | None,
    metric: str | None,
    options: TableOptions,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a file's scores and the file's row number of each."""
    raw = _renamed(read_table(file, options), rename, file)
    rows = np.arange(len(raw)) + raw.attrs["first_row"]
    if columns:
        check_mapping(columns, raw, file, "columns")
        frame, times = _stack_metrics(raw, columns, file, options), len(columns)
    elif wide:
        frame, times = _stack_tasks(raw, tasks, file, options)
    else:
        frame, times = _long(raw, file, options), 1
    for name, value in (("method", method), ("metric", metric)):
        if value is None:
            continue
        if name in frame.columns:
            raise ColumnError(
                f"{file} has a column {name!r} already; leave {name}={value!r} out or rename it"
            )
        if not value:
            raise SalstatsError(f"{name}= is empty")
        frame[name] = pd.Series(value, index=frame.index, dtype="str")
    _check_complete(frame, file, np.tile(rows, times))
    lead = [c for c in ("case", "task", "method", "metric", "score") if c in frame.columns]
    return frame[[*lead, *(c for c in frame.columns if c not in lead)]], np.tile(rows, times)


def _long(raw: pd.DataFrame, file: Path, options: TableOptions) -> pd.DataFrame:
    """Return a long file typed."""
    if "score" not in raw.columns:
        raise ColumnError(
            f"{file} has no column 'score' (columns: {quoted(raw.columns)}); rename= one to it; for a wide "
            "file give columns={'column': ('method', 'metric')} (--score column=method:metric) or wide='task'"
        )
    frame = _typed(raw.drop(columns="score"), file, options)
    frame["score"] = _numbers(raw["score"], file, "score", options)
    return frame


def _stack_metrics(
    raw: pd.DataFrame, columns: Mapping[str, tuple[str, str]], file: Path, options: TableOptions
) -> pd.DataFrame:
    """Return a file with a metric per column as one row per score."""
    for name, target in columns.items():
        if not (isinstance(target, tuple | list) and len(target) == 2 and all(target)):
            raise SalstatsError(f"columns={{{name!r}: ...}} must give (method, metric), not {target!r}")
    kept = _typed(raw.drop(columns=list(columns)), file, options)
    clash = [c for c in ("method", "metric", "score") if c in kept.columns]
    if clash:
        raise ColumnError(f"{file} has a column {clash[0]!r} beside columns=; rename it")
    parts = []
    for name, (its_method, its_metric) in columns.items():
        part = kept.copy()
        part["method"] = pd.Series(its_method, index=part.index, dtype="str")
        part["metric"] = pd.Series(its_metric, index=part.index, dtype="str")
        part["score"] = _numbers(raw[name], file, name, options)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _stack_tasks(
    raw: pd.DataFrame, tasks: Sequence[str] | None, file: Path, options: TableOptions
) -> tuple[pd.DataFrame, int]:
    """Return a file with a task per column as one row per score, and the number of tasks."""
    if "task" in raw.columns:
        raise ColumnError(f"{file} has a column 'task', so it is not wide by task; leave wide='task' out")
    if tasks is None:
        tasks = [c for c in raw.columns if c not in IDENTIFIER_COLUMNS]
    check_mapping(dict.fromkeys(tasks), raw, file, "tasks")
    if not len(tasks):
        raise ColumnError(f"{file} has no task columns (columns: {quoted(raw.columns)})")
    kept = _typed(raw.drop(columns=list(tasks)), file, options)
    parts = []
    for task in tasks:
        part = kept.copy()
        part["task"] = pd.Series(task, index=part.index, dtype="str")
        hint = "; if this column is no task, name the tasks with tasks="
        part["score"] = _numbers(raw[task], file, task, options, hint)
        parts.append(part)
    return pd.concat(parts, ignore_index=True), len(tasks)


def _typed(raw: pd.DataFrame, file: Path, options: TableOptions) -> pd.DataFrame:
    """Return identifiers as text as they stand, and other columns as covariates."""
    typed = {}
    for name in raw.columns:
        if name in IDENTIFIER_COLUMNS:
            text = identifier_text(raw[name], f"{file}, column {name!r}")
            blank = text.ne(text.str.strip())
            if blank.any():
                position = int(np.flatnonzero(blank.to_numpy())[0])
                raise ColumnError(
                    f"{file}, row {position + raw.attrs.get('first_row', 2)}, column {name!r}: "
                    f"{text.iloc[position]!r} begins or ends with a blank; remove it in the file"
                )
            # an empty reader or seed is one that does not apply; the other keys are checked later
            typed[name] = text if name in _REQUIRED_TEXT else text.where(text.ne(""))
        else:
            typed[name] = covariate(raw[name], options)
    return pd.DataFrame(typed, index=raw.index)


def _numbers(column: pd.Series, file: Path, name: str, options: TableOptions, hint: str = "") -> pd.Series:
    """Return a column as finite float64 or NaN, or raise naming the row."""
    numbers, bad = number_column(column, options)
    first_row = 1 if file.suffix.lower() == ".parquet" else 2
    if bad is not None:
        value = column.iloc[bad]
        if options.decimal == "." and is_decimal_comma(value):
            hint = "; for decimal commas read it with decimal=','"
        raise ColumnError(
            f"{file}, row {bad + first_row}, column {name!r}: {str(value)!r} is not a number{hint} "
            f"(missing is one of {', '.join(repr(s) for s in options.na)})"
        )
    infinite = np.isinf(numbers.to_numpy())
    if infinite.any():
        position = int(np.flatnonzero(infinite)[0])
        raise ColumnError(
            f"{file}, row {position + first_row}, column {name!r}: the score is infinite; "
            "an undefined score is an empty cell"
        )
    return numbers


def _check_complete(frame: pd.DataFrame, file: Path, rows: np.ndarray) -> None:
    """Raise when a column of the key is missing or one of its cells is empty."""
    for name in SCORES_COLUMNS:
        if name not in frame.columns:
            if name in ("method", "metric"):
                hint = f"; say what the file is about with {name}='...'"
            else:
                hint = f"; rename={{'...': {name!r}}} says which column it is"
            raise ColumnError(f"{file} has no column {name!r} (columns: {quoted(frame.columns)}){hint}")
    for name in (*_REQUIRED_TEXT, "patient"):
        if name not in frame.columns:
            continue
        empty = (frame[name].isna() if name == "patient" else frame[name].eq("")).to_numpy()
        if empty.any() and not (name == "patient" and empty.all()):
            row = rows[int(np.flatnonzero(empty)[0])]
            raise ColumnError(f"{file}, row {row}, column {name!r}: empty; every row needs one")


def _check_repeats(scores: pd.DataFrame, origin: pd.DataFrame) -> None:
    """Raise when an observation stands twice, naming both places."""
    keys = [c for c in KEY_COLUMNS if c in scores.columns]
    codes = combined_codes(scores, keys)
    if np.bincount(codes).max(initial=0) <= 1:
        return
    second = int(np.flatnonzero(pd.Series(codes).duplicated().to_numpy())[0])
    first = int(np.flatnonzero(codes == codes[second])[0])
    shown = ", ".join(f"{c} {scores[c].iloc[first]}" for c in keys)
    here, there = origin.iloc[second], origin.iloc[first]
    place = f"row {there['row']}" if here["file"] == there["file"] else f"{there['file']}, row {there['row']}"
    lacking = [c for c in ("task", "reader", "model", "seed", "dataset") if c not in keys]
    hint = f"; if they differ by {' or '.join(lacking)}, give that column" if lacking else "; remove one"
    raise ColumnError(f"{here['file']}, row {here['row']}: the same observation as {place} ({shown}){hint}")
