"""What the figures share: labels that fit, marks by method, rows of their own height, ticks, notes."""

import textwrap
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotnine as p9
from matplotlib.ticker import MaxNLocator
from mizani.breaks import breaks_log

from salstats.checks import SalstatsError
from salstats.display.plots.theme import COLUMN_MM, MM_PER_INCH, TEXT_PT, category_colours, category_shapes
from salstats.display.text.format import fixed_text
from salstats.display.text.labels import LAST, Labels

#: Characters of a line and lines of a row's label; the frame behind a figure keeps the whole text.
LABEL_CHARS, LABEL_LINES = 24, 3
#: Characters of a caption's line, which then fits a journal's column.
CAPTION_CHARS = 74
MM_PER_PT = MM_PER_INCH / 72
#: More points of a figure are drawn as a bitmap, so that a PDF stays small and quick.
RASTER_POINTS = 2000
#: Fill of every other row, which leads the eye from the label to the marks and vanishes in a copy.
STRIPE = "#F4F4F4"
#: Room before a label that stands below another; ordinary spaces would be trimmed.
_INDENT = "\u2003"
#: Numbers at an axis at most, and room between two.
_MOST_BREAKS, _BREAK_MM = 6, 1.5
_LINE_MM = 1.2 * TEXT_PT * MM_PER_PT
#: Height of a mark, room around a row, and the gap before the rows that close a figure.
_MARK_MM, _PAD_MM, _GAP_MM = 2.6, 1.6, 1.6
#: What a key of a legend takes beside its text.
_KEY_MM = 7.0


def plain(text: str) -> str:
    """Return text that Matplotlib shows as it is: two dollar signs would start mathematics."""
    return text.replace("$", r"\$")


