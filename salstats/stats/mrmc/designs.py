"""Scores of readers as an array of readings, which design it is, and what is refused."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd

from salstats.checks import (
    ColumnError,
    SalstatsError,
    check_columns,
    check_frame,
    check_numeric,
    quoted,
)
from salstats.frames import KEY_COLUMNS, ColumnCodes, case_key
from salstats.stats.engine.carried import is_absent
from salstats.stats.engine.shared_cases import lacks_many
from salstats.stats.engine.units import Units
from salstats.stats.mrmc.figures import Figure, Readings


@dataclass(frozen=True)
class Study:
    """The readings of one group of scores, and what they are called."""

    readings: Readings
    #: Names of methods and of readers, in the order of their columns.
    methods: list[str]
    readers: list[str]
    #: (n_methods,): Defined and undefined readings of each, the latter also of absent findings alone.
    n: np.ndarray
    n_missing: np.ndarray
    n_absent: np.ndarray
    #: Cases with a reading; fewer than rows of `readings` where tasks are taken together.
    n_cases: int
    #: "factorial", "readers nested in methods", ...
    design: str
    #: (n_methods,): Cases of each method; cases of all methods, and of any.
    n_read: np.ndarray
    n_shared: int
    n_any: int

    @property
    def different_cases(self) -> bool:
        """Whether some method lacks so many cases of the others that they are not compared on the same."""
        return bool(lacks_many(self.n_any - self.n_read, np.full(len(self.n_read), self.n_any)).any())


#: Designs in which every reader reads the same cases with each method.
PAIRED = ("factorial", "cases nested in readers")
#: Stands before the name of one where readings are missing.
UNBALANCED = "unbalanced "


def check_readers(scores: object) -> pd.DataFrame:
    """Scores, with ColumnError unless every row has its reader."""
    frame = check_frame(scores)
    if "reader" not in frame.columns:
        raise ColumnError(
            "scores has no column 'reader'; mrmc() is for several readers (or seeds, renamed to 'reader'), "
            "and difference(reference=) compares methods on cases alone"
        )
    # without readers rows would seem to stand twice
    readers = frame["reader"].unique()
    if pd.isna(readers).any() or "" in list(readers):
        row = int(np.flatnonzero(frame["reader"].isna() | frame["reader"].eq(""))[0])
        method = frame.iloc[row].get("method")
        raise ColumnError(
            f"column 'reader' of scores is empty in row {row} (method {method}); mrmc() compares methods "
            "that readers have each, and difference(reference=) those without readers"
        )
    return frame


@dataclass(frozen=True)
class Rows:
    """Scores as arrays of shape (n_rows,), coded once for all groups."""

    frame: pd.DataFrame
    by: list[str]
    #: Cases as they are named; what is read of them, a case's task where tasks are taken together.
    images: np.ndarray
    cases: np.ndarray
    methods: np.ndarray
    readers: np.ndarray
    units: Units
    scores: np.ndarray
    #: Whether there is no score since the finding is absent.
    absent: np.ndarray
    #: 0 or 1, NaN where it is not known; None where no truth is asked for.
    truth: np.ndarray | None
    label: str


def rows_of(codes: ColumnCodes, by: list[str], units: Units, label: str | None) -> Rows:
    """Rows of scores, with ColumnError where the truth is not 0 or 1."""
    frame, truth = codes.frame, None
    if label is not None:
        check_columns(frame, [label])
        truth = check_numeric(frame, label)
        other = np.flatnonzero(~(np.isnan(truth) | (truth == 0) | (truth == 1)))
        if len(other):
            raise ColumnError(
                f"column {label!r} must hold 0 and 1, the truth of each case, not {truth[other[0]]:g}"
            )
    # where tasks are taken together each is read, and a case's readings come and go with it
    what = [*case_key(frame), *(c for c in ("task",) if c in frame.columns and c not in by)]
    images, cases, methods, readers = map(codes.combined, (case_key(frame), what, ["method"], ["reader"]))
    return Rows(
        frame,
        by,
        images,
        cases,
        methods,
        readers,
        units,
        check_numeric(frame, "score"),
        is_absent(frame),
        truth,
        str(label),
    )


def study_of(all_rows: Rows, rows: np.ndarray, figure: Figure) -> Study:
    """Readings of some rows, checked to be of a design that can be analysed."""
    frame, by = all_rows.frame, all_rows.by
    where = ", ".join(f"{c} {frame[c].iloc[rows[0]]}" for c in by)
    where = f" ({where})" if where else ""
    _, first, case_of = np.unique(all_rows.cases[rows], return_index=True, return_inverse=True)
    method_of, reader_of = (
        np.unique(of[rows], return_inverse=True)[1] for of in (all_rows.methods, all_rows.readers)
    )
    n_readers = int(reader_of.max()) + 1
    cells, cell_of = np.unique(method_of * n_readers + reader_of, return_inverse=True)
    _check_once(frame, rows, by, cell_of * len(first) + case_of)
    scores = np.full((len(first), len(cells)), np.nan)
    scores[case_of, cell_of] = all_rows.scores[rows]
    unit_of = _units_of_cases(all_rows, rows, case_of, first)
    truth = _truth(all_rows, rows, case_of, len(first))
    scores[truth < 0] = np.nan
    read = ~np.isnan(scores)
    # a case without any score tells nothing, nor does a reader
    cases, used = read.any(axis=1), read.any(axis=0)
    kept = used[cell_of]
    methods, readers = (
        [str(name) for name in frame[c].array[rows[kept][np.unique(of[kept], return_index=True)[1]]]]
        for c, of in (("method", method_of), ("reader", reader_of))
    )
    of_method, of_reader = np.divmod(cells[used], n_readers)
    readings = Readings(
        scores[np.ix_(cases, used)],
        np.unique(of_method, return_inverse=True)[1],
        np.unique(of_reader, return_inverse=True)[1],
        np.unique(unit_of[cases], return_inverse=True)[1],
        truth[cases] == 1,
    )
    _check_design(readings, methods, readers, figure, where)
    of_methods = [readings.read[:, readings.methods == i].any(axis=1) for i in range(len(methods))]
    read_with = np.column_stack(of_methods)
    _check_same_cases(read_with, methods, where)
    n = np.bincount(readings.methods, readings.read.sum(axis=0)).astype(np.int64)
    every = np.unique(method_of[kept], return_inverse=True)[1]
    n_absent = np.bincount(every[all_rows.absent[rows][kept]], minlength=len(n))
    n_cases = len(np.unique(all_rows.images[rows[first[cases]]]))
    design = _design(readings)
    return Study(
        readings,
        methods,
        readers,
        n,
        np.bincount(every) - n,
        n_absent,
        n_cases,
        design,
        n_read=read_with.sum(axis=0),
        n_shared=int(read_with.all(axis=1).sum()),
        n_any=len(read_with),
    )


def _check_once(frame: pd.DataFrame, rows: np.ndarray, by: list[str], observed: np.ndarray) -> None:
    """Raise where a reader has several scores of a case with a method."""
    order = np.argsort(observed, kind="stable")
    again = np.flatnonzero(np.diff(observed[order]) == 0)
    if not len(again):
        return
    one, other = rows[order[again[0]]], rows[order[again[0] + 1]]
    apart = [c for c in KEY_COLUMNS if c in frame.columns and frame[c].iloc[one] != frame[c].iloc[other]]
    raise SalstatsError(
        f"reader {frame['reader'].iloc[one]!r} has several scores of case {frame['case'].iloc[one]!r} with "
        f"method {frame['method'].iloc[one]!r}, which differ in {quoted(apart)}; add that to by= "
        f"({quoted([*by, *apart])}), or average over it first"
    )


def _units_of_cases(all_rows: Rows, rows: np.ndarray, case_of: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Unit of each case; SalstatsError where one splits a case."""
    own = all_rows.units.codes[rows]
    split = np.flatnonzero(own != own[first][case_of])
    if len(split):
        raise SalstatsError(
            f"unit={all_rows.units.name!r} splits cases: case {_case(all_rows, rows[split[0]])} has rows of "
            "several; readers and seeds are no units here, so name what cases belong to, such as "
            "unit='patient'"
        )
    return np.asarray(own[first])


