"""Options that commands share, and what they say in Python."""

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

Scores = Annotated[Path, typer.Argument(metavar="SCORES", help="CSV, TSV, Parquet or XLSX file.")]


def _option(kind: Any, default: Any, help_text: str, *names: str) -> tuple[Any, Any]:
    """Return annotation and default of one of the options for reading."""
    return Annotated[kind, typer.Option(*names, help=help_text, rich_help_panel="Reading the file")], default


#: Options that every command which reads scores has; see `read_scores`.
READING = {
    "also": _option(list[str] | None, None, "A further file of scores."),
    "rename": _option(list[str] | None, None, "File's column = ours: case_id=case."),
    "case": _option(list[str] | None, None, "Columns that together name a case: phase,trial."),
    "patient_from": _option(str | None, None, "Regular expression that finds the patient in a case id."),
    "score": _option(
        list[str] | None,
        None,
        "A score per column: human_iou=human:iou; human_iou=human beside a metric, iou=:iou beside a method.",
    ),
    "wide": _option(str | None, None, "'task' for a file with a task per column."),
    "tasks": _option(list[str] | None, None, "With --wide task: which columns are tasks."),
    "method": _option(list[str] | None, None, "Method of a file that names none."),
    "metric": _option(list[str] | None, None, "Metric of a file that names none."),
    "scale": _option(list[str] | None, None, "Multiply scores: 0.01, or iou=0.01 those of a metric."),
    "join": _option(
        list[str] | None, None, "Covariates to join on case and task; elongation=FILE has a task per column."
    ),
    "sep": _option(str | None, None, "Separator of a text file (tab: tab)."),
    "decimal": _option(str, ".", "Decimal mark of a text file."),
    "encoding": _option(str, "utf-8", "Encoding of a text file."),
    "na": _option(list[str] | None, None, "What stands for missing."),
    "sheet": _option(str | None, None, "Sheet of a workbook."),
}

