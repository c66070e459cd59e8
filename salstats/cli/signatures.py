"""Options made from the signature and docstring of the public function that a command calls."""

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer

from salstats.cli.values import (
    by_method,
    by_metric,
    by_name,
    equations,
    joined,
    labels,
    margin,
    metric_options,
    number,
    numbers,
    pairs,
    score_columns,
    spacing,
    split,
    weights,
)

#: Parameters whose flag is another word.
_FLAGS = {"n_replicates": "replicates", "rng": "seed", "n_samples": "samples", "n_readers": "readers"}
#: Parameters whose text has a form of its own: how it is read, and an example for messages.
_FORMS: dict[str, tuple[Callable[..., Any], str]] = {
    "rename": (pairs, "case_id=case"),
    "columns": (score_columns, "human_iou=human:iou or r1_iou=:iou:r1"),
    "scale": (by_metric, "0.01 or iou=0.01"),
    "margin": (margin, "0.05, -0.05: or iou=0.05,hd95=:3"),
    "weights": (weights, "sampling_weight, unit or Edema=0.1,Nodule=0.3"),
    "join": (joined, "features.csv or elongation=FILE"),
    "maps": (equations, "gradcam:densenet=DIR"),
    "masks": (equations, "gradcam=PATH"),
    "class_maps": (equations, "gradcam=DIR"),
    "labels": (labels, "gradcam=Grad-CAM or colours:gradcam=#004488"),
    "directions": (equations, "my_score=smaller"),
    "only": (equations, "dataset=NIH"),
    "threshold": (by_method, "gradcam=0.4"),
    "cutoff": (by_method, "gradcam=0.3"),
    "smooth": (by_method, "ig=100"),
    "spacing": (spacing, "0.5 or 0.5x0.7"),
    "human": (by_name, "FILE or R1=FILE"),
    "human_annotations": (by_name, "FILE or R1=FILE"),
    "options": (metric_options, "pdc.alpha=0"),
}
#: Parameters that are for Python: arrays and objects, and the bar of progress, which commands show.
_PYTHON_ONLY = {"draws", "bias", "progress"}
#: Of these the text stays one, whatever it may be in Python.
_ONE_TEXT = {"spacing"}
#: What an option becomes for which `none` is said, where the function's default is another.
NOTHING = object()


@dataclass(frozen=True)
class Option:
    """One option of a command, and the keyword argument that it becomes."""

    #: The parameter of the function.
    name: str
    #: The option, such as "--replicates"; "" for an argument that is told by its place.
    flag: str
    #: What typer is told: type, default and help.
    parameter: inspect.Parameter
    #: From what typer gives to what the function takes.
    value: Callable[[Any], Any]


def options_of(
    function: Callable[..., Any],
    *,
    without: Iterable[str] = (),
    flags: Mapping[str, str] | None = None,
    panel: str | None = None,
    either: bool = False,
) -> list[Option]:
    """Make an option of each keyword-only parameter of a public function, but those `without`.

    `flags` are by parameter, where one is another word; `panel` is a heading in the help, below which options
    have no default of their own: only those given are passed on. With `either` what may be on or off can be
    told to be off, whatever it is by default.
    """
    described, parameters = descriptions(function), inspect.signature(function).parameters
    words = {name: f"--{word_of(name, flags)}" for name in parameters}
    made = []
    for name, parameter in parameters.items():
        if parameter.kind is not parameter.KEYWORD_ONLY or name in {*without, *_PYTHON_ONLY}:
            continue
        text = for_shell(described.get(name, ""), words, optional=parameter.default is None)
        # of metrics all are listed, from their records
        known = getattr(sys.modules[function.__module__], "SCORED", ()) if name == "metrics" else ()
        text = f"Of {', '.join(known)}." if known else text
        if name == "adjust":
            text = f"{', '.join(_procedures())}. {text}"
        if name == "threshold" and isinstance(parameter.default, str):
            text = f"{', '.join(_thresholds())} or a number. {text}"
        flag = words[name]
        if bool in _members(parameter.annotation) and (either or parameter.default is not False):
            flag = f"{flag}/--no-{flag[2:]}"
        made.append(_option(parameter, flag, text, panel))
    return made


def _procedures() -> Sequence[str]:
    """Procedures for multiple tests."""
    from salstats.stats.adjust import PROCEDURES

    return PROCEDURES


def _thresholds() -> Sequence[str]:
    """Names of thresholds, the default first."""
    from salstats.images.thresholds import THRESHOLDS

    return tuple(THRESHOLDS)


def word_of(name: str, flags: Mapping[str, str] | None = None) -> str:
    """Give the word of a parameter's flag."""
    return (flags or {}).get(name) or _FLAGS.get(name) or name.replace("_", "-")


