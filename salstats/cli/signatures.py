"""Options made from the signature and docstring of the public function that a command calls."""

import ast
import inspect
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import docstring_parser
import typer

from salstats.cli.option_help import CHOICES
from salstats.cli.option_values import (
    column_or_weights,
    comma_separated_assignments,
    label_by_name_with_colours_entry_if_any,
    margin_or_margins_by_metric,
    method_or_method_metric_reader_by_column,
    number,
    number_or_text,
    numbers,
    options_by_metric,
    path_or_paths_by_name_or_stem,
    paths_or_paths_by_covariate,
    repeated_assignments,
    spacing_or_table_path,
    split,
    value_or_values_by_method,
    value_or_values_by_metric,
    value_or_values_by_name,
)

#: Words of flags that differ from their parameter.
_FLAG_WORDS = {"n_replicates": "replicates", "rng": "seed", "n_samples": "samples", "n_readers": "readers"}


@dataclass(frozen=True)
class _Form:
    """Form of an option's text: its parser and an example."""

    #: Called with the texts and the keyword arguments `flag` and `example`.
    parse: Callable[..., Any]
    example: str

    @property
    def metavar(self) -> str:
        """The word that stands for the value in the help."""
        if self.parse in (
            comma_separated_assignments,
            repeated_assignments,
            label_by_name_with_colours_entry_if_any,
            method_or_method_metric_reader_by_column,
            options_by_metric,
            path_or_paths_by_name_or_stem,
        ):
            return "NAME=VALUE"
        return "VALUE"


#: Parameters whose text has a form of its own.
_FORMS: dict[str, _Form] = {
    "rename": _Form(comma_separated_assignments, "case_id=case"),
    "columns": _Form(method_or_method_metric_reader_by_column, "human_iou=human:iou or r1_iou=:iou:r1"),
    "scale": _Form(value_or_values_by_metric, "0.01 or iou=0.01"),
    "margin": _Form(margin_or_margins_by_metric, "0.05, -0.05: or iou=0.05,hd95=:3"),
    "weights": _Form(column_or_weights, "sampling_weight, unit or Edema=0.1,Nodule=0.3"),
    "join": _Form(paths_or_paths_by_covariate, "features.csv or elongation=FILE"),
    "maps": _Form(path_or_paths_by_name_or_stem, "gradcam:densenet=DIR"),
    "masks": _Form(path_or_paths_by_name_or_stem, "gradcam=PATH"),
    "class_maps": _Form(repeated_assignments, "gradcam=DIR"),
    "labels": _Form(label_by_name_with_colours_entry_if_any, "gradcam=Grad-CAM or colours:gradcam=#004488"),
    "directions": _Form(repeated_assignments, "my_score=smaller"),
    "only": _Form(repeated_assignments, "dataset=NIH"),
    "threshold": _Form(value_or_values_by_method, "gradcam=0.4"),
    "cutoff": _Form(value_or_values_by_method, "gradcam=0.3"),
    "smooth": _Form(value_or_values_by_method, "ig=100"),
    "spacing": _Form(spacing_or_table_path, "0.5 or 0.5x0.7"),
    "human": _Form(value_or_values_by_name, "FILE or R1=FILE"),
    "human_annotations": _Form(value_or_values_by_name, "FILE or R1=FILE"),
    "options": _Form(options_by_metric, "pdc.alpha=0"),
}
#: Parameters that only Python has: arrays, objects, and the progress bar, which commands always show.
_PYTHON_ONLY = {"draws", "bias", "progress"}
#: Parameters that the command line takes as one text, although Python also takes a sequence.
_SINGLE_TEXT = {"spacing"}
#: Value of an option that was set to `none` where the function's default is not None.
SET_TO_NONE = object()

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

    def sentence_with_choices(self) -> str:
        """Return the sentence followed by the choices."""
        if not self.choices:
            return self.sentence
        if len(self.choices) == 1:
            return f"{self.sentence} Value: {self.choices[0]}."
        return f"{self.sentence} One of {', '.join(self.choices)}."


