"""Names in a file of scores matched with the names that a study printed."""

from collections import Counter
from collections.abc import Iterable

from salstats.display.text.labels import Labels


def printed_name_by_uniquely_matched_name(
    names: Iterable[object], printed_names: Iterable[str], column: str, labels: Labels | None = None
) -> dict[str, str]:
    """Match the names of a file with printed ones; names without a match are left out.

    Case, blanks and punctuation do not count, a plus does: `gradcam++` and `Grad-CAM++` are one method,
    `gradcam` is another. A name stands for its label too, as `ig` for Integrated Gradients. Where two names
    of the file have one printed name, neither is matched.
    """
    printed_by_key = {_comparison_key(name): name for name in printed_names}
    labels = labels or Labels()
    matches: dict[str, str] = {}
    for name in dict.fromkeys(map(str, names)):
        for spelling in (name, labels.value(column, name)):
            key = _comparison_key(spelling)
            if key in printed_by_key:
                matches[name] = printed_by_key[key]
                break
    n_matches = Counter(matches.values())
    return {name: printed_name for name, printed_name in matches.items() if n_matches[printed_name] == 1}


def _comparison_key(name: str) -> str:
    """Return the letters, digits and pluses of a name, in lower case."""
    return "".join(character for character in name.lower() if character.isalnum() or character == "+")
