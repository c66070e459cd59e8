"""Declarations of the published studies: their items, what was printed of each, and the data they need."""

import argparse
import importlib
import math
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import plotnine as p9
from great_tables import GT

from salstats.errors import (
    Message,
)
from salstats.studies.score_tables import (
    ReleaseReader,
)
from salstats.studies.study_parser import Parser

#: The published studies by key; each has a folder here, whose `STUDY` declares it.
KEYS = tuple(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.ispkg)
#: Columns of an item's frame for what was printed of its rows, by the column that it was printed of.
PRINTED_COLUMNS = {"estimate": "printed", "conf_low": "printed_low", "conf_high": "printed_high"}
#: The column that says where the numbers of a row were printed.
PRINTED_SOURCE = "printed_source"
#: Data that an item needs, as messages name them.
Need = str | Message


@dataclass(frozen=True)
class ItemResult:
    """A result of a study: the unrounded frame, and the table and figure that show it."""

    #: Unrounded numbers, a row for each estimate or case.
    frame: pd.DataFrame
    table: GT | None = None
    #: A figure, where it shows more than the table.
    figure: p9.ggplot | None = None
    #: Facts that a reader needs to understand the numbers.
    note: str = ""
    #: Name of the cases and tasks behind the numbers; by default the item's.
    slice: str | None = None
    #: Title, where it depends on the data; by default the item's.
    title: str | None = None


