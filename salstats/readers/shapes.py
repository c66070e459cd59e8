"""The shapes that files of scores have: long, a score per column, a task per column."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from salstats.checks import ColumnError, SalstatsError, quoted, warn
from salstats.coded_text import is_coded
from salstats.frames import IDENTIFIER_COLUMNS, SCORES_COLUMNS
from salstats.readers.cells import covariate_text
from salstats.readers.tables import REQUIRED_TEXT, Table

#: What a column of scores is about: its method, metric and reader, but what other columns say.
Targets = Mapping[str, tuple[str | None, ...]] | Mapping[str, str]
Target = tuple[str | None, ...]
_OF_TARGET = ("method", "metric", "reader")
#: Identifiers that say whose a case is: given for every row, or for none.
ALL_OR_NONE = ("patient", "dataset")


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
    """The options that say what a file's columns are, checked as far as they can be without it."""
    if columns and wide:
        raise SalstatsError("give columns= (a score per column) or wide= (a task per column), not both")
    if wide not in (None, "task"):
        raise SalstatsError(f"wide={wide!r} is not known; only 'task' (a task per column)")
    if tasks is not None and wide is None:
        raise SalstatsError("tasks= belongs to wide='task'")
    for old, new in (rename or {}).items():
        if not isinstance(new, str) or not new.strip():
            raise SalstatsError(f"rename={{{old!r}: {new!r}}} gives no name")
    parts = [case] if isinstance(case, str) else list(case or ())
    if case is not None and (not all(parts) or not parts or len(set(parts)) < len(parts)):
        raise SalstatsError(f"case={case!r} must name the columns that together name a case, each once")
    return Layout(
        rename=dict(rename or {}),
        columns=_check_targets(columns or {}),
        wide=wide is not None,
        tasks=[tasks] if isinstance(tasks, str) else tasks,
        case=parts,
        patient_from=check_pattern(patient_from),
    )


def _check_targets(columns: Targets) -> dict[str, Target]:
    """Method, metric and reader of each column of scores; None for what is not given."""
    targets: dict[str, Target] = {}
    for name, given in columns.items():
        parts: Any = (given, None) if isinstance(given, str) else given
        named = isinstance(parts, tuple | list) and [p for p in parts if p is not None]
        if not named or len(parts) not in (2, 3) or not all(isinstance(p, str) and p.strip() for p in named):
            raise SalstatsError(
                f"columns={{{name!r}: ...}} must be (method, metric), (method, metric, reader), or a method, "
                f"not {given!r}"
            )
        target = (*parts, None)[:3]
        same = next((other for other in targets if targets[other] == target), None)
        if same is not None:
            part = ":".join(p or "" for p in parts[:2])
            hint = f"; readers are told apart by a third part ({part}:A)" if parts[1] else ""
            raise SalstatsError(f"columns= gives {same!r} and {name!r} the same, {given!r}{hint}")
        targets[name] = target
    # a tool has no reader
    if len({tuple(part is None for part in target[:2]) for target in targets.values()}) > 1:
        raise SalstatsError(
            "columns= gives some columns a method or a metric only and others (method, metric); give all of "
            "them the same"
        )
    return targets


def check_pattern(pattern: str | None) -> re.Pattern[str] | None:
    """The regular expression of `patient_from=`, which must have one group."""
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


def named(table: Table, layout: Layout, elsewhere: Collection[str] = ()) -> Table:
    """A table under the names that a layout gives, with its columns `case` and `patient`.

    `elsewhere` are columns that `rename=` may name although this file lacks them.
    """
    table = combine_case(table.renamed(layout.rename, elsewhere), layout.case)
    if "case" not in table.columns and (layout.wide or layout.patient_from):
        raise lacks_case(table, layout.tasks or ())
    return _with_patient(table, layout.patient_from)


def combine_case(table: Table, parts: Sequence[str]) -> Table:
    """A table with a column `case`, such as "1_2", before the columns that make it."""
    if not parts:
        return table
    table.check_named(parts, "case")
    if "case" in table.columns and "case" not in parts:
        raise ColumnError(f"{table.file} has a column 'case' already; leave case= out or rename that column")
    texts = pd.DataFrame({part: table.filled(part) for part in parts}, dtype="str")
    case = texts[parts[0]]
    for part in parts[1:]:
        case = case + "_" + texts[part]
    distinct = texts.drop_duplicates()
    names = case.loc[distinct.index]
    alike = names[names.duplicated()]
    if len(alike):
        first, second = distinct[names.eq(alike.iloc[0])].iloc[:2].to_numpy().tolist()
        raise ColumnError(
            f"{table.file}: case {alike.iloc[0]!r} would stand for both {quoted(first)} and {quoted(second)} "
            f"of columns {quoted(parts)}; rename the values that hold '_'"
        )
    combined = table.cells.drop(columns="case", errors="ignore")
    place = next(position for position, name in enumerate(table.columns) if name in parts)
    combined.insert(place, "case", case)
    return table.with_cells(combined)


def _with_patient(table: Table, pattern: re.Pattern[str] | None) -> Table:
    """A table with a column `patient` after `case`, taken from the case id."""
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
    """The patient in the name of each case."""
    found = [pattern.search(case) for case in cases]
    for case, match in zip(cases, found, strict=True):
        if match is None or not match[1]:
            raise ColumnError(
                f"{source}: patient_from={pattern.pattern!r} finds no patient in case {case!r}; give a "
                "pattern that fits every case, or leave it out (patient_from=None)"
            )
    return [match[1] for match in found if match is not None]


