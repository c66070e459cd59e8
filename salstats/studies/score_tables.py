"""Tables of scores that a study can be made of, in the place of a folder of files."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.checks import quoted
from salstats.errors import InputFileError
from salstats.frames import check_scores
from salstats.readers.cells import TableOptions
from salstats.readers.joins import join_tables, read_joined
from salstats.readers.score_layouts import check_layout
from salstats.readers.scores import read_scores
from salstats.readers.tables import read_table

#: Reads a file in the columns of a study's own release; None where the file is in other columns.
ReleaseReader = Callable[[Path], pd.DataFrame | None]


@dataclass(frozen=True)
class Reading:
    """How files that are in none of our shapes are read, as by the options of `read_scores`."""

    rename: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, Any] = field(default_factory=dict)
    scale: float | None = None
    sep: str | None = None
    decimal: str = "."

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Reading":
        """Take the options of a command, of which some may be given several times."""
        rename: dict[str, str] = {}
        for pairs in options.rename:
            rename.update(pairs)
        columns: dict[str, Any] = {}
        for targets in options.score:
            columns.update(targets)
        return cls(rename, columns, options.scale, options.sep, options.decimal)

    @property
    def cells(self) -> TableOptions:
        """How the cells of a text file are told apart."""
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
    reading: Reading | None = None,
    read_release: ReleaseReader | None = None,
    by_slice: bool = False,
) -> pd.DataFrame:
    """Read tables of scores into one scores frame, with the features of each case and task beside its scores.

    A file in the columns of the study's release is read by `read_release`, any other as `read_scores` and its
    `join=` do. A DataFrame is a scores frame, or has a row per case or per case and task. With `by_slice` the
    same case, task, method and metric may have a score in each slice that a column `slice` names; a file is
    of one slice.
    """
    reading = reading or Reading()
    if reading.cells != TableOptions():
        # files of a release have commas between cells, and decimal points
        read_release = None
    if by_slice:
        slices = [
            read_score_tables(tables, features, reading=reading, read_release=read_release)
            for tables in _of_each_slice(scores, reading)
        ]
        return pd.concat(slices, ignore_index=True)
    score_sources = [_released(source, read_release) for source in scores]
    joined = [_released(source, read_release) for source in features]
    frames = [source for source in score_sources if isinstance(source, pd.DataFrame)]
    files = [source for source in score_sources if isinstance(source, Path)]
    if not frames:
        return reading.read_scores(files, joined)
    if files:
        frames.append(reading.read_scores(files))
    together = check_scores(pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0])
    if not joined:
        return together
    layout = check_layout(reading.rename or None, None, None)
    return join_tables(together, read_joined(joined, reading.cells), layout)


def read_renames(text: str) -> dict[str, str]:
    """Read OLD=NEW, several with commas between, as file's column -> ours."""
    renames = {}
    for pair in text.split(","):
        old, equals, new = pair.partition("=")
        if not (old and equals and new):
            raise argparse.ArgumentTypeError(f"{pair!r} should read like img_id=case")
        renames[old] = new
    return renames


def read_score_columns(text: str) -> dict[str, str | tuple[str | None, ...]]:
    """Read COLUMN=METHOD:METRIC, several with commas between, as `columns=` of `read_scores`."""
    targets: dict[str, str | tuple[str | None, ...]] = {}
    for column, target in read_renames(text).items():
        parts = target.split(":")
        if len(parts) > 3 or not parts[-1]:
            raise argparse.ArgumentTypeError(f"{column}={target!r} should read like human_iou=human:iou")
        targets[column] = target
        if len(parts) > 1:
            targets[column] = tuple(part or None for part in parts)
    return targets


def _of_each_slice(
    scores: Sequence[Path | pd.DataFrame], reading: Reading
) -> list[list[Path | pd.DataFrame]]:
    """Sort tables by the slice that their scores are of; cut a frame of several into one of each."""
    tables: dict[str, list[Path | pd.DataFrame]] = {}
    for source in scores:
        frame = source if isinstance(source, pd.DataFrame) else read_table(source, reading.cells).cells
        if "slice" not in frame.columns:
            tables.setdefault("", []).append(source)
            continue
        names = frame["slice"].fillna("").astype("str")
        if isinstance(source, pd.DataFrame):
            for name, rows in source.groupby(names, sort=False):
                tables.setdefault(str(name), []).append(rows.reset_index(drop=True))
            continue
        if names.nunique() > 1:
            raise InputFileError(
                f"{source} holds scores of several slices ({quoted(names.unique())}); write each slice to a "
                "file of its own"
            )
        tables.setdefault(names.iloc[0], []).append(source)
    return list(tables.values())


def _released(source: Path | pd.DataFrame, read_release: ReleaseReader | None) -> Path | pd.DataFrame:
    """Read a file that is in the columns of a release; return anything else as it is."""
    if read_release is None or isinstance(source, pd.DataFrame):
        return source
    released = read_release(source)
    if released is None:
        return source
    return released
