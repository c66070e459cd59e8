"""The numbers that the study printed, and the rules that tell whether results come from the same data.

The article prints Table 3 and some numbers in its text. Executed notebooks of March 2021 print more, which
the article superseded in places: they are shown beside what is found, and a difference is no error.
"""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from salstats.datasets import load_published
from salstats.stats.engine.grouping import AVERAGE
from salstats.studies.declarations import PrintedNumbers
from salstats.studies.saporta2022.study_frames import SCALED_OVER_ALL_TASKS, TASKS_POOLED
from salstats.study import HUMAN

#: Label of the numbers of the notebooks.
MARCH_2021 = "March 2021, superseded in places"
#: The method whose numbers are printed, by its name in the frames of the study.
PRINTED_METHOD = "gradcam"
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


def _rename_only_saliency_method_to_gradcam(frame: pd.DataFrame) -> pd.DataFrame:
    """Rename the only saliency method to the study's Grad-CAM; change nothing if there are several."""
    methods = [name for name in frame["method"].unique() if name != HUMAN]
    if len(methods) != 1:
        return frame
    return frame.assign(method=frame["method"].replace({methods[0]: PRINTED_METHOD}))


def _has_equal_counts(counts: pd.Series, printed: pd.Series) -> bool:
    """Tell whether counts by task are the printed ones, of the same tasks."""
    return counts.sort_index().to_dict() == printed.sort_index().to_dict()


def _has_same_positive_counts_as_printed(computed_rows: pd.DataFrame, count_column: str) -> bool:
    """Tell whether the main method has as many findings per task as in print, with and without a score."""
    rows = _rename_only_saliency_method_to_gradcam(computed_rows)
    rows = rows[(rows["method"] == PRINTED_METHOD) & (rows["task"] != AVERAGE)].drop_duplicates("task")
    counts = (rows[count_column] + rows["n_missing"]).set_axis(rows["task"])
    return _has_equal_counts(counts, _printed_positives_by_task())


def _has_order_intervals(frame: pd.DataFrame) -> bool:
    """Tell whether means or decreases are those of replicates, with the order statistics of the scripts."""
    return bool((frame["interval"] == "order").any())


def _is_as_published(frame: pd.DataFrame) -> bool:
    """Tell whether regressions and correlations take rows for independent, as the scripts do."""
    return "script_text" in frame


def _never_exact(frame: pd.DataFrame) -> bool:
    """Return False: a frame need not equal numbers that the article superseded."""
    return False


def _printed_means_of_support_devices() -> pd.DataFrame:
    """Return the printed mean IoU and hit rate of Support Devices."""
    keys = {
        "support_devices_miou": ("iou", PRINTED_METHOD, "Support Devices"),
        "support_devices_hit_rate": ("hit", PRINTED_METHOD, "Support Devices"),
    }
    return _numbers_of_article_text(keys, ("metric", "method", "task"))


def _human_iou_of_cardiomegaly() -> pd.DataFrame:
    """Return people's mean IoU of Cardiomegaly, printed with two digits."""
    keys = {"cardiomegaly_human_miou": ("iou", HUMAN, "Cardiomegaly")}
    return _numbers_of_article_text(keys, ("metric", "method", "task"))


def _means_2021() -> pd.DataFrame:
    """Return the mean IoU and hit rate of every task that the notebooks print."""
    table = load_published("saporta2021_auroc_hit")
    mean_ious = table.assign(metric="iou", estimate=table["miou"])
    hit_rates = table.assign(metric="hit", estimate=table["hits"] / table["n"])
    return pd.concat([mean_ious, hit_rates], ignore_index=True).assign(method=PRINTED_METHOD)


_MEAN_KEYS = ("metric", "method", "task")
_has_positive_scores = partial(_has_same_positive_counts_as_printed, count_column="n")
TABLE_1 = (
    PrintedNumbers(
        _printed_means_of_support_devices,
        _MEAN_KEYS,
        applies=_has_positive_scores,
        select=_rename_only_saliency_method_to_gradcam,
        exact=_has_order_intervals,
    ),
    PrintedNumbers(
        _human_iou_of_cardiomegaly,
        _MEAN_KEYS,
        ("estimate",),
        digits=2,
        applies=lambda frame: _has_positive_scores(frame) and HUMAN in set(frame["method"]),
        exact=_has_order_intervals,
    ),
    PrintedNumbers(
        _means_2021,
        _MEAN_KEYS,
        ("estimate",),
        applies=_has_positive_scores,
        select=_rename_only_saliency_method_to_gradcam,
        exact=_never_exact,
        source=MARCH_2021,
    ),
)


def _printed_decreases_of_text(metric: str) -> pd.DataFrame:
    """Return the percentage decreases that the article's text prints, an increase as a negative decrease."""
    if metric == "hit":
        keys = {
            "mean_percent_decrease_hit_rate": ("hit", PRINTED_METHOD, AVERAGE),
            "lung_lesion_percent_decrease_hit_rate": ("hit", PRINTED_METHOD, "Lung Lesion"),
        }
        return _numbers_of_article_text(keys, _MEAN_KEYS)
    keys = {
        "mean_percent_decrease_miou": ("iou", PRINTED_METHOD, AVERAGE),
        "lung_lesion_percent_decrease_miou": ("iou", PRINTED_METHOD, "Lung Lesion"),
        "consolidation_percent_increase_miou": ("iou", PRINTED_METHOD, "Consolidation"),
    }
    rows = _numbers_of_article_text(keys, _MEAN_KEYS)
    # The text prints the change of Consolidation as an increase.
    is_increase = rows["task"] == "Consolidation"
    rows.loc[is_increase, "estimate"] = -rows.loc[is_increase, "estimate"]
    return rows


