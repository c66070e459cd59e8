"""Tables of Zhang et al., Saliency-Bench (doi:10.48550/arXiv.2310.08537): methods x models x data sets.

Writes into OUT:

  frames/KEY.csv        every result unrounded
  tables/KEY.html       and .tex, .docx, .csv: the same as a table for a paper
  figures/KEY.pdf       and .png
  outputs.csv           every file with its item, slice, unit, interval and what has to be known to read it

With --scores or --digits: Table 2 (mean IoU, pointing game and insertion AUC of each method, the best in
bold), Table 3 (correlation between the metrics over data sets, per model and method, with intervals: n is
the number of data sets), Table 4 (models with a single explanation, where there are such), and how the
ranking of the methods moves when cases, or whole data sets, are drawn again.

--scores is a scores file with columns case, method, metric, score and, where there are several, dataset and
model. People (method human) are left out. --digits takes the embedded digits study: a real model's maps on
three canvas designs, which stand for data sets.

With --printed, which needs no data: the printed Tables 2 and 4 in this layout, Table 3 recomputed, and the
check of the printed Table 3 against the printed Table 2: which correlations follow, and which change of a
digit, found by trying all, would make the others follow.

Exits with 2 and one line where the input cannot be used; then OUT is as it was.

Example: python analyses/saliency_bench.py --printed -o out
Example: python analyses/saliency_bench.py --scores scores.csv -o out
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import salstats as ss
from salstats.checks import SalstatsError, run_of_command
from salstats.cli.options import in_flags
from salstats.studies.items import Item, check_items_folder
from salstats.studies.options import OneLine, write_results
from salstats.studies.saliency_bench.frames import Choice, keep_scores
from salstats.studies.saliency_bench.items import make_items, make_printed

#: Replicates that a percentile interval needs to mean anything.
FEWEST = 40
INTERVALS = ("percentile", "bca", "studentized", "t")


def make_parser() -> OneLine:
    """Return the parser of the command line."""
    parser = OneLine("saliency_bench", __doc__)
    add = parser.add_argument
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--scores", type=Path, metavar="FILE", help="scores of methods")
    source.add_argument("--digits", action="store_true", help="the embedded digits study")
    source.add_argument("--printed", action="store_true", help="the printed tables and their check")
    add("-o", "--output", type=Path, required=True, metavar="OUT", help="folder to make")
    add("--metrics", metavar="LIST", help="of the scores, comma-separated (iou,hit,insertion)")
    add("--unit", metavar="COLUMN", help="what is drawn again (patient where it is known, else case)")
    add("--interval", default="percentile", choices=INTERVALS, help="of the means (percentile)")
    add("--replicates", type=int, default=1000, metavar="N", help="bootstrap replicates (1000)")
    add("--jobs", type=int, default=1, metavar="N", help="processes that draw, two at most; -1: per core (1)")
    add("--overwrite", action="store_true", help="replace what an earlier run made")
    return parser


def check_options(options: argparse.Namespace) -> None:
    """Raise where options do not go together."""
    if options.printed and (options.metrics or options.unit):
        raise SalstatsError("--metrics and --unit belong to --scores and --digits")
    if options.replicates < FEWEST:
        raise SalstatsError(f"--replicates must be at least {FEWEST}, not {options.replicates}")
    if options.jobs < -1 or options.jobs == 0:
        raise SalstatsError(f"--jobs must be a whole number from 1 up, or -1, not {options.jobs}")


def items_of(options: argparse.Namespace) -> list[Item]:
    """Return the results that were asked for."""
    choice = Choice(options.replicates, options.unit, options.interval)
    if options.printed:
        return list(make_printed(choice))
    scores = ss.datasets.load_digits_scores() if options.digits else ss.read_scores(options.scores)
    metrics = (
        None if options.metrics is None else [m.strip() for m in options.metrics.split(",") if m.strip()]
    )
    return list(make_items(keep_scores(scores, metrics), choice))


@run_of_command()
def main(argv: Sequence[str] | None = None) -> int:
    options = make_parser().parse_args(argv)
    try:
        folder = check_items_folder(options.output, overwrite=options.overwrite)
        check_options(options)
        write_results(partial(items_of, options), folder, jobs=options.jobs)
    except (SalstatsError, OSError) as error:
        print(f"saliency_bench: {in_flags(str(error))}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
