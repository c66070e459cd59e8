"""Names in a file of scores matched with the names that a study printed."""

from collections.abc import Iterable

from salstats.display.text.labels import Labels


def match_names(
    own: Iterable[object], printed: Iterable[str], column: str, labels: Labels | None = None
) -> dict[str, str]:
    """Match a file's names with printed ones: own name -> printed name, of those that have one.

    Case, blanks and punctuation do not count, a plus does: `gradcam++` and `Grad-CAM++` are one method,
    `gradcam` is another. A name stands for its label too, as `ig` for Integrated Gradients. Where two names
    of the file are one printed name, neither is matched.
    """
    known = {_plain(name): name for name in printed}
    shown = labels or Labels()
    matched: dict[str, str] = {}
    for name in dict.fromkeys(map(str, own)):
        for spelling in (name, shown.value(column, name)):
            if _plain(spelling) in known:
                matched[name] = known[_plain(spelling)]
                break
    found = list(matched.values())
    return {name: printed_name for name, printed_name in matched.items() if found.count(printed_name) == 1}


def _plain(name: str) -> str:
    """The letters, digits and pluses of a name, in lower case."""
    return "".join(character for character in name.lower() if character.isalnum() or character == "+")
