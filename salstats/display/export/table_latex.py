"""A table as LaTeX that compiles everywhere: booktabs rules, notes below, nothing scaled."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from math import ceil

from salstats.display.export.table_widths import INDENT, Paper, Plan, parts_of, text_width, word_parts
from salstats.display.tables.rows import Align, Cell, Row, Rows, placed

#: Width of the text in LaTeX's own article class, upright and turned, in points. Columns that wrap are
#: given as shares of the line, so that they grow where the line is wider. TeX's own small type is wider than
#: the one that widths are measured by.
_PAPER = Paper((345.0, 550.0), {9: 6.0, 8: 4.0, 7: 2.0}, 1.1)
#: Size of type by its points.
_TYPE = {9: "small", 8: "footnotesize", 7: "scriptsize"}
#: Size of type of notes in points, distance of lines by size of type, and how much further rows are apart.
_NOTES_PT, _LEADING, _STRETCH = 8, 1.2, 1.1
_TURN = {"left": r"\raggedright", "center": r"\centering", "right": r"\raggedleft"}
#: What a command in the finished text needs, in the order to load.
_PACKAGES = (
    (r"\\toprule", r"\usepackage{booktabs}"),
    (r"arraybackslash", r"\usepackage{array}"),
    (r"\\begin\{longtable\}", r"\usepackage{longtable}"),
    (r"\\begin\{sidewaystable\}", r"\usepackage{rotating}"),
    (r"\\begin\{landscape\}", r"\usepackage{pdflscape}"),
    ("[ÐðÞþĄąĐđĘęĮįŊŋŲų«»\u201a\u201e\u2039\u203a]", r"\usepackage[T1]{fontenc} % with pdfLaTeX"),
)
#: The number that a title begins with.
_NUMBERED = re.compile(r"^Table \w+[.:] (?=\S)")


def latex_table(rows: Rows, *, label: str = "") -> str:
    r"""A table as LaTeX to be read in with `\input`.

    A `table` (a `sidewaystable` where it is too wide for an upright page), or a `longtable` where it is
    higher than a page; several, one below the other, where it fits on no page. The first lines name the
    packages it needs. `label` is what `\ref{tab:...}` finds it by, less signs other than letters, digits,
    hyphens.
    """
    parts = parts_of(rows, _PAPER)
    (first, plan), *others = parts
    if others or _height(first, plan) > _PAPER.lines[not plan.turned]:
        texts = [*_long(first, plan, label)]
        for part, own in others:
            texts += ["\\addtocounter{table}{-1}", *_long(part, own, "")]
        if plan.turned:
            texts = ["\\begin{landscape}", *texts, "\\end{landscape}"]
    else:
        texts = _short(first, plan, label)
    body = "\n".join(texts)
    needed = [f"% {package}" for sign, package in _PACKAGES if re.search(sign, body)]
    beyond = "".join(sorted({sign for sign in body if sign > "\u017f"} - _KNOWN))
    if beyond:
        needed.append(f"% XeLaTeX or LuaLaTeX with a font that has {' '.join(beyond[:40])}: pdfLaTeX has not")
    return "\n".join(["% Needs in the preamble:", *needed, body, ""])


def _height(rows: Rows, plan: Plan) -> float:
    """How high a table is with its title and notes, in points."""
    n_lines = sum(map(plan.n_lines, (*rows.head, *(row.cells for row in rows.body))))
    apart = sum(row.apart or row.is_group for row in rows.body)
    texts = [text for text in (f"{rows.title} {rows.subtitle}".strip(), *rows.notes) if text]
    below = sum(ceil(text_width(text) * _NOTES_PT * _PAPER.wider / plan.line) for text in texts)
    return plan.points * _LEADING * (n_lines * _STRETCH + apart / 2) + _NOTES_PT * _LEADING * below


def _short(rows: Rows, plan: Plan, label: str) -> list[str]:
    """A table that stands on one page."""
    name = "sidewaystable" if plan.turned else "table"
    return [
        f"\\begin{{{name}}}",
        "\\centering",
        *_caption(rows, label, end="\n\\smallskip"),
        *_type(plan),
        f"\\begin{{tabular}}{{{_columns(rows, plan)}}}",
        "\\toprule",
        *_head(rows, plan),
        *_body(rows, plan),
        "\\bottomrule",
        "\\end{tabular}",
        *_notes(rows),
        f"\\end{{{name}}}",
    ]


def _long(rows: Rows, plan: Plan, label: str) -> list[str]:
    """A table that goes over several pages, its head repeated on each."""
    head = ["\\toprule", *_head(rows, plan)]
    return [
        "{",
        *_type(plan),
        "\\setlength{\\LTcapwidth}{\\linewidth}",
        f"\\begin{{longtable}}{{{_columns(rows, plan)}}}",
        *_caption(rows, label, end=r" \\"),
        *head,
        "\\endfirsthead",
        *([r"\caption[]{(continued)} \\"] if rows.title else []),
        *head,
        "\\endhead",
        "\\bottomrule",
        "\\endfoot",
        *_body(rows, plan),
        "\\end{longtable}",
        *_notes(rows),
        "}",
    ]


def _type(plan: Plan) -> list[str]:
    """The size of type, the distance of rows and the space between columns."""
    gap = f"\\setlength{{\\tabcolsep}}{{{plan.gap:g}pt}}"
    return [f"\\{_TYPE[plan.points]}", f"\\renewcommand{{\\arraystretch}}{{{_STRETCH}}}", gap]


def _caption(rows: Rows, label: str, end: str) -> list[str]:
    """Title and subtitle as a caption, with a label to refer to; a comment where there is none."""
    known = re.sub(r"[^A-Za-z0-9-]+", "-", label).strip("-")
    named = f"\\label{{tab:{known}}}" if known else ""
    # LaTeX counts tables itself: "Table 2. Means" would read "Table 1: Table 2. Means"
    title = _NUMBERED.sub("", rows.title)
    if title and rows.subtitle and not title.endswith((".", "!", "?", ":")):
        title += "."
    texts = [latex_text(text) for text in (title, rows.subtitle) if text]
    if not texts:
        return [f"% \\caption{{}}{named}{end.replace(chr(10), ' ')}"]
    return [f"\\caption{{{' '.join(texts)}}}{named}{end}"]


def _notes(rows: Rows) -> list[str]:
    """The notes below a table, each in a paragraph of its own."""
    texts = [latex_text(note) + r"\par" for note in rows.notes]
    return ["\\par\\smallskip", "{\\footnotesize\\raggedright", *texts, "}"] if texts else []


def _columns(rows: Rows, plan: Plan) -> str:
    """The specification of all columns, each as its widest cell needs it."""
    body = [row.cells for row in rows.body if not row.is_group]
    wraps = [any(plan.wraps(cells[j], j) for cells in body) for j in range(len(rows.aligns))]
    return "".join(_spec(plan, j, 1, side, wraps[j]) for j, side in enumerate(rows.aligns))


def _spec(plan: Plan, column: int, n_columns: int, align: Align, wraps: bool, foot: bool = False) -> str:
    """The specification of columns side by side: one letter, or a share of the line where text wraps."""
    if not wraps:
        return align[0]
    share = plan.room(column, n_columns) / plan.line
    return f">{{{_TURN[align]}\\arraybackslash}}{'b' if foot else 'p'}{{{share:.4f}\\linewidth}}"


def _head(rows: Rows, plan: Plan) -> Iterator[str]:
    """The rows of headings, with a rule below every one that spans columns."""
    for level, cells in enumerate(rows.head):
        yield _row(cells, rows.aligns, plan, heads=True)
        if level < len(rows.head) - 1:
            over = [(column + 1, column + cell.columns) for column, cell in placed(cells) if cell.text]
            yield "".join(f"\\cmidrule(lr){{{first}-{last}}}" for first, last in over)
    yield "\\midrule"


def _body(rows: Rows, plan: Plan) -> Iterator[str]:
    """The rows of the body; a group's label stays on the page of its first row."""
    before: Row | None = None
    for row in rows.body:
        if before is not None and not before.is_group:
            if row.apart:
                yield "\\midrule"
            elif row.is_group or row.cells[0].rows > 1:
                yield "\\addlinespace"
        yield _row(row.cells, rows.aligns, plan) + ("*" if row.is_group else "")
        before = row


