"""Layouts of files of scores: long, a score per column, a task per column."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.errors import ColumnError, Message, SalstatsError, Setting, warn
from salstats.frames import IDENTIFIER_COLUMNS, SCORES_COLUMNS
from salstats.readers.cells import covariate_as_text
from salstats.readers.tables import REQUIRED_IDENTIFIERS, FileTable

#: Option `columns`: column of scores -> (method, metric[, reader]), or its method.
ColumnsOption = Mapping[str, tuple[str | None, ...]] | Mapping[str, str]
#: Identifiers that either all rows have or none.
ALL_OR_NONE_IDENTIFIERS = ("patient", "dataset")
#: Columns with notes on scores, which only some metrics have; they are not covariates.
_NOTE_COLUMNS = ("curve_options", "caution", "reason")


class ScoreNames(NamedTuple):
    """Method, metric and reader of the scores in a column; None for those that other columns give."""

    method: str | None
    metric: str | None = None
    reader: str | None = None


@dataclass(frozen=True)
class ScoreLayout:
    """Meaning of a file's columns; `read_scores` documents each option."""

    rename: Mapping[str, str]
    names_by_column: Mapping[str, ScoreNames]
    #: Whether the file has a column of scores for each task.
    is_wide_by_task: bool
    tasks: Sequence[str] | None
    case_columns: Sequence[str]
    patient_pattern: re.Pattern[str] | None


def checked_layout(
    rename: Mapping[str, str] | None,
    case: str | Sequence[str] | None,
    patient_from: str | None,
    columns: ColumnsOption | None = None,
    wide: str | None = None,
    tasks: str | Sequence[str] | None = None,
) -> ScoreLayout:
    """Return the options about a file's columns as a layout; raise where they contradict each other."""
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
    for name, new_name in (rename or {}).items():
        if not isinstance(new_name, str) or not new_name.strip():
            raise SalstatsError(Setting("rename", {name: new_name}), " must give a name")
    case_columns = [case] if isinstance(case, str) else list(case or ())
    has_repeats = len(set(case_columns)) < len(case_columns)
    if case is not None and (not case_columns or not all(case_columns) or has_repeats):
        raise SalstatsError(
            Setting("case", case), " must name the columns that together name a case, each once"
        )
    return ScoreLayout(
        rename=dict(rename or {}),
        names_by_column=_method_metric_reader_by_column(columns or {}),
        is_wide_by_task=wide is not None,
        tasks=[tasks] if isinstance(tasks, str) else tasks,
        case_columns=case_columns,
        patient_pattern=compiled_patient_pattern(patient_from),
    )


def _method_metric_reader_by_column(columns: ColumnsOption) -> dict[str, ScoreNames]:
    """Return method, metric and reader of each column of scores, None for those that are not given.

    Raise where a column's entry has none of the forms of `ColumnsOption`, where two columns have the same
    entry, or where only some columns have a method, or only some a metric.
    """
    names_by_column: dict[str, ScoreNames] = {}
    for column, option in columns.items():
        if not _is_method_or_tuple_with_metric(option):
            raise SalstatsError(
                Setting("columns"),
                f" gives column {column!r} {option!r}, not (method, metric), (method, metric, reader), or a "
                "method",
                column=str(column),
            )
        names = ScoreNames(option) if isinstance(option, str) else ScoreNames(*option)
        for earlier_column, earlier_names in names_by_column.items():
            if earlier_names == names:
                hint = Message()
                if names.reader:
                    hint = Message("give one of them another reader")
                elif names.metric:
                    example = Setting("columns", {column: (names.method, names.metric, "A")})
                    hint = Message("readers are told apart by a third part, ", example)
                raise SalstatsError(
                    Setting("columns"),
                    f" gives {earlier_column!r} and {column!r} the same, {option!r}",
                    hint=hint,
                    column=column,
                )
        names_by_column[column] = names
    # some columns may lack a reader, as saliency methods have none
    missing_names = {(names.method is None, names.metric is None) for names in names_by_column.values()}
    if len(missing_names) > 1:
        raise SalstatsError(
            Setting("columns"),
            " gives a method or a metric to some columns only",
            hint="give each column a method, each a metric, or each both",
        )
    return names_by_column


