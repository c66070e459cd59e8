"""HTML from texts of users, each of which is escaped when it is inserted."""

import html
import re
from collections.abc import Iterable
from typing import Any

#: Elements without content or end tag.
_VOID = {"br", "hr", "img", "link", "meta"}
#: Characters that HTML, XML or UTF-8 cannot hold: control characters, surrogates and non-characters.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


class Markup(str):
    """HTML that stands as it is; any other text is escaped."""

    __slots__ = ()


#: Content of an element: text, finished HTML, nothing, or several of these.
Child = str | None | Iterable["Child"]


def escaped(text: str) -> Markup:
    """Return text as HTML, for content and attribute values alike.

    >>> print(escaped('<b> & "quotes"'))
    &lt;b&gt; &amp; &quot;quotes&quot;
    """
    return Markup(html.escape(UNPRINTABLE.sub("\ufffd", text)))


def joined_markup(children: Child) -> Markup:
    """Return children concatenated; text among them is escaped."""
    if children is None:
        return Markup()
    if isinstance(children, Markup):
        return children
    if isinstance(children, str):
        return escaped(children)
    return Markup("".join(joined_markup(child) for child in children))


def element(tag: str, *children: Child, **attributes: Any) -> Markup:
    """Return an element; `class_` and `for_` lose their underscore, `aria_label` becomes `aria-label`.

    An attribute that is None or False is left out, one that is True has no value.

    >>> print(element("a", "1 < 2", href="x.csv", class_="file", aria_label="Table 1", hidden=False))
    <a href="x.csv" class="file" aria-label="Table 1">1 &lt; 2</a>
    >>> print(element("meta", charset="utf-8"))
    <meta charset="utf-8">
    """
    start = tag
    for name, value in attributes.items():
        name = name.rstrip("_").replace("_", "-")
        if value is True:
            start += f" {name}"
        elif value is not None and value is not False:
            start += f' {name}="{escaped(str(value))}"'
    if tag in _VOID:
        return Markup(f"<{start}>")
    return Markup(f"<{start}>{joined_markup(children)}</{tag}>")


def markup_lines(*blocks: Child) -> Markup:
    """Return blocks of a page, each on its own line; empty ones are left out."""
    return Markup("\n".join(block for block in map(joined_markup, blocks) if block))
