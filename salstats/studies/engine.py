"""One engine for the published studies: make what the data allow, compare it with print, and write it."""

import argparse
import csv
import importlib
import pkgutil
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import plotnine as p9
from great_tables import GT
from pandas.api.types import is_numeric_dtype

from salstats.checks import did_you_mean
from salstats.display.export.figure_files import FigureJobs, page_files
from salstats.display.export.table_files import save_table_as
from salstats.display.tables.great_table import great_table
from salstats.display.tables.record import Table, TableColumn
from salstats.display.text.format import count_text, fixed_text
from salstats.errors import (
    PYTHON,
    InputFileError,
    Message,
    MessagePart,
    SalstatsError,
    SalstatsWarning,
    Setting,
    Spelling,
    ValueRangeError,
    distinct_warnings,
    warn,
)
from salstats.files.frame_files import write_frame
from salstats.files.output_folder import check_output_folder, replacing_folder
from salstats.jobs import counting, with_bar
from salstats.studies.score_tables import (
    Reading,
    ReleaseReader,
    read_renames,
    read_score_columns,
    read_score_tables,
)

#: The published studies by key; each has a folder here, whose `STUDY` declares it.
KEYS = tuple(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]) if module.ispkg)
#: Replicates that an interval of their order statistics needs.
MIN_REPLICATES = 40
#: Options of the package's functions, and the option of a study that sets each.
_STUDY_OPTIONS = {"n_replicates": "replicates", "rng": "seed", "n_readers": "readers", "n_samples": "samples"}
#: Lists the files of a run; a folder without it was made by somebody else.
INDEX = "outputs.csv"
#: The warnings of a run, one a line.
WARNINGS = "warnings.txt"
#: The tracebacks of items that failed.
ERRORS = "errors.txt"
#: The printed numbers beside those of the run.
PRINTED = "printed.csv"
_SUBFOLDERS = ("frames", "tables", "figures")
_TABLE_SUFFIXES = (".html", ".tex", ".docx", ".csv")
_FIGURE_SUFFIXES = (".pdf", ".png")
_INDEX_COLUMNS = ("file", "item", "slice", "unit", "interval", "note")
#: Columns of an item's frame for what was printed of its rows, by the column that it was printed of.
PRINTED_COLUMNS = {"estimate": "printed", "conf_low": "printed_low", "conf_high": "printed_high"}
#: The column that says where the numbers of a row were printed.
PRINTED_SOURCE = "printed_source"

#: Data that an item needs, as messages name them.
Need = str | Message


