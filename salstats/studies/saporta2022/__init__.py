"""Saporta et al. (2022): saliency methods against radiologists on chest X-rays (CheXlocalize)."""

import argparse
from dataclasses import replace
from functools import partial

import pandas as pd

from salstats.errors import Message, SalstatsError, Setting
from salstats.studies.declarations import OpenedStudy, PublishedStudy, StudyItem
from salstats.studies.saporta2022.covariates import (
    case_counts_and_feature_quartiles,
    feature_distributions,
    localisation_regressed_on_confidence,
    table_2_slopes_on_features,
)
from salstats.studies.saporta2022.example_cases import (
    example_cases_by_iou,
    figure_1_case_of_median_iou,
    figure_3_findings_with_extreme_features,
)
from salstats.studies.saporta2022.file_scoring import (
    add_options,
    read_study_validation_and_features_unscored,
    score_and_tune,
)
from salstats.studies.saporta2022.localisation import (
    classifier_auroc_by_model_and_task,
    decreases_from_people,
    difference_of_otsu_and_tuned,
    ensemble_and_checkpoints,
    figure_2_means_of_main_and_people,
    mean_iou_by_threshold,
    mean_iou_on_full_slice,
    means_by_method_and_model,
    means_with_tuned_thresholds,
    pooled_pixel_rates,
    table_1_means_of_every_method,
)
from salstats.studies.saporta2022.printed_numbers import (
    FULL_SLICE_2021,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_S1,
    printed_decreases,
)
from salstats.studies.saporta2022.release import read_released_scores_or_feature
from salstats.studies.saporta2022.replicates import (
    REPLICATE_ITEMS,
    bootstrap_replicates_of_iou_and_hits,
    needs_met_by_replicates,
    read_replicates,
)
from salstats.studies.saporta2022.score_slices import (
    TABLE_NEED_BY_NEED,
    full_and_true_positive_scores,
)
from salstats.studies.saporta2022.sensitivity import published_beside_clustered, sensitivity_to_choices
from salstats.studies.saporta2022.study_frames import (
    CHECKPOINTS,
    FEATURES,
    FULL_LABELS,
    FULL_PROBABILITIES,
    FULL_SLICE,
    HITS,
    MAPS,
    PEOPLE,
    PICTURES,
    PIXELS,
    POINTS,
    PROBABILITIES,
    SEGMENTATIONS,
    SEVERAL_MODELS,
    SHAPES,
    SWEEP,
    THRESHOLDS,
    StudyFrames,
    warn_of_left_out_tasks,
)
from salstats.studies.study_parser import Parser

_DESCRIPTION = """\
This compares saliency maps with radiologists on chest X-rays: Tables 1 to 3 and S1, Figs. 1 to 3, and
Extended Data 1 to 10. It also makes every headline number as published beside the same with patients as
clusters, shows which conclusions change under other choices (misses, cut-offs, task effects, a logistic
model), and picks example cases by IoU. A result that the data do not allow is named at the start, with what
it needs; the others are made. Where there are as many cases as in the study, the printed numbers stand
beside the results (printed.csv).

Data (one of these)
  --scores FILE     scores of single cases
  --data DIR        heat maps, truth, and people's segmentations and points
  --bootstrap FILE  bootstrap replicates of the study's scripts

From scores (--scores, --features, --full-scores)
  The files are CSV, TSV, Parquet or XLSX with the columns case, task, method (human for people), metric (iou,
  hit) and score. Further columns are used where they are known: patient, prob, label, n_instances,
  area_ratio, elongation, irrectangularity, tp, fp, fn, tn, model, seed and reason. Those of a case and task
  may stand in --features.
  Files of the study's scripts are recognised by name: iou_results_per_cxr.csv,
  hitmiss_humanbenchmark_results_per_cxr.csv, num_instances.csv and so on, and probabilities.csv with a column
  per task.
  Scores belong to the true-positive slice, unless a column slice says full. --full-scores names scores of the
  full slice, which Table 3 and Extended Data 4 need.
  Everything is made but Fig. 1, Extended Data 1, the examples, and the pictures of Fig. 3. Masks are as they
  were scored; with the columns prob, tp, fp and fn, --cutoff empties those of low probability.

From replicates (--bootstrap)
  The files of eval.py are recognised by name (iou_bootstrap_results_per_cxr.csv,
  iou_humanbenchmark_bootstrap_results_per_cxr.csv and so on); frames/replicates.csv of an earlier run will do
  too. Table 1 and Extended Data 5 and 6 are made, as published.

From files (--data)
  The files are in the CheXlocalize format. The public release has maps for its validation set only, and
  people's marks for its test set only.
  Maps: the first --maps is the method of all results of a single method, and thresholds and cut-offs are
  tuned for it. --maps DIR without a name is a folder of folders METHOD or METHOD_MODEL. Trainings of a model
  are named one by one, METHOD:MODEL:SEED=DIR. Extended Data 3 needs several methods or models, Extended Data
  7 single trainings (METHOD:MODEL:SEED) beside their ensemble (METHOD:MODEL).
  Tuning: thresholds and cut-offs are set by options, or tuned on --validation, never on --data. With neither,
  Extended Data 1 is left out and no mask is emptied for low confidence.
  Smoothing: the study smoothed integrated gradients (100 pixels; 50 for ResNet152 and Inception-v4), DeepLIFT
  (50) and LRP (80), at the size of the image: --smooth integrated_gradients=100. Here a box filter smooths
  the map itself. The scripts filter the negated grey levels of its colours in jet instead. These do not rise
  with the map, so that masks are mostly background (a median of 87 % of the image in the public sample, 15 %
  without). The scripts do so for Otsu's threshold alone, never where they tune; --as-published and
  --colormap jet follow them. Peaks are those of the map as it is.
  A long run that was stopped goes on with the same --resume FOLDER.

Intervals
  By default patients are resampled, estimates are means of the scores, and pairs are complete. The hit rate
  of a task has Wilson's interval with the effective number of patients. --as-published follows the scripts:
  the mean of 1000 replicates of cases, order statistics, rows as independent, their rounding, and their
  choice of cut-offs (a mask is kept above the cut-off, not at it; means to three digits; 0 is not tried for
  Lung Lesion).

Example: salstats reproduce saporta2022 --scores scores.csv --full-scores full.csv -o out
Example: salstats reproduce saporta2022 --data test --validation val -o out --maps gradcam=test/gradcam_maps
Example: salstats reproduce saporta2022 --data CheXlocalize --split val --validation CheXlocalize -o out
"""
# Slices of items that use other cases than the true positives.
_ALL_CASES = "all cases of the study"
_TRUE_FINDINGS = "findings of the truth"

