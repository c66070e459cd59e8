"""Read image-level labels as the CheXpert tables have them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from salstats.checks import ColumnError, warn
from salstats.readers.tables import read_known

#: Columns that are no labels.
_NO_TASKS = ("Path", "case", "Study", "Sex", "Age", "Frontal/Lateral", "AP/PA")


@dataclass(frozen=True)
class Labels:
    """Image-level truth: case -> task -> 0, 1, or NaN where it is not known."""

    file: Path
    values: dict[str, dict[str, float]]
    tasks: tuple[str, ...]


def case_of(path: str) -> str:
    """The case that an image's path stands for: patient, study and view.

    Examples
    --------
    >>> from salstats.readers.chexlocalize_labels import case_of
    >>> case_of("CheXpert-v1.0/valid/patient64541/study1/view1_frontal.jpg")
    'patient64541_study1_view1_frontal'
    """
    place = PurePosixPath(path.replace("\\", "/"))
    return "_".join([*place.parts[-3:-1], place.stem])


def read_labels(path: Path, task_name: Callable[[str], str]) -> Labels:
    """The labels of a table with a column `Path` or `case` and one column for each task.

    An empty cell is not known, and so is -1 (uncertain), of which a warning tells the number.

    Raises
    ------
    InputFileError
        The file cannot be read as a table.
    ColumnError
        There is no column `Path` or `case`, a case stands twice, or a label is not 0, 1, -1 or empty.
    """
    table = read_known(path, ColumnError)
    name = next((n for n in ("Path", "case") if n in table.columns), None)
    if name is None:
        raise ColumnError(f"{path} has no column 'Path' (of images) or 'case'; labels need one")
    cells = table.cells.rename(columns={name: "case"})
    if name == "Path":
        cells = cells.assign(case=cells["case"].astype("str").map(case_of))
    cases = table.with_cells(cells).cases()
    columns: dict[str, np.ndarray] = {}
    n_uncertain = 0
    for column in table.columns:
        if column in _NO_TASKS:
            continue
        task = task_name(column)
        if task in columns:
            raise ColumnError(f"{path}: column {column!r} is another name of {task!r}, which is there too")
        values = table.numbers(
            column,
            lambda v: ~np.isin(v, (0, 1, -1)) & ~np.isnan(v),
            "is no label; labels are 0, 1, -1 (uncertain) or empty",
        )
        n_uncertain += int((values == -1).sum())
        columns[task] = np.where(values == -1, np.nan, values)
    if n_uncertain:
        warn(f"{path}: {n_uncertain} labels are uncertain (-1) and count as not known")
    rows = np.column_stack(list(columns.values())).tolist() if columns else [[] for _ in cases]
    values_of = {case: dict(zip(columns, row, strict=True)) for case, row in zip(cases, rows, strict=True)}
    return Labels(path, values_of, tuple(columns))
