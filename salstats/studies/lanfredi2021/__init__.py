"""Bigolin Lanfredi et al. (2021): saliency maps against where radiologists looked."""

import argparse
import sys
from pathlib import Path

import pandas as pd

import salstats as ss
from salstats.checks import check_count
from salstats.errors import Message, SalstatsError, Setting
from salstats.readers.background_images import check_images
from salstats.readers.lanfredi2021 import read_lanfredi2021_workbook
from salstats.studies.declarations import Need, OpenedStudy, PublishedStudy, StudyItem
from salstats.studies.lanfredi2021.example_case import (
    figure_1_fixations_and_maps,
    sampled_beside_exact_auc,
    sd_of_sampled_auc_by_sample_size,
)
from salstats.studies.lanfredi2021.gaze_scores import (
    ScoringOptions,
    scored_recordings,
    study_phases_or_none_for_all,
)
from salstats.studies.lanfredi2021.layouts import BASELINES, CENTRE_REWARDING, LABELS, LAYOUTS, SHUFFLED
from salstats.studies.lanfredi2021.printed_tables import (
    NETWORKS_PRINTED,
    GazeStudyScores,
    clustered_beside_study_formula_intervals,
    embedded_scores,
    network_classification_aucs,
    printed_numbers_of_table,
    printed_table_maker,
    read_workbooks,
    scores_of_table,
    split_scores_by_printed_table,
    tables_with_intervals_for_new_readers_and_networks,
)
from salstats.studies.lanfredi2021.recording_tables import (
    all_recordings_with_exclusion_reasons,
    effect_of_center_bias_choice,
    majority_findings_by_image,
    means_maker,
    scores_of_every_map,
    table_2_normal_and_abnormal_images,
    table_maker,
)
from salstats.studies.options import SERIES_FORM, folder_by_series_name, name_and_folder_parser
from salstats.studies.study_parser import Parser

_DESCRIPTION = """\
Without an option, this makes Tables 1 to 4 and the classification AUC of Appendix A from the study's own
scores, which come with the package. Each number is compared with the printed one (printed.csv); where one
differs, its row is named and the exit code is 1.

Data
  --data DIR     the study's workbooks of scores, in the place of the embedded scores. To fetch them:
                 python -c "from salstats import datasets; print(datasets.fetch_lanfredi2021())"
  --scores FILE  other scores, with the columns case, method, metric (sncc, ncc, auc, sauc) and score
  --raw DIR      recordings in the REFLACX format, with folders of maps (--maps, --class-maps, --masks)

Intervals
  Tables 1 to 4 always have the study's interval, with and without --as-published. Two further results show
  what holds beyond the study's readings; they are always made:
  design   the same means with cases as clusters (a case's rows are 5 readings x 5 networks). These intervals
           are for other images, given the study's readings and networks.
  readers  intervals for other images and other readers, or other images and other networks.

Other scores (--scores)
  Results are made as far as the columns allow. `readers` needs reader and seed. The mixings of Grad-CAM need
  the column mixing; where scores differ in nothing but the mixing, that column is called dataset
  (--rename mixing=dataset). Table 2 needs abnormal, 0 or 1 by the majority of readers. Where only some images
  have a value of abnormal, Tables 1, 3 and 4 use the images without one, as in the study. The study's
  workbooks of scores are read as they are.

Recordings (--raw)
  The folder holds metadata_phase_*.csv, ID/fixations.csv and ID/chest_bounding_box.csv. One reader
  is left out at a time; each map, and the left-out reader (interobserver), is scored against the mean map of
  the others. Of a whole release, phases 1 and 2 are read, as in the study: phase 3 has one reading per image
  and would dominate the centre bias. --phases 1,2,3 reads it too. AUC and sAUC are exact; --samples N draws
  N + N pixels, as the study did with N = 1000.

Example: salstats reproduce lanfredi2021 -o out/lanfredi2021
Example: salstats reproduce lanfredi2021 --scores scores.csv -o out/own
Example: salstats reproduce lanfredi2021 --raw main_data --maps gradcam_wag:ag:1=maps -o out/gaze --readers 5
"""
_ALL_IMAGES = "all images"
#: Options for scoring recordings.
_RECORDING_OPTIONS = (
    "maps", "class_maps", "masks", "images", "lungs", "padded", "phases", "readers", "center_bias", "samples",
    "seed", "replicates",
)  # fmt: skip


def _table_item(number: str, *, needs: tuple[str, ...], part_needs: tuple[str, ...] = ()) -> StudyItem:
    """Declare one of Tables 1 to 4."""
    return StudyItem(
        key=f"table{number}",
        title=f"Table {number}: {LAYOUTS[number].title}",
        make=printed_table_maker(number),
        needs=needs,
        part_needs=part_needs,
        slice=_ALL_IMAGES,
        printed=printed_numbers_of_table(number),
    )


