"""Scores of readers as arrays of readings, and the designs of studies that can be analysed."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from salstats.checks import check_columns, check_frame, check_numeric, quoted
from salstats.errors import Call, ColumnError, Message, SalstatsError, Setting
from salstats.frames import KEY_COLUMNS, ColumnCodes, are_equal_cells, dataset_and_case_columns
from salstats.stats.engine.resampling_units import Units
from salstats.stats.engine.score_reasons import is_missing_for_absent_finding
from salstats.stats.engine.shared_cases import has_many_missing
from salstats.stats.mrmc.figures_of_merit import FigureOfMerit, ReaderReadings


@dataclass(frozen=True)
class ReaderStudy:
    """Readings of one group of scores, with their names and counts."""

    readings: ReaderReadings
    #: Names of methods, which cells refer to by position.
    methods: list[str]
    #: Names of readers, which cells refer to by position.
    readers: list[str]
    #: (n_methods,): Defined readings of each method.
    n: np.ndarray
    #: (n_methods,): Undefined readings of each method.
    n_missing: np.ndarray
    #: (n_methods,): Undefined readings because the finding is absent.
    n_absent: np.ndarray
    #: Images with a reading; fewer than the cases of `readings` where tasks are taken together.
    n_cases: int
    #: Name of the design, such as "factorial" or "readers nested in methods".
    design: str
    #: (n_methods,): Cases that any reader has read with each method.
    n_read: np.ndarray
    #: Cases that are read with all methods.
    n_shared: int
    #: Cases that are read with any method.
    n_any: int
    #: Names of methods without any defined score, which are left out.
    undefined_methods: list[str]
    #: Names of readers without any defined score, who are left out.
    undefined_readers: list[str]

    @property
    def methods_have_different_cases(self) -> bool:
        """True if some method lacks so many cases that methods are not compared on the same cases."""
        n_any = np.full(len(self.n_read), self.n_any)
        return bool(has_many_missing(self.n_any - self.n_read, n_any).any())


#: Designs in which every reader reads the same cases with each method.
PAIRED_DESIGNS = ("factorial", "cases nested in readers")
#: Prefix of a design's name if readings are missing.
UNBALANCED = "unbalanced "


def checked_scores_with_readers(scores: object) -> pd.DataFrame:
    """Return the scores; a row without a reader raises ColumnError."""
    frame = check_frame(scores)
    if "reader" not in frame.columns:
        raise ColumnError(
            "scores has no column 'reader'",
            hint=Message(
                Call("mrmc"),
                " is for several readers (or seeds, renamed to 'reader'), and ",
                Call("difference"),
                " compares methods on cases alone",
            ),
            column="reader",
        )
    # Rows of no reader would otherwise be reported as repeated rows.
    readers = frame["reader"].unique()
    if pd.isna(readers).any() or "" in list(readers):
        row = int(np.flatnonzero(frame["reader"].isna() | frame["reader"].eq(""))[0])
        method = frame.iloc[row].get("method")
        raise ColumnError(
            f"column 'reader' of scores is empty in row {row} (method {method})",
            hint=Message(
                Call("mrmc"),
                " compares methods that each reader has, and ",
                Call("difference"),
                " those without readers",
            ),
            column="reader",
            rows=[row],
        )
    return frame


@dataclass(frozen=True)
class CodedReadings:
    """Scores as arrays of shape (n_rows,), coded once for all groups."""

    #: Scores frame that the arrays come from.
    frame: pd.DataFrame
    #: Grouping columns.
    by: list[str]
    #: Codes of the images.
    images: NDArray[np.integer]
    #: Codes of the cases; an image has a case for each task where tasks are taken together.
    cases: NDArray[np.integer]
    #: Codes of the methods.
    methods: NDArray[np.integer]
    #: Codes of the readers.
    readers: NDArray[np.integer]
    units: Units
    scores: np.ndarray
    #: True where there is no score because the finding is absent.
    absent: NDArray[np.bool_]
    #: Truth of the cases, 0 or 1 and NaN where unknown; None without a column of the truth.
    truth: np.ndarray | None
    #: Name of the column of the truth.
    label: str


def code_readings(codes: ColumnCodes, by: list[str], units: Units, label: str | None) -> CodedReadings:
    """Return coded scores as arrays; a truth other than 0 and 1 raises ColumnError.

    `label` is the column of the truth.
    """
    frame = codes.frame
    truth = None
    if label is not None:
        check_columns(frame, [label])
        truth = check_numeric(frame, label)
        is_valid = np.isnan(truth) | (truth == 0) | (truth == 1)
        invalid_rows = np.flatnonzero(~is_valid)
        if len(invalid_rows):
            raise ColumnError(
                f"column {label!r} must hold 0 and 1, the truth of each case, not {truth[invalid_rows[0]]:g}",
                column=label,
                value=float(truth[invalid_rows[0]]),
                rows=invalid_rows[:1].tolist(),
            )
    image_columns = dataset_and_case_columns(frame)
    case_columns = list(image_columns)
    if "task" in frame.columns and "task" not in by:
        # Tasks are taken together: each task of an image is a case of its own.
        case_columns.append("task")
    return CodedReadings(
        frame=frame,
        by=by,
        images=codes.combined(image_columns),
        cases=codes.combined(case_columns),
        methods=codes.combined(["method"]),
        readers=codes.combined(["reader"]),
        units=units,
        scores=check_numeric(frame, "score"),
        absent=is_missing_for_absent_finding(frame),
        truth=truth,
        label=str(label),
    )


def checked_reader_study_of_group(
    all_readings: CodedReadings, rows: NDArray[np.integer], figure_to_check_for: FigureOfMerit
) -> ReaderStudy:
    """Return the readings of `rows`, a group, checked to be of a design that can be analysed.

    `figure_to_check_for` decides how many readers and cases are needed; it is not computed here.
    """
    frame = all_readings.frame
    group = ", ".join(f"{column} {frame[column].iloc[rows[0]]}" for column in all_readings.by)
    # For messages: " (metric iou, task Edema)"
    group_name = f" ({group})" if group else ""
    _, first_of_case, case_of_row = np.unique(
        all_readings.cases[rows], return_index=True, return_inverse=True
    )
    method_of_row = np.unique(all_readings.methods[rows], return_inverse=True)[1]
    reader_of_row = np.unique(all_readings.readers[rows], return_inverse=True)[1]
    n_cases = len(first_of_case)
    n_readers = int(reader_of_row.max()) + 1
    # A cell is a reader with a method.
    cells, cell_of_row = np.unique(method_of_row * n_readers + reader_of_row, return_inverse=True)
    reading_of_row = cell_of_row * n_cases + case_of_row
    _check_one_score_per_reading(frame, rows, all_readings.by, reading_of_row)
    scores = np.full((n_cases, len(cells)), np.nan)
    scores[case_of_row, cell_of_row] = all_readings.scores[rows]
    unit_of_case = _units_of_cases(all_readings, rows, case_of_row, first_of_case)
    truth = _truth_or_minus_1_of_cases(all_readings, rows, case_of_row, n_cases)
    scores[truth < 0] = np.nan
    # Cases and cells without any score are left out.
    has_score = ~np.isnan(scores)
    is_read_case = has_score.any(axis=1)
    is_read_cell = has_score.any(axis=0)
    method_of_cell, reader_of_cell = np.divmod(cells[is_read_cell], n_readers)
    # Codes are made anew, from 0 without gaps, for what is left.
    readings = ReaderReadings(
        scores=scores[np.ix_(is_read_case, is_read_cell)],
        methods=np.unique(method_of_cell, return_inverse=True)[1],
        readers=np.unique(reader_of_cell, return_inverse=True)[1],
        units=np.unique(unit_of_case[is_read_case], return_inverse=True)[1],
        positive=truth[is_read_case] == 1,
    )
    all_methods = _names_in_code_order(frame["method"], rows, method_of_row)
    all_readers = _names_in_code_order(frame["reader"], rows, reader_of_row)
    methods = [all_methods[code] for code in np.unique(method_of_cell)]
    readers = [all_readers[code] for code in np.unique(reader_of_cell)]
    _check_enough_readers_and_cases_per_method(readings, methods, readers, figure_to_check_for, group_name)
    method_masks = [readings.is_read[:, readings.methods == i].any(axis=1) for i in range(len(methods))]
    read_with_method = np.column_stack(method_masks)
    _check_method_pairs_share_equally_many_cases(read_with_method, methods, group_name)
    n_defined = np.bincount(readings.methods, readings.is_read.sum(axis=0)).astype(np.int64)
    is_read_row = is_read_cell[cell_of_row]
    method_of_row = np.unique(method_of_row[is_read_row], return_inverse=True)[1]
    is_absent_row = all_readings.absent[rows][is_read_row]
    return ReaderStudy(
        readings=readings,
        methods=methods,
        readers=readers,
        n=n_defined,
        n_missing=np.bincount(method_of_row) - n_defined,
        n_absent=np.bincount(method_of_row[is_absent_row], minlength=len(methods)),
        n_cases=len(np.unique(all_readings.images[rows[first_of_case[is_read_case]]])),
        design=_design_name(readings),
        n_read=read_with_method.sum(axis=0),
        n_shared=int(read_with_method.all(axis=1).sum()),
        n_any=len(read_with_method),
        undefined_methods=[name for name in all_methods if name not in methods],
        undefined_readers=[name for name in all_readers if name not in readers],
    )


def _names_in_code_order(
    column: pd.Series, rows: NDArray[np.integer], codes: NDArray[np.integer]
) -> list[str]:
    """Return the names in a column in the order of their codes; `codes` (n,) belong to `rows` (n,)."""
    first_positions = np.unique(codes, return_index=True)[1]
    return [str(name) for name in column.array[rows[first_positions]]]


def _check_one_score_per_reading(
    frame: pd.DataFrame, rows: NDArray[np.integer], by: list[str], reading_of_row: NDArray[np.integer]
) -> None:
    """Raise if a reader has several scores of one case with one method.

    `reading_of_row` are codes of reader, case and method together.
    """
    order = np.argsort(reading_of_row, kind="stable")
    repeated = np.flatnonzero(np.diff(reading_of_row[order]) == 0)
    if not len(repeated):
        return
    first = rows[order[repeated[0]]]
    second = rows[order[repeated[0] + 1]]
    differing = []
    for column in KEY_COLUMNS:
        if column in frame.columns and not are_equal_cells(frame[column], first, second):
            differing.append(column)
    raise SalstatsError(
        f"reader {frame['reader'].iloc[first]!r} has several scores of case {frame['case'].iloc[first]!r} "
        f"with method {frame['method'].iloc[first]!r}, which differ in {quoted(differing)}",
        hint=Message(
            "add that to ", Setting("by"), f" ({quoted([*by, *differing])}), or average over it first"
        ),
        rows=[int(first), int(second)],
    )


def _units_of_cases(
    all_readings: CodedReadings,
    rows: NDArray[np.integer],
    case_of_row: NDArray[np.integer],
    first_of_case: NDArray[np.integer],
) -> NDArray[np.integer]:
    """Unit of each case, shape (n_cases,); a case of several units raises SalstatsError."""
    unit_of_row = all_readings.units.codes[rows]
    unit_of_case = unit_of_row[first_of_case]
    split_rows = np.flatnonzero(unit_of_row != unit_of_case[case_of_row])
    if len(split_rows):
        raise SalstatsError(
            Setting("unit", all_readings.units.name),
            f" splits cases: case {_case_name(all_readings, rows[split_rows[0]])} has rows of several",
            hint=Message(
                "readers and seeds cannot be units here, so name what cases belong to, such as ",
                Setting("unit", "patient"),
            ),
            rows=rows[split_rows[:1]].tolist(),
        )
    return np.asarray(unit_of_case)


def _truth_or_minus_1_of_cases(
    all_readings: CodedReadings, rows: NDArray[np.integer], case_of_row: NDArray[np.integer], n_cases: int
) -> np.ndarray:
    """Truth of each case (n_cases,): 1, 0, or -1 if unknown; 1 for all without a column of the truth."""
    if all_readings.truth is None:
        return np.ones(n_cases)
    truth_of_row = all_readings.truth[rows]
    has_truth = ~np.isnan(truth_of_row)
    truth = np.full(n_cases, -1.0)
    truth[case_of_row[has_truth]] = truth_of_row[has_truth]
    contradictory_rows = np.flatnonzero(has_truth & (truth_of_row != truth[case_of_row]))
    if len(contradictory_rows):
        case = _case_name(all_readings, rows[contradictory_rows[0]])
        raise ColumnError(
            f"column {all_readings.label!r} is 0 and 1 for case {case}; it is the "
            "truth of a case, the same for all readers and methods",
            column=all_readings.label,
            rows=rows[contradictory_rows[:1]].tolist(),
        )
    return truth


def _case_name(all_readings: CodedReadings, row: int) -> str:
    """Quoted name of a row's case."""
    return repr(str(all_readings.frame["case"].iloc[row]))


