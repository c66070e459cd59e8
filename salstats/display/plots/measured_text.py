"""Text as wide as it is drawn: what has to fit a box is measured, not guessed."""

import re
from functools import cache

from matplotlib import font_manager
from matplotlib.textpath import text_to_path

from salstats.display.plots.panels import MM_PER_PT
from salstats.display.plots.theme import font

#: What stands in for characters that the face lacks; they are drawn as a box about as wide.
_WIDE = "M"


@cache
def _em(character: str, bold: bool) -> float:
    """Return how wide a character is in the house face, in units of the size of the text."""
    face = font_manager.FontProperties(family=font(), weight="bold" if bold else "normal", size=1)
    known = font_manager.get_font(font_manager.findfont(face)).get_char_index(ord(character))
    width = text_to_path.get_text_width_height_descent(character if known else _WIDE, face, False)[0]
    return float(width)


def width_mm(text: str, size: float, bold: bool = False) -> float:
    """Return how wide a line of text is in the house face, `size` in points; kerning may make it less."""
    return sum(_em(character, bold) for character in text) * size * MM_PER_PT


def fitted(text: str, width: float, size: float, bold: bool = False) -> list[str]:
    """Return text as lines of at most `width` mm; words that are wider than a line are broken."""
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
    """Return a word in pieces of at most `width` mm."""
    pieces, piece = [], ""
    for character in word:
        if piece and width_mm(piece + character, size, bold) > width:
            pieces.append(piece)
            piece = ""
        piece += character
    return [*pieces, piece]
