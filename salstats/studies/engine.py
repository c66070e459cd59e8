"""One engine for the published studies: open the data, make what they allow, compare it with print."""

import argparse
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from salstats.display.export.figure_files import FigureJobs
from salstats.errors import (
    PYTHON,
    Message,
    SalstatsError,
    SalstatsWarning,
    Setting,
    Spelling,
    ValueRangeError,
    warn,
)
from salstats.jobs import progress_counter
from salstats.studies.declarations import (
    PRINTED_COLUMNS,
    PRINTED_SOURCE,
    ItemResult,
    Need,
    OpenedStudy,
    PublishedStudy,
    StudyItem,
    declaration_of,
)
from salstats.studies.item_warnings import (
    ItemFailed,
    ItemNotMade,
    nothing_made_error,
    warning_instead_of_any_error,
)
from salstats.studies.result_folder import (
    INDEX,
    PRINTED,
    WARNINGS,
    check_items_folder_is_writable,
    write_results,
)
from salstats.studies.score_tables import (
    ScoreTableOptions,
    read_method_or_method_metric_reader_by_column,
    read_renames,
    read_score_tables,
)
from salstats.studies.study_parser import Parser


def parser_of(declaration: PublishedStudy, *, output: bool = True) -> Parser:
    """Make the parser of a study's options and of those that all studies have.

    With `output` there are options for the folder to write.
    """
    parser = Parser(
        prog=f"salstats reproduce {declaration.key}",
        description=f"{declaration.source}\n\n{declaration.description}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        # Argparse would take a misspelt option, such as `--replicate`, for an abbreviation of another.
        allow_abbrev=False,
    )
    declaration.add_options(parser)
    if declaration.open_scores is not None:
        _add_score_table_options(parser, declaration.key)
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