def argument(name: str, metavar: str, kind: Any, help_text: str) -> Option:
    """Make an argument that is told by its place."""
    told = typer.Argument(metavar=metavar, help=help_text)
    # options may have the same name
    key = f"argument_{name}"
    parameter = inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, told])
    return Option(name, "", parameter, lambda given: given)


def option(
    name: str, kind: Any, default: Any, help_text: str, *flags: str, panel: str | None = None
) -> Option:
    """Make an option that the function does not have."""
    names = flags or (f"--{name.replace('_', '-')}",)
    told = typer.Option(*names, help=help_text, rich_help_panel=panel, **_typed(kind))
    parameter = inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, told], default=default
    )
    numeric = _number_of(kind)
    value = partial(number, flag=names[-1], kind=numeric) if numeric else lambda given: given
    return Option(name, names[-1], parameter, lambda given: None if given is None else value(given))


def _number_of(kind: Any) -> type | None:
    """Give the kind of number that an option takes, None where it takes another thing."""
    return next((k for k in (int, float) if k in _members(kind)), None)


def _typed(kind: Any) -> dict[str, Any]:
    """Give what typer is told of a kind of value; numbers come as text, so that messages are ours."""
    if numeric := _number_of(kind):
        return {"parser": str, "metavar": f"<{numeric.__name__}>"}
    return {"metavar": "A,B,..."} if kind == list[str] | None else {}


def _option(parameter: inspect.Parameter, flag: str, text: str, panel: str | None) -> Option:
    """Make the option of one parameter."""
    name, default = parameter.name, parameter.default
    kinds = _members(parameter.annotation)
    value: Callable[[Any], Any] = lambda given: given  # noqa: E731
    kind: Any
    shown: dict[str, Any] = {}
    if bool in kinds:
        kind = bool | None if type(None) in kinds else bool
    elif name not in _FORMS and any(getattr(k, "__name__", "") == "DataFrame" for k in kinds):
        # a frame is a file
        kind = Path | None
    elif name in _FORMS and (name in _ONE_TEXT or _takes_many(kinds)) and not _other_word(name, kinds):
        reader, example = _FORMS[name]
        kind = str | None if name in _ONE_TEXT else list[str] | None
        value = partial(reader, flag=flag, example=example)
        named = reader in (pairs, equations, score_columns, metric_options)
        shown = {"metavar": "NAME=VALUE" if named else "VALUE"}
        # of dicts the docstring says how they are written in Python
        whole = reader in (by_method, by_name, spacing)
        said = text.rstrip(".") if whole else re.split(r"[:;.](?: |$)", text)[0]
        said = re.sub(r",? such as {.*$", "", said)
        text = f"{said}; such as {example}."
    elif listed := next((k for k in (int, float) if _is_list_of(kinds, k)), None):
        kind, value = list[str] | None, partial(numbers, flag=flag, kind=listed)
    elif _takes_many(kinds):
        kind, value = list[str] | None, split
    else:
        kind = next((k for k in (int, float, str) if k in kinds), Path)
        if numeric := _number_of(kind):
            value = partial(number, flag=flag, kind=numeric)
        kind = kind | None if default is None else kind
    if kind == list[str] | None and isinstance(default, tuple) and default and not panel:
        text = f"{text} (default: {','.join(map(str, default))})"
    if panel or kind == list[str] | None:
        default = None
        kind = kind | None
    if name == "reference" and default is parameter.empty:
        # where it is missing the function says which there are
        text, default, shown = f"{text} (required)", "", {"show_default": False}
    names = ("--metrics", "--metric") if name == "metrics" else (flag,)
    told = typer.Option(*names, help=text, rich_help_panel=panel, **(_typed(kind) | shown))
    made = inspect.Parameter(
        flag.partition("/")[0][2:].replace("-", "_"), inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind, told], default=default,
    )  # fmt: skip

    def read(given: Any) -> Any:
        if name == "by" and given == ["none"]:
            # nothing is told apart: `by=()`, which is not the default
            return ()
        if type(None) in kinds and _says_none(given, text):
            # where None is the default nothing need be passed on
            return None if parameter.default is None else NOTHING
        return None if given is None else value(given)

    return Option(name, flag.partition("/")[0], made, read)


def _other_word(name: str, kinds: Sequence[Any]) -> bool:
    """Whether a parameter is no mapping of columns, but columns of a table."""
    return name == "columns" and not any(get_origin(kind) is Mapping for kind in kinds)


def _says_none(given: Any, text: str) -> bool:
    """Whether an option is told to be none, unless that is one of its choices."""
    return given == "None" or (given == "none" and not re.search(r"\bnone[,.]", text))