def _truth(all_rows: Rows, rows: np.ndarray, case_of: np.ndarray, n_cases: int) -> np.ndarray:
    """1 for positive cases, 0 for negative, -1 where it is not known; without a label all are positive."""
    if all_rows.truth is None:
        return np.ones(n_cases)
    values = all_rows.truth[rows]
    truth, known = np.full(n_cases, -1.0), ~np.isnan(values)
    truth[case_of[known]] = values[known]
    differ = np.flatnonzero(known & (values != truth[case_of]))
    if len(differ):
        raise ColumnError(
            f"column {all_rows.label!r} is 0 and 1 for case {_case(all_rows, rows[differ[0]])}; it is the "
            "truth of a case, the same for all readers and methods"
        )
    return truth


def _case(all_rows: Rows, row: int) -> str:
    """Name of a row's case for a message."""
    return repr(str(all_rows.frame["case"].iloc[row]))


def _check_design(r: Readings, methods: list[str], readers: list[str], figure: Figure, where: str) -> None:
    """Raise SalstatsError, naming the right call, for what is no study of several readers."""
    if len(readers) < 2:
        alone = f", {readers[0]!r}" if readers else ""
        call = "auroc(reference=)" if figure.needs_label else "difference(reference=)"
        raise SalstatsError(
            f"mrmc() needs two readers or more, and the scores{where} have {len(readers)}{alone}; {call} "
            "compares methods on the cases of one"
        )
    classes, call = [("case", np.ones_like(r.positive))], "summarize()"
    if figure.needs_label:
        call = "auroc()"
        classes = [("positive case", r.positive), ("negative case", ~r.positive)]
    for noun, which in classes:
        n = (r.by_unit((r.read & which[:, None]).astype(float)) > 0).sum(axis=0)
        if (n < 2).all():
            raise SalstatsError(
                f"every reader has {_counted(int(n.max()), noun)} (or unit){where}, and covariances over "
                "cases take two or more; nothing else tells what other cases would give"
            )
        if (n < 2).any():
            cell = int(np.flatnonzero(n < 2)[0])
            raise SalstatsError(
                f"reader {readers[r.readers[cell]]!r} has {_counted(int(n[cell]), noun)} (or unit) of method "
                f"{methods[r.methods[cell]]!r}{where}, and covariances over cases take two or more; leave "
                f"that reader out, or take {call}, which speaks of these readers only"
            )
    own = np.zeros((len(methods), len(readers)), dtype=bool)
    own[r.methods, r.readers] = True
    if own.all():
        return
    if (own.sum(axis=0) > 1).any():
        reader = int(np.flatnonzero(~own.all(axis=0))[0])
        method = methods[int(np.flatnonzero(~own[:, reader])[0])]
        raise SalstatsError(
            f"reader {readers[reader]!r} has no scores of method {method!r}{where}, and others have several "
            "methods; keep the readers who have all methods, or compare two methods at a time"
        )
    if (own.sum(axis=1) < 2).any():
        method = methods[int(np.flatnonzero(own.sum(axis=1) < 2)[0])]
        raise SalstatsError(
            f"every reader has one method, and method {method!r}{where} has a single reader, so nothing "
            "tells how readers differ; give every method two readers or more, or every reader both methods"
        )


