"""Values of options on the command line, read from their text."""

import csv
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

#: Endings of tables that can be read.
_TABLES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx")
#: Prefix of a name that is given a colour instead of a label.
_COLOURS = "colours:"


def split(values: Sequence[str] | None) -> list[str] | None:
    """Split a repeated or comma-separated option; a name with a comma stands in double quotes."""
    if values is None:
        return None
    try:
        rows = list(csv.reader(values, skipinitialspace=True))
    except csv.Error as error:
        raise typer.BadParameter(f"{','.join(values)!r} is not a list of names") from error
    names = []
    for row in rows:
        # the csv module gives no cells for an empty text
        names += [name.strip() for name in row or [""]]
    if not all(names):
        raise typer.BadParameter(f"an empty name in {','.join(values)!r}")
    return names


def number(text: object, flag: str, number_type: Callable[[Any], float]) -> float:
    """Read an option that takes one number; `number_type` is int or float."""
    try:
        return number_type(text)
    except ValueError:
        noun = "whole number" if number_type is int else "number"
        raise typer.BadParameter(f"{flag} takes a {noun}, not {text!r}") from None


def number_or_text(text: str) -> float | str:
    """Read an option that takes a number or a word such as `double`."""
    try:
        return float(text)
    except ValueError:
        return text


def numbers(values: Sequence[str], flag: str, number_type: Callable[[str], float]) -> list[float]:
    """Read a repeated or comma-separated option that takes numbers; `number_type` is int or float."""
    try:
        return [number_type(value) for value in split(values) or []]
    except ValueError:
        noun = "whole numbers" if number_type is int else "numbers"
        raise typer.BadParameter(f"{flag} takes {noun}; got {','.join(values)!r}") from None


def repeated_assignments(values: Sequence[str], flag: str, example: str) -> dict[str, str]:
    """Return the values of a repeated option such as `gradcam=Grad-CAM, resized` by name.

    A value may contain commas. A name that stands twice is an error.
    """
    named: dict[str, str] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise typer.BadParameter(f"{flag} {text!r} should read like {example}")
        if name in named:
            raise typer.BadParameter(f"{flag} names {name!r} twice")
        named[name] = value
    return named


def path_or_paths_by_name_or_stem(values: Sequence[str], flag: str, example: str) -> str | dict[str, str]:
    """Read one path, or a repeated option such as `gradcam=DIR` by name.

    The name of a path without one, among several, is its last part.
    """
    from salstats.files.input_files import is_one_unnamed_value

    if is_one_unnamed_value(values):
        return values[0]
    named: dict[str, str] = {}
    for text in values:
        # A path without a name may contain "=" itself.
        path_by_name = {Path(text).absolute().name: text}
        if not is_one_unnamed_value([text]):
            path_by_name = repeated_assignments([text], flag, example)
        for name, path in path_by_name.items():
            if name in named:
                raise typer.BadParameter(f"{flag} names {name!r} twice")
            named[name] = path
    return named


def label_by_name_with_colours_entry_if_any(
    values: Sequence[str], flag: str, example: str
) -> dict[str, str | dict[str, str]]:
    """Read labels such as `gradcam=Grad-CAM`, and colours such as `colours:gradcam=#004488`.

    The dict has the label of each name; colours, if any, are a dict in its entry "colours".
    """
    named: dict[str, str | dict[str, str]] = {}
    colours: dict[str, str] = {}
    for name, text in repeated_assignments(values, flag, example).items():
        # "A=B,C=D" would be read as one label.
        if re.search(r",[^\s,=]+=", text):
            raise typer.BadParameter(
                f"{flag} '{name}={text}': a label may hold commas; give {flag} once for each"
            )
        if name.startswith(_COLOURS):
            colours[name.removeprefix(_COLOURS)] = text
        else:
            named[name] = text
    if colours:
        named["colours"] = colours
    return named


def comma_separated_assignments(values: Sequence[str], flag: str, example: str) -> dict[str, str]:
    """Read an option such as `case_id=case`, repeated or comma-separated."""
    named = repeated_assignments(split(values) or [], flag, example)
    for name, value in named.items():
        # "A=B; C=D" and "A=B C=D" would be read as one pair.
        if re.search(r"[;\s].*=", value):
            raise typer.BadParameter(f"{flag} '{name}={value}': only commas go between pairs (A=B,C=D)")
    return named


def value_or_values_by_name(values: Sequence[str], flag: str, example: str) -> str | dict[str, str]:
    """Read a value or file for all, or `R1=one.json,R2=two.json` by name."""
    from salstats.files.input_files import is_one_unnamed_value

    if is_one_unnamed_value(values):
        return values[0]
    return comma_separated_assignments(values, flag, example)


