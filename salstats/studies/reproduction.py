"""The results of a published study as frames."""

import argparse
from collections.abc import Mapping, Sequence
from numbers import Number
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from salstats.checks import check_choice
from salstats.errors import SalstatsError, Setting, warn
from salstats.studies.declarations import KEYS, declaration_of
from salstats.studies.engine import made_items_whose_needs_are_met, open_study, parser_of, unmet_need_messages
from salstats.studies.result_folder import printed_rows
from salstats.studies.study_parser import Parser, flag_of, unknown_option_error

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
    key : str
        Name of the study, such as "saporta2022"; `salstats reproduce list` names all with their papers.
    scores : path, DataFrame, or a list of these, optional
        Existing scores: scores frames, or files of them (CSV, TSV, Parquet, XLSX) in the columns of this
        package or of the study's release.
    features : path, DataFrame, or a list of these, optional
        With `scores`: size and shape of findings, `prob` and `label` by case and task, where the tables of
        scores do not have them.
    data : path, optional
        The study's files, in the place of `scores`.
    rename : dict, optional
        With `scores`: our name of a column by its name in the file, as in `read_scores`.
    as_published : bool
        Use the inference of the study's own scripts, where the package's differs.
    jobs : int
        Processes; -1 for one per core.
    **options
        The study's own options, which `salstats reproduce KEY --help` lists, with underscores in the place of
        hyphens: `replicates=200`, `min_positives=5`. An option without a value is True, one that may be
        repeated takes a list, one of the form NAME=VALUE a dict, and one that names tables also takes frames:
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
    declaration = declaration_of(key)
    parser = parser_of(declaration, output=False)
    # Frames cannot be written as arguments of the command, so they are set after it is parsed.
    frame_options = {}
    text_options: dict[str, Any] = {"data": data, "as_published": as_published, "jobs": jobs}
    for name, value in options.items():
        if _is_frame_given_for_table_file_option(parser, name, value):
            frame_options[name] = value
        else:
            text_options[name] = value
    parsed = parser.parse_args(_command_arguments(text_options, parser))
    for name, value in frame_options.items():
        setattr(parsed, name, _paths_and_frames(value))
    _check_single_values(text_options, parsed)
    parsed.scores = None
    if scores is not None:
        parsed.scores = _paths_and_frames(scores)
    parsed.features = []
    if features is not None:
        parsed.features = _paths_and_frames(features)
    parsed.rename = []
    if rename is not None:
        parsed.rename = [dict(rename)]

    opened = open_study(declaration, parsed)
    for message in unmet_need_messages(opened.items, opened.available):
        warn(message)
    compared: list[pd.DataFrame] = []
    results = made_items_whose_needs_are_met(opened.items, opened.available, opened.load(), compared)
    frames = {item.key: result.frame for item, result in results}
    if not frames:
        raise SalstatsError(f"no result of {key} can be made of these data; the warnings say why")
    if compared:
        frames["printed"] = printed_rows(compared)
    return frames


def _command_arguments(options: Mapping[str, Any], parser: Parser) -> list[str]:
    """Write keyword arguments as those of the command: `replicates=200` is `--replicates=200`."""
    arguments = []
    for name, value in options.items():
        if value is None:
            continue
        if name not in parser.options:
            raise unknown_option_error(name, parser.prog, parser.options)
        flag = flag_of(parser.options[name])
        if value is False:
            # An option that is left out is False, except one of three values (yes, no, not given).
            if isinstance(parser.options[name], argparse.BooleanOptionalAction):
                arguments.append(flag.replace("--", "--no-", 1))
            continue
        if value is True:
            arguments.append(flag)
            continue
        arguments += [f"{flag}={text}" for text in _texts_of_option_values(name, value)]
    return arguments


def _wrapped_unless_list_or_tuple(value: Any) -> list[Any]:
    """Return a list or tuple as a list, and a single value as a list of it."""
    if isinstance(value, list | tuple):
        return list(value)
    return [value]


def _is_frame_given_for_table_file_option(parser: Parser, option_name: str, value: object) -> bool:
    """Tell whether an option takes files of tables, and its value is a frame or a list with one."""
    if option_name not in parser.options or parser.options[option_name].type is not Path:
        return False
    return any(isinstance(table, pd.DataFrame) for table in _wrapped_unless_list_or_tuple(value))


def _texts_of_option_values(option_name: str, value: Any) -> list[str]:
    """Write each value of an option as on the command line; the entries of a dict as NAME=VALUE."""
    if isinstance(value, Mapping):
        return [f"{key}={entry}" for key, entry in value.items()]
    values = _wrapped_unless_list_or_tuple(value)
    for single_value in values:
        if not isinstance(single_value, str | PathLike | Number):
            raise SalstatsError(
                Setting(option_name),
                f" takes a value or the path of a file, not a {type(single_value).__name__}",
                hint="frames are given as scores or features",
            )
    return [str(single_value) for single_value in values]


def _check_single_values(options: Mapping[str, Any], parsed: argparse.Namespace) -> None:
    """Raise an error where an option of one value has several: the command would use the last alone."""
    for name, value in options.items():
        is_several = isinstance(value, list | tuple | Mapping) and len(value) > 1
        if is_several and not isinstance(getattr(parsed, name), list):
            raise SalstatsError(Setting(name), f" takes one value, not {len(value)}", value=value)


def _paths_and_frames(tables: Source | Sequence[Source]) -> list[Path | pd.DataFrame]:
    """Return one table or several as a list of paths and frames."""
    if isinstance(tables, str | PathLike | pd.DataFrame):
        tables = [tables]
    sources: list[Path | pd.DataFrame] = []
    for table in tables:
        if isinstance(table, pd.DataFrame):
            sources.append(table)
        else:
            sources.append(Path(table))
    return sources