#: The items of the study, in the order of the files.
ITEMS = (
    StudyItem("extended_data_10", "Extended Data 10: summary statistics", case_counts_and_feature_quartiles,
              slice=_ALL_CASES),
    StudyItem("table_1", "Table 1: mean IoU and hit rate", table_1_means_of_every_method,
              part_needs=(MAPS, PEOPLE, HITS), printed=TABLE_1),
    StudyItem("figure_2", "Fig. 2: mean IoU (a) and hit rate (b) of the main saliency method and people",
              figure_2_means_of_main_and_people,
              needs=(MAPS, PEOPLE), part_needs=(SEGMENTATIONS, POINTS)),
    StudyItem("extended_data_5", "Extended Data 5: percentage decrease of mean IoU from people",
              partial(decreases_from_people, metric="iou"), needs=(MAPS, SEGMENTATIONS),
              printed=printed_decreases("iou")),
    StudyItem("extended_data_6", "Extended Data 6: percentage decrease of hit rate from people",
              partial(decreases_from_people, metric="hit"), needs=(MAPS, HITS, POINTS),
              printed=printed_decreases("hit")),
    StudyItem("extended_data_1a", "Extended Data 1a: mean IoU by threshold, validation study",
              mean_iou_by_threshold, needs=(SWEEP,), slice="true-positive, validation"),
    StudyItem("extended_data_1b", "Extended Data 1b: mean IoU with tuned thresholds",
              means_with_tuned_thresholds, needs=(MAPS, THRESHOLDS)),
    StudyItem("extended_data_1c", "Extended Data 1c: Otsu's threshold against the tuned one, paired "
              "(asserted in the study's text)", difference_of_otsu_and_tuned, needs=(MAPS, THRESHOLDS)),
    StudyItem("extended_data_2", "Extended Data 2: precision, recall and specificity", pooled_pixel_rates,
              needs=(PIXELS,), part_needs=(MAPS, PEOPLE), slice="cases that the truth holds"),
    StudyItem("extended_data_3", "Extended Data 3: saliency methods and architectures",
              means_by_method_and_model, needs=(SEVERAL_MODELS,), part_needs=(PEOPLE,)),
    StudyItem("extended_data_7", "Extended Data 7: ensemble and single checkpoints", ensemble_and_checkpoints,
              needs=(CHECKPOINTS,)),
    StudyItem("extended_data_4", "Extended Data 4: mean IoU on the full slice", mean_iou_on_full_slice,
              needs=(FULL_SLICE,), part_needs=(MAPS, PEOPLE), printed=FULL_SLICE_2021),
    StudyItem("extended_data_8", "Extended Data 8: distribution of the features", feature_distributions,
              needs=(SHAPES,), part_needs=FEATURES, slice=_TRUE_FINDINGS),
    StudyItem("table_2", "Table 2: features of the finding and localisation", table_2_slopes_on_features,
              needs=(MAPS, SHAPES), part_needs=(*FEATURES, HITS, SEGMENTATIONS, POINTS), printed=TABLE_2),
    StudyItem("table_3", "Table 3: confidence and IoU",
              partial(localisation_regressed_on_confidence, metric="iou"),
              needs=(FULL_PROBABILITIES,), part_needs=(FULL_SLICE,), printed=TABLE_3),
    StudyItem("extended_data_9", "Extended Data 9: confidence and hits",
              partial(localisation_regressed_on_confidence, metric="hit"), needs=(PROBABILITIES, HITS)),
    StudyItem("table_s1", "Supplementary Table S1: AUROC of the classifiers",
              classifier_auroc_by_model_and_task,
              needs=(FULL_SLICE, FULL_PROBABILITIES, FULL_LABELS), slice=_ALL_CASES, printed=TABLE_S1),
    StudyItem("replicates", "Replicates of mean IoU and hit rate, as eval.py writes them",
              bootstrap_replicates_of_iou_and_hits),
    StudyItem("as_published_and_clustered",
              "Every headline number as published and with patients as clusters",
              published_beside_clustered, slice="as each item"),
    StudyItem("sensitivity", "Choices that may change a conclusion", sensitivity_to_choices, needs=(MAPS,),
              slice="as each item"),
    StudyItem("figure_1", "Fig. 1: a map and people's outline against the truth", figure_1_case_of_median_iou,
              needs=(MAPS, PICTURES)),
    StudyItem("figure_3", "Fig. 3a-b: features of the findings", figure_3_findings_with_extreme_features,
              needs=(SHAPES,), part_needs=(*FEATURES, PICTURES), slice=_TRUE_FINDINGS),
    StudyItem("examples", "Examples picked by IoU", example_cases_by_iou, needs=(MAPS, PICTURES)),
)  # fmt: skip


