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
from matplotlib.ft2font import FT2Font, LoadFlags

from salstats.display.plots.layout.theme import LINE_MM, MM_PER_PT, TEXT_PT, fallback_fonts, font
from salstats.display.text.format import with_no_break_spaces_where_needed
from salstats.display.text.labels import Labels

#: Characters of a line and lines of the label of a row, in a figure. The figure's frame has the whole label.
LABEL_CHARS = 24
LABEL_LINES = 3
#: Characters of a line of a caption, which then fits a journal's column.
CAPTION_CHARS = 74
#: Characters of a line of a name below or beside tiles.
NAME_CHARS = 22
#: Room in mm above and below the names below tiles, together, and around a horizontal name in its tile.
_NAME_PAD_MM = 4.0
_TILE_PAD_MM = 1.0
#: Height of a slanted name over its width: somewhat more than the sine of 45 degrees. The name extends as far
#: to the left, and its lines take this share of the width of a tile.
_SLANT = 0.75
#: Width of an average character in ems: an em is the size of the text.
_AVERAGE_EM = 0.56
#: Width of bold text over that of regular text.
_BOLD_FACTOR = 1.14
#: Indentation of a label below a heading: an em space, since Matplotlib trims ordinary spaces.
_INDENT = "\u2003"
#: Character that stands for a space at which no line may end, while text is wrapped.
_UNBROKEN_SPACE = "\x00"
#: Size of the text of a caption in points, and the height of its lines over that size.
CAPTION_PT = TEXT_PT - 1
_CAPTION_LINE_FACTOR = 1.25
#: Room in mm above a caption.
_ABOVE_CAPTION_MM = 2.0
#: Share of a figure's width that a line of text below the panels may take, since its width is estimated.
TEXT_SHARE = 0.96
#: Fewest characters of a line of a caption.
_MIN_CAPTION_CHARS = 20.0
#: Fewest average characters of a line of any text.
_MIN_CHARS = 4.0
#: Share of the width of a figure that the labels at the left of its panels may take.
_LABEL_SHARE = 0.36


def text_width_mm(text: str, size_pt: float = TEXT_PT, *, bold: bool = False) -> float:
    """Return the width in mm of the widest line of a text of a size in points."""
    line_ems = [_line_width_ems(line) for line in text.split("\n")]
    return max(line_ems) * _weight_factor(bold) * size_pt * MM_PER_PT


def widest_word_mm(texts: Iterable[str], *, bold: bool = False) -> float:
    """Return the width in mm of the widest word of some texts, 0 without words."""
    widest = 0.0
    for text in texts:
        for word in text.split():
            widest = max(widest, text_width_mm(word, bold=bold))
    return widest


def _weight_factor(bold: bool) -> float:
    """Return the width of text over that of regular text."""
    return _BOLD_FACTOR if bold else 1.0


def _line_width_ems(line: str) -> float:
    """Return the width of a line in ems."""
    faces = (font(), *fallback_fonts())
    return sum(_character_width_em(character, faces) for character in line)


@cache
def _character_width_em(character: str, faces: tuple[str, ...]) -> float:
    """Return the width in ems of a character in the first of some faces that has it."""
    face = _face_with(character, faces)
    if face is None:
        # a box is drawn; on a system with East Asian fonts these characters are as wide as high
        is_east_asian = unicodedata.east_asian_width(character) in "WF"
        return 1.0 if is_east_asian else _AVERAGE_EM
    # without scale and hinting the advance is in the units of the font
    flags = LoadFlags.NO_SCALE | LoadFlags.NO_HINTING
    return float(face.load_char(ord(character), flags=flags).horiAdvance / face.units_per_EM)


@cache
def _face_with(character: str, faces: tuple[str, ...]) -> FT2Font | None:
    """Return the first of some faces that has a character, None if none has it."""
    for name in faces:
        face = get_font(findfont(FontProperties(family=name)))
        if face.get_char_index(ord(character)):
            return face
    return None


def characters_without_face(texts: Iterable[str], faces: tuple[str, ...]) -> str:
    """Return the visible characters of texts that none of some faces has, each once and in order."""
    characters = dict.fromkeys("".join(texts))
    visible = [character for character in characters if character.isprintable()]
    return "".join(character for character in visible if _face_with(character, faces) is None)


def chars_in(width_mm: float, size_pt: float = TEXT_PT, *, bold: bool = False) -> float:
    """Return the number of average characters that fit a width in mm, 4 at least; `size_pt` is in points."""
    character_mm = _weight_factor(bold) * _AVERAGE_EM * size_pt * MM_PER_PT
    return max(width_mm / character_mm, _MIN_CHARS)


