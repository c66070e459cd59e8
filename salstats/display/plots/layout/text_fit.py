"""Text in figures: its width in mm, and its lines where it is wrapped or shortened to fit."""

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

#: Characters of a line and lines of the label of a row, in a figure. The figure's frame has the whole label.
LABEL_CHARS = 24
LABEL_LINES = 3
#: Characters of a line of a caption, which then fits a journal's column.
CAPTION_CHARS = 74
#: Characters of a line of a name below or beside tiles.
NAME_CHARS = 22
#: Room in mm above and below the names below tiles.
_NAME_PAD_MM = 4.0
#: Height of a slanted name over its width (somewhat more than the sine of 45 degrees). It extends as far to
#: the left, and its lines take this share of the width of a tile.
_SLANT = 0.75
#: Width of an average character over the size of its text.
_AVERAGE_EM = 0.56
#: Width of bold text over that of regular text.
_BOLD_FACTOR = 1.13
#: Indentation of a label below a heading. Matplotlib would trim ordinary spaces.
_INDENT = "\u2003"
#: Stands for a space at which no line may end, while text is wrapped.
_UNBROKEN_SPACE = "\x00"


def text_mm(text: str, size: float = TEXT_PT, *, bold: bool = False) -> float:
    """Width in mm of the widest line of a text, `size` in points."""
    factor = _BOLD_FACTOR if bold else 1.0
    return max(_line_ems(line) for line in text.split("\n")) * factor * size * MM_PER_PT


def _line_ems(line: str) -> float:
    """Width of a line over the size of its text."""
    face = font()
    return sum(_character_em(character, face) for character in line)


@cache
def _character_em(character: str, family: str) -> float:
    """Width of a character of a font family over the size of its text."""
    face = get_font(findfont(FontProperties(family=family)))
    if not face.get_char_index(ord(character)):
        # Matplotlib takes the character from another font, where East Asian ones are as wide as high
        return 1.0 if unicodedata.east_asian_width(character) in "WF" else _AVERAGE_EM
    flags = LoadFlags.NO_SCALE | LoadFlags.NO_HINTING
    return float(face.load_char(ord(character), flags=flags).horiAdvance / face.units_per_EM)


def chars_in(width: float, size: float = TEXT_PT, *, bold: bool = False) -> float:
    """Number of average characters that fit a width in mm, 4 at least."""
    factor = _BOLD_FACTOR if bold else 1.0
    return max(width / (factor * _AVERAGE_EM * size * MM_PER_PT), 4.0)


def escape_dollars(text: str) -> str:
    """Text that Matplotlib draws literally: two dollar signs would start a formula."""
    return text.replace(r"\$", "$").replace("$", r"\$")


def wrapped(text: str, width: float = LABEL_CHARS, lines: int | None = LABEL_LINES, cut: str = "…") -> str:
    """Text on at most `lines` lines of `width` average characters; a shortened text ends in `cut`."""
    max_ems = width * _AVERAGE_EM
    text_lines = [""]
    # the pattern names spaces, since the class \s would include the non-breaking one
    for word in re.split(r"[ \n\t]+", unbroken(text, _UNBROKEN_SPACE).strip(" \n\t")):
        for number, fragment in enumerate(_word_fragments(word.replace(_UNBROKEN_SPACE, " "), max_ems)):
            space = " " if number == 0 and text_lines[-1] else ""
            longer_line = f"{text_lines[-1]}{space}{fragment}"
            if _line_ems(longer_line) <= max_ems:
                text_lines[-1] = longer_line
            else:
                text_lines.append(fragment)
    if lines is not None and len(text_lines) > lines:
        last_line = text_lines[lines - 1]
        while last_line and _line_ems(f"{last_line} {cut}") > max_ems:
            last_line = last_line.rpartition(" ")[0] or last_line[:-1]
        text_lines = [*text_lines[: lines - 1], f"{last_line} {cut}".strip()]
    return escape_dollars("\n".join(text_lines))


def _word_fragments(word: str, max_ems: float) -> list[str]:
    """Pieces of a word that each fit a line, broken after underscores and hyphens or else anywhere."""
    if _line_ems(word) <= max_ems:
        return [word]
    fragments = []
    for syllable in re.split(r"(?<=[_-])(?=\w)", word):
        fragments.append("")
        for character in syllable:
            if fragments[-1] and _line_ems(fragments[-1] + character) > max_ems:
                fragments.append("")
            fragments[-1] += character
    return fragments


def wrapped_texts(
    texts: Iterable[str], width: float = LABEL_CHARS, lines: int | None = LABEL_LINES
) -> dict[str, str]:
    """Each text as it is wrapped, on any number of lines if `lines` is None.

    Texts that would be shortened to the same lines end in numbers.
    """
    wrapped_of: dict[str, str] = {}
    for text in texts:
        number = 1
        short_text = wrapped(text, width, lines)
        while short_text in wrapped_of.values():
            number += 1
            short_text = wrapped(text, width, lines, cut=f"… ({number})")
        wrapped_of[text] = short_text
    return wrapped_of


