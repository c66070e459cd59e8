"""A table as LaTeX that compiles everywhere: booktabs rules, notes below, nothing scaled."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from math import ceil

from salstats.display.tables.rows import Align, BodyRow, Cell, TableRows, cells_by_column
from salstats.display.tables.widths import (
    INDENT_EM,
    PageLayout,
    Paper,
    parts_with_layouts,
    text_width_em,
    word_pieces,
)

#: Width of the text in LaTeX's own article class, upright and turned, in points. Columns that wrap are
#: given as shares of the line, so that they grow where the line is wider. TeX's own small type is wider than
#: the one that widths are measured by.
PAPER = Paper(
    line_widths_points=(345.0, 550.0), gap_points_by_type_size={9: 6.0, 8: 4.0, 7: 2.0}, type_scale=1.1
)
#: LaTeX's commands for size of type, by size in points.
_TYPE_COMMANDS = {9: "small", 8: "footnotesize", 7: "scriptsize"}
#: Size of type of notes in points.
_NOTES_PT = 8
#: Distance of lines relative to the size of type.
_LINE_STRETCH = 1.2
#: Distance of rows of a table relative to the distance of lines.
_ROW_STRETCH = 1.1
_ALIGN_COMMANDS = {"left": r"\raggedright", "center": r"\centering", "right": r"\raggedleft"}
#: Patterns in the finished text, and the package that each of them needs, in the order of loading.
_PACKAGES = (
    (r"\\toprule", r"\usepackage{booktabs}"),
    (r"arraybackslash", r"\usepackage{array}"),
    (r"\\begin\{longtable\}", r"\usepackage{longtable}"),
    (r"\\begin\{sidewaystable\}", r"\usepackage{rotating}"),
    (r"\\begin\{landscape\}", r"\usepackage{pdflscape}"),
    ("[ÐðÞþĄąĐđĘęĮįŊŋŲų«»\u201a\u201e\u2039\u203a]", r"\usepackage[T1]{fontenc} % with pdfLaTeX"),
)
#: The number that a title begins with.
_TABLE_NUMBER = re.compile(r"^Table \w+[.:] (?=\S)")


def latex_table(rows: TableRows, *, label: str = "") -> str:
    r"""Return a table as LaTeX to be read in with `\input`.

    A `table` (a `sidewaystable` where it is too wide for an upright page), or a `longtable` where it is
    higher than a page; several, one below the other, where it fits on no page. The first lines name the
    packages it needs. `label` is its name in `\ref{tab:...}`; characters other than letters, digits and
    hyphens are replaced.
    """
    parts = parts_with_layouts(rows, PAPER)
    first_part, layout = parts[0]
    # the height of an upright page is the width of a turned one, and the other way round
    page_height = PAPER.line_width_points(turned=not layout.turned)
    if len(parts) == 1 and _height_points(first_part, layout) <= page_height:
        lines = _one_page_table(first_part, layout, label)
    else:
        lines = _long_table(first_part, layout, label)
        for part, part_layout in parts[1:]:
            # all parts have the number of the first
            lines += ["\\addtocounter{table}{-1}", *_long_table(part, part_layout, label="")]
        if layout.turned:
            lines = ["\\begin{landscape}", *lines, "\\end{landscape}"]
    body = "\n".join(lines)
    return "\n".join(["% Needs in the preamble:", *_latex_requirement_comments(body), body, ""])


def _latex_requirement_comments(latex_body: str) -> list[str]:
    """Return comments on the packages that LaTeX needs, and on characters for which pdfLaTeX has no font."""
    comments = [f"% {package}" for pattern, package in _PACKAGES if re.search(pattern, latex_body)]
    # pdfLaTeX has fonts for all characters up to the end of Latin Extended-A
    signs_without_font = {sign for sign in latex_body if sign > "\u017f"} - _PDFLATEX_SIGNS
    if signs_without_font:
        # as many as one line of the comment holds
        signs = " ".join(sorted(signs_without_font)[:40])
        comments.append(f"% XeLaTeX or LuaLaTeX with a font that has {signs}: pdfLaTeX has not")
    return comments


def _height_points(rows: TableRows, layout: PageLayout) -> float:
    """Return the approximate height of a table with its title and notes, in points."""
    n_lines = 0
    for cells in rows.head:
        n_lines += layout.n_lines(cells)
    n_gaps = 0
    for row in rows.body:
        n_lines += layout.n_lines(row.cells)
        if row.rule_above or row.is_group_label:
            n_gaps += 1
    # a gap is half as high as a line
    table_height = (n_lines * _ROW_STRETCH + n_gaps / 2) * layout.points * _LINE_STRETCH
    n_text_lines = 0
    for text in (f"{rows.title} {rows.subtitle}".strip(), *rows.notes):
        width = text_width_em(text) * _NOTES_PT * PAPER.type_scale
        n_text_lines += ceil(width / layout.line_width_points)
    return table_height + n_text_lines * _NOTES_PT * _LINE_STRETCH


def _one_page_table(rows: TableRows, layout: PageLayout, label: str) -> list[str]:
    """Return the lines of a table that stands on one page."""
    environment = "table"
    if layout.turned:
        environment = "sidewaystable"
    return [
        f"\\begin{{{environment}}}",
        "\\centering",
        *_caption_lines(rows, label, end="\n\\smallskip"),
        *_type_size_and_spacing_commands(layout),
        f"\\begin{{tabular}}{{{_column_specification(rows, layout)}}}",
        "\\toprule",
        *_head_lines(rows, layout),
        *_body_lines(rows, layout),
        "\\bottomrule",
        "\\end{tabular}",
        *_note_lines(rows),
        f"\\end{{{environment}}}",
    ]


def _long_table(rows: TableRows, layout: PageLayout, label: str) -> list[str]:
    """Return the lines of a table that goes over several pages, its head repeated on each."""
    head = ["\\toprule", *_head_lines(rows, layout)]
    caption_of_later_pages = []
    if rows.title:
        caption_of_later_pages = [r"\caption[]{(continued)} \\"]
    return [
        "{",
        *_type_size_and_spacing_commands(layout),
        "\\setlength{\\LTcapwidth}{\\linewidth}",
        f"\\begin{{longtable}}{{{_column_specification(rows, layout)}}}",
        *_caption_lines(rows, label, end=r" \\"),
        *head,
        "\\endfirsthead",
        *caption_of_later_pages,
        *head,
        "\\endhead",
        "\\bottomrule",
        "\\endfoot",
        *_body_lines(rows, layout),
        "\\end{longtable}",
        *_note_lines(rows),
        "}",
    ]


def _type_size_and_spacing_commands(layout: PageLayout) -> list[str]:
    """Return the commands for the size of type, the distance of rows and the space between columns."""
    return [
        f"\\{_TYPE_COMMANDS[layout.points]}",
        f"\\renewcommand{{\\arraystretch}}{{{_ROW_STRETCH}}}",
        f"\\setlength{{\\tabcolsep}}{{{layout.gap_points:g}pt}}",
    ]


def _caption_lines(rows: TableRows, label: str, end: str) -> list[str]:
    """Return title and subtitle as a caption with a label to refer to, or a comment without either."""
    key = re.sub(r"[^A-Za-z0-9-]+", "-", label).strip("-")
    label_command = ""
    if key:
        label_command = f"\\label{{tab:{key}}}"
    # LaTeX counts tables itself: "Table 2. Means" would read "Table 1: Table 2. Means"
    title = _TABLE_NUMBER.sub("", rows.title)
    if title and rows.subtitle and not title.endswith((".", "!", "?", ":")):
        title += "."
    texts = [latex_text(text) for text in (title, rows.subtitle) if text]
    if not texts:
        end_on_line = end.replace("\n", " ")
        return [f"% \\caption{{}}{label_command}{end_on_line}"]
    return [f"\\caption{{{' '.join(texts)}}}{label_command}{end}"]


def _note_lines(rows: TableRows) -> list[str]:
    """Return the notes below a table, each in a paragraph of its own."""
    paragraphs = [latex_text(note) + r"\par" for note in rows.notes]
    if not paragraphs:
        return []
    return ["\\par\\smallskip", "{\\footnotesize\\raggedright", *paragraphs, "}"]


def _column_specification(rows: TableRows, layout: PageLayout) -> str:
    """Return the specification of all columns, each as its widest cell needs it."""
    body = [row.cells for row in rows.body if not row.is_group_label]
    specifications = []
    for column, align in enumerate(rows.aligns):
        wraps = any(layout.wraps(cells[column], column) for cells in body)
        specifications.append(_column_type(layout, column, 1, align, wraps=wraps))
    return "".join(specifications)


def _column_type(
    layout: PageLayout, column: int, n_columns: int, align: Align, *, wraps: bool, at_bottom: bool = False
) -> str:
    """Return the specification of columns side by side: one letter, or a share of the line if text wraps."""
    if not wraps:
        return align[0]
    share = layout.width_points(column, n_columns) / layout.line_width_points
    # paragraphs whose last (b) or first (p) line stands on the line of the row
    column_type = "b" if at_bottom else "p"
    return f">{{{_ALIGN_COMMANDS[align]}\\arraybackslash}}{column_type}{{{share:.4f}\\linewidth}}"


def _head_lines(rows: TableRows, layout: PageLayout) -> Iterator[str]:
    """Yield the rows of headings, with a rule below every one that spans columns."""
    *outer_rows, headings = rows.head
    for cells in outer_rows:
        yield _row_line(cells, rows.aligns, layout, is_head=True)
        rules = []
        for column, cell in cells_by_column(cells):
            if cell.text:
                # LaTeX counts columns from 1
                rules.append(f"\\cmidrule(lr){{{column + 1}-{column + cell.n_columns}}}")
        yield "".join(rules)
    yield _row_line(headings, rows.aligns, layout, is_head=True)
    yield "\\midrule"


def _body_lines(rows: TableRows, layout: PageLayout) -> Iterator[str]:
    """Yield the rows of the body, with rules and vertical space between them.

    No page breaks between the label of a group and the first row of the group.
    """
    previous: BodyRow | None = None
    for row in rows.body:
        if previous is not None and not previous.is_group_label:
            if row.rule_above:
                yield "\\midrule"
            elif row.is_group_label or row.cells[0].n_rows > 1:
                yield "\\addlinespace"
        line = _row_line(row.cells, rows.aligns, layout)
        if row.is_group_label:
            # the star after the end of a row forbids a page break
            line += "*"
        yield line
        previous = row


def _row_line(
    cells: Sequence[Cell], aligns: Sequence[Align], layout: PageLayout, *, is_head: bool = False
) -> str:
    """Return the cells of one row.

    A cell that spans columns or is aligned otherwise than its column has a specification of its own.
    """
    texts = []
    for column, cell in cells_by_column(cells):
        spans = cell.n_columns > 1
        is_empty = not cell.text or not cell.n_rows
        if is_empty and not spans:
            texts.append("")
            continue
        wraps = layout.wraps(cell, column)
        text = _cell_latex(cell, layout.cell_lines(cell), column_wraps=wraps)
        # headings of several lines stand on the rule below them
        is_wrapped_heading = is_head and wraps
        if spans or cell.align != aligns[column] or is_wrapped_heading:
            specification = _column_type(
                layout, column, cell.n_columns, cell.align, wraps=wraps, at_bottom=is_head
            )
            text = f"\\multicolumn{{{cell.n_columns}}}{{{specification}}}{{{text}}}"
        texts.append(text)
    return " & ".join(texts) + r" \\"


def _cell_latex(cell: Cell, lines: Sequence[str], *, column_wraps: bool) -> str:
    """Return the LaTeX of a cell: its lines with its marks."""
    texts = [latex_text(line) for line in lines]
    if cell.underline:
        texts = [_underlined_latex(text, by_word=column_wraps) for text in texts]
    if cell.bold:
        texts = [f"\\textbf{{{text}}}" for text in texts]
    content = r"\newline ".join(texts)
    if cell.pad:
        content = f"\\phantom{{{latex_text(cell.pad)}}}{content}"
    if cell.indent:
        content = f"\\hspace*{{{INDENT_EM:g}em}}{content}"
        if column_wraps:
            content = f"\\hangindent={INDENT_EM:g}em\\relax{content}"
    if content.startswith(("[", "*")):
        # TeX would take it for an option of the end of the row before
        content = "{}" + content
    return content


def _underlined_latex(text: str, *, by_word: bool) -> str:
    r"""Return LaTeX that underlines a text, word by word where it has to wrap: TeX breaks no underlined text.

    With `\smash` the line stands close to its text; without, closer to the row below.
    """
    fragments = [text]
    if by_word:
        fragments = text.split(" ")
    return " ".join(f"\\underline{{\\smash{{{fragment}}}}}" for fragment in fragments)


#: Commands of characters that TeX knows in formulas only; those that it knows in text (dashes, ± × °) stay.
_MATH_COMMANDS = {
    "≤": "leq",
    "≥": "geq",
    "≠": "neq",
    "≈": "approx",
    "∞": "infty",
    "√": "surd",
    "∑": "sum",
    "∆": "Delta",
    "→": "rightarrow",
    "←": "leftarrow",
    "↑": "uparrow",
    "↓": "downarrow",
    "µ": "mu",
}
#: Characters with a meaning for TeX, or that its old fonts show as other characters.
_SIGNS = {
    **{sign: f"\\{sign}" for sign in "%_&#${}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': "{''}",
    "\u2212": "$-$",
    "\u00a0": "~",
    "\u00ad": r"\-",
    "\u2007": r"\phantom{0}",
    **dict.fromkeys("\u2009\u202f", r"\,"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
    **{sign: f"$\\{command}$" for sign, command in _MATH_COMMANDS.items()},
}
_GREEK = re.compile("GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?([A-Z]+)")
#: Greek capital letters with a command; the others look like Latin letters.
_GREEK_CAPITALS = {
    *("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi"),
    *("Sigma", "Upsilon", "Phi", "Psi", "Omega"),
}
_SCRIPTS = {"<super>": "superscript", "<sub>": "subscript"}
#: Signs beyond Latin-1 and Latin Extended-A that pdfLaTeX sets as they are.
_PDFLATEX_SIGNS = set(
    "ȘșȚț…‰€™\u2010\u2011\u2012\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e†‡•\u2039\u203a"
)


def latex_text(text: str) -> str:
    r"""Return one line of text as LaTeX; long words may break after characters that join their pieces."""
    words = []
    for word in unicodedata.normalize("NFC", text).split(" "):
        words.append("\\allowbreak{}".join(map(_escaped_latex, word_pieces(word))))
    return " ".join(words)


def _escaped_latex(text: str) -> str:
    """Return escaped text; "{}" between two hyphens, quotes or commas keeps TeX from joining them."""
    fragments = re.split("(?<=-)(?=-)|(?<=')(?=')|(?<=,)(?=,)", text)
    return "{}".join("".join(map(_latex_of_sign, fragment)) for fragment in fragments)


def _latex_of_sign(sign: str) -> str:
    """Return one character as LaTeX that pdfLaTeX, XeLaTeX and LuaLaTeX print alike."""
    if sign in _SIGNS:
        return _SIGNS[sign]
    if sign.isascii():
        return sign
    # a raised or lowered sign is decomposed to "<super> 0032"
    script, _, base = unicodedata.decomposition(sign).partition(" ")
    if script in _SCRIPTS and " " not in base:
        base_sign = chr(int(base, 16))
        return f"\\text{_SCRIPTS[script]}{{{_latex_of_sign(base_sign)}}}"
    letter = _GREEK.fullmatch(unicodedata.name(sign, ""))
    if not letter:
        return sign
    size, name = letter.groups()
    name = name.replace("LAMDA", "LAMBDA")  # Unicode's spelling
    if size == "SMALL":
        return f"$\\{name.lower()}$"
    name = name.title()
    if name not in _GREEK_CAPITALS:
        return sign
    return f"$\\{name}$"