def escape_dollars(text: str) -> str:
    """Return text that Matplotlib draws literally: two dollar signs would start a formula."""
    return text.replace(r"\$", "$").replace("$", r"\$")


def wrapped(
    text: str, line_chars: float = LABEL_CHARS, max_lines: int | None = LABEL_LINES, ending: str = "…"
) -> str:
    """Return a text on at most `max_lines` lines of `line_chars` average characters, on any number if None.

    A text that needs more lines is shortened and ends in `ending`. Dollar signs are escaped for Matplotlib.
    """
    max_ems = line_chars * _AVERAGE_EM
    text_lines = _wrapped_lines(text, max_ems)
    if max_lines is not None and len(text_lines) > max_lines:
        last_line = text_lines[max_lines - 1]
        while last_line and _line_width_ems(f"{last_line} {ending}") > max_ems:
            # without its last word or, if it has only one, without its last character
            last_line = last_line.rpartition(" ")[0] or last_line[:-1]
        text_lines = [*text_lines[: max_lines - 1], f"{last_line} {ending}".strip()]
    return escape_dollars("\n".join(text_lines))


def _wrapped_lines(text: str, max_ems: float) -> list[str]:
    """Return the lines of a text, each at most so many ems wide."""
    lines = [""]
    unbroken = with_no_break_spaces_where_needed(text, _UNBROKEN_SPACE)
    # the pattern names spaces, since the class \s would include the non-breaking one
    for word in re.split(r"[ \n\t]+", unbroken.strip(" \n\t")):
        for number, fragment in enumerate(_word_fragments(word.replace(_UNBROKEN_SPACE, " "), max_ems)):
            # a space stands before a word, not before its further fragments or at the start of a line
            space = " " if number == 0 and lines[-1] else ""
            longer_line = f"{lines[-1]}{space}{fragment}"
            if _line_width_ems(longer_line) <= max_ems:
                lines[-1] = longer_line
            else:
                lines.append(fragment)
    return lines


def _word_fragments(word: str, max_ems: float) -> list[str]:
    """Return pieces of a word that each fit a line; a word that fits is one piece.

    Others are cut after each underscore and hyphen, and anywhere where a piece is still too wide.
    """
    if _line_width_ems(word) <= max_ems:
        return [word]
    fragments = []
    for part in re.split(r"(?<=[_-])(?=\w)", word):
        fragments.append("")
        for character in part:
            if fragments[-1] and _line_width_ems(fragments[-1] + character) > max_ems:
                fragments.append("")
            fragments[-1] += character
    return fragments


def wrapped_texts(
    texts: Iterable[str], line_chars: float = LABEL_CHARS, max_lines: int | None = LABEL_LINES
) -> dict[str, str]:
    """Return each text as it is wrapped (see `wrapped`), by the text.

    Texts that would have the same lines, because they are shortened or differ only in blanks, end in numbers.
    """
    wrapped_of: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        number = 1
        short_text = wrapped(text, line_chars, max_lines)
        while short_text in wrapped_of.values():
            number += 1
            ending = f"… ({number})"
            short_text = wrapped(text, line_chars, max_lines, ending=ending)
            if not short_text.endswith(ending):
                short_text = wrapped(f"{text} ({number})", line_chars, max_lines, ending=ending)
        wrapped_of[text] = short_text
    return wrapped_of


def short_labels(
    labels: Labels,
    column: str,
    values: Iterable[Hashable],
    line_chars: float = LABEL_CHARS,
    max_lines: int = LABEL_LINES,
) -> dict[Any, str]:
    """Return the short label of each distinct value of a column, in the order of the labels."""
    full_labels = labels.label_by_value(column, values)
    # labels on narrower lines may have more lines
    max_lines = math.ceil(max_lines * max(LABEL_CHARS / line_chars, 1))
    wrapped_of = wrapped_texts(full_labels.values(), line_chars, max_lines)
    return {value: wrapped_of[text] for value, text in full_labels.items()}


def indented(text: str) -> str:
    """Return a label whose lines are all indented."""
    return _INDENT + text.replace("\n", f"\n{_INDENT}")


