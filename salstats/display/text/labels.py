"""Names of columns and their values in print, and the order in which they stand."""

import copy
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from numbers import Real
from typing import Any, NamedTuple

import pandas as pd

from salstats.checks import quoted
from salstats.coded_text import TEXT
from salstats.display.text.format import MINUS, MISSING, is_missing
from salstats.errors import FormulaError, SalstatsError, Setting, warn
from salstats.metrics.registry import METRICS, registered_metric
from salstats.stats.agreement.records import LABELS as AGREEMENT
from salstats.stats.engine.grouping import AVERAGE, OVERALL
from salstats.stats.engine.score_reasons import SEVERAL
from salstats.stats.models.formulas import parse_formula
from salstats.study import HUMAN

#: Text between the variables of an interaction.
TIMES = " \u00d7 "
#: Labels of rows that pool or average the others, in the order in which they end a table.
SUMMARY_LABELS = (OVERALL, AVERAGE)
#: Headings of columns in print; other headings are made from the column's name.
_COLUMN_HEADINGS = {
    "n": "n",
    "prob": "Model confidence",
    "auroc": "AUROC",
    "area_ratio": "Relative size",
    "n_instances": "Number of instances",
    "irrectangularity": "Irrectangularity",
    "elongation": "Elongation",
    "label": "Finding present",
    "(Intercept)": "Intercept",
}
#: Parts of a model of scores of which many are exactly 0 or 1.
_MODEL_PARTS = {
    "mean": "Scores in between",
    "zero": "Zeros over scores in between",
    "one": "Ones over scores in between",
}
#: Columns whose values are metrics or may be; metrics stand in the registry's order.
_METRIC_COLUMNS = ("metric", "x", "y")
#: Methods as their authors spell them, by their names in lower case without blanks, hyphens and underscores.
METHOD_SPELLINGS = {
    HUMAN: "Human benchmark",
    "saliency": "Saliency method",
    "gradcam": "Grad-CAM",
    "gradcam++": "Grad-CAM++",
    "gradcampp": "Grad-CAM++",
    "gradcamplusplus": "Grad-CAM++",
    "scorecam": "Score-CAM",
    "layercam": "Layer-CAM",
    "eigencam": "Eigen-CAM",
    "xgradcam": "XGrad-CAM",
    "hirescam": "HiRes-CAM",
    "ablationcam": "Ablation-CAM",
    "cam": "CAM",
    "ig": "Integrated Gradients",
    "integratedgradients": "Integrated Gradients",
    "deeplift": "DeepLIFT",
    "lrp": "LRP",
    "lime": "LIME",
    "rise": "RISE",
    "shap": "SHAP",
    "kernelshap": "KernelSHAP",
    "gradientshap": "GradientSHAP",
    "occlusion": "Occlusion",
    "interobserver": "Interobserver",
    "inputxgradient": "Input x Gradient",
    "attentionrollout": "Attention rollout",
}
#: Units at the end of columns' names, as they stand in print.
_UNIT_BY_NAME_ENDING = {
    "mm": "mm",
    "mm2": "mm\u00b2",
    "mm3": "mm\u00b3",
    "px": "px",
    "px2": "px\u00b2",
    "px3": "px\u00b3",
}
#: Units in brackets at the end of labels.
_UNITS_IN_LABELS = (
    *_UNIT_BY_NAME_ENDING.values(),
    *("cm", "cm\u00b2", "cm\u00b3", "ml", "mL", "years", "months", "weeks", "days", "h", "min", "s"),
    *("kg", "g", "kg/m\u00b2", "HU", "mSv", "Gy", "%"),
)
#: Key under which users give colours, not labels.
_COLOURS_KEY = "colours"


class _ValueSortKey(NamedTuple):
    """Sort key of a value of a column: the first entry in which two values differ decides."""

    summary_position: int
    is_not_reference: bool
    named_position: int
    category_position: int
    metric_position: int