def _check_same_cases(read: np.ndarray, methods: list[str], where: str) -> None:
    """Raise SalstatsError where some methods have the same cases and others have not.

    Covariances are averaged over all pairs of methods, so that those of pairs with the same cases and of
    pairs without would stand for both.
    """
    pairs = list(itertools.combinations(range(len(methods)), 2))
    if len(pairs) < 2:
        return
    n_shared = np.array([np.count_nonzero(read[:, i] & read[:, j]) for i, j in pairs])
    n_any = np.array([np.count_nonzero(read[:, i] | read[:, j]) for i, j in pairs])
    share = n_shared / n_any
    most, least = int(share.argmax()), int(share.argmin())
    if not lacks_many(n_any[least] * (share[most] - share[least]), n_any[least]):
        return
    texts = []
    for pair in (most, least):
        names = quoted([methods[i] for i in pairs[pair]])
        texts.append(f"methods {names} share {n_shared[pair]} of {n_any[pair]} cases")
    together = [methods[i] for i in pairs[most]]
    raise SalstatsError(
        f"{texts[0]}, {texts[1]}{where}; mrmc() estimates one covariance for every two methods, so all must "
        f"share as many: compare those with the same cases, with scores[scores['method'].isin({together})]"
    )


def _counted(n: int, noun: str) -> str:
    return f"{n or 'no'} {noun}" if n < 2 else f"{n} {noun}s"


def _design(r: Readings) -> str:
    """Name of the design, after `UNBALANCED` where readings are missing in no pattern."""
    nested = r.methods.max() > 0 and len(r.methods) == r.readers.max() + 1
    name = "readers nested in methods" if nested else "factorial"
    if r.read.all():
        return name
    shared = np.asarray(r.read.T.astype(np.float64) @ r.read)
    n = np.diag(shared)
    same_method, same_reader = (np.equal.outer(of, of) for of in (r.methods, r.readers))
    none, all_of = shared == 0, (shared == n) & (shared == n[:, None])
    if not nested and none[~same_reader].all() and all_of[same_reader].all():
        return "cases nested in readers"
    if none[~same_method].all() and all_of[same_method].all():
        return "cases nested in methods" if not nested else "readers and cases nested in methods"
    return "split plot" if (none | all_of).all() else f"{UNBALANCED}{name}"
