"""Text that fits: its room, wrapped to lines of characters, and cut."""

import re
import textwrap
import unicodedata
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import pandas as pd

from salstats.display.plots.theme import MM_PER_PT, TEXT_PT
from salstats.display.text.labels import Labels

#: Characters of a line and lines of a row's label; the frame behind a figure keeps the whole text.
LABEL_CHARS, LABEL_LINES = 24, 3
#: Characters of a caption's line, which then fits a journal's column.
CAPTION_CHARS = 74
#: Width of a character over the size of its text, of letters and numbers as they come.
_EM, _BOLD_EM = 0.58, 0.66
#: Room before a label that stands below another; ordinary spaces would be trimmed.
_INDENT = "\u2003"


def text_mm(text: str, size: float = TEXT_PT) -> float:
    """About how wide the widest line of a text is, `size` in points; East Asian characters count twice."""
    widths = [sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line) for line in text.split("\n")]
    return max(widths) * _EM * size * MM_PER_PT


def chars_in(width: float, size: float = TEXT_PT, *, bold: bool = False) -> int:
    """How many characters fit a width in mm."""
    return max(int(width / ((_BOLD_EM if bold else _EM) * size * MM_PER_PT)), 4)


def plain(text: str) -> str:
    """Text that Matplotlib shows as it is: two dollar signs would start mathematics."""
    return text.replace("$", r"\$")


def wrapped(text: str, width: int = LABEL_CHARS, lines: int | None = LABEL_LINES) -> str:
    """Text on at most `lines` lines of `width` characters; what does not fit ends in an ellipsis."""
    wide = any(unicodedata.east_asian_width(c) in "WF" for c in text)
    width = max(width // 2, 2) if wide else width
    # a word that is too long for a line is broken behind an underscore or a hyphen if it has one
    text = re.sub(
        rf"[^ \n]{{{width + 1},}}", lambda word: re.sub(r"([_-])(?=\w)", "\\1\u200b ", word[0]), text
    )
    parts = textwrap.wrap(text, width, max_lines=lines, placeholder=" …", break_on_hyphens=False)
    return plain("\n".join(parts).replace("\u200b ", "").replace("\u200b", ""))


def wrapped_texts(texts: Iterable[str], width: int = LABEL_CHARS, lines: int = LABEL_LINES) -> dict[str, str]:
    """Texts on lines; those that are cut to the same are numbered."""
    written: dict[str, str] = {}
    for text in texts:
        short, number = wrapped(text, width, lines), 1
        while short in written.values():
            number += 1
            short = f"{wrapped(text, width, lines)} ({number})"
        written[text] = short
    return written


def short_labels(
    labels: Labels,
    column: str,
    values: Iterable[Hashable],
    width: int = LABEL_CHARS,
    lines: int = LABEL_LINES,
) -> dict[Any, str]:
    """Label of each distinct value, as it fits a figure, in the order they stand."""
    whole = labels.texts(column, values)
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


def caption(sentences: Iterable[str], width: int = CAPTION_CHARS) -> str:
    """Sentences that are not empty as the lines under a figure."""
    return wrapped(" ".join(s for s in sentences if s), width, None)


def caption_chars(width: float, left: float = 11.0) -> int:
    """How many characters of a caption fit a line under the panels."""
    return max(chars_in(width - left - 1, TEXT_PT - 1), 20)


def caption_mm(text: str) -> float:
    """Height of a caption."""
    return (text.count("\n") + 1) * 1.25 * (TEXT_PT - 1) * MM_PER_PT + 2 if text else 0.0
