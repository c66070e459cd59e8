"""Read files of per-case scores, long or wide, into one scores frame."""

import os
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from pathlib import Path

import numpy as np
import pandas as pd

from salstats.checks import and_n_more_after_first, check_choice
from salstats.coded_text import make_arrow_dictionary_text_plain
from salstats.errors import ColumnError, InputFileError, SalstatsError, Setting, ValueRangeError
from salstats.frames import (
    KEY_COLUMNS,
    ColumnCodes,
    check_cases_have_one_patient,
    hint_to_distinguish_repeated_rows,
    row_keys_text,
    salstats_names_by_dotted_r_name,
    warn_of_doubtful_scores,
)
from salstats.readers.cells import NA_STRINGS, PathLike, TableOptions
from salstats.readers.joins import (
    Join,
    all_columns_of_joined_files,
    join_tables,
    paths_of_joined_files,
    read_tables_to_join,
)
from salstats.readers.score_layouts import (
    ColumnsOption,
    arrange_scores,
    check_required_identifiers_are_filled,
    checked_layout,
    renamed_with_case_and_patient,
    stack_scores,
)
from salstats.readers.tables import read_table, read_table_with_arrow_text
from salstats.score_checks import warn_of_two_scales


def read_scores(
    path: PathLike | Sequence[PathLike],
    *,
    rename: Mapping[str, str] | None = None,
    case: str | Sequence[str] | None = None,
    patient_from: str | None = None,
    columns: ColumnsOption | None = None,
    wide: str | None = None,
    tasks: Sequence[str] | None = None,
    method: str | Sequence[str] | None = None,
    metric: str | Sequence[str] | None = None,
    scale: float | Mapping[str, float] | None = None,
    join: Join | Sequence[Join] | None = None,
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
        CSV, TSV, Parquet or XLSX files, by their ending. Several files are put below each other.
    rename : dict, optional
        The file's column name -> the name in the frame: `{"img_id": "case"}`. Columns of joined files are
        renamed as well.
    case : list of str, optional
        Columns that only together name a case: `("phase", "trial")` makes the cases "1_1", "1_2", ... of
        them. The columns stay, as text, so that with `("patient", "image")` patients are resampled.
    patient_from : str, optional
        Regular expression with one group that finds the patient in the case id, for a file without a
        column `patient`: `r"(patient\d+)"` for `patient64141_study1_view1_frontal`.
    columns : dict, optional
        For a wide file with a score per column: column -> (method, metric), as in
        `{"iou": ("gradcam", "iou"), "human_iou": ("human", "iou")}`; or column -> method, as in
        `{"score_ag": "ag", "score_convex": "convex"}`, where a column `metric` or the option gives the
        metric; or column -> (None, metric), where a column `method` or the option gives the method; or
        column -> (method, metric, reader) for scores of a reader, as in `{"iou_r1": ("human", "iou", "r1")}`,
        None for a name that another column gives. All other columns are kept beside every score.
    wide : {"task"}, optional
        For a wide file with a task per column, one file per method and metric.
    tasks : list of str, optional
        With `wide="task"`: the columns that are tasks. By default all but the identifier columns.
    method, metric : str or list of str, optional
        Method or metric of the whole file, where it has no such column; a list gives one value per file.
    scale : float or dict, optional
        Factor by which all scores, or those of a metric, are multiplied: `0.01` or `{"iou": 0.01}` for
        percentages.
    join : path, DataFrame or dict, or a list of these, optional
        Covariates to add on case and task, see `join_features`. A dict name -> path, as in
        `{"elongation": "elongation.csv"}`, is for files with a task per column: each becomes one
        covariate, made of its columns that are named like a task of the scores.
    sep : str, optional
        Separator of the cells of a text file; by default a comma, a tab for `.tsv`.
    decimal : str
        Decimal mark of a text file.
    encoding : str
        Encoding of a text file.
    na : list of str
        Cells that stand for a missing number or covariate. Never applied to identifiers: a task called
        "NA" stays one. A cell that is empty or of blanks only is always missing, also as a name.
    sheet : str, optional
        Sheet of a workbook with several.

    Returns
    -------
    DataFrame
        `case, task, method, metric, score` (`task` where there is one), then the other identifiers and
        covariates in the file's order. Identifiers (dataset, case, task, method, metric, reader, model,
        seed, patient) are text exactly as in the file: "007" stays "007"; only the seed "1.0" is "1", as
        tables write whole numbers beside empty cells. `score` is float64, NaN where undefined. Other columns
        are numbers where every cell is one (none written like "007", nor whole and beyond 2^53, where a float
        loses digits), else text.

    Raises
    ------
    InputFileError
        The file is missing, empty, in another encoding, has no data rows, a ragged row, a bad header.
    ColumnError
        A needed column is missing; a case, task, method or metric is empty; a score is not a number or is
        infinite; an observation is there twice; a case belongs to two patients, or `patient_from` finds
        none. The message names the file, column and row (the header is row 1).

    Warns
    -----
    SalstatsWarning
        Scores lie outside the range of a metric that the package knows, as percentages do; with `scale`, some
        of the percentages look like fractions; a task or method of few rows has nearly the same name as
        another; two cases, patients or readers differ in capitals only.

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
    files = _path_list(path)
    layout = checked_layout(rename, case, patient_from, columns, wide, tasks)
    methods = _value_of_each_file(method, files, "method")
    metrics = _value_of_each_file(metric, files, "metric")
    joined_tables = [] if join is None else read_tables_to_join(join, options)
    options.check_any_workbook_if_sheet_chosen([*files, *paths_of_joined_files(joined_tables)])
    joined_columns = all_columns_of_joined_files(joined_tables)
    frames = []
    origins = []
    for file, file_method, file_metric in zip(files, methods, metrics, strict=True):
        table = read_table_with_arrow_text(file, options)
        frame, row_numbers = arrange_scores(table, layout, file_method, file_metric, joined_columns)
        if len(files) > 1:
            make_arrow_dictionary_text_plain(frame)
        frames.append(frame)
        origins.append(_file_and_row_of_each_score(file, row_numbers))
    if len(files) > 1:
        scores = stack_scores(frames, files)
        origin = pd.concat(origins, ignore_index=True)
    else:
        scores = frames[0]
        origin = origins[0]
    # the cells and codes of a large study are freed as soon as they are not needed
    del frames, frame, table
    codes = ColumnCodes(scores)
    _check_no_repeats(codes, origin)
    check_cases_have_one_patient(scores, ", ".join(f.name for f in files), codes)

    def location(row: int) -> str:
        return f"{origin['file'].iloc[row]}, row {origin['row'].iloc[row]}"

    if scale is not None:
        make_arrow_dictionary_text_plain(scores)
        warn_of_two_scales(scores, location)
        scores = _scores_multiplied_by_scale(scores, scale)
        codes = codes.with_scores(scores["score"])
    warn_of_doubtful_scores(codes, location)
    del codes
    make_arrow_dictionary_text_plain(scores)
    return join_tables(scores, joined_tables, layout) if joined_tables else scores


