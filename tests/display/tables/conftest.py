"""Tables read back from their HTML, snapshots of them, and the frames they are made of."""

import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from lxml import html

import salstats as ss
from salstats.errors import SalstatsWarning

SNAPSHOTS = Path(__file__).parent / "snapshots"
#: Snapshots are only written where this says so.
UPDATE = "SALSTATS_UPDATE_SNAPSHOTS"


@dataclass
class Read:
    """What a reader of the rendered table sees."""

    title: str
    head: list[list[str]]
    body: list[list[str]]
    groups: list[str]
    notes: list[str]
    bold: set[tuple[str, int]]
    underline: set[tuple[str, int]]
    apart: list[str]

    @property
    def rows(self) -> dict[str, list[str]]:
        """Cells by the row's label."""
        return {row[0]: row[1:] for row in self.body}

    @property
    def note(self) -> str:
        """All notes as one text."""
        return " ".join(self.notes)


def text_of(cell) -> str:
    """A cell's text, spaces collapsed."""
    return " ".join(cell.text_content().split())


def read(gt) -> Read:
    """Read a table back from its HTML; marks are by the row's label and the column of cells."""
    table = html.fromstring(gt.as_raw_html()).xpath("//table")[0]
    found = Read("", [], [], [], [], set(), set(), [])
    titles = table.xpath(".//*[contains(@class, 'gt_title')]")
    found.title = text_of(titles[0]) if titles else ""
    found.head = [
        [text_of(c) for c in tr.xpath("./th")] for tr in table.xpath("./thead/tr[contains(@class, 'gt_col')]")
    ]
    labels: list[str] = []
    for tr in table.xpath("./tbody/tr"):
        if "gt_group_heading_row" in tr.get("class", ""):
            found.groups.append(text_of(tr))
            continue
        labels = [text_of(c) for c in tr.xpath("./th")]
        found.body.append([*labels, *(text_of(c) for c in tr.xpath("./td"))])
        for j, cell in enumerate(tr.xpath("./td")):
            look = cell.get("style") or ""
            if "font-weight: bold" in look:
                found.bold.add((labels[-1], j))
            if "text-decoration: underline" in look:
                found.underline.add((labels[-1], j))
        if "border-top" in (tr.xpath("./td")[0].get("style") or ""):
            found.apart.append(labels[-1])
    found.notes = [text_of(tr) for tr in table.xpath("./tfoot/tr")]
    return found


@pytest.fixture(scope="session", name="read")
def read_fixture():
    """A function that reads a table back from its HTML."""
    return read


@pytest.fixture
def same_as_snapshot():
    """A function that compares head, body and notes with a file; a missing file is a failure."""

    def compare(gt, name: str) -> None:
        page = gt.with_id("t").as_raw_html()
        body = page[page.index("<tbody") : page.index("</tbody>") + len("</tbody>")]
        seen = read(gt)
        version = f"salstats {ss.__version__}"
        lines = [seen.title, *(" | ".join(row) for row in seen.head), body, *seen.notes]
        text = "\n".join(line for line in lines if line).replace(version, "salstats VERSION") + "\n"
        file = SNAPSHOTS / f"{name}.txt"
        if os.environ.get(UPDATE):
            file.write_text(text, encoding="utf-8")
        assert file.is_file(), f"no snapshot {file.name}; look at the table, then run with {UPDATE}=1"
        assert text == file.read_text(encoding="utf-8")

    return compare


@pytest.fixture(scope="session")
def scores() -> pd.DataFrame:
    """The embedded study."""
    return ss.datasets.load_simulated()


@pytest.fixture(scope="session")
def means(scores) -> pd.DataFrame:
    """Means by metric, method and task, with an average."""
    return ss.summarize(scores, average="task", interval="percentile", n_replicates=200)


@pytest.fixture(scope="session")
def differences(scores, quietly) -> pd.DataFrame:
    """Differences from the human benchmark, adjusted."""
    options = {"average": "task", "interval": "percentile", "n_replicates": 1999, "adjust": "holm"}
    return quietly(ss.difference, scores, reference="human", **options)


@pytest.fixture(scope="session")
def decrease(scores) -> pd.DataFrame:
    """Percentage decreases from the human benchmark."""
    return ss.percent_decrease(
        scores, reference="human", average="task", interval="percentile", n_replicates=999
    )


@pytest.fixture(scope="session")
def quietly():
    """A function that calls another without the package's warnings, which other tests are about."""

    def call(function, *args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SalstatsWarning)
            return function(*args, **kwargs)

    return call