#: A need of Fig. 1: the recordings are distributed without the radiographs.
RADIOGRAPHS = Message("the radiographs (", Setting("images"), ")")
# Needs of the items that are made of scores.
SHUFFLED_SCORES = "scores of interobserver or of maps by sncc or sauc"
BASELINES_SHUFFLED = "scores of interobserver or convex by sncc or sauc"
BASELINES_CENTRE_REWARDING = "scores of interobserver or convex by ncc or auc"
MAJORITY_LABELS = "majority labels (column abnormal)"
NETWORK_AUCS = Message("the AUC of the networks (", Setting("data"), ")")
TABLE_SCORES = "scores of a method and metric that Tables 1 to 4 show"
READERS_AND_SEEDS = "scores of interobserver and of maps, with columns reader and seed"
MIXING_NEEDS = tuple(f"Grad-CAM of {mixing} mixing" for mixing in LABELS["mixing"])
#: The items that are made of scores, in the order of the files.
SCORE_ITEMS = (
    _table_item("1", needs=(SHUFFLED_SCORES,), part_needs=MIXING_NEEDS),
    _table_item("2", needs=(SHUFFLED_SCORES, MAJORITY_LABELS)),
    _table_item("3", needs=(BASELINES_CENTRE_REWARDING,)),
    _table_item("4", needs=(BASELINES_SHUFFLED,)),
    StudyItem("networks", "Appendix A: classification AUC of the networks", network_classification_aucs,
              needs=(NETWORK_AUCS,), slice="test images", printed=NETWORKS_PRINTED),
    StudyItem("design", "Intervals with cases as clusters beside the study's",
              clustered_beside_study_formula_intervals, needs=(TABLE_SCORES,), slice=_ALL_IMAGES),
    StudyItem("readers", "Intervals for readers, or networks, and cases in general",
              tables_with_intervals_for_new_readers_and_networks, needs=(TABLE_SCORES, READERS_AND_SEEDS),
              slice=_ALL_IMAGES),
)  # fmt: skip
#: The items that are made of recordings.
RAW_ITEMS = (
    StudyItem("recordings", "Recordings", all_recordings_with_exclusion_reasons, slice="all recordings"),
    StudyItem("scores", "Scores of each map against the mean map of the readers not left out",
              scores_of_every_map, slice=_ALL_IMAGES),
    StudyItem("labels", "Findings by the majority of readers", majority_findings_by_image, slice=_ALL_IMAGES),
    StudyItem("means_shuffled", "Every method, shuffled metrics", means_maker(SHUFFLED), slice=_ALL_IMAGES),
    StudyItem("means_centre", "Every method, metrics that reward the centre", means_maker(CENTRE_REWARDING),
              slice=_ALL_IMAGES),
    StudyItem("table1", f"Table 1: {LAYOUTS['1'].title}", table_maker("1"), slice=_ALL_IMAGES),
    StudyItem("table2", "Table 2: Normal and abnormal images", table_2_normal_and_abnormal_images,
              slice="normal and abnormal images, by the majority of readers"),
    StudyItem("table3", f"Table 3: {LAYOUTS['3'].title}", table_maker("3"), slice=_ALL_IMAGES),
    StudyItem("table4", f"Table 4: {LAYOUTS['4'].title}", table_maker("4"), slice=_ALL_IMAGES),
    StudyItem("center_bias_choice", "Centre bias of all cases, or of all others",
              effect_of_center_bias_choice, slice=_ALL_IMAGES),
    StudyItem("figure_1", "Fig. 1: where readers looked, their habit, a map and the lungs, over the "
              "radiograph", figure_1_fixations_and_maps, part_needs=(RADIOGRAPHS,), slice="one case"),
    StudyItem("sampling_spread", "Spread of sampled AUC by sample size", sd_of_sampled_auc_by_sample_size),
    StudyItem("sampled_area_estimates", "Sampled values around the exact one", sampled_beside_exact_auc),
)  # fmt: skip


def _whole_numbers(text: str) -> list[int]:
    """Read whole numbers with commas between."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} should read like 1,2") from None


def _add_options(parser: Parser) -> None:
    """Add the options for scores and for recordings."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of the workbooks (the embedded scores)"
    )
    source.add_argument("--raw", type=Path, metavar="DIR", help="folder of the recordings")
    add = parser.add_argument_group("with --raw").add_argument
    for name, folder_help in (
        ("--maps", "maps of a method, a file per image"),
        ("--class-maps", "maps of all classes, with probabilities, to be mixed in each way"),
        ("--masks", "masks of a method, scored as maps of 0 and 1"),
    ):
        add(name, type=name_and_folder_parser(SERIES_FORM), action="append", default=[], metavar=SERIES_FORM,
            help=f"{folder_help}; may be repeated")  # fmt: skip
    add("--images", type=Path, metavar="DIR", help="radiographs, IMAGE.jpg or .png, to lay Fig. 1 over one")
    add("--lungs", type=Path, metavar="DIR", help="lung segmentations, whose convex hull is the baseline")
    add("--padded", action=argparse.BooleanOptionalAction,
        help="square maps show the image padded to a square, or stretched to one")  # fmt: skip
    add("--phases", type=_whole_numbers, action="extend", metavar="N,N",
        help="only these phases (1,2 where there are any of them)")  # fmt: skip
    add("--readers", type=int, metavar="N", help="score only images with exactly N readers (5 in the study)")
    add("--center-bias", choices=("all", "others"), default="all",
        help="mean of all cases' maps as in the study, or of all other cases' (all)")  # fmt: skip
    add("--samples", type=int, metavar="N", help="draw N + N pixels for AUC and sAUC (exact)")
    add("--seed", type=int, default=0, metavar="N", help="seed of the draws (0)")
    add("--replicates", type=int, default=100, metavar="N", help="samples behind each SD (100)")