def _is_method_or_tuple_with_metric(option: Any) -> bool:
    """Return whether an option is a method, (method, metric) or (method, metric, reader)."""
    if isinstance(option, str):
        return bool(option.strip())
    if not isinstance(option, tuple | list) or len(option) not in (2, 3):
        return False
    names = [name for name in option if name is not None]
    return bool(names) and all(isinstance(name, str) and name.strip() for name in names)


def compiled_patient_pattern(pattern: str | None) -> re.Pattern[str] | None:
    """Compile the regular expression of `patient_from`; raise unless it has one group. None for None."""
    if pattern is None:
        return None
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError, OverflowError, RecursionError) as error:
        raise SalstatsError(
            Setting("patient_from", pattern), f" is not a regular expression ({error})"
        ) from error
    if not isinstance(compiled.pattern, str):
        raise SalstatsError(Setting("patient_from", pattern), " is bytes, which match no text")
    if compiled.groups != 1:
        raise SalstatsError(
            Setting("patient_from", pattern),
            f" has {compiled.groups or 'no'} groups",
            hint="it needs one, in parentheses, around the patient, as in "
            r"'(patient\d+)' ('(?:...)' is no group)",
        )
    return compiled


def renamed_with_case_and_patient(
    table: FileTable, layout: ScoreLayout, joined_columns: Collection[str] = ()
) -> FileTable:
    """Return a table with its columns renamed, and with the columns `case` and `patient` that a layout makes.

    `joined_columns` are columns of joined files, which `rename` may name although this file lacks them.
    """
    table = with_combined_case(table.renamed(layout.rename, joined_columns), layout.case_columns)
    if "case" not in table.columns and (layout.is_wide_by_task or layout.patient_pattern):
        raise missing_case_error(table, layout.tasks or ())
    return _with_new_patient_column(table, layout.patient_pattern)


def with_combined_case(table: FileTable, columns: Sequence[str]) -> FileTable:
    """Return a table with a column `case`, such as "1_2", inserted before the columns that it is made of."""
    if not columns:
        return table
    table.check_columns_named_by_option(columns, "case")
    if "case" in table.columns and "case" not in columns:
        raise ColumnError(
            f"{table.file} has a column 'case' already",
            hint=Message("leave ", Setting("case"), " out or rename that column"),
            option="case",
            column="case",
            path=table.file,
        )
    texts = pd.DataFrame({column: table.nonempty_texts(column) for column in columns}, dtype=TEXT)
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


def _with_new_patient_column(table: FileTable, pattern: re.Pattern[str] | None) -> FileTable:
    """Return a table with a column `patient` after `case`, found in the case ids by a pattern, if any."""
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
    patients = patients_of_cases(table.nonempty_texts("case"), pattern, table.file)
    cells = table.cells.copy(deep=False)
    cells.insert(table.columns.index("case") + 1, "patient", pd.Series(patients, cells.index, dtype=TEXT))
    return table.with_cells(cells)


def patients_of_cases(cases: Sequence[str], pattern: re.Pattern[str], source: object) -> list[str]:
    """Return the patient that a pattern finds in the name of each case; raise where it finds none."""
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
    """Make the error of a table without `case`; its hint proposes the first column of text."""
    guess = table.first_text_column(excluded={*IDENTIFIER_COLUMNS, *tasks}) or "..."
    joined_note = " (it reaches joined files too)" if joined else ""
    return ColumnError(
        f"{table.file} has no column 'case' (columns: {quoted(table.columns)})",
        hint=Message(Setting("rename", {guess: "case"}), f" says which column it is{joined_note}"),
        option="rename",
        column="case",
        choices=table.columns,
        path=table.file,
    )


class FileScores(NamedTuple):
    """Scores of a file in the columns of a scores frame, and the file's row number of each."""

    scores: pd.DataFrame
    row_numbers: np.ndarray


