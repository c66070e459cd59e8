"""Python that a reader of a report can paste and run: what all calls begin with, and a call."""

import re
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

import salstats as ss
from salstats.display.report.document import Settings

#: Scores of every method but the reference, and those that are defined, where a call names them.
COMPARED, SCORED = "compared", "scored"
#: What was given as labels, where a call names it.
LABELS = "labels"


class Named(str):
    """A name that stands for a value in a call."""

    __slots__ = ()
    __repr__ = str.__str__


def call_text(function: Callable[..., object], *said: object, **options: object) -> str:
    """Call of a public function on what the first word names.

    >>> import salstats as ss
    >>> call_text(ss.regress, "scores", "iou ~ prob", by="method", unit=None)
    "ss.regress(scores, 'iou ~ prob', by='method')"
    """
    data, *arguments = said
    given = (f"{name}={_literal(value)}" for name, value in options.items() if value is not None)
    texts = [str(data), *map(_literal, arguments), *given]
    return f"ss.{function.__name__}({', '.join(texts)})"


def assigned(name: str, call: str) -> str:
    """Python that gives the value of its last line a name.

    >>> assigned("means", "ss.summarize(scores)")
    'means = ss.summarize(scores)'
    """
    *before, last = call.splitlines()
    return "\n".join([*before, f"{name} = {last}"])


def loading(files: Iterable[object], reading: Mapping[str, Any] | None = None) -> str:
    """Call that reads the scores of some files, wherever they are now, with what is not its default."""
    names = [Path(str(file)).name for file in files]
    given = dict(reading or {})
    if given.get("join"):
        parts = given["join"]
        given["join"] = [
            _named(p) if isinstance(p, str) else {k: _named(v) for k, v in p.items()} for p in parts
        ]
    usual = signature(ss.read_scores).parameters
    options = {name: value for name, value in given.items() if value != usual[name].default}
    return call_text(ss.read_scores, repr(names[0] if len(names) == 1 else names), **options)


def _named(file: str) -> str:
    """Name of a file without its folder."""
    return Path(file).name


def beginning(settings: Settings, calls: Iterable[str]) -> str:
    """What all calls of a report begin with: imports, and the scores that they are on."""
    used = set(re.findall(r"\w+", " ".join(calls)))
    note = ""
    if not settings.code and not settings.inputs:
        note = "  # as ss.write_frame(scores, 'scores.csv') wrote them"
    lines = [f"scores = {settings.code or loading(settings.inputs or ['scores.csv'])}{note}"]
    for column, value in (settings.only or {}).items():
        lines.append(f"scores = scores[scores[{column!r}].astype(str) == {str(value)!r}]")
    if COMPARED in used:
        lines.append(f"{COMPARED} = scores[scores['method'] != {settings.reference!r}]")
    if SCORED in used:
        lines.append(f"{SCORED} = scores[scores['score'].notna()]")
    if LABELS in used:
        lines.append(f"{LABELS} = {_literal(settings.named)}")
    imports = ["import salstats as ss"]
    if "pd" in used:
        imports.insert(0, "import pandas as pd")
    return "\n".join([*imports, "", *lines])


def _literal(value: object) -> str:
    """A value as Python reads it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple | list):
        texts = ", ".join(map(_literal, value))
        return f"[{texts}]" if isinstance(value, list) else f"({texts}{',' * (len(value) == 1)})"
    return f"float('{value}')" if isinstance(value, float) and not np.isfinite(value) else repr(value)