def short_labels(
    labels: Labels,
    column: str,
    values: Iterable[Hashable],
    width: float = LABEL_CHARS,
    lines: int = LABEL_LINES,
) -> dict[Any, str]:
    """Label of each distinct value of a column, wrapped and shortened, in the order of the labels."""
    full_labels = labels.texts(column, values)
    # labels on narrower lines may have more lines
    lines = math.ceil(lines * max(LABEL_CHARS / width, 1))
    wrapped_of = wrapped_texts(full_labels.values(), width, lines)
    return {value: wrapped_of[text] for value, text in full_labels.items()}


def indented(text: str) -> str:
    """Label whose lines are all indented."""
    return _INDENT + text.replace("\n", f"\n{_INDENT}")


def crossed_labels(frame: pd.DataFrame, labels: Mapping[str, Mapping[Any, str]]) -> pd.Categorical:
    """Labels of several columns joined by commas, one text for each row of a frame.

    `labels` has the labels of each column's values. Categories are the combinations that occur, in the order
    of the labels of the first column, then of the second, and so on.
    """
    combinations: list[tuple[Any, ...]] = [()] * len(frame)
    if labels:
        columns = [frame[column] for column in labels]
        combinations = list(zip(*columns, strict=True))
    orders = [list(labels_of_values) for labels_of_values in labels.values()]

    def positions(combination: tuple[Any, ...]) -> list[int]:
        return [order.index(value) for order, value in zip(orders, combination, strict=True)]

    text_of = {}
    for combination in sorted(set(combinations), key=positions):
        texts = []
        for labels_of_values, value in zip(labels.values(), combination, strict=True):
            texts.append(labels_of_values[value])
        text_of[combination] = ", ".join(text for text in texts if text)
    row_texts: list[Any] = [text_of[combination] for combination in combinations]
    return pd.Categorical(row_texts, list(text_of.values()), ordered=True)


def label_chars(width: float, max_chars: int = LABEL_CHARS) -> float:
    """Characters of a line of the labels beside the panels of a figure of a width in mm."""
    return min(max_chars, chars_in(0.36 * width))


def caption(sentences: Iterable[str], width: float = CAPTION_CHARS) -> str:
    """Caption of a figure, wrapped to lines of `width` characters, without the sentences that are empty."""
    return wrapped(" ".join(sentence for sentence in sentences if sentence), width, None)


def caption_chars(width: float, left: float = 3.0) -> float:
    """Characters of a line of a figure's caption that begins `left` mm from the edge."""
    return max(chars_in(min(width - left - 1, 0.96 * width - 1), TEXT_PT - 1), 20.0)


def caption_mm(text: str) -> float:
    """Height of a caption in mm."""
    if not text:
        return 0.0
    n_lines = text.count("\n") + 1
    return n_lines * 1.25 * (TEXT_PT - 1) * MM_PER_PT + 2


@dataclass(frozen=True)
class TileNames:
    """Names below the columns of a panel of tiles.

    `texts` are their wrapped names, `text_options` how Matplotlib rotates and aligns them, `height` is that
    of the names in mm, and `left_overhang` is by how many mm the first name extends to the left of the panel.
    """

    texts: list[str]
    text_options: dict[str, Any]
    height: float
    left_overhang: float


def names_below(names: Sequence[str], tile: float, *, slant: bool) -> TileNames:
    """Names below tiles of a width in mm: horizontal where they fit, else slanted, or vertical.

    `slant` is whether the panel has room for slanted names at its left.
    """
    horizontal = [wrapped(name, chars_in(tile - 1), 3) for name in names]
    words_fit = all(text_mm(word) <= tile - 1 for name in names for word in name.split())
    if words_fit and not any(text.endswith("…") for text in horizontal):
        n_lines = max(text.count("\n") + 1 for text in horizontal)
        return TileNames(
            horizontal,
            {"rotation": 0, "ha": "center"},
            height=n_lines * LINE_MM + _NAME_PAD_MM,
            left_overhang=0.0,
        )
    line_room = _SLANT * tile if slant else tile
    n_lines = min(int(line_room / LINE_MM), LABEL_LINES)
    texts = list(wrapped_texts(names, NAME_CHARS, max(n_lines, 1)).values())
    widest = max(map(text_mm, texts))
    if slant and n_lines:
        return TileNames(
            texts,
            {"rotation": 45, "ha": "right"},
            height=_SLANT * widest + _NAME_PAD_MM,
            left_overhang=_SLANT * text_mm(texts[0]) - tile / 2 + 1,
        )
    return TileNames(texts, {"rotation": 90, "ha": "center"}, height=widest + _NAME_PAD_MM, left_overhang=0.0)