class Labels:
    """Labels and order of columns' values: those of a user, else those of the package.

    Parameters
    ----------
    labels : Mapping or Labels, optional
        A label for a column, method, task or term of that name (`{"prob": "Confidence"}`), or for a column
        the labels of its values as a mapping, or its values as a list, in the order in which they stand:
        `{"method": {"human": "Radiologist"}, "task": ["Edema", "Atelectasis"]}`. Values without an entry
        follow in the order of a Categorical's categories, else of their text, with numbers in it by size;
        "Overall" and "Average" stand last unless they have an entry. `"colours"` maps the methods or other
        groups of a figure to colours: `{"colours": {"gradcam": "#004488"}}`.
    frame : DataFrame, optional
        The frame of the table or figure. Its Categoricals give the order of their values, `distance_unit` the
        unit of its metrics, `human_label` the name of the method `human` where that is no human benchmark. A
        mapping with a misspelled name of the frame raises a warning; `Labels` are not checked again.
    """

    def __init__(
        self, labels: "Mapping[str, Any] | Labels | None" = None, frame: pd.DataFrame | None = None
    ) -> None:
        #: Labels that a user gave for names and values in any column.
        self._labels_of_any_column: dict[str, str] = {}
        #: Labels that a user gave for the values of one column.
        self._value_labels_by_column: dict[str, dict[str, str]] = {}
        self.colours: dict[str, str] = {}
        self._distance_units = _distance_unit_by_metric(frame)
        self._human = _human_label(frame)
        #: Methods that share the colours of a figure: those named by a user, then others of the frame.
        self._methods = _methods_and_references_of(frame)
        self._has_other_labels = _has_labels_besides_0_and_1(frame)
        #: Numeric variables of models by the column of marginal estimates that holds their values.
        self._variables_of_numbers = _numeric_model_variable_by_value_column(frame)
        #: Methods that stand first unless a user named them.
        self._references: tuple[str, ...] = ()
        #: Positions of values by column, of columns that are Categoricals.
        self._ranks: dict[str, dict[str, int]] = {}
        if frame is not None:
            self._ranks = {str(column): _position_by_category(frame[column]) for column in frame.columns}
        if isinstance(labels, Labels):
            self._take_labels_from(labels)
        else:
            self._add_mapping(labels)
            if labels and frame is not None:
                self._warn_of_misspellings(frame)

    def _warn_of_misspellings(self, frame: pd.DataFrame) -> None:
        """Warn if names that have a label or a colour are misspelled names of a frame."""
        names = [*self._labels_of_any_column, *self._value_labels_by_column]
        for labels_of_values in self._value_labels_by_column.values():
            names += labels_of_values
        _warn_if_misspelled_or_all_unknown([*names, *self.colours], frame)

    def _take_labels_from(self, labels: "Labels") -> None:
        """Take labels from other `Labels`; facts of this frame take precedence over those of their frame."""
        self._labels_of_any_column = labels._labels_of_any_column
        self._value_labels_by_column = labels._value_labels_by_column
        self.colours = labels.colours
        self._distance_units = labels._distance_units | self._distance_units
        self._human = self._human or labels._human
        self._methods = tuple(dict.fromkeys((*labels._methods, *self._methods)))
        self._ambiguous_spellings = _ambiguous_method_spellings(self._methods)
        self._has_other_labels = labels._has_other_labels or self._has_other_labels
        self._variables_of_numbers = labels._variables_of_numbers | self._variables_of_numbers
        self._ranks = labels._ranks | {column: ranks for column, ranks in self._ranks.items() if ranks}

    def _add_mapping(self, labels: Mapping[str, Any] | None) -> None:
        """Divide a user's mapping into labels of one column, labels of any column, and colours."""
        if labels is not None and not isinstance(labels, Mapping):
            raise SalstatsError(
                "labels must be a mapping, such as {'gradcam': 'Grad-CAM'} or "
                f"{{'task': ['Edema', 'Atelectasis']}}, not {type(labels).__name__}",
                option="labels",
            )
        lists = {}
        for key, value in (labels or {}).items():
            if key == _COLOURS_KEY:
                self.colours = _checked_colours_as_hex(value)
            elif isinstance(value, Mapping):
                self._value_labels_by_column[str(key)] = {_value_text(k): str(v) for k, v in value.items()}
            elif isinstance(value, Sequence) and not isinstance(value, str):
                lists[str(key)] = value
            else:
                self._labels_of_any_column[str(key)] = str(value)
        self._ambiguous_spellings = _ambiguous_method_spellings(self._methods)
        # a list orders values that another entry, before or after it, may rename
        for column, values in lists.items():
            self._value_labels_by_column[column] = {
                _value_text(value): self.value(column, value) for value in values
            }
        self._methods = tuple(dict.fromkeys((*self.values_named_by_user("method"), *self._methods)))
        self._ambiguous_spellings = _ambiguous_method_spellings(self._methods)

    def with_references_first(self, references: Iterable[str]) -> "Labels":
        """Return the same labels with some methods first, except for those that a user named."""
        labels = copy.copy(self)
        labels._references = tuple(references)
        return labels

    def column(self, name: str) -> str:
        """Return the heading of a column, a covariate or a metric used as one."""
        if name in self._labels_of_any_column:
            return self._labels_of_any_column[name]
        if name == HUMAN and self._human:
            return self._human
        metric = registered_metric(name)
        if metric is not None:
            return metric.label
        if name == "label" and self._has_other_labels:
            return _heading_from_name(name)
        return _COLUMN_HEADINGS.get(name) or _heading_from_name(name)

    def user_column_label(self, name: str) -> str | None:
        """Return the heading that a user gave to a column, None where it has that of the package."""
        label = self.column(name)
        return None if label == Labels().column(name) else label

    def user_value_label(self, column: str, value: Hashable) -> str | None:
        """Return the label that a user gave to a value of a column, None where it has that of the package."""
        label = self.value(column, value)
        return None if label == Labels().value(column, value) else label

    # sources of a label one after the other, the user's first
    def value(self, column: str, value: Hashable) -> str:  # noqa: C901
        """Return the label of one value of a column."""
        if is_missing(value):
            return MISSING
        text = _value_text(value)
        if text in self._value_labels_by_column.get(column, {}):
            return self._value_labels_by_column[column][text]
        if text in self._labels_of_any_column:
            return self._labels_of_any_column[text]
        if column in self._variables_of_numbers and isinstance(value, Real):
            return self._equation_text(self._variables_of_numbers[column], value)
        if column == "metric":
            metric = registered_metric(text)
            label = text if metric is None else metric.label
            if text in self._distance_units:
                return f"{label} ({self._distance_units[text]})"
            return label
        if column == "part" and text in _MODEL_PARTS:
            return _MODEL_PARTS[text]
        if column in ("method", "reference", "reference_level"):
            if text == HUMAN and self._human:
                return self._human
            spelling = method_spelling(text)
            if spelling is None or spelling in self._ambiguous_spellings:
                return text
            return spelling
        if column in ("term", "x", "y", "covariate", "predictor", "response"):
            return self.term(text)
        return text

    def _equation_text(self, variable: str, number: Real) -> str:
        """Return the value of a variable with its name and its unit: "Area = 1,712 mm²"."""
        unit = self.unit_of_measure(variable)
        name = self.column(variable).removesuffix(f" ({unit})")
        # ten digits tell values apart without their rounding errors
        text = f"{float(number):,.10g}".replace("-", MINUS)
        return f"{name} = {text} {unit}".rstrip()

    def column_and_value_text(self, column: str, value: Hashable) -> str:
        """Return the label of a value with its column: "Task: Edema", for a number "Log area = 8"."""
        text = self.value(column, value)
        if isinstance(value, Real) and text == self._equation_text(column, value):
            return text
        return f"{self.column(column)}: {text}"

    def term(self, name: str) -> str:
        """Return the label of a term: a coefficient of agreement, or a term of a regression such as `a:b`."""
        if name in self._labels_of_any_column:
            return self._labels_of_any_column[name]
        if name in AGREEMENT:
            return AGREEMENT[name]
        variables = re.split(":(?! )", name)
        if len(variables) > 1 and "(" not in name:
            return TIMES.join(map(self.term, variables))
        if name == "(Intercept)" or re.fullmatch(r"\w+", name):
            return self.column(name)
        return name

    def unit_of_measure(self, column: str) -> str:
        """Return the unit in which a covariate is measured, "" where neither its label nor its name has one.

        Labels have it in brackets at their end, names after the last underscore: "Area (mm²)", `area_mm2`.
        """
        label = self.term(column)
        for unit in _UNITS_IN_LABELS:
            if label.endswith(f"({unit})"):
                return unit
        return _UNIT_BY_NAME_ENDING.get(column.rpartition("_")[2], "")

    def values_named_by_user(self, column: str) -> tuple[str, ...]:
        """Return the values of a column that a user named."""
        return tuple(self._value_labels_by_column.get(column, {}))

    def order(self, column: str, values: Iterable[Hashable]) -> list[Any]:
        """Return the distinct values in their order.

        The references of `with_references_first` are the first, unless a user named them, then come the
        values that a user named, then the others. "Overall" and "Average" are the last unless a user named
        them. Others have the order of their categories if they are a Categorical, here or in the frame; else
        metrics that of the registry, and other texts that of the alphabet, with numbers in them by size.
        """
        ranks = _position_by_category(values) or self._ranks.get(column, {})
        distinct = list(dict.fromkeys(value for value in values if not is_missing(value)))
        named = {text: position for position, text in enumerate(self.values_named_by_user(column))}
        metrics = {}
        if column in _METRIC_COLUMNS:
            metrics = {name: position for position, name in enumerate(METRICS)}

        def sort_key_references_first_summaries_last(value: Any) -> _ValueSortKey:
            text = _value_text(value)
            is_reference = column == "method" and text in self._references and text not in named
            summary_position = 0
            if text in SUMMARY_LABELS and text not in named:
                summary_position = 1 + SUMMARY_LABELS.index(text)
            return _ValueSortKey(
                summary_position=summary_position,
                is_not_reference=not is_reference,
                named_position=named.get(text, len(named)),
                category_position=ranks.get(text, len(ranks)),
                metric_position=metrics.get(text, len(metrics)),
            )

        are_texts = all(isinstance(value, str) for value in distinct)
        if are_texts and column not in ("term", *_METRIC_COLUMNS):
            distinct.sort(key=lambda value: natural_sort_key(self.value(column, value)))
        return sorted(distinct, key=sort_key_references_first_summaries_last)

    def palette_methods(self, figure_methods: Iterable[str]) -> list[str]:
        """Return the methods that share colours with those that a figure shows, in the order of labels."""
        figure_methods = list(figure_methods)
        if set(figure_methods).isdisjoint(self._methods):
            # the figure shows tasks, models or other groups instead of methods
            return figure_methods
        return self.order("method", list(dict.fromkeys((*self._methods, *figure_methods))))

    def label_by_value(self, column: str, values: Iterable[Hashable]) -> dict[Any, str]:
        """Return the label of each distinct value in order; raise if two values have the same label."""
        label_by_value = {value: self.value(column, value) for value in self.order(column, values)}
        if len(set(label_by_value.values())) < len(label_by_value):
            raise SalstatsError(
                f"labels give two values of column {column!r} the same label", option="labels", column=column
            )
        return label_by_value

    def categorical(self, frame: pd.DataFrame, column: str, reverse: bool = False) -> pd.Categorical:
        """Return the labels of a column's values as an ordered Categorical."""
        label_by_value = self.label_by_value(column, frame[column])
        categories = list(label_by_value.values())
        if reverse:
            categories.reverse()
        labels = [label_by_value.get(value) for value in frame[column]]
        return pd.Categorical(labels, categories=categories, ordered=True)