def _row(cells: Sequence[Cell], sides: Sequence[Align], plan: Plan, heads: bool = False) -> str:
    """The cells of one row; one that spans columns, or is not set as its column is, says how."""
    parts = []
    for column, cell in placed(cells):
        text, alone = "", cell.columns == 1
        if not alone or (cell.text and cell.rows):
            wraps = plan.wraps(cell, column)
            text = _text(cell, plan.lines(cell), wraps)
            # headings of several lines stand on the rule below them
            if not alone or cell.align != sides[column] or (heads and wraps):
                spec = _spec(plan, column, cell.columns, cell.align, wraps, foot=heads)
                text = f"\\multicolumn{{{cell.columns}}}{{{spec}}}{{{text}}}"
        parts.append(text)
    return " & ".join(parts) + r" \\"


def _text(cell: Cell, lines: Sequence[str], wraps: bool) -> str:
    """The lines of a cell with its marks."""
    parts = [latex_text(line) for line in lines]
    if cell.underline:
        # smashed, or the line would stand closer to the row below than to its own; TeX breaks no such text
        words = [part.split(" ") if wraps else [part] for part in parts]
        parts = [" ".join(f"\\underline{{\\smash{{{word}}}}}" for word in own) for own in words]
    if cell.bold:
        parts = [f"\\textbf{{{part}}}" for part in parts]
    text = r"\newline ".join(parts)
    if cell.pad:
        text = f"\\phantom{{{latex_text(cell.pad)}}}{text}"
    if cell.indent:
        hanging = f"\\hangindent={INDENT:g}em\\relax" if wraps else ""
        text = f"{hanging}\\hspace*{{{INDENT:g}em}}{text}"
    # what begins so would be taken for an option of the line before
    return "{}" + text if text.startswith(("[", "*")) else text


