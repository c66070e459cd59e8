"""Words that the report's sentences share: units, metrics, methods, verdicts, P values."""

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from salstats.display.report.document import Settings
from salstats.display.text.format import STYLES, counted, inline_text, joined, level_text, noun, plural
from salstats.display.text.labels import LAST, Labels
from salstats.metrics.registry import registered_metric
from salstats.stats.adjust import Procedure, find_procedure

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
#: Decimals that are added at most so that limits differ from their estimate in print.
_MORE_DECIMALS = 4
#: Limits that are nearer to an estimate, relative to their size, are equal to it.
_ROUNDING = 1e-9
#: Names in a list before it is cut to a number; estimates before only the smallest and the largest stand.
_LISTED, WRITTEN = 4, 6


class Words:
    """What things are called inside the sentences of one report."""

    def __init__(self, settings: Settings, labels: Labels) -> None:
        self.settings, self.labels = settings, labels
        unit = noun(settings.unit or "case")
        self.unit = unit if unit in _UNITS or unit.endswith(" cluster") else f"{unit} cluster"
        self.units = plural(self.unit)
        self.level = level_text(settings.level)
        alpha = f"{1 - settings.level:.10g}"
        self.alpha = alpha if STYLES[settings.style].p_zero else alpha.replace("0.", ".", 1)

    def metric(self, name: str) -> str:
        """Metric with its unit; a label that the user gave stays as it was given."""
        label, own = self.labels.value("metric", name), Labels().value("metric", name)
        is_own = label == own or label.startswith(f"{own} (")
        return lowered(label) if is_own and registered_metric(name) else label

    def column(self, name: str) -> str:
        """Covariate."""
        label = self.labels.column(name)
        return lowered(label) if label == Labels().column(name) else label

    def method(self, name: object) -> str:
        """Method: "Grad-CAM", "the human benchmark"."""
        label = self.labels.value("method", str(name))
        return _WITH_ARTICLE.get(label, label)

    def tasks(self, values: Iterable[object]) -> list[str]:
        """Tasks by their labels."""
        return [self.labels.value("task", str(v)) for v in values]

    def printed(self, message: str, scores: pd.DataFrame) -> str:
        """A message on scores with its groups and covariates as the page names them."""
        methods = scores["method"] if "method" in scores.columns else ()
        for column in ("metric", "method", "reference", "task"):
            values = methods if column == "reference" else scores.get(column, ())
            known = sorted({str(v) for v in values}, key=len, reverse=True)
            if known:
                named = rf"\b{column} ({'|'.join(map(re.escape, known))})(?!\w)"
                message = re.sub(named, lambda m, c=column: f"{c} {self.labels.value(c, m[1])}", message)  # type: ignore[misc]
        for name in self.settings.covariates or ():
            message = re.sub(rf"\b{re.escape(name)}\b(?!=)", lambda _, n=name: self.column(n), message)  # type: ignore[misc]
        return message

    def metrics(self, names: Iterable[str]) -> str:
        """Metrics as a list."""
        return listed([self.metric(m) for m in names], "metrics")

    def ordered(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows by method, as labels order these."""
        order = self.labels.order("method", rows["method"])
        return rows.iloc[rows["method"].map(order.index).argsort(kind="stable").to_numpy()]

    def by_metric(self, frame: pd.DataFrame, column: str = "metric") -> list[tuple[str, pd.DataFrame]]:
        """Rows of each metric, as labels order these."""
        order = self.labels.order("metric", frame[column])
        return [(m, frame[frame[column] == m].reset_index(drop=True)) for m in order]

    def p_name(self, frame: pd.DataFrame) -> str:
        """What a frame's P values are: "Holm-adjusted P", or "unadjusted P"."""
        procedure = self.procedure(frame)
        return f"{procedure.label}-adjusted P" if procedure else "unadjusted P"

    def procedure(self, frame: pd.DataFrame) -> Procedure | None:
        """Procedure that adjusted a frame, if one did."""
        if "p_adjusted" not in frame.columns or not frame["p_adjusted"].notna().any():
            return None
        known = find_procedure(frame["procedure"].iloc[0])
        return known if known and known.label else None

    def p_values(self, frame: pd.DataFrame) -> np.ndarray:
        """P values that decide: the adjusted ones where there are any."""
        name = "p_adjusted" if self.procedure(frame) else "p_value"
        if name not in frame.columns:
            return np.full(len(frame), np.nan)
        values: np.ndarray = frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        return values

    def shown(self, frame: pd.DataFrame) -> np.ndarray:
        """Which P values lie below the level."""
        return self.p_values(frame) < 1 - self.settings.level

    def below(self, frame: pd.DataFrame) -> str:
        """Text such as "a Holm-adjusted P below 0.05"."""
        name = self.p_name(frame)
        return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name} below {self.alpha}"

    def estimates(self, frame: pd.DataFrame, digits: int | None = None) -> list[str]:
        """Each row's estimate as in running text, its P value named for what it is."""
        name = self.p_name(frame)
        digits = decimals(frame["estimate"]) if digits is None else digits
        digits = decimals_of_limits(frame, digits)
        p_values = "p_value" in frame.columns
        texts = inline_text(frame, digits=digits, style=self.settings.style, p_values=p_values)
        return [re.sub(r"\bP (?=[=<>≤])", f"{name} ", text) for text in texts]