@dataclass(frozen=True)
class Result:
    """A result of a study: the unrounded frame, and the table and figure that show it."""

    frame: pd.DataFrame
    table: GT | None = None
    #: A figure, where it shows more than the table.
    figure: p9.ggplot | None = None
    #: What a reader has to know about the numbers.
    note: str = ""
    #: The cases and tasks that it is of, where these are not the item's.
    slice: str | None = None
    #: The title, where it depends on the data.
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
    #: Tells whether a frame is of the study's own data.
    applies: Callable[[pd.DataFrame], bool] = lambda frame: True
    #: Returns the rows of a frame that may have been printed.
    select: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    #: Tells whether a frame is made as the printed numbers were. Where it is not, or where print was
    #: superseded, a difference is shown and is no error.
    exact: Callable[[pd.DataFrame], bool] = lambda frame: True
    #: The place where the numbers were printed, if that is not the study's article.
    source: str = ""

    def compare(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return each printed row beside that of the frame: `key, printed, found, equal, exact`.

        A value that was not printed is left out on both sides, and so is a metric that the frame does not
        have.
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
        rows = [self._compare_row(pair) for pair in pairs.to_dict("records")]
        compared = pd.DataFrame(rows, columns=["key", "printed", "found", "equal"])
        return compared.assign(exact=self.exact(frame))

    def _compare_row(self, pair: Mapping[Any, Any]) -> dict[str, object]:
        """Round the values of one printed row and of the frame's row, and compare them."""
        printed = []
        computed = []
        for value in self.values:
            if pd.notna(pair[f"{value}_printed"]):
                printed.append(rounded(pair[f"{value}_printed"], self.digits))
                computed.append(rounded(pair[value], self.digits))
        # A key that does not apply to a row stands empty or as "all": a pooled row has no task.
        key_texts = [str(pair[key]) for key in self.keys if pd.notna(pair[key]) and pair[key] != "all"]
        return {
            "key": ", ".join(key_texts),
            "printed": ", ".join(map(str, printed)),
            "found": ", ".join(map(str, computed)),
            "equal": printed == computed,
        }

    def printed_values(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return what was printed of the frame's rows, by their index, in the columns of `PRINTED_COLUMNS`.

        `printed_source` is "article", or the other place where a row was printed; it is missing for rows
        that were not printed.
        """
        keys = list(self.keys)
        frame_keys = self.select(frame)[keys]
        printed = self.rows()[[*keys, *self.values]].rename(columns=PRINTED_COLUMNS)
        numbers = frame_keys.merge(printed, on=keys, how="left", validate="m:1").drop(columns=keys)
        numbers.index = frame_keys.index
        source = pd.Series(self.source or "article", frame_keys.index)
        is_printed = numbers.notna().any(axis=1)
        return numbers.assign(**{PRINTED_SOURCE: source.where(is_printed)})


@dataclass(frozen=True)
class Item:
    """A table or figure of a study: how it is made of the data, and the data that it needs."""

    #: Name of its files.
    key: str
    #: Title; its number in the study stands before a colon.
    title: str
    #: Makes the result of the data that `OpenedStudy.load` returns.
    make: Callable[[Any], Result | None]
    #: Data without which the item cannot be made.
    needs: tuple[Need, ...] = ()
    #: Data without which a part of the item is left out.
    parts: tuple[Need, ...] = ()
    #: The cases and tasks that it is of.
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
    def name(self) -> str:
        """The number of the item in the study, or its title where it has none."""
        return self.title.partition(":")[0]


@dataclass(frozen=True)
class OpenedStudy:
    """The data of a study before anything is computed of them."""

    #: The items in the order of the study.
    items: Sequence[Item]
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


class Parser(argparse.ArgumentParser):
    """Parser of a study's options, which raises an exception where they cannot be read."""

    @property
    def options(self) -> dict[str, argparse.Action]:
        """The options of the study by their names in Python, without `--help`."""
        return {action.dest: action for action in self._actions if action.dest != "help"}

    @property
    def flags(self) -> dict[str, str]:
        """The flag of each option by its name in Python, and by its name in the package's functions."""
        flags = {action.dest: flag_of(action) for action in self._actions}
        for parameter, option in _STUDY_OPTIONS.items():
            if option in flags:
                flags[parameter] = flags[option]
        return flags

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Read the arguments; raise an error with the known options where one is unknown."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            flags = [flag_of(action) for action in self.options.values()]
            raise unknown_option(unknown[0].partition("=")[0], self.prog, flags)
        return parsed

    def error(self, message: str) -> NoReturn:
        """Raise argparse's message as an error of the package."""
        raise SalstatsError(message)


def flag_of(action: argparse.Action) -> str:
    """Return the long flag of an option."""
    return next(flag for flag in action.option_strings if flag.startswith("--"))


def unknown_option(name: str, command: str, choices: Iterable[str]) -> SalstatsError:
    """Return the error of an option that a command does not have, with those that it has."""
    choices = list(choices)
    return SalstatsError(
        f"{command} has no option {name!r} (options: {', '.join(choices)}){did_you_mean(name, choices)}",
        option=name,
        choices=choices,
    )


class ItemNotMade(SalstatsWarning):
    """A result that the data do not allow; the others are made.

    Parameters
    ----------
    item : str
        Name of the result.
    reason : str or Message
        Why it is not made.
    """

    def __init__(self, item: str, reason: MessagePart) -> None:
        super().__init__(f"{item}: not made, ", reason)
        self.item = item


class ItemFailed(SalstatsWarning):
    """A result that an error of the program stopped; the others are made.

    Parameters
    ----------
    item : str
        Name of the result.
    error : Exception
        The error, with its traceback.
    """

    def __init__(self, item: str, error: Exception) -> None:
        super().__init__(f"{item}: failed, {type(error).__name__}: {error}")
        self.item = item
        self.error = error


#: Content below a heading of a table: a column, a column and its decimals, or a function of the row.
Cell = str | tuple[str, int] | Callable[[Any], str]


def table_of(
    rows: pd.DataFrame,
    table_id: str,
    stub: Mapping[str, Cell],
    columns: Mapping[Any, Cell],
    *,
    groups: Cell | None = None,
    notes: Sequence[str] = (),
    **options: Any,
) -> GT:
    """Make a table with a row for each row of a frame.

    Parameters
    ----------
    rows : DataFrame
        Rows of the table.
    table_id : str
        Identifier of the table in HTML.
    stub : mapping of str to Cell
        Row labels by their heading.
    columns : mapping of str or TableColumn to Cell
        Cells by their heading. Text of a column of the frame is aligned to the left, its numbers to the
        right.
    groups : Cell, optional
        Heading above consecutive rows.
    notes : sequence of str
        Notes below the table.
    **options
        Fields of `Table`.
    """
    labels = []
    cells = []
    group_names = []
    for row in rows.itertuples(index=False):
        labels.append(tuple(_cell_text(cell, row) for cell in stub.values()))
        cells.append([_cell_text(cell, row) for cell in columns.values()])
        if groups is not None:
            group_names.append(_cell_text(groups, row))
    headings = [_heading(heading, cell, rows) for heading, cell in columns.items()]
    table = Table(tuple(stub), labels, headings, cells, groups=group_names, notes=notes, **options)
    return great_table(table, table_id)


def _cell_text(cell: Cell, row: Any) -> str:
    """Return the text of a cell of a row."""
    if callable(cell):
        return cell(row)
    if isinstance(cell, tuple):
        name, decimals = cell
        return fixed_text(getattr(row, name), decimals)
    value = getattr(row, cell)
    if isinstance(value, str):
        return value
    return count_text(value)


def _heading(heading: str | TableColumn, cell: Cell, rows: pd.DataFrame) -> TableColumn:
    """Return a heading as a column; a column of the frame is aligned by its type."""
    if isinstance(heading, TableColumn):
        return heading
    if not isinstance(cell, str):
        return TableColumn(heading)
    if is_numeric_dtype(rows[cell]):
        return TableColumn(heading, align="right")
    return TableColumn(heading, align="left")


def study(key: str) -> PublishedStudy:
    """Return the declaration of a study."""
    declaration: PublishedStudy = importlib.import_module(f"salstats.studies.{key}").STUDY
    return declaration


def parser_of(declaration: PublishedStudy, *, output: bool = True) -> Parser:
    """Make the parser of a study's options and of those that all studies have.

    Without `output` there are no options for the folder to write.
    """
    parser = Parser(
        prog=f"salstats reproduce {declaration.key}",
        description=f"{declaration.source}\n\n{declaration.description}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        # `--replicate 3` of a misspelt option must not become another one
        allow_abbrev=False,
    )
    declaration.add_options(parser)
    if declaration.open_scores is not None:
        _add_score_tables(parser, declaration.key)
    if output:
        folder = Path(f"salstats-{declaration.key}")
        parser.add_argument(
            "-o", "--output", type=Path, default=folder, metavar="OUT", help=f"folder to make ({folder})"
        )
        parser.add_argument("--overwrite", action="store_true", help="replace what an earlier run made")
    parser.add_argument(
        "--as-published",
        action="store_true",
        help="inference as the study's own scripts have it, where ours differs",
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes; -1 for one per core (1)")
    return parser


def _add_score_tables(parser: Parser, key: str) -> None:
    """Add the options for tables of scores, which stand in the place of a folder."""
    group = parser.add_argument_group(
        "scores that are there already (CSV, TSV, Parquet, XLSX)",
        f"Example: salstats reproduce {key} --scores scores.csv --features features.csv "
        "--rename img_id=case -o out",
    )
    group.add_argument(
        "--scores",
        type=Path,
        action="append",
        metavar="FILE",
        help="columns case, method, metric, score and what the study needs; in the place of --data; may be "
        "repeated",
    )
    group.add_argument(
        "--features",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="columns to add to the scores by case and task: size, shape, prob, label; may be repeated",
    )
    group.add_argument(
        "--rename",
        type=read_renames,
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="the file's column and ours, as img_id=case; may be repeated",
    )
    group.add_argument(
        "--score",
        type=read_score_columns,
        action="append",
        default=[],
        metavar="COLUMN=METHOD:METRIC",
        help="for a file with a column for each score, as human_iou=human:iou; may be repeated",
    )
    group.add_argument("--scale", type=float, metavar="N", help="multiply scores: 0.01 for percentages")
    group.add_argument("--sep", metavar="SIGN", help="what separates cells of a text file (a comma)")
    group.add_argument("--decimal", default=".", metavar="SIGN", help="decimal mark of a text file (.)")


def open_study(declaration: PublishedStudy, options: argparse.Namespace) -> OpenedStudy:
    """Read the tables of scores if there are any, else find the data that the study's options name."""
    if options.jobs < -1 or options.jobs == 0:
        raise ValueRangeError(
            Setting("jobs"),
            f" must be a whole number from 1 up, or -1, not {options.jobs}",
            value=options.jobs,
        )
    if declaration.open_scores is None:
        return declaration.open(options)
    if options.scores is None:
        for name in ("features", "rename", "score", "scale", "sep"):
            if getattr(options, name):
                raise SalstatsError(Setting(name), " belongs to ", Setting("scores"))
        return declaration.open(options)
    if getattr(options, "data", None) is not None:
        raise SalstatsError(
            Setting("data"),
            " is scored here, ",
            Setting("scores"),
            " are scores already",
            hint="name one of them",
        )
    scores = read_score_tables(
        options.scores,
        options.features,
        reading=Reading.of(options),
        read_release=declaration.read_release,
        by_slice=declaration.slices,
    )
    return declaration.open_scores(scores, options)


def reproduce(key: str, arguments: Sequence[str], spelling: Spelling = PYTHON) -> int:
    """Make every result of a study that the data allow, and write them to a folder.

    Parameters
    ----------
    key : str
        Name of the study.
    arguments : sequence of str
        Arguments of the command.
    spelling : Spelling
        How messages write options.

    Returns
    -------
    int
        1 where a printed number differs or an item failed by an error of the program, else 0.

    Raises
    ------
    SalstatsError, OSError
        The input cannot be used; then the output is as it was.
    """
    declaration = study(key)
    options = parser_of(declaration).parse_args(arguments)
    folder = check_items_folder(options.output, overwrite=options.overwrite)
    compared: list[pd.DataFrame] = []
    results: list[tuple[Item, Result]] = []
    with warnings.catch_warnings(record=True) as caught, FigureJobs(options.jobs) as figures:
        warnings.simplefilter("always", SalstatsWarning)
        with counting(None, "Reading", progress=True):
            opened = open_study(declaration, options)
        for message in missing(opened.items, opened.available):
            print(message.spelled(spelling), flush=True)
            warn(message)
        with counting(None, "Computing", progress=True):
            data = opened.load()
        with counting(len(opened.items), "Tables", progress=True) as count:
            for result in make_items(opened.items, opened.available, data, compared):
                results.append(result)
                count(1)
        if not results:
            raise nothing_made(record.message for record in caught)
        with counting(None, "Writing", progress=True):
            _write_all(results, compared, folder, caught, figures, spelling)
    messages = [record.message for record in caught]
    _print_each([message for message in messages if isinstance(message, ItemNotMade)], spelling)
    print(f"{len(results)} items in {folder}; {INDEX} lists their files.")
    if (folder / WARNINGS).is_file():
        print(f"Warnings stand in {WARNINGS}.")
    all_equal = _print_comparison(compared)
    failures = [message for message in messages if isinstance(message, ItemFailed)]
    _print_each(failures, spelling, file=sys.stderr)
    if failures or not all_equal:
        return 1
    return 0


def _print_each(problems: Iterable[SalstatsWarning], spelling: Spelling, **options: Any) -> None:
    """Print the text of each warning once."""
    for text in dict.fromkeys(problem.message.spelled(spelling) for problem in problems):
        print(text, **options)


def nothing_made(problems: Iterable[Warning | str]) -> SalstatsError:
    """Return the error of a run that made nothing, with the reason of each item."""
    first_by_text: dict[str, ItemNotMade | ItemFailed] = {}
    for problem in problems:
        if isinstance(problem, ItemNotMade | ItemFailed):
            first_by_text.setdefault(str(problem), problem)
    reasons = Message()
    for reason in first_by_text.values():
        if reasons:
            reasons += "; "
        reasons += reason.message
    error = SalstatsError(reasons or "no result can be made of these data")
    failures = [reason for reason in first_by_text.values() if isinstance(reason, ItemFailed)]
    if failures:
        error.__cause__ = failures[0].error
    return error


def missing(items: Iterable[Item], available: Collection[Need]) -> list[Message]:
    """Return a message for each need that is not met, with the items that are not made or not whole."""
    items_by_need: dict[tuple[str, tuple[Need, ...]], list[str]] = {}
    for item in items:
        unmet_needs = tuple(need for need in item.needs if need not in available)
        if unmet_needs:
            items_by_need.setdefault(("not made", unmet_needs), []).append(item.name)
            continue
        for part in item.parts:
            if part not in available:
                items_by_need.setdefault(("made in part", (part,)), []).append(item.name)
    messages = []
    for (consequence, needs), names in items_by_need.items():
        message = Message(f"{'; '.join(names)}: {consequence}, needs ", needs[0])
        for need in needs[1:]:
            message += " and "
            message += need
        messages.append(message)
    return messages


def make_items(
    items: Iterable[Item], available: Collection[Need], data: Any, compared: list[pd.DataFrame] | None = None
) -> Iterator[tuple[Item, Result]]:
    """Yield the items whose needs are met, and warn of those that cannot be made or that fail.

    Comparisons with the printed numbers are added to `compared`.
    """
    for item in items:
        if not set(item.needs) <= set(available):
            continue
        result = None
        with if_possible(item.name):
            result = item.make(data)
        if result is None:
            continue
        with if_possible(f"{item.name} beside the printed numbers"):
            if compared is not None:
                compared += _comparisons(item, result.frame)
            result = replace(result, frame=_with_printed(item, result.frame))
        yield item, replace(result, title=result.title or item.title, slice=result.slice or item.slice)


def _comparisons(item: Item, frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Compare an item's frame with what was printed of the same data, a frame for each place of print."""
    comparisons = []
    for printed in item.printings:
        if printed.applies(frame):
            name = item.name
            if printed.source:
                name = f"{item.name} ({printed.source})"
            comparisons.append(printed.compare(frame).assign(item=name))
    return comparisons


def _with_printed(item: Item, frame: pd.DataFrame) -> pd.DataFrame:
    """Put beside the rows of an item's frame what was printed of them, the article before other places.

    All numbers of a row are from one place.
    """
    numbers = pd.DataFrame(index=frame.index)
    for printed in item.printings:
        if printed.applies(frame):
            further = printed.printed_values(frame).dropna(subset=PRINTED_SOURCE)
            filled_rows = numbers.dropna(how="all").index
            numbers = numbers.combine_first(further.drop(index=filled_rows, errors="ignore"))
    columns = [name for name in (*PRINTED_COLUMNS.values(), PRINTED_SOURCE) if name in numbers]
    return frame.join(numbers[columns])


@contextmanager
def if_possible(name: str) -> Iterator[None]:
    """Turn an error into a warning, so that the other results are made.

    An error of the package becomes an `ItemNotMade`, any other an `ItemFailed`.
    """
    try:
        yield
    except SalstatsError as error:
        warn(ItemNotMade(name, error.message))
    except Exception as error:
        warn(ItemFailed(name, error))


def rounded(value: float, digits: int) -> Decimal:
    """Round a number to some decimals, half away from zero, as spreadsheets do."""
    if value != value:
        return Decimal("nan")
    return Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def check_items_folder(folder: Path, *, overwrite: bool) -> Path:
    """Check that the folder to write is new, empty, or what an earlier run made and nothing else."""
    return check_output_folder(
        folder, written_files=_listed_files, subfolders=_SUBFOLDERS, overwrite=overwrite
    )


def _listed_files(folder: Path) -> set[str]:
    """Return the files that an earlier run lists in its index."""
    try:
        with (folder / INDEX).open(encoding="utf-8", newline="") as file:
            listed = {row["file"] for row in csv.DictReader(file)}
    except (OSError, ValueError, KeyError):
        return set()
    return {INDEX, WARNINGS, ERRORS, PRINTED, *listed}


def printed_rows(compared: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put the printed rows of all items below each other: `item, key, printed, found, equal`."""
    return pd.concat(compared, ignore_index=True)[["item", "key", "printed", "found", "equal"]]


def _print_comparison(compared: Sequence[pd.DataFrame]) -> bool:
    """Print how many printed rows are equal and which differ; return True unless one should be equal."""
    if not compared:
        return True
    rows = pd.concat(compared, ignore_index=True)
    is_wrong = rows["exact"] & ~rows["equal"]
    for row in rows[is_wrong].itertuples():
        print(f"{row.item}, {row.key}: printed {row.printed}, but here {row.found}", file=sys.stderr)
    print(f"{int(rows['equal'].sum())} of {len(rows)} printed rows are equal, to the printed digit.")
    n_inexact = int((~rows["exact"] & ~rows["equal"]).sum())
    if n_inexact:
        print(
            f"{n_inexact} printed rows are of another choice or superseded, and differ; {PRINTED} has them "
            "beside what is found here."
        )
    return not is_wrong.any()


def _write_all(
    results: Sequence[tuple[Item, Result]],
    compared: Sequence[pd.DataFrame],
    folder: Path,
    caught: Sequence[warnings.WarningMessage],
    figures: FigureJobs,
    spelling: Spelling,
) -> None:
    """Write every result, the index, the comparison with print, and the warnings.

    The folder is whole or not there. An item that cannot be written costs its files alone; its warning is
    added to `caught`, which records the warnings of the run.
    """
    with replacing_folder(folder, lambda: check_items_folder(folder, overwrite=True)) as new_folder:
        for name in _SUBFOLDERS:
            (new_folder / name).mkdir(parents=True)
        index = []
        for item, result in with_bar(
            results, len(results), "Writing", progress=True, sizes=[1] * len(results)
        ):
            index += _write(item, result, new_folder, figures)
        item_names = {row["file"]: row["item"].partition(":")[0] for row in index}

        def warn_not_drawn(files: Sequence[Path], error: Exception) -> None:
            name = item_names[files[0].relative_to(new_folder.absolute()).as_posix()]
            warn(ItemFailed(f"{name}, its figure", error))

        drawing_warnings = figures.finish(on_error=warn_not_drawn)
        index = [row for row in index if (new_folder / row["file"]).is_file()]
        if compared:
            write_frame(printed_rows(compared), new_folder / PRINTED)
        texts = [warning.message.spelled(spelling) for warning in distinct_warnings(caught).values()]
        lines = dict.fromkeys([*texts, *drawing_warnings])
        if lines:
            (new_folder / WARNINGS).write_text("\n".join(lines) + "\n", encoding="utf-8")
        tracebacks = [_traceback(w.message) for w in caught if isinstance(w.message, ItemFailed)]
        if tracebacks:
            (new_folder / ERRORS).write_text("\n".join(tracebacks), encoding="utf-8")
        write_frame(pd.DataFrame(index, columns=list(_INDEX_COLUMNS)), new_folder / INDEX)


def _traceback(failure: ItemFailed) -> str:
    """Return the traceback of an item that failed, under its name."""
    return f"{failure.item}\n{''.join(traceback.format_exception(failure.error))}"


@contextmanager
def _if_writable(name: str) -> Iterator[None]:
    """Warn where a result cannot be shown, and go on; an error of the file system stops the run."""
    try:
        yield
    except (OSError, InputFileError):
        raise
    except Exception as error:
        warn(ItemFailed(name, error))


def _write(item: Item, result: Result, folder: Path, figures: FigureJobs) -> list[dict[str, str]]:
    """Write one result; return its rows of the index, without what could not be written."""
    note = result.note.rstrip(".")
    files = []
    with _if_writable(f"{item.name}, its frame"):
        files.append(write_frame(result.frame, folder / "frames" / f"{item.key}.csv"))
    if result.figure is not None:
        with _if_writable(f"{item.name}, its figure"):
            first_file = folder / "figures" / f"{item.key}{_FIGURE_SUFFIXES[0]}"
            # each page of a figure has files of its own
            for page, file in page_files(result.figure, first_file):
                page_targets = [file.with_suffix(suffix) for suffix in _FIGURE_SUFFIXES]
                figures.add(page, page_targets)
                files += page_targets
    if result.table is not None:
        with _if_writable(f"{item.name}, its table"):
            table_targets = [folder / "tables" / f"{item.key}{suffix}" for suffix in _TABLE_SUFFIXES]
            table = result.table.tab_header(result.title or "")
            if note:
                table = table.tab_source_note(_as_sentence(note))
            save_table_as(table, table_targets)
            files += table_targets
    facts = {
        "item": result.title or "",
        "slice": result.slice or "",
        "unit": _distinct_values(result.frame, "unit"),
        "interval": _distinct_values(result.frame, "interval"),
        "note": note,
    }
    return [{"file": file.relative_to(folder).as_posix(), **facts} for file in files]


def _as_sentence(note: str) -> str:
    """Write a note with a capital and a full stop; a symbol that it begins with, as n, stays as it is."""
    first_word = note.split(maxsplit=1)[0]
    if len(first_word) == 1:
        return f"{note}."
    return f"{note[0].upper()}{note[1:]}."


def _distinct_values(frame: pd.DataFrame, column: str) -> str:
    """Join the distinct values of a column; empty where the frame does not have it."""
    if column not in frame:
        return ""
    return ", ".join(frame[column].dropna().astype("str").unique())
