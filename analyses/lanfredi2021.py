"""Tables 1 to 4 of Bigolin Lanfredi et al. (2021): from its workbooks, to the printed digit, or from gaze.

With --data it reads the study's published workbooks and writes into OUT:

  tables.csv   one row per printed row: the printed values, the same unrounded, and whether they are equal
  design.csv   the same means with intervals that take a case's 25 rows (5 readings x 5 networks) as one
               cluster: how sure the study is about other images, given its readings and its networks
  table1.html  and .tex, .docx, .csv, to table4: Tables 1 to 4 in the study's own layout, limits in square
               brackets, the best saliency map of a column in bold (the interobserver baseline apart)

Exits with 1 when a printed number differs, with 2 when the workbooks cannot be read.
The workbooks: python -c "from salstats import datasets; print(datasets.fetch_lanfredi2021())"

With --raw it reads recordings in the REFLACX format (metadata_phase_*.csv, ID/fixations.csv,
ID/chest_bounding_box.csv) and folders of maps, and makes OUT with

  frames/KEY.csv        every result unrounded: scores, recordings (those left out too), table1 to table4, ...
  tables/KEY.html       and .tex, .docx, .csv: the same as a table for a paper
  figures/KEY.pdf       and .png
  outputs.csv           every file with its item, slice, unit, interval and what has to be known to read it

Every map, and each left-out reader (interobserver), is scored against the mean map of the other readers.
Of a whole release phases 1 and 2 are read, as the study did: a third, of one reading an image, would make
most of the centre bias. --phases 1,2,3 reads it, too.
AUC and sAUC are exact; --samples N draws pixels as the study does (it drew 1000 + 1000).
Exits with 2 and one line where the input cannot be used; then OUT is as it was.

Example: python analyses/lanfredi2021.py --data ../shared/data/lanfredi2021 -o out/lanfredi2021
Example: python analyses/lanfredi2021.py --raw main_data --maps gradcam_wag:ag:1=maps -o out/gaze --readers 5
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import salstats as ss
from salstats.checks import SalstatsError, run_of_command
from salstats.cli.options import in_flags
from salstats.files.frame_files import write_frame
from salstats.files.outputs import check_target
from salstats.studies.items import Item, check_items_folder
from salstats.studies.lanfredi2021.design import respect_design, what_changes
from salstats.studies.lanfredi2021.printed import disagreements, read_scores_by_sheet, reproduce
from salstats.studies.lanfredi2021.raw import Choice, make_items, study_phases
from salstats.studies.lanfredi2021.tables import LAYOUTS, printed_tables
from salstats.studies.options import OneLine, folders, named_folder, write_results

#: How a folder is given by name.
FORM = "METHOD[:MODEL[:SEED]]=DIR"

#: Formats of a printed table.
SUFFIXES = (".html", ".tex", ".docx", ".csv")


def whole_numbers(text: str) -> list[int]:
    """Return whole numbers with commas between."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} should read like 1,2") from None


def make_parser() -> OneLine:
    """Return the parser of the command line."""
    parser = OneLine("lanfredi2021", __doc__)
    given = parser.add_mutually_exclusive_group(required=True)
    given.add_argument("--data", type=Path, metavar="DIR", help="folder of the workbooks")
    given.add_argument("--raw", type=Path, metavar="DIR", help="folder of the recordings")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="folder to write into"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace what an earlier run made")
    add = parser.add_argument_group("with --raw").add_argument
    for name, what in (
        ("--maps", "maps of a method, a file per image"),
        ("--class-maps", "maps of all classes, with probabilities, to be mixed in each way"),
        ("--masks", "masks of a method, scored as maps of 0 and 1"),
    ):
        add(name, type=named_folder(FORM), action="append", default=[], metavar=FORM,
            help=f"{what}; may be repeated")  # fmt: skip
    add("--lungs", type=Path, metavar="DIR", help="lung segmentations, whose convex hull is the baseline")
    add("--padded", action=argparse.BooleanOptionalAction,
        help="square maps are of the image padded to a square, or stretched to one")  # fmt: skip
    add("--phases", type=whole_numbers, action="extend", metavar="N,N",
        help="only these phases (1,2 where there are any of them)")  # fmt: skip
    add("--readers", type=int, metavar="N", help="score only images with exactly N readers (5 in the study)")
    add("--center-bias", choices=("all", "others"), default="all",
        help="mean of all cases' maps as in the study, or of all other cases' (all)")  # fmt: skip
    add("--samples", type=int, metavar="N", help="draw N + N pixels for AUC and sAUC (exact)")
    add("--seed", type=int, default=0, metavar="N", help="seed of the draws (0)")
    add("--replicates", type=int, default=100, metavar="N", help="samples behind each SD (100)")
    add("--jobs", type=int, default=1, metavar="N", help="processes; -1 for one per core (1)")
    return parser


def from_workbooks(options: argparse.Namespace) -> int:
    """Write the printed tables beside those of the workbooks; return whether a number differs."""
    targets = options.output / "tables.csv", options.output / "design.csv"
    printed = {
        f"table{number}": [options.output / f"table{number}{suffix}" for suffix in SUFFIXES]
        for number in LAYOUTS
    }
    if options.output.exists():
        for target in (*targets, *(file for files in printed.values() for file in files)):
            check_target(target, [target.suffix], overwrite=options.overwrite)
    scores = read_scores_by_sheet(options.data)
    tables = reproduce(options.data, scores)
    design = respect_design(scores, tables)
    options.output.mkdir(parents=True, exist_ok=True)
    for target, frame in zip(targets, (tables, design), strict=True):
        write_frame(frame, target, overwrite=options.overwrite)
    for name, table in printed_tables(tables).items():
        for file in printed[name]:
            ss.save_table(table, file, overwrite=options.overwrite)
    for sentence in disagreements(tables):
        print(f"lanfredi2021: {sentence}", file=sys.stderr)
    print(f"{int(tables['equal'].sum())} of {len(tables)} printed rows are equal, to the printed digit.")
    print(what_changes(design))
    return 0 if tables["equal"].all() else 1


def from_recordings(options: argparse.Namespace) -> int:
    """Write every result of a folder of recordings."""
    folder = check_items_folder(options.output, overwrite=options.overwrite)
    choice = Choice(options.readers, options.center_bias, options.samples, options.seed, options.replicates)

    def make() -> Iterator[Item]:
        study = ss.read_gaze(
            options.raw,
            maps=folders(options.maps, "--maps"),
            masks=folders(options.masks, "--masks"),
            class_maps=folders(options.class_maps, "--class-maps"),
            lungs=options.lungs,
            padded=options.padded,
            phases=options.phases or study_phases(options.raw),
        )
        yield from make_items(study, choice, jobs=options.jobs, progress=sys.stderr.isatty())

    write_results(make, folder, jobs=options.jobs)
    return 0


@run_of_command()
def main(argv: Sequence[str] | None = None) -> int:
    options = make_parser().parse_args(argv)
    try:
        return from_workbooks(options) if options.data else from_recordings(options)
    except (SalstatsError, OSError) as error:
        print(f"lanfredi2021: {in_flags(str(error))}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
