"""Random effects in the text of a formula: `(1|reader)`, `(1|patient/case)`, `(1 + method|reader)`."""

import re
from itertools import pairwise

from salstats.errors import FormulaError

#: Quoted text, in which operators have no meaning.
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_TERM = re.compile(r"\((?P<effects>[^|]*)(?P<bar>\|\|?)(?P<groups>[^|]*)\)")
#: Text of the effects, True if they are correlated, and text of the groups.
RandomEffectText = tuple[str, bool, str]


def without_random_effects(formula: str) -> tuple[str, list[RandomEffectText]]:
    """Return a two-sided formula without its random effects, and the random effects.

    A random effect is a summand of the right side in brackets with a bar. `iou ~ (1|case)` becomes `iou ~ 1`.
    """
    # the same text with every quoted character replaced by a letter, for looking for operators
    masked = QUOTED.sub(lambda match: "q" * len(match[0]), formula)
    if "|" not in masked:
        return formula, []
    left_side, _, right_side = masked.partition("~")
    fixed_terms = []
    random_effects = []
    for start, end in _summands(right_side, offset=len(left_side) + 1):
        masked_term = masked[start:end].strip()
        term = formula[start:end].strip()
        if "|" not in masked_term:
            fixed_terms.append(term)
            continue
        match = _TERM.fullmatch(masked_term)
        if match is None or not match["effects"].strip() or not match["groups"].strip():
            raise FormulaError(
                f"{term!r} in {formula!r} is no random effect; one is added with + and stands in "
                "brackets, as (1|reader), (1|patient/case) or (1 + method|reader)"
            )
        effects = term[slice(*match.span("effects"))].strip()
        groups = term[slice(*match.span("groups"))].strip()
        is_correlated = match["bar"] == "|"
        random_effects.append((effects, is_correlated, groups))
    new_right_side = " + ".join(fixed_terms) or "1"
    return f"{formula[: len(left_side)]}~ {new_right_side}", random_effects


def _summands(right_side: str, offset: int) -> list[tuple[int, int]]:
    """Return start and end of the terms between plus signs outside of brackets; `offset` is added to both."""
    depth = 0
    boundaries = [-1]
    for position, character in enumerate(right_side):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        elif character == "+" and depth == 0:
            boundaries.append(position)
    boundaries.append(len(right_side))
    return [(offset + plus + 1, offset + next_plus) for plus, next_plus in pairwise(boundaries)]
