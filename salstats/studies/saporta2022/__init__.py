"""Saporta et al. (2022): saliency methods against radiologists on chest X-rays (CheXlocalize)."""

import argparse
from dataclasses import replace
from functools import partial

import pandas as pd

from salstats.errors import Message, SalstatsError, Setting
from salstats.studies.engine import Item, OpenedStudy, Parser, PublishedStudy
from salstats.studies.saporta2022.covariates import (
    by_confidence,
    distributions,
    summary_statistics,
    table_2,
)
from salstats.studies.saporta2022.example_cases import examples, figure_1, figure_3
from salstats.studies.saporta2022.file_scoring import add_options, find, make_frames
from salstats.studies.saporta2022.localisation import (
    classifiers,
    ensemble_and_checkpoints,
    figure_2,
    full_slice,
    lost_to_people,
    otsu_and_tuned,
    pooled,
    several_models,
    table_1,
    thresholds,
    tuned_thresholds,
)
from salstats.studies.saporta2022.printed_numbers import (
    FULL_SLICE_2021,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_S1,
    decrease_printed,
)
from salstats.studies.saporta2022.release import read_release
from salstats.studies.saporta2022.replicates import (
    REPLICATE_ITEMS,
    read_replicates,
    replicate_needs,
    replicates_of,
)
from salstats.studies.saporta2022.score_slices import IN_TABLES, read_slices
from salstats.studies.saporta2022.sensitivity import choices, comparison
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
    SEVERAL,
    SHAPES,
    SWEEP,
    THRESHOLDS,
    StudyFrames,
    warn_of_left_out,
)

_ABOUT = """\
Makes Tables 1 to 3 and S1, Figs. 1 to 3, Extended Data 1 to 10, every headline number as published and
with patients as clusters, what changes under other choices (S1 misses, S2 cut-offs, S3 task effects, S7
logistic model), and cases picked by their IoU. What cannot be made of the data at hand is said, with
what it needs, before anything is tuned, scored or computed; the rest is made. Printed numbers stand
beside results of as many cases as the study's (printed.csv).

From scores (--scores, --features, --full-scores): CSV, TSV, Parquet or XLSX files with the columns
case, task, method (human for people), metric (iou, hit) and score; patient, prob, label, n_instances,
area_ratio, elongation, irrectangularity, tp, fp, fn, tn, model, seed and reason where they are known,
beside the scores or (those of a case and task) in --features. Files of the study's scripts are read as
they are, by their names: iou_results_per_cxr.csv, hitmiss_humanbenchmark_results_per_cxr.csv,
num_instances.csv and so on, and probabilities.csv with a column per task. Scores are of the
true-positive slice, unless a column slice says full; --full-scores names those of the full slice, which
Table 3 and Extended Data 4 need. Made: Tables 1 to 3 and S1, Fig. 2, Fig. 3 without pictures, Extended
Data 2 to 10. Masks are as they were scored; with the columns prob, tp, fp and fn --cutoff empties those
of low probability.

From replicates (--bootstrap): the files of eval.py, iou_bootstrap_results_per_cxr.csv,
iou_humanbenchmark_bootstrap_results_per_cxr.csv and so on, known by their names, or what a run wrote
(frames/replicates.csv). Made, as published: Table 1, Extended Data 5 and 6.

From files (--data): reads heat maps, the truth, people's segmentations and points in the CheXlocalize
format. The public release has maps for its validation set only, and people's marks for its test set
only. Extended Data 3 needs several methods or models, Extended Data 7 single trainings of a model, as
METHOD:MODEL:SEED beside METHOD:MODEL. Thresholds and cut-offs are given, or tuned on --validation,
never on --data; without either Extended Data 1 is left out and no mask is emptied for want of
confidence. The first --maps is the method of all single-method items, and what is tuned is tuned for
it. --maps without a name is a folder of folders METHOD or METHOD_MODEL; trainings of a model are named
one by one, METHOD:MODEL:SEED=DIR. The study smoothed integrated gradients (100 pixels; 50 for ResNet152
and Inception-v4), DeepLIFT (50) and LRP (80), at the size of the image: --smooth integrated_gradients=100.
Here that is a box filter of the map. The scripts filter the grey levels of its colours in jet, negated,
which do not rise with the map, so that masks are mostly background (in the public sample a median of 87 %
of the image, 15 % without); they do it for Otsu's threshold alone, and never where they tune. So do
--as-published and --colormap jet. Peaks are of the map as it is. A long run that is stopped goes on with
the same --resume FOLDER.

By default intervals resample patients (a task's hit rate has Wilson's, of the effective number of
patients), estimates are means of the scores, pairs are complete. With --as-published: the mean of 1000
replicates of cases, order statistics, rows for independent, the scripts' rounding, and cut-offs chosen
as the scripts do (above, not from; means to three digits; 0 not tried for Lung Lesion).

Example: salstats reproduce saporta2022 --scores scores.csv --full-scores full.csv -o out
Example: salstats reproduce saporta2022 --data test --validation val -o out --maps gradcam=test/gradcam_maps
Example: salstats reproduce saporta2022 --data CheXlocalize --split val --validation CheXlocalize -o out
"""
# Slices of the items.
_ALL = "all cases of the study"
_TRUTH = "findings of the truth"

