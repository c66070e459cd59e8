"""Tables as LaTeX: every sign escaped, every style kept, and what comes out compiles."""

import os
import re
import shutil
import subprocess
import unicodedata

import pandas as pd
import pytest
from display.table_examples import EXAMPLES, LONG, ODD, estimates, grouped_by_column, long_names, rich
from great_tables import GT, html, md

from salstats.display.export.table_grid import Cell, Grid, Row, Run
from salstats.display.export.table_latex import grid_latex
from salstats.display.export.table_latex_text import beyond_pdflatex, latex_runs, latex_text
from salstats.display.export.table_markup import table_grid

#: A sign that is a command, an argument or a comment to TeX unless a backslash stands before it.
UNESCAPED = re.compile(r"(?<!\\)[%#&_$^~]")
#: Long lines may stick out of TeX's boxes by so many points where a column is a little too narrow.
STICKS_OUT = 3.0


def latex(table, **options):
    return grid_latex(table_grid(table), **options)


def tabular(tex):
    """The lines between the first rule and the last one."""
    return tex.split("\\toprule\n", 1)[1].rsplit("\n\\bottomrule", 1)[0].split("\n")


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
        ("1 – 2 — 3", "1 -- 2 --- 3"),
        ("2×3±1≤≥≠≈∞", r"2$\times$3$\pm$1$\leq$$\geq$$\neq$$\approx$$\infty$"),
        ("R²", r"R\textsuperscript{2}"),
        ("CO₂", r"CO\textsubscript{2}"),
        ("αβεφΔΩ", r"$\alpha$$\beta$$\varepsilon$$\varphi$$\Delta$$\Omega$"),
        ("ΑΒΧ", "ABX"),
        ("µ μ", r"$\mu$ $\mu$"),
        ("é ß ł ő Ș", "é ß ł ő Ș"),
        ("e\u0301", "é"),
        ("x\u0304 ẋ", r"\={x} \.{x}"),
        ("10\u00a0%", r"10~\%"),
        ("“a” ‘b’ „c", r"``a'' `b' \quotedblbase{}c"),
        ("†‡§…°", r"\textdagger{}\textdaggerdbl{}\textsection{}\ldots{}\textdegree{}"),
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


def test_styles_become_commands():
    runs = (Run("a "), Run("b", bold=True, italic=True), Run("2", superscript=True), Run("x", subscript=True))
    assert latex_runs(runs) == r"a \textbf{\textit{b}}\textsuperscript{2}\textsubscript{x}"
    assert latex_runs((Run(" a b ", underline=True),)) == r" \underline{\smash{a b}} "
    assert latex_runs((Run("a b", underline=True),), wraps=True) == (
        r"\underline{\smash{a}} \underline{\smash{b}}"
    )
    assert latex_runs((Run("a", color="AA0000"),)) == r"\textcolor[HTML]{AA0000}{a}"


@pytest.mark.parametrize("text", ["[x]", "*y"])
def test_text_that_begins_as_an_option_does_is_guarded(text):
    assert latex_runs((Run(text),)) == "{}" + text
    assert latex_runs((Run(f"a\n{text}"),), line_break=r" \\ ").endswith("{}" + text)


def test_signs_that_pdflatex_lacks_are_named():
    tex = latex(GT(pd.DataFrame({"a": ["漢字", "é", "Ω", "ħ"]})))
    assert beyond_pdflatex(tex.split("\\begin", 1)[1]) == "ħ字漢"
    assert "% XeLaTeX or LuaLaTeX with a font that has ħ 字 漢: pdfLaTeX has not" in tex
    assert "漢字" in tex
    assert "XeLaTeX" not in latex(GT(pd.DataFrame({"a": ["éβ−"]})))


@pytest.mark.parametrize("name", EXAMPLES)
def test_everything_in_the_grid_is_in_the_latex(name):
    grid = table_grid(EXAMPLES[name]())
    tex = grid_latex(grid)
    flat = re.sub(r"\\(?:newline|allowbreak)\b(?:\{\})?|[ ~]|\\\\", "", tex).replace("{}", "")
    texts = [cell.runs for row in grid.head + grid.body for cell in row.cells]
    for runs in (grid.title, grid.subtitle, *texts, *grid.notes):
        for word in (word for run in runs for word in run.text.replace("\u00a0", " ").split()):
            bare = latex_text(word).replace(r"\allowbreak{}", "").replace("{}", "")
            assert bare in flat


