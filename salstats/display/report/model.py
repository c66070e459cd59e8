"""What a report is made of, before anything is written."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from salstats.checks import InputFileError, SalstatsError, check_choice, check_count, check_level
from salstats.display.text.format import STYLES
from salstats.stats.adjust import check_procedure
from salstats.stats.intervals import names_of
from salstats.stats.paired_tests import TESTS

#: Bootstrap replicates of a report: what is printed should not hang on the seed. Of 10,000 replicates the
#: Monte-Carlo error of a 95 % limit is 3 % of the standard error, of 1,000 it is 8 %.
N_REPLICATES = 10_000


@dataclass(frozen=True)
class Choices:
    """What a report was asked for: the arguments of `report` of these names, each allowed by itself."""

    reference: str | None = None
    unit: str | None = None
    covariates: str | Sequence[str] | None = None
    only: Mapping[str, Any] | None = None
    level: float = 0.95
    interval: str = "percentile"
    n_replicates: int = N_REPLICATES
    rng: int = 0
    test: str = "t"
    adjust: str = "holm"
    style: str = "nature"
    labels: Mapping[str, Any] | None = None
    title: str = "Statistical report on saliency maps"
    inputs: Sequence[str | os.PathLike[str]] = ()

    def __post_init__(self) -> None:
        """Raise where one of them is none of its choices."""
        check_choice(self.style, tuple(STYLES), "style")
        check_level(self.level)
        check_choice(self.interval, names_of("difference"), "interval")
        check_choice(self.test, TESTS, "test")
        check_procedure(self.adjust, "adjust")
        for file in self.inputs:
            if not Path(file).is_file():
                raise InputFileError(f"inputs names {file}, which is no file")
        if not isinstance(self.title, str) or not self.title.isprintable():
            raise SalstatsError(f"title must be a line of text, not {self.title!r}")
        check_count(self.n_replicates, "n_replicates")
        if not isinstance(self.rng, int):
            raise SalstatsError(
                f"a report takes a seed, so that it can be made again: rng must be an int, not {self.rng!r}"
            )


@dataclass(frozen=True)
class Settings:
    """The choices every analysis of one report shares.

    Attributes
    ----------
    reference : str or None
        Method the others are compared with.
    unit : str
        Column whose values are resampled and are the clusters of regressions.
    level : float
        Confidence level.
    interval : str
        Bootstrap interval of means and contrasts.
    n_replicates, seed : int
        Bootstrap replicates, and the seed they were drawn from.
    test : str
        Test of the contrasts.
    adjust : str
        Procedure for multiple tests.
    style : str
        Journal style of numbers.
    covariates : tuple of str
        Columns regressions are on; `prob` is not among them.
    """

    reference: str | None
    unit: str
    level: float = 0.95
    interval: str = "percentile"
    n_replicates: int = N_REPLICATES
    seed: int = 0
    test: str = "t"
    adjust: str = "holm"
    style: str = "nature"
    covariates: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """A table or a figure of the report.

    Attributes
    ----------
    key : str
        Stem of its files: "means" gives `tables/means.csv` or `figures/means.pdf`, and `frames/means.csv`.
    number : str
        "Table 2" or "Figure 1".
    title : str
        What it shows, without its number and without a full stop.
    display : GT or ggplot
        The table or the figure.
    frame : DataFrame
        The frame behind it, unrounded.
    caption : str
        What a reader needs to read a figure (a table's notes are in the table).
    alt : str
        The figure in words.
    call : str
        The Python call that gives the frame.
    """

    key: str
    number: str
    title: str
    display: Any
    frame: pd.DataFrame
    caption: str = ""
    alt: str = ""
    call: str = ""

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
    """Everything the page says.

    Attributes
    ----------
    title : str
        Heading of the page.
    summary : tuple of str
        The main results in a few sentences.
    sections : tuple of Section
        Results, in order.
    methods : tuple of str
        Paragraphs of the generated Methods section.
    not_covered : tuple of (str, str, str)
        Guideline, item (number and its subject), and what an author has to add.
    warnings : tuple of str
        What the analyses warned of.
    counts : tuple of (str, str)
        What was counted (cases, patients, scores, missing scores ...), and how many.
    provenance : tuple of (str, str)
        Settings, seed, versions, SHA-256 of the input: name and value.
    """

    title: str
    summary: tuple[str, ...]
    sections: tuple[Section, ...]
    methods: tuple[str, ...]
    not_covered: tuple[tuple[str, str, str], ...]
    warnings: tuple[str, ...] = ()
    counts: tuple[tuple[str, str], ...] = ()
    provenance: tuple[tuple[str, str], ...] = field(default=())
