"""Tables with everything great-tables can do to them, and what their HTML says, read another way."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
from great_tables import GT, html, loc, md, style

ODD = r"""50% of R&D_x #1 $5 {a} ~ ^ \ <b> > | "q" 'r' `c` -- ,, [z] *s"""
LONG = "A name that somebody made out of the whole configuration of a method " * 2


def rich() -> GT:
    """Every part of a table at once: two levels of spanners, groups, a stub, notes of all kinds."""
    frame = pd.DataFrame(
        {
            "group": ["Large & big", "Large & big", "Small_ones", "Small_ones"],
            "task": ["Edema <x>", "Airspace_Opacity 50%", "Atelectasis", "Support\\Devices $5"],
            "a": [0.566, 0.1, -0.2, None],
            "b": ["0.566 (0.526, 0.606)***", "x & y", "<b>raw</b>", "β é − ± ²"],
            "c": [1, 2, 3, 4],
            "hidden": ["not to be seen"] * 4,
            "u": [ODD, "q", "r", "s"],
        }
    )
    return (
        GT(frame, rowname_col="task", groupname_col="group")
        .tab_header(title=md("Title **bold** & *slanted*"), subtitle="Sub < title 100%")
        .tab_spanner("IoU & co", columns=["a", "b"])
        .tab_spanner(md("**All** {{m^2}}"), columns=["a", "b", "c"], level=1)
        .tab_stubhead("Finding")
        .cols_hide("hidden")
        .cols_label(c=html("N<sub>x</sub><br>cases"), u="{{m_2^3}}")
        .fmt_number("a", decimals=2)
        .sub_missing(missing_text="—")
        .tab_style(style.text(weight="bold"), loc.body(columns="a", rows=[0]))
        .tab_style(
            style.text(decorate="underline", style="italic", align="right"), loc.body(columns="b", rows=[1])
        )
        .tab_style(style.fill(color="LightCyan"), loc.body(columns="c", rows=[1]))
        .tab_style(style.text(color="#A00"), loc.body(columns="c", rows=[2]))
        .tab_style(style.text(weight="bold"), loc.stub(rows=[2]))
        .tab_footnote("P < 0.05; P<0.01 & more", loc.body(columns="a", rows=[0]))
        .tab_footnote(md("With *markdown* & `code`"), loc.column_labels(columns="c"))
        .tab_footnote("On the title", loc.title())
        .tab_footnote("On the group", loc.row_groups(rows=["Small_ones"]))
        .tab_footnote("A free note")
        .tab_source_note(md("Note with **bold**\n\n- first item\n- second item"))
        .tab_source_note(f"plain <note> {ODD}")
        .tab_stub_indent(rows=[1], indent=2)
        .grand_summary_rows(fns={"Mean": lambda d: d[["a", "c"]].mean()})
    )


