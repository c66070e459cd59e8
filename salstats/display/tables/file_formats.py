"""File formats of tables, declared once: endings, names in links, and what they are written from."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TableFormat:
    """A format that `save_table` writes.

    Attributes
    ----------
    suffix : str
        Ending of a file's name, with its dot.
    name : str
        Name in the text of a link.
    of_record : bool
        Whether it is written from the record of a table of this package. Other formats are written from what
        great-tables shows, so that any of its tables can be written.
    in_results : bool
        Whether reports and the results of published studies include their tables in this format.
    """

    suffix: str
    name: str
    of_record: bool = True
    in_results: bool = True


TABLE_FORMATS = (
    TableFormat(".html", "HTML", of_record=False),
    TableFormat(".tex", "TeX"),
    TableFormat(".docx", "Word"),
    TableFormat(".csv", "CSV"),
    TableFormat(".md", "Markdown", in_results=False),
    TableFormat(".json", "JSON", in_results=False),
    TableFormat(".png", "PNG", of_record=False, in_results=False),
)
#: Endings of all formats.
TABLE_SUFFIXES = tuple(kind.suffix for kind in TABLE_FORMATS)
#: Endings of the formats that are written from a table's record.
RECORD_SUFFIXES = tuple(kind.suffix for kind in TABLE_FORMATS if kind.of_record)
#: Endings of the formats that any table of great-tables can be written in.
ANY_TABLE_SUFFIXES = tuple(kind.suffix for kind in TABLE_FORMATS if not kind.of_record)
#: Endings of the tables of a report, and of the results of a published study.
RESULT_SUFFIXES = tuple(kind.suffix for kind in TABLE_FORMATS if kind.in_results)
