"""One engine for the published studies: what the data allow is made, compared with print, and written."""

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
from salstats.display.tables.record import Column, Table
from salstats.display.text.format import count_text, fixed_text
from salstats.errors import InputFileError, SalstatsError, SalstatsWarning, distinct_warnings, warn
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
KEYS = tuple(each.name for each in pkgutil.iter_modules([str(Path(__file__).parent)]) if each.ispkg)
#: Replicates that an interval of their order statistics needs.
FEWEST_REPLICATES = 40
#: Options that functions call otherwise.
_CALLED = {"n_replicates": "replicates", "rng": "seed", "n_readers": "readers", "n_samples": "samples"}
#: Lists the files; a folder without it is somebody else's.
INDEX = "outputs.csv"
#: What was warned of, the tracebacks of items that failed, and printed numbers beside those found.
WARNINGS, ERRORS, PRINTED = "warnings.txt", "errors.txt", "printed.csv"
_SUBFOLDERS = ("frames", "tables", "figures")
_TABLES, _FIGURES = (".html", ".tex", ".docx", ".csv"), (".pdf", ".png")
_COLUMNS = ("file", "item", "slice", "unit", "interval", "note")
#: Columns of an item's frame for what was printed of its rows, by the column that it was printed of.
PRINTED_COLUMNS = {"estimate": "printed", "conf_low": "printed_low", "conf_high": "printed_high"}
#: Where the numbers of a row were printed.
PRINTED_SOURCE = "printed_source"


@dataclass(frozen=True)
class Result:
    """A result: the unrounded frame, and what shows it."""

    frame: pd.DataFrame
    table: GT | None = None
    #: Where one shows more than the table.
    figure: p9.ggplot | None = None
    #: What has to be known to read it.
    note: str = ""
    #: Which cases and tasks, where that is not the item's.
    slice: str | None = None
    #: What it is called, where the data decide.
    title: str | None = None