def lowered(text: str) -> str:
    """Label as it stands inside a sentence: "hit rate", but "IoU" and "Dice" as they are."""
    first = text.split(" ", 1)[0]
    plain = re.fullmatch(r"[A-Z][a-z']+", first) and first not in _NAMES
    return text[0].lower() + text[1:] if plain else text


def listed(words: Sequence[str], many: str, last: str = "and") -> str:
    """Words as a list, or how many there are where the list would be long."""
    return joined(words, last) if len(words) <= _LISTED else f"{len(words)} {many}"


def verdict_word(metric: str, verdict: str) -> str:
    """Word "worse" or "better" where the metric's direction is known, else the verdict itself."""
    known = registered_metric(metric)
    if known is None:
        return verdict
    return "better" if (verdict == "higher") == known.larger_is_better else "worse"


def decimals(values: Iterable[float]) -> int:
    """Decimals for numbers of one kind: 3 for scores, fewer for large and more for tiny ones."""
    largest = max((abs(float(v)) for v in values if math.isfinite(v)), default=0.0)
    if largest >= 10:
        return 1 if largest >= 100 else 2
    return 3 if largest >= 0.01 or largest == 0 else min(6, 2 - math.floor(math.log10(largest)))


def decimals_of_limits(frame: pd.DataFrame, digits: int) -> int:
    """Decimals, at least `digits`, with which no estimate is printed as a limit from which it differs."""
    if not {"conf_low", "conf_high"} <= set(frame.columns):
        return digits
    estimate = frame["estimate"].to_numpy(dtype=np.float64, na_value=np.nan)
    limits = frame[["conf_low", "conf_high"]].to_numpy(dtype=np.float64, na_value=np.nan)
    with np.errstate(invalid="ignore"):
        gaps = np.abs(limits - estimate[:, None])
    # smaller ones are rounding errors
    gaps = gaps[np.isfinite(gaps) & (gaps > _ROUNDING * np.abs(limits))]
    if not len(gaps):
        return digits
    first_digit = -math.floor(math.log10(gaps.min()))
    return max(digits, min(first_digit, digits + _MORE_DECIMALS))


def spread(
    texts: Sequence[str], names: Sequence[str], values: Iterable[float], among: str = "", by: str = "for"
) -> str:
    """Each text with its name: "0.2 [...] for A and 0.3 [...] for B"; of many the two extremes."""
    said = [f"{text} {by} {name}" if name else text for text, name in zip(texts, names, strict=True)]
    if len(said) <= WRITTEN:
        return joined(said)
    numbers = np.array([float(v) for v in values])
    of = f" among {len(said)} {among}" if among else ""
    return f"between {said[int(numbers.argmin())]} and {said[int(numbers.argmax())]}{of}"


def family_text(frame: pd.DataFrame) -> str:
    """Families that P values were adjusted in: those of single tasks, and of what is over them."""
    pooled = pooled_rows(frame)
    if not pooled.any() or pooled.all():
        return f"one family of {counted(frame['n_tests'].max(), 'test')}"
    single = counted(frame["n_tests"][~pooled].max(), "test")
    over = counted(frame["n_tests"][pooled].max(), "test")
    return f"one family of {single} in single tasks and one of {over} over tasks"


def pooled_rows(frame: pd.DataFrame) -> np.ndarray:
    """Which rows are averages over tasks or pooled over them."""
    if "task" not in frame.columns:
        return np.zeros(len(frame), dtype=bool)
    pooled: np.ndarray = frame["task"].astype("str").isin(LAST).to_numpy()
    return pooled
