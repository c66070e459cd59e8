"""Text as wide as it is drawn: measured, wrapped, cut, and kept apart where labels would hide each other."""

import re
import textwrap
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import font_manager
from matplotlib.textpath import text_to_path
from scipy import optimize

from salstats.checks import SalstatsError
from salstats.display.plots.theme import MM_PER_PT, TEXT_PT, font
from salstats.display.text.labels import Labels

#: Characters of a line and lines of a row's label; the frame behind a figure keeps the whole text.
LABEL_CHARS, LABEL_LINES = 24, 3
#: Characters of a caption's line, which then fits a journal's column.
CAPTION_CHARS = 74
#: Room before a label that stands below another; ordinary spaces would be trimmed.
_INDENT = "\u2003"
#: What stands in for characters that the face lacks; they are drawn as a box about as wide.
_WIDE = "M"


@cache
def _em(character: str, bold: bool) -> float:
    """How wide a character is in the house face, in units of the size of the text."""
    face = font_manager.FontProperties(family=font(), weight="bold" if bold else "normal", size=1)
    known = font_manager.get_font(font_manager.findfont(face)).get_char_index(ord(character))
    width = text_to_path.get_text_width_height_descent(character if known else _WIDE, face, False)[0]
    return float(width)


def width_mm(text: str, size: float, bold: bool = False) -> float:
    """How wide a line of text is in the house face, `size` in points; kerning may make it less."""
    return sum(_em(character, bold) for character in text) * size * MM_PER_PT


def text_mm(text: str, size: float = TEXT_PT, *, bold: bool = False) -> float:
    """Width of the widest line of a text."""
    return max(width_mm(line, size, bold) for line in text.split("\n"))


def fitted(text: str, width: float, size: float, bold: bool = False) -> list[str]:
    """Text as lines of at most `width` mm; words that are wider than a line are broken."""
    lines, line = [], ""
    # a space that does not break belongs to its word
    for word in re.split("[ \t\n]+", text.strip()):
        longer = f"{line} {word}" if line else word
        if width_mm(longer, size, bold) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        *full, line = _broken(word, width, size, bold)
        lines += full
    return [*lines, line] if line or not lines else lines


def _broken(word: str, width: float, size: float, bold: bool) -> list[str]:
    """Word in pieces of at most `width` mm."""
    pieces, piece = [], ""
    for character in word:
        if piece and width_mm(piece + character, size, bold) > width:
            pieces.append(piece)
            piece = ""
        piece += character
    return [*pieces, piece]


def plain(text: str) -> str:
    """Text that Matplotlib shows as it is: two dollar signs would start mathematics."""
    return text.replace("$", r"\$")


def wrapped(text: str, width: int = LABEL_CHARS, lines: int = LABEL_LINES) -> str:
    """Text on at most `lines` lines of `width` characters; what does not fit ends in an ellipsis."""
    wide = any(unicodedata.east_asian_width(c) in "WF" for c in text)
    parts = textwrap.wrap(
        text, max(width // 2, 2) if wide else width, max_lines=lines, placeholder=" …", break_on_hyphens=False
    )
    return plain("\n".join(parts))


def indented(text: str) -> str:
    """Label set in from the left."""
    return _INDENT + text.replace("\n", f"\n{_INDENT}")


def with_suffix(text: str, suffix: str, width: int = LABEL_CHARS) -> str:
    """Wrapped label with what follows it, on its last line where there is room."""
    room = len(text.rsplit("\n", 1)[-1]) + 1 + len(suffix) <= width
    return f"{text}{' ' if room else chr(10)}{suffix}" if suffix else text


def wrapped_texts(
    texts: Sequence[str], width: float, lines: int, size: float, *, bold: bool = False
) -> dict[str, str]:
    """Texts on so many lines that fit a width in mm; those that are the same then are numbered."""
    written: dict[str, str] = {}
    for text in texts:
        short, number = wrapped_text(text, width, lines, size, bold=bold), 1
        while short in written.values():
            number += 1
            short = wrapped_text(text, width, lines, size, f" ({number})", bold=bold)
        written[text] = short
    return written


def wrapped_text(
    text: str, width: float, lines: int, size: float, suffix: str = "", *, bold: bool = False
) -> str:
    """Text and what follows it on lines that fit; the text is shortened where they are too many."""
    parts = fitted(text + suffix, width, size, bold)
    if len(parts) > lines:
        parts = fitted(text, width, size, bold)[:lines]
        last = parts[-1]
        while width_mm(f"{last} …{suffix}", size, bold) > width and last:
            last = last[:-1].rstrip()
        parts[-1] = f"{last} …{suffix}"
    return plain("\n".join(parts))


def short_labels(
    labels: Labels,
    column: str,
    values: Iterable[Hashable],
    width: int = LABEL_CHARS,
    lines: int = LABEL_LINES,
) -> dict[Any, str]:
    """Label of each distinct value, as it fits a figure, in the order they stand.

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


def crossed(frame: pd.DataFrame, texts: Mapping[str, Mapping[Any, str]]) -> pd.Categorical:
    """Each row's labels of some columns with commas between, in the order in which the labels stand."""
    keys = list(zip(*(frame[c] for c in texts), strict=True)) if texts else [()] * len(frame)
    places = [{value: i for i, value in enumerate(known)} for known in texts.values()]
    order = sorted(set(keys), key=lambda key: [p[v] for p, v in zip(places, key, strict=True)])
    titles = {
        key: ", ".join(known[v] for known, v in zip(texts.values(), key, strict=True) if known[v])
        for key in order
    }
    return pd.Categorical([titles[key] for key in keys], list(titles.values()), ordered=True)


def caption(sentences: Iterable[str], width: int = CAPTION_CHARS) -> str:
    """Sentences that are not empty as the lines under a figure."""
    return plain(textwrap.fill(" ".join(s for s in sentences if s), width, break_on_hyphens=False))


def caption_chars(width: float, left: float = 11.0) -> int:
    """How many characters of a caption fit a line under the panels."""
    return max(int((width - left - 1) / (0.56 * (TEXT_PT - 1) * MM_PER_PT)), 20)


def caption_mm(text: str) -> float:
    """Height of a caption."""
    return (text.count("\n") + 1) * 1.25 * (TEXT_PT - 1) * MM_PER_PT + 2 if text else 0.0


def apart(places: np.ndarray, sizes: np.ndarray, low: float, high: float) -> np.ndarray:
    """Middles of labels of some sizes between low and high, moved no more than they need to be.

    Their order stays (of equal places the first is lowest). Labels that do not fit together overlap evenly.

    Examples
    --------
    >>> apart(np.array([5.0, 1.0, 5.0]), np.array([2.0, 2.0, 2.0]), 0.0, 10.0)
    array([4., 1., 6.])
    """
    order = np.argsort(places, kind="stable")
    tall = sizes[order] * min(1.0, (high - low) / sizes.sum())
    steps = np.cumsum(tall) - (tall + tall[0]) / 2
    # least squares under q[i + 1] - q[i] >= step is isotonic regression of what is left without the steps
    left = optimize.isotonic_regression(places[order] - steps).x
    result = np.empty(len(places))
    result[order] = np.clip(left, low + tall[0] / 2, high - tall[-1] / 2 - steps[-1]) + steps
    return result
