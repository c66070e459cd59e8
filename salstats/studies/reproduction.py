"""The results of a published study as frames."""

import argparse
from collections.abc import Mapping, Sequence
from numbers import Number
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from salstats.checks import check_choice
from salstats.errors import SalstatsError, warn
from salstats.studies.engine import (
    KEYS,
    Parser,
    flag_of,
    make_items,
    missing,
    no_such_option,
    open_study,
    parser_of,
    printed_rows,
    study,
)

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
        hyphens: `replicates=200`, `min_positives=5`. An option without a value is True, one that may be
        repeated takes a list, one of the form NAME=VALUE a dict, and one that names tables takes frames, too:
        `full_scores=frame`.

    Returns
    -------
    dict of str to DataFrame
        The unrounded frame of each result by its name (`"table_1"`, `"figure_2"`, ...), in the order of the
        study. Where numbers were printed of the same data, they stand beside the rows of the frame
        (`printed`, `printed_low`, `printed_high`, `printed_source`), and there is also "printed", a row for
        each printed row: `item`, `key`, `printed`, `found`, `equal`.

    Raises
    ------
    SalstatsError
        An unknown study; an option that the study does not have, with those it has; input that cannot be
        used, or nothing that can be made of it.

    Warns
    -----
    SalstatsWarning
        A result lacks something that it needs, cannot be made of these data, or failed, with its error
        behind the warning (`warning.error`); the others are made.

    Examples
    --------
    >>> import warnings, salstats as ss
    >>> digits = ss.datasets.load_digits_scores()
    >>> rows = (digits["dataset"] == "quiet") & (digits["model"] == "plain") & (digits["task"] == "digit 4")
    >>> tools = digits[rows & digits["method"].isin(["gradcam", "rise"]) & (digits["metric"] == "dice")]
    >>> with warnings.catch_warnings(action="ignore"):  # Fig. 8 needs images, which is warned of
    ...     frames = ss.reproduce("mrxai2025", scores=tools)
    >>> list(frames)
    ['cases', 'table_1', 'figure_7', 'empty', 'differences', 'sensitivity']
    >>> frames["table_1"][["method", "estimate", "sd", "n"]].round(3)
        method  estimate     sd   n
    0  gradcam     0.524  0.125  28
    1     rise     0.496  0.204  28
    """
    check_choice(key, KEYS, "key")
    declared = study(key)
    parser = parser_of(declared, output=False)
    # a frame cannot be written as an argument of the command
    tables = {name: value for name, value in options.items() if _is_tables(parser, name, value)}
    given = {"data": data, "as_published": as_published, "jobs": jobs, **options}
    given = {name: value for name, value in given.items() if name not in tables}
    parsed = parser.parse_args(_arguments(given, parser))
    for name, value in tables.items():
        setattr(parsed, name, _sources(value))
    _check_lists(given, parsed)
    parsed.scores = None if scores is None else _sources(scores)
    parsed.features = [] if features is None else _sources(features)
    parsed.rename = [] if rename is None else [dict(rename)]

    opened = open_study(declared, parsed)
    for sentence in missing(opened.items, opened.available):
        warn(sentence)
    compared: list[pd.DataFrame] = []
    made = make_items(opened.items, opened.available, opened.load(), compared)
    frames = {item.key: result.frame for item, result in made}
    if not frames:
        raise SalstatsError(f"no result of {key} can be made of these data; the warnings say why")
    if compared:
        frames["printed"] = printed_rows(compared)
    return frames


def _arguments(given: Mapping[str, Any], parser: Parser) -> list[str]:
    """Write keyword arguments as the command's: `replicates=200` is `--replicates=200`."""
    arguments = []
    for name, value in given.items():
        if value is None or value is False:
            continue
        if name not in parser.options:
            raise SalstatsError(no_such_option(name, parser.prog, parser.options))
        flag = flag_of(parser.options[name])
        if value is True:
            arguments.append(flag)
            continue
        arguments += [f"{flag}={text}" for text in _texts(name, value)]
    return arguments


def _is_tables(parser: Parser, name: str, value: object) -> bool:
    """Say whether an option names tables, and its value is a frame, or a list with one."""
    if name not in parser.options or parser.options[name].type is not Path:
        return False
    values = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(each, pd.DataFrame) for each in values)


def _texts(name: str, value: Any) -> list[str]:
    """Write the value of an option, or each of several, as on the command line; a dict as NAME=VALUE."""
    if isinstance(value, Mapping):
        return [f"{key}={each}" for key, each in value.items()]
    values = value if isinstance(value, list | tuple) else [value]
    for each in values:
        if not isinstance(each, str | PathLike | Number):
            raise SalstatsError(
                f"{name} takes a value or the path of a file, not a {type(each).__name__}; frames are "
                "given as scores or features"
            )
    return [str(each) for each in values]


def _check_lists(given: Mapping[str, Any], parsed: argparse.Namespace) -> None:
    """Raise where an option of one value is given several, of which only the last would count."""
    for name, value in given.items():
        several = isinstance(value, list | tuple | Mapping) and len(value) > 1
        if several and not isinstance(getattr(parsed, name), list):
            raise SalstatsError(f"{name} takes one value, not {len(value)}")


def _sources(given: Source | Sequence[Source]) -> list[Path | pd.DataFrame]:
    """Return one table or several as a list of paths and frames."""
    several = [given] if isinstance(given, str | PathLike | pd.DataFrame) else list(given)
    return [source if isinstance(source, pd.DataFrame) else Path(source) for source in several]
