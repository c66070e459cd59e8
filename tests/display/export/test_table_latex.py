"""Tables as LaTeX: every sign escaped, every mark kept, and what comes out compiles."""

import os
import re
import shutil
import subprocess
import unicodedata

import pytest
from display.table_examples import EXAMPLES, LONG, ODD, estimates, long_names, one_cell, rich, stub_of_levels

from salstats.display.export.table_files import table_rows
from salstats.display.export.table_latex import latex_table, latex_text
from salstats.display.tables.great_table import great_table
from salstats.display.tables.record import Table, TableColumn

#: Long lines may stick out of TeX's boxes by so many points where a column is a little too narrow.
STICKS_OUT = 3.0
#: A sign that is a command, an argument or a comment to TeX unless a backslash stands before it.
UNESCAPED = re.compile(r"(?<!\\)[%#&_$^~]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50% a_b R&D #1 $5 {a}", r"50\% a\_b R\&D \#1 \$5 \{a\}"),
        ("a~b^c", r"a\textasciitilde{}b\textasciicircum{}c"),
        ("\\newpage", r"\textbackslash{}newpage"),
        ("P < 0.05 > 0 a|b", r"P \textless{} 0.05 \textgreater{} 0 a\textbar{}b"),
        ('"q"', "{''}q{''}"),
        ("a--b---c,,d", "a-{}-b-{}-{}-c,{},d"),
        ("−0.42", "$-$0.42"),
        ("1 – 2 — 3", "1 – 2 — 3"),
        ("2×3±1≤≥≠≈∞", r"2×3±1$\leq$$\geq$$\neq$$\approx$$\infty$"),
        ("R² CO₂", r"R\textsuperscript{2} CO\textsubscript{2}"),
        ("αβλσΔΩ µ μ", r"$\alpha$$\beta$$\lambda$$\sigma$$\Delta$$\Omega$ $\mu$ $\mu$"),
        ("é ß ł ő Ș “a” ‘b’ †‡§…°", "é ß ł ő Ș “a” ‘b’ †‡§…°"),
        # capital alpha has no command
        ("Α", "Α"),
        ("e\u0301", "é"),
        ("10\u00a0%", r"10~\%"),
        ("a_name_of_twenty", r"a\_name\_of\_twenty"),
        ("layer.more_than_twenty", r"layer.\allowbreak{}more\_\allowbreak{}than\_\allowbreak{}twenty"),
    ],
)
def test_signs_become_what_latex_shows_as_them(text, expected):
    assert latex_text(text) == expected


def test_no_sign_of_ascii_stays_a_command():
    shown = latex_text("".join(map(chr, range(32, 127))).replace("\\", ""))
    assert not UNESCAPED.search(shown)
    assert shown.count("{") == shown.count("}")


def latex(table, **options):
    return latex_table(table_rows(table), **options)


def tabular(tex):
    """The lines between the first rule and the last one."""
    return tex.split("\\toprule\n", 1)[1].rsplit("\n\\bottomrule", 1)[0].split("\n")


def table_of(*cells, **options):
    """A table of one column of texts."""
    stub = [(f"t{i}",) for i in range(len(cells))]
    return great_table(Table(("Task",), stub, [TableColumn("x")], [[cell] for cell in cells], **options), "t")


@pytest.mark.parametrize("name", EXAMPLES)
def test_everything_in_the_table_is_in_the_latex(name):
    rows = table_rows(EXAMPLES[name]())
    flat = re.sub(r"\\(?:newline|allowbreak)\b(?:\{\})?|[ ~]|\\\\", "", latex_table(rows)).replace("{}", "")
    cells = [cell for line in (*rows.head, *(row.cells for row in rows.body)) for cell in line]
    for text in (rows.title, rows.subtitle, *(cell.text for cell in cells), *rows.notes):
        for word in text.split():
            assert latex_text(word).replace(r"\allowbreak{}", "").replace("{}", "") in flat


def test_a_table_has_rules_as_booktabs_wants_them():
    lines = tabular(latex(rich()))
    assert lines[1] == r"\cmidrule(lr){2-4}"
    assert lines[3] == r"\cmidrule(lr){2-3}"
    assert lines[5] == lines[-2] == r"\midrule"
    assert lines[-1].startswith("n & ")
    assert lines[6] == r"\multicolumn{5}{l}{\textbf{Large \& big}} \\*"
    assert r"\addlinespace" in lines
    assert "|" not in latex(rich()).replace("\\textbar", "")


