"""Layouts of files of scores: long, a score per column, a task per column."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.coded_text import is_coded
from salstats.errors import ColumnError, Message, SalstatsError, Setting, warn
from salstats.frames import IDENTIFIER_COLUMNS, SCORES_COLUMNS
from salstats.readers.cells import covariate_text
from salstats.readers.tables import REQUIRED_TEXT, FileTable

#: Method, metric and reader of a column of scores; None for those that other columns give.
Targets = Mapping[str, tuple[str | None, ...]] | Mapping[str, str]
Target = tuple[str | None, ...]
_OF_TARGET = ("method", "metric", "reader")
#: Identifiers of a case's owner, which are given for every row or for none.
ALL_OR_NONE = ("patient", "dataset")


@dataclass(frozen=True)
class ScoreLayout:
    """Meaning of a file's columns; `read_scores` documents each option."""

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
) -> ScoreLayout:
    """Return the options that say what a file's columns are, checked as far as they can be without it."""
    if columns and wide:
        raise SalstatsError(
            "give ",
            Setting("columns"),
            " (a score per column) or ",
            Setting("wide"),
            " (a task per column), not both",
        )
    if wide not in (None, "task"):
        raise SalstatsError(
            Setting("wide", wide), " is not known", hint="only 'task' (a task per column)", choices=("task",)
        )
    if tasks is not None and wide is None:
        raise SalstatsError(Setting("tasks"), " belongs to ", Setting("wide", "task"))
    for old, new in (rename or {}).items():
        if not isinstance(new, str) or not new.strip():
            raise SalstatsError(Setting("rename", {old: new}), " gives no name")
    case_columns = [case] if isinstance(case, str) else list(case or ())
    has_repeats = len(set(case_columns)) < len(case_columns)
    if case is not None and (not case_columns or not all(case_columns) or has_repeats):
        raise SalstatsError(
            Setting("case", case), " must name the columns that together name a case, each once"
        )
    return ScoreLayout(
        rename=dict(rename or {}),
        columns=_check_targets(columns or {}),
        wide=wide is not None,
        tasks=[tasks] if isinstance(tasks, str) else tasks,
        case=case_columns,
        patient_from=check_pattern(patient_from),
    )


def _check_targets(columns: Targets) -> dict[str, Target]:
    """Return method, metric and reader of each column of scores, None for those that are not given."""
    targets: dict[str, Target] = {}
    for name, option in columns.items():
        if not _is_target(option):
            raise SalstatsError(
                Setting("columns"),
                f" gives column {name!r} {option!r}, not (method, metric), (method, metric, reader), or a "
                "method",
                column=str(name),
            )
        names = (option, None) if isinstance(option, str) else tuple(option)
        target = (*names, None)[:3]
        for earlier_name, earlier_target in targets.items():
            if earlier_target == target:
                method, metric, _ = target
                hint = Message()
                if metric:
                    example = Setting("columns", {name: (method, metric, "A")})
                    hint = Message("readers are told apart by a third part, ", example)
                raise SalstatsError(
                    Setting("columns"),
                    f" gives {earlier_name!r} and {name!r} the same, {option!r}",
                    hint=hint,
                    column=name,
                )
        targets[name] = target
    # the reader may be given for some columns only, as a tool has none
    target_forms = {(method is None, metric is None) for method, metric, _ in targets.values()}
    if len(target_forms) > 1:
        raise SalstatsError(
            Setting("columns"),
            " gives some columns a method or a metric only and others (method, metric)",
            hint="give all of them the same",
        )
    return targets


def _is_target(option: Any) -> bool:
    """Return whether an option is a method, (method, metric) or (method, metric, reader)."""
    if isinstance(option, str):
        return bool(option.strip())
    if not isinstance(option, tuple | list) or len(option) not in (2, 3):
        return False
    names = [name for name in option if name is not None]
    return bool(names) and all(isinstance(name, str) and name.strip() for name in names)