#: Signs that TeX knows in formulas only, by their commands; what it knows in text (dashes, ± × °) stays.
_MATHS = {
    **dict(zip("≤≥≠≈∞√∑", ("leq", "geq", "neq", "approx", "infty", "surd", "sum"), strict=True)),
    **dict(zip("∆→←↑↓µ", ("Delta", "rightarrow", "leftarrow", "uparrow", "downarrow", "mu"), strict=True)),
}
#: Signs that mean something to TeX, or that its old fonts show as something else.
_SIGNS = {
    **{sign: f"\\{sign}" for sign in "%_&#${}"},
    **dict(zip("\\~^", (r"\textbackslash{}", r"\textasciitilde{}", r"\textasciicircum{}"), strict=True)),
    **dict(zip("<>|`", (rf"\text{n}{{}}" for n in ("less", "greater", "bar", "asciigrave")), strict=True)),
    **{'"': "{''}", "\u2212": "$-$", "\u00a0": "~", "\u00ad": r"\-", "\u2007": r"\phantom{0}"},
    **dict.fromkeys("\u2009\u202f", r"\,"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
    **{sign: f"$\\{command}$" for sign, command in _MATHS.items()},
}
_GREEK = re.compile("GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?([A-Z]+)")
#: Capital letters that look like Latin ones have no command of their own.
_CAPITALS = {"Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"}
_SCRIPTS = {"<super>": "superscript", "<sub>": "subscript"}
#: What pdfLaTeX sets as it is, beyond Latin-1 and Latin Extended-A.
_KNOWN = set("ȘșȚț…‰€™\u2010\u2011\u2012\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e†‡•\u2039\u203a")


def latex_text(text: str) -> str:
    r"""One line of text as LaTeX; long words may break behind signs that join their parts."""
    words = unicodedata.normalize("NFC", text).split(" ")
    return " ".join("\\allowbreak{}".join(map(_escaped, word_parts(word))) for word in words)


def _escaped(text: str) -> str:
    """Text sign by sign; two hyphens, quotes or commas in a row would become another sign."""
    parts = re.split("(?<=-)(?=-)|(?<=')(?=')|(?<=,)(?=,)", text)
    return "{}".join("".join(map(_sign, part)) for part in parts)


def _sign(sign: str) -> str:
    """One sign as pdfLaTeX, XeLaTeX and LuaLaTeX set it alike."""
    if sign in _SIGNS or sign.isascii():
        return _SIGNS.get(sign, sign)
    script, _, base = unicodedata.decomposition(sign).partition(" ")
    if script in _SCRIPTS and " " not in base:
        return f"\\text{_SCRIPTS[script]}{{{_sign(chr(int(base, 16)))}}}"
    letter = _GREEK.fullmatch(unicodedata.name(sign, ""))
    if not letter:
        return sign
    name = letter[2].replace("LAMDA", "LAMBDA")
    name = name.lower() if letter[1] == "SMALL" else name.title()
    return f"$\\{name}$" if name.islower() or name in _CAPITALS else sign