def natural_sort_key(text: str) -> list[tuple[float, str]]:
    """Return a sort key that ignores case and sorts numbers by their size: "Task 2" before "Task 10"."""
    key = []
    for substring in re.split(r"(\d+)", text.casefold()):
        if substring.isdecimal():
            key.append((float(substring), ""))
        else:
            # text and numbers alternate, so that text is compared with text and numbers with numbers
            key.append((-1.0, substring))
    return key


def _value_text(value: Hashable) -> str:
    """Return the name of a value: its text, without decimals where it is a whole number.

    A column of whole numbers, such as seeds, has floats where some of its values are missing.
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def method_spelling(name: str) -> str | None:
    """Return the name of a method as its authors spell it, None for other methods.

    >>> method_spelling("grad_cam"), method_spelling("Grad-CAM \N{GREEK SMALL LETTER ALPHA}")
    ('Grad-CAM', None)
    """
    return METHOD_SPELLINGS.get(re.sub(r"[\s_-]", "", name.lower()))


def _ambiguous_method_spellings(methods: Iterable[str]) -> set[str]:
    """Return the spellings that several methods share; these methods keep the names of the frame."""
    spellings = [method_spelling(method) for method in methods]
    return {spelling for spelling in spellings if spelling is not None and spellings.count(spelling) > 1}


def _has_labels_besides_0_and_1(frame: pd.DataFrame | None) -> bool:
    """Return whether a frame's column `label` has values besides 0 for absent and 1 for present."""
    return any(value not in (0, 1) for value in _distinct_values(frame, "label"))


