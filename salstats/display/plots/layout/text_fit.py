"""Text that fits: its room, wrapped to lines of characters, and cut."""

import math
import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.ft2font import LoadFlags

from salstats.display.plots.layout.theme import LINE_MM, MM_PER_PT, TEXT_PT, font
from salstats.display.text.format import unbroken
from salstats.display.text.labels import Labels

#: Characters of a line and lines of a row's label; the frame behind a figure keeps the whole text.
LABEL_CHARS, LABEL_LINES = 24, 3
#: Characters of a caption's line, which then fits a journal's column.
CAPTION_CHARS = 74
#: Characters of a line of a name below or beside tiles, and room around the names below.
NAME_CHARS, _BELOW_MM = 22, 4.0
#: Share of a slanted name's width that it is high and reaches to the left, and of a tile that is between two.
_SLANT = 0.75
#: Width of an average character over the size of its text, and how much wider bold text is.
_EM, _BOLD = 0.56, 1.13
#: Room before a label that stands below another; ordinary spaces would be trimmed.
_INDENT = "\u2003"
#: What stands for a space where no line ends.
_KEPT = "\x00"


def text_mm(text: str, size: float = TEXT_PT, *, bold: bool = False) -> float:
    """How wide the widest line of a text is, `size` in points."""
    return max(_ems(line) for line in text.split("\n")) * (_BOLD if bold else 1.0) * size * MM_PER_PT


def _ems(line: str) -> float:
    """Width of a line over the size of its text."""
    face = font()
    return sum(_em(character, face) for character in line)


@cache
def _em(character: str, family: str) -> float:
    """Width of a character over the size of its text, in a face."""
    face = get_font(findfont(FontProperties(family=family)))
    if not face.get_char_index(ord(character)):
        return 1.0 if unicodedata.east_asian_width(character) in "WF" else _EM
    flags = LoadFlags.NO_SCALE | LoadFlags.NO_HINTING
    return float(face.load_char(ord(character), flags=flags).horiAdvance / face.units_per_EM)


def chars_in(width: float, size: float = TEXT_PT, *, bold: bool = False) -> float:
    """How many characters of average width fit a width in mm."""
    return max(width / ((_BOLD if bold else 1.0) * _EM * size * MM_PER_PT), 4.0)


def plain(text: str) -> str:
    """Text that Matplotlib shows as it is: two dollar signs would start mathematics."""
    return text.replace(r"\$", "$").replace("$", r"\$")


def wrapped(text: str, width: float = LABEL_CHARS, lines: int | None = LABEL_LINES, cut: str = "…") -> str:
    """Text on at most `lines` lines of `width` average characters; what does not fit ends in `cut`."""
    room, parts = width * _EM, [""]
    # a non-breaking space is one too
    for word in re.split(r"[ \n\t]+", unbroken(text, _KEPT).strip(" \n\t")):
        for number, piece in enumerate(_pieces(word.replace(_KEPT, " "), room)):
            space = " " if number == 0 and parts[-1] else ""
            longer = f"{parts[-1]}{space}{piece}"
            if _ems(longer) <= room:
                parts[-1] = longer
            else:
                parts.append(piece)
    if lines is not None and len(parts) > lines:
        last = parts[lines - 1]
        while last and _ems(f"{last} {cut}") > room:
            last = last.rpartition(" ")[0] or last[:-1]
        parts = [*parts[: lines - 1], f"{last} {cut}".strip()]
    return plain("\n".join(parts))


def _pieces(word: str, room: float) -> list[str]:
    """Parts of a word that each fit a line: it is broken behind underscores and hyphens, or else anywhere."""
    if _ems(word) <= room:
        return [word]
    pieces = []
    for part in re.split(r"(?<=[_-])(?=\w)", word):
        pieces.append("")
        for character in part:
            if pieces[-1] and _ems(pieces[-1] + character) > room:
                pieces.append("")
            pieces[-1] += character
    return pieces


def wrapped_texts(
    texts: Iterable[str], width: float = LABEL_CHARS, lines: int | None = LABEL_LINES
) -> dict[str, str]:
    """Texts on lines, any number of them if `lines` is None; those that are cut to the same are numbered."""
    written: dict[str, str] = {}
    for text in texts:
        short, number = wrapped(text, width, lines), 1
        while short in written.values():
            number += 1
            short = wrapped(text, width, lines, f"… ({number})")
        written[text] = short
    return written


def short_labels(
    labels: Labels,
    column: str,
    values: Iterable[Hashable],
    width: float = LABEL_CHARS,
    lines: int = LABEL_LINES,
) -> dict[Any, str]:
    """Label of each distinct value, as it fits a figure, in the order they stand."""
    whole = labels.texts(column, values)
    lines = math.ceil(lines * max(LABEL_CHARS / width, 1))
    short = wrapped_texts(whole.values(), width, lines)
    return {value: short[text] for value, text in whole.items()}


def indented(text: str) -> str:
    """Label set in from the left."""
    return _INDENT + text.replace("\n", f"\n{_INDENT}")


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


def label_chars(width: float, most: int = LABEL_CHARS) -> float:
    """How many characters of a label stand on a line beside the panels of a figure of a width in mm."""
    return min(most, chars_in(0.36 * width))


def caption(sentences: Iterable[str], width: float = CAPTION_CHARS) -> str:
    """Sentences that are not empty as the lines under a figure."""
    return wrapped(" ".join(s for s in sentences if s), width, None)


def caption_chars(width: float, left: float = 3.0) -> float:
    """How many characters of a caption fit a line of a figure, but for `left` mm and the margins."""
    return max(chars_in(min(width - left - 1, 0.96 * width - 1), TEXT_PT - 1), 20.0)


def caption_mm(text: str) -> float:
    """Height of a caption."""
    return (text.count("\n") + 1) * 1.25 * (TEXT_PT - 1) * MM_PER_PT + 2 if text else 0.0


@dataclass(frozen=True)
class Below:
    """Names below the tiles: how they stand, how high they are and how far left of the panel they begin."""

    texts: list[str]
    look: dict[str, Any]
    height: float
    beyond: float


def names_below(names: Sequence[str], tile: float, *, slant: bool) -> Below:
    """Names below tiles of a width in mm: level where they fit, else slanted if they may be, else upright."""
    level = [wrapped(name, chars_in(tile - 1), 3) for name in names]
    whole = all(text_mm(word) <= tile - 1 for name in names for word in name.split())
    if whole and not any(text.endswith("…") for text in level):
        lines = max(text.count("\n") + 1 for text in level)
        return Below(level, {"rotation": 0, "ha": "center"}, lines * LINE_MM + _BELOW_MM, 0.0)
    lines = min(int((_SLANT if slant else 1) * tile / LINE_MM), LABEL_LINES)
    texts = list(wrapped_texts(names, NAME_CHARS, max(lines, 1)).values())
    wide = max(map(text_mm, texts))
    if slant and lines:
        look = {"rotation": 45, "ha": "right"}
        return Below(texts, look, _SLANT * wide + _BELOW_MM, _SLANT * text_mm(texts[0]) - tile / 2 + 1)
    return Below(texts, {"rotation": 90, "ha": "center"}, wide + _BELOW_MM, 0.0)