def check_pattern(pattern: str | None) -> re.Pattern[str] | None:
    """Compile the regular expression of `patient_from`, which must have one group."""
    if pattern is None:
        return None
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise SalstatsError(
            Setting("patient_from", pattern), f" is no regular expression ({error})"
        ) from error
    if compiled.groups != 1:
        raise SalstatsError(
            Setting("patient_from", pattern),
            f" has {compiled.groups or 'no'} groups",
            hint="it needs one, in parentheses, around the patient, as in "
            r"'(patient\d+)' ('(?:...)' is no group)",
        )
    return compiled


def apply_names(table: FileTable, layout: ScoreLayout, other_columns: Collection[str] = ()) -> FileTable:
    """Return a table under the names that a layout gives, with its columns `case` and `patient`.

    `other_columns` are columns of joined files, which `rename` may name although this file lacks them.
    """
    table = combine_case(table.renamed(layout.rename, other_columns), layout.case)
    if "case" not in table.columns and (layout.wide or layout.patient_from):
        raise missing_case_error(table, layout.tasks or ())
    return _with_patient(table, layout.patient_from)


def combine_case(table: FileTable, columns: Sequence[str]) -> FileTable:
    """Return a table with a column `case`, such as "1_2", before the columns that make it."""
    if not columns:
        return table
    table.check_named(columns, "case")
    if "case" in table.columns and "case" not in columns:
        raise ColumnError(
            f"{table.file} has a column 'case' already",
            hint=Message("leave ", Setting("case"), " out or rename that column"),
            option="case",
            column="case",
            path=table.file,
        )
    texts = pd.DataFrame({column: table.filled(column) for column in columns}, dtype="str")
    case = texts[columns[0]]
    for column in columns[1:]:
        case = case + "_" + texts[column]
    distinct = texts.drop_duplicates()
    names = case.loc[distinct.index]
    ambiguous = names[names.duplicated()]
    if len(ambiguous):
        name = ambiguous.iloc[0]
        first, second = distinct[names.eq(name)].iloc[:2].to_numpy().tolist()
        raise ColumnError(
            f"{table.file}: case {name!r} would stand for both {quoted(first)} and {quoted(second)} "
            f"of columns {quoted(columns)}",
            hint="rename the values that hold '_'",
            column="case",
            value=name,
            path=table.file,
        )
    combined = table.cells.drop(columns="case", errors="ignore")
    position = min(table.columns.index(column) for column in columns)
    combined.insert(position, "case", case)
    return table.with_cells(combined)


def _with_patient(table: FileTable, pattern: re.Pattern[str] | None) -> FileTable:
    """Return a table with a column `patient` after `case`, taken from the case id."""
    if pattern is None:
        return table
    if "patient" in table.columns:
        raise ColumnError(
            f"{table.file} has a column 'patient' already",
            hint=Message("leave ", Setting("patient_from", pattern.pattern), " out or rename that column"),
            option="patient_from",
            column="patient",
            path=table.file,
        )
    patients = find_patients(table.filled("case"), pattern, table.file)
    cells = table.cells.copy(deep=False)
    cells.insert(table.columns.index("case") + 1, "patient", pd.Series(patients, cells.index, dtype="str"))
    return table.with_cells(cells)


def find_patients(cases: Sequence[str], pattern: re.Pattern[str], source: object) -> list[str]:
    """Return the patient in the name of each case."""
    patients = []
    for case in cases:
        match = pattern.search(case)
        if match is None or not match[1]:
            raise ColumnError(
                f"{source}: ",
                Setting("patient_from", pattern.pattern),
                f" finds no patient in case {case!r}",
                hint="give a pattern that fits every case, or none",
                column="case",
            )
        patients.append(match[1])
    return patients


def missing_case_error(table: FileTable, tasks: Sequence[str] = (), *, joined: bool = False) -> ColumnError:
    """Make the error of a table without `case`, which proposes the first column of text."""
    guess = table.first_text_column(leave={*IDENTIFIER_COLUMNS, *tasks}) or "..."
    reaches = " (it reaches joined files too)" if joined else ""
    return ColumnError(
        f"{table.file} has no column 'case' (columns: {quoted(table.columns)})",
        hint=Message(Setting("rename", {guess: "case"}), f" says which column it is{reaches}"),
        option="rename",
        column="case",
        choices=table.columns,
        path=table.file,
    )