def test_a_table_has_rules_as_booktabs_wants_them():
    lines = tabular(latex(rich()))
    assert lines[1] == r"\cmidrule(lr){2-4}"
    assert lines[3] == r"\cmidrule(lr){2-3}"
    assert lines[5] == r"\midrule"
    assert lines[-2] == r"\midrule"
    assert lines[-1].startswith("Mean & ")
    assert lines[6] == r"\multicolumn{5}{l}{\textit{Large \& big}} \\"
    assert r"\addlinespace" in lines
    assert "|" not in latex(rich()).replace("\\textbar", "")


def test_headings_that_span_rows_stand_in_the_last_row():
    lines = tabular(latex(rich()))
    assert "Finding" not in lines[0] + lines[2]
    assert "Finding" in lines[4]


def test_styles_and_colours_of_cells_are_kept():
    tex = latex(rich())
    assert r"\textbf{0.57}" in tex
    assert r"\textit{\underline{\smash{x}} \underline{\smash{\&}} \underline{\smash{y}}}" in tex
    assert r"\textbf{Atelectasis}" in tex
    assert r"\cellcolor[HTML]{E0FFFF}2" in tex
    assert r"\textcolor[HTML]{AA0000}{3}" in tex
    assert r"% \usepackage[table]{xcolor}" in tex
    assert r"N\textsubscript{x}" in tex
    assert r"\hspace*{1.2em}Airspace\_Opacity 50\%" in tex


def test_numbers_are_aligned_as_in_the_table():
    frame = pd.DataFrame({"a": ["x"], "b": [1], "c": ["y"]})
    tex = latex(GT(frame).cols_align("center", "c"))
    assert r"\begin{tabular}{lrc}" in tex


def test_the_number_of_a_title_is_left_to_latex():
    table = GT(pd.DataFrame({"a": ["1"]})).tab_header("Table 2. Means & more")
    assert r"\caption{Means \& more}" in latex(table)
    assert r"\caption{Tables of means}" in latex(table.tab_header("Tables of means"))


def test_title_and_subtitle_are_the_caption_with_a_label():
    tex = latex(rich(), label="table 2_b")
    assert r"\caption{Title \textbf{bold} \& \textit{slanted}" in tex
    assert r". Sub \textless{} title 100\%}\label{tab:table-2-b}" in tex
    assert "\n% \\caption{}\\label{tab:t}" in latex(EXAMPLES["one_cell"](), label="t")


def test_notes_stand_below_in_order():
    tex = latex(rich())
    below = tex.split(r"\end{tabular}", 1)[1]
    places = [below.index(text) for text in ("Note with", "plain", "A free note", "On the title", "0.05")]
    assert places == sorted(places)
    assert r"\newline \textbullet{} first item" in below


def test_a_long_table_goes_over_pages_with_its_head_on_each():
    tex = latex(estimates(60, 1))
    assert tex.count(r"\begin{longtable}") == 1
    assert r"\begin{tabular}" not in tex
    assert tex.count("Method 0") == 2
    assert r"\caption[]{(continued)}" in tex
    assert r"\begin{table}" in latex(estimates(45, 1))


def test_a_label_of_a_group_stays_with_its_first_row():
    frame = pd.DataFrame({"g": ["one"] * 50, "t": range(50), "v": range(50)})
    assert r"{\textit{one}} \\*" in latex(GT(frame, rowname_col="t", groupname_col="g"))


def test_a_wide_table_is_turned_and_breaks_intervals_only_before_the_bracket():
    tex = latex(estimates(10, 4))
    assert r"\begin{sidewaystable}" in tex
    upright = latex(estimates(10, 1))
    assert r"\begin{table}" in upright
    assert r"\newline" not in upright.split(r"\midrule")[1].split(r"\bottomrule")[0]
    assert re.search(r"\d\.\d{3}\\newline \((?:\$-\$)?\d\.\d{3},", tex)