def _checked_colours_as_hex(colours: object) -> dict[str, str]:
    """Return colours that a user gave, as Matplotlib writes them."""
    # imported late: Matplotlib takes a while to load, and few users choose colours
    from matplotlib.colors import is_color_like, to_hex

    if not isinstance(colours, Mapping):
        raise SalstatsError(
            f"labels[{_COLOURS_KEY!r}] must be a mapping, such as {{'gradcam': '#004488'}}, not "
            f"{type(colours).__name__}",
            option="labels",
        )
    for name, colour in colours.items():
        if not is_color_like(colour):
            raise SalstatsError(
                f"labels[{_COLOURS_KEY!r}] gives ",
                repr(name),
                f" {colour!r}, which is no colour such as '#004488'",
                option="labels",
                value=colour,
            )
    return {str(name): to_hex(colour) for name, colour in colours.items()}


def _methods_and_references_of(frame: pd.DataFrame | None) -> tuple[str, ...]:
    """Return the methods of a frame, and the references that they are compared with."""
    names = [*_distinct_values(frame, "method"), *_distinct_values(frame, "reference")]
    return tuple(dict.fromkeys(map(str, names)))


def _warn_if_misspelled_or_all_unknown(keys: Sequence[str], frame: pd.DataFrame) -> None:
    """Warn of labels that look like misspelled names of a frame, or if no label names anything in it."""
    column_names = {str(column) for column in frame.columns}
    package_names = {*_COLUMN_HEADINGS, *METHOD_SPELLINGS, *METRICS, *SUMMARY_LABELS}
    unknown = [key for key in keys if key not in package_names and key not in column_names]
    if not unknown:
        # a search of all values of a large frame would take long
        return
    frame_names = column_names | _variables_and_levels_of_terms(frame)
    for column in frame.columns:
        if not _is_float_column(frame[column]):
            frame_names |= {str(value) for value in frame[column].dropna().unique()}
    unknown = [key for key in unknown if key not in frame_names]
    # one mapping may serve many tables: a name that is absent here is no misspelling unless it resembles a
    # name of the frame that no label is given for
    spellings = {name.casefold(): name for name in frame_names.difference(keys)}
    suggestions = {}
    for key in unknown:
        matches = get_close_matches(key.casefold(), spellings, n=1, cutoff=0.8)
        if matches:
            suggestions[key] = spellings[matches[0]]
    are_all_unknown = bool(unknown) and len(unknown) == len(keys)
    if suggestions:
        names = ", ".join(f"{key!r} (did you mean {name!r}?)" for key, name in suggestions.items())
        misspelled = list(suggestions)
    elif are_all_unknown:
        names = quoted(unknown)
        misspelled = unknown
    else:
        return
    warn(
        Setting("labels"),
        f" names {names}: no column and no value of what is shown",
        value=misspelled,
        choices=suggestions.values(),
    )