def read_data(
    path: PathLike,
    *,
    rename: Mapping[str, str] | None = None,
    case: str | Sequence[str] | None = None,
    patient_from: str | None = None,
    join: Join | Sequence[Join] | None = None,
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
    rename, case, patient_from, join, sep, decimal, encoding, na, sheet
        As for `read_scores`.

    Returns
    -------
    DataFrame
        The file's columns in their order: identifiers as text, others as numbers where every cell is
        one, else as text. In a table with a column `case` a column `score` is what it is in a scores
        frame, float64, finite or missing, and no row lacks its case, task, method or metric. In a table with
        a column `estimate`, columns with the dots of R's broom (`conf.low`, `std.error`, `p.value`) have the
        names of an estimates frame (`conf_low`).

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
    (file,) = _path_list(path)
    layout = checked_layout(rename, case, patient_from)
    joined_tables = [] if join is None else read_tables_to_join(join, options)
    options.check_any_workbook_if_sheet_chosen([file, *paths_of_joined_files(joined_tables)])
    table = renamed_with_case_and_patient(
        read_table(file, options), layout, all_columns_of_joined_files(joined_tables)
    )
    table = table.renamed(salstats_names_by_dotted_r_name(table.columns))
    data = table.typed_frame(layout.case_columns)
    if "case" in data.columns:
        # other tables, such as those of `case_flow`, have rows of no method or metric
        check_required_identifiers_are_filled(data, table, table.row_numbers)
    return join_tables(data, joined_tables, layout) if joined_tables else data


def _file_and_row_of_each_score(file: Path, row_numbers: np.ndarray) -> pd.DataFrame:
    """Return the columns `file` and `row`, the row's number in the file, of each score."""
    # a file's name may hold bytes that are not valid text, which only dtype object keeps
    names = pd.Index([str(file)], dtype=object)
    codes = np.zeros(len(row_numbers), dtype=np.int8)
    return pd.DataFrame({"file": pd.Categorical.from_codes(codes, names), "row": row_numbers})


def _path_list(path: PathLike | Sequence[PathLike]) -> list[Path]:
    """Return one path or several as a list; raise where there is none."""
    if isinstance(path, pd.DataFrame):
        raise SalstatsError("path must name a file", hint="a DataFrame needs no reading", option="path")
    if isinstance(path, str | os.PathLike):
        return [Path(path)]
    files = [Path(file) for file in path]
    if not files:
        raise InputFileError("no file to read", option="path")
    return files


def _value_of_each_file(
    value: str | Sequence[str] | None, files: list[Path], option: str
) -> list[str | None]:
    """Return the value of each file: a list's own, or the same for all."""
    if value is None or isinstance(value, str):
        return [value] * len(files)
    if len(value) == 1:
        return [value[0]] * len(files)
    if len(value) != len(files):
        raise SalstatsError(
            Setting(option),
            f" names {len(value)} values for {len(files)} files",
            hint="give one per file",
            value=value,
        )
    return list(value)


def _check_no_repeats(coded: ColumnCodes, origin: pd.DataFrame) -> None:
    """Raise where an observation is there twice; `origin` has the file and row of each score."""
    scores = coded.frame
    keys = [c for c in KEY_COLUMNS if c in scores.columns]
    codes = coded.combined(keys)
    if np.bincount(codes).max(initial=0) <= 1:
        return
    repeats = np.flatnonzero(pd.Series(codes).duplicated().to_numpy())
    repeated_rows = origin.iloc[repeats].drop_duplicates()
    second = int(repeats[0])
    first = int(np.flatnonzero(codes == codes[second])[0])
    first_origin = origin.iloc[first]
    second_origin = origin.iloc[second]
    first_row = f"row {first_origin['row']}"
    if first_origin["file"] != second_origin["file"]:
        first_row = f"{first_origin['file']}, {first_row}"
    other_repeats = and_n_more_after_first(range(len(repeated_rows)))
    second_row = f"{second_origin['file']}, row {second_origin['row']}{other_repeats}"
    observation = row_keys_text(scores, keys, first)
    hint = hint_to_distinguish_repeated_rows(scores, keys, first, second)
    # cell by cell, as pyarrow 22 cannot join coded columns into a row
    cells = {key: scores[key].iloc[first] for key in keys}
    raise ColumnError(
        f"{second_row}: the same observation as {first_row} ({observation})",
        hint=hint,
        value={key: cell for key, cell in cells.items() if not pd.isna(cell)},
        rows=[first, second],
        path=str(second_origin["file"]),
    )


def _scores_multiplied_by_scale(scores: pd.DataFrame, scale: float | Mapping[str, float]) -> pd.DataFrame:
    """Return the scores multiplied by a factor, or by the factor of their metric, without rounding errors."""
    metrics = list(scores["metric"].unique())
    factors = dict(scale) if isinstance(scale, Mapping) else dict.fromkeys(metrics, scale)
    for metric, factor in factors.items():
        check_choice(metric, metrics, "scale: metric")
        if isinstance(factor, bool) or not isinstance(factor, Real) or not 0 < factor < np.inf:
            raise ValueRangeError(
                Setting("scale", scale), " must be a number above 0, such as 0.01 for percentages"
            )
    values = scores["score"].to_numpy(dtype=np.float64, copy=True)
    factor_of_row = scores["metric"].map(factors)
    for factor in factor_of_row.dropna().unique():
        numerator, denominator = _numerator_and_denominator(float(factor))
        rows = factor_of_row.eq(factor).to_numpy()
        values[rows] = [
            float(Decimal(repr(score)) * numerator / denominator) for score in values[rows].tolist()
        ]
    return scores.assign(score=values)


def _numerator_and_denominator(factor: float) -> tuple[Decimal, Decimal]:
    """Return a factor as numerator and denominator: those of a simple fraction, or its decimal digits and 1.

    Decimal arithmetic with these gives the number that a person expects, which floats do not for 57 * 0.01 or
    22.4 / 100, nor decimal digits for 3 * (1 / 3).
    """
    simple = Fraction(factor).limit_denominator(1000)
    if float(simple) == factor:
        return Decimal(simple.numerator), Decimal(simple.denominator)
    return Decimal(repr(factor)), Decimal(1)