@dataclass(frozen=True)
class Option:
    """One option of a command, and the keyword argument that it becomes."""

    #: Parameter of the function.
    name: str
    #: The option, such as "--replicates"; "" for a positional argument.
    flag: str
    #: Parameter that typer reads, with its type, default and help.
    parameter: inspect.Parameter
    #: Converts what typer returns into the keyword argument; None stands for an option that is not given.
    convert: Callable[[Any], Any]

    @property
    def typer_info(self) -> Any:
        """The typer.Option or typer.Argument that carries the help."""
        return self.parameter.annotation.__metadata__[0]


def keyword_arguments(options: Iterable[Option], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments that the options of a call become, leaving out those not given.

    `typed` holds what typer returned, by the names of its parameters.
    """
    arguments: dict[str, Any] = {}
    for option in options:
        value = option.convert(typed[option.parameter.name])
        if value is SET_TO_NONE:
            arguments[option.name] = None
        elif value is not None:
            arguments[option.name] = value
    return arguments


def keyword_options_of(
    function: Callable[..., Any],
    *,
    texts: Mapping[str, str],
    choices: Mapping[str, Sequence[str]] | None = None,
    omit: Iterable[str] = (),
    flag_words: Mapping[str, str] | None = None,
    panel: str | None = None,
    main_parameters: Collection[str] | None = None,
    add_off_switches: bool = False,
) -> list[Option]:
    """Make an option of each keyword-only parameter of a public function.

    Parameters
    ----------
    function : callable
        The public function.
    texts : mapping of str to str
        Help by parameter; by default the first sentence of the parameter's docstring.
    choices : mapping of str to sequence of str, optional
        Choices by parameter, where the docstring's type does not list them.
    omit : iterable of str
        Parameters that do not become options.
    flag_words : mapping of str to str, optional
        Word of the flag by parameter, where it is not the parameter's name.
    panel : str, optional
        Heading in the help. With a heading the default of every option is None, so that only options that are
        given reach the function.
    main_parameters : collection of str, optional
        Parameters that most users need; the others stand below the heading `RARE`. By default all.
    add_off_switches : bool
        Give every switch an option that turns it off, whatever its default.
    """
    documented = documentation_by_parameter(function)
    omitted = {*omit, *_PYTHON_ONLY}
    options = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not parameter.KEYWORD_ONLY or name in omitted:
            continue
        described = documented.get(name, Documentation(""))
        values = (choices or {}).get(name) or described.choices or _recorded_choices(function, name)
        flag = f"--{flag_word(name, flag_words)}"
        is_switch = bool in _types_in_union(parameter.annotation)
        if is_switch and (add_off_switches or parameter.default is not False):
            flag = f"{flag}/--no-{flag[2:]}"
        heading = panel
        if panel is None and main_parameters is not None and name not in main_parameters:
            heading = RARE
        sentence = texts.get(name) or described.sentence
        option_text = OptionText(sentence, tuple(values), heading)
        options.append(_option(parameter, flag, option_text, has_default=panel is None))
    return options


def _recorded_choices(function: Callable[..., Any], name: str) -> Sequence[str]:
    """Return the choices of a parameter that a constant of the package lists."""
    if name == "metrics":
        return tuple(getattr(sys.modules[function.__module__], "SCORED_METRICS", ()))
    if name not in CHOICES:
        return ()
    module, attribute = CHOICES[name]
    return tuple(getattr(import_module(module), attribute))


def flag_word(name: str, flag_words: Mapping[str, str] | None = None) -> str:
    """Return the word of a parameter's flag, without its hyphens."""
    return (flag_words or {}).get(name) or _FLAG_WORDS.get(name) or name.replace("_", "-")


def argument(name: str, metavar: str, value_type: Any, help_text: str) -> Option:
    """Make a positional argument; one whose type allows None may be left out."""
    # typer itself shows that an argument may have several values
    info = typer.Argument(metavar=metavar.removesuffix("..."), help=help_text)
    # An option of the command may have the same name.
    key = f"argument_{name}"
    default: Any = inspect.Parameter.empty
    if type(None) in _types_in_union(value_type):
        default = None
    parameter = inspect.Parameter(
        key, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[value_type, info], default=default
    )
    return Option(name, "", parameter, _unchanged)


def option(
    name: str, value_type: Any, default: Any, help_text: str, *flags: str, panel: str | None = None
) -> Option:
    """Make an option that the function does not have; `flags` are by default the name with hyphens."""
    names = flags or (f"--{name.replace('_', '-')}",)
    info = typer.Option(*names, help=help_text, rich_help_panel=panel, **_typer_settings(value_type))
    parameter = inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[value_type, info], default=default
    )
    numeric = _numeric_type(value_type)
    # the long flag is the last one
    if numeric is None:
        return Option(name, names[-1], parameter, _unchanged)
    convert = partial(number, flag=names[-1], number_type=numeric)
    return Option(name, names[-1], parameter, _skipping_none(convert))


