"""A table as LaTeX that compiles everywhere: booktabs rules, notes below, nothing scaled."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from salstats.display.export.table_grid import Cell, Grid, Row, Slot, head_rows, layout, plain, set_apart
from salstats.display.export.table_latex_text import beyond_pdflatex, latex_runs
from salstats.display.export.table_widths import (
    INDENT,
    Breaks,
    Column,
    Setting,
    breaks_in,
    cell_width,
    columns_of,
    first_fit,
    wrapped,
)

#: A table of more rows goes over several pages.
_ROWS_OF_A_PAGE = 45
#: Width of the text in LaTeX's own article class, upright and turned, in points. Columns that wrap are
#: given as shares of the line, so that they grow where the line is wider.
_LINE, _TURNED_LINE = 345.0, 550.0
#: TeX's own small type is this much wider than Helvetica, by which widths are measured.
_WIDER = 1.1
#: Sizes of type: name, points, and the space at each side of a column.
_Size = tuple[str, float, float]
_SMALL, _FOOTNOTE, _SCRIPT = ("small", 9.0, 6.0), ("footnotesize", 8.0, 4.0), ("scriptsize", 7.0, 2.0)
_TURN = {"left": r"\raggedright", "center": r"\centering", "right": r"\raggedleft"}
#: What a command in the finished text needs, in the order to load.
_PACKAGES = (
    (r"\\toprule", r"\usepackage{booktabs}"),
    (r"arraybackslash", r"\usepackage{array}"),
    (r"\\begin\{longtable\}", r"\usepackage{longtable}"),
    (r"\\begin\{sidewaystable\}", r"\usepackage{rotating}"),
    (r"\\begin\{landscape\}", r"\usepackage{pdflscape}"),
    (r"\\cellcolor|\\textcolor", r"\usepackage[table]{xcolor}"),
    (r"\\sout\{", r"\usepackage[normalem]{ulem}"),
    (r"\\(checkmark|blacks|square|blackt|triangle|bigstar|blackl|lozenge)", r"\usepackage{amssymb}"),
    (r"\\(quote\w+base|guil\w+)|[ÐðÞþĄąĐđĘęĮįŊŋŲų]", r"\usepackage[T1]{fontenc} % with pdfLaTeX"),
)


@dataclass(frozen=True)
class _Plan:
    """How a table is set: its columns, and their widths in ems."""

    columns: tuple[Column, ...]
    widths: tuple[float, ...]
    setting: Setting

    def wraps(self, index: int) -> bool:
        """Whether a column is narrower than its longest line."""
        return self.widths[index] < self.columns[index].natural - 1e-6

    def room(self, span: range) -> float:
        """Return the width of columns that stand side by side in ems, with the space between them."""
        gaps = 2 * self.setting.gap * (len(span) - 1)
        return sum(self.widths[index] for index in span) + gaps / self.setting.points

    def share(self, span: range) -> str:
        """Return the width of columns that stand side by side, as TeX measures it."""
        share = sum(self.widths[index] for index in span) * self.setting.points / self.setting.line
        between = f"+{2 * (len(span) - 1)}\\tabcolsep" if len(span) > 1 else ""
        return f"\\dimexpr {share:.4f}\\linewidth{between}\\relax"


def grid_latex(grid: Grid, *, label: str = "") -> str:
    r"""Return a table as LaTeX to be read in with `\input`.

    Parameters
    ----------
    grid : Grid
        The table.
    label : str
        What `\ref{tab:...}` is to find it by; signs other than letters, digits and hyphens are left out.

    Returns
    -------
    str
        A `table` (a `sidewaystable` where it is too wide for an upright page), or a `longtable` for more
        than 45 rows. The first lines name the packages it needs.
    """
    plan = _planned(grid)
    is_long = len(grid.body) > _ROWS_OF_A_PAGE
    body = "\n".join(_long(grid, plan, label) if is_long else _floating(grid, plan, label))
    return "\n".join([*_preamble(body), body, ""])


def _preamble(body: str) -> list[str]:
    """Return comments that say what a table needs."""
    needed = [f"% {package}" for sign, package in _PACKAGES if re.search(sign, body)]
    beyond = beyond_pdflatex(body)
    if beyond:
        needed.append(f"% XeLaTeX or LuaLaTeX with a font that has {' '.join(beyond[:40])}: pdfLaTeX has not")
    return ["% Needs in the preamble:", *needed]


def _planned(grid: Grid) -> _Plan:
    """Return how a table is set: upright if it fits, in smaller type, with intervals broken, then turned."""
    settings = []
    for line, turned in ((_LINE, False), (_TURNED_LINE, True)):
        tries: list[tuple[_Size, Breaks]] = [(_SMALL, "text"), (_FOOTNOTE, "text"), (_FOOTNOTE, "numbers")]
        if turned:
            tries += [(_SCRIPT, "numbers"), (_SCRIPT, "anywhere")]
        for (name, points, gap), breaks in tries:
            settings.append(Setting(line, points * _WIDER, gap, breaks, turned, name))
    columns = columns_of(grid)
    setting, widths = first_fit(columns, settings)
    return _Plan(tuple(columns), tuple(widths), setting)


def _floating(grid: Grid, plan: _Plan, label: str) -> list[str]:
    """Return a table that stands on one page."""
    name = "sidewaystable" if plan.setting.turned else "table"
    return [
        f"\\begin{{{name}}}",
        "\\centering",
        *_caption(grid, label, end="\n\\smallskip"),
        *_type(plan),
        f"\\begin{{tabular}}{{{_columns(plan)}}}",
        "\\toprule",
        *_head(grid, plan),
        *_body(grid, plan, keep=False),
        "\\bottomrule",
        "\\end{tabular}",
        *_notes(grid),
        f"\\end{{{name}}}",
    ]


def _long(grid: Grid, plan: _Plan, label: str) -> list[str]:
    """Return a table that goes over several pages, its head repeated on each."""
    head = ["\\toprule", *_head(grid, plan)]
    captioned = _caption(grid, label, end=r" \\")
    again = [r"\caption[]{(continued)} \\"] if grid.title else []
    found = [
        "{",
        *_type(plan),
        "\\setlength{\\LTcapwidth}{\\linewidth}",
        f"\\begin{{longtable}}{{{_columns(plan)}}}",
        *captioned,
        *head,
        "\\endfirsthead",
        *again,
        *head,
        "\\endhead",
        "\\bottomrule",
        "\\endfoot",
        *_body(grid, plan, keep=True),
        "\\end{longtable}",
        *_notes(grid),
        "}",
    ]
    return ["\\begin{landscape}", *found, "\\end{landscape}"] if plan.setting.turned else found


def _type(plan: _Plan) -> list[str]:
    """Return the size of type and the space between columns."""
    return [
        f"\\{plan.setting.name}",
        "\\renewcommand{\\arraystretch}{1.1}",
        f"\\setlength{{\\tabcolsep}}{{{plan.setting.gap:g}pt}}",
    ]


#: The number that a title begins with.
_NUMBERED = re.compile(r"^Table \w+[.:] (?=\S)")


def _caption(grid: Grid, label: str, end: str) -> list[str]:
    """Return title and subtitle as a caption, with a label to refer to; a comment where there is none."""
    known = re.sub(r"[^A-Za-z0-9-]+", "-", label).strip("-")
    named = f"\\label{{tab:{known}}}" if known else ""
    title = grid.title
    if title:
        # LaTeX counts tables itself: "Table 2. Means" would read "Table 1: Table 2. Means"
        title = (replace(title[0], text=_NUMBERED.sub("", title[0].text)), *title[1:])
    texts = [latex_runs(runs) for runs in (title, grid.subtitle) if runs]
    if not texts:
        return [f"% \\caption{{}}{named}{end.replace(chr(10), ' ')}"]
    if len(texts) == 2 and not plain(grid.title).rstrip().endswith((".", "!", "?", ":")):
        texts[0] += "."
    return [f"\\caption{{{' '.join(texts)}}}{named}{end}"]


def _notes(grid: Grid) -> list[str]:
    """Return the notes below a table, each in a paragraph of its own."""
    if not grid.notes:
        return []
    notes = [latex_runs(note, line_break=r"\newline ", wraps=True) + r"\par" for note in grid.notes]
    return ["\\par\\smallskip", "{\\footnotesize\\raggedright", *notes, "}"]


def _columns(plan: _Plan) -> str:
    """Return the specification of all columns; LaTeX wants one even where there is none."""
    columns = enumerate(plan.columns)
    return "".join(_column(plan, range(i, i + 1), col.align, plan.wraps(i)) for i, col in columns) or "l"


def _column(plan: _Plan, span: range, align: str, wraps: bool, *, foot: bool = False) -> str:
    """Return the specification of columns side by side: one letter, or a width where text wraps."""
    if not wraps:
        return align[0]
    return f">{{{_TURN[align]}\\arraybackslash}}{'b' if foot else 'p'}{{{plan.share(span)}}}"


def _head(grid: Grid, plan: _Plan) -> list[str]:
    """Return the rows of headings, with a rule below every spanner."""
    found = []
    rows = head_rows(grid)
    for index, row in enumerate(rows):
        found.append(_row(row, plan, in_head=True) + r" \\")
        if index < len(rows) - 1:
            ends = [(s.column + 1, s.column + s.cell.colspan) for s in row if s.cell.text]
            found += ["".join(f"\\cmidrule(lr){{{first}-{last}}}" for first, last in ends)]
    return [line for line in [*found, "\\midrule" if found else ""] if line]


def _body(grid: Grid, plan: _Plan, keep: bool) -> list[str]:
    """Return the rows of the body; `keep` keeps a group's label on the page of its first row."""
    found: list[str] = []
    before: Row | None = None
    for row, slots in zip(grid.body, layout(grid.body, grid.n_columns), strict=True):
        found += _rule_between(before, row, slots)
        if row.kind == "group":
            slots = set_apart(slots)
        end = r" \\*" if keep and row.kind == "group" else r" \\"
        if row.kind != "group" or any(cell.text for cell in row.cells):
            found.append(_row(slots, plan) + end)
        before = row
    return found