def arrange_scores(
    table: FileTable,
    layout: ScoreLayout,
    method: str | None,
    metric: str | None,
    joined_columns: Collection[str] = (),
) -> FileScores:
    """Return a file's scores in the columns of a scores frame; identifiers are Arrow dictionaries.

    `method` and `metric` are those of the whole file, where its columns have none.
    """
    table = renamed_with_case_and_patient(table, layout, joined_columns)
    score_columns = _names_by_score_column(table, layout)
    remaining_cells = table.cells.drop(columns=list(score_columns))
    _warn_of_covariates_with_method_in_name(table, score_columns, remaining_cells)
    identifiers = table.with_cells(remaining_cells).typed_frame(layout.case_columns, coded=True)
    frames = [identifiers]
    if score_columns:
        hint = Message()
        if layout.is_wide_by_task:
            hint = Message("if this column is not a task, name the tasks with ", Setting("tasks"))
        frames = [
            identifiers.assign(**_constant_columns(identifiers, names), score=table.scores(column, hint))
            for column, names in score_columns.items()
        ]
    frame = frames[0]
    if len(frames) > 1:
        frame = pd.concat(frames, ignore_index=True)
    # method and metric of the whole file
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
                f" already gives the {name}",
                hint=Message("leave ", Setting(name, value), " out"),
                option=name,
                column=name,
                path=table.file,
            )
        if not value.strip():
            raise ColumnError(
                Setting(name), " is empty", hint=f"name the {name} of {table.file}", value=value
            )
        frame = frame.assign(**_constant_columns(frame, {name: value}))
    row_numbers = np.tile(table.row_numbers, len(frames))
    _check_required_columns_and_cells(frame, table, row_numbers)
    score_frame_columns = ("case", "task", "method", "metric", "score")
    leading = [column for column in score_frame_columns if column in frame.columns]
    trailing = [column for column in frame.columns if column not in leading]
    return FileScores(frame[[*leading, *trailing]], row_numbers)


def _warn_of_covariates_with_method_in_name(
    table: FileTable, score_columns: Mapping[str, Mapping[str, str | None]], covariates: pd.DataFrame
) -> None:
    """Warn of covariates of a wide file whose names contain one of its methods, as columns of scores do.

    The columns of a second metric are easily forgotten, and the first metric would be regressed on them.
    """
    methods = {(names.get("method") or "").casefold() for names in score_columns.values()} - {""}
    named = []
    for column in covariates.columns:
        words = re.split(r"[\s_.:/-]+", column.casefold())
        if len(words) > 1 and methods.intersection(words):
            named.append(column)
    if named:
        warn(
            f"{table.file}: columns that name a method are read as covariates: {quoted(named)}",
            hint=Message("name them with ", Setting("columns"), ", too, if they are scores"),
            option="columns",
            column=named[0],
            value=named,
            path=table.file,
        )


def _constant_columns(frame: pd.DataFrame, names: Mapping[str, str | None]) -> dict[str, pd.Series]:
    """Return for each entry of `names` (column -> text) a column with that text in every row."""
    return {name: pd.Series(value, index=frame.index, dtype=TEXT) for name, value in names.items()}


def _names_by_score_column(table: FileTable, layout: ScoreLayout) -> dict[str, dict[str, str | None]]:  # noqa: C901
    """Return the columns of scores of a wide file, each with its task, or its method, metric and reader.

    A long file, with a column `score`, gives an empty dict.
    """
    # one branch for each layout: a column for each task, for each method and metric, or one column of scores
    file = table.file
    score_columns: dict[str, dict[str, str | None]] = {}
    if layout.is_wide_by_task:
        names = layout.tasks
        if names is None:
            names = [c for c in table.columns if c not in (*IDENTIFIER_COLUMNS, *layout.case_columns)]
        table.check_columns_named_by_option(names, "tasks")
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
    elif layout.names_by_column:
        table.check_columns_named_by_option(layout.names_by_column, "columns")
        score_columns = _identifiers_by_score_column(layout.names_by_column)
        first_column, first_names = next(iter(layout.names_by_column.items()))
        setting = Setting("columns")
        metric_only = Setting("columns", {first_column: (None, first_names.metric or first_column)})
        method_only = Setting("columns", {first_column: first_names.method or "gradcam"})
        remedies = {
            "method": Message("give metrics only, ", metric_only),
            "metric": Message("give each column its method only, ", method_only),
        }
    elif "score" in table.columns:
        return {}
    else:
        example: object = ("method", "metric")
        if "metric" in table.columns:
            example = "method"
        elif "method" in table.columns:
            example = (None, "metric")
        raise ColumnError(
            f"{file} has no column 'score' (columns: {quoted(table.columns)})",
            hint=Message(
                Setting("rename"),
                " one to it; for a wide file give ",
                Setting("columns", {"column": example}),
                " or ",
                Setting("wide", "task"),
            ),
            option="columns",
            column="score",
            choices=table.columns,
            path=file,
        )
    # columns that the layout adds to the scores frame, so that the file must not have them
    for name in ("task", *ScoreNames._fields, "score"):
        is_from_layout = name == "score" or any(name in names for names in score_columns.values())
        if is_from_layout and name in table.columns and name not in score_columns:
            hint = Message("rename it")
            if name in remedies:
                hint = Message(remedies[name], ", or rename it")
            raise ColumnError(
                f"{file} has a column {name!r} beside ", setting, hint=hint, column=name, path=file
            )
    return score_columns


