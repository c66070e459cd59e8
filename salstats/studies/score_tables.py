"""Tables of scores that a study can be made of, instead of a folder of files."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.errors import InputFileError
from salstats.frames import check_scores
from salstats.readers.cells import TableOptions
from salstats.readers.joins import join_tables, read_tables_to_join
from salstats.readers.score_layouts import checked_layout
from salstats.readers.scores import read_scores
from salstats.readers.tables import read_table

#: Reads a file in the columns of a study's own release; returns None where the file has other columns.
ReleaseReader = Callable[[Path], pd.DataFrame | None]


@dataclass(frozen=True)
class ScoreTableOptions:
    """The options of `read_scores` for files that do not have the columns of a scores frame."""

    rename: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    scale: float | None = None
    sep: str | None = None
    decimal: str = "."

    @classmethod
    def of(cls, options: argparse.Namespace) -> "ScoreTableOptions":
        """Take the options of a command; those given several times are put together."""
        rename: dict[str, str] = {}
        for pairs in options.rename:
            rename.update(pairs)
        columns: dict[str, Any] = {}
        for targets in options.score:
            columns.update(targets)
        decimal = "." if options.decimal is None else options.decimal
        return cls(rename, columns, options.scale, options.sep, decimal)

    @property
    def cells(self) -> TableOptions:
        """The separator and the decimal mark of a text file."""
        return TableOptions(sep=self.sep, decimal=self.decimal)

    def read_scores(self, files: list[Path], join: list[Path | pd.DataFrame] | None = None) -> pd.DataFrame:
        """Read files of scores into one scores frame, with covariates joined."""
        return read_scores(
            files,
            rename=self.rename or None,
            columns=self.columns or None,
            scale=self.scale,
            join=join or None,
            sep=self.sep,
            decimal=self.decimal,
        )


def read_score_tables(
    scores: Sequence[Path | pd.DataFrame],
    features: Sequence[Path | pd.DataFrame] = (),
    *,
    table_options: ScoreTableOptions | None = None,
    read_release: ReleaseReader | None = None,
    by_slice: bool = False,
) -> pd.DataFrame:
    """Read tables of scores into one scores frame, and join the features of each case and task.

    Parameters
    ----------
    scores : sequence of path or DataFrame
        Scores frames, or files.
    features : sequence of path or DataFrame
        Tables with a row per case, or per case and task.
    table_options : ScoreTableOptions, optional
        How files that do not have the columns of a scores frame are read.
    read_release : callable, optional
        Reads a file in the columns of the study's release; other files are read by `read_scores`.
    by_slice : bool
        True where the same case, task, method and metric may have a score in each slice that a column
        `slice` names; a file holds one slice.
    """
    table_options = table_options or ScoreTableOptions()
    if table_options.cells != TableOptions():
        # A file with another separator or decimal mark is not one of the release.
        read_release = None
    if by_slice and scores:
        slices = []
        for tables in _tables_of_each_slice(scores, table_options):
            slices.append(
                read_score_tables(tables, features, table_options=table_options, read_release=read_release)
            )
        return pd.concat(slices, ignore_index=True)
    score_tables = [_read_if_released(table, read_release) for table in scores]
    feature_tables = [_read_if_released(table, read_release) for table in features]
    frames = [table for table in score_tables if isinstance(table, pd.DataFrame)]
    files = [table for table in score_tables if isinstance(table, Path)]
    if not frames:
        return table_options.read_scores(files, feature_tables)
    if files:
        frames.append(table_options.read_scores(files))
    all_scores = check_scores(pd.concat(frames, ignore_index=True))
    if not feature_tables:
        return all_scores
    layout = checked_layout(table_options.rename or None, case=None, patient_from=None)
    return join_tables(all_scores, read_tables_to_join(feature_tables, table_options.cells), layout)


def read_renames(text: str) -> dict[str, str]:
    """Read OLD=NEW, or several with commas between: the package's name of a column by the file's."""
    renames = {}
    for pair in text.split(","):
        file_column, equals, column = pair.partition("=")
        if not (file_column and equals and column):
            raise argparse.ArgumentTypeError(f"{pair!r} should read like img_id=case")
        renames[file_column] = column
    return renames


def read_method_or_method_metric_reader_by_column(text: str) -> dict[str, str | tuple[str | None, ...]]:
    """Read COLUMN=METHOD:METRIC, several with commas between, as `columns=` of `read_scores`."""
    targets: dict[str, str | tuple[str | None, ...]] = {}
    for column, target in read_renames(text).items():
        # METHOD, METHOD:METRIC or METHOD:METRIC:READER; another column of the file gives a name left empty.
        names = target.split(":")
        if len(names) > 3 or not names[-1]:
            raise argparse.ArgumentTypeError(f"{column}={target!r} should read like human_iou=human:iou")
        targets[column] = target
        if len(names) > 1:
            targets[column] = tuple(name or None for name in names)
    return targets


def _tables_of_each_slice(
    scores: Sequence[Path | pd.DataFrame], table_options: ScoreTableOptions
) -> list[list[Path | pd.DataFrame]]:
    """Return the tables of each slice; a frame of several slices is cut into one of each."""
    tables_by_slice: dict[str, list[Path | pd.DataFrame]] = {}
    for source in scores:
        cells = _unchanged_frame_or_cells_read_from_file(source, table_options)
        if "slice" not in cells.columns or cells.empty:
            tables_by_slice.setdefault("", []).append(source)
            continue
        names = cells["slice"].fillna("").astype(TEXT)
        if isinstance(source, pd.DataFrame):
            for name, rows in source.groupby(names, sort=False):
                tables_by_slice.setdefault(str(name), []).append(rows.reset_index(drop=True))
            continue
        if names.nunique() > 1:
            raise InputFileError(
                f"{source} holds scores of several slices ({quoted(names.unique())})",
                hint="write each slice to a file of its own",
                column="slice",
                path=source,
            )
        tables_by_slice.setdefault(names.iloc[0], []).append(source)
    return list(tables_by_slice.values())


def _unchanged_frame_or_cells_read_from_file(
    source: Path | pd.DataFrame, table_options: ScoreTableOptions
) -> pd.DataFrame:
    """Return a frame as it is, or read the cells of a file."""
    if isinstance(source, pd.DataFrame):
        return source
    return read_table(source, table_options.cells).cells


def _read_if_released(table: Path | pd.DataFrame, read_release: ReleaseReader | None) -> Path | pd.DataFrame:
    """Read a file that is in the columns of a release; return anything else as it is."""
    if read_release is None or isinstance(table, pd.DataFrame):
        return table
    released = read_release(table)
    if released is None:
        return table
    return released