def test_marks_of_cells_are_kept():
    tex = latex(rich())
    assert r"\textbf{0.57}" in tex
    assert r"\underline{\smash{x \& y}}" in tex or r"\underline{\smash{x}} \underline{\smash{\&}}" in tex
    assert r"\hspace*{1em}Airspace\_Opacity" in tex


def test_a_text_is_underlined_in_one_piece_unless_it_wraps():
    assert r"\underline{\smash{x y}}" in latex(table_of("x y", underline={(0, 0)}))
    long = latex(table_of("word " * 80, underline={(0, 0)}))
    assert r"\underline{\smash{word}} \underline{\smash{word}}" in long


def test_decimal_points_stand_below_each_other():
    assert r"\phantom{$-$}0.5" in latex(table_of("0.5 (0.4, 0.6)", "−0.5"))
    assert r"\phantom{1}0.5" in latex(table_of("0.5", "10.5"))


def test_what_spans_rows_stands_in_its_first_row():
    rows = [line.split(" & ")[0] for line in tabular(latex(stub_of_levels())) if line.endswith(r"\\")]
    assert rows == ["Metric", "iou", "", "hit"]


@pytest.mark.parametrize("text", ["[x]", "*y"])
def test_text_that_begins_as_an_option_does_is_guarded(text):
    table = great_table(Table(("",), [(text,)], [TableColumn("v")], [["1"]]), "t")
    assert f"\n{{}}{text} & 1" in latex(table)


def test_title_and_subtitle_are_the_caption_with_a_label_and_the_number_is_left_to_latex():
    tex = latex(rich(), label="table 2_b")
    assert r"\caption{Title \& more. Sub \textless{} title 100\%}\label{tab:table-2-b}" in tex
    assert "\n% \\caption{}\\label{tab:t} \\smallskip\n" in latex(one_cell(), label="t")
    for title in ("Means.", "Means?", "Means:"):
        assert rf"\caption{{{title} Of x}}" in latex(table_of("1", title=title, subtitle="Of x"))
    assert r"\caption{Means \& more}" in latex(table_of("1", title="Table 2. Means & more"))
    assert r"\caption{Tables of means}" in latex(table_of("1", title="Tables of means"))


def test_notes_stand_below_in_order():
    below = latex(rich()).split(r"\end{tabular}", 1)[1]
    places = [below.index(text) for text in ("Note with", "Odd", "salstats")]
    assert places == sorted(places)


def test_a_long_table_goes_over_pages_with_its_head_on_each():
    tex = latex(estimates(60, 1))
    assert tex.count(r"\begin{longtable}") == 1
    assert r"\begin{tabular}" not in tex
    assert tex.count("Method 0") == 2
    assert r"\caption[]{(continued)}" in tex
    assert r"\begin{table}" in latex(estimates(20, 1))


def test_a_wide_table_is_turned_and_intervals_are_broken_only_where_they_must_be():
    assert r"\begin{sidewaystable}" in latex(estimates(5, 3))
    upright = latex(estimates(10, 1))
    assert r"\begin{table}" in upright
    assert r"\newline" not in upright.split(r"\midrule")[1].split(r"\bottomrule")[0]
    assert re.search(r"\d\.\d{3}\\newline \((?:\$-\$)?\d\.\d{3},~", latex(estimates(10, 2)))


def test_a_table_higher_than_its_turned_page_goes_over_pages():
    tex = latex(estimates(30, 3))
    assert r"\begin{landscape}" in tex
    assert tex.count(r"\begin{longtable}") == 1


def test_a_table_wider_than_a_turned_page_is_one_table_in_parts():
    tex = latex(estimates(5, 8), label="wide")
    n_parts = tex.count(r"\begin{longtable}")
    assert n_parts > 1
    assert tex.count(r"\addtocounter{table}{-1}") == n_parts - 1
    assert tex.count(r"\label{tab:wide}") == tex.count("salstats ") == tex.count(r"\begin{landscape}") == 1
    # no interval is broken between its limits, and no type is smaller than TeX's 7 points
    assert not re.search(r",\\newline", tex)
    assert r"\tiny" not in tex


