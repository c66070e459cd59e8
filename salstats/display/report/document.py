"""What a report is made of, before anything is written."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.checks import check_choice, check_count, check_level
from salstats.display.text.format import STYLES
from salstats.errors import InputFileError, SalstatsError
from salstats.stats.adjust import check_procedure
from salstats.stats.engine.equivalence import Margin, check_tails
from salstats.stats.engine.intervals import choose_interval
from salstats.stats.engine.paired_tests import TESTS
from salstats.stats.engine.resampling_units import Unit
from salstats.stats.engine.weighting import Weighting

#: Bootstrap replicates of a report: what is printed should not hang on the seed. Of 10,000 replicates the
#: Monte-Carlo error of a 95 % limit is 3 % of the standard error, of 1,000 it is 8 %.
N_REPLICATES = 10_000


@dataclass(frozen=True)
class Settings:
    """What a report was asked for: arguments of `report`, each allowed by itself.

    `settled` fills in what nobody chose: the reference, the unit ("", and as calls say it) and the covariates
    (None). `code` is the Python expression that gives the scores.
    """

    reference: str | None = None
    unit: str = ""
    covariates: str | Sequence[str] | None = None
    only: Mapping[str, Any] | None = None
    level: float = 0.95
    interval: str | None = None
    n_replicates: int = N_REPLICATES
    seed: int = 0
    test: str | None = None
    adjust: str = "holm"
    margin: Margin | None = None
    weights: Weighting = None
    style: str = "nature"
    labels: Mapping[str, Any] | None = None
    title: str = "Statistical report on saliency maps"
    inputs: Sequence[str | os.PathLike[str]] = ()
    code: str = ""
    unit_said: Unit = None

    def __post_init__(self) -> None:
        """Raise where one of them is none of its choices."""
        check_choice(self.style, tuple(STYLES), "style")
        check_level(self.level)
        interval = choose_interval(self.interval, "difference")
        if self.margin is not None:
            check_tails(interval, "difference")
        if self.test is not None:
            check_choice(self.test, TESTS, "test")
        check_procedure(self.adjust, "adjust")
        check_count(self.n_replicates, "n_replicates")
        for file in self.inputs:
            if not Path(file).is_file():
                raise InputFileError(f"inputs names {file}, which is no file")
        if not isinstance(self.title, str) or not self.title.isprintable():
            raise SalstatsError(f"title must be a line of text, not {self.title!r}")
        if not isinstance(self.seed, int):
            raise SalstatsError(
                f"a report takes a seed, so that it can be made again: rng must be an int, not {self.seed!r}"
            )

    @property
    def named(self) -> dict[str, Any]:
        """Labels as they were given, and the reference before the other methods."""
        first = {} if self.reference is None else {"method": [self.reference]}
        return first | dict(self.labels or {})


@dataclass(frozen=True)
class Item:
    """A table or a figure of the report.

    `key` is the stem of its files: "means" gives `tables/means.csv` or `figures/means.pdf`, and
    `frames/means.csv` of the unrounded `frame` behind it. `number` is "Table 2" or "Figure 1"; `display` is
    the table, or the pages of the figure; `caption` is what a reader needs to read a figure (a table's notes
    are in the table), `alt` the figure in words, `call` the Python that gives the frame and draws it. Its
    `place` is "page", or "more" where it is folded away once more, or "file" where the page only links its
    files. Once written, it has the `content` that the page shows, a table's rows or the PNG of each page of a
    figure, and the paths of its `files` relative to the page.
    """

    key: str
    number: str
    title: str
    display: Any
    frame: pd.DataFrame
    caption: str = ""
    alt: str = ""
    call: str = ""
    place: str = "page"
    content: Any = None
    files: tuple[str, ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether this is a table."""
        return self.number.startswith("Table")


@dataclass(frozen=True)
class Section:
    """One part of the page: sentences first, then tables and figures."""

    key: str
    title: str
    sentences: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()


@dataclass(frozen=True)
class Report:
    """Everything the page says, in its order.

    The first of the `sections` is the summary; `methods` are paragraphs and references, `not_covered`
    guideline, item and what an author has to add, `warnings` what the analyses warned of, `counts` what was
    counted and how many, `provenance` settings, versions and digests by name.
    """

    title: str
    sections: tuple[Section, ...]
    methods: tuple[str, ...]
    not_covered: tuple[tuple[str, str, str], ...]
    warnings: tuple[str, ...] = ()
    counts: tuple[tuple[str, str], ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
