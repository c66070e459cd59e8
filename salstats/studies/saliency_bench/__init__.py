"""Zhang et al., Saliency-Bench: methods x models x data sets."""

import argparse
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.errors import Message, SalstatsError, Setting
from salstats.readers.background_images import check_images
from salstats.studies.declarations import Need, OpenedStudy, PrintedNumbers, PublishedStudy, StudyItem
from salstats.studies.options import check_enough_replicates, names_in
from salstats.studies.saliency_bench.benchmark_tables import (
    rank_stability_over_cases,
    rank_stability_over_data_sets,
    table_2_models_with_several_methods,
    table_3_metric_correlations_across_data_sets,
    table_4_models_with_single_method,
)
from salstats.studies.saliency_bench.cell_means import (
    CELL_COLUMNS,
    MIN_DATA_SETS,
    MIN_DRAWN_DATA_SETS,
    Benchmark,
    MeanOptions,
    printed_benchmark,
    score_benchmark,
    scores_of_methods_but_human,
    split_by_several_or_single_method,
)
from salstats.studies.saliency_bench.data_sets import (
    figure_1_images_with_truths,
    maps_maker,
    table_1_data_sets,
)
from salstats.studies.saliency_bench.table_consistency import (
    digit_changes_that_reconcile_tables,
    printed_correlations_compared_with_printed_values,
    printed_correlations_where_all_data_sets_present,
    printed_means_of_cells,
)
from salstats.studies.study_parser import Parser

_DESCRIPTION = """\
This compares saliency methods over several data sets and models: Tables 1 to 4, Figs. 1, 3 and 4, and how
stable the ranking of the methods is.

Data
  --scores FILE  scores, with the columns case, method, metric and score, and dataset and model where there
                 are several. Rows of people (method human) are left out.
  --digits       the embedded digits study: maps of a real model on three canvas designs, which stand for data
                 sets
  --printed      the printed tables of the study, which need no data

Results of --scores and --digits
  Table 1   the contents of each data set
  Table 2   mean IoU, pointing game and insertion AUC of each method, the best in bold
  Table 3   correlations between the metrics over data sets, per model and method, with intervals; n is the
            number of data sets
  Table 4   models with a single explanation, where there are any
  Ranks     the rank of each method when cases, or whole data sets, are drawn again
  Figures   an image of each data set with its truth (Fig. 1), and every method's map of it for each of two
            models (Figs. 3 and 4). They need --study, a folder that `read_study` knows, and --images.
            --digits has them for a dozen canvases and one model.
  Where data sets, models and methods are named as in the study, means and correlations are compared with the
  printed ones (the pointing game is hit_any). The number of images behind a printed mean was not printed.

Results of --printed
  Tables 2 and 4 in this layout, Table 3 recomputed from Table 2, and a check of the printed Table 3: which
  correlations follow from the printed Table 2, and which change of one digit would make the others follow.
  The study's own images and maps are not public, so there are no pictures.

--as-published makes means and correlations alone: the study has no intervals and no rankings of drawn cases.

Example: salstats reproduce saliency_bench --printed -o out
Example: salstats reproduce saliency_bench --scores scores.csv --metrics iou,hit_any,insertion -o out
"""
# Slices of the items.
_SCORES = "scores given"
_DATA_SETS = "means of data sets"
_PRINTED = "as printed"
_RANKS_TITLE = "Rank of each method when data sets are drawn again"
#: Items that rank methods in replicates, which the study does not do.
RANKING_ITEMS = ("ranks_data_sets", "ranks")
# Needs of the items.
DATASET_COLUMN = "a column 'dataset'"
MODEL_COLUMN = "a column 'model'"
SEVERAL_METHODS = "a model with several methods"
ONE_METHOD = "a model with one method only"
TWO_METRICS = "scores of two metrics"
ENOUGH_DATA_SETS = f"{MIN_DATA_SETS} data sets of one model and method"
ENOUGH_DRAWN_DATA_SETS = f"{MIN_DRAWN_DATA_SETS} data sets of a model with several methods"
#: Metrics by the need that any one of them meets, for each metric of the study.
METRIC_NEEDS = {
    "scores of iou": {"iou"},
    "scores of hit_any, or hit": {"hit", "hit_any"},
    "scores of insertion": {"insertion"},
}
#: A need of the pictures, besides the scores.
FILES = Message("truth and maps of the scored cases (", Setting("study"), ", ", Setting("images"), ")")
_DATA = Message("scores (", Setting("scores"), ")")
# Without a column for data sets or models, all scores belong to one data set or model.
_PARTS = (DATASET_COLUMN, MODEL_COLUMN, *METRIC_NEEDS)
DATA_SET_ITEMS = (
    StudyItem("table_1", "Table 1: the data sets", table_1_data_sets, needs=(_DATA,),
              part_needs=(DATASET_COLUMN,), slice=_SCORES),
    StudyItem("figure_1", "Fig. 1: an image of each data set with its truth",
              figure_1_images_with_truths, needs=(FILES,),
              slice=_SCORES),
    StudyItem("figure_3", "Fig. 3: maps of every method, first model", maps_maker(0), needs=(FILES,),
              slice=_SCORES),
    StudyItem("figure_4", "Fig. 4: maps of every method, second model", maps_maker(1), needs=(FILES,),
              slice=_SCORES),
)  # fmt: skip
#: The items that are made of scores, in the order of the files.
SCORE_ITEMS = (
    *DATA_SET_ITEMS,
    StudyItem("table_2", "Table 2: mean scores by data set, model and method",
              table_2_models_with_several_methods, needs=(SEVERAL_METHODS,), part_needs=_PARTS,
              slice=_SCORES),
    StudyItem("table_3", "Table 3: correlation of metrics over data sets",
              table_3_metric_correlations_across_data_sets, needs=(TWO_METRICS, ENOUGH_DATA_SETS),
              part_needs=tuple(METRIC_NEEDS), slice=_DATA_SETS),
    StudyItem("table_4", "Table 4: models with a single explanation, by data set",
              table_4_models_with_single_method, needs=(ONE_METHOD,), part_needs=_PARTS, slice=_SCORES),
    StudyItem("ranks_data_sets", _RANKS_TITLE, rank_stability_over_data_sets, needs=(ENOUGH_DRAWN_DATA_SETS,),
              slice=_SCORES),
    StudyItem("ranks", "Rank of each method when cases are drawn again", rank_stability_over_cases,
              needs=(SEVERAL_METHODS,), slice=_SCORES),
)  # fmt: skip
#: The items that are made of the printed tables.
PRINTED_ITEMS = (
    *DATA_SET_ITEMS,
    StudyItem("table_2", "Table 2, as printed: mean scores by data set, model and method",
              table_2_models_with_several_methods, slice=_PRINTED),
    StudyItem("table_3", "Table 3, from the printed Table 2: correlation of metrics over data sets",
              table_3_metric_correlations_across_data_sets, slice=_PRINTED),
    StudyItem("table_4", "Table 4, as printed: models with a single explanation, by data set",
              table_4_models_with_single_method, slice=_PRINTED),
    StudyItem("ranks_data_sets", _RANKS_TITLE, rank_stability_over_data_sets, slice=_PRINTED),
    StudyItem("table_3_check", "Printed Table 3 beside the correlations of the printed Table 2",
              printed_correlations_compared_with_printed_values, slice=_PRINTED),
    StudyItem("table_3_change", "Smallest change of the printed Table 2 that gives the printed Table 3",
              digit_changes_that_reconcile_tables,
              slice=_PRINTED),
)  # fmt: skip