def printed_decreases(metric: str) -> PrintedNumbers:
    """Return what was printed of the percentage decreases of a metric."""
    return PrintedNumbers(
        partial(_printed_decreases_of_text, metric),
        _MEAN_KEYS,
        digits=1,
        applies=partial(_has_same_positive_counts_as_printed, count_column="n_pairs"),
        select=_rename_only_saliency_method_to_gradcam,
        exact=_has_order_intervals,
    )


def _printed_slopes() -> pd.DataFrame:
    """Return the slopes that the article's text prints, of features scaled over all tasks."""
    keys = {
        "slope_iou_size": ("IoU", "area_ratio"),
        "slope_iou_elongation": ("IoU", "elongation"),
        "slope_iou_irrectangularity": ("IoU", "irrectangularity"),
        "slope_iou_instances": ("IoU", "n_instances"),
        "slope_hit_instances": ("Hit rate", "n_instances"),
    }
    return _numbers_of_article_text(keys, ("outcome", "term"))


def _pooled_slopes(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the slopes as the scripts make them: features scaled over all tasks, without task effects."""
    return frame[(frame["scale"] == SCALED_OVER_ALL_TASKS) & (frame["pool"] == TASKS_POOLED)]


def _has_printed_number_of_findings(frame: pd.DataFrame) -> bool:
    """Tell whether there are as many findings as in print, with and without a hit or miss."""
    rows = _pooled_slopes(frame)
    rows = rows[(rows["outcome"] == "Hit rate") & (rows["term"] == "n_instances")]
    return (rows["n"] + rows["n_missing"]).tolist() == [_printed_positives_by_task().sum()]


TABLE_2 = PrintedNumbers(
    _printed_slopes,
    ("outcome", "term"),
    applies=_has_printed_number_of_findings,
    select=_pooled_slopes,
    exact=_is_as_published,
)


def _printed_table_3() -> pd.DataFrame:
    """Return Table 3 as printed: slope and correlation of each task."""
    return load_published("saporta2022_table3").melt(["task", "n"], var_name="term", value_name="estimate")


def _printed_overall_slope_and_correlation() -> pd.DataFrame:
    """Return slope and correlation over all tasks, whose limits the article's text prints."""
    keys = {
        "overall_slope_iou_prob": ("Overall", "slope"),
        "overall_spearman_iou_prob": ("Overall", "spearman"),
    }
    return _numbers_of_article_text(keys, ("task", "term"))


def _has_table_3_cases(frame: pd.DataFrame) -> bool:
    """Tell whether each row of Table 3 has as many cases as the printed row."""
    rows = _printed_table_3().merge(frame, "left", ["task", "term"], suffixes=("_printed", ""))
    return bool((rows["n_printed"] == rows["n"]).all())


TABLE_3 = (
    # slopes and rank correlations are the same whether or not patients are clusters
    PrintedNumbers(_printed_table_3, ("task", "term"), ("estimate",), applies=_has_table_3_cases),
    PrintedNumbers(
        _printed_overall_slope_and_correlation,
        ("task", "term"),
        _LIMITS,
        applies=_has_table_3_cases,
        exact=_is_as_published,
    ),
)


def _aurocs_2021() -> pd.DataFrame:
    """Return the AUROC of every task that the notebooks print."""
    return load_published("saporta2021_auroc_hit").rename(columns={"auroc": "estimate"})


def _support_devices_auroc() -> pd.DataFrame:
    """Return the printed AUROC of Support Devices."""
    return _numbers_of_article_text({"support_devices_auroc": ("Support Devices",)}, ("task",))


def _has_same_image_and_finding_counts_as_printed(aurocs: pd.DataFrame) -> bool:
    """Tell whether AUROCs come from one model, all test images and as many findings as in print."""
    if aurocs["task"].duplicated().any() or not (aurocs["n"] == N_IMAGES).all():
        return False
    return _has_equal_counts(aurocs.set_index("task")["n_positive"], _printed_positives_by_task())


TABLE_S1 = (
    PrintedNumbers(
        _support_devices_auroc,
        ("task",),
        ("estimate",),
        applies=_has_same_image_and_finding_counts_as_printed,
    ),
    PrintedNumbers(
        _aurocs_2021,
        ("task",),
        ("estimate",),
        digits=4,
        applies=_has_same_image_and_finding_counts_as_printed,
        exact=_never_exact,
        source=MARCH_2021,
    ),
)


def _full_slice_means_2021() -> pd.DataFrame:
    """Return the mean IoU of maps and people on the full slice that the notebooks print."""
    table = load_published("saporta2021_full_dataset_miou").rename(columns={"miou": "estimate"})
    return table.assign(metric="iou")


def _full_slice_counts_equal_printed(frame: pd.DataFrame) -> bool:
    """Tell whether people are there, and the main method has as many scores on the full slice as in print."""
    rows = _rename_only_saliency_method_to_gradcam(frame)
    rows = rows[(rows["method"] == PRINTED_METHOD) & (rows["task"] != AVERAGE)]
    printed = _full_slice_means_2021().query("method == @PRINTED_METHOD").set_index("task")["n"]
    return HUMAN in set(frame["method"]) and _has_equal_counts(rows.set_index("task")["n"], printed)


FULL_SLICE_2021 = PrintedNumbers(
    _full_slice_means_2021,
    _MEAN_KEYS,
    applies=_full_slice_counts_equal_printed,
    select=_rename_only_saliency_method_to_gradcam,
    exact=_never_exact,
    source=MARCH_2021,
)
