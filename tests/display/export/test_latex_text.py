"""Text as LaTeX: every sign escaped."""

import re

import pytest

from salstats.display.export.latex_text import beyond_pdflatex, latex_text

#: A sign that is a command, an argument or a comment to TeX unless a backslash stands before it.
UNESCAPED = re.compile(r"(?<!\\)[%#&_$^~]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50%", r"50\%"),
        ("a_b", r"a\_b"),
        ("R&D", r"R\&D"),
        ("#1", r"\#1"),
        ("$5", r"\$5"),
        ("{a}", r"\{a\}"),
        ("a~b", r"a\textasciitilde{}b"),
        ("a^b", r"a\textasciicircum{}b"),
        ("\\newpage", r"\textbackslash{}newpage"),
        ("P < 0.05 > 0", r"P \textless{} 0.05 \textgreater{} 0"),
        ("a|b", r"a\textbar{}b"),
        ('"q"', "{''}q{''}"),
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("a,,b", "a,{},b"),
        ("−0.42", "$-$0.42"),
        ("1 – 2 — 3", "1 – 2 — 3"),
        ("2×3±1≤≥≠≈∞", r"2×3±1$\leq$$\geq$$\neq$$\approx$$\infty$"),
        ("R²", r"R\textsuperscript{2}"),
        ("CO₂", r"CO\textsubscript{2}"),
        ("αβεφΔΩ", r"$\alpha$$\beta$$\varepsilon$$\varphi$$\Delta$$\Omega$"),
        ("ΑΒΧ", "ABX"),
        ("µ μ", r"$\mu$ $\mu$"),
        ("é ß ł ő Ș", "é ß ł ő Ș"),
        ("e\u0301", "é"),
        ("x\u0304 ẋ", r"\={x} \.{x}"),
        ("10\u00a0%", r"10~\%"),
        ("“a” ‘b’ †‡§…°", "“a” ‘b’ †‡§…°"),
        ("a\u200bb\ufeffc", r"a\hspace{0pt}bc"),
    ],
)
def test_signs_become_what_latex_shows_as_them(text, expected):
    assert latex_text(text) == expected


def test_no_sign_of_ascii_stays_a_command():
    shown = latex_text("".join(map(chr, range(32, 127))).replace("\\", ""))
    assert not UNESCAPED.search(shown)
    assert shown.count("{") == shown.count("}")


def test_long_words_may_break_behind_signs_and_short_ones_may_not():
    assert latex_text("a_name_of_more_than_twenty") == (
        r"a\_\allowbreak{}name\_\allowbreak{}of\_\allowbreak{}more\_\allowbreak{}than\_\allowbreak{}twenty"
    )
    assert r"\allowbreak" not in latex_text("a_name_of_twenty")


def test_signs_that_pdflatex_cannot_set_are_found():
    assert beyond_pdflatex("ħ é 漢字 Ω".replace("Ω", latex_text("Ω"))) == "ħ字漢"
