"""The numbers that the study printed, and the rules that tell whether results are of the same data.

The article prints Table 3 and some numbers in its text. Executed notebooks of March 2021 print more, which
the article superseded in places: they are shown beside what is found, and a difference is no error.
"""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from salstats.datasets import load_published
from salstats.stats.engine.grouping import AVERAGE
from salstats.studies.declarations import PrintedNumbers
from salstats.studies.saporta2022.study_frames import ALL_TASKS, POOLED
from salstats.study import HUMAN

#: Label of the numbers of the notebooks.
MARCH_2021 = "March 2021, superseded in places"
#: The method whose numbers are printed, by its name in the frames of the study.
MAIN = "gradcam"
#: All images of the test set.
N_IMAGES = 668
_LIMITS = ("conf_low", "conf_high")


def _printed_positives_by_task() -> pd.Series:
    """Return the number of findings of each task."""
    return load_published("saporta2021_auroc_hit").set_index("task")["n"]


def _numbers_of_article_text(keys: Mapping[str, tuple[str, ...]], columns: tuple[str, ...]) -> pd.DataFrame:
    """Return numbers that the article's text prints.

    `keys` gives for each quantity of `saporta2022_text` the values of the key columns `columns`.
    """
    text = load_published("saporta2022_text").set_index("quantity").loc[list(keys)]
    rows = text.rename(columns={"value": "estimate"}).reset_index(drop=True)
    rows[list(columns)] = list(keys.values())
    return rows


def _rename_main_to_gradcam(frame: pd.DataFrame) -> pd.DataFrame:
    """Rename the method of a frame to the study's Grad-CAM, where it is the only saliency method."""
    methods = [name for name in frame["method"].unique() if name != HUMAN]
    if len(methods) != 1:
        return frame
    return frame.assign(method=frame["method"].replace({methods[0]: MAIN}))


def _has_equal_counts(counts: pd.Series, printed: pd.Series) -> bool:
    """Tell whether counts by task are the printed ones, of the same tasks."""
    return counts.sort_index().to_dict() == printed.sort_index().to_dict()


def _has_printed_positives(frame: pd.DataFrame, count_column: str) -> bool:
    """Tell whether the main method's scores are of as many findings as the study's, the missing ones too."""
    rows = _rename_main_to_gradcam(frame)
    rows = rows[(rows["method"] == MAIN) & (rows["task"] != AVERAGE)].drop_duplicates("task")
    counts = (rows[count_column] + rows["n_missing"]).set_axis(rows["task"])
    return _has_equal_counts(counts, _printed_positives_by_task())


def _has_order_intervals(frame: pd.DataFrame) -> bool:
    """Tell whether means or decreases are those of replicates, with the order statistics of the scripts."""
    return bool((frame["interval"] == "order").any())


def _is_as_published(frame: pd.DataFrame) -> bool:
    """Tell whether regressions and correlations take rows for independent, as the scripts do."""
    return "script_text" in frame


def _never_exact(frame: pd.DataFrame) -> bool:
    """Return False: a frame need not equal print that was superseded."""
    return False


def _support_devices() -> pd.DataFrame:
    """Return the mean IoU and the hit rate of Support Devices."""
    keys = {
        "support_devices_miou": ("iou", MAIN, "Support Devices"),
        "support_devices_hit_rate": ("hit", MAIN, "Support Devices"),
    }
    return _numbers_of_article_text(keys, ("metric", "method", "task"))


def _people_on_cardiomegaly() -> pd.DataFrame:
    """Return people's mean IoU of Cardiomegaly, printed with two digits."""
    keys = {"cardiomegaly_human_miou": ("iou", HUMAN, "Cardiomegaly")}
    return _numbers_of_article_text(keys, ("metric", "method", "task"))


def _means_2021() -> pd.DataFrame:
    """Return mean IoU and hit rate of every task, of the notebooks."""
    table = load_published("saporta2021_auroc_hit")
    mean_ious = table.assign(metric="iou", estimate=table["miou"])
    hit_rates = table.assign(metric="hit", estimate=table["hits"] / table["n"])
    return pd.concat([mean_ious, hit_rates], ignore_index=True).assign(method=MAIN)


_MEANS = ("metric", "method", "task")
_has_positive_scores = partial(_has_printed_positives, count_column="n")
TABLE_1 = (
    PrintedNumbers(
        _support_devices,
        _MEANS,
        applies=_has_positive_scores,
        select=_rename_main_to_gradcam,
        exact=_has_order_intervals,
    ),
    PrintedNumbers(
        _people_on_cardiomegaly,
        _MEANS,
        ("estimate",),
        digits=2,
        applies=lambda frame: _has_positive_scores(frame) and HUMAN in set(frame["method"]),
        exact=_has_order_intervals,
    ),
    PrintedNumbers(
        _means_2021,
        _MEANS,
        ("estimate",),
        applies=_has_positive_scores,
        select=_rename_main_to_gradcam,
        exact=_never_exact,
        source=MARCH_2021,
    ),
)


