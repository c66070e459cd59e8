"""Options made from the signature and docstring of the public function that a command calls."""

import ast
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import docstring_parser
import typer

from salstats.cli.option_help import CHOICES
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


#: Heading of the help below which options stand that few users need.
RARE = "More options"


@dataclass(frozen=True)
class Documentation:
    """Documentation of a parameter: the first sentence, and the choices that its type lists."""

    sentence: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class OptionText:
    """Text of an option in the help: its sentence, its choices, the heading that it stands below."""

    sentence: str
    choices: tuple[str, ...] = ()
    panel: str | None = None

    def with_choices(self) -> str:
        """Return the sentence followed by the choices."""
        if not self.choices:
            return self.sentence
        return f"{self.sentence} One of {', '.join(self.choices)}."


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
    texts: Mapping[str, str],
    choices: Mapping[str, Sequence[str]] | None = None,
    without: Iterable[str] = (),
    flags: Mapping[str, str] | None = None,
    panel: str | None = None,
    usual: Collection[str] | None = None,
    either: bool = False,
) -> list[Option]:
    """Make an option of each keyword-only parameter of a public function, but those `without`.

    Parameters
    ----------
    function : callable
        The public function.
    texts : mapping of str to str
        Help by parameter; by default the first sentence of the parameter's docstring.
    choices : mapping of str to sequence of str, optional
        Choices by parameter, where the docstring's type does not list them.
    without : iterable of str
        Parameters that are no options.
    flags : mapping of str to str, optional
        Flags by parameter, where one is another word.
    panel : str, optional
        Heading in the help, below which options have no default of their own: only those given are passed on.
    usual : collection of str, optional
        Parameters that most users need; the others stand below a heading of their own. By default all.
    either : bool
        Give every switch an option that turns it off, whatever its default.
    """
    documented = documentation(function)
    made = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.KEYWORD_ONLY or name in {*without, *_PYTHON_ONLY}:
            continue
        described = documented.get(name, Documentation(""))
        values = (choices or {}).get(name) or _known_choices(function, name) or described.choices
        flag = f"--{word_of(name, flags)}"
        if bool in _members(parameter.annotation) and (either or parameter.default is not False):
            flag = f"{flag}/--no-{flag[2:]}"
        is_rare = usual is not None and name not in usual
        heading = RARE if is_rare and panel is None else panel
        option_text = OptionText(texts.get(name) or described.sentence, tuple(values), heading)
        made.append(_option(parameter, flag, option_text, has_default=panel is None))
    return made


def _known_choices(function: Callable[..., Any], name: str) -> Sequence[str]:
    """List the choices of a parameter that stand in a record of the package."""
    if name == "metrics":
        return tuple(getattr(sys.modules[function.__module__], "SCORED", ()))
    if name not in CHOICES:
        return ()
    module, attribute = CHOICES[name]
    return tuple(getattr(import_module(module), attribute))


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


def _option(parameter: inspect.Parameter, flag: str, option_text: OptionText, *, has_default: bool) -> Option:
    """Make the option of one parameter."""
    name, default = parameter.name, parameter.default
    kinds = _members(parameter.annotation)
    value: Callable[[Any], Any] = lambda given: given  # noqa: E731
    kind: Any
    text = option_text.with_choices()
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
        is_named = reader in (pairs, equations, score_columns, metric_options)
        shown = {"metavar": "NAME=VALUE" if is_named else "VALUE"}
        text = f"{text} Example: {example}."
    elif listed := next((k for k in (int, float) if _is_list_of(kinds, k)), None):
        kind, value = list[str] | None, partial(numbers, flag=flag, kind=listed)
    elif _takes_many(kinds):
        kind, value = list[str] | None, split
    else:
        kind = next((k for k in (int, float, str) if k in kinds), Path)
        if numeric := _number_of(kind):
            value = partial(number, flag=flag, kind=numeric)
        kind = kind | None if default is None else kind
    if kind == list[str] | None and isinstance(default, tuple) and default and has_default:
        text = f"{text} (default: {','.join(map(str, default))})"
    if not has_default or kind == list[str] | None:
        default = None
        kind = kind | None
    if name == "reference" and default is parameter.empty:
        # where it is missing the function says which there are
        text, default, shown = f"{text} (required)", "", {"show_default": False}
    names = ("--metrics", "--metric") if name == "metrics" else (flag,)
    help_text = text.replace("[", r"\[")
    told = typer.Option(*names, help=help_text, rich_help_panel=option_text.panel, **(_typed(kind) | shown))
    made = inspect.Parameter(
        flag.partition("/")[0][2:].replace("-", "_"), inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind, told], default=default,
    )  # fmt: skip

    def read(given: Any) -> Any:
        if name == "by" and given == ["none"]:
            # nothing is told apart: `by=()`, which is not the default
            return ()
        says_none = given == "None" or (given == "none" and "none" not in option_text.choices)
        if type(None) in kinds and says_none:
            # where None is the default nothing need be passed on
            return None if parameter.default is None else NOTHING
        return None if given is None else value(given)

    return Option(name, flag.partition("/")[0], made, read)


def _other_word(name: str, kinds: Sequence[Any]) -> bool:
    """Whether a parameter is no mapping of columns, but columns of a table."""
    return name == "columns" and not any(get_origin(kind) is Mapping for kind in kinds)


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


def documentation(function: Callable[..., Any]) -> dict[str, Documentation]:
    """Read the first sentence and the choices of each parameter from a function's docstring."""
    parsed = docstring_parser.parse(
        inspect.getdoc(function) or "", style=docstring_parser.DocstringStyle.NUMPYDOC
    )
    documented = {}
    for parameter in parsed.params:
        text = " ".join((parameter.description or "").split()).replace("`", "")
        sentence = f"{text.partition('. ')[0].rstrip('.')}."
        for name in parameter.arg_name.split(", "):
            documented[name] = Documentation(sentence, _choices(parameter.type_name or ""))
    return documented


def _choices(type_name: str) -> tuple[str, ...]:
    """List the choices that a parameter's type gives in braces, as in `{"mean", "median"}`."""
    before, opening, after = type_name.partition("{")
    if before or not opening:
        return ()
    values = ast.literal_eval(f"[{after.partition('}')[0]}]")
    return tuple(str(value) for value in values if value is not None)