def _identifiers_by_score_column(
    names_by_column: Mapping[str, ScoreNames],
) -> dict[str, dict[str, str | None]]:
    """Return {"method": ..., "metric": ..., "reader": ...} of each column, without keys that none has."""
    fields = [
        field
        for field in ScoreNames._fields
        if any(getattr(names, field) is not None for names in names_by_column.values())
    ]
    return {
        column: {field: getattr(names, field) for field in fields}
        for column, names in names_by_column.items()
    }


def _check_required_columns_and_cells(frame: pd.DataFrame, table: FileTable, row_numbers: np.ndarray) -> None:
    """Raise where a column that a scores frame needs is missing, or one of its cells is empty."""
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
            hint = Message(f"name the {name} of the file with ", setting)
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
    check_required_identifiers_are_filled(frame, table, row_numbers)


def check_required_identifiers_are_filled(
    frame: pd.DataFrame, table: FileTable, row_numbers: np.ndarray
) -> None:
    """Raise where a case, method, metric or task is empty, or some but not all patients or data sets are."""
    for name in (*REQUIRED_IDENTIFIERS, *ALL_OR_NONE_IDENTIFIERS):
        if name not in frame.columns:
            continue
        empty = frame[name].isna().to_numpy()
        if empty.any() and not (name in ALL_OR_NONE_IDENTIFIERS and empty.all()):
            position = int(np.flatnonzero(empty)[0])
            raise ColumnError(
                f"{table.file}, row {row_numbers[position]}, column {name!r}: empty",
                hint="every row needs one",
                column=name,
                rows=[position],
                path=table.file,
            )


def stack_scores(frames: Sequence[pd.DataFrame], files: Sequence[object]) -> pd.DataFrame:
    """Return the scores of several files as one frame.

    Raise where a column `task`, `patient` or `dataset` is not in all of them. Warn where a covariate is not,
    and where a column holds text in one file and numbers in another, and so becomes text.
    """
    frames = list(frames)
    for name in dict.fromkeys(column for frame in frames for column in frame.columns):
        # positions in `frames` and `files` of those with the column, and of those without it
        positions = [position for position, frame in enumerate(frames) if name in frame.columns]
        positions_without = [position for position in range(len(frames)) if position not in positions]
        if positions_without:
            file_with = files[positions[0]]
            file_without = files[positions_without[0]]
            if name in ("task", *ALL_OR_NONE_IDENTIFIERS):
                raise ColumnError(
                    f"{file_without} has no column {name!r}, but {file_with} has",
                    hint="give it to both, or read them apart",
                    column=name,
                    path=str(file_without),
                )
            if name not in (*IDENTIFIER_COLUMNS, *_NOTE_COLUMNS):
                warn(
                    f"column {name!r} is in {file_with} but not in {file_without}, and is empty for the "
                    "scores of the latter",
                    column=name,
                    path=str(file_without),
                )
        text_positions = [p for p in positions if isinstance(frames[p][name].dtype, pd.StringDtype)]
        number_positions = [p for p in positions if p not in text_positions]
        if text_positions and number_positions:
            warn(
                f"column {name!r} holds text in {files[text_positions[0]]} and numbers in "
                f"{files[number_positions[0]]}",
                hint="it is read as text",
                value=[str(files[text_positions[0]]), str(files[number_positions[0]])],
                column=name,
            )
            for position in positions:
                text = covariate_as_text(frames[position][name])
                frames[position] = frames[position].assign(**{name: text})
    return pd.concat(frames, ignore_index=True)
