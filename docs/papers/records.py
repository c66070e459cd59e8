"""What the pages show of the records of a study: the items of a run and what each needs."""

from collections.abc import Iterable

import pandas as pd
from pandas.io.formats.style import Styler

from salstats.studies.engine import Item, OpenedStudy, parser_of, study


def opened(key: str, *arguments: str) -> OpenedStudy:
    """The study as `salstats reproduce KEY` opens it."""
    declared = study(key)
    return declared.open(parser_of(declared).parse_args([*arguments, "-o", "out"]))


def items_table(items: Iterable[Item]) -> Styler:
    """What has to be there for each item, or parts of it; text breaks where the page is narrow."""
    rows = [(item.title, "; ".join((*item.needs, *item.parts)) or "nothing more") for item in items]
    left = {"selector": "th, td", "props": "text-align: left; padding-right: 1em; vertical-align: top"}
    return pd.DataFrame(rows, columns=["Item", "Needs"]).style.hide(axis="index").set_table_styles([left])