Test = Annotated[
    str | None,
    typer.Option(help="bootstrap, t, wilcoxon, mcnemar, signflip or none (default: as the interval)."),
]
Unit = Annotated[str | None, typer.Option(help="What is resampled (patient or case).")]
Level = Annotated[float, typer.Option(help="Confidence level.")]
Replicates = Annotated[int, typer.Option(help="Bootstrap replicates.")]
Seed = Annotated[int, typer.Option(help="Seed of the draws.")]
Adjust = Annotated[str, typer.Option(help="bonferroni, holm, hochberg, hommel, BH, BY or none.")]
Overall = Annotated[bool, typer.Option("--overall", help="Add rows pooled over tasks.")]
Out = Annotated[
    Path | None, typer.Option("-o", "--output", help="Write .csv, .parquet or .xlsx; else print a table.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
Reference = Annotated[str, typer.Option(help="Method to compare with, such as human.")]
Average = Annotated[str | None, typer.Option(help="Add the average over this column (task).")]
Pairs = Annotated[str, typer.Option(help="complete or available.")]


ByAll = Annotated[
    list[str] | None, typer.Option("--by", help="Grouping columns (default: metric,method,task).")
]
ByContrast = Annotated[
    list[str] | None, typer.Option("--by", help="Grouping columns beside method (default: metric,task).")
]
ByMethod = Annotated[list[str] | None, typer.Option("--by", help="Grouping columns (default: method).")]
ByTask = Annotated[
    list[str] | None, typer.Option("--by", help="Grouping columns (default: task; of metrics, method too).")
]


#: Options whose name in Python is their flag, for messages.
_OPTION = re.compile(
    r"\b(sep|decimal|encoding|sheet|na|wide|tasks|method|metric|join|by|unit|interval|level|average|pairs|test|case|patient_from"
    r"|adjust|errors|family|reference|within|stratified|format|maps|masks|truth|annotations|human|points|labels"
    r"|human_annotations|split|predictions|task|threshold|cutoff|smooth|slice|misses|colormap|spacing|undefined"
    r"|classes|pixels|jobs|grid|what|class_maps|mixing|lungs|padded|phases|center_bias|floor"
    r"|hd95_rule)=(?=['\w (,]|$)"
)


#: Options whose flag is another word than their name in Python.
_RENAMED = {
    "n_replicates": "--replicates",
    "rng": "--seed",
}
#: The same where the name is also that of a column of scores.
_ARGUMENTS = {
    "n_readers": "--readers",
    "min_readers": "--min-readers",
    "n_samples": "--samples",
}


def split(values: Sequence[str] | None) -> list[str] | None:
    """Return a repeated or comma-separated option as a list; a name with a comma stands in double quotes."""
    if values is None:
        return None
    try:
        rows = list(csv.reader(values, skipinitialspace=True))
    except csv.Error as error:
        raise typer.BadParameter(f"{','.join(values)!r} is no list ({error})") from error
    parts = [part.strip() for row in rows for part in row or [""]]
    if not all(parts):
        raise typer.BadParameter(f"an empty name in {','.join(values)!r}")
    return parts


def pairs(values: Sequence[str] | None, option: str, example: str) -> dict[str, str] | None:
    """Return an option such as `case_id=case`, repeated or comma-separated, as a dict."""
    return equations(split(values), option, example)


def equations(values: Sequence[str] | None, option: str, example: str) -> dict[str, str] | None:
    """Return a repeated option such as `gradcam=Grad-CAM, resized` as a dict; commas are its own."""
    if values is None:
        return None
    named: dict[str, str] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise typer.BadParameter(f"{option} {text!r} should read like {example}")
        if name in named:
            raise typer.BadParameter(f"{option} names {name!r} twice")
        named[name] = value
    return named


def by_method(**given: list[str] | None) -> dict[str, Any]:
    """Return the given options of masks: a value or file for all, or ig=100,lrp=80 by (None, method)."""
    options: dict[str, Any] = {}
    for name, values in given.items():
        if values is None:
            continue
        one = len(values) == 1 and ("=" not in values[0] or Path(values[0]).exists())
        named = {} if one else pairs(values, f"--{name}", "ig=100") or {}
        options[name] = values[0] if one else {(None, method): value for method, value in named.items()}
    return options


def _flag(option: re.Match[str]) -> str:
    """Return an option as a flag, with a space before its value where one follows."""
    value = option.string[option.end() : option.end() + 1].strip(" ,")
    return f"--{option[1].replace('_', '-')}{' ' if value else ''}"


def in_flags(message: str) -> str:
    """Return a message of the library with its options spelled as on the command line."""
    message = re.sub(r"\b\w+=(?:True|False|'[^']*'|{[^}]*}|\[[^]]*\]) \((--[^)]*)\)", r"\1", message)
    message = re.sub(r"\brename={'([^']*)': '([^']*)'}", r"--rename \1=\2", message)
    message = re.sub(r"\bjoin={'([^']*)': '?([^'}]*)'?}", r"--join \1=\2", message)
    message = _OPTION.sub(_flag, message)
    for name, flag in _RENAMED.items():
        message = re.sub(rf"\b{name}\b", flag, message)
    for name, flag in _ARGUMENTS.items():
        # elsewhere it is a column
        message = re.sub(rf"\b{name}(?= must|=)", flag, message)
    return message


def reading_arguments(
    score: list[str] | None, na: list[str] | None, sep: str | None, join: list[str] | None, **given: Any
) -> dict[str, Any]:
    """Return the reading options that were given as keyword arguments of `read_scores`."""
    targets: dict[str, Any] = {}
    for name, target in (pairs(score, "--score", "human_iou=human:iou") or {}).items():
        its_method, colon, its_metric = target.partition(":")
        if not (its_method or its_metric) or (colon and not its_metric):
            raise typer.BadParameter(f"--score '{name}={target}' should read like human_iou=human:iou")
        targets[name] = (its_method or None, its_metric) if colon else its_method
    options = {
        **given,
        "also": split(given["also"]),
        "case": split(given["case"]),
        "rename": pairs(given["rename"], "--rename", "case_id=case"),
        "columns": targets or None,
        "tasks": split(given["tasks"]),
        "method": split(given["method"]),
        "metric": split(given["metric"]),
        "join": [_joined(part) for part in split(join) or []] or None,
        "scale": _scale(split(given["scale"])),
        "sep": "\t" if sep in ("\\t", "tab") else sep,
        "na": None if na is None else ["", *(split(na) or [])],
    }
    return {name: value for name, value in options.items() if value is not None}


def _scale(values: list[str] | None) -> float | dict[str, float] | None:
    """Return what `--scale` multiplies: all scores, or those of each metric."""
    try:
        if values and len(values) == 1 and "=" not in values[0]:
            return float(values[0])
        named = equations(values, "--scale", "0.01 or iou=0.01")
        return None if named is None else {metric: float(factor) for metric, factor in named.items()}
    except ValueError as error:
        raise typer.BadParameter(f"--scale {','.join(values or [])!r} is no number ({error})") from error


def _joined(text: str) -> str | dict[str, str]:
    """Return what `--join` names: a file, or a covariate and its file with a task per column."""
    name, equals, path = text.partition("=")
    # a path may hold "=" itself
    return {name: path} if equals and path and not Path(text).exists() else text


def input_files(scores: Path, reading: dict[str, Any]) -> list[Path]:
    """Return every file that a command reads."""
    joined = [
        p for part in reading.get("join", []) for p in (part.values() if isinstance(part, dict) else [part])
    ]
    return [scores, *(Path(p) for p in (*reading.get("also", []), *joined))]
