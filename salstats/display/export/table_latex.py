"""A table as LaTeX that compiles everywhere: booktabs rules, notes below, nothing scaled."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from salstats.display.export.latex_text import beyond_pdflatex, latex_text
from salstats.display.export.table_rows import Align, Cell, Row, Rows, placed
from salstats.display.export.table_widths import (
    INDENT,
    Breaks,
    Column,
    Setting,
    columns_of,
    first_fit,
    number_lines,
    text_width,
)

#: A table of more rows goes over several pages.
_ROWS_OF_A_PAGE = 45
#: Width of the text in LaTeX's own article class, upright and turned, in points. Columns that wrap are
#: given as shares of the line, so that they grow where the line is wider.
_LINE, _TURNED_LINE = 345.0, 550.0
#: TeX's own small type is this much wider than the one that widths are measured by.
_WIDER = 1.1
#: What to try: line, name and size of type, space at each side of a column, what may be broken.
_TRIES: list[tuple[float, str, float, float, Breaks]] = [
    (_LINE, "small", 9.0, 6.0, "text"),
    (_LINE, "footnotesize", 8.0, 4.0, "text"),
    (_LINE, "footnotesize", 8.0, 4.0, "numbers"),
    (_TURNED_LINE, "small", 9.0, 6.0, "text"),
    (_TURNED_LINE, "footnotesize", 8.0, 4.0, "text"),
    (_TURNED_LINE, "footnotesize", 8.0, 4.0, "numbers"),
    (_TURNED_LINE, "scriptsize", 7.0, 2.0, "numbers"),
    (_TURNED_LINE, "scriptsize", 7.0, 2.0, "limits"),
]
_SETTINGS = [
    Setting(line, points * _WIDER, gap, breaks, line == _TURNED_LINE, name)
    for line, name, points, gap, breaks in _TRIES
]
_TURN = {"left": r"\raggedright", "center": r"\centering", "right": r"\raggedleft"}
#: What a command in the finished text needs, in the order to load.
_PACKAGES = (
    (r"\\toprule", r"\usepackage{booktabs}"),
    (r"arraybackslash", r"\usepackage{array}"),
    (r"\\begin\{longtable\}", r"\usepackage{longtable}"),
    (r"\\begin\{sidewaystable\}", r"\usepackage{rotating}"),
    (r"\\begin\{landscape\}", r"\usepackage{pdflscape}"),
    (r"\\(checkmark|square|bigstar)", r"\usepackage{amssymb}"),
    ("[ÐðÞþĄąĐđĘęĮįŊŋŲų«»\u201a\u201e\u2039\u203a]", r"\usepackage[T1]{fontenc} % with pdfLaTeX"),
)
#: The number that a title begins with.
_NUMBERED = re.compile(r"^Table \w+[.:] (?=\S)")


@dataclass(frozen=True)
class _Plan:
    """How a table is set: its columns, their sides and their widths in ems."""

    columns: Sequence[Column]
    aligns: Sequence[Align]
    widths: Sequence[float]
    setting: Setting

    def wraps(self, column: int) -> bool:
        """Whether a column is narrower than its longest line."""
        return self.widths[column] < self.columns[column].natural - 1e-6

    def room(self, span: range) -> float:
        """The width of columns side by side in ems, with the space between them."""
        between = 2 * self.setting.gap * (len(span) - 1) / self.setting.points
        return sum(self.widths[column] for column in span) + between

    def share(self, span: range) -> str:
        """The width of columns side by side, as TeX measures it."""
        share = sum(self.widths[column] for column in span) * self.setting.points / self.setting.line
        between = f"+{2 * (len(span) - 1)}\\tabcolsep" if len(span) > 1 else ""
        return f"\\dimexpr {share:.4f}\\linewidth{between}\\relax"

    def spec(self, span: range, align: Align, wraps: bool, *, foot: bool = False) -> str:
        """The specification of columns side by side: one letter, or a width where text wraps."""
        if not wraps:
            return align[0]
        return f">{{{_TURN[align]}\\arraybackslash}}{'b' if foot else 'p'}{{{self.share(span)}}}"

    @property
    def specs(self) -> str:
        """The specification of all columns."""
        sides = enumerate(self.aligns)
        return "".join(self.spec(range(i, i + 1), align, self.wraps(i)) for i, align in sides)


def latex_table(rows: Rows, *, label: str = "") -> str:
    r"""A table as LaTeX to be read in with `\input`.

    Parameters
    ----------
    rows : Rows
        The table.
    label : str
        What `\ref{tab:...}` is to find it by; signs other than letters, digits and hyphens are left out.

    Returns
    -------
    str
        A `table` (a `sidewaystable` where it is too wide for an upright page), or a `longtable` for more
        than 45 rows. The first lines name the packages it needs.
    """
    columns = columns_of(rows)
    setting, widths = first_fit(columns, _SETTINGS)
    plan = _Plan(columns, rows.aligns, widths, setting)
    is_long = len(rows.body) > _ROWS_OF_A_PAGE
    body = "\n".join(_long(rows, plan, label) if is_long else _floating(rows, plan, label))
    needed = [f"% {package}" for sign, package in _PACKAGES if re.search(sign, body)]
    beyond = beyond_pdflatex(body)
    if beyond:
        needed.append(f"% XeLaTeX or LuaLaTeX with a font that has {' '.join(beyond[:40])}: pdfLaTeX has not")
    return "\n".join(["% Needs in the preamble:", *needed, body, ""])


def _floating(rows: Rows, plan: _Plan, label: str) -> list[str]:
    """A table that stands on one page."""
    name = "sidewaystable" if plan.setting.turned else "table"
    return [
        f"\\begin{{{name}}}",
        "\\centering",
        *_caption(rows, label, end="\n\\smallskip"),
        *_type(plan),
        f"\\begin{{tabular}}{{{plan.specs}}}",
        "\\toprule",
        *_head(rows, plan),
        *_body(rows, plan),
        "\\bottomrule",
        "\\end{tabular}",
        *_notes(rows),
        f"\\end{{{name}}}",
    ]


def _long(rows: Rows, plan: _Plan, label: str) -> list[str]:
    """A table that goes over several pages, its head repeated on each."""
    head = ["\\toprule", *_head(rows, plan)]
    again = [r"\caption[]{(continued)} \\"] if rows.title else []
    found = [
        "{",
        *_type(plan),
        "\\setlength{\\LTcapwidth}{\\linewidth}",
        f"\\begin{{longtable}}{{{plan.specs}}}",
        *_caption(rows, label, end=r" \\"),
        *head,
        "\\endfirsthead",
        *again,
        *head,
        "\\endhead",
        "\\bottomrule",
        "\\endfoot",
        *_body(rows, plan),
        "\\end{longtable}",
        *_notes(rows),
        "}",
    ]
    return ["\\begin{landscape}", *found, "\\end{landscape}"] if plan.setting.turned else found


def _type(plan: _Plan) -> list[str]:
    """The size of type and the space between columns."""
    return [
        f"\\{plan.setting.name}",
        "\\renewcommand{\\arraystretch}{1.1}",
        f"\\setlength{{\\tabcolsep}}{{{plan.setting.gap:g}pt}}",
    ]


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
    if not rows.notes:
        return []
    return [
        "\\par\\smallskip",
        "{\\footnotesize\\raggedright",
        *(latex_text(note) + r"\par" for note in rows.notes),
        "}",
    ]


def _head(rows: Rows, plan: _Plan) -> Iterator[str]:
    """The rows of headings, with a rule below every one that spans columns."""
    for level, cells in enumerate(rows.head):
        yield _row(cells, plan, in_head=True) + r" \\"
        if level < len(rows.head) - 1:
            over = [(column + 1, column + cell.columns) for column, cell in placed(cells) if cell.text]
            yield "".join(f"\\cmidrule(lr){{{first}-{last}}}" for first, last in over)
    yield "\\midrule"


def _body(rows: Rows, plan: _Plan) -> Iterator[str]:
    """The rows of the body; a group's label stays on the page of its first row."""
    before: Row | None = None
    for row in rows.body:
        if before is not None and not before.is_group:
            if row.apart:
                yield "\\midrule"
            elif row.is_group or row.cells[0].rows > 1:
                yield "\\addlinespace"
        yield _row(row.cells, plan) + (r" \\*" if row.is_group else r" \\")
        before = row


def _row(cells: Sequence[Cell], plan: _Plan, *, in_head: bool = False) -> str:
    """The cells of one row."""
    return " & ".join(_cell(cell, column, plan, in_head) for column, cell in placed(cells))


def _cell(cell: Cell, column: int, plan: _Plan, in_head: bool) -> str:
    """One cell; what spans rows stands in its first row only."""
    span = range(column, column + cell.columns)
    alone = cell.columns == 1
    if alone and not (cell.text and cell.rows):
        return ""
    wraps = text_width(cell.text) > plan.room(span) if in_head or not alone else plan.wraps(column)
    may_break = wraps and not in_head
    lines = number_lines(cell.text, plan.columns[column], plan.widths[column]) if may_break else ()
    text = _text(cell, lines or (cell.text,), wraps)
    if (
        alone
        and cell.align == plan.aligns[column]
        and wraps == plan.wraps(column)
        and not (in_head and wraps)
    ):
        return text
    # headings of several lines stand on the rule below them
    return f"\\multicolumn{{{len(span)}}}{{{plan.spec(span, cell.align, wraps, foot=in_head)}}}{{{text}}}"


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