@dataclass(frozen=True)
class PrintedNumbers:
    """Numbers of `data/published` that an item's frame has to give, to the printed digit."""

    #: The printed rows, with the key columns and the values of the frame.
    rows: Callable[[], pd.DataFrame]
    #: Columns of both.
    keys: tuple[str, ...]
    values: tuple[str, ...] = ("estimate", "conf_low", "conf_high")
    #: Decimals of the printed values.
    digits: int = 3
    #: Takes the frame; whether it is of the study's own data.
    applies: Callable[[pd.DataFrame], bool] = lambda frame: True
    #: Takes the frame; returns the rows of it that may have been printed.
    select: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame
    #: Takes the frame; whether it is made as the printed numbers were. Where it is not, or where print was
    #: superseded, a difference is shown and is no error.
    exact: Callable[[pd.DataFrame], bool] = lambda frame: True
    #: Where it was printed, where that is not the study's article.
    source: str = ""

    def beside(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Put beside each printed row what the frame has: `key, printed, found, equal, exact`.

        A value that was not printed is left out of both, and so is a metric that the frame does not have.
        """
        keys, values = list(self.keys), list(self.values)
        printed_rows, made = self.rows()[[*keys, *values]], self.select(frame)[[*keys, *values]]
        if "metric" in keys:
            printed_rows = printed_rows[printed_rows["metric"].isin(made["metric"])]
        both = printed_rows.merge(
            made,
            on=keys,
            how="left",
            validate="1:1",
            suffixes=("_printed", ""),
        )
        rows = []
        for row in both.to_dict("records"):
            printed, found = [], []
            for value in values:
                if pd.notna(row[f"{value}_printed"]):
                    printed.append(rounded(row[f"{value}_printed"], self.digits))
                    found.append(rounded(row[value], self.digits))
            # a key that a row has not, as a pooled row has no task, stands empty or as "all"
            named = [str(row[key]) for key in keys if pd.notna(row[key]) and row[key] != "all"]
            rows.append(
                {
                    "key": ", ".join(named),
                    "printed": ", ".join(map(str, printed)),
                    "found": ", ".join(map(str, found)),
                    "equal": printed == found,
                }
            )
        compared = pd.DataFrame(rows, columns=["key", "printed", "found", "equal"])
        return compared.assign(exact=self.exact(frame))

    def numbers_of(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return what was printed of the frame's rows, by their index, in the columns of `PRINTED_COLUMNS`.

        `printed_source` is "article", or where else a row was printed; missing where it was not.
        """
        keys, values = list(self.keys), list(self.values)
        rows = self.select(frame)[keys]
        printed = self.rows()[[*keys, *values]].rename(columns=PRINTED_COLUMNS)
        numbers = rows.merge(printed, on=keys, how="left", validate="m:1").drop(columns=keys)
        numbers.index = rows.index
        source = pd.Series(self.source or "article", rows.index)
        return numbers.assign(**{PRINTED_SOURCE: source.where(numbers.notna().any(axis=1))})


@dataclass(frozen=True)
class Item:
    """A table or figure of a study: how it is made of the data, and what has to be there for it."""

    #: Name of its files.
    key: str
    #: What it is; up to a colon its number in the study.
    title: str
    #: Takes the data that `OpenedStudy.load` returns.
    make: Callable[[Any], Result | None]
    #: All of them have to be there.
    needs: tuple[str, ...] = ()
    #: What parts of it need.
    parts: tuple[str, ...] = ()
    #: Which cases and tasks.
    slice: str = "true-positive"
    #: What the study printed, in one place or in several.
    printed: PrintedNumbers | Sequence[PrintedNumbers] | None = None

    @property
    def prints(self) -> Sequence[PrintedNumbers]:
        """The printed numbers as a list."""
        if self.printed is None:
            return ()
        return (self.printed,) if isinstance(self.printed, PrintedNumbers) else self.printed

    @property
    def name(self) -> str:
        """Its number in the study, or what it is."""
        return self.title.partition(":")[0]


@dataclass(frozen=True)
class OpenedStudy:
    """The data of a study, found and not yet computed on."""

    #: In the order of the study.
    items: Sequence[Item]
    #: Which needs are met.
    available: frozenset[str]
    #: The long work: returns what the items are made of.
    load: Callable[[], Any]


@dataclass(frozen=True)
class PublishedStudy:
    """A published study."""

    #: Its name here, and the paper.
    key: str
    source: str
    #: What `--help` says.
    about: str
    #: Adds the study's options to a parser.
    add_options: Callable[["Parser"], None]
    #: Takes the options given and finds the data.
    open: Callable[[argparse.Namespace], OpenedStudy]
    #: Takes a scores frame in the place of a folder, and the options given.
    open_scores: Callable[[pd.DataFrame, argparse.Namespace], OpenedStudy] | None = None
    #: Reads a table in the columns of the study's own release.
    read_release: ReleaseReader | None = None
    #: Whether scores may be of several slices, which a column `slice` tells apart.
    slices: bool = False


class Parser(argparse.ArgumentParser):
    """The options of a study; what is wrong with those given is an exception."""

    @property
    def options(self) -> dict[str, argparse.Action]:
        """Each option that takes part in a study by its name in Python; not `--help`."""
        return {action.dest: action for action in self._actions if action.dest != "help"}

    @property
    def flags(self) -> dict[str, str]:
        """The flag of each option by its name in Python, and in the functions that it is given to."""
        own = {action.dest: flag_of(action) for action in self._actions}
        called = {name: own[dest] for name, dest in _CALLED.items() if dest in own}
        return own | called

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Read the options given; one that the study does not have is an error that lists those it has."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            flags = [flag_of(action) for action in self.options.values()]
            raise SalstatsError(no_such_option(unknown[0].partition("=")[0], self.prog, flags))
        return parsed

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong."""
        raise SalstatsError(message)


def flag_of(action: argparse.Action) -> str:
    """The long flag of an option."""
    return next(flag for flag in action.option_strings if flag.startswith("--"))


def no_such_option(name: str, command: str, known: Iterable[str]) -> str:
    """Say that a command has no option of a name, and which it has."""
    options = list(known)
    return f"{command} has no option {name!r} (options: {', '.join(options)}){did_you_mean(name, options)}"


class ItemNotMade(SalstatsWarning):
    """A result that the data do not allow; the others are made."""


class ItemFailed(ItemNotMade):
    """A result that an error of the program stopped; the others are made.

    `item` is the result's name, `error` the exception.
    """

    def __init__(self, item: str, error: Exception) -> None:
        super().__init__(f"{item}: failed, {type(error).__name__}: {error}")
        self.item = item
        self.error = error


#: What stands below a heading: a column, a column and its decimals, or what a function makes of the row.
Cell = str | tuple[str, int] | Callable[[Any], str]


def table_of(
    rows: pd.DataFrame,
    table_id: str,
    stub: Mapping[str, Cell],
    columns: Mapping[Any, Cell],
    *,
    groups: Cell | None = None,
    notes: Sequence[str] = (),
    **more: Any,
) -> GT:
    """A table with a row for each of a frame: what stands below each heading, of the labels and of the cells.

    A heading is text, or a Column. Of a column of the frame text stands as it is, whole numbers to the right.
    """
    labels, cells, group_names = [], [], []
    for row in rows.itertuples(index=False):
        labels.append(tuple(_cell_text(cell, row) for cell in stub.values()))
        cells.append([_cell_text(cell, row) for cell in columns.values()])
        if groups is not None:
            group_names.append(_cell_text(groups, row))
    headings = [_heading(heading, cell, rows) for heading, cell in columns.items()]
    table = Table(tuple(stub), labels, headings, cells, groups=group_names, notes=notes, **more)
    return great_table(table, table_id)


def _cell_text(cell: Cell, row: Any) -> str:
    """What stands in a cell of a row."""
    if callable(cell):
        return cell(row)
    if isinstance(cell, tuple):
        name, decimals = cell
        return fixed_text(getattr(row, name), decimals)
    value = getattr(row, cell)
    return value if isinstance(value, str) else count_text(value)


def _heading(heading: str | Column, cell: Cell, rows: pd.DataFrame) -> Column:
    """The column of a heading; numbers of the frame stand to the right."""
    if isinstance(heading, Column):
        return heading
    if not isinstance(cell, str):
        return Column(heading)
    return Column(heading, align="right" if is_numeric_dtype(rows[cell]) else "left")


def study(key: str) -> PublishedStudy:
    """The declaration of a study."""
    found: PublishedStudy = importlib.import_module(f"salstats.studies.{key}").STUDY
    return found


def parser_of(declared: PublishedStudy, *, output: bool = True) -> Parser:
    """Make the parser of a study's options: its own, those of all, and with `output` where to write."""
    parser = Parser(
        prog=f"salstats reproduce {declared.key}",
        description=f"{declared.source}\n\n{declared.about}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        # `--replicate 3` of a misspelt option must not become another one
        allow_abbrev=False,
    )
    declared.add_options(parser)
    if declared.open_scores is not None:
        _add_score_tables(parser, declared.key)
    if output:
        folder = Path(f"salstats-{declared.key}")
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
    """Add the tables of scores that stand in the place of a folder."""
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


def open_study(declared: PublishedStudy, options: argparse.Namespace) -> OpenedStudy:
    """Read the tables of `--scores` where it names some, else find the data that the study's options name."""
    if options.jobs < -1 or options.jobs == 0:
        raise SalstatsError(f"--jobs must be a whole number from 1 up, or -1, not {options.jobs}")
    if declared.open_scores is None:
        return declared.open(options)
    if options.scores is None:
        for name in ("features", "rename", "score", "scale", "sep"):
            if getattr(options, name):
                raise SalstatsError(f"--{name} belongs to --scores")
        return declared.open(options)
    if getattr(options, "data", None) is not None:
        raise SalstatsError("--data is scored here, --scores are scores already; name one of them")
    scores = read_score_tables(
        options.scores,
        options.features,
        reading=Reading.of(options),
        read_release=declared.read_release,
        by_slice=declared.slices,
    )
    return declared.open_scores(scores, options)


def reproduce(key: str, arguments: Sequence[str]) -> int:
    """Make every result of a study that the data allow.

    Returns 1 where a printed number differs or an item failed by an error of the program, else 0. Raises
    SalstatsError or OSError where the input cannot be used; then the output is as it was.
    """
    declared = study(key)
    options = parser_of(declared).parse_args(arguments)
    folder = check_items_folder(options.output, overwrite=options.overwrite)
    compared: list[pd.DataFrame] = []
    results: list[tuple[Item, Result]] = []
    with warnings.catch_warnings(record=True) as caught, FigureJobs(options.jobs) as figures:
        warnings.simplefilter("always", SalstatsWarning)
        with counting(None, "Reading", progress=True):
            opened = open_study(declared, options)
        for sentence in missing(opened.items, opened.available):
            print(sentence, flush=True)
            warn(sentence)
        with counting(None, "Computing", progress=True):
            data = opened.load()
        with counting(len(opened.items), "Tables", progress=True) as count:
            for result in make_items(opened.items, opened.available, data, compared):
                results.append(result)
                count(1)
        if not results:
            raise nothing_made([w.message for w in caught])
        with counting(None, "Writing", progress=True):
            _write_all(results, compared, folder, caught, figures)
    failed = [w.message for w in caught if isinstance(w.message, ItemFailed)]
    not_made = [w.message for w in caught if isinstance(w.message, ItemNotMade) and w.message not in failed]
    for sentence in dict.fromkeys(map(str, not_made)):
        print(sentence)
    print(f"{len(results)} items in {folder}; {INDEX} lists their files.")
    if (folder / WARNINGS).is_file():
        print(f"Warnings stand in {WARNINGS}.")
    all_equal = _say_printed(compared)
    for sentence in dict.fromkeys(map(str, failed)):
        print(sentence, file=sys.stderr)
    return 0 if all_equal and not failed else 1


def nothing_made(warned: Iterable[Warning | str]) -> SalstatsError:
    """Return the error of a run that made nothing, with the reason of each item."""
    reasons = [reason for reason in warned if isinstance(reason, ItemNotMade)]
    sentences = dict.fromkeys(map(str, reasons))
    error = SalstatsError("; ".join(sentences) or "no result can be made of these data")
    error.__cause__ = next((reason.error for reason in reasons if isinstance(reason, ItemFailed)), None)
    return error


def missing(items: Iterable[Item], there: Collection[str]) -> list[str]:
    """A sentence for each need that is not met, which names the results that are not made, or not whole."""
    by_need: dict[tuple[str, str], list[str]] = {}
    for item in items:
        lacks = [need for need in item.needs if need not in there]
        if lacks:
            by_need.setdefault(("not made", " and ".join(lacks)), []).append(item.name)
        else:
            for part in item.parts:
                if part not in there:
                    by_need.setdefault(("made in part", part), []).append(item.name)
    return [f"{'; '.join(names)}: {what}, needs {need}" for (what, need), names in by_need.items()]


def make_items(
    items: Iterable[Item], there: Collection[str], data: Any, compared: list[pd.DataFrame] | None = None
) -> Iterator[tuple[Item, Result]]:
    """Yield the items whose needs are met; one that the data do not allow, or that fails, is warned of."""
    for item in items:
        if not set(item.needs) <= set(there):
            continue
        made = None
        with if_possible(item.name):
            made = item.make(data)
        if made is None:
            continue
        with if_possible(f"{item.name} beside the printed numbers"):
            if compared is not None:
                compared += _compared(item, made.frame)
            made = replace(made, frame=_with_printed(item, made.frame))
        yield item, replace(made, title=made.title or item.title, slice=made.slice or item.slice)


def _compared(item: Item, frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Compare an item's frame with what was printed of the same data."""
    found = []
    for printed in item.prints:
        if printed.applies(frame):
            name = f"{item.name} ({printed.source})" if printed.source else item.name
            found.append(printed.beside(frame).assign(item=name))
    return found


def _with_printed(item: Item, frame: pd.DataFrame) -> pd.DataFrame:
    """Put beside the rows of an item's frame what was printed of them, the article before other places.

    All numbers of a row are from one place.
    """
    numbers = pd.DataFrame(index=frame.index)
    for printed in item.prints:
        if printed.applies(frame):
            of_place = printed.numbers_of(frame).dropna(subset=PRINTED_SOURCE)
            known_rows = numbers.dropna(how="all").index
            numbers = numbers.combine_first(of_place.drop(index=known_rows, errors="ignore"))
    columns = [name for name in (*PRINTED_COLUMNS.values(), PRINTED_SOURCE) if name in numbers]
    return frame.join(numbers[columns])


def not_made(name: str, reason: str) -> None:
    """Warn that a result is not made, and why; `reproduce` prints it too."""
    warn(ItemNotMade(f"{name}: not made, {reason}"))


@contextmanager
def if_possible(name: str) -> Iterator[None]:
    """Go on where a result cannot be made, with a warning that names it and its error.

    What the data do not allow is an `ItemNotMade`, any other error an `ItemFailed`.
    """
    try:
        yield
    except SalstatsError as error:
        not_made(name, str(error))
    except Exception as error:
        warn(ItemFailed(name, error))


def rounded(value: float, digits: int) -> Decimal:
    """A number with so many decimals, half away from zero, as spreadsheets round."""
    if value != value:
        return Decimal("nan")
    return Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def check_items_folder(folder: Path, *, overwrite: bool) -> Path:
    """The folder to write, which is new, empty, or what an earlier run made and nothing else."""
    return check_output_folder(folder, written_files=_written, subfolders=_SUBFOLDERS, overwrite=overwrite)


def _written(folder: Path) -> set[str]:
    """The files that an earlier run lists in its index."""
    try:
        with (folder / INDEX).open(encoding="utf-8", newline="") as file:
            listed = {row["file"] for row in csv.DictReader(file)}
    except (OSError, ValueError, KeyError):
        return set()
    return {INDEX, WARNINGS, ERRORS, PRINTED, *listed}


def printed_rows(compared: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put the printed rows of all items below each other: `item, key, printed, found, equal`."""
    return pd.concat(compared, ignore_index=True)[["item", "key", "printed", "found", "equal"]]


def _say_printed(compared: Sequence[pd.DataFrame]) -> bool:
    """Say how many printed rows are equal, name those that should be and differ; return whether none does."""
    if not compared:
        return True
    rows = pd.concat(compared, ignore_index=True)
    wrong = rows[rows["exact"] & ~rows["equal"]]
    for row in wrong.itertuples():
        print(f"{row.item}, {row.key}: printed {row.printed}, but here {row.found}", file=sys.stderr)
    print(f"{int(rows['equal'].sum())} of {len(rows)} printed rows are equal, to the printed digit.")
    n_other = int((~rows["exact"] & ~rows["equal"]).sum())
    if n_other:
        print(
            f"{n_other} printed rows are of another choice or superseded, and differ; {PRINTED} has them "
            "beside what is found here."
        )
    return wrong.empty


def _write_all(
    results: Sequence[tuple[Item, Result]],
    compared: Sequence[pd.DataFrame],
    folder: Path,
    caught: Sequence[warnings.WarningMessage],
    figures: FigureJobs,
) -> None:
    """Write every result, the index, what was printed and warned of; the folder is whole or not there.

    An item that cannot be written is warned of, which `caught` then holds too, and costs its files alone.
    """
    with replacing_folder(folder, lambda: check_items_folder(folder, overwrite=True)) as made:
        for name in _SUBFOLDERS:
            (made / name).mkdir(parents=True)
        each = with_bar(results, len(results), "Writing", progress=True, sizes=[1] * len(results))
        index = []
        for item, result in each:
            index += _write(item, result, made, figures)
        item_of = {row["file"]: row["item"].partition(":")[0] for row in index}

        def not_drawn(files: Sequence[Path], error: Exception) -> None:
            name = item_of[files[0].relative_to(made.absolute()).as_posix()]
            warn(ItemFailed(f"{name}, its figure", error))

        drawing = figures.finish(on_error=not_drawn)
        index = [row for row in index if (made / row["file"]).is_file()]
        if compared:
            write_frame(printed_rows(compared), made / PRINTED)
        messages = [w.message for w in caught if issubclass(w.category, SalstatsWarning)]
        sentences = dict.fromkeys([*map(str, distinct_warnings(caught).values()), *drawing])
        if sentences:
            (made / WARNINGS).write_text("\n".join(sentences) + "\n", encoding="utf-8")
        failed = [message for message in messages if isinstance(message, ItemFailed)]
        if failed:
            (made / ERRORS).write_text("\n".join(map(_traceback, failed)), encoding="utf-8")
        write_frame(pd.DataFrame(index, columns=list(_COLUMNS)), made / INDEX)


def _traceback(failed: ItemFailed) -> str:
    """The traceback of an item that failed, under its name."""
    return f"{failed.item}\n{''.join(traceback.format_exception(failed.error))}"


@contextmanager
def _if_writable(name: str) -> Iterator[None]:
    """Go on where a result cannot be shown, with a warning; an error of the file system stops the run."""
    try:
        yield
    except (OSError, InputFileError):
        raise
    except Exception as error:
        warn(ItemFailed(name, error))


def _write(item: Item, result: Result, made: Path, figures: FigureJobs) -> list[dict[str, str]]:
    """Write one result; its rows of the index, less what could not be written."""
    note = result.note.rstrip(".")
    files = []
    with _if_writable(f"{item.name}, its frame"):
        files.append(write_frame(result.frame, made / "frames" / f"{item.key}.csv"))
    if result.figure is not None:
        with _if_writable(f"{item.name}, its figure"):
            # a page of a figure has files of its own
            for page, file in page_files(result.figure, made / "figures" / f"{item.key}{_FIGURES[0]}"):
                drawn = [file.with_suffix(suffix) for suffix in _FIGURES]
                figures.add(page, drawn)
                files += drawn
    if result.table is not None:
        with _if_writable(f"{item.name}, its table"):
            tables = [made / "tables" / f"{item.key}{suffix}" for suffix in _TABLES]
            table = result.table.tab_header(result.title or "")
            if note:
                table = table.tab_source_note(_as_sentence(note))
            save_table_as(table, tables)
            files += tables
    about = {
        "item": result.title or "",
        "slice": result.slice or "",
        "unit": _values(result.frame, "unit"),
        "interval": _values(result.frame, "interval"),
        "note": note,
    }
    return [{"file": file.relative_to(made).as_posix(), **about} for file in files]


def _as_sentence(note: str) -> str:
    """A note with a capital and a full stop; a symbol that it begins with, as n, stays as it is."""
    first_word = note.split(maxsplit=1)[0]
    if len(first_word) == 1:
        return f"{note}."
    return f"{note[0].upper()}{note[1:]}."


def _values(frame: pd.DataFrame, column: str) -> str:
    """The values of a column as text, empty where there is none."""
    return ", ".join(frame[column].dropna().astype("str").unique()) if column in frame else ""
