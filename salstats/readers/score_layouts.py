"""Layouts of files of scores: long, a score per column, a task per column."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import quoted
from salstats.coded_text import is_coded
from salstats.errors import ColumnError, SalstatsError, warn
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
        raise SalstatsError("give columns= (a score per column) or wide= (a task per column), not both")
    if wide not in (None, "task"):
        raise SalstatsError(f"wide={wide!r} is not known; only 'task' (a task per column)")
    if tasks is not None and wide is None:
        raise SalstatsError("tasks= belongs to wide='task'")
    for old, new in (rename or {}).items():
        if not isinstance(new, str) or not new.strip():
            raise SalstatsError(f"rename={{{old!r}: {new!r}}} gives no name")
    case_columns = [case] if isinstance(case, str) else list(case or ())
    has_repeats = len(set(case_columns)) < len(case_columns)
    if case is not None and (not case_columns or not all(case_columns) or has_repeats):
        raise SalstatsError(f"case={case!r} must name the columns that together name a case, each once")
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
                f"columns={{{name!r}: ...}} must be (method, metric), (method, metric, reader), or a method, "
                f"not {option!r}"
            )
        names = (option, None) if isinstance(option, str) else tuple(option)
        target = (*names, None)[:3]
        for other, other_target in targets.items():
            if other_target == target:
                method, metric, _ = target
                hint = ""
                if metric:
                    hint = f"; readers are told apart by a third part ({method or ''}:{metric}:A)"
                raise SalstatsError(f"columns= gives {other!r} and {name!r} the same, {option!r}{hint}")
        targets[name] = target
    # the reader may be given for some columns only, as a tool has none
    given = {(method is None, metric is None) for method, metric, _ in targets.values()}
    if len(given) > 1:
        raise SalstatsError(
            "columns= gives some columns a method or a metric only and others (method, metric); give all of "
            "them the same"
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
    """Compile the regular expression of `patient_from=`, which must have one group."""
    if pattern is None:
        return None
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise SalstatsError(f"patient_from={pattern!r} is no regular expression ({error})") from error
    if compiled.groups != 1:
        raise SalstatsError(
            f"patient_from={pattern!r} has {compiled.groups or 'no'} groups; it needs one, in parentheses, "
            r"around the patient, as in '(patient\d+)' ('(?:...)' is no group)"
        )
    return compiled


def apply_names(table: FileTable, layout: ScoreLayout, elsewhere: Collection[str] = ()) -> FileTable:
    """Return a table under the names that a layout gives, with its columns `case` and `patient`.

    `elsewhere` are columns that `rename=` may name although this file lacks them.
    """
    table = combine_case(table.renamed(layout.rename, elsewhere), layout.case)
    if "case" not in table.columns and (layout.wide or layout.patient_from):
        raise missing_case_error(table, layout.tasks or ())
    return _with_patient(table, layout.patient_from)


def combine_case(table: FileTable, columns: Sequence[str]) -> FileTable:
    """Return a table with a column `case`, such as "1_2", before the columns that make it."""
    if not columns:
        return table
    table.check_named(columns, "case")
    if "case" in table.columns and "case" not in columns:
        raise ColumnError(f"{table.file} has a column 'case' already; leave case= out or rename that column")
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
            f"of columns {quoted(columns)}; rename the values that hold '_'"
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
            f"{table.file} has a column 'patient' already; leave patient_from={pattern.pattern!r} out or "
            "rename that column"
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
                f"{source}: patient_from={pattern.pattern!r} finds no patient in case {case!r}; give a "
                "pattern that fits every case, or leave it out (patient_from=None)"
            )
        patients.append(match[1])
    return patients


def missing_case_error(table: FileTable, tasks: Sequence[str] = (), *, joined: bool = False) -> ColumnError:
    """Return the error of a table without `case`, which proposes the first column of text."""
    guess = table.first_text_column(leave={*IDENTIFIER_COLUMNS, *tasks}) or "..."
    reaches = " (it reaches joined files too)" if joined else ""
    return ColumnError(
        f"{table.file} has no column 'case' (columns: {quoted(table.columns)}); "
        f"rename={{{guess!r}: 'case'}} says which column it is{reaches}"
    )


def arrange_scores(
    table: FileTable,
    layout: ScoreLayout,
    method: str | None,
    metric: str | None,
    elsewhere: Collection[str] = (),
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a file's scores, whatever its layout, with coded identifiers, and the row number of each."""
    table = apply_names(table, layout, elsewhere)
    score_columns = _score_columns(table, layout)
    other_columns = table.cells.drop(columns=list(score_columns))
    identifiers = table.with_cells(other_columns).typed(layout.case, coded=True)
    frames = [identifiers]
    if score_columns:
        hint = "; if this column is no task, name the tasks with tasks=" if layout.wide else ""
        frames = [
            identifiers.assign(**_constants(identifiers, names), score=table.scores(column, hint))
            for column, names in score_columns.items()
        ]
    frame = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    for name, value in (("method", method), ("metric", metric)):
        if value is None:
            continue
        if name in frame.columns:
            is_of_option = any(name in names for names in score_columns.values())
            source = "columns=" if is_of_option else f"column {name!r}"
            raise ColumnError(f"{table.file}: {source} says the {name} already; leave {name}={value!r} out")
        if not value.strip():
            raise ColumnError(f"{name}= is empty; name the {name} of {table.file}")
        frame = frame.assign(**_constants(frame, {name: value}))
    row_numbers = np.tile(table.rows, len(frames))
    _check_complete(frame, table, row_numbers)
    leading = [c for c in ("case", "task", "method", "metric", "score") if c in frame.columns]
    trailing = [c for c in frame.columns if c not in leading]
    return frame[[*leading, *trailing]], row_numbers


