"""Words that the report's sentences share: units, metrics, methods, verdicts, P values."""

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from salstats.display.report.model import Settings
from salstats.display.text.format import STYLES, inline_text, joined, plural
from salstats.display.text.labels import LAST, Labels
from salstats.metrics.registry import known_metric
from salstats.stats.adjust import find_procedure

#: Units that have a word; other columns name clusters.
_UNITS = ("patient", "case", "image", "study", "reader")
#: Labels of the house that take an article in a sentence.
_WITH_ARTICLE = {
    "Human benchmark": "the human benchmark",
    "Saliency method": "the saliency method",
    "Simulated annotator": "the simulated annotator",
}
#: People whose names keep their capital.
_NAMES = {"Dice", "Hausdorff"}
#: Names in a list before it is cut to a number.
_LISTED = 4
#: Estimates that are written out one by one; of more only the smallest and the largest.
WRITTEN = 6


def lowered(text: str) -> str:
    """Label as it stands inside a sentence: "hit rate", but "IoU" and "Dice" as they are."""
    first = text.split(" ", 1)[0]
    plain = text and re.fullmatch(r"[A-Z][a-z']+", first) and first not in _NAMES
    return text[0].lower() + text[1:] if plain else text


def metric_words(metric: str, labels: Labels) -> str:
    """Metric inside a sentence, with its unit; a label that the user gave stays as it was given."""
    label = labels.value("metric", metric)
    own = Labels().value("metric", metric)
    is_own = label == own or label.startswith(f"{own} (")
    return lowered(label) if is_own and known_metric(metric) else label


def column_words(name: str, labels: Labels) -> str:
    """Covariate inside a sentence."""
    label = labels.column(name)
    return lowered(label) if label == Labels().column(name) else label


def method_words(method: str, labels: Labels) -> str:
    """Method inside a sentence: "Grad-CAM", "the human benchmark"."""
    label = labels.value("method", method)
    return _WITH_ARTICLE.get(label, label)


def unit_words(unit: str) -> tuple[str, str]:
    """Unit's singular and plural."""
    one = unit if unit in _UNITS else f"{unit.replace('_', ' ')} cluster"
    return one, plural(one)


def listed(words: Sequence[str], many: str, last: str = "and") -> str:
    """Words as a list, or how many there are where the list would be long."""
    return joined(words, last) if len(words) <= _LISTED else f"{len(words)} {many}"


def verdict_words(metric: str, verdict: str) -> str:
    """Text such as "worse" or "better" where the metric's direction is known, else the verdict itself."""
    known = known_metric(metric)
    if known is None:
        return verdict
    return "better" if (verdict == "higher") == known.larger_is_better else "worse"


def alpha_text(level: float, style: str) -> str:
    """1 - level as a journal writes it: 0.05 or .05."""
    text = f"{1 - level:.10g}"
    return text if STYLES[style].p_zero else text.replace("0.", ".", 1)


def frame_procedure(frame: pd.DataFrame, settings: Settings) -> str:
    """Name of the procedure that adjusted a frame, nothing where none did."""
    if "p_adjusted" not in frame.columns or not frame["p_adjusted"].notna().any():
        return ""
    said = frame["procedure"].iloc[0] if "procedure" in frame.columns else settings.adjust
    known = find_procedure(said)
    return known.label if known else ""


def is_adjusted(frame: pd.DataFrame, settings: Settings) -> bool:
    """Whether a frame's P values were adjusted."""
    return bool(frame_procedure(frame, settings))


def p_name(frame: pd.DataFrame, settings: Settings) -> str:
    """What a frame's P values are: "Holm-adjusted P", or "unadjusted P"."""
    procedure = frame_procedure(frame, settings)
    return f"{procedure}-adjusted P" if procedure else "unadjusted P"


def p_values(frame: pd.DataFrame, settings: Settings) -> np.ndarray:
    """P values that decide: the adjusted ones where there are any."""
    name = "p_adjusted" if is_adjusted(frame, settings) else "p_value"
    if name not in frame.columns:
        return np.full(len(frame), np.nan)
    values: np.ndarray = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def decimals(values: Iterable[float]) -> int:
    """Decimals for numbers of one kind: 3 for scores, fewer for large and more for tiny ones."""
    largest = max((abs(float(v)) for v in values if math.isfinite(v)), default=0.0)
    if largest >= 10:
        return 1 if largest >= 100 else 2
    return 3 if largest >= 0.01 or largest == 0 else min(6, 2 - math.floor(math.log10(largest)))


def estimate_texts(frame: pd.DataFrame, settings: Settings, digits: int) -> list[str]:
    """Each row's estimate as in running text, its P value named for what it is."""
    name = p_name(frame, settings)
    texts = inline_text(frame, digits=digits, style=settings.style, p_values="p_value" in frame.columns)
    return [re.sub(r"\bP (?=[=<>])", f"{name} ", text) for text in texts]


def of_each(texts: Sequence[str], names: Sequence[str]) -> str:
    """Text such as "0.2 [...] for A and 0.3 [...] for B"; a text alone where it has no name."""
    return joined([f"{text} for {name}" if name else text for text, name in zip(texts, names, strict=True)])


def between(texts: Sequence[str], names: Sequence[str], values: Iterable[float], by: str = "for") -> str:
    """Smallest and largest of finite values: "between 0.2 [...] for A and 0.3 [...] for B"."""
    numbers = np.array([float(v) for v in values])
    low, high = (f"{texts[i]} {by} {names[i]}" for i in (int(numbers.argmin()), int(numbers.argmax())))
    return f"between {low} and {high}"


def pooled_rows(frame: pd.DataFrame) -> np.ndarray:
    """Which rows are averages over tasks or pooled over them."""
    if "task" not in frame.columns:
        return np.zeros(len(frame), dtype=bool)
    pooled: np.ndarray = frame["task"].astype("str").isin(LAST).to_numpy()
    return pooled
