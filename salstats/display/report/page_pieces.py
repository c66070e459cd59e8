"""Pieces that recur on the report's page: text with links, regions that scroll, buttons that copy."""

import re
from urllib.parse import quote

from salstats.display.text.markup import Child, Markup, element, joined

#: A DOI in running text; what follows it may end a sentence or close a bracket.
_DOI = re.compile(r"(?:https://doi\.org/|doi:\s?)(10\.\d{4,9}/[^\s<>\"]*[^\s<>\".,;:)\]])")


def linked(text: str) -> Markup:
    """Text with its DOIs as links.

    Examples
    --------
    >>> print(linked("As before (doi:10.1000/182)."))
    As before (<a href="https://doi.org/10.1000/182">doi:10.1000/182</a>).
    """
    pieces: list[Child] = []
    end = 0
    for match in _DOI.finditer(text):
        link = element("a", match[0], href=f"https://doi.org/{quote(match[1], safe='/:;()')}")
        pieces += [text[end : match.start()], link]
        end = match.end()
    return joined([*pieces, text[end:]])


def scrolling(content: Markup, label: str, class_: str = "scroll") -> Markup:
    """Region that scrolls by itself and that the keyboard can reach."""
    return element("div", content, class_=class_, role="region", tabindex=0, aria_label=label)


def tools(*children: Child) -> Markup:
    """Row of what can be done with the thing above it."""
    return element("div", *children, class_="tools")


def copy_button(target: str, text: str, what: str, *, table: bool = False) -> Markup:
    """Button that puts the text of an element, or a table, on the clipboard.

    `what` names it once it is copied.
    """
    return element(
        "button", text, type="button", class_="scripted", data_copy=target, data_what=what, data_table=table
    )