def arrange_scores(
    table: FileTable,
    layout: ScoreLayout,
    method: str | None,
    metric: str | None,
    other_columns: Collection[str] = (),
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a file's scores, whatever its layout, with coded identifiers, and the row number of each."""
    table = apply_names(table, layout, other_columns)
    score_columns = _score_columns(table, layout)
    remaining_cells = table.cells.drop(columns=list(score_columns))
    identifiers = table.with_cells(remaining_cells).typed(layout.case, coded=True)
    frames = [identifiers]
    if score_columns:
        hint = Message()
        if layout.wide:
            hint = Message("if this column is no task, name the tasks with ", Setting("tasks"))
        frames = [
            identifiers.assign(**_constants(identifiers, names), score=table.scores(column, hint))
            for column, names in score_columns.items()
        ]
    frame = frames[0]
    if len(frames) > 1:
        frame = pd.concat(frames, ignore_index=True)
    for name, value in (("method", method), ("metric", metric)):
        if value is None:
            continue
        if name in frame.columns:
            source: str | Setting = f"column {name!r}"
            if any(name in names for names in score_columns.values()):
                source = Setting("columns")
            raise ColumnError(
                f"{table.file}: ",
                source,
                f" says the {name} already",
                hint=Message("leave ", Setting(name, value), " out"),
                option=name,
                column=name,
                path=table.file,
            )
        if not value.strip():
            raise ColumnError(
                Setting(name), " is empty", hint=f"name the {name} of {table.file}", value=value
            )
        frame = frame.assign(**_constants(frame, {name: value}))
    row_numbers = np.tile(table.rows, len(frames))
    _check_complete(frame, table, row_numbers)
    leading = [c for c in ("case", "task", "method", "metric", "score") if c in frame.columns]
    trailing = [c for c in frame.columns if c not in leading]
    return frame[[*leading, *trailing]], row_numbers


def _constants(frame: pd.DataFrame, names: Mapping[str, str | None]) -> dict[str, pd.Series]:
    """Return columns that have the same name in every row."""
    return {name: pd.Series(value, index=frame.index, dtype="str") for name, value in names.items()}


def _score_columns(table: FileTable, layout: ScoreLayout) -> dict[str, dict[str, str | None]]:  # noqa: C901
    """Return the columns of scores of a wide file, each with its task, method, metric or reader.

    A long file has none.
    """
    # one branch for each form of a file: a column per task, per method and metric, or one of scores
    file = table.file
    score_columns: dict[str, dict[str, str | None]] = {}
    if layout.wide:
        names = layout.tasks
        if names is None:
            names = [c for c in table.columns if c not in (*IDENTIFIER_COLUMNS, *layout.case)]
        table.check_named(names, "tasks")
        if not names or len(set(names)) < len(names):
            raise ColumnError(
                f"{file}: ",
                Setting("tasks"),
                f" must name columns, each once, not {quoted(names) or 'none'} (columns: "
                f"{quoted(table.columns)})",
                value=names,
                choices=table.columns,
                path=file,
            )
        score_columns = {task: {"task": task} for task in names}
        setting = Setting("wide", "task")
        remedies = {"task": Message("leave ", Setting("wide"), " out")}
    elif layout.columns:
        table.check_named(layout.columns, "columns")
        score_columns = _named_targets(layout.columns)
        name, (method, metric, _) = next(iter(layout.columns.items()))
        setting = Setting("columns")
        metric_only = Setting("columns", {name: (None, metric or name)})
        method_only = Setting("columns", {name: method or "gradcam"})
        remedies = {
            "method": Message("give metrics only, ", metric_only),
            "metric": Message("give each column its method only, ", method_only),
        }
    elif "score" in table.columns:
        return {}
    else:
        target: object = ("method", "metric")
        if "metric" in table.columns:
            target = "method"
        elif "method" in table.columns:
            target = (None, "metric")
        raise ColumnError(
            f"{file} has no column 'score' (columns: {quoted(table.columns)})",
            hint=Message(
                Setting("rename"),
                " one to it; for a wide file give ",
                Setting("columns", {"column": target}),
                " or ",
                Setting("wide", "task"),
            ),
            option="columns",
            column="score",
            choices=table.columns,
            path=file,
        )
    for name in ("task", *_OF_TARGET, "score"):
        is_made = name == "score" or any(name in names for names in score_columns.values())
        if is_made and name in table.columns and name not in score_columns:
            hint = Message("rename it")
            if name in remedies:
                hint = Message(remedies[name], ", or rename it")
            raise ColumnError(
                f"{file} has a column {name!r} beside ", setting, hint=hint, column=name, path=file
            )
    return score_columns


def _named_targets(columns: Mapping[str, Target]) -> dict[str, dict[str, str | None]]:
    """Return method, metric and reader of each column by name, without those that no column has."""
    named = {column: dict(zip(_OF_TARGET, target, strict=True)) for column, target in columns.items()}
    for part in _OF_TARGET:
        if all(target[part] is None for target in named.values()):
            for target in named.values():
                del target[part]
    return named


def _check_complete(frame: pd.DataFrame, table: FileTable, rows: np.ndarray) -> None:
    """Raise when a column of the key is missing or one of its cells is empty."""
    for name in SCORES_COLUMNS:
        if name in frame.columns:
            continue
        similar = [c for c in frame.columns if str(c).strip().casefold() == name]
        if similar:
            setting = Setting("rename", {similar[0]: name})
            hint = Message(f"did you mean {similar[0]!r}? ", setting, " says so")
        elif name == "case":
            raise missing_case_error(table)
        elif name in ("method", "metric"):
            setting = Setting(name, "...")
            hint = Message("say what the file is about with ", setting)
        else:
            setting = Setting("rename", {"...": name})
            hint = Message(setting, " says which column it is")
        raise ColumnError(
            f"{table.file} has no column {name!r} (columns: {quoted(frame.columns)})",
            hint=hint,
            option=setting.option,
            column=name,
            choices=frame.columns,
            path=table.file,
        )
    check_filled(frame, table, rows)


def check_filled(frame: pd.DataFrame, table: FileTable, rows: np.ndarray) -> None:
    """Raise when a cell is empty of a column in which none may be."""
    for name in (*REQUIRED_TEXT, *ALL_OR_NONE):
        if name not in frame.columns:
            continue
        empty = frame[name].isna().to_numpy()
        # an empty cell of a coded column is missing
        if name not in ALL_OR_NONE and not is_coded(frame[name]):
            empty = empty | frame[name].eq("").to_numpy()
        if empty.any() and not (name in ALL_OR_NONE and empty.all()):
            position = int(np.flatnonzero(empty)[0])
            raise ColumnError(
                f"{table.file}, row {rows[position]}, column {name!r}: empty",
                hint="every row needs one",
                column=name,
                rows=[position],
                path=table.file,
            )


def stack_scores(frames: Sequence[pd.DataFrame], files: Sequence[object]) -> pd.DataFrame:
    """Return the scores of several files as one frame; ColumnError where they do not fit together."""
    frames = list(frames)
    for name in dict.fromkeys(column for frame in frames for column in frame.columns):
        with_column = [position for position, frame in enumerate(frames) if name in frame.columns]
        without_column = [position for position in range(len(frames)) if position not in with_column]
        if without_column:
            file_with = files[with_column[0]]
            file_without = files[without_column[0]]
            if name in ("task", *ALL_OR_NONE):
                raise ColumnError(
                    f"{file_without} has no column {name!r}, but {file_with} has",
                    hint="give it to both, or read them apart",
                    column=name,
                    path=str(file_without),
                )
            if name not in IDENTIFIER_COLUMNS:
                warn(
                    f"column {name!r} is in {file_with} but not in {file_without}, for whose scores it is "
                    "empty",
                    column=name,
                    path=str(file_without),
                )
        with_text = [p for p in with_column if isinstance(frames[p][name].dtype, pd.StringDtype)]
        with_numbers = [p for p in with_column if p not in with_text]
        if with_text and with_numbers:
            warn(
                f"column {name!r} holds text in {files[with_text[0]]} and numbers in "
                f"{files[with_numbers[0]]}",
                hint="it is read as text",
                column=name,
            )
            for position in with_column:
                text = covariate_text(frames[position][name])
                frames[position] = frames[position].assign(**{name: text})
    return pd.concat(frames, ignore_index=True)
