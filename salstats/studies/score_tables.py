"""Tables of scores that a study can be made of, in the place of a folder of files."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from salstats.checks import InputFileError, quoted
from salstats.frames import check_scores
from salstats.readers.cells import TableOptions
from salstats.readers.joins import join_tables, read_joined
from salstats.readers.scores import read_scores
from salstats.readers.shapes import check_layout
from salstats.readers.tables import read_table

#: Reads a file in the columns of a study's own release; None where the file is in other columns.
ReleaseReader = Callable[[Path], pd.DataFrame | None]


def read_score_tables(
    scores: Sequence[Path | pd.DataFrame],
    features: Sequence[Path | pd.DataFrame] = (),
    *,
    rename: Mapping[str, str] | None = None,
    read_release: ReleaseReader | None = None,
    by_slice: bool = False,
) -> pd.DataFrame:
    """Read tables of scores into one scores frame, with the features of each case and task beside its scores.

    A file in the columns of the study's release is read by `read_release`, any other as `read_scores` and its
    `join=` do. A DataFrame is a scores frame, or has a row per case or per case and task. With `by_slice` the
    same case, task, method and metric may have a score in each slice that a column `slice` names; a file is
    of one slice.
    """
    if by_slice:
        slices = [
            read_score_tables(tables, features, rename=rename, read_release=read_release)
            for tables in _of_each_slice(scores)
        ]
        return pd.concat(slices, ignore_index=True)
    score_sources = [_released(source, read_release) for source in scores]
    joined = [_released(source, read_release) for source in features]
    frames = [source for source in score_sources if isinstance(source, pd.DataFrame)]
    files = [source for source in score_sources if isinstance(source, Path)]
    if not frames:
        return read_scores(files, rename=rename, join=joined or None)
    if files:
        frames.append(read_scores(files, rename=rename))
    together = check_scores(pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0])
    if not joined:
        return together
    return join_tables(together, read_joined(joined, TableOptions()), check_layout(rename, None, None))


def read_renames(text: str) -> dict[str, str]:
    """Read OLD=NEW, several with commas between, as file's column -> ours."""
    renames = {}
    for pair in text.split(","):
        old, equals, new = pair.partition("=")
        if not (old and equals and new):
            raise argparse.ArgumentTypeError(f"{pair!r} should read like img_id=case")
        renames[old] = new
    return renames


def _of_each_slice(scores: Sequence[Path | pd.DataFrame]) -> list[list[Path | pd.DataFrame]]:
    """Sort tables by the slice that their scores are of; cut a frame of several into one of each."""
    tables: dict[str, list[Path | pd.DataFrame]] = {}
    for source in scores:
        frame = source if isinstance(source, pd.DataFrame) else read_table(source, TableOptions()).cells
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
