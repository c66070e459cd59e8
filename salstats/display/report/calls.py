"""Python calls that a reader of a report can paste and run."""

import ast
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

import salstats as ss
from salstats.display.report.settings import Settings

#: Variable name, in the report's Python, of the scores of every method but the reference.
COMPARED_SCORES_NAME = "compared"
#: Variable name of the defined scores.
DEFINED_SCORES_NAME = "scored"
#: Variable name of the labels that the user gave.
LABELS_NAME = "labels"


class VariableName(str):
    """The name of a variable, which stands in code without quotation marks."""

    __slots__ = ()
    __repr__ = str.__str__


def call_text(function: Callable[..., object], data_name: str, *arguments: object, **options: object) -> str:
    """Return Python that calls a public function on a named variable, without options that are None.

    >>> import salstats as ss
    >>> call_text(ss.regress, "scores", "iou ~ prob", by="method", unit=None)
    "ss.regress(scores, 'iou ~ prob', by='method')"
    """
    texts = [data_name, *(python_literal(argument) for argument in arguments)]
    for name, value in options.items():
        if value is not None:
            texts.append(f"{name}={python_literal(value)}")
    return f"ss.{function.__name__}({', '.join(texts)})"


def last_line_assigned(name: str, call: str) -> str:
    """Return Python that assigns the value of a call's last line to a variable.

    >>> last_line_assigned("means", "ss.summarize(scores)")
    'means = ss.summarize(scores)'
    """
    lines = call.splitlines()
    lines[-1] = f"{name} = {lines[-1]}"
    return "\n".join(lines)


def read_scores_call(files: Iterable[object], reading: Mapping[str, Any] | None = None) -> str:
    """Return the call that reads the scores of some files, without folders and default options.

    Parameters
    ----------
    files : iterable of path
        Files of scores.
    reading : Mapping, optional
        Options of `read_scores`.
    """
    options = dict(reading or {})
    if options.get("join"):
        options["join"] = [_without_folders(part) for part in options["join"]]
    parameters = signature(ss.read_scores).parameters
    options = {name: value for name, value in options.items() if value != parameters[name].default}
    names = [_file_name(str(file)) for file in files]
    source = repr(names)
    if len(names) == 1:
        source = repr(names[0])
    return call_text(ss.read_scores, source, **options)


def _without_folders(part: str | Mapping[str, str]) -> str | dict[str, str]:
    """Return a file to join, or the files by prefix, without their folders."""
    if isinstance(part, str):
        return _file_name(part)
    return {prefix: _file_name(file) for prefix, file in part.items()}


def _file_name(file: str) -> str:
    """Return the name of a file without its folder."""
    return Path(file).name


def code_preamble(settings: Settings, calls: Iterable[str]) -> str:
    """Return the first lines of calls: imports, and the scores and names that the calls use."""
    names = set()
    for call in calls:
        names |= {node.id for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Name)}
    imports = ["import salstats as ss"]
    if "pd" in names:
        imports.insert(0, "import pandas as pd")
    code = settings.code or read_scores_call(settings.inputs or ["scores.csv"])
    comment = ""
    if not settings.code and not settings.inputs:
        comment = "  # as ss.write_frame(scores, 'scores.csv') wrote them"
    lines = [f"scores = {code}{comment}"]
    for column, value in (settings.only or {}).items():
        lines.append(f"scores = scores[scores[{column!r}].astype(str) == {str(value)!r}]")
    if COMPARED_SCORES_NAME in names:
        lines.append(f"{COMPARED_SCORES_NAME} = scores[scores['method'] != {settings.reference!r}]")
    if DEFINED_SCORES_NAME in names:
        lines.append(f"{DEFINED_SCORES_NAME} = scores[scores['score'].notna()]")
    if LABELS_NAME in names:
        lines.append(f"{LABELS_NAME} = {python_literal(settings.labels_with_reference_first)}")
    return "\n".join([*imports, "", *lines])


def python_literal(value: object) -> str:
    """Return a value as Python reads it.

    >>> python_literal({"iou": (0.05,), "hd95": [float("inf")]})
    "{'iou': (0.05,), 'hd95': [float('inf')]}"
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        pairs = [f"{key!r}: {python_literal(member)}" for key, member in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(python_literal, value))}]"
    if isinstance(value, tuple):
        texts = ", ".join(map(python_literal, value))
        if len(value) == 1:
            texts += ","
        return f"({texts})"
    if isinstance(value, float) and not np.isfinite(value):
        return f"float('{value}')"
    return repr(value)