def test_what_a_table_needs_is_named_and_nothing_else():
    named = re.findall(r"^% \\usepackage.*$", latex(one_cell()), flags=re.M)
    assert named == [r"% \usepackage{booktabs}"]
    assert r"% \usepackage[T1]{fontenc}" in latex(table_of("« ą"))
    assert latex(table_of(r"\begin{longtable}")).count("usepackage") == 1
    tex = latex(table_of("漢字", "é", "Ω", "✓"))
    assert "% XeLaTeX or LuaLaTeX with a font that has ✓ 字 漢: pdfLaTeX has not" in tex
    assert "漢字" in tex
    assert "XeLaTeX" not in latex(table_of("éβ−"))


def test_long_names_are_all_there():
    tex = latex(long_names())
    assert tex.count(latex_text(LONG.split()[-1])) >= 5
    assert r"\linewidth" in tex


# under CI a LaTeX is there; where it is not, these fail there and skip elsewhere
needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None and not os.environ.get("CI"), reason="no LaTeX is installed"
)


def compiled(tex, folder, engine="pdflatex"):
    """Compile a document around a table; return what TeX printed."""
    packages = re.findall(r"^% (\\usepackage.*?)( % with pdfLaTeX)?$", tex, flags=re.M)
    wanted = [package for package, only in packages if engine == "pdflatex" or not only]
    missing = [name for name in re.findall(r"\{(\w+)\}", "".join(wanted)) if not _installed(name)]
    if missing:
        pytest.skip(f"LaTeX is installed without {', '.join(missing)}")
    lines = [r"\documentclass{article}", *wanted, r"\begin{document}", r"\input{table}", r"\end{document}"]
    (folder / "table.tex").write_text(tex, encoding="utf-8")
    (folder / "paper.tex").write_text("\n".join(lines), encoding="utf-8")
    # a table of several pages knows its columns' widths only at the second run
    for _ in range(3 if "longtable" in tex else 1):
        done = subprocess.run(
            [engine, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
            cwd=folder,
            capture_output=True,
            timeout=120,
            check=False,
            env={**os.environ, "openout_any": "p"},
        )
        printed = done.stdout.decode(errors="replace")
        assert done.returncode == 0, printed[-2000:]
    return printed


def _installed(package):
    """Whether LaTeX finds a package."""
    found = subprocess.run(["kpsewhich", f"{package}.sty"], capture_output=True, check=False)
    return found.returncode == 0


@needs_latex
@pytest.mark.parametrize(
    "table",
    [*(make() for make in EXAMPLES.values()), *(estimates(60, n) for n in (1, 4, 5))],
    ids=[*EXAMPLES, "pages_1", "pages_4", "pages_5"],
)
def test_it_compiles_and_nothing_sticks_out(table, tmp_path):
    printed = compiled(latex(table, label="name"), tmp_path)
    overfull = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", printed)]
    assert max(overfull, default=0) <= STICKS_OUT


@needs_latex
def test_every_sign_we_know_compiles_everywhere_in_a_table(tmp_path):
    latin = "".join(map(chr, [*range(32, 127), *range(0xA1, 0x180)]))
    lacking = set("ħĦĸĿŀŉŦŧſ")
    signs = latin + "αωΩ−×±≤≥≠≈∞→←⁰¹²₀₁₂„“”‘’–—…†‡•‰€™\u00a0ȘțΔ"
    words = " ".join(sign for sign in signs if sign not in lacking)
    cells = [words[i : i + 40] for i in range(0, len(words), 40)]
    table = table_of(*cells, bold={(i, 0) for i in range(9)}, title=words, notes=[words])
    printed = compiled(latex(table), tmp_path)
    assert "Missing character" not in printed


@needs_latex
@pytest.mark.skipif(
    shutil.which("pdftotext") is None and not os.environ.get("CI"), reason="no pdftotext is installed"
)
def test_what_is_printed_is_what_the_table_says(tmp_path):
    compiled(latex(table_of(ODD, "0.5 (0.4, 0.6)***", "β é", "[x]", title="T & more")), tmp_path)
    done = subprocess.run(["pdftotext", "paper.pdf", "-"], cwd=tmp_path, capture_output=True, check=True)
    printed = unicodedata.normalize("NFC", done.stdout.decode())
    for text in ("50% of R&D", "#1 $5 {a}", "<b> > |", "0.5 (0.4, 0.6)***", "[x]", "T & more", "é", "β"):
        assert text in printed


@needs_latex
@pytest.mark.skipif(shutil.which("xelatex") is None, reason="no XeLaTeX is installed")
def test_it_compiles_with_xelatex_too(tmp_path):
    compiled(latex(rich()), tmp_path, "xelatex")