def _check_no_options_for_recordings(options: argparse.Namespace) -> None:
    """Raise an error where an option for recordings (`raw`) differs from its default, as none are scored."""
    parser = Parser()
    _add_options(parser)
    for name in _RECORDING_OPTIONS:
        if getattr(options, name) != parser.options[name].default:
            raise SalstatsError(Setting(name), " belongs to ", Setting("raw"))


def _open(options: argparse.Namespace) -> OpenedStudy:
    """Read the embedded scores or the workbooks, or find the recordings, which `load` scores."""
    if options.raw is None:
        _check_no_options_for_recordings(options)
    if options.data is not None:
        return _items_and_met_needs_of_scores(read_workbooks(options.data))
    if options.raw is None:
        return _items_and_met_needs_of_scores(embedded_scores())
    check_count(options.replicates, "n_replicates", 2)
    check_images(options.images)
    study = ss.read_gaze(
        options.raw,
        maps=folder_by_series_name(options.maps, "maps"),
        masks=folder_by_series_name(options.masks, "masks"),
        class_maps=folder_by_series_name(options.class_maps, "class_maps"),
        lungs=options.lungs,
        padded=options.padded,
        phases=options.phases or study_phases_or_none_for_all(options.raw),
    )
    scoring = ScoringOptions(
        n_readers=options.readers,
        center_bias=options.center_bias,
        n_samples=options.samples,
        seed=options.seed,
        n_replicates=options.replicates,
        images=options.images,
    )
    available: frozenset[Need] = frozenset()
    if options.images is not None:
        available = frozenset({RADIOGRAPHS})
    is_terminal = sys.stderr.isatty()
    return OpenedStudy(
        RAW_ITEMS,
        available,
        lambda: scored_recordings(study, scoring, jobs=options.jobs, progress=is_terminal),
    )


def _open_scores(scores: pd.DataFrame, options: argparse.Namespace) -> OpenedStudy:
    """Prepare scores of the user in the place of the study's."""
    if options.raw is not None:
        raise SalstatsError(
            Setting("raw"),
            " is scored here, ",
            Setting("scores"),
            " are scores already",
            hint="name one of them",
        )
    _check_no_options_for_recordings(options)
    return _items_and_met_needs_of_scores(split_scores_by_printed_table(scores))


def _items_and_met_needs_of_scores(scores: GazeStudyScores) -> OpenedStudy:
    """Return the study of scores, with the needs that their methods, metrics and columns meet."""
    rows = scores.table_1_3_4_scores
    is_baseline = rows["method"].isin(BASELINES)
    baseline_metrics = rows.loc[is_baseline, "metric"]
    mixings = set(rows["mixing"])
    # intervals generalise to readers and to networks, which seeds tell apart
    has_reader_and_seed = {"reader", "seed"} <= set(rows.columns)
    has_interobserver_and_maps = "interobserver" in set(rows["method"]) and not is_baseline.all()
    is_met: dict[Need, bool] = {
        SHUFFLED_SCORES: len(scores_of_table(scores, "1")) > 0,
        BASELINES_SHUFFLED: bool(baseline_metrics.isin(SHUFFLED).any()),
        BASELINES_CENTRE_REWARDING: bool(baseline_metrics.isin(CENTRE_REWARDING).any()),
        MAJORITY_LABELS: len(scores.table_2_scores) > 0,
        NETWORK_AUCS: scores.classification_aucs is not None,
        TABLE_SCORES: any(len(scores_of_table(scores, number)) for number in LAYOUTS),
        READERS_AND_SEEDS: has_reader_and_seed and has_interobserver_and_maps,
    }
    for need, mixing in zip(MIXING_NEEDS, LABELS["mixing"], strict=True):
        is_met[need] = mixing in mixings
    available = frozenset(need for need, met in is_met.items() if met)
    return OpenedStudy(SCORE_ITEMS, available, lambda: scores)


STUDY = PublishedStudy(
    key="lanfredi2021",
    source="Bigolin Lanfredi et al. 2021, Comparing radiologists' gaze and saliency maps generated by "
    "interpretability methods for chest x-rays, arXiv:2112.11716",
    description=_DESCRIPTION,
    add_options=_add_options,
    open=_open,
    open_scores=_open_scores,
    read_release=read_lanfredi2021_workbook,
)
