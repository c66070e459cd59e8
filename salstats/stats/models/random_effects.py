"""Random effects in a formula's text: `(1|reader)`, `(1|patient/case)`, `(1 + method|reader)`."""

import re
from itertools import pairwise

from salstats.checks import FormulaError

#: What stands in quotes, where signs mean nothing.
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_TERM = re.compile(r"\((?P<effects>[^|]*)(?P<bar>\|\|?)(?P<groups>[^|]*)\)")
#: Effects, whether they are correlated, and groups, as they are written.
Written = tuple[str, bool, str]


def without_random_effects(formula: str) -> tuple[str, list[Written]]:
    """A two-sided formula without its random effects, and these.

    They are those summands of the right side that stand in brackets with a bar; of `iou ~ (1|case)` is left
    `iou ~ 1`.
    """
    masked = QUOTED.sub(lambda quoted: "q" * len(quoted[0]), formula)
    left, _, right = masked.partition("~")
    if "|" not in masked:
        return formula, []
    start, depth = len(left) + 1, 0
    ends = [start - 1]
    for place, sign in enumerate(right, start):
        depth += (sign == "(") - (sign == ")")
        if sign == "+" and depth == 0:
            ends.append(place)
    ends.append(len(formula))
    kept, found = [], []
    for begin, end in pairwise(ends):
        hidden, written = masked[begin + 1 : end].strip(), formula[begin + 1 : end].strip()
        if "|" not in hidden:
            kept.append(written)
            continue
        match = _TERM.fullmatch(hidden)
        if match is None or not match["effects"].strip() or not match["groups"].strip():
            raise FormulaError(
                f"{written!r} in {formula!r} is no random effect; one is added with + and stands in "
                "brackets, as (1|reader), (1|patient/case) or (1 + method|reader)"
            )
        effects, groups = (written[slice(*match.span(part))].strip() for part in ("effects", "groups"))
        found.append((effects, match["bar"] == "|", groups))
    return f"{formula[: len(left)]}~ {' + '.join(kept) or '1'}", found
