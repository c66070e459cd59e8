"""Tables of the records of a study for its page: the items of a run and their needs."""

from collections.abc import Iterable

import pandas as pd
from pandas.io.formats.style import Styler

from salstats.cli.flag_spelling import FlagSpelling
from salstats.errors import Message
from salstats.studies.declarations import Need, OpenedStudy, StudyItem, declaration_of
from salstats.studies.engine import parser_of


def opened(key: str, *arguments: str) -> OpenedStudy:
    """Open a study as `salstats reproduce KEY` does."""
    declaration = declaration_of(key)
    return declaration.open(parser_of(declaration).parse_args([*arguments, "-o", "out"]))


def need_text(need: Need) -> str:
    """Write a need with the flags of the command line."""
    message = Message(need)
    flags = {setting.option: f"--{setting.option.replace('_', '-')}" for setting in message.settings()}
    return message.spelled(FlagSpelling(flags))


def items_table(items: Iterable[StudyItem]) -> Styler:
    """Make a table of the needs of each item, or of its parts; text breaks where the page is narrow."""
    rows = []
    for item in items:
        needs = [need_text(need) for need in (*item.needs, *item.part_needs)]
        rows.append((item.title, "; ".join(needs) or "nothing more"))
    left = {"selector": "th, td", "props": "text-align: left; padding-right: 1em; vertical-align: top"}
    return pd.DataFrame(rows, columns=["Item", "Needs"]).style.hide(axis="index").set_table_styles([left])