def test_what_spans_rows_stands_in_its_first_row():
    lines = tabular(latex(grouped_by_column()))
    rows = [line.split(" & ")[0] for line in lines if line.endswith(r"\\")]
    assert rows.count("a") == 1
    assert rows.count("") >= 2


def test_packages_are_named_only_where_they_are_needed():
    assert re.findall(r"^% \\usepackage.*$", latex(EXAMPLES["one_cell"]()), flags=re.M) == [
        r"% \usepackage{booktabs}"
    ]
    struck = latex(GT(pd.DataFrame({"a": [1]})).tab_source_note(html("<s>gone</s> ✓ « ą")))
    for package in (r"[normalem]{ulem}", "{amssymb}", "[T1]{fontenc}"):
        assert f"% \\usepackage{package}" in struck


def test_text_that_looks_like_a_command_needs_no_package():
    tex = latex(GT(pd.DataFrame({"a": [r"\begin{longtable} \sout{x} \cellcolor"]})))
    assert tex.count("usepackage") == 1


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


def overfull(printed):
    """By how many points the lines that do not fit stick out."""
    return [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", printed)]


@needs_latex
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "odd_formats"])
def test_it_compiles_and_nothing_sticks_out(name, tmp_path):
    printed = compiled(latex(EXAMPLES[name](), label=name), tmp_path)
    assert max(overfull(printed), default=0) <= STICKS_OUT


@needs_latex
def test_markup_of_every_kind_compiles(tmp_path):
    tex = latex(EXAMPLES["odd_formats"]())
    # the package that strikes text out is not in every LaTeX
    compiled(tex.replace(r"\sout{", "{").replace("\n% \\usepackage[normalem]{ulem}", ""), tmp_path)


@needs_latex
@pytest.mark.parametrize("n_methods", [1, 2, 4])
def test_a_table_over_several_pages_compiles(n_methods, tmp_path):
    printed = compiled(latex(estimates(60, n_methods)), tmp_path)
    assert max(overfull(printed), default=0) <= STICKS_OUT


@needs_latex
def test_every_sign_we_know_compiles_everywhere_in_a_table(tmp_path):
    signs = (
        "".join(map(chr, [*range(32, 127), *range(0xA1, 0x180)]))
        + "αωΑΩ−×±≤≥≠≈∞→←✓■★⁰¹²₀₁₂„“”‘’–—…†‡•‰€™\u00a0x̄ẋȘț"
    )
    words = " ".join(sign for sign in signs if not beyond_pdflatex(latex_text(sign)))
    cells = tuple(Row((Cell((Run(words[i : i + 40], bold=True),)),)) for i in range(0, len(words), 40))
    heading = (Row((Cell((Run(words[:90]),), header=True),), "heading"),)
    grid = Grid(heading, cells[:40], title=(Run(words),), notes=((Run(words),),), n_columns=1)
    printed = compiled(grid_latex(grid), tmp_path)
    assert "Missing character" not in printed


@needs_latex
@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext is installed")
def test_what_is_printed_is_what_the_table_says(tmp_path):
    table = GT(pd.DataFrame({"a": [ODD, "0.5 (0.4, 0.6)***"], "b": ["β é", "[x]"]})).tab_header(
        md("**T** & more")
    )
    compiled(latex(table), tmp_path)
    done = subprocess.run(["pdftotext", "paper.pdf", "-"], cwd=tmp_path, capture_output=True, check=True)
    printed = unicodedata.normalize("NFC", done.stdout.decode())
    for text in ("50% of R&D", "#1 $5 {a}", "<b> > |", "0.5 (0.4, 0.6)***", "[x]", "T & more", "é", "β"):
        assert text in printed


@needs_latex
@pytest.mark.skipif(shutil.which("xelatex") is None, reason="no XeLaTeX is installed")
def test_it_compiles_with_xelatex_too(tmp_path):
    compiled(latex(rich()), tmp_path, "xelatex")


def test_long_names_are_all_there():
    tex = latex(long_names())
    assert tex.count(latex_text(LONG.split()[-1])) >= 5
    assert r"\linewidth" in tex