def _variables_and_levels_of_terms(frame: pd.DataFrame) -> set[str]:
    """Return columns and levels in the terms of a frame (`area_ratio:taskEdema`), and formulas' variables."""
    factors_with_levels: set[str] = set()
    for term in _distinct_values(frame, "term"):
        identifiers = re.findall(r"\w+", str(term))
        factors_with_levels |= {*identifiers, *str(term).split(":")}
    variables = {str(factor) for factor in _distinct_values(frame, "factor")}
    for text in _distinct_values(frame, "formula"):
        # the column may hold another package's model
        with suppress(FormulaError):
            formula = parse_formula(text)
            variables |= set(formula.columns)
            for factors in formula.terms:
                variables |= {factor.name for factor in factors}
    levels = set()
    for variable in variables:
        for name in factors_with_levels:
            if name.startswith(variable):
                levels.add(name.removeprefix(variable))
    return (factors_with_levels | variables | levels) - {""}


def _distinct_values(frame: pd.DataFrame | None, column: str) -> Sequence[Any]:
    """Return the distinct values of a column, none where there is no frame or it does not have the column."""
    if frame is None or column not in frame.columns:
        return []
    return list(frame[column].dropna().unique())


def _numeric_model_variable_by_value_column(frame: pd.DataFrame | None) -> dict[str, str]:
    """Return the numeric variable of each column of marginal estimates that holds values of one.

    Frames of marginal estimates have the columns `formula` and `average` (over a grid, or over the model's
    rows). Their column `reference_level` has values of the variable before it. The result is empty for other
    frames.
    """
    if frame is None or not (_distinct_values(frame, "formula") and _distinct_values(frame, "average")):
        return {}
    variables: set[str] = set()
    for text in _distinct_values(frame, "formula"):
        # the column may hold another package's model
        with suppress(FormulaError):
            variables |= set(parse_formula(text).columns)
    variable_by_column = {}
    previous = ""
    for column in frame.columns:
        variable = previous if column == "reference_level" else column
        if variable in variables and pd.api.types.is_numeric_dtype(frame[column]):
            variable_by_column[column] = variable
        previous = column
    return variable_by_column


