"""Read files of per-case scores, long or wide, into one scores frame."""

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, InputFileError, SalstatsError, SalstatsWarning, quoted
from salstats.codes import combined_codes
from salstats.frames import IDENTIFIER_COLUMNS, KEY_COLUMNS, SCORES_COLUMNS, check_nesting, join_features
from salstats.readers.cells import covariate, covariate_text, identifier_text, score_column
from salstats.readers.tables import NA_STRINGS, TableOptions, check_mapping, read_table

PathLike = str | os.PathLike[str]
_REQUIRED_TEXT = ("case", "method", "metric", "task")
#: Identifiers that say whose a case is: given for every row, or for none.
_ALL_OR_NONE = ("patient", "dataset")


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
        "NA" stays one. An empty cell is always missing.
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
    options = TableOptions(sep, decimal, encoding, na, sheet)
    files = _files(path)
    if columns and wide:
        raise SalstatsError("give columns= (a metric per column) or wide= (a task per column), not both")
    if wide not in (None, "task"):
        raise SalstatsError(f"wide={wide!r} is not known; only 'task' (a task per column)")
    if tasks is not None and wide is None:
        raise SalstatsError("tasks= belongs to wide='task'")
    tasks = [tasks] if isinstance(tasks, str) else tasks
    methods, metrics = _per_file(method, files, "method"), _per_file(metric, files, "metric")
    parts, origins = [], []
    for file, its_method, its_metric in zip(files, methods, metrics, strict=True):
        part, rows = _read_one(file, rename, columns, wide, tasks, its_method, its_metric, options)
        parts.append(part)
        origins.append(pd.DataFrame({"file": str(file), "row": rows}))
    scores = _below_each_other(parts, files) if len(parts) > 1 else parts[0]
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
        one, else as text. In a table with a column `case` a column `score` is what it is in a scores
        frame: float64, finite or missing.

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
    options = TableOptions(sep, decimal, encoding, na, sheet)
    (file,) = _files(path)
    raw, first_row = _renamed(read_table(file, options), rename, file)
    data = _typed(raw, file, options, first_row)
    _check_filled(data, file, np.arange(len(data)) + first_row)
    return data if join is None else _joined(data, join, options)


def _files(path: PathLike | Sequence[PathLike]) -> list[Path]:
    """Return paths as a list."""
    if isinstance(path, pd.DataFrame):
        raise SalstatsError("path must name a file; a DataFrame needs no reading")
    files = [Path(p) for p in ([path] if isinstance(path, str | os.PathLike) else path)]
    if not files:
        raise InputFileError("no file to read")
    return files


def _joined(data: pd.DataFrame, join: PathLike | pd.DataFrame, options: TableOptions) -> pd.DataFrame:
    """Return data with the covariates of a frame or file."""
    if isinstance(join, pd.DataFrame):
        return join_features(data, join)
    file = Path(join)
    raw = read_table(file, options)
    first_row = raw.attrs["first_row"]
    features = _typed(raw, file, options, first_row)
    # rows are called by their number in the file
    features.index = pd.RangeIndex(first_row, first_row + len(features))
    return join_features(data, features, name=str(join))


def _renamed(raw: pd.DataFrame, rename: Mapping[str, str] | None, file: Path) -> tuple[pd.DataFrame, int]:
    """Return a table with columns renamed, none of them twice, and its first row's number."""
    check_mapping(rename, raw, file, "rename")
    first_row = int(raw.attrs["first_row"])
    for old, new in (rename or {}).items():
        if not isinstance(new, str) or not new.strip():
            raise SalstatsError(f"rename={{{old!r}: {new!r}}} gives no name")
    raw = raw.rename(columns=dict(rename or {}))
    raw.attrs = {}
    twice = raw.columns[raw.columns.duplicated()]
    if len(twice):
        raise ColumnError(f"{file}: after rename, column {twice[0]!r} is there twice")
    return raw, first_row


def _below_each_other(parts: list[pd.DataFrame], files: list[Path]) -> pd.DataFrame:
    """Return the scores of several files as one frame, or raise where they do not go together."""
    first = parts[0]
    for part, file in zip(parts[1:], files[1:], strict=True):
        for name in ("task", *_ALL_OR_NONE):
            if (name in first.columns) != (name in part.columns):
                owner, other = (files[0], file) if name in first.columns else (file, files[0])
                raise ColumnError(
                    f"{other} has no column {name!r}, but {owner} has; give it to both, or read them apart"
                )
    for name in dict.fromkeys(c for part in parts for c in part.columns if c not in IDENTIFIER_COLUMNS):
        has = [name in part.columns for part in parts]
        if not all(has):
            warnings.warn(
                f"column {name!r} is in {files[has.index(True)]} but not in {files[has.index(False)]}; "
                "it is empty for the scores of the latter",
                SalstatsWarning,
                stacklevel=3,
            )
        texts = [isinstance(p[name].dtype, pd.StringDtype) for p in parts if name in p.columns]
        if any(texts) and not all(texts):
            with_it = [f for part, f in zip(parts, files, strict=True) if name in part.columns]
            warnings.warn(
                f"column {name!r} holds text in {with_it[texts.index(True)]} and numbers in "
                f"{with_it[texts.index(False)]}; it is read as text",
                SalstatsWarning,
                stacklevel=3,
            )
            parts = [p.assign(**{name: covariate_text(p[name])}) if name in p.columns else p for p in parts]
    return pd.concat(parts, ignore_index=True)


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
    raw, first_row = _renamed(read_table(file, options), rename, file)
    rows = np.arange(len(raw)) + first_row
    if columns:
        check_mapping(columns, raw, file, "columns")
        frame, times = _stack_metrics(raw, columns, file, options, first_row), len(columns)
    elif wide:
        frame, times = _stack_tasks(raw, tasks, file, options, first_row)
    else:
        frame, times = _long(raw, file, options, first_row), 1
    for name, value in (("method", method), ("metric", metric)):
        if value is None:
            continue
        if columns:
            raise SalstatsError(f"columns= gives each column its {name}; leave {name}= out")
        if name in frame.columns:
            raise ColumnError(
                f"{file} has a column {name!r} already; leave {name}={value!r} out or rename it"
            )
        if not value.strip():
            raise SalstatsError(f"{name}= is empty")
        frame[name] = pd.Series(value, index=frame.index, dtype="str")
    _check_complete(frame, file, np.tile(rows, times))
    lead = [c for c in ("case", "task", "method", "metric", "score") if c in frame.columns]
    return frame[[*lead, *(c for c in frame.columns if c not in lead)]], np.tile(rows, times)