def _unchanged(typed: Any) -> Any:
    """Return what typer read."""
    return typed


def _skipping_none(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a conversion that leaves None, an option that was not given, as it is."""

    def convert_value(typed: Any) -> Any:
        if typed is None:
            return None
        return convert(typed)

    return convert_value


def _numeric_type(value_type: Any) -> type | None:
    """Return int or float where a type is one of these, or one of these or None; else None."""
    members = _types_in_union(value_type)
    for numeric in (int, float):
        if numeric in members:
            return numeric
    return None


def _typer_settings(value_type: Any) -> dict[str, Any]:
    """Return how typer reads and shows a type; numbers are read as text, for the package's own messages."""
    numeric = _numeric_type(value_type)
    if numeric is not None:
        return {"parser": str, "metavar": f"<{numeric.__name__}>"}
    if value_type == list[str] | None:
        return {"metavar": "A,B,..."}
    return {}


@dataclass(frozen=True)
class _TypeAndConversion:
    """Type of an option as typer reads it, and a conversion of what typer returns."""

    #: Type that typer reads.
    value_type: Any
    #: Converts what typer read.
    convert: Callable[[Any], Any] = _unchanged
    #: Example for the help.
    example: str = ""
    #: Further settings of typer.Option.
    settings: Mapping[str, Any] = field(default_factory=dict)


def _option_type_and_conversion(parameter: inspect.Parameter, flag: str) -> _TypeAndConversion:
    """Choose how an option is read and converted, by the annotation of its parameter."""
    name = parameter.name
    types = _types_in_union(parameter.annotation)
    if bool in types:
        return _TypeAndConversion(bool | None if type(None) in types else bool)  # a switch
    if name in _FORMS and _takes_text_of_form(name, types):
        form = _FORMS[name]
        return _TypeAndConversion(
            str | None if name in _SINGLE_TEXT else list[str] | None,
            partial(form.parse, flag=flag, example=form.example),
            form.example,
            {"metavar": form.metavar},
        )
    type_names = {getattr(value_type, "__name__", "") for value_type in types}
    if name not in _FORMS and "DataFrame" in type_names:
        # the command line takes the file of a frame
        return _TypeAndConversion(Path | None)
    for numeric in (int, float):
        if _is_list_of(types, numeric):
            return _TypeAndConversion(list[str] | None, partial(numbers, flag=flag, number_type=numeric))
    if _takes_many(types):
        return _TypeAndConversion(list[str] | None, split)
    return _single_value_type_and_conversion(parameter, types, flag)


def _single_value_type_and_conversion(
    parameter: inspect.Parameter, types: Sequence[Any], flag: str
) -> _TypeAndConversion:
    """Choose how an option that takes one number, text or path is read and converted."""
    value_type: Any = Path
    for simple in (int, float, str):
        if simple in types:
            value_type = simple
            break
    if parameter.default is None:
        value_type = value_type | None
    numeric = _numeric_type(value_type)
    if numeric is None:
        return _TypeAndConversion(value_type)
    if str in types:
        return _TypeAndConversion(value_type, number_or_text)
    return _TypeAndConversion(value_type, partial(number, flag=flag, number_type=numeric))


def _takes_text_of_form(name: str, types: Sequence[Any]) -> bool:
    """Tell whether a parameter with a name in `_FORMS` takes text of that form."""
    if name == "columns" and not any(get_origin(value_type) is Mapping for value_type in types):
        # These are the columns of a table, and no mapping from columns to scores.
        return False
    return name in _SINGLE_TEXT or _takes_many(types)


def _option(parameter: inspect.Parameter, flag: str, option_text: OptionText, *, has_default: bool) -> Option:
    """Make the option of one parameter."""
    name = parameter.name
    default = parameter.default
    type_and_conversion = _option_type_and_conversion(parameter, flag)
    value_type = type_and_conversion.value_type
    settings = _typer_settings(value_type) | dict(type_and_conversion.settings)
    takes_list = value_type == list[str] | None
    help_text = option_text.sentence_with_choices()
    if type_and_conversion.example:
        help_text = f"{help_text} Example: {type_and_conversion.example}."
    if takes_list and isinstance(default, tuple) and default and has_default:
        help_text = f"{help_text} (default: {','.join(map(str, default))})"
    if takes_list or not has_default:
        default = None
        value_type = value_type | None
    if name == "reference" and default is parameter.empty:
        # If it is not given, the error of the function lists the methods, which typer's would not.
        help_text = f"{help_text} (required)"
        default = ""
        settings["show_default"] = False
    names = ("--metrics", "--metric") if name == "metrics" else (flag,)
    info = typer.Option(
        *names, help=help_text.replace("[", r"\["), rich_help_panel=option_text.panel, **settings
    )
    on_flag = flag.partition("/")[0]
    typer_parameter = inspect.Parameter(
        on_flag[2:].replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[value_type, info],
        default=default,
    )
    convert = _with_none_marked(parameter, _skipping_none(type_and_conversion.convert), option_text.choices)
    return Option(name, on_flag, typer_parameter, convert)


def _with_none_marked(
    parameter: inspect.Parameter, convert: Callable[[Any], Any], choices: Sequence[str]
) -> Callable[[Any], Any]:
    """Return a conversion that reads the text `none` where the parameter takes None."""
    takes_none = type(None) in _types_in_union(parameter.annotation)

    def convert_or_set_to_none_marker(typed: Any) -> Any:
        if parameter.name == "by" and typed == ["none"]:
            # no groups: `by=()`, which is not the default
            return ()
        is_none = typed == "None"
        if typed == "none" and "none" not in choices:
            is_none = True
        if not (takes_none and is_none):
            return convert(typed)
        if parameter.default is None:
            # None is the default, so that the option need not be passed on.
            return None
        return SET_TO_NONE

    return convert_or_set_to_none_marker


def _types_in_union(annotation: Any) -> list[Any]:
    """Return the types of a union and of unions inside it; any other annotation is the only type."""
    if get_origin(annotation) not in (Union, UnionType):
        return [annotation]
    members = []
    for member in get_args(annotation):
        members.extend(_types_in_union(member))
    return members


def _takes_many(types: Sequence[Any]) -> bool:
    """Tell whether a parameter takes a list or a dict."""
    collections = (Sequence, Iterable, Mapping, list, dict)
    return any(get_origin(value_type) in collections for value_type in types)


def _is_list_of(types: Sequence[Any], number_type: type) -> bool:
    """Tell whether a parameter takes a list of numbers of this type, int or float."""
    return Sequence[number_type] in types or Iterable[number_type] in types  # type: ignore[valid-type]


def documentation_by_parameter(function: Callable[..., Any]) -> dict[str, Documentation]:
    """Read the first sentence and the choices of each parameter from a function's docstring."""
    parsed = docstring_parser.parse(
        inspect.getdoc(function) or "", style=docstring_parser.DocstringStyle.NUMPYDOC
    )
    documented = {}
    for parameter in parsed.params:
        text = " ".join((parameter.description or "").split()).replace("`", "")
        sentence = f"{text.partition('. ')[0].rstrip('.')}."
        for name in parameter.arg_name.split(", "):
            documented[name] = Documentation(sentence, _choices_in_braces(parameter.type_name or ""))
    return documented


def _choices_in_braces(type_text: str) -> tuple[str, ...]:
    """List the choices that a parameter's type gives in braces, as in `{"mean", "median"}`."""
    if not type_text.startswith("{"):
        return ()
    listed = type_text[1:].partition("}")[0]
    values = ast.literal_eval(f"[{listed}]")
    return tuple(str(value) for value in values if value is not None)