def estimates(n_tasks: int = 10, n_methods: int = 2) -> GT:
    """Estimates with intervals, two metrics below every method, as in a paper's second table."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"task": [f"Task {i}, with some 5% & more_words" for i in range(n_tasks)]})
    for column in range(2 * n_methods):
        values = rng.uniform(-0.2, 0.9, n_tasks)
        frame[f"c{column}"] = [f"{v:.3f} ({v - 0.04:.3f}, {v + 0.04:.3f})***" for v in values]
    table = GT(frame, rowname_col="task").tab_header("Mean intersection over union")
    for method in range(n_methods):
        columns = [f"c{2 * method}", f"c{2 * method + 1}"]
        table = table.tab_spanner(f"Method {method}", columns).cols_label(
            **dict(zip(columns, ["IoU", "Hit rate"], strict=True))
        )
    return table.tab_source_note("95% confidence intervals; " + "a note that is long enough to wrap, " * 5)


def long_names() -> GT:
    """Labels of more than a hundred characters in every place."""
    frame = pd.DataFrame({"g": [LONG, LONG, "x" * 120], "t": [LONG, "name_" * 25, "y" * 120], "v": [1, 2, 3]})
    return (
        GT(frame, rowname_col="t", groupname_col="g").tab_header(LONG, LONG).tab_spanner(LONG, ["v"])
    ).tab_source_note(LONG)


def grouped_by_column() -> GT:
    """Groups as a column of their own, with a summary in each."""
    frame = pd.DataFrame({"g": ["a", "a", "b"], "t": ["x", "y", "z"], "v": [1.0, 2.0, 4.0]})
    return (
        GT(frame, rowname_col="t", groupname_col="g")
        .tab_options(row_group_as_column=True)
        .summary_rows(fns={"Sum": lambda d: d[["v"]].sum()})
    )


def stub_of_levels() -> GT:
    """A stub of two columns whose outer cells span rows."""
    frame = pd.DataFrame({"m": ["iou", "iou", "hit"], "t": ["a", "b", "a"], "v": [0.1, 0.2, 0.3]})
    return GT(frame, rowname_col=["m", "t"]).tab_stubhead(["Metric", "Task"])


def without_headings() -> GT:
    """Only a body, whose cells begin as options of LaTeX commands do."""
    frame = pd.DataFrame({"a": ["[x]", "*y", "--z"], "b": ["[1]", "*2", "''3"]})
    return GT(frame).tab_options(column_labels_hidden=True)


def without_rows() -> GT:
    """Headings only."""
    return GT(pd.DataFrame({"a": [], "b": []})).tab_header("Nothing to see")


def without_columns() -> GT:
    """Nothing but a note."""
    return GT(pd.DataFrame()).tab_source_note("No columns")


def one_cell() -> GT:
    """One column, no stub."""
    return GT(pd.DataFrame({"only": [1.5]}))


def in_capitals() -> GT:
    """Text that only the style sheet changes."""
    return GT(pd.DataFrame({"alpha beta": ["q"], "b": [1]})).opt_all_caps()


def odd_formats() -> GT:
    """Cells that hold markup of their own: links, flags, units, check marks, lists, pictures."""
    frame = pd.DataFrame(
        {
            "link": ["https://a.b/c_d", "[text](https://q.r)"],
            "flag": ["GB", "FR"],
            "unit": ["m^2", "g/L"],
            "ok": [True, False],
            "md": ["**strong** and\n\nnew paragraph", "1. one\n2. two"],
        }
    )
    return (
        GT(frame)
        .fmt_url("link")
        .fmt_flag("flag")
        .fmt_units("unit")
        .fmt_tf("ok", tf_style="check-mark")
        .fmt_markdown("md")
        .tab_source_note(html('<img src="plot.png" alt="a picture of it"> &eacute; &#x3b2; <s>gone</s>'))
    )


EXAMPLES = {
    make.__name__: make
    for make in (
        rich,
        estimates,
        long_names,
        grouped_by_column,
        stub_of_levels,
        without_headings,
        without_rows,
        without_columns,
        one_cell,
        in_capitals,
        odd_formats,
    )
}


class _Visible(HTMLParser):
    """Collects the text that a browser shows, with the alternative text of pictures."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag, attrs):
        """Count what hides its text, and note what stands for a picture."""
        said = dict(attrs)
        if tag in ("style", "script", "title"):
            self._silent += 1
        for name in ("alt", "aria-label"):
            if tag in ("img", "svg") and said.get(name):
                self.found.append(said[name])

    def handle_endtag(self, tag):
        """End what hides its text."""
        if tag in ("style", "script", "title"):
            self._silent -= 1

    def handle_data(self, data):
        """Keep what is shown."""
        if not self._silent:
            self.found += data.split()


def visible_words(table: GT) -> list[str]:
    """Every word that a browser shows of a table."""
    parser = _Visible()
    parser.feed(table.as_raw_html())
    return [word for text in parser.found for word in text.split()]