def _check_enough_readers_and_cases_per_method(
    readings: ReaderReadings, methods: list[str], readers: list[str], figure: FigureOfMerit, group_name: str
) -> None:
    """Raise SalstatsError if there are too few readers, or a reader has too few cases or lacks a method."""
    if len(readers) < 2:
        reader_name = f", {readers[0]!r}" if readers else ""
        function = "auroc" if figure.needs_label else "difference"
        raise SalstatsError(
            f"two readers or more are needed, and the scores{group_name} have {len(readers)}{reader_name}",
            hint=Message(Call(function), " compares methods on the cases of one"),
            column="reader",
        )
    classes = {"case": np.ones_like(readings.positive)}
    function = "summarize"
    if figure.needs_label:
        classes = {"positive case": readings.positive, "negative case": ~readings.positive}
        function = "auroc"
    for noun, in_class in classes.items():
        is_read = (readings.is_read & in_class[:, None]).astype(float)
        n_units = (readings.unit_by_cell_sums(is_read) > 0).sum(axis=0)
        if (n_units < 2).all():
            raise SalstatsError(
                f"every reader has {_count_text(int(n_units.max()), noun)} (or unit){group_name}, and "
                "covariances over cases need two or more; without them nothing is known about other cases",
                column="case",
            )
        if (n_units < 2).any():
            cell = int(np.flatnonzero(n_units < 2)[0])
            reader = readers[readings.readers[cell]]
            method = methods[readings.methods[cell]]
            raise SalstatsError(
                f"reader {reader!r} has {_count_text(int(n_units[cell]), noun)} (or unit) of method "
                f"{method!r}{group_name}, and covariances over cases need two or more",
                hint=Message(
                    "leave that reader out, or use ", Call(function), ", which is for these readers only"
                ),
                column="case",
            )
    # (n_methods, n_readers): true where a reader has readings with a method
    has_method = np.zeros((len(methods), len(readers)), dtype=bool)
    has_method[readings.methods, readings.readers] = True
    if has_method.all():
        return
    methods_of_readers = has_method.sum(axis=0)
    readers_of_methods = has_method.sum(axis=1)
    if (methods_of_readers > 1).any():
        reader = int(np.flatnonzero(~has_method.all(axis=0))[0])
        method = methods[int(np.flatnonzero(~has_method[:, reader])[0])]
        raise SalstatsError(
            f"reader {readers[reader]!r} has no scores of method {method!r}{group_name}, and others have "
            "several methods",
            hint="keep the readers who have all methods, or compare two methods at a time",
            column="method",
        )
    if (readers_of_methods < 2).any():
        method = methods[int(np.flatnonzero(readers_of_methods < 2)[0])]
        raise SalstatsError(
            f"every reader has one method, and method {method!r}{group_name} has a single reader, so nothing "
            "tells how readers differ",
            hint="give every method two readers or more, or every reader both methods",
            column="reader",
        )


