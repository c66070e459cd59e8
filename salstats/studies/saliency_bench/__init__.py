"""Zhang et al., Saliency-Bench: methods x models x data sets."""

import argparse
from pathlib import Path

import salstats as ss
from salstats.checks import SalstatsError
from salstats.studies.engine import Item, Opened, Parser, Study
from salstats.studies.options import check_replicates, names_in
from salstats.studies.saliency_bench.frames import Choice, Means, as_printed, of_scores
from salstats.studies.saliency_bench.printed import change, check
from salstats.studies.saliency_bench.tables import (
    ranks_of_cases,
    ranks_of_data_sets,
    table_2,
    table_3,
    table_4,
)

_ABOUT = """\
With --scores or --digits: Table 2 (mean IoU, pointing game and insertion AUC of each method, the best in
bold), Table 3 (correlation between the metrics over data sets, per model and method, with intervals: n is
the number of data sets), Table 4 (models with a single explanation, where there are such), and how the
ranking of the methods moves when cases, or whole data sets, are drawn again. --scores is a scores file with
columns case, method, metric, score and, where there are several, dataset and model; people (method human)
are left out. --digits takes the embedded digits study: a real model's maps on three canvas designs, which
stand for data sets.

With --printed, which needs no data: the printed Tables 2 and 4 in this layout, Table 3 recomputed, and the
check of the printed Table 3 against the printed Table 2: which correlations follow, and which change of a
digit would make the others follow.

Example: salstats reproduce saliency_bench --printed -o out
Example: salstats reproduce saliency_bench --data scores.csv -o out
"""
_SCORES, _SETS, _PRINTED = "scores given", "means of data sets", "as printed"
_RANKS = "Rank of each method when data sets are drawn again"
#: Of scores, in the order of the files.
SCORE_ITEMS = (
    Item("table_2", "Table 2: mean scores by data set, model and method", table_2, slice=_SCORES),
    Item("table_3", "Table 3: correlation of metrics over data sets", table_3, slice=_SETS),
    Item("table_4", "Table 4: models with a single explanation, by data set", table_4, slice=_SCORES),
    Item("ranks_data_sets", _RANKS, ranks_of_data_sets, slice=_SCORES),
    Item("ranks", "Rank of each method when cases are drawn again", ranks_of_cases, slice=_SCORES),
)
#: Of the printed tables.
PRINTED_ITEMS = (
    Item("table_2", "Table 2, as printed: mean scores by data set, model and method", table_2,
         slice=_PRINTED),
    Item("table_3", "Table 3, from the printed Table 2: correlation of metrics over data sets", table_3,
         slice=_PRINTED),
    Item("table_4", "Table 4, as printed: models with a single explanation, by data set", table_4,
         slice=_PRINTED),
    Item("ranks_data_sets", _RANKS, ranks_of_data_sets, slice=_PRINTED),
    Item("table_3_check", "Printed Table 3 beside the correlations of the printed Table 2", check,
         slice=_PRINTED),
    Item("table_3_change", "Smallest change of the printed Table 2 that gives the printed Table 3", change,
         slice=_PRINTED),
)  # fmt: skip


def _add_options(parser: Parser) -> None:
    """Add where the scores come from, and what is made of them."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--data", "--scores", dest="scores", type=Path, metavar="FILE", help="scores of methods"
    )
    source.add_argument("--digits", action="store_true", help="the embedded digits study")
    source.add_argument("--printed", action="store_true", help="the printed tables and their check")
    add = parser.add_argument
    add(
        "--metrics",
        action="append",
        metavar="LIST",
        help="of the scores, comma-separated (iou,hit,insertion)",
    )
    add("--unit", metavar="COLUMN", help="what is drawn again (patient where it is known, else case)")
    add("--interval", default="percentile", choices=("percentile", "bca", "studentized", "t"),
        help="of the means (percentile)")  # fmt: skip
    add("--replicates", type=int, default=1000, metavar="N", help="bootstrap replicates (1000)")


def _open(options: argparse.Namespace) -> Opened:
    """Read the scores, or take the printed means."""
    if options.printed and (options.metrics or options.unit):
        raise SalstatsError("--metrics and --unit belong to --data and --digits")
    check_replicates(options.replicates)
    choice = Choice(options.replicates, options.unit, options.interval)
    if options.printed:
        return Opened(PRINTED_ITEMS, frozenset(), lambda: as_printed(choice))
    scores = ss.datasets.load_digits_scores() if options.digits else ss.read_scores(options.scores)

    def load() -> Means:
        return of_scores(scores, choice, names_in(options.metrics))

    return Opened(SCORE_ITEMS, frozenset(), load)


STUDY = Study(
    key="saliency_bench",
    source="Zhang et al., Saliency-Bench: a comprehensive benchmark for evaluating visual explanations, "
    "doi:10.48550/arXiv.2310.08537",
    about=_ABOUT,
    add_options=_add_options,
    open=_open,
)
