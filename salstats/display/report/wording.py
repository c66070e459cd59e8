"""Names and numbers inside the report's sentences: units, metrics, methods, verdicts, P values."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from salstats.display.estimates import Estimates
from salstats.display.report.settings import Settings
from salstats.display.text.format import (
    STYLES,
    counted,
    joined,
    level_text_without_percent_sign,
    noun_of_identifier,
    plural,
    significance_level_of,
)
from salstats.display.text.inline import inline_row_texts
from salstats.display.text.labels import Labels
from salstats.errors import Advice, ColumnName, ColumnValue, Spelling
from salstats.metrics.registry import registered_metric
from salstats.stats.adjust import Procedure, find_procedure

#: Units that are nouns; other columns name clusters.
_UNIT_NOUNS = ("patient", "case", "image", "study", "reader")
#: Labels of the package that take an article in a sentence.
_LABELS_WITH_ARTICLE = {
    "Human benchmark": "the human benchmark",
    "Saliency method": "the saliency method",
    "Simulated annotator": "the simulated annotator",
}
#: People whose names keep their capital.
_PERSON_NAMES = {"Dice", "Hausdorff"}
#: Most decimals that are added so that limits differ from their estimate in print.
_MAX_EXTRA_DECIMALS = 4
#: A limit that differs less from its estimate, relative to the limit's size, is equal to it.
_ROUNDING = 1e-9
#: A longer list of names is replaced by the number of names.
MAX_NAMES_IN_LIST = 4
#: Of more estimates than this a sentence gives the smallest and the largest only.
MAX_ITEMS_IN_SENTENCE = 6


@dataclass(frozen=True, eq=False)
class Wording:
    """Names of things inside the sentences of one report.

    Attributes
    ----------
    settings : Settings
        The settings of the report, with a unit.
    labels : Labels
        Labels of columns and their values.
    """

    settings: Settings
    labels: Labels

    @cached_property
    def unit(self) -> str:
        """Noun of what is resampled: "patient", "site cluster"."""
        name = noun_of_identifier(self.settings.unit or "case")
        if name in _UNIT_NOUNS or name.endswith(" cluster"):
            return name
        return f"{name} cluster"

    @property
    def units(self) -> str:
        """Plural of the unit."""
        return plural(self.unit)

    @property
    def level_text_without_percent_sign(self) -> str:
        """Confidence level in percent, without its sign."""
        return level_text_without_percent_sign(self.settings.level)

    @property
    def significance_level(self) -> float:
        """Level of tests, such as 0.05."""
        return significance_level_of(self.settings.level)

    @cached_property
    def alpha(self) -> str:
        """Level of tests in print: "0.05", or ".05" where the journal has no leading zeros."""
        text = f"{self.significance_level:.10g}"
        if STYLES[self.settings.style].p_has_leading_zero:
            return text
        return text.replace("0.", ".", 1)

    def metric(self, name: str) -> str:
        """Return a metric with its distance unit; a label that the user gave keeps its capital."""
        label = self.labels.value("metric", name)
        package_label = Labels().value("metric", name)
        is_package_label = label == package_label or label.startswith(f"{package_label} (")
        if is_package_label and registered_metric(name):
            return label_in_sentence(label)
        return label

    def column(self, name: str) -> str:
        """Return the label of a column, such as a covariate; one that the user gave keeps its capital."""
        user_label = self.labels.user_column_label(name)
        if user_label is not None:
            return user_label
        return label_in_sentence(self.labels.column(name))

    def method(self, name: object) -> str:
        """Return the label of a method, some with an article: "Grad-CAM", "the human benchmark"."""
        label = self.labels.value("method", str(name))
        return _LABELS_WITH_ARTICLE.get(label, label)

    def task_labels(self, values: Iterable[object]) -> list[str]:
        """Return the labels of tasks."""
        return [self.labels.value("task", str(value)) for value in values]

    def metrics(self, names: Iterable[str]) -> str:
        """Return metrics as a list in a sentence."""
        return names_or_count_text([self.metric(name) for name in names], "metrics")

    def sorted_by_method(self, estimates: Estimates) -> Estimates:
        """Return estimates sorted by method, in the order of labels."""
        methods = estimates.frame["method"]
        positions = {method: position for position, method in enumerate(self.labels.order("method", methods))}
        return estimates.take(methods.map(positions).to_numpy().argsort(kind="stable"))

    def rows_by_metric(self, estimates: Estimates, column: str = "metric") -> list[tuple[str, Estimates]]:
        """Return each metric with its rows, in the order of labels."""
        metrics = self.labels.order("metric", estimates.frame[column])
        return [(metric, estimates.subset(estimates.frame[column] == metric)) for metric in metrics]

    def p_name(self, estimates: Estimates) -> str:
        """Return the name of a frame's P values: "Holm-adjusted P", or "unadjusted P"."""
        procedure = used_adjustment_procedure(estimates)
        if procedure is None:
            return "unadjusted P"
        return f"{procedure.label}-adjusted P"

    def is_significant(self, estimates: Estimates) -> np.ndarray:
        """Return, for each row, whether its P value is below the level."""
        return np.asarray(estimates.p_values_adjusted_if_any < self.significance_level)

    def is_not_significant(self, estimates: Estimates) -> np.ndarray:
        """Return, for each row, whether it has a P value that is not below the level."""
        return np.asarray(estimates.p_values_adjusted_if_any >= self.significance_level)

    def significance_condition_phrase(self, estimates: Estimates) -> str:
        """Return the condition for significance: "a Holm-adjusted P below 0.05"."""
        name = self.p_name(estimates)
        article = "an" if name[0].lower() in "aeiou" else "a"
        return f"{article} {name} below {self.alpha}"

    def estimate_texts(
        self, estimates: Estimates, digits: int | None = None, *, p_values: bool = True
    ) -> list[str]:
        """Return each row's estimate for running text, with its interval and the named P value."""
        if digits is None:
            digits = decimals_by_magnitude(estimates.numbers("estimate"))
        p_name = ""
        if p_values:
            p_name = self.p_name(estimates)
        digits = decimals_separating_limits_from_estimate(estimates, digits)
        return inline_row_texts(estimates.frame, digits, self.settings.style, p_name=p_name)


