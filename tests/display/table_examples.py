"""Tables of every shape, as the package makes them, and what their HTML says, read another way."""

from html.parser import HTMLParser

import numpy as np
from great_tables import GT

from salstats.display.tables.great_table import great_table
from salstats.display.tables.record import Table, TableColumn

ODD = r"""50% of R&D_x #1 $5 {a} ~ ^ \ <b> > | "q" 'r' `c` -- ,, [z] *s {{m^2}}"""
LONG = "A name that somebody made out of the whole configuration of a method " * 2


def rich() -> GT:
    """Every part of a table at once: two levels of spanners, groups, marks, a foot, notes."""
    over = ("All & more", "IoU & co")
    return great_table(
        Table(
            stubhead=("Finding",),
            stub=[
                ("Edema <x>",),
                ("Airspace_Opacity 50%",),
                ("Atelectasis",),
                ("Support\\Devices $5",),
                ("n",),
            ],
            columns=[
                TableColumn("a", over),
                TableColumn("b", over),
                TableColumn("N", over[:1], "right"),
                TableColumn(ODD),
            ],
            cells=[
                ["0.57", "0.566 (0.526, 0.606)***", "1", ODD],
                ["0.10", "x & y", "2", "q"],
                ["−0.20", "<b>raw</b>", "3", "r"],
                ["—", "β é − ± ²", "4", "[s]"],
                ["1,234", "", "10", "*t"],
            ],
            groups=["Large & big", "Large & big", "Small_ones", "Small_ones", "Small_ones"],
            bold={(0, 0)},
            underline={(1, 1)},
            rows_with_rule_above={4},
            indented_rows={1},
            foot_rows={4},
            notes=["Note with 50% & <b>more</b>.", "", f"Odd: {ODD}"],
            title="Title & more",
            subtitle="Sub < title 100%",
        ),
        "rich",
    )


def estimates(n_tasks: int = 10, n_methods: int = 2) -> GT:
    """Estimates with intervals, two metrics below every method, as in a paper's second table."""
    rng = np.random.default_rng(0)
    values = rng.uniform(-0.2, 0.9, (n_tasks, 2 * n_methods))
    columns = [
        TableColumn(metric, (f"Method {m}",)) for m in range(n_methods) for metric in ("IoU", "Hit rate")
    ]
    return great_table(
        Table(
            ("",),
            [(f"Task {i}, with some 5% & more_words",) for i in range(n_tasks)],
            columns,
            [
                [f"{v:.3f} ({v - 0.04:.3f}, {v + 0.04:.3f})***".replace("-", "−") for v in row]
                for row in values
            ],
            notes=["95% confidence intervals; " + "a note that is long enough to wrap, " * 5],
            title="Mean intersection over union",
        ),
        "estimates",
    )


def long_names() -> GT:
    """Labels of more than a hundred characters in every place."""
    return great_table(
        Table(
            (LONG,),
            [(LONG,), ("name_" * 25,), ("x-y.z/" * 20,)],
            [TableColumn(LONG, (LONG,), "right")],
            [["1"], ["2"], ["3"]],
            groups=[LONG, LONG, "name_" * 25],
            notes=[LONG],
            title=LONG,
        ),
        "long",
    )


def stub_of_levels() -> GT:
    """A stub of two columns whose outer cells span rows."""
    stub = [("iou", "a"), ("iou", "b"), ("hit", "b")]
    return great_table(
        Table(("Metric", "Task"), stub, [TableColumn("v")], [["0.1"], ["0.2"], ["0.3"]]), "levels"
    )


def one_cell() -> GT:
    """One row, one column."""
    return great_table(Table(("",), [("only",)], [TableColumn("x")], [["1.5"]]), "one")


EXAMPLES = {make.__name__: make for make in (rich, estimates, long_names, stub_of_levels, one_cell)}


class _Visible(HTMLParser):
    """Collects the text that a browser shows."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag, attrs):
        """Count what hides its text."""
        self._silent += tag in ("style", "script", "title")

    def handle_endtag(self, tag):
        """End what hides its text."""
        self._silent -= tag in ("style", "script", "title")

    def handle_data(self, data):
        """Keep what is shown."""
        if not self._silent:
            self.found += data.split()


def visible_words(table: GT) -> list[str]:
    """Every word that a browser shows of a table."""
    parser = _Visible()
    parser.feed(table.as_raw_html())
    return parser.found