def _add_score_table_options(parser: Parser, key: str) -> None:
    """Add the options for tables of scores, which replace the study's folder of files."""
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
        type=read_method_or_method_metric_reader_by_column,
        action="append",
        default=[],
        metavar="COLUMN=METHOD:METRIC",
        help="for a file with a column for each score, as human_iou=human:iou; may be repeated",
    )
    group.add_argument("--scale", type=float, metavar="N", help="multiply scores: 0.01 for percentages")
    group.add_argument("--sep", metavar="SIGN", help="what separates cells of a text file (a comma)")
    group.add_argument("--decimal", metavar="SIGN", help="decimal mark of a text file (.)")


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
        for name in ("features", "rename", "score", "scale", "sep", "decimal"):
            if getattr(options, name) not in (None, []):
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
        table_options=ScoreTableOptions.of(options),
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
        1 where a number differs from print that should be equal, or an item failed by an error of the
        program, else 0.

    Raises
    ------
    SalstatsError, OSError
        The input cannot be used; then the output folder is left as it was.
    """
    declaration = declaration_of(key)
    options = parser_of(declaration).parse_args(arguments)
    folder = check_items_folder_is_writable(options.output, overwrite=options.overwrite)
    compared: list[pd.DataFrame] = []
    results: list[tuple[StudyItem, ItemResult]] = []
    with warnings.catch_warnings(record=True) as caught, FigureJobs(options.jobs) as figures:
        warnings.simplefilter("always", SalstatsWarning)
        with progress_counter(None, "Reading", progress=True):
            opened = open_study(declaration, options)
        for message in unmet_need_messages(opened.items, opened.available):
            print(message.spelled(spelling), flush=True)
            warn(message)
        with progress_counter(None, "Computing", progress=True):
            data = opened.load()
        with progress_counter(len(opened.items), "Tables", progress=True) as count:
            for result in made_items_whose_needs_are_met(opened.items, opened.available, data, compared):
                results.append(result)
                count(1)
        if not results:
            raise nothing_made_error(record.message for record in caught)
        with progress_counter(None, "Writing", progress=True):
            write_results(results, compared, folder, caught, figures, spelling)
    messages = [record.message for record in caught]
    _print_distinct_texts([message for message in messages if isinstance(message, ItemNotMade)], spelling)
    print(f"{len(results)} items in {folder}; {INDEX} lists their files.")
    if (folder / WARNINGS).is_file():
        print(f"Warnings stand in {WARNINGS}.")
    all_equal = _print_report_and_return_if_exact_rows_equal(compared)
    failures = [message for message in messages if isinstance(message, ItemFailed)]
    _print_distinct_texts(failures, spelling, file=sys.stderr)
    if failures or not all_equal:
        return 1
    return 0


def _print_distinct_texts(problems: Iterable[SalstatsWarning], spelling: Spelling, **options: Any) -> None:
    """Print the text of each warning once."""
    for text in dict.fromkeys(problem.message.spelled(spelling) for problem in problems):
        print(text, **options)


def unmet_need_messages(items: Iterable[StudyItem], available: Collection[Need]) -> list[Message]:
    """Return a message for each unmet need, with the items that are not made, or made in part, without it."""
    names_by_lack: dict[_Lack, list[str]] = {}
    for item in items:
        unmet_needs = tuple(need for need in item.needs if need not in available)
        if unmet_needs:
            names_by_lack.setdefault(_Lack("not made", unmet_needs), []).append(item.number_or_title)
            continue
        for need in item.part_needs:
            if need not in available:
                names_by_lack.setdefault(_Lack("made in part", (need,)), []).append(item.number_or_title)
    messages = []
    for lack, names in names_by_lack.items():
        message = Message(Message.joined(names, "; "), f": {lack.consequence}, needs ", lack.needs[0])
        for need in lack.needs[1:]:
            message += " and "
            message += need
        messages.append(message)
    return messages


class _Lack(NamedTuple):
    """Needs that the data do not meet, and the consequence for an item: "not made" or "made in part"."""

    consequence: str
    needs: tuple[Need, ...]


def made_items_whose_needs_are_met(
    items: Iterable[StudyItem],
    available: Collection[Need],
    data: Any,
    compared: list[pd.DataFrame] | None = None,
) -> Iterator[tuple[StudyItem, ItemResult]]:
    """Yield the items whose needs are met, and warn of those that cannot be made or that fail.

    Comparisons with the printed numbers are added to `compared`.
    """
    for item in items:
        if not set(item.needs) <= set(available):
            continue
        result = None
        with warning_instead_of_any_error(item.number_or_title):
            result = item.make(data)
        if result is None:
            continue
        with warning_instead_of_any_error(f"{item.number_or_title} beside the printed numbers"):
            if compared is not None:
                compared += _comparisons_by_place_of_print(item, result.frame)
            result = replace(result, frame=_add_printed_columns(item, result.frame))
        title = result.title or item.title
        case_slice = result.slice or item.slice
        yield item, replace(result, title=title, slice=case_slice)


def _comparisons_by_place_of_print(item: StudyItem, frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Compare an item's frame with the numbers printed of the same data, a frame for each place of print."""
    comparisons = []
    for printed in item.printings:
        if printed.applies(frame):
            name = item.number_or_title
            if printed.source:
                name = f"{item.number_or_title} ({printed.source})"
            comparisons.append(printed.compare(frame).assign(item=name))
    return comparisons


def _add_printed_columns(item: StudyItem, frame: pd.DataFrame) -> pd.DataFrame:
    """Add the printed numbers to the rows of an item's frame, all of a row from one place of print.

    Where a row was printed in several places, the first of the item's `printed` counts.
    """
    numbers = pd.DataFrame(index=frame.index)
    for printed in item.printings:
        if not printed.applies(frame):
            continue
        printed_numbers = printed.published_numbers_of_each_row(frame).dropna(subset=PRINTED_SOURCE)
        filled_rows = numbers.dropna(how="all").index
        unfilled_numbers = printed_numbers.drop(index=filled_rows, errors="ignore")
        numbers = numbers.combine_first(unfilled_numbers)
    columns = [name for name in (*PRINTED_COLUMNS.values(), PRINTED_SOURCE) if name in numbers]
    return frame.join(numbers[columns])


def _print_report_and_return_if_exact_rows_equal(compared: Sequence[pd.DataFrame]) -> bool:
    """Print how many printed rows are equal; return False where one differs that should be equal."""
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
            f"{n_inexact} printed rows differ, as they follow another choice or were superseded; {PRINTED} "
            "shows them beside the numbers found here."
        )
    return not is_wrong.any()