def _members(annotation: Any) -> list[Any]:
    """List the types of a union, or the one there is."""
    if get_origin(annotation) in (Union, UnionType):
        return [kind for part in get_args(annotation) for kind in _members(part)]
    return [annotation]


def _takes_many(kinds: Sequence[Any]) -> bool:
    """Whether a parameter takes a list or a dict."""
    many = (Sequence, Iterable, Mapping, list, dict)
    return any(get_origin(kind) in many for kind in kinds)


def _is_list_of(kinds: Sequence[Any], kind: type) -> bool:
    """Whether a parameter takes a list of numbers of a kind."""
    return any(get_origin(k) in (Sequence, Iterable) and get_args(k) == (kind,) for k in kinds)


def summary(function: Callable[..., Any]) -> str:
    """Give the first line of a docstring."""
    return plain((inspect.getdoc(function) or "").split("\n")[0])


def descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Give what a docstring says of each parameter, in one line, followed where it names another function."""
    import salstats as ss

    doc = inspect.getdoc(function) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", doc, re.M | re.S)
    described: dict[str, str] = {}
    entries = r"^(\*{0,2}\w[^\n:]*?)(?: : ([^\n]*))?\n((?:[ \t]+[^\n]*\n|\n)*)"
    for names, kind, body in re.findall(entries, section[1] if section else "", re.M):
        text = " ".join(body.split())
        elsewhere = re.match(r"As (?:for|in) `(\w+)`", text)
        choices = re.match(r"{(.*)}", kind)
        if choices:
            text = f"{choices[1].replace(chr(34), '')}. {text}"
        for name in names.split(", "):
            of = getattr(ss, elsewhere[1], None) if elsewhere else None
            described[name] = (of and of is not function and descriptions(of).get(name)) or named(text)
    return described


#: What a docstring says in Python -> what is said on the command line, one after the other.
_SPOKEN = (
    (r":func:", ""),
    (r"(?:[,;] | \()see (?:Notes|`[\w.]+`)\)?", ""),
    (r",? as in `\w+_\w+`", ""),
    (r" \([^()]*`(?:read|write|join)_\w+`[^()]*\)", ""),
    (r"; a (?:mapping|dict) [^;.]*", ""),
    (r"(?:^|(?<=\. ))A (?:mapping|dict) [^;.]*(?:; or a |\. ?|$)", lambda m: "A " * m[0].endswith(" or a ")),
    (r"(?<=\.) [^.]*\(None, [^.]*\.", ""),
    (r",? (?:as in|of) `adjust`", ""),
    (r" ?`\(\)` [^.]*\.", ""),
    (r" \(None\)| None is the default\.", ""),
    (r",? or `percentile` of `draws`", ""),
    (r'\br"([^"]*)"', r"'\1'"),
    (r'\(("\w+"(?:, "\w+")+)\)', lambda m: m[1].replace('"', "").replace(", ", ",")),
    (r"\bSeed or generator", "Seed"),
    (r"\b(\w+)\(\)", r"\1"),
)  # fmt: skip


def for_shell(text: str, words: Mapping[str, str], *, optional: bool = False) -> str:
    """Say what a docstring says of a parameter as one says it to a shell.

    `words` are flags by parameter; of an `optional` one None need not be spoken of.
    """
    for pattern, spoken in _SPOKEN:
        text = re.sub(pattern, spoken, text)
    if optional:
        text = re.sub(r"^None, | ?\bNone\b.*?[.;](?= |$)", "", text)
    text = re.sub(r"\bNone\b", "none", text)

    def flag(found: re.Match[str]) -> str:
        value = found[2].strip('"')
        return f"{words[found[1]]} {value}".rstrip() if found[1] in words else found[0]

    text = re.sub(r'`(\w+)=("?\w*"?)`', flag, text)
    if "by" in words:
        text = text.replace("`by`", words["by"])
    return plain(text).strip()


def named(text: str) -> str:
    """Put the names of intervals, and of a model's families and errors, in the place of what gives them."""

    def names(call: re.Match[str]) -> str:
        from salstats.stats.engine.intervals import names_of

        return f"One of {', '.join(names_of(call[1]))}"

    def of_models(found: re.Match[str]) -> str:
        records = getattr(import_module(f"salstats.stats.models.{found[1]}"), found[2])
        return f"One of {', '.join(records)}"

    text = re.sub(r'A name of `intervals\.names_of\("(\w+)"\)`', names, text)
    return re.sub(r"A name of `(families|errors)\.([A-Z]+)`", of_models, text)


def plain(text: str) -> str:
    """Take the markup out of a docstring's text; typer would read brackets as markup of its own."""
    return re.sub(r"`+", "", text).replace("[", r"\[")