def _open(options: argparse.Namespace) -> OpenedStudy:
    """Read the study of files, which `load` tunes and scores, or the replicates of the study's scripts."""
    if options.bootstrap:
        return _open_replicates(options)
    if options.data is None:
        raise SalstatsError(
            "saporta2022 needs a study (",
            Setting("data", "DIR"),
            ") or scores of it (",
            Setting("scores", "FILE"),
            ")",
            option="data",
            value=None,
        )
    if options.full_scores:
        raise SalstatsError(Setting("full_scores"), " belongs to ", Setting("scores"))
    unscored = read_study_validation_and_features_unscored(options)
    return OpenedStudy(
        ITEMS,
        unscored.available,
        lambda: _leave_out_tasks_with_few_positives(score_and_tune(unscored, options), options),
    )


def _bootstrap_with_data_or_scores_error() -> SalstatsError:
    """Return the error where `bootstrap` is given together with `data` or `scores`."""
    return SalstatsError(
        Setting("bootstrap"),
        " stands in the place of ",
        Setting("data"),
        " and ",
        Setting("scores"),
        hint="name one of them",
    )


def _open_replicates(options: argparse.Namespace) -> OpenedStudy:
    """Read the replicates of the study's scripts, from which means and decreases are made."""
    if options.data is not None or options.full_scores:
        raise _bootstrap_with_data_or_scores_error()
    parser = Parser()
    add_options(parser)
    for name, action in parser.options.items():
        if name != "bootstrap" and getattr(options, name) != action.default:
            raise SalstatsError(
                Setting(name),
                " has no effect on replicates (",
                Setting("bootstrap"),
                "), which are drawn already",
                hint=Message(
                    "leave it out, or name ", Setting("data"), " or ", Setting("scores"), " instead"
                ),
            )
    replicates = read_replicates(options.bootstrap)
    return OpenedStudy(REPLICATE_ITEMS, needs_met_by_replicates(replicates), lambda: replicates)


def _open_scores(scores: pd.DataFrame, options: argparse.Namespace) -> OpenedStudy:
    """Prepare existing scores; messages name needs as tables and columns instead of files."""
    if options.bootstrap:
        raise _bootstrap_with_data_or_scores_error()
    study_scores = full_and_true_positive_scores(scores, options)
    items = []
    for item in ITEMS:
        needs = tuple(TABLE_NEED_BY_NEED[need] for need in item.needs)
        part_needs = tuple(TABLE_NEED_BY_NEED[need] for need in item.part_needs)
        items.append(replace(item, needs=needs, part_needs=part_needs))
    available = frozenset(TABLE_NEED_BY_NEED[need] for need in study_scores.available)
    return OpenedStudy(
        items, available, lambda: _leave_out_tasks_with_few_positives(study_scores.frames(options), options)
    )


def _leave_out_tasks_with_few_positives(frames: StudyFrames, options: argparse.Namespace) -> StudyFrames:
    """Leave out the tasks with fewer positive cases than `min_positives`, with a warning for each."""
    frames = frames.with_enough_positives(options.min_positives)
    warn_of_left_out_tasks(frames, options.min_positives)
    return frames


STUDY = PublishedStudy(
    key="saporta2022",
    source="Saporta et al. 2022, Benchmarking saliency methods for chest X-ray interpretation, "
    "doi:10.1038/s42256-022-00536-x",
    description=_DESCRIPTION,
    add_options=add_options,
    open=_open,
    open_scores=_open_scores,
    read_release=read_released_scores_or_feature,
    slices=True,
)
