"""Contents of a report's page, before the page is written."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import pandas as pd


class Display(Enum):
    """Where the page shows a table or a figure."""

    #: On the page.
    OPEN = "open"
    #: Folded away below other items of its section.
    FOLDED = "folded"


@dataclass(frozen=True)
class ReportItem:
    """A table or a figure of the report.

    Attributes
    ----------
    key : str
        Stem of its files: "means" gives `tables/means.csv` or `figures/means.pdf`.
    number : str
        "Table 2" or "Figure 1".
    title : str
        Its title.
    drawing : object
        The table, or the pages of the figure.
    frame : DataFrame
        The unrounded numbers, written as `frames/means.csv`.
    caption : str
        Caption of a figure; notes of a table are in the table.
    alt : str
        Description of the figure for readers who do not see it.
    call : str
        Python that makes the frame and draws it.
    display : Display
        Where the page shows it.
    content : object
        Once written: the rows of a table, or the PNG of each page of a figure.
    files : tuple of str
        Once written: the paths of its files relative to the page.
    """

    key: str
    number: str
    title: str
    drawing: Any
    frame: pd.DataFrame
    caption: str = ""
    alt: str = ""
    call: str = ""
    display: Display = Display.OPEN
    content: Any = None
    files: tuple[str, ...] = ()

    @property
    def is_table(self) -> bool:
        """True for a table, False for a figure."""
        return self.number.startswith("Table")


@dataclass(frozen=True)
class Section:
    """One part of the page: sentences first, then tables and figures."""

    key: str
    title: str
    sentences: tuple[str, ...] = ()
    items: tuple[ReportItem, ...] = ()


@dataclass(frozen=True)
class MissingItem:
    """An item of a reporting guideline that the report does not answer.

    Attributes
    ----------
    guideline : str
        Name of the guideline: "CLAIM".
    item : str
        Number and subject of the item.
    text : str
        What an author has to add.
    """

    guideline: str
    item: str
    text: str


@dataclass(frozen=True)
class Report:
    """The contents of the page, in their order.

    Attributes
    ----------
    title : str
        Heading of the page.
    sections : tuple of Section
        The first is the summary.
    methods : tuple of str
        Paragraphs of the Methods section, then its references.
    missing_items : tuple of MissingItem
        Items of reporting guidelines that an author has to add.
    warnings : tuple of str
        Warnings of the analyses, and reasons why something is not shown.
    counts : tuple of (str, str)
        Names and numbers of what was counted.
    provenance : tuple of (str, str)
        Names and values of settings, versions and checksums.
    """

    title: str
    sections: tuple[Section, ...]
    methods: tuple[str, ...]
    missing_items: tuple[MissingItem, ...]
    warnings: tuple[str, ...] = ()
    counts: tuple[tuple[str, str], ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
