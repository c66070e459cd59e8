"""The styles a table's HTML gives its text: what its style sheet and its elements say, read together."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from PIL import ImageColor

from salstats.display.export.table_grid import Run

#: A rule for one class, as a table's own style sheet writes them.
_RULE = re.compile(r"(?:^|\n|\})\s*(?:#[\w-]+\s+)?\.([\w-]+)\s*\{([^{}]*)\}")
#: Declarations that say something about text; the others are decoration.
_SAYS = {
    "background",
    "background-color",
    "color",
    "display",
    "font-style",
    "font-weight",
    "text-align",
    "text-decoration",
    "text-decoration-line",
    "text-transform",
    "vertical-align",
    "visibility",
    "white-space",
}
_TAGS: dict[str, dict[str, bool]] = {
    "b": {"bold": True},
    "strong": {"bold": True},
    "i": {"italic": True},
    "em": {"italic": True},
    "cite": {"italic": True},
    "dfn": {"italic": True},
    "var": {"italic": True},
    "u": {"underline": True},
    "ins": {"underline": True},
    "s": {"strike": True},
    "del": {"strike": True},
    "strike": {"strike": True},
    "sup": {"superscript": True, "subscript": False},
    "sub": {"subscript": True, "superscript": False},
    **{f"h{level}": {"bold": True} for level in range(1, 7)},
}
#: Text with no style at all.
_PLAIN = Run("")
Declarations = Mapping[str, str]


@dataclass(frozen=True)
class TextStyle:
    """How a piece of text is shown: the style of its run, and what is done to its characters."""

    run: Run = _PLAIN
    transform: str = "none"
    keeps_space: bool = False

    def inside(self, tag: str, declarations: Declarations) -> "TextStyle":
        """Return the style inside an element."""
        changes: dict[str, Any] = dict(_TAGS.get(tag, {}))
        weight = declarations.get("font-weight", "inherit")
        if weight != "inherit":
            changes["bold"] = _is_bold(weight)
        slant = declarations.get("font-style", "inherit")
        if slant != "inherit":
            changes["italic"] = slant.startswith(("italic", "oblique"))
        # a decoration is drawn through everything inside, whatever the inner elements say
        decoration = declarations.get("text-decoration-line", declarations.get("text-decoration", ""))
        if "underline" in decoration:
            changes["underline"] = True
        if "line-through" in decoration:
            changes["strike"] = True
        raised = declarations.get("vertical-align", "")
        if raised in ("super", "sub"):
            changes |= {"superscript": raised == "super", "subscript": raised == "sub"}
        transform = declarations.get("text-transform", "inherit")
        space = declarations.get("white-space", "pre" if tag == "pre" else "inherit")
        return TextStyle(
            replace(self.run, **changes) if changes else self.run,
            self.transform if transform == "inherit" else transform,
            self.keeps_space if space == "inherit" else space.startswith(("pre", "break-spaces")),
        )

    def shown(self, text: str) -> Run:
        """Return a run of text in this style."""
        if self.transform == "uppercase":
            text = text.upper()
        elif self.transform == "lowercase":
            text = text.lower()
        elif self.transform == "capitalize":
            text = re.sub("(?<![\\w'\u2019])\\w", lambda letter: letter.group().upper(), text)
        return replace(self.run, text=text)


class StyleSheet:
    """The rules of a table's style sheet that are for one class."""

    def __init__(self, text: str) -> None:
        rules = [(name, declarations(body)) for name, body in _RULE.findall(text)]
        self._rules = [(name, said) for name, said in rules if said]

    def classes(self, classes: str) -> Declarations:
        """Return what the rules declare for an element's classes, a later rule before an earlier one."""
        names = set(classes.split())
        found: dict[str, str] = {}
        for name, said in self._rules:
            if name in names:
                found |= said
        return found


@lru_cache(maxsize=1024)
def declarations(text: str) -> dict[str, str]:
    """Return the declarations of a `style` attribute or of a rule that say something about text."""
    found = {}
    for part in text.split(";"):
        name, _, value = part.partition(":")
        name = name.strip().lower()
        if name in _SAYS:
            found[name] = value.replace("!important", "").strip().lower()
    return found


@lru_cache(maxsize=1024)
def hex_colour(value: str) -> str:
    """Return a CSS colour as six hexadecimal digits, empty where it is none that paper can show."""
    try:
        parts = ImageColor.getrgb(value.strip())
    except ValueError:
        return ""
    transparent = len(parts) == 4 and parts[3] == 0
    return "" if transparent else "".join(f"{part:02X}" for part in parts[:3])


def _is_bold(weight: str) -> bool:
    """Return whether a `font-weight` is bold."""
    return int(weight) >= 600 if weight.isdigit() else weight.startswith("bold")