def wrapped(text: str, width: int = LABEL_CHARS, lines: int = LABEL_LINES) -> str:
    """Return text on at most `lines` lines of `width` characters; what does not fit ends in an ellipsis."""
    wide = any(unicodedata.east_asian_width(c) in "WF" for c in text)
    parts = textwrap.wrap(
        text, max(width // 2, 2) if wide else width, max_lines=lines, placeholder=" …", break_on_hyphens=False
    )
    return plain("\n".join(parts))


def indented(text: str) -> str:
    """Return a label set in from the left."""
    return _INDENT + text.replace("\n", f"\n{_INDENT}")


def with_suffix(text: str, suffix: str, width: int = LABEL_CHARS) -> str:
    """Return a wrapped label with what follows it, on its last line where there is room."""
    room = len(text.rsplit("\n", 1)[-1]) + 1 + len(suffix) <= width
    return f"{text}{' ' if room else chr(10)}{suffix}" if suffix else text


def text_mm(text: str, size: float = TEXT_PT) -> float:
    """Return about how wide a text is; faces differ, so it is that of a wide one."""
    em = max((sum(_em(c) for c in line) for line in text.split("\n")), default=0.0)
    return em * size * MM_PER_PT


def _em(character: str) -> float:
    """Return the width of a character in units of the size of the text."""
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in "\u2212<>=+%MWmw@":
        return 0.86
    return 0.38 if character in " .,:;()[]ijl'|" else 0.64


def short_labels(
    labels: Labels,
    column: str,
    values: Iterable[Hashable],
    width: int = LABEL_CHARS,
    lines: int = LABEL_LINES,
) -> dict[Any, str]:
    """Return the label of each distinct value, as it fits a figure, in the order they stand.

    Labels that are the same once they are shortened are numbered; labels that are the same before are
    an error.
    """
    order = labels.order(column, values)
    whole = {value: labels.value(column, value) for value in order}
    if len(set(whole.values())) < len(whole):
        raise SalstatsError(f"labels give two values of column {column!r} the same label")
    texts: dict[Any, str] = {}
    for value, label in whole.items():
        text, number = wrapped(label, width, lines), 1
        while text in texts.values():
            number += 1
            text = f"{wrapped(label, width, lines)} ({number})"
        texts[value] = text
    return texts


def method_labels(
    labels: Labels, methods: Iterable[Hashable], references: Sequence[str] = ()
) -> dict[Any, str]:
    """Return the legend's text of each method, references first."""
    texts = short_labels(labels, "method", methods, 32, 2)
    return {m: texts[m] for m in sorted(texts, key=lambda m: m not in references)}


def mark_scales(texts: Mapping[Any, str], references: Sequence[str] = ()) -> list[Any]:
    """Return scales of colour and mark, and a legend that fits a column, for texts of methods or models."""
    known, limits = [str(m) for m in texts], list(texts.values())
    colours = category_colours(known, list(references))
    shapes = category_shapes(known, list(references))
    ncol = legend_columns(limits)
    return [
        p9.scale_color_manual([colours[m] for m in known], limits=limits, name=""),
        p9.scale_shape_manual([shapes[m] for m in known], limits=limits, name=""),
        p9.theme(legend_text=p9.element_text(ma="left")),
        p9.guides(**{g: p9.guide_legend(ncol=ncol, byrow=True) for g in ("color", "shape")}),
    ]


def legend_columns(texts: Sequence[str], width: float = COLUMN_MM - 3) -> int:
    """Return how many keys of a legend stand side by side in a width in mm."""
    keys = [text_mm(text) + _KEY_MM for text in texts]
    for ncol in range(len(keys), 1, -1):
        if sum(max(keys[i::ncol]) for i in range(ncol)) <= width:
            return ncol
    return 1


def legend_width_mm(texts: Sequence[str]) -> float:
    """Return about how wide a legend is."""
    ncol = legend_columns(texts)
    return sum(max(text_mm(t) for t in texts[i::ncol]) + _KEY_MM for i in range(ncol)) if texts else 0.0


def legend_mm(texts: Sequence[str]) -> float:
    """Return the height of a legend above the panels."""
    rows = -(-len(texts) // legend_columns(texts))
    return 1 + rows * max((row_height_mm(0, t.count("\n") + 1) for t in texts), default=0.0)


def row_height_mm(n_marks: int = 1, n_lines: int = 1) -> float:
    """Return how high a row is that holds marks above each other and a label of some lines."""
    return max(_MARK_MM * n_marks, _LINE_MM * n_lines) + _PAD_MM


@dataclass(frozen=True)
class Rows:
    """Rows of a figure from the top down, each as high as it needs; their axis is in mm.

    Attributes
    ----------
    values : list
        What stands in each row.
    texts : list of str
        Their labels, wrapped.
    centres, heights : ndarray
        Middle of each row on the axis, from 0 at the top to negative values, and its height.
    rules : list of float
        Where a line sets the closing rows apart.
    """

    values: list[Any]
    texts: list[str]
    centres: np.ndarray
    heights: np.ndarray
    rules: list[float]

    @property
    def height(self) -> float:
        """Height of all rows together."""
        return float(self.heights[-1] / 2 - self.centres[-1])

    def of(self, values: Iterable[Any]) -> np.ndarray:
        """Return the middle of the rows of some values."""
        places = dict(zip(self.values, self.centres, strict=True))
        return np.array([places[v] for v in values], dtype=float)

    def scale(self, head: float = 0.0) -> Any:
        """Return the axis that names the rows, with some room above the first."""
        return p9.scale_y_continuous(
            breaks=[float(y) for y in self.centres],
            minor_breaks=[],
            labels=self.texts,
            limits=(-self.height, head),
            expand=(0, 0),
        )


def row_layout(
    values: Sequence[Any], texts: Sequence[str], n_marks: int | Sequence[int] = 1, n_closing: int = 0
) -> Rows:
    """Return rows for values of up to `n_marks` marks, the last `n_closing` of them set apart by a gap."""
    marks = np.broadcast_to(n_marks, len(texts))
    heights = np.array([row_height_mm(n, t.count("\n") + 1) for n, t in zip(marks, texts, strict=True)])
    gaps = np.zeros(len(texts))
    first = len(texts) - n_closing
    if 0 < first < len(texts):
        gaps[first] = _GAP_MM
    bottoms = np.cumsum(heights + gaps)
    centres = -(bottoms - heights / 2)
    rules = [float(-(bottoms[first] - heights[first] - _GAP_MM / 2))] if gaps.any() else []
    return Rows(list(values), list(texts), centres, heights, rules)


def closing(values: Sequence[Any]) -> int:
    """Return how many of the values at the end close a figure: "Overall", "Average"."""
    n = 0
    while n < len(values) and str(values[len(values) - 1 - n]) in LAST:
        n += 1
    return n


def dodged(positions: Sequence[int] | np.ndarray, n_marks: int) -> np.ndarray:
    """Return by how much marks stand above or below the middle of their row, the first on top."""
    return ((n_marks - 1) / 2 - np.asarray(positions, dtype=float)) * _MARK_MM


def tick_texts(breaks: Iterable[float]) -> list[str]:
    """Return the numbers at an axis with the same decimals, as few as tell them apart."""
    numbers = [float(b) for b in breaks]
    finite = np.array([b for b in numbers if np.isfinite(b)])
    digits = 0
    while digits < 12 and np.any(np.abs(np.round(finite, digits) - finite) > 1e-6 * np.abs(finite)):
        digits += 1
    return [fixed_text(b, digits) for b in numbers]


def axis_breaks(limits: tuple[float, float], room: float = 25.0) -> list[float]:
    """Return round numbers within the limits of an axis, as many as have room on it, in mm."""

    def candidates(n: int) -> Iterable[float]:
        ticks = MaxNLocator(n, steps=[1, 2, 5, 10]).tick_values(*limits)
        # what is left of zero after floating-point steps is zero
        return [round(t / (ticks[1] - ticks[0])) * (ticks[1] - ticks[0]) for t in ticks]

    return _fitting(candidates, limits, tick_texts, room)


def half_breaks(limits: tuple[float, float], room: float = 25.0) -> list[float]:
    """Return the middles between the numbers of an axis, for ticks without a number."""
    breaks = axis_breaks(limits, room)
    if len(breaks) < 2:
        return []
    step = breaks[1] - breaks[0]
    halves = [breaks[0] - step / 2, *(b + step / 2 for b in breaks)]
    return [float(t) for t in halves if limits[0] <= t <= limits[1]]


def log_breaks(limits: tuple[float, float], room: float = 25.0) -> list[float]:
    """Return round numbers within the limits of an axis of logarithms, as many as have room, in mm."""
    found = _fitting(lambda n: breaks_log(n=n)(limits), limits, log_texts, room)
    # limits close together may hold no power of ten
    return axis_breaks(limits, room) if len(found) < 2 and limits[1] < 10 * limits[0] else found


def _fitting(
    candidates: Callable[[int], Iterable[float]],
    limits: tuple[float, float],
    texts: Callable[[Iterable[float]], list[str]],
    room: float,
) -> list[float]:
    """Return the most breaks within the limits whose numbers have room."""
    for n in range(_MOST_BREAKS, 0, -1):
        breaks = [float(b) for b in candidates(n) if limits[0] <= b <= limits[1]]
        if sum(text_mm(text) + _BREAK_MM for text in texts(breaks)) <= room:
            break
    return breaks


def log_texts(breaks: Iterable[float]) -> list[str]:
    """Return the numbers at an axis of logarithms, each with the decimals that it needs."""
    return [tick_texts([b])[0] for b in breaks]


def has_limits(frame: pd.DataFrame) -> pd.Series:
    """Return which rows have both limits of an interval."""
    if not {"conf_low", "conf_high"} <= set(frame.columns):
        return pd.Series(False, index=frame.index)
    return frame["conf_low"].notna() & frame["conf_high"].notna()


def caption(sentences: Iterable[str], width: int = CAPTION_CHARS) -> str:
    """Return the sentences that are not empty as the lines under a figure."""
    return plain(textwrap.fill(" ".join(s for s in sentences if s), width, break_on_hyphens=False))


def caption_mm(text: str) -> float:
    """Return the height of a caption."""
    return (text.count("\n") + 1) * 1.25 * (TEXT_PT - 1) * MM_PER_PT + 2 if text else 0.0