def _long(raw: pd.DataFrame, file: Path, options: TableOptions, first_row: int) -> pd.DataFrame:
    """Return a long file typed."""
    if "score" not in raw.columns:
        raise ColumnError(
            f"{file} has no column 'score' (columns: {quoted(raw.columns)}); rename= one to it; for a wide "
            "file give columns={'column': ('method', 'metric')} (--score column=method:metric) or wide='task'"
        )
    return _typed(raw, file, options, first_row)


def _stack_metrics(
    raw: pd.DataFrame,
    columns: Mapping[str, tuple[str, str]],
    file: Path,
    options: TableOptions,
    first_row: int,
) -> pd.DataFrame:
    """Return a file with a metric per column as one row per score."""
    taken: dict[tuple[str, str], str] = {}
    for name, target in columns.items():
        if not (isinstance(target, tuple | list) and len(target) == 2 and all(target)):
            raise SalstatsError(f"columns={{{name!r}: ...}} must give (method, metric), not {target!r}")
        other = taken.setdefault((target[0], target[1]), name)
        if other != name:
            raise SalstatsError(
                f"columns= gives {other!r} and {name!r} the same method and metric {tuple(target)!r}"
            )
    kept = _typed(raw.drop(columns=list(columns)), file, options, first_row)
    clash = [c for c in ("method", "metric", "score") if c in kept.columns]
    if clash:
        raise ColumnError(f"{file} has a column {clash[0]!r} beside columns=; rename it")
    parts = []
    for name, (its_method, its_metric) in columns.items():
        part = kept.copy()
        part["method"] = pd.Series(its_method, index=part.index, dtype="str")
        part["metric"] = pd.Series(its_metric, index=part.index, dtype="str")
        part["score"] = score_column(raw[name], file, options, first_row)
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _stack_tasks(
    raw: pd.DataFrame, tasks: Sequence[str] | None, file: Path, options: TableOptions, first_row: int
) -> tuple[pd.DataFrame, int]:
    """Return a file with a task per column as one row per score, and the number of tasks."""
    if "task" in raw.columns:
        raise ColumnError(f"{file} has a column 'task', so it is not wide by task; leave wide='task' out")
    if tasks is None:
        tasks = [c for c in raw.columns if c not in IDENTIFIER_COLUMNS]
    check_mapping(dict.fromkeys(tasks), raw, file, "tasks")
    if not len(tasks):
        raise ColumnError(f"{file} has no task columns (columns: {quoted(raw.columns)})")
    twice = [task for i, task in enumerate(tasks) if task in tasks[:i]]
    if twice:
        raise SalstatsError(f"tasks= names {twice[0]!r} twice")
    kept = _typed(raw.drop(columns=list(tasks)), file, options, first_row)
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


def _typed(raw: pd.DataFrame, file: Path, options: TableOptions, first_row: int) -> pd.DataFrame:
    """Return identifiers as text as they stand, scores as finite numbers, other columns as covariates."""
    typed = {}
    for name in raw.columns:
        if name in IDENTIFIER_COLUMNS:
            text = identifier_text(raw[name], file, first_row)
            # an empty reader or seed is one that does not apply; the other keys are checked later
            typed[name] = text if name in _REQUIRED_TEXT else text.where(text.ne(""))
        elif name == "score" and "case" in raw.columns:
            typed[name] = score_column(raw[name], file, options, first_row)
        else:
            typed[name] = covariate(raw[name], file, options, first_row)
    return pd.DataFrame(typed, index=raw.index)


def _check_complete(frame: pd.DataFrame, file: Path, rows: np.ndarray) -> None:
    """Raise when a column of the key is missing or one of its cells is empty."""
    for name in SCORES_COLUMNS:
        if name not in frame.columns:
            if name in ("method", "metric"):
                hint = f"; say what the file is about with {name}='...'"
            else:
                hint = f"; rename={{'...': {name!r}}} says which column it is"
            raise ColumnError(f"{file} has no column {name!r} (columns: {quoted(frame.columns)}){hint}")
    _check_filled(frame, file, rows)


def _check_filled(frame: pd.DataFrame, file: Path, rows: np.ndarray) -> None:
    """Raise when a cell is empty of a column in which none may be."""
    for name in (*_REQUIRED_TEXT, *_ALL_OR_NONE):
        if name not in frame.columns:
            continue
        empty = (frame[name].isna() if name in _ALL_OR_NONE else frame[name].eq("")).to_numpy()
        if empty.any() and not (name in _ALL_OR_NONE and empty.all()):
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