def _add_options(parser: Parser) -> None:
    """Add the options for the source of the scores and for what is made of them."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--data", type=Path, metavar="FILE", help="scores of methods, as --scores")
    source.add_argument("--digits", action="store_true", help="the embedded digits study")
    source.add_argument("--printed", action="store_true", help="the printed tables and their check")
    add = parser.add_argument
    add(
        "--metrics",
        action="append",
        metavar="LIST",
        help="of the scores, comma-separated (iou,hit,insertion)",
    )
    add("--study", type=Path, metavar="DIR", help="truth and maps of scored cases, for pictures")
    add("--images", type=Path, metavar="DIR", help="their images, CASE.png or .jpg")
    add("--unit", metavar="COLUMN", help="what is drawn again (patient where it is known, else case)")
    add("--interval", default="percentile", choices=("percentile", "recommended", "bca", "studentized", "t"),
        help="of the means (percentile)")  # fmt: skip
    add("--replicates", type=int, default=1000, metavar="N", help="bootstrap replicates (1000)")


def _open(options: argparse.Namespace) -> OpenedStudy:
    """Prepare the printed means, the embedded digits, or a file of scores."""
    if options.printed:
        for name in ("metrics", "unit", "study", "images"):
            if getattr(options, name):
                raise SalstatsError(
                    Setting(name), " belongs to ", Setting("scores"), " and ", Setting("digits")
                )
        mean_options = _mean_options(options)
        items = _chosen_items(PRINTED_ITEMS, mean_options)
        return OpenedStudy(items, frozenset(), lambda: printed_benchmark(mean_options))
    if options.digits:
        return _open_scores(ss.datasets.load_digits_scores(), options)
    if options.data is not None:
        return _open_scores(ss.read_scores(options.data), options)
    raise SalstatsError(
        "saliency_bench needs scores",
        hint=Message("name ", Setting("scores", "FILE"), ", ", Setting("digits"), " or ", Setting("printed")),
        option="scores",
    )


def _open_scores(scores: pd.DataFrame, options: argparse.Namespace) -> OpenedStudy:
    """Prepare scores, and the truth and maps behind them where the options name these."""
    if options.scores is not None and (options.digits or options.printed):
        raise SalstatsError(
            Setting("scores"),
            ", ",
            Setting("digits"),
            " and ",
            Setting("printed"),
            " are different data",
            hint="name one of them",
        )
    if options.images is not None and options.study is None:
        raise SalstatsError(Setting("images"), " shows the cases of ", Setting("study"), hint="name that too")
    mean_options = _mean_options(options)
    metrics = names_in(options.metrics)
    compared_scores = scores_of_methods_but_human(scores, metrics)
    available = {_DATA, *needs_met(scores, compared_scores, metrics_chosen=metrics is not None)}

    folder = options.study
    images = check_images(options.images)
    if options.digits and folder is None:
        folder = ss.datasets.digits_examples()
        images = folder / "images"
    study = None
    if folder is not None:
        study = ss.read_study(folder)
        available.add(FILES)

    def load() -> Benchmark:
        return replace(score_benchmark(compared_scores, mean_options), study=study, images=images)

    items = _add_printed_numbers(_chosen_items(SCORE_ITEMS, mean_options), compared_scores)
    return OpenedStudy(items, frozenset(available), load)


def needs_met(
    scores: pd.DataFrame, compared_scores: pd.DataFrame, *, metrics_chosen: bool = False
) -> set[Need]:
    """Return the needs that some scores meet.

    Parameters
    ----------
    scores : DataFrame
        All scores.
    compared_scores : DataFrame
        The rows that `scores_of_methods_but_human` returns.
    metrics_chosen : bool
        True where the metrics were chosen by name; then no other metric of the study is needed.
    """
    met: set[Need] = set()
    for column, need in (("dataset", DATASET_COLUMN), ("model", MODEL_COLUMN)):
        if column in scores.columns:
            met.add(need)
    metrics = set(compared_scores["metric"])
    for need, names in METRIC_NEEDS.items():
        if metrics_chosen or names & metrics:
            met.add(need)
    if len(metrics) > 1:
        met.add(TWO_METRICS)

    cells = compared_scores[list(CELL_COLUMNS)].drop_duplicates()
    several, single = split_by_several_or_single_method(cells)
    if len(several):
        met.add(SEVERAL_METHODS)
    if len(single):
        met.add(ONE_METHOD)
    if several["dataset"].nunique() >= MIN_DRAWN_DATA_SETS:
        met.add(ENOUGH_DRAWN_DATA_SETS)
    if cells.groupby(["model", "method"])["dataset"].nunique().max() >= MIN_DATA_SETS:
        met.add(ENOUGH_DATA_SETS)
    return met


def _mean_options(options: argparse.Namespace) -> MeanOptions:
    """Return the statistical options."""
    check_enough_replicates(options.replicates)
    return MeanOptions(
        n_replicates=options.replicates,
        unit=options.unit,
        interval=options.interval,
        as_published=options.as_published,
    )


def _chosen_items(items: Iterable[StudyItem], options: MeanOptions) -> list[StudyItem]:
    """Return the items of a run; as published there are no rankings."""
    if not options.as_published:
        return list(items)
    return [item for item in items if item.key not in RANKING_ITEMS]


def _add_printed_numbers(items: Iterable[StudyItem], compared_scores: pd.DataFrame) -> list[StudyItem]:
    """Add the printed numbers to the items, for data sets, models and methods named as in the study."""
    cells = split_by_several_or_single_method(compared_scores[list(CELL_COLUMNS)].drop_duplicates())
    printed_rows = {
        "table_2": printed_means_of_cells(cells.several),
        "table_3": printed_correlations_where_all_data_sets_present(compared_scores),
        "table_4": printed_means_of_cells(cells.single),
    }
    keys = {"table_2": CELL_COLUMNS, "table_3": ("model", "method", "x", "y"), "table_4": CELL_COLUMNS}
    items_with_printed = []
    for item in items:
        rows = printed_rows.get(item.key)
        if rows is not None and len(rows):
            numbers = PrintedNumbers(
                partial(pd.DataFrame, rows), keys[item.key], values=("estimate",), digits=4
            )
            item = replace(item, printed=numbers)
        items_with_printed.append(item)
    return items_with_printed


STUDY = PublishedStudy(
    key="saliency_bench",
    source="Zhang et al., Saliency-Bench: a comprehensive benchmark for evaluating visual explanations, "
    "doi:10.48550/arXiv.2310.08537",
    description=_DESCRIPTION,
    add_options=_add_options,
    open=_open,
    open_scores=_open_scores,
)