def _check_method_pairs_share_equally_many_cases(
    is_read_with_method: np.ndarray, methods: list[str], group_name: str
) -> None:
    """Raise SalstatsError if some pairs of methods share their cases and other pairs do not.

    One covariance is estimated for all pairs of methods, which is then right for neither.
    `is_read_with_method` (n_cases, n_methods) is true for the cases that are read with each method.
    """
    pairs = list(itertools.combinations(range(len(methods)), 2))
    if len(pairs) < 2:
        return
    n_shared = np.array(
        [np.count_nonzero(is_read_with_method[:, i] & is_read_with_method[:, j]) for i, j in pairs]
    )
    n_any = np.array(
        [np.count_nonzero(is_read_with_method[:, i] | is_read_with_method[:, j]) for i, j in pairs]
    )
    share = n_shared / n_any
    largest = int(share.argmax())
    smallest = int(share.argmin())
    n_fewer_shared = n_any[smallest] * (share[largest] - share[smallest])
    if not has_many_missing(n_fewer_shared, n_any[smallest]):
        return
    sentences = []
    for pair in (largest, smallest):
        names = quoted([methods[i] for i in pairs[pair]])
        sentences.append(f"methods {names} share {n_shared[pair]} of {n_any[pair]} cases")
    comparable = [methods[i] for i in pairs[largest]]
    raise SalstatsError(
        f"{sentences[0]}, {sentences[1]}{group_name}; one covariance is estimated for all "
        "pairs of methods, so that all pairs must share as many cases",
        hint=f"compare those with the same cases, {quoted(comparable)}",
        choices=comparable,
        column="method",
    )