@dataclass(frozen=True)
class PrintedNumbers:
    """Numbers of `data/published` that an item's frame has to give, to the printed digit."""

    #: Returns the printed rows, with the key columns and the values of the frame.
    rows: Callable[[], pd.DataFrame]
    #: Columns that identify a row, in print and in the frame.
    keys: tuple[str, ...]
    values: tuple[str, ...] = ("estimate", "conf_low", "conf_high")
    #: Decimals of the printed values.
    digits: int = 3
    #: Tells whether a frame comes from the study's own data.
    applies: Callable[[pd.DataFrame], bool] = lambda frame: True
    #: Returns the rows of a frame that may have been printed.
    select: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    #: Tells whether a frame is made as the printed numbers were. Where it is not, or where print was
    #: superseded, a difference is shown and is not an error.
    exact: Callable[[pd.DataFrame], bool] = lambda frame: True
    #: The place where the numbers were printed, if that is not the study's article.
    source: str = ""

    def compare(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return each printed row beside that of the frame: `key, printed, found, equal, exact`.

        `key` joins the values of the key columns, `printed` and `found` the rounded numbers of print and of
        the frame. A value that was not printed is left out of both. A printed row of a metric that the frame
        does not have is left out.
        """
        columns = [*self.keys, *self.values]
        printed_rows = self.rows()[columns]
        frame_rows = self.select(frame)[columns]
        if "metric" in self.keys:
            printed_rows = printed_rows[printed_rows["metric"].isin(frame_rows["metric"])]
        pairs = printed_rows.merge(
            frame_rows,
            on=list(self.keys),
            how="left",
            validate="1:1",
            suffixes=("_printed", ""),
        )
        rows = [self._printed_and_found_texts_and_whether_equal(pair) for pair in pairs.to_dict("records")]
        compared = pd.DataFrame(rows, columns=["key", "printed", "found", "equal"])
        return compared.assign(exact=self.exact(frame))

    def _printed_and_found_texts_and_whether_equal(self, pair: Mapping[Any, Any]) -> dict[str, object]:
        """Round the values of one printed row and of the frame's row, and compare them."""
        printed = []
        computed = []
        for value in self.values:
            if pd.notna(pair[f"{value}_printed"]):
                printed.append(rounded_half_away(pair[f"{value}_printed"], self.digits))
                computed.append(rounded_half_away(pair[value], self.digits))
        # A key that does not apply to a row stands empty or as "all": a pooled row has no task.
        key_texts = [str(pair[key]) for key in self.keys if pd.notna(pair[key]) and pair[key] != "all"]
        return {
            "key": ", ".join(key_texts),
            "printed": ", ".join(map(str, printed)),
            "found": ", ".join(map(str, computed)),
            "equal": printed == computed,
        }

    def published_numbers_of_each_row(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the numbers printed for each row of a frame: its index and the columns of `PRINTED_COLUMNS`.

        `printed_source` is "article", or the other place where a row was printed. Numbers and source are
        missing for rows that were not printed.
        """
        keys = list(self.keys)
        frame_keys = self.select(frame)[keys]
        printed = self.rows()[[*keys, *self.values]].rename(columns=PRINTED_COLUMNS)
        numbers = frame_keys.merge(printed, on=keys, how="left", validate="m:1").drop(columns=keys)
        # The merge keeps the order of the frame's rows and loses their index.
        numbers.index = frame_keys.index
        is_printed = numbers.notna().any(axis=1)
        place = self.source or "article"
        sources = pd.Series(place, index=numbers.index).where(is_printed)
        return numbers.assign(**{PRINTED_SOURCE: sources})


@dataclass(frozen=True)
class StudyItem:
    """A table or figure of a study: how it is made of the data, and the data that it needs."""

    #: Name of its files.
    key: str
    #: Title; its number in the study stands before a colon.
    title: str
    #: Makes the result of the data that `OpenedStudy.load` returns.
    make: Callable[[Any], ItemResult | None]
    #: Data without which the item cannot be made.
    needs: tuple[Need, ...] = ()
    #: Data without which a part of the item is left out.
    part_needs: tuple[Need, ...] = ()
    #: Name of the cases and tasks behind its numbers.
    slice: str = "true-positive"
    #: The numbers that the study printed, in one place or in several.
    printed: PrintedNumbers | Sequence[PrintedNumbers] | None = None

    @property
    def printings(self) -> Sequence[PrintedNumbers]:
        """The printed numbers as a list."""
        if self.printed is None:
            return ()
        if isinstance(self.printed, PrintedNumbers):
            return (self.printed,)
        return self.printed

    @property
    def number_or_title(self) -> str:
        """The number of the item in the study, or its title where it has none."""
        return self.title.partition(":")[0]


@dataclass(frozen=True)
class OpenedStudy:
    """The data of a study before anything is computed of them."""

    #: The items in the order of the study.
    items: Sequence[StudyItem]
    #: The needs that the data meet.
    available: frozenset[Need]
    #: Does the long work, and returns what the items are made of.
    load: Callable[[], Any]


@dataclass(frozen=True)
class PublishedStudy:
    """The declaration of a published study."""

    #: Name of the study in this package.
    key: str
    #: Citation of the paper.
    source: str
    #: Description for `--help`.
    description: str
    #: Adds the study's options to a parser.
    add_options: Callable[["Parser"], None]
    #: Finds the data that the options name.
    open: Callable[[argparse.Namespace], OpenedStudy]
    #: Takes a scores frame in the place of a folder, and the options.
    open_scores: Callable[[pd.DataFrame, argparse.Namespace], OpenedStudy] | None = None
    #: Reads a table in the columns of the study's own release.
    read_release: ReleaseReader | None = None
    #: True where a column `slice` may tell several slices of the scores apart.
    slices: bool = False


def declaration_of(key: str) -> PublishedStudy:
    """Return the declaration of a study."""
    declaration: PublishedStudy = importlib.import_module(f"salstats.studies.{key}").STUDY
    return declaration


def rounded_half_away(value: float, decimals: int) -> Decimal:
    """Round a number to some decimals, half away from zero, as spreadsheets do."""
    if math.isnan(value):
        return Decimal("nan")
    # The shortest decimal text of a number: 0.0005 is rounded up, though its binary value is smaller.
    shortest = Decimal(repr(float(value)))
    last_decimal = Decimal(1).scaleb(-decimals)
    return shortest.quantize(last_decimal, ROUND_HALF_UP)