#: The items of the study, in the order of the files.
ITEMS = (
    Item("extended_data_10", "Extended Data 10: summary statistics", summary_statistics, slice=_ALL),
    Item("table_1", "Table 1: mean IoU and hit rate", table_1,
         parts=(MAPS, PEOPLE, HITS), printed=TABLE_1),
    Item("figure_2", "Fig. 2: mean IoU (a) and hit rate (b) of the main saliency method and people", figure_2,
         needs=(MAPS, PEOPLE), parts=(SEGMENTATIONS, POINTS)),
    Item("extended_data_5", "Extended Data 5: percentage decrease of mean IoU from people",
         partial(lost_to_people, metric="iou"), needs=(MAPS, SEGMENTATIONS),
         printed=decrease_printed("iou")),
    Item("extended_data_6", "Extended Data 6: percentage decrease of hit rate from people",
         partial(lost_to_people, metric="hit"), needs=(MAPS, HITS, POINTS),
         printed=decrease_printed("hit")),
    Item("extended_data_1a", "Extended Data 1a: mean IoU by threshold, validation study", thresholds,
         needs=(SWEEP,), slice="true-positive, validation"),
    Item("extended_data_1b", "Extended Data 1b: mean IoU with tuned thresholds", tuned_thresholds,
         needs=(MAPS, THRESHOLDS)),
    Item("extended_data_1c", "Extended Data 1c: Otsu's threshold against the tuned one, paired (asserted in "
         "the study's text)", otsu_and_tuned, needs=(MAPS, THRESHOLDS)),
    Item("extended_data_2", "Extended Data 2: precision, recall and specificity", pooled,
         needs=(PIXELS,), parts=(MAPS, PEOPLE), slice="cases that the truth holds"),
    Item("extended_data_3", "Extended Data 3: saliency methods and architectures", several_models,
         needs=(SEVERAL,), parts=(PEOPLE,)),
    Item("extended_data_7", "Extended Data 7: ensemble and single checkpoints", ensemble_and_checkpoints,
         needs=(CHECKPOINTS,)),
    Item("extended_data_4", "Extended Data 4: mean IoU on the full slice", full_slice,
         needs=(FULL_SLICE,), parts=(MAPS, PEOPLE), printed=FULL_SLICE_2021),
    Item("extended_data_8", "Extended Data 8: distribution of the features", distributions,
         needs=(SHAPES,), parts=FEATURES, slice=_TRUTH),
    Item("table_2", "Table 2: features of the finding and localisation", table_2,
         needs=(MAPS, SHAPES), parts=(*FEATURES, HITS, SEGMENTATIONS, POINTS), printed=TABLE_2),
    Item("table_3", "Table 3: confidence and IoU", partial(by_confidence, metric="iou"),
         needs=(FULL_PROBABILITIES,), parts=(FULL_SLICE,), printed=TABLE_3),
    Item("extended_data_9", "Extended Data 9: confidence and hits", partial(by_confidence, metric="hit"),
         needs=(PROBABILITIES, HITS)),
    Item("table_s1", "Supplementary Table S1: AUROC of the classifiers", classifiers,
         needs=(FULL_SLICE, FULL_PROBABILITIES, FULL_LABELS), slice=_ALL, printed=TABLE_S1),
    Item("replicates", "Replicates of mean IoU and hit rate, as eval.py writes them", replicates_of),
    Item("as_published_and_clustered", "Every headline number as published and with patients as clusters",
         comparison, slice="as each item"),
    Item("sensitivity", "Choices that may change a conclusion", choices, needs=(MAPS,), slice="as each item"),
    Item("figure_1", "Fig. 1: a map and people's outline against the truth", figure_1,
         needs=(MAPS, PICTURES)),
    Item("figure_3", "Fig. 3a-b: features of the findings", figure_3,
         needs=(SHAPES,), parts=(*FEATURES, PICTURES), slice=_TRUTH),
    Item("examples", "Examples picked by IoU", examples, needs=(MAPS, PICTURES)),
)  # fmt: skip


def _open(options: argparse.Namespace) -> OpenedStudy:
    """Read the study; it is tuned and scored later."""
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
    unscored = find(options)
    return OpenedStudy(
        ITEMS, unscored.available, lambda: _with_enough(make_frames(unscored, options), options)
    )


def _replicates_alone() -> SalstatsError:
    """Return the error of replicates that are named beside other data."""
    return SalstatsError(
        Setting("bootstrap"),
        " stands in the place of ",
        Setting("data"),
        " and ",
        Setting("scores"),
        hint="name one of them",
    )


def _open_replicates(options: argparse.Namespace) -> OpenedStudy:
    """Take the replicates of the study's scripts, of which there are means and decreases."""
    if options.data is not None or options.full_scores:
        raise _replicates_alone()
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
    return OpenedStudy(REPLICATE_ITEMS, replicate_needs(replicates), lambda: replicates)


def _open_scores(scores: pd.DataFrame, options: argparse.Namespace) -> OpenedStudy:
    """Take existing scores; needs that are not met are named in words of tables."""
    if options.bootstrap:
        raise _replicates_alone()
    study_scores = read_slices(scores, options)
    items = []
    for item in ITEMS:
        needs = tuple(IN_TABLES[need] for need in item.needs)
        parts = tuple(IN_TABLES[need] for need in item.parts)
        items.append(replace(item, needs=needs, parts=parts))
    available = frozenset(IN_TABLES[need] for need in study_scores.available)
    return OpenedStudy(items, available, lambda: _with_enough(study_scores.frames(options), options))


def _with_enough(frames: StudyFrames, options: argparse.Namespace) -> StudyFrames:
    """Keep the tasks with enough positive cases, and warn of the others."""
    frames = frames.with_enough(options.min_positives)
    warn_of_left_out(frames, options.min_positives)
    return frames


STUDY = PublishedStudy(
    key="saporta2022",
    source="Saporta et al. 2022, Benchmarking saliency methods for chest X-ray interpretation, "
    "doi:10.1038/s42256-022-00536-x",
    about=_ABOUT,
    add_options=add_options,
    open=_open,
    open_scores=_open_scores,
    read_release=read_release,
    slices=True,
)