def _count_text(n: int, noun: str) -> str:
    """Return a number with its noun: "no case", "1 case" or "2 cases"."""
    if n == 0:
        return f"no {noun}"
    if n == 1:
        return f"1 {noun}"
    return f"{n} {noun}s"


def _design_name(readings: ReaderReadings) -> str:
    """Name of the design, with the prefix `UNBALANCED` if readings are missing without a pattern."""
    n_methods = readings.methods.max() + 1
    n_readers = readings.readers.max() + 1
    # Each reader has one method.
    nested = n_methods > 1 and len(readings.methods) == n_readers
    name = "readers nested in methods" if nested else "factorial"
    if readings.is_read.all():
        return name
    # Cases that two cells share, (n_cells, n_cells)
    n_shared = np.asarray(readings.is_read.T.astype(np.float64) @ readings.is_read)
    n_read = np.diag(n_shared)
    same_method = np.equal.outer(readings.methods, readings.methods)
    same_reader = np.equal.outer(readings.readers, readings.readers)
    share_no_case = n_shared == 0
    share_all_cases = (n_shared == n_read) & (n_shared == n_read[:, None])
    if not nested and share_no_case[~same_reader].all() and share_all_cases[same_reader].all():
        return "cases nested in readers"
    if share_no_case[~same_method].all() and share_all_cases[same_method].all():
        return "readers and cases nested in methods" if nested else "cases nested in methods"
    if (share_no_case | share_all_cases).all():
        return "split plot"
    return f"{UNBALANCED}{name}"
