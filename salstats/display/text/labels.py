"""What columns and their values are called in print, and in which order they stand."""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

import pandas as pd

from salstats.checks import FormulaError, SalstatsError, quoted, warn
from salstats.display.text.format import MISSING
from salstats.metrics.registry import METRICS, known_metric
from salstats.stats.agreement.records import LABELS as AGREEMENT
from salstats.stats.engine.carried import SEVERAL
from salstats.stats.engine.design import AVERAGE, OVERALL
from salstats.stats.models.formulas import parse_formula
from salstats.study import HUMAN

#: Between the variables of an interaction.
TIMES = " \u00d7 "
#: Rows that close a table, whatever the order of the others.
LAST = (OVERALL, AVERAGE)
#: Names of columns in print; others are made from the name itself.
_COLUMNS = {
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
#: Parts of a model of scores with lumps at 0 and 1.
_PARTS = {
    "mean": "Scores in between",
    "zero": "Zeros over scores in between",
    "one": "Ones over scores in between",
}
#: Columns whose values are metrics, or may be: these stand in the registry's order.
_METRIC_COLUMNS = ("metric", "x", "y")
#: Methods as their authors spell them, by their names in lower case without blanks, hyphens and underscores.
METHODS = {
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
#: Key of what a user gives that holds colours, not labels.
_COLOURS = "colours"


class Labels:
    """Labels and order of columns' values, from what a user gave and the house's own.

    `given` is any mix of raw text -> label, for column names, methods, tasks and terms alike, and of
    column -> mapping or list, for one column's values in the order they should stand
    (`{"prob": "Confidence", "method": {"human": "Radiologist"}, "task": ["Edema", "Atelectasis"]}`). Values
    that are not named follow in the order of a Categorical's categories, else of text, numbers in it by
    their size; "Overall" and "Average" stand last unless they are named. `"colours"` maps methods, or
    whatever else figures tell apart by colour, to colours: `{"colours": {"gradcam": "#004488"}}`.

    `frame` is what is shown: its Categoricals say the order of their values, `distance_unit` the unit of its
    metrics, `human_label` what the method `human` stands for, where that is no human benchmark. What is
    given and looks like a slip of what it shows warns; ready `Labels` are not looked at again.
    """

    def __init__(
        self, given: "Mapping[str, Any] | Labels | None" = None, frame: pd.DataFrame | None = None
    ) -> None:
        self._flat: dict[str, str] = {}
        self._columns: dict[str, dict[str, str]] = {}
        self.colours: dict[str, str] = {}
        self._units = _units(frame)
        self._human = _human(frame)
        #: Methods that share the colours of a figure: those named, then those of the frame.
        self._methods = _methods_of(frame)
        self._other_label = _is_other_label(frame)
        self._ranks = {} if frame is None else {str(c): _ranks(frame[c]) for c in frame.columns}
        if isinstance(given, Labels):
            self._flat, self._columns = given._flat, given._columns
            self._units = given._units | self._units
            self._human = given._human or self._human
            self._methods = tuple(dict.fromkeys((*given._methods, *self._methods)))
            self._shared = _shared_spellings(self._methods)
            self._other_label = given._other_label or self._other_label
            self.colours = given.colours
            self._ranks = given._ranks | {c: ranks for c, ranks in self._ranks.items() if ranks}
            return
        if given is not None and not isinstance(given, Mapping):
            raise SalstatsError(
                "labels must be a mapping, such as {'gradcam': 'Grad-CAM'} or "
                f"{{'task': ['Edema', 'Atelectasis']}}, not {type(given).__name__}"
            )
        lists = {}
        for key, value in (given or {}).items():
            if key == _COLOURS:
                self.colours = _colours(value)
            elif isinstance(value, Mapping):
                self._columns[str(key)] = {str(k): str(v) for k, v in value.items()}
            elif isinstance(value, Sequence) and not isinstance(value, str):
                lists[str(key)] = value
            else:
                self._flat[str(key)] = str(value)
        self._shared = _shared_spellings(self._methods)
        # a list orders values that another entry, before or after it, may rename
        for column, values in lists.items():
            self._columns[column] = {str(v): self.value(column, v) for v in values}
        self._methods = tuple(dict.fromkeys((*self.named("method"), *self._methods)))
        self._shared = _shared_spellings(self._methods)
        if given and frame is not None:
            named = [value for own in self._columns.values() for value in own]
            _warn_of_unknown([*self._flat, *self._columns, *named, *self.colours], frame)

    def column(self, name: str) -> str:
        """The heading of a column, a covariate or a metric used as one."""
        if name in self._flat:
            return self._flat[name]
        if name == HUMAN and self._human:
            return self._human
        known = known_metric(name)
        if known is not None:
            return known.label
        if name == "label" and self._other_label:
            return _sentence(name)
        return _COLUMNS.get(name) or _sentence(name)

    def value(self, column: str, value: Hashable) -> str:
        """The label of one value of a column."""
        if value is None or value != value:
            return MISSING
        text = str(value)
        for known in (self._columns.get(column, {}), self._flat):
            if text in known:
                return known[text]
        if column == "metric":
            metric = known_metric(text)
            label = text if metric is None else metric.label
            return f"{label} ({self._units[text]})" if text in self._units else label
        if column == "part" and text in _PARTS:
            return _PARTS[text]
        if column in ("method", "reference", "reference_level"):
            if text == HUMAN and self._human:
                return self._human
            spelling = known_method(text)
            return text if spelling is None or spelling in self._shared else spelling
        if column in ("term", "x", "y", "covariate", "predictor", "response"):
            return self.term(text)
        return text

    def term(self, name: str) -> str:
        """The label of a term: of agreement, or a regression's `I(age^2)` and `a:b` by their parts."""
        if name in self._flat:
            return self._flat[name]
        if name in AGREEMENT:
            return AGREEMENT[name]
        if len(parts := re.split(":(?! )", name)) > 1 and "(" not in name:
            return TIMES.join(map(self.term, parts))
        if name == "(Intercept)" or re.fullmatch(r"\w+", name):
            return self.column(name)
        return name

    def named(self, column: str) -> tuple[str, ...]:
        """The values of a column that were given by name."""
        return tuple(self._columns.get(column, {}))

    def order(self, column: str, values: Iterable[Hashable]) -> list[Any]:
        """The distinct values in the order they stand: those named first, "Average" last.

        A Categorical has its order from itself, as far as it is one here or was in the frame.
        """
        ranks = _ranks(values) or self._ranks.get(column, {})
        distinct = list(dict.fromkeys(v for v in values if v is not None and v == v))
        named = {text: i for i, text in enumerate(self._columns.get(column, {}))}
        metrics = {name: i for i, name in enumerate(METRICS)} if column in _METRIC_COLUMNS else {}

        def place(value: Any) -> tuple[bool, int, int, int]:
            text = str(value)
            last = LAST.index(text) + 1 if text in LAST and text not in named else 0
            rank = ranks.get(text, len(ranks))
            return last > 0, named.get(text, len(named) + last), rank, metrics.get(text, len(metrics))

        if all(isinstance(v, str) for v in distinct) and column not in ("term", *_METRIC_COLUMNS):
            distinct.sort(key=lambda v: by_numbers(self.value(column, v)))
        return sorted(distinct, key=place)

    def methods(self, shown: Iterable[str]) -> list[str]:
        """The methods that share colours with those that a figure shows, in the order they stand."""
        shown = list(shown)
        if set(shown).isdisjoint(self._methods):
            # tasks, models, or lines that have other names
            return shown
        return self.order("method", list(dict.fromkeys((*self._methods, *shown))))

    def texts(self, column: str, values: Iterable[Hashable]) -> dict[Any, str]:
        """The label of each distinct value, in the order they stand; SalstatsError where two are the same."""
        texts = {v: self.value(column, v) for v in self.order(column, values)}
        if len(set(texts.values())) < len(texts):
            raise SalstatsError(f"labels give two values of column {column!r} the same label")
        return texts

    def categorical(self, frame: pd.DataFrame, column: str, reverse: bool = False) -> pd.Categorical:
        """A column as labels, a Categorical in the order they stand."""
        texts = self.texts(column, frame[column])
        categories = list(texts.values())
        labels = [texts.get(v) for v in frame[column]]
        return pd.Categorical(labels, categories=categories[::-1] if reverse else categories, ordered=True)


def by_numbers(text: str) -> list[tuple[float, str]]:
    """Key by which texts are sorted: whatever their case, and numbers by their size ("Task 2", "Task 10")."""
    parts = re.split(r"(\d+)", text.casefold())
    return [(float(part), "") if i % 2 else (-1.0, part) for i, part in enumerate(parts)]


def known_method(name: str) -> str | None:
    """Return a method as its authors spell it, None for one that is not known.

    >>> known_method("grad_cam"), known_method("Grad-CAM \N{GREEK SMALL LETTER ALPHA}")
    ('Grad-CAM', None)
    """
    return METHODS.get(re.sub(r"[\s_-]", "", name.lower()))


def _shared_spellings(methods: Iterable[str]) -> set[str]:
    """Return spellings that several methods have in common: these methods keep the names that they have."""
    spellings = [known_method(method) for method in methods]
    return {known for known in spellings if known is not None and spellings.count(known) > 1}


def _is_other_label(frame: pd.DataFrame | None) -> bool:
    """Return whether a frame's column `label` holds something else than 0 for absent and 1 for present."""
    if frame is None or "label" not in frame.columns:
        return False
    return not frame["label"].dropna().isin([0, 1]).all()


def _colours(given: object) -> dict[str, str]:
    """Colours that a user gave, as Matplotlib writes them."""
    # only who chooses colours waits for it
    from matplotlib.colors import is_color_like, to_hex

    if not isinstance(given, Mapping):
        raise SalstatsError(
            f"labels[{_COLOURS!r}] must be a mapping, such as {{'gradcam': '#004488'}}, not "
            f"{type(given).__name__}"
        )
    for name, colour in given.items():
        if not is_color_like(colour):
            raise SalstatsError(
                f"labels[{_COLOURS!r}] gives {name!r} {colour!r}, which is no colour such as '#004488'"
            )
    return {str(name): to_hex(colour) for name, colour in given.items()}


def _methods_of(frame: pd.DataFrame | None) -> tuple[str, ...]:
    """The methods of a frame, and what they are compared with."""
    if frame is None:
        return ()
    columns = [c for c in ("method", "reference") if c in frame.columns]
    return tuple(dict.fromkeys(str(v) for c in columns for v in frame[c].dropna().unique()))


def _warn_of_unknown(keys: Sequence[str], frame: pd.DataFrame) -> None:
    """Warn of labels that look like slips of what is shown, and where none of them names any of it."""
    house = {*_COLUMNS, *METHODS, *METRICS, *LAST, *map(str, frame.columns)}
    unknown = [key for key in keys if key not in house]
    if not unknown:
        return
    values = {str(v) for c in frame.columns if not _is_measured(frame[c]) for v in frame[c].dropna().unique()}
    shown = {*map(str, frame.columns), *values, *_in_terms(frame)}
    unknown = [key for key in unknown if key not in shown]
    # one mapping may serve many tables: what is absent here is no slip unless it resembles what is not named
    spelled = {name.casefold(): name for name in shown.difference(keys)}
    close = {key: get_close_matches(key.casefold(), spelled, n=1, cutoff=0.8) for key in unknown}
    slips = [f"{key!r} (did you mean {spelled[found[0]]!r}?)" for key, found in close.items() if found]
    if slips or (unknown and len(unknown) == len(keys)):
        warn(f"labels= names {', '.join(slips) or quoted(unknown)}: no column and no value of what is shown")


def _in_terms(frame: pd.DataFrame) -> set[str]:
    """What terms are made of, columns and levels (`area_ratio:taskEdema`), and formulas' variables."""
    terms, formulas, factors = (
        frame[c].dropna().unique() if c in frame.columns else () for c in ("term", "formula", "factor")
    )
    pieces = {p for t in terms for p in (*re.findall(r"\w+", str(t)), *str(t).split(":"))}
    names = {str(name) for name in factors}
    for text in formulas:
        # the column may hold another package's model
        with suppress(FormulaError):
            formula = parse_formula(text)
            names |= {*formula.columns, *(f.name for term in formula.terms for f in term)}
    levels = {piece.removeprefix(name) for name in names for piece in pieces if piece.startswith(name)}
    return (pieces | names | levels) - {""}


def _is_measured(column: pd.Series) -> bool:
    """Whether a column holds measurements, which have no labels."""
    return bool(pd.api.types.is_float_dtype(column))


def _ranks(values: object) -> dict[str, int]:
    """The place of each category of a Categorical, nothing for other values."""
    categories = getattr(getattr(values, "dtype", None), "categories", ())
    return {str(value): i for i, value in enumerate(categories)}


def _units(frame: pd.DataFrame | None) -> dict[str, str]:
    """The unit of each metric of a frame that has one only."""
    if frame is None or not {"metric", "distance_unit"} <= set(frame.columns):
        return {}
    said = frame.loc[frame["distance_unit"].notna(), ["metric", "distance_unit"]].drop_duplicates()
    said = said[~said["metric"].duplicated(keep=False) & (said["distance_unit"] != SEVERAL)]
    return {str(m): str(unit) for m, unit in zip(said["metric"], said["distance_unit"], strict=True)}


def _human(frame: pd.DataFrame | None) -> str | None:
    """What `human` is called in a frame that says it."""
    if frame is None or "human_label" not in frame.columns:
        return None
    said = frame["human_label"].dropna().unique()
    return str(said[0]) if len(said) == 1 else None


def _sentence(name: str) -> str:
    """A column's name as words: `std_error` -> "Std error"; names that are not snake case stay."""
    return name.replace("_", " ").capitalize() if re.fullmatch(r"[a-z][a-z0-9_]*", name) else name