def _rule_between(before: Row | None, row: Row, slots: Sequence[Slot]) -> list[str]:
    """Return the rule or space between two rows of the body."""
    if before is None:
        return []
    if row.kind == "group":
        return ["\\addlinespace"]
    if before.kind == "group":
        return []
    if row.kind != before.kind:
        return ["\\midrule"]
    opens_level = bool(slots) and slots[0].first and slots[0].cell.rowspan > 1
    return ["\\addlinespace"] if opens_level else []


def _row(slots: Iterable[Slot], plan: _Plan, *, in_head: bool = False) -> str:
    """Return the cells of one row."""
    return " & ".join(_cell(slot, plan, in_head) for slot in slots)


def _cell(slot: Slot, plan: _Plan, in_head: bool) -> str:
    """Return one cell; what spans rows stands in its first row only."""
    cell = slot.cell
    span = range(slot.column, min(slot.column + cell.colspan, len(plan.columns)))
    alone = len(span) == 1
    wraps = plan.wraps(slot.column) if alone and not in_head else cell_width(cell) > plan.room(span) + 1e-6
    column = plan.columns[slot.column]
    breaks = breaks_in(column, plan.widths[slot.column], plan.setting)
    text = _text(cell, wraps, in_head, breaks) if slot.first else ""
    if alone and not text:
        return ""
    if alone and cell.align == column.align and wraps == plan.wraps(slot.column) and not (in_head and wraps):
        return text
    # headings of several lines stand on the rule below them
    spec = _column(plan, span, cell.align, wraps, foot=in_head)
    return f"\\multicolumn{{{len(span)}}}{{{spec}}}{{{text}}}"


def _text(cell: Cell, wraps: bool, in_head: bool, breaks: Breaks) -> str:
    """Return a cell's text, on several lines where it has them."""
    if not cell.runs:
        text = ""
    elif wraps:
        text = latex_runs(wrapped(cell.runs, breaks), line_break=r"\newline ", wraps=True)
    elif "\n" in cell.text:
        text = latex_runs(cell.runs, line_break=r" \\ ")
        side, foot = cell.align[0], "b" if in_head else "t"
        text = f"\\begin{{tabular}}[{foot}]{{@{{}}{side}@{{}}}}{text}\\end{{tabular}}"
    else:
        text = latex_runs(cell.runs)
    if cell.indent and text:
        depth = f"{cell.indent * INDENT:g}em"
        hanging = f"\\hangindent={depth}\\relax" if wraps else ""
        text = f"{hanging}\\hspace*{{{depth}}}{text}"
    return (f"\\cellcolor[HTML]{{{cell.fill}}}" if cell.fill else "") + text
