"""The results of a published study as frames."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from salstats.checks import SalstatsError, check_choice, warn
from salstats.studies.engine import KEYS, make_items, missing, open_study, parser_of, printed_rows, study

#: A table of scores or of features: a file, or a frame.
Source: TypeAlias = str | PathLike[str] | pd.DataFrame


def reproduce(
    key: str,
    *,
    scores: Source | Sequence[Source] | None = None,
    features: Source | Sequence[Source] | None = None,
    data: str | PathLike[str] | None = None,
    rename: Mapping[str, str] | None = None,
    as_published: bool = False,
    jobs: int = 1,
    **options: Any,
) -> dict[str, pd.DataFrame]:
    """Make the results of a published study, from tables of scores or from its files.

    `salstats reproduce KEY -o DIR` writes the same frames with their tables and figures.

    Parameters
    ----------
    key : {"lanfredi2021", "mrxai2025", "saliency_bench", "saporta2022"}
        The study; `salstats reproduce list` names the papers.
    scores : path, DataFrame, or a list of these, optional
        Scores that are there already: scores frames, or files of them (CSV, TSV, Parquet, XLSX) in our
        columns or in those of the study's release.
    features : path, DataFrame, or a list of these, optional
        With `scores`: size and shape of findings, `prob`, `label` by case and task, where they do not stand
        beside the scores.
    data : path, optional
        The study's files, in the place of `scores`.
    rename : dict, optional
        With `scores`: the file's column name -> ours, as in `read_scores`.
    as_published : bool
        Inference as the study's own scripts have it, where the package's differs.
    jobs : int
        Processes; -1 for one per core.
    **options
        The study's own options, which `salstats reproduce KEY --help` lists, with underscores in the place of
        hyphens: `replicates=200`, `min_positives=5`. An option without a value is True; one that names
        tables takes frames too: `full_scores=frame`.

    Returns
    -------
    dict of str to DataFrame
        The unrounded frame of each result by its name (`"table_1"`, `"figure_2"`, ...), in the order of the
        study. Where numbers were printed of the same data, also "printed", a row for each printed row:
        `item`, `key`, `printed`, `found`, `equal`.

    Raises
    ------
    SalstatsError
        An unknown study or option, input that cannot be used, or nothing that can be made of it.

    Warns
    -----
    SalstatsWarning
        A result lacks something that it needs, or cannot be made of these data; the others are made.

    Examples
    --------
    >>> import salstats as ss
    >>> frames = ss.reproduce("mrxai2025", simulations=True)
    >>> list(frames)[:3]
    ['figure_1', 'figure_2', 'figure_3']
    """
    check_choice(key, KEYS, "key")
    declared = study(key)
    parser = parser_of(declared, output=False)
    # a frame cannot be written as an argument of the command
    tables = {name: value for name, value in options.items() if _holds_frame(value)}
    given = {"data": data, "as_published": as_published, "jobs": jobs, **options}
    parsed = parser.parse_args(_arguments({name: given[name] for name in given if name not in tables}))
    for name, value in tables.items():
        if not hasattr(parsed, name):
            raise SalstatsError(f"{key} has no option {name!r}")
        setattr(parsed, name, _sources(value))
    parsed.scores = None if scores is None else _sources(scores)
    parsed.features = [] if features is None else _sources(features)
    parsed.rename = [] if rename is None else [dict(rename)]

    opened = open_study(declared, parsed)
    for sentence in missing(opened.items, opened.there):
        warn(sentence)
    compared: list[pd.DataFrame] = []
    made = make_items(opened.items, opened.there, opened.load(), compared)
    frames = {item.key: result.frame for item, result in made}
    if not frames:
        raise SalstatsError(f"no result of {key} can be made of these data")
    if compared:
        frames["printed"] = printed_rows(compared)
    return frames


def _arguments(given: Mapping[str, Any]) -> list[str]:
    """Write keyword arguments as the command's: `replicates=200` is `--replicates 200`."""
    arguments = []
    for name, value in given.items():
        if value is None or value is False:
            continue
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(flag)
            continue
        values = value if isinstance(value, list | tuple) else [value]
        for each in values:
            arguments += [flag, str(each)]
    return arguments


def _holds_frame(value: object) -> bool:
    """Say whether an option's value is a frame, or a list with one."""
    values = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(each, pd.DataFrame) for each in values)


def _sources(given: Source | Sequence[Source]) -> list[Path | pd.DataFrame]:
    """Return one table or several as a list of paths and frames."""
    several = [given] if isinstance(given, str | PathLike | pd.DataFrame) else list(given)
    return [source if isinstance(source, pd.DataFrame) else Path(source) for source in several]