def crossed_labels(frame: pd.DataFrame, labels: Mapping[str, Mapping[Any, str]]) -> pd.Categorical:
    """Return the labels of several columns joined by commas, one text for each row of a frame.

    `labels` has the label of each value by column. Categories are the combinations that occur, in the order
    of the labels of the first column, then of the second, and so on.
    """
    # a tuple for each row: its values in these columns
    row_values: list[tuple[Any, ...]] = [()] * len(frame)
    if labels:
        row_values = list(zip(*[frame[column] for column in labels], strict=True))
    # label of each value and order of the values, for each column
    label_of_value = list(labels.values())
    orders = [list(label_of) for label_of in label_of_value]

    def label_positions(values: tuple[Any, ...]) -> list[int]:
        """Return the position of each value in the order of its column's labels."""
        return [order.index(value) for order, value in zip(orders, values, strict=True)]

    text_of = {}
    for values in sorted(set(row_values), key=label_positions):
        texts = [label_of[value] for label_of, value in zip(label_of_value, values, strict=True)]
        text_of[values] = ", ".join(text for text in texts if text)
    row_texts: list[Any] = [text_of[values] for values in row_values]
    return pd.Categorical(row_texts, list(text_of.values()), ordered=True)


def label_line_chars(figure_width_mm: float, max_chars: int = LABEL_CHARS) -> float:
    """Return the characters of a line of the labels at the left of panels, for a figure of a width in mm."""
    return min(max_chars, chars_in(_LABEL_SHARE * figure_width_mm))


def caption(sentences: Iterable[str], line_chars: float = CAPTION_CHARS) -> str:
    """Return the caption of a figure in lines of `line_chars` characters, without empty sentences."""
    return wrapped(" ".join(sentence for sentence in sentences if sentence), line_chars, max_lines=None)


def caption_chars(figure_width_mm: float, left_mm: float = 3.0, size_pt: float = CAPTION_PT) -> float:
    """Return the characters of a line of a caption that begins `left_mm` from the edge of a figure.

    `figure_width_mm` is that of the figure in mm, `size_pt` that of the text in points.
    """
    available_mm = min(figure_width_mm - left_mm, TEXT_SHARE * figure_width_mm) - 1
    return max(chars_in(available_mm, size_pt), _MIN_CAPTION_CHARS)


def caption_height_mm(text: str, size_pt: float = CAPTION_PT) -> float:
    """Return the height in mm of a wrapped caption with the room above it, 0 without a caption.

    `size_pt` is that of the text in points.
    """
    if not text:
        return 0.0
    n_lines = text.count("\n") + 1
    return n_lines * _CAPTION_LINE_FACTOR * size_pt * MM_PER_PT + _ABOVE_CAPTION_MM


@dataclass(frozen=True)
class TileNames:
    """Names below the columns of a panel of tiles.

    Attributes
    ----------
    texts : list of str
        Wrapped name of each column.
    text_options : dict
        Rotation and alignment of the names, as options of plotnine's `element_text`.
    height : float
        Height of the names in mm.
    left_overhang : float
        Width in mm by which the first name extends to the left of the panel.
    """

    texts: list[str]
    text_options: dict[str, Any]
    height: float
    left_overhang: float


def names_below(names: Sequence[str], tile_width_mm: float, *, may_slant: bool) -> TileNames:
    """Return names for tiles of a width in mm: horizontal where they fit, else slanted, or vertical.

    `may_slant` is whether there is room for slanted names, which begin further left and below the panel.
    """
    name_room_mm = tile_width_mm - _TILE_PAD_MM
    horizontal = [wrapped(name, chars_in(name_room_mm), LABEL_LINES) for name in names]
    words_fit = widest_word_mm(names) <= name_room_mm
    if words_fit and not any(text.endswith("…") for text in horizontal):
        n_lines = max(text.count("\n") + 1 for text in horizontal)
        return TileNames(
            horizontal,
            {"rotation": 0, "ha": "center"},
            height=n_lines * LINE_MM + _NAME_PAD_MM,
            left_overhang=0.0,
        )
    room_for_lines_mm = tile_width_mm
    if may_slant:
        room_for_lines_mm *= _SLANT
    n_lines = min(int(room_for_lines_mm / LINE_MM), LABEL_LINES)
    texts = list(wrapped_texts(names, NAME_CHARS, max(n_lines, 1)).values())
    widest = max(map(text_width_mm, texts))
    if may_slant and n_lines:
        overhangs = []
        for index, text in enumerate(texts):
            # a slanted name ends below the middle of its tile
            name_end_mm = (index + 0.5) * tile_width_mm - 1
            overhangs.append(_SLANT * text_width_mm(text) - name_end_mm)
        return TileNames(
            texts,
            {"rotation": 45, "ha": "right"},
            height=_SLANT * widest + _NAME_PAD_MM,
            left_overhang=max(overhangs),
        )
    return TileNames(texts, {"rotation": 90, "ha": "center"}, height=widest + _NAME_PAD_MM, left_overhang=0.0)