def value_or_values_by_method(
    values: Sequence[str], flag: str, example: str
) -> str | dict[tuple[None, str], str]:
    """Read a value or file for all, or `ig=100,lrp=80` by (None, method); None stands for all tasks."""
    named = value_or_values_by_name(values, flag, example)
    if isinstance(named, str):
        return named
    return {(None, method): value for method, value in named.items()}


def spacing_or_table_path(text: str, flag: str, example: str) -> float | tuple[float, ...] | Path:
    """Read the size of a pixel: one number, two, or the path of a table."""
    try:
        sizes = tuple(float(size) for size in text.split("x"))
    except ValueError:
        if Path(text).suffix in _TABLES or os.path.lexists(text):
            return Path(text)
        raise typer.BadParameter(
            f"{flag} {text!r} should be mm per pixel, such as {example} (rows x columns), or a file"
        ) from None
    return sizes[0] if len(sizes) == 1 else sizes


def method_or_method_metric_reader_by_column(
    values: Sequence[str], flag: str, example: str
) -> dict[str, str | tuple[str | None, ...]]:
    """Read COLUMN=METHOD:METRIC:READER; its end may be left out, and METHOD or METRIC be left empty."""
    targets: dict[str, str | tuple[str | None, ...]] = {}
    for name, target in comma_separated_assignments(values, flag, example).items():
        levels = target.split(":")
        if len(levels) > 3 or not levels[-1]:
            raise typer.BadParameter(f"{flag} '{name}={target}' should read like {example}")
        if len(levels) == 1:
            # a method alone
            targets[name] = target
        else:
            # A column of the file gives what is left empty, as the method in `r1_iou=:iou`.
            targets[name] = tuple(level or None for level in levels)
    return targets


def value_or_values_by_metric(
    values: Sequence[str], flag: str, example: str, convert: Callable[[str], Any] = float
) -> Any | dict[str, Any]:
    """Read one value for all metrics, or a value for each metric."""
    texts = split(values) or []
    try:
        if len(texts) == 1 and "=" not in texts[0]:
            return convert(texts[0])
        return {metric: convert(text) for metric, text in repeated_assignments(texts, flag, example).items()}
    except ValueError:
        raise typer.BadParameter(f"{flag} {','.join(values)!r} should read like {example}") from None


def margin_or_margins_by_metric(
    values: Sequence[str], flag: str, example: str
) -> float | tuple[float | None, ...] | dict[str, float | tuple[float | None, ...]]:
    """Read one margin, or a margin for each metric: 0.05, or LOW:HIGH of which one may be left empty."""
    margins: float | tuple[float | None, ...] | dict[str, float | tuple[float | None, ...]]
    margins = value_or_values_by_metric(values, flag, example, _number_or_bounds)
    return margins


def column_or_weights(values: Sequence[str], flag: str, example: str) -> str | dict[str, float]:
    """Read a column, `unit`, or a weight for each value that is averaged over, such as a task."""
    if len(values) == 1 and "=" not in values[0]:
        return values[0]
    try:
        return {
            name: float(text) for name, text in comma_separated_assignments(values, flag, example).items()
        }
    except ValueError:
        raise typer.BadParameter(f"{flag} {','.join(values)!r} should read like {example}") from None


def _number_or_bounds(text: str) -> float | tuple[float | None, ...]:
    """Read a number, or LOW:HIGH of which one may be left empty (None)."""
    if ":" not in text:
        return float(text)
    bounds: list[float | None] = []
    for bound in text.split(":"):
        bounds.append(float(bound) if bound else None)
    return tuple(bounds)


def options_by_metric(values: Sequence[str], flag: str, example: str) -> dict[str, dict[str, Any]]:
    """Read options of single metrics, by metric and option; values that look like numbers become numbers."""
    options: dict[str, dict[str, Any]] = {}
    for name, text in comma_separated_assignments(values, flag, example).items():
        metric, dot, option = name.partition(".")
        if not (metric and dot and option):
            raise typer.BadParameter(f"{flag} '{name}={text}' should read like {example}")
        value: Any = text
        with suppress(ValueError):
            value = float(text)
        options.setdefault(metric, {})[option] = value
    return options


def paths_or_paths_by_covariate(values: Sequence[str], flag: str, example: str) -> list[str | dict[str, str]]:
    """Read files to join; COVARIATE=FILE, whose file has a task per column, becomes a dict."""
    files: list[str | dict[str, str]] = []
    for text in split(values) or []:
        name, equals, path = text.partition("=")
        # A path may contain "=" itself.
        if equals and path and not os.path.lexists(text):
            files.append({name: path})
        else:
            files.append(text)
    return files