def _constants(frame: pd.DataFrame, names: Mapping[str, str]) -> dict[str, pd.Series]:
    """Return columns that have the same name in every row."""
    return {name: pd.Series(value, index=frame.index, dtype="str") for name, value in names.items()}


def _score_columns(table: FileTable, layout: ScoreLayout) -> dict[str, dict[str, str]]:
    """Return the columns of scores of a wide file, each with its task, method, metric or reader.

    A long file has none.
    """
    file = table.file
    if layout.wide:
        names = layout.tasks
        if names is None:
            names = [c for c in table.columns if c not in (*IDENTIFIER_COLUMNS, *layout.case)]
        table.check_named(names, "tasks")
        if not names or len(set(names)) < len(names):
            raise ColumnError(
                f"{file}: tasks must name columns, each once, not {quoted(names) or 'none'} (columns: "
                f"{quoted(table.columns)})"
            )
        score_columns = {task: {"task": task} for task in names}
        option = "wide='task'"
        hints = {"task": "leave wide= out, or "}
    elif layout.columns:
        table.check_named(layout.columns, "columns")
        targets = pd.DataFrame(layout.columns, _OF_TARGET, dtype="object").dropna(how="all")
        score_columns = {name: targets[name].to_dict() for name in targets}
        name, (method, metric, _) = next(iter(layout.columns.items()))
        option = "columns="
        hints = {
            "method": f"give metrics only, columns={{{name!r}: (None, {metric or name!r})}} "
            f"(--score {name}=:{metric or name}), or ",
            "metric": f"give each column its method only, columns={{{name!r}: {method or 'gradcam'!r}}} "
            f"(--score {name}={method or 'gradcam'}), or ",
        }
    elif "score" in table.columns:
        return {}
    else:
        way = "('method', 'metric')} (--score column=method:metric)"
        if "metric" in table.columns:
            way = "'method'} (--score column=method)"
        elif "method" in table.columns:
            way = "(None, 'metric')} (--score column=:metric)"
        raise ColumnError(
            f"{file} has no column 'score' (columns: {quoted(table.columns)}); rename= one to it; for "
            f"a wide file give columns={{'column': {way} or wide='task'"
        )
    for name in ("task", *_OF_TARGET, "score"):
        is_made = name == "score" or any(name in names for names in score_columns.values())
        if is_made and name in table.columns and name not in score_columns:
            raise ColumnError(f"{file} has a column {name!r} beside {option}; {hints.get(name, '')}rename it")
    return score_columns


def _check_complete(frame: pd.DataFrame, table: FileTable, rows: np.ndarray) -> None:
    """Raise when a column of the key is missing or one of its cells is empty."""
    for name in SCORES_COLUMNS:
        if name not in frame.columns:
            spelled = [c for c in frame.columns if str(c).strip().casefold() == name]
            if spelled:
                hint = f"; did you mean {spelled[0]!r}? rename={{{spelled[0]!r}: {name!r}}} says so"
            elif name == "case":
                raise missing_case_error(table)
            elif name in ("method", "metric"):
                hint = f"; say what the file is about with {name}='...'"
            else:
                hint = f"; rename={{'...': {name!r}}} says which column it is"
            raise ColumnError(f"{table.file} has no column {name!r} (columns: {quoted(frame.columns)}){hint}")
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
            row = rows[int(np.flatnonzero(empty)[0])]
            raise ColumnError(f"{table.file}, row {row}, column {name!r}: empty; every row needs one")


def stack_scores(frames: Sequence[pd.DataFrame], files: Sequence[object]) -> pd.DataFrame:
    """Return the scores of several files as one frame; ColumnError where they do not fit together."""
    frames = list(frames)
    for name in dict.fromkeys(column for frame in frames for column in frame.columns):
        having = [position for position, frame in enumerate(frames) if name in frame.columns]
        if len(having) < len(frames):
            lacking = next(position for position in range(len(frames)) if position not in having)
            if name in ("task", *ALL_OR_NONE):
                raise ColumnError(
                    f"{files[lacking]} has no column {name!r}, but {files[having[0]]} has; give it to both, "
                    "or read them apart"
                )
            if name not in IDENTIFIER_COLUMNS:
                warn(
                    f"column {name!r} is in {files[having[0]]} but not in {files[lacking]}, for whose scores "
                    "it is empty"
                )
        with_text = [p for p in having if isinstance(frames[p][name].dtype, pd.StringDtype)]
        with_numbers = [p for p in having if p not in with_text]
        if with_text and with_numbers:
            warn(
                f"column {name!r} holds text in {files[with_text[0]]} and numbers in "
                f"{files[with_numbers[0]]}; it is read as text"
            )
            for position in having:
                text = covariate_text(frames[position][name])
                frames[position] = frames[position].assign(**{name: text})
    return pd.concat(frames, ignore_index=True)
