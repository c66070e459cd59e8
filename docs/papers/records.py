"""What the pages show of the records of a study: the items of a run, what each needs and shows."""

from collections.abc import Iterable

import pandas as pd
from great_tables import GT

from salstats.studies.engine import Item, Opened, parser_of, study, table_of


def opened(key: str, *arguments: str) -> Opened:
    """The study as `salstats reproduce KEY` opens it."""
    declared = study(key)
    return declared.open(parser_of(declared).parse_args([*arguments, "-o", "out"]))


def items_table(items: Iterable[Item]) -> GT:
    """Each item, and what has to be there for it and for parts of it."""
    rows = [(i.name, i.title.partition(": ")[2], *map("; ".join, (i.needs, i.parts))) for i in items]
    frame = pd.DataFrame(rows, columns=["name", "title", "needs", "parts"])
    columns = {"What it is": "title", "Needs": "needs", "Parts of it need": "parts"}
    return table_of(frame, "items", {"Item": "name"}, {h: c for h, c in columns.items() if frame[c].any()})