def lacks_case(table: Table, tasks: Sequence[str] = (), *, joined: bool = False) -> ColumnError:
    """The error of a table without `case`, with the column that may be it: the first of text."""
    guess = table.first_text_column(leave={*IDENTIFIER_COLUMNS, *tasks}) or "..."
    reaches = " (it reaches joined files too)" if joined else ""
    return ColumnError(
        f"{table.file} has no column 'case' (columns: {quoted(table.columns)}); "
        f"rename={{{guess!r}: 'case'}} says which column it is{reaches}"
    )


def shaped(
    table: Table,
    layout: Layout,
    method: str | None,
    metric: str | None,
    elsewhere: Collection[str] = (),
) -> tuple[pd.DataFrame, np.ndarray]:
    """A file's scores, whatever its shape, with coded identifiers, and the file's row number of each."""
    table = named(table, layout, elsewhere)
    about = _score_columns(table, layout)
    kept = table.with_cells(table.cells.drop(columns=list(about))).typed(layout.case, coded=True)
    parts = [kept]
    if about:
        hint = "; if this column is no task, name the tasks with tasks=" if layout.wide else ""
        parts = [
            kept.assign(**_constants(kept, names), score=table.scores(column, hint))
            for column, names in about.items()
        ]
    frame = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    for name, value in (("method", method), ("metric", metric)):
        if value is not None and name in frame.columns:
            said = "columns=" if name in next(iter(about.values()), {}) else f"column {name!r}"
            raise ColumnError(f"{table.file}: {said} says the {name} already; leave {name}={value!r} out")
        if value is not None and not value.strip():
            raise ColumnError(f"{name}= is empty; name the {name} of {table.file}")
        if value is not None:
            frame = frame.assign(**_constants(frame, {name: value}))
    rows = np.tile(table.rows, len(parts))
    _check_complete(frame, table, rows)
    lead = [c for c in ("case", "task", "method", "metric", "score") if c in frame.columns]
    return frame[[*lead, *(c for c in frame.columns if c not in lead)]], rows


def _constants(frame: pd.DataFrame, names: Mapping[str, str]) -> dict[str, pd.Series]:
    """Columns that say the same of every row."""
    return {name: pd.Series(value, index=frame.index, dtype="str") for name, value in names.items()}


def _score_columns(table: Table, layout: Layout) -> dict[str, dict[str, str]]:
    """The columns of scores of a wide file, each with what it is about; none of a long one."""
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
        about = {task: {"task": task} for task in names}
        option, hints = "wide='task'", {"task": "leave wide= out, or "}
    elif layout.columns:
        table.check_named(layout.columns, "columns")
        parts = pd.DataFrame(layout.columns, _OF_TARGET, dtype="object").dropna(how="all")
        about = {name: parts[name].to_dict() for name in parts}
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
    for clash in ("task", *_OF_TARGET, "score"):
        said = clash == "score" or any(clash in names for names in about.values())
        if said and clash in table.columns and clash not in about:
            raise ColumnError(
                f"{file} has a column {clash!r} beside {option}; {hints.get(clash, '')}rename it"
            )
    return about


def _check_complete(frame: pd.DataFrame, table: Table, rows: np.ndarray) -> None:
    """Raise when a column of the key is missing or one of its cells is empty."""
    for name in SCORES_COLUMNS:
        if name not in frame.columns:
            spelled = [c for c in frame.columns if str(c).strip().casefold() == name]
            if spelled:
                hint = f"; did you mean {spelled[0]!r}? rename={{{spelled[0]!r}: {name!r}}} says so"
            elif name == "case":
                raise lacks_case(table)
            elif name in ("method", "metric"):
                hint = f"; say what the file is about with {name}='...'"
            else:
                hint = f"; rename={{'...': {name!r}}} says which column it is"
            raise ColumnError(f"{table.file} has no column {name!r} (columns: {quoted(frame.columns)}){hint}")
    check_filled(frame, table, rows)


def check_filled(frame: pd.DataFrame, table: Table, rows: np.ndarray) -> None:
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


def below_each_other(parts: list[pd.DataFrame], files: Sequence[object]) -> pd.DataFrame:
    """The scores of several files as one frame; an error where they do not go together."""
    for name in dict.fromkeys(c for part in parts for c in part.columns):
        has = [name in part.columns for part in parts]
        if not all(has):
            owner, other = files[has.index(True)], files[has.index(False)]
            if name in ("task", *ALL_OR_NONE):
                raise ColumnError(
                    f"{other} has no column {name!r}, but {owner} has; give it to both, or read them apart"
                )
            if name not in IDENTIFIER_COLUMNS:
                warn(f"column {name!r} is in {owner} but not in {other}, for whose scores it is empty")
        texts = [isinstance(part[name].dtype, pd.StringDtype) for part in parts if name in part.columns]
        if any(texts) and not all(texts):
            with_it = [file for file, there in zip(files, has, strict=True) if there]
            warn(
                f"column {name!r} holds text in {with_it[texts.index(True)]} and numbers in "
                f"{with_it[texts.index(False)]}; it is read as text"
            )
            parts = [p.assign(**{name: covariate_text(p[name])}) if name in p.columns else p for p in parts]
    return pd.concat(parts, ignore_index=True)