class LabelSpelling(Spelling):
    """Write names in messages as the labels of a report."""

    def __init__(self, wording: Wording) -> None:
        self._wording = wording

    def advice(self, advice: Advice) -> str:
        """Write advice in words."""
        return advice.words

    def column_value(self, column_value: ColumnValue) -> str:
        """Write a value of a column: `metric IoU`."""
        label = self._wording.labels.value(column_value.column, str(column_value.value))
        return f"{column_value.column} {label}"

    def column(self, column: ColumnName) -> str:
        """Write a column as inside a sentence: `relative size`."""
        return self._wording.column(column.name)


def used_adjustment_procedure(estimates: Estimates) -> Procedure | None:
    """Return the procedure that adjusted P values, None where none did."""
    if not estimates.has_adjusted_p_values or estimates.adjustment_procedure is None:
        return None
    return find_procedure(estimates.adjustment_procedure)


def label_in_sentence(text: str) -> str:
    """Return a label as it stands inside a sentence: "hit rate", but "IoU" and "Dice" as they are."""
    first_word = text.split(" ", 1)[0]
    is_common_noun = re.fullmatch(r"[A-Z][a-z']+", first_word) and first_word not in _PERSON_NAMES
    if is_common_noun:
        return text[0].lower() + text[1:]
    return text


def names_or_count_text(names: Sequence[str], plural_noun: str, conjunction: str = "and") -> str:
    """Return names as a list in a sentence, or their number where the list would be long: "7 methods"."""
    if len(names) <= MAX_NAMES_IN_LIST:
        return joined(names, conjunction)
    return f"{len(names)} {plural_noun}"


def better_or_worse_verdict(metric: str, verdict: str) -> str:
    """Return "worse" or "better" for a metric with a known direction, else the verdict itself."""
    record = registered_metric(metric)
    if record is None:
        return verdict
    is_better = (verdict == "higher") == record.larger_is_better
    return "better" if is_better else "worse"


def decimals_by_magnitude(values: Iterable[float]) -> int:
    """Return the decimals for numbers of one kind: 3 for scores, fewer for large and more for tiny ones."""
    largest = max((abs(float(value)) for value in values if math.isfinite(value)), default=0.0)
    if largest >= 100:
        return 1
    if largest >= 10:
        return 2
    if largest >= 0.01 or largest == 0:
        return 3
    # three significant digits of the largest
    return min(6, 2 - math.floor(math.log10(largest)))


def decimals_separating_limits_from_estimate(estimates: Estimates, min_decimals: int) -> int:
    """Return the decimals, at least `min_decimals`, with which limits differ in print from their estimate."""
    estimate = estimates.numbers("estimate")
    distances = []
    for column in ("conf_low", "conf_high"):
        limit = estimates.numbers(column)
        with np.errstate(invalid="ignore"):
            distance = np.abs(limit - estimate)
        # a smaller distance is a rounding error
        is_distinct = np.isfinite(distance) & (distance > _ROUNDING * np.abs(limit))
        distances.append(distance[is_distinct])
    smallest = np.concatenate(distances).min(initial=np.inf)
    if np.isinf(smallest):
        return min_decimals
    first_decimal = -math.floor(math.log10(smallest))
    return max(min_decimals, min(first_decimal, min_decimals + _MAX_EXTRA_DECIMALS))


def named_values_or_extremes_text(
    texts: Sequence[str],
    names: Sequence[str],
    values: Iterable[float],
    plural_noun: str = "",
    preposition: str = "for",
) -> str:
    """Return each text with its name: "0.2 [...] for A and 0.3 [...] for B"; of many the two extremes.

    `values` are the numbers behind the texts, `plural_noun` counts many of them, and a text whose name is ""
    stands alone.
    """
    phrases = []
    for text, name in zip(texts, names, strict=True):
        phrase = text
        if name:
            phrase = f"{text} {preposition} {name}"
        phrases.append(phrase)
    if len(phrases) <= MAX_ITEMS_IN_SENTENCE:
        return joined(phrases)
    numbers = np.array([float(value) for value in values])
    smallest = phrases[int(numbers.argmin())]
    largest = phrases[int(numbers.argmax())]
    group = f" among {len(phrases)} {plural_noun}" if plural_noun else ""
    return f"between {smallest} and {largest}{group}"


def family_and_n_tests_text(estimates: Estimates) -> str:
    """Return the families in which P values were adjusted: one, or those of single tasks and of averages."""
    n_tests = estimates.numbers("n_tests")
    is_over_tasks = estimates.is_over_tasks
    if not is_over_tasks.any() or is_over_tasks.all():
        return f"one family of {counted(np.nanmax(n_tests), 'test')}"
    in_single_tasks = counted(np.nanmax(n_tests[~is_over_tasks]), "test")
    over_tasks = counted(np.nanmax(n_tests[is_over_tasks]), "test")
    return f"one family of {in_single_tasks} in single tasks and one of {over_tasks} over tasks"
