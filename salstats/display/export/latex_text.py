"""Text to LaTeX that pdfLaTeX, XeLaTeX and LuaLaTeX set alike, with no sign taken for a command."""

import re
import unicodedata

from salstats.display.export.table_widths import word_parts

#: Signs that mean something to TeX, or that its old font encoding shows as something else.
_ASCII = {
    **{sign: f"\\{sign}" for sign in "%_&#${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': "{''}",
}
_SPACES = {
    "\t": " ",
    "\u00a0": "~",
    "\u00ad": r"\-",
    "\u2002": r"\enspace{}",
    "\u2003": r"\quad{}",
    "\u2007": r"\phantom{0}",
    "\u2009": r"\,",
    "\u200a": r"\,",
    "\u200b": r"\hspace{0pt}",
    "\u202f": r"\,",
    **dict.fromkeys("\u200c\u200d\u200e\u200f\u2060\ufe0e\ufe0f\ufeff", ""),
}
#: Signs that pdfLaTeX knows in formulas only; what it knows in text (dashes, quotes, ± × °) stays.
_MATHS = {
    "\u2212": "-",
    "\u2217": r"\ast",
    "\u2032": "'",
    "\u2033": "''",
    "∓": r"\mp",
    "≤": r"\leq",
    "≥": r"\geq",
    "≠": r"\neq",
    "≈": r"\approx",
    "≡": r"\equiv",
    "\u223c": r"\sim",
    "≪": r"\ll",
    "≫": r"\gg",
    "∝": r"\propto",
    "∞": r"\infty",
    "√": r"\surd",
    "∑": r"\sum",
    "∂": r"\partial",
    "∆": r"\Delta",
    "∈": r"\in",
    "∩": r"\cap",
    "\u222a": r"\cup",
    "⊂": r"\subset",
    "⊆": r"\subseteq",
    "∅": r"\emptyset",
    "¬": r"\neg",
    "‖": r"\Vert",
    "←": r"\leftarrow",
    "→": r"\rightarrow",
    "↔": r"\leftrightarrow",
    "↑": r"\uparrow",
    "↓": r"\downarrow",
    "⇒": r"\Rightarrow",
    "\u2113": r"\ell",
    "µ": r"\mu",
    "ϵ": r"\epsilon",
    "ϑ": r"\vartheta",
    "ϕ": r"\phi",
    "ε": r"\varepsilon",
    "ς": r"\varsigma",
    "φ": r"\varphi",
    "●": r"\bullet",
    "○": r"\circ",
    "✗": r"\times",
    "✓": r"\checkmark",
    "✔": r"\checkmark",
    "■": r"\blacksquare",
    "□": r"\square",
    "★": r"\bigstar",
}
_LIKE_GREEK = "βδζηθκλμξπςτψωΓΔΘΛΞΠΣΦΨΩ\u03b1\u03b3\u03b9\u03c1\u03bd\u03c5\u03c7\u03c3\u03a5"
#: Greek letters that look like Latin ones have no command of their own.
_LATIN = dict(
    zip(
        "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a7\u03bf",
        "ABEZHIKMNOPTXo",
        strict=True,
    )
)
_RAISED = {
    **{sign: f"\\textsuperscript{{{base}}}" for sign, base in zip("⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ", "0123456789n", strict=True)},
    **{sign: f"\\textsubscript{{{base}}}" for sign, base in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)},
    "⁻": r"\textsuperscript{$-$}",
    "⁺": r"\textsuperscript{+}",
}


def _greek(letter: str) -> str:
    """The command of a Greek letter, which is its Unicode name."""
    name = unicodedata.name(letter).split()[-1].replace("LAMDA", "LAMBDA")
    return f"\\{name.lower() if letter.islower() else name.title()}"


_SIGNS = {
    **_ASCII,
    **_SPACES,
    **_LATIN,
    **_RAISED,
    **{letter: f"${_greek(letter)}$" for letter in _LIKE_GREEK},
    **{sign: f"${command}$" for sign, command in _MATHS.items()},
}
#: Letters with an accent of their own sign that pdfLaTeX's fonts lack, such as x̄, are set as both.
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030c": "v",
    "\u0323": "d",
    "\u0327": "c",
}
_LETTERS = re.compile(f"(.)([{''.join(_ACCENTS)}]?)", flags=re.DOTALL)
#: What pdfLaTeX sets as it is, beyond Latin-1 and Latin Extended-A, and letters of those that it lacks.
_KNOWN = set("ȘșȚț…‰€™\u2010\u2011\u2012\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e†‡•\u2039\u203a")
_LACKING = set("ħĦĸĿŀŉŦŧſ")
#: Two of these in a row would become another sign.
_LIGATING = "-',"


def latex_text(text: str) -> str:
    r"""One line of text as LaTeX; long words may break behind signs that join their parts.

    Examples
    --------
    >>> latex_text("50% of R&D_x"), latex_text("−0.42 ± β²"), latex_text("a--b")
    ('50\\% of R\\&D\\_x', '$-$0.42 ± $\\beta$\\textsuperscript{2}', 'a-{}-b')
    """
    words = unicodedata.normalize("NFC", text).split(" ")
    return " ".join("\\allowbreak{}".join(_escaped(part) for part in word_parts(word)) for word in words)


def _escaped(text: str) -> str:
    """Text sign by sign."""
    found = before = ""
    for letter, accent in _LETTERS.findall("".join(map(_apart, text))):
        if accent and letter.isascii() and letter.isalpha():
            found += f"\\{_ACCENTS[accent]}{{{letter}}}"
        else:
            glued = "{}" if letter == before and letter in _LIGATING else ""
            found += glued + _SIGNS.get(letter, letter) + accent
        before = letter
    return found


def _apart(letter: str) -> str:
    """A letter that pdfLaTeX's fonts lack as letter and accent, where that is what it is."""
    parts = unicodedata.normalize("NFD", letter) if letter > "\u017f" else letter
    return parts if len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS else letter


def beyond_pdflatex(tex: str) -> str:
    """The signs of a LaTeX text that pdfLaTeX cannot set, each once."""
    return "".join(sorted({sign for sign in tex if sign in _LACKING or sign > "\u017f"} - _KNOWN))