def _decreases(metric: str) -> pd.DataFrame:
    """Return the percentage decreases of the text; an increase is a negative decrease."""
    if metric == "hit":
        keys = {
            "mean_percent_decrease_hit_rate": ("hit", MAIN, AVERAGE),
            "lung_lesion_percent_decrease_hit_rate": ("hit", MAIN, "Lung Lesion"),
        }
        return _numbers_of_article_text(keys, _MEANS)
    keys = {
        "mean_percent_decrease_miou": ("iou", MAIN, AVERAGE),
        "lung_lesion_percent_decrease_miou": ("iou", MAIN, "Lung Lesion"),
        "consolidation_percent_increase_miou": ("iou", MAIN, "Consolidation"),
    }
    rows = _numbers_of_article_text(keys, _MEANS)
    # The text prints the change of Consolidation as an increase.
    is_increase = rows["task"] == "Consolidation"
    rows.loc[is_increase, "estimate"] = -rows.loc[is_increase, "estimate"]
    return rows


def decrease_printed(metric: str) -> PrintedNumbers:
    """Return what was printed of the percentage decreases of a metric."""
    return PrintedNumbers(
        partial(_decreases, metric),
        _MEANS,
        digits=1,
        applies=partial(_has_printed_positives, count_column="n_pairs"),
        select=_rename_main_to_gradcam,
        exact=_has_order_intervals,
    )


def _slopes() -> pd.DataFrame:
    """Return the slopes on features of the text, features scaled over all tasks as the scripts do."""
    keys = {
        "slope_iou_size": ("IoU", "area_ratio"),
        "slope_iou_elongation": ("IoU", "elongation"),
        "slope_iou_irrectangularity": ("IoU", "irrectangularity"),
        "slope_iou_instances": ("IoU", "n_instances"),
        "slope_hit_instances": ("Hit rate", "n_instances"),
    }
    return _numbers_of_article_text(keys, ("outcome", "term"))


def _pooled_slopes(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the slopes as the scripts make them."""
    return frame[(frame["scale"] == POOLED) & (frame["pool"] == ALL_TASKS)]


def _has_as_many_findings(frame: pd.DataFrame) -> bool:
    """Tell whether the hits are of as many findings as the study's."""
    rows = _pooled_slopes(frame)
    rows = rows[(rows["outcome"] == "Hit rate") & (rows["term"] == "n_instances")]
    return (rows["n"] + rows["n_missing"]).tolist() == [_printed_positives_by_task().sum()]


TABLE_2 = PrintedNumbers(
    _slopes, ("outcome", "term"), applies=_has_as_many_findings, select=_pooled_slopes, exact=_is_as_published
)


def _table_3() -> pd.DataFrame:
    """Return Table 3 as printed: slope and correlation of each task."""
    return load_published("saporta2022_table3").melt(["task", "n"], var_name="term", value_name="estimate")


def _overall_slope_and_correlation() -> pd.DataFrame:
    """Return slope and correlation over all tasks, which the text prints with their limits."""
    keys = {
        "overall_slope_iou_prob": ("Overall", "slope"),
        "overall_spearman_iou_prob": ("Overall", "spearman"),
    }
    return _numbers_of_article_text(keys, ("task", "term"))


def _has_table_3_cases(frame: pd.DataFrame) -> bool:
    """Tell whether Table 3 is of as many cases of each task as the study printed it of."""
    rows = _table_3().merge(frame, "left", ["task", "term"], suffixes=("_printed", ""))
    return bool((rows["n_printed"] == rows["n"]).all())


TABLE_3 = (
    # slopes and rank correlations are the same whether or not patients are clusters
    PrintedNumbers(_table_3, ("task", "term"), ("estimate",), applies=_has_table_3_cases),
    PrintedNumbers(
        _overall_slope_and_correlation,
        ("task", "term"),
        _LIMITS,
        applies=_has_table_3_cases,
        exact=_is_as_published,
    ),
)


def _aurocs_2021() -> pd.DataFrame:
    """Return the AUROC of every task, of the notebooks."""
    return load_published("saporta2021_auroc_hit").rename(columns={"auroc": "estimate"})


def _support_devices_auroc() -> pd.DataFrame:
    """Return the AUROC of Support Devices."""
    return _numbers_of_article_text({"support_devices_auroc": ("Support Devices",)}, ("task",))


def _has_all_images(frame: pd.DataFrame) -> bool:
    """Tell whether AUROCs are of one model, all test images and as many findings as the study's."""
    if frame["task"].duplicated().any() or not (frame["n"] == N_IMAGES).all():
        return False
    return _has_equal_counts(frame.set_index("task")["n_positive"], _printed_positives_by_task())


TABLE_S1 = (
    PrintedNumbers(_support_devices_auroc, ("task",), ("estimate",), applies=_has_all_images),
    PrintedNumbers(
        _aurocs_2021,
        ("task",),
        ("estimate",),
        digits=4,
        applies=_has_all_images,
        exact=_never_exact,
        source=MARCH_2021,
    ),
)


def _full_slice() -> pd.DataFrame:
    """Return mean IoU of maps and people on the full slice, of the notebooks."""
    table = load_published("saporta2021_full_dataset_miou").rename(columns={"miou": "estimate"})
    return table.assign(metric="iou")


def _has_full_slice(frame: pd.DataFrame) -> bool:
    """Tell whether the main method has a score on the full slice in as many cases as the study's."""
    rows = _rename_main_to_gradcam(frame)
    rows = rows[(rows["method"] == MAIN) & (rows["task"] != AVERAGE)]
    printed = _full_slice().query("method == @MAIN").set_index("task")["n"]
    return HUMAN in set(frame["method"]) and _has_equal_counts(rows.set_index("task")["n"], printed)


FULL_SLICE_2021 = PrintedNumbers(
    _full_slice,
    _MEANS,
    applies=_has_full_slice,
    select=_rename_main_to_gradcam,
    exact=_never_exact,
    source=MARCH_2021,
)