def _is_float_column(column: pd.Series) -> bool:
    """Return whether a column holds measurements, which have no labels."""
    return bool(pd.api.types.is_float_dtype(column))


def _position_by_category(values: object) -> dict[str, int]:
    """Return the position of each category of a Categorical, nothing for other values."""
    dtype = getattr(values, "dtype", None)
    categories = getattr(dtype, "categories", ())
    return {_value_text(category): position for position, category in enumerate(categories)}


def _distance_unit_by_metric(frame: pd.DataFrame | None) -> dict[str, str]:
    """Return the unit of each metric of a frame that has one only."""
    if frame is None or not {"metric", "distance_unit"} <= set(frame.columns):
        return {}
    pairs = frame.loc[frame["distance_unit"].notna(), ["metric", "distance_unit"]].drop_duplicates()
    has_several_units = pairs["metric"].duplicated(keep=False) | (pairs["distance_unit"] == SEVERAL)
    pairs = pairs[~has_several_units]
    return dict(zip(pairs["metric"].astype(TEXT), pairs["distance_unit"].astype(TEXT), strict=True))


def _human_label(frame: pd.DataFrame | None) -> str | None:
    """Return the name of the method `human` in a frame that has one name for it."""
    names = _distinct_values(frame, "human_label")
    if len(names) != 1 or names[0] == SEVERAL:
        return None
    return str(names[0])


def _heading_from_name(name: str) -> str:
    """Return a column's name as words: `std_error` -> "Std error"; names that are not snake case stay.

    A unit at its end stands in brackets: `area_mm2` -> "Area (mm²)".
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        return name
    quantity, _, ending = name.rpartition("_")
    if quantity and ending in _UNIT_BY_NAME_ENDING:
        return f"{_heading_from_name(quantity)} ({_UNIT_BY_NAME_ENDING[ending]})"
    return name.replace("_", " ").capitalize()
